"""What a store and a service take: bytes on disk, memory, and seconds of a start, for the page on deploying (about a minute).

python -m benchmarks.sizes
"""

import os
import resource
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from latentbandits.store import Create, Decide, Ledger, Reward, Spec, SQLite, verify
from latentbandits.store.replay import first, replay

POLICIES = ("ucb1", "exp3", "state-library")
ARMS, PAIRS, GROUP = 4, 20_000, 100
OPEN, EXPERIMENTS = 10_000, 200


def spec(policy: str) -> Spec:
    return Spec.of(policy, arms=[f"arm {n}" for n in range(ARMS)], max_open=OPEN)


def resident() -> int:
    """Return the bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def fill(ledger: Ledger, name: str) -> None:
    for begun in range(0, PAIRS, GROUP):
        made = ledger.run(
            [Decide(name, subject=f"visitor-{n}", idempotency_key=f"visit-{n}") for n in range(begun, begun + GROUP)]
        )
        rewards = [0.3 + 0.4 * ((begun // 2000 + n) % ARMS == 0) for n in range(GROUP)]
        ledger.run([Reward(name, one.id, value) for one, value in zip(made, rewards, strict=True)])


def one(policy: str, folder: Path) -> None:
    storage = SQLite(folder / f"{policy}.db")
    ledger = Ledger(storage)
    ledger.call(Create("e", spec(policy), "live"))
    fill(ledger, "e")
    storage._rows("VACUUM")
    storage._rows("PRAGMA wal_checkpoint(TRUNCATE)")
    disk = storage.path.stat().st_size
    ledger.snapshot("e")
    small = len(storage.snapshots(1)[0].state)
    tracemalloc.start()
    for _ in range(OPEN // 1000):
        ledger.run([Decide("e")] * 1000)
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ledger.snapshot("e")
    large = len(storage.snapshots(1)[0].state)
    row = storage.experiments()[0]
    state = first(storage, row, None)
    state.player.use(ledger._held["e"].steps)
    began = time.process_time()
    replay(storage, row.id, state)
    seconds = time.process_time() - began
    assert verify(storage, "e").problems == ()
    ledger.close()
    print(
        f"{policy:14} {disk / PAIRS:18,.0f} {small / 1000:14,.0f} {(large - small) / OPEN:22,.0f} {memory / OPEN:18,.0f} "
        f"{row.head / seconds:16,.0f}",
        flush=True,
    )


def many(folder: Path) -> None:
    ledger = Ledger(SQLite(folder / "many.db"))
    before = resident()
    for n in range(EXPERIMENTS):
        ledger.run([Create(f"e{n}", spec("state-library"), "live"), Decide(f"e{n}")])
    print(
        f"{EXPERIMENTS} experiments with state-library: {(resident() - before) / EXPERIMENTS / 1000:,.0f} kB each",
        end="; ",
    )
    print(f"the whole process at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:,.0f} MB")
    ledger.close()


def main() -> int:
    heads = (
        "policy",
        "bytes of disk/pair",
        "snapshot, kB",
        "bytes of it/open one",
        "memory/open one",
        "events/s replayed",
    )
    print(f"{heads[0]:14} {heads[1]:>18} {heads[2]:>14} {heads[3]:>22} {heads[4]:>18} {heads[5]:>16}")
    with tempfile.TemporaryDirectory() as folder:
        for policy in POLICIES:
            one(policy, Path(folder))
        many(Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
