"""What an agent answers, and what it counts."""

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeGuard

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the one of the standard library has no default yet

    ArmT = TypeVar("ArmT", default=Any)
else:
    from typing import TypeVar

    ArmT = TypeVar("ArmT")

from latentbandits.protocols import REASONS

Name = str | int
Outcome = Literal["accepted", "duplicate", "late", "corrected"]  # of rewards, and of what else is told of a decision
# Every sum of reasons as words
WORDS = [tuple(word for bit, word in REASONS.items() if code & bit) for code in range(2 * max(REASONS))]
# Hexadecimal digits of an id: microseconds since the epoch, then the session. EARLIEST, in 1978, is the first time with that many digits.
TIME_DIGITS, SESSION_DIGITS = 13, 12
EARLIEST: int = 16 ** (TIME_DIGITS - 1)
SESSIONS: int = 16**SESSION_DIGITS


class OpenDecisionsWarning(UserWarning):
    """More decisions wait for rewards than `max_open` allows, so that the oldest are dropped."""


def warn_of_dropping(max_open: int) -> None:
    """Warn whoever asked an agent that decisions are dropped."""
    warnings.warn(
        f"Agent: more than max_open={max_open} decisions wait for rewards; the oldest are dropped, or their windows close early, "
        "and agent.stats counts them",
        OpenDecisionsWarning,
        stacklevel=3,  # this function and ask
    )


def warn_of_one_side(problem: str) -> None:
    """Warn whoever asked an agent that its rewards say nothing."""
    warnings.warn(f"Agent: {problem}", OneSidedRewardsWarning, stacklevel=3)  # this function and ask


class OneSidedRewardsWarning(UserWarning):
    """Every reward so far is the same, and decisions without one are learned otherwise, or not at all."""


class Decision(NamedTuple, Generic[ArmT]):
    """What to do now. For type checkers ``Decision[str]`` has arms that are texts, a plain ``Decision`` any.

    Attributes
    ----------
    id : str
        Names the decision when its rewards arrive: 25 hexadecimal digits that no other decision has, whichever process or machine made
        it; they sort by time.
    arms : tuple of names
        The arm of every group.
    probe_reasons : tuple of str
        Empty when the policy exploits; else the reasons to probe: residual, margin, staleness, schedule, continued, untried, rival.
    probabilities : tuple of float or None
        With which each group's arm was chosen, given everything before; None where it is not known (Thompson sampling).
    by : str
        Who decided: ``"policy"``, ``"floor"`` (uniform play) or ``"control"`` (the subject is held back).

    Examples
    --------
    >>> import latentbandits as lb
    >>> decision = lb.Agent("random", arms=["red", "blue"], seed=1).ask()
    >>> decision.arm, decision.probability, decision.deterministic
    ('red', 0.5, False)
    """

    id: str
    arms: tuple[ArmT, ...]
    probe_reasons: tuple[str, ...] = ()
    probabilities: tuple[float | None, ...] = ()
    by: str = "policy"

    @property
    def arm(self) -> ArmT:
        """The arm of the first (or only) group."""
        return self.arms[0]

    @property
    def probability(self) -> float | None:
        """The probability of the first (or only) group's arm."""
        return self.probabilities[0]

    @property
    def deterministic(self) -> bool:
        """Whether chance had no part: no other arm could have been chosen."""
        return all(probability == 1.0 for probability in self.probabilities)

    @property
    def time(self) -> float:
        """When it was made, in seconds since the epoch."""
        return time_of(self.id)


class Stats(NamedTuple):
    """What happened to an agent's decisions; ``asked`` is the sum of ``told``, ``forgotten``, ``dropped`` and ``open``.

    Attributes
    ----------
    asked : int, decisions made
    told : int, decisions whose rewards were learned; also those that expired, for which the default reward was taken
    overtaken : int, those of them that were learned from after a later decision had been made
    forgotten : int, decisions dropped by `forget`
    dropped : int, decisions dropped since more than `max_open` waited
    open : int, decisions that wait for rewards
    oldest : float, age in seconds of the oldest of these; None if none waits
    waiting : int, those of the open ones whose rewards are known, and learned when their window closes
    expired : int, those of the told ones for which the default reward was taken
    early : int, windows that closed early, since more than `max_open` decisions waited
    late : int, rewards that came after the window of their decision, or after it was censored; not learned
    corrected, clipped : int, rewards that were replaced, and that were outside `reward_range` and moved to its end
    refused : int, rewards outside `reward_range` that were refused, since the process has begun
    """

    asked: int
    told: int
    overtaken: int
    forgotten: int
    dropped: int
    open: int
    oldest: float | None
    waiting: int = 0
    expired: int = 0
    early: int = 0
    late: int = 0
    corrected: int = 0
    clipped: int = 0
    refused: int = 0


def decision_id(at_us: int, place: int, salt: int = 0) -> str:
    """Return the id of the decision that was made at a time: behind that there is a number, its place counted from a salt.

    Examples
    --------
    >>> from latentbandits.agent.decision import decision_id, place_of
    >>> decision_id(1794858395150630, 7, salt=255)
    '6606a0910a926000000000106'
    >>> place_of("6606a0910a926000000000106", salt=255)
    7
    """
    return f"{at_us:x}{(salt + place) % SESSIONS:012x}"


def place_of(decision: str, salt: int) -> int:
    """Return the place of a decision, by its id."""
    return (int(decision[TIME_DIGITS:], 16) - salt) % SESSIONS


def time_of(decision: str) -> float:
    """Return when a decision was made, in seconds since the epoch, by its id.

    Examples
    --------
    >>> from latentbandits.agent.decision import time_of
    >>> time_of("6606a0910a9263867990319d5")
    1794858395.15063
    """
    return int(decision[:TIME_DIGITS], 16) / 1e6


def is_id(text: object) -> TypeGuard[str]:
    """Return whether a text has the form of an id."""
    if not isinstance(text, str) or len(text) != TIME_DIGITS + SESSION_DIGITS:
        return False
    return all(character in "0123456789abcdef" for character in text)


def near(chances: Sequence[float | None], others: Sequence[float | None]) -> bool:
    """Return whether probabilities are the same, up to the rounding of another build."""
    return chances == others or all(
        chance == other or (chance is not None and other is not None and math.isclose(chance, other, rel_tol=1e-9))
        for chance, other in zip(chances, others, strict=True)
    )
