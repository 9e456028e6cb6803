"""When the advice would be another: each quantity is moved beyond its range, the others are drawn as before."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latentbandits.advice.problem import CHAIN, DRIFT, QUANTITIES, RECORDED, SEASONS, Problem, Range
from latentbandits.advice.race import Race, chance, race
from latentbandits.simulation.batch import simulate

FIRST = 2_000_000  # draws that neither the choice nor the measurement has seen
CHECK = 3_000_000
STRETCH, STRETCH_EXACT = 8.0, 32.0  # how far beyond its range, or its exact value, a quantity is moved
POINTS, POINTS_EXACT = 7, 9
# Only who leads is asked here, and a flip is checked on other worlds: a race of few worlds that soon drops the others
LOOKS, LEVEL_RACE, FACTOR = (4, 8, 16), 0.05, 1.5
CHECKED, NARROWED = 64, 24
LONGEST = 1e5  # a regime of more rounds is one that never ends
# No quantity is moved beyond this, unless the problem is there itself
MOST = {"states": 100.0, "dwell": LONGEST, "timescale": LONGEST}
# A flip is one that a fresh test confirms at this level and that is worth a change
LEVEL, WORTH = 0.01, 0.02
HINT = 0.1  # and that the race hints at, at this level


class Point(NamedTuple):
    """A race at one value of one quantity."""

    value: float
    problem: Problem
    race: Race


class Flip(NamedTuple):
    """Where another policy becomes better.

    Attributes
    ----------
    quantity : what is moved
    side : "below" or "above"; for quantity "kind", what the world would be instead
    low, high : the threshold lies between them
    better : the policy to use on the other side
    saves : the share of the advised policy's regret that it saves where the flip was confirmed
    confirmed : the value at which it was
    inside : whether the threshold lies within the range that the problem gives
    """

    quantity: str
    side: str
    low: float
    high: float
    better: str
    saves: float
    confirmed: float
    inside: bool

    @property
    def threshold(self) -> float:
        """The middle of the bracket, on a logarithmic scale."""
        return math.sqrt(self.low * self.high) if self.low > 0 else (self.low + self.high) / 2


class Sweep(NamedTuple):
    """One quantity: the races along it, and the flips."""

    quantity: str
    range: Range
    points: list[Point]
    flips: list[Flip]


@dataclass(frozen=True)
class Doubt:
    """The question when another policy would be better than the advised one.

    Attributes
    ----------
    problem, winner : the problem, and what was advised
    candidates : given a problem, label -> policy
    workers : threads
    progress : called with the number of rounds that a step has played
    """

    problem: Problem
    winner: str
    candidates: Callable[[Problem], Mapping[str, Any]]
    workers: int | None
    progress: Callable[[int], None]

    def sweeps(self) -> list[Sweep]:
        """Return a sweep for every quantity that can be moved."""
        found = []
        for quantity in movable(self.problem):
            moved = [(value, move(self.problem, quantity, value)) for value in grid(self.problem, quantity)]
            points = [Point(value, there, self.race(there)) for value, there in moved]
            known = span(self.problem, quantity)
            found.append(Sweep(quantity, known, points, self.flips(quantity, known, points)))
        return found

    def suppositions(self) -> list[Flip]:
        """Return the other kinds of world in which another policy would be better."""
        found = []
        for words, moved in other_kinds(self.problem):
            ran = self.race(moved)
            better, saved = ran.winner, self.confirmed(moved, ran)
            if saved > 0:
                found.append(Flip("kind", words, math.nan, math.nan, better, saved, math.nan, inside=False))
        return found

    def flips(self, quantity: str, known: Range, points: list[Point]) -> list[Flip]:
        """Find where another policy takes over, on both sides: through the range and on, until it does."""
        away_from = [away(point.value, known) for point in points]
        inside = [i for i, distance in enumerate(away_from) if distance == min(away_from)]
        down, up = points[inside[-1] :: -1], points[inside[0] :]
        found = [self.first_flip(quantity, side, known, path) for side, path in (("below", down), ("above", up))]
        return [flip for flip in found if flip is not None]

    def first_flip(self, quantity: str, side: str, known: Range, path: list[Point]) -> Flip | None:
        """Return the first flip along a path after a point at which the advice stands."""
        stands: float | None = None
        for point in path:
            better, saved = point.race.winner, self.confirmed(point.problem, point.race)
            if saved == 0:
                stands = point.value
            elif stands is not None:
                low, high = sorted(self.bracket(quantity, stands, point.value, better))
                within = known.low < high and low < known.high
                return Flip(quantity, side, low, high, better, saved, point.value, within)
        return None

    def bracket(self, quantity: str, stands: float, falls: float, better: str) -> tuple[float, float]:
        """Return where the threshold lies, more closely."""
        for _ in range(3):
            middle = math.sqrt(stands * falls) if min(stands, falls) > 0 else (stands + falls) / 2
            middle = float(round(middle)) if counts(quantity) else middle
            if middle in (stands, falls):
                break
            _, level = self.saves(move(self.problem, quantity, middle), better, NARROWED)
            if level <= HINT:
                falls = middle
            elif level >= 1 - HINT:
                stands = middle
            else:  # too close to tell: the threshold may be on either side
                break
        return stands, falls

    def race(self, moved: Problem) -> Race:
        """Return a race of all candidates on a moved problem."""
        return race(
            moved, self.candidates(moved), LOOKS, horizon=moved.horizon, seed=moved.seed, first=FIRST, level=LEVEL_RACE,
            factor=FACTOR, workers=self.workers, progress=self.progress,
        )  # fmt: skip

    def confirmed(self, moved: Problem, ran: Race) -> float:
        """Return the share of regret that a race's winner saves, 0 unless fresh worlds confirm that it is worth a change."""
        ours, theirs = ran.regret[self.winner], ran.regret[ran.winner]
        count = min(len(ours), len(theirs))
        if ran.winner == self.winner or chance(ours[:count] - theirs[:count]) > HINT:
            return 0.0
        saved, level = self.saves(moved, ran.winner, CHECKED)
        return saved if level <= LEVEL and saved >= WORTH else 0.0

    def saves(self, moved: Problem, better: str, worlds: int) -> tuple[float, float]:
        """Return the share of regret that another policy saves on fresh worlds, and the p-value that it saves any."""
        made = self.candidates(moved)
        results = simulate(
            moved, {name: made[name] for name in (self.winner, better)}, horizon=moved.horizon, draws=worlds, repeats=1,
            seed=moved.seed, first=CHECK, bins=1, workers=self.workers,
        )  # fmt: skip
        self.progress(results.regret.size * moved.horizon)
        ours, theirs = results.regret
        return 1 - float(theirs.mean() / ours.mean()) if ours.mean() > 0 else 0.0, chance(ours - theirs)


