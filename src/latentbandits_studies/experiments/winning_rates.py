"""Head-to-head winning rates over the four sweeps."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import TWO_GROUP
from latentbandits.presentation.palette import label, legend_below, style
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments import table2
from latentbandits_studies.experiments.claims import FAILS, HOLDS, READING, TIED, Claim
from latentbandits_studies.experiments.paper.worlds import COLUMNS, SWEEPS, TITLES, rows
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "share of paired runs in which one policy beats another, over the four sweeps"
cases = table2.paper  # the same runs; nothing is simulated twice


def pairs(results: pd.DataFrame, case: str) -> pd.DataFrame:
    """Return the share of paired runs of a case in which the row's policy has less regret than the column's (ties count half)."""
    part = results[(results["case"] == case) & results["policy"].isin(COLUMNS)]
    wide = part.pivot(index=["draw", "repeat"], columns="policy", values="regret")[list(COLUMNS)].to_numpy()
    beats = (wide[:, :, None] < wide[:, None, :]).mean(axis=0) + 0.5 * (wide[:, :, None] == wide[:, None, :]).mean(
        axis=0
    )
    np.fill_diagonal(beats, np.nan)
    return pd.DataFrame(beats, index=list(COLUMNS), columns=list(COLUMNS))


def shares(results: pd.DataFrame, case: str) -> pd.DataFrame:
    """Return, per matrix of a case (lines) and policy, the share of duels won against all other columns of the main table."""
    part = results[(results["case"] == case) & results["policy"].isin(COLUMNS)]
    wide = part.pivot(index=["draw", "repeat"], columns="policy", values="regret")[list(COLUMNS)]
    values = wide.to_numpy()
    wins = (
        (values[:, :, None] < values[:, None, :]).sum(axis=2)
        + 0.5 * ((values[:, :, None] == values[:, None, :]).sum(axis=2) - 1)
    ) / (len(COLUMNS) - 1)
    return pd.DataFrame(wins, index=wide.index, columns=wide.columns).groupby(level=0).mean()


def rates(results: pd.DataFrame) -> pd.DataFrame:
    """Return each policy's winning rate against all other columns of the main table, per case, with a 95 % interval over matrices."""
    lines = []
    for case in dict.fromkeys(results["case"]):
        found = shares(results, case)
        for name in COLUMNS:
            mean, low, high = interval(found[name].to_numpy())
            lines.append({"row": case, "policy": name, "rate": mean, "low": max(low, 0.0), "high": min(high, 1.0)})
    return pd.DataFrame(lines)


def leads(results: pd.DataFrame, group: tuple[str, ...], rivals: tuple[str, ...]) -> dict[str, str]:
    """Return, per case, whether the best of a group wins more duels than the best of its rivals: holds, tied or does not hold."""
    found = {}
    cases = list(dict.fromkeys(results["case"]))
    for case in cases:
        won = shares(results, case)
        ours, theirs = (max(names, key=lambda name: won[name].mean()) for names in (group, rivals))
        _, low, high = interval((won[ours] - won[theirs]).to_numpy(), 1 - 0.05 / len(cases))
        found[case] = HOLDS if low > 0 else FAILS if high < 0 else TIED
    return found


def _judged(words: dict[str, str], wanted: int) -> tuple[str, str]:
    """Return the counts in words, and whether at least `wanted` cases have it; tied ones count neither way."""
    count = {word: [case for case, given in words.items() if given == word] for word in (HOLDS, TIED, FAILS)}
    text = f"{len(count[HOLDS])} of {len(words)}, tied in {len(count[TIED])}"
    if count[FAILS]:
        text += f", not in {', '.join(TITLES[case] for case in count[FAILS])}"
    if len(count[HOLDS]) >= wanted:
        return text, HOLDS
    return text, TIED if len(count[HOLDS]) + len(count[TIED]) >= wanted else FAILS


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge who wins most duels: our reading, since the paper shows the rates without a sentence on their ranking."""
    single = tuple(name for name in COLUMNS if name not in TWO_GROUP)
    own = ("adasp-ucb", "lc-ucb", "lc-ts", "sp-ucb")
    adarp = leads(results, ("adarp-ucb",), tuple(name for name in COLUMNS if name != "adarp-ucb"))
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
        found, verdict = _judged(words, wanted)
        claims.append(Claim(f"winning-rates/{name}", text, "a figure", found, verdict, "", READING))
    return claims


def plot_sweeps(results: pd.DataFrame) -> Figure:
    """Winning rates along the four sweeps."""
    table = rates(results).set_index(["row", "policy"])
    figure = Figure(figsize=(8.6, 6.4))
    for axes, (title, names) in zip(figure.subplots(2, 2, sharey=True).flat, SWEEPS.items(), strict=True):
        x = np.arange(len(names))
        for name in COLUMNS:
            cells = table.loc[[(row, name) for row in names]]
            errors = np.stack([cells["rate"] - cells["low"], cells["high"] - cells["rate"]])
            axes.errorbar(
                x,
                cells["rate"],
                yerr=errors,
                color=style(name).color,
                linestyle=style(name).line,
                capsize=2,
                label=label(name),
            )
        axes.set_xticks(x, [TITLES[row] for row in names])
        axes.set_xlabel(title)
        axes.set_ylim(0, 1)
    for axes in figure.axes[::2]:
        axes.set_ylabel("winning rate")
    legend_below(figure, figure.axes[0], 5)
    return figure


def plot_duels(results: pd.DataFrame) -> Figure:
    """Plot the full pairwise matrix of every environment."""
    figure = Figure(figsize=(9.4, 10.6))
    grid = figure.subplots(4, 4)
    names = [label(name) for name in COLUMNS]
    image = None
    for axes, row in zip(grid.flat, rows(), strict=False):
        axes.grid(visible=False)
        image = axes.imshow(pairs(results, row).to_numpy(), cmap="PuOr", vmin=0, vmax=1)
        axes.set_title(TITLES[row], fontsize=8)
        axes.set_xticks(range(len(names)), names if row in list(rows())[-4:] else [], rotation=90, fontsize=5.5)
        axes.set_yticks(range(len(names)), names if axes in grid[:, 0] else [], fontsize=5.5)
    for axes in grid.flat[len(rows()) :]:
        axes.set_axis_off()
    assert image is not None
    figure.colorbar(
        image,
        ax=grid.flat[len(rows()) :].tolist(),
        orientation="horizontal",
        label="share of runs in which the row's\npolicy beats the column's",
    )
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

EXPERIMENT = Experiment("winning-rates", SUMMARY, cases, score, place=20, figures=FIGURES)
