"""List the policies, or the settings of one."""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", nargs="?", help="a policy whose settings to show")


def run(options: argparse.Namespace) -> int:
    """Print the list or the settings."""
    from latentbandits.policies.registry import REGISTRY, policy, registration
    from latentbandits.settings import describe

    if options.name is None:
        width = max(map(len, REGISTRY))
        for name, row in REGISTRY.items():
            print(f"{name.ljust(width)}  {row.summary}")
        print("\nNext: `latentbandits policies NAME` shows the settings of one.")
        return 0
    row = registration(options.name)
    made = policy(options.name)
    rules = type(made).rules
    print(f"{row.label}: {row.summary}.\n")
    settings = {field: str(value) for field, value in describe(made).items()}
    widths = max(map(len, settings)), max(map(len, settings.values()))
    for field, value in settings.items():
        allowed = "" if rules[field] is None else str(rules[field])
        print(f"{field.ljust(widths[0])}  {value.ljust(widths[1])}  {allowed}".rstrip())
    return 0
