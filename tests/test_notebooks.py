"""What notebooks show: agents, beliefs, results and figures as HTML, and progress in one line that is rewritten."""

import random
import sys
from collections.abc import Callable
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.advice.result import ROWS, Result
from latentbandits.presentation import progress as screen
from latentbandits.presentation.palette import Figure
from latentbandits.simulation.loop import COUNTS


def played(arms: list[str], rounds: int = 240) -> lb.Agent:
    """An agent that has met two states."""
    agent, chance = lb.Agent("state-library", arms=arms, seed=1, compiled=False), random.Random(0)
    for t in range(rounds):
        decision = agent.ask()
        best = arms[t // 80 % 2]
        agent.tell(decision, chance.gauss(0.9 if decision.arm == best else 0.2, 0.05))
    return agent


def test_an_agent_shows_what_it_believes() -> None:
    agent = played(["red", "<b>blue", "green"])
    shown = agent._repr_html_()
    root = ElementTree.fromstring(shown)  # well formed, whatever names there are
    text = "".join(root.itertext())
    for said in (
        "StateLibrary",
        "240 asked, 240 told, 0 open",
        "red",
        "<b>blue",
        "the last change was in round",
    ):
        assert said in text
    states = agent.belief.states
    cells = ["".join(cell.itertext()) for cell in root.iter("td")]
    assert sum(cell == f"{mean:.2f}" for cell in cells for mean in {m for s in states for m in s.means}) >= len(states)
    assert f"{100 * max(state.probability for state in states):.0f} %" in cells
    ElementTree.fromstring(agent.belief._repr_html_())


def test_an_agent_that_knows_nothing_says_so() -> None:
    assert "No state is known yet" in lb.Agent("state-library", compiled=False)._repr_html_()
    assert "table" not in lb.Agent("ucb1")._repr_html_()


def results(labels: tuple[str, ...], regret: list[float]) -> lb.Results:
    bins = np.repeat(np.array(regret)[:, None, None], 4, axis=1)
    counts = {name: np.zeros((len(labels), 4), np.int64) for name in COUNTS}
    return lb.Results(labels, 100, 4, 1, 0, bins, np.full_like(bins, 0.5), counts)


def test_results_show_the_best_first() -> None:
    shown = results(("ucb1", "state-oracle", "ts"), [3.0, 0.0, 2.0])._repr_html_()
    assert shown.index("state-oracle") < shown.index(">ts<") < shown.index(">ucb1<")


class Found(Result):
    """A result with a long table."""

    owner = "found"
    headline = "three is best"

    def text(self) -> str:
        return ""

    def figure(self) -> Figure:
        return Figure(figsize=(1, 1))

    def values(self) -> dict[str, object]:
        return {}


def test_a_result_shows_rows_of_its_table_and_the_figure() -> None:
    table = pd.DataFrame({"regret": np.arange(100.0)}, index=pd.Index(range(100), name="policy"))
    shown = Found(table)._repr_html_()
    assert shown.count("<tr") <= ROWS + 3  # the head, the name of the index and a row of dots
    assert "100 rows" in shown
    assert "data:image/svg+xml;base64," in shown


def test_a_figure_shows_itself_without_pyplot() -> None:
    shown = Found(pd.DataFrame()).figure()._repr_html_()
    assert shown.startswith("<img")
    assert "data:image/svg+xml;base64," in shown
    from latentbandits.advice import figures, trace_figure
    from latentbandits.logs import page as of_logs

    assert all(vars(module)["Figure"] is Figure for module in (figures, trace_figure, of_logs))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A notebook, and a clock to set."""
    now = [1000.0]
    monkeypatch.setattr(screen, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return lambda seconds: now.__setitem__(0, 1000.0 + seconds)


def test_progress_in_a_notebook_is_one_line(clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]) -> None:
    progress = screen.usual("comparing")
    assert progress is not None
    for tenth in range(1, 601):
        clock(tenth / 10)
        progress(tenth * 10_000, 6_000_000)
    said = capsys.readouterr()
    assert said.err == ""
    assert "\n" not in said.out
    assert "\x1b" not in said.out
    lines = said.out.split("\r")
    assert any(line.startswith("comparing  [############............]  50%  0:30, 0:30 left") for line in lines)
    assert (lines[-1], lines[-2].strip()) == ("", "")  # wiped
    assert len(lines[-2]) >= len(lines[-3].rstrip())


def test_short_work_is_silent_in_a_notebook(clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]) -> None:
    with screen.Progress("comparing") as progress:
        clock(0.4)
        progress(1, 2)
        clock(0.9)
        progress(2, 2)
    assert capsys.readouterr() == ("", "")


def test_no_progress_is_shown_in_a_program_that_did_not_ask() -> None:
    assert screen.usual("comparing") is None
