"""Putting a diagnosis together: the table of states and arms, and the worlds that hypotheses stand for."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from latentbandits.logs import posterior
from latentbandits.logs.changes import Segments
from latentbandits.logs.diagnosis import Diagnosis
from latentbandits.logs.hypotheses import (
    AUTOCORRELATION,
    CALENDAR,
    CHANGES,
    DRIFT,
    NOTHING,
    REGIMES,
    VOLATILITY,
)
from latentbandits.logs.levels import LevelFit
from latentbandits.logs.log import Log
from latentbandits.logs.model import MIXTURE, Model
from latentbandits.logs.posterior import Samples
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import BINARY, NORMAL, FittedChanges, FittedDrift, FittedRegimes, FittedWorld

Z = 1.959964


def assemble(diagnosis: Diagnosis, parts: Mapping[str, Any]) -> Diagnosis:
    """Return a diagnosis with the table of its states and the worlds that its hypotheses stand for."""
    means = diagnosis.means_sampled if diagnosis.fit is not None else None
    worlds = fit_worlds(diagnosis.series, diagnosis.fit, diagnosis.samples, means, parts)
    table = diagnosis.table
    if diagnosis.regimes and diagnosis.model is not None and diagnosis.samples is not None and means is not None:
        table = state_table(diagnosis.log, diagnosis.model, diagnosis.samples, means)
    return dataclasses.replace(diagnosis, table=table, worlds=worlds)


def state_table(log: Log, model: Model, samples: Samples, means: np.ndarray) -> pd.DataFrame:
    """Return a row per state and arm; `means` are the sampled means in the unit of rewards."""
    low, high = posterior.credible_interval(means)
    dwell_low, dwell_high = posterior.credible_interval(samples.dwell)
    rows = []
    for state in range(model.num_states):
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


def fit_worlds(
    series: Series, fit: Model | None, samples: Samples | None, means: np.ndarray | None, parts: Mapping[str, Any]
) -> dict[str, FittedWorld]:
    """Return the world of every kind of hypothesis; what does not change which arm is best is one in which nothing changes."""
    rewards = BINARY if series.binary else NORMAL
    centres, tried = series.centres * series.noise, np.maximum(series.tried, 1)
    spreads = series.spreads * series.noise
    blank = np.zeros((0, 3))
    random = np.random.default_rng(0)
    single = centres + random.standard_normal((200, 1, series.width)) * (spreads / np.sqrt(tried))
    if series.binary:
        single = np.clip(single, 1e-6, 1 - 1e-6)
    ones = np.ones((200, 1))
    still = FittedRegimes(spreads, rewards, blank, means=single, exit_prob=1e-9 * ones, entry_prob=ones)
    worlds: dict[str, FittedWorld] = {}
    if fit is not None and samples is not None and means is not None:
        components = fit.components if fit.family == MIXTURE else blank
        noise = np.ones(series.width) if series.binary else series.noise * float((fit.spread * fit.shares).sum())
        worlds[REGIMES] = FittedRegimes(
            noise,
            rewards,
            components,
            ar_coef=fit.ar_coef,
            means=means,
            exit_prob=samples.exit_prob,
            entry_prob=samples.entry_prob,
        )
    drift: LevelFit | None = parts.get(DRIFT)
    if drift is not None:
        # the noise that is left when the level is taken out of the spread
        left = spreads / np.sqrt(1 + drift.size**2)
        worlds[DRIFT] = FittedDrift(left, rewards, blank, centres=centres, sizes=left * drift.size, time=drift.time)
    cut: Segments | None = parts.get(CHANGES)
    if cut is not None and len(cut.ends) > 2:
        worlds[CHANGES] = _changes(series, cut, centres, rewards, blank)
    return worlds | dict.fromkeys((CALENDAR, AUTOCORRELATION, VOLATILITY, NOTHING), still)


def _changes(series: Series, cut: Segments, centres: np.ndarray, rewards: str, blank: np.ndarray) -> FittedChanges:
    """Return a world that changes as often and as much as the stretches of a log do."""
    noise = np.ones(series.width) if series.binary else series.noise * cut.noise
    time = float(cut.ends[-1]) / max(len(cut.ends) - 2, 1)
    return FittedChanges(noise, rewards, blank, centres=centres, sizes=cut.sizes * series.noise, time=time)
