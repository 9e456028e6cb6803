"""Candidates that are given noise or range: recommended only if that helps with certainty, and does no harm where the noise is another."""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

from latentbandits import specs
from latentbandits.advice.budget import Budget
from latentbandits.advice.flips import CHECKED, FIRST, LEVEL, movable, move, span
from latentbandits.advice.problem import Problem
from latentbandits.advice.race import Race, p_value
from latentbandits.presentation.numbers import percent, short
from latentbandits.presentation.progress import Report, Stages
from latentbandits.simulation.batch import as_policies, simulate

MISJUDGED = 2.5  # an exact noise may be this many times too small or too large
# setting -> what a policy is given by it, and learns where it is 0
GIVEN = {"noise": "the noise", "low": "the range of means", "high": "the range of means"}


class Given(NamedTuple):
    """A candidate that is given noise or range and has less regret with certainty than all that learn them.

    Attributes
    ----------
    label : the candidate
    what : what it is given, in words
    learns : the best of the candidates that learn it
    saves : the share of regret that it saves
    noise : the noise at which it has more regret with certainty, so that it is not recommended; NaN if there is none
    loses : how much more regret it has there, as a share
    """

    label: str
    what: str
    learns: str
    saves: float
    noise: float = math.nan
    loses: float = math.nan

    @property
    def recommended(self) -> bool:
        """Whether it does no harm where the noise is another."""
        return math.isnan(self.noise)


def informed(candidates: Mapping[str, Any], made: Mapping[str, Any], problem: Problem) -> dict[str, str]:
    """Return the candidates that are given noise or range while another one, the same in all else, learns both: label -> what it is given.

    Parameters
    ----------
    candidates, made : mapping
        Label -> spec, and label -> policy.
    problem : Problem
        What the advice is for; if it has no noise that could be another, nothing is returned.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.given import informed
    >>> named = {spec: spec for spec in ("state-library", "state-library:noise=0.3", "ts", "ts:noise=0.3")}
    >>> informed(named, {label: lb.policy(spec) for label, spec in named.items()}, lb.Problem())
    {'state-library:noise=0.3': 'the noise'}
    """
    if "noise" not in movable(problem):
        return {}
    texts = {label: spec for label, spec in candidates.items() if isinstance(spec, str) and not spec.endswith(".toml")}
    settings = {label: specs.split(spec) for label, spec in texts.items()}
    learning = [settings[label] for label in settings if all(getattr(made[label], key, None) == 0 for key in GIVEN)]
    found = {}
    for label, (name, given) in settings.items():
        rest = name, {key: value for key, value in given.items() if key not in GIVEN}
        if rest in learning and len(rest[1]) < len(given):
            found[label] = " and ".join(dict.fromkeys(GIVEN[key] for key in GIVEN if key in given))
    return found


def rounds(problem: Problem, count: int) -> int:
    """Return the rounds that `challenge` plays at most, against a number of challengers."""
    return ((count + 1) * problem.runs + 2 * 2 * CHECKED * count) * problem.horizon if count else 0


def other_noise(problem: Problem) -> tuple[float, float]:
    """Return other values of the noise: the ends of its range, or of what an exact one may be in truth."""
    low, high = span(problem, "noise")
    factor = MISJUDGED if low == high else 1.0
    return low / factor, high * factor


def challenge(
    problem: Problem,
    candidates: Mapping[str, Any],
    chosen: Race,
    challengers: Mapping[str, str],
    workers: int | None,
    progress: Report,
    executor: Executor | None = None,
    budget: Budget | None = None,
) -> tuple[Race, Given | None]:
    """Play the candidates that are given noise or range against the winner of the others, on the same worlds.

    Without the time for all of it `OutOfTime` is raised: fewer worlds would not show that there is no harm.

    Parameters
    ----------
    problem : Problem
        What the advice is for.
    candidates : mapping
        Label -> spec.
    chosen : Race
        The race of the candidates that learn noise and range.
    challengers : mapping
        As returned by `informed`.
    workers : int or None
        Threads.
    progress : callable
        Called with the rounds played so far and at most.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads.
    budget : Budget, optional
        The time there is.

    Returns
    -------
    Race and Given or None
        The race with the challengers' regret, and with the first one that passes as its winner; the best challenger that has less regret
        than the winner with certainty, if there is one.
    """
    if not challengers:
        return chosen, None
    tests = [2 * CHECKED * problem.horizon] * (2 * len(challengers))
    stages = Stages(progress, rounds(problem, len(challengers)) - sum(tests), *tests)
    clock = budget or Budget()

    def play(there: Problem, labels: Sequence[str], worlds: int, first: int) -> list[Any]:
        made = as_policies({label: candidates[label] for label in labels}, there)
        running = partial(
            simulate, there, made, horizon=there.horizon, repeats=1, seed=there.seed, bins=1, workers=workers, executor=executor
        )  # fmt: skip
        return list(clock.whole(running, first, worlds, len(made) * there.horizon, stages.next()).regret)

    learns = chosen.winner
    ours, *theirs = play(problem, [learns, *challengers], problem.runs, 0)
    regret = dict(zip(challengers, theirs, strict=True))
    better = [label for label in challengers if p_value(ours - regret[label]) <= LEVEL]
    found = []
    for label in sorted(better, key=lambda label: float(regret[label].mean())):
        one = Given(label, challengers[label], learns, 1 - float(regret[label].mean() / ours.mean()))
        for noise in other_noise(problem):
            given, learned = play(move(problem, "noise", noise), [label, learns], CHECKED, FIRST)
            if p_value(given - learned) <= LEVEL:
                more = float(given.mean() / learned.mean()) - 1 if learned.mean() > 0 else math.inf
                one = one._replace(noise=noise, loses=more)
                break
        found.append(one)
        if one.recommended:
            break
    stages.close()
    passed = [one.label for one in found if one.recommended]
    everyone = Race(chosen.regret | {learns: ours} | regret, [*passed, *chosen.left], chosen.hurried, chosen.costs)
    found.sort(key=lambda one: not one.recommended)
    return everyone, found[0] if found else None


def sentences(found: Given | None) -> list[str]:
    """Return what is to be said about a candidate that is given noise or range."""
    if found is None:
        return []
    if found.recommended:
        return [
            f"It is given {found.what}, which saves {percent(found.saves)} and does no harm if the noise is another."
        ]
    return [
        f"{found.label} saves {percent(found.saves)} but is given {found.what}: if the noise is in fact {short(found.noise)}, it has "
        f"{percent(found.loses)} more regret than {found.learns}. So it is not recommended."
    ]
