"""Advice in words: what to use, how sure, what it costs to be wrong, when it would be another, and why."""

import math
from typing import TYPE_CHECKING

from latentbandits.advice import explain, flips
from latentbandits.advice.problem import Problem, Range
from latentbandits.experiments.paper.worlds import LIMIT
from latentbandits.presentation.numbers import aligned, figure, percent, short
from latentbandits.settings import describe

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice
    from latentbandits.advice.compare import Ranking

UNITS = {"dwell": " rounds", "horizon": " rounds", "timescale": " rounds"}


def ranked(ranking: "Ranking") -> str:
    """Return a ranking as a table, and what it says about the first two."""
    results = ranking.results
    parts = [
        f"{counted(results.draws, 'run')} of {counted(results.horizon, 'round')}: {ranking.world}.",
        ranking_table(ranking),
        "Regret per unit, against whoever knows the means of every round"
        + ("; x limit: over a filter that knows all but the state." if LIMIT in ranking.index else "."),
        *duel(ranking),
        *remarks(ranking.world),
    ]
    return "\n".join(parts)


def counted(number: int, thing: str) -> str:
    """Return a number of things."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def ranking_table(ranking: "Ranking") -> str:
    """Return the lines of a ranking."""
    head = ["policy", "rank", "regret", "95 % interval", "x limit", "best arm", "probes/1000", "beats next", "units"]
    several = len(ranking.results.regret[0]) > 1
    cells = [
        [
            str(name),
            str(int(row["rank"])) if row["rank"] else "-",
            figure(row["regret"]),
            f"{figure(row['low'])} to {figure(row['high'])}" if several and row["low"] == row["low"] else "-",
            f"{row['x_limit']:.2f}" if row["x_limit"] == row["x_limit"] else "-",
            f"{row['optimal']:.1%}",
            f"{row['probes']:.1f}" if row["probes"] else "-",
            f"{row['beats_next']:.0%}" if row["beats_next"] == row["beats_next"] else "-",
            str(int(row["units"])),
        ]
        for name, row in ranking.iterrows()
    ]
    return aligned(head, cells)


def duel(ranking: "Ranking") -> list[str]:
    """Return the sentence about the first and the second."""
    if len(ranking.ranked) < 2 or len(ranking.results.regret[0]) < 2:
        return []
    first, second = ranking.ranked[:2]
    row = ranking.loc[first]
    more, low, high = ranking.difference(second, first)
    if low == high == 0:
        return [f"{first} and {second} did exactly the same."]
    if row["low"] != row["low"]:
        return [
            f"{second} has {figure(more)} more regret than {first} on this one world; what others would bring it cannot say."
        ]
    told = (
        f"{first} beats the runner-up {second} in {percent(row['beats_next'])} of runs (95 % interval {percent(row['beats_low'])} to "
        f"{percent(row['beats_high'])}); {second} has {figure(more)} more regret on average ({figure(low)} to {figure(high)})."
    )
    return [told]


def remarks(world: object) -> list[str]:
    """Return what a reader should know before comparing: many policies take rewards to be of about 0 to 1."""
    if not isinstance(world, Problem) or not isinstance(world.means, Range) or world.kind == "recorded":
        return []
    low, high = world.means
    if low >= -0.5 and high <= 2 and high - low >= 0.25:
        return []
    if world.rewards == "bernoulli":
        return []
    return [
        f"Means lie from {short(low)} to {short(high)}: the kinds of state-library learn the scale, all others take rewards to be of about "
        "0 to 1, and do better when rewards are scaled to that."
    ]


def verdict(advice: "Advice") -> list[str]:
    """Return what to use, how sure that is, and what to expect."""
    problem, ranking = advice.problem, advice.ranking
    row = ranking.loc[advice.winner]
    others = len(advice) - 1
    told = [f"Use {advice.winner}."]
    if advice.runner_up is None:
        told.append("It was the only candidate.")
    else:
        beaten = advice.costs.loc[advice.runner_up, "beaten"]
        if advice.sure >= 0.9:
            none = f"none of the {others} other candidates has" if others > 1 else f"{advice.runner_up} does not have"
            told.append(
                f"{certainty(advice.sure)} sure: {none} less regret, averaged over the worlds that fit. "
                f"It beats the runner-up, {advice.runner_up}, in {percent(beaten)} of worlds."
            )
        else:
            first = f"Only {certainty(advice.sure)} sure" if advice.sure >= 0.5 else "Not sure"
            rivals = advice.costs[advice.costs.index.isin(advice.index)]
            rival = rivals["more"].idxmin()
            if (rivals["low"] > 0).all():
                told.append(f"{first}: {counted(problem.runs, 'world')} bear no more; it did best in them.")
            else:
                told.append(
                    f"{first}: {rival} can hardly be told from it, and wins in {percent(1 - rivals.loc[rival, 'beaten'])} of "
                    f"{counted(problem.runs, 'world')}. Either will do, or more runs will tell."
                )
    limit = f", {row['x_limit']:.2f} times the Bayes limit" if row["x_limit"] == row["x_limit"] else ""
    told.append(
        f"Expect a regret of {figure(row['regret'])} ({figure(row['low'])} to {figure(row['high'])}) per unit in "
        f"{counted(problem.horizon, 'round')}"
        f"{limit}, and the best arm in {percent(row['optimal'])} of rounds."
    )
    return told


def certainty(share: float) -> str:
    """Return how sure something is; never more than 99 %."""
    return percent(min(0.99, math.floor(100 * share) / 100))


def chosen_settings(advice: "Advice") -> str:
    """Return the settings of the advised policy in one line."""
    return ", ".join(f"{field}={value}" for field, value in describe(advice.policy).items())


def turning_points(advice: "Advice") -> list[str]:
    """Return when the advice would flip, the nearest first, and where it was looked for."""
    if not advice.sweeps:
        return []
    told = []
    for _, flip in advice.flips.iterrows():
        told.append(flip_sentence(flip))
    quiet = [sweep for sweep in advice.sweeps if not sweep.flips]
    looked = [
        f"{sweep.quantity} {short(sweep.points[0].value)} to {short(sweep.points[-1].value)}"
        for sweep in quiet
        if sweep.points
    ]
    thresholds = [flip for sweep in advice.sweeps for flip in sweep.flips]
    if thresholds:
        nearest = advice.flips.iloc[0]
        where = "inside the range given" if nearest["inside"] else "beyond what was given"
        told.insert(0, f"What matters most is {nearest['quantity']}: its threshold is the nearest, {where}.")
    told += [line for sweep in quiet for line in unconfirmed(sweep, advice.winner)]
    if looked:
        told.append("No flip found for " + "; ".join(looked) + ".")
    if not thresholds:
        told.append(weakest(advice))
    return told


def unconfirmed(sweep: "flips.Sweep", winner: str) -> list[str]:
    """Return where another policy looked better on the few worlds of a sweep."""
    (least, rival), value = min((flips.lead(point, winner), point.value) for point in sweep.points)
    if least > 0.9:
        return []
    return [f"{sweep.quantity} near {short(value)}: {rival} did better on a few worlds, too few to tell."]


def flip_sentence(flip: "flips.Flip") -> str:
    """Return one flip as a sentence."""
    if flip.quantity == "kind":
        return f"If {flip.side}: {flip.better} has {percent(flip.saves)} less regret."
    unit = UNITS.get(flip.quantity, "")
    end = flip.low if flip.side == "below" else flip.high
    if flip.quantity == "states":
        where = f"{end:.0f} {'states or fewer' if flip.side == 'below' else 'states or more'}"
    else:
        where = f"{flip.quantity} {flip.side} about {short(flip.threshold)}{unit} (between {short(flip.low)} and {short(flip.high)})"
    return f"{where}: use {flip.better}, which has {percent(flip.saves)} less regret at {short(flip.confirmed)}."


def weakest(advice: "Advice") -> str:
    """Return where the lead of the winner is smallest, for advice that never flips."""
    points = [
        (flips.lead(point, advice.winner)[0], sweep.quantity, point.value)
        for sweep in advice.sweeps
        for point in sweep.points
    ]
    least, quantity, value = min(points)
    lead = f"the lead is smallest, {percent(least - 1)}" if least > 1 else "there is no lead"
    return f"What matters most is {quantity}: near {short(value)} {lead}."


def text(advice: "Advice") -> str:
    """Return the whole advice as plain text."""
    costs = aligned(
        ["instead of it", "more regret", "95 % interval", "times", "worse in"],
        [
            [
                str(name),
                figure(row["more"]),
                f"{figure(row['low'])} to {figure(row['high'])}",
                f"{row['times']:.2f}",
                f"{row['beaten']:.0%}",
            ]
            for name, row in advice.costs.iterrows()
        ],
    )
    flipped, why = turning_points(advice), explain.sentences(advice.problem, advice.theory)
    parts = [
        *verdict(advice),
        f"Settings: {chosen_settings(advice)}.",
        *remarks(advice.problem),
        *section("What it costs to be wrong (on worlds that did not choose):", [costs] if len(advice.costs) else []),
        *section("When the advice would flip:", [f"  {line}" for line in flipped]),
        *section("Why:", [f"  {line}" for line in why]),
    ]
    return "\n".join(parts)


def section(title: str, lines: list[str]) -> list[str]:
    """Return lines under a title, after an empty one; nothing if there are none."""
    return ["", title, *lines] if lines else []
