"""A replica under load that a test stops and continues: it says what was acknowledged, and when it was fenced."""

import sys

from latentbandits.store import Decide, FencedError, Ledger, StoreUnavailableError
from latentbandits.store.postgresql import PostgreSQL


def main(address: str, lease: float) -> None:
    ledger = Ledger(PostgreSQL(address, "http://stale", lease=lease), compiled=False)
    number = 0
    while True:
        number += 1
        try:
            made = ledger.call(Decide("e", idempotency_key=f"stale-{number}", actor="stale"))
            said = f"made {made.id}"
        except FencedError:
            said = "fenced"
        except StoreUnavailableError as problem:
            said = f"failed {problem}"
        sys.stdout.write(f"{said}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
