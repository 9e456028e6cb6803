"""Logs for calibration: kinds of logs without regimes, rules that log, and logs with regimes; `python -m tests.logged` measures.

`nulls ROWS LOGS`, `power ROWS LOGS`, `covers LOGS` and `ranking LOGS` print what docs/logs.md quotes; a last number is the first seed.
"""

import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

import latentbandits as lb
from latentbandits.logs import posterior
from latentbandits.logs.log import Log
from latentbandits.protocols import Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.worlds.noise import alternating, standardised

NULLS = (
    "iid", "ar8", "ar95", "ma10", "t3", "skew", "lognormal", "outliers", "drift100", "drift300", "drift1000", "common-drift", "random-walk",
    "trend", "one-change", "three-changes", "hour", "office-hours", "weekend", "volatility", "uneven-noise", "clicks", "rare-clicks",
    "click-calendar", "rare-click-calendar", "ar8-t3", "drift300-t3", "lottery", "lottery-arm", "loud-level", "click-drift",
    "click-level-calendar",
)  # fmt: skip
FIRST = 7000  # seed that nobody looked at while the method was made
RULES = ("uniform", "epsilon-greedy", "ucb1", "d-ucb", "ab-test", "changing")
ARMS = (3, 2, 5)
# Written out, so that the same ones are played on the fit and on the truth
POLICIES = (
    "state-library", "scaled(cp-ts)",
    "scaled(glr-ucb)", "scaled(cusum-ucb)", "scaled(m-ucb)", "scaled(sw-ucb)", "scaled(d-ucb)", "scaled(ts)",
    "scaled(ucb1)", "epsilon-greedy", "scaled(exp3-s)", "ab-test:test=200",
)  # fmt: skip


def times_of(rows: int) -> np.ndarray:
    """Return a row every ten minutes, from a Monday on."""
    return np.datetime64("2026-01-05T00:00") + np.arange(rows) * np.timedelta64(10, "m")


