"""StateLibrary: its settings, and how it chooses and learns."""

import math
from typing import Annotated

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import Noise, start_noise
from latentbandits.policies.arms import available, highest, highest_value, nth_available
from latentbandits.policies.state_library import lag
from latentbandits.policies.state_library.belief import Belief, belief
from latentbandits.policies.state_library.differences import count_difference
from latentbandits.policies.state_library.features import SLOPES, bounded, effect, learn_slopes, outdated, see
from latentbandits.policies.state_library.index import add_tests, blend_lag, expect
from latentbandits.policies.state_library.memory import (
    AGES,
    CAP,
    FEATURES,
    HISTORY,
    VISITS,
    WAITING,
    Branch,
    Budget,
    Cell,
    Claim,
    Core,
    Feature,
    Gaussian,
    Lag,
    Mean,
    Memory,
    Observation,
    Particle,
    Regime,
    Scale,
    State,
    Trust,
    Visit,
)
from latentbandits.policies.state_library.particles import advance, begin
from latentbandits.policies.state_library.regimes import id_at, show
from latentbandits.policies.state_library.scale import NARROW, WIDE, count_values, observe, set_range, within_reach
from latentbandits.policies.state_library.staleness import await_rewards, receive, stalest
from latentbandits.policies.state_library.transitions import hazard, staying
from latentbandits.policies.state_library.trust import check, claim, restrained, trusted, usual_arm
from latentbandits.protocols import PROBE_REASON, RIVAL, STALENESS, UNTRIED, Choice, PlainPolicy, corner
from latentbandits.random import Stream, uniform
from latentbandits.settings import Above, AtLeast, InUnit, InvalidValueError, Untuned, Within


