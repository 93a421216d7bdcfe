"""``MediaMemory``: images, sounds and videos of a long-term memory, found by words and by features.

A medium is a memory of the kind ``image``, ``audio`` or ``video``. Its text is its description, its feature words and its
transcript, so that ``recall`` finds it like any memory; its bytes are stored as blobs and erased with it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from types import NoneType
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AllOf, Filter, Where
from memwell.history.media import KINDS, MediaLimits, Medium, check_kind, check_media
from memwell.longterm.base import MemoryBase, as_ids
from memwell.longterm.changing import Erased
from memwell.longterm.media.items import (
    LIKENESS,
    Data,
    Details,
    Features,
    MediaItem,
    MediaWords,
    check_features,
    check_kinds,
    check_name,
    check_sentiment,
    composed,
    details_of,
    item_of,
    read_data,
)
from memwell.longterm.media.previews import Preview, preview_film, preview_picture, preview_wave
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.remembering import Rejection, Remembered, Rememberer
from memwell.longterm.traits import KEY, Traits, blobs_space, features_space, traits_of, with_traits
from memwell.longterm.weights import Signal
from memwell.messages import Message
from memwell.records import Hit, Record, Vector, as_vector
from memwell.values import check_count, check_id, check_text, check_type, new_id

# Storing and reading single media.


class MediaAccess(Rememberer):
    """Stores one medium with its bytes and features in a memory, and reads stored ones."""

    _details: Details | None = None
    _dimensions: int = 0
    _taken: Record | None = None

    @classmethod
    def of(cls, memory: MemoryBase) -> MediaAccess:
        """Access to a memory's media. It shares the memory's collaborators, and stores one medium."""
        access = cls.sharing(memory)
        access.indexer = memory.indexer
        return access

    # Storing

    def judged(self, words: MediaWords) -> MediaWords:
        """The words after the gate. When it redacts something, each part is judged by itself, so that the parts stay
        separate; whether it accepts them is decided when they are remembered.
        """
        judge = self._gate.judge
        text, _ = composed(words)
        verdict = judge(text)
        if not verdict.accepted or verdict.text == text:
            return words
        return MediaWords(
            judge(words.description).text,
            tuple(judge(one).text for one in words.features),
            judge(words.transcript).text,
        )

    def take(
        self,
        words: MediaWords,
        details: Details,
        *,
        data: bytes | None,
        preview: Preview,
        vector: array[float] | None,
        **options: Any,
    ) -> Record:
        """Store a medium with its bytes and features in one transaction, and return its memory.

        Raises ``InvalidInput`` when the gate refuses its words, and then stores nothing.
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
            # With an id of its own, so that two images with the same description stay two memories.
            named = details.name if any(map(str.isalnum, details.name)) else options["kind"]
            done = self.remember(text or named, id=id_, **options)
            if done.rejected:
                raise InvalidInput(f"a medium's words were refused: {'; '.join(done.rejected[0].reasons)}")
        assert self._taken is not None
        return self._taken

    def _put_vector(self, id_: str, vector: array[float], options: dict[str, Any]) -> None:
        session = {"session": options["session"]} if options.get("session") else {}
        space = features_space(self.space, len(vector))
        record = Record(text="", space=space, id=id_, kind=options["kind"], metadata=session, vector=vector)
        self.backend.index.upsert([record])

    def _write(self, entries: Sequence[Message | Rejection]) -> Remembered:
        """As in the base class, with the fields of the medium in its traits."""
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

    # Reading

    def medium(self, id_: str, *, forgotten: bool = False) -> Record:
        """The memory of a medium. Raises ``NotFound`` when there is none, or it cannot be recalled."""
        self.indexer.catch_up()
        record = self._stored(id_) if forgotten else self._lasting(id_)
        if record.kind not in KINDS:
            raise NotFound(f"the memory {id_!r} is no medium but of the kind {record.kind!r}")
        if not forgotten and not traits_of(record).active:
            raise NotFound(f"the medium {id_!r} was forgotten; undo() brings it back")
        return record

    def active(self, where: Filter) -> Iterator[Record]:
        """The memories that can be recalled and satisfy a filter, oldest first."""
        return self._active(where)

    def active_by_id(self, ids: Sequence[str]) -> dict[str, Record]:
        """Those of the given memories that can be recalled, by their ids."""
        found = self.indexer.view.index.get(self.space, ids)
        return {one.id: one for one in found if traits_of(one).active and not self._has_expired(one)}

    def blob(self, digest: str) -> bytes | None:
        """The bytes of a blob; None when it is not in this store."""
        try:
            return self.backend.blobs.get(blobs_space(self.space), digest)
        except (NotFound, InvalidInput):
            # An edited import file may hold an invalid digest.
            return None

    def item(self, record: Record, **found: Any) -> MediaItem:
        """The medium of a memory. ``found`` is its score and signals."""
        return item_of(record, absent=self.absent(record), **found)

    def absent(self, record: Record) -> tuple[str, ...]:
        """The parts of a medium that are not in this store: ``bytes``, ``thumbnail``, ``features``.

        The thumbnail is checked first because it is small. Large bytes are only checked when they may be missing.
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


def check_words(description: object, transcript: object, features: tuple[str, ...]) -> MediaWords:
    """The words of a medium. Raises ``InvalidInput`` for anything but texts."""
    said = check_text(description, "a description").strip(), check_text(transcript, "a transcript").strip()
    return MediaWords(said[0], features, said[1])


_MOST_HITS = 10_000


class MediaMemory:
    """The images, sounds and videos of a memory. Every method has an async twin with an ``a`` in front.

    ``limits`` are the largest sizes; larger media are refused before they are decoded.
    """

    def __init__(self, memory: MemoryLike, *, limits: MediaLimits | None = None) -> None:
        check_type(limits, (MediaLimits, NoneType), "limits must be MediaLimits")
        self.memory = as_memory(memory)
        self.limits = limits or MediaLimits()

    def add(
        self,
        data: Data | None = None,
        *,
        kind: str | None = None,
        description: str = "",
        transcript: str = "",
        features: Features | None = None,
        sentiment: str | float | None = None,
        session: str | None = None,
        speaker: str | None = None,
        name: str = "",
        metadata: Mapping[str, Any] | None = None,
        time: datetime | None = None,
    ) -> MediaItem:
        """Remember an image, sound or video, and return when it is on disk with its bytes and thumbnail.

        Without ``data`` it is only described, and ``kind`` is required. ``features`` are words, found by ``recall``, or a
        vector, found by ``like``. ``sentiment`` is a word or from -1 to 1; the default is that of the transcript. Bytes
        with a valid header that cannot be decoded are stored with a warning and without a thumbnail.

        Raises ``InvalidInput`` for bytes that contradict their kind or name or exceed the limits, for other invalid values
        and for words that the gate refuses, ``FileError`` for a file that cannot be read; then nothing is stored.
        """
        feature_words, vector = check_features(features)
        words = check_words(description, transcript, feature_words)
        named = check_name(name or getattr(data, "name", ""))
        medium, content = self._looked_at(data, kind, named)
        if medium is None and not (words.description or words.transcript or feature_words or vector):
            raise InvalidInput("a medium without bytes needs a description, a transcript or features")
        feeling = check_sentiment(sentiment, words.transcript)
        # Before the transaction, which blocks other writers.
        preview = Preview() if medium is None or content is None else self._preview(content, medium)
        record = MediaAccess.of(self.memory).take(
            words,
            _details(medium, preview, named, feeling),
            data=content,
            preview=preview,
            vector=vector,
            kind=check_kind(kind) if medium is None else medium.kind,
            session=session,
            speaker=speaker,
            metadata=metadata,
            time=time,
        )
        return item_of(record)

    def _looked_at(self, data: Data | None, kind: str | None, name: str) -> tuple[Medium | None, bytes | None]:
        """The checked medium and its bytes; neither for a medium that is only described."""
        if data is None:
            if kind is None:
                raise InvalidInput("a medium without bytes needs a kind: image, audio or video")
            check_kind(kind)
            return None, None
        content = read_data(data, self.limits)
        return check_media(content, kind=kind, name=name, limits=self.limits), content

    def _preview(self, data: bytes, medium: Medium) -> Preview:
        if medium.kind == "image":
            return preview_picture(data, medium, self.limits.image_pixels)
        known = preview_wave(data) if medium.media_type == "audio/wav" else None
        return preview_film(data, medium, self.limits.image_pixels) if known is None else known

    # Searching

    def recall(
        self,
        query: str,
        *,
        kinds: str | Iterable[str] | None = None,
        session: str | None = None,
        limit: int = 5,
        min_relevance: float = 0.0,
    ) -> list[MediaItem]:
        """The media of any kind that answer a query best by what they show and say.

        Those whose relevance is below ``min_relevance`` are left out. Raises ``InvalidInput`` for an invalid query, kind
        or limit.
        """
        hits = self.memory.recall(
            query, kinds=check_kinds(kinds), session=session, limit=limit, min_relevance=min_relevance
        )
        access = self._access
        records = access.active_by_id([hit.id for hit in hits])
        return [
            access.item(records[hit.id], score=hit.score, signals=hit.signals, asked=query, relevance=hit.relevance)
            for hit in hits
            if hit.id in records
        ]

    def like(
        self,
        vector: Vector,
        *,
        limit: int = 5,
        kinds: str | Iterable[str] | None = None,
        session: str | None = None,
    ) -> list[MediaItem]:
        """The media with the nearest feature vectors, best first; the score is the cosine.

        Only vectors of the same length are compared. Raises ``InvalidInput`` for a vector of zeros.
        """
        wanted = as_vector(vector)
        check_count(limit, "limit")
        where: list[Filter] = [Where("@kind", "in", check_kinds(kinds))]
        if session is not None:
            where.append(Where("session", "eq", check_id(session, "a session")))
        nearest = islice(self._nearest(wanted, AllOf(tuple(where)), limit), limit)
        return [
            self._access.item(record, score=hit.score, signals={LIKENESS: Signal(hit.score, hit.score)})
            for hit, record in nearest
        ]

    def _nearest(self, vector: Vector, where: Filter, limit: int) -> Iterator[tuple[Hit, Record]]:
        """The nearest media that can be recalled. Forgotten media keep their vectors, so more are requested."""
        self.memory.catch_up()
        space = features_space(self.memory.space, len(vector))
        most, done = limit, 0
        while most > 0:
            hits = self.memory.backend.index.near(space, vector, limit=most, where=where)
            fresh = hits[done:]
            records = self._access.active_by_id([hit.record.id for hit in fresh])
            yield from ((hit, records[hit.record.id]) for hit in fresh if hit.record.id in records)
            if len(hits) < most or most >= _MOST_HITS:
                return
            most, done = min(_MOST_HITS, most * 4), len(hits)

    def items(
        self, *, session: str | None = None, kinds: str | Iterable[str] | None = None, limit: int | None = None
    ) -> list[MediaItem]:
        """The media of the memory or of one session, oldest first. Raises ``InvalidInput`` for an unknown kind."""
        where: list[Filter] = [Where("@kind", "in", check_kinds(kinds))]
        if session is not None:
            where.append(Where((KEY, "session"), "eq", check_id(session, "a session")))
        most = None if limit is None else check_count(limit, "limit")
        access = self._access
        return [access.item(record) for record in islice(access.active(AllOf(tuple(where))), most)]

    def get(self, id_: str, /) -> MediaItem:
        """One medium. Raises ``NotFound`` when there is none, it was forgotten, or it has expired."""
        access = self._access
        return access.item(access.medium(id_))

    def data(self, id_: str, /) -> bytes:
        """The original bytes of a medium.

        Raises ``NotFound`` as ``get``, for a medium that is only described, and for one whose bytes are not in this store.
        """
        access = self._access
        digest = details_of(access.medium(id_)).data
        if not digest:
            raise NotFound(f"the medium {id_!r} is only described: no bytes were given with it")
        found = access.blob(digest)
        if found is None:
            raise NotFound(
                f"the bytes of the medium {id_!r} are not in this store; "
                "import the .jsonl export of the store that it came from"
            )
        return found

    def thumbnail(self, id_: str, /) -> bytes | None:
        """A JPEG thumbnail of a medium: the image, the first frame of a video, or the waveform of a WAV file.

        It contains no location or camera data. None when there is none in this store. Raises ``NotFound`` as ``get``.
        """
        access = self._access
        digest = details_of(access.medium(id_)).thumbnail
        return access.blob(digest) if digest else None

    # Erasing

    def erase(self, ids: str | Iterable[str]) -> Erased:
        """Erase media, forgotten ones too, with their bytes, thumbnails and feature vectors.

        Bytes that another medium uses stay. Raises ``NotFound`` for an id that is no medium, and then erases nothing.
        """
        access = self._access
        return self.memory.erase([access.medium(id_, forgotten=True).id for id_ in as_ids(ids)])

    def remove(self, *ids: str) -> int:
        """Erase media as ``erase`` does. Returns how many.

        To hide a medium use ``forget`` of the memory. Raises ``NotFound`` for an id that is no medium, and then erases
        nothing.
        """
        return self.erase(ids).memories if ids else 0

    @property
    def _access(self) -> MediaAccess:
        return MediaAccess.of(self.memory)

    aadd = asyncify(add)
    arecall = asyncify(recall)
    alike = asyncify(like)
    aitems = asyncify(items)
    aget = asyncify(get)
    adata = asyncify(data)
    athumbnail = asyncify(thumbnail)
    aerase = asyncify(erase)
    aremove = asyncify(remove)


def _details(medium: Medium | None, preview: Preview, name: str, sentiment: str | float | None) -> Details:
    if medium is None:
        return Details(name=name, sentiment=sentiment)
    return Details(
        name=name,
        media_type=medium.media_type,
        size=medium.size,
        width=medium.width or preview.width,
        height=medium.height or preview.height,
        duration_s=preview.duration_s,
        sentiment=sentiment,
        warnings=preview.warnings,
    )
