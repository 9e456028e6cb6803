"""The field study: readers on small files in the formats of public repositories, the replay check, the rule, and its verdicts."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from latentbandits.beliefs import ArmRegimes, Belief, Level, Remembered
from latentbandits.cli import main
from latentbandits.policies.groups import FORGETFUL, LIBRARY
from latentbandits.settings import InvalidValueError
from latentbandits.specs import policy as made
from latentbandits_studies.data import traces
from latentbandits_studies.data.formats import COUNTRIES, LEARNED, columns, pings, prices, servers, zones
from latentbandits_studies.data.replays import repeats
from latentbandits_studies.data.traces import RECORDED, SOURCES, VARIABLE, Trace
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TIED
from latentbandits_studies.experiments.field import claims, expected, settings
from latentbandits_studies.experiments.field.rule import DRIFT, NEITHER, REFUSED, REGIMES, traits
from latentbandits_studies.experiments.real.statistics import by_step, over_time
from latentbandits_studies.experiments.registry import experiment, experiments

SPOT, SEATTLE, PINGS, EMBER = (Path(source.place) for source in SOURCES)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def spot(folder: Path, data: dict[str, list[object]], nodes: int = 1, gap: float = 60.0) -> Path:
    place = folder / SPOT / f"{nodes}-node" / "set"
    for zone, values in data.items():
        write(place / f"{zone}.json", json.dumps({"metadata": {"gap_seconds": gap}, "data": values}))
    return place


def seattle(folder: Path, slices: int = LEARNED + 3, machines: int = 7) -> Path:
    random = np.random.default_rng(0)
    for number in range(1, slices + 1):
        square = random.uniform(0.1, 1, (machines, machines)).round(2)
        write(folder / SEATTLE / f"SeattleData_{number}", "\n".join("\t".join(map(str, line)) for line in square))
    return folder / SEATTLE


def ping(folder: Path, carrier: str, begin: str, started: int, times: list[float]) -> Path:
    lines = [f"Start time: {started}", f"[{begin}.000000] PING 1.2.3.4 (1.2.3.4) 38(66) bytes of data."]
    lines += [
        f"[{begin}.{n:06}] 46 bytes from 1.2.3.4: icmp_seq={n} ttl=49 time={time} ms" for n, time in enumerate(times)
    ]
    return write(folder / PINGS / "trip" / carrier / "1" / "ping_1.out", "\n".join([*lines, "End time: 1"]))


def ember(folder: Path, rows: list[str]) -> Path:
    return write(folder / EMBER, "\n".join(["Country,ISO3 Code,Date,Price (EUR/MWhe)", *rows]) + "\n")


def test_zones_are_shares_of_what_was_asked_for_as_long_as_the_shortest(tmp_path: Path) -> None:
    arms, rewards = zones(spot(tmp_path, {"a": [0, 4, 16], "b": [8, 16, 0, 0]}, nodes=16))
    assert arms == ("a", "b")
    assert rewards.tolist() == [[0, 0.5], [0.25, 1], [1, 0]]


def test_clients_choose_from_the_servers_that_were_nearest_before(tmp_path: Path) -> None:
    place = seattle(tmp_path)
    for path in place.iterdir():  # machine 6 is the nearest to all, 0 and 1 answer nobody
        square = np.loadtxt(path)
        square[:, 6], square[:, :2] = 0.05, 0
        np.savetxt(path, square)
    arms, rewards = servers(place)
    assert len(arms) == 5
    assert rewards.shape == (2, 3, 5)  # all but 0 and 1 lack a fifth server
    assert rewards[:, :, 0] == pytest.approx(-np.log(np.full((2, 3), 0.05)))


def test_a_missing_answer_counts_as_the_slowest(tmp_path: Path) -> None:
    place = seattle(tmp_path)
    last = place / f"SeattleData_{LEARNED + 3}"
    np.savetxt(last, np.zeros((7, 7)))
    _, rewards = servers(place)
    assert rewards.shape == (7, 3, 5)
    assert rewards[:, -1] == pytest.approx(-np.log(3))
    assert (rewards[:, :-1] >= 0).all()


def test_pings_meet_in_the_seconds_of_the_world_whatever_the_time_zone(tmp_path: Path) -> None:
    for carrier, hour, times in (("verizon", 14, [40.0, 60.0]), ("tmobile", 13, [80.0]), ("atnt", 13, [100.0])):
        ping(tmp_path, carrier, f"2023-08-05 {hour}:23:35", 1691259815000, times)
    ping(tmp_path / "more", "verizon", "2023-08-05 14:23:36", 1691259816000, [1.0])
    arms, taken = pings(tmp_path / PINGS)
    assert arms == ("verizon", "tmobile", "atnt")
    assert taken.tolist() == [[50, 80, 100]]


def test_prices_are_of_days_on_which_all_countries_have_one(tmp_path: Path) -> None:
    rows = [f"{country},XXX,2020-01-0{day},{day + place}" for day in (2, 1) for place, country in enumerate(COUNTRIES)]
    days, table = prices(
        ember(tmp_path, [*rows, "Austria,AUT,2020-01-01,9", "Finland,FIN,2020-01-03,5", "Spain,ESP,2020-01-04,"])
    )
    assert days.astype(str).tolist() == ["2020-01-01", "2020-01-02"]
    assert table.tolist() == [[1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 7]]


def test_a_folder_has_a_file_for_each_arm(tmp_path: Path) -> None:
    write(tmp_path / "b.trace", "1\n2\n")
    write(tmp_path / "a.trace", "3\n-4.5\n")
    assert columns(tmp_path)[0] == ("a", "b")
    assert columns(tmp_path)[1].tolist() == [[3, 1], [-4.5, 2]]


ONE = ("2023-01-01 10:00:00", 1672567200 * 1000, [1.0])


def read_spot(folder: Path) -> object:
    return zones(folder / SPOT / "1-node" / "set")


def read_words(folder: Path) -> object:
    return zones(folder / SPOT / "abc-node" / "set")


def read_seattle(folder: Path) -> object:
    return servers(folder / SEATTLE)


def read_pings(folder: Path) -> object:
    return pings(folder / PINGS)


def read_ember(folder: Path) -> object:
    return prices(folder / EMBER)


BROKEN: dict[str, tuple[Callable[[Path], object], Callable[[Path], object], str]] = {
    "no JSON": (lambda to: write(spot(to, {"a": [0], "b": [1]}) / "b.json", "{"), read_spot, "b.json"),
    "no data": (lambda to: write(spot(to, {"a": [0], "b": [1]}) / "b.json", '{"metadata": {}}'), read_spot, "gap"),
    "a word": (lambda to: spot(to, {"a": [0], "b": ["x"]}), read_spot, "b.json"),
    "too many": (lambda to: spot(to, {"a": [0], "b": [2]}), read_spot, "from 0 to 1"),
    "no number": (lambda to: spot(to, {"a": [0], "b": [None]}), read_spot, "b.json"),
    "one zone": (lambda to: spot(to, {"a": [0]}), read_spot, "two arms"),
    "gaps": (lambda to: (spot(to, {"a": [0]}), spot(to, {"b": [0]}, gap=9)), read_spot, "gap_seconds"),
    "few slices": (lambda to: seattle(to, slices=9), read_seattle, f"more than {LEARNED}"),
    "a slice cut off": (lambda to: write(seattle(to) / "SeattleData_7", "0.1\t0.2\n0.3"), read_seattle, "SeattleData_7"),
    "a smaller slice": (lambda to: write(seattle(to) / "SeattleData_7", "0.1"), read_seattle, "SeattleData_7"),
    "no start": (lambda to: write(ping(to, "atnt", *ONE), "PING"), read_pings, "Start time"),
    "no carrier": (lambda to: ping(to, "nobody", *ONE), read_pings, "tmobile"),
    "one carrier": (lambda to: ping(to, "atnt", *ONE), read_pings, "all three"),
    "an empty log": (lambda to: write(to / PINGS / "atnt" / "x.out", ""), read_pings, "Start time"),
    "other columns": (lambda to: write(to / EMBER, "a,b\n1,2\n"), read_ember, "Country"),
    "a price in words": (lambda to: ember(to, ["Spain,ESP,2020-01-01,dear"]), read_ember, "Price"),
    "a day in words": (
        lambda to: ember(to, [f"{country},X,soon,1" for country in COUNTRIES]), read_ember, "Date",
    ),
    "four hundred digits": (lambda to: spot(to, {"a": [0], "b": [10**400]}), read_spot, "b.json"),
    "deep": (lambda to: write(spot(to, {"a": [0]}) / "b.json", "[" * 100_000), read_spot, "b.json"),
    "a node in words": (lambda to: spot(to, {"a": [0]}).parent.rename(to / SPOT / "abc-node"), read_words, "abc-node"),
    "no nodes": (lambda to: spot(to, {"a": [0], "b": [0]}, nodes=0), lambda to: zones(to / SPOT / "0-node/set"), "0-node"),
    "zeros": (lambda to: [path.write_text("0 0 0 0 0 0 0\n" * 7) for path in seattle(to).iterdir()], read_seattle, "reaches"),
    "no time at all": (lambda to: ping(to, "atnt", ONE[0], ONE[1], [0.0]), read_pings, "ping_1.out"),
    "an absurd start": (lambda to: ping(to, "atnt", ONE[0], 10**400, [1.0]), read_pings, "Start time"),
    "a start years away": (lambda to: ping(to, "atnt", ONE[0], 10**12, [1.0]), read_pings, "Start time"),
    "no prices": (lambda to: ember(to, []), read_ember, "Country"),
    "a huge cell": (lambda to: ember(to, ["Spain,ESP,2020-01-01," + "1" * 200_000]), read_ember, "Price"),
    "today": (lambda to: ember(to, [f"{country},X,today,1" for country in COUNTRIES]), read_ember, "Date"),
    "few days": (lambda to: ember(to, [f"{country},X,2020-01-01,1" for country in COUNTRIES]), traces.load, "days"),
    "all on a line": (lambda to: (write(to / "a.trace", "1 2"), write(to / "b.trace", "1\n2")), columns, "a.trace"),
    "few rounds": (lambda to: (write(to / "a.trace", "1\n2"), write(to / "b.trace", "3\n4")), traces.load, "at least 100"),
    "a trace with words": (lambda to: (write(to / "a.trace", "1"), write(to / "b.trace", "one")), columns, "b.trace"),
    "an empty trace": (lambda to: (write(to / "a.trace", "1"), write(to / "b.trace", "")), columns, "b.trace"),
    "not a number": (lambda to: (write(to / "a.trace", "1"), write(to / "b.trace", "nan")), columns, "b.trace"),
    "uneven traces": (lambda to: (write(to / "a.trace", "1"), write(to / "b.trace", "1\n2")), columns, "same number"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_malformed_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    breaking, read, named = BROKEN[name]
    breaking(tmp_path)
    with pytest.raises(InvalidValueError) as refused:
        read(tmp_path)
    said = str(refused.value)
    assert named in said
    assert "\n" not in said
    assert len(said) < 400


def test_a_folder_with_clones_gives_all_traces_and_those_of_ones_own(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    spot(tmp_path / "spot-traces", {zone: random.integers(0, 2, 600).tolist() for zone in "ab"})
    for arm in "xyz":
        write(tmp_path / "mine" / f"{arm}.trace", "\n".join(map(str, np.repeat(random.random(150), 4))))
    found = {trace.name: trace for trace in traces.load(tmp_path)}
    assert list(found) == ["spot 1-node set", "mine", f"mine{RECORDED}"]
    assert (found["mine"].step, found["mine"].rewards.shape) == (4, (1, 150, 3))
    assert found["spot 1-node set"].rewards.shape == (1, 600, 2)


@pytest.mark.parametrize("given", [["--data", "nowhere"], []])
def test_without_data_one_sentence_says_what_to_clone(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    assert main(["reproduce", "field", *given]) == 2
    said = capsys.readouterr().err
    assert all(source.repository in said for source in SOURCES)
    assert "git clone" in said
    assert "docs/field.md" in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_it_runs_only_when_it_is_named() -> None:
    assert "field" not in [one.id for one in experiments()]
    assert experiments(["field"])[0].brought


def replayed(random: np.random.Generator, times: int, chance: float) -> np.ndarray:
    changes = np.cumsum(random.random((1_500, 2)) < chance, axis=0) % 2
    return np.repeat(changes.astype(float)[None], times, axis=1)


@pytest.mark.parametrize("chance", [0.05, 0.2, 0.5, 1.0])
def test_outages_that_last_are_no_replays(chance: float) -> None:
    for seed in range(10):
        assert repeats(replayed(np.random.default_rng(seed), 1, chance)) == 1


@pytest.mark.parametrize("chance", [0.2, 0.5, 1.0])
def test_replays_are_found_where_values_are_few(chance: float) -> None:
    for seed in range(10):
        assert repeats(replayed(np.random.default_rng(seed), 3, chance)) == 3


def trace(rewards: np.ndarray, name: str = "made up") -> Trace:
    return Trace(name, rewards if rewards.ndim == 3 else rewards[None], ("a", "b"), "a round", "points")


def test_traces_are_told_apart() -> None:
    random = np.random.default_rng(0)
    states = np.cumsum(random.random(2_000) < 0.02) % 2
    regimes = np.eye(2)[states] + random.normal(scale=0.2, size=(2_000, 2))
    assert traits(trace(regimes)).kind == REGIMES
    assert traits(trace(random.permutation(regimes))).kind == NEITHER
    assert traits(trace(random.normal(size=(2_000, 2)) + np.array([0.5, 0]))).kind == NEITHER
    assert traits(trace(np.cumsum(random.normal(size=(2_000, 2)), axis=0))).kind == DRIFT
    assert traits(trace(regimes[:400])).why == "fewer than 500 rounds"
    assert traits(trace(regimes, f"made up{RECORDED}")).kind == REFUSED
    assert traits(replace(trace(regimes), seen="all")).kind == NEITHER


def test_ties_are_no_changes() -> None:
    both = np.ones((600, 2))
    both[100:200, 1] = 0
    found = traits(trace(both))
    assert (found.elsewhere, found.stay, found.gains) == (0, 1, (0, 0))


def test_intervals_cover_the_truth_of_a_constructed_trace() -> None:
    """Two arms take turns in regimes of unknown length; one policy plays the better one with probability .9, another with .7.

    What the first earns beyond the second is .2 in the long run, in every one of the runs that are counted.
    """
    covered = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        gap = np.where(np.cumsum(random.random(4_000) < 0.02) % 2, 1.5, 0.5)  # 1 in the long run
        first, second = ((random.random((8, 4_000)) < chance) * gap for chance in (0.9, 0.7))
        edges = settings.edges(4_000)
        span = over_time(by_step(first - second, edges), 0.95, 400)
        covered += span.low <= 0.2 <= span.high
    assert 85 <= covered <= 99


def results(monkeypatch: pytest.MonkeyPatch, gains: dict[str, float], loss: float = 0.0) -> pd.DataFrame:
    """Return results made by hand: where there are regimes, policies earn a constant more than the best single arm."""
    random = np.random.default_rng(0)
    states = np.cumsum(random.random(1_000) < 0.02) % 2
    worlds = [
        trace(np.eye(2)[states] + random.normal(scale=0.2, size=(1_000, 2)), "turns"),
        trace(np.cumsum(random.normal(size=(1_000, 2)), axis=0), "walk"),
    ]
    monkeypatch.setattr(claims, "load", lambda: worlds)
    lines = []
    for world in worlds:
        edges = settings.edges(1_000)
        best = by_step(world.rewards.max(axis=2), edges)[0]
        single = by_step(world.rewards[:, :, world.rewards[0].mean(axis=0).argmax()], edges)[0]
        for policy, gain in gains.items():
            more = gain if world.name == "turns" else -loss if policy == LIBRARY else 0.0
            curve = (best - single - more) * 1_000 / (len(edges) - 1)
            lines += [
                {"case": world.name, "policy": policy, "draw": 0, "repeat": seed, "quick": False, "regret_curve": curve}
                for seed in range(3)
            ]
    return pd.DataFrame(lines)


def twins(memoryless: float, shared: float) -> dict[str, float]:
    return {settings.TWINS["memory"]: memoryless, settings.TWINS["own"]: shared}


def test_twins_differ_from_the_library_in_one_thing_only() -> None:
    whole, memoryless, shared = (made(spec, arms=3) for spec in (LIBRARY, *settings.TWINS.values()))
    assert memoryless._replace(states=whole.states) == shared._replace(own=whole.own) == whole
    assert (memoryless.states, shared.own) == (2, False)


def test_what_is_believed_is_that_of_the_explanation_that_is_held() -> None:
    states = tuple(
        Remembered(1, likely, (mean, math.nan), (1, 0), 1, 1, 5.0, 1) for likely, mean in ((0.75, 1.0), (0.25, 0.0))
    )
    levels = tuple(Level(mean, 0.5, 0.5, 5.0, 1) for mean in (4.0, 2.0))
    arms = (ArmRegimes(levels, 1, 1, 0.0), ArmRegimes((), 0, 0, 0.0))
    assert expected(Belief(states, 1, 0.0, own=0.4, arms=arms), 2) == pytest.approx([0.75, math.nan], nan_ok=True)
    assert expected(Belief(states, 1, 0.0, own=0.6, arms=arms), 2) == pytest.approx([3, math.nan], nan_ok=True)
    assert np.isnan(expected(Belief((), 0, 1.0), 2)).all()  # rewards that never change


def verdicts(table: pd.DataFrame) -> list[str]:
    return [claim.verdict for claim in claims.score(table)]


def test_verdicts_follow_from_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "RESAMPLES", 200)
    ahead = results(monkeypatch, {LIBRARY: 0.3, **twins(0.2, 0.25), FORGETFUL: 0.2, "ts": 0.1, "scaled(ts)": 0.15})
    assert verdicts(ahead) == [HOLDS] * 5
    line = claims.standings(ahead).iloc[0]
    assert (line["dataset"], line["rank"], line["policies"]) == ("turns", 1, 3)  # of ts the better one, and no twin
    assert line["gain"] == pytest.approx(0.3)
    assert (line["memory"], line["own"]) == pytest.approx((0.1, 0.05))
    assert verdicts(results(monkeypatch, {LIBRARY: 0.1, **twins(0.1, 0.0), "ts": 0.2})) == [
        HOLDS,
        FAILS,
        TIED,
        HOLDS,
        HOLDS,
    ]
    assert verdicts(results(monkeypatch, {LIBRARY: -0.1, **twins(0.1, 0.1), "ts": 0.2}, 1.0)) == [FAILS] * 5


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no folder with clones of public data")
def test_the_real_files_are_read() -> None:
    for one in traces.load():
        about = traits(one)
        assert np.isfinite(one.rewards).all()
        assert len(one.arms) == about.arms >= 2
        assert about.kind == REFUSED or about.rounds >= 500
    cases = experiment("field").cases("full")
    assert all(LIBRARY in case.policies and FORGETFUL in case.policies for case in cases)
    assert all(case.repeats >= 32 or case.draws >= 32 for case in cases)
