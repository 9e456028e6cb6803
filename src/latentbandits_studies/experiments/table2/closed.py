"""What the paper says beside its main table and closed forms can judge: the gap between the arms, and how states are told apart."""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import numpy as np

from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies import theory
from latentbandits_studies.experiments.claims import ABOVE, FAILS, HOLDS, Claim, Order, all_of, compared, near, worst
from latentbandits_studies.experiments.paper.choices import READINGS, judge

DECODED, DRAWS = 24, 4_000  # worlds in which the state is decoded, and fingerprints in each


@cache
def gaps(states: int) -> tuple[float, float]:
    """Return the expected gap between two arms with uniform means: in a state, and of their averages over the states.

    Examples
    --------
    >>> from latentbandits_studies.experiments.table2.closed import gaps
    >>> [round(gap, 2) for gap in gaps(10)]
    [0.33, 0.1]
    """
    averages = np.random.default_rng(0).random((200_000, 2, states)).mean(axis=2)
    return 1 / 3, float(np.abs(averages[:, 0] - averages[:, 1]).mean())


def gap_claim(in_a_state: float, of_averages: float) -> Claim:
    """Judge the expected gap between the arms, of which the paper does not say which one it means."""
    sizes = (in_a_state, of_averages)
    found = judge(("gap",), lambda gap: HOLDS if 0.05 <= sizes[READINGS["gap"].values[gap]] <= 0.15 else FAILS)
    return Claim(
        "table2/gap",
        "The expected gap between the arms is about 0.1",
        "about 0.1",
        f"{in_a_state:.3f} in a state, {of_averages:.3f} between the arms' averages over ten states; {found.words}",
        found.verdict,
        "two means uniform on [0, 1]",
        depends=found.depends,
        lean=found.lean,
    )


@cache
def decoding(states: int) -> np.ndarray:
    """Return how often the state is named wrongly from the last arm and reward, at best, in some worlds of the paper."""
    world = HiddenMarkov(states=states)
    return np.array(
        [theory.lagged_error(world.matrix(0, draw), world.chain, world.noise, bayes=True) for draw in range(DECODED)]
    )


def harder_claim(errors: Mapping[int, np.ndarray]) -> Claim:
    """Judge that the error of naming the state grows with the number of states, at every step."""
    climb = [compared(after, before, len(errors) - 1) for before, after in pairwise(errors.values())]
    return Claim(
        "table2/harder",
        "Telling the state from the last arm and reward becomes harder as the states grow in number",
        "increasingly difficult",
        ", ".join(f"{error.mean():.1%} with {count}" for count, error in errors.items()),
        all_of((comparison.word for comparison in climb), ABOVE),
        f"least possible error of naming the state, in closed form, in {DECODED} worlds of each number of states; every step is judged",
    )


@cache
def mixed(stay: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how often the nearest fingerprint is another state's, in some worlds of the paper: taken in one round, and arm by arm."""
    world = HiddenMarkov(stickiness=stay)
    matrices, groups_noise = [world.matrix(0, draw) for draw in range(DECODED)], np.sqrt(2) * world.noise
    together = [
        theory.nearest_centroid_error(means, groups_noise, None, DRAWS, np.random.default_rng(0)) for means in matrices
    ]
    in_turn = [
        theory.sequential_error(means, world.chain, world.noise, DRAWS, np.random.default_rng(0)) for means in matrices
    ]
    return np.array([error.value for error in together]), np.array([error.value for error in in_turn])


def switching_claim(
    calm: tuple[np.ndarray, np.ndarray],
    fast: tuple[np.ndarray, np.ndarray],
    randomized: Mapping[str, Order],
    sequential: Mapping[str, Order],
    published: str,
) -> Claim:
    """Judge that fast switching spoils sequential probing and not randomized probing: by fingerprints, and by growth of regret."""
    together, in_turn = (compared(after, before, 2) for before, after in zip(calm, fast, strict=True))

    def degrading(reading: str) -> str:
        regret = READINGS["degrading"].values[reading]
        worse, same = (sequential.values(), randomized.values()) if regret else ([in_turn], [together])
        return worst([all_of((one.word for one in worse), ABOVE), *(near(one, 0.1) for one in same)])

    found = judge(("degrading",), degrading)
    grown = ", ".join(f"{name} {one.ratio:.1f}" for name, one in {**sequential, **randomized}.items())
    return Claim(
        "table2/switching",
        "Sequential variants degrade under fast switching, randomized ones do not",
        f"half of the sequential probes see two states; regret from the default row to stay 0.5: {published} times",
        f"names another state in {calm[1].mean():.1%} at stay 0.99, {fast[1].mean():.1%} at stay 0.5 (sequential); "
        f"{calm[0].mean():.1%} and {fast[0].mean():.1%} (randomized); regret from the default row to "
        f"stay 0.5: {grown} times; {found.words}",
        found.verdict,
        f"fingerprints: of the state in which the probe ends, by the nearest one, in {DECODED} worlds of ten states; regret: in the main "
        "table; read so, the printed table itself contradicts it",
        depends=found.depends,
        lean=found.lean,
    )
