"""What an agent remembers of its conversation: messages, marks on them, and a summary of those that were compressed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar, cast

from memwell._asyncify import run_blocking
from memwell.compat.agentscope.conversations import Conversation
from memwell.compat.agentscope.messages import Msg, check_message
from memwell.errors import InvalidInput, Unsupported
from memwell.history import History
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.runtime.state import MissingState, StateModule
from memwell.storage.registry import open_backend
from memwell.storage.sharing import Store, shared_backend
from memwell.strategies.state import copy_states
from memwell.values import check_text, shown

T = TypeVar("T")
_SUMMARY = "_compressed_summary"


class WrongType(InvalidInput, TypeError):
    """An argument is of a type that cannot be meant. Nothing was stored."""


class MemoryBase(StateModule, ABC):
    """The memory of an agent. A class of your own gives the abstract methods.

    A message that is stored is a copy, and so is one that is read: changing either changes nothing in the memory.
    """

    _compressed_summary: str = ""

    def __init__(self) -> None:
        super().__init__()
        self.register_state(_SUMMARY)

    async def update_compressed_summary(self, summary: str) -> None:
        """Say what the compressed messages held; the empty text takes it back. Raises ``InvalidInput`` for no text."""
        self._compressed_summary = check_text(summary, "a summary")

    @abstractmethod
    async def add(self, memories: Msg | list[Msg] | None, marks: str | list[str] | None = None, **kwargs: Any) -> None:
        """Add a message or several, each with these marks."""

    @abstractmethod
    async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
        """Take out the messages of these ids; returns how many there were."""

    async def delete_by_mark(self, mark: str | list[str], *args: Any, **kwargs: Any) -> int:
        """Take out the messages with one of these marks; returns how many there were."""
        raise NotImplementedError(f"The delete_by_mark method is not implemented in {type(self).__name__} class.")

    @abstractmethod
    async def size(self) -> int:
        """How many messages there are."""

    @abstractmethod
    async def clear(self) -> None:
        """Take all messages out; the summary stays."""

    @abstractmethod
    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The messages in order, those with one mark and without another when they are named, the summary first."""

    async def retrieve(self, *args: Any, **kwargs: Any) -> Any:
        """There is none. Raises ``Unsupported``, which says what to use instead."""
        raise Unsupported(
            f"{type(self).__name__} has no retrieve: get_memory() gives its messages, by mark too; what is to be found by"
            " meaning belongs in a long-term memory, such as ReMePersonalLongTermMemory"
        )

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Add, replace or take off a mark; returns how many messages were changed."""
        raise NotImplementedError(f"The update_messages_mark method is not implemented in {type(self).__name__} class.")


class ThreadMemory(MemoryBase):
    """A memory over a conversation of ours: whatever else reads the conversation sees the messages, in its own words.

    Raises ``InvalidInput`` for what is no message, for an unknown role or block and for what is no plain data, and
    ``WrongType``, which is also a ``TypeError``, for marks that are no text.
    """

    def __init__(self, history: History) -> None:
        if history.backend is None:
            raise InvalidInput("a memory needs a History over a whole store, not over a bare MessageLog")
        self._conversation = Conversation(history)
        super().__init__()

    @property
    def history(self) -> History:
        """The conversation itself."""
        return self._conversation.history

    @property
    def _compressed_summary(self) -> str:
        return self._conversation.summary()

    @_compressed_summary.setter
    def _compressed_summary(self, summary: str) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._conversation.set_summary(check_text(summary, "a summary"))

    async def _run(self, call: Callable[[], T]) -> T:
        return await run_blocking(call)

    async def update_compressed_summary(self, summary: str) -> None:
        """Say what the compressed messages held; the empty text takes it back. Raises ``InvalidInput`` for no text."""
        check_text(summary, "a summary")
        await self._run(lambda: self._conversation.set_summary(summary))

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: str | list[str] | None = None,
        allow_duplicates: bool = False,
        *,
        skip_duplicated: bool = True,
        **kwargs: Any,
    ) -> None:
        """Add a message or several, all or none; None adds nothing.

        One whose id is there already, or was earlier in the list, is passed over, unless ``allow_duplicates`` is set or, by
        its other name, ``skip_duplicated`` is off; then it is there twice. Raises ``WrongType`` (a ``TypeError``) for an
        unknown keyword.
        """
        refuse_unknown(kwargs)
        messages, wanted = messages_in(memories), marks_in(marks)
        twice = allow_duplicates or not skip_duplicated
        await self._run(lambda: self._conversation.add(messages, wanted, allow_duplicates=twice))

    async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
        """Take out the messages of these ids; returns how many there were. The conversation can restore them."""
        wanted = ids_in(msg_ids)
        return await self._run(lambda: self._conversation.delete(wanted))

    async def delete_by_mark(self, mark: str | list[str], *args: Any, **kwargs: Any) -> int:
        """Take out the messages with one of these marks; returns how many there were."""
        wanted = marks_in(mark)
        return await self._run(lambda: self._conversation.delete_by_mark(wanted))

    async def size(self) -> int:
        """How many messages there are."""
        return await self._run(lambda: len(self._conversation))

    async def clear(self) -> None:
        """Take all messages and marks out; the summary stays."""
        await self._run(self._conversation.clear)

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The messages in order, those with ``mark`` and without ``exclude_mark`` when they are named.

        It reads no more of the conversation than it returns. The summary, if there is one, comes first, as a message of
        the user, unless ``prepend_summary`` is off.
        """
        mark, exclude = mark_in(mark, "mark"), mark_in(exclude_mark, "exclude_mark")
        found = await self._run(lambda: self._conversation.messages(mark, exclude))
        summary = await self._run(self._conversation.summary) if prepend_summary else ""
        return with_summary(found, summary)

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Put ``new_mark`` on messages, in the place of ``old_mark`` when that is named; without a new one take it off.

        ``msg_ids`` says which messages, ``old_mark`` those that have it. Returns how many have other marks than before.
        """
        new, old = mark_in(new_mark, "new_mark"), mark_in(old_mark, "old_mark")
        wanted = None if msg_ids is None else ids_in(msg_ids)
        return await self._run(lambda: self._conversation.change_marks(new, old, wanted))


class InMemoryMemory(ThreadMemory):
    """A memory that lasts as long as the object. A deep copy is another memory, which begins like this one."""

    def __init__(self) -> None:
        super().__init__(History(open_backend("memory:"), "memory"))

    async def _run(self, call: Callable[[], T]) -> T:
        # Nothing here waits for a disk or a wire, so a thread would cost more than the work.
        return call()

    @property
    def content(self) -> list[tuple[Msg, list[str]]]:
        """The messages with their marks, as copies."""
        return self._conversation.with_marks()

    def state_dict(self) -> dict[str, Any]:
        """The messages with their marks, and the summary."""
        pairs = [[message.to_dict(), marks] for message, marks in self.content]
        return {**super().state_dict(), "content": pairs}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Put a state in the place of all there is; lists of messages without marks, as older releases wrote, too.

        Raises ``MissingState`` (a ``KeyError``) when there are no messages in it, unless ``strict`` is off, and
        ``InvalidInput`` for what is no state. Then everything is as it was.
        """
        name = type(self).__name__
        state = state_in(state_dict, name)
        if state.content is None and strict:
            raise MissingState(f"The state_dict does not contain 'content' keys required for {name}.")
        self._conversation.replace(state.content or [], state.summary)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = type(self).__new__(type(self))
        new = History(open_backend("memory:"), "memory", counter=self.history.counter)
        self.history.copy_to(new)
        copy_states(self.history, new)
        others = {name: value for name, value in vars(self).items() if name != "_conversation"}
        vars(made).update(deepcopy(others, memo), _conversation=Conversation(new))
        return made


