"""``HistoryReader``: reads one conversation, searches it and cuts it to a window."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Self, TypeAlias

from memwell._asyncify import Closing, asyncify, run_blocking
from memwell.errors import InvalidInput, NotFound
from memwell.messages import Message, Role
from memwell.records import DEFAULT_SPACE, Page, Space, SpaceLike, Thread, as_space
from memwell.storage.arguments import check_cursor
from memwell.storage.protocols import Backend, MessageLog, ThreadInfo, Version
from memwell.storage.registry import open_backend
from memwell.tokens import TokenCounter, default_counter, keeps_count
from memwell.values import check_count, shown
from memwell.windows import Round, first_waiting, fitted, rounds_of

# Where the data of a conversation is stored.

_LONGEST = 300


def thread_keys(thread: Thread) -> tuple[Space, str]:
    """The space and key prefix of what is derived from a conversation, such as a summary; deleted with it."""
    return thread.space / "memwell", f"thread/{key_part(thread.id)}/"


def thread_blobs(thread: Thread) -> Space:
    """The space of one conversation's blobs, which are deleted with it. A value stored with the conversation names a blob
    by its key ``blob``.
    """
    # One segment, because a space has a limited number of them.
    return thread.space / f"memwell thread {key_part(thread.id)}"


def keep_blob(backend: Backend, thread: Thread, data: bytes) -> str:
    """Store bytes as a blob of a conversation; ``History.delete`` deletes it. Call it inside a transaction."""
    space = thread_blobs(thread)
    digest = backend.blobs.put(space, data)
    # A store does not list its blobs, so each is recorded in their own space.
    backend.kv.put(space, digest, {"blob": digest})
    return digest


def key_part(id_: str) -> str:
    """An id as a part of a key. A long one is replaced by its digest; the length in front makes it no other's prefix."""
    short = id_ if len(id_) <= _LONGEST else blake2b(id_.encode(errors="surrogatepass"), digest_size=32).hexdigest()
    return f"{len(id_)}.{short}"


_FEW = 4
_BLOCK = 64
CHUNK = 500

Target: TypeAlias = int | str | Message
"""A message, given by its index, its id, or itself."""


