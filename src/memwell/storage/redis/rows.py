"""How a thread's places and listing are kept, and read back."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from memwell.records import Thread
from memwell.storage import arguments as given
from memwell.storage.placement import Tail
from memwell.storage.protocols import ThreadInfo


class Row(NamedTuple):
    """A place as it is kept: ``body`` is empty for a message that was removed."""

    round: int
    tokens: int
    id: str
    body: str


class Info(NamedTuple):
    """The hash about a thread, as it is kept."""

    first: int
    next: int
    messages: int
    tokens: int
    round: int
    created: float
    updated: str
    metadata: str
    ended: int
    edits: int
    last: int

    @property
    def tail(self) -> Tail:
        """Where the thread ends."""
        return Tail(self.next, self.round, self.ended)

    @property
    def seen(self) -> str:
        """What a script compares to know that nothing has changed."""
        return f"{self.next} {self.round} {self.ended} {self.edits} {self.last}"

    def shown(self, thread: Thread) -> ThreadInfo:
        """The same for readers."""
        created = given.moment(self.created)
        return ThreadInfo(
            thread=thread,
            first=self.first,
            next=self.next,
            messages=self.messages,
            tokens=self.tokens,
            rounds=self.round,
            created=created,
            updated=datetime.fromisoformat(self.updated) if self.updated else created,
            metadata=msgspec.json.decode(self.metadata),
            ended_round=self.ended if self.ended >= 0 else None,
            edits=self.edits,
        )


def info_of(reply: list[bytes | None]) -> Info | None:
    """What the hash about a thread says; None when there is none."""
    if reply[0] is None:
        return None
    first, next_, messages, tokens, round_, created, updated, metadata, ended, edits, last = (
        "" if one is None else one.decode() for one in reply
    )
    return Info(
        int(first),
        int(next_),
        int(messages),
        int(tokens),
        int(round_),
        float(created),
        updated,
        metadata,
        int(ended),
        int(edits),
        int(last),
    )


def packed_row(round_: int, tokens: int, time: datetime | None, id_: str, body: str | None) -> bytes:
    """A place as it is kept; without a time it is one whose message was removed."""
    encoded = id_.encode()
    sign, moment = ("-", "-") if time is None else ("", time.isoformat())
    return f"{sign}{round_} {tokens} {moment} {len(encoded)} ".encode() + encoded + (body or "").encode()


def row_of(stored: bytes | None) -> Row | None:
    """The place that ``packed_row`` wrote."""
    if stored is None:
        return None
    round_, tokens, _, length, rest = stored.split(b" ", 4)
    start = int(length)
    return Row(int(round_.lstrip(b"-")), int(tokens), rest[:start].decode(), rest[start:].decode())


__all__ = ["Info", "Row", "info_of", "packed_row", "row_of"]
