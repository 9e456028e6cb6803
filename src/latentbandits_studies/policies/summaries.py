"""Richer summaries of the history for the paper's linear learner, on one fixed schedule: what a summary is worth, all else being equal."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.linear import predict, reset, update
from latentbandits.policies.arms import assign, assign_highest, set_index
from latentbandits.policies.bayes_filter import BayesFilter, BayesGreedy
from latentbandits.policies.bayes_filter import Memory as FilterMemory
from latentbandits.protocols import (
    CONTINUED,
    EPISODE,
    PHASE,
    PROBE_REASON,
    SCHEDULED,
    Choice,
    PlainOracle,
    PlainPolicy,
    Policy,
    Realisation,
    record_type,
)
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, InvalidValueError

Scalars = record_type(
    now=int,  # rounds begun
    arrived=int,  # parts of the newest probe that have arrived
    probe=int,  # number of the newest probe
)


class Memory(NamedTuple):
    """What a summary learner remembers.

    Attributes
    ----------
    factor, coefficients, gain : the arms' regressions (see `latentbandits.linear`) and scratch space
    lag_arm, lag_reward : arms and rewards of the last completed decisions, newest first
    fingerprint : rewards of the last completed probe
    pending : rewards of the probe under way
    scalars : counters of rounds and probes
    """

    factor: np.ndarray
    coefficients: np.ndarray
    gain: np.ndarray
    lag_arm: np.ndarray
    lag_reward: np.ndarray
    fingerprint: np.ndarray
    pending: np.ndarray
    scalars: np.ndarray


class SummaryLearner(PlainPolicy):
    """LinUCB on a summary of the history that is put together from parts, with probes at fixed times.

    With ``lags=1, fingerprint=True`` it is SP-UCB (`TraceLearner` with the lag "slopes"), to the bit. Every other summary changes the
    features and nothing else. A probe visits the arms one after the other, one per round; all groups play the same arm.

    Parameters
    ----------
    arms : int
        Number of arms, K.
    groups : int
        Groups per round.
    lags : int
        How many of the last decisions are in the summary, each as one-hot of the arm, and the reward times it. Without any the
        features have a constant instead.
    fingerprint : bool
        Whether the rewards of the last completed probe are in it.
    products : bool
        Whether it has all products of the fingerprint and the last decision.
    covariates : int
        Number of observed features that the caller passes with each round.
    interval : int
        A probe starts whenever the round is a multiple of it; 0 for none.
    exploration : float
        Width of the confidence bound.
    regularization : float
        Ridge penalty.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.policies.summaries import SummaryLearner
    >>> agent = lb.Agent(SummaryLearner(arms=2, lags=3), seed=1)
    >>> agent.tell(agent.ask(), 0.7)
    'accepted'
    """

    deterministic = True
    fixed_arms = True

    lags: Annotated[int, AtLeast(0)] = 1
    fingerprint: bool = False
    products: bool = False
    covariates: Annotated[int, AtLeast(0)] = 0
    interval: Annotated[int, AtLeast(0)] = 0
    exploration: Annotated[float, AtLeast(0)] = 1.0
    regularization: Annotated[float, AtLeast(1e-12)] = 0.1

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        name = "SummaryLearner"
        if self.interval and self.interval < self.arms:
            raise InvalidValueError(
                name, "interval", self.interval, f"0, or at least the {self.arms} rounds of a probe"
            )
        if self.fingerprint and not self.interval:
            raise InvalidValueError(name, "fingerprint", True, "False without an interval")
        if self.products and not (self.fingerprint and self.lags):
            raise InvalidValueError(name, "products", True, "False without a fingerprint or without a lag")

    @property
    def width(self) -> int:
        """Number of features."""
        return size(self)

    def init(self) -> Memory:
        """Return the memory before the first round."""
        arms, width = self.arms, size(self)
        factor = np.zeros((arms, width, width))
        reset(factor, self.regularization)
        scalars = np.zeros(1, Scalars)
        scalars[0].arrived = 1  # the initial zeros count as the first part of probe 0: the paper's t = 1
        return Memory(
            factor,
            np.zeros((arms, width)),
            np.zeros(width),
            np.zeros(max(self.lags, 1), np.int64),
            np.zeros(max(self.lags, 1)),
            np.zeros(arms),
            np.zeros(arms),
            scalars,
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Write the summary, and play the arm with the highest upper confidence bound unless a probe is due."""
        scalars = memory.scalars[0]
        scalars.now += 1
        summarise(self, memory, context, choice.features)
        for arm in range(self.arms):
            mean, variance = predict(memory.factor, memory.coefficients, arm, choice.features)
            set_index(choice, arm, mean, self.exploration * math.sqrt(variance))
        probe_reason, phase = 0, 0
        if self.interval > 0:
            phase = scalars.now % self.interval
            if phase < self.arms:
                probe_reason = SCHEDULED if phase == 0 else CONTINUED
            if phase == 0:
                scalars.probe += 1
                scalars.arrived = 0
        if probe_reason == 0:
            assign_highest(choice)
        else:
            assign(phase, choice)
        choice.tags[PROBE_REASON] = probe_reason
        choice.tags[PHASE] = phase
        choice.tags[EPISODE] = scalars.probe

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Update the regression of the played arm, the lags and the fingerprints."""
        arm, reward = choice.arms[0], 0.0
        for group in range(self.groups):
            reward += rewards[group]
        reward /= self.groups
        update(memory.factor, memory.coefficients, memory.gain, arm, choice.features, float(self.groups), reward)
        for i in range(len(memory.lag_arm) - 1, 0, -1):
            memory.lag_arm[i] = memory.lag_arm[i - 1]
            memory.lag_reward[i] = memory.lag_reward[i - 1]
        memory.lag_arm[0] = arm
        memory.lag_reward[0] = reward
        # parts of an older probe come too late for its fingerprint
        scalars = memory.scalars[0]
        if choice.tags[PROBE_REASON] != 0 and choice.tags[EPISODE] == scalars.probe:
            memory.pending[choice.tags[PHASE]] = reward
            scalars.arrived += 1
            if scalars.arrived == self.arms:
                for place in range(self.arms):
                    memory.fingerprint[place] = memory.pending[place]


@kernel
def size(policy: SummaryLearner) -> int:
    """Return the number of features."""
    arms = policy.arms
    width = policy.covariates + (2 * arms * policy.lags if policy.lags > 0 else 1)
    if policy.fingerprint:
        width += arms
    if policy.products:
        width += 2 * arms * arms
    return width


@kernel
def summarise(policy: SummaryLearner, memory: Memory, context: np.ndarray, features: np.ndarray) -> None:
    """Write fingerprint, lags (or a constant), products and covariates, in this order."""
    arms, at = policy.arms, 0
    if policy.fingerprint:
        for place in range(arms):
            features[at] = memory.fingerprint[place]
            at += 1
    if policy.lags == 0:
        features[at] = 1.0
        at += 1
    pairs = at
    for i in range(policy.lags):
        for arm in range(arms):
            played = memory.lag_arm[i] == arm
            features[at + arm] = 1.0 if played else 0.0
            features[at + arms + arm] = memory.lag_reward[i] if played else 0.0
        at += 2 * arms
    if policy.products:
        for place in range(arms):
            for i in range(2 * arms):
                features[at] = memory.fingerprint[place] * features[pairs + i]
                at += 1
    for i in range(policy.covariates):
        features[at + i] = context[i]


class BelieverMemory(NamedTuple):
    """The memories of a `SummaryLearner` and of a `BayesFilter`."""

    learner: Memory
    filter: FilterMemory


class Believer(Policy):
    """A summary learner whose covariates are the belief of a Bayes filter that sees the same rewards.

    Attributes
    ----------
    learner : SummaryLearner with as many covariates as there are states
    filter : BayesFilter of the world
    """

    deterministic = True
    fixed_arms = True

    learner: SummaryLearner
    filter: BayesFilter

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.learner.arms

    @property
    def groups(self) -> int:
        """Groups per round."""
        return self.learner.groups

    @property
    def width(self) -> int:
        """Number of features."""
        return self.learner.width

    def init(self) -> BelieverMemory:
        """Return the memory before the first round."""
        return BelieverMemory(self.learner.init(), self.filter.init())

    def choose(self, memory: BelieverMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:
        """Move the filter's belief to this round; the learner, which sees it, chooses."""
        self.filter.choose(memory.filter, context, random, choice)
        self.learner.choose(memory.learner, memory.filter.belief, random, choice)

    def learn(self, memory: BelieverMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Both learn."""
        self.filter.learn(memory.filter, choice, rewards)
        self.learner.learn(memory.learner, choice, rewards)


class BeliefLearner(PlainOracle):
    """Oracle: LinUCB that must learn the arms' rewards, but is given the exact belief over the hidden state in every round.

    The summary of the history that loses nothing. It still probes at fixed times where `interval` says so, for likeness.

    Parameters
    ----------
    arms, groups, interval, exploration, regularization
        As in `SummaryLearner`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.policies.summaries import BeliefLearner
    >>> realisation = lb.HiddenMarkov(states=3).realise(horizon=10, groups=1, seed=0, draw=0, repeat=0)
    >>> BeliefLearner(arms=2).informed(realisation).learner.covariates
    3
    """

    interval: Annotated[int, AtLeast(0)] = 0
    exploration: Annotated[float, AtLeast(0)] = 1.0
    regularization: Annotated[float, AtLeast(1e-12)] = 0.1

    def informed(self, realisation: Realisation) -> Believer:
        """Return the learner beside the filter for this world."""
        if realisation.available is not None:
            raise InvalidValueError("BeliefLearner", "arms", "not always all available", "the same in every round")
        oracle: Any = BayesGreedy(self.arms, self.groups).informed(realisation)
        learner = SummaryLearner(
            self.arms,
            self.groups,
            lags=0,
            covariates=len(oracle.start),
            interval=self.interval,
            exploration=self.exploration,
            regularization=self.regularization,
        )
        return Believer(learner, oracle)
