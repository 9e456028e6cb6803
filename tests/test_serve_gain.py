"""The gain: live decisions of the policy against those that were held back, and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from latentbandits.store import verify
from tests.services import Web

E = "/v1/experiments/e"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    made = Web(tmp_path / "web.db", "exp3", holdback=0.25, control="b")
    yield made
    made.close()


def rewarded(web: Web, rounds: int, reward: float) -> list[str]:
    """Decide and tell; return who decided."""
    made = web.send("POST", f"{E}/decide/batch", {"rounds": [{}] * rounds})[1]["decisions"]
    told = [{"id": one["id"], "reward": reward} for one in made]
    assert web.send("POST", f"{E}/reward/batch", {"rewards": told})[0] == 200
    return [one["by"] for one in made]


def gain(web: Web) -> Any:
    """Return the gain, of counts that follow from the log."""
    assert verify(web.storage, "e").label == "identical"
    return web.send("GET", f"{E}/gain")[1]


@pytest.mark.parametrize("status", ["shadow", "frozen", "killed"])
def test_what_was_not_live_is_not_compared(web: Web, status: str) -> None:
    """Mutation: count every decision by who decided: a bad hour in shadow makes the policy a winner."""
    live = rewarded(web, 80, 0.8)
    assert web.send("PUT", f"{E}/status", {"status": status})[0] == 200
    rewarded(web, 60, 0.1)
    assert web.send("PUT", f"{E}/status", {"status": "live"})[0] == 200
    found = gain(web)
    assert found["control"]["count"] == live.count("control") > 0
    assert found["policy"]["count"] == 80 - live.count("control")
    assert found["difference"] == pytest.approx(0.0)


def test_a_late_reward_is_counted_as_its_decision_was(tmp_path: Path) -> None:
    web = Web(tmp_path / "web.db", "exp3", window=10)
    try:
        for status in ("shadow", "frozen", "killed"):
            assert web.send("PUT", f"{E}/status", {"status": status})[0] == 200
            made = web.decide()
            web.clock.move(11)
            assert web.reward(made, 1.0) == (200, {"outcome": "late"})
        assert {row.decided_by for row in web.storage.minutes(1)} == {"shadow", "frozen", "killed"}
        assert verify(web.storage, "e").label == "identical"
    finally:
        web.close()


def test_another_control_arm_is_another_comparison(web: Web) -> None:
    """Mutation: leave out from when on: rewards of the arm before are said to be those of the new one."""
    rewarded(web, 80, 0.2)
    assert gain(web)["control"]["count"] > 0
    web.clock.move(60)
    assert web.send("PATCH", E, {"control": "c"})[0] == 200
    assert gain(web)["control"]["count"] == 0
    assert gain(web)["difference"] is None
    live = rewarded(web, 80, 0.8)
    found = gain(web)  # mutation: the policy of before, too: of a worse time
    assert (found["policy"]["count"], found["control"]["count"]) == (80 - live.count("control"), live.count("control"))
    assert found["difference"] == pytest.approx(0.0)


def test_a_holdback_that_begins_later_is_not_compared_with_what_was_before(tmp_path: Path) -> None:
    web = Web(tmp_path / "web.db", "exp3")
    try:
        rewarded(web, 50, 0.2)
        web.clock.move(60)
        assert web.send("PATCH", E, {"holdback": 0.5})[0] == 200
        live = rewarded(web, 50, 0.8)
        assert gain(web)["policy"]["count"] == live.count("policy")
        assert gain(web)["difference"] == pytest.approx(0.0)
    finally:
        web.close()
