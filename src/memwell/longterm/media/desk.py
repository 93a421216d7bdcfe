"""Where media come in and are looked up: a memory's own ways, with what lies beside a medium written along."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput, NotFound
from memwell.filters import Filter
from memwell.history.media_types import KINDS
from memwell.longterm.attachments import blobs_space, features_space
from memwell.longterm.base import MemoryBase
from memwell.longterm.media.items import Details, MediaItem, details_of, item_of
from memwell.longterm.media.previews import Preview
from memwell.longterm.media.wording import Words, composed
from memwell.longterm.remembering import Rejection, Remembered, Rememberer
from memwell.longterm.traits import KEY, Traits, traits_of, with_traits
from memwell.messages import Message
from memwell.records import Record
from memwell.values import check_text, new_id


class Desk(Rememberer):
    """One medium on its way into a memory, and those that are in it."""

    _details: Details | None = None
    _dimensions: int = 0
    _taken: Record | None = None

    @classmethod
    def of(cls, memory: MemoryBase) -> Desk:
        """A desk of a memory. It shares all that the memory holds, and is for one medium."""
        desk = cls.sharing(memory)
        desk.indexer = memory.indexer
        return desk

    # In

    def judged(self, words: Words) -> Words:
        """The words as the gate lets them in: as they are or, when it takes something out, each by itself, so that they
        stay apart. Whether it lets them in at all is judged when they are remembered.
        """
        judge = self._gate.judge
        text, _ = composed(words)
        verdict = judge(text)
        if not verdict.accepted or verdict.text == text:
            return words
        return Words(
            judge(words.description).text,
            tuple(judge(one).text for one in words.features),
            judge(words.transcript).text,
        )

    def take(
        self,
        words: Words,
        details: Details,
        *,
        data: bytes | None,
        preview: Preview,
        vector: array[float] | None,
        **options: Any,
    ) -> Record:
        """Store a medium with all that belongs to it in one transaction, and return its memory.

        Raises ``InvalidInput`` when the gate refuses its words; nothing is stored then.
        """
        text, wording = composed(self.judged(words))
        id_ = new_id()
        with self.backend.transaction():
            blobs, space = self.backend.blobs, blobs_space(self.space)
            self._details = replace(
                details,
                words=wording,
                data="" if data is None else blobs.put(space, data),
                thumbnail="" if preview.thumbnail is None else blobs.put(space, preview.thumbnail),
            )
            if vector is not None:
                self._dimensions = len(vector)
                self._put_vector(id_, vector, options)
            # Named, so that it stays a memory of its own: two pictures may well be described in the same words.
            _check_accepted(self.remember(text or _stand_in(details.name, options["kind"]), id=id_, **options))
        assert self._taken is not None
        return self._taken

    def _put_vector(self, id_: str, vector: array[float], options: dict[str, Any]) -> None:
        beside = {"session": options["session"]} if options.get("session") else {}
        space = features_space(self.space, len(vector))
        record = Record(text="", space=space, id=id_, kind=options["kind"], metadata=beside, vector=vector)
        self.backend.index.upsert([record])

    def _write(self, entries: Sequence[Message | Rejection]) -> Remembered:
        """As for every way in, with what belongs to the medium in its traits."""
        return super()._write([one if isinstance(one, Rejection) else self._completed(one) for one in entries])

    def _completed(self, entry: Message) -> Message:
        assert self._details is not None
        carried: dict[str, Any] = entry.metadata
        traits = replace(
            msgspec.convert(carried.get(KEY, {}), Traits),
            blobs=self._details.blobs,
            features=self._dimensions,
            details=msgspec.to_builtins(self._details),
        )
        self._taken = Record(
            text=entry.text,
            space=self.space,
            id=entry.id,
            kind=carried["kind"],
            time=entry.time,
            metadata=with_traits(carried.get("own", {}), traits),
        )
        return entry.changed(metadata={**carried, KEY: msgspec.to_builtins(traits)})

    # Out

    def medium(self, id_: str, *, forgotten: bool = False) -> Record:
        """The memory of a medium. Raises ``NotFound`` when there is none, or it may not be recalled."""
        self.indexer.catch_up()
        record = self._stored(id_) if forgotten else self._lasting(id_)
        if record.kind not in KINDS:
            raise NotFound(f"the memory {id_!r} is no medium but of the kind {record.kind!r}")
        if not forgotten and not traits_of(record).active:
            raise NotFound(f"the medium {id_!r} was forgotten; undo() brings it back")
        return record

    def active(self, where: Filter) -> Iterator[Record]:
        """The memories that may be recalled and satisfy a filter, oldest first."""
        return self._active(where)

    def active_by_id(self, ids: Sequence[str]) -> dict[str, Record]:
        """Those of some memories that may be recalled, by their ids."""
        found = self.indexer.view.index.get(self.space, ids)
        return {one.id: one for one in found if traits_of(one).active and not self._has_expired(one)}

    def blob(self, digest: str) -> bytes | None:
        """Bytes that belong to a medium; None when they are not in this store."""
        try:
            return self.backend.blobs.get(blobs_space(self.space), digest)
        except (NotFound, InvalidInput):
            # A digest that is none came from a file that somebody changed.
            return None

    def item(self, record: Record, **found: Any) -> MediaItem:
        """The medium that a memory stands for, as far as it is here. ``found`` is how it was found."""
        return item_of(record, absent=self.absent(record), **found)

    def absent(self, record: Record) -> tuple[str, ...]:
        """What a medium has that is not in this store: ``bytes``, ``thumbnail``, ``features``.

        A thumbnail is small, and is there when the rest is. Large bytes are looked for only where they may have stayed
        behind.
        """
        details, features = details_of(record), traits_of(record).features
        gone: list[str] = []
        if details.thumbnail and self.blob(details.thumbnail) is None:
            gone.append("thumbnail")
        if details.data and (gone or details.words_only) and self.blob(details.data) is None:
            gone.insert(0, "bytes")
        if details.words_only and features and not self._has_vector(record.id, features):
            gone.append("features")
        return tuple(gone)

    def _has_vector(self, id_: str, dimensions: int) -> bool:
        return bool(self.backend.index.get(features_space(self.space, dimensions), [id_]))


def _check_accepted(done: Remembered) -> None:
    """Raises ``InvalidInput`` with the reasons of the gate when it let the words of a medium not in."""
    if done.rejected:
        raise InvalidInput(f"a medium's words were refused: {'; '.join(done.rejected[0].reasons)}")


def _stand_in(name: str, kind: str) -> str:
    """The text of a medium that came without words."""
    return name if any(map(str.isalnum, name)) else kind


def check_words(description: object, transcript: object, features: tuple[str, ...]) -> Words:
    """The words of a medium. Raises ``InvalidInput`` for what is no text that any store can keep."""
    said = check_text(description, "a description").strip(), check_text(transcript, "a transcript").strip()
    return Words(said[0], features, said[1])


__all__ = ["Desk", "check_words"]
