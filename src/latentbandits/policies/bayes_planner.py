"""The limit: a Bayes filter that is given means, chain and noise, and plans one step ahead on its belief."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import assign, highest, highest_value, set_index
from latentbandits.policies.bayes_filter import Clock, KnownWorld, expect, known_world, move
from latentbandits.policies.bayes_imagination import best_multiplier
from latentbandits.policies.whittle import known_chains
from latentbandits.protocols import PROBE_REASON, RIVAL, Choice, PlainOracle, Policy, Realisation
from latentbandits.random import Stream
from latentbandits.rewards import FILTERED
from latentbandits.settings import Above

_BERNOULLI = FILTERED.index("bernoulli")
# One standard deviation apart, up to five on either side: the trapezoidal rule, whose error for a normal density is far below that of
# the truncation, 6e-7
_REACH = 5
_WIDTH = 2 * _REACH + 1
# Doubt below this share of the range of the means is not worth a thought; and what a state that is less likely adds to a thought
_CERTAIN, _UNLIKELY = 1e-5, 1e-9


class Memory(NamedTuple):
    """The belief over the hidden state, space to compute it in, the number of rounds begun; and what planning looks up.

    Attributes
    ----------
    ahead : (states, arms), expected rewards of the next round, above the lowest mean; `peak` the highest of each state
    chances : (arms, states, nodes of a state), probability of a node; `first` a state's first node, `nodes` how many an arm has
    sums : (arms, nodes), space to think in
    range : (1,), the highest minus the lowest mean
    """

    belief: np.ndarray
    next_belief: np.ndarray
    clock: np.ndarray
    ahead: np.ndarray
    peak: np.ndarray
    chances: np.ndarray
    first: np.ndarray
    nodes: np.ndarray
    sums: np.ndarray
    range: np.ndarray


def place_nodes(known: KnownWorld) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the probability of every node, by arm and state, the number of a state's first node, and the number of nodes of every arm.

    All groups play one arm, so their rewards say as much as their weighted mean: one normal number, or a count of ones.
    """
    means, groups = known.means.T, known.groups
    if known.rewards == _BERNOULLI:
        chances = np.zeros((*means.shape, groups + 1))
        chances[:, :, 0] = 1.0
        for _ in range(groups):  # one group after the other
            chances[:, :, 1:] = chances[:, :, 1:] * (1.0 - means[:, :, None]) + chances[:, :, :-1] * means[:, :, None]
            chances[:, :, 0] *= 1.0 - means
        return chances, np.zeros(means.shape, np.int64), np.full(len(means), groups + 1)
    precision = 0.0
    for group in range(groups):
        precision += known.noise[group % len(known.noise)] ** -2.0
    chances, placed = np.zeros((*means.shape, _WIDTH)), np.zeros(means.shape, np.int64)
    # Points of one grid, without the stretches that are far from the mean of every state
    for arm, own in enumerate(means):
        before, first = 0.0, 0
        for s in np.argsort(own, kind="stable"):
            place = (own[s] - own.min()) * math.sqrt(precision)
            nearest = np.floor(place + 0.5)  # a float, however far apart the means are
            first += int(min(nearest - before, _WIDTH))
            placed[arm, s], before = first, nearest
            total = 0.0
            for node in range(_WIDTH):
                away = (nearest - place) + (node - _REACH)
                chances[arm, s, node] = math.exp(-0.5 * away * away)
                total += chances[arm, s, node]
            chances[arm, s] /= total
    return chances, placed, placed.max(axis=1) + _WIDTH


@kernel
def informed_value(memory: Memory, choice: Choice, arm: int) -> float:
    """Return what the best arm of the next round is expected to pay, once the reward of an arm has been seen in this round."""
    sums, nodes, arms = memory.sums, memory.nodes[arm], len(choice.arm_scores)
    for k in range(arms):
        for node in range(nodes):
            sums[k, node] = 0.0
    for s in range(len(memory.belief)):
        if memory.belief[s] > _UNLIKELY:
            first = memory.first[arm, s]
            for k in range(arms):
                weight = memory.belief[s] * memory.ahead[s, k]
                for node in range(memory.chances.shape[2]):
                    sums[k, first + node] += weight * memory.chances[arm, s, node]
    total = 0.0
    for node in range(nodes):
        best = 0.0
        for k in range(arms):
            if choice.arm_scores[k].available:
                best = max(best, sums[k, node])
        total += best
    return total


