"""Six providers that degrade and recover one by one: a circuit breaker with a cooldown, and StateLibrary, on the same outages.

``python examples/providers.py`` takes half a minute. The breaker is what many gateways do: it takes the best provider whose circuit is
closed; after some failures in a row the circuit opens, and closes again after a cooldown. It must be told what a failure is and how long
to wait. StateLibrary learns what every provider pays at its best and when degraded, how long that lasts, and when another look is worth it.
"""

from typing import Annotated, NamedTuple

import numpy as np

import latentbandits as lb
from latentbandits.policies.arms import assign
from latentbandits.protocols import Choice, Policy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast

COOLDOWNS = (30, 100, 300)
Clock = record_type(now=int)


class Memory(NamedTuple):
    """What the breaker remembers."""

    clock: np.ndarray
    usual: np.ndarray  # average of the rewards that were no failures
    counts: np.ndarray
    failures: np.ndarray  # in a row
    closes: np.ndarray  # the round in which the circuit closes again


class CircuitBreaker(Policy):
    """The best provider whose circuit is closed.

    Parameters
    ----------
    arms : int
        Number of providers.
    groups : int
        Groups per round; all use the same provider.
    cooldown : int
        Rounds for which a circuit stays open.
    failure : float
        A reward below it is a failure.
    most : int
        Failures in a row that open the circuit.
    """

    deterministic = True

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1
    cooldown: Annotated[int, AtLeast(1)] = 100
    failure: float = 0.4
    most: Annotated[int, AtLeast(1)] = 2

    def init(self) -> Memory:
        """Return the memory before the first round: every provider is tried once, since 1 is the best that it can pay."""
        arms = self.arms
        return Memory(
            np.zeros(1, Clock), np.ones(arms), np.zeros(arms), np.zeros(arms, np.int64), np.zeros(arms, np.int64)
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Use the closed circuit with the highest average; if all are open, the one that closes first."""
        memory.clock[0].now += 1
        best, found = -1, False
        for arm in range(self.arms):
            if choice.arm_scores[arm].available:
                closed = memory.closes[arm] <= memory.clock[0].now
                better = best < 0 or (
                    memory.usual[arm] > memory.usual[best] if closed else memory.closes[arm] < memory.closes[best]
                )
                if (closed and not found) or (closed == found and better):
                    best, found = arm, closed
        assign(best, choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Count failures in a row, and average the rest."""
        arm = choice.arms[0]
        if rewards[0] >= self.failure:
            memory.failures[arm] = 0
            memory.counts[arm] += 1
            memory.usual[arm] += (rewards[0] - memory.usual[arm]) / memory.counts[arm]
            return
        memory.failures[arm] += 1
        if memory.failures[arm] >= self.most:
            memory.closes[arm] = memory.clock[0].now + self.cooldown


def main(requests: int = 10_000, runs: int = 32) -> dict[str, float]:
    """Play all of them on the same outages, and print and return what each loses per request against always knowing who is up."""
    world = lb.Independent(arms=6, dwell=200, noise=0.1)  # every provider has a usual and a degraded level of its own
    policies: dict[str, Policy | str] = {"state-library": "state-library"}
    policies |= {f"breaker, cooldown {rounds}": CircuitBreaker(arms=6, cooldown=rounds) for rounds in COOLDOWNS}
    found = lb.simulate(world, policies, horizon=requests, draws=runs, repeats=1)
    lost = {label: float(regret.mean()) / requests for label, regret in zip(found.labels, found.regret, strict=True)}
    for label, loss in lost.items():
        print(f"{label:24} {loss:.4f} lost per request")
    return lost


if __name__ == "__main__":
    main()
