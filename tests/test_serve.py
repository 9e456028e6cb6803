"""Every endpoint of the service."""

import csv
import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.beliefs import Belief, Remembered
from latentbandits.serve.routes import ROUTES
from latentbandits.serve.service import expire
from tests.services import Web

Make = Callable[..., Web]
E = "/v1/experiments/e"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Web] = []

    def begin(policy: str = "ucb1", **settings: Any) -> Web:
        made.append(Web(tmp_path / "web.db", policy, **settings))
        return made[-1]

    yield begin
    for web in made:
        web.close()


@pytest.fixture
def web(make: Make) -> Web:
    return make()


def test_a_decision_is_answered_with_all_that_a_program_needs(make: Make) -> None:
    web = make("random", floor=0.1, holdback=0.2)
    seen = [web.decide({"subject": f"u{n}"}) for n in range(60)]
    assert {one["by"] for one in seen} == {"policy", "floor", "control"}
    assert all(set(one) == {"id", "arms", "probabilities", "probe_reasons", "by"} for one in seen)
    assert all(0 < one["probabilities"][0] < 1 for one in seen)
    assert all(one["arms"] == ["a"] for one in seen if one["by"] == "control")


def test_available_arms_contexts_and_several_units(make: Make) -> None:
    web = make("lc-ucb:covariates=2")
    assert web.decide({"context": [0.5, -1], "available": ["c"]})["arms"] == ["c"]
    assert web.send("POST", f"{E}/decide", {})[0] == 422
    status, said = web.send(
        "POST", "/v1/experiments", {"name": "many", "policy": "ucb1", "groups": 3, "arms": ["a", "b"], "status": "live"}
    )
    assert (status, said["groups"]) == (201, 3)
    made = web.send("POST", "/v1/experiments/many/decide", {})[1]
    assert len(made["arms"]) == len(made["probabilities"]) == 3
    told = {"id": made["id"], "reward": [0.1, 0.2, 0.3]}
    assert web.send("POST", "/v1/experiments/many/reward", told) == (200, {"outcome": "accepted"})
    assert web.send("POST", "/v1/experiments/many/reward", {**told, "reward": 0.1})[0] == 422


def test_the_same_key_is_the_same_decision_and_another_body_a_conflict(web: Web) -> None:
    # mutation: a writer that gives the ledger no key (`Decide(..., None)`) makes two decisions
    first = web.decide({"subject": "u"}, key="visit-1")
    assert web.decide({"subject": "u"}, key="visit-1") == first
    assert web.send("POST", f"{E}/decide", {"subject": "other"}, key="visit-1")[0] == 409
    batch = {"rounds": [{"subject": "u"}, {}]}
    made = web.send("POST", f"{E}/decide/batch", batch, key="visit-2")[1]
    again = web.send("POST", f"{E}/decide/batch", batch, key="visit-2")[1]
    assert again == made
    shorter = web.send("POST", f"{E}/decide/batch", {"rounds": [{}]}, key="visit-2")
    assert shorter[0] == 409
    assert web.send("POST", f"{E}/decide", {}, key="x" * 201)[0] == 422


def test_rewards_are_learned_once(web: Web) -> None:
    made = web.decide()
    assert web.reward(made, 0.5) == (200, {"outcome": "accepted"})
    assert web.reward(made, 0.5) == (200, {"outcome": "duplicate"})
    status, said = web.reward(made, 0.6)
    assert status == 409
    assert "0.5, as they were told" in said["error"]
    assert web.reward({"id": "0" * 25}, 0.5)[0] == 404
    assert web.look(lambda ledger: ledger.view("e")).counts["rewarded"] == 1


def test_a_batch_of_rewards_has_an_outcome_each(web: Web) -> None:
    made = web.send("POST", f"{E}/decide/batch", {"rounds": [{}] * 3})[1]["decisions"]
    told = [{"id": one["id"], "reward": 1.0} for one in made]
    bad = [{"id": "f" * 25, "reward": 1.0}, {"id": made[0]["id"], "reward": 2.0}]
    status, said = web.send("POST", f"{E}/reward/batch", {"rewards": [*told, told[0], *bad]})
    assert status == 200
    assert [one["outcome"] for one in said["outcomes"]] == ["accepted"] * 3 + ["duplicate", "refused", "refused"]
    assert "must be the id of a decision" in said["outcomes"][4]["error"]


