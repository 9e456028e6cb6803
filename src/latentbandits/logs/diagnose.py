"""From a log to what it says: the hypotheses compete, the best one is fitted to the end."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from latentbandits.logs import em
from latentbandits.logs.calendar import Calendar
from latentbandits.logs.conclusion import conclude
from latentbandits.logs.diagnosis import Diagnosis
from latentbandits.logs.em import Tick
from latentbandits.logs.hypotheses import KINDS, fit_hypotheses
from latentbandits.logs.hypothesis import Fit, Hypothesis
from latentbandits.logs.log import Log
from latentbandits.logs.posterior import sample_models
from latentbandits.logs.regimes import REGIMES, Regimes, is_brief, refit_autoregressive, regimes_world
from latentbandits.logs.regression import fit_covariates
from latentbandits.logs.series import OWNER, Series, check_log, list_flags
from latentbandits.logs.worlds import FittedRegimes, FittedWorld
from latentbandits.settings import check_int
from latentbandits.simulation.batch import cores

LONG, STRETCH = 60_000, 20_000  # rows beyond which hypotheses compete on three stretches
RECOUNT = 60_000  # rows on which the number of states is then counted again
SAMPLES = 200
LAST_STEPS, LAST_TOLERANCE, LONG_STEPS = 400, 1e-3, 30


def diagnose(
    log: object,
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
        Threads, for logs of more than 60,000 rows; as many as there are cores if not given.
    progress : callable, optional
        Called with the work done so far, and None: how much there will be is not known.
    **columns
        Which column is what, as for `Log.read`.

    Returns
    -------
    Diagnosis
        With a `.table` of states, `.figure()`, `.text()`, `.page()`, `.save(path)`, and what follows: `.compare(policies)`,
        `.advise()`, `.agent(policy)`.

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
    seed = check_int(OWNER, "seed", seed, least=0)
    if workers is not None:
        check_int(OWNER, "workers", workers, least=1)
    check_log(read)
    work = Work(progress)
    tick = work.tick

    series = Series.of(read.played, read.rewards, read.gaps, len(read.arms))
    noise, binary = series.noise, series.binary
    offsets, covariates = fit_covariates(series, read.context) if read.context else (np.zeros(len(read)), [])
    if offsets.any():
        series = series.subtract(offsets)
    times = read.times if read.clock is None else read.clock
    times = times if read.dated else None
    hypotheses = _fit_all(series, times, seed, workers, work)
    if series.rows > LONG:
        hypotheses = [_recount_states(series, h, seed, tick) if h.kind == REGIMES else h for h in hypotheses]
    hypotheses, residuals, regimes = _fit_to_the_end(series, hypotheses, seed, tick)
    fit = None if regimes is None else regimes.model
    calendar = next((h.detail for h in hypotheses if isinstance(h.detail, Calendar)), None)
    diagnosis = Diagnosis(
        read,
        tuple(h._replace(detail=None) for h in hypotheses),
        conclude(hypotheses),
        fit,
        None if fit is None else sample_models(residuals, fit, SAMPLES, seed, tick),
        residuals,
        (offsets if regimes is None else offsets + regimes.offsets) * (1.0 if binary else noise[read.played]),
        {} if regimes is None else regimes.scores,
        None if calendar is None else (calendar.words, calendar.share),
        tuple(covariates),
        {},
        tuple(list_flags(read, noise, binary)),
    )
    return dataclasses.replace(diagnosis, worlds=fit_worlds(diagnosis, hypotheses))


def _fit_to_the_end(
    series: Series, hypotheses: list[Hypothesis], seed: int, tick: Tick
) -> tuple[list[Hypothesis], Series, Regimes | None]:
    """Return the hypotheses, the rows without the calendar, and the best regimes, fitted to the end.

    Regimes that turn out to last a few rounds only are no hypothesis any more, and the next best ones are fitted.
    """
    steps = LAST_STEPS if series.rows <= LONG else LONG_STEPS
    for best in [h for h in hypotheses if h.kind == REGIMES]:
        detail = best.fitted(Regimes)
        if len(detail.offsets) != series.rows:  # fitted to a stretch
            detail = detail._replace(offsets=np.zeros(series.rows))
        residuals = series.subtract(detail.offsets) if detail.offsets.any() else series
        if series.rows <= LONG and conclude(hypotheses).kind == REGIMES:
            detail = refit_autoregressive(residuals, detail, seed, tick)
        # whatever chain was enough to judge, every state has a dwell of its own to be reported
        fit = em.fit_em(residuals, detail.model._replace(tied=False), steps, LAST_TOLERANCE, tick=tick).sort_states()
        if not is_brief(fit):
            return hypotheses, residuals, detail._replace(model=fit)
        hypotheses = [h for h in hypotheses if h is not best]
    return hypotheses, series, None


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


def _fit_all(series: Series, times: np.ndarray | None, seed: int, workers: int | None, work: Work) -> list[Hypothesis]:
    """Return the hypotheses of a log; of a long one, of three stretches together."""
    if series.rows <= LONG:
        return fit_hypotheses(series, times, seed, work.tick)
    begins = (0, (series.rows - STRETCH) // 2, series.rows - STRETCH)
    parts = [slice(begin, begin + STRETCH) for begin in begins]

    def fit_part(part: slice) -> list[Hypothesis]:
        with work.stopping():
            return fit_hypotheses(series.select(part), None if times is None else times[part], seed, work.tick)

    with ThreadPoolExecutor(cores() if workers is None else workers) as threads, work.stopping():
        return combine_stretches(list(threads.map(fit_part, parts)))


def combine_stretches(stretches: list[list[Hypothesis]]) -> list[Hypothesis]:
    """Return the hypotheses of several stretches as one list: scores add up, details are those of the stretch that scores best."""
    groups: dict[tuple[str, bool], list[Hypothesis]] = defaultdict(list)
    for hypotheses in stretches:
        best: dict[tuple[str, bool], Hypothesis] = {}
        for hypothesis in hypotheses:
            best.setdefault((hypothesis.kind, hypothesis.calendar), hypothesis)
        for key, hypothesis in best.items():
            groups[key].append(hypothesis)
    combined = []
    for group in groups.values():
        if len(group) < len(stretches):  # it could not be fitted to some stretch
            continue
        totals = {
            field: sum(getattr(h, field) for h in group) for field in ("gain", "num_params", "score", "shape_gain")
        }
        combined.append(max(group, key=lambda h: h.score)._replace(**totals))
    return sorted(combined, key=lambda h: -h.score)


def _recount_states(series: Series, hypothesis: Hypothesis, seed: int, tick: Tick) -> Hypothesis:
    """Return regimes whose states were counted again on more rows: a state more as long as that scores better."""
    begin = (series.rows - RECOUNT) // 2
    part = series.select(slice(begin, begin + RECOUNT))
    random = np.random.default_rng([seed, 3])
    best = em.fit_em(part, hypothesis.fitted(Regimes).model, 40, 0.5, tick=tick)
    scores = {best.num_states: em.bic_score(part, best)}
    for _ in range(3):
        starts = [em.init_split(part, best, random) for _ in range(2)]
        starts = [start._replace(family=best.family, components=best.components) for start in starts]
        fits = [em.fit_em(part, start, 40, 0.5, tick=tick) for start in starts]
        larger = max(fits, key=lambda model: model.objective)
        scores[larger.num_states] = em.bic_score(part, larger)
        if scores[larger.num_states] <= scores[best.num_states]:
            break
        best = larger
    return hypothesis._replace(detail=Regimes(best.sort_states(), np.zeros(0), scores))


def fit_worlds(diagnosis: Diagnosis, hypotheses: list[Hypothesis]) -> dict[str, FittedWorld]:
    """Return the world of every kind of hypothesis; what does not change which arm is best is one in which nothing changes."""
    series, fit = diagnosis.series, diagnosis.fit
    centres, spreads = series.centres * series.noise, series.spreads * series.noise
    random = np.random.default_rng(0)
    errors = spreads / np.sqrt(np.maximum(series.tried, 1))
    means = centres + random.standard_normal((SAMPLES, 1, series.width)) * errors
    still = FittedRegimes(
        noise=spreads,
        binary=series.binary,
        means=np.clip(means, 1e-6, 1 - 1e-6) if series.binary else means,
        exit_prob=np.full((SAMPLES, 1), 1e-9),
        entry_prob=np.ones((SAMPLES, 1)),
    )
    best = {h.kind: h for h in reversed(hypotheses)}
    worlds: dict[str, FittedWorld] = {}
    for kind in KINDS.values():
        if kind.fit is None and kind.name != REGIMES:
            worlds[kind.name] = still
        elif kind.fit is not None and kind.name in best:
            fitted: Fit = best[kind.name].detail  # type: ignore[assignment]
            world = fitted.world(series, still)
            worlds |= {} if world is None else {kind.name: world}
    if fit is not None and diagnosis.samples is not None:
        worlds[REGIMES] = regimes_world(series, fit, diagnosis.samples, diagnosis.means_sampled, diagnosis.noise)
    return worlds
