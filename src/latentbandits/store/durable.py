"""An agent that is on disk: every acknowledged call survives whatever happens to the process."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Never, Self

import numpy as np

from latentbandits.agent.base import BaseAgent, Seen
from latentbandits.agent.decision import Decision, Name, Outcome, warn_of_one_side
from latentbandits.agent.explain import Explanation
from latentbandits.agent.rewards import ENOUGH, one_sided
from latentbandits.agent.spec import ANY_TIME, USUAL, Spec, as_experiment
from latentbandits.agent.state import State
from latentbandits.protocols import Policy
from latentbandits.settings import InvalidValueError
from latentbandits.store import requests
from latentbandits.store.addresses import is_remote, path_of, place_of, storage_of
from latentbandits.store.errors import ConflictError, FencedError
from latentbandits.store.gain import Gain
from latentbandits.store.ledger import Ledger

_PATIENCE = 10.0  # seconds that `open_agent` waits while another process holds the experiment: twice as long as one that has died does
_shared: dict[str, tuple[Ledger, int]] = {}  # the ledgers of this process, and how many agents use each
_opening = threading.Lock()
_parents: list[
    tuple[Ledger, int]
] = []  # of a forked process: the ledgers of the one that forked, which it must neither use nor close


def _begin_anew() -> None:
    global _opening
    _parents.extend(_shared.values())
    _shared.clear()
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_begin_anew)


class DurableAgent(BaseAgent):
    """A policy online whose every acknowledged call is on disk. `latentbandits.open_agent` makes one.

    ``ask`` and ``tell`` are those of `Agent`. A process that was killed opens the store again and goes on exactly: decisions that
    were made are open, rewards that were told are learned, once. Threads may share it; those that call at the same time share one write to
    the disk. It belongs to one process: in a forked one it refuses every call, and a second one that opens the same file is refused.
    """

    def __init__(self, ledger: Ledger, name: str, place: str) -> None:
        self._ledger, self._place, self._closed = ledger, place, False
        self._asked, self._warned_of_one_side = 0, False
        self.experiment = name

    def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        subject: Name | None = None,
        *,
        key: str | None = None,
    ) -> Decision:
        """Return a decision that is on disk.

        Parameters
        ----------
        context, available, subject
            As for `Agent.ask`.
        key : str, optional
            Names the request: asked again with the same key, after a crash say, the decision is the same one. Another request with this
            key is refused.
        """
        if available is not None and not isinstance(available, str | bytes) and isinstance(available, Iterable):
            available = list(available)
        decision: Decision = self._call(requests.Decide(self.experiment, context, available, subject, key))
        self._asked += 1
        if (
            self._asked % ENOUGH == 0
            and not self._warned_of_one_side
            and (problem := self._look(one_sided)) is not None
        ):
            self._warned_of_one_side = True
            warn_of_one_side(problem)
        return decision

    def tell(
        self,
        decision: Decision | str,
        rewards: float | Sequence[float] | np.ndarray,
        *,
        correct: bool = False,
        guard: float | None = None,
    ) -> Outcome:
        """Tell the rewards of a decision, given by itself or its id; of one with a window they are learned when that closes.

        Returns ``"accepted"``; ``"duplicate"`` if the same was told before, which changes nothing; ``"late"`` if the decision has expired
        or was censored: it is noted, and not learned. While the agent is frozen, killed or archived, what is accepted is noted and not
        learned either. Another value than before, and a decision of nobody, are refused; with `correct` another value replaces the one
        before, which is ``"corrected"``: see `Agent.tell`.
        """
        return self._tell(requests.Reward(self.experiment, _id(decision), rewards, correct=correct, guard=guard))

    def forget(self, decision: Decision | str) -> Outcome:
        """End a decision whose rewards will never arrive: it is censored, and nothing is learned from it."""
        return self._tell(requests.Censor(self.experiment, _id(decision)))

    def add(self, name: Name) -> None:
        """Add an arm: a fresh one that leaves the others as they are, or a retired one with all that is known of it."""
        self._call(requests.Change(self.experiment, "add", {"arm": name}))

    def retire(self, name: Name) -> None:
        """Never play an arm again. Its open decisions still take rewards, and `add` brings it back."""
        self._call(requests.Change(self.experiment, "retire", {"arm": name}))

    def configure(self, **changes: object) -> None:
        """Change settings from now on: floor, holdback, control, window, default, learn, reward_range, outside, guardrail or max_open."""
        self._call(requests.Change(self.experiment, "configure", changes))

    @property
    def status(self) -> str:
        """``live``; ``shadow`` plays the control arm and learns; ``frozen`` learns nothing; ``killed`` plays the control arm alone."""
        return self._look(lambda state: state.status)

    @status.setter
    def status(self, status: str) -> None:
        self._call(requests.Change(self.experiment, "status", {"status": status}))

    @property
    def gain(self) -> Gain:
        """What the policy gains against the subjects that are held back, with an interval that holds whenever one looks; see `Gain`."""
        self._refuse_closed()
        return self._ledger.gain(self.experiment)

    @property
    def digest(self) -> str:
        """The digest of everything: the same for two agents that are the same to the last bit."""
        self._refuse_closed()
        return self._ledger.digest(self.experiment)

    def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision was made, however long ago; see `Agent.explain`."""
        self._refuse_closed()
        return self._ledger.explain(self.experiment, _id(decision))

    def _call(self, request: requests.Request) -> Any:
        self._refuse_closed()
        return self._ledger.call(request)

    def _tell(self, request: requests.Request) -> Outcome:
        outcome: Outcome = self._call(request)
        return outcome

    def _look(self, look: Callable[[State], Seen]) -> Seen:
        self._refuse_closed()
        return self._ledger.state(self.experiment, look)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise InvalidValueError("agent", "store", self._place, "open (this agent was closed; open it again)")

    def __getstate__(self) -> Never:
        raise TypeError("DurableAgent: an agent cannot be pickled or copied; it is on disk")

    def close(self) -> None:
        """Give the file back, once all agents of this process that use it are closed. Nothing is lost without it."""
        with _opening:
            if self._closed:
                return
            self._closed = True
            if self._place not in _shared or _shared[self._place][0] is not self._ledger:
                return  # of the process that forked this one
            ledger, users = _shared[self._place]
            if users > 1:
                _shared[self._place] = ledger, users - 1
            else:
                del _shared[self._place]
                ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_agent(
    store: str | os.PathLike[str],
    experiment: str,
    policy: Policy | str | None = None,
    arms: Sequence[Name] | int | None = None,
    *,
    compiled: bool | None = None,
    **settings: Any,
) -> DurableAgent:
    """Return an agent whose every acknowledged call is on disk: the one that the store has, or a new one.

    The same line makes it and opens it again: what is given must then be what the store has. Arms that `add` and `retire` have changed
    since are as they were left.

    Parameters
    ----------
    store : str or path
        ``"sqlite:///decisions.db"``, a file beside the program; ``"sqlite:////var/lib/decisions.db"``, one anywhere; a path; or
        ``"postgresql://user@host/database"``, which several processes may share: each experiment is held by one of them at a time, and
        goes over to another a few seconds after that one has died.
    experiment : str
        Which of the store's experiments; it may have many.
    policy, arms, compiled
        As for `Agent`. A new experiment without a policy has ``"state-library"``. Both may be left out if the experiment exists, but not a
        policy from outside this package, since a file is not allowed to choose which code runs.
    **settings
        ``seed``, ``max_open``, ``floor``, ``holdback``, ``control``, ``window``, ``default``, ``learn``, ``reward_range``, ``outside``,
        ``corrections`` and ``guardrail``, as for `Agent`.

    Examples
    --------
    >>> import os, tempfile
    >>> import latentbandits as lb
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "decisions.db")
    >>> agent = lb.open_agent(f"sqlite:///{path}", "offers", policy="ucb1", arms=["red", "blue"])
    >>> decision = agent.ask()
    >>> agent.tell(decision, 0.5)
    'accepted'
    >>> agent.close()

    Opened again, it goes on:

    >>> agent = lb.open_agent(f"sqlite:///{path}", "offers", policy="ucb1", arms=["red", "blue"])
    >>> agent.ask().arm, agent.tell(decision.id, 0.5)
    ('blue', 'duplicate')
    >>> agent.close()
    >>> folder.cleanup()
    """
    name, place = as_experiment(experiment), place_of(store)
    # refused before any file is made
    wanted = None if policy is None and arms is None else Spec.of(USUAL if policy is None else policy, arms, **settings)
    expected = None if wanted is None or policy is None else wanted.policy
    with _opening:
        if wanted is None and not is_remote(store) and not path_of(store).exists():
            raise _without_arms(name)
        ledger, users = _shared.get(place) or (Ledger(storage_of(store), compiled=compiled), 0)
        try:
            if not _made(ledger, name, wanted):
                _wait_for(lambda: ledger.open(name, expected))
                _compare(
                    ledger, name, expected, wanted.arms if wanted is not None and arms is not None else None, settings
                )
        except BaseException:
            if not users:
                ledger.close()
            raise
        _shared[place] = ledger, users + 1
        return DurableAgent(ledger, name, place)


