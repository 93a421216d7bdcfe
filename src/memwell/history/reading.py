"""Reading one conversation: the part of a ``History`` that changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from hashlib import blake2b
from itertools import takewhile
from typing import Any, TypeAlias, TypeVar

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

# The handle of one conversation: which thread of which store it is, and how the store is opened and closed.


Self = TypeVar("Self", bound="ThreadHandle")


_LONGEST = 300


def kept_beside(thread: Thread) -> tuple[Space, str]:
    """Where what is made of a conversation is kept, such as a summary: a space, and how the keys begin. It goes with it."""
    return thread.space / "memwell", f"thread/{key_part(thread.id)}/"


def blobs_beside(thread: Thread) -> Space:
    """The space of the blobs of one conversation alone, so that they can go with it. A value that is kept beside the
    conversation names one by its key ``blob``.
    """
    # One segment, as for what lies beside it: a space has only so many.
    return thread.space / f"memwell thread {key_part(thread.id)}"


def keep_blob(backend: Backend, thread: Thread, data: bytes) -> str:
    """Keep bytes beside a conversation, for who is inside a transaction; ``History.delete`` drops them."""
    space = blobs_beside(thread)
    digest = backend.blobs.put(space, data)
    # A store does not list its blobs. Noted in their own space, where only the end of the conversation reaches.
    backend.kv.put(space, digest, {"blob": digest})
    return digest


def key_part(id_: str) -> str:
    """An id as a part of a key. A long one is digested, and its length in front keeps it from reaching into another."""
    short = id_ if len(id_) <= _LONGEST else blake2b(id_.encode(errors="surrogatepass"), digest_size=32).hexdigest()
    return f"{len(id_)}.{short}"


class ThreadHandle(Closing):
    """A thread of a store, which need not exist yet: it begins with its first message.

    ``store`` is a ``Backend`` or a ``MessageLog``; ``open`` takes a path or URL instead.
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
        cls: type[Self], url: str, thread: str, *, space: SpaceLike = DEFAULT_SPACE, counter: TokenCounter | None = None
    ) -> Self:
        """The conversation in the store at ``url``, which ``close`` closes. Raises what ``open_backend`` raises."""
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
        cls: type[Self], url: str, thread: str, *, space: SpaceLike = DEFAULT_SPACE, counter: TokenCounter | None = None
    ) -> Self:
        """The async twin of ``open``."""
        return await run_blocking(lambda: cls.open(url, thread, space=space, counter=counter))

    def close(self) -> None:
        """Close the store, if ``open`` opened it here."""
        if self._owned and self.backend is not None:
            self.backend.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.thread.id!r}, space={self.thread.space!r})"

    def info(self) -> ThreadInfo | None:
        """What is known of the conversation without reading it, or None when it has not begun."""
        found = self.log.threads(self.thread.space, ids=[self.thread.id]).items
        return found[0] if found else None

    ainfo = asyncify(info)


_FEW = 4
_BLOCK = 64
CHUNK = 500

Target: TypeAlias = int | str | Message
"""Which message is meant: its index, its id, or the message itself."""


class HistoryReader(ThreadHandle):
    """A conversation that can be read, searched and cut to a window, and not changed.

    ``store`` is a ``Backend`` or a ``MessageLog``; ``open`` takes a path or URL instead. The conversation need not exist
    yet: it begins with its first message.
    """

    # Reading

    def __len__(self) -> int:
        info = self.info()
        return info.messages if info else 0

    def __bool__(self) -> bool:
        # An empty conversation is still a conversation.
        return True

    @property
    def tokens(self) -> int:
        """How many tokens the whole conversation has.

        In the default encoding the total is kept up to date by every write, and nothing is counted to answer.
        """
        if not keeps_count(self.counter):
            return sum(map(self.counter.count_message, self))
        info = self.info()
        return info.tokens if info else 0

    async def atokens(self) -> int:
        """The async twin of ``tokens``."""
        return await run_blocking(lambda: self.tokens)

    def last(self, count: int) -> list[Message]:
        """The last messages, as they are."""
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
        """All messages, read in blocks of which each is twice as large as the one before: most readers stop early."""
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
        """The messages that share a word with the query, best first, with their BM25 score; Chinese words too."""
        return self.log.match(self.thread, query, limit=limit)

    # Rounds

    def _rounds_backwards(self, rounds: int | None = None) -> Iterator[Round]:
        """The rounds, latest first; ``rounds`` is how many the caller will look at, as far as it knows."""
        # A round has two messages more often than not, and one with a tool has four.
        block = _BLOCK if rounds is None else min(2 * rounds + 2 * _FEW, _BLOCK)
        newest_first = self._stream(newest_first=True, block=block)
        for round_ in rounds_of(newest_first):
            yield Round(round_.number, round_.messages[::-1])

    def rounds(self, last: int | None = None) -> list[Round]:
        """The last rounds, oldest first; all of them without ``last``. What came before the first round is not in one."""
        if last is not None:
            check_count(last, "last")
        found: list[Round] = []
        for round_ in self._rounds_backwards(last):
            if round_.number == 0 or len(found) == last:
                break
            found.append(round_)
        return found[::-1]

    def latest_round(self) -> Round | None:
        """The round under way, or None before the first."""
        found = self.rounds(1)
        return found[0] if found else None

    def round(self, number: int) -> Round:
        """One round by its number; 0 is what came before the first. Raises ``NotFound`` when there is none."""
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
        """Where the round begins, by bisection: rounds never fall as indexes rise."""
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
        """What to give a model: the last rounds that fit, at most ``rounds`` of them, within ``tokens``, in order.

        Tool calls stay with their results, it never begins with an answer to nothing, and view and hidden messages are left
        out. With ``system`` the instructions from before the first round come first and count. Raises ``InvalidInput``
        when those alone are over the budget.
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
        """Whether a call that a window ends with waits no longer: its result is hidden, or something behind it is gone."""
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
        """The index, if it is this message that the place holds or held: another conversation's has an index too."""
        now = self.log.read(self.thread, after=index - 1, before=index + 1)
        held = now or [version.message for version in self.log.versions(self.thread, index)]
        if any(one is not None and one.id == message.id for one in held):
            return index
        raise NotFound(f"conversation {self.thread.id!r} has no message {shown(message.id)} at index {index}")

    def versions(self, target: Target) -> list[Version]:
        """What a message was before, oldest first."""
        return self.log.versions(self.thread, self._place(target))

    def metadata(self) -> dict[str, Any]:
        """The conversation's own metadata, such as its title."""
        info = self.info()
        return info.metadata if info else {}

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
