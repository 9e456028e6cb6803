"""What a policy that keeps hidden states believes, in a form to read: the same for agents, stores, the service and the trace."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

MOST = 8  # states that are shown


class Remembered(NamedTuple):
    """One state that a policy remembers.

    Attributes
    ----------
    number : that of its regime, 1, 2, 3 and so on, the same for as long as the policy plays
    probability : that this is the present state
    means : mean reward of every arm; NaN where it was never tried in this state
    counts : rewards behind each mean, at most 512
    visits : how often the state was entered
    seen : the last round in it, of an earlier visit if it is the present state; 0 if there was none
    dwell : rounds that a visit has lasted on average, without the present one unless it is the first
    id : that of the state itself within the policy's memory, which may keep several under one number
    """

    number: int
    probability: float
    means: tuple[float, ...]
    counts: tuple[int, ...]
    visits: int
    seen: int
    dwell: float
    id: int


class Level(NamedTuple):
    """One level of an arm that has regimes of its own.

    Attributes
    ----------
    mean : mean reward
    probability : that the arm is at this level now
    share : of time, in the long run
    dwell : rounds that a visit lasts
    visits : how often it was entered
    """

    mean: float
    probability: float
    share: float
    dwell: float
    visits: int


class ArmRegimes(NamedTuple):
    """One arm by itself.

    Attributes
    ----------
    levels : its levels, the highest first; empty before its first reward
    changed : round in which its last change was seen, 0 if none was
    seen : round of its newest reward
    elsewhere : probability that it is at a level never seen
    """

    levels: tuple[Level, ...]
    changed: int
    seen: int
    elsewhere: float

    @property
    def present(self) -> Level | None:
        """The most probable level; None as long as there is none."""
        return max(self.levels, key=lambda level: level.probability, default=None)


class Evidence(NamedTuple):
    """How probable the rewards were by rival explanations, as log evidence per round: the highest explains them best. NaN is not known.

    Each was asked about every reward before it learned from it. A difference d over n rounds makes one explanation exp(n d) times as
    probable as the other.

    Attributes
    ----------
    rounds : from which all have learned, 0 if nothing is known
    library : states that last and come back, as the policy believes
    one_state : every arm has one mean for ever
    drift : every arm's mean is a random walk, at a pace that is learned
    lag : the next reward of an arm follows from the last one; NaN where rewards are nothing or an amount, and without a lag model
    """

    rounds: int = 0
    library: float = math.nan
    one_state: float = math.nan
    drift: float = math.nan
    lag: float = math.nan


class Belief(NamedTuple):
    """What a policy believes about the state that nobody sees. Whatever it has no idea of keeps its default.

    Attributes
    ----------
    states : the remembered states
    current : number of the most probable one, 0 as long as there is none
    elsewhere : probability that the present state is none of them
    next : what follows the present state: number and probability of every other, the most probable first, and 0 for a new one
    stay, dwell : probability that the state stays for another round, and the mean number of rounds between two changes
    noise : standard deviation of one group's reward
    low, high : range in which means are expected
    changed : round of the last change, 0 if there was none
    sure : probability that the last change was then, give or take two rounds
    particles : hypotheses that the policy keeps
    slopes : per arm, by how much its reward rises with every observed feature, per unit of the feature; NaN for an arm whose slopes have
        learned from no reward yet, and empty without features
    lag_weight : that of the lag model in the values, from 0 to 1; it is left out while rewards are under way
    evidence : of this explanation of the rewards, and of simpler ones
    own : probability that every arm changes by itself, and not a state of all arms
    arms : what every arm is believed to be at if so
    """

    states: tuple[Remembered, ...]
    current: int
    elsewhere: float
    next: tuple[tuple[int, float], ...] = ()
    stay: float = math.nan
    dwell: float = math.nan
    noise: float = math.nan
    low: float = math.nan
    high: float = math.nan
    changed: int = 0
    sure: float = 0.0
    particles: int = 0
    slopes: tuple[tuple[float, ...], ...] = ()
    lag_weight: float = 0.0
    evidence: Evidence = Evidence()
    own: float = 0.0
    arms: tuple[ArmRegimes, ...] = ()

    @property
    def present(self) -> Remembered | None:
        """The most probable state; None as long as there is none."""
        return next((state for state in self.states if state.number == self.current), None)

    def _repr_html_(self) -> str:
        return draw(self)


def draw(belief: Belief, arms: Sequence[object] | None = None) -> str:
    """Return a table of every remembered state, how probable it is and what every arm pays in it, as plain HTML for a notebook.

    Parameters
    ----------
    belief : Belief
        What `Agent.belief` returns.
    arms : sequence, optional
        Names of the arms; their numbers if not given.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.beliefs import draw
    >>> agent = lb.Agent("state-library", compiled=False)
    >>> for reward in (0.2, 0.9, 0.9):
    ...     _ = agent.tell(agent.ask(), reward)
    >>> draw(agent.belief, ["red", "blue"]).startswith("<div><table><tr><td>state</td><td>probability</td><td>red</td>")
    True
    """
    if belief.own > 0.5:
        return _draw_arms(belief, arms)
    if not belief.states:
        return "<div>No state is known yet: every arm must have been tried, and two rewards must have differed.</div>"
    names = range(len(belief.states[0].means)) if arms is None else arms
    shown = sorted(belief.states, key=lambda state: -state.probability)[:MOST]
    lines = [["state", "probability", *map(str, names)], *map(_cells, shown)]
    rows = [[f"<td>{escape(cell)}</td>" for cell in line] for line in lines]
    table = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    more = f"{len(belief.states) - len(shown)} more states; " if len(belief.states) > len(shown) else ""
    changed = (
        f"the last change was in round {belief.changed:,} ({100 * belief.sure:.0f} % sure)"
        if belief.changed
        else "no change yet"
    )
    dwell = f"; a state lasts about {belief.dwell:,.0f} rounds" if belief.dwell == belief.dwell else ""
    noise = f"; noise {belief.noise:.3g}" if belief.noise == belief.noise else ""
    rest = f"{more}{changed}{dwell}{noise}."
    return f"<div><table>{table}</table><div>{rest}</div></div>"


def _cells(state: Remembered) -> list[str]:
    """Return the row of a state; an arm that was never tried in it has no mean."""
    means = [f"{mean:.2f}" if math.isfinite(mean) else "" for mean in state.means]
    return [f"state {state.number}", f"{100 * state.probability:.0f} %", *means]


def _draw_arms(belief: Belief, arms: Sequence[object] | None) -> str:
    """Return a table of every arm by itself: the level that it is at, since when, and what else it pays."""
    rows = ["<tr><td>arm</td><td>pays</td><td>probability</td><td>changed in round</td><td>other levels</td></tr>"]
    for name, arm in zip(range(len(belief.arms)) if arms is None else arms, belief.arms, strict=False):
        now = arm.present
        cells = [str(name), "", "", "", ""]
        if now is not None:
            others = ", ".join(f"{level.mean:.2f}" for level in arm.levels if level is not now)
            changed = f"{arm.changed:,}" if arm.changed else "none yet"
            cells = [str(name), f"{now.mean:.2f}", f"{100 * now.probability:.0f} %", changed, others]
        rows.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    said = f"Every arm changes by itself ({100 * belief.own:.0f} % sure)."
    return f"<div><table>{''.join(rows)}</table><div>{said}</div></div>"
