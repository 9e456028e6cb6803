import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import latentbandits as lb
from latentbandits import cli
from latentbandits.cli import trace
from latentbandits.policies.registry import REGISTRY
from latentbandits.presentation.palette import drawing
from latentbandits.protocols import (
    CONTINUED,
    MARGIN,
    REASONS,
    RESIDUAL,
    RIVAL,
    SCHEDULED,
    STALENESS,
    UNTRIED,
    Realisation,
)
from latentbandits.random import stream
from latentbandits.report.trace import MARKS, Shown, believed_changes, draw
from latentbandits.settings import describe
from latentbandits.simulation.batch import believe_one, record_one

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "policies"
START, END = 301, 600


def recorded(policy: Any, world: Any = None, seed: int = 6) -> tuple[Realisation, np.ndarray, np.ndarray]:
    world = world or lb.HiddenMarkov(arms=policy.arms)
    table = world.realise(END, policy.units, seed, 0, 0)
    return table, *record_one(policy, table, stream(seed))


def drawn(name: str, policy: Any, world: Any = None) -> tuple[Figure, Shown]:
    table, arms, why = recorded(policy, world)
    with drawing():
        beliefs = believe_one(policy, table, stream(6), START) if hasattr(policy, "belief") else ()
        return draw(name, policy, table, arms, why, START, beliefs), Shown.of(table, arms, why, START)


def panel(figure: Figure, title: str) -> Axes:
    return next(axes for axes in figure.axes if axes.get_ylabel().split("\n")[0] == title)


def points(figure: Figure, gid: str) -> np.ndarray:
    found = [line for axes in figure.axes for line in axes.get_lines() if line.get_gid() == gid]
    return np.hstack([line.get_xydata().T for line in found]) if found else np.zeros((2, 0))  # type: ignore[union-attr]


def rounds(figure: Figure, kind: str) -> int:
    bars = [bar for bar in panel(figure, "arm").collections if str(bar.get_gid()).startswith(kind)]
    return round(sum(path.get_extents().width for bar in bars for path in bar.get_paths()))


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("name", REGISTRY)
def test_the_picture_shows_what_happened(name: str) -> None:
    policy = lb.policy(name, arms=3)
    figure, shown = drawn(name, policy)
    probing = shown.why != 0
    # one ring for every arm of every probe round
    rings = points(figure, "probes")
    assert sorted(set(rings[0])) == shown.rounds[probing].tolist()
    assert rings.shape[1] == sum(len(set(arms)) for arms in shown.arms[probing].tolist())
    # one mark for every gate that was open
    for reason in MARKS:
        begun = shown.rounds[(shown.why & reason) != 0]
        assert points(figure, REASONS[reason])[0].tolist() == begun.tolist()
        assert any(key.startswith(REASONS[reason]) for key in legend(figure)) == (len(begun) > 0)
    # every other round is a bar, on the band or beside it
    gaps = np.take_along_axis(shown.gaps, shown.arms, axis=1)[~probing, 0]
    assert rounds(figure, "hit") == (gaps == 0).sum()
    assert rounds(figure, "miss") == (gaps > 0).sum()
    assert ("played in a probe" in legend(figure)) == probing.any()
    # regret adds up
    assert points(figure, "regret")[1, -1] == pytest.approx(shown.regret.sum())
    assert points(figure, "random")[1, -1] == pytest.approx(shown.gaps.mean(axis=1).sum())
    assert REGISTRY[name].label in figure.axes[0].get_title(loc="left")
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert figure.axes[-1].get_xlabel() == "round"
    assert figure.axes[-1].get_xlim() == (START - 0.5, END + 0.5)


def test_gates_carry_their_thresholds_and_differ_in_shape_and_colour() -> None:
    policy = lb.policy("adasp-ucb", staleness=23, margin=0.0123)
    table, arms, why = recorded(policy)
    why[START - 1 :] = 0
    why[[310, 311, 320, 330, 340]] = [RESIDUAL + MARGIN, CONTINUED, MARGIN, STALENESS, SCHEDULED]
    figure = draw("adasp-ucb", policy, table, arms, why, START)
    assert {name: points(figure, name)[0].tolist() for name in REASONS.values()} == {
        "residual": [311],
        "margin": [311, 321],
        "staleness": [331],
        "schedule": [341],
        "continued": [],
        "untried": [],
        "rival": [],
    }
    assert points(figure, "probes")[0].tolist() == [311, 312, 321, 331, 341]
    assert Shown.of(table, arms, why, START).probes == 4
    wanted = {"residual (|z| at least 2)", "margin (at most 0.0123)", "staleness (23 rounds old)"}
    assert wanted <= set(legend(figure))
    assert len({mark.shape for mark in MARKS.values()}) == len({mark.color for mark in MARKS.values()}) == len(MARKS)


