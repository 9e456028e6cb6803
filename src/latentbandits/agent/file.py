"""The state of an agent in a file: a zip archive of NumPy arrays and one JSON document that describes them."""

import json
import os
import zipfile
from collections import OrderedDict
from hashlib import sha256
from io import BytesIO
from typing import Any, NamedTuple, TypedDict

import numpy as np

from latentbandits import __version__
from latentbandits.agent.decision import Name, is_id
from latentbandits.agent.events import Event
from latentbandits.agent.guardrail import Cell
from latentbandits.agent.inputs import as_name
from latentbandits.agent.mixing import CONTROL, FLOOR, POLICY
from latentbandits.agent.past import Past
from latentbandits.agent.player import Player
from latentbandits.agent.slots import Open, packed
from latentbandits.agent.spec import STATUSES, Expected, PolicyRecord, Spec, SpecRecord, policy_of, policy_record
from latentbandits.agent.state import COUNTS, State
from latentbandits.agent.windows import Delays
from latentbandits.memories import copied, replaced, saved
from latentbandits.protocols import Choice, Policy
from latentbandits.settings import InvalidValueError, check_int

FORMAT, VERSION = "latentbandits agent", 1
Arrays = dict[str, np.ndarray]


class OpenRecord(TypedDict):
    """An open decision: `asked` says whether the policy was, and then its choice is a row of the arrays."""

    id: str
    at_us: int
    arms: list[int]
    by: str
    counted_under: str
    asked: bool
    told: list[float] | None
    told_us: int


class StateRecord(TypedDict):
    """All of a state but the arrays, as JSON holds it; names are as in `State` and `Player`."""

    spec: SpecRecord
    policy: PolicyRecord
    names: list[Name]
    retired: list[Name]
    status: str
    head: int
    last_us: int
    newest: str
    counts: dict[str, int]
    open: list[OpenRecord]
    first: float | None
    delays: list[int]
    past: "PastRecord | None"
    guards: list[tuple[int, int, int, float, float, float]]


class PastRecord(TypedDict):
    """What corrections need: states, whose arrays are named ``past/0/...``, and the events after each of them."""

    bases: list[StateRecord]
    since: list[list[list[Any]]]


class Document(TypedDict):
    """The JSON document of a file."""

    format: str
    version: int
    written_by: str
    diverged: int
    state: StateRecord


class Contents(NamedTuple):
    """A state, copied: what is described, the arrays, and how many decisions came out otherwise when they were repeated."""

    record: StateRecord
    arrays: Arrays
    diverged: int

    @property
    def digest(self) -> str:
        """The digest: equal for two states if they are the same to the last bit."""
        total = sha256(json.dumps(self.record, sort_keys=True).encode())
        for name, array in sorted(self.arrays.items()):
            total.update(f"{name} {array.dtype.descr} {array.shape}".encode())
            total.update(np.ascontiguousarray(array).tobytes())
        return total.hexdigest()


def contents(state: State) -> Contents:
    """Return a copy of a state."""
    player = state.player
    record: StateRecord = {
        "spec": state.spec.plain(),
        "policy": policy_record(player.policy),
        "names": list(player.names),
        "retired": [player.names[arm] for arm in sorted(player.retired)],
        "status": state.status,
        "head": state.head,
        "last_us": state.last_us,
        "newest": state.newest,
        "counts": dict(state.counts),
        "open": [
            {
                "id": key, "asked": bool(content), "arms": list(arms), "by": by, "at_us": at_us, "counted_under": under,
                "told": None if told is None else list(told), "told_us": told_us,
            }
            for key, (content, arms, by, at_us, under, told, told_us) in player.open.items()
        ],
        "first": state.first,
        "delays": list(player.delays.last),
        "past": None,
        "guards": [(*place, *cell) for place, cell in state.guards.items()],
    }  # fmt: skip
    memory = saved(player.policy, copied(player.memory))
    arrays = {f"memory/{name}": part for name, part in memory.items()}
    arrays |= {"random": player.random.copy(), "mixing": player.mixing.random.copy()}
    arrays |= {f"open/{part}": rows for part, rows in player.stacked()._asdict().items()}
    if state.past is not None:
        bases = [contents(base) for base in state.past.bases]
        since = [[list(event) for event in events] for events in state.past.since]
        record["past"] = {"bases": [base.record for base in bases], "since": since}
        arrays |= {f"past/{n}/{name}": part for n, base in enumerate(bases) for name, part in base.arrays.items()}
    return Contents(record, arrays, state.diverged)


def written(given: Contents) -> bytes:
    """Return the content of a file."""
    document: Document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"latentbandits {__version__}",
        "diverged": given.diverged,
        "state": given.record,
    }
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("agent.json", json.dumps(document))
        for name, value in given.arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)
    return content.getvalue()


def read(content: bytes, path: str | os.PathLike[str], expected: Expected) -> State:
    """Return the state in the content of a file, or refuse it; `path` says where it comes from."""
    try:
        document, arrays = opened(content)
        version = document["version"]
        if type(version) is not int or version < 1:
            raise KeyError("version")
    except Exception as problem:  # a damaged archive fails in a dozen ways
        raise _damaged(path) from problem
    if version != VERSION:
        field = f"format version of {path} (written by {document.get('written_by')})"
        raise InvalidValueError("Agent", field, version, f"{VERSION}, as this latentbandits has it")
    try:
        record = document["state"]
        given = record["policy"]["class"], record["policy"]["settings"], record["spec"]["policy"]["class"]
        if not all(map(isinstance, given, (str, dict, str))):
            raise KeyError("policy")
    except Exception as problem:
        raise _damaged(path) from problem
    policy = policy_of(record["policy"], expected)
    try:
        return _state(policy, document["state"], document["diverged"], arrays, expected)
    except (IndexError, KeyError, TypeError, ValueError) as problem:
        raise _damaged(path) from problem


