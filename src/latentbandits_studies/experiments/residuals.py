"""Is the Studentized residual standard normal, so that a threshold of 2 is a 95 % interval? How often the gate really opens."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import norm

from latentbandits.presentation.palette import BLACK, BLUE, GREEN, ORANGE, RED
from latentbandits.settings import LARGEST
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    Claim,
    Order,
    all_of,
    compared,
    near,
    per_draw,
    worst,
)
from latentbandits_studies.experiments.paper.worlds import contestants
from latentbandits_studies.experiments.plots import curve, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = (
    "how often the residual gate opens in a world whose state never changes, beside the tails of a normal distribution"
)
THRESHOLDS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
NOISES, HORIZONS = (0.01, 0.05), (500, 20_000)
# The model is right: one state, and a single feature that is always 1
CORRECT = "one constant feature"
# The features of the text: fingerprint and pair
TEXT = "fingerprint and lag"
# The whole policy in a world whose state changes, and in one where it never does
DRIFT = {"state changes": 0.99, "state stays": 1.0}
FLOORED, BARE = "adarp-ucb-stated", f"adarp-ucb-stated:residual_floor={NOISES[0] / 100:g}"
SAID = 0.05  # outside of a 95 % interval
SHARE = 0.25  # near enough to "approximately"


def cases(size: Size) -> list[Case]:
    """Return one case per noise and horizon: one state, the residual gate alone, and every threshold."""
    quick = size != "full"
    planned, gates = [], [gate(features, threshold) for threshold in THRESHOLDS for features in (CORRECT, TEXT)]
    for noise in NOISES:
        for horizon in HORIZONS:
            world = HiddenMarkov(states=1, arms=2, noise=noise, reveal="state")
            planned.append(
                Case(f"noise {noise:g}, {horizon:,} rounds", world, contestants(gates), horizon, 16 if quick else 64)
            )
    for name, stay in DRIFT.items():
        world = HiddenMarkov(states=10, arms=2, noise=NOISES[0], stickiness=stay)
        planned.append(Case(name, world, contestants([FLOORED, BARE]), HORIZONS[-1], 16 if quick else 64))
    return planned


def gate(features: str, threshold: float) -> str:
    """Return the spec of a residual gate that is looked at in every round, with no other gate."""
    alone = f"adasp-ucb-stated:residual_threshold={threshold:g},margin=0,staleness={LARGEST},min_gap=1"
    return alone if features == TEXT else f"{alone},lag=none,fingerprint=False,covariates=1,probe_set=0"


def tails(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per case, features and threshold: share of rounds in which the gate opened, its interval, and the normal tail.

    `spread` is the standard deviation of a normal residual that exceeds the threshold as often.
    """
    lines = []
    horizons = {f"noise {noise:g}, {horizon:,} rounds": horizon for noise in NOISES for horizon in HORIZONS}
    looked = results["case"].map(horizons) - (results["probe_rounds"] - results["probes"])  # not within a probe
    opened = results[results["case"].isin(horizons)].assign(opened=results["residual_gate"] / looked)
    for case in horizons:
        for features in (CORRECT, TEXT):
            for threshold in THRESHOLDS:
                share, low, high = interval(per_draw(opened, case, gate(features, threshold), "opened"))
                spread = threshold / norm.isf(share / 2) if 0 < share < 1 else np.nan
                line = {"case": case, "features": features, "threshold": threshold}
                line |= {"share": share, "low": low, "high": high}
                lines.append(line | {"normal": 2 * norm.sf(threshold), "spread": spread})
    return pd.DataFrame(lines)


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge that the residual is about standard normal and that 2 is about 95 %, where the model is right and no state changes."""
    table = tails(results)
    claims = []
    for name, features, text in (
        ("normal", CORRECT, "With a correct model and no change of state |z| reaches 2 in about 5 % of the rounds"),
        (
            "normal-text",
            TEXT,
            "The same with the text's own features (fingerprint and lag), whose coefficients are to be learned",
        ),
    ):
        part = table[(table["features"] == features) & (table["threshold"] == 2.0)]
        words = [near(Order(x.share / SAID, x.low / SAID, x.high / SAID), SHARE) for x in part.itertuples()]
        spreads = table[(table["features"] == features) & (table["threshold"] == 1.0)]["spread"]
        claims.append(
            Claim(
                f"residuals/{name}",
                text,
                "approximately standard normal; 2 is a 95 % interval",
                "; ".join(f"{x.case}: {x.share:.2%} ({max(x.low, 0):.2%} to {x.high:.2%})" for x in part.itertuples()),
                worst(words),
                f"the threshold 1 is exceeded as by a normal of standard deviation {spreads.min():.2f} to {spreads.max():.2f}; the "
                "variance of the estimate enters without the noise's factor, so that it takes many more than 1 / noise^2 rounds to fade, "
                "and the residual is taken after the update",
            )
        )
    moved, still = (per_draw(results, case, FLOORED, "residual_gate") / HORIZONS[-1] for case in DRIFT)
    claims.append(
        Claim(
            "residuals/drift",
            "Large residuals tell of a change of state: the gate opens more often where the state changes",
            "detects drift",
            f"{moved.mean():.2%} of the rounds where it changes (stay 0.99), {still.mean():.2%} where it never does",
            all_of([compared(moved, still).word], ABOVE),
            "AdaRP-UCB as stated, ten states, noise 0.01",
        )
    )
    bare = {case: per_draw(results, case, BARE, "residual_gate") / HORIZONS[-1] for case in DRIFT}
    claims.append(
        Claim(
            "residuals/floor",
            "The floor keeps the residual gate from opening too often: with a hundredth of it the gate opens more often",
            "a floor to prevent the gate from triggering too often",
            f"{bare['state changes'].mean():.2%} instead of {moved.mean():.2%} of the rounds where the state changes, "
            f"{bare['state stays'].mean():.2%} instead of {still.mean():.2%} where it never does",
            all_of(
                (compared(bare[case], with_, 2).word for case, with_ in zip(DRIFT, (moved, still), strict=True)), ABOVE
            ),
            "the same",
        )
    )
    return claims


def plot_tails(results: pd.DataFrame) -> Figure:
    """Share of rounds in which the residual gate opens, over its threshold, beside the tails of a normal distribution."""
    table = tails(results)
    table["low"] = table["low"].clip(lower=1e-6)
    colors = dict(zip(dict.fromkeys(table["case"]), (BLUE, GREEN, ORANGE, RED), strict=True))
    fine = np.linspace(min(THRESHOLDS), max(THRESHOLDS), 100)
    figure, grid = panels(1, 2, (8.6, 3.6), sharey=True)
    for axes, features in zip(grid, (CORRECT, TEXT), strict=True):
        for case, color in colors.items():
            part = table[(table["case"] == case) & (table["features"] == features) & (table["share"] > 0)]
            curve(axes, part["threshold"], part[["share", "low", "high"]].to_numpy(), color=color, label=case)
        axes.plot(fine, 2 * norm.sf(fine), color=BLACK, linestyle="--", label="standard normal")
        axes.set_yscale("log")
        axes.set_ylim(1e-5, 1)
        axes.set_xlabel("threshold of |z|")
        axes.set_title(features, fontsize=9)
    grid[0].set_ylabel("share of rounds above it")
    grid[0].legend(fontsize=7.5)
    return figure


TAILS = Illustration(
    "residuals",
    "How often |z| exceeds a threshold in a world whose state never changes. Left: the model is right. Right: the"
    " text's features. Bars: 95 % intervals over matrices.",
    plot_tails,
)
EXPERIMENT = Experiment("residuals", SUMMARY, cases, score, place=90, figures=(TAILS,))
