"""The greedy filter: a Bayes filter that is given means, chain and noise, and plays the best arm under its belief."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import assign_highest, set_index
from latentbandits.protocols import Choice, PlainOracle, Policy, Realisation, record_type
from latentbandits.random import Stream
from latentbandits.rewards import FILTERED, check_means, log_likelihood
from latentbandits.settings import AtLeast, InvalidValueError, OneOf, Vector

Clock = record_type(rounds=int)


class Memory(NamedTuple):
    """The belief over the hidden state, space to compute it in, and the number of rounds begun."""

    belief: np.ndarray
    next_belief: np.ndarray
    clock: np.ndarray


@kernel
def move(memory: Any, transition: np.ndarray) -> None:
    """Move the belief on to the round that begins."""
    belief, before = memory.belief, memory.next_belief
    if memory.clock[0].rounds > 0:
        for s in range(len(belief)):
            before[s] = belief[s]
            belief[s] = 0.0
        for s in range(len(belief)):
            for to in range(len(belief)):
                belief[to] += before[s] * transition[s, to]
    memory.clock[0].rounds += 1


@kernel
def expect(belief: np.ndarray, means: np.ndarray, choice: Choice) -> None:
    """Write every arm's expected reward under the belief, as its value and its index."""
    for arm in range(means.shape[1]):
        value = 0.0
        for s in range(len(belief)):
            value += belief[s] * means[s, arm]
        set_index(choice, arm, value, 0.0)


@kernel
def weigh(memory: Any, known: Any, arms: np.ndarray, rewards: np.ndarray) -> None:
    """Weigh the belief by the likelihood of the rewards, given the fields `means`, `noise` and `rewards` of a policy."""
    states = len(memory.belief)
    highest = -np.inf
    for s in range(states):
        fit = -np.inf if memory.belief[s] <= 0 else math.log(memory.belief[s])
        for group in range(len(arms)):
            scale = known.noise[group % len(known.noise)]
            fit += log_likelihood(known.rewards, rewards[group], known.means[s, arms[group]], scale)
        memory.next_belief[s] = fit
        highest = max(highest, fit)
    total = 0.0
    for s in range(states):
        # a reward that no state can give says nothing: keep the belief
        memory.next_belief[s] = math.exp(memory.next_belief[s] - highest) if highest > -np.inf else memory.belief[s]
        total += memory.next_belief[s]
    for s in range(states):
        memory.belief[s] = memory.next_belief[s] / total


class KnownWorld(Policy):
    """A policy that is given everything but the state of a hidden Markov world, and has a belief about that: see `BayesFilter`."""

    deterministic = True

    transition: Annotated[Any, Vector(2)]
    means: Annotated[Any, Vector(2)]
    start: Annotated[Any, Vector(1)]
    noise: Annotated[Any, Vector(1)] = 0.1
    rewards: Annotated[Any, OneOf(FILTERED)] = 0  # gaussian
    groups: Annotated[int, AtLeast(1)] = 1

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.means.shape[1])

    def check(self) -> None:
        """Refuse arrays that do not fit each other."""
        owner, transition, means, start = type(self).__name__, self.transition, self.means, self.start
        states = len(means)
        if means.size == 0 or means.shape[1] < 2:
            raise InvalidValueError(owner, "means", means.tolist(), "at least one row and two columns")
        if transition.shape != (states, states) or (transition < 0).any() or (abs(transition.sum(1) - 1) > 1e-9).any():
            rule = f"{states} rows of probabilities that sum to one"
            raise InvalidValueError(owner, "transition", transition.tolist(), rule)
        if start.shape != (states,) or (start < 0).any() or abs(start.sum() - 1) > 1e-9:
            raise InvalidValueError(owner, "start", start.tolist(), f"{states} probabilities that sum to one")
        if self.noise.size not in (1, self.groups) or (self.noise <= 0).any():
            rule = f"one number above 0, or {self.groups}, one per group"
            raise InvalidValueError(owner, "noise", self.noise.tolist(), rule)
        check_means(owner, "means", means, FILTERED[self.rewards])

    def learn(self, memory: Any, choice: Choice, rewards: np.ndarray) -> None:
        """Weigh the belief by the rewards' likelihood."""
        weigh(memory, self, choice.arms, rewards)

    def grow(self, memory: Any) -> Any:  # noqa: ARG002
        """Refuse a new arm."""
        allowed = "one whose means in all states are given from the start"
        raise InvalidValueError(type(self).__name__, "new arm", self.arms, allowed)


class BayesFilter(KnownWorld):
    """Filter the hidden state exactly and play the arm with the highest expected reward.

    It is given everything but the state, but it does not plan: an arm is never played for the sake of information, so a policy that tests
    can beat it. `PlanningFilter` is the one that plans. The belief moves on with every round asked. A reward weighs the belief of the
    round in which it arrives: exact for rewards that arrive before the next round, and for those that never do.

    Parameters
    ----------
    transition : array (states, states)
        Probability of going from the row's state to the column's.
    means : array (states, arms)
        Expected rewards.
    start : array (states,)
        Distribution of the first state.
    noise : float or array (groups,)
        Standard deviation of a group's reward; unused when rewards are 0 or 1.
    rewards : str
        Distribution of rewards, "gaussian" or "bernoulli".
    groups : int
        Groups per round; all play the same arm.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.BayesFilter([[0.9, 0.1], [0.1, 0.9]], [[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5], noise=0.1), seed=1)
    >>> decision = agent.ask()
    >>> agent.tell(decision, 0.0)  # arm 0 pays nothing in state 0
    'accepted'
    >>> agent.ask().arm
    1
    """

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(self.start.copy(), np.zeros(len(self.start)), np.zeros(1, Clock))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Move the belief to this round, and play the arm with the highest expected reward under it."""
        move(memory, self.transition)
        expect(memory.belief, self.means, choice)
        assign_highest(choice)


class BayesGreedy(PlainOracle):
    """Oracle: the greedy Bayes filter, given the chain, the means and the noise of the very world it plays.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.HiddenMarkov(states=3).realise(horizon=10, groups=1, seed=0, draw=0, repeat=0)
    >>> len(lb.policies.BayesGreedy(arms=2).informed(realisation).means)
    3
    """

    def informed(self, realisation: Realisation) -> Policy:
        """Return the filter for this world."""
        return BayesFilter(*known_world("BayesGreedy", realisation), self.groups)


def known_world(owner: str, realisation: Realisation) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, str]:
    """Return transition, means, start, noise and distribution of a realisation's chain, or refuse a world that has none."""
    if realisation.truth is None:
        rule = "that of a hidden Markov chain with gaussian or bernoulli rewards, plain noise, and rewards that are not late"
        raise InvalidValueError(owner, "filter of the world", "not known", rule)
    transition, means, start, noise, rewards, carryover, _ = realisation.truth
    if carryover > 0:
        transition, means, start = paired(transition, means, start, carryover)
    return transition, means, start, noise, rewards


def paired(
    transition: np.ndarray, means: np.ndarray, start: np.ndarray, carryover: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the chain of pairs (previous, current) that a chain with reward carryover is: its transitions, means and start."""
    count, arms = means.shape
    pairs = np.zeros((count, count, count, count))
    for current in range(count):
        pairs[:, current, current, :] = transition[current]
    mixed = carryover * means[:, None, :] + (1 - carryover) * means[None, :, :]
    size = count * count
    return pairs.reshape(size, size), mixed.reshape(size, arms), (start[:, None] * transition).ravel()
