"""Specs: texts that stand for policies; and what is refused."""

import re
from pathlib import Path

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.specs import split

POLICIES_REFUSED = {
    "adarp-ucb": "groups of adarp-ucb is 2 but must be at most the problem's 1",
    "state-library:groups=2": "groups of state-library:groups=2 is 2",
    "adasp-ucb:probe_set=0,1,2": "probe_set is [0, 1, 2] but must be different arms from 0 to 1",
    "adasp-ucb:stalenes=3": "did you mean staleness?",
    "adasp-ucb:staleness": "setting of adasp-ucb is 'staleness' but must be KEY=VALUE",
    "adasp-ucb:": "name is 'adasp-ucb:'",
    "ucb1:arms=5": "setting is 'arms=5' but must be a setting other than arms",
    "adasp-ucb:staleness=0": "staleness is 0 but must be an integer at least 1",
    "adasp-ucb:staleness=1,staleness=2": "given only once",
    "adasq-ucb": "did you mean adasp-ucb?",
    "no_such_module:Policy": "a class in a module that can be imported from here (ModuleNotFoundError",
    "latentbandits.policies.ucb1:UCB7": "imported from here (AttributeError",
    "latentbandits.policies.ucb1:UCB1:explore=1": "did you mean exploration?",
    "latentbandits.agent:Agent": "must be a class that takes arms and its settings (",
    "collections:OrderedDict": "must be a class that inherits latentbandits.protocols.Policy",
    "math:pi": "must be a class with init, choose and learn",
    "missing.toml": "file is 'missing.toml' but must be a file that `tune` wrote",
}


@pytest.mark.parametrize(("spec", "said"), POLICIES_REFUSED.items())
def test_bad_policies_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spec: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", "--policies", "ucb1", spec]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


USER_CODE = '''
from typing import NamedTuple
import numpy as np
from latentbandits.protocols import Policy

class Memory(NamedTuple):
    last: np.ndarray

class WinStay(Policy):
    """Stays after a reward above a level, else moves on."""
    arms: int = 2
    groups: int = 1
    level: float = 0.5

    def init(self):
        return Memory(np.zeros(1, np.int64))

    def choose(self, state, context, random, choice):
        choice.arms[0] = state.last[0]

    def learn(self, state, choice, rewards):
        state.last[0] = choice.arms[0] if rewards[0] > self.level else (choice.arms[0] + 1) % self.arms
'''


def test_a_policy_of_user_code_is_named_by_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "winners.py").write_text(USER_CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    specs = ["winners:WinStay", "winners:WinStay:level=0.7", "random"]
    assert cli.main(["compare", "--runs", "10", "--horizon", "500", "--policies", *specs]) == 0
    said = capsys.readouterr().out
    assert all(re.search(rf"^{spec} +[123] ", said, re.MULTILINE) for spec in specs)
    assert lb.policy("winners:WinStay:level=0.7", arms=3).level == 0.7


def test_specs_are_read() -> None:
    parsed, built = lb.policy("adasp-ucb:staleness=12,min_gap=4"), lb.policy("adasp-ucb", staleness=12, min_gap=4)
    assert parsed == built
    made = lb.policy("adasp-ucb:probe_set=0,2,min_gap=4,lag=pair", arms=3)
    assert (made.probe_set.tolist(), made.min_gap) == ([0, 2], 4)
    assert split("a.b:C:x=1") == ("a.b:C", {"x": 1})
    assert lb.Agent("sw-ucb:window=77").policy.window == 77  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class Broken(NamedTuple)\n", "can be imported from here \\(SyntaxError"),
        ("1 / 0\n", "can be imported from here \\(ZeroDivisionError"),
        (
            USER_CODE.replace("WinStay", "Broken").replace("self.level else", "self.levl else"),
            "Broken: code is not compilable but must be what numba can compile",
        ),
    ],
)
def test_a_mistake_of_user_code_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: str, said: str
) -> None:
    name = f"broken{len(code)}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cli.main(["compare", "--runs", "2", "--horizon", "20", "--policies", f"{name}:Broken"]) == 2
    err = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("compiling ")]
    assert re.search(said, err[0])
    assert len(err) == 1
    assert not list(tmp_path.glob("*.svg"))
