"""The hypotheses that compete for a log: regimes, and all that could be mistaken for them. The best penalised likelihood wins."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from latentbandits.logs import em, emissions, levels
from latentbandits.logs.calendar import Calendar, fit_calendar, fit_calendars
from latentbandits.logs.changes import Segments, fit_segments
from latentbandits.logs.em import Tick, constant_log_lik, no_tick, profile_log_lik
from latentbandits.logs.hmm import HETEROSCEDASTIC, NOISE_ONLY, NORMAL, Model
from latentbandits.logs.levels import LevelFit
from latentbandits.logs.series import Series

NOTHING, AUTOCORRELATION, DRIFT, CHANGES, VOLATILITY, CALENDAR, REGIMES = (
    "nothing", "autocorrelation", "drift", "changes", "volatility", "calendar", "regimes",
)  # fmt: skip
OF_SHAPE = 0.1  # of what the shape gains: subtracted once more, since it is not known exactly
# A fit with more than half its time in states that last fewer rounds than this is noise: no policy could follow them
BRIEF, MOST_BRIEF = 10.0, 0.5
AUTOCORRELATED = 0.05  # correlation of what a fit leaves of successive rows, from which on its noise may have a memory
HOPELESS = 100.0  # nats behind, and by half: no shape makes up for that
HELD_STEPS, SHAPE_STEPS, BACKFITS = 40, 80, 4


class Regimes(NamedTuple):
    """The best chain of states, and those with other numbers of states.

    Attributes
    ----------
    model : the best one
    offsets : array (rows,), what the calendar adds, zeros without one
    scores : number of states -> score, for the family of the best one
    """

    model: Model
    offsets: np.ndarray
    scores: dict[int, float]


class Hypothesis(NamedTuple):
    """One hypothesis about a log.

    Attributes
    ----------
    kind : what changes: one of the names above
    calendar : whether the calendar is part of it
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted beyond those of such a log
    score : the gain, penalised for the numbers (BIC) and corrected for the shape, in nats
    shape_gain : what the same chain gains on shuffled rewards, where only a better shape can be gained; only where states differ
    detail : what was fitted
    rank_score : the score where only the order of an arm's rewards is left, to which no shape can add; of rivals with normal noise
    clipped_score : the score on rewards without outliers; of regimes, and of rivals with normal noise
    """

    kind: str
    calendar: bool
    gain: float
    num_params: int
    score: float
    shape_gain: float = 0.0
    detail: LevelFit | Segments | Calendar | Model | Regimes | None = None
    rank_score: float = -np.inf
    clipped_score: float = -np.inf

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"calendar and {self.kind}" if self.calendar and self.kind != CALENDAR else self.kind

    @property
    def level(self) -> LevelFit:
        """The level that was fitted; of autocorrelation and drift."""
        assert isinstance(self.detail, LevelFit)
        return self.detail

    @property
    def regimes(self) -> Regimes:
        """The states that were fitted; of regimes."""
        assert isinstance(self.detail, Regimes)
        return self.detail


def fit_hypotheses(
    series: Series, times: np.ndarray | None = None, seed: int = 0, tick: Tick = no_tick
) -> list[Hypothesis]:
    """Return all hypotheses about a log, the best first; without times the calendar is not among them."""
    hypotheses = [Hypothesis(NOTHING, False, 0.0, 0, 0.0), *_without_calendar(series, seed, tick)]
    calendars = fit_calendars(series, times) if times is not None else []
    if calendars and times is not None:
        best = max(calendars, key=lambda calendar: _penalise(series, calendar.gain, calendar.num_params))
        score = _penalise(series, best.gain, best.num_params)
        hypotheses.append(Hypothesis(CALENDAR, True, best.gain, best.num_params, score, detail=best))
        if score > 0:
            hypotheses += _with_calendar(series, times, best, seed, tick)
    hypotheses = equalise_scores(hypotheses)
    first = max(hypotheses, key=lambda h: h.score)
    if first.kind == REGIMES and not series.binary:
        hypotheses += add_volatility(series.subtract(first.regimes.offsets), hypotheses, first, seed, tick)
    best_first = sorted(hypotheses, key=lambda h: -h.score)
    return list({h.name: h for h in reversed(best_first)}.values())[::-1]  # the best of each name


def _penalise(series: Series, gain: float, num_params: int) -> float:
    return float(gain - 0.5 * num_params * np.log(series.rows))


def equalise_scores(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return hypotheses with the scores of rivals that have normal noise made comparable to that of regimes, whose noise has any shape.

    Such a rival has the best of three: what it gains by the order of rewards alone; its score without what the shape gains, which was taken
    out of regimes too; and a score as far from that of regimes as both are apart on rewards without outliers. Where regimes are
    no better than nothing, it has its score without outliers instead of the last two.
    """
    best = max((h for h in hypotheses if h.kind == REGIMES), key=lambda h: h.score, default=None)
    if best is not None and best.score <= OF_SHAPE * best.shape_gain:  # no better than nothing, and no yardstick
        best = None

    def comparable(h: Hypothesis) -> float:
        if best is None:
            return max(h.rank_score, h.clipped_score)
        return max(h.rank_score, h.score - best.shape_gain, best.score - best.clipped_score + h.clipped_score)

    return [h._replace(score=comparable(h)) if np.isfinite(h.rank_score) else h for h in hypotheses]


