"""The vectors of chunks: made when a document is put there, or noted as owed and made later.

What is owed stands in a journal, the same that memories have, so it survives the process and any worker can make it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec.structs import replace

from memwell.errors import ModelError
from memwell.filters import id_begins_with
from memwell.longterm.indexing import BATCH, DEAD, Indexer
from memwell.longterm.journal import MARKS, inner_space
from memwell.longterm.makers import Makers, Wish
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


class Given(NamedTuple):
    """Chunks with their vectors, whether none is left owed, and the name of the model that made them."""

    records: list[Record]
    whole: bool
    model: str | None


class Vectors:
    """The vectors of the chunks of one space."""

    def __init__(self, backend: Backend, space: Space, embedder: Embedder | None, wish: Wish | None = None) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)
        self.embedder = embedder
        self._wish = wish or Wish.made_now()
        self._indexer = self._fresh()

    @property
    def makers(self) -> Makers:
        """Who makes vectors of the kind that is there."""
        return self._indexer.makers

    @property
    def owed(self) -> int:
        """How many are still to be made."""
        return max(self._indexer.journal.owed().vectors, self._indexer.reembedding.left())

    def given(self, records: list[Record], before: Iterable[str]) -> Given:
        """Chunks with their vectors: those that the same text had in the chunks ``before``, and new ones."""
        if self.embedder is None:
            return Given(records, True, None)
        # Asked before anything is read: when another takes over meanwhile, it is noticed at the storing.
        model = self.makers.whose()
        maker = self.makers.maker_of(model)
        if maker is None:
            return Given(records, False, None)
        known = {one.text: one.vector for one in self._backend.index.get(self._space, before)}
        records = [replace(one, vector=known[one.text]) if one.text in known else one for one in records]
        missing = [record for record in records if record.vector is None]
        texts = [Indexer.embedded_text(record) for record in missing]
        rows = self._rows(maker, texts) if len(missing) <= MOST_AT_ONCE else None
        if rows is None:
            return Given(records, False, maker.name)
        made = {record.id: row for record, row in zip(missing, rows, strict=True) if row.any()}
        records = [replace(one, vector=made[one.id]) if one.id in made else one for one in records]
        return Given(records, True, maker.name)

    def _fresh(self) -> Indexer:
        return Indexer(self._backend, self._space, embedder=self.embedder, wish=self._wish)

    def _rows(self, maker: Embedder, texts: Sequence[str]) -> list[NDArray[Any]] | None:
        """The vectors of texts, or None when the embedder fails: words work without them, and they are tried again."""
        rows: list[NDArray[Any]] = []
        try:
            for start in range(0, len(texts), BATCH):
                rows += list(maker.embed(texts[start : start + BATCH]))
        except ModelError as error:
            _log.warning("the embedder %s failed; words alone are searched meanwhile: %s", maker.name, error)
            return None
        return rows

    def store(self, records: Sequence[Record], model: str | None) -> None:
        """Store chunks with vectors of a model, and note which are owed theirs. Part of the caller's transaction."""
        if model is not None and not self.makers.claim(model):
            # Another took over meanwhile, and vectors of two models do not belong together.
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


__all__ = ["MOST_AT_ONCE", "Given", "Vectors"]
