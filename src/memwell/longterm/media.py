"""``MediaMemory``: images, sounds and videos of a long-term memory, found by words and by features.

A medium is a memory of the kind ``image``, ``audio`` or ``video``. Its text is its description, its feature words and its
transcript, so that ``recall`` finds it like any memory; its bytes are stored as blobs and erased with it.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import FileError, InvalidInput, NotFound
from memwell.filters import AllOf, Filter, Where
from memwell.history.media import KINDS, MediaLimits, Medium, check_kind, check_media
from memwell.language.sentiment import sentiment
from memwell.longterm.base import MemoryBase, as_ids
from memwell.longterm.changing import Erased
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.previews import Preview, preview_of
from memwell.longterm.ranking import why_found
from memwell.longterm.remembering import Rejection, Remembered, Rememberer
from memwell.longterm.traits import KEY, Traits, blobs_space, features_space, own_metadata, traits_of, with_traits
from memwell.longterm.weights import Signal
from memwell.messages import Message
from memwell.records import Hit, Record, Vector, as_vector
from memwell.values import (
    MAX_ID_LENGTH,
    check_count,
    check_id,
    check_list,
    check_text,
    check_type,
    is_finite,
    new_id,
    shown,
)

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
            raise NotFound(f"the medium {id_!r} was forgotten; undo() restores it")
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
        preview = Preview() if medium is None or content is None else preview_of(content, medium, self.limits)
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

    def erase(self, ids: str | Iterable[str], *, wait: bool = False) -> Erased:
        """Erase media, forgotten ones too, with their bytes, thumbnails and feature vectors.

        Bytes that another medium uses stay. Raises ``NotFound`` for an id that is no medium, and then erases nothing.
        """
        access = self._access
        return self.memory.erase([access.medium(id_, forgotten=True).id for id_ in as_ids(ids)], wait=wait)

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


# The text of a medium: its description, feature words and transcript joined, and split again.

Span: TypeAlias = tuple[int, int]


class Wording(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The spans of a medium's words in its text, and the digest of that text."""

    description: Span | None = None
    features: tuple[Span, ...] = ()
    transcript: Span | None = None
    text: str = ""
    """A digest of the text that the spans belong to."""


class MediaWords(msgspec.Struct, frozen=True):
    """The words of a medium by part."""

    description: str = ""
    features: tuple[str, ...] = ()
    transcript: str = ""


def composed(words: MediaWords) -> tuple[str, Wording]:
    """The text of all words, a line for each part, and their spans in it. Empty without words."""
    pieces: list[str] = []
    at = 0

    def put(piece: str, between: str) -> Span | None:
        nonlocal at
        if not piece:
            return None
        if pieces:
            pieces.append(between)
            at += len(between)
        pieces.append(piece)
        start, at = at, at + len(piece)
        return start, at

    description = put(words.description, "\n")
    comma = ", " if all(map(str.isascii, words.features)) else "、"
    spans = [put(one, comma if number else "\n") for number, one in enumerate(words.features)]
    transcript = put(words.transcript, "\n")
    text = "".join(pieces)
    features = tuple(span for span in spans if span is not None)
    return text, Wording(
        description=description, features=features, transcript=transcript, text=_digest(text) if text else ""
    )


def apart(text: str, wording: Wording) -> MediaWords:
    """The words of a medium by part. A text that was changed since is all description."""
    if not wording.text:
        return MediaWords()
    if wording.text != _digest(text):
        return MediaWords(text)
    return MediaWords(
        _at(text, wording.description), tuple(_at(text, one) for one in wording.features), _at(text, wording.transcript)
    )


def _at(text: str, span: Span | None) -> str:
    return "" if span is None else text[span[0] : span[1]]


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


# Checks of what a caller gives with a medium.

Data: TypeAlias = bytes | bytearray | memoryview | Path
"""The bytes of a medium, or the path of a file that holds them."""

Features: TypeAlias = Sequence[str] | Sequence[float]
"""Words for what a medium contains, or a feature vector that a model made of it."""

_LONGEST_SENTIMENT = 100
_LONGEST_FEATURE = 500
_MOST_FEATURES = 1000
_TRUTHS = ("bool", "bool_")
"""The type names of booleans, numpy's included, which a vector would accept as numbers."""


