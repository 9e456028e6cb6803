"""Logs made with NumPy alone, apart from the package's worlds: 35 kinds without regimes, logs with regimes, and the rules that log."""

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

RULES = ("uniform", "epsilon-greedy", "thompson", "ab-test", "ucb")
HOUR = 6  # rows
DAY = 24 * HOUR

Random = np.random.Generator


class Made(NamedTuple):
    """A log: the arms that were played, what they paid, and when; the expected rewards of all arms (rows, arms); the states, if any."""

    arms: np.ndarray
    rewards: np.ndarray
    times: np.ndarray
    means: np.ndarray
    states: np.ndarray

    def columns(self) -> dict[str, np.ndarray]:
        """Return it as the columns of a table."""
        return {"action": self.arms, "reward": self.rewards, "time": self.times}


def play(rule: str, pay: Callable[[int, int], float], rows: int, arms: int, random: Random) -> tuple[np.ndarray, ...]:
    """Return the arms that a rule plays and what they pay."""
    counts, sums, squares = np.zeros(arms), np.zeros(arms), 0.0
    played, rewards = np.zeros(rows, np.int64), np.zeros(rows)
    anything, luck = random.integers(arms, size=rows), random.random(rows)
    normal = random.standard_normal((rows, arms))
    for t in range(rows):
        arm = int(anything[t])
        if t >= 2 * arms and rule != "uniform":
            means = sums / np.maximum(counts, 1)
            spread = np.sqrt(max(squares / t - (sums.sum() / t) ** 2, 1e-12))
            if rule == "thompson":
                arm = int((means + spread * normal[t] / np.sqrt(np.maximum(counts, 0.1))).argmax())
            elif rule == "ucb":
                arm = int((means + spread * np.sqrt(2 * np.log(t) / np.maximum(counts, 0.1))).argmax())
            elif (rule == "epsilon-greedy" and luck[t] > 0.15) or (rule == "ab-test" and t >= rows // 5):
                arm = int(means.argmax())
        reward = pay(t, arm)
        played[t], rewards[t] = arm, reward
        counts[arm] += 1
        sums[arm] += reward
        squares += reward * reward
    return played, rewards


def ou(random: Random, rows: int, time: float, width: int = 1) -> np.ndarray:
    """Return paths of variance 1 that forget within a time, an array (rows, width)."""
    keep = np.exp(-1 / time)
    steps = random.standard_normal((rows, width)) * np.sqrt(1 - keep**2)
    steps[0] /= np.sqrt(1 - keep**2)
    for t in range(1, rows):
        steps[t] += keep * steps[t - 1]
    return np.asarray(steps)


def pieces(random: Random, rows: int, length: float, values: int, even: bool = False) -> np.ndarray:
    """Return values drawn anew in every piece of the log, an array (rows, values)."""
    ends = np.arange(rows) % int(length) == 0 if even else random.random(rows) < 1 / length
    number = np.cumsum(ends)
    return np.asarray(random.standard_normal((number[-1] + 1, values))[number])


def garch(random: Random, rows: int) -> np.ndarray:
    """Return noise whose size depends on the noise before."""
    noise, variance = random.standard_normal(rows), 1.0
    for t in range(rows):
        noise[t] *= np.sqrt(variance)
        variance = 0.05 + 0.1 * noise[t] ** 2 + 0.85 * variance
    return np.asarray(noise)


def flicker(random: Random, rows: int) -> np.ndarray:
    """Return 1/f noise of variance 1."""
    spectrum = np.fft.rfft(random.standard_normal(rows))
    made = np.fft.irfft(spectrum / np.sqrt(np.arange(len(spectrum)) + 1.0), rows)
    return np.asarray(made / made.std())


KINDS = (
    "iid", "ar", "ar-slow", "flicker", "ma", "t3", "cauchy-mix", "lognormal", "garch", "volatility", "counts", "rare-counts", "censored",
    "rounded", "ratings", "clicks", "rare-clicks", "rare-clicks-many", "drift", "drift-slow", "drift-shared", "walk", "trend", "trend-bent",
    "day", "cycle-36h", "two-cycles", "weekend", "sessions", "sessions-own", "batch-noise", "days-fresh", "fresh", "loadings", "fatigue",
    "feedback", "late-arm",
)  # fmt: skip


def null(kind: str, rows: int, draw: int) -> Made:
    """Return a log of a kind that has no regimes."""
    random = np.random.default_rng([zlib.crc32(kind.encode()), rows, draw])
    arms = (3, 2, 5, 4)[draw % 4]
    size = (0.15, 0.4)[draw // 4 % 2]
    base, t = np.tile(random.random(arms), (rows, 1)), np.arange(rows)
    shared, normal = np.zeros((rows, 1)), random.standard_normal(rows)
    noise = size * normal
    match kind:
        case "ar" | "ar-slow":
            noise = size * ou(random, rows, 4.0 if kind == "ar" else 30.0)[:, 0]
        case "flicker":
            noise = size * flicker(random, rows)
        case "ma":
            noise = size * np.convolve(random.standard_normal(rows + 11), np.ones(12) / np.sqrt(12), "valid")
        case "t3":
            noise = size * random.standard_t(3, rows) / np.sqrt(3)
        case "cauchy-mix":
            noise = np.where(random.random(rows) < 0.02, 10 * noise, noise)
        case "lognormal":
            noise = size * (np.exp(normal) - np.exp(0.5))
        case "garch":
            noise = size * garch(random, rows)
        case "volatility":
            noise = noise * np.exp(0.7 * ou(random, rows, 60.0)[:, 0])
        case "drift" | "drift-slow":
            base = base + 0.3 * ou(random, rows, 150.0 if kind == "drift" else 1500.0, arms)
        case "drift-shared":
            shared = 0.3 * ou(random, rows, 300.0)
        case "walk":
            base = base + 0.008 * np.cumsum(random.standard_normal((rows, arms)), axis=0)
        case "trend":
            base = base + random.normal(size=arms) * 0.5 * (t / rows)[:, None]
        case "trend-bent":
            base = base + random.normal(size=arms) * 0.8 * ((t / rows)[:, None] - 0.5) ** 2
        case "day":
            shared = 0.3 * np.sin(2 * np.pi * t / DAY)[:, None]
        case "cycle-36h":
            shared = 0.3 * np.sin(2 * np.pi * t / (1.5 * DAY))[:, None]
        case "two-cycles":
            angle = 2 * np.pi * t
            shared = (0.25 * np.sin(angle / (1.5 * DAY)) + 0.25 * np.sin(angle / (random.uniform(4, 9) * HOUR)))[
                :, None
            ]
        case "weekend":
            base = np.where((t // DAY % 7 >= 5)[:, None], random.random(arms), base)
        case "sessions":
            shared = 0.25 * pieces(random, rows, 40.0, 1)
        case "sessions-own":
            base = base + 0.25 * pieces(random, rows, 60.0, arms)
        case "batch-noise":
            shared = 0.25 * pieces(random, rows, 100, 1, even=True)
        case "days-fresh":
            base = base + 0.2 * pieces(random, rows, DAY, arms, even=True)
        case "fresh":
            base = base + 0.3 * pieces(random, rows, rows / 12, arms)
        case "loadings":
            base = base + 0.35 * ou(random, rows, 200.0) * random.uniform(0.0, 1.5, arms)
    expected = base + shared
    values = expected + noise[:, None]
    match kind:
        case "counts" | "rare-counts":
            expected = (0.3 if kind == "rare-counts" else 5.0) * base
            values = random.poisson(expected).astype(float)
        case "censored":
            values = np.clip(values, 0.3, 0.9)
        case "rounded":
            values = np.round(values, 1)
        case "ratings":
            values = np.clip(np.round(1 + 4 * base + random.standard_normal((rows, 1))), 1, 5)
        case "clicks" | "rare-clicks" | "rare-clicks-many":
            if kind == "rare-clicks-many":
                arms = 40
                base = np.tile(random.random(arms), (rows, 1))
            expected = base * (0.4 if kind == "clicks" else 0.02)
            values = (random.random((rows, 1)) < expected).astype(float)
    tired, last = np.zeros(arms), [0.0]

    def pay(now: int, arm: int) -> float:
        reward = float(values[now, arm])
        if kind == "fatigue":
            tired[:] *= 0.995
            tired[arm] += 1
            reward -= 0.6 * min(tired[arm] / 200, 1.0)
        elif kind == "feedback":
            reward += 0.5 * last[0]
            last[0] = reward - float(base[now, arm])
        elif kind == "late-arm" and arm == arms - 1 and now < rows // 2:
            return float(values[now, 0])
        return reward

    played, rewards = play(RULES[draw % len(RULES)], pay, rows, arms, random)
    if kind == "late-arm":
        played = np.where((played == arms - 1) & (t < rows // 2), 0, played)
    return Made(played, rewards, times(rows), expected, np.zeros(rows, np.int64))


def times(rows: int) -> np.ndarray:
    """Return a row every ten minutes, from a Monday on."""
    return np.datetime64("2026-03-02T00:00") + np.arange(rows) * np.timedelta64(60 // HOUR, "m")


def regimes(
    rows: int, draw: int, states: int = 3, arms: int = 3, dwell: float = 100.0, noise: float = 0.3, rule: str = "uniform",
    rates: tuple[float, float] | None = None,
) -> Made:  # fmt: skip
    """Return a log with regimes; with rates, of clicks between two rates."""
    random = np.random.default_rng([99, rows, draw, states, arms, int(dwell)])
    means = random.random((states, arms))
    path, now = np.zeros(rows, np.int64), int(random.integers(states))
    for t in range(rows):
        if random.random() < 1 / dwell:
            now = int((now + random.integers(1, states)) % states)
        path[t] = now
    if rates is None:
        expected = means[path]
        values = expected + noise * random.standard_normal((rows, 1))
    else:
        best = np.arange(states) % arms
        table = np.where(np.arange(arms)[None] == best[:, None], rates[1], rates[0])
        expected = table[path]
        values = (random.random((rows, 1)) < expected).astype(float)
    played, rewards = play(rule, lambda t, arm: float(values[t, arm]), rows, arms, random)
    return Made(played, rewards, times(rows), expected, path)
