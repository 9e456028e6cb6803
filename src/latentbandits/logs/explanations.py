"""The explanations that compete for a log: regimes, and all that could be mistaken for them. The best penalised likelihood wins."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from latentbandits.logs import em, growth, levels, memory
from latentbandits.logs.calendar import Calendar, calendars, fitted
from latentbandits.logs.changes import stretches
from latentbandits.logs.em import Tick, constant, normal_likelihood, silent
from latentbandits.logs.levels import Wandering
from latentbandits.logs.model import BINARY, LEVEL, LOUD, NORMAL, SHAPED, Model
from latentbandits.logs.series import Series

NOTHING, AUTOCORRELATION, DRIFT, CHANGES, LOUDNESS, CALENDAR, REGIMES = (
    "nothing", "autocorrelation", "drift", "changes", "loudness", "calendar", "regimes",
)  # fmt: skip
OF_SHAPE = 0.1  # of what the shape gains: subtracted once more, since it is not known exactly
# A fit with more than half its time in states that last fewer rounds than this is noise: no policy could follow them
BRIEF, MOST_BRIEF = 10.0, 0.5
FAMILIES = (NORMAL, SHAPED, LOUD)  # of rewards that are not 0 and 1
REMEMBERED = 0.05  # correlation of what a fit leaves of successive rows, from which on its noise may have a memory
HOPELESS = 100.0  # nats behind, and by half: no shape makes up for that
HELD_STEPS, SHAPE_STEPS, BACKFITS = 40, 80, 4


class Explanation(NamedTuple):
    """One explanation of a log.

    Attributes
    ----------
    kind : what changes: one of the names above
    calendar : whether the calendar is part of it
    gain : log-likelihood beyond that of a log in which nothing changes
    numbers : how many numbers were fitted beyond those of such a log
    score : the gain, penalised for the numbers (BIC) and corrected for the shape, in nats
    shape : what the same chain gains on shuffled rewards, where only a better shape can be gained; only where states differ
    detail : what was fitted
    ordered : the score where only the order of an arm's rewards is left, to which no shape can add; of rivals with normal noise
    clipped : the score on rewards without outliers; of regimes, and of rivals with normal noise
    """

    kind: str
    calendar: bool
    gain: float
    numbers: int
    score: float
    shape: float = 0.0
    detail: Any = None
    ordered: float = -np.inf
    clipped: float = -np.inf

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


def explanations(
    series: Series, times: np.ndarray | None = None, seed: int = 0, tick: Tick = silent
) -> list[Explanation]:
    """Return all explanations of a log, the best first.

    Parameters
    ----------
    series : Series
        The rows.
    times : array of datetime64, optional
        When they were made; without them the calendar is not among the explanations.
    seed : int
        Names the randomness of where fits begin.
    tick : callable
        Called with the work of every pass.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.explanations import explanations
    >>> from latentbandits.logs.series import Series
    >>> random = np.random.default_rng(1)
    >>> arms, means = random.integers(2, size=3000), np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> states = np.arange(3000) // 50 % 2
    >>> series = Series.of(arms, means[states, arms] + random.normal(size=3000), np.ones(3000), 2)
    >>> [one.kind for one in explanations(series)][:2]
    ['regimes', 'drift']
    """
    found = [Explanation(NOTHING, False, 0.0, 0, 0.0), *_without_calendar(series, seed, tick)]
    fits = calendars(series, times) if times is not None else []
    if fits and times is not None:
        best = max(fits, key=lambda one: _penalised(series, one.gain, one.numbers))
        score = _penalised(series, best.gain, best.numbers)
        found.append(Explanation(CALENDAR, True, best.gain, best.numbers, score, detail=best))
        if score > 0:
            found += _with_calendar(series, times, best, seed, tick)
    found = level_ground(found)
    first = max(found, key=lambda one: one.score)
    if first.kind == REGIMES and not series.binary:
        found += louder(series.without(first.detail.offsets), found, first, seed, tick)
    best_first = sorted(found, key=lambda one: -one.score)
    return list({one.name: one for one in reversed(best_first)}.values())[::-1]  # the best of each name


def _penalised(series: Series, gain: float, numbers: int) -> float:
    return float(gain - 0.5 * numbers * np.log(series.rows))


def level_ground(found: Sequence[Explanation]) -> list[Explanation]:
    """Return explanations with the scores of rivals that have normal noise made comparable to that of regimes, whose noise has any shape.

    Such a rival has the best of three: what it gains by the order of rewards alone; its score without what the shape gains, which was taken
    out of regimes too; and a score as far from that of regimes as both are apart on rewards without outliers. Where regimes are
    no better than nothing, it has its score without outliers instead of the last two.
    """
    best = max((one for one in found if one.kind == REGIMES), key=lambda one: one.score, default=None)
    if best is not None and best.score <= OF_SHAPE * best.shape:  # no better than nothing, and no yardstick
        best = None
    made = []
    for one in found:
        scores = [one.clipped] if best is None else [one.score - best.shape, best.score - best.clipped + one.clipped]
        made.append(one._replace(score=max(one.ordered, *scores)) if np.isfinite(one.ordered) else one)
    return made


def louder(
    series: Series, found: Sequence[Explanation], first: Explanation, seed: int, tick: Tick
) -> list[Explanation]:
    """Return levels whose noise is loud and quiet in turn, which regimes could be mistaken for where they are ahead of both alone."""
    made = []
    for one in found:
        if one.kind in (AUTOCORRELATION, DRIFT) and one.calendar == first.calendar:
            rest = levels.news(series, one.detail, one.kind == DRIFT)
            loud, shape = loudness(rest, seed, tick)
            gain, numbers = loud.likelihood - constant(rest), loud.parameters - series.width - 1
            added = _penalised(series, gain, numbers) - shape
            if added > 0:
                numbers += one.numbers
                made.append(one._replace(gain=one.gain + gain, numbers=numbers, score=one.score + added, shape=shape))
    return made


def _without_calendar(series: Series, seed: int, tick: Tick) -> list[Explanation]:
    found = rivals(series)
    if not series.binary:
        loud, shape = loudness(series, seed, tick)
        gain, numbers = loud.likelihood - constant(series), loud.parameters - series.width - 1
        score = _penalised(series, gain, numbers) - shape
        found.append(Explanation(LOUDNESS, False, gain, numbers, score, shape, loud))
    return [*found, *regimes(series, seed, tick, rival=max(one.score for one in found))]


def rivals(series: Series) -> list[Explanation]:
    """Return levels, drift and changes, each fitted to the rewards as they are, without outliers, and to their order alone."""
    standard = series.standard()
    both, order = (standard, standard.clipped()), standard.scored()
    cut = (series,) if series.binary and not len(series.odds) else both
    fits: tuple[tuple[str, Callable[[Series], Any], tuple[Series, ...]], ...] = (
        (AUTOCORRELATION, levels.common_level, both),
        (DRIFT, drift, both),
        (CHANGES, stretches, cut),
    )
    found = []
    for kind, fit, rows in fits:
        ends = [fit(one) for one in rows]
        scores = [_penalised(series, one.gain, one.numbers) for one in ends]
        score, best = max(zip(scores, ends, strict=True), key=lambda pair: pair[0])
        last = scores[-1]
        again = last if series.binary else _penalised(series, *fit(order)[:2])
        found.append(Explanation(kind, False, best.gain, best.numbers, score, detail=best, ordered=again, clipped=last))
    return found


def drift(series: Series) -> Wandering:
    """Return the better of levels of all arms and of a trend, straight or bent, of every arm its own."""
    own, (bent, numbers) = levels.own_levels(series), trend(series)
    better = _penalised(series, bent, numbers) > _penalised(series, own.gain, own.numbers)
    return own._replace(gain=bent, numbers=numbers) if better else own


def _with_calendar(series: Series, times: np.ndarray, calendar: Calendar, seed: int, tick: Tick) -> list[Explanation]:
    """Return the calendar together with each of the others, fitted to what it leaves."""
    rest, of_calendar = rest_of(series, calendar.offsets), _penalised(series, calendar.gain, calendar.numbers)
    columns = np.zeros((0, 0)) if series.binary else calendar.design(series, times)
    found = []
    for one in rivals(rest):
        if one.kind == CHANGES and len(one.detail.ends) == 2:
            continue
        gain, numbers, ordered = one.gain + calendar.gain, one.numbers + calendar.numbers, one.ordered + of_calendar
        if one.kind != CHANGES and not series.binary:  # both at once: what either could explain is not lost
            joint = [
                levels.with_columns(rows, one.detail, columns, one.kind == DRIFT) for rows in (series, series.scored())
            ]
            gain = max(gain, joint[0].gain)
            ordered = max(ordered, _penalised(series, joint[1].gain, numbers))
        score = _penalised(series, gain, numbers)
        clipped = one.clipped + of_calendar
        found.append(
            one._replace(calendar=True, gain=gain, numbers=numbers, score=score, ordered=ordered, clipped=clipped)
        )
    rival = max(one.score for one in found) - of_calendar
    for one in regimes(rest, seed, tick, rival):
        detail = one.detail._replace(offsets=calendar.offsets)
        found.append(
            one._replace(
                calendar=True,
                gain=one.gain + calendar.gain,
                numbers=one.numbers + calendar.numbers,
                score=one.score + of_calendar,
                clipped=one.clipped + of_calendar,
                detail=detail,
            )
        )
        if not series.binary:
            both = _backfitted(series, times, calendar, found[-1], tick)
            found = found[:-1] if brief(both.detail.model) else [*found, both]
    return found


def rest_of(series: Series, offsets: np.ndarray) -> Series:
    """Return what is left when offsets are taken out of values, or added to the log-odds of rewards of 0 and 1."""
    if not series.binary:
        return series.without(offsets)
    return series._replace(odds=offsets + series.odds if len(series.odds) else offsets)


def _backfitted(series: Series, times: np.ndarray, calendar: Calendar, found: Explanation, tick: Tick) -> Explanation:
    """Return calendar and regimes fitted in turn, each to what the other leaves, so that neither takes what is the other's."""
    model: Model = found.detail.model
    offsets = found.detail.offsets
    for _ in range(BACKFITS):
        counts = em.expected(series.without(offsets), model)
        means = (counts.states * model.means[:, series.arms].T).sum(axis=1)
        again = fitted(series.without(means), times, calendar.hours, calendar.week, calendar.per_arm)
        offsets = again.offsets
        model = em.fitted(series.without(offsets), model, 20, tick=tick)
    gain = model.likelihood - constant(series)
    numbers = model.parameters - series.width - 1 + calendar.numbers
    return found._replace(
        gain=gain,
        numbers=numbers,
        score=_penalised(series, gain, numbers) - found.shape,
        detail=found.detail._replace(model=model.ordered(), offsets=offsets),
    )


