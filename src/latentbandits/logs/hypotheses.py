"""The hypotheses that compete for a log: regimes, and all that could be mistaken for them. The best penalised likelihood wins."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from latentbandits.logs import em, growth, levels, memory
from latentbandits.logs.calendar import Calendar, fit_calendar, fit_calendars
from latentbandits.logs.changes import fit_segments
from latentbandits.logs.em import Tick, constant_log_lik, no_tick, profile_log_lik
from latentbandits.logs.levels import LevelFit
from latentbandits.logs.model import BINARY, HETEROSCEDASTIC, MIXTURE, NOISE_ONLY, NORMAL, Model
from latentbandits.logs.series import Series

NOTHING, AUTOCORRELATION, DRIFT, CHANGES, VOLATILITY, CALENDAR, REGIMES = (
    "nothing", "autocorrelation", "drift", "changes", "volatility", "calendar", "regimes",
)  # fmt: skip
OF_SHAPE = 0.1  # of what the shape gains: subtracted once more, since it is not known exactly
# A fit with more than half its time in states that last fewer rounds than this is noise: no policy could follow them
BRIEF, MOST_BRIEF = 10.0, 0.5
FAMILIES = (NORMAL, MIXTURE, HETEROSCEDASTIC)  # of rewards that are not 0 and 1
AUTOCORRELATED = 0.05  # correlation of what a fit leaves of successive rows, from which on its noise may have a memory
HOPELESS = 100.0  # nats behind, and by half: no shape makes up for that
HELD_STEPS, SHAPE_STEPS, BACKFITS = 40, 80, 4


class Hypothesis(NamedTuple):
    """One hypothesis of a log.

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
    detail: Any = None
    rank_score: float = -np.inf
    clipped_score: float = -np.inf

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"calendar and {self.kind}" if self.calendar and self.kind != CALENDAR else self.kind


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


def fit_hypotheses(
    series: Series, times: np.ndarray | None = None, seed: int = 0, tick: Tick = no_tick
) -> list[Hypothesis]:
    """Return all hypotheses of a log, the best first.

    Parameters
    ----------
    series : Series
        The rows.
    times : array of datetime64, optional
        When they were made; without them the calendar is not among the hypotheses.
    seed : int
        Names the randomness of where fits begin.
    tick : callable
        Called with the work of every pass.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.hypotheses import fit_hypotheses
    >>> from latentbandits.logs.series import Series
    >>> random = np.random.default_rng(1)
    >>> arms, means = random.integers(2, size=3000), np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> states = np.arange(3000) // 50 % 2
    >>> series = Series.of(arms, means[states, arms] + random.normal(size=3000), np.ones(3000), 2)
    >>> [hypothesis.kind for hypothesis in fit_hypotheses(series)][:2]
    ['regimes', 'drift']
    """
    hypotheses = [Hypothesis(NOTHING, False, 0.0, 0, 0.0), *_without_calendar(series, seed, tick)]
    fitted_calendars = fit_calendars(series, times) if times is not None else []
    if fitted_calendars and times is not None:
        best = max(fitted_calendars, key=lambda h: _penalised(series, h.gain, h.num_params))
        score = _penalised(series, best.gain, best.num_params)
        hypotheses.append(Hypothesis(CALENDAR, True, best.gain, best.num_params, score, detail=best))
        if score > 0:
            hypotheses += _with_calendar(series, times, best, seed, tick)
    hypotheses = equalise_scores(hypotheses)
    first = max(hypotheses, key=lambda h: h.score)
    if first.kind == REGIMES and not series.binary:
        hypotheses += with_volatility(series.subtract(first.detail.offsets), hypotheses, first, seed, tick)
    best_first = sorted(hypotheses, key=lambda h: -h.score)
    return list({h.name: h for h in reversed(best_first)}.values())[::-1]  # the best of each name


def _penalised(series: Series, gain: float, num_params: int) -> float:
    return float(gain - 0.5 * num_params * np.log(series.rows))


