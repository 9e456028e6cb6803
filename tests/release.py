"""Check a release (`make release-check`): build it, install it into clean environments, and see whether it works there.

Every step prints one line; the first that fails ends it with exit code 1.
"""

import email
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.oldest import constraints

ROOT = Path(__file__).parents[1]
LARGEST = 1_000_000  # bytes of a wheel
# Tests that are quick and touch every layer; they run against the installed package, from a folder without sources
QUICK = (
    "test_agent.py",
    "test_fixtures.py",
    "test_learners.py",
    "test_random.py",
    "test_simulation.py",
    "test_specs.py",
)
# What each extra is for: an import that works only with it
PROOF = {
    "client": "latentbandits.client.blocking",
    "completion": "shtab",
    "logs": "latentbandits.logs.diagnose",
    "openfeature": "latentbandits.openfeature",
    "postgres": "latentbandits.store.postgresql",
    "report": "latentbandits.report.page",
    "serve": "latentbandits.serve.app",
    "sim": "latentbandits.simulation.batch",
    "tune": "latentbandits.advice.tune",
}
PERMISSIVE = re.compile(
    r"apache|bsd|mit|isc|psf|python software|mpl|mozilla|unlicense|hpnd|zlib|0bsd|cc0|lgpl|lesser general|ncsa",
    re.IGNORECASE,
)
LICENCES = """
import importlib.metadata as m
for d in sorted(m.distributions(), key=lambda d: d.name.lower()):
    a = d.metadata
    c = [x.rpartition(" :: ")[2] for x in a.get_all("Classifier") or [] if x.startswith("License")]
    print(d.name, "|", a.get("License-Expression") or "; ".join(c) or (a.get("License") or "").strip().partition(chr(10))[0])
"""


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


def environment(folder: Path, *arguments: object) -> Path:
    """Make a clean environment, install something there, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)
    return python


def megabytes(python: Path) -> float:
    """Return what is installed in an environment, without pip itself."""
    site = next((python.parents[1] / "lib").glob("python*/site-packages"))
    own = [one for one in site.iterdir() if not re.match(r"(pip|setuptools|wheel)\b", one.name)]
    files = (file for one in own for file in ([one] if one.is_file() else one.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def suite(python: Path, folder: Path) -> str:
    """Run the quick tests against the installed package and return pytest's last line."""
    copied = folder / "elsewhere"
    shutil.copytree(ROOT / "tests", copied / "tests")
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
    """Run all checks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wheel, source = build(folder / "dist")
        python = environment(folder / "plain", wheel)
        run(python, "-c", "import latentbandits as lb; a = lb.Agent('state-library', arms=2); a.tell(a.ask(), 1.0)")
        print(f"pip install latentbandits: {megabytes(python):.0f} MB, an agent decides")
        for name in extras(wheel):
            if name in PROOF:
                python = environment(folder / name, f"{wheel}[{name}]")
                run(python, "-c", f"import {PROOF[name]}")
                print(f"latentbandits[{name}]: {megabytes(python):.0f} MB, {PROOF[name]} is there")
                shutil.rmtree(folder / name)
        python = environment(folder / "newest", f"{wheel}[test]")
        print(f"newest dependencies, from the wheel: {suite(python, folder)}")
        if wrong := list(unclear(python)):
            sys.exit(f"release-check: licences are not permissive: {', '.join(wrong)}")
        print("licences of all dependencies are permissive")
        (folder / "constraints.txt").write_text("\n".join(constraints(project)))
        python = environment(folder / "oldest", "--constraint", folder / "constraints.txt", f"{source}[test]")
        print(f"oldest dependencies, from the source distribution: {suite(python, folder)}")
        if (size := wheel.stat().st_size) > LARGEST:
            sys.exit(f"release-check: the wheel has {size} bytes but must have at most {LARGEST}")
    print("Next: `pip-audit` in an environment with all extras, then tag the version.")


if __name__ == "__main__":
    main()
