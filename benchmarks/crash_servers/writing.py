"""What a writer does until it is killed, and the log it keeps of it.

Several write at once to one conversation, one counter and one ledger. Each deed has a token that nobody used before, and is
written down before it begins and after it has returned. When the store cannot say what became of a deed it is tried again
with the same token, as an application would: once stored, it is not stored again.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.crash.children import Task
from memwell.errors import BackendError, Conflict
from memwell.messages import Message, ai, human
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend

SPACE = Space("crash", "shared")
TALK = Thread(SPACE, "talk")
LEDGER = Thread(SPACE, "ledger")
BOOKS = SPACE / "memwell"
"""Where the sum of the ledger is: with the records, wherever other values live."""
COUNTER, SUM = "counter", "sum"
LEDGER_KIND, NOTE_KIND = "ledger", "note"
_KEYS = 5
_TRIES = 4
_NAP_S = 0.05


class Line(msgspec.Struct, array_like=True):
    """One line of a log. ``what`` is begin, done or unsure; ``detail`` says what was stored where, or why not."""

    what: str
    kind: str
    token: str
    detail: Any = None


def open_store(url: str, *, answer_s: float = 10.0) -> Backend:
    """The store as writers and the judge open it: with little patience for a server that is away or does not answer."""
    settings = Settings(connect_timeout_s=3.0, busy_timeout_s=10.0, statement_timeout_s=answer_s)
    return open_backend(url, settings=settings)


def blob_of(token: str) -> bytes:
    """The bytes that a ledger's transaction stores."""
    return f"bytes of {token} ".encode() * 20


def digest_of(token: str) -> str:
    """Under which digest they are found."""
    return hashlib.sha256(blob_of(token)).hexdigest()


def parts_of(token: str) -> int:
    """Of how many messages an append is."""
    return random.Random(token).choice([1, 1, 3])


def write_until_killed(task: Task) -> None:
    """The life of a writer: open the store, say so, and write until the kill."""
    writer = _Writer(task)
    os.write(task["ready"], b"ready\n")
    while True:
        writer.one()


class _Aborted(Exception):
    """Ends a transaction that is to leave nothing behind."""


class _Writer:
    def __init__(self, task: Task) -> None:
        self._name: str = task["name"]
        self._lot = random.Random(task["seed"])
        self._log = os.open(f"{task['log']}/{self._name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._number: int = task["number"]
        self._backend = self._opened(task["url"], task["answer_s"])
        self._deeds: dict[str, Callable[[str, bool], Any]] = {
            "append": self._append,
            "count": self._count,
            "put": self._put,
            "upsert": self._upsert,
            "transaction": self._transact,
            "aborted": self._abort,
        }
        # Redis alone has conversations and values.
        most = len(self._deeds) if "records" in self._backend.abilities else 3
        self._chances = dict(list(zip(self._deeds, [30, 15, 15, 15, 20, 5], strict=True))[:most])

    @staticmethod
    def _opened(url: str, answer_s: float) -> Backend:
        # Connections may be cut while it opens too.
        while True:
            try:
                return open_store(url, answer_s=answer_s)
            except BackendError:
                time.sleep(_NAP_S)

    def one(self) -> None:
        self._number += 1
        kind = self._lot.choices(list(self._chances), list(self._chances.values()))[0]
        token = f"{self._name}-{self._number:08d}"
        self._write(Line("begin", kind, token))
        self._write(self._tried(kind, token))

    def _tried(self, kind: str, token: str) -> Line:
        """Do it; again with the same token while the store cannot say what became of it."""
        trouble = ""
        for number in range(_TRIES):
            try:
                return Line("done", kind, token, self._deeds[kind](token, number > 0))
            except BackendError as error:
                trouble = f"{type(error).__name__}: {error}"
                if kind in ("count", "put"):
                    # Nothing tells whether the value that is there now had ours in between.
                    break
                time.sleep(_NAP_S)
        return Line("unsure", kind, token, trouble)

    def _write(self, line: Line) -> None:
        # Into the page cache: the machine is not killed.
        os.write(self._log, msgspec.json.encode(line) + b"\n")

    def _append(self, token: str, again: bool) -> list[list[Any]]:
        makers = [random.Random(f"{token}.{part}").choice([human, ai]) for part in range(parts_of(token))]
        messages = [make(f"{token} said").changed(id=f"{token}.{part}") for part, make in enumerate(makers)]
        try:
            return _places(self._backend.log.append(TALK, messages))
        except Conflict:
            if not again:
                raise
            # The try before did store them.
            return _places(self._backend.log.read(TALK, ids=[one.id for one in messages]))

    def _count(self, token: str, again: bool) -> None:
        del again
        while True:
            try:
                self._increment(SPACE, COUNTER, token)
                return
            except Conflict:
                continue

    def _increment(self, space: Space, key: str, token: str) -> None:
        entry = self._backend.kv.get(space, key)
        before: Any = {"n": 0} if entry is None else entry.value
        value = {"n": before["n"] + 1, "by": token}
        self._backend.kv.put(space, key, value, expect=0 if entry is None else entry.version)

    def _put(self, token: str, again: bool) -> str:
        del again
        key = f"{self._name}.{self._number % _KEYS}"
        self._backend.kv.put(SPACE, key, token)
        return key

    def _upsert(self, token: str, again: bool) -> None:
        del again
        self._backend.index.upsert([_record(token, NOTE_KIND)])

    def _transact(self, token: str, again: bool) -> list[list[Any]]:
        with self._backend.transaction():
            return self._book(token, again)

    def _book(self, token: str, again: bool = False) -> list[list[Any]]:
        """One booking in all four parts of the store. Where a message is stored at once, it may be there already."""
        stored = self._backend.log.read(LEDGER, ids=[token]) if again else []
        stored = stored or self._backend.log.append(LEDGER, [human(token).changed(id=token)])
        if not self._backend.index.get(SPACE, [token]):
            self._backend.index.upsert([_record(token, LEDGER_KIND)])
            self._increment(BOOKS, SUM, token)
            self._backend.blobs.put(SPACE, blob_of(token))
        return _places(stored)

    def _abort(self, token: str, again: bool) -> None:
        del again
        try:
            with self._backend.transaction():
                self._book(token)
                raise _Aborted
        except _Aborted:
            return


def _places(messages: list[Message]) -> list[list[Any]]:
    return [[one.id, one.index, one.round] for one in messages]


def _record(token: str, kind: str) -> Record:
    return Record(space=SPACE, id=token, kind=kind, text=f"about {token}", vector=[1.0, len(token) / 7, 0.5])


def read_log(path: Path) -> list[Line]:
    """What a writer did, in order: deeds done and those that nobody knows the end of, the one under way among them."""
    if not path.exists():
        return []
    lines: list[Line] = []
    begun: Line | None = None
    for text in path.read_bytes().split(b"\n")[:-1]:
        line = msgspec.convert(json.loads(text), Line)
        if line.what == "begin":
            begun = line
        else:
            lines.append(line)
            begun = None
    if begun is not None:
        lines.append(Line("unsure", begun.kind, begun.token, "under way"))
    return lines


__all__ = [
    "BOOKS",
    "COUNTER",
    "LEDGER",
    "LEDGER_KIND",
    "NOTE_KIND",
    "SPACE",
    "SUM",
    "TALK",
    "Line",
    "blob_of",
    "digest_of",
    "open_store",
    "parts_of",
    "read_log",
    "write_until_killed",
]
