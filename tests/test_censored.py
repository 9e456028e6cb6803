"""Censored learning: what open decisions say about the present state, enumerated exactly, and what an agent makes of it."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent.windows import Delays, Windows
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.memory import Memory
from latentbandits.policies.state_library.outlook import foresee
from latentbandits.protocols import Choice, Waiting
from latentbandits.random import stream

RATES = [[0.1, 0.5, 0.9], [0.9, 0.5, 0.1]]


def trained(seed: int, groups: int = 1) -> tuple[lb.policies.StateLibrary, Memory]:
    """Return a policy and what it remembers of clicks in two states that take turns."""
    policy = lb.policies.StateLibrary(arms=3, groups=groups, states=12, particles=4)
    memory, choice, random = policy.init(), Choice.blank(policy), stream(seed)
    chance = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        for t in range(90):
            policy.choose(memory, np.zeros(0), random, choice)
            clicks = chance.random(groups) < np.array(RATES[t // 25 % 2])[choice.arms]
            policy.learn(memory, choice, clicks.astype(float))
        for _ in range(2):  # whose rewards are lost: a gap before the open ones
            policy.choose(memory, np.zeros(0), random, choice)
    return policy, memory


def opened(policy: lb.policies.StateLibrary, memory: Memory, number: int, seed: int) -> Waiting:
    """Return open decisions of all kinds."""
    chance = np.random.default_rng([seed, 1])
    memory.core[0].asked += number
    shape = (number, policy.groups)
    arms, rewards = chance.integers(3, size=shape), chance.choice([0.0, 1.0, np.nan], p=[0.1, 0.3, 0.6], size=shape)
    return Waiting(arms, rewards, np.sort(chance.random(number))[::-1].copy(), 0.0)


class Naive:
    """A particle and all that can have happened to it since, path by path; a state is a number, or a text that says when it began."""

    def __init__(self, memory: Memory, slot: int, waiting: Waiting, gap: int) -> None:
        library = memory.library
        self.particle, self.waiting, self.gap = library.particles[slot], waiting, gap
        self.usual = memory.standard.usual[0].value
        self.states = library.states[slot][: self.particle.known]
        self.means, self.moves = library.means[slot], library.moves[slot]
        self.stays = (self.particle.stays + 29) / (self.particle.stays + 29.5 + self.particle.changes)

    def leaving(self, z: int | str) -> Iterator[tuple[int | str, float]]:
        """Return where a change leads."""
        unseen, entries = 1 + self.particle.singles, self.particle.entries
        entered = [state.entered for state in self.states]
        if isinstance(z, str):  # a state that was entered once
            total = unseen + 1 + entries
            yield from ((k, entered[k] / total) for k in range(len(entered)))
            yield "new", (unseen + 1) / total
            return
        flat = [*(one / (unseen + entries - entered[z]) for one in entered), unseen / (unseen + entries - entered[z])]
        counted = [
            (moves + mine) / (self.states[z].left + 1)
            for moves, mine in zip([*self.moves[z][: len(entered)], 0], flat, strict=True)
        ]
        odds = self.particle.odds
        mixed = [(a + odds * b) / (1 + odds) for a, b in zip(flat, counted, strict=True)]
        yield from ((k, mixed[k]) for k in range(len(entered)) if k != z)
        yield "new", mixed[-1]

    def rate(self, state: int | str, arm: int, since: list[int]) -> float:
        """Return how often an arm pays: by what the state remembers, or by the decisions since it began."""
        if isinstance(state, int):
            mean = self.means[state, arm]
            return float((mean.count * self.share(mean) + 1) / (mean.count + 2))
        n = hits = 0.0
        for i in since:
            for played, reward in zip(self.waiting.arms[i], self.waiting.rewards[i], strict=True):
                if played == arm:
                    n += self.waiting.known[i] if math.isnan(reward) else 1
                    hits += reward == 1
        return (hits + 1) / (n + 2)

    def share(self, mean: Any) -> float:
        """Return the share of clicks, whichever of the two rewards counts as usual."""
        return float(mean.share if self.usual == 0 else 1 - mean.share) if mean.count else 0.0

    def seen(self, state: int | str, i: int, since: list[int]) -> float:
        total = 1.0
        for arm, reward in zip(self.waiting.arms[i], self.waiting.rewards[i], strict=True):
            rate = self.rate(state, arm, since)
            total *= 1 - rate * self.waiting.known[i] if math.isnan(reward) else rate if reward else 1 - rate
        return total

    def paths(self) -> dict[int | str, float]:
        """Return the probability of each state in the end, with all that was seen, over all paths."""
        ends: dict[int | str, float] = {}
        steps = len(self.waiting.known)
        known = range(len(self.states))
        for path in itertools.product([*known, "new"], [False, True], repeat=steps):
            places, changes = path[::2], path[1::2]
            chance, state, began = 1.0, self.particle.here, 0
            for i, (to, change) in enumerate(zip(places, changes, strict=True)):
                keep = self.stays ** (1 + self.gap if i == 0 else 1)
                if change:
                    chance *= (1 - keep) * dict(self.leaving(state)).get(to, 0.0)
                    if to == "new":
                        chance, began = chance * 0.5, i
                else:
                    chance *= keep * (to == state)
                state = to
                if chance == 0:
                    break
                chance *= self.seen(state, i, list(range(began, i)))
            ends[state] = ends.get(state, 0.0) + chance
        return ends


@pytest.mark.parametrize(("seed", "groups"), [(1, 1), (2, 1), (3, 2), (5, 1)])
def test_what_open_decisions_say_is_exact_over_all_paths(
    seed: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutations: F left out; a click that counts F; states that began earlier forget what they saw; no gap; moves left out."""
    monkeypatch.setattr(constants, "NEGLIGIBLE", 0.0)
    policy, memory = trained(seed, groups)
    waiting = opened(policy, memory, 4, seed)
    foresee(policy, memory, waiting)
    core, library = memory.outlook.core[0], memory.library
    live = [library.slots[i] for i in range(library.core[0].live)]
    expected: dict[tuple[int, int], float] = {}
    for slot in live:
        known = library.particles[slot].known
        for state, chance in Naive(memory, slot, waiting, 2).paths().items():
            place = (int(slot), known if isinstance(state, str) else int(state))
            expected[place] = expected.get(place, 0.0) + library.particles[slot].weight * chance
    total = sum(expected.values())
    found = {(one.slot, one.state): one.weight for one in memory.outlook.hypotheses[: core.number]}
    assert len(found) > 2
    assert sum(found.values()) == pytest.approx(1)
    for place, chance in expected.items():
        assert found.get(place, 0.0) == pytest.approx(chance / total, rel=1e-9, abs=1e-15), place
    assert core.front == memory.core[0].asked
    best = memory.outlook.hypotheses[core.best]
    assert best.weight == max(found.values())


