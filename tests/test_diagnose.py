import json
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.agent.feeding import FeedWarning
from latentbandits.logs import diagnose as diagnose_module
from latentbandits.logs.conclusion import conclude, list_contenders
from latentbandits.logs.diagnose import combine_stretches
from latentbandits.logs.hypothesis import Hypothesis
from latentbandits.protocols import Choice

MEANS = [[0.2, 0.8, 0.5], [0.9, 0.3, 0.5]]
TIMES = np.datetime64("2026-01-05T00:00") + np.arange(3000) * np.timedelta64(10, "m")


def data(means: np.ndarray, noise: float = 0.3, seed: int = 0) -> pd.DataFrame:
    """Return a log of means (rows, arms), played at random."""
    random = np.random.default_rng(seed)
    rows, arms = means.shape
    played = random.integers(arms, size=rows)
    rewards = means[np.arange(rows), played] + noise * random.normal(size=rows)
    names = np.array(["red", "green", "blue"])[:arms]
    return pd.DataFrame({"at": TIMES[:rows], "banner": names[played], "revenue": rewards, "propensity": 1 / arms})


def regimes(rows: int = 2000, seed: int = 1) -> pd.DataFrame:
    return data(lb.HiddenMarkov(means=MEANS, dwell=50).realise(rows, 1, seed, 0, 0).means, seed=seed)


@cache
def diagnosed() -> lb.Diagnosis:
    return lb.diagnose(regimes())


def test_regimes_are_found_with_their_numbers() -> None:
    d = diagnosed()
    assert d.regimes
    assert d.conclusion.kind == "regimes"
    assert d.fit is not None
    assert d.fit.num_states == 2
    rows = d.table[d.table["arm"] == "red"].sort_values("mean")
    assert rows["mean"].tolist() == pytest.approx([0.2, 0.9], abs=0.06)
    assert (d.table["low"] < d.table["mean"]).all()
    assert (d.table["dwell_low"] < 60).all()
    assert (d.table["dwell_high"] > 40).all()
    assert d.useful
    # half of the time each: 0.85 by following, 0.55 by the best single arm
    assert d.gain[0] == pytest.approx(0.3, abs=0.07)
    truth = lb.HiddenMarkov(means=MEANS, dwell=50).realise(2000, 1, 1, 0, 0)
    best = np.array(MEANS).argmax(axis=1)[truth.states]
    model = d.model
    assert model is not None
    named = np.array(d.log.arms)[model.means.argmax(axis=1)][d.path]
    assert (named == np.array(["red", "green", "blue"])[best]).mean() > 0.9
    lost = np.array(MEANS)[truth.states].max(axis=1).sum() - truth.means[np.arange(2000), _played(d)].sum()
    assert d.regret[0] == pytest.approx(lost, rel=0.1)


def _played(d: lb.Diagnosis) -> np.ndarray:
    places = {"red": 0, "green": 1, "blue": 2}
    return np.array([places[str(d.log.arms[arm])] for arm in d.log.played])


def test_other_causes_are_named() -> None:
    random = np.random.default_rng(3)
    time = np.arange(1500)
    level = np.full((1500, 3), (0.3, 0.5, 0.4))
    noise = np.zeros(1500)
    for t in range(1, 1500):
        noise[t] = 0.9 * noise[t - 1] + 0.3 * random.normal()
    hours = 0.5 * np.sin(2 * np.pi * time / 144)[:, None]
    drifting = level + np.cumsum(0.03 * random.normal(size=(1500, 3)), axis=0)
    once = level + np.where(time[:, None] < 650, 0.0, (0.5, -0.3, 0.1))
    found = {
        "nothing": data(level),
        "autocorrelation": data(level + noise[:, None]),
        "drift": data(drifting),
        "changes": data(once),
        "calendar": data(level + hours),
    }
    for kind, log in found.items():
        d = lb.diagnose(log)
        assert d.conclusion.kind == kind
        assert not d.regimes
        assert d.text()


def test_context_is_taken_out_and_said() -> None:
    log = regimes(1000)
    age = np.random.default_rng(9).normal(size=len(log))
    log["revenue"] += 0.8 * age
    d = lb.diagnose(log.assign(age=age, shoe=age[::-1]), context=["age", "shoe"])
    assert d.regimes
    assert [(one.name, one.used) for one in d.covariates] == [("age", True), ("shoe", False)]
    assert d.covariates[0].share > 0.5
    assert "age explains" in d.text()


