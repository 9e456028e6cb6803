"""A subject is forgotten, and the log repeats; keys expire and are replaced; exports go back no further than they may."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from latentbandits import cli
from latentbandits.serve.access import Access, generate_key
from latentbandits.store import Change, Reads, verify
from latentbandits.store.erase import erase
from tests.services import Web
from tests.stores import Case, repeated

E = "/v1/experiments/e"
DAY = 86_400
Make = Callable[..., Case]


def decided(case: Case, rounds: int) -> None:
    for n in range(rounds):
        decision = case.decide(subject=f"visitor-{n % 7}", idempotency_key=f"visit-{case.ledger.view('e').head}")
        if n % 3:
            case.tell(decision, n % 5 / 5)


def subjects(reads: Reads) -> list[str | None]:
    return [event.subject for event in reads.events(1) if event.kind == "decide"]


@pytest.mark.parametrize(
    "subject", [f"visitor-{n}" for n in range(4)]
)  # some of whom are held back, by some of the shares
def test_a_subject_is_forgotten_and_the_log_repeats(make: Make, subject: str) -> None:
    """Mutation: take any pseudonym: decisions come out otherwise when they are repeated."""
    case = make("exp3", holdback=0.5, control="b", window=1000.0)
    decided(case, 40)
    case.ledger.call(Change("e", "configure", {"holdback": 0.2}))
    decided(case, 40)
    before, digest = subjects(case.ledger.storage), case.ledger.digest("e")
    mine = [n for n, one in enumerate(before) if one == subject]
    storage = case.ledger.storage
    first = next(event for event in storage.events(1) if event.subject == subject)
    key = f"visit-{first.seq - 1}"
    assert storage.answered(1, key) is not None
    found = erase(case.ledger, case.ledger.storage.reader(), "e", subject, "ann")
    assert found.decisions == len(mine)
    after = subjects(case.ledger.storage)
    assert {after[n] for n in mine} == {found.pseudonym}
    assert [one for n, one in enumerate(after) if n not in mine] == [
        one for n, one in enumerate(before) if n not in mine
    ]
    assert storage.answered(1, key) is None
    event = storage.latest(1, 1)[0]
    assert (event.kind, event.actor, event.payload["erased"]) == ("erase", "ann", found.pseudonym)
    assert case.ledger.digest("e") != digest  # it is an event
    decided(case, 10)
    assert repeated(storage) == case.ledger.digest("e")
    assert (verify(storage, "e").label, verify(storage, "e").diverged) == ("identical", 0)
    assert erase(case.ledger, storage.reader(), "e", "nobody") == (None, 0)


def test_nothing_of_it_is_left_in_the_files(tmp_path: Path) -> None:
    """Mutation: leave out `secure_delete`: the name is found in a page that is free."""
    case = Case(tmp_path / "s.db", durable=False)
    name = "somebody-with-a-rather-long-name@example.org"
    for n in range(300):
        case.decide(subject=name if n % 3 == 0 else f"u{n}")
    assert any(name.encode() in path.read_bytes() for path in tmp_path.iterdir())
    assert erase(case.ledger, case.ledger.storage.reader(), "e", name).decisions == 100
    assert not any(name.encode() in path.read_bytes() for path in tmp_path.iterdir())
    case.ledger.close()


def test_the_command_forgets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = Case(tmp_path / "s.db", durable=False)
    decided(case, 14)
    case.ledger.close()
    assert cli.main(["store", "erase", str(tmp_path / "s.db"), "e", "visitor-3"]) == 0
    assert capsys.readouterr().out.startswith("2 decisions of e: erased-")
    assert cli.main(["store", "erase", str(tmp_path / "s.db"), "e", "visitor-3"]) == 0
    assert capsys.readouterr().out.startswith("0 decisions of e: no such subject.")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    found = Web(tmp_path / "web.db", settings={"export_days": 30})
    yield found
    found.close()


def test_the_service_forgets(web: Web) -> None:
    for subject in ("ann", "bob", "ann"):
        web.decide({"subject": subject})
    status, said = web.send("POST", f"{E}/erase", {"subject": "ann"})
    assert (status, said["decisions"]) == (200, 2)
    assert subjects(web.storage) == [said["pseudonym"], "bob", said["pseudonym"]]
    assert web.send("POST", f"{E}/erase", {"subject": "ann"}) == (200, {"pseudonym": None, "decisions": 0})
    assert verify(web.storage, "e").label == "identical"
    assert [event["kind"] for event in web.send("GET", f"{E}/changes")[1]["events"]][-1] == "erase"
    assert web.send("POST", "/v1/experiments/nothing/erase", {"subject": "ann"})[0] == 404


def test_exports_go_back_no_further_than_they_may(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = web.decide({"subject": "ann"})
    web.clock.move(20 * DAY)
    new = web.decide({"subject": "bob"})
    whole = web.response("GET", f"{E}/log.csv").text
    assert old["id"] in whole
    web.clock.move(15 * DAY)
    web.reward(old, 0.5)
    part = web.response("GET", f"{E}/log.csv").text
    assert new["id"] in part
    assert old["id"] not in part  # though it has changed
    assert old["id"] not in web.response("GET", f"{E}/log.csv?after=3").text
    out, place = str(tmp_path / "out.csv"), str(tmp_path / "web.db")
    for days, rows in (("100000", "2 rows"), ("0.001", "2 rows")):  # of the clock of these tests, in 2027
        assert cli.main(["store", "export", place, "e", "--out", out, "--days", days]) == 0
        assert rows in capsys.readouterr().out


def test_keys_expire(web: Web) -> None:
    status, made = web.send("POST", "/v1/keys", {"name": "shop", "roles": ["decide"], "days": 2})
    assert (status, made["key"]["expires_us"]) == (201, web.clock.now + 2 * DAY * 1_000_000)
    web.decide(secret=made["secret"])
    web.clock.move(2 * DAY)
    status, said = web.send("POST", f"{E}/decide", {}, secret=made["secret"])
    assert (status, said["error"]) == (401, "key: shop has expired")
    assert web.send("POST", "/v1/keys", {"name": "shop", "roles": ["decide"], "days": -1})[0] == 422


def test_a_key_is_replaced_while_programs_change_over(web: Web) -> None:
    body = {"name": "shop", "roles": ["decide"], "experiments": ["e"], "days": 10}
    old: Any = web.send("POST", "/v1/keys", body)[1]
    status, new = web.send("POST", f"/v1/keys/{old['key']['id']}/rotate", {"hours": 1})
    assert status == 201
    # mutation: the key that a second rotation makes is good for as long as is left of this one: an hour
    assert web.send("POST", f"/v1/keys/{old['key']['id']}/rotate", {})[0] == 409
    assert {name: new["key"][name] for name in ("name", "roles", "experiments")} == {
        name: old["key"][name] for name in ("name", "roles", "experiments")
    }
    web.decide(secret=old["secret"])
    web.decide(secret=new["secret"])
    web.clock.move(3601)
    assert web.send("POST", f"{E}/decide", {}, secret=old["secret"])[0] == 401
    web.decide(secret=new["secret"])
    again = web.send("POST", f"/v1/keys/{new['key']['id']}/rotate", {})[1]
    assert again["key"]["expires_us"] - again["key"]["created_us"] == 10 * DAY * 1_000_000
    web.send("DELETE", f"/v1/keys/{new['key']['id']}")
    assert web.send("POST", f"/v1/keys/{new['key']['id']}/rotate", {})[0] == 409
    web.clock.move(10 * DAY)
    assert web.send("POST", f"/v1/keys/{again['key']['id']}/rotate", {})[0] == 409
    assert web.send("POST", "/v1/keys/nobody/rotate", {})[0] == 404


def test_an_expired_key_administers_nothing() -> None:
    now = [0]
    access = Access(lambda: now[0])
    access.replace([generate_key("boss", ["admin"], days=1.0, now_us=0)[1]])
    assert access.administered
    now[0] = DAY * 1_000_000
    assert not access.administered
