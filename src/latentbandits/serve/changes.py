"""What people change: experiments, their status, arms and regimes, and keys."""

from typing import Any

from msgspec import UNSET

from latentbandits.agent.spec import USUAL
from latentbandits.serve import policies
from latentbandits.serve.access import made
from latentbandits.serve.answers import Changed, Experiment, Key, Keys, NewKey
from latentbandits.serve.endpoint import Call
from latentbandits.serve.looks import shown_key, shown_row
from latentbandits.serve.messages import Changes
from latentbandits.serve.problems import Failure
from latentbandits.serve.service import Service
from latentbandits.settings import Refusal
from latentbandits.store import (
    AddArm,
    Configure,
    Conflict,
    Create,
    NameRegime,
    RetireArm,
    SetStatus,
    Spec,
    Storage,
    Unknown,
)

_PLAIN = ("seed", "max_open", "floor", "holdback", "control", "window", "default")


async def create_experiment(call: Call) -> Experiment:
    """Make an experiment."""
    body, service = call.body, call.service
    assert call.holder is not None
    if not call.holder.reaches(body.name):
        raise Failure(403, f"key: {call.holder.name} is not a key to the experiment {body.name!r}")
    present = await service.read(lambda reads: reads.experiments())
    if any(row.name == body.name for row in present):
        raise Conflict("store", "experiment", body.name, "a new name (this one is taken)")
    if len(present) >= service.settings.experiments:
        raise Refusal("serve", "experiments", len(present) + 1, f"at most {service.settings.experiments}")
    if body.arms is UNSET or len(body.arms) < 2:
        raise Refusal("experiment", "arms", None if body.arms is UNSET else body.arms, "a list of two names or more")
    settings = _settings(service, body)
    spec = Spec.of(_policy(body, len(body.arms), USUAL), body.arms, **settings)
    await service.do(Create(body.name, spec, body.status, call.actor))
    return await _shown(service, body.name)


async def change_experiment(call: Call) -> Experiment:
    """Change settings of an experiment."""
    body, service = call.body, call.service
    changes = _settings(service, body)
    if any(getattr(body, name) is not UNSET for name in ("policy", "toml", "arms", "units", "covariates")):
        view = await service.view(call.experiment)
        arms = list(view.arms) if body.arms is UNSET else body.arms
        if view.status == "draft":
            from latentbandits.specs import spec_of

            changes |= {"policy": _policy(body, len(arms), spec_of(view.spec.policy)), "arms": arms}
        else:  # refused by the experiment, which says what may change
            changes["policy"] = view.spec.policy
    await service.do(Configure(call.experiment, changes, call.actor))
    return await _shown(service, call.experiment)


async def set_status(call: Call) -> Experiment:
    """Change the status of an experiment: draft, shadow, live, frozen, killed or archived."""
    await call.service.do(SetStatus(call.experiment, call.body.status, call.actor))
    return await _shown(call.service, call.experiment)


async def add_arm(call: Call) -> Changed:
    """Add an arm, or bring a retired one back."""
    return Changed(seq=await call.service.do(AddArm(call.experiment, call.body.arm, call.actor)))


async def retire_arm(call: Call) -> Changed:
    """Never play an arm again; its open decisions still take rewards."""
    return Changed(seq=await call.service.do(RetireArm(call.experiment, call.body.arm, call.actor)))


async def name_regime(call: Call) -> Changed:
    """Name a regime, by its number."""
    number = call.path["regime"]
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        raise Unknown("experiment", "regime", number, "the number of a remembered state")
    return Changed(seq=await call.service.do(NameRegime(call.experiment, int(number), call.body.name, call.actor)))


async def list_keys(call: Call) -> Keys:
    """List all keys, without their secrets."""
    found = await call.service.read(lambda reads: reads.keys())
    return Keys(keys=[shown_key(key) for key in found])


async def create_key(call: Call) -> NewKey:
    """Make a key. Its secret is in this answer and nowhere else."""
    body = call.body
    secret, key = made(body.name, body.roles, body.experiments, body.rate, call.actor)

    def add(storage: Storage) -> None:
        storage.add_key(key)

    await call.service.change_keys(add)
    return NewKey(key=shown_key(key), secret=secret)


async def revoke_key(call: Call) -> Key:
    """Revoke a key: it opens nothing from now on."""
    known, now = call.path["id"], call.service.now_us()

    def revoke(storage: Storage) -> bool:
        return storage.revoke_key(known, now)

    if not await call.service.change_keys(revoke):
        raise Unknown("serve", "key", known, "the id of a key of the store")
    keys = await call.service.read(lambda reads: reads.keys())
    return shown_key(next(key for key in keys if key.id == known))


async def _shown(service: Service, name: str) -> Experiment:
    row = await service.read(lambda reads: reads.experiment(name))
    assert row is not None
    return shown_row(row)


def _settings(service: Service, body: Changes) -> dict[str, Any]:
    """Return the settings that a body gives, beside those of the policy."""
    found = {name: getattr(body, name) for name in _PLAIN if getattr(body, name) is not UNSET}
    if found.get("max_open", 0) > service.settings.open:
        raise Refusal("experiment", "max_open", found["max_open"], f"at most {service.settings.open}")
    return found


def _policy(body: Changes, arms: int, usual: str) -> Any:
    """Return the policy that a body names, or refuse it."""
    more = {name: getattr(body, name) for name in ("units", "covariates") if getattr(body, name) not in (UNSET, 0)}
    if body.toml is not UNSET:
        if body.policy is not UNSET:
            raise Refusal("experiment", "toml", "given together with policy", "given alone")
        return policies.policy(body.toml, arms, toml=True, **more)
    return policies.policy(usual if body.policy is UNSET else body.policy, arms, **more)
