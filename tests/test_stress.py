"""The stress experiment: its worlds, how policies are compared in them, and every verdict that its targets can have."""

import re

import numpy as np
import pandas as pd
import pytest
from benchmarks.fit import JUDGE_SEED, SEARCH_SEED

import latentbandits as lb
from latentbandits import cli
from latentbandits.policies.groups import FEW, FORGETFUL, LIBRARY, LIMIT, ORACLES
from latentbandits.presentation.palette import label, saved
from latentbandits.simulation.runs import Runner
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TARGET, TIED
from latentbandits_studies.experiments.registry import Experiment, experiment, experiments
from latentbandits_studies.experiments.state_library import settings as state_library
from latentbandits_studies.experiments.stress import FAILURES, claims, heat_map, tables
from latentbandits_studies.experiments.stress.worlds import KINDS, SEED, WORLDS
from tests.constructed import Change, Key, runs, verdicts

WIDE, FAST, RARE = "normal noise 0.3", "alternates every round", "a rare state, 2 %"
RIVAL, OTHER = "cp-ts", "ab-test"
# StateLibrary is the best in two worlds and 5 % above the rival in the third
BASE: dict[Key, float] = {
    (world, name): regret
    for world, regrets in {WIDE: (50.0, 100.0, 300.0), FAST: (40.0, 100.0, 90.0), RARE: (105.0, 100.0, 500.0)}.items()
    for name, regret in zip((LIBRARY, RIVAL, OTHER), regrets, strict=True)
}


@pytest.mark.parametrize(
    ("claim", "verdict", "change"),
    [
        ("near-the-best", HOLDS, Change()),
        ("near-the-best", FAILS, Change({(RARE, LIBRARY): 200.0})),
        ("near-the-best", TIED, Change({}, {(RARE, LIBRARY)})),
        ("near-the-best", TIED, Change({(RARE, LIBRARY): 115.0}, {(RARE, LIBRARY)})),
        ("never-stuck", HOLDS, Change({(RARE, LIBRARY): 299.0})),
        ("never-stuck", FAILS, Change({(RARE, LIBRARY): 301.0})),
        ("never-stuck", FAILS, Change({(RARE, LIBRARY): 200.0}, {(RARE, LIBRARY)})),
        ("most-often", HOLDS, Change()),
        ("most-often", TIED, Change({(FAST, LIBRARY): 200.0, (FAST, RIVAL): 95.0, (RARE, OTHER): 109.0})),
        ("most-often", FAILS, Change({(WIDE, LIBRARY): 200.0, (FAST, LIBRARY): 200.0, (FAST, RIVAL): 95.0})),
        ("least-harm", HOLDS, Change()),
        ("least-harm", FAILS, Change({(RARE, LIBRARY): 1000.0})),
        ("least-harm", TIED, Change({(RARE, LIBRARY): 250.0}, {(RARE, LIBRARY)})),
    ],
)
def test_a_target_comes_out_as(claim: str, verdict: str, change: Change) -> None:
    assert verdicts(claims.score, BASE, change)[f"stress/{claim}"] == verdict


def test_all_claims_are_targets_and_the_experiment_is_ours() -> None:
    assert {claim.kind for claim in claims.score(runs(BASE))} == {TARGET}
    assert experiment("stress").ours


def test_every_policy_is_compared_with_the_best_other() -> None:
    found = claims.duels(runs(BASE)).set_index(["world", "policy"])
    mine, rival = found.loc[(RARE, LIBRARY)], found.loc[(RARE, RIVAL)]
    assert (mine["best_other"], rival["best_other"]) == (RIVAL, LIBRARY)
    assert (mine["ratio"], rival["ratio"]) == (pytest.approx(1.05), pytest.approx(100 / 105))
    assert (mine["to_best"], rival["to_best"]) == (pytest.approx(1.05), 1.0)
    assert found.loc[(RARE, OTHER), "to_best"] == pytest.approx(5)
    assert found.loc[(WIDE, OTHER), "best_other"] == LIBRARY


def test_stuck_and_worst_runs_are_multiples_of_the_best_others_median() -> None:
    frame = runs(BASE)
    last = (frame["case"] == RARE) & (frame["policy"] == LIBRARY) & (frame["draw"] >= 8)
    frame.loc[last, "regret"] = [301.0, 900.0]
    found = claims.duels(frame).set_index(["world", "policy"]).loc[(RARE, LIBRARY)]
    assert found["stuck"] == pytest.approx(0.2)
    assert found["worst_run"] == pytest.approx(9)
    draws = frame[(frame["case"] == RARE) & (frame["policy"] == LIBRARY)]["regret"]
    assert found["ratio"] == pytest.approx(draws.mean() / 100)
    assert found["low"] < found["ratio"] < found["high"]


def test_intervals_pair_the_draws() -> None:
    """Draws that are hard for both leave the ratio sure."""
    shaky = {(RARE, LIBRARY), (RARE, RIVAL)}
    found = claims.duels(runs(BASE, shaky)).set_index(["world", "policy"]).loc[(RARE, LIBRARY)]
    assert found["high"] - found["low"] < 1e-9


