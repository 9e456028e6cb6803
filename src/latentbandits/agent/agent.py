"""A policy online: ask for a decision, tell its rewards."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Never, Self

import numpy as np

from latentbandits.agent import file
from latentbandits.agent import rewards as ends
from latentbandits.agent.base import Seen
from latentbandits.agent.decision import (
    EARLIEST,
    SESSION_DIGITS,
    Decision,
    Name,
    Outcome,
    warn_of_dropping,
    warn_of_one_side,
)
from latentbandits.agent.events import rewarded
from latentbandits.agent.explain import Explanation, explanation
from latentbandits.agent.feeding import feed
from latentbandits.agent.inputs import online, received
from latentbandits.agent.journal import Undo, heading
from latentbandits.agent.picture import shown, written
from latentbandits.agent.processes import OneCall, refuse_call, refuse_in_children
from latentbandits.agent.spec import Expected, Spec
from latentbandits.agent.state import State
from latentbandits.agent.steps import Steps, bind
from latentbandits.agent.telling import Journal, Telling
from latentbandits.files import write_whole
from latentbandits.protocols import LARGEST_REWARD, Policy
from latentbandits.settings import InvalidValueError


class Agent(Telling):
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
        Decisions that may wait; beyond it the oldest is dropped, or its window closes early, so that rewards that never arrive cost no
        memory. The first time it happens there is an `OpenDecisionsWarning`; `stats` counts.
    floor : float
        Share of decisions that play any available arm, each with the same probability. Like those of the control arm they are learned from,
        but they are no probes: one that a policy has planned for such a round waits, or is skipped.
    holdback : float
        Share of subjects that always get the arm `control`. A hash decides whether a subject that `ask` names is held back, so
        it stays there; probabilities are taken over subjects.
    control : str or int, optional
        The arm of subjects that are held back. While it is not available, none is.
    window : float, optional
        Seconds that a decision waits for its reward. When they are over it is learned, by the reward that was told or by `default`, in the
        order of decisions, at the next call. A reward that comes later is ``"late"``: counted, and not learned.
    default : float, optional
        The reward of a decision whose window is over without one: 0 for clicks. If not given, it is dropped, and nothing is learned.
    learn : str, optional
        ``"at_window"``: when the window closes, which is right whatever the delays are. ``"censored"``: then too, but every choice takes
        into account which open decisions have a reward by now, and which have none at their age; of rewards that are nothing or an amount,
        and the default of policies that can. ``"at_once"``: when the reward arrives, for delays that do not depend on the reward; of clicks
        it would see the clicks first and their absence later.
    reward_range, outside : (low, high) and str, optional
        What happens to a reward outside the range: ``"refuse"``, or ``"clip"`` to its end. `stats` counts both.
    corrections : int
        How many of the decisions that ended last ``tell(..., correct=True)`` can replace the reward of after it was learned. They are
        learned anew from there, for which two copies of the policy's memory and the events of up to twice as many decisions are kept.
    guardrail : float, optional
        Least mean, between 0 and 1, of a second metric that `tell` is told as `guard`. An arm that certainly breaks it in a regime is not
        offered in that regime; the control arm always is. `guarded` shows all of it; `retire` and `add` give an arm another chance.
    clock : callable, optional
        Returns seconds, for a simulation or a log of one's own; the system's clock if not given.
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

    Clicks are told when they happen; what is not clicked within the window counts as 0:

    >>> seconds = 0.0
    >>> agent = lb.Agent("ts", arms=["red", "blue"], window=60, default=0.0, clock=lambda: seconds)
    >>> first, second = agent.ask(), agent.ask()
    >>> agent.tell(second, 1.0), agent.stats.told
    ('accepted', 0)
    >>> seconds = 61.0
    >>> agent.tell(first, 1.0), agent.stats.told, agent.stats.expired
    ('late', 2, 1)
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
        window: float | None = None,
        default: float | None = None,
        learn: str | None = None,
        reward_range: tuple[float, float] | None = None,
        outside: str = "refuse",
        corrections: int = 0,
        guardrail: float | None = None,
        clock: Callable[[], float] | None = None,
        journal: Journal | None = None,
        compiled: bool | None = None,
    ) -> None:
        policy, names = online(policy, arms)
        rules = (window, default, learn, reward_range, outside, corrections, guardrail)
        spec = Spec(policy, tuple(names), seed, max_open, floor, holdback, control, *rules)
        try:
            spec = spec.checked(names)
        except InvalidValueError as refusal:
            raise refusal.at(owner="Agent") from None
        self._begin(State.fresh(spec), journal, clock)
        bind(policy, compiled, self._switch)

    def _begin(self, state: State, journal: Journal | None, clock: Callable[[], float] | None) -> None:
        """Begin with a state."""
        if clock is not None:
            if not callable(clock):
                raise InvalidValueError("Agent", "clock", clock, "a function that returns seconds")
            # ids have their number of digits from 1978 on; a clock may begin at 0
            self._now_us = lambda: (now := round(clock() * 1e6)) + EARLIEST * (now < EARLIEST)  # type: ignore[method-assign]
        if journal is not None and not callable(journal):
            raise InvalidValueError("Agent", "journal", journal, "a function that takes an event")
        self._state, self._player, self._journal = state, state.player, journal
        self._heading = None if journal is None else heading(state)
        self._session = os.urandom(SESSION_DIGITS // 2).hex()
        self._lock, self._saving = OneCall(), OneCall()
        self._compiled = self._warned = self._warned_of_one_side = False
        self._unanswered: OrderedDict[str, None] = OrderedDict()  # whose window closed without a reward, the last ones
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
        if state.is_full and not self._warned and ends.closing(state, self._now_us()) is None:
            self._warned = True
            warn_of_dropping(state.spec.max_open)
        if not (state.counts["varied"] or self._warned_of_one_side) and (problem := ends.one_sided(state)) is not None:
            self._warned_of_one_side = True
            warn_of_one_side(problem)
        with lock.raw:
            if lock.busy:
                refuse_call()
            try:
                lock.busy = True
                inputs, now_us = state.prepare(context, available, subject), self._now_us()
                if state.spec.window is not None:
                    self._close(now_us)
                while state.is_full:
                    self._end(ends.making_room(state, now_us))
                at_us = state.next_us(now_us)
                key = f"{at_us:x}{self._session}"
                if self._journal is None:
                    made = state.decide(key, at_us, *inputs)
                else:
                    undo = Undo(state, key)
                    try:
                        made = state.decide(key, at_us, *inputs)
                        self._record(state.event(key, at_us, inputs, made)._replace(scores=None))  # JSON holds no bytes
                    except BaseException:
                        undo()
                        raise
                if state.past is not None:
                    state.remember(state.event(key, at_us, inputs, made))
                return made[0]
            finally:
                lock.busy = False

    def tell(
        self,
        decision: Decision | str,
        rewards: float | Sequence[float] | np.ndarray,
        *,
        correct: bool = False,
        guard: float | None = None,
    ) -> Outcome:
        """Tell the rewards of a decision, given by itself or its id: one per group (a plain number for one group).

        They are learned at once or, of a decision with a window, when that closes. Returns ``"accepted"``; ``"late"`` if the window has
        closed without a reward (of the last `max_open` such decisions, since the agent was made or loaded): it is counted, and not learned.
        Bad input changes nothing. A decision that is not open is refused: its rewards are never taken for another's.

        With `correct`, rewards that were told before are replaced, and the answer is ``"corrected"``: while the window is open, and after
        they were learned if `corrections` of the agent reaches so far back. A `guard`, the second metric of the `guardrail`, counts once,
        with the first rewards.
        """
        lock = self._lock
        with lock.raw:
            if lock.busy:
                refuse_call()
            try:
                lock.busy = True
                state = self._state
                spec = state.spec
                if correct or guard is not None or spec.window is not None or spec.reward_range or state.past:
                    return self._tell(decision, rewards, correct, guard)
                key = self._player.find(decision, self._session)
                # the usual case first, since checks take longer than learning
                if type(rewards) is float and self._groups == 1 and -LARGEST_REWARD <= rewards <= LARGEST_REWARD:
                    self._rewards[0] = rewards
                else:
                    self._rewards[:] = received(rewards, self._groups)
                if self._journal is None:  # nobody asks when it was
                    state.end("reward", key, state.last_us, self._rewards)
                    return "accepted"
                at_us, undo = max(self._now_us(), state.last_us), Undo(state, key)
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
            self._close(self._now_us())
            key = self._player.find(decision, self._session)
            if self._state.open[key].told is not None:
                raise InvalidValueError("Agent", "decision", key, "one whose rewards were not told yet")
            self._write(ends.ending(self._state, key, "asked", self._now_us()))
        return "accepted"

    def add(self, name: Name) -> None:
        """Add an arm: a fresh one that leaves the others as they are, or a retired one with all that is known of it."""
        with self._lock:
            self._happen("add", self._state.adding(name))

    def retire(self, name: Name) -> None:
        """Never play an arm again. Its open decisions still take rewards, and `add` brings it back."""
        with self._lock:
            self._happen("retire", self._state.retiring(name))

    def feed(self, log: Any) -> None:
        """Learn from a log of decisions that somebody else made, as `Log.read` returns it: in order, deciding and claiming nothing.

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
            self._state.remembering()

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
        clock: Callable[[], float] | None = None,
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
        clock, journal, compiled
            As for a new agent.
        """
        state = file.read(Path(path).read_bytes(), path, policy)
        agent: Self = cls.__new__(cls)
        agent._begin(state, journal, clock)
        bind(state.player.policy, compiled, agent._switch)
        return agent
