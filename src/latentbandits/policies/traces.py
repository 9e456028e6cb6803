"""The paper's family: one linear learner that reads the hidden state from the traces it leaves."""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple, Self

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.linear import enlarge, predict, reset, update
from latentbandits.noise import fresh_noise, mean_of_round
from latentbandits.policies.arms import assign_highest, available, lead, sample_index, set_index
from latentbandits.policies.trace_context import (
    LAGS,
    OPEN_PROBES,
    Visit,
    begin_probe,
    blocks,
    end_probe,
    next_visited,
    nth_visited,
    place_of,
    show,
    visited,
    write_features,
)
from latentbandits.protocols import (
    CONTINUED,
    EPISODE,
    MARGIN,
    PHASE,
    PROBE_REASON,
    RESIDUAL,
    SCHEDULED,
    STALENESS,
    Choice,
    PlainPolicy,
    record_type,
)
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, InvalidValueError, Vector, When

Scalars = record_type(
    now=int,  # rounds begun
    last_probe=int,  # first round of the last probe
    next_phase=int,  # next phase of a probe under way, 0 for none
    probe=int,  # number of the current probe
    shown=int,  # number of the probe that the fingerprint shows
    lag_arm=int,  # of the last completed decision: its arm, its reward and its Studentized residual
    lag_reward=float,
    lag_residual=float,
)


class Memory(NamedTuple):
    """What a trace learner remembers.

    Attributes
    ----------
    factor, coefficients : the arms' regressions (see `latentbandits.linear`)
    fingerprint : rewards of the probe set in the last completed probe
    pending, owner : rewards of the probes under way, and the probes' numbers
    arrived : how many rounds of these probes have arrived; once a probe has ended, less the number of its rounds
    scalars : counters of rounds and probes, and the last completed decision
    gain : space that an update of the regressions needs
    noise : the noise of rewards, where it is learned (see `latentbandits.noise`)
    visits : what probes have made of each arm (see `Visit`), where they visit some arms only
    """

    factor: np.ndarray
    coefficients: np.ndarray
    fingerprint: np.ndarray
    pending: np.ndarray
    arrived: np.ndarray
    owner: np.ndarray
    scalars: np.ndarray
    gain: np.ndarray
    noise: np.ndarray
    visits: np.ndarray


