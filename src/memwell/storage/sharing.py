"""Shares one open store among all callers in a process that name the same URL.

Frameworks make a new history for every call. Opening a file anew each time would cost more than the call itself, so a store
that is named by its URL is opened once and stays open until the process ends.
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
    """The backend meant. Raises what ``open_backend`` raises.

    One that is given is the caller's to close. One that is named by a URL is shared by all who name it; so is ``memory:``.
    """
    if isinstance(store, Backend):
        return store
    name = _name(store)
    with _lock:
        held = _opened.get(name)
        if held is not None and held.process != os.getpid():
            # It was opened before a fork and belongs to the parent.
            held = None
        # Whoever deletes a file and goes on means a new one: what is written to the old is lost with it.
        if held is not None and held.file != _identity(name):
            _close(_opened.pop(name))
            held = None
        if held is None:
            backend = open_backend(store)
            held = _opened[name] = _Opened(backend, _identity(name), os.getpid())
        return held.backend


def close_shared() -> None:
    """Close every store that was opened here by this process; the next to name one opens it again."""
    with _lock:
        while _opened:
            _, opened = _opened.popitem()
            if opened.process == os.getpid():
                _close(opened)


def _name(store: str | os.PathLike[str]) -> str:
    """One name for one store, however the path of its file is written."""
    if isinstance(store, os.PathLike):
        return _of_file(os.fspath(store))
    try:
        home, parts = composition(str(store))
    except ConfigurationError:
        # What is no URL is left for open_backend to refuse.
        return str(store)
    kind, rest = scheme_of(home)
    name = _of_file(rest) if kind in ("", "sqlite") else home
    return name + "".join(f",{part}={parts[part]}" for part in sorted(parts))


def _of_file(path: str) -> str:
    # What is no path is left for open_backend to refuse.
    return path if not path.strip() or "\0" in path else str(Path(path).expanduser().resolve())


def _identity(name: str) -> tuple[int, int] | None:
    """Which file it is, or its home is, as the system sees it; None for a store that is no file."""
    try:
        found = os.stat(composition(name).home)
    except (OSError, ValueError, ConfigurationError):
        return None
    return found.st_dev, found.st_ino


def _close(opened: _Opened) -> None:
    # At the end there is nobody left to tell.
    with suppress(BackendError):
        opened.backend.close()


atexit.register(close_shared)
