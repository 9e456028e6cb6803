"""Late and lost rewards: how they are sampled, and what the simulation does with them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.protocols import LARGEST_DELAY, LEARN, Choice, Policy, Realisation
from latentbandits.random import Purpose, stream
from latentbandits.simulation.batch import believe_one, record_one
from latentbandits.testing import WorldChecks
from latentbandits.worlds.delivery import as_delay, delays

ROUNDS = 400


@dataclass(frozen=True)
class Postponed:
    """Any world, with late and lost rewards; `delay` None for a world in which every second draw has none."""

    world: Any
    delay: Any = (0, 30)
    lost: float = 0.2

    @property
    def arms(self) -> int:
        return int(self.world.arms)

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        made: Realisation = self.world.realise(horizon, groups, seed, draw, repeat)
        delay = (7 * (draw % 2)) if self.delay is None else self.delay
        return made._replace(delays=delays(horizon, delay, self.lost, seed, draw, repeat), truth=None)


def late(arms: int = 3, groups: int = 1, delay: Any = (0, 30), rounds: int = ROUNDS) -> Realisation:
    return Postponed(lb.HiddenMarkov(arms=arms, noise=0.1), delay).realise(rounds, groups, 5, 0, 0)


def naive(policy: Any, realisation: Realisation, random: np.ndarray) -> np.ndarray:
    """Play with a plain list of open choices and return the arms."""
    memory, arms, waiting = policy.init(), [], []
    assert realisation.delays is not None
    with np.errstate(all="ignore"):
        for t, delays in enumerate(realisation.delays):
            choice = Choice.blank(policy)
            policy.choose(memory, np.zeros(0), random, choice)
            arms.append(choice.arms.copy())
            nothing = not realisation.rewards[t, range(policy.groups), choice.arms].any()
            delay = delays if np.ndim(delays) == 0 else delays[int(nothing)]
            if delay >= 0:
                waiting.append((t + delay, t, choice))
            for _, when, one in sorted(w for w in waiting if w[0] == t):
                policy.learn(memory, one, realisation.rewards[when, range(policy.groups), one.arms])
            waiting = [w for w in waiting if w[0] > t]
    return np.array(arms)


def asked_and_told(policy: Any, realisation: Realisation, seed: int) -> np.ndarray:
    """Play with an agent and return the arms."""
    agent, arms, decisions = lb.Agent(policy, seed=seed), [], []
    assert realisation.delays is not None
    for t in range(len(realisation.means)):
        decisions.append(agent.ask())
        arms.append(list(decisions[-1].arms))
        for when, decision in enumerate(decisions):
            if realisation.delays[when] >= 0 and when + realisation.delays[when] == t:
                agent.tell(decision, realisation.rewards[when, range(policy.groups), list(decision.arms)])
    return np.array(arms)


@pytest.mark.parametrize(
    ("name", "interpreted"),
    [
        ("state-library", False),
        ("adasp-ucb", False),
        ("adarp-ucb:groups=2", True),
        ("exp3-s", True),
        ("cp-ts", True),
    ],
)
def test_the_simulation_plays_what_an_agent_plays(name: str, interpreted: bool) -> None:
    policy = lb.policy(name, arms=3)
    realisation = late(groups=policy.groups)
    arms, _ = record_one(policy, realisation, stream(4), interpreted)
    np.testing.assert_array_equal(arms, asked_and_told(policy, realisation, 4))
    np.testing.assert_array_equal(arms, naive(policy, realisation, stream(4)))
    prompt, _ = record_one(policy, realisation._replace(delays=None), stream(4), interpreted)
    assert (arms != prompt).any()


@pytest.mark.parametrize("delay", [0, 1, 25, (3, 90), "geometric 12"])
def test_regret_is_charged_when_the_choice_is_made(delay: Any) -> None:
    world = Postponed(lb.HiddenMarkov(arms=3, noise=0.1), delay)
    results = lb.simulate(world, ["ucb1"], horizon=ROUNDS, draws=2, repeats=1, seed=5, bins=4)
    for draw in range(2):
        realisation = world.realise(ROUNDS, 1, 5, draw, 0)
        arms = naive(lb.policy("ucb1", arms=3), realisation, stream(5, Purpose.POLICY, draw, 0))
        gaps = realisation.means.max(axis=1) - realisation.means[np.arange(ROUNDS), arms[:, 0]]
        np.testing.assert_allclose(results.regret_bins[0, draw], gaps.reshape(4, -1).sum(axis=1), atol=1e-12)


def test_no_delay_is_delay_zero_to_the_bit() -> None:
    plain = lb.HiddenMarkov(arms=3, noise=0.1)
    sizes: dict[str, Any] = {"horizon": 500, "draws": 3, "repeats": 1}
    zeros = Zeros(plain)
    for one, other in zip(*(lb.simulate(w, ["ucb1"], **sizes).regret_bins for w in (plain, zeros)), strict=True):
        np.testing.assert_array_equal(one, other)


class Zeros(Postponed):
    """Delays of 0 in every round."""

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        made: Realisation = self.world.realise(horizon, groups, seed, draw, repeat)
        return made._replace(delays=np.zeros(horizon, np.int64))


def test_a_world_may_be_late_in_some_draws_only() -> None:
    world = Postponed(lb.HiddenMarkov(arms=3, noise=0.1), None, 0.0)
    sizes: dict[str, Any] = {"horizon": 300, "repeats": 1}
    both = lb.simulate(world, ["ucb1"], draws=2, **sizes)
    for draw in range(2):
        alone = lb.simulate(world, ["ucb1"], draws=1, first=draw, interpreted=True, **sizes)
        np.testing.assert_array_equal(both.regret_bins[:, draw], alone.regret_bins[:, 0])


class Log(NamedTuple):
    """The features of the choices from which something was learned, and their rewards."""

    counts: np.ndarray
    learned: np.ndarray


class Diary(Policy):
    """A policy that plays every arm in turn and writes down what it learns, and when."""

    arms: int = 3
    groups: int = 1
    rounds: int = ROUNDS

    @property
    def width(self) -> int:
        return 1

    def init(self) -> Log:
        return Log(np.zeros(2, np.int64), np.full((self.rounds, 3), -1.0))

    def choose(self, memory: Log, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        now = memory.counts[0]
        choice.arms[0] = now % self.arms
        choice.features[0] = now
        memory.counts[0] += 1

    def learn(self, memory: Log, choice: Choice, rewards: np.ndarray) -> None:
        row = memory.learned[memory.counts[1]]
        row[0], row[1], row[2] = memory.counts[0] - 1, choice.features[0], rewards[0]
        memory.counts[1] += 1


def test_every_reward_arrives_in_its_round_with_its_own_choice_and_in_order() -> None:
    from latentbandits.compiled import plain
    from latentbandits.simulation.loop import play
    from latentbandits.simulation.runs import prepare

    policy, realisation = Diary(), late()
    assert realisation.delays is not None
    run = prepare(policy, realisation, stream(0))
    assert plain(play)(*run) == -1
    memory: Any = run.memory
    expected = sorted((t + d, t) for t, d in enumerate(realisation.delays) if d >= 0 and t + d < ROUNDS)
    learned = memory.learned[: memory.counts[1]]
    assert [(int(now), int(when)) for now, when, _ in learned] == expected
    for _, when, reward in learned:
        assert reward == realisation.rewards[int(when), 0, int(when) % 3]
    assert len(expected) < 0.9 * ROUNDS  # a fifth is lost


def test_nothing_is_learned_when_all_is_lost() -> None:
    realisation = late()._replace(delays=np.full(ROUNDS, -1))
    arms, _ = record_one(lb.policy("ucb1", arms=3), realisation, stream(0))
    memory, choice = lb.policies.UCB1(arms=3).init(), Choice.blank(lb.policies.UCB1(arms=3))
    lb.policies.UCB1(arms=3).choose(memory, np.zeros(0), stream(0), choice)
    np.testing.assert_array_equal(arms, np.full((ROUNDS, 1), choice.arms[0]))


def test_another_policy_follows_a_late_one() -> None:
    realisation = late()
    played, _ = record_one(lb.policy("ucb1", arms=3), realisation, stream(0))
    np.testing.assert_array_equal(
        record_one(lb.policy("ucb1", arms=3), realisation, stream(0), played=played).arms, played
    )


def test_beliefs_of_a_late_run_are_those_of_an_agent() -> None:
    realisation = late(rounds=120)
    assert realisation.delays is not None
    policy = lb.policy("state-library", arms=3)
    beliefs = believe_one(policy, realisation, stream(4), start=100)
    agent, decisions = lb.Agent(policy, seed=4), []
    for t in range(120):
        decisions.append(agent.ask())
        for when, decision in enumerate(decisions):
            if realisation.delays[when] >= 0 and when + realisation.delays[when] == t:
                agent.tell(decision, realisation.rewards[when, 0, decision.arm])
    assert beliefs[-1].changed == agent.belief.changed
    np.testing.assert_array_equal(beliefs[-1].states[0].means, agent.belief.states[0].means)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(3, int), r"world: shape of delays is \(3,\) but must be \(400,\)"),
        (np.full(ROUNDS, -2), "must be integers from 0 on, or -1 for never"),
        (np.full(ROUNDS, 0.5), "must be integers from 0 on, or -1 for never"),
    ],
)
def test_delays_that_are_refused(given: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        record_one(lb.policy("ucb1", arms=3), late()._replace(delays=given), stream(0))


def test_a_pool_that_would_fill_the_memory_is_refused() -> None:
    rounds = LARGEST_DELAY + 2
    row = lb.Replay(np.zeros((rounds, 2))).realise(rounds, 1, 0, 0, 0)
    never = np.zeros(rounds, np.int64)
    never[1] = rounds  # arrives after the end
    record_one(lb.policy("ucb1"), row._replace(delays=never), stream(0))
    never[0] = rounds - 1
    with pytest.raises(ValueError, match="world: delays is 100001 but must be at most 100000 rounds"):
        record_one(lb.policy("ucb1"), row._replace(delays=never), stream(0))


def test_available_passes_delays_on() -> None:
    world = lb.WithAvailability(Postponed(lb.HiddenMarkov(arms=3)), np.ones((ROUNDS, 3)))
    expected = delays(ROUNDS, (0, 30), 0.2, 5, 0, 0)
    np.testing.assert_array_equal(world.realise(ROUNDS, 1, 5, 0, 0).delays, expected)


class TestPostponed(WorldChecks):
    def world(self) -> Postponed:
        return Postponed(lb.HiddenMarkov(arms=3))


class Wrong(Postponed):
    """Delays that depend on the horizon."""

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        made: Realisation = self.world.realise(horizon, groups, seed, draw, repeat)
        return made._replace(delays=np.arange(horizon)[::-1].copy())


def test_the_checks_of_a_world_read_its_delays() -> None:
    checks = WorldChecks()
    checks.world = lambda: Wrong(lb.HiddenMarkov())  # type: ignore[method-assign]
    checks.test_delays_are_rounds_or_never()
    with pytest.raises(AssertionError):
        checks.test_a_longer_realisation_begins_like_a_shorter_one()


def test_delays_have_the_distribution_that_was_asked_for() -> None:
    many = 200_000
    fixed = delays(many, 20, 0.0, 0, 0, 0)
    assert fixed is not None
    assert (fixed == 20).all()
    uniform, geometric = (delays(many, delay, 0.1, 0, 0, 0) for delay in ("20 to 23", "geometric 20"))
    assert uniform is not None
    assert geometric is not None
    for found in (uniform, geometric):
        assert (found == -1).mean() == pytest.approx(0.1, abs=0.003)
    shares = np.bincount(uniform[uniform >= 0])[20:] / (uniform >= 0).sum()
    np.testing.assert_allclose(shares, 0.25, atol=0.005)
    kept = geometric[geometric >= 0]
    assert kept.mean() == pytest.approx(20, rel=0.01)
    assert (kept == 0).mean() == pytest.approx(1 / 21, abs=0.003)
    np.testing.assert_array_equal(uniform == -1, geometric == -1)


@pytest.mark.parametrize("repeat", [0, 1])
def test_delays_depend_on_draw_and_repeat_alone(repeat: int) -> None:
    first, again = (delays(50, (0, 99), 0.0, 1, 2, repeat) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = delays(50, (0, 99), 0.0, 1, 2, repeat + 1)
    assert first is not None
    assert other is not None
    assert (first != other).any()


@pytest.mark.parametrize(
    "given",
    [-1, (3, 2), "soon", "geometric", ("geometric", 0), True, (1, 2, 3), 1.5, None, LARGEST_DELAY + 1, "geometric 0"],
)
def test_a_delay_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"World: delay is .* but must be rounds from 0 to 100000"):
        as_delay(given, "World")


def test_losing_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="lost is 1 but must be a probability below 1"):
        delays(5, 0, 1, 0, 0, 0)


def clicks(groups: int = 1, **given: Any) -> Realisation:
    rules = {"rewards": "bernoulli", "delay": "geometric 10", "lost": 0.1, "window": 30, "learn": "at_once", **given}
    return lb.HiddenMarkov(states=2, arms=3, dwell=100, **rules).realise(ROUNDS, groups, 5, 0, 0)


@pytest.mark.parametrize("name", ["ucb1", "exp3", "state-library:states=4"])
@pytest.mark.parametrize("groups", [1, 2])
def test_clicks_come_before_their_absence(name: str, groups: int) -> None:
    """A plain twin (mutations: learn at both times, at the click's time whatever was played, when the first group has none)."""
    policy, realisation = lb.policy(name, arms=3, **({"groups": groups} if groups > 1 else {})), clicks(groups)
    arms, _ = record_one(policy, realisation, stream(4))
    np.testing.assert_array_equal(arms, naive(policy, realisation, stream(4)))


def test_a_window_is_a_delay_for_all_and_what_comes_later_is_no_reward() -> None:
    every, plain = clicks(learn="at_window"), clicks(window=0)
    assert plain.delays is not None
    assert every.delays is not None
    assert (every.delays == 30).all()
    lost = (plain.delays < 0) | (plain.delays > 30)
    assert 0.1 < lost.mean() < 0.25
    assert not every.rewards[lost].any()
    np.testing.assert_array_equal(every.rewards[~lost], plain.rewards[~lost])
    assert clicks().truth is None  # no filter knows this


def test_wrong_rewards_are_told_in_some_rounds() -> None:
    plain, wrong = (
        lb.HiddenMarkov(wrong=share, wrong_reward=-1000.0).realise(4000, 2, 5, 0, 0) for share in (0.0, 0.1)
    )
    hit = (wrong.rewards == -1000.0).all(axis=(1, 2))
    assert hit.mean() == pytest.approx(0.1, abs=0.02)
    np.testing.assert_array_equal(wrong.rewards[~hit], plain.rewards[~hit])
    np.testing.assert_array_equal(wrong.means, plain.means)  # regret is by what is true
    assert wrong.truth is None


def test_learning_clicks_at_once_costs_more_than_waiting_for_the_window() -> None:
    """Mutation: no second column of delays."""
    words: dict[str, Any] = {"rewards": "bernoulli", "means": [[0.02, 0.06, 0.1]], "delay": "0 to 150", "window": 200}
    regrets = {}
    for learn in LEARN:
        compared = lb.compare(lb.Problem(**words, learn=learn, horizon=6000, runs=8), ["state-library"])
        regrets[learn] = compared.table["regret"]["state-library"]
    assert regrets["at_once"] > 1.5 * regrets["at_window"], regrets
