"""What every policy must do."""

from pathlib import Path

import numpy as np

from latentbandits.agent import Agent
from latentbandits.memories import NamedArrays, copied
from latentbandits.parameters import describe
from latentbandits.protocols import Choice, Policy, Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.testing.availability import AvailabilityChecks, numbers


def _is_memory(part: object) -> bool:
    """Return whether it is an array, or a NamedTuple of such parts."""
    return isinstance(part, np.ndarray) or (isinstance(part, NamedArrays) and all(map(_is_memory, part)))


class PolicyChecks(AvailabilityChecks):
    """Inherit it in a pytest class and return a policy (or an oracle) from `policy`.

    `rounds` is how long each check plays; `world` may be overridden where the policy needs a particular one. Checks with arms that come
    and go are skipped for a policy with the trait `fixed_arms`, those of a new arm for one that refuses to take one.
    """

    def test_memory_is_a_tuple_of_arrays(self) -> None:
        """Anything else could be neither compiled nor saved."""
        policy, _, _ = self._ready()
        memory = policy.init()
        assert isinstance(memory, tuple)
        assert _is_memory(memory)

    def test_settings_make_the_same_policy(self) -> None:
        """Settings as plain values are all that a file keeps of a policy."""
        policy, _, _ = self._ready()
        assert describe(type(policy)(**describe(policy))) == describe(policy)

    def test_compiled_and_interpreted_agree(self) -> None:
        """The same source must mean the same in both."""
        policy, realisation, _ = self._ready()
        compiled, interpreted = (
            record_one(policy, realisation, stream(2), interpreted=plain) for plain in (False, True)
        )
        np.testing.assert_array_equal(compiled[0], interpreted[0])
        np.testing.assert_array_equal(compiled[1], interpreted[1])

    def test_same_seed_same_choices(self) -> None:
        """There is no randomness but the stream, and no memory but the one that `init` returns."""
        policy, realisation, _ = self._ready()
        first, second = (record_one(policy, realisation, stream(3))[0] for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_online_equals_simulated(self) -> None:
        """An agent plays round by round what the simulator plays."""
        policy, realisation, context = self._ready()
        arms, _ = record_one(policy, realisation, stream(4))
        agent = Agent(policy, seed=4)
        played = [self._step(agent, realisation, context, t) for t in range(self.rounds)]
        np.testing.assert_array_equal(np.array(played), arms)

    def test_restored_agent_goes_on_exactly(self, tmp_path: Path) -> None:
        """Saved in the middle, with decisions open, it goes on as if nothing had happened."""
        policy, realisation, context = self._ready()
        agent = Agent(policy, seed=5)
        half = self.rounds // 2
        for t in range(half):
            self._step(agent, realisation, context, t)
        waiting = agent.ask(self._observed(context, half))
        agent.save(tmp_path / "agent")
        restored = Agent.load(tmp_path / "agent", policy=type(policy))
        for which in (agent, restored):
            which.tell(waiting.id, realisation.rewards[half, range(policy.groups), list(waiting.arms)])
        for t in range(half + 1, self.rounds):
            assert self._step(agent, realisation, context, t) == self._step(restored, realisation, context, t)

    def test_late_and_lost_rewards(self) -> None:
        """Rewards out of order, or never, are no reason to fail."""
        policy, realisation, context = self._ready()
        agent = Agent(policy, seed=6)
        generator = np.random.default_rng(0)
        for t in range(self.rounds):
            decision = agent.ask(self._observed(context, t))
            assert all(0 <= arm < policy.arms for arm in decision.arms)
            if t % 3:
                known = str(generator.choice(agent.open))
                agent.tell(known, realisation.rewards[t, range(policy.groups), [0] * policy.groups])
        assert np.isfinite(numbers(agent.memory)).all()

    def test_learning_is_about_the_choice_it_is_given(self) -> None:
        """A late reward belongs to the arms of its own choice: two choices that differ in their arms teach different things."""
        policy, realisation, context = self._ready()
        memory, random, choice = policy.init(), stream(8), Choice.blank(policy)
        differ = False
        with np.errstate(all="ignore"):
            for t in range(self.rounds):
                policy.choose(memory, context[t], random, choice)
                if t >= 20 and not differ:
                    first, second = (self._after(policy, memory, choice, arm) for arm in range(2))
                    differ = bool((first != second).any())
                policy.learn(memory, choice, realisation.rewards[t, range(policy.groups), choice.arms])
        assert differ == self.learns()

    @staticmethod
    def _after(policy: Policy, memory: NamedArrays, choice: Choice, arm: int) -> np.ndarray:
        """Return a copy of the memory that has learned a reward of an arm instead of the chosen one."""
        copy = copied(memory)
        other = Choice(
            np.full(policy.groups, arm), choice.features.copy(), choice.tags.copy(), choice.arm_scores.copy()
        )
        policy.learn(copy, other, np.full(policy.groups, 0.77))
        return numbers(copy)

    def test_choosing_and_learning_allocate_nothing(self) -> None:
        """Both are compiled without memory management, so that a policy which allocates is refused with a `CompileError`."""
        policy, realisation, context = self._ready()
        self._step(Agent(policy, seed=7, compiled=True), realisation, context, 0)

    @staticmethod
    def _observed(context: np.ndarray, t: int) -> np.ndarray | None:
        return context[t] if context.shape[1] else None

    def _step(self, agent: Agent, realisation: Realisation, context: np.ndarray, t: int) -> list[int]:
        decision = agent.ask(self._observed(context, t))
        agent.tell(decision, realisation.rewards[t, range(len(decision.arms)), list(decision.arms)])
        return list(decision.arms)
