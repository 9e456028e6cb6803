"""A diagnosis as figures, and as one HTML page: the conclusion, the timeline, the states, the hypotheses, the money and the flags."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import ConciseDateFormatter, date2num

from latentbandits.logs import text
from latentbandits.logs.regimes import REGIMES
from latentbandits.presentation import html, palette
from latentbandits.presentation.html import Row, tag
from latentbandits.presentation.palette import BLACK, BLUE, GREY, RED, Figure, plotting

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

STATES = (
    BLUE, palette.ORANGE, palette.GREEN, palette.PINK, palette.SKY, RED, palette.YELLOW, palette.BROWN, BLACK, GREY,
)  # fmt: skip
BINS = 400
MOST_ARMS, LONGEST_NAME = 12, 14
MOST_CURVES, COARSE, FEW = 6, 40, 3  # arms with a curve; its points; rewards of a point, at least
TIMELINE = "what the arms paid, and how often each was played"
TIMELINE_OF_STATES = (
    "the probability of every state given all rewards, the changes of the most probable path and how probable each is, "
)
HYPOTHESES = (
    "How probable each explanation is among these, all fitted as well as they can be and paying for each number that they need (BIC). "
    "Ahead of all others by the margin that was calibrated on logs without regimes is 99 %."
)
COMPARISON = "On worlds that are as the log was: every run is a model that the log leaves open."
INTERVALS = "Means and dwell times with 95 % intervals; a round is a row unless rounds were given."


def most_played(d: "Diagnosis", number: int) -> np.ndarray:
    """Return the arms that were played most, in their usual order."""
    tried = np.bincount(d.log.played, minlength=len(d.log.arms))
    return np.sort(np.argsort(-tried, kind="stable")[:number])


def cut_name(name: object) -> str:
    """Return the name of an arm, cut in the middle where it is long."""
    text = str(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 6]}\N{HORIZONTAL ELLIPSIS}{text[-5:]}"


def plot_timeline(d: "Diagnosis") -> Figure:
    """Return states in colour, changes, what arms paid and how often they were played, over time, or over rows where there are no dates."""
    shown, rows = most_played(d, MOST_ARMS), len(d.log)
    edges = np.linspace(0, rows, min(BINS, rows) + 1).astype(int)
    axis_of_rows = np.arange(rows + 1.0)
    if d.log.times is not None and d.log.dated:
        axis_of_rows = np.asarray(date2num(np.append(d.log.times, d.log.times[-1])))  # type: ignore[no-untyped-call]
    places = axis_of_rows[edges]
    middle = (places[:-1] + places[1:]) / 2

    def averages(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.add.reduceat(values, edges[:-1]) / np.diff(edges))

    heights = [*([1.6, 1.0] if d.regimes else []), 1.6, 0.35 + 0.18 * len(shown)]
    with plotting():
        figure = Figure(figsize=(9.0, 0.6 + 1.15 * sum(heights)))
        axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        small = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1.0),
            "fontsize": 7,
            "handlelength": 1.0,
            "columnspacing": 1.0,
        }
        if d.regimes:
            states = d.state_probs.shape[1]
            colours = [STATES[state % len(STATES)] for state in range(states)]
            names = [f"state {state}" for state in range(states)]
            shares = [averages(d.state_probs[:, state]) for state in range(states)]
            axes[0].stackplot(middle, *shares, colors=colours, labels=names, linewidth=0)
            axes[0].set_ylim(0, 1)
            axes[0].set_ylabel("probability\nof the state")
            axes[0].legend(ncols=min(states, 8), **small)
            _plot_changes(d, axes[1], edges, axis_of_rows)
        _plot_curves(d, axes[-2], axis_of_rows)
        axes[-2].legend(ncols=MOST_CURVES, **small)
        played = np.stack([averages((d.log.played == arm).astype(float)) for arm in shown])
        bounds = np.arange(len(shown) + 1) - 0.5
        axes[-1].pcolormesh(places, bounds, played, cmap="Greys", vmin=0, vmax=1, rasterized=True)
        axes[-1].invert_yaxis()
        axes[-1].set_yticks(range(len(shown)), [cut_name(d.log.arms[arm]) for arm in shown])
        axes[-1].set_ylabel("arm played\n(dark: often)")
        for axis in axes:
            axis.grid(False)
        axes[-1].set_xlim(places[0], places[-1])
        axes[-1].set_xlabel("row of the log")
        if d.log.dated:
            axes[-1].xaxis_date()
            dates = ConciseDateFormatter(axes[-1].xaxis.get_major_locator())  # type: ignore[no-untyped-call]
            axes[-1].xaxis.set_major_formatter(dates)
            axes[-1].set_xlabel("time")
    return figure


def _plot_curves(d: "Diagnosis", axis: Axes, axis_of_rows: np.ndarray) -> None:
    """Plot what the arms that were played most paid, in stretches of the log with enough rewards."""
    edges = np.linspace(0, len(d.log), COARSE + 1).astype(int)
    part = np.searchsorted(edges, np.arange(len(d.log)), side="right") - 1
    middle = (axis_of_rows[edges[:-1]] + axis_of_rows[edges[1:]]) / 2
    for arm, colour in zip(most_played(d, MOST_CURVES), STATES, strict=False):
        own = d.log.played == arm
        tried = np.bincount(part[own], minlength=COARSE)
        sums = np.bincount(part[own], d.log.rewards[own], minlength=COARSE)
        means = np.where(tried >= FEW, sums / np.maximum(tried, 1), np.nan)
        axis.plot(middle, means, color=colour, linewidth=1.0, marker=".", markersize=3, label=cut_name(d.log.arms[arm]))
    axis.set_ylabel("mean reward\nof an arm")


def _plot_changes(d: "Diagnosis", axis: Axes, edges: np.ndarray, axis_of_rows: np.ndarray) -> None:
    """Plot when the most probable path changes: every change, or how many there are where they would not be told apart."""
    if len(d.changes) <= BINS:
        axis.vlines(axis_of_rows[d.changes["row"]], 0, d.changes["probable"], color=BLACK, linewidth=0.8)
        axis.set_ylabel("probability\nof a change")
        axis.set_ylim(0, 1.05)
    else:
        axis.stairs(np.histogram(d.changes["row"], edges)[0], axis_of_rows[edges], fill=True, color=BLACK)
        axis.set_ylabel("changes\nper bin")


def plot_hypotheses(d: "Diagnosis") -> Figure:
    """Return the hypotheses as bars: how probable each is."""
    hypotheses = list(reversed(d.hypotheses))
    shares = [d.probabilities[h.name] for h in hypotheses]
    with plotting():
        figure = Figure(figsize=(8.5, 0.9 + 0.3 * len(hypotheses)))
        axis = figure.subplots()
        colors = [BLUE if h.kind == REGIMES else GREY for h in hypotheses]
        axis.barh([text.describe(h.name) for h in hypotheses], [100 * share for share in shares], color=colors)
        for place, share in enumerate(shares):
            axis.annotate(f" {text.likely(share)}", (100 * share, place), va="center", fontsize=8)
        axis.set_xlim(0, 115)
        axis.set_xticks(range(0, 101, 20))
        axis.set_xlabel("probability among these, %")
        axis.grid(axis="y", visible=False)
    return figure


def left_out(d: "Diagnosis") -> str:
    """Return which arms a timeline leaves out."""
    arms = len(d.log.arms)
    if arms <= MOST_CURVES:
        return ""
    rest = f"; {MOST_ARMS} have a row below" if arms > MOST_ARMS else ""
    return f" The {MOST_CURVES} arms of {arms} that were played most have a curve{rest}."


def page(d: "Diagnosis") -> str:
    """Return the page."""
    title = text.first_sentence(d)
    head, rows = text.state_rows(d)
    parts = [
        tag("h1", title.replace(" %", "\N{NO-BREAK SPACE}%")),
        tag("p", text.how_sure(d)),
        *(tag("p", line, classes="note") for line in d.log.text().splitlines()),
        tag("h2", "Timeline"),
        html.figure(
            plot_timeline(d), f"From top to bottom: {TIMELINE_OF_STATES if d.regimes else ''}{TIMELINE}.{left_out(d)}"
        ),
        tag("h2", "What the arms pay in every state" if d.regimes else "What the arms pay"),
        html.table(head, [Row(row) for row in rows]),
        tag("p", INTERVALS, classes="note"),
    ]
    lines = [*text.money_lines(d), *text.covariate_lines(d)]
    if lines:
        parts.append(html.listed(lines))
    parts += [tag("h2", "Hypotheses"), html.figure(plot_hypotheses(d), HYPOTHESES)]
    if d.comparison is not None:
        parts += [
            tag("h2", "What policies would earn"),
            html.figure(d.comparison.figure(), COMPARISON),
            html.frame(d.comparison.table),
        ]
    for title_of_part, sentences in (
        ("What would settle it", text.list_next_steps(d)),
        ("What to keep in mind", text.list_remarks(d)),
    ):
        if sentences:
            parts += [tag("h2", title_of_part), html.listed(sentences)]
    parts += [tag("h2", "How to go on"), tag("pre", python(d))]
    return html.page(title, *parts)


def python(d: "Diagnosis") -> str:
    """Return the Python that goes on from here."""
    columns = "".join(f", {role}={column!r}" for role, column in d.log.columns.items())
    source = d.log.source if "." in d.log.source else "log.csv"
    return (
        "import latentbandits as lb\n\n"
        f"log = lb.Log.read({source!r}{columns})\n"
        "d = lb.diagnose(log)\n"
        'print(d.compare(["state-library", "ucb1"]).text())   # what they earn on worlds like the log\n'
        "advice = lb.advise(d)                                # what to do\n"
        'agent = d.agent("state-library")                     # go on from what the log knows'
    )