def test_a_decision_ends_with_its_window(make: Make) -> None:
    web = make(window=60, default=0.0)
    late, ended = (web.decide() for _ in range(2))
    assert web.send("POST", f"{E}/censor", {"id": ended["id"]}) == (200, {"outcome": "accepted"})
    web.clock.move(61)
    web.look(expire)  # mutation: nothing that looks at the clock leaves all of them open for ever
    counts = web.look(lambda ledger: ledger.view("e")).counts
    assert (counts["expired"], counts["censored"]) == (1, 1)
    assert web.reward(late, 1.0) == (200, {"outcome": "late"})


def test_a_reward_waits_for_its_window_and_can_be_corrected(make: Make) -> None:
    """Mutations: learn it when it is told, lose `correct` of one request or of a batch, count no refusal."""
    web = make(window=60, default=0.0, reward_range=(0, 1), corrections=5)
    first, second = (web.decide() for _ in range(2))
    assert web.reward(first, 0.5) == (200, {"outcome": "accepted"})
    assert web.reward(first, 0.75)[0] == 409
    assert web.reward(first, -1000.0)[0] == 422
    body = {"id": first["id"], "reward": 0.75, "correct": True}
    assert web.send("POST", f"{E}/reward", body) == (200, {"outcome": "corrected"})
    health = web.send("GET", f"{E}/now")[1]["health"]
    assert (health["waiting"], health["rewarded"], health["refused"], health["problem"]) == (1, 0, 1, None)
    web.clock.move(61)
    told = [{"id": one["id"], "reward": 1.0, "correct": True} for one in (first, second)]
    assert web.send("POST", f"{E}/reward/batch", {"rewards": told})[1]["outcomes"] == [{"outcome": "corrected"}] * 2
    health = web.send("GET", f"{E}/now")[1]["health"]
    assert (health["waiting"], health["rewarded"], health["expired"], health["corrected"]) == (0, 1, 1, 3)
    kinds = [one["kind"] for one in web.send("GET", f"{E}/decisions/{first['id']}")[1]["events"]]
    assert kinds == ["decide", "told", "correct", "reward", "correct"]
    changed = web.send("PATCH", E, {"learn": "at_once", "reward_range": [0, 5], "outside": "clip"})[1]
    assert (changed["learn"], changed["reward_range"], changed["outside"]) == ("at_once", [0.0, 5.0], "clip")
    web.reward(web.decide(), 9.0)
    assert web.look(lambda ledger: ledger.view("e")).counts["clipped"] == 1


def test_clicks_without_a_default_are_said_to_tell_nothing(make: Make) -> None:
    web = make(window=60)
    for n in range(50):
        decision = web.decide()
        if n % 2:
            web.reward(decision, 1.0)
    web.clock.move(61)
    web.look(expire)
    assert "the reward of a decision without one" in web.send("GET", f"{E}/now")[1]["health"]["problem"]


def test_experiments_are_made_read_and_changed(web: Web) -> None:
    body = {"name": "offers", "arms": ["x", "y"], "policy": "sw-ucb:window=300", "window": 60, "default": 0.0}
    status, said = web.send("POST", "/v1/experiments", body)
    assert status == 201
    assert (said["status"], said["policy"], said["control"], said["window"]) == ("live", "sw-ucb:window=300", "x", 60)
    assert web.send("POST", "/v1/experiments", body)[0] == 409
    path = "/v1/experiments/offers"
    assert web.send("PUT", f"{path}/status", {"status": "shadow"})[1]["status"] == "shadow"
    assert web.send("PATCH", path, {"policy": "ucb1"})[0] == 422
    changed = web.send("PATCH", path, {"window": None, "default": None, "floor": 0.2, "control": "y"})[1]
    assert (changed["window"], changed["default"], changed["floor"], changed["control"]) == (None, None, 0.2, "y")
    assert web.send("PUT", f"{path}/status", {"status": "asleep"})[0] == 422
    listed = web.send("GET", "/v1/experiments")[1]["experiments"]
    assert [one["name"] for one in listed] == ["e", "offers"]
    assert listed[1] == web.send("GET", path)[1]
    kinds = [one["kind"] for one in web.send("GET", f"{path}/changes")[1]["events"]]
    assert kinds == ["create", "status", "status", "configure"]


