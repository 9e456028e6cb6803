"""Cells in parts: ranges of runs that any number of processes write, each part whole, without locks, and the same bytes from all of them."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from latentbandits.experiments.folders import Folder
from latentbandits.settings import Refusal
from latentbandits.simulation.build import Build, probe, this_build
from latentbandits.simulation.loop import COUNTS

ARRAYS = ("regret", "optimal", "counts")
_NAME = re.compile(r"([0-9a-f]+)(?:\.(\d+)-(\d+)\.([0-9a-f]+))?\.npz")
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
        return f"{self.key}.{self.begin}-{self.end}.{self.build}.npz" if self.build else f"{self.key}.npz"

    @classmethod
    def of(cls, name: str) -> "Part | None":
        """Return the part that a file's name stands for.

        Examples
        --------
        >>> from latentbandits.experiments.cells import Part
        >>> Part.of("c0ffee.16-32.1b53b839.npz")
        Part(key='c0ffee', begin=16, end=32, build='1b53b839')
        """
        found = _NAME.fullmatch(name)
        return found and cls(found[1], int(found[2] or 0), int(found[3] or -1), found[4] or "")


class Shape(NamedTuple):
    """The size of a cell."""

    runs: int
    bins: int


class Cell:
    """What is known of a cell: arrays over all runs, which runs are there, and the parts that they came from."""

    def __init__(self, shape: Shape) -> None:
        runs, bins = shape
        self.arrays = {
            "regret": np.full((runs, bins), np.nan), "optimal": np.full((runs, bins), np.nan), "counts": np.zeros((runs, len(COUNTS)), np.int64)
        }  # fmt: skip
        self.have = np.zeros(runs, bool)
        self.parts: list[Part] = []

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

    def missing(self, begin: int, end: int) -> Ranges:
        """Return the ranges of runs within a range that are not there.

        Examples
        --------
        >>> from latentbandits.experiments.cells import Cell, Shape
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
        self._index: dict[str, set[Part]] = {}
        self._cells: dict[str, Cell] = {}
        self._probes: dict[str, str] = {}
        self._described: set[str] = set()
        self._bad: set[Part] = set()
        self.merged: set[str] = set()
        self.aside: set[str] = set()
        self.look()

    def look(self) -> None:
        """Find out which parts there are."""
        self._index = {}
        for name in self._folder.names("cells"):
            part = Part.of(name)
            if part is not None and part not in self._bad:
                self._index.setdefault(part.key, set()).add(part)

    def cell(self, key: str, shape: Shape) -> Cell:
        """Return what is there of a cell; a damaged part is not."""
        cell = self._cell(key, shape)
        if not cell.complete:
            new = self._index.get(key, set()) - set(cell.parts) - self._bad
            for part in self._chosen(new, cell.parts):
                self._add(cell, part, shape)
        return cell

    def _cell(self, key: str, shape: Shape) -> Cell:
        if key not in self._cells:
            self._cells[key] = Cell(shape)
        return self._cells[key]

    def _add(self, cell: Cell, part: Part, shape: Shape) -> None:
        whole = part._replace(end=shape.runs) if part.end < 0 else part
        found = None if whole.end > shape.runs or whole.begin >= whole.end else self._read(part, whole, shape)
        if found is None:
            self._bad.add(part)
            return
        cell.add(whole._replace(build=part.build), found)
        self.merged.add(part.build)

    def _read(self, part: Part, whole: Part, shape: Shape) -> dict[str, np.ndarray] | None:
        """Return the arrays of a part, None if it is not there or damaged."""
        runs = whole.end - whole.begin
        shapes = {"regret": (runs, shape.bins), "optimal": (runs, shape.bins), "counts": (runs, len(COUNTS))}
        try:
            with np.load(BytesIO(self._folder.read(f"cells/{part.name}") or b""), allow_pickle=False) as file:
                found = {name: file[name] for name in shapes}
                # written when there were fewer gates: those that came later never opened
                found["counts"] = np.pad(found["counts"], ((0, 0), (0, max(0, len(COUNTS) - found["counts"].shape[1]))))
        except Exception:  # not there, or damaged: an archive fails in a dozen ways
            return None
        valid = {name: array.shape for name, array in found.items()} == shapes
        return found if valid and all(np.isfinite(array).all() for array in found.values()) else None

    def _chosen(self, new: set[Part], used: Sequence[Part]) -> Iterator[Part]:
        """Yield new parts that may be merged with those that are used, the largest first."""
        parts = sorted(new, key=lambda part: (part.end >= 0, part.begin - part.end, part.build != this_build().id))
        if self._strict:
            builds = sorted({part.build or "unknown" for part in (*parts, *used)} | (self.merged - {""}))
            if len(builds) > 1:
                raise Refusal("reproduce", "builds of parts", " ".join(builds), "the same: this is strict")
        groups: dict[str, list[Part]] = {}
        for part in parts:
            groups.setdefault(self._probe(part.build), []).append(part)
        if used:
            chosen = self._probe(used[0].build)
        elif len(groups) > 1:  # what this build would compute, or else most runs
            own = self._probe(this_build().id)
            chosen = (
                own if own in groups else max(groups, key=lambda one: sum(abs(p.end - p.begin) for p in groups[one]))
            )
        else:
            chosen = next(iter(groups), "")
        self.aside |= {part.build for one, some in groups.items() if one != chosen for part in some}
        yield from groups.get(chosen, [])

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
        self._describe(build)
        cell = self._cell(key, shape)
        part = Part(key, begin, begin + len(found["regret"]), build.id)
        if self._strict and self.merged - {build.id}:
            raise Refusal(
                "reproduce", "build", build.id, f"{' '.join(sorted(self.merged))}, as of what is there: this is strict"
            )
        if cell.parts and self._probe(cell.parts[0].build) != self._probe(build.id):
            self._cells[key] = cell = Cell(shape)  # of another engine: what it has is left aside
        cell.add(part, found)
        self.merged.add(build.id)
        if cell.complete:
            self.seal(key)
        else:
            self._folder.write(f"cells/{part.name}", packed(found), durable=False)

    def seal(self, key: str) -> None:
        """Write a complete cell as one file, and remove its parts."""
        cell = self._cells[key]
        builds = sorted({part.build for part in cell.parts})
        whole = Part(key, 0, len(cell.have), builds[0] if len(builds) == 1 else self._mixed(builds))
        if cell.parts == [whole] and whole in self._index.get(key, set()):
            return
        if builds != [""]:
            self._folder.write(f"cells/{whole.name}", packed(cell.arrays))
            for part in cell.parts:
                if part != whole:
                    self._folder.remove(f"cells/{part.name}")
            cell.parts = [whole]
            self._index[key] = {whole}

    def _describe(self, build: Build) -> None:
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
        self._folder.write(f"builds/{build}.json", (json.dumps(content, indent=1) + "\n").encode())
        self._probes[build] = content["probe"]
        self._described.add(build)

    def remarks(self) -> list[str]:
        """Return what a person should know about the builds that took part."""
        several = sorted(self.merged - {""})
        found = []
        if len(several) > 1:
            found.append(f"Parts of builds {', '.join(several)} are merged: the probes of their engines agree.")
        if self.aside - self.merged:
            names = ", ".join(one or "unknown" for one in sorted(self.aside - self.merged))
            found.append(f"Parts of builds {names} are left aside: their engine computes otherwise, or is not known.")
        return found


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as a file: the same bytes whenever and wherever it is made, so nothing is compressed."""
    content = BytesIO()
    np.savez(content, **{name: np.ascontiguousarray(arrays[name]) for name in ARRAYS})  # type: ignore[arg-type]
    return content.getvalue()
