"""Decide and reward: the endpoints that programs use."""

from latentbandits.agent.decision import Decision
from latentbandits.serve.answers import Decided, DecidedMany, Outcome, Outcomes
from latentbandits.serve.endpoint import Call
from latentbandits.serve.messages import Round
from latentbandits.settings import Refusal
from latentbandits.store import Activate, Censor, Decide, Repeated, Reward, Unavailable
from latentbandits.store import Round as Wanted


async def decide(call: Call) -> Decided:
    """Decide once."""
    made = await call.service.do(Decide(call.experiment, (_wanted(call, call.body),), call.key))
    return _decided(made[0], isinstance(made, Repeated))


async def decide_batch(call: Call) -> DecidedMany:
    """Decide several times, in one transaction."""
    rounds = call.body.rounds
    _refuse_long(call, "rounds", len(rounds))
    wanted = tuple([_wanted(call, one) for one in rounds])
    made = await call.service.do(Decide(call.experiment, wanted, call.key), len(rounds))
    again = isinstance(made, Repeated)
    return DecidedMany(decisions=[_decided(one, again) for one in made], again=again)


async def reward(call: Call) -> Outcome:
    """Tell the reward of a decision."""
    return Outcome(outcome=await call.service.do(Reward(call.experiment, call.body.id, call.body.reward)))


async def reward_batch(call: Call) -> Outcomes:
    """Tell rewards of several decisions, in one transaction; those that are refused change nothing, and the others count."""
    told = call.body.rewards
    _refuse_long(call, "rewards", len(told))
    wanted = [Reward(call.experiment, one.id, one.reward) for one in told]
    answers = await call.service.writer.run(wanted, len(wanted))
    return Outcomes(outcomes=[_outcome(answer) for answer in answers])


async def activate(call: Call) -> Outcome:
    """Say that a deferred decision was shown."""
    return Outcome(outcome=await call.service.do(Activate(call.experiment, call.body.id)))


async def censor(call: Call) -> Outcome:
    """End a decision without a reward."""
    return Outcome(outcome=await call.service.do(Censor(call.experiment, call.body.id, call.actor)))


def _wanted(call: Call, given: Round) -> Wanted:
    """Return a round as the store takes it."""
    if given.context is not None and len(given.context) > call.service.settings.context:
        most = call.service.settings.context
        raise Refusal("request", "context", len(given.context), f"at most {most} numbers", " length")
    return Wanted(given.context, given.available, given.unit, given.deferred)


def _refuse_long(call: Call, field: str, length: int) -> None:
    most = call.service.settings.batch
    if length > most:
        raise Refusal("request", field, length, f"at most {most}", " length")


def _decided(made: Decision, again: bool) -> Decided:
    several = len(made.arms) > 1
    return Decided(
        id=made.id,
        arm=made.arms[0],
        probability=made.probabilities[0],
        why=made.why,
        by=made.by,
        deterministic=made.deterministic,
        arms=made.arms if several else None,
        probabilities=made.probabilities if several else None,
        again=again,
    )


def _outcome(answer: object) -> Outcome:
    """Return what became of a reward of a batch; a store that cannot be written is no answer."""
    if isinstance(answer, Unavailable):
        raise answer
    if isinstance(answer, Refusal):
        return Outcome(outcome="refused", error=str(answer))
    return Outcome(outcome=str(answer))
