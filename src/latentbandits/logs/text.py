"""A diagnosis in words."""

from typing import TYPE_CHECKING

import numpy as np

from latentbandits.logs.explanations import CHANGES, NOTHING, REGIMES
from latentbandits.logs.verdict import UNDECIDED
from latentbandits.presentation.numbers import aligned, figure, percent, short, span

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

FEW_PLAYS = 0.05  # share of rows below which an arm is hardly tried
ALIKE = 0.45  # spread of the lengths of segments over their mean, below which they are alike; 1 for a chain, about 0.3 for a calendar
SHORT, MUCH = 10, 0.2  # rounds of a state, and the share of time, from which on it is said
SEGMENTS = 12  # at least, before that can be said
NAMES = {
    NOTHING: "nothing changes",
    "autocorrelation": "autocorrelated noise, all arms alike",
    "drift": "drift, every arm its own",
    CHANGES: "abrupt changes that never return",
    "loudness": "only the loudness changes",
    "calendar": "the calendar",
    REGIMES: "regimes",
}


def named(name: str) -> str:
    """Return an explanation's name as people read it.

    Examples
    --------
    >>> from latentbandits.logs.text import named
    >>> named("calendar and drift")
    'the calendar, and drift, every arm its own'
    """
    parts = name.split(" and ")
    return ", and ".join(NAMES[part] for part in parts)


def first_sentence(d: "Diagnosis") -> str:
    """Return the verdict in one sentence."""
    verdict, rows = d.verdict, f"{len(d.log):,} rows"
    if d.regimes and d.model is not None:
        dwell = float((d.model.shares * d.model.dwell).sum())
        lasts = f"{d.counted} that last about {short(dwell)} rounds"
        if not d.useful:
            return f"There are regimes, {lasts}, but they do not change what to do ({verdict.sure}, {rows})."
        more = f"following them earns {figure(d.gain[0])} more per round than the best single arm"
        return f"{verdict.words}: {lasts}, and {more} ({verdict.sure}, {rows})."
    return f"{verdict.words} ({verdict.sure}, {rows})."


def how_sure(d: "Diagnosis") -> str:
    """Return the margin in words."""
    verdict = d.verdict
    if verdict.margin == -np.inf:
        return "No chain of states could be fitted that lasts longer than a few rounds."
    ahead = f"{abs(verdict.margin):,.0f} nats {'ahead of' if verdict.margin >= 0 else 'behind'}"
    return (
        f"Regimes are {ahead} the best other explanation ({named(verdict.rival)}); "
        f"they are said to be there from {verdict.needed:,.0f} nats on."
    )


def settle(d: "Diagnosis") -> list[str]:
    """Return what would settle what is not settled yet."""
    verdict, found = d.verdict, []
    tried = np.bincount(d.log.played, minlength=len(d.log.arms)) / len(d.log)
    if verdict.kind == UNDECIDED:
        rows = len(d.log) * min(max(verdict.needed / max(verdict.margin, 0.5), 1.2), 20)
        found.append(f"More rows: about {short(rows)} in all, if it goes on like this.")
    if verdict.kind == CHANGES:
        found.append("A longer log: whether states return can be seen only after several have.")
    hardly = [str(name) for name, share in zip(d.log.arms, tried, strict=True) if share < FEW_PLAYS]
    if hardly and verdict.kind in (UNDECIDED, CHANGES, REGIMES):
        found.append(f"Some uniform exploration: {', '.join(hardly)} hardly played.")
    if not d.log.dated:
        found.append("Dates: without them a calendar looks like regimes.")
    return found


def looks_like_calendar(d: "Diagnosis") -> str | None:
    """Return a warning if the segments of the timeline are alike in length, as those of a calendar are."""
    lengths = np.diff(np.append(0, np.append(d.changes["row"].to_numpy(), len(d.log))))[1:-1]
    if not d.regimes or len(lengths) < SEGMENTS or lengths.std() > ALIKE * lengths.mean():
        return None
    return f"The stretches between changes are alike in length (about {lengths.mean():,.0f} rows): it looks like a calendar of its own."


