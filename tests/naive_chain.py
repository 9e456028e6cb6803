"""The hidden chain of a log by enumeration of all paths, jumps included, and one step of its fit in plain NumPy: slow twins that share no
code with the package."""

from itertools import product

import numpy as np


def enumerated(
    log_lik: np.ndarray, gaps: np.ndarray, exit_prob: np.ndarray, entry_prob: np.ndarray
) -> dict[str, np.ndarray | float]:
    """Add up all paths of states and jumps: likelihood, probabilities of states, jumps from, steps from and entries to every state."""
    rows, count = log_lik.shape
    sums = {name: np.zeros(count) for name in ("jumps", "visits", "entries")}
    states, whole, best = np.zeros((rows, count)), 0.0, -1.0
    path: tuple[int, ...] = ()
    together: dict[tuple[int, ...], float] = {}
    for walk in product(range(count), repeat=rows):
        for jumped in product((False, True), repeat=rows - 1):
            chance = entry_prob[walk[0]] * np.exp(log_lik[0, walk[0]])
            for t in range(1, rows):
                stay = (1 - exit_prob[walk[t - 1]]) ** gaps[t]
                if jumped[t - 1]:
                    chance *= (1 - stay) * entry_prob[walk[t]]
                else:
                    chance *= stay * (walk[t] == walk[t - 1])
                chance *= np.exp(log_lik[t, walk[t]])
            whole += chance
            together[walk] = together.get(walk, 0.0) + chance
            for t in range(rows):
                states[t, walk[t]] += chance
            sums["entries"][walk[0]] += chance
            for t in range(1, rows):
                if jumped[t - 1]:
                    sums["entries"][walk[t]] += chance
                if gaps[t] == 1:
                    sums["visits"][walk[t - 1]] += chance
                    sums["jumps"][walk[t - 1]] += chance * jumped[t - 1]
    for walk, chance in together.items():
        if chance > best:
            best, path = chance, walk
    return {
        "log_lik": float(np.log(whole)),
        "state_probs": states / whole,
        "path": np.array(path),
        **{name: value / whole for name, value in sums.items()},
    }


def stepped(
    arms: np.ndarray, values: np.ndarray, means: np.ndarray, exit_prob: np.ndarray, entry_prob: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return means, leave, enter and noise after one step of expectation and maximisation of normal rewards, with a full matrix."""
    rows, (count, width) = len(values), means.shape
    density = np.exp(-0.5 * ((values[:, None] - means[:, arms].T) / noise) ** 2) / noise
    matrix = np.diag(1 - exit_prob) + np.outer(exit_prob, entry_prob)
    forward, backward = np.zeros((rows, count)), np.ones((rows, count))
    forward[0] = entry_prob * density[0]
    forward[0] /= forward[0].sum()
    for t in range(1, rows):
        forward[t] = (forward[t - 1] @ matrix) * density[t]
        forward[t] /= forward[t].sum()
    for t in range(rows - 2, -1, -1):
        backward[t] = matrix @ (density[t + 1] * backward[t + 1])
        backward[t] /= backward[t].sum()
    states = forward * backward
    states /= states.sum(axis=1, keepdims=True)
    jumps, entries = np.zeros(count), states[0].copy()
    for t in range(1, rows):
        pairs = forward[t - 1][:, None] * matrix * (density[t] * backward[t])
        by_jump = forward[t - 1][:, None] * np.outer(exit_prob, entry_prob) * (density[t] * backward[t]) / pairs.sum()
        jumps += by_jump.sum(axis=1)
        entries += by_jump.sum(axis=0)
    visits = states[:-1].sum(axis=0)
    new_exit_prob = np.minimum((jumps + 0.5) / (visits + 10), 0.2)
    new_entry_prob = (entries + 0.3) / (entries + 0.3).sum()
    new_means, squares = np.empty_like(means), 0.0
    for arm in range(width):
        own = arms == arm
        centre, width_of = values[own].mean(), 2 * values[own].std()
        for state in range(count):
            weight = states[own, state]
            top = (weight * values[own]).sum() / noise**2 + centre / width_of**2
            new_means[state, arm] = top / (weight.sum() / noise**2 + 1 / width_of**2)
            squares += (weight * (values[own] - new_means[state, arm]) ** 2).sum()
    return new_means, new_exit_prob, new_entry_prob, float(np.sqrt(squares / rows))
