"""A policy at work on one run: what it played and believed round by round, why it probed, and what that cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from latentbandits.advice.base import BaseProblem
from latentbandits.advice.candidates import Spec, fit_policy
from latentbandits.advice.parameter import Words
from latentbandits.advice.result import Result, Values, records
from latentbandits.presentation.numbers import counted, percent
from latentbandits.presentation.palette import label
from latentbandits.protocols import CONTINUED, REASONS, Contestant, Policy, World
from latentbandits.random import Purpose, stream
from latentbandits.settings import InvalidValueError, check_int
from latentbandits.simulation.batch import believe_one, record_one

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latentbandits.beliefs import Belief

OWNER = "trace"
# The first round shown, where the horizon is long enough: most policies have learned the arms by then
START = 1000
ROUNDS = 300
# A figure with more rounds or arms could not be read
MOST_ROUNDS, MOST_ARMS = 5000, 50


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Result):
    """What `latentbandits.trace` returns: some consecutive rounds of one run.

    Attributes
    ----------
    table : data frame with a row per round, counted from 1: the hidden `state` (-1 where there is none), a `best` arm, the arm that each
        group played (`group 0`, ...), the reasons for which a `probe` began or continued, and the `regret` per group
    problem : the problem, or the world
    spec, name : the policy as it was given, and its name (or module:Class) without settings
    policy : the policy
    number_of_states : number of hidden states of the world, or of those that were visited if it does not say; 0 for none
    states : int array (rounds,), the hidden state
    means : array (rounds, arms), the expected rewards, minus infinity where an arm is not available
    arms : int array (rounds, groups), the arms played
    probe_reasons : int array (rounds,), the reasons to probe, see `latentbandits.protocols.REASONS`
    beliefs : what the policy believed after every round; empty if it has no beliefs
    """

    problem: BaseProblem
    spec: str
    name: str
    policy: Contestant
    number_of_states: int
    states: np.ndarray
    means: np.ndarray
    arms: np.ndarray
    probe_reasons: np.ndarray
    beliefs: Sequence["Belief"]
    owner: ClassVar[str] = OWNER

    @property
    def rounds(self) -> np.ndarray:
        """The numbers of the rounds, counted from 1."""
        return self.table.index.to_numpy()  # type: ignore[no-any-return]

    @cached_property
    def gaps(self) -> np.ndarray:
        """Expected reward of a best available arm less that of each arm, infinite where it is not available, (rounds, arms)."""
        return self.means.max(axis=1, keepdims=True) - self.means  # type: ignore[no-any-return]

    @cached_property
    def losses(self) -> np.ndarray:
        """Regret of every group, (rounds, groups)."""
        return np.take_along_axis(self.gaps, self.arms, axis=1)

    @property
    def regret(self) -> np.ndarray:
        """Regret per group of each round."""
        return self.losses.mean(axis=1)  # type: ignore[no-any-return]

    @property
    def optimal(self) -> float:
        """Share of groups that received a best arm."""
        return float((self.losses == 0).mean())

    @property
    def changes(self) -> list[int]:
        """The rounds in which the hidden state differs from that of the round before."""
        return [int(when) for when in self.rounds[1:][np.diff(self.states) != 0]]

    @property
    def believed_changes(self) -> list[int]:
        """The rounds in which the policy believes that the state changed."""
        return believed_changes(self.beliefs, int(self.rounds[0]))

    @property
    def probes(self) -> int:
        """Number of probes that began; one that takes several rounds counts once."""
        return int(((self.probe_reasons & ~CONTINUED) != 0).sum())

    @property
    def headline(self) -> str:
        """The share of best arms and the number of probes."""
        probes = f" and began {counted(self.probes, 'probe')}" if self.probes else ""
        return f"{label(self.spec)} played a best arm in {percent(self.optimal)} of {len(self.rounds):,} rounds{probes}"

    def text(self) -> str:
        """Return the numbers of the run in one sentence."""
        states = f"{self.number_of_states or 'no'} hidden {'state' if self.number_of_states == 1 else 'states'}"
        return (
            f"{label(self.spec)} in rounds {self.rounds[0]:,} to {self.rounds[-1]:,}, {self.means.shape[1]} arms, {states}; "
            f"a best arm in {percent(self.optimal, 1)}, {counted(self.probes, 'probe')}, "
            f"regret {self.regret.sum():.2f} per group{self._beliefs_at_the_end()}."
        )

    def _beliefs_at_the_end(self) -> str:
        if not self.beliefs:
            return ""
        last, true = self.beliefs[-1], len(self.changes) if (self.states >= 0).any() else "unknown"
        return (
            f"; changes believed {len(self.believed_changes)}, true {true}, "
            f"states {len(last.states)}, noise {last.noise:.2g}, dwell {last.dwell:.0f} rounds"
        )

    def figure(self) -> "Figure":
        """Return a figure: hidden state, arms, reasons to probe, beliefs and regret, round by round."""
        from latentbandits.advice.trace_figure import plot

        return plot(self)

    def values(self) -> Values:
        """Return everything but the beliefs as plain values."""
        return {
            "policy": self.spec,
            "problem": str(self.problem),
            "optimal": self.optimal,
            "probes": self.probes,
            "regret": float(self.regret.sum()),
            "rounds": records(self.table),
        }


def trace(
    problem: World | Words | str | Path,
    policy: Spec,
    *,
    start: int | None = None,
    rounds: int | None = None,
    seed: int | None = None,
) -> Trace:
    """Play a policy on one run of a problem and record some consecutive rounds.

    The run is the first one of `latentbandits.compare` with the same problem: it samples the same world and plays the same arms.

    Parameters
    ----------
    problem : Problem, World, mapping or path
        As `latentbandits.compare` takes it.
    policy : str or Policy
        A spec that `latentbandits.policy` takes, or a policy.
    start : int, optional
        First round shown, counted from 1; those before are played too. If not given: 1,000, or less if the horizon is shorter.
    rounds : int, optional
        Number of rounds shown; 300 if not given, or less if the horizon is shorter.
    seed : int, optional
        Instead of the problem's own.

    Returns
    -------
    Trace
        `.figure()` shows the hidden state, the arms played, the reasons to probe, the beliefs and the regret; `.table` has a row per round,
        `.text()` the sums, `.save(path)` writes either.

    Examples
    --------
    >>> import latentbandits as lb
    >>> trace = lb.trace(lb.Problem(groups=2, seed=6), "rp-ucb", start=21, rounds=20)
    >>> trace.text()
    'RP-UCB in rounds 21 to 40, 2 arms, 10 hidden states; a best arm in 90.0 %, 2 probes, regret 0.21 per group.'
    >>> trace.table.columns.tolist()
    ['state', 'best', 'group 0', 'group 1', 'probe', 'regret']
    """
    place, spec, name, contestant = fit_policy(OWNER, problem, policy, seed=seed)
    first, last = window(place.horizon, start, rounds)
    if place.arms > MOST_ARMS:
        raise InvalidValueError(OWNER, "arms", place.arms, f"at most {MOST_ARMS}, or else no figure could show them")
    # the streams of `simulate`: this is its first run
    realisation = place.realise(last, contestant.groups, place.seed, 0, 0)
    random = stream(place.seed, Purpose.POLICY, 0, 0)
    arms, probe_reasons = record_one(contestant, realisation, random.copy())
    beliefs = (
        believe_one(contestant, realisation, random.copy(), first)
        if isinstance(contestant, Policy) and contestant.has_belief
        else []
    )
    truth = realisation.truth
    visited = len(set(realisation.states[realisation.states >= 0].tolist()))
    number = visited if truth is None else len(truth.start)
    states, means, arms, probe_reasons = (
        part[first - 1 :] for part in (realisation.states, realisation.offered, arms, probe_reasons)
    )
    table = tabulate(first, states, means, arms, probe_reasons)
    return Trace(table, place, spec, name, contestant, number, states, means, arms, probe_reasons, beliefs)


def window(horizon: int, start: int | None, rounds: int | None) -> tuple[int, int]:
    """Return the first and the last round shown, counted from 1, or refuse them.

    Examples
    --------
    >>> from latentbandits.advice.trace import window
    >>> [window(*sizes) for sizes in ((10_000, None, None), (500, None, None), (100, None, None), (500, 300, None))]
    [(1000, 1299), (201, 500), (1, 100), (300, 500)]
    """
    for name, value, most in (("start", start, horizon), ("rounds", rounds, min(horizon, MOST_ROUNDS))):
        if value is not None and check_int(OWNER, name, value, least=1) > most:
            raise InvalidValueError(OWNER, name, value, f"at most {most}{', the horizon' if most == horizon else ''}")
    if start is None:
        count = min(ROUNDS, horizon) if rounds is None else rounds
        start = max(1, min(START, horizon - count + 1))
    else:
        count = min(ROUNDS, horizon - start + 1) if rounds is None else rounds
    if start + count - 1 > horizon:
        raise InvalidValueError(
            OWNER, "rounds", count, f"at most {horizon - start + 1} from round {start} to the horizon {horizon}"
        )
    return start, start + count - 1


def tabulate(
    start: int, states: np.ndarray, means: np.ndarray, arms: np.ndarray, probe_reasons: np.ndarray
) -> pd.DataFrame:
    """Return the table of rounds from `start` on, counted from 1."""
    gaps = means.max(axis=1, keepdims=True) - means
    return pd.DataFrame(
        {
            "state": states,
            "best": means.argmax(axis=1),
            **{f"group {group}": arms[:, group] for group in range(arms.shape[1])},
            "probe": [", ".join(word for reason, word in REASONS.items() if reason & bits) for bits in probe_reasons],
            "regret": np.take_along_axis(gaps, arms, axis=1).mean(axis=1),
        },
        index=pd.RangeIndex(start, start + len(means), name="round"),
    )


def believed_changes(beliefs: Iterable["Belief"], after: int) -> list[int]:
    """Return the changes after a round in which a policy came to believe, given one belief per round.

    A belief in an earlier change takes back all later ones; one within two rounds of the last is the same change, better dated.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.trace import believed_changes
    >>> belief = lb.Agent("state-library").belief
    >>> believed_changes((belief._replace(changed=when) for when in (9, 40, 41, 41, 70, 41, 90)), after=20)
    [41, 90]
    """
    changes: list[int] = []
    for belief in beliefs:
        while changes and changes[-1] >= belief.changed - 2:
            changes.pop()
        changes.append(belief.changed)
    return [when for when in changes if when > after]
