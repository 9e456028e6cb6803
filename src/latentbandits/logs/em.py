"""Fitting a hidden Markov model by expectation and maximisation, and selecting how many states it has."""

from collections.abc import Callable

import numpy as np

from latentbandits.logs import emissions, hmm
from latentbandits.logs.hmm import AUTOREGRESSIVE, BINARY, MIXTURE, NORMAL, Expectations, Model
from latentbandits.logs.series import Series

Tick = Callable[[int], None]  # called with the cells (rows times states) of every pass


def no_tick(cells: int) -> None:
    """Report nothing."""


def e_step(series: Series, model: Model) -> Expectations:
    """Return what a pass over the log expects of the chain (the E step)."""
    log_lik = emissions.log_likelihoods(series, model)
    return hmm.forward_backward(log_lik, series.gaps, model.exit_prob, model.entry_prob)


def fit_em(
    series: Series,
    model: Model,
    steps: int,
    tolerance: float = 0.01,
    *,
    fixed_chain: bool = False,
    tick: Tick = no_tick,
) -> Model:
    """Return a model after a number of steps, fewer if the objective rises by less than `tolerance` nats; it holds its likelihood.

    With `fixed_chain` the chain stays as it is. `tick` is called with the work of every pass.
    """
    previous = -np.inf
    for step in range(steps + 1):
        expected = e_step(series, model)
        tick(series.rows * model.num_states)
        log_prior = emissions.log_prior(series, model) + hmm.log_prior(model.exit_prob, model.entry_prob, model.tied)
        model = model._replace(log_lik=expected.log_lik, objective=expected.log_lik + log_prior)
        if step == steps or model.objective - previous < tolerance:
            break
        previous = model.objective
        updated = emissions.m_step(series, model, expected.state_probs)
        if not fixed_chain:
            exit_prob, entry_prob = hmm.m_step(expected, model.tied)
            updated = updated._replace(exit_prob=exit_prob, entry_prob=entry_prob)
        model = updated
    return model


def constant_log_lik(series: Series) -> float:
    """Return the log-likelihood of the rows if nothing ever changes."""
    if series.binary:
        share = series.shares
        return float((series.values * np.log(share) + (1 - series.values) * np.log(1 - share)).sum())
    centres = series.centres[series.arms]
    return profile_log_lik(series.rows, float(((series.values - centres) ** 2).sum()))


def profile_log_lik(rows: int, squares: float) -> float:
    """Return the log-likelihood of rows around their fitted means whose squares add up to a number, with the best noise."""
    return float(-0.5 * rows * (np.log(2 * np.pi * max(squares, 1e-300) / rows) + 1))


def penalise(series: Series, gain: float, num_params: int) -> float:
    """Return a gain, penalised for the numbers that were fitted (BIC, in nats)."""
    return float(gain - 0.5 * num_params * np.log(series.rows))


def init_model(series: Series, means: np.ndarray, dwell: float, shares: np.ndarray | None = None) -> Model:
    """Return a model to begin with: means of states, how long they last, and the share of their entries."""
    states = len(means)
    entry_prob = np.full(states, 1 / states) if shares is None else (shares + 0.02) / (shares + 0.02).sum()
    exit_prob = np.full(states, min(max(1 / max(dwell, 1.0), 1 / series.rows), 0.15))
    family = BINARY if series.binary else NORMAL
    noise = 0.0 if series.binary else float(np.sqrt(np.mean((series.values - series.centres[series.arms]) ** 2)))
    if series.binary:
        means = np.clip(means, 1e-4, 1 - 1e-4)
    noises = np.full(states, max(noise * 0.7, 0.02))
    return Model(family, np.array(means), exit_prob, entry_prob, noises, np.zeros((0, 3)), np.ones_like(means))


def to_mixture(model: Model) -> Model:
    """Return the same model with a shape that is refitted from here: a normal component, a wide one and one to either side."""
    width = float(model.noise.mean())
    components = np.array([[0.7, 0.0, 0.8 * width], [0.2, 0.3 * width, 1.5 * width], [0.1, -0.3 * width, 3.0 * width]])
    return model._replace(family=MIXTURE, components=components)


def to_autoregressive(model: Model, ar_coef: float) -> Model:
    """Return the same model with noise that has a memory."""
    return model._replace(family=AUTOREGRESSIVE, ar_coef=ar_coef, noise=model.noise * np.sqrt(1 - ar_coef**2))


