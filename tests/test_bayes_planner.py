"""The planner against the exact optimum, against the greedy filter, and how its multiplier is chosen."""

import threading
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import fast, plain
from latentbandits.policies import bayes_imagination as imagination
from latentbandits.policies.groups import GREEDY, LIMIT
from latentbandits.presentation.numbers import aligned
from latentbandits.random import Purpose, stream
from latentbandits.rewards import DISTRIBUTIONS, NAMES
from latentbandits.simulation.results import interval
from tests.naive_filter import pairs_of
from tests.naive_planner import NaivePlanner
from tests.twins import Settings

BELIEFS = 601
# Two states, two arms: stay probability of each state, means, noise (None: rewards are 0 or 1)
EXACT = {
    "one arm says nothing": ((0.98, 0.98), [[0.5, 0.2], [0.5, 0.8]], 0.1),
    "clicks": ((0.98, 0.95), [[0.4, 0.1], [0.5, 0.9]], None),
    "noisy": ((0.99, 0.98), [[0.5, 0.3], [0.45, 0.7]], 0.3),
    "a rare disaster": ((0.995, 0.95), [[0.6, 0.5], [-1.0, 0.5]], 0.1),
    "quick": ((0.8, 0.9), [[0.5, 0.0], [0.4, 0.9]], 0.3),
    "both arms speak": ((0.97, 0.97), [[0.6, 0.4], [0.4, 0.6]], 0.3),
    "clicks that are rare": ((0.995, 0.995), [[0.05, 0.02], [0.05, 0.15]], None),
}


def world_of(case: str) -> lb.HiddenMarkov:
    stays, means, noise = EXACT[case]
    chain = [[stays[0], 1 - stays[0]], [1 - stays[1], stays[1]]]
    kind: Settings = {"rewards": "bernoulli"} if noise is None else {"noise": noise}
    return lb.HiddenMarkov(transition=chain, means=means, **kind)


def optimum(world: lb.HiddenMarkov) -> float:
    """Return the least possible regret per round: relative value iteration over beliefs, in plain NumPy."""
    belief = np.linspace(0, 1, BELIEFS)  # probability of state 1
    prior = np.stack([1 - belief, belief])
    kept = []
    for arm in range(2):
        mean = world.means[:, arm]
        if world.rewards == "bernoulli":
            chances = np.stack([1 - mean, mean], axis=1)  # (states, outcomes)
        else:
            outcomes = np.linspace(mean.min() - 6 * world.noise, mean.max() + 6 * world.noise, 101)
            chances = np.exp(-0.5 * ((outcomes - mean[:, None]) / world.noise) ** 2)
            chances /= chances.sum(axis=1, keepdims=True)
        joint = prior[:, :, None] * chances[:, None, :]  # (states, beliefs, outcomes)
        seen = joint.sum(axis=0)
        after = np.einsum("sbo,st->tbo", joint, world.chain)[1] / np.where(seen > 0, seen, 1)
        kept.append((prior.T @ mean, seen, after))
    value, gain = np.zeros(BELIEFS), np.inf
    for _ in range(20_000):
        step = np.max([now + (seen * np.interp(after, belief, value)).sum(axis=1) for now, seen, after in kept], axis=0)
        change = step - value
        value, gain = step - step[0], float(change.mean())
        if np.ptp(change) < 1e-6:
            break
    return float(world.start @ world.means.max(axis=1)) - gain


def near_the_optimum(case: str, draws: int) -> None:
    world = world_of(case)
    horizon = 20_000
    results = lb.simulate(world, [LIMIT, GREEDY], horizon=horizon, draws=draws, repeats=1, seed=5, bins=1)
    mean, low, high = interval(results.regret[0] / horizon)
    least = optimum(world)
    assert mean + (high - low) > least, f"{mean / least:.3f} of the optimum: no policy can be below it"
    assert low <= 1.03 * least, f"{mean / least:.3f} of the optimum"
    assert (high - low) < 0.1 * least, "too few draws to tell"


@pytest.mark.compiled
@pytest.mark.parametrize("case", list(EXACT)[:3])
def test_near_the_optimum(case: str) -> None:
    near_the_optimum(case, 32)


@pytest.mark.slow
@pytest.mark.parametrize("case", EXACT)
def test_nearer_the_optimum(case: str) -> None:
    near_the_optimum(case, 400)


# States that pay alike on one arm
ALIKE = [[0.5, 0.2], [0.5, 0.8], [0.7, 0.9], [0.7, 0.4]]
# World, groups, and whether planning must pay there
WORLDS: dict[str, tuple[Settings, int, bool]] = {
    "default": ({}, 1, False),
    "a change every other round": ({"stickiness": 0.5}, 1, False),
    "noisy": ({"noise": 0.5}, 1, True),
    "clicks": ({"rewards": "bernoulli"}, 1, True),
    "clicks, three groups": ({"rewards": "bernoulli", "arms": 3}, 3, True),
    "two groups": ({"noise": 0.1}, 2, True),
    "groups of unequal noise": ({"group_noise": (0.05, 1.0)}, 2, True),
    "carryover": ({"carryover": 0.4, "means": ALIKE, "noise": 0.1}, 1, True),
    "carryover, clicks": ({"carryover": 0.4, "means": ALIKE, "rewards": "bernoulli"}, 1, True),
    "five arms": ({"arms": 5, "noise": 0.2}, 1, True),
    "cycle": ({"transition": np.roll(np.eye(6), 1, axis=1) * 0.02 + np.eye(6) * 0.98, "noise": 0.1}, 1, False),
}


