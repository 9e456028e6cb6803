"""Fields that bodies and answers share, with their bounds, from which the checks and the description of the interface follow."""

from typing import Annotated, TypeVar

from msgspec import Meta, Struct

UNTIL = "latentbandits-until"  # the last event of which an export tells
ONE = "/v1/experiments/{name}"
MOST = 1000  # decisions, rewards or arms in one request, and numbers in one context
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Number = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Name = Text | Number
Names = Annotated[list[Name], Meta(min_length=1, max_length=MOST)]
Id = Annotated[str, Meta(pattern="^[0-9a-f]{25}$", description="the id of a decision")]
Experiment = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="the name of an experiment")]
# What settings mean: the table of docs/service.md says the same
SETTINGS = {
    "arms": "names of two arms or more, texts or integers",
    "groups": "decisions that are made together: `decide` answers so many arms, and `reward` takes a list of so many numbers",
    "covariates": "how many numbers the `context` of every decision has",
    "seed": "names the randomness: the same requests in the same order get the same decisions",
    "max_open": "decisions that may wait; one more closes the window of the oldest early, or censors it without a default, to make room",
    "floor": "share of the decisions that are made by chance, every arm alike, so that each is tried now and then",
    "holdback": "share of the subjects that always get the control arm, to compare with; a `subject` that is named stays on its side",
    "control": "the arm of subjects that are held back, and of everybody in shadow and when killed; the first one if not given",
    "window": "seconds that a decision waits for its reward; null for no limit. A later reward is `late`: kept and not learned",
    "default": "the reward that is learned when the window is over without one; null to censor the decision, of which nothing is learned",
    "learn": (
        "at_window: a decision is learned when its window closes; censored: then too, but choices look at open ones before, the default of "
        "policies that can; at_once: when its reward comes, for delays that do not depend on it"
    ),
    "reward_range": "[low, high] of rewards; null for any",
    "outside": "what happens to a reward outside that range: refuse, or clip to its end",
    "guardrail": "least mean, between 0 and 1, of a second metric, the `guard` of rewards: an arm that breaks it is not offered",
    "corrections": "how many of the decisions that ended last can be corrected after they were learned",
}


class Body(Struct, kw_only=True, forbid_unknown_fields=True):
    """What the body of a request says."""


class Query(Struct, kw_only=True, forbid_unknown_fields=True):
    """What an address says behind its question mark."""


class Answer(Struct, kw_only=True):
    """What an answer says."""


A = TypeVar("A", bound=Answer)


def fill(kind: type[A], source: object, **given: object) -> A:
    """Return an answer with the attributes of something for fields, but for those that are given.

    Examples
    --------
    >>> from latentbandits.serve.fields import Problem, fill
    >>> fill(Problem, None, error="oh").error
    'oh'
    """
    return kind(**given, **{name: getattr(source, name) for name in kind.__struct_fields__ if name not in given})


class Problem(Answer):
    """An error: one sentence that says what, where and what it must be. After a 4xx nothing has changed."""

    error: str
