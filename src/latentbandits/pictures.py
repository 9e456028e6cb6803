"""Small pictures for notebooks, as text in SVG and HTML: nothing but the standard library, since an agent needs no more than NumPy."""

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latentbandits.policies.state_library.belief import Belief, Remembered

# Safe for colour-blind eyes (Okabe & Ito 2008)
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PINK, GREY = "#D8C800", "#0072B2", "#D55E00", "#CC79A7", "#888888"
BROWN = "#7A4A1E"

_ARMS = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW, BROWN)
_ROW, _LABEL, _BAR, _DOTS, _WIDTH = 22, 110, 120, 240, 560  # pixels
_MOST = 8  # states that are shown


def belief(found: "Belief", arms: Sequence[object] | None = None) -> str:
    """Return a picture of what StateLibrary believes: how probable every remembered state is, and what every arm pays in it.

    Parameters
    ----------
    found : Belief
        What `Agent.belief` returns.
    arms : sequence, optional
        Names of the arms; their numbers if not given.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.pictures import belief
    >>> agent = lb.Agent("state-library", compiled=False)
    >>> for reward in (0.2, 0.9, 0.9):
    ...     _ = agent.tell(agent.ask(), reward)
    >>> picture = belief(agent.belief, ["red", "blue"])
    >>> picture.startswith("<div><svg"), "red" in picture
    (True, True)
    """
    if not found.states:
        return "<div>No state is known yet: every arm must have been tried, and two rewards must have differed.</div>"
    names = [str(arm) for arm in (range(len(found.states[0].means)) if arms is None else arms)]
    order = sorted(range(len(found.states)), key=lambda k: -found.states[k].probability)[:_MOST]
    known = [mean for k in order for mean in found.states[k].means if math.isfinite(mean)]
    low, high = min([*known, found.low]), max([*known, found.high])
    parts = _legend(names)
    for line, k in enumerate(order, start=1):
        parts += _state(found.states[k], names, low, high, line, here=found.states[k].number == found.current)
    height = _ROW * (len(order) + 1) + 4
    described = f"{len(found.states)} remembered states; the present one is the first"
    svg = (
        f'<svg role="img" aria-label="{described}" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" style="max-width:100%;height:auto"'
        f' font-family="system-ui, sans-serif" font-size="12" fill="currentColor">{"".join(parts)}</svg>'
    )
    return f"<div>{svg}<div>{escape(_sentence(found, len(order)))}</div></div>"


def _legend(names: Sequence[str]) -> list[str]:
    """Return the head: what the columns are, and the colour of every arm."""
    parts = [
        f'<text x="4" y="15">state</text><text x="{_LABEL}" y="15">probability</text>'
        f'<text x="{_WIDTH}" y="15" text-anchor="end">best</text>'
    ]
    x = _LABEL + _BAR + 56
    for arm, name in enumerate(names[: len(_ARMS)]):
        shown = name if len(name) <= 12 else name[:11] + "\u2026"
        parts.append(
            f'<circle cx="{x}" cy="11" r="5" fill="{_ARMS[arm]}"/><text x="{x + 9}" y="15">{escape(shown)}</text>'
        )
        x += 24 + 7 * len(shown)
    return parts


def _state(state: "Remembered", names: Sequence[str], low: float, high: float, line: int, here: bool) -> list[str]:
    """Return the row of a state: its name, a bar for its probability, and a dot for the mean of every arm that was tried in it."""
    top, middle = _ROW * line, _ROW * line + _ROW // 2
    begin = _LABEL + _BAR + 56
    called = f"state {state.number}"
    parts = [f'<rect x="0" y="{top}" width="{_WIDTH}" height="{_ROW}" fill="{SKY}" opacity="0.25"/>'] if here else []
    parts += [
        f'<text x="4" y="{middle + 4}" font-weight="{600 if here else 400}">{escape(called[:15])}</text>',
        f'<rect x="{_LABEL}" y="{top + 6}" width="{_BAR * state.probability:.1f}" height="{_ROW - 12}" fill="{GREY}"/>',
        f'<text x="{_LABEL + _BAR + 4}" y="{middle + 4}">{100 * state.probability:.0f} %</text>',
        f'<line x1="{begin}" x2="{begin + _DOTS}" y1="{middle}" y2="{middle}" stroke="{GREY}" stroke-width="0.5"/>',
    ]
    for arm, mean in enumerate(state.means[: len(_ARMS)]):
        if math.isfinite(mean):
            x = begin + _DOTS * (mean - low) / ((high - low) or 1.0)
            said = f"{names[arm]}: {mean:.2f}, {state.counts[arm]} rewards"
            parts.append(
                f'<circle cx="{x:.1f}" cy="{middle}" r="5" fill="{_ARMS[arm]}"><title>{escape(said)}</title></circle>'
            )
    best = max((mean for mean in state.means if math.isfinite(mean)), default=math.nan)
    parts.append(f'<text x="{_WIDTH}" y="{middle + 4}" text-anchor="end">{best:.2f}</text>')
    return parts


def _sentence(found: "Belief", shown: int) -> str:
    """Return what the picture does not show."""
    more = f"{len(found.states) - shown} more states; " if len(found.states) > shown else ""
    changed = (
        f"the last change was in round {found.changed:,} ({100 * found.sure:.0f} % sure)"
        if found.changed
        else "no change yet"
    )
    return f"{more}{changed}; a state lasts about {found.dwell:,.0f} rounds; noise {found.noise:.3g}."
