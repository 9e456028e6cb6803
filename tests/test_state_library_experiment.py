import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.policies.groups import FORGETFUL, LIBRARY, LIMIT, PEERS
from latentbandits.presentation.palette import label, style
from latentbandits.simulation.results import ratio
from latentbandits_studies.experiments import winning_rates
from latentbandits_studies.experiments.case import Case, describe_parts
from latentbandits_studies.experiments.paper.worlds import ADDED, COLUMNS, LIBRARY_TWO, TITLES, rows
from latentbandits_studies.experiments.registry import experiment
from latentbandits_studies.experiments.state_library import FIGURES, settings
from latentbandits_studies.experiments.state_library import claims as found_in
from latentbandits_studies.experiments.state_library.settings import (
    ALONE,
    PARTS,
    RIVALS,
    UNLIMITED,
    Rescaled,
    cases,
    successor,
)
from latentbandits_studies.experiments.table2 import settings as table2
from latentbandits_studies.experiments.table2 import tables
from latentbandits_studies.report import page


def regrets(changes: dict[tuple[str, str], float] | None = None, planned: Any = cases) -> pd.DataFrame:
    """Results of a made-up run: the limit has 10, StateLibrary 11, every rival 30 or more, times the factor of the rewards."""
    changes = changes or {}
    known = {LIMIT: 10.0, LIBRARY: 11.0, LIBRARY_TWO: 10.5, f"{LIBRARY}|full": 11.0, FORGETFUL: 12.0}
    lines = []
    for case in planned("quick"):
        plain, scale = case.name.removesuffix(table2.APART), settings.RESCALED.get(case.name, 1.0)
        for place, name in enumerate(case.policies):
            for draw in range(4):
                regret = changes.get((plain, name), known.get(name, 30.0 + place)) * (1 + 0.01 * draw) * scale
                lines.append({"case": case.name, "policy": name, "draw": draw, "repeat": 0, "regret": regret})
    return pd.DataFrame(lines)


def test_the_papers_scores_look_at_the_papers_columns_only() -> None:
    plain, score = regrets(planned=table2.cases), experiment("table2").score
    moved = plain.assign(regret=np.where(plain["policy"].isin(ADDED), 1e6, plain["regret"]))
    assert score(plain) == score(moved) == score(plain[plain["case"].isin(list(rows()))])
    assert not any(name in case.policies for case in winning_rates.cases("quick") for name in ADDED)


def test_table2_shows_added_policies_apart() -> None:
    table = table2.summary(regrets()[lambda frame: frame["case"].str.removesuffix(table2.APART).isin(list(rows()))])
    last = table[table["group"] == table2.ADDED_GROUP]
    assert set(last["policy"]) == set(ADDED)
    assert last.index.min() > table[table["group"] == table2.PAPER_GROUP].index.max()
    assert last["published"].isna().all()
    assert last["ratio"].isna().all()
    assert table[table["policy"].isin(COLUMNS)]["published"].notna().all()
    assert set(table["row"]) == set(rows())


def test_runs_of_added_policies_are_paired_with_the_papers() -> None:
    """They are the first repeats on the same matrices of the same worlds; the rows of the main table are no other cells here."""
    paper = {case.name: case for case in table2.columns("full")}
    for case in table2.added("full"):
        twin = paper[case.name.removesuffix(table2.APART)]
        assert (case.world, case.horizon, case.seed, case.draws) == (twin.world, twin.horizon, twin.seed, twin.draws)
        assert case.repeats <= twin.repeats
        assert tuple(case.policies) == ADDED
        assert case.policies[LIBRARY_TWO] == lb.policy(LIBRARY, arms=case.world.arms, groups=2)
    mine = {(case.name, label): key for case in cases("full") for label, key in case.keys.items()}
    for case in (*table2.columns("full"), *table2.added("full")):
        assert [mine[case.name, label] for label in case.policies] == list(case.keys.values())
    frame = pd.DataFrame(
        [
            {"case": "default", "policy": LIMIT, "draw": 0, "repeat": repeat, "regret": 1.0 + 98 * (repeat == 1)}
            for repeat in range(2)
        ]
        + [{"case": "default" + table2.APART, "policy": LIBRARY, "draw": 0, "repeat": 0, "regret": 2.0}]
    )
    assert found_in.per_matrix(frame)["default"].loc[0].to_dict() == {LIMIT: 1.0, LIBRARY: 2.0}


