"""Pages that follow from the code: Python interface, commands, settings of the policies, words of a problem, requests of the service."""

import argparse
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice.parameter import NAME
from latentbandits.advice.vocabulary import PARAMETERS, show
from latentbandits.parameters import all_settings, owner_of
from latentbandits.policies.registry import REGISTRY
from latentbandits.worlds.registry import REGISTRY as WORLDS
from website.citation import fenced

# First part of a name's home -> the heading that it stands under, in the order of the page
GROUPS: Mapping[str, str] = {
    "agent": "Agents",
    "store": "Agents on disk",
    "client": "Agents over HTTP",
    "advice": "Your own problem",
    "logs": "Your own log",
    "simulation": "Simulation",
    "worlds": "Worlds",
    "data": "Real data",
    "specs": "Policies by name",
    "policies": "Policies",
}
REST = "To write your own"  # names of all other homes


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table in Markdown.

    Examples
    --------
    >>> print(table(["setting", "value"], [["`a|b`", "1"]]))
    | setting | value |
    |---|---|
    | `a\|b` | 1 |
    """
    lines = [head, ["---"] * len(head), *rows]
    marks = " | ", "|"
    shown = [(marks[line[0] == "---"]).join(cell.replace("|", "\\|") for cell in line) for line in lines]
    return "\n".join(f"|{line}|" if line.startswith("---") else f"| {line} |" for line in shown)


def api() -> str:
    """Return lists of all public names by what they are for; each leads to a page of its own."""
    found: dict[str, list[str]] = {title: [] for title in (*GROUPS.values(), REST)}
    for name in (*lb.__all__, *(f"policies.{kind}" for kind in lb.policies.__all__)):
        if name not in ("__version__", "policies"):
            home = lb._HOMES.get(name, name).split(".")[0]
            found[GROUPS.get(home, REST)].append(name)
    parts = []
    for title, names in found.items():
        listed = "\n".join(f"   ~latentbandits.{name}" for name in sorted(names, key=str.lower))
        parts.append(
            f"## {title}\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{listed}\n```"
        )
    return "\n\n".join(parts)


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command and of every action of one, by name."""
    found: dict[str, argparse.ArgumentParser] = {}
    for name, module in cli.commands().items():
        parser = argparse.ArgumentParser(prog=f"latentbandits {name}", description=module.__doc__, allow_abbrev=False)
        module.configure(parser)
        found[name] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= {f"{name} {each}": made for each, made in action.choices.items()}
    return found


def commands() -> str:
    """Return a section per command: what it does, how it is called, and its options."""
    parts, shown = [], dict[str, str]()
    for name, parser in parsers().items():
        depth = "##" + "#" * name.count(" ")
        parts += [f"{depth} {name}", (parser.description or "").strip(), f"```text\n{_usage(parser)}\n```"]
        for group in parser._action_groups:
            options = "\n".join(row for action in group._group_actions if (row := _option(parser, action)))
            first = shown.setdefault(options, name)
            if first != name and group.description:  # the words of a problem are the same for several commands
                parts += [group.description, f"The options are those of [{first}](#{first.replace(' ', '-')})."]
            elif options:
                parts += [group.description or "", options]
        parts.append("" if parser.epilog is None else f"```text\n{_plain(parser.epilog)}\n```")
    return "\n\n".join(part for part in parts if part)


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return how a command is called, in a line or two; many options are left to their list."""
    usage = _plain(parser.format_usage().removeprefix("usage: "))
    if usage.count("\n") < 3:
        return usage
    formatter = parser._get_formatter()
    formatter.add_usage(None, [action for action in parser._actions if not action.option_strings], [], "")
    called = " ".join(formatter.format_help().split())
    return called.replace(parser.prog, f"{parser.prog} [OPTION ...]")


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return a term and its definition; nothing for actions, which have sections of their own, and `--help`."""
    if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
        return ""
    value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    choices = "|".join(map(str, action.choices)) if action.choices else ""
    shown = "" if action.nargs == 0 else choices or (value if isinstance(value, str) else " ".join(value))
    # options that were declared twice, with a dash and an underscore, are shown once
    names = [name for name in action.option_strings if "_" not in name] or action.option_strings
    term = f"{', '.join(names)} {shown}".strip() if action.option_strings else shown or action.dest
    formatter = parser._get_formatter()
    said = formatter._expand_help(action) if action.help else ""
    return f"`{term}`\n: {said or chr(0x2014)}\n"


