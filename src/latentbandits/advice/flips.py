"""When the advice would be another: each quantity is moved beyond its range, the others are drawn as before."""

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from latentbandits.advice.problem import CHAIN, DRIFT, QUANTITIES, RECORDED, SEASONS, Problem, Range
from latentbandits.advice.race import Race, chance, race
from latentbandits.settings import Above, AtLeast, Within
from latentbandits.simulation.batch import simulate

FIRST = 2_000_000  # draws that neither the choice nor the measurement has seen
CHECK = 3_000_000
STRETCH, STRETCH_EXACT = 8.0, 32.0  # how far beyond its range, or its exact value, a quantity is moved
POINTS = 9
LOOKS = (4, 8, 16)
CHECKED = 64
# A flip is one that a fresh test confirms at this level and that is worth a change
LEVEL, WORTH = 0.01, 0.02


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
    side : "below", "above" or "if"
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


def sweeps(
    problem: Problem,
    candidates: Callable[[Problem], Mapping[str, Any]],
    winner: str,
    workers: int | None,
    progress: Callable[[int], None],
    points: int = POINTS,
) -> list[Sweep]:
    """Return a sweep for every quantity that can be moved; `candidates` gives the policies for a problem."""
    found = []
    for quantity in movable(problem):
        values = grid(problem, quantity, points)
        races = []
        for value in values:
            moved = move(problem, quantity, value)
            ran = race(
                moved, candidates(moved), LOOKS, horizon=moved.horizon, seed=problem.seed, first=FIRST, workers=workers,
                progress=progress,
            )  # fmt: skip
            races.append(Point(value, moved, ran))
        known = span(problem, quantity)
        flips = list(_flips(problem, quantity, races, known, candidates, winner, workers, progress))
        found.append(Sweep(quantity, known, races, flips))
    return found


def suppositions(
    problem: Problem,
    candidates: Callable[[Problem], Mapping[str, Any]],
    winner: str,
    workers: int | None,
    progress: Callable[[int], None],
) -> list[Flip]:
    """Return the other kinds of world in which another policy would be better."""
    found = []
    for words, moved in other_kinds(problem):
        ran = race(
            moved, candidates(moved), LOOKS, horizon=moved.horizon, seed=problem.seed, first=FIRST, workers=workers,
            progress=progress,
        )  # fmt: skip
        if ran.winner == winner:
            continue
        level, saved = duel(moved, candidates, winner, ran.winner, workers, progress)
        if level <= LEVEL and saved >= WORTH:
            found.append(Flip("kind", words, math.nan, math.nan, ran.winner, saved, math.nan, inside=False))
    return found


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
        low = high = 1 / max(1e-5, 1 - float(np.mean(np.diag(np.asarray(problem.transition, dtype=float)))))
    shared |= {"arms": problem.arms, "timescale": (min(low, 1e5), min(high, 1e5))}
    found = [("the means drift smoothly instead of jumping", Problem(kind=DRIFT, **shared))]
    found.append(("nothing changes at all", problem.but(stickiness=1.0)))
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
    found += ["memory"] if problem.kind == CHAIN and "memory" in problem.vague else []
    return [*found, "horizon"]


def span(problem: Problem, quantity: str) -> Range:
    """Return the range that a problem gives for a quantity, a dwell time where it speaks of stickiness."""
    if quantity == "horizon":
        return Range(problem.horizon, problem.horizon)
    if quantity == "dwell" and problem.stickiness is not None:
        low, high = problem.range("stickiness")
        return Range(1 / (1 - low) if low < 1 else math.inf, 1 / (1 - high) if high < 1 else math.inf)
    return problem.range(quantity)


