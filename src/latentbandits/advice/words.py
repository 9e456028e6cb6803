"""Advice in words: what to use, how sure, what it costs to be wrong, when it would be another, and why."""

import math
from typing import TYPE_CHECKING

from latentbandits.advice import explain, flips
from latentbandits.settings import describe
from latentbandits.text import figure, percent, short, table

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice

UNITS = {"dwell": " rounds", "horizon": " rounds", "timescale": " rounds"}


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
            told.append(
                f"{certainty(advice.sure)} sure: none of the {others} other candidates has less regret, averaged over the worlds that fit. "
                f"It beats the runner-up, {advice.runner_up}, in {percent(beaten)} of worlds."
            )
        else:
            told.append(
                f"Only {certainty(advice.sure)} sure: {advice.runner_up} can hardly be told from it, and wins in "
                f"{percent(1 - beaten)} of worlds. Either will do, or more --runs will tell."
            )
    limit = f", {row['x_limit']:.2f} times the Bayes limit" if row["x_limit"] == row["x_limit"] else ""
    told.append(
        f"Expect a regret of {figure(row['regret'])} ({figure(row['low'])} to {figure(row['high'])}) per unit in {problem.horizon:,} rounds"
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
    if told:
        nearest = advice.flips.iloc[0]
        where = "inside the range given" if nearest["inside"] else "outside the range given"
        told.insert(0, f"What matters most is {nearest['quantity']}: its threshold is the nearest, {where}.")
    if looked:
        told.append("No flip found for " + "; ".join(looked) + ".")
    if not len(advice.flips):
        told.append(weakest(advice))
    return told


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
        (flips.lead(point, advice.winner), sweep.quantity, point.value)
        for sweep in advice.sweeps
        for point in sweep.points
    ]
    least, quantity, value = min(points)
    if least < 1:
        return (
            f"What matters most is {quantity}: near {short(value)} another policy may be as good, but fresh worlds did not confirm that "
            "it is better."
        )
    return f"What matters most is {quantity}: near {short(value)} the lead is smallest, {percent(least - 1)}."


def text(advice: "Advice") -> str:
    """Return the whole advice as plain text."""
    costs = table(
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
    parts = [
        *verdict(advice),
        f"Settings: {chosen_settings(advice)}.",
        "",
        *(["What it costs to be wrong (on worlds that did not choose):", costs, ""] if len(advice.costs) else []),
        *(
            ["When the advice would flip:", *(f"  {line}" for line in turning_points(advice)), ""]
            if advice.sweeps
            else []
        ),
        *(
            ["Why:", *(f"  {line}" for line in explain.sentences(advice.problem, advice.theory)), ""]
            if len(advice.theory)
            else []
        ),
    ]
    return "\n".join(parts).rstrip("\n")
