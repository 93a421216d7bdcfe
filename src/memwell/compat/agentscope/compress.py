"""A memory that keeps all that was said, and apart from it what an agent is shown: compressed when it grows too long."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Final, TypeAlias, cast

from memwell._asyncify import block_on, run_blocking
from memwell.compat.agentscope.chat_models import asking_from_here, chat_model
from memwell.compat.agentscope.core_messages import to_core
from memwell.compat.agentscope.memories import MemoryBase, messages_in, refuse_unknown, with_summary
from memwell.compat.agentscope.message_storage import MessageStorageBase, ThreadMessageStorage, as_storage, places_in
from memwell.compat.agentscope.messages import Msg
from memwell.errors import BadModelOutput, InvalidInput, ModelError, Unsupported
from memwell.history import History
from memwell.messages import Message, Role, ai, human
from memwell.models.ports import ChatModel
from memwell.runtime.state import MissingState
from memwell.strategies.summary import Extractive, ModelSummariser, Summariser, checked_summary, condensed
from memwell.tokens import default_counter
from memwell.transcript import to_openai
from memwell.values import check_count, check_text, shown

Compress: TypeAlias = Callable[[list[Msg]], Awaitable[list[Msg]] | list[Msg]]
Trigger: TypeAlias = Callable[[list[Msg]], Awaitable[bool] | bool]

_COMPRESSED: Final = (
    "The compression of the previous conversation is: <compressed_memory>\n{text}\n</compressed_memory>"
)
_COMPRESSED_AGAIN: Final = re.compile(r"<compressed_memory>\n(.*)\n</compressed_memory>\Z", re.DOTALL)
_SCHEMA: Final = {
    "type": "object",
    "properties": {"compressed_text": {"type": "string", "description": "What the messages say, in short."}},
    "required": ["compressed_text"],
}
_SHARE_OF_SUMMARY: Final = 4
_SHARE_OF_TAIL: Final = 2


class MemoryWithCompress(MemoryBase):
    """All that was said in ``chat_history_storage``, and in ``memory_storage`` what an agent is shown of it.

    When that is over ``max_token``, or ``compression_trigger_func`` says so, it is compressed: on reading, or also on
    adding. Instructions in front and the last ``keep_recent`` messages stay, as far as those take no more than half; a tool
    call and its result never part; the rest becomes one message. A ``compress_func`` of your own is given all of it, and
    what it returns is put in its place. A storage is a ``History``, an object with AgentScope's methods, or None for one in
    memory that nobody else has. ``model`` is a ``ChatModel``, a function, one of AgentScope's kind, or None: then the
    sentences that say most are kept. Without a ``token_counter`` tokens are counted exactly. Raises ``InvalidInput`` for
    what is none of these and for a limit below 0.
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
        customized_compression_prompt: str | None = None,
        *,
        keep_recent: int = 3,
    ) -> None:
        super().__init__()
        self.model = chat_model(model, formatter)
        self.formatter = formatter
        self.max_token = check_count(max_token, "max_token")
        self.chat_history_storage = as_storage(chat_history_storage, "chat_history_storage")
        self.memory_storage = as_storage(memory_storage, "memory_storage")
        self.token_counter = _counter(token_counter)
        self.compress_func = compress_func
        self.compression_trigger_func = compression_trigger_func
        self.compression_on_add = bool(compression_on_add)
        self.compression_on_get = bool(compression_on_get)
        self.customized_compression_prompt = _prompt(customized_compression_prompt)
        self.keep_recent = check_count(keep_recent, "keep_recent")
        self._compressor = _Compressor(
            self.model, self.customized_compression_prompt, self.token_counter, self.keep_recent
        )
        # Held while something is stored, never while a model is asked.
        self._storing = asyncio.Lock()

    # Adding

    async def add(  # pyright: ignore[reportIncompatibleMethodOverride] - AgentScope's own class differs here too
        self,
        msgs: Msg | Sequence[Msg] | None,
        compress_func: Compress | None = None,
        compression_trigger_func: Trigger | None = None,
        *,
        marks: str | list[str] | None = None,
        allow_duplicates: bool = False,
        skip_duplicated: bool = True,
        **kwargs: Any,
    ) -> None:
        """Add a message or several to both storages; one whose id was there before is passed over, None adds nothing.

        Raises ``WrongType`` (a ``TypeError``) for what is no message and for an unknown keyword, ``InvalidInput`` when
        duplicates are to be kept, and ``Unsupported`` for marks. What failed half-way can be added again.
        """
        refuse_unknown(kwargs)
        _refuse_marks(marks)
        if allow_duplicates or not skip_duplicated:
            raise InvalidInput("MemoryWithCompress holds a message once; InMemoryMemory takes it twice")
        fresh = {one.id: one for one in reversed(_messages(msgs))}
        async with self._storing:
            for one in await self.chat_history_storage.known(fresh):
                del fresh[one]
            # First what is shown: were the history first and this to fail, a second try would take it for done.
            shown_already = await self.memory_storage.known(fresh)
            added = list(map(deepcopy, reversed(fresh.values())))
            await self.memory_storage.add([one for one in added if one.id not in shown_already])
            await self.chat_history_storage.add(added)
        if self.compression_on_add:
            await self._compress_if_needed(compress_func, compression_trigger_func)

    async def direct_update_memory(self, msgs: Msg | Sequence[Msg] | None) -> None:
        """Put messages in the place of all that is shown; the history stays as it is. None changes nothing."""
        if msgs is not None:
            await self._show(_messages(msgs))

    async def _show(self, messages: Iterable[Msg]) -> None:
        each_once = {one.id: one for one in messages}
        async with self._storing:
            await self.memory_storage.replace(list(map(deepcopy, each_once.values())))

    # Reading

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
        """What is shown, compressed first if need be; of it what ``filter_func`` lets pass, and of that the last ones.

        When the model fails that is a warning and nothing changes; then the instructions in front are returned and as many
        of the latest messages as fit. Raises ``Unsupported`` for a ``mark``: messages here have none, so there is none to
        leave out either.
        """
        _refuse_marks(mark)
        fits = not self.compression_on_get or await self._compress_if_needed(compress_func, compression_trigger_func)
        found = await self.memory_storage.get()
        if not fits:
            found = await self._compressor.cut(found, self.max_token)
        if filter_func is not None:
            found = [one for place, one in enumerate(found) if filter_func(place, one)]
        if recent_n is not None and recent_n > 0:
            found = found[-recent_n:]
        return with_summary(found, self._compressed_summary if prepend_summary else "")

    async def size(self) -> int:
        """How many messages were said, compressed or not."""
        return await self.chat_history_storage.size()

    async def retrieve(self, *args: Any, **kwargs: Any) -> None:
        """There is none. Raises ``NotImplementedError``."""
        raise NotImplementedError("Use get_memory() instead of retrieve() for MemoryWithCompress")

    # Taking out

    async def delete(self, indices: Iterable[int] | int | list[str], **kwargs: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take out of what is shown the messages at these places, or of these ids; the history keeps them.

        Returns how many. Raises ``NoSuchPlace`` (an ``IndexError``) for a place where there is none.
        """
        async with self._storing:
            if isinstance(indices, list) and indices and all(isinstance(one, str) for one in indices):
                found = await self.memory_storage.get()
                places = [place for place, one in enumerate(found) if one.id in indices]
            else:
                places = places_in(indices)
            if places:
                await self.memory_storage.delete(places)
            return len(places)

    async def clear(self) -> None:
        """Take everything out of both storages."""
        async with self._storing:
            await self.memory_storage.clear()
            await self.chat_history_storage.clear()

    # Compressing

    async def check_and_compress(
        self,
        compress_func: Compress | None = None,
        compression_trigger_func: Trigger | None = None,
        memory: list[Msg] | None = None,
    ) -> tuple[bool, list[Msg]]:
        """Whether the trigger asks for compression of ``memory``, or of what is shown, and what comes of it.

        Nothing is stored. Raises what the two functions raise, and ``ModelError``.
        """
        messages = await self.memory_storage.get() if memory is None else memory
        trigger = compression_trigger_func or self.compression_trigger_func
        if trigger is None or not await _answer(trigger(messages)):
            return False, messages
        compress = compress_func or self.compress_func or self._compressed
        return True, _messages(await _answer(compress(messages)))

    async def _compress_if_needed(self, compress_func: Compress | None, trigger: Trigger | None) -> bool:
        """Returns False when it was too long and still is, because the model failed."""
        before = await self.memory_storage.get()
        too_long = bool(before) and await self._compressor.tokens(before) > self.max_token
        try:
            asked, after = await self.check_and_compress(compress_func, _always if too_long else trigger, [*before])
        except ModelError as error:
            warnings.warn(f"Error compressing the memory: {error}", stacklevel=3)
            return not too_long
        if asked:
            await self._put(before, after)
        return True

    async def _put(self, before: list[Msg], after: list[Msg]) -> None:
        """Put what was compressed in its place, unless that was changed meanwhile; what came since stays behind it."""
        async with self._storing:
            now = await self.memory_storage.get()
            if [one.id for one in now[: len(before)]] == [one.id for one in before]:
                await self.memory_storage.replace([*map(deepcopy, after), *now[len(before) :]])

    async def _compressed(self, messages: list[Msg]) -> list[Msg]:
        return await self._compressor.compressed(messages, self.max_token)

    # State

    def state_dict(self) -> dict[str, Any]:
        """Both storages, and the limit."""
        return {
            **super().state_dict(),
            "max_token": self.max_token,
            "chat_history_storage": [one.to_dict() for one in _held(self.chat_history_storage)],
            "memory_storage": [one.to_dict() for one in _held(self.memory_storage)],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Put a state in the place of all there is; also AgentScope's own, and one without messages.

        Raises ``MissingState`` (a ``KeyError``) for a part that it lacks, which otherwise stays as it is when ``strict`` is
        off, and ``InvalidInput`` for what is no state. Then everything is as it was.
        """
        state = _state(state_dict)
        missing = [name for name in ("max_token", "chat_history_storage", "memory_storage") if name not in state]
        if missing and strict:
            raise MissingState(f"the state of {type(self).__name__} has no {missing[0]!r}")
        limit = check_count(state.get("max_token", self.max_token), "max_token")
        summary = check_text(state.get("_compressed_summary", self._compressed_summary), "a summary")
        history = _written(state, "chat_history_storage")
        shown_now = _written(state, "memory_storage")
        before = _held(self.chat_history_storage)
        try:
            _hold(self.chat_history_storage, history)
            _hold(self.memory_storage, shown_now)
        except BaseException:
            _hold(self.chat_history_storage, before)
            raise
        self.max_token, self._compressed_summary = limit, summary


class _Compressor:
    """Makes one message of the middle of a conversation."""

    def __init__(self, model: ChatModel | None, prompt: str | None, counter: Any, keep_recent: int) -> None:
        self._model = model
        self._prompt = prompt
        self._counter = counter
        self._keep_recent = keep_recent

    async def compressed(self, messages: list[Msg], limit: int) -> list[Msg]:
        """Instructions in front, then all up to the last few as one message, then those. Raises ``ModelError``."""
        front = _instructions(messages)
        cut = front + await self._tail(messages[front:], limit)
        old = [match[1] for one in messages[front:cut] if (match := _compressed_before(one))]
        spoken = [to_core(one) for one in messages[front:cut] if not _compressed_before(one)]
        if not any(one.text.strip() for one in spoken):
            return messages
        with asking_from_here():
            text = await run_blocking(partial(self._summed_up, "\n".join(old), spoken, limit))
        return [*messages[:front], Msg("assistant", _COMPRESSED.format(text=text), "assistant"), *messages[cut:]]

    def _summed_up(self, old: str, messages: list[Message], limit: int) -> str:
        share = max(limit // _SHARE_OF_SUMMARY, 1)
        summariser = self._summariser(share, limit)
        who = type(summariser).__name__
        answer = _structured(checked_summary(summariser.fold(old, messages), who))
        # One that is a little too long is no reason to lose it, but it must not fill the memory again.
        return checked_summary(condensed(answer, limit=share, size=default_counter().count), who)

    def _summariser(self, share: int, limit: int) -> Summariser:
        if self._model is None:
            return Extractive(share)
        if self._prompt is None:
            return ModelSummariser(self._model, tokens=share)
        return _Prompted(self._model, self._prompt, limit)

    async def _tail(self, messages: list[Msg], limit: int) -> int:
        """The place from which on messages stay as they are."""
        for cut in range(max(len(messages) - self._keep_recent, 0), len(messages)):
            fits = await self.tokens(messages[cut:]) <= limit // _SHARE_OF_TAIL
            if fits and not _parts_a_pair(messages[:cut], messages[cut:]):
                return cut
        # A call whose result is still to come stays, however long it is.
        return len(messages) - 1 if messages and messages[-1].has_content_blocks("tool_use") else len(messages)

    async def cut(self, messages: list[Msg], limit: int) -> list[Msg]:
        """The instructions in front, and as many of the latest messages as fit beside them; no result without its call."""
        front = _instructions(messages)
        low, high = front, len(messages)
        while low < high:
            middle = (low + high) // 2
            if await self.tokens([*messages[:front], *messages[middle:]]) <= limit:
                high = middle
            else:
                low = middle + 1
        while _parts_a_pair(messages[front:low], messages[low:]):
            low += 1
        return [*messages[:front], *messages[low:]]

    async def tokens(self, messages: Sequence[Msg]) -> int:
        """How many tokens the messages take, as the counter says."""
        core = list(map(to_core, messages))
        counter: Any = default_counter() if self._counter is None else self._counter
        if hasattr(counter, "count_message"):
            return sum(map(counter.count_message, core))
        return await _answer(counter.count(to_openai(core)))


class _Prompted:
    """Lets a model compress by a prompt of the user's."""

    def __init__(self, model: ChatModel, template: str, max_token: int) -> None:
        self._model = model
        self._template = template
        self._max_token = max_token

    def fold(self, summary: str, messages: Sequence[Message]) -> str:
        given = to_openai([*([ai(summary)] if summary else []), *messages])
        prompt = _filled(self._template, self._max_token, json.dumps(given, ensure_ascii=False, indent=2))
        answer = self._model.complete([human(prompt)])
        if answer.finish == "length":
            raise BadModelOutput(f"{self._model.name} was cut off before its summary was complete")
        return answer.text


def _prompt(template: str | None) -> str | None:
    if template is None:
        return None
    try:
        _filled(check_text(template, "customized_compression_prompt"), 0, "")
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        places = "{max_token}, {messages_list_json} and {schema_json}"
        raise InvalidInput(f"customized_compression_prompt may have {places} in braces, not {error}") from error
    return template


def _filled(template: str, max_token: int, messages: str) -> str:
    return template.format(max_token=max_token, messages_list_json=messages, schema_json=json.dumps(_SCHEMA))


def _structured(answer: str) -> str:
    """What a model says that was asked for JSON, or as good as that."""
    try:
        data = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    text = cast("dict[str, Any]", data).get("compressed_text") if isinstance(data, dict) else None
    return text if isinstance(text, str) else answer


def _instructions(messages: Sequence[Msg]) -> int:
    """How many messages in front are instructions."""
    places = (place for place, one in enumerate(messages) if to_core(one).role is not Role.SYSTEM)
    return next(places, len(messages))


def _compressed_before(message: Msg) -> re.Match[str] | None:
    text = message.content if message.role == "assistant" else None
    return _COMPRESSED_AGAIN.search(text) if isinstance(text, str) else None


def _parts_a_pair(earlier: Sequence[Msg], later: Sequence[Msg]) -> bool:
    called = {block["id"] for one in earlier for block in one.get_content_blocks("tool_use")}
    return any(block["id"] in called for one in later for block in one.get_content_blocks("tool_result"))


def _always(messages: list[Msg]) -> bool:
    return True


async def _answer(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _messages(msgs: object) -> list[Msg]:
    return messages_in(list(cast("tuple[Any, ...]", msgs)) if isinstance(msgs, tuple) else msgs)


def _refuse_marks(marks: object) -> None:
    if marks:
        raise Unsupported("MemoryWithCompress keeps no marks; InMemoryMemory and ReMeShortTermMemory do")


def _counter(counter: Any) -> Any:
    if counter is not None and not callable(getattr(counter, "count", None)):
        raise InvalidInput(f"a token_counter must have a method count, and {shown(counter)} has not")
    return counter


# States are read and put back by code that does not wait, whatever the storage.


def _held(storage: MessageStorageBase) -> list[Msg]:
    return storage.messages() if isinstance(storage, ThreadMessageStorage) else block_on(storage.get())


def _hold(storage: MessageStorageBase, messages: list[Msg] | None) -> None:
    if messages is None:
        return
    if isinstance(storage, ThreadMessageStorage):
        storage.put(messages)
    else:
        block_on(storage.replace(messages))


def _state(value: Any) -> Mapping[str, Any]:
    """A state of ours, or of AgentScope's class, which is an object with fields."""
    state = value.model_dump() if hasattr(value, "model_dump") else value
    if not isinstance(state, Mapping):
        raise InvalidInput(f"a state must be a mapping, not {shown(state)}")
    return cast("Mapping[str, Any]", state)


def _written(state: Mapping[str, Any], name: str) -> list[Msg] | None:
    written = state.get(name)
    if written is None:
        return None
    if not isinstance(written, list | tuple):
        raise InvalidInput(f"{name} of a state must be a list, not {shown(written)}")
    return [Msg.from_dict(one) for one in cast("Sequence[Any]", written)]


__all__ = ["Compress", "MemoryWithCompress", "Trigger"]
