"""Media behind a service: pictures, sounds and films, sent there and recalled by what they show or say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memwell._asyncify import asyncify
from memwell.errors import FileError, InvalidInput, NotFound, Unsupported
from memwell.history.media import MediaLimits
from memwell.longterm.base import as_ids
from memwell.longterm.erasing import Erased
from memwell.longterm.media.items import (
    Data,
    Features,
    MediaItem,
    check_features,
    check_kinds,
    check_sentiment,
    read_data,
)
from memwell.records import Vector, as_vector
from memwell.runtime.remote.connection import Body, Connection
from memwell.runtime.remote.given import metadata_text, moment
from memwell.runtime.wire import documents as wire
from memwell.values import check_count, check_text

if TYPE_CHECKING:
    from memwell.runtime.remote.memory import RemoteMemory

_MOST = 1000
"""A service lists so many media, and no more."""


class RemoteMedia:
    """The media of the key's space. Every method has an async twin with an ``a`` in front.

    ``limits`` are those that are looked at here, before anything is sent; the service has its own.
    """

    def __init__(self, connection: Connection, memory: RemoteMemory, *, limits: MediaLimits | None = None) -> None:
        self.memory = memory
        self.limits = limits or MediaLimits()
        self._connection = connection

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
        """Remember a picture, sound or film, and return when the service has it on disk with its thumbnail.

        What is known of it stands in the address of the request, which holds 60,000 characters: some 6,000 vector numbers,
        or as many letters of Chinese. Raises ``InvalidInput`` for more, for bytes that are not what their kind or name says
        or are over the limits, and for other values that break a rule; ``FileError`` for a file that cannot be read;
        nothing is stored then.
        """
        words, vector = check_features(features)
        feeling = None if sentiment is None else check_sentiment(sentiment, "")
        asked = wire.AddMedium(
            kind=kind,
            description=check_text(description, "a description"),
            transcript=check_text(transcript, "a transcript"),
            features=list(words) or None,
            vector=None if vector is None else _numbers(vector),
            sentiment=None if feeling is None else str(feeling),
            session=session,
            speaker=speaker,
            name=name or getattr(data, "name", ""),
            metadata=metadata_text(metadata),
            time=moment(time, "a medium's time"),
        )
        return self._connection.upload("add_medium", MediaItem, asked, self._body(data))

    def _body(self, data: Data | None) -> Body:
        if data is None:
            return None
        if not isinstance(data, Path):
            content = read_data(data, self.limits)
            if not content:
                raise InvalidInput("a medium must not be empty")
            return content
        if not data.is_file():
            raise FileError(f"{str(data)!r} is not a file that can be read")
        size = data.stat().st_size
        if not 0 < size <= self.limits.most_bytes:
            raise InvalidInput(
                f"the file {str(data)!r} has {size:,} bytes; a medium has 1 to {self.limits.most_bytes:,}"
            )
        return data

    # Finding

    def recall(
        self, query: str, *, kinds: str | Iterable[str] | None = None, session: str | None = None, limit: int = 5
    ) -> list[MediaItem]:
        """The media that answer a query best by what they show, are made of and say, whatever their kinds.

        Raises ``InvalidInput`` for a query, a kind or a limit that breaks a rule.
        """
        asked = wire.RecallMedia(
            query=check_text(query, "a query"),
            kinds=check_kinds(kinds),
            session=session,
            limit=check_count(limit, "limit"),
        )
        return self._connection.call("recall_media", wire.Media, asked).media

    def like(
        self,
        vector: Vector,
        *,
        limit: int = 5,
        kinds: str | Iterable[str] | None = None,
        session: str | None = None,
    ) -> list[MediaItem]:
        """The media whose feature vectors point most nearly the same way, best first; the score is the cosine.

        Only vectors of the same size are compared. Raises ``InvalidInput`` for one that has no direction.
        """
        asked = wire.LikeMedia(
            vector=as_vector(vector).tolist(),
            kinds=check_kinds(kinds),
            session=session,
            limit=check_count(limit, "limit"),
        )
        return self._connection.call("like_media", wire.Media, asked).media

    def items(
        self, *, session: str | None = None, kinds: str | Iterable[str] | None = None, limit: int | None = None
    ) -> list[MediaItem]:
        """The media of the memory or of one session, oldest first.

        Raises ``InvalidInput`` for a kind that is none, ``Unsupported`` when there are a thousand or more and no ``limit``
        says how many are wanted.
        """
        wanted, chosen = _MOST if limit is None else check_count(limit, "limit"), check_kinds(kinds)
        if not wanted or not chosen:
            return []
        asked = wire.ListMedia(session=session, kinds=chosen, limit=wanted)
        found = self._connection.call("media", wire.Media, asked).media
        if limit is None and len(found) == _MOST:
            raise Unsupported(f"a service lists {_MOST:,} media; give a limit, or a session")
        return found

    def get(self, id_: str, /) -> MediaItem:
        """One medium. Raises ``NotFound`` when there is none, it was forgotten, or it has expired."""
        return self._connection.call("medium", MediaItem, None, id=id_)

    def data(self, id_: str, /) -> bytes:
        """The bytes of a medium as they were given. Raises ``NotFound`` as ``get``, and for one that is only described."""
        return self._connection.fetch("medium_data", id=id_)

    def thumbnail(self, id_: str, /) -> bytes | None:
        """A small picture of a medium as JPEG, or None when there is none. Raises ``NotFound`` as ``get``."""
        try:
            return self._connection.fetch("medium_thumbnail", id=id_)
        except NotFound:
            self.get(id_)
            return None

    # The end

    def erase(self, ids: str | Iterable[str]) -> Erased:
        """Remove media for good, forgotten ones too, with their bytes, thumbnails and feature vectors.

        Raises ``NotFound`` for an id that is no medium, and removes nothing then.
        """
        return self._connection.call("erase_media", Erased, wire.EraseMedia(ids=as_ids(ids)))

    def remove(self, *ids: str) -> int:
        """Remove media for good as ``erase`` does, given one by one: nothing brings them back. Returns how many went."""
        return self.erase(ids).memories if ids else 0

    aadd = asyncify(add)
    arecall = asyncify(recall)
    alike = asyncify(like)
    aitems = asyncify(items)
    aget = asyncify(get)
    adata = asyncify(data)
    athumbnail = asyncify(thumbnail)
    aerase = asyncify(erase)
    aremove = asyncify(remove)


def _numbers(vector: Iterable[float]) -> str:
    # A store keeps half precision, so that no more digits count.
    return f"[{','.join(f'{number:.6g}' for number in vector)}]"


__all__ = ["RemoteMedia"]