# Of which another one above has all that is special
ALSO = ("a change every other round", "clicks", "two groups", "carryover", "five arms")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if case in ALSO else case for case in WORLDS]
)
def test_never_above_the_greedy_filter(case: str) -> None:
    """On the same runs; where the interval of the difference includes zero, neither is above."""
    settings, groups, pays = WORLDS[case]
    world = lb.HiddenMarkov(**settings)
    rivals = [lb.policy(name, arms=world.arms, groups=groups) for name in (LIMIT, GREEDY)]
    results = lb.simulate(world, rivals, horizon=10_000, draws=16, repeats=1, seed=3, bins=1)
    mean, low, high = interval(results.regret[0] - results.regret[1])
    assert low <= 0, f"{mean:.2f} ({low:.2f} to {high:.2f}) above the greedy filter"
    assert not pays or high < 0, f"{mean:.2f} ({low:.2f} to {high:.2f}): planning should pay here"


def known(groups: int = 1, **settings: Any) -> Any:
    """Return a planning filter for the first draw of a world, with a multiplier of its own."""
    realisation = lb.HiddenMarkov(**settings).realise(10, groups, seed=0, draw=0, repeat=0)
    return lb.policies.PlanningFilter(*pairs_of(realisation.truth)[:4], realisation.truth.rewards, groups)  # type: ignore[union-attr,arg-type]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "settings", [{"noise": 0.3, "states": 3}, {"rewards": "bernoulli", "arms": 3}, {"carryover": 0.4, "states": 2}]
)
def test_the_imagined_regret_is_that_of_the_twin(settings: Settings, groups: int) -> None:
    """A walk along the chain, rewards on it, and the regret that every multiplier expects under its own belief."""
    policy, rounds = known(groups, **settings), 120
    random = stream(0, Purpose.IMAGINATION)
    means = np.empty((rounds, policy.arms))
    plain(imagination.imagine_path)(policy.transition, policy.start, policy.means, random, means)
    assert all((row == policy.means).all(axis=1).any() for row in means)
    rewards = np.empty((rounds, groups, policy.arms))
    plain(DISTRIBUTIONS[NAMES[policy.rewards]].sample)(means, np.resize(policy.noise, groups), random, rewards)
    found = imagination.regrets(policy, rounds, race=False)
    assert tuple(found) == imagination.MULTIPLIERS
    for multiplier, regret in found.items():
        world = (policy.transition, policy.means, policy.start, np.resize(policy.noise, groups), bool(policy.rewards))
        twin, expected = NaivePlanner(*world, groups, multiplier), 0.0
        for t in range(rounds):
            arms = twin.choose(np.zeros(0), range(policy.arms))
            expected += twin.belief() @ policy.means.max(axis=1) - twin.expected()[arms[0]]
            twin.learn(arms, rewards[t, np.arange(groups), arms].tolist())
        assert regret == pytest.approx(expected / rounds, rel=1e-9)


@pytest.mark.compiled
def test_the_imagined_path_has_the_frequencies_of_the_chain() -> None:
    chain = np.array([[0.5, 0.5, 0.0], [0.0, 0.7, 0.3], [0.2, 0.0, 0.8]])
    means = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.5]])
    paid = np.empty((100_000, 2))
    fast(imagination.imagine_path)(chain, np.array([0.0, 0.0, 1.0]), means, stream(1), paid)
    states = paid[:, 0].astype(int)
    assert states[0] == 2
    counts = np.zeros((3, 3))
    np.add.at(counts, (states[:-1], states[1:]), 1)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), chain, atol=0.01)


@pytest.mark.compiled
def test_a_race_leaves_out_only_what_is_clearly_worse() -> None:
    worlds: list[Settings] = [{}, {"noise": 0.5}, {"arms": 5, "noise": 0.3}]
    for settings in worlds:
        policy = known(**settings)
        raced, full = (imagination.regrets(policy, 20_000, race=race) for race in (True, False))
        best = min(raced, key=lambda h: raced[h])
        assert full[best] <= 1.02 * min(full.values())
        assert len(raced) < len(full)


def test_who_is_hopeless() -> None:
    leader = np.full(3, 10.0)
    assert imagination.hopeless(leader + np.array([1.0, 1.1, 0.9]), leader)
    assert imagination.hopeless(leader, leader)  # no better
    assert imagination.hopeless(leader - 0.05, leader)  # hardly better
    assert not imagination.hopeless(leader - 0.2, leader)
    assert not imagination.hopeless(leader + np.array([1.0, -1.1, 0.9]), leader)  # who can tell
    assert not imagination.hopeless(leader[:2] + 1.0, leader[:2])  # too early


