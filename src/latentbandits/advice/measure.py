"""The finalists of a race on worlds that were not used to choose, and how sure the choice is."""

from collections.abc import Mapping

import pandas as pd

from latentbandits.advice.base import BaseProblem
from latentbandits.advice.candidates import Spec, ab_test
from latentbandits.advice.compare import BINS, Comparison, rank, references
from latentbandits.advice.race import RISK, Race, p_value
from latentbandits.advice.simulator import START, Simulator
from latentbandits.policies.groups import AB_TEST, CLASSIC, LIMIT
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Contestant
from latentbandits.simulation.batch import as_policies
from latentbandits.specs import fairly

HELD_OUT = 1_000_000  # the first of the worlds that measure; those that choose begin at 0
# Which candidates are measured: those that never dropped out, and those with less than CLOSE times the winner's regret
CLOSE, FINALISTS = 2.0, 6
LIMIT_SHARE = 0.5  # of the time there is for measuring: a limit that takes more is left out


def finalists(chosen: Race, contestants: Mapping[str, Contestant]) -> list[str]:
    """Return the candidates to measure: the first two, those close to the winner, the best of another class."""
    order = chosen.order
    close = [label for label in order if label in chosen.left or chosen.over(label, chosen.winner) < CLOSE]
    others = [label for label in order if type(contestants[label]) is not type(contestants[chosen.winner])]
    return [*dict.fromkeys([*order[:2], *close[:FINALISTS], *others[:1]])]


def worth_sweeping(chosen: Race, contestants: Mapping[str, Contestant]) -> list[str]:
    """Return the candidates that could flip the advice: of many variants of the winner only the best one, and presets."""
    variants = [label for label in chosen.order[1:] if type(contestants[label]) is type(contestants[chosen.winner])]
    spared = [label for label in variants[1:] if label not in REGISTRY]
    return [label for label in contestants if label not in spared]


def candidate_table(chosen: Race) -> pd.DataFrame:
    """Return a row per candidate, best first."""
    rows = [
        {
            "policy": label,
            "over_winner": chosen.over(label, chosen.winner),
            "worlds": chosen.worlds(label),
            "dropped": label not in chosen.left,
        }
        for label in chosen.order
    ]
    return pd.DataFrame(rows).set_index("policy")


def looks(runs: int) -> list[int]:
    """Return after how many worlds candidates are compared: twice as many every time.

    Examples
    --------
    >>> from latentbandits.advice.measure import looks
    >>> looks(200), looks(5)
    ([8, 16, 32, 64, 128, 200], [5])
    """
    counts = [8 * 2**i for i in range(20) if 8 * 2**i < runs * 0.8]
    return [*counts, runs]


def measure(problem: BaseProblem, specs: Mapping[str, Spec], chosen: list[str], simulator: Simulator) -> Comparison:
    """Return the comparison of finalists and plain policies on worlds that were not used to choose, as many as there is time for.

    Where there is no time for the limit it is left out: it says how much better a policy could be, not which one is better.
    """
    measured = {label: specs[label] for label in chosen}
    tests = [label for label, spec in specs.items() if isinstance(spec, str) and spec.startswith(AB_TEST)]
    measured |= {label: specs.get(label, label) for label in (CLASSIC, *(tests[:1] or [ab_test(problem)]))}
    measured = fairly(measured, problem)
    contestants = as_policies(measured, problem, "advise")
    contestants |= references(problem, contestants)
    if simulator.limited and LIMIT in contestants:
        begin = simulator.spent
        simulator.simulate(problem, {LIMIT: contestants[LIMIT]}, HELD_OUT, START, bins=BINS)
        if (simulator.spent - begin) / START * problem.runs > LIMIT_SHARE * simulator.left:
            del contestants[LIMIT]
    results = simulator.play(problem, contestants, HELD_OUT, problem.runs, needed=START, bins=BINS)
    return rank(problem, measured, contestants, results)


def sureness(chosen: Race, comparison: Comparison) -> float:
    """Return how sure it is that the winner has the least regret on average: 1 less the probabilities of all errors.

    They are the race's risk and, for every candidate that was measured, the p-value of a paired t-test on fresh worlds. In addition, what
    happens in one world of n may not show in n worlds, so that n worlds support no more than n / (n + 1). After a race that ended for lack
    of time, a candidate that was not measured counts with its p-value in the race, times the number of candidates that could have beaten it
    there by chance.
    """
    rivals = [label for label in chosen.regret if label != chosen.winner]
    if not rivals:
        return 1.0
    regret = comparison.regret
    ours = regret[chosen.winner]
    errors = [p_value(regret[label] - ours) for label in rivals if label in regret]
    unmeasured = [label for label in chosen.left if label not in regret]
    if chosen.hurried:
        pairs = [chosen.paired(label, chosen.winner) for label in unmeasured]
        errors += [len(rivals) * p_value(theirs - winners) for theirs, winners in pairs]
    sure = 0.0 if unmeasured and not chosen.hurried else 1 - sum(errors) - RISK
    return max(0.0, min(sure, len(ours) / (len(ours) + 1)))
