"""Locks of an agent: one call at a time, in the process that made it.

A forked child that used its copy would repeat the parent's random numbers.
"""

import os
import threading
import weakref
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Never, Protocol

from latentbandits.settings import InvalidValueError


class Locked(Protocol):
    """An agent or a ledger: its locks are replaced in a forked process."""

    _lock: "OneCall"
    _saving: "OneCall"


_agents: "weakref.WeakKeyDictionary[Locked, str]" = weakref.WeakKeyDictionary()  # and what a forked process must do


class OneCall:
    """A lock that refuses, rather than waits forever for, the thread that holds it.

    Attributes
    ----------
    raw : the lock itself, for those in a hurry, who look at `busy` and set it once they have it
    busy : whether a call is under way: seen by whoever has the lock, it is one of the same thread
    """

    raw: AbstractContextManager[object]

    def __init__(self) -> None:
        self.raw, self.busy = threading.RLock(), False

    def __enter__(self) -> None:
        self.raw.__enter__()
        if self.busy:
            self.raw.__exit__(None, None, None)
            refuse_call()
        self.busy = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.busy = False
        self.raw.__exit__(kind, error, trace)


def refuse_call() -> Never:
    """Refuse a call that interrupts another one of the same thread."""
    raise InvalidValueError(
        "Agent",
        "call",
        "made within another one of the same thread",
        "made after it (a signal handler sets a flag that the program looks at; a journal does not use its agent)",
    )


class ForkedLock(OneCall):
    """Takes the place of an agent's locks in a forked process, so that each of its methods refuses without a check of its own."""

    def __init__(self, advice: str) -> None:
        super().__init__()
        self.raw, self._advice = self, advice

    def __enter__(self) -> None:
        raise InvalidValueError("Agent", "process", os.getpid(), f"the one that made the agent ({self._advice})")


def refuse_in_children(agent: Locked, advice: str) -> None:
    """Let an agent refuse every call in processes that are forked from this one, which are told what to do instead."""
    _agents[agent] = advice


def _replace_locks() -> None:
    for agent, advice in _agents.items():
        agent._lock = agent._saving = ForkedLock(advice)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_replace_locks)
