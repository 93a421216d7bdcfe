"""``Compaction``: shows long tool results as previews that can be opened, and old rounds as a summary.

The log keeps every message whole, so ``restart`` restores everything that was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, Final, Literal, cast, get_args

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, MemwellError, NotFound
from memwell.history import History, HistoryReader
from memwell.history.reading import thread_blobs
from memwell.history.writing import transaction_of
from memwell.language.words import en_or_zh
from memwell.messages import Message, Role, Text, ToolResult, human
from memwell.models.ports import ChatModel
from memwell.records import Thread
from memwell.storage.parts import MAX_INDEX
from memwell.storage.protocols import MessageLog, ThreadInfo
from memwell.strategies.base import Strategy, TokenWindow, checked_history
from memwell.strategies.state import AT_ONCE, StoredState, StrategyState, next_index, until_done
from memwell.strategies.summary import Summariser, SummaryBuffer
from memwell.tokens import TokenCounter
from memwell.values import check_count, check_text, shown
from memwell.windows import first_waiting, rounds_of

Mode = Literal["auto", "compact", "compress"]
READ_TOOL: Final = "read_tool_result"
_HEAD_SHARE: Final = 2 / 3
"""The share of a preview for the beginning; the rest is for the end, where errors and totals are."""
_MOST_KEPT: Final = 256
_GENEROUS: Final = 6
"""Few texts have more characters per token than this."""
_LONGEST_TOKEN: Final = 128
"""No token has more characters than this, so a text beyond it is long without counting."""
_LEFT_OUT: Final = {
    "en": '[… {count:,} characters left out; the whole result is kept: {tool}(handle="{handle}")]',
    "zh": '[……省略 {count:,} 个字符；完整结果已保存：{tool}(handle="{handle}")]',
}


class Offloaded(msgspec.Struct, frozen=True):
    """A tool result that has a handle: the digest of its text, its message and call, and its length."""

    blob: str
    message: str
    call: str
    characters: int

    @property
    def handle(self) -> str:
        """What a preview names it by: the beginning of the digest. A long result is a blob of that digest."""
        return self.blob[:_HANDLE]


class Compaction(Strategy):
    """A conversation with long tool results as previews and, if that is not enough, old rounds as a summary.

    ``observe`` stores a tool result over ``tool_tokens`` as a blob. Its beginning and end, ``preview_tokens`` of it,
    are shown with a handle: ``fetch`` reads it, and ``tool`` lets a model do so. When the messages exceed ``tokens``,
    old rounds are folded into a summary until at most half of that is left, except the last ``keep_recent`` messages
    that fit; a tool call and its result stay together. ``mode`` is ``auto`` for both, ``compact`` for previews only, of
    the last rounds that fit ``tokens``, and ``compress`` for the summary only. The summariser, its failures, ``system``
    and ``name`` are as in ``SummaryBuffer``. Raises ``InvalidInput`` for another mode, and for a limit below 0.
    """

    def __init__(
        self,
        history: HistoryReader,
        *,
        tokens: int = 20_000,
        tool_tokens: int = 2_000,
        preview_tokens: int = 200,
        keep_recent: int = 10,
        mode: Mode = "auto",
        summariser: Summariser | ChatModel | None = None,
        system: bool = True,
        name: str = "compaction",
    ) -> None:
        self.history = checked_history(history)
        if mode not in get_args(Mode):
            raise InvalidInput(f"mode must be one of {', '.join(get_args(Mode))}, not {shown(mode)}")
        self.mode = mode
        self.tokens = check_count(tokens, "tokens")
        self._state = StrategyState(history, f"{name}-tools")
        self._previews = Previews(
            history.counter, check_count(tool_tokens, "tool_tokens"), check_count(preview_tokens, "preview_tokens")
        )
        self._view = _PreviewingLog(history.log, self._previews)
        self._keep_recent = check_count(keep_recent, "keep_recent")
        view = history if mode == "compress" else _shown_through(history, self._view)
        folding = partial(_Folding, summariser=summariser, keep_recent=keep_recent, name=name)
        self._within = partial(TokenWindow if mode == "compact" else folding, view, system=system)
        self._inner: TokenWindow | _Folding = self._within(tokens)

    def observe(self) -> None:
        """Store long tool results as blobs, and fold what no longer fits. When the summariser fails, nothing is folded."""
        if self.mode != "compress":
            until_done(self._step)
        self._inner.observe()

    def recall(self, query: str | None = None) -> list[Message]:
        return self._inner.recall(query)

    def clear(self) -> None:
        """Delete the summary, and continue after the last message; previews stay."""
        self._inner.clear()

    def restart(self) -> None:
        """Delete the summary, so that the conversation is shown as it was said, as far as it fits.

        The next ``observe`` starts at the first message.
        """
        if isinstance(self._inner, SummaryBuffer):
            self._inner.restart()

    @property
    def summary(self) -> str:
        """The current summary; empty before there is one."""
        return self._inner.summary if isinstance(self._inner, SummaryBuffer) else ""

    # Tool results

    def _step(self) -> bool:
        held = self._state.read()
        messages = self._state.unread(held)
        if not messages:
            return False
        with self._state.together():
            for message in messages:
                handles = self._keep(message)
                if handles:
                    # It is in memory now, so cache its preview.
                    self._view.shown(message, handles)
            upto, number = next_index(messages), messages[-1].round or 0
            self._state.move(held, upto=upto, round=number, fields=held.fields)
        return len(messages) == AT_ONCE

    def _keep(self, message: Message) -> list[str]:
        """Store the long results of a message whole. Returns their handles."""
        long = self._previews.long_ones(message)
        return [self._name(message, one, self._state.keep_blob(one.text.encode())) for one in long]

    def _name(self, message: Message, result: ToolResult, digest: str) -> str:
        """Give a result a handle."""
        kept = Offloaded(digest, message.id, result.call_id, len(result.text))
        self._state.put(kept.handle, msgspec.to_builtins(kept))
        return kept.handle

    def offloaded(self) -> list[Offloaded]:
        """The tool results that have a handle."""
        return [msgspec.convert(entry.value, Offloaded) for entry in self._state.entries()]

    def fetch(self, handle: str, *, start: int = 0, tokens: int | None = None) -> str:
        """A tool result by its handle: whole, or from the character ``start`` on, at most ``tokens``.

        Raises ``NotFound`` for an unknown handle of this conversation, ``InvalidInput`` for anything but text.
        """
        check_text(handle, "a handle")
        text = self._whole(handle)[check_count(start, "start") :]
        return text if tokens is None else cut(text, check_count(tokens, "tokens"), self.history.counter)

    def _whole(self, handle: str) -> str:
        entry = self._state.get(handle) if handle else None
        kept = None if entry is None else msgspec.convert(entry.value, Offloaded)
        if kept is not None:
            # A result that is not long has no blob, nor has a copy of the conversation; the log has the text.
            with suppress(NotFound):
                return self._state.blobs.get(thread_blobs(self.history.thread), kept.blob).decode()
        for text in self._texts(None if kept is None else kept.message):
            if handle_of(text) == handle:
                return text
        raise NotFound(f"conversation {self.history.thread.id!r} has no tool result {handle!r}")

    def _texts(self, message: str | None) -> Iterator[str]:
        """The results of one message, or of messages that are not observed yet."""
        if message is not None:
            found: Sequence[Message] = self.history.log.read(self.history.thread, ids=[message])
        else:
            found = self._state.unread(self._state.read(), most=10 * AT_ONCE)
        return (result.text for one in found for result in one.tool_results)

    def tool(self) -> dict[str, Any]:
        """The definition of a tool, in OpenAI's format, with which a model reads a result; ``fetch`` answers it."""
        properties = {
            "handle": {"type": "string", "description": "The handle that the preview names."},
            "start": {"type": "integer", "minimum": 0, "description": "The character to begin at."},
            "tokens": {"type": "integer", "minimum": 1, "description": "How much to read at most."},
        }
        about = "Read a tool result of this conversation that is shown shortened, in whole or in part."
        parameters = {"type": "object", "properties": properties, "required": ["handle"], "additionalProperties": False}
        return {"type": "function", "function": {"name": READ_TOOL, "description": about, "parameters": parameters}}

    afetch = asyncify(fetch)
    aoffloaded = asyncify(offloaded)


