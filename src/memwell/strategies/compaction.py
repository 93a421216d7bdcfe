"""Compaction: long tool results shrink to a preview that can be opened again, and old turns to a summary.

Everything here is a view. The log keeps every message whole, so each step can be taken back: ``clear`` shows what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from hashlib import sha256
from typing import Any, Final, Literal, NoReturn, get_args

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotFound, Unsupported
from memwell.history import HistoryReader
from memwell.history.reading import blobs_beside
from memwell.language.detect import language_of
from memwell.messages import Message, Text, ToolResult
from memwell.models.ports import ChatModel
from memwell.records import Page, Space, Thread
from memwell.storage.placement import MAX_INDEX
from memwell.storage.protocols import MessageLog, Place, ThreadInfo, Version
from memwell.strategies.base import Strategy
from memwell.strategies.state import AT_ONCE, Held, State, next_index, until_settled
from memwell.strategies.summary import Summariser, SummaryBuffer
from memwell.strategies.windows import Buffer, checked_history
from memwell.tokens import TokenCounter
from memwell.values import check_count, check_text, shown
from memwell.windows import rounds_of

Mode = Literal["auto", "compact", "compress"]
READ_TOOL: Final = "read_tool_result"
_HEAD_SHARE: Final = 2 / 3
"""Of a preview, how much shows the beginning; the rest is the end, where errors and totals stand."""
_MOST_KEPT: Final = 256
_GENEROUS: Final = 6
"""Few texts have more characters than this to a token."""
_LONGEST_TOKEN: Final = 128
"""No token spells more characters than this, so a longer text needs no counting to be known as long."""
_LEFT_OUT: Final = {
    "en": '[… {count:,} characters left out; the whole result is kept: {tool}(handle="{handle}")]',
    "zh": '[……省略 {count:,} 个字符；完整结果已保存：{tool}(handle="{handle}")]',
}


class Offloaded(msgspec.Struct, frozen=True):
    """A tool result that is shown as a preview: what opens it, whose it is, and how long it is."""

    handle: str
    message: str
    call: str
    characters: int


class _Kept(msgspec.Struct, frozen=True):
    """What is noted of such a result beside the conversation."""

    blob: str
    message: str
    call: str
    characters: int


class Compaction(Strategy):
    """A conversation with long tool results as previews and, when that is not enough, its old turns as a summary.

    A tool result over ``tool_tokens`` goes whole to the store's blobs when it is observed, and is shown as its beginning
    and end, ``preview_tokens`` of them, with a handle: ``fetch`` reads it, and ``tool`` lets a model do so. When what is
    shown is over ``tokens``, old rounds fold into a summary until at most half of that is left, but the last
    ``keep_recent`` messages stay as long as they fit; a tool call and its result never part. ``mode`` is ``auto`` for both,
    ``compact`` for previews alone, ``compress`` for the summary alone. What ``SummaryBuffer`` says of the summariser, its
    failures, the instructions in front and ``name`` holds here. Raises ``InvalidInput`` for another mode, and for a limit
    below 0.
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
        self._state = State(history, f"{name}-tools")
        self._previews = Previews(
            history.counter, check_count(tool_tokens, "tool_tokens"), check_count(preview_tokens, "preview_tokens")
        )
        self._view = _PreviewingLog(history.log, self._previews)
        view = history if mode == "compress" else _shown_through(history, self._view)
        check_count(keep_recent, "keep_recent")
        self._inner = (
            Buffer(view, system=system)
            if mode == "compact"
            else _Folding(view, tokens, summariser, keep_recent=keep_recent, system=system, name=name)
        )

    def observe(self) -> None:
        """Move long tool results to the blobs, and fold what no longer fits. When the summariser fails, nothing folds."""
        if self.mode != "compress":
            until_settled(self._step)
        self._inner.observe()

    def recall(self, query: str | None = None) -> list[Message]:
        return self._inner.recall(query)

    def clear(self) -> None:
        """Forget the summary, and begin behind the last message; previews are made of the log and stay."""
        self._inner.clear()

    def restart(self) -> None:
        """Take every fold back: the summary is forgotten and the conversation is shown as it was said, as far as it fits.

        The next ``observe`` begins from its first message.
        """
        if isinstance(self._inner, SummaryBuffer):
            self._inner.restart()

    @property
    def summary(self) -> str:
        """The summary as it is now; empty before there is one."""
        return self._inner.summary if isinstance(self._inner, SummaryBuffer) else ""

    # Tool results

    def _step(self) -> bool:
        held = self._state.read()
        messages = self._state.unread(held)
        if not messages:
            return False
        with self._state.together():
            for message in messages:
                handles = [self._keep(message, result) for result in self._previews.long_ones(message)]
                if handles:
                    # It is in memory now, and need not be read and hashed again to be shown.
                    self._view.shown(message, handles)
            upto, number = next_index(messages), messages[-1].round or 0
            self._state.move(held, upto=upto, round=number, fields=held.fields)
        return len(messages) == AT_ONCE

    def _keep(self, message: Message, result: ToolResult) -> str:
        """Store a result whole; returns its handle."""
        text = result.text
        blob = self._state.keep_blob(text.encode())
        kept = _Kept(blob, message.id, result.call_id, len(text))
        # A blob's digest is that of the text, of which a handle is the beginning.
        self._state.put(blob[:_HANDLE], msgspec.to_builtins(kept))
        return blob[:_HANDLE]

    def offloaded(self) -> list[Offloaded]:
        """The tool results that went to the blobs."""
        kept = [msgspec.convert(entry.value, _Kept) for entry in self._state.entries()]
        return [Offloaded(one.blob[:_HANDLE], one.message, one.call, one.characters) for one in kept]

    def fetch(self, handle: str, *, start: int = 0, tokens: int | None = None) -> str:
        """A tool result by its handle, whole, or from the character ``start`` on and at most ``tokens`` of it.

        Raises ``NotFound`` for a handle that this conversation did not give, ``InvalidInput`` for what is no handle.
        """
        check_text(handle, "a handle")
        text = self._whole(handle)[check_count(start, "start") :]
        return text if tokens is None else _cut(text, check_count(tokens, "tokens"), self.history.counter)

    def _whole(self, handle: str) -> str:
        entry = self._state.get(handle) if handle else None
        kept = None if entry is None else msgspec.convert(entry.value, _Kept)
        if kept is not None:
            # A copy of the conversation has its notes, but not its blobs; its log has the text.
            with suppress(NotFound):
                return self._state.blobs.get(blobs_beside(self.history.thread), kept.blob).decode()
        for text in self._texts(None if kept is None else kept.message):
            if handle_of(text) == handle:
                return text
        raise NotFound(f"conversation {self.history.thread.id!r} has no tool result {handle!r}")

    def _texts(self, message: str | None) -> Iterator[str]:
        """The long results of one message, or of those that nobody has observed yet."""
        if message is not None:
            found: Sequence[Message] = self.history.log.read(self.history.thread, ids=[message])
        else:
            found = self._state.unread(self._state.read(), most=10 * AT_ONCE)
        return (result.text for one in found for result in self._previews.long_ones(one))

    def tool(self) -> dict[str, Any]:
        """The description of a tool, in OpenAI's shape, by which a model opens a result; ``fetch`` answers it."""
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


