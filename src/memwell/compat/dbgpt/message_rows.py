"""Messages as the conversation they belong to: each is a message of the log, at its own index.

So the conversation is a ``History`` like any other, and whatever reads one reads this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any, Protocol

from memwell.compat.dbgpt.conditions import Conditions, taken_apart
from memwell.compat.dbgpt.core_messages import from_core, to_core
from memwell.compat.dbgpt.messages import message_from_dict
from memwell.compat.dbgpt.rows import Rows, StoragePlace
from memwell.compat.dbgpt.serialization import made_from
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.history import History
from memwell.messages import Message
from memwell.records import Thread, paged
from memwell.storage.protocols import ThreadInfo
from memwell.tokens import counted
from memwell.values import check_count, shown

_BLOCK = 500


class MessageName(Protocol):
    """What names a message: the conversation and the index."""

    @property
    def conv_uid(self) -> str: ...
    @property
    def index(self) -> int: ...


class MessageItem(MessageName, Protocol):
    """A message to be stored."""

    @property
    def message_detail(self) -> Mapping[str, Any]: ...


class MessageRows(Rows):
    """Messages in the log of a backend."""

    def __init__(self, place: StoragePlace) -> None:
        self._backend = place.backend
        self._log = place.backend.log
        self._space = place.space
        self._serializer = place.serializer

    # Writing

    def add(self, items: Sequence[MessageItem]) -> None:
        """Store new messages. Raises ``StorageError`` when an index is taken, or the conversation is already past it."""
        threads = self._threads(items)
        with nullcontext() if len(threads) == 1 else self._backend.transaction():
            for thread, messages in threads:
                self._append(thread, messages)

    def _append(self, thread: Thread, messages: Sequence[Message]) -> None:
        try:
            self._log.append(thread, messages, keep_places=True)
        except Conflict:
            self._fill(thread, messages)
        except InvalidInput as error:
            raise StorageError(f"a message of conversation {shown(thread.id)} cannot be stored: {error}") from error

    def _fill(self, thread: Thread, messages: Sequence[Message]) -> None:
        """Store messages of which some go where one was deleted."""
        with self._backend.transaction():
            held = {one.index for one in self._log.read(thread, after=(messages[0].index or 0) - 1)}
            for one in messages:
                if one.index in held:
                    raise StorageError(f"Data with identifier message___{thread.id}___{one.index} already exists")
            self._put(thread, messages)

    def put(self, items: Sequence[MessageItem]) -> None:
        """Store messages, new or in the place of others."""
        with self._backend.transaction():
            for thread, messages in self._threads(items):
                self._put(thread, messages)

    def _put(self, thread: Thread, messages: Sequence[Message]) -> None:
        info = self._info(thread)
        begin = 0 if info is None else info.next
        changes = {one.index or 0: one for one in messages if (one.index or 0) < begin}
        new = [one for one in messages if (one.index or 0) >= begin]
        try:
            if changes:
                self._log.edit(thread, {index: self._dated(thread, index, one) for index, one in changes.items()})
            if new:
                self._log.append(thread, new, keep_places=True)
        except NotFound as error:
            raise StorageError(f"conversation {shown(thread.id)} is already past such an index: {error}") from error
        except (Conflict, InvalidInput) as error:
            raise StorageError(f"a message of conversation {shown(thread.id)} cannot be stored: {error}") from error

    def _dated(self, thread: Thread, index: int, message: Message) -> Message:
        """The message with the time at which the one in its place was said."""
        held = self._log.read(thread, after=index - 1, before=index + 1)
        return message.changed(time=held[0].time) if held else message

    def drop(self, identifiers: Sequence[MessageName]) -> None:
        """Take messages out; a conversation whose last message goes is deleted with all that was made of it."""
        with self._backend.transaction():
            indexes: dict[str, set[int]] = {}
            for one in identifiers:
                indexes.setdefault(one.conv_uid, set()).add(one.index)
            for uid, wanted in indexes.items():
                self._drop(_thread(self._space, uid), wanted)

    def _drop(self, thread: Thread, indexes: set[int]) -> None:
        first, last = min(indexes), max(indexes)
        span = self._log.read(thread, after=max(first, 0) - 1, before=max(last, 0) + 1)
        held = {one.index: None for one in span if one.index is not None and one.index in indexes}
        if held:
            self._log.edit(thread, held)
        info = self._info(thread)
        if info is not None and info.messages == 0:
            History(self._backend, thread.id, space=thread.space).delete()

    def _threads(self, items: Sequence[MessageItem]) -> list[tuple[Thread, list[Message]]]:
        """The messages of each conversation, in order. Raises ``StorageError`` for two of one index."""
        found: dict[str, dict[int, Message]] = {}
        for item in items:
            thread = _thread(self._space, item.conv_uid)
            messages = found.setdefault(thread.id, {})
            message = _core(item)
            if message.index in messages:
                raise StorageError(f"Data with identifier message___{thread.id}___{message.index} already exists")
            messages[message.index or 0] = message
        return [
            (Thread(self._space, uid), [messages[index] for index in sorted(messages)])
            for uid, messages in found.items()
        ]

    # Reading

    def get(self, identifier: MessageName, cls: type[Any]) -> Any:
        """The message, or None."""
        thread, index = _thread(self._space, identifier.conv_uid), _index(identifier.index)
        found = self._log.read(thread, after=index - 1, before=index + 1)
        return self._made(thread, found[0], cls) if found else None

    def find(self, conditions: Mapping[str, Any], cls: type[Any], limit: int | None, offset: int) -> list[Any]:
        """The messages that satisfy the conditions, by conversation and in order."""
        infos, rest = self._asked(conditions, cls)
        if not rest.compared:
            return self._piece(infos, cls, limit, offset)
        stop = None if limit is None else offset + limit
        return list(islice(self._satisfying(infos, rest, cls), offset, stop))

    def count(self, conditions: Mapping[str, Any], cls: type[Any]) -> int:
        """How many messages satisfy the conditions."""
        infos, rest = self._asked(conditions, cls)
        if not rest.compared:
            return sum(info.messages for info in infos)
        return sum(1 for _ in self._satisfying(infos, rest, cls))

    def _asked(self, conditions: Mapping[str, Any], cls: type[Any]) -> tuple[Iterator[ThreadInfo], Conditions]:
        """The conversations asked for, and what else is asked of their messages."""
        rest = dict(taken_apart(conditions, cls, push=False).compared)
        if "conv_uid" not in rest:
            return paged(lambda cursor: self._log.threads(self._space, cursor=cursor)), Conditions(None, rest)
        try:
            info = self._info(Thread(self._space, rest.pop("conv_uid")))
        except InvalidInput:
            # Nothing that cannot name a conversation is the name of one.
            info = None
        return iter([] if info is None else [info]), Conditions(None, rest)

    def _satisfying(self, infos: Iterator[ThreadInfo], rest: Conditions, cls: type[Any]) -> Iterator[Any]:
        index = rest.compared.get("index")
        for info in infos:
            first = index if type(index) is int and index >= 0 else 0
            found = (self._made(info.thread, one, cls) for one in self._read(info.thread, first))
            for item in found:
                if rest.hold_for(item):
                    yield item
                if type(index) is int and item.index >= index:
                    break

    def _piece(self, infos: Iterator[ThreadInfo], cls: type[Any], limit: int | None, offset: int) -> list[Any]:
        """All messages of the conversations but the first ``offset``, without reading those."""
        found: list[Any] = []
        for info in infos:
            if limit is not None and len(found) >= limit:
                break
            if offset >= info.messages:
                offset -= info.messages
                continue
            # Without a gap the places tell which message is the first wanted.
            skipped = offset if info.messages == info.next - info.first else 0
            messages = self._read(info.thread, info.first + skipped)
            left = None if limit is None else limit - len(found) + offset - skipped
            found += [self._made(info.thread, one, cls) for one in islice(messages, offset - skipped, left)]
            offset = 0
        return found

    def _read(self, thread: Thread, first: int) -> Iterator[Message]:
        while True:
            block = self._log.read(thread, after=first - 1, first=_BLOCK)
            yield from block
            if len(block) < _BLOCK:
                return
            first = (block[-1].index or 0) + 1

    def _info(self, thread: Thread) -> ThreadInfo | None:
        return next(iter(self._log.threads(thread.space, ids=[thread.id]).items), None)

    def _made(self, thread: Thread, message: Message, cls: type[Any]) -> Any:
        detail = from_core(message).to_dict()
        fields = {"conv_uid": thread.id, "index": message.index or 0, "message_detail": detail}
        return made_from(fields, cls, self._serializer)


def _thread(space: Any, uid: object) -> Thread:
    try:
        return Thread(space, uid)  # pyright: ignore[reportArgumentType] - it is checked there
    except InvalidInput as error:
        raise StorageError(f"a conversation cannot be named {shown(uid)}: {error}") from error


def _index(index: object) -> int:
    try:
        return check_count(index, "a message's index")
    except InvalidInput as error:
        raise StorageError(str(error)) from error


def _core(item: MessageItem) -> Message:
    """The message to be stored. Raises ``StorageError`` when the item holds none."""
    index = _index(item.index)
    try:
        return counted(to_core(message_from_dict(item.message_detail)).changed(index=index))
    except InvalidInput as error:
        raise StorageError(
            f"message {index} of conversation {shown(item.conv_uid)} cannot be stored: {error}"
        ) from error


__all__ = ["MessageItem", "MessageName", "MessageRows"]
