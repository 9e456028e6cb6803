"""Past one machine, as ratios within one run (`make bench-scale`): executors, shards, and a model of many workers. Loopback only."""

import argparse
import contextlib
import dataclasses
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from statistics import median
from typing import Any

import latentbandits as lb
from benchmarks.cluster import Costs, efficiency, played
from benchmarks.figures import Figure, say, table
from latentbandits.compiled.cache import cache_root
from latentbandits.executors import opened
from latentbandits.simulation import spread
from latentbandits.simulation.blocks import Block
from latentbandits.simulation.build import this_build
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.registry import experiment
from latentbandits_studies.experiments.store import Shard, Store, shape_of

WORKERS = (10, 100, 1000, 10_000)
SIZES = (2.0, 5.0, 20.0, 60.0)
SHARDS = 100
_SEEDS = itertools.count(1)


class Noted(Executor):
    """An executor of which the seconds of every block are noted."""

    def __init__(self, executor: Executor) -> None:
        self._executor, self.blocks, self.order = executor, dict[str, float](), list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future = self._executor.submit(function, *args, **kwargs)
        self.order.append(args[0].name)
        future.add_done_callback(lambda done: self.blocks.__setitem__(done.result().name, sum(done.result().seconds)))
        return future

    def seconds(self) -> list[float]:
        return [self.blocks[name] for name in self.order]


@contextlib.contextmanager
def dask() -> Iterator[str]:
    from distributed import LocalCluster

    os.environ.setdefault("LATENTBANDITS_CACHE", str(cache_root()))
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        yield f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def fresh(cases: list[Case]) -> list[Case]:
    """Return cases with worlds that no process has met: what an oracle was told about a world is remembered."""
    seed = next(_SEEDS)
    return [dataclasses.replace(case, seed=seed) for case in cases]


def compute(cases: list[Case], executor: Executor | None, workers: int = 2) -> float:
    """Return the seconds of computing cases in an empty folder."""
    cases = fresh(cases)
    with tempfile.TemporaryDirectory() as folder:
        return timed(lambda: Store(folder).compute(cases, workers=workers, executor=executor))


def overhead(executor: Executor, blocks: int = 200) -> Costs:
    """Return what a block costs beside its work: many blocks without any."""
    block = Block(lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, 1, 1, 0, 0, 1, 0, blocks)
    before = spread.SECONDS, spread.LEAST
    spread.SECONDS = spread.LEAST = 1e-12
    try:
        noted = Noted(executor)
        busy = time.process_time()
        wall = timed(lambda: spread.spread([spread.Task(block, lambda _: None)], noted, 2))
        busy = time.process_time() - busy
    finally:
        spread.SECONDS, spread.LEAST = before
    return Costs(sender=min(busy, wall) / blocks, worker=max(0.0, 2 * wall - sum(noted.seconds()) - 2 * busy) / blocks)


