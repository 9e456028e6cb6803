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
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.paper.choices import READINGS, judge
from latentbandits_studies.experiments.paper.worlds import contestants
from latentbandits_studies.experiments.plots import Span, curve, panels
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
RESIDUALS = READINGS["residual"].values
SAID = 0.05  # outside of a 95 % interval
SHARE = 0.25  # near enough to "approximately"


def cases(size: Size) -> list[Case]:
    """Return one case per noise and horizon: one state, the residual gate alone, and every threshold."""
    quick = size != "full"
    planned, gates = [], [gate(features, threshold) for threshold in THRESHOLDS for features in (CORRECT, TEXT)]
    gates += [gate(features, 2.0, residual) for residual in RESIDUALS for features in (CORRECT, TEXT)]
    floors = [under(spec, residual) for residual in RESIDUALS for spec in (FLOORED, BARE)]
    for noise in NOISES:
        for horizon in HORIZONS:
            world = HiddenMarkov(states=1, arms=2, noise=noise, reveal="state")
            planned.append(
                Case(
                    f"noise {noise:g}, {horizon:,} rounds",
                    world,
                    contestants(dict.fromkeys(gates)),
                    horizon,
                    16 if quick else 64,
                )
            )
    for name, stay in DRIFT.items():
        world = HiddenMarkov(states=10, arms=2, noise=NOISES[0], stickiness=stay)
        planned.append(Case(name, world, contestants(floors), HORIZONS[-1], 16 if quick else 64))
    return planned


def gate(features: str, threshold: float, residual: str = "after") -> str:
    """Return the spec of a residual gate that is looked at in every round, with no other gate."""
    alone = f"adasp-ucb-stated:residual_threshold={threshold:g},margin=0,staleness={LARGEST},min_gap=1"
    alone += "" if features == TEXT else ",lag=none,fingerprint=False,covariates=1,probe_set=0"
    return under(alone, residual)


def under(spec: str, residual: str) -> str:
    """Return a spec under a reading of the residual."""
    return f"{spec}{',' if ':' in spec else ':'}residual_before=True" if RESIDUALS[residual] else spec


@once
def shares(results: pd.DataFrame, features: str, threshold: float, residual: str) -> dict[str, Span]:
    """Return the share of rounds in which the gate opened and its interval, in each case."""
    horizons = {f"noise {noise:g}, {horizon:,} rounds": horizon for noise in NOISES for horizon in HORIZONS}
    spec, found = gate(features, threshold, residual), {}
    for case, horizon in horizons.items():
        opened, rounds, probes = (
            per_draw(results, case, spec, column) for column in ("residual_gate", "probe_rounds", "probes")
        )
        found[case] = interval(opened / (horizon - (rounds - probes)))  # not within a probe
    return found


