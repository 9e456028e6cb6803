"""What becomes of rewards: the events that follow from what is told, from time and from want of room. Nothing changes here.

A decision with a window is learned when its window closes, in the order of decisions: by the reward that was told, else by the default.
Were clicks learned as they come and their absence later, the newest decisions would have clicks only.
"""

from typing import TYPE_CHECKING

from latentbandits.agent.events import CAUSES, Event, Payload, rewarded
from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    from latentbandits.agent.state import State

ENOUGH = 20  # rewards, and decisions without one, before it is said that all rewards are the same


def admitted(state: "State", values: list[float]) -> tuple[list[float], Payload | None]:
    """Return rewards within the range, and what the log says if some were not; or refuse them."""
    if state.spec.reward_range is None:
        return values, None
    low, high = state.spec.reward_range
    inside = [min(max(value, low), high) for value in values]
    if inside == values:
        return values, None
    if state.spec.outside == "refuse":
        state.refused += 1
        given = values[0] if len(values) == 1 else values
        raise InvalidValueError("Agent", "rewards", given, f"within the reward_range, {low:g} to {high:g}")
    return inside, {"given": values}


def closing(state: "State", now_us: int) -> Event | None:
    """Return the event that ends the oldest decision, if its window is over: it counts from the decision, by times that never decrease."""
    window = state.spec.window_us
    if window is None or not state.open:
        return None
    key, waiting = next(iter(state.open.items()))
    return None if waiting.at_us > max(now_us, state.last_us) - window else ending(state, key, "time", now_us)


def making_room(state: "State", now_us: int) -> Event:
    """Return the event that ends the oldest decision, so that another one can be made: its window closes early."""
    return ending(state, next(iter(state.open)), "room", now_us)


def ending(state: "State", key: str, cause: str, now_us: int, actor: str | None = None) -> Event:
    """Return the event that ends a decision: by the reward that was told, by the default, or, on request or without either, as censored."""
    waiting, default = state.open[key], state.spec.default
    seq, at_us = state.head + 1, max(now_us, state.last_us)
    more: Payload | None = {"cause": cause} if cause == "room" else None
    if waiting.told is not None:
        return rewarded(seq, "reward", at_us, key, waiting.told, more=more)
    if default is not None and cause != "asked":
        return rewarded(seq, "expire", at_us, key, [default] * len(waiting.arms), more=more)
    return Event(seq, "censor", at_us, key, actor=actor, body=CAUSES[cause])


def telling(
    state: "State", key: str, values: list[float], more: Payload | None, now_us: int, actor: str | None = None
) -> Event:
    """Return the event of the first rewards of an open decision: they end it, or wait for its window to close."""
    kind = "told" if state.spec.defers else "reward"
    return rewarded(state.head + 1, kind, max(now_us, state.last_us), key, values, actor, more)


def is_correctable(state: "State", key: str) -> bool:
    """Return whether the rewards of a decision can be replaced: they wait for its window to close, or were learned not long ago."""
    waiting = state.open.get(key)
    return taught(state, key) is not None if waiting is None else waiting.told is not None


def correcting(
    state: "State", key: str, values: list[float], more: Payload | None, now_us: int, actor: str | None = None
) -> Event:
    """Return the event that replaces the rewards of a decision, or refuse."""
    if not is_correctable(state, key):
        last = state.spec.corrections
        learned = f", or one of the last {last} that were learned" if last else ""
        rule = f"one that was told and whose window is open{learned} (`corrections` is {last})"
        raise InvalidValueError("Agent", "decision to correct", key, rule)
    return rewarded(state.head + 1, "correct", max(now_us, state.last_us), key, values, actor, more)


def taught(state: "State", key: str) -> list[float] | None:
    """Return the rewards that were learned for a decision, if they can still be replaced."""
    return None if state.past is None else state.past.rewards(key)


def one_sided(state: "State") -> str | None:
    """Return what is wrong with the rewards so far, if they say nothing: all are the same, and decisions without one count otherwise."""
    counts, spec = state.counts, state.spec
    if counts["varied"] or counts["rewarded"] < ENOUGH or state.first is None:
        return None
    if spec.default is None:
        silent, ends = (
            counts["censored"],
            "were censored: give a window and a default, the reward of a decision without one",
        )
    elif spec.learn == "at_once" and spec.default != state.first:
        silent, ends = counts["expired"], "were learned later, by the default: use learn='at_window'"
    else:
        return None
    if silent < ENOUGH:
        return None
    return f"all {counts['rewarded']} rewards so far are {state.first:g}, and {silent} decisions without one {ends}"