class MemwellMemory(ThreadMemory):
    """A memory in a file, or any store of ours, that is there after a restart and is safe for several processes.

    ``store`` is a path, a URL or an open backend; one store is opened per file and process, however many memories are made.
    ``session_id`` names the conversation and ``user_id`` the space it is in: ``memwell.open(url, space=user_id)`` has it as
    ``thread(session_id)``. Raises what ``open_backend`` raises.
    """

    def __init__(
        self, store: Store = "memwell.db", session_id: str = "default_session", user_id: SpaceLike | None = None
    ) -> None:
        space = DEFAULT_SPACE if user_id is None else user_id
        super().__init__(History(shared_backend(store), session_id, space=space))
        self.session_id = session_id
        self.user_id = user_id

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Put a summary back. The messages are in the store; those that a state has besides are added at the end.

        Raises ``MissingState`` (a ``KeyError``) when it has neither a summary nor messages, unless ``strict`` is off.
        """
        state = state_in(state_dict, type(self).__name__)
        if strict and _SUMMARY not in state_dict and state.content is None:
            raise MissingState(f"the state of {type(self).__name__} has neither {_SUMMARY!r} nor 'content'")
        self._conversation.take_in(state.content or [], state.summary if _SUMMARY in state_dict else None)


class MemoryState(NamedTuple):
    """What a saved state says."""

    summary: str
    content: list[tuple[Msg, list[str]]] | None


def state_in(value: object, owner: str) -> MemoryState:
    """A state of a memory of class ``owner``, of this or of an older layout. Raises ``InvalidInput`` for anything else."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"the state of {owner} must be a mapping, not {shown(value)}")
    state = cast("Mapping[str, Any]", value)
    summary = check_text(state.get(_SUMMARY, ""), "a summary")
    content = state.get("content")
    if content is None:
        return MemoryState(summary, None)
    if not isinstance(content, list | tuple):
        raise InvalidInput(f"the content of a state of {owner} must be a list, not {shown(content)}")
    return MemoryState(summary, [_pair(item, owner) for item in cast("Sequence[object]", content)])


