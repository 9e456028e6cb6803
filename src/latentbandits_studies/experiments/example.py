"""The paper's Example 1, its matrix as printed: who is rescued by probing, and who is not."""

from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import GREEDY, LIMIT
from latentbandits.presentation.palette import label, legend_below, style
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies import theory
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    BELOW,
    FAILS,
    HOLDS,
    PROVED,
    READING,
    Claim,
    all_of,
    order,
    per_draw,
    shown,
)
from latentbandits_studies.experiments.paper.worlds import ADARP, ADASP, contestants
from latentbandits_studies.experiments.plots import dots, look, of_draws, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "Example 1: two states that pay alike on one arm; every policy with the pair (a, r), and as preset"
MEANS = ((0.4, 0.3), (0.4, 0.5), (0.6, 0.5), (0.6, 0.3))
STAYS, NOISE, HORIZON = (0.95, 0.99), 0.01, 20_000
# The preset, and the same policy with the features as the text writes them
LAGS = {ADARP: "slopes", "rp-ucb": "pair", ADASP: "slopes", "sp-ucb": "curves"}
PROBING = tuple(LAGS)
LAGGED = ("lc-ucb", "lc-ts")


def alone(lag: str) -> str:
    """Return the name of LC-UCB with this lag and the exploration of the probing policies."""
    return f"lc-ucb:lag={lag},exploration=0.5"


def paired(name: str) -> str:
    """Return the spec of a policy with the lag as the pair (a, r)."""
    return f"{name}:lag=pair"


def world(stay: float) -> HiddenMarkov:
    """Return the world of the example."""
    return HiddenMarkov(means=MEANS, stickiness=stay, noise=NOISE)


def cases(size: Size) -> list[Case]:
    """Return one case per stay probability; the matrix is always the same, so every draw is one more run."""
    quick = size != "full"
    listed = [spec for name in (*PROBING, *LAGGED) for spec in (name, paired(name))]
    # what LC-UCB is to each of them: the same lag and exploration, and no probes
    listed += [alone(lag) for lag in dict.fromkeys(LAGS.values())]
    listed += ["adarp-ucb-stated", "adasp-ucb-stated", "ucb1", "best-single-arm", GREEDY, LIMIT]
    sizes = (HORIZON // 4, 16) if quick else (HORIZON, 96)
    return [Case(f"stay {stay:g}", world(stay), contestants(listed), *sizes) for stay in STAYS]


def rescued(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per case and probing policy: its regret over that of LC-UCB with its own lag and exploration, and the word for it."""
    lines = []
    for stay in STAYS:
        case = f"stay {stay:g}"
        for name in PROBING:
            for probing, base in ((name, alone(LAGS[name])), (paired(name), alone("pair"))):
                comparison = order(results, case, probing, base, 2 * len(PROBING) * len(STAYS))
                lines.append(
                    {"case": case, "policy": probing, "base": base, **comparison._asdict(), "word": comparison.word}
                )
    return pd.DataFrame(lines)


@cache
def decoded() -> tuple[float, float]:
    """Return how often the state is named wrongly from one reward of arm 0, at best, and from one of each arm."""
    alone = theory.bayes_error([mean[0] for mean in MEANS], NOISE)
    both = theory.nearest_centroid_error(MEANS, NOISE, None, 20_000, np.random.default_rng(0)).value
    return alone, both


def told_apart(one_arm: float, both_arms: float) -> list[Claim]:
    """Judge what one reward and what a fingerprint tell, by how often each names the wrong state."""
    return [
        Claim(
            "example/ambiguous",
            "After arm 0 two states are equally likely, and their best arms differ: the lag does not identify the state",
            "two possible states",
            f"the best rule that sees one reward of arm 0 names the wrong state in {one_arm:.0%} of the rounds",
            HOLDS if one_arm > 0.45 else FAILS,
            "in closed form",
            PROVED,
        ),
        Claim(
            "example/unique",
            "Sampling both arms gives every state a fingerprint of its own",
            "four different pairs",
            f"the nearest fingerprint is that of another state in {both_arms:.2%} of 20,000 probes",
            HOLDS if both_arms < 0.001 else FAILS,
            kind=PROVED,
        ),
    ]


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge that the lag cannot tell the states, that fingerprints can, and whom it helps."""
    table = rescued(results)
    return [
        *told_apart(*decoded()),
        Claim(
            "example/rescued",
            "Probing rescues: every probing policy has less regret than LC-UCB with the same lag and exploration",
            "motivates probing, without a simulation",
            verbose(results, table),
            all_of(table["word"]),
            f"the greedy filter never plays arm 1 here and has {shown(results, 'stay 0.95', GREEDY)} and "
            f"{shown(results, 'stay 0.99', GREEDY)}, as much as the best single arm: it is given everything, but it never tests; the "
            f"Bayes limit, which does, has {shown(results, 'stay 0.95', LIMIT)} and {shown(results, 'stay 0.99', LIMIT)}",
            READING,
        ),
    ]


def verbose(results: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return who is rescued and who is not, with regret beside that of LC-UCB."""
    others = table[table["word"] != BELOW]
    base = "; ".join(
        f"LC-UCB at {case}: "
        + ", ".join(f"{shown(results, case, alone(lag))} ({lag})" for lag in dict.fromkeys(LAGS.values()))
        for case in dict.fromkeys(table["case"])
    )
    text = f"{base}; less in {len(table) - len(others)} of {len(table)} comparisons"
    listed = ", ".join(f"{x.policy} at {x.case} ({x.ratio:.2f} times)" for x in others.itertuples())
    return text + (f"; not: {listed}" if listed else "")


def finding(results: pd.DataFrame) -> str:
    """Return what one reward and a fingerprint tell, and whom probing helps."""
    (one, both), table = decoded(), rescued(results)
    return (
        f"One reward of the first arm names the wrong state in {one:.0%} of the rounds, a fingerprint in {both:.2%}; probing lowers regret "
        f"in {(table['word'] == BELOW).sum()} of {len(table)} comparisons with LC-UCB."
    )


def plot_rescue(results: pd.DataFrame) -> Figure:
    """Regret of every policy in Example 1, with the pair (a, r) and as preset."""
    names = [*LAGGED, *PROBING]
    figure, grid = panels(1, 2, (8.6, 4.4), sharey=True)
    for axes, stay in zip(grid, STAYS, strict=True):
        case = f"stay {stay:g}"
        for place, name in enumerate(names):
            looks = {"color": style(name).color, "label": None if place else "lag as in the main table"}
            dots(axes, of_draws(results, case, [name]), [place - 0.15], **looks)
            looks |= {"marker": "s", "markerfacecolor": "white", "label": None if place else "lag as the pair (a, r)"}
            dots(axes, of_draws(results, case, [paired(name)]), [place + 0.15], **looks)
        for name in (LIMIT, GREEDY, "ucb1"):
            axes.axvline(per_draw(results, case, name).mean(), **look(name))
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        axes.set_xlim(left=0)
        axes.set_xlabel("regret per group")
        axes.set_title(case, fontsize=9)
    grid[0].invert_yaxis()
    legend_below(figure, grid[0], 4)
    return figure


RESCUE = Illustration(
    "example",
    "Example 1: regret with the pair (a, r) as lag and with the presets' lags. The greedy filter never "
    "plays the second arm here; the Bayes limit does. Bars: 95 % intervals over runs.",
    plot_rescue,
)
EXPERIMENT = Experiment(
    "example",
    SUMMARY,
    cases,
    score,
    title="Example 1: two states that pay alike",
    finding=finding,
    place=80,
    figures=(RESCUE,),
)