_HANDLE: Final = 16


def handle_of(text: str) -> str:
    """What a long result is asked for by: short enough for a prompt, long enough that no two of a conversation meet."""
    return sha256(text.encode()).hexdigest()[:_HANDLE]


class Previews:
    """Makes previews of long tool results. The same result has the same preview, so that prompts stay the same."""

    def __init__(self, counter: TokenCounter, longest: int, shown_tokens: int) -> None:
        self._counter = counter
        self._longest = longest
        self._shown = shown_tokens

    def long_ones(self, message: Message) -> list[ToolResult]:
        """The tool results of a message that are over the limit."""
        # Few messages carry results, and the count of the whole bounds that of each.
        if message.tokens is not None and message.tokens <= self._longest:
            return []
        return [part for part in message.parts if isinstance(part, ToolResult) and self._is_long(part.text)]

    def _is_long(self, text: str) -> bool:
        if len(text) > self._longest * _LONGEST_TOKEN:
            return True
        # A token is at least one byte.
        return 4 * len(text) > self._longest and self._counter.count(text) > self._longest

    def shown(self, message: Message, handles: Sequence[str] = ()) -> Message:
        """The message with its long results shortened; itself when it has none. Their handles may be known already."""
        long = self.long_ones(message)
        if not long:
            return message
        known = iter(handles or [handle_of(part.text) for part in long])
        # By identity: comparing a megabyte with another takes its time.
        ids = set(map(id, long))
        return message.changed(parts=[self._preview(p, next(known)) if id(p) in ids else p for p in message.parts])

    def _preview(self, part: Any, handle: str) -> ToolResult:
        assert isinstance(part, ToolResult)
        text = part.text
        beginning = int(self._shown * _HEAD_SHARE)
        head = _cut(text, beginning, self._counter)
        tail = _cut(text[len(head) :], self._shown - beginning, self._counter, end=True)
        words = _LEFT_OUT["zh" if language_of(head or text[:200]) == "zh" else "en"]
        notice = words.format(count=len(text) - len(head) - len(tail), tool=READ_TOOL, handle=handle)
        lines = "\n".join(line for line in (head, notice, tail) if line)
        others = [one for one in part.content if not isinstance(one, Text)]
        return msgspec.structs.replace(part, content=(Text(lines), *others))


def _cut(text: str, limit: int, counter: TokenCounter, *, end: bool = False) -> str:
    """The beginning of a text, or its end, within a limit of tokens and not much below it."""
    most = _GENEROUS * limit
    kept = (text[-most:] if end else text[:most]) if most else ""
    while kept and counter.count(kept) > limit:
        less = len(kept) // 8 + 1
        kept = kept[less:] if end else kept[:-less]
    return kept


