"""StateLibrary: its settings, and how it chooses and learns."""

import math
from typing import Annotated

import numpy as np

from latentbandits.beliefs import Belief
from latentbandits.compiled import kernel
from latentbandits.memories import empty, parts
from latentbandits.noise import start_noise
from latentbandits.policies.arm_library.policy import pick as pick_by_levels
from latentbandits.policies.arm_library.policy import score_arms
from latentbandits.policies.arms import available, highest, highest_value, nth_available
from latentbandits.policies.state_library import constants, evidence
from latentbandits.policies.state_library.amounts import count_rewards, is_mistake, pays_amounts, was_mistaken
from latentbandits.policies.state_library.belief import belief
from latentbandits.policies.state_library.correctors import lag, staleness, trust
from latentbandits.policies.state_library.covariates import bounded, count_features, effect, learn_slopes, outdated
from latentbandits.policies.state_library.emissions import emission_of, set_gaussians
from latentbandits.policies.state_library.filter import step
from latentbandits.policies.state_library.history import await_rewards, outcome_of, receive, recount, remember
from latentbandits.policies.state_library.index import add_tests, expect
from latentbandits.policies.state_library.library import begin, id_at
from latentbandits.policies.state_library.memory import FEATURES, SCRATCH, Memory, Own
from latentbandits.policies.state_library.outlook import best_of, foresee, suppose_learned
from latentbandits.policies.state_library.own import begin as begin_own
from latentbandits.policies.state_library.own import learn_own, offer, withdraw
from latentbandits.policies.state_library.regimes import show
from latentbandits.policies.state_library.standardise import (
    count_difference,
    forget_mistake,
    observe,
    set_range,
    within_reach,
)
from latentbandits.policies.state_library.transitions import hazard, staying
from latentbandits.protocols import PROBE_REASON, RIVAL, STALENESS, UNTRIED, Choice, PlainPolicy, Waiting, corner
from latentbandits.random import Stream, uniform
from latentbandits.settings import AtLeast, InUnit, InvalidValueError, Untuned, Within


@kernel
def restart(policy: "StateLibrary", memory: Memory) -> None:
    """Let the library and the lag model begin again, with the present range and noise."""
    core, scale, library = memory.core[0], memory.standard.scale[0], memory.library
    scale.noise_at_start = memory.standard.noise[0].sd
    set_gaussians(memory.standard, policy.groups)
    # Rewards may come in any order: the first state has been there from the first round, unless older ones are forgotten
    since = library.core[0].front if core.rounds > constants.HISTORY else 0
    begin(
        library, scale.centre, since, policy.covariates == 0
    )  # features that differ from round to round look like fast switching
    memory.regimes.core[0].shown = 0
    lag.reset(memory.lag, scale)
    staleness.reset(memory.staleness)
    if policy.own:
        begin_own(memory.own)
    evidence.reset(memory.evidence, scale.centre)


@kernel
def learn_round(policy: "StateLibrary", memory: Memory, i: int) -> None:
    """Let the particles and the lag model learn the i-th round."""
    library, standard, seen = memory.library, memory.standard, memory.history.rounds[(i - 1) % constants.HISTORY]
    outcome = outcome_of(memory.history, memory.covariates, i, policy.groups)
    library.core[0].now = seen.number
    emission, look, rival = emission_of(policy, standard), False, 0.0
    if policy.staleness:
        look = staleness.is_look(memory.staleness, outcome, seen.number, library.core[0].front)
        if look:
            stay = staying(library.particles[library.core[0].best])
            rival = staleness.predicted(memory.staleness, library, emission, outcome, stay)
    evidence.weigh(memory.evidence, library, memory.lag, standard, emission, outcome)
    log_evidence = step(policy, library, standard.deviation, emission, outcome, seen.u)
    if policy.staleness:
        if look:
            staleness.weigh(memory.staleness, rival - log_evidence)
        staleness.note_played(memory.staleness, library, outcome, seen.number)
    if policy.own:
        sd, kind = standard.noise[0].sd, emission.kind
        learn_own(memory.own, outcome, seen.number, policy.groups, sd, kind, log_evidence)
    seen.state = id_at(library, seen.number)
    if memory.lag.levels.shape[1] > 0:
        lag.learn(memory.lag, outcome, standard.noise[0].sd)


