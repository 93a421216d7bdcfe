"""Memories that show a conversation: all of it, its last rounds, as much as fits, or a summary of what is not shown.

The history keeps all messages. A window has whole rounds: it never begins with an answer without its question, and a tool
call stays with its result. A summary is stored with the conversation, together with the index up to which it goes: it
survives a restart, memories over one conversation share it, and nothing is summarised twice. When a model fails or answers
nothing, the summary is unchanged, and the next turn summarises both turns.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, cast

from memwell._asyncify import asyncify, run_blocking
from memwell.compat.langchain.base import BaseChatMemory, OneVariable, WithFields
from memwell.compat.langchain.histories import BaseChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, SystemMessage, as_text, get_buffer_string, to_core
from memwell.compat.langchain.models import SUMMARY_PROMPT, LanguageModel, LanguageModelLike, Prompt, as_llm, filled
from memwell.errors import InvalidInput
from memwell.history.reading import HistoryReader
from memwell.messages import Message
from memwell.storage.protocols import ThreadInfo
from memwell.strategies.state import StoredState, are_last, are_plain, follow, is_preamble, next_index, until_done
from memwell.strategies.summary import DEFAULT_TOKENS, Extractive, Summary, SummaryBuffer
from memwell.values import check_count, check_text, shown

_SUMMARY_BLANKS = {"summary", "new_lines"}
_UNLIMITED = 2**40
"""The tokens of a summary: the model decides how long it is."""


# Windows

_MOST_NEW = 64
"""After more new messages than this a window is read as a whole."""


class ShownConversation(OneVariable, BaseChatMemory, ABC):
    """A memory that gives messages of the conversation in one variable, as they are or as text."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"

    @abstractmethod
    def _window(self) -> Iterable[Message]:
        """What is shown, as core messages."""

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """What is shown, as a new list of messages."""
        return self._from_core(self._window())

    @property
    def buffer_as_str(self) -> str:
        """What is shown, as text."""
        return as_text(self._window(), self.human_prefix, self.ai_prefix)

    @property
    def buffer(self) -> Any:
        """What is shown: messages with ``return_messages``, text otherwise."""
        return self.buffer_as_messages if self.return_messages else self.buffer_as_str

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What is shown, under ``memory_key``."""
        return {self.memory_key: self.buffer}

    async def abuffer(self) -> Any:
        return await run_blocking(lambda: self.buffer)

    async def abuffer_as_str(self) -> str:
        return await run_blocking(lambda: self.buffer_as_str)

    async def abuffer_as_messages(self) -> list[BaseMessage]:
        return await run_blocking(lambda: self.buffer_as_messages)


class ConversationBufferMemory(ShownConversation):
    """The whole conversation. Its cost grows with the conversation, as its prompt does."""

    _positional = (
        *("chat_memory", "output_key", "input_key", "return_messages"),
        *("human_prefix", "ai_prefix", "memory_key"),
    )

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._created_at = time.time()
        self._last_accessed: float | None = None

    def _window(self) -> Iterable[Message]:
        return (message for message in self._current() if message.for_model)

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        # A history of another library gives its own objects, which may be more than ours can hold.
        return super().buffer_as_messages if self._conversation().backend else list(self.chat_memory.messages)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        self._last_accessed = time.time()
        return super().load_memory_variables(inputs)

    def get_memory_stats(self) -> dict[str, Any]:
        """The number of messages, the length of their text, and when this object was made and last loaded from."""
        return {
            "message_count": len(self._conversation()),
            "buffer_size_chars": len(self.buffer_as_str),
            "created_at": self._created_at,
            "last_accessed": self._last_accessed,
            "memory_type": "ConversationBufferMemory",
        }


class _LastRounds(ShownConversation, ABC):
    """A memory that shows the last rounds.

    A turn adds a round to the window and drops the oldest. So a window of plain messages is held, and as long as the
    conversation was only appended to, which its ``info`` tells, only the new messages are read.
    """

    _held: tuple[object, list[Message]] = (None, [])

    @abstractmethod
    def _limit(self) -> object:
        """What limits the window. When it changes, all of the window is read."""

    @abstractmethod
    def _cut(self) -> list[Message]:
        """The window, all of it read."""

    @abstractmethod
    def _fits(self, window: list[Message]) -> bool:
        """Whether a window of plain messages is within the limit."""

    def _window(self) -> list[Message]:
        history = self._conversation()
        # Asked before anything is read, so that an edit in between is noticed the next time.
        info = history.info() if history.backend else None
        if info is None:
            return self._cut()
        mark, (held, old) = (history.log, info.thread, info.created, info.edits, self._limit()), self._held
        window = self._moved(history, old, info) if held == mark else []
        if not window:
            window = self._cut()
            mark = mark if are_plain(window) else None
        self._held = (mark, window)
        return window

    def _moved(self, history: HistoryReader, window: list[Message], info: ThreadInfo) -> list[Message]:
        """The window at the end of a conversation that grew; empty when it must be read."""
        next_ = next_index(window)
        if info.next - next_ > _MOST_NEW or not are_last(window, info.next, info.updated):
            return []
        if info.next > next_:
            # With the last one that is held, which tells whether the store lost it.
            last, *new = history.log.read(history.thread, after=next_ - 2) or window[:1]
            are_next = follow(window, [last]) and new and are_plain(new) and new[0].index == next_
            window = [*window, *new] if are_next else []
        while window and not self._fits(window):
            window = [one for one in window if one.round != window[0].round]
        return window


class ConversationBufferWindowMemory(_LastRounds):
    """The last ``k`` rounds of the conversation; with a ``k`` of 0 or less, nothing."""

    k: int = 5
    _positional = ("k",)

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_rounds(self.k)

    def _limit(self) -> object:
        return self.k

    def _cut(self) -> list[Message]:
        return last_rounds(self._current(), self.k)

    def _fits(self, window: list[Message]) -> bool:
        return len({one.round for one in window}) <= self.k

    def get_window_info(self) -> dict[str, Any]:
        """How many rounds the window takes and has, how many messages there are, and how many of them it leaves out.

        Nothing is deleted: ``messages_pruned`` counts what the window does not show.
        """
        messages, total = self._window(), len(self._conversation())
        size = len({message.round for message in messages if message.round})
        return {
            "max_window_size": self.k,
            "current_window_size": size,
            "total_messages_processed": total,
            "messages_pruned": total - len(messages),
            "window_utilization": size / self.k if self.k > 0 else 0,
            "pruning_efficiency": (total - len(messages)) / total if total else 0,
        }


class _Counting(BaseChatMemory, ABC):
    """A memory with a limit of tokens, counted as ``llm`` counts; each line counts with its prefix."""

    llm: LanguageModelLike = None
    max_token_limit: int = 2000

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_count(self.max_token_limit, "max_token_limit")
        as_llm(self.llm)
        self._counter: tuple[object, LanguageModel] | None = None

    def _line_counter(self) -> LanguageModel:
        if self._counter is None or self._counter[0] is not self.llm:
            self._counter = (self.llm, as_llm(self.llm))
        return self._counter[1]


class ConversationTokenBufferMemory(_Counting, _LastRounds):
    """As many of the last rounds as fit ``max_token_limit``.

    A round is shown whole or not at all, so a single round over the limit leaves nothing to show; of a long round of tool
    calls its question and its last steps are shown. Raises ``InvalidInput`` for a limit below 0.
    """

    def _limit(self) -> object:
        return self.max_token_limit, self._line_counter()

    def _cut(self) -> list[Message]:
        return fitting_rounds(self._current(self._line_counter()), self.max_token_limit)

    def _fits(self, window: list[Message]) -> bool:
        return sum(map(self._line_counter().count_message, window)) <= self.max_token_limit


def check_rounds(k: object) -> int:
    """The number of rounds that ``k`` asks for, 0 when it is below 0. Raises ``InvalidInput`` for no whole number."""
    if not isinstance(k, int) or isinstance(k, bool):
        raise InvalidInput(f"k must be a whole number, not {shown(k)}")
    return max(k, 0)


def last_rounds(history: HistoryReader, k: int) -> list[Message]:
    """The last ``k`` rounds and the instructions before them; with the first round also all messages before it."""
    rounds = check_rounds(k)
    return _with_opening(history, history.window(rounds=rounds)) if rounds else []


def fitting_rounds(history: HistoryReader, limit: int) -> list[Message]:
    """As many whole rounds from the end as fit, and the instructions before them as long as these fit."""
    check_count(limit, "max_token_limit")
    try:
        window = history.window(tokens=limit)
    except InvalidInput:
        # The instructions alone are over the limit: the conversation itself matters more.
        window = history.window(tokens=limit, system=False)
    if not _ends_like(history, window):
        # A question whose answer does not fit would look as if it had no answer.
        window = [message for message in window if is_preamble(message)]
    opened = _with_opening(history, window)
    fits = opened is window or sum(map(history.counter.count_message, opened)) <= limit
    return opened if fits else window


def _ends_like(history: HistoryReader, window: list[Message]) -> bool:
    """Whether a window ends with the last message for a model, or no round has such a message."""
    last = history.last(1)
    if last and not last[0].for_model:
        latest = history.latest_round()
        last = [message for message in latest.messages if message.for_model] if latest else []
    return not last or not last[-1].round or (bool(window) and window[-1].id == last[-1].id)


def _with_opening(history: HistoryReader, window: list[Message]) -> list[Message]:
    """The window, and when it shows the first round also all that came before it, such as a model's greeting."""
    rest = [message for message in window if not is_preamble(message)]
    if not rest and history.latest_round() is not None:
        return window
    before = rest[0].index if rest else None
    last_before = history.log.read(history.thread, before=before, last=1)
    if not last_before or last_before[0].round:
        return window
    opening = history.log.read(history.thread, before=before)
    return [*(message for message in opening if message.for_model), *rest]


