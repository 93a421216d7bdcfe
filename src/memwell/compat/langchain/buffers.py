"""Memories that show the conversation itself: all of it, its last rounds, or as much of its end as fits.

The history keeps everything that was said. A window is what is shown of it, cut between rounds: it never begins with an
answer whose question is missing, and a tool call stays with its result.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from memwell._asyncify import run_blocking
from memwell.compat.langchain.base import BaseChatMemory, BaseMemory, check_keys, get_prompt_input_key, value_of
from memwell.compat.langchain.kept import KeptEnd, Line
from memwell.compat.langchain.lines import as_text
from memwell.compat.langchain.messages import BaseMessage
from memwell.compat.langchain.models import LanguageModel, LanguageModelLike, LineCounter, as_llm
from memwell.errors import InvalidInput
from memwell.history.reading import HistoryReader
from memwell.messages import Message
from memwell.strategies.state import is_preamble
from memwell.strategies.windows import LastRounds
from memwell.values import check_count, check_text, shown


class ShownConversation(BaseChatMemory, ABC):
    """A memory that gives messages of the conversation in one variable, as they are or as text."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    memory_key: str = "history"

    @property
    def memory_variables(self) -> list[str]:
        """The one variable."""
        return [self.memory_key]

    @abstractmethod
    def _window(self) -> Iterable[Message]:
        """What is shown, as the core has it."""

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """What is shown, as messages; the list is the caller's own."""
        return self._shown(self._window())

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
        """The async twin of ``buffer``."""
        return await run_blocking(lambda: self.buffer)

    async def abuffer_as_str(self) -> str:
        """The async twin of ``buffer_as_str``."""
        return await run_blocking(lambda: self.buffer_as_str)

    async def abuffer_as_messages(self) -> list[BaseMessage]:
        """The async twin of ``buffer_as_messages``."""
        return await run_blocking(lambda: self.buffer_as_messages)


class _KeptConversation(ShownConversation, ABC):
    """A memory that shows the end of the conversation, and need not read it all again after every turn."""

    def __init__(self, *args: Any, **given: Any) -> None:
        self._kept: tuple[tuple[Any, ...], KeptEnd] | None = None
        super().__init__(*args, **given)

    @abstractmethod
    def _cut(self, kept: KeptEnd) -> bool:
        """Let go of what is no longer shown; False when these lines do not tell what is."""

    def _settings(self) -> tuple[Any, ...]:
        """What the lines depend on: when one of these is another, they begin anew."""
        return (self.chat_memory, self.human_prefix, self.ai_prefix)

    def _counting(self) -> LineCounter | None:
        """What counts the lines, where they are counted."""
        return None

    def _lines(self) -> list[Line] | None:
        """What is shown, as far as it can be kept; None where it must be read anew."""
        counter = self._counting()
        history = self._conversation(counter)
        if history.backend is None:
            return None
        kept = self._kept_end(counter)
        with kept.lock:
            info = history.info()
            if not (kept.follow(history, info) and self._cut(kept)):
                window = list(self._window())
                if info is None or not _is_whole(history, window) or not kept.begin(info, window):
                    return None
            return list(kept.lines)

    def _kept_end(self, counter: LineCounter | None) -> KeptEnd:
        settings = self._settings()
        if self._kept is None or any(one is not other for one, other in zip(self._kept[0], settings, strict=True)):
            count = _nothing if counter is None else counter.count_message
            self._kept = (settings, KeptEnd(count, self.human_prefix, self.ai_prefix))
        return self._kept[1]

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """What is shown, as messages; the list is the caller's own."""
        lines = self._lines()
        return super().buffer_as_messages if lines is None else self._shown(line.message for line in lines)

    @property
    def buffer_as_str(self) -> str:
        """What is shown, as text."""
        lines = self._lines()
        return super().buffer_as_str if lines is None else "\n".join([line.text for line in lines])


