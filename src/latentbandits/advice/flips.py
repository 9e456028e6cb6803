"""When another policy would be advised: each quantity is moved beyond its range, the others are sampled as before."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentbandits.advice.budget import Budget, OutOfTime
from latentbandits.advice.problem import Problem
from latentbandits.advice.race import Race, p_value, race
from latentbandits.advice.ranges import Range
from latentbandits.advice.vocabulary import QUANTITIES, WORDS, words_of
from latentbandits.advice.word import INTEGER, LINEAR
from latentbandits.presentation.progress import Report, Stages
from latentbandits.settings import Within
from latentbandits.simulation.batch import simulate
from latentbandits.worlds.registry import DRIFT, HIDDEN_MARKOV, RECORDED, REGISTRY

FIRST = 2_000_000  # draws that neither the choice nor the measurement has seen
CHECK = 3_000_000
STRETCH, STRETCH_EXACT = 8.0, 32.0  # how far beyond its range, or its exact value, a quantity is moved
POINTS, POINTS_EXACT = 7, 9
# These races only have to find who leads, and a flip is checked on other worlds: few worlds, and the others soon drop out
LOOKS, LEVEL_RACE, FACTOR = (4, 8, 16), 0.05, 1.5
CHECKED, NARROWED, HALVINGS = 64, 24, 3  # worlds that confirm a flip, worlds for each step that narrows it, and steps
LONGEST = 1e5  # a regime of more rounds is one that never ends
# No quantity is moved beyond this, unless the problem is there itself
MOST = {"states": 100.0, "dwell": LONGEST, "timescale": LONGEST}
LEAST = {"states": 2.0}  # that nothing changes is tried anyway
# A flip is one that a fresh test confirms at this level and that is worth a change
LEVEL, WORTH = 0.01, 0.02
HINT = 0.1  # and that the race hints at, at this level
OTHER_KINDS = ("the means drift smoothly instead of jumping", "nothing changes at all")


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


class FlipSearch:
    """The search for problems near a given one for which another policy is better than the advised one.

    Parameters
    ----------
    problem : Problem
        What the advice is for.
    winner : str
        Label of the advised policy.
    candidates : callable
        Given a problem, label -> policy.
    workers : int, optional
        Threads.
    progress : callable, optional
        Called with the rounds played so far and at most in all.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads.
    budget : Budget, optional
        The time there is.
    costs : mapping, optional
        Label -> seconds that a world takes, where the time is limited.

    Attributes
    ----------
    undone : quantities, and other kinds of world, that there was no time for
    """

    def __init__(
        self,
        problem: Problem,
        winner: str,
        candidates: Callable[[Problem], Mapping[str, Any]],
        workers: int | None = None,
        progress: Report | None = None,
        executor: Executor | None = None,
        budget: Budget | None = None,
        costs: Mapping[str, float] | None = None,
    ) -> None:
        self.problem, self.winner, self.candidates = problem, winner, candidates
        self.workers, self.executor, self.budget, self.costs = workers, executor, budget or Budget(), costs
        self.undone: list[str] = []
        self._plan = plan(problem, len(candidates(problem)))
        self._sections = Stages(progress, *map(sum, self._plan.values()))
        self._steps = Stages(None)  # of the section that is being played

    def run(self) -> tuple[list[Sweep], list[Flip]]:
        """Return a sweep for every quantity that can be moved, and the other kinds of world in which another policy is better."""
        sweeps = [self.in_time(quantity, self.sweep, quantity) for quantity in movable(self.problem)]
        kinds = [self.in_time(words, self.other_kind, words, there) for words, there in other_kinds(self.problem)]
        self._sections.close()
        return [sweep for sweep in sweeps if sweep is not None], [flip for flip in kinds if flip is not None]

    def in_time(self, section: str, search: Callable[..., Any], *given: Any) -> Any:
        """Return what a search finds; None if it does not end in time."""
        try:
            return search(*given)
        except OutOfTime:
            self.undone.append(section)
            return None

    def left_out(self) -> list[str]:
        """Return in words what there was no time for; nothing if there was time for all."""
        kinds = [words for words in self.undone if words in OTHER_KINDS]
        quantities = [quantity for quantity in self.undone if quantity not in kinds]
        found = [f"whether it flips with {', '.join(quantities)}"] if quantities else []
        return found + ([f"whether it flips if {' or '.join(kinds)}"] if kinds else [])

    def _begin(self, section: str) -> None:
        self._steps = Stages(self._sections.next(), *self._plan[section])

    def sweep(self, quantity: str) -> Sweep:
        """Return the races along one quantity, and its flips."""
        self._begin(quantity)
        moved = [(value, move(self.problem, quantity, value)) for value in grid(self.problem, quantity)]
        points = [Point(value, there, self.race(there)) for value, there in moved]
        known = span(self.problem, quantity)
        return Sweep(quantity, known, points, self.flips(quantity, known, points))

    def other_kind(self, words: str, there: Problem) -> Flip | None:
        """Return the flip if the world were of another kind; None if the advice stands."""
        self._begin(words)
        ran = self.race(there)
        saved = self.confirmed(there, ran)
        return Flip("kind", words, math.nan, math.nan, ran.winner, saved, math.nan, inside=False) if saved > 0 else None

    def flips(self, quantity: str, known: Range, points: list[Point]) -> list[Flip]:
        """Return where another policy becomes better, on both sides: through the range and beyond it."""
        inside = within([point.value for point in points], known)
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
                overlaps = known.low < high and low < known.high
                return Flip(quantity, side, low, high, better, saved, point.value, overlaps)
        return None

    def bracket(self, quantity: str, stands: float, falls: float, better: str) -> tuple[float, float]:
        """Return two values closer to the threshold: at one the advice stands, at the other it does not."""
        for _ in range(HALVINGS):
            middle = math.sqrt(stands * falls) if min(stands, falls) > 0 else (stands + falls) / 2
            middle = float(round(middle)) if counts(quantity) else middle
            if middle in (stands, falls):
                break
            _, level = self.saves(move(self.problem, quantity, middle), better, NARROWED)
            if level <= HINT:
                falls = middle
            elif level >= 1 - HINT:
                stands = middle
            else:  # too close to call: the threshold may be on either side
                break
        return stands, falls

    def race(self, there: Problem) -> Race:
        """Return a race of all candidates on a moved problem."""
        found = race(
            there, self.candidates(there), LOOKS, horizon=there.horizon, seed=there.seed, first=FIRST, level=LEVEL_RACE,
            factor=FACTOR, workers=self.workers, executor=self.executor, progress=self._steps.next(), budget=self.budget,
            costs=self.costs,
        )  # fmt: skip
        if found.hurried:
            raise OutOfTime
        return found

    def confirmed(self, there: Problem, ran: Race) -> float:
        """Return the share of regret that a race's winner saves, 0 unless fresh worlds confirm that it is worth a change."""
        ours, theirs = ran.regret[self.winner], ran.regret[ran.winner]
        count = min(len(ours), len(theirs))
        if ran.winner == self.winner or p_value(ours[:count] - theirs[:count]) > HINT:
            return 0.0
        saved, level = self.saves(there, ran.winner, CHECKED)
        return saved if level <= LEVEL and saved >= WORTH else 0.0

    def saves(self, there: Problem, better: str, worlds: int) -> tuple[float, float]:
        """Return the share of regret that another policy saves on fresh worlds, and the p-value that it saves any."""
        made = self.candidates(there)
        running = partial(
            simulate, there, {name: made[name] for name in (self.winner, better)}, horizon=there.horizon, repeats=1,
            seed=there.seed, bins=1, workers=self.workers, executor=self.executor,
        )  # fmt: skip
        ours, theirs = self.budget.whole(running, CHECK, worlds, 2 * there.horizon, self._steps.next()).regret
        return 1 - float(theirs.mean() / ours.mean()) if ours.mean() > 0 else 0.0, p_value(ours - theirs)


