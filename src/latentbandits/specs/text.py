"""Specs: texts that stand for policies. A name, a name with settings, a class of user code, or a file that `tune` wrote."""

import importlib
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, TypedDict

from latentbandits.parameters import Settings, all_settings, describe, divided
from latentbandits.policies import registry
from latentbandits.protocols import Contestant, Oracle, Policy
from latentbandits.settings import InvalidValueError, check_int
from latentbandits.specs.syntax import FORMS, lowered, split, wrapper

WRITTEN = "a file that `tune` wrote"


class Content(TypedDict):
    """What a file that `tune` wrote says."""

    policy: str
    arms: int
    settings: dict[str, object]


def policy(spec: str, arms: int | None = None, **settings: object) -> Any:
    """Return the policy that a spec stands for, with some settings changed.

    Parameters
    ----------
    spec : str
        A name, as listed by ``latentbandits policies``; a name with settings, ``"adasp-ucb:staleness=12,min_gap=4"``; a class of your
        own, ``"module:Class"``, with settings after a second colon; a policy around any of these, ``"scaled(cp-ts)"``; or the path of a
        ``.toml`` file that ``latentbandits tune`` wrote.
    arms : int, optional
        Number of arms; 2 if not given, or that of the file.
    **settings
        Settings that differ from the preset.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.policy("sw-ucb", arms=4, window=300)
    SlidingWindowUCB(arms=4, groups=1, window=300, exploration=0.5)
    >>> lb.policy("sw-ucb:window=300", arms=4) == lb.policy("sw-ucb", arms=4, window=300)
    True
    >>> lb.policy("scaled(sw-ucb:window=300)", arms=4).inner == lb.policy("sw-ucb:window=300", arms=4)
    True
    >>> lb.policy("sw-ubc")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: policy: name is 'sw-ubc' but must be one of state-library, ... (did you mean sw-ucb?)
    """
    if not isinstance(spec, str):
        raise InvalidValueError("policy", "name", spec, FORMS)
    if spec.endswith(".toml"):
        return _from_content(_read(spec), spec, arms, settings)
    name, given = split(spec)
    if "arms" in given:
        raise InvalidValueError(
            "policy",
            "setting",
            f"arms={given['arms']}",
            "a setting other than arms, which the problem (or `arms=`) gives",
        )
    return _make(name, 2 if arms is None else arms, {**given, **settings})


def name_of(given: str | Contestant) -> str:
    """Return the name (or module:Class) of a policy that is given as a spec, as a file or as itself.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import name_of
    >>> name_of("SW-UCB:window=300"), name_of(lb.policy("sp-ucb", interval=7)), name_of("my_policies:Greedy:rate=0.2")
    ('sw-ucb', 'sp-ucb', 'my_policies:Greedy')
    """
    if isinstance(given, str):
        return lowered(_read(given)["policy"] if given.endswith(".toml") else split(given)[0])
    kind = type(given)
    names = [name for name, row in registry.REGISTRY.items() if row.make is kind]
    if names and given.inner is not None:
        within = name_of(given.inner)
        return names[0] if within == registry.REGISTRY[names[0]].inner else f"{names[0]}({within})"
    return min(names, key=lambda name: len(spec_of(given, name)), default=f"{kind.__module__}:{kind.__qualname__}")


def spec_of(contestant: Contestant, name: str | None = None) -> str:
    """Return the spec of a policy; its name is the one that needs the fewest settings beside it if not given.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import spec_of
    >>> spec_of(lb.policy("adasp-ucb", arms=3, groups=2, min_gap=7, probe_set=[0, 2]))
    'adasp-ucb:groups=2,min_gap=7,probe_set=0,2'
    """
    name = name or name_of(contestant)
    if contestant.inner is not None:
        return _spec_around(contestant, contestant.inner, name)
    own, preset = describe(contestant), {"arms": contestant.arms}
    if name in registry.REGISTRY:
        usual = registry.policy(name, contestant.arms)
        preset = {**describe(registry.policy(name, contestant.arms, groups=contestant.groups)), "groups": usual.groups}
    return ":".join([name, *_changed(own, preset)])


def _spec_around(contestant: Contestant, inner: Contestant, name: str) -> str:
    """Return the spec of a policy around another."""
    outer, rest = wrapper(name)
    own, usual = dict(describe(contestant)), dict(describe(registry.policy(outer, contestant.arms)))
    del own["inner"], usual["inner"]
    within = spec_of(inner, rest or registry.REGISTRY[outer].inner)
    shown = f"({within})" if rest or within != registry.REGISTRY[outer].inner else ""
    return ":".join([outer + shown, *_changed(own, usual)])


def _changed(own: Settings, usual: Settings) -> list[str]:
    """Return the settings that are not the usual ones as one text; nothing if there are none."""
    changed = {key: value for key, value in own.items() if key not in usual or value != usual[key]}
    texts = [
        f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}" for key, value in changed.items()
    ]
    return [",".join(texts)] if texts else []


