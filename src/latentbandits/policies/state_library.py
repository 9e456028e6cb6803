"""StateLibrary: remember every state that was met, keep several stories about the present one, and test those that would matter."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.markers import Untuned
from latentbandits.noise import BINS, TALLIES, count_pair, estimate
from latentbandits.policies import lag_table
from latentbandits.policies.stories import (
    ABOUT,
    BEST,
    BLEND,
    BY_ENTRY,
    BY_MOVE,
    CAP,
    CENTRE,
    CHANGED,
    FORCED,
    HIGH,
    HISTORY,
    LAG_ARM,
    LAG_ERROR,
    LAST_ARM,
    LAST_REWARD,
    LIVE,
    LOW,
    NOISE,
    NOISE_AT_START,
    NOVEL,
    NOW,
    ROUND,
    SPREAD,
    TALE,
    Memory,
    absorb,
    begin,
    set_tables,
    staying,
)
from latentbandits.protocols import RIVAL, STALENESS, UNTRIED, WHY, Choice
from latentbandits.random import Stream, uniform
from latentbandits.settings import Above, AtLeast, Within, checked, refuse

_NOISE_SHARE, _NOISE_PAIRS = (
    0.1,
    4.0,
)  # before any pair of rewards the noise is this share of the range, and counts as 4 pairs
_UNIFORM = 0.29  # standard deviation of a uniform number on [0, 1]
_OUTSIDE = 4.2  # rewards farther outside the range than this, in units of the noise, widen it
_WIDEN = 0.25
_REACH = 30.0  # rewards farther outside than this, in widths of the range, count as if they were there: one absurd reward cannot spoil all
_RARE = 0.002  # below this probability of a change, what may follow it is left out of an arm's value
# Numbers whose squares can be divided by: a narrower range is none, and noise is at least this share of it
_NARROW, _WIDE, _LEAST_NOISE = 1e-100, 1e50, 1e-12
_NET = 0.1  # share of all rounds after which an arm that was never played since is tried again, per arm


class Remembered(NamedTuple):
    """One state of the library.

    Attributes
    ----------
    probability : that this is the present state
    means : mean reward of every arm; nan where it was never tried in this state
    counts : rewards behind each mean, at most 512
    visits : how often the state was entered
    """

    probability: float
    means: tuple[float, ...]
    counts: tuple[int, ...]
    visits: int


class Belief(NamedTuple):
    """What the policy believes; the library is that of the heaviest story.

    Attributes
    ----------
    states : the remembered states
    current : the most probable one, a position in `states`
    elsewhere : probability that the present state is none of them
    stay, dwell : probability that the state stays for another round, and the mean number of rounds between two changes
    noise : standard deviation of one unit's reward
    low, high : range in which means are expected
    changed : round of the last change, 0 if there was none
    sure : probability that the last change was then, give or take two rounds
    stories : number of stories that are alive
    """

    states: tuple[Remembered, ...]
    current: int
    elsewhere: float
    stay: float
    dwell: float
    noise: float
    low: float
    high: float
    changed: int
    sure: float
    stories: int


@kernel
def set_range(memory: Memory, low: float, high: float) -> None:
    """Expect means in a range."""
    about = memory.about
    about[LOW] = low
    about[HIGH] = high
    about[CENTRE] = 0.5 * (low + high)
    about[SPREAD] = _UNIFORM * (high - low)


@kernel
def learned_noise(memory: Memory) -> float:
    """Return the noise that the differences of rewards suggest."""
    width = memory.about[HIGH] - memory.about[LOW]
    return float(max(estimate(memory.bins, memory.tally, _NOISE_SHARE * width, _NOISE_PAIRS), _LEAST_NOISE * width))


@kernel
def observe(policy: Any, memory: Memory, reward: float, second: int, other: float, due: bool) -> bool:
    """Learn range and noise from a reward (or two); returns whether they turned out so different that all is to be told anew."""
    about = memory.about
    low, high = reward, reward
    if second >= 0:
        low, high = min(low, other), max(high, other)
    if about[NOISE] == 0.0:  # nothing is known until every arm was tried and two rewards differ
        if about[ROUND] > 1:
            low, high = min(low, about[LOW]), max(high, about[HIGH])
        about[LOW], about[HIGH] = low, high
        if about[ROUND] < policy.arms or high - low < _NARROW:
            return False
        # The range of n uniform numbers is (n - 1) / (n + 1) of what they were drawn from
        beyond = (high - low) / (policy.arms - 1)
        set_range(memory, low - beyond, high + beyond)
        about[NOISE] = policy.noise if policy.noise > 0.0 else learned_noise(memory)
        return True
    anew = False
    margin = _OUTSIDE * about[NOISE]
    if policy.high == policy.low and (high - margin > about[HIGH] or low + margin < about[LOW]):
        if high > about[HIGH]:
            set_range(memory, about[LOW], high + _WIDEN * (high - about[LOW]))
        if low < about[LOW]:
            set_range(memory, low - _WIDEN * (about[HIGH] - low), about[HIGH])
        anew = True
    if due:
        noise = learned_noise(memory)
        if noise > 1.4 * about[NOISE_AT_START] or noise < 0.25 * about[NOISE_AT_START]:
            about[NOISE] = noise
            anew = True
        elif abs(noise - about[NOISE]) > 0.03 * about[NOISE]:
            about[NOISE] = noise
            set_tables(policy, memory)
    return anew


@kernel
def expect(policy: Any, memory: Memory, stay: float) -> None:
    """Write every arm's expected reward to `value`, and that plus the optimism to `upper`."""
    about, value, upper = memory.about, memory.value, memory.upper
    if 1.0 - stay < _RARE:
        stay = 1.0
    for arm in range(policy.arms):
        value[arm] = 0.0
        upper[arm] = 0.0
    for i in range(int(about[LIVE])):
        slot = memory.slots[i]
        z = memory.here[slot]
        weight = memory.weight[slot] * stay
        for arm in range(policy.arms):
            value[arm] += weight * memory.mean[slot, z, arm]
            upper[arm] += weight * memory.deviation[memory.counts[slot, z, arm]]
    if stay < 1.0:
        best = int(about[BEST])
        z = memory.here[best]
        by_entry, by_move = memory.tale[best, BY_ENTRY], memory.tale[best, BY_MOVE]
        for k in range(memory.known[best]):
            if k != z:
                chance = (1.0 - stay) * (by_entry * memory.entered[best, k] + by_move * memory.moves[best, z, k])
                for arm in range(policy.arms):
                    value[arm] += chance * memory.mean[best, k, arm]
        for arm in range(policy.arms):
            value[arm] += (1.0 - stay) * memory.tale[best, NOVEL] * about[CENTRE]
    for arm in range(policy.arms):
        upper[arm] = value[arm] + policy.optimism * upper[arm]


