"""Evidence: how probable the rewards were by simpler explanations than a library of states, each asked before it learned the reward.

No choice depends on it. The rivals are means that move at some pace: not at all, which is one state for ever, or as random walks, which is
drift; and the lag model. They are given the same rewards, noise, range and kinds of emissions as the library, so that whoever compares
them compares explanations and nothing else.
"""

import math

import numpy as np

from latentbandits.beliefs import Evidence as Compared
from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.correctors import lag as lag_model
from latentbandits.policies.state_library.emissions import (
    Emission,
    Outcome,
    add,
    likelihood,
    log_density,
    outlying,
    predictive,
)
from latentbandits.policies.state_library.memory import Evidence, Lag, Library, Standard
from latentbandits.protocols import Record


@kernel
def reset(evidence: Evidence, centre: float) -> None:
    """Forget all rewards and what they said."""
    core = evidence.core[0]
    core.rounds = 0
    core.lag = core.squares = 0.0
    for pace in range(len(constants.PACES)):
        evidence.walks[pace] = 0.0
        for arm in range(len(evidence.played)):
            evidence.played[arm] = 0
            mean = evidence.means[pace, arm]
            mean.average = centre
            mean.count = 0
            mean.share = mean.amount = 0.0


@kernel
def move(mean: Record, variance: float, prior: float) -> None:
    """Let a mean move: its variance grows by a variance, in that of the noise, but not above that of its prior.

    A Kalman filter that knows variances by the whole number n of rewards behind a mean: 1 / (n + w) <- 1 / (n + w) + variance
    """
    mean.count = int(max(1.0 / (1.0 / (mean.count + prior) + variance) - prior, 0.0) + 0.5)


@kernel
def weigh_walk(means: np.ndarray, emission: Emission, outcome: Outcome, best: Record) -> float:
    """Let means learn the rewards of a round, unless they are outliers; returns how probable they made them, as a logarithm."""
    height, exponent = predictive(emission, means, True, outcome)
    if emission.outliers and exponent > constants.OUTLIER_FROM:
        density, outlier = likelihood(height, exponent), outlying(emission, best, outcome.second)
        if outlier <= density:
            add(means, emission.groups, emission.gaussians, outcome)
        return log_density(emission, outcome, density + outlier)
    add(means, emission.groups, emission.gaussians, outcome)
    return log_density(emission, outcome, height) - min(exponent, constants.LARGEST_EXPONENT)


@kernel
def weigh_lag(evidence: Evidence, lag: Lag, spread: float, arm: int, reward: float) -> None:
    """Add how probable the lag model made a reward: normal(its expectation, mean squared error so far, with spread^2 as the first)."""
    core = evidence.core[0]
    error = reward - lag_model.expected(lag, arm)
    variance = (spread * spread + core.squares) / core.rounds
    core.lag -= 0.5 * (math.log(2.0 * math.pi * variance) + error * error / variance)
    core.squares += error * error


@kernel
def weigh(
    evidence: Evidence, library: Library, lag: Lag, standard: Standard, emission: Emission, outcome: Outcome
) -> None:
    """Ask all rivals how probable the rewards of the present round are, and let them learn these."""
    number, scale = library.core[0].now, standard.scale[0]
    evidence.core[0].rounds += 1
    if len(lag.levels[0]) > 0:
        weigh_lag(evidence, lag, scale.spread, outcome.first, outcome.reward)
        if outcome.second >= 0:
            weigh_lag(evidence, lag, scale.spread, outcome.second, outcome.other)
    prior = (standard.noise[0].sd / scale.spread) * (standard.noise[0].sd / scale.spread)
    best = library.particles[library.core[0].best]
    for pace in range(len(constants.PACES)):
        for arm in (outcome.first, outcome.second):
            if arm >= 0 and constants.PACES[pace] > 0.0 and number > evidence.played[arm]:
                rounds = number - evidence.played[arm]
                move(evidence.means[pace, arm], constants.PACES[pace] * rounds, prior)
        evidence.walks[pace] += weigh_walk(evidence.means[pace], emission, outcome, best)
    for arm in (outcome.first, outcome.second):
        if arm >= 0:
            evidence.played[arm] = max(evidence.played[arm], number)


def compare(evidence: Evidence, library: Library, lags: bool) -> Compared:
    """Return the log evidence per round of all explanations; drift is an average over paces, even before the first reward."""
    core = evidence.core[0]
    if core.rounds == 0:
        return Compared()
    walks, rounds = evidence.walks, int(core.rounds)
    drift = np.logaddexp.reduce(walks[1:]) - math.log(len(walks) - 1)
    return Compared(
        rounds=rounds,
        library=float(library.core[0].log_evidence) / rounds,
        one_state=float(walks[0]) / rounds,
        drift=float(drift) / rounds,
        lag=float(core.lag) / rounds if lags else math.nan,
    )
