"""Opens the backend that a URL names, with its parts in other stores, and shares open stores within a process."""

from __future__ import annotations

import atexit
import importlib
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from memwell.errors import (
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    Conflict,
    MissingDependency,
    ReadOnlyStore,
    SecretRefused,
)
from memwell.records import Space, paged
from memwell.settings import Settings, load_settings
from memwell.storage.arguments import REMEMBERED, is_memwells
from memwell.storage.protocols import Backend
from memwell.storage.urls import Composition, composition, scheme_of, without_secrets
from memwell.values import new_id, shown


class _Kind(NamedTuple):
    name: str
    """As the facts of a store name its kind."""
    opener: str
    """The module in ``memwell.storage``, and the class in it."""
    form: str
    extra: str = ""
    """The extra that installs the driver; empty where none is needed."""


# Backends are imported by name when they are first opened, so that a driver without a use is never loaded.
_POSTGRES = _Kind("postgresql", "postgres:PostgresBackend", "postgresql://user:password@host/database", "postgres")
_REDIS = _Kind("redis", "redis:RedisBackend", "redis://host:port, redis+cluster://host:port,host:port", "redis")
_MILVUS = _Kind("milvus", "milvus:MilvusVectors", "", "milvus")
_KINDS = {
    "memory": _Kind("memory", "memory:MemoryBackend", "memory:"),
    "sqlite": _Kind("sqlite", "sqlite:SqliteBackend", "sqlite:path/to/file.db, or just the path"),
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "redis": _REDIS,
    "rediss": _REDIS,
    "redis+cluster": _REDIS,
    "rediss+cluster": _REDIS,
}
_ENGINES = ("milvus", "milvus+tls")
_HOMES = ("memory", "sqlite", "postgresql", "postgres")
_HOMES_THAT_STAY = _HOMES[1:]
_DRIVERS = ("psycopg", "redis", "pymilvus", "milvus_lite", "grpc")

ASK_ENGINE_ABOVE = 1000
"""Spaces with fewer vectors are searched exactly in the home store, which is faster than asking an engine."""


def open_backend(url: str | os.PathLike[str], *, settings: Settings | None = None) -> Backend:
    """Open the store that ``url`` names: a path, ``memory:``, ``sqlite:``, ``postgresql:``, ``redis:``, or several of them.

    ``HOME,log=URL,kv=URL,index=URL`` places parts in other stores; the settings ``log_url`` and so on do the
    same where the URL does not. A missing file is created. Raises ``ConfigurationError`` for a URL that names no store
    (``MissingDependency`` when its driver is not installed), and ``BackendError`` for one that cannot be opened.
    """
    chosen = settings or load_settings()
    if not isinstance(url, str | os.PathLike) or not os.fspath(url).strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"a store is named by a URL or a path, not {shown(url)}; {_forms()}")
    named, home, kind, place = _named(url, chosen)
    return _composed(named, home, kind, place, chosen) if named.parts else _alone(home(), kind, place)


def forget_parts(url: str | os.PathLike[str]) -> bool:
    """Make a store forget the layout of its parts; whether it had one. What the parts hold is no longer found in it.

    For a part that is lost for good, or a home to be used without its parts. Parts in the URL are ignored. Raises like
    ``open_backend``, and ``ReadOnlyStore`` for a read-only home.
    """
    with _named(url, load_settings()).open() as home:
        return home.kv.delete(REMEMBERED, _LAYOUT)


class _Named(NamedTuple):
    parts: Composition
    open: Callable[[], Backend]
    """Opens the home alone."""
    kind: str
    place: str
    """Where the home is, without secrets."""


def _named(url: str | os.PathLike[str], settings: Settings) -> _Named:
    if isinstance(url, os.PathLike):
        # A path is never a URL, whatever it contains.
        path = os.fspath(url)
        return _Named(composition("", settings), lambda: _sqlite(path, settings), "sqlite", path)
    named = composition(url, settings)
    kind = scheme_of(named.home)[0] or "sqlite"
    return _Named(named, lambda: _single(named.home, settings), kind, without_secrets(named.home))


def _alone(store: Backend, kind: str, place: str) -> Backend:
    with ExitStack() as opened:
        opened.callback(store.close)
        if kind in _HOMES_THAT_STAY:
            check_parts(store, place, {})
        opened.pop_all()
    return store


