"""Cells in parts: ranges of runs that any number of processes write, each whole, without locks, the same bytes from all of them."""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from latentbandits.settings import Refusal
from latentbandits.simulation.build import Build, probe, this_build
from latentbandits.simulation.loop import COUNTS
from latentbandits_studies.experiments.folders import Folder

ARRAYS = ("regret", "optimal", "counts")
_MARK = b"latentbandits cell 2\n"
Ranges = tuple[tuple[int, int], ...]


class Part(NamedTuple):
    """A file of a cell: whose, which runs, and the build that computed them; an earlier version wrote whole cells without a build."""

    key: str
    begin: int
    end: int
    build: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.key}.{self.begin}-{self.end}.{self.build}.cell" if self.build else f"{self.key}.npz"

    @classmethod
    def of(cls, name: str) -> "Part | None":
        """Return the part that a file's name stands for.

        Examples
        --------
        >>> from latentbandits_studies.experiments.cells import Part
        >>> Part.of("c0ffee.16-32.1b53b839.cell")
        Part(key='c0ffee', begin=16, end=32, build='1b53b839')
        """
        key, *more, ending = name.split(".")
        if (ending, len(more)) not in (("npz", 0), ("cell", 2)):
            return None
        try:
            begin, end = map(int, more[0].split("-")) if more else (0, -1)
        except ValueError:
            return None
        return cls(key, begin, end, more[1] if more else "")


class Shape(NamedTuple):
    """The size of a cell."""

    runs: int
    bins: int


class Cell:
    """What is known of a cell: arrays over all runs, which runs are there, and the parts that they came from."""

    def __init__(self, shape: Shape) -> None:
        runs, bins = shape
        self.arrays = {
            "regret": np.full((runs, bins), np.nan),
            "optimal": np.full((runs, bins), np.nan),
            "counts": np.zeros((runs, len(COUNTS)), np.int64),
        }
        self.have = np.zeros(runs, bool)
        self.parts: list[Part] = []
        self.builds: set[str] = set()

    @property
    def complete(self) -> bool:
        """Whether all runs are there."""
        return bool(self.have.all())

    def add(self, part: Part, found: Mapping[str, np.ndarray]) -> None:
        """Put a part at its place, or refuse one that differs from what is there."""
        at = slice(part.begin, part.end)
        known = self.have[at]
        for name, array in self.arrays.items():
            if not np.array_equal(array[at][known], found[name][known]):
                others = ", ".join(one.name for one in self.parts if one.begin < part.end and part.begin < one.end)
                raise Refusal(
                    "reproduce", "part", part.name, f"equal to {others} where both have a run; remove the wrong one"
                )
            array[at] = found[name]
        self.have[at] = True
        self.parts.append(part)
        self.builds.add(part.build)

    def missing(self, begin: int, end: int) -> Ranges:
        """Return the ranges of runs within a range that are not there.

        Examples
        --------
        >>> from latentbandits_studies.experiments.cells import Cell, Shape
        >>> cell = Cell(Shape(runs=10, bins=1))
        >>> cell.have[[2, 3, 7]] = True
        >>> cell.missing(1, 10)
        ((1, 2), (4, 7), (8, 10))
        """
        lacking = np.flatnonzero(~self.have[begin:end]) + begin
        cuts = np.flatnonzero(np.diff(lacking) > 1) + 1
        return tuple((int(run[0]), int(run[-1]) + 1) for run in np.split(lacking, cuts) if len(run))


