"""Comparisons and advice as text: tables and sentences for a terminal, and the sentences of the page."""

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from latentbandits.advice import explain, flips
from latentbandits.advice.problem import Problem
from latentbandits.advice.ranges import Range
from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.numbers import aligned, counted, figure, multiple, percent, short, span
from latentbandits.rewards import DISTRIBUTIONS
from latentbandits.settings import Within, describe

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice
    from latentbandits.advice.compare import Comparison

UNITS = {"dwell": " rounds", "horizon": " rounds", "timescale": " rounds"}
HEAD = ("policy", "rank", "regret", "95 % interval", "x limit", "best arm", "probes/1000", "beats next", "units")


def comparison_text(comparison: "Comparison") -> str:
    """Return a ranking as a table, and how the first two compare."""
    results = comparison.results
    limit = "; x limit: divided by that of a filter that is given all but the state." if _has_limit(comparison) else "."
    parts = [
        f"{counted(results.draws, 'run')} of {counted(results.horizon, 'round')}: {comparison.problem}.",
        comparison_table(comparison),
        f"Regret per unit, against an oracle that plays the best arm of every round{limit}",
        *first_two(comparison),
        *remarks(comparison.problem),
    ]
    return "\n".join(parts)


def _has_limit(comparison: "Comparison") -> bool:
    return LIMIT in comparison.table.index


def comparison_table(comparison: "Comparison") -> str:
    """Return the rows of a ranking."""
    return aligned(HEAD, [comparison_row(name, row) for name, row in comparison.table.iterrows()])


def comparison_row(name: Hashable, row: Any) -> list[str]:
    """Return the cells of one policy, in the order of `HEAD`; what is not known is a dash."""
    known = {field: value == value and abs(value) != math.inf for field, value in row.items()}
    return [
        str(name),
        str(int(row["rank"])) if row["rank"] else "-",
        figure(row["regret"]),
        span(row["low"], row["high"]) if known["high"] else "-",
        multiple(row["x_limit"]) if known["x_limit"] else "-",
        percent(row["optimal"], digits=1),
        figure(row["probes"]) if row["probes"] else "-",
        percent(row["beats_next"]) if known["beats_next"] else "-",
        str(int(row["units"])),
    ]


def first_two(comparison: "Comparison") -> list[str]:
    """Return the sentence about the first and the second."""
    if len(comparison.ranked) < 2 or comparison.results.draws < 2:
        return []
    first, second = comparison.ranked[:2]
    row = comparison.table.loc[first]
    more, low, high = comparison.difference(second, first)
    if low == high == 0:
        return [f"{first} and {second} did exactly the same."]
    if row["low"] != row["low"]:
        return [
            f"{second} has {figure(more)} more regret than {first} on this one world, which says nothing about others."
        ]
    return [
        f"{first} beats the runner-up {second} in {percent(row['beats_next'])} of runs "
        f"(95 % interval {span(row['beats_low'], row['beats_high'], percent)}); "
        f"{second} has {figure(more)} more regret on average ({span(low, high)})."
    ]


def remarks(problem: object) -> list[str]:
    """Return what a reader should know before comparing: many policies assume rewards of about 0 to 1."""
    if not isinstance(problem, Problem) or not isinstance(problem.means, Range) or problem.kind == "recorded":
        return []
    low, high = problem.means
    if isinstance(DISTRIBUTIONS[problem.rewards].means, Within) or (low >= -0.5 and high <= 2 and high - low >= 0.25):
        return []
    return [
        f"Means are from {short(low)} to {short(high)}: state-library and its variants learn the scale; all others assume rewards of "
        "about 0 to 1 and do better when rewards are scaled to that."
    ]


def verdict(advice: "Advice") -> list[str]:
    """Return what to use, how sure that is, and what to expect."""
    row = advice.comparison.table.loc[advice.winner]
    limit = f", {multiple(row['x_limit'])} times the Bayes limit" if row["x_limit"] == row["x_limit"] else ""
    return [
        f"Use {advice.winner}.",
        confidence(advice),
        f"Expect a regret of {figure(row['regret'])} ({span(row['low'], row['high'])}) per unit in "
        f"{counted(advice.problem.horizon, 'round')}{limit}, and the best arm in {percent(row['optimal'])} of rounds.",
    ]


