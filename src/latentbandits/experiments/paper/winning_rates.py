"""Head-to-head winning rates over the four sweeps."""

import numpy as np
import pandas as pd

from latentbandits.experiments.case import Claim, verdict
from latentbandits.experiments.paper import table2
from latentbandits.experiments.paper.worlds import COLUMNS

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


def rates(results: pd.DataFrame) -> pd.DataFrame:
    """Return each policy's winning rate against all other columns of Table 2, per case, with a 95 % interval over matrices."""
    from latentbandits.simulation.results import interval

    lines = []
    for case, part in results[results["policy"].isin(COLUMNS)].groupby("case", sort=False):
        wide = part.pivot(index=["draw", "repeat"], columns="policy", values="regret")[list(COLUMNS)]
        values = wide.to_numpy()
        wins = (
            (values[:, :, None] < values[:, None, :]).sum(axis=2)
            + 0.5 * ((values[:, :, None] == values[:, None, :]).sum(axis=2) - 1)
        ) / (len(COLUMNS) - 1)
        per_draw = pd.DataFrame(wins, index=wide.index, columns=wide.columns).groupby(level=0).mean()
        for label in COLUMNS:
            mean, low, high = interval(per_draw[label].to_numpy())
            lines.append({"row": case, "policy": label, "rate": mean, "low": max(low, 0.0), "high": min(high, 1.0)})
    return pd.DataFrame(lines)


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge who wins most duels."""
    table = rates(results)
    top = table.loc[table.groupby("row", sort=False)["rate"].idxmax()].set_index("row")["policy"]
    single = table[~table["policy"].isin(("adarp-ucb", "rp-ucb"))]
    second = single.loc[single.groupby("row", sort=False)["rate"].idxmax()].set_index("row")["policy"]
    adarp = int((top == "adarp-ucb").sum())
    ours = int(second.isin(("adasp-ucb", "lc-ucb", "lc-ts", "sp-ucb")).sum())
    return [
        Claim(
            "AdaRP-UCB wins most duels in most environments",
            "figure",
            f"highest rate in {adarp} of {len(top)}",
            verdict(adarp > len(top) / 2),
        ),
        Claim(
            "Among single-unit policies the paper's own win most duels, but for high noise",
            "figure",
            f"highest rate in {ours} of {len(second)}; noise 0.5: {second['sd.5']}",
            verdict(ours >= len(second) - 1),
        ),
    ]