def test_seeds_of_results_are_not_those_of_tuning() -> None:
    assert {case.seed for case in cases("full")} == {settings.SEED}
    assert settings.SEED not in settings.TUNED_SEEDS


@pytest.mark.parametrize(("states", "share"), [(10, 1.0), (10, 0.8), (3, 0.5)])
def test_chains_have_a_successor(states: int, share: float) -> None:
    chain = successor(states, share, stay=0.9)
    np.testing.assert_allclose(chain.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.diag(chain), 0.9)
    np.testing.assert_allclose(chain[np.arange(states), (np.arange(states) + 1) % states], 0.1 * share)


def test_a_rescaled_world_is_the_same_world_in_another_unit() -> None:
    world = lb.HiddenMarkov(noise=0.1)
    other = Rescaled(world, shift=-3.0, scale=1000.0)
    old, new = (one.realise(horizon=50, groups=2, seed=1, draw=2, repeat=3) for one in (world, other))
    np.testing.assert_allclose(new.means, 1000 * old.means - 3)
    np.testing.assert_allclose(new.rewards, 1000 * old.rewards - 3)
    assert old.truth is not None
    assert new.truth is not None
    np.testing.assert_allclose(new.truth.means, 1000 * old.truth.means - 3)
    np.testing.assert_allclose(new.truth.noise, 1000 * old.truth.noise)
    results = [lb.simulate(one, [LIMIT, LIBRARY], horizon=2000, draws=2, repeats=1).regret for one in (world, other)]
    np.testing.assert_allclose(results[1], 1000 * results[0], rtol=1e-6)
    assert describe_parts(other)["world"] == describe_parts(world)
    policies = {LIMIT: lb.policy(LIMIT)}
    assert (
        Case("a", other, policies, 100, 1).keys[LIMIT]
        != Case("a", Rescaled(world, -3.0, 999.0), policies, 100, 1).keys[LIMIT]
    )
    with pytest.raises(ValueError, match=r"scale is 0\.0 but must be above 0"):
        Rescaled(world, 0.0, 0.0)
    with pytest.raises(ValueError, match="rewards is 'bernoulli' but must be gaussian"):
        Rescaled(lb.HiddenMarkov(rewards="bernoulli"), 0.0, 1.0)


def test_ratios_have_intervals_over_matrices() -> None:
    generator = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        limit = generator.gamma(4.0, 1.0, 64)
        value, low, high = ratio(1.5 * limit + generator.normal(0, 1, 64), limit)
        assert 0 < low < value < high
        inside += low < 1.5 < high
    assert 0.92 < inside / 400 < 0.98
    assert ratio(np.zeros(3), np.ones(3)) == (0.0, 0.0, 0.0)


def test_the_score_holds_where_everything_is_as_wanted() -> None:
    claims = found_in.score(regrets())
    assert {claim.verdict for claim in claims} == {"holds"}
    assert claims[0].published.startswith(f"{14 * len(COLUMNS)} of ")
    assert claims[1].measured.startswith("14 of 14")
    assert claims[-1].measured == "none"


@pytest.mark.parametrize(
    ("case", "name", "regret", "broken"),
    [
        ("default", "lc-ucb", 10.9, [0, 10]),
        ("default", "adarp-ucb-table", 10.4, [0, 1, 10]),
        ("p.95", LIBRARY, 11.3, [2]),
        ("sd.1", LIBRARY, 12.3, [3, 10]),  # the forgetful one has 12
        ("S20", LIBRARY, 12.8, [4, 10]),
        ("S50", LIBRARY, 14.1, [4, 10]),
        ("T1000", LIBRARY, 18.6, [5, 10]),
        ("T5000", LIBRARY, 14.6, [5, 10]),
        ("cyclic chain", LIBRARY, 14.1, [6, 10]),
        ("rewards x 1,000", LIBRARY, 11.2, [7]),
        ("5 arms, noise 0.50", LIBRARY, 13.9, [8, 10]),
        ("5 arms, 500 rounds", "glr-ucb", 10.9, [9, 10]),
        ("drift", "m-ucb", 10.9, [10]),
    ],
)
def test_each_target_can_be_missed(case: str, name: str, regret: float, broken: list[int]) -> None:
    claims = found_in.score(regrets({(case, name): regret}))
    assert [i for i, claim in enumerate(claims) if claim.verdict == "does not hold"] == broken


