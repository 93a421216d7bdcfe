"""Memories that show a conversation: all of it, its last rounds, as much as fits, or a summary of what is not shown.

The history keeps all messages. A window has whole rounds: it never begins with an answer without its question, and a tool
call stays with its result. A summary is stored with the conversation, together with the index up to which it goes: it
survives a restart, memories over one conversation share it, and nothing is summarised twice. When a model fails or answers
nothing, the summary is unchanged, and the next turn summarises both turns.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memwell._asyncify import asyncify, run_blocking
from memwell.compat.langchain.base import BaseChatMemory, OneVariable, WithFields, check_keys, value_of
from memwell.compat.langchain.histories import BaseChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, SystemMessage, as_text, get_buffer_string, to_core
from memwell.compat.langchain.models import SUMMARY_PROMPT, LanguageModel, LanguageModelLike, Prompt, as_llm, filled
from memwell.errors import InvalidInput
from memwell.history.reading import HistoryReader
from memwell.messages import Message
from memwell.strategies.state import AT_ONCE, StoredState, StrategyState, is_preamble, next_index, until_done
from memwell.strategies.summary import DEFAULT_TOKENS, Extractive, checked_summary
from memwell.values import check_count, check_text, shown
from memwell.windows import rounds_of

_SUMMARY_BLANKS = {"summary", "new_lines"}


# Windows


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
        return (message for message in self._conversation() if message.for_model)

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


class ConversationStringBufferMemory(OneVariable):
    """The whole conversation as one text, which lives as long as this object."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    buffer: str = ""
    output_key: str | None = None
    input_key: str | None = None
    return_messages: bool = False

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        if self.return_messages:
            raise InvalidInput("Value error, return_messages must be False for ConversationStringBufferMemory")

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {self.memory_key: self.buffer}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Add two lines. Raises ``InvalidInput`` when it is not clear which values they are, or when one is no text."""
        said = check_text(self._input(inputs), "the input")
        given = check_keys(outputs, "outputs")
        if self.output_key is None and len(given) != 1:
            raise InvalidInput(f"One output key expected, got {given.keys()}")
        answered = value_of(given, self.output_key or next(iter(given)), "outputs")
        self.buffer += f"\n{self.human_prefix}: {said}\n{self.ai_prefix}: {check_text(answered, 'the output')}"

    def clear(self) -> None:
        self.buffer = ""


class ConversationBufferWindowMemory(ShownConversation):
    """The last ``k`` rounds of the conversation; with a ``k`` of 0 or less, nothing."""

    k: int = 5
    _positional = ("k",)

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_rounds(self.k)

    def _window(self) -> list[Message]:
        return last_rounds(self._conversation(), self.k)

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


class ConversationTokenBufferMemory(_Counting, ShownConversation):
    """As many of the last rounds as fit ``max_token_limit``.

    A round is shown whole or not at all, so a single round over the limit leaves nothing to show; of a long round of tool
    calls its question and its last steps are shown. Raises ``InvalidInput`` for a limit below 0.
    """

    def _window(self) -> list[Message]:
        return fitting_rounds(self._conversation(self._line_counter()), self.max_token_limit)


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
    """A memory with a summary in one state; a subclass decides what is folded into it."""

    _state_name = ""
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
        if summary and not self._summary():
            setattr(self, self._summary_field, summary)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then update the summary.

        Raises ``InvalidInput`` as any memory does, and ``ModelError`` when the model fails or answers nothing: then the
        turn is stored and the summary unchanged. A turn without words may leave the summary unchanged.
        """
        super().save_context(inputs, outputs)
        until_done(self._step)

    def clear(self) -> None:
        """Delete the conversation and its summary."""
        super().clear()
        self._own_state().clear()

    @abstractmethod
    def _step(self) -> bool:
        """Fold the next messages into the summary; returns whether there may be more."""

    def _own_state(self) -> StrategyState:
        return self._state(self._state_name)

    def _summary(self) -> str:
        return str(self._own_state().read().fields.get("summary", ""))

    def _set_summary(self, summary: str, *, covers_all: bool) -> None:
        text, state = check_text(summary, self._summary_field), self._own_state()

        def replace() -> bool:
            held = state.read()
            upto, number = (held.next, held.last_round) if covers_all else (held.upto, held.round)
            state.move(held, upto=upto, round=number, fields={**held.fields, "summary": text})
            return False

        until_done(replace)

    def _as_message(self, summary: str) -> list[BaseMessage]:
        return self._for_history([self.summary_message_cls(content=summary)])

    def _fold(self, held: StoredState, messages: list[Message]) -> None:
        """Fold these messages into the summary and store it. Raises ``ModelError``, ``Conflict``."""
        fields = self._folded(held, [one for one in messages if one.for_model and not is_preamble(one)])
        self._own_state().move(held, upto=next_index(messages), round=messages[-1].round or 0, fields=fields)

    def _folded(self, held: StoredState, spoken: Sequence[Message]) -> Mapping[str, Any]:
        llm = as_llm(self.llm)
        is_silent = not any(one.text.strip() for one in spoken)
        if not spoken or (is_silent and not llm.answers):
            return held.fields
        given = self._from_core(spoken)
        tokens = llm.count(self._lines(given))
        begun = time.perf_counter()
        new = self.predict_new_summary(given, str(held.fields.get("summary", "")))
        if not str(new).strip() and (is_silent or not llm.answers):
            # An empty summary of a turn without words is no failure.
            return held.fields
        checked_summary(new, llm.name)
        self._last_summary_time = time.perf_counter() - begun
        return {
            "summary": new,
            "time": spoken[-1].time.isoformat(),
            "folds": held.fields.get("folds", 0) + 1,
            "messages": held.fields.get("messages", 0) + len(spoken),
            "tokens": held.fields.get("tokens", 0) + tokens,
        }

    def get_summary_stats(self) -> dict[str, Any]:
        """How often and of how many messages a summary was made, how long it is, and how much shorter than they were.

        ``compression_ratio`` is the summary's tokens over those of all messages in it; ``last_summary_time`` the seconds
        that the last summary of this object took.
        """
        fields = self._own_state().read().fields
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

    _state_name = "summary"
    _summary_field = "buffer"
    _positional = ("llm", "buffer", "prompt", "summary_message_cls")

    @classmethod
    def from_messages(
        cls, llm: LanguageModelLike, chat_memory: BaseChatMessageHistory, *, summarize_step: int = 2, **kwargs: Any
    ) -> ConversationSummaryMemory:
        """The memory of an existing conversation, summarised ``summarize_step`` messages at a time.

        Messages that a stored summary covers are not summarised again.
        """
        check_count(summarize_step, "summarize_step", least=1)
        memory = cls(llm=llm, chat_memory=chat_memory, **kwargs)
        until_done(lambda: memory._step(summarize_step))
        return memory

    @property
    def buffer(self) -> str:
        """The summary."""
        return self._summary()

    @buffer.setter
    def buffer(self, summary: str) -> None:
        self._set_summary(summary, covers_all=True)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The summary, as text or as one message of ``summary_message_cls``."""
        summary = self.buffer
        return {self.memory_key: self._as_message(summary) if self.return_messages else summary}

    def _step(self, most: int = AT_ONCE) -> bool:
        state = self._own_state()
        held = state.read()
        messages = state.unread(held, most=min(most, AT_ONCE))
        if messages:
            self._fold(held, messages)
        return bool(messages)


class ConversationSummaryBufferMemory(_Counting, _SummarisingMemory):
    """The last rounds, unchanged, within ``max_token_limit``, and a summary of all earlier ones.

    Whole rounds are summarised. The limit is for the rounds; the summary does not count. ``moving_summary_buffer`` is the
    summary; one given to the constructor is used when the conversation has none. Raises ``InvalidInput`` for a negative
    limit.
    """

    _state_name = "summary-buffer"
    _summary_field = "moving_summary_buffer"

    @property
    def moving_summary_buffer(self) -> str:
        """The summary of the rounds that are not shown."""
        return self._summary()

    @moving_summary_buffer.setter
    def moving_summary_buffer(self, summary: str) -> None:
        self._set_summary(summary, covers_all=False)

    @property
    def buffer(self) -> Any:
        """What ``load_memory_variables`` gives."""
        return self.load_memory_variables({})[self.memory_key]

    async def abuffer(self) -> Any:
        return await run_blocking(lambda: self.buffer)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The summary, when there is one, and the messages that are not in it, as text or as messages."""
        held = self._own_state().read()
        summary = str(held.fields.get("summary", ""))
        instructions, messages = self._unfolded(held)
        between = self._as_message(summary) if summary else []
        if self.return_messages:
            return {self.memory_key: [*self._from_core(instructions), *between, *self._from_core(messages)]}
        before, after = (as_text(one, self.human_prefix, self.ai_prefix) for one in (instructions, messages))
        return {self.memory_key: "\n".join(part for part in (before, self._lines(between), after) if part)}

    def _unfolded(self, held: StoredState) -> tuple[list[Message], list[Message]]:
        """The instructions from before the first round, and the messages that are not in the summary."""
        history = self._conversation()
        after = held.upto - 1 if held.upto else None
        messages = [one for one in history.log.read(history.thread, after=after) if one.for_model]
        # Only when something was folded do instructions lie before what is shown.
        folded = [one for one in history.window(rounds=0) if (one.index or 0) < held.upto] if held.upto else []
        return folded, messages

    def prune(self) -> None:
        """Fold the oldest rounds into the summary until the others fit. Raises ``ModelError`` and folds nothing then."""
        until_done(self._step)

    aprune = asyncify(prune)

    def _step(self) -> bool:
        held = self._own_state().read()
        leaving = self._leaving(*self._unfolded(held))
        if leaving:
            # All messages that leave go into one prompt, unless they are too many for one.
            self._fold(held, leaving[:AT_ONCE])
        return len(leaving) > AT_ONCE

    def _leaving(self, instructions: Sequence[Message], messages: Sequence[Message]) -> list[Message]:
        size = self._line_counter().count_message
        spoken = [one for one in messages if not is_preamble(one)]
        stay = [*instructions, *(one for one in messages if is_preamble(one))]
        left = check_count(self.max_token_limit, "max_token_limit") - sum(map(size, stay))
        kept = 0
        for round_ in reversed(list(rounds_of(spoken))):
            left -= sum(map(size, round_.messages))
            if left < 0:
                break
            kept += len(round_.messages)
        return spoken[: len(spoken) - kept]
