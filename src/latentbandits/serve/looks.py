"""What can be looked at: experiments as they are now, and the past. Nothing here changes anything."""

import json
import math
from typing import Any

import msgspec
import numpy as np

from latentbandits import __version__, specs
from latentbandits.agent.decision import Name
from latentbandits.agent.state import State
from latentbandits.serve import answers, history
from latentbandits.serve.endpoint import Call
from latentbandits.serve.service import Service
from latentbandits.settings import Refusal
from latentbandits.store import ApiKey, Event, Reads, Row, Spec, View


async def list_experiments(call: Call) -> answers.Experiments:
    """List the experiments that the key is for."""
    rows = await call.service.read(lambda reads: reads.experiments())
    holder = call.holder
    return answers.Experiments(
        experiments=[shown_row(row) for row in rows if holder is not None and holder.reaches(row.name)]
    )


async def read_experiment(call: Call) -> answers.Experiment:
    """Read the settings of an experiment."""
    return shown_view(await call.service.view(call.experiment))


async def read_now(call: Call) -> answers.Now:
    """Say what is best now and since when, which regime this is, and whether the pipe of rewards is in order."""
    return await now(call.service, await call.service.view(call.experiment))


async def read_belief(call: Call) -> answers.Belief:
    """Say everything that the policy believes; null if it has no beliefs."""
    found = (await call.service.view(call.experiment)).belief
    return answers.Belief(belief=None if found is None else _plain(found))


async def read_regimes(call: Call) -> answers.Regimes:
    """Show every arm in every regime that is remembered: mean, 95 % interval, number of rewards."""
    view = await call.service.view(call.experiment)
    belief = view.belief
    if belief is None or not hasattr(belief, "states") or not hasattr(belief, "noise"):
        return answers.Regimes(regimes=[], elsewhere=None, noise=None)
    found = [
        answers.Regime(
            number=state.number,
            name=state.name,
            probability=state.probability,
            visits=state.visits,
            dwell_rounds=state.dwell,
            arms=[
                _arm_there(arm, mean, count, belief.noise)
                for arm, mean, count in zip(view.names, state.means, state.counts, strict=True)
            ],
        )
        for state in belief.states
    ]
    return answers.Regimes(regimes=found, elsewhere=belief.elsewhere, noise=belief.noise)


async def read_timeline(call: Call) -> answers.Timeline:
    """Show the belief over regimes through time, and the visits of regimes."""
    service, since = call.service, _since(call)
    view = await service.view(call.experiment)
    rows = await service.read(lambda reads: history.beliefs(reads.beliefs(view.id, since)))
    return answers.Timeline(
        arms=view.names,
        names={str(regime): name for regime, name in view.regimes.items()},
        stays=history.stays(rows, view.regimes, _present(view)),
        minutes=history.thinned(rows),
    )


async def read_minutes(call: Call) -> answers.Minutes:
    """Show what happened minute by minute, to every arm and by who decided."""
    service, since = call.service, _since(call)
    view = await service.view(call.experiment)
    arms = view.names
    rows = await service.read(lambda reads: reads.minutes(view.id, since))
    found = [
        msgspec.convert({**row._asdict(), "arm": arms[row.arm], "by": row.decided_by}, answers.ArmMinute)
        for row in rows
        if row.arm < len(arms)
    ]
    return answers.Minutes(arms=arms, minutes=found)


async def read_gain(call: Call) -> answers.Gains:
    """Compare the reward of the policy with that of the units that are held back, over all and by regime."""
    service, since = call.service, call.query.since or 0
    view = await service.view(call.experiment)
    return await service.read(lambda reads: service.past.gains(reads, view.id, since, view.regimes))


async def read_tail(call: Call) -> answers.Events:
    """Show the last events, the newest first."""
    service = call.service
    view = await service.view(call.experiment)
    rows = await service.read(lambda reads: reads.latest(view.id, call.query.most))
    return answers.Events(events=[happened(row, view.names) for row in rows if row.seq > call.query.after])


async def read_changes(call: Call) -> answers.Events:
    """Show what people did, in order, and who."""
    service = call.service
    view = await service.view(call.experiment)
    rows = await service.read(lambda reads: reads.changes(view.id))
    return answers.Events(events=[happened(row, view.names) for row in rows])


