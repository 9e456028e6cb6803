"""Ridge regression by rank-one updates against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latentbandits.compiled import fast
from latentbandits.linear import predict, reset, update


def inverse_matrix(factor: np.ndarray, arm: int) -> np.ndarray:
    upper = np.tril(factor[arm], -1).T + np.eye(factor.shape[1])
    product: np.ndarray = (upper * np.diag(factor[arm])) @ upper.T
    return product


def feed(
    factor: np.ndarray, coefficients: np.ndarray, features: np.ndarray, weights: np.ndarray, rewards: np.ndarray
) -> None:
    gain = np.zeros(features.shape[1])
    for t in range(len(features)):
        update(factor, coefficients, gain, 0, features[t], weights[t], rewards[t])


def exact_inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    size = len(matrix)
    rows = [row + [Fraction(int(i == j)) for j in range(size)] for i, row in enumerate(matrix)]
    for c in range(size):
        pivot = next(r for r in range(c, size) if rows[r][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(size):
            if r != c:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [row[size:] for row in rows]


small = st.floats(-10, 10, allow_nan=False, width=32)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(1, 7), st.sampled_from([0.01, 0.1, 1.0, 30.0]))
def test_update_is_ridge_regression(data: st.DataObject, width: int, penalty: float) -> None:
    count = data.draw(st.integers(1, 25))
    features = np.array(
        data.draw(st.lists(st.lists(small, min_size=width, max_size=width), min_size=count, max_size=count))
    )
    rewards = np.array(data.draw(st.lists(small, min_size=count, max_size=count)))
    weights = np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=count, max_size=count)))
    factor, coefficients = np.zeros((1, width, width)), np.zeros((1, width))
    reset(factor, penalty)
    gain = np.zeros(width)
    for t in range(count):
        residual, variance = update(factor, coefficients, gain, 0, features[t], weights[t], rewards[t])
    precision = penalty * np.eye(width) + (features * weights[:, None]).T @ features
    inverse = np.linalg.inv(precision)
    solved = np.linalg.solve(precision, features.T @ (weights * rewards))
    scale = np.abs(inverse).max()
    np.testing.assert_allclose(inverse_matrix(factor, 0), inverse, atol=1e-9 * scale)
    np.testing.assert_allclose(coefficients[0], solved, atol=1e-7 * max(1.0, np.abs(solved).max()))
    # what an update returns is what a fresh prediction at the same features would find
    mean, spread = predict(factor, coefficients, 0, features[-1])
    assert residual == pytest.approx(rewards[-1] - mean, abs=1e-8)
    assert variance == pytest.approx(spread, rel=1e-7, abs=1e-12)


def numbers_after(rounds: int, scale: int, collinear: bool, seed: int = 0) -> tuple[float, float, float]:
    """Return the largest relative errors of inverse, predicted variance and predicted mean after many updates.

    Features are whole multiples of a power of two, so that sums over all rounds are exact integers and the reference is exact rational
    arithmetic, not another floating-point solve (whose own error would be larger than ours).
    """
    generator = np.random.default_rng(seed)
    grid = 2**18
    q = generator.integers(-grid, grid, (rounds, 6))
    q[:, 0] = grid * (generator.random(rounds) < 0.5)
    q[:, 1] = grid - q[:, 0]  # a one-hot pair: the first two columns sum to one
    if collinear:
        q[:, 4] = q[:, 2]
        q[:, 5] = (q[:, 2] - q[:, 3]) >> 1
        q[:, 3] = q[:, 2] - 2 * q[:, 5]
    rewards = generator.integers(-grid, grid, rounds) + (q[:, 2] >> 1)
    powers = np.array([0, 0, scale, scale, scale, scale])
    penalty = Fraction(1, 8)
    gram, response = q.T @ q, q.T @ rewards

    factor, coefficients = np.zeros((1, 6, 6)), np.zeros((1, 6))
    reset(factor, float(penalty))
    features = q / grid * 2.0**powers
    fast(feed)(factor, coefficients, features, np.ones(rounds), rewards / grid * 2.0**scale)

    two = Fraction(2)
    exact = exact_inverse(
        [
            [int(gram[i, j]) * two ** int(powers[i] + powers[j] - 36) + penalty * (i == j) for j in range(6)]
            for i in range(6)
        ]
    )
    sums = [int(response[i]) * two ** int(powers[i] + scale - 36) for i in range(6)]
    solved = [sum((exact[i][j] * sums[j] for j in range(6)), Fraction(0)) for i in range(6)]
    wanted = np.array([[float(x) for x in row] for row in exact])
    inverse_error = np.abs(inverse_matrix(factor, 0) - wanted).max() / np.abs(wanted).max()
    variance_error = mean_error = 0.0
    for row in features[:20]:
        x = [Fraction(v) for v in row.tolist()]
        variance = float(sum(x[i] * exact[i][j] * x[j] for i in range(6) for j in range(6)))
        mean = float(sum(x[i] * solved[i] for i in range(6)))
        found_mean, found_variance = predict(factor, coefficients, 0, row)
        variance_error = max(variance_error, abs(found_variance / variance - 1))
        mean_error = max(mean_error, abs(found_mean / mean - 1))
    return inverse_error, variance_error, mean_error


@pytest.mark.parametrize("collinear", [False, True])
@pytest.mark.parametrize("scale", [-20, 0, 20])  # rewards times 1e-6, 1, 1e6
@pytest.mark.parametrize("updates", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_numbers_stay_right(updates: int, scale: int, collinear: bool) -> None:
    """The limit is 1e-8, also where a fresh solve in floating point finds a singular matrix."""
    assert max(numbers_after(updates, scale, collinear)) < 1e-8


def test_variance_never_turns_negative() -> None:
    """Nearly parallel features a million times over: the textbook inverse would lose its sign here."""
    generator = np.random.default_rng(1)
    base = generator.standard_normal(6)
    features = 1e8 * (base + 1e-9 * generator.standard_normal((100_000, 6)))
    factor, coefficients = np.zeros((1, 6, 6)), np.zeros((1, 6))
    reset(factor, 0.1)
    fast(feed)(factor, coefficients, features, np.ones(100_000), generator.standard_normal(100_000))
    assert (np.diag(factor[0]) > 0).all()
    assert all(predict(factor, coefficients, 0, row)[1] >= 0 for row in features[:100])


if __name__ == "__main__":  # the table of docs/architecture.md
    for exponent, rewards_scale in ((-20, "1e-6"), (0, "1"), (20, "1e6")):
        for together in (False, True):
            cells = " | ".join(f"{error:.0e}" for error in numbers_after(1_000_000, exponent, together))
            print(f"| {rewards_scale} | {'collinear' if together else 'independent'} | {cells} |")
    worst = [numbers_after(1_000_000, 20, collinear=True, seed=seed)[0] for seed in range(12)]
    print(f"the last row's inverse with twelve seeds: {min(worst):.1e} to {max(worst):.1e}")
