"""A log as numbers that a model can be fitted to; what it must have before anything can be said, and what a reader should know of it."""

from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import ndtri
from scipy.stats import rankdata

from latentbandits.logs.log import Log
from latentbandits.presentation.numbers import percent
from latentbandits.settings import InvalidValueError

OWNER = "diagnose"
FEWEST, RARE = 500, 20  # rows in all, and of an arm
TIED = 0.3  # share of rewards that are one value, at most; of grades
MOST_TIED, MOST_GRADES = 0.7, 20
FLATTEST = 1e-6  # deviation of the rewards in units of the largest: below, sums of squares lose it
UNEVEN = 2.0
WEEKS = 14
# The median of |x - y| of two standard normal numbers
MEDIAN_DIFFERENCE = 0.9539
FEWEST_PAIRS = 20
# A clipped reward is no further than this many times the noise from the median of those of its arm around it
CLIPPED, AROUND = 4.0, 15
HIDDEN = "Did whoever chose the arms see something that is not in the log? Then the means of its states are off."


class Series(NamedTuple):
    """The rows of a log, in order of time.

    Attributes
    ----------
    arms : int array (rows,)
    values : array (rows,), rewards, divided by the noise of their arm unless they are 0 and 1
    gaps : array (rows,), rounds since the row before: 0 for rows of one round, 1 for the next one
    noise : array (arms,), what the rewards of every arm were divided by
    binary : whether rewards are 0 and 1
    logit_offset : array (rows,), what is added to the log-odds of rewards of 0 and 1; empty for nothing
    """

    arms: np.ndarray
    values: np.ndarray
    gaps: np.ndarray
    noise: np.ndarray
    binary: bool
    logit_offset: np.ndarray = np.zeros(0)

    @classmethod
    def of(cls, arms: np.ndarray, rewards: np.ndarray, gaps: np.ndarray, count: int) -> Self:
        """Return the series of a log.

        Examples
        --------
        >>> import numpy as np
        >>> from latentbandits.logs.series import Series
        >>> random = np.random.default_rng(0)
        >>> arms = random.integers(2, size=5000)
        >>> series = Series.of(arms, random.normal(size=5000) * np.array([1.0, 5.0])[arms], np.ones(5000), 2)
        >>> series.noise.round(1).tolist(), round(float(series.values.std()), 1)
        ([1.0, 5.0], 1.0)
        """
        binary = bool(np.isin(rewards, (0.0, 1.0)).all())
        step = grade_step(rewards)
        if step and not binary:  # spread evenly over their step, so that ratings and counts have a density
            rewards = rewards + step * (np.random.default_rng(0).random(len(rewards)) - 0.5)
        noise = np.ones(count) if binary else arm_noise(arms, rewards, gaps, count)
        return cls(arms.astype(np.int64), rewards / noise[arms], gaps.astype(np.float64), noise, binary)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def width(self) -> int:
        """Number of arms."""
        return len(self.noise)

    @property
    def tried(self) -> np.ndarray:
        """Number of rows of every arm."""
        return np.bincount(self.arms, minlength=self.width).astype(float)

    @property
    def centres(self) -> np.ndarray:
        """Mean of every arm, without what is added to its log-odds; that of all rows for an arm without any."""
        if len(self.logit_offset):
            return self._logit_centres()
        tried = self.tried
        sums = np.bincount(self.arms, self.values, minlength=self.width)
        return np.asarray(np.where(tried > 0, sums / np.maximum(tried, 1), self.values.mean()))

    def _logit_centres(self) -> np.ndarray:
        """Return the mean of every arm where nothing is added to its log-odds, by Newton's method."""
        plain = np.clip(self._replace(logit_offset=np.zeros(0)).centres, 1e-4, 1 - 1e-4)
        logits = np.log(plain / (1 - plain))
        for _ in range(8):
            share = 1 / (1 + np.exp(-(logits[self.arms] + self.logit_offset)))
            slope = np.bincount(self.arms, self.values - share, minlength=self.width)
            curve = np.bincount(self.arms, share * (1 - share), minlength=self.width)
            logits = logits + np.clip(slope / np.maximum(curve, 1e-9), -1, 1)
        return np.asarray(1 / (1 + np.exp(-logits)))

    @property
    def shares(self) -> np.ndarray:
        """The mean of every row if nothing changes but what is added to its log-odds; of rewards of 0 and 1."""
        share: np.ndarray = np.clip(self.centres, 1e-12, 1 - 1e-12)[self.arms]
        if not len(self.logit_offset):
            return share
        return np.asarray(1 / (1 + np.exp(-(np.log(share / (1 - share)) + self.logit_offset))))

    @property
    def spreads(self) -> np.ndarray:
        """Standard deviation of every arm; that of all rows around their arms' means for an arm with too few."""
        around = (self.values - self.centres[self.arms]) ** 2
        tried = self.tried
        own = np.bincount(self.arms, around, minlength=self.width) / np.maximum(tried, 1)
        return np.asarray(np.sqrt(np.where(tried >= FEWEST_PAIRS, own, around.mean()) + 1e-12))

    def standardise(self) -> Self:
        """Return the same rows for models of normal rewards: those of 0 and 1 around their mean, in units of the deviation of their arm.

        Not in units of their own: a click where hardly any is expected would be an outlier, and sums of plain distances show best
        whether log-odds have moved.
        """
        if not self.binary:
            return self
        shares = self.shares
        variances = np.bincount(self.arms, shares * (1 - shares), minlength=self.width) / np.maximum(self.tried, 1)
        deviations = np.sqrt(np.maximum(variances, 1e-6))
        values = (self.values - shares) / deviations[self.arms]
        return self._replace(values=values, noise=deviations, binary=False, logit_offset=np.zeros(0))

    def clip_outliers(self) -> Self:
        """Return the same rows without outliers: each is moved to some noise from the median of the rewards of its arm around it."""
        values = self.values.copy()
        for arm in range(self.width):
            rows = np.flatnonzero(self.arms == arm)
            if len(rows) > 2 * AROUND:
                own = values[rows]
                middle = median_filter(own, 2 * AROUND + 1, mode="nearest")
                noise = max(float(np.median(np.abs(np.diff(own)))) / MEDIAN_DIFFERENCE, 0.5 * float(own.std()))
                values[rows] = np.clip(own, middle - CLIPPED * noise, middle + CLIPPED * noise)
        return self._replace(values=values)

    def rank_normalise(self) -> Self:
        """Return the same rows with rewards that are normal by their order within their arm: time is left, shape and noise are not."""
        values = np.empty(self.rows)
        for arm in range(self.width):
            rows = np.flatnonzero(self.arms == arm)
            values[rows] = ndtri((rankdata(self.values[rows]) - 0.5) / max(len(rows), 1))
        return self._replace(values=values)

    @property
    def one_hot(self) -> np.ndarray:
        """A column per arm, 1 where it was played."""
        return np.asarray(np.eye(self.width)[self.arms])

    def select(self, rows: slice) -> Self:
        """Return some rows."""
        return self._replace(
            arms=self.arms[rows],
            values=self.values[rows],
            gaps=self.gaps[rows],
            logit_offset=self.logit_offset[rows] if len(self.logit_offset) else self.logit_offset,
        )

    def subtract(self, offsets: np.ndarray) -> Self:
        """Return what is left when offsets are taken out of the values, or added to the log-odds of rewards of 0 and 1."""
        if not self.binary:
            return self._replace(values=self.values - offsets)
        return self._replace(logit_offset=offsets + self.logit_offset if len(self.logit_offset) else offsets)


