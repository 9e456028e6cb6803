"""What all parts of the package share: a policy makes a choice, a world is realised as arrays.

A policy is a tuple of settings with three methods, ``init``, ``choose`` and ``learn``. The same methods run compiled, interpreted, in
simulation and online. Its memory is a NamedTuple of arrays that the methods change in place.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from latentbandits.parameters import Parameters
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, InvalidValueError

if TYPE_CHECKING:
    from latentbandits.beliefs import Belief

# One row of an array of a record type. NumPy's types know nothing of its fields
Record: TypeAlias = Any

Parts = TypeVar("Parts", bound=Iterable[np.ndarray])

_KINDS: dict[type, type] = {int: np.int64, float: np.float64}


def record_type(**fields: type | tuple[type, int]) -> np.dtype:
    """Return the type of a record: named numbers that a memory keeps together as an array with one row.

    Parameters
    ----------
    **fields
        ``int`` or ``float`` for each name, or a pair of either and a length for an array within the record. A name that arrays have for
        something of their own, such as ``round`` or ``mean``, is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.protocols import record_type
    >>> Clock = record_type(now=int, last_probe=int)
    >>> clock = np.zeros(1, Clock)
    >>> clock[0].now += 1
    >>> int(clock[0].now)
    1
    """
    for name in fields:
        if hasattr(np.void, name):
            raise InvalidValueError("record", "field", name, "a name that NumPy's records do not use themselves")
    kinds = [
        (name, _KINDS[kind[0]], (kind[1],)) if isinstance(kind, tuple) else (name, _KINDS[kind])
        for name, kind in fields.items()
    ]
    # Interpreted, these properties are several times faster than the attributes of np.record; compiled, there is no difference
    row = type("Record", (np.void,), {"__slots__": (), **{name: _field(name) for name in fields}})
    return np.dtype((row, kinds))


def _field(name: str) -> property:
    def put(row: np.void, value: ArrayLike) -> None:
        row[name] = value

    return property(itemgetter(name), put)


# Slots of Choice.tags. PROBE_REASON holds a sum of the reasons below; the others belong to the policy that wrote them.
PROBE_REASON, PHASE, EPISODE = 0, 1, 2
TAGS = 3

# Why a round is a probe. A probe that takes several rounds gives its reasons in the first and CONTINUED in the others.
RESIDUAL, MARGIN, STALENESS, SCHEDULED, CONTINUED, UNTRIED, RIVAL = 1, 2, 4, 8, 16, 32, 64
REASONS = {
    RESIDUAL: "residual",
    MARGIN: "margin",
    STALENESS: "staleness",
    SCHEDULED: "schedule",
    CONTINUED: "continued",
    UNTRIED: "untried",
    RIVAL: "rival",
}
# The reasons that results count, each in a column of its own
GATES = (RESIDUAL, MARGIN, STALENESS)


# Beyond it the squares of squares that a learner needs would overflow
LARGEST_REWARD = 1e50
# Rounds after which a reward may arrive: a simulation keeps all choices that wait for theirs
LARGEST_DELAY = 100_000
# When a decision with a window is learned: when it closes, or when its reward comes
LEARN = ("at_window", "at_once")


# An arm as one decision sees it
ArmScore = record_type(
    available=int,  # 1 if it may be played, else 0; set by the caller before the policy chooses
    value=float,  # the reward that the policy expects of it, NaN if it has no idea
    index=float,  # what the policy compares: the value plus a bonus; NaN if it compares nothing
    probability=float,  # with which it is played, given everything before; NaN if unknown. Not written by a deterministic policy
    std_error=float,  # standard deviation of the value, NaN if unknown
)


class Choice(NamedTuple):
    """What a policy decided in one round, and all that it needs to learn from the rewards later.

    Attributes
    ----------
    arms : int array, one arm per group
    features : float array as long as the policy's ``width``
    tags : int array; ``tags[PROBE_REASON]`` is 0 when the policy exploits, else the sum of the reasons to probe
    arm_scores : array of `ArmScore`, one row per arm
    """

    arms: np.ndarray
    features: np.ndarray
    tags: np.ndarray
    arm_scores: np.ndarray

    @classmethod
    def blank(cls, policy: "Policy") -> "Choice":
        """Return an empty choice of the size that a policy needs, with all arms available."""
        arm_scores = np.zeros(policy.arms, ArmScore)
        arm_scores["available"] = 1
        for field in ("value", "index", "probability", "std_error"):
            arm_scores[field] = np.nan
        return cls(np.zeros(policy.groups, np.int64), np.zeros(policy.width), np.zeros(TAGS, np.int64), arm_scores)


class Waiting(NamedTuple):
    """Decisions whose windows are open, the oldest first, for `Policy.peek`.

    Attributes
    ----------
    arms : int array (decisions, groups)
    rewards : float array (decisions, groups), those that were told; NaN where none was
    known : float array (decisions,), the share of all rewards that have come by the age of the decision
    default : float, the reward of a decision without one
    """

    arms: np.ndarray
    rewards: np.ndarray
    known: np.ndarray
    default: float


class Contestant(Parameters):
    """What can be simulated: a policy, or an oracle that becomes one when it is given the truth.

    All attributes that follow are for Python; compiled code sees the settings alone.
    """

    @property
    def arms(self) -> int:
        """Number of arms; usually a setting."""
        raise NotImplementedError

    @property
    def groups(self) -> int:
        """Number of groups that receive an arm in every round; usually a setting."""
        raise NotImplementedError

    @property
    def covariates(self) -> int:
        """Number of observed features that it reads from the context; a setting where there are any."""
        return 0

    @property
    def fixed_arms(self) -> bool:
        """Whether all its arms are needed in every round."""
        return False

    @property
    def scale_free(self) -> bool:
        """Whether it plays alike in every unit of rewards. `latentbandits.specs.fair` scales the rewards of any other."""
        return False

    @property
    def inner(self) -> "Policy | None":
        """The policy within, of a policy around another: see `latentbandits.policies.wrapping.Wrapper`."""
        return None


class Policy(Contestant):
    """A tuple of settings, at least ``arms`` and ``groups``, with three methods that compile: the base of every policy.

    A policy must define ``init``, ``choose`` and ``learn``. ``choose`` plays arms that are available alone
    (``choice.arm_scores[arm].available``), in a probe too. With one available arm it plays that one and does not probe. All else has a
    default; a class overrides it with a value (``deterministic = True``), a property or a setting.

    Examples
    --------
    >>> import latentbandits as lb
    >>> ucb1, library = lb.policy("ucb1"), lb.policy("state-library", covariates=3)
    >>> ucb1.deterministic, ucb1.scale_free, ucb1.covariates, ucb1.inner
    (True, False, 0, None)
    >>> library.deterministic, library.scale_free, library.covariates, len(library.scratch)
    (True, True, 3, 11)
    """

    @property
    def width(self) -> int:
        """Number of features that its choices carry until their rewards arrive."""
        return 0

    @property
    def deterministic(self) -> bool:
        """Whether it samples nothing to choose an arm. Any other writes the probability of every available arm, if it can."""
        return False

    @property
    def harmed_by_logs(self) -> bool:
        """Whether it gets worse by being fed a log: it never forgets, so that it notices late what is best now."""
        return False

    @property
    def scratch(self) -> tuple[str, ...]:
        """Fields of the memory that need not be saved: they are written before they are read."""
        return ()

    def init(self) -> Any:
        """Return a fresh memory: a NamedTuple of arrays, and of memories in a policy around another."""
        raise NotImplementedError

    def choose(self, memory: Any, context: np.ndarray, random: Stream, choice: Choice) -> None:
        """Fill in a choice."""
        raise NotImplementedError

    def learn(self, memory: Any, choice: Choice, rewards: np.ndarray) -> None:
        """Learn from one reward per group. The choice may be an old one: rewards can come late."""
        raise NotImplementedError

    @property
    def peeks(self) -> bool:
        """Whether it has a method `peek`, which is called before `choose` where rewards are learned when a window closes."""
        return False

    def peek(self, memory: Any, waiting: Waiting) -> None:
        """Take decisions whose windows are open into account in the next choice, and in no other: they are learned later."""
        raise NotImplementedError

    @property
    def has_belief(self) -> bool:
        """Whether it believes something about hidden states."""
        return False

    def belief(self, memory: Any) -> "Belief":
        """Return what the policy believes about hidden states; only where `has_belief` is true."""
        raise NotImplementedError

    def told(self, noise: float) -> Self:  # noqa: ARG002
        """Return the policy for a world whose noise, a standard deviation of rewards, is known: itself, unless a setting is that noise."""
        return self

    def larger(self) -> Self:
        """Return the same policy with one more arm, the last; see `grown`."""
        return self._replace(arms=self.arms + 1)

    def grow(self, memory: Any) -> Any:
        """Return the memory of the larger policy: the new arm is as fresh as before the first round, or refuse."""
        return corner(self.larger().init(), memory)

    def positions(self) -> np.ndarray:
        """Return where each feature of a choice stands in a choice of the larger policy."""
        return np.arange(self.width)


class PlainPolicy(Policy):
    """A policy with ``arms`` and ``groups`` as its first settings: the base of all that do not have them from elsewhere."""

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1


class Oracle(Contestant):
    """What must be given the truth about a world before it can play."""

    def informed(self, realisation: "Realisation") -> Policy:
        """Return the policy for this very realisation."""
        raise NotImplementedError


class PlainOracle(Oracle):
    """An oracle with ``arms`` and ``groups`` as its first settings."""

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1


def corner(fresh: Parts, memory: Iterable[np.ndarray]) -> Parts:
    """Return a fresh memory with the arrays of a smaller one copied into their first rows and columns."""
    for large, small in zip(fresh, memory, strict=True):
        large[tuple(slice(size) for size in small.shape)] = small
    return fresh


def grown(policy: Policy, memory: Any) -> tuple[Policy, Any]:
    """Return a policy with one more arm, the last, and its memory, in which that arm is as fresh as before the first round.

    A policy that cannot take a new arm refuses.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.protocols import grown
    >>> policy, memory = grown(lb.policies.UCB1(arms=2), lb.policies.UCB1(arms=2).init())
    >>> policy.arms, len(memory.counts)
    (3, 3)
    """
    refuse_fixed(policy)
    memory = policy.grow(memory)
    return policy.larger(), memory


def grown_choice(policy: Policy, larger: Policy, choice: Choice) -> Choice:
    """Return a choice that was made before an arm was added, in the form that the larger policy learns from."""
    made = Choice.blank(larger)
    made.arms[:] = choice.arms
    made.features[policy.positions()] = choice.features
    made.tags[:] = choice.tags
    made.arm_scores[: policy.arms] = choice.arm_scores
    made.arm_scores[policy.arms :]["available"] = 0
    return made


def refuse_fixed(policy: Contestant) -> None:
    """Refuse a policy whose arms cannot change."""
    if policy.fixed_arms:
        raise InvalidValueError(
            type(policy).__name__, "arms", "not always all available", "the same in every round for this policy"
        )


class Truth(NamedTuple):
    """What an oracle is given of a hidden Markov world.

    Attributes
    ----------
    transition : array (states, states)
    means : array (states, arms)
    start : array (states,), the distribution of the first state
    noise : array (groups,), standard deviation of each group's reward
    rewards : str, distribution of rewards, a name of `latentbandits.rewards.DISTRIBUTIONS`
    carryover : float, weight of the previous state in the expected reward
    lost : float, share of rounds whose rewards never arrive
    """

    transition: np.ndarray
    means: np.ndarray
    start: np.ndarray
    noise: np.ndarray
    rewards: str
    carryover: float = 0.0
    lost: float = 0.0


class ArmChains(NamedTuple):
    """What an oracle is given of a world in which every arm has a hidden Markov chain of its own.

    Attributes
    ----------
    transition : array (arms, levels, levels)
    levels : array (levels, arms), expected rewards
    start : array (levels,), the distribution of every arm's first level
    noise : array (groups,), standard deviation of each group's reward
    rewards : str, distribution of rewards, a name of `latentbandits.rewards.DISTRIBUTIONS`
    """

    transition: np.ndarray
    levels: np.ndarray
    start: np.ndarray
    noise: np.ndarray
    rewards: str


class Realisation(NamedTuple):
    """A realised world: everything that happens, for every arm, before any choice.

    Attributes
    ----------
    means : array (rounds, arms), expected rewards
    rewards : array (rounds, groups, arms), the reward that a group would receive from an arm
    context : array (rounds, covariates), what a policy may observe; often with no columns
    states : int array (rounds,), the hidden state, -1 where there is none
    truth : what oracles are given, None where the world has no chain
    available : bool array (rounds, arms), which arms may be played; None for all of them always
    delays : int array (rounds,), after how many further rounds the rewards of a round arrive, 0 for before the next choice, -1 for never;
        None for 0 in every round. With two columns, the second one is for rounds in which no group was rewarded: all its rewards are 0
    chains : what oracles are given of arms with chains of their own, None elsewhere
    """

    means: np.ndarray
    rewards: np.ndarray
    context: np.ndarray
    states: np.ndarray
    truth: Truth | None
    available: np.ndarray | None = None
    delays: np.ndarray | None = None
    chains: ArmChains | None = None

    @property
    def offered(self) -> np.ndarray:
        """The means of the arms that may be played, minus infinity for others."""
        return self.means if self.available is None else np.where(self.available, self.means, -np.inf)


@runtime_checkable
class World(Protocol):
    """Anything that can be realised."""

    @property
    def arms(self) -> int:
        """Number of arms."""

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return a realisation; `draw` names what is sampled once (the reward matrix), `repeat` the path and noise on top of it.

        The realisation depends on nothing but the arguments. Two realisations that differ only in `groups` share everything but the noise.
        """
