"""Which store and which space a command is about."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from memwell.cli.phrases import say
from memwell.errors import ConfigurationError
from memwell.records import DEFAULT_SPACE, Space
from memwell.settings import load_settings
from memwell.storage import Backend, open_backend


def _store_default() -> str:
    return load_settings().url


Store = Annotated[
    str,
    typer.Option(
        "--store",
        "-s",
        default_factory=_store_default,
        show_default="MEMWELL_URL, or memwell.db",
        help="The store: a file or a URL. 存储文件或 URL。",
    ),
]
SpaceOption = Annotated[
    list[str] | None, typer.Option("--space", help="The space, a segment each time it is given. 空间，逐段给出。")
]


def file_of(url: str) -> Path | None:
    """The file that ``open_backend`` would open or make for the URL, or None when it names no file."""
    found = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", url, re.DOTALL)
    if found is None:
        return Path(url).expanduser()
    return Path(found[2]).expanduser() if found[1].lower() == "sqlite" else None


def check_exists(url: str) -> None:
    """Raises ``ConfigurationError`` when the store is not there: looking must never make one."""
    file = file_of(url)
    if file is not None and not file.exists():
        raise ConfigurationError(say("no_store", path=shlex.quote(str(file))))


def existing(url: str) -> Backend:
    """Open a store to look at it."""
    check_exists(url)
    return open_backend(url)


def space_of(segments: list[str] | None) -> Space:
    """The space that was named, or the default one."""
    return Space(*segments) if segments else DEFAULT_SPACE


__all__ = ["SpaceOption", "Store", "check_exists", "existing", "file_of", "space_of"]
