"""What a user waits for an answer about a problem of their own, with warm machine code."""

import latentbandits as lb
from benchmarks.figures import Figure, say, seconds
from latentbandits.advice.candidates import candidates
from latentbandits.advice.compare import DEFAULT
from latentbandits.policies.groups import LIMIT

ROUNDS, RUNS = 10_000, 200


def measure() -> list[Figure]:
    """Time `compare` of six policies and `advise` with its default ranges, and what they add to the simulation alone."""
    say("problems: compare six policies, advise with default ranges")
    problem = lb.Problem(horizon=ROUNDS, runs=RUNS)
    wide = problem.widen()
    # compile first, all that will be used
    lb.simulate(wide, [*candidates(wide), LIMIT], horizon=20, draws=1, repeats=1)
    lb.simulate(lb.Drift(), list(candidates(wide)), horizon=20, draws=1, repeats=1)
    compared = seconds(lambda: lb.compare(problem))
    alone = seconds(lambda: lb.simulate(problem, [*DEFAULT, LIMIT], horizon=ROUNDS, draws=RUNS, repeats=1))
    noisy = seconds(lambda: lb.compare(problem.replace(noise=0.5)))
    advised = seconds(lambda: lb.advise(lb.Problem()).page())
    size = f"six policies and the limit, {ROUNDS:,} rounds x {RUNS} runs"
    return [
        Figure("compare_seconds", compared, "< 10", f"lb.compare: {size}, the default world"),
        Figure("compare_over_simulate", compared / alone, "", "the same, over the simulation alone"),
        Figure("compare_noisy_seconds", noisy, "< 10", "lb.compare: the same with noise 0.5"),
        Figure(
            "advise_seconds", advised, "< 60", "lb.advise with default ranges, all candidates, all sweeps, and its page"
        ),
    ]
