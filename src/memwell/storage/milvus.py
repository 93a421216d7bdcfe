"""Vectors in Milvus, a server or a file: an engine that follows a store, never a store of its own.

It holds ids and vectors alone, and answers searches within a space; filters are checked on the rows of the home. Users'
text never enters an expression for Milvus: keys and spaces are digests there.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import threading
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import msgspec
import pymilvus  # pyright: ignore[reportMissingTypeStubs]
from pymilvus import DataType, MilvusClient  # pyright: ignore[reportMissingTypeStubs]
from pymilvus.exceptions import ErrorCode, MilvusException  # pyright: ignore[reportMissingTypeStubs]

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.records import Record, Space, Vector
from memwell.settings import Settings
from memwell.storage.protocols import VectorEngine
from memwell.storage.urls import check_login
from memwell.values import new_id

_MOST_FOUND = 16_384
_BATCH = 1000
_FLUSHED_AFTER = 2000
_IDENTITY = "identity"
_ROSTER = "memwell_spaces"
_PORT = 19530
_FORM = "write milvus://host:port for a server, or milvus:path.db for a file"

# It writes a traceback to stderr for every call that fails, although it raises the error too.
logging.getLogger("pymilvus").setLevel(logging.CRITICAL)


class MilvusVectors(VectorEngine):
    """One collection for every size of vectors, with the space as its partition key.

    ``url`` is ``milvus:path`` for milvus-lite, which one process at a time can hold open, or ``milvus://host:port/database``
    (``milvus+tls://``) for a server. Raises ``BackendUnavailable`` when it cannot be reached.
    """

    name = "milvus"
    most = _MOST_FOUND

    def __init__(self, url: str, *, settings: Settings | None = None) -> None:
        chosen = settings or Settings()
        self._patience = chosen.statement_timeout_s
        self._collections: dict[int, str] = {}
        self._known: set[str] = set()
        self._unflushed: Counter[str] = Counter()
        self._closed = False
        kind, _, rest = url.partition(":")
        self._file = None if rest.startswith("//") else _held_file(rest)
        self._lock = threading.RLock() if self._file is None else self._file.lock
        options: dict[str, Any] = (
            _server(url, kind) if self._file is None else {"uri": self._file.path, "grpc_options": _QUIET}
        )
        try:
            with _translated():
                self._client: Any = cast(Any, MilvusClient)(**options, timeout=chosen.connect_timeout_s)
                self._load()
        except BackendError:
            self._release()
            raise

    def identity(self, dimensions: int) -> str:
        name = self._collection(dimensions, make=True)
        with self._writing():
            found = self._client.get(name, ids=[_IDENTITY], output_fields=["id"], timeout=self._patience)
            if found:
                return str(found[0]["id"])
            row = _row(_IDENTITY, _IDENTITY, new_id(), [1.0] + [0.0] * (dimensions - 1))
            self._client.upsert(name, [row], timeout=self._patience)
            return str(row["id"])

    def store(self, space: Space, records: Sequence[Record]) -> None:
        self._enlist(space)
        own = digest(space.encoded())
        by_size: dict[int, list[Record]] = {}
        for record in records:
            by_size.setdefault(len(record.vector or ()), []).append(record)
        for size, group in by_size.items():
            name = self._collection(size, make=True)
            with self._writing():
                for start in range(0, len(group), _BATCH):
                    part = group[start : start + _BATCH]
                    rows = [_row(_row_key(space, one.id), own, one.id, one.vector or ()) for one in part]
                    self._client.upsert(name, rows, timeout=self._patience)
                    self._written(name, len(rows))

    def drop(self, space: Space, ids: Iterable[str]) -> None:
        keys = [_row_key(space, id_) for id_ in ids]
        with self._writing():
            for name in list(self._collections.values()):
                for start in range(0, len(keys), _BATCH):
                    self._client.delete(name, ids=keys[start : start + _BATCH], timeout=self._patience)

    def near(self, space: Space, vector: Vector, limit: int) -> list[tuple[str, float]]:
        name = self._collection(len(vector), make=False)
        if name is None:
            return []
        with _translated():
            [hits] = self._client.search(
                name,
                data=[list(vector)],
                filter=_of_space(space),
                limit=min(limit, _MOST_FOUND),
                output_fields=["id"],
                search_params={"metric_type": "COSINE"},
                timeout=self._patience,
            )
            return [(str(hit["entity"]["id"]), float(hit["distance"])) for hit in hits]

    def ids(self, space: Space) -> Iterator[str]:
        for name in list(self._collections.values()):
            yield from (str(row["id"]) for row in self._rows(name, _of_space(space), "id"))

    def count(self, space: Space) -> int:
        total, asked = 0, _of_space(space)
        with _translated():
            for name in list(self._collections.values()):
                [row] = self._client.query(name, filter=asked, output_fields=["count(*)"], timeout=self._patience)
                total += int(row["count(*)"])
        return total

    def forget(self, space: Space) -> None:
        with self._writing():
            for name in list(self._collections.values()):
                self._client.delete(name, filter=_of_space(space), timeout=self._patience)

    def spaces(self) -> Iterator[Space]:
        with _translated():
            if not self._client.has_collection(_ROSTER, timeout=self._patience):
                return
        for row in list(self._rows(_ROSTER, 'key != ""', "metadata")):
            space = Space(*cast("dict[str, list[str]]", row["metadata"])["space"])
            if self.count(space):
                yield space

    def facts(self) -> dict[str, Any]:
        with _translated():
            version = self._client.get_server_version(timeout=self._patience)
        sizes = sorted(self._collections)
        return {"kind": "milvus", "server": str(version), "client": pymilvus.__version__, "sizes": sizes}

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                with _translated():
                    self._client.close()
            finally:
                self._release()

    def _release(self) -> None:
        if self._file is not None:
            _release_file(self._file)

    def _writing(self) -> AbstractContextManager[None]:
        """Translate errors; let one writer of a file at a time through, because milvus-lite does not lock its log."""
        return _translated() if self._file is None else _translated(self._lock)

    # Collections

    def _collection(self, dimensions: int, *, make: bool) -> Any:
        name = self._collections.get(dimensions)
        if name is None and make:
            with _translated(self._lock):
                name = self._made(f"memwell_{dimensions}", dimensions)
                self._collections[dimensions] = name
        return name

    def _load(self) -> None:
        """Load the collections that exist."""
        for name in self._client.list_collections(timeout=self._patience):
            size = name.removeprefix("memwell_")
            if name == _ROSTER or (name != size and size.isdecimal()):
                self._client.load_collection(name, timeout=self._patience)
                if name != _ROSTER:
                    self._collections[int(size)] = name

    def _made(self, name: str, dimensions: int) -> str:
        if not self._client.has_collection(name, timeout=self._patience):
            schema: Any = cast(Any, MilvusClient).create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("key", DataType.VARCHAR, max_length=64, is_primary=True)
            schema.add_field("space", DataType.VARCHAR, max_length=64, is_partition_key=True)
            schema.add_field("id", DataType.VARCHAR, max_length=4096)
            schema.add_field("kind", DataType.VARCHAR, max_length=64)
            schema.add_field("time", DataType.DOUBLE)
            schema.add_field("partial", DataType.BOOL)
            schema.add_field("metadata", DataType.JSON)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
            index = self._client.prepare_index_params()
            index.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
            self._client.create_collection(name, schema=schema, consistency_level="Strong", timeout=self._patience)
            # With sync=True the driver sleeps for half a second first; loading waits for the index anyway.
            self._client.create_index(name, index, timeout=self._patience, sync=False)
        self._client.load_collection(name, timeout=self._patience)
        return name

    def _written(self, name: str, rows: int) -> None:
        """Flush now and then: a file searches unflushed rows ten times as slowly. A server flushes by itself."""
        if self._file is not None:
            self._unflushed[name] += rows
            if self._unflushed[name] >= _FLUSHED_AFTER:
                self._client.flush(name, timeout=self._patience)
                self._unflushed[name] = 0

    def _rows(self, name: str, asked: str, field: str) -> Generator[dict[str, Any]]:
        with _translated():
            rows = self._client.query_iterator(
                name, batch_size=_BATCH, filter=asked, output_fields=[field], timeout=self._patience
            )
            try:
                while batch := rows.next():
                    yield from batch
            finally:
                rows.close()

    # The list of spaces: rows have only the digests of theirs

    def _enlist(self, space: Space) -> None:
        name = digest(space.encoded())
        if name in self._known:
            return
        with _translated(self._lock):
            self._made(_ROSTER, 2)
            row = _row(name, name, "", [1.0, 0.0], {"space": list(space)})
            self._client.upsert(_ROSTER, [row], timeout=self._patience)
        self._known.add(name)


def _server(url: str, kind: str) -> dict[str, Any]:
    """The options for pymilvus. Raises ``ConfigurationError`` for a URL that names no server."""
    check_login(url, "the Milvus server")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORT
    except ValueError as error:
        raise ConfigurationError(_FORM) from error
    if not host:
        raise ConfigurationError(_FORM)
    options: dict[str, Any] = {"uri": f"{'https' if kind.lower() == 'milvus+tls' else 'http'}://{host}:{port}"}
    if parts.username:
        options["token"] = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    if parts.path.strip("/"):
        options["db_name"] = unquote(parts.path.strip("/"))
    return options


@contextmanager
def _translated(lock: AbstractContextManager[Any] | None = None) -> Generator[None]:
    """Translate errors of the driver, with the lock held."""
    try:
        with lock or nullcontext():
            yield
    except MilvusException as error:
        raise _ours(error) from error
    except (OSError, ImportError) as error:
        raise BackendUnavailable(f"Milvus cannot be opened: {error}") from error


def _ours(error: MilvusException) -> BackendError:
    said = (error.message or str(error)).strip().splitlines()[:1]
    text = said[0] if said else type(error).__name__
    away = (
        error.code in (ErrorCode.UNEXPECTED_ERROR, 2) or "onnect" in type(error).__name__ or "timeout" in text.lower()
    )
    if "Open local milvus failed" in text:
        return BackendUnavailable("the file of Milvus cannot be opened: another process may hold it")
    return BackendUnavailable(f"Milvus does not answer: {text}") if away else BackendError(f"Milvus failed: {text}")


# A file: milvus-lite runs a server for it inside this process. It locks the file, so one process at a time can have it;
# pymilvus would keep it until the process ends.

# The inner server ends connections with frequent keepalive pings, and both write that to stderr.
_QUIET: dict[str, Any] = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}


class _Unasked(logging.Filter):
    """Hides errors for calls that the inner server does not have: pymilvus works without them."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or record.exc_info[0] is not NotImplementedError


logging.getLogger("grpc._server").addFilter(_Unasked())


@dataclass
class _HeldFile:
    """A file that is open in this process."""

    path: str
    users: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)