def tie_states(model: Model) -> Model:
    """Return the same model with states that last equally long and are entered equally often."""
    weight = model.tried.sum(axis=1)
    exit_prob = float((weight * model.exit_prob).sum() / weight.sum())
    count = model.num_states
    return model._replace(exit_prob=np.full(count, exit_prob), entry_prob=np.full(count, 1 / count), tied=True)


WINDOWS = (8, 25, 80)  # rows whose means begin a fit: regimes shorter and longer
FIRST_STEPS, LAST_STEPS, FINALISTS = 10, 150, 2
TOLERANCE = 0.2  # nats: less in a step ends a fit
MOST_STATES = 16
# Gains shrink from state to state: from the fourth on, a rival this many gains ahead will not be reached
HOPEFUL, HOPE = 4, 8.0
WORSE = 2  # models that are worse one after the other end the search


def beyond_constant(series: Series, model: Model) -> tuple[float, int]:
    """Return the log-likelihood beyond that of a log in which nothing changes, and the numbers fitted beyond those of such a log."""
    return model.log_lik - constant_log_lik(series), model.num_params - series.width - (not series.binary)


def bic_score(series: Series, model: Model) -> float:
    """Return the gain of a model over a log in which nothing changes, penalised for the numbers fitted."""
    return penalise(series, *beyond_constant(series, model))


def select_num_states(
    series: Series, seed: int = 0, tick: Tick = no_tick, rival: float = -np.inf, ar_coef: float = 0.0
) -> list[Model]:
    """Return the best models with two, three and more states, until the score has fallen twice or will not reach a rival's any more.

    Where a `ar_coef` is given, the noise has one, and that is where it begins.
    """
    random = np.random.default_rng(seed)
    windows = [window_means(series, width) for width in WINDOWS if series.rows >= 20 * width]
    models: list[Model] = []
    best, worse = -np.inf, 0
    for states in range(2, MOST_STATES + 1):
        starts = [init_kmeans(series, window, states, random) for window in windows]
        smaller = models[-1] if models else init_model(series, series.centres[None, :], dwell=100.0)
        starts.append(init_split(series, smaller, random))
        scattered = series.centres + series.spreads * random.standard_normal((states, series.width))
        starts.append(init_model(series, scattered, dwell=30.0))
        if ar_coef:
            starts = [to_autoregressive(model, ar_coef) for model in starts]
        candidates = [fit_em(series, model, FIRST_STEPS, tick=tick) for model in starts]
        candidates.sort(key=lambda model: -model.objective)
        free = max(
            (fit_em(series, model, LAST_STEPS, TOLERANCE, tick=tick) for model in candidates[:FINALISTS]),
            key=lambda model: model.objective,
        )
        # one number for the chain is often enough, and leaves more for the states
        tied = fit_em(series, tie_states(free), LAST_STEPS, TOLERANCE, tick=tick)
        model = max((tied, free), key=lambda model: bic_score(series, model))
        models.append(model)
        current = bic_score(series, model)
        improvement = current - best
        worse = 0 if current > best else worse + 1
        best = max(best, current)
        if worse == WORSE or (states >= HOPEFUL and current + HOPE * max(improvement, 0.0) < rival):
            break
    return models


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
    return init_model(series, centroids, dwell=width * len(label) / runs, shares=shares)


def init_split(series: Series, model: Model, random: np.random.Generator) -> Model:
    """Return a model with one state more: one at random, those with many rows more often, becomes two."""
    weight = model.tried.sum(axis=1)
    state = int(random.choice(model.num_states, p=weight / weight.sum()))
    step = 0.5 * series.spreads * random.choice((-1.0, 1.0), series.width)
    if series.binary:
        step = 0.5 * np.minimum(model.means[state], 1 - model.means[state]) * random.choice((-1.0, 1.0), series.width)
    means = np.vstack([model.means, model.means[state] + step])
    means[state] -= step
    entry_prob = np.append(model.entry_prob, model.entry_prob[state] / 2)
    entry_prob[state] /= 2
    init = init_model(series, means, dwell=100.0)
    exit_prob = np.append(model.exit_prob, model.exit_prob[state])
    return init._replace(exit_prob=exit_prob, entry_prob=entry_prob, noise=np.append(model.noise, model.noise[state]))
