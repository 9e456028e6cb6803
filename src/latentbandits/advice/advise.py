"""Which policy for this problem, how sure that is, what another choice costs, and when the advice would change."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import pandas as pd

from latentbandits.advice import flips
from latentbandits.advice.base import BaseProblem
from latentbandits.advice.candidates import Spec, Specs, candidates, check_groups
from latentbandits.advice.compare import REFERENCES, Comparison, has_limit, is_record, policies_source, wins
from latentbandits.advice.measure import (
    candidate_table,
    finalists,
    looks,
    measure,
    sureness,
    worth_sweeping,
)
from latentbandits.advice.parameter import Words
from latentbandits.advice.problem import as_problem
from latentbandits.advice.race import Race, race
from latentbandits.advice.result import Result, Values, plain, records
from latentbandits.advice.simulator import FLIPS, MEASURE, NO_LIMIT, RACE, Report, Simulator, Spent, name_undone
from latentbandits.advice.worth import WORTH, Worth, judge
from latentbandits.parameters import all_settings
from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.progress import usual
from latentbandits.protocols import Policy
from latentbandits.settings import InvalidValueError, check_int
from latentbandits.simulation.batch import as_policies, labelled
from latentbandits.simulation.results import interval
from latentbandits.specs import fairly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 8  # worlds
LEAST_SURE = 0.5  # below this there is no advice that could flip


@runtime_checkable
class Advisable(Protocol):
    """What is advised on in its own way, such as a `Diagnosis`: by each hypothesis about a log that is still in the race."""

    @property
    def advise(self) -> Callable[..., "Advice"]:
        """The function that returns the advice."""


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Result):
    """The policy to use, and what is known about the choice.

    Attributes
    ----------
    table : data frame
        A row per candidate, best first: its regret over the winner's (`over_winner`), on how many `worlds` it ran, and whether it
        `dropped` out.
    problem : the problem, with ranges for whatever was left out
    winner : spec or label of the policy to use
    policy : the policy itself, for `Agent`
    sure : how sure it is that no other candidate has less regret on average over the ranges, from 0 to 1
    comparison : winner, other finalists and plain policies, measured on worlds that were not used to choose
    race : how the candidates dropped out, see `latentbandits.advice.race`
    sweeps : races along every quantity
    other_kinds : other kinds of world in which another policy would be better
    policies : the candidates as given; None for all
    spent : what became of the seconds, and what there was no time for; None if there was no limit
    """

    problem: BaseProblem
    winner: str
    policy: Policy
    sure: float
    comparison: Comparison
    race: Race
    sweeps: list[flips.Sweep]
    other_kinds: list[flips.Flip]
    policies: Specs | None
    spent: Spent | None = None
    owner: ClassVar[str] = "advise"

    @property
    def runner_up(self) -> str | None:
        """The candidate that comes next on the worlds that measure."""
        return next((label for label in self.comparison.ranked if label in self.rivals), None)

    @property
    def rivals(self) -> list[str]:
        """The other candidates, best first."""
        return [label for label in self.race.order if label != self.winner]

    @property
    def as_good(self) -> list[str]:
        """The other candidates that are not shown to have more regret on fresh worlds, the nearest first."""
        near = self.costs[self.costs.index.isin(self.rivals) & ~(self.costs["low"] > 0)]
        return [str(label) for label in near.sort_values("more", kind="stable").index]

    @cached_property
    def worth(self) -> Worth:
        """The advised policy beside the best single arm and the limit on fresh worlds, and whether it is worth it."""
        return judge(self.comparison.regret, self.winner, self.comparison.ranked)

    @property
    def headline(self) -> str:
        """What to use, and how sure that is, or what is as good."""
        from latentbandits.advice.text import choice

        use = choice(self)
        return use if self.worth.verdict == WORTH else f"{self.worth.verdict}; at best {use}"

    @property
    def nearest_flips(self) -> list[flips.Flip]:
        """Where another policy would be better, the nearest threshold first, then other kinds of world."""
        moved = [(flips.away(flip.threshold, sweep.range), flip) for sweep in self.sweeps for flip in sweep.flips]
        return [*(flip for _, flip in sorted(moved, key=lambda pair: pair[0])), *self.other_kinds]

    @cached_property
    def flips(self) -> pd.DataFrame:
        """Where another policy would be better: a row per threshold, the nearest first."""
        columns = [*flips.Flip._fields, "threshold"]
        return pd.DataFrame([[*flip, flip.threshold] for flip in self.nearest_flips], columns=columns)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """What another choice costs: how much more regret the others have on the same fresh worlds, with 95 % intervals."""
        regret = self.comparison.regret
        ours = regret[self.winner]
        rows = []
        for label in self.comparison.ranked:
            if label == self.winner:
                continue
            more, low, high = interval(regret[label] - ours)
            times = float(regret[label].mean() / ours.mean()) if ours.mean() > 0 else float("inf")
            rows.append([label, more, low, high, times, wins(ours, regret[label]) / len(ours)])
        return pd.DataFrame(rows, columns=["policy", "more", "low", "high", "times", "beaten"]).set_index("policy")

    def figure(self) -> "Figure":
        """Return a figure: regret over time on fresh worlds, and the first of the candidates; `page` has them all, and the flips."""
        from latentbandits.advice.figures import advice_summary

        return advice_summary(self)

    def text(self) -> str:
        """Return the advice as a terminal shows it."""
        from latentbandits.advice.text import advice_text

        return advice_text(self)

    def page(self) -> str:
        """Return the advice as one HTML page that needs no other file."""
        from latentbandits.advice.page import page

        return page(self)

    def python(self, path: str | Path = "advice.html") -> str:
        """Return the Python that gives this advice and saves its page."""
        given = [self.problem.source()]
        if self.policies is not None:
            named = self.policies
            given.append(repr(named) if isinstance(named, str) else policies_source(labelled(named, "advise")))
        if self.spent is not None:
            given.append(f"seconds={self.spent.budget:g}")
        elif not self.sweeps and self.sure >= LEAST_SURE:
            given.append("sweep=False")
        return (
            "import latentbandits as lb\n\n"
            f"advice = lb.advise({', '.join(given)})\n"
            f"print(advice.text())\nadvice.save({str(path)!r})\nagent = lb.Agent(advice.policy)"
        )

    def values(self) -> Values:
        """Return everything but single runs as plain values."""
        return {
            "problem": self.problem.values(),
            "policy": self.winner,
            "settings": all_settings(self.policy),
            "sure": self.sure,
            "worth": plain(self.worth),
            "runner_up": self.runner_up,
            "fresh": records(self.comparison.table),
            "costs": records(self.costs),
            "candidates": records(self.table),
            "flips": records(self.flips),
            "python": self.python(),
            **({} if self.spent is None else {"spent": self.spent._asdict()}),
        }


def advise(
    problem: BaseProblem | Advisable | Words | str | Path,
    policies: Specs | None = None,
    *,
    horizon: int | None = None,
    runs: int | None = None,
    groups: int | None = None,
    seed: int | None = None,
    sweep: bool = True,
    seconds: float | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> Advice:
    """Return which policy suits a problem that may be known only roughly.

    Worlds are sampled from the ranges. All candidates that the number of groups permits run on the same worlds, a few more at a time, and
    drop out when they have clearly lost. The winner is then measured on other worlds, to avoid selection bias.

    Parameters
    ----------
    problem : Problem, path, mapping or Diagnosis
        The problem; whatever is left out is taken as unknown and ranges widely (2 to 20 states, 20 to 500 rounds, noise 0.01 to 0.5). For
        what `diagnose` returns, see `latentbandits.Diagnosis.advise`.
    policies : iterable or mapping, "all" or "paper", optional
        Candidates; all that the package has and the groups permit, if neither this nor the problem names any.
    horizon, runs, groups, seed : int, optional
        Instead of the problem's own; `runs` is the number of worlds that measure, and at most as many again choose.
    sweep : bool
        Look for the values of every quantity beyond which another policy is better.
    seconds : float, optional
        Time to spend, without compiling; as long as it takes if not given. It goes to the choice first, where it runs short to the first
        candidates, then to the measurement, then to flips; `.spent` says what was left undone. What is found then depends on the clock;
        with enough seconds it is the same as without a limit.
    workers : int, optional
        Threads; as many as there are cores if not given.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads, as in `latentbandits.simulate`.
    progress : callable, optional
        Called with the rounds played so far and, where seconds are limited, as many as there may be in all, else None.

    Returns
    -------
    Advice
        With the `.policy` to use, a `.table` of candidates, `.figure()`, `.text()`, `.page()`, and `.save(path)` for any of them.

    Examples
    --------
    >>> import latentbandits as lb
    >>> problem = lb.Problem(arms=2, states="2 to 5", dwell="100 to 300", noise=0.1, horizon=2000, runs=16)
    >>> advice = lb.advise(problem, ["state-library", "sw-ucb", "random"], sweep=False)
    >>> advice
    <Advice: use state-library, 94 % sure>
    >>> agent = lb.Agent(advice.policy)
    """
    if isinstance(problem, Advisable):
        if groups is not None:
            raise InvalidValueError("advise", "groups", groups, "left out for a log, which has one group")
        sizes = {"horizon": horizon, "runs": runs, "seed": seed}
        played = {"workers": workers, "executor": executor, "progress": progress}
        return problem.advise(policies, sweep=sweep, seconds=seconds, **played, **sizes)
    simulator = Simulator(seconds, workers, executor, progress or usual("advising"))
    described = as_problem(problem, horizon=horizon, runs=runs, groups=groups, seed=seed)
    policies = policies if policies is not None else described.policies
    described, specs, contestants = prepare(described, policies)
    later = sweep and len(contestants) > 1
    simulator.stage(RACE)
    chosen = race(described, contestants, looks(described.runs), simulator=simulator)
    undone = name_undone(chosen.worlds(chosen.winner), described.runs, "the choice") if chosen.hurried else []
    simulator.stage(FLIPS if chosen.hurried else MEASURE)  # where the choice takes all the time there is none for flips
    comparison = measure(described, specs, finalists(chosen, contestants), simulator)
    undone += name_undone(comparison.results.draws, described.runs, "the measurement")
    undone += (
        [NO_LIMIT] if simulator.limited and has_limit(described) and LIMIT not in comparison.results.labels else []
    )
    sure = sureness(chosen, comparison)
    sweeps: list[flips.Sweep] = []
    other_kinds: list[flips.Flip] = []
    if later and sure >= LEAST_SURE:
        simulator.stage(FLIPS)
        swept = {label: specs[label] for label in worth_sweeping(chosen, contestants)}
        search = flips.FlipSearch(
            described, chosen.winner, lambda there: as_policies(swept, there, "advise"), simulator, chosen.costs
        )
        sweeps, other_kinds = search.run()
        undone += search.left_out()
    elif later and undone:
        undone.append("when it would flip")
    return Advice(
        candidate_table(chosen), described, chosen.winner, contestants[chosen.winner], sure, comparison, chosen, sweeps,
        other_kinds, policies, simulator.account(undone),
    )  # fmt: skip


def prepare(described: BaseProblem, policies: Specs | None) -> tuple[BaseProblem, dict[str, Spec], dict[str, Policy]]:
    """Return a problem with its ranges, and its candidates as specs and as policies, or refuse what cannot be advised on."""
    if not described.advisable:
        raise InvalidValueError(
            "advise", "problem", described, "a Problem, the path of a TOML file, or words as a mapping"
        )
    problem = described.widen()
    check_int("advise", "runs", problem.runs, least=FEWEST)
    if is_record(problem, problem.seed):
        raise InvalidValueError(
            "advise", "kind", problem.kind, "a problem whose worlds differ; `compare` plays a single one"
        )
    specs = fairly(candidates(problem, policies, "advise"), problem)
    contestants: dict[str, Policy] = {}
    for label, policy in as_policies(specs, problem, "advise").items():
        check_groups("advise", label, policy, problem.groups)
        if not isinstance(policy, Policy) or label in REFERENCES[:2]:
            raise InvalidValueError("advise", "policies", label, "policies that are not given the truth")
        contestants[label] = policy
    return problem, specs, contestants
