"""What a log leads to, on logs from a generator apart from the package's worlds (`tests/separate.py`)."""

import sys
from collections import Counter

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import fast
from latentbandits.memories import copied
from latentbandits.protocols import Choice
from latentbandits.random import Stream, stream
from latentbandits.simulation.loop import COUNTS, Run, Tally, play
from tests import separate

LOGGED, MORE = 2000, 1500  # rows of the log, and rounds that are played after it


def regret(
    policy: lb.protocols.Policy, memory: object, random: Stream, means: np.ndarray, rewards: np.ndarray
) -> float:
    """Return what a policy loses on given rewards, from a memory on."""
    tally, nothing = Tally(means, np.zeros(1), np.zeros(1), np.zeros(len(COUNTS), np.int64)), np.zeros((len(means), 0))
    run = Run(policy, memory, Choice.blank(policy), random, rewards, nothing, nothing.astype(bool), tally=tally)
    fast(play)(*run)
    return float(tally.regret.sum())


def warm_and_cold(spec: str, rule: str, draw: int, times: int = 3) -> tuple[float, float]:
    """Return the regret after a log, and of the same rounds without it; over several rewards of these rounds."""
    noise = (0.15, 0.4)[draw % 2]
    states, dwell = 2 + draw % 3, (60.0, 120.0, 250.0)[draw // 3 % 3]
    made = separate.regimes(LOGGED + MORE, draw, states=states, dwell=dwell, noise=noise, rule=rule)
    log = lb.Log.read({"action": made.arms[:LOGGED], "reward": made.rewards[:LOGGED]})
    means = np.ascontiguousarray(made.means[LOGGED:][:, np.array(log.arms, int)])
    agent = lb.Agent(spec, arms=list(log.arms), seed=draw, compiled=False)
    agent.feed(log)
    policy, memory, warm, cold = agent._player.policy, agent.memory, 0.0, 0.0
    for time in range(times):
        rewards = (means + noise * np.random.default_rng([5, draw, time]).standard_normal((MORE, 1)))[:, None]
        warm += regret(policy, copied(memory), stream(time), means, rewards)
        cold += regret(policy, policy.init(), stream(time), means, rewards)
    return warm, cold


@pytest.mark.slow
def test_a_warm_start_helps() -> None:
    rules = ("uniform", "thompson", "epsilon-greedy")
    warm, cold = np.array([warm_and_cold("state-library", rule, draw) for rule in rules for draw in range(16)]).T
    print(
        f"better in {(warm < cold).mean():.0%}, {warm.sum() / cold.sum():.2f} of cold, worst {(warm / cold).max():.2f}"
    )
    assert (warm < cold).mean() >= 0.8
    assert warm.sum() <= 0.8 * cold.sum()
    assert (warm > 1.5 * cold).mean() <= 0.05


# all kinds with 20 logs each: `python -m tests.test_logs_separate 10000 20`
@pytest.mark.slow
@pytest.mark.parametrize(("rows", "logs"), [(2000, 4), (10_000, 2)])
def test_false_alarms_are_rare(rows: int, logs: int) -> None:
    alarms = false_alarms(rows, logs)
    assert len(alarms) <= 0.02 * logs * len(separate.KINDS)
    assert max(Counter(kind for kind, _ in alarms).values(), default=0) <= 1
    assert "very sure" not in dict(alarms).values()


def false_alarms(rows: int, logs: int, first: int = 0) -> list[tuple[str, str]]:
    """Print what logs without regimes are said to be; return the kinds of those that are said to have regimes, and how sure."""
    alarms = []
    for kind in separate.KINDS:
        said = Counter[str]()
        for draw in range(first, first + logs):
            try:
                d = lb.diagnose(separate.null(kind, rows, draw).columns())
            except lb.InvalidValueError:  # mostly one value
                said["refused"] += 1
                continue
            said[f"{d.conclusion.kind}, {d.conclusion.sure}"] += 1
            alarms += [(kind, d.conclusion.sure)] if d.regimes else []
        print(f"{kind}: {dict(said)}", flush=True)
    return alarms


if __name__ == "__main__":
    print("regimes:", false_alarms(*map(int, sys.argv[1:])))
