"""A policy at work: what was hidden, what it played and believed, why it probed and what that cost, round by round."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from latentbandits.policies.state_library import Belief
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
    label,
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
    Realisation,
)

# One tint per arm; bands carry the arm's number by their place too, so colours may come again
TINTS = (SKY, ORANGE, GREEN, PINK, YELLOW)
FAINT = 0.4


class Mark(NamedTuple):
    """How a reason to probe is drawn, and the setting that it depends on: shape and colour both tell it apart.

    `rules` says in words what the setting means, for each setting that it can be; a policy has one of them.
    """

    shape: str
    color: str
    rules: Mapping[str, str]


MARKS: Mapping[int, Mark] = {
    RESIDUAL: Mark("D", PINK, {"residual_threshold": "|z| at least {}"}),
    MARGIN: Mark("v", BLUE, {"margin": "at most {}"}),
    STALENESS: Mark("s", ORANGE, {"staleness": "{} rounds old", "patience": "patience {}"}),
    SCHEDULED: Mark("^", GREEN, {"interval": "every {} rounds"}),
    UNTRIED: Mark("P", SKY, {"optimism": "optimism {}"}),
    RIVAL: Mark("X", BROWN, {"testing": "testing {}"}),
}
RING: Mapping[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.5,
    "markerfacecolor": "white",
    "markeredgecolor": BLACK,
    "markeredgewidth": 0.9,
    "clip_on": False,
}


class Shown(NamedTuple):
    """The rounds of a run that a picture shows, and what is told of them.

    Attributes
    ----------
    rounds : int array, their numbers, counted from 1
    states : int array (rounds,), the hidden state, -1 where there is none
    gaps : array (rounds, arms), what each arm falls short of the best
    arms : int array (rounds, units), the arms played
    why : int array (rounds,), the reasons to probe
    """

    rounds: np.ndarray
    states: np.ndarray
    gaps: np.ndarray
    arms: np.ndarray
    why: np.ndarray

    @classmethod
    def of(cls, table: Realisation, arms: np.ndarray, why: np.ndarray, start: int) -> "Shown":
        """Return the rounds from `start`, counted from 1, to the end of the run.

        Examples
        --------
        >>> import latentbandits as lb
        >>> from latentbandits.random import stream
        >>> from latentbandits.report.trace import Shown
        >>> from latentbandits.simulation.batch import record_one
        >>> table = lb.HiddenMarkov().realise(horizon=40, units=2, seed=0, draw=0, repeat=0)
        >>> shown = Shown.of(table, *record_one(lb.policy("rp-ucb"), table, stream(0)), start=21)
        >>> shown.rounds[[0, -1]].tolist(), shown.probes
        ([21, 40], 2)
        """
        first = start - 1
        means = table.means[first:]
        gaps = means.max(axis=1, keepdims=True) - means
        return cls(np.arange(start, start + len(means)), table.states[first:], gaps, arms[first:], why[first:])

    @property
    def regret(self) -> np.ndarray:
        """Regret per unit of each round."""
        return np.take_along_axis(self.gaps, self.arms, axis=1).mean(axis=1)  # type: ignore[no-any-return]

    @property
    def optimal(self) -> float:
        """Share of units that received a best arm."""
        return float((np.take_along_axis(self.gaps, self.arms, axis=1) == 0).mean())

    @property
    def changes(self) -> list[int]:
        """The rounds in which the hidden state was another one than before."""
        return [int(when) for when in self.rounds[1:][np.diff(self.states) != 0]]

    @property
    def probes(self) -> int:
        """Number of probes that began; one that takes several rounds counts once."""
        return int(((self.why & ~CONTINUED) != 0).sum())

    @property
    def reasons(self) -> list[int]:
        """The reasons for which a probe began."""
        return [reason for reason in MARKS if ((self.why & reason) != 0).any()]


def believed_changes(beliefs: Iterable[Belief], after: int) -> list[int]:
    """Return the changes after a round in which a policy came to believe, given one belief per round.

    A belief in an earlier change takes back all later ones; one within two rounds of the last is the same change, better dated.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.report.trace import believed_changes
    >>> belief = lb.Agent("state-library").belief
    >>> believed_changes((belief._replace(changed=when) for when in (9, 40, 41, 41, 70, 41, 90)), after=20)
    [41, 90]
    """
    found: list[int] = []
    for belief in beliefs:
        while found and found[-1] >= belief.changed - 2:
            found.pop()
        found.append(belief.changed)
    return [when for when in found if when > after]


def draw(
    policy_name: str,
    policy: Any,
    table: Realisation,
    arms: np.ndarray,
    why: np.ndarray,
    start: int,
    beliefs: Sequence[Belief] = (),
) -> Figure:
    r"""Draw a run from one round on: hidden state, arms, reasons to probe, beliefs, regret.

    Parameters
    ----------
    policy_name : str
        Name of the table; gives the label and the colour.
    policy : Policy or Oracle
        The policy that played; its settings explain the gates in the legend.
    table : Table
        The world that it met.
    arms, why : int arrays (rounds, units) and (rounds,)
        What it did, as recorded by `latentbandits.simulation.batch.record_one`.
    start : int
        First round shown, counted from 1.
    beliefs : sequence of Belief
        What it believed after every round shown (`latentbandits.simulation.batch.believe_one`); empty if it does not say.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.random import stream
    >>> from latentbandits.report.trace import draw
    >>> from latentbandits.simulation.batch import record_one
    >>> table = lb.HiddenMarkov().realise(horizon=100, units=1, seed=0, draw=0, repeat=0)
    >>> chosen = lb.policy("sp-ucb")
    >>> figure = draw("sp-ucb", chosen, table, *record_one(chosen, table, stream(0)), start=41)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['hidden\nstate', 'arm', 'probe\nbegins by', 'regret\nper unit']
    """
    shown = Shown.of(table, arms, why, start)
    hidden, reasons = bool((shown.states >= 0).any()), shown.reasons
    rows = shown.gaps.shape[1]
    heights = {
        "state": 1.0 if hidden else 0.0,
        "arm": min(0.5 + 0.3 * rows, 3.5),
        "why": 0.3 + 0.2 * len(reasons) if reasons else 0.0,
        **({"means": 1.6, "sure": 0.8, "changes": 0.7, "known": 0.6} if beliefs else {}),
        "regret": 1.3,
    }
    heights = {name: height for name, height in heights.items() if height}
    figure = Figure(figsize=(9, sum(heights.values()) + 1.2), layout="constrained")
    grid = figure.subplots(len(heights), 1, sharex=True, height_ratios=list(heights.values()), squeeze=False)
    panels: dict[str, Axes] = dict(zip(heights, grid[:, 0], strict=True))
    if hidden:
        _states(panels["state"], shown)
    _arms(panels["arm"], shown)
    if reasons:
        _reasons(panels["why"], shown)
    if beliefs:
        _means(panels["means"], shown, table.means[start - 1 :], beliefs)
        _sure(panels["sure"], shown, beliefs)
        _changes(panels["changes"], shown, beliefs)
        _known(panels["known"], shown, beliefs)
    _regret(panels["regret"], shown, policy_name)

    top, bottom = grid[0, 0], grid[-1, 0]
    top.set_title(_title(policy_name, shown), loc="left", fontsize=10)
    bottom.set_xlim(shown.rounds[0] - 0.5, shown.rounds[-1] + 0.5)
    bottom.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    bottom.set_xlabel("round")
    figure.align_ylabels()
    keys = _keys(policy_name, policy, shown, bool(beliefs))
    figure.legend(
        list(keys.values()),
        list(keys),
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        loc="outside lower center",
        ncols=5 if len(keys) <= 5 else 4,
        fontsize=8,
    )
    _settle(figure)
    return figure


def _settle(figure: Figure) -> None:
    """Fix the layout at round numbers.

    The solver behind it leaves last digits that depend on where objects lie in memory, and an SVG file names its parts by all digits:
    the same picture would be another file.
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
    >>> from latentbandits.report.trace import spans
    >>> spans(np.array([True, True, False, True]), np.arange(10, 14))
    [(9.5, 2.0), (12.5, 1.0)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([0], chosen.astype(np.int8), [0]))))
    return [(float(rounds[a]) - 0.5, float(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _title(name: str, shown: Shown) -> str:
    probes = f" and began {shown.probes} {'probe' if shown.probes == 1 else 'probes'}" if shown.probes else ""
    return f"{label(name)} played a best arm in {100 * shown.optimal:.0f} % of {len(shown.rounds):,} rounds{probes}"


def _states(axes: Axes, shown: Shown) -> None:
    """Draw the hidden state as steps over bands in the colour of its best arm."""
    best = shown.gaps.argmin(axis=1)
    low, high = shown.states.min() - 0.7, shown.states.max() + 0.7
    for arm in np.unique(best):
        axes.broken_barh(
            spans(best == arm, shown.rounds), (low, high - low), color=TINTS[arm % len(TINTS)], alpha=FAINT, linewidth=0
        )
    axes.stairs(
        shown.states, np.append(shown.rounds - 0.5, shown.rounds[-1] + 0.5), color=BLACK, baseline=None, gid="state"
    )
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=1))
    axes.set_ylabel("hidden\nstate")


def _arms(axes: Axes, shown: Shown) -> None:
    """Draw the best arm as bands, the arms played as bars, the arms of a probe as rings."""
    arms = shown.gaps.shape[1]
    exploits = shown.why == 0
    for arm in range(arms):
        best = shown.gaps[:, arm] == 0
        played = (shown.arms == arm).any(axis=1) & exploits
        axes.broken_barh(
            spans(best, shown.rounds), (arm - 0.4, 0.8), color=TINTS[arm % len(TINTS)], alpha=FAINT, linewidth=0
        )
        axes.broken_barh(
            spans(played & best, shown.rounds), (arm - 0.12, 0.24), color=BLACK, linewidth=0, gid=f"hit-{arm}"
        )
        axes.broken_barh(
            spans(played & ~best, shown.rounds), (arm - 0.2, 0.4), color=RED, linewidth=0, gid=f"miss-{arm}"
        )
    visited = shown.arms[~exploits]
    if visited.size:
        rounds = np.repeat(shown.rounds[~exploits], visited.shape[1])
        axes.plot(*np.unique(np.stack([rounds, visited.ravel()]), axis=1), **RING, gid="probes")
    axes.set_ylim(arms - 0.45, -0.55)
    axes.set_yticks(range(0, arms, -(-arms // 10)))
    axes.yaxis.grid(visible=False)
    axes.set_ylabel("arm")


def _reasons(axes: Axes, shown: Shown) -> None:
    """Draw one line per reason and a mark wherever a probe began by it; several may be true at once."""
    for line, reason in enumerate(shown.reasons):
        begun = shown.rounds[(shown.why & reason) != 0]
        axes.plot(begun, np.full(len(begun), line), **_look(MARKS[reason]), gid=REASONS[reason])
    axes.set_ylim(len(shown.reasons) - 0.4, -0.6)
    axes.set_yticks(range(len(shown.reasons)), [REASONS[reason] for reason in shown.reasons])
    axes.set_ylabel("probe\nbegins by")


def _means(axes: Axes, shown: Shown, true: np.ndarray, beliefs: Sequence[Belief]) -> None:
    """Draw every arm's mean reward: the true one, and the one remembered of the state that is believed in."""
    nothing = (np.nan,) * true.shape[1]
    believed = np.array([b.states[b.current].means if b.states else nothing for b in beliefs])
    for arm in range(true.shape[1]):
        tint = TINTS[arm % len(TINTS)]
        axes.step(shown.rounds, true[:, arm], where="mid", color=tint, alpha=FAINT, linewidth=5, gid=f"true-{arm}")
        for color, width in ((BLACK, 2.0), (tint, 1.0)):
            axes.step(shown.rounds, believed[:, arm], where="mid", color=color, linewidth=width, gid=f"mean-{arm}")
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set_ylabel("mean\nreward")


def _sure(axes: Axes, shown: Shown, beliefs: Sequence[Belief]) -> None:
    """Draw the probability of the state that is believed in, and of being in none that is remembered."""
    current = [b.states[b.current].probability if b.states else 0.0 for b in beliefs]
    axes.step(shown.rounds, current, where="mid", color=BLACK, linewidth=1, gid="current")
    axes.step(shown.rounds, [b.elsewhere for b in beliefs], where="mid", color=PINK, linewidth=1, gid="elsewhere")
    axes.set_ylim(-0.05, 1.05)
    axes.set_ylabel("proba-\nbility")


def _changes(axes: Axes, shown: Shown, beliefs: Sequence[Belief]) -> None:
    """Draw the moments at which the state changed, and those at which the policy believes that it did."""
    believed = believed_changes(beliefs, int(shown.rounds[0]))
    axes.vlines(shown.changes, -0.4, 0.4, color=GREY, alpha=FAINT, linewidth=5, gid="true")
    axes.vlines(believed, 0.6, 1.4, color=BLACK, linewidth=1.4, gid="believed")
    axes.set_ylim(1.6, -0.6)
    axes.set_yticks([0, 1], ["true", "believed"])
    axes.yaxis.grid(visible=False)
    axes.set_ylabel("changes")


def _known(axes: Axes, shown: Shown, beliefs: Sequence[Belief]) -> None:
    """Draw the number of states that the policy remembers."""
    axes.step(shown.rounds, [len(b.states) for b in beliefs], where="mid", color=BLACK, gid="known")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(2, integer=True, min_n_ticks=1))
    axes.set_ylabel("states\nknown")


def _regret(axes: Axes, shown: Shown, name: str) -> None:
    """Draw regret summed over the rounds shown, beside what a random arm would be expected to cost."""
    random = style("random")
    axes.plot(shown.rounds, shown.gaps.mean(axis=1).cumsum(), color=random.color, linestyle=random.line, gid="random")
    axes.plot(shown.rounds, shown.regret.cumsum(), color=style(name).color, gid="regret")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set_ylabel("regret\nper unit")


def _keys(name: str, policy: Any, shown: Shown, believes: bool) -> dict[str, Any]:
    """Return the legend, label by label: only what is to be seen."""
    exploited = np.take_along_axis(shown.gaps, shown.arms, axis=1)[shown.why == 0]
    tints = tuple(Patch(color=tint, alpha=FAINT, linewidth=0) for tint in TINTS[: shown.gaps.shape[1]])
    keys: dict[str, Any] = {"best arm (a tint per arm)": tints}
    if (exploited == 0).any():
        keys["played, best"] = Line2D([], [], color=BLACK, linewidth=2)
    if (exploited > 0).any():
        keys["played, not best"] = Line2D([], [], color=RED, linewidth=4)
    if (shown.why != 0).any():
        keys["played in a probe"] = Line2D([], [], **RING)
    for reason in shown.reasons:
        mark = MARKS[reason]
        limits = [
            rule.format(f"{getattr(policy, key):.3g}") for key, rule in mark.rules.items() if hasattr(policy, key)
        ]
        keys[REASONS[reason] + "".join(f" ({limit})" for limit in limits)] = Line2D([], [], **_look(mark))
    if believes:
        keys["true mean or change"] = Line2D([], [], color=GREY, alpha=FAINT, linewidth=5)
        keys["believed mean, change or state"] = Line2D([], [], color=BLACK, linewidth=1.4)
        keys["none of the known states"] = Line2D([], [], color=PINK, linewidth=1.4)
    keys[f"regret of {label(name)}"] = Line2D([], [], color=style(name).color)
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
