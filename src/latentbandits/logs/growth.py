"""How many states: models with one state more each, from several beginnings, until that is no longer worth it."""

import numpy as np

from latentbandits.logs import em
from latentbandits.logs.em import Tick, silent
from latentbandits.logs.model import Model
from latentbandits.logs.series import Series

WINDOWS = (8, 25, 80)  # rows whose means begin a fit: regimes shorter and longer
FIRST_STEPS, LAST_STEPS, FINALISTS = 10, 150, 2
SETTLED = 0.2  # nats: less in a step ends a fit
MOST_STATES = 16
# Gains shrink from state to state: from the fourth on, a rival this many gains ahead will not be reached
HOPEFUL, HOPE = 4, 8.0
WORSE = 2  # models that are worse one after the other end the search


def score(series: Series, model: Model) -> float:
    """Return the log-likelihood beyond that of a log in which nothing changes, penalised for the numbers fitted (BIC, in nats)."""
    usual = series.width + (0 if series.binary else 1)
    gain = model.likelihood - em.constant(series)
    return float(gain - 0.5 * (model.parameters - usual) * np.log(series.rows))


def grown(
    series: Series,
    seed: int = 0,
    tick: Tick = silent,
    most: int = MOST_STATES,
    rival: float = -np.inf,
    memory: float = 0.0,
) -> list[Model]:
    """Return the best models with two, three and more states, until the score has fallen twice or will not reach a rival's any more.

    Where a `memory` is given, the noise has one, and that is where it begins.
    """
    random = np.random.default_rng(seed)
    windows = [averages(series, width) for width in WINDOWS if series.rows >= 20 * width]
    found: list[Model] = []
    best, worse = -np.inf, 0
    for states in range(2, most + 1):
        begun = [clustered(series, window, states, random) for window in windows]
        begun.append(split(series, found[-1] if found else one(series), random))
        begun.append(scattered(series, states, random))
        if memory:
            begun = [em.as_remembering(model, memory) for model in begun]
        tried = [em.fitted(series, model, FIRST_STEPS, tick=tick) for model in begun]
        tried.sort(key=lambda model: -model.objective)
        free = max(
            (em.fitted(series, model, LAST_STEPS, SETTLED, tick=tick) for model in tried[:FINALISTS]),
            key=lambda model: model.objective,
        )
        # one number for the chain is often enough, and leaves more for the states
        even = em.fitted(series, em.as_alike(free), LAST_STEPS, SETTLED, tick=tick)
        model = max((even, free), key=lambda model: score(series, model))
        found.append(model)
        now = score(series, model)
        step = now - best
        worse = 0 if now > best else worse + 1
        best = max(best, now)
        if worse == WORSE or (states >= HOPEFUL and now + HOPE * max(step, 0.0) < rival):
            break
    return found


def one(series: Series) -> Model:
    """Return the model with one state."""
    return em.start(series, series.centres[None, :], dwell=100.0)


def averages(series: Series, width: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the mean of every arm in every window of rows, how many rows each is of, and the width of a window."""
    window = np.arange(series.rows) // width
    cells = window * series.width + series.arms
    size = (int(window[-1]) + 1) * series.width
    tried = np.bincount(cells, minlength=size).reshape(-1, series.width).astype(float)
    sums = np.bincount(cells, series.values, minlength=size).reshape(-1, series.width)
    return np.where(tried > 0, sums / np.maximum(tried, 1), series.centres), tried, width


def clustered(
    series: Series, window: tuple[np.ndarray, np.ndarray, int], states: int, random: np.random.Generator
) -> Model:
    """Return a model that begins with clusters of windows (k-means, in which an arm that a window never tried has no say)."""
    means, tried, width = window
    size = len(means)
    if size > 4000:
        kept = np.sort(random.choice(size, 4000, replace=False))
        means, tried = means[kept], tried[kept]
    far = np.full(len(means), np.inf)
    centres = [means[random.integers(len(means))]]
    for _ in range(states - 1):  # k-means++
        far = np.minimum(far, (tried * (means - centres[-1]) ** 2).sum(axis=1))
        whole = far.sum()
        centres.append(means[random.choice(len(means), p=far / whole) if whole > 0 else random.integers(len(means))])
    middle = np.array(centres)
    label = np.zeros(len(means), np.int64)
    for _ in range(12):
        distance = np.stack([(tried * (means - one) ** 2).sum(axis=1) for one in middle])
        label = distance.argmin(axis=0)
        for state in range(states):
            own = label == state
            weight = tried[own].sum(axis=0)
            middle[state] = np.where(
                weight > 0, (tried[own] * means[own]).sum(axis=0) / np.maximum(weight, 1e-9), series.centres
            )
    shares = np.bincount(label, minlength=states) / len(label)
    runs = 1 + int((np.diff(label) != 0).sum())
    return em.start(series, middle, dwell=width * len(label) / runs, shares=shares)


def split(series: Series, model: Model, random: np.random.Generator) -> Model:
    """Return a model with one state more: that with the most rows, or another at random, becomes two."""
    weight = model.tried.sum(axis=1)
    state = int(random.choice(model.states, p=weight / weight.sum()))
    step = 0.5 * series.spreads * random.choice((-1.0, 1.0), series.width)
    if series.binary:
        step = 0.5 * np.minimum(model.means[state], 1 - model.means[state]) * random.choice((-1.0, 1.0), series.width)
    means = np.vstack([model.means, model.means[state] + step])
    means[state] -= step
    enter = np.append(model.enter, model.enter[state] / 2)
    enter[state] /= 2
    begun = em.start(series, means, dwell=100.0)
    leave = np.append(model.leave, model.leave[state])
    return begun._replace(leave=leave, enter=enter, noise=np.append(model.noise, model.noise[state]))


def scattered(series: Series, states: int, random: np.random.Generator) -> Model:
    """Return a model that begins with means scattered around those of the arms."""
    means = series.centres + series.spreads * random.standard_normal((states, series.width))
    return em.start(series, means, dwell=30.0)
