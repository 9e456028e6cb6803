"""Clocks that jump: reward windows keep their length, in the process and across restarts."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from latentbandits.store import Decide, Expire
from latentbandits.store.clock import JUMP_US, SHARE, Clock
from tests.services import ADMIN, Process
from tests.stores import SECOND, Case

DAY = 86_400
FORGED = """
import pathlib, time
system = time.time_ns
def forged():
    try:
        return system() + int(float(pathlib.Path("ahead").read_text()) * 1e9)
    except (OSError, ValueError):
        return system()
time.time_ns = forged
"""


class Times:
    """A system's clock that is set, beside one that is not."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_800_000_000 * SECOND, 0

    def pass_by(self, us: int) -> None:
        self.wall += us
        self.steady += us

    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.steady)


def test_a_clock_that_nobody_sets_is_followed_to_the_microsecond() -> None:
    times = Times()
    clock = times.clock()
    for us in np.random.default_rng(0).integers(0, 5000, 1000).tolist():
        times.pass_by(us)
        assert clock() == times.wall
        times.wall += 1 if us >= SHARE else 0  # it drifts, as all do
    assert clock.behind_us == 0


@pytest.mark.parametrize("jump", [DAY, -DAY, 3600])
def test_a_jump_is_approached_and_not_followed(jump: int) -> None:
    """Mutation: return the system's clock."""
    times = Times()
    clock = times.clock()
    before, behind = clock(), abs(jump) * SECOND
    times.wall += jump * SECOND
    for _ in range(100):
        times.pass_by(SECOND)
        now = clock()
        assert SECOND - SECOND // SHARE - 1 <= now - before <= SECOND + SECOND // SHARE + 1
        assert abs(clock.behind_us) < behind
        before, behind = now, abs(clock.behind_us)
    times.pass_by(SHARE * abs(jump) * SECOND)
    assert clock() == times.wall


def test_time_goes_on_from_a_log_that_is_ahead_of_the_clock(tmp_path: Path) -> None:
    """The clock was a day ahead when decisions were stored; it was set back while nothing ran. Mutation: times that stand still."""
    case = Case(tmp_path / "d.db", window=60.0, durable=False)
    case.clock.move(DAY)
    waiting = case.decide()
    case.clock.move(-DAY)
    case.again()
    assert case.ledger.call(Expire("e")) == 0
    case.clock.move(60)
    assert case.ledger.due() == []
    assert case.tell(waiting, 1.0) == "accepted"
    lost = case.decide()
    case.clock.move(60 * SHARE / (SHARE - 1) + 1)
    assert case.ledger.due() == ["e"]
    assert case.ledger.call(Expire("e")) == 2  # both windows close, one with its reward
    counts = case.ledger.view("e").counts
    assert (counts["rewarded"], counts["censored"]) == (1, 1)
    assert case.tell(lost, 1.0) == "late"
    case.clock.move(SHARE * DAY)  # until the clock has caught up
    made = case.decide()
    assert case.ledger.storage.story(1, made.id)[0].at_us == case.clock.now
    case.ledger.close()


def until(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not found():
        assert time.monotonic() < deadline, "it has not happened"
        time.sleep(0.05)


def test_a_service_whose_clock_jumps_a_day_ahead_and_back(tmp_path: Path) -> None:
    """Mutation: go by the system's clock, and all that waits expires at once, and nothing after it."""
    headers, e = {"authorization": f"Bearer {ADMIN}"}, "/v1/experiments/e"
    server = Process(tmp_path, "--store", "k.db", "--port", "0", first=FORGED)
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        body = {"name": "e", "policy": "ucb1", "arms": ["a", "b"], "window": 3600.0}
        assert client.post("/v1/experiments", json=body).status_code == 201
        waiting = client.post(f"{e}/decide", json={}).json()
        (tmp_path / "ahead").write_text(str(DAY))
        until(lambda: "latentbandits_clock_behind_seconds 86" in client.get("/metrics").text)
        client.post(f"{e}/decide", json={})  # which would end what is over
        told = client.post(f"{e}/reward", json={"id": waiting["id"], "reward": 1.0})
        assert told.json() == {"outcome": "accepted"}
        assert client.patch(e, json={"window": 0.5}).status_code == 200
        for ahead in (DAY, 0):  # windows end, whatever the clock says
            (tmp_path / "ahead").write_text(str(ahead))
            before = client.get(f"{e}/now").json()["health"]["censored"]
            client.post(f"{e}/decide", json={})
            until(lambda before=before: client.get(f"{e}/now").json()["health"]["censored"] > before)  # type: ignore[misc]
        time.sleep(1.1)
    code, _, log = server.stop()
    assert code == 0
    jumps = [json.loads(line)["seconds"] for line in log.splitlines() if "has jumped" in line]
    assert jumps[0] == pytest.approx(DAY, abs=60)
    assert abs(jumps[0]) * SECOND > JUMP_US


def test_a_log_that_is_ahead_of_the_clock_is_reported(tmp_path: Path) -> None:
    case = Case(tmp_path / "d.db", durable=False)
    case.clock.now = time.time_ns() // 1000 + 3600 * SECOND
    case.ledger.run([Decide("e")])
    case.ledger.close()
    server = Process(tmp_path, "--store", "d.db", "--port", "0")
    server.kill()
    said = "".join(path.read_text() for path in tmp_path.glob("serve*.log"))
    (line,) = [json.loads(each) for each in said.splitlines() if "ahead of the clock" in each]
    assert (line["experiment"], line["seconds"] > 3000) == ("e", True)