@kernel
def plan(memory: Memory, multiplier: float, choice: Choice) -> None:
    """Add to the indices what the arms' rewards are worth as information: the multiplier times the gain in the next round.

    The gain of any arm is at most the doubt, so arms that are further behind than the multiplier times that cannot win.
    """
    arms = len(choice.arm_scores)
    certain = 0.0
    for s in range(len(memory.belief)):
        certain += memory.belief[s] * memory.peak[s]
    uninformed, best = 0.0, -np.inf
    for arm in range(arms):
        if choice.arm_scores[arm].available:
            value = 0.0
            for s in range(len(memory.belief)):
                value += memory.belief[s] * memory.ahead[s, arm]
            uninformed, best = max(uninformed, value), max(best, choice.arm_scores[arm].value)
    std_error = certain - uninformed
    if std_error <= _CERTAIN * memory.range[0]:
        return
    least = best - multiplier * std_error
    rivals = 0
    for arm in range(arms):
        rivals += choice.arm_scores[arm].available and choice.arm_scores[arm].value >= least
    if rivals > 1:
        for arm in range(arms):
            arm_score = choice.arm_scores[arm]
            if arm_score.available and arm_score.value >= least:
                gain = informed_value(memory, choice, arm) - uninformed
                set_index(choice, arm, arm_score.value, multiplier * max(gain, 0.0))


class PlanningFilter(KnownWorld):
    """Filter the hidden state exactly and play the arm that pays most, what its reward says about the state included.

    An arm's index is its expected reward plus `multiplier` times the gain of information: how much more the best arm of the next round is
    expected to pay if this arm's reward has been seen. The multiplier stands for the rounds in which the information is of use. A round
    in which another arm has a higher expected reward is a test, and its reason is "rival".

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
    multiplier : float
        Weight of the gain of information; above 0. `BayesPlanner` finds the best one for a world.

    Examples
    --------
    Arm 1 is never the best guess, but it says which of the other two is:

    >>> import latentbandits as lb
    >>> chain, means = [[0.99, 0.01], [0.01, 0.99]], [[1.0, 0.4, 0.0], [0.0, 0.1, 1.0]]
    >>> lb.Agent(lb.policies.PlanningFilter(chain, means, [0.5, 0.5], noise=0.05, multiplier=8)).ask().probe_reasons
    ()
    >>> means = [[0.6, 0.3, 0.0], [0.6, 0.1, 1.0]]
    >>> agent = lb.Agent(lb.policies.PlanningFilter(chain, means, [0.7, 0.3], noise=0.05, multiplier=8))
    >>> decision = agent.ask()
    >>> decision.arm, decision.probe_reasons
    (2, ('rival',))
    """

    multiplier: Annotated[float, Above(0)] = 8.0

    @property
    def scratch(self) -> tuple[str, ...]:
        """Fields of the memory that follow from the settings, or that are rebuilt before they are read."""
        return ("next_belief", "ahead", "peak", "chances", "first", "nodes", "sums", "range")

    def init(self) -> Memory:
        """Return the memory before the first round."""
        states, arms = self.means.shape
        above = self.means - self.means.min()
        ahead = np.zeros((states, arms))
        for to in range(states):  # in this order, since rounding depends on it
            ahead += self.transition[:, to, None] * above[to]
        chances, first, nodes = place_nodes(self)
        return Memory(
            belief=self.start.copy(),
            next_belief=np.zeros(states),
            clock=np.zeros(1, Clock),
            ahead=ahead,
            peak=ahead.max(axis=1),
            chances=chances,
            first=first,
            nodes=nodes,
            sums=np.zeros((arms, states * chances.shape[2])),
            range=np.full(1, above.max()),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Move the belief to this round, and play the arm with the highest index under it."""
        move(memory, self.transition)
        expect(memory.belief, self.means, choice)
        plan(memory, self.multiplier, choice)
        arm = highest(choice)
        choice.tags[PROBE_REASON] = 0 if arm == highest_value(choice) else RIVAL
        assign(arm, choice)


class BayesPlanner(PlainOracle):
    """Oracle: the planning filter, given the chain, the means and the noise of the very world it plays. Regret is a multiple of its regret.

    The multiplier is the best of 1, 2, 4, ..., 64 in an imagined run of the known world (`best_multiplier`), with all arms that are ever
    available. Where every arm has a chain of its own, it is the Whittle index of `latentbandits.policies.whittle.WhittleFilter`.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, so a policy that tests with one of several groups can be better.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.HiddenMarkov(means=[[0.5, 0.2], [0.5, 0.8]], noise=0.1)
    >>> lb.policies.BayesPlanner(arms=2).informed(world.realise(horizon=10, groups=1, seed=0, draw=0, repeat=0)).multiplier
    8.0
    """

    def informed(self, realisation: Realisation) -> Policy:
        """Return the planning filter for this world."""
        if realisation.chains is not None:
            return known_chains(realisation, self.groups)
        known = PlanningFilter(*known_world("BayesPlanner", realisation), self.groups)
        lost = realisation.truth.lost if realisation.truth is not None else 0.0
        if realisation.available is None:
            return known._replace(multiplier=best_multiplier(known, lost))
        ever = np.flatnonzero(realisation.available.any(axis=0))
        if len(ever) == 1:
            return known._replace(multiplier=1.0)
        means = np.ascontiguousarray(known.means[:, ever])  # another layout would be compiled again
        return known._replace(multiplier=best_multiplier(known._replace(means=means), lost))
