"""Bytes as files in a folder, each under its digest in a folder of its space."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from memwell.errors import BackendError, ConfigurationError, NotFound
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.protocols import Blobs
from memwell.values import new_id, shown


class FileBlobs(Blobs):
    """Files under ``folder``, which is made if need be. A file appears whole and on the disk, or not at all.

    Spaces share nothing, so what one deletes another keeps. Raises ``ConfigurationError`` when the folder cannot be made.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            self._folder = Path(folder).expanduser().absolute()
            self._folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"{shown(str(folder))} cannot be a folder for blobs: {error}") from error

    def put(self, space: Space, data: bytes) -> str:
        place = self._place(space)
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()
        with _translated(self._folder):
            if not _is_there(place / digest, len(blob)):
                self._write(place, digest, blob)
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        file = self._place(space) / given.check_digest(digest)
        with _translated(self._folder):
            try:
                data = file.read_bytes()
            except FileNotFoundError:
                raise NotFound(f"the space holds no blob {digest!r}") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise BackendError(f"the file of blob {digest!r} in {str(self._folder)!r} is damaged")
        return data

    def delete(self, space: Space, digest: str) -> bool:
        place = self._place(space)
        file = place / given.check_digest(digest)
        with _translated(self._folder):
            try:
                file.unlink()
            except FileNotFoundError:
                return False
            _sync_folder(place)
            # The last one takes the folder along.
            with suppress(OSError):
                place.rmdir()
        return True

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        place = self._place(space)
        given.check_limit(limit)
        start = given.check_name_cursor(cursor) or ""
        with _translated(self._folder):
            try:
                names = os.listdir(place)
            except FileNotFoundError:
                names = []
        # Anything else there is the rest of a write that was cut short.
        found = sorted(name for name in names if "." not in name and name > start)
        return Page(found[:limit], found[limit - 1] if len(found) > limit else None)

    def _place(self, space: Space) -> Path:
        name = hashlib.sha256(given.check_space(space).encoded().encode()).hexdigest()
        return self._folder / name[:2] / name

    def _write(self, place: Path, digest: str, data: bytes) -> None:
        unfinished = place / f"{digest}.{new_id()}"
        while True:
            place.mkdir(parents=True, exist_ok=True)
            # Another may take the empty folder away just now.
            with suppress(FileNotFoundError):
                descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                break
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, place / digest)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
        for folder in (place, place.parent, self._folder):
            _sync_folder(folder)


def _is_there(file: Path, size: int) -> bool:
    try:
        return file.stat().st_size == size
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        # Elsewhere a folder cannot be opened, and names are written with the file.
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BackendError(f"the folder {str(folder)!r} failed: {error.strerror or error}") from error


__all__ = ["FileBlobs"]
