"""Comparisons and advice as text: tables and sentences for a terminal, and the sentences of the page."""

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING

from latentbandits.advice import flips, worth
from latentbandits.advice.compare import REFERENCES
from latentbandits.advice.simulator import NO_LIMIT
from latentbandits.parameters import all_settings
from latentbandits.policies.groups import LIMIT, SCALED
from latentbandits.presentation.numbers import aligned, counted, figure, multiple, percent, short, span

if TYPE_CHECKING:
    import pandas as pd

    from latentbandits.advice.advise import Advice
    from latentbandits.advice.compare import Comparison

UNITS = {"dwell": " rounds", "horizon": " rounds", "timescale": " rounds"}
HEAD = (
    "policy",
    "rank",
    "regret",
    "95 % interval",
    "share",
    "x limit",
    "best arm",
    "probes/1000",
    "beats next",
    "groups",
)
SURE = 0.5  # below this a percentage would say less than who comes close
SEEDS = "95 % of seeds"  # instead of the interval, for a record


def comparison_text(comparison: "Comparison") -> str:
    """Return whether a policy is worth it, the ranking as a table, and how the first two compare."""
    judged, size = comparison.worth, comparison.size
    parts = [
        *([" ".join(worth.sentences(judged, comparison.record))] if judged is not None else []),
        f"{size[:1].upper()}{size[1:]}: {comparison.problem}.",
        as_text(comparison_rows(comparison)),
        definitions(comparison),
        *first_two(comparison),
        *remarks(comparison),
    ]
    return "\n".join(parts)


def as_text(rows: list[list[str]]) -> str:
    """Return a table, whose first row is its head, as a terminal shows it."""
    return aligned(rows[0], rows[1:])


def definitions(comparison: "Comparison", left_out: bool = False) -> str:
    """Return what the columns are; there may have been no time for the limit."""
    has_limit = LIMIT in comparison.table.index
    without = "; the limit was left out for lack of time" if left_out else "; no limit is known for this world"
    limit = f"; x limit: divided by the regret of {worth.PLANNER}" if has_limit else without
    seeds = (
        " A record is one run: random policies are played with several policy seeds, which say nothing about another record, "
        f"and regret is against the best reward of every round, noise included; {SEEDS}: what contains their regrets."
        if comparison.record
        else ""
    )
    return (
        "Regret per group, against an oracle that plays the best arm of every round; share: of the attainable reward, which is what that "
        f"oracle earns more than random play{limit}.{seeds}"
    )


def columns(advice: "Advice") -> str:
    """Return what the columns of an advice are."""
    return definitions(advice.comparison, advice.spent is not None and NO_LIMIT in advice.spent.undone)


def comparison_rows(comparison: "Comparison") -> list[list[str]]:
    """Return the head and the cells of every policy; a record has no runs to beat."""
    rows = [list(HEAD), *(comparison_row(name, row) for name, row in comparison.table.iterrows())]
    if comparison.record:
        rows[0][HEAD.index("95 % interval")] = SEEDS
        beaten = HEAD.index("beats next")
        rows = [row[:beaten] + row[beaten + 1 :] for row in rows]
    return rows


def comparison_row(name: Hashable, row: "pd.Series") -> list[str]:
    """Return the cells of one policy, in the order of `HEAD`; what is not known is a dash."""
    finite = {field: value == value and abs(value) != math.inf for field, value in row.items()}
    return [
        str(name),
        str(int(row["rank"])) if row["rank"] else "-",
        figure(row["regret"]),
        span(row["low"], row["high"]) if finite["high"] else "-",
        percent(row["share"], digits=1) if finite["share"] else "-",
        multiple(row["x_limit"]) if finite["x_limit"] else "-",
        percent(row["optimal"], digits=1),
        figure(row["probes"]) if row["probes"] else "-",
        percent(row["beats_next"]) if finite["beats_next"] else "-",
        str(int(row["groups"])),
    ]


def side_by_side(advice: "Advice") -> list[list[str]]:
    """Return the head and the rows of a small table: the limit, the advised policy, the best single arm and random play."""
    table = advice.comparison.table
    names = [name for name in table.index if name in (*REFERENCES, advice.winner)]
    fields = ["policy", "regret", "95 % interval", "share", "x limit", "best arm"]
    cells = [dict(zip(HEAD, comparison_row(name, table.loc[name]), strict=True)) for name in names]
    return [fields, *([row[field] for field in fields] for row in cells)]


