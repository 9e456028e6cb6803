"""What tests of several files share."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from latentbandits.compiled import background
from latentbandits.files import locked
from latentbandits.policies import bayes_planner
from latentbandits_studies.experiments.registry import experiment
from tests import postgres as server
from tests.stores import Case

_can_start = background._can_start


def pytest_configure() -> None:
    """Let no agent of a test start a process that compiles in the background: what is on disk is loaded, all else stays interpreted.

    Nobody would wait for such a process, and there would be two codes of every policy that any test gives to an agent. Tests of the
    background start programs of their own, or allow it.
    """
    background._can_start = lambda: False


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what all tests share: modules and the tests themselves."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def background_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents of this test have their machine code made in the background, as those of a program."""
    monkeypatch.setattr(background, "_can_start", _can_start)


def make_hasty(patch: pytest.MonkeyPatch) -> None:
    """Let the limit take a multiplier of 8, without the 20,000 imagined rounds that find the best one: most of a short comparison's cost.

    For tests in which the limit is one reference among others. How it finds the best is tested in test_bayes_planner.py, and its regret is
    among the golden numbers.
    """
    patch.setattr(bayes_planner, "best_multiplier", lambda *_: 8.0)


@pytest.fixture
def hasty_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    make_hasty(monkeypatch)


@pytest.fixture
def words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures out of a report: they take most of its time."""
    monkeypatch.setattr(
        "latentbandits_studies.report.page.experiment", lambda name: experiment(name)._replace(figures=())
    )


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first of all pytest's processes makes, and the others wait for."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, ready = root / name, root / f"{name}.ready"
    with locked(root / f"{name}.lock"):
        if not ready.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            ready.touch()
    return folder


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Case]]:
    made: list[Case] = []

    def begin(policy: str = "ucb1", **settings: Any) -> Case:
        made.append(Case(tmp_path / "store.db", policy, **settings))
        return made[-1]

    yield begin
    for case in made:
        case.ledger.close()


@pytest.fixture
def case(make: Callable[..., Case]) -> Case:
    return make()


@pytest.fixture(scope="session")
def postgres() -> Iterator[None]:
    """A real PostgreSQL; `tests.postgres.address` makes a store in it."""
    server.begin()
    yield
    server.end()