def settings() -> str:
    """Return a section per policy: the settings that its name stands for, their rules and what they mean."""
    parts = []
    for name, row in REGISTRY.items():
        made = lb.policy(name)
        rows = []
        for setting, value in all_settings(made).items():
            owner, own = owner_of(made, setting)
            rule = getattr(type(owner), "rules", {}).get(own)
            rows.append([f"`{setting}`", f"`{value}`", "" if rule is None else str(rule), _meaning(type(owner), own)])
        parts += [
            f"## {name}",
            f"{row.label}: {row.summary}.",
            table(["setting", "preset", "must be", "meaning"], rows),
        ]
    return "\n\n".join(parts)


def _meaning(kind: type, setting: str) -> str:
    """Return what a docstring says about a setting."""
    entry = rf"^(?:\w+, )*{setting}(?:, \w+)*(?: : .*)?\n((?:    .+\n?)+)"
    found = re.search(entry, inspect.cleandoc(kind.__doc__ or ""), re.MULTILINE)
    return "" if found is None else " ".join(found[1].replace("``", "`").split())


def http() -> str:
    """Return a section per request: what it does, who may send it, what it takes and what it answers."""
    from latentbandits.serve.openapi import describe
    from latentbandits.serve.routes import ROUTES

    document = json.loads(describe(ROUTES))
    roles = {(route.method, route.path): route.role for route in ROUTES}
    parts = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            role = roles[method.upper(), path]
            who = "Open to everybody." if role is None else f"Role: *{role}*."
            parts += [f"## {operation['summary']}", f"`{method.upper()} {path}`", f"{operation['description']} {who}"]
            given = [_parameter(one) for one in operation["parameters"] if one["in"] != "path"]
            parts += [table(["parameter", "in", "type"], given)] if given else []
            if "requestBody" in operation:
                parts.append(_schema("Body", operation["requestBody"]["content"]["application/json"], document))
            answer = next((code, one) for code, one in operation["responses"].items() if code.startswith("2"))
            for content in answer[1]["content"].values():
                parts.append(_schema(f"Answer ({answer[0]})", content, document))
    return "\n\n".join(part for part in parts if part)


def _parameter(found: Mapping[str, Any]) -> list[str]:
    return [f"`{found['name']}`", found["in"], kind(found["schema"])]


def _schema(title: str, content: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Return the fields of a body or an answer."""
    schema = content.get("schema")
    if not schema:
        return ""
    name = schema.get("$ref", "").rpartition("/")[2]
    fields = document["components"]["schemas"].get(name, {})
    needed = fields.get("required", [])
    rows = [
        [f"`{field}`", kind(what), "required" if field in needed else _default(what)]
        for field, what in fields.get("properties", {}).items()
    ]
    return f"{title}:\n\n" + table(["field", "type", "default"], rows) if rows else ""


def _default(what: Mapping[str, Any]) -> str:
    return f"`{json.dumps(what['default'])}`" if "default" in what else ""


def kind(schema: Mapping[str, Any]) -> str:
    """Return a type of JSON schema in words.

    Examples
    --------
    >>> kind({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}), kind({"$ref": "#/x/Round"})
    ('list of string or null', 'Round')
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(map(kind, schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}" if schema.get("items") else "list"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def words() -> str:
    """Return the table of the words of a problem."""
    rows = []
    for word in PARAMETERS.values():
        form = word.choices("`") if word.type == NAME else word.must_be
        default = "-" if word.default is None else show(word.default)
        usual = ", ".join(part for part in (default, word.note) if part and part != "-") or "-"
        wide = usual if word.wide is None else show(word.wide)
        kinds = "all" if len(word.kinds) == len(WORLDS) else ", ".join(word.kinds)
        rows.append([f"`{word.name}`", word.help, form, usual, wide, kinds])
    return table(["word", "meaning", "must be", "left out: `compare`, `tune`", "left out: `advise`", "kinds"], rows)


def pages() -> str:
    """Return a list, not shown, of the other pages beside a page, so that they are below it in the navigation."""
    return "```{toctree}\n:hidden:\n:glob:\n\n*\n```"


GENERATORS: Mapping[str, Callable[[], str]] = {
    "api": api,
    "citation": fenced,
    "commands": commands,
    "settings": settings,
    "http": http,
    "pages": pages,
    "words": words,
}
