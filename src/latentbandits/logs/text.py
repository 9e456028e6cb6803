"""A diagnosis in words."""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.logs.changes import CHANGES
from latentbandits.logs.conclusion import UNDECIDED
from latentbandits.logs.hypotheses import KINDS
from latentbandits.logs.regimes import REGIMES
from latentbandits.presentation.numbers import aligned, figure, percent, short, span

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

FEW_PLAYS = 0.05  # share of rows below which an arm is hardly tried
ALIKE = 0.45  # spread of the lengths of segments over their mean, below which they are alike; 1 for a chain, about 0.3 for a calendar
SHORT, MUCH = 10, 0.2  # rounds of a state, and the share of time, from which on it is said
SEGMENTS = 12  # at least, before that can be said


def describe(name: str) -> str:
    """Return a hypothesis's name as people read it.

    Examples
    --------
    >>> from latentbandits.logs.text import describe
    >>> describe("calendar and drift")
    'the calendar, and drift, every arm its own'
    """
    return ", and ".join(KINDS[kind].phrase for kind in name.split(" and "))


def first_sentence(d: "Diagnosis") -> str:
    """Return the conclusion in one sentence."""
    conclusion, rows = d.conclusion, f"{len(d.log):,} rows"
    if d.regimes and d.model is not None:
        dwell = float((d.model.shares * d.model.dwell).sum())
        lasts = f"{d.counted} that last about {short(dwell)} rounds"
        if not d.useful:
            return f"There are regimes, {lasts}, but they do not change what to do ({conclusion.sure}, {rows})."
        more = f"following them earns {figure(d.gain[0])} more per round than the best single arm"
        return f"{conclusion.words}: {lasts}, and {more} ({conclusion.sure}, {rows})."
    return f"{conclusion.words} ({conclusion.sure}, {rows})."


def how_sure(d: "Diagnosis") -> str:
    """Return the margin in words."""
    conclusion = d.conclusion
    if conclusion.margin == -np.inf:
        return "No chain of states could be fitted that lasts longer than a few rounds."
    ahead = f"{abs(conclusion.margin):,.0f} nats {'ahead of' if conclusion.margin >= 0 else 'behind'}"
    return (
        f"Regimes are {ahead} the best other hypothesis ({describe(conclusion.rival)}); "
        f"they are said to be there from {conclusion.needed:,.0f} nats on."
    )


def list_next_steps(d: "Diagnosis") -> list[str]:
    """Return what would settle what is not settled yet."""
    conclusion, steps = d.conclusion, []
    tried = np.bincount(d.log.played, minlength=len(d.log.arms)) / len(d.log)
    if conclusion.kind == UNDECIDED:
        rows = len(d.log) * min(max(conclusion.needed / max(conclusion.margin, 0.5), 1.2), 20)
        steps.append(f"More rows: about {short(rows)} in all, if it goes on like this.")
    if conclusion.kind == CHANGES:
        steps.append("A longer log: whether states return can be seen only after several have.")
    hardly = [str(name) for name, share in zip(d.log.arms, tried, strict=True) if share < FEW_PLAYS]
    if hardly and conclusion.kind in (UNDECIDED, CHANGES, REGIMES):
        steps.append(f"Some uniform exploration: {', '.join(hardly)} hardly played.")
    return steps


def list_remarks(d: "Diagnosis") -> list[str]:
    """Return what a reader should know: of segments as long as each other, of states that last a few rounds only, and of the log."""
    remarks = []
    lengths = np.diff(np.append(0, np.append(d.changes["row"].to_numpy(), len(d.log))))[1:-1]
    if d.regimes and len(lengths) >= SEGMENTS and lengths.std() <= ALIKE * lengths.mean():
        remarks.append(
            f"The stretches between changes are alike in length (about {lengths.mean():,.0f} rows): it looks like a calendar of its own."
        )
    share = float(d.model.shares[d.model.dwell < SHORT].sum()) if d.regimes and d.model is not None else 0.0
    if share >= MUCH:
        remarks.append(
            f"{percent(share)} of the time is spent in states that last fewer than {SHORT} rounds: something that varies continuously, or "
            "noise of an unusual shape, may be behind them, and no policy can follow them."
        )
    return [*remarks, *d.flags]


def cell(mean: float, low: float, high: float, tried: float) -> str:
    """Return the mean of a cell with its interval, with two digits of its width at least, or that it was never tried.

    Examples
    --------
    >>> from latentbandits.logs.text import cell
    >>> cell(0.00331, 0.00113, 0.00968, 302.0), cell(0.52, 0.41, 0.63, 90.0)
    ('0.0033 (0.0011 to 0.0097)', '0.520 (0.410 to 0.630)')
    """
    width = high - low
    digits = 1 - math.floor(math.log10(width)) if 0 < width < 0.01 else 0

    def form(value: float) -> str:
        return f"{value:.{digits}f}" if digits else figure(value)

    return f"{form(mean)} ({span(low, high, form)})" if tried >= 1 else "never tried"


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
        first = part.iloc[0]
        dwell = f"{short(first['dwell'])} ({span(first['dwell_low'], first['dwell_high'], short)})"
        cells = [cell(row.mean, row.low, row.high, row.tried) for row in part.itertuples()]
        rows.append([str(state), percent(first["share"]), dwell, *cells])
    return head, rows


def likely(share: float) -> str:
    """Return a probability in per cent, never as certain."""
    return "< 1 %" if share < 0.01 else "> 99 %" if share > 0.99 else percent(share)


def hypothesis_rows(d: "Diagnosis") -> list[list[str]]:
    """Return the rows of the table of hypotheses: name, probability, score behind the best, gain, parameters fitted."""
    best, shares = d.hypotheses[0].score, d.probabilities
    return [
        [describe(h.name), likely(shares[h.name]), f"{h.score - best:,.0f}", f"{h.gain:,.0f}", str(h.num_params)]
        for h in d.hypotheses
    ]


def covariate_lines(d: "Diagnosis") -> list[str]:
    """Return what calendar and context explain."""
    lines = []
    if d.calendar is not None:
        words, share = d.calendar
        lines.append(
            f"The calendar ({words}) explains {percent(share, digits=1)} of the variance around the arms' means."
        )
    for covariate in d.covariates:
        own = ", for every arm its own effect" if covariate.per_arm else ""
        used = f"was taken out{own}" if covariate.used else "is no more than chance and was left in"
        lines.append(f"{covariate.name} explains {percent(covariate.share, digits=1)} and {used}.")
    return lines


def money_lines(d: "Diagnosis") -> list[str]:
    """Return what the old rule lost, and what following the states could gain."""
    if not d.regimes:
        return []
    lost, low, high = d.regret
    gained, least, most = d.gain
    return [
        f"The old rule lost {figure(lost)} ({span(low, high)}) in {len(d.log):,} rows against the best arm of every state.",
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
        "Hypotheses: how probable each is among these, and how many nats it is behind the best (penalised):",
        aligned(["hypothesis", "probability", "behind", "gain", "parameters"], hypothesis_rows(d)),
    ]
    for title, sentences in (("What would settle it:", list_next_steps(d)), ("Note:", list_remarks(d))):
        if sentences:
            lines += ["", title, *(f"  {line}" for line in sentences)]
    if d.comparison is not None:
        lines += ["", "What policies would earn on worlds that are as the log was:", d.comparison.text()]
    return "\n".join(lines)
