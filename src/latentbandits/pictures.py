"""A belief as a notebook shows it: plain HTML, since an agent needs no more than NumPy."""

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latentbandits.policies.state_library.belief import Belief, Remembered

MOST = 8  # states that are shown


def belief(found: "Belief", arms: Sequence[object] | None = None) -> str:
    """Return a table of what StateLibrary believes: how probable every remembered state is, and what every arm pays in it.

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
    >>> belief(agent.belief, ["red", "blue"]).startswith("<div><table><tr><td>state</td><td>probability</td><td>red</td>")
    True
    """
    if not found.states:
        return "<div>No state is known yet: every arm must have been tried, and two rewards must have differed.</div>"
    names = range(len(found.states[0].means)) if arms is None else arms
    shown = sorted(found.states, key=lambda state: -state.probability)[:MOST]
    lines = [["state", "probability", *map(str, names)], *map(_cells, shown)]
    rows = [[f"<td>{escape(cell)}</td>" for cell in line] for line in lines]
    table = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    more = f"{len(found.states) - len(shown)} more states; " if len(found.states) > len(shown) else ""
    changed = (
        f"the last change was in round {found.changed:,} ({100 * found.sure:.0f} % sure)"
        if found.changed
        else "no change yet"
    )
    rest = f"{more}{changed}; a state lasts about {found.dwell:,.0f} rounds; noise {found.noise:.3g}."
    return f"<div><table>{table}</table><div>{rest}</div></div>"


def _cells(state: "Remembered") -> list[str]:
    """Return the row of a state; an arm that was never tried in it has no mean."""
    means = [f"{mean:.2f}" if math.isfinite(mean) else "" for mean in state.means]
    return [f"state {state.number}", f"{100 * state.probability:.0f} %", *means]