class _PreviewingLog(MessageLog):
    """A log that shows long tool results shortened. It is for reading: whoever writes, writes to the log itself.

    What was shortened once is not read again: a megabyte takes longer to read than all the rest of a window.
    """

    def __init__(self, log: MessageLog, previews: Previews) -> None:
        self._log = log
        self._previews = previews
        self._known: dict[int, Message] = {}
        self._known_of: tuple[Any, ...] = ()

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
        self._forget_if_edited(thread)
        if ids is not None or not self._known:
            found = self._log.read(thread, last=last, first=first, after=after, before=before, ids=ids)
            return [self.shown(message) for message in found]
        low, high = -1 if after is None else after, MAX_INDEX + 1 if before is None else before
        known = sorted(index for index in self._known if low < index < high)
        if last is not None:
            return self._backwards(thread, low, high, last, known[::-1])
        return self._forwards(thread, low, high, MAX_INDEX if first is None else first, known)

    def _forwards(self, thread: Thread, low: int, high: int, most: int, known: Sequence[int]) -> list[Message]:
        """The first messages between two places: what lies between the known ones is read, they themselves are not."""
        found: list[Message] = []
        for index in (*known, high):
            if index - low > 1 and len(found) < most:
                left = most - len(found)
                found += map(self.shown, self._log.read(thread, after=low, before=index, first=left))
            if len(found) >= most or index == high:
                break
            found.append(self._known[index])
            low = index
        return found

    def _backwards(self, thread: Thread, low: int, high: int, most: int, known: Sequence[int]) -> list[Message]:
        found: list[Message] = []
        for index in (*known, low):
            if high - index > 1 and len(found) < most:
                left = most - len(found)
                found = [*map(self.shown, self._log.read(thread, after=index, before=high, last=left)), *found]
            if len(found) >= most or index == low:
                break
            found.insert(0, self._known[index])
            high = index
        return found

    def shown(self, message: Message, handles: Sequence[str] = ()) -> Message:
        """A message as it is shown, remembered when that is not as it is."""
        made = self._previews.shown(message, handles)
        if made is not message and message.index is not None:
            if len(self._known) >= _MOST_KEPT:
                # Dropping all of it at once is rare and needs no order.
                self._known = {}
            self._known[message.index] = made
        return made

    def is_shortened(self, message: Message) -> bool:
        """Whether a message that was read here was shortened."""
        return message.index is not None and self._known.get(message.index) is message

    def _forget_if_edited(self, thread: Thread) -> None:
        info = next(iter(self._log.threads(thread.space, ids=[thread.id]).items), None)
        now = () if info is None else (thread, info.created, info.edits)
        if now != self._known_of:
            self._known, self._known_of = {}, now

    def versions(self, thread: Thread, index: int) -> list[Version]:
        return self._log.versions(thread, index)

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        return self._log.threads(space, ids=ids, limit=limit, cursor=cursor)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        return self._log.match(thread, text, limit=limit)

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        return self._log.places(thread, after=after, limit=limit)

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        _refuse(info.thread)

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        _refuse(thread)

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        _refuse(thread)

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        _refuse(thread)

    def delete(self, thread: Thread) -> bool:
        _refuse(thread)

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        _refuse(thread)


def _is_shortened(log: MessageLog, message: Message) -> bool:
    return isinstance(log, _PreviewingLog) and log.is_shortened(message)


def _refuse(thread: Thread) -> NoReturn:
    raise Unsupported(f"the shortened view of {thread.id!r} is for reading; write to its History")


def _shown_through(history: HistoryReader, log: _PreviewingLog) -> HistoryReader:
    """The same conversation in the same store, read through another log."""
    view = copy(history)
    view.log = log
    return view


class _Folding(SummaryBuffer):
    """A summary buffer that, once it must fold, makes room for more than the next round: a prompt's beginning, which
    providers cache, then changes seldom.
    """

    def __init__(
        self,
        history: HistoryReader,
        tokens: int,
        summariser: Summariser | ChatModel | None,
        *,
        keep_recent: int,
        system: bool,
        name: str,
    ) -> None:
        super().__init__(history, tokens, summariser, system=system, name=name)
        self._keep_recent = keep_recent

    def _fold(self, held: Held, messages: Sequence[Message]) -> dict[str, Any]:
        # What is left of a long result after its shortening says nothing in a summary, and would crowd out what was said.
        return super()._fold(held, [one for one in messages if not _is_shortened(self.history.log, one)])

    def _to_keep(self, held: Held, room: int) -> list[Message]:
        kept = self._rounds(held, room // 2)
        if len(kept) < self._keep_recent:
            all_that_fits = list(rounds_of(self._rounds(held, room)))
            kept = []
            while all_that_fits and len(kept) < self._keep_recent:
                kept = all_that_fits.pop().messages + kept
        return kept
