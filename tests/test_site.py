"""The site builds without a warning, and no link in it leads nowhere; `make docs` also runs the gallery and the notebooks."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow  # it needs the extra docs
def test_the_site_builds_without_a_warning() -> None:
    command = [sys.executable, "-m", "website", "--quick", "--versions", "/versions.json"]
    command += ["--jobs", "1"]  # the other processors have other tests
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (ROOT / "build" / "site" / "search.html").exists()
    first = (ROOT / "build" / "site" / "index.html").read_text()
    assert "version-switcher__button" in first
    assert "theme_switcher_json_url = '/versions.json'" in first
