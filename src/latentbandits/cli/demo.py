"""Compare all policies on the paper's default world: ten hidden states, two arms, a change every hundred rounds."""

import argparse

SUMMARY = "compare all policies on the paper's default world, in under a minute"
EXAMPLES = (
    "latentbandits demo",
    "latentbandits demo --draws 8 --horizon 5000",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--draws", type=int, default=32, help="sampled reward matrices (default: %(default)s; the paper has 128)"
    )
    parser.add_argument("--horizon", type=int, default=20_000, help="rounds per run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="names all randomness (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Simulate and print the table."""
    from latentbandits.policies.groups import LIMIT, ORACLES
    from latentbandits.policies.registry import REGISTRY, policy
    from latentbandits.presentation.numbers import aligned, figure, multiple, percent, span
    from latentbandits.presentation.progress import Progress
    from latentbandits.presentation.terminal import show
    from latentbandits.simulation.batch import simulate
    from latentbandits.worlds.hidden_markov import HiddenMarkov

    world = HiddenMarkov()
    results = simulate(
        world,
        list(REGISTRY),
        horizon=options.horizon,
        draws=options.draws,
        repeats=1,
        seed=options.seed,
        progress=Progress("playing;"),
    )
    print(
        f"{options.draws} worlds with {world.states} hidden states and {world.arms} arms, {options.horizon:,} rounds each."
    )
    rows = results.summary()
    limit = next(row.regret for row in rows if row.label == LIMIT)
    show(
        aligned(
            ["policy", "regret", "95 % interval", "x limit", "best arm", "probes/1000", "units"],
            [
                [
                    row.label,
                    figure(row.regret),
                    span(row.low, row.high) if options.draws > 1 else "-",
                    multiple(row.regret / limit) if limit else "-",
                    percent(row.optimal, digits=1),
                    figure(row.probes) if row.probes else "-",
                    str(policy(row.label).units),
                ]
                for row in rows
            ],
        ),
        best=[row.label for row in rows if row.label not in ORACLES][:1],
    )
    print(
        "Regret per unit against an oracle that sees the state; the limit is a Bayes filter that is given all but the state, and plans."
    )
    show(
        "Next: `latentbandits policies state-library` shows the settings of a policy; the README shows one in your own program."
    )
    return 0
