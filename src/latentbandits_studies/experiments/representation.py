"""The approximation loss of a summary of the history, App, along the run of the policy that uses it.

For a statistic Z of the history, the representation oracle plays the best arm that a rule can name which sees Z alone, in every
round of a policy's own run: it does not choose what is seen. Its regret is App, and what the policy loses beyond it is Reg. The oracle is
given means, chain and noise; and, for statistics that forget part of the history, how often each hidden state goes with each arm when this
policy plays, since the arms that a policy chooses are themselves a hint at the state. That is counted in other runs of the same policy in
the same world, its rehearsals.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from latentbandits.policies.bayes_filter import BayesGreedy
from latentbandits.policies.oracles import Scripted
from latentbandits.protocols import Oracle, Policy, Realisation
from latentbandits.random import stream
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import record_one
from latentbandits_studies.experiments.rehearsal import Run, rehearse

STATISTICS = ("lag", "three lags", "fingerprint", "both", "history")
LAG, LAGS, FINGERPRINT, BOTH, HISTORY = STATISTICS
REMEMBERED = 3  # lags of LAGS
# Counts that are added for every state, spread evenly over the states that it may go with: no combination is impossible
SMOOTHING = 10.0
ALONE = np.zeros(1, np.int64)  # the only group


def _times(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Multiply in pieces too small for the algebra library to start threads of its own: runs are spread over all cores already."""
    product, piece = np.empty((len(rows), matrix.shape[1])), max(1, 100_000 // matrix.size)
    for first in range(0, len(rows), piece):
        np.matmul(rows[first : first + piece], matrix, out=product[first : first + piece])
    return product


def _exp(logs: np.ndarray) -> np.ndarray:
    """Return likelihoods that are never quite zero: a state that is 80 groups of log-likelihood off is off, and tiny numbers are slow."""
    values: np.ndarray = np.exp(np.maximum(logs, -80.0, out=logs), out=logs)
    return values


def _likelihood(run: Run, rounds: np.ndarray) -> np.ndarray:
    """Return the likelihood of all rewards of some rounds in every state, each row up to a factor."""
    logs = np.zeros((len(rounds), len(run.truth.means)))
    for group, noise in enumerate(run.truth.noise):
        logs -= 0.5 * ((run.rewards[rounds, group, None] - run.truth.means.T[run.arms[rounds, group]]) / noise) ** 2
    return _exp(logs - logs.max(axis=1, keepdims=True))


def _decoded(run: Run) -> np.ndarray:
    """Return what each probe says about the state in its last round: an array (probes, states)."""
    belief = np.tile(run.truth.start, (len(run.ends), 1))
    length = run.ends - run.begins
    for part in range(int(length.max(initial=-1)) + 1):
        rows = np.flatnonzero(length >= part)
        if part > 0:
            belief[rows] = belief[rows] @ run.truth.transition
        belief[rows] *= _likelihood(run, run.begins[rows] + part)
    total = belief.sum(axis=1, keepdims=True)
    normalised: np.ndarray = belief / np.where(total > 0, total, 1.0)
    return normalised


def _hints(run: Run, decoded: np.ndarray) -> np.ndarray:
    """Return the likelihood of every round's fingerprint in the states that its probe may have ended in; ones before the first."""
    beliefs: np.ndarray = np.vstack([decoded / run.truth.start, np.ones(len(run.truth.start))])[
        run.shown
    ]  # the last for -1
    return beliefs


class Part(NamedTuple):
    """Rounds whose lag may stem from groups that played certain arms.

    Attributes
    ----------
    code : these arms, as one number
    rounds : the rounds that see such a lag
    likelihood : array (rounds, states) of the lag in the states of the round before, on one scale for all parts
    """

    code: int
    rounds: np.ndarray
    likelihood: np.ndarray


def _lagged(run: Run) -> list[Part]:
    """Return what the lag says: arm and mean reward of the round before, of its best arm if the groups played several.

    The lag does not tell what the other groups played, so all that it may stem from is considered.
    """
    code = run.code[:-1]
    arm, reward = np.full(len(run.arms), -1), np.empty(len(run.arms))
    patterns = []
    for each in np.unique(code):
        before = np.flatnonzero(code == each)
        groups = run.arms[before[0]]
        arms = np.unique(groups)
        paid = np.stack([run.rewards[before][:, groups == played].mean(axis=1) for played in arms])
        best = paid.argmax(axis=0)
        arm[before + 1], reward[before + 1] = arms[best], paid[best, np.arange(len(before))]
        noise = [np.sqrt((run.truth.noise[groups == played] ** 2).sum()) / (groups == played).sum() for played in arms]
        patterns.append((int(each), arms, noise))
    parts, top = [], np.full(len(run.arms), -np.inf)
    for each, arms, noise in patterns:
        for played in arms:
            rounds = np.flatnonzero(arm == played)
            logs = np.zeros((len(rounds), len(run.truth.start)))
            for other, scale in zip(arms, noise, strict=True):
                away = (reward[rounds, None] - run.truth.means[:, other]) / scale
                logs += -0.5 * away**2 - np.log(scale) if other == played else log_ndtr(away)
            top[rounds] = np.maximum(top[rounds], logs.max(axis=1))
            parts.append(Part(each, rounds, logs))
    return [part._replace(likelihood=_exp(part.likelihood - top[part.rounds, None])) for part in parts]


def _count(groups: int, states: int, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Count how often each group goes with each state, in all rehearsals: an array (groups, states)."""
    counted = np.zeros(groups * states)
    for group, state in pairs:
        counted += np.bincount(group * states + state, minlength=len(counted))
    counts: np.ndarray = counted.reshape(groups, states) + SMOOTHING / states
    return counts


def _by_lag(run: Run, rehearsals: Sequence[Run]) -> np.ndarray:
    """Return the belief about the state of the round before, given the lag; the chain gives the frequency of each state."""
    states = len(run.truth.start)
    belief, parts = np.zeros((len(run.arms), states)), _lagged(run)
    counted = {
        code: _count(
            1, states, ((ALONE, rehearsal.realisation.states[rehearsal.code == code]) for rehearsal in rehearsals)
        )
        for code in {part.code for part in parts}
    }
    total = sum(counted.values())
    for part in parts:
        belief[part.rounds] += part.likelihood * (run.truth.start * counted[part.code] / total)
    return belief


def _by_lags(run: Run, rehearsals: Sequence[Run]) -> np.ndarray:
    """Return the same, given several lags: a filter that starts from how often each state begins such a sequence of arms."""
    if run.arms.shape[1] > 1:
        raise InvalidValueError("Representation", "groups", run.arms.shape[1], f"1 for {LAGS}")
    arms, states = run.truth.means.shape[1], len(run.truth.start)
    rounds = np.arange(REMEMBERED, len(run.arms))
    oldest, powers = rounds - REMEMBERED, arms ** np.arange(REMEMBERED)

    def sequence(rehearsal: Run) -> np.ndarray:
        numbers: np.ndarray = (
            np.stack([rehearsal.arms[rounds - lag, 0] for lag in range(1, REMEMBERED + 1)], 1) @ powers
        )
        return numbers

    counted = _count(
        arms**REMEMBERED,
        states,
        ((sequence(rehearsal), rehearsal.realisation.states[oldest]) for rehearsal in rehearsals),
    )
    likelihood = _likelihood(run, np.arange(len(run.arms)))
    beliefs = (run.truth.start * counted / counted.sum(axis=0))[sequence(run)] * likelihood[oldest]
    for lag in range(REMEMBERED - 1, 0, -1):
        beliefs = _times(beliefs, run.truth.transition) * likelihood[rounds - lag]
    return np.vstack([np.tile(run.truth.start, (REMEMBERED, 1)), beliefs])  # at first there are not so many lags


def _by_fingerprint(run: Run, rehearsals: Sequence[Run]) -> np.ndarray:
    """Return the same, given the fingerprint: its probe may have ended at any time."""
    states = len(run.truth.start)
    pairs = (rehearsal.since(rehearsal.shown >= 0) for rehearsal in rehearsals)
    return _times(_hints(run, _decoded(run)), _count(states, states, pairs))


def _by_both(run: Run, rehearsals: Sequence[Run]) -> np.ndarray:
    """Return the same, given lag and fingerprint.

    How the state in which the last probe ended goes with that of the round before is counted.
    """
    hints = _hints(run, _decoded(run))
    states, fresh = len(run.truth.start), run.fresh
    belief = np.zeros((len(run.arms), states))
    ended = _count(1, states, ((ALONE, rehearsal.realisation.states[rehearsal.ends]) for rehearsal in rehearsals))
    belief[fresh] = hints[fresh] * ended
    parts = _lagged(run)
    counted = {}
    for code in {part.code for part in parts}:
        pairs = (
            rehearsal.since(rehearsal.after(code) & ~rehearsal.fresh & (rehearsal.shown >= 0))
            for rehearsal in rehearsals
        )
        counted[code] = _count(states, states, pairs)
    for part in parts:
        mine = np.flatnonzero(~fresh[part.rounds])
        rounds = part.rounds[mine]
        belief[rounds] += _times(hints[rounds], counted[part.code]) * part.likelihood[mine]
    return belief


_BELIEFS: Mapping[str, Callable[[Run, Sequence[Run]], np.ndarray]] = {
    LAG: _by_lag,
    LAGS: _by_lags,
    FINGERPRINT: _by_fingerprint,
    BOTH: _by_both,
}


def values(run: Run, rehearsals: Sequence[Run], statistic: str, payoff: np.ndarray) -> np.ndarray:
    """Return what a payoff (states, columns) is worth in every round, given a statistic: an array (rounds, columns), rows up to a factor.

    With the means of the arms as payoff that is each arm's expected reward, with the identity it is the belief about the state.
    """
    if statistic in (FINGERPRINT, BOTH) and not len(run.ends):
        raise InvalidValueError(
            "Representation", "statistic", statistic, f"{LAG}, {LAGS} or {HISTORY} for a policy without probes"
        )
    payoffs = _times(_BELIEFS[statistic](run, rehearsals), run.truth.transition @ payoff)
    payoffs[0] = run.truth.start @ payoff
    return payoffs


class Representation(Oracle):
    """Oracle: the best rule that sees only a statistic of the history of another policy, on that policy's own run.

    Its regret is App, the approximation loss of the statistic. For the whole history it is exact: the Bayes filter, fed with
    the policy's run. For the others it is Bayes' rule with the world's means, chain and noise and with the frequencies of `rehearse`.
    No rule that sees the statistic does better than the best, so what is computed is, on average, App or more: more by as much as the
    counts are off, and because the noise of a fingerprint has a part in the arms played after it, which is left out.

    Parameters
    ----------
    base : policy
        The policy whose run it reads; one without randomness.
    statistic : str
        One of `STATISTICS`.
    decoded : bool
        Do not play the best rule, but the best arm where the statistic's most likely state is the true one, and else the worst: its regret
        bounds App, and one less its share of optimal arms is the error of decoding the state.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.representation import Representation
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
    def groups(self) -> int:
        """Groups per round."""
        return int(self.base.groups)

    def informed(self, realisation: Realisation) -> Policy:
        """Return the rule's arms on this very realisation."""
        truth = realisation.truth
        if self.statistic not in STATISTICS:
            raise InvalidValueError("Representation", "statistic", self.statistic, "one of " + ", ".join(STATISTICS))
        if self.decoded and self.statistic == HISTORY:
            raise InvalidValueError("Representation", "decoded", True, "False for the whole history")
        if truth is None or truth.rewards != "gaussian" or truth.carryover > 0:
            raise InvalidValueError(
                "Representation", "world", "another", "a HiddenMarkov world with Gaussian rewards and no carryover"
            )
        run = Run.of(self.base, realisation)
        rehearsals = rehearse(self.base, realisation) if self.statistic != HISTORY else []
        if self.statistic == HISTORY:
            greedy = BayesGreedy(self.arms, self.groups)
            script = record_one(greedy, realisation, stream(0), played=run.arms).arms[:, 0]
        elif self.decoded:
            right = (
                values(run, rehearsals, self.statistic, np.eye(len(truth.start))).argmax(axis=1) == realisation.states
            )
            script = np.where(right, realisation.means.argmax(axis=1), realisation.means.argmin(axis=1))
        else:
            script = values(run, rehearsals, self.statistic, truth.means).argmax(axis=1)
        return Scripted(self.arms, self.groups, script)
