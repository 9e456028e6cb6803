"""What can be looked at: experiments as they are now, and the past. Nothing here changes anything."""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from latentbandits import specs
from latentbandits.agent.decision import Name
from latentbandits.agent.spec import policy_of
from latentbandits.beliefs import Remembered
from latentbandits.serve import answers, history
from latentbandits.serve.endpoint import Call, Table
from latentbandits.serve.fields import ONE, Query, fill
from latentbandits.serve.service import Service
from latentbandits.settings import InvalidValueError
from latentbandits.store import ApiKey, Event, Ledger, Minute, NotFoundError, Reads, Row, View
from latentbandits.store.gain import gain, ratio
from latentbandits.store.minutes import MINUTE_US, arm_scores_now, expected, leader, likely

ROUTES = Table()


class Since(Query):
    """From when on: minutes since 1970; the last 24 hours if not given."""

    since: Annotated[int, Meta(ge=0, le=2**40)] | None = None


class Tail(Query):
    """How many of the last events, and only those after a number."""

    most: Annotated[int, Meta(ge=1, le=1000)] = 50
    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


@ROUTES.route("GET", "/v1/experiments", "read", "List experiments")
async def list_experiments(call: Call) -> answers.Experiments:
    """List the experiments that the key is for."""
    rows = await call.service.read(lambda reads: reads.experiments())
    holder = call.holder
    return answers.Experiments(
        experiments=[as_experiment(row) for row in rows if holder is not None and holder.reaches(row.name)]
    )


@ROUTES.route("GET", ONE, "read", "Read an experiment")
async def read_experiment(call: Call) -> answers.Experiment:
    """Read the settings of an experiment."""
    return await experiment_of(call.service, call.experiment)


@ROUTES.route("GET", f"{ONE}/now", "read", "Best now, the regime, and the health")
async def read_now(call: Call) -> answers.Now:
    """Say what is best now and since when, which regime this is, and whether the pipe of rewards is in order."""
    return (await now(call.service, call.experiment))[1]


@ROUTES.route("GET", f"{ONE}/regimes", "read", "Arm by regime")
async def read_regimes(call: Call) -> answers.Regimes:
    """Show every arm in every regime that is remembered: mean, 95 % interval, number of rewards."""
    service = call.service
    view = await service.view(call.experiment)
    belief = view.belief
    if belief is None:
        return answers.Regimes(regimes=[], elsewhere=None, noise=None)
    since = service.now_us() // MINUTE_US - 7 * history.DAY
    rows = await service.read(lambda reads: service.past.rows(reads, view.id, since))
    present = _present(view)
    visits = history.stays(rows, None if present is None else present.number)
    stays = Counter(stay.regime for stay in visits)
    regimes = [
        fill(
            answers.Regime,
            state,
            visits=stays[state.number],
            dwell_rounds=state.dwell,
            arms=[
                _arm_there(arm, mean, count, belief.noise)
                for arm, mean, count in zip(view.names, state.means, state.counts, strict=True)
            ],
        )
        for state in belief.states
    ]
    return answers.Regimes(regimes=regimes, elsewhere=belief.elsewhere, noise=belief.noise)


@ROUTES.route("GET", f"{ONE}/timeline", "read", "Regimes through time")
async def read_timeline(call: Call, query: Since) -> answers.Timeline:
    """Show the belief over regimes through time, and the visits of regimes."""
    view = await call.service.view(call.experiment)
    since = _since(call, query)
    rows = await call.service.read(lambda reads: history.beliefs(reads.beliefs(view.id, since)))
    present = _present(view)
    return answers.Timeline(
        arms=view.names,
        stays=history.stays(rows, None if present is None else present.number),
        minutes=history.thinned(rows),
    )


@ROUTES.route("GET", f"{ONE}/minutes", "read", "What happened by minute")
async def read_minutes(call: Call, query: Since) -> answers.Minutes:
    """Show what happened minute by minute, to every arm and by who decided."""
    view = await call.service.view(call.experiment)
    arms, since = view.names, _since(call, query)
    rows = await call.service.read(lambda reads: reads.minutes(view.id, since))
    minutes = [
        fill(answers.ArmMinute, row, arm=arms[row.arm], by=row.decided_by) for row in rows if row.arm < len(arms)
    ]
    return answers.Minutes(arms=arms, minutes=minutes)


