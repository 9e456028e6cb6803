"""Shared or own: whether one hidden state of all arms explains the rewards, or every arm changes by itself.

Both explanations learn from every reward: the library of states, and the levels of every arm (`latentbandits.policies.arm_library`, which
knows means that stay and drift too). What tells them apart is the reward of an arm that was not played in the round before: by the
one explanation what other arms have paid since says what it pays now, by the other time alone does. The more probable one chooses.
"""

import math

from latentbandits.compiled import kernel
from latentbandits.policies.arm_library.constants import NEAR
from latentbandits.policies.arm_library.memory import begin as begin_levels
from latentbandits.policies.arm_library.policy import learn_reward
from latentbandits.policies.arms import LARGEST_INDEX
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.emissions import AMOUNTS, Outcome, size_of
from latentbandits.policies.state_library.memory import OTHERS, Own
from latentbandits.protocols import Choice


@kernel
def begin(own: Own) -> None:
    """Begin without levels and without evidence."""
    begin_levels(own.levels)
    own.core[0].odds = constants.OWN_FIRST
    own.core[0].last = -1


@kernel
def learn_own(
    own: Own, outcome: Outcome, number: int, groups: int, noise: float, kind: int, log_evidence: float
) -> None:
    """Learn the rewards of a round, which the library made probable by `log_evidence`, and compare.

    odds += ln P(rewards | own) - ln P(rewards | shared), at most 1 either way; a tenth of it if the arm was the latest one too. It counts
    if both are probabilities, or both densities: not for rewards of many values that are nothing or an amount.
    """
    core = own.core[0]
    sd = noise / math.sqrt(size_of(outcome.group, groups))
    like = learn_reward(own.levels, outcome.first, number, outcome.reward, sd)
    if outcome.second >= 0:
        sd = noise / math.sqrt(size_of(OTHERS, groups))
        like *= learn_reward(own.levels, outcome.second, number, outcome.other, sd)
    again = outcome.second < 0 and outcome.first == core.last
    core.last = outcome.first if outcome.second < 0 else -1
    if like > 0.0 and (kind == AMOUNTS) == (own.levels.core[0].values == 2):
        more = min(max(math.log(like) - log_evidence, -constants.OWN_STEP), constants.OWN_STEP)
        core.odds += NEAR * more if again else more
        core.odds = min(max(core.odds, -constants.OWN_MOST), constants.OWN_MOST)


@kernel
def offer(own: Own, pick: int, choice: Choice) -> None:
    """Offer one arm alone, and remember what was available and what every arm is worth."""
    for arm in range(len(own.scores)):
        one, kept = choice.arm_scores[arm], own.scores[arm]
        known = abs(one.index) <= LARGEST_INDEX
        kept[0], kept[1] = one.available, one.index
        kept[2], kept[3] = one.value if known else 0.0, one.std_error if known else 0.0
        one.available = 1 if arm == pick else 0


@kernel
def withdraw(own: Own, choice: Choice) -> None:
    """Undo `offer`."""
    for arm in range(len(own.scores)):
        one, kept = choice.arm_scores[arm], own.scores[arm]
        known = abs(kept[1]) <= LARGEST_INDEX
        one.available, one.index = int(kept[0]), kept[1]
        one.value, one.std_error = kept[2] if known else math.nan, kept[3] if known else math.nan