def test_context_of_clicks_is_taken_out_of_their_log_odds() -> None:
    random = np.random.default_rng(5)
    rows = 2500
    world = lb.HiddenMarkov(means=[[0.1, 0.6], [0.7, 0.2]], dwell=80, noise=0.0).realise(rows, 1, 3, 0, 0)
    arms, age = random.integers(2, size=rows), random.normal(size=rows)
    share = world.means[np.arange(rows), arms]
    odds = np.log(share / (1 - share)) + 2.0 * age
    clicks = (random.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)
    frame = pd.DataFrame({"arm": arms, "click": clicks, "age": age, "shoe": age[::-1]})
    d = lb.diagnose(frame, context=["age", "shoe"])
    assert [(one.name, one.used) for one in d.covariates] == [("age", True), ("shoe", False)]
    assert d.series.binary
    # less than 2: log-odds are flatter on average over states, which are not known yet when the context is taken out
    assert 1.4 < d.offsets.std() < 2.0
    assert d.regimes
    assert d.model is not None
    assert set(d.model.means.argmax(axis=1)) == {0, 1}


def test_clicks_have_regimes_too() -> None:
    world = lb.HiddenMarkov(means=[[0.1, 0.6], [0.7, 0.2]], dwell=80, rewards="bernoulli").realise(3000, 1, 3, 0, 0)
    arms = np.random.default_rng(3).integers(2, size=3000)
    d = lb.diagnose({"action": arms, "reward": world.rewards[np.arange(3000), 0, arms]})
    assert d.regimes
    assert d.model is not None
    assert ((d.model.means > 0) & (d.model.means < 1)).all()
    assert sorted(d.model.means[:, 0]) == pytest.approx([0.1, 0.7], abs=0.08)
    comparison = d.compare(["ucb1"], horizon=300, runs=4)
    assert "bayes-planner" in comparison.table.index


def test_it_is_deterministic_and_saved_exactly(tmp_path: Path) -> None:
    d = diagnosed()
    assert lb.diagnose(regimes(600)).json() == lb.diagnose(regimes(600)).json()
    d.save(tmp_path / "d.npz")
    again = lb.Diagnosis.load(tmp_path / "d.npz")
    assert again.json() == d.json()
    np.testing.assert_array_equal(again.state_probs, d.state_probs)
    (tmp_path / "other.npz").write_bytes(b"no")
    for name in ("other.npz", "absent.npz"):
        with pytest.raises(lb.InvalidValueError, match="must be a diagnosis"):
            lb.Diagnosis.load(tmp_path / name)


def test_policies_are_compared_on_what_the_log_leaves_open() -> None:
    d = diagnosed()
    comparison = d.compare(["ucb1", "random"], horizon=400, runs=6)
    assert set(comparison.table.index) >= {"ucb1", "random", "best-single-arm", "bayes-planner"}
    assert np.ptp(comparison.results.regret[0]) > 0
    fitted = d.worlds["regimes"].realise(50_000, 1, 0, 0, 0)
    spread = (fitted.rewards - fitted.means[:, None]).std()
    assert spread == pytest.approx(0.3, abs=0.02)


def test_advice_follows_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    d = diagnosed()
    advice = lb.advise(d, ["ucb1", "random"], horizon=300, runs=8, sweep=False)
    assert advice.winner == "ucb1"
    assert "by one hypothesis of the log: regimes" in advice.text()
    d.save(tmp_path / "d.npz")
    args = ["advise", str(tmp_path / "d.npz"), "--policies", "ucb1", "random", "--horizon", "300", "--runs", "8"]
    assert cli.main([*args, "--no-sweep", "--out", str(tmp_path / "advice.html")]) == 0
    assert "use ucb1" in capsys.readouterr().out
    assert (tmp_path / "advice.html").exists()


def test_below_the_margin_all_in_the_race_are_advised_on() -> None:
    found = [
        Hypothesis(kind, False, 0.0, 0, score) for kind, score in (("regimes", 25.0), ("drift", 21.0), ("nothing", 0.0))
    ]
    conclusion = conclude(found)
    assert conclusion.kind == "undecided"
    assert [one.kind for one in list_contenders(found, conclusion)] == ["regimes", "drift"]
    clear = [found[0]._replace(score=60.0), *found[1:]]
    assert [one.kind for one in list_contenders(clear, conclude(clear))] == ["regimes"]


def test_a_shape_raises_the_margin_and_stretches_add_up() -> None:
    found = [Hypothesis("regimes", False, 0.0, 0, 35.0, 200.0), Hypothesis("nothing", False, 0.0, 0, 0.0)]
    assert conclude(found).needed == 30.0
    assert conclude(found).kind == "regimes"
    assert conclude([found[0]._replace(shape_gain=300.0), found[1]]).kind == "undecided"
    both = combine_stretches([found, list(reversed(found))])
    assert [(one.kind, one.score, one.shape_gain) for one in both] == [("regimes", 70.0, 400.0), ("nothing", 0.0, 0.0)]


