"""Every policy beside the best other in every world: ratios, stuck runs, worst runs, and the targets that are judged by them."""

import numpy as np
import pandas as pd

from latentbandits.policies.groups import CONTROL, FEW, LIBRARY, ORACLES, RECORDS, SCALED, TWO_GROUP
from latentbandits.policies.registry import REGISTRY
from latentbandits.specs import fair, policy
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TARGET, TIED, Claim, compared
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.stress.worlds import KINDS, SEED, WORLDS

DRAWS, QUICK_DRAWS = 24, 4
# A quick run plays this part of the rounds
QUICK_PART = 5

# All that are given nothing about the world, with one group; `scaled` is no policy of its own
NAMES = tuple(name for name in REGISTRY if name not in (*ORACLES, *RECORDS, *TWO_GROUP, CONTROL, SCALED))


def cases(size: Size) -> list[Case]:
    """Return one case per world; the same draws of a world for all policies, and no unit of rewards that harms one.

    A quick run has a few policies only: to compile all of them takes longer than to play.
    """
    quick = size != "full"
    return [
        Case(
            stressed.name,
            stressed.world,
            {name: policy(fair(name, stressed.world), arms=stressed.world.arms) for name in (FEW if quick else NAMES)},
            stressed.horizon // QUICK_PART if quick else stressed.horizon,
            QUICK_DRAWS if quick else DRAWS,
            seed=SEED,
        )
        for stressed in WORLDS
    ]


# A policy is near the best if its regret is at most this many times as high
NEAR = 1.1
# A run is stuck if its regret is more than this many times the median of the best other policy
STUCK = 3.0


