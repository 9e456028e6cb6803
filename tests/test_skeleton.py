"""The skeleton of CONTRIBUTING.md works, and is the one that the guide shows."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import latentbandits as lb
from latentbandits.testing import PolicyChecks

ROOT = Path(__file__).parent.parent
PATH = ROOT / "examples" / "skeleton.py"


def skeleton() -> Any:
    if "skeleton" not in sys.modules:
        spec = importlib.util.spec_from_file_location("skeleton", PATH)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["skeleton"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["skeleton"])
    return sys.modules["skeleton"]


class TestSkeleton(PolicyChecks):
    def policy(self) -> Any:
        return skeleton().WinStayLoseShift(arms=3, units=2)


def test_it_beats_chance_where_states_last() -> None:
    policies = {"skeleton": skeleton().WinStayLoseShift(arms=2), "random": lb.policy("random")}
    results = lb.simulate(lb.HiddenMarkov(), policies, horizon=4000, draws=8, repeats=1)
    assert results.regret[0].mean() < 0.7 * results.regret[1].mean()


def test_the_guide_shows_this_very_file() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    body = PATH.read_text().split('"""', 2)[2].strip()
    assert body in guide
