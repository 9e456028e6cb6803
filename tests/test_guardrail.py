"""Guardrails: an arm that certainly breaks a second metric is withheld, in the regime where it does, and everything else stays exact."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent.guardrail import ERROR, Cell
from latentbandits.serve import served
from latentbandits.store import Change, Reward, verify
from tests.services import Web
from tests.stores import Case, repeated
from tests.test_agent import snapshot

PAYS = {"a": 0.1, "b": 0.9, "c": 0.5}
STAYS = {"a": 1.0, "b": 0.5, "c": 0.95}


def visits(agent: Any, rounds: int, seed: int = 1, stays: dict[str, float] = STAYS) -> list[str]:
    """Let visitors come who may leave; return what was played."""
    chance, played = np.random.default_rng(seed), []
    for _ in range(rounds):
        decision = agent.ask()
        played.append(decision.arm)
        agent.tell(decision, PAYS[decision.arm], guard=float(chance.random() < stays[decision.arm]))
    return played


def made(policy: str = "ucb1", **given: Any) -> lb.Agent:
    return lb.Agent(policy, arms=["a", "b", "c"], guardrail=0.9, compiled=False, **given)


def test_an_arm_that_breaks_it_is_not_offered_until_it_gets_another_chance() -> None:
    agent = made()
    played = visits(agent, 400)
    assert "b" in played[:50]
    assert "b" not in played[200:]  # though it pays most
    (broken,) = [one for one in agent.guarded if not one.kept]
    assert (broken.arm, broken.regime) == ("b", 0)
    assert broken.mean < 0.9
    assert {one.arm for one in agent.guarded} == {"a", "b", "c"}
    agent.retire("b")
    agent.add("b")
    assert all(one.kept for one in agent.guarded)
    assert "b" in visits(agent, 20)


def test_the_control_arm_is_always_offered_and_something_is_always_played() -> None:
    agent = made(control="b")
    assert "b" in visits(agent, 400, stays=dict.fromkeys("abc", 0.0))[200:]
    assert {agent.ask().arm for _ in range(5)} == {"b"}
    assert {agent.ask(available=["a", "c"]).arm for _ in range(5)} <= {"a", "c"}


def test_it_is_withheld_in_its_regime_alone() -> None:
    """Mutation: forget the regime: an arm that is bad on one kind of day is lost for all."""
    agent, chance = made("state-library", control="a"), np.random.default_rng(5)
    pays = [{"a": 0.1, "b": 0.9, "c": 0.5}, {"a": 0.2, "b": 0.6, "c": -0.8}]
    played: list[list[str]] = []
    for stay in range(6):
        played.append([])
        for _ in range(150):
            decision = agent.ask()
            leaves = decision.arm == "b" and stay % 2 == 0
            reward = chance.normal(pays[stay % 2][decision.arm], 0.05)
            agent.tell(decision, reward, guard=0.2 if leaves else 1.0)
            played[-1].append(decision.arm)
    assert played[4].count("b") < 15
    assert played[5].count("b") > 100
    assert len({one.regime for one in agent.guarded if one.arm == "b" and one.regime}) >= 2


@pytest.mark.parametrize("settings", [{}, {"window": 5, "default": 0.0}, {"corrections": 10}])
def test_saved_and_repeated_it_goes_on_exactly(settings: dict[str, Any], tmp_path: Path) -> None:
    journal: list[str] = []
    clock = iter(range(100_000))
    given: dict[str, Any] = {"clock": lambda: float(next(clock)), "floor": 0.1, **settings}
    agent = made(journal=lambda event: journal.append(json.dumps(event)), **given)
    visits(agent, 150)
    agent.save(tmp_path / "agent")
    loaded = lb.Agent.load(tmp_path / "agent", clock=given["clock"], compiled=False)
    assert snapshot(loaded) == snapshot(agent)
    assert visits(loaded, 100, seed=2) == visits(agent, 100, seed=2)
    twin = made(**given)
    twin.replay(json.loads(line) for line in journal)
    assert snapshot(twin) == snapshot(agent)
    assert twin.guarded == agent.guarded
    assert any(not one.kept for one in twin.guarded)


@pytest.mark.parametrize("settings", [{}, {"window": 3, "default": 0.0}, {"corrections": 20}])
def test_a_store_repeats_it(settings: dict[str, Any], tmp_path: Path) -> None:
    case = Case(tmp_path / "s.db", durable=False, guardrail=0.9, floor=0.1, **settings)
    chance = np.random.default_rng(3)
    for n in range(300):
        decision = case.decide()
        guard = float(chance.random() < STAYS[decision.arm]) if n % 5 else None
        case.clock.move(1 + 3 * (n % 10 == 0))
        case.ledger.call(Reward("e", decision.id, PAYS[decision.arm], guard=guard))
        if settings.get("corrections") and n % 20 == 9:
            case.ledger.call(Reward("e", decision.id, 0.3, correct=True, guard=0.0))
        if n == 150:
            case.ledger.snapshot("e")
        if n == 200:
            case.again()
    view = case.ledger.view("e")
    assert [one.arm for one in view.broken] == ["b"]
    assert repeated(case.ledger.storage) == case.ledger.digest("e")
    verdict = verify(case.ledger.storage, "e")
    assert (verdict.label, verdict.diverged) == ("identical", 0)
    case.ledger.call(Change("e", "configure", {"guardrail": 0.4}))
    assert case.ledger.view("e").broken == ()
    assert case.ledger.state("e", lambda state: state.guards) == {}
    case.ledger.close()


def test_the_service_says_what_is_broken(tmp_path: Path) -> None:
    web = Web(tmp_path / "web.db", guardrail=0.95)
    try:
        for _ in range(150):
            made = web.decide()
            body = {"id": made["id"], "reward": PAYS[made["arms"][0]], "guard": STAYS[made["arms"][0]]}
            assert web.send("POST", "/v1/experiments/e/reward", body)[0] == 200
        (broken,) = web.send("GET", "/v1/experiments/e/now")[1]["broken"]
        assert (broken["arm"], broken["regime"], broken["mean"]) == ("b", 0, pytest.approx(0.5))
        assert (
            web.send("GET", "/v1/experiments/e/now")[1]["best"]["arm"] == "c"
        )  # mutation: what is not offered is best
        said = web.send("GET", "/v1/experiments/e/probabilities")[1]
        assert dict(zip(said["arms"], said["probabilities"], strict=True)).get("b", 0) == 0
        assert web.send("POST", "/v1/experiments/e/reward", {**body, "guard": 2.0})[0] == 422
        assert web.send("PATCH", "/v1/experiments/e", {"guardrail": None})[1]["guardrail"] is None
        assert web.send("GET", "/v1/experiments/e/now")[1]["broken"] == []
    finally:
        web.close()


def test_what_makes_no_sense_is_refused() -> None:
    plain = lb.Agent("ucb1")
    with pytest.raises(ValueError, match=r"guard is 1\.0 but must be left out, since there is no guardrail"):
        plain.tell(plain.ask(), 0.5, guard=1.0)
    agent = made()
    with pytest.raises(ValueError, match=r"guard is 1\.5 but must be"):
        agent.tell(agent.ask(), 0.5, guard=1.5)
    assert agent.stats.told == 0
    for least in (0, 1, float("nan"), "high"):
        with pytest.raises(ValueError, match="guardrail is"):
            lb.Agent("ucb1", guardrail=least)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="guardrail"):
        lb.Agent(lb.policy("lc-ucb", arms=3, groups=2), guardrail=0.5)


def broken_by(share: float, least: float, rounds: int, runs: int) -> float:
    """Return the share of arms that are ever withheld, looked at after every value."""
    chance, broken = np.random.default_rng(7), 0
    for _ in range(runs):
        cell = Cell()
        for value in (chance.random(rounds) < share).astype(float).tolist():
            cell = cell.after(value, least)
            if cell.broken:
                break
        broken += cell.broken
    return broken / runs


def test_a_bad_arm_is_found() -> None:
    assert broken_by(0.85, 0.95, 1000, 20) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("least", [0.05, 0.5, 0.95])
def test_looking_all_the_time_withholds_hardly_any_good_arm(least: float) -> None:
    """Mutation: a test of one time, at 1.96 standard errors, withholds more than a third."""
    runs = 1000
    assert broken_by(least, least, 2000, runs) <= ERROR + 3 * (ERROR / runs) ** 0.5


def test_clients_tell_it_too() -> None:
    with (
        served("e", "ucb1", arms=["a", "b", "c"], guardrail=0.9) as (url, key),
        lb.Client(url, key, "e", budget=20) as client,
    ):
        played = visits(client, 150)
        assert "b" in played[:20]
        assert "b" not in played[130:]
