"""Run experiments, keep their results, and judge them; whatever is there already is not run again."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from latentbandits.experiments.claims import Claim, tempered
from latentbandits.experiments.registry import Experiment, experiments
from latentbandits.experiments.store import Store
from latentbandits.files import write_whole
from latentbandits.settings import whole


class Outcome(NamedTuple):
    """What came of one experiment: its claims, and how many of its cells were computed or found."""

    experiment: Experiment
    claims: list[Claim]
    seconds: float
    computed: int
    found: int


def _onward(show: Callable[[int, int], None], done: int, total: int, now: int, _: int) -> None:
    show(done + now, total)


def reproduce(
    names: Sequence[str],
    folder: Path,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[str], Callable[[int, int], None]] | None = None,
    finished: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run the named experiments (all if none) and leave rows, a manifest and tables in a folder.

    Parameters
    ----------
    names : sequence of str
        Ids, as listed by ``latentbandits experiments``.
    folder : path
        Where results are kept; what is there already is used.
    quick : bool
        Fewer matrices and shorter sweeps: the same story with wider intervals.
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Given an experiment's id, returns what is called with rounds done and in all.
    finished : callable, optional
        Called with each outcome as soon as it is there.
    """
    chosen = experiments(names)
    if workers is not None:
        whole("reproduce", "workers", workers, least=1)
    store = Store(folder)
    outcomes = []
    for one in chosen:
        begin = time.perf_counter()
        cases = one.cases(quick)
        missing = [case for case in cases if store.missing(case)]
        left = [len(store.missing(case)) * case.rounds // len(case.policies) for case in missing]
        total = sum(left)
        show = progress(one.id) if progress is not None else None
        done, computed = 0, 0
        for case, rounds in zip(missing, left, strict=True):
            step = None if show is None else partial(_onward, show, done, total)
            computed += len(store.compute(case, workers, step))
            done += rounds
        if show is not None and total:
            show(total, total)
        rows = store.rows(cases, quick)
        store.save(one.id, rows)
        if one.table is not None:
            content = one.table(rows).to_csv(index=False, float_format="%.6g")
            write_whole(folder / f"{one.id}.csv", content.encode())
        seconds = time.perf_counter() - begin
        store.note(one.id, cases, quick)
        cells = sum(len(case.policies) for case in cases)
        outcomes.append(Outcome(one, tempered(one.score(rows), quick), seconds, computed, cells - computed))
        if finished is not None:
            finished(outcomes[-1])
    return outcomes