@kernel
def add_tests(policy: Any, memory: Memory, stay: float, greedy: int) -> None:
    """Add to `upper` what each arm is worth as a test between stories.

    If a story is right, playing on costs ``gain`` per round; an arm on which it differs from the heaviest story by much more than the noise
    settles it at once. The greedy arm is such a test too, and it is free: where it tells the stories apart, no other is needed.
    """
    about, upper = memory.about, memory.upper
    best = int(about[BEST])
    z = memory.here[best]
    noise = 4.0 * about[NOISE] * about[NOISE]
    worth = policy.testing * math.sqrt(memory.known[best] / (1.0 - stay))
    for i in range(int(about[LIVE])):
        slot = memory.slots[i]
        here = memory.here[slot]
        gain = 0.0
        for arm in range(policy.arms):
            gain = max(gain, memory.mean[slot, here, arm] - memory.mean[slot, here, greedy])
        if gain > 0.0:
            gain *= worth * memory.weight[slot]
            for arm in range(policy.arms):
                far = memory.mean[slot, here, arm] - memory.mean[best, z, arm]
                deviation = memory.deviation[memory.counts[slot, here, arm]]
                square = far * far + deviation * deviation
                upper[arm] += gain * square / (square + noise)


@kernel
def highest(values: np.ndarray) -> int:
    """Return the position of the highest value, the first of equals."""
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    return best


