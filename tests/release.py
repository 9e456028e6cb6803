"""Check a release (`make release-check`): build it, install it into clean environments, and see whether it works there.

Every step prints one line; the first that fails ends it with exit code 1. `python -m tests.release sim serve` tries some extras alone.
"""

import argparse
import email
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.oldest import constraints

ROOT = Path(__file__).parents[1]
LARGEST = 1_000_000  # bytes of a wheel
# Tests that are quick and touch every layer; they run against the installed package, from a folder without sources
QUICK = (
    "test_agent.py",
    "test_data.py",
    "test_fixtures.py",
    "test_learners.py",
    "test_logs_read.py",
    "test_random.py",
    "test_serve.py",
    "test_simulation.py",
    "test_specs.py",
)
_PLAYED = (
    "import latentbandits as lb; r = lb.simulate(lb.HiddenMarkov(), ['ucb1', 'random'], horizon=50, draws=2, repeats=1)"
)
# What each extra is for: a program that works only with it
PROOF = {
    "bench": "import mabwiser, river",
    "client": "import latentbandits as lb; lb.Client('http://127.0.0.1:9', 'key', 'offers').close()",
    "completion": "import sys; from latentbandits.cli import main; sys.exit(main(['completion', 'bash']))",
    "dask": "import distributed; from latentbandits.executors import open_executor",
    "data": "from latentbandits_studies import data; assert data.load('airports').rewards.shape == (6137, 3)",
    "dev": "import importlinter, mypy; from importlib.metadata import version; version('ruff')",
    "docs": "import myst_nb, numpydoc, pydata_sphinx_theme, sphinx, sphinx_copybutton, sphinx_design, sphinx_gallery",
    "logs": "import latentbandits as lb; lb.Log.read({'action': [0, 1, 0], 'reward': [1, 0, 1]}); "
    "import latentbandits.logs.diagnose, narwhals",
    "postgres": "import latentbandits.store.postgresql",
    "report": "import latentbandits_studies.report.page; from latentbandits_studies.experiments.registry import experiments; "
    "[one.cases('quick') for one in experiments()]",
    "serve": "import latentbandits.serve.run",
    "sim": _PLAYED,
    "slow": "import django, fastapi, flask, mlflow",
    "test": "import hypothesis, playwright, pytest, schemathesis",
    "tune": "import latentbandits.advice.tune, optuna",
}
FOOTPRINT = ROOT / "docs" / "release.md"
TOLERANCE = 0.15  # by which what is installed may differ from what the page says
# Permissive licences, and MPL and LGPL, which concern changes of the dependency itself
PERMISSIVE = re.compile(
    r"apache|bsd|mit|isc|psf|python software|mpl|mozilla|unlicense|hpnd|zlib|0bsd|cc0|lgpl|lesser general|ncsa",
    re.IGNORECASE,
)
AGENT = "import latentbandits as lb; a = lb.Agent('state-library', arms=2); a.tell(a.ask(), 1.0)"
LICENCES = """
import importlib.metadata as m
for d in sorted(m.distributions(), key=lambda d: d.name.lower()):
    a = d.metadata
    c = [x.rpartition(" :: ")[2] for x in a.get_all("Classifier") or [] if x.startswith("License")]
    print(d.name, "|", a.get("License-Expression") or "; ".join(c) or (a.get("License") or "").strip().partition(chr(10))[0])
"""


def pythons() -> tuple[str, str]:
    """Return the newest and the oldest Python of this machine that this package allows; one and the same if there is but one."""
    found = [sys.executable]
    for minor in range(20, 10, -1):
        at = shutil.which(f"python3.{minor}")
        if at and not subprocess.run([at, "-c", "import ensurepip"], capture_output=True).returncode:
            found.append(at)
    by_version = sorted(found, key=lambda one: tuple(map(int, version(one).split("."))))
    return by_version[-1], by_version[0]


def version(python: str) -> str:
    """Return the version of a Python."""
    return run(python, "-c", "import platform; print(platform.python_version())").strip()


