"""When another policy would be advised: each quantity is moved beyond its range, the others are sampled as before."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from latentbandits.advice.base import BaseProblem
from latentbandits.advice.parameter import Range
from latentbandits.advice.race import Race, p_value, race
from latentbandits.advice.simulator import BudgetExceeded, Simulator
from latentbandits.protocols import Contestant

Found = TypeVar("Found")
FIRST = 2_000_000  # draws that neither the choice nor the measurement has seen
CHECK = 3_000_000
# These races only have to find who leads, and a flip is checked on other worlds: few worlds, and the others soon drop out
LOOKS, LEVEL_RACE, FACTOR = (4, 8, 16), 0.05, 1.5
CHECKED, NARROWED, HALVINGS = 64, 24, 3  # worlds that confirm a flip, worlds for each step that narrows it, and steps
# A flip is one that a fresh test confirms at this level and that is worth a change
LEVEL, WORTH = 0.01, 0.02
HINT = 0.1  # and that the race hints at, at this level


class Point(NamedTuple):
    """A race at one value of one quantity."""

    value: float
    problem: BaseProblem
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

    `candidates` returns the policies, by label, that fit a problem; `costs` are the seconds that a world takes each, where time is limited.
    Quantities and other kinds of world that there is no time for are in `undone`.
    """

    def __init__(
        self,
        problem: BaseProblem,
        winner: str,
        candidates: Callable[[BaseProblem], Mapping[str, Contestant]],
        simulator: Simulator | None = None,
        costs: Mapping[str, float] | None = None,
    ) -> None:
        self.problem, self.winner, self.candidates = problem, winner, candidates
        self.simulator, self.costs, self.kinds = simulator or Simulator(), costs, problem.alternatives()
        self.undone: list[str] = []

    def run(self) -> tuple[list[Sweep], list[Flip]]:
        """Return a sweep for every quantity that can be moved, and the other kinds of world in which another policy is better."""
        sweeps = [self._search(quantity, self.sweep) for quantity in self.problem.movable()]
        kinds = [self._search(words, self.other_kind) for words in self.kinds]
        return [sweep for sweep in sweeps if sweep is not None], [flip for flip in kinds if flip is not None]

    def _search(self, section: str, search: Callable[[str], Found]) -> Found | None:
        """Return what a search finds; None if it does not end in time."""
        try:
            return search(section)
        except BudgetExceeded:
            self.undone.append(section)
            return None

    def left_out(self) -> list[str]:
        """Return in words what there was no time for; nothing if there was time for all."""
        kinds = [words for words in self.undone if words in self.kinds]
        quantities = [quantity for quantity in self.undone if quantity not in kinds]
        undone = [f"whether it flips with {', '.join(quantities)}"] if quantities else []
        return undone + ([f"whether it flips if {' or '.join(kinds)}"] if kinds else [])

    def sweep(self, quantity: str) -> Sweep:
        """Return the races along one quantity, and its flips."""
        moved = [(value, self.problem.move(quantity, value)) for value in self.problem.grid(quantity)]
        points = [Point(value, there, self.race(there)) for value, there in moved]
        bounds = self.problem.bounds(quantity)
        return Sweep(quantity, bounds, points, self.flips(quantity, bounds, points))

    def other_kind(self, words: str) -> Flip | None:
        """Return the flip if the world were of another kind; None if the advice stands."""
        there = self.kinds[words]
        ran = self.race(there)
        saved = self.confirm(there, ran)
        return Flip("kind", words, math.nan, math.nan, ran.winner, saved, math.nan, inside=False) if saved > 0 else None

    def flips(self, quantity: str, bounds: Range, points: list[Point]) -> list[Flip]:
        """Return where another policy becomes better, on both sides: through the range and beyond it."""
        inside = within([point.value for point in points], bounds)
        down, up = points[inside[-1] :: -1], points[inside[0] :]
        flips = [self.first_flip(quantity, side, bounds, path) for side, path in (("below", down), ("above", up))]
        return [flip for flip in flips if flip is not None]

    def first_flip(self, quantity: str, side: str, bounds: Range, path: list[Point]) -> Flip | None:
        """Return the first flip along a path after a point at which the advice stands."""
        stands: float | None = None
        for point in path:
            better, saved = point.race.winner, self.confirm(point.problem, point.race)
            if saved == 0:
                stands = point.value
            elif stands is not None:
                low, high = sorted(self.bracket(quantity, stands, point.value, better))
                overlaps = bounds.low < high and low < bounds.high
                return Flip(quantity, side, low, high, better, saved, point.value, overlaps)
        return None

    def bracket(self, quantity: str, stands: float, falls: float, better: str) -> tuple[float, float]:
        """Return two values closer to the threshold: at one the advice stands, at the other it does not."""
        for _ in range(HALVINGS):
            middle = math.sqrt(stands * falls) if min(stands, falls) > 0 else (stands + falls) / 2
            middle = float(round(middle)) if self.problem.counts(quantity) else middle
            if middle in (stands, falls):
                break
            _, level = self.saves(self.problem.move(quantity, middle), better, NARROWED)
            if level <= HINT:
                falls = middle
            elif level >= 1 - HINT:
                stands = middle
            else:  # too close to call: the threshold may be on either side
                break
        return stands, falls

    def race(self, there: BaseProblem) -> Race:
        """Return a race of all candidates on a moved problem."""
        ran = race(
            there, self.candidates(there), LOOKS, first=FIRST, level=LEVEL_RACE, factor=FACTOR,
            simulator=self.simulator, costs=self.costs,
        )  # fmt: skip
        if ran.hurried:
            raise BudgetExceeded
        return ran

    def confirm(self, there: BaseProblem, ran: Race) -> float:
        """Return the share of regret that a race's winner saves, 0 unless fresh worlds confirm that it is worth a change."""
        ours, theirs = ran.paired(self.winner, ran.winner)
        if ran.winner == self.winner or p_value(ours - theirs) > HINT:
            return 0.0
        saved, level = self.saves(there, ran.winner, CHECKED)
        return saved if level <= LEVEL and saved >= WORTH else 0.0

    def saves(self, there: BaseProblem, better: str, worlds: int) -> tuple[float, float]:
        """Return the share of regret that another policy saves on fresh worlds, and the p-value that it saves any."""
        policies = self.candidates(there)
        both = {label: policies[label] for label in (self.winner, better)}
        ours, theirs = self.simulator.play(there, both, CHECK, worlds).regret
        return 1 - float(theirs.mean() / ours.mean()) if ours.mean() > 0 else 0.0, p_value(ours - theirs)


def within(values: Sequence[float], bounds: Range) -> list[int]:
    """Return the positions of the values inside a range, or of the nearest if there is none."""
    distances = [away(value, bounds) for value in values]
    return [i for i, distance in enumerate(distances) if distance == min(distances)]


def away(value: float, bounds: Range) -> float:
    """Return how far a value lies outside a range: on a logarithmic scale, or on a linear one for a range that begins at 0 or below."""
    if bounds.low <= value <= bounds.high:
        return 0.0
    edge = bounds.low if value < bounds.low else bounds.high
    if bounds.low <= 0:
        return abs(value - edge)
    return abs(math.log(max(value, 1e-12) / max(edge, 1e-12)))


def lead(point: Point, winner: str) -> tuple[float, str]:
    """Return the best rival's regret over the winner's in a race, and the rival."""
    return min((point.race.over(label, winner), label) for label in point.race.regret if label != winner)
