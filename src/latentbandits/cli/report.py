"""Write the report again from results, without simulating."""

import argparse
from pathlib import Path

EXAMPLES = (
    "latentbandits report",
    "latentbandits report --out paper",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--out", type=Path, default=Path(), help="folder with results/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    from latentbandits.presentation.progress import Progress
    from latentbandits.report.page import write_report

    with Progress("plotting", unit="experiments") as progress:
        print(f"Next: open {write_report(options.out / 'results', options.out / 'report', progress)}")
    return 0
