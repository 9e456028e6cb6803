"""Decide and reward: the endpoints that programs use, and what they are sent and answer."""

from typing import Annotated

from msgspec import Meta

from latentbandits.agent.decision import Decision
from latentbandits.serve.endpoint import Call, Table
from latentbandits.serve.fields import MOST, ONE, SETTINGS, Answer, Body, Id, Name, Names
from latentbandits.settings import InvalidValueError
from latentbandits.store import Activate, Censor, Decide, Repeated, Reward, StoreUnavailableError

ROUTES = Table()
Rewards = float | Annotated[list[float], Meta(min_length=1, max_length=MOST)]


class Round(Body):
    """One decision that is wanted; the store takes it as it is."""

    context: Annotated[list[float], Meta(max_length=MOST)] | None = None
    available: Names | None = None
    subject: Name | None = None
    deferred: Annotated[bool, Meta(description=SETTINGS["deferred"])] = False


class Rounds(Body):
    """Several decisions that are wanted, in their order."""

    rounds: Annotated[list[Round], Meta(min_length=1, max_length=MOST)]


class Told(Body):
    """The reward of a decision; a list if the policy decides for several groups at once."""

    id: Id
    reward: Rewards


class ToldMany(Body):
    """Rewards of several decisions."""

    rewards: Annotated[list[Told], Meta(min_length=1, max_length=MOST)]


class Which(Body):
    """A decision."""

    id: Id


class Decided(Answer, omit_defaults=True):
    """A decision. `by` is policy, floor or control; `probe_reasons` are the reasons to probe; `again` says that the key was used before."""

    id: str
    arm: str | int
    probability: float | None
    probe_reasons: tuple[str, ...]
    by: str
    deterministic: bool
    arms: tuple[str | int, ...] | None = None
    probabilities: tuple[float | None, ...] | None = None
    again: bool = False


class DecidedMany(Answer):
    """Decisions, one per round."""

    decisions: list[Decided]
    again: bool


class Outcome(Answer, omit_defaults=True):
    """What became of a reward: accepted, duplicate or late; in a batch also refused, with the reason."""

    outcome: str
    error: str | None = None


class Outcomes(Answer):
    """What became of rewards, in their order."""

    outcomes: list[Outcome]


@ROUTES.route("POST", f"{ONE}/decide", "decide", "Decide", keyed=True)
async def decide(call: Call, body: Round) -> Decided:
    """Decide once."""
    _refuse_context(call, body)
    decisions = await call.service.do(Decide(call.experiment, (body,), call.key, call.actor))
    return _decided(decisions[0], isinstance(decisions, Repeated))


@ROUTES.route("POST", f"{ONE}/reward", "reward", "Tell a reward")
async def reward(call: Call, body: Told) -> Outcome:
    """Tell the reward of a decision."""
    return Outcome(outcome=await call.service.do(Reward(call.experiment, body.id, body.reward, call.actor)))


@ROUTES.route("POST", f"{ONE}/decide/batch", "decide", "Decide up to 1,000 times", keyed=True)
async def decide_batch(call: Call, body: Rounds) -> DecidedMany:
    """Decide several times, in one transaction."""
    _refuse_long(call, "rounds", len(body.rounds))
    for each in body.rounds:
        _refuse_context(call, each)
    decisions = await call.service.do(Decide(call.experiment, body.rounds, call.key, call.actor), len(body.rounds))
    again = isinstance(decisions, Repeated)
    return DecidedMany(decisions=[_decided(decision, again) for decision in decisions], again=again)


@ROUTES.route("POST", f"{ONE}/reward/batch", "reward", "Tell up to 1,000 rewards")
async def reward_batch(call: Call, body: ToldMany) -> Outcomes:
    """Tell rewards of several decisions, in one transaction; those that are refused change nothing, and the others count."""
    _refuse_long(call, "rewards", len(body.rewards))
    requests = [Reward(call.experiment, told.id, told.reward, call.actor) for told in body.rewards]
    answers = await call.service.writer.run(requests, len(requests))
    return Outcomes(outcomes=[_outcome(answer) for answer in answers])


@ROUTES.route("POST", f"{ONE}/activate", "reward", "Say that a decision was shown")
async def activate(call: Call, body: Which) -> Outcome:
    """Say that a deferred decision was shown."""
    return Outcome(outcome=await call.service.do(Activate(call.experiment, body.id, call.actor)))


@ROUTES.route("POST", f"{ONE}/censor", "reward", "End a decision without a reward")
async def censor(call: Call, body: Which) -> Outcome:
    """End a decision without a reward."""
    return Outcome(outcome=await call.service.do(Censor(call.experiment, body.id, call.actor)))


def _refuse_context(call: Call, wanted: Round) -> None:
    """Refuse a context that is too long."""
    most = call.service.settings.context
    if wanted.context is not None and len(wanted.context) > most:
        raise InvalidValueError("request", "context", len(wanted.context), f"at most {most} numbers", " length")


def _refuse_long(call: Call, field: str, length: int) -> None:
    most = call.service.settings.batch
    if length > most:
        raise InvalidValueError("request", field, length, f"at most {most}", " length")


def _decided(decision: Decision, again: bool) -> Decided:
    """Return a decision as it is answered."""
    several = len(decision.arms) > 1
    return Decided(
        id=decision.id,
        arm=decision.arms[0],
        probability=decision.probabilities[0],
        probe_reasons=decision.probe_reasons,
        by=decision.by,
        deterministic=decision.deterministic,
        arms=decision.arms if several else None,
        probabilities=decision.probabilities if several else None,
        again=again,
    )


def _outcome(answer: object) -> Outcome:
    """Return what became of a reward of a batch; a store that cannot be written is no answer."""
    if isinstance(answer, StoreUnavailableError):
        raise answer
    if isinstance(answer, InvalidValueError):
        return Outcome(outcome="refused", error=str(answer))
    return Outcome(outcome=str(answer))
