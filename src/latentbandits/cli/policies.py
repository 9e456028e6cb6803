"""List the policies, or the settings of one."""

import argparse

SUMMARY = "list the policies, or the settings of one"
EXAMPLES = (
    "latentbandits policies",
    "latentbandits policies state-library",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "spec",
        nargs="?",
        metavar="POLICY",
        help="show the settings of NAME, NAME:KEY=VALUE,..., MODULE:CLASS or FILE.toml",
    )


def run(options: argparse.Namespace) -> int:
    """Print the list or the settings."""
    from latentbandits.parameters import all_settings, owner_of
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.specs import policy

    if options.spec is None:
        width = max(map(len, REGISTRY))
        for name, row in REGISTRY.items():
            print(f"{name.ljust(width)}  {row.summary}")
        print("\nNext: `latentbandits policies NAME` shows the settings of one.")
        return 0
    made = policy(options.spec)
    print(f"{title(options.spec, made)}\n")
    settings = {field: str(value) for field, value in all_settings(made).items()}
    widths = max(map(len, settings)), max(map(len, settings.values()))
    for field, value in settings.items():
        owner, name = owner_of(made, field)
        rules = owner.rules
        rule = "" if rules.get(name) is None else str(rules[name])
        print(f"{field.ljust(widths[0])}  {value.ljust(widths[1])}  {rule}".rstrip())
    return 0


def title(spec: str, made: object) -> str:
    """Return what a policy is, in one line: the summary of a name, else the first line of the class's docstring."""
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.specs import split, wrapper

    row = REGISTRY.get(wrapper(spec)[0] or split(spec)[0].lower())
    if row is not None:
        return f"{row.label}: {row.summary}."
    return f"{type(made).__name__}: {(type(made).__doc__ or '').strip().partition(chr(10))[0]}"
