"""The options that name a store, a space or a file, and opening what they name."""

from __future__ import annotations

import errno
import re
import shlex
import shutil
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

import memwell
from memwell.cli.phrases import say
from memwell.errors import ConfigurationError, FileError, InvalidInput, ReadOnlyStore, SecretRefused
from memwell.models.ports import ChatModel
from memwell.records import DEFAULT_SPACE, Space, space_named
from memwell.runtime.jobs import REGISTRY
from memwell.settings import load_settings
from memwell.storage import Backend, open_backend
from memwell.storage.files import COMPANIONS
from memwell.storage.protocols import ENCRYPTED
from memwell.storage.urls import composition, scheme_of, without_secrets

# Files: errors name the file, in the reader's language

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
        raise
    except OSError as error:
        raise FileError(say(phrase, path=repr(str(path)), reason=_reason(path, error))) from error


def _reason(path: Path, error: OSError) -> str:
    if not path.absolute().parent.exists():
        return say("no_such_folder")
    # memwell's own error is raised from the system's.
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    known = _REASONS.get(cause.errno or 0)
    return say(known) if known else cause.strerror or str(cause)


def check_export(path: Path, *, force: bool) -> None:
    """Raises ``InvalidInput`` for an existing file without ``force``, and for an unknown ending."""
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidInput(say("export_ending", ending=repr(path.suffix)))
    if path.is_file() and not force:
        raise InvalidInput(say("export_exists", path=repr(str(path))))


_REASON = re.compile(r"(?:can only be read|takes no writes|is sealed): (.+)", re.DOTALL)
"""The reason in the message of a read-only store."""


Store = Annotated[
    str,
    typer.Option(
        "--store",
        "-s",
        default_factory=lambda: load_settings().url,
        show_default="MEMWELL_URL, or memwell.db",
        help="The store: a file or a URL. 存储文件或 URL。",
    ),
]
SpaceOption = Annotated[
    list[str] | None,
    typer.Option("--space", help="The space: acme/ann, or a segment each time. 空间，如 acme/ann，或逐段给出。"),
]


def file_of(url: str) -> Path | None:
    """The file that holds all of the store at a URL, or None."""
    # A vector engine is a follower: all of its data is in the file too.
    return None if composition(url, load_settings()).parts.keys() - {"index"} else home_of(url)


def home_of(url: str) -> Path | None:
    """The file of the store's home, or None when that is no file."""
    kind, rest = scheme_of(composition(url).home)
    return Path(rest).expanduser() if kind in ("", "sqlite") else None


def is_encrypted_file(path: Path) -> bool:
    """Whether a store or an export is encrypted, by its first bytes. Raises ``OSError``."""
    with path.open("rb") as file:
        return file.read(len(ENCRYPTED)) == ENCRYPTED


def is_served(url: str) -> bool:
    """Whether a service holds the store."""
    return url.lower().startswith(("http://", "https://"))


def check_exists(url: str) -> None:
    """Raises ``ConfigurationError`` when the store does not exist: read-only commands do not create one."""
    file = home_of(url)
    if file is None or file.exists():
        return
    path, folder = shlex.quote(str(file)), file.absolute().parent
    if not folder.is_dir():
        raise ConfigurationError(say("no_folder_for_store", path=path, folder=shlex.quote(str(folder))))
    raise ConfigurationError(say("no_store", path=path))


def check_at_hand(url: str) -> None:
    """Raises ``ConfigurationError`` for the address of a service."""
    if is_served(url):
        raise ConfigurationError(say("store_served", url=repr(without_secrets(url))))


def existing(url: str, *, make: bool = False) -> Backend:
    """Open an existing store, or create one with ``make``. Raises ``ConfigurationError`` for the address of a service."""
    check_at_hand(url)
    if not make:
        check_exists(url)
    return open_backend(url)


@contextmanager
def opened(
    store: str, space: list[str] | None, *, make: bool = False, work: bool = True, key: str | None = None
) -> Generator[memwell.Engine]:
    """The memory of a store or of a service. A store is created only with ``make``; ``key`` is for a service.

    A store that was created and is still empty is removed again when what it was created for is refused.
    """
    if is_served(store):
        options: dict[str, Any] = {} if key is None else {"key": key}
        # A RemoteMemory has the methods of an Engine.
        with cast("Any", memwell.open)(store, space=None if space is None else space_of(space), **options) as memory:
            yield memory
        return
    if not make:
        check_exists(store)
    where, file, unused = space_of(space), home_of(store), False
    is_new = file is not None and not file.exists()
    try:
        with ExitStack() as held:
            backend = open_backend(store)
            held.callback(backend.close)
            chat = chat_model(held, backend)
            engine = held.enter_context(memwell.open(backend, space=where, chat=chat, work=work))
            try:
                yield engine
            except (InvalidInput, FileError, SecretRefused, typer.Exit):
                # A list of spaces with pending work may have been begun.
                unused = is_new and all(space == REGISTRY for space in backend.spaces(limit=2).items)
                raise
    except ReadOnlyStore as error:
        raise read_only(store, error) from error
    finally:
        if unused:
            for ending in ("", *COMPANIONS):
                _remove(Path(f"{file}{ending}"))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def read_only(store: str, error: ReadOnlyStore) -> ReadOnlyStore:
    """The error for a read-only store, in the reader's language: sealed with a reason, or write-protected."""
    path = repr(str(home_of(store) or without_secrets(store)))
    found = _REASON.search(str(error))
    if found is None or found[1].startswith("the file, its folder"):
        return ReadOnlyStore(say("store_read_only", path=path))
    return ReadOnlyStore(say("store_sealed", path=path, reason=found[1]))


def chat_model(held: ExitStack, backend: Backend) -> ChatModel | None:
    """The chat model of the settings, closed with ``held``. Its costs are recorded in the store, up to the cap."""
    chosen = load_settings()
    if not chosen.chat_url:
        return None
    if not chosen.chat_model:
        raise ConfigurationError(say("chat_model_missing"))
    from memwell.models.http import OpenAICompatible  # noqa: PLC0415 - slow to load
    from memwell.runtime.costs import KeptLedger  # noqa: PLC0415

    ledger = KeptLedger.of(backend, chosen)
    server = OpenAICompatible(chosen.chat_url, key=chosen.chat_key or None, ledger=ledger)
    return held.enter_context(server).chat(chosen.chat_model)


def space_of(segments: list[str] | None) -> Space:
    """The named space, or the default one."""
    return space_named(segments) if segments else DEFAULT_SPACE