@kernel
def remember(policy: "StateLibrary", memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
    """Write the latest round into the history: the mean reward of all groups, or those of the first and of the others."""
    rounds = memory.core[0].rounds
    first, second = choice.arms[0], -1
    reward, other = rewards[0], 0.0
    for group in range(1, policy.groups):
        other += rewards[group]
    if policy.groups > 1 and choice.arms[1] != first:
        second = choice.arms[1]
        other /= policy.groups - 1
        memory.played[second] = rounds
    else:
        reward = (reward + other) / policy.groups
    memory.played[first] = rounds
    latest = memory.history[(rounds - 1) % HISTORY]
    latest.first = first
    latest.second = second
    latest.number = int(choice.features[1])
    for j in range(policy.covariates):
        memory.history_features[(rounds - 1) % HISTORY, j] = choice.features[FEATURES + j]
    latest.reward = within_reach(memory.scale[0], memory.noise[0].sd, rounds, reward)
    latest.other = within_reach(memory.scale[0], memory.noise[0].sd, rounds, other)
    latest.u = choice.features[0]


class StateLibrary(PlainPolicy):
    """Remember every state that was met, and play what is best in the present one; needs no knowledge of the world.

    A library holds the mean reward of every arm in every state encountered. Which state we are in now is uncertain, so up to `particles`
    hypotheses are kept, each with a library of its own, weighed by Bayes' rule: a Rao-Blackwellised particle filter for a sticky hidden
    Markov chain with any number of states. The arm with the highest index is played: its expected reward, plus a bonus where it is untried
    in the believed state, plus its worth as a test between particles that disagree on what to do. A lag model, from the last reward to
    the next, is blended in where it predicts rewards better. Noise, range of the means, how long states last, their number and
    transitions are all learned, and decisions do not depend on the unit or the zero of rewards. A late reward belongs to the round of its
    decision. Observed features shift the mean of every arm linearly, beside the state.

    With several groups the first plays the arm with the highest index and the others the arm with the highest expected reward.

    Only available arms are compared, worth a test or tried once more, and `patience` counts them. Until the scale of rewards is known the
    available arms take turns by the number of rounds chosen. It is known after as many rounds as arms are available, two at least, and
    once two rewards differ. A new arm is untried in every remembered state.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.
    covariates : int
        Number of observed features (hour, weekday, visitor), each of which shifts the reward of every arm by its own slope.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.
    low : float
        Lowest mean reward to expect.
    high : float
        Highest mean reward to expect; equal to `low` if both are to be learned.
    particles : int
        Hypotheses kept at most (N).
    states : int
        States that a library can hold (M); a further one replaces the rarest.
    floor : float
        Weight below which a particle survives by chance alone: lower is more accurate and slower.
    likeness : float
        Particles merge if their means differ by no more than this many standard deviations.
    optimism : float
        Bonus of an arm, in standard deviations of its mean in the believed state.
    testing : float
        Worth of telling particles apart.
    novelty : float
        Mass of states never seen, in entries, on top of the number of states entered once.
    stay_prior : float
        Pseudo-rounds in which the state stayed.
    change_prior : float
        Pseudo-rounds in which it changed.
    structure : float
        Prior odds that changes follow counted transitions rather than how often states occur; 0 to learn no transitions.
    levels : int
        Levels of lagged rewards per arm; 0 for no lag model.
    patience : int
        Rounds, per arm, for which an arm may go unplayed before it is tried once more.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.HiddenMarkov(states=5)
    >>> results = lb.simulate(world, ["state-library", "adasp-ucb"], horizon=5000, draws=8, repeats=1)
    >>> [row.label for row in results.summary()]
    ['state-library', 'adasp-ucb']
    """

    deterministic = True
    has_belief = True
    scale_free = True

    covariates: Annotated[int, AtLeast(0)] = 0
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    low: Annotated[float, Untuned(), InUnit(level=True)] = 0.0
    high: Annotated[float, Untuned(), InUnit(level=True)] = 0.0
    particles: Annotated[int, AtLeast(2), Untuned()] = 16
    states: Annotated[int, AtLeast(2), Untuned()] = 64
    floor: Annotated[float, Within(0, 1), Untuned()] = 0.003
    likeness: Annotated[float, AtLeast(0)] = 1.0
    optimism: Annotated[float, AtLeast(0)] = 2.0
    testing: Annotated[float, AtLeast(0)] = 0.35
    novelty: Annotated[float, Above(0)] = 1.0
    stay_prior: Annotated[float, Above(0)] = 29.0
    change_prior: Annotated[float, Above(0)] = 0.5
    structure: Annotated[float, AtLeast(0)] = 0.05
    levels: Annotated[int, AtLeast(0), Untuned()] = 32
    patience: Annotated[int, AtLeast(1)] = 150

    def check(self) -> None:
        """Refuse a range the wrong way round, and libraries that no memory holds."""
        if self.high < self.low:
            raise InvalidValueError("StateLibrary", "high", self.high, f"at least low, which is {self.low:g}")
        for name, size in (("noise", self.noise), ("high - low", self.high - self.low)):
            if size != 0.0 and not NARROW <= size <= WIDE:
                raise InvalidValueError("StateLibrary", name, size, f"0, or from {NARROW:g} to {WIDE:g}")
        cells = self.particles * self.states * (self.states + self.arms) + self.arms * self.arms * self.levels
        if cells > 50_000_000:
            raise InvalidValueError(
                "StateLibrary", "particles x states x (states + arms)", cells, "at most 50000000 numbers"
            )

    @property
    def width(self) -> int:
        """A uniform number for the pruning, the round, the observed features, and every arm's value by the library alone."""
        return FEATURES + self.covariates + self.arms

    @property
    def scratch(self) -> tuple[str, ...]:
        """Fields of the memory that are written in every round before they are read."""
        return ("effects", "branches", "heavy", "first_branch", "shared")

    def init(self) -> Memory:
        """Return the memory before the first round."""
        n, m, k, d, levels = self.particles, self.states, self.arms, self.covariates, self.levels
        room = n * (m + 2)
        made = Memory(
            core=np.zeros(1, Core),
            scale=np.zeros(1, Scale),
            noise=np.zeros(2, Noise),
            particles=np.zeros(n, Particle),
            states=np.zeros((n, m), State),
            means=np.zeros((n, m, k), Mean),
            moves=np.zeros((n, m, m), np.int32),
            slots=np.zeros(n, np.int64),
            regimes=np.zeros(m, Regime),
            regime_means=np.zeros((m, k), Mean),
            visits=np.zeros((n, VISITS), Visit),
            ended=np.zeros((n, AGES), np.int32),
            played=np.zeros(k, np.int64),
            plays=np.zeros(k, np.int64),
            claims=np.zeros(WAITING, Claim),
            trust=np.zeros(3, Trust),
            budget=np.zeros(1, Budget),
            pending=np.zeros(k, np.int64),
            waiting=np.zeros((WAITING, 2), np.int64),
            gaussians=np.zeros((3, CAP + 1), Gaussian),
            deviation=np.zeros(CAP + 1),
            lag=np.zeros(1, Lag),
            levels=np.zeros(k, np.int64),
            lag_arms=np.zeros(k, Mean),
            lag_levels=np.zeros((k, levels), Mean),
            lag_next=np.zeros((k, levels, k), Mean),
            history=np.zeros(HISTORY, Observation),
            features=np.zeros(d, Feature),
            slopes=np.zeros((k, d)),
            told_slopes=np.zeros((k, d)),
            moments=np.zeros((k, d, d)),
            products=np.zeros((k, d)),
            inverse=np.zeros((k, d, d)),
            regressed=np.zeros(k),
            cells=np.zeros((m, k), Cell),
            cell_features=np.zeros((m, k, d)),
            history_features=np.zeros((HISTORY, d)),
            last_features=np.zeros((2, d)),
            effects=np.zeros(k),
            branches=np.zeros(room, Branch),
            heavy=np.zeros(room),
            first_branch=np.zeros(n, np.int64),
            shared=np.zeros((m, m), np.int64),
        )
        for j in range(d):
            made.features[j].prior = SLOPES
        ranged = self.high > self.low
        start_noise(made.noise[0], self.noise if ranged else 0.0, self.high - self.low)
        start_noise(made.noise[1], 1.0, 0.0)
        if ranged:
            set_range(made.scale[0], self.low, self.high)
            begin(self, made)
            lag.reset(self, made)
        return made

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:
        """Play the arm with the highest index; all groups but the first play the arm with the highest value."""
        core = memory.core[0]
        choice.features[0] = uniform(random)
        core.asked += 1
        choice.features[1] = core.asked
        values = FEATURES + self.covariates
        for j in range(self.covariates):
            choice.features[FEATURES + j] = bounded(memory.features[j], context[j])
        for arm in range(self.arms):
            memory.effects[arm] = effect(self, memory.slopes[arm], memory.features, choice.features, FEATURES)
        choice.tags[PROBE_REASON] = 0
        if memory.noise[0].sd == 0.0:  # nothing is known, not even the scale: every arm in turn
            greedy = pick = nth_available(choice, (core.asked - 1) % available(choice))
            choice.tags[PROBE_REASON] = UNTRIED if available(choice) > 1 else 0
            for arm in range(self.arms):
                choice.features[values + arm] = np.nan
                choice.arm_scores[arm].value = choice.arm_scores[arm].index = choice.arm_scores[arm].std_error = np.nan
        else:
            stay = staying(self, memory.particles[core.best])
            expect(self, memory, 1.0 - hazard(self, memory, core.best, core.asked), choice)
            for arm in range(self.arms):
                choice.features[values + arm] = choice.arm_scores[arm].value - memory.effects[arm]
            greedy = highest_value(choice)
            hopeful = highest(choice)
            if core.live > 1:
                add_tests(self, memory, stay, greedy, choice)
            if memory.lag[0].blend < 1.0 and core.asked == core.told + 1:
                blend_lag(self, memory, choice)
                greedy = highest_value(choice)
            pick = highest(choice)
            preferred, usual = greedy, usual_arm(self, memory.plays, choice)
            doubted = preferred != usual and not trusted(memory)
            if doubted:
                pick = greedy = usual
            elif pick != greedy and restrained(memory):
                pick = greedy
            if pick != greedy:
                choice.tags[PROBE_REASON] = UNTRIED if pick == hopeful else RIVAL
            stale = stalest(self, memory, choice)
            if stale >= 0:
                core.forced = core.rounds
                pick = stale
                choice.tags[PROBE_REASON] = STALENESS
            claim(memory, choice, pick, preferred, usual, doubted)
        choice.arms[0] = pick
        for group in range(1, self.groups):
            choice.arms[group] = greedy
        memory.plays[pick] += 1
        await_rewards(self, memory, choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn noise and range, weigh the lag model, and advance all particles."""
        core = memory.core[0]
        core.rounds += 1
        number = int(choice.features[1])
        in_turn = number == core.asked == core.told + 1
        receive(self, memory, number)
        check(
            memory.claims,
            memory.trust,
            number,
            within_reach(memory.scale[0], memory.noise[0].sd, core.rounds, rewards[0]),
        )
        count_values(memory.scale[0], rewards[0])
        due = count_difference(self, memory, choice, rewards)
        remember(self, memory, choice, rewards)
        start = core.rounds
        latest = memory.history[(start - 1) % HISTORY]
        by_library = choice.features[FEATURES + self.covariates + latest.first]
        see(self, memory.features, choice.features, FEATURES)
        reward, other = latest.reward, latest.other
        reward -= effect(self, memory.slopes[latest.first], memory.features, choice.features, FEATURES)
        if latest.second >= 0:
            other -= effect(self, memory.slopes[latest.second], memory.features, choice.features, FEATURES)
        again = observe(self, memory, available(choice), latest.first, reward, latest.second, other, due)
        if again or (self.covariates > 0 and memory.noise[0].sd > 0.0 and outdated(self, memory)):
            start = max(1, start - HISTORY + 1)
            core.front = memory.history[(start - 1) % HISTORY].number - 1
            begin(self, memory)
            lag.reset(self, memory)
        elif memory.noise[0].sd == 0.0:
            return
        elif self.levels > 0 and memory.lag[0].arm >= 0 and in_turn and not math.isnan(by_library):
            lag.weigh(memory, latest.first, reward, by_library)
        for i in range(start, core.rounds + 1):
            seen = memory.history[(i - 1) % HISTORY]
            core.now = seen.number
            x = memory.history_features[(i - 1) % HISTORY]
            first, second, other = seen.first, seen.second, seen.other
            reward = seen.reward - effect(self, memory.slopes[first], memory.features, x, 0)
            if second >= 0:
                other -= effect(self, memory.slopes[second], memory.features, x, 0)
            advance(self, memory, first, reward, second, other, seen.u)
            seen.state = id_at(memory, seen.number)
            if self.levels > 0:
                lag.learn(memory, first, reward)
                if second >= 0:
                    lag.learn(memory, second, other)
                    first, reward = second, other
                lag.move(self, memory, first, reward)
        show(self, memory)
        if self.covariates > 0:
            learn_slopes(self, memory)

    def grow(self, memory: Memory) -> Memory:
        """Return the memory with one arm more, of which nothing is known in any state."""
        made: Memory = corner(self._replace(arms=self.arms + 1).init(), memory)
        for rows in (made.means[:, :, -1:], made.lag_arms[-1:]):
            rows["average"] = memory.scale[0].centre
        return made

    def belief(self, memory: Memory) -> Belief:
        """Return what the policy believes, in a form to read.

        Examples
        --------
        >>> import latentbandits as lb
        >>> agent = lb.Agent("state-library", seed=1)
        >>> for t in range(200):  # arm 0 pays 0.8 for 100 rounds, then arm 1 does
        ...     decision = agent.ask()
        ...     _ = agent.tell(decision, 0.8 if decision.arm == t // 100 else 0.3 + 0.001 * (t % 5))
        >>> belief = agent.belief
        >>> belief.changed, len(belief.states), belief.current
        (101, 2, 2)
        >>> [round(mean, 2) for mean in belief.present.means]
        [0.3, 0.8]

        With observed features, how much the reward of every arm rises with each of them:

        >>> import random
        >>> chance = random.Random(0)
        >>> agent = lb.Agent(lb.policies.StateLibrary(arms=2, covariates=1), seed=1)
        >>> for _ in range(300):  # what arm 1 pays rises by 0.5 per unit
        ...     feature = chance.random()
        ...     decision = agent.ask([feature])
        ...     _ = agent.tell(decision, chance.gauss(0.5 * feature if decision.arm else 0.2, 0.02))
        >>> [[round(slope, 1) for slope in slopes] for slopes in agent.belief.slopes]
        [[0.0], [0.5]]
        """
        return belief(self, memory)
