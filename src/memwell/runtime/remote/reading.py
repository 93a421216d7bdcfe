"""Reading one conversation behind a service: the part of a ``RemoteHistory`` that changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

from memwell._asyncify import Closing, asyncify, run_blocking
from memwell.errors import InvalidInput, NotFound, Unsupported
from memwell.history.reading import Target
from memwell.messages import Media, Message
from memwell.records import Page, Space, Thread
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.refusing import Refused
from memwell.runtime.wire import threads
from memwell.storage.protocols import ThreadInfo, Version
from memwell.tokens import default_counter
from memwell.values import check_count, check_text, shown
from memwell.windows import Round, rounds_of

_BLOCK = 200
_MOST_ROUNDS = 1000
"""A service tells so many rounds at once; more are put together here."""


class RemoteReader(Closing):
    """A conversation of the key's space, which need not exist yet: it begins with its first message.

    It holds no messages and is right at any moment, as one over a store is; each call is one request or a few.
    """

    backend = Refused("the store is the service's own; call the methods of the conversation")
    log = Refused("the store is the service's own; call the methods of the conversation")
    open = Refused("a conversation is had of its memory: memwell.open(url, key=…).thread(id)")
    aopen = Refused("a conversation is had of its memory: memwell.open(url, key=…).thread(id)")

    def __init__(self, connection: Connection, space: Space, thread: str) -> None:
        self.thread = Thread(space, thread)
        self.counter = default_counter()
        self._connection = connection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.thread.id!r}, space={self.thread.space!r})"

    def close(self) -> None:
        """Does nothing: the line belongs to the memory that the conversation is of."""

    def info(self) -> ThreadInfo | None:
        """What is known of the conversation without reading it, or None when it has not begun."""
        try:
            return self._connection.call("thread", ThreadInfo, thread=self.thread.id)
        except NotFound:
            return None

    # Reading

    def __len__(self) -> int:
        info = self.info()
        return info.messages if info else 0

    def __bool__(self) -> bool:
        # An empty conversation is still a conversation.
        return True

    @property
    def tokens(self) -> int:
        """How many tokens the whole conversation has, by the default encoding."""
        info = self.info()
        return info.tokens if info else 0

    async def atokens(self) -> int:
        """The async twin of ``tokens``."""
        return await run_blocking(lambda: self.tokens)

    def last(self, count: int) -> list[Message]:
        """The last messages, as they are."""
        wanted = check_count(count, "last")
        newest_first = self._stream(newest_first=True, block=min(max(wanted, 1), _BLOCK))
        return list(islice(newest_first, wanted))[::-1]

    def get(self, target: Target) -> Message:
        """One message by index or id. Raises ``NotFound`` when there is none."""
        if isinstance(target, Message):
            target = target.id
        if isinstance(target, str):
            return self._connection.call("message", Message, thread=self.thread.id, message=target)
        index = str(check_count(target, "an index"))
        return self._connection.call("message_at", Message, thread=self.thread.id, index=index)

    def page(self, *, limit: int = 100, cursor: str | None = None, newest_first: bool = False) -> Page[Message]:
        """One page of the conversation; pass ``next`` of a page as ``cursor`` to get the following one."""
        asked = threads.ListMessages(
            limit=check_count(limit, "limit", least=1), cursor=cursor, newest_first=newest_first
        )
        return self._connection.call("messages", Page[Message], asked, thread=self.thread.id)

    def __iter__(self) -> Iterator[Message]:
        return self._stream(newest_first=False)

    def __reversed__(self) -> Iterator[Message]:
        return self._stream(newest_first=True)

    def _stream(self, *, newest_first: bool, block: int = _BLOCK) -> Iterator[Message]:
        cursor = None
        while True:
            page = self.page(limit=block, cursor=cursor, newest_first=newest_first)
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    async def __aiter__(self) -> AsyncIterator[Message]:
        cursor = None
        while True:
            page = await self.apage(limit=_BLOCK, cursor=cursor)
            for message in page.items:
                yield message
            cursor = page.next
            if cursor is None:
                return

    def search(self, query: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        """The messages that share a word with the query, best first, with their BM25 score; Chinese words too."""
        asked = threads.SearchThread(query=check_text(query, "a query"), limit=check_count(limit, "limit", least=1))
        found = self._connection.call("search_thread", threads.FoundMessages, asked, thread=self.thread.id)
        return [(hit.message, hit.score) for hit in found.hits]

    # Rounds and windows

    def rounds(self, last: int | None = None) -> list[Round]:
        """The last rounds, oldest first; all of them without ``last``. What came before the first round is not in one."""
        if last is not None and check_count(last, "last") <= _MOST_ROUNDS:
            asked = threads.ListRounds(last=last)
            return self._connection.call("rounds", threads.Rounds, asked, thread=self.thread.id).rounds
        found = [one for one in rounds_of(self) if one.number > 0]
        return found if last is None else found[-last:]

    def latest_round(self) -> Round | None:
        """The round under way, or None before the first."""
        found = self.rounds(1)
        return found[0] if found else None

    def round(self, number: int) -> Round:
        """One round by its number; 0 is what came before the first. Raises ``NotFound`` when there is none."""
        check_count(number, "a round's number")
        info = self.info()
        latest = info.rounds if info else 0
        # From the end that is nearer: rounds never fall as indexes rise.
        backwards = number > latest // 2
        found: list[Message] = []
        for message in self._stream(newest_first=backwards):
            place = message.round or 0
            if place == number:
                found.append(message)
            elif (place < number) if backwards else (place > number):
                break
        if not found:
            raise NotFound(f"conversation {self.thread.id!r} has no round {number}")
        return Round(number, found[::-1] if backwards else found)

    def window(self, *, tokens: int | None = None, rounds: int | None = None, system: bool = True) -> list[Message]:
        """What to give a model: the last rounds that fit, at most ``rounds`` of them, within ``tokens``, in order.

        Tokens are counted by the service, in the default encoding. Raises ``InvalidInput`` when the instructions alone are
        over the budget.
        """
        asked = threads.Window(
            tokens=None if tokens is None else check_count(tokens, "tokens"),
            rounds=None if rounds is None else check_count(rounds, "rounds"),
            system=system,
        )
        return self._connection.call("window", threads.Messages, asked, thread=self.thread.id).messages

    def versions(self, target: Target) -> list[Version]:
        """What a message was before, oldest first."""
        return self._versions_at(self._place(target))

    def _versions_at(self, place: int) -> list[Version]:
        asked = {"thread": self.thread.id, "index": str(place)}
        return self._connection.call("message_versions", threads.MessageVersions, None, **asked).versions

    def metadata(self) -> dict[str, Any]:
        """The conversation's own metadata, such as its title."""
        info = self.info()
        return info.metadata if info else {}

    def data_of(self, part: Media) -> bytes:
        """The bytes that a part carries.

        Raises ``Unsupported`` for those that lie beside the conversation at the service, ``InvalidInput`` for a part given
        by its address alone, and for what is no medium.
        """
        if not isinstance(part, Media):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"only an Image, Audio or Video has bytes, not {shown(part)}")
        if part.data is not None:
            return part.data
        if part.blob is not None:
            raise Unsupported(
                "a service does not hand out the bytes beside a conversation; media.add keeps some it does"
            )
        raise InvalidInput(f"the part is given by the address {shown(part.url)}, and nothing is fetched here")

    def _place(self, target: Target) -> int:
        if isinstance(target, int):
            return check_count(target, "an index")
        if isinstance(target, Message) and target.index is not None:
            return self._place_of(target, target.index)
        return self.get(target).index or 0

    def _place_of(self, message: Message, index: int) -> int:
        """The index, if it is this message that the place holds or held: another conversation's has an index too."""
        try:
            held = [self.get(index)]
        except NotFound:
            held = [one.message for one in self._versions_at(index) if one.message is not None]
        if any(one.id == message.id for one in held):
            return index
        raise NotFound(f"conversation {self.thread.id!r} has no message {shown(message.id)} at index {index}")

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
    adata_of = asyncify(data_of)


__all__ = ["RemoteReader"]
