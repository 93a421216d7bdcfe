"""The vectors of chunks: made when a document is put there, or noted as owed and made later.

What is owed stands in a journal, the same that memories have, so it survives the process and any worker can make it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from memwell.errors import ModelError
from memwell.filters import id_begins_with
from memwell.longterm.indexing import BATCH, DEAD, Indexer
from memwell.longterm.journal import MARKS, inner_space
from memwell.longterm.reminders import reminder
from memwell.models.ports import Embedder
from memwell.records import Record, Space, paged
from memwell.storage.protocols import Backend

if TYPE_CHECKING:
    # numpy takes a tenth of a second to load; nothing here needs it before the first text is embedded.
    from numpy.typing import NDArray

_log = logging.getLogger("memwell.knowledge")

MOST_AT_ONCE = 512
"""A document of more chunks is stored before its vectors are made, so that no work of minutes hangs on one transaction."""

_PAGE = 500


class Vectors:
    """The vectors of the chunks of one space."""

    def __init__(self, backend: Backend, space: Space, embedder: Embedder | None) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)
        self.embedder = embedder
        self._indexer = Indexer(backend, space, embedder=embedder)

    @property
    def owed(self) -> int:
        """How many are still to be made."""
        return self._indexer.journal.owed().vectors

    def are_current(self) -> bool:
        """Whether those that are stored are this embedder's."""
        return self._indexer.is_current()

    def given(self, records: list[Record], before: Iterable[str]) -> tuple[list[Record], bool]:
        """Chunks with their vectors: those that the same text had in the chunks ``before``, and new ones; False when some
        are left owed.
        """
        if self.embedder is None:
            return records, True
        if not self._fresh().is_current():
            return records, False
        known = {one.text: one.vector for one in self._backend.index.get(self._space, before)}
        records = [replace(one, vector=known[one.text]) if one.text in known else one for one in records]
        missing = [record for record in records if record.vector is None]
        rows = (
            self._rows([Indexer.embedded_text(record) for record in missing]) if len(missing) <= MOST_AT_ONCE else None
        )
        if rows is None:
            return records, False
        made = {record.id: row for record, row in zip(missing, rows, strict=True) if row.any()}
        return [replace(one, vector=made[one.id]) if one.id in made else one for one in records], True

    def _fresh(self) -> Indexer:
        # A new one looks whose vectors the space has now, and not when it was first asked.
        return Indexer(self._backend, self._space, embedder=self.embedder)

    def _rows(self, texts: Sequence[str]) -> list[NDArray[Any]] | None:
        """The vectors of texts, or None when the embedder fails: words work without them, and they are tried again."""
        assert self.embedder is not None
        rows: list[NDArray[Any]] = []
        try:
            for start in range(0, len(texts), BATCH):
                rows += list(self.embedder.embed(texts[start : start + BATCH]))
        except ModelError as error:
            _log.warning("the embedder %s failed; words alone are searched meanwhile: %s", self.embedder.name, error)
            return None
        return rows

    def store(self, records: Sequence[Record]) -> None:
        """Store chunks, and note which of them are owed a vector. Part of the caller's transaction."""
        if self.embedder is not None and not self._fresh().is_current():
            records = [replace(record, vector=None) for record in records]
        self._backend.index.upsert(records)
        if self.embedder is not None:
            self._owe([record.id for record in records if record.vector is None])

    def _owe(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _PAGE):
            reminders = [reminder(id_) for id_ in ids[start : start + _PAGE]]
            self._indexer.journal.write(reminders)

    def settle(self, progress: Callable[[int, int | None], None] | None = None, *, tries: int = 1) -> int:
        """Make the vectors that are owed; how many still are, because the embedder fails. A text that it cannot take is
        set aside after some tries.
        """
        if self.embedder is None:
            return 0
        total = self.owed if progress is not None else 0
        for _ in range(tries):
            while self._indexer.work():
                if progress is not None:
                    progress(max(total - self.owed, 0), total)
            if not self.owed:
                break
        return self.owed

    def owe_missing(self) -> None:
        """Note every chunk without a vector as owed one: those put there while there was no embedder."""
        index = self._backend.index
        info = index.info(self._space)
        if self.embedder is None or info.vectors >= info.records or self.owed:
            return
        aside = set(self._set_aside().values())
        stored = paged(lambda cursor: index.scan(self._space, limit=_PAGE, cursor=cursor))
        self._owe([record.id for record in stored if record.vector is None and record.id not in aside])

    def _set_aside(self) -> dict[str, str]:
        """The chunks that could not be embedded, by the keys of the notes that say so."""
        where = id_begins_with(DEAD)
        notes = paged(lambda cursor: self._backend.kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor))
        return {note.key: cast("dict[str, str]", note.value)["id"] for note in notes}

    def drop_notes(self) -> None:
        """Notes of chunks that are gone go too."""
        notes = self._set_aside()
        there = {record.id for record in self._backend.index.get(self._space, list(notes.values()))}
        for key, id_ in notes.items():
            if id_ not in there:
                self._backend.kv.delete(self._inner, key)

    def clear(self) -> None:
        """Forget all that was noted, and whose vectors they were."""
        with self._backend.transaction():
            for entry in list(paged(lambda cursor: self._backend.kv.scan(self._inner, limit=_PAGE, cursor=cursor))):
                if entry.key != MARKS:
                    self._backend.kv.delete(self._inner, entry.key)
            self._indexer.journal.finish()
        self._indexer = self._fresh()


__all__ = ["MOST_AT_ONCE", "Vectors"]
