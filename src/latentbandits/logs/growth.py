"""How many states: models with one state more each, from several beginnings, until that is no longer worth it."""

import numpy as np

from latentbandits.logs import em
from latentbandits.logs.em import Tick, no_tick
from latentbandits.logs.model import Model
from latentbandits.logs.series import Series

WINDOWS = (8, 25, 80)  # rows whose means begin a fit: regimes shorter and longer
FIRST_STEPS, LAST_STEPS, FINALISTS = 10, 150, 2
TOLERANCE = 0.2  # nats: less in a step ends a fit
MOST_STATES = 16
# Gains shrink from state to state: from the fourth on, a rival this many gains ahead will not be reached
HOPEFUL, HOPE = 4, 8.0
WORSE = 2  # models that are worse one after the other end the search


def bic_score(series: Series, model: Model) -> float:
    """Return the log-likelihood beyond that of a log in which nothing changes, penalised for the numbers fitted (BIC, in nats)."""
    constant_params = series.width + (0 if series.binary else 1)
    gain = model.log_lik - em.constant_log_lik(series)
    return float(gain - 0.5 * (model.num_params - constant_params) * np.log(series.rows))


def select_num_states(
    series: Series,
    seed: int = 0,
    tick: Tick = no_tick,
    most: int = MOST_STATES,
    rival: float = -np.inf,
    ar_coef: float = 0.0,
) -> list[Model]:
    """Return the best models with two, three and more states, until the score has fallen twice or will not reach a rival's any more.

    Where a `ar_coef` is given, the noise has one, and that is where it begins.
    """
    random = np.random.default_rng(seed)
    windows = [window_means(series, width) for width in WINDOWS if series.rows >= 20 * width]
    models: list[Model] = []
    best, worse = -np.inf, 0
    for states in range(2, most + 1):
        starts = [init_kmeans(series, window, states, random) for window in windows]
        starts.append(init_split(series, models[-1] if models else init_single_state(series), random))
        starts.append(init_random(series, states, random))
        if ar_coef:
            starts = [em.to_autoregressive(model, ar_coef) for model in starts]
        candidates = [em.fit_em(series, model, FIRST_STEPS, tick=tick) for model in starts]
        candidates.sort(key=lambda model: -model.objective)
        free = max(
            (em.fit_em(series, model, LAST_STEPS, TOLERANCE, tick=tick) for model in candidates[:FINALISTS]),
            key=lambda model: model.objective,
        )
        # one number for the chain is often enough, and leaves more for the states
        tied = em.fit_em(series, em.tie_states(free), LAST_STEPS, TOLERANCE, tick=tick)
        model = max((tied, free), key=lambda model: bic_score(series, model))
        models.append(model)
        current = bic_score(series, model)
        improvement = current - best
        worse = 0 if current > best else worse + 1
        best = max(best, current)
        if worse == WORSE or (states >= HOPEFUL and current + HOPE * max(improvement, 0.0) < rival):
            break
    return models


def init_single_state(series: Series) -> Model:
    """Return the model with one state."""
    return em.init_model(series, series.centres[None, :], dwell=100.0)


def window_means(series: Series, width: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the mean of every arm in every window of rows, how many rows each is of, and the width of a window."""
    window = np.arange(series.rows) // width
    cells = window * series.width + series.arms
    size = (int(window[-1]) + 1) * series.width
    tried = np.bincount(cells, minlength=size).reshape(-1, series.width).astype(float)
    sums = np.bincount(cells, series.values, minlength=size).reshape(-1, series.width)
    return np.where(tried > 0, sums / np.maximum(tried, 1), series.centres), tried, width


def init_kmeans(
    series: Series, window: tuple[np.ndarray, np.ndarray, int], states: int, random: np.random.Generator
) -> Model:
    """Return a model that begins with clusters of windows (k-means, in which an arm that a window never tried has no say)."""
    means, tried, width = window
    count = len(means)
    if count > 4000:
        kept = np.sort(random.choice(count, 4000, replace=False))
        means, tried = means[kept], tried[kept]
    distances = np.full(len(means), np.inf)
    centres = [means[random.integers(len(means))]]
    for _ in range(states - 1):  # k-means++
        distances = np.minimum(distances, (tried * (means - centres[-1]) ** 2).sum(axis=1))
        norm = distances.sum()
        centres.append(
            means[random.choice(len(means), p=distances / norm) if norm > 0 else random.integers(len(means))]
        )
    centroids = np.array(centres)
    label = np.zeros(len(means), np.int64)
    for _ in range(12):
        distance = np.stack([(tried * (means - centre) ** 2).sum(axis=1) for centre in centroids])
        label = distance.argmin(axis=0)
        for state in range(states):
            members = label == state
            weight = tried[members].sum(axis=0)
            centroids[state] = np.where(
                weight > 0, (tried[members] * means[members]).sum(axis=0) / np.maximum(weight, 1e-9), series.centres
            )
    shares = np.bincount(label, minlength=states) / len(label)
    runs = 1 + int((np.diff(label) != 0).sum())
    return em.init_model(series, centroids, dwell=width * len(label) / runs, shares=shares)


def init_split(series: Series, model: Model, random: np.random.Generator) -> Model:
    """Return a model with one state more: that with the most rows, or another at random, becomes two."""
    weight = model.tried.sum(axis=1)
    state = int(random.choice(model.num_states, p=weight / weight.sum()))
    step = 0.5 * series.spreads * random.choice((-1.0, 1.0), series.width)
    if series.binary:
        step = 0.5 * np.minimum(model.means[state], 1 - model.means[state]) * random.choice((-1.0, 1.0), series.width)
    means = np.vstack([model.means, model.means[state] + step])
    means[state] -= step
    entry_prob = np.append(model.entry_prob, model.entry_prob[state] / 2)
    entry_prob[state] /= 2
    init = em.init_model(series, means, dwell=100.0)
    exit_prob = np.append(model.exit_prob, model.exit_prob[state])
    return init._replace(exit_prob=exit_prob, entry_prob=entry_prob, noise=np.append(model.noise, model.noise[state]))


def init_random(series: Series, states: int, random: np.random.Generator) -> Model:
    """Return a model that begins with means scattered around those of the arms."""
    means = series.centres + series.spreads * random.standard_normal((states, series.width))
    return em.init_model(series, means, dwell=30.0)
