"""The files of a folder, always in the same order, and never one from outside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from memwell.errors import FileError

EXCLUDED = (".*", "node_modules", "__pycache__", "*.egg-info", "Thumbs.db", "~$*")
"""Names that are passed over: hidden ones, and what tools keep for themselves."""


def files_under(
    path: str | Path,
    *,
    patterns: Sequence[str] = (),
    exclude: Sequence[str] = EXCLUDED,
    on_error: Callable[[Path, OSError], None] | None = None,
    on_link: Callable[[Path], None] | None = None,
) -> Iterator[Path]:
    """Every plain file under a folder, by name; ``patterns`` such as ``*.md`` or ``docs/*.txt`` keep only some of them.

    Links are not followed, so that nothing outside is read and nothing twice; ``on_link`` is told of each. A file
    named itself comes out as it is.
    Raises ``FileError`` for what is not there, and for a folder that cannot be read unless ``on_error`` is told of it.
    """
    root = Path(path)
    if root.is_file():
        yield root
        return
    if not root.is_dir():
        raise FileError(f"there is no file or folder {str(root)!r}")
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        inner: list[Path] = []
        for entry in _entries(folder, exclude, on_error):
            found = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                inner.append(found)
            elif entry.is_file(follow_symlinks=False) and _is_wanted(found.relative_to(root), patterns):
                yield found
            elif on_link is not None and entry.is_symlink() and _might_lead(found, root, patterns):
                on_link(found)
        waiting.extend(reversed(inner))


def _entries(
    folder: Path, exclude: Sequence[str], on_error: Callable[[Path, OSError], None] | None
) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            kept = [entry for entry in entries if not any(fnmatchcase(entry.name, pattern) for pattern in exclude)]
    except OSError as error:
        if on_error is None:
            raise FileError(f"the folder {str(folder)!r} cannot be read: {error.strerror}") from error
        on_error(folder, error)
        return []
    return sorted(kept, key=lambda entry: entry.name)


def _might_lead(link: Path, root: Path, patterns: Sequence[str]) -> bool:
    """Whether files that are wanted would be missed when a link is not followed."""
    return _is_wanted(link.relative_to(root), patterns) or os.path.isdir(link)


def _is_wanted(inside: Path, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(inside.name, one) or fnmatchcase(inside.as_posix(), one) for one in patterns)


__all__ = ["EXCLUDED", "files_under"]
