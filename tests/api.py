"""The public interface as text: every public name with its parameters, methods and fields (`python -m tests.api` writes it)."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import latentbandits as lb
from latentbandits import cli

SNAPSHOT = Path(__file__).parent / "golden" / "api.txt"


def parameters(thing: Any) -> str:
    """Return the parameters of a function: names, kinds and whether they may be left out, but no types or values."""
    shown, starred = [], False
    for one in inspect.signature(thing).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred |= one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        prefix = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        shown.append(f"{prefix}{one.name}" + ("=" if one.default is not one.empty else ""))
    return f"({', '.join(shown)})"


def members(kind: type) -> Iterator[str]:
    """Yield the public methods and attributes of a class, also those that it inherits from this package."""
    for name in sorted(dir(kind)):
        home = next((base for base in kind.__mro__ if name in vars(base)), None)
        if name.startswith("_") or home is None or not home.__module__.startswith("latentbandits"):
            continue
        found = inspect.getattr_static(kind, name)
        plain = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        yield f"  {name}{parameters(plain)}" if inspect.isfunction(plain) else f"  {name}"


def lines() -> Iterator[str]:
    """Yield the interface."""
    for name in lb.__all__:
        thing = getattr(lb, name)
        if inspect.isclass(thing):
            made = "" if issubclass(thing, Warning | Exception) else parameters(thing)
            yield f"class {name}{made}"
            yield from members(thing)
        else:
            yield f"{name}{parameters(thing)}" if callable(thing) else name
    for name, sub in commands().items():
        yield f"latentbandits {name}"
        for action in sub._actions:
            yield "  " + (", ".join(action.option_strings) or str(action.metavar or action.dest))


def commands() -> dict[str, Any]:
    """Return the parser of every command."""
    made: Any = next(action for action in cli.parser()._actions if action.dest == "command")
    return dict(made.choices)


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(lines()) + "\n")
