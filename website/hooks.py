"""What the site adds to sphinx."""

import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation


def skipped(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:  # noqa: ARG001
    """Leave out the fields of named tuples, which the docstring of the class explains."""
    return True if type(member).__name__ == "_tuplegetter" else None


def quoted(app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Make code of what begins with a dot, such as `.figure()`: several classes have it, so that it is no link."""
    lines[:] = [re.sub(r"(?<!`)`(\.\w[^`\s]*)`(?!`)", r"``\1``", line) for line in lines]


def signed(
    app: Sphinx,  # noqa: ARG001
    what: str,
    name: str,  # noqa: ARG001
    member: Any,
    options: Any,  # noqa: ARG001
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Show settings, with their types and defaults, where a class checks them and takes any arguments to do so."""
    if what != "class" or not hasattr(member, "rules"):
        return signature, returns
    hints = get_type_hints(member)  # without the rules
    if hasattr(member, "_fields"):
        defaults = {name: member._defaults.get(name, MISSING) for name in member._fields}
    else:
        defaults = {field.name: field.default for field in fields(member) if field.init}
    by_name = ["*"] if is_dataclass(member) and all(field.kw_only for field in fields(member)) else []
    shown = by_name + [
        f"{name}: {stringify_annotation(hints[name], 'smart')}" + ("" if value is MISSING else f" = {value!r}")
        for name, value in defaults.items()
    ]
    return f"({', '.join(shown)})", returns


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the hooks."""
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", quoted)
    app.connect("autodoc-process-signature", signed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
