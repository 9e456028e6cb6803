from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import multivariate_normal

import latentbandits as lb
from latentbandits.compiled import fast
from latentbandits.logs import calendar, changes, fresh, levels
from latentbandits.logs.em import constant_log_lik, profile_log_lik
from latentbandits.logs.series import Series
from tests import separate


def series_of(values: np.ndarray, arms: np.ndarray, gaps: np.ndarray | None = None, binary: bool = False) -> Series:
    steps = np.ones(len(values)) if gaps is None else gaps
    return Series(arms, values, steps, np.ones(int(arms.max()) + 1), binary)


def dense(values: np.ndarray, columns: np.ndarray, covariance: np.ndarray) -> float:
    """Return the best log-likelihood over the weights of columns and the scale of a covariance, by dense matrices."""
    inverse = np.linalg.inv(covariance)
    weights = np.linalg.solve(columns.T @ inverse @ columns, columns.T @ inverse @ values)
    left = values - columns @ weights
    scale = left @ inverse @ left / len(values)
    return float(multivariate_normal.logpdf(left, cov=scale * covariance))


@pytest.mark.parametrize("own", [False, True])
def test_a_level_with_columns_has_the_likelihood_of_dense_matrices(own: bool) -> None:
    random = np.random.default_rng(0)
    gaps = random.choice([0.0, 1.0, 1.0, 3.0], 60)
    series = series_of(random.normal(size=60), random.integers(3, size=60), gaps)
    time, size, columns = 4.0, 1.7, random.normal(size=(60, 2))
    found = levels.gain_with_columns(series, levels.LevelFit(0.0, 2, time, float(np.sqrt(size)), own), columns)
    rounds, same = np.cumsum(gaps), (series.arms[:, None] == series.arms) | (not own)
    covariance = np.eye(60) + size * same * np.exp(-np.abs(rounds[:, None] - rounds) / time)
    truth = dense(series.values, np.hstack([series.one_hot, columns]), covariance)
    assert found == pytest.approx(truth - constant_log_lik(series), abs=1e-8)


def test_levels_of_arms_have_the_likelihood_of_dense_matrices() -> None:
    random = np.random.default_rng(1)
    series = series_of(random.normal(size=60), random.integers(3, size=60))
    keep, size = 0.9, 0.6
    determinant, products, _ = fast(levels._filter_levels)(series, series.arms, keep, size)
    ones, cross, squares = products.T
    found = profile_log_lik(60, float((squares - cross**2 / ones).sum())) - 0.5 * determinant
    rounds, same = np.arange(60), series.arms[:, None] == series.arms
    covariance = np.eye(60) + size * same * keep ** np.abs(rounds[:, None] - rounds)
    assert found == pytest.approx(dense(series.values, series.one_hot, covariance), abs=1e-8)


def test_the_search_for_a_level_comes_within_a_nat_of_a_fine_grid() -> None:
    random = np.random.default_rng(2)
    level = np.zeros(800)
    for t in range(1, 800):
        level[t] = 0.97 * level[t - 1] + 0.3 * random.normal()
    series = series_of(level + random.normal(size=800), random.integers(2, size=800))
    best = levels.fit_common_level(series)
    design, which = series.one_hot, np.zeros(800, np.int64)
    for time in np.geomspace(3, 300, 20):
        for size in np.geomspace(0.1, 10, 20):
            found = levels.fit_weights(series, design, which, time, size)[0] - constant_log_lik(series)
            assert found < best.gain + 1


@pytest.mark.parametrize("binary", [False, True])
def test_stretches_are_the_best_of_all_ways_to_cut(binary: bool) -> None:
    random = np.random.default_rng(3)
    arms = random.integers(2, size=40)
    level = np.where(np.arange(40) < 17, 0.1, 0.9)
    values = (random.random(40) < level).astype(float) if binary else random.normal(size=40) + 3 * level
    values = values if binary else values - np.array([values[arms == arm].mean() for arm in range(2)])[arms]
    tried, sums = np.zeros((41, 2)), np.zeros((41, 2))
    for t in range(40):
        tried[t + 1], sums[t + 1] = tried[t], sums[t]
        tried[t + 1, arms[t]] += 1
        sums[t + 1, arms[t]] += values[t]
    precision, price = (0.0 if binary else 1.0), 0.5 * np.log(40)
    last = np.zeros(41, np.int64)
    found = fast(changes._optimal_partition)(sums, tried, precision, price, 8, last)

    def worth(ends: tuple[int, ...]) -> float:
        return sum(changes._segment_gain(sums, tried, a, b, precision, price) for a, b in pairwise(ends))

    ways = [(0, *inner, 40) for count in range(4) for inner in combinations(range(8, 33), count)]
    allowed = [ends for ends in ways if min(np.diff(ends)) >= 8]
    assert found == pytest.approx(max(worth(ends) for ends in allowed), abs=1e-9)


