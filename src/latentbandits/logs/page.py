"""A diagnosis as figures, and as one HTML page: the conclusion, the timeline, the states, the hypotheses, the money and the flags."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from latentbandits.logs.regimes import REGIMES
from latentbandits.logs.text import (
    covariate_lines,
    describe,
    first_sentence,
    how_sure,
    list_next_steps,
    list_remarks,
    money_lines,
    state_rows,
)
from latentbandits.presentation import html
from latentbandits.presentation.html import Row, tag
from latentbandits.presentation.palette import (
    BLACK,
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    YELLOW,
    Figure,
    plotting,
)

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

STATES = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW, BROWN, BLACK, GREY)
BINS = 400
MOST_ARMS = 12
TIMELINE = (
    "From top to bottom: the probability of every state given all rewards, the changes of the most probable path and how probable each is, "
    "the mean reward, the arms that were played, and hour and weekday, as far as they are known."
)
HYPOTHESES = (
    "Every hypothesis is fitted as well as it can be and pays for each number that it needs (BIC). A nat is a factor of 2.7 in "
    "probability. Regimes must be ahead of all others by a margin that was calibrated on logs without regimes."
)


def colours(states: int) -> list[str]:
    """Return a colour for every state."""
    return [STATES[state % len(STATES)] for state in range(states)]


def binned(d: "Diagnosis") -> tuple[np.ndarray, np.ndarray]:
    """Return the bin of every row, and the middle row of every bin."""
    bins = min(BINS, len(d.log))
    edges = np.linspace(0, len(d.log), bins + 1).astype(int)
    return np.repeat(np.arange(bins), np.diff(edges)), (edges[:-1] + edges[1:]) // 2


def averages(bins: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return the mean of values in every bin, NaN where there are none."""
    rows = np.bincount(bins, minlength=count)
    return np.where(rows > 0, np.bincount(bins, values, minlength=count) / np.maximum(rows, 1), np.nan)


def plot_timeline(d: "Diagnosis") -> Figure:
    """Return states in colour, arms played, rewards, changes, and hour and weekday, over the rows of the log."""
    parts = ["rewards", "arms"]
    if d.regimes:
        parts = ["states", "changes", *parts]
    if d.log.dated:
        parts.append("calendar")
    sizes = {
        "states": 1.6,
        "changes": 1.0,
        "rewards": 1.4,
        "arms": 0.35 + 0.18 * min(len(d.log.arms), MOST_ARMS),
        "calendar": 0.7,
    }
    heights = [sizes[part] for part in parts]
    with plotting():
        figure = Figure(figsize=(9.0, 0.6 + 1.15 * sum(heights)))
        axes = figure.subplots(len(parts), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        bins, middle = binned(d)
        for axis, part in zip(axes, parts, strict=True):
            PLOTS[part](d, axis, bins, middle)
            axis.grid(False)
        axes[-1].set_xlim(0, len(d.log))
        axes[-1].set_xlabel("row of the log" + _span(d))
    return figure


def _span(d: "Diagnosis") -> str:
    if not d.log.dated or d.log.times is None:
        return ""
    first, last = (str(moment.astype("datetime64[D]")) for moment in (d.log.times[0], d.log.times[-1]))
    return f", {first} to {last}"


def _states(d: "Diagnosis", axis: Axes, bins: np.ndarray, middle: np.ndarray) -> None:
    count, states = len(middle), d.state_probs.shape[1]
    shares = [averages(bins, d.state_probs[:, state], count) for state in range(states)]
    names = [f"state {state}" for state in range(states)]
    axis.stackplot(middle, *shares, colors=colours(states), labels=names, linewidth=0)
    axis.set_ylim(0, 1)
    axis.set_ylabel("probability\nof the state")
    axis.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(states, 8), fontsize=7, handlelength=1.0, columnspacing=1.0
    )


def _changes(d: "Diagnosis", axis: Axes, bins: np.ndarray, middle: np.ndarray) -> None:  # noqa: ARG001
    changes = d.changes
    if len(changes) <= BINS:
        axis.vlines(changes["row"], 0, changes["probable"], color=BLACK, linewidth=0.8)
        axis.set_ylabel("probability\nof a change")
        axis.set_ylim(0, 1.05)
    else:
        width = (middle[1] - middle[0]) / 2
        edges = np.append(middle - width, len(d.log))
        counts, _ = np.histogram(changes["row"], edges)
        axis.bar(middle, counts, width=2 * width, color=BLACK)
        axis.set_ylabel("changes\nper bin")


