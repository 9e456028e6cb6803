"""Compile ahead of time, for a container image say: agents then start with machine code, and commands without waiting."""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbandits.compiled.cache import Code

SUMMARY = "compile ahead of time, for a container image say"
RESUMES = True
EXAMPLES = (
    "latentbandits warm",
    "latentbandits warm state-library --simulation",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "policies",
        nargs="*",
        metavar="POLICY",
        help="NAME, NAME:KEY=VALUE,... or FILE.toml (default: every policy that an agent can run)",
    )
    parser.add_argument(
        "--simulation", action="store_true", help="compile for simulations too, as `compare` and other commands need it"
    )


def run(options: argparse.Namespace) -> int:
    """Compile what is not there, print what was compiled and where it is kept; exit code 1 if it cannot be kept."""
    from latentbandits.compiled.cache import cache_root, installed, place
    from latentbandits.extras import missing
    from latentbandits.policies.registry import REGISTRY

    if not installed():
        raise missing("numba")
    policies = chosen(options.policies)
    where = place()
    if where is None or where.private:
        print(f"{cache_root()} cannot be written to; set LATENTBANDITS_CACHE to a folder that can")
        return 1
    seconds = warm(policies, [] if not options.simulation else options.policies or list(REGISTRY))
    found = f"compiled in {sum(seconds):.0f} s" if seconds else "everything was compiled before"
    size = sum(file.stat().st_size for file in where.folder.rglob("*") if file.is_file())
    print(f"{found}; {where.folder} has {size / 1e6:.1f} MB of machine code for this version and this processor")
    return 0


def chosen(specs: list[str]) -> dict[str, Any]:
    """Return policies by their specs, or refuse one that an agent cannot run or whose machine code is not kept."""
    from latentbandits.compiled.cache import Code
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.protocols import Oracle
    from latentbandits.settings import Refusal
    from latentbandits.specs import policy

    made = {spec: policy(spec) for spec in specs or REGISTRY}
    for spec, one in made.items() if specs else ():
        if isinstance(one, Oracle):
            raise Refusal("warm", "policy", spec, "one that an agent can run")
        if Code(policy, (one,)).outside:
            raise Refusal("warm", "policy", spec, "one of this package (machine code of user code is not kept)")
    return {spec: one for spec, one in made.items() if not isinstance(one, Oracle)}


def warm(policies: dict[str, Any], simulated: list[str]) -> list[float]:
    """Compile for agents and for simulations, print a line for each function, and return the seconds of each."""
    import functools

    from latentbandits.agent import compiled_jobs
    from latentbandits.cli.compiling import announced
    from latentbandits.compiled import compile_first, listening
    from latentbandits.simulation.batch import simulate
    from latentbandits.worlds.hidden_markov import HiddenMarkov

    spent: list[float] = []

    def finished(code: "Code", seconds: float) -> None:
        print(f"{', '.join(dict.fromkeys([code.label, code.function.__name__]))}: {seconds:.1f} s", flush=True)
        spent.append(seconds)

    with listening(functools.partial(announced, finished=finished)):
        compile_first((spec, *job) for spec, one in policies.items() for job in compiled_jobs(one))
        if simulated:
            simulate(HiddenMarkov(), simulated, horizon=2, draws=1, repeats=1, workers=1)
    return spent
