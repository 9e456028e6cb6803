"""Correctors: what may overrule the library. Each has a memory of its own and a setting that switches it off.

`lag` predicts rewards from the last one, and is blended in where it predicts better (`levels=0`). `trust` plays the usual arm where the
library's preferences prove untrue (`trust=False`). `staleness` looks at an arm once not having
looked is likely to have cost more than the look (`staleness=False`).
"""
