"""Write the report again from results, without simulating."""

import argparse

SUMMARY = "write the report again from results, without simulating"
EXAMPLES = (
    "latentbandits report",
    "latentbandits report --out paper",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--out", default="", help="folder with results/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    from latentbandits.presentation.progress import Progress
    from latentbandits_studies.commands.reproduce import places
    from latentbandits_studies.report.page import write_report

    with Progress("plotting", unit="experiments") as progress:
        report = write_report(*places(options.out), progress)
    print(report.screen("open the page in a browser"))
    return 0
