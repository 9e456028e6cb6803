"""Numbers that stand in more than one place: each has one home, from which the blocks of other pages are written.

``python -m website.facts`` writes what stands between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` again.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from website.sources import ROOT

# What the README has of the main table
ROWS = ("default", "2 states", "noise 0.50")
COLUMNS = ("AdaRP-UCB", "AdaSP-UCB", "LC-UCB", "D-UCB")
BLOCK = re.compile(r"(?<=<!-- begin: )([\w-]+)( -->\n\n).*?(?=\n\n<!-- end: \1 -->)", re.DOTALL)


def page(name: str) -> str:
    """Return the text of a page, by its path in the project."""
    return (ROOT / name).read_text()


def table(text: str, *columns: str) -> list[dict[str, str]]:
    r"""Return the rows of the first table that has these columns.

    Examples
    --------
    >>> table("| a | b |\n|---|---|\n| 1 | 2 |\n", "b")
    [{'a': '1', 'b': '2'}]
    """
    for found in re.finditer(r"^\|.*\n\|[-|]+\n((?:\|.*(?:\n|$))*)", text, re.MULTILINE):
        head, _, *lines = (line.strip("| ").split(" | ") for line in found[0].strip().splitlines())
        if set(columns) <= set(head):
            return [dict(zip(head, line, strict=True)) for line in lines]
    raise LookupError(f"there is no table with the columns {', '.join(columns)}")


def drawn(lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, whose first line is its head."""
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])


def found(name: str, sentence: str) -> re.Match[str]:
    """Return where a page has a sentence, given as a regular expression; line breaks do not count."""
    match = re.search(sentence, " ".join(page(name).split()))
    if match is None:
        raise LookupError(f"{name} has no sentence {sentence!r}")
    return match


def reproduced() -> str:
    """Return how near our cells of the main table are to the published ones."""
    return found("docs/main-table.md", r"\d+ of 182 cells are within .*? tied with it in \d+\.")[0]


def cells() -> str:
    """Return some cells of the main table, published and ours."""
    rows = {row["environment"]: row for row in table(page("docs/main-table.md"), "environment", *COLUMNS)}
    return drawn([["environment", *COLUMNS], *([name, *(rows[name][column] for column in COLUMNS)] for name in ROWS)])


def real() -> dict[str, int]:
    """Return on how many real tasks StateLibrary is first, level and behind beyond doubt, and below the best single arm."""
    rows = table(page("docs/data.md"), "rank", "less the best other", "share")
    ends = [re.findall(r"\(([-+\d.]+) to ([-+\d.]+)\)", row["less the best other"])[0] for row in rows]
    first = sum(float(low) > 0 for low, _ in ends)
    behind = sum(float(high) < 0 for _, high in ends)
    below = sum(float(row["share"]) < 0 for row in rows)
    rivals = max(int(re.findall(r"\d+ of (\d+)", row["rank"])[0]) for row in rows) - 1
    return {
        "rivals": rivals,
        "tasks": len(rows),
        "first": first,
        "level": len(rows) - first - behind,
        "behind": behind,
        "below": below,
    }


def field() -> list[str]:
    """Return the README's row about public traces: those with regimes and the controls, wins and losses."""
    rows = [
        row for row in table(page("docs/field.md"), "kind", "less the best other", "share") if row["kind"] != "refused"
    ]
    regimes = [row for row in rows if row["kind"] == "regimes"]
    controls = [row for row in rows if row["kind"] != "regimes"]

    def surely(part: Sequence[Mapping[str, str]], column: str, sign: int) -> int:
        ends = [re.findall(r"\(([-+\d.]+) to ([-+\d.]+)\)", row[column])[0] for row in part]
        return sum(float(low) > 0 if sign > 0 else float(high) < 0 for low, high in ends)

    single, other = "less the best single arm", "less the best other"
    twin, shared = "less `state-library:states=2`", "less `state-library:own=false`"
    rivals = max(int(row["rank"].split(" of ")[1]) for row in rows) - 1
    return [
        f"{rivals} policies on {len(rows)} [public traces](docs/field.md), {len(regimes)} with regimes",
        f"with regimes: above the best single arm on {surely(regimes, single, 1)}; "
        f"memory pays on {surely(regimes, twin, 1)}, own regimes on {surely(regimes, shared, 1)}",
        f"behind the best other on {surely(regimes, other, -1)} with regimes and {surely(controls, other, -1)} of {len(controls)} without; "
        f"below the best single arm on {surely(controls, single, -1)}",
    ]


def evidence() -> str:
    """Return what was measured, losses too, in two small tables."""
    best, second, *_ = table(page("docs/stress.md"), "within 10 % of the best other", "stuck runs")
    near, worlds = best["within 10 % of the best other"].split(" of ")
    policies = found("docs/stress.md", r"the first \w+ of (\d+)\)")[1]
    runner_up = second["within 10 % of the best other"].split()[0]
    ratio, world = best["worst ratio"].split(", ", 1)
    tasks = real()
    simulated = [
        f"{int(policies) - 1} policies in {worlds} [simulated worlds](docs/stress.md)",
        f"lowest regret, or within 10 % of it, in {near}; next: {second['policy']} in {runner_up}",
        f"up to {ratio} times the lowest ({world}); {best['stuck runs']} of runs get stuck",
    ]
    real_data = [
        f"{tasks['rivals']} policies on {tasks['tasks']} [real tasks](docs/data.md) from five sources",
        f"level with the best on {tasks['level']}, first beyond chance on {tasks['first']}",
        f"behind on {tasks['behind']}; below the best single arm on {tasks['below']}",
    ]
    compared = drawn([["StateLibrary against", "good", "bad"], simulated, real_data, field()])
    return f"{cells()}\n\n{reproduced()} The settings were fitted to this table.\n\n{compared}"


BLOCKS: Mapping[tuple[str, str], Callable[[], str]] = {("README.md", "evidence"): evidence}


def renewed(name: str) -> str:
    """Return a page with its blocks as their homes have them."""
    return BLOCK.sub(lambda block: f"{block[1]}{block[2]}{BLOCKS[name, block[1]]()}", page(name))


if __name__ == "__main__":
    for written in dict.fromkeys(name for name, _ in BLOCKS):
        (ROOT / written).write_text(renewed(written))
