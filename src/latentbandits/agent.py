"""A policy in a user's own program: ask for a decision, tell its rewards, save and restore exactly."""

import json
import os
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from latentbandits import __version__, specs
from latentbandits.compiled import in_background, loaded, machine_code, plain
from latentbandits.files import write_whole
from latentbandits.policies import registry
from latentbandits.protocols import LARGEST_REWARD, NOTES, REASONS, WHY, Choice, Oracle, Policy
from latentbandits.random import stream
from latentbandits.settings import Refusal, describe, whole

# Every sum of reasons as words
WORDS = [tuple(word for bit, word in REASONS.items() if code & bit) for code in range(2 * max(REASONS))]
FORMAT, FORMAT_VERSION = "latentbandits agent", 3


class Decision(NamedTuple):
    """What to do now.

    Attributes
    ----------
    id : int
        Names the decision when its rewards arrive.
    arms : tuple of int
        The arm of every unit.
    why : tuple of str
        Empty when the policy exploits; else the reasons to probe: residual, margin, staleness, schedule, continued, untried, rival.
    """

    id: int
    arms: tuple[int, ...]
    why: tuple[str, ...] = ()

    @property
    def arm(self) -> int:
        """The arm of the first (or only) unit."""
        return self.arms[0]


def choose(policy: Any, memory: Any, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
    """Make one choice (compiled)."""
    policy.choose(memory, context, random, choice)


def learn(policy: Any, memory: Any, choice: Choice, rewards: np.ndarray) -> None:
    """Learn from one choice (compiled)."""
    policy.learn(memory, choice, rewards)


def compiled_jobs(policy: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return what an agent compiles for a policy: each function, with arguments of the types that it is called with."""
    memory, choice = policy.init(), Choice.blank(policy)
    return [
        (choose, (policy, memory, np.zeros(0), stream(0), choice)),
        (learn, (policy, memory, choice, np.zeros(policy.units))),
    ]


class Agent:
    """A policy online.

    Several decisions may be open at once, and rewards may come late, out of order or never: every decision carries what the policy needs
    to learn from it. The lag of a policy that looks back is by definition the last *completed* decision: the one whose rewards arrived
    last, whenever it was made. An agent is not safe to share between threads without a lock.

    Parameters
    ----------
    policy : Policy
        For instance ``latentbandits.policy("adasp-ucb", arms=3)``, or a text that `latentbandits.policy` takes: a name, for two arms, or
        the path of a ``.toml`` file that ``latentbandits tune`` wrote.
    seed : int
        Names the agent's randomness.
    max_open : int
        Decisions that may wait for rewards; beyond it the oldest is forgotten, so that rewards that never arrive cost no memory.
    compiled : bool, optional
        Whether to run machine code: True compiles now, False never; if not given, the agent answers at once, interpreted, and goes on with
        machine code when it is there, which changes no choice.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policy("adasp-ucb", arms=2), seed=7)
    >>> first, second = agent.ask(), agent.ask()
    >>> agent.tell(second, 0.4)
    >>> agent.tell(first, 0.9)
    >>> agent.tell(first, 0.9)
    Traceback (most recent call last):
    latentbandits.settings.Refusal: Agent: decision is 0 but must be an open one (this one is completed or forgotten)
    """

    def __init__(
        self, policy: Policy | str, seed: int = 0, max_open: int = 10_000, *, compiled: bool | None = None
    ) -> None:
        if isinstance(policy, str):
            policy = specs.policy(policy)
        if isinstance(policy, Oracle):
            raise Refusal(
                "Agent", "policy", policy, "one that needs no knowledge of the world (BayesFilter takes it as settings)"
            )
        if not isinstance(policy, Policy) or isinstance(policy, type) or not hasattr(policy, "_fields"):
            raise Refusal("Agent", "policy", policy, "a policy or the name of one")
        self._policy = policy
        self._random = stream(whole("Agent", "seed", seed, least=0))
        self._max_open = whole("Agent", "max_open", max_open, least=1)
        self._memory = policy.init()
        self._open: dict[int, Choice] = {}
        self._next = 0
        self._bind(compiled)

    def _bind(self, compiled: bool | None) -> None:
        self._covariates = getattr(self._policy, "covariates", 0)
        self._arms = self._policy.arms
        self._units, self._width = self._policy.units, getattr(self._policy, "width", 0)
        self._rewards, self._nothing = np.zeros(self._units), np.zeros(0)
        self._blank = Choice.blank(self._policy)
        jobs = compiled_jobs(self._policy)
        self._choose, self._learn = plain(choose), plain(learn)
        made = [machine_code(f, *args) if compiled else loaded(f, *args) for f, args in jobs]
        if compiled is not False and None not in made:
            self._switch(made)
        elif compiled is None:
            in_background(jobs, self._switch)

    def _switch(self, made: list[Any]) -> None:
        """Go on with machine code, which changes no choice."""
        self._choose, self._learn = made

    @property
    def policy(self) -> Policy:
        """The policy, with its settings."""
        return self._policy

    @property
    def memory(self) -> Any:
        """What the policy remembers; for reading, not to be changed."""
        return self._memory

    @property
    def belief(self) -> Any:
        """What the policy believes about the hidden state, if it has beliefs: see ``StateLibrary.belief``."""
        if not hasattr(self._policy, "belief"):
            raise AttributeError("Agent: policy has no belief but must be one that has, such as StateLibrary")
        return self._policy.belief(self._memory)

    @property
    def open(self) -> tuple[int, ...]:
        """Ids of the decisions that wait for rewards, oldest first."""
        return tuple(self._open)

    def ask(self, context: Sequence[float] | np.ndarray | None = None) -> Decision:
        """Return a decision.

        Parameters
        ----------
        context : sequence of float, optional
            Observed covariates, as many as the policy's setting `covariates` says.
        """
        observed = self._nothing if context is None and self._covariates == 0 else self._observe(context)
        choice = Choice(np.zeros(self._units, np.int64), np.zeros(self._width), np.zeros(NOTES, np.int64))
        self._choose(self._policy, self._memory, observed, self._random, choice)
        arms = tuple(choice.arms.tolist())
        if min(arms) < 0 or max(arms) >= self._arms:
            raise Refusal("Agent", "choice", arms, f"arms from 0 to {self._arms - 1} (this is an error of the policy)")
        made = self._next
        self._next += 1
        if len(self._open) >= self._max_open:
            del self._open[next(iter(self._open))]
        self._open[made] = choice
        return Decision(made, arms, WORDS[choice.note.item(WHY)])

    def tell(self, decision: Decision | int, rewards: float | Sequence[float] | np.ndarray) -> None:
        """Learn from the rewards of a decision: one per unit (a plain number for one unit). Bad input changes nothing."""
        known = self._find(decision)
        # the usual case first, since checks take longer than learning
        if type(rewards) is float and self._units == 1 and -LARGEST_REWARD <= rewards <= LARGEST_REWARD:
            self._rewards[0] = rewards
        else:
            self._rewards[:] = self._received(rewards)
        self._learn(self._policy, self._memory, self._open.pop(known), self._rewards)

    def _received(self, rewards: Any) -> list[float]:
        """Return one finite reward per unit, or refuse."""
        size = f"of size at most {LARGEST_REWARD:g}"
        rule = f"a finite number {size}" if self._units == 1 else f"{self._units} finite numbers {size}, one per unit"
        try:
            values = np.asarray(rewards)
        except ValueError:
            raise Refusal("Agent", "rewards", rewards, rule) from None
        values = values.reshape(1) if values.ndim == 0 else values
        known = values.dtype.kind in "biuf" and values.shape == (self._units,)
        if not known or not (np.abs(values.astype(np.float64)) <= LARGEST_REWARD).all():
            raise Refusal("Agent", "rewards", rewards, rule)
        return [float(value) for value in values]

    def forget(self, decision: Decision | int) -> None:
        """Drop a decision whose rewards will never arrive."""
        del self._open[self._find(decision)]

    def _find(self, decision: Decision | int) -> int:
        known = decision.id if isinstance(decision, Decision) else decision
        whole_number = isinstance(known, int) and not isinstance(known, bool)
        if whole_number and known in self._open:
            if isinstance(decision, Decision) and decision.arms != tuple(self._open[known].arms.tolist()):
                raise Refusal("Agent", "decision", decision, "one that this agent made")
            return known
        past = whole_number and 0 <= known < self._next
        raise Refusal(
            "Agent", "decision", known, "an open one" + (" (this one is completed or forgotten)" if past else "")
        )

    def _observe(self, context: Any) -> np.ndarray:
        wanted = f"{self._covariates} finite numbers, the policy's covariates"
        try:
            given = np.asarray(() if context is None else context)
            observed = given.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise Refusal("Agent", "context", context, wanted) from None
        if (
            given.dtype.kind not in "biuf"
            or observed.shape != (self._covariates,)
            or not (np.abs(observed) <= LARGEST_REWARD).all()
        ):
            raise Refusal("Agent", "context", context, wanted)
        return observed

    def __getstate__(self) -> Any:
        raise TypeError("Agent: an agent cannot be pickled or copied; use save and load")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a file, whole or not at all.

        The file is a zip archive of NumPy arrays and one JSON document that describes them. It holds everything: the policy's settings, its
        memory (without fields that the policy names in `scratch`), the random stream and the open decisions.
        """
        description = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "written_by": f"latentbandits {__version__}",
            "policy": {"class": class_name(type(self._policy)), "settings": describe(self._policy)},
            "next_decision": self._next,
            "max_open": self._max_open,
            "open": list(self._open),
        }
        arrays = {f"memory/{name}": getattr(self._memory, name) for name in saved_fields(self._policy, self._memory)}
        arrays["random"] = self._random
        for part, blank in zip(Choice._fields, self._blank, strict=True):
            rows = [getattr(choice, part) for choice in self._open.values()]
            arrays[f"open/{part}"] = np.array(rows, dtype=blank.dtype).reshape(len(rows), len(blank))
        content = BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("agent.json", json.dumps(description, indent=1))
            for name, value in arrays.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)
        write_whole(Path(path), content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: Policy | type | str | None = None) -> Self:
        """Return the agent that was saved: it makes exactly the choices that the saved one would have made.

        Parameters
        ----------
        path : path
            A file written by `save`.
        policy : Policy, class or name, optional
            What the file is expected to hold: a file of another policy (or, for a policy rather than a class, with other settings) is
            refused. Needed for a policy from outside this package, since a file is not allowed to choose which code runs.
        """
        content = Path(path).read_bytes()
        try:
            description, arrays = unpack(content)
            version = description["version"]
            if type(version) is not int or version < 1:
                raise KeyError("version")
        except Exception as problem:  # a damaged archive fails in a dozen ways
            raise damaged(path) from problem
        if version != FORMAT_VERSION:
            writer = description.get("written_by")
            hint = "; update latentbandits" if version > FORMAT_VERSION else ""
            field = f"format version of {os.fspath(path)} (written by {writer})"
            raise Refusal("Agent", field, version, f"{FORMAT_VERSION}{hint}")
        made: Self = cls.__new__(cls)
        try:
            kind, settings = str(description["policy"]["class"]), dict(description["policy"]["settings"])
        except (KeyError, TypeError, ValueError) as problem:
            raise damaged(path) from problem
        made._policy = restored(kind, settings, policy)
        try:
            made._take(description, arrays)
        except (KeyError, TypeError, ValueError) as problem:
            raise damaged(path) from problem
        made._bind(None)
        return made

    def _take(self, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take over a file's memory, stream and open decisions, all of which must fit the policy."""
        self._next, self._max_open = int(description["next_decision"]), int(description["max_open"])
        fresh: Any = self._policy.init()
        names = saved_fields(self._policy, fresh)
        self._memory = fresh._replace(**{n: fitting(arrays, f"memory/{n}", getattr(fresh, n)) for n in names})
        self._random = fitting(arrays, "random", np.zeros(1, np.uint64))
        ids = [int(known) for known in description["open"]]
        if self._max_open < 1 or (ids and not 0 <= min(ids) <= max(ids) < self._next):
            raise KeyError("open")
        rows = {}
        for part, blank in zip(Choice._fields, Choice.blank(self._policy), strict=True):
            rows[part] = fitting(arrays, f"open/{part}", np.empty((len(ids), len(blank)), blank.dtype))
        arms = rows["arms"]
        if ((arms < 0) | (arms >= self._policy.arms)).any():
            raise KeyError("open/arms")
        self._open = {known: Choice(*(rows[part][i].copy() for part in Choice._fields)) for i, known in enumerate(ids)}


def saved_fields(policy: Policy, memory: Any) -> list[str]:
    """Return the names of the memory's fields that a file keeps: all but the policy's scratch space."""
    scratch: tuple[str, ...] = getattr(policy, "scratch", ())
    return [name for name in memory._fields if name not in scratch]


def class_name(kind: type) -> str:
    """Return the name of a policy class in a file: short for the package's own, with its module for others."""
    return kind.__name__ if registry.CLASSES.get(kind.__name__) is kind else f"{kind.__module__}:{kind.__qualname__}"


def damaged(path: str | os.PathLike[str]) -> Refusal:
    """Return the refusal of a file that cannot be read."""
    return Refusal("Agent", "file", os.fspath(path), "a file written by save (it is damaged, or something else)")


def restored(name: str, settings: dict[str, Any], expected: Policy | type | str | None) -> Any:
    """Return the policy of a file, or refuse it."""
    known: dict[str, Any] = dict(registry.CLASSES)
    if isinstance(expected, str):
        expected = registry.registration(expected).make
    if expected is not None:
        kind = expected if isinstance(expected, type) else type(expected)
        wanted = class_name(kind)
        if wanted != name:
            raise Refusal("Agent", "policy of the file", name, f"the expected {wanted}")
        known = {wanted: kind}
    if name not in known or not hasattr(known[name], "choose"):
        raise Refusal(
            "Agent",
            "policy of the file",
            name,
            "one of this package, or its class given by Agent.load(path, policy=...)",
        )
    made = known[name](**settings)
    if expected is not None and not isinstance(expected, type) and describe(expected) != describe(made):
        differ = {key: value for key, value in describe(made).items() if value != describe(expected)[key]}
        raise Refusal("Agent", "policy of the file", differ, f"the expected {expected}")
    return made


def fitting(arrays: dict[str, np.ndarray], name: str, like: np.ndarray) -> np.ndarray:
    """Return a saved array that has the right shape and type; files keep the fields of a record but not its type."""
    found = arrays[name]
    if found.shape != like.shape or found.dtype.descr != like.dtype.descr:
        raise KeyError(name)
    return np.ascontiguousarray(found).view(like.dtype)


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the arrays of an agent file."""
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(BytesIO(content)) as archive:
        description: dict[str, Any] = json.loads(archive.read("agent.json"))
        if description["format"] != FORMAT:
            raise KeyError("format")
        if description["version"] != FORMAT_VERSION:
            return description, arrays
        for name in archive.namelist():
            if name.endswith(".npy"):
                member = BytesIO(archive.read(name))
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
    return description, arrays
