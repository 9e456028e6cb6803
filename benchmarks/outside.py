"""Policies of SMPyBandits on the field study's rewards: ``python -m benchmarks.outside --data DIR [--smpybandits CLONE] [--seeds N]``.

Needs SMPyBandits, from the registry (`pip install SMPyBandits`) or a clone, and the data that docs/field.md names. Its policies are given
the horizon, and rewards brought onto [0, 1] with the least and the most of the whole record, which nobody knows beforehand; of two settings
the better one is printed, picked in hindsight. Nothing of it is in this repository.
"""

import argparse
import contextlib
import importlib
import io
import os
import random
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.special

import latentbandits as lb
from latentbandits.policies.groups import FORGETFUL, LIBRARY
from latentbandits.settings import InvalidValueError
from latentbandits_studies.data import traces
from latentbandits_studies.experiments.field.rule import REGIMES, traits

# Class and settings; those that take the horizon are told it
RIVALS: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = {
    "SWUCB": [("SWUCB", {"tau": 50}), ("SWUCB", {"tau": 500})],
    "DiscountedThompson": [("DiscountedThompson", {"gamma": 0.95}), ("DiscountedThompson", {"gamma": 0.99})],
    "Monitored": [
        ("Monitored_IndexPolicy", {"horizon": 0, "w": 20}),
        ("Monitored_IndexPolicy", {"horizon": 0, "w": 80}),
    ],
    "AdSwitch": [("AdSwitch", {"horizon": 0})],
    "Exp3S": [("Exp3S", {"horizon": 0, "max_nb_random_events": 10})],
    "GLR": [("BernoulliGLR_IndexPolicy", {"horizon": 0}), ("GaussianGLR_IndexPolicy", {"horizon": 0})],
}
OURS = (LIBRARY, FORGETFUL, "arm-library")


def rivals(clone: str) -> Any:
    """Return the package's policies."""
    if clone:
        sys.path.insert(0, clone)
    vars(scipy.special).setdefault("btdtri", scipy.special.betaincinv)  # its old name
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("SMPyBandits.Policies")


def made(of: Any, name: str, arms: int, rounds: int, values: dict[str, Any]) -> Any:
    """Return a policy of the package."""
    told = {"horizon": rounds} if "horizon" in values else {}
    return getattr(of, name)(arms, **{**values, **told})


def earned(policy: Any, rewards: np.ndarray, seed: int) -> float:
    """Return the mean reward of a policy of the package, which is given rewards on [0, 1]."""
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    low, high = rewards.min(), rewards.max()
    unit = (rewards - low) / (high - low)
    policy.startGame()
    total = 0.0
    for now, row in zip(unit, rewards, strict=True):
        arm = int(policy.choice())
        policy.getReward(arm, float(now[arm]))
        total += float(row[arm])
    return total / len(rewards)


def main() -> None:
    """Print a row for every trace with regimes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get(traces.VARIABLE, ""))
    parser.add_argument("--smpybandits", default="", help="a clone, if the package is not installed")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--rounds", type=int, default=1_000, help="the first rounds of every trace, which all policies play"
    )
    given = parser.parse_args()
    os.environ[traces.VARIABLE] = given.data
    try:
        of, found = rivals(given.smpybandits), traces.load()
    except ModuleNotFoundError as reason:
        sys.exit(f"{reason}: `pip install SMPyBandits`, or name a clone: --smpybandits CLONE")
    except InvalidValueError as reason:
        sys.exit(str(reason))
    print(
        "| trace, rounds | best single arm |",
        " | ".join((*OURS, *RIVALS)),
        "|\n" + "|---" * (2 + len(OURS) + len(RIVALS)) + "|",
    )
    for trace in found:
        if traits(trace).kind != REGIMES or len(trace.rewards) > 1:
            continue
        rewards = trace.rewards[0, : given.rounds]
        rounds, arms = rewards.shape
        played = lb.simulate(lb.Replay(rewards), list(OURS), horizon=rounds, draws=1, repeats=given.seeds)
        best = rewards.max(axis=1).mean()
        cells = [best - played.regret[i].mean() / rounds for i in range(len(OURS))]
        for settings in RIVALS.values():
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tried = [
                    np.mean(
                        [earned(made(of, name, arms, rounds, values), rewards, seed) for seed in range(given.seeds)]
                    )
                    for name, values in settings
                ]
            cells.append(max(tried))
        shown = " | ".join(f"{cell:.4g}" for cell in (rewards.mean(axis=0).max(), *cells))
        print(f"| {trace.name}, {rounds:,} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
