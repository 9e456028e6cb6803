import numpy as np
import pytest

from latentbandits.compiled import fast
from latentbandits.logs import chain
from tests.naive_chain import enumerated


def example(seed: int, rows: int = 6, states: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    enter = random.dirichlet(np.ones(states))
    return random.normal(0, 2, (rows, states)), random.uniform(0.02, 0.5, states), enter


@pytest.mark.parametrize("gaps", [(1, 1, 1, 1, 1, 1), (1, 0, 1, 3, 0, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_agrees_with_the_enumeration_of_all_paths(seed: int, gaps: tuple[int, ...]) -> None:
    likely, leave, enter = example(seed)
    steps = np.array(gaps, dtype=float)
    truth = enumerated(likely, steps, leave, enter)
    found = chain.smoothed(likely.copy(), steps, leave, enter)
    assert found.likelihood == pytest.approx(truth["likelihood"], abs=1e-10)
    for name in ("states", "jumps", "visits", "entries"):
        np.testing.assert_allclose(getattr(found, name), truth[name], atol=1e-10, err_msg=name)
    path = np.zeros(len(likely), np.int64)
    fast(chain.follow)(likely, steps, leave, enter, path)
    np.testing.assert_array_equal(path, truth["path"])


def test_a_pass_agrees_with_hmmlearn_where_everything_is_observed() -> None:
    hmm = pytest.importorskip("hmmlearn.hmm")
    random = np.random.default_rng(5)
    values, means = random.normal(size=400) + np.repeat([0.0, 2.0, -1.0, 0.0], 100), np.array([0.0, 2.0, -1.0])
    leave, enter = np.array([0.05, 0.1, 0.02]), np.array([0.5, 0.3, 0.2])
    other = hmm.GaussianHMM(3, covariance_type="diag", init_params="", params="")
    other.startprob_, other.transmat_ = enter, chain.transition(leave, enter)
    other.means_, other.covars_ = means[:, None], np.ones((3, 1))
    likely = -0.5 * (values[:, None] - means) ** 2 - 0.5 * np.log(2 * np.pi)
    found = chain.smoothed(likely.copy(), np.ones(400), leave, enter)
    assert found.likelihood == pytest.approx(other.score(values[:, None]), rel=1e-10)
    np.testing.assert_allclose(found.states, other.predict_proba(values[:, None]), atol=1e-8)
    path = np.zeros(400, np.int64)
    fast(chain.follow)(likely, np.ones(400), leave, enter, path)
    np.testing.assert_array_equal(path, other.decode(values[:, None])[1])


def test_paths_are_sampled_as_often_as_they_are_probable() -> None:
    likely, leave, enter = example(7, rows=4)
    gaps = np.array([1.0, 1.0, 2.0, 1.0])
    truth = chain.smoothed(likely.copy(), gaps, leave, enter).states
    filtered = chain.smoothed(likely.copy(), gaps, leave, enter, back=False).states
    random, counts, path = np.random.default_rng(0), np.zeros((4, 3)), np.zeros(4, np.int64)
    for _ in range(20_000):
        fast(chain.sample)(filtered, gaps, leave, enter, random.random(4), path)
        counts[np.arange(4), path] += 1
    np.testing.assert_allclose(counts / 20_000, truth, atol=0.015)


def test_shares_are_those_of_the_transition_matrix() -> None:
    leave, enter = np.array([0.1, 0.3, 0.05]), np.array([0.2, 0.5, 0.3])
    shares = chain.shares(leave, enter)
    np.testing.assert_allclose(shares @ chain.transition(leave, enter), shares, atol=1e-12)
    np.testing.assert_allclose(chain.dwell(leave, enter), 1 / (1 - np.diag(chain.transition(leave, enter))))
