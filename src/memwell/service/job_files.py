"""The files that jobs make: in a folder that only this user can open, for an hour."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from memwell.errors import FileError

KEPT_S = 3600.0
_PREFIX = "memwell-jobs-"
_LEFT_BEHIND_S = 86_400.0


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A file that came of a job, what to call it, and what else there is to say."""

    path: Path
    name: str
    result: Any = None


class _File(msgspec.Struct, frozen=True):
    path: Path
    name: str
    until: float
    key: str


class JobFiles:
    """The files of one process' jobs. The folder is made when the first one is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._files: dict[str, _File] = {}
        self._closed = False

    def path(self, id_: str, ending: str) -> Path:
        """Where a job may write: in a folder that no other user can open. Raises ``FileError`` after the end."""
        with self._lock:
            if self._closed:
                raise FileError("no file is made any more: the service is stopping")
            if self._folder is None or not self._folder.is_dir():
                _remove_left_behind()
                # Made with rights for this user alone.
                self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            return self._folder / f"{id_}{ending}"

    def keep(self, id_: str, made: Made, key: str = "") -> None:
        """Have a file fetched for an hour; ``key`` is where its job stands. After the end it is removed at once."""
        with self._lock:
            if not self._closed:
                self._files[id_] = _File(made.path, made.name, time.monotonic() + KEPT_S, key)
                return
        made.path.unlink(missing_ok=True)

    def get(self, id_: str) -> tuple[Path, str] | None:
        """The file of a job and its name, if it is there."""
        with self._lock:
            file = self._files.get(id_)
        return (file.path, file.name) if file is not None and file.path.is_file() else None

    def held(self) -> list[tuple[str, str]]:
        """The ids of the jobs whose files are here, and where those stand."""
        with self._lock:
            return [(id_, file.key) for id_, file in self._files.items() if file.key]

    def drop(self, id_: str) -> None:
        """Remove whatever a job has written."""
        with self._lock:
            self._files.pop(id_, None)
            folder = self._folder
        with suppress(OSError):
            for path in folder.glob(f"*{id_}*") if folder is not None else ():
                path.unlink(missing_ok=True)

    def next_end(self) -> float | None:
        """In how many seconds the next file is to be removed, or None when there is none."""
        with self._lock:
            ends = [file.until for file in self._files.values()]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def sweep(self) -> None:
        """Remove the files whose hour is over."""
        now = time.monotonic()
        with self._lock:
            over = [id_ for id_, file in self._files.items() if file.until <= now]
        for id_ in over:
            self.drop(id_)

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            self._closed = True
            self._files.clear()
            folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_left_behind() -> None:
    """Remove the folders of processes that were killed. One in use is never so old with a file in it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            found = folder.lstat()
            own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        except OSError:
            continue
        if own and not folder.is_symlink() and found.st_mtime < time.time() - _LEFT_BEHIND_S:
            shutil.rmtree(folder, ignore_errors=True)
