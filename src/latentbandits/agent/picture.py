"""An agent as a notebook shows it."""

from html import escape
from typing import TYPE_CHECKING

from latentbandits import pictures

if TYPE_CHECKING:
    from latentbandits.agent.agent import Agent


def shown(agent: "Agent") -> str:
    """Return the policy, the arms, the counts of decisions and, where the policy has one, its belief as a small picture.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent("ucb1", arms=["red", "blue"])
    >>> agent._repr_html_()
    '<div><b>UCB1</b>: red, blue; 0 asked, 0 told, 0 open</div>'
    """
    made, stats = agent.policy, agent.stats
    counts = f"{stats.asked:,} asked, {stats.told:,} told, {stats.open:,} open"
    line = f"<b>{type(made).__name__}</b>: {escape(', '.join(map(str, agent.arms)))}; {counts}"
    names = [*agent._player.names]
    return f"<div>{line}{pictures.belief(agent.belief, names) if hasattr(made, 'belief') else ''}</div>"