def test_the_multiplier_depends_on_the_world_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is imagined once, whoever asks, and again for any other world."""
    asked = []

    def regrets(policy: Any, rounds: int, lost: float) -> dict[float, float]:
        asked.append(rounds)
        return {1.0: 0.5, 4.0: 0.25, 8.0: 0.25}

    monkeypatch.setattr(imagination, "regrets", regrets)
    imagination.best_multiplier.cache_clear()
    first = known(states=3)
    assert imagination.best_multiplier(first) == 4.0  # the smallest of equals
    assert imagination.best_multiplier(known(states=3)) == 4.0
    assert asked == [imagination.IMAGINED]
    half = first._replace(means=first.means / 2)
    others = [half, first._replace(noise=0.5), first._replace(rewards="bernoulli"), first._replace(groups=2)]
    others += [first._replace(start=[0.5, 0.5, 0.0]), first._replace(transition=np.eye(3))]
    for number, other in enumerate(others, start=2):
        imagination.best_multiplier(other)
        assert len(asked) == number
    imagination.best_multiplier.cache_clear()


@pytest.mark.compiled
def test_threads_agree_on_the_multiplier() -> None:
    alone = [imagination.best_multiplier(known(states=states, noise=0.2)) for states in range(2, 6)]
    imagination.best_multiplier.cache_clear()
    found: list[list[float]] = []

    def work() -> None:
        found.append([imagination.best_multiplier(known(states=states, noise=0.2)) for states in range(2, 6)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_one_arm_at_a_time_needs_no_plan() -> None:
    realisation = lb.HiddenMarkov().realise(20, 1, seed=0, draw=0, repeat=0)
    only = np.tile([False, True], (20, 1))
    policy: Any = lb.policies.BayesPlanner(arms=2).informed(realisation._replace(available=only))
    assert policy.multiplier == 1.0


def test_refusals() -> None:
    chain, means, start = [[0.9, 0.1], [0.1, 0.9]], [[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5]
    with pytest.raises(lb.InvalidValueError, match="multiplier is 0 but must be a finite number above 0"):
        lb.policies.PlanningFilter(chain, means, start, multiplier=0)
    with pytest.raises(lb.InvalidValueError, match="rewards is 'counts' but must be one of gaussian, bernoulli"):
        lb.policies.PlanningFilter(chain, means, start, rewards="counts")
    with pytest.raises(lb.InvalidValueError, match="PlanningFilter: start"):
        lb.policies.PlanningFilter(chain, means, [0.5, 0.6])
    with pytest.raises(lb.InvalidValueError, match=r"BayesPlanner: filter of the world is .not known."):
        lb.policies.BayesPlanner(arms=3).informed(lb.Drift(arms=3).realise(10, 1, seed=0, draw=0, repeat=0))
    with pytest.raises(lb.InvalidValueError, match="PlanningFilter: new arm"):
        lb.Agent(lb.policies.PlanningFilter(chain, means, start)).add("another")


def main() -> None:
    """Print regret as a multiple of the optimum: the table of docs/limit.md."""
    lines = []
    for case in EXACT:
        world = world_of(case)
        results = lb.simulate(world, [LIMIT, GREEDY], horizon=20_000, draws=100, repeats=1, seed=5, bins=1)
        least = optimum(world)
        limit, low, high = interval(results.regret[0] / (20_000 * least))
        greedy = results.regret[1].mean() / (20_000 * least)
        chosen: Any = lb.policies.BayesPlanner(arms=2).informed(world.realise(1, 1, seed=0, draw=0, repeat=0))
        lines.append(
            [case, f"{least:.4f}", f"{greedy:.2f}", f"{limit:.3f} ({low:.3f} to {high:.3f})", f"{chosen.multiplier:g}"]
        )
    print(aligned(["world", "optimum per round", "greedy", "planner", "multiplier"], lines))


if __name__ == "__main__":
    main()


def test_means_that_are_far_apart_are_placed_without_overflow() -> None:
    world = lb.HiddenMarkov(states=4, arms=4, stickiness=0.97, noise=0.0)
    large = lb.HiddenMarkov(states=4, arms=4, stickiness=0.97, noise=0.0, span=(0.0, 1e13))
    found = [lb.simulate(one, ["bayes-planner"], horizon=500, draws=2, repeats=1).regret for one in (world, large)]
    np.testing.assert_allclose(found[1], 1e13 * found[0], rtol=1e-9)


def test_where_rewards_are_lost_information_is_worth_less() -> None:
    world = lb.HiddenMarkov(means=[[0.5, 0.2], [0.5, 0.8]], noise=0.1)
    seldom = lb.HiddenMarkov(means=[[0.5, 0.2], [0.5, 0.8]], noise=0.1, lost=0.9)
    chosen = [
        lb.policies.BayesPlanner(arms=2)
        .informed(one.realise(horizon=10, groups=1, seed=0, draw=0, repeat=0))
        .multiplier  # type: ignore[attr-defined]
        for one in (world, seldom)
    ]
    assert chosen[1] < chosen[0]
