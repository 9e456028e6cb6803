"""StateLibrary, which has no knowledge of the world, beside the paper's policies, change-point peers and the Bayes limit."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentbandits.policies.groups import FORGETFUL, LIBRARY, LIMIT, PEERS, SINGLE_GROUP, TWO_GROUP
from latentbandits.presentation.html import tag
from latentbandits.presentation.palette import BLACK, GREY, label, style
from latentbandits_studies.experiments import plots
from latentbandits_studies.experiments.paper.worlds import BEST_ARM, LIBRARY_TWO, TITLES, rows
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.state_library import claims, settings

INTRODUCTION = tag(
    "p",
    tag("strong", "StateLibrary"),
    " is not in the paper. It is given nothing: not the noise, the range of rewards, the number of states or how often they change. It "
    "stands here beside the paper's policies, four change-point policies from other papers (",
    tag("em", "peers"),
    ") and the Bayes limit, on the same worlds.",
) + tag(
    "p",
    f"Its settings were tuned on worlds of the seeds {', '.join(map(str, settings.TUNED_SEEDS))}; every result here is of seed "
    f"{settings.SEED}. The paper's policies have the settings that fit the main table in every world, and expect rewards between 0 and "
    "1. The ",
    tag("em", "Bayes limit"),
    " is a filter that is given means, chain and noise, and that plans: it plays an arm for what its reward says about the state if that "
    "is worth it. The limit has one group, also where a policy has two, which can test with one of them.",
)


def tables(results: pd.DataFrame) -> str:
    """Return where StateLibrary loses, the multiples, and all differences to the paper's policies."""
    lost, pairs = claims.lost(results), claims.differences(results)
    losses = {
        "case": lost["case"].map(settings.title),
        "better": lost["policy"].map(label),
        "regret": lost["regret"],
        "than": lost["ours"].map(label),
        "its regret": lost["state-library"],
        "difference": plots.spans(lost, "difference", ",.2f"),
        "sure": ["yes" if sure else "no" for sure in lost["sure"]],
    }
    pairs = pairs.assign(
        row=pairs["row"].map(TITLES),
        rival=pairs["policy"].map(label) + np.where(pairs["ours"] == LIBRARY_TWO, " (two groups)", ""),
        difference=plots.spans(pairs, "difference", ",.1f"),
    )
    wide = pairs.pivot(index="row", columns="rival", values="difference")
    wide = wide.loc[list(dict.fromkeys(pairs["row"])), list(dict.fromkeys(pairs["rival"]))]
    words = (
        "Every case in which a policy without knowledge of the world has less regret than StateLibrary with as many groups. Sure: the "
        "95 % interval of the paired difference excludes zero."
    )
    others = (
        "Regret of StateLibrary less that of each policy, on the same runs, with 95 % intervals over matrices; below zero is better. The "
        "last two columns: StateLibrary with two groups."
    )
    shown = plots.titled("Where it still loses", words, pd.DataFrame(losses))
    shown += plots.titled("Multiples", _MULTIPLES, _multiples(results))
    return shown + plots.titled("Differences to the paper's policies", others, wide.reset_index())


_MULTIPLES = (
    "Regret over that of the limit, or of the best rival where there is no limit, with 95 % intervals over matrices. The best of a "
    "group is picked in hindsight, case by case."
)


def _multiples(results: pd.DataFrame) -> pd.DataFrame:
    """Return, per case, the regret of the limit or best rival, and multiples of it: ours, and the best of the paper and of the peers."""
    lines = []
    for case, part in claims.summary(results).groupby("case", sort=False):
        cells = part.assign(text=plots.spans(part, "multiple", ".2f", "multiple_low", "multiple_high")).set_index(
            "policy"
        )
        limit = cells["group"].iloc[0]
        line = {
            "case": settings.title(str(case)),
            "limit, or best rival": label(limit),
            "its regret": cells.loc[limit, "regret"],
        }
        line |= {label(name): cells.loc[name, "text"] for name in (LIBRARY, FORGETFUL)}
        for title, names in (("best of the paper, one group", SINGLE_GROUP), ("best peer", PEERS)):
            best = cells.loc[list(names), "regret"].idxmin()
            line[title] = f"{label(best)} {cells.loc[best, 'text']}"
        lines.append(line)
    return pd.DataFrame(lines)


# Members of a family share their colour; here the mark tells them apart
_MARKS = {"-": "o", "--": "s", "-.": "^", ":": "D"}
_TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500)
_SPAN = ["multiple", "multiple_low", "multiple_high"]


def multiples(results: pd.DataFrame) -> Figure:
    """Multiples of the Bayes limit, per row of the main table and policy."""
    figure, (axes,) = plots.panels(1, 1, (9.4, 9.6))
    _dots(axes, claims.summary(results), list(rows()), (*TWO_GROUP, *SINGLE_GROUP, BEST_ARM))
    axes.set_xlabel("regret / regret of the Bayes limit on the same runs")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return figure


