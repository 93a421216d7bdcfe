"""Memories that keep a summary: of everything, or of what no longer fits.

The summary is kept beside the conversation, in the same store, with the place up to which it goes. So it is there after a
restart, two objects over one conversation share it, and nothing is summed up twice. A model that fails or says nothing
leaves the summary as it was: the turn is kept, the error is raised, and the next turn takes in both.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from memwell._asyncify import asyncify, run_blocking
from memwell.compat.langchain.base import BaseChatMemory
from memwell.compat.langchain.fields import WithFields
from memwell.compat.langchain.histories import BaseChatMessageHistory
from memwell.compat.langchain.kept import KeptEnd, Line
from memwell.compat.langchain.lines import as_text
from memwell.compat.langchain.messages import BaseMessage, SystemMessage, get_buffer_string, to_core
from memwell.compat.langchain.models import LanguageModelLike, LineCounter, as_llm
from memwell.compat.langchain.prompts import SUMMARY_PROMPT, Prompt, filled
from memwell.errors import InvalidInput
from memwell.messages import Message
from memwell.strategies.state import AT_ONCE, Held, State, is_preamble, next_index, until_settled
from memwell.strategies.summary import DEFAULT_TOKENS, Extractive, said_something
from memwell.values import check_count, check_text
from memwell.windows import rounds_of

_VARIABLES = {"summary", "new_lines"}


class SummarizerMixin(WithFields):
    """Writes summaries with ``llm``; without one, of the sentences that say most, each as it was said."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: LanguageModelLike = None
    prompt: Prompt = SUMMARY_PROMPT
    summary_message_cls: type[BaseMessage] = SystemMessage

    def predict_new_summary(self, messages: Sequence[BaseMessage], existing_summary: str) -> str:
        """A summary of what the existing one says and the messages after it. Raises ``ModelError`` when the model fails."""
        llm = as_llm(self.llm)
        if not llm.answers:
            return Extractive(DEFAULT_TOKENS).fold(existing_summary, [to_core(message) for message in messages])
        return llm.predict(filled(self.prompt, summary=existing_summary, new_lines=self._lines(messages)))

    apredict_new_summary = asyncify(predict_new_summary)

    def _lines(self, messages: Iterable[BaseMessage]) -> str:
        return get_buffer_string(list(messages), human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)

    def _check_summariser(self) -> None:
        as_llm(self.llm)
        variables = list(self.prompt.input_variables)
        if set(variables) != _VARIABLES:
            raise InvalidInput(
                "Value error, Got unexpected prompt input variables. The prompt expects "
                f"{variables}, but it should have {_VARIABLES}."
            )


