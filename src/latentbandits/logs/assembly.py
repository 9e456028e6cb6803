"""Putting a diagnosis together: the table of states and arms, and the worlds that explanations stand for."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from latentbandits.logs import posterior
from latentbandits.logs.changes import Stretches
from latentbandits.logs.diagnosis import Diagnosis
from latentbandits.logs.explanations import (
    AUTOCORRELATION,
    CALENDAR,
    CHANGES,
    DRIFT,
    LOUDNESS,
    NOTHING,
    REGIMES,
)
from latentbandits.logs.levels import Wandering
from latentbandits.logs.log import Log
from latentbandits.logs.model import SHAPED, Model
from latentbandits.logs.posterior import Samples
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import BINARY, NORMAL, FittedChanges, FittedDrift, FittedRegimes, FittedWorld

Z = 1.959964


def assembled(found: Diagnosis, parts: Mapping[str, Any]) -> Diagnosis:
    """Return a diagnosis with the table of its states and the worlds that its explanations stand for."""
    means = found.means_sampled if found.fit is not None else None
    worlds = fitted_worlds(found.series, found.fit, found.samples, means, parts)
    table = found.table
    if found.regimes and found.model is not None and found.samples is not None and means is not None:
        table = state_table(found.log, found.model, found.samples, means)
    return dataclasses.replace(found, table=table, worlds=worlds)


def state_table(log: Log, model: Model, samples: Samples, means: np.ndarray) -> pd.DataFrame:
    """Return a row per state and arm; `means` are the sampled means in the unit of rewards."""
    low, high = posterior.interval(means)
    dwell_low, dwell_high = posterior.interval(samples.dwell)
    rows = []
    for state in range(model.states):
        for arm, name in enumerate(log.arms):
            rows.append(
                {
                    "state": state,
                    "share": float(model.shares[state]),
                    "dwell": float(model.dwell[state]),
                    "dwell_low": float(dwell_low[state]),
                    "dwell_high": float(dwell_high[state]),
                    "arm": name,
                    "mean": float(model.means[state, arm]),
                    "low": float(low[state, arm]),
                    "high": float(high[state, arm]),
                    "tried": float(model.tried[state, arm]),
                }
            )
    return pd.DataFrame(rows)


def arm_table(log: Log) -> pd.DataFrame:
    """Return a row per arm, of a log without regimes."""
    rows = []
    for arm, name in enumerate(log.arms):
        own = log.rewards[log.played == arm]
        half = Z * float(own.std(ddof=1)) / np.sqrt(len(own)) if len(own) > 1 else np.inf
        mean = float(own.mean())
        rows.append({"arm": name, "mean": mean, "low": mean - half, "high": mean + half, "tried": float(len(own))})
    return pd.DataFrame(rows)


def fitted_worlds(
    series: Series, fit: Model | None, samples: Samples | None, means: np.ndarray | None, parts: Mapping[str, Any]
) -> dict[str, FittedWorld]:
    """Return the world of every kind of explanation; what does not change which arm is best is one in which nothing changes."""
    rewards = BINARY if series.binary else NORMAL
    centres, tried = series.centres * series.noise, np.maximum(series.tried, 1)
    spreads = series.spreads * series.noise
    blank = np.zeros((0, 3))
    random = np.random.default_rng(0)
    single = centres + random.standard_normal((200, 1, series.width)) * (spreads / np.sqrt(tried))
    if series.binary:
        single = np.clip(single, 1e-6, 1 - 1e-6)
    ones = np.ones((200, 1))
    still = FittedRegimes(spreads, rewards, blank, means=single, leave=1e-9 * ones, enter=ones)
    found: dict[str, FittedWorld] = {}
    if fit is not None and samples is not None and means is not None:
        shape = fit.shape if fit.family == SHAPED else blank
        noise = np.ones(series.width) if series.binary else series.noise * float((fit.spread * fit.shares).sum())
        found[REGIMES] = FittedRegimes(
            noise, rewards, shape, memory=fit.memory, means=means, leave=samples.leave, enter=samples.enter
        )
    drift: Wandering | None = parts.get(DRIFT)
    if drift is not None:
        # the noise that is left when the level is taken out of the spread
        left = spreads / np.sqrt(1 + drift.size**2)
        found[DRIFT] = FittedDrift(left, rewards, blank, centres=centres, sizes=left * drift.size, time=drift.time)
    cut: Stretches | None = parts.get(CHANGES)
    if cut is not None and len(cut.ends) > 2:
        found[CHANGES] = _changes(series, cut, centres, rewards, blank)
    return found | dict.fromkeys((CALENDAR, AUTOCORRELATION, LOUDNESS, NOTHING), still)


def _changes(series: Series, cut: Stretches, centres: np.ndarray, rewards: str, blank: np.ndarray) -> FittedChanges:
    """Return a world that changes as often and as much as the stretches of a log do."""
    noise = np.ones(series.width) if series.binary else series.noise * cut.noise
    time = float(cut.ends[-1]) / max(len(cut.ends) - 2, 1)
    return FittedChanges(noise, rewards, blank, centres=centres, sizes=cut.sizes * series.noise, time=time)
