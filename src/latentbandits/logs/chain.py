"""The hidden chain of a fit: exact probabilities of all states at all rows, in time proportional to rows times states.

From state i the chain jumps with probability q_i (`leave`), and a jump goes to state j with probability w_j (`enter`), be it the state that
it came from: P(i, j) = (1 - q_i) [i = j] + q_i w_j. So all jumps of a step can be summed before they are dealt out.
"""

from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast

# Priors of the chain: what is added to the jumps from a state, to the rows in it, and to the entries to it
JUMPS, VISITS, ENTRIES = 0.5, 10.0, 0.3
# States that last fewer than five rows are noise
MOST_LEAVING = 0.2


class Counts(NamedTuple):
    """What a pass over a log expects of the chain.

    Attributes
    ----------
    likelihood : log-likelihood of all rewards
    states : array (rows, states), the probability of every state given all rewards
    jumps, visits, entries : arrays (states,), expected jumps from a state, steps from it, and jumps that go to it
    """

    likelihood: float
    states: np.ndarray
    jumps: np.ndarray
    visits: np.ndarray
    entries: np.ndarray


def smooth(
    likely: np.ndarray,
    gaps: np.ndarray,
    leave: np.ndarray,
    enter: np.ndarray,
    states: np.ndarray,
    jumps: np.ndarray,
    visits: np.ndarray,
    entries: np.ndarray,
    back: bool,
) -> float:
    """Write the probability of every state at every row and add up what is expected of the chain; return the log-likelihood.

    `likely` holds log-likelihoods of the rows, and is overwritten. A gap is the number of rounds since the row before: 0 for rows of one
    round, which share the state. A gap of several rounds is one step in which the chain jumps with the probability that it has jumped
    at all; such steps are not counted. Without `back` the probabilities are those given the rows so far, and nothing is counted.
    """
    rows, count = likely.shape
    scale = np.empty(rows)
    before, later, stay = np.empty(count), np.empty(count), np.empty(count)
    total = 0.0
    for t in range(rows):
        top = likely[t, 0]
        for i in range(1, count):
            top = max(top, likely[t, i])
        moved = 0.0
        gap = gaps[t]
        if t == 0:
            moved = 1.0
        elif gap == 1.0:
            for i in range(count):
                stay[i] = 1.0 - leave[i]
                moved += before[i] * leave[i]
        else:
            for i in range(count):
                stay[i] = (1.0 - leave[i]) ** gap
                moved += before[i] * (1.0 - stay[i])
        whole = 0.0
        for i in range(count):
            likely[t, i] = np.exp(likely[t, i] - top)
            found = moved * enter[i]
            if t > 0:
                found += before[i] * stay[i]
            before[i] = found * likely[t, i]
            whole += before[i]
        scale[t] = whole
        total += np.log(whole) + top
        for i in range(count):
            before[i] /= whole
            states[t, i] = before[i]
    if not back:
        return total
    for i in range(count):
        later[i] = 1.0
        jumps[i] = visits[i] = entries[i] = 0.0
    for t in range(rows - 1, -1, -1):
        arrive = 0.0
        for i in range(count):
            states[t, i] *= later[i]
            later[i] *= likely[t, i] / scale[t]
            arrive += enter[i] * later[i]
        if t == 0:
            for i in range(count):
                entries[i] += states[0, i]
            break
        gap = gaps[t]
        moved = 0.0
        for i in range(count):
            stay[i] = 1.0 - leave[i] if gap == 1.0 else (1.0 - leave[i]) ** gap
            moved += states[t - 1, i] * (1.0 - stay[i])
        for i in range(count):
            entries[i] += moved * enter[i] * later[i]
            now = states[t - 1, i]
            later[i] = stay[i] * later[i] + (1.0 - stay[i]) * arrive
            if gap == 1.0:
                jumps[i] += now * leave[i] * arrive
                visits[i] += now * later[i]
    return total


def smoothed(likely: np.ndarray, gaps: np.ndarray, leave: np.ndarray, enter: np.ndarray, back: bool = True) -> Counts:
    """Return what a pass over a log expects; `likely` (rows, states) holds log-likelihoods and is overwritten.

    Without `back` the probabilities are those given the rows so far, and nothing is counted.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.chain import smoothed
    >>> likely = np.log([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> found = smoothed(likely, np.ones(3), leave=np.array([0.1, 0.1]), enter=np.array([0.5, 0.5]))
    >>> found.states.round(2).tolist()
    [[0.86, 0.14], [0.8, 0.2], [0.54, 0.46]]
    """
    states = np.empty_like(likely)
    jumps, visits, entries = (np.zeros(len(leave)) for _ in range(3))
    total = fast(smooth)(likely, gaps, leave, enter, states, jumps, visits, entries, back)
    return Counts(float(total), states, jumps, visits, entries)


