"""The paper's world: a hidden Markov chain that changes the arms' mean rewards."""

from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from latentbandits.compiled import fast
from latentbandits.random import Purpose, Stream, stream, uniform
from latentbandits.settings import Above, AtLeast, InvalidValueError, OneOf, Vector, Within, check_range, checked
from latentbandits.worlds.base import Path
from latentbandits.worlds.dwell import DWELLS, SHORTEST, UNEVEN, visited
from latentbandits.worlds.regimes import SAMPLED, Regimes

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
@dataclass(frozen=True, repr=False)
class HiddenMarkov(Regimes):
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
    carryover : float
        Weight of the previous state in the expected reward (rho).
    separation : float, optional
        Sample means whose two nearest states are exactly this far apart (joint separation Gamma_B).
    separated_arms : sequence of int
        The arms B over which `separation` is measured; empty for all.
    reveal : {"nothing", "state", "means"}
        What the observed context shows: nothing, the state as one-hot, or the expected rewards of the round.
    dwell_shape : str
        How the rounds that a state lasts vary, a name of `latentbandits.worlds.dwell.DWELLS`; any but ``"geometric"`` makes a semi-Markov
        chain with the same mean.
    rare : float
        Share of time of the last state, which the chain then visits less often than the others; 0 for as often. Unless `means` are given,
        its means are the averages of the others, but the lowest mean for the arm that is best on average.
    dwell : float, optional
        Instead of `stickiness`: rounds that a state lasts on average.
    **options
        Means, noise, rewards and everything else that worlds with states have in common: see `latentbandits.worlds.regimes.Regimes` and
        `latentbandits.worlds.base.SampledWorld`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.HiddenMarkov(states=3, arms=2, stickiness=0.9, noise=0.1)
    >>> realisation = world.realise(horizon=1000, groups=1, seed=0, draw=0, repeat=0)
    >>> realisation.means.shape, realisation.rewards.shape, len(set(realisation.states.tolist()))
    ((1000, 2), (1000, 1, 2), 3)
    """

    states: Annotated[int, AtLeast(1)] = None  # type: ignore[assignment]
    arms: Annotated[int, AtLeast(2)] = None  # type: ignore[assignment]
    stickiness: Annotated[float, Within(0, 1)] = None  # type: ignore[assignment]
    transition: Annotated[Any, Vector(2)] = None
    carryover: Annotated[float, Within(0, 1)] = 0.0
    separation: Annotated[float | None, Above(0)] = None
    separated_arms: Annotated[Any, Vector(1, whole=True)] = ()
    reveal: Annotated[str, OneOf(REVEALS)] = "nothing"
    dwell_shape: Annotated[str, OneOf(tuple(DWELLS))] = "geometric"
    rare: Annotated[float, Within(0, 0.5)] = 0.0
    dwell: InitVar[float | None] = None

    def __post_init__(self, dwell: float | None) -> None:
        if dwell is not None:
            if self.stickiness is not None or self.transition is not None:
                other = "transition" if self.stickiness is None else "stickiness"
                raise InvalidValueError(self._owner, "dwell", dwell, f"left out when {other} is given")
            self._set("stickiness", 1.0 - 1.0 / check_range(self._owner, "dwell", dwell, AtLeast(1)))

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
            raise self._refusal("stickiness", "left out when transition is given")
        self._check_chain()
        if self.dwell_shape in UNEVEN and (1 - np.diag(self.chain) > 1.000001 / SHORTEST).any():
            raise self._refusal(
                "dwell_shape", f"geometric or fixed where a state lasts less than {SHORTEST:g} rounds on average"
            )
        super().check()
        self._check_separation()
        if self.returning < 1 and self.reveal == "state":
            raise self._refusal("reveal", "nothing or means when states do not return")

    def _check_chain(self) -> None:
        if self.rare > 0 and (self.transition is not None or self.states < 2):
            raise self._refusal("rare", "left out when transition is given or there is one state")
        if self.transition is None:
            return
        if self.transition.shape != (self.states, self.states):
            rule = f"({self.states}, {self.states}), one row and column per state"
            raise InvalidValueError(self._owner, "transition", self.transition.shape, rule, ".shape")
        for row, values in enumerate(self.transition):
            if (values < 0).any() or abs(values.sum() - 1) > 1e-6:
                raise InvalidValueError(self._owner, "transition", values, "probabilities that sum to one", f"[{row}]")
        self._set("transition", self.transition / self.transition.sum(axis=1, keepdims=True))

    def _check_separation(self) -> None:
        if self.separation is not None:
            if self.means is not None:
                raise self._refusal("separation", "left out when means are given")
            if self.states < 2:
                raise self._refusal("states", "at least 2 when separation is given")
            for option in self._changed(*SAMPLED, "rare"):
                raise self._refusal(option, "left out when separation is given")
        if len(self.separated_arms) != len({arm for arm in self.separated_arms.tolist() if 0 <= arm < self.arms}):
            raise self._refusal("separated_arms", f"different arms from 0 to {self.arms - 1}")

    @cached_property
    def chain(self) -> np.ndarray:
        """The transition matrix."""
        if self.transition is not None:
            return self.transition  # type: ignore[no-any-return]
        if self.states == 1:
            return np.ones((1, 1))
        jump = (1.0 - self.stickiness) / (self.states - 1)
        chain = np.full((self.states, self.states), jump) + (self.stickiness - jump) * np.eye(self.states)
        if self.rare > 0:  # as likely to leave as the others, so it is entered as often as its share of time is
            enter = (1.0 - self.stickiness) * self.rare / (1 - self.rare)
            others = 1.0 - self.stickiness - enter
            chain[:-1, :-1] = others / max(self.states - 2, 1) * (1 - np.eye(self.states - 1))
            chain[:-1, -1] = enter
            np.fill_diagonal(chain, 0.0)
            np.fill_diagonal(chain, 1 - chain.sum(axis=1))
        return chain

    @cached_property
    def start(self) -> np.ndarray:
        """The stationary distribution, in which the chain starts."""
        shares = np.full(self.states, 1 / self.states)
        if self.rare > 0:
            shares = np.append(np.full(self.states - 1, (1 - self.rare) / (self.states - 1)), self.rare)
        return stationary(self.chain) if self.transition is not None else shares

    def levels(self, generator: np.random.Generator) -> np.ndarray:
        """Sample the means of all states on a scale from 0 to 1."""
        levels = super().levels(generator)
        if self.separation is not None:
            chosen = self.separated_arms.tolist() or list(range(self.arms))
            width = self.span[1] - self.span[0]
            levels[:, chosen] = separated(generator, self.states, len(chosen), self.separation / width)
        return levels

    def matrix(self, seed: int, draw: int) -> np.ndarray:
        """Return the mean rewards of one draw of the world, an array (states, arms)."""
        means = super().matrix(seed, draw)
        if self.rare > 0 and self.means is None:
            means[-1] = usual = means[:-1].mean(axis=0)
            means[-1, usual.argmax()] = self.span[0]
        return means

    def observed(self, states: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Return what is revealed."""
        if self.reveal == "state":
            return np.eye(self.states)[states]  # type: ignore[no-any-return]
        return means if self.reveal == "means" else super().observed(states, means)

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return how the means change."""
        chain, start = self.chain, self.start
        if self.dwell_shape != "geometric" or self.returning < 1:
            generator = np.random.default_rng(stream(seed, Purpose.VISITS, draw, repeat))
            states = visited(generator, self.dwell_shape, chain, start, horizon + 1)  # with the round before the first
            visit = np.append(0, np.cumsum(np.diff(states) != 0))
            states, rows = self.visits(visit, states, seed, draw, repeat)
            means = (1.0 - self.carryover) * rows[states[1:]] + self.carryover * rows[states[:-1]]
            return Path(states[1:], means)
        matrix = self.matrix(seed, draw)
        states, means = np.empty(horizon, np.int64), np.empty((horizon, self.arms))
        random = stream(seed, Purpose.PATH, draw, repeat)
        fast(walk)(chain, start, matrix, self.carryover, random, states, means)
        return Path(states, means, (chain, matrix, start), self.carryover)


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
    shares = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]
    shares = np.maximum(shares, 0.0)
    shares /= shares.sum()
    if np.abs(shares @ chain - shares).max() > 1e-6:
        raise InvalidValueError(
            "HiddenMarkov", "transition", chain, "an ergodic chain (no stationary distribution was found)"
        )
    return shares  # type: ignore[no-any-return]


def separated(
    generator: np.random.Generator, states: int, arms: int, distance: float, pairs: bool = False
) -> np.ndarray:
    """Sample mean rewards from the unit cube so that the two nearest states are exactly `distance` apart.

    States are sampled one by one and kept if no other is nearer than `distance`; the last is put at that distance from a random one, or
    with `pairs` every second one from the one before it, so that every state has a neighbour at `distance`.

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
            second = pairs and len(points) % 2 == 1
            if second or len(points) == states - 1:
                direction = generator.standard_normal(arms)
                near = points[-1] if second else points[generator.integers(len(points))]
                point = near + distance * direction / np.linalg.norm(direction)
            else:
                point = generator.random(arms)
            inside = ((point >= 0) & (point <= 1)).all()
            # some states touch one other; some slack for rounding
            if inside and all(np.linalg.norm(point - other) >= distance * (1 - 1e-12) for other in points):
                points.append(point)
            if len(points) == states:
                return np.array(points)[generator.permutation(states)]
    raise InvalidValueError(
        "HiddenMarkov", "separation", distance, f"less: no {states} states with {arms} arms were found that far apart"
    )