def equalise_scores(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return hypotheses with the scores of rivals that have normal noise made comparable to that of regimes, whose noise has any shape.

    Such a rival has the best of three: what it gains by the order of rewards alone; its score without what the shape gains, which was taken
    out of regimes too; and a score as far from that of regimes as both are apart on rewards without outliers. Where regimes are
    no better than nothing, it has its score without outliers instead of the last two.
    """
    best = max(
        (h for h in hypotheses if h.kind == REGIMES),
        key=lambda h: h.score,
        default=None,
    )
    if best is not None and best.score <= OF_SHAPE * best.shape_gain:  # no better than nothing, and no yardstick
        best = None
    comparable = []
    for hypothesis in hypotheses:
        scores = (
            [hypothesis.clipped_score]
            if best is None
            else [hypothesis.score - best.shape_gain, best.score - best.clipped_score + hypothesis.clipped_score]
        )
        comparable.append(
            hypothesis._replace(score=max(hypothesis.rank_score, *scores))
            if np.isfinite(hypothesis.rank_score)
            else hypothesis
        )
    return comparable


def with_volatility(
    series: Series, hypotheses: Sequence[Hypothesis], first: Hypothesis, seed: int, tick: Tick
) -> list[Hypothesis]:
    """Return levels whose noise is volatile and calm in turn, which regimes could be mistaken for where they are ahead of both alone."""
    volatile = []
    for hypothesis in hypotheses:
        if hypothesis.kind in (AUTOCORRELATION, DRIFT) and hypothesis.calendar == first.calendar:
            residuals = levels.innovations(series, hypothesis.detail, hypothesis.kind == DRIFT)
            model, shape_gain = fit_volatility(residuals, seed, tick)
            gain, num_params = model.log_lik - constant_log_lik(residuals), model.num_params - series.width - 1
            added = _penalised(series, gain, num_params) - shape_gain
            if added > 0:
                num_params += hypothesis.num_params
                volatile.append(
                    hypothesis._replace(
                        gain=hypothesis.gain + gain,
                        num_params=num_params,
                        score=hypothesis.score + added,
                        shape_gain=shape_gain,
                    )
                )
    return volatile


def _without_calendar(series: Series, seed: int, tick: Tick) -> list[Hypothesis]:
    hypotheses = fit_rivals(series)
    if not series.binary:
        model, shape_gain = fit_volatility(series, seed, tick)
        gain, num_params = model.log_lik - constant_log_lik(series), model.num_params - series.width - 1
        score = _penalised(series, gain, num_params) - shape_gain
        hypotheses.append(Hypothesis(VOLATILITY, False, gain, num_params, score, shape_gain, model))
    return [*hypotheses, *fit_regimes(series, seed, tick, rival=max(rival.score for rival in hypotheses))]


def fit_rivals(series: Series) -> list[Hypothesis]:
    """Return levels, drift and changes, each fitted to the rewards as they are, without outliers, and to their order alone."""
    standard = series.standardise()
    both, ranked = (standard, standard.clip_outliers()), standard.rank_normalise()
    cut = (series,) if series.binary and not len(series.logit_offset) else both
    fits: tuple[tuple[str, Callable[[Series], Any], tuple[Series, ...]], ...] = (
        (AUTOCORRELATION, levels.fit_common_level, both),
        (DRIFT, fit_drift, both),
        (CHANGES, fit_segments, cut),
    )
    hypotheses = []
    for kind, fit, rows in fits:
        ends = [fit(fitted) for fitted in rows]
        scores = [_penalised(series, fitted.gain, fitted.num_params) for fitted in ends]
        score, best = max(zip(scores, ends, strict=True), key=lambda pair: pair[0])
        last = scores[-1]
        rank_score = last if series.binary else _penalised(series, *fit(ranked)[:2])
        hypotheses.append(
            Hypothesis(
                kind, False, best.gain, best.num_params, score, detail=best, rank_score=rank_score, clipped_score=last
            )
        )
    return hypotheses


def fit_drift(series: Series) -> LevelFit:
    """Return the better of levels of all arms and of a trend, straight or bent, of every arm its own."""
    own, (bent, num_params) = levels.fit_arm_levels(series), fit_trend(series)
    better = _penalised(series, bent, num_params) > _penalised(series, own.gain, own.num_params)
    return own._replace(gain=bent, num_params=num_params) if better else own


def _with_calendar(series: Series, times: np.ndarray, calendar: Calendar, seed: int, tick: Tick) -> list[Hypothesis]:
    """Return the calendar together with each of the others, fitted to what it leaves."""
    rest, of_calendar = take_out(series, calendar.offsets), _penalised(series, calendar.gain, calendar.num_params)
    columns = np.zeros((0, 0)) if series.binary else calendar.design(series, times)
    hypotheses = []
    for hypothesis in fit_rivals(rest):
        if hypothesis.kind == CHANGES and len(hypothesis.detail.ends) == 2:
            continue
        gain, num_params, rank_score = (
            hypothesis.gain + calendar.gain,
            hypothesis.num_params + calendar.num_params,
            hypothesis.rank_score + of_calendar,
        )
        if hypothesis.kind != CHANGES and not series.binary:  # both at once: what either could explain is not lost
            joint = [
                levels.refit_with_columns(rows, hypothesis.detail, columns, hypothesis.kind == DRIFT)
                for rows in (series, series.rank_normalise())
            ]
            gain = max(gain, joint[0].gain)
            rank_score = max(rank_score, _penalised(series, joint[1].gain, num_params))
        score = _penalised(series, gain, num_params)
        clipped_score = hypothesis.clipped_score + of_calendar
        hypotheses.append(
            hypothesis._replace(
                calendar=True,
                gain=gain,
                num_params=num_params,
                score=score,
                rank_score=rank_score,
                clipped_score=clipped_score,
            )
        )
    rival = max(h.score for h in hypotheses) - of_calendar
    for hypothesis in fit_regimes(rest, seed, tick, rival):
        detail = hypothesis.detail._replace(offsets=calendar.offsets)
        hypotheses.append(
            hypothesis._replace(
                calendar=True,
                gain=hypothesis.gain + calendar.gain,
                num_params=hypothesis.num_params + calendar.num_params,
                score=hypothesis.score + of_calendar,
                clipped_score=hypothesis.clipped_score + of_calendar,
                detail=detail,
            )
        )
        if not series.binary:
            both = _backfit(series, times, calendar, hypotheses[-1], tick)
            hypotheses = hypotheses[:-1] if is_brief(both.detail.model) else [*hypotheses, both]
    return hypotheses


def take_out(series: Series, offsets: np.ndarray) -> Series:
    """Return what is left when offsets are taken out of values, or added to the log-odds of rewards of 0 and 1."""
    if not series.binary:
        return series.subtract(offsets)
    return series._replace(logit_offset=offsets + series.logit_offset if len(series.logit_offset) else offsets)


def _backfit(series: Series, times: np.ndarray, calendar: Calendar, hypothesis: Hypothesis, tick: Tick) -> Hypothesis:
    """Return calendar and regimes fitted in turn, each to what the other leaves, so that neither takes what is the other's."""
    model: Model = hypothesis.detail.model
    offsets = hypothesis.detail.offsets
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
        score=_penalised(series, gain, num_params) - hypothesis.shape_gain,
        detail=hypothesis.detail._replace(model=model.sort_states(), offsets=offsets),
    )