@kernel
def take_turns(asked: int, choice: Choice) -> int:
    """Return the available arm whose turn it is, as long as nothing is known, not even the scale of rewards."""
    number = available(choice)
    choice.tags[PROBE_REASON] = UNTRIED if number > 1 else 0
    for arm in range(len(choice.arm_scores)):
        choice.arm_scores[arm].value = choice.arm_scores[arm].index = choice.arm_scores[arm].std_error = np.nan
    return nth_available(choice, (asked - 1) % number)


@kernel
def compare(policy: "StateLibrary", memory: Memory, values: int, choice: Choice) -> tuple[int, int]:
    """Score all arms and return those to play: the one with the highest index and the one with the highest value, corrected.

    The values by the library alone, without the effects of features, are written into the choice's features from `values` on.
    """
    core, library, standard, effects = memory.core[0], memory.library, memory.standard, memory.covariates.effects
    ahead = memory.outlook.core[0].number > 0
    if not ahead:
        suppose_learned(memory.outlook, library)
    slot = best_of(memory.outlook).slot
    best = library.particles[slot]
    stay = staying(best)
    changed = 1.0 - stay if ahead else hazard(best, library.ended[slot], library.core[0].front, core.asked)
    expect(memory, 1.0 - changed, choice)
    for arm in range(policy.arms):
        choice.features[values + arm] = choice.arm_scores[arm].value - effects[arm]
    preferred = highest_value(choice)
    hopeful = highest(choice)
    if memory.outlook.core[0].number > 1:
        add_tests(memory, stay, preferred, choice)
    if memory.lag.core[0].blend < 1.0 and core.asked == core.told + 1:
        lag.blend_in(memory.lag, effects, choice)
        preferred = highest_value(choice)
    pick, greedy, usual = highest(choice), preferred, preferred
    if policy.trust:
        usual = trust.usual_arm(memory.trust.plays, choice)
        pick, greedy = trust.correct(memory.trust, core.asked, standard, pick, preferred, usual)
    if pick != greedy:
        choice.tags[PROBE_REASON] = UNTRIED if pick == hopeful else RIVAL
    if policy.staleness and core.rounds > 0:
        stale = staleness.overdue(memory.staleness, library, standard.scale[0], stay, preferred, core.asked, choice)
        if stale >= 0:
            pick = stale
            choice.tags[PROBE_REASON] = STALENESS
        memory.staleness.arms[pick].loss = memory.staleness.arms[greedy].loss = 0.0
    if policy.trust:
        trust.claim(memory.trust, core.asked, choice, pick, preferred, usual, greedy != preferred)
    return pick, greedy


