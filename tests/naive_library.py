"""Slow twin of the library of states: every particle is an object with its own library, and nothing is kept that can be counted again.

See `tests.naive` for what a twin is. It shares no code with the package.
"""

import math
from collections import Counter
from collections.abc import Sequence

from tests.naive import Draws, Floats, first_best
from tests.naive_lag import Group, LagModel
from tests.naive_noise import NaiveNoise
from tests.naive_particles import Branch, Particle, Remembered, decay, prune


class NaiveLibrary:
    """Remembered states, several particles about the present one, and tests between them."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        units: int,
        noise: float,
        low: float,
        high: float,
        particles: int,
        states: int,
        floor: float,
        likeness: float,
        optimism: float,
        testing: float,
        novelty: float,
        stay_prior: float,
        change_prior: float,
        structure: float,
        levels: int,
        patience: int,
    ) -> None:
        self.draws, self.arms, self.units, self.given_noise = draws, arms, units, noise
        self.most_particles, self.most_states, self.floor, self.likeness = particles, states, floor, likeness
        self.optimism, self.testing, self.novelty, self.structure = optimism, testing, novelty, structure
        self.stay_prior, self.change_prior, self.patience = stay_prior, change_prior, patience
        self.levels = levels
        self.fixed_range = high > low
        self.pairs = NaiveNoise(0.0, units, 1.0)
        self.pairs.weight = 4.0
        self.history: list[tuple[list[Group], float]] = []
        self.last: tuple[int, float] | None = None
        self.played = [0] * arms
        self.forced = self.turn = 0
        self.why: frozenset[str] = frozenset()
        self.noise = 0.0  # until the range is known
        self.low = self.high = 0.0
        if self.fixed_range:
            self.low, self.high = low, high
            self.noise = noise or 0.1 * (high - low)
            self.begin()

    # What a mean with n rewards behind it is worth

    def prior(self) -> float:
        return float((self.noise / (0.29 * (self.high - self.low))) ** 2)

    def deviation(self, n: int) -> float:
        return self.noise / math.sqrt(n + self.prior())

    def centre(self) -> float:
        return (self.low + self.high) / 2

    def begin(self) -> None:
        self.noise_at_start = self.noise
        self.particles = [Particle([self.blank(entered=1)], self.structure)]
        self.best = self.particles[0]
        self.lag = LagModel(self.arms, self.levels, self.low, self.high)

    def blank(self, entered: int = 0) -> Remembered:
        return Remembered([self.centre()] * self.arms, [0] * self.arms, entered)

    def stay(self, particle: Particle) -> float:
        stays = particle.stays + self.stay_prior
        return stays / (stays + particle.changes + self.change_prior)

    # Choosing

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.u = self.draws.uniform()
        self.number = len(available)
        rounds = len(self.history)
        if self.noise == 0:
            self.why = frozenset({"untried"} if self.number > 1 else ())
            return [available[rounds % self.number]] * self.units
        values = self.values()
        self.by_library = values
        hope = self.hope()
        indices = [value + self.optimism * extra for value, extra in zip(values, hope, strict=True)]
        hopeful = first_best(available, indices)
        if len(self.particles) > 1:
            self.add_tests(indices, first_best(available, values), available)
        blend = self.lag.blend
        if blend < 1:
            lagged = [self.lag.expected(arm) for arm in range(self.arms)]
            values = [blend * value + (1 - blend) * lag for value, lag in zip(values, lagged, strict=True)]
            indices = [
                blend * index + (1 - blend) * (lag + self.lag.doubt(arm))
                for arm, (index, lag) in enumerate(zip(indices, lagged, strict=True))
            ]
        greedy, pick = first_best(available, values), first_best(available, indices)
        self.why = frozenset() if pick == greedy else frozenset({"untried" if pick == hopeful else "rival"})
        oldest = min(available, key=lambda arm: self.played[arm])
        limit = self.number * max(self.patience, 0.1 * rounds)
        if self.number > 1 and rounds - max(self.played[oldest], self.forced) > limit:
            self.forced, pick, self.why = rounds, oldest, frozenset({"staleness"})
        return [pick] + [greedy] * (self.units - 1)

    def stay_or_certain(self) -> float:
        """Return the heaviest particle's probability to stay; a change that is rarer than 0.002 is left out."""
        stay = self.stay(self.best)
        return stay if 1 - stay >= 0.002 else 1.0

    def values(self) -> list[float]:
        """Return every arm's expected reward: by all particles if the state stays, by the heaviest if it changes."""
        stay = self.stay_or_certain()
        values = []
        for arm in range(self.arms):
            value = 0.0
            for particle in self.particles:
                value += particle.weight * stay * particle.now.means[arm]
            if stay < 1:
                *chances, new = self.best.leaving(self.novelty)
                for k, (chance, entry) in enumerate(zip(chances, self.best.library, strict=True)):
                    if k != self.best.here:
                        value += (1 - stay) * chance * entry.means[arm]
                value += (1 - stay) * new * self.centre()
            values.append(value)
        return values

    def hope(self) -> list[float]:
        """Return how uncertain every arm is in the believed state."""
        stay, hope = self.stay_or_certain(), []
        for arm in range(self.arms):
            extra = 0.0
            for particle in self.particles:
                extra += particle.weight * stay * self.deviation(particle.now.counts[arm])
            hope.append(extra)
        return hope

    def add_tests(self, indices: list[float], greedy: int, available: Sequence[int]) -> None:
        """Add to every index how well the arm tells the particles that promise more than the greedy arm from the heaviest."""
        worth = self.testing * math.sqrt(len(self.best.library) / (1 - self.stay(self.best)))
        for particle in self.particles:
            gain = max(particle.now.means[arm] for arm in available) - particle.now.means[greedy]
            if gain > 0:
                for arm in range(self.arms):
                    far = particle.now.means[arm] - self.best.now.means[arm]
                    square = far**2 + self.deviation(particle.now.counts[arm]) ** 2
                    indices[arm] += worth * particle.weight * gain * square / (square + 4 * self.noise**2)

    # Learning

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        together = len(set(arms)) == 1
        others = 0.0
        for reward in rewards[1:]:
            others += reward
        if together:
            groups = [Group(arms[0], (rewards[0] + others) / self.units, self.units)]
        else:
            groups = [Group(arms[0], rewards[0], 1), Group(arms[1], others / (self.units - 1), self.units - 1)]
        if self.noise > 0:
            reach = 30 * (self.high - self.low)
            low, high = self.low - reach, self.high + reach
            groups = [group._replace(mean=min(max(group.mean, low), high)) for group in groups]
        self.history.append((groups, self.u))
        for arm in arms:
            self.played[arm] = len(self.history)
        if self.news(groups, self.pair(arms, rewards)):
            self.begin()
            for past, u in self.history[-256:]:
                self.advance(past, u)
        elif self.noise > 0:
            if self.levels > 0:
                self.lag.weigh(arms[0], groups[0].mean, self.by_library[arms[0]])
            self.advance(groups, self.u)

    def pair(self, arms: Sequence[int], rewards: Sequence[float]) -> bool:
        """Count a pair of rewards of one arm, if there is one; returns whether the noise is to be estimated."""
        if self.given_noise:
            return False
        due = False
        if self.units > 1:
            if arms[0] == arms[1]:
                due = self.pairs.count(abs(rewards[0] - rewards[1]))
        else:
            if self.last is not None and self.last[0] == arms[0]:
                due = self.pairs.count(abs(rewards[0] - self.last[1]))
            self.last = (arms[0], rewards[0])
        return due

    def learned_noise(self) -> float:
        self.pairs.expected = 0.1 * (self.high - self.low)
        self.pairs.estimate()
        return self.pairs.noise

    def news(self, groups: Sequence[Group], due: bool) -> bool:
        """Learn range and noise; returns whether all is to be learned again."""
        low, high = min(group.mean for group in groups), max(group.mean for group in groups)
        if self.noise == 0:
            seen = [group.mean for past, _ in self.history for group in past]
            low, high = min(seen), max(seen)
            if self.number == 1 or len(self.history) < self.number or low == high:
                return False
            beyond = (high - low) / (self.number - 1)
            self.low, self.high = low - beyond, high + beyond
            self.noise = self.given_noise or self.learned_noise()
            return True
        again = False
        margin = 4.2 * self.noise
        if not self.fixed_range and (high - margin > self.high or low + margin < self.low):
            if high > self.high:
                self.high = high + 0.25 * (high - self.low)
            if low < self.low:
                self.low = low - 0.25 * (self.high - low)
            again = True
        if due:
            noise = self.learned_noise()
            if noise > 1.4 * self.noise_at_start or noise < self.noise_at_start / 4:
                self.noise, again = noise, True
            elif abs(noise - self.noise) > 0.03 * self.noise:
                self.noise = noise
        return again

    def advance(self, groups: Sequence[Group], u: float) -> None:
        """Advance every particle by one round: branch, prune, change, add the rewards, merge."""
        branches = [each for particle in self.particles for each in self.branches(particle, groups)]
        kept = prune(branches, self.most_particles, self.floor, u)
        total = 0.0
        for _, _, chance in kept:
            total += chance
        parents = {id(parent) for parent, _, _ in kept}
        i = 0
        while i < len(self.particles):
            if id(self.particles[i]) in parents:
                i += 1
            else:
                self.drop(self.particles[i])
        # the first child of a particle takes its place, the others come last
        children = []
        for i, (parent, _, _) in enumerate(kept):
            first = all(parent is not other for other, _, _ in kept[:i])
            children.append(parent if first else parent.copy())
        self.particles += [child for child, (parent, _, _) in zip(children, kept, strict=True) if child is not parent]
        changed = []
        for child, (_, to, chance) in zip(children, kept, strict=True):
            child.weight = chance / total
            if to == child.here:
                child.stays += 1
            else:
                self.change(child, to)
                changed.append(child)
            for arm, mean, size in groups:
                now = child.now
                now.means[arm] += (mean - now.means[arm]) * (size / (now.counts[arm] + size + self.prior()))
                now.counts[arm] = min(now.counts[arm] + size, 512)
        for particle in changed:
            if any(particle is other for other in self.particles):
                self.merge(particle)
        if len(self.particles) > 1:
            self.turn += 1
            self.merge(self.particles[self.turn % len(self.particles)])
        self.best = max(self.particles, key=lambda particle: particle.weight)
        if self.levels > 0:
            self.lag.learn(groups, self.noise)

    def branches(self, particle: Particle, groups: Sequence[Group]) -> list[Branch]:
        """Return the ways in which a particle can go on, weighed by Bayes' rule."""
        stay = self.stay(particle)
        leaving = particle.leaving(self.novelty, particle.weight * (1 - stay))
        made = []
        for k, entry in enumerate([*particle.library, self.blank()]):
            heights, exponents = [], []
            for arm, mean, size in groups:
                variance = self.noise * self.noise * (1 / size + 1 / (entry.counts[arm] + self.prior()))
                heights.append(1 / math.sqrt(variance))
                exponents.append((mean - entry.means[arm]) ** 2 * (0.5 / variance))
            if k == particle.here:
                like = math.prod(heights) * decay(min(sum(exponents), 60)) * (particle.weight * stay)
            elif k < len(particle.library):
                if sum(exponents) > 25:
                    continue
                like = math.prod(heights) * decay(sum(exponents)) * leaving[k]
            else:
                like = math.prod(h * decay(min(e, 60)) for h, e in zip(heights, exponents, strict=True))
                like = leaving[k] * like
            made.append((particle, k, like))
        return made

    def change(self, particle: Particle, to: int) -> None:
        """Go to another state; a new one takes the place of the rarest if the library is full."""
        new = to == len(particle.library)
        flat = (particle.unseen(self.novelty) if new else particle.library[to].entered) / particle.everything(
            self.novelty
        )
        counted = flat + particle.moves[particle.here, to]
        odds = particle.odds * counted / (particle.left() + 1) / flat
        particle.odds = min(max(odds, self.structure / 1000), 1000)
        if new:
            particle.lineage = object()
            if to < self.most_states:
                particle.library.append(self.blank())
            else:
                others = [k for k in range(to) if k != particle.here]
                to = min(others, key=lambda k: particle.library[k].entered)
                particle.library[to] = self.blank()
                particle.moves = Counter({move: n for move, n in particle.moves.items() if to not in move})
        particle.moves[particle.here, to] += 1
        particle.library[to].entered += 1
        particle.changes += 1
        particle.here = to

    def alike(self, one: Particle, other: Particle) -> bool:
        if one.lineage is not other.lineage or one.here != other.here:
            return False
        return all(
            abs(a - b) <= self.likeness * self.deviation(max(n, m))
            for mine, theirs in zip(one.library, other.library, strict=True)
            for a, b, n, m in zip(mine.means, theirs.means, mine.counts, theirs.counts, strict=True)
        )

    def merge(self, particle: Particle) -> None:
        """Merge a particle with the first that is alike; the heavier one's library stays."""
        for other in self.particles:
            if other is not particle and self.alike(particle, other):
                gone, stays = (other, particle) if particle.weight > other.weight else (particle, other)
                stays.weight += gone.weight
                self.drop(gone)
                return

    def drop(self, particle: Particle) -> None:
        """Take a particle out; the last one takes its place."""
        at = next(i for i, other in enumerate(self.particles) if other is particle)
        self.particles[at] = self.particles[-1]
        self.particles.pop()