def read_data(data: object, limits: MediaLimits) -> bytes:
    """The bytes of a medium. A file beyond the size limit is not read whole.

    Raises ``FileError`` when a file cannot be read, ``InvalidInput`` for one that is too large and for anything else.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(cast("bytes | bytearray", data))
    if not isinstance(data, os.PathLike):
        hint = "; give the path of a file as Path(…)" if isinstance(data, str) else ""
        raise InvalidInput(f"a medium is given as bytes or a Path, not {shown(data)}{hint}")
    path = Path(cast("os.PathLike[str]", data))
    try:
        # A pipe or a device may never end.
        if not path.is_file():
            raise FileError(f"{str(path)!r} is not a file that can be read")
        with path.open("rb") as file:
            found = file.read(limits.most_bytes + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"the file {str(path)!r} cannot be read: {error}") from error
    if len(found) > limits.most_bytes:
        raise InvalidInput(f"the file {str(path)!r} has more than {limits.most_bytes:,} bytes, the most of any medium")
    return found


def check_name(name: object) -> str:
    """Return a valid name of a medium, which may be empty. Raises ``InvalidInput``."""
    text = check_text(name, "a medium's name")
    if len(text) > MAX_ID_LENGTH:
        raise InvalidInput(f"a medium's name must be at most {MAX_ID_LENGTH:,} characters: {shown(text)}")
    return text


def check_kinds(kinds: str | Iterable[str] | None) -> list[str]:
    """The requested kinds of media; None is all. Raises ``InvalidInput`` for another kind."""
    if kinds is None:
        return list(KINDS)
    listed = [kinds] if isinstance(kinds, str) else check_list(kinds, "kinds must be a kind or several")
    return [check_kind(one) for one in listed]


def check_features(features: Features | None) -> tuple[tuple[str, ...], array[float] | None]:
    """Feature words, or a normalised feature vector. Raises ``InvalidInput`` for anything else."""
    if features is None:
        return (), None
    rule = "features are several words or the numbers of a vector"
    listed = check_list(features, rule)
    if any(isinstance(one, bool) or type(one).__name__ in _TRUTHS for one in listed):
        raise InvalidInput(f"{rule}, not {shown(features)}")
    if not listed:
        return (), None
    if not any(isinstance(one, str) for one in listed):
        return (), as_vector(cast("Sequence[float]", features))
    if len(listed) > _MOST_FEATURES:
        raise InvalidInput(f"a medium has at most {_MOST_FEATURES:,} feature words, not {len(listed):,}")
    words = [check_text(one, "a feature word").strip() for one in listed]
    for word in words:
        if len(word) > _LONGEST_FEATURE:
            raise InvalidInput(f"a feature word has at most {_LONGEST_FEATURE} characters: {shown(word)}")
    return tuple(dict.fromkeys(filter(None, words))), None


def check_sentiment(given: str | float | None, transcript: str) -> str | float | None:
    """The given sentiment, or that of the transcript; None without either.

    Raises ``InvalidInput`` for a number outside -1 to 1, and for anything but a word or a number.
    """
    if given is None:
        return round(sentiment(transcript), 3) if transcript.strip() else None
    if isinstance(given, str):
        word = check_text(given, "a sentiment").strip()
        if not 0 < len(word) <= _LONGEST_SENTIMENT:
            raise InvalidInput(f"a sentiment has 1 to {_LONGEST_SENTIMENT} characters, not {shown(given)}")
        return word
    if not is_finite(given) or not -1 <= given <= 1:
        raise InvalidInput(f"a sentiment is a word or a number from -1 to 1, not {shown(given)}")
    return float(given)


LIKENESS = "features"
"""The signal of a hit that was found by its features."""


class Details(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The fields of a medium besides its words, as they are stored with its memory."""

    words: Wording = Wording()
    name: str = ""
    media_type: str = ""
    size: int = 0
    width: int | None = None
    height: int | None = None
    duration_s: float | None = None
    sentiment: str | float | None = None
    data: str = ""
    thumbnail: str = ""
    warnings: tuple[str, ...] = ()
    words_only: bool = False
    """Whether it was imported from a file of words only, so that its bytes may be missing."""

    @property
    def blobs(self) -> tuple[str, ...]:
        """The digests of its blobs."""
        return tuple(dict.fromkeys(one for one in (self.data, self.thumbnail) if one))


