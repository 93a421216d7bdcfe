"""Memories that shorten a conversation: long tool results become previews, old messages a summary.

Both use ``strategies.Compaction``: ``ReMeShortTermMemory`` over its own conversation, ``MemoryWithCompress`` over the
messages that it shows, which it stores apart from the whole history.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import warnings
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, TypeVar, cast

from memwell._asyncify import block_on, run_blocking
from memwell.compat.agentscope.long_term import ToolResponse
from memwell.compat.agentscope.memories import (
    Conversation,
    InMemoryMemory,
    MemoryBase,
    is_ids,
    mark_in,
    marks_in,
    with_summary,
)
from memwell.compat.agentscope.messages import Msg, TextBlock, from_core, messages_in, to_core
from memwell.errors import BadModelOutput, InvalidInput, MemwellError, ModelError
from memwell.history import History
from memwell.messages import Message, Role, human
from memwell.models.ports import ChatModel, as_chat_model
from memwell.runtime.state import MissingState
from memwell.storage.files import replace_file
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend
from memwell.strategies.compaction import READ_TOOL, Compaction, Mode, TaskCompaction, Turns
from memwell.strategies.summary import DEFAULT_TOKENS, ModelSummariser, Summariser
from memwell.tokens import TokenCounter, default_counter
from memwell.transcript import to_openai
from memwell.values import check_count, check_metadata, check_text, check_type, shown

T = TypeVar("T")
Compress: TypeAlias = Callable[[list[Msg]], Awaitable[list[Msg]] | list[Msg]]
Trigger: TypeAlias = Callable[[list[Msg]], Awaitable[bool] | bool]

_NO_FILES: Final = "inmemory"
_NOTICE_TOKENS: Final = 80
_COMPRESSED: Final = (
    "The compression of the previous conversation is: <compressed_memory>\n{text}\n</compressed_memory>"
)
_COMPRESSED_BEFORE: Final = re.compile(r"<compressed_memory>\n(.*)\n</compressed_memory>\Z", re.DOTALL)
_COMPRESSED_TOKENS: Final = 40
"""The most tokens that the words around a summary take."""


# Models


_callers_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("memwell_agentscope_loop", default=None)


async def _run_with_models(call: Callable[[], T]) -> T:
    """Run ``call`` in a thread; async models it calls run in this event loop, which their connections belong to."""
    token = _callers_loop.set(asyncio.get_running_loop())
    try:
        return await run_blocking(call)
    finally:
        _callers_loop.reset(token)


def _in_callers_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the event loop of the caller, or in another one where this thread cannot wait for it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        loop = _callers_loop.get()
        if loop is not None and not loop.is_closed():
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result()
    return block_on(coroutine)


def chat_model(model: Any, formatter: Any = None) -> ChatModel | None:
    """A chat model made of a ``ChatModel``, a function, or a model of AgentScope's kind; None for None.

    AgentScope's kind has a ``model_name``. It is called with what ``formatter`` makes of the messages, or with messages in
    OpenAI's shape. Raises ``InvalidInput`` for anything else.
    """
    if model is None or isinstance(model, ChatModel):
        return model
    if hasattr(model, "complete"):
        return as_chat_model(model)
    if not callable(model):
        raise InvalidInput(f"a model must be a ChatModel, a function or one of AgentScope's, not {shown(model)}")
    name = getattr(model, "model_name", None)

    def ask(messages: Sequence[Message]) -> Any:
        answer = _asked(model, formatter, messages) if isinstance(name, str) else model(messages)
        return _in_callers_loop(_answer(answer)) if inspect.isawaitable(answer) else answer

    return as_chat_model(ask, name=name if isinstance(name, str) else getattr(model, "__qualname__", None))


async def _answer(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _asked(model: Callable[..., Any], formatter: Any, messages: Sequence[Message]) -> str:
    if formatter is None:
        given: Any = to_openai(messages)
    else:
        # AgentScope's own formatters take messages of its own class alone.
        theirs = sys.modules.get("agentscope.message") if type(formatter).__module__.startswith("agentscope.") else None
        make = getattr(theirs, "Msg", Msg)
        given = await _answer(
            formatter.format([make(one.name, one.content, one.role) for one in map(from_core, messages)])
        )
    answer: Any = await _answer(model(given))
    if isinstance(answer, AsyncIterable):
        # Every piece of a stream repeats what came before it.
        async for piece in cast("AsyncIterable[Any]", answer):
            answer = piece
    return _words(cast(Any, answer))


def _words(answer: Any) -> str:
    """The text of an answer: a text, or an object or dict with a text or blocks as its content."""
    if isinstance(answer, str):
        return answer
    fields = cast("Mapping[str, Any]", answer if isinstance(answer, Mapping) else getattr(answer, "__dict__", {}))
    content = fields.get("content")
    if isinstance(content, str) and content:
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list | tuple) else []
    said = [cast("dict[str, Any]", block) for block in blocks if isinstance(block, dict)]
    texts = [str(block["text"]) for block in said if block.get("type") == "text"]
    if texts:
        return "\n".join(texts)
    raise BadModelOutput(f"the model answered without a text: {shown(cast(object, answer))}")


class _Counted:
    """Makes a ``TokenCounter`` of AgentScope's kind of counter, whose ``count`` takes messages in OpenAI's shape."""

    encoding = "agentscope"

    def __init__(self, counter: Any) -> None:
        self._counter = counter

    def count(self, text: str) -> int:
        return self.count_message(human(text)) if text else 0

    def count_message(self, message: Message) -> int:
        return int(_in_callers_loop(_answer(self._counter.count(to_openai([message])))))


def _is_summary(message: Message) -> bool:
    return message.index is None and message.metadata.get("strategy") == "summary"


class ReMeShortTermMemory(InMemoryMemory):
    """A conversation shortened to ``max_total_tokens``; the task and every tool result, or its handle, stay in view.

    A tool result over ``max_tool_message_tokens`` is shown as a preview with a handle, which ``read_tool_result`` opens; in
    the last ``keep_recent_count`` messages it stays whole as long as everything fits. When that is not enough, old turns
    become a summary, but the last ``keep_recent_count`` messages stay as long as they fit. ``working_summary_mode`` is
    ``auto`` for both, ``compact`` for previews alone, ``compress`` for the summary alone. All messages stay stored. The
    task is what a person said first and last. The task and the handles of results that are no longer among the turns come
    before them, and take at most half of the tokens: a longer task is cut, and of more handles the latest are listed.

    ``model`` writes the summary: a ``ChatModel``, a function or a model of AgentScope's kind; without one the sentences
    that say most are kept. With a ``store_dir`` what has a handle is also written there for people. Other settings
    have no effect. Raises ``InvalidInput`` (a ``ValueError``) for another mode, a limit below 0 and what is no model.
    """

    def __init__(
        self,
        model: Any = None,
        reme_config_path: str | None = None,
        working_summary_mode: Mode = "auto",
        compact_ratio_threshold: float = 0.75,
        max_total_tokens: int = 20_000,
        max_tool_message_tokens: int = 2_000,
        group_token_threshold: int | None = None,
        keep_recent_count: int = 10,
        store_dir: str = _NO_FILES,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self._conversation = Conversation(Turns(cast(Backend, self.history.backend), "memory"))
        self.model = chat_model(model)
        self.working_summary_mode: Mode = working_summary_mode
        self.max_total_tokens = check_count(max_total_tokens, "max_total_tokens")
        self.max_tool_message_tokens = check_count(max_tool_message_tokens, "max_tool_message_tokens")
        self.keep_recent_count = check_count(keep_recent_count, "keep_recent_count")
        self.store_dir = store_dir
        self._written: set[str] = set()
        self._compaction = self._made()

    def _made(self) -> TaskCompaction:
        summariser: Summariser | None = None
        if self.model is not None:
            tokens = max(min(DEFAULT_TOKENS, self.max_total_tokens // 2), 1)
            summariser = ModelSummariser(self.model, tokens=tokens)
        return TaskCompaction(
            self.history,
            tokens=self.max_total_tokens,
            tool_tokens=self.max_tool_message_tokens,
            preview_tokens=min(200, self.max_tool_message_tokens // 4),
            keep_recent=self.keep_recent_count,
            mode=self.working_summary_mode,
            summariser=summariser,
        )

    @property
    def compaction(self) -> Compaction:
        """The strategy that makes the view: it has ``summary``, ``offloaded``, ``fetch`` and ``restart``."""
        return self._compaction

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing: there is no connection to close."""

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True, **kwargs: Any
    ) -> list[Msg]:
        """The shortened conversation without the messages that have ``exclude_mark``; summaries first if wanted.

        Those with ``mark`` are not shortened. When the model fails that is a warning, nothing is summarised, and messages
        that no longer fit are left out until the model succeeds.
        """
        if mark is not None:
            return await super().get_memory(mark, exclude_mark, prepend_summary)
        exclude = mark_in(exclude_mark, "exclude_mark")
        left_out = [] if exclude is None else await super().get_memory(exclude, prepend_summary=False)
        view, failures = await _run_with_models(self._view)
        for failure in failures:
            warnings.warn(failure, stacklevel=2)
        excluded = {one.id for one in left_out}
        kept = [self._shown(one) for one in view if prepend_summary or not _is_summary(one)]
        found = [one for one in kept if one.id not in excluded]
        return with_summary(found, self._compressed_summary if prepend_summary else "")

    def _shown(self, message: Message) -> Msg:
        if not _is_summary(message):
            return from_core(message)
        # A message of the user and not instructions, because it is made of what anyone said.
        summary = with_summary([], message.text)[0]
        summary.id = message.id
        return summary

    def _view(self) -> tuple[list[Message], list[str]]:
        failures: list[str] = []
        try:
            self._compaction.observe()
        except ModelError as error:
            failures.append(f"Error summarising the working memory: {error}")
        try:
            self._write_files()
        except OSError as error:
            failures.append(f"Error writing tool results to {self.store_dir!r}: {error}")
        return self._compaction.recall(), failures

    def _write_files(self) -> None:
        if self.store_dir == _NO_FILES:
            return
        folder = Path(self.store_dir)
        for kept in self._compaction.offloaded():
            if kept.handle not in self._written:
                folder.mkdir(parents=True, exist_ok=True)
                replace_file(folder / f"{kept.handle}.txt", self._compaction.fetch(kept.handle).encode())
                self._written.add(kept.handle)

    async def read_tool_result(self, handle: str, start: int = 0, tokens: int | None = None) -> ToolResponse:
        """Read a tool result of this conversation that is shown shortened.

        Args:
            handle: The handle that the preview names.
            start: The character to begin at.
            tokens: How much to read at most.
        """
        # An answer over the limit would be shown shortened itself.
        most = max(self.max_tool_message_tokens - _NOTICE_TOKENS, 1)
        try:
            text = await self._compaction.afetch(handle, start=start, tokens=min(tokens or most, most))
            length = len(await self._compaction.afetch(handle))
        except MemwellError as error:
            return ToolResponse([TextBlock(type="text", text=f"Error reading the tool result: {error}")])
        end = start + len(text)
        if end < length:
            text += f'\n[{end:,} of {length:,} characters; go on with {READ_TOOL}(handle="{handle}", start={end})]'
        return ToolResponse([TextBlock(type="text", text=text)])


