"""Successive elimination: all candidates meet the same worlds, a few more at a time, and those that have clearly lost drop out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtr

from latentbandits.advice.base import BaseProblem
from latentbandits.advice.simulator import START, Simulator
from latentbandits.protocols import Contestant
from latentbandits.simulation.results import Results

# The chance that a race drops its best candidate, all looks and candidates together
RISK = 0.01
# A few worlds may not show the rare bad one: before MANY, only candidates with HOPELESS times the leader's regret drop out
MANY, HOPELESS = 32, 3.0


@dataclass
class Race:
    """What a race found.

    Attributes
    ----------
    regret : label -> regret per world, in the order of the worlds, for as long as the candidate ran
    left : the candidates that never dropped out, lowest mean regret first
    hurried : whether it ended for lack of time
    costs : label -> seconds that a world takes; empty if there was no limit
    """

    regret: dict[str, np.ndarray] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    hurried: bool = False
    costs: dict[str, float] = field(default_factory=dict)

    def add(self, results: Results) -> None:
        """Take the results of further worlds."""
        for label, new in zip(results.labels, results.regret, strict=True):
            self.regret[label] = np.append(self.regret[label], new)

    def sort(self) -> None:
        """Put those that never dropped out in the order of their regret."""
        self.left.sort(key=lambda label: float(self.regret[label].mean()))

    @property
    def winner(self) -> str:
        """The candidate with the lowest mean regret."""
        return self.left[0]

    def worlds(self, label: str) -> int:
        """Return the number of worlds that a candidate used."""
        return len(self.regret[label])

    def paired(self, label: str, other: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the regret of two candidates on the worlds that both used."""
        count = min(self.worlds(label), self.worlds(other))
        return self.regret[label][:count], self.regret[other][:count]

    def over(self, label: str, other: str) -> float:
        """Return the regret of one candidate over that of another, on the worlds that both used."""
        above, below = (float(regret.mean()) for regret in self.paired(label, other))
        return above / below if below > 0 else float("inf")

    @property
    def order(self) -> list[str]:
        """All candidates, best first, as far as they can be compared with the winner."""
        return sorted(self.regret, key=lambda label: (label != self.winner, self.over(label, self.winner)))


def race(
    problem: BaseProblem,
    candidates: Mapping[str, Contestant],
    looks: Sequence[int],
    *,
    first: int = 0,
    level: float | None = None,
    factor: float = HOPELESS,
    simulator: Simulator | None = None,
    costs: Mapping[str, float] | None = None,
) -> Race:
    """Run candidates until each has lost, all worlds are used or there is no time left.

    At every look a candidate drops out if its regret is above the leader's on the same worlds by a one-sided t-test. Regret is skewed, and
    what is bad in one world of ten does not show in eight: until `MANY` worlds only a candidate with several times the leader's regret
    drops out.

    `looks` are the worlds that have been used at each look, rising; `first` is the number of the first world. `level` is that of each test,
    `RISK` divided among all looks and candidates if not given; `factor`, how many times the leader's regret a candidate must have to drop
    out early. `costs` are the seconds that a world takes, by label, if they are known; else a race in limited time begins by finding out.
    Where time runs short only the first go on, as many as there is time for but at least two; when it is spent the race ends.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.race import race
    >>> policies = {name: lb.policy(name) for name in ("ucb1", "random", "sw-ucb")}
    >>> ran = race(lb.Problem(stickiness=0.995, horizon=2000), policies, (8, 16, 32))
    >>> ran.winner, ran.worlds("random") < 32
    ('sw-ucb', True)
    """
    ran = Race({label: np.zeros(0) for label in candidates}, list(candidates))
    level = RISK / (len(looks) * max(1, len(candidates) - 1)) if level is None else level
    simulator = simulator or Simulator()

    def play(labels: Sequence[str], used: int, worlds: int) -> None:
        playing = {label: candidates[label] for label in labels}
        ran.add(simulator.simulate(problem, playing, first + used, worlds))

    used, waiting = 0, list[str]()  # who cannot be played any more for lack of time, the best first
    if simulator.limited and costs is None:
        costs, used = {}, min(START, looks[0])
        for label in candidates:
            begin = simulator.spent
            play([label], 0, used)
            costs[label] = (simulator.spent - begin) / used
        ran.sort()
    ran.costs = dict(costs or {})
    for look in looks:
        while used < look:
            step = min(look - used, max(START, used)) if simulator.limited else look - used
            count, step = simulator.afford([ran.costs.get(label, 0.0) for label in ran.left], step)
            ran.left, waiting = ran.left[:count], ran.left[count:] + waiting
            if not step:
                break
            begin, expected = simulator.spent, step * sum(ran.costs.get(label, 0.0) for label in ran.left)
            play(ran.left, used, step)
            ran.sort()
            used += step
            if expected > 0:
                ran.costs = {label: cost * (simulator.spent - begin) / expected for label, cost in ran.costs.items()}
        if not used:
            break
        leader = ran.regret[ran.winner]
        least = factor * leader.mean() if used < MANY else 0.0
        ran.left = [
            label
            for label in ran.left
            if p_value(ran.regret[label] - leader) > level or ran.regret[label].mean() < least
        ]
        if len(ran.left) == 1 or used < look:
            break
    ran.hurried = bool(waiting) or (len(ran.left) > 1 and used < looks[-1])
    ran.left += waiting
    return ran


def p_value(differences: np.ndarray) -> float:
    """Return the one-sided p-value of independent differences whose mean is claimed to be zero or less.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.advice.race import p_value
    >>> round(p_value(np.array([1.0, 2.0, 3.0])), 3), p_value(np.zeros(3))
    (0.037, 1.0)
    """
    mean, count = float(differences.mean()), len(differences)
    spread = float(differences.std(ddof=1)) / np.sqrt(count) if count > 1 else np.inf
    if mean == 0 or count < 2:
        return 1.0
    return float(stdtr(count - 1, -mean / spread)) if spread > 0 else float(mean < 0)
