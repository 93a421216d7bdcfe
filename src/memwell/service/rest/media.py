"""Media over REST: pictures, sounds and films are sent as they are, with what is known of them in the address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from memwell.errors import InvalidInput, NotFound
from memwell.history.media import HEAD, types_of
from memwell.longterm.erasing import Erased
from memwell.longterm.media.items import MediaItem
from memwell.runtime.wire import documents
from memwell.runtime.wire.codec import decode
from memwell.service.call import Call, File, handles
from memwell.service.rest.jobs import label_of
from memwell.service.rest.threads import bounded

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_UNKNOWN = "application/octet-stream"


@handles("add_medium")
def add_medium(call: Call, asked: documents.AddMedium) -> MediaItem:
    """Remember a medium with the bytes that were sent, or one that is only described when there are none."""
    return call.memory.media.add(
        None if call.upload is None else _sent(call.take_upload()),
        kind=asked.kind,
        description=asked.description,
        transcript=asked.transcript,
        features=_features(asked),
        sentiment=_sentiment(asked.sentiment),
        session=asked.session,
        speaker=asked.speaker,
        name=label_of(asked.name) if asked.name else "",
        metadata=None if asked.metadata is None else decode(asked.metadata.encode(), dict[str, Any]),
        time=asked.time,
    )


@handles("media")
def media(call: Call, asked: documents.ListMedia) -> documents.Media:
    """The media of the space, oldest first."""
    limit = bounded(asked.limit, "limit")
    return documents.Media(media=call.memory.media.items(session=asked.session, kinds=asked.kinds, limit=limit))


@handles("recall_media")
def recall_media(call: Call, asked: documents.RecallMedia) -> documents.Media:
    """The media that answer a question best, with the reasons."""
    limit = bounded(asked.limit, "limit", least=0)
    found = call.memory.media.recall(asked.query, kinds=asked.kinds, session=asked.session, limit=limit)
    return documents.Media(media=found, why=tuple(item.why(language=asked.language) for item in found))


@handles("like_media")
def like_media(call: Call, asked: documents.LikeMedia) -> documents.Media:
    """The media whose features are most like the given ones."""
    limit = bounded(asked.limit, "limit", least=0)
    found = call.memory.media.like(asked.vector, kinds=asked.kinds, session=asked.session, limit=limit)
    return documents.Media(media=found, why=tuple(item.why() for item in found))


@handles("erase_media")
def erase_media(call: Call, asked: documents.EraseMedia) -> Erased:
    """Remove media for good. Raises ``NotFound`` for an id that is no medium, and removes nothing then."""
    erased = call.memory.media.erase(asked.ids)
    if erased.total:
        call.log(*asked.ids, memories=erased.memories, total=erased.total)
        # An export may hold the words of what is gone.
        call.service.jobs.drop_results(call.space)
    return erased


@handles("medium")
def medium(call: Call) -> MediaItem:
    """One medium. Raises ``NotFound``."""
    return call.memory.media.get(call.path["id"])


@handles("medium_data")
def medium_data(call: Call) -> File:
    """The bytes of a medium as they were given. Raises ``NotFound``."""
    item = call.memory.media.get(call.path["id"])
    data = call.memory.media.data(item.id)
    return File(content=data, media_type=_type_of(data, item.media_type), name=_saved_as(item))


@handles("medium_thumbnail")
def medium_thumbnail(call: Call) -> File:
    """A small picture of a medium. Raises ``NotFound`` when it has none."""
    data = call.memory.media.thumbnail(call.path["id"])
    if data is None:
        raise NotFound(f"the medium {call.path['id']!r} has no thumbnail")
    return File(content=data, media_type=_type_of(data, "image/jpeg"))


def _sent(path: Path) -> bytes:
    try:
        return path.read_bytes()
    finally:
        path.unlink()


def _features(asked: documents.AddMedium) -> list[str] | list[float] | None:
    if asked.vector is None:
        return asked.features
    if asked.features:
        raise InvalidInput("give the features of a medium as words or as a vector, not both")
    return decode(asked.vector.encode(), list[float])


def _sentiment(given: str | None) -> str | float | None:
    """A number when it is written as one, or else a word."""
    return float(given) if given is not None and _NUMBER.fullmatch(given) else given


def _type_of(data: bytes, said: str) -> str:
    """What the bytes are. What is said of them may have come with an import, and could pass a page off as a picture."""
    found = types_of(data[:HEAD])
    if said in found:
        return said
    return found[0] if found else _UNKNOWN


def _saved_as(item: MediaItem) -> str:
    try:
        return label_of(item.name)
    except InvalidInput:
        return item.id


__all__: list[str] = []
