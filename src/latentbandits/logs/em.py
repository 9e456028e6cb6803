"""Fitting a chain of hidden states by expectation and maximisation; the penalised likelihood never falls."""

from collections.abc import Callable

import numpy as np

from latentbandits.logs import chain, emissions
from latentbandits.logs.chain import Expectations
from latentbandits.logs.model import AUTOREGRESSIVE, BINARY, MIXTURE, NORMAL, Model
from latentbandits.logs.series import Series

Tick = Callable[[int], None]  # called with the cells (rows times states) of every pass


def no_tick(cells: int) -> None:
    """Report nothing."""


def e_step(series: Series, model: Model, backwards: bool = True) -> Expectations:
    """Return what a pass over the log expects of the chain (the E step)."""
    return chain.forward_backward(
        emissions.log_likelihoods(series, model), series.gaps, model.exit_prob, model.entry_prob, backwards
    )


def fit_em(
    series: Series,
    model: Model,
    steps: int,
    tolerance: float = 0.01,
    *,
    fixed_chain: bool = False,
    tick: Tick = no_tick,
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
    fixed_chain : bool
        Whether the chain stays as it is.
    tick : callable
        Called with the work of every pass.
    history : list, optional
        The objective before every step is appended.
    """
    previous = -np.inf
    for step in range(steps + 1):
        expected = e_step(series, model)
        tick(series.rows * model.num_states)
        log_prior = emissions.log_prior(series, model) + chain.log_prior(model.exit_prob, model.entry_prob, model.tied)
        model = model._replace(log_lik=expected.log_lik, objective=expected.log_lik + log_prior)
        if history is not None:
            history.append(model.objective)
        if step == steps or model.objective - previous < tolerance:
            break
        previous = model.objective
        updated = emissions.m_step(series, model, expected.state_probs)
        if not fixed_chain:
            exit_prob, entry_prob = chain.m_step(expected, model.tied)
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


def init_model(series: Series, means: np.ndarray, dwell: float, shares: np.ndarray | None = None) -> Model:
    """Return a model to begin with: means of states, how long they last, and the share of their entries."""
    states = len(means)
    entry_prob = np.full(states, 1 / states) if shares is None else (shares + 0.02) / (shares + 0.02).sum()
    exit_prob = np.full(states, min(max(1 / max(dwell, 1.0), 1 / series.rows), 0.15))
    family = BINARY if series.binary else NORMAL
    noise = 0.0 if series.binary else float(np.sqrt(np.mean((series.values - series.centres[series.arms]) ** 2)))
    if series.binary:
        means = np.clip(means, 1e-4, 1 - 1e-4)
    blank = np.zeros((0, 3))
    return Model(
        family,
        np.array(means),
        exit_prob,
        entry_prob,
        np.full(states, max(noise * 0.7, 0.02)),
        blank,
        np.ones_like(means),
    )


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
