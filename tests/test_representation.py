"""App along a policy's own run: rules against enumeration, nesting, the identity, and the verdicts on them."""

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import latentbandits as lb
from latentbandits.protocols import CONTINUED, PROBE_REASON, SCHEDULED, Choice, Oracle, Policy, Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.worlds.hidden_markov import stationary
from latentbandits_studies.experiments import decomposition, rehearsal
from latentbandits_studies.experiments import representation as rep
from latentbandits_studies.experiments.claims import FAILS, HOLDS, PROVED, READING, TIED
from latentbandits_studies.experiments.rehearsal import Run
from latentbandits_studies.experiments.representation import (
    BOTH,
    FINGERPRINT,
    HISTORY,
    LAG,
    LAGS,
    Representation,
)

MEANS = np.array([[0.1, 0.5], [0.4, 0.45], [0.7, 0.2]])
CHAIN = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.25, 0.15, 0.6]])
INTERVAL = 5


class Beat(NamedTuple):
    """Rounds begun."""

    round: np.ndarray


class Metronome(Policy):
    """Look at nothing: a sequential probe every five rounds, else the arm of a script. So its arms are no hint at the state."""

    arms: int = 2
    groups: int = 1
    script: np.ndarray = np.arange(1, 20_001) // 3 % 2

    def init(self) -> Beat:
        return Beat(np.zeros(1, np.int64))

    def choose(self, state: Beat, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        arm, why = self.script[state.round[0]], 0
        state.round[0] += 1
        phase = state.round[0] % 5
        if phase < 2:
            arm, why = phase, 8 if phase == 0 else 16
        choice.arms[0] = arm
        choice.tags[0] = why

    def learn(self, state: Beat, choice: Choice, rewards: np.ndarray) -> None:
        pass


class Peeker(Oracle):
    """An oracle that probes like the metronome, and else plays the arm that is best: its arms tell the state."""

    arms: int = 2
    groups: int = 1

    def informed(self, realisation: Realisation) -> Metronome:
        return Metronome(script=realisation.means.argmax(axis=1))


def small(rounds: int, noise: float = 0.2, draw: int = 0) -> Realisation:
    return lb.HiddenMarkov(transition=CHAIN, means=MEANS, noise=noise).realise(rounds, 1, seed=3, draw=draw, repeat=0)


def enumerated(run: Run, t: int, seen: list[int]) -> np.ndarray:
    """Return the belief about the state of round t given the rewards of some rounds before it, by going through all paths."""
    truth = run.truth
    chain, noise = truth.transition.tolist(), truth.noise[0]  # plain numbers: there are many paths
    chances = {i: norm.pdf(run.rewards[i, 0], truth.means[:, run.arms[i, 0]], noise).tolist() for i in seen}
    found: np.ndarray = np.zeros(len(truth.start))
    for path in itertools.product(range(len(truth.start)), repeat=t + 1):
        weight = truth.start[path[0]] * math.prod(chain[a][b] for a, b in itertools.pairwise(path))
        found[path[-1]] += weight * math.prod(chances[i][path[i]] for i in seen)
    found /= found.sum()
    return found


def believed(run: Run, statistic: str) -> np.ndarray:
    found = rep.values(run, [run], statistic, np.eye(len(MEANS)))
    found /= found.sum(axis=1, keepdims=True)
    return found


@pytest.fixture
def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count as if arms and times of probes were no hint at the state, which is true of the metronome."""
    start = stationary(CHAIN)
    monkeypatch.setattr(rep, "_count", lambda groups, _states, _pairs: np.tile(start, (groups, 1)))


SEEN: Mapping[str, Callable[[int], list[int]]] = {
    LAG: lambda t: [t - 1],
    LAGS: lambda t: [t - 3, t - 2, t - 1],
}


@pytest.mark.usefixtures("no_hints")
@pytest.mark.parametrize("statistic", SEEN)
def test_belief_is_that_of_all_paths(statistic: str) -> None:
    run = Run.of(Metronome(), small(10))
    found = believed(run, statistic)
    for t in range(3, 10):
        np.testing.assert_allclose(found[t], enumerated(run, t, SEEN[statistic](t)), rtol=1e-9)


@pytest.mark.usefixtures("no_hints")
def test_fresh_fingerprint_is_exact() -> None:
    """Right after a probe its age is known, and the lag is part of it: it must not count twice."""
    run = Run.of(Metronome(), small(8))
    assert run.fresh.tolist() == [False, True, False, False, False, False, True, False]
    np.testing.assert_allclose(believed(run, BOTH)[6], enumerated(run, 6, [4, 5]), rtol=1e-9)


def test_first_round_knows_nothing() -> None:
    run = Run.of(Metronome(), small(8))
    for statistic in (LAG, LAGS, FINGERPRINT, BOTH):
        np.testing.assert_allclose(believed(run, statistic)[0], run.truth.start)


def test_counts_make_up_for_an_unknown_age() -> None:
    """Without its age, what a fingerprint says is an average over the ages that it may have: found by counting, and from the chain."""
    world = lb.HiddenMarkov(transition=CHAIN, means=MEANS, noise=0.2)
    runs = [Run.of(Metronome(), world.realise(20_000, 1, seed=4, draw=0, repeat=i)) for i in range(4)]
    found = rep.values(runs[0], runs, FINGERPRINT, np.eye(3))
    found /= found.sum(axis=1, keepdims=True)
    ages = [np.linalg.matrix_power(CHAIN, age) for age in range(1, INTERVAL + 1)]
    for t in (1003, 1042):
        probe = t // INTERVAL * INTERVAL - 1
        alone = runs[0]._replace(rewards=runs[0].rewards[probe:], arms=runs[0].arms[probe:])
        np.testing.assert_allclose(found[t], enumerated(alone, 1, [0, 1]) @ np.mean(ages, axis=0), atol=0.02)


@pytest.mark.parametrize("statistic", [LAG, LAGS, BOTH])
def test_the_arm_played_is_a_hint(statistic: str) -> None:
    """Rewards drowned in noise tell nothing, but the arms of somebody who sees the state do."""
    world = lb.HiddenMarkov(means=[[0.9, 0.1], [0.2, 0.6]], stickiness=0.95, noise=1000.0)
    realised = world.realise(2000, 1, seed=6, draw=0, repeat=0)
    script = Representation(Peeker(), statistic).informed(realised).script  # type: ignore[attr-defined]
    arms, why = record_one(Peeker(), realised, stream(0))
    told = [t for t in range(3, 2000) if arms[t - 3 : t, 0].all() and why[t - 1] == 0]
    assert len(told) > 100
    assert script[told].all()  # the second arm, which is the worse one on average
    assert not script[0]


def test_history_is_that_of_all_paths() -> None:
    realised = small(8)
    run = Run.of(Metronome(), realised)
    script = Representation(Metronome(), HISTORY).informed(realised).script  # type: ignore[attr-defined]
    for t in range(8):
        value = enumerated(run, t, list(range(t))) @ MEANS
        assert script[t] == value.argmax()


def test_lag_of_a_round_with_two_arms_is_the_best_of_it() -> None:
    """Two groups that played different arms leave the better one as lag, which says that the other paid less."""
    base = lb.policy("rp-ucb", interval=3, lag="slopes")
    realised = lb.HiddenMarkov(transition=CHAIN, means=MEANS, noise=0.2).realise(400, 2, seed=1, draw=0, repeat=0)
    run = Run.of(base, realised)
    parts = {(part.code, int(run.arms[part.rounds[0] - 1].max())): part for part in rep._lagged(run)}
    probe = next(t for t in range(1, 400) if set(run.arms[t - 1]) == {0, 1})
    best = int(run.rewards[probe - 1].argmax())
    reward, arm = run.rewards[probe - 1].max(), int(run.arms[probe - 1, best])
    noise = run.truth.noise[0]
    wanted = {
        int(run.code[probe - 1]): norm.pdf(reward, MEANS[:, arm], noise) * norm.cdf(reward, MEANS[:, 1 - arm], noise),
        3 * arm: norm.pdf(reward, MEANS[:, arm], noise / np.sqrt(2)),  # both groups on that arm: code 0 or 3
    }
    found = {part.code: part.likelihood[part.rounds == probe][0] for part in rep._lagged(run) if probe in part.rounds}
    assert set(found) == set(wanted)
    assert len(parts) >= 2
    scale = np.sum(list(wanted.values())) / np.sum(list(found.values()))
    for code, likelihood in wanted.items():
        np.testing.assert_allclose(found[code] * scale, likelihood, rtol=1e-9)


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("name", ["ucb1", "adasp-ucb", "adarp-ucb"])
def test_a_policy_that_follows_itself_plays_itself(name: str, interpreted: bool) -> None:
    base = lb.policy(name)
    realised = lb.HiddenMarkov(noise=0.1).realise(300, base.groups, seed=1, draw=0, repeat=0)
    played, _ = record_one(base, realised, stream(0))
    np.testing.assert_array_equal(record_one(base, realised, stream(0), interpreted, played).arms, played)


def test_a_follower_sees_what_was_played() -> None:
    """The filter that looks on is sure of the state that the played arm tells, whatever it would have played itself."""
    world = lb.HiddenMarkov(means=[[0.5, 0.0], [0.5, 1.0]], stickiness=1.0, noise=0.01)
    realised = world.realise(5, 1, seed=0, draw=0, repeat=0)
    greedy = lb.policies.BayesGreedy(arms=2)
    best = int(realised.means[0].argmax())
    blind = record_one(greedy, realised, stream(0), played=np.zeros((5, 1), np.int64)).arms
    seeing = record_one(greedy, realised, stream(0), played=np.ones((5, 1), np.int64)).arms
    assert set(blind[:, 0]) == {0}  # both states pay the same on arm 0: ties go to it
    assert set(seeing[1:, 0]) == {best}


def apps(
    base: Any, statistics: tuple[str, ...], world: lb.HiddenMarkov, rounds: int, draws: int
) -> dict[str, np.ndarray]:
    contestants = {"regret": base} | {name: Representation(base, name) for name in statistics}
    found = lb.simulate(world, contestants, horizon=rounds, draws=draws, repeats=1, seed=11)
    return dict(zip(found.labels, found.regret, strict=True))


@pytest.mark.parametrize("name", ["sp-ucb", "adasp-ucb", "adarp-ucb"])
def test_telling_more_never_costs(name: str) -> None:
    found = apps(lb.policy(name), (LAG, FINGERPRINT, BOTH, HISTORY), lb.HiddenMarkov(noise=0.1), 4000, 8)
    mean = {label: regret.mean() for label, regret in found.items()}
    assert mean[HISTORY] < mean[BOTH] < min(mean[LAG], mean[FINGERPRINT])
    assert all((regret >= 0).all() for regret in found.values())


def test_the_greedy_filter_loses_nothing_beyond_its_history() -> None:
    found = apps(lb.policies.BayesGreedy(arms=2), (HISTORY,), lb.HiddenMarkov(), 1000, 3)
    np.testing.assert_array_equal(found[HISTORY], found["regret"])


def test_decoded_is_worst_where_the_guess_is_wrong() -> None:
    base, world = lb.policy("sp-ucb"), lb.HiddenMarkov(noise=0.1)
    realised = world.realise(2000, 1, seed=5, draw=0, repeat=0)
    script = Representation(base, BOTH, decoded=True).informed(realised).script  # type: ignore[attr-defined]
    guess = rep.values(Run.of(base, realised), rehearsal.rehearse(base, realised), BOTH, np.eye(10)).argmax(axis=1)
    right = guess == realised.states
    assert 0 < right.mean() < 1
    assert (script[right] == realised.means.argmax(axis=1)[right]).all()
    assert (script[~right] == realised.means.argmin(axis=1)[~right]).all()


def test_rehearsals_are_other_runs_of_the_same_world() -> None:
    base, realised = lb.policy("lc-ucb"), small(300)
    runs = rehearsal.rehearse(base, realised)
    assert len(runs) == rehearsal.REHEARSALS
    assert (
        len({run.realisation.states.tobytes() for run in (*runs, Run.of(base, realised))}) == rehearsal.REHEARSALS + 1
    )
    assert all((run.truth.means == realised.truth.means).all() for run in runs)  # type: ignore[union-attr]
    assert rehearsal.rehearse(base, realised) is runs
    others = [rehearsal.rehearse(base, small(301 + i)) for i in range(rehearsal.KEPT)]
    assert len(rehearsal._kept) == rehearsal.KEPT
    assert len(others[-1][0].arms) == 300 + rehearsal.KEPT
    again = rehearsal.rehearse(base, realised)
    assert again is not runs
    np.testing.assert_array_equal(again[0].arms, runs[0].arms)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.1])
@pytest.mark.parametrize("name", ["sp-ucb", "adasp-ucb"])
def test_more_rehearsals_change_little(name: str, noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = (LAG, LAGS, FINGERPRINT, BOTH)
    few = apps(lb.policy(name), statistics, lb.HiddenMarkov(noise=noise), 20_000, 8)
    monkeypatch.setattr(rehearsal, "REHEARSALS", 4 * rehearsal.REHEARSALS)
    monkeypatch.setattr(rehearsal, "_kept", {})
    many = apps(lb.policy(name), statistics, lb.HiddenMarkov(noise=noise), 20_000, 8)
    for statistic in statistics:
        assert many[statistic].mean() == pytest.approx(few[statistic].mean(), rel=0.05)


@pytest.mark.parametrize(
    ("base", "statistic", "world", "said"),
    [
        ("lc-ts", LAG, {}, "a policy without randomness"),
        ("lc-ucb", BOTH, {}, "for a policy without probes"),
        ("lc-ucb", "everything", {}, "one of lag"),
        ("lc-ucb", LAG, {"rewards": "bernoulli"}, "Gaussian rewards"),
        ("lc-ucb", LAG, {"carryover": 0.3}, "no carryover"),
        ("adarp-ucb", LAGS, {}, "1 for three lags"),
    ],
)
def test_refusals(base: str, statistic: str, world: dict[str, Any], said: str) -> None:
    made = lb.policy(base)
    realised = lb.HiddenMarkov(**world).realise(200, made.groups, seed=0, draw=0, repeat=0)
    with pytest.raises(ValueError, match=said):
        Representation(made, statistic).informed(realised)


# The experiment `decomposition`

DRAWS = 4
LESS_AND_MORE = {LAG: 40.0, FINGERPRINT: 60.0, BOTH: 20.0, HISTORY: 10.0}


def constructed(change: Mapping[tuple[str, str], np.ndarray] | None = None, wrong: float = 0.5) -> pd.DataFrame:
    """Return a table of runs in which all claims hold, but for the regrets to be changed."""
    lines = []
    wiggle = np.arange(DRAWS) / 100
    for case in decomposition.ROWS:
        regrets = {label: 100 + wiggle for label in decomposition.contestants() if "|" not in label}
        for label in decomposition.contestants():
            if "|" in label:
                regrets[label] = LESS_AND_MORE[label.split("|")[1]] + wiggle
        regrets |= {label: regret for (where, label), regret in (change or {}).items() if where == case}
        for label, regret in regrets.items():
            lines += [
                {"case": case, "policy": label, "draw": d, "repeat": 0, "regret": regret[d], "optimal": 1 - wrong}
                for d in range(DRAWS)
            ]
    return pd.DataFrame(lines)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Let the run that is played again have the Reg of the constructed table, but for what a test says."""
    off = {"by": 0.0}

    def reg(_case: Any, label: str, _draw: int) -> float:
        return 100 - LESS_AND_MORE[label.split("|")[1]] + off["by"]

    monkeypatch.setattr(decomposition, "learner_regret", reg)
    return off


def verdict(results: pd.DataFrame, name: str) -> tuple[str, str]:
    claim = {one.id: one for one in decomposition.score(results)}[f"decomposition/{name}"]
    return claim.verdict, claim.kind


def test_identity_is_judged(replayed: dict[str, float]) -> None:
    assert verdict(constructed(), "identity") == (HOLDS, PROVED)
    replayed["by"] = 1e-3
    assert verdict(constructed(), "identity") == (FAILS, PROVED)


def test_where_reg_is_negative_is_said(replayed: dict[str, float]) -> None:
    low = constructed({("p.8", "sp-ucb"): np.array([30.0, 31.0, 30.0, 31.0])})
    claim = decomposition.score(low)[0]
    assert "sp-ucb with lag, stay 0.80: -10" in claim.why
    assert "sp-ucb with both" not in claim.why
    assert decomposition.score(constructed())[0].why.endswith("here it is not")


@pytest.mark.usefixtures("replayed")
def test_bound_is_judged() -> None:
    assert verdict(constructed(), "bound") == (HOLDS, PROVED)
    assert verdict(constructed(wrong=1e-6), "bound") == (FAILS, PROVED)
    unsure = {("default", "lc-ucb|lag"): np.array([10.0, 90_000.0, 10.0, 10.0])}
    assert verdict(constructed(unsure), "bound") == (TIED, PROVED)


@pytest.mark.usefixtures("replayed")
def test_nesting_is_judged() -> None:
    assert verdict(constructed(), "nested") == (HOLDS, READING)
    assert verdict(constructed({("sd.1", "sp-ucb|both"): np.full(DRAWS, 70.0)}), "nested") == (FAILS, READING)
    unsure = {("sd.1", "sp-ucb|both"): np.array([20.0, 30.0, 60.0, 50.0])}
    assert verdict(constructed(unsure), "nested") == (TIED, READING)


def test_parts_add_up_run_by_run() -> None:
    """Reg by its definition, round by round, is the regret less App: for one group and two, with and without probes."""
    case = decomposition.cases("quick")[2]
    chosen = ("sp-ucb|both", "adarp-ucb-table|lag", "ucb1|history")
    policies = {label: case.policies[label] for one in chosen for label in (one.split("|")[0], one)}
    found = lb.simulate(case.world, policies, horizon=case.horizon, draws=1, repeats=1, seed=case.seed)
    regret = dict(zip(found.labels, found.regret[:, 0], strict=True))
    for label in chosen:
        reg = decomposition.learner_regret(case, label, 0)
        assert regret[label.split("|")[0]] - regret[label] == pytest.approx(reg, abs=1e-6)


def test_reasons_of_the_metronome() -> None:
    """The test's own policy writes the reasons that the package reads."""
    arms, why = record_one(Metronome(), small(6), stream(0))
    assert why.tolist() == [CONTINUED, 0, 0, 0, SCHEDULED, CONTINUED]
    assert PROBE_REASON == 0
    assert arms[:, 0].tolist() == [1, 0, 1, 1, 0, 1]
