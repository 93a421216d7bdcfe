"""A memory that shows less than it holds: long tool results as previews, and old turns as a summary."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

from memwell._asyncify import run_blocking
from memwell.compat.agentscope.chat_models import asking_from_here, chat_model
from memwell.compat.agentscope.conversations import Conversation
from memwell.compat.agentscope.core_messages import from_core
from memwell.compat.agentscope.long_term import ToolResponse
from memwell.compat.agentscope.memories import InMemoryMemory, mark_in, with_summary
from memwell.compat.agentscope.messages import Msg, TextBlock
from memwell.errors import InvalidInput, MemwellError, ModelError
from memwell.history import History
from memwell.messages import Message, Role
from memwell.storage.files import replace_file
from memwell.storage.protocols import Backend
from memwell.strategies.compaction import READ_TOOL, Compaction, Mode
from memwell.strategies.summary import DEFAULT_TOKENS, ModelSummariser, Summariser
from memwell.tokens import TokenCounter
from memwell.transcript import from_openai
from memwell.values import check_count, shown

_NO_FILES: Final = "inmemory"
_NOTICE_TOKENS: Final = 80
_LOOKED_BACK: Final = 16


class ReMeShortTermMemory(InMemoryMemory):
    """What an agent is shown of its conversation: as much as fits ``max_total_tokens``, the rest in short.

    A tool result over ``max_tool_message_tokens`` is shown as a preview with a handle, which ``read_tool_result`` opens; in
    the last ``keep_recent_count`` messages it stays whole as long as everything fits. When that is not enough, old turns
    become a summary, but the last ``keep_recent_count`` messages stay as long as they fit. ``working_summary_mode`` is
    ``auto`` for both, ``compact`` for previews alone, ``compress`` for the summary alone. The messages themselves all stay.

    ``model`` writes the summary: a ``ChatModel``, a function or a model of AgentScope's kind, given at most
    ``group_token_threshold`` tokens of messages at once; without one the sentences that say most are kept. With a
    ``store_dir`` the long results are also written there for people to look at. ReMe's other settings have no effect.
    Raises ``InvalidInput`` (a ``ValueError``) for another mode, a limit below 0 and what is no model.
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
        self._conversation = Conversation(_in_turns(self.history))
        self.model = chat_model(model)
        self.working_summary_mode: Mode = working_summary_mode
        self.compact_ratio_threshold = _ratio(compact_ratio_threshold)
        self.max_total_tokens = check_count(max_total_tokens, "max_total_tokens")
        self.max_tool_message_tokens = check_count(max_tool_message_tokens, "max_tool_message_tokens")
        self.group_token_threshold = check_count(group_token_threshold or 0, "group_token_threshold") or None
        self.keep_recent_count = check_count(keep_recent_count, "keep_recent_count")
        self.store_dir = store_dir
        self._written: set[str] = set()
        self._more_in: dict[str, int] = {}
        self._compaction = self._made(self.history)

    def _made(self, history: History) -> Compaction:
        return Compaction(
            history,
            tokens=self.max_total_tokens,
            tool_tokens=self.max_tool_message_tokens,
            preview_tokens=min(200, self.max_tool_message_tokens // 4),
            keep_recent=self.keep_recent_count,
            mode=self.working_summary_mode,
            summariser=self._summariser(history.counter),
        )

    def _summariser(self, counter: TokenCounter) -> Summariser | None:
        if self.model is None:
            return None
        one = ModelSummariser(self.model, tokens=max(min(DEFAULT_TOKENS, self.max_total_tokens // 2), 1))
        return one if self.group_token_threshold is None else _InGroups(one, self.group_token_threshold, counter)

    @property
    def compaction(self) -> Compaction:
        """What makes the view: ``summary``, ``offloaded`` and ``fetch`` tell more of it, and ``restart`` takes it back."""
        return self._compaction

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held that has to be let go of."""

    # What is shown

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The messages as they are to be shown, without those that have ``exclude_mark``; summaries first if wanted.

        Those with ``mark`` are given as they were said. When the model fails that is a warning, nothing is summed up, and
        what no longer fits is left out until it succeeds.
        """
        if mark is not None:
            return await super().get_memory(mark, exclude_mark, prepend_summary)
        excluded = await self._ids_with(mark_in(exclude_mark, "exclude_mark"))
        with asking_from_here():
            view, failures = await run_blocking(self._view)
        for failure in failures:
            warnings.warn(failure, stacklevel=2)
        found = [
            _as_told(one) if _is_summary(one) else from_core(one)
            for one in view
            if prepend_summary or not _is_summary(one)
        ]
        kept = [one for one in found if one.id not in excluded]
        return with_summary(kept, self._compressed_summary if prepend_summary else "")

    async def _ids_with(self, mark: str | None) -> set[str]:
        found = [] if mark is None else await super().get_memory(mark, prepend_summary=False)
        return {one.id for one in found}

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
        return self._with_recent_whole(self._compaction.recall()), failures

    def _with_recent_whole(self, view: list[Message]) -> list[Message]:
        """The view with the previews in its last messages opened, newest first, as far as everything still fits."""
        size = self.history.counter.count_message
        left = self.max_total_tokens - sum(map(size, view))
        for place in range(len(view) - 1, max(len(view) - self.keep_recent_count, 0) - 1, -1):
            shown_now = view[place]
            if not shown_now.tool_results or READ_TOOL not in shown_now.text:
                continue
            # A megabyte that did not fit is not read again to see that it does not.
            if self._more_in.get(shown_now.text, 0) <= left:
                [whole] = self.history.log.read(self.history.thread, ids=[shown_now.id])
                more = self._more_in[shown_now.text] = size(whole) - size(shown_now)
                if more <= left:
                    view[place], left = whole, left - more
        return view

    def _write_files(self) -> None:
        if self.store_dir == _NO_FILES:
            return
        folder = Path(self.store_dir)
        for kept in self._compaction.offloaded():
            if kept.handle not in self._written:
                folder.mkdir(parents=True, exist_ok=True)
                replace_file(folder / f"{kept.handle}.txt", self._compaction.fetch(kept.handle).encode())
                self._written.add(kept.handle)

    # For the agent

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

    async def retrieve(self, *args: Any, **kwargs: Any) -> None:
        """There is none: this memory is of the conversation under way. Raises ``NotImplementedError``."""
        raise NotImplementedError("a short-term memory has no retrieve; get_memory shows what it holds")

    @staticmethod
    def list_to_msg(messages: list[Mapping[str, Any]]) -> list[Msg]:
        """Messages in OpenAI's shape as messages of agents. Raises ``InvalidInput`` for what is none."""
        return [from_core(one) for one in from_openai(messages)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        # The model is a connection to somewhere; the view is made anew, of the copied conversation.
        memo[id(self.model)] = self.model
        memo[id(self._compaction)] = None
        made = super().__deepcopy__(memo)
        made._conversation = Conversation(_in_turns(made.history))
        made._compaction = made._made(made.history)
        return made


class _InGroups:
    """A summariser that is given so much at once."""

    def __init__(self, summariser: Summariser, tokens: int, counter: TokenCounter) -> None:
        self._summariser = summariser
        self._tokens = tokens
        self._counter = counter

    def fold(self, summary: str, messages: Sequence[Message]) -> str:
        for group in self._groups(messages):
            summary = self._summariser.fold(summary, group)
        return summary

    def _groups(self, messages: Sequence[Message]) -> Iterator[list[Message]]:
        group: list[Message] = []
        size = 0
        for message in messages:
            more = self._counter.count_message(message)
            if group and size + more > self._tokens:
                yield group
                group, size = [], 0
            group.append(message)
            size += more
        if group:
            yield group


class _Turns(History):
    """A conversation in which an agent's turn opens a round as a person's does.

    Windows are made of rounds, and agents talking among themselves would otherwise be in none.
    """

    def add(self, *messages: Message) -> list[Message]:
        stored: list[Message] = []
        with cast(Backend, self.backend).transaction():
            for turn in _turns(messages):
                if self._opens(turn[0]):
                    self.end_round()
                stored += super().add(*turn)
        return stored

    def _opens(self, message: Message) -> bool:
        """Whether another agent spoke last: an answer to a person, or after a tool, belongs to the round there is."""
        if message.role is not Role.AI:
            return False
        info = self.info()
        if info is None or not info.rounds:
            return True
        spoken = [one for one in self.log.read(self.thread, last=_LOOKED_BACK) if one.role in (Role.HUMAN, Role.AI)]
        before = spoken[-1] if spoken else None
        return before is not None and before.role is Role.AI and not before.tool_calls and before.name != message.name


def _in_turns(history: History) -> History:
    return _Turns(cast(Backend, history.backend), history.thread.id, counter=history.counter)


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages, parted where another agent begins to speak."""
    turn: list[Message] = []
    for message in messages:
        if turn and message.role is Role.AI and message.name != turn[0].name:
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def _ratio(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"compact_ratio_threshold must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def _is_summary(message: Message) -> bool:
    return message.index is None and message.metadata.get("strategy") == "summary"


def _as_told(message: Message) -> Msg:
    """The summary as these memories show one. Not as instructions: it is made of what anybody said."""
    told = with_summary([], message.text)[0]
    told.id = message.id
    return told


__all__ = ["ReMeShortTermMemory"]
