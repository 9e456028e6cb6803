"""From a log to what it says: the explanations compete, the best one is fitted to the end."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from latentbandits.logs import em, growth
from latentbandits.logs.assembly import arm_table, assembled
from latentbandits.logs.checks import OWNER, flags, refuse
from latentbandits.logs.covariates import taken_out
from latentbandits.logs.diagnosis import Diagnosis
from latentbandits.logs.em import Tick
from latentbandits.logs.explanations import (
    CALENDAR,
    CHANGES,
    DRIFT,
    REGIMES,
    Explanation,
    Regimes,
    brief,
    explanations,
    remembering,
    rest_of,
)
from latentbandits.logs.log import Log
from latentbandits.logs.model import Model
from latentbandits.logs.posterior import sampled
from latentbandits.logs.series import Series
from latentbandits.logs.verdict import judged
from latentbandits.settings import whole

LONG, STRETCH = 60_000, 20_000  # rows beyond which explanations compete on three stretches
RECOUNT = 60_000  # rows on which the number of states is then counted again
SAMPLES = 200
LAST_STEPS, LAST_TOLERANCE, LONG_STEPS = 400, 1e-3, 30


def diagnose(
    log: Log | str | Path | Any,
    *,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    **columns: Any,
) -> Diagnosis:
    """Return what a log says about hidden regimes: whether there are any, how many, what they pay, and how sure that is.

    Regimes compete with all that could be mistaken for them: the calendar, drift, abrupt changes, autocorrelated or changing noise, and
    chance.

    Parameters
    ----------
    log : Log, path, data frame or mapping
        What `Log.read` returns, or takes.
    seed : int
        Names the randomness of the search.
    workers : int, optional
        Threads, for logs of more than 60,000 rows.
    progress : callable, optional
        Called with the work done so far, and None: how much there will be is not known.
    **columns
        Which column is what, as for `Log.read`.

    Returns
    -------
    Diagnosis
        With a `.table` of states, `.figure()`, `.text()`, `.page()`, `.save(path)`, and what follows: `.compare(policies)`, `.value(rule)`,
        `.agent(policy)`.

    Examples
    --------
    >>> import numpy as np
    >>> import latentbandits as lb
    >>> world = lb.HiddenMarkov(means=[[0.2, 0.8], [0.9, 0.3]], dwell=60, noise=0.3).realise(3000, 1, seed=1, draw=0, repeat=0)
    >>> arms = np.random.default_rng(0).integers(2, size=3000)
    >>> d = lb.diagnose({"action": arms, "reward": world.rewards[np.arange(3000), 0, arms]})
    >>> d
    <Diagnosis: There are regimes: at least 2 states (very sure)>
    >>> d.model.means.round(1).tolist()
    [[0.2, 0.8], [0.9, 0.3]]
    """
    read = log if isinstance(log, Log) else Log.read(log, **columns)
    seed = whole(OWNER, "seed", seed, least=0)
    refuse(read)
    work = Work(progress)
    tick = work.tick

    series = Series.of(read.played, read.rewards, read.gaps, len(read.arms))
    noise, binary = series.noise, series.binary
    outside, covariates = taken_out(series, read.context) if read.context else (np.zeros(len(read)), [])
    if outside.any():
        series = rest_of(series, outside)
    times = read.times if read.dated else None
    found = _explanations(series, times, seed, workers, work)
    if series.rows > LONG:
        found = [_recounted(series, one, seed, tick) if one.kind == REGIMES else one for one in found]
    found, rest, ended = _to_the_end(series, found, seed, tick)
    fit = None if ended is None else ended.model
    samples = None if fit is None else sampled(rest, fit, SAMPLES, seed, tick)
    parts = {one.kind: one.detail for one in reversed(found) if one.kind in (DRIFT, CHANGES, CALENDAR)}
    calendar = parts.get(CALENDAR)
    made = Diagnosis(
        arm_table(read),
        read,
        tuple(one._replace(detail=None) for one in found),
        judged(found),
        fit,
        samples,
        rest,
        (outside if ended is None else outside + ended.offsets) * (1.0 if binary else noise[read.played]),
        {} if ended is None else ended.scores,
        None if calendar is None else (calendar.words, calendar.share),
        tuple(covariates),
        {},
        tuple(flags(read, noise, binary)),
        seed,
    )
    return assembled(made, parts)


def _to_the_end(
    series: Series, found: list[Explanation], seed: int, tick: Tick
) -> tuple[list[Explanation], Series, Regimes | None]:
    """Return the explanations, the rows without the calendar, and the best regimes, fitted to the end.

    Regimes that turn out to last a few rounds only are no explanation any more, and the next best ones are fitted.
    """
    steps = LAST_STEPS if series.rows <= LONG else LONG_STEPS
    for best in [one for one in found if one.kind == REGIMES]:
        detail: Regimes = best.detail
        if len(detail.offsets) != series.rows:  # fitted to a stretch
            detail = detail._replace(offsets=np.zeros(series.rows))
        rest = rest_of(series, detail.offsets) if detail.offsets.any() else series
        if series.rows <= LONG and judged(found).kind == REGIMES:
            detail = remembering(rest, detail, seed, tick)
        # whatever chain was enough to judge, every state has a dwell of its own to be reported
        fit = em.fitted(rest, detail.model._replace(alike=False), steps, LAST_TOLERANCE, tick=tick).ordered()
        if not brief(fit):
            return found, rest, detail._replace(model=fit)
        found = [one for one in found if one is not best]
    return found, series, None


class Work:
    """The work that is done so far, reported as it is done; once stopped, the next count of every thread ends it, for the same reason."""

    def __init__(self, progress: Callable[[int, int | None], None] | None) -> None:
        self._progress, self._done = progress, 0
        self._reason: BaseException | None = None

    def tick(self, cells: int) -> None:
        """Count the cells of a pass, and report."""
        if self._reason is not None:
            raise self._reason
        self._done += cells
        if self._progress is not None:
            self._progress(self._done, None)

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Stop all work if what is done here ends in an error: an interrupt, say."""
        try:
            yield
        except BaseException as reason:
            self._reason = reason
            raise


