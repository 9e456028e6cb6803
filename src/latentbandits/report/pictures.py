"""Which figures an experiment has, and what each shows."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.report import beyond, checks, figures, summaries, theory


class Picture(NamedTuple):
    """A figure of an experiment: the file's name, how it is drawn, and what it shows."""

    name: str
    draw: Callable[[pd.DataFrame], Figure]
    caption: str


PICTURES: dict[str, list[Picture]] = {
    "table2": [
        Picture(
            "table2-ratio",
            figures.heat_map,
            "Ours over the published cell, all 182 cells (twice our regret per unit; 1.00 is a match).",
        ),
        Picture(
            "table2-multiples",
            figures.multiples,
            "Regret as a multiple of the Bayes limit: a filter that knows means, chain and noise.",
        ),
    ],
    "winning-rates": [
        Picture(
            "winning-rates",
            figures.sweeps,
            "Share of duels won against all other policies on the same runs; bars are 95 % intervals over matrices.",
        ),
        Picture(
            "winning-rates-pairs",
            figures.duels,
            "All duels, environment by environment: share of paired runs in which the row's policy has less regret.",
        ),
    ],
    "optimal-arm-frequency": [
        Picture(
            "optimal-arm-frequency",
            figures.frequency,
            "Share of optimal arms over time, smoothed over five stretches of 200 rounds; bands are 95 % over matrices.",
        ),
    ],
    "sensitivity": [
        Picture(
            "sensitivity",
            figures.thresholds,
            "Regret over each threshold, the others as stated (grey bar). Dotted: the Bayes limit of the same world.",
        ),
    ],
    "ablation": [
        Picture(
            "ablation",
            figures.parts,
            "What each part buys; the fixed schedule has the same features. Diamonds: published (there the fixed "
            "schedules are RP-UCB and SP-UCB). "
            "Dotted: the Bayes limit. Bars: 95 % intervals over matrices.",
        ),
    ],
    "misspecification": [
        Picture(
            "misspecification",
            figures.mismatch,
            "Matched learners are given the true statistic; the others have gates and lag as the text states them. "
            "D-UCB is fitted to its published figures. Diamonds: published. Dotted: the Bayes limit. Bars: 95 % intervals over matrices.",
        ),
    ],
    "many-arms": [
        Picture(
            "many-arms",
            figures.arms,
            "Randomized probes take one round whatever the number of arms; sequential ones as many rounds as arms.",
        ),
    ],
    "example": [
        Picture(
            "example",
            checks.rescue,
            "Example 1: regret with the pair (a, r) as lag and with the presets' lags. The greedy Bayes filter never "
            "plays the second arm here. "
            "Bars: 95 % intervals over runs.",
        ),
    ],
    "residuals": [
        Picture(
            "residuals",
            checks.tails,
            "How often |z| exceeds a threshold in a world whose state never changes. Left: the model is right. Right: the text's features. "
            "Bars: 95 % intervals over matrices.",
        ),
    ],
    "timing": [
        Picture(
            "timing",
            checks.intervals,
            "Fixed schedules: regret over the interval between probes. Bars: 95 % intervals over matrices.",
        ),
    ],
    "decomposition": [
        Picture(
            "decomposition",
            summaries.decomposition,
            "App and Reg along each policy's own run, for the summaries that it uses. Bars: 95 % intervals over matrices.",
        ),
    ],
    "theory": [
        Picture(
            "theory",
            theory.bounds,
            "Above: regret per round of a policy that probes and commits, and the bounds on it. Below: errors of decoding "
            "the hidden state, and the bounds on them.",
        ),
        Picture(
            "theory-adaptive",
            theory.adaptive,
            "The hazard corollary for schedules that probe early when a reward surprises: where it holds, and a world "
            "in which it does not.",
        ),
        Picture(
            "theory-finite",
            theory.finite,
            "Finite-sample bounds, ours: a matched learner over the horizon, and a fixed schedule with decoded states.",
        ),
    ],
    "ladder": [
        Picture(
            "ladder",
            summaries.ladder,
            "Which term each summary lowers: App, what the summary cannot tell, and Reg, what the learner loses; one schedule, one "
            "ridge, one exploration. Diamonds: App and the price of the probes. Bars: 95 % intervals over matrices.",
        ),
    ],
    "beyond": [
        Picture(
            "beyond",
            beyond.story,
            "Multiples of the Bayes limit in every row of the main table, on a log axis; numbers: StateLibrary. Three "
            "lanes per row: the paper's "
            "policies, StateLibrary, the change-point peers. Bars: 95 % intervals over matrices.",
        ),
        Picture(
            "beyond-elsewhere",
            beyond.elsewhere,
            "The same in other worlds and with more arms; numbers: StateLibrary. Below: worlds without a limit, where the unit is the best "
            "rival's regret. Bars: 95 % intervals over matrices.",
        ),
        Picture(
            "beyond-parts",
            beyond.without,
            "StateLibrary with one part taken away, relative to the full policy on the same runs. Bars: 95 % intervals over matrices.",
        ),
    ],
}
