"""A hidden Markov model of a log: its numbers, and exact probabilities of all states in time proportional to rows times states.

From state i the chain jumps with probability q_i (`exit_prob`), and a jump goes to state j with probability w_j (`entry_prob`), be it the
state that it came from: P(i, j) = (1 - q_i) [i = j] + q_i w_j. So all jumps of a step can be summed before they are dealt out.

Nothing is shared with `latentbandits.policies.bayes_filter`: a policy filters round by round, with any transition matrix, which takes the
square of the number of states, knows no gaps between rows, and normalises in another order, so that results would change in their last
digits.
"""

from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast

# How rewards are spread around the means: normal with one noise; of 0 and 1; a mixture of normal components; normal with noise of every
# state; the same with the same means in all states, so that only the volatility changes; normal with autoregressive noise
NORMAL, BINARY, MIXTURE = "normal", "binary", "mixture"
HETEROSCEDASTIC, NOISE_ONLY, AUTOREGRESSIVE = "heteroscedastic", "noise-only", "autoregressive"
# Priors of the chain: what is added to the jumps from a state, to the rows in it, and to the entries to it
PRIOR_JUMPS, PRIOR_VISITS, PRIOR_ENTRIES = 0.5, 10.0, 0.3
# States that last fewer than five rows are noise
MOST_EXIT_PROB = 0.2


class Model(NamedTuple):
    """A chain of hidden states and what they pay, in the units of a series.

    Attributes
    ----------
    family : how rewards are spread
    means : array (states, arms)
    exit_prob, entry_prob : arrays (states,), see above
    noise : array (states,)
    components : array (components, 3) of weights, centres and widths; empty for other families
    tried : array (states, arms), expected rows
    log_lik : log-likelihood of all rows
    objective : the same with the logarithm of all priors
    tied : whether all states last equally long and are entered equally often, so that the chain is one number
    ar_coef : share of the noise that is left in the next round; `noise` is then what is new in a round
    """

    family: str
    means: np.ndarray
    exit_prob: np.ndarray
    entry_prob: np.ndarray
    noise: np.ndarray
    components: np.ndarray
    tried: np.ndarray
    log_lik: float = -np.inf
    objective: float = -np.inf
    tied: bool = False
    ar_coef: float = 0.0

    @property
    def num_states(self) -> int:
        """Number of states."""
        return len(self.exit_prob)

    @property
    def dwell(self) -> np.ndarray:
        """Rounds that every state lasts, on average."""
        return mean_dwell(self.exit_prob, self.entry_prob)

    @property
    def shares(self) -> np.ndarray:
        """Share of time of every state."""
        return stationary_probs(self.exit_prob, self.entry_prob)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of a reward around its mean in every state, be the noise new or remembered."""
        return np.asarray(self.noise / np.sqrt(1 - self.ar_coef**2))

    @property
    def num_params(self) -> int:
        """Number of numbers that were fitted to rows: cells that the log never tried are not counted."""
        cells = self.means.shape[1] if self.family == NOISE_ONLY else int((self.tried >= 1).sum())
        noise_params = {
            NORMAL: 1,
            BINARY: 0,
            MIXTURE: 3 * len(self.components) - 2,
            HETEROSCEDASTIC: self.num_states,
            NOISE_ONLY: self.num_states,
            AUTOREGRESSIVE: 2,
        }
        chain_params = 0 if self.num_states == 1 else 1 if self.tied else 2 * self.num_states - 1
        return cells + chain_params + noise_params[self.family]

    def sort_states(self) -> "Model":
        """Return the same model with the most usual state first."""
        order = np.argsort(-self.shares, kind="stable")
        return self._replace(
            means=self.means[order],
            exit_prob=self.exit_prob[order],
            entry_prob=self.entry_prob[order],
            noise=self.noise[order],
            tried=self.tried[order],
        )


class Expectations(NamedTuple):
    """What a pass over a log expects of the chain.

    Attributes
    ----------
    log_lik : log-likelihood of all rewards
    state_probs : array (rows, states), the probability of every state given all rewards
    jumps, visits, entries : arrays (states,), expected jumps from a state, steps from it, and jumps that go to it
    """

    log_lik: float
    state_probs: np.ndarray
    jumps: np.ndarray
    visits: np.ndarray
    entries: np.ndarray


def _forward_backward(
    log_lik: np.ndarray, gaps: np.ndarray, exit_prob: np.ndarray, entry_prob: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the fields of `Expectations`.

    `log_lik` holds log-likelihoods of the rows, and is overwritten. A gap is the number of rounds since the row before: 0 for rows of one
    round, which share the state. A gap of several rounds is one step in which the chain jumps with the probability that it has jumped
    at all; such steps are not counted.
    """
    rows, count = log_lik.shape
    scale, state_probs = np.empty(rows), np.empty((rows, count))
    filtered, backward, stay = np.empty(count), np.ones(count), np.empty(count)
    jumps, visits, entries = np.zeros(count), np.zeros(count), np.zeros(count)
    total = 0.0
    for t in range(rows):
        top = log_lik[t, 0]
        for i in range(1, count):
            top = max(top, log_lik[t, i])
        jump_prob = 0.0
        gap = gaps[t]
        if t == 0:
            jump_prob = 1.0
        elif gap == 1.0:
            for i in range(count):
                stay[i] = 1.0 - exit_prob[i]
                jump_prob += filtered[i] * exit_prob[i]
        else:
            for i in range(count):
                stay[i] = (1.0 - exit_prob[i]) ** gap
                jump_prob += filtered[i] * (1.0 - stay[i])
        norm = 0.0
        for i in range(count):
            log_lik[t, i] = np.exp(log_lik[t, i] - top)
            predicted = jump_prob * entry_prob[i]
            if t > 0:
                predicted += filtered[i] * stay[i]
            filtered[i] = predicted * log_lik[t, i]
            norm += filtered[i]
        scale[t] = norm
        total += np.log(norm) + top
        for i in range(count):
            filtered[i] /= norm
            state_probs[t, i] = filtered[i]
    for t in range(rows - 1, -1, -1):
        arrival = 0.0
        for i in range(count):
            state_probs[t, i] *= backward[i]
            backward[i] *= log_lik[t, i] / scale[t]
            arrival += entry_prob[i] * backward[i]
        if t == 0:
            for i in range(count):
                entries[i] += state_probs[0, i]
            break
        gap = gaps[t]
        jump_prob = 0.0
        for i in range(count):
            stay[i] = 1.0 - exit_prob[i] if gap == 1.0 else (1.0 - exit_prob[i]) ** gap
            jump_prob += state_probs[t - 1, i] * (1.0 - stay[i])
        for i in range(count):
            entries[i] += jump_prob * entry_prob[i] * backward[i]
            smoothed = state_probs[t - 1, i]
            backward[i] = stay[i] * backward[i] + (1.0 - stay[i]) * arrival
            if gap == 1.0:
                jumps[i] += smoothed * exit_prob[i] * arrival
                visits[i] += smoothed * backward[i]
    return total, state_probs, jumps, visits, entries


