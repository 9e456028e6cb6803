"""The figure of a policy at work: what was hidden, what it played and believed, why it probed and what that cost, round by round."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from latentbandits.parameters import describe, has_effect
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
    label,
    plotting,
    style,
)
from latentbandits.protocols import (
    CONTINUED,
    MARGIN,
    REASONS,
    RESIDUAL,
    RIVAL,
    SCHEDULED,
    STALENESS,
    UNTRIED,
)

if TYPE_CHECKING:
    from latentbandits.advice.trace import Trace

# One tint per arm; the place of a band shows the arm as well, so tints may repeat
TINTS = (SKY, ORANGE, GREEN, PINK, YELLOW)
FAINT = 0.4
AWAY: Mapping[str, Any] = {"facecolor": "none", "edgecolor": GREY, "hatch": "////", "linewidth": 0}


class Mark(NamedTuple):
    """How a reason to probe is plotted: by a shape and a colour of its own.

    `rules` has a phrase for each setting that the reason may depend on; a policy has one of them.
    """

    shape: str
    color: str
    rules: Mapping[str, str]


MARKS: Mapping[int, Mark] = {
    RESIDUAL: Mark("D", PINK, {"residual_threshold": "|z| at least {}"}),
    MARGIN: Mark("v", BLUE, {"margin": "at most {}"}),
    STALENESS: Mark("s", ORANGE, {"staleness": "{} rounds old", "max_idle_rounds": "max_idle_rounds {}"}),
    SCHEDULED: Mark("^", GREEN, {"interval": "every {} rounds"}),
    UNTRIED: Mark("P", SKY, {"optimism": "optimism {}"}),
    RIVAL: Mark("X", BROWN, {"testing": "testing {}"}),
}
OTHER = Mark("h", GREY, {})  # a reason without a mark of its own
RING: Mapping[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.5,
    "markerfacecolor": "white",
    "markeredgecolor": BLACK,
    "markeredgewidth": 0.9,
    "clip_on": False,
}


def begun_by(trace: "Trace") -> list[int]:
    """Return the reasons for which a probe began."""
    return [reason for reason in REASONS if reason != CONTINUED and ((trace.probe_reasons & reason) != 0).any()]


def plot(trace: "Trace") -> Figure:
    r"""Return the figure of a trace: hidden state, arms, reasons to probe, beliefs, regret.

    Examples
    --------
    >>> import latentbandits as lb
    >>> figure = lb.trace(lb.Problem(), "sp-ucb", start=41, rounds=60).figure()
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['hidden\nstate', 'arm', 'probe\nbegins by', 'regret\nper group']
    """
    with plotting():
        return _plot(trace)


def _plot(trace: "Trace") -> Figure:
    panels = _panels(trace)
    heights = [height for height, _ in panels]
    figure = Figure(figsize=(9, sum(heights) + 1.2), layout="constrained")
    grid = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axes, (_, fill) in zip(grid, panels, strict=True):
        fill(axes, trace)
    top, bottom = grid[0], grid[-1]
    top.set_title(trace.headline, loc="left", fontsize=10)
    bottom.set_xlim(trace.rounds[0] - 0.5, trace.rounds[-1] + 0.5)
    bottom.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    bottom.set_xlabel("round")
    figure.align_ylabels()
    keys = _keys(trace)
    figure.legend(
        list(keys.values()),
        list(keys),
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        loc="outside lower center",
        ncols=5 if len(keys) <= 5 else 4,
        fontsize=8,
    )
    _fix_layout(figure)
    return figure


def _panels(trace: "Trace") -> list[tuple[float, Callable[[Axes, "Trace"], None]]]:
    """Return the height of every panel and the function that fills it, from the top."""
    reasons = begun_by(trace)
    return [
        *([(1.0, _states)] if (trace.states >= 0).any() else []),
        (min(0.5 + 0.3 * trace.means.shape[1], 3.5), _arms),
        *([(0.3 + 0.2 * len(reasons), _reasons)] if reasons else []),
        *([(1.6, _means), (0.8, _probabilities), (0.7, _changes), (0.6, _known)] if trace.beliefs else []),
        (1.3, _regret),
    ]


def _fix_layout(figure: Figure) -> None:
    """Fix the layout at round numbers.

    The last digits of the solver's result depend on where objects lie in memory, and they would make another SVG file of the same figure.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(float(x), 6) for x in axes.get_position(original=True).bounds)
        axes.set_position((left, bottom, width, height))