def _rewards(d: "Diagnosis", axis: Axes, bins: np.ndarray, middle: np.ndarray) -> None:
    axis.plot(middle, averages(bins, d.log.rewards, len(middle)), color=GREY, linewidth=0.8)
    axis.set_ylabel("mean reward")


def _arms(d: "Diagnosis", axis: Axes, bins: np.ndarray, middle: np.ndarray) -> None:
    arms = min(len(d.log.arms), MOST_ARMS)
    shown = np.stack([averages(bins, (d.log.played == arm).astype(float), len(middle)) for arm in range(arms)])
    axis.imshow(
        shown,
        aspect="auto",
        cmap="Greys",
        vmin=0,
        vmax=1,
        extent=(0, len(d.log), arms - 0.5, -0.5),
        interpolation="nearest",
    )
    axis.set_yticks(range(arms), [_short(name) for name in d.log.arms[:arms]])
    axis.set_ylabel("arm played\n(dark: often)")


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= 14 else text[:13] + "\N{HORIZONTAL ELLIPSIS}"


def _calendar(d: "Diagnosis", axis: Axes, bins: np.ndarray, middle: np.ndarray) -> None:  # noqa: ARG001
    assert d.log.times is not None
    times = d.log.times[middle]
    hour = (times - times.astype("datetime64[D]")) / np.timedelta64(1, "h")
    day = (times.astype("datetime64[D]").astype(np.int64) + 3) % 7
    strips = np.stack([((hour >= 6) & (hour < 18)).astype(float), (day >= 5) * 2.0])
    axis.imshow(
        strips,
        aspect="auto",
        cmap=ListedColormap(["#e8e8e8", YELLOW, SKY]),
        vmin=0,
        vmax=2,
        extent=(0, len(d.log), 1.5, -0.5),
        interpolation="nearest",
    )
    axis.set_yticks([0, 1], ["hour", "weekday"])
    handles = [Patch(color=YELLOW, label="6 to 18 h"), Patch(color=SKY, label="weekend")]
    axis.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, fontsize=7)


PLOTS = {"states": _states, "changes": _changes, "rewards": _rewards, "arms": _arms, "calendar": _calendar}


def plot_hypotheses(d: "Diagnosis") -> Figure:
    """Return the hypotheses as bars: how far behind the best each is."""
    hypotheses = list(reversed(d.hypotheses))
    best = d.hypotheses[0].score
    behind = [best - h.score for h in hypotheses]
    with plotting():
        figure = Figure(figsize=(7.5, 0.9 + 0.3 * len(hypotheses)))
        axis = figure.subplots()
        colors = [BLUE if h.kind == REGIMES else GREY for h in hypotheses]
        axis.barh([describe(h.name) for h in hypotheses], [max(value, 0.05) for value in behind], color=colors)
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
    title = first_sentence(d)
    head, rows = state_rows(d)
    parts = [
        tag("h1", title.replace(" %", "\N{NO-BREAK SPACE}%")),
        tag("p", how_sure(d)),
        *(tag("p", line, classes="note") for line in d.log.text().splitlines()),
        tag("h2", "Timeline"),
        html.figure(plot_timeline(d), TIMELINE),
        tag("h2", "What the arms pay in every state" if d.regimes else "What the arms pay"),
        html.table(head, [Row(row) for row in rows]),
        tag(
            "p", "Means and dwell times with 95 % intervals; a round is a row unless rounds were given.", classes="note"
        ),
    ]
    lines = [*money_lines(d), *covariate_lines(d)]
    if lines:
        parts.append(html.listed(lines))
    parts += [tag("h2", "Hypotheses"), html.figure(plot_hypotheses(d), HYPOTHESES)]
    if d.comparison is not None:
        parts += [
            tag("h2", "What policies would earn"),
            html.figure(
                d.comparison.figure(),
                "On worlds that are as the log was: every run is a model that the log leaves open.",
            ),
            html.frame(d.comparison.table, d.comparison.best),
        ]
    for title_of_part, sentences in (
        ("What would settle it", list_next_steps(d)),
        ("What to keep in mind", list_remarks(d)),
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
        'print(d.compare(["state-library", "ucb1"]).text())   # what would have happened\n'
        "advice = lb.advise(d)                                # what to do\n"
        'agent = d.agent("state-library")                     # go on from what the log knows'
    )
