"""The world in which every arm has regimes of its own: what is independent, what is shared, and what combines."""

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.settings import InvalidValueError


def changes(means: np.ndarray) -> np.ndarray:
    return np.asarray(np.diff(means, axis=0) != 0)


def test_arms_change_one_by_one_and_return_to_their_own_levels() -> None:
    means = lb.Independent(arms=4, states=3, dwell=50).realise(20_000, 1, 0, 0, 0).means
    found = changes(means)
    assert (found.sum(axis=0) > 250).all()
    assert (found.sum(axis=0) < 550).all()
    together = (found.sum(axis=1) > 1).sum()
    assert (
        together < 0.1 * found.any(axis=1).sum()
    )  # at 1 in 50 rounds each, three other arms do at the same time in 6 %
    assert [len(set(arm.tolist())) for arm in means.T] == [3] * 4
    shares = [
        (np.mean(means[:, a] > np.median(means[:, a])), np.mean(means[:, b] > np.median(means[:, b])))
        for a, b in ((0, 1),)
    ]
    both = np.mean((means[:, 0] > np.median(means[:, 0])) & (means[:, 1] > np.median(means[:, 1])))
    assert both == pytest.approx(shares[0][0] * shares[0][1], abs=0.05)


def test_every_arm_lasts_as_long_as_its_chain_says() -> None:
    world = lb.Independent(arms=5, dwell=40, uneven_dwell=16, noise=0.1)
    found = world.realise(40_000, 1, 3, 0, 0)
    leaving = 1 - np.diagonal(world.chains(3, 0), axis1=1, axis2=2)[:, 0]
    assert leaving.max() / leaving.min() > 2
    np.testing.assert_allclose(changes(found.means).mean(axis=0), leaving, rtol=0.25)
    np.testing.assert_array_equal(found.chains.transition, world.chains(3, 0))  # type: ignore[union-attr]


def test_in_an_incident_all_arms_are_at_their_lowest_level_and_come_back() -> None:
    options = {"arms": 3, "dwell": 50}
    plain = lb.Independent(**options).realise(20_000, 1, 0, 0, 0)  # type: ignore[arg-type]
    found = lb.Independent(**options, incidents=0.2).realise(20_000, 1, 0, 0, 0)  # type: ignore[arg-type]
    low = plain.means.min(axis=0)
    incident = (found.means == low).all(axis=1) & (plain.means != low).any(axis=1)
    np.testing.assert_array_equal(found.means[~incident], plain.means[~incident])
    assert (found.means == low).all(axis=1).mean() == pytest.approx(0.2 + 0.8 / 8, abs=0.06)
    assert found.chains is None


def test_a_rare_level_is_the_lowest_and_takes_its_share() -> None:
    means = lb.Independent(arms=3, rare=0.1, dwell=20).realise(50_000, 1, 0, 0, 0).means
    np.testing.assert_array_equal(means.min(axis=0), 0)
    np.testing.assert_allclose((means == 0).mean(axis=0), 0.1, atol=0.03)


def test_dominated_arms_are_never_above_the_first() -> None:
    means = lb.Independent(arms=4, states=3, dominated=2, dwell=20).realise(5_000, 1, 0, 0, 0).means
    assert (means[:, 2:] <= means[:, :1]).all()
    assert (means[:, 1] > means[:, 0]).any()


def test_states_name_what_all_arms_are_at() -> None:
    found = lb.Independent(arms=3, dwell=20).realise(5_000, 1, 0, 0, 0)
    assert set(found.states.tolist()) == set(range(8))
    for state in range(8):
        assert len(np.unique(found.means[found.states == state], axis=0)) == 1


def test_a_problem_says_it() -> None:
    problem = lb.Problem(kind="independent", arms=5, states=2, dwell=300, uneven_dwell=9, incidents=0.05, delay=3)
    world = problem.sample(0, 0)
    assert world == lb.Independent(
        arms=5, states=2, stickiness=1 - 1 / 300, uneven_dwell=9, incidents=0.05, delay=3, noise=0.01
    )
    assert lb.Problem(kind="independent", dwell="50 to 500").vague == ("dwell",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"separation": 0.2}, "separation is 0.2 but must be left out where every arm"),
        ({"reveal": "state"}, "reveal is 'state' but must be nothing or means"),
        ({"incidents": 0.7}, "incidents is 0.7 but must be"),
        ({"dwell": 10, "dwell_shape": "pareto", "uneven_dwell": 100}, "uneven_dwell is 100.0 but must be less"),
        ({"dwell": 0.5}, "Independent: dwell is 0.5 but must be"),
    ],
)
def test_what_it_refuses(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words.replace("(", r"\(")):
        lb.Independent(**options)  # type: ignore[arg-type]
