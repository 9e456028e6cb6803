"""Claims about results, and how they are judged: runs are paired, orders have intervals, and a tie is an answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latentbandits.settings import InvalidValueError
from latentbandits.simulation.results import interval, ratio
from latentbandits_studies.experiments.once import once

if TYPE_CHECKING:
    import pandas as pd

HOLDS, FAILS, TIED, OPEN = "holds", "does not hold", "tied", "cannot be judged"
VERDICTS = (HOLDS, FAILS, TIED, OPEN)
# Who says it: the paper, in words or numbers; we, reading a figure of the paper that comes without a sentence; we, as a target of our own
PAPER, READING, TARGET = "paper", "reading", "target"
KINDS: Mapping[str, str] = {
    PAPER: "the paper's claims",
    READING: "our reading of its figures",
    TARGET: "our own targets",
}
# Two published cells that are nearer than this are called a tie in print, a convention: *Optimal single arm* is the same quantity
# in eight rows of the main table and scatters there by 2 % (standard deviation) and 7 % (range).
PRINT_TIE = 0.05
REPRODUCED = 0.15  # the share of a published figure by which ours may differ
BELOW, ABOVE = "below", "above"


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
    """

    id: str
    text: str
    published: str
    measured: str
    verdict: str
    why: str = ""
    kind: str = PAPER
    points_to: str = ""

    @property
    def hint(self) -> str:
        """What a quick run points to, if that is more than that it cannot be judged."""
        return "" if self.points_to == self.verdict else self.points_to

    @property
    def wording(self) -> str:
        """The verdict, with what a quick run points to."""
        return f"{self.verdict} (points to: {self.hint})" if self.hint else self.verdict


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


@once
def _runs(results: "pd.DataFrame", column: str) -> "dict[tuple[str, str], pd.Series]":
    """Return a column by draw and repeat, of all cases and policies."""
    runs = results.set_index(["case", "policy", "draw", "repeat"])[column].astype(float)
    parts = runs.groupby(level=[0, 1])
    return {(str(case), str(policy)): part.droplevel([0, 1]).sort_index() for (case, policy), part in parts}


@once
def per_draw(results: "pd.DataFrame", case: str, policy: str, column: str = "regret") -> np.ndarray:
    """Return one number per draw of the world: the mean of a column over the repeats of a policy in a case."""
    return _means(_runs(results, column)[case, policy])


def _means(runs: "pd.Series") -> np.ndarray:
    means: np.ndarray = runs.groupby(level="draw").mean().to_numpy()
    return means


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
    mine, theirs = _runs(results, column)[case, policy], _runs(results, column)[other_case or case, other]
    if not mine.index.equals(theirs.index):  # one of them has been played on fewer matrices, or less often
        shared = mine.index.intersection(theirs.index)
        mine, theirs = mine[shared], theirs[shared]
    return compared(_means(mine), _means(theirs), among)


def compared(mine: np.ndarray, theirs: np.ndarray, among: int = 1) -> Order:
    """Return the order of two paired samples.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.claims import compared
    >>> compared(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])).word
    'below'
    """
    if len(mine) != len(theirs) or not (np.isfinite(mine).all() and np.isfinite(theirs).all()):
        raise InvalidValueError(
            "claims", "samples", [len(mine), len(theirs)], "paired: one finite number of each for every draw"
        )
    if theirs.mean() == 0:  # counts of something that never happens
        return Order(1.0, 1.0, 1.0) if mine.mean() == 0 else Order(np.inf, np.inf, np.inf)
    return Order(*ratio(mine, theirs, 1 - 0.05 / among))


def mean(results: "pd.DataFrame", case: str, policy: str, column: str = "regret") -> float:
    """Return the mean of a column over all runs of a policy in a case."""
    return float(per_draw(results, case, policy, column).mean())


def shown(results: "pd.DataFrame", case: str, policy: str) -> str:
    """Return a mean regret and the half width of its 95 % interval over draws, as text."""
    middle, low, high = interval(per_draw(results, case, policy))
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


def agreed(verdicts: Iterable[str]) -> str:
    """Return the verdict under all readings that the paper leaves open, if they agree.

    Where they differ and one confirms, or cannot be judged itself, the claim cannot be judged; where none does, one that refutes is enough.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import agreed
    >>> agreed(["holds", "holds"]), agreed(["holds", "does not hold"]), agreed(["tied", "does not hold"])
    ('holds', 'cannot be judged', 'does not hold')
    """
    given = set(verdicts)
    if len(given) == 1:
        return given.pop()
    return OPEN if given & {HOLDS, OPEN} else FAILS


def matches(published: Sequence[float], measured: Sequence[tuple[float, float, float]]) -> str:
    """Judge that published figures come out: each mean (with its interval) within 15 % of the figure.

    One whose interval lies outside refutes it; one whose interval only reaches outside leaves it open.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import matches
    >>> matches([100], [(105, 100, 110)]), matches([100], [(150, 140, 160)]), matches([100], [(114, 108, 120)])
    ('holds', 'does not hold', 'cannot be judged')
    """
    return worst(
        near(Order(*(value / figure for value in span)), REPRODUCED)
        for figure, span in zip(published, measured, strict=True)
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
    return [claim._replace(verdict=OPEN, points_to=claim.verdict) for claim in claims]
