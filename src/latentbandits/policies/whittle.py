"""The limit where every arm has a chain of its own: a Whittle index on exact beliefs, given means, chains and noise."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import assign, highest, highest_value, set_index
from latentbandits.policies.bayes_filter import Clock, KnownWorld
from latentbandits.policies.renewal import renewal_index
from latentbandits.protocols import PROBE_REASON, RIVAL, Choice, Realisation
from latentbandits.random import Stream
from latentbandits.rewards import FILTERED, check_means, log_likelihood
from latentbandits.settings import InvalidValueError, Vector


class Memory(NamedTuple):
    """The belief over the level of every arm, space, the rounds begun; and what follows from the settings.

    Attributes
    ----------
    belief : (arms, levels)
    order : (arms, levels), the levels in falling order of their means; `values`, `usual` and `rates` are in this order
    usual : (arms, levels), probabilities in the long run
    rates : (arms, levels), see `latentbandits.policies.renewal`
    sd : (1,), noise of the mean of a round's rewards
    """

    belief: np.ndarray
    clock: np.ndarray
    order: np.ndarray
    values: np.ndarray
    usual: np.ndarray
    rates: np.ndarray
    sd: np.ndarray
    space: np.ndarray


def set_rates(transition: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return, for the first level, the first two, ..., the rate from this set to the others plus the rate back."""
    rates = np.zeros(len(share))
    for size in range(1, len(share)):
        flow = float(share[:size] @ transition[:size, size:].sum(axis=1))  # out, and in the long run as much back
        within = float(share[:size].sum())
        rates[size - 1] = flow / within + flow / (1.0 - within) if 0.0 < within < 1.0 else 0.0
    return rates


@kernel
def move(memory: Memory, transition: np.ndarray) -> None:
    """Move the beliefs of all arms on to the round that begins."""
    arms, levels = memory.belief.shape
    if memory.clock[0].rounds > 0:
        for arm in range(arms):
            for to in range(levels):
                memory.space[to] = 0.0
                for level in range(levels):
                    memory.space[to] += memory.belief[arm, level] * transition[arm, level, to]
            for to in range(levels):
                memory.belief[arm, to] = memory.space[to]
    memory.clock[0].rounds += 1


class WhittleFilter(KnownWorld):
    """Filter the level of every arm exactly, and play the arm with the highest renewal index: see `latentbandits.policies.renewal`.

    Parameters
    ----------
    transition : array (arms, levels, levels)
        For every arm, the probability of going from the row's level to the column's.
    means : array (levels, arms)
        Expected rewards.
    start : array (levels,)
        Distribution of every arm's first level, and its share of time.
    noise : float or array (groups,)
        Standard deviation of a group's reward; unused when rewards are 0 or 1.
    rewards : str
        Distribution of rewards, "gaussian" or "bernoulli".
    groups : int
        Groups per round; all play the same arm.

    Examples
    --------
    Arm 0 is safe. Arm 1 was bad, but may have recovered, and is tried again now and then:

    >>> import latentbandits as lb
    >>> chain = [[0.98, 0.02], [0.02, 0.98]]
    >>> agent = lb.Agent(lb.policies.WhittleFilter([chain, chain], [[0.6, 0.9], [0.5, 0.1]], [0.5, 0.5], noise=0.01))
    >>> tries = []
    >>> for t in range(50):
    ...     decision = agent.ask()
    ...     _ = agent.tell(decision, [0.6, 0.1][decision.arm])
    ...     tries += [t] if decision.arm else []
    >>> tries
    [0, 14, 28, 42]
    """

    transition: Annotated[Any, Vector(3)]

    @property
    def scratch(self) -> tuple[str, ...]:
        """Fields of the memory that follow from the settings, or that are written before they are read."""
        return ("order", "values", "usual", "rates", "sd", "space")

    def check(self) -> None:
        """Refuse arrays that do not fit each other."""
        owner, (levels, arms) = type(self).__name__, self.means.shape
        if self.means.size == 0 or arms < 2:
            raise InvalidValueError(owner, "means", self.means.tolist(), "at least one row and two columns")
        chains = self.transition
        if chains.shape != (arms, levels, levels) or (chains < 0).any() or (abs(chains.sum(2) - 1) > 1e-9).any():
            rule = f"{arms} matrices with {levels} rows of probabilities that sum to one"
            raise InvalidValueError(owner, "transition", chains.tolist(), rule)
        if self.start.shape != (levels,) or (self.start < 0).any() or abs(self.start.sum() - 1) > 1e-9:
            raise InvalidValueError(owner, "start", self.start.tolist(), f"{levels} probabilities that sum to one")
        if self.noise.size not in (1, self.groups) or (self.noise <= 0).any():
            rule = f"one number above 0, or {self.groups}, one per group"
            raise InvalidValueError(owner, "noise", self.noise.tolist(), rule)
        check_means(owner, "means", self.means, FILTERED[self.rewards])

    def init(self) -> Memory:
        """Return the memory before the first round."""
        levels, arms = self.means.shape
        order = np.argsort(-self.means, axis=0, kind="stable").T
        usual = self.start[order]
        rates = [set_rates(self.transition[a][np.ix_(order[a], order[a])], usual[a]) for a in range(arms)]
        variance = self.noise**2
        if FILTERED[self.rewards] == "bernoulli":
            variance = np.full(self.groups, float((self.means * (1.0 - self.means)).mean()))
        return Memory(
            belief=np.tile(self.start, (arms, 1)),
            clock=np.zeros(1, Clock),
            order=order.astype(np.int64),
            values=np.take_along_axis(self.means.T, order, axis=1),
            usual=usual,
            rates=np.array(rates),
            sd=np.array(
                [float(np.sum(1.0 / np.broadcast_to(variance, self.groups)) ** -0.5) if variance.any() else 0.0]
            ),
            space=np.zeros(levels),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Move the beliefs to this round, and play the arm with the highest index."""
        move(memory, self.transition)
        arms, levels = memory.belief.shape
        for arm in range(arms):
            value = 0.0
            for i in range(levels):
                memory.space[i] = memory.belief[arm, memory.order[arm, i]]
                value += memory.space[i] * memory.values[arm, i]
            index = renewal_index(
                memory.values[arm], memory.space, memory.usual[arm], memory.rates[arm], levels, memory.sd[0]
            )
            set_index(choice, arm, value, index - value)
        arm = highest(choice)
        choice.tags[PROBE_REASON] = 0 if arm == highest_value(choice) else RIVAL
        assign(arm, choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Weigh the belief of the arm by the rewards' likelihood."""
        arm, top, total = choice.arms[0], -np.inf, 0.0
        levels = memory.belief.shape[1]
        for level in range(levels):
            fit = -np.inf if memory.belief[arm, level] <= 0 else math.log(memory.belief[arm, level])
            for group in range(self.groups):
                scale = self.noise[group % len(self.noise)]
                fit += log_likelihood(self.rewards, rewards[group], self.means[level, arm], scale)
            memory.space[level] = fit
            top = max(top, fit)
        if top == -np.inf:  # a reward that no level can give says nothing
            return
        for level in range(levels):
            memory.space[level] = math.exp(memory.space[level] - top)
            total += memory.space[level]
        for level in range(levels):
            memory.belief[arm, level] = memory.space[level] / total


def known_chains(realisation: Realisation, groups: int) -> WhittleFilter:
    """Return the filter for a realisation in which every arm has a chain of its own that is known."""
    assert realisation.chains is not None
    transition, levels, start, noise, rewards = realisation.chains
    return WhittleFilter(transition, levels, start, noise, rewards, groups)
