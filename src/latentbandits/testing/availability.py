"""What every policy must do when arms come and go, and what it must say about chance."""

import math
from unittest import SkipTest

import numpy as np

from latentbandits.agent import choose
from latentbandits.compiled import copy_into, machine_code
from latentbandits.memories import NamedArrays, copied, parts, replaced, saved
from latentbandits.protocols import PROBE_REASON, Choice, Contestant, Policy, Realisation, World, grown, grown_choice
from latentbandits.random import Stream, stream
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import record_one
from latentbandits.simulation.runs import prepare
from latentbandits.worlds.hidden_markov import HiddenMarkov


def numbers(memory: NamedArrays) -> np.ndarray:
    """Return all numbers of a memory, records included, one after the other."""
    found = [part[name] for part in parts(memory).values() for name in part.dtype.names or (...,)]
    return np.concatenate([part.astype(np.float64).ravel() for part in found])


def available_arms(rounds: int, arms: int) -> np.ndarray:
    """Return arms that come and go, (rounds, arms): all for a while, then random ones, often a single one, for up to a dozen rounds."""
    generator = np.random.default_rng(0)
    available = np.ones((rounds, arms), bool)
    begin = rounds // 8
    while begin < rounds:
        end = begin + int(generator.integers(1, 13))
        number = int(generator.integers(1, arms + 1)) if generator.random() < 0.8 else 1
        available[begin:end] = np.isin(np.arange(arms), generator.permutation(arms)[:number])
        begin = end
    return available


_HINT = (
    "choose among the arms with choice.arm_scores[arm].available (latentbandits.policies.arms has functions for that)"
)


def bound(probability: float, count: int, risk: float = 1e-9) -> float:
    """Return how far a frequency of `count` trials may be from the probability but for a risk (Bernstein's inequality)."""
    size = math.log(2 / risk) / count
    return math.sqrt(2 * probability * (1 - probability) * size) + 2 * size / 3


def decide(
    policy: Policy, memory: NamedArrays, context: np.ndarray, random: Stream, realisation: Realisation, t: int
) -> Choice:
    """Return a choice of the available arms of round t, or fail if it is none of them."""
    choice = Choice.blank(policy)
    if realisation.available is not None:
        choice.arm_scores["available"] = 0
        choice.arm_scores["available"][: realisation.available.shape[1]] = realisation.available[t]
    before = choice.arm_scores["available"].copy()
    policy.choose(memory, context, random, choice)
    name = type(policy).__name__
    assert (choice.arm_scores["available"] == before).all(), (
        f"{name} changes choice.arm_scores[arm].available, which belongs to the caller, in round {t}"
    )
    for arm in choice.arms:
        assert 0 <= arm < policy.arms, f"{name} plays arm {arm} of {policy.arms} in round {t}"
        assert before[arm], f"{name} plays arm {arm}, which is not available, in round {t}: {_HINT}"
    assert before.sum() > 1 or choice.tags[PROBE_REASON] == 0, f"{name} probes with one available arm in round {t}"
    return choice


