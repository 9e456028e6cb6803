"""The commands of docs/store.md do what the page says, one after the other."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from latentbandits import cli
from latentbandits.store import Create, Decide, Ledger, Reward, Spec, SQLite
from tests import postgres
from tests.stores import Clock

PAGE = (Path(__file__).parent.parent / "docs" / "store.md").read_text()


def commands(kind: str) -> list[str]:
    """Return the lines of all blocks of a kind."""
    return [
        line
        for block in re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]


def fill(ledger: Ledger, clock: Clock, rounds: int) -> None:
    """Let an agent play, in a world that changes."""
    ledger.call(Create("offers", Spec.of("exp3", arms=["red", "blue"], floor=0.2), "live"))
    for n in range(0, rounds, 20):
        made = ledger.run([Decide("offers", idempotency_key=f"{n + k}") for k in range(20)])
        clock.move(60)
        told = [(one, (k * 7 % 10) / 20) for k, one in enumerate(made)]
        best = "red" if n // 100 % 2 else "blue"
        ledger.run([Reward("offers", one.id, value + 0.5 * (one.arm == best)) for one, value in told])
    ledger.snapshot("offers")


def run(line: str, environment: dict[str, str]) -> None:
    """Run a command: ours in this process, which saves a start, others by the shell."""
    if line.startswith("latentbandits "):
        assert cli.main(shlex.split(os.path.expandvars(line))[1:]) == 0, line
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.environ['PATH'])}"
    subprocess.run(["bash", "-c", line], check=True, env={**os.environ, **environment, "PATH": path})


def test_the_commands_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    clock = Clock()
    ledger = Ledger(SQLite("decisions.db"), clock, compiled=False)
    fill(ledger, clock, 600)
    ledger.close()
    lines = commands("sh")
    assert len(lines) >= 8
    for line in lines:
        run(line, {})
    said = capsys.readouterr().out
    assert said.count("identical") == 3  # verified, in the copy, and restored
    assert "offers.csv: 600 rows of offers. `--after 1202` goes on from there." in said
    head = next(line for line in said.splitlines() if line.startswith("offers ")).split()
    shown = next(line for line in PAGE.splitlines() if line.startswith("offers ")).split()
    assert head[:5] == shown[:5]  # as the page shows it


@pytest.mark.usefixtures("postgres")
def test_back_up_and_restore_of_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from latentbandits.store.postgresql import PostgreSQL

    monkeypatch.chdir(tmp_path)
    one, other = (postgres.database(name) for name in ("decisions", "other"))
    monkeypatch.setenv("STORE", one)
    monkeypatch.setenv("OTHER", other)
    clock = Clock()
    ledger = Ledger(PostgreSQL(one), clock, compiled=False)
    fill(ledger, clock, 40)
    for line in commands("sh postgresql"):
        run(line, {"PATH": f"{postgres.programs()}{os.pathsep}{os.environ['PATH']}"})
    digest = ledger.digest("offers")[:16]
    assert capsys.readouterr().out.count(f"identical  {digest}") == 2
    ledger.close()