def test_an_agent_goes_on_from_the_log(tmp_path: Path) -> None:
    d = diagnosed()
    agent, twin = d.agent("sw-ucb", seed=3, compiled=False), d.agent("sw-ucb", seed=3, compiled=False)
    assert agent.arms == d.log.arms
    np.testing.assert_array_equal(agent.memory.sums, twin.memory.sums)
    agent.save(tmp_path / "agent")
    restored = lb.Agent.load(tmp_path / "agent", compiled=False)
    assert [restored.ask().arm for _ in range(5)] == [agent.ask().arm for _ in range(5)]
    other = d.agent("sw-ucb", arms=["red", "new"], compiled=False)
    assert other.arms == ("red", "new")
    assert set(other.retired) == {"green", "blue"}
    fewer = lb.Agent("sw-ucb", arms=["red", "black"], compiled=False)
    fewer.feed(d.log)
    assert fewer.arms == ("red", "black")
    assert set(fewer.retired) == {"green", "blue"}


def test_feeding_is_asking_with_one_arm_on_offer() -> None:
    log = lb.Log.read(regimes(600))
    fed = lb.Agent("d-ucb", arms=list(log.arms), compiled=False)
    fed.feed(log)
    policy = lb.policy("d-ucb", arms=3)
    memory, choice = policy.init(), Choice.blank(policy)
    for arm, reward in zip(log.played, log.rewards, strict=True):
        choice.arm_scores["available"] = np.arange(3) == arm
        policy.choose(memory, np.zeros(0), np.zeros(1, np.uint64), choice)
        policy.learn(memory, choice, np.array([reward]))
    for one, other in zip(fed.memory, memory, strict=True):
        np.testing.assert_allclose(
            one.view(np.float64) if one.dtype.names else one, other.view(np.float64) if other.dtype.names else other
        )


def test_feeding_claims_nothing() -> None:
    log = lb.Log.read(regimes(600))
    agent = lb.Agent("state-library", arms=list(log.arms), compiled=False)
    agent.feed(log)
    trust = agent.memory.trust
    np.testing.assert_array_equal(trust.plays, np.bincount(log.played))
    assert not trust.claims["number"].any()
    assert not trust.checked["rounds"].any()
    assert trust.core[0]["cost"] == trust.core[0]["gained"] == 0.0
    assert len(agent.belief.states) == 2
    with pytest.warns(FeedWarning, match="ABTest has learned nothing"):
        lb.Agent("ab-test", arms=list(log.arms), compiled=False).feed(log)


