"""Decisions in Vowpal Wabbit's dsjson, a JSON object per line: written and read.

=====================================  ===============================================================================================
what                                   where
=====================================  ===============================================================================================
arms                                   an object each in ``c._multi``: its name is the ``_tag``, and a feature of the namespace ``arm``
the arm that was played                ``_label_Action`` and the first of ``a``, counted from 1; ``_labelIndex``, counted from 0
reward, propensity                     ``_label_cost`` (minus the reward), ``_label_probability``
time                                   ``Timestamp``; ``_round`` if it is the number of a round
context                                features of ``c``
subject                                   ``c._subject``, which Vowpal Wabbit ignores
=====================================  ===============================================================================================
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

ENDING = ".dsjson"


def line(
    arms: Sequence[object],
    played: int,
    reward: float,
    propensity: float,
    *,
    event: str,
    time: str | float | None = None,
    subject: object = None,
    context: Mapping[str, float] | None = None,
) -> bytes:
    """Return a decision and its reward as a line; a time is an ISO date in UTC, or the number of a round.

    Examples
    --------
    >>> import json
    >>> from latentbandits.dsjson import decision, line
    >>> made = line(["red", "blue"], 1, 0.5, 0.8, event="7", time="2026-01-01T00:00:00Z", context={"age": 30.0})
    >>> made.startswith(b'{"_label_cost": -0.5, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1')
    True
    >>> decision(json.loads(made))
    {'age': 30.0, 'arm': 'blue', 'reward': 0.5, 'propensity': 0.8, 'time': '2026-01-01T00:00:00Z'}
    """
    when = {} if time is None else {"Timestamp" if isinstance(time, str) else "_round": time}
    said = {
        "_label_cost": 0.0 - reward,  # never minus zero
        "_label_probability": propensity,
        "_label_Action": played + 1,
        "_labelIndex": played,
        **when,
        "Version": "1",
        "EventId": event,
        "a": [played + 1, *(arm + 1 for arm in range(len(arms)) if arm != played)],
        "c": {
            **(context or {}),
            **({} if subject is None else {"_subject": subject}),
            "_multi": [{"_tag": str(name), "arm": {"name": str(name)}} for name in arms],
        },
        "VWState": {"m": "N/A"},
    }
    return json.dumps(said, allow_nan=False).encode() + b"\n"


def decision(row: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return a line as a plain row, or why it cannot be one: the first action of the list was taken, by its tag if it has one."""
    actions = row.get("a", [row.get("_label_Action")])
    if not isinstance(actions, list) or not actions or actions[0] is None:
        return "no action"
    shared = row.get("c")
    shared = shared if isinstance(shared, dict) else {}
    cost = row["_label_cost"]
    known = {
        "propensity": row.get("_label_probability"),
        "time": row.get("Timestamp", row.get("_round")),
        "subject": shared.get("_subject"),
    }
    return {
        **_numbers(shared),
        "arm": _name(actions[0], shared.get("_multi")),
        "reward": 0.0 - cost if isinstance(cost, int | float) else None,
        **{role: value for role, value in known.items() if value is not None},
    }


def _name(action: object, multi: object) -> object:
    """Return the name of an action: its tag, a number if it is one; else the action's own number."""
    if isinstance(action, int) and isinstance(multi, list) and 1 <= action <= len(multi):
        one = multi[action - 1]
        tag = one.get("_tag") if isinstance(one, dict) else None
        if isinstance(tag, str) and tag:
            return int(tag) if tag.isdecimal() and str(int(tag)) == tag else tag
    return action


def _numbers(shared: Mapping[str, Any]) -> dict[str, float]:
    """Return the features that are numbers, those of a namespace as NAMESPACE.FEATURE."""
    found: dict[str, float] = {}
    for name, value in shared.items():
        if name.startswith("_"):
            continue
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": number for inner, number in _numbers(value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = value
    return found
