"""How often each policy plays the optimal arm, over time, in four environments."""

import numpy as np
import pandas as pd

from latentbandits.experiments.case import Case, Claim, verdict
from latentbandits.experiments.paper.worlds import COLUMNS, LIMIT, MATRICES, QUICK_MATRICES, rows
from latentbandits.policies.table import policy

SUMMARY = "share of optimal arms over time: default, stay 0.5, noise 0.1, 50 states"
ROWS = ("default", "p.5", "sd.1", "S50")
BINS = 100


def cases(quick: bool) -> list[Case]:
    """Return four rows of Table 2, with curves."""
    draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, 2)
    made = []
    for name in ROWS:
        world, horizon = rows()[name]
        policies = {column: policy(column, arms=world.arms) for column in (*COLUMNS, LIMIT)}
        made.append(Case(name, world, policies, horizon, draws, repeats, bins=BINS))
    return made


def curves(results: pd.DataFrame, case: str, smooth: int = 5) -> dict[str, np.ndarray]:
    """Return, per policy, the smoothed mean curve and its 95 % band over matrices: an array (3, bins)."""
    found = {}
    window = np.ones(smooth)
    for label, part in results[results["case"] == case].groupby("policy", sort=False):
        runs = np.stack(part["optimal_curve"].to_list()).astype(float)
        weight = np.convolve(np.ones(runs.shape[1]), window, mode="same")
        smoothed = np.stack([np.convolve(run, window, mode="same") for run in runs]) / weight
        per_draw = pd.DataFrame(smoothed).groupby(part["draw"].to_numpy()).mean().to_numpy()
        mean = per_draw.mean(axis=0)
        half = 1.96 * per_draw.std(axis=0, ddof=1) / np.sqrt(len(per_draw))
        found[str(label)] = np.stack([mean, mean - half, mean + half])
    return found


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge what the figure shows."""
    share = results.groupby(["case", "policy"])["optimal"].mean()
    default = share["default"].drop(LIMIT)
    fast, calm = share["p.5", "adasp-ucb"], share["default", "adasp-ucb"]
    return [
        Claim(
            "In the default world AdaRP-UCB plays the optimal arm most often",
            "figure",
            f"{default['adarp-ucb']:.1%}; next {default.drop('adarp-ucb').idxmax()} {default.drop('adarp-ucb').max():.1%}",
            verdict(default.idxmax() == "adarp-ucb"),
        ),
        Claim(
            "Sequential fingerprints lose most of their worth under fast switching",
            "figure",
            f"AdaSP-UCB {calm:.1%} in the default world, {fast:.1%} at stay 0.5",
            verdict(fast < 0.5 + 0.5 * (calm - 0.5)),
        ),
    ]
