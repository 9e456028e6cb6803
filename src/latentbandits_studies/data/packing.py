"""The shipped files: what can be derived from them is not in them, and what is alike stands side by side, so that they are small."""

import lzma
from collections.abc import Mapping
from io import BytesIO

import numpy as np

from latentbandits_studies.data.forecasters import Series


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as the content of a file, the same for the same arrays."""
    made = BytesIO()
    np.savez(made, **arrays)  # type: ignore[arg-type]
    return lzma.compress(made.getvalue())


def unpacked(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of such a file."""
    with np.load(BytesIO(lzma.decompress(content)), allow_pickle=False) as file:
        return dict(file)


def steps(times: np.ndarray) -> np.ndarray:
    """Return hours since 1970, or numbers, as differences."""
    return np.diff(times.astype("datetime64[h]").astype(np.int32), prepend=np.int32(0))


def of_series(given: Series) -> dict[str, np.ndarray]:
    """Return a series to the bit: its distinct values, and which of them comes when.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.forecasters import Series
    >>> from latentbandits_studies.data.packing import of_series, series_of
    >>> made = of_series(Series(np.arange(3), np.array([0.1, np.nan, 0.1])))
    >>> made["values"].tolist(), made["codes"].tolist()
    ([0.1, nan], [0, 1, 0])
    >>> series_of(made).values.tolist()
    [0.1, nan, 0.1]
    """
    values, codes = np.unique(given.values, return_inverse=True)
    return {"steps": steps(given.times), "values": values, "codes": codes.astype(np.min_scalar_type(len(values)))}


def series_of(stored: Mapping[str, np.ndarray]) -> Series:
    """Return the series of a file."""
    return Series(np.cumsum(stored["steps"], dtype=np.int32), stored["values"][stored["codes"]])


def of_counts(times: np.ndarray, counts: np.ndarray) -> dict[str, np.ndarray]:
    """Return counts (rounds, arms) of at most 127: those of the first arm, and how the others differ from it.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.packing import counts_of, of_counts
    >>> made = of_counts(np.arange(2), np.array([[90, 91], [80, 83]]))
    >>> made["counts"].tolist(), counts_of(made).values.tolist()
    ([[90, 80], [1, 3]], [[90, 91], [80, 83]])
    """
    rows = np.ascontiguousarray(counts.T, np.int8)
    rows[1:] -= rows[0]
    return {"steps": steps(times), "counts": rows}


def counts_of(stored: Mapping[str, np.ndarray]) -> Series:
    """Return the counts of a file."""
    rows = stored["counts"].astype(np.int64)
    rows[1:] += rows[0]
    return Series(np.cumsum(stored["steps"], dtype=np.int32), rows.T)