def test_changes_are_found_to_the_row_beyond_the_blocks() -> None:
    random = np.random.default_rng(4)
    values = random.normal(size=9000) + 3.0 * ((np.arange(9000) >= 4321) & (np.arange(9000) < 7003))
    series = series_of(values, random.integers(2, size=9000))
    ends = changes.fit_segments(series).ends
    assert len(ends) == 4
    assert abs(ends[1] - 4321) <= 1
    assert abs(ends[2] - 7003) <= 1


def test_a_calendar_is_least_squares_on_its_columns() -> None:
    random = np.random.default_rng(5)
    times = np.datetime64("2026-01-05T00:15") + np.arange(3000) * np.timedelta64(30, "m")
    arms = random.integers(2, size=3000)
    series = series_of(random.normal(size=3000) + 0.5 * (calendar._weekday(times) >= 5), arms)
    part, weekday = calendar._part_of_day(times), calendar._weekday(times)
    assert (weekday == np.array([day.weekday() for day in times.astype(object)])).all()
    for hours, week, own in calendar.designs(times):
        found = calendar.fit_calendar(series, times, hours, week, own)
        if hours == "block":
            continue
        shape = calendar.design_columns(hours, week, part, weekday)
        effects = np.hstack([shape * (arms == arm)[:, None] for arm in range(2)]) if own else shape
        whole = np.hstack([np.eye(2)[arms], effects])
        left = series.values - whole @ np.linalg.lstsq(whole, series.values, rcond=None)[0]
        gain = 0.5 * 3000 * np.log(((series.values - series.centres[arms]) ** 2).sum() / (left**2).sum())
        assert found.gain == pytest.approx(gain, abs=1e-6)
        assert found.num_params == effects.shape[1]


def test_office_hours_are_a_block() -> None:
    random = np.random.default_rng(6)
    times = np.datetime64("2026-01-05T00:00") + np.arange(2000) * np.timedelta64(30, "m")
    hour = (times - times.astype("datetime64[D]")) / np.timedelta64(1, "h")
    open_now = (hour >= 9) & (hour < 17)
    series = series_of(random.normal(size=2000) + open_now, random.integers(2, size=2000))
    best = calendar.best_calendar(series, times)
    assert best is not None
    assert (best.hours, best.week, best.per_arm) == ("block", "", False)
    assert (best.offsets[open_now].min() > best.offsets[~open_now].max()).all()


def test_clicks_by_the_hour_are_a_logistic_calendar() -> None:
    random = np.random.default_rng(7)
    times = np.datetime64("2026-01-05T00:00") + np.arange(4000) * np.timedelta64(20, "m")
    angle = 2 * np.pi * ((times - times.astype("datetime64[D]")) / np.timedelta64(1, "D"))
    logit_offset = -1 + 1.5 * np.sin(angle)
    values = (random.random(4000) < 1 / (1 + np.exp(-logit_offset))).astype(float)
    series = series_of(values, random.integers(2, size=4000), binary=True)
    found = calendar.fit_calendar(series, times, "waves", "", False)
    assert np.corrcoef(found.offsets, np.sin(angle))[0, 1] > 0.97
    assert np.polyfit(np.sin(angle), found.offsets, 1)[0] == pytest.approx(1.5, abs=0.2)
    rest = series._replace(logit_offset=found.offsets)
    assert constant_log_lik(rest) - constant_log_lik(series) == pytest.approx(found.gain, abs=0.1)


@pytest.mark.parametrize("own", [False, True])
def test_what_is_new_given_a_level_is_that_of_dense_matrices(own: bool) -> None:
    random = np.random.default_rng(5)
    gaps = random.choice([0.0, 1.0, 1.0, 3.0], 60)
    series = series_of(random.normal(size=60), random.integers(3, size=60), gaps)
    time, size = 4.0, 1.7
    found = levels.innovations(series, levels.LevelFit(0.0, 2, time, float(np.sqrt(size)), own))
    rounds, same = np.cumsum(gaps), (series.arms[:, None] == series.arms) | (not own)
    covariance = np.eye(60) + size * same * np.exp(-np.abs(rounds[:, None] - rounds) / time)
    columns, root = series.one_hot, np.linalg.cholesky(covariance)
    white, value = np.linalg.solve(root, columns), np.linalg.solve(root, series.values)
    np.testing.assert_allclose(found.values, value - white @ np.linalg.lstsq(white, value, rcond=None)[0], atol=1e-9)


