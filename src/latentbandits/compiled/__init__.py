"""Machine code: what is compiled and how (`compiler`), where it is kept (`cache`), and how nobody waits for it (`background`).

Nothing here imports numba until something is compiled, so that ``import latentbandits`` stays quick and works without numba.
"""

from latentbandits.compiled.background import in_background
from latentbandits.compiled.cache import CacheWarning, installed
from latentbandits.compiled.compiler import (
    Arrays,
    CompileError,
    compile_first,
    copy_into,
    fast,
    kernel,
    listening,
    loaded,
    machine_code,
    on_disk,
    plain,
    quick,
    waited,
)

__all__ = [
    "Arrays",
    "CacheWarning",
    "CompileError",
    "compile_first",
    "copy_into",
    "fast",
    "in_background",
    "installed",
    "kernel",
    "listening",
    "loaded",
    "machine_code",
    "on_disk",
    "plain",
    "quick",
    "waited",
]
