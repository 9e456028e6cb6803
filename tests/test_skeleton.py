"""The policies to copy work: the skeleton, which is the one that CONTRIBUTING.md shows, and the randomised one."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import latentbandits as lb
from latentbandits.testing import PolicyChecks

ROOT = Path(__file__).parent.parent
PATH = ROOT / "examples" / "skeleton.py"


def skeleton(name: str = "skeleton") -> Any:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, PATH.with_stem(name))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


class TestSkeleton(PolicyChecks):
    def policy(self) -> Any:
        return skeleton().WinStayLoseShift(arms=3, groups=2)


class TestSoftmax(PolicyChecks):
    def policy(self) -> Any:
        return skeleton("softmax").Softmax(arms=3, groups=2)


def test_they_beat_chance_where_states_last() -> None:
    policies = {
        "skeleton": skeleton().WinStayLoseShift(arms=2),
        "softmax": skeleton("softmax").Softmax(arms=2),
        "random": lb.policy("random"),
    }
    results = lb.simulate(lb.HiddenMarkov(), policies, horizon=4000, draws=8, repeats=1)
    assert (results.regret[:2].mean(axis=1) < 0.7 * results.regret[2].mean()).all()


def test_the_guide_shows_this_very_file() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    body = PATH.read_text().split('"""', 2)[2].strip()
    assert body in guide