# Storages of MemoryWithCompress


class MessageStorageBase:
    """Messages in order, in a ``History`` of any store. A subclass that keeps them elsewhere overrides the first five."""

    def __init__(self, history: History) -> None:
        self._conversation = Conversation(history)

    async def add(self, msgs: list[Msg]) -> None:
        """Add messages at the end."""
        await self._conversation.run(lambda: self._conversation.add(messages_in(msgs), allow_duplicates=True))

    async def delete(self, indices: Iterable[int] | int) -> None:
        """Remove the messages at these places, counted from 0. Raises ``NoSuchPlace`` for a place without a message."""
        await self._conversation.run(lambda: self._conversation.delete_at(indices))

    async def clear(self) -> None:
        """Remove all messages."""
        await self.replace([])

    async def get(self) -> list[Msg]:
        """All messages."""
        return await self._conversation.run(self._conversation.messages)

    async def replace(self, msgs: list[Msg]) -> None:
        """Replace all messages by these."""
        await self._conversation.run(lambda: self._conversation.replace([(one, []) for one in messages_in(msgs)], ""))

    async def size(self) -> int:
        """How many messages there are."""
        return await self._conversation.run(self._conversation.size)

    async def known(self, ids: Iterable[str]) -> set[str]:
        """The ids of these that stored messages have."""
        return await self._conversation.run(lambda: self._conversation.known(ids))


