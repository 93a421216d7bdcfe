"""What all parts of a memory share: its store, its space, and the one way a memory is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self, cast

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotFound
from memwell.filters import Filter, id_begins_with
from memwell.longterm.embedding import Wish
from memwell.longterm.facts import Facts
from memwell.longterm.gate import Echoes, Gate
from memwell.longterm.indexing import Indexer
from memwell.longterm.journal import Owed, inner_key, inner_space, reminder
from memwell.longterm.snapshot_cache import Pools
from memwell.longterm.traits import own_metadata, traits_of, with_traits
from memwell.longterm.weights import Weights
from memwell.models.ports import ChatModel, Embedder, Reranker
from memwell.records import Record, Space, SpaceLike, as_space, paged
from memwell.storage.protocols import Backend
from memwell.values import shown

_PAGE = 500
_VERSION = "version/"


def utc_now() -> datetime:
    """The moment, by the machine's clock."""
    return datetime.now(UTC)


class Version(msgspec.Struct, frozen=True):
    """What a memory was until ``until``, and what ended it."""

    record: Record
    until: datetime
    reason: str


class MemoryBase:
    """A memory's collaborators, and the reading and changing of single records."""

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
        pools: Pools | None = None,
        echoes: Echoes | None = None,
        wish: Wish | None = None,
        clock: Callable[[], datetime] = utc_now,
        told: Callable[[Space], None] = lambda space: None,
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
        self._pools = pools or Pools(backend.index)
        self._inner = inner_space(self.space)
        self._told = told
        self._used = used
        self.wish = wish or Wish.made_now()
        self.indexer = Indexer(backend, self.space, embedder=embedder, chat=chat, wish=self.wish)

    @classmethod
    def sharing(cls, memory: MemoryBase, backend: Backend | None = None) -> Self:
        """Another handle of the same memory, with all that it holds; over another view of its store, when one is given."""
        return cls(
            backend or memory.backend,
            memory.space,
            embedder=memory.embedder,
            gate=memory._gate,
            pools=memory._pools,
            echoes=memory._echoes,
            wish=memory.wish,
            clock=memory.clock,
            told=memory._told,
        )

    @property
    def facts(self) -> Facts:
        """The facts read from all that was remembered until now."""
        # Words alone: nobody waits for an embedder to be told a fact.
        self.indexer.catch_up(embed_at_most=0)
        view = self.indexer.view
        return self.indexer.facts if view is self.backend else Facts(view.kv, self._inner)

    def owed(self) -> Owed:
        """What has been stored but not yet given all its words and vectors, or is to have those of another embedder."""
        owed = self.indexer.journal.owed()
        left = self.indexer.reembedding.left()
        return replace(owed, vectors=max(owed.vectors, left)) if left else owed

    def catch_up(self) -> None:
        """Make all that was remembered findable by its words now."""
        self.indexer.catch_up()

    def settle(self, progress: Callable[[int, int | None], None] | None = None) -> None:
        """Do all the work that is owed, here and now: words, facts and vectors.

        ``progress`` is told how many memories are done, and of how many.
        """
        total = self.owed().vectors if progress is not None else 0
        while self.indexer.work():
            if progress is not None:
                progress(max(total - self.owed().vectors, 0), total)

    aowed = asyncify(owed)
    acatch_up = asyncify(catch_up)
    asettle = asyncify(settle)

    # Reading single memories

    def _found(self, id_: str) -> Record:
        """A memory whatever its status. Raises ``NotFound``."""
        self.indexer.catch_up()
        return self._stored(id_)

    def _stored(self, id_: str) -> Record:
        """The same for who has caught up already, and is inside a transaction now so that nobody else changes it."""
        if not isinstance(id_, str) or not id_:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a memory's id must be text, not {shown(id_)}")
        index = self.indexer.view.index
        found = index.get(self.space, [id_])
        if not found:
            found = index.get(self.space, [self.indexer.resolved(id_)])
        if not found:
            raise NotFound(f"there is no memory {id_!r} in {self.space!r}")
        return found[0]

    def _all(self, where: Filter | None = None) -> Iterator[Record]:
        """Every memory of the space, whatever its status, oldest first."""
        self.indexer.catch_up()
        index = self.indexer.view.index
        return paged(lambda cursor: index.scan(self.space, where=where, limit=_PAGE, cursor=cursor))

    def _active(self, where: Filter | None = None) -> Iterator[Record]:
        """Every memory that may be recalled now."""
        for record in self._all(where):
            if traits_of(record).active and not self._has_expired(record):
                yield record

    def _has_expired(self, record: Record) -> bool:
        """Whether its time to live is over. It is as good as gone, and erased when somebody gets to it."""
        expires = traits_of(record).expires
        return expires is not None and expires <= self.clock()

    def _lasting(self, id_: str) -> Record:
        """As ``_stored``, without what has expired. Raises ``NotFound``."""
        record = self._stored(id_)
        if self._has_expired(record):
            raise NotFound(f"the memory {id_!r} has expired")
        return record

    # Changing them

    def _change(self, old: Record, reason: str, *, text: str | None = None, **fields: Any) -> Record:
        """Put a memory's next version in its place, keeping the one before. ``fields`` are those of its traits, but for
        ``own``, ``kind`` and ``time``.
        """
        now = self.clock()
        own = fields.pop("own", own_metadata(old))
        kind, time = fields.pop("kind", old.kind), fields.pop("time", old.time)
        traits = traits_of(old)
        traits = replace(traits, version=traits.version + 1, changed=now, **fields)
        new = replace(
            old,
            text=old.text if text is None else text,
            kind=kind,
            time=time,
            metadata=with_traits(own, traits),
            vector=old.vector if text is None or text == old.text else None,
        )
        with self.backend.transaction():
            self._keep_version(old, now, reason)
            self.backend.index.upsert([new])
        return new

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

    def _versions(self, id_: str | None = None) -> list[Version]:
        """The earlier versions of a memory, or of all, oldest first."""
        prefix = _VERSION if id_ is None else version_key(id_, None)
        where = id_begins_with(prefix)
        kv = self.indexer.view.kv
        entries = paged(lambda cursor: kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor))
        return [self._version(cast("dict[str, Any]", entry.value)) for entry in entries]

    def _version(self, kept: dict[str, Any]) -> Version:
        record = Record(
            text=kept["text"],
            space=self.space,
            id=kept["id"],
            kind=kept["kind"],
            time=datetime.fromisoformat(kept["time"]),
            metadata=kept["metadata"],
        )
        return Version(record, datetime.fromisoformat(kept["until"]), kept["reason"])

    def _sources(self, records: Iterable[Record]) -> list[str]:
        """The ids under which facts were learnt from memories: their own, and those of what said the same again.

        What says the same again is no memory of its own. One that others were made of or merged from has its own facts.
        """
        listed = list(records)
        named = {evidence.record for record in listed for evidence in traits_of(record).evidence if evidence.record}
        memories = {record.id for record in self.backend.index.get(self.space, sorted(named))}
        return list(dict.fromkeys([*(record.id for record in listed), *sorted(named - memories)]))

    def _owe_vectors(self, records: Sequence[Record]) -> None:
        """Have the vectors of changed memories made by whoever works the journal off."""
        if self.embedder is not None and records:
            self.indexer.journal.write([reminder(record.id) for record in records])
            self._told(self.space)


def version_key(id_: str, number: int | None) -> str:
    """Where a version is kept; without a number, where those of a memory begin."""
    return inner_key(_VERSION, id_) + ("" if number is None else f"{number:08d}")


def as_ids(ids: str | Iterable[str]) -> list[str]:
    """One id or several, each once. Raises ``InvalidInput`` for anything else."""
    if isinstance(ids, str):
        return [ids]
    if isinstance(ids, bytes | Mapping) or not isinstance(ids, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"expected the id of a memory, or several, not {shown(cast(object, ids))}")
    listed = list(ids)
    for one in listed:
        if not isinstance(one, str) or not one:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a memory's id must be text, not {shown(one)}")
    return list(dict.fromkeys(listed))