@ROUTES.route("GET", f"{ONE}/gain", "read", "Gain against the holdback")
async def read_gain(call: Call, query: Since) -> answers.Gain:
    """Compare the reward of the policy with that of the subjects that are held back."""
    view = await call.service.view(call.experiment)
    found, compared = await call.service.read(
        lambda reads: (gain(reads, view.id, query.since or 0), ratio(reads, view.id, view.head))
    )
    ours, held = (fill(answers.Side, side, count=side.rewards) for side in (found.policy, found.control))
    sides = None if compared is None else fill(answers.Ratio, compared)
    return fill(answers.Gain, found, policy=ours, control=held, ratio=sides)


@ROUTES.route("GET", f"{ONE}/tail", "read", "The last events")
async def read_tail(call: Call, query: Tail) -> answers.Events:
    """Show the last events, the newest first."""
    view = await call.service.view(call.experiment)
    rows = await call.service.read(lambda reads: reads.latest(view.id, query.most))
    return answers.Events(events=[as_event(row, view.names) for row in rows if row.seq > query.after])


@ROUTES.route("GET", f"{ONE}/changes", "read", "What people changed")
async def read_changes(call: Call) -> answers.Events:
    """Show what people did, in order, and who."""
    view = await call.service.view(call.experiment)
    rows = await call.service.read(lambda reads: reads.changes(view.id))
    return answers.Events(events=[as_event(row, view.names) for row in rows])


@ROUTES.route("GET", f"{ONE}/decisions/{{id}}", "read", "Explain a decision")
async def explain(call: Call) -> answers.Explained:
    """Explain a decision, however long ago it was made, and say what became of it."""
    service, decision = call.service, call.path["id"]
    view = await service.view(call.experiment)
    explanation = await service.writer.look(lambda ledger: ledger.explain(call.experiment, decision))
    story = await service.read(lambda reads: reads.story(view.id, decision))
    events = [as_event(event, view.names) for event in story]
    return fill(answers.Explained, explanation, at_us=story[0].at_us, events=events)


@ROUTES.route("GET", f"{ONE}/belief", "read", "What the policy believes")
async def read_belief(call: Call) -> answers.Belief:
    """Say what the policy believes about hidden states, as `Agent.belief` does; 404 if it has no such beliefs."""
    belief = (await call.service.view(call.experiment)).belief
    if belief is None:
        raise NotFoundError("experiment", "policy", call.experiment, "one that has beliefs, such as state-library")
    return answers.as_objects(belief)


@ROUTES.route("GET", f"{ONE}/stats", "read", "What happened to the decisions")
async def read_stats(call: Call) -> answers.Stats:
    """Count what happened to the decisions, as `Agent.stats` does."""
    service, at_us = call.service, call.service.now_us()
    look = service.writer.look(lambda ledger: ledger.state(call.experiment, lambda state: state.stats(at_us)))
    return answers.as_objects(await look)


@ROUTES.route("GET", f"{ONE}/probabilities", "decide", "How probable every arm is now")
async def read_probabilities(call: Call) -> answers.Probabilities:
    """Say with which probability every arm would be played now without probing: what a client goes by while the service is away."""

    def look(ledger: Ledger) -> tuple[dict[Name, float], list[Name]]:
        return ledger.state(call.experiment, lambda state: (likely(state), list(state.player.names)))

    chances, known = await call.service.writer.look(look)
    return answers.Probabilities(arms=list(chances), probabilities=list(chances.values()), known=known)


async def now(service: Service, name: str) -> tuple[View, answers.Now]:
    """Return an experiment as it is now."""

    def look(ledger: Ledger) -> tuple[View, np.ndarray]:
        return ledger.view(name), ledger.state(name, arm_scores_now)

    view, arm_scores = await service.writer.look(look)
    at_us = service.now_us()
    minute = at_us // MINUTE_US

    def question(reads: Reads) -> tuple[list[Minute], list[answers.BeliefMinute]]:
        return reads.minutes(view.id, minute - 60), service.past.rows(reads, view.id, minute - 7 * history.DAY)

    minutes, rows = await service.read(question)
    present = _present(view)
    visits = history.stays(rows, None if present is None else present.number)
    return view, fill(
        answers.Now,
        view,
        at_us=at_us,
        best=_best(view, arm_scores, rows),
        regime=None if present is None else _here(present, visits),
        elsewhere=None if view.belief is None else view.belief.elsewhere,
        broken=[fill(answers.Broken, one) for one in view.broken],
        health=_health(service, view, minutes, at_us),
    )