def test_the_marks_of_a_policy_that_believes_carry_its_own_settings() -> None:
    policy = lb.policy("state-library", patience=77, optimism=1.5, testing=0.25)
    table, arms, why = recorded(policy)
    why[START - 1 :] = 0
    why[[310, 320, 330]] = [STALENESS, UNTRIED, RIVAL]
    figure = draw("state-library", policy, table, arms, why, START)
    assert {"staleness (patience 77)", "untried (optimism 1.5)", "rival (testing 0.25)"} <= set(legend(figure))
    assert "hidden" in figure.axes[0].get_ylabel()
    assert len(figure.axes) == 4  # no panels of beliefs without beliefs


def test_beliefs_are_those_behind_the_choices() -> None:
    policy = lb.policy("state-library", arms=3)
    table = lb.HiddenMarkov(arms=3).realise(200, 1, 3, 0, 0)
    arms, _ = record_one(policy, table, stream(3))
    beliefs = believe_one(policy, table, stream(3), start=51)
    assert beliefs == believe_one(policy, table, stream(3))[50:]
    # An agent that is told the same is of the same belief in every round
    agent = lb.Agent(policy)
    agent._random = stream(3)
    for t in range(200):
        decision = agent.ask()
        assert decision.arm == arms[t, 0]
        agent.tell(decision, table.rewards[t, 0, decision.arm])
        if t >= 50:
            assert repr(agent.belief) == repr(beliefs[t - 50])  # nan is not equal to itself


@pytest.mark.parametrize("name", ["state-library", "state-library-forgetful"])
def test_beliefs_are_drawn_beside_the_truth(name: str) -> None:
    policy = lb.policy(name)
    figure, shown = drawn(name, policy)
    table, _, _ = recorded(policy)
    beliefs = believe_one(policy, table, stream(6), START)
    for arm in range(2):
        believed = [b.states[b.current].means[arm] for b in beliefs]
        np.testing.assert_array_equal(points(figure, f"true-{arm}")[1], table.means[START - 1 :, arm])
        np.testing.assert_array_equal(points(figure, f"mean-{arm}")[1], believed * 2)  # a line and its edge
    assert points(figure, "current")[1].tolist() == [b.states[b.current].probability for b in beliefs]
    assert points(figure, "elsewhere")[1].tolist() == [b.elsewhere for b in beliefs]
    assert points(figure, "known")[1].tolist() == [len(b.states) for b in beliefs]
    marks = {str(bars.get_gid()): bars for bars in panel(figure, "changes").collections}
    moments = {
        gid: [float(np.asarray(path.vertices)[0, 0]) for path in bars.get_paths()] for gid, bars in marks.items()
    }
    assert moments == {"true": shown.changes, "believed": believed_changes(beliefs, START)}
    # with little noise it sees every change at once, or in the round after
    assert shown.changes
    assert all(any(0 <= when - true <= 1 for when in moments["believed"]) for true in shown.changes)


def test_beliefs_before_anything_is_known_and_without_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "a.svg")]
    assert cli.main(["trace", "state-library", "--arms", "4", "--start", "1", "--rounds", "2", *out]) == 0
    assert "; changes believed 0, true 0, states 0, noise 0, dwell inf rounds." in capsys.readouterr().out
    assert cli.main(["trace", "state-library", "--world", "drift", *SHORT, *out]) == 0
    assert re.search(
        r"; changes believed \d+, true unknown, states \d+, noise 0\.\d+, dwell \d+ ", capsys.readouterr().out
    )


def test_hidden_state_and_best_arms_are_those_of_the_table() -> None:
    figure, shown = drawn("ucb1", lb.policy("ucb1"))
    steps = next(patch for patch in panel(figure, "hidden").patches if patch.get_gid() == "state")
    assert steps.get_data().values.tolist() == shown.states.tolist()  # type: ignore[attr-defined]
    bands = [band for band in panel(figure, "hidden").collections if isinstance(band, PolyCollection)]
    assert len(bands) == len(set(shown.gaps.argmin(axis=1)))


def test_a_world_without_states_has_no_panel_for_them() -> None:
    figure, _ = drawn("sw-ucb", lb.policy("sw-ucb"), lb.Drift())
    assert [axes.get_ylabel() for axes in figure.axes] == ["arm", "regret\nper unit"]


