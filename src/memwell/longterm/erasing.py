"""Erasing: final, and everywhere. What was erased is gone from texts, words, vectors, versions, facts, caches and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput
from memwell.filters import FilterLike, Where, as_filter, id_begins_with
from memwell.longterm.base import MemoryBase, as_ids, version_key
from memwell.longterm.embedding import ASIDE
from memwell.longterm.indexing import ALIAS
from memwell.longterm.journal import MARKS, inner_key
from memwell.longterm.remembering import is_number
from memwell.longterm.traits import (
    FORGOTTEN,
    KEY,
    blobs_space,
    features_space,
    named_blobs,
    own_metadata,
    traits_of,
    with_traits,
)
from memwell.records import Record, paged


class Erased(msgspec.Struct, frozen=True):
    """What was removed."""

    memories: int = 0
    derived: int = 0
    """Insights and summaries that were made of them, and so went too."""
    versions: int = 0
    facts: int = 0
    receipts: int = 0
    """Receipts of prompts that no longer name them."""
    blobs: int = 0
    """Files that belonged to them alone: pictures, sounds, films and their thumbnails."""

    @property
    def total(self) -> int:
        """Everything counted together."""
        return self.memories + self.derived + self.versions + self.facts + self.receipts + self.blobs


class Eraser(MemoryBase):
    """The end of memories."""

    uncache: Callable[[list[str], list[str]], int] | None = None
    """Takes memories, by their ids and embedded texts, out of receipts and caches; set by whoever keeps them."""

    def erase(self, ids: str | Iterable[str]) -> Erased:
        """Remove memories for good, forgotten ones too, with all that was derived from them alone or in part.

        Raises ``NotFound`` for an id that never was, and removes nothing then.
        """
        self.settle_journal()
        records = {record.id: record for record in map(self._found, as_ids(ids))}
        return self._erase(records)

    def erase_where(self, where: FilterLike) -> Erased:
        """Remove every memory that satisfies a filter, for good. Raises ``InvalidInput`` for a filter that says nothing."""
        if not where:
            raise InvalidInput("a filter that says nothing would erase everything; erase_all() is for that")
        self.settle_journal()
        return self._erase({record.id: record for record in self._all(as_filter(where))})

    def erase_all(self) -> Erased:
        """Remove the whole memory of the space, for good."""
        self.settle_journal()
        erased = self._erase({record.id: record for record in self._all()})
        self._drop_keys("")
        self.backend.scrub()
        return erased

    def settle_journal(self) -> None:
        """Bring all entries into the index and drop them: what waits in the journal could not be found otherwise."""
        self.indexer.catch_up(embed_at_most=0)
        self.indexer.give_up_vectors()
        self.indexer.journal.drop_done()

    def _erase(self, records: dict[str, Record]) -> Erased:
        derived = self._derived(set(records))
        gone = {**records, **derived}
        ids = list(gone)
        with self.backend.transaction():
            self._unlink(set(ids))
            every = [*gone.values(), *(version.record for id_ in ids for version in self._versions(id_))]
            blobs = self._drop_attached(gone, every)
            retracted = self.indexer.facts.retract(self._sources(gone.values()), final=True)
            kept = sum(self._drop_keys(version_key(id_, None)) for id_ in ids)
            for record in gone.values():
                self.backend.kv.delete(self._inner, self.indexer.twins_of(record))
                self.backend.kv.delete(self._inner, inner_key(ASIDE, record.id))
                for evidence in traits_of(record).evidence:
                    self.backend.kv.delete(self._inner, inner_key(ALIAS, evidence.record or record.id))
            self.backend.index.delete(self.space, ids)
        self._pools.forget(self.space)
        self._echoes.forget(ids)
        texts = [self.indexer.embedded_text(record) for record in every]
        cached = self.uncache(ids, texts) if self.uncache is not None else 0
        self.backend.scrub()
        return Erased(len(records), len(derived), kept, retracted.statements, cached, blobs)

    def _drop_attached(self, gone: Mapping[str, Record], every: Sequence[Record]) -> int:
        """Drop what lies beside memories that go, but for blobs that others name too; how many blobs there were.

        ``every`` is all that they are and were. For who is inside a transaction: nobody may name a blob meanwhile.
        """
        for record in every:
            if dimensions := traits_of(record).features:
                self.backend.index.delete(features_space(self.space, dimensions), [record.id])
        named = named_blobs(every)
        if not named:
            return 0
        others = [record for record in self._all(Where((KEY, "blobs"), "exists")) if record.id not in gone]
        # What a memory was before names blobs too: undo() brings it back.
        others += [version.record for version in self._versions() if version.record.id not in gone]
        space = blobs_space(self.space)
        return sum(self.backend.blobs.delete(space, digest) for digest in sorted(named - named_blobs(others)))

    def _derived(self, ids: set[str]) -> dict[str, Record]:
        """Memories that were made of these, and what was made of those."""
        made = {
            record.id: record
            for record in self._all()
            if record.id not in ids and traits_of(record).trust == "derived" and _rests_on(record, ids)
        }
        return {**made, **self._derived(ids | set(made))} if made else {}

    def _unlink(self, ids: set[str]) -> None:
        """Memories that others were merged into stay, but no longer name those that are gone."""
        named = [record for record in self._all() if record.id not in ids and _rests_on(record, ids)]
        for record in named:
            traits = traits_of(record)
            evidence = tuple(one for one in traits.evidence if one.record not in ids)
            kept = replace(traits, evidence=evidence)
            self.backend.index.upsert([replace(record, metadata=with_traits(own_metadata(record), kept))])

    def _drop_keys(self, prefix: str) -> int:
        """Drop all that memwell keeps under a prefix; how many entries there were.

        The journal's marks stay: they say that all of it has been worked off, and hold nothing that was said.
        """
        keys = [key for key in self._keys(prefix) if key != MARKS]
        return sum(self.backend.kv.delete(self._inner, key) for key in keys)

    def _keys(self, prefix: str) -> Iterator[str]:
        where = id_begins_with(prefix)
        entries = paged(lambda cursor: self.backend.kv.scan(self._inner, where=where, limit=500, cursor=cursor))
        return (entry.key for entry in entries)

    def purge(self, retention_s: float) -> Erased:
        """Erase what was forgotten longer ago than its retention, and what has expired. Raises ``InvalidInput`` for a
        retention below 0.
        """
        if not is_number(retention_s) or not retention_s >= 0:
            raise InvalidInput(f"a retention must be at least 0 seconds, not {retention_s!r}")
        now = self.clock()
        over: list[str] = []
        for record in self._all():
            traits = traits_of(record)
            hidden_for = (now - (traits.changed or now)).total_seconds()
            forgotten = traits.status == FORGOTTEN and hidden_for > retention_s
            if forgotten or (traits.expires is not None and traits.expires <= now):
                over.append(record.id)
        return self.erase(over) if over else Erased()

    aerase = asyncify(erase)
    aerase_where = asyncify(erase_where)
    aerase_all = asyncify(erase_all)
    asettle_journal = asyncify(settle_journal)
    apurge = asyncify(purge)


def _rests_on(record: Record, ids: set[str]) -> bool:
    return any(evidence.record in ids for evidence in traits_of(record).evidence)