class _SummarisingMemory(BaseChatMemory, SummarizerMixin):
    """A memory with a summary in one state; what is folded into it, a subclass decides."""

    memory_key: str = "history"

    _state_name = ""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._check_summariser()
        self._last_summary_time: float | None = None

    @property
    def memory_variables(self) -> list[str]:
        """The one variable."""
        return [self.memory_key]

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then bring the summary up to date.

        Raises ``InvalidInput`` as any memory does, and ``ModelError`` when the model fails or says nothing: then the turn
        is kept and the summary as it was. A turn in which nobody says anything may leave it as it is.
        """
        super().save_context(inputs, outputs)
        self._observe()

    def clear(self) -> None:
        """Delete the conversation and its summary."""
        super().clear()
        self._own_state().clear()

    def _observe(self) -> None:
        raise NotImplementedError

    def _told(self, summary: str) -> list[BaseMessage]:
        """The summary as a message of the kind that the history deals in."""
        return self._theirs([self.summary_message_cls(content=summary)])

    def _own_state(self) -> State:
        return self._state(self._state_name)

    def _summary(self) -> str:
        return str(self._own_state().read().fields.get("summary", ""))

    def _folded(self, held: Held, messages: Sequence[Message]) -> Mapping[str, Any]:
        """The fields of the state once these messages are folded in. Raises ``ModelError``."""
        spoken = [one for one in messages if one.for_model and not is_preamble(one)]
        if not spoken:
            return held.fields
        llm = as_llm(self.llm)
        says_nothing = not any(one.text.strip() for one in spoken)
        if says_nothing and not llm.answers:
            return held.fields
        given = self._shown(spoken)
        tokens = llm.count(self._lines(given))
        begun = time.perf_counter()
        new = self.predict_new_summary(given, str(held.fields.get("summary", "")))
        if not str(new).strip() and (says_nothing or not llm.answers):
            # There was nothing worth keeping, so an empty summary is no failure.
            return held.fields
        said_something(new, llm.name)
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
    """A running summary of the whole conversation, brought up to date after every turn.

    ``buffer`` is the summary. One that is given counts when the conversation has none yet, and is taken to cover all that
    was said so far; assigning to it always counts.
    """

    _state_name = "summary"
    _positional = ("llm", "buffer", "prompt", "summary_message_cls")
    _computed = ("buffer",)

    def __init__(self, *args: Any, **given: Any) -> None:
        named = self._named(args, given)
        buffer = named.pop("buffer", "")
        super().__init__(**named)
        if check_text(buffer, "buffer") and not self.buffer:
            self.buffer = buffer

    @classmethod
    def from_messages(
        cls,
        llm: LanguageModelLike,
        chat_memory: BaseChatMessageHistory,
        *,
        summarize_step: int = 2,
        **kwargs: Any,
    ) -> ConversationSummaryMemory:
        """The memory of a conversation that exists, summed up ``summarize_step`` messages at a time.

        What a stored summary covers already is not summed up again.
        """
        check_count(summarize_step, "summarize_step", least=1)
        memory = cls(llm=llm, chat_memory=chat_memory, **kwargs)
        memory._observe(summarize_step)
        return memory

    @property
    def buffer(self) -> str:
        """The summary."""
        return self._summary()

    @buffer.setter
    def buffer(self, summary: str) -> None:
        text = check_text(summary, "buffer")
        until_settled(lambda: self._replaced(text))

    def _replaced(self, summary: str) -> bool:
        state, info = self._own_state(), self._conversation().info()
        held = state.read()
        upto, number = (info.next, info.rounds) if info else (0, 0)
        state.move(held, upto=upto, round=number, fields={**held.fields, "summary": summary})
        return False

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The summary, as text or as one message of ``summary_message_cls``."""
        summary = self.buffer
        return {self.memory_key: self._told(summary) if self.return_messages else summary}

    def _observe(self, step: int = AT_ONCE) -> None:
        until_settled(lambda: self._took_in(step))

    def _took_in(self, step: int) -> bool:
        state = self._own_state()
        held = state.read()
        messages = state.unread(held)[:step]
        if not messages:
            return False
        fields = self._folded(held, messages)
        state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields=fields)
        return True


