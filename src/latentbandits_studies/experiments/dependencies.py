"""The source files that a result depends on, found from their imports."""

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import latentbandits
from latentbandits.settings import Refusal

_PACKAGE = Path(latentbandits.__file__).parent
# What runs is what was imported, even if the files change meanwhile
_SOURCES = {file: file.read_bytes() for file in sorted(_PACKAGE.rglob("*.py"))}
# Every run goes through these
_ENGINE = ("latentbandits.simulation.loop", "latentbandits.simulation.batch", "latentbandits.simulation.blocks")
# These turn names into classes and import every policy for it, but a case holds the classes themselves
_NAMES = ("latentbandits", "latentbandits.specs")
# Who plays a block changes nothing in it
_WITHOUT = (*_NAMES, "latentbandits.simulation.build", "latentbandits.simulation.spread")


def closure(*modules: str) -> dict[str, Path]:
    """Return the modules that the results of classes in some modules depend on, with their files.

    These are the modules, the simulation loop and everything they import from this package; user code also counts what it imports from its
    own package, or from its own folder. Imports inside functions count; those for type checkers and those by `importlib` do not.

    Examples
    --------
    >>> from latentbandits_studies.experiments.dependencies import closure
    >>> [name for name in closure("latentbandits.policies.ucb1") if ".policies." in name]
    ['latentbandits.policies.arms', 'latentbandits.policies.ucb1']
    """
    found: dict[str, Path] = {}
    for start in (*_ENGINE, *modules):
        top, folder = _home(start)
        waiting = [start]
        while waiting:
            name = waiting.pop()
            file = _file(name, folder) if top in ("", name.split(".")[0]) else _file(name, _PACKAGE.parent)
            if file is not None and name not in found and name not in _WITHOUT:
                found[name] = file
                waiting += _imports(name, file)
    return dict(sorted(found.items()))


@cache
def digest(*modules: str) -> str:
    """Return a digest of the source files that the results of classes in some modules depend on."""
    made = hashlib.sha256()
    for name, file in closure(*modules).items():
        made.update(name.encode() + b"\0" + _source(file) + b"\0")
    return made.hexdigest()


def _source(file: Path) -> bytes:
    return _SOURCES[file] if file in _SOURCES else file.read_bytes()


def _home(module: str) -> tuple[str, Path]:
    """Return the top package of a module ("" for a module on its own) and the folder that its imports start from."""
    top = module.split(".")[0]
    if top == _PACKAGE.name:
        return top, _PACKAGE.parent
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        raise Refusal("Case", "module", module, "one with a source file")
    inside = module.count(".") + (Path(file).name == "__init__.py")
    return top if inside else "", Path(file).parents[inside]


def _file(module: str, folder: Path) -> Path | None:
    """Return the source file of a module, None if it is neither in the folder nor in this package."""
    if module == "__main__":
        return Path(sys.modules[module].__file__ or "")
    if (own := _own(module)) is not None or folder == _PACKAGE.parent:
        return own
    return next((file for file in _candidates(module, folder) if file.is_file()), None)


@cache
def _own(module: str) -> Path | None:
    """Return the source file of a module of this package, None if there is none."""
    return next((file for file in _candidates(module, _PACKAGE.parent) if file in _SOURCES), None)


def _candidates(module: str, folder: Path) -> tuple[Path, Path]:
    stem = folder.joinpath(*module.split("."))
    return Path(f"{stem}.py"), stem / "__init__.py"


@cache
def _imports(module: str, file: Path) -> tuple[str, ...]:
    """Return the modules that a module may import; some of them may not exist."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    nodes = list(_running(ast.parse(_source(file))))
    names = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [name for alias in node.names for name in (alias.name, *_packages(alias.name))]
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    if _PACKAGE.name in names:  # `lb.NAME` and `from latentbandits import NAME` import a module on first use
        used = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
        used += [name.rpartition(".")[2] for name in names]
        names += [f"{_PACKAGE.name}.{latentbandits._HOMES[name]}" for name in used if name in latentbandits._HOMES]
    return tuple(names)


def _packages(module: str) -> list[str]:
    """Return the packages that a module is in: `import a.b` gives access to all of `a`."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all within it but what only type checkers read."""
    yield node
    only_checked = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    for child in node.orelse if isinstance(node, ast.If) and only_checked else ast.iter_child_nodes(node):
        yield from _running(child)
