"""Tables of results made by hand, for scores: means per case and policy, exact or shaky; and the verdicts on them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from latentbandits.simulation.loop import COUNTS
from latentbandits_studies.experiments import claims
from latentbandits_studies.experiments.claims import Claim, Order, quotient

DRAWS = 10
STRETCHES = 6  # of 1,000 rounds
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
    Curves have all regret in their first stretch, so that it is the same at every horizon.
    """
    pattern = 0.6 * np.linspace(-1, 1, draws)

    def column(means: Cells, *name: str) -> np.ndarray:
        middle = np.array([means.get(cell, 0.0) for cell in regret])
        shakes = np.array([(*cell, *name) in shaky for cell in regret])
        return np.ravel(middle[:, None] * (1 + pattern * shakes[:, None]))

    cells = [(*cell, draw, 0) for cell in regret for draw in range(draws)]
    frame = pd.DataFrame(cells, columns=["case", "policy", "draw", "repeat"]).assign(regret=column(regret))
    curves = np.outer(frame["regret"], np.eye(STRETCHES)[0])
    frame = frame.assign(regret_curve=list(curves))
    return frame.assign(**{name: column((columns or {}).get(name, {}), name) for name in ("optimal", *COUNTS)})


class Change(NamedTuple):
    """What differs from a base table: regret per cell, shaky cells, further columns."""

    regret: Mapping[Key, float] = {}
    shaky: Any = ()
    columns: Mapping[str, Mapping[Key, float]] = {}


def verdicts(score: Callable[[pd.DataFrame], list[Claim]], base: Mapping[Key, float], change: Change) -> dict[str, str]:
    """Judge a changed table; the comparisons that the change leaves alone, which are nearly all, are made once for all changes."""
    frame = runs({**base, **change.regret}, change.shaky, change.columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "quotient", _quotient)
        return {claim.id: claim.verdict for claim in score(frame)}


def _quotient(upper: Sequence[np.ndarray], lower: Sequence[np.ndarray], among: int = 1) -> Order:
    return _known(tuple(sample.tobytes() for sample in (*upper, *lower)), len(upper), among)


@cache
def _known(samples: tuple[bytes, ...], above: int, among: int) -> Order:
    numbers = [np.frombuffer(sample) for sample in samples]
    return quotient(numbers[:above], numbers[above:], among)
