"""The approximation loss of a summary of the history, App, along the very run of the policy that uses it.

For a statistic Z of the history, the representation oracle plays the best arm that a rule can name which sees Z alone, in every
round of a policy's own run: it does not choose what is seen. Its regret is App, and what the policy loses beyond it is Reg. The oracle is
told means, chain and noise; and, for statistics that forget part of the history, how often each hidden state went with each arm in this
run, since the arms that a policy chose are themselves a hint at the state. These frequencies are counted on one half of the run and used on
the other.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from latentbandits.experiments.claims import per_draw
from latentbandits.policies.bayes_filter import BayesLimit
from latentbandits.policies.oracles import Scripted
from latentbandits.protocols import CONTINUED, Policy, Table
from latentbandits.random import stream
from latentbandits.settings import refuse
from latentbandits.simulation.batch import follow_one, record_one
from latentbandits.simulation.results import interval

if TYPE_CHECKING:
    import pandas as pd

LAG, LAGS, FINGERPRINT, BOTH, AGED, FINGERPRINTS, HISTORY = (
    "lag",
    "three lags",
    "fingerprint",
    "both",
    "both and age",
    "both and the fingerprint before",
    "history",
)
STATISTICS = (LAG, LAGS, FINGERPRINT, BOTH, AGED, FINGERPRINTS, HISTORY)
# The run is cut into this many stretches; every other one belongs to the same half
STRETCHES = 20
# Counts that are added for every state, spread evenly over the states that it may go with: no combination is impossible
SMOOTHING = 1.0
REMEMBERED = 3  # lags of LAGS


class Split(NamedTuple):
    """Mean regret of a policy over draws of the world, and its two parts with their 95 % intervals."""

    regret: float
    app: float
    app_low: float
    app_high: float
    reg: float
    reg_low: float
    reg_high: float


def split(results: "pd.DataFrame", case: str, policy: str, oracle: str) -> Split:
    """Split the regret of a policy by that of the representation oracle on its runs, run by run.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbandits.experiments.representation import split
    >>> runs = pd.DataFrame({"case": "c", "policy": ["p", "p", "o", "o"], "draw": [0, 1, 0, 1], "regret": [9.0, 7.0, 4.0, 2.0]})
    >>> split(runs, "c", "p", "o")[:2], split(runs, "c", "p", "o").reg
    ((8.0, 3.0), 5.0)
    """
    regret, app = per_draw(results, case, policy), per_draw(results, case, oracle)
    return Split(float(regret.mean()), *interval(app), *interval(regret - app))


class Run(NamedTuple):
    """What one policy saw along one run, and what it could not see.

    Attributes
    ----------
    table : the world
    arms, rewards : arrays (rounds, units), what was played and received
    begins, ends : first and last round of every probe
    shown : for every round the number of the last probe that had ended before it, -1 for none
    half : for every round the half of the run that it belongs to
    """

    table: Table
    arms: np.ndarray
    rewards: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    shown: np.ndarray
    half: np.ndarray

    @classmethod
    def of(cls, base: Any, table: Table) -> "Run":
        """Play a policy on a table; one that needs random numbers is refused, since it could not be met again."""
        random = stream(0)
        arms, why = record_one(base, table, random)
        if (random != stream(0)).any():
            raise refuse("Representation", "base", type(base).__name__, "a policy without randomness")
        rounds = np.arange(len(arms))
        probing = why != 0
        before, after = np.append(0, why[:-1]), np.append(why[1:], 0)
        begins = np.flatnonzero(probing & ((why != CONTINUED) | (before == 0)))
        ends = np.flatnonzero(probing & (after != CONTINUED))
        return cls(
            table,
            arms,
            table.rewards[rounds[:, None], np.arange(arms.shape[1]), arms],
            begins,
            ends,
            np.searchsorted(ends, rounds) - 1,
            rounds * STRETCHES // len(arms) % 2,
        )

    @property
    def noise(self) -> np.ndarray:
        """Noise of each unit's reward."""
        return self.table.truth.noise  # type: ignore[union-attr]

    @property
    def means(self) -> np.ndarray:
        """Mean rewards by state and arm."""
        return self.table.truth.means  # type: ignore[union-attr]

    @property
    def chain(self) -> np.ndarray:
        """The transition matrix."""
        return self.table.truth.transition  # type: ignore[union-attr]

    @property
    def start(self) -> np.ndarray:
        """The stationary distribution."""
        return self.table.truth.start  # type: ignore[union-attr]

    @property
    def fresh(self) -> np.ndarray:
        """Whether a probe ended in the round before. A rule that sees lag and fingerprint knows it: they share a reward."""
        found = np.zeros(len(self.arms), bool)
        found[self.ends[self.ends < len(found) - 1] + 1] = True
        return found


