"""What a service answers. Times are microseconds since 1970, minutes are minutes since 1970; null is what is not known."""

import typing
from functools import cache
from typing import Any

import msgspec

from latentbandits import beliefs
from latentbandits.agent import decision
from latentbandits.agent.explain import Option
from latentbandits.serve.fields import Answer

Name = str | int


@cache
def _object(kind: type) -> Any:
    """Return an answer with the fields of a tuple with names, within it too: objects, where tuples would be lists."""
    fields = [(name, _form(hint)) for name, hint in typing.get_type_hints(kind).items()]
    return msgspec.defstruct(kind.__name__, fields, bases=(Answer,))


def _form(hint: Any) -> Any:
    if hasattr(hint, "_fields"):
        return _object(hint)
    inner = typing.get_args(hint)
    return tuple.__class_getitem__(tuple(map(_form, inner))) if typing.get_origin(hint) is tuple else hint


def as_objects(value: Any) -> Any:
    """Return a tuple with names as an answer.

    Examples
    --------
    >>> from latentbandits.beliefs import Belief
    >>> from latentbandits.serve.answers import as_objects
    >>> as_objects(Belief((), 0, 1.0)).elsewhere
    1.0
    """
    if hasattr(value, "_fields"):
        kind: Any = type(value)
        return _object(kind)(**{name: as_objects(part) for name, part in value._asdict().items()})
    return tuple(map(as_objects, value)) if isinstance(value, tuple) else value


Stats: Any = _object(decision.Stats)
Belief: Any = _object(beliefs.Belief)


class Probabilities(Answer):
    """With which probability every arm would be played now; without arms if the policy knows none. `known` are all that ever were."""

    arms: list[Name]
    probabilities: list[float]
    known: list[Name]


class Experiment(Answer):
    """An experiment and its settings."""

    name: str
    status: str
    policy: str
    arms: list[Name]
    retired: list[Name]
    groups: int
    covariates: int
    seed: int
    max_open: int
    floor: float
    holdback: float
    control: Name
    window: float | None
    default: float | None
    learn: str
    reward_range: tuple[float, float] | None
    outside: str
    corrections: int
    guardrail: float | None
    head: int


class Experiments(Answer):
    """All experiments that the key is for."""

    experiments: list[Experiment]


class Best(Answer):
    """The arm that is best now, how probable that is, the reward that is expected of it, and since when.

    A policy without a belief knows neither how probable it is nor since when; without an expectation it is the arm that is
    played most often.
    """

    arm: Name
    belief: float | None
    value: float | None
    since_us: int | None


class Here(Answer):
    """The regime that is most probable now; `typical_us` is how long a visit usually lasts, `visits` those of seven days."""

    number: int
    probability: float
    since_us: int | None
    visits: int
    dwell_rounds: float
    typical_us: int | None


class Health(Answer):
    """Whether the pipe of rewards is in order; `problem` says what is wrong if they tell nothing about the arms."""

    decided: int
    rewarded: int
    expired: int
    censored: int
    late: int
    duplicates: int
    conflicts: int
    early: int
    corrected: int
    clipped: int
    refused: int
    problem: str | None
    open: int
    waiting: int
    oldest_us: int | None
    last_us: int
    per_second: float
    matched: dict[str, float | None]
    delay_us: float | None
    p99_ms: float | None
    compiled: bool
    behind_snapshot: int
    diverged: int


class Broken(Answer):
    """An arm that breaks the guardrail in a regime (0 if the policy knows none), where it is not offered: values told, and their mean."""

    arm: Name
    regime: int
    told: int
    mean: float


class Now(Answer):
    """An experiment as it is now: what the top of a page says."""

    name: str
    status: str
    at_us: int
    head: int
    best: Best | None
    regime: Here | None
    elsewhere: float | None
    broken: list[Broken]
    health: Health


class ArmThere(Answer):
    """An arm in one regime: mean, 95 % interval, and the rewards behind it."""

    arm: Name
    mean: float | None
    low: float | None
    high: float | None
    count: int


class Regime(Answer):
    """A regime that the policy remembers, and all arms in it; `visits` are those of the timeline of the last seven days."""

    number: int
    probability: float
    visits: int
    dwell_rounds: float
    arms: list[ArmThere]


class Regimes(Answer):
    """Arm by regime; `elsewhere` is the probability that the present regime is none of these."""

    regimes: list[Regime]
    elsewhere: float | None
    noise: float | None


class Stay(Answer):
    """A visit of a regime; it has not ended if `until_us` is null."""

    regime: int
    from_us: int
    until_us: int | None


class BeliefMinute(Answer):
    """The belief at the end of a minute: regimes with their probabilities, and what was expected of every arm."""

    minute: int
    states: list[tuple[int, float]]
    current: int
    elsewhere: float
    means: list[float | None]


class Timeline(Answer):
    """Regimes through time."""

    arms: list[Name]
    stays: list[Stay]
    minutes: list[BeliefMinute]


class ArmMinute(Answer):
    """What happened to one arm within a minute. `by` is policy, floor or control, or the status at the decision if that was not live."""

    minute: int
    arm: Name
    by: str
    decided: int
    probed: int
    rewarded: int
    expired: int
    censored: int
    late: int
    total: float
    squares: float
    delay_us: int


class Minutes(Answer):
    """What happened minute by minute."""

    arms: list[Name]
    minutes: list[ArmMinute]


class Side(Answer):
    """Rewards of some decisions: how many, their mean and its standard error."""

    count: int
    mean: float | None
    error: float | None


class Ratio(Answer):
    """Subjects that were compared lately, how many of them were held back, the share that should be, and whether it is no chance."""

    subjects: int
    held: int
    share: float
    mismatch: bool


class Gain(Answer):
    """Reward of the policy (with its probes and the floor) against that of the subjects that are held back.

    The 95 % interval may be looked at all the time; `ratio` is null without a holdback.
    """

    policy: Side
    control: Side
    difference: float | None
    low: float | None
    high: float | None
    total: float | None
    ratio: Ratio | None


class Happened(Answer, omit_defaults=True):
    """An event."""

    seq: int
    kind: str
    at_us: int
    decision: str | None = None
    subject: str | None = None
    arm: Name | None = None
    by: str | None = None
    probability: float | None = None
    rewards: list[float] | None = None
    actor: str | None = None
    payload: dict[str, Any] | None = None


class Events(Answer):
    """Events."""

    events: list[Happened]


class Explained(Answer):
    """Why a decision was made, and what became of it."""

    id: str
    at_us: int
    arms: tuple[Name, ...]
    by: str
    probe_reasons: tuple[str, ...]
    reason: str
    options: tuple[Option, ...]
    events: list[Happened]


class Key(Answer):
    """A key, without its secret."""

    id: str
    name: str
    roles: list[str]
    experiments: list[str] | None
    created_us: int
    created_by: str | None
    revoked_us: int | None
    expires_us: int | None


class Alive(Answer):
    """Whether the service runs."""

    status: str
    version: str


class Ready(Answer):
    """Whether the service decides: `failed` are experiments that could not be opened, or failed just now, and why."""

    status: str
    experiments: int
    waiting: int
    failed: dict[str, str]