def other_worlds(results: pd.DataFrame) -> Figure:
    """Multiples of the Bayes limit in other worlds; where there is no limit, of the best rival's regret."""
    table = claims.summary(results)
    others = [case for case in dict.fromkeys(table["case"]) if case not in rows()]
    limited = [case for case in others if case not in settings.UNLIMITED]
    heights = [len(limited), len(settings.UNLIMITED) + 0.6]
    figure, (upper, lower) = plots.panels(2, 1, (9.4, 10.6), height_ratios=heights)
    _dots(lower, table, list(settings.UNLIMITED), SINGLE_GROUP)
    _dots(upper, table, limited, SINGLE_GROUP)
    upper.set_xlabel("regret / regret of the Bayes limit on the same runs")
    lower.set_xlabel("no limit here: regret / regret of the best rival on the same runs")
    figure.legend(*upper.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _dots(axes: Axes, table: pd.DataFrame, cases: list[str], paper: tuple[str, ...]) -> None:
    """Plot three lanes per case: the paper's policies, StateLibrary, the change-point peers."""
    cells = table.set_index(["policy", "case"])[_SPAN]
    places = np.arange(len(cases))
    plots.stripe(axes, len(cases))
    axes.axvline(1, color=BLACK, linestyle=style(LIMIT).line, linewidth=1.2, zorder=1)
    marks = {LIBRARY: ("D", 0.0, 9), LIBRARY_TWO: ("d", -0.1, 6), FORGETFUL: ("X", 0.1, 6)}
    for name, (mark, lane, size) in marks.items():
        if set(cases) <= set(cells.loc[name].index):
            looks = {"color": BLACK, "markerfacecolor": BLACK if name == LIBRARY else "white", "zorder": size}
            part = cells.loc[name].reindex(cases).to_numpy()
            plots.dots(axes, part, places + lane, marker=mark, ms=size, label=label(name), **looks)
    for name, lane in [*((name, -0.27) for name in paper), *((name, 0.27) for name in PEERS)]:
        filled = style(name).color if style(name).line == "-" else "white"
        looks = {"color": style(name).color, "marker": _MARKS[str(style(name).line)], "markerfacecolor": filled}
        plots.dots(axes, cells.loc[name].reindex(cases).to_numpy(), places + lane, label=label(name), zorder=3, **looks)
    best = cells["multiple"].unstack("policy").loc[cases, list(SINGLE_GROUP)].min(axis=1)
    ring: dict[str, Any] = {"marker": "o", "ms": 10, "markerfacecolor": "none", "markeredgecolor": GREY, "zorder": 2}
    axes.plot(best, places - 0.27, linestyle="none", label="best with one group in the paper", **ring)
    _ratios(axes, table[table["case"].isin(cases)][_SPAN])
    values = cells.loc[LIBRARY, "multiple"].reindex(cases)
    titles = [f"{settings.title(case)}   {value:.2f}" for case, value in values.items()]
    axes.set_yticks(places, titles)


def _ratios(axes: Axes, spans: pd.DataFrame) -> None:
    """Make an axis of ratios that shows all of them, and their intervals if these are not very wide."""
    value, least, most = spans.to_numpy().T
    low = max(0.7 * min(1.0, value.min()), 0.93 * min(1.0, least.min()))
    high = min(2 * value.max(), 1.07 * most.max())
    plots.ticks(axes, [tick for tick in _TICKS if low <= tick <= high])
    axes.set_xlim(low, high)


def ablation(results: pd.DataFrame) -> Figure:
    """Regret of StateLibrary with one part taken away, relative to the full policy."""
    table = claims.parts(results)
    names = [name for name in settings.PARTS if name != "full"]
    figure, grid = plots.panels(2, 3, (9.4, 4.6), sharey=True, sharex=True)
    for axes, (case, part) in zip(grid, table.groupby("case", sort=False), strict=True):
        cells = part.set_index("part").loc[names]
        axes.axvline(1, color=GREY, linewidth=1)
        plots.dots(axes, cells.to_numpy()[:, 1:], range(len(names)), color=BLACK, capsize=0)
        for place, (value, high) in enumerate(cells[["ratio", "high"]].to_numpy()):
            axes.text(high * 1.04, place, f"{value:.2f}", va="center", fontsize=7.5)
        axes.set_title(settings.title(str(case)), fontsize=9)
        _ratios(axes, table[["ratio", "low", "high"]] * [1, 1, 1.2])
    grid[0].set_yticks(range(len(names)), names)
    grid[0].invert_yaxis()
    for axes in grid[3:]:
        axes.set_xlabel("regret / regret of the full policy")
    return figure


def finding(results: pd.DataFrame) -> str:
    """Return how StateLibrary stands beside the paper's best in the main table, and where it loses to somebody."""
    lost = claims.lost(results)
    sure = ", ".join(dict.fromkeys(settings.title(case) for case in lost.loc[lost["sure"], "case"])) or "none"
    return f"{claims.standing(results).text} Worlds here in which another policy is ahead beyond doubt: {sure}."


FIGURES = (
    Illustration(
        "state-library",
        "Multiples of the Bayes limit in every row of the main table, on a log axis; numbers: StateLibrary. Three "
        "lanes per row: the paper's policies, StateLibrary, the change-point peers. Bars: 95 % intervals over "
        "matrices.",
        multiples,
    ),
    Illustration(
        "state-library-other-worlds",
        "The same in other worlds and with more arms; numbers: StateLibrary. Below: worlds without a limit, where the"
        " group is the best rival's regret. Rivals that expect rewards on [0, 1] have them scaled where they are not (`scaled`). "
        "Bars: 95 % intervals over matrices.",
        other_worlds,
    ),
    Illustration(
        "state-library-ablation",
        "StateLibrary with one part taken away, relative to the full policy on the same runs. Bars: 95 % intervals over matrices.",
        ablation,
    ),
)

EXPERIMENT = Experiment(
    "state-library",
    "a policy without knowledge of the world: multiples of the Bayes limit, other worlds, more arms, ablations, where it loses",
    settings.cases,
    claims.score,
    title="StateLibrary: a policy that the paper does not have",
    finding=finding,
    table=claims.summary,
    ours=True,
    place=140,
    figures=FIGURES,
    introduction=INTRODUCTION,
    tables=tables,
)
