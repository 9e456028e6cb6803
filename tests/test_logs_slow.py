"""Calibration of diagnoses: minutes to hours, `make test-slow`."""

import zlib

import numpy as np
import pytest

import latentbandits as lb
from tests import logged
from tests.logged import FIRST, covers, nulls, ranking, recovered

pytestmark = pytest.mark.slow


def test_false_alarms_are_rare() -> None:
    for rows in (2000, 10_000):
        alarms, total = nulls(rows, 20)
        assert total >= 24 * 20
        assert alarms <= 0.02 * total


# dwell, noise, and of 12 logs with 2 to 10 states how many are found: those of a first study, 11, 6, 12, 8, 9 and 10, less one for chance
@pytest.mark.parametrize(
    ("dwell", "noise", "least"),
    [(20.0, 0.1, 10), (20.0, 0.5, 6), (100.0, 0.1, 11), (100.0, 0.5, 8), (500.0, 0.1, 8), (500.0, 0.5, 9)],
)
def test_regimes_are_found(dwell: float, noise: float, least: int) -> None:
    got = [recovered(10_000, dwell, noise, draw) for draw in range(FIRST, FIRST + 12)]
    assert sum(one.found for one in got) >= least


def test_intervals_cover() -> None:
    got = covers(4)
    many = [one.matched for one in got if one.found and one.states == 10]
    assert len(many) >= 16
    assert np.mean(many) >= 0.9  # whatever their number was counted as
    few = [one for one in got if one.states == 3]
    right = [one for one in few if one.counted == one.states]
    assert len(right) >= len(few) // 2
    assert np.mean([one.mean_cover for one in right]) >= 0.9
    assert np.mean([one.dwell_cover for one in right]) >= 0.85
    assert np.mean([one.gain_cover for one in right]) >= 0.85


def test_policies_are_ranked_as_in_truth() -> None:
    correlation, within = ranking(24)
    assert correlation >= 0.9
    assert within >= 0.95


@pytest.mark.parametrize(("kind", "draw"), [("drift300-t3", 505), ("three-changes", 503)])
def test_what_was_once_mistaken_for_regimes_no_longer_is(kind: str, draw: int) -> None:
    random = np.random.default_rng([zlib.crc32(kind.encode()), 2000, draw])
    rewards = logged.rewards_of(kind, 2000, logged.ARMS[draw % 3], random, draw)
    arms = logged.played(rewards, logged.RULES[draw % 6], random, draw)
    assert not lb.diagnose(logged.as_log(rewards, arms)).regimes


def test_regimes_that_only_a_rare_arm_shows_are_found() -> None:
    log, _, _ = logged.regime_log(10_000, 20.0, 0.1, 104)
    assert np.bincount(log.played).max() > 9000
    assert lb.diagnose(log).regimes