def test_a_policy_that_needs_no_unit_may_be_far_from_the_limit() -> None:
    """The target is about groups; the distance to the limit has targets of its own."""
    both = {(case, LIBRARY): 25.0 for case in settings.RESCALED}
    claim = next(claim for claim in found_in.score(regrets(both)) if claim.id == "state-library/rescaled")
    assert claim.verdict == "holds"
    assert "ratio 1.00 (1.00 to 1.00)" in claim.measured


def test_every_loss_is_listed() -> None:
    frame = regrets({("drift", "m-ucb"): 5.0, ("seasons", "cp-ts"): 10.9999, ("one state", "ts"): 11.0})
    found = found_in.lost(frame)
    assert found[["case", "policy"]].to_numpy().tolist() == [["drift", "m-ucb"], ["seasons", "cp-ts"]]
    assert "drift: m-ucb 5.075, state-library 11.16 (sure)" in found_in.losses(frame)


def test_where_there_is_no_limit_the_unit_is_the_best_rival() -> None:
    table = found_in.summary(regrets({("drift", "sw-ucb"): 22.0})).set_index(["case", "policy"])
    assert table.loc[("drift", LIBRARY), "group"] == "sw-ucb"
    assert table.loc[("drift", LIBRARY), "multiple"] == pytest.approx(0.5)
    assert table.loc[("default", LIBRARY), "multiple"] == pytest.approx(1.1)
    for case in UNLIMITED:
        assert (case, LIMIT) not in table.index
    assert all((case.name, name) in table.index for case in cases("quick") if case.name in UNLIMITED for name in RIVALS)


def test_parts_are_measured_against_the_full_policy() -> None:
    table = found_in.parts(regrets({("S2" + ALONE, f"{LIBRARY}|no trust"): 22.0})).set_index(["case", "part"])
    assert table.loc[("S2" + ALONE, "no trust"), "ratio"] == pytest.approx(2.0)
    assert table.loc[("S2" + ALONE, "full"), "ratio"] == 1.0
    assert set(table.index.get_level_values(1)) == set(PARTS)
    assert settings.title("S2" + ALONE) == TITLES["S2"]


def test_the_section_says_it_all(tmp_path: Path) -> None:
    frame = regrets({("drift", "m-ucb"): 5.0})
    claims = found_in.score(frame)
    (tmp_path / "figures").mkdir()
    said = page.section(experiment("state-library"), frame, tmp_path, claims, "found")
    assert said.count("<img") == len(FIGURES) == len(list((tmp_path / "figures").iterdir()))
    assert "tuned on worlds of the seeds 1000, 2000, 3000" in said
    assert said.count('<a href="#state-library/') == len(claims) == 11
    plain = re.sub(r"base64,[^\"]*", "", said)
    assert "Where it still loses" in plain
    assert re.search(r"<th scope=\"row\">drift</th>\s*<td>M-UCB</td>\s*<td>5\.075</td>", plain)
    assert not re.search(r"\bnan\b", plain)
    table = tables(frame[frame["case"].str.removesuffix(table2.APART).isin(list(rows()))])
    assert "StateLibrary (groups=2)" in table.split("Policies that the paper does not have</span>")[1]
    assert "<small>paper " not in table.split("</caption>")[-1]


def test_variants_look_and_read_like_what_they_vary() -> None:
    assert style(LIBRARY_TWO) == style(LIBRARY)
    assert label(LIBRARY_TWO) == "StateLibrary (groups=2)"
    assert label("adarp-ucb-stated") == "AdaRP-UCB (stated)"
    assert set(PEERS) < set(RIVALS)
