"""Which backend a URL means."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from memwell.errors import ConfigurationError
from memwell.settings import Settings, load_settings
from memwell.storage.protocols import Backend
from memwell.values import shown


class _Kind(NamedTuple):
    module: str
    name: str
    form: str


# Backends are imported by name when they are first opened, so that a driver nobody uses is never loaded.
_KINDS = {
    "memory": _Kind("memwell.storage.memory", "MemoryBackend", "memory:"),
    "sqlite": _Kind("memwell.storage.sqlite", "SqliteBackend", "sqlite:path/to/file.db, or just the path"),
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def open_backend(url: str | os.PathLike[str], *, settings: Settings | None = None) -> Backend:
    """Open the store that ``url`` names: ``memory:``, ``sqlite:path`` or the path of a file.

    A file that does not exist is made. Raises ``ConfigurationError`` for a URL that names no store, and ``BackendError``
    for a file that cannot be opened or is no store of memwell's.
    """
    chosen = settings or load_settings()
    if isinstance(url, os.PathLike):
        return _sqlite(os.fspath(url), chosen)
    if not isinstance(url, str) or not url.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"a store is named by a URL or a path, not {shown(url)}; {_forms()}")
    found = _SCHEME.match(url)
    if found is None:
        return _sqlite(url, chosen)
    scheme, rest = found[1].lower(), url[found.end() :]
    if scheme not in _KINDS:
        raise ConfigurationError(f"no store is named by {shown(url)}: unknown kind {scheme!r}; {_forms()}")
    if scheme == "sqlite":
        return _sqlite(rest, chosen)
    if rest:
        raise ConfigurationError(f"'memory:' takes nothing behind the colon, not {shown(rest)}")
    return _load(_KINDS["memory"])()


def _sqlite(path: str, settings: Settings) -> Backend:
    if path.startswith("//"):
        raise ConfigurationError(
            f"write 'sqlite:' and then the path itself, without slashes before it: not {shown(path)}"
        )
    if not path or "\x00" in path or path.startswith(":"):
        raise ConfigurationError(f"{shown(path)} is not the path of a file; for a store without a file use 'memory:'")
    return _load(_KINDS["sqlite"])(Path(path).expanduser(), settings=settings)


def _load(kind: _Kind) -> Any:
    return getattr(importlib.import_module(kind.module), kind.name)


def _forms() -> str:
    return "known: " + "; ".join(kind.form for kind in _KINDS.values())


__all__ = ["open_backend"]
