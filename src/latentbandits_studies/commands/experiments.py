"""List the experiments, those of the paper and our own, one line each."""

import argparse

SUMMARY = "list the experiments: the paper's and our own"
EXAMPLES = (
    "latentbandits experiments",
    "latentbandits experiments | grep table",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options: there are none."""


def run(options: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the list."""
    from latentbandits_studies.experiments.registry import experiments, ids

    listed = experiments(ids(brought=True))
    width = max(len(experiment.id) for experiment in listed)
    for experiment in listed:
        print(f"{experiment.id.ljust(width)}  {experiment.summary}")
    print("\nNext: `latentbandits reproduce [EXPERIMENT ...]` runs them, with --full all of them in full.")
    return 0