class Cells:
    """All cells of a folder.

    Parts of one build are merged. Parts of several builds are merged if the probes of these builds agree, and `remarks` says so; those of
    a build with another probe are left aside. `strict` refuses several builds.
    """

    def __init__(self, folder: Folder, strict: bool = False) -> None:
        self._folder, self._strict = folder, strict
        self._names: dict[str, list[str]] | None = None
        self._parts: dict[str, set[Part]] = {}
        self._cells: dict[str, Cell] = {}
        self._probes: dict[str, str] = {}
        self._described: set[str] = set()
        self._bad: set[Part] = set()
        self._aside: set[Part] = set()
        self._first = ""  # the build of the first part, if this is strict

    def look(self) -> None:
        """Forget which parts there are: others may have written some since."""
        self._names = None

    def _there(self, key: str) -> set[Part]:
        """Return the parts of a cell, as they were when somebody last looked; names are many, and understood when they are needed."""
        if self._names is None:
            self._names, self._parts = {}, {}
            for name in self._folder.names("cells"):
                self._names.setdefault(name.partition(".")[0], []).append(name)
        if key not in self._parts:
            self._parts[key] = {part for part in map(Part.of, self._names.get(key, ())) if part is not None}
        return self._parts[key]

    def cell(self, key: str, shape: Shape, begin: int = 0, end: int | None = None) -> Cell:
        """Return what is there of a cell, or of a range of its runs.

        A damaged part is not there, nor one that this build could not go on from.
        """
        cell, end = self._cell(key, shape), shape.runs if end is None else end
        while not cell.have[begin:end].all():
            new = self._there(key) - set(cell.parts) - self._bad - self._aside
            wanted = [
                one
                for one in self._chosen(new, cell.parts, shape)
                if one.end < 0 or (one.begin < end and begin < one.end)
            ]
            lost = [part for part in wanted if not self._add(cell, part, shape)]
            if cell.have[begin:end].all():
                break
            if cell.parts and not self._ours(cell.parts[0].build):
                self._aside |= set(cell.parts)  # another engine had all of it, but a part of that is damaged
                cell = self._cells[key] = Cell(shape)
            elif lost:
                self.look()  # one file may have replaced them meanwhile
            else:
                break
        return cell

    def seal_complete(self, cells: Mapping[str, Shape]) -> None:
        """Make one file of each cell whose parts are all there; their names say so before any is read."""
        keys = []
        for key, shape in cells.items():
            parts = self._there(key) - self._bad - self._aside
            if len(parts) > 1 and _covers([*parts], shape.runs) and self.cell(key, shape).complete:
                keys.append(key)
        self.seal(*keys)

    def _ours(self, build: str) -> bool:
        """Return whether a build computes what this one does."""
        return build == this_build().id or self._probe(build) == self._probe(this_build().id)

    def _cell(self, key: str, shape: Shape) -> Cell:
        if key not in self._cells:
            self._cells[key] = Cell(shape)
        return self._cells[key]

    def _add(self, cell: Cell, part: Part, shape: Shape) -> bool:
        """Read a part into its cell; return whether it could be read."""
        whole = part._replace(end=shape.runs) if part.end < 0 else part
        found = None if whole.end > shape.runs or whole.begin >= whole.end else self._read(part, whole, shape)
        if found is None:
            self._bad.add(part)
            return False
        cell.add(whole, found)
        return True

    def _read(self, part: Part, whole: Part, shape: Shape) -> dict[str, np.ndarray] | None:
        """Return the arrays of a part, None if it is not there or damaged."""
        content = self._folder.read(f"cells/{part.name}") or b""
        size = Shape(whole.end - whole.begin, shape.bins)
        found = unpacked(content, part, shape.bins) if part.build else _from_archive(content, size)
        return found if found and all(np.isfinite(array).all() for array in found.values()) else None

    def _chosen(self, new: set[Part], used: Sequence[Part], shape: Shape) -> list[Part]:
        """Return the new parts that may be merged with those that are used: of this engine, or of another that has the whole cell."""
        parts = sorted(new, key=lambda part: (part.end >= 0, part.begin - part.end, part.build))
        self.refuse_others(part.build for part in parts)
        groups: dict[bool | str, list[Part]] = {True: []}
        for part in parts:
            groups.setdefault(self._ours(part.build) or self._probe(part.build), []).append(part)
        whole = [one for one, some in groups.items() if not used and _covers(some, shape.runs)]
        chosen = True if used or not whole or True in whole else whole[0]
        self._aside |= {part for one, some in groups.items() if one != chosen for part in some}
        return groups[chosen]

    def refuse_others(self, builds: Iterable[str]) -> None:
        """Refuse a second build, if this is strict."""
        for build in builds if self._strict else ():
            self._first = self._first or build or "unknown"
            if (build or "unknown") != self._first:
                both = [self._first, build or "unknown"]
                raise Refusal(
                    "reproduce",
                    "builds of results",
                    both,
                    f"one, since this is strict ({differing(self._folder, both)})",
                )

    def _probe(self, build: str) -> str:
        """Return the probe of a build; one that is not described agrees with itself alone."""
        if build not in self._probes:
            try:
                found = str(json.loads(self._folder.read(f"builds/{build}.json") or b"")["probe"])
            except (ValueError, LookupError, TypeError):
                found = probe() if build == this_build().id else f"unknown probe of {build}"
            self._probes[build] = found
        return self._probes[build]

    def keep(self, key: str, shape: Shape, begin: int, found: Mapping[str, np.ndarray], build: Build) -> None:
        """Write a part; once a cell is complete, one file replaces its parts."""
        self.refuse_others([build.id])
        self.describe(build)
        cell = self._cell(key, shape)
        part = Part(key, begin, begin + len(found["regret"]), build.id)
        cell.add(part, found)
        if cell.complete:
            self.seal(key)
        else:
            self._folder.write(f"cells/{part.name}", packed(part, found), durable=False)
            self._there(key).add(part)
            self._bad.discard(part)  # it had been damaged

    def seal(self, *keys: str) -> None:
        """Write complete cells as one file each, and remove their parts and what is damaged, once all of them are on disk."""
        written: dict[Part, set[Part]] = {}
        for key in keys:
            cell = self._cells[key]
            builds = sorted({part.build for part in cell.parts})
            whole = Part(key, 0, len(cell.have), builds[0] if len(builds) == 1 else self._mixed(builds))
            known = cell.parts == [whole] and whole in self._there(key) - self._bad
            if not known and builds != [""]:
                self._folder.write(f"cells/{whole.name}", packed(whole, cell.arrays), durable=False)
                written[whole] = {*cell.parts, *(bad for bad in self._bad if bad.key == key)} - {whole}
        self._folder.settle([f"cells/{whole.name}" for whole in written])
        for whole, parts in written.items():
            for part in parts:
                self._folder.remove(f"cells/{part.name}")
            self._cells[whole.key].parts = [whole]
            self._parts[whole.key] = {whole}
            self._bad.discard(whole)  # it had been damaged

    def describe(self, build: Build) -> None:
        """Keep the description of a build beside the cells; if a worker has another than ours, its probe has been found to agree."""
        if build.id not in self._described:
            self._write_build(build.id, build._asdict() | {"probe": probe()})

    def _mixed(self, builds: Sequence[str]) -> str:
        """Return the name of several builds together, whose probes agree."""
        made = hashlib.sha256(" ".join(builds).encode()).hexdigest()[:8]
        if made not in self._described:
            self._write_build(made, {"builds": list(builds), "probe": self._probe(builds[0])})
        return made

    def _write_build(self, build: str, content: dict[str, Any]) -> None:
        text = (json.dumps(content, indent=1) + "\n").encode()
        if self._folder.read(f"builds/{build}.json") != text:
            self._folder.write(f"builds/{build}.json", text)
        self._probes[build] = content["probe"]
        self._described.add(build)

    @property
    def merged(self) -> set[str]:
        """The builds that took part in all cells that were read or written."""
        return {build for cell in self._cells.values() for build in cell.builds}

    def remarks(self) -> list[str]:
        """Return what a person should know about the builds that took part."""
        several = sorted(self.merged - {""})
        found = []
        if len(several) > 1:
            found.append(f"Parts of builds {', '.join(several)} are merged: the probes of their engines agree.")
        aside = {part.build for part in self._aside} - self.merged
        if aside:
            names = ", ".join(one or "unknown" for one in sorted(aside))
            found.append(f"Parts of builds {names} are left aside: their engine computes otherwise, or is not known.")
        return found


