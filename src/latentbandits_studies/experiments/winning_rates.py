"""Head-to-head winning rates over the four sweeps."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.palette import label, legend_below
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments.claims import FAILS, HOLDS, READING, TIED, Claim, at_least
from latentbandits_studies.experiments.paper.worlds import ADARP, ADASP, COLUMNS, SWEEPS, TITLES, TWO_GROUP, rows
from latentbandits_studies.experiments.plots import curve, heat_map, look, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.table2 import settings as table2

SUMMARY = "share of paired runs in which one policy beats another, over the four sweeps"
cases = table2.columns  # the same runs; nothing is simulated twice


def duels(results: pd.DataFrame, case: str) -> tuple[np.ndarray, pd.Index]:
    """Return who wins in every run of a case, an array (runs, policies, policies) of 1, 0.5 for ties and 0; and the runs' draws."""
    part = results[(results["case"] == case) & results["policy"].isin(COLUMNS)]
    wide = part.pivot(index=["draw", "repeat"], columns="policy", values="regret")[list(COLUMNS)]
    mine, theirs = wide.to_numpy()[:, :, None], wide.to_numpy()[:, None, :]
    return (mine < theirs) + 0.5 * (mine == theirs), wide.index.get_level_values("draw")


def pairs(results: pd.DataFrame, case: str) -> pd.DataFrame:
    """Return the share of paired runs of a case in which the row's policy has less regret than the column's (ties count half)."""
    beats = duels(results, case)[0].mean(axis=0)
    np.fill_diagonal(beats, np.nan)
    return pd.DataFrame(beats, index=list(COLUMNS), columns=list(COLUMNS))


def shares(results: pd.DataFrame, case: str) -> pd.DataFrame:
    """Return, per matrix of a case (lines) and policy, the share of duels won against all other columns of the main table."""
    beats, draws = duels(results, case)
    won = (beats.sum(axis=2) - 0.5) / (len(COLUMNS) - 1)  # less the tie with itself
    return pd.DataFrame(won, columns=list(COLUMNS)).groupby(draws).mean()


def rates(results: pd.DataFrame) -> pd.DataFrame:
    """Return each policy's winning rate against all other columns of the main table, per case, with a 95 % interval over matrices."""
    lines = []
    for case in dict.fromkeys(results["case"]):
        table = shares(results, case)
        for name in COLUMNS:
            mean, low, high = interval(table[name].to_numpy())
            lines.append({"row": case, "policy": name, "rate": mean, "low": max(low, 0.0), "high": min(high, 1.0)})
    return pd.DataFrame(lines)


def leads(results: pd.DataFrame, group: tuple[str, ...], rivals: tuple[str, ...]) -> dict[str, str]:
    """Return, per case, whether the best of a group wins more duels than the best of its rivals: holds, tied or does not hold."""
    verdicts = {}
    cases = list(dict.fromkeys(results["case"]))
    for case in cases:
        won = shares(results, case)
        ours, theirs = (max(names, key=lambda name: won[name].mean()) for names in (group, rivals))
        _, low, high = interval((won[ours] - won[theirs]).to_numpy(), 1 - 0.05 / len(cases))
        verdicts[case] = HOLDS if low > 0 else FAILS if high < 0 else TIED
    return verdicts


def _judged(words: dict[str, str], wanted: int) -> tuple[str, str]:
    """Return the counts in words, and whether at least `wanted` cases have it; tied ones count neither way."""
    count = {word: [case for case, given in words.items() if given == word] for word in (HOLDS, TIED, FAILS)}
    text = f"{len(count[HOLDS])} of {len(words)}, tied in {len(count[TIED])}"
    if count[FAILS]:
        text += f", not in {', '.join(TITLES[case] for case in count[FAILS])}"
    return text, at_least(list(words.values()), wanted, doubt=TIED)


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge who wins most duels: our reading, since the paper shows the rates without a sentence on their ranking."""
    single = tuple(name for name in COLUMNS if name not in TWO_GROUP)
    own = (ADASP, "lc-ucb", "lc-ts", "sp-ucb")
    adarp = leads(results, (ADARP,), tuple(name for name in COLUMNS if name != ADARP))
    ours = leads(results, own, tuple(name for name in single if name not in own))
    claims = []
    for name, text, words, wanted in (
        ("adarp", "AdaRP-UCB wins most duels in most environments", adarp, len(adarp) // 2 + 1),
        (
            "single",
            "Among single-group policies one of the paper's own wins most duels, but for high noise",
            ours,
            len(ours) - 1,
        ),
    ):
        measured, verdict = _judged(words, wanted)
        claims.append(Claim(f"winning-rates/{name}", text, "a figure", measured, verdict, "", READING))
    return claims


def finding(results: pd.DataFrame) -> str:
    """Return who wins most duels, and where."""
    table = rates(results).pivot(index="row", columns="policy", values="rate")
    alone = [name for name in COLUMNS if name not in TWO_GROUP]
    first, single = (table[list(names)].idxmax(axis=1).value_counts() for names in (COLUMNS, alone))
    return (
        f"{label(first.index[0])} wins most duels in {first.iloc[0]} of {len(table)} environments "
        f"({table.loc['default', first.index[0]]:.0%} of them in the default one); of the policies with one group it is "
        + ", ".join(f"{label(name)} in {count}" for name, count in single.items())
        + "."
    )


def plot_sweeps(results: pd.DataFrame) -> Figure:
    """Winning rates along the four sweeps."""
    table = rates(results).set_index(["row", "policy"])[["rate", "low", "high"]]
    figure, grid = panels(2, 2, (8.6, 6.4), sharey=True)
    for axes, (title, names) in zip(grid, SWEEPS.items(), strict=True):
        for name in COLUMNS:
            curve(
                axes,
                np.arange(len(names)),
                table.loc[[(row, name) for row in names]].to_numpy(),
                **look(name, marker=""),
            )
        axes.set_xticks(range(len(names)), [TITLES[row] for row in names])
        axes.set_xlabel(title)
        axes.set_ylim(0, 1)
    for axes in grid[::2]:
        axes.set_ylabel("winning rate")
    legend_below(figure, grid[0], 5)
    return figure


def plot_duels(results: pd.DataFrame) -> Figure:
    """All pairs of policies, environment by environment."""
    figure, grid = panels(4, 4, (9.4, 10.6))
    names, last = [label(name) for name in COLUMNS], len(rows())
    for place, (axes, row) in enumerate(zip(grid, rows(), strict=False)):
        down, across = names if place % 4 == 0 else [""] * len(names), names if place >= last - 4 else [""] * len(names)
        image = heat_map(axes, pairs(results, row).to_numpy(), down, across, 90, cmap="PuOr", vmin=0, vmax=1)
        axes.tick_params(labelsize=5.5)
        axes.set_title(TITLES[row], fontsize=8)
    for axes in grid[last:]:
        axes.set_axis_off()
    text = "share of runs in which the row's\npolicy beats the column's"
    figure.colorbar(image, ax=grid[last:], orientation="horizontal", label=text)
    return figure


FIGURES = (
    Illustration(
        "winning-rates",
        "Share of duels won against all other policies on the same runs; bars are 95 % intervals over matrices.",
        plot_sweeps,
    ),
    Illustration(
        "winning-rates-pairs",
        "All duels, environment by environment: share of paired runs in which the row's policy has less regret.",
        plot_duels,
    ),
)

EXPERIMENT = Experiment(
    "winning-rates",
    SUMMARY,
    cases,
    score,
    title="Winning rates: who beats whom",
    finding=finding,
    place=20,
    figures=FIGURES,
    judged="paper",
)
