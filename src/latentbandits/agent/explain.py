"""Why a decision was made: every arm as the policy saw it."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from latentbandits.agent.decision import WORDS, Name, time_of
from latentbandits.agent.mixing import CONTROL, FLOOR, Mixing
from latentbandits.agent.player import Player
from latentbandits.policies.arms import LARGEST_INDEX
from latentbandits.presentation.numbers import aligned, percent
from latentbandits.protocols import PROBE_REASON

# What the reasons to probe mean
_REASONS = {
    "residual": "the last reward was far from what was expected",
    "margin": "the indices of the best arms are close",
    "staleness": "the last one, or the last try of an arm, is long ago",
    "schedule": "it is time for one",
    "continued": "it began earlier",
    "untried": "too little is known of an arm",
    "rival": "another arm may be better by now",
}


@dataclass(frozen=True)
class Option:
    """An arm as one decision saw it.

    Attributes
    ----------
    name : str or int
    played : bool, whether a group plays it
    available : bool, whether it could be played
    value : float, the reward that the policy expected of it; None if it had no expectation
    std_error : float, the standard deviation of the value; None if unknown
    bonus : float, what the policy added for the sake of exploration; None if unknown
    index : float, the sum of both, which the policy compares; infinite for an arm that goes before or after all others
    probability : float, with which it was played; None if unknown
    """

    name: Name
    played: bool
    available: bool
    value: float | None
    std_error: float | None
    bonus: float | None
    index: float | None
    probability: float | None


class Explanation(NamedTuple):
    """Why a decision was made. ``print`` shows it as a table.

    Attributes
    ----------
    id : str, the decision's
    time : float, when it was made, in seconds since the epoch
    arms : tuple of names, the arm of every group
    by : str, who decided: ``"policy"``, ``"floor"`` or ``"control"``
    probe_reasons : tuple of str, the policy's reasons to probe
    reason : str, the same in a sentence
    options : tuple of Option, one per arm
    """

    id: str
    time: float
    arms: tuple[Name, ...]
    by: str
    probe_reasons: tuple[str, ...]
    reason: str
    options: tuple[Option, ...]

    def __str__(self) -> str:
        head = ["arm", "value", "std_error", "bonus", "index", "probability", ""]
        rows = [
            [
                str(option.name),
                *map(_shown, (option.value, option.std_error, option.bonus, option.index, option.probability)),
                "played" if option.played else "" if option.available else "not available",
            ]
            for option in self.options
        ]
        when = time.strftime("of %Y-%m-%d %H:%M:%S UTC", time.gmtime(self.time))
        played = ", ".join(map(str, self.arms))
        return f"decision {self.id} {when}: {played}, {self.reason}\n{aligned(head, rows)}"


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return ("first" if value > 0 else "last") if math.isinf(value) else f"{value:.3f}"


def explanation(key: str, player: Player) -> Explanation:
    """Return why an open decision was made."""
    choice = player.choice_of(key)
    certain = player.sure or choice.arm_scores["available"].sum() == 1
    rows = [
        (arm_score.available, arm_score.value, arm_score.index, arm_score.std_error, arm_score.probability)
        for arm_score in choice.arm_scores
    ]
    probe_reasons = WORDS[choice.tags.item(PROBE_REASON)]
    return explained(
        key, choice.arms.tolist(), player.open[key].by, probe_reasons, rows, player.names, player.mixing, certain
    )


def explained(
    key: str,
    arms: Sequence[int],
    by: str,
    probe_reasons: tuple[str, ...],
    rows: Sequence[Sequence[float]],
    names: Sequence[Name],
    mixing: Mixing,
    certain: bool,
) -> Explanation:
    """Return why a decision was made, by its rows: available, value, index, standard error and probability of every arm."""
    played = set(arms)
    options = []
    for arm, (available, *numbers) in enumerate(rows):
        value, index, std_error, chance = map(_or_none, numbers)
        if index is not None and abs(index) > LARGEST_INDEX:
            index = math.copysign(math.inf, index)
        bonus = None if value is None or index is None else index - value
        chance = float(arm in played) if certain else chance if available else 0.0
        options.append(Option(names[arm], arm in played, bool(available), value, std_error, bonus, index, chance))
    called = tuple(names[arm] for arm in arms)
    reason = _reason(called, by, probe_reasons, options, mixing)
    return Explanation(key, time_of(key), called, by, probe_reasons, reason, tuple(options))


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _reason(
    arms: tuple[Name, ...], by: str, probe_reasons: tuple[str, ...], options: Sequence[Option], mixing: Mixing
) -> str:
    """Return the sentence."""
    if by == CONTROL:
        return f"the control arm, since this subject is held back ({percent(mixing.holdback)} of all subjects)"
    if by == FLOOR:
        return f"any arm, by the floor ({percent(mixing.floor)} of all decisions)"
    if sum(option.available for option in options) == 1:
        return "the only available arm"
    if probe_reasons:
        return "a probe, since " + " and ".join(_REASONS[word] for word in probe_reasons)
    indices = [option.index for option in options if option.available]
    if len(arms) == 1 and None not in indices:
        (own,) = (option.index for option in options if option.played)
        if own == max(index for index in indices if index is not None):
            higher = [
                str(one.name) for one in options if not one.available and one.index is not None and one.index > own
            ]
            if higher:
                names = ", ".join(higher)
                return f"the highest index of the arms that could be played; {names} could not: not available, or withheld by the guardrail"
            return "the arm with the highest index"
        return "the policy's choice, against the highest index"
    return "the policy's choice"
