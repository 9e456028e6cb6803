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
    bounds = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", one) for one in wanted if "[" not in one]
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    python = project["requires-python"].removeprefix(">=")
    if "{}.{}".format(*sys.version_info) != python:
        sys.exit(f"test-oldest: Python is {sys.version.split()[0]} but must be {python}, the oldest that is allowed")
    print("\n".join(constraints(project)))
