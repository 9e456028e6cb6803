"""Logs for Vowpal Wabbit: dsjson, written, read again, and given to the real thing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits import cli, dsjson
from latentbandits.store import Create, Decide, Ledger, Reward, Spec, SQLite


def made(rows: int = 60, **more: Any) -> lb.Log:
    random = np.random.default_rng(1)
    arms = random.integers(3, size=rows)
    frame = pd.DataFrame(
        {
            "arm": np.array(["red", "blue", "green"])[arms],
            "reward": random.normal(size=rows) * (arms > 0),
            "at": pd.date_range("2026-01-01", periods=rows, freq="37s"),
            "propensity": np.where(arms == 0, 0.5, 0.25),
            "age": random.random(rows).round(3),
        }
    )
    return lb.Log.read(frame.assign(**more), context=["age"])


def same(log: lb.Log, other: lb.Log) -> None:
    assert other.arms == log.arms
    for name in ("played", "rewards", "times", "subjects", "propensities", "gaps"):
        one, two = getattr(log, name), getattr(other, name)
        assert (one is None) == (two is None), name
        assert one is None or np.array_equal(one, two), name
    assert {name: column.tolist() for name, column in other.context.items()} == {
        name: column.tolist() for name, column in log.context.items()
    }


def test_a_log_comes_back_from_dsjson_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "log.dsjson"
    log = made()
    log.to_dsjson(path)
    same(log, lb.Log.read(path, context=["age"]))
    groups = made(at=np.repeat(pd.date_range("2026-01-01", periods=20, freq="h"), 3), subject=np.tile([0, 1, 2], 20))
    groups.to_dsjson(path)
    same(groups, lb.Log.read(path, context=["age"]))
    rounds = made(at=np.arange(60) * 2)
    rounds.to_dsjson(path)
    same(rounds, lb.Log.read(path, context=["age"]))
    numbered = lb.Log.read({"action": [0, 2, 0], "reward": [1, 0, 1], "pscore": [0.5, 0.5, 0.5]})
    numbered.to_dsjson(path)
    same(numbered, lb.Log.read(path))


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(lb.InvalidValueError, match=r"file is .*log.csv' but must be one whose name ends in \.dsjson"):
        made().to_dsjson(tmp_path / "log.csv")
    unknown = lb.Log.read({"action": [0, 1], "reward": [1, 0]})
    with pytest.raises(lb.InvalidValueError, match="propensities is None but must be known"):
        unknown.to_dsjson(tmp_path / "log.dsjson")
    assert not list(tmp_path.iterdir())


def test_actions_go_by_their_tags_wherever_they_stand() -> None:
    """As in the logs of Azure Personalizer, in which the list of actions differs from line to line."""
    line = {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "a": [2, 1], "c": {}}
    tagged = [{"_tag": "Cold brew", "i": {"id": "Cold brew"}}, {"_tag": "Latte", "i": {"id": "Latte"}}]
    shared = {"_synthetic": False, "User": {"age": 30, "name": "Cathy", "known": True}, "_multi": tagged}
    assert dsjson.decision(line | {"c": shared}) == {"User.age": 30, "arm": "Latte", "reward": 1.0, "propensity": 0.8}
    several: list[Any] = [None, [], [1, 2], [{}, {"_tag": ""}], [{}]]
    for multi in several:
        found = dsjson.decision(line | {"c": {"_multi": multi}})
        assert isinstance(found, dict)
        assert found["arm"] == 2
    assert dsjson.decision({"_label_cost": 0}) == "no action"
    for tag, name in (("3", 3), ("03", "03"), ("-1", "-1")):
        found = dsjson.decision(line | {"a": [1], "c": {"_multi": [{"_tag": tag}]}})
        assert isinstance(found, dict)
        assert found["arm"] == name


def test_the_export_of_a_store_becomes_what_vowpal_wabbit_reads(tmp_path: Path) -> None:
    ledger = Ledger(SQLite(tmp_path / "decisions.db"))
    ledger.call(Create("offers", Spec.of("exp3", arms=["red", "blue"], seed=1)))
    for number in range(20):
        one = ledger.call(Decide("offers"))
        if number % 4:
            ledger.call(Reward("offers", one.id, 0.25 * (number % 3)))
    ledger.close()
    assert cli.main(["store", "export", str(tmp_path / "decisions.db"), "--out", str(tmp_path / "offers.csv")]) == 0
    log = lb.Log.read(tmp_path / "offers.csv", time="at")
    log.to_dsjson(tmp_path / "offers.dsjson")
    same(log, lb.Log.read(tmp_path / "offers.dsjson"))


@pytest.mark.slow
def test_vowpal_wabbit_learns_from_it(tmp_path: Path) -> None:
    vw = pytest.importorskip("vowpalwabbit", reason="the extra `slow` brings it where there is a wheel")
    log = made(600, reward=lambda frame: (frame["arm"] == "green").astype(float))
    log.to_dsjson(tmp_path / "log.dsjson")
    workspace = vw.Workspace("--dsjson --cb_explore_adf --epsilon 0.1 --quiet")
    lines = (tmp_path / "log.dsjson").read_text().splitlines()
    for number, line in enumerate(lines):
        parsed = workspace.parse(line)
        if number == 0:
            assert [one.get_tag() for one in parsed] == ["", "blue", "green", "red"]
            costs = [cost for one in parsed[1:] for cost in vw.CBLabel.from_example(one).costs]
            (cost,) = costs
            assert log.propensities is not None
            assert (cost.action, cost.cost) == (log.played[0] + 1, -log.rewards[0])
            assert cost.probability == pytest.approx(log.propensities[0])
        workspace.learn(parsed)
        workspace.finish_example(parsed)
    shown = json.loads(lines[0])
    question = workspace.parse(json.dumps({name: shown[name] for name in ("Version", "a", "c")}))
    chances = workspace.predict(question)
    workspace.finish_example(question)
    workspace.finish()
    assert log.arms[int(np.argmax(chances))] == "green"
