"""ArmLibrary: every arm has regimes of its own, and remembers its levels."""

from latentbandits.policies.arm_library.policy import ArmLibrary

__all__ = ["ArmLibrary"]