def _exp(logs: np.ndarray) -> np.ndarray:
    """Return likelihoods that are never quite zero: a state that is 80 units of log-likelihood off is off, and tiny numbers are slow."""
    found: np.ndarray = np.exp(np.maximum(logs, -80.0, out=logs), out=logs)
    return found


def _likelihood(run: Run, rounds: np.ndarray) -> np.ndarray:
    """Return the likelihood of all rewards of some rounds in every state, each row up to a factor."""
    logs = np.zeros((len(rounds), len(run.means)))
    for unit, noise in enumerate(run.noise):
        logs -= 0.5 * ((run.rewards[rounds, unit, None] - run.means.T[run.arms[rounds, unit]]) / noise) ** 2
    return _exp(logs - logs.max(axis=1, keepdims=True))


def _decoded(run: Run, prior: np.ndarray) -> np.ndarray:
    """Return what each probe says about the state in its last round, given a belief about its first: arrays (probes, states)."""
    belief = np.array(np.broadcast_to(prior, (len(run.ends), len(run.start))))
    length = run.ends - run.begins
    for part in range(int(length.max(initial=-1)) + 1):
        rows = np.flatnonzero(length >= part)
        if part > 0:
            belief[rows] = belief[rows] @ run.chain
        belief[rows] *= _likelihood(run, run.begins[rows] + part)
    total = belief.sum(axis=1, keepdims=True)
    found: np.ndarray = belief / np.where(total > 0, total, 1.0)
    return found


def _decoded_with_previous(run: Run) -> np.ndarray:
    """Return what each probe and the one before it say about the state in its last round."""
    alone, prior = _decoded(run, run.start), np.tile(run.start, (len(run.ends), 1))
    gap = run.begins[1:] - run.ends[:-1]
    for rounds in np.unique(gap):
        after = np.flatnonzero(gap == rounds) + 1
        prior[after] = alone[after - 1] @ np.linalg.matrix_power(run.chain, rounds)
    return _decoded(run, prior)