class InMemoryMessageStorage(MessageStorageBase):
    """Messages that last as long as the object."""

    def __init__(self) -> None:
        super().__init__(History(open_backend("memory:"), "messages"))


def _storage(value: Any, what: str) -> Any:
    """A new storage in memory for None, one over a ``History``, or the storage given. Raises ``InvalidInput``."""
    if value is None:
        return InMemoryMessageStorage()
    if isinstance(value, History):
        return MessageStorageBase(value)
    if all(callable(getattr(value, name, None)) for name in ("add", "delete", "clear", "get", "replace")):
        return value
    raise InvalidInput(f"{what} must be a storage of messages or a History, not {shown(value)}")


class MemoryWithCompress(MemoryBase):
    """The whole history in ``chat_history_storage``, and the messages an agent gets in ``memory_storage``.

    When the latter are over ``max_token``, or ``compression_trigger_func`` says so, they are compressed: on reading, or
    also on adding. Instructions in front stay, old messages become one message, and the latest stay, at least
    ``keep_recent`` of them where they fit; a tool call and its result are never separated. A ``compress_func`` gets all
    messages, and its result replaces them. A storage is a ``History``, an object with AgentScope's methods, or None for one
    in memory. ``model`` is a ``ChatModel``, a function, one of AgentScope's kind, or None: then the sentences that say most
    are kept. Without a ``token_counter`` tokens are counted exactly. Raises ``InvalidInput`` for anything else and for a
    limit below 0.
    """

    def __init__(
        self,
        model: Any = None,
        formatter: Any = None,
        max_token: int = 28_000,
        chat_history_storage: MessageStorageBase | History | None = None,
        memory_storage: MessageStorageBase | History | None = None,
        token_counter: Any = None,
        compress_func: Compress | None = None,
        compression_trigger_func: Trigger | None = None,
        compression_on_add: bool = False,
        compression_on_get: bool = True,
        *,
        keep_recent: int = 3,
    ) -> None:
        super().__init__()
        self.model = chat_model(model, formatter)
        self.formatter = formatter
        self.max_token = check_count(max_token, "max_token")
        self.chat_history_storage = _storage(chat_history_storage, "chat_history_storage")
        self.memory_storage = _storage(memory_storage, "memory_storage")
        self.token_counter = token_counter
        self.compress_func = compress_func
        self.compression_trigger_func = compression_trigger_func
        self.compression_on_add = bool(compression_on_add)
        self.compression_on_get = bool(compression_on_get)
        self.keep_recent = check_count(keep_recent, "keep_recent")
        self._counter = _counter(token_counter)
        self._marks: dict[str, set[str]] = {}
        # Held while something is stored, never while a model is called.
        self._storing = asyncio.Lock()

    async def add(  # pyright: ignore[reportIncompatibleMethodOverride] - AgentScope's own class differs here too
        self,
        msgs: Msg | Sequence[Msg] | None,
        compress_func: Compress | None = None,
        compression_trigger_func: Trigger | None = None,
        *,
        marks: str | list[str] | None = None,
    ) -> None:
        """Add a message or several to both storages; one whose id was there before is skipped, None adds nothing.

        Raises ``WrongType`` (a ``TypeError``) for anything but messages, and for marks that are not text. After an error
        the same messages can be added again.
        """
        wanted, messages = marks_in(marks), messages_in(msgs)
        async with self._storing:
            said = await _known(self.chat_history_storage, messages)
            fresh = {one.id: deepcopy(one) for one in messages if one.id not in said}
            # The history comes last: a second try after an error looks for the messages there.
            shown_now = await _known(self.memory_storage, messages)
            await self.memory_storage.add([one for id_, one in fresh.items() if id_ not in shown_now])
            await self.chat_history_storage.add(list(fresh.values()))
        for mark in wanted:
            self._marks.setdefault(mark, set()).update(fresh)
        if self.compression_on_add:
            await self._compress_if_needed(compress_func, compression_trigger_func)

    async def get_memory(  # pyright: ignore[reportIncompatibleMethodOverride] - AgentScope's own class differs here too
        self,
        recent_n: int | None = None,
        filter_func: Callable[[int, Msg], bool] | None = None,
        compress_func: Compress | None = None,
        compression_trigger_func: Trigger | None = None,
        *,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The messages of ``memory_storage``, compressed if necessary, filtered by ``filter_func``, the last ``recent_n``.

        With ``mark`` or ``exclude_mark`` those that have one mark and not the other. When the model fails that is a
        warning and nothing changes; then the instructions in front are returned and as many of the latest messages as fit.
        """
        mark, exclude = mark_in(mark, "mark"), mark_in(exclude_mark, "exclude_mark")
        too_long = self.compression_on_get and await self._compress_if_needed(compress_func, compression_trigger_func)
        found = await self.memory_storage.get()
        if too_long:
            found = await run_blocking(partial(self._window, found))
        if mark is not None:
            found = [one for one in found if one.id in self._marked(mark)]
        found = [one for one in found if exclude is None or one.id not in self._marked(exclude)]
        if filter_func is not None:
            found = [one for place, one in enumerate(found) if filter_func(place, one)]
        if recent_n is not None and recent_n > 0:
            found = found[-recent_n:]
        return with_summary(found, self._compressed_summary if prepend_summary else "")

    async def size(self) -> int:
        """How many messages the history has."""
        storage = self.chat_history_storage
        return await storage.size() if _is_ours(storage) else len(await storage.get())

    async def delete(self, indices: Iterable[int] | int | list[str], **kwargs: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Remove the messages at these places, or of these ids, from ``memory_storage``; the history keeps them.

        Returns how many. Raises ``NoSuchPlace`` (an ``IndexError``) for a place without a message.
        """
        async with self._storing:
            return await _removed(self.memory_storage, indices)

    async def delete_by_mark(self, mark: str | list[str], *args: Any, **kwargs: Any) -> int:
        """Remove the messages with one of these marks from both storages; returns how many there were.

        An agent marks what is only for its next step, such as a hint, which is no part of the conversation.
        """
        ids = [id_ for one in marks_in(mark) for id_ in self._marks.pop(one, ())]
        if not ids:
            return 0
        async with self._storing:
            await _removed(self.memory_storage, ids)
            return await _removed(self.chat_history_storage, ids)

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """As ``ThreadMemory.update_messages_mark``, among the messages of ``memory_storage``."""
        new, old = mark_in(new_mark, "new_mark"), mark_in(old_mark, "old_mark")
        chosen = {one.id for one in await self.memory_storage.get()}
        chosen &= chosen if msg_ids is None else set(msg_ids)
        chosen &= chosen if old is None else self._marked(old)
        changed: set[str] = set() if new == old else chosen if old is not None else chosen - self._marked(new)
        if old is not None:
            self._marks[old] = self._marked(old) - changed
        if new is not None:
            self._marks[new] = self._marked(new) | changed
        return len(changed)

    def _marked(self, mark: str | None) -> set[str]:
        return self._marks.get(mark or "", set())

    async def clear(self) -> None:
        """Remove everything from both storages."""
        async with self._storing:
            await self.memory_storage.clear()
            await self.chat_history_storage.clear()
            self._marks.clear()

    # Compressing

    async def _compress_if_needed(self, compress_func: Compress | None, trigger: Trigger | None) -> bool:
        """Returns whether it was too long and still is, because the model failed or nothing could be summarised."""
        before = await self.memory_storage.get()
        too_long = await run_blocking(partial(self._tokens, before)) > self.max_token
        asks = trigger or self.compression_trigger_func
        if not too_long and (asks is None or not await _answer(asks(before))):
            return False
        compress = compress_func or self.compress_func or self._compressed
        try:
            after = messages_in(await _answer(compress([*before])))
        except ModelError as error:
            warnings.warn(f"Error compressing the memory: {error}", stacklevel=3)
            return too_long
        if after != before:
            async with self._storing:
                now = await self.memory_storage.get()
                # Unless it was changed meanwhile; what was added meanwhile stays.
                if [one.id for one in now[: len(before)]] == [one.id for one in before]:
                    await self.memory_storage.replace([*map(deepcopy, after), *now[len(before) :]])
        return too_long and after == before

    async def _compressed(self, messages: list[Msg]) -> list[Msg]:
        return await _run_with_models(partial(self._folded, messages))

    def _folded(self, messages: list[Msg]) -> list[Msg]:
        """The instructions, one message that sums up the middle, and the latest. Raises ``ModelError``."""
        # A trigger may ask before the limit is reached: then half of the tokens stay.
        limit = self.max_token if (size := self._tokens(messages)) > self.max_token else size // 2
        front, rest = self._parted(messages)
        summariser: Summariser | None = None
        if self.model is not None:
            summariser = ModelSummariser(self.model, tokens=max(min(DEFAULT_TOKENS, limit // 2), 1))
        strategy = Compaction(
            self._rounds(rest),
            tokens=max(limit - self._tokens(front) - _COMPRESSED_TOKENS, 0),
            keep_recent=self.keep_recent,
            mode="compress",
            summariser=summariser,
        )
        strategy.observe()
        if not strategy.summary:
            return messages
        latest = {one.id for one in strategy.recall()}
        cut = next((place for place, one in enumerate(rest) if one.id in latest), len(rest))
        compressed = Msg("assistant", _COMPRESSED.format(text=strategy.summary), "assistant")
        return [*front, compressed, *rest[cut:]]

    def _window(self, messages: list[Msg]) -> list[Msg]:
        """The instructions in front and the latest messages that fit."""
        front, rest = self._parted(messages)
        window = self._rounds(rest).window(tokens=max(self.max_token - self._tokens(front), 0))
        fitting = {one.id for one in window}
        return [*front, *(one for one in rest if one.id in fitting)]

    def _parted(self, messages: list[Msg]) -> tuple[list[Msg], list[Msg]]:
        """The instructions in front, and the rest."""
        places = (place for place, one in enumerate(messages) if to_core(one).role is not Role.SYSTEM)
        first = next(places, len(messages))
        return messages[:first], messages[first:]

    def _rounds(self, messages: Sequence[Msg]) -> History:
        """The messages as a conversation in memory; of an earlier compression only the summary."""
        history = Turns(open_backend("memory:"), "shown", counter=self._counter)
        history.add(*map(_uncompressed, messages))
        return history

    def _tokens(self, messages: Sequence[Msg]) -> int:
        return sum(self._counter.count_message(to_core(one)) for one in messages)

    # State

    def state_dict(self) -> dict[str, Any]:
        """Both storages, the marks, and the limit."""
        return {
            **super().state_dict(),
            "max_token": self.max_token,
            "marks": {mark: sorted(ids) for mark, ids in self._marks.items() if ids},
            "chat_history_storage": [one.to_dict() for one in block_on(self.chat_history_storage.get())],
            "memory_storage": [one.to_dict() for one in block_on(self.memory_storage.get())],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Replace everything by a state.

        Raises ``MissingState`` (a ``KeyError``) for a part that it lacks, which stays as it is when ``strict`` is off, and
        ``InvalidInput`` for an invalid state. Then nothing changes.
        """
        check_type(state_dict, Mapping, "a state must be a mapping")
        for name in ("max_token", "chat_history_storage", "memory_storage"):
            if name not in state_dict and strict:
                raise MissingState(f"the state of {type(self).__name__} has no {name!r}")
        limit = check_count(state_dict.get("max_token", self.max_token), "max_token")
        summary = check_text(state_dict.get("_compressed_summary", self._compressed_summary), "a summary")
        said = _written(state_dict, "chat_history_storage")
        shown_now = _written(state_dict, "memory_storage")
        # A state of an earlier memwell has no marks.
        held = check_metadata(state_dict.get("marks", {}), "the marks of a state")
        marked = {mark: set(marks_in(ids)) for mark, ids in held.items()}
        for storage, messages in ((self.chat_history_storage, said), (self.memory_storage, shown_now)):
            if messages is not None:
                block_on(storage.replace(messages))
        self.max_token, self._compressed_summary, self._marks = limit, summary, marked


def _is_ours(storage: Any) -> bool:
    # A subclass with messages of its own need not have more than AgentScope's five methods.
    return isinstance(storage, MessageStorageBase) and type(storage).get is MessageStorageBase.get


async def _removed(storage: Any, indices: Any) -> int:
    """How many messages at these places, or of these ids, there were in a storage; now there is none."""
    before = await storage.get()
    by_id = is_ids(indices)
    await storage.delete([place for place, one in enumerate(before) if one.id in indices] if by_id else indices)
    return len(before) - len(await storage.get())


async def _known(storage: Any, messages: Sequence[Msg]) -> set[str]:
    """The ids of these messages that a storage has."""
    if _is_ours(storage):
        return await storage.known(one.id for one in messages)
    return {one.id for one in await storage.get()}


def _uncompressed(message: Msg) -> Message:
    text = message.content if message.role == "assistant" and isinstance(message.content, str) else ""
    found = _COMPRESSED_BEFORE.search(text)
    return to_core(message) if found is None else to_core(message).changed(content=found[1])


def _counter(counter: Any) -> TokenCounter:
    if counter is None or hasattr(counter, "count_message"):
        return counter or default_counter()
    if not callable(getattr(counter, "count", None)):
        raise InvalidInput(f"a token_counter must have a method count, and {shown(counter)} has not")
    return _Counted(counter)


def _written(state: Mapping[str, Any], name: str) -> list[Msg] | None:
    written = state.get(name)
    if written is None:
        return None
    if not isinstance(written, list | tuple):
        raise InvalidInput(f"{name} of a state must be a list, not {shown(written)}")
    return [Msg.from_dict(one) for one in cast("Sequence[Any]", written)]
