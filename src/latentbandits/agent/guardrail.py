"""A guardrail: a second metric that an arm must keep while the policy maximises the first one.

Whoever tells a reward may tell a `guard` with it, from 0 (bad) to 1 (good): whether the visitor stayed, whether the answer came in time.
Its mean must be at least the setting `guardrail`, arm by arm and regime by regime. An arm that certainly breaks it is not offered in that
regime any more, until somebody says otherwise.

"Certainly" holds whenever one looks, however often, and for any dependence between decisions: money that is bet against "the mean is at
least so much", in a game that is fair then, grows a hundredfold with probability 1/100 or less, ever (Ville's inequality; the bets are
those of Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 2024).
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from latentbandits.agent.decision import Name
from latentbandits.agent.events import Payload
from latentbandits.protocols import Policy, refuse_fixed
from latentbandits.settings import InvalidValueError, Within, check_range

if TYPE_CHECKING:
    from latentbandits.agent.slots import Open
    from latentbandits.agent.state import State

ERROR = 0.01  # probability that an arm whose mean is right at the guardrail is ever withheld in a regime
BOUNDS = Within(1e-3, 1 - 1e-3)
MOST = 10_000  # pairs of regime and arm that are kept
_BOLD = 0.5  # share of the money that one bet may lose
_ENOUGH = -math.log(ERROR)


class Cell(NamedTuple):
    """What was told of one arm in one regime; `wealth` is the logarithm of the money that was bet against the arm."""

    told: int = 0
    total: float = 0.0
    squares: float = 0.0
    wealth: float = 0.0

    @property
    def broken(self) -> bool:
        """Whether the arm certainly breaks the guardrail."""
        return self.wealth >= _ENOUGH

    def after(self, value: float, least: float) -> "Cell":
        """Return what is known after one value more."""
        told, total, squares = self.told + 1, self.total + value, self.squares + value * value
        if self.broken:
            return Cell(told, total, squares, self.wealth)
        mean = (least + self.total) / told  # the bet knows only what came before, and begins with the guardrail itself
        short = max(0.0, least - mean)
        variance = (least + self.squares) / told - mean * mean
        bet = min(short / (variance + short * short), _BOLD / (1 - least)) if short else 0.0
        return Cell(told, total, squares, self.wealth + math.log1p(bet * (least - value)))


Cells = dict[tuple[int, int], Cell]  # by regime (0 if the policy knows none) and arm


class Guarded(NamedTuple):
    """One arm in one regime, as the guardrail sees it.

    Attributes
    ----------
    arm, regime : its name, and the number of the regime; 0 if the policy knows none
    told, mean : how many values were told, and their mean
    kept : False if it certainly breaks the guardrail, so that it is not offered there
    """

    arm: Name
    regime: int
    told: int
    mean: float
    kept: bool


def checked(policy: Policy, least: object) -> float | None:
    """Return the guardrail of an agent, or refuse it."""
    if least is None:
        return None
    if policy.groups > 1:
        raise InvalidValueError("Agent", "guardrail", least, f"None for {policy.groups} groups, which share one metric")
    refuse_fixed(policy)
    return check_range("Agent", "guardrail", least, BOUNDS)


def admitted(state: "State", guard: object, more: Payload | None) -> Payload | None:
    """Return what the log says of a value that is told, beside what it says anyway; or refuse it."""
    if guard is None:
        return more
    if state.spec.guardrail is None:
        raise InvalidValueError("Agent", "guard", guard, "left out, since there is no guardrail")
    value = check_range("Agent", "guard", guard, Within(0, 1))
    return {**(more or {}), "guard": value, "regime": _regime(state)}


def note(state: "State", payload: Payload, waiting: "Open") -> None:
    """Count a value that was told with the rewards of a decision."""
    least = state.spec.guardrail
    if "guard" in payload and least is not None:
        place = payload["regime"], waiting.arms[0]
        state.guards[place] = state.guards.get(place, Cell()).after(payload["guard"], least)
        if len(state.guards) > MOST:
            del state.guards[next(iter(state.guards))]


def offered(state: "State", arms: list[int] | None) -> list[int] | None:
    """Return the arms that may be played: the control arm always, and all of them if none keeps the guardrail."""
    broken = {place for place, cell in state.guards.items() if cell.broken}
    if not broken:
        return arms
    regime, player = _regime(state), state.player
    given = [arm for arm in range(len(player.names)) if arm not in player.retired] if arms is None else arms
    return [arm for arm in given if (regime, arm) not in broken or arm == player.mixing.control] or arms


def playable(state: "State") -> list[int]:
    """Return the arms that may be played now, by number."""
    there = [arm for arm in range(len(state.player.names)) if arm not in state.player.retired]
    return offered(state, there) or there


def guarded(state: "State") -> tuple[Guarded, ...]:
    """Return all that was told, by regime and arm."""
    names = state.player.names
    return tuple(
        Guarded(names[arm], regime, cell.told, cell.total / cell.told, not cell.broken)
        for (regime, arm), cell in sorted(state.guards.items())
    )


def without(cells: Mapping[tuple[int, int], Cell], arm: int) -> Cells:
    """Return what was told, but for one arm, which somebody gives another chance."""
    return {place: cell for place, cell in cells.items() if place[1] != arm}


def _regime(state: "State") -> int:
    player = state.player
    return int(player.belief().current) if player.policy.has_belief else 0
