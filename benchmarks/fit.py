"""The search for the settings that the paper does not state: ``python -m benchmarks.fit [--quick] [POLICY ...]``.

It starts from the text or a textbook, moves one setting at a time (some in pairs) to the value with the least loss on half of the rows
of the main table, and compares what it ends at with the preset, on other draws and on the other rows. docs/settings.md has what it printed.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

import latentbandits as lb
from latentbandits.parameters import describe
from latentbandits.presentation.numbers import aligned, percent
from latentbandits_studies.experiments.paper.worlds import MATRICES, SCALE, in_table, published, rows

Settings = dict[str, str | float]
# Both halves have rows of all four sweeps: states, stay probability, noise, rounds
FITTING = ("default", "S20", "p.5", "p.9", "sd.05", "sd.5", "T1000")
REPORTING = ("S2", "S50", "p.8", "p.95", "sd.1", "T500", "T5000")
SEARCH_SEED, JUDGE_SEED = 5000, 5001
FULL, QUICK = (24, 64), (4, 8)  # draws of the search, and others on which its outcome is judged
NOISE = "noise"  # a residual floor that equals the world's noise, as the text has it
LEVEL = 0.95


class Column(NamedTuple):
    """A policy, the values to try of each setting, where to start, and pairs that are also moved together."""

    grid: Mapping[str, Sequence[str | float]]
    start: Settings
    joint: Sequence[tuple[str, str]] = ()


_LINEAR: Mapping[str, Sequence[str | float]] = {
    "lag": ("pair", "one-hot", "slopes", "curves"),
    "exploration": (0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0),
    "regularization": (0.01, 0.1, 1.0, 10.0),
}
_LINEAR_START: Settings = {"lag": "pair", "exploration": 1.0, "regularization": 1.0}
_LINEAR_JOINT = (("lag", "exploration"),)
_GATED = Column(
    {
        **_LINEAR,
        "residual_threshold": (1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
        "residual_floor": (NOISE, 0.01, 0.02, 0.05, 0.1, 0.2),
        "margin": (0.0, 0.01, 0.02, 0.05, 0.1, 0.2),
        "staleness": (7, 10, 14, 20, 30, 50, 70, 100, 200),
        "min_gap": (1, 2, 3, 4, 6, 8),
    },
    _LINEAR_START | {"residual_threshold": 2.0, "residual_floor": NOISE, "margin": 0.05, "staleness": 7, "min_gap": 2},
    (*_LINEAR_JOINT, ("lag", "residual_floor"), ("residual_threshold", "residual_floor"), ("staleness", "min_gap")),
)


def _scheduled(*intervals: int) -> Column:
    # the interval that minimises the bound of the paper's theorem is sqrt(1 / 0.01) for a stay probability of 0.99
    joint = (*_LINEAR_JOINT, ("lag", "interval"))
    return Column({**_LINEAR, "interval": intervals}, _LINEAR_START | {"interval": 10}, joint)


COLUMNS: Mapping[str, Column] = {
    "adarp-ucb": _GATED,
    "rp-ucb": _scheduled(5, 7, 10, 14, 20, 28, 40),
    "adasp-ucb": _GATED,
    "sp-ucb": _scheduled(5, 7, 10, 14, 20, 28, 40, 56, 80),
    "lc-ucb": Column(_LINEAR, _LINEAR_START, _LINEAR_JOINT),
    "lc-ts": Column(_LINEAR, _LINEAR_START, _LINEAR_JOINT),
    # Garivier and Moulines: xi = 1/2, discount 1 - sqrt(jumps / rounds) / 4, window 2 sqrt(rounds log(rounds) / jumps), rounded
    "d-ucb": Column(
        {"discount": (0.9, 0.95, 0.98, 0.99, 0.995, 0.999), "exploration": (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)},
        {"discount": 0.98, "exploration": 2.0},
        (("discount", "exploration"),),
    ),
    "sw-ucb": Column(
        {"window": (25, 35, 50, 70, 100, 200), "exploration": (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)},
        {"window": 70, "exploration": 0.7},
        (("window", "exploration"),),
    ),
    # Auer and others: mixing sqrt(K log K / ((e - 1) T)); with jumps sqrt(K (jumps log(K T) + e) / ((e - 1) T)) and share 1 / T, rounded
    "exp3": Column({"mixing": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)}, {"mixing": 0.005}),
    "exp3-s": Column(
        {"mixing": (0.05, 0.1, 0.2, 0.3, 0.4), "share": (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)},
        {"mixing": 0.3, "share": 1e-4},
        (("mixing", "share"),),
    ),
    "ucb1": Column({"exploration": (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)}, {"exploration": 1.4}),
    "ts": Column(
        {"noise": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0), "prior_weight": (0.01, 0.1, 1.0, 10.0)},
        {"noise": 1.0, "prior_weight": 1.0},
        (("noise", "prior_weight"),),
    ),
}


class Bench:
    """The regret of a policy's settings at the table's scale, relative to the published cells: arrays (settings, rows, draws)."""

    def __init__(self, name: str, draws: int, seed: int) -> None:
        self.name, self.draws, self.seed = name, draws, seed
        self.known: dict[tuple[str, str], np.ndarray] = {}

    def __call__(self, settings: Sequence[Settings], among: Sequence[str]) -> np.ndarray:
        """Simulate what is not known yet."""
        for row in among:
            world, horizon = rows()[row]
            wanted = {}
            for one in settings:
                floor = {"residual_floor": world.noise} if one.get("residual_floor") == NOISE else {}
                if (row, str(one)) not in self.known:
                    wanted[str(one)] = lb.policy(in_table(self.name), world.arms, **{**one, **floor})
            if wanted:
                found = lb.simulate(world, wanted, horizon=horizon, draws=self.draws, repeats=1, seed=self.seed, bins=1)
                for label, regret in zip(wanted, found.regret, strict=True):
                    self.known[row, label] = SCALE * regret / published()[row][in_table(self.name)]
        return np.array([[self.known[row, str(one)] for row in among] for one in settings])


def loss(cells: np.ndarray) -> np.ndarray:
    """Return the mean over rows of the squared log of simulated over published."""
    found: np.ndarray = (np.log(cells.mean(axis=-1)) ** 2).mean(axis=-1)
    return found


def worse(one: np.ndarray, other: np.ndarray, among: int = 1) -> bool:
    """Return whether one setting fits significantly worse than another on the same draws; `among` comparisons share the 5 %.

    The error has two parts: our draws (jackknife, paired) and those of the published table, whose cells scatter as means of `MATRICES`.
    """
    draws = one.shape[-1]
    left_out = [(cells.sum(axis=-1, keepdims=True) - cells) / (draws - 1) for cells in (one, other)]
    mine, theirs = (np.log(cells) ** 2 for cells in left_out)
    ours = (draws - 1) * (mine - theirs).mean(axis=0).var()
    scatter = other.var(axis=-1, ddof=1) / other.mean(axis=-1) ** 2 / MATRICES
    printed = 4 * (np.log(one.mean(axis=-1) / other.mean(axis=-1)) ** 2 * scatter).sum() / len(one) ** 2
    return bool(loss(one) - loss(other) > student.ppf(1 - (1 - LEVEL) / 2 / among, draws - 1) * np.sqrt(ours + printed))


def descend(column: Column, losses: Callable[[Sequence[Settings]], np.ndarray]) -> Settings:
    """Return settings from which no move within the grid lowers the loss, neither of one setting nor of a joint pair; ties stay."""
    here = dict(column.start)

    def step(names: Sequence[str]) -> bool:
        values = product(*(column.grid[name] for name in names))
        tried = [here, *({**here, **dict(zip(names, chosen, strict=True))} for chosen in values)]
        low = int(np.argmin(losses(tried)))  # the first of equals, which is where we are
        here.update(tried[low])
        return low > 0

    while True:
        moved = [step((name,)) for name in column.grid]
        if not any(moved) and not any(step(pair) for pair in column.joint):
            return here


def report(name: str, column: Column, draws: tuple[int, int], among: int) -> tuple[list[list[str]], np.ndarray]:
    """Search one column; return its lines and the mean ratios, an array (start, search, preset) x rows."""
    search, judge = Bench(name, draws[0], SEARCH_SEED), Bench(name, draws[1], JUDGE_SEED)
    found = descend(column, lambda settings: loss(search(settings, FITTING)))
    values = describe(lb.policy(in_table(name)))
    preset: Settings = {setting: values[setting] for setting in column.grid}
    _, best, kept = judge([column.start, found, preset], FITTING)
    end = found if worse(kept, best, among) else preset
    lines = []
    for setting, grid in column.grid.items():
        cells = judge([{**end, setting: value} for value in grid], FITTING)
        lowest = cells[int(np.argmin(loss(cells)))]
        fits = [str(value) for value, mine in zip(grid, cells, strict=True) if not worse(mine, lowest)]
        lines.append([f"{name} {setting}", *(str(at[setting]) for at in (column.start, found, end)), ", ".join(fits)])
    return lines, judge([column.start, found, preset], (*FITTING, *REPORTING)).mean(axis=-1)


def main() -> None:
    """Print how well the table identifies every setting, and how well the fit predicts rows that it never saw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit", description="Search the unstated settings.")
    parser.add_argument("policies", nargs="*", metavar="POLICY", help="columns of the main table (default: all)")
    parser.add_argument("--quick", action="store_true", help="few draws: it can tell little")
    options = parser.parse_args()
    names, size = options.policies or list(COLUMNS), QUICK if options.quick else FULL
    found = [report(name, COLUMNS[name], size, len(names)) for name in names]
    print(aligned(["setting", "start", "search", "end", "fit as well"], [line for lines, _ in found for line in lines]))
    logs = np.log(np.array([ratios for _, ratios in found]))
    halves = [logs[:, at, half] for half in (slice(7), slice(7, None)) for at in range(3)]
    lines = [["root mean square log ratio", *(f"{np.sqrt((half**2).mean()):.3f}" for half in halves)]]
    for within in (0.15, 0.25):
        shares = [percent(float((np.abs(np.expm1(half)) <= within).mean())) for half in halves]
        lines.append([f"cells within {percent(within)}", *shares])
    heads = [f"{half} {at}" for half in ("fitted:", "other:") for at in ("start", "search", "preset")]
    print("\n" + aligned(["rows", *heads], lines))


if __name__ == "__main__":
    main()
