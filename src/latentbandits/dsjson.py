"""Decisions in Vowpal Wabbit's dsjson, a JSON object per line.

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
    >>> from latentbandits.dsjson import line
    >>> made = line(["red", "blue"], 1, 0.5, 0.8, event="7", time="2026-01-01T00:00:00Z", context={"age": 30.0})
    >>> made.startswith(b'{"_label_cost": -0.5, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1')
    True
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