def trend(series: Series) -> tuple[float, int]:
    """Return the gain of the best trend, straight or bent, of every arm its own, and how many numbers it has."""
    time = np.linspace(-1, 1, series.rows)
    found = []
    for degree in (1, 2):
        left = 0.0
        for arm in range(series.width):
            own = series.arms == arm
            if own.sum() > degree + 1:
                powers = np.vander(time[own], degree + 1)
                rest = series.values[own] - powers @ np.linalg.lstsq(powers, series.values[own], rcond=None)[0]
                left += float((rest**2).sum())
        gain = normal_likelihood(series.rows, left) - levels.normal_constant(series)
        found.append((gain, degree * series.width))
    return max(found, key=lambda one: _penalised(series, *one))


def loudness(series: Series, seed: int = 0, tick: Tick = silent) -> tuple[Model, float]:
    """Return the best chain whose states differ in noise alone, and what it gains by a better shape."""
    found = []
    for factors in ((0.6, 1.6), (0.4, 1.0, 2.5)):
        means = np.repeat(series.centres[None, :], len(factors), axis=0)
        begun = em.start(series, means, dwell=50.0)
        begun = begun._replace(family=LEVEL, noise=begun.noise / 0.7 * np.array(factors))
        found.append(em.fitted(series, begun, 150, tick=tick))
    shapes = [shape_gain(series, model, seed, tick) for model in found]
    best = max(range(len(found)), key=lambda one: growth.score(series, found[one]) - (1 + OF_SHAPE) * shapes[one])
    return found[best], shapes[best]


