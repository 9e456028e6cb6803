"""Past one machine, as ratios within one run (`make bench-scale`): processes and a Dask cluster against threads. Loopback only."""

import argparse
import contextlib
import dataclasses
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from statistics import median

from benchmarks.figures import Figure, say, table
from latentbandits.compiled.cache import cache_root
from latentbandits.executors import open_executor
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.registry import experiment
from latentbandits_studies.experiments.store import Store

_SEEDS = itertools.count(1)


@contextlib.contextmanager
def dask() -> Iterator[str]:
    from distributed import LocalCluster

    os.environ.setdefault("LATENTBANDITS_CACHE", str(cache_root()))
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        yield f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


def compute(cases: list[Case], executor: Executor | None) -> float:
    """Return the seconds of computing cases in an empty folder, on worlds that no process has met: an oracle remembers those."""
    seed = next(_SEEDS)
    with tempfile.TemporaryDirectory() as folder:
        store, begin = Store(folder), time.perf_counter()
        for case in cases:
            store.compute(dataclasses.replace(case, seed=seed), workers=2, executor=executor)
        return time.perf_counter() - begin


def measure(repeats: int, cases: list[Case]) -> list[Figure]:
    seconds: dict[str, list[float]] = {"threads": [], "processes": [], "dask": []}
    with open_executor("processes", 2) as pool, dask() as address, open_executor(address) as cluster:
        executors = {"threads": None, "processes": pool, "dask": cluster}
        say("scale: everything is compiled first")
        for executor in executors.values():
            compute(cases, executor)
        for turn in range(repeats):
            for name, executor in executors.items():
                seconds[name].append(compute(cases, executor))
                say(f"scale: turn {turn + 1} of {repeats}, {name} {seconds[name][-1]:.1f} s")
    ratio = {
        name: median(threads / other for threads, other in zip(seconds["threads"], seconds[name], strict=True))
        for name in seconds
    }
    return [
        Figure("threads_seconds", median(seconds["threads"]), "", "table2 --quick, two threads"),
        Figure("processes", ratio["processes"], ">= 0.85", "throughput of two processes over that of two threads"),
        Figure("dask", ratio["dask"], ">= 0.85", "throughput of two Dask workers over that of two threads"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="two of the table's cases, to see that it works")
    options = parser.parse_args()
    cases = experiment("table2").cases("quick")
    figures = measure(options.repeats, cases[:14:7] if options.quick else cases)
    print(table(figures))
    return int(any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
