"""``MediaItem``: a remembered medium, the fields stored with its memory, and the checks of what callers give."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from memwell.errors import FileError, InvalidInput
from memwell.history.media import KINDS, MediaLimits, check_kind
from memwell.language.sentiment import sentiment
from memwell.longterm.ranking import why_found
from memwell.longterm.traits import own_metadata, traits_of
from memwell.longterm.weights import Signal
from memwell.records import Record, as_vector
from memwell.values import MAX_ID_LENGTH, check_list, check_text, is_finite, shown

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
