"""Writing one conversation: adding to it, changing it, cutting it, copying it."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import zip_longest
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import Conflict, InvalidInput, NotFound, Unsupported
from memwell.filters import id_begins_with
from memwell.history.media import DEFAULT_LIMITS, MediaLimits, check_media
from memwell.history.reading import CHUNK, HistoryReader, Target, blobs_beside, keep_blob, kept_beside
from memwell.messages import (
    Audio,
    Content,
    Image,
    Media,
    Message,
    Part,
    Role,
    ToolCall,
    ToolResult,
    Video,
    ai,
    check_message,
    human,
    system,
    tool_result,
)
from memwell.records import Space, paged
from memwell.storage.protocols import Backend, ThreadInfo
from memwell.tokens import counted
from memwell.values import check_count, check_metadata, new_id, shown
from memwell.windows import Round, kept_from

# The ways to say something in a conversation, each written once over ``add``: for one that is here, and one
# elsewhere.


class Adding(ABC):
    """What can be added to a conversation by whoever can add messages."""

    @abstractmethod
    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their places."""

    def add_human(self, content: Content, **fields: Any) -> Message:
        """Store what a person said; it opens the next round."""
        return self.add(human(content, **fields))[0]

    def add_ai(self, content: Content = (), *, tool_calls: tuple[ToolCall, ...] = (), **fields: Any) -> Message:
        """Store what a model said, and the tools it called."""
        return self.add(ai(content, tool_calls=tool_calls, **fields))[0]

    def add_system(self, content: Content, **fields: Any) -> Message:
        """Store an instruction."""
        return self.add(system(content, **fields))[0]

    def add_tool_call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> ToolCall:
        """Store a model's call of one tool, and return the call; its ``id`` is what the result must name."""
        given = check_metadata({} if arguments is None else arguments, "a tool call's arguments")
        call = ToolCall(new_id() if call_id is None else call_id, name, given)
        self.add(ai((), tool_calls=(call,)))
        return call

    def add_tool_result(self, call_id: str, content: Content = (), *, is_error: bool = False, **fields: Any) -> Message:
        """Store what a tool answered to the call ``call_id``."""
        return self.add(tool_result(call_id, content, is_error=is_error, **fields))[0]

    aadd_human = asyncify(add_human)
    aadd_ai = asyncify(add_ai)
    aadd_system = asyncify(add_system)
    aadd_tool_call = asyncify(add_tool_call)
    aadd_tool_result = asyncify(add_tool_result)


# Copies of conversations: places, ids, times and earlier versions go with them.


def together(history: HistoryReader) -> AbstractContextManager[None]:
    """A transaction of the conversation's store, where there is one to be had."""
    return history.backend.transaction() if history.backend is not None else contextlib.nullcontext()


def copy_conversation(source: HistoryReader, target: HistoryReader, end: int | None, *, versions: bool) -> int:
    """Copy messages up to index ``end`` (all without one) and the metadata; returns how many messages there are now.

    Raises ``Conflict`` when the target exists. Whatever fails, the target is left as it was.
    """
    if not isinstance(target, HistoryReader):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a conversation is copied to a History, not to {shown(target)}")
    with together(target):
        if target.info() is not None:
            raise Conflict(f"conversation {target.thread.id!r} has already begun: copy to one that does not exist yet")
        info = source.info()
        if info is None:
            return 0
        try:
            return _copy(source, target, info, end, versions=versions)
        except BaseException:
            if target.backend is None:
                target.log.delete(target.thread)
            raise


def _copy(source: HistoryReader, target: HistoryReader, info: ThreadInfo, end: int | None, *, versions: bool) -> int:
    copied = 0
    places: list[int] = []
    stop = info.next if end is None else min(info.next, end + 1)
    for start in range(info.first, stop, CHUNK):
        upto = min(start + CHUNK, stop)
        live = source.log.read(source.thread, after=start - 1, before=upto)
        copied += len(live)
        lives = dict(_lives(source, live, start, upto)) if versions else {one.index or 0: [one] for one in live}
        _copy_blobs(source, target, (one for held in lives.values() for one in held))
        _replay(target, lives)
        places += lives
    if end is None:
        _end_alike(target, info, places)
    target.log.trim(target.thread, info.first)
    target.log.annotate(
        target.thread, metadata=info.metadata, end_round=end is None and info.ended_round == info.rounds
    )
    return copied