def _state(policy: Policy, record: StateRecord, diverged: int, arrays: Arrays, expected: Expected) -> State:
    """Return what a file holds, all of which must fit the policy."""
    spec = Spec.read(record["spec"], expected)
    names = [as_name(name) for name in record["names"]]
    numbers = {name: arm for arm, name in enumerate(names)}
    mixing = spec.mixing(names)._replace(random=_fitting(arrays, "mixing", np.zeros(1, np.uint64)))
    fresh = policy.init()
    memory = {name: _fitting(arrays, f"memory/{name}", like) for name, like in saved(policy, fresh).items()}
    player = Player(
        policy,
        replaced(fresh, memory),
        _fitting(arrays, "random", np.zeros(1, np.uint64)),
        names,
        mixing,
        {numbers[name] for name in record["retired"]},
    )
    player.open, player.delays = _open(record, arrays, policy), Delays(map(int, record.get("delays", ())))
    counts = {name: int(record["counts"][name]) for name in COUNTS}
    state = State(
        spec,
        player,
        record["status"],
        record["head"],
        record["last_us"],
        record["newest"],
        counts,
        diverged,
        None if record["first"] is None else float(record["first"]),
        past=_past(record["past"], arrays, expected, spec.corrections),
        guards={(one[0], one[1]): Cell(*one[2:]) for one in record.get("guards", ())},
    )
    if not _is_consistent(state, record):
        raise KeyError("contents")
    return state


def _past(record: PastRecord | None, arrays: Arrays, expected: Expected, within: int) -> Past | None:
    """Return what corrections need."""
    if record is None:
        return None
    bases = []
    for n, base in enumerate(record["bases"]):
        own = {name.removeprefix(f"past/{n}/"): part for name, part in arrays.items() if name.startswith(f"past/{n}/")}
        bases.append(_state(policy_of(base["policy"], expected), base, 0, own, expected))
    since = [[Event(*event) for event in events] for events in record["since"]]
    if not bases or len(bases) != len(since) or within < 1:
        raise KeyError("past")
    return Past(within, bases, since)


def _open(record: StateRecord, arrays: Arrays, policy: Policy) -> "OrderedDict[str, Open]":
    """Return the open decisions."""
    asked = sum(one["asked"] for one in record["open"])
    parts = [
        _fitting(arrays, f"open/{part}", np.empty((asked, len(like)), like.dtype))
        for part, like in Choice.blank(policy)._asdict().items()
    ]
    if ((parts[0] < 0) | (parts[0] >= policy.arms)).any():
        raise KeyError("arms")
    rows = zip(*parts, strict=True)
    return OrderedDict(
        (
            one["id"],
            Open(
                packed(Choice(*next(rows))) if one["asked"] else b"",
                tuple(one["arms"]),
                one["by"],
                one["at_us"],
                one["counted_under"],
                None if one["told"] is None else tuple(one["told"]),
                one["told_us"],
            ),
        )
        for one in record["open"]
    )


def _is_consistent(state: State, record: StateRecord) -> bool:
    """Return whether the parts of a file fit each other."""
    player, arms = state.player, range(state.player.policy.arms)
    return (
        len(player.numbers) == len(player.names) == len(arms)
        and len(record["retired"]) == len(player.retired) < len(arms)
        and all(
            set(waiting.arms) <= set(arms) and len(waiting.arms) == player.policy.groups
            for waiting in state.open.values()
        )
        and len(state.open) == len(record["open"]) <= check_int("Agent", "max_open", state.spec.max_open, least=1)
        and {waiting.by for waiting in state.open.values()} <= {POLICY, FLOOR, CONTROL}
        and (is_id(state.newest) or not state.newest)
        and all(is_id(key) and key <= state.newest for key in state.open)
        and min(state.counts.values()) >= 0
        and state.status in STATUSES
    )


def _damaged(path: str | os.PathLike[str]) -> InvalidValueError:
    return InvalidValueError(
        "Agent", "file", os.fspath(path), "a file written by save (it is damaged, or something else)"
    )


def _fitting(arrays: Arrays, name: str, like: np.ndarray) -> np.ndarray:
    """Return a saved array that has the right shape and type; files keep the fields of a record but not its type."""
    array = arrays[name]
    if array.shape != like.shape or array.dtype.descr != like.dtype.descr:
        raise KeyError(name)
    return np.asarray(array, order="C").view(like.dtype)


def opened(content: bytes) -> tuple[Document, Arrays]:
    """Return the JSON document and the arrays in a file."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        document: Document = json.loads(archive.read("agent.json"))
        members = {name: BytesIO(archive.read(name)) for name in archive.namelist() if name.endswith(".npy")}
    if document["format"] != FORMAT:
        raise KeyError("format")
    read_array = np.lib.format.read_array
    return document, {name[:-4]: read_array(member, allow_pickle=False) for name, member in members.items()}
