"""Snapshots: the state of an experiment as bytes, so that a start need not repeat everything. Any of them may be lost."""

import json
import platform
import struct
from collections import OrderedDict
from functools import cache
from hashlib import sha256
from importlib import metadata
from typing import Any

import numpy as np

from latentbandits import __version__
from latentbandits.agent.file import opened, packed
from latentbandits.agent.player import Player
from latentbandits.compiled.cache import processor, source_digest
from latentbandits.memories import saved
from latentbandits.settings import Refusal
from latentbandits.store.protocol import Snapshot
from latentbandits.store.spec import Spec
from latentbandits.store.state import State, Waiting

_MAGIC = b"LBS1"


@cache
def build() -> str:
    """Return what computes here: versions, the sources of all that computes, and the processor.

    The same build repeats a log to the bit; another one is equivalent, up to rounding or to what was changed in its sources.
    """
    try:
        numba = metadata.version("numba")
    except metadata.PackageNotFoundError:
        numba = "none"
    code, chip = str(source_digest())[:8], sha256("\0".join(processor()).encode()).hexdigest()[:8]
    return f"latentbandits {__version__} ({code}), numpy {np.__version__}, numba {numba}, {platform.machine()} ({chip})"


def described(state: State) -> dict[str, Any]:
    """Return all of a state but the agent, as JSON can hold it."""
    return {
        "spec": state.spec.plain(),
        "status": state.status,
        "head": state.head,
        "last_us": state.last_us,
        "counts": state.counts,
        "open": [[key, one.at_us, list(one.arms), one.decided_by, one.active] for key, one in state.open.items()],
    }


def digest(state: State) -> str:
    """Return the digest of a state: equal for two states if they are the same to the last bit."""
    contents = state.player.contents()
    plain = {
        "names": contents.names,
        "retired": contents.retired,
        "mixing": [*contents.mixing[:3], contents.mixing.salt.hex()],
        "max_open": contents.max_open,
        "regimes": sorted(contents.regimes.items()),
        "counts": dict(contents.counts),
        "newest": contents.newest,
        "open": list(contents.open.items()),
    }
    total = sha256(json.dumps([described(state), plain], sort_keys=True).encode())
    arrays = {f"memory/{name}": part for name, part in saved(contents.policy, contents.memory).items()}
    arrays |= {f"open/{name}": part for name, part in contents.choices._asdict().items()}
    arrays |= {"random": contents.random, "mixing": contents.mixing.random}
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.descr} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def taken(state: State) -> Snapshot:
    """Return a snapshot of a state."""
    head = json.dumps({**described(state), "diverged": state.diverged}).encode()
    content = _MAGIC + struct.pack("<I", len(head)) + head + packed(state.player.contents(), "")
    return Snapshot(state.head, build(), digest(state), sha256(content).hexdigest(), state.last_us, content)


def opened_up(snapshot: Snapshot) -> tuple[dict[str, Any], bytes] | None:
    """Return what a snapshot says of all but the agent, and the agent; None if its bytes are not those that were written."""
    content = snapshot.state
    if sha256(content).hexdigest() != snapshot.checksum or content[:4] != _MAGIC:
        return None
    (size,) = struct.unpack("<I", content[4:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def alike(snapshot: Snapshot, state: State) -> bool:
    """Return whether a state is that of a snapshot in all that no rounding can change."""
    parts = opened_up(snapshot)
    return parts is not None and parts[0] == {
        **json.loads(json.dumps(described(state))),
        "diverged": parts[0]["diverged"],
    }


def restored(snapshot: Snapshot, expected: Any) -> State | None:
    """Return the state in a snapshot, None if its bytes are not those that were written or it is not the state that it should be."""
    parts = opened_up(snapshot)
    if parts is None:
        return None
    said, agent = parts
    try:
        contents, _ = opened(agent, f"snapshot {snapshot.seq}", expected)
    except Refusal as refusal:
        if "written by save" in str(refusal.rule):  # of a version that nobody can read any more: the log is there
            return None
        raise
    state = State(
        Spec.read(said["spec"], expected),
        Player(contents),
        said["status"],
        said["head"],
        said["last_us"],
        OrderedDict((key, Waiting(at, tuple(arms), by, active)) for key, at, arms, by, active in said["open"]),
        {name: int(number) for name, number in said["counts"].items()},
        int(said["diverged"]),
    )
    # another build may keep the same state in other arrays
    return state if snapshot.build != build() or digest(state) == snapshot.digest else None