# Summaries


class SummarizerMixin(WithFields):
    """Writes summaries with ``llm``; without one it selects the most important sentences, unchanged."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: LanguageModelLike = None
    prompt: Prompt = SUMMARY_PROMPT
    summary_message_cls: type[BaseMessage] = SystemMessage

    def predict_new_summary(self, messages: Sequence[BaseMessage], existing_summary: str) -> str:
        """A summary of the existing one and the messages after it. Raises ``ModelError`` when the model fails."""
        llm = as_llm(self.llm)
        if not llm.answers:
            return Extractive(DEFAULT_TOKENS).fold(existing_summary, [to_core(message) for message in messages])
        return llm.predict(filled(self.prompt, summary=existing_summary, new_lines=self._lines(messages)))

    apredict_new_summary = asyncify(predict_new_summary)

    def _lines(self, messages: Iterable[BaseMessage]) -> str:
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)


class _SummarisingMemory(OneVariable, BaseChatMemory, SummarizerMixin, ABC):
    """A memory whose summary a strategy keeps; a subclass makes the strategy."""

    _summary_field = ""

    def __init__(self, *args: Any, **given: Any) -> None:
        named = self._named(args, given)
        summary = check_text(named.pop(self._summary_field, ""), self._summary_field)
        super().__init__(**named)
        as_llm(self.llm)
        variables = list(self.prompt.input_variables)
        if set(variables) != _SUMMARY_BLANKS:
            raise InvalidInput(
                "Value error, Got unexpected prompt input variables. The prompt expects "
                f"{variables}, but it should have {_SUMMARY_BLANKS}."
            )
        self._last_summary_time: float | None = None
        self._kept: tuple[BaseChatMessageHistory, Summary | SummaryBuffer] | None = None
        if summary and not self._strategy().summary:
            setattr(self, self._summary_field, summary)

    @abstractmethod
    def _made(self, history: HistoryReader) -> Summary | SummaryBuffer:
        """The strategy over the conversation."""

    def _strategy(self) -> Summary | SummaryBuffer:
        # Over a history without a store, the summary lives in the strategy.
        if self._kept is None or self._kept[0] is not self.chat_memory:
            self._kept = (self.chat_memory, self._made(self._conversation(as_llm(self.llm))))
        return self._kept[1]

    def fold(self, summary: str, messages: Sequence[Message]) -> str:
        """What the strategy calls: ``predict_new_summary`` of core messages."""
        begun = time.perf_counter()
        new = self.predict_new_summary(self._from_core(messages), summary)
        self._last_summary_time = time.perf_counter() - begun
        return new

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then update the summary. A turn without words leaves the summary unchanged.

        Raises ``InvalidInput`` as any memory does, and ``ModelError`` when the model fails or answers nothing: then the
        turn is stored and the summary unchanged.
        """
        super().save_context(inputs, outputs)
        self._strategy().observe()

    def clear(self) -> None:
        """Delete the conversation and its summary."""
        super().clear()
        self._strategy().clear()

    def _as_message(self, summary: str) -> list[BaseMessage]:
        return self._for_history([self.summary_message_cls(content=summary)])

    def get_summary_stats(self) -> dict[str, Any]:
        """How often and of how many messages a summary was made, how long it is, and how much shorter than they were.

        ``compression_ratio`` is the summary's tokens over those of all messages in it; ``last_summary_time`` the seconds
        that the last summary of this object took.
        """
        fields = self._strategy().state.read().fields
        summary = str(fields.get("summary", ""))
        size = as_llm(self.llm).count(summary) if summary else 0
        ratio = size / fields["tokens"] if fields.get("tokens") else 0
        return {
            "summary_count": fields.get("folds", 0),
            "total_summary_tokens": size,
            "original_message_count": fields.get("messages", 0),
            "compression_ratio": ratio,
            "last_summary_time": self._last_summary_time,
            "current_summary_length": len(summary),
            "average_compression_ratio": ratio,
        }


