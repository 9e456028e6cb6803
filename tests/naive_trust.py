"""Slow twin of the trust in the library: every claim is kept, and all that follows from them is counted again in every round."""

import math
from typing import NamedTuple


class Claim(NamedTuple):
    """What was claimed in a round: by how much the preferred arm is better than the usual one, and what the arm played pays."""

    kind: str
    gap: float
    value: float


class Surprise(NamedTuple):
    """A claim that was checked: its weight, the gap, and the reward less the value."""

    weight: float
    gap: float
    surprise: float


class Trust:
    """What the library has claimed where it preferred another arm to the one that was played most, and what came of it."""

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on
        self.claims: dict[int, Claim] = {}
        self.found: dict[str, list[Surprise]] = {"preferred": [], "tested": [], "instead": []}
        self.cost = self.gained = 0.0

    def seldom(self, number: int) -> bool:
        """Return whether this is a round in which the library decides whatever is thought of it."""
        return math.modf(number * (math.sqrt(5) - 1) / 2)[0] < 1 / 8

    def untrue(self, kind: str) -> float:
        """Return the part of the gaps that was untrue."""
        found = self.found[kind]
        if not found:
            return 0.0
        squares = sum(w * s * s for w, _, s in found) / sum(w for w, _, _ in found)
        return sum(w * g * s for w, g, s in found) / (sum(w * g * g for w, g, _ in found) + 4 * squares)

    def trusted(self, number: int, noise: float) -> bool:
        ours, theirs = self.found["preferred"], self.found["instead"]
        suspect = self.untrue("tested") > 0.5
        if self.seldom(number) or not self.is_on:
            return True
        if min(sum(w for w, _, _ in ours), sum(w for w, _, _ in theirs)) < 2:
            return not suspect
        left, variance = 0.0, 0.0
        for sign, found in ((1, ours), (-1, theirs)):
            rounds = sum(w for w, _, _ in found)
            mean = sum(w * s for w, _, s in found) / rounds
            variance += max(sum(w * s * s for w, _, s in found) / rounds - mean**2, noise**2) / rounds
            left += sign * mean
        left += sum(w * g for w, g, _ in ours + theirs) / sum(w for w, _, _ in ours + theirs)
        return left > (2 * math.sqrt(variance) if suspect else 0)

    def may_test(self, number: int, noise: float, width: float) -> bool:
        wrong = max(self.untrue("tested"), self.untrue("instead"))
        affordable = self.cost <= 10 * width + 0.3 * min(max(1 - wrong, 0), 1) * self.gained
        return not self.is_on or (self.trusted(number, noise) and (affordable or self.seldom(number)))

    def claim(self, number: int, values: list[float], pick: int, preferred: int, usual: int, doubted: bool) -> None:
        gap = values[preferred] - values[usual]
        if pick == preferred:
            self.gained += gap
        elif not doubted:
            self.cost += values[preferred] - values[pick]
        if pick in (preferred, usual):
            kind = "preferred" if pick == preferred else "instead" if doubted else "tested"
            self.claims[number] = Claim(kind, gap, values[pick])

    def check(self, number: int, latest: int, reward: float) -> None:
        """Compare a reward with what was claimed, unless a later round has taken its place; of 512 claims, all count for half."""
        claim = self.claims.get(number)
        if claim is None or claim.gap <= 0 or latest - number >= 1024:
            return
        found = self.found[claim.kind]
        if sum(w for w, _, _ in found) >= 512:
            found[:] = [one._replace(weight=one.weight / 2) for one in found]
        found.append(Surprise(1.0, claim.gap, reward - claim.value))
