"""A diagnosis as figures, and as one HTML page: the conclusion, the timeline, the states, the hypotheses, the money and the flags."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

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
TIMELINE = "the mean reward, and the arms that were played"
TIMELINE_OF_STATES = (
    "the probability of every state given all rewards, the changes of the most probable path and how probable each is, "
)
HYPOTHESES = (
    "Every hypothesis is fitted as well as it can be and pays for each number that it needs (BIC). A nat is a factor of 2.7 in "
    "probability. Regimes must be ahead of all others by a margin that was calibrated on logs without regimes."
)
COMPARISON = "On worlds that are as the log was: every run is a model that the log leaves open."
INTERVALS = "Means and dwell times with 95 % intervals; a round is a row unless rounds were given."


def plot_timeline(d: "Diagnosis") -> Figure:
    """Return states in colour, changes, rewards and arms played, over the rows of the log."""
    arms, rows = min(len(d.log.arms), MOST_ARMS), len(d.log)
    edges = np.linspace(0, rows, min(BINS, rows) + 1).astype(int)
    middle = (edges[:-1] + edges[1:]) // 2

    def averages(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.add.reduceat(values, edges[:-1]) / np.diff(edges))

    heights = [*([1.6, 1.0] if d.regimes else []), 1.4, 0.35 + 0.18 * arms]
    with plotting():
        figure = Figure(figsize=(9.0, 0.6 + 1.15 * sum(heights)))
        axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        if d.regimes:
            states = d.state_probs.shape[1]
            colours = [STATES[state % len(STATES)] for state in range(states)]
            names = [f"state {state}" for state in range(states)]
            shares = [averages(d.state_probs[:, state]) for state in range(states)]
            axes[0].stackplot(middle, *shares, colors=colours, labels=names, linewidth=0)
            axes[0].set_ylim(0, 1)
            axes[0].set_ylabel("probability\nof the state")
            small = {"ncols": min(states, 8), "fontsize": 7, "handlelength": 1.0, "columnspacing": 1.0}
            axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1.0), **small)
            _plot_changes(d, axes[1], edges)
        axes[-2].plot(middle, averages(d.log.rewards), color=GREY, linewidth=0.8)
        axes[-2].set_ylabel("mean reward")
        played = np.stack([averages((d.log.played == arm).astype(float)) for arm in range(arms)])
        place = {"extent": (0, rows, arms - 0.5, -0.5), "aspect": "auto", "interpolation": "nearest"}
        axes[-1].imshow(played, cmap="Greys", vmin=0, vmax=1, **place)
        cut = [
            name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
            for name in map(str, d.log.arms)
        ]
        axes[-1].set_yticks(range(arms), cut[:arms])
        axes[-1].set_ylabel("arm played\n(dark: often)")
        for axis in axes:
            axis.grid(False)
        axes[-1].set_xlim(0, rows)
        axes[-1].set_xlabel("row of the log")
        if d.log.times is not None and d.log.dated:
            first, last = d.log.times[[0, -1]].astype("datetime64[D]")
            axes[-1].set_xlabel(f"row of the log, {first} to {last}")
    return figure


def _plot_changes(d: "Diagnosis", axis: Axes, edges: np.ndarray) -> None:
    """Plot when the most probable path changes: every change, or how many there are where they would not be told apart."""
    if len(d.changes) <= BINS:
        axis.vlines(d.changes["row"], 0, d.changes["probable"], color=BLACK, linewidth=0.8)
        axis.set_ylabel("probability\nof a change")
        axis.set_ylim(0, 1.05)
    else:
        axis.stairs(np.histogram(d.changes["row"], edges)[0], edges, fill=True, color=BLACK)
        axis.set_ylabel("changes\nper bin")


def plot_hypotheses(d: "Diagnosis") -> Figure:
    """Return the hypotheses as bars: how far behind the best each is."""
    hypotheses = list(reversed(d.hypotheses))
    best = d.hypotheses[0].score
    behind = [best - h.score for h in hypotheses]
    with plotting():
        figure = Figure(figsize=(7.5, 0.9 + 0.3 * len(hypotheses)))
        axis = figure.subplots()
        colors = [BLUE if h.kind == REGIMES else GREY for h in hypotheses]
        axis.barh([text.describe(h.name) for h in hypotheses], [max(value, 0.05) for value in behind], color=colors)
        for place, value in enumerate(behind):
            axis.annotate(f" {value:,.0f}", (max(value, 0.05), place), va="center", fontsize=8)
        axis.axvline(d.conclusion.needed, color=RED, linewidth=1, linestyle="--")
        axis.set_xscale("symlog", linthresh=10)
        axis.set_xlim(0, max(max(behind) * 3, 30))
        axis.set_xlabel("nats behind the best hypothesis (dashed: the margin that regimes must have)")
        axis.grid(axis="y", visible=False)
    return figure


def page(d: "Diagnosis") -> str:
    """Return the page."""
    title = text.first_sentence(d)
    head, rows = text.state_rows(d)
    parts = [
        tag("h1", title.replace(" %", "\N{NO-BREAK SPACE}%")),
        tag("p", text.how_sure(d)),
        *(tag("p", line, classes="note") for line in d.log.text().splitlines()),
        tag("h2", "Timeline"),
        html.figure(plot_timeline(d), f"From top to bottom: {TIMELINE_OF_STATES if d.regimes else ''}{TIMELINE}."),
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
