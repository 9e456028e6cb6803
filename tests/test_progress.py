"""Long work says how far it is: on a terminal in one line, elsewhere in a new line at least every thirty seconds."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from latentbandits.presentation import progress as screen
from latentbandits.presentation import terminal

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
    assert capsys.readouterr().err == "table2   25%    2.5 M rounds/s   120 s left\n"
    clock(70)
    progress(150_000_000, None)
    assert capsys.readouterr().err == "table2  150 M rounds in 70 s\n"


@pytest.mark.parametrize("rich", [False, True])
def test_on_a_terminal_the_line_changes_and_is_wiped(
    rich: bool, clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal, "installed", lambda: rich)
    progress = screen.Progress("table2")
    clock(1)
    progress(1, 2)
    clock(2)
    progress(2, 2)
    said = capsys.readouterr().err
    assert said.count("\n") == 0
    bar, line = BARE.sub("", said.partition("\r\x1b[K")[2]).split("table2")
    assert line.startswith("   50%")
    assert (len(bar.rstrip()), bar.endswith(" ")) == ((terminal.BAR, True) if rich else (0, False))
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
    assert "table2   50%" in written
    assert written.endswith("\r\x1b[K")


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_a_line_of_progress_fits_into_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    for share in (None, 0.0, 0.5, 1.0):
        line = BARE.sub("", terminal.with_bar("table2   25%    2.5 M rounds/s", share, sys.stderr))
        assert len(line) < columns


TEXT = """Use ucb1: it has less regret.

Side by side:
policy  regret
ts        11.0
ucb1      10.0

table2: 2 s. Of 9: 3 hold, 2 do not hold, 4 are tied.
  does not hold: Not so
timing: 1 s. Of 2: 2 cannot be judged. A quick run judges nothing; it points to: 1 does not hold, 1 is tied.
Next: `latentbandits tune ucb1`."""


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_shows_the_same_text_in_colours(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    terminal.show(TEXT, best=["ucb1"], headline=True)
    assert capsys.readouterr().out == TEXT + "\n"  # no terminal
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    terminal.show(TEXT, best=["ucb1"], headline=True)
    said = capsys.readouterr().out
    assert BARE.sub("", said) == TEXT + "\n"
    colours = re.findall(r"\x1b\[[\d;]*3[1-6]m([^\x1b]*)", said)
    if environment:
        assert colours == []
    else:
        assert colours == [
            "ucb1      10.0",
            "hold",
            "do not hold",
            "are tied",
            "  does not hold: Not so",
            "does not hold",
            "is tied",
            "`latentbandits tune ucb1`",
        ]
        assert "\x1b[1mSide by side:" in said
    monkeypatch.setattr(terminal, "installed", lambda: False)
    terminal.show(TEXT, best=["ucb1"], headline=True)
    assert capsys.readouterr().out == TEXT + "\n"


def test_off_a_terminal_rich_is_not_even_imported() -> None:
    code = "import sys; from latentbandits import cli; cli.main([]); sys.exit('rich' in sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "80"}
    )