class ConversationBufferMemory(ShownConversation):
    """The whole conversation. Its cost grows with the conversation, as its prompt does."""

    _positional = (
        "chat_memory",
        "output_key",
        "input_key",
        "return_messages",
        "human_prefix",
        "ai_prefix",
        "memory_key",
    )

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._created_at = time.time()
        self._last_accessed: float | None = None

    def _window(self) -> Iterable[Message]:
        return (message for message in self._conversation() if message.for_model)

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """All messages; the list is the caller's own."""
        # A history of somebody else's gives its own objects, which may be more than ours can hold.
        return super().buffer_as_messages if self._conversation().backend else list(self.chat_memory.messages)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The whole conversation, under ``memory_key``."""
        self._last_accessed = time.time()
        return super().load_memory_variables(inputs)

    def get_memory_stats(self) -> dict[str, Any]:
        """How many messages there are and how long their text is; when this object was made and last loaded from."""
        return {
            "message_count": len(self._conversation()),
            "buffer_size_chars": len(self.buffer_as_str),
            "created_at": self._created_at,
            "last_accessed": self._last_accessed,
            "memory_type": "ConversationBufferMemory",
        }


class ConversationStringBufferMemory(BaseMemory):
    """The whole conversation as one text, which lives as long as this object."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    buffer: str = ""
    output_key: str | None = None
    input_key: str | None = None
    memory_key: str = "history"
    return_messages: bool = False

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        if self.return_messages:
            raise InvalidInput("Value error, return_messages must be False for ConversationStringBufferMemory")

    @property
    def memory_variables(self) -> list[str]:
        """The one variable."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The text, under ``memory_key``."""
        return {self.memory_key: self.buffer}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Add two lines. Raises ``InvalidInput`` when it is not clear which values they are, or when one is no text."""
        key = get_prompt_input_key(inputs, self.memory_variables) if self.input_key is None else self.input_key
        said = check_text(value_of(inputs, key, "inputs"), "the input")
        answered = check_text(value_of(outputs, self._chosen_output_key(outputs), "outputs"), "the output")
        self.buffer += f"\n{self.human_prefix}: {said}\n{self.ai_prefix}: {answered}"

    def _chosen_output_key(self, outputs: dict[str, Any]) -> str:
        if self.output_key is not None:
            return self.output_key
        given = check_keys(outputs, "outputs")
        if len(given) != 1:
            raise InvalidInput(f"One output key expected, got {given.keys()}")
        return next(iter(given))

    def clear(self) -> None:
        """Forget the text."""
        self.buffer = ""


class ConversationBufferWindowMemory(_KeptConversation):
    """The last ``k`` rounds of the conversation; with a ``k`` of 0 or less, nothing."""

    k: int = 5
    _positional = ("k",)

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_rounds(self.k)

    def _window(self) -> list[Message]:
        return last_rounds(self._conversation(), self.k)

    def _settings(self) -> tuple[Any, ...]:
        return (*super()._settings(), check_rounds(self.k))

    def _cut(self, kept: KeptEnd) -> bool:
        while kept.rounds > max(self.k, 0):
            kept.drop_round()
        return kept.rounds > 0

    def get_window_info(self) -> dict[str, Any]:
        """How many rounds the window takes and has, how many messages there are, and how many of them it leaves out.

        Nothing is deleted: ``messages_pruned`` counts what the window does not show.
        """
        history = self._conversation()
        messages, total = self._window(), len(history)
        size = len({message.round for message in messages if message.round})
        return {
            "max_window_size": self.k,
            "current_window_size": size,
            "total_messages_processed": total,
            "messages_pruned": total - len(messages),
            "window_utilization": size / self.k if self.k > 0 else 0,
            "pruning_efficiency": (total - len(messages)) / total if total else 0,
        }


class ConversationTokenBufferMemory(_KeptConversation):
    """As many of the last rounds as fit ``max_token_limit``, counted as ``llm`` counts; each line counts with its prefix.

    A round is shown whole or not at all, so a single round over the limit leaves nothing to show; of a long round of tool
    calls its question and its last steps are shown. Raises ``InvalidInput`` for a limit below 0.
    """

    llm: LanguageModelLike = None
    max_token_limit: int = 2000

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_count(self.max_token_limit, "max_token_limit")
        self._counter: tuple[object, LineCounter] | None = None
        self._model()

    def _model(self) -> LanguageModel:
        return as_llm(self.llm)

    def _line_counter(self) -> LineCounter:
        if self._counter is None or self._counter[0] is not self.llm:
            self._counter = (self.llm, LineCounter(self._model()))
        return self._counter[1]

    def _window(self) -> list[Message]:
        return fitting_rounds(self._conversation(self._line_counter()), self.max_token_limit)

    def _settings(self) -> tuple[Any, ...]:
        return (*super()._settings(), self.llm, check_count(self.max_token_limit, "max_token_limit"))

    def _counting(self) -> LineCounter:
        return self._line_counter()

    def _cut(self, kept: KeptEnd) -> bool:
        while kept.total > self.max_token_limit and kept.rounds > 1:
            kept.drop_round()
        return kept.rounds > 0 and kept.total <= self.max_token_limit


def _is_whole(history: HistoryReader, window: list[Message]) -> bool:
    """Whether a window is all there is from its first message on: half of a tool call that was left out counts too."""
    if not window or not window[0].round:
        return False
    there = history.log.read(history.thread, after=(window[0].index or 0) - 1)
    return [one.id for one in there if one.for_model] == [one.id for one in window]


def _nothing(message: Message) -> int:
    """What a line counts where lines are not counted."""
    return 0


def check_rounds(k: object) -> int:
    """The number of rounds that ``k`` asks for, none when it is below 0. Raises ``InvalidInput`` for no whole number."""
    if not isinstance(k, int) or isinstance(k, bool):
        raise InvalidInput(f"k must be a whole number, not {shown(k)}")
    return max(k, 0)


def last_rounds(history: HistoryReader, k: int) -> list[Message]:
    """The last ``k`` rounds and the instructions before them; with all rounds also whatever was said before the first."""
    rounds = check_rounds(k)
    return _with_opening(history, LastRounds(history, rounds).recall()) if rounds else []


def fitting_rounds(history: HistoryReader, limit: int) -> list[Message]:
    """As many whole rounds from the end as fit, and the instructions before them as long as these fit."""
    check_count(limit, "max_token_limit")
    try:
        window = history.window(tokens=limit)
    except InvalidInput:
        # The instructions alone are over the limit: the conversation itself matters more.
        window = history.window(tokens=limit, system=False)
    if not _ends_like(history, window):
        # A question whose answer does not fit would look as if nobody had answered it.
        window = [message for message in window if is_preamble(message)]
    opened = _with_opening(history, window)
    return opened if sum(map(history.counter.count_message, opened)) <= limit else window


def _ends_like(history: HistoryReader, window: list[Message]) -> bool:
    """Whether a window ends with the last message for a model, or there is none in a round."""
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


__all__ = [
    "ConversationBufferMemory",
    "ConversationBufferWindowMemory",
    "ConversationStringBufferMemory",
    "ConversationTokenBufferMemory",
    "ShownConversation",
    "check_rounds",
    "fitting_rounds",
    "last_rounds",
]