def regimes(series: Series, seed: int = 0, tick: Tick = silent, rival: float = -np.inf) -> list[Explanation]:
    """Return regimes as an explanation, with the family and the number of states that score best; nothing if all fits are noise.

    What cannot reach the score of a rival any more is not tried.
    """
    grown = growth.grown(series, seed, tick, rival=rival)
    fits: dict[str, list[Model]] = {BINARY if series.binary else NORMAL: grown}
    if not series.binary:
        score, top = max((growth.score(series, model), model.states) for model in grown)
        kept = [model for model in grown if model.states in {2, 3, 4, *range(top - 1, top + 1)}]
        if rival - score > max(HOPELESS, 0.5 * rival):
            kept = []
        for family in FAMILIES[1:]:
            begun = [em.as_shaped(model) if family == SHAPED else model._replace(family=LOUD) for model in kept]
            again = [em.fitted(series, model, SHAPE_STEPS, 0.3, tick=tick) for model in begun]
            fits[family] = again
    found = []
    for models in fits.values():
        if not models:
            continue
        scores = {model.states: growth.score(series, model) for model in models}
        model = max(models, key=lambda model: scores[model.states])
        shape = shape_gain(series, model, seed, tick)
        gain, numbers = model.likelihood - constant(series), model.parameters - series.width - (not series.binary)
        detail = Regimes(model.ordered(), np.zeros(series.rows), scores)
        found.append(
            Explanation(REGIMES, False, gain, numbers, _penalised(series, gain, numbers) - shape, shape, detail)
        )
    best = max(found, key=lambda one: one.score - OF_SHAPE * one.shape)
    if brief(best.detail.model):
        return []
    if series.binary:
        return [best._replace(clipped=best.score + best.shape)]
    clipped = series.clipped()
    plain = em.fitted(clipped, best.detail.model._replace(family=NORMAL), SHAPE_STEPS, 0.3, tick=tick)
    return [best._replace(clipped=growth.score(clipped, plain))]


