"""Whether a store holds what its writers were told, each deed wholly or not at all, and once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from benchmarks.crash_servers.writing import (
    BOOKS,
    COUNTER,
    LEDGER,
    LEDGER_KIND,
    NOTE_KIND,
    SPACE,
    SUM,
    TALK,
    Line,
    blob_of,
    digest_of,
    parts_of,
)
from memwell.messages import Message
from memwell.records import Space, paged
from memwell.storage.protocols import Backend

_UNDER_WAY = "under way"


@dataclass
class Counts:
    """What a run found."""

    writer_kills: int = 0
    server_kills: int = 0
    cuts: int = 0
    looks: int = 0
    """How often the whole store was looked over."""
    acknowledged: int = 0
    under_way: int = 0
    """Deeds that a kill met under way, and of these how many turned out to be stored."""
    under_way_stored: int = 0
    raised: int = 0
    """Deeds that ended in ``BackendUnavailable`` after all tries, and of these how many turned out to be stored."""
    raised_stored: int = 0
    lost: int = 0
    phantom: int = 0
    torn: int = 0
    misplaced: int = 0
    """Messages whose index, round or order is not what it must be."""
    miscounted: int = 0
    orphans: int = 0
    """What is in one of two stores alone after they were reconciled."""
    unreadable: int = 0
    check_failures: int = 0
    child_failures: int = 0
    stories: list[str] = field(default_factory=list)

    @property
    def bad(self) -> int:
        """How much went wrong."""
        wrong = (self.lost, self.phantom, self.torn, self.misplaced, self.miscounted, self.orphans)
        return sum(wrong) + self.unreadable + self.check_failures + self.child_failures

    def tell(self, story: str) -> None:
        """Keep a description of something wrong, unless there are many already."""
        if len(self.stories) < 20:
            self.stories.append(story)


class Model:
    """What one store must hold, and what it may."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._known: dict[str, set[str]] = {"append": set(), "upsert": set(), "transaction": set()}
        self._places: dict[str, tuple[int, int]] = {}
        self._values: dict[str, list[str | None]] = {}
        self._sums = {COUNTER: (0, 0)}
        self._open: dict[str, Line] = {}

    def follow(self, lines: Iterable[Line]) -> None:
        """Take in what a writer did."""
        for line in lines:
            done = line.what == "done"
            self._counts.acknowledged += done
            self._counts.under_way += not done and line.detail == _UNDER_WAY
            self._counts.raised += not done and line.detail != _UNDER_WAY
            if not done:
                self._open[line.token] = line
            self._take(line, done)

    def _take(self, line: Line, done: bool) -> None:
        if line.kind == "count":
            least, most = self._sums[COUNTER]
            self._sums[COUNTER] = (least + done, most + 1)
        elif line.kind == "put":
            self._take_value(line, done)
        elif line.kind in self._known and done:
            self._known[line.kind].add(line.token)
            for id_, index, round_ in line.detail or ():
                self._places[id_] = (index, round_)

    def _take_value(self, line: Line, done: bool) -> None:
        name, _, number = line.token.partition("-")
        key = f"{name}.{int(number) % 5}"
        allowed = self._values.get(key, [None])
        self._values[key] = [line.token] if done else [*allowed, line.token]

    # Judging

    def judge(self, store: Backend) -> None:
        """Look the whole store over, and remember what became of the deeds nobody knew the end of."""
        self._counts.looks += 1
        self._judge_talk(store.log.read(TALK))
        if "records" in store.abilities:
            self._judge_ledger(store)
        self._judge_entries(store)
        for text in store.check():
            self._counts.check_failures += 1
            self._counts.tell(f"check: {text}")
        self._open.clear()

    def _judge_talk(self, messages: list[Message]) -> None:
        self._judge_order("talk", messages)
        parts: dict[str, list[int]] = {}
        for message in messages:
            parts.setdefault(message.id.rpartition(".")[0], []).append(message.index or 0)
        self._judge_tokens("append", parts)
        for token, indexes in parts.items():
            if indexes != list(range(indexes[0], indexes[0] + parts_of(token))):
                self._wrong("torn", f"torn: the messages of {token} are at {indexes}")

    def _judge_order(self, name: str, messages: list[Message]) -> None:
        """Indexes without gap, rounds as the rule says, every message where its writer was told, writers in their order."""
        round_ = 0
        latest: dict[str, str] = {}
        for index, message in enumerate(messages):
            round_ += message.role == "human"
            told = self._places.get(message.id, (index, round_))
            self._places[message.id] = told
            if (message.index, message.round) != (index, round_) or told != (index, round_):
                self._wrong("misplaced", f"{name}: {message.id} at {message.index}, round {message.round}; told {told}")
            writer = message.id.partition("-")[0]
            if latest.get(writer, "") >= message.id:
                self._wrong("misplaced", f"{name}: {message.id} comes after {latest[writer]}")
            latest[writer] = message.id

    def _judge_tokens(self, kind: str, found: Iterable[str]) -> None:
        there = set(found)
        for token in self._known[kind] - there:
            self._wrong("lost", f"lost: {kind} {token}")
        for token in there - self._known[kind]:
            line = self._open.get(token)
            if line is None or line.kind != kind:
                self._wrong("phantom", f"phantom: {kind} {token}")
            else:
                self._note_stored(line)
        self._known[kind] = there

    def _note_stored(self, line: Line) -> None:
        if line.detail == _UNDER_WAY:
            self._counts.under_way_stored += 1
        else:
            self._counts.raised_stored += 1

    def _judge_ledger(self, store: Backend) -> None:
        """Record, sum and bytes of every booking, or none of them; and its message, which may be there alone in Redis."""
        messages = store.log.read(LEDGER)
        self._judge_order("ledger", messages)
        records = list(paged(lambda cursor: store.index.scan(SPACE, limit=1000, cursor=cursor)))
        digests = set(paged(lambda cursor: store.blobs.scan(SPACE, limit=1000, cursor=cursor)))
        booked = {one.id for one in messages}
        others = {one.id for one in records if one.kind == LEDGER_KIND}
        self._judge_tokens("transaction", others)
        self._judge_tokens("upsert", [one.id for one in records if one.kind == NOTE_KIND])
        apart = booked ^ others if "transactions" in store.abilities else others - booked
        if apart or digests != {digest_of(token) for token in others}:
            self._wrong(
                "torn", f"torn: {len(booked)} messages, {len(others)} records, {len(digests)} blobs; {sorted(apart)}"
            )
        for token in list(others)[:3]:
            if store.blobs.get(SPACE, digest_of(token)) != blob_of(token):
                self._wrong("lost", f"lost: the bytes of {token}")
        if (total := _number(store, BOOKS, SUM)) != len(others):
            self._wrong("torn", f"torn: {len(others)} bookings, but their sum is {total}")

    def _judge_entries(self, store: Backend) -> None:
        found, (least, most) = _number(store, SPACE, COUNTER), self._sums[COUNTER]
        if not least <= found <= most:
            self._wrong("miscounted", f"counted {found}, told at least {least} and at most {most}")
        self._sums[COUNTER] = (found, found)
        for key, allowed in self._values.items():
            entry = store.kv.get(SPACE, key)
            value = None if entry is None else cast("str", entry.value)
            if value not in allowed:
                self._wrong("lost", f"lost: {key} holds {value}, not one of {allowed}")
            elif value is not None and (line := self._open.get(value)) is not None:
                self._note_stored(line)
            self._values[key] = [value]

    def _wrong(self, kind: str, story: str) -> None:
        setattr(self._counts, kind, getattr(self._counts, kind) + 1)
        self._counts.tell(story)


def _number(store: Backend, space: Space, key: str) -> int:
    entry = store.kv.get(space, key)
    value: Any = {"n": 0} if entry is None else entry.value
    return value["n"]


__all__ = ["Counts", "Model"]