def test_a_tuned_policy_is_given_as_toml(web: Web) -> None:
    from latentbandits.specs import as_toml

    toml = as_toml("sw-ucb", lb.policy("sw-ucb", arms=2, window=123))
    said = web.send("POST", "/v1/experiments", {"name": "t", "arms": ["x", "y"], "toml": toml})[1]
    assert said["policy"] == "sw-ucb:window=123"
    for bad in (
        "policy = 1",
        "nonsense",
        toml.replace("sw-ucb", "os:system"),
        toml.replace("sw-ucb", "scaled(/etc/x.toml)"),
    ):
        assert web.send("POST", "/v1/experiments", {"name": "u", "arms": ["x", "y"], "toml": bad})[0] == 422


def test_arms_come_and_go(web: Web) -> None:
    assert web.send("POST", f"{E}/arms", {"arm": "d"})[0] == 200
    assert web.send("POST", f"{E}/arms", {"arm": "d"})[0] == 422
    made = web.decide({"available": ["b"]})
    assert web.send("POST", f"{E}/arms/retire", {"arm": "b"})[0] == 200
    assert web.send("POST", f"{E}/arms/retire", {"arm": "a"})[0] == 422  # the control arm
    assert web.send("POST", f"{E}/decide", {"available": ["b"]})[0] == 422
    assert web.reward(made, 1.0) == (200, {"outcome": "accepted"})  # a retired arm still takes rewards
    shown = web.send("GET", E)[1]
    assert (shown["arms"], shown["retired"]) == (["a", "c", "d"], ["b"])


@pytest.mark.parametrize(("status", "arm"), [("shadow", "a"), ("killed", "a"), ("frozen", None)])
def test_shadow_frozen_and_killed(web: Web, status: str, arm: str | None) -> None:
    assert web.send("PUT", f"{E}/status", {"status": status})[0] == 200
    made = [web.decide() for _ in range(4)]
    if arm is not None:
        assert {(one["arms"][0], one["by"]) for one in made} == {(arm, "control")}
    digest = web.look(lambda ledger: ledger.state("e", lambda state: state.player.memory.sums.tolist()))
    assert web.reward(made[0], 1.0) == (200, {"outcome": "accepted"})
    after = web.look(lambda ledger: ledger.state("e", lambda state: state.player.memory.sums.tolist()))
    assert (after == digest) == (status != "shadow")


@pytest.mark.parametrize("policy", ["exp3", "ucb1"])
def test_what_is_best_now_without_a_belief_and_looking_changes_nothing(make: Make, policy: str) -> None:
    web = make(policy)
    for _ in range(40):
        made = web.decide()
        web.reward(made, 0.9 if made["arms"][0] == "b" else 0.1)
    before = web.look(lambda ledger: ledger.digest("e"))
    assert web.send("GET", f"{E}/now")[1]["best"]["arm"] == "b"
    assert web.look(lambda ledger: ledger.digest("e")) == before