def test_scores_keep_the_order_of_every_arm_and_nothing_else() -> None:
    random = np.random.default_rng(6)
    arms = random.integers(2, size=500)
    values = random.normal(size=500)
    plain, bent = (
        series_of(one, arms).rank_normalise() for one in (values, np.exp(np.where(arms == 0, values, 5 * values)))
    )
    np.testing.assert_array_equal(plain.values, bent.values)
    for arm in range(2):
        own = plain.values[arms == arm]
        np.testing.assert_array_equal(np.argsort(own), np.argsort(values[arms == arm]))
        assert own.std() == pytest.approx(1, abs=0.02)


def test_jumps_are_all_ways_to_cut_a_log() -> None:
    random, rows, time, size, noise = np.random.default_rng(3), 7, 4.0, 0.8, 0.5
    arms, values, gaps = random.integers(2, size=rows), random.normal(size=rows), np.array([1, 1, 3, 1, 1, 2, 1.0])
    series, centres = Series(arms, values, gaps, np.ones(2), False), np.array([0.3, -0.2])
    clicks = series._replace(values=(values > 0).astype(float), binary=True)
    change = 1 - (1 - 1 / time) ** gaps[1:]
    for own in (True, False):
        total = clicked = np.float64(0.0)
        for cuts in product((0, 1), repeat=rows - 1):
            weight = np.float64(np.prod(np.where(cuts, change, 1 - change)))
            stretch = np.cumsum((0, *cuts))
            alike = (stretch[:, None] == stretch) & ((arms[:, None] == arms) | (not own))
            spread = size * alike + noise * np.eye(rows)
            total += weight * float(multivariate_normal(centres[arms], spread).pdf(values))
            chance, shares = 1.0, np.array([0.3, 0.6])
            for part in {(s, a) for s, a in zip(stretch, arms, strict=True)}:
                inside = clicks.values[(stretch == part[0]) & (arms == part[1])]
                prior = np.array([shares[part[1]], 1 - shares[part[1]]]) / size
                counts = np.array([inside.sum(), (1 - inside).sum()])
                chance *= float(np.exp(betaln(*(prior + counts)) - betaln(*prior)))
            clicked += weight * chance
        filtered = fast(fresh._filter_runs)(series, centres[arms], own, 24, time, size, noise)
        assert filtered == pytest.approx(np.log(total))
        if own:
            filtered = fast(fresh._filter_runs)(clicks, np.array([0.3, 0.6])[arms], own, 24, time, size, 1.0)
            assert filtered == pytest.approx(np.log(clicked))


def test_levels_of_clicks_are_a_beta_distribution_that_forgets() -> None:
    random, keep, prior = np.random.default_rng(4), 0.9, 5.0
    arms, values = random.integers(2, size=40), random.integers(2, size=40).astype(float)
    series, shares = Series(arms, values, np.ones(40), np.ones(2), True), np.array([0.3, 0.6])
    total = 0.0
    for t in range(40):
        before = np.flatnonzero(arms[:t] == arms[t])
        weights = keep ** (t - before)
        a = prior * shares[arms[t]] + weights @ values[before]
        b = prior * (1 - shares[arms[t]]) + weights @ (1 - values[before])
        total += np.log((a if values[t] else b) / (a + b))
    filtered = fast(levels._filter_clicks)(series, shares[arms], shares, arms, keep, prior)
    assert filtered == pytest.approx(total)


def test_rare_clicks_of_many_arms_are_no_drift() -> None:
    made = separate.null("rare-clicks-many", 3000, 5)
    series = Series.of(made.arms, made.rewards, np.ones(3000), 40)
    fits = [levels.fit_drift, levels.fit_common_level, *(kind.fit for kind in fresh.KINDS)]
    assert max(fit(series).gain for fit in fits if fit is not None) < 3.0


def test_ratings_are_taken_as_they_are() -> None:
    random = np.random.default_rng(1)
    arms, states = random.integers(2, size=1500), np.arange(1500) // 100 % 2
    stars = np.clip(np.round(np.where(states == arms, 4.6, 3.0) + 0.7 * random.normal(size=1500)), 1, 5)
    d = lb.diagnose({"arm": arms, "reward": stars})
    assert d.regimes
    assert d.model is not None
    assert np.abs(np.sort(d.model.means.ravel()) - [3.0, 3.0, 4.5, 4.5]).max() < 0.25


def test_sessions_are_no_regimes() -> None:
    made = separate.null("sessions", 2000, 1001)
    d = lb.diagnose({"action": made.arms, "reward": made.rewards})
    assert d.conclusion.kind == "jumps"
