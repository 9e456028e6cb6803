"""What a service is sent: every field with its type and its bounds, from which the checks and the description of the interface follow."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

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
    "units": "decisions that are made together: `decide` answers so many arms, and `reward` takes a list of so many numbers",
    "covariates": "how many numbers the `context` of every decision has",
    "seed": "names the randomness: the same requests in the same order get the same decisions",
    "max_open": "decisions that may wait; one more censors the oldest to make room, a lower number censors at once all beyond it",
    "floor": "share of the decisions that are made by chance, every arm alike, so that each is tried now and then",
    "holdback": "share of the units that always get the control arm, to compare with; a `unit` that is named stays on its side",
    "control": "the arm of units that are held back, and of everybody in shadow and when killed; the first one if not given",
    "window": "seconds that a decision waits for its reward; null for no limit. A later reward is `late`: kept and not learned",
    "default": "the reward that is learned when the window is over without one; null to censor the decision, of which nothing is learned",
    "deferred": "whether it counts only once `activate` says that it was shown; if never, it is censored when its window is over",
}
Rewards = float | Annotated[list[float], Meta(min_length=1, max_length=MOST)]


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a request says."""


class Round(Body):
    """One decision that is wanted."""

    context: Annotated[list[float], Meta(max_length=MOST)] | None = None
    available: Names | None = None
    unit: Name | None = None
    deferred: Annotated[bool, Meta(description=SETTINGS["deferred"])] = False


class Rounds(Body):
    """Several decisions that are wanted, in their order."""

    rounds: Annotated[list[Round], Meta(min_length=1, max_length=MOST)]


class Told(Body):
    """The reward of a decision; a list if the policy decides for several units at once."""

    id: Id
    reward: Rewards


class ToldMany(Body):
    """Rewards of several decisions."""

    rewards: Annotated[list[Told], Meta(min_length=1, max_length=MOST)]


class Which(Body):
    """A decision."""

    id: Id


class Arm(Body):
    """An arm."""

    arm: Name


class Called(Body):
    """The name of a regime."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]


class Status(Body):
    """The status of an experiment."""

    status: Annotated[str, Meta(max_length=20, description="draft, shadow, live, frozen, killed or archived")]


class Changes(Body):
    """Settings of an experiment that change. After the draft: floor, holdback, control, window, default and max_open."""

    policy: (
        Annotated[str, Meta(max_length=2000, description="such as state-library, or sw-ucb:window=300")] | UnsetType
    ) = UNSET
    toml: (
        Annotated[str, Meta(max_length=20_000, description="a file that `latentbandits tune` wrote, as text")]
        | UnsetType
    ) = UNSET
    arms: Annotated[Names | UnsetType, Meta(description=SETTINGS["arms"])] = UNSET
    units: Annotated[int, Meta(ge=1, le=MOST, description=SETTINGS["units"])] | UnsetType = UNSET
    covariates: Annotated[int, Meta(ge=0, le=MOST, description=SETTINGS["covariates"])] | UnsetType = UNSET
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description=SETTINGS["seed"])] | UnsetType = UNSET
    max_open: Annotated[int, Meta(ge=1, description=SETTINGS["max_open"])] | UnsetType = UNSET
    floor: Annotated[float, Meta(ge=0, le=1, description=SETTINGS["floor"])] | UnsetType = UNSET
    holdback: Annotated[float, Meta(ge=0, le=1, description=SETTINGS["holdback"])] | UnsetType = UNSET
    control: Annotated[Name | UnsetType, Meta(description=SETTINGS["control"])] = UNSET
    window: Annotated[float, Meta(gt=0, description=SETTINGS["window"])] | UnsetType | None = UNSET
    default: Annotated[float, Meta(description=SETTINGS["default"])] | UnsetType | None = UNSET


class NewExperiment(Changes, kw_only=True):
    """An experiment to make."""

    name: Experiment
    status: Annotated[str, Meta(max_length=20, description="draft, shadow or live")] = "draft"


class NewKey(Body):
    """A key to make."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]*$")]
    roles: Annotated[list[str], Meta(min_length=1, max_length=4, description="of read, decide, reward, admin")]
    experiments: Annotated[list[Experiment], Meta(min_length=1, max_length=MOST)] | None = None
    rate: (
        Annotated[float, Meta(gt=0, le=1e9, description="requests per second; null for the service's own limit")] | None
    ) = None


class Query(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What an address says behind its question mark."""


class Since(Query):
    """From when on: minutes since 1970; the last 24 hours if not given."""

    since: Annotated[int, Meta(ge=0, le=2**40)] | None = None


class Tail(Query):
    """How many of the last events, and only those after a number."""

    most: Annotated[int, Meta(ge=1, le=1000)] = 50
    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
