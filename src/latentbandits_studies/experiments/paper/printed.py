"""Figures that the paper prints outside of its main table (`table2.csv`), each with its place."""

from collections.abc import Mapping

# Section 6.1: the value of each threshold that is called the best, and in how many of the eight pairs of environment and policy
PREFERRED: Mapping[str, tuple[float, int]] = {"residual_threshold": (2.5, 8), "staleness": (12, 8), "min_gap": (4, 7)}
# Section 6.2, the ablation at stay 0.95: regret per group. AdaRP-UCB's fixed schedule is named RP-UCB, AdaSP-UCB's is not named
ABLATION: Mapping[str, Mapping[str, float]] = {
    "adarp-ucb": {"full": 103.0, "no lag": 108.0, "no fingerprint": 108.0, "fixed schedule": 162.0},
    "adasp-ucb": {"full": 238.0, "no fingerprint": 374.0, "fixed schedule": 377.0},
}
# Section 6.3, misspecification: regret of matched AdaRP-UCB, misspecified AdaRP-UCB, SW-UCB, D-UCB
MISSPECIFICATION: Mapping[str, tuple[float, float, float, float]] = {
    "stay 0.95": (111.0, 189.0, 392.0, 468.0),
    "stay 0.5": (91.0, 580.0, 635.0, 617.0),
    "memory 0.25": (92.0, 145.0, 298.0, 418.0),
    "memory 0.5": (85.0, 133.0, 283.0, 400.0),
    "overlap 0.2": (67.0, 128.0, 384.0, 394.0),
}
# The same at stay 0.5: matched and misspecified AdaSP-UCB
SEQUENTIAL = (189.0, 738.0)