def spans(chosen: np.ndarray, rounds: np.ndarray) -> list[tuple[float, float]]:
    """Return the stretches of chosen rounds as (left edge, width); a round reaches half a round to either side.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.advice.trace_figure import spans
    >>> spans(np.array([True, True, False, True]), np.arange(10, 14))
    [(9.5, 2.0), (12.5, 1.0)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([0], chosen.astype(np.int8), [0]))))
    return [(float(rounds[a]) - 0.5, float(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _states(axes: Axes, trace: "Trace") -> None:
    """Plot the hidden state as steps over bands in the colour of its best arm."""
    best = trace.gaps.argmin(axis=1)
    low, high = trace.states.min() - 0.7, trace.states.max() + 0.7
    for arm in np.unique(best):
        axes.broken_barh(
            spans(best == arm, trace.rounds), (low, high - low), color=TINTS[arm % len(TINTS)], alpha=FAINT, linewidth=0
        )
    axes.stairs(
        trace.states, np.append(trace.rounds - 0.5, trace.rounds[-1] + 0.5), color=BLACK, baseline=None, gid="state"
    )
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=1))
    axes.set_ylabel("hidden\nstate")


def _arms(axes: Axes, trace: "Trace") -> None:
    """Plot the best arm as bands, the arms played as bars, the arms of a probe as rings, and hatch those that are not available."""
    arms = trace.gaps.shape[1]
    exploits = trace.probe_reasons == 0
    for arm in range(arms):
        if (away := np.isinf(trace.gaps[:, arm])).any():
            axes.broken_barh(spans(away, trace.rounds), (arm - 0.4, 0.8), **AWAY, gid=f"away-{arm}")
        best = trace.gaps[:, arm] == 0
        played = (trace.arms == arm).any(axis=1) & exploits
        axes.broken_barh(
            spans(best, trace.rounds), (arm - 0.4, 0.8), color=TINTS[arm % len(TINTS)], alpha=FAINT, linewidth=0
        )
        axes.broken_barh(
            spans(played & best, trace.rounds), (arm - 0.12, 0.24), color=BLACK, linewidth=0, gid=f"hit-{arm}"
        )
        axes.broken_barh(
            spans(played & ~best, trace.rounds), (arm - 0.2, 0.4), color=RED, linewidth=0, gid=f"miss-{arm}"
        )
    visited = trace.arms[~exploits]
    if visited.size:
        rounds = np.repeat(trace.rounds[~exploits], visited.shape[1])
        axes.plot(*np.unique(np.stack([rounds, visited.ravel()]), axis=1), **RING, gid="probes")
    axes.set_ylim(arms - 0.45, -0.55)
    axes.set_yticks(range(0, arms, -(-arms // 10)))
    axes.yaxis.grid(visible=False)
    axes.set_ylabel("arm")


def _reasons(axes: Axes, trace: "Trace") -> None:
    """Plot one line per reason, with a mark at every probe that began for it; several may be true at once."""
    for line, reason in enumerate(begun_by(trace)):
        begun = trace.rounds[(trace.probe_reasons & reason) != 0]
        axes.plot(begun, np.full(len(begun), line), **_look(MARKS.get(reason, OTHER)), gid=REASONS[reason])
    axes.set_ylim(len(begun_by(trace)) - 0.4, -0.6)
    axes.set_yticks(range(len(begun_by(trace))), [REASONS[reason] for reason in begun_by(trace)])
    axes.set_ylabel("probe\nbegins by")


def _means(axes: Axes, trace: "Trace") -> None:
    """Plot every arm's mean reward: the true one, and the one remembered of the state that is believed in."""
    nothing = (np.nan,) * trace.means.shape[1]
    believed = np.array([nothing if b.present is None else b.present.means for b in trace.beliefs])
    for arm in range(trace.means.shape[1]):
        tint = TINTS[arm % len(TINTS)]
        axes.step(
            trace.rounds, trace.means[:, arm], where="mid", color=tint, alpha=FAINT, linewidth=5, gid=f"true-{arm}"
        )
        for color, width in ((BLACK, 2.0), (tint, 1.0)):
            axes.step(trace.rounds, believed[:, arm], where="mid", color=color, linewidth=width, gid=f"mean-{arm}")
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set_ylabel("mean\nreward")