def _pair(item: object, owner: str) -> tuple[Msg, list[str]]:
    if isinstance(item, dict):
        return Msg.from_dict(cast("dict[str, Any]", item)), []
    if not isinstance(item, list | tuple) or len(cast("list[Any]", item)) != 2:
        raise InvalidInput(f"Invalid item format in state_dict for {owner}: {shown(cast(object, item))}")
    message, marks = cast("list[Any]", item)
    return Msg.from_dict(message), marks_in([*cast("Sequence[Any]", marks)] if isinstance(marks, tuple) else marks)


# What the methods of every memory take


def messages_in(memories: object) -> list[Msg]:
    """The messages meant by one, several or none. Raises ``WrongType`` for anything else."""
    if memories is None:
        return []
    if isinstance(memories, Msg):
        return [check_message(memories)]
    if not isinstance(memories, list) or not all(isinstance(one, Msg) for one in cast("list[object]", memories)):
        raise WrongType(f"memories must be a Msg, a list of Msg or None, not {shown(cast(object, memories))}")
    return list(map(check_message, cast("list[Msg]", memories)))


def marks_in(marks: object) -> list[str]:
    """The marks meant by one, several or none, each once. Raises ``WrongType`` for anything that is no text."""
    if marks is None:
        return []
    if isinstance(marks, str):
        return [_mark(marks)]
    if not isinstance(marks, list):
        raise WrongType(f"The mark should be a string, a list of strings, or None, but got {type(marks)}.")
    return list(dict.fromkeys(map(_mark, cast("list[object]", marks))))


def mark_in(mark: object, what: str) -> str | None:
    """One mark or none. Raises ``WrongType`` for anything that is no text."""
    if mark is not None and not isinstance(mark, str):
        raise WrongType(f"The {what} should be a string or None, but got {type(mark)}.")
    return None if mark is None else _mark(mark)


def ids_in(ids: object) -> list[str]:
    """The ids meant. Raises ``WrongType`` for anything but a list of texts."""
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in cast("list[object]", ids)):
        raise WrongType(f"msg_ids must be a list of strings, not {shown(cast(object, ids))}")
    return cast("list[str]", ids)


def refuse_unknown(keywords: Mapping[str, object]) -> None:
    """Raises ``WrongType`` if there is any: a misspelt one would be passed over in silence."""
    for name in keywords:
        raise WrongType(f"add() got an unexpected keyword argument {name!r}")


def _mark(mark: object) -> str:
    if not isinstance(mark, str):
        raise WrongType(f"The mark should be a string or a list of strings, but got {type(mark)}.")
    return check_text(mark, "a mark")


def with_summary(messages: list[Msg], summary: str) -> list[Msg]:
    """The messages, with the summary in front of them when there is one."""
    return [Msg("user", summary, "user"), *messages] if summary else messages


__all__ = [
    "InMemoryMemory",
    "MemoryBase",
    "MemoryState",
    "MemwellMemory",
    "ThreadMemory",
    "WrongType",
    "ids_in",
    "mark_in",
    "marks_in",
    "messages_in",
    "refuse_unknown",
    "state_in",
    "with_summary",
]
