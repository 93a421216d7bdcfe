"""Shares one open store among all callers in a process that name the same URL.

Frameworks make a new history for every call. Opening a file takes longer than the call itself, so a store that is named by
its URL is opened once and stays open until the process ends.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from memwell.errors import BackendError, ConfigurationError
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend
from memwell.storage.urls import composition, scheme_of

Store: TypeAlias = str | os.PathLike[str] | Backend
"""A store: its URL, the path of its file, or the open backend."""


class _Opened(NamedTuple):
    backend: Backend
    file: tuple[int, int] | None
    process: int


_opened: dict[str, _Opened] = {}
_lock = threading.Lock()


def shared_backend(store: Store) -> Backend:
    """The open backend of a store. Raises what ``open_backend`` raises.

    A backend that is passed in is returned, and the caller closes it. One that is named by a URL is shared by all callers
    that name it; so is ``memory:``.
    """
    if isinstance(store, Backend):
        return store
    name = _name(store)
    with _lock:
        held = _opened.get(name)
        if held is not None and held.process != os.getpid():
            # It was opened before a fork and belongs to the parent.
            held = None
        # The file was deleted or replaced: what is written to the old one would be lost with it.
        if held is not None and held.file != _identity(name):
            _close(_opened.pop(name))
            held = None
        if held is None:
            backend = open_backend(store)
            held = _opened[name] = _Opened(backend, _identity(name), os.getpid())
        return held.backend


def close_shared() -> None:
    """Close every shared store of this process; the next call with its URL opens it again."""
    with _lock:
        while _opened:
            _, opened = _opened.popitem()
            if opened.process == os.getpid():
                _close(opened)


def _name(store: str | os.PathLike[str]) -> str:
    """One name for a store, however the path of its file is written."""
    if isinstance(store, os.PathLike):
        return _of_file(os.fspath(store))
    try:
        home, parts = composition(str(store))
    except ConfigurationError:
        # open_backend refuses what is no URL.
        return str(store)
    kind, rest = scheme_of(home)
    name = _of_file(rest) if kind in ("", "sqlite") else home
    return name + "".join(f",{part}={parts[part]}" for part in sorted(parts))


def _of_file(path: str) -> str:
    # open_backend refuses what is no path.
    return path if not path.strip() or "\0" in path else str(Path(path).expanduser().resolve())


def _identity(name: str) -> tuple[int, int] | None:
    """The device and inode of the store's file, or of its home's; None for a store without a file."""
    try:
        found = os.stat(composition(name).home)
    except (OSError, ValueError, ConfigurationError):
        return None
    return found.st_dev, found.st_ino


def _close(opened: _Opened) -> None:
    # The process may be ending: there is no caller for the error.
    with suppress(BackendError):
        opened.backend.close()


atexit.register(close_shared)
