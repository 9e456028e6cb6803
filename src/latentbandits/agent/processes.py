"""Locks of an agent: one call at a time, in the process that made it.

A forked child that used its copy would repeat the parent's random numbers.
"""

import os
import threading
import weakref
from types import TracebackType
from typing import Any

from latentbandits.settings import Refusal

_agents: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()  # and what a forked process must do


class OneCall:
    """A lock that refuses, rather than waits forever for, the thread that holds it.

    Attributes
    ----------
    raw : the lock itself, for those in a hurry, who ask `again` before they take it
    again : returns whether this thread holds it
    """

    def __init__(self) -> None:
        lock: Any = threading.RLock()
        self.raw, self.again = lock, lock._is_owned

    def __enter__(self) -> None:
        if self.again():
            refuse_call()
        self.raw.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.raw.release()


def refuse_call() -> None:
    """Refuse a call that interrupts another one of the same thread."""
    raise Refusal(
        "Agent",
        "call",
        "made within another one of the same thread",
        "made after it (a signal handler sets a flag that the program looks at; a journal does not use its agent)",
    )


class ForkedLock:
    """Takes the place of an agent's locks in a forked process, so that each of its methods refuses without a check of its own."""

    def __init__(self, advice: str) -> None:
        self._advice = advice

    def __enter__(self) -> None:
        raise Refusal("Agent", "process", os.getpid(), f"the one that made the agent ({self._advice})")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def refuse_in_children(agent: Any, advice: str) -> None:
    """Let an agent refuse every call in processes that are forked from this one, which are told what to do instead."""
    _agents[agent] = advice


def _replace_locks() -> None:
    for agent, advice in _agents.items():
        agent._lock = agent._raw = agent._saving = ForkedLock(advice)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_replace_locks)
