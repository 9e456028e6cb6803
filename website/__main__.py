"""Build the site into build/site and check its links; with `--quick`, without running gallery and notebooks."""

import argparse
import os
import sys

from sphinx.cmd.build import build_main

from website.links import broken
from website.reference import GENERATORS
from website.sources import ROOT, collect

BUILD = ROOT / "build"


def main() -> int:
    """Collect the pages, then let sphinx make the site; a warning is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="do not run the scripts of the gallery and the notebooks")
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="processes (default: 2; 1 takes longest and works least)"
    )
    parser.add_argument(
        "--versions",
        metavar="ADDRESS",
        help="of a list of versions, such as /versions.json: a menu instead of the number",
    )
    given = parser.parse_args()
    if given.versions:
        os.environ["SITE_VERSIONS"] = given.versions
    if given.quick:
        os.environ["SITE_QUICK"] = "1"
    source = BUILD / "source"
    collect(source, GENERATORS)
    options = [
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-j",
        str(given.jobs),
        "-c",
        str(ROOT / "website"),
        "-d",
        str(BUILD / "doctrees"),
    ]
    failed = build_main([*options, str(source), str(BUILD / "site")])
    wrong = broken(BUILD / "site")
    print("".join(f"{line} leads nowhere\n" for line in wrong), end="", file=sys.stderr)
    if not failed and not wrong:
        print(f"{BUILD / 'site' / 'index.html'}: the site.")
    return failed or bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