def fit_trend(series: Series) -> tuple[float, int]:
    """Return the gain of the best trend, straight or bent, of every arm its own, and how many numbers it has."""
    time = np.linspace(-1, 1, series.rows)
    candidates = []
    for degree in (1, 2):
        left = 0.0
        for arm in range(series.width):
            own = series.arms == arm
            if own.sum() > degree + 1:
                powers = np.vander(time[own], degree + 1)
                rest = series.values[own] - powers @ np.linalg.lstsq(powers, series.values[own], rcond=None)[0]
                left += float((rest**2).sum())
        gain = profile_log_lik(series.rows, left) - levels.normal_constant_log_lik(series)
        candidates.append((gain, degree * series.width))
    return max(candidates, key=lambda candidate: _penalised(series, *candidate))


def fit_volatility(series: Series, seed: int = 0, tick: Tick = no_tick) -> tuple[Model, float]:
    """Return the best chain whose states differ in noise alone, and what it gains by a better shape."""
    models = []
    for factors in ((0.6, 1.6), (0.4, 1.0, 2.5)):
        means = np.repeat(series.centres[None, :], len(factors), axis=0)
        init = em.init_model(series, means, dwell=50.0)
        init = init._replace(family=NOISE_ONLY, noise=init.noise / 0.7 * np.array(factors))
        models.append(em.fit_em(series, init, 150, tick=tick))
    shape_gains = [shuffled_gain(series, model, seed, tick) for model in models]
    best = max(
        range(len(models)),
        key=lambda index: growth.bic_score(series, models[index]) - (1 + OF_SHAPE) * shape_gains[index],
    )
    return models[best], shape_gains[best]