def _single(url: str, settings: Settings) -> Backend:
    """The one store of a URL without parts."""
    scheme, rest = scheme_of(url)
    if not scheme or scheme == "sqlite":
        return _sqlite(rest, settings)
    if scheme in _ENGINES:
        raise ConfigurationError(
            "Milvus searches for a store and is none itself: write sqlite:memwell.db,index="
            f"{without_secrets(url)}, or postgresql://… in the place of sqlite:"
        )
    if scheme not in _KINDS:
        raise ConfigurationError(
            f"no store is named by {shown(without_secrets(url))}: unknown kind {scheme!r}; {_forms()}"
        )
    _check_secret(url, settings)
    if scheme == "memory":
        if rest:
            raise ConfigurationError(f"'memory:' takes nothing behind the colon, not {shown(rest)}")
        return _load(_KINDS["memory"])()
    return _load(_KINDS[scheme])(url, settings=settings)


def _check_secret(url: str, settings: Settings) -> None:
    """Raises ``SecretRefused`` for a place outside SQLite where a secret is set: nothing would be encrypted there."""
    if settings.secret or settings.secret_file:
        raise SecretRefused.of("other-store", without_secrets(url))


def _sqlite(path: str, settings: Settings) -> Backend:
    if path.startswith("//"):
        raise ConfigurationError(
            f"write 'sqlite:' and then the path itself, without slashes before it: not {shown(path)}"
        )
    if not path or "\x00" in path or path.startswith(":"):
        raise ConfigurationError(f"{shown(path)} is not the path of a file; for a store without a file use 'memory:'")
    return _load(_KINDS["sqlite"])(Path(path).expanduser(), settings=settings)


# Several


def _composed(named: Composition, home: Callable[[], Backend], kind: str, place: str, settings: Settings) -> Backend:
    if kind not in _HOMES:
        raise ConfigurationError(
            f"a store of several parts has its home in SQLite or PostgreSQL, not in {shown(place)}; "
            "its parts are " + ", ".join(f"{name}={without_secrets(url)}" for name, url in named.parts.items())
        )
    # Loads numpy, which a store of one part does not need.
    from memwell.storage.composed import ComposedBackend  # noqa: PLC0415

    # A part is one store, whatever the settings say of parts.
    plain = replace(settings, log_url="", kv_url="", index_url="")
    with ExitStack() as opened:
        parts = _opened_parts(named, plain, opened)
        store = home()
        opened.callback(store.close)
        made = ComposedBackend(store, **parts, place=place, ask_above=ASK_ENGINE_ABOVE)
        opened.callback(made.close)
        if kind in _HOMES_THAT_STAY:
            # An engine is a copy: the home may be opened without it.
            check_parts(store, place, {name: part for name, part in parts.items() if name != "index"})
        opened.pop_all()
    return made


def _opened_parts(named: Composition, settings: Settings, opened: ExitStack) -> dict[str, Any]:
    from memwell.storage.composed import Part  # noqa: PLC0415 - see above

    parts: dict[str, Any] = {}
    stores: dict[str, Backend] = {}
    for name in ("log", "kv"):
        url = named.parts.get(name)
        if url is not None:
            if url not in stores:
                stores[url] = _follower(name, url, settings)
                opened.callback(stores[url].close)
            parts[name] = Part(stores[url], without_secrets(url))
    if "index" in named.parts:
        parts["index"] = _engine(named.parts["index"], settings)
    return parts


def _follower(name: str, url: str, settings: Settings) -> Backend:
    place = without_secrets(url)
    if _KINDS.get(scheme_of(url)[0]) is not _REDIS:
        raise ConfigurationError(f"{name} lives in the home store or in Redis, not in {shown(place)}")
    try:
        return _single(url, settings)
    except BackendError as error:
        raise BackendUnavailable(f"the {name} at {place} is unavailable: {error}") from error


def _engine(url: str, settings: Settings) -> Any:
    from memwell.storage.composed import Attached  # noqa: PLC0415 - see above

    place = without_secrets(url)
    if scheme_of(url)[0] not in _ENGINES:
        raise ConfigurationError(
            f"vectors are searched by the home store or by Milvus, not by {shown(place)}: write index=milvus:path.db "
            "or index=milvus://host:port"
        )
    _check_secret(url, settings)
    engine = _load(_MILVUS)
    return Attached(lambda: engine(url, settings=settings), "milvus", place)


def _load(kind: _Kind) -> Any:
    module, _, name = kind.opener.partition(":")
    try:
        return getattr(importlib.import_module(f"memwell.storage.{module}"), name)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if not kind.extra or package not in _DRIVERS:
            raise
        raise MissingDependency.of(f"this store needs {package}, which is not installed", kind.extra) from error


