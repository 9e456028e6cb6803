"""How the settings behind the paper's main table were found: a search from what its text says, judged on rows that the search never saw."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from latentbandits.files import write_whole
from latentbandits.presentation.numbers import aligned, percent
from latentbandits_studies.experiments.fit.bench import Bench, Shelf, word
from latentbandits_studies.experiments.fit.grids import COLUMNS, Column, Setting, Settings
from latentbandits_studies.experiments.paper.worlds import MATRICES, published

# What a search may ask: given settings, the table's quantity for each of them, row and draw
Measure = Callable[[Sequence[Settings]], np.ndarray]

# Both halves have rows of all four sweeps: states, stay probability, noise, rounds
FITTING = ("default", "S20", "p.5", "p.9", "sd.05", "sd.5", "T1000")
REPORTING = ("S2", "S50", "p.8", "p.95", "sd.1", "T500", "T5000")
SEARCH_SEED, JUDGE_SEED = 5000, 5001
LEVEL = 0.95
PINNED, OPEN, ELSEWHERE = "pinned down", "not pinned down", "prefers another"


class Size(NamedTuple):
    """Draws of the world on which a search runs, and others on which its outcome is judged."""

    search: int
    judge: int


FULL, QUICK = Size(24, 64), Size(4, 8)


def loss(cells: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the mean over rows of the squared log ratio to the published cells; the last axes of `cells` are rows and draws.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.fit import loss
    >>> float(loss(np.array([[1.0, 3.0], [5.0, 5.0]]), np.array([2.0, 5.0])))
    0.0
    """
    found: np.ndarray = (np.log(cells.mean(axis=-1) / target) ** 2).mean(axis=-1)
    return found