def _health(service: Service, view: View, minutes: list[Minute], at_us: int) -> answers.Health:
    return fill(
        answers.Health,
        view,
        **view.counts,
        per_second=history.per_second(minutes, at_us),
        matched=history.matched([row for row in minutes if row.arm < len(view.names)], view.names),
        delay_us=history.mean_delay(minutes),
        p99_ms=service.meters.p99_ms,
        behind_snapshot=view.head - view.snapshot,
    )


def _best(view: View, arm_scores: np.ndarray, rows: Sequence[answers.BeliefMinute]) -> answers.Best | None:
    """Return the arm of which the policy expects most, or else the one that it plays most often; None if none stands out."""
    if not view.counts["rewarded"] + view.counts["expired"]:
        return None
    values = expected(arm_scores)
    best = leader(values)
    arm = leader(expected(arm_scores, "probability")) if best is None else best
    if arm is None:
        return None
    states = [state for state in _regimes(view) if state.probability > 0]
    sure = sum(state.probability for state in states if leader(_known(view, state)) == arm)
    return answers.Best(
        arm=view.names[arm],
        belief=min(1.0, sure) if states and best is not None else None,
        value=values[arm],
        since_us=None if best is None else history.best_since(rows, arm),
    )


def _known(view: View, state: Remembered) -> list[float | None]:
    """Return the mean of every arm in a regime; None where it was not tried there, or can be played no more."""
    return [
        None if math.isnan(mean) or arm not in view.arms else mean
        for arm, mean in zip(view.names, state.means, strict=True)
    ]


def _regimes(view: View) -> tuple[Remembered, ...]:
    return () if view.belief is None else view.belief.states


def _present(view: View) -> Remembered | None:
    """Return the most probable regime."""
    return None if view.belief is None else view.belief.present


def _here(state: Remembered, visits: list[answers.Stay]) -> answers.Here:
    since, typical = visits[-1].from_us if visits else None, history.typical_us(visits, state.number)
    counted = sum(stay.regime == state.number for stay in visits)
    return fill(answers.Here, state, visits=counted, since_us=since, dwell_rounds=state.dwell, typical_us=typical)


def _since(call: Call, query: Since) -> int:
    return call.service.now_us() // MINUTE_US - history.DAY if query.since is None else query.since


def as_event(event: Event, arms: list[Name]) -> answers.Happened:
    """Return an event as answers have it."""
    payload: dict[str, object] = dict(event.payload)
    rewards = event.rewards or None
    if event.kind == "decide" and "arms" in payload:
        payload["arms"] = [arms[number] for number in event.arms]
    arm = None if event.arm is None else arms[event.arm]
    return fill(
        answers.Happened,
        event,
        decision=event.decision,
        arm=arm,
        by=event.decided_by,
        rewards=rewards,
        payload=payload or None,
    )


async def experiment_of(service: Service, name: str) -> answers.Experiment:
    """Return an experiment and its settings, or refuse a name that none has."""
    row = await service.read(lambda reads: reads.experiment(name))
    if row is None:
        raise NotFoundError("store", "experiment", name, "the name of one that exists")
    return as_experiment(row)


def as_experiment(row: Row) -> answers.Experiment:
    """Return an experiment of the store as answers have it."""
    settings = json.loads(row.spec)
    record = settings.pop("policy")
    shown, own = record["class"], record["settings"]
    groups, covariates = own.get("groups", 1), int(own.get("covariates", 0))
    with contextlib.suppress(InvalidValueError):  # a policy from outside this package
        policy = policy_of(record, None)
        shown, groups, covariates = specs.shown_as(policy), policy.groups, policy.covariates
    return answers.Experiment(
        name=row.name, status=row.status, head=row.head, policy=shown, groups=groups, covariates=covariates, **settings
    )


def as_key(key: ApiKey) -> answers.Key:
    """Return a key as answers have it."""
    return fill(answers.Key, key)


def _arm_there(arm: Name, mean: float, count: int, noise: float) -> answers.ArmThere:
    half = history.NORMAL * noise / math.sqrt(count) if count else math.nan
    shown = [None if math.isnan(value) else value for value in (mean, mean - half, mean + half)]
    return answers.ArmThere(arm=arm, mean=shown[0], low=shown[1], high=shown[2], count=count)
