"""Tables of results made by hand, for scores: means per case and policy, exact or shaky; and the verdicts on them."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits.experiments.claims import Claim
from latentbandits.simulation.loop import COUNTS

DRAWS = 10
Key = tuple[str, str]
Cells = Mapping[Key, float]


def runs(
    regret: Cells,
    shaky: Collection[tuple[str, ...]] = (),
    columns: Mapping[str, Cells] | None = None,
    draws: int = DRAWS,
) -> pd.DataFrame:
    """Return one row per case, policy and draw.

    Every draw has the mean itself, so that any difference is sure and equal means are a tie; in a shaky cell the draws differ by up to
    60 % from their mean, so that differences of a few per cent are not told apart. Further columns are exact; 0 where nothing is given.
    """
    pattern = np.linspace(-1, 1, draws)
    names = ("optimal", *COUNTS)
    frames = []
    for (case, policy), mean in regret.items():
        values = mean * (1 + 0.6 * pattern * ((case, policy) in shaky))
        further: dict[str, Any] = {}
        for name in names:
            middle = (columns or {}).get(name, {}).get((case, policy), 0.0)
            further[name] = middle * (1 + 0.6 * pattern * ((case, policy, name) in shaky))
        frame = {"case": case, "policy": policy, "draw": range(draws), "repeat": 0, "regret": values, **further}
        frames.append(pd.DataFrame(frame))
    return pd.concat(frames, ignore_index=True)


class Change(NamedTuple):
    """What differs from a base table: regret per cell, shaky cells, further columns."""

    regret: Mapping[Key, float] = {}
    shaky: Any = ()
    columns: Mapping[str, Mapping[Key, float]] = {}


def verdicts(score: Callable[[pd.DataFrame], list[Claim]], base: Mapping[Key, float], change: Change) -> dict[str, str]:
    frame = runs({**base, **change.regret}, change.shaky, change.columns)
    return {claim.id: claim.verdict for claim in score(frame)}
