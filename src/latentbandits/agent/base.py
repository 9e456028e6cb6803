"""What every agent says of itself, in memory or on disk: each property is one look at its state."""

from collections.abc import Callable
from time import time_ns
from typing import Any, TypeVar

from latentbandits.agent.decision import Name, Stats
from latentbandits.agent.guardrail import Guarded, guarded
from latentbandits.agent.state import State
from latentbandits.beliefs import Belief
from latentbandits.memories import copied
from latentbandits.protocols import Policy

Seen = TypeVar("Seen")


class BaseAgent:
    """What `Agent` and `DurableAgent` have in common."""

    @staticmethod
    def _now_us() -> int:
        """Return microseconds since 1970."""
        return time_ns() // 1000

    def _look(self, look: Callable[[State], Seen]) -> Seen:
        """Return what a function finds in the state, which it must not change."""
        raise NotImplementedError

    @property
    def policy(self) -> Policy:
        """The policy, with its settings."""
        return self._look(lambda state: state.player.policy)

    @property
    def memory(self) -> Any:
        """What the policy remembers: a copy."""
        return self._look(lambda state: copied(state.player.memory))

    @property
    def belief(self) -> Belief:
        """What the policy believes about the hidden state, if it has beliefs, as `StateLibrary` does."""
        return self._look(lambda state: state.player.belief())

    @property
    def guarded(self) -> tuple[Guarded, ...]:
        """What was told of the second metric, by arm and regime, and which of them keep the guardrail; see `Guarded`."""
        return self._look(guarded)

    @property
    def arms(self) -> tuple[Name, ...]:
        """Names of the arms that can be played."""
        return self._look(lambda state: state.arms)

    @property
    def retired(self) -> tuple[Name, ...]:
        """Names of the arms that are retired."""
        return self._look(lambda state: state.retired)

    @property
    def open(self) -> tuple[str, ...]:
        """Ids of the decisions that wait for rewards, oldest first."""
        return self._look(lambda state: tuple(state.open))

    @property
    def stats(self) -> Stats:
        """What happened to the decisions; see `Stats`. Of a store, those that were censored count as forgotten."""
        return self._look(lambda state: state.stats(self._now_us()))
