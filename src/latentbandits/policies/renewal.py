"""The renewal index of an arm with regimes of its own: the subsidy for leaving it alone at which one would not care.

It is a Whittle index in closed form. An arm is looked at; if it is found among its best levels it is played until it leaves them, then
left alone until it is worth another look. In the long run that pays as much as the subsidy::

    index = below + (above - below) * A / (A + d * h * (1 - min(p, share)))
    A     = p + (share - p) * log(1 - p / share) if p < share, else p

`p` is the probability that it is among these levels now and `share` its long-run value, `above` and `below` the means within and without,
`h` the rate at which the one becomes the other, and d = 1 + 2 (sd / (above - below))^2 the rounds that it takes to see which it is. The
levels that are best to wait for are those with the highest index.
"""

import math

import numpy as np

from latentbandits.compiled import kernel

LOOKS = 2.0  # rounds to tell two levels one standard deviation apart, beyond the first: the divergence of two normals is 1/2
_NEVER = 1e-9  # probability of a set of levels below which it is not worth a thought


@kernel
def renewal_index(
    values: np.ndarray, now: np.ndarray, usual: np.ndarray, rates: np.ndarray, number: int, sd: float
) -> float:
    """Return the index, given levels in falling order, their probabilities now and in the long run, and the noise of a reward.

    `rates[i]` is the rate for the set of the levels up to the i-th: from them to the others, plus back.
    """
    mean, all_now, all_usual, left_usual = 0.0, 0.0, 0.0, 0.0
    for i in range(number):
        mean += now[i] * values[i]
        all_now += now[i]
        all_usual += usual[i]
        left_usual += usual[i] * values[i]
    best = mean / all_now
    in_now, in_usual, got = 0.0, 0.0, 0.0
    for i in range(number - 1):
        in_now += now[i]
        in_usual += usual[i]
        got += now[i] * values[i]
        left_usual -= usual[i] * values[i]
        if in_now < _NEVER or values[i] == values[i + 1]:
            continue
        above = got / in_now
        rest_usual, rest_now = all_usual - in_usual, all_now - in_now
        fall = left_usual / rest_usual if rest_usual > _NEVER else values[number - 1]
        fail = (mean - got) / rest_now if rest_now > _NEVER else fall
        p, share = min(in_now / all_now, 1.0), in_usual / all_usual
        below = (1.0 - p) * fail + p * fall
        if above > below:
            looks = 1.0 + LOOKS * (sd / (above - below)) ** 2
            gain, least = p, share
            if p < share:
                gain, least = p + (share - p) * math.log(max(1.0 - p / share, 1e-12)), p
            best = max(best, below + (above - below) * gain / (gain + looks * rates[i] * (1.0 - least)))
    return best
