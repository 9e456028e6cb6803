"""Print the lowest version of every dependency that pyproject.toml allows, as constraints for pip (`make test-oldest`)."""

import re
import sys
import tomllib
from pathlib import Path


def constraints(project: dict[str, object]) -> list[str]:
    """Return what pip is asked for, from the lower bounds of a project's dependencies and extras."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    wanted = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]  # type: ignore[misc]
    found: dict[str, str] = {}
    for one in wanted:
        bound = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)(?:,<[\d.]+)?(?:;.*)?", one)
        if bound:  # where two extras have bounds, the higher one is the lowest that both allow
            found[bound[1]] = max(found.get(bound[1], "0"), bound[2], key=lambda text: [*map(int, text.split("."))])
    return [f"{name}=={version}" for name, version in found.items()]


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    python = project["requires-python"].removeprefix(">=")
    if "{}.{}".format(*sys.version_info) != python:
        sys.exit(f"test-oldest: Python is {sys.version.split()[0]} but must be {python}, the oldest that is allowed")
    print("\n".join(constraints(project)))
