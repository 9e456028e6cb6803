"""List the policies, show the settings of some, or compile them ahead of time, for a container image say."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latentbandits.protocols import Policy

SUMMARY = "list the policies, show the settings of one, or compile ahead of time"
RESUMES = True
PROFILES = """
The paper's policies have three profiles: NAME-stated is what its text states, NAME-table what fits its main table, NAME what to take.
Where there is no NAME-table, NAME is both: rp-ucb, sp-ucb, lc-ucb, lc-ts. What the text leaves open (exploration, regularization,
interval) is ours in all of them."""
EXAMPLES = (
    "latentbandits policies",
    "latentbandits policies state-library",
    "latentbandits policies --compile state-library",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "specs", nargs="*", metavar="POLICY", help="NAME, NAME:KEY=VALUE,..., MODULE:CLASS or FILE.toml"
    )
    parser.add_argument(
        "--compile",
        action="store_true",
        help="compile these policies, or every one that an agent can run; agents then start with machine code",
    )
    parser.add_argument(
        "--simulation", action="store_true", help="with --compile: for simulations too, as `compare` and others need it"
    )


def run(options: argparse.Namespace) -> int:
    """Print the list or the settings, or compile."""
    if options.compile:
        return compile_ahead(options.specs, options.simulation)
    from latentbandits.policies.registry import REGISTRY

    if not options.specs:
        width = max(map(len, REGISTRY))
        for name, row in REGISTRY.items():
            print(f"{name.ljust(width)}  {row.summary}")
        print(PROFILES)
        print("\nNext: `latentbandits policies NAME` shows the settings of one.")
    for spec in options.specs:
        print_settings(spec)
    return 0


def print_settings(spec: str) -> None:
    """Print what a policy is, and a line for each of its settings."""
    from latentbandits.parameters import all_settings, owner_of
    from latentbandits.specs import policy

    contestant = policy(spec)
    print(f"{title(spec, contestant)}\n")
    settings = {field: str(value) for field, value in all_settings(contestant).items()}
    widths = max(map(len, settings)), max(map(len, settings.values()))
    for field, value in settings.items():
        owner, name = owner_of(contestant, field)
        rule = owner.rules.get(name)
        print(f"{field.ljust(widths[0])}  {value.ljust(widths[1])}  {'' if rule is None else rule}".rstrip())


def title(spec: str, contestant: object) -> str:
    """Return what a policy is, in one line: the summary of a name, else the first line of the class's docstring."""
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.specs import split, wrapper

    row = REGISTRY.get(wrapper(spec)[0] or split(spec)[0].lower())
    if row is not None:
        return f"{row.label}: {row.summary}."
    return f"{type(contestant).__name__}: {(type(contestant).__doc__ or '').strip().partition(chr(10))[0]}"


def compile_ahead(specs: list[str], simulation: bool) -> int:
    """Compile what is not there, and print where it is kept; exit code 1 if it cannot be kept."""
    from latentbandits.agent import compiled_jobs
    from latentbandits.compiled import compile_first, waited
    from latentbandits.compiled.cache import cache_root, installed, place
    from latentbandits.extras import missing
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.simulation.batch import simulate
    from latentbandits.worlds.hidden_markov import HiddenMarkov

    if not installed():
        raise missing("numba")
    policies = online_policies(specs)
    where = place()
    if where is None or where.private:
        print(f"{cache_root()} cannot be written to; set LATENTBANDITS_CACHE to a folder that can")
        return 1
    before = waited()
    compile_first((spec, *job) for spec, contestant in policies.items() for job in compiled_jobs(contestant))
    if simulation:
        simulate(HiddenMarkov(), specs or list(REGISTRY), horizon=2, draws=1, repeats=1, workers=1)
    seconds = waited() - before
    done = f"compiled in {seconds:.0f} s" if seconds else "everything was compiled before"
    size = sum(file.stat().st_size for file in where.folder.rglob("*") if file.is_file())
    print(f"{done}; {where.folder} has {size / 1e6:.1f} MB of machine code for this version and this processor")
    return 0


def online_policies(specs: list[str]) -> "dict[str, Policy]":
    """Return policies by their specs, or refuse one that an agent cannot run or whose machine code is not kept."""
    from latentbandits.compiled.cache import Code
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.protocols import Oracle
    from latentbandits.settings import InvalidValueError
    from latentbandits.specs import policy

    policies = {spec: policy(spec) for spec in specs or REGISTRY}
    for spec, contestant in policies.items() if specs else ():
        if isinstance(contestant, Oracle) or Code(policy, (contestant,)).outside:
            rule = "one of this package that an agent can run (machine code of user code is not kept)"
            raise InvalidValueError("policies", "policy", spec, rule)
    return {spec: contestant for spec, contestant in policies.items() if not isinstance(contestant, Oracle)}