class AvailabilityChecks:
    """A policy to check, and where; then what it does with arms that come and go, new arms, and chance. See `PolicyChecks`."""

    rounds, redraws = 400, 20_000

    def policy(self) -> Contestant:
        """Return the policy to check."""
        raise NotImplementedError

    def world(self) -> World:
        """Return the world to play in."""
        arms, covariates = self.policy().arms, self.policy().covariates
        reveal = "state" if covariates else "nothing"
        return HiddenMarkov(arms=arms, states=covariates or 5, stickiness=0.95, noise=0.1, reveal=reveal)

    def learns(self) -> bool:
        """Return whether rewards teach the policy anything about the arms; override it for one that ignores them."""
        return True

    def _ready(self, available: np.ndarray | None = None) -> tuple[Policy, Realisation, np.ndarray]:
        """Return the policy (an oracle is given the truth), a realisation for it, and what it may observe there."""
        policy = self.policy()
        realisation = self.world().realise(self.rounds, policy.groups, seed=1, draw=0, repeat=0)
        realisation = realisation._replace(available=available)
        run = prepare(policy, realisation, stream(0))
        return run.policy, realisation, run.context

    @staticmethod
    def _rewards(realisation: Realisation, t: int, choice: Choice) -> np.ndarray:
        """Return the rewards of a choice made in round t."""
        return realisation.rewards[t, range(len(choice.arms)), choice.arms]

    def _masked(self) -> tuple[Policy, Realisation, np.ndarray]:
        """Return the same as `_ready`, with arms that come and go."""
        policy = self.policy()
        if policy.fixed_arms:
            raise SkipTest(f"{type(policy).__name__} has fixed_arms: all its arms are needed in every round")
        return self._ready(available_arms(self.rounds, policy.arms))

    def test_plays_available_arms_alone(self) -> None:
        """Compiled and interpreted alike; with one available arm there is nothing to probe."""
        _, realisation, _ = self._masked()
        policy, available = self.policy(), realisation.available
        assert available is not None
        (arms, probe_reason), (same_arms, same_why) = (
            record_one(policy, realisation, stream(2), interpreted=plain) for plain in (False, True)
        )
        np.testing.assert_array_equal(arms, same_arms, "compiled and interpreted runs differ where arms come and go")
        np.testing.assert_array_equal(probe_reason, same_why, "reasons to probe differ, compiled and interpreted")
        probed = np.flatnonzero((available.sum(axis=1) == 1) & (probe_reason != 0))
        assert len(probed) == 0, (
            f"{type(policy).__name__} probes in round {probed[0]} with one available arm: it must play it with tags[PROBE_REASON] = 0"
        )

    def test_late_rewards_while_arms_come_and_go(self) -> None:
        """A reward may arrive when other arms are available than those of its choice."""
        policy, realisation, context = self._masked()
        memory, random, generator = policy.init(), stream(9), np.random.default_rng(1)
        waiting: list[tuple[int, Choice]] = []
        with np.errstate(all="ignore"):
            for t in range(self.rounds):
                waiting.append((t, decide(policy, memory, context[t], random, realisation, t)))
                while len(waiting) > 8:
                    when, choice = waiting.pop(int(generator.integers(len(waiting))))
                    policy.learn(memory, choice, self._rewards(realisation, when, choice))
        assert np.isfinite(numbers(memory)).all(), (
            f"{type(policy).__name__} remembers numbers that are not finite after late rewards of masked rounds"
        )

    def test_scratch_is_rebuilt_while_arms_come_and_go(self) -> None:
        """Fields named in `scratch` are not saved: a fresh copy of them must do, whichever arms are available."""
        policy, realisation, context = self._masked()
        memory, random = policy.init(), stream(10)
        other: NamedArrays | None = None
        with np.errstate(all="ignore"):
            for t in range(self.rounds):
                if t == self.rounds // 2:
                    other = replaced(policy.init(), saved(policy, copied(memory)))
                before = random.copy()
                choice = decide(policy, memory, context[t], random, realisation, t)
                policy.learn(memory, choice, self._rewards(realisation, t, choice))
                if other is not None:
                    again = decide(policy, other, context[t], before, realisation, t)
                    np.testing.assert_array_equal(choice.arms, again.arms, "scratch is not rebuilt before it is read")
                    policy.learn(other, again, self._rewards(realisation, t, again))

    def test_the_arms_are_as_random_as_it_says(self) -> None:
        """With the trait `deterministic`, the memory decides; else written probabilities are those of redraws from one memory."""
        policy, realisation, context = self._masked()
        assert realisation.available is not None
        memory, random = policy.init(), stream(11)
        number = realisation.available.sum(axis=1)
        few = np.flatnonzero((number > 1) & (number < policy.arms))
        moments = {self.rounds // 8 - 1, self.rounds - 1, *few[len(few) // 2 :: max(len(few) // 4, 1)].tolist()}
        with np.errstate(all="ignore"):
            for t in range(self.rounds):
                if t in moments or (policy.deterministic and t % 10 == 0):
                    self._check_chance(policy, copied(memory), context[t], realisation, t)
                choice = decide(policy, memory, context[t], random, realisation, t)
                policy.learn(memory, choice, self._rewards(realisation, t, choice))

    def _check_chance(
        self, policy: Policy, memory: NamedArrays, context: np.ndarray, realisation: Realisation, t: int
    ) -> None:
        """Check what a policy says about chance in one round."""
        name = type(policy).__name__
        if policy.deterministic:
            played = {
                tuple(decide(policy, copied(memory), context, stream(12, number), realisation, t).arms.tolist())
                for number in range(10)
            }
            assert len(played) == 1, (
                f"{name} has the trait deterministic but plays {sorted(played)} from one memory in round {t}: "
                "drop the trait, and write choice.arm_scores[arm].probability if it is known"
            )
            return
        offered = decide(policy, copied(memory), context, stream(12), realisation, t).arm_scores
        open_arms = np.flatnonzero(offered["available"])
        said = offered["probability"][open_arms]
        if np.isnan(said).all():
            return
        assert np.isfinite(said).all(), f"{name} writes some probabilities and not others in round {t}: {said}"
        assert (said >= 0).all(), f"{name} writes a negative probability in round {t}: {said}"
        assert abs(said.sum() - 1) < 1e-9, (
            f"{name} writes probabilities of the available arms that sum to {said.sum():.6g} instead of 1 in round {t}"
        )
        for group, shares in enumerate(self._redrawn(policy, memory, context, realisation, t)):
            for arm, probability in zip(open_arms, said, strict=True):
                assert abs(shares[arm] - probability) <= bound(probability, self.redraws), (
                    f"{name} writes probability {probability:.4f} for arm {arm} in round {t} but group {group} plays it in "
                    f"{shares[arm]:.4f} of {self.redraws} redraws from the same memory"
                )

    def _redrawn(
        self, policy: Policy, memory: NamedArrays, context: np.ndarray, realisation: Realisation, t: int
    ) -> np.ndarray:
        """Return how often each group plays each arm (groups, arms) when a choice is sampled many times from one memory."""
        assert realisation.available is not None
        choice, random, before = Choice.blank(policy), stream(13), copied(memory)
        choice.arm_scores["available"] = realisation.available[t]
        run = machine_code(choose, policy, memory, context, random, choice)
        counts = np.zeros((policy.groups, policy.arms))
        groups = np.arange(policy.groups)
        for _ in range(self.redraws):
            run(policy, memory, context, random, choice)
            counts[groups, choice.arms] += 1
            copy_into(memory, before)
        return counts / self.redraws

    def test_a_new_arm_loses_nothing(self) -> None:
        """A policy that was given one more arm, which is never available, plays on as before; open choices are carried over."""
        for begin in (0, self.rounds // 2):
            policy, realisation, context = self._masked()
            memory, random = policy.init(), stream(14)
            larger, more = policy, memory
            waiting: list[tuple[int, Choice, Choice]] = []
            with np.errstate(all="ignore"):
                for t in range(self.rounds):
                    if t == begin:
                        larger, more = self._grown(policy, copied(memory))
                        waiting = [(when, one, grown_choice(policy, larger, one)) for when, one, _ in waiting]
                    before = random.copy()
                    choice = other = decide(policy, memory, context[t], random, realisation, t)
                    if t >= begin:
                        other = decide(larger, more, context[t], before, realisation, t)
                        np.testing.assert_array_equal(
                            choice.arms, other.arms,
                            f"{type(policy).__name__} plays otherwise in round {t} once it has a new arm that is not available",
                        )  # fmt: skip
                    waiting.append((t, choice, other))
                    if len(waiting) > 3:
                        when, choice, other = waiting.pop(t % 3)
                        policy.learn(memory, choice, self._rewards(realisation, when, choice))
                        if t >= begin:
                            larger.learn(more, other, self._rewards(realisation, when, other))

    def test_a_new_arm_is_one_like_the_others(self) -> None:
        """A policy that was given one more arm in the middle of its work plays it, where only that one is available too."""
        policy, realisation, context = self._masked()
        memory, random, half = policy.init(), stream(15), self.rounds // 2
        wider = realisation._replace(
            rewards=np.concatenate([realisation.rewards, realisation.rewards[:, :, :1]], axis=2),
            available=available_arms(self.rounds, policy.arms + 1),
        )
        with np.errstate(all="ignore"):
            for t in range(self.rounds):
                if t == half:
                    policy, memory = self._grown(policy, memory)
                now = realisation if t < half else wider
                choice = decide(policy, memory, context[t], random, now, t)
                policy.learn(memory, choice, self._rewards(now, t, choice))
        assert np.isfinite(numbers(memory)).all(), (
            f"{type(policy).__name__} remembers numbers that are not finite after it was given a new arm"
        )

    @staticmethod
    def _grown(policy: Policy, memory: NamedArrays) -> tuple[Policy, NamedArrays]:
        """Return a policy and its memory with one arm more, or skip the check if it refuses."""
        try:
            return grown(policy, memory)
        except InvalidValueError as refusal:
            raise SkipTest(str(refusal)) from None
