"""Draw a policy at work on one run: the hidden state, the arms it plays, why it probes, what it believes and what that costs."""

import argparse
from pathlib import Path
from typing import Any

# A picture of more would be a blur, or a file that nobody opens
MOST = {"arms": 50, "states": 1000, "rounds": 5000, "start": 1_000_000}
# Rewards of one run, in numbers: 400 MB
MOST_CELLS = 50_000_000
FORMATS = (".svg", ".png")
WORLDS = ("hidden-markov", "drift", "seasons", "recorded")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("policy", metavar="POLICY", help="a name that `latentbandits policies` lists")
    parser.add_argument("--arms", type=int, default=2, help="number of arms (default: %(default)s)")
    parser.add_argument("--states", type=int, default=10, help="number of hidden states (default: %(default)s)")
    parser.add_argument(
        "--stickiness", type=float, default=0.99, help="probability to stay in a state (default: %(default)s)"
    )
    parser.add_argument(
        "--noise", type=float, default=0.01, help="standard deviation of gaussian rewards (default: %(default)s)"
    )
    parser.add_argument("--rewards", default="gaussian", help="gaussian or bernoulli (default: %(default)s)")
    parser.add_argument("--world", default="hidden-markov", help=f"one of {', '.join(WORLDS)} (default: %(default)s)")
    parser.add_argument(
        "--world-set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="world_settings",
        help="a further option of the world: carryover=0.3, timescale=200, dwell=50, file=rewards.csv (a column per arm), ...",
    )
    parser.add_argument("--rounds", type=int, default=300, help="rounds shown (default: %(default)s)")
    parser.add_argument(
        "--start", type=int, default=1000, help="first round shown; those before are played too (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="names all randomness (default: %(default)s)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="a setting of the policy, as listed by `latentbandits policies POLICY`; may be given several times",
    )
    parser.add_argument("--out", type=Path, help="file to write, .svg or .png (default: trace-POLICY.svg)")


def run(options: argparse.Namespace) -> int:
    """Simulate one run, draw it and say what was drawn."""
    from latentbandits.cli.problem import write
    from latentbandits.settings import refuse

    name = options.policy.lower()  # as the table reads names
    made, world = subjects(options)
    out = options.out or Path(f"trace-{name}.svg")
    if out.suffix.lower() not in FORMATS:
        raise refuse("trace", "--out", str(out), "a file name that ends in " + " or ".join(FORMATS))
    try:
        content, told = picture(options, name, made, world, out.suffix[1:].lower())
    except MemoryError:
        raise ValueError("trace: there is not enough memory for this run but must be a smaller one") from None
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"trace: {missing.name} is not installed, `pip install 'latentbandits[report]'` brings it"
        ) from None
    write(out, content, "trace")
    print(f"{out}: {told}. Next: open it; `latentbandits policies {name}` lists what --set can change.")
    return 0


def subjects(options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the policy and the world, or refuse."""
    from latentbandits.policies.registry import policy
    from latentbandits.settings import refuse, whole
    from latentbandits.specs import setting

    for field, most in MOST.items():
        if whole("trace", f"--{field}", getattr(options, field), least=1) > most:
            raise refuse("trace", f"--{field}", getattr(options, field), f"at most {most}")
    whole("trace", "--seed", options.seed, least=0)
    changed = dict(setting("trace: --set", given) for given in options.settings)
    if "arms" in changed:
        raise refuse("trace", "--set", "arms", "a setting other than arms, which --arms gives")
    made = policy(options.policy, arms=options.arms, **changed)
    cells = (options.start - 1 + options.rounds) * made.units * options.arms
    if cells > MOST_CELLS:
        raise refuse("trace", "rounds times units times arms", cells, f"at most {MOST_CELLS}")
    return made, surroundings(options)


def surroundings(options: argparse.Namespace) -> Any:
    """Return the world that the options describe, or refuse."""
    import dataclasses

    import numpy as np

    from latentbandits.settings import refuse
    from latentbandits.specs import setting
    from latentbandits.worlds.drift import Drift
    from latentbandits.worlds.hidden_markov import HiddenMarkov
    from latentbandits.worlds.recorded import Recorded
    from latentbandits.worlds.seasons import Seasons

    given = dict(setting("trace: --world-set", given) for given in options.world_settings)
    shared = {"arms": options.arms, "noise": options.noise, "rewards": options.rewards}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "hidden-markov": (HiddenMarkov, {"states": options.states, "stickiness": options.stickiness, **shared}),
        "drift": (Drift, shared),
        "seasons": (Seasons, {"seasons": options.states, **shared}),
        "recorded": (Recorded, {}),
    }
    if options.world not in kinds:
        raise refuse("trace", "--world", options.world, "one of " + ", ".join(WORLDS))
    kind, known = kinds[options.world]
    if options.world == "recorded":
        try:
            known = {"rewards": np.loadtxt(str(given.pop("file", "")), delimiter=",", ndmin=2)}
        except (OSError, ValueError) as problem:
            raise ValueError(
                f"trace: --world-set file cannot be read ({problem}) but must be numbers, a column per arm"
            ) from None
    allowed = [field.name for field in dataclasses.fields(kind)]
    for key in given:
        if key not in allowed:
            raise refuse("trace", "--world-set", key, "one of " + ", ".join(allowed))
    world = kind(**{**known, **given})
    if world.arms != options.arms:
        raise refuse("trace", "--arms", options.arms, f"the world's {world.arms}")
    return world


def picture(options: argparse.Namespace, name: str, made: Any, world: Any, form: str) -> tuple[bytes, str]:
    """Return the picture as the content of a file, and one sentence about it."""
    from latentbandits.presentation.palette import drawing, label, saved
    from latentbandits.random import Purpose, stream
    from latentbandits.report.trace import Shown, draw
    from latentbandits.simulation.batch import believe_one, record_one

    # the streams of `simulate`: this is the first run of a simulation with the same world and seed
    table = world.realise(options.start - 1 + options.rounds, made.units, options.seed, 0, 0)
    random = stream(options.seed, Purpose.POLICY, 0, 0)
    arms, why = record_one(made, table, random.copy())
    beliefs = believe_one(made, table, random.copy(), options.start) if hasattr(made, "belief") else []
    with drawing():
        figure = draw(name, made, table, arms, why, options.start, beliefs)
    shown = Shown.of(table, arms, why, options.start)
    states = len(set(table.states[table.states >= 0].tolist())) if options.world != "hidden-markov" else world.states
    told = (
        f"{label(name)} in rounds {shown.rounds[0]:,} to {shown.rounds[-1]:,}, {world.arms} arms, {states or 'no'} hidden "
        f"{'state' if states == 1 else 'states'}; a best arm in {100 * shown.optimal:.1f} %, "
        f"{shown.probes} {'probe' if shown.probes == 1 else 'probes'}, regret {shown.regret.sum():.2f} per unit"
    )
    return saved(figure, form), told + (creed(shown, beliefs) if beliefs else "")


def creed(shown: Any, beliefs: Any) -> str:
    """Return what a policy believes at the end."""
    from latentbandits.report.trace import believed_changes

    last, changes = beliefs[-1], believed_changes(beliefs, int(shown.rounds[0]))
    return (
        f"; changes believed {len(changes)}, true {len(shown.changes) if (shown.states >= 0).any() else 'unknown'}, "
        f"states {len(last.states)}, noise {last.noise:.2g}, dwell {last.dwell:.0f} rounds"
    )