@once
def duels(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per world and policy: its regret, and how that compares with the best of the other policies.

    The best is the policy with the lowest mean regret in this world, picked in hindsight, so ratios are if anything too high. `ratio`,
    `low` and `high` are over the best other policy, on the same draws, with the 95 % interval, and `least` is the low end of intervals of
    all worlds that share the 5 %; `to_best` is over the best of all
    policies. `stuck` is the share of runs with more than `STUCK` times the median regret of the best other, `worst_run` the highest
    regret of a run as a multiple of that median.
    """
    lines, worlds = [], results["case"].nunique()
    for world, part in results.groupby("case", sort=False):
        runs = part.pivot(index=["draw", "repeat"], columns="policy", values="regret")
        draws = runs.groupby(level=0).mean()
        means = draws.mean()
        for name in dict.fromkeys(part["policy"]):
            other = str(means.drop(name).idxmin())
            pair = draws[name].to_numpy(), draws[other].to_numpy()
            comparison = compared(*pair)
            median = float(runs[other].median())
            lines.append(
                {
                    "kind": KINDS[str(world)],
                    "world": world,
                    "policy": name,
                    "regret": means[name],
                    "best_other": other,
                    "best_regret": means[other],
                    "ratio": comparison.ratio,
                    "low": comparison.low,
                    "high": comparison.high,
                    "least": compared(*pair, worlds).low,
                    "stuck": float((runs[name] > STUCK * median).mean()),
                    "worst_run": float(runs[name].max() / median),
                    "to_best": max(1.0, comparison.ratio),
                }
            )
    return pd.DataFrame(lines)


@once
def standings(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per policy over all worlds, the best first: in how many it is near the best, its typical and its worst ratio.

    `typical` is the geometric mean of the ratios to the best of all policies.
    """
    lines = []
    for name, part in duels(results).groupby("policy", sort=False):
        worst = part.loc[part["ratio"].idxmax()]
        lines.append(
            {
                "policy": name,
                "near": int((part["ratio"] <= NEAR).sum()),
                "first": int((part["ratio"] <= 1).sum()),
                "worlds": len(part),
                "typical": float(np.exp(np.log(part["to_best"]).mean())),
                "worst": worst["ratio"],
                "worst_low": worst["low"],
                "worst_high": worst["high"],
                "worst_world": worst["world"],
                "stuck": part["stuck"].mean(),
                "worst_run": part["worst_run"].max(),
            }
        )
    return pd.DataFrame(lines).sort_values(["near", "typical"], ascending=[False, True], ignore_index=True)


@once
def table(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per world, StateLibrary's highest ratio to the best other first, and beside it all policies' ratios to the best."""
    table = duels(results)
    mine = table[table["policy"] == LIBRARY].drop(columns=["policy", "to_best"]).set_index("world")
    wide = table.pivot(index="world", columns="policy", values="to_best")[list(dict.fromkeys(table["policy"]))]
    return mine.join(wide).sort_values("ratio", ascending=False).reset_index()


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge StateLibrary by all worlds."""
    table = duels(results)
    mine = table[table["policy"] == LIBRARY].sort_values("ratio", ascending=False)
    return [_near(mine), _stuck(mine), _most_often(results), _least_harm(results)]


def _near(mine: pd.DataFrame) -> Claim:
    """Judge that no world has a ratio above `NEAR`: one whose interval lies above it refutes."""
    near, missed = mine["ratio"] <= NEAR, mine["least"] > NEAR
    worst = "; ".join(f"{line.world} ({line.ratio:.2f} times {line.best_other})" for line in mine.head(5).itertuples())
    return Claim(
        "stress/near-the-best",
        "In every world at most 10 % above the best of all other policies that are given nothing",
        f"{len(mine)} of {len(mine)} worlds",
        f"{int(near.sum())} of {len(mine)}, above it beyond doubt in {int(missed.sum())}; the highest: {worst}",
        FAILS if missed.any() else HOLDS if (mine["high"] <= NEAR).all() else TIED,
        "the best other is picked in hindsight, world by world; beyond doubt: by intervals that share the 5 %",
        TARGET,
    )


def _stuck(mine: pd.DataFrame) -> Claim:
    """Judge that no run is stuck: a single one refutes it."""
    worst = mine.loc[mine["worst_run"].idxmax()]
    return Claim(
        "stress/never-stuck",
        f"No run has more than {STUCK:g} times the median regret of the best other policy",
        "0 % of runs",
        f"{100 * mine['stuck'].mean():.1f} % of runs, in {int((mine['stuck'] > 0).sum())} of {len(mine)} worlds; the worst run has "
        f"{worst['worst_run']:.1f} times ({worst['world']})",
        FAILS if (mine["stuck"] > 0).any() else HOLDS,
        "a count: met or missed",
        TARGET,
    )


def _most_often(results: pd.DataFrame) -> Claim:
    """Judge by the number of worlds in which a policy is near the best."""
    lines = standings(results).set_index("policy")
    mine, others = lines.loc[LIBRARY], lines.drop(LIBRARY)
    best = others.loc[others["near"].idxmax()]
    return Claim(
        "stress/most-often",
        "Near the best (at most 10 % above) in more worlds than any other policy",
        "more worlds than any other",
        f"{mine['near']} of {mine['worlds']}; next {best.name} with {best['near']}",
        HOLDS if mine["near"] > best["near"] else FAILS if mine["near"] < best["near"] else TIED,
        "a count: met or missed",
        TARGET,
    )


def _least_harm(results: pd.DataFrame) -> Claim:
    """Judge by the world in which a policy is farthest from the best other: the intervals of the two worst ratios must not touch."""
    lines = standings(results).set_index("policy")
    mine, others = lines.loc[LIBRARY], lines.drop(LIBRARY)
    best = others.loc[others["worst"].idxmin()]
    sure = mine["worst_high"] < best["worst_low"]
    return Claim(
        "stress/least-harm",
        "Its worst ratio to the best other, over all worlds, is lower than that of any other policy",
        "lower than any other",
        f"{mine['worst']:.2f} ({mine['worst_low']:.2f} to {mine['worst_high']:.2f}, {mine['worst_world']}); the lowest of the others: "
        f"{best.name} {best['worst']:.2f} ({best['worst_low']:.2f} to {best['worst_high']:.2f}, {best['worst_world']})",
        HOLDS if sure else FAILS if mine["worst_low"] > best["worst_high"] else TIED,
        "",
        TARGET,
    )
