"""The slow twin of ArmLibrary, written from its formulas: lists and dictionaries, sharing no code with the package."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.naive import Draws, Floats, first_best
from tests.naive_noise import NaiveNoise

HAZARDS = [2.0 ** -(j + 2) for j in range(11)]
RATES = [0.0, 1e-4, 1e-3, 1e-2, 1e-1]
Known = list[dict[str, float]]
Hypothesis = dict[str, Any]


def density(away: float, variance: float) -> float:
    return math.exp(-(away**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


class Looked(NamedTuple):
    """The arm to play, why, and what arms are expected to pay."""

    arm: int
    reasons: frozenset[str]
    values: dict[int, float]


class Arm:
    """One arm: when it was asked and seen, hypotheses about its levels, evidence on its hazard, and Kalman filters."""

    def __init__(self) -> None:
        self.asked = self.last = self.rewards = 0
        self.hypotheses: list[Hypothesis] = []
        self.evidence = [0.0] * 11
        self.chance = [0.0] * 11
        self.hazard = 0.0
        self.kalman = [[0.0, 0.0] for _ in RATES]
        self.atoms: list[tuple[float, float, float]] = []


class Rewards:
    """What is known of rewards in general: their values, and the range of levels."""

    def __init__(self) -> None:
        self.seen: list[float] = []
        self.ends: list[float] = []
        self.levels: list[float] = []

    def see(self, reward: float, early: bool) -> None:
        if reward not in self.seen and len(self.seen) < 3:
            self.seen.append(reward)
        self.ends = [min([reward, *self.ends]), max([reward, *self.ends])]
        if early:
            self.add(reward)

    def add(self, level: float) -> None:
        self.levels = [min([level, *self.levels]), max([level, *self.levels])]

    @property
    def two(self) -> bool:
        return len(self.seen) == 2

    @property
    def width(self) -> float:
        return self.levels[1] - self.levels[0] if self.levels else 0.0

    def of_level(self, average: float, number: float, reward: float, sd: float) -> float:
        """Likelihood at a level known by some rewards."""
        if self.two:
            low, high = self.ends
            chance = (number * (average - low) / (high - low) + 0.5) / (number + 1)
            return chance if reward > low else 1 - chance
        return density(reward - average, sd**2 * (1 + 1 / number))

    def of_new(self, reward: float, sd: float) -> float:
        """Likelihood at a level never seen: normal around the middle of the range, with 0.35 of its width."""
        return 0.5 if self.two else density(reward - sum(self.levels) / 2, (0.35 * self.width) ** 2 + sd**2)

    def new_level(self, reward: float, sd: float) -> dict[str, float]:
        prior = 0.0 if self.two else (sd / (0.35 * self.width)) ** 2
        average = (reward + prior * sum(self.levels) / 2) / (1 + prior)
        return {"average": average, "rewards": 1 + prior, "visits": 0.0, "left": 0.0, "rounds": 0.0}


def learn(level: dict[str, float], reward: float, weight: float) -> None:
    level["rewards"] += weight
    level["average"] += weight / level["rewards"] * (reward - level["average"])
    level["rewards"] = min(level["rewards"], 500)


def shares(levels: Known, hazard: float) -> list[float]:
    """Shares of time of all levels, and of levels never seen, which come last."""
    usual = 2 / hazard
    times = [level["visits"] * (level["rounds"] + usual) / (level["left"] + 1) for level in levels]
    singles = sum(level["visits"] < 1.5 for level in levels)
    times.append(usual * (0.125 + 0.5 * max(0, singles - 1)))
    total = sum(times)
    return [time / total for time in times]


def renewal(atoms: Sequence[tuple[float, float, float]], hazard: float, sd: float) -> float:
    """The highest index over all sets of the highest levels, or the mean; each atom is a value, and its chance now and usually."""
    total, everything = sum(p for _, p, _ in atoms), sum(q for _, _, q in atoms)
    best = sum(v * p for v, p, _ in atoms) / total
    for size in range(1, len(atoms)):
        high, low = atoms[:size], atoms[size:]
        p = sum(p for _, p, _ in high)
        if p < 1e-9 or high[-1][0] == low[0][0]:
            continue
        above = sum(v * p for v, p, _ in high) / p
        rest, usual = sum(p for _, p, _ in low), sum(q for _, _, q in low)
        fall = sum(v * q for v, _, q in low) / usual if usual > 1e-9 else low[-1][0]
        fail = sum(v * p for v, p, _ in low) / rest if rest > 1e-9 else fall
        p, share = min(p / total, 1), sum(q for _, _, q in high) / everything
        below = (1 - p) * fail + p * fall
        if above > below:
            gain = p + (share - p) * math.log(max(1 - p / share, 1e-12)) if p < share else p
            looks = 1 + 2 * (sd / (above - below)) ** 2
            best = max(best, below + (above - below) * gain / (gain + looks * hazard * (1 - min(p, share))))
    return best


class Levels:
    """Filters per arm, a renewal index, and other explanations: what all of them say of a reward, and of the arm to play."""

    def __init__(self, arms: int) -> None:
        self.arms, self.rewards = [Arm() for _ in range(arms)], Rewards()
        self.now = self.longest = 0
        self.begin()

    def begin(self) -> None:
        """Begin again, but for when arms were asked for and which values rewards have."""
        self.rewards.levels = []
        for arm in self.arms:
            asked = arm.asked
            vars(arm).update(vars(Arm()))
            arm.asked = asked
        self.score = [math.log(0.1)] * 5 + [math.log(0.5)]

    def tell(self, noise: float) -> None:
        self.sd = max(noise, 1e-3 * self.rewards.width)

    @property
    def weights(self) -> list[float]:
        weights = [math.exp(score) for score in self.score]
        return [weight / sum(weights) for weight in weights]

    def untried(self, arm: Arm) -> float | None:
        """The index of an arm of which too little is known; None for others."""
        if arm.rewards == 1 and arm.asked <= arm.last:
            return 2e300
        if arm.rewards >= 2 and self.rewards.width > 0:
            return None
        share = 0.5 * arm.asked / self.now
        return -1e300 * (0.5 + share) if 0 < self.now - arm.asked <= self.longest else 1e300 * (1 - share)

    def scores(self, arm: Arm, rounds: float) -> tuple[float, float]:
        """The value and the index of an arm."""
        gap = self.now - arm.last
        stay = (1 - arm.hazard) ** gap
        atoms = [(v, stay * p + (1 - stay) * q, q) for v, p, q in arm.atoms]
        values, indices = [], []
        for rate, (average, variance) in zip(RATES, arm.kalman, strict=True):
            moved = variance + rate * gap  # in units of the noise's
            width = 2.0 if rate else math.sqrt(1 + 2 * max(0.0, math.log(rounds * moved)))
            values.append(average)
            indices.append(average + width * self.sd * math.sqrt(moved))
        values.append(sum(v * p for v, p, _ in atoms))
        indices.append(renewal(atoms, arm.hazard, self.sd))
        if arm.last < arm.asked and self.now - arm.asked <= self.longest:
            indices = values  # a look is under way
        weights = self.weights
        return tuple(sum(w * x for w, x in zip(weights, xs, strict=True)) for xs in (values, indices))  # type: ignore[return-value]

    def look(self, noise: float, available: Sequence[int], effects: Sequence[float] | None = None) -> Looked:
        """Return the arm to play, why, and the values and indices of all that are known well enough."""
        self.tell(noise)
        values, indices = {}, {}
        for number in available:
            first = self.untried(self.arms[number])
            if first is None:
                values[number], indices[number] = self.scores(self.arms[number], self.now / len(available))
            else:
                indices[number] = first
        for number, effect in enumerate(effects or ()):
            if number in values:
                values[number] += effect
                indices[number] += effect
        best = first_best(available, indices)
        reasons: frozenset[str] = frozenset()
        if len(available) > 1:
            idle = {number: self.now - self.arms[number].asked for number in available}
            stalest = first_best(available, idle)
            if best not in values:
                reasons = frozenset({"untried"})
            elif idle[stalest] > 0.4 * self.now + 30 * len(available):
                best, reasons = stalest, frozenset({"staleness"})
            elif max(values.values()) > values[best]:
                reasons = frozenset({"rival"})
        return Looked(best, reasons, values)

    def hear(self, number: int, when: int, reward: float, noise: float) -> float | None:
        """Learn a reward; returns how likely it was, None if nothing was expected."""
        arm, expected = self.arms[number], None
        self.rewards.see(reward, arm.rewards < 2)
        self.tell(noise)
        gap, late = abs(when - arm.last), when < arm.last
        arm.last = max(arm.last, when)
        arm.rewards += 1
        if arm.rewards == 1:
            level = {"average": reward, "rewards": 1.0, "visits": 1.0, "left": 0.0, "rounds": 0.0}
            arm.hypotheses = [{"weight": 1.0, "present": 0, "levels": [level], "shares": []}]
            arm.kalman = [[reward, 1.0] for _ in RATES]
        elif self.rewards.width > 0:
            out = 1 / (self.rewards.width + 6 * self.sd)
            likes = [*self.learn_drift(arm, gap, late, reward, out), self.learn_levels(arm, gap, late, reward, out)]
            expected = sum(weight * like for weight, like in zip(self.weights, likes, strict=True))
            self.score = [
                s + (0.1 if gap == 1 else 1) * math.log(like) for s, like in zip(self.score, likes, strict=True)
            ]
            if arm.rewards % 32 == 0:
                for hypothesis in arm.hypotheses:
                    self.merge(hypothesis)
            self.score = [max(s - max(self.score), -25) for s in self.score]
        self.settle(arm)
        return expected

    def learn_drift(self, arm: Arm, gap: int, late: bool, reward: float, out: float) -> list[float]:
        likes = []
        for rate, kalman in zip(RATES, arm.kalman, strict=True):
            average, variance = kalman
            moved, noise = rate * gap, 1.0
            variance, noise = (variance, noise + moved) if late else (variance + moved, noise)
            gain = variance / (variance + noise)
            if self.rewards.two:
                number = min(1 / variance, 1e6)
                like = min(max(self.rewards.of_level(average, number, reward, self.sd), 1e-6), 1)
            else:
                good = 0.99 * density(reward - average, (variance + noise) * self.sd**2)
                like = good + 0.01 * out
                gain *= good / like
            kalman[:] = average + gain * (reward - average), variance * (1 - gain)
            likes.append(like)
        return likes

    def learn_levels(self, arm: Arm, gap: int, late: bool, reward: float, out: float) -> float:
        two, stay = self.rewards.two, (1 - arm.hazard) ** gap
        new = self.rewards.of_new(reward, self.sd)
        branches: list[tuple[float, Hypothesis, int, float]] = []
        same = other = 0.0
        for old in arm.hypotheses:
            for k, (level, share) in enumerate(zip(old["levels"], old["shares"], strict=False)):
                fit = self.rewards.of_level(level["average"], level["rewards"], reward, self.sd)
                like = fit if two else 0.99 * fit + 0.01 * out
                other += old["weight"] * share * like
                same += old["weight"] * like if k == old["present"] else 0.0
                chance = (1 - stay) * share + (stay if k == old["present"] else 0)
                good = 1.0 if two else 0.99 * fit / (0.99 * fit + 0.01 * out)
                branches.append((old["weight"] * chance * like, old, k, good))
            other += old["weight"] * old["shares"][-1] * new
            if len(old["levels"]) < 8:
                branches.append((old["weight"] * (1 - stay) * old["shares"][-1] * new, old, len(old["levels"]), 1.0))
        for j, hazard in enumerate(HAZARDS):
            still = (1 - hazard) ** gap
            arm.evidence[j] += math.log(max(still * same + (1 - still) * other, 1e-300))
        total = sum(weight for weight, *_ in branches)
        if total <= 0:
            return 1e-300
        kept: list[Hypothesis] = []
        branches.sort(key=lambda branch: -branch[0])
        for weight, old, k, good in branches:
            if len(kept) == 8 or weight <= 1e-6 * branches[0][0]:
                break
            made = self.branched(old, k, good, reward, 0 if late else min(gap, 1 / arm.hazard))
            twin = next((one for one in kept if self.alike(one, made)), None)
            made["weight"] = weight
            if twin:
                twin["weight"] += weight
            else:
                kept.append(made)
        everything = sum(one["weight"] for one in kept)
        arm.hypotheses = [{**one, "weight": one["weight"] / everything} for one in kept]
        first = arm.hypotheses[0]
        present = first["levels"][first["present"]]
        if first["weight"] > 0.9 and present["rewards"] >= 2:
            self.rewards.add(present["average"])
        return total

    def branched(self, old: Hypothesis, k: int, good: float, reward: float, rounds: float) -> Hypothesis:
        levels = [dict(level) for level in old["levels"]]
        if k == len(levels):
            levels.append(self.rewards.new_level(reward, self.sd))
            levels[k]["visits"] += rounds == 0
        else:
            learn(levels[k], reward, good)
        present = old["present"]
        if rounds:
            levels[present]["rounds"] += rounds
            levels[present]["left"] += k != present
            levels[k]["visits"] += k != present
            present = k
        return {"present": present, "levels": levels, "shares": []}

    def alike(self, one: Hypothesis, other: Hypothesis) -> bool:
        return (
            one["present"] == other["present"]
            and len(one["levels"]) == len(other["levels"])
            and all(
                abs(a["average"] - b["average"]) <= 0.5 * self.sd * math.sqrt(1 / a["rewards"] + 1 / b["rewards"])
                for a, b in zip(one["levels"], other["levels"], strict=True)
            )
        )

    def merge(self, hypothesis: Hypothesis) -> None:
        levels: Known = hypothesis["levels"]
        apart = {}
        for j, b in enumerate(levels):
            for i, a in enumerate(levels[:j]):
                error = self.sd * math.sqrt(1 / a["rewards"] + 1 / b["rewards"] + 0.02)
                apart[i, j] = abs(a["average"] - b["average"]) / error
        if not apart or min(apart.values()) >= 1.5:
            return
        i, j = min(apart, key=lambda pair: (apart[pair], pair))
        learn(levels[i], levels[j]["average"], levels[j]["rewards"])
        for count in ("visits", "left", "rounds"):
            levels[i][count] += levels[j][count]
        places = list(range(len(levels)))
        places[j] = places[-1]  # the last one takes its place
        places.pop()
        present = i if hypothesis["present"] == j else hypothesis["present"]
        hypothesis["levels"] = [levels[place] for place in places]
        hypothesis["present"] = places.index(present)

    def settle(self, arm: Arm) -> None:
        """Set hazard, shares and what the index is computed from."""
        prior = [1 + sum(other.chance[j] for other in self.arms if other is not arm) for j in range(11)]
        likes = [p * math.exp(e - max(arm.evidence)) for p, e in zip(prior, arm.evidence, strict=True)]
        arm.chance = [like / sum(likes) for like in likes]
        arm.hazard = math.exp(sum(p * math.log(hazard) for p, hazard in zip(arm.chance, HAZARDS, strict=True)))
        arm.atoms, fresh = [], 0.0
        for hypothesis in arm.hypotheses:
            hypothesis["shares"] = shares(hypothesis["levels"], arm.hazard)
            fresh += hypothesis["weight"] * hypothesis["shares"][-1]
            for k, (level, share) in enumerate(zip(hypothesis["levels"], hypothesis["shares"], strict=False)):
                value = level["average"] + self.sd / math.sqrt(level["rewards"])
                now = hypothesis["weight"] * (k == hypothesis["present"])
                arm.atoms.append((value, now, hypothesis["weight"] * share))
        for i in range(4):
            value = self.rewards.levels[0] + (1.5 * (i + 0.5) / 4 - 0.25) * self.rewards.width
            arm.atoms.append((value, 0.0, fresh / 4))
        arm.atoms.sort(key=lambda atom: -atom[0])


class NaiveArmLibrary:
    """Levels of every arm, noise that is learned, and one arm for all groups."""

    def __init__(self, draws: Draws, arms: int, groups: int) -> None:
        self.groups, self.levels, self.noise = groups, Levels(arms), NaiveNoise(0.0, groups, 0.0)
        self.range: list[float] = []
        self.number: int | None = None
        self.probe_reasons: frozenset[str] = frozenset()

    @property
    def sd(self) -> float:
        return self.noise.noise / math.sqrt(self.groups)

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.levels.now += 1
        self.number = None
        best, self.probe_reasons, _ = self.levels.look(self.sd, available)
        self.levels.arms[best].asked = self.levels.now
        return [best] * self.groups

    def recall(self, number: int) -> None:
        self.number = number

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        when = self.levels.now if self.number is None else self.number
        self.range = [min([*self.range, *rewards]), max([*self.range, *rewards])]
        self.noise.expected = 0.1 * (self.range[1] - self.range[0])
        self.noise.see(arms[0], rewards)
        self.levels.longest = max(self.levels.longest, self.levels.now - when)
        self.levels.hear(arms[0], when, sum(rewards) / self.groups, self.sd)
