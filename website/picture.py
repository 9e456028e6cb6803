"""Write docs/terminal.svg, the picture at the top of the README: real commands and what they print, as a terminal shows it.

``python -m website.picture`` runs them, which takes about a minute. Lines that are left out are marked.
"""

import code
import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import latentbandits as lb
from latentbandits import cli
from website.sources import ROOT

PICTURE = ROOT / "docs" / "terminal.svg"
COLUMNS = 100
GAP = "  \N{VERTICAL ELLIPSIS}"


class Step(NamedTuple):
    """A command, and what is shown of its output: how many lines from each line that begins so."""

    command: str
    shown: tuple[tuple[str, int], ...]


STEPS = (
    Step("latentbandits diagnose log.csv --no-compare", (("There are regimes", 1), ("What the arms pay", 4))),
    Step(
        "latentbandits advise --arms 3 --states '3 to 8' --noise 0.1 --policies state-library cp-ts ucb1",
        (("Use ", 2), ("Side by side", 6), ("When the advice would flip", 3)),
    ),
)
PYTHON = (
    "import latentbandits as lb",
    'agent = lb.Agent("state-library", arms=["a", "b", "c"], seed=7)',
    "decision = agent.ask()",
    "decision.arm",
    "agent.tell(decision, 0.42)",
)
# Readable on a light and on a dark page: the window brings its own ground
THEME = TerminalTheme(
    (30, 34, 42),
    (214, 219, 228),
    [(30, 34, 42), (240, 113, 120), (137, 209, 133), (229, 192, 123), (97, 175, 239), (198, 146, 233), (86, 200, 216), (214, 219, 228)],
    [(110, 118, 132), (240, 113, 120), (137, 209, 133), (229, 192, 123), (97, 175, 239), (198, 146, 233), (86, 200, 216), (255, 255, 255)],
)  # fmt: skip
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"


def write_log(path: Path) -> None:
    """Write a simulated log of two arms whose means change between two states."""
    world = lb.HiddenMarkov(means=[[0.2, 0.8], [0.9, 0.3]], dwell=60, noise=0.3)
    played = world.realise(3000, 1, seed=1, draw=0, repeat=0)
    arms = np.random.default_rng(0).integers(2, size=3000)
    rewards = played.rewards[np.arange(3000), 0, arms]
    lines = [f"{'ab'[arm]},{reward:.3f}" for arm, reward in zip(arms, rewards, strict=True)]
    path.write_text("\n".join(["action,reward", *lines]) + "\n")


def output(command: str) -> str:
    """Return what a command prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        if cli.main(shlex.split(command)[1:]):
            raise SystemExit(f"{command} failed")
    return said.getvalue().rstrip("\n")


def clipped(text: str, shown: tuple[tuple[str, int], ...]) -> str:
    """Return some lines of a text, with a mark where others are left out."""
    lines = text.splitlines()
    kept: list[str] = []
    before = 0
    for beginning, count in shown:
        at = next(i for i, line in enumerate(lines) if line.startswith(beginning))
        kept += ([GAP] if at > before else []) + lines[at : at + count]
        before = at + count
    return "\n".join(kept + ([GAP] if before < len(lines) else []))


def session() -> str:
    """Return what the interpreter shows of some lines of Python."""
    said = io.StringIO()
    interpreter = code.InteractiveInterpreter({})
    with contextlib.redirect_stdout(said):
        for line in PYTHON:
            print(f">>> {line}")
            interpreter.runsource(line)
    return said.getvalue().rstrip("\n")


def picture() -> str:
    """Run everything and return the picture."""
    screen = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False, color_system="truecolor"
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_log(Path("log.csv"))
        for step in STEPS:
            screen.print(Text.assemble(("$ ", "bold green"), (step.command, "bold")))
            answer = Text(clipped(output(step.command), step.shown))
            answer.highlight_regex(GAP, "dim")
            screen.print(answer, end="\n\n")
    screen.print(Text.assemble(("$ ", "bold green"), ("python", "bold")))
    screen.print(Text(session()), end="\n\n")
    form = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code", FONT)
    drawn = screen.export_svg(title="latentbandits", theme=THEME, code_format=form, unique_id="latentbandits")
    return re.sub(r"\n\s*\n+", "\n", drawn)


if __name__ == "__main__":
    os.environ["COLUMNS"] = str(COLUMNS)
    PICTURE.write_text(picture())
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1e3:.0f} kB")
