"""StateLibrary: remember every state encountered, keep several hypotheses about the present one, and test those that would matter.

To be read in this order:

1. `policy`: the settings, and how `choose` and `learn` put all parts together; `memory`: what each part remembers.
2. The model: `emissions` says how probable rewards are in a state, `transitions` whether the state stays and where it goes.
3. The inference: `library` is what one hypothesis remembers, `filter` a particle filter over them, whose `step` returns the log evidence.
4. Before the filter: `standardise` learns noise and range, `covariates` takes off the effects of observed features, and `history` keeps
   rounds that may be learned again, and rewards under way.
5. The decision: `index` values the arms; the `correctors` `lag`, `trust` and `staleness` may overrule it, and each can be switched off.
6. `belief` and `regimes` are what people read; no decision depends on them. `constants` has every number that was chosen.
"""

from latentbandits.policies.state_library.policy import StateLibrary as StateLibrary
