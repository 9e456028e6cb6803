"""The site builds without a warning, and no link in it leads nowhere; `make docs` also runs the gallery and the notebooks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_site_builds_without_a_warning() -> None:
    ended = subprocess.run([sys.executable, "-m", "website", "--quick"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (ROOT / "build" / "site" / "search.html").exists()
