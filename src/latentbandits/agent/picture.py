"""An agent as a prompt and as a notebook show it."""

from html import escape
from typing import TYPE_CHECKING

from latentbandits.agent.decision import Stats
from latentbandits.beliefs import draw
from latentbandits.presentation.numbers import counted

if TYPE_CHECKING:
    from latentbandits.agent.agent import Agent


def written(agent: "Agent") -> str:
    """Return the policy, the number of arms and the counts of decisions in a line; also while a call is under way.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent("ucb1", arms=["red", "blue"])
    >>> agent.tell(agent.ask(), 0.5)
    'accepted'
    >>> agent
    <Agent: UCB1, 2 arms, 1 asked, 1 told, 0 open>
    """
    player = agent._player
    arms = counted(len(player.names) - len(player.retired), "arm")
    return f"<{type(agent).__name__}: {type(player.policy).__name__}, {arms}, {_counts(agent._state.stats(0))}>"


def _counts(stats: Stats) -> str:
    return f"{stats.asked:,} asked, {stats.told:,} told, {stats.open:,} open"


def shown(agent: "Agent") -> str:
    """Return the policy, the arms, the counts of decisions and, where the policy has one, its belief as a table.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent("ucb1", arms=["red", "blue"])
    >>> agent._repr_html_()
    '<div><b>UCB1</b>: red, blue; 0 asked, 0 told, 0 open</div>'
    """
    made = agent.policy
    line = f"<b>{type(made).__name__}</b>: {escape(', '.join(map(str, agent.arms)))}; {_counts(agent.stats)}"
    names = [*agent._player.names]
    return f"<div>{line}{draw(agent.belief, names) if made.has_belief else ''}</div>"