@kernel
def compare_own(policy: "StateLibrary", memory: Memory, values: int, choice: Choice) -> tuple[int, int]:
    """Score all arms by their own levels and return those to play; the library learns as if it had been offered the first alone."""
    own, effects = memory.own, memory.covariates.effects
    score_arms(own.levels, memory.standard.noise[0].sd, choice)
    for arm in range(policy.arms):
        choice.arm_scores[arm].value += effects[arm]
        choice.arm_scores[arm].index += effects[arm]
    pick = pick_by_levels(own.levels, choice)
    reason = choice.tags[PROBE_REASON]
    greedy = pick if reason == UNTRIED else highest_value(choice)
    offer(own, pick, choice)
    compare(policy, memory, values, choice)
    withdraw(own, choice)
    choice.tags[PROBE_REASON] = reason
    return pick, greedy


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

    Only available arms are compared, worth a test or looked at. Until the scale of rewards is
    known the available arms take turns by the number of rounds chosen. It is known after as many rounds as arms are available, two at
    least, and once two rewards differ. A new arm is untried in every remembered state.

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
        Lowest mean reward to expect; means of arms that are clearly outside widen the range.
    high : float
        Highest mean reward to expect; equal to `low` if both are to be learned.
    particles : int
        Hypotheses kept at most (N).
    states : int
        States that a library can hold (M); a further one replaces the rarest.
    floor : float
        Weight below which a particle survives by chance alone: lower is more accurate and slower.
    levels : int
        Levels of lagged rewards per arm; 0 for no lag model. With more than 181 arms fewer are kept, so that the memory stays below 34 MB,
        and with more than 1,024 none: no arm would be tried often enough after every level of every other.
    trust : bool
        Whether the arm played most is played instead where the library's preferences for others prove untrue.
    staleness : bool
        Whether an arm is looked at once not having looked is likely to have cost more than the look.
    own : bool
        Whether every arm may also have regimes of its own; false for one hidden state of all arms, whatever the rewards say.

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
    levels: Annotated[int, AtLeast(0), Untuned()] = 32
    trust: Annotated[bool, Untuned()] = True
    staleness: Annotated[bool, Untuned()] = True
    own: Annotated[bool, Untuned()] = True

    def check(self) -> None:
        """Refuse a range the wrong way round, and libraries that no memory holds."""
        if self.high < self.low:
            raise InvalidValueError("StateLibrary", "high", self.high, f"at least low, which is {self.low:g}")
        for name, size in (("noise", self.noise), ("high - low", self.high - self.low)):
            if size != 0.0 and not constants.NARROW <= size <= constants.WIDE:
                raise InvalidValueError(
                    "StateLibrary", name, size, f"0, or from {constants.NARROW:g} to {constants.WIDE:g}"
                )
        cells = self.particles * self.states * (self.states + self.arms)
        if cells > 50_000_000:
            raise InvalidValueError(
                "StateLibrary",
                "particles x states x (states + arms)",
                cells,
                "at most 50000000 numbers: lower states or particles",
            )

    @property
    def width(self) -> int:
        """A uniform number for the pruning, the round, the observed features, and every arm's value by the library alone."""
        return FEATURES + self.covariates + self.arms

    @property
    def scratch(self) -> tuple[str, ...]:
        """Fields of the memory that are written in every round before they are read."""
        return SCRATCH

    def init(self) -> Memory:
        """Return the memory before the first round."""
        ranged = self.high > self.low
        levels = min(self.levels, constants.LAG_CELLS // self.arms**2)
        memory: Memory = empty(
            Memory, {**self._asdict(), "levels": levels, "branches": self.particles * (self.states + 2)}
        )
        memory = memory._replace(own=empty(Own, {"arms": self.arms if self.own else 0}))
        memory.covariates.features["prior"] = constants.SLOPE_VARIANCE
        start_noise(memory.standard.noise[0], self.noise if ranged else 0.0, self.high - self.low)
        start_noise(memory.standard.noise[1], 1.0, 0.0)
        if ranged:
            set_range(memory.standard.scale[0], self.low, self.high)
            restart(self, memory)
        return memory

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:
        """Play the arm with the highest index; all groups but the first play the arm with the highest value."""
        core, covariates = memory.core[0], memory.covariates
        core.asked += 1
        clock, asked = memory.own.levels.clock[0], memory.own.levels.asked
        clock.now = core.asked
        choice.features[0] = uniform(random)
        choice.features[1] = core.asked
        values = FEATURES + self.covariates
        for j in range(self.covariates):
            choice.features[FEATURES + j] = bounded(covariates.features[j], context[j])
        for arm in range(self.arms):
            covariates.effects[arm] = effect(covariates, arm, choice.features[FEATURES:])
            choice.features[values + arm] = np.nan
        choice.tags[PROBE_REASON] = 0
        if memory.standard.noise[0].sd == 0.0:
            pick = greedy = take_turns(core.asked, choice)
        elif self.own and memory.own.core[0].odds > 0.0:
            pick, greedy = compare_own(self, memory, values, choice)
        else:
            pick, greedy = compare(self, memory, values, choice)
        choice.arms[0] = pick
        for group in range(1, self.groups):
            choice.arms[group] = greedy
        memory.trust.plays[pick] += 1
        memory.outlook.core[0].number = 0  # what is open is another matter next time
        if self.own:
            asked[pick] = asked[greedy] = core.asked
        await_rewards(memory.history, core, choice)

    @property
    def peeks(self) -> bool:
        """Whether open decisions may be looked at: not with observed features, whose effects on them are not known."""
        return self.covariates == 0

    def peek(self, memory: Memory, waiting: Waiting) -> None:
        """Let the next choice know which decisions have been clicked, and which have not yet, at their age."""
        foresee(self, memory, waiting)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn noise and range, weigh the lag model, and advance all particles; begin again if noise, range or slopes prove wrong."""
        core, history, standard, covariates = memory.core[0], memory.history, memory.standard, memory.covariates
        number = int(choice.features[1])
        in_turn = number == core.asked == core.told + 1
        receive(history, core, number, self.groups - 1)
        clock = memory.own.levels.clock[0]
        clock.longest = max(clock.longest, core.asked - number)
        if is_mistake(standard, choice, rewards):  # it says as much as a reward that was lost
            return
        mistaken = was_mistaken(standard, rewards) if self.high == self.low else 0.0
        if mistaken > 0.0:
            forget_mistake(standard, history.rounds, core.rounds, mistaken)
            memory.library.core[0].live = 0  # they were on its scale
        core.rounds += 1
        trust.check(memory.trust, number, within_reach(standard, core.rounds, rewards[0]))
        known, amounts = standard.usual[0].known, pays_amounts(standard)
        count_rewards(standard, choice, rewards)
        due = count_difference(self, standard, covariates, choice, rewards)
        remember(history, standard, core.rounds, choice, rewards)
        if standard.usual[0].known != known:
            recount(history, standard, core.rounds, self.groups - 1)
        count_features(covariates.features, choice.features[FEATURES:])
        outcome = outcome_of(history, covariates, core.rounds, self.groups)
        by_library = choice.features[FEATURES + self.covariates + outcome.first]
        again, absurd = observe(self, memory, available(choice), outcome, due)
        if absurd or mistaken > 0.0:
            trust.forget(memory.trust)
        again = again or (core.rounds <= constants.HISTORY and pays_amounts(standard) != amounts)
        start, sd, scale = core.rounds, standard.noise[0].sd, standard.scale[0]
        if sd == 0.0:
            return
        if again or (self.covariates > 0 and outdated(core, covariates, sd)):
            start = max(1, core.rounds - constants.HISTORY + 1)
            memory.library.core[0].front = history.rounds[(start - 1) % constants.HISTORY].number - 1
            restart(self, memory)
        elif memory.lag.levels.shape[1] > 0 and memory.lag.core[0].arm >= 0 and in_turn and not math.isnan(by_library):
            lag.weigh(memory.lag, scale.high - scale.low, outcome.first, outcome.reward, by_library)
        for i in range(start, core.rounds + 1):
            learn_round(self, memory, i)
        show(memory.library, memory.regimes, standard.deviation, history.rounds, core.rounds)
        if self.covariates > 0:
            learn_slopes(memory)

    def grow(self, memory: Memory) -> Memory:
        """Return the memory with one arm more, of which nothing is known in any state."""
        larger = self.larger().init()
        if larger.lag.levels.shape[1] < memory.lag.levels.shape[1]:  # a table of other levels begins anew
            lag.reset(larger.lag, memory.standard.scale[0])
            memory = memory._replace(lag=larger.lag)
        corner(parts(larger).values(), parts(memory).values())
        for rows in (larger.library.means[:, :, -1:], larger.lag.arms[-1:], larger.evidence.means[:, -1:]):
            rows["average"] = memory.standard.scale[0].centre
        return larger

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
