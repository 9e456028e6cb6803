"""Regimes, a chain of hidden states that return, and volatility, a chain whose states differ in noise alone."""

from typing import NamedTuple

import numpy as np

from latentbandits.logs import em, emissions
from latentbandits.logs.em import Tick, no_tick
from latentbandits.logs.hmm import HETEROSCEDASTIC, MIXTURE, NOISE_ONLY, NORMAL, Model
from latentbandits.logs.hypothesis import Hypothesis, Kind
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import FittedRegimes

REGIMES, VOLATILITY = "regimes", "volatility"
KINDS = (
    Kind(
        VOLATILITY,
        "only the volatility changes",
        "Only the noise changes, volatile and calm; what the arms pay does not",
    ),
    Kind(REGIMES, "regimes", "There are regimes"),
)
OF_SHAPE = 0.1  # of what the shape gains: subtracted once more, since it is not known exactly
# A fit with more than half its time in states that last fewer rounds than this is noise: no policy could follow them
BRIEF, MOST_BRIEF = 10.0, 0.5
AUTOCORRELATED = 0.05  # correlation of what a fit leaves of successive rows, from which on its noise may have a memory
HOPELESS = 100.0  # nats behind, and by half: no shape makes up for that
HELD_STEPS, SHAPE_STEPS = 40, 80


class Regimes(NamedTuple):
    """The best chain of states, and those with other numbers of states.

    Attributes
    ----------
    model : the best one
    offsets : array (rows,), what the calendar adds, zeros without one
    scores : number of states -> score, for the family of the best one
    """

    model: Model
    offsets: np.ndarray
    scores: dict[int, float]


def fit_regimes(series: Series, seed: int = 0, tick: Tick = no_tick, rival: float = -np.inf) -> list[Hypothesis]:
    """Return regimes as a hypothesis, with the family and the number of states that score best; nothing if all fits are noise.

    What cannot reach the score of a rival any more is not tried.
    """
    models = em.select_num_states(series, seed, tick, rival=rival)
    families = [models]
    if not series.binary:
        score, top = max((em.bic_score(series, model), model.num_states) for model in models)
        kept = [model for model in models if model.num_states in {2, 3, 4, *range(top - 1, top + 1)}]
        if rival - score <= max(HOPELESS, 0.5 * rival):
            mixtures = [em.to_mixture(model) for model in kept]
            heteroscedastic = [model._replace(family=HETEROSCEDASTIC) for model in kept]
            for starts in (mixtures, heteroscedastic):
                families += [[em.fit_em(series, model, SHAPE_STEPS, 0.3, tick=tick) for model in starts]]
    hypotheses = []
    for family in families:
        scores = {model.num_states: em.bic_score(series, model) for model in family}
        model = max(family, key=lambda model: scores[model.num_states])
        shape_gain = shuffled_gain(series, model, seed, tick)
        regimes = Regimes(model.sort_states(), np.zeros(series.rows), scores)
        hypotheses.append(_from_model(REGIMES, series, model, shape_gain)._replace(detail=regimes))
    best = max(hypotheses, key=lambda h: h.score - OF_SHAPE * h.shape_gain)
    model = best.fitted(Regimes).model
    if is_brief(model):
        return []
    if series.binary:
        return [best._replace(clipped_score=best.score + best.shape_gain)]
    clipped = series.clip_outliers()
    plain = em.fit_em(clipped, model._replace(family=NORMAL), SHAPE_STEPS, 0.3, tick=tick)
    return [best._replace(clipped_score=em.bic_score(clipped, plain))]


def fit_volatility(series: Series, seed: int = 0, tick: Tick = no_tick) -> Hypothesis:
    """Return the best chain whose states differ in noise alone."""
    models = []
    for factors in ((0.6, 1.6), (0.4, 1.0, 2.5)):
        means = np.repeat(series.centres[None, :], len(factors), axis=0)
        init = em.init_model(series, means, dwell=50.0)
        init = init._replace(family=NOISE_ONLY, noise=init.noise / 0.7 * np.array(factors))
        models.append(em.fit_em(series, init, 150, tick=tick))
    pairs = [(model, shuffled_gain(series, model, seed, tick)) for model in models]
    model, shape_gain = max(pairs, key=lambda pair: em.bic_score(series, pair[0]) - (1 + OF_SHAPE) * pair[1])
    return _from_model(VOLATILITY, series, model, shape_gain)


def _from_model(kind: str, series: Series, model: Model, shape_gain: float) -> Hypothesis:
    gain, num_params = em.beyond_constant(series, model)
    return Hypothesis(kind, False, gain, num_params, em.bic_score(series, model) - shape_gain, shape_gain)


def refit_autoregressive(series: Series, regimes: Regimes, seed: int = 0, tick: Tick = no_tick) -> Regimes:
    """Return regimes with autoregressive noise, if that is worth its number; the same ones if not.

    For a log that has regimes whatever the noise remembers: heavy tails with a memory look like regimes with a memory.
    """
    model = regimes.model
    correlation = emissions.residual_autocorrelation(series, expected_means(series, model))
    if series.binary or correlation < AUTOCORRELATED or series.width > emissions.MOST_ARMS:
        return regimes
    models = em.select_num_states(series, seed, tick, ar_coef=correlation)
    scores = {model.num_states: em.bic_score(series, model) for model in models}
    best = max(models, key=lambda model: scores[model.num_states])
    if scores[best.num_states] <= em.bic_score(series, model) or is_brief(best):
        return regimes
    return Regimes(best, regimes.offsets, scores)


def regimes_world(series: Series, model: Model, samples: Model, means: np.ndarray, noise: np.ndarray) -> FittedRegimes:
    """Return a world that is as the log was; every draw is one of the models that the log leaves open.

    `means` (samples, states, arms) and `noise` (arms,) are in the unit of rewards.
    """
    return FittedRegimes(
        noise=np.ones(series.width) if series.binary else noise,
        binary=series.binary,
        components=model.components if model.family == MIXTURE else np.zeros((0, 3)),
        ar_coef=model.ar_coef,
        means=means,
        exit_prob=samples.exit_prob,
        entry_prob=samples.entry_prob,
    )


def expected_means(series: Series, model: Model) -> np.ndarray:
    """Return the mean of every row, over its states."""
    return np.asarray((em.e_step(series, model).state_probs * model.means[:, series.arms].T).sum(axis=1))


def is_brief(model: Model) -> bool:
    """Return whether most of the time is spent in states that last a few rounds only."""
    weight = model.tried.sum(axis=1)
    return float(weight[model.dwell < BRIEF].sum()) > MOST_BRIEF * float(weight.sum())


def shuffled_gain(series: Series, model: Model, seed: int = 0, tick: Tick = no_tick) -> float:
    """Return what the fitted chain gains on rewards shuffled within their arms: only a better shape, since nothing lasts there."""
    random = np.random.default_rng([seed, 1])
    values = series.values.copy()
    for arm in range(series.width):
        rows = np.flatnonzero(series.arms == arm)
        values[rows] = values[random.permutation(rows)]
    shuffled = series._replace(values=values)
    refitted = em.fit_em(shuffled, model, HELD_STEPS, 0.1, fixed_chain=True, tick=tick)
    return max(0.0, refitted.log_lik - em.constant_log_lik(series))
