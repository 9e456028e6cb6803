import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import latentbandits as lb
from latentbandits.advice.trace import Trace
from latentbandits.advice.trace_figure import MARKS
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import CONTINUED, MARGIN, REASONS, RESIDUAL, RIVAL, SCHEDULED, STALENESS, UNTRIED
from latentbandits.random import Purpose, stream
from latentbandits.simulation.batch import believe_one, record_one

pytestmark = pytest.mark.usefixtures("hasty_limit")
START, END = 301, 600


def traced(policy: Any, arms: int = 2, **words: Any) -> Trace:
    problem = lb.Problem(arms=arms, groups=12, seed=6).replace(**words)
    return lb.trace(problem, policy, start=START, rounds=END - START + 1)


def with_reasons(trace: Trace, reasons: dict[int, int]) -> Trace:
    """Return the same trace with other reasons to probe, by round."""
    probe_reasons = np.zeros_like(trace.probe_reasons)
    for when, reason in reasons.items():
        probe_reasons[when - START] = reason
    return dataclasses.replace(trace, probe_reasons=probe_reasons)


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


def test_it_is_the_first_run_of_compare() -> None:
    problem = lb.Problem(arms=3, states=4, noise=0.1, horizon=500, runs=2, seed=5)
    for policy in ("state-library", "adasp-ucb", "bayes-planner"):
        trace = lb.trace(problem, policy, start=1, rounds=500)
        results = lb.compare(problem, [policy]).results
        assert trace.table["regret"].sum() == pytest.approx(results.regret[results.labels.index(policy)][0])
        part = lb.trace(problem, policy, start=101, rounds=50).table
        assert part.equals(trace.table.loc[101:150])


def test_the_table_has_a_row_per_round() -> None:
    trace = traced("adarp-ucb:groups=3", arms=3)
    realisation = lb.HiddenMarkov(arms=3).realise(END, 3, 6, 0, 0)
    arms, probe_reasons = record_one(
        lb.policy("adarp-ucb:groups=3", arms=3), realisation, stream(6, Purpose.POLICY, 0, 0)
    )
    table = trace.table
    assert table.index.tolist() == list(range(START, END + 1))
    assert table["state"].tolist() == realisation.states[START - 1 :].tolist()
    assert table["best"].tolist() == realisation.means[START - 1 :].argmax(axis=1).tolist()
    np.testing.assert_array_equal(table[["group 0", "group 1", "group 2"]], arms[START - 1 :])
    for reason, word in REASONS.items():
        assert table["probe"].str.contains(word).tolist() == ((probe_reasons[START - 1 :] & reason) != 0).tolist()
    assert trace.probes == (table["probe"].str.len() > 0).sum() > 0


def test_policies_come_as_specs_objects_and_files(tmp_path: Path) -> None:
    by_spec = traced("SW-UCB:window=300")
    by_object = traced(lb.policy("sw-ucb", window=300))
    (tmp_path / "mine.toml").write_text('policy = "sw-ucb"\narms = 2\n[settings]\nwindow = 300\n')
    by_file = traced(str(tmp_path / "mine.toml"))
    by_class = traced("latentbandits.policies.sliding_window_ucb:SlidingWindowUCB:window=300")
    for other in (by_object, by_file, by_class):
        assert other.policy == by_spec.policy
        assert other.table.equals(by_spec.table)
    assert by_spec.headline == by_object.headline
    assert by_spec.headline.startswith("SW-UCB (window=300) played a best arm in ")
    assert (by_file.name, by_class.name[-16:]) == ("sw-ucb", "SlidingWindowUCB")


def test_a_world_is_a_problem_too() -> None:
    trace = lb.trace(lb.HiddenMarkov(states=3), "rp-ucb", rounds=40, seed=2)
    assert trace.number_of_states == 3
    assert "3 hidden states" in trace.text()
    assert trace.table.equals(lb.trace(lb.Problem(states=3, groups=2, seed=2), "rp-ucb", rounds=40).table)


