"""Real data: what all policies earn where the reward of every arm is known in every round, and what could be earned."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.html import tag
from latentbandits.presentation.palette import BLACK, BLUE, GREY, ORANGE, label
from latentbandits_studies.data import load
from latentbandits_studies.experiments import plots
from latentbandits_studies.experiments.real import claims
from latentbandits_studies.experiments.real.settings import cases
from latentbandits_studies.experiments.real.standings import MAIN
from latentbandits_studies.experiments.registry import Experiment, Illustration

_TICKS = (-100, -30, -10, -3, -1, -0.5, 0, 0.5, 1)
_SHARE = f"share_{MAIN}"


def tables(results: pd.DataFrame) -> str:
    """Return who is first on each dataset, and the rewards of all policies."""
    ranked, rewards = claims.standings(results), claims.summary(results)
    standings = {
        "dataset": ranked["dataset"],
        "question": [load(name).summary for name in ranked["dataset"]],
        "winner": ranked["winner"].map(label),
        "its reward": ranked["winner_reward"],
        label(LIBRARY): ranked["reward"],
        "its rank": [f"{rank} of {count}" for rank, count in ranked[["rank", "policies"]].to_numpy()],
        "best other": ranked["other"].map(label),
        "difference to it": plots.spans(ranked, "difference", "+.3g", "difference_low", "difference_high"),
        "best single arm": ranked["best_arm"],
        "reward of that arm": ranked["best_arm_reward"],
        "difference to that arm": plots.spans(ranked, "gain", "+.3g", "gain_low", "gain_high"),
        f"{MAIN} switches": ranked[f"switches_{MAIN}"],
    }
    plain = rewards.assign(policy=rewards["policy"].map(claims.plain), reward=plots.spans(rewards, "reward", ".4g"))
    wide = plain.pivot(index="dataset", columns="policy", values="reward")
    wide = wide.loc[ranked["dataset"], list(dict.fromkeys(plain["policy"]))].rename(columns=label)
    words = (
        "Mean reward of a round. The winner and the best other policy are picked in hindsight; intervals over blocks of time and seeds, "
        "which all datasets share the 5 % of."
    )
    shown = plots.titled("Standings", words, pd.DataFrame(standings))
    return shown + plots.titled(
        "All policies",
        "Mean reward of a round, with its 95 % interval over blocks of time and seeds.",
        wide.reset_index(),
    )


def shares(results: pd.DataFrame) -> Figure:
    """Plot a row per dataset."""
    return share_rows(claims.summary(results), claims.standings(results))


def share_rows(summary: pd.DataFrame, standings: pd.DataFrame, names: Sequence[str] = ()) -> Figure:
    """Plot a row per dataset: all policies as dots, StateLibrary and the best other policy marked, with their intervals.

    Rows are in the order of the names, or of StateLibrary's shares.
    """
    cells = summary.set_index(["dataset", "policy"])
    order = standings.set_index("dataset")
    order = order.loc[names or cells[_SHARE].xs(LIBRARY, level="policy").sort_values(ascending=False).index]
    figure, (axes,) = plots.panels(1, 1, (9.4, 1.9 + 0.34 * len(order)))
    plots.stripe(axes, len(order))
    for place, (name, line) in enumerate(order.iterrows()):
        _row(axes, place, cells.loc[str(name)], str(line["other"]))
    axes.axvline(0, color=BLACK, linewidth=1.2, zorder=1)
    axes.axvline(1, color=BLACK, linestyle=(0, (1, 1)), linewidth=1.2, zorder=1)
    axes.set_xscale("symlog", linthresh=1, linscale=1.2)
    axes.set_xlim(1.3 * min(-1.0, float(cells[_SHARE].min())), 1.25)
    axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.set_xticks([], minor=True)
    ranks = [f"{name}   {line['rank']} of {line['policies']}" for name, line in order.iterrows()]
    axes.set_yticks(range(len(order)), ranks)
    for share, words in ((0, "best\nsingle arm"), (1, f"{MAIN}\nswitches")):
        axes.text(share, 1.005, words, ha="center", va="bottom", fontsize=8, transform=axes.get_xaxis_transform())
    axes.set_xlabel(f"share of what {MAIN} switches earn beyond the best single arm, both picked in hindsight")
    handles, labels = axes.get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _row(axes: Axes, place: int, cells: pd.DataFrame, other: str) -> None:
    """Plot one dataset: the crowd, the best other policy, StateLibrary."""
    crowd = cells.drop([LIBRARY, other])[_SHARE]
    axes.plot(crowd, [place] * len(crowd), "o", ms=4, color=GREY, alpha=0.5, label="another policy", zorder=2)
    best: dict[str, Any] = {"color": ORANGE, "marker": "s", "label": "the best other policy, named at the right"}
    ours: dict[str, Any] = {"color": BLUE, "marker": "D", "label": label(LIBRARY)}
    for name, lane, looks in ((other, -0.17, best), (LIBRARY, 0.17, ours)):
        span = cells.loc[name, [_SHARE, "share_low", "share_high"]]
        plots.dots(axes, [span], [place + lane], ms=6.5, zorder=4, **looks)
    axes.text(1.02, place, label(claims.plain(other)), va="center", fontsize=8, transform=axes.get_yaxis_transform())


def finding(results: pd.DataFrame) -> str:
    """Return on how many datasets StateLibrary is first, and on how many it earns more than the best single arm."""
    table = claims.standings(results)
    return (
        f"On {len(table)} recorded datasets StateLibrary is first on {(table['rank'] == 1).sum()} and earns more than the best single arm, "
        f"picked in hindsight, on {(table['gain'] > 0).sum()} (sure on {(table['gain_low'] > 0).sum()})."
    )


SHARES = Illustration(
    "real",
    "One row per dataset, with StateLibrary's rank, the best on top; the axis is linear from -1 to 1 and logarithmic below. 0 is the "
    "reward of the best single arm, 1 that of the best sequence with 100 switches, both known in hindsight only. Bars: 95 % intervals "
    "of the reward beyond the best single arm, over blocks of time and seeds.",
    shares,
)
EXPERIMENT = Experiment(
    "real",
    "real data: departures, forecasts and caches; mean reward of all policies, and the attainable gain",
    cases,
    claims.score,
    title="Real data: departures, forecasts and caches",
    finding=finding,
    table=claims.summary,
    ours=True,
    place=160,
    figures=(SHARES,),
    introduction=tag(
        "p",
        "Recorded problems in which the reward of every arm is known in every round, so that nothing is made up: ",
        tag("code", "latentbandits_studies.data"),
        " ships them with source and licence. Policies are given nothing and play one arm in each round. There is no limit here: the "
        "references are the best single arm and the best sequence of arms with few switches, both picked in hindsight. Such a sequence "
        "also follows noise, so a share of 1 is out of reach.",
    ),
    tables=tables,
)
