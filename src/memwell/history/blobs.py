"""The bytes of a conversation's media: kept as blobs beside it, checked before, and gone when it is deleted."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotFound, Unsupported
from memwell.history.copying import media_of, together
from memwell.history.handle import blobs_beside, keep_blob
from memwell.history.media import DEFAULT_LIMITS, MediaLimits, check_media
from memwell.history.reading import HistoryReader
from memwell.messages import Audio, Image, Media, Message, Part, ToolResult, Video, check_message
from memwell.storage.protocols import Backend
from memwell.values import shown

P = TypeVar("P", bound=Part)


class MediaKeeper(HistoryReader):
    """A conversation whose media lie beside it, so that its messages stay small."""

    def with_blobs(self, message: Message, *, limits: MediaLimits | None = None) -> Message:
        """Move the bytes of a message's media to blobs beside the conversation, and return the message to add.

        The bytes are on disk when it returns; inside one ``transaction`` of the store with ``add`` both are stored or
        neither. A message without bytes comes back as it is. Raises ``InvalidInput`` for bytes that are not what their part
        says or are over the limits, and stores nothing then; ``Unsupported`` when there is a log and no store.
        """
        if not any(one.data is not None for one in media_of([check_message(message)])):
            return message
        backend = self._store()
        # All are checked before the first is stored.
        parts = tuple(_checked(part, limits or DEFAULT_LIMITS) for part in message.parts)
        with together(self):
            return message.changed(parts=tuple(self._stored(backend, part) for part in parts))

    def data_of(self, part: Media) -> bytes:
        """The bytes of a part, whether it carries them or they lie beside the conversation or in its space.

        Raises ``InvalidInput`` for a part that is given by its address alone, which nobody fetches here, and for what is no
        medium; ``NotFound`` when the bytes are not there.
        """
        if not isinstance(part, Media):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"only an Image, Audio or Video has bytes, not {shown(part)}")
        if part.data is not None:
            return part.data
        if part.blob is None:
            raise InvalidInput(f"the part is given by the address {shown(part.url)}, and nothing is fetched here")
        blobs = self._store().blobs
        try:
            return blobs.get(blobs_beside(self.thread), part.blob)
        except NotFound:
            return blobs.get(self.thread.space, part.blob)

    def _store(self) -> Backend:
        if self.backend is None:
            raise Unsupported("a log alone keeps no bytes of media; open the conversation on a store")
        return self.backend

    def _stored(self, backend: Backend, part: P) -> P:
        """The part with its bytes in the store."""
        if isinstance(part, ToolResult):
            return replace(part, content=tuple(self._stored(backend, one) for one in part.content))
        if isinstance(part, Media) and part.data is not None:
            return replace(part, data=None, blob=keep_blob(backend, self.thread, part.data))
        return part

    awith_blobs = asyncify(with_blobs)
    adata_of = asyncify(data_of)


_KINDS = {Image: "image", Audio: "audio", Video: "video"}


def _checked(part: P, limits: MediaLimits) -> P:
    """A part whose bytes are what it says, with the type they were found to be."""
    if isinstance(part, ToolResult):
        return replace(part, content=tuple(_checked(one, limits) for one in part.content))
    if isinstance(part, Image | Audio | Video) and part.data is not None:
        found = check_media(part.data, kind=_KINDS[type(part)], media_type=part.media_type, limits=limits)
        return replace(part, media_type=found.media_type)
    return part


__all__ = ["MediaKeeper"]