def grid(problem: Problem, quantity: str, points: int = POINTS) -> list[float]:
    """Return the values that a quantity is moved to, its range stretched on both sides.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.flips import grid
    >>> [round(value) for value in grid(lb.Problem(dwell="20 to 200"), "dwell")]
    [2, 6, 13, 28, 63, 142, 318, 713, 1600]
    """
    low, high = span(problem, quantity)
    if quantity == "horizon":
        return [float(n) for n in np.unique(np.geomspace(max(50, high / 64), high, 4).round().astype(int))]
    if quantity == "memory":
        return [float(value) for value in np.linspace(0, 1, points)]
    if quantity == "noise":
        low, high = max(low, 1e-3 * problem.scale), max(high, 1e-3 * problem.scale)
    least, most = bounds(quantity)
    if math.isinf(high):
        low, high = min(low, 1e4), 1e4
    stretch = STRETCH_EXACT if low == high else STRETCH
    ends = max(least, low / stretch), min(most, high * stretch)
    values = np.geomspace(*ends, points)
    if QUANTITIES[quantity].integer:
        return [float(n) for n in np.unique(values.round())]
    return [float(value) for value in values]


def bounds(quantity: str) -> tuple[float, float]:
    """Return the least and the most that a quantity can be moved to."""
    rule = QUANTITIES[quantity].allowed
    least = rule.low if isinstance(rule, AtLeast | Within | Above) else 0.0
    most = 100.0 if quantity == "states" else 1e5
    return max(least, 1e-9), most


def move(problem: Problem, quantity: str, value: float) -> Problem:
    """Return the problem with one quantity at a value."""
    if quantity == "horizon" or QUANTITIES[quantity].integer:
        return problem.but(**{quantity: round(value)})
    return problem.but(**{quantity: value})


def _flips(
    problem: Problem,
    quantity: str,
    points: list[Point],
    known: Range,
    candidates: Callable[[Problem], Mapping[str, Any]],
    winner: str,
    workers: int | None,
    progress: Callable[[int], None],
) -> Any:
    """Find where another policy takes over, going outwards from the range on both sides."""
    values = [point.value for point in points]
    home = min(range(len(points)), key=lambda i: away(values[i], known))
    inside = [i for i, value in enumerate(values) if away(value, known) == 0] or [home]
    for side, path in (
        ("below", [*reversed(range(inside[-1] + 1))]),
        ("above", [*range(inside[0], len(points))]),
    ):
        for before, here in itertools.pairwise(path):
            better = points[here].race.winner
            if better == winner or points[before].race.winner == better:
                continue
            # fresh worlds: is it true, and where does it begin?
            level, saved = duel(points[here].problem, candidates, winner, better, workers, progress)
            if level > LEVEL or saved < WORTH:
                continue
            good, bad = values[before], values[here]
            for _ in range(3):
                middle = math.sqrt(good * bad) if min(good, bad) > 0 else (good + bad) / 2
                if quantity == "horizon" or QUANTITIES[quantity].integer:
                    middle = round(middle)
                if middle in (good, bad):
                    break
                _, gain = duel(move(problem, quantity, middle), candidates, winner, better, workers, progress)
                good, bad = (good, middle) if gain > 0 else (middle, bad)
            low, high = sorted((good, bad))
            yield Flip(quantity, side, low, high, better, saved, values[here], known.low <= low and high <= known.high)
            break


def duel(
    problem: Problem,
    candidates: Callable[[Problem], Mapping[str, Any]],
    winner: str,
    better: str,
    workers: int | None,
    progress: Callable[[int], None],
) -> tuple[float, float]:
    """Return the p-value of `better` being better than `winner` on fresh worlds, and the share of regret that it saves."""
    made = candidates(problem)
    results = simulate(
        problem, {name: made[name] for name in (winner, better)}, horizon=problem.horizon, draws=CHECKED, repeats=1,
        seed=problem.seed, first=CHECK, bins=1, workers=workers,
    )  # fmt: skip
    progress(results.regret.size * problem.horizon)
    ours, theirs = results.regret
    return chance(ours - theirs), 1 - float(theirs.mean() / ours.mean()) if ours.mean() > 0 else 0.0


def away(value: float, known: Range) -> float:
    """Return how many times a value lies outside a range, as a logarithm."""
    if known.low <= value <= known.high:
        return 0.0
    edge = known.low if value < known.low else known.high
    return abs(math.log(max(value, 1e-12) / max(edge, 1e-12)))


def lead(point: Point, winner: str) -> float:
    """Return the best rival's regret over the winner's in a race."""
    rivals = [point.race.over(label, winner) for label in point.race.regret if label != winner]
    return min(rivals) if rivals else math.inf