@pytest.mark.parametrize("groups", [1, 2])
def test_what_was_told_is_what_is_known_in_the_end_and_what_cannot_be_known_says_nothing(groups: int) -> None:
    """In many blocks: F = 1 without a click is no click; F = 0 is no decision, but that the state may have changed meanwhile."""
    policy, memory = trained(4, groups)
    waiting = opened(policy, memory, 150, 4)
    silent = np.isnan(waiting.rewards)

    def weights(rewards: np.ndarray, known: np.ndarray) -> dict[tuple[int, int], float]:
        foresee(policy, memory, waiting._replace(rewards=rewards, known=known))
        core = memory.outlook.core[0]
        return {(one.slot, one.state): one.weight for one in memory.outlook.hypotheses[: core.number]}

    ones, nothing = np.ones(150), np.full(waiting.rewards.shape, np.nan)
    told = weights(np.where(silent, 0.0, waiting.rewards), ones)
    assert weights(waiting.rewards, ones) == pytest.approx(told)
    assert weights(waiting.rewards, waiting.known) != pytest.approx(told)
    # other arms change nothing if nothing can be known
    assert weights(nothing, 0 * ones) == pytest.approx(weights(nothing, -0.0 * ones))
    before = weights(nothing, 0 * ones)
    best = memory.library.core[0].best
    assert before[best, memory.library.particles[best].here] < memory.library.particles[best].weight
    assert weights(nothing, ones) != pytest.approx(before)


