"""An agent belongs to the process that made it: a forked child that used its copy would repeat the parent's random numbers."""

import os
import weakref
from types import TracebackType
from typing import Any

from latentbandits.settings import Refusal

_agents: "weakref.WeakSet[Any]" = weakref.WeakSet()


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
        agent._lock = agent._saving = ForkedLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_replace_locks)