def add_volatility(
    series: Series, hypotheses: Sequence[Hypothesis], first: Hypothesis, seed: int, tick: Tick
) -> list[Hypothesis]:
    """Return levels whose noise is volatile and calm in turn, which regimes could be mistaken for where they are ahead of both alone."""
    volatile = []
    for level in hypotheses:
        if level.kind in (AUTOCORRELATION, DRIFT) and level.calendar == first.calendar:
            added = _fit_volatility(levels.innovations(series, level.level, level.kind == DRIFT), seed, tick)
            if added.score > 0:
                volatile.append(
                    level._replace(
                        gain=level.gain + added.gain,
                        num_params=level.num_params + added.num_params,
                        score=level.score + added.score,
                        shape_gain=added.shape_gain,
                    )
                )
    return volatile


def _without_calendar(series: Series, seed: int, tick: Tick) -> list[Hypothesis]:
    """Return rivals and regimes, fitted to the rewards as they are."""
    hypotheses = fit_rivals(series)
    if not series.binary:
        hypotheses.append(_fit_volatility(series, seed, tick))
    return [*hypotheses, *fit_regimes(series, seed, tick, rival=max(rival.score for rival in hypotheses))]


def fit_rivals(series: Series) -> list[Hypothesis]:
    """Return levels, drift and changes, each fitted to the rewards as they are, without outliers, and to their order alone."""
    standard = series.standardise()
    both, ranked = (standard, standard.clip_outliers()), standard.rank_normalise()
    of_segments = (series,) if series.binary and not len(series.logit_offset) else both
    fits: tuple[tuple[str, Callable[[Series], LevelFit | Segments], tuple[Series, ...]], ...] = (
        (AUTOCORRELATION, levels.fit_common_level, both),
        (DRIFT, fit_drift, both),
        (CHANGES, fit_segments, of_segments),
    )
    hypotheses = []
    for kind, fit, versions in fits:
        fitted = [fit(version) for version in versions]
        scores = [_penalise(series, each.gain, each.num_params) for each in fitted]
        score, best = max(zip(scores, fitted, strict=True), key=lambda pair: pair[0])
        clipped = rank = scores[-1]
        if not series.binary:
            by_rank = fit(ranked)
            rank = _penalise(series, by_rank.gain, by_rank.num_params)
        hypotheses.append(Hypothesis(kind, False, best.gain, best.num_params, score, 0.0, best, rank, clipped))
    return hypotheses


def fit_drift(series: Series) -> LevelFit:
    """Return the better of levels of all arms and of a trend, straight or bent, of every arm its own."""
    own, (bent, num_params) = levels.fit_arm_levels(series), fit_trend(series)
    better = _penalise(series, bent, num_params) > _penalise(series, own.gain, own.num_params)
    return own._replace(gain=bent, num_params=num_params) if better else own