def grade_step(rewards: np.ndarray) -> float:
    """Return the step of rewards that are grades, such as ratings and small counts; 0 if they are not.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.series import grade_step
    >>> grade_step(np.array([1.0, 5.0, 4.0, 5.0])), grade_step(np.array([0.0, 9.99, 4.99]))
    (1.0, 0.0)
    """
    values = np.unique(rewards)
    if not 2 < len(values) <= MOST_GRADES:
        return 0.0
    steps = np.diff(values) / np.diff(values).min()
    even = np.allclose(steps, np.round(steps), rtol=0, atol=1e-6) and steps.sum() < MOST_GRADES
    return float(np.diff(values).min()) if even else 0.0


def arm_noise(arms: np.ndarray, rewards: np.ndarray, gaps: np.ndarray, count: int) -> np.ndarray:
    """Return the noise of every arm: the median size of the difference of two rewards of one arm in successive rounds, as a deviation.

    Pairs that are further apart would take changes of the mean for noise, differently for arms that are played more or less often. An arm
    with too few pairs in successive rounds has the noise of all pairs that follow each other; one whose rewards hardly differ, theirs.
    """
    noise = np.empty(count)
    for arm in range(count):
        rows = np.flatnonzero(arms == arm)
        steps = np.diff(rewards[rows])
        next_row = (np.diff(rows) == 1) & (gaps[rows[1:]] <= 1) if len(rows) > 1 else np.zeros(0, bool)
        pairs = steps[next_row] if next_row.sum() >= FEWEST_PAIRS else steps
        estimate = float(np.median(np.abs(pairs))) / MEDIAN_DIFFERENCE if len(pairs) else 0.0
        noise[arm] = estimate if estimate > 0 else float(np.std(rewards[rows])) if len(rows) else 0.0
    usual = float(np.median(noise[noise > 0])) if (noise > 0).any() else 1.0
    return np.where(noise > 1e-9 * usual, noise, usual)