def remembering(series: Series, found: Regimes, seed: int = 0, tick: Tick = silent) -> Regimes:
    """Return regimes whose noise has a memory, if that is worth its number; the same ones if not.

    For a log that has regimes whatever the noise remembers: heavy tails with a memory look like regimes with a memory.
    """
    model = found.model
    means = (em.expected(series, model).states * model.means[:, series.arms].T).sum(axis=1)
    left = memory.of_rest(series, means)
    if series.binary or left < REMEMBERED or series.width > memory.MANY:
        return found
    scores = {one.states: (growth.score(series, one), one) for one in growth.grown(series, seed, tick, memory=left)}
    score, best = max(scores.values(), key=lambda pair: pair[0])
    if score <= growth.score(series, model) or brief(best):
        return found
    return Regimes(best, found.offsets, {states: one for states, (one, _) in scores.items()})


def brief(model: Model) -> bool:
    """Return whether most of the time is spent in states that last a few rounds only."""
    weight = model.tried.sum(axis=1)
    return float(weight[model.dwell < BRIEF].sum()) > MOST_BRIEF * float(weight.sum())


def shape_gain(series: Series, model: Model, seed: int = 0, tick: Tick = silent) -> float:
    """Return what the fitted chain gains on rewards shuffled within their arms: only a better shape, since nothing lasts there."""
    random = np.random.default_rng([seed, 1])
    values = series.values.copy()
    for arm in range(series.width):
        rows = np.flatnonzero(series.arms == arm)
        values[rows] = values[random.permutation(rows)]
    shuffled = series._replace(values=values)
    again = em.fitted(shuffled, model, HELD_STEPS, 0.1, held=True, tick=tick)
    return max(0.0, again.likelihood - constant(series))
