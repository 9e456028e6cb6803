"""Files that are written whole or not at all."""

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by way of a temporary one beside it, so that a crash leaves the old file or the new, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