def moved(counts: Counts, alike: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities to leave states and to enter them that fit what is expected best, with the priors above.

    Where states are `alike`, one probability to leave fits all of them, and all are entered equally often.
    """
    if alike:
        leave = min((counts.jumps.sum() + JUMPS) / (counts.visits.sum() + VISITS), MOST_LEAVING)
        count = len(counts.jumps)
        return np.full(count, leave), np.full(count, 1 / count)
    leave = np.minimum((counts.jumps + JUMPS) / (counts.visits + VISITS), MOST_LEAVING)
    enter = counts.entries + ENTRIES
    return leave, enter / enter.sum()


def prior(leave: np.ndarray, enter: np.ndarray, alike: bool = False) -> float:
    """Return the logarithm of the prior of a chain, but for a constant; of one number where states are `alike`."""
    chain = JUMPS * np.log(leave) + (VISITS - JUMPS) * np.log1p(-leave)
    return float(chain[0] if alike else chain.sum() + ENTRIES * np.log(enter).sum())


def transition(leave: np.ndarray, enter: np.ndarray) -> np.ndarray:
    """Return the whole transition matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.chain import transition
    >>> transition(np.array([0.1, 0.2]), np.array([0.5, 0.5])).round(2).tolist()
    [[0.95, 0.05], [0.1, 0.9]]
    """
    return np.asarray(np.diag(1 - leave) + leave[:, None] * enter)


def dwell(leave: np.ndarray, enter: np.ndarray) -> np.ndarray:
    """Return how many rounds states last on average, with jumps that come back at once left out."""
    return np.asarray(1 / np.maximum(leave * (1 - enter), 1e-12))


def shares(leave: np.ndarray, enter: np.ndarray) -> np.ndarray:
    """Return the share of time of every state in the long run."""
    found = enter / leave
    return np.asarray(found / found.sum())


def follow(likely: np.ndarray, gaps: np.ndarray, leave: np.ndarray, enter: np.ndarray, path: np.ndarray) -> None:
    """Write the most probable path of states (Viterbi), in time proportional to rows times states; `likely` holds log-likelihoods."""
    rows, count = likely.shape
    back = np.empty((rows, count), np.int32)
    best, fresh = np.empty(count), np.empty(count)
    for i in range(count):
        best[i] = np.log(enter[i]) + likely[0, i]
    for t in range(1, rows):
        source, top = 0, -np.inf
        for i in range(count):
            stay = (1.0 - leave[i]) ** gaps[t]
            going = best[i] + np.log(1.0 - stay) if stay < 1.0 else -np.inf
            if going > top:
                source, top = i, going
        for i in range(count):
            stay = (1.0 - leave[i]) ** gaps[t]
            # what stays may also be a jump that comes back
            staying = best[i] + np.log(stay + (1.0 - stay) * enter[i])
            coming = top + np.log(enter[i])
            if staying >= coming:
                fresh[i], back[t, i] = staying, i
            else:
                fresh[i], back[t, i] = coming, source
            fresh[i] += likely[t, i]
        for i in range(count):
            best[i] = fresh[i]
    state = 0
    for i in range(1, count):
        if best[i] > best[state]:
            state = i
    for t in range(rows - 1, -1, -1):
        path[t] = state
        state = back[t, state]


def sample(
    states: np.ndarray, gaps: np.ndarray, leave: np.ndarray, enter: np.ndarray, random: np.ndarray, path: np.ndarray
) -> None:
    """Write a path sampled from all paths given all rewards; `states` holds the *filtered* probabilities, `random` uniform numbers."""
    rows, count = states.shape
    chance = np.empty(count)
    for t in range(rows - 1, -1, -1):
        whole = 0.0
        for i in range(count):
            if t == rows - 1:
                chance[i] = states[t, i]
            else:
                stay = (1.0 - leave[i]) ** gaps[t + 1]
                chance[i] = states[t, i] * ((1.0 - stay) * enter[path[t + 1]] + (stay if i == path[t + 1] else 0.0))
            whole += chance[i]
        left = random[t] * whole
        state = 0
        while state < count - 1 and left >= chance[state]:
            left -= chance[state]
            state += 1
        path[t] = state