def run(*command: object, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; a failure shows all of that."""
    ended = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"release-check: `{' '.join(map(str, command))}` failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the source distribution."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    sizes = f"{wheel.name} {wheel.stat().st_size / 1e6:.2f} MB, {source.name} {source.stat().st_size / 1e6:.2f} MB"
    print(f"built: {sizes}; metadata is valid")
    return wheel, source


def extras(wheel: Path) -> list[str]:
    """Return the extras that a wheel's metadata name."""
    with zipfile.ZipFile(wheel) as file:
        name = next(name for name in file.namelist() if name.endswith("METADATA"))
        return email.message_from_bytes(file.read(name)).get_all("Provides-Extra") or []


def environment(folder: Path, base: str, *arguments: object) -> Path:
    """Make a clean environment, install something there, and return its Python."""
    run(base, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *arguments)
    return python


def tried(folder: Path, base: str, wheel: Path, extra: str) -> float:
    """Install an extra by itself, run its proof, and return how many MB there are then."""
    python = environment(folder / "extra", base, f"{wheel}[{extra}]" if extra else wheel)
    size = megabytes(python)
    run(python, "-c", PROOF[extra] if extra else AGENT, cwd=folder)
    shutil.rmtree(folder / "extra")
    name = f"latentbandits[{extra}]" if extra else "latentbandits"
    said = re.search(rf"^\| `{re.escape(name)}` \| (\d+) MB", FOOTPRINT.read_text(), re.MULTILINE)
    if said and abs(size / float(said[1]) - 1) > TOLERANCE:
        sys.exit(f"release-check: {name} has {size:.0f} MB but docs/release.md says {said[1]}")
    return size


def megabytes(python: Path) -> float:
    """Return what is installed in an environment, in MB, without pip itself and before anything is compiled."""
    site = next((python.parents[1] / "lib").glob("python*/site-packages"))
    own = [one for one in site.iterdir() if not re.match(r"(pip|setuptools|wheel)\b", one.name)]
    files = (file for one in own for file in ([one] if one.is_file() else one.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def suite(python: Path, folder: Path) -> str:
    """Run the quick tests against the installed package and return pytest's last line."""
    copied = folder / "elsewhere"
    for name in ("tests", "docs"):
        shutil.copytree(ROOT / name, copied / name)
    shutil.copy(ROOT / "pyproject.toml", copied)
    chosen = [copied / "tests" / name for name in QUICK]
    where = run(python, "-c", "import latentbandits; print(latentbandits.__file__)", cwd=copied).strip()
    if not Path(where).is_relative_to(python.parents[1]):
        sys.exit(f"release-check: latentbandits is {where} but must be the installed one")
    said = run(python, "-m", "pytest", "-n", "2", "-c", copied / "pyproject.toml", *chosen, cwd=copied)
    shutil.rmtree(copied)
    return said.strip().splitlines()[-1]


def unclear(python: Path) -> Iterator[str]:
    """Yield the dependencies whose licence is not a permissive one."""
    for line in run(python, "-c", LICENCES).splitlines():
        name, _, licence = line.partition(" | ")
        if not PERMISSIVE.search(licence):
            yield f"{name} ({licence or 'none named'})"


def main() -> None:
    """Run all checks, or those of some extras."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description="Check a release.")
    parser.add_argument("extras", nargs="*", help="try these alone (default: everything)")
    chosen = parser.parse_args().extras
    began = time.monotonic()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest, oldest = pythons()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wheel, source = build(folder / "dist")
        if (size := wheel.stat().st_size) > LARGEST:
            sys.exit(f"release-check: the wheel has {size:,} bytes but must have at most {LARGEST:,}")
        if unproven := set(extras(wheel)) ^ set(PROOF):
            sys.exit(f"release-check: these have either no extra or no proof: {', '.join(sorted(unproven))}")
        print(f"Python {version(newest)} for the newest dependencies, {version(oldest)} for the oldest", flush=True)
        for name in chosen or ["", *extras(wheel)]:
            print(
                f"latentbandits{f'[{name}]' if name else ''}: {tried(folder, newest, wheel, name):.0f} MB, works",
                flush=True,
            )
        if chosen:
            return
        python = environment(folder / "newest", newest, f"{wheel}[dev,slow]")
        if wrong := list(unclear(python)):
            sys.exit(f"release-check: licences are not permissive: {', '.join(wrong)}")
        print("licences of all dependencies are permissive, or MPL or LGPL", flush=True)
        print(f"newest dependencies, from the wheel: {suite(python, folder)}", flush=True)
        (folder / "constraints.txt").write_text("\n".join(constraints(project)))
        python = environment(folder / "oldest", oldest, "--constraint", folder / "constraints.txt", f"{source}[test]")
        print(f"oldest dependencies, from the source distribution: {suite(python, folder)}", flush=True)
    print(
        f"All is well, after {(time.monotonic() - began) / 60:.0f} minutes. Next: `make audit`, then tag the version."
    )


if __name__ == "__main__":
    main()
