"""Decide and reward: the endpoints that programs use, and what they are sent and answer."""

import typing
from typing import Annotated

import msgspec
from msgspec import Meta

from latentbandits.agent.decision import Decision
from latentbandits.serve.endpoint import Call, Table
from latentbandits.serve.fields import MOST, ONE, Answer, Body, Id, Name, Names
from latentbandits.settings import InvalidValueError
from latentbandits.store import Censor, Decide, Reward, StoreUnavailableError

ROUTES = Table()
Rewards = float | Annotated[list[float], Meta(min_length=1, max_length=MOST)]


class Round(Body):
    """One decision that is wanted."""

    context: Annotated[list[float], Meta(max_length=MOST)] | None = None
    available: Names | None = None
    subject: Name | None = None


class Rounds(Body):
    """Several decisions that are wanted, in their order."""

    rounds: Annotated[list[Round], Meta(min_length=1, max_length=MOST)]


class Told(Body):
    """The reward of a decision; a list if the policy decides for several groups at once. `correct` replaces what was told before.

    `guard` is the second metric of an experiment with a guardrail; it counts once, with the first reward.
    """

    id: Id
    reward: Rewards
    correct: bool = False
    guard: Annotated[float, Meta(ge=0, le=1)] | None = None


class ToldMany(Body):
    """Rewards of several decisions."""

    rewards: Annotated[list[Told], Meta(min_length=1, max_length=MOST)]


class Which(Body):
    """A decision."""

    id: Id


# A decision as an object: what `Decision` says, under the same names
Decided = msgspec.defstruct("Decided", list(typing.get_type_hints(Decision).items()), bases=(Answer,))


class DecidedMany(Answer):
    """Decisions, one per round."""

    decisions: list[Decided]  # type: ignore[valid-type]


class Outcome(Answer, omit_defaults=True):
    """What became of a reward: accepted, duplicate, late or corrected; in a batch also refused, with the reason."""

    outcome: str
    error: str | None = None


class Outcomes(Answer):
    """What became of rewards, in their order."""

    outcomes: list[Outcome]


@ROUTES.route("POST", f"{ONE}/decide", "decide", "Decide", keyed=True)
async def decide(call: Call, body: Round) -> Decided:  # type: ignore[valid-type]
    """Decide once. The arm is the first of `arms`; a policy that decides for several groups at once answers so many."""
    return Decided(*await call.service.do(_wanted(call, body, call.idempotency_key)))


@ROUTES.route("POST", f"{ONE}/reward", "reward", "Tell a reward")
async def reward(call: Call, body: Told) -> Outcome:
    """Tell the reward of a decision."""
    return Outcome(outcome=await call.service.do(_told(call, body)))


@ROUTES.route("POST", f"{ONE}/decide/batch", "decide", "Decide up to 1,000 times", keyed=True)
async def decide_batch(call: Call, body: Rounds) -> DecidedMany:
    """Decide several times, in one transaction. If a round is refused, so are all."""
    keys = [
        None if call.idempotency_key is None else f"{call.idempotency_key}/{place}" for place in range(len(body.rounds))
    ]
    wanted = [_wanted(call, each, key) for each, key in zip(body.rounds, keys, strict=True)]
    await call.service.writer.look(lambda ledger: ledger.check(wanted))
    answers = await call.service.writer.run(wanted)
    decisions = [answer for answer in answers if isinstance(answer, Decision)]
    refused = next((answer for answer in answers if isinstance(answer, Exception)), None)
    if refused is not None:  # an arm was retired in between, or the key was used before
        await call.service.writer.run([Censor(call.experiment, decision.id, call.actor) for decision in decisions])
        raise refused
    return DecidedMany(decisions=[Decided(*decision) for decision in decisions])


@ROUTES.route("POST", f"{ONE}/reward/batch", "reward", "Tell up to 1,000 rewards")
async def reward_batch(call: Call, body: ToldMany) -> Outcomes:
    """Tell rewards of several decisions, in one transaction; those that are refused change nothing, and the others count."""
    requests = [_told(call, told) for told in body.rewards]
    return Outcomes(outcomes=[_outcome(answer) for answer in await call.service.writer.run(requests)])


@ROUTES.route("POST", f"{ONE}/censor", "reward", "End a decision without a reward")
async def censor(call: Call, body: Which) -> Outcome:
    """End a decision without a reward."""
    return Outcome(outcome=await call.service.do(Censor(call.experiment, body.id, call.actor)))


def _told(call: Call, body: Told) -> Reward:
    return Reward(call.experiment, body.id, body.reward, call.actor, body.correct, body.guard)


def _wanted(call: Call, body: Round, key: str | None) -> Decide:
    return Decide(call.experiment, body.context, body.available, body.subject, key, call.actor)


def _outcome(answer: object) -> Outcome:
    """Return what became of a reward of a batch; a store that cannot be written is no answer."""
    if isinstance(answer, StoreUnavailableError):
        raise answer
    if isinstance(answer, InvalidValueError):
        return Outcome(outcome="refused", error=str(answer))
    return Outcome(outcome=str(answer))
