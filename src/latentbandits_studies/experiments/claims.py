"""Claims about results, and how they are judged: runs are paired, orders have intervals, and a tie is an answer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latentbandits.settings import InvalidValueError
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments.once import once

if TYPE_CHECKING:
    import pandas as pd

HOLDS, FAILS, TIED, OPEN = "holds", "does not hold", "tied", "cannot be judged"
VERDICTS = (HOLDS, FAILS, TIED, OPEN)
# Who says it: the paper, in words or numbers; the paper, with a proof or by arithmetic; we, reading a figure of the paper that comes
# without a sentence; we, as a target of our own
PAPER, PROVED, READING, TARGET = "paper", "proved", "reading", "target"
KINDS: Mapping[str, str] = {
    PAPER: "the paper's claims",
    PROVED: "what it proves or works out",
    READING: "our reading of its figures",
    TARGET: "our own targets",
}
# Two published cells that are nearer than this are called a tie in print, a convention: *Optimal single arm* is the same quantity
# in eight rows of the main table and scatters there by 2 % (standard deviation) and 7 % (range).
PRINT_TIE = 0.05
REPRODUCED = 0.15  # the share of a published figure by which ours may differ
PUBLISHED_MATRICES = 128  # of every published mean: stated for the main table, taken to be the same elsewhere
BELOW, ABOVE = "below", "above"
STRETCH = 1_000  # rounds of a stretch, where the regret of several horizons is read off one run


class Claim(NamedTuple):
    """A claim, and what came out here.

    Attributes
    ----------
    id : its name, which never changes: the experiment's id, a stroke, a few words
    text : the claim, in our words
    published, measured : figures as text
    verdict : one of `VERDICTS`
    why : a remark, where one is needed
    kind : who says it, one of `KINDS`
    points_to : of a quick run, which judges nothing, the verdict that it points to
    depends : what it depends on and the paper does not state: names of readings in `paper/choices.py`
    lean : of one that the readings leave open, that it holds under none of them, or fails under none
    """

    id: str
    text: str
    published: str
    measured: str
    verdict: str
    why: str = ""
    kind: str = PAPER
    points_to: str = ""
    depends: tuple[str, ...] = ()
    lean: str = ""

    @property
    def hint(self) -> str:
        """What a quick run points to, if that is more than that it cannot be judged."""
        return "" if self.points_to == self.verdict else self.points_to

    @property
    def wording(self) -> str:
        """The verdict, with what a quick run points to."""
        beside = f"points to: {self.hint}" if self.hint else self.lean
        return f"{self.verdict} ({beside})" if beside else self.verdict


class Order(NamedTuple):
    """One quantity over another on the same runs, with its interval over draws of the world.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import Order
    >>> Order(0.9, 0.85, 0.95).word, Order(1.02, 0.97, 1.07).word, Order(1.4, 1.3, 1.5).text
    ('below', 'tied', '1.40 (1.30 to 1.50)')
    """

    ratio: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """Whether the first is below or above the other, or neither can be said."""
        return BELOW if self.high < 1 else ABOVE if self.low > 1 else TIED

    @property
    def text(self) -> str:
        """The ratio and its interval."""
        return f"{self.ratio:.2f} ({self.low:.2f} to {self.high:.2f})"


class _Cell(NamedTuple):
    """A policy in a case: its rows in the table, and their runs, in order; a run is a draw and a repeat."""

    rows: np.ndarray
    runs: np.ndarray


_REPEATS = 1 << 20  # more than any draw has: a run is draw * _REPEATS + repeat


@once
def _cells(results: "pd.DataFrame") -> dict[tuple[str, str], _Cell]:
    """Return where each policy in each case has its rows."""
    repeats = results["repeat"].to_numpy() if "repeat" in results else 0
    runs = results["draw"].to_numpy() * _REPEATS + repeats
    cells = {}
    for (case, policy), rows in results.groupby(["case", "policy"], sort=False).indices.items():
        ordered = rows[np.argsort(runs[rows], kind="stable")]
        cells[str(case), str(policy)] = _Cell(ordered, runs[ordered])
    return cells


@once
def _values(results: "pd.DataFrame", column: str) -> np.ndarray:
    values: np.ndarray = results[column].to_numpy(dtype=float)
    return values


@once
def per_draw(results: "pd.DataFrame", case: str, policy: str, column: str = "regret") -> np.ndarray:
    """Return one number per draw of the world: the mean of a column over the repeats of a policy in a case."""
    return _means(results, _cells(results)[case, policy], column)


def _means(results: "pd.DataFrame", cell: _Cell, column: str) -> np.ndarray:
    first = np.flatnonzero(np.diff(cell.runs // _REPEATS, prepend=-1))
    sums: np.ndarray = np.add.reduceat(_values(results, column)[cell.rows], first)
    return sums / np.diff(first, append=len(cell.rows))


def upto(horizon: int) -> str:
    """Return the column with the regret of the first so many rounds, see `with_horizons`."""
    return f"regret of {horizon} rounds"


@once
def with_horizons(results: "pd.DataFrame", horizons: tuple[int, ...]) -> "pd.DataFrame":
    """Return results with a column for each horizon: the regret up to there, from curves of one point per `STRETCH` rounds.

    No policy knows the horizon, so that a shorter run is the beginning of a longer one.
    """
    curves = np.stack(results["regret_curve"].to_list()).astype(float).cumsum(axis=1)
    return results.assign(**{upto(horizon): curves[:, horizon // STRETCH - 1] for horizon in horizons})


@once
def order(
    results: "pd.DataFrame",
    case: str,
    policy: str,
    other: str,
    among: int = 1,
    column: str = "regret",
    other_case: str = "",
) -> Order:
    """Compare two policies of a case (or of two cases with the same draws) on the runs that both have.

    `among` is the number of comparisons that one claim makes: they share the 5 % (Bonferroni).
    """
    mine, theirs = paired(results, ((case, policy), (other_case or case, other)), column)
    return compared(mine, theirs, among)


def paired(results: "pd.DataFrame", cells: Sequence[tuple[str, str]], column: str = "regret") -> list[np.ndarray]:
    """Return one number per draw of some cells (a case and a policy each), of the runs that all of them have."""
    found = [_cells(results)[cell] for cell in cells]
    if all(np.array_equal(found[0].runs, cell.runs) for cell in found[1:]):
        return [per_draw(results, *cell, column) for cell in cells]
    shared = found[0].runs  # some have been played on fewer matrices, or less often
    for cell in found[1:]:
        shared = np.intersect1d(shared, cell.runs)
    return [_means(results, _Cell(cell.rows[np.isin(cell.runs, shared)], shared), column) for cell in found]


def compared(mine: np.ndarray, theirs: np.ndarray, among: int = 1) -> Order:
    """Return the order of two paired samples.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.claims import compared
    >>> compared(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])).word
    'below'
    """
    return quotient([mine], [theirs], among)


def quotient(upper: Sequence[np.ndarray], lower: Sequence[np.ndarray], among: int = 1) -> Order:
    """Return a product of means over another product of means, all of paired samples: the interval carries the error of every mean.

    Examples
    --------
    What a policy grows by, over what another grows by:

    >>> import numpy as np
    >>> from latentbandits_studies.experiments.claims import quotient
    >>> mine, theirs = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    >>> quotient([3 * mine, theirs], [mine, 2 * theirs])
    Order(ratio=1.5, low=1.5, high=1.5)
    """
    counts = [len(sample) for sample in (*upper, *lower)]
    means, others = ([float(sample.mean()) for sample in part] for part in (upper, lower))
    if len(set(counts)) > 1 or not all(map(math.isfinite, (*means, *others))):
        raise InvalidValueError("claims", "samples", counts, "paired: one finite number of each for every draw")
    above, below = math.prod(means), math.prod(others)
    if below == 0:  # counts of something that never happens
        return Order(1.0, 1.0, 1.0) if above == 0 else Order(np.inf, np.inf, np.inf)
    if above == 0:
        return Order(0.0, 0.0, 0.0)
    logarithm = np.zeros(counts[0])  # to first order, draw by draw
    for part, middles, sign in ((upper, means, 1.0), (lower, others, -1.0)):
        for sample, middle in zip(part, middles, strict=True):
            logarithm += sign * (sample / middle - 1)
    _, low, high = interval(logarithm, 1 - 0.05 / among)
    return Order(above / below, above / below * math.exp(low), above / below * math.exp(high))


def mean(results: "pd.DataFrame", case: str, policy: str, column: str = "regret") -> float:
    """Return the mean of a column over all runs of a policy in a case."""
    return float(per_draw(results, case, policy, column).mean())


def shown(results: "pd.DataFrame", case: str, policy: str, column: str = "regret") -> str:
    """Return a mean regret and the half width of its 95 % interval over draws, as text."""
    middle, low, high = interval(per_draw(results, case, policy, column))
    return f"{middle:,.0f} \N{PLUS-MINUS SIGN} {(high - low) / 2:,.0f}"


def all_of(words: Iterable[str], wanted: str = BELOW) -> str:
    """Judge that every comparison has the wanted word: one that is contrary refutes it, one that is tied leaves it tied.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import all_of
    >>> all_of(["below", "below"]), all_of(["below", "tied"]), all_of(["below", "tied", "above"])
    ('holds', 'tied', 'does not hold')
    """
    given = list(words)
    if not given:
        return OPEN
    if any(word not in (wanted, TIED) for word in given):
        return FAILS
    return TIED if TIED in given else HOLDS


def near(comparison: Order, share: float) -> str:
    """Judge that two quantities are the same to within a share: the whole interval must lie inside, or all of it outside.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import Order, near
    >>> near(Order(1.0, 0.97, 1.03), 0.1), near(Order(1.3, 1.2, 1.4), 0.1), near(Order(1.1, 1.0, 1.2), 0.1)
    ('holds', 'does not hold', 'cannot be judged')
    """
    if 1 - share <= comparison.low and comparison.high <= 1 + share:
        return HOLDS
    return FAILS if comparison.high < 1 - share or comparison.low > 1 + share else OPEN


def worst(verdicts: Iterable[str]) -> str:
    """Judge several things that must all hold: one that does not refutes, one that is open or tied leaves it so.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import worst
    >>> worst(["holds", "holds"]), worst(["holds", "cannot be judged"]), worst(["cannot be judged", "does not hold"])
    ('holds', 'cannot be judged', 'does not hold')
    """
    given = set(verdicts)
    return next((word for word in (FAILS, OPEN, TIED, HOLDS) if word in given), OPEN)


def at_least(words: Sequence[str], wanted: int, said: str = HOLDS, contrary: str = FAILS, doubt: str = OPEN) -> str:
    """Judge that so many cases have it: counting the doubtful ones for it or against it must not matter.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import at_least
    >>> [at_least(["below", "below", "tied", other], 3, "below", "above") for other in ("below", "tied")]
    ['holds', 'cannot be judged']
    """
    if words.count(said) >= wanted:
        return HOLDS
    return FAILS if len(words) - words.count(contrary) < wanted else doubt


def agreed(verdicts: Iterable[str]) -> str:
    """Return the verdict under all readings of something that the paper leaves open if they agree; else it cannot be judged.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import agreed
    >>> agreed(["holds", "holds"]), agreed(["holds", "does not hold"]), agreed(["tied", "does not hold"])
    ('holds', 'cannot be judged', 'cannot be judged')
    """
    given = set(verdicts)
    return given.pop() if len(given) == 1 else OPEN


def came_out(figure: float, values: np.ndarray, among: int = 1) -> Order:
    """Return our mean over a published one, both with their sampling error.

    The published mean is one of other matrices, which scatter as ours do: of as many as the paper samples for a configuration.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.claims import came_out
    >>> came_out(100.0, np.linspace(50.0, 160.0, 128)).text
    '1.05 (0.97 to 1.13)'
    """
    ours = compared(values, np.ones(len(values)), among)
    if ours.ratio == 0:
        return Order(0.0, 0.0, 0.0)
    reach = np.log(ours.high / ours.ratio) * np.sqrt(1 + len(values) / PUBLISHED_MATRICES)
    ratio = ours.ratio / figure
    return Order(ratio, ratio * float(np.exp(-reach)), ratio * float(np.exp(reach)))


@once
def reproduced(
    results: "pd.DataFrame", case: str, policy: str, figure: float, among: int = 1, column: str = "regret"
) -> str:
    """Judge that a published figure comes out: our mean within 15 % of it, where both have their sampling error."""
    return near(came_out(figure, per_draw(results, case, policy, column), among), REPRODUCED)


def matches(
    results: "pd.DataFrame", case: str, policies: Sequence[str], figures: Iterable[float], column: str = "regret"
) -> str:
    """Judge that published figures come out, each within 15 %; they share the 5 %.

    One whose interval lies outside refutes it; one whose interval only reaches outside leaves it open.
    """
    among = len(policies)
    return worst(
        reproduced(results, case, policy, figure, among, column)
        for policy, figure in zip(policies, figures, strict=True)
    )


def printed(cell: float, other: float) -> str:
    """Return the order of two published cells, or that they are a tie in print.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import printed
    >>> printed(452, 944), printed(1330, 1379), printed(3625, 2480)
    ('below', 'tied', 'above')
    """
    if max(cell, other) <= (1 + PRINT_TIE) * min(cell, other):
        return TIED
    return BELOW if cell < other else ABOVE


def temper(claims: list[Claim], quick: bool) -> list[Claim]:
    """Return claims as a quick run may judge them: it neither confirms nor refutes, and says what it points to."""
    if not quick:
        return claims
    return [claim._replace(verdict=OPEN, points_to=claim.verdict, lean="") for claim in claims]
