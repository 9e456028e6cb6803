"""The hypotheses that compete for a log: regimes, and all that could be mistaken for them. The best penalised likelihood wins."""

from collections.abc import Sequence

import numpy as np

from latentbandits.logs import calendar, changes, em, fresh, levels, regimes
from latentbandits.logs.calendar import CALENDAR, Calendar, best_calendar, fit_calendar
from latentbandits.logs.changes import Segments
from latentbandits.logs.em import Tick, no_tick, penalise
from latentbandits.logs.hypothesis import Fit, Hypothesis, Kind
from latentbandits.logs.levels import LevelFit
from latentbandits.logs.regimes import OF_SHAPE, REGIMES, Regimes, expected_means, fit_regimes, is_brief
from latentbandits.logs.series import Series

NOTHING = "nothing"
# Kinds that are fitted to the rewards as they are, without outliers, and to their order alone
RIVALS = (*levels.KINDS, changes.KIND, *fresh.KINDS)
KINDS = {
    kind.name: kind
    for kind in (
        Kind(NOTHING, "nothing changes", "Nothing changes beyond chance"),
        *RIVALS,
        *regimes.KINDS,
        calendar.KIND,
    )
}
BACKFITS = 4


def fit_hypotheses(
    series: Series, times: np.ndarray | None = None, seed: int = 0, tick: Tick = no_tick
) -> list[Hypothesis]:
    """Return all hypotheses about a log, the best first; without times the calendar is not among them."""
    rivals = fit_rivals(series)
    if not series.binary:
        rivals.append(regimes.fit_volatility(series, seed, tick))
    best_rival = max(rival.score for rival in rivals)
    hypotheses = [Hypothesis(NOTHING, False, 0.0, 0, 0.0), *rivals, *fit_regimes(series, seed, tick, best_rival)]
    best = best_calendar(series, times) if times is not None else None
    if best is not None and times is not None:
        score = penalise(series, best.gain, best.num_params)
        hypotheses.append(Hypothesis(CALENDAR, True, best.gain, best.num_params, score, detail=best))
        if score > 0:
            hypotheses += _with_calendar(series, times, best, seed, tick)
    hypotheses = equalise_scores(hypotheses)
    first = max(hypotheses, key=lambda h: h.score)
    if first.kind == REGIMES and not series.binary:
        hypotheses += _with_volatility(series.subtract(first.fitted(Regimes).offsets), hypotheses, first, seed, tick)
    best_first = sorted(hypotheses, key=lambda h: -h.score)
    return list({h.name: h for h in reversed(best_first)}.values())[::-1]  # the best of each name


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


def fit_rivals(series: Series) -> list[Hypothesis]:
    """Return the rivals, each fitted to the rewards as they are, without outliers, and to their order alone."""
    standard = series.standardise()
    both, ranked = (standard, standard.clip_outliers()), standard.rank_normalise()
    hypotheses = []
    for kind in RIVALS:
        assert kind.fit is not None
        plain = kind.binary and series.binary
        fits: list[Fit] = [kind.fit(version) for version in ((series,) if plain else both)]
        scores = [penalise(series, fit.gain, fit.num_params) for fit in fits]
        score, best = max(zip(scores, fits, strict=True), key=lambda pair: pair[0])
        clipped = rank = scores[-1]
        if not series.binary:
            by_rank = kind.fit(ranked)
            rank = penalise(series, by_rank.gain, by_rank.num_params)
        hypotheses.append(
            Hypothesis(kind.name, False, best.gain, best.num_params, score, 0.0, rank, clipped, detail=best)
        )
    return hypotheses


def _with_volatility(
    series: Series, hypotheses: Sequence[Hypothesis], first: Hypothesis, seed: int, tick: Tick
) -> list[Hypothesis]:
    """Return levels whose noise is volatile and calm in turn, which regimes could be mistaken for where they are ahead of both alone."""
    volatile = []
    for level in hypotheses:
        if isinstance(level.detail, LevelFit) and level.calendar == first.calendar:
            added = regimes.fit_volatility(levels.innovations(series, level.detail), seed, tick)
            if added.score > 0:
                both = level._replace(gain=level.gain + added.gain, num_params=level.num_params + added.num_params)
                volatile.append(both._replace(score=level.score + added.score, shape_gain=added.shape_gain))
    return volatile


def _with_calendar(series: Series, times: np.ndarray, best: Calendar, seed: int, tick: Tick) -> list[Hypothesis]:
    """Return the calendar together with each of the others, fitted to what it leaves."""
    residuals = series.subtract(best.offsets)
    of_calendar = penalise(series, best.gain, best.num_params)
    columns = np.zeros((0, 0)) if series.binary else best.design(series, times)

    def joined(h: Hypothesis) -> Hypothesis:
        return h._replace(
            calendar=True,
            gain=h.gain + best.gain,
            num_params=h.num_params + best.num_params,
            score=h.score + of_calendar,
            rank_score=h.rank_score + of_calendar,
            clipped_score=h.clipped_score + of_calendar,
        )

    hypotheses = []
    for rival in fit_rivals(residuals):
        if isinstance(rival.detail, Segments) and len(rival.detail.ends) == 2:
            continue
        both = joined(rival)
        if (
            isinstance(rival.detail, LevelFit) and not series.binary
        ):  # both at once: what either could explain is not lost
            joint, by_rank = (
                levels.gain_with_columns(rows, rival.detail, columns) for rows in (series, series.rank_normalise())
            )
            rank_score = max(both.rank_score, penalise(series, by_rank, both.num_params))
            both = both._replace(gain=max(both.gain, joint), rank_score=rank_score)
        hypotheses.append(both._replace(score=penalise(series, both.gain, both.num_params)))
    best_rival = max(h.score for h in hypotheses) - of_calendar
    for hypothesis in fit_regimes(residuals, seed, tick, best_rival):
        both = joined(hypothesis)
        both = both._replace(detail=hypothesis.fitted(Regimes)._replace(offsets=best.offsets))
        if series.binary:
            hypotheses.append(both)
            continue
        backfitted = _backfit(series, times, best, both, tick)
        if not is_brief(backfitted.fitted(Regimes).model):
            hypotheses += [both, backfitted]
    return hypotheses


def _backfit(series: Series, times: np.ndarray, best: Calendar, hypothesis: Hypothesis, tick: Tick) -> Hypothesis:
    """Return calendar and regimes fitted in turn, each to what the other leaves, so that neither takes what is the other's."""
    detail = hypothesis.fitted(Regimes)
    model, offsets = detail.model, detail.offsets
    for _ in range(BACKFITS):
        means = expected_means(series.subtract(offsets), model)
        offsets = fit_calendar(series.subtract(means), times, best.hours, best.week, best.per_arm).offsets
        model = em.fit_em(series.subtract(offsets), model, 20, tick=tick)
    gain, num_params = em.beyond_constant(series, model)
    num_params += best.num_params
    return hypothesis._replace(
        gain=gain,
        num_params=num_params,
        score=penalise(series, gain, num_params) - hypothesis.shape_gain,
        detail=detail._replace(model=model.sort_states(), offsets=offsets),
    )
