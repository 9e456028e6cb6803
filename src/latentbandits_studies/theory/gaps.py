"""What a world's means and chain say by themselves: gaps, separations, how fast the state and the best arm change.

Means are an array (states, arms), a chain is an array (states, states) whose rows sum to one. Where an answer depends
on the state, it is averaged over the stationary distribution, or that of the worst state if `worst` is true.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from latentbandits.settings import InvalidValueError, Vector, array


def as_means(means: ArrayLike) -> np.ndarray:
    """Return mean rewards as an array (states, arms), or refuse them."""
    matrix = array("theory", "means", means, Vector(2))
    if matrix.size == 0:
        raise InvalidValueError("theory", "means", f"of shape {matrix.shape}", "at least one state and one arm")
    return matrix


def as_chain(transition: ArrayLike) -> np.ndarray:
    """Return a transition matrix as an array (states, states), or refuse it."""
    matrix = array("theory", "transition", transition, Vector(2))
    if matrix.size == 0 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidValueError("theory", "transition", f"of shape {matrix.shape}", "square, one row per state")
    if (matrix < 0).any() or (abs(matrix.sum(axis=1) - 1) > 1e-9).any():
        raise InvalidValueError("theory", "transition", matrix.tolist(), "rows of probabilities that sum to one")
    return matrix


def as_world(means: ArrayLike, transition: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean rewards and the transition matrix of a world, or refuse them."""
    matrix, chain = as_means(means), as_chain(transition)
    if len(matrix) != len(chain):
        raise InvalidValueError(
            "theory", "transition", f"of shape {chain.shape}", f"one row for each of {len(matrix)} states"
        )
    return matrix, chain


def optimal_arms(means: ArrayLike) -> np.ndarray:
    """Return the best arm of every state (a*_s), the first one where several are best.

    Examples
    --------
    >>> from latentbandits_studies.theory import optimal_arms
    >>> optimal_arms([[0.4, 0.3], [0.4, 0.5]]).tolist()
    [0, 1]
    """
    best: np.ndarray = as_means(means).argmax(axis=1)
    return best


def state_gaps(means: ArrayLike) -> np.ndarray:
    """Return what each arm loses in each state against the best arm there (Delta_sa), an array (states, arms).

    Examples
    --------
    >>> from latentbandits_studies.theory import state_gaps
    >>> state_gaps([[0.5, 0.25], [0.0, 1.0]]).tolist()
    [[0.0, 0.25], [1.0, 0.0]]
    """
    matrix = as_means(means)
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
    return float(state_gaps(means).max())


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
    matrix = as_means(means)
    prints = matrix if arms is None else matrix[:, np.asarray(arms)]
    distances = np.linalg.norm(prints[:, None] - prints[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def switch_rate(transition: ArrayLike) -> float:
    """Return the probability that the state changes from one round to the next, at the worst present state (q).

    Examples
    --------
    >>> from latentbandits_studies.theory import switch_rate
    >>> switch_rate([[0.9, 0.1], [0.75, 0.25]])
    0.75
    """
    return float(1.0 - np.diag(as_chain(transition)).min())


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
    chain = as_chain(transition)
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


def window_change(transition: ArrayLike, window: int) -> float:
    """Return the exact probability that the state changes within a window of consecutive rounds (omega_m).

    Parameters
    ----------
    transition : array (states, states)
        The chain.
    window : int
        Rounds in the window (m); a sequential probe of m arms takes m.

    Examples
    --------
    >>> from latentbandits_studies.theory import window_change, window_change_bound
    >>> round(window_change([[0.9, 0.1], [0.1, 0.9]], window=3), 9), round(window_change_bound(window=3, q=0.1), 9)
    (0.19, 0.2)
    """
    chain = as_chain(transition)
    return float(stationary(chain) @ (1.0 - np.diag(chain) ** (window - 1)))


def window_change_bound(window: int, q: float) -> float:
    """Return the union bound min(1, (m - 1) q) on `window_change`, from any state.

    Examples
    --------
    >>> from latentbandits_studies.theory import window_change_bound
    >>> window_change_bound(window=2, q=0.5)
    0.5
    """
    return min(1.0, (window - 1) * q)


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
    matrix, chain = as_world(means, transition)
    best = matrix.argmax(axis=1)
    later = np.linalg.matrix_power(chain, lag)
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
    return min(1.0, lag * q)


def probe_regret(means: ArrayLike, transition: ArrayLike, *, sequential: bool = False, worst: bool = False) -> float:
    """Return the expected regret per group of one probe (Delta_probe, C_m), exactly.

    A randomized probe takes one round and its groups share the arms evenly; a sequential probe takes one round for
    each arm, in their order, while the state moves on.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
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
    matrix, chain = as_world(means, transition)
    gaps = state_gaps(matrix)
    if not sequential:
        return _over_states(gaps.mean(axis=1), chain, worst)
    cost = np.zeros(len(matrix))
    for column in reversed(range(matrix.shape[1])):
        cost = gaps[:, column] + chain @ cost
    return _over_states(cost, chain, worst)