def _forms() -> str:
    return "known: " + "; ".join(dict.fromkeys(kind.form for kind in _KINDS.values()))


# The layout of a store: which of its parts are placed in other stores. The home store keeps it. The home has an id, which
# each placed part stores too. So a store that is opened without its parts, or with those of another store, is refused:
# writes to it would be lost to later readers. A follower (``index``) is a copy, and may come and go.

_LAYOUT = "parts"
_PAGE = 500
_HELD = {"log": "conversations", "kv": "values"}
_FORGET = "to use it without what was there, let it forget: memwell.storage.registry.forget_parts(URL)"


class _Layout(NamedTuple):
    id: str
    places: dict[str, str]
    version: int


def check_parts(home: Backend, home_place: str, parts: Mapping[str, Any]) -> None:
    """Check that the store is opened with its parts; new ones are added to the layout.

    Raises ``ConfigurationError`` when a part is missing or belongs to another store, or when the home already holds data
    of a new part.
    """
    layout = _layout_of(home)
    known: dict[str, str] = {} if layout is None else layout.places
    if known.keys() - parts.keys():
        raise ConfigurationError(_missing(home_place, known, known.keys() - parts.keys()))
    if layout is not None:
        for name in known:
            _check_part(name, parts[name], layout)
    changed = {name: part for name, part in parts.items() if known.get(name) != part.place}
    if changed:
        _refuse_moved(home, home_place, {name: changed[name] for name in changed if name not in known})
        # A home that is read-only needs no new layout.
        with suppress(ReadOnlyStore):
            try:
                _store(home, layout, changed)
            except Conflict:
                # Another process has just stored a layout: compare with that.
                check_parts(home, home_place, parts)


def _layout_of(home: Backend) -> _Layout | None:
    found = home.kv.get(REMEMBERED, _LAYOUT)
    if found is None:
        return None
    value = cast("dict[str, Any]", found.value)
    return _Layout(value["id"], value["places"], found.version)


def _missing(home_place: str, known: Mapping[str, str], missing: set[str]) -> str:
    names = " and ".join(name for name in known if name in missing)
    url = home_place + "".join(f",{name}={place}" for name, place in known.items())
    return f"this store keeps its {names} elsewhere; open it as {url} ({_FORGET})"


def _check_part(name: str, part: Any, layout: _Layout) -> None:
    try:
        known = part.store.kv.get(REMEMBERED, layout.id) is not None
    except BackendError:
        # Unavailable. A call that needs it will fail.
        return
    if not known:
        was = layout.places[name]
        why = "it is empty or was replaced" if was == part.place else f"that was at {was}"
        raise ConfigurationError(f"the {name} at {part.place} is not the {name} of this store: {why} ({_FORGET})")


def _refuse_moved(home: Backend, home_place: str, added: Mapping[str, Any]) -> None:
    for name, part in added.items():
        if _holds(home, name):
            raise ConfigurationError(
                f"this store already holds {_HELD[name]} in {home_place}, which would not be found in {part.place}: "
                f"memwell move {home_place} NEW,{name}={part.place} puts them there"
            )


def _holds(home: Backend, name: str) -> bool:
    def found(space: Space) -> bool:
        return bool((home.log.threads if name == "log" else home.kv.scan)(space, limit=1).items)

    # Internal data stays in the home.
    spaces = paged(lambda cursor: home.spaces(limit=_PAGE, cursor=cursor))
    return any(found(space) for space in spaces if not is_memwells(space))


def _store(home: Backend, layout: _Layout | None, changed: Mapping[str, Any]) -> None:
    facts = home.facts()
    if facts.get("read_only") or facts.get("sealed") is not None:
        return
    id_, places, version = layout or _Layout(new_id(), {}, 0)
    learned: dict[str, str] = {}
    for name, part in changed.items():
        # An unavailable part is added when it is back.
        with suppress(BackendError):
            # The part first, then the home: what the home says must be true.
            part.store.kv.put(REMEMBERED, id_, "part")
            learned[name] = part.place
    if learned:
        home.kv.put(REMEMBERED, _LAYOUT, {"id": id_, "places": {**places, **learned}}, expect=version)


# Shares one open store among all callers in a process that name the same URL.
#
# Frameworks make a new history for every call. Opening a file takes longer than the call itself, so a store that is named
# by its URL is opened once and stays open until the process ends.

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
