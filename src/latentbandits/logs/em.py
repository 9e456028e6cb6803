"""Fitting a chain of hidden states by expectation and maximisation; the penalised likelihood never falls."""

from collections.abc import Callable

import numpy as np

from latentbandits.logs import chain, emissions
from latentbandits.logs.chain import Counts
from latentbandits.logs.model import BINARY, MEMORY, NORMAL, SHAPED, Model
from latentbandits.logs.series import Series

Tick = Callable[[int], None]  # called with the cells (rows times states) of every pass


def silent(cells: int) -> None:
    """Report nothing."""


def expected(series: Series, model: Model, back: bool = True) -> Counts:
    """Return what a pass over the log expects of the chain (the E step)."""
    return chain.smoothed(emissions.likelihoods(series, model), series.gaps, model.leave, model.enter, back)


def fitted(
    series: Series,
    model: Model,
    steps: int,
    tolerance: float = 0.01,
    *,
    held: bool = False,
    tick: Tick = silent,
    history: list[float] | None = None,
) -> Model:
    """Return a model after a number of steps, fewer if the objective rises by less than `tolerance`; it holds the likelihood that it has.

    Parameters
    ----------
    series : Series
        The rows.
    model : Model
        Where to begin.
    steps : int
        Most steps.
    tolerance : float
        Nats.
    held : bool
        Whether the chain stays as it is.
    tick : callable
        Called with the work of every pass.
    history : list, optional
        The objective before every step is appended.
    """
    before = -np.inf
    for step in range(steps + 1):
        counts = expected(series, model)
        tick(series.rows * model.states)
        prior = emissions.prior(series, model) + chain.prior(model.leave, model.enter, model.alike)
        model = model._replace(likelihood=counts.likelihood, objective=counts.likelihood + prior)
        if history is not None:
            history.append(model.objective)
        if step == steps or model.objective - before < tolerance:
            break
        before = model.objective
        best = emissions.refitted(series, model, counts.states)
        if not held:
            leave, enter = chain.moved(counts, model.alike)
            best = best._replace(leave=leave, enter=enter)
        model = best
    return model


def constant(series: Series) -> float:
    """Return the log-likelihood of the rows if nothing ever changes."""
    if series.binary:
        share = series.shares
        return float((series.values * np.log(share) + (1 - series.values) * np.log(1 - share)).sum())
    centres = series.centres[series.arms]
    return normal_likelihood(series.rows, float(((series.values - centres) ** 2).sum()))


def normal_likelihood(rows: int, squares: float) -> float:
    """Return the log-likelihood of rows around their fitted means whose squares add up to a number, with the best noise."""
    return float(-0.5 * rows * (np.log(2 * np.pi * max(squares, 1e-300) / rows) + 1))


def start(series: Series, means: np.ndarray, dwell: float, shares: np.ndarray | None = None) -> Model:
    """Return a model to begin with: means of states, how long they last, and the share of their entries."""
    states = len(means)
    enter = np.full(states, 1 / states) if shares is None else (shares + 0.02) / (shares + 0.02).sum()
    leave = np.full(states, min(max(1 / max(dwell, 1.0), 1 / series.rows), 0.15))
    family = BINARY if series.binary else NORMAL
    noise = 0.0 if series.binary else float(np.sqrt(np.mean((series.values - series.centres[series.arms]) ** 2)))
    if series.binary:
        means = np.clip(means, 1e-4, 1 - 1e-4)
    blank = np.zeros((0, 3))
    return Model(
        family, np.array(means), leave, enter, np.full(states, max(noise * 0.7, 0.02)), blank, np.ones_like(means)
    )


def as_shaped(model: Model) -> Model:
    """Return the same model with a shape that is refitted from here: a bell, a wide one and one to either side."""
    width = float(model.noise.mean())
    bells = np.array([[0.7, 0.0, 0.8 * width], [0.2, 0.3 * width, 1.5 * width], [0.1, -0.3 * width, 3.0 * width]])
    return model._replace(family=SHAPED, shape=bells)


def as_remembering(model: Model, memory: float) -> Model:
    """Return the same model with noise that has a memory."""
    return model._replace(family=MEMORY, memory=memory, noise=model.noise * np.sqrt(1 - memory**2))


def as_alike(model: Model) -> Model:
    """Return the same model with states that last equally long and are entered equally often."""
    weight = model.tried.sum(axis=1)
    leave = float((weight * model.leave).sum() / weight.sum())
    count = model.states
    return model._replace(leave=np.full(count, leave), enter=np.full(count, 1 / count), alike=True)
