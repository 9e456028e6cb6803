"""Bounds on learners against brute force and against simulation, and the policy of the second one."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import latentbandits as lb
from latentbandits.protocols import RESIDUAL, SCHEDULED, Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.testing import PolicyChecks
from latentbandits_studies import theory
from latentbandits_studies.policies.decode_commit import DecodeCommit

MEANS = np.array([[0.8, 0.5, 0.3], [0.2, 0.55, 0.7], [0.4, 0.9, 0.6]])
CHAIN = np.array([[0.9, 0.06, 0.04], [0.02, 0.95, 0.03], [0.1, 0.0, 0.9]])


# --- a gated schedule with decoded states ---


def test_gated_bound_is_its_parts() -> None:
    """Two states and two arms: every quantity of the docstring by hand, at the best of the grid of slacks."""
    means, chain, sigma, surprise, cap, rounds = [[0.9, 0.3], [0.2, 0.6]], [[0.95, 0.05], [0.1, 0.9]], 0.1, 0.4, 9, 700
    candidates = []
    for share in range(1, 20):
        slack, spread = surprise * share / 20, sigma / math.sqrt(2)
        miss = max(
            ndtr((surprise + slack - moved) / spread) - ndtr(-(surprise + slack + moved) / spread)
            for moved in (0.7, 0.3)
        )
        lost = sum(miss**n for n in range(cap - 1))
        order = sum(sum(math.exp(-n * gap**2 / (4 * sigma**2)) for n in range(1, rounds + 1)) for gap in (0.6, 0.4))
        blind = 2 * sum(2 * math.exp(-n * slack**2 / (2 * sigma**2)) for n in range(1, rounds + 1))
        probes = 1 + rounds / cap + rounds * (2 * ndtr(-(surprise - slack) / spread) + 0.1) + order + blind
        error = math.exp(-(0.7**2 + 0.3**2) / (8 * sigma**2))
        learning = 0.6 * (cap - 1) * (order + min(1.0, 0.1 * cap / 2) * blind)
        candidates.append(
            (
                min(rounds, probes) * 0.3,
                0.6 * 0.1 * rounds * lost,
                min(1.0, min(rounds, probes) * error) * 0.6 * rounds,
                learning,
            )
        )
    found = theory.gated_bound(means, chain, sigma, surprise, cap, rounds)
    assert found == pytest.approx(min(candidates, key=sum))
    known = theory.gated_bound(means, chain, sigma, surprise, cap, rounds, probes=50.0)
    assert known.probes == pytest.approx(50 * 0.3)


def test_a_gate_that_cannot_see_is_an_age_cap() -> None:
    """The arm in use pays the same in both states: lost rounds last until the cap, as with a fixed schedule of that interval."""
    means, chain = [[0.5, 0.2], [0.5, 0.8]], [[0.99, 0.01], [0.01, 0.99]]
    blind, seeing = (
        theory.gated_bound(table, chain, 0.01, 0.1, 21, 1000).drift for table in (means, [[0.9, 0.2], [0.2, 0.8]])
    )
    assert blind == pytest.approx(0.3 * 0.01 * 1000 * 20, rel=1e-3)
    assert seeing == pytest.approx(0.7 * 0.01 * 1000)


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.2])
@pytest.mark.parametrize(("surprise", "cap"), [(0.05, 10), (0.1, 4), (0.1, 50), (0.3, 50)])
def test_gated_bound_lies_above_simulation(sigma: float, surprise: float, cap: int) -> None:
    world = lb.HiddenMarkov(means=MEANS, transition=CHAIN, noise=sigma / math.sqrt(3))
    policy = DecodeCommit(3, 3, cap, MEANS[:, [2, 0]], [2, 0], surprise)
    found = lb.simulate(world, {"gated": policy}, horizon=1000, draws=24, repeats=1)
    regret, probes = found.regret[0], found.counts["probes"][0]
    for known in (None, float(probes.mean())):
        bound = theory.gated_bound(MEANS, CHAIN, sigma, surprise, cap, 1000, [2, 0], known).total
        assert regret.mean() - 5 * regret.std() / math.sqrt(24) <= bound


# --- the policy ---


def naive_play(realisation: Realisation, policy: DecodeCommit) -> tuple[list[list[int]], list[int]]:
    """Play as the policy should, from lists of all probes."""
    prints = np.asarray(policy.fingerprints)
    chosen = np.asarray(policy.decoding).tolist() or list(range(policy.arms))
    probes: list[tuple[int, np.ndarray]] = []
    arms, probe_reason = [], []
    age, surprised = 0, False
    for rewards in realisation.rewards:
        age = 0 if surprised else age % policy.interval
        probe_reason.append(RESIDUAL if surprised else SCHEDULED if age == 0 else 0)
        surprised = False
        if age == 0:
            seen = np.array([rewards[arm, arm] for arm in range(policy.arms)])
            probes.append((int(((prints - seen[chosen]) ** 2).sum(axis=1).argmin()), seen))
            arms.append([group % policy.arms for group in range(policy.groups)])
        else:
            alike = [seen for state, seen in probes if state == probes[-1][0]]
            arm = int(np.sum(alike, axis=0).argmax())
            arms.append([arm] * policy.groups)
            away = abs(rewards[:, arm].mean() - np.mean(alike, axis=0)[arm])
            surprised = bool(policy.surprise > 0 and away >= policy.surprise)
        age += 1
    return arms, probe_reason


POLICIES: dict[str, Any] = {
    "all arms": DecodeCommit(3, 3, 4, MEANS),
    "one arm": DecodeCommit(3, 3, 7, MEANS[:, [1]], [1]),
    "spare groups": DecodeCommit(3, 5, 2, MEANS[:, [2, 0]], [2, 0]),
    "gated": DecodeCommit(3, 3, 20, MEANS, (), 0.1),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_it_plays_like_its_twin(name: str, noise: float) -> None:
    policy = POLICIES[name]
    realisation = lb.HiddenMarkov(means=MEANS, transition=CHAIN, noise=noise).realise(1500, policy.groups, 1, 0, 0)
    arms, probe_reason = record_one(policy, realisation, stream(0))
    assert (arms.tolist(), probe_reason.tolist()) == naive_play(realisation, policy)


@pytest.mark.parametrize("name", POLICIES)
class TestDecodeCommit(PolicyChecks):
    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        self.name = name

    def policy(self) -> Any:
        return POLICIES[self.name]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"groups": 2}, "groups"),
        ({"decoding": [0, 3]}, "decoding"),
        ({"decoding": [1, 1, 0]}, "decoding"),
        ({"decoding": [1, 0]}, "fingerprints"),
        ({"interval": 0}, "interval"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=f"DecodeCommit: {field} is .* but must be "):
        DecodeCommit(**{"arms": 3, "groups": 3, "interval": 5, "fingerprints": MEANS, **settings})
