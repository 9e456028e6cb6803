"""Machine code: what is compiled and how (`compiler`), where it is kept (`cache`), and how nobody waits for it (`background`).

Nothing here imports numba until something is compiled, so that ``import latentbandits`` stays quick and works without numba.
"""

from latentbandits.compiled.background import in_background
from latentbandits.compiled.cache import CacheWarning, installed
from latentbandits.compiled.compiler import CompileError, fast, kernel, loaded, machine_code, plain

__all__ = [
    "CacheWarning",
    "CompileError",
    "fast",
    "in_background",
    "installed",
    "kernel",
    "loaded",
    "machine_code",
    "plain",
]
