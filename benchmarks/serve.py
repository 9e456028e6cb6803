"""The service against the same stack's echo and against bare commits, as ratios within one run (`make bench-serve`). Loopback only."""

import argparse
import contextlib
import itertools
import math
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import uvloop

from benchmarks.lasting import endured, first_view, lived, recovery
from benchmarks.serving import Load, commits, request


class Figure(NamedTuple):
    """What was measured: a name, the figure, what it should be (at most, if negative; None: only shown), the numbers behind it."""

    name: str
    found: float
    wanted: float | None
    numbers: str = ""

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        if self.wanted is None:
            return True
        return self.found >= self.wanted if self.wanted > 0 else self.found <= -self.wanted

    def __str__(self) -> str:
        bound = "" if self.wanted is None else f"at {'least' if self.wanted > 0 else 'most'} {abs(self.wanted):g}"
        return f"{self.name:50} {self.found:10.2f}  {bound:16} {'' if self.good else 'MISSED':6}  {self.numbers}"


SECONDS, REPEATS, CONNECTIONS = 2.0, 3, 64
DECIDE = "/v1/experiments/e0/decide"


class Running(NamedTuple):
    """A server: where it listens, and its process."""

    port: int
    process: int

    @property
    def busy(self) -> float:
        """Seconds that processors have worked for it so far; not a number where nobody says that."""
        try:
            tasks = list(Path(f"/proc/{self.process}/task").iterdir())
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
        except OSError:
            return math.nan


