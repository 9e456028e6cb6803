"""Whether a policy is worth it: every verdict, from regrets made by hand, and what text, table, figure and page make of it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.advice.base import BaseProblem
from latentbandits.advice.compare import Comparison, has_limit, is_record, rank
from latentbandits.advice.figures import plotted_policies
from latentbandits.advice.problem import as_problem
from latentbandits.advice.worth import FLAT, NO_ROOM, SINGLE, TIED, UNKNOWN, WORSE, WORTH, Worth, judge, sentences
from latentbandits.policies.groups import LIMIT
from latentbandits.simulation.results import Results

LONG = "state-library:noise=0.424264,low=-500,high=3000,groups=1"
SPREAD = np.linspace(-1, 1, 11)  # of the runs: a standard error of 0.2


def runs(**means: float) -> dict[str, np.ndarray]:
    """Return regret per run with given means; underscores are hyphens."""
    noise = [SPREAD, SPREAD[::-1]]  # references and policies are not paired perfectly
    return {
        name.replace("_", "-"): np.maximum(mean + noise[i % 2] * (mean > 0), 0.0) for i, (name, mean) in enumerate(means.items())
    }  # fmt: skip


def found(policy: str = "ts", record: bool = False, **means: float) -> Worth:
    regret = runs(**means)
    renamed = {LIMIT if name == "limit" else name: values for name, values in regret.items()}
    ranked = [name for name in renamed if name not in (LIMIT, SINGLE, "random")]
    return judge(renamed, policy, ranked, record)


def first(worth: Worth, record: bool = False) -> str:
    return " ".join(sentences(worth, record))


def test_worth_it_is_said_with_shares() -> None:
    one = found(limit=50, best_single_arm=450, random=900, ts=90)
    assert one.verdict == WORTH
    assert one.relative_gain == pytest.approx(0.8)
    assert one.of_the_limit == pytest.approx(0.9)
    assert first(one) == (
        "Worth it: ts has 80 % less regret than always playing the best single arm (90.00 against 450.0), 90 % of what the limit gains."
    )
    unlimited = found(best_single_arm=450, random=900, ts=90)
    assert unlimited.verdict == WORTH
    assert first(unlimited).endswith("(90.00 against 450.0).")


def test_not_worth_it_names_the_single_arm_first() -> None:
    one = found(limit=400, best_single_arm=502, random=2900, ts=701)
    assert one.verdict == WORSE
    assert first(one) == (
        "Not worth it: always playing the best single arm costs 502.0 regret, less than every policy here (best: ts, 701.0, +40 %). "
        "Find that arm once, and stay with it."
    )
    assert found(best_single_arm=502, random=2900, ts=701).verdict == WORSE
    assert "(best: ts, 701.0)" in first(found(best_single_arm=0, random=2900, ts=701))


def test_what_cannot_be_distinguished_is_not_shown() -> None:
    better, worse = (found(limit=10, best_single_arm=100, ts=regret, random=200) for regret in (99.9, 100.1))
    assert better.verdict == worse.verdict == TIED
    assert better.low < 0 < better.high
    assert "ts, 99.90: 0.100 less, which may be chance (95 % interval -0." in first(better)
    assert "ts, 100.1: 0.100 more, which may be chance (95 % interval -0." in first(worse)
    assert first(better).endswith("More runs may show that it is.")
    assert first(worse).endswith("Find that arm once, and stay with it.")


def test_where_even_the_limit_gains_nothing_no_policy_can_help() -> None:
    one = found(limit=495, best_single_arm=500, random=2900, ts=701)
    assert one.verdict == NO_ROOM
    assert first(one).startswith(
        "Not worth it: always playing the best single arm costs 500.0 regret, and even the limit, a planner"
    )
    assert "no policy can exploit regimes here" in first(one)
    assert found(limit=440, best_single_arm=500, random=2900, ts=701).verdict == WORSE  # 2 % of the attainable reward
    # one state: the best single arm is the best arm of every round
    assert found(limit=0, best_single_arm=0, random=2900, ts=20).verdict == NO_ROOM


def test_nothing_to_learn_and_single_runs_are_not_judged() -> None:
    assert first(found(limit=0, best_single_arm=0, random=0, ts=0)).startswith(
        "Not worth it: no arm is better than another"
    )
    assert found(limit=0, best_single_arm=0, random=0, ts=0).verdict == FLAT
    record = found(record=True, best_single_arm=500, random=900, ts=400)
    assert record.verdict == UNKNOWN
    assert first(record, record=True) == (
        "On this record ts has the least regret of the policies, 400.0: 20 % less than always playing the best single arm (500.0)."
    )
    alone = judge({"ts": np.ones(1), SINGLE: np.ones(1), "random": np.ones(1), LIMIT: np.ones(1)}, "ts", ["ts"])
    assert alone.verdict == UNKNOWN
    assert "In this one run ts" in first(alone)
    assert "about as much as always playing" in first(alone)
    assert "20.00: more than always" in first(found(record=True, best_single_arm=0, random=900, ts=20), record=True)
    assert "20 % more than" in first(found(record=True, best_single_arm=500, random=900, ts=600), record=True)


def test_what_finds_the_arm_at_least_cost_is_advised() -> None:
    dear = judge(
        runs(best_single_arm=502, random=2900, ts=701) | {"ab-test:test=99": 900 + SPREAD},
        "ts",
        ["ts", "ab-test:test=99"],
    )
    assert dear.instead == "To find that arm, ts is cheaper than an A/B test (ab-test:test=99: 900.0)."
    near = judge(runs(best_single_arm=502, random=2900, ts=701) | {"ab-test": 701.1 - SPREAD}, "ts", ["ts", "ab-test"])
    assert near.instead == "To find that arm, ts is not shown to be cheaper than an A/B test (ab-test: 701.1)."
    itself = judge(runs(best_single_arm=502, random=2900) | {"ab-test": 600 - SPREAD}, "ab-test", ["ab-test"])
    assert itself.instead == "Find that arm with an A/B test (ab-test: 600.0)."


def comparison(problem: BaseProblem, regret: Mapping[str, np.ndarray], *asked: str) -> Comparison:
    """Return a comparison of regrets made by hand, which fall into two bins."""
    bins = np.array([np.stack([values / 4, 3 * values / 4], axis=1) for values in regret.values()])
    counts = {"probes": np.zeros(bins.shape[:2], int)}
    results = Results(tuple(regret), 1000, bins.shape[1], 1, 0, bins, np.full(bins.shape, 0.5), counts)
    made = {label: lb.policy(label) for label in regret}
    return rank(problem, {label: label for label in asked}, made, results)


def test_text_and_table_stay_aligned_and_have_thousands() -> None:
    regret = {
        LIMIT: 90_000 + SPREAD,
        SINGLE: 3_000_000 + SPREAD,
        "random": 9_000_000 + SPREAD,
        LONG: 2_714_463 + SPREAD,
        "ts": 5.0 + SPREAD,
    }
    one = comparison(lb.Problem(), regret, LONG, "ts")
    assert one.ranked == ["ts", LONG]
    assert one.table.loc[LONG, "share"] == pytest.approx(2_714_463 / 9_000_000)
    lines = one.text().splitlines()
    assert lines[0].startswith(
        "Worth it: ts has 100 % less regret than always playing the best single arm (5.000 against 3,000,000)"
    )
    rows = lines[2:8]
    assert len({len(line) for line in rows}) == 1
    assert "2,714,463" in one.text()
    assert " 30.2 % " in one.text()
    assert "what that oracle earns more than random play" in lines[8]
    assert "2,714,463" in one.page()
    axes = one.figure().axes[0]
    assert "8,000,000" in axes.yaxis.get_major_formatter().format_ticks([8e6])


def test_oracles_that_were_asked_for_are_plotted() -> None:
    regret = {
        "state-oracle": 0 * SPREAD,
        LIMIT: 9 + SPREAD,
        SINGLE: 30 + SPREAD,
        "ts": 15 + SPREAD,
        "random": 90 + SPREAD,
    }
    one = comparison(lb.Problem(), regret, "ts", "state-oracle")
    assert plotted_policies(one) == ["ts", "state-oracle", LIMIT, SINGLE]
    assert [np.asarray(line.get_ydata())[-1] for line in one.figure().axes[0].get_lines()] == pytest.approx(
        [15, 0, 9, 30]
    )
    assert one.figure().axes[0].get_ylim()[0] < 0  # the line at 0 can be seen
    asked = comparison(lb.Problem(), regret, "ts", "random")
    assert plotted_policies(asked)[:2] == ["ts", "random"]
    assert asked.ranked == ["ts", "random"]


def test_worlds_without_a_limit_and_with_oracles_only(tmp_path: Path) -> None:
    one = comparison(lb.Problem(kind="drift"), {SINGLE: 30 + SPREAD, "ts": 15 + SPREAD, "random": 90 + SPREAD}, "ts")
    assert "limit" not in one.text().splitlines()[0]
    assert "planner" not in one.text()
    assert np.isnan(one.table["x_limit"]).all()
    alone = comparison(lb.Problem(), {LIMIT: 3 + SPREAD, SINGLE: 30 + SPREAD, "random": 90 + SPREAD}, LIMIT)
    assert alone.worth is None
    assert alone.text().startswith("11 runs of 1,000 rounds")
    assert "<h1>11 runs of 1,000 rounds</h1>" in alone.page()
    alone.save(tmp_path / "a.json")


def test_a_policy_that_gains_is_worth_it_whatever_the_limit_says() -> None:
    """One with several groups, say: the limit plays one arm for all."""
    assert found(limit=449.9, best_single_arm=450, random=900, ts=90).verdict == WORTH


def test_rare_rewards_are_no_record_and_what_reads_the_context_has_no_limit() -> None:
    rare = lb.HiddenMarkov(means=[[1e-4, 2e-4]], rewards="bernoulli")
    assert not is_record(as_problem(rare), seed=1)
    assert not is_record(lb.Problem(rewards="bernoulli", means="0 to 0.0001"), seed=1)
    assert is_record(as_problem(lb.WithAvailability(lb.Replay([[0.0, 1.0]] * 9), np.ones((9, 2)))), seed=1)
    assert has_limit(rare)
    assert not has_limit(lb.HiddenMarkov(reveal="state"))
