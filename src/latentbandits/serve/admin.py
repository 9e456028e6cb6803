"""What people change: experiments, their status and arms, and keys; with what they send."""

import re
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException

from latentbandits import specs
from latentbandits.agent.spec import USUAL
from latentbandits.memories import parts
from latentbandits.parameters import all_settings
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Oracle, Policy
from latentbandits.serve.access import generate_key
from latentbandits.serve.answers import Experiment, Key
from latentbandits.serve.endpoint import Call, Table
from latentbandits.serve.fields import MOST, ONE, SETTINGS, Answer, Body, Name, fill
from latentbandits.serve.fields import Experiment as ExperimentName
from latentbandits.serve.read import as_key, experiment_of
from latentbandits.serve.service import Service
from latentbandits.settings import InvalidValueError, nearest
from latentbandits.store import Change, Create, NotFoundError, Spec, Storage
from latentbandits.store.minutes import DAY_US

ROUTES = Table()
LARGEST = 256 * 2**20  # bytes of the memory of a policy


class Arm(Body):
    """An arm."""

    arm: Name


class Status(Body):
    """The status of an experiment."""

    status: Annotated[str, Meta(max_length=20, description="shadow, live, frozen, killed or archived")]


class Changes(Body):
    """Settings of an experiment that may change at any time."""

    max_open: Annotated[int, Meta(ge=1, description=SETTINGS["max_open"])] | UnsetType = UNSET
    floor: Annotated[float, Meta(ge=0, le=1, description=SETTINGS["floor"])] | UnsetType = UNSET
    holdback: Annotated[float, Meta(ge=0, le=1, description=SETTINGS["holdback"])] | UnsetType = UNSET
    control: Annotated[Name | UnsetType, Meta(description=SETTINGS["control"])] = UNSET
    window: Annotated[float, Meta(gt=0, description=SETTINGS["window"])] | UnsetType | None = UNSET
    default: Annotated[float, Meta(description=SETTINGS["default"])] | UnsetType | None = UNSET
    learn: Annotated[str, Meta(max_length=20, description=SETTINGS["learn"])] | UnsetType = UNSET
    reward_range: Annotated[tuple[float, float], Meta(description=SETTINGS["reward_range"])] | UnsetType | None = UNSET
    outside: Annotated[str, Meta(max_length=20, description=SETTINGS["outside"])] | UnsetType = UNSET
    guardrail: Annotated[float, Meta(description=SETTINGS["guardrail"])] | UnsetType | None = UNSET


class NewExperiment(Changes, kw_only=True):
    """An experiment to make."""

    name: ExperimentName
    arms: Annotated[list[Name], Meta(min_length=2, max_length=MOST, description=SETTINGS["arms"])]
    policy: Annotated[str, Meta(max_length=2000, description="such as sw-ucb:window=300")] = USUAL
    toml: Annotated[str, Meta(max_length=20_000, description="what `latentbandits tune` wrote")] | UnsetType = UNSET
    groups: Annotated[int, Meta(ge=1, le=MOST, description=SETTINGS["groups"])] | UnsetType = UNSET
    covariates: Annotated[int, Meta(ge=0, le=MOST, description=SETTINGS["covariates"])] | UnsetType = UNSET
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description=SETTINGS["seed"])] | UnsetType = UNSET
    corrections: Annotated[int, Meta(ge=0, le=100_000, description=SETTINGS["corrections"])] | UnsetType = UNSET
    status: Annotated[str, Meta(max_length=20, description="live or shadow")] = "live"


