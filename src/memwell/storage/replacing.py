"""Files that are replaced as a whole: who reads one finds the old or the new, never half of either."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of the file at ``path``, with the rights the file has. On disk when it returns.

    Raises ``OSError`` when it cannot be written; then the file is as it was.
    """
    beside = path.with_name(f"{path.name}.new")
    with beside.open("wb") as file:
        if path.exists():
            beside.chmod(path.stat().st_mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # Windows cannot open a folder, and keeps the new name without being asked.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["replace_file"]
