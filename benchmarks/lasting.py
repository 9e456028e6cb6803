"""A service with a long past, and one that decides for long: start, replay, the first view of the page, memory, the write-ahead log."""

import http.client
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.serving import ARMS, KEY
from latentbandits.store import Create, Decide, Ledger, Reader, Reward, Spec, SQLite

DAYS = 7
LOOKS = 3600  # an hour of an open page: one look per second


def lived(path: Path, events: int) -> None:
    """Make a store with so many events in a week: as many decisions as rewards, a hidden regime that lasts for hours, a holdback."""
    storage = SQLite(path)
    storage._rows("PRAGMA synchronous = OFF")  # only to make the file sooner
    minutes, chance, best = DAYS * 1440, random.Random(0), 0
    clock = begun = time.time_ns() // 1000 - minutes * 60_000_000
    ledger = Ledger(storage, lambda: clock, compiled=True)
    ledger.call(Create("e0", Spec.of("state-library", ARMS, holdback=0.1, control="a"), "live"))
    for minute in range(minutes):
        if minute % 300 == 0:
            best = chance.randrange(len(ARMS))
        wanted = events * (minute + 1) // minutes // 2 - events * minute // minutes // 2
        clock = begun + minute * 60_000_000
        if wanted:
            made = ledger.run([Decide("e0")] * wanted)
            clock += 20_000_000
            ledger.run(
                [Reward("e0", one.id, 0.3 + 0.7 * (one.arm == ARMS[best]) + chance.gauss(0, 0.1)) for one in made]
            )
    ledger.close()


def recovery(path: Path) -> tuple[float, float]:
    """Return the seconds of a start with snapshots, and events per second of one without them."""
    began = time.perf_counter()
    storage = SQLite(path)
    Ledger(storage, compiled=True).open("e0")
    start = time.perf_counter() - began
    kept = storage.snapshots(1)
    storage._rows("DELETE FROM snapshot")
    began = time.perf_counter()
    again = Ledger(storage, compiled=True)
    again.open("e0")
    replayed = again.view("e0").head / (time.perf_counter() - began)
    for one in kept:
        storage.keep(1, one)
    storage.close()
    return start, replayed


def first_view(port: int) -> float:
    """Return the seconds of all that the page asks for when it is opened, one after the other, as soon as the service is ready."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(path: str) -> bytes:
        connection.request("GET", path, headers={"Authorization": f"Bearer {KEY}"})
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, (path, answer.status)
        return content

    about, now = "/v1/experiments/e0", time.time_ns() // 60_000_000_000
    began = time.perf_counter()
    files = re.findall(rb"/files/[\w.-]+", get("/"))
    for path in dict.fromkeys(files):
        get(path.decode())
    get("/v1/experiments")
    for rest in ("/now", "/tail?most=20"):
        get(about + rest)
    for since in (60, 1440):
        for rest in (f"/minutes?since={now - since}", f"/timeline?since={now - since}"):
            get(about + rest)
    for rest in ("", "/regimes", "/gain", "/changes"):
        get(about + rest)
    took = time.perf_counter() - began
    connection.close()
    return took


def endured(folder: Path, decisions: int) -> Iterator[float]:
    """Decide so often in groups of 100, in a window of 2,000 open decisions, under the looks of a page.

    Yields the bytes of memory after a fifth of them and after all, and the most bytes that the write-ahead log had.
    """
    command = [sys.executable, "-m", "benchmarks.lasting", str(folder), str(decisions)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    yield from map(float, found)


def endure(folder: Path, decisions: int) -> None:
    """See `endured`; in a process of its own, whose memory is measured."""
    path = folder / "lasting.db"
    ledger = Ledger(SQLite(path), compiled=True)
    ledger.call(Create("e0", Spec.of("state-library", ARMS, max_open=2000), "live"))
    reader, wal = Reader(path), path.with_name(f"{path.name}-wal")
    groups, sizes, early = decisions // 100, [0], 0
    for group in range(groups):
        made = ledger.run([Decide("e0")] * 100)
        ledger.run([Reward("e0", one.id, 0.1 * (ord(one.arm) % 4)) for one in made[::2]])  # the others are never told
        if group * LOOKS // groups != (group + 1) * LOOKS // groups:
            minute = time.time_ns() // 60_000_000_000
            (
                reader.latest(1, 20),
                reader.minutes(1, minute - 60),
                reader.beliefs(1, minute - 60),
                reader.experiment("e0"),
            )
            sizes.append(wal.stat().st_size)
        if group == groups // 5:
            early = resident()
    print(early, resident(), max(sizes))
    ledger.close()


def resident() -> int:
    """Return the bytes of memory that this process has now."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # the most it ever had


if __name__ == "__main__":
    endure(Path(sys.argv[1]), int(sys.argv[2]))
