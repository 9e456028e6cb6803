"""Outages of the database, around the lease: whoever held an experiment goes on afterwards, or says who does."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from latentbandits.store import Create, Decide, FencedError, Ledger, Spec, StoreUnavailableError, verify
from latentbandits.store.held import STILL
from tests import postgres
from tests.partition import Network

pytestmark = pytest.mark.usefixtures("postgres")
LEASE = 0.6
PATIENCE = 30.0  # seconds until what must happen has happened; nothing is measured by it


@pytest.fixture
def network() -> Iterator[Network]:
    with Network(postgres.socket_file()) as found:
        yield found


def through(network: Network, place: Path, lease: float = LEASE, **given: Any) -> Ledger:
    """Return a ledger whose database is behind a network."""
    from latentbandits.store.postgresql import PostgreSQL

    address = postgres.at_port(postgres.address(place), network.port)
    return Ledger(PostgreSQL(address, lease=lease, **given), compiled=False)


def until(found: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not found():
        assert time.monotonic() < begun + PATIENCE, "it has not happened"
        time.sleep(0.02)


def decided(ledger: Ledger) -> bool:
    return isinstance(ledger.run([Decide("e")])[0], tuple)


def outage(network: Network, ledgers: list[Ledger], seconds: float) -> None:
    """Cut the database off while both are asked all the time."""
    network.cut()
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        assert not any(decided(ledger) for ledger in ledgers)
        time.sleep(0.05)
    network.mend()


@pytest.mark.parametrize("share", [0.4, 1.0, pytest.param(2.5, marks=pytest.mark.slow)])
def test_outages_around_the_lease(share: float, tmp_path: Path, network: Network) -> None:
    """Whoever goes on, the other one is told who it is, so that it can send requests on; and takes over when that one ends.

    Mutation: restore without asking whether the claim still holds, and the former owner is refused for ever.
    """
    one, two = (through(network, tmp_path, reached_at=f"http://{name}") for name in ("one", "two"))
    one.call(Create("e", Spec.of("exp3", arms=["a", "b"]), "live"))
    one.run([Decide("e") for _ in range(STILL)])  # a replay then asks whether it still holds the experiment
    ledgers = [one, two]
    for _ in range(2):
        outage(network, ledgers, share * LEASE)
        until(lambda: sum(decided(ledger) for ledger in ledgers) > 0)
        owner = next(ledger for ledger in ledgers if decided(ledger))
        other = next(ledger for ledger in ledgers if ledger is not owner)
        refusal = other.run([Decide("e")])[0]
        assert isinstance(refusal, FencedError)
        assert refusal.owner is not None
        assert refusal.owner.address == f"http://{'one' if owner is one else 'two'}"
        ledgers.reverse()  # the other one is asked first the next time
    time.sleep(2 * LEASE)
    assert decided(ledgers[0])
    assert verify(one.storage, "e").label == "identical"
    one.close()
    two.close()


def test_the_former_owner_is_not_refused_for_ever(tmp_path: Path, network: Network) -> None:
    """The other one took over during the outage, and then ended (mutation: leave out `hold` in `Held.restore`)."""
    one, two = (through(network, tmp_path, reached_at="http://here") for _ in range(2))
    one.call(Create("e", Spec.of("exp3", arms=["a", "b"]), "live"))
    one.run([Decide("e") for _ in range(STILL)])
    network.cut()
    assert not decided(one)  # its state is given up
    network.mend()
    until(lambda: decided(two))  # once the lease has ended
    refusal = one.run([Decide("e")])[0]
    assert isinstance(refusal, FencedError)
    assert refusal.owner is not None
    two.close()
    assert decided(one)
    assert verify(one.storage, "e").label == "identical"
    one.close()


def test_a_network_that_swallows_everything_ends_a_wait(tmp_path: Path, network: Network) -> None:
    """Nothing is refused, and nothing answered: no system call would end (mutation: leave out `Database.wait`)."""
    ledger = through(network, tmp_path)
    ledger.call(Create("e", Spec.of("exp3", arms=["a", "b"]), "live"))
    reader = ledger.storage.reader()
    reader._patience = LEASE  # type: ignore[attr-defined]
    assert reader.experiments()
    reader._connection.patience = LEASE  # type: ignore[attr-defined]
    network.swallow()
    refusals = [ledger.run([Decide("e")])[0] for _ in range(2)]  # on the connection that it has, and on a new one
    assert [type(one) for one in refusals] == [StoreUnavailableError] * 2
    assert "no answer within 0.6 seconds" in str(refusals[0])
    with pytest.raises(StoreUnavailableError, match="no answer within"):
        reader.experiments()
    network.mend()
    until(lambda: decided(ledger))
    assert reader.experiments()
    reader.close()
    ledger.close()


def test_a_transaction_and_a_pipeline_are_given_up_too(tmp_path: Path, network: Network) -> None:
    ledger = through(network, tmp_path)
    for name in "ef":
        ledger.call(Create(name, Spec.of("exp3", arms=["a", "b"]), "live"))
    for act in (ledger.probe, lambda: ledger.snapshot("e")):
        assert all(isinstance(one, tuple) for one in ledger.run([Decide("e"), Decide("f")]))
        network.swallow()
        assert not any(isinstance(one, tuple) for one in ledger.run([Decide("e"), Decide("f")]))
        network.mend()
        until(lambda: decided(ledger))
        act()
    ledger.close()