def first_two(comparison: "Comparison") -> list[str]:
    """Return the sentence about the first and the second."""
    if len(comparison.ranked) < 2 or comparison.results.draws < 2:
        return []
    first, second = comparison.ranked[:2]
    row = comparison.table.loc[first]
    more, low, high = comparison.difference(second, first)
    if low == high == 0:
        return [f"{first} and {second} did exactly the same."]
    if comparison.record:
        return [
            f"{second} has {figure(more)} more regret than {first} on this record, which says nothing about others."
        ]
    return [
        f"{first} beats the runner-up {second} in {percent(row['beats_next'])} of runs "
        f"(95 % interval {span(row['beats_low'], row['beats_high'], percent)}); "
        f"{second} has {figure(more)} more regret on average ({span(low, high)})."
    ]


def remarks(comparison: "Comparison") -> list[str]:
    """Return what a reader should know before comparing: policies that expect rewards on [0, 1] were scaled."""
    scaled = [spec for spec in comparison.policies.values() if isinstance(spec, str) and spec.startswith(f"{SCALED}(")]
    if not scaled:
        return []
    return [
        f"Policies that expect rewards on [0, 1] were played within `{SCALED}(...)`, which learns the range of rewards; "
        "policies of your own, and specs with settings in the unit of rewards, as they are."
    ]


def verdict(advice: "Advice") -> list[str]:
    """Return whether it is worth it, what to use, how sure that is, and what to expect."""
    row = advice.comparison.table.loc[advice.winner]
    regret = f"Expect a regret of {figure(row['regret'])} ({span(row['low'], row['high'])}) per group in "
    limit = f", {multiple(row['x_limit'])} times that of the limit" if row["x_limit"] == row["x_limit"] else ""
    share = f", {percent(row['share'], digits=1)} of the attainable reward" if row["share"] == row["share"] else ""
    first, *instead = worth.sentences(advice.worth)
    if advice.worth.verdict == worth.WORTH:
        first = first.replace(f"Worth it: {advice.winner} has", f"Use {advice.winner}: it has", 1)
    else:
        instead.append(f"If you use a policy, use {advice.winner}.")
    return [
        first,
        *([" ".join(instead)] if instead else []),
        confidence(advice),
        *(advice.spent.sentences() if advice.spent is not None else []),
        f"{regret}{counted(advice.problem.horizon, 'round')}{share}{limit}, and the best arm in {percent(row['optimal'])} of rounds.",
    ]


def confidence(advice: "Advice") -> str:
    """Return how sure the choice is, and who comes next."""
    if advice.runner_up is None:
        return "It was the only candidate."
    others, worlds = len(advice.rivals), counted(advice.comparison.results.draws, "world")
    if advice.sure >= 0.9:
        none = f"none of the {others} other candidates has" if others > 1 else f"{advice.runner_up} does not have"
        beaten = advice.costs.loc[advice.runner_up, "beaten"]
        return (
            f"{certainty(advice.sure)} sure: {none} less regret, averaged over the worlds that fit. "
            f"It beats the runner-up, {advice.runner_up}, in {percent(beaten)} of worlds."
        )
    first = f"Only {certainty(advice.sure)} sure" if advice.sure >= SURE else "Not sure"
    if not advice.as_good:
        return f"{first}: it did best, but {worlds} are too few to be surer."
    rival = advice.as_good[0]
    return (
        f"{first}: {rival} is too close to call and wins in {percent(1 - advice.costs.loc[rival, 'beaten'])} of {worlds}. "
        "Either will do; more runs may separate them."
    )


def choice(advice: "Advice") -> str:
    """Return what to use in a few words: how sure that is, or that another will do as well."""
    if advice.runner_up is None:
        return f"use {advice.winner}, the only candidate"
    if advice.sure >= SURE:
        return f"use {advice.winner}, {certainty(advice.sure)} sure"
    if not advice.as_good:
        return f"use {advice.winner}, which did best, on too few worlds to be sure"
    return f"use {advice.winner} or {advice.as_good[0]}, which are too close to call"


