"""Run experiments, keep their results, and judge them; what was run before is not run again."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from latentbandits.experiments.case import Case
from latentbandits.experiments.claims import Claim, tempered
from latentbandits.experiments.registry import Experiment, experiments
from latentbandits.experiments.store import Store
from latentbandits.files import write_whole
from latentbandits.presentation.progress import Stages
from latentbandits.settings import whole


class Outcome(NamedTuple):
    """What came of one experiment: its claims, and how many of its cells were computed or found."""

    experiment: Experiment
    claims: list[Claim]
    seconds: float
    computed: int
    found: int


def reproduce(
    names: Sequence[str],
    folder: Path,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
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
        Fewer matrices and shorter sweeps: the same experiments with wider intervals.
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Called with rounds done and the total, of all experiments together.
    finished : callable, optional
        Called with each outcome as soon as it is there.
    """
    chosen = experiments(names)
    if workers is not None:
        whole("reproduce", "workers", workers, least=1)
    store = Store(folder)
    if quick:
        store.refuse_quick(one.id for one in chosen)
    planned = {one: one.cases(quick) for one in chosen}
    stages = Stages(progress, *_left(store, [case for cases in planned.values() for case in cases]))
    outcomes = []
    for one, cases in planned.items():
        begin = time.perf_counter()
        computed = sum(len(store.compute(case, workers, stages.next())) for case in cases)
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


def _left(store: Store, cases: Sequence[Case]) -> list[int]:
    """Return how many rounds of each case remain to be simulated; what two cases share is simulated for the first of them."""
    left: list[int] = []
    seen: set[str] = set()
    for case in cases:
        keys = {case.keys[label] for label in store.missing(case)} - seen
        seen |= keys
        left.append(case.rounds // len(case.policies) * len(keys))
    return left