def short_lived(d: "Diagnosis") -> str | None:
    """Return a warning if much of the time is spent in states that last a few rounds only."""
    if not d.regimes or d.model is None:
        return None
    share = float(d.model.shares[d.model.dwell < SHORT].sum())
    if share < MUCH:
        return None
    return (
        f"{percent(share)} of the time is spent in states that last fewer than {SHORT} rounds: something that varies continuously, or "
        "noise of an unusual shape, may be behind them, and no policy can follow them."
    )


def remarks(d: "Diagnosis") -> list[str]:
    """Return what a reader should know."""
    warnings = [looks_like_calendar(d), short_lived(d)]
    return [*(warning for warning in warnings if warning), *d.flags]


def cell(mean: float, low: float, high: float, tried: float) -> str:
    """Return the mean of a cell with its interval, or that it was never tried."""
    return f"{figure(mean)} ({span(low, high)})" if tried >= 1 else "never tried"


def state_rows(d: "Diagnosis") -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of states: a row per state, a column per arm."""
    if not d.regimes:
        rows = [
            [str(row.arm), cell(row.mean, row.low, row.high, row.tried), f"{row.tried:,.0f}"]
            for row in d.table.itertuples()
        ]
        return ["arm", "mean (95 %)", "rows"], rows
    head = ["state", "share", "dwell (95 %)", *(str(name) for name in d.log.arms)]
    rows = []
    for state, part in d.table.groupby("state"):
        one = part.iloc[0]
        dwell = f"{short(one['dwell'])} ({span(one['dwell_low'], one['dwell_high'], short)})"
        cells = [cell(row.mean, row.low, row.high, row.tried) for row in part.itertuples()]
        rows.append([str(state), percent(one["share"]), dwell, *cells])
    return head, rows


def explanation_rows(d: "Diagnosis") -> list[list[str]]:
    """Return the rows of the table of explanations: name, score behind the best, gain, numbers fitted."""
    best = d.explanations[0].score
    return [
        [named(one.name), f"{one.score - best:,.0f}", f"{one.gain:,.0f}", str(one.numbers)] for one in d.explanations
    ]


def covariate_lines(d: "Diagnosis") -> list[str]:
    """Return what calendar and context explain."""
    found = []
    if d.calendar is not None:
        words, share = d.calendar
        found.append(
            f"The calendar ({words}) explains {percent(share, digits=1)} of the variance around the arms' means."
        )
    for one in d.covariates:
        used = (
            "was taken out" + (", for every arm its own effect" if one.per_arm else "")
            if one.used
            else "is no more than chance and was left in"
        )
        found.append(f"{one.name} explains {percent(one.share, digits=1)} and {used}.")
    return found


def money_lines(d: "Diagnosis") -> list[str]:
    """Return what the old rule lost, and what following the states could gain."""
    if not d.regimes:
        return []
    lost, low, high = d.regret
    rounds = len(d.log)
    gained, least, most = d.gain
    return [
        f"The old rule lost {figure(lost)} ({span(low, high)}) in {rounds:,} rows against the best arm of every state.",
        f"Following the states earns at most {figure(gained)} ({span(least, most)}) more per round than the best single arm.",
    ]


def diagnosis_text(d: "Diagnosis") -> str:
    """Return the whole diagnosis."""
    head, rows = state_rows(d)
    lines = [first_sentence(d), how_sure(d), d.log.text()]
    lines += ["", "What the arms pay" + (" in every state:" if d.regimes else ":"), aligned(head, rows)]
    if d.regimes and d.model is not None:
        noise = ", ".join(f"{name} {figure(value)}" for name, value in zip(d.log.arms, d.noise, strict=True))
        lines += [f"Noise: {noise}."] if not d.series.binary else []
        lines += [f"{len(d.changes):,} changes on the most probable path.", *money_lines(d)]
    lines += covariate_lines(d)
    lines += [
        "",
        "Explanations, in nats behind the best (penalised):",
        aligned(["explanation", "behind", "gain", "numbers"], explanation_rows(d)),
    ]
    for title, found in (("What would settle it:", settle(d)), ("Note:", remarks(d))):
        if found:
            lines += ["", title, *(f"  {line}" for line in found)]
    if d.comparison is not None:
        lines += ["", "What policies would earn on worlds that are as the log was:", d.comparison.text()]
    return "\n".join(lines)