def plan(problem: Problem, count: int) -> dict[str, list[int]]:
    """Return the rounds that each simulation of a search takes at most, for every quantity and every other kind of world.

    Parameters
    ----------
    problem : Problem
        What the advice is for.
    count : int
        Number of candidates.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.flips import plan
    >>> {section: len(rounds) for section, rounds in plan(lb.Problem(kind="drift"), count=3).items()}
    {'timescale': 25, 'noise': 25, 'horizon': 15}
    """
    found = {}
    for quantity in movable(problem):
        values = grid(problem, quantity)
        horizons = [round(value) if quantity == "horizon" else problem.horizon for value in values]
        tests = len(values) + len(within(values, span(problem, quantity))) + 2 * HALVINGS  # on the way down and up
        races = [count * LOOKS[-1] * horizon for horizon in horizons]
        found[quantity] = [*races, *[2 * CHECKED * problem.horizon] * tests]
    for words in OTHER_KINDS if problem.kind == HIDDEN_MARKOV else ():
        found[words] = [count * LOOKS[-1] * problem.horizon, 2 * CHECKED * problem.horizon]
    return found


def other_kinds(problem: Problem) -> list[tuple[str, Problem]]:
    """Return what the world could be instead of a hidden Markov chain, in words and as a problem."""
    if problem.kind != HIDDEN_MARKOV:
        return []
    shared: dict[str, Any] = {
        word: problem.given[word] for word in words_of(DRIFT) if word in problem.given and word not in ("kind", "means")
    }
    ends = problem.means if isinstance(problem.means, Range) else Range(np.min(problem.means), np.max(problem.means))
    if not ends.exact:
        shared["means"] = ends
    if problem.transition is None:
        low, high = span(problem, "dwell")
    else:
        low = high = 1 / max(1 / LONGEST, 1 - float(np.mean(np.diag(np.asarray(problem.transition, dtype=float)))))
    shared |= {"arms": problem.arms, "timescale": (low, high)}
    return list(zip(OTHER_KINDS, (Problem(kind=DRIFT, **shared), problem.replace(stickiness=1.0)), strict=True))


