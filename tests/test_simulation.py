import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled.cache import Code
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import CONTINUED, GATES, REASONS, Choice, Policy, Realisation
from latentbandits.random import Purpose, stream
from latentbandits.simulation.batch import record_one
from latentbandits.simulation.loop import play
from latentbandits.simulation.runs import Runner

SMALL: dict[str, Any] = {"horizon": 500, "draws": 3, "repeats": 2, "bins": 7, "seed": 3}


def same(a: lb.Results, b: lb.Results, label: str) -> None:
    i, j = a.labels.index(label), b.labels.index(label)
    np.testing.assert_array_equal(a.regret_bins[i], b.regret_bins[j])
    np.testing.assert_array_equal(a.optimal_bins[i], b.optimal_bins[j])
    for name in a.counts:
        np.testing.assert_array_equal(a.counts[name][i], b.counts[name][j])


@pytest.mark.usefixtures("hasty_limit")
def test_results_do_not_depend_on_how_they_are_cut_up(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(REGISTRY)
    whole = lb.simulate(lb.HiddenMarkov(), names, workers=1, **SMALL)
    backwards = lb.simulate(lb.HiddenMarkov(), names[::-1], workers=2, **SMALL)
    monkeypatch.setattr("latentbandits.simulation.blocks._THREAD_ROUNDS", 1)
    crumbs = lb.simulate(lb.HiddenMarkov(), names, workers=3, **SMALL)
    alone = {name: lb.simulate(lb.HiddenMarkov(), [name], **SMALL) for name in names}
    for name in names:
        for other in (backwards, crumbs, alone[name]):
            same(whole, other, name)


@pytest.mark.usefixtures("hasty_limit")
def test_compiled_and_interpreted_agree_to_the_bit() -> None:
    names = list(REGISTRY)
    sizes = {**SMALL, "horizon": 150, "draws": 2, "repeats": 1}
    compiled = lb.simulate(lb.HiddenMarkov(), names, **sizes)
    interpreted = lb.simulate(lb.HiddenMarkov(), names, interpreted=True, **sizes)
    for name in names:
        same(compiled, interpreted, name)


def test_regret_and_frequency_are_what_the_arms_say() -> None:
    results = lb.simulate(lb.HiddenMarkov(), ["adarp-ucb", "adasp-ucb", "sp-ucb"], **SMALL)
    for i, name in enumerate(results.labels):
        policy = lb.policy(name)
        for run in range(6):
            draw, repeat = divmod(run, 2)
            realisation = lb.HiddenMarkov().realise(500, policy.groups, 3, draw, repeat)
            arms, probe_reason = record_one(policy, realisation, stream(3, Purpose.POLICY, draw, repeat))
            gaps = realisation.means.max(axis=1)[:, None] - np.take_along_axis(realisation.means, arms, axis=1)
            assert results.regret[i, run] == pytest.approx(gaps.mean(axis=1).sum())
            assert results.optimal[i, run] == pytest.approx((gaps == 0).mean())
            edges = results.edges
            for b in range(7):
                cut = slice(edges[b], edges[b + 1])
                assert results.regret_bins[i, run, b] == pytest.approx(gaps[cut].mean(axis=1).sum())
                assert results.optimal_bins[i, run, b] == pytest.approx((gaps[cut] == 0).mean())
            starts = probe_reason[(probe_reason > 0) & (probe_reason != 16)]
            found = {name: int(values[i, run]) for name, values in results.counts.items()}
            assert found == {
                "probes": len(starts),
                "probe_rounds": int((probe_reason > 0).sum()),
                **detected(realisation.means, probe_reason),
                **{f"{REASONS[gate]}_gate": int((starts & gate > 0).sum()) for gate in GATES},
            }


def detected(means: np.ndarray, probe_reason: np.ndarray) -> dict[str, int]:
    """Count changes of the best arm, those that a probe follows before the next one, and the rounds until then."""
    best, begins = means.argmax(axis=1), np.flatnonzero((probe_reason > 0) & (probe_reason != CONTINUED))
    changes = (np.flatnonzero(np.diff(best)) + 1).tolist()
    delays = []
    for change, following in pairwise([*changes, len(best)]):
        probes = [begin for begin in begins if change <= begin < following]
        delays += [probes[0] - change] if probes else []
    return {"changes": len(changes), "found": len(delays), "delay": int(sum(delays))}


def test_changes_of_the_best_arm_are_found_by_the_next_probe() -> None:
    """Probes begin in rounds 0, 4 and 8. The best arm changes in rounds 1, 3, 5 and 9: the second and the third change are found."""
    means = np.tile([1.0, 0.0], (12, 1))
    means[[1, 2, 5, 6, 7, 8]] = [0.0, 1.0]
    world = lb.Replay(means)
    found = lb.simulate(world, {"clock": lb.policies.ProbeCommit(2, 2, interval=4)}, draws=1, repeats=1)
    assert {name: int(found.counts[name][0, 0]) for name in ("probes", "changes", "found", "delay")} == {
        "probes": 3,
        "changes": 4,
        "found": 2,
        "delay": 1 + 3,
    }


def some_available(arms: int, rounds: int = 500) -> np.ndarray:
    """Return random arms for every round, at least one of them; in many rounds exactly one."""
    generator = np.random.default_rng(7)
    available = generator.random((rounds, arms)) < generator.random((rounds, 1))
    available[np.arange(rounds), generator.integers(arms, size=rounds)] = True
    return available


def test_regret_is_against_the_best_available_arm() -> None:
    world = lb.WithAvailability(lb.HiddenMarkov(arms=4), some_available(4))
    names = ["adarp-ucb:groups=2", "state-library", "exp3", "state-oracle", "best-single-arm", "bayes-planner"]
    results = lb.simulate(world, names, **SMALL)
    for i, name in enumerate(names):
        policy = lb.policy(name, arms=4)
        for run in range(6):
            draw, repeat = divmod(run, 2)
            realisation = world.realise(500, policy.groups, 3, draw, repeat)
            arms, _ = record_one(policy, realisation, stream(3, Purpose.POLICY, draw, repeat))
            assert np.take_along_axis(world.available, arms, axis=1).all()
            best = np.where(world.available, realisation.means, -1).max(axis=1)
            gaps = best[:, None] - np.take_along_axis(realisation.means, arms, axis=1)
            assert results.regret[i, run] == pytest.approx(gaps.mean(axis=1).sum())
            assert results.optimal[i, run] == pytest.approx((gaps == 0).mean())
    regret = dict(zip(results.labels, results.regret.mean(axis=1), strict=True))
    assert regret["state-oracle"] == 0
    assert regret["bayes-planner"] < regret["best-single-arm"]


def test_all_arms_available_are_no_availability() -> None:
    names = [name for name in REGISTRY if not lb.policy(name).fixed_arms]
    plain = lb.simulate(lb.HiddenMarkov(), names, **SMALL)
    masked = lb.simulate(lb.WithAvailability(lb.HiddenMarkov(), np.ones((500, 2))), names, **SMALL)
    for name in names:
        same(plain, masked, name)


def test_arms_that_come_and_go_need_no_machine_code_of_their_own() -> None:
    worlds = lb.HiddenMarkov(), lb.WithAvailability(lb.HiddenMarkov(), np.ones((1, 2)))
    plain, masked = (Code(play, Runner(lb.policy("ucb1")).example(world)) for world in worlds)
    assert plain.key == masked.key


def test_a_missing_arm_is_refused_in_the_round_in_which_it_is_played() -> None:
    world = lb.WithAvailability(lb.HiddenMarkov(), np.arange(500)[:, None] < [3, 500])
    with pytest.raises(ValueError, match=r"Broken: choice in round 3 is \[0\] but must be among the available arms 1"):
        lb.simulate(world, Broken(wrong=0), **SMALL)
    with pytest.raises(ValueError, match=r"Broken: choice in round 3 is \[0\] but must be among the available arms 1"):
        record_one(Broken(wrong=0), world.realise(500, 1, 0, 0, 0), stream(0))


def test_oracles_are_in_order() -> None:
    names = ["state-oracle", "bayes-planner", "best-single-arm", "random"]
    results = lb.simulate(lb.HiddenMarkov(), names, horizon=5000, draws=6, repeats=1)
    regret = dict(zip(results.labels, results.regret.mean(axis=1), strict=True))
    assert regret["state-oracle"] == 0
    assert regret["bayes-planner"] < 0.1 * regret["best-single-arm"]
    assert regret["best-single-arm"] < regret["random"]
    assert [row.label for row in results.summary()] == names


def test_the_same_worlds_for_every_policy() -> None:
    """Two labels for one policy give the same runs; two groups meet the same states."""
    twins = {"a": lb.policy("lc-ts"), "b": lb.policy("lc-ts")}
    results = lb.simulate(lb.HiddenMarkov(), twins, **SMALL)
    np.testing.assert_array_equal(results.regret[0], results.regret[1])


def test_a_matched_learner_sees_the_state() -> None:
    world = lb.HiddenMarkov(states=4, stickiness=0.5, noise=0.05, reveal="state")
    matched = lb.policies.TraceLearner(arms=2, lag="none", covariates=4, exploration=0.5)
    results = lb.simulate(world, {"matched": matched, "blind": lb.policy("lc-ucb")}, horizon=3000, draws=8, repeats=1)
    assert results.regret[0].mean() < 0.2 * results.regret[1].mean()


def test_progress_ends_at_all_rounds() -> None:
    seen: list[tuple[int, int]] = []
    lb.simulate(lb.HiddenMarkov(), ["ucb1"], progress=lambda done, total: seen.append((done, total)), **SMALL)
    assert seen[-1] == (3000, 3000)


def test_an_interrupt_stops_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latentbandits.simulation.blocks._THREAD_ROUNDS", 1)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lb.simulate(lb.HiddenMarkov(), ["ucb1"], progress=interrupt, **{**SMALL, "draws": 2000})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"horizon": 0}, "simulate: horizon is 0 but must be an integer at least 1"),
        ({"draws": 1.5}, "simulate: draws is 1.5 but must be an integer at least 1"),
        ({"workers": 0}, "simulate: workers is 0"),
        ({"seed": -1}, "simulate: seed is -1 but must be an integer at least 0"),
        ({"policies": []}, r"simulate: policies is \[\] but must be at least one policy"),
        ({"policies": ["ucb"]}, "policy: name is 'ucb'"),
        ({"policies": [3]}, "must be a policy or the name of one"),
        ({"policies": [lb.policies.UCB1(3)]}, "arms is 3 but must be the world's 2"),
        ({"policies": ["ucb1", "ucb1"]}, "must be given once"),
        (
            {"policies": [lb.policies.TraceLearner(2, covariates=3)]},
            "covariates is 3 but must be 0, or the 0 that the world reveals",
        ),
        ({"world": None}, "simulate: world is None but must be a world"),
        ({"world": lb.HiddenMarkov}, "must be a world, such as HiddenMarkov"),
        ({"policies": None}, "policies is None but must be policies or names"),
        ({"draws": 2**40}, "draws is 1099511627776"),
        (
            {"world": lb.Drift(), "policies": ["bayes-planner"]},
            "filter of the world is 'not known' but must be that of a hidden Markov chain",
        ),
    ],
)
def test_bad_simulations_are_refused(change: dict[str, Any], sentence: str) -> None:
    options = {"world": lb.HiddenMarkov(), "policies": ["ucb1"], **SMALL, **change}
    with pytest.raises(ValueError, match=sentence):
        lb.simulate(options.pop("world"), options.pop("policies"), **options)


