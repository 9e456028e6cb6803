import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.logs.log import count_gaps

ROWS = 60


def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "at": pd.date_range("2026-01-01", periods=ROWS, freq="h"),
            "banner": random.choice(["red", "blue", "green"], ROWS),
            "click": random.integers(0, 2, ROWS),
            "pscore": np.full(ROWS, 0.25),
            "age": random.normal(size=ROWS),
        }
    )


def same(one: lb.Log, other: lb.Log) -> None:
    assert one.arms == other.arms
    np.testing.assert_array_equal(one.played, other.played)
    np.testing.assert_array_equal(one.rewards, other.rewards)
    np.testing.assert_array_equal(one.times, other.times)
    np.testing.assert_array_equal(one.propensities, other.propensities)


def test_all_formats_give_the_same_log(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    data = frame()
    data.to_csv(tmp_path / "log.csv", index=False)
    data.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    data.to_parquet(tmp_path / "log.parquet")
    plain = lb.Log.read(data)
    assert plain.arms == ("blue", "green", "red")
    assert plain.guessed == ("arm", "reward", "time", "propensity")
    for name in ("log.csv", "semicolons.csv", "log.parquet"):
        same(lb.Log.read(tmp_path / name), plain)
    same(lb.Log.read(arrow.Table.from_pandas(data)), plain)


@pytest.mark.slow
def test_a_frame_of_polars_gives_the_same_log() -> None:
    polars, data = pytest.importorskip("polars"), frame()
    same(lb.Log.read(polars.DataFrame({name: data[name].to_list() for name in data})), lb.Log.read(data))


def test_columns_may_be_named(tmp_path: Path) -> None:
    data = frame().rename(columns={"banner": "x1", "click": "x2", "at": "x3"})
    log = lb.Log.read(data, arm="x1", reward="x2", time="x3", context=["age"])
    same(log, lb.Log.read(frame()))
    np.testing.assert_array_equal(log.context["age"], data["age"])
    assert log.guessed == ("propensity",)
    with pytest.raises(
        lb.InvalidValueError, match=r"column of the reward is None but must be named \(.*\), among x3, x1, x2"
    ):
        lb.Log.read(data)
    with pytest.raises(lb.InvalidValueError, match=r"log: arm is 'y1' but must be one of the columns x3, x1"):
        lb.Log.read(data, arm="y1")
    with pytest.raises(lb.InvalidValueError, match="context is 'x2' but must be one of the columns"):
        lb.Log.read(data, arm="x1", reward="x2", context=["x2"])


def test_bad_rows_are_counted_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    good = "".join(f"2026-02-{day:02d},a,0.5\n" for day in range(1, 21))
    bad = "2026-03-01,b,\n2026-03-02,,1\nsoon,a,0\n2026-03-04,b,much\n2026-03-05,a,1,7\n2026-03-06,b,inf\n"
    path.write_text("at,arm,reward\n" + good + bad)
    log = lb.Log.read(path)
    assert len(log) == 20
    assert {(one.reason, one.rows, one.lines) for one in log.bad} == {
        ("no reward yet (late or lost)", 1, (22,)),
        ("no arm", 1, (23,)),
        ("a time that cannot be read", 1, (24,)),
        ("a reward that is no finite number", 2, (25, 27)),
        ("4 cells instead of 3", 1, (26,)),
    }
    assert "6 rows left out: " in log.text()
    path.write_text('arm,reward\n"a, b",1\n"a, b",0,3\nc,1\n')
    assert (lb.Log.read(path).arms, lb.Log.read(path).left_out) == (
        ("a, b", "c"),
        1,
    )  # quotes are read beside bad lines
    path.write_text("at,arm,reward\n2026-01-01,a,1\n" + bad)
    with pytest.raises(lb.InvalidValueError, match=r"rows that can be used is 1 but must be most of them \("):
        lb.Log.read(path)


def test_feedback_of_open_bandit_pipeline() -> None:
    feedback = {
        "n_rounds": 4, "n_actions": 2, "action": np.array([0, 1, 1, 0]), "reward": np.array([0, 1, 0, 1]),
        "pscore": np.full(4, 0.5), "context": np.ones((4, 2)), "position": None,
    }  # fmt: skip
    log = lb.Log.read(feedback, context=["context_1"])
    assert log.arms == (0, 1)
    assert log.context["context_1"].tolist() == [1, 1, 1, 1]
    with pytest.raises(lb.InvalidValueError, match=r"column of the reward is None .* among actions"):
        lb.Log.read({"actions": [1]})
    with pytest.raises(
        lb.InvalidValueError, match=r"lengths of the columns is \[1, 2\] but must be one length for all"
    ):
        lb.Log.read({"action": [1], "reward": [1, 2]})


def test_time_may_be_dates_seconds_or_rounds_and_is_sorted() -> None:
    data = frame()
    seconds = data.assign(at=data["at"].astype("datetime64[s]").astype(np.int64))
    same(lb.Log.read(seconds), lb.Log.read(data))
    same(lb.Log.read(data.assign(at=data["at"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))), lb.Log.read(data))
    shuffled = lb.Log.read(data.sample(frac=1, random_state=0))
    same(shuffled, lb.Log.read(data))
    assert not shuffled.sorted
    rounds = lb.Log.read(data.assign(at=np.arange(ROWS)))
    assert not rounds.dated
    assert lb.Log.read(data).dated


def test_rounds_units_and_gaps() -> None:
    assert count_gaps(None, None, 3).tolist() == [1, 1, 1]
    minutes = np.datetime64("2026-01-01T00:00") + np.array([0, 1, 2, 3, 4, 200, 201]) * np.timedelta64(1, "m")
    assert count_gaps(minutes, None, 7).tolist() == [1, 1, 1, 1, 1, 196, 1]
    twice = np.repeat(minutes[:4], 2)
    assert count_gaps(twice, np.array([0, 1] * 4), 8).tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    assert count_gaps(twice, None, 8).tolist() == [1] * 8


def test_groups_share_the_state_of_their_round() -> None:
    random = np.random.default_rng(0)
    states = np.repeat(np.arange(800) // 40 % 2, 2)
    arms = random.integers(2, size=1600)
    rewards = np.array([[0.0, 1.0], [1.0, 0.0]])[states, arms] + 0.5 * random.normal(size=1600)
    data = pd.DataFrame(
        {"time": np.repeat(np.arange(800) * 1.5, 2), "subject": [0, 1] * 800, "arm": arms, "reward": rewards}
    )
    d = lb.diagnose(data)
    assert d.regimes
    assert (np.abs(d.state_probs[::2] - d.state_probs[1::2]) < 1e-9).all()
    assert d.fit is not None
    assert d.fit.dwell.mean() == pytest.approx(40, rel=0.4)
    with pytest.raises(lb.InvalidValueError, match="subject is 'subject' but must be given with a time"):
        lb.Log.read(data.drop(columns="time"))


def test_rewards_may_be_words_and_arms_numbers() -> None:
    log = lb.Log.read(pd.DataFrame({"arm": [1.0, 2.0, 1.0, np.nan], "reward": ["true", "False", "0.5", "1"]}))
    assert (log.arms, log.rewards.tolist(), log.left_out) == ((1, 2), [1.0, 0.0, 0.5], 1)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("1,2,3\n4,5,6\n", r"first line of .*log.csv is '1,2,3' but must be the names of the columns"),
        ("arm,arm,reward\n1,2,3\n", "names that all differ"),
        ("arm,reward\n", r"rows that can be used is 0 but must be most of them \(it has no rows\)"),
        ("", "must be the names of the columns"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.raises(lb.InvalidValueError, match=says):
        lb.Log.read(path)


def test_other_things_are_refused(tmp_path: Path) -> None:
    for source in (
        "log.xlsx",
        "log.jsonl",
        pd.DataFrame([[1, 2]], columns=["arm", "arm"]),
        tmp_path / "absent.csv",
        7,
        tmp_path,
    ):
        with pytest.raises(lb.InvalidValueError, match=r"^log: "):
            lb.Log.read(source)
    (tmp_path / "log.parquet").write_bytes(b"no parquet")
    with pytest.raises(lb.InvalidValueError, match="must be a log that can be read"):
        lb.Log.read(tmp_path / "log.parquet")
    with pytest.raises(lb.InvalidValueError, match=r"at most 1000"):
        lb.Log.read(pd.DataFrame({"arm": np.arange(2000), "reward": np.zeros(2000)}))


def test_a_log_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("timestamp,arm,reward,propensity\n" + "".join(f"{t},{t % 2},0.{t % 9},0.5\n" for t in range(50)))
    with pytest.raises(lb.InvalidValueError, match=r"it is a log, .* which `latentbandits diagnose` reads"):
        lb.Problem(kind="recorded", file=str(path))
    path.write_text("red,blue\n" + "".join(f"0.{t % 7},0.{t % 9}\n" for t in range(50)))
    assert lb.Problem(kind="recorded", file=str(path)).arms == 2


def test_numbers_may_have_decimal_commas_where_semicolons_separate(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("at;arm;reward\n" + "".join(f"{t};{'ab'[t % 2]};{t},5\n" for t in range(6)))
    assert lb.Log.read(path).rewards.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]


def dated(cells: list[str], day_first: bool | None = None) -> tuple[list[str], list[str]]:
    columns = {"at": cells, "arm": [0, 1] * (len(cells) // 2), "reward": np.arange(len(cells)) / 7}
    log = lb.Log.read(columns, day_first=day_first)
    assert log.times is not None
    assert log.clock is not None
    return log.times.astype("datetime64[m]").astype(str).tolist(), log.clock.astype("datetime64[m]").astype(
        str
    ).tolist()


def test_days_and_months_are_told_by_the_column_as_a_whole() -> None:
    march = [f"{day:02d}.03.2025 12:00" for day in range(1, 31)]
    for cells in (march, [cell.replace(".", "/") for cell in march]):
        assert dated(cells)[0] == [f"2025-03-{day:02d}T12:00" for day in range(1, 31)]
    assert dated([f"03/{day:02d}/2025" for day in range(1, 31)])[0][-1] == "2025-03-30T00:00"
    unclear = [f"{day}/3/2025" for day in range(1, 13)]
    with pytest.raises(lb.InvalidValueError, match=r"day_first=True or False, --day-first yes or no, settles it"):
        dated(unclear)
    assert dated(unclear, day_first=True)[0][-1] == "2025-03-12T00:00"
    assert dated(unclear, day_first=False)[0][-1] == "2025-12-03T00:00"
    assert dated([cell.replace("/", ".") for cell in unclear])[0][-1] == "2025-03-12T00:00"


def test_the_calendar_has_the_local_time() -> None:
    times, clock = dated(["2026-03-29T01:30:00+01:00", "2026-03-29T03:10:00+02:00"])
    assert times == ["2026-03-29T00:30", "2026-03-29T01:10"]
    assert clock == ["2026-03-29T01:30", "2026-03-29T03:10"]
    log, naive = (
        lb.Log.read(frame().assign(at=lambda data: data["at"].dt.tz_localize("Asia/Tokyo"))),
        lb.Log.read(frame()),
    )
    np.testing.assert_array_equal(log.clock, naive.times)
    np.testing.assert_array_equal(log.times + np.timedelta64(9, "h"), naive.times)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["propensity_score", "pscore", "probability", "action_prob"])
def test_a_propensity_is_never_the_reward(name: str) -> None:
    data = {"arm": [0, 1, 0, 1], name: [0.5] * 4}
    with pytest.raises(lb.InvalidValueError, match="column of the reward is None"):
        lb.Log.read(data)
    assert lb.Log.read({**data, "score": [1, 2, 3, 4]}).columns == {"arm": "arm", "reward": "score", "propensity": name}


def test_both_missing_columns_are_named_at_once() -> None:
    with pytest.raises(lb.InvalidValueError) as problem:
        lb.Log.read({"x1": [1, 2], "x2": [1, 2]})
    assert str(problem.value) == (
        "log: column of the arm and column of the reward is None but must be named (arm=... or --arm, reward=... or --reward), among x1, x2"
    )


def test_copies_and_retries_are_found_and_counted() -> None:
    data = frame().assign(click=np.random.default_rng(1).normal(size=ROWS))
    twice = pd.concat([data, data.iloc[:10]])
    assert [(bad.reason, bad.rows) for bad in lb.Log.read(twice).bad] == [
        ("a copy of a row before, in all columns", 10)
    ]
    retried = data.loc[np.repeat(np.arange(ROWS), 1 + (np.arange(ROWS) % 5 == 0))]
    retried["at"] = pd.date_range("2026-01-01", periods=len(retried), freq="h")
    (bad,) = lb.Log.read(retried).bad
    assert (bad.rows, "would look like drift" in bad.reason) == (12, True)
    clicks = pd.concat([frame().assign(at="2026-01-01", age=0)] * 2)
    assert lb.Log.read(clicks).left_out == 0  # where many rows share a time, equal ones are several decisions


@pytest.mark.parametrize("form", ["cp1252", "utf-16", "gz", "sep", "quoted"])
def test_files_as_other_programs_write_them(tmp_path: Path, form: str) -> None:
    text = "arm;reward\n" + "café;Y\nthé;N\n" * 3
    path, content = tmp_path / "log.csv", text.encode(form if form in ("cp1252", "utf-16") else "utf-8")
    if form == "gz":
        path, content = tmp_path / "log.csv.gz", gzip.compress(content)
    if form == "sep":
        content = b"sep=;\r\n" + content
    if form == "quoted":
        content = content.replace(b"arm;reward", b'"arm";"reward"') + b'"caf\xc3\xa9";1;2\n'
    path.write_bytes(content)
    log = lb.Log.read(path)
    assert (log.arms, log.rewards.tolist()) == (("café", "thé"), [1.0, 0.0] * 3)
    assert [bad.lines for bad in log.bad] == ([(8,)] if form == "quoted" else [])


def test_advice_on_a_log_says_what_to_type(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,reward\n1,2\n")
    with pytest.raises(lb.InvalidValueError, match=r"`latentbandits diagnose .*log.csv`, then `latentbandits advise"):
        lb.advise(tmp_path / "log.csv")