def test_where_the_default_is_no_usual_reward_or_rewards_are_numbers_nothing_is_foreseen() -> None:
    policy, memory = trained(1)
    waiting = opened(policy, memory, 10, 5)
    foresee(policy, memory, waiting._replace(default=0.5))
    assert memory.outlook.core[0].number == 0
    foresee(policy, memory, waiting)
    assert memory.outlook.core[0].number > 0
    memory.standard.usual[0].smooth = -100.0  # numbers around a mean explain rewards better
    foresee(policy, memory, waiting)
    assert memory.outlook.core[0].number == 0


def clicked(agent: lb.Agent, now: list[float], rounds: int, seed: int) -> str:
    """Play on, with clicks told as they happen; return the arms."""
    chance, due, played = np.random.default_rng(seed), dict[int, list[Any]](), ""
    for t in range(rounds):
        now[0] += 1.0
        for decision in due.pop(t, []):
            agent.tell(decision, 1.0)
        decision = agent.ask()
        played += str(decision.arm)
        if chance.random() < RATES[t // 60 % 2][int(decision.arm)]:
            due.setdefault(t + int(chance.integers(1, 15)), []).append(decision)
        windows = agent._player.windows
        if windows is not None and t % 50 == 49:  # what is kept is what a fresh one has
            ours = windows.waiting(int(now[0] * 1e6), Delays(), 1, 0.0)
            fresh = Windows(1, agent._player.open).waiting(int(now[0] * 1e6), Delays(), 1, 0.0)
            assert ours.arms.tolist() == fresh.arms.tolist()
            assert str(ours.rewards.tolist()) == str(fresh.rewards.tolist())
            assert ours.known.tolist() == fresh.known.tolist()
    return played


def made(now: list[float], learn: str | None = None, policy: str = "state-library:states=4", **given: Any) -> lb.Agent:
    return lb.Agent(
        policy,
        arms=3,
        seed=2,
        window=15,
        default=0.0,
        learn=learn,
        clock=lambda: now[0],
        **{"compiled": False, **given},
    )


def test_censored_choices_differ_from_waiting_and_what_is_learned_does_not() -> None:
    """It is what policies do that can; a policy that cannot waits, and says so if it was wanted."""
    plays = {}
    for learn in ("censored", None, "at_window"):
        now = [0.0]
        plays[learn] = clicked(made(now, learn), now, 150, 3)
    assert plays["censored"] == plays[None] != plays["at_window"]
    assert made([0.0], policy="ts")._state.spec.learn == "at_window"
    with pytest.warns(UserWarning, match="ThompsonSampling cannot look at open decisions"):
        assert made([0.0], "censored", policy="ts")._state.spec.learn == "at_window"


def test_a_restored_agent_goes_on_as_the_other_one_with_half_open_windows(tmp_path: Path) -> None:
    now, then = [0.0], [0.0]
    agent = made(now)
    clicked(agent, now, 130, 4)
    assert agent.stats.waiting > 0
    agent.save(tmp_path / "agent")
    then[0] = now[0]
    twin = lb.Agent.load(tmp_path / "agent", clock=lambda: then[0], compiled=False)
    assert twin._player.delays.last == agent._player.delays.last
    assert clicked(twin, then, 60, 5) == clicked(agent, now, 60, 5)


def test_a_decision_that_is_forgotten_or_changed_says_what_it_says_then() -> None:
    now = [0.0]
    agent = made(now, max_open=1000)
    clicked(agent, now, 100, 6)
    agent.forget(next(key for key in reversed(agent.open) if agent._state.open[key].told is None))
    decision = agent.ask()
    agent.tell(decision, 1.0)
    agent.tell(decision, 0.0, correct=True)
    clicked(agent, now, 20, 7)  # in which kept and fresh arrays are compared


def test_delays_are_those_of_closed_windows_the_last_512() -> None:
    delays = Delays(range(600))
    assert (len(delays.last), min(delays.last)) == (512, 88)
    shares = delays.share(np.array([-5, 87, 88, 343, 10_000]), 1000)
    assert shares[1:].tolist() == pytest.approx([0.087 / 513, 1.088 / 513, 256.343 / 513, 1])
    assert shares[0] == 0.0
    now = [0.0]
    agent = made(now)
    clicked(agent, now, 14, 8)
    assert not agent._player.delays.last  # no window has closed yet


@pytest.mark.slow
def test_compiled_and_interpreted_choices_are_the_same() -> None:
    now, then = [0.0], [0.0]
    assert clicked(made(now), now, 200, 9) == clicked(made(then, compiled=True), then, 200, 9)