def kept(cases: list[Case]) -> float:
    """Return the seconds that it takes to keep a block of a middling case: a part per policy."""
    case = cases[len(cases) // 2]
    with tempfile.TemporaryDirectory() as folder:
        whole = Store(folder)
        whole.compute(case, workers=2)
        cells = {label: whole.cells.cell(case.keys[label], shape_of(case)).arrays for label in case.policies}
    with tempfile.TemporaryDirectory() as folder:
        other = Store(folder)

        def keep() -> None:
            for label, arrays in cells.items():
                half = {name: array[: len(array) // 2] for name, array in arrays.items()}
                other.cells.keep(case.keys[label], shape_of(case), 0, half, this_build())

        keep()
        return timed(keep)


def shards(cases: list[Case], count: int) -> float:
    """Return the seconds of all shards, one after the other, each on one core, in one folder."""
    cases = fresh(cases)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        for number in range(1, count + 1):
            Store(folder).compute(cases, workers=1, shard=Shard(number, count))
        took = time.perf_counter() - begin
        assert not any(Store(folder).missing(case) for case in cases)
    return took


def measured(repeats: int, quick: bool) -> tuple[list[Figure], Costs]:
    cases = experiment("table2").cases(True)
    cases = cases[:14:7] if quick else cases
    rates: dict[str, list[float]] = {name: [] for name in ("threads", "processes", "dask", "single", "shards")}
    errors: dict[str, list[float]] = {"processes": [], "dask": []}
    with opened("processes", 2) as pool, dask() as address, opened(address) as cluster:
        assert pool is not None
        assert cluster is not None
        executors = {"processes": pool, "dask": cluster}
        say("scale: everything is compiled first")
        for executor in (None, *executors.values()):
            compute(cases[:1] if quick else cases, executor)
        costs = {name: overhead(executor) for name, executor in executors.items()}
        writing = kept(cases)
        for turn in range(repeats):
            say(f"scale: turn {turn + 1} of {repeats}")
            rates["threads"].append(compute(cases, None))
            for name, executor in executors.items():
                noted = Noted(executor)
                took = compute(cases, noted)
                rates[name].append(took)
                blocks = noted.seconds()
                cost = Costs(costs[name].sender + writing, costs[name].worker)
                errors[name].append(abs(played(blocks, 2, cost) / took - 1))
                say(f"  {name}: {len(blocks)} blocks, median {median(blocks):.2f} s, {took:.1f} s")
            rates["single"].append(compute(cases, None, workers=1))
            rates["shards"].append(shards(cases, SHARDS))
    ratio = {name: median(t / o for t, o in zip(rates["threads"], rates[name], strict=True)) for name in rates}
    sharded = median(many / one for one, many in zip(rates["single"], rates["shards"], strict=True))
    per_block = 1000 * (costs["dask"].sender + costs["dask"].worker)
    figures = [
        Figure("threads_seconds", median(rates["threads"]), "", "table2 --quick, two threads"),
        Figure("processes", ratio["processes"], ">= 0.85", "throughput of two processes over that of two threads"),
        Figure("dask", ratio["dask"], ">= 0.85", "throughput of two Dask workers over that of two threads"),
        Figure("dask_block_ms", per_block, "< 20", "a Dask block beside its work, in ms"),
        Figure("keep_block_ms", 1000 * writing, "", "keeping a block: a part per policy, in ms"),
        Figure("shards", sharded, "<= 1.1", f"{SHARDS} shards one after another over a single run, on one core"),
        Figure("model_processes", median(errors["processes"]), "<= 0.15", "error of the model for two processes"),
        Figure("model_dask", median(errors["dask"]), "<= 0.15", "error of the model for two Dask workers"),
    ]
    return figures, Costs(costs["dask"].sender + writing, costs["dask"].worker)


def model(costs: Costs) -> dict[float, list[float]]:
    """Return the efficiency of each number of workers, by block size."""
    return {size: [efficiency(workers, costs, size) for workers in WORKERS] for size in SIZES}


def text(found: dict[float, list[float]]) -> str:
    lines = ["| seconds per block | " + " | ".join(f"{workers:,} workers" for workers in WORKERS) + " |"]
    lines.append("|---|" + "---|" * len(WORKERS))
    lines += [f"| {size:g} | " + " | ".join(f"{one:.2f}" for one in row) + " |" for size, row in found.items()]
    return "\n".join(lines)


def plot(found: dict[float, list[float]], path: Path) -> None:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6, 3.4), layout="constrained")
    axes = canvas.subplots()
    for (size, row), colour, marker in zip(
        found.items(), ("#0072b2", "#e69f00", "#009e73", "#cc79a7"), "os^D", strict=True
    ):
        axes.plot(WORKERS, row, marker=marker, color=colour, label=f"{size:g} s")
    axes.axhline(0.8, color="grey", linewidth=0.8, linestyle="--")
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="workers", ylabel="efficiency")
    axes.legend(title="block", frameon=False)
    canvas.savefig(path, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--costs", type=float, nargs=2, metavar="MS", help="only the model, with these costs of sender and worker"
    )
    parser.add_argument("--quick", action="store_true", help="two of the table's cases, to see that it works")
    parser.add_argument("--figure", type=Path, help="write the model's figure, docs/past-one-machine.svg say")
    options = parser.parse_args()
    if options.costs is None:
        figures, costs = measured(options.repeats, options.quick)
    else:
        figures, costs = [], Costs(*(cost / 1000 for cost in options.costs))
    print(table(figures))
    found = model(costs)
    print(
        f"\nmodel: {1000 * costs.sender:.2f} ms of the sender and {1000 * costs.worker:.2f} ms of the worker per block\n"
    )
    print(text(found))
    if options.figure is not None:
        plot(found, options.figure)
    return int(any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
