"""Print a script that completes commands and options in your shell; it takes effect in the next one."""

import argparse

SUMMARY = "print a script that completes commands and options in your shell"
EXAMPLES = (
    "latentbandits completion bash > ~/.local/share/bash-completion/completions/latentbandits",
    "latentbandits completion zsh > ~/.zfunc/_latentbandits",
)
SHELLS = ("bash", "zsh", "tcsh")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from latentbandits.cli import parser

    print(shtab.complete(parser(), options.shell))
    return 0
