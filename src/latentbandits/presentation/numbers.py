"""Numbers and tables as people read them in a terminal."""

import math
from collections.abc import Callable, Sequence


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table: the first column to the left, all others to the right.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import aligned
    >>> print(aligned(["policy", "regret"], [["ucb1", "1,381.5"], ["lc-ucb", "765.0"]]))
    policy   regret
    ucb1    1,381.5
    lc-ucb    765.0
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    cells = [
        [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in cells)


def figure(value: float) -> str:
    """Return a number as tables show it: no exponent, at least four digits, thousands separated.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import figure
    >>> [figure(value) for value in (2714463.2, 1234.56, 99.96, 12.345, 0.12345, -5.0)]
    ['2,714,463', '1,234.6', '100.0', '12.35', '0.123', '-5.000']
    """
    digits = next((n for n, least in enumerate((9999.95, 99.95, 9.995)) if abs(value) >= least), 3)
    return f"{value:,.{digits}f}"


def short(value: float) -> str:
    """Return a threshold with two digits, and no exponent.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import short
    >>> [short(value) for value in (1234.56, 12.345, 0.012345, 2.0)]
    ['1,200', '12', '0.012', '2']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:.{max(0, digits)}f}".rstrip("0")


def percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import percent
    >>> percent(0.923), percent(0.923, digits=1)
    ('92 %', '92.3 %')
    """
    return f"{100 * share:.{digits}f} %"


def multiple(value: float) -> str:
    """Return how many times as large something is.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import multiple
    >>> multiple(1.2345)
    '1.23'
    """
    return f"{value:.2f}"


def span(low: float, high: float, form: Callable[[float], str] = figure) -> str:
    """Return an interval.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import span
    >>> span(1.5, 12.345)
    '1.500 to 12.35'
    """
    return f"{form(low)} to {form(high)}"


def counted(number: int, thing: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import counted
    >>> counted(1, "run"), counted(10_000, "round")
    ('1 run', '10,000 rounds')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def millions(rounds: int) -> str:
    """Return rounds in millions, never as none if there are some.

    Examples
    --------
    >>> from latentbandits.presentation.numbers import millions
    >>> millions(1_912_000_000), millions(480_000), millions(3_000), millions(0)
    ('1,912.0', '0.5', '0.003', '0.0')
    """
    return f"{rounds / 1e6:.1g}" if 0 < rounds < 50_000 else f"{rounds / 1e6:,.1f}"