_KEPT: Final = {
    "en": "[Tool results that are kept whole; {tool}(handle=…) opens one: {handles}]",
    "zh": "[以下工具结果已完整保存，可用 {tool}(handle=…) 打开：{handles}]",
}


class TaskCompaction(Compaction):
    """A ``Compaction`` for an agent at work: the task and every tool result, or its handle, stay in view.

    The task is what a person said first and last. Task and handles of results that are no longer among the rounds come
    before them, and take at most half of ``tokens``: a longer task is cut, and of more handles the latest are listed. A
    result shorter than a handle has none. In the last ``keep_recent`` messages tool results are whole as long as
    everything fits. The arguments are those of ``Compaction``.
    """

    _reserved = 0

    def observe(self) -> None:
        until_done(self._step)
        try:
            self._inner.observe()
            while self._reserve():
                self._inner.observe()
        except MemwellError:
            while self._reserve():
                pass
            raise

    def _reserve(self) -> bool:
        """Reserve tokens for what the rounds do not show. Returns whether the rounds have less room than before."""
        most = self.tokens // 2
        needed = sum(map(self._size, self._notes(self._inner.recall(), most)))
        if needed <= self._reserved or self._reserved == most:
            return False
        # More than is needed now, so that not every result makes a new view.
        self._reserved = min(2 * needed, most)
        self._inner = self._within(self.tokens - self._reserved)
        return True

    def _keep(self, message: Message) -> list[str]:
        for result in message.tool_results:
            if len(result.text) > _HANDLE:
                self._name(message, result, _digest(result.text))
        return super()._keep(message)

    def recall(self, query: str | None = None) -> list[Message]:
        view = super().recall(query)
        left = self.tokens - sum(map(self._size, view))
        notes = self._notes(view, min(left, self.tokens // 2))
        self._show_recent_whole(view, left - sum(map(self._size, notes)))
        first = next((place for place, one in enumerate(view) if one.role is not Role.SYSTEM), len(view))
        return [*view[:first], *notes, *view[first:]]

    def _size(self, message: Message) -> int:
        return self.history.counter.count_message(message)

    def _notes(self, view: Sequence[Message], room: int) -> list[Message]:
        """The task, and the handles of tool results, as far as a view does not show them."""
        there = {one.id for one in view}
        tasks = [self._shortened(one, room // 4) for one in self._tasks() if one.id not in there]
        kept = [one for one in self.offloaded() if one.message not in there]
        words = _KEPT[en_or_zh(tasks[0].text if tasks else "".join(one.text[:200] for one in view[:1]))]
        left = room - sum(map(self._size, tasks))
        note = self._listed(kept, words)
        if kept and self._size(note) > left:
            found = self.history.log.read(self.history.thread, ids=[one.message for one in kept])
            places = {one.id: one.index or 0 for one in found}
            kept.sort(key=lambda one: places.get(one.message, -1))
        while kept and self._size(note) > left:
            kept = kept[len(kept) // 16 + 1 :]
            note = self._listed(kept, words)
        return [*tasks, note] if kept else tasks

    def _listed(self, kept: Sequence[Offloaded], words: str) -> Message:
        listed = words.format(tool=READ_TOOL, handles=", ".join(one.handle for one in kept))
        return human(listed, metadata={"strategy": "summary"})

    def _shortened(self, task: Message, tokens: int) -> Message:
        return (
            task if self._size(task) <= tokens else task.changed(content=cut(task.text, tokens, self.history.counter))
        )

    def _tasks(self) -> list[Message]:
        """The first message of a person, and the last."""
        first = next((one for one in self.history if one.role is Role.HUMAN), None)
        last, read = first, AT_ONCE
        while first is not None and last is first:
            found = self.history.last(read)
            last = next((one for one in reversed(found) if one.role is Role.HUMAN), first)
            if len(found) < read:
                break
            read *= 8
        return [] if first is None or last is None else [first] if last.id == first.id else [first, last]

    def _show_recent_whole(self, view: list[Message], left: int) -> None:
        """Put whole results in the place of previews in the last messages, newest first, as far as tokens are left."""
        for place in range(len(view) - 1, max(len(view) - self._keep_recent, 0) - 1, -1):
            preview = view[place]
            if not preview.tool_results or READ_TOOL not in preview.text:
                continue
            [whole] = self.history.log.read(self.history.thread, ids=[preview.id])
            more = self._size(whole) - self._size(preview)
            if more <= left:
                view[place], left = whole, left - more


class Turns(History):
    """A conversation in which each step of an agent starts a round: an answer, or a tool call with its result.

    Strategies fold and keep whole rounds, and in a plain ``History`` only a person's message starts one.
    """

    def add(self, *messages: Message) -> list[Message]:
        stored: list[Message] = []
        with transaction_of(self):
            for message in messages:
                if message.role is Role.AI and self._is_complete():
                    self.end_round()
                stored += super().add(message)
        return stored

    def _is_complete(self) -> bool:
        """Whether an agent has spoken in the current round and no tool call waits for its result."""
        round_ = self.latest_round()
        if round_ is None:
            return True
        return any(one.role is Role.AI for one in round_.messages) and first_waiting(round_.messages) is None


_HANDLE: Final = 16


def handle_of(text: str) -> str:
    """The handle of a long result: short enough for a prompt, and unique in a conversation."""
    return _digest(text)[:_HANDLE]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class Previews:
    """Makes previews of long tool results. The same result has the same preview, so that prompts can be cached."""

    def __init__(self, counter: TokenCounter, longest: int, shown_tokens: int) -> None:
        self._counter = counter
        self._longest = longest
        self._shown = shown_tokens

    def long_ones(self, message: Message) -> list[ToolResult]:
        """The tool results of a message that exceed the limit."""
        # The token count of the whole message bounds that of each result.
        if message.tokens is not None and message.tokens <= self._longest:
            return []
        return [part for part in message.parts if isinstance(part, ToolResult) and self._is_long(part.text)]

    def _is_long(self, text: str) -> bool:
        if len(text) > self._longest * _LONGEST_TOKEN:
            return True
        # A token is at least one byte.
        return 4 * len(text) > self._longest and self._counter.count(text) > self._longest

    def shown(self, message: Message, handles: Sequence[str] = ()) -> Message:
        """The message with its long results as previews; itself when it has none. ``handles`` may be given."""
        long = self.long_ones(message)
        if not long:
            return message
        known = iter(handles or [handle_of(part.text) for part in long])
        # By identity, because comparing long texts is slow.
        ids = set(map(id, long))
        return message.changed(parts=[self._preview(p, next(known)) if id(p) in ids else p for p in message.parts])

    def _preview(self, part: Any, handle: str) -> ToolResult:
        assert isinstance(part, ToolResult)
        text = part.text
        beginning = int(self._shown * _HEAD_SHARE)
        head = cut(text, beginning, self._counter)
        tail = cut(text[len(head) :], self._shown - beginning, self._counter, end=True)
        words = _LEFT_OUT[en_or_zh(head or text[:200])]
        notice = words.format(count=len(text) - len(head) - len(tail), tool=READ_TOOL, handle=handle)
        lines = "\n".join(line for line in (head, notice, tail) if line)
        others = [one for one in part.content if not isinstance(one, Text)]
        return msgspec.structs.replace(part, content=(Text(lines), *others))


def cut(text: str, limit: int, counter: TokenCounter, *, end: bool = False) -> str:
    """The beginning or end of a text, within a limit of tokens and close to it."""
    most = _GENEROUS * limit
    kept = (text[-most:] if end else text[:most]) if most else ""
    while kept and counter.count(kept) > limit:
        less = len(kept) // 8 + 1
        kept = kept[less:] if end else kept[:-less]
    return kept


class _PreviewingLog:
    """A log whose ``read`` shows long tool results as previews.

    It caches previews, because reading a long result again takes longer than the rest of a window.
    """

    def __init__(self, log: MessageLog, previews: Previews) -> None:
        self._log = log
        self._previews = previews
        self._known: dict[int, Message] = {}
        self._known_of: tuple[Any, ...] = ()
        self._seen: tuple[int, datetime | None] = (0, None)
        """The next index of the conversation when it was last read, and the time of its newest message."""

    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        self._forget_if_changed(thread)
        if ids is not None or not self._known:
            found = self._log.read(thread, last=last, first=first, after=after, before=before, ids=ids)
            return [self.shown(message) for message in found]
        low, high = -1 if after is None else after, MAX_INDEX + 1 if before is None else before
        # A copy: reading what is between may fill the cache, and then it is cleared.
        known = {index: one for index, one in sorted(self._known.items()) if low < index < high}
        if last is not None:
            return self._backwards(thread, low, high, last, dict(reversed(known.items())))
        return self._forwards(thread, low, high, MAX_INDEX if first is None else first, known)

    def _forwards(self, thread: Thread, low: int, high: int, most: int, known: Mapping[int, Message]) -> list[Message]:
        """The first messages between two indexes; cached ones are not read."""
        found: list[Message] = []
        for index in (*known, high):
            if index - low > 1 and len(found) < most:
                left = most - len(found)
                found += map(self.shown, self._log.read(thread, after=low, before=index, first=left))
            if len(found) >= most or index == high:
                break
            found.append(known[index])
            low = index
        return found

    def _backwards(self, thread: Thread, low: int, high: int, most: int, known: Mapping[int, Message]) -> list[Message]:
        found: list[Message] = []
        for index in (*known, low):
            if high - index > 1 and len(found) < most:
                left = most - len(found)
                found = [*map(self.shown, self._log.read(thread, after=index, before=high, last=left)), *found]
            if len(found) >= most or index == low:
                break
            found.insert(0, known[index])
            high = index
        return found

    def shown(self, message: Message, handles: Sequence[str] = ()) -> Message:
        """A message with previews; a changed one is cached."""
        made = self._previews.shown(message, handles)
        if made is not message and message.index is not None:
            if len(self._known) >= _MOST_KEPT:
                # Clearing it whole is rare, and needs no order.
                self._known = {}
            self._known[message.index] = made
        return made

    def is_shortened(self, message: Message) -> bool:
        """Whether a message that was read here has a preview."""
        return message.index is not None and self._known.get(message.index) is message

    def _forget_if_changed(self, thread: Thread) -> None:
        """Clear the cache after an edit, or when the store lost messages, so that others have their places."""
        info = next(iter(self._log.threads(thread.space, ids=[thread.id]).items), None)
        now = () if info is None else (thread, info.created, info.edits)
        if now != self._known_of or (info is not None and not self._goes_on(info)):
            self._known, self._known_of = {}, now
        self._seen = (0, None) if info is None else (info.next, info.updated)

    def _goes_on(self, info: ThreadInfo) -> bool:
        next_, updated = self._seen
        if not self._known or (info.next, info.updated) == self._seen:
            return True
        if info.next <= next_:
            return False
        self._known = {index: one for index, one in self._known.items() if index < next_}
        return [one.time for one in self._log.read(info.thread, before=next_, last=1)] in ([updated], [])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def _shown_through(history: HistoryReader, log: _PreviewingLog) -> HistoryReader:
    """The same conversation, read through another log."""
    view = copy(history)
    view.log = cast(MessageLog, log)
    return view


class _Folding(SummaryBuffer):
    """A summary buffer that makes room for several rounds when it must fold, so that the beginning of the prompt, which
    providers cache, changes rarely.
    """

    def __init__(
        self,
        history: HistoryReader,
        tokens: int,
        *,
        summariser: Summariser | ChatModel | None,
        keep_recent: int,
        system: bool,
        name: str,
    ) -> None:
        super().__init__(history, tokens, summariser, system=system, name=name)
        self._keep_recent = keep_recent

    def _fold(self, held: StoredState, messages: Sequence[Message]) -> dict[str, Any]:
        # A preview says nothing in a summary, and would displace what people said.
        return super()._fold(held, [one for one in messages if not self._is_preview(one)])

    def _is_preview(self, message: Message) -> bool:
        log: object = self.history.log
        return isinstance(log, _PreviewingLog) and log.is_shortened(message)

    def _to_keep(self, held: StoredState, room: int, unfolded: list[Message] | None) -> list[Message]:
        kept = self._rounds(held, room // 2, unfolded)
        if len(kept) < self._keep_recent:
            all_that_fits = list(rounds_of(self._rounds(held, room, unfolded)))
            kept = []
            while all_that_fits and len(kept) < self._keep_recent:
                kept = all_that_fits.pop().messages + kept
        return kept