class NewKey(Body):
    """A key to make."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]*$")]
    roles: Annotated[list[str], Meta(min_length=1, max_length=4, description="of read, decide, reward, admin")]
    experiments: Annotated[list[ExperimentName], Meta(min_length=1, max_length=MOST)] | None = None
    days: Annotated[float, Meta(gt=0, le=36_500, description="for which it is good; for good if not given")] | None = (
        None
    )


class Rotation(Body):
    """How long the old key stays good beside the new one."""

    hours: Annotated[float, Meta(ge=0, le=24 * 365)] = 24.0


class Subject(Body):
    """Whom to forget."""

    subject: Name


class Changed(Answer):
    """A change, by the number of its event."""

    seq: int


class KeyAndSecret(Answer):
    """A new key with its secret, which is told only here."""

    key: Key
    secret: str


class Erased(Answer):
    """What stands for a subject from now on, in so many decisions; null if none named it."""

    pseudonym: str | None
    decisions: int


class Keys(Answer):
    """All keys."""

    keys: list[Key]


@ROUTES.route("POST", "/v1/experiments", "admin", "Make an experiment", status=201)
async def create_experiment(call: Call, body: NewExperiment) -> Experiment:
    """Make an experiment."""
    service = call.service
    assert call.holder is not None
    if not call.holder.reaches(body.name):
        raise HTTPException(403, f"key: {call.holder.name} is not a key to the experiment {body.name!r}")
    given = _given(service, body)
    more = {name: value for name in ("groups", "covariates") if (value := given.pop(name, 0))}
    if body.toml is not UNSET and body.policy != USUAL:
        raise InvalidValueError("experiment", "toml", "given together with policy", "given alone")
    text = body.policy if body.toml is UNSET else body.toml
    policy = read_policy(text, len(body.arms), toml=body.toml is not UNSET, **more)
    spec = Spec.of(policy, body.arms, **{name: given[name] for name in Spec._fields[2:] if name in given})
    await service.do(Create(body.name, spec, body.status, call.actor))
    return await experiment_of(service, body.name)


@ROUTES.route("PATCH", ONE, "admin", "Change settings")
async def change_experiment(call: Call, body: Changes) -> Experiment:
    """Change settings of an experiment."""
    await call.service.do(Change(call.experiment, "configure", _given(call.service, body), call.actor))
    return await experiment_of(call.service, call.experiment)


@ROUTES.route("PUT", f"{ONE}/status", "admin", "Change the status")
async def set_status(call: Call, body: Status) -> Experiment:
    """Change the status of an experiment: shadow, live, frozen, killed or archived."""
    await call.service.do(Change(call.experiment, "status", {"status": body.status}, call.actor))
    return await experiment_of(call.service, call.experiment)


@ROUTES.route("POST", f"{ONE}/arms", "admin", "Add an arm")
async def add_arm(call: Call, body: Arm) -> Changed:
    """Add an arm, or bring a retired one back."""
    return Changed(seq=await call.service.do(Change(call.experiment, "add", {"arm": body.arm}, call.actor)))


@ROUTES.route("POST", f"{ONE}/arms/retire", "admin", "Retire an arm")
async def retire_arm(call: Call, body: Arm) -> Changed:
    """Never play an arm again; its open decisions still take rewards."""
    return Changed(seq=await call.service.do(Change(call.experiment, "retire", {"arm": body.arm}, call.actor)))


@ROUTES.route("POST", f"{ONE}/erase", "admin", "Forget a subject")
async def erase_subject(call: Call, body: Subject) -> Erased:
    """Put a random pseudonym in the place of a subject, in all its decisions; everything else stays, so that the log can be repeated."""
    return fill(Erased, await call.service.erase(call.experiment, str(body.subject), call.actor))


@ROUTES.route("GET", "/v1/keys", "admin", "List keys", everywhere=True)
async def list_keys(call: Call) -> Keys:
    """List all keys, without their secrets."""
    keys = await call.service.read(lambda reads: reads.keys())
    return Keys(keys=[as_key(key) for key in keys])


@ROUTES.route("POST", "/v1/keys", "admin", "Make a key", status=201, everywhere=True)
async def create_key(call: Call, body: NewKey) -> KeyAndSecret:
    """Make a key. Its secret is in this answer and nowhere else."""
    secret, key = generate_key(
        body.name, body.roles, body.experiments, call.actor, None, body.days, call.service.now_us()
    )

    def add(storage: Storage) -> None:
        storage.add_key(key)

    await call.service.change_keys(add)
    return KeyAndSecret(key=as_key(key), secret=secret)


@ROUTES.route("POST", "/v1/keys/{id}/rotate", "admin", "Replace a key", status=201, everywhere=True)
async def rotate_key(call: Call, body: Rotation) -> KeyAndSecret:
    """Make a key for the same, good for as long again; the old one stays good for some hours, so that programs can change over."""
    service, key_id = call.service, call.path["id"]
    old = next((key for key in await service.read(lambda reads: reads.keys()) if key.id == key_id), None)
    if old is None:
        raise NotFoundError("serve", "key", key_id, "the id of a key of the store")
    if old.revoked_us is not None or (old.expires_us is not None and old.expires_us <= service.now_us()):
        raise HTTPException(409, f"key: {key_id} has been replaced or revoked, or has expired; make a new one")
    days = None if old.expires_us is None else (old.expires_us - old.created_us) / DAY_US
    secret, key = generate_key(old.name, old.roles, old.experiments, call.actor, None, days, service.now_us())
    until = service.now_us() + round(body.hours * DAY_US / 24)
    await service.change_keys(lambda storage: storage.rotate_key(key_id, key, until))
    return KeyAndSecret(key=as_key(key), secret=secret)


@ROUTES.route("DELETE", "/v1/keys/{id}", "admin", "Revoke a key", everywhere=True)
async def revoke_key(call: Call) -> Key:
    """Revoke a key: it opens nothing from now on."""
    key_id, now = call.path["id"], call.service.now_us()

    def revoke(storage: Storage) -> bool:
        return storage.revoke_key(key_id, now)

    if not await call.service.change_keys(revoke):
        raise NotFoundError("serve", "key", key_id, "the id of a key of the store")
    keys = await call.service.read(lambda reads: reads.keys())
    return as_key(next(key for key in keys if key.id == key_id))


def _given(service: Service, body: Changes) -> dict[str, Any]:
    """Return the settings that a body gives."""
    given = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}
    if given.get("max_open", 0) > service.settings.open:
        raise InvalidValueError("experiment", "max_open", given["max_open"], f"at most {service.settings.open}")
    return given


def read_policy(text: str, arms: int, toml: bool = False, **settings: int) -> Policy:
    """Return the policy that a text from the network stands for, or refuse it: a class of other code and the path of a file are none.

    Parameters
    ----------
    text : str
        A name with or without settings, or, if `toml`, what `latentbandits tune` writes into a file.
    arms : int
        How many arms it has.
    **settings
        Settings beside those of the text.

    Examples
    --------
    >>> from latentbandits.serve.admin import read_policy
    >>> read_policy("sw-ucb:window=300", 3).window
    300
    >>> read_policy("os:system", 3)
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: experiment: policy is 'os' but must be one of state-library, ...
    """
    try:
        _refuse_foreign(specs.named_in(text) if toml else text)
        policy: Policy = specs.from_toml(text, arms, **settings) if toml else specs.policy(text, arms=arms, **settings)
    except InvalidValueError as refusal:
        raise refusal.at(owner="experiment") from None
    if not isinstance(policy, Oracle):  # those are refused for what they are
        _refuse_large(policy, text)
    return policy


def _refuse_foreign(text: str) -> None:
    """Refuse a text with a name in it that is not in the registry."""
    for part in re.split("[:()]", text):
        if part == "" or ("=" in part and not part.lower().endswith(".toml")):
            continue
        if part.strip().lower() not in REGISTRY:
            raise InvalidValueError(
                "experiment", "policy", part, f"one of {', '.join(REGISTRY)}{nearest(part, REGISTRY)}"
            )


def _refuse_large(policy: Policy, text: str) -> None:
    """Refuse a policy whose memory, or whose choices, would be too large."""
    for name, value in (("groups", policy.groups), ("covariates", policy.covariates)):
        if value > MOST:
            raise InvalidValueError("experiment", name, value, f"at most {MOST}")
    try:
        size = sum(part.nbytes for part in parts(policy.init()).values())
    except (MemoryError, OverflowError, ValueError) as problem:
        if isinstance(problem, InvalidValueError):
            raise
        size = LARGEST + 1
    if size > LARGEST:
        sizes = [f"`{name}`" for name, value in all_settings(policy).items() if type(value) is int and value > 1]
        rule = f"one whose memory has at most {LARGEST // 2**20} MB; less of {', '.join(sizes)} takes less"
        raise InvalidValueError("experiment", "policy", text, rule)