def excess(one: np.ndarray, other: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Return how much more loss one setting has than another on the same draws, and the standard error of that.

    The error has two parts: our draws (jackknife, paired) and those of the published table, which has its own `MATRICES`: a published
    cell scatters as much as the mean of as many draws of ours.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.fit import excess
    >>> excess(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 3.0]]), np.array([2.5]))
    (0.0, 0.0)
    """
    draws = one.shape[-1]
    left_out = [(cells.sum(axis=-1, keepdims=True) - cells) / (draws - 1) for cells in (one, other)]
    mine, theirs = (np.log(cells / target[:, None]) ** 2 for cells in left_out)
    ours = (draws - 1) * (mine - theirs).mean(axis=0).var()
    scatter = other.var(axis=-1, ddof=1) / other.mean(axis=-1) ** 2 / MATRICES
    table_s = 4 * (np.log(one.mean(axis=-1) / other.mean(axis=-1)) ** 2 * scatter).sum() / len(target) ** 2
    return float(loss(one, target) - loss(other, target)), math.sqrt(ours + table_s)


def worse(one: np.ndarray, other: np.ndarray, target: np.ndarray, among: int = 1) -> bool:
    """Return whether one setting fits significantly worse than another; `among` comparisons share the 5 %."""
    more, error = excess(one, other, target)
    return bool(more > student.ppf(1 - (1 - LEVEL) / 2 / among, one.shape[-1] - 1) * error)


def descend(column: Column, losses: Callable[[Sequence[Settings]], np.ndarray]) -> dict[str, Setting]:
    """Return settings from which no move within the grid lowers the loss, neither of one setting nor of a joint pair; ties stay."""

    def step(names: Sequence[str]) -> bool:
        tried = [
            {**here, **dict(zip(names, values, strict=True))}
            for values in product(*(column.grid[name] for name in names))
        ]
        found = losses([here, *tried])
        low = int(np.argmin(found))  # the first of equals, which is where we are
        here.update(tried[low - 1] if low else {})
        return low > 0

    here = dict(column.start)
    while True:
        moved = [step((name,)) for name in column.grid]
        if not any(moved) and not any(step(pair) for pair in column.joint):
            return here


class Value(NamedTuple):
    """One value of a setting, the others at the end of the search.

    Attributes
    ----------
    policy, setting, value : which
    loss : its loss
    more, error : how much more that is than the least of the setting's values, and the standard error of that
    fits : whether the table does not tell it from the best
    ratios : simulated over published, for each of `FITTING`
    """

    policy: str
    setting: str
    value: Setting
    loss: float
    more: float
    error: float
    fits: bool
    ratios: Sequence[float]


def profile(column: Column, at: Settings, measure: Measure, target: np.ndarray) -> list[Value]:
    """Return every value of every setting, the others fixed, and whether the table tells it from the best one."""
    values = []
    for name, grid in column.grid.items():
        cells = measure([{**at, name: value} for value in grid])
        losses = loss(cells, target)
        best = cells[int(np.argmin(losses))]
        for value, mine, lost in zip(grid, cells, losses, strict=True):
            fits = not worse(mine, best, target)
            ratios = (mine.mean(axis=-1) / target).tolist()
            values.append(Value(column.name, name, value, float(lost), *excess(mine, best, target), fits, ratios))
    return values


def verdict(values: Sequence[Value], chosen: Setting) -> str:
    """Say how well the table pins a setting down, from its profile and the chosen value."""
    fitting = [value.value for value in values if value.fits]
    numbers = [value.value for value in values if not isinstance(value.value, str)]
    ends = [word for end, word in ((0, "lower"), (-1, "upper")) if numbers and numbers[end] in fitting]
    if chosen not in fitting:
        return ELSEWHERE
    if len(fitting) == 1:
        return PINNED + (", at the edge of the grid" if ends else "")
    return OPEN + ("" if not ends else ", no bound" if len(ends) == 2 else f", no {ends[0]} bound")


class Found(NamedTuple):
    """What the search of one column came to.

    Attributes
    ----------
    column : the column
    tried : number of settings that were simulated in the search
    found : where the search ended
    end : the preset if the table does not tell that it fits worse than `found`, else `found`
    fitting, reporting : loss of the preset beyond that of `found` on the judging draws, and its standard error, on either half of the rows
    values : the profile around the end
    ratios : "start", "found", "preset" -> log of simulated over published, one number for each of `FITTING` and then `REPORTING`
    """

    column: Column
    tried: int
    found: Settings
    end: Settings
    fitting: tuple[float, float]
    reporting: tuple[float, float]
    values: Sequence[Value]
    ratios: Mapping[str, np.ndarray]

    @property
    def moved(self) -> list[str]:
        """Settings in which the search ended elsewhere than at the preset."""
        return [name for name, value in self.column.preset.items() if self.found[name] != value]

    @property
    def kept(self) -> bool:
        """Whether the end is the preset."""
        return self.end == self.column.preset

    def profile(self, setting: str) -> list[Value]:
        """Return the values of one setting."""
        return [value for value in self.values if value.setting == setting]

    def pinned(self, setting: str) -> str:
        """Say how well the table pins one setting down."""
        return verdict(self.profile(setting), self.end[setting])


class Fit(NamedTuple):
    """The search of all columns, as data and as text."""

    columns: Sequence[Found]
    size: Size
    quick: bool

    def frame(self) -> pd.DataFrame:
        """Return the profile of every setting, one row per value."""
        lines = []
        for one in self.columns:
            spots = {"start": one.column.start, "found": one.found, "end": one.end}
            for value in one.values:
                line = dict(zip(value._fields[:-1], value, strict=False))
                line |= {spot: settings[value.setting] == value.value for spot, settings in spots.items()}
                lines.append(line | dict(zip(FITTING, value.ratios, strict=True)))
        return pd.DataFrame(lines)

    def cells(self) -> pd.DataFrame:
        """Return simulated over published of every cell at the start, where the search ended, and at the preset."""
        return pd.DataFrame(
            [
                {"policy": one.column.name, "row": row, "half": "fitting" if row in FITTING else "reporting"}
                | {what: math.exp(ratios[i]) for what, ratios in one.ratios.items()}
                for one in self.columns
                for i, row in enumerate((*FITTING, *REPORTING))
            ]
        )

    def text(self) -> str:
        """Return what a person wants to know of it."""
        return "\n\n".join([self._settings(), self._halves(), self._ending()])

    def _settings(self) -> str:
        lines = []
        for one in self.columns:
            for name in one.column.grid:
                fitting = ", ".join(word(value.value) for value in one.profile(name) if value.fits)
                spots = (one.column.start[name], one.found[name], one.end[name])
                lines.append([f"{one.column.name} {name}", *map(word, spots), fitting, one.pinned(name)])
        head = ["setting", "start", "search", "end", "fit as well", "by the table"]
        return aligned(head, lines)

    def _halves(self) -> str:
        cut = len(FITTING)
        lines = []
        for one in [*self.columns, None]:
            ratios = {
                what: np.stack([each.ratios[what] for each in self.columns] if one is None else [one.ratios[what]])
                for what in ("start", "found", "preset")
            }
            halves = [part for half in (slice(cut), slice(cut, None)) for part in (r[:, half] for r in ratios.values())]
            lines.append(["all" if one is None else one.column.name, *(f"{_rms(half):.3f}" for half in halves)])
        for within in (0.15, 0.25):
            shares = [percent(float(np.mean(np.abs(np.expm1(half)) <= within))) for half in halves]
            lines.append([f"cells within {percent(within)}", *shares])
        head = ["root mean square log ratio", *(f"{half} {at}" for half in ("fit:", "other:") for at in ratios)]
        return aligned(head, lines)

    def _ending(self) -> str:
        same = [one.column.name for one in self.columns if not one.moved]
        tied = [one for one in self.columns if one.moved and one.kept]
        away = [one for one in self.columns if not one.kept]
        lines = [
            f"Fitted on {', '.join(FITTING)}; reported on {', '.join(REPORTING)}. "
            f"{sum(one.tried for one in self.columns)} settings searched on {self.size.search} draws, judged on {self.size.judge} others"
            + (" (quick: too few to tell much, and settings are moved one at a time)." if self.quick else "."),
            "The presets were chosen by hand on all rows: on the others only start and found are out of sample.",
            f"The search ends at the preset in {len(same)} of {len(self.columns)} columns: {', '.join(same) or 'none'}.",
        ]
        if tied:
            lines.append(
                f"In {len(tied)} more ({sum(len(one.moved) for one in tied)} settings) it ends elsewhere, "
                "but the fitted rows do not tell that from the preset, which is kept:"
            )
        lines += [f"  {_ended(one)}" for one in tied]
        if away:
            lines.append("The preset fits worse than what the search found:")
        lines += [f"  {_ended(one)}" for one in away]
        alone = [
            f"{one.column.name} {name}"
            for one in self.columns
            for name in one.column.grid
            if one.pinned(name) == ELSEWHERE
        ]
        if alone:
            count = sum(len(one.column.grid) for one in self.columns)
            lines.append(
                f"Changed alone, another value fits better at 95 % for {', '.join(alone)}; "
                f"of {count} settings about {count * (1 - LEVEL) / 2:.0f} would by chance."
            )
        last = "these are the presets" if not away else "all others are the presets"
        lines.append(
            f"AdaRP-UCB's and AdaSP-UCB's residual floor is fixed here (learn_noise=False); else {last}. "
            "Next: fit.csv has every value's loss, fit_cells.csv every cell; docs/settings.md says what the settings mean."
        )
        return "\n".join(lines)


def _ended(one: Found) -> str:
    pairs = ", ".join(f"{name} {word(one.found[name])} for {word(one.column.preset[name])}" for name in one.moved)
    more = "; ".join(
        f"{half} {more:+.4f} (standard error {error:.4f})"
        for half, (more, error) in (("fitted rows", one.fitting), ("others", one.reporting))
    )
    return f"{one.column.name}: {pairs}. Loss of the preset beyond it: {more}"


def _rms(ratios: np.ndarray) -> float:
    return math.sqrt(float(np.mean(ratios**2)))


def _target(name: str, among: Sequence[str]) -> np.ndarray:
    return np.array([published()[row][name] for row in among])


def fit(column: Column, search: Bench, judge: Bench, among: int = 1) -> Found:
    """Search one column, judge what was found on other draws, and profile the end; `among` columns share the 5 %."""
    target, others = _target(column.name, FITTING), _target(column.name, REPORTING)
    found = descend(column, lambda settings: loss(search(settings, FITTING), target))
    spots = {"start": column.start, "found": found, "preset": column.preset}
    mine = dict(zip(spots, judge(list(spots.values()), FITTING), strict=True))
    unseen = dict(zip(spots, judge(list(spots.values()), REPORTING), strict=True))
    end = found if worse(mine["preset"], mine["found"], target, among) else column.preset
    ratios = {
        at: np.log(np.concatenate([mine[at].mean(axis=-1) / target, unseen[at].mean(axis=-1) / others])) for at in spots
    }
    return Found(
        column,
        search.tried,
        found,
        end,
        excess(mine["preset"], mine["found"], target),
        excess(unseen["preset"], unseen["found"], others),
        profile(column, end, lambda settings: judge(settings, FITTING), target),
        ratios,
    )


def search(
    folder: str | Path,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    finished: Callable[[Found], None] | None = None,
    columns: Sequence[Column] = COLUMNS,
    executor: Executor | None = None,
) -> Fit:
    """Search the settings behind the published table and leave `fit.csv` and `fit_cells.csv` in a folder.

    Every simulated cell is kept there, so that a search that was stopped goes on where it was, and a second one only reads.

    Parameters
    ----------
    folder : path or str
        Where results are kept, a path or an address.
    quick : bool
        Fewer draws and no joint moves: it can tell little.
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Called with the rounds that were simulated so far, and None: how many there will be is not known.
    finished : callable, optional
        Called with each column as soon as it is there.
    columns : sequence of Column
        The columns to search.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads.
    """
    shelf, size = Shelf(folder), QUICK if quick else FULL
    shelf.executor = executor
    simulated = 0

    def more(rounds: int) -> None:
        nonlocal simulated
        simulated += rounds
        if progress is not None:
            progress(simulated, None)

    done = []
    for column in columns:
        benches = [
            Bench(column.name, shelf, draws, seed, workers, more)
            for draws, seed in zip(size, (SEARCH_SEED, JUDGE_SEED), strict=True)
        ]
        done.append(fit(column._replace(joint=()) if quick else column, benches[0], benches[1], len(columns)))
        if finished is not None:
            finished(done[-1])
    whole = Fit(done, size, quick)
    for name, frame in (("fit", whole.frame()), ("fit_cells", whole.cells())):
        write_whole(shelf.folder / f"{name}.csv", frame.to_csv(index=False, float_format="%.6g").encode())
    return whole