def shown_as(given: str | Contestant) -> str:
    """Return a policy as labels show it: its spec with the name in lower case, or the class of an object that has no name.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import shown_as
    >>> shown_as("SW-UCB:window=300"), shown_as(lb.policy("sw-ucb", window=300)), shown_as("tuned.toml")
    ('sw-ucb:window=300', 'sw-ucb:window=300', 'tuned.toml')
    """
    if not isinstance(given, str):
        registered = any(row.make is type(given) for row in registry.REGISTRY.values())
        return spec_of(given) if registered else type(given).__name__
    return lowered(given)


def as_toml(name: str, contestant: Policy, remarks: str = "") -> str:
    """Return a policy's settings, all of them, as TOML that `policy` reads.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import as_toml
    >>> print(as_toml("sw-ucb", lb.policy("sw-ucb", arms=4, window=300), "for my problem"))
    # for my problem
    policy = "sw-ucb"
    arms = 4
    <BLANKLINE>
    [settings]
    groups = 1
    window = 300
    exploration = 0.5
    <BLANKLINE>
    """
    settings = all_settings(contestant)
    lines = [f"# {line}".rstrip() for line in remarks.splitlines()]
    lines += [f"policy = {_toml(name)}", f"arms = {settings.pop('arms')}", "", "[settings]"]
    lines += [f"{_toml(key) if '.' in key else key} = {_toml(content)}" for key, content in settings.items()]
    return "\n".join(lines) + "\n"


def _toml(content: object) -> str:
    if isinstance(content, bool):
        return str(content).lower()
    if isinstance(content, str):
        return '"' + content.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(content)


def _read(path: str) -> Content:
    """Return the content of a file that `tune` wrote, or refuse it."""
    try:
        return _content(Path(path).read_text(), path)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else None
        raise _unreadable(path, reason or str(problem)) from None


def _content(text: str, path: str) -> Content:
    """Return what the text of such a file says, or refuse it."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise _unreadable(path, str(problem)) from None
    types = {"policy": str, "arms": int, "settings": dict}
    for key in content:
        if key not in types:
            rule = f"one of {', '.join(types)} (this may be the file of a problem)"
            raise InvalidValueError(f"policy: {path}", "key", key, rule)
    for key, kind in types.items():
        if not isinstance(content.get(key, {}), kind):
            raise InvalidValueError("policy", "file", path, f"{WRITTEN} (it has no {key})")
    return Content(policy=content["policy"], arms=content["arms"], settings=content.get("settings", {}))


def _unreadable(path: str, reason: str) -> InvalidValueError:
    return InvalidValueError("policy", "file", path, f"{WRITTEN} ({reason.lower()})")


def from_toml(text: str, arms: int | None = None, **settings: object) -> Any:
    """Return the policy that `as_toml` wrote, with some settings changed.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import as_toml, from_toml
    >>> from_toml(as_toml("sw-ucb", lb.policy("sw-ucb", window=300)))
    SlidingWindowUCB(arms=2, groups=1, window=300, exploration=0.5)
    """
    return _from_content(_content(text, "toml"), "toml", arms, settings)


def named_in(toml: str) -> str:
    """Return the name of the policy that `as_toml` wrote."""
    return _content(toml, "toml")["policy"]


def _from_content(content: Content, path: str, arms: int | None, settings: Settings) -> Any:
    if arms is not None and arms != content["arms"]:
        raise InvalidValueError(f"policy: {path}", "arms", content["arms"], f"the {arms} asked for")
    given = {**content["settings"], **settings}
    # A file has all settings of a policy: one that it leaves out has its class's default, whatever the name's preset is by now
    return _make(content["policy"], check_int("policy", "arms", content["arms"], least=2), given, preset=False)


def _make(name: str, arms: int, settings: Settings, preset: bool = True) -> Any:
    """Return the policy of a name, of a class or around another, with settings named as in `parameters.all_settings`."""
    outer, rest = wrapper(name)
    if outer:
        row = registry.REGISTRY[outer]
        own, within = divided(row.make, settings)
        file = rest.endswith(".toml")
        inner = (
            _from_content(_read(rest), rest, arms, within) if file else _make(rest or row.inner, arms, within, preset)
        )
        return row.make(inner=inner, **own)
    if ":" not in name and preset:
        return registry.policy(name, arms, **settings)
    if ":" not in name:
        return registry.registration(name).make(arms=arms, **settings)
    check_int("policy", "arms", arms, least=2)
    kind = _user_class(name)
    try:
        contestant = kind(arms=arms, **settings)
    except TypeError as problem:
        rule = f"a class that takes arms and its settings ({problem})"
        raise InvalidValueError("policy", "name", name, rule) from None
    if not isinstance(contestant, Policy | Oracle):
        raise InvalidValueError("policy", "name", name, "a class that inherits latentbandits.protocols.Policy")
    return contestant


def _user_class(name: str) -> type:
    """Return a class of user code; its module may be in the current folder."""
    module, _, attribute = name.partition(":")
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except Exception as problem:  # user code may raise anything when it is imported
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())
        rule = f"a class in a module that can be imported from here ({reason})"
        raise InvalidValueError("policy", "name", name, rule) from None
    if not isinstance(kind, type):
        raise InvalidValueError("policy", "name", name, "a class with init, choose and learn")
    return kind