async def explain(call: Call) -> answers.Explained:
    """Explain a decision, however long ago it was made, and say what became of it."""
    service, known = call.service, call.path["id"]
    view = await service.view(call.experiment)
    found = await service.writer.look(lambda ledger: ledger.explain(call.experiment, known))
    story = await service.read(lambda reads: reads.story(view.id, known))
    return answers.Explained(
        id=known,
        at_us=story[0].at_us,
        arms=found.arms,
        by=found.by,
        why=found.why,
        reason=found.reason,
        options=[answers.Option(**_option(one)) for one in found.options],
        events=[happened(event, view.names) for event in story],
    )


async def alive(call: Call) -> answers.Alive:  # noqa: ARG001
    """Say that the service runs."""
    return answers.Alive(status="ok", version=__version__)


async def ready(call: Call) -> answers.Ready:
    """Say whether all experiments are open, so that it can decide."""
    from latentbandits.serve.problems import Failure

    service = call.service
    if not service.ready or service.stopping.is_set():
        raise Failure(503, "serve: experiments are not open (it starts, or it stops); try again", retry_after="1")
    rows = await service.read(lambda reads: reads.experiments())
    return answers.Ready(status="ready", experiments=len(rows), waiting=service.writer.waiting, failed=service.failed)


async def now(service: Service, view: View) -> answers.Now:
    """Return an experiment as it is now."""
    at_us, arms = service.now_us(), view.names
    minute = at_us // history.MINUTE_US

    def question(reads: Reads) -> tuple[Any, Any]:
        return reads.minutes(view.id, minute - 60), service.past.rows(reads, view.id, minute - 7 * history.DAY)

    minutes, rows = await service.read(question)
    visits = history.stays(rows, view.regimes, _present(view))
    belief, best = view.belief, _best(view, arms, rows)
    if best is None and view.counts["rewarded"] + view.counts["expired"]:
        offers = await service.writer.look(lambda ledger: ledger.state(view.name, State.offers))
        best = _best_offer(offers, arms)
    return answers.Now(
        name=view.name,
        status=view.status,
        at_us=at_us,
        head=view.head,
        best=best,
        regime=_here(view, visits),
        elsewhere=getattr(belief, "elsewhere", None),
        health=_health(service, view, arms, minutes, at_us),
    )


def _health(service: Service, view: View, arms: list[Name], minutes: Any, at_us: int) -> answers.Health:
    return answers.Health(
        **view.counts,
        open=view.open,
        oldest_us=view.oldest_us,
        last_us=view.last_us,
        per_second=history.per_second(minutes, at_us),
        matched=history.matched([row for row in minutes if row.arm < len(arms)], arms),
        delay_us=history.mean_delay(minutes),
        p99_ms=service.meters.p99_ms,
        compiled=view.compiled,
        behind_snapshot=view.head - view.snapshot,
        diverged=view.diverged,
    )


def _best(view: View, arms: list[Name], rows: list[answers.BeliefMinute]) -> answers.Best | None:
    """Return the arm whose expected reward is highest, among those that can be played; None without a belief."""
    states = [one for one in getattr(view.belief, "states", ()) if hasattr(one, "number") and one.probability > 0]
    total = sum(one.probability for one in states)
    allowed = [number for number, arm in enumerate(arms) if arm in view.arms]
    if not total:
        return None
    means = {
        arm: sum(one.probability * (0.0 if math.isnan(one.means[arm]) else one.means[arm]) for one in states) / total
        for arm in allowed
        if any(not math.isnan(one.means[arm]) for one in states)
    }
    if not means:
        return None
    best = max(means, key=means.__getitem__)
    sure = sum(one.probability for one in states if _leads(one.means, best, allowed))
    return answers.Best(
        arm=arms[best], belief=min(1.0, sure), value=means[best], since_us=history.best_since(rows, best)
    )


def _best_offer(offers: Any, arms: list[Name]) -> answers.Best | None:
    """Return the arm of which a policy without a belief expects most, or else the one that it plays most often; None if none stands out."""
    for field in ("value", "probability"):
        known = [] if offers is None else np.flatnonzero((offers["available"] == 1) & ~np.isnan(offers[field])).tolist()
        values = [float(offers[field][arm]) for arm in known]
        if values and values.count(max(values)) == 1:
            value = max(values)
            arm = arms[known[values.index(value)]]
            return answers.Best(arm=arm, belief=None, value=value if field == "value" else None, since_us=None)
    return None


