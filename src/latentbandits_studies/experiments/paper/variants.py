"""Worlds of the misspecification checks that the paper describes in half a sentence, and that the package does not have."""

import numpy as np

from latentbandits.worlds.base import Path
from latentbandits.worlds.hidden_markov import HiddenMarkov, separated


class Neighbours(HiddenMarkov):
    """A chain in which every state has its nearest neighbour at exactly `separation`, over the arms `separated_arms`.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.paper.variants import Neighbours
    >>> means = Neighbours(states=6, arms=3, separation=0.1, separated_arms=(0, 1)).matrix(seed=0, draw=0)
    >>> apart = np.linalg.norm(means[:, None, :2] - means[None, :, :2], axis=2) + 9 * np.eye(6)
    >>> apart.min(axis=1).round(9).tolist()
    [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    """

    def levels(self, generator: np.random.Generator) -> np.ndarray:
        """Sample the means of all states on a scale from 0 to 1."""
        levels = super(HiddenMarkov, self).levels(generator)
        chosen = self.separated_arms.tolist() or list(range(self.arms))
        assert self.separation is not None
        levels[:, chosen] = separated(generator, self.states, len(chosen), self.separation, pairs=True)
        return levels


class OwnMemory(HiddenMarkov):
    """A chain whose previous state has means of its own: rewards are (1 - carryover) those of the state, plus carryover times those.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.paper.variants import OwnMemory
    >>> played = OwnMemory(states=3, carryover=0.5).realise(horizon=50, groups=1, seed=0, draw=0, repeat=0)
    >>> before, now = played.states[:-1], played.states[1:]
    >>> len(np.unique(played.means[1:], axis=0)) == len(np.unique(3 * before + now))
    True
    """

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return how the means change; before the first round the state was the same."""
        states = super().path(horizon, seed, draw, repeat).states
        before = np.append(states[0], states[:-1])
        own, other = self.matrix(seed, draw), self.matrix(seed + 1, draw)
        return Path(states, (1.0 - self.carryover) * own[states] + self.carryover * other[before])
