"""What all sampled worlds have in common: everything but how the means change from round to round."""

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from latentbandits.protocols import LARGEST_DELAY, LEARN, Realisation, Truth
from latentbandits.random import Purpose, stream
from latentbandits.rewards import DISTRIBUTIONS, GROUP_NOISE, NAMES, check_means, group_scales, sampled
from latentbandits.settings import AtLeast, Interval, InvalidValueError, OneOf, Within
from latentbandits.worlds.available import come_and_go
from latentbandits.worlds.delivery import as_delay, delays, mistaken, within
from latentbandits.worlds.noise import SHAPES, alternating, standardised, unequal

# The options that make the noise of Gaussian rewards other than normal, independent and of one size
NOISE_OPTIONS = ("noise_shape", "uneven_arms", "uneven_states", "proportional", "autocorrelation", "changing_noise")
# The options that move the means
EFFECTS = ("trend", "calendar", "calendar_arms", "features")


class Path(NamedTuple):
    """How the means of a world change, before any effect.

    Attributes
    ----------
    states : int array (rounds,), the hidden state, -1 where there is none
    means : array (rounds, arms)
    chain : transition matrix, means and start of the hidden Markov chain, if that is what it is
    carryover : weight of the previous state in the means
    """

    states: np.ndarray
    means: np.ndarray
    chain: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    carryover: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SampledWorld(ABC):
    """The options that every sampled world has; they combine.

    A world is realised in steps: how the means change (`path`, which is what makes a kind of world), effects on the means, rewards, when
    they arrive, and which arms are available. With the defaults a step does nothing.

    Parameters
    ----------
    noise : float
        Standard deviation of Gaussian rewards, whatever the shape of the noise.
    group_noise : sequence of float, optional
        Standard deviation for each group; `noise` times the root of the number of groups if not given.
    noise_shape : str
        Shape of the noise, a name of `latentbandits.worlds.noise.SHAPES`.
    uneven_arms : float
        Every arm has noise of its own, between `noise` divided and multiplied by the root of this factor.
    proportional : float
        How much the noise depends on the mean, from 0 (not at all) to 1 (proportional to its size, and `noise` at the middle of the range).
    autocorrelation : float
        Correlation of the noise of one round with that of the next.
    changing_noise : float
        The noise changes after random times (500 rounds on average) between two levels, of which the upper is this many times the lower.
    rewards : str
        Distribution of rewards, a name of `latentbandits.rewards.DISTRIBUTIONS`.
    span : pair of float, optional
        Interval from which means are sampled, if they are; 0 to 1 if not given, or 1 to 5 for ratings.
    together : float
        Correlation of the arms' sampled means: 0 for none, 1 for arms that are all the same.
    dominated : int
        Number of arms, the last ones, that are never better than the first.
    trend : float
        Change of all means in 1,000 rounds.
    calendar, calendar_arms : float
        Amplitude of a periodic change of all means together, and of one with a phase of its own for every arm.
    period : float
        Rounds after which the calendar repeats.
    features : int
        Number of observed features, each -1 or 1 in every round: the columns of the context, behind what is revealed.
    feature_effect : float
        Largest effect of a feature on the mean of an arm; every arm and feature has its own, sampled for every draw of the world.
    delay : int, pair or str
        Rounds after which a reward arrives: a number, ``(20, 200)`` or ``"20 to 200"`` for a time of its own for every reward,
        ``"geometric 20"`` for a geometric one with this mean.
    lost : float
        Share of rounds whose rewards never arrive.
    window : int
        Rounds after which a reward that has not come, or is lost, counts as 0; 0 for no window.
    learn : str
        With a window: ``"at_window"``, every round is learned when its window closes; ``"at_once"``, rewards when they come, and that there
        is none when the window closes.
    wrong, wrong_reward : float
        Share of rounds in which a wrong reward is told, and that reward.
    available : float
        Share of rounds in which an arm is available; one arm always is, so with few arms it is somewhat more.
    stretch : float
        Rounds for which an arm is available before it leaves, on average.
    """

    noise: Annotated[float, AtLeast(0)] = 0.01
    group_noise: Annotated[Any, GROUP_NOISE] = None
    noise_shape: Annotated[str, OneOf(tuple(SHAPES))] = "normal"
    uneven_arms: Annotated[float, AtLeast(1)] = 1.0
    proportional: Annotated[float, Within(0, 1)] = 0.0
    autocorrelation: Annotated[float, Within(0, 0.999)] = 0.0
    changing_noise: Annotated[float, AtLeast(1)] = 1.0
    rewards: Annotated[str, OneOf(NAMES)] = "gaussian"
    span: Annotated[tuple[float, float], Interval()] = None  # type: ignore[assignment]
    together: Annotated[float, Within(0, 1)] = 0.0
    dominated: Annotated[int, AtLeast(0)] = 0
    trend: float = 0.0
    calendar: Annotated[float, AtLeast(0)] = 0.0
    calendar_arms: Annotated[float, AtLeast(0)] = 0.0
    period: Annotated[float, AtLeast(2)] = 100.0
    features: Annotated[int, AtLeast(0)] = 0
    feature_effect: Annotated[float, AtLeast(0)] = 0.2
    delay: Any = 0
    lost: Annotated[float, Within(0, 0.99)] = 0.0
    window: Annotated[int, Within(0, LARGEST_DELAY)] = 0
    learn: Annotated[str, OneOf(LEARN)] = LEARN[0]
    wrong: Annotated[float, Within(0, 0.5)] = 0.0
    wrong_reward: float = -1.0
    available: Annotated[float, Within(0.01, 1)] = 1.0
    stretch: Annotated[float, AtLeast(1)] = 200.0

    if TYPE_CHECKING:

        @property
        def arms(self) -> int:
            """Number of arms, a field of every world."""

    @abstractmethod
    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return how the means change."""

    def check(self) -> None:
        """Refuse what does not fit together; fill in what follows from the rest."""
        if self.span is None:
            self._set("span", DISTRIBUTIONS[self.rewards].span)
        self._set("delay", plain_delay(self.delay, self._owner))
        if self.dominated >= self.arms:
            raise self._refusal("dominated", f"less than the {self.arms} arms")
        if not DISTRIBUTIONS[self.rewards].noisy:
            for option in self._changed(*NOISE_OPTIONS):
                raise self._refusal(option, f"left out for {self.rewards} rewards")
        check_means(self._owner, "span", self.span, self.rewards)
        most = self.stretch / (self.stretch + 1)  # an arm is away for at least one round
        if self.available < 1 and self.available > most:
            raise self._refusal("available", f"1, or at most {most:g} with stretches of {self.stretch:g} rounds")
        self._check_effects()

    def _check_effects(self) -> None:
        """Refuse effects that could lead to means that the rewards cannot have."""
        rule = DISTRIBUTIONS[self.rewards].means
        if rule is None:
            return
        (low, high), reach = self.ends, self.calendar + self.calendar_arms + self.features * self.feature_effect
        for effect in self._changed(*EFFECTS):
            ends = (math.copysign(math.inf, self.trend),) if effect == "trend" else (low - reach, high + reach)
            if any(rule.refuses(round(end, 12) if math.isfinite(end) else end) for end in ends):  # 0.3 - 0.1 - 0.2 is 0
                field = "feature_effect" if effect == "features" else effect
                rest = f"such that means from {low:g} to {high:g} stay {rule} for {self.rewards} rewards"
                raise self._refusal(field, rest)

    def __repr__(self) -> str:
        fields = sorted(dataclasses.fields(self), key=lambda field: field.kw_only is True)  # its own first
        hidden = {"span"} if self.span == DISTRIBUTIONS[self.rewards].span else set()
        names = [name for name in self._changed(*(field.name for field in fields)) if name not in hidden]
        return f"{self._owner}({', '.join(f'{name}={_plain(getattr(self, name))!r}' for name in names)})"

    @property
    def _owner(self) -> str:
        return type(self).__name__

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _refusal(self, field: str, rule: object) -> InvalidValueError:
        return InvalidValueError(self._owner, field, getattr(self, field), rule)

    def _changed(self, *options: str) -> list[str]:
        """Return the options, of those that this world has, that are not at their default."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return [name for name in options if name in defaults and _plain(getattr(self, name)) != _plain(defaults[name])]

    @cached_property
    def _unusual(self) -> tuple[bool, bool, bool]:
        """Whether there are effects, whether the noise is unusual, and whether an exact filter is known for a chain."""
        effects, noise = bool(self._changed(*EFFECTS)), bool(self._changed(*NOISE_OPTIONS))
        late = self._changed("delay", "window", "wrong")
        return effects, noise, DISTRIBUTIONS[self.rewards].limit and not (effects or noise or late)

    @property
    def known_noise(self) -> float | None:
        """The noise of rewards, if one number says all about it: they are Gaussian, and alike for all arms, states and times."""
        usual = self.rewards == "gaussian" and self.group_noise is None and not self._unusual[1]
        return self.noise if usual else None

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest mean that it can have, before any effect."""
        return self.span

    def observed(self, states: np.ndarray, means: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return what a policy observes before it chooses, beside the features."""
        return np.zeros((len(means), 0))

    def state_noise(self, states: np.ndarray, seed: int, draw: int) -> np.ndarray | float:  # noqa: ARG002
        """Return how many times its usual size the noise of every round is, an array (rounds, 1) or a number."""
        return 1.0

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        states, means, chain, carryover = self.path(horizon, seed, draw, repeat)
        scales = group_scales(self._owner, self.noise, self.group_noise, groups)
        effects, unusual, filtered = self._unusual
        if effects:
            means, features = self._moved(means, seed, draw, repeat)
        context = self.observed(states, means)
        if unusual:
            rewards = self._noisy(means, scales, states, seed, draw, repeat)
        else:
            rewards = sampled(means, scales, self.rewards, seed, draw, repeat)
        truth = None
        if chain and filtered:  # a filter needs some noise
            truth = Truth(*chain, np.maximum(scales, 1e-9), self.rewards, carryover, self.lost)
        late = delays(horizon, self.delay, self.lost, seed, draw, repeat)
        if self.wrong > 0:
            rewards = mistaken(rewards, self.wrong, self.wrong_reward, seed, draw, repeat)
        if self.window > 0:
            rewards, late = within(late, self.window, self.learn, rewards)
        available = None
        if self.available < 1:
            random = stream(seed, Purpose.AVAILABLE, draw, repeat)
            available = come_and_go(horizon, self.arms, self.available, self.stretch, random)
        return Realisation(
            means,
            rewards,
            np.hstack([context, features]) if effects else context,
            states,
            truth,
            available,
            late,
        )

    def _moved(self, means: np.ndarray, seed: int, draw: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the means after all effects, and the observed features."""
        horizon = len(means)
        world = np.random.default_rng(stream(seed, Purpose.EFFECTS, draw))
        phase, sizes = world.random(self.arms), world.uniform(-1, 1, (self.features, self.arms))
        run = np.random.default_rng(stream(seed, Purpose.EFFECTS, draw, repeat))
        turns = run.random() + np.arange(horizon) / self.period  # it begins at any time of the calendar
        features = np.where(run.random((horizon, self.features)) < 0.5, -1.0, 1.0)
        common = self.trend / 1000 * np.arange(horizon) + self.calendar * np.sin(2 * np.pi * turns)
        own = self.calendar_arms * np.sin(2 * np.pi * (turns[:, None] + phase))
        return means + common[:, None] + own + features @ (self.feature_effect * sizes), features

    def _noisy(
        self, means: np.ndarray, scales: np.ndarray, states: np.ndarray, seed: int, draw: int, repeat: int
    ) -> np.ndarray:
        """Return Gaussian rewards with noise of any shape and size; the arms share it, since only one of them will be seen."""
        world = np.random.default_rng(stream(seed, Purpose.SHAPE, draw))
        size = unequal(world, self.uneven_arms, self.arms) * self.state_noise(states, seed, draw)
        if self.proportional > 0:
            middle = sum(abs(end) for end in self.ends) / 2
            size = size * (1 - self.proportional + self.proportional * np.abs(means) / middle)
        if self.changing_noise > 1:
            run = np.random.default_rng(stream(seed, Purpose.SHAPE, draw, repeat, 0))
            size = size * alternating(run, self.changing_noise, len(means))[:, None]
        generator = np.random.default_rng(stream(seed, Purpose.SHAPE, draw, repeat, len(scales)))
        noise = standardised(generator, self.noise_shape, self.autocorrelation, len(means), len(scales)) * scales
        rewards: np.ndarray = means[:, None, :] + noise[:, :, None] * np.broadcast_to(size, means.shape)[:, None, :]
        return rewards

    def dominate(self, levels: np.ndarray) -> np.ndarray:
        """Return levels from 0 to 1 (rounds or states, arms) in which the last arms are never above the first, if some are dominated."""
        last = self.arms - self.dominated
        return np.hstack([levels[:, :last], levels[:, :1] * levels[:, last:]])


def plain_delay(value: Any, owner: str) -> int | str:
    """Return a delay as an integer or a text, or refuse it.

    Examples
    --------
    >>> from latentbandits.worlds.base import plain_delay
    >>> plain_delay("20", "world"), plain_delay((20, 200), "world")
    (20, '20 to 200')
    """
    text = str(as_delay(value, owner))
    return int(text) if text.isdecimal() else text


def _plain(value: Any) -> Any:
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | tuple) else value
