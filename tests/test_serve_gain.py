"""The gain: live decisions of the policy against those that were held back, and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.store import verify
from latentbandits.store.gain import ERROR, between, unlikely
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
    assert web.send("PATCH", E, {"control": "c"})[0] == 200
    assert gain(web)["control"]["count"] == 0
    assert gain(web)["difference"] is None
    web.clock.move(60)
    live = rewarded(web, 80, 0.8)
    found = gain(web)  # mutation: the policy of before, too, or of the minute of the change: of a worse time
    assert (found["policy"]["count"], found["control"]["count"]) == (80 - live.count("control"), live.count("control"))
    assert found["difference"] == pytest.approx(0.0)


def test_a_holdback_that_begins_later_is_not_compared_with_what_was_before(tmp_path: Path) -> None:
    web = Web(tmp_path / "web.db", "exp3")
    try:
        rewarded(web, 50, 0.2)
        assert web.send("PATCH", E, {"holdback": 0.5})[0] == 200
        web.clock.move(60)
        live = rewarded(web, 50, 0.8)
        assert gain(web)["policy"]["count"] == live.count("policy")
        assert gain(web)["difference"] == pytest.approx(0.0)
    finally:
        web.close()


def missed(share: float, chance: float, rounds: int, runs: int) -> float:
    """Return the share of runs in which some interval, of all that are looked at, has not the true difference, which is 0."""
    random, missed = np.random.default_rng(11), 0
    for _ in range(runs):
        rewards = (random.random(rounds) < chance).astype(float)
        held = random.random(rounds) < share
        counts, totals = (np.cumsum([~held, held] * values, axis=1) for values in (np.ones(rounds), rewards))
        for n in range(40, rounds, 7):
            sides = [(int(counts[k, n]), float(totals[k, n]), float(totals[k, n])) for k in (0, 1)]
            found = between(*sides)
            if found.low is not None and not found.low <= 0 <= (found.high or 0.0):
                missed += 1
                break
    return missed / runs


def test_an_interval_that_is_looked_at_all_the_time_is_right() -> None:
    """Mutation: 1.96 standard errors: more than a third of the runs show a gain that is none."""
    assert missed(0.2, 0.3, 2000, 40) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("chance", [0.02, 0.5])
def test_it_is_right_for_rare_rewards_and_small_holdbacks(share: float, chance: float) -> None:
    runs = 300
    assert missed(share, chance, 5000, runs) <= ERROR + 3 * (ERROR * (1 - ERROR) / runs) ** 0.5


def test_it_finds_what_is_there() -> None:
    found = between((9000, 4950.0, 4950.0), (1000, 450.0, 450.0))
    assert found.difference == pytest.approx(0.1)
    assert found.low is not None
    assert found.low > 0
    assert between((9000, 4950.0, 4950.0), (19, 9.0, 9.0)).low is None


def subjects(web: Web, rounds: int, lost: float) -> None:
    """Let subjects come twice; some rewards of those that are held back get lost."""
    rounds_of = [{"subject": n // 2} for n in range(rounds)]
    made = web.send("POST", f"{E}/decide/batch", {"rounds": rounds_of})[1]["decisions"]
    told = [
        {"id": one["id"], "reward": 0.5} for n, one in enumerate(made) if one["by"] != "control" or n % 10 >= 10 * lost
    ]
    assert web.send("POST", f"{E}/reward/batch", {"rewards": told})[0] == 200


@pytest.mark.parametrize(("lost", "mismatch"), [(0.0, False), (0.8, True)])
def test_rewards_of_one_side_that_get_lost_raise_an_alarm(web: Web, lost: float, mismatch: bool) -> None:
    """Mutation: count decisions, which are dependent: subjects that come often raise the alarm."""
    subjects(web, 1000, lost)
    found = web.send("GET", f"{E}/gain")[1]["ratio"]
    assert found["mismatch"] is mismatch
    assert found["share"] == 0.25
    assert found["subjects"] <= 500
    assert web.send("PATCH", E, {"holdback": 0.0})[0] == 200
    assert web.send("GET", f"{E}/gain")[1]["ratio"] is None


def test_the_alarm_is_about_the_last_parts_of_the_log(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latentbandits.store.gain.PART", 1000)
    subjects(web, 600, 0.9)
    assert web.send("GET", f"{E}/gain")[1]["ratio"]["mismatch"]
    for _ in range(3):
        subjects(web, 600, 0.0)
    assert not web.send("GET", f"{E}/gain")[1]["ratio"]["mismatch"]


def test_chance_raises_hardly_any_alarm() -> None:
    random = np.random.default_rng(3)
    for _ in range(100):
        held = np.cumsum(random.random(3000) < 0.1)
        assert not any(unlikely(int(held[n - 1]), n, 0.1) for n in range(1, 3001, 10))


def test_an_agent_of_a_store_knows_its_gain(tmp_path: Path) -> None:
    with lb.open_agent(tmp_path / "s.db", "e", "ucb1", ["a", "b"], holdback=0.5, control="a", compiled=False) as agent:
        for n in range(60):
            decision = agent.ask()
            agent.tell(decision, n % 2 + 0.0)
        found = agent.gain
        assert found.policy.rewards + found.control.rewards == 60
        assert found.low is not None
        assert found.low < 0 < (found.high or 0)