def test_it_saves_what_the_suffix_says(tmp_path: Path) -> None:
    trace = traced("adasp-ucb")
    for suffix, begin in (
        (".svg", b"<?xml"),
        (".png", b"\x89PNG"),
        (".pdf", b"%PDF"),
        (".csv", b"round,state,best,group 0,"),
    ):
        trace.save(tmp_path / f"run{suffix}")
        assert (tmp_path / f"run{suffix}").read_bytes().startswith(begin)
    assert trace.values()["rounds"][0]["round"] == START
    assert trace.values()["regret"] == pytest.approx(trace.table["regret"].sum())
    assert trace.headline in trace._repr_html_()
    with pytest.raises(ValueError, match=r"^trace: path is .* must be a file name that ends in \.csv or"):
        trace.save(tmp_path / "run.gif")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "ucb2"}, "policy: name is 'ucb2' but must be one of"),
        ({"policy": 7}, "trace: policies"),
        ({"policy": "rp-ucb"}, "trace: groups of rp-ucb is 2 but must be at most the problem's 1"),
        ({"policy": lb.policy("ucb1", arms=3)}, "trace: policies.*arms is 3 but must be the world's 2"),
        ({"problem": 3}, "problem: description is 3 but must be"),
        ({"problem": lb.Problem(arms=51)}, "trace: arms is 51 but must be at most 50"),
        ({"start": 0}, "trace: start is 0 but must be an integer at least 1"),
        ({"start": 10_001}, "trace: start is 10001 but must be at most 10000, the horizon"),
        ({"rounds": 0}, "trace: rounds is 0"),
        ({"rounds": 5001}, "trace: rounds is 5001 but must be at most 5000"),
        ({"start": 9_901, "rounds": 101}, "trace: rounds is 101 but must be at most 100 from round 9901"),
        ({"seed": -1}, "problem: seed is -1"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], said: str) -> None:
    given = {"problem": lb.Problem(), "policy": "ucb1", **options}
    with pytest.raises(ValueError, match=f"^{said}"):
        lb.trace(given.pop("problem"), given.pop("policy"), **given)


# The figure


# policies that probe for every reason, that never probe, that have beliefs, and that are given the truth
SHOWN = ("adarp-ucb", "adasp-ucb", "sp-ucb", "probe-commit", "state-library", "ucb1", "best-single-arm")


@pytest.mark.parametrize("name", SHOWN)
def test_the_figure_shows_what_happened(name: str) -> None:
    trace = traced(name, arms=3)
    figure = trace.figure()
    probing = trace.probe_reasons != 0
    # one ring for every arm of every probe round
    rings = points(figure, "probes")
    assert sorted(set(rings[0])) == trace.rounds[probing].tolist()
    assert rings.shape[1] == sum(len(set(arms)) for arms in trace.arms[probing].tolist())
    # one mark for every gate that was open
    for reason in MARKS:
        begun = trace.rounds[(trace.probe_reasons & reason) != 0]
        assert points(figure, REASONS[reason])[0].tolist() == begun.tolist()
        assert any(key.startswith(REASONS[reason]) for key in legend(figure)) == (len(begun) > 0)
    # every other round is a bar, on the band or beside it
    gaps = np.take_along_axis(trace.gaps, trace.arms, axis=1)[~probing, 0]
    assert rounds(figure, "hit") == (gaps == 0).sum()
    assert rounds(figure, "miss") == (gaps > 0).sum()
    assert ("played in a probe" in legend(figure)) == probing.any()
    # regret adds up
    assert points(figure, "regret")[1, -1] == pytest.approx(trace.table["regret"].sum())
    assert points(figure, "random")[1, -1] == pytest.approx(trace.gaps.mean(axis=1).sum())
    assert REGISTRY[name].label in figure.axes[0].get_title(loc="left")
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert figure.axes[-1].get_xlabel() == "round"
    assert figure.axes[-1].get_xlim() == (START - 0.5, END + 0.5)


def test_gates_carry_their_thresholds_and_differ_in_shape_and_colour() -> None:
    changed = {311: RESIDUAL + MARGIN, 312: CONTINUED, 321: MARGIN, 331: STALENESS, 341: SCHEDULED}
    trace = with_reasons(traced("adasp-ucb:staleness=23,margin=0.0123"), changed)
    figure = trace.figure()
    assert {name: points(figure, name)[0].tolist() for name in REASONS.values()} == {
        **{name: [] for name in REASONS.values()},
        "residual": [311],
        "margin": [311, 321],
        "staleness": [331],
        "schedule": [341],
    }
    assert points(figure, "probes")[0].tolist() == [311, 312, 321, 331, 341]
    assert trace.probes == 4
    wanted = {"residual (|z| at least 2)", "margin (at most 0.0123)", "staleness (23 rounds old)"}
    assert wanted <= set(legend(figure))
    assert len({mark.shape for mark in MARKS.values()}) == len({mark.color for mark in MARKS.values()}) == len(MARKS)


