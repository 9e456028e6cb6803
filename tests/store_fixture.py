"""A store as it was written once, which opens and verifies for good. ``python -m tests.store_fixture --again`` writes it again."""

import json
import sys
from hashlib import sha256
from pathlib import Path

from latentbandits.store import (
    Censor,
    Change,
    Create,
    Decide,
    Expire,
    Ledger,
    Reads,
    Reward,
    Spec,
    SQLite,
)
from latentbandits.store.schema import VERSION
from tests.stores import Clock

STORE = Path(__file__).parent / "golden" / "stores" / str(VERSION)
POLICIES = {"offers": "state-library:states=6", "clicks": "exp3", "pairs": "lc-ucb:groups=2,covariates=2"}
MORE = 20


def play(ledger: Ledger, clock: Clock, name: str, rounds: range) -> list[str]:
    """Decide, tell in time, late or never, and return the arms that were played."""
    played = []
    for n in rounds:
        context = [n / 10, -n / 7] if name == "pairs" else None
        decision = ledger.call(Decide(name, context, None, f"u{n % 9}", f"k{n}"))
        played.append("+".join(map(str, decision.arms)))
        reward = (n * 7 % 11) / 11 + 0.3 * (n // 25 % 2)
        clock.move(5)
        if n % 11 == 3:
            ledger.call(Censor(name, decision.id))
        elif n % 7:
            ledger.call(Reward(name, decision.id, [reward, 1 - reward] if name == "pairs" else reward))
        elif n % 2:
            clock.move(61)
            ledger.call(Reward(name, decision.id, [0.5, 0.5] if name == "pairs" else 0.5))
    return played


def facts(reads: Reads, name: str) -> dict[str, object]:
    """Return what must never change."""
    row = reads.experiment(name)
    assert row is not None
    events = reads.events(row.id, 0, 1_000_000)
    content = json.dumps([[*event[:-1], (event.scores or b"").hex()] for event in events])
    return {"events": len(events), "digest": sha256(content.encode()).hexdigest(), "status": row.status}


def write(folder: Path) -> None:
    """Write the store, what it must say, and what is played next."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "store.db"
    path.unlink(missing_ok=True)
    clock = Clock()
    ledger = Ledger(SQLite(path), clock, compiled=False)
    for name, policy in POLICIES.items():
        default = 0.25 if name == "clicks" else None
        arms: list[str | int] = ["red", "blue", 3] if name != "pairs" else ["red", "blue"]
        ledger.call(Create(name, Spec.of(policy, arms=arms, window=60, default=default, max_open=8), actor="ann"))
        ledger.call(Change(name, "configure", {"control": "blue"}))
        play(ledger, clock, name, range(40))
        if name != "pairs":
            ledger.run(
                [
                    Change(name, "configure", {"floor": 0.1, "holdback": 0.1}),
                    Change(name, "add", {"arm": "new"}),
                    Change(name, "retire", {"arm": "red"}),
                ]
            )
        ledger.snapshot(name)
        for n, status in enumerate(("shadow", "frozen", "killed", "live")):
            ledger.call(Change(name, "status", {"status": status}, actor="bob"))
            play(ledger, clock, name, range(40 + 5 * n, 45 + 5 * n))
    for name in POLICIES:
        ledger.call(Expire(name))
    said = {name: facts(ledger.storage, name) for name in POLICIES}
    ledger.close()
    for leftover in folder.glob("store.db?*"):
        leftover.unlink()
    copy = folder / "copy.db"
    copy.write_bytes(path.read_bytes())
    ledger = Ledger(SQLite(copy), clock, compiled=False)
    for name in POLICIES:
        said[name]["next"] = play(ledger, clock, name, range(60, 60 + MORE))
    ledger.close()
    for leftover in folder.glob("copy.db*"):
        leftover.unlink()
    (folder / "facts.json").write_text(json.dumps({"now": clock.now, "experiments": said}, indent=1) + "\n")


if __name__ == "__main__":
    if STORE.exists() and "--again" not in sys.argv:
        sys.exit(f"tests.store_fixture: {STORE} is there; --again writes it again")
    write(STORE)