@contextlib.contextmanager
def server(kind: str, folder: Path, experiments: int = 1) -> Iterator[Running]:
    command = [sys.executable, "-m", "benchmarks.serving", kind, str(folder), str(experiments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        time.sleep(2.0)
        try:
            yield Running(port, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def worked(running: Running, requests: Callable[..., bytes]) -> tuple[float, float]:
    """Return answers per second, and the microseconds that a processor works for one of them."""
    load, began = Load(running.port, requests), running.busy
    found = uvloop.run(load.closed(CONNECTIONS, SECONDS))
    assert load.bad == 0, f"{load.bad} answers were not 200"
    return found, 1e6 * (running.busy - began) / max(1, load.answers)


def one(*_: Any) -> bytes:
    return request(DECIDE, b'{"subject":"visitor-17"}')


def spread(experiments: int) -> Callable[..., bytes]:
    """Return requests that go round all experiments."""
    texts = itertools.cycle([request(f"/v1/experiments/e{n}/decide", b"{}") for n in range(experiments)])
    return lambda *_: next(texts)


def batch(*_: Any) -> bytes:
    return request(f"{DECIDE}/batch", b'{"rounds":[' + b",".join([b"{}"] * 100) + b"]}")


def pairs(_: Any, body: bytes) -> bytes:
    """Decide, then tell the reward of that decision."""
    if body.startswith(b'{"id"'):
        return request("/v1/experiments/e0/reward", b'{"id":"%s","reward":0.5}' % body[7:32])
    return request(DECIDE, b"{}")


def batch_pairs(_: Any, body: bytes) -> bytes:
    """Decide 100 times, then tell the rewards of those decisions."""
    ids = re.findall(rb'"id":"(\w+)"', body)
    if not ids:
        return batch()
    return request(
        "/v1/experiments/e0/reward/batch",
        b'{"rewards":[' + b",".join([b'{"id":"%s","reward":0.5}' % one for one in ids]) + b"]}",
    )


def p99(running: Running, requests: Callable[..., bytes], rate: float = 1000.0) -> float:
    load = Load(running.port, requests)
    found = uvloop.run(load.open(rate, 2 * SECONDS))
    assert load.bad == 0, f"{load.bad} answers were not 200"
    return found


def rates(folder: Path, fast: bool) -> Iterator[Figure]:
    """Measure how much and how fast; on a `fast` disk, one in memory, it is the processor that limits the service."""
    bare, grouped = (median(commits(folder, rows, 1.0) for _ in range(REPEATS)) for rows in (1, 64))
    with server("echo", folder) as echo, server("service", folder) as full, server("plain", folder) as plain:
        wanted = ((echo, one), (full, one), (full, pairs), (plain, one))
        runs = [[worked(*each) for each in wanted] for _ in range(REPEATS)]
        echoed, decided, told, alone = (median(rate for rate, _ in column) for column in zip(*runs, strict=True))
        work = [median(each for _, each in column) for column in zip(*runs, strict=True)]
        yield Figure(
            "decide / echo", median(run[1][0] / run[0][0] for run in runs), 0.30, f"{decided:.0f}/s of {echoed:.0f}/s"
        )
        yield Figure(
            "decide + reward / echo", median(run[2][0] / run[0][0] for run in runs), 0.30, f"{told:.0f} requests/s"
        )
        if fast:
            yield Figure("decide, requests/s", decided, 8000)
        else:
            yield Figure("decide / bare commits", decided / bare, 1.5, f"{decided:.0f}/s against {bare:.0f}/s")
            yield Figure("decide + reward / bare commits", told / bare, 1.5, f"{told:.0f} requests/s")
        yield Figure("decide / without storage", decided / alone, None, f"{decided:.0f}/s of {alone:.0f}/s")
        names = ("echo", "decide", "decide + reward", "decide without storage")
        for name, each in zip(names, work, strict=True):
            yield Figure(f"work per request, us: {name}", each, None, f"at most {1e6 / each:.0f}/s on one processor")
        for name, requests in (("batches of 100", batch), ("batches of decide, then reward", batch_pairs)):
            batches = [worked(full, requests) for _ in range(REPEATS)]
            each, busy = (median(column) for column in zip(*batches, strict=True))
            numbers = f"{100 * each:.0f} decisions or rewards/s, {busy / 100:.1f} us of work each, against {grouped:.0f} rows/s"
            yield Figure(f"{name} / bare groups of 64", 100 * each / grouped, 0.3, numbers)
        for rate, other, named, most in ((500.0, echo, "echo", -2.0), (1000.0, plain, "without storage", -3.0)):
            waits = [(p99(other, one, rate), p99(full, one, rate)) for _ in range(REPEATS)]
            ratio = median(ours / theirs for theirs, ours in waits)
            theirs, ours = (1000 * median(column) for column in zip(*waits, strict=True))
            yield Figure(f"p99 at {rate:.0f}/s / {named}", ratio, most, f"{ours:.1f} ms of {theirs:.1f} ms")
    (folder / "many").mkdir()
    with server("service", folder / "many", 200) as many:
        yield Figure("200 experiments at 1,000/s, p99 in ms", 1000 * p99(many, spread(200)), -250.0)


def lasting(folder: Path, events: int, decisions: int) -> Iterator[Figure]:
    """Measure what a long past and a long life cost."""
    past = folder / "past"
    past.mkdir()
    lived(past / "service.db", events)
    start, replayed = recovery(past / "service.db")
    yield Figure("replay, events/s", replayed, 20_000, f"{events:,} events")
    yield Figure("start with snapshots, s", start, -5.0, f"{events:,} events")
    views = []
    for _ in range(REPEATS):
        with server("service", past) as running:
            views.append(1000 * first_view(running.port))
    yield Figure("first view of the page, ms", median(views), -300.0, f"{events:,} events, just started")
    early, late, log = endured(folder, decisions)
    numbers = f"{late / 2**20:.0f} MB after {decisions:,} decisions"
    yield Figure("memory at the end / at a fifth", late / early, -1.1, numbers)
    yield Figure("write-ahead log under an hour of page, MB", log / 2**20, -64.0, "the most that it had")


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="of the long past")
    parser.add_argument("--decisions", type=int, default=1_000_000, help="of the long life")
    parser.add_argument("--only", choices=("rates", "lasting"), help="one half")
    parser.add_argument(
        "--memory", type=Path, default=Path("/dev/shm"), help="a folder in memory: rates are measured there, too"
    )
    options = parser.parse_args(given)
    failed = 0
    for disk in (None, options.memory) if options.memory.is_dir() else (None,):
        print(f"on {'the disk' if disk is None else 'a disk in memory'}:", flush=True)
        with tempfile.TemporaryDirectory(dir=disk) as name:
            folder = Path(name)
            found = rates(folder, disk is not None) if options.only != "lasting" else iter(())
            if disk is None and options.only != "rates":
                found = itertools.chain(found, lasting(folder, options.events, options.decisions))
            for figure in found:
                print(figure, flush=True)
                failed += not figure.good
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
