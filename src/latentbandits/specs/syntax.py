"""How specs are written: their names, the settings in them, and the brackets of a policy around another."""

import re
from pathlib import Path
from typing import TypeAlias

from latentbandits.policies import registry
from latentbandits.settings import InvalidValueError

FORMS = "a name of `latentbandits policies`, NAME:KEY=VALUE,..., scaled(NAME), MODULE:CLASS or a .toml file of settings"

Plain: TypeAlias = int | float | bool | str
Value: TypeAlias = Plain | list[Plain]  # what a text may give to a setting


def wrapper(spec: str) -> tuple[str, str]:
    """Return the name of the wrapper that a spec begins with, empty if it begins with none, and the spec of the policy within.

    Examples
    --------
    >>> from latentbandits.specs import wrapper
    >>> wrapper("Scaled(cp-ts:hazard=0.01):opening=2"), wrapper("scaled"), wrapper("cp-ts:hazard=0.01")
    (('scaled', 'cp-ts:hazard=0.01'), ('scaled', ''), ('', ''))
    """
    return _around(spec)[:2]


def _around(spec: str) -> tuple[str, str, str]:
    """Return the name of a wrapper, the spec within its brackets, and the text of its own settings; empty for other specs."""
    name = re.split("[(:]", spec, maxsplit=1)[0]
    row = registry.REGISTRY.get(name.lower())
    if row is None or not row.inner:
        return "", "", ""
    rest, within = spec[len(name) :], ""
    if rest.startswith("("):
        end = rest.rfind(")")
        within, rest = rest[1:end], rest[end + 1 :]
        if end < 2 or within.count("(") != within.count(")"):
            raise InvalidValueError("policy", "name", spec, FORMS)
    if rest and not (rest.startswith(":") and len(rest) > 1):
        raise InvalidValueError("policy", "name", spec, FORMS)
    return name.lower(), within, rest[1:]


def split(spec: str) -> tuple[str, dict[str, Value]]:
    """Return the name (or module:Class) of a spec and the settings in it, or refuse.

    Examples
    --------
    >>> from latentbandits.specs import split
    >>> split("adasp-ucb:staleness=12,probe_set=0,2,gated=true")
    ('adasp-ucb', {'staleness': 12, 'probe_set': [0, 2], 'gated': True})
    >>> split("my_policies:Greedy")
    ('my_policies:Greedy', {})
    >>> split("scaled(cp-ts:hazard=0.01):opening=2")
    ('scaled(cp-ts)', {'opening': 2, 'hazard': 0.01})
    """
    outer, within, own = _around(spec)
    if outer:
        settings = _settings(outer, own, spec)
        inner, given = split(within) if within else ("", {})
        fields = registry.REGISTRY[outer].make._fields
        settings |= {f"inner.{key}" if key in fields else key: value for key, value in given.items()}
        return f"{outer}({inner})" if inner else outer, settings
    name, colon, rest = spec.partition(":")
    if "(" in name or (colon and not rest):
        raise InvalidValueError("policy", "name", spec, FORMS)
    if colon and name.lower() in registry.REGISTRY and "=" not in rest:
        raise InvalidValueError("policy", f"setting of {name}", rest, "KEY=VALUE")
    head, again, tail = rest.partition(":")
    if colon and "=" not in head:  # a class
        name, colon, rest = f"{name}:{head}", again, tail
    if colon and not rest:
        raise InvalidValueError("policy", "name", spec, FORMS)
    return name, _settings(name, rest, spec)


def _settings(name: str, rest: str, spec: str) -> dict[str, Value]:
    """Return the settings in a part of a spec, or refuse."""
    texts: list[str] = []
    for part in rest.split(",") if rest else []:
        if "=" in part or not texts:
            texts.append(part)
        else:  # the next item of a list
            texts[-1] += f",{part}"
    settings: dict[str, Value] = {}
    for key, given in (setting("policy", text) for text in texts):
        if key in settings:
            raise InvalidValueError("policy", f"setting {key} of {name}", spec, "given only once")
        settings[key] = given
    return settings


def setting(owner: str, given: str) -> tuple[str, Value]:
    """Return the key and the value of a setting, or refuse.

    Examples
    --------
    >>> from latentbandits.specs import setting
    >>> [setting("me", given) for given in ("window=50", "discount=0.9", "gated=false", "lag=pair", "probe_set=0,2")]
    [('window', 50), ('discount', 0.9), ('gated', False), ('lag', 'pair'), ('probe_set', [0, 2])]
    """
    key, equals, text = given.partition("=")
    key = key.strip()
    if not (key.isidentifier() and equals and text.strip()):
        raise InvalidValueError(owner, "setting", given, "KEY=VALUE")
    return key, [value(part) for part in text.split(",")] if "," in text else value(text)


def value(text: str) -> Plain:
    """Return the value of a text: an integer, a number, true or false, else the text itself."""
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def lowered(spec: str) -> str:
    """Return a spec with registered names in lower case."""
    outer, within, own = _around(spec)
    if outer:
        return outer + (f"({lowered(within)})" if within else "") + (f":{own}" if own else "")
    name = spec.partition(":")[0]
    return name.lower() + spec[len(name) :] if name.lower() in registry.REGISTRY else spec


def file_stem(spec: str) -> str:
    """Return how the names of files about a policy begin.

    Examples
    --------
    >>> from latentbandits.specs import file_stem
    >>> [file_stem(spec) for spec in ("SW-UCB:window=300", "my_policies:Greedy", "results/tuned-d-ucb.toml", "scaled(ts)")]
    ['sw-ucb', 'greedy', 'd-ucb', 'scaled-ts']
    """
    outer, within = wrapper(spec)
    if outer:
        return f"{outer}-{file_stem(within)}" if within else outer
    if spec.endswith(".toml"):
        return Path(spec).stem.removeprefix("tuned-").lower()
    return split(spec)[0].rpartition(":")[2].lower()