class MediaItem(msgspec.Struct, frozen=True, kw_only=True):
    """A remembered image, sound or video. ``MediaMemory.data`` returns its bytes."""

    id: str
    kind: str
    """``image``, ``audio`` or ``video``."""
    text: str
    """All its words: description, feature words, transcript."""
    description: str
    transcript: str
    features: tuple[str, ...]
    sentiment: str | float | None
    """A word as it was given, or from -1 (negative) to 1 (positive); None when unknown."""
    time: datetime
    session: str = ""
    speaker: str = ""
    name: str = ""
    media_type: str = ""
    """The detected type of its bytes; empty for a medium that is only described."""
    size: int = 0
    """The number of its bytes; 0 for a medium that is only described."""
    digest: str = ""
    """The SHA-256 of its bytes."""
    width: int | None = None
    height: int | None = None
    duration_s: float | None = None
    has_thumbnail: bool = False
    dimensions: int = 0
    """The length of its feature vector; 0 without one."""
    metadata: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    """Problems found when it was stored, such as bytes that cannot be decoded, and parts that are missing here."""
    score: float = 0.0
    signals: dict[str, Signal] = {}
    asked: str = ""
    """The query that found it."""
    relevance: float = 0.0
    """The probability that it helps to answer ``asked``; 0 when it was not found by a query."""

    def why(self, most: int = 4, *, query: str = "", language: str = "en") -> str:
        """The reasons in one line, as in ``same meaning (41 %); same words (33 %)``, in ``en`` or ``zh``.

        Raises ``InvalidInput`` for another language, and for a query that is no text.
        """
        reasons = why_found(self, most, query, language, speaker=self.speaker, session=self.session)
        likeness = self.signals.get(LIKENESS)
        if likeness is None:
            return reasons
        percent = round(100 * likeness.value)
        return f"特征相似（{percent}%）" if language.startswith("zh") else f"alike features ({percent} %)"

    def __str__(self) -> str:
        return self.text


def details_of(record: Record) -> Details:
    """The stored fields of a medium; the defaults for a memory that was stored by other means.

    Raises ``InvalidInput`` for fields that cannot be decoded.
    """
    try:
        return msgspec.convert(traits_of(record).details, Details)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the record {record.id!r} carries details that cannot be read: {error}") from error


def not_here(absent: Sequence[str]) -> str:
    """A sentence that says which parts of a medium are missing, and where to get them."""
    named = [f"its {one}" for one in absent]
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)
    verb = "is" if listed == "its thumbnail" else "are"
    return f"{listed} {verb} not in this store: import the .jsonl export of the store it came from"


def item_of(
    record: Record,
    *,
    absent: Sequence[str] = (),
    score: float = 0.0,
    signals: Mapping[str, Signal] | None = None,
    asked: str = "",
    relevance: float = 0.0,
) -> MediaItem:
    """The medium of a memory, without its ``absent`` parts. Raises ``InvalidInput`` for fields that cannot be decoded."""
    traits, details = traits_of(record), details_of(record)
    words = apart(record.text, details.words)
    return MediaItem(
        id=record.id,
        kind=record.kind,
        text=record.text,
        description=words.description if traits.details else record.text,
        transcript=words.transcript,
        features=words.features,
        sentiment=details.sentiment,
        time=record.time,
        session=traits.session,
        speaker=traits.speaker,
        name=details.name,
        media_type=details.media_type,
        size=details.size,
        digest=details.data,
        width=details.width,
        height=details.height,
        duration_s=details.duration_s,
        has_thumbnail=bool(details.thumbnail) and "thumbnail" not in absent,
        dimensions=0 if "features" in absent else traits.features,
        metadata=own_metadata(record),
        warnings=(*details.warnings, *((not_here(absent),) if absent else ())),
        score=score,
        signals=dict(signals or {}),
        asked=asked,
        relevance=relevance,
    )