def test_the_legend_covers_no_data() -> None:
    for name, arms in (("adarp-ucb", 2), ("adasp-ucb", 12), ("best-single-arm", 2), ("state-library", 7)):
        figure, _ = drawn(name, lb.policy(name, arms=arms))
        figure.draw_without_rendering()
        box = figure.legends[0].get_window_extent()
        assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width


SHORT = ["--start", "50", "--rounds", "40"]


@pytest.mark.parametrize("name", REGISTRY)
def test_the_command_draws_every_policy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["trace", name, *SHORT]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert re.fullmatch(rf"trace-{name}\.svg: .+ in rounds 50 to 89, .+ Next: .+\n", said.out)
    assert [path.name for path in tmp_path.iterdir()] == [f"trace-{name}.svg"]
    assert (tmp_path / f"trace-{name}.svg").read_text().rstrip().endswith("</svg>")


def test_the_same_run_is_the_same_file_and_png_is_one(tmp_path: Path) -> None:
    for policy in ("state-library", "adasp-ucb"):
        for name in ("a.svg", "b.svg", "a.png", "b.png"):
            assert cli.main(["trace", policy, *SHORT, "--out", str(tmp_path / name)]) == 0
        for kind in ("svg", "png"):
            assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_options_reach_the_world_and_the_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = {"arms": "4", "states": "1", "stickiness": "0.5", "noise": "0.3", "rewards": "bernoulli", "seed": "3"}
    world = [f"--{key}={value}" for key, value in chosen.items()]
    given = ["--set", "interval=8", "--set", "lag=pair", "--set", "fingerprint=false", "--set", "probe_set=2,0"]
    assert cli.main(["trace", "SP-UCB", *SHORT, *world, *given, "--out", str(tmp_path / "a.svg")]) == 0
    assert "4 arms, 1 hidden state; " in capsys.readouterr().out
    parser = argparse.ArgumentParser()
    trace.configure(parser)
    made, made_world = trace.subjects(parser.parse_args(["sp-ucb", *world, *given]))
    changed: dict[str, Any] = {"interval": 8, "lag": "pair", "fingerprint": False, "probe_set": [2, 0]}
    assert describe(made) == describe(lb.policy("sp-ucb", arms=4, **changed))
    assert made_world == lb.HiddenMarkov(states=1, arms=4, stickiness=0.5, noise=0.3, rewards="bernoulli")


