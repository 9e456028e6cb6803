"""Locks of an agent: one call at a time, in the process that made it.

A forked child that used its copy would repeat the parent's random numbers.
"""

import os
import threading
import weakref
from types import TracebackType
from typing import Any

from latentbandits.settings import Refusal

_agents: "weakref.WeakSet[Any]" = weakref.WeakSet()


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

    def __enter__(self) -> None:
        raise Refusal(
            "Agent",
            "process",
            os.getpid(),
            "the one that made the agent (a forked process must make or load an agent of its own, and save it to a path of its own)",
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def refuse_in_children(agent: Any) -> None:
    """Let an agent refuse every call in processes that are forked from this one."""
    _agents.add(agent)


def _replace_locks() -> None:
    for agent in _agents:
        agent._lock = agent._raw = agent._saving = ForkedLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_replace_locks)