def test_standings_tell_of_every_policy() -> None:
    found = claims.standings(runs(BASE)).set_index("policy")
    assert list(found.index) == [LIBRARY, RIVAL, OTHER]
    assert found["near"].tolist() == [3, 1, 0]
    assert found["first"].tolist() == [2, 1, 0]
    assert found.loc[LIBRARY, "worst_world"] == RARE
    assert found.loc[OTHER, "worst_world"] == WIDE
    assert found.loc[OTHER, "worst"] == pytest.approx(6)
    assert found.loc[LIBRARY, "typical"] == pytest.approx(1.05 ** (1 / 3))
    assert found.loc[OTHER, "stuck"] == pytest.approx(2 / 3)


def test_the_table_has_the_worst_world_first_and_every_policy() -> None:
    found = claims.table(runs(BASE))
    assert found["world"].tolist() == [RARE, WIDE, FAST]
    assert found["kind"].tolist() == [KINDS[world] for world in (RARE, WIDE, FAST)]
    assert found[RIVAL].tolist() == pytest.approx([1.0, 2.0, 2.5])
    assert found[LIBRARY].tolist() == pytest.approx([1.05, 1.0, 1.0])


def test_the_heat_map_shows_all_worlds_by_kind_and_our_policy_first() -> None:
    axes = heat_map(runs(BASE)).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == [WIDE, RARE, FAST]  # the order of the kinds
    assert [text.get_text() for text in axes.get_xticklabels()] == ["StateLibrary", "CP-TS", "A/B test"]
    shown = np.asarray(axes.images[0].get_array(), float)
    np.testing.assert_allclose(shown, np.array([[1, 2, 6], [1.05, 1, 5], [1, 2.5, 2.25]]))
    assert saved(FAILURES.plot(runs(BASE)), "png")[:4] == b"\x89PNG"


def test_the_page_lists_worlds_and_policies() -> None:
    page = tables(runs(BASE))
    assert page.index(RARE) < page.index(WIDE)
    assert all(label(name) in page for name in (LIBRARY, RIVAL, OTHER))
    assert "3 of 3" in page


def test_worlds_are_many_and_of_every_kind() -> None:
    assert len(WORLDS) >= 60
    assert len(KINDS) == len(WORLDS)
    assert len({world.world for world in WORLDS}) == len(WORLDS)
    for one in WORLDS:
        realisation = one.world.realise(50, 1, SEED, 0, 0)
        assert np.isfinite(realisation.rewards).all()
        words = set(re.findall(r"\w+", one.name))
        assert (realisation.delays is not None) == bool(words & {"late", "lost"})
        assert (realisation.available is not None) == bool(words & {"available", "go"})


def test_the_seed_chose_nothing() -> None:
    assert SEED not in (0, SEARCH_SEED, JUDGE_SEED, state_library.SEED, *state_library.TUNED_SEEDS)
    assert {case.seed for case in claims.cases("full")} == {SEED}


def test_everybody_plays_who_is_given_nothing() -> None:
    assert {LIBRARY, FORGETFUL, "cp-ts", "ts"} <= set(claims.NAMES)
    assert not {LIMIT, *ORACLES} & set(claims.NAMES)
    assert set(FEW) < set(claims.NAMES)
    for case in claims.cases("full"):
        assert tuple(case.policies) == claims.NAMES
        assert {Runner(policy).groups for policy in case.policies.values()} == {1}


def test_no_unit_of_rewards_harms_a_policy() -> None:
    cases = {case.name: case.policies for case in claims.cases("quick")}
    usual, dollars = cases["normal noise 0.1"], cases["dollars from -500 to 3,000"]
    assert usual["cp-ts"] == lb.policy("cp-ts", arms=3)
    assert dollars["cp-ts"] == lb.policy("scaled(cp-ts)", arms=3)
    assert dollars[LIBRARY] == lb.policy(LIBRARY, arms=3)


def test_a_quick_run_is_smaller() -> None:
    full, quick = (sum(case.rounds for case in claims.cases(size)) for size in ("full", "quick"))
    assert quick * 20 < full


def test_experiments_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    everything = [one.id for one in experiments()]
    assert [one.id for one in experiments(without=["stress"])] == [name for name in everything if name != "stress"]
    assert cli.main(["reproduce", "--without", "strss"]) == 2
    assert "did you mean stress?" in capsys.readouterr().err
    assert cli.main(["reproduce", "stress", "--without", "stress"]) == 2
    assert "reproduce: without is 'stress' but must be such that an experiment is left" in capsys.readouterr().err


def test_what_is_left_out_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    asked: list[list[str]] = []

    def reproduce(chosen: list[Experiment], *_: object) -> list[object]:
        asked.append([one.id for one in chosen])
        raise ValueError("reproduce: stopped")

    monkeypatch.setattr("latentbandits_studies.experiments.reproduce.reproduce", reproduce)
    assert cli.main(["reproduce", "--out", str(tmp_path), "stress", "theory", "--without", "stress"]) == 2
    assert asked == [["theory"]]


def test_a_frame_of_one_world_is_enough() -> None:
    one = {key: regret for key, regret in BASE.items() if key[0] == RARE}
    assert isinstance(claims.table(runs(one)), pd.DataFrame)
    assert len(heat_map(runs(one)).axes[0].get_yticklabels()) == 1