class HistoryReader(Closing):
    """A conversation that can be read, searched and cut to a window.

    ``store`` is a ``Backend`` or a ``MessageLog``; ``open`` takes a path or URL instead. The conversation need not exist
    yet: its first message creates it.
    """

    def __init__(
        self,
        store: Backend | MessageLog,
        thread: str,
        *,
        space: SpaceLike = DEFAULT_SPACE,
        counter: TokenCounter | None = None,
    ) -> None:
        if not isinstance(store, Backend) and not hasattr(store, "annotate"):
            raise InvalidInput(
                f"a store must be a Backend or a MessageLog, not {shown(store)}; History.open takes a path"
            )
        self.thread = Thread(as_space(space), thread)
        self.log = store.log if isinstance(store, Backend) else store
        self.counter = counter or default_counter()
        self.backend = store if isinstance(store, Backend) else None
        self._owned = False

    @classmethod
    def open(
        cls, url: str, thread: str, *, space: SpaceLike = DEFAULT_SPACE, counter: TokenCounter | None = None
    ) -> Self:
        """The conversation in the store at ``url``; ``close`` closes the store. Raises what ``open_backend`` raises."""
        backend = open_backend(url)
        try:
            history = cls(backend, thread, space=space, counter=counter)
        except BaseException:
            backend.close()
            raise
        history._owned = True
        return history

    @classmethod
    async def aopen(
        cls, url: str, thread: str, *, space: SpaceLike = DEFAULT_SPACE, counter: TokenCounter | None = None
    ) -> Self:
        """The async twin of ``open``."""
        return await run_blocking(lambda: cls.open(url, thread, space=space, counter=counter))

    def close(self) -> None:
        """Close the store, if ``open`` opened it."""
        if self._owned and self.backend is not None:
            self.backend.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.thread.id!r}, space={self.thread.space!r})"

    def info(self) -> ThreadInfo | None:
        """The conversation's counts and times, or None when it does not exist yet."""
        found = self.log.threads(self.thread.space, ids=[self.thread.id]).items
        return found[0] if found else None

    # Reading

    def __len__(self) -> int:
        info = self.info()
        return info.messages if info else 0

    def __bool__(self) -> bool:
        # An empty conversation is true as well.
        return True

    @property
    def tokens(self) -> int:
        """The number of tokens of the whole conversation.

        In the default encoding every write updates the total, and nothing is counted here.
        """
        if not keeps_count(self.counter):
            return sum(map(self.counter.count_message, self))
        info = self.info()
        return info.tokens if info else 0

    async def atokens(self) -> int:
        """The async twin of ``tokens``."""
        return await run_blocking(lambda: self.tokens)

    def last(self, count: int) -> list[Message]:
        """The last messages."""
        return self.log.read(self.thread, last=count)

    def get(self, target: Target) -> Message:
        """One message by index or id. Raises ``NotFound`` when there is none."""
        if isinstance(target, Message):
            target = target.id
        if isinstance(target, str):
            found = self.log.read(self.thread, ids=[target])
        else:
            check_count(target, "an index")
            found = self.log.read(self.thread, after=target - 1, before=target + 1)
        if not found:
            raise NotFound(f"conversation {self.thread.id!r} has no message {shown(target)}")
        return found[0]

    def page(self, *, limit: int = 100, cursor: str | None = None, newest_first: bool = False) -> Page[Message]:
        """One page of the conversation; pass ``next`` of a page as ``cursor`` to get the following one."""
        check_count(limit, "limit", least=1)
        place = None if cursor is None else check_cursor(cursor)
        if newest_first:
            found = self.log.read(self.thread, last=limit + 1, before=place)[::-1]
        else:
            found = self.log.read(self.thread, first=limit + 1, after=place)
        return Page(found[:limit], str(found[limit - 1].index) if len(found) > limit else None)

    def __iter__(self) -> Iterator[Message]:
        return self._stream(newest_first=False)

    def __reversed__(self) -> Iterator[Message]:
        return self._stream(newest_first=True)

    def _stream(self, *, newest_first: bool, block: int = CHUNK) -> Iterator[Message]:
        """All messages, read in blocks of doubling size, because most readers stop early."""
        cursor = None
        while True:
            page = self.page(limit=block, cursor=cursor, newest_first=newest_first)
            yield from page.items
            cursor, block = page.next, min(2 * block, CHUNK)
            if cursor is None:
                return

    async def __aiter__(self) -> AsyncIterator[Message]:
        cursor = None
        while True:
            page = await self.apage(limit=CHUNK, cursor=cursor)
            for message in page.items:
                yield message
            cursor = page.next
            if cursor is None:
                return

    def search(self, query: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        """The messages that share a word with the query, best first, with their BM25 scores; Chinese words too."""
        return self.log.match(self.thread, query, limit=limit)

    # Rounds

    def _rounds_backwards(self, rounds: int | None = None) -> Iterator[Round]:
        """The rounds, latest first; ``rounds`` is how many the caller expects to read."""
        # Most rounds have two messages, one with a tool has four.
        block = _BLOCK if rounds is None else min(2 * rounds + 2 * _FEW, _BLOCK)
        newest_first = self._stream(newest_first=True, block=block)
        for round_ in rounds_of(newest_first):
            yield Round(round_.number, round_.messages[::-1])

    def rounds(self, last: int | None = None) -> list[Round]:
        """The last rounds, oldest first (default: all). Messages before the first round are in none."""
        if last is not None:
            check_count(last, "last")
        found: list[Round] = []
        for round_ in self._rounds_backwards(last):
            if round_.number == 0 or len(found) == last:
                break
            found.append(round_)
        return found[::-1]

    def latest_round(self) -> Round | None:
        """The current round, or None before the first."""
        found = self.rounds(1)
        return found[0] if found else None

    def round(self, number: int) -> Round:
        """One round by its number; 0 is everything before the first. Raises ``NotFound``."""
        check_count(number, "a round's number")
        start = self._first_of_round(number)
        messages: list[Message] = []
        while True:
            block = self.log.read(self.thread, first=_BLOCK, after=start - 1)
            messages += [message for message in block if message.round == number]
            if len(block) < _BLOCK or block[-1].round != number:
                break
            start = (block[-1].index or 0) + 1
        if not messages:
            raise NotFound(f"conversation {self.thread.id!r} has no round {number}")
        return Round(number, messages)

    def _first_of_round(self, number: int) -> int:
        """The index where a round begins, by bisection: round numbers ascend with indexes."""
        info = self.info()
        low, high = (info.first, info.next) if info else (0, 0)
        while low < high:
            middle = (low + high) // 2
            found = self.log.read(self.thread, first=1, after=middle - 1)
            if found and (found[0].round or 0) < number:
                low = (found[0].index or 0) + 1
            else:
                high = middle
        return low

    # Windows

    def window(self, *, tokens: int | None = None, rounds: int | None = None, system: bool = True) -> list[Message]:
        """The messages for a model: the last rounds that fit, at most ``rounds`` of them, within ``tokens``, in order.

        Tool calls stay with their results, the window never begins with an answer, and view and hidden messages are left
        out. With ``system`` the instructions before the first round come first and count. Raises ``InvalidInput`` when
        these alone exceed the budget.
        """
        budget = 2**62 if tokens is None else check_count(tokens, "tokens")
        most = None if rounds is None else check_count(rounds, "rounds")
        preamble = self._preamble() if system else []
        kept = fitted(self._latest(most), budget, self.counter.count_message, preamble)
        waiting = first_waiting(kept)
        if waiting is None or not self._was_answered(waiting):
            return kept
        return fitted(self._latest(most), budget, self.counter.count_message, preamble, may_wait=False)

    def _was_answered(self, waiting: Message) -> bool:
        """Whether a tool call at the end of a window was answered: by a hidden result, or by a deleted message."""
        since = self.log.read(self.thread, after=waiting.index)
        info = self.info()
        behind = 0 if info is None else info.next - 1 - (waiting.index or 0)
        return len(since) < behind or any(one.hidden and one.tool_results for one in since)

    def _latest(self, most: int | None) -> Iterator[Round]:
        if most == 0:
            return
        for taken, round_ in enumerate(self._rounds_backwards(most), 1):
            if round_.number == 0:
                return
            yield round_
            if taken == most:
                return

    def _preamble(self) -> list[Message]:
        before_rounds = takewhile(lambda message: not message.round, self._stream(newest_first=False, block=_FEW))
        return [message for message in before_rounds if message.role is Role.SYSTEM]

    def _place(self, target: Target) -> int:
        if isinstance(target, int):
            return check_count(target, "an index")
        if isinstance(target, Message) and target.index is not None:
            return self._place_of(target, target.index)
        return self.get(target).index or 0

    def _place_of(self, message: Message, index: int) -> int:
        """The index, if this message is or was there; a message of another conversation has an index too."""
        now = self.log.read(self.thread, after=index - 1, before=index + 1)
        held = now or [version.message for version in self.log.versions(self.thread, index)]
        if any(one is not None and one.id == message.id for one in held):
            return index
        raise NotFound(f"conversation {self.thread.id!r} has no message {shown(message.id)} at index {index}")

    def versions(self, target: Target) -> list[Version]:
        """The earlier versions of a message, oldest first."""
        return self.log.versions(self.thread, self._place(target))

    def metadata(self) -> dict[str, Any]:
        """The conversation's own metadata, such as its title."""
        info = self.info()
        return info.metadata if info else {}

    ainfo = asyncify(info)
    alast = asyncify(last)
    aget = asyncify(get)
    apage = asyncify(page)
    asearch = asyncify(search)
    arounds = asyncify(rounds)
    alatest_round = asyncify(latest_round)
    around = asyncify(round)  # noqa: A003 - the method above, not the builtin
    awindow = asyncify(window)
    aversions = asyncify(versions)
    ametadata = asyncify(metadata)
