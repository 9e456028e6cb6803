"""What policies earned on recorded rewards beside what could be had, and who is first."""

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from latentbandits.policies.groups import LIBRARY
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments.real.statistics import Span, by_step, over_time, switching

SWITCHES = (1, 10, 100)
MAIN = 100  # the switches that shares are of, where nothing else is said


class Bounds(NamedTuple):
    """Mean rewards that could be had in hindsight: by the best single arm, with some switches, and with the best arm of every round."""

    arm: str
    single: float
    switching: dict[int, float]
    best: float


class Played(NamedTuple):
    """What was earned on a record, or on several at the same time.

    Attributes
    ----------
    bounds : what could be had, the mean of all records
    single : array (records, steps), the mean reward of a round of the best single arm, step by step
    curves : per policy, the same in arrays (runs, steps), or (records, steps) where there are several records
    """

    bounds: Bounds
    single: np.ndarray
    curves: dict[str, np.ndarray]

    @classmethod
    def of(cls, rows: pd.DataFrame, rewards: np.ndarray, arms: tuple[str, ...], edges: np.ndarray) -> "Played":
        """Return what rows of results mean for rewards (records, rounds, arms) in steps that begin at some rounds."""
        records, rounds, _ = rewards.shape
        best = rewards.mean(axis=1).argmax(axis=1)
        totals = np.mean([switching(record, max(SWITCHES)) for record in rewards], axis=0) / rounds
        arm = arms[best[0]] if records == 1 else "each user's own"
        reachable = by_step(rewards.max(axis=2), edges)
        bounds = Bounds(arm, float(totals[0]), {k: float(totals[k]) for k in SWITCHES}, float(reachable.mean()))
        single = by_step(rewards[np.arange(records), :, best], edges)
        scale = (len(edges) - 1) / rounds
        curves = {}
        for policy, part in rows.groupby("policy", sort=False):
            regret = np.stack(list(part["regret_curve"])).astype(float) * scale
            earned = reachable[part["draw"].to_numpy() % records] - regret
            among = part["draw"].to_numpy()
            curves[str(policy)] = (
                earned if records == 1 else np.stack([earned[among == one].mean(axis=0) for one in np.unique(among)])
            )
        return cls(bounds, single, curves)


def summarise(played: Mapping[str, Played]) -> pd.DataFrame:
    """Return one line per dataset and policy: mean reward, its intervals over seeds and over time, and shares of the attainable gain.

    The interval of a share is that of the reward beyond the best single arm in the same rounds.
    """
    lines = []
    for name, one in played.items():
        hindsight = one.bounds
        attainable = hindsight.switching[MAIN] - hindsight.single
        for policy, values in one.curves.items():
            _, low, high = interval(values.mean(axis=1))
            time, gained = over_time(values), over_time(values - one.single[: len(values)])
            line = {"dataset": name, "policy": policy, "reward": time.mean, "seed_low": low, "seed_high": high}
            line |= {"low": time.low, "high": time.high, "best_arm": hindsight.single}
            for k, reward in hindsight.switching.items():
                line |= {f"switches_{k}": reward, f"share_{k}": share(gained.mean, reward - hindsight.single)}
            line |= {"share_low": share(gained.low, attainable), "share_high": share(gained.high, attainable)}
            lines.append(line | {"best_per_round": hindsight.best})
    return pd.DataFrame(lines)


def share(gained: float, attainable: float) -> float:
    """Return what was gained as a share of what could be, NaN if nothing could."""
    return gained / attainable if attainable > 0 else float("nan")


def rank(
    played: Mapping[str, Played],
    level: float,
    resamples: int,
    apart: Container[str] = (),
    twins: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return one line per dataset: the winner, StateLibrary's rank and its reward less the winner's (or the next one's), with intervals.

    The winner is picked in hindsight among all policies but those that stand apart. For each twin, the reward less its own is added,
    by name.
    """
    lines = []
    for name, one in played.items():
        values = one.curves
        order = sorted((policy for policy in values if policy not in apart), key=lambda policy: -values[policy].mean())
        other = next(policy for policy in order if policy != LIBRARY)
        hindsight = one.bounds
        ahead = over_time(values[LIBRARY] - values[other], level, resamples)
        gained = over_time(values[LIBRARY] - one.single[: len(values[LIBRARY])], level, resamples)
        line = {"dataset": name, "winner": order[0], "winner_reward": values[order[0]].mean()}
        line |= {
            "reward": values[LIBRARY].mean(),
            "rank": order.index(LIBRARY) + 1,
            "policies": len(order),
            "other": other,
        }
        line |= _columns("difference", ahead) | {"best_arm": hindsight.arm, "best_arm_reward": hindsight.single}
        line |= _columns("gain", gained) | {f"switches_{MAIN}": hindsight.switching[MAIN]}
        for lacking, twin in twins.items():
            line |= _columns(lacking, over_time(values[LIBRARY] - values[twin], level, resamples))
        lines.append(line)
    return pd.DataFrame(lines)


def _columns(name: str, span: Span) -> dict[str, float]:
    return {name: span.mean, f"{name}_low": span.low, f"{name}_high": span.high}