def _without_arms(name: str) -> InvalidValueError:
    return InvalidValueError("open_agent", "arms", None, f"given, since the store has no experiment {name} yet")


def _made(ledger: Ledger, name: str, wanted: Spec | None) -> bool:
    """Make an experiment, unless there is one; return whether it was made."""
    if ledger.storage.experiment(name) is not None:
        return False
    if wanted is None:
        raise _without_arms(name)
    with contextlib.suppress(ConflictError):  # another process was faster
        ledger.call(requests.Create(name, wanted))
        return True
    return False


def _compare(
    ledger: Ledger, name: str, expected: Policy | None, arms: tuple[Name, ...] | None, settings: dict[str, Any]
) -> None:
    """Refuse what is given if it is not what the store has."""
    present, playable, names = ledger.state(name, lambda state: (state.spec, state.arms, state.player.names))
    if expected is not None:
        Spec.read(present.plain(), expected)  # refused also if this process has it open already
    if arms is not None and arms not in (present.arms, playable, tuple(names)):
        rule = f"{list(present.arms)}, as the store has it (`add` and `retire` change arms)"
        raise InvalidValueError("open_agent", "arms", list(arms), rule)
    given = present.changed(settings, names)
    for key in settings:
        before, value = getattr(present, key), getattr(given, key)
        if value != before:
            change = "`configure` changes it" if key in ANY_TIME else "it cannot change"
            raise InvalidValueError("open_agent", key, value, f"{before!r}, as the store has it ({change})")


def _wait_for(act: Callable[[], None]) -> None:
    """Do something as soon as no other process holds the experiment."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return act()
        except FencedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _id(decision: Decision | str) -> str:
    return decision.id if isinstance(decision, Decision) else decision