def fit_regimes(series: Series, seed: int = 0, tick: Tick = no_tick, rival: float = -np.inf) -> list[Hypothesis]:
    """Return regimes as a hypothesis, with the family and the number of states that score best; nothing if all fits are noise.

    What cannot reach the score of a rival any more is not tried.
    """
    models_by_states = growth.select_num_states(series, seed, tick, rival=rival)
    fits: dict[str, list[Model]] = {BINARY if series.binary else NORMAL: models_by_states}
    if not series.binary:
        score, top = max((growth.bic_score(series, model), model.num_states) for model in models_by_states)
        kept = [model for model in models_by_states if model.num_states in {2, 3, 4, *range(top - 1, top + 1)}]
        if rival - score > max(HOPELESS, 0.5 * rival):
            kept = []
        for family in FAMILIES[1:]:
            starts = [
                em.to_mixture(model) if family == MIXTURE else model._replace(family=HETEROSCEDASTIC) for model in kept
            ]
            refitted = [em.fit_em(series, model, SHAPE_STEPS, 0.3, tick=tick) for model in starts]
            fits[family] = refitted
    hypotheses = []
    for models in fits.values():
        if not models:
            continue
        scores = {model.num_states: growth.bic_score(series, model) for model in models}
        model = max(models, key=lambda model: scores[model.num_states])
        shape_gain = shuffled_gain(series, model, seed, tick)
        gain, num_params = (
            model.log_lik - constant_log_lik(series),
            model.num_params - series.width - (not series.binary),
        )
        detail = Regimes(model.sort_states(), np.zeros(series.rows), scores)
        hypotheses.append(
            Hypothesis(
                REGIMES, False, gain, num_params, _penalised(series, gain, num_params) - shape_gain, shape_gain, detail
            )
        )
    best = max(hypotheses, key=lambda h: h.score - OF_SHAPE * h.shape_gain)
    if is_brief(best.detail.model):
        return []
    if series.binary:
        return [best._replace(clipped_score=best.score + best.shape_gain)]
    clipped = series.clip_outliers()
    plain = em.fit_em(clipped, best.detail.model._replace(family=NORMAL), SHAPE_STEPS, 0.3, tick=tick)
    return [best._replace(clipped_score=growth.bic_score(clipped, plain))]


def refit_autoregressive(series: Series, regimes: Regimes, seed: int = 0, tick: Tick = no_tick) -> Regimes:
    """Return regimes whose noise has a memory, if that is worth its number; the same ones if not.

    For a log that has regimes whatever the noise remembers: heavy tails with a memory look like regimes with a memory.
    """
    model = regimes.model
    means = (em.e_step(series, model).state_probs * model.means[:, series.arms].T).sum(axis=1)
    correlation = memory.residual_autocorrelation(series, means)
    if series.binary or correlation < AUTOCORRELATED or series.width > memory.MOST_ARMS:
        return regimes
    scores = {
        candidate.num_states: (growth.bic_score(series, candidate), candidate)
        for candidate in growth.select_num_states(series, seed, tick, ar_coef=correlation)
    }
    score, best = max(scores.values(), key=lambda pair: pair[0])
    if score <= growth.bic_score(series, model) or is_brief(best):
        return regimes
    return Regimes(best, regimes.offsets, {states: candidate for states, (candidate, _) in scores.items()})


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
