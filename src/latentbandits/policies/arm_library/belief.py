"""What ArmLibrary believes, in a form to read."""

from latentbandits.beliefs import ArmRegimes, Level
from latentbandits.policies.arm_library.chain import staying
from latentbandits.policies.arm_library.constants import DWELL
from latentbandits.policies.arm_library.memory import Memory


def regimes_of(memory: Memory, arm: int) -> ArmRegimes:
    """Return the levels of an arm by its heaviest hypothesis, and how probable each is in the present round."""
    state = memory.arms[arm]
    if state.live == 0:
        return ArmRegimes((), 0, 0, 1.0)
    best = int(memory.hypotheses[arm]["weight"][: state.live].argmax())
    hypothesis = memory.hypotheses[arm, best]
    stay = staying(float(state.hazard), max(int(memory.clock[0].now - state.last), 0))
    levels = []
    for k, level in enumerate(memory.levels[arm, best, : hypothesis.known]):
        share = float(level.share)
        now = (1.0 - stay) * share + (stay if k == hypothesis.present else 0.0)
        dwell = float((level.rounds + DWELL * 2.0 / state.hazard) / (level.left + DWELL))
        levels.append(Level(float(level.average), now, share, dwell, int(level.visits)))
    levels.sort(key=lambda level: -level.mean)
    elsewhere = (1.0 - stay) * float(hypothesis.fresh)
    return ArmRegimes(tuple(levels), int(hypothesis.changed), int(state.last), elsewhere)


def regimes(memory: Memory) -> tuple[ArmRegimes, ...]:
    """Return what every arm is believed to be at."""
    return tuple(regimes_of(memory, arm) for arm in range(len(memory.arms)))
