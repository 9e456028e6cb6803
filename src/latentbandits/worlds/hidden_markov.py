"""The paper's world: a hidden Markov chain that changes the arms' mean rewards."""

from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from latentbandits.compiled import fast
from latentbandits.protocols import Realisation, Truth
from latentbandits.random import Purpose, Stream, stream, uniform
from latentbandits.rewards import NAMES, UNIT_NOISE, check_means, sampled, unit_scales
from latentbandits.settings import Above, AtLeast, Interval, OneOf, Refusal, Vector, Within, between, checked

REVEALS = ("nothing", "state", "means")


def walk(
    transition: np.ndarray,
    start: np.ndarray,
    matrix: np.ndarray,
    carryover: float,
    random: Stream,
    states: np.ndarray,
    means: np.ndarray,
) -> None:
    """Walk along the chain and write the state and the expected rewards of every round.

    `start` is the distribution of the state before the first round, which matters only with carryover.
    """
    count = len(start)
    left = uniform(random)
    state = 0
    while state < count - 1 and left >= start[state]:
        left -= start[state]
        state += 1
    for t in range(len(states)):
        before = state
        left = uniform(random) - transition[before, before]
        if left >= 0:  # a jump; what rounding leaves goes to the last possible state
            for to in range(count):
                if to != before and transition[before, to] > 0:
                    state = to
                    left -= transition[before, to]
                    if left < 0:
                        break
        states[t] = state
        for arm in range(means.shape[1]):
            means[t, arm] = (1.0 - carryover) * matrix[state, arm] + carryover * matrix[before, arm]


@checked
@dataclass(frozen=True)
class HiddenMarkov:
    """A chain of hidden states, each with its own mean reward per arm; it starts in its stationary distribution.

    Parameters
    ----------
    states, arms : int, optional
        Their numbers; 10 and 2 unless they follow from `means` or `transition`.
    stickiness : float, optional
        Probability to stay in a state; otherwise the chain jumps to any other state with equal probability; 0.99 if
        neither this nor `transition` nor `dwell` is given.
    transition : array (states, states), optional
        The whole transition matrix, instead of `stickiness`.
    means : array (states, arms), optional
        Mean rewards; sampled uniformly from `span` for every draw of the world if not given.
    span : pair of float
        Interval from which means are sampled, if they are.
    noise : float
        Standard deviation of Gaussian rewards.
    unit_noise : sequence of float, optional
        Standard deviation for each unit; `noise` times the root of the number of units if not given.
    rewards : str
        Distribution of rewards, a name of `latentbandits.rewards.DISTRIBUTIONS`.
    carryover : float
        Weight of the previous state in the expected reward (rho).
    separation : float, optional
        Sample means whose two nearest states are exactly this far apart (joint separation Gamma_B).
    separated_arms : sequence of int
        The arms B over which `separation` is measured; empty for all.
    reveal : {"nothing", "state", "means"}
        What the observed context shows: nothing, the state as one-hot, or the expected rewards of the round.
    dwell : float, optional
        Instead of `stickiness`: rounds that a state lasts on average.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.HiddenMarkov(states=3, arms=2, stickiness=0.9, noise=0.1)
    >>> realisation = world.realise(horizon=1000, units=1, seed=0, draw=0, repeat=0)
    >>> realisation.means.shape, realisation.rewards.shape, len(set(realisation.states.tolist()))
    ((1000, 2), (1000, 1, 2), 3)
    """

    states: Annotated[int, AtLeast(1)] = None  # type: ignore[assignment]
    arms: Annotated[int, AtLeast(2)] = None  # type: ignore[assignment]
    stickiness: Annotated[float, Within(0, 1)] = None  # type: ignore[assignment]
    transition: Annotated[Any, Vector(2)] = None
    means: Annotated[Any, Vector(2)] = None
    noise: Annotated[float, AtLeast(0)] = 0.01
    unit_noise: Annotated[Any, UNIT_NOISE] = None
    rewards: Annotated[str, OneOf(NAMES)] = "gaussian"
    carryover: Annotated[float, Within(0, 1)] = 0.0
    separation: Annotated[float | None, Above(0)] = None
    separated_arms: Annotated[Any, Vector(1, whole=True)] = ()
    reveal: Annotated[str, OneOf(REVEALS)] = "nothing"
    span: Annotated[tuple[float, float], Interval()] = (0.0, 1.0)
    dwell: InitVar[float | None] = None

    def __post_init__(self, dwell: float | None) -> None:
        if dwell is not None:
            if self.stickiness is not None or self.transition is not None:
                other = "transition" if self.stickiness is None else "stickiness"
                raise Refusal("HiddenMarkov", "dwell", dwell, f"left out when {other} is given")
            self._set("stickiness", 1.0 - 1.0 / between("HiddenMarkov", "dwell", dwell, AtLeast(1)))

    def check(self) -> None:
        """Refuse what does not fit together; fill in what follows from the rest."""
        shaped = self.means if self.means is not None else self.transition
        if self.states is None:
            self._set("states", 10 if shaped is None else len(shaped))
        if self.arms is None:
            self._set("arms", 2 if self.means is None else self.means.shape[1])
        if self.stickiness is None:
            self._set("stickiness", 0.99)
        elif self.transition is not None:
            raise Refusal("HiddenMarkov", "stickiness", self.stickiness, "left out when transition is given")
        self._check_chain()
        self._check_means()

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _check_chain(self) -> None:
        if self.transition is None:
            return
        if self.transition.shape != (self.states, self.states):
            rule = f"({self.states}, {self.states}), one row and column per state"
            raise Refusal("HiddenMarkov", "transition", self.transition.shape, rule, ".shape")
        for row, values in enumerate(self.transition):
            if (values < 0).any() or abs(values.sum() - 1) > 1e-6:
                raise Refusal("HiddenMarkov", "transition", values, "probabilities that sum to one", f"[{row}]")
        self._set("transition", self.transition / self.transition.sum(axis=1, keepdims=True))

    def _check_means(self) -> None:
        check_means("HiddenMarkov", "span", self.span, self.rewards)
        if self.means is not None:
            if self.means.shape != (self.states, self.arms):
                rule = f"({self.states}, {self.arms}), one row per state and one column per arm"
                raise Refusal("HiddenMarkov", "means", self.means.shape, rule, ".shape")
            check_means("HiddenMarkov", "means", self.means, self.rewards)
        if self.separation is not None:
            if self.means is not None:
                raise Refusal("HiddenMarkov", "separation", self.separation, "left out when means are given")
            if self.states < 2:
                raise Refusal("HiddenMarkov", "states", self.states, "at least 2 when separation is given")
        if len(self.separated_arms) != len({arm for arm in self.separated_arms.tolist() if 0 <= arm < self.arms}):
            rule = f"different arms from 0 to {self.arms - 1}"
            raise Refusal("HiddenMarkov", "separated_arms", self.separated_arms, rule)

    @cached_property
    def chain(self) -> np.ndarray:
        """The transition matrix."""
        if self.transition is not None:
            return self.transition  # type: ignore[no-any-return]
        if self.states == 1:
            return np.ones((1, 1))
        jump = (1.0 - self.stickiness) / (self.states - 1)
        return np.full((self.states, self.states), jump) + (self.stickiness - jump) * np.eye(self.states)

    @cached_property
    def start(self) -> np.ndarray:
        """The stationary distribution, in which the chain starts."""
        return stationary(self.chain) if self.transition is not None else np.full(self.states, 1 / self.states)

    def matrix(self, seed: int, draw: int) -> np.ndarray:
        """Return the mean rewards of one draw of the world, an array (states, arms)."""
        if self.means is not None:
            return self.means  # type: ignore[no-any-return]
        generator = np.random.default_rng(stream(seed, Purpose.WORLD, draw))
        levels = generator.random((self.states, self.arms))
        width = self.span[1] - self.span[0]
        if self.separation is not None:
            chosen = self.separated_arms.tolist() or list(range(self.arms))
            levels[:, chosen] = separated(generator, self.states, len(chosen), self.separation / width)
        return self.span[0] + width * levels

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        matrix, chain, start = self.matrix(seed, draw), self.chain, self.start
        states, means = np.empty(horizon, np.int64), np.empty((horizon, self.arms))
        random = stream(seed, Purpose.PATH, draw, repeat)
        fast(walk)(chain, start, matrix, self.carryover, random, states, means)
        scales = unit_scales("HiddenMarkov", self.noise, self.unit_noise, units)
        context = np.zeros((horizon, 0))
        if self.reveal == "state":
            context = np.eye(self.states)[states]
        elif self.reveal == "means":
            context = means
        return Realisation(
            means,
            sampled(means, scales, self.rewards, seed, draw, repeat),
            context,
            states,
            # a filter needs some noise
            Truth(chain, matrix, start, np.maximum(scales, 1e-9), self.rewards, self.carryover),
        )


