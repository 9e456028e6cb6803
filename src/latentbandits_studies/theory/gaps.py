"""What a world's means and chain say by themselves: gaps, separations, how fast the state and the best arm change.

Means are an array (states, arms), a chain is an array (states, states) whose rows sum to one. Where an answer depends
on the state, it is averaged over the stationary distribution, or that of the worst state if `worst` is true.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from latentbandits.settings import InvalidValueError, check_int, check_range
from latentbandits_studies.theory._checks import PROBABILITY, chain_matrix, means_matrix, probe_set, world


def optimal_arms(means: ArrayLike) -> np.ndarray:
    """Return the best arm of every state (a*_s), the first one where several are best.

    Examples
    --------
    >>> from latentbandits_studies.theory import optimal_arms
    >>> optimal_arms([[0.4, 0.3], [0.4, 0.5]]).tolist()
    [0, 1]
    """
    best: np.ndarray = means_matrix("optimal_arms", means).argmax(axis=1)
    return best


def state_gaps(means: ArrayLike) -> np.ndarray:
    """Return what each arm loses in each state against the best arm there (Delta_sa), an array (states, arms).

    Examples
    --------
    >>> from latentbandits_studies.theory import state_gaps
    >>> state_gaps([[0.5, 0.25], [0.0, 1.0]]).tolist()
    [[0.0, 0.25], [1.0, 0.0]]
    """
    matrix = means_matrix("state_gaps", means)
    gaps: np.ndarray = matrix.max(axis=1, keepdims=True) - matrix
    return gaps


def largest_gap(means: ArrayLike) -> float:
    """Return the most that one round can cost (Delta_max).

    Examples
    --------
    >>> from latentbandits_studies.theory import largest_gap
    >>> largest_gap([[0.5, 0.25], [0.0, 1.0]])
    1.0
    """
    return float(state_gaps(means_matrix("largest_gap", means)).max())


def arm_separations(means: ArrayLike) -> np.ndarray:
    """Return for each arm the smallest distance between the means of two states (gamma_a); infinite with one state.

    Examples
    --------
    Alone, no arm of the paper's Table 1 tells all states apart.

    >>> from latentbandits_studies.theory import arm_separations
    >>> arm_separations([[0.4, 0.3], [0.4, 0.5], [0.6, 0.5], [0.6, 0.3]]).tolist()
    [0.0, 0.0]
    """
    matrix = np.sort(means_matrix("arm_separations", means), axis=0)
    smallest: np.ndarray = np.diff(matrix, axis=0).min(axis=0, initial=np.inf)
    return smallest


def joint_separation(means: ArrayLike, arms: ArrayLike | None = None) -> float:
    """Return the smallest Euclidean distance between the fingerprints of two states (Gamma_B); infinite with one state.

    Parameters
    ----------
    means : array (states, arms)
        Mean rewards.
    arms : sequence of int, optional
        The arms that a probe plays (B); all by default.

    Examples
    --------
    Together, the arms of the paper's Table 1 do.

    >>> from latentbandits_studies.theory import joint_separation
    >>> round(joint_separation([[0.4, 0.3], [0.4, 0.5], [0.6, 0.5], [0.6, 0.3]]), 9)
    0.2
    """
    matrix = means_matrix("joint_separation", means)
    prints = matrix[:, probe_set("joint_separation", arms, matrix.shape[1])]
    distances = np.linalg.norm(prints[:, None] - prints[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def prediction_error(transition: ArrayLike) -> float:
    """Return how often the likeliest next state is wrong, at the worst present state (beta_1).

    Examples
    --------
    >>> from latentbandits_studies.theory import prediction_error
    >>> round(prediction_error([[0.9, 0.1], [0.75, 0.25]]), 9)
    0.25
    """
    return float(1.0 - chain_matrix("prediction_error", transition).max(axis=1).min())


def switch_rate(transition: ArrayLike) -> float:
    """Return the probability that the state changes from one round to the next, at the worst present state (q).

    Examples
    --------
    >>> from latentbandits_studies.theory import switch_rate
    >>> switch_rate([[0.9, 0.1], [0.75, 0.25]])
    0.75
    """
    return float(1.0 - np.diag(chain_matrix("switch_rate", transition)).min())


def stationary(transition: ArrayLike) -> np.ndarray:
    """Return the stationary distribution (pi*) of a chain that has only one.

    States are folded away one by one (Grassmann, Taksar & Heyman 1985): nothing is subtracted, so even a chain that
    almost never switches keeps all digits.

    Examples
    --------
    >>> from latentbandits_studies.theory import stationary
    >>> stationary([[0.9, 0.1], [0.3, 0.7]]).round(9).tolist()
    [0.75, 0.25]
    """
    chain = chain_matrix("stationary", transition)
    classes, label = connected_components(chain > 0, connection="strong")
    leaves = np.zeros(classes, bool)
    source, target = np.nonzero(chain)
    leaves[label[source[label[source] != label[target]]]] = True
    closed = np.flatnonzero(~leaves)
    if len(closed) > 1:
        allowed = "a chain with one stationary distribution; this one can be caught in several sets of states"
        raise InvalidValueError("stationary", "transition", chain.tolist(), allowed)
    caught = np.flatnonzero(label == closed[0])
    folded = chain[np.ix_(caught, caught)]
    for last in range(len(caught) - 1, 0, -1):
        folded[:last, last] /= folded[last, :last].sum()
        folded[:last, :last] += np.outer(folded[:last, last], folded[last, :last])
    weights = np.ones(len(caught))
    for state in range(1, len(caught)):
        weights[state] = weights[:state] @ folded[:state, state]
    distribution = np.zeros(len(chain))
    distribution[caught] = weights / weights.sum()
    return distribution


def _over_states(values: np.ndarray, chain: np.ndarray, worst: bool) -> float:
    """Return the average of one value per state under the stationary distribution, or the largest."""
    return float(values.max() if worst else stationary(chain) @ values)


def window_change(transition: ArrayLike, window: int, *, worst: bool = False) -> float:
    """Return the exact probability that the state changes within a window of consecutive rounds (omega_m).

    Parameters
    ----------
    transition : array (states, states)
        The chain.
    window : int
        Rounds in the window (m); a sequential probe of m arms takes m.
    worst : bool
        Start in the worst state instead of the stationary distribution.

    Examples
    --------
    >>> from latentbandits_studies.theory import window_change, window_change_bound
    >>> round(window_change([[0.9, 0.1], [0.1, 0.9]], window=3), 9), round(window_change_bound(window=3, q=0.1), 9)
    (0.19, 0.2)
    """
    chain = chain_matrix("window_change", transition)
    steps = check_int("window_change", "window", window, least=1) - 1
    return _over_states(1.0 - np.diag(chain) ** steps, chain, worst)


def window_change_bound(window: int, q: float) -> float:
    """Return the union bound min(1, (m - 1) q) on `window_change`, from any state.

    Examples
    --------
    >>> from latentbandits_studies.theory import window_change_bound
    >>> window_change_bound(window=2, q=0.5)
    0.5
    """
    steps = check_int("window_change_bound", "window", window, least=1) - 1
    return min(1.0, steps * check_range("window_change_bound", "q", q, PROBABILITY))


def drift_probability(means: ArrayLike, transition: ArrayLike, lag: int, *, worst: bool = False) -> float:
    """Return the probability that the best arm some rounds later is not the one of now (nu_j), exactly.

    Where several arms are best in a state, the first counts as the best.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    lag : int
        How many rounds later (j).
    worst : bool
        Start in the worst state instead of the stationary distribution.

    Examples
    --------
    With two states that switch with probability q it is (1 - (1 - 2q)^j) / 2.

    >>> from latentbandits_studies.theory import drift_bound, drift_probability
    >>> means, chain = [[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.1, 0.9]]
    >>> round(drift_probability(means, chain, lag=2), 9), drift_bound(lag=2, q=0.1)
    (0.18, 0.2)
    """
    matrix, chain = world("drift_probability", means, transition)
    best = matrix.argmax(axis=1)
    later = np.linalg.matrix_power(chain, check_int("drift_probability", "lag", lag, least=0))
    moved = (later * (best[:, None] != best[None, :])).sum(axis=1)
    return min(1.0, _over_states(moved, chain, worst))


def drift_bound(lag: int, q: float) -> float:
    """Return the bound min(1, j q) on `drift_probability`, from any state.

    Examples
    --------
    >>> from latentbandits_studies.theory import drift_bound
    >>> [drift_bound(lag, q=0.25) for lag in (1, 2, 8)]
    [0.25, 0.5, 1.0]
    """
    return min(1.0, check_int("drift_bound", "lag", lag, least=0) * check_range("drift_bound", "q", q, PROBABILITY))


def stale_regret(means: ArrayLike, transition: ArrayLike, lag: int, *, worst: bool = False) -> float:
    """Return what it costs, on average and exactly, to play the arm that was best some rounds ago.

    It is at most Delta_max times `drift_probability`, which is how the paper bounds it.

    Parameters
    ----------
    means, transition, worst
        As in `drift_probability`.
    lag : int
        How many rounds ago (j).

    Examples
    --------
    >>> from latentbandits_studies.theory import stale_regret
    >>> round(stale_regret([[1.0, 0.5], [0.0, 1.0]], [[0.9, 0.1], [0.1, 0.9]], lag=1), 9)
    0.075
    """
    matrix, chain = world("stale_regret", means, transition)
    later = np.linalg.matrix_power(chain, check_int("stale_regret", "lag", lag, least=0))
    cost = (later @ state_gaps(matrix))[np.arange(len(matrix)), matrix.argmax(axis=1)]
    return _over_states(cost, chain, worst)


def probe_regret(
    means: ArrayLike,
    transition: ArrayLike,
    arms: ArrayLike | None = None,
    *,
    sequential: bool = False,
    worst: bool = False,
) -> float:
    """Return the expected regret per group of one probe (Delta_probe, C_m), exactly.

    A randomized probe takes one round and its groups share the arms evenly; a sequential probe takes one round for
    each arm, in the order given, while the state moves on.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    arms : sequence of int, optional
        The arms that the probe plays (B); all by default.
    sequential : bool
        One arm after the other instead of all in one round.
    worst : bool
        Start in the worst state instead of the stationary distribution. The theorem asks for this one unless the
        schedule is fixed.

    Examples
    --------
    >>> from latentbandits_studies.theory import probe_regret
    >>> means, chain = [[1.0, 0.5], [0.0, 1.0]], [[0.9, 0.1], [0.1, 0.9]]
    >>> round(probe_regret(means, chain), 9), round(probe_regret(means, chain, sequential=True), 9)
    (0.375, 0.75)
    >>> round(probe_regret(means, chain, worst=True), 9)
    0.5
    """
    matrix, chain = world("probe_regret", means, transition)
    chosen = probe_set("probe_regret", arms, matrix.shape[1])
    gaps = state_gaps(matrix)[:, chosen]
    if not sequential:
        return _over_states(gaps.mean(axis=1), chain, worst)
    cost = np.zeros(len(matrix))
    for column in reversed(range(len(chosen))):
        cost = gaps[:, column] + chain @ cost
    return _over_states(cost, chain, worst)