def other_kinds(problem: Problem) -> list[tuple[str, Problem]]:
    """Return what the world might be instead of a hidden Markov chain, in words and as a problem."""
    if problem.kind != CHAIN:
        return []
    shared: dict[str, Any] = {
        f: problem.given[f] for f in ("rewards", "noise", "units", "horizon", "runs", "seed") if f in problem.given
    }
    if isinstance(problem.means, Range):
        shared["means"] = problem.means
    if problem.transition is None:
        low, high = span(problem, "dwell")
    else:
        low = high = 1 / max(1 / LONGEST, 1 - float(np.mean(np.diag(np.asarray(problem.transition, dtype=float)))))
    shared |= {"arms": problem.arms, "timescale": (low, high)}
    found = [("the means drift smoothly instead of jumping", Problem(kind=DRIFT, **shared))]
    found.append(("nothing changes at all", problem.replace(stickiness=1.0)))
    return found


def movable(problem: Problem) -> list[str]:
    """Return the quantities whose change could change the advice."""
    if problem.kind == RECORDED:
        return []
    drawn = isinstance(problem.means, Range)
    found = ["timescale"] if problem.kind == DRIFT else []
    if problem.kind in (CHAIN, SEASONS):
        found += ["dwell"] if problem.transition is None else []
        found += ["states"] if drawn and problem.transition is None else []
    found += ["noise"] if problem.rewards == "gaussian" else []
    found += ["carryover"] if problem.kind == CHAIN and "carryover" in problem.vague else []
    return [*found, "horizon"]


def span(problem: Problem, quantity: str) -> Range:
    """Return the range that a problem gives for a quantity, a dwell time where it speaks of stickiness."""
    if quantity == "horizon":
        return Range(problem.horizon, problem.horizon)
    if quantity == "dwell" and problem.stickiness is not None:
        low, high = problem.range("stickiness")
        return Range(1 / max(1 - low, 1 / LONGEST), 1 / max(1 - high, 1 / LONGEST))
    return problem.range(quantity)


def grid(problem: Problem, quantity: str) -> list[float]:
    """Return the values that a quantity is moved to, its range stretched on both sides.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.flips import grid
    >>> [round(value) for value in grid(lb.Problem(dwell="20 to 200"), "dwell")]
    [2, 7, 22, 63, 186, 545, 1600]
    """
    low, high = span(problem, quantity)
    points = POINTS_EXACT if low == high else POINTS
    if quantity == "horizon":
        return [float(n) for n in np.unique(np.geomspace(max(50, high / 64), high, 4).round().astype(int))]
    if quantity == "carryover":
        return [float(value) for value in np.linspace(0, 1, points)]
    if quantity == "noise":
        low, high = max(low, 1e-3 * problem.scale), max(high, 1e-3 * problem.scale)
    stretch = STRETCH_EXACT if low == high else STRETCH
    ends = max(least(quantity), low / stretch), max(high, min(MOST.get(quantity, math.inf), high * stretch))
    values = np.geomspace(*ends, points)
    if QUANTITIES[quantity].integer:
        return [float(n) for n in np.unique(values.round())]
    return [float(value) for value in values]


def least(quantity: str) -> float:
    """Return the least that a quantity can be moved to."""
    return max(float(QUANTITIES[quantity].allowed.low), 1e-9)


def counts(quantity: str) -> bool:
    """Whether a quantity is a whole number."""
    return quantity == "horizon" or QUANTITIES[quantity].integer


def move(problem: Problem, quantity: str, value: float) -> Problem:
    """Return the problem with one quantity at a value."""
    rounded = counts(quantity) or (problem.kind == SEASONS and quantity == "dwell")
    return problem.replace(**{quantity: round(value) if rounded else value})


def away(value: float, known: Range) -> float:
    """Return how many times a value lies outside a range, as a logarithm."""
    if known.low <= value <= known.high:
        return 0.0
    edge = known.low if value < known.low else known.high
    return abs(math.log(max(value, 1e-12) / max(edge, 1e-12)))


def lead(point: Point, winner: str) -> tuple[float, str]:
    """Return the best rival's regret over the winner's in a race, and who that is."""
    return min((point.race.over(label, winner), label) for label in point.race.regret if label != winner)