def differing(folder: Folder, builds: Sequence[str]) -> str:
    """Return in what builds differ, by their descriptions beside the cells."""
    known = {this_build().id: {**this_build()._asdict()}}
    for build in builds:
        with contextlib.suppress(ValueError):
            known.setdefault(build, json.loads(folder.read(f"builds/{build}.json") or b""))
    if any(not isinstance(known.get(build), dict) or "builds" in known[build] for build in builds):
        return "one of them is not described"
    values = {name: [str(known[build].get(name)) for build in builds] for name in Build._fields}
    said = {name: values[name] if name != "features" else ["differ"] for name in values if len({*values[name]}) > 1}
    return "; ".join(f"{name} {' and '.join(dict.fromkeys(found))}" for name, found in said.items())


def _covers(parts: Sequence[Part], runs: int) -> bool:
    """Return whether parts say that they have all runs."""
    there = np.zeros(runs, bool)
    for part in parts:
        there[part.begin : part.end if part.end >= 0 else runs] = True
    return bool(there.all())


def _forms(size: Shape) -> dict[str, tuple[str, tuple[int, int]]]:
    """Return type and shape of each array of a part."""
    return {"regret": ("<f8", size), "optimal": ("<f8", size), "counts": ("<i8", (size.runs, len(COUNTS)))}


