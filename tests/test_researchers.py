"""What researchers need besides: results that are kept, joined and turned into frames; errors that name their own line."""

from pathlib import Path

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import CompileError

MINE = """from typing import NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import Policy


class Memory(NamedTuple):
    counts: np.ndarray


class Mine(Policy):
    arms: int = 2
    groups: int = 1

    def init(self) -> Memory:
        return Memory(np.zeros(self.arms))

    def choose(self, memory, context, random, choice):
        choice.arms[0] = helper(memory.counts)

    def learn(self, memory, choice, rewards):
        memory.counts[choice.arms[0]] += rewards[0]


@kernel
def helper(counts):
    return np.argmax(counts.no_such_thing())
"""
WRONG = 1 + MINE.splitlines().index("    return np.argmax(counts.no_such_thing())")


@pytest.fixture(scope="module")
def played() -> lb.Results:
    return play(["ucb1", "ts"], 0, 4)


def play(policies: list[str], first: int, draws: int, horizon: int = 200) -> lb.Results:
    return lb.simulate(
        lb.HiddenMarkov(), policies, horizon=horizon, draws=draws, repeats=2, first=first, bins=5, workers=1
    )


def same(one: lb.Results, other: lb.Results) -> bool:
    arrays = [(one.regret_bins, other.regret_bins), (one.optimal_bins, other.optimal_bins)]
    arrays += [(one.counts[name], other.counts[name]) for name in one.counts]
    rest = ("labels", "horizon", "draws", "repeats", "seed", "first")
    return all(np.array_equal(a, b) for a, b in arrays) and all(getattr(one, x) == getattr(other, x) for x in rest)


def test_results_joined_along_draws_and_policies_are_those_of_one_run(played: lb.Results) -> None:
    rows = [play([name], 0, 1).joined(play([name], 1, 3)) for name in ("ucb1", "ts")]
    assert same(rows[0].joined(rows[1]), played)


def test_results_that_do_not_belong_together_are_refused(played: lb.Results) -> None:
    with pytest.raises(lb.InvalidValueError, match="horizon is 100 but must be 200"):
        played.joined(play(["ucb1"], 4, 1, horizon=100))
    for other in (played, play(["ucb1", "ts"], 5, 1), play(["ucb1", "exp3"], 0, 4)):
        with pytest.raises(lb.InvalidValueError, match="must be draws from 4 on of the same policies"):
            played.joined(other)


def test_a_frame_has_a_row_per_policy_and_run() -> None:
    results = play(["ucb1", "ts"], 3, 2)
    frame = results.frame()
    assert frame["draw"].tolist() == [3, 3, 4, 4] * 2
    assert frame["repeat"].tolist() == [0, 1] * 4
    assert frame.groupby("policy", sort=False)["regret"].mean().tolist() == pytest.approx(results.regret.mean(axis=1))


def test_code_that_does_not_compile_is_named_by_the_authors_own_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_wrong.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CompileError, match=rf"mine_wrong\.py, line {WRONG}\b.*no_such_thing"):
        lb.simulate(lb.HiddenMarkov(), ["mine_wrong:Mine"], horizon=2000, draws=1, repeats=1)
    within = MINE.replace("counts.no_such_thing()", "counts.reshape(2.5)")  # which numba refuses in a file of its own
    (tmp_path / "mine_within.py").write_text(within)
    with pytest.raises(CompileError, match=rf"mine_within\.py, line {WRONG}\b"):
        lb.simulate(lb.HiddenMarkov(), ["mine_within:Mine"], horizon=2000, draws=1, repeats=1)