class ConversationSummaryMemory(_SummarisingMemory):
    """A running summary of the whole conversation, updated after every turn.

    ``buffer`` is the summary, of all messages so far. One given to the constructor is used when the conversation has none;
    assigning always replaces it.
    """

    _summary_field = "buffer"
    _positional = ("llm", "buffer", "prompt", "summary_message_cls")

    @classmethod
    def from_messages(
        cls, llm: LanguageModelLike, chat_memory: BaseChatMessageHistory, *, summarize_step: int = 2, **kwargs: Any
    ) -> ConversationSummaryMemory:
        """The memory of an existing conversation, of which up to 64 messages are summarised at a time.

        Messages that a stored summary covers are not summarised again. ``summarize_step`` is not used.
        """
        memory = cls(llm=llm, chat_memory=chat_memory, **kwargs)
        memory._strategy().observe()
        return memory

    def _made(self, history: HistoryReader) -> Summary:
        return Summary(history, self, _UNLIMITED)

    @property
    def buffer(self) -> str:
        """The summary."""
        return self._strategy().summary

    @buffer.setter
    def buffer(self, summary: str) -> None:
        text, state = check_text(summary, "buffer"), self._strategy().state

        def replace() -> bool:
            held = state.read()
            state.move(held, upto=held.next, round=held.last_round, fields={**held.fields, "summary": text})
            return False

        until_done(replace)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The summary, as text or as one message of ``summary_message_cls``."""
        summary = self.buffer
        return {self.memory_key: self._as_message(summary) if self.return_messages else summary}


class _WholeRounds(SummaryBuffer):
    """A summary buffer that keeps no part of a round that is over the limit."""

    def _to_keep(self, held: StoredState, room: int, unfolded: list[Message] | None) -> list[Message]:
        kept = super()._to_keep(held, room, unfolded)
        # Of several rounds all are whole.
        if not kept or kept[0].round != kept[-1].round:
            return kept
        newest = self.history.latest_round()
        size = sum(self._count(one) for one in newest.messages if one.for_model) if newest else 0
        return kept if size <= room else []


class ConversationSummaryBufferMemory(_Counting, _SummarisingMemory):
    """The last rounds, unchanged, within ``max_token_limit``, and a summary of all earlier ones.

    Whole rounds are summarised. The limit is for the rounds; the summary does not count. ``moving_summary_buffer`` is the
    summary; one given to the constructor is used when the conversation has none. Raises ``InvalidInput`` for a negative
    limit.
    """

    _summary_field = "moving_summary_buffer"

    def _made(self, history: HistoryReader) -> SummaryBuffer:
        return _WholeRounds(history, self.max_token_limit + _UNLIMITED, self, _UNLIMITED)

    def _strategy(self) -> SummaryBuffer:
        found = cast(SummaryBuffer, super()._strategy())
        found.tokens = check_count(self.max_token_limit, "max_token_limit") + _UNLIMITED
        return found

    @property
    def moving_summary_buffer(self) -> str:
        """The summary of the rounds that are not shown."""
        return self._strategy().summary

    @moving_summary_buffer.setter
    def moving_summary_buffer(self, summary: str) -> None:
        self._strategy().rewrite(summary)

    @property
    def buffer(self) -> Any:
        """What ``load_memory_variables`` gives."""
        return self.load_memory_variables({})[self.memory_key]

    async def abuffer(self) -> Any:
        return await run_blocking(lambda: self.buffer)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The summary, when there is one, and the messages that are not in it, as text or as messages."""
        state, history = self._strategy().state, self._current()
        held = state.read()
        summary = str(held.fields.get("summary", ""))
        messages = [one for one in state.unread(held, most=held.next) if one.for_model]
        # Only when something was folded do instructions lie before what is shown.
        folded = [one for one in history.window(rounds=0) if (one.index or 0) < held.upto] if held.upto else []
        between = self._as_message(summary) if summary else []
        if self.return_messages:
            return {self.memory_key: [*self._from_core(folded), *between, *self._from_core(messages)]}
        first, last = (as_text(one, self.human_prefix, self.ai_prefix) for one in (folded, messages))
        return {self.memory_key: "\n".join(part for part in (first, self._lines(between), last) if part)}

    def prune(self) -> None:
        """Fold the oldest rounds into the summary until the others fit. Raises ``ModelError`` and folds nothing then."""
        self._strategy().observe()

    aprune = asyncify(prune)