def test_a_belief_may_know_the_states_and_nothing_else(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any policy may have beliefs. Mutation: a field of StateLibrary's belief that every policy must fill."""
    states = (Remembered(1, 0.7, (0.1, 0.8, math.nan), (5, 9, 0), 2, 14, 7.0, 1),)
    monkeypatch.setattr(lb.policies.UCB1, "has_belief", True)
    monkeypatch.setattr(lb.policies.UCB1, "belief", lambda policy, memory: Belief(states, 1, 0.3))
    web = make("ucb1")
    for _ in range(3):
        web.clock.move(60)
        web.reward(web.decide(), 0.5)
    said = web.send("GET", f"{E}/regimes")[1]
    assert (said["elsewhere"], said["noise"]) == (0.3, None)
    shown = {arm["arm"]: (arm["mean"], arm["low"]) for arm in said["regimes"][0]["arms"]}
    assert shown == {"a": (0.1, None), "b": (0.8, None), "c": (None, None)}
    assert web.send("GET", f"{E}/now")[1]["regime"]["number"] == 1
    drawn = lb.Agent("ucb1", arms=["a", "b", "c"])._repr_html_()
    assert "<td>state 1</td><td>70 %</td><td>0.10</td><td>0.80</td>" in drawn
    assert "nan" not in drawn


def test_best_now_is_what_the_policy_expects_though_rewards_are_negative(make: Make) -> None:
    """Mutation: an arm that was never tried in a regime counts as 0, or as nothing: the page names it, and 'since' follows another rule."""
    web = make("state-library")
    for n in range(80):
        web.clock.move(10)
        made = web.decide({"available": ["a", "b"]})
        web.reward(made, (-5.0 if made["arms"][0] == "a" else -4.0) + 0.01 * (n % 7))
    regimes = web.send("GET", f"{E}/regimes")[1]["regimes"]
    assert any(regime["arms"][2]["mean"] is None for regime in regimes)  # c was never tried
    best = web.send("GET", f"{E}/now")[1]["best"]
    explained = web.send("GET", f"{E}/decisions/{web.decide()['id']}")[1]["options"]
    wanted = max(explained, key=lambda option: option["value"])
    assert (best["arm"], best["value"]) == (wanted["name"], pytest.approx(wanted["value"]))
    assert best["arm"] == "b"
    rows = web.send("GET", f"{E}/timeline")[1]["minutes"]
    assert all(None not in row["means"] for row in rows)  # the prior of the policy where it has tried nothing
    leads = [row["means"].index(max(row["means"])) == 1 for row in rows]
    first = rows[len(leads) - leads[::-1].index(False) if False in leads else 0]["minute"]
    assert best["since_us"] == first * 60_000_000


def test_whoever_decides_tells_or_censors_is_recorded(web: Web) -> None:
    """Mutation: a request of the store without its actor."""
    secret = web.key("decide", "reward")
    made = [web.decide(secret=secret) for _ in range(2)]
    batch = web.send("POST", f"{E}/decide/batch", {"rounds": [{}]}, secret=secret)[1]["decisions"]
    for path, body in (
        ("reward", {"id": made[0]["id"], "reward": 1.0}),
        ("censor", {"id": made[1]["id"]}),
        ("reward/batch", {"rewards": [{"id": batch[0]["id"], "reward": 1.0}, {"id": made[1]["id"], "reward": 1.0}]}),
    ):
        assert web.send("POST", f"{E}/{path}", body, secret=secret)[0] == 200
    events = web.send("GET", f"{E}/tail?most=7")[1]["events"]
    kinds = ["decide", "decide", "decide", "reward", "censor", "reward", "late"]
    assert [event["kind"] for event in reversed(events)] == kinds
    assert {event["actor"] for event in events} == {f"decide+reward ({secret.split('_')[1]})"}


def live(make: Make) -> Web:
    """An experiment with two regimes behind it, each several minutes long."""
    web = make("state-library", holdback=0.2, floor=0.05, window=3600, learn="at_once")
    for n in range(90):
        web.clock.move(10)
        made = web.decide({"subject": f"u{n}"})
        good = "b" if n < 45 else "c"
        web.reward(made, (0.9 if made["arms"][0] == good else 0.2) + 0.001 * (n % 7))
    return web


def test_what_a_page_shows(make: Make) -> None:
    web = live(make)
    now = web.send("GET", f"{E}/now")[1]
    assert (now["best"]["arm"], now["status"], now["head"]) == ("c", "live", 182)
    assert now["best"]["belief"] > 0.5
    assert now["best"]["since_us"] <= now["at_us"]
    assert now["regime"]["since_us"] is not None
    health = now["health"]
    assert (health["decided"], health["rewarded"], health["open"], health["late"]) == (90, 90, 0, 0)
    assert set(health["matched"].values()) == {1.0}
    assert health["per_second"] == pytest.approx(0.1, rel=0.5)
    number = now["regime"]["number"]
    regimes = web.send("GET", f"{E}/regimes")[1]["regimes"]
    here = next(one for one in regimes if one["number"] == number)
    best = next(one for one in here["arms"] if one["arm"] == "c")
    assert best["low"] < 0.903 < best["high"]
    assert web.send("GET", f"{E}/belief")[1]["current"] == number
    assert web.send("GET", f"{E}/stats")[1]["asked"] > 0
    assert set(web.send("GET", f"{E}/probabilities")[1]["arms"]) <= {"a", "b", "c"}
    timeline = web.send("GET", f"{E}/timeline")[1]
    assert timeline["stays"][-1]["until_us"] is None
    assert len({one["regime"] for one in timeline["stays"]}) >= 2
    assert all(abs(sum(p for _, p in one["states"]) + one["elsewhere"] - 1) < 0.01 for one in timeline["minutes"])


def test_gains_and_minutes_add_up(make: Make) -> None:
    web = live(make)
    minutes = web.send("GET", f"{E}/minutes")[1]["minutes"]
    assert sum(one["decided"] for one in minutes) == sum(one["rewarded"] for one in minutes) == 90
    gain = web.send("GET", f"{E}/gain")[1]
    sides = gain["policy"], gain["control"]
    assert sides[0]["count"] + sides[1]["count"] == 90
    totals = {by: [one["total"] for one in minutes if (one["by"] == "control") is by] for by in (False, True)}
    assert sides[0]["mean"] * sides[0]["count"] == pytest.approx(sum(totals[False]))
    assert sides[1]["mean"] * sides[1]["count"] == pytest.approx(sum(totals[True]))
    assert (gain["low"], sides[1]["count"] < 20) == (None, True)  # too few for an interval
    later = minutes[len(minutes) // 2]["minute"]
    cut = web.send("GET", f"{E}/minutes?since={later}")[1]["minutes"]
    assert cut == [one for one in minutes if one["minute"] >= later]


def test_a_decision_is_explained(make: Make) -> None:
    web = make("ucb1", floor=0.1)
    first = [web.decide() for _ in range(4)]
    web.reward(first[0], 0.7)
    said = web.send("GET", f"{E}/decisions/{first[0]['id']}")[1]
    assert [one["kind"] for one in said["events"]] == ["decide", "reward"]
    assert said["events"][1]["rewards"] == [0.7]
    assert [one["name"] for one in said["options"] if one["played"]] == first[0]["arms"]
    assert sum(one["probability"] for one in said["options"]) == pytest.approx(1.0)
    assert said["reason"]
    assert web.send("GET", f"{E}/decisions/{'0' * 25}")[0] == 404


def test_the_tail_is_the_newest_first(web: Web) -> None:
    made = [web.decide() for _ in range(5)]
    events = web.send("GET", f"{E}/tail?most=3")[1]["events"]
    assert [one["decision"] for one in events] == [one["id"] for one in reversed(made[2:])]
    assert web.send("GET", f"{E}/tail?most=3&after={events[0]['seq']}")[1]["events"] == []
    assert web.send("GET", f"{E}/tail?most=0")[0] == 422
    assert web.send("GET", f"{E}/tail?least=1")[0] == 422


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_log_is_one_that_diagnose_reads(make: Make, tmp_path: Path, kind: str) -> None:
    web = make("lc-ucb:covariates=1", floor=0.2)
    rewards = []
    for n in range(30):
        web.clock.move(1)
        made = web.decide({"subject": f"u{n}", "context": [n / 10]})
        if n % 5:
            web.reward(made, n / 7)
            rewards.append((made["arms"][0], n / 7, made["probabilities"][0], n / 10))
    found = web.response("GET", f"{E}/log.{kind}")
    assert found.status_code == 200
    path = tmp_path / f"log.{kind}"
    path.write_bytes(found.content)
    log = lb.Log.read(path, context=["context_0"])
    assert (len(log), log.left_out) == (24, 6)
    rows = [(log.arms[arm], reward) for arm, reward in zip(log.played, log.rewards, strict=True)]
    assert rows == [one[:2] for one in rewards]
    assert log.propensities is not None
    assert log.propensities.tolist() == [one[2] for one in rewards]
    assert log.context["context_0"].tolist() == [one[3] for one in rewards]
    if kind == "csv":
        ended = [row["outcome"] for row in csv.DictReader(io.StringIO(found.text))]
        assert (ended.count("rewarded"), ended.count("open")) == (24, 6)


def test_the_log_has_no_other_form(web: Web) -> None:
    assert web.send("GET", f"{E}/log.exe")[0] == 404


def test_health_ready_metrics_and_the_page(web: Web) -> None:
    web.decide()
    assert web.send("GET", "/health", secret=None)[1]["status"] == "ok"
    assert web.send("GET", "/ready", secret=None)[1]["status"] == "ready"
    text = web.response("GET", "/metrics").text
    assert 'latentbandits_requests_total{endpoint="decide",status="200"} 1.0' in text
    assert 'latentbandits_open_decisions{experiment="e"} 1.0' in text
    page = web.response("GET", "/", secret=None)
    assert page.headers["content-type"].startswith("text/html")
    web.service.ready = False
    assert web.send("GET", "/ready", secret=None)[0] == 503


def test_every_answer_has_the_headers_of_security(web: Web) -> None:
    for method, path in (
        ("GET", "/"),
        ("GET", E),
        ("GET", "/nowhere"),
        ("DELETE", E),
        ("GET", f"{E}/log.csv"),
        ("GET", "/metrics"),
    ):
        headers = web.response(method, path).headers
        assert "default-src 'self'" in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff"
    assert web.response("DELETE", E).headers["allow"]


def test_every_error_is_one_sentence(web: Web) -> None:
    for method, path, body in (
        ("GET", "/nowhere", None),
        ("DELETE", E, None),
        ("POST", f"{E}/decide", b"{"),
        ("POST", f"{E}/decide", {"colour": 1}),
        ("GET", "/v1/experiments/other", None),
        ("POST", f"{E}/reward", {"id": "x", "reward": 1}),
        ("PUT", f"{E}/status", {"status": "asleep"}),
    ):
        status, said = web.send(method, path, body)
        assert 400 <= status < 500, (path, status)
        assert set(said) == {"error"}
        assert "\n" not in said["error"]
        assert len(said["error"]) < 700


def test_every_endpoint_is_used_by_these_tests() -> None:
    files = [Path(__file__).with_name(f"test_serve{name}.py") for name in ("", "_access", "_data", "_schema")]
    files.append(Path(__file__).with_name("test_client_verbs.py"))
    text = "".join(file.read_text() for file in files)
    for route in ROUTES:
        *_, last = [part.partition("{")[0] for part in route.path.split("/") if not part.startswith("{")]
        assert f"/{last}" in text, route.path


def test_the_past_is_read_once_and_stays_right(make: Make) -> None:
    web = live(make)
    from latentbandits.serve import history

    past, since = history.Past(), 0
    for n in range(30):
        whole = history.beliefs(web.storage.beliefs(1, since))
        assert (
            past.rows(web.storage, 1, since) == whole
        )  # mutation: the last minute, which still changes, kept as it was
        web.clock.move(25)
        web.reward(web.decide(), 0.1 * (n % 3))
        since = whole[3].minute if n == 10 else since


def test_no_name_turns_the_text_around(web: Web) -> None:
    body = {"name": "f", "policy": "ucb1", "arms": ["a", "b\u202etxt"]}
    assert web.send("POST", "/v1/experiments", body)[0] == 422
    body["arms"] = ["a", "\u05d0\u05d1"]  # Hebrew is read from the right by itself
    assert web.send("POST", "/v1/experiments", body)[0] == 201
