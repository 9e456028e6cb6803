"""Worlds as environments of Gymnasium.

Importing this module registers ``latentbandits/HiddenMarkov-v0``, ``latentbandits/Seasons-v0``, ``latentbandits/Drift-v0`` and
``latentbandits/Recorded-v0``; settings of the world and ``rounds`` are arguments of ``gymnasium.make``.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from latentbandits.protocols import Realisation, World
from latentbandits.settings import Refusal, whole
from latentbandits.worlds.drift import Drift
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.recorded import Recorded
from latentbandits.worlds.seasons import Seasons

WORLDS: tuple[type, ...] = (HiddenMarkov, Seasons, Drift, Recorded)
Observation = int | np.ndarray
Info = dict[str, Any]
ROUNDS = 10_000  # of an episode, unless the world or the caller says otherwise


class Bandit(gymnasium.Env[Any, Any]):
    """A world as an environment: an action is an arm, an episode a realisation, and it ends by `truncated`.

    The observation is what the world reveals (its context), or 0 where it reveals nothing. What no policy may see is in `info` alone: the
    `state`, the `regret` of the last action and the `best` arm; the arms that are on offer are there too (`action_mask`). Episodes with
    the same seed are the same.

    Parameters
    ----------
    world : World
        What is played.
    rounds : int, optional
        Rounds of an episode.

    Examples
    --------
    >>> import gymnasium
    >>> import latentbandits.gymnasium
    >>> env = gymnasium.make("latentbandits/HiddenMarkov-v0", states=3, arms=2, rounds=50)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> terminated, truncated, sorted(info)
    (False, False, ['action_mask', 'best', 'regret', 'state'])
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(self, world: World, rounds: int | None = None) -> None:
        if not isinstance(world, World) or isinstance(world, type):
            raise Refusal("Bandit", "world", world, "a world, such as HiddenMarkov()")
        self.world = world
        self.rounds = whole("Bandit", "rounds", getattr(world, "rounds", ROUNDS) if rounds is None else rounds, least=1)
        revealed = self._realise(0).context.shape[1]
        self.action_space = spaces.Discrete(world.arms)
        self.observation_space = (
            spaces.Box(-np.inf, np.inf, (revealed,), np.float64) if revealed else spaces.Discrete(1)
        )
        self._episode: Realisation | None = None
        self._round = 0

    def _realise(self, seed: int) -> Realisation:
        realisation = self.world.realise(self.rounds, 1, seed, 0, 0)
        if realisation.delays is not None:
            raise Refusal(
                "Bandit", "world", self.world, "one whose rewards are not late: Gymnasium has no word for that"
            )
        return realisation

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Begin an episode: the one that the seed names, or the next of the environment's own random numbers."""
        super().reset(seed=seed, options=options)
        self._episode = self._realise(int(self.np_random.integers(2**31)))
        self._round = 0
        return self._observation(), {"action_mask": self._mask()}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, Info]:
        """Play an arm and return what it paid; the state and the regret are in `info`."""
        if self._episode is None or self._round >= self.rounds:
            raise Refusal(
                "Bandit", "step", f"after round {self._round}", "after reset, and before the episode has ended"
            )
        arm, now, offered = int(action), self._round, self._episode.offered[self._round]
        if not self.action_space.contains(arm) or not np.isfinite(offered[arm]):
            raise Refusal("Bandit", "action", arm, "an arm that is on offer")
        info = {
            "state": int(self._episode.states[now]),
            "best": int(np.argmax(offered)),
            "regret": float(offered.max() - offered[arm]),
        }
        self._round += 1
        reward = float(self._episode.rewards[now, 0, arm])
        return self._observation(), reward, False, self._round == self.rounds, info | {"action_mask": self._mask()}

    def _observation(self) -> Observation:
        assert self._episode is not None
        if isinstance(self.observation_space, spaces.Discrete):
            return 0
        observed: np.ndarray = self._episode.context[min(self._round, self.rounds - 1)]
        return observed.copy()

    def _mask(self) -> np.ndarray:
        assert self._episode is not None
        available = self._episode.available
        if available is None:
            return np.ones(self.world.arms, np.int8)
        mask: np.ndarray = available[min(self._round, self.rounds - 1)].astype(np.int8)
        return mask


def make_bandit(kind: int, rounds: int | None = None, **settings: Any) -> Bandit:
    """Return the environment of a kind of world, by its number in `WORLDS`; what `gymnasium.make` calls."""
    return Bandit(WORLDS[kind](**settings), rounds)


for _kind, _world in enumerate(WORLDS):
    gymnasium.register(
        f"latentbandits/{_world.__name__}-v0",
        entry_point="latentbandits.gymnasium:make_bandit",
        kwargs={"kind": _kind},
    )