class ConversationSummaryBufferMemory(_SummarisingMemory):
    """The last rounds as they were said, within ``max_token_limit``, and a summary of all before them.

    Rounds leave whole. The limit is for the rounds; the summary does not count. ``moving_summary_buffer`` is the summary;
    one that is given counts when the conversation has none yet. Raises ``InvalidInput`` for a limit below 0.
    """

    max_token_limit: int = 2000

    _state_name = "summary-buffer"
    _computed = ("moving_summary_buffer",)

    def __init__(self, *args: Any, **given: Any) -> None:
        summary = given.pop("moving_summary_buffer", "")
        super().__init__(*args, **given)
        check_count(self.max_token_limit, "max_token_limit")
        self._counter: tuple[object, LineCounter] | None = None
        self._kept: tuple[tuple[Any, ...], KeptEnd] | None = None
        if check_text(summary, "moving_summary_buffer") and not self.moving_summary_buffer:
            self.moving_summary_buffer = summary

    @property
    def moving_summary_buffer(self) -> str:
        """The summary of what is no longer shown as it was said."""
        return self._summary()

    @moving_summary_buffer.setter
    def moving_summary_buffer(self, summary: str) -> None:
        text = check_text(summary, "moving_summary_buffer")
        until_settled(lambda: self._replaced(text))

    def _replaced(self, summary: str) -> bool:
        state = self._own_state()
        held = state.read()
        state.move(held, upto=held.upto, round=held.round, fields={**held.fields, "summary": summary})
        return False

    @property
    def buffer(self) -> Any:
        """What ``load_memory_variables`` gives."""
        return self.load_memory_variables({})[self.memory_key]

    async def abuffer(self) -> Any:
        """The async twin of ``buffer``."""
        return await run_blocking(lambda: self.buffer)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The summary, when there is one, and the messages that are not in it, as text or as messages."""
        held = self._own_state().read()
        summary = str(held.fields.get("summary", ""))
        told = self._told(summary) if summary else []
        kept = self._kept_lines(held)
        instructions, messages = self._unfolded(held) if kept is None else ([], [line.message for line in kept])
        if self.return_messages:
            return {self.memory_key: [*self._shown(instructions), *told, *self._shown(messages)]}
        text = self._text(messages) if kept is None else "\n".join([line.text for line in kept])
        parts = (self._text(instructions), self._lines(told), text)
        return {self.memory_key: "\n".join(part for part in parts if part)}

    def _kept_lines(self, held: Held) -> list[Line] | None:
        """The messages that are not in the summary, as far as they can be kept; None where they must be read anew."""
        history = self._conversation()
        if history.backend is None:
            return None
        kept = self._kept_end()
        with kept.lock:
            info = history.info()
            if not kept.follow(history, info) or kept.start > held.upto:
                instructions, messages = self._unfolded(held)
                if info is None or instructions or not kept.begin(info, messages, held.upto):
                    return None
            kept.drop_below(held.upto)
            return list(kept.lines)

    def _kept_end(self) -> KeptEnd:
        settings = (self.chat_memory, self.llm, self.human_prefix, self.ai_prefix)
        if self._kept is None or any(one is not other for one, other in zip(self._kept[0], settings, strict=True)):
            count = self._line_counter().count_message
            self._kept = (settings, KeptEnd(count, self.human_prefix, self.ai_prefix))
        return self._kept[1]

    def _text(self, messages: Sequence[Message]) -> str:
        return as_text(messages, self.human_prefix, self.ai_prefix)

    def _unfolded(self, held: Held) -> tuple[list[Message], list[Message]]:
        """The instructions from before the first round, and the messages that are not in the summary."""
        history = self._conversation()
        after = held.upto - 1 if held.upto else None
        messages = [one for one in history.log.read(history.thread, after=after) if one.for_model]
        # Only when something was folded do instructions lie before what is shown.
        folded = [one for one in history.window(rounds=0) if (one.index or 0) < held.upto] if held.upto else []
        return folded, messages

    def prune(self) -> None:
        """Fold the oldest rounds into the summary until the others fit. Raises ``ModelError`` and folds nothing then."""
        until_settled(self._pruned)

    aprune = asyncify(prune)

    def _observe(self) -> None:
        self.prune()

    def _pruned(self) -> bool:
        state = self._own_state()
        held = state.read()
        kept = self._kept_lines(held)
        if kept is None:
            leaving = self._leaving(*self._unfolded(held))
        else:
            leaving = _oldest_rounds(kept, check_count(self.max_token_limit, "max_token_limit"))
        if not leaving:
            return False
        # All that leaves is one question to the model, unless there is too much of it for one prompt.
        now = leaving[:AT_ONCE]
        fields = self._folded(held, now)
        state.move(held, upto=next_index(now), round=now[-1].round or 0, fields=fields)
        return len(leaving) > len(now)

    def _leaving(self, instructions: Sequence[Message], messages: Sequence[Message]) -> list[Message]:
        size = self._line_counter().count_message
        stay = [*instructions, *(one for one in messages if is_preamble(one))]
        left = check_count(self.max_token_limit, "max_token_limit") - sum(map(size, stay))
        kept = 0
        for round_ in reversed(list(rounds_of(one for one in messages if not is_preamble(one)))):
            left -= sum(map(size, round_.messages))
            if left < 0:
                break
            kept += len(round_.messages)
        spoken = [one for one in messages if not is_preamble(one)]
        return spoken[: len(spoken) - kept]

    def _line_counter(self) -> LineCounter:
        if self._counter is None or self._counter[0] is not self.llm:
            self._counter = (self.llm, LineCounter(as_llm(self.llm)))
        return self._counter[1]


def _oldest_rounds(lines: Sequence[Line], limit: int) -> list[Message]:
    """The messages of the rounds that must go so that the others fit."""
    over = sum([line.tokens for line in lines]) - limit
    leaving: list[Message] = []
    for _, round_ in groupby(lines, key=lambda line: line.message.round):
        if over <= 0:
            break
        of_one = list(round_)
        over -= sum([line.tokens for line in of_one])
        leaving += [line.message for line in of_one]
    return leaving


__all__ = [
    "ConversationSummaryBufferMemory",
    "ConversationSummaryMemory",
    "SummarizerMixin",
]