def _copy_blobs(source: HistoryReader, target: HistoryReader, messages: Iterable[Message | None]) -> None:
    """Keep the bytes that messages name beside the target too; what they name elsewhere stays where it is."""
    blobs = None if source.backend is None else source.backend.blobs
    named = {one.blob for one in media_of(messages) if one.blob is not None}
    for digest in sorted(named):
        if blobs is None:
            return
        try:
            data = blobs.get(blobs_beside(source.thread), digest)
        except (NotFound, InvalidInput):
            # A message may name what was never stored here, or is no digest at all.
            continue
        if target.backend is None:
            raise Unsupported("a log alone keeps no bytes of media; copy the conversation to a store")
        keep_blob(target.backend, target.thread, data)


def media_of(messages: Iterable[Message | None]) -> Iterator[Media]:
    """All media of messages, those inside tool results too."""
    for message in messages:
        for part in message.parts if message else ():
            for one in part.content if isinstance(part, ToolResult) else (part,):
                if isinstance(one, Media):
                    yield one


def _end_alike(target: HistoryReader, info: ThreadInfo, places: list[int]) -> None:
    """Let the next message get the index and round it would get in the source, also when the last were trimmed away."""
    begun = target.info()
    if info.next > (begun.next if begun else 0):
        last = Message(Role.SYSTEM, (), index=info.next - 1, round=info.rounds)
        target.log.append(target.thread, [last], keep_places=True)
        target.log.trim(target.thread, info.next, keep=places)


def _lives(
    source: HistoryReader, live: list[Message], start: int, upto: int
) -> Iterator[tuple[int, list[Message | None]]]:
    """For every place that is not empty all that it ever held, oldest first."""
    now = {message.index: message for message in live}
    for index in range(start, upto):
        held = [version.message for version in source.log.versions(source.thread, index)]
        if held or index in now:
            yield index, [*held, now.get(index)]


def _replay(target: HistoryReader, lives: Mapping[int, Sequence[Message | None]]) -> None:
    first = [held[0] for held in lives.values() if held[0] is not None]
    target.log.append(target.thread, first, keep_places=True)
    for step in range(1, max(map(len, lives.values()), default=0)):
        target.log.edit(target.thread, {index: held[step] for index, held in lives.items() if step < len(held)})


# The bytes of a conversation's media: kept as blobs beside it, checked before, and gone when it is deleted.


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


