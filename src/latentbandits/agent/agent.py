"""A policy online: ask for a decision, tell its rewards."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from time import time, time_ns
from typing import Any, Never, Self

import numpy as np

from latentbandits.agent import file
from latentbandits.agent.contents import Contents
from latentbandits.agent.decision import (
    EARLIEST,
    SESSION_DIGITS,
    TIME_DIGITS,
    Decision,
    Name,
    Stats,
    is_id,
    warn_of_dropping,
)
from latentbandits.agent.explain import Explanation, explanation
from latentbandits.agent.feeding import feed
from latentbandits.agent.inputs import observed, received
from latentbandits.agent.mixing import mixing
from latentbandits.agent.names import as_name, online, refuse_settings
from latentbandits.agent.picture import shown, written
from latentbandits.agent.player import Player
from latentbandits.agent.processes import OneCall, refuse_call, refuse_in_children
from latentbandits.agent.records import Journal, as_journal, asked, field
from latentbandits.agent.steps import bind
from latentbandits.memories import copied
from latentbandits.protocols import LARGEST_REWARD, Policy
from latentbandits.random import stream
from latentbandits.settings import Refusal, whole


class Agent:
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
        Share of units that always get the arm `control`. A unit that `ask` names is held back or not by a hash, so that it stays where it
        is; probabilities are taken over units.
    control : str or int, optional
        The arm of units that are held back. While it is not available, none is.
    journal : callable, optional
        Called with every record, a small dict that JSON can hold, before it takes effect: if it raises, nothing has changed. It must not
        use the agent, which would refuse. `apply` repeats a record.
    compiled : bool, optional
        Whether to run machine code: True compiles now, False never; if not given, the agent answers at once, interpreted, and goes on with
        machine code when it is there, which changes no choice.
    **settings
        None: settings of the policy belong to the policy, ``latentbandits.policy("state-library", arms=2, covariates=2)``.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent("adasp-ucb", arms=["red", "blue"], seed=7)
    >>> first, second = agent.ask(), agent.ask()
    >>> first.arm, first.probability
    ('red', 1.0)
    >>> agent.tell(second.id, 0.4)
    >>> agent.tell(first.id, 0.9)
    >>> agent.tell(first.id, 0.9)
    Traceback (most recent call last):
    latentbandits.settings.Refusal: Agent: decision is '...' but must be an open one (this one is completed or forgotten)

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
        **settings: Never,
    ) -> None:
        refuse_settings("Agent", policy, arms, settings, [*signature(Agent).parameters][1:-1])
        made, names = online(policy, arms)
        seed = whole("Agent", "seed", seed, least=0)
        mix = mixing(made, names, seed, floor, holdback, control)
        most = whole("Agent", "max_open", max_open, least=1)
        self._begin(Contents.fresh(made, stream(seed), names, mix, most), journal)
        bind(made, compiled, self._switch)

    def _begin(self, contents: Contents, journal: Journal | None) -> None:
        """Begin with what a file holds, or would hold."""
        self._player = Player(contents)
        self._last = int(contents.newest[:TIME_DIGITS], 16) if is_id(contents.newest) else EARLIEST
        self._session = os.urandom(SESSION_DIGITS // 2).hex()
        self._journal, self._warned = as_journal(journal), False
        self._revisions: dict[Path, str | None] = {}
        self._lock: Any = OneCall()
        self._saving: Any = OneCall()
        self._raw, self._again, self._compiled = self._lock.raw, self._lock.again, False
        self._units, self._covariates = contents.policy.units, getattr(contents.policy, "covariates", 0)
        self._rewards, self._nothing = np.zeros(self._units), np.zeros(0)
        refuse_in_children(
            self, "a forked process must make or load an agent of its own, and save it to a path of its own"
        )

    def _switch(self, made: list[Callable[..., Any]]) -> None:
        """Go on with machine code, which changes no choice."""
        with self._lock:
            self._player.choose, self._player.learn = made
            self._compiled = True

    @property
    def compiled(self) -> bool:
        """Whether it runs machine code by now."""
        return self._compiled

    @property
    def policy(self) -> Policy:
        """The policy, with its settings."""
        with self._lock:
            return self._player.policy  # type: ignore[no-any-return]

    @property
    def memory(self) -> Any:
        """What the policy remembers: a copy."""
        with self._lock:
            return copied(self._player.memory)

    @property
    def belief(self) -> Any:
        """What the policy believes about the hidden state, if it has beliefs: see ``StateLibrary.belief``."""
        with self._lock:
            return self._player.belief()

    @property
    def arms(self) -> tuple[Name, ...]:
        """Names of the arms that can be played."""
        with self._lock:
            return tuple(name for arm, name in enumerate(self._player.names) if arm not in self._player.retired)

    @property
    def retired(self) -> tuple[Name, ...]:
        """Names of the arms that are retired."""
        with self._lock:
            return tuple(name for arm, name in enumerate(self._player.names) if arm in self._player.retired)

    @property
    def open(self) -> tuple[str, ...]:
        """Ids of the decisions that wait for rewards, oldest first."""
        with self._lock:
            return tuple(self._player.open)

    @property
    def stats(self) -> Stats:
        """What happened to the agent's decisions; see `Stats`."""
        with self._lock:
            return self._player.stats(time())

    def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        unit: Name | None = None,
    ) -> Decision:
        """Return a decision.

        Parameters
        ----------
        context : sequence of float, optional
            Observed covariates, as many as the policy's setting `covariates` says.
        available : names of arms, optional
            Arms that can be played now; all if not given. Retired ones are left out.
        unit : str or int, optional
            For whom it is, such as a visitor: one that is held back stays so.
        """
        seen = self._nothing if context is None and self._covariates == 0 else observed(context, self._covariates)
        # outside the lock, and before anything changes: what is called may use the agent, or make the warning an error
        if not self._warned and len(self._player.open) >= self._player.max_open:
            self._warned = True
            warn_of_dropping(self._player.max_open)
        if self._again():
            refuse_call()
        with self._raw:
            now = time_ns() // 1000
            if now <= self._last:
                now = self._last + 1
            return self._ask(now, hex(now)[2:] + self._session, seen, available, unit, self._journal)

    def _ask(
        self, now: int, known: str, seen: np.ndarray, available: Any, unit: Any, journal: Journal | None
    ) -> Decision:
        player = self._player
        offered = None if available is None else player.offered(available)
        if unit is not None:
            unit = as_name(unit, "unit")
        if journal is not None:
            journal(asked(known, seen, None if offered is None else [player.names[arm] for arm in offered], unit))
        self._last = now
        return player.decide(known, seen, offered, unit)

    def tell(self, decision: Decision | str | int, rewards: float | Sequence[float] | np.ndarray) -> None:
        """Learn from the rewards of a decision, given by itself or its id: one per unit (a plain number for one unit).

        Bad input changes nothing. A decision that is not open is refused: its rewards are never taken for another's.
        """
        if self._again():
            refuse_call()
        with self._raw:
            self._tell(decision, rewards, self._journal)

    def _tell(self, decision: Any, rewards: Any, journal: Journal | None) -> None:
        known, _ = self._player.find(decision, self._session)
        # the usual case first, since checks take longer than learning
        if type(rewards) is float and self._units == 1 and -LARGEST_REWARD <= rewards <= LARGEST_REWARD:
            self._rewards[0] = rewards
        else:
            self._rewards[:] = received(rewards, self._units)
        if journal is not None:
            journal({"event": "tell", "id": known, "rewards": self._rewards.tolist()})
        self._player.complete(known, self._rewards)

    def forget(self, decision: Decision | str | int) -> None:
        """Drop a decision whose rewards will never arrive."""
        with self._lock:
            self._forget(decision, self._journal)

    def _forget(self, decision: Any, journal: Journal | None) -> None:
        known, _ = self._player.find(decision, self._session)
        if journal is not None:
            journal({"event": "forget", "id": known})
        self._player.forget(known)

    def add(self, name: Name) -> None:
        """Add an arm: a fresh one that leaves the others as they are, or a retired one with all that is known of it."""
        with self._lock:
            self._add(name, self._journal)

    def _add(self, name: Any, journal: Journal | None) -> None:
        name = as_name(name)
        addition = self._player.addition(name)
        if journal is not None:
            journal({"event": "add", "arm": name})
        self._player.add(name, addition)

    def retire(self, name: Name) -> None:
        """Never play an arm again. Its open decisions still take rewards, and `add` brings it back."""
        with self._lock:
            self._retire(name, self._journal)

    def _retire(self, name: Any, journal: Journal | None) -> None:
        arm = self._player.retirable(name)
        if journal is not None:
            journal({"event": "retire", "arm": self._player.names[arm]})
        self._player.retire(arm)

    def name(self, regime: int, name: str) -> None:
        """Give a remembered state a name, by its number in the `belief`; it has it for as long as it is remembered.

        Examples
        --------
        >>> import latentbandits as lb
        >>> agent = lb.Agent("state-library")
        >>> for reward in (0.2, 0.9, 0.9):
        ...     agent.tell(agent.ask(), reward)
        >>> agent.name(agent.belief.states[0].number, "rain")
        >>> agent.belief.states[0].name
        'rain'
        """
        with self._lock:
            said = self._player.naming(regime, name)
            if self._journal is not None:
                self._journal({"event": "name", **said})
            self._player.name(said)

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

    def apply(self, record: Mapping[str, Any]) -> Decision | None:
        """Repeat what a journal received, to the same bits; return the decision if it was asked for one.

        An agent that was made, or loaded, as the one that wrote the journal was, and that applies its records in their order, is that
        agent. Nothing is written to the agent's own journal.

        Examples
        --------
        >>> import latentbandits as lb
        >>> records = []
        >>> agent, twin = lb.Agent("ucb1", journal=records.append), lb.Agent("ucb1")
        >>> agent.tell(agent.ask(), 0.5)
        >>> for record in records:
        ...     _ = twin.apply(record)
        >>> twin.memory.sums.tolist()
        [0.5, 0.0]
        """
        with self._lock:
            event = field(record, "event")
            if event == "ask":
                return self._ask_again(record)
            if event == "tell":
                self._tell(field(record, "id"), field(record, "rewards"), None)
            elif event == "forget":
                self._forget(field(record, "id"), None)
            elif event in ("add", "retire"):
                (self._add if event == "add" else self._retire)(field(record, "arm"), None)
            elif event == "name":
                self._player.name(record)
            else:
                raise Refusal("Agent", "record's event", event, "ask, tell, forget, add, retire or name")
        return None

    def _ask_again(self, record: Mapping[str, Any]) -> Decision:
        known, context = field(record, "id"), record.get("context")
        if not is_id(known) or (is_id(self._player.newest) and known <= self._player.newest):
            raise Refusal("Agent", "record's id", known, f"an id above {self._player.newest!r}, the newest so far")
        seen = observed(context, self._covariates)
        return self._ask(int(known[:TIME_DIGITS], 16), known, seen, record.get("available"), record.get("unit"), None)

    def explain(self, decision: Decision | str | int) -> Explanation:
        """Return why an open decision was made: every arm's value, doubt, bonus, index and probability. ``print`` shows a table.

        Examples
        --------
        >>> import latentbandits as lb
        >>> agent = lb.Agent("ucb1", arms=["red", "blue"])
        >>> for reward in (0.5, 0.25):
        ...     agent.tell(agent.ask(), reward)
        >>> print(agent.explain(agent.ask()))
        decision ...: red, the arm with the highest index
        arm   value  doubt  bonus  index  probability
        red   0.500      -  1.665  2.165        1.000  played
        blue  0.250      -  1.665  1.915        0.000
        """
        with self._lock:
            known, slot = self._player.find(decision, self._session)
            return explanation(known, slot, self._player)

    __repr__ = written
    _repr_html_ = shown  # what a notebook shows

    def __getstate__(self) -> Any:
        raise TypeError("Agent: an agent cannot be pickled or copied; use save and load")

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the agent to a file, whole or not at all.

        The file is a zip archive of NumPy arrays and one JSON document that describes them. It holds everything: the policy's settings, its
        memory (without fields that the policy names in `scratch`), the random stream, the arms and the open decisions. A file that
        another process has written since this agent read or wrote it is not replaced, nor is one that it has neither read nor written,
        unless `overwrite` is True.
        """
        place = Path(os.path.realpath(path))
        with self._saving:
            with self._lock:
                contents = self._player.contents()
            self._revisions[place] = file.write(place, contents, self._revisions, overwrite)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        policy: Policy | type | str | None = None,
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
        contents, revision = file.read(Path(path), policy)
        made: Self = cls.__new__(cls)
        made._begin(contents, journal)
        bind(contents.policy, compiled, made._switch)
        made._revisions[Path(os.path.realpath(path))] = revision
        return made
