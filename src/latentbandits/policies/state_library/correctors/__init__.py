"""Correctors: what may overrule the library. Each has a memory of its own and a setting that switches it off.

`lag` predicts rewards from the last one, and is blended in where it predicts better (`levels=0`). `trust` plays the usual arm where the
library's preferences prove untrue (`trust=False`). `staleness` tries an arm again that was not played for long (`max_idle_rounds=0`).
"""
