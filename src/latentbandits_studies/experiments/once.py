"""Answers about a table, computed once: a score and its figures ask thousands of times about one table."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")
T = TypeVar("T")
_answers: list[tuple[object, dict[object, Any]]] = [(None, {})]  # the table that was asked about last, and its answers


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
        if _answers[0][0] is not table:
            _answers[0] = (table, {})
        answers, key = _answers[0][1], (function, args, tuple(kwargs.items()))
        if key not in answers:
            answers[key] = function(table, *args, **kwargs)
        answer: T = answers[key]
        return answer

    return remembered
