"""From the journal into the index: words and facts first, vectors when the embedder gets to them.

All of it may be done by the worker in the background, or by a recall that will not wait for the worker. Whoever does it, an
entry has its effect once: the mark of the journal moves in the same transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput, ModelError, ReadOnlyStore
from memwell.language.claims import Claim, claims
from memwell.longterm.duplicates import fingerprint
from memwell.longterm.extraction import model_claims
from memwell.longterm.facts import Facts
from memwell.longterm.importance import importance_of
from memwell.longterm.journal import Journal, Marks, inner_key, inner_space
from memwell.longterm.makers import Makers, Wish
from memwell.longterm.reembedding import Reembedding
from memwell.longterm.reminders import make_up_for_skipped, note_skipped, reminder
from memwell.longterm.traits import KEY, Evidence, Traits, own_metadata, traits_of, with_traits
from memwell.longterm.unwritten import Reading
from memwell.messages import Message
from memwell.models.ports import ChatModel, Embedder
from memwell.records import Record, Space
from memwell.storage.protocols import Backend, KeyValue
from memwell.values import now

if TYPE_CHECKING:
    # numpy takes a tenth of a second to load; nothing here needs it before the first text is embedded.
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger("memwell.longterm")

BATCH = 64
ALIAS = "alias/"
_PRINT = "print/"
DEAD = "dead/"
_MOST_TRIES = 3


class Indexer:
    """Works the journal of one space off."""

    def __init__(
        self,
        backend: Backend,
        space: Space,
        *,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        wish: Wish | None = None,
    ) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)
        self._embedder = embedder
        self._chat = chat
        self._tries = 0
        self._skips_known = False
        self.makers = Makers(backend.kv, self._inner, embedder, wish)
        # No method of its own: with one it would be a ring, which only the collector could free.
        self._set_aside = partial(_set_aside, backend.kv, self._inner)
        self.reembedding = Reembedding(
            backend, space, self.makers, text_of=self.embedded_text, set_aside=self._set_aside
        )
        self.journal = Journal(backend, space)
        self._reading = Reading(backend, space, self.journal)
        self.facts = Facts(backend.kv, self._inner)

    @property
    def view(self) -> Backend:
        """Where memories are read after catching up: the store, or in memory where the store can only be read."""
        return self._reading.view

    def catch_up(self, *, embed_at_most: int = 16) -> None:
        """Give every entry its words now, and vectors too when only a few are owed: a caller reads its own writes."""
        with suppress(ReadOnlyStore):
            while True:
                marks = self.journal.marks()
                pending = self.journal.after(marks.indexed, BATCH)
                if not pending:
                    self._reading.back()
                    if 0 < marks.indexed - marks.embedded <= embed_at_most:
                        self._embed_indexed(marks)
                    return
                few = len(pending) <= embed_at_most and marks.embedded == marks.indexed
                if self._reading.is_ahead(marks):
                    return
                try:
                    self._index(marks, pending, embed=few)
                except ReadOnlyStore:
                    self._reading.ahead(marks, partial(self._index_copy, embed=few))

    def _index_copy(self, copy: Backend, pending: Sequence[Message], *, embed: bool) -> None:
        indexer = Indexer(copy, self._space, embedder=self._embedder)
        indexer._index(indexer.journal.marks(), pending, embed=embed)

    def work(self) -> int:
        """One piece of background work, what was remembered first; how much it brought on, 0 when nothing is owed."""
        return self.work_off() or self.reembedding.work()

    def work_off(self) -> int:
        """One piece of what was remembered; how many entries it brought on."""
        if self._embedder is not None and not self._skips_known:
            make_up_for_skipped(self._backend, self._space, self.journal)
            self._skips_known = True
        marks = self.journal.marks()
        if marks.embedded < marks.indexed:
            return self._embed_indexed(marks) or self._embed_apart(self.journal.marks())
        pending = self.journal.after(marks.indexed, BATCH)
        if pending:
            self._index(marks, pending, embed=True, chat=self._chat)
        return len(pending)

    # Words

    def _index(self, marks: Marks, pending: Sequence[Message], *, embed: bool, chat: ChatModel | None = None) -> None:
        memories = [entry for entry in pending if not _is_reminder(entry)]
        records = [record for entry in memories if (record := self._read(entry)) is not None]
        named = frozenset(entry.id for entry in memories if entry.metadata.get("named"))
        found = [_claims(record, chat) for record in records]
        records = [_weighed(record, len(one)) for record, one in zip(records, found, strict=True)]
        made = self._vectors(records) if embed else None
        end = _end(pending)
        try:
            with self._backend.transaction():
                current = made is not None and self.makers.claim(made.model)
                if made is not None and current:
                    records = [_with_vector(record, row) for record, row in zip(records, made.rows, strict=True)]
                whole = current and len(memories) == len(pending)
                self.journal.advance(marks, indexed=end, embedded=end if whole else None)
                self._store(records, named)
                for record, one in zip(records, found, strict=True):
                    # What is said again is said at another time, and may be true again.
                    if one:
                        self.facts.learn(one, record=record.id, learned_at=_learned(record))
        except Conflict:
            # Somebody else was faster. What is left, the caller sees when it looks again.
            _log.debug("another worker has moved the journal of %r on", self._space)

    def _read(self, entry: Message) -> Record | None:
        """The memory that an entry stands for. One that makes no sense is set aside: it must not hold up the others."""
        try:
            return _record(self._space, entry)
        except (msgspec.ValidationError, InvalidInput) as error:
            _log.warning("an entry of the journal of %r cannot be read: %s", self._space, error)
            self._set_aside(entry.id, str(error))
            return None

    def _store(self, records: Sequence[Record], named: frozenset[str]) -> None:
        """Store records, or note that the same was said again."""
        fresh: dict[str, Record] = {}
        known = {record.id for record in self._backend.index.get(self._space, [record.id for record in records])}
        for record in records:
            if record.id in known:
                # Remembered before, and since dropped from the journal. Changing it is for update alone.
                continue
            twin = None if record.id in named else self._twin(record, fresh)
            if twin is None:
                fresh[record.id] = record
            else:
                again = _said_again(twin, record)
                self._backend.kv.put(self._inner, inner_key(ALIAS, record.id), [record.id, twin.id])
                if twin.id in fresh:
                    fresh[twin.id] = again
                else:
                    self._backend.index.upsert([again])
        self._backend.index.upsert(list(fresh.values()))

    def _twin(self, record: Record, fresh: Mapping[str, Record]) -> Record | None:
        """The memory that says the same, if there is one. Messages of a conversation are each their own."""
        if traits_of(record).session:
            return None
        key = self.twins_of(record)
        entry = self._backend.kv.get(self._inner, key)
        if entry is not None:
            id_ = str(entry.value)
            known = fresh.get(id_) or next(iter(self._backend.index.get(self._space, [id_])), None)
            if known is not None and traits_of(known).active and known.id != record.id:
                return known
        self._backend.kv.put(self._inner, key, record.id)
        return None

    def resolved(self, id_: str) -> str:
        """The id under which something remembered is found: its own, or that of the memory that said the same before."""
        entry = self.view.kv.get(self._inner, inner_key(ALIAS, id_))
        return id_ if entry is None else str(cast("list[str]", entry.value)[1])

    @staticmethod
    def twins_of(record: Record) -> str:
        """The key under which a text is known to have been said. What another said, or with other metadata, is another."""
        own = msgspec.json.encode(own_metadata(record), order="sorted").decode()
        whose = f"{len(record.kind)} {record.kind} {traits_of(record).speaker} {own}"
        return f"{_PRINT}{fingerprint(record.text)}/{blake2b(whose.encode(), digest_size=12).hexdigest()}"

    # Vectors

    @staticmethod
    def embedded_text(record: Record) -> str:
        """The text whose vector a memory carries: the speaker in front, so that *what did Ann say* is near it."""
        speaker = traits_of(record).speaker
        return f"{speaker}: {record.text}" if speaker else record.text

    def give_up_vectors(self) -> None:
        """Count all entries as embedded; the memories that lack their vectors are reminded of anew."""
        # Read inside the transaction, where nobody else can move the marks on.
        with self._backend.transaction():
            marks = self.journal.marks()
            if marks.embedded < marks.indexed:
                pending = self.journal.after(marks.embedded, marks.indexed - marks.embedded)
                ids = [str(one.metadata["embed"]) if _is_reminder(one) else one.id for one in pending]
                self.journal.advance(marks, embedded=marks.indexed)
                self.journal.write([reminder(id_) for id_ in dict.fromkeys(ids)])

    def _vectors(self, records: Sequence[Record]) -> _Made | None:
        """The vectors of records, of the kind that the space has; None when they cannot be made now."""
        maker = self.makers.maker_of(self.makers.whose()) if records else None
        if maker is None:
            return None
        try:
            return _Made(maker.name, maker.embed([self.embedded_text(record) for record in records]))
        except ModelError as error:
            _log.warning("the embedder %s failed; words alone are searched meanwhile: %s", maker.name, error)
            return None

    def is_current(self) -> bool:
        """Whether the vectors of the space are those of the embedder that was chosen, or none are there yet."""
        return self.makers.is_current()

    def _embed_indexed(self, marks: Marks) -> int:
        """Give the next memories that have words but no vector theirs."""
        pending, records = self._without_vectors(marks)
        if not pending:
            return _moved(self.journal, marks, marks.indexed)
        made = self._vectors(records)
        if made is None and records and self._embedder is not None:
            return 0
        self._tries = 0
        try:
            with self._backend.transaction():
                if made is not None and not self.makers.claim(made.model):
                    # All vectors were made anew meanwhile, by another embedder.
                    return len(pending)
                self.journal.advance(marks, embedded=_end(pending))
                if made is not None:
                    self._give(records, made.rows)
                elif records and not self._skips_known:
                    note_skipped(self._backend, self._space)
                    self._skips_known = True
        except Conflict:
            _log.debug("another worker has moved the journal of %r on", self._space)
        return len(pending)

    def _without_vectors(self, marks: Marks) -> tuple[list[Message], list[Record]]:
        """The next entries that are owed vectors, and their memories as far as these have none."""
        pending = [one for one in self.journal.after(marks.embedded, BATCH) if (one.index or 0) < marks.indexed]
        ids = [str(one.metadata["embed"]) if _is_reminder(one) else one.id for one in pending]
        return pending, [one for one in self._backend.index.get(self._space, ids) if one.vector is None]

    def _give(self, records: Sequence[Record], vectors: NDArray[np.float32]) -> None:
        """Store vectors, unless a memory has changed since it was read."""
        rows = {record.id: (record, row) for record, row in zip(records, vectors, strict=True)}
        same = [one for one in self._backend.index.get(self._space, list(rows)) if one.text == rows[one.id][0].text]
        self._backend.index.upsert([_with_vector(one, rows[one.id][1]) for one in same])

    def _embed_apart(self, marks: Marks) -> int:
        """After some tries in vain, embed one by one: a text that the embedder cannot take must not hold up the others.

        It is set aside, with a note. When it can take none, it is out of order, and all is tried again later.
        """
        self._tries += 1
        if self._tries < _MOST_TRIES or self.makers.maker_of(self.makers.whose()) is None:
            return 0
        pending, records = self._without_vectors(marks)
        rows = {record.id: self._vectors([record]) for record in records}
        if not pending or all(made is None for made in rows.values()):
            return 0
        self._tries = 0
        with self._backend.transaction():
            self.journal.advance(self.journal.marks(), embedded=_end(pending))
            for record in records:
                made = rows[record.id]
                if made is None:
                    self._set_aside(record.id, "the embedder cannot take its text")
                elif self.makers.claim(made.model):
                    self._give([record], made.rows)
        return len(pending)


class _Made(NamedTuple):
    """Vectors, and the name of the embedder that made them."""

    model: str
    rows: NDArray[np.float32]


def _set_aside(kv: KeyValue, inner: Space, id_: str, reason: str) -> None:
    kv.put(inner, inner_key(DEAD, id_), {"id": id_, "reason": reason})


def _moved(journal: Journal, marks: Marks, to: int) -> int:
    try:
        journal.advance(marks, embedded=to)
    except Conflict:
        return 1
    return to - marks.embedded


def _is_reminder(entry: Message) -> bool:
    return "embed" in entry.metadata


def _end(pending: Sequence[Message]) -> int:
    return (pending[-1].index or 0) + 1


def _claims(record: Record, chat: ChatModel | None) -> list[Claim]:
    """What a memory says of whom. A chat model is only asked in the background: nobody waits for it."""
    traits = traits_of(record)
    if traits.trust not in ("user", "document"):
        # What a model or a tool says is remembered, but is no evidence of what is true of a person.
        return []
    if chat is not None:
        return list(model_claims(chat, record.text, speaker=traits.speaker, time=record.time).claims)
    return claims(record.text, speaker=traits.speaker, time=record.time)


def _learned(record: Record) -> datetime:
    return traits_of(record).learned or record.time


def _record(space: Space, entry: Message) -> Record:
    """The memory that an entry of the journal stands for."""
    carried: dict[str, Any] = entry.metadata
    traits = msgspec.convert(carried.get(KEY, {}), Traits)
    if traits.session and not traits.position:
        traits = replace(traits, position=entry.index or 0)
    traits = replace(traits, learned=traits.learned or entry.time)
    return Record(
        text=entry.text,
        space=space,
        id=entry.id,
        kind=carried.get("kind", "memory"),
        time=entry.time,
        metadata=with_traits(carried.get("own", {}), traits),
    )


def _weighed(record: Record, facts: int) -> Record:
    """A memory with the importance of its content, unless it was given one."""
    traits = traits_of(record)
    content = importance_of(record.text, claims=facts)
    importance = content if traits.importance is None else traits.importance
    weighed = replace(traits, importance=importance, content=content)
    return replace(record, metadata=with_traits(own_metadata(record), weighed))


def _with_vector(record: Record, row: NDArray[np.float32]) -> Record:
    """A text with nothing to embed has a row of zeros, and stays without a vector."""
    return replace(record, vector=row) if row.any() else record


def _said_again(known: Record, again: Record) -> Record:
    """A memory that was said once more: counted, with the new evidence."""
    traits, other = traits_of(known), traits_of(again)
    evidence = (*traits.evidence, Evidence(record=again.id), *other.evidence)
    lasting = traits.expires is None or other.expires is None
    renewed = replace(
        traits,
        seen=traits.seen + 1,
        evidence=evidence[:64],
        pinned=traits.pinned or other.pinned,
        expires=None if lasting else max(traits.expires or now(), other.expires or now()),
        importance=max(traits.importance or 0.0, other.importance or 0.0),
    )
    metadata = with_traits(own_metadata(known), renewed)
    return replace(known, time=max(known.time, again.time), metadata=metadata)


__all__ = ["ALIAS", "BATCH", "DEAD", "Indexer"]
