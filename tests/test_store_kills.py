"""Nothing that was acknowledged is ever lost: a writer under load is killed, again and again, at any moment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import latentbandits as lb
from tests.postgres import address
from tests.stores import assert_kept

ROOT = Path(__file__).parent.parent


def killed(store: str, run: int, lines: int) -> list[list[str]]:
    """Run the writer until it has said so many lines, kill it, and return all that it has said."""
    command = [sys.executable, "-m", "tests.store_writer", store, str(run), "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        os.kill(process.pid, signal.SIGKILL)
        said += process.stdout.readlines()
    whole = [line for line in said if line.endswith("\n")]  # the last one may be cut: then nobody has heard it
    return [line.split() for line in whole]


def kills(store: str, number: int) -> None:
    random = np.random.default_rng(number)
    made: dict[str, tuple[str, str]] = {}
    told: dict[str, float] = {}
    for run in range(number):
        for word, *rest in killed(store, run, int(random.integers(1, 60))):
            if word == "made":
                made[rest[0]] = (rest[1], rest[2])
            elif word == "told":
                told[rest[0]] = float(rest[1])
        if run == number // 2:
            with lb.open_agent(store, "e", compiled=False) as agent:
                agent._ledger.snapshot("e")
    assert len(made) > number
    assert_kept(store, made, told)


@pytest.mark.parametrize("number", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_kills_lose_nothing(number: int, tmp_path: Path) -> None:
    kills(str(tmp_path / "d.db"), number)


@pytest.mark.usefixtures("postgres")
@pytest.mark.slow
def test_kills_of_whoever_holds_an_experiment_lose_nothing(tmp_path: Path) -> None:
    """In PostgreSQL the next one waits until the lease of the dead one has ended, and goes on by replay."""
    kills(address(tmp_path), 20)
