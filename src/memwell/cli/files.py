"""Files named on the command line: what is wrong with one is said in the reader's language, and names that file."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from memwell.cli.phrases import say
from memwell.errors import FileError, InvalidInput

_REASONS = {
    errno.ENOENT: "no_such_file",
    errno.EACCES: "not_permitted",
    errno.EPERM: "not_permitted",
    errno.EISDIR: "is_folder",
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EROFS: "disk_read_only",
}
_ENDINGS = ("", ".jsonl", ".ndjson", ".md", ".markdown")


@contextmanager
def naming_file(path: Path, phrase: Literal["file_unreadable", "file_unwritable"]) -> Generator[None]:
    """Errors of the system inside become a ``FileError`` that names this file."""
    try:
        yield
    except BrokenPipeError:
        # Whoever reads what is printed has seen enough; that is no file's fault.
        raise
    except OSError as error:
        raise FileError(say(phrase, path=repr(str(path)), reason=_reason(path, error))) from error


def _reason(path: Path, error: OSError) -> str:
    if not path.absolute().parent.exists():
        return say("no_such_folder")
    # An error of memwell's own stands for the system's.
    told = error.__cause__ if isinstance(error.__cause__, OSError) else error
    known = _REASONS.get(told.errno or 0)
    return say(known) if known else told.strerror or str(told)


def check_export(path: Path, *, force: bool) -> None:
    """Refuse to write over a file, and to write one of an unknown format. Raises ``InvalidInput``."""
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidInput(say("export_ending", ending=repr(path.suffix)))
    if path.is_file() and not force:
        raise InvalidInput(say("export_exists", path=repr(str(path))))


__all__ = ["check_export", "naming_file"]