def packed(part: Part, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as a file, the same bytes whenever and wherever it is made: a mark, a checksum, whose runs they are, the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.cells import Cell, Part, Shape, packed, unpacked
    >>> arrays = {name: np.nan_to_num(array) for name, array in Cell(Shape(2, 1)).arrays.items()}
    >>> part = Part("c0ffee", 4, 6, "1b53b839")
    >>> content = packed(part, arrays)
    >>> sorted(unpacked(content, part, bins=1)), unpacked(content[:-1], part, bins=1)
    (['counts', 'optimal', 'regret'], None)
    >>> print(unpacked(content, part._replace(key="decade"), bins=1))
    None
    """
    forms = _forms(Shape(*arrays["regret"].shape))
    numbers = b"".join(np.ascontiguousarray(arrays[name], kind).tobytes() for name, (kind, _) in forms.items())
    return _head(part, numbers) + numbers


def _head(part: Part, numbers: bytes) -> bytes:
    """Return how a file begins; it names its cell and runs, so that a file under another's name is not taken for that."""
    title = f"{part.key} {part.begin}-{part.end}\n".encode()
    return _MARK + crc32(title + numbers).to_bytes(4, "little") + title


def unpacked(content: bytes, part: Part, bins: int) -> dict[str, np.ndarray] | None:
    """Return the arrays of a file, None if it is damaged, of another size, or of other runs or another cell than its name says."""
    head, found = len(_head(part, b"")), {}
    at = head
    for name, (kind, shape) in _forms(Shape(part.end - part.begin, bins)).items():
        length = 8 * shape[0] * shape[1]
        values = content[at : at + length]
        if len(values) < length:
            return None
        found[name], at = np.frombuffer(values, kind).reshape(shape), at + length
    sound = len(content) == at and content[:head] == _head(part, content[head:])
    return found if sound else None


def _from_archive(content: bytes, size: Shape) -> dict[str, np.ndarray] | None:
    """Return the arrays of a cell as an earlier version wrote it."""
    shapes = {name: shape for name, (_, shape) in _forms(size).items()}
    try:
        with np.load(BytesIO(content), allow_pickle=False) as file:
            found = {name: file[name] for name in shapes}
            # written when there were fewer gates: those that came later never opened
            found["counts"] = np.pad(found["counts"], ((0, 0), (0, max(0, len(COUNTS) - found["counts"].shape[1]))))
    except Exception:  # not there, or damaged: an archive fails in a dozen ways
        return None
    return found if {name: array.shape for name, array in found.items()} == shapes else None
