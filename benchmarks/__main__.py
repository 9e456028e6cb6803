"""`python -m benchmarks`: measure everything, print a table, write latest.json, and fail if a target was missed."""

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks import logs, loops, online, problems, scaling, startup, yardstick
from benchmarks.figures import Figure, table


def main() -> int:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed as ratios within one run.")
    parser.add_argument("--quick", action="store_true", help="play a fifth of the paper's main table")
    quick = parser.parse_args().quick
    yardstick.compiler()  # leave now rather than after a minute
    figures = startup.measure()
    figures += online.measure()
    figures += problems.measure()
    figures += logs.measure()
    figures += scaling.speedup()
    measured, ns = loops.measure()
    figures += measured + scaling.table_2(ns, quick)
    write(figures, quick)
    print(table(figures))
    return int(any(figure.missed for figure in figures))


def write(figures: list[Figure], quick: bool) -> None:
    """Keep the figures, and where they were measured."""
    content = {
        "quick": quick,
        "machine": {
            "cpus": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            "numba": version("numba"),
            "numpy": version("numpy"),
        },
        "values": {figure.key: figure.value for figure in figures},
        "missed": [figure.key for figure in figures if figure.missed],
        "skipped": {figure.key: figure.meaning for figure in figures if figure.value is None},
    }
    Path(__file__).with_name("latest.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
