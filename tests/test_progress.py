"""Long work says how far it is: on a terminal by a bar that moves, elsewhere in a new line at least every thirty seconds."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from latentbandits.cli import compiling
from latentbandits.compiled import cache, waited
from latentbandits.presentation import progress as screen

Clock = Callable[[float], None]
BARE = re.compile(r"\x1b\[[\d;]*[mK]|\r")  # what a terminal does not show


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    now = [1000.0]
    monkeypatch.setattr(screen, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return lambda seconds: now.__setitem__(0, 1000.0 + seconds)


@pytest.mark.parametrize(("group", "total"), [("rounds", 600), ("rounds", None), ("experiments", 600)])
def test_off_a_terminal_there_is_a_line_at_least_every_thirty_seconds(
    group: str, total: int | None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress, silent = screen.Progress("table2", group), 0
    for second in range(1, 601):
        clock(second)
        progress(second, total)
        silent = 0 if capsys.readouterr().err else silent + 1
        assert silent < 30


def test_off_a_terminal_short_work_is_silent(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = screen.Progress("table2")
    for second in range(1, 6):
        clock(second)
        progress(second, 5)
    assert capsys.readouterr().err == ""


def test_a_line_says_how_far_and_how_long_still(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = screen.Progress("table2")
    clock(40)
    progress(100_000_000, 400_000_000)
    assert capsys.readouterr().err == "table2  [######..................]  25%  0:40, 2:00 left\n"
    clock(70)
    progress(150_000_000, None)
    assert capsys.readouterr().err == "table2  150 M rounds in 1:10\n"


def test_compiling_counts_as_time_that_passed_but_not_as_time_that_is_left(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress, before = screen.Progress("table2"), waited()
    monkeypatch.setattr(screen, "waited", lambda: before + 60.0)
    clock(100)
    progress(50, 100)
    assert capsys.readouterr().err == "table2  [############............]  50%  1:40, 0:40 left\n"


def test_on_a_terminal_the_line_changes_and_is_wiped(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = screen.Progress("table2")
    clock(1)
    progress(1, 2)
    clock(2)
    progress(2, 2)
    said = capsys.readouterr().err
    assert said.count("\n") == 0
    assert BARE.sub("", said).startswith("table2  [############............]  50%")
    assert said.endswith("\r\x1b[K")


def test_nothing_is_left_on_a_terminal_that_is_interrupted(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    def work() -> None:
        with screen.Progress("table2") as progress:
            clock(1)
            progress(1, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    written = capsys.readouterr().err
    assert "table2  [############............]  50%" in written
    assert written.endswith("\r\x1b[K")


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_a_line_of_progress_fits_into_the_terminal(
    columns: int, clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    progress = screen.Progress("table2")
    clock(1)
    progress(25_000_000, 100_000_000)
    assert 10 < len(BARE.sub("", capsys.readouterr().err)) < columns


@pytest.mark.parametrize("watched", [True, False])
def test_compiling_neither_breaks_the_bar_nor_floods_the_screen(
    watched: bool, clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says that it happens; then each policy stands beside the bar of a terminal, and elsewhere nowhere."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched, raising=False)
    monkeypatch.setattr(compiling, "place", lambda: cache.Place(Path("/kept"), Path("/kept/here"), private=False))
    codes = [cache.Code(print, (), name) for name in ("ucb1", "ts", "lc-ucb")]
    with screen.Progress("table2") as progress:
        clock(40)
        progress(1, 2)
        for code in codes:
            code.__dict__["outside"] = []
            with compiling.announce([code]) as before:
                before(code)
        said = capsys.readouterr().err
        clock(80)
        progress(3, 4)
    assert said.count("\n") == (1 if watched else 2)
    assert said.count("compiling policies as they are needed (once, for all later runs)\n") == 1
    for code in codes:
        beside = f"table2  [############............]  50%  0:40  compiling {code.label}"
        assert (beside in BARE.sub("", said)) == watched
    assert "compiling" not in capsys.readouterr().err
    assert screen.current() is None