BAD = [
    ["ucb2"],
    ["ucb1", "--arms", "1"],
    ["ucb1", "--arms", "1000"],
    ["ucb1", "--states", "0"],
    ["ucb1", "--states", "100000"],
    ["ucb1", "--stickiness", "1.5"],
    ["ucb1", "--stickiness", "nan"],
    ["ucb1", "--noise", "-1"],
    ["ucb1", "--rewards", "poisson"],
    ["ucb1", "--rounds", "0"],
    ["ucb1", "--rounds", "1000000000"],
    ["ucb1", "--start", "0"],
    ["ucb1", "--start", "1000000000"],
    ["ucb1", "--seed", "-1"],
    ["ucb1", "--set", "exploration"],
    ["ucb1", "--set", "exploration="],
    ["ucb1", "--set", "=2"],
    ["ucb1", "--set", "exploration=much"],
    ["ucb1", "--set", "exploration=inf"],
    ["ucb1", "--set", "exploration=1,2"],
    ["ucb1", "--set", "window=5"],
    ["ucb1", "--set", "arms=3"],
    ["ucb1", "--set", "units=0"],
    ["ucb1", "--set", "units=1000000"],
    ["sw-ucb", "--set", "window=2.5"],
    ["adasp-ucb", "--set", "gated=1"],
    ["adasp-ucb", "--set", "covariates=2"],
    ["ucb1", "--out", "picture.pdf"],
    ["ucb1", "--out", "picture"],
    ["ucb1", "--out", "missing/picture.svg"],
    ["ucb1", "--out", "folder.svg"],
]


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.svg").mkdir()
    assert cli.main(["trace", arguments[0], *SHORT, *arguments[1:]]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "must be" in said.err
    assert said.err.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.svg"]


def test_too_little_memory_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("latentbandits.simulation.batch.record_one", fail)
    assert cli.main(["trace", "sw-ucb", "--out", str(tmp_path / "a.svg")]) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_without_matplotlib_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("latentbandits.presentation.palette", "latentbandits.report.trace"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["trace", "ucb1", "--out", str(tmp_path / "a.svg")]) == 2
    assert "latentbandits[report]" in capsys.readouterr().err


def test_matplotlib_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, argparse, latentbandits.cli.trace as t; t.configure(argparse.ArgumentParser()); print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# The documentation: one page for every name, every setting explained, every number as it comes out


def index() -> dict[str, Path]:
    links = re.findall(r"^\| \[`([\w-]+)`\]\(([\w-]+\.md)\)", (PAGES / "README.md").read_text(), re.MULTILINE)
    return {name: PAGES / page for name, page in links}


def test_every_policy_has_a_page() -> None:
    assert sorted(index()) == sorted(REGISTRY)
    background = (ROOT / "docs" / "background.md").read_text()
    for name, page in index().items():
        assert f"`{name}`" in page.read_text().splitlines()[0]
        assert f"[{name}](policies/{page.name})" in background


def settings(page: Path) -> dict[str, dict[str, str]]:
    """Return, for every policy that heads a column of a table of settings, its values as the page gives them."""
    found: dict[str, dict[str, str]] = {}
    columns: list[str] = []
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "setting":
            columns = cells[1:-1]
        elif not cells:
            columns = []
        elif columns and cells[0].startswith("`"):
            for name, value in zip(columns, cells[1:-1], strict=True):
                found.setdefault(name, {})[cells[0].strip("`")] = value
    return found


@pytest.mark.parametrize("name", REGISTRY)
def test_every_setting_is_explained_with_its_value(name: str) -> None:
    page = index()[name]
    further = re.findall(r"\[[^]]*settings[^]]*\]\(([\w-]+\.md)", page.read_text())
    true = describe(lb.policy(name))
    explained: set[str] = set()
    for place in [page, *(PAGES / other for other in further)]:
        for setting, value in settings(place)[name].items():
            explained.add(setting)
            if value == "-":
                continue
            if isinstance(true[setting], int | float) and not isinstance(true[setting], bool):
                assert float(value) == pytest.approx(true[setting])
            else:
                assert value == str(true[setting])
    assert explained == set(true)


DRAWN = {"particles.svg"}  # by hand
COMMAND = re.compile(r"^\$ latentbandits (trace .+) --out docs/policies/([\w-]+\.svg)\n.+?: (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", sorted({page.name for page in index().values()}))
def test_pictures_are_what_the_named_commands_draw(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (PAGES / page).read_text()
    commands = COMMAND.findall(text)
    shown = [picture for picture in re.findall(r"!\[.+\]\((.+)\)", text) if picture not in DRAWN]
    assert shown == [picture for _, picture, _ in commands]
    assert commands
    for command, picture, said in commands:
        assert cli.main([*command.split(), "--out", str(tmp_path / picture)]) == 0
        assert f": {said} Next: " in capsys.readouterr().out
        assert (PAGES / picture).stat().st_size < 150_000


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "docs" / "background.md", *PAGES.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    ("world", "extra"),
    [
        ("hidden-markov", ["--world-set", "carryover=0.3", "--world-set", "separation=0.2", "--states", "4"]),
        ("drift", ["--world-set", "timescale=80"]),
        ("seasons", ["--world-set", "dwell=20", "--states", "3"]),
        ("recorded", ["--world-set", "file={record}"]),
    ],
)
def test_any_world_can_be_traced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: str, extra: list[str]
) -> None:
    record = tmp_path / "rewards.csv"
    np.savetxt(record, np.random.default_rng(0).random((120, 2)), delimiter=",")
    options = [
        "adasp-ucb",
        "--world",
        world,
        *(part.format(record=record) for part in extra),
        "--start",
        "50",
        "--rounds",
        "60",
    ]
    assert cli.main(["trace", *options, "--out", str(tmp_path / "run.SVG")]) == 0
    assert "AdaSP-UCB in rounds 50 to 109" in capsys.readouterr().out
    assert (tmp_path / "run.SVG").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--world", "mars"], "--world is 'mars' but must be one of hidden-markov, drift, seasons, recorded"),
        (["--world", "drift", "--world-set", "states=3"], "--world-set is 'states' but must be one of arms, timescale"),
        (["--world", "recorded"], "--world-set file cannot be read"),
        (["--world-set", "carryover=2"], "carryover is 2 but must be a finite number from 0 to 1"),
    ],
)
def test_bad_worlds_are_refused_by_trace(capsys: pytest.CaptureFixture[str], options: list[str], sentence: str) -> None:
    assert cli.main(["trace", "ucb1", *options]) == 2
    assert sentence in capsys.readouterr().err
