"""Results are kept by the code that they depend on: a new helper never serves stale results, an unrelated edit keeps them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.policies.registry import REGISTRY
from latentbandits_studies.experiments import dependencies
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.dependencies import closure
from latentbandits_studies.experiments.registry import IDS, experiment

ENGINE = {
    "compiled.background", "compiled.cache", "compiled.backend", "compiled.compiler", "extras", "files", "parameters",
    "protocols", "random", "settings", "simulation.batch", "simulation.blocks", "simulation.late", "simulation.loop",
    "simulation.results",
}  # fmt: skip
UCB1 = ENGINE | {"policies.arms", "policies.ucb1"}
KEYS = """
import json
import latentbandits as lb
from latentbandits_studies.experiments.case import Case
names = ("ucb1", "lc-ucb", "state-library", "bayes-planner")
print(json.dumps(Case("", lb.HiddenMarkov(), {name: lb.policy(name) for name in names}, 10, 1).keys))
"""


def modules(*names: str) -> set[str]:
    """Return the modules of this package that matter for some modules, without packages."""
    found = closure(*(f"latentbandits.{name}" for name in names))
    return {name.removeprefix("latentbandits.") for name, file in found.items() if file.name != "__init__.py"}


class Copy:
    """A copy of the package, to be edited."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "latentbandits"
        self.known: dict[str, str] | None = None
        shutil.copytree(Path(lb.__file__).parent, self.root, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(self, name: str, added: str) -> None:
        with open(self.root / name, "a") as file:
            file.write(added)

    def keys(self) -> dict[str, str]:
        """Return the names of results in a new process that imports the copy."""
        environment = os.environ | {"PYTHONPATH": str(self.root.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", KEYS], env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def changed(self, edits: dict[str, str]) -> set[str]:
        """Return the policies whose results get another name by some edits."""
        before, self.known = self.known or self.keys(), None
        for name, added in edits.items():
            self.edit(name, added)
        self.known = self.keys()
        return {label for label in before if before[label] != self.known[label]}


@pytest.fixture
def fresh() -> Iterator[None]:
    """Forget what was read of sources that a test replaces."""
    dependencies._imports.cache_clear()
    yield
    dependencies._imports.cache_clear()


@pytest.mark.parametrize(
    "use",
    [
        "\nfrom latentbandits.policies.new_helper import half\n",
        "\nfrom latentbandits.policies import new_helper\n",
        "\nfrom . import new_helper\n",
        "\nimport latentbandits.policies.new_helper\n",
        "\ndef later():\n    from .new_helper import half\n    return half\n",
    ],
)
def test_a_new_helper_module_counts(use: str, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    file = dependencies._PACKAGE / "policies" / "ucb1.py"
    monkeypatch.setitem(dependencies._SOURCES, file.with_name("new_helper.py"), b"from latentbandits import linear")
    monkeypatch.setitem(dependencies._SOURCES, file, dependencies._SOURCES[file] + use.encode())
    assert modules("policies.ucb1") == UCB1 | {"policies.new_helper", "linear"}


def test_an_edit_counts_for_those_that_import_it(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    everything = {"ucb1", "lc-ucb", "state-library", "bayes-planner"}
    unrelated = ("policies/thompson.py", "policies/registry.py", "theory/gaps.py", "worlds/drift.py", "agent/agent.py")
    assert copy.changed(dict.fromkeys(unrelated, "\n")) == set()
    helper = {"policies/new_helper.py": "half = 0.5\n", "policies/ucb1.py": "from .new_helper import half\n"}
    assert copy.changed(helper) == {"ucb1"}
    assert copy.changed({"policies/new_helper.py": "half = 1 / 2\n"}) == {"ucb1"}
    assert copy.changed({"linear.py": "\n"}) == {"lc-ucb"}
    assert copy.changed({"rewards.py": "\n"}) == everything  # the world imports it
    assert copy.changed({"simulation/loop.py": "\n"}) == everything


def test_the_closure_is_small() -> None:
    assert modules("policies.ucb1") == UCB1
    for name in REGISTRY:
        home = type(lb.policy(name)).__module__.removeprefix("latentbandits.")
        family = home.removesuffix(".policy")  # of a package
        others = {one for one in modules(home) if one.startswith("policies.") and not one.startswith(family)}
        assert "policies.registry" not in others
        assert len(others) <= 4, (name, others)


def test_hardly_any_result_depends_on_every_policy() -> None:
    """Worlds and oracles of an experiment that import the registry are computed again at every edit of a policy."""
    cases = [case for name in IDS for case in experiment(name).cases(True)]
    kinds = {type(thing) for case in cases for thing in (case.world, *case.policies.values())}
    dear = {kind.__name__ for kind in kinds if "latentbandits.policies.registry" in closure(kind.__module__)}
    assert dear <= {"Price"}  # which learns nothing, and takes no time


@pytest.mark.parametrize("guard", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_what_only_type_checkers_import_does_not_count(
    guard: str, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    file = dependencies._PACKAGE / "policies" / "ucb1.py"
    added = f"\nif {guard}:\n    import latentbandits.agent\nelse:\n    import latentbandits.linear\n"
    monkeypatch.setitem(dependencies._SOURCES, file, dependencies._SOURCES[file] + added.encode())
    assert modules("policies.ucb1") == UCB1 | {"linear"}


USERS = {
    "mine.py": "import latentbandits as lb\nimport helper\nimport json\nclass Mine(lb.policies.UCB1):\n    pass\n",
    "helper.py": "import deeper.part\n",
    "deeper/__init__.py": "",
    "deeper/part.py": "from latentbandits.linear import update\nfrom . import beside\n",
    "deeper/beside.py": "",
    "unrelated.py": "",
}


def test_user_code_counts_with_what_it_imports_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in USERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "helper", "deeper", "deeper.part", "deeper.beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import mine  # type: ignore[import-not-found]

    found = set(closure("mine"))
    assert {"mine", "helper", "deeper", "deeper.part", "deeper.beside", "latentbandits.linear"} <= found
    assert "latentbandits.policies.ucb1" in found  # lb.policies.UCB1
    assert not {"json", "unrelated", "latentbandits.policies.registry"} & found
    assert set(closure("deeper.part")) == found - {
        "mine",
        "helper",
        "latentbandits.policies.ucb1",
        "latentbandits.policies.arms",
    }

    def key() -> str:
        dependencies.digest.cache_clear()
        return Case("", lb.HiddenMarkov(), {"mine": mine.Mine(arms=2)}, 10, 1).keys["mine"]

    before: Any = key()
    (tmp_path / "unrelated.py").write_text("# edited")
    assert key() == before
    (tmp_path / "deeper" / "beside.py").write_text("# edited")
    assert key() != before


def test_user_code_without_a_file_is_refused() -> None:
    with pytest.raises(ValueError, match="module is 'nowhere' but must be one with a source file"):
        closure("nowhere")