def _probabilities(axes: Axes, trace: "Trace") -> None:
    """Plot the probability of the state that is believed in, and of being in none that is remembered."""
    current = [0.0 if b.present is None else b.present.probability for b in trace.beliefs]
    axes.step(trace.rounds, current, where="mid", color=BLACK, linewidth=1, gid="current")
    axes.step(trace.rounds, [b.elsewhere for b in trace.beliefs], where="mid", color=PINK, linewidth=1, gid="elsewhere")
    axes.set_ylim(-0.05, 1.05)
    axes.set_ylabel("proba-\nbility")


def _changes(axes: Axes, trace: "Trace") -> None:
    """Plot the moments at which the state changed, and those at which the policy believes that it did."""
    axes.vlines(trace.changes, -0.4, 0.4, color=GREY, alpha=FAINT, linewidth=5, gid="true")
    axes.vlines(trace.believed_changes, 0.6, 1.4, color=BLACK, linewidth=1.4, gid="believed")
    axes.set_ylim(1.6, -0.6)
    axes.set_yticks([0, 1], ["true", "believed"])
    axes.yaxis.grid(visible=False)
    axes.set_ylabel("changes")


def _known(axes: Axes, trace: "Trace") -> None:
    """Plot the number of states that the policy remembers."""
    axes.step(trace.rounds, [len(b.states) for b in trace.beliefs], where="mid", color=BLACK, gid="known")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(2, integer=True, min_n_ticks=1))
    axes.set_ylabel("states\nknown")


def _regret(axes: Axes, trace: "Trace") -> None:
    """Plot regret summed over the rounds shown, beside what a random arm would be expected to cost."""
    random = style("random")
    expected = trace.gaps.mean(axis=1, where=np.isfinite(trace.gaps))
    axes.plot(trace.rounds, expected.cumsum(), color=random.color, linestyle=random.line, gid="random")
    axes.plot(trace.rounds, trace.regret.cumsum(), color=style(trace.name).color, gid="regret")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set_ylabel("regret\nper group")


def _keys(trace: "Trace") -> dict[str, Any]:
    """Return the legend, label by label: only what is shown."""
    exploited = trace.losses[trace.probe_reasons == 0]
    tints = tuple(Patch(color=tint, alpha=FAINT, linewidth=0) for tint in TINTS[: trace.gaps.shape[1]])
    keys: dict[str, Any] = {"best arm (a tint per arm)": tints}
    if np.isinf(trace.gaps).any():
        keys["not available"] = Patch(**AWAY)
    if (exploited == 0).any():
        keys["played, best"] = Line2D([], [], color=BLACK, linewidth=2)
    if (exploited > 0).any():
        keys["played, not best"] = Line2D([], [], color=RED, linewidth=4)
    if (trace.probe_reasons != 0).any():
        keys["played in a probe"] = Line2D([], [], **RING)
    settings = describe(trace.policy) if isinstance(trace.policy, tuple) else {}
    for reason in begun_by(trace):
        mark = MARKS.get(reason, OTHER)
        limits = [
            rule.format(f"{settings[setting]:.3g}")
            for setting, rule in mark.rules.items()
            if setting in settings and has_effect(trace.policy, setting)
        ]
        keys[REASONS[reason] + "".join(f" ({limit})" for limit in limits)] = Line2D([], [], **_look(mark))
    if trace.beliefs:
        keys["true mean or change"] = Line2D([], [], color=GREY, alpha=FAINT, linewidth=5)
        keys["believed mean, change or state"] = Line2D([], [], color=BLACK, linewidth=1.4)
        keys["none of the known states"] = Line2D([], [], color=PINK, linewidth=1.4)
    keys[f"regret of {label(trace.spec)}"] = Line2D([], [], color=style(trace.name).color)
    keys["of a random arm, expected"] = Line2D([], [], color=style("random").color, linestyle=style("random").line)
    return keys


def _look(mark: Mark) -> Mapping[str, Any]:
    return {
        "linestyle": "none",
        "marker": mark.shape,
        "color": mark.color,
        "markersize": 4.5,
        "markeredgewidth": 0,
        "clip_on": False,
    }