def _with_calendar(series: Series, times: np.ndarray, calendar: Calendar, seed: int, tick: Tick) -> list[Hypothesis]:
    """Return the calendar together with each of the others, fitted to what it leaves."""
    residuals = take_out(series, calendar.offsets)
    of_calendar = _penalise(series, calendar.gain, calendar.num_params)
    columns = np.zeros((0, 0)) if series.binary else calendar.design(series, times)

    def joined(h: Hypothesis) -> Hypothesis:
        return h._replace(
            calendar=True,
            gain=h.gain + calendar.gain,
            num_params=h.num_params + calendar.num_params,
            score=h.score + of_calendar,
            rank_score=h.rank_score + of_calendar,
            clipped_score=h.clipped_score + of_calendar,
        )

    hypotheses = []
    for rival in fit_rivals(residuals):
        if isinstance(rival.detail, Segments) and len(rival.detail.ends) == 2:
            continue
        both = joined(rival)
        if rival.kind != CHANGES and not series.binary:  # both at once: what either could explain is not lost
            own = rival.kind == DRIFT
            joint, by_rank = (
                levels.refit_with_columns(rows, rival.level, columns, own).gain
                for rows in (series, series.rank_normalise())
            )
            rank_score = max(both.rank_score, _penalise(series, by_rank, both.num_params))
            both = both._replace(gain=max(both.gain, joint), rank_score=rank_score)
        hypotheses.append(both._replace(score=_penalise(series, both.gain, both.num_params)))
    best = max(h.score for h in hypotheses) - of_calendar
    for hypothesis in fit_regimes(residuals, seed, tick, best):
        both = joined(hypothesis)
        both = both._replace(detail=hypothesis.regimes._replace(offsets=calendar.offsets))
        if series.binary:
            hypotheses.append(both)
            continue
        backfitted = _backfit(series, times, calendar, both, tick)
        if not is_brief(backfitted.regimes.model):
            hypotheses += [both, backfitted]
    return hypotheses


def take_out(series: Series, offsets: np.ndarray) -> Series:
    """Return what is left when offsets are taken out of values, or added to the log-odds of rewards of 0 and 1."""
    if not series.binary:
        return series.subtract(offsets)
    return series._replace(logit_offset=offsets + series.logit_offset if len(series.logit_offset) else offsets)


def _backfit(series: Series, times: np.ndarray, calendar: Calendar, hypothesis: Hypothesis, tick: Tick) -> Hypothesis:
    """Return calendar and regimes fitted in turn, each to what the other leaves, so that neither takes what is the other's."""
    model, offsets = hypothesis.regimes.model, hypothesis.regimes.offsets
    for _ in range(BACKFITS):
        expected = em.e_step(series.subtract(offsets), model)
        means = (expected.state_probs * model.means[:, series.arms].T).sum(axis=1)
        refitted = fit_calendar(series.subtract(means), times, calendar.hours, calendar.week, calendar.per_arm)
        offsets = refitted.offsets
        model = em.fit_em(series.subtract(offsets), model, 20, tick=tick)
    gain = model.log_lik - constant_log_lik(series)
    num_params = model.num_params - series.width - 1 + calendar.num_params
    return hypothesis._replace(
        gain=gain,
        num_params=num_params,
        score=_penalise(series, gain, num_params) - hypothesis.shape_gain,
        detail=hypothesis.regimes._replace(model=model.sort_states(), offsets=offsets),
    )


def fit_trend(series: Series) -> tuple[float, int]:
    """Return the gain of the best trend, straight or bent, of every arm its own, and how many numbers it has."""
    time = np.linspace(-1, 1, series.rows)
    candidates = []
    for degree in (1, 2):
        squares = 0.0
        for arm in range(series.width):
            own = series.arms == arm
            if own.sum() > degree + 1:
                powers = np.vander(time[own], degree + 1)
                residuals = series.values[own] - powers @ np.linalg.lstsq(powers, series.values[own], rcond=None)[0]
                squares += float((residuals**2).sum())
        gain = profile_log_lik(series.rows, squares) - levels.normal_constant_log_lik(series)
        candidates.append((gain, degree * series.width))
    return max(candidates, key=lambda candidate: _penalise(series, *candidate))


def _fit_volatility(series: Series, seed: int = 0, tick: Tick = no_tick) -> Hypothesis:
    """Return the best chain whose states differ in noise alone."""
    models = []
    for factors in ((0.6, 1.6), (0.4, 1.0, 2.5)):
        means = np.repeat(series.centres[None, :], len(factors), axis=0)
        init = em.init_model(series, means, dwell=50.0)
        init = init._replace(family=NOISE_ONLY, noise=init.noise / 0.7 * np.array(factors))
        models.append(em.fit_em(series, init, 150, tick=tick))
    pairs = [(model, shuffled_gain(series, model, seed, tick)) for model in models]
    model, shape_gain = max(pairs, key=lambda pair: em.bic_score(series, pair[0]) - (1 + OF_SHAPE) * pair[1])
    return _from_model(VOLATILITY, series, model, shape_gain, model)