class History(MediaKeeper, Adding):
    """A conversation: read it, add to it, change it, cut it, copy it.

    ``History.open("chat.db", "trip")`` opens a file; ``History(backend, "trip", space=…)`` uses an open store.
    """

    # Adding

    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their places. On disk when it returns.

        Raises ``InvalidInput`` for a message that breaks a rule and ``Conflict`` for an id that is already there.
        """
        return self.log.append(self.thread, [_counted(one) for one in messages])

    # Rounds

    def end_round(self) -> None:
        """Close the round under way: whatever comes next opens a new one."""
        self.log.annotate(self.thread, end_round=True)

    def start_round(self) -> int:
        """Close the round under way, if any, and return the number of the one that the next message opens."""
        return self.log.annotate(self.thread, end_round=True).rounds + 1

    def trim(self, *, rounds: int | None = None, tokens: int | None = None) -> int:
        """Drop the oldest rounds for good, keeping the last ``rounds`` or those that fit ``tokens``; returns how many
        messages went.

        Rounds are dropped whole, system messages from before the first round stay and count, the latest round stays unless
        the limit is 0, and a round that another one's tool results answer stays with it. Raises ``InvalidInput`` unless
        exactly one limit is given.
        """
        if (rounds is None) == (tokens is None):
            raise InvalidInput("trim takes either 'rounds' or 'tokens'")
        limit = check_count(tokens if rounds is None else rounds, "the limit")
        info = self.info()
        if info is None:
            return 0
        spared = self._preamble()
        if limit == 0:
            cut = info.next
        elif rounds is not None:
            cut = kept_from(self._rounds_backwards(), limit, lambda round_: min(round_.number, 1))
        else:
            cut = kept_from(self._rounds_backwards(), limit - self._size(spared), self._size_to_drop)
        return self.log.trim(self.thread, cut, keep=[message.index or 0 for message in spared])

    def _size(self, messages: Iterable[Message]) -> int:
        return sum(map(self.counter.count_message, messages))

    def _size_to_drop(self, round_: Round) -> int:
        return self._size(one for one in round_.messages if round_.number or one.role is not Role.SYSTEM)

    # Changing

    def edit(self, target: Target, change: Content | Message) -> Message:
        """Put another message or other content in a message's place; what was there stays among its versions.

        Other content leaves a message's tool calls, and a tool result answers its call with it; another message replaces
        all. Raises ``NotFound`` when there is no such message.
        """
        with together(self):
            place = self._place(target)
            new = change if isinstance(change, Message) else self.get(place).rewritten(change)
            stored = self.log.edit(self.thread, {place: _counted(new)})[0]
        assert stored is not None
        return stored

    def remove(self, *targets: Target) -> None:
        """Take messages out, all or none; each stays among its versions and ``restore`` brings it back.

        Raises ``NotFound`` when there is no such message.
        """
        self.log.edit(self.thread, {self._place(target): None for target in targets})

    def restore(self, target: int | Message) -> Message:
        """Put back what a place held before its last change. Raises ``NotFound`` when it was never changed."""
        with together(self):
            place = self._place(target)
            held = [version.message for version in self.versions(place) if version.message is not None]
            if not held:
                raise NotFound(f"nothing was ever changed at index {place} of conversation {self.thread.id!r}")
            return self.edit(place, held[-1])

    def set_metadata(self, **values: Any) -> dict[str, Any]:
        """Set some keys of the conversation's metadata, None to drop one, and return all of it."""
        with together(self):
            merged = {key: value for key, value in {**self.metadata(), **values}.items() if value is not None}
            return self.log.annotate(self.thread, metadata=merged).metadata

    def delete(self) -> bool:
        """Drop the conversation with all it holds and all that was made of it, for good. Returns whether there was one."""
        if self.backend is None:
            return self.log.delete(self.thread)
        space, prefix = kept_beside(self.thread)
        with together(self):
            self._drop_kept(self.backend, space, prefix)
            self._drop_kept(self.backend, blobs_beside(self.thread), "")
            return self.log.delete(self.thread)

    def _drop_kept(self, backend: Backend, space: Space, prefix: str) -> None:
        """Drop what is kept about the conversation under a prefix, and the blobs that are named there."""
        where = id_begins_with(prefix)
        for entry in list(paged(lambda cursor: backend.kv.scan(space, where=where, cursor=cursor))):
            value: object = entry.value
            if isinstance(value, dict) and "blob" in value:
                backend.blobs.delete(blobs_beside(self.thread), cast("dict[str, Any]", value)["blob"])
            backend.kv.delete(space, entry.key)

    # Copies

    def fork(self, thread: str, *, upto: Target | None = None) -> History:
        """A new conversation that begins like this one, up to and with the message ``upto``, and goes its own way.

        Places, ids and times are the same. Raises ``Conflict`` when a conversation of that name exists and ``NotFound``
        when there is no message ``upto``.
        """
        end = None if upto is None else self.get(upto).index
        other = History(self.backend or self.log, thread, space=self.thread.space, counter=self.counter)
        with together(other):
            copy_conversation(self, other, end, versions=False)
            other.set_metadata(forked_from={"thread": self.thread.id, "index": end})
        return other

    def copy_to(self, other: History) -> int:
        """Copy everything, earlier versions too, into a conversation that has not begun, of this or another store.

        Returns how many messages it has. Raises ``Conflict`` when ``other`` has begun; then, and when anything fails,
        ``other`` is left as it was.
        """
        return copy_conversation(self, other, None, versions=True)

    def move_to(self, other: History) -> int:
        """Copy everything, then delete it here. A crash in between leaves both, never neither.

        Raises what ``copy_to`` raises, and ``Conflict`` when this conversation was changed meanwhile: then both are left.
        """
        moved = self.copy_to(other)
        with together(self):
            # Somebody may have written here since the copy was made, and that must not be deleted unseen.
            differ = any(mine != theirs for mine, theirs in zip_longest(self, other))
            if differ or self.metadata() != other.metadata():
                raise Conflict(
                    f"conversation {self.thread.id!r} was changed while it was moved: it and its copy are kept"
                )
            self.delete()
        return moved

    aadd = asyncify(add)
    aend_round = asyncify(end_round)
    astart_round = asyncify(start_round)
    atrim = asyncify(trim)
    aedit = asyncify(edit)
    aremove = asyncify(remove)
    arestore = asyncify(restore)
    aset_metadata = asyncify(set_metadata)
    adelete = asyncify(delete)
    afork = asyncify(fork)
    acopy_to = asyncify(copy_to)
    amove_to = asyncify(move_to)


def _counted(value: Message) -> Message:
    try:
        return counted(value)
    except AttributeError:
        # Not a message, or not made of parts: the check says what it is.
        check_message(value)
        raise
