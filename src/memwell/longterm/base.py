"""``MemoryBase``: the store, space and collaborators of a memory, and how single records are read and changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self, cast

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import Conflict, NotFound
from memwell.filters import Filter, id_begins_with
from memwell.longterm.embedding import WantedEmbedder
from memwell.longterm.facts import Facts
from memwell.longterm.gate import Echoes, Gate
from memwell.longterm.indexing import Indexer, facts_of
from memwell.longterm.journal import PendingWork, inner_key, inner_space, pending_vector
from memwell.longterm.snapshot_cache import Snapshots
from memwell.longterm.traits import Traits, own_metadata, traits_of, with_traits
from memwell.longterm.uses import Uses, all_uses, counted_traits
from memwell.longterm.weights import Weights
from memwell.models.ports import ChatModel, Embedder, Reranker
from memwell.records import Record, Space, SpaceLike, as_space, paged
from memwell.storage.protocols import Backend
from memwell.values import check_count, check_id, check_list

_PAGE = 500
_VERSION = "version/"


def utc_now() -> datetime:
    """The current time of the machine's clock."""
    return datetime.now(UTC)


class MemoryVersion(msgspec.Struct, frozen=True):
    """An earlier version of a memory, when it ended, and the change that ended it."""

    record: Record
    until: datetime
    reason: str


