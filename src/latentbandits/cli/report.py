"""Draw the report anew from results, without simulating."""

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--out", type=Path, default=Path(), help="folder with results/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Draw."""
    from latentbandits.report.page import write_report

    print(f"Next: open {write_report(options.out / 'results', options.out / 'report')}")
    return 0