def movable(problem: Problem) -> list[str]:
    """Return the quantities whose change could change the advice."""
    if problem.kind == RECORDED:
        return []
    if hasattr(problem, "factors"):  # fitted to a log
        return [*problem.factors, "horizon"]
    matrices = [WORDS[name] for name in ("means", "transition") if isinstance(getattr(problem, name), list)]
    fixed = {size for word in matrices for size in word.sizes} | {word.group for word in matrices}
    found = []
    for name in ("dwell", *(name for name in QUANTITIES if name != "dwell")):
        has = getattr(problem, name) is not None or (name == "dwell" and problem.stickiness is not None)
        free = name not in fixed and (QUANTITIES[name].scale != LINEAR or name in problem.vague)
        found += [name] if has and free and QUANTITIES[name].swept else []
    return [*found, "horizon"]


def span(problem: Problem, quantity: str) -> Range:
    """Return the range that a problem gives for a quantity; stickiness is converted to a dwell time."""
    if quantity == "horizon":
        return Range(problem.horizon, problem.horizon)
    if quantity == "dwell" and problem.stickiness is not None:
        low, high = problem.range("stickiness")
        return Range(1 / max(1 - low, 1 / LONGEST), 1 / max(1 - high, 1 / LONGEST))
    if hasattr(problem, "factors"):
        return Range(problem.factors[quantity], problem.factors[quantity])
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
    if hasattr(problem, "factors"):
        return [float(value) for value in np.geomspace(low / STRETCH, high * STRETCH, POINTS)]
    word = QUANTITIES[quantity]
    if word.scale == LINEAR:
        whole = isinstance(word.rule, Within)
        first, last = (word.rule.low, word.rule.high) if whole else (2 * low - high, 2 * high - low)
        return [float(value) for value in np.linspace(first, last, points)]
    if quantity == "noise":
        low, high = max(low, 1e-3 * problem.scale), max(high, 1e-3 * problem.scale)
    stretch = STRETCH_EXACT if low == high else STRETCH
    ends = (
        min(low, max(least(quantity), low / stretch)),
        max(high, min(MOST.get(quantity, math.inf), high * stretch)),
    )
    values = np.geomspace(*ends, points)
    if word.type == INTEGER:
        return [float(n) for n in np.unique(values.round())]
    return [float(value) for value in values]


def least(quantity: str) -> float:
    """Return the least that a quantity can be moved to."""
    return LEAST.get(quantity, max(float(QUANTITIES[quantity].rule.low), 1e-9))


def counts(quantity: str) -> bool:
    """Whether a quantity is a whole number."""
    return quantity == "horizon" or (quantity in QUANTITIES and QUANTITIES[quantity].type == INTEGER)


def move(problem: Problem, quantity: str, value: float) -> Problem:
    """Return the problem with one quantity at a value."""
    if hasattr(problem, "factors") and quantity != "horizon":
        moved: Problem = problem.scaled(quantity, value)
        return moved
    rounded = counts(quantity) or REGISTRY[problem.kind].takes_integer(quantity)
    return problem.replace(**{quantity: round(value) if rounded else value})


def within(values: Sequence[float], known: Range) -> list[int]:
    """Return the positions of the values inside a range, or of the nearest if there is none."""
    distances = [away(value, known) for value in values]
    return [i for i, distance in enumerate(distances) if distance == min(distances)]


def away(value: float, known: Range) -> float:
    """Return how far a value lies outside a range: on a logarithmic scale, or on a linear one for a range that begins at 0 or below."""
    if known.low <= value <= known.high:
        return 0.0
    edge = known.low if value < known.low else known.high
    if known.low <= 0:
        return abs(value - edge)
    return abs(math.log(max(value, 1e-12) / max(edge, 1e-12)))


def lead(point: Point, winner: str) -> tuple[float, str]:
    """Return the best rival's regret over the winner's in a race, and the rival."""
    return min((point.race.over(label, winner), label) for label in point.race.regret if label != winner)
