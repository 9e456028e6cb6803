"""A policy online: ask for a decision, tell its rewards."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import time_ns
from typing import Any, Never, Self

import numpy as np

from latentbandits.agent import file
from latentbandits.agent.base import BaseAgent, Seen
from latentbandits.agent.decision import SESSION_DIGITS, Decision, Name, Outcome, warn_of_dropping
from latentbandits.agent.events import Event, Payload, rewarded, text
from latentbandits.agent.explain import Explanation, explanation
from latentbandits.agent.feeding import feed
from latentbandits.agent.inputs import online, received
from latentbandits.agent.journal import Undo, check_decision, check_heading, heading, standing
from latentbandits.agent.picture import shown, written
from latentbandits.agent.processes import OneCall, refuse_call, refuse_in_children
from latentbandits.agent.spec import Expected, Spec
from latentbandits.agent.state import State
from latentbandits.agent.steps import Steps, bind
from latentbandits.files import write_whole
from latentbandits.protocols import LARGEST_REWARD, Policy
from latentbandits.settings import InvalidValueError

Journal = Callable[[Event], object]


class Agent(BaseAgent):
    """A policy online.

    Several decisions may be open at once, and rewards may come late, out of order or never: every decision carries what the policy needs
    to learn from it. The lag of a policy that looks back is by definition the last *completed* decision: the one whose rewards arrived
    last, whenever it was made.

    Threads may share an agent. It belongs to one process: in a forked one it refuses every call.

    Parameters
    ----------
    policy : Policy or str
        For instance ``latentbandits.policy("adasp-ucb", arms=3)``, or a text that `latentbandits.policy` takes: a name, or the path of a
        ``.toml`` file that ``latentbandits tune`` wrote.
    arms : list of names, or int, optional
        The arms, as texts or integers. A number stands for the integers below it; if not given, it is the policy's, or 2.
    seed : int
        Names the agent's randomness.
    max_open : int
        Decisions that may wait for rewards; beyond it the oldest is dropped, so that rewards that never arrive cost no memory. The first
        time it happens there is an `OpenDecisionsWarning`; `stats` counts.
    floor : float
        Share of decisions that play any available arm, each with the same probability. Like those of the control arm they are learned from,
        but they are no probes: one that a policy has planned for such a round waits, or is skipped.
    holdback : float
        Share of subjects that always get the arm `control`. A hash decides whether a subject that `ask` names is held back, so
        it stays there; probabilities are taken over subjects.
    control : str or int, optional
        The arm of subjects that are held back. While it is not available, none is.
    journal : callable, optional
        Called with every event, a tuple of plain values that JSON can hold, before anybody hears of it: if it raises, nothing has changed.
        The first one says policy, settings and arms. It must not use the agent, which would refuse. `replay` repeats a journal.
    compiled : bool, optional
        Whether to run machine code: True compiles now, False never; if not given, the agent answers at once, interpreted, and goes on with
        machine code when it is there, which changes no choice.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent("adasp-ucb", arms=["red", "blue"], seed=7)
    >>> first, second = agent.ask(), agent.ask()
    >>> first.arm, first.probability
    ('red', 1.0)
    >>> agent.tell(second.id, 0.4), agent.tell(first.id, 0.9)
    ('accepted', 'accepted')
    >>> agent.tell(first.id, 0.9)
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: Agent: decision is '...' but must be an open one (this one is completed or forgotten)

    Arms come and go:

    >>> agent.add("green")
    >>> agent.retire("blue")
    >>> agent.ask(available=["blue", "green"]).arm
    'green'
    """

    def __init__(
        self,
        policy: Policy | str,
        arms: Sequence[Name] | int | None = None,
        seed: int = 0,
        max_open: int = 10_000,
        *,
        floor: float = 0.0,
        holdback: float = 0.0,
        control: Name | None = None,
        journal: Journal | None = None,
        compiled: bool | None = None,
    ) -> None:
        policy, names = online(policy, arms)
        spec = Spec(policy, tuple(names), seed, max_open, floor, holdback, control)
        self._begin(State.fresh(spec.checked(names)), journal)
        bind(policy, compiled, self._switch)

    def _begin(self, state: State, journal: Journal | None) -> None:
        """Begin with a state."""
        if journal is not None and not callable(journal):
            raise InvalidValueError("Agent", "journal", journal, "a function that takes an event")
        self._state, self._player, self._journal = state, state.player, journal
        self._heading = None if journal is None else heading(state)
        self._session = os.urandom(SESSION_DIGITS // 2).hex()
        self._lock, self._saving = OneCall(), OneCall()
        self._compiled = self._warned = False
        policy = state.player.policy
        self._groups = policy.groups
        self._rewards = np.zeros(self._groups)
        advice = "a forked process must make or load an agent of its own, and save it to a path of its own"
        refuse_in_children(self, advice)

    def _switch(self, steps: Steps) -> None:
        """Go on with machine code, which changes no choice."""
        with self._lock:
            self._player.use(steps)
            self._compiled = True

    @property
    def compiled(self) -> bool:
        """Whether it runs machine code by now."""
        return self._compiled

    def _look(self, look: Callable[[State], Seen]) -> Seen:
        with self._lock:
            return look(self._state)

    def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        subject: Name | None = None,
    ) -> Decision:
        """Return a decision.

        Parameters
        ----------
        context : sequence of float, optional
            Observed covariates, as many as the policy's setting `covariates` says.
        available : names of arms, optional
            Arms that can be played now; all if not given. Retired ones are left out.
        subject : str or int, optional
            For whom it is, such as a visitor: one that is held back stays so.
        """
        state, lock = self._state, self._lock
        # outside the lock, and before anything changes: what is called may use the agent, or make the warning an error
        if state.is_full and not self._warned:
            self._warned = True
            warn_of_dropping(state.spec.max_open)
        with lock.raw:
            if lock.busy:
                refuse_call()
            try:
                lock.busy = True
                inputs = state.prepare(context, available, subject)
                while state.is_full:
                    self._happen("censor", {"cause": "room"}, next(iter(state.open)))
                key, at_us = state.next_id(time_ns() // 1000, self._session)
                if self._journal is None:
                    return state.decide(key, at_us, *inputs)[0]
                undo = Undo(state, key)
                try:
                    made = state.decide(key, at_us, *inputs)
                    self._record(state.event(key, at_us, inputs, made)._replace(scores=None))  # JSON holds no bytes
                except BaseException:
                    undo()
                    raise
                return made[0]
            finally:
                lock.busy = False

    def tell(self, decision: Decision | str, rewards: float | Sequence[float] | np.ndarray) -> Outcome:
        """Learn from the rewards of a decision, given by itself or its id: one per group (a plain number for one group).

        Returns ``"accepted"``, as the agent of a store does, which knows more outcomes. Bad input changes nothing. A decision that is not
        open is refused: its rewards are never taken for another's.
        """
        lock = self._lock
        with lock.raw:
            if lock.busy:
                refuse_call()
            try:
                lock.busy = True
                key, state = self._player.find(decision, self._session), self._state
                # the usual case first, since checks take longer than learning
                if type(rewards) is float and self._groups == 1 and -LARGEST_REWARD <= rewards <= LARGEST_REWARD:
                    self._rewards[0] = rewards
                else:
                    self._rewards[:] = received(rewards, self._groups)
                if self._journal is None:  # nobody asks when it was
                    state.end("reward", key, state.last_us, self._rewards)
                    return "accepted"
                at_us, undo = max(time_ns() // 1000, state.last_us), Undo(state, key)
                try:
                    state.end("reward", key, at_us, self._rewards)
                    self._record(rewarded(state.head, "reward", at_us, key, self._rewards.tolist()))
                except BaseException:
                    undo()
                    raise
                return "accepted"
            finally:
                lock.busy = False

    def forget(self, decision: Decision | str) -> Outcome:
        """Drop a decision whose rewards will never arrive."""
        with self._lock:
            self._happen("censor", {"cause": "asked"}, self._player.find(decision, self._session))
        return "accepted"

    def add(self, name: Name) -> None:
        """Add an arm: a fresh one that leaves the others as they are, or a retired one with all that is known of it."""
        with self._lock:
            self._happen("add", self._state.adding(name))

    def retire(self, name: Name) -> None:
        """Never play an arm again. Its open decisions still take rewards, and `add` brings it back."""
        with self._lock:
            self._happen("retire", self._state.retiring(name))

    def _happen(self, kind: str, payload: Payload, key: str | None = None) -> None:
        """Let the next event happen, once the journal has it."""
        at_us = max(time_ns() // 1000, self._state.last_us)
        event = Event(self._state.head + 1, kind, at_us, key, body=text(payload))
        if self._journal is not None:
            self._record(event)
        self._state.apply(event)

    def _record(self, event: Event) -> None:
        """Give an event to the journal; the first time, what it begins with comes before it."""
        assert self._journal is not None
        if self._heading is not None:
            self._journal(self._heading)
            self._heading = None
        self._journal(event)

    def feed(self, log: Any) -> None:
        """Learn from a log of decisions that somebody else made, as `Log.read` returns it: in order, as if this agent had made them.

        Arms are found by name; those that this agent does not have are added, learned from and retired. Journals receive nothing of it.

        Examples
        --------
        >>> import latentbandits as lb
        >>> agent = lb.Agent("sw-ucb", arms=2)
        >>> agent.feed(lb.Log.read({"action": [0, 1, 0, 1], "reward": [0.1, 0.9, 0.2, 0.8]}))
        >>> agent.ask().arm
        1
        """
        with self._lock:
            feed(self._player, log)

    def apply(self, event: Event | Sequence[object]) -> Decision | None:
        """Repeat an event that a journal received, or its values as JSON has them, to the same bits; return the decision if it is one.

        An agent that was made, or loaded, as the one that wrote the journal was, and that applies its events in their order, is that
        agent. Refused are the journal of an agent with another policy, other settings or arms, and a decision that comes out otherwise
        here, as when a record is missing. `replay` applies a whole journal. Nothing is written to the agent's own journal. The log of a
        store has the same events (`latentbandits.store`).

        Examples
        --------
        >>> import latentbandits as lb
        >>> events = []
        >>> agent, twin = lb.Agent("ucb1", journal=events.append), lb.Agent("ucb1")
        >>> agent.tell(agent.ask(), 0.5)
        'accepted'
        >>> for event in events:
        ...     _ = twin.apply(event)
        >>> twin.memory.sums.tolist()
        [0.5, 0.0]
        """
        with self._lock:
            try:
                return self._repeat(event if isinstance(event, Event) else Event(*event))  # type: ignore[arg-type]
            except InvalidValueError as refusal:
                raise refusal.at(owner="Agent") from None
            except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as problem:
                rule = f"one that a journal received ({type(problem).__name__}: {problem})"
                raise InvalidValueError("Agent", "event", event, rule) from problem

    def _repeat(self, event: Event) -> Decision | None:
        state = self._state
        if event.kind == "create":
            check_heading(state, event)
            if event.seq == state.head:  # where a journal begins nothing happens
                return None
        if event.kind != "decide" or event.arm is None:
            return state.apply(event)
        undo = Undo(state, event.decision)
        try:
            came_out = state.apply(event._replace(arm=None))
            assert came_out is not None
            check_decision(came_out, event, state.player.names)
        except BaseException:
            undo()
            raise
        return came_out

    def replay(self, events: Iterable[Event | Sequence[object]]) -> None:
        """Repeat a journal from its beginning, as `apply` does; records of calls that were taken back are left out.

        A call whose journal fails is taken back, though its record may have been written; the next one has its number.

        Examples
        --------
        >>> import latentbandits as lb
        >>> events = []
        >>> agent, twin = lb.Agent("ucb1", journal=events.append), lb.Agent("ucb1", arms=["red", "blue"])
        >>> decision = agent.ask()
        >>> twin.replay(events)
        Traceback (most recent call last):
        latentbandits.settings.InvalidValueError: Agent: journal's arms is [0, 1] but must be ['red', 'blue'], as this agent has ...
        """
        for event in standing(events):
            self.apply(event)

    def explain(self, decision: Decision | str) -> Explanation:
        """Return why an open decision was made: every arm's value, standard error, bonus, index and probability. ``print`` shows a table.

        Examples
        --------
        >>> import latentbandits as lb
        >>> agent = lb.Agent("ucb1", arms=["red", "blue"])
        >>> for reward in (0.5, 0.25):
        ...     _ = agent.tell(agent.ask(), reward)
        >>> print(agent.explain(agent.ask()))
        decision ...: red, the arm with the highest index
        arm   value  std_error  bonus  index  probability
        red   0.500          -  1.665  2.165        1.000  played
        blue  0.250          -  1.665  1.915        0.000
        """
        with self._lock:
            return explanation(self._player.find(decision, self._session), self._player)

    __repr__ = written
    _repr_html_ = shown  # what a notebook shows

    def __getstate__(self) -> Never:
        raise TypeError("Agent: an agent cannot be pickled or copied; use save and load")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a file, whole or not at all.

        The file is a zip archive of NumPy arrays and one JSON document that describes them. It holds everything: the policy's settings, its
        memory (without fields that the policy names in `scratch`), the random stream, the arms and the open decisions. It replaces
        whatever is at the path: each process needs a path of its own, or a store (`latentbandits.open_agent`).
        """
        with self._saving:
            with self._lock:
                contents = file.contents(self._state)
            write_whole(Path(path), file.written(contents))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        policy: Expected = None,
        *,
        journal: Journal | None = None,
        compiled: bool | None = None,
    ) -> Self:
        """Return the agent that was saved: it makes exactly the choices that the saved one would have made.

        Parameters
        ----------
        path : path
            A file written by `save`.
        policy : Policy, class or name, optional
            What the file is expected to hold: a file of another policy (or, for a policy rather than a class, with other settings) is
            refused. Needed for a policy from outside this package, since a file is not allowed to choose which code runs.
        journal, compiled
            As for a new agent.
        """
        state = file.read(Path(path).read_bytes(), path, policy)
        agent: Self = cls.__new__(cls)
        agent._begin(state, journal)
        bind(state.player.policy, compiled, agent._switch)
        return agent