def stationary(chain: np.ndarray) -> np.ndarray:
    """Return the stationary distribution of a transition matrix (the one nearest to uniform if there are several).

    Examples
    --------
    >>> from latentbandits.worlds.hidden_markov import stationary
    >>> import numpy as np
    >>> stationary(np.array([[0.9, 0.1], [0.3, 0.7]])).round(3).tolist()
    [0.75, 0.25]
    """
    size = len(chain)
    equations = np.vstack([chain.T - np.eye(size), np.ones(size)])
    found = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]
    found = np.maximum(found, 0.0)
    found /= found.sum()
    if np.abs(found @ chain - found).max() > 1e-6:
        raise Refusal("HiddenMarkov", "transition", chain, "an ergodic chain (no stationary distribution was found)")
    return found  # type: ignore[no-any-return]


def separated(generator: np.random.Generator, states: int, arms: int, distance: float) -> np.ndarray:
    """Sample mean rewards from the unit cube so that the two nearest states are exactly `distance` apart.

    States are sampled one by one and kept if no other is nearer than `distance`; the last is put at that distance from a random one.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.worlds.hidden_markov import separated
    >>> means = separated(np.random.default_rng(0), states=5, arms=2, distance=0.2)
    >>> gaps = [np.linalg.norm(a - b) for i, a in enumerate(means) for b in means[:i]]
    >>> round(float(min(gaps)), 9)
    0.2
    """
    for _ in range(200):
        points: list[np.ndarray] = []
        for _ in range(2000):
            last = len(points) == states - 1
            if last:
                direction = generator.standard_normal(arms)
                point = points[generator.integers(len(points))] + distance * direction / np.linalg.norm(direction)
            else:
                point = generator.random(arms)
            inside = ((point >= 0) & (point <= 1)).all()
            # the last state touches one other; some slack for rounding
            if inside and all(np.linalg.norm(point - other) >= distance * (1 - 1e-12) for other in points):
                points.append(point)
            if len(points) == states:
                return np.array(points)[generator.permutation(states)]
    raise Refusal(
        "HiddenMarkov", "separation", distance, f"less: no {states} states with {arms} arms were found that far apart"
    )