def _from_model(kind: str, series: Series, model: Model, shape_gain: float, detail: Model | Regimes) -> Hypothesis:
    """Return a fitted chain as a hypothesis."""
    gain = model.log_lik - constant_log_lik(series)
    num_params = model.num_params - series.width - (not series.binary)
    return Hypothesis(
        kind, False, gain, num_params, _penalise(series, gain, num_params) - shape_gain, shape_gain, detail
    )


def fit_regimes(series: Series, seed: int = 0, tick: Tick = no_tick, rival: float = -np.inf) -> list[Hypothesis]:
    """Return regimes as a hypothesis, with the family and the number of states that score best; nothing if all fits are noise.

    What cannot reach the score of a rival any more is not tried.
    """
    models = em.select_num_states(series, seed, tick, rival=rival)
    families = [models]
    if not series.binary:
        score, top = max((em.bic_score(series, model), model.num_states) for model in models)
        kept = [model for model in models if model.num_states in {2, 3, 4, *range(top - 1, top + 1)}]
        if rival - score <= max(HOPELESS, 0.5 * rival):
            mixtures = [em.to_mixture(model) for model in kept]
            heteroscedastic = [model._replace(family=HETEROSCEDASTIC) for model in kept]
            for starts in (mixtures, heteroscedastic):
                families += [[em.fit_em(series, model, SHAPE_STEPS, 0.3, tick=tick) for model in starts]]
    hypotheses = []
    for family in families:
        scores = {model.num_states: em.bic_score(series, model) for model in family}
        model = max(family, key=lambda model: scores[model.num_states])
        shape_gain = shuffled_gain(series, model, seed, tick)
        regimes = Regimes(model.sort_states(), np.zeros(series.rows), scores)
        hypotheses.append(_from_model(REGIMES, series, model, shape_gain, regimes))
    best = max(hypotheses, key=lambda h: h.score - OF_SHAPE * h.shape_gain)
    if is_brief(best.regimes.model):
        return []
    if series.binary:
        return [best._replace(clipped_score=best.score + best.shape_gain)]
    clipped = series.clip_outliers()
    plain = em.fit_em(clipped, best.regimes.model._replace(family=NORMAL), SHAPE_STEPS, 0.3, tick=tick)
    return [best._replace(clipped_score=em.bic_score(clipped, plain))]


def refit_autoregressive(series: Series, regimes: Regimes, seed: int = 0, tick: Tick = no_tick) -> Regimes:
    """Return regimes with autoregressive noise, if that is worth its number; the same ones if not.

    For a log that has regimes whatever the noise remembers: heavy tails with a memory look like regimes with a memory.
    """
    model = regimes.model
    means = (em.e_step(series, model).state_probs * model.means[:, series.arms].T).sum(axis=1)
    correlation = emissions.residual_autocorrelation(series, means)
    if series.binary or correlation < AUTOCORRELATED or series.width > emissions.MOST_ARMS:
        return regimes
    models = em.select_num_states(series, seed, tick, ar_coef=correlation)
    scores = {model.num_states: em.bic_score(series, model) for model in models}
    best = max(models, key=lambda model: scores[model.num_states])
    if scores[best.num_states] <= em.bic_score(series, model) or is_brief(best):
        return regimes
    return Regimes(best, regimes.offsets, scores)


def is_brief(model: Model) -> bool:
    """Return whether most of the time is spent in states that last a few rounds only."""
    weight = model.tried.sum(axis=1)
    return float(weight[model.dwell < BRIEF].sum()) > MOST_BRIEF * float(weight.sum())


def shuffled_gain(series: Series, model: Model, seed: int = 0, tick: Tick = no_tick) -> float:
    """Return what the fitted chain gains on rewards shuffled within their arms: only a better shape, since nothing lasts there."""
    random = np.random.default_rng([seed, 1])
    values = series.values.copy()
    for arm in range(series.width):
        rows = np.flatnonzero(series.arms == arm)
        values[rows] = values[random.permutation(rows)]
    shuffled = series._replace(values=values)
    refitted = em.fit_em(shuffled, model, HELD_STEPS, 0.1, fixed_chain=True, tick=tick)
    return max(0.0, refitted.log_lik - constant_log_lik(series))
