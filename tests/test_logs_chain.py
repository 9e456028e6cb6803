import numpy as np
import pytest

from latentbandits.compiled import fast
from latentbandits.logs import hmm
from tests.naive_chain import enumerated


def example(seed: int, rows: int = 5, states: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    entry_prob = random.dirichlet(np.ones(states))
    return random.normal(0, 2, (rows, states)), random.uniform(0.02, 0.5, states), entry_prob


@pytest.mark.parametrize("gaps", [(1, 1, 1, 1, 1), (1, 0, 1, 3, 1)])
@pytest.mark.parametrize("seed", range(2))
def test_a_pass_agrees_with_the_enumeration_of_all_paths(seed: int, gaps: tuple[int, ...]) -> None:
    log_lik, exit_prob, entry_prob = example(seed)
    steps = np.array(gaps, dtype=float)
    truth = enumerated(log_lik, steps, exit_prob, entry_prob)
    expected = hmm.forward_backward(log_lik.copy(), steps, exit_prob, entry_prob)
    assert expected.log_lik == pytest.approx(truth["log_lik"], abs=1e-10)
    for name in ("state_probs", "jumps", "visits", "entries"):
        np.testing.assert_allclose(getattr(expected, name), truth[name], atol=1e-10, err_msg=name)
    path = fast(hmm.viterbi)(log_lik, steps, exit_prob, entry_prob)
    np.testing.assert_array_equal(path, truth["path"])


@pytest.mark.slow
def test_a_pass_agrees_with_hmmlearn_where_everything_is_observed() -> None:
    hmmlearn = pytest.importorskip("hmmlearn.hmm")
    random = np.random.default_rng(5)
    values, means = random.normal(size=400) + np.repeat([0.0, 2.0, -1.0, 0.0], 100), np.array([0.0, 2.0, -1.0])
    exit_prob, entry_prob = np.array([0.05, 0.1, 0.02]), np.array([0.5, 0.3, 0.2])
    other = hmmlearn.GaussianHMM(3, covariance_type="diag", init_params="", params="")
    other.startprob_, other.transmat_ = entry_prob, hmm.transition_matrix(exit_prob, entry_prob)
    other.means_, other.covars_ = means[:, None], np.ones((3, 1))
    log_lik = -0.5 * (values[:, None] - means) ** 2 - 0.5 * np.log(2 * np.pi)
    expected = hmm.forward_backward(log_lik.copy(), np.ones(400), exit_prob, entry_prob)
    assert expected.log_lik == pytest.approx(other.score(values[:, None]), rel=1e-10)
    np.testing.assert_allclose(expected.state_probs, other.predict_proba(values[:, None]), atol=1e-8)
    path = fast(hmm.viterbi)(log_lik, np.ones(400), exit_prob, entry_prob)
    np.testing.assert_array_equal(path, other.decode(values[:, None])[1])


def test_shares_are_those_of_the_transition_matrix() -> None:
    exit_prob, entry_prob = np.array([0.1, 0.3, 0.05]), np.array([0.2, 0.5, 0.3])
    shares = hmm.stationary_probs(exit_prob, entry_prob)
    np.testing.assert_allclose(shares @ hmm.transition_matrix(exit_prob, entry_prob), shares, atol=1e-12)
    np.testing.assert_allclose(
        hmm.mean_dwell(exit_prob, entry_prob), 1 / (1 - np.diag(hmm.transition_matrix(exit_prob, entry_prob)))
    )
