"""A medium as it is remembered, and what is kept of it in its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput
from memwell.longterm.media.wording import Wording, apart
from memwell.longterm.reasons import in_words
from memwell.longterm.traits import own_metadata, traits_of, with_traits
from memwell.longterm.weights import Signal
from memwell.records import Record
from memwell.values import check_count, check_text

LIKENESS = "features"
"""The signal of what was found by its features."""


class Details(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a medium has beside its words, as its memory keeps it."""

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
    """It came by a file that holds words alone, so what belongs to it may not be here."""

    @property
    def blobs(self) -> tuple[str, ...]:
        """The digests of the bytes that belong to it."""
        return tuple(dict.fromkeys(one for one in (self.data, self.thumbnail) if one))


class MediaItem(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, sound or film that is remembered. It holds no bytes: ``MediaMemory.data`` gives them."""

    id: str
    kind: str
    """``image``, ``audio`` or ``video``."""
    text: str
    """All its words: description, feature words, transcript."""
    description: str
    transcript: str
    features: tuple[str, ...]
    sentiment: str | float | None
    """A word as it was given, or from -1 (ill) to 1 (well); None where nothing is said."""
    time: datetime
    session: str = ""
    speaker: str = ""
    name: str = ""
    media_type: str = ""
    """What its bytes were found to be; empty for a medium that is only described."""
    size: int = 0
    """How many bytes it has, 0 for a medium that is only described."""
    digest: str = ""
    """The SHA-256 of its bytes."""
    width: int | None = None
    height: int | None = None
    duration_s: float | None = None
    has_thumbnail: bool = False
    dimensions: int = 0
    """How many numbers its vector of features has, 0 without one."""
    metadata: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    """What was noticed when it was taken in, such as that its bytes cannot be decoded; and what of it is not here."""
    score: float = 0.0
    signals: dict[str, Signal] = {}
    asked: str = ""
    """The query that found it."""

    def why(self, most: int = 4, *, query: str = "", language: str = "en") -> str:
        """The reasons in one line for people, as in ``same meaning (41 %); same words (33 %)``, in ``en`` or ``zh``.

        Raises ``InvalidInput`` for another language, and for a query that is no text.
        """
        check_text(query, "a query")
        check_count(most, "most")
        told = in_words(
            self.signals,
            text=self.text,
            speaker=self.speaker,
            session=self.session,
            query=query,
            language=language,
            most=most,
            asked=self.asked,
        )
        likeness = self.signals.get(LIKENESS)
        if likeness is None:
            return told
        percent = round(100 * likeness.value)
        return f"特征相似（{percent}%）" if language.startswith("zh") else f"alike features ({percent} %)"

    def __str__(self) -> str:
        return self.text


def details_of(record: Record) -> Details:
    """What a memory keeps of its medium; a memory that was stored by other means has nothing but its text.

    Raises ``InvalidInput`` for details that cannot be read.
    """
    try:
        return msgspec.convert(traits_of(record).details, Details)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the record {record.id!r} carries details that cannot be read: {error}") from error


def came_in_words(record: Record) -> Record:
    """The memory of a medium as a file brings it that holds words alone; any other memory as it is."""
    traits = traits_of(record)
    if not (traits.blobs or traits.features):
        return record
    details = replace(details_of(record), words_only=True)
    marked = replace(traits, details=msgspec.to_builtins(details))
    return replace(record, metadata=with_traits(own_metadata(record), marked))


def not_here(absent: Sequence[str]) -> str:
    """What of a medium is not in a store, and where to get it, in a sentence."""
    named = [f"its {one}" for one in absent]
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)
    verb = "is" if listed == "its thumbnail" else "are"
    return f"{listed} {verb} not in this store: bring the .jsonl export of the store it came from"


def item_of(
    record: Record,
    *,
    absent: Sequence[str] = (),
    score: float = 0.0,
    signals: Mapping[str, Signal] | None = None,
    asked: str = "",
) -> MediaItem:
    """The medium that a memory stands for, without what is ``absent``. Raises ``InvalidInput`` for details that cannot be
    read.
    """
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
    )


__all__ = ["LIKENESS", "Details", "MediaItem", "came_in_words", "details_of", "item_of", "not_here"]