def forward_backward(
    log_lik: np.ndarray, gaps: np.ndarray, exit_prob: np.ndarray, entry_prob: np.ndarray
) -> Expectations:
    """Return what a pass over a log expects; `log_lik` (rows, states) holds log-likelihoods and is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.hmm import forward_backward
    >>> log_lik = np.log([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> expected = forward_backward(log_lik, np.ones(3), exit_prob=np.array([0.1, 0.1]), entry_prob=np.array([0.5, 0.5]))
    >>> expected.state_probs.round(2).tolist()
    [[0.86, 0.14], [0.8, 0.2], [0.54, 0.46]]
    """
    return Expectations(*fast(_forward_backward)(log_lik, gaps, exit_prob, entry_prob))


def m_step(counts: Expectations, tied: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities to leave states and to enter them that fit what is expected best, with the priors above.

    Where states are `tied`, one probability to leave fits all of them, and all are entered equally often.
    """
    if tied:
        exit_prob = min((counts.jumps.sum() + PRIOR_JUMPS) / (counts.visits.sum() + PRIOR_VISITS), MOST_EXIT_PROB)
        count = len(counts.jumps)
        return np.full(count, exit_prob), np.full(count, 1 / count)
    exit_prob = np.minimum((counts.jumps + PRIOR_JUMPS) / (counts.visits + PRIOR_VISITS), MOST_EXIT_PROB)
    entry_prob = counts.entries + PRIOR_ENTRIES
    return exit_prob, entry_prob / entry_prob.sum()


def log_prior(exit_prob: np.ndarray, entry_prob: np.ndarray, tied: bool = False) -> float:
    """Return the logarithm of the prior of a chain, but for a constant; of one number where states are `tied`."""
    chain_terms = PRIOR_JUMPS * np.log(exit_prob) + (PRIOR_VISITS - PRIOR_JUMPS) * np.log1p(-exit_prob)
    return float(chain_terms[0] if tied else chain_terms.sum() + PRIOR_ENTRIES * np.log(entry_prob).sum())


def transition_matrix(exit_prob: np.ndarray, entry_prob: np.ndarray) -> np.ndarray:
    """Return the whole transition matrix."""
    return np.asarray(np.diag(1 - exit_prob) + exit_prob[:, None] * entry_prob)


def mean_dwell(exit_prob: np.ndarray, entry_prob: np.ndarray) -> np.ndarray:
    """Return how many rounds states last on average, with jumps that come back at once left out."""
    return np.asarray(1 / np.maximum(exit_prob * (1 - entry_prob), 1e-12))


def stationary_probs(exit_prob: np.ndarray, entry_prob: np.ndarray) -> np.ndarray:
    """Return the share of time of every state in the long run."""
    weights = entry_prob / exit_prob
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def viterbi(log_lik: np.ndarray, gaps: np.ndarray, exit_prob: np.ndarray, entry_prob: np.ndarray) -> np.ndarray:
    """Return the most probable path of states (Viterbi), in time proportional to rows times states; `log_lik` holds log-likelihoods."""
    rows, count = log_lik.shape
    previous, path = np.empty((rows, count), np.int32), np.empty(rows, np.int64)
    best, updated = np.empty(count), np.empty(count)
    for i in range(count):
        best[i] = np.log(entry_prob[i]) + log_lik[0, i]
    for t in range(1, rows):
        source, top = 0, -np.inf
        for i in range(count):
            stay = (1.0 - exit_prob[i]) ** gaps[t]
            jumping = best[i] + np.log(1.0 - stay) if stay < 1.0 else -np.inf
            if jumping > top:
                source, top = i, jumping
        for i in range(count):
            stay = (1.0 - exit_prob[i]) ** gaps[t]
            # what stays may also be a jump that comes back
            staying = best[i] + np.log(stay + (1.0 - stay) * entry_prob[i])
            entering = top + np.log(entry_prob[i])
            if staying >= entering:
                updated[i], previous[t, i] = staying, i
            else:
                updated[i], previous[t, i] = entering, source
            updated[i] += log_lik[t, i]
        for i in range(count):
            best[i] = updated[i]
    state = 0
    for i in range(1, count):
        if best[i] > best[state]:
            state = i
    for t in range(rows - 1, -1, -1):
        path[t] = state
        state = previous[t, state]
    return path