class MemoryBase:
    """The part that all classes of a memory share: collaborators, and reading and changing single records."""

    def __init__(
        self,
        backend: Backend,
        space: SpaceLike,
        *,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | None = None,
        gate: Gate | None = None,
        weights: Weights | None = None,
        snapshots: Snapshots | None = None,
        echoes: Echoes | None = None,
        wanted_embedder: WantedEmbedder | None = None,
        clock: Callable[[], datetime] = utc_now,
        notify: Callable[[Space], None] = lambda space: None,
        used: Callable[[Space, Sequence[str], datetime], None] = lambda space, ids, at: None,
    ) -> None:
        self.backend = backend
        self.space = as_space(space)
        self.embedder = embedder
        self.chat = chat
        self.reranker = reranker
        self.weights = weights
        self.clock = clock
        self._gate = gate or Gate()
        self._echoes = echoes or Echoes()
        self._snapshots = snapshots or Snapshots(backend.index, uses=partial(all_uses, backend.kv))
        self._uses = Uses(backend, self.space)
        self._inner = inner_space(self.space)
        self._notify = notify
        self._used = used
        self.wanted_embedder = wanted_embedder or WantedEmbedder.made_now()
        self.indexer = Indexer(backend, self.space, embedder=embedder, chat=chat, wanted_embedder=self.wanted_embedder)

    @classmethod
    def sharing(cls, memory: MemoryBase, backend: Backend | None = None) -> Self:
        """Another handle of the same memory with the same collaborators, optionally over another view of its store."""
        return cls(
            backend or memory.backend,
            memory.space,
            embedder=memory.embedder,
            gate=memory._gate,
            snapshots=memory._snapshots,
            echoes=memory._echoes,
            wanted_embedder=memory.wanted_embedder,
            clock=memory.clock,
            notify=memory._notify,
        )

    @property
    def facts(self) -> Facts:
        """The facts of everything remembered so far."""
        # Facts need words only, so no caller waits for an embedder here.
        self.indexer.catch_up(embed_at_most=0)
        view = self.indexer.view
        return self.indexer.facts if view is self.backend else facts_of(view, self.space)

    def pending(self) -> PendingWork:
        """How many stored memories are not indexed yet, and how many vectors are still to be made."""
        pending = self.indexer.journal.pending()
        left = self.indexer.reembedding.left()
        return replace(pending, vectors=max(pending.vectors, left)) if left else pending

    def catch_up(self) -> None:
        """Index the words of everything remembered so far."""
        self.indexer.catch_up()

    def flush(self, progress: Callable[[int, int | None], None] | None = None) -> None:
        """Do all pending work now: words, facts and vectors.

        ``progress`` is called with the number of memories done and the total.
        """
        total = self.pending().vectors if progress is not None else 0
        while self.indexer.work():
            if progress is not None:
                progress(max(total - self.pending().vectors, 0), total)

    apending = asyncify(pending)
    acatch_up = asyncify(catch_up)
    aflush = asyncify(flush)

    # Reading single memories

    def _found(self, id_: str) -> Record:
        """A memory of any status. Raises ``NotFound``."""
        self.indexer.catch_up()
        return self._stored(id_)

    def _stored(self, id_: str) -> Record:
        """As ``_found``, for a caller that has caught up and is inside a transaction."""
        index = self.indexer.view.index
        found = index.get(self.space, [check_id(id_, "a memory's id")])
        if not found:
            found = index.get(self.space, [self.indexer.resolved(id_)])
        if not found:
            raise NotFound(f"there is no memory {id_!r} in {self.space!r}")
        return found[0]

    def _traits(self, record: Record) -> Traits:
        """The traits of a memory, with its uses."""
        return next(traits for _, traits in counted_traits(self.indexer.view.kv, [record]))

    def _all(self, where: Filter | None = None) -> Iterator[Record]:
        """Every memory of the space, of any status, oldest first."""
        self.indexer.catch_up()
        index = self.indexer.view.index
        return paged(lambda cursor: index.scan(self.space, where=where, limit=_PAGE, cursor=cursor))

    def _active(self, where: Filter | None = None) -> Iterator[Record]:
        """Every memory that may be recalled now."""
        for record in self._all(where):
            if traits_of(record).active and not self._has_expired(record):
                yield record

    def _has_expired(self, record: Record) -> bool:
        """Whether its time to live is over. Until it is erased it counts as gone."""
        expires = traits_of(record).expires
        return expires is not None and expires <= self.clock()

    def _lasting(self, id_: str) -> Record:
        """As ``_stored``, but an expired memory is not found. Raises ``NotFound``."""
        record = self._stored(id_)
        if self._has_expired(record):
            raise NotFound(f"the memory {id_!r} has expired")
        return record

    # Changing single memories

    def _change(self, old: Record, reason: str, *, text: str | None = None, **fields: Any) -> Record:
        """Store the next version of a memory and keep the one before. ``fields`` are fields of its traits, and ``own``,
        ``kind`` and ``time``. A change that was made already makes no version, so that it can be tried again.
        """
        now = self.clock()
        own = fields.pop("own", own_metadata(old))
        kind, time = fields.pop("kind", old.kind), fields.pop("time", old.time)
        before, text = traits_of(old), old.text if text is None else text
        if text != old.text:
            fields |= {"stated": None, "likely": ()}
        traits = replace(before, **fields)
        if (text, kind, time, own, traits) == (old.text, old.kind, old.time, own_metadata(old), before):
            return old
        traits = replace(traits, version=before.version + 1, changed=now)
        vector = old.vector if text == old.text else None
        new = replace(old, text=text, kind=kind, time=time, metadata=with_traits(own, traits), vector=vector)
        with self.backend.transaction():
            self._keep_version(old, now, reason)
            self._put(new, old)
        return new

    def _put(self, record: Record, old: Record | None = None) -> None:
        """Store a memory, with an entry for its vector unless that of the ``old`` text serves. Call it inside a
        transaction: each text has an entry of its own, behind the one that a worker may be at.
        """
        self.backend.index.upsert([record])
        if record.vector is None and (old is None or old.text != record.text):
            self.indexer.journal.write([pending_vector(record.id)])

    def _keep_version(self, old: Record, now: datetime, reason: str) -> None:
        kept = {
            "id": old.id,
            "text": old.text,
            "kind": old.kind,
            "time": old.time.isoformat(),
            "metadata": old.metadata,
            "until": now.isoformat(),
            "reason": reason,
        }
        self.backend.kv.put(self._inner, version_key(old.id, traits_of(old).version), kept)

    def _versions(self, id_: str | None = None) -> list[MemoryVersion]:
        """The earlier versions of a memory, or of all, oldest first."""
        prefix = _VERSION if id_ is None else version_key(id_, None)
        where = id_begins_with(prefix)
        kv = self.indexer.view.kv
        entries = paged(lambda cursor: kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor))
        return [self._version(cast("dict[str, Any]", entry.value)) for entry in entries]

    def _version(self, kept: dict[str, Any]) -> MemoryVersion:
        record = Record(
            text=kept["text"],
            space=self.space,
            id=kept["id"],
            kind=kept["kind"],
            time=datetime.fromisoformat(kept["time"]),
            metadata=kept["metadata"],
        )
        return MemoryVersion(record, datetime.fromisoformat(kept["until"]), kept["reason"])

    def _sources(self, records: Iterable[Record]) -> list[str]:
        """The ids from which the facts of memories were learned: their own, and those of repetitions of them.

        A repetition is stored as evidence only. A memory that others were merged from has its own facts.
        """
        listed = list(records)
        named = {evidence.record for record in listed for evidence in traits_of(record).evidence if evidence.record}
        memories = {record.id for record in self.backend.index.get(self.space, sorted(named))}
        return list(dict.fromkeys([*(record.id for record in listed), *sorted(named - memories)]))


def version_key(id_: str, number: int | None) -> str:
    """The key of a version; without a number, the prefix of all versions of a memory."""
    return inner_key(_VERSION, id_) + ("" if number is None else f"{number:08d}")


def check_version(record: Record, version: int | None) -> Record:
    """The memory itself. Raises ``Conflict`` when it is not at this version; None is any version.

    Raises ``InvalidInput`` for what is no version.
    """
    found = traits_of(record).version
    if version is not None and found != check_count(version, "version", least=1):
        raise Conflict(f"the memory {record.id!r} is at version {found}, not {version!r}: it has changed")
    return record


def as_ids(ids: str | Iterable[str]) -> list[str]:
    """One id or several, without repetitions. Raises ``InvalidInput`` for anything else."""
    if isinstance(ids, str):
        return [ids]
    listed = check_list(ids, "expected the id of a memory, or several")
    return list(dict.fromkeys(check_id(one, "a memory's id") for one in listed))