def test_a_setting_that_another_replaces_is_not_in_the_legend() -> None:
    trace = with_reasons(traced("adasp-ucb:hazard=0.1,0.5"), {311: STALENESS})
    assert "staleness" in legend(trace.figure())


def test_the_marks_of_a_policy_with_beliefs_carry_its_own_settings() -> None:
    trace = traced("state-library:max_idle_rounds=77,optimism=1.5,testing=0.25")
    trace = dataclasses.replace(with_reasons(trace, {311: STALENESS, 321: UNTRIED, 331: RIVAL}), beliefs=[])
    figure = trace.figure()
    assert {"staleness (max_idle_rounds 77)", "untried (optimism 1.5)", "rival (testing 0.25)"} <= set(legend(figure))
    assert "hidden" in figure.axes[0].get_ylabel()
    assert len(figure.axes) == 4  # no panels of beliefs without beliefs


def test_beliefs_are_those_behind_the_choices() -> None:
    policy = lb.policy("state-library", arms=3)
    realisation = lb.HiddenMarkov(arms=3).realise(200, 1, 3, 0, 0)
    arms, _ = record_one(policy, realisation, stream(3))
    beliefs = believe_one(policy, realisation, stream(3), start=51)
    assert beliefs == believe_one(policy, realisation, stream(3))[50:]
    # An agent that observes the same has the same belief in every round
    agent = lb.Agent(policy, seed=3)
    for t in range(200):
        decision = agent.ask()
        assert decision.arm == arms[t, 0]
        agent.tell(decision, realisation.rewards[t, 0, decision.arm])
        if t >= 50:
            assert repr(agent.belief) == repr(beliefs[t - 50])  # NaN is not equal to itself


@pytest.mark.parametrize("name", ["state-library", "state-library-forgetful"])
def test_beliefs_are_shown_beside_the_truth(name: str) -> None:
    trace = traced(name, seed=3)
    figure, beliefs = trace.figure(), trace.beliefs
    for arm in range(2):
        believed = [b.present.means[arm] for b in beliefs if b.present]
        np.testing.assert_array_equal(points(figure, f"true-{arm}")[1], trace.means[:, arm])
        np.testing.assert_array_equal(points(figure, f"mean-{arm}")[1], believed * 2)  # a line and its edge
    assert points(figure, "current")[1].tolist() == [b.present.probability for b in beliefs if b.present]
    assert points(figure, "elsewhere")[1].tolist() == [b.elsewhere for b in beliefs]
    assert points(figure, "known")[1].tolist() == [len(b.states) for b in beliefs]
    marks = {str(bars.get_gid()): bars for bars in panel(figure, "changes").collections}
    moments = {
        gid: [float(np.asarray(path.vertices)[0, 0]) for path in bars.get_paths()] for gid, bars in marks.items()
    }
    assert moments == {"true": trace.changes, "believed": trace.believed_changes}
    # with little noise it finds every change at once, or in the round after
    assert trace.changes
    assert all(any(0 <= when - true <= 1 for when in moments["believed"]) for true in trace.changes)


def test_beliefs_before_anything_is_known_and_without_states() -> None:
    text = lb.trace(lb.Problem(arms=4), "state-library", start=1, rounds=2).text()
    assert text.endswith("; changes believed 0, true 0, states 0, noise 0, dwell inf rounds.")
    text = lb.trace(lb.Problem(kind="drift"), "state-library", start=50, rounds=40).text()
    assert re.search(r"; changes believed \d+, true unknown, states \d+, noise 0\.\d+, dwell \d+ ", text)


def test_hidden_state_and_best_arms_are_those_of_the_world() -> None:
    trace = traced("ucb1")
    figure = trace.figure()
    steps = next(patch for patch in panel(figure, "hidden").patches if patch.get_gid() == "state")
    assert steps.get_data().values.tolist() == trace.states.tolist()  # type: ignore[attr-defined]
    bands = [band for band in panel(figure, "hidden").collections if isinstance(band, PolyCollection)]
    assert len(bands) == len(set(trace.gaps.argmin(axis=1)))


def test_a_world_without_states_has_no_panel_for_them() -> None:
    figure = traced("sw-ucb", kind="drift").figure()
    assert [axes.get_ylabel() for axes in figure.axes] == ["arm", "regret\nper group"]


def test_the_legend_covers_no_data() -> None:
    for name, arms in (("adasp-ucb", 12), ("state-library", 7)):
        figure = traced(name, arms=arms).figure()
        figure.draw_without_rendering()
        box = figure.legends[0].get_window_extent()
        assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