def tails(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per case, features and threshold: share of rounds in which the gate opened, its interval, and the normal tail.

    `spread` is the standard deviation of a normal residual that exceeds the threshold as often.
    """
    lines = []
    for features in (CORRECT, TEXT):
        for threshold in THRESHOLDS:
            for case, (share, low, high) in shares(results, features, threshold, "after").items():
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

        def normal(residual: str, features: str = features) -> str:
            spans = shares(results, features, 2.0, residual).values()
            return worst(near(Order(*(value / SAID for value in span)), SHARE) for span in spans)

        found = judge(("residual",), normal)
        listed = "; ".join(
            f"{residual} the update, "
            + ", ".join(
                f"{case}: {share:.2%} ({max(low, 0):.2%} to {high:.2%})"
                for case, (share, low, high) in shares(results, features, 2.0, residual).items()
            )
            for residual in RESIDUALS
        )
        spreads = table[(table["features"] == features) & (table["threshold"] == 1.0)]["spread"]
        claims.append(
            Claim(
                f"residuals/{name}",
                text,
                "approximately standard normal; 2 is a 95 % interval",
                f"{listed}; {found.words}",
                found.verdict,
                f"{nearest(results, features)}; "
                f"after the update the threshold 1 is exceeded as by a normal of standard deviation {spreads.min():.2f} to "
                f"{spreads.max():.2f}; the variance of the estimate enters without the noise's factor, so that it takes many more than 1 / "
                "noise^2 rounds to fade",
                depends=found.depends,
                lean=found.lean,
            )
        )
    return [*claims, *_drift(results)]


def _drift(results: pd.DataFrame) -> list[Claim]:
    """Judge that the gate opens more often where the state changes, and with a lower floor, before and after the update."""

    def opened(case: str, spec: str, residual: str) -> np.ndarray:
        return per_draw(results, case, under(spec, residual), "residual_gate") / HORIZONS[-1]

    def more(residual: str) -> str:
        moved, still = (opened(case, FLOORED, residual) for case in DRIFT)
        return all_of([compared(moved, still).word], ABOVE)

    def floored(residual: str) -> str:
        pairs = ((opened(case, BARE, residual), opened(case, FLOORED, residual)) for case in DRIFT)
        return all_of((compared(bare, floor, 2).word for bare, floor in pairs), ABOVE)

    def shown(spec: str, residual: str) -> list[str]:
        return [f"{opened(case, spec, residual).mean():.2%}" for case in DRIFT]

    drift, floor = judge(("residual",), more), judge(("residual",), floored)
    moves = "; ".join(
        "{} of the rounds where it changes (stay 0.99), {} where it never does".format(*shown(FLOORED, residual))
        + f" ({residual} the update)"
        for residual in RESIDUALS
    )
    floors = "; ".join(
        "{} instead of {} of the rounds where the state changes, {} instead of {} where it never does".format(
            *(share for pair in zip(shown(BARE, residual), shown(FLOORED, residual), strict=True) for share in pair)
        )
        + f" ({residual} the update)"
        for residual in RESIDUALS
    )
    return [
        Claim(
            "residuals/drift",
            "Large residuals tell of a change of state: the gate opens more often where the state changes",
            "detects drift",
            f"{moves}; {drift.words}",
            drift.verdict,
            "AdaRP-UCB as stated, ten states, noise 0.01",
            depends=drift.depends,
            lean=drift.lean,
        ),
        Claim(
            "residuals/floor",
            "The floor keeps the residual gate from opening too often: with a hundredth of it the gate opens more often",
            "a floor to prevent the gate from triggering too often",
            f"{floors}; {floor.words}",
            floor.verdict,
            "the same",
            depends=floor.depends,
            lean=floor.lean,
        ),
    ]


def nearest(results: pd.DataFrame, features: str) -> str:
    """Return the share of rounds in which the gate opens at the paper's noise in long runs, beside that of a standard normal."""
    noise, horizon = NOISES[-1], HORIZONS[-1]
    share = shares(results, features, 2.0, "after")[f"noise {noise:g}, {horizon:,} rounds"][0]
    return (
        f"{share:.2%} at noise {noise:g} (the paper's in its robustness checks) over {horizon:,} rounds, against {2 * norm.sf(2.0):.1%} of "
        f"a standard normal; far less at noise {NOISES[0]:g} or over {HORIZONS[0]} rounds"
    )


def finding(results: pd.DataFrame) -> str:
    """Return how often the gate opens where nothing changes, beside what the text says."""
    at = tails(results).query("threshold == 2.0").groupby("features")["share"].agg(["min", "max"])
    right, text = (f"{at.loc[name, 'min']:.1%} to {at.loc[name, 'max']:.1%}" for name in (CORRECT, TEXT))
    return (
        f"Where no state changes, the residual passes 2 in {right} of the rounds if the model is right and in {text} with the text's own "
        f"features; a standard normal does so in {2 * norm.sf(2.0):.1%}. Noise and length "
        f"decide: with the text's features {nearest(results, TEXT)}."
    )


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
EXPERIMENT = Experiment(
    "residuals",
    SUMMARY,
    cases,
    score,
    title="The residual gate: how often it opens",
    finding=finding,
    place=90,
    figures=(TAILS,),
)
