"""Receipts: which memory went into which prompt, what was left out and why. They hold ids and numbers, never a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import Conflict, NotFound
from memwell.records import SpaceLike, as_space
from memwell.storage.protocols import KeyValue
from memwell.values import check_count, check_id, shown

_STATE: Final = "receipts"
_PREFIX: Final = "receipt."
_DIGITS = 12
_IS_NUMBER = re.compile(rf"[0-9]{{{_DIGITS}}}").fullmatch


class Entered(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is in the prompt: what it is, its id, and how many tokens it takes.

    ``kind`` is ``system``, ``profile``, ``message``, ``memory``, ``document``, ``query``, or ``frame`` for the lines around
    what was recalled. ``score`` and ``signals`` say why a memory was recalled; ``cut`` that only a part of it is there.
    """

    kind: str
    id: str
    tokens: int
    score: float = 0.0
    signals: dict[str, float] = {}
    cut: bool = False


class LeftOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is not in the prompt, and why.

    ``reason`` is ``budget``, ``shown`` (the message ``like`` says it already), ``duplicate`` (of ``like``), or ``empty``.
    """

    kind: str
    id: str
    reason: str
    like: str = ""


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What went into one prompt. The tokens of all that entered add up to ``tokens``."""

    budget: int
    tokens: int
    encoding: str
    digest: str
    """SHA-256 of the prompt's bytes; empty once something of it was erased."""
    entered: tuple[Entered, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    thread: str = ""
    earlier: int = 0
    """How many messages of the conversation are not in the prompt."""
    now: datetime | None = None
    id: str = ""
    """Given when it is stored."""

    @property
    def memories(self) -> list[str]:
        """The ids of the memories in the prompt, in its order."""
        return [one.id for one in self.entered if one.kind == "memory"]

    def without(self, ids: Iterable[str]) -> Receipt:
        """The same with these ids blank, and without the digest of a text that they were part of."""
        gone = frozenset(ids)
        if not any(one.id in gone for one in (*self.entered, *self.left_out)) and not self._likened_to(gone):
            return self
        return replace(
            self,
            digest="",
            entered=tuple(replace(one, id="") if one.id in gone else one for one in self.entered),
            left_out=tuple(_without(one, gone) for one in self.left_out),
        )

    def _likened_to(self, ids: frozenset[str]) -> bool:
        return any(one.like in ids for one in self.left_out)


def _without(one: LeftOut, gone: frozenset[str]) -> LeftOut:
    return replace(one, id="" if one.id in gone else one.id, like="" if one.like in gone else one.like)


class Receipts:
    """The receipts of one space, the newest ``most`` of them.

    With ``transaction`` (a backend's own) each change is one commit. Every method has an async twin with an ``a`` in front.
    """

    def __init__(
        self,
        kv: KeyValue,
        space: SpaceLike,
        *,
        most: int = 1_000,
        transaction: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._kv = kv
        self.space = as_space(space)
        self._most = check_count(most, "most", least=1)
        self._transaction = transaction

    def put(self, receipt: Receipt) -> str:
        """Store a receipt and return the id it has now; the oldest goes when there are too many."""
        with self._transaction():
            number = self._taken()
            id_ = f"{number:0{_DIGITS}d}"
            self._kv.put(self.space, _key(number), _plain(replace(receipt, id=id_)))
        return id_

    def _taken(self) -> int:
        """The next number, claimed for this writer."""
        while True:
            oldest, number, version = self._state()
            # What is too old goes before that is written down: whoever dies in between leaves work to do, not leftovers.
            least = max(oldest, number + 1 - self._most)
            for old in range(oldest, least):
                self._kv.delete(self.space, _key(old))
            try:
                self._kv.put(self.space, _STATE, {"oldest": least, "next": number + 1}, expect=version)
            except Conflict:
                continue
            return number

    def _state(self) -> tuple[int, int, int]:
        entry = self._kv.get(self.space, _STATE)
        if entry is None:
            return 0, 0, 0
        state = msgspec.convert(entry.value, dict[str, int])
        return state["oldest"], state["next"], entry.version

    def get(self, receipt_id: str) -> Receipt:
        """One receipt. Raises ``NotFound`` when there is none, or it was so old that it went."""
        is_number = _IS_NUMBER(check_id(receipt_id, "a receipt's id"))
        found = self._read(int(receipt_id))[0] if is_number else None
        if found is None:
            raise NotFound(f"there is no receipt {shown(receipt_id)}; the newest {self._most:,} are kept")
        return found

    def _read(self, number: int) -> tuple[Receipt | None, int]:
        entry = self._kv.get(self.space, _key(number))
        return (None, 0) if entry is None else (msgspec.convert(entry.value, Receipt), entry.version)

    def all(self) -> Iterator[Receipt]:
        """The receipts, newest first."""
        oldest, following, _ = self._state()
        for number in range(following - 1, oldest - 1, -1):
            found, _ = self._read(number)
            if found is not None:
                yield found

    def of_memory(self, memory_id: str) -> list[Receipt]:
        """The prompts that a memory went into, newest first."""
        check_id(memory_id, "a memory's id")
        return [receipt for receipt in self.all() if memory_id in receipt.memories]

    def forget(self, ids: Iterable[str]) -> int:
        """Take ids out of all receipts, for good; returns how many receipts had one. For what was erased."""
        gone = [check_id(id_, "an id") for id_ in ids]
        oldest, following, _ = self._state()
        with self._transaction():
            return sum(self._blanked(number, gone) for number in range(oldest, following))

    def _blanked(self, number: int, gone: list[str]) -> bool:
        while True:
            receipt, version = self._read(number)
            if receipt is None or (changed := receipt.without(gone)) is receipt:
                return False
            try:
                self._kv.put(self.space, _key(number), _plain(changed), expect=version)
            except Conflict:
                continue
            return True

    aput = asyncify(put)
    aget = asyncify(get)
    aof_memory = asyncify(of_memory)
    aforget = asyncify(forget)


def _key(number: int) -> str:
    return f"{_PREFIX}{number:0{_DIGITS}d}"


def _plain(receipt: Receipt) -> Any:
    return msgspec.to_builtins(receipt)


__all__ = ["Entered", "LeftOut", "Receipt", "Receipts"]
