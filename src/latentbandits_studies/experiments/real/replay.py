"""Datasets as worlds of a case, named by their content; and what a policy believed in them, written down as a run."""

import hashlib
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np

from latentbandits.policies.oracles import Scripted
from latentbandits.protocols import Oracle, Policy, Realisation
from latentbandits.random import Purpose, stream
from latentbandits.simulation.batch import believe_one

LEVELS = 64  # believed rewards are rounded to this many


@dataclass(frozen=True)
class Replay:
    """A recorded world that is described by the name and the digest of its rewards, not by all of them."""

    name: str
    recorded: InitVar[Any]
    digest: str = ""

    def __post_init__(self, recorded: Any) -> None:
        """Take the digest of the rewards."""
        object.__setattr__(self, "_recorded", recorded)
        object.__setattr__(self, "digest", hashlib.sha256(recorded.rewards.tobytes()).hexdigest()[:24])

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self._recorded.arms)  # type: ignore[attr-defined]

    @property
    def rounds(self) -> int:
        """Number of rounds recorded."""
        return int(self._recorded.rounds)  # type: ignore[attr-defined]

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return the first rounds of the record; see `latentbandits.protocols.World`."""
        found: Realisation = self._recorded.realise(horizon, units, seed, draw, repeat)  # type: ignore[attr-defined]
        return found


@dataclass(frozen=True)
class Ruler:
    """A world in which arm a costs a: the regret of a run is the sequence of its arms. The context holds the rewards of a replay."""

    replay: Replay
    arms: int = LEVELS

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return the costs and, as context, the rewards of the replay; see `latentbandits.protocols.World`."""
        rewards = self.replay.realise(horizon, 1, seed, draw, repeat).rewards[:, 0]
        costs = np.tile(-np.arange(self.arms, dtype=float), (horizon, 1))
        return Realisation(costs, np.repeat(costs[:, None], units, axis=1), rewards, np.full(horizon, -1), None)


class Believed(Oracle):
    """Oracle for a `Ruler`: plays, round by round, the mean reward of the state that another policy believes to be in.

    The mean is over the arms that the policy has tried in that state, and is rounded to one of `LEVELS` between the least and the
    greatest reward recorded. The policy's run is the one that a simulation with this seed and draw has.
    """

    base: Any
    draw: int
    seed: int = 0

    @property
    def arms(self) -> int:
        """Number of arms of the ruler."""
        return LEVELS

    @property
    def units(self) -> int:
        """Units per round."""
        return 1

    def informed(self, realisation: Realisation) -> Policy:
        """Return the levels believed in the rewards of the context."""
        rewards = realisation.context
        none = np.zeros((len(rewards), 0))
        played = Realisation(rewards, rewards[:, None], none, realisation.states, None)
        beliefs = believe_one(self.base, played, stream(self.seed, Purpose.POLICY, self.draw, 0))
        means = [np.array(one.present.means) if one.states else np.zeros(0) for one in beliefs]
        low, high = rewards.min(), rewards.max()
        known = [one[~np.isnan(one)] for one in means]
        level = np.array([one.mean() if len(one) else (low + high) / 2 for one in known])
        share = np.clip((level - low) / max(high - low, 1e-300), 0.0, 1.0)
        return Scripted(LEVELS, 1, np.rint(share * (LEVELS - 1)).astype(np.int64))
