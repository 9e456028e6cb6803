"""The service against the same stack's echo and against bare commits, as ratios within one run (`make bench-serve`). Loopback only."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from benchmarks.serving import ARMS, Load, commits, request
from latentbandits.store import Create, Decide, Ledger, Reward, Round, Spec, SQLite

SECONDS, REPEATS, CONNECTIONS = 2.0, 3, 64
DECIDE = "/v1/experiments/e0/decide"


@contextlib.contextmanager
def server(kind: str, folder: Path, experiments: int = 1) -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.serving", kind, str(folder), str(experiments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        time.sleep(1.0)
        yield port
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def closed(port: int, requests: Callable[..., bytes]) -> float:
    load = Load(port, requests)
    found = uvloop.run(load.closed(CONNECTIONS, SECONDS))
    assert load.bad == 0, f"{load.bad} answers were not 200"
    return found


def one(*_: Any) -> bytes:
    return request(DECIDE, b'{"unit":"visitor-17"}')


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


def p99(port: int, requests: Callable[..., bytes], rate: float = 1000.0) -> float:
    load = Load(port, requests)
    found = uvloop.run(load.open(rate, 2 * SECONDS))
    assert load.bad == 0, f"{load.bad} answers were not 200"
    return found


def recovery(folder: Path, events: int = 100_000) -> tuple[float, float]:
    """Return events per second of a replay without snapshots, and the seconds of a start with them."""
    storage = SQLite(folder / "long.db")
    storage._rows("PRAGMA synchronous = OFF")  # only to make the file sooner
    ledger = Ledger(storage, compiled=True)
    ledger.call(Create("e0", Spec.of("state-library", ARMS), "live"))
    for _ in range(events // 1000):
        made = ledger.run([Decide("e0", (Round(),) * 500)])[0]
        ledger.run([Reward("e0", one.id, 0.1 * (ord(one.arm) % 4)) for one in made.decisions])
    ledger.close()
    began = time.perf_counter()
    storage = SQLite(folder / "long.db")
    Ledger(storage, compiled=True).open("e0")
    start = time.perf_counter() - began
    storage._rows("DELETE FROM snapshot")
    began = time.perf_counter()
    Ledger(storage, compiled=True).open("e0")
    replayed = events / (time.perf_counter() - began)
    storage.close()
    return replayed, start


def figures(folder: Path) -> Iterator[tuple[str, float, float, str]]:
    """Yield what was measured: a name, the figure, what it should be, and the numbers behind it."""
    bare, grouped = (median(commits(rows, 1.0) for _ in range(REPEATS)) for rows in (1, 64))
    with server("echo", folder) as echo, server("service", folder) as full, server("plain", folder) as plain:
        runs = [(closed(echo, one), closed(full, one)) for _ in range(REPEATS)]
        rate = median(decided for _, decided in runs)
        yield (
            "decide / echo",
            median(decided / echoed for echoed, decided in runs),
            0.30,
            f"{rate:.0f}/s of {runs[0][0]:.0f}/s",
        )
        yield "decide / bare commits", rate / bare, 1.5, f"{rate:.0f}/s against {bare:.0f}/s"
        told = median(closed(full, pairs) for _ in range(REPEATS))
        yield "decide + reward / bare commits", told / bare, 1.5, f"{told:.0f} requests/s"
        units = 100 * median(closed(full, batch) for _ in range(REPEATS))
        yield "batches of 100 / bare groups of 64", units / grouped, 0.4, f"{units:.0f} units/s against {grouped:.0f}/s"
        waits = [(p99(plain, one), p99(full, one)) for _ in range(REPEATS)]
        ratio = median(ours / theirs for theirs, ours in waits)
        yield "p99 at 1,000/s / without storage", ratio, -3.0, f"{1000 * median(ours for _, ours in waits):.1f} ms"
    (folder / "many").mkdir()
    with server("service", folder / "many", 200) as many:
        yield "200 experiments at 1,000/s, p99 in ms", 1000 * p99(many, spread(200)), -250.0, ""
    replayed, start = recovery(folder)
    yield "replay, events/s", replayed, 20_000, ""
    yield "start with snapshots, s", start, -5.0, "100,000 events"


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for name, found, wanted, numbers in figures(Path(folder)):
            good = found >= wanted if wanted > 0 else found <= -wanted
            failed += not good
            bound = f"at least {wanted:g}" if wanted > 0 else f"at most {-wanted:g}"
            print(f"{name:38} {found:10.2f}  {bound:16} {'' if good else 'MISSED'}  {numbers}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
