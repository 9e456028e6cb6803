"""StateLibrary: remember every state encountered, keep several hypotheses about the present one, and test those that would matter.

`policy` has the settings, `choose` and `learn`; `memory` the records; `scale` learns noise and range; `particles` is the particle filter
and `transitions` its model of the chain; `lag` predicts from the last reward; `index` values the arms; `belief` is what people read.
"""

from latentbandits.policies.state_library.belief import Belief as Belief
from latentbandits.policies.state_library.belief import Remembered as Remembered
from latentbandits.policies.state_library.policy import StateLibrary as StateLibrary