def confidence(advice: "Advice") -> str:
    """Return how sure the choice is, and who comes next."""
    if advice.runner_up is None:
        return "It was the only candidate."
    others, worlds = len(advice.table) - 1, counted(advice.problem.runs, "world")
    if advice.sure >= 0.9:
        none = f"none of the {others} other candidates has" if others > 1 else f"{advice.runner_up} does not have"
        beaten = advice.costs.loc[advice.runner_up, "beaten"]
        return (
            f"{certainty(advice.sure)} sure: {none} less regret, averaged over the worlds that fit. "
            f"It beats the runner-up, {advice.runner_up}, in {percent(beaten)} of worlds."
        )
    first = f"Only {certainty(advice.sure)} sure" if advice.sure >= 0.5 else "Not sure"
    rivals = advice.costs[advice.costs.index.isin(advice.table.index)]
    if (rivals["low"] > 0).all():
        return f"{first}: it did best, but {worlds} are too few to be surer."
    rival = rivals["more"].idxmin()
    return (
        f"{first}: {rival} is too close to call and wins in {percent(1 - rivals.loc[rival, 'beaten'])} of {worlds}. "
        "Either will do; more runs may separate them."
    )


def certainty(share: float) -> str:
    """Return how sure something is; never more than 99 %."""
    return percent(min(0.99, math.floor(100 * share) / 100))


def settings_line(advice: "Advice") -> str:
    """Return the settings of the advised policy in one line."""
    return ", ".join(f"{field}={value}" for field, value in describe(advice.policy).items())


def flip_lines(advice: "Advice") -> list[str]:
    """Return when the advice would flip, the nearest first, and where no flip was found."""
    if not advice.sweeps:
        return []
    found = [flip_sentence(flip) for flip in advice.flips.itertuples()]
    quiet = [sweep for sweep in advice.sweeps if not sweep.flips]
    if len(quiet) < len(advice.sweeps):
        nearest = advice.flips.iloc[0]
        where = "inside" if nearest["inside"] else "outside"
        found.insert(
            0, f"What matters most is {nearest['quantity']}: its threshold is the nearest, {where} the given range."
        )
    found += [line for sweep in quiet for line in unconfirmed(sweep, advice.winner)]
    searched = [f"{sweep.quantity} {span(sweep.points[0].value, sweep.points[-1].value, short)}" for sweep in quiet]
    if searched:
        found.append("No flip found for " + "; ".join(searched) + ".")
    if len(quiet) == len(advice.sweeps):
        found.append(smallest_lead(advice))
    return found


def unconfirmed(sweep: "flips.Sweep", winner: str) -> list[str]:
    """Return where another policy looked better on the few worlds of a sweep."""
    (least, rival), value = min((flips.lead(point, winner), point.value) for point in sweep.points)
    if least > 0.9:
        return []
    return [f"{sweep.quantity} near {short(value)}: {rival} did better on a few worlds, too few to be sure."]


def flip_sentence(flip: Any) -> str:
    """Return one flip as a sentence."""
    if flip.quantity == "kind":
        return f"If {flip.side}: {flip.better} has {percent(flip.saves)} less regret."
    if flip.quantity == "states":
        where = f"{flip.low:.0f} states or fewer" if flip.side == "below" else f"{flip.high:.0f} states or more"
    else:
        unit = UNITS.get(flip.quantity, "")
        bracket = f"(between {short(flip.low)} and {short(flip.high)})"
        where = f"{flip.quantity} {flip.side} about {short(flip.threshold)}{unit} {bracket}"
    return f"{where}: use {flip.better}, which has {percent(flip.saves)} less regret at {short(flip.confirmed)}."


def smallest_lead(advice: "Advice") -> str:
    """Return where the lead of the winner is smallest, for advice that never flips."""
    least, quantity, value = min(
        (flips.lead(point, advice.winner)[0], sweep.quantity, point.value)
        for sweep in advice.sweeps
        for point in sweep.points
    )
    lead = f"the lead is smallest, {percent(least - 1)}" if least > 1 else "there is no lead"
    return f"What matters most is {quantity}: near {short(value)} {lead}."


def advice_text(advice: "Advice") -> str:
    """Return the whole advice."""
    costs = aligned(
        ["instead of it", "more regret", "95 % interval", "times", "worse in"],
        [
            [
                str(name), figure(row["more"]), span(row["low"], row["high"]), multiple(row["times"]), percent(row["beaten"])
            ]
            for name, row in advice.costs.iterrows()
        ],
    )  # fmt: skip
    why = explain.sentences(advice.problem, advice.theory)
    parts = [
        *verdict(advice),
        f"Settings: {settings_line(advice)}.",
        *remarks(advice.problem),
        *section(
            "What it costs to be wrong (on worlds that were not used to choose):", [costs] if len(advice.costs) else []
        ),
        *section("When the advice would flip:", [f"  {line}" for line in flip_lines(advice)]),
        *section("Why:", [f"  {line}" for line in why]),
    ]
    return "\n".join(parts)


def section(title: str, lines: list[str]) -> list[str]:
    """Return lines under a title, after an empty one; nothing if there are none."""
    return ["", title, *lines] if lines else []
