"""What all checks of a policy share: the policy, a world to play in, and the numbers that it remembers."""

import numpy as np

from latentbandits.memories import NamedArrays, parts
from latentbandits.protocols import Choice, Contestant, Policy, Realisation, World
from latentbandits.random import stream
from latentbandits.simulation.runs import prepare
from latentbandits.worlds.hidden_markov import HiddenMarkov


def numbers(memory: NamedArrays) -> np.ndarray:
    """Return all numbers of a memory, records included, one after the other."""
    found = [part[name] for part in parts(memory).values() for name in part.dtype.names or (...,)]
    return np.concatenate([part.astype(np.float64).ravel() for part in found])


def available_arms(rounds: int, arms: int) -> np.ndarray:
    """Return arms that come and go, (rounds, arms): all for a while, then random ones, often a single one, for up to a dozen rounds."""
    generator = np.random.default_rng(0)
    available = np.ones((rounds, arms), bool)
    begin = rounds // 8
    while begin < rounds:
        end = begin + int(generator.integers(1, 13))
        number = int(generator.integers(1, arms + 1)) if generator.random() < 0.8 else 1
        available[begin:end] = np.isin(np.arange(arms), generator.permutation(arms)[:number])
        begin = end
    return available


class PolicySuite:
    """A policy to check, and where. See `PolicyChecks`."""

    rounds = 400

    def policy(self) -> Contestant:
        """Return the policy to check."""
        raise NotImplementedError

    def world(self) -> World:
        """Return the world to play in."""
        arms, covariates = self.policy().arms, self.policy().covariates
        reveal = "state" if covariates else "nothing"
        return HiddenMarkov(arms=arms, states=covariates or 5, stickiness=0.95, noise=0.1, reveal=reveal)

    def learns(self) -> bool:
        """Return whether rewards teach the policy anything about the arms; override it for one that ignores them."""
        return True

    def _ready(self, available: np.ndarray | None = None) -> tuple[Policy, Realisation, np.ndarray]:
        """Return the policy (an oracle is given the truth), a realisation for it, and what it may observe there."""
        policy = self.policy()
        realisation = self.world().realise(self.rounds, policy.groups, seed=1, draw=0, repeat=0)
        realisation = realisation._replace(available=available)
        run = prepare(policy, realisation, stream(0))
        return run.policy, realisation, run.context

    @staticmethod
    def _rewards(realisation: Realisation, t: int, choice: Choice) -> np.ndarray:
        """Return the rewards of a choice made in round t."""
        return realisation.rewards[t, range(len(choice.arms)), choice.arms]