def check_log(log: Log) -> None:
    """Refuse a log that is too short, that pays one number only, or whose arms never overlap in time."""
    if len(log) < FEWEST:
        raise InvalidValueError(OWNER, "rows", len(log), f"at least {FEWEST}")
    if len(log.arms) < 2:
        raise InvalidValueError(OWNER, "arms", list(log.arms), "at least two")
    if np.ptp(log.rewards) == 0:
        raise InvalidValueError(OWNER, "rewards", float(log.rewards[0]), "not the same in all rows")
    size = float(np.abs(log.rewards).max())
    if np.std(log.rewards) < FLATTEST * size:
        rule = f"a millionth of their size, {size:g}, or more: subtract a constant from them"
        raise InvalidValueError(OWNER, "spread of the rewards", float(np.std(log.rewards)), rule)
    tried = np.bincount(log.played, minlength=len(log.arms))
    if tried[tried >= RARE].sum() < 0.5 * len(log):
        rule = f"few enough for most rows to be of arms with at least {RARE} rewards (is this the column of the arm?)"
        raise InvalidValueError(OWNER, "arms", len(log.arms), rule)
    ends = sorted(tuple(np.flatnonzero(log.played == arm)[[0, -1]]) for arm in range(len(log.arms)))
    if all(earlier[1] < later[0] for earlier, later in pairwise(ends)):
        rule = "played in turns: here each arm ends before the next begins, so that time and arm cannot be told apart"
        raise InvalidValueError(OWNER, "arms", list(log.arms), rule)
    values, counts = np.unique(log.rewards, return_counts=True)
    most = MOST_TIED if grade_step(log.rewards) else TIED
    if len(values) > 2 and counts.max() > most * len(log):
        place = int(counts.argmax())
        share, value = percent(counts.max() / len(log)), float(values[place])
        above = float(values[place - 1]) if place == len(values) - 1 else value  # so that both sides have some
        rule = (
            f"spread out, or 0 and 1: {share} are {value:g} (log.above({above:g}), or --above {above:g}, makes 0 and 1)"
        )
        raise InvalidValueError(OWNER, "rewards", "mostly one value", rule)
    if len(values) == 2 and values.tolist() != [0.0, 1.0]:
        low = float(values[0])
        rule = f"0 and 1, or more than two numbers (log.above({low:g}), or --above {low:g}, makes 0 and 1)"
        raise InvalidValueError(OWNER, "rewards", values.tolist(), rule)


def list_flags(log: Log, noise: np.ndarray, binary: bool) -> list[str]:
    """Return what a reader should know, as sentences."""
    sentences = []
    tried = np.bincount(log.played, minlength=len(log.arms))
    rare = [str(name) for name, rows in zip(log.arms, tried, strict=True) if rows < RARE]
    if rare:
        them = "it" if len(rare) == 1 else "them"
        sentences.append(f"Fewer than {RARE} rewards of {', '.join(rare)}: nothing can be said of {them}.")
    if not binary and noise.max() > UNEVEN * noise.min():
        low, high = str(log.arms[int(noise.argmin())]), str(log.arms[int(noise.argmax())])
        sentences.append(f"The arms differ in noise: {high} has {noise.max() / noise.min():.1f} times that of {low}.")
    if not log.dated:
        sentences.append("There are no dates, so the calendar could not be ruled out.")
    elif log.times is not None and (log.times[-1] - log.times[0]) < np.timedelta64(WEEKS, "D"):
        sentences.append(f"The log lasts less than {WEEKS} days, so that weekdays could not be told from regimes.")
    paused = int((log.gaps > 1).sum())
    if paused:
        many = f"{paused:,} pauses: over each of them" if paused > 1 else "A pause: over it"
        sentences.append(f"{many} the state may have changed unseen.")
    return [*sentences, HIDDEN]
