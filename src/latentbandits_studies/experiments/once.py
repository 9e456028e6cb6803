"""Answers about a table, computed once: a score and its figures ask thousands of times about one table."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")
T = TypeVar("T")


class _Last:
    """The table that was asked about last, and what was answered about it."""

    def __init__(self) -> None:
        self.table: object = None
        self.answers: dict[object, Any] = {}


_last = _Last()


def once(function: Callable[Concatenate["pd.DataFrame", P], T]) -> Callable[Concatenate["pd.DataFrame", P], T]:
    """Remember what a function answers about a table until another table is asked about; answers are shared, so never change one.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbandits_studies.experiments.once import once
    >>> @once
    ... def total(table: pd.DataFrame, column: str) -> float:
    ...     print("computed")
    ...     return float(table[column].sum())
    >>> table = pd.DataFrame({"regret": [1.0, 2.0]})
    >>> total(table, "regret"), total(table, "regret")
    computed
    (3.0, 3.0)
    """

    @wraps(function)
    def remembered(table: "pd.DataFrame", /, *args: P.args, **kwargs: P.kwargs) -> T:
        if _last.table is not table:
            _last.table, _last.answers = table, {}
        key = (function, args, tuple(kwargs.items()))
        if key not in _last.answers:
            answer = function(table, *args, **kwargs)
            if _last.table is not table:  # another table was asked about meanwhile
                return answer
            _last.answers[key] = answer
        found: T = _last.answers[key]
        return found

    return remembered
