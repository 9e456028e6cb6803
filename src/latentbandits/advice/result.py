"""What `compare`, `advise`, `tune` and `trace` return: a table, a figure, a text and a page, each of which can be saved."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from latentbandits.advice import file
from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = dict[str, Any]  # plain values, for JSON
FIGURES = (".svg", ".png", ".pdf")
ROWS = 40  # of a table in a notebook


class Record(Protocol):
    """A named tuple."""

    def _asdict(self) -> Values: ...


@dataclass(frozen=True, eq=False, repr=False)
class Result(ABC):
    """What all results have in common; a subclass is a frozen dataclass as well.

    Attributes
    ----------
    table : the numbers, a plain data frame
    owner : the function that returns it, which refusals name
    suffixes : the files that `save` writes
    """

    table: pd.DataFrame
    owner: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".json", ".html", *FIGURES)

    @property
    @abstractmethod
    def headline(self) -> str:
        """The result in one line."""

    @abstractmethod
    def text(self) -> str:
        """Return the result as a terminal shows it."""

    @abstractmethod
    def figure(self) -> "Figure":
        """Return the result as a figure."""

    @abstractmethod
    def values(self) -> Values:
        """Return everything but single runs as plain values."""

    def page(self) -> str:
        """Return the result as one HTML page that needs no other file."""
        from latentbandits.presentation import html

        picture = html.figure(self.figure(), self.headline)
        return html.page(self.headline, html.tag("h1", self.headline), html.tag("pre", self.text()), picture)

    def json(self) -> str:
        """Return everything but single runs as JSON."""
        return json.dumps(self.values(), indent=1)

    def content(self, suffix: str) -> bytes:
        """Return the content of a file with one of the suffixes."""
        if suffix == ".csv":
            return str(self.table.to_csv()).encode()
        if suffix == ".json":
            return self.json().encode()
        if suffix == ".html":
            return self.page().encode()
        from latentbandits.presentation.palette import saved

        return saved(self.figure(), suffix[1:])

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all; its suffix decides what: the table, everything as JSON, a page, or a figure."""
        suffix = Path(path).suffix.lower()
        if suffix not in self.suffixes:
            raise InvalidValueError(
                self.owner, "path", str(path), f"a file name that ends in {' or '.join(self.suffixes)}"
            )
        file.write(Path(path), self.content(suffix), self.owner, "path")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the headline, the table and the figure."""
        from latentbandits.presentation import html

        picture = html.image(self.content(".svg"), self.headline)
        return html.tag("div", html.tag("p", self.headline), html.frame(self.table, ROWS), picture)


def records(table: pd.DataFrame) -> list[Values]:
    """Return the rows of a table as plain values, with the index as a column if it has a name; NaN becomes None.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbandits.advice.result import records
    >>> records(pd.DataFrame({"regret": [1.5, float("nan")]}, index=pd.Index(["ucb1", "ts"], name="policy")))
    [{'policy': 'ucb1', 'regret': 1.5}, {'policy': 'ts', 'regret': None}]
    """
    named = table.reset_index() if table.index.name else table
    rows: list[Values] = json.loads(named.to_json(orient="records", double_precision=15))
    return rows


def plain(record: Record | None) -> Values | None:
    """Return a named tuple as plain values; what is not finite becomes None.

    Examples
    --------
    >>> from latentbandits.advice.flips import Flip
    >>> from latentbandits.advice.result import plain
    >>> plain(Flip("kind", "drift", float("nan"), float("nan"), "ts", 0.5, float("nan"), False))["low"] is None
    True
    """
    if record is None:
        return None
    return {
        key: value if isinstance(value, str) or np.isfinite(value) else None for key, value in record._asdict().items()
    }