def _explanations(
    series: Series, times: np.ndarray | None, seed: int, workers: int | None, work: Work
) -> list[Explanation]:
    """Return the explanations of a log; of a long one, of three stretches together."""
    if series.rows <= LONG:
        return explanations(series, times, seed, work.tick)
    begins = (0, (series.rows - STRETCH) // 2, series.rows - STRETCH)
    parts = [slice(begin, begin + STRETCH) for begin in begins]

    def one(part: slice) -> list[Explanation]:
        with work.stopping():
            return explanations(series.part(part), None if times is None else times[part], seed, work.tick)

    with ThreadPoolExecutor(workers or 2) as threads, work.stopping():
        return together(list(threads.map(one, parts)))


def together(stretches: list[list[Explanation]]) -> list[Explanation]:
    """Return the explanations of several stretches as one list: scores add up, details are those of the stretch that scores best."""
    groups: dict[tuple[str, bool], list[Explanation]] = defaultdict(list)
    for found in stretches:
        best: dict[tuple[str, bool], Explanation] = {}
        for one in found:
            best.setdefault((one.kind, one.calendar), one)
        for key, one in best.items():
            groups[key].append(one)
    made = []
    for group in groups.values():
        if len(group) < len(stretches):  # it could not be fitted to some stretch
            continue
        gain, numbers = sum(one.gain for one in group), sum(one.numbers for one in group)
        score, shape = sum(one.score for one in group), sum(one.shape for one in group)
        made.append(
            max(group, key=lambda one: one.score)._replace(gain=gain, numbers=numbers, score=score, shape=shape)
        )
    return sorted(made, key=lambda one: -one.score)


def _recounted(series: Series, found: Explanation, seed: int, tick: Tick) -> Explanation:
    """Return regimes whose states were counted again on more rows: a state more as long as that scores better."""
    begin = (series.rows - RECOUNT) // 2
    part = series.part(slice(begin, begin + RECOUNT))
    part = part if part.binary == (found.detail.model.family == "binary") else part.standard()
    random = np.random.default_rng([seed, 3])
    best: Model = em.fitted(part, found.detail.model, 40, 0.5, tick=tick)
    scores = {best.states: growth.score(part, best)}
    for _ in range(3):
        begun = [_split(part, best, random) for _ in range(2)]
        again = max((em.fitted(part, model, 40, 0.5, tick=tick) for model in begun), key=lambda model: model.objective)
        scores[again.states] = growth.score(part, again)
        if scores[again.states] <= scores[best.states]:
            break
        best = again
    return found._replace(detail=Regimes(best.ordered(), np.zeros(0), scores))


def _split(series: Series, model: Model, random: np.random.Generator) -> Model:
    """Return a model of the same family with one state more."""
    return growth.split(series, model, random)._replace(family=model.family, shape=model.shape)
