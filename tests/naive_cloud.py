"""The particle filter of the slow twin of StateLibrary. See `tests.naive_library`."""

import math
from collections.abc import Sequence

from tests.naive_amounts import Amounts
from tests.naive_particles import (
    BEFORE,
    HERE,
    OUTLIER,
    Branch,
    Group,
    Particle,
    Remembered,
    Scale,
    Seen,
    Urns,
    decay,
    prune,
)


class Cloud:
    """All particles: two at first, of which one expects a change in every other round, unless there are observed features."""

    def __init__(self, arms: int, scale: Scale, urns: Urns, most: int, floor: float, fast_switching: bool) -> None:
        self.arms, self.scale, self.urns = arms, scale, urns
        self.most, self.floor, self.fast_switching = most, floor, fast_switching
        self.likeness = 1 if floor > 0 else 0
        self.turn = 0

    def begin(self, front: int, since: int) -> None:
        """Forget everything; the first round to come is the one after `front`, and the first state has been there since a round."""
        self.front = front  # the latest round learned

        def one(weight: float) -> Particle:
            library = [self.blank(entered=1)]
            return Particle(self.urns, library, since, since, weight, self.urns.structure, self.urns.structure)

        self.particles = [one(1 - 0.02), one(0.02)] if self.fast_switching else [one(1.0)]
        if self.fast_switching:
            self.particles[1].changes = self.urns.stay_prior
            self.particles[1].now.mark = self.particles[0].now.mark  # they begin in the same state
        self.best = self.particles[0]

    def blank(self, entered: int = 0) -> Remembered:
        return Remembered(
            [self.scale.centre()] * self.arms, [0] * self.arms, [0.0] * self.arms, [0.0] * self.arms, entered
        )

    def advance(self, seen: Seen, outliers: bool) -> float:
        """Advance every particle by one round: branch, prune, change, add the rewards, merge; returns how likely the rewards were."""
        late = seen.number <= self.front
        make = self.late_branches if late else self.branches
        branches = [each for particle in self.particles for each in make(particle, seen, outliers)]
        evidence = sum(weight for _, _, weight in branches)
        kept = prune(branches, self.most, self.floor, seen.u)
        total = 0.0
        for _, _, chance in kept:
            total += chance
        changed = []
        for child, (_, to, chance) in zip(self.children(kept), kept, strict=True):
            child.weight = chance / total
            if not late and to not in (child.here, OUTLIER):
                changed.append(child)
            k = self.settle_late(child, to, seen.number) if late else self.settle(child, to, seen.number)
            if k is not None:
                self.add(child.library[k], seen.groups)
        for particle in changed:
            if any(particle is other for other in self.particles):
                self.merge(particle)
        if len(self.particles) > 1:
            self.turn += 1
            self.merge(self.particles[self.turn % len(self.particles)])
        self.front = max(self.front, seen.number)
        self.best = max(self.particles, key=lambda particle: particle.weight)
        return evidence

    def children(self, kept: Sequence[Branch]) -> list[Particle]:
        """Return a particle for every branch: the first of a particle takes its place, the others come last."""
        parents = {id(parent) for parent, _, _ in kept}
        i = 0
        while i < len(self.particles):
            if id(self.particles[i]) in parents:
                i += 1
            else:
                self.drop(self.particles[i])
        children = []
        for i, (parent, _, _) in enumerate(kept):
            first = all(parent is not other for other, _, _ in kept[:i])
            children.append(parent if first else parent.copy())
        self.particles += [child for child, (parent, _, _) in zip(children, kept, strict=True) if child is not parent]
        return children

    def add(self, entry: Remembered, groups: Sequence[Group]) -> None:
        for arm, mean, size, rewards, _ in groups:
            sizes = self.scale.amounts.sizes(rewards) if self.scale.amounts else []
            before = entry.shares[arm] * entry.counts[arm]
            entry.shares[arm] = (before + len(sizes)) / (entry.counts[arm] + size)
            if sizes:
                now = sum(sizes) / len(sizes)
                entry.sizes[arm] += (now - entry.sizes[arm]) * len(sizes) / (before + len(sizes))
            entry.means[arm] += (mean - entry.means[arm]) * (size / (entry.counts[arm] + size + self.scale.prior()))
            entry.counts[arm] = min(entry.counts[arm] + size, 512)

    # A round after all others

    def densities(self, entry: Remembered, groups: Sequence[Group]) -> tuple[list[float], list[float]]:
        """Return the heights of the Gaussians that a state expects of every group, and the exponents; or those of amounts."""
        amounts = self.scale.amounts
        if amounts is not None and self.scale.pays:
            pairs = [self.amount(amounts, entry, group) for group in groups]
            return [height for height, _ in pairs], [exponent for _, exponent in pairs]
        heights, exponents = [], []
        for arm, mean, size, _, _ in groups:
            variance = self.scale.noise * self.scale.noise * (1 / size + 1 / (entry.counts[arm] + self.scale.prior()))
            heights.append(1 / math.sqrt(variance))
            exponents.append((mean - entry.means[arm]) ** 2 * (0.5 / variance))
        return heights, exponents

    def amount(self, amounts: Amounts, entry: Remembered, group: Group) -> tuple[float, float]:
        """Return how likely nothing or amounts are in a state: height and exponent; in one never entered, half of what is guessed."""
        arm, value, new = group.arm, amounts.value or 0.0, entry.entered == 0
        sizes, paid = amounts.sizes(group.rewards), amounts.paid[arm]
        guess, n, share = 0.5, 0 if new else entry.counts[arm], entry.shares[arm]
        gap = ordered_mean(paid) - value if paid else 0.0
        if gap and not self.fast_switching:  # with features, without which a particle expects fast switching
            share = (entry.means[arm] + group.effect - value) / gap
        if gap and self.scale.given:
            guess = min(max((self.scale.centre() - value) / gap, 0.01), 0.99)
        share, height, exponent = min(max(share, 0), 1), 0.5 if new else 1.0, 0.0
        for i in range(group.size):
            hit = i < len(sizes)
            same = i if hit else i - len(sizes)
            mine, likely = (share, guess) if hit else (1 - share, 1 - guess)
            height *= (n * mine + 2 * likely + same) / (n + 2 + i)
        spread = amounts.spread(arm)
        if sizes and spread > 0:
            weight = n * entry.shares[arm] + 2
            every = ordered_mean(amounts.sizes(paid))
            mean = ((weight - 2) * entry.sizes[arm] + 2 * every) / weight
            variance = 1 / len(sizes) + 1 / weight
            height /= math.sqrt(variance)
            exponent = ((sum(sizes) / len(sizes) - mean) / spread) ** 2 / variance / 2
        return height, exponent

    def fit(self, entry: Remembered, groups: Sequence[Group]) -> float:
        heights, exponents = self.densities(entry, groups)
        return math.prod(heights) * decay(min(sum(exponents), 60))

    def far(self, entry: Remembered, groups: Sequence[Group]) -> bool:
        """Return whether rewards are so far from what a state expects that they may be outliers: three deviations."""
        return sum(self.densities(entry, groups)[1]) > 4.5

    def outlying(self, particle: Particle, groups: Sequence[Group]) -> float:
        """Return the likelihood of an outlier: anywhere in the range."""
        even = math.sqrt(2 * math.pi) / (self.scale.high - self.scale.low)
        return (particle.outliers + 0.01) / (particle.stays + particle.changes + 100) * even ** len(groups)

    def branches(self, particle: Particle, seen: Seen, outliers: bool) -> list[Branch]:
        """Return the ways in which a particle can go on, weighed by Bayes' rule."""
        stay = 1 - particle.hazard(seen.number, self.front)
        leaving = particle.leaving(particle.weight * (1 - stay))
        made: list[Branch] = []
        for k, entry in enumerate(particle.library):
            heights, exponents = self.densities(entry, seen.groups)
            like = math.prod(heights) * decay(min(sum(exponents), 60))
            if k == particle.here:
                made.append((particle, k, like * (particle.weight * stay)))
            elif sum(exponents) <= 25:
                made.append((particle, k, like * leaving[k]))
        made.append((particle, len(particle.library), leaving[-1] * self.fit(self.blank(), seen.groups)))
        if outliers and self.far(particle.now, seen.groups):
            made.append((particle, OUTLIER, particle.weight * stay * self.outlying(particle, seen.groups)))
        return made

    def settle(self, particle: Particle, to: int, number: int) -> int | None:
        """Go where a branch leads; returns the state that the rewards belong to."""
        rounds = number - self.front
        changed = to not in (OUTLIER, particle.here)
        if rounds == 1:
            particle.weigh_ageing(number, changed)
        particle.stays += rounds - changed
        particle.now.spent += rounds - changed
        if to == OUTLIER:
            particle.outliers += 1
            return None
        if changed:
            particle.change(to, self.blank(), number, self.front)
            particle.now.spent += 1
        return particle.here

    # A round before the latest

    def late_branches(self, particle: Particle, seen: Seen, outliers: bool) -> list[Branch]:
        """Return the states that the round can have had: the present one or one before it, where the moment of the change is even."""
        number, until, changed = seen.number, particle.until, particle.changed
        here = 1.0 if number >= changed else 0.0
        if until < number < changed:
            here = (number - until) / (changed - until)
        made: list[Branch] = []
        if here > 0:
            outliers = outliers and self.far(particle.now, seen.groups)
            made.append((particle, HERE, particle.weight * here * self.fit(particle.now, seen.groups)))
        if here < 1:
            k = particle.before(number)
            entry = self.blank() if k is None else particle.library[k]
            outliers = outliers and self.far(entry, seen.groups)
            made.append((particle, BEFORE, particle.weight * (1 - here) * self.fit(entry, seen.groups)))
        if outliers:
            made.append((particle, OUTLIER, particle.weight * self.outlying(particle, seen.groups)))
        return made

    def settle_late(self, particle: Particle, to: int, number: int) -> int | None:
        """Note what a branch says about the moment of the change; returns the state that the rewards belong to."""
        if to == OUTLIER:
            particle.outliers += 1
            return None
        if to == HERE:
            particle.changed = min(particle.changed, number)
            return particle.here
        assert to == BEFORE
        particle.until = max(particle.until, number)
        return particle.before(number)

    # Particles that claim the same

    def alike(self, one: Particle, other: Particle) -> bool:
        if one.lineage is not other.lineage or one.here != other.here:
            return False
        return all(
            abs(a - b) <= self.likeness * self.scale.deviation(max(n, m))
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

    # Another range

    def rebase(self, before: Scale) -> None:
        """Take the old prior out of all means, and put the present one in."""
        old, new = before.prior(), self.scale.prior()
        for particle in self.particles:
            for entry in particle.library:
                for arm, n in enumerate(entry.counts):
                    total = entry.means[arm] * (n + old) - old * before.centre()
                    entry.means[arm] = (total + new * self.scale.centre()) / (n + new)


def ordered_mean(values: Sequence[float]) -> float:
    """Return the mean, each value after the other, so that equal ones have exactly that mean."""
    mean = 0.0
    for n, value in enumerate(values, 1):
        mean += (value - mean) / n
    return mean
