"""Where a memory that compresses keeps messages: one of these for all that was said, another for what is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from memwell._asyncify import run_blocking
from memwell.compat.agentscope.conversations import Conversation
from memwell.compat.agentscope.core_messages import original_id
from memwell.compat.agentscope.memories import WrongType
from memwell.compat.agentscope.messages import Msg
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.storage.registry import open_backend
from memwell.values import shown

T = TypeVar("T")


class NoSuchPlace(InvalidInput, IndexError):
    """There is no message at this place. Nothing was taken out."""


class MessageStorageBase(ABC):
    """Messages in order. A class of your own gives the abstract methods."""

    @abstractmethod
    async def add(self, msgs: list[Msg]) -> None:
        """Put messages behind the others."""

    @abstractmethod
    async def delete(self, indices: Iterable[int] | int) -> None:
        """Take out the messages at these places, counted from 0. Raises ``IndexError`` when there is none."""

    @abstractmethod
    async def clear(self) -> None:
        """Take all messages out."""

    @abstractmethod
    async def get(self) -> list[Msg]:
        """All messages."""

    @abstractmethod
    async def replace(self, msgs: list[Msg]) -> None:
        """Put these messages in the place of all there are."""

    async def known(self, ids: Iterable[str]) -> set[str]:
        """Those of the ids that messages here have."""
        return {one.id for one in await self.get()} & set(ids)

    async def size(self) -> int:
        """How many messages there are."""
        return len(await self.get())


class ThreadMessageStorage(MessageStorageBase):
    """Messages in a conversation of ours, in any store."""

    def __init__(self, history: History) -> None:
        if history.backend is None:
            raise InvalidInput("a memory needs a History over a whole store, not over a bare MessageLog")
        self._conversation = Conversation(history)

    async def _run(self, call: Callable[[], T]) -> T:
        return await run_blocking(call)

    def messages(self) -> list[Msg]:
        """What ``get`` returns."""
        return self._conversation.messages()

    def put(self, msgs: Sequence[Msg]) -> None:
        """What ``replace`` does."""
        self._conversation.replace([(one, []) for one in msgs], "")

    async def add(self, msgs: list[Msg]) -> None:
        await self._run(lambda: self._conversation.add(msgs, [], allow_duplicates=True))

    async def delete(self, indices: Iterable[int] | int) -> None:
        await self._run(lambda: self._take_out(places_in(indices)))

    def _take_out(self, places: Sequence[int]) -> None:
        kept = self.messages()
        wrong = [place for place in places if not 0 <= place < len(kept)]
        if wrong:
            raise NoSuchPlace(f"there is no message at {wrong[0]}; there are {len(kept)}")
        self._conversation.delete(kept[place].id for place in places)

    async def clear(self) -> None:
        await self._run(lambda: self.put([]))

    async def get(self) -> list[Msg]:
        return await self._run(self.messages)

    async def replace(self, msgs: list[Msg]) -> None:
        await self._run(lambda: self.put(msgs))

    async def known(self, ids: Iterable[str]) -> set[str]:
        history, wanted = self._conversation.history, list(ids)
        found = await self._run(lambda: history.log.read(history.thread, ids=wanted))
        return set(map(original_id, found))

    async def size(self) -> int:
        return await self._run(lambda: len(self._conversation))


class InMemoryMessageStorage(ThreadMessageStorage):
    """Messages that last as long as the object."""

    def __init__(self) -> None:
        super().__init__(History(open_backend("memory:"), "messages"))

    async def _run(self, call: Callable[[], T]) -> T:
        # Nothing here waits for a disk or a wire, so a thread would cost more than the work.
        return call()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = type(self)()
        made.put(self.messages())
        return made


class _Theirs(MessageStorageBase):
    """A storage written for AgentScope: started before it is used, if it has to be."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    async def _ready(self) -> Any:
        health = getattr(self._storage, "health", None)
        if health is not None and not await health():
            await self._storage.start()
        return self._storage

    async def add(self, msgs: list[Msg]) -> None:
        await (await self._ready()).add(msgs)

    async def delete(self, indices: Iterable[int] | int) -> None:
        await (await self._ready()).delete(indices)

    async def clear(self) -> None:
        await (await self._ready()).clear()

    async def get(self) -> list[Msg]:
        return await (await self._ready()).get()

    async def replace(self, msgs: list[Msg]) -> None:
        await (await self._ready()).replace(msgs)


def as_storage(value: object, what: str) -> MessageStorageBase:
    """The storage meant: a new one in memory for None, one over a ``History``, or what is one already.

    Raises ``InvalidInput`` for anything else.
    """
    if value is None:
        return InMemoryMessageStorage()
    if isinstance(value, History):
        return ThreadMessageStorage(value)
    if isinstance(value, MessageStorageBase):
        return value
    if all(callable(getattr(value, name, None)) for name in ("add", "delete", "clear", "get", "replace")):
        return _Theirs(value)
    raise InvalidInput(f"{what} must be a storage of messages or a History, not {shown(value)}")


def places_in(indices: object) -> list[int]:
    """The places meant by one or several, each once. Raises ``WrongType`` for anything else."""
    given = [indices] if isinstance(indices, int) else indices
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise WrongType(f"indices must be a whole number or several, not {shown(given)}")
    found = list(dict.fromkeys(cast("Iterable[Any]", given)))
    if not all(type(one) is int for one in found):
        raise WrongType(f"indices must be whole numbers, not {shown(found)}")
    return found


__all__ = [
    "InMemoryMessageStorage",
    "MessageStorageBase",
    "NoSuchPlace",
    "ThreadMessageStorage",
    "as_storage",
    "places_in",
]