def test_feeding_is_the_same_compiled_and_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    log = lb.Log.read(regimes(600))
    agents = []
    for short in (0, 10_000):
        monkeypatch.setattr("latentbandits.agent.feeding.SHORT", short)
        agents.append(lb.Agent("epsilon-greedy", arms=list(log.arms), seed=2, compiled=False))
        agents[-1].feed(log)
    for one, other in zip(agents[0].memory, agents[1].memory, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [agents[0].ask().arm for _ in range(50)] == [agents[1].ask().arm for _ in range(50)]


def test_feeding_refuses_and_warns() -> None:
    log = lb.Log.read(regimes(600))
    with pytest.warns(FeedWarning, match="UCB1 gets worse") as caught:
        lb.Agent("ucb1", arms=list(log.arms), compiled=False).feed(log)
    assert caught[0].filename == __file__
    with pytest.raises(lb.InvalidValueError, match="groups is 2 but must be 1"):
        lb.Agent(lb.policy("state-library", arms=3, groups=2), compiled=False).feed(log)
    agent = lb.Agent("sw-ucb", arms=list(log.arms), compiled=False)
    agent.ask()
    with pytest.raises(lb.InvalidValueError, match="open decisions is 1 but must be 0"):
        agent.feed(log)
    with pytest.raises(lb.InvalidValueError, match="must be a log"):
        agent.feed([1, 2])


def refused(log: object) -> str:
    with pytest.raises(lb.InvalidValueError) as problem:
        lb.diagnose(log)
    return str(problem.value)


def test_logs_that_say_nothing_are_refused() -> None:
    log = regimes(600)
    assert "rows is 400 but must be at least 500" in refused(log[:400])
    assert "not the same in all rows" in refused(log.assign(revenue=1.0))
    assert "at least two" in refused(log.assign(banner="red"))
    assert "cannot be told apart" in refused(log.assign(banner=np.where(np.arange(600) < 300, "a", "b")))
    tied = log.assign(revenue=np.where(np.arange(600) % 2, 0.0, log["revenue"]))
    assert "50 % are 0 (log.above(0), or --above 0, makes 0 and 1)" in refused(tied)
    assert "rewards is [-1.0, 3.0] but must be 0 and 1" in refused(
        log.assign(revenue=np.where(log["revenue"] > 0.5, 3, -1))
    )
    assert "a millionth of their size" in refused(log.assign(revenue=log["revenue"] + 1e9))
    assert "arms is 200 but must be few enough" in refused(log.assign(banner=np.arange(600) % 200))
    assert set(lb.Log.read(tied).above(0).rewards) == {0.0, 1.0}


def test_the_command_writes_a_page_and_the_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = tmp_path / "log.csv", tmp_path / "d.html"
    regimes(1000).replace({"banner": {"blue": "青"}}).to_csv(path, index=False)
    assert cli.main(["diagnose", str(path), "--out", str(page), "--no-compare"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("There are regimes: ")
    assert "arm = banner (guessed)" in said
    content = page.read_text()
    assert content.count("<svg") == 0
    assert content.count("data:image/svg+xml;base64") == 2
    assert "http://" not in content.replace("http://www.w3.org", "")
    assert lb.Diagnosis.load(tmp_path / "d.npz").regimes
    assert cli.main(["diagnose", str(tmp_path / "d.npz"), "--out", str(page), "--no-compare", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["conclusion"] == "regimes"
    assert len(values["table"]) == 6
    assert values["rewards"] == "normal"
    assert cli.main(["diagnose", str(path), "--above", "0.5", "--out", str(page), "--no-compare", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rewards"] == "binary"
    assert cli.main(["diagnose", str(path), "--arm", "bannner", "--out", str(page)]) == 2
    assert "did you mean banner?" in capsys.readouterr().err


def _shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a log of 1,000 rows a long one."""
    monkeypatch.setattr(diagnose_module, "LONG", 900)
    monkeypatch.setattr(diagnose_module, "STRETCH", 500)
    monkeypatch.setattr(diagnose_module, "RECOUNT", 900)


def test_a_long_log_is_diagnosed_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    _shorten(monkeypatch)
    assert lb.diagnose(regimes(1000)).regimes


@pytest.mark.parametrize("wanted", [0, 1])
def test_an_interrupt_in_any_thread_ends_the_others(wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _shorten(monkeypatch)
    calls: dict[int, int] = {}  # by thread, in the order of their first calls
    after: list[int] = []

    def interrupt(done: int, total: int | None) -> None:
        me = threading.get_ident()
        calls[me] = calls.get(me, 0) + 1
        if after:
            after.append(done)
            time.sleep(0.05)  # long enough for the interrupt to be noticed elsewhere
        elif list(calls).index(me) == wanted and calls[me] == 5:
            after.append(done)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lb.diagnose(regimes(1000), progress=interrupt)
    assert len(after) < 60


def test_an_interrupted_comparison_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fit, page = tmp_path / "d.npz", tmp_path / "d.html"
    diagnosed().save(fit)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    args = ["diagnose", str(fit), "--out", str(page), "--policies", "ucb1"]
    monkeypatch.setattr("latentbandits.logs.diagnosis.LONGEST", 200)
    with monkeypatch.context() as patched:
        patched.setattr(lb.Diagnosis, "compare", interrupted)
        assert cli.main(args) == 130
    said = capsys.readouterr()
    assert f"latentbandits {' '.join(args)}" in said.err
    assert said.out == f"{diagnosed().text()}\n"  # the verdict does not wait for policies
    assert "What policies would earn" not in page.read_text()
    assert cli.main([*args, "--json"]) == 0
    assert "What policies would earn" in page.read_text()


def test_an_interrupt_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, page = tmp_path / "log.csv", tmp_path / "d.html"
    regimes(600).to_csv(path, index=False)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("latentbandits.logs.regimes.fit_volatility", interrupted)
    assert cli.main(["diagnose", str(path), "--out", str(page)]) == 130
    assert sorted(one.name for one in tmp_path.iterdir()) == ["log.csv"]


def test_hypotheses_have_probabilities_and_the_page_says_what_it_leaves_out() -> None:
    d = diagnosed()
    assert sum(d.probabilities.values()) == pytest.approx(1.0)
    assert d.probabilities["regimes"] > 0.9
    assert "have a curve" not in d.page()
    random = np.random.default_rng(0)
    arms = random.integers(20, size=1200)
    many = lb.diagnose({"arm": arms, "reward": random.normal(size=1200)})
    assert "The 6 arms of 20 that were played most have a curve; 12 have a row below." in many.page()
    assert many.conclusion.kind == "nothing"
    assert max(many.probabilities, key=many.probabilities.__getitem__) == "nothing"
