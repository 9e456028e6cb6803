"""Stress: every policy that is given nothing, in many worlds of the kinds that users have."""

import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.html import tag
from latentbandits.presentation.palette import label
from latentbandits_studies.experiments import plots
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.stress import claims
from latentbandits_studies.experiments.stress.worlds import KINDS

MOST = 10.0  # ratios from here on have the last colour
DARK = 2.4  # a number on the colour of a ratio above this is white
DOT = "\N{BLACK CIRCLE}"


def heat_map(results: pd.DataFrame) -> Figure:
    """Ratio to the best of all policies, per world and policy: StateLibrary, then the others, the lowest typical ratio first."""
    typical = claims.standings(results).set_index("policy")["typical"].drop(LIBRARY).sort_values()
    names = [LIBRARY, *typical.index]
    multiples = claims.duels(results).pivot(index="world", columns="policy", values="to_best")
    worlds = [world for world in KINDS if world in multiples.index]
    ratios = multiples.loc[worlds, names].to_numpy()
    figure, (axes,) = plots.panels(1, 1, (3.2 + 0.33 * len(names), 1.6 + 0.175 * len(worlds)))
    # from light to dark in equal steps of lightness, also for colour-blind eyes
    looks = {"norm": LogNorm(1, MOST, clip=True), "cmap": "cividis_r"}
    image = plots.heat_map(axes, ratios, worlds, [label(name) for name in names], 60, **looks)
    for row, line in enumerate(ratios):
        for column, value in enumerate(line):
            text = DOT if value <= 1 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
            shown = axes.text(column, row, text, ha="center", va="center", fontsize=8 if text == DOT else 6)
            shown.set_color("white" if value > DARK else "black")
            shown.set_fontweight("bold" if value <= claims.NEAR else "normal")
    axes.tick_params(length=0, labelsize=7.5)
    axes.axvline(0.5, color="white", linewidth=3)
    kinds = [KINDS[world] for world in worlds]
    for kind in dict.fromkeys(kinds):
        first, count = kinds.index(kind), kinds.count(kind)
        axes.axhline(first - 0.5, color="white", linewidth=3)
        axes.text(len(names) - 0.3, first + (count - 1) / 2, kind, va="center", fontsize=8.5, fontweight="bold")
    bar = figure.colorbar(image, ax=axes, location="bottom", extend="max", aspect=50, shrink=0.7, pad=0.01)
    plots.ticks(bar.ax, (1, 1.5, 2, 3, 5, 10))
    words = "mean regret / that of the best policy in this world (log scale)\nbold: at most 10 % above, dot: the best"
    bar.set_label(words)
    return figure


def tables(results: pd.DataFrame) -> str:
    """Return one table by policy and one by world."""
    policies, worlds = claims.standings(results), claims.table(results)
    by_policy = {
        "policy": policies["policy"].map(label),
        "within 10 % of the best other": [
            f"{near} of {count}" for near, count in policies[["near", "worlds"]].to_numpy()
        ],
        "best": policies["first"],
        "typical ratio": policies["typical"],
        "worst ratio": plots.spans(policies, "worst", ".2f", "worst_low", "worst_high"),
        "in": policies["worst_world"],
        "stuck runs": policies["stuck"],
        "worst run": policies["worst_run"],
    }
    by_world = {
        "world": worlds["world"],
        "kind": worlds["kind"],
        label(LIBRARY): worlds["regret"],
        "best other": worlds["best_other"].map(label),
        "its regret": worlds["best_regret"],
        "ratio": plots.spans(worlds, "ratio", ".2f"),
        "stuck runs": worlds["stuck"],
        "worst run": worlds["worst_run"],
    }
    words = (
        "In how many worlds a policy is at most 10 % above the best of all others, and in how many it is the best; the geometric mean "
        "of its ratios to the best; its worst ratio to the best other, with the 95 % interval over draws; and the share of runs with more "
        f"than {claims.STUCK:g} times the median regret of the best other, with the worst run as a multiple of that median."
    )
    others = (
        "StateLibrary against the best of all other policies, its worst ratio first; regret is the mean over draws. "
        "The file stress.csv has the ratio of every policy to the best in further columns."
    )
    shown = plots.titled("By policy", words, pd.DataFrame(by_policy))
    return shown + plots.titled("By world", others, pd.DataFrame(by_world))


def finding(results: pd.DataFrame) -> str:
    """Return in how many worlds StateLibrary is near the best, and where it is farthest from it."""
    mine = claims.standings(results).set_index("policy").loc[LIBRARY]
    return (
        f"StateLibrary is at most 10 % above the best other policy in {mine['near']} of {mine['worlds']} worlds; its worst ratio is "
        f"{mine['worst']:.2f} ({mine['worst_world']})."
    )


FAILURES = Illustration(
    "stress",
    "Every policy that is given nothing about the world, in every world: regret over that of the best policy there. Dark is bad. "
    "Where means are not on [0, 1], policies that expect it learn the range (scaled(NAME)).",
    heat_map,
)
EXPERIMENT = Experiment(
    "stress",
    "many worlds of the kinds that users have: every policy that is given nothing against the best other, stuck runs, worst runs",
    claims.cases,
    claims.score,
    title="Stress: where each policy fails",
    finding=finding,
    table=claims.table,
    ours=True,
    place=150,
    figures=(FAILURES,),
    introduction=tag(
        "p",
        "Worlds of the kinds that users have, one difficulty at a time and some at once; none of them was used to choose a setting. "
        "No policy is given anything about them, but those that expect rewards on [0, 1] get them there in most worlds. The best policy "
        "of a world is picked in hindsight.",
    ),
    tables=tables,
)