class TraceLearner(PlainPolicy):
    """Linear bandit on lagged rewards and probe fingerprints (Algorithms 1 to 5 of the paper are settings of it).

    Every round it builds a context: the fingerprint (the rewards that the arms of the probe set gave in the last probe), the lag (arm and
    reward of the last *completed* decision) and observed covariates, each of which can be left out. One ridge regression per arm
    predicts the reward from it. All groups play the arm with the highest index, unless a probe is due: then the arms of the probe set
    are visited, `groups` at a time, in consecutive rounds. Ties go to the lower arm.

    A probe is due every `interval` rounds, or when a gate opens (`gated`) at least `min_gap` rounds after the last probe began: the
    residual of the last decision was large, the two highest indices are close, or the fingerprint is old.

    Only available arms count: those of the probe set are visited, and others keep what they gave before as their part of the fingerprint.
    Phase n of a probe visits the available arms of the set from number ``n * groups`` on; the probe ends when there are no more, and is
    ended by the next one of a fixed schedule. While one arm is available, or none of the probe set, a probe waits, and none begins: one of
    a fixed schedule that is due then is left out.

    Parameters
    ----------
    arms : int
        Number of arms, K.
    groups : int
        Groups per round. One group probes sequentially; as many groups as probed arms probe within one round.
    lag : {"none", "pair", "one-hot", "slopes", "curves"}
        Encoding of the last arm a and reward r: nothing; the numbers (a, r); one-hot of a, and r; one-hot of a, and r times it;
        the same and r squared times it.
    fingerprint : bool
        Whether the fingerprint is part of the context.
    covariates : int
        Number of observed features that the caller passes with each round.
    interval : int
        Fixed schedule: a probe starts whenever the round is a multiple of it (tau); 0 for none.
    gated : bool
        Adaptive schedule: probes start when a gate opens.
    thompson : bool
        Sample each arm's index from its posterior instead of using the upper confidence bound.
    exploration : float
        Width of the confidence bound (alpha), or scale of the posterior.
    regularization : float
        Ridge penalty (lambda).
    residual_threshold : float
        Residual gate: opens when the absolute Studentized residual reaches it (z).
    residual_floor : float
        Noise scale within the Studentized residual (sigma_0); the least one where the noise is learned.
    learn_noise : bool
        Learn the noise of rewards, and raise the floor to it.
    margin : float
        Margin gate: opens when the two highest indices are at most this far apart (m).
    staleness : int
        Staleness gate: opens when the last probe began this many rounds ago (H, the hazard's age cap).
    hazard : pair of float
        The same gate as the paper writes it, (lambda_h, delta_h): opens when ``1 - exp(-lambda_h * age)`` reaches delta_h. Empty to use
        `staleness`, which it replaces.
    min_gap : int
        Fewest rounds between the beginnings of two probes (tau_min).
    probe_set : sequence of int
        The arms that a probe visits, in order; empty for all.
    probe_size : int
        How many of them a probe visits, with one group; 0 for all. It visits arms that no probe has visited before, in order, and then
        those that have paid most in probes so far. They cost least, and soon they are the same in every probe, so that what the fingerprint
        says of them is fresh. Arms that are not visited keep their part of it.
    residual_before : bool
        Residual gate: take the residual before the reward is learned, a prediction error, and not after, as Algorithm 4 prints it.

    Notes
    -----
    The paper probes only two arms; the rule that at t = 1 the fixed sequential schedule is already in its second phase, with the initial 0
    as the first coordinate, is the paper's and is kept for any number of arms. After a probe round the lag is the best arm of that
    round and its reward; after an exploiting round it is the played arm and the mean reward of the groups.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.TraceLearner(arms=2, lag="slopes", exploration=1.5), seed=1)
    >>> decision = agent.ask()
    >>> agent.tell(decision, 0.7)
    'accepted'
    """

    lag: Annotated[int | str, LAGS] = "slopes"
    fingerprint: bool = False
    covariates: Annotated[int, AtLeast(0)] = 0
    interval: Annotated[int, AtLeast(0)] = 0
    gated: bool = False
    thompson: bool = False
    exploration: Annotated[float, AtLeast(0)] = 1.0
    regularization: Annotated[float, AtLeast(1e-12)] = 0.1
    residual_threshold: Annotated[float, AtLeast(0), When("gated")] = 2.0
    residual_floor: Annotated[float, AtLeast(0), When("gated")] = 0.05
    learn_noise: bool = False
    margin: Annotated[float, AtLeast(0), When("gated")] = 0.05
    staleness: Annotated[int, AtLeast(1), When("gated", off="hazard")] = 50
    min_gap: Annotated[int, AtLeast(1), When("gated")] = 4
    hazard: Annotated[Sequence[float] | np.ndarray, Vector(1)] = ()
    probe_set: Annotated[Sequence[int] | np.ndarray, Vector(1, whole=True)] = ()
    probe_size: Annotated[int, AtLeast(0)] = 0
    residual_before: bool = False

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        probed = np.asarray(self.probe_set)
        if len(set(probed.tolist())) != len(probed) or (probed < 0).any() or (probed >= self.arms).any():
            raise InvalidValueError(
                "TraceLearner", "probe_set", probed.tolist(), f"different arms from 0 to {self.arms - 1}"
            )
        if self.probe_size and (self.groups > 1 or self.probe_size > self.probed):
            rule = f"0, or with one group at most the {self.probed} arms of the probe set"
            raise InvalidValueError("TraceLearner", "probe_size", self.probe_size, rule)
        if self.residual_floor == 0 and not self.learn_noise:
            raise InvalidValueError("TraceLearner", "residual_floor", 0.0, "above 0 unless learn_noise is True")
        hazard = np.asarray(self.hazard)
        if len(hazard) and not (len(hazard) == 2 and hazard[0] > 0 and 0 <= hazard[1] < 1):
            raise InvalidValueError(
                "TraceLearner", "hazard", hazard.tolist(), "a rate above 0 and a threshold from 0 to below 1"
            )
        if self.width == 0:
            raise InvalidValueError(
                "TraceLearner", "lag", "none", "another encoding where there is neither a fingerprint nor a covariate"
            )
        if self.gated and self.interval:
            raise InvalidValueError("TraceLearner", "interval", self.interval, "0 where gated is True")
        if self.interval and self.interval < self.phases:
            raise InvalidValueError(
                "TraceLearner", "interval", self.interval, f"0, or at least the {self.phases} rounds of a probe"
            )

    @property
    def deterministic(self) -> bool:
        """Whether the choice of an arm is without chance."""
        return not self.thompson

    @property
    def probed(self) -> int:
        """Number of arms of the probe set."""
        return len(self.probe_set) or self.arms

    @property
    def phases(self) -> int:
        """Number of rounds that a probe takes."""
        return self.probe_size or -(-self.probed // self.groups)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Fields of the memory that need not be saved: visits are not counted where a probe visits all arms."""
        return () if self.probe_size else ("visits",)

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(blocks(self))

    def init(self) -> Memory:
        """Return the memory before the first round."""
        arms, probed, width = self.arms, self.probed, self.width
        factor = np.zeros((arms, width, width))
        reset(factor, self.regularization)
        arrived = np.zeros(OPEN_PROBES, np.int64)
        arrived[0] = 1  # the initial zeros count as the first part of probe 0: the paper's t = 1
        memory = Memory(
            factor,
            np.zeros((arms, width)),
            np.zeros(probed),
            np.zeros((OPEN_PROBES, probed)),
            arrived,
            np.zeros(OPEN_PROBES, np.int64),
            np.zeros(1, Scalars),
            np.zeros(width),
            fresh_noise(0.0, 1.0),
            np.zeros(arms, Visit),
        )
        memory.scalars[0].shown = -1
        memory.visits["last"] = -1
        return memory

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:
        """Build the context, compute every arm's index, open or close the gates, and assign the groups."""
        scalars = memory.scalars[0]
        scalars.now += 1
        write_features(self, memory, context, choice.features)
        for arm in range(self.arms):
            mean, variance = predict(memory.factor, memory.coefficients, arm, choice.features)
            width = self.exploration * math.sqrt(variance)
            if self.thompson:
                sample_index(choice, arm, mean, width, random)
            else:
                set_index(choice, arm, mean, width)

        number = visited(self, choice)
        phases = (number + self.groups - 1) // self.groups
        probe_reason, phase = 0, 0
        # with one arm there is nothing to compare: a probe waits
        if (self.interval > 0 or self.gated) and phases > 0 and available(choice) > 1:
            due = self.interval > 0 and scalars.now % self.interval == 0
            phase = 1 if self.interval > 0 and scalars.now == 1 else scalars.next_phase  # the paper's t = 1
            if phase > 0 and (due or phase >= phases):
                end_probe(memory, phase)
                phase = 0
            if phase > 0:
                probe_reason = CONTINUED
            elif due:
                probe_reason = SCHEDULED
            elif self.gated:
                probe_reason = open_gates(self, memory, choice)
        if probe_reason == 0:
            assign_highest(choice)
        else:
            if phase == 0:
                begin_probe(memory)
            scalars.next_phase = phase + 1
            if phase + 1 >= phases:
                end_probe(memory, phase + 1)
            if self.probe_size > 0:
                choice.arms[0] = next_visited(self, choice, memory.visits, scalars.probe)
                memory.visits[choice.arms[0]].last = scalars.probe
            else:
                for group in range(self.groups):
                    # more groups than arms left in this phase: go round the probe set again
                    choice.arms[group] = nth_visited(self, choice, (phase * self.groups + group) % number)
        choice.tags[PROBE_REASON] = probe_reason
        choice.tags[PHASE] = phase
        choice.tags[EPISODE] = scalars.probe

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Update the regressions of the played arms, the fingerprint and the lag."""
        scalars = memory.scalars[0]
        if choice.tags[PROBE_REASON] == 0:
            arm = choice.arms[0]
            reward = mean_of_round(memory.noise[0], not self.learn_noise, 1.0, self.groups, arm, rewards)
            scalars.lag_residual = learn_arm(self, memory, choice.features, arm, float(self.groups), reward)
            scalars.lag_arm = arm
            scalars.lag_reward = reward
            return

        number = visited(self, choice)
        distinct = min(self.groups, number)  # groups beyond the probe set repeat its arms
        probe = choice.tags[EPISODE]
        slot = probe % OPEN_PROBES
        kept = memory.owner[slot] == probe
        best = -np.inf
        for first in range(distinct):
            reward, weight = 0.0, 0.0
            for group in range(first, self.groups, number):
                reward += rewards[group]
                weight += 1.0
            reward /= weight
            arm = choice.arms[first]
            residual = learn_arm(self, memory, choice.features, arm, weight, reward)
            if self.probe_size > 0:
                memory.visits[arm].number += 1
                memory.visits[arm].paid += reward
            if kept:
                memory.pending[slot, place_of(self, arm)] = reward
            if reward > best:
                best = reward
                scalars.lag_arm = arm
                scalars.lag_reward = reward
                scalars.lag_residual = residual
        if kept:
            memory.arrived[slot] += 1
            show(memory, probe)

    def told(self, noise: float) -> Self:
        """Return the policy for a world whose noise is known: a floor that is the learned noise and nothing else becomes that noise."""
        follows = self.learn_noise and self.residual_floor == 0 and noise > 0
        return self._replace(residual_floor=noise, learn_noise=False) if follows else self

    def positions(self) -> np.ndarray:
        """Return where each feature stands when there is one arm more."""
        found: list[int] = []
        at = 0
        for size, larger in zip(blocks(self), blocks(self._replace(arms=self.arms + 1)), strict=True):
            found.extend(range(at, at + size))
            at += larger
        return np.array(found, np.int64)

    def grow(self, memory: Memory) -> Memory:
        """Return the memory with one arm more: a fresh regression, and features that nobody has seen in those of the others."""
        return enlarge(self.larger().init(), memory, self.positions())


@kernel
def learn_arm(
    policy: TraceLearner, memory: Memory, features: np.ndarray, arm: int, weight: float, reward: float
) -> float:
    """Update an arm's regression by the mean of `weight` rewards, and return its Studentized residual."""
    predicted, uncertainty = 0.0, 0.0
    if policy.residual_before:
        predicted, uncertainty = predict(memory.factor, memory.coefficients, arm, features)
    residual, variance = update(memory.factor, memory.coefficients, memory.gain, arm, features, weight, reward)
    if policy.residual_before:
        residual, variance = reward - predicted, uncertainty
    return float(residual / math.sqrt(variance + floor(policy, memory, weight)))


@kernel
def floor(policy: TraceLearner, memory: Memory, weight: float) -> float:
    """Return the variance of noise within a Studentized residual of the mean of `weight` rewards."""
    least = policy.residual_floor * policy.residual_floor
    if policy.learn_noise:
        return max(least, float(memory.noise[0].sd * memory.noise[0].sd / weight))
    return least


@kernel
def open_gates(policy: TraceLearner, memory: Memory, choice: Choice) -> int:
    """Return the sum of the reasons to probe now, 0 for none."""
    probe_reason = 0
    age = memory.scalars[0].now - memory.scalars[0].last_probe
    if age >= policy.min_gap:
        if abs(memory.scalars[0].lag_residual) >= policy.residual_threshold:
            probe_reason += RESIDUAL
        if lead(choice) <= policy.margin:
            probe_reason += MARGIN
        if len(policy.hazard) > 0:
            if 1.0 - math.exp(-policy.hazard[0] * age) >= policy.hazard[1]:
                probe_reason += STALENESS
        elif age >= policy.staleness:
            probe_reason += STALENESS
    return probe_reason
