"""Worlds as environments of Gymnasium, and environments as worlds.

Importing this module registers ``latentbandits/HiddenMarkov-v0``, ``latentbandits/Seasons-v0``, ``latentbandits/Drift-v0`` and
``latentbandits/Recorded-v0``; settings of the world and ``rounds`` are arguments of ``gymnasium.make``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

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
    >>> import latentbandits.neighbours.gymnasium
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
        made = self.world.realise(self.rounds, 1, seed, 0, 0)
        if made.delays is not None:
            raise Refusal(
                "Bandit", "world", self.world, "one whose rewards are not late: Gymnasium has no word for that"
            )
        return made

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: the one that the seed names, or the next of the environment's own random numbers."""
        super().reset(seed=seed, options=options)
        self._episode = self._realise(int(self.np_random.integers(2**31)))
        self._round = 0
        return self._observation(), {"action_mask": self._mask()}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
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

    def _observation(self) -> Any:
        assert self._episode is not None
        if isinstance(self.observation_space, spaces.Discrete):
            return 0
        return self._episode.context[min(self._round, self.rounds - 1)].copy()

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


class Environment(NamedTuple):
    """An environment of Gymnasium as a world: what every arm would have paid, found by playing each in a copy of its own.

    That is only true of bandit-like environments, in which an action changes neither what happens next nor the random numbers; one whose
    observations depend on the action is refused. An action is an arm; an observation that is a vector is the context. Regret is against
    the best reward of each round, or against ``info["means"]`` where the environment reveals the expected rewards of all arms there.

    Parameters
    ----------
    make : callable or str
        Makes a fresh copy of the environment; or its name, for `gymnasium.make`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.neighbours.gymnasium import Environment
    >>> world = Environment("latentbandits/HiddenMarkov-v0")
    >>> world.arms
    2
    >>> results = lb.simulate(world, ["ucb1", "random"], horizon=300, draws=2, repeats=1)
    >>> [row.label for row in results.summary()]
    ['ucb1', 'random']
    """

    make: Callable[[], Any] | str

    def environment(self) -> Any:
        """Return a fresh copy."""
        return gymnasium.make(self.make) if isinstance(self.make, str) else self.make()

    @property
    def arms(self) -> int:
        """Number of arms."""
        space = self.environment().action_space
        if not isinstance(space, spaces.Discrete) or space.n < 2:
            raise Refusal("Environment", "action space", space, "Discrete, with two actions or more")
        return int(space.n)

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return a realisation; units receive the same rewards."""
        named = int(np.random.SeedSequence([seed, draw, repeat]).generate_state(1)[0] >> 1)
        played = [self._played(arm, horizon, named) for arm in range(self.arms)]
        context = played[0][1]
        if any(not np.array_equal(context, other) for _, other, _ in played[1:]):
            raise Refusal("Environment", "observations", "different after different actions", "the same: a bandit")
        rewards = np.stack([paid for paid, _, _ in played], axis=1)
        means = played[0][2]
        expected = rewards if means is None else means
        shown = np.ascontiguousarray(np.broadcast_to(rewards[:, None, :], (horizon, units, rewards.shape[1])))
        return Realisation(np.ascontiguousarray(expected), shown, context, np.full(horizon, -1), None)

    def _played(self, arm: int, horizon: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the rewards of one arm in every round, the observations before them, and the means where they are revealed."""
        env = self.environment()
        first = env.action_space.start
        seen, _ = env.reset(seed=seed)
        rewards, observed, means = np.empty(horizon), [], []
        for t in range(horizon):
            observed.append(np.atleast_1d(seen) if np.ndim(seen) else np.empty(0))
            seen, rewards[t], terminated, truncated, info = env.step(first + arm)
            means.append(info.get("means"))
            if (terminated or truncated) and t + 1 < horizon:
                raise Refusal("Environment", "rounds", t + 1, f"at least the {horizon} of the simulation")
        env.close()
        known = None if any(one is None for one in means) else np.array(means, float)
        return rewards, np.array(observed, float).reshape(horizon, -1), known


for _kind, _world in enumerate(WORLDS):
    gymnasium.register(
        f"latentbandits/{_world.__name__}-v0",
        entry_point="latentbandits.neighbours.gymnasium:make_bandit",
        kwargs={"kind": _kind},
    )