def rewards_of(kind: str, rows: int, arms: int, random: np.random.Generator, draw: int) -> np.ndarray:
    """Return the rewards of all arms in all rounds, of a world without regimes: an array (rows, arms)."""
    times = times_of(rows)
    hour = (times - times.astype("datetime64[D]")) / np.timedelta64(1, "h")
    weekend = (times.astype("datetime64[D]").astype(np.int64) + 3) % 7 >= 5
    means = np.tile(random.random(arms), (rows, 1))
    open_now = (hour >= 9) & (hour < 17)
    if "click" in kind:
        share = 0.002 + 0.02 * means if kind.startswith("rare") else 0.6 * means
        if kind.endswith("calendar"):
            share = share * np.where(open_now, 1.5, 0.7)[:, None]
        if kind == "click-drift":
            share = 0.1 + 0.8 * lb.Drift(arms=arms, timescale=300.0).realise(rows, 1, draw, draw, 0).means.clip(0, 1)
        if "level" in kind:
            level = standardised(random, "normal", 0.99, rows, 1)
            share = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + level)))
        return (random.random(rows)[:, None] < share).astype(float)
    noise = random.standard_normal(rows)
    size = float(random.choice([0.1, 0.5]))
    if kind in ("ar8", "ar95", "ar8-t3"):
        shape = "t3" if kind.endswith("t3") else "normal"
        noise = standardised(random, shape, 0.95 if kind == "ar95" else 0.8, rows, 1)[:, 0]
    elif kind == "ma10":
        noise = np.convolve(random.standard_normal(rows + 9), np.ones(10) / np.sqrt(10), "valid")
    elif kind in ("t3", "outliers", "drift300-t3"):
        noise = standardised(random, kind.removeprefix("drift300-"), 0.0, rows, 1)[:, 0]
    elif kind.startswith("lottery"):  # two prizes, at random
        prize = 3.0 * (random.random(rows) < random.uniform(0.1, 0.5))
        means = means + size * prize[:, None] * (np.arange(arms) == arms - 1 if kind == "lottery-arm" else 1)
    elif kind == "loud-level":
        level = standardised(random, "normal", 0.98, rows, 1)[:, 0]
        noise = level + noise * alternating(random, 3.0, rows)
    elif kind == "skew":
        noise = random.exponential(size=rows) - 1
    elif kind == "lognormal":
        noise = np.exp(0.8 * noise) - np.exp(0.32)
    if kind.startswith("drift"):
        means = lb.Drift(arms=arms, timescale=float(kind[5:].removesuffix("-t3"))).realise(rows, 1, draw, draw, 0).means
    elif kind == "common-drift":
        means = means + lb.Drift(timescale=700.0).realise(rows, 1, draw, draw, 0).means[:, :1]
    elif kind == "random-walk":
        means = means + 0.01 * np.cumsum(random.standard_normal((rows, arms)), axis=0)
    elif kind == "trend":
        means = means + np.linspace(0, 0.5, rows)[:, None] * random.normal(size=arms)
    elif kind in ("one-change", "three-changes"):
        for place in np.sort(random.integers(rows // 10, 9 * rows // 10, 1 if kind == "one-change" else 3)):
            means[place:] = random.random(arms)
    elif kind == "hour":
        means = means + 0.3 * np.sin(2 * np.pi * hour / 24)[:, None]
    elif kind in ("office-hours", "weekend"):
        means = np.where((weekend if kind == "weekend" else open_now)[:, None], random.random(arms), means)
    elif kind == "volatility":
        noise = noise * alternating(random, 5.0, rows)
    factors = np.array([0.2, 1.0, 3.0, 0.5, 2.0])[:arms] if kind == "uneven-noise" else np.ones(arms)
    return np.asarray(means + size * factors * noise[:, None])


def played(rewards: np.ndarray, rule: str, random: np.random.Generator, draw: int) -> np.ndarray:
    """Return the arms that a rule plays."""
    rows, arms = rewards.shape
    anything = random.integers(arms, size=rows)
    if rule == "uniform":
        return np.asarray(anything)
    if rule == "changing":  # uniform at first, then mostly one arm
        favourite = np.where(random.random(rows) < 0.8, random.integers(arms), anything)
        return np.where(np.arange(rows) < rows // 2, anything, favourite)
    spec = "ab-test:test=1000" if rule == "ab-test" else f"scaled({rule})"
    realisation = lb.Replay(rewards).realise(rows, 1, 0, 0, 0)
    return record_one(lb.policy(spec, arms=arms), realisation, stream(draw))[0][:, 0]


def as_log(rewards: np.ndarray, arms: np.ndarray, dated: bool = True) -> Log:
    """Return a log of the arms that were played."""
    rows = np.arange(len(arms))
    data = {"action": arms, "reward": rewards[rows, arms]}
    read = Log.read(data)
    made = {"times": times_of(len(arms))} if dated else {}
    return Log(read.arms, read.played, read.rewards, **made, gaps=np.ones(len(arms)))  # type: ignore[arg-type]


def null_logs(rows: int, logs: int, first: int = 0) -> Iterator[tuple[str, int, Log]]:
    """Return logs of all kinds without regimes, each with another number of arms and another rule."""
    for kind in NULLS:
        for draw in range(first, first + logs):
            random = np.random.default_rng([zlib.crc32(kind.encode()), rows, draw])
            rewards = rewards_of(kind, rows, ARMS[draw % len(ARMS)], random, draw)
            arms = played(rewards, RULES[draw % len(RULES)], random, draw)
            if len(np.unique(arms)) > 1:
                yield kind, draw, as_log(rewards, arms)


class Recovered(NamedTuple):
    """What was recovered of a log with regimes; `matched` is the cover of means in all states that were found, however many."""

    found: bool
    counted: int
    states: int
    dwell_error: float
    timeline: float
    mean_cover: float
    dwell_cover: float
    gain_cover: float
    matched: float


def regime_log(
    rows: int, dwell: float, noise: float, draw: int, arms: int = 3, states: int = 0
) -> tuple[Log, lb.HiddenMarkov, Realisation]:
    """Return a log with regimes, of 2 to 10 states unless they are given, and its truth."""
    states = states or int((2, 3, 5, 10)[draw % 4])
    means = np.random.default_rng([17, draw, states]).random((states, arms))
    world = lb.HiddenMarkov(means=means, dwell=dwell, noise=noise)
    realisation = world.realise(rows, 1, 1000 + draw, 0, 0)
    random = np.random.default_rng([18, draw])
    rewards = realisation.rewards[:, 0]
    rule = ("uniform", "epsilon-greedy", "ucb1")[draw % 3]
    return as_log(rewards, played(rewards, rule, random, draw)), world, realisation


def recovered(rows: int, dwell: float, noise: float, draw: int, arms: int = 3, states: int = 0) -> Recovered:
    """Return what a diagnosis recovers of a log with regimes."""
    log, world, truth = regime_log(rows, dwell, noise, draw, arms, states)
    d = lb.diagnose(log)
    nan = float("nan")
    if not d.regimes or d.model is None or d.samples is None:
        return Recovered(False, 0, world.states, nan, nan, nan, nan, nan, nan)
    near = ((d.model.means[:, None, :] - world.means[None]) ** 2).sum(axis=2)
    mine, true = linear_sum_assignment(near)
    match = np.full(d.model.num_states, -1)
    match[mine] = true
    timeline = float((match[d.path] == truth.states).mean())
    low, high = posterior.credible_interval(d.means_sampled)
    tried = d.model.tried >= 1
    matched = ((low[mine] <= world.means[true]) & (world.means[true] <= high[mine]))[tried[mine]].mean()
    if d.model.num_states != world.states:
        return Recovered(True, d.model.num_states, world.states, nan, timeline, nan, nan, nan, float(matched))
    order = true[np.argsort(mine)]
    inside = ((low <= world.means[order]) & (world.means[order] <= high))[tried]
    dwell_low, dwell_high = posterior.credible_interval(d.samples.dwell)
    shares = np.full(world.states, 1 / world.states)
    gain = float(posterior.gain(world.means, shares))
    error = float(np.median(np.abs(d.model.dwell / dwell - 1)))
    covered = float(((dwell_low <= dwell) & (dwell <= dwell_high)).mean())
    return Recovered(
        True,
        d.model.num_states,
        world.states,
        error,
        timeline,
        float(inside.mean()),
        covered,
        float(d.gain[1] <= gain <= d.gain[2]),
        float(matched),
    )


def nulls(rows: int, logs: int, first: int = FIRST) -> tuple[int, int]:
    """Print and count the false alarms among logs of every kind without regimes."""
    alarms, total, named, nearest = 0, 0, Counter[str](), float("-inf")
    for kind, draw, log in null_logs(rows, logs, first):
        d = lb.diagnose(log)
        total += 1
        nearest = float("-inf") if draw == first else nearest
        nearest = max(nearest, d.conclusion.margin - d.conclusion.needed)
        named[f"{kind}: {d.conclusion.kind}"] += 1
        if d.regimes:
            alarms += 1
            margin = f"margin {d.conclusion.margin:.0f} of {d.conclusion.needed:.0f}"
            print(f"false alarm: {kind}, {rows} rows, draw {draw}, {margin}", flush=True)
        if draw == first + logs - 1:
            print(f"{kind}: {alarms} false alarms of {total} so far; nearest {nearest:.0f} nats", flush=True)
    print(dict(sorted(named.items())))
    print(f"{rows} rows: {alarms} false alarms of {total}")
    return alarms, total


def power(rows: int, logs: int, first: int = FIRST) -> None:
    """Print how often regimes are found and what is recovered of them."""
    for dwell in (100.0, 20.0, 500.0):
        for noise in (0.1, 0.5):
            got = [recovered(rows, dwell, noise, draw) for draw in range(first, first + logs)]
            show(f"{rows} rows, dwell {dwell:.0f}, noise {noise}", got)


def covers(logs: int, first: int = FIRST) -> list[Recovered]:
    """Print how often intervals contain the truth of logs with three states and with ten, and 2 to 10 arms."""
    got = []
    for states in (3, 10):
        for noise in (0.1, 0.5):
            part = [
                recovered(10_000, 100.0, noise, 100 * states + draw, arms, states)
                for draw in range(first, first + logs)
                for arms in (2, 3, 6, 10)
            ]
            show(f"{states} states, noise {noise}", part)
            got += part
    return got


def show(title: str, got: list[Recovered]) -> None:
    """Print what was recovered of some logs."""
    found = [one for one in got if one.found]
    right = [one for one in found if one.counted == one.states]
    averages = {
        name: round(float(np.nanmean([getattr(one, name) for one in chosen])), 2) if chosen else None
        for name, chosen in (
            ("timeline", found),
            ("matched", found),
            ("dwell_error", right),
            ("mean_cover", right),
            ("dwell_cover", right),
            ("gain_cover", right),
        )
    }
    print(f"{title}: found {len(found)} of {len(got)}, states right {len(right)}; {averages}", flush=True)


def ranking(logs: int, first: int = FIRST) -> tuple[float, float]:
    """Print how well policies that are simulated on a fit are ranked: rank correlation with the truth, and what the pick costs."""
    correlations, picks = [], []
    for draw in range(first, first + logs):
        log, world, _ = regime_log(4000, 100.0, 0.3, draw)
        d = lb.diagnose(log)
        if not d.regimes:
            continue
        said = d.compare(POLICIES, horizon=2000, runs=48).regret
        truth = lb.compare(world, POLICIES, horizon=2000, runs=48, seed=5).regret
        guess, real = (np.array([one[label].mean() for label in POLICIES]) for one in (said, truth))
        correlations.append(float(spearmanr(guess, real).statistic))
        picks.append(float(real[guess.argmin()] / real.min()))
    within = float(np.mean(np.array(picks) <= 1.05))
    print(
        f"{len(picks)} of {logs} logs with the margin: rank correlation {np.mean(correlations):.3f}, pick within 5 % of the best in "
        f"{within:.0%}, worst pick {max(picks):.2f} times"
    )
    return float(np.mean(correlations)), within


if __name__ == "__main__":
    commands: dict[str, Callable[..., object]] = {
        "nulls": nulls,
        "power": power,
        "covers": covers,
        "ranking": ranking,
    }
    commands[sys.argv[1]](*map(int, sys.argv[2:]))