def certainty(share: float) -> str:
    """Return how sure something is; never more than 99 %."""
    return percent(min(0.99, math.floor(100 * share) / 100))


def settings_line(advice: "Advice") -> str:
    """Return the settings of the advised policy in one line."""
    return ", ".join(f"{field}={value}" for field, value in all_settings(advice.policy).items())


def flip_lines(advice: "Advice") -> list[str]:
    """Return when the advice would flip, the nearest first, and where no flip was found."""
    if not advice.sweeps:
        return []
    lines = [flip_sentence(flip) for flip in advice.nearest_flips]
    quiet = [sweep for sweep in advice.sweeps if not sweep.flips]
    if len(quiet) < len(advice.sweeps):
        nearest = advice.nearest_flips[0]
        where = "inside" if nearest.inside else "outside"
        lines.insert(
            0, f"{foremost(advice)} is {nearest.quantity}: its threshold is the nearest, {where} the given range."
        )
    lines += [line for sweep in quiet for line in unconfirmed(sweep, advice.winner)]
    searched = [f"{sweep.quantity} {span(sweep.points[0].value, sweep.points[-1].value, short)}" for sweep in quiet]
    if searched:
        lines.append("No flip found for " + "; ".join(searched) + ".")
    if len(quiet) == len(advice.sweeps):
        lines.append(smallest_lead(advice))
    return lines


def foremost(advice: "Advice") -> str:
    """Return how the sentence on the foremost quantity begins; there may have been no time for all of them."""
    whole = len(advice.sweeps) == len(advice.problem.movable())
    return "What matters most" if whole else "Of these, what matters most"


def unconfirmed(sweep: "flips.Sweep", winner: str) -> list[str]:
    """Return where another policy looked better on the few worlds of a sweep."""
    (least, rival), value = min((flips.lead(point, winner), point.value) for point in sweep.points)
    if least > 0.9:
        return []
    return [f"{sweep.quantity} near {short(value)}: {rival} did better on a few worlds, too few to be sure."]


def flip_sentence(flip: flips.Flip) -> str:
    """Return one flip as a sentence."""
    if flip.quantity == "kind":
        return f"If {flip.side}: {flip.better} has {percent(flip.saves)} less regret."
    if flip.quantity == "states":
        where = f"{flip.low:.0f} states or fewer" if flip.side == "below" else f"{flip.high:.0f} states or more"
    else:
        measure = UNITS.get(flip.quantity, "")
        bracket = f"(between {short(flip.low)} and {short(flip.high)})"
        where = f"{flip.quantity} {flip.side} about {short(flip.threshold)}{measure} {bracket}"
    return f"{where}: use {flip.better}, which has {percent(flip.saves)} less regret at {short(flip.confirmed)}."


def smallest_lead(advice: "Advice") -> str:
    """Return where the lead of the winner is smallest, for advice that never flips."""
    least, quantity, value = min(
        (flips.lead(point, advice.winner)[0], sweep.quantity, point.value)
        for sweep in advice.sweeps
        for point in sweep.points
    )
    lead = f"the lead is smallest, {percent(least - 1)}" if least > 1 else "there is no lead"
    return f"{foremost(advice)} is {quantity}: near {short(value)} {lead}."


def cost_table(advice: "Advice") -> list[list[str]]:
    """Return the head and the rows of what other choices cost, on the same worlds."""
    return [
        ["instead of it", "more regret", "95 % interval", "times", "worse in"],
        *(
            [
                str(name),
                figure(row["more"]),
                span(row["low"], row["high"]),
                multiple(row["times"]),
                percent(row["beaten"]),
            ]
            for name, row in advice.costs.iterrows()
        ),
    ]


def advice_text(advice: "Advice") -> str:
    """Return the whole advice."""
    sections = {
        "Side by side (on worlds that were not used to choose):": [as_text(side_by_side(advice)), columns(advice)],
        "What it costs to be wrong (on the same worlds):": [as_text(cost_table(advice))] if len(advice.costs) else [],
        "When the advice would flip:": [f"  {line}" for line in flip_lines(advice)],
    }
    parts = [*verdict(advice), f"Settings: {settings_line(advice)}.", *remarks(advice.comparison)]
    for title, lines in sections.items():
        parts += ["", title, *lines] if lines else []
    return "\n".join(parts)
