"""Runs of a policy as a summary of its history sees them, and its rehearsals: other runs in the same world, to count in."""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from latentbandits.parameters import describe
from latentbandits.protocols import CONTINUED, Policy, Realisation, Truth
from latentbandits.random import stream
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import record_one
from latentbandits.worlds.hidden_markov import HiddenMarkov

REHEARSALS = 4
# Names the randomness of rehearsals; no experiment has it
SEED = 424_242
KEPT = 8


class Run(NamedTuple):
    """What one policy saw along one run, and what it could not see.

    Attributes
    ----------
    realisation : the world
    arms, rewards : arrays (rounds, groups), what was played and received
    begins, ends : first and last round of every probe
    shown : for every round the number of the last probe that had ended before it, -1 for none
    fresh : whether a probe ended in the round before. A rule that sees lag and fingerprint knows it: they share a reward
    code : the arms of all groups of a round as one number
    """

    realisation: Realisation
    arms: np.ndarray
    rewards: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    shown: np.ndarray
    fresh: np.ndarray
    code: np.ndarray

    @classmethod
    def of(cls, base: Policy, realisation: Realisation) -> "Run":
        """Play a policy on a realisation; one that needs random numbers is refused, since its run could not be replayed."""
        random = stream(0)
        arms, probe_reason = record_one(base, realisation, random)
        if (random != stream(0)).any():
            raise InvalidValueError("Representation", "base", type(base).__name__, "a policy without randomness")
        rounds = np.arange(len(arms))
        probing = probe_reason != 0
        before, after = np.append(0, probe_reason[:-1]), np.append(probe_reason[1:], 0)
        begins = np.flatnonzero(probing & ((probe_reason != CONTINUED) | (before == 0)))
        ends = np.flatnonzero(probing & (after != CONTINUED))
        return cls(
            realisation,
            arms,
            realisation.rewards[rounds[:, None], np.arange(arms.shape[1]), arms],
            begins,
            ends,
            np.searchsorted(ends, rounds) - 1,
            np.append(False, probing & (after != CONTINUED))[:-1],
            arms @ realisation.rewards.shape[2] ** np.arange(arms.shape[1]),
        )

    @property
    def truth(self) -> Truth:
        """What is true of the world."""
        assert self.realisation.truth is not None
        return self.realisation.truth

    def after(self, code: int) -> np.ndarray:
        """Return whether the groups played certain arms in the round before."""
        follows: np.ndarray = np.append(False, self.code[:-1] == code)
        return follows

    def since(self, rounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for some rounds, the state in which the last probe ended and that of the round before."""
        chosen = np.flatnonzero(rounds)
        return self.realisation.states[self.ends[self.shown[chosen]]], self.realisation.states[chosen - 1]


_kept: dict[object, list[Run]] = {}
_keeping = Lock()  # runs are spread over threads


def rehearse(base: Policy, realisation: Realisation) -> list[Run]:
    """Return runs of a policy in the world of a realisation that have nothing but the world in common with it.

    Several statistics are computed for one policy and realisation in a row, so the last rehearsals are kept.
    """
    truth: Any = realisation.truth
    rounds, groups = realisation.rewards.shape[:2]
    arrays = (truth.transition, truth.means, truth.noise)
    key = (type(base), str(describe(base)), rounds, *(array.tobytes() for array in arrays))
    with _keeping:
        runs = _kept.get(key)
    if runs is None:
        world = HiddenMarkov(transition=truth.transition, means=truth.means, group_noise=tuple(truth.noise))
        runs = [Run.of(base, world.realise(rounds, groups, SEED, 0, repeat)) for repeat in range(REHEARSALS)]
        with _keeping:
            while len(_kept) >= KEPT:
                _kept.pop(next(iter(_kept)))
            _kept[key] = runs
    return runs