@checked
class StateLibrary(NamedTuple):
    """Remember every state that was met, and play what is best in the present one; told nothing.

    A library holds the mean reward of every arm in every state met so far. Which state we are in now is uncertain, so up to `stories`
    hypotheses are kept, each with a library of its own, weighed by Bayes' rule: a Rao-Blackwellised particle filter for a sticky hidden
    Markov chain with any number of states. The arm with the highest index is played: its expected reward, plus a bonus where it is untried
    in the believed state, plus its worth as a test between stories that disagree on what to do. A table of lagged rewards is blended in
    where it foretells rewards better. Noise, range of the means, stay probability, number of states and transitions are all learned, and
    decisions do not depend on the unit or the zero of rewards.

    With several units the first plays the arm with the highest index and the others the arm with the highest expected reward.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round.
    noise : float
        Standard deviation of one unit's reward; 0 if it is to be learned.
    low : float
        Lowest mean reward to expect.
    high : float
        Highest mean reward to expect; equal to `low` if both are to be learned.
    stories : int
        Hypotheses kept at most (N).
    states : int
        States that a library can hold (M); a further one replaces the rarest.
    floor : float
        Weight below which a story survives by chance alone: lower is more accurate and slower.
    likeness : float
        Stories merge if their means differ by no more than this many standard deviations.
    optimism : float
        Bonus of an arm, in standard deviations of its mean in the believed state.
    testing : float
        Worth of telling stories apart.
    novelty : float
        Mass of states never seen, in entries, on top of the number of states entered once.
    stay_prior : float
        Imaginary rounds in which the state stayed.
    change_prior : float
        Imaginary rounds in which it changed.
    structure : float
        Prior odds that changes follow counted transitions rather than how often states occur; 0 to learn no transitions.
    levels : int
        Levels of lagged rewards per arm; 0 for no table of lagged rewards.
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

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    noise: Annotated[float, AtLeast(0), Untuned()] = 0.0
    low: Annotated[float, Untuned()] = 0.0
    high: Annotated[float, Untuned()] = 0.0
    stories: Annotated[int, AtLeast(2), Untuned()] = 16
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
            raise refuse("StateLibrary", "high", self.high, f"at least low, which is {self.low:g}")
        for name, size in (("noise", self.noise), ("high - low", self.high - self.low)):
            if size != 0.0 and not _NARROW <= size <= _WIDE:
                raise refuse("StateLibrary", name, size, f"0, or from {_NARROW:g} to {_WIDE:g}")
        cells = self.stories * self.states * (self.states + self.arms) + self.arms * self.arms * self.levels
        if cells > 50_000_000:
            raise refuse("StateLibrary", "stories x states x (states + arms)", cells, "at most 50000000 numbers")

    @property
    def width(self) -> int:
        """A uniform number for the pruning, and every arm's value by the library alone."""
        return 1 + self.arms

    def init(self) -> Memory:
        """Return the memory before the first round."""
        n, m, k = self.stories, self.states, self.arms
        room = n * (m + 1)
        made = Memory(
            weight=np.zeros(n),
            here=np.zeros(n, np.int64),
            known=np.zeros(n, np.int64),
            lineage=np.zeros(n, np.int64),
            tale=np.zeros((n, TALE)),
            mean=np.zeros((n, m, k)),
            counts=np.zeros((n, m, k), np.int64),
            entered=np.zeros((n, m)),
            left=np.zeros((n, m)),
            moves=np.zeros((n, m, m), np.int32),
            slots=np.zeros(n, np.int64),
            about=np.zeros(ABOUT),
            played=np.zeros(k),
            precision=np.zeros((3, CAP + 1)),
            height=np.zeros((3, CAP + 1)),
            gain=np.zeros((3, CAP + 1)),
            deviation=np.zeros(CAP + 1),
            parent=np.zeros(room, np.int64),
            to=np.zeros(room, np.int64),
            chance=np.zeros(room),
            above=np.zeros(room),
            place=np.zeros(room, np.int64),
            heir=np.zeros(n, np.int64),
            value=np.zeros(k),
            upper=np.zeros(k),
            bins=np.zeros(BINS),
            tally=np.zeros(TALLIES),
            level=np.zeros((k, self.levels)),
            level_count=np.zeros((k, self.levels)),
            levels=np.zeros(k, np.int64),
            next_mean=np.zeros((k, self.levels, k)),
            next_count=np.zeros((k, self.levels, k)),
            arm_mean=np.zeros(k),
            arm_count=np.zeros(k),
            told_arms=np.zeros((HISTORY, 2), np.int64),
            told=np.zeros((HISTORY, 3)),
        )
        made.about[LAST_ARM] = -1
        if self.high > self.low:
            set_range(made, self.low, self.high)
            made.about[NOISE] = self.noise if self.noise > 0.0 else _NOISE_SHARE * (self.high - self.low)
            begin(self, made)
            lag_table.reset(self, made)
        return made

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm with the highest index; all units but the first play the arm with the highest value."""
        about = memory.about
        choice.features[0] = uniform(random)
        choice.note[WHY] = 0
        if about[NOISE] == 0.0:  # nothing is known, not even the scale: every arm in turn
            greedy = pick = int(about[ROUND]) % self.arms
            choice.note[WHY] = UNTRIED
            for arm in range(self.arms):
                choice.features[1 + arm] = np.nan
        else:
            stay = staying(self, memory, int(about[BEST]))
            expect(self, memory, stay)
            for arm in range(self.arms):
                choice.features[1 + arm] = memory.value[arm]
            greedy = highest(memory.value)
            hopeful = highest(memory.upper)
            if about[LIVE] > 1:
                add_tests(self, memory, stay, greedy)
            blend = about[BLEND]
            if blend < 1.0:
                for arm in range(self.arms):
                    lagged = lag_table.expected(memory, arm)
                    doubt = math.sqrt(about[LAG_ERROR] / (lag_table.evidence(memory, arm) + lag_table.PRIOR))
                    memory.value[arm] = blend * memory.value[arm] + (1.0 - blend) * lagged
                    memory.upper[arm] = blend * memory.upper[arm] + (1.0 - blend) * (lagged + doubt)
                greedy = highest(memory.value)
            pick = highest(memory.upper)
            if pick != greedy:
                choice.note[WHY] = UNTRIED if pick == hopeful else RIVAL
            oldest = 0
            for arm in range(1, self.arms):
                if memory.played[arm] < memory.played[oldest]:
                    oldest = arm
            limit = self.arms * max(float(self.patience), _NET * about[ROUND])
            if about[ROUND] - max(memory.played[oldest], about[FORCED]) > limit:
                about[FORCED] = about[ROUND]
                pick = oldest
                choice.note[WHY] = STALENESS
        choice.arms[0] = pick
        for unit in range(1, self.units):
            choice.arms[unit] = greedy

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn noise and range, weigh the table of lagged rewards, and let all stories go on."""
        about = memory.about
        about[ROUND] += 1
        first, second = choice.arms[0], -1
        reward, other = rewards[0], 0.0
        due = False
        memory.played[first] = about[ROUND]
        if self.units > 1:
            for unit in range(1, self.units):
                other += rewards[unit]
            if choice.arms[1] == first:
                due = self.noise == 0.0 and count_pair(memory.bins, memory.tally, rewards[0] - rewards[1])
                reward = (reward + other) / self.units
            else:
                second = choice.arms[1]
                other /= self.units - 1
                memory.played[second] = about[ROUND]
        elif self.noise == 0.0:
            due = about[LAST_ARM] == first and count_pair(memory.bins, memory.tally, reward - about[LAST_REWARD])
            about[LAST_ARM] = first
            about[LAST_REWARD] = reward
        if about[NOISE] > 0.0:
            reach = _REACH * (about[HIGH] - about[LOW])
            reward = min(max(reward, about[LOW] - reach), about[HIGH] + reach)
            other = min(max(other, about[LOW] - reach), about[HIGH] + reach)
        at = (int(about[ROUND]) - 1) % HISTORY
        memory.told_arms[at, 0] = first
        memory.told_arms[at, 1] = second
        memory.told[at, 0] = reward
        memory.told[at, 1] = other
        memory.told[at, 2] = choice.features[0]

        start = int(about[ROUND])
        if observe(self, memory, reward, second, other, due):
            start = max(1, start - HISTORY + 1)
            begin(self, memory)
            lag_table.reset(self, memory)
        elif about[NOISE] == 0.0:
            return
        elif self.levels > 0 and about[LAG_ARM] >= 0 and not math.isnan(choice.features[1 + first]):
            lag_table.weigh(memory, first, reward, choice.features[1 + first])
        for now in range(start, int(about[ROUND]) + 1):
            about[NOW] = now
            at = (now - 1) % HISTORY
            first, second = memory.told_arms[at, 0], memory.told_arms[at, 1]
            reward, other = memory.told[at, 0], memory.told[at, 1]
            absorb(self, memory, first, reward, second, other, memory.told[at, 2])
            if self.levels > 0:
                lag_table.learn(memory, first, reward)
                if second >= 0:
                    lag_table.learn(memory, second, other)
                    lag_table.move(self, memory, second, other)
                else:
                    lag_table.move(self, memory, first, reward)

    def belief(self, memory: Memory) -> Belief:
        """Return what the policy believes, for people to read.

        Examples
        --------
        >>> import latentbandits as lb
        >>> agent = lb.Agent("state-library", seed=1)
        >>> for t in range(200):  # arm 0 pays 0.8 for 100 rounds, then arm 1 does
        ...     decision = agent.ask()
        ...     agent.tell(decision, 0.8 if decision.arm == t // 100 else 0.3 + 0.001 * (t % 5))
        >>> belief = agent.belief
        >>> belief.changed, len(belief.states), belief.current
        (101, 2, 1)
        >>> [round(mean, 2) for mean in belief.states[belief.current].means]
        [0.3, 0.8]
        """
        about = memory.about
        live = [int(slot) for slot in memory.slots[: int(about[LIVE])]]
        if not live:
            return Belief((), 0, 1.0, 1.0, math.inf, 0.0, float(about[LOW]), float(about[HIGH]), 0, 0.0, 0)
        best = int(about[BEST])
        known = int(memory.known[best])
        probability = np.zeros(known)
        for slot in live:
            k = int(memory.here[slot])
            n = np.maximum(memory.counts[slot, k], memory.counts[best, :known])
            far = np.abs(memory.mean[slot, k] - memory.mean[best, :known]) - 3.0 * memory.deviation[n]
            # The same state of another library: both have tried an arm, and no arm's means are clearly apart
            shared = ((memory.counts[slot, k] > 0) & (memory.counts[best, :known] > 0)).any(axis=1)
            same = np.flatnonzero(shared & (far <= 0).all(axis=1))
            if memory.lineage[slot] == memory.lineage[best]:
                probability[k] += memory.weight[slot]
            elif len(same):
                probability[same[np.argmin(far[same].sum(axis=1))]] += memory.weight[slot]
        stay = float(staying(self, memory, best))
        changed = memory.tale[best, CHANGED]
        sure = sum(float(memory.weight[slot]) for slot in live if abs(memory.tale[slot, CHANGED] - changed) <= 2)
        states = tuple(
            Remembered(
                float(probability[k]),
                tuple(
                    float(mean) if count else math.nan
                    for mean, count in zip(memory.mean[best, k], memory.counts[best, k], strict=True)
                ),
                tuple(int(count) for count in memory.counts[best, k]),
                int(memory.entered[best, k]),
            )
            for k in range(known)
        )
        return Belief(
            states=states,
            current=int(np.argmax(probability)),
            elsewhere=max(0.0, 1.0 - float(probability.sum())),
            stay=stay,
            dwell=1.0 / (1.0 - stay),
            noise=float(about[NOISE]),
            low=float(about[LOW]),
            high=float(about[HIGH]),
            changed=int(changed),
            sure=min(sure, 1.0),
            stories=len(live),
        )