def _leads(means: tuple[float, ...], best: int, allowed: list[int]) -> bool:
    """Return whether an arm has the highest mean of a state, among those that were tried in it."""
    known = [arm for arm in allowed if not math.isnan(means[arm])]
    return best in known and means[best] == max(means[arm] for arm in known)


def _here(view: View, visits: list[answers.Stay]) -> answers.Here | None:
    regime = _present(view)
    if regime is None:
        return None
    state = next(one for one in view.belief.states if one.number == regime)
    return answers.Here(
        number=regime,
        name=state.name,
        probability=state.probability,
        since_us=visits[-1].from_us if visits else None,
        visits=state.visits,
        dwell_rounds=state.dwell,
        typical_us=history.typical_us(visits, regime),
    )


def _present(view: View) -> int | None:
    """Return the number of the most probable regime."""
    states = [one for one in getattr(view.belief, "states", ()) if hasattr(one, "number")]
    return max(states, key=lambda one: one.probability).number if states else None


def _since(call: Call) -> int:
    minute = call.service.now_us() // history.MINUTE_US
    return minute - history.DAY if call.query.since is None else int(call.query.since)


def happened(event: Event, arms: list[Name]) -> answers.Happened:
    """Return an event as answers have it."""
    said = dict(event.payload)
    rewards = event.rewards if event.kind in ("reward", "expire", "late") else None
    arm = None if event.arm is None else arms[event.arm]
    if event.kind == "decide" and "arms" in said:
        said["arms"] = [arms[one] for one in event.arms]
    return answers.Happened(
        seq=event.seq,
        kind=event.kind,
        at_us=event.at_us,
        decision=event.key,
        unit=event.unit,
        arm=arm,
        by=event.decided_by,
        probability=event.probability,
        rewards=rewards,
        actor=event.actor,
        said=said or None,
    )


def shown_view(view: View) -> answers.Experiment:
    """Return an experiment as answers have it."""
    return _shown(view.name, view.status, view.spec, list(view.arms), list(view.retired), view.head)


def shown_row(row: Row) -> answers.Experiment:
    """Return an experiment of the store as answers have it."""
    said = json.loads(row.spec)
    retired = said.pop("retired", [])
    try:
        spec = Spec.read(said)
    except Refusal:  # a policy from outside this package
        policy = said["policy"]["class"], said["policy"]["settings"]
        spec = Spec(**{**said, "policy": policy, "arms": tuple(said["arms"])})
    return _shown(row.name, row.status, spec, said["arms"], retired, row.head)


def _shown(name: str, status: str, spec: Spec, arms: list[Name], retired: list[Name], head: int) -> answers.Experiment:
    foreign = type(spec.policy) is tuple
    settings = spec.policy[1] if foreign else spec.policy._asdict()
    return answers.Experiment(
        name=name,
        status=status,
        policy=spec.policy[0] if foreign else specs.shown_as(spec.policy),
        arms=arms,
        retired=retired,
        units=settings.get("units", 1) if foreign else spec.policy.units,
        covariates=int(settings.get("covariates", 0)),
        seed=spec.seed,
        max_open=spec.max_open,
        floor=spec.floor,
        holdback=spec.holdback,
        control=spec.control,
        window=spec.window,
        default=spec.default,
        head=head,
    )


def shown_key(key: ApiKey) -> answers.Key:
    """Return a key as answers have it."""
    return answers.Key(
        id=key.id,
        name=key.name,
        roles=key.role.split(),
        experiments=json.loads(key.scope),
        rate=key.rate,
        created_us=key.created_us,
        created_by=key.created_by,
        revoked_us=key.revoked_us,
    )


def _arm_there(arm: Name, mean: float, count: int, noise: float) -> answers.ArmThere:
    half = history.NORMAL * noise / math.sqrt(count) if count else math.nan
    shown = [None if math.isnan(value) else value for value in (mean, mean - half, mean + half)]
    return answers.ArmThere(arm=arm, mean=shown[0], low=shown[1], high=shown[2], count=count)


def _option(option: Any) -> dict[str, Any]:
    """Return an arm as a decision saw it; JSON has no infinity."""
    found = {name: getattr(option, name) for name in option.__dataclass_fields__}
    index = found["index"]
    order = None if index is None or math.isfinite(index) else "first" if index > 0 else "last"
    clean = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in found.items()
    }
    return {**clean, "order": order}


def _plain(value: Any) -> Any:
    """Return a belief as JSON can hold it."""
    if hasattr(value, "_asdict"):
        return {name: _plain(one) for name, one in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
