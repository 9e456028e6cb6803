"""A world as an environment of Gymnasium, to copy: an action is an arm, an episode a realisation, and it ends by `truncated`.

Needs `pip install gymnasium` and `latentbandits[sim]`. Importing it registers ``latentbandits/Bandit-v0``.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import latentbandits as lb
from latentbandits.protocols import Realisation, World


class Bandit(gymnasium.Env[Any, Any]):
    """The observation is what the world reveals, or 0 where it reveals nothing; episodes with the same seed are the same.

    What no policy may see is in `info` alone: the `state`, the `regret` of the last action and the `best` arm. The arms that are on offer
    are there too (`action_mask`).
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(self, world: World | None = None, rounds: int = 10_000) -> None:
        self.world, self.rounds = world or lb.HiddenMarkov(), rounds
        self.episode, self.now = self._realise(0), rounds
        revealed = self.episode.context.shape[1]
        self.action_space = spaces.Discrete(self.world.arms)
        self.observation_space = (
            spaces.Box(-np.inf, np.inf, (revealed,), np.float64) if revealed else spaces.Discrete(1)
        )

    def _realise(self, seed: int) -> Realisation:
        episode = self.world.realise(self.rounds, 1, seed, 0, 0)
        if episode.delays is not None:
            raise ValueError("Bandit: world has late rewards but must have none: Gymnasium has no word for them")
        return episode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: the one that the seed names, or the next of the environment's own random numbers."""
        super().reset(seed=seed, options=options)
        self.episode, self.now = self._realise(int(self.np_random.integers(2**31))), 0
        return self._observed(), {"action_mask": self._mask()}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an arm and return what it paid; an arm that is not on offer, and a step after the end, are refused."""
        if self.now >= self.rounds or not self._mask()[action]:
            raise ValueError(
                f"Bandit: action is {action} in round {self.now} but must be an arm on offer, in an episode"
            )
        now, offered = self.now, self.episode.offered[self.now]
        regret = float(offered.max() - offered[action])
        info = {"state": int(self.episode.states[now]), "best": int(np.argmax(offered)), "regret": regret}
        self.now += 1
        reward = float(self.episode.rewards[now, 0, action])
        return self._observed(), reward, False, self.now == self.rounds, info | {"action_mask": self._mask()}

    def _observed(self) -> int | np.ndarray:
        revealed: np.ndarray = self.episode.context[min(self.now, self.rounds - 1)]
        return revealed.copy() if len(revealed) else 0

    def _mask(self) -> np.ndarray:
        mask: np.ndarray = np.isfinite(self.episode.offered[min(self.now, self.rounds - 1)]).astype(np.int8)
        return mask


gymnasium.register("latentbandits/Bandit-v0", entry_point=f"{__name__}:Bandit")
