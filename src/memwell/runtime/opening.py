"""``memwell.open``: makes an engine of a URL, a store, models and settings, or a client of a service."""

from __future__ import annotations

import atexit
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from msgspec.structs import replace

from memwell._native import native_calls
from memwell.errors import InvalidInput, Unsupported
from memwell.longterm.embedding import DEFAULT, NAMED, WantedEmbedder
from memwell.longterm.gate import Gate
from memwell.longterm.weights import Weights
from memwell.models.ports import ChatModel, Embedder, Reranker, as_chat_model, as_embedder, as_reranker
from memwell.records import DEFAULT_SPACE, SpaceLike, as_opened
from memwell.runtime.engine import Engine, EngineParts, check_path
from memwell.settings import Settings, load_settings
from memwell.storage import Backend, open_backend
from memwell.values import check_flag, shown

if TYPE_CHECKING:
    from memwell.runtime.remote.memory import RemoteMemory

_KEY = 32
_SERVED = re.compile("https?://", re.IGNORECASE)


@overload
def open(  # noqa: A001
    url: str | None = None, *, key: str, space: SpaceLike | None = None, settings: Settings | None = None
) -> RemoteMemory: ...
@overload
def open(  # noqa: A001
    url: str | Path | Backend | None = None,
    *,
    space: SpaceLike | None = None,
    embedder: Embedder | Callable[..., Any] | str | None = "local",
    chat: ChatModel | Callable[..., Any] | None = None,
    reranker: Reranker | Callable[..., Any] | None = None,
    gate: Gate | None = None,
    weights: Weights | None = None,
    settings: Settings | None = None,
    secret: str | bytes | None = None,
    work: bool = True,
) -> Engine: ...
def open(  # noqa: A001 - the first word users type
    url: str | Path | Backend | None = None,
    *,
    space: SpaceLike | None = None,
    key: str | None = None,
    embedder: Embedder | Callable[..., Any] | str | None = "local",
    chat: ChatModel | Callable[..., Any] | None = None,
    reranker: Reranker | Callable[..., Any] | None = None,
    gate: Gate | None = None,
    weights: Weights | None = None,
    settings: Settings | None = None,
    secret: str | bytes | None = None,
    work: bool = True,
) -> Engine | RemoteMemory:
    """Open a memory: a file by its path, ``memory:`` for one that is gone with the process, or any backend's URL.

    ``http://…`` with a ``key`` opens a memory of a service and returns a ``RemoteMemory``, which has the methods of an
    ``Engine``; models and background work are the service's. Without ``key`` the key of the settings is used; type
    checkers then see an ``Engine``, and ``RemoteMemory.connect`` has the exact type.
    ``secret`` encrypts a SQLite store with all its files: a passphrase, or a key of 32 bytes.
    ``embedder`` is ``"local"`` (offline), None for words only, or any embedder or function; ``chat``
    and ``reranker`` are optional. With ``work=False`` nothing is done in the background: call ``flush``. Raises
    ``InvalidInput`` for a value that breaks a rule, ``SecretRefused``, ``ConfigurationError`` and ``BackendError`` as
    ``open_backend`` does.
    """
    if url is not None and not isinstance(url, Backend):
        check_path(url)
    chosen = _with_secret(settings or load_settings(), secret, url)
    address = str(chosen.url if url is None else url)
    if _SERVED.match(address):
        if embedder != "local" or any(given is not None for given in (chat, reranker, gate, weights, secret)):
            raise Unsupported(
                "a memory that a service holds has that service's models, gate and weights; leave them out"
            )
        # Only this needs httpx.
        from memwell.runtime.remote.memory import RemoteMemory  # noqa: PLC0415

        return RemoteMemory.connect(address, key=chosen.key if key is None else key, space=space)
    if key is not None:
        raise InvalidInput(f"a key opens a service's memory, whose URL begins with http, not {shown(address)}")
    check_flag(work, "work")
    # Before the store is opened, which may make a file.
    opened = DEFAULT_SPACE if space is None else as_opened(space)
    backend = url if isinstance(url, Backend) else open_backend(str(url or chosen.url), settings=chosen)
    options = {
        "embedder": _embedder(embedder, chosen),
        "chat": chat if chat is None or isinstance(chat, ChatModel) else as_chat_model(chat),
        "reranker": reranker if reranker is None or isinstance(reranker, Reranker) else as_reranker(reranker),
        "gate": gate,
        "weights": weights,
        # The default embedder keeps the vectors that a space has; a named one replaces them.
        "wanted_embedder": WantedEmbedder.made_now(DEFAULT if embedder == chosen.embedder == "local" else NAMED),
    }
    parts = EngineParts(backend, chosen, options, work=work, cache=not isinstance(embedder, str))
    if work:
        parts.worker.attend()
    # For programs that never close: the worker must stop before the interpreter unloads its modules.
    atexit.register(_close_if_alive, weakref.ref(parts))
    return parts.engine(opened)


def _with_secret(settings: Settings, secret: str | bytes | None, url: str | Path | Backend | None) -> Settings:
    if secret is None:
        return settings
    if isinstance(url, Backend):
        raise InvalidInput("an open store has its secret already; leave it out")
    # A caller without a type checker may give anything.
    is_key = isinstance(secret, bytes | bytearray | memoryview)
    if len(secret) != _KEY if is_key else not isinstance(secret, str) or not secret:  # pyright: ignore[reportUnnecessaryIsInstance]
        of = f"{len(secret)} bytes" if is_key else type(secret).__name__ if secret else "nothing"
        raise InvalidInput(f"a secret is a passphrase as text, or a key of {_KEY} bytes, not {of}")
    return replace(settings, secret=bytes(secret).hex() if is_key else secret, secret_file="")


def _close_if_alive(reference: weakref.ref[EngineParts]) -> None:
    parts = reference()
    if parts is not None:
        # The worker stops after the current text, not after its batch: the rest stays pending in the journal.
        native_calls.end()
        parts.close()


def _embedder(given: Embedder | Callable[..., Any] | str | None, settings: Settings) -> Embedder | None:
    if given is None or isinstance(given, Embedder):
        return given
    if isinstance(given, str):
        # Imported when needed: numpy takes a tenth of a second.
        from memwell.models.local import LocalEmbedder  # noqa: PLC0415

        return LocalEmbedder(settings.embedder if given == "local" else given)  # pyright: ignore[reportArgumentType]
    return as_embedder(given)