_files_lock = threading.Lock()
_files: dict[str, _HeldFile] = {}


def _held_file(path: str) -> _HeldFile:
    """The file, counted as in use. Raises ``ConfigurationError`` for another ending than .db."""
    place = Path(path).expanduser()
    if not path or place.suffix != ".db":
        raise ConfigurationError("the file of a Milvus ends in .db: milvus:vectors.db")
    with _files_lock:
        name = str(place.absolute())
        file = _files.setdefault(name, _HeldFile(name))
        file.users += 1
        return file


def _release_file(file: _HeldFile) -> None:
    """Release the file. The last user stops the server."""
    with _files_lock:
        file.users -= 1
        if file.users > 0:
            return
        del _files[file.path]
        # Only such a file needs the package.
        importlib.import_module("milvus_lite.server_manager").server_manager_instance.release_server(file.path)


# Rows


def digest(*texts: str) -> str:
    """A name for texts that is safe in any expression."""
    return hashlib.sha256(msgspec.json.encode(texts)).hexdigest()


def _row(key: str, space: str, id_: str, vector: Sequence[float], metadata: Mapping[str, Any] | None = None) -> Any:
    # Filters are checked on the rows of the home. These fields are those of collections that exist already.
    blank: dict[str, Any] = {"kind": "", "time": 0.0, "partial": True}
    return {**blank, "key": key, "space": space, "id": id_, "vector": list(vector), "metadata": metadata or {}}


def _row_key(space: Space, id_: str) -> str:
    return digest(space.encoded(), id_)


def _of_space(space: Space) -> str:
    """The expression for the rows of a space."""
    return f'space == "{digest(space.encoded())}"'
