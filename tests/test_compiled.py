import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import backend, cache, machine_code
from latentbandits.protocols import Choice, Policy
from latentbandits_studies.experiments.representation import Representation
from latentbandits_studies.policies import summaries
from latentbandits_studies.policies.summaries import SummaryLearner

pytestmark = pytest.mark.compiled
PACKAGE = Path(lb.__file__).parent


def run(script: str, home: Path, *, cache: Path) -> str:
    """Run Python with the package copied under `home`, and return what it printed."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(home),
        "LATENTBANDITS_CACHE": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, cwd=home)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PLAYED = """
import latentbandits as lb
assert lb.__file__.startswith({home!r}), lb.__file__
from latentbandits.agent import choose
from latentbandits.compiled.backend import _dispatcher
agent = lb.Agent("epsilon-greedy", seed=1, compiled=True)
"""
ROUNDS = """
arms = []
for _ in range(200):
    arms.append(agent.ask())
    agent.tell(arms[-1], float(arms[-1].arm))
arms = "".join(str(decision.arm) for decision in arms)
"""
PLAYED += ROUNDS + "print(arms, sum(_dispatcher(choose, True).stats.cache_hits.values()))"


def test_the_cache_is_used_and_notices_an_edit(tmp_path: Path) -> None:
    """An edit of a policy, which numba's own cache would not see, changes what runs; without an edit nothing is recompiled."""
    home, cache = tmp_path / "home", tmp_path / "cache"
    shutil.copytree(PACKAGE, home / "latentbandits")  # with its bytecode, which an edited file no longer has
    script = PLAYED.format(home=str(home))
    first, hits = run(script, home, cache=cache).split()
    assert hits == "0"
    again, hits = run(script, home, cache=cache).split()
    assert (again, hits) == (first, "1")

    policy = home / "latentbandits" / "policies" / "epsilon_greedy.py"
    text = policy.read_text()
    stamp = policy.stat()
    assert "self.epsilon, random" in text
    policy.write_text(text.replace("self.epsilon, random", "5 * self.epsilon, random"))
    os.utime(policy, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # not even the date gives it away
    edited, hits = run(script, home, cache=cache).split()
    assert hits == "0"
    assert edited != first

    policy.write_text(text)
    back, hits = run(script, home, cache=cache).split()
    assert (back, hits) == (first, "1")


EDITED = """
import pathlib
import latentbandits as lb
lb.policy("epsilon-greedy")
policy = pathlib.Path(lb.__file__).parent / "policies" / "epsilon_greedy.py"
policy.write_text(policy.read_text().replace({old!r}, {new!r}))
"""


def test_an_edit_after_the_import_does_not_poison_the_cache(tmp_path: Path) -> None:
    """A process goes on with the code that it imported; what it compiles must not be kept as that of the edited file."""
    home, cache = tmp_path / "home", tmp_path / "cache"
    shutil.copytree(PACKAGE, home / "latentbandits")  # with its bytecode, which an edited file no longer has
    script = PLAYED.format(home=str(home))
    known: dict[str, Any] = {"agent": lb.Agent("epsilon-greedy", seed=1)}
    exec(ROUNDS, known)
    before = known["arms"]
    edit = EDITED.format(old="self.epsilon, random", new="5 * self.epsilon, random")
    assert run(edit + script, home, cache=cache).split()[0] == before
    after, hits = run(script, home, cache=cache).split()
    assert hits == "0"
    assert after != before


def test_old_caches_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATENTBANDITS_CACHE", str(tmp_path))
    root = tmp_path / "latentbandits-code"
    stale, fresh, thesis = root / ("a" * 16), root / ("b" * 16), root / "thesis"  # only what we named ourselves may go
    for kept, age in ((stale, 40), (fresh, 3), (thesis, 4000)):
        kept.mkdir(parents=True)
        then = kept.stat().st_mtime - age * 86400
        os.utime(kept, (then, then))
    where = cache.place.__wrapped__()
    assert where is not None
    assert sorted(root.iterdir()) == sorted([fresh, thesis, where.folder])


@pytest.mark.parametrize(
    "script",
    [
        "import latentbandits",
        "import latentbandits as lb; lb.policy('adasp-ucb'); lb.HiddenMarkov()",
        "import latentbandits.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass",
        "import latentbandits.cli as c; c.main(['policies'])",
    ],
)
def test_numba_is_not_imported_until_it_is_needed(script: str) -> None:
    check = "\nimport sys; assert not {'numba', 'scipy'} & set(sys.modules), 'too early'"
    subprocess.run([sys.executable, "-c", script + check], check=True, capture_output=True)


class Careless(Policy):
    """A policy of user code that allocates in `choose`."""

    arms: int = 2
    groups: int = 1

    def init(self) -> Any:
        return Memory(np.zeros(1))

    def choose(self, memory: Any, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[:] = np.zeros(self.groups, np.int64)

    def learn(self, memory: Any, choice: Choice, rewards: np.ndarray) -> None:
        memory.learned[0] += 1


class Memory(NamedTuple):
    learned: np.ndarray


def test_the_error_of_a_policy_that_does_not_compile_gives_the_reason() -> None:
    with pytest.raises(TypeError, match=r"^Careless: code is not compilable but must be .* that allocate nothing"):
        lb.Agent(Careless(), compiled=True)


def test_a_builtin_that_appears_while_numba_sets_itself_up_does_no_harm() -> None:
    """A prompt defines `_` in its own thread: what numba goes through then changes, and it raises, once in a process."""
    script = """
import builtins
from numba.core import base
from latentbandits.compiled import backend, kernel
class Builtins(dict):
    def values(self):
        builtins.__dict__.setdefault("_", None)
        if not Builtins.late:
            Builtins.late = True
            raise RuntimeError("dictionary changed size during iteration")
        return super().values()
    late = False
class Module:
    pass
base.utils.builtins = Module()
base.utils.builtins.__dict__ = Builtins(builtins.__dict__)
@kernel
def double(x):
    return 2.0 * x
assert backend._dispatcher(double, False)(3.0) == 6.0 and Builtins.late
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_outside_code_is_not_cached_on_disk() -> None:
    inside, outside = (cache.Code(machine_code, (policy,)) for policy in (lb.policies.UCB1(2), Careless()))
    assert inside.outside == []
    assert outside.outside == ["Careless"]
    assert not outside.ready
    assert type(backend._dispatcher(machine_code, True)._cache).__name__ == "FunctionCache"
    assert type(backend._dispatcher(machine_code, False)._cache).__name__ == "NullCache"


def test_machine_code_of_the_studies_policies_is_kept_and_their_sources_are_in_the_digest() -> None:
    assert cache.Code(machine_code, (SummaryLearner(2),)).outside == []
    assert summaries.__file__ in cache._sources()
    # a class of the studies that is no policy of theirs is not covered by the digest, and so counts as user code
    assert cache.Code(machine_code, (Representation(lb.policies.UCB1(2), "lag"),)).outside == ["Representation"]


PRIVATE = {
    "JITCodeLibrary": ("_raise_if_finalized", "_finalized", "_linking_libraries", "finalize"),
    "FunctionCache": ("save_overload",),
    "DefaultOptions": ("_nrt", "forceinline", "no_cfunc_wrapper"),
}


@pytest.mark.parametrize("owner", PRIVATE)
def test_numba_still_has_what_we_use_of_it_and_is_not_public(owner: str) -> None:
    from numba.core import caching, options, registry

    library = registry.cpu_target.target_context.codegen().create_library("probe")
    owners = {
        "JITCodeLibrary": library,
        "FunctionCache": caching.FunctionCache,
        "DefaultOptions": options.DefaultOptions,
    }
    gone = [name for name in PRIVATE[owner] if not hasattr(owners[owner], name)]
    assert not gone, (
        f"numba's {owner} has no {', '.join(gone)} any more: adapt compiled/backend.py, then raise the bound"
    )