class Broken(Policy):
    """A policy of user code that chooses an arm which does not exist."""

    arms: int = 2
    groups: int = 1
    wrong: int = -(10**9)

    def init(self) -> Any:
        return Rounds(np.zeros(1, np.int64))

    def choose(self, memory: Any, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        memory.rounds[0] += 1
        choice.arms[0] = 0 if memory.rounds[0] < 4 else self.wrong

    def learn(self, memory: Any, choice: Choice, rewards: np.ndarray) -> None:
        pass


class Rounds(NamedTuple):
    rounds: np.ndarray


@pytest.mark.parametrize("wrong", [-(10**9), -1, 2, 10**9])
def test_arms_that_do_not_exist_are_refused(wrong: int) -> None:
    with pytest.raises(
        ValueError, match=rf"Broken: choice in round 3 is \[{wrong}\] but must be among the available arms 0, 1"
    ):
        lb.simulate(lb.HiddenMarkov(), Broken(wrong=wrong), **SMALL)
    agent = lb.Agent(Broken(wrong=wrong))
    for _ in range(3):
        agent.ask()
    with pytest.raises(ValueError, match=r"choice is .* must be among the arms \[0, 1\]"):
        agent.ask()


@dataclass
class Liar:
    """A world of user code that does not keep to the protocol."""

    change: Callable[[Realisation], Realisation]
    arms: int = 2

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        return self.change(lb.HiddenMarkov().realise(horizon, groups, seed, draw, repeat))


@pytest.mark.parametrize(
    "change",
    [
        lambda realisation: realisation._replace(rewards=realisation.rewards[:3]),
        lambda realisation: realisation._replace(means=realisation.means[:3]),
        lambda realisation: realisation._replace(means=np.tile(realisation.means, 2)),
        lambda realisation: realisation._replace(rewards=realisation.rewards[:, 0]),
        lambda realisation: realisation._replace(
            rewards=np.where(realisation.rewards > 0.5, np.nan, realisation.rewards)
        ),
    ],
)
def test_worlds_that_break_their_promise_are_refused(change: Callable[[Realisation], Realisation]) -> None:
    with pytest.raises(ValueError, match=r"world: (shape of )?(rewards|means) is .* but must be (\(|finite)"):
        lb.simulate(Liar(change), ["ucb1"], **SMALL)


@pytest.mark.parametrize(
    ("available", "sentence"),
    [
        (np.ones((500, 3)), r"world: shape of available is \(500, 3\) but must be \(500, 2\)"),
        (np.arange(1000).reshape(500, 2) != 6, ""),
        (np.arange(1000).reshape(500, 2) // 2 != 3, "world: available arms in round 3 is 0 but must be at least 1"),
    ],
)
def test_availability_that_cannot_be_is_refused(available: np.ndarray, sentence: str) -> None:
    world = Liar(lambda realisation: realisation._replace(available=available))
    with pytest.raises(ValueError, match=sentence) if sentence else nullcontext():
        lb.simulate(world, ["ucb1"], **SMALL)


def test_an_odd_layout_is_no_lie() -> None:
    turned = Liar(
        lambda realisation: realisation._replace(
            means=np.asfortranarray(realisation.means), rewards=realisation.rewards.tolist()
        )
    )
    straight = lb.simulate(lb.HiddenMarkov(), ["adasp-ucb"], **SMALL)
    np.testing.assert_array_equal(lb.simulate(turned, ["adasp-ucb"], **SMALL).regret, straight.regret)


def test_presets_work_for_many_arms() -> None:
    """All names play with any number of arms, and adaptive probing stays worth its while."""
    lb.simulate(lb.HiddenMarkov(arms=30), list(REGISTRY), horizon=60, draws=1, repeats=1)
    results = lb.simulate(
        lb.HiddenMarkov(arms=5), ["adarp-ucb", "adasp-ucb", "ucb1"], horizon=10_000, draws=8, repeats=1
    )
    regret = dict(zip(results.labels, results.regret.mean(axis=1), strict=True))
    assert regret["adarp-ucb"] < 0.6 * regret["adasp-ucb"]
    assert regret["adasp-ucb"] < 0.8 * regret["ucb1"]


def test_a_record_is_played_to_its_end_by_default() -> None:
    assert lb.simulate(lb.Replay(np.random.default_rng(0).random((70, 2))), "ucb1", draws=1, repeats=1).horizon == 70


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not report the peak of a process alone"
)
def test_memory_stays_small() -> None:
    """640 runs of 20,000 rounds: all realisations at once would take 1.2 GB; the whole process stays below 1 GB."""
    script = (
        "import latentbandits as lb;"
        "lb.simulate(lb.HiddenMarkov(), [lb.policy('random', groups=2)]);"
        # not ru_maxrss, which begins at the peak of the process that started this one
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 1e9
