"""LangGraph's long-term store and checkpointer over memwell: subclasses of langgraph-checkpoint's own base classes.

    from memwell.integrations.langgraph import MemwellSaver, MemwellStore

    graph = builder.compile(checkpointer=MemwellSaver("app.db"), store=MemwellStore("app.db"))

Both take the URL of a store or an open ``Backend``. What names the same URL in one process shares one store, opened once.
Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when langgraph-checkpoint is not
installed.
"""

# ruff: noqa: A002 - ``filter`` is what LangGraph calls it

from __future__ import annotations

import asyncio
import operator
import random
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby, islice
from typing import Any, Literal, cast

import msgspec

from memwell._asyncify import asyncify, run_blocking
from memwell.errors import Conflict, InvalidInput, MissingDependency
from memwell.filters import AllOf, Filter, Where, id_begins_with
from memwell.records import DEFAULT_SPACE, Record, SpaceLike, as_space, paged
from memwell.storage.protocols import Entry
from memwell.storage.registry import Store, shared_backend
from memwell.values import check_count, check_metadata, is_finite, shown

try:
    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
        writes_sort_key,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:

    class _MissingLangGraph(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingLangGraph.of("memwell.integrations.langgraph needs langgraph-checkpoint", "langgraph") from error

from memwell.integrations.langchain_core import DEFAULT_URL, MemwellEmbeddings

__all__ = ["MemwellSaver", "MemwellStore"]

_BLOCK = 500
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class MemwellStore(BaseStore):
    """Items by namespace and key, found by filter and by meaning. A batch's puts are stored all or none.

    ``index`` is LangGraph's configuration: ``fields`` to embed, by default the whole value, and ``embed``, by default the
    local models; False is no search by meaning. ``ttl`` is LangGraph's too; an expired item is invisible at once. A value
    is plain JSON data. A store sees the items of its own space only. Raises ``InvalidInput`` for a value that is not plain
    JSON, and ``Unsupported`` for a store without vectors unless ``index`` is False.
    """

    supports_ttl = True

    def __init__(
        self,
        url_or_backend: Store = DEFAULT_URL,
        *,
        space: SpaceLike = DEFAULT_SPACE,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        for name, given, known in (("ttl", ttl, TTLConfig), ("index", index or None, IndexConfig)):
            if unknown := sorted((given or {}).keys() - known.__annotations__.keys()):
                raise InvalidInput(
                    f"{name} has no field {shown(unknown[0])}; it has {', '.join(known.__annotations__)}"
                )
        self.backend = shared_backend(url_or_backend)
        self.space = as_space(space) / "langgraph" / "store"
        self.ttl_config = ttl
        self.embeddings: Embeddings | None = None
        self.index_config: IndexConfig = index or {}
        if index is not False:
            self.backend.require("records")
            embed = self.index_config.get("embed")
            self.embeddings = MemwellEmbeddings() if embed is None else ensure_embeddings(embed)
        self._swept = time.monotonic()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of the operations, in their order. They read what was stored before the batch.

        Of several puts of one key the last is stored.
        """
        asked = [_checked(op) for op in ops]
        texts, queries = self._to_embed(asked)
        if self.embeddings is None:
            return self._run(asked, {}, {})
        documents = self.embeddings.embed_documents(texts) if texts else []
        sought = [self.embeddings.embed_query(query) for query in queries]
        return self._run(asked, self._vectors(texts, documents), self._vectors(queries, sought))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The async twin of ``batch``; an embedding's own async methods are awaited."""
        asked = [_checked(op) for op in ops]
        texts, queries = self._to_embed(asked)
        if self.embeddings is None:
            return await run_blocking(partial(self._run, asked, {}, {}))
        documents = await self.embeddings.aembed_documents(texts) if texts else []
        sought = await asyncio.gather(*map(self.embeddings.aembed_query, queries))
        vectors = self._vectors(texts, documents), self._vectors(queries, sought)
        return await run_blocking(partial(self._run, asked, *vectors))

    def sweep_ttl(self) -> int:
        """Delete the vectors of expired items, and return how many vectors there were.

        The values of expired items are dropped by the store itself. With ``sweep_interval_minutes`` a put does this when
        the time has come.
        """
        self._swept = time.monotonic()
        if self.embeddings is None:
            return 0
        dropped, cursor = 0, None
        while True:
            page = self.backend.index.scan(self.space, where={"ttl": True}, limit=_BLOCK, cursor=cursor)
            ids = [record.id for record in page.items]
            live = self.backend.kv.get_many(self.space, list({_of_vector(id_)[0] for id_ in ids}))
            dropped += self.backend.index.delete(self.space, [id_ for id_ in ids if not _is_current(id_, live)])
            cursor = page.next
            if cursor is None:
                return dropped

    def _to_embed(self, ops: Sequence[Op]) -> tuple[list[str], list[str]]:
        """The texts of the puts and the queries of the searches, each once."""
        texts = (text for op in ops if isinstance(op, PutOp) for text in self._texts(op))
        queries = (op.query for op in ops if isinstance(op, SearchOp) and op.query)
        return list(dict.fromkeys(texts)), list(dict.fromkeys(queries))

    def _texts(self, op: PutOp) -> list[str]:
        if self.embeddings is None or op.value is None or op.index is False:
            return []
        paths = (self.index_config.get("fields") or ["$"]) if op.index is None else op.index
        return [text for path in paths for text in get_text_at_path(op.value, path) if text.strip()]

    def _vectors(self, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> dict[str, Sequence[float]]:
        """The vector of each text. One with nothing to embed has no direction, and is left out."""
        if len(vectors) != len(texts):
            raise InvalidInput(f"the embedding made {len(vectors)} vectors of {len(texts)} texts")
        size = self.index_config.get("dims")
        for vector in vectors:
            if size is not None and len(vector) != size:
                raise InvalidInput(f"the index has {size} dimensions, and the embedding made a vector of {len(vector)}")
        return {text: vector for text, vector in zip(texts, vectors, strict=True) if any(vector)}

    def _run(
        self, ops: Sequence[Op], documents: Mapping[str, Sequence[float]], queries: Mapping[str, Sequence[float]]
    ) -> list[Result]:
        results = [self._read(op, queries) for op in ops]
        puts = {_key(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        if puts:
            with self.backend.together():
                self._write(puts, documents)
            interval = (self.ttl_config or {}).get("sweep_interval_minutes")
            if interval and time.monotonic() - self._swept >= interval * 60:
                self.sweep_ttl()
        return results

    def _write(self, puts: Mapping[str, PutOp], documents: Mapping[str, Sequence[float]]) -> None:
        held = self.backend.kv.get_many(self.space, list(puts))
        moment = datetime.now(UTC).isoformat()
        stale: list[str] = []
        records: list[Record] = []
        for key, op in puts.items():
            old: dict[str, Any] = _object(held[key]) if key in held else {}
            stale += [_vector_id(key, number) for number in range(old.get("vectors", 0))]
            if op.value is None:
                self.backend.kv.delete(self.space, key)
                continue
            vectors = [documents[text] for text in self._texts(op) if text in documents]
            records += [
                Record(
                    text="",
                    space=self.space,
                    id=_vector_id(key, number),
                    kind="item",
                    metadata={"ttl": op.ttl is not None},
                    vector=vector,
                )
                for number, vector in enumerate(vectors)
            ]
            value = {
                "value": dict(op.value),
                "created": old.get("created", moment),
                "updated": moment,
                "ttl": op.ttl,
                "vectors": len(vectors),
            }
            self.backend.kv.put(self.space, key, value, ttl=_seconds(op.ttl))
        if stale:
            self.backend.index.delete(self.space, stale)
        if records:
            self.backend.index.upsert(records)

    def _read(self, op: Op, queries: Mapping[str, Sequence[float]]) -> Result:
        if isinstance(op, GetOp):
            entry = self.backend.kv.get(self.space, _key(op.namespace, op.key))
            if entry is None:
                return None
            self._refresh([entry], op.refresh_ttl)
            return Item(**_fields(entry))
        if isinstance(op, SearchOp):
            found = self._found(op, queries.get(op.query or ""))
            chosen = list(islice(found, op.offset, op.offset + op.limit))
            self._refresh([entry for entry, _ in chosen], op.refresh_ttl)
            return [SearchItem(**_fields(entry), score=score) for entry, score in chosen]
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def _refresh(self, entries: Iterable[Entry], wanted: bool) -> None:
        for entry in entries:
            if wanted and _object(entry)["ttl"] is not None:
                # A put of another process meanwhile has set its own time to live.
                with suppress(Conflict):
                    ttl = _seconds(_object(entry)["ttl"])
                    self.backend.kv.put(self.space, entry.key, entry.value, ttl=ttl, expect=entry.version)

    def _found(self, op: SearchOp, vector: Sequence[float] | None) -> Iterator[tuple[Entry, float | None]]:
        """The items of a search: by meaning, then those without a vector; or all by namespace and key."""
        size = min(max(op.offset + op.limit, 20), _BLOCK)
        scan = partial(self.backend.kv.scan, self.space, where=_narrowed(op), limit=size)
        entries = (
            one for one in paged(lambda cursor: scan(cursor=cursor)) if _holds(_object(one)["value"], op.filter or {})
        )
        if vector is None:
            return ((entry, None) for entry in entries)
        return chain(self._nearest(op, vector, size), ((one, None) for one in entries if not _object(one)["vectors"]))

    def _nearest(self, op: SearchOp, vector: Sequence[float], size: int) -> Iterator[tuple[Entry, float | None]]:
        """An item is as near as its nearest vector."""
        where = id_begins_with(_prefix(op.namespace_prefix))
        seen: set[str] = set()
        while True:
            hits = self.backend.index.near(self.space, vector, limit=size, where=where)
            keys = {_of_vector(hit.record.id)[0] for hit in hits} - seen
            live = self.backend.kv.get_many(self.space, list(keys))
            for hit in hits:
                key = _of_vector(hit.record.id)[0]
                if key in seen or not _is_current(hit.record.id, live):
                    continue
                seen.add(key)
                if _holds(_object(live[key])["value"], op.filter or {}):
                    yield live[key], hit.score
            if len(hits) < size:
                return
            size *= 4

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found: set[tuple[str, ...]] = set()
        conditions = op.match_conditions or ()
        behind = ""
        while entries := self.backend.kv.scan(self.space, where=Where("@id", "ge", behind), limit=1).items:
            namespace = _of_key(entries[0].key)[0]
            if all(_matches(condition, namespace) for condition in conditions):
                found.add(namespace[: op.max_depth])
            # A slash comes right behind a dot: behind all keys of this namespace.
            behind = _prefix(namespace) + "/" if namespace else "./"
        return sorted(found)[op.offset : op.offset + op.limit]


def _checked(op: Op) -> Op:
    """Raises ``InvalidInput`` for what cannot be stored or asked, before an embedding is paid for it."""
    if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"unknown operation {shown(op)}")
    validate_op_namespace(op)
    if isinstance(op, SearchOp | ListNamespacesOp):
        check_count(op.limit, "limit")
        check_count(op.offset, "offset")
    if isinstance(op, PutOp) and op.ttl is not None and not (is_finite(op.ttl) and op.ttl > 0):
        raise InvalidInput(f"ttl must be a positive number of minutes, not {shown(op.ttl)}")
    if isinstance(op, PutOp) and op.value is not None:
        check_metadata(op.value, f"the value of {shown(op.key)}")
    return op


def _prefix(namespace: Sequence[str]) -> str:
    """What the keys below a namespace begin with. Its labels have no dots and are not empty."""
    return "".join(f"{label}." for label in namespace)


def _key(namespace: Sequence[str], key: str) -> str:
    return f"{_prefix(namespace) or '.'}.{key}"


def _of_key(stored: str) -> tuple[tuple[str, ...], str]:
    labels, _, key = stored.partition("..")
    return tuple(labels.split(".")) if labels else (), key


def _vector_id(key: str, number: int) -> str:
    return f"{key}/{number}"


def _of_vector(id_: str) -> tuple[str, int]:
    key, _, number = id_.rpartition("/")
    return key, int(number)


def _is_current(id_: str, live: Mapping[str, Entry]) -> bool:
    """Whether a vector is of an item as it is now. One of an item that expired may be left."""
    key, number = _of_vector(id_)
    return key in live and number < _object(live[key])["vectors"]


def _seconds(minutes: float | None) -> float | None:
    return None if minutes is None else minutes * 60


def _fields(entry: Entry) -> dict[str, Any]:
    namespace, key = _of_key(entry.key)
    times = {f"{name}_at": datetime.fromisoformat(_object(entry)[name]) for name in ("created", "updated")}
    return {"namespace": namespace, "key": key, "value": _object(entry)["value"], **times}


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[max(start, 0) :]
    return len(part) >= len(path) and all(wanted in ("*", label) for wanted, label in zip(path, part, strict=False))


def _narrowed(op: SearchOp) -> Filter | None:
    """The part of a search's conditions on which memwell's filters and LangGraph's agree: the store looks at these."""
    begins = id_begins_with(_prefix(op.namespace_prefix))
    texts = ((name, wanted) for name, wanted in (op.filter or {}).items() if isinstance(wanted, str))
    equal = tuple(Where(("value", name), "eq", wanted) for name, wanted in texts)
    return AllOf((*(begins.filters if begins else ()), *equal))


def _holds(found: Any, wanted: Any) -> bool:
    """Whether a value satisfies LangGraph's filter."""
    if isinstance(wanted, Mapping):
        names = cast("Mapping[str, Any]", wanted)
        if any(name.startswith("$") for name in names):
            return all(_compared(found, name, operand) for name, operand in names.items())
        fields = cast("dict[str, Any]", found)
        return isinstance(found, dict) and all(_holds(fields.get(name), one) for name, one in names.items())
    if isinstance(wanted, list | tuple):
        several, items = cast("Sequence[Any]", wanted), cast("list[Any]", found)
        return isinstance(found, list) and len(items) == len(several) and all(map(_holds, items, several))
    return found == wanted


def _compared(found: Any, name: str, operand: Any) -> bool:
    if name in ("$eq", "$ne"):
        return (found == operand) == (name == "$eq")
    if name not in _COMPARISONS:
        raise InvalidInput(f"unknown filter operator {shown(name)}; known: $eq, $ne, {', '.join(_COMPARISONS)}")
    try:
        return _COMPARISONS[name](float(found), float(operand))
    except (TypeError, ValueError):
        # Texts that are no numbers, such as dates, are ordered as texts; anything else has no order.
        return isinstance(found, str) and isinstance(operand, str) and _COMPARISONS[name](found, operand)


def _object(entry: Entry) -> dict[str, Any]:
    return cast("dict[str, Any]", entry.value)


# Checkpoints. Three kinds of entries, each with the thread and the namespace in front: ``c`` a checkpoint without the
# values of its channels, ``v`` the value of a channel at a version, ``w`` what a task wrote behind a checkpoint.


class MemwellSaver(BaseCheckpointSaver[str]):
    """Checkpoints of threads. A call stores all or nothing, and what it stored is on disk when it returns.

    The value of a channel is stored once for all checkpoints that share it; one is at most 16 MiB. ``list`` gives the
    checkpoints of a namespace newest first, and namespaces and threads in the order of their names. ``prune`` keeps the
    ancestors that a delta channel needs. A saver sees the threads of its own space only. Raises ``InvalidInput`` for a
    value that is too large.
    """

    def __init__(
        self,
        url_or_backend: Store = DEFAULT_URL,
        *,
        space: SpaceLike = DEFAULT_SPACE,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.backend = shared_backend(url_or_backend)
        self.space = as_space(space) / "langgraph" / "checkpoints"

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that ``config`` names, or the latest of its thread and namespace; None where there is none."""
        home, id_ = _home(config), get_checkpoint_id(config)
        if id_:
            entry = self.backend.kv.get(self.space, f"c/{home}{_flipped(id_)}")
        else:
            entry = next(self._entries(f"c/{home}", size=1), None)
        return None if entry is None else self._tuple(entry)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all, whose metadata has these values; ``before`` one, ``limit`` at most."""
        if limit is not None:
            check_count(limit, "limit")
        wanted = get_checkpoint_id(config) if config else None
        border = get_checkpoint_id(before) if before else None
        found = (
            self._tuple(entry)
            for entry in self._entries(f"c/{_home(config, whole=False)}")
            if (not wanted or _object(entry)["id"] == wanted)
            and (not border or _object(entry)["id"] < border)
            and self._has(entry, filter or {})
        )
        return islice(found, limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint behind the one that ``config`` names, and return its own config."""
        home, values = _home(config), checkpoint["channel_values"]
        entries: dict[str, Any] = {
            _channel(home, name, version): msgspec.msgpack.encode(self.serde.dumps_typed(values[name]))
            for name, version in new_versions.items()
            if name in values
        }
        described = get_checkpoint_metadata(config, metadata)
        entries[f"c/{home}{_flipped(checkpoint['id'])}"] = {
            "id": checkpoint["id"],
            "parent": get_checkpoint_id(config),
            "run": str(described.get("run_id", "")),
            "checkpoint": self._packed({**checkpoint, "channel_values": {}}),
            "metadata": self._packed(described),
        }
        self.backend.kv.put_many(self.space, entries)
        return _config(home, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote behind a checkpoint. What it wrote there before stays, but errors and interrupts."""
        prefix = f"w/{_home(config)}{_flipped(get_checkpoint_id(config) or '')}{_escaped(task_id)}/"
        numbered = [(WRITES_IDX_MAP.get(name, number), name, value) for number, (name, value) in enumerate(writes)]
        with self.backend.together():
            held = self.backend.kv.get_many(
                self.space, [f"{prefix}{number}" for number, _, _ in numbered if number >= 0]
            )
            made = {
                f"{prefix}{number}": (task_id, name, number, task_path, *self.serde.dumps_typed(value))
                for number, name, value in numbered
                if f"{prefix}{number}" not in held
            }
            self.backend.kv.put_many(self.space, {key: msgspec.msgpack.encode(one) for key, one in made.items()})

    def delete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints and writes of a thread."""
        with self.backend.together():
            for kind in "cvw":
                self._delete(f"{kind}/{_escaped(thread_id)}/")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, their writes, and the values that no other checkpoint has."""
        runs = [str(one) for one in run_ids]
        with self.backend.together():
            homes: set[str] = set()
            for start in range(0, len(runs), 100):
                where = Where("run", "in", runs[start : start + 100])
                homes |= {_home_of(entry.key) for entry in self._entries("c/", where)}
            for home in homes:
                entries = tuple(self._entries(f"c/{home}"))
                self._keep(home, entries, {_object(one)["id"] for one in entries if _object(one)["run"] not in runs})

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another."""
        with self.backend.together():
            for kind in "cvw":
                source, target = (f"{kind}/{_escaped(one)}/" for one in (source_thread_id, target_thread_id))
                for entry in self._entries(source):
                    self.backend.kv.put(self.space, target + entry.key.removeprefix(source), entry.value)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the latest checkpoint of each namespace (``"keep_latest"``) or all (``"delete"``)."""
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput(f"a strategy is 'keep_latest' or 'delete', not {shown(strategy)}")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            with self.backend.together():
                found = tuple(self._entries(f"c/{_escaped(thread_id)}/"))
                for home, several in groupby(found, lambda entry: _home_of(entry.key)):
                    entries = tuple(several)
                    self._keep(home, entries, self._needed(entries))

    aget_tuple = asyncify(get_tuple)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aput = asyncify(put)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aput_writes = asyncify(put_writes)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    adelete_thread = asyncify(delete_thread)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    adelete_for_runs = asyncify(delete_for_runs)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    acopy_thread = asyncify(copy_thread)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aprune = asyncify(prune)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The async twin of ``list``."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while block := await run_blocking(lambda: tuple(islice(found, 20))):
            for one in block:
                yield one

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """The version behind ``current``. Two branches of a thread never have the same one."""
        number = current if isinstance(current, int) else int((current or "0").split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    def _entries(self, prefix: str, where: Filter | None = None, size: int = _BLOCK) -> Iterator[Entry]:
        begins = id_begins_with(prefix)
        both = AllOf(tuple(one for one in (begins, where) if one is not None))
        return paged(lambda cursor: self.backend.kv.scan(self.space, where=both, limit=size, cursor=cursor))

    def _delete(self, prefix: str) -> None:
        for entry in tuple(self._entries(prefix)):
            self.backend.kv.delete(self.space, entry.key)

    def _tuple(self, entry: Entry) -> CheckpointTuple:
        home, id_, parent = _home_of(entry.key), _object(entry)["id"], _object(entry)["parent"]
        checkpoint = cast(Checkpoint, self._unpacked(_object(entry)["checkpoint"]))
        keys = {name: _channel(home, name, version) for name, version in checkpoint["channel_versions"].items()}
        held = self.backend.kv.get_many(self.space, tuple(keys.values()))
        values = {name: self._loaded(held[key].value) for name, key in keys.items() if key in held}
        written = (msgspec.msgpack.decode(one.value) for one in self._entries(f"w/{home}{_flipped(id_)}"))
        ordered = sorted(written, key=lambda one: writes_sort_key(one[3], one[0], one[2]))
        return CheckpointTuple(
            config=_config(home, id_),
            checkpoint={**checkpoint, "channel_values": values},
            metadata=cast(CheckpointMetadata, self._unpacked(_object(entry)["metadata"])),
            parent_config=_config(home, parent) if parent else None,
            pending_writes=[(one[0], one[1], self.serde.loads_typed((one[4], one[5]))) for one in ordered],
        )

    def _packed(self, value: Any) -> tuple[str, str]:
        kind, data = self.serde.dumps_typed(value)
        return kind, b64encode(data).decode()

    def _unpacked(self, packed: Sequence[str]) -> Any:
        return self.serde.loads_typed((packed[0], b64decode(packed[1])))

    def _loaded(self, stored: bytes) -> Any:
        return self.serde.loads_typed(msgspec.msgpack.decode(stored, type=tuple[str, bytes]))

    def _has(self, entry: Entry, wanted: Mapping[str, Any]) -> bool:
        metadata: Mapping[str, Any] = self._unpacked(_object(entry)["metadata"]) if wanted else {}
        return all(metadata.get(name) == value for name, value in wanted.items())

    def _needed(self, entries: Sequence[Entry]) -> set[str]:
        """The latest checkpoint, and its ancestors up to the last full value of every delta channel."""
        by_id = {_object(entry)["id"]: entry for entry in entries}
        at: Entry | None = entries[0]
        needed: set[str] = set()
        missing: set[str] | None = None
        while at is not None and (missing is None or missing):
            held = self._tuple(at)
            if missing is None:
                missing = set(held.metadata.get("counters_since_delta_snapshot", {}))
            missing -= held.checkpoint["channel_values"].keys()
            needed.add(_object(at)["id"])
            at = by_id.get(_object(at)["parent"])
        return needed

    def _keep(self, home: str, entries: Iterable[Entry], kept: set[str]) -> None:
        """Delete the other checkpoints of a namespace, their writes, and the values that none of the kept ones has."""
        used: set[str] = set()
        for entry in entries:
            if _object(entry)["id"] in kept:
                versions = self._unpacked(_object(entry)["checkpoint"])["channel_versions"]
                used |= {_channel(home, name, version) for name, version in versions.items()}
            else:
                self.backend.kv.delete(self.space, entry.key)
                self._delete(f"w/{home}{_flipped(_object(entry)['id'])}")
        for entry in tuple(self._entries(f"v/{home}")):
            if entry.key not in used:
                self.backend.kv.delete(self.space, entry.key)


def _escaped(name: str) -> str:
    """A part of a key: with no slash in it."""
    return str(name).replace("%", "%25").replace("/", "%2F")


def _home(config: RunnableConfig | None, *, whole: bool = True) -> str:
    """The part of a key that names the thread and the namespace, as far as ``config`` does."""
    named: dict[str, Any] = (config or {}).get("configurable", {})
    if not whole and "thread_id" not in named:
        return ""
    thread = f"{_escaped(named['thread_id'])}/"
    namespace = named.get("checkpoint_ns", "" if whole else None)
    return thread if namespace is None else f"{thread}{_escaped(namespace)}/"


def _home_of(key: str) -> str:
    _, thread, namespace, _ = key.split("/", 3)
    return f"{thread}/{namespace}/"


def _config(home: str, id_: str) -> RunnableConfig:
    thread, namespace = (part.replace("%2F", "/").replace("%25", "%") for part in home.split("/")[:2])
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id_}}


def _channel(home: str, name: str, version: str | float) -> str:
    return f"v/{home}{_escaped(name)}/{version}"


_OPPOSITE = {code: 0x9E - code for code in range(0x20, 0x7F)}


def _flipped(id_: str) -> str:
    """A checkpoint's id as a part of a key, so that the latest comes first; the end sorts behind all characters."""
    if not (id_.isascii() and id_.isprintable()):
        raise InvalidInput(f"a checkpoint's id must be printable ASCII, not {shown(id_)}")
    return id_.translate(_OPPOSITE) + "\x7f"
