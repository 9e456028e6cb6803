"""What a log says: the conclusion, the states, the timeline, and what follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

from latentbandits.advice.candidates import Specs
from latentbandits.advice.compare import Comparison, compare
from latentbandits.advice.result import Result
from latentbandits.compiled import fast
from latentbandits.logs import em, emissions, hmm
from latentbandits.logs.conclusion import Conclusion, list_contenders, weigh_hypotheses
from latentbandits.logs.hmm import BINARY, MIXTURE, Model
from latentbandits.logs.hypothesis import Hypothesis
from latentbandits.logs.log import Log
from latentbandits.logs.posterior import arm_table, credible_interval, gain, state_table
from latentbandits.logs.regimes import REGIMES
from latentbandits.logs.regression import Covariate
from latentbandits.logs.series import Series
from latentbandits.logs.text import diagnosis_text
from latentbandits.logs.worlds import FittedWorld
from latentbandits.protocols import Policy
from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latentbandits.agent import Agent
    from latentbandits.logs.advice import FittedProblem, LogAdvice

OWNER = "diagnose"
NEAR = 3.0  # noises between the two nearest states below which there may be more states
CLOSE = 10.0  # nats by which one state less or more must be worse
BESIDE = 5  # rows before and after a change that are compared
RUNS = 64
LONGEST = 10_000  # rounds that are simulated if nothing else is said


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Result):
    """What a log says about hidden regimes.

    Attributes
    ----------
    table : data frame
        A row per state and arm: `state` (the most usual is 0), its `share` of time, its `dwell` in rounds with an interval of 95 %
        (`dwell_low`, `dwell_high`), `arm`, its `mean` reward with `low` and `high`, and `tried`, the expected number of rows. Without
        regimes a row per arm.
    log : the log
    hypotheses : all hypotheses, the best first
    conclusion : what they come to
    fit : the chain of states in units of noise, None if none could be fitted; `model` is the same in the unit of rewards
    samples : models that the log leaves open, in units of noise, as one whose arrays begin with an axis of samples
    series : the rows that were fitted, with calendar and context taken out
    offsets : array (rows,), what was taken out
    scores : number of states -> score
    calendar : what the calendar explains, in words, and the share of the variance; None without dates
    covariates : what every column of context explains
    worlds : kind of hypothesis -> a world that is as the log was, by it
    flags : what a reader should know
    comparison : policies on worlds that are as the log was, if they were compared along
    """

    table: pd.DataFrame = field(init=False)
    log: Log
    hypotheses: tuple[Hypothesis, ...]
    conclusion: Conclusion
    fit: Model | None
    samples: Model | None
    series: Series
    offsets: np.ndarray
    scores: Mapping[int, float]
    calendar: tuple[str, float] | None
    covariates: tuple[Covariate, ...]
    worlds: Mapping[str, FittedWorld]
    flags: tuple[str, ...]
    comparison: Comparison | None = None
    owner: ClassVar[str] = OWNER
    suffixes: ClassVar[tuple[str, ...]] = (*Result.suffixes, ".npz")

    def __post_init__(self) -> None:
        table = arm_table(self.log)
        if self.regimes and self.model is not None and self.samples is not None:
            table = state_table(self.log, self.model, self.samples, self.means_sampled)
        object.__setattr__(self, "table", table)

    @property
    def regimes(self) -> bool:
        """Whether there are regimes, by a clear margin."""
        return self.conclusion.kind == REGIMES and self.fit is not None

    @cached_property
    def model(self) -> Model | None:
        """The chain of states in the unit of rewards; None if none could be fitted."""
        if self.fit is None:
            return None
        middle = (self.fit.components[:, 0] * self.fit.components[:, 1]).sum() if self.fit.family == MIXTURE else 0.0
        return self.fit._replace(means=(self.fit.means + middle) * self.series.noise)

    @cached_property
    def means_sampled(self) -> np.ndarray:
        """Sampled means in the unit of rewards, an array (samples, states, arms)."""
        assert self.samples is not None and self.model is not None and self.fit is not None  # noqa: PT018
        shift = self.model.means - self.fit.means * self.series.noise
        return np.asarray(self.samples.means * self.series.noise + shift)

    @property
    def noise(self) -> np.ndarray:
        """Standard deviation of a reward of every arm, in the unit of rewards."""
        if self.fit is None:
            around = self.series.values - self.series.centres[self.series.arms]
            return np.asarray(self.series.noise * float(around.std()))
        if self.fit.family == BINARY:
            return np.asarray(np.sqrt(self.series.centres * (1 - self.series.centres)))
        return np.asarray(self.series.noise * float((self.fit.spread * self.fit.shares).sum()))

    @cached_property
    def gain(self) -> tuple[float, float, float]:
        """What following the states earns per round beyond the best single arm, with an interval of 95 %; zeros without a fit."""
        if self.model is None or self.samples is None:
            return 0.0, 0.0, 0.0
        sampled = gain(self.means_sampled, self.samples.shares)
        low, high = credible_interval(sampled)
        point = float(gain(self.model.means, self.model.shares))
        if not low <= point <= high:  # arms that were hardly tried: the best fit is no typical one
            point = float(np.median(sampled))
        return point, float(low), float(high)

    @property
    def useful(self) -> bool:
        """Whether the states change what to do: the interval of the gain does not touch 0."""
        best = {int(arm) for arm in self.model.means.argmax(axis=1)} if self.model is not None else set()
        return len(best) > 1 and self.gain[1] > 1e-3 * max(self.gain[0], 1e-300)

    @property
    def at_least(self) -> bool:
        """Whether there may be more states than were counted: two are close, or one more is hardly worse."""
        if self.fit is None:
            return False
        states = self.fit.num_states
        if self.scores.get(states, 0.0) - self.scores.get(states + 1, -np.inf) < CLOSE:
            return True
        spread = self.series.spreads if self.fit.family == BINARY else self.fit.spread.mean()
        return float(pdist(self.fit.means / spread).min()) < NEAR

    @property
    def fewest(self) -> int:
        """The fewest states that are hardly worse than those that were counted; 0 without a fit."""
        if self.fit is None:
            return 0
        best = self.scores.get(self.fit.num_states, np.inf)
        return min([states for states, score in self.scores.items() if score > best - CLOSE] + [self.fit.num_states])

    @property
    def counted(self) -> str:
        """The number of states in words."""
        assert self.fit is not None
        states, fewest = self.fit.num_states, self.fewest
        most_likely = f", most likely {states}" if fewest < states else ""
        return f"{'at least ' if self.at_least or most_likely else ''}{fewest} states{most_likely}"

    @property
    def headline(self) -> str:
        """The conclusion in one line."""
        if not self.regimes:
            return f"{self.conclusion.words} ({self.conclusion.sure})"
        do = "" if self.useful else ", but they do not change what to do"
        return f"{self.conclusion.words}: {self.counted}{do} ({self.conclusion.sure})"

    @cached_property
    def state_probs(self) -> np.ndarray:
        """The probability of every state at every row, given all rewards: an array (rows, states); one column without regimes."""
        if self.fit is None:
            return np.ones((len(self.log), 1))
        return em.e_step(self.series, self.fit).state_probs

    @cached_property
    def path(self) -> np.ndarray:
        """The most probable path of states, an int array (rows,)."""
        if self.fit is None:
            return np.zeros(len(self.log), np.int64)
        log_lik = emissions.log_likelihoods(self.series, self.fit)
        return np.asarray(fast(hmm.viterbi)(log_lik, self.series.gaps, self.fit.exit_prob, self.fit.entry_prob))

    @cached_property
    def changes(self) -> pd.DataFrame:
        """A row per change of the most probable path: `row`, `time`, the states `before` and `after`, and how `probable` it is.

        The last is the probability that the states a few rows before and a few rows after differ.
        """
        rows = np.flatnonzero(np.diff(self.path)) + 1
        before, after = np.maximum(rows - BESIDE, 0), np.minimum(rows + BESIDE, len(self.path) - 1)
        probable = 1 - (self.state_probs[before] * self.state_probs[after]).sum(axis=1)
        columns = {"row": rows, "before": self.path[rows - 1], "after": self.path[rows], "probable": probable}
        if self.log.times is not None:
            columns["time"] = self.log.times[rows]
        return pd.DataFrame(columns)

    @cached_property
    def regret(self) -> tuple[float, float, float]:
        """What the old rule lost against the best arm of every state, in all, with an interval of 95 %."""
        if self.model is None:
            return 0.0, 0.0, 0.0
        counts = np.zeros_like(self.model.means)
        for arm in range(counts.shape[1]):
            counts[:, arm] = self.state_probs[self.log.played == arm].sum(axis=0)

        def lost(means: np.ndarray) -> np.ndarray:
            return np.asarray((counts * (means.max(axis=-1, keepdims=True) - means)).sum(axis=(-2, -1)))

        low, high = credible_interval(lost(self.means_sampled))
        return float(lost(self.model.means)), float(low), float(high)

    @property
    def probabilities(self) -> dict[str, float]:
        """How probable every hypothesis is among those that were fitted, by name."""
        return weigh_hypotheses(self.hypotheses, self.conclusion)

    @property
    def contenders(self) -> list[Hypothesis]:
        """The hypotheses that are not out yet, the best first."""
        return list_contenders(self.hypotheses, self.conclusion)

    def problem(self, kind: str | None = None, **sizes: int | None) -> "FittedProblem":
        """Return the log as a problem for `compare` and `advise`.

        Parameters
        ----------
        kind : str, optional
            By which hypothesis, a key of `worlds`; the best one if not given.
        **sizes
            `horizon`, `runs` and so on, as in a `Problem`; as many rounds as the log has, at most 10,000, if not given.
        """
        from latentbandits.logs.advice import FittedProblem

        kind = kind if kind is not None else next((h.kind for h in self.contenders if h.kind in self.worlds), "nothing")
        if kind not in self.worlds:
            raise InvalidValueError(OWNER, "kind", kind, f"one of {', '.join(self.worlds)}")
        horizon = int(min(max(self.series.gaps.sum(), 100), LONGEST))
        given = {word: value for word, value in sizes.items() if value is not None}
        return FittedProblem(self.worlds[kind], kind=kind, horizon=horizon).replace(**given)

    def compare(
        self,
        policies: Specs | None = None,
        *,
        kind: str | None = None,
        horizon: int | None = None,
        runs: int = RUNS,
        seed: int = 0,
        **played: Any,
    ) -> Comparison:
        """Return what policies would earn on worlds that are as the log was: each run is another model that the log leaves open.

        Parameters
        ----------
        policies : iterable or mapping, optional
            As for `latentbandits.compare`.
        kind : str, optional
            By which hypothesis; the best one if not given.
        horizon, runs, seed, **played
            As for `latentbandits.compare`; as many rounds as the log has, at most 10,000, if not given.
        """
        return compare(self.problem(kind, horizon=horizon, runs=runs, seed=seed), policies, **played)

    def advise(
        self,
        policies: Specs | None = None,
        *,
        horizon: int | None = None,
        runs: int | None = None,
        seed: int | None = None,
        sweep: bool = True,
        seconds: float | None = None,
        **played: Any,
    ) -> "LogAdvice":
        """Return which policy to go on with: by the conclusion, or by each hypothesis that is still in the race.

        Every world is a model that the log leaves open; flips say whether another horizon would change the advice.

        Parameters
        ----------
        policies, horizon, runs, seed, sweep, seconds, **played
            As for `latentbandits.advise`; 64 worlds if nothing else is said. Hypotheses share the seconds evenly.
        """
        from latentbandits.logs.advice import log_advice

        sizes = {"horizon": horizon, "runs": runs or RUNS, "seed": seed}
        return log_advice(self, policies, sizes, seconds, sweep, **played)

    def agent(self, policy: Policy | str, arms: Sequence[int | str] | None = None, **options: Any) -> "Agent":
        """Return an agent that has been fed the log; see `Agent.feed`.

        Parameters
        ----------
        policy, **options
            As for `Agent`.
        arms : list of names, optional
            The arms to go on with; those of the log if not given. Others of the log are retired, new ones are fresh.
        """
        from latentbandits.agent import Agent

        agent = Agent(policy, arms=list(self.log.arms if arms is None else arms), **options)
        agent.feed(self.log)
        return agent

    def figure(self) -> "Figure":
        """Return the timeline as a figure."""
        from latentbandits.logs.page import plot_timeline

        return plot_timeline(self)

    def text(self) -> str:
        """Return the diagnosis as a terminal shows it."""
        return diagnosis_text(self)

    def page(self) -> str:
        """Return the diagnosis as one HTML page that needs no other file."""
        from latentbandits.logs.page import page

        return page(self)

    def content(self, suffix: str) -> bytes:
        """Return the content of a file with one of the suffixes."""
        if suffix == ".npz":
            from latentbandits.logs.serialise import to_npz

            return to_npz(self)
        return super().content(suffix)

    @staticmethod
    def load(path: str | Path) -> "Diagnosis":
        """Return the diagnosis that was saved as an .npz file."""
        from latentbandits.logs.serialise import from_npz

        return from_npz(Path(path))

    def values(self) -> dict[str, object]:
        """Return everything but single rows as plain values."""
        from latentbandits.logs.serialise import to_values

        return to_values(self)
