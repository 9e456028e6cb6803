"""Agents in files: what is kept, and which files are refused."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.protocols import Choice, Policy
from tests.test_agent import reward, snapshot


def saved(path: Path, name: str = "adasp-ucb") -> Path:
    agent = lb.Agent(lb.policy(name), seed=1)
    for number in range(30):
        decision = agent.ask()
        agent.tell(decision, reward(number, decision))
    agent.ask()
    agent.save(path)
    return path


def test_every_truncated_or_altered_file_is_refused(tmp_path: Path) -> None:
    whole = saved(tmp_path / "agent").read_bytes()
    for size in range(0, len(whole), 41):
        (tmp_path / "part").write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"must be a file written by save \(it is damaged"):
            lb.Agent.load(tmp_path / "part")
    for at in range(0, len(whole), 53):  # one flipped byte is noticed, or harmless (a date in a header, say)
        (tmp_path / "part").write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            agent = lb.Agent.load(tmp_path / "part")
        except ValueError:
            continue
        assert snapshot(agent) == snapshot(lb.Agent.load(tmp_path / "agent"))


def rewrite(source: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "agent.json":
                description = json.loads(content)
                change(description)
                content = json.dumps(description).encode()
            new.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda description: description.update(version=9),
            r"format version .* \(written by .*\) is 9 but must be 1, as this latentbandits has it",
        ),
        (
            lambda description: (
                description.clear(),
                description.update(format="latentbandits agent", version=9, payload=1),
            ),
            "is 9 but must be 1,",
        ),
        (lambda description: description.update(version=0), "it is damaged, or something else"),
        (lambda document: document["state"]["spec"].update(max_open=0), "it is damaged, or something else"),
        (
            lambda document: document["state"]["policy"].update({"class": "BayesGreedy"}),
            "policy of the file is 'BayesGreedy' but must be one of this package",
        ),
        (lambda document: document.update(format="cake"), "it is damaged, or something else"),
        (lambda document: document["state"].pop("policy"), "it is damaged, or something else"),
        (
            lambda document: document["state"]["policy"].update({"class": "os:system"}),
            "policy of the file is 'os:system' but must be one of this package",
        ),
        (
            lambda document: document["state"]["policy"].update({"class": "UCB1"}),
            "setting is 'lag' but must be one of arms",
        ),
        (lambda document: document["state"]["policy"]["settings"].update(arms=3), "it is damaged, or something else"),
        (
            lambda document: document["state"]["policy"]["settings"].update(arms=1),
            "arms is 1 but must be an integer at least 2",
        ),
        (lambda document: document["state"]["open"].pop(), "it is damaged, or something else"),
        (lambda document: document["state"]["open"][0].update(id="77"), "it is damaged, or something else"),
        (lambda document: document["state"]["open"][0].update(arms=[2]), "it is damaged, or something else"),
        (lambda document: document["state"]["open"][0].update(by="nobody"), "it is damaged, or something else"),
        (lambda document: document["state"]["names"].append(2), "it is damaged, or something else"),
        (lambda document: document["state"].update(names=[1, 1]), "it is damaged, or something else"),
        (lambda document: document["state"].update(names=[0, 0.5]), "it is damaged, or something else"),
        (lambda document: document["state"].update(retired=[0, 1]), "it is damaged, or something else"),
        (lambda document: document["state"].update(retired=[7]), "it is damaged, or something else"),
        (lambda document: document["state"]["spec"].update(control=7), "it is damaged, or something else"),
        (lambda document: document["state"]["spec"].update(floor=2.0), "it is damaged, or something else"),
        (lambda document: document["state"]["spec"].update(seed=-1), "it is damaged, or something else"),
        (lambda document: document["state"].update(newest=""), "it is damaged, or something else"),
        (lambda document: document["state"].update(status="happy"), "it is damaged, or something else"),
        (lambda document: document["state"].pop("counts"), "it is damaged, or something else"),
        (lambda document: document["state"]["counts"].update(rewarded=-1), "it is damaged, or something else"),
    ],
)
def test_files_that_lie_are_refused(tmp_path: Path, change: Any, sentence: str) -> None:
    rewrite(saved(tmp_path / "agent"), tmp_path / "other", change)
    with pytest.raises(ValueError, match=sentence):
        lb.Agent.load(tmp_path / "other")


def test_a_file_of_another_policy_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "agent")
    for expected in (lb.policy("adasp-ucb"), lb.policies.TraceLearner, "adasp-ucb"):
        assert lb.Agent.load(path, policy=expected).stats.asked == 31
    with pytest.raises(ValueError, match="policy of the file is 'TraceLearner' but must be the expected UCB1"):
        lb.Agent.load(path, policy=lb.policies.UCB1)
    with pytest.raises(ValueError, match=r"policy of the file is \{.staleness.: 50\} but must be .*staleness=7"):
        lb.Agent.load(path, policy=lb.policy("adasp-ucb", staleness=7))


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lb.Agent.load(tmp_path / "missing")


def test_a_crash_while_saving_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "agent")
    before = path.read_bytes()

    def crash(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("latentbandits.files.os.fsync", crash)
    with pytest.raises(OSError, match="disk full"):
        lb.Agent("ucb1").save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["agent"]


class Remembered(NamedTuple):
    sums: np.ndarray
    work: np.ndarray


class Working(Policy):
    """A policy of user code with a field that need not be saved."""

    arms: int = 2
    groups: int = 1

    @property
    def scratch(self) -> tuple[str, ...]:
        return ("work",)

    def init(self) -> Remembered:
        return Remembered(np.zeros(self.arms), np.full(1000, 7.0))

    def choose(self, memory: Remembered, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = 1

    def learn(self, memory: Remembered, choice: Choice, rewards: np.ndarray) -> None:
        memory.sums[1] += rewards[0]
        memory.work[0] = rewards[0]


def test_scratch_space_is_not_saved(tmp_path: Path) -> None:
    agent = lb.Agent(Working())
    agent.tell(agent.ask(), 0.5)
    agent.save(tmp_path / "agent")
    with zipfile.ZipFile(tmp_path / "agent") as file:
        assert [name for name in file.namelist() if name.startswith("memory/")] == ["memory/sums.npy"]
    restored = lb.Agent.load(tmp_path / "agent", policy=Working)
    assert restored.memory.sums.tolist() == [0.0, 0.5]
    assert restored.memory.work.tolist() == [7.0] * 1000