def _hints(run: Run, decoded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the likelihood of every round's fingerprint in the states that its probe may have ended in, and the one it did end in.

    Before the first fingerprint the likelihood is the same for all states, and the state is not to be used.
    """
    likelihood = np.vstack([decoded / run.start, np.ones(len(run.start))])
    ended = np.append(run.table.states[run.ends], 0)
    return likelihood[run.shown], ended[run.shown]  # the last for -1


class Part(NamedTuple):
    """Rounds whose lag may stem from units that played certain arms.

    Attributes
    ----------
    rounds : the rounds that come to see such a lag
    likelihood : array (rounds, states) of the lag in the states of the round before, on one scale for all parts
    after : the rounds before which the units did play these arms
    """

    rounds: np.ndarray
    likelihood: np.ndarray
    after: np.ndarray


def _lagged(run: Run) -> list[Part]:
    """Return what the lag says: arm and mean reward of the round before, of its best arm if the units played several.

    The lag does not tell what the other units played, so all that it may stem from is considered.
    """
    code = run.arms[:-1] @ run.means.shape[1] ** np.arange(run.arms.shape[1])
    arm, reward = np.full(len(run.arms), -1), np.empty(len(run.arms))
    patterns = []
    for each in np.unique(code):
        after = np.flatnonzero(code == each) + 1
        units = run.arms[after[0] - 1]
        arms = np.unique(units)
        paid = np.stack([run.rewards[after - 1][:, units == one].mean(axis=1) for one in arms])
        best = paid.argmax(axis=0)
        arm[after], reward[after] = arms[best], paid[best, np.arange(len(after))]
        noise = [np.sqrt((run.noise[units == one] ** 2).sum()) / (units == one).sum() for one in arms]
        patterns.append((arms, noise, after))
    parts, top = [], np.full(len(run.arms), -np.inf)
    for arms, noise, after in patterns:
        for one in arms:
            rounds = np.flatnonzero(arm == one)
            logs = np.zeros((len(rounds), len(run.start)))
            for other, scale in zip(arms, noise, strict=True):
                away = (reward[rounds, None] - run.means[:, other]) / scale
                logs += -0.5 * away**2 - np.log(scale) if other == one else log_ndtr(away)
            top[rounds] = np.maximum(top[rounds], logs.max(axis=1))
            parts.append(Part(rounds, logs, after))
    return [part._replace(likelihood=_exp(part.likelihood - top[part.rounds, None])) for part in parts]


def _counts(run: Run, source: np.ndarray, groups: int, rounds: np.ndarray) -> np.ndarray:
    """Count how often each source goes with each state of the round before: an array (halves, groups, states).

    What is to be used in one half was counted in the other.
    """
    states = len(run.start)
    place = ((1 - run.half[rounds]) * groups + source[rounds]) * states + run.table.states[rounds - 1]
    counted = np.bincount(place, minlength=2 * groups * states).reshape(2, groups, states)
    return counted + SMOOTHING / states


def _mixed(weights: np.ndarray, matrices: Mapping[int, np.ndarray], which: np.ndarray) -> np.ndarray:
    """Return every row of weights times the matrix that it belongs to."""
    found = np.empty((len(weights), next(iter(matrices.values())).shape[1]))
    for name, matrix in matrices.items():
        mine = np.flatnonzero(which == name)
        found[mine] = weights[mine] @ matrix
    return found


def _by_lag(run: Run) -> np.ndarray:
    """Return the belief about the state of the round before, given the lag."""
    belief = np.zeros((len(run.arms), len(run.start)))
    for part in _lagged(run):
        counted = _counts(run, np.zeros_like(run.half), 1, part.after)[:, 0]
        belief[part.rounds] += counted[run.half[part.rounds]] * part.likelihood
    return belief


def _by_lags(run: Run) -> np.ndarray:
    """Return the same, given several lags: a filter that starts from how often each state began such a sequence of arms."""
    if run.arms.shape[1] > 1:
        raise refuse("Representation", "units", run.arms.shape[1], f"1 for {LAGS}")
    rounds = np.arange(REMEMBERED, len(run.arms))
    arms = run.means.shape[1]
    played = sum(run.arms[rounds - lag, 0] * arms ** (lag - 1) for lag in range(1, REMEMBERED + 1))
    oldest = rounds - REMEMBERED
    codes, states = arms**REMEMBERED, len(run.start)
    place = ((1 - run.half[rounds]) * codes + played) * states + run.table.states[oldest]
    counted = np.bincount(place, minlength=2 * codes * states).reshape(2, codes, states) + SMOOTHING / states
    belief = np.zeros((len(run.arms), states))
    likelihood = _likelihood(run, np.arange(len(run.arms)))
    belief[rounds] = counted[run.half[rounds], played] * likelihood[oldest]
    for lag in range(REMEMBERED - 1, 0, -1):
        belief[rounds] = (belief[rounds] @ run.chain) * likelihood[rounds - lag]
    belief[1:REMEMBERED] = run.start  # too early for so many lags
    return belief


def _by_fingerprint(run: Run) -> np.ndarray:
    """Return the same, given the fingerprint: its probe may have ended at any time."""
    hints, source = _hints(run, _decoded(run, run.start))
    seen = np.flatnonzero(run.shown >= 0)
    return _mixed(hints, dict(enumerate(_counts(run, source, len(run.start), seen))), run.half)


def _by_both(run: Run, previous: bool = False, aged: bool = False) -> np.ndarray:
    """Return the same, given lag and fingerprint, and the fingerprint before or the age if wanted.

    How the state in which the last probe ended goes with that of the round before is counted. If the age is known, the chain tells it,
    and only the arm that was played in such a case is counted: exact for probes at fixed times.
    """
    hints, source = _hints(run, _decoded_with_previous(run) if previous else _decoded(run, run.start))
    states, fresh = len(run.start), run.fresh
    belief = np.zeros((len(run.arms), states))
    new = np.flatnonzero(fresh)
    belief[new] = hints[new] * _counts(run, np.zeros_like(run.half), 1, new)[run.half[new], 0]
    parts = _lagged(run)
    counted = [
        _counts(run, source, states, part.after[~fresh[part.after] & (run.shown[part.after] >= 0)]) for part in parts
    ]
    which, power = run.half, {0: np.ones((states, states))}
    if aged:
        age = np.where(run.shown >= 0, np.arange(len(fresh)) - 1 - np.append(run.ends, 0)[run.shown], 0)
        power = {2 * int(n): run.start[:, None] * np.linalg.matrix_power(run.chain, n) for n in np.unique(age)}
        counted = [part / sum(counted) for part in counted]
        which = 2 * age + run.half
    for part, count in zip(parts, counted, strict=True):
        old = ~fresh[part.rounds]
        rounds = part.rounds[old]
        matrices = {name + half: matrix * count[half] for name, matrix in power.items() for half in (0, 1)}
        belief[rounds] += _mixed(hints[rounds], matrices, which[rounds]) * part.likelihood[old]
    return belief


_BELIEFS: Mapping[str, Callable[[Run], np.ndarray]] = {
    LAG: _by_lag,
    LAGS: _by_lags,
    FINGERPRINT: _by_fingerprint,
    BOTH: _by_both,
    AGED: lambda run: _by_both(run, aged=True),
    FINGERPRINTS: lambda run: _by_both(run, previous=True),
}


def values(run: Run, statistic: str, payoff: np.ndarray) -> np.ndarray:
    """Return what a payoff (states, columns) is worth in every round, given a statistic: an array (rounds, columns), rows up to a factor.

    With the means of the arms as payoff that is each arm's expected reward, with the identity it is the belief about the state.
    """
    if statistic in (FINGERPRINT, BOTH, AGED, FINGERPRINTS) and not len(run.ends):
        raise refuse(
            "Representation", "statistic", statistic, f"{LAG}, {LAGS} or {HISTORY} for a policy without probes"
        )
    found: np.ndarray = _BELIEFS[statistic](run) @ (run.chain @ payoff)
    found[0] = run.start @ payoff
    return found


class Representation(NamedTuple):
    """Oracle: the best rule that sees only a statistic of the history of another policy, on that policy's own run.

    Its regret is App, the approximation loss of the statistic. For the whole history it is exact: the Bayes filter, looking over the
    policy's shoulder. For the others it is Bayes' rule with the world's means, chain and noise and with counted frequencies. No rule that
    sees the statistic does better than the best, so what is computed is, on average, App or more: more by as much as the counts are off,
    and because the noise of a fingerprint has a part in the arms played after it, which is left out.

    Parameters
    ----------
    base : policy
        The policy on whose run it looks; one without randomness.
    statistic : str
        One of `STATISTICS`.
    decoded : bool
        Do not play the best rule, but the best arm where the statistic's most likely state is the true one, and else the worst: its regret
        bounds App, and one less its share of optimal arms is the error of decoding the state.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.experiments.representation import Representation
    >>> base = lb.policy("lc-ucb")
    >>> contestants = {"regret": base, "lag": Representation(base, "lag"), "history": Representation(base, "history")}
    >>> found = lb.simulate(lb.HiddenMarkov(), contestants, horizon=2000, draws=4, repeats=1)
    >>> [row.label for row in found.summary()]
    ['history', 'lag', 'regret']
    """

    base: Any
    statistic: str
    decoded: bool = False

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.base.arms)

    @property
    def units(self) -> int:
        """Units per round."""
        return int(self.base.units)

    def informed(self, table: Table) -> Policy:
        """Return the rule's arms on this very table."""
        truth = table.truth
        if self.statistic not in STATISTICS:
            raise refuse("Representation", "statistic", self.statistic, "one of " + ", ".join(STATISTICS))
        if truth is None or truth.bernoulli or truth.memory > 0:
            raise refuse(
                "Representation", "world", "another", "a HiddenMarkov world with Gaussian rewards and no memory"
            )
        run = Run.of(self.base, table)
        if self.statistic == HISTORY:
            script = follow_one(BayesLimit(self.arms, self.units), table, run.arms, stream(0))[:, 0]
        elif self.decoded:
            right = values(run, self.statistic, np.eye(len(truth.start))).argmax(axis=1) == table.states
            script = np.where(right, table.means.argmax(axis=1), table.means.argmin(axis=1))
        else:
            script = values(run, self.statistic, truth.means).argmax(axis=1)
        return Scripted(self.arms, self.units, script)
