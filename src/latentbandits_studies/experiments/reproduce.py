"""Run experiments, keep their results, and judge them; what was run before is not run again."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from latentbandits.presentation.progress import Stages
from latentbandits.settings import whole
from latentbandits_studies.experiments.ahead import compile_ahead
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.claims import Claim, tempered
from latentbandits_studies.experiments.registry import Experiment, experiments
from latentbandits_studies.experiments.store import Shard, Store


class Outcome(NamedTuple):
    """What came of one experiment: its claims, and how many of its cells were computed or found."""

    experiment: Experiment
    claims: list[Claim]
    seconds: float
    computed: int
    found: int


def reproduce(
    names: Sequence[str | Experiment],
    folder: str | Path,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    finished: Callable[[Outcome], None] | None = None,
    executor: Executor | None = None,
    strict: bool = False,
    remark: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """Run the named experiments (all if none) and leave rows, a manifest and tables in a folder.

    What shards, killed runs and other machines have left there is merged; only the rest is computed.

    Parameters
    ----------
    names : sequence of str or Experiment
        Ids, as listed by ``latentbandits experiments``, or experiments themselves.
    folder : path or str
        Where results are kept, a path or an address such as ``s3://bucket/results``; what is there already is used.
    quick : bool
        Fewer matrices and shorter sweeps: the same experiments with wider intervals.
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Called with rounds done and the total, of all experiments together.
    finished : callable, optional
        Called with each outcome as soon as it is there.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads, as in `latentbandits.simulate`.
    strict : bool
        Refuse results that several builds have computed, even if the probes of their engines agree.
    remark : callable, optional
        Called with sentences about the builds that took part.
    """
    planned, store = _planned(names, folder, quick, workers, strict)
    stages = Stages(progress, *_left(store, planned))
    if executor is None:
        compile_ahead([case for cases in planned.values() for case in cases if store.missing(case)])
    outcomes = []
    for one, cases in planned.items():
        begin = time.perf_counter()
        computed = len(store.compute(cases, workers, stages.next(), executor))
        rows = store.rows(cases, quick)
        store.save(one.id, rows)
        if one.table is not None:
            store.folder.write(f"{one.id}.csv", one.table(rows).to_csv(index=False, float_format="%.6g").encode())
        seconds = time.perf_counter() - begin
        store.note(one.id, cases, quick, seconds if computed else 0.0, one.sizes)
        cells = sum(len(case.policies) for case in cases)
        outcomes.append(Outcome(one, tempered(one.score(rows), quick), seconds, computed, cells - computed))
        if finished is not None:
            finished(outcomes[-1])
    if remark is not None:
        for text in store.cells.remarks():
            remark(text)
    return outcomes


def reproduce_shard(
    names: Sequence[str | Experiment],
    folder: str | Path,
    shard: Shard,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    executor: Executor | None = None,
    strict: bool = False,
) -> int:
    """Compute one of several shares of the named experiments, and return the number of rounds that it took.

    Shards know nothing of each other: they may run at any time, on any machine, in any order, and twice. `reproduce` merges them.

    Examples
    --------
    >>> import tempfile
    >>> from latentbandits_studies.experiments.reproduce import reproduce_shard, status
    >>> from latentbandits_studies.experiments.store import Shard
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in (2, 1):
    ...         rounds = reproduce_shard(["timing"], folder, Shard(number, 2), quick=True)
    ...     status(["timing"], folder, quick=True)[0].complete
    True
    """
    planned, store = _planned(names, folder, quick, workers, strict)
    left = _left(store, planned, shard)
    store.compute([case for cases in planned.values() for case in cases], workers, progress, executor, shard)
    return sum(left)


class Status(NamedTuple):
    """How much of an experiment is there.

    Attributes
    ----------
    experiment : its id
    cells, done : how many there are to compute, and how many are complete
    rounds, left : rounds of all of them, and those that are not there
    """

    experiment: str
    cells: int
    done: int
    rounds: int
    left: int

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.left == 0


def status(names: Sequence[str | Experiment], folder: str | Path, quick: bool = False) -> list[Status]:
    """Return how much of the named experiments (all if none) is in a folder; nothing is computed or written."""
    store, found = Store(folder, read_only=True), []
    for one in experiments(names):
        cases = one.cases(quick)
        cells = sum(len(case.policies) for case in cases)
        lacking = sum(len(store.missing(case)) for case in cases)
        left = sum(_left(store, {one: cases}))
        found.append(Status(one.id, cells, cells - lacking, sum(case.rounds for case in cases), left))
    return found


def _planned(
    names: Sequence[str | Experiment], folder: str | Path, quick: bool, workers: int | None, strict: bool
) -> tuple[dict[Experiment, list[Case]], Store]:
    chosen = experiments(names)
    if workers is not None:
        whole("reproduce", "workers", workers, least=1)
    store = Store(folder, strict=strict)
    if quick:
        for one in chosen:
            store.refuse_quick([one.id], None if one.sizes is None else one.sizes[0])
    return {one: one.cases(quick) for one in chosen}, store


def _left(store: Store, planned: Mapping[Experiment, Sequence[Case]], shard: Shard | None = None) -> list[int]:
    """Return how many rounds of each experiment remain; what two cases share is simulated for the first of them."""
    left = iter(store.left([case for cases in planned.values() for case in cases], shard))
    return [
        sum(case.horizon * (end - begin) for case in cases for ranges in next(left).values() for begin, end in ranges)
        for cases in planned.values()
    ]
