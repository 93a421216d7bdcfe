"""What a writer does: random operations as plain JSON, which any backend can perform.

The child performs them on a store in a file and writes each down before it begins and after it has returned. The parent
performs those that were acknowledged on the in-memory reference, so that the two must agree.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from benchmarks.corpus import Writer
from memwell.errors import MemwellError
from memwell.messages import ai, decode_message, encode_message, human, system, tool_result
from memwell.records import Record, Space, Thread
from memwell.storage.protocols import Backend

Operation: TypeAlias = dict[str, Any]

DIMENSIONS = 8
LONG_THREAD = 60
RECORD_IDS = [f"record-{number}" for number in range(48)]
KEYS = [f"key-{number}" for number in range(12)]
THREADS = ("first", "second")


class Clock:
    """A clock that stands still while a child lives, so that both sides read the same time."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def spaces_of(lane: int) -> list[Space]:
    """The spaces that one writing thread of the child has to itself."""
    return [Space("lane", f"{lane}"), Space("lane", f"{lane}", "inner")]


def blob_data(number: int) -> bytes:
    """One of a few blobs, small ones and some over many pages."""
    return random.Random(number).randbytes([10, 700, 5_000, 60_000][number % 4])


BLOBS = range(10)


class _Aborted(Exception):
    """Ends a transaction that is to leave nothing behind."""


def attempt(backend: Backend, operation: Operation) -> Any:
    """Perform an operation and return what came of it as plain JSON; an error of memwell's is an outcome too."""
    try:
        return _DEEDS[operation["do"]](backend, operation)
    except MemwellError as error:
        return {"error": type(error).__name__}


def _space(operation: Operation) -> Space:
    return Space(*operation["space"])


def _thread(operation: Operation) -> Thread:
    return Thread(_space(operation), operation["thread"])


def _append(backend: Backend, operation: Operation) -> Any:
    stored = backend.log.append(_thread(operation), [decode_message(one) for one in operation["messages"]])
    return [[one.index, one.round, one.id] for one in stored]


def _edit(backend: Backend, operation: Operation) -> Any:
    changes = {int(index): one and decode_message(one) for index, one in operation["changes"].items()}
    return [one and [one.index, one.round, one.id, one.text] for one in backend.log.edit(_thread(operation), changes)]


def _trim(backend: Backend, operation: Operation) -> Any:
    return backend.log.trim(_thread(operation), operation["before"])


def _delete_thread(backend: Backend, operation: Operation) -> Any:
    return backend.log.delete(_thread(operation))


def _annotate(backend: Backend, operation: Operation) -> Any:
    metadata, end_round = operation["metadata"], operation["end_round"]
    return backend.log.annotate(_thread(operation), metadata=metadata, end_round=end_round).rounds


def _search_thread(backend: Backend, operation: Operation) -> Any:
    found = backend.log.match(_thread(operation), operation["text"], limit=1000)
    return {"scores": {str(one.index): score for one, score in found}}


def _put(backend: Backend, operation: Operation) -> Any:
    entry = backend.kv.put(_space(operation), operation["key"], operation["value"], ttl=operation["ttl"])
    return {"version": entry.version}


def _compare_and_set(backend: Backend, operation: Operation) -> Any:
    before = backend.kv.get(_space(operation), operation["key"])
    expect = before.version if before else 0
    entry = backend.kv.put(_space(operation), operation["key"], operation["value"], expect=expect + operation["off"])
    return {"version": entry.version}


def _delete_key(backend: Backend, operation: Operation) -> Any:
    return backend.kv.delete(_space(operation), operation["key"])


def _upsert(backend: Backend, operation: Operation) -> Any:
    space = _space(operation)
    records = [
        Record(space=space, time=datetime.fromtimestamp(fields["at"], UTC), **fields["fields"])
        for fields in operation["records"]
    ]
    backend.index.upsert(records)
    return None


def _delete_records(backend: Backend, operation: Operation) -> Any:
    return backend.index.delete(_space(operation), operation["ids"])


def _search_records(backend: Backend, operation: Operation) -> Any:
    hits = backend.index.match(_space(operation), operation["text"], limit=1000)
    return {"scores": {hit.record.id: hit.score for hit in hits}}


def _search_vectors(backend: Backend, operation: Operation) -> Any:
    hits = backend.index.near(_space(operation), operation["vector"], limit=1000)
    return {"scores": {hit.record.id: hit.score for hit in hits}}


def _put_blob(backend: Backend, operation: Operation) -> Any:
    return backend.blobs.put(_space(operation), blob_data(operation["number"]))


def _delete_blob(backend: Backend, operation: Operation) -> Any:
    return backend.blobs.delete(_space(operation), operation["digest"])


def _transaction(backend: Backend, operation: Operation) -> Any:
    results: list[Any] = []
    try:
        with backend.transaction():
            results += [attempt(backend, inner) for inner in operation["steps"]]
            if operation["abort"]:
                raise _Aborted
    except _Aborted:
        return "nothing"
    return results


_DEEDS: dict[str, Callable[[Backend, Operation], Any]] = {
    "append": _append,
    "edit": _edit,
    "trim": _trim,
    "delete thread": _delete_thread,
    "annotate": _annotate,
    "search thread": _search_thread,
    "put": _put,
    "compare and set": _compare_and_set,
    "delete key": _delete_key,
    "upsert": _upsert,
    "delete records": _delete_records,
    "search records": _search_records,
    "search vectors": _search_vectors,
    "put blob": _put_blob,
    "delete blob": _delete_blob,
    "transaction": _transaction,
}


class Planner:
    """Thinks of operations. It follows how long its threads are, so that edits and trims meet something."""

    def __init__(self, seed: int, lane: int, lengths: dict[tuple[str, ...], tuple[int, int]]) -> None:
        self._random = random.Random(seed)
        self._writer = Writer(seed)
        self._spaces = spaces_of(lane)
        self._lengths = lengths
        self._blob_digests: list[str] = []

    def next(self) -> Operation:
        """An operation; one in eight is a transaction over several parts of the store."""
        if self._random.random() < 0.12:
            steps = [self._plain(searching=False) for _ in range(self._random.randint(2, 5))]
            return {"do": "transaction", "steps": steps, "abort": self._random.random() < 0.25}
        return self._plain()

    def learn(self, operation: Operation, result: Any) -> None:
        """Take in what an operation did to the lengths of threads."""
        if operation["do"] == "transaction" and isinstance(result, list):
            for inner, outcome in zip(operation["steps"], result, strict=True):
                self.learn(inner, outcome)
        elif operation["do"] == "put blob" and isinstance(result, str):
            self._blob_digests.append(result)
        elif "thread" in operation and not (isinstance(result, dict) and "error" in result):
            self._learn_length(operation, result)

    def _learn_length(self, operation: Operation, result: Any) -> None:
        name = (*operation["space"], operation["thread"])
        first, next_ = self._lengths.get(name, (0, 0))
        if operation["do"] == "append":
            self._lengths[name] = (first, result[-1][0] + 1)
        elif operation["do"] == "trim":
            self._lengths[name] = (max(first, min(operation["before"], next_)), next_)
        elif operation["do"] == "delete thread":
            self._lengths[name] = (0, 0)

    def _plain(self, *, searching: bool = True) -> Operation:
        kinds = {
            self._append: 30,
            self._edit: 10,
            self._trim: 4,
            self._thread_deed: 4,
            self._key_deed: 18,
            self._upsert: 16,
            self._delete_records: 6,
            self._blob_deed: 4,
            self._search: 10 if searching else 0,
        }
        chosen = self._random.choices(list(kinds), list(kinds.values()))[0]
        return {"space": list(self._random.choice(self._spaces)), **chosen()}

    def _text(self) -> str:
        return self._writer.text()[: self._random.choice([20, 60, 200])]

    def _vector(self) -> list[float]:
        return [round(self._random.gauss(0.0, 1.0), 3) or 0.001 for _ in range(DIMENSIONS)]

    def _message(self) -> str:
        kind = self._random.choice([human, ai, system, lambda text: tool_result("call", text)])
        made = kind(self._text()).changed(
            tokens=self._random.randint(1, 50), metadata={"n": self._random.randint(0, 9)}
        )
        return encode_message(made).decode()

    def _append(self) -> Operation:
        count = self._random.choice([1, 1, 1, 2, 5])
        messages = [self._message() for _ in range(count)]
        return {"do": "append", "thread": self._random.choice(THREADS), "messages": messages}

    def _place(self, operation: Operation) -> tuple[int, int]:
        # The space is chosen by `_plain` afterwards; a guess over both is right often enough, a miss raises NotFound.
        known = [bounds for name, bounds in self._lengths.items() if name[-1] == operation["thread"]]
        return self._random.choice(known) if known else (0, 0)

    def _edit(self) -> Operation:
        operation: Operation = {"do": "edit", "thread": self._random.choice(THREADS)}
        first, next_ = self._place(operation)
        indexes = {self._random.randint(first, max(first, next_ - 1)) for _ in range(self._random.choice([1, 1, 3]))}
        changes = {str(index): None if self._random.random() < 0.3 else self._message() for index in indexes}
        return {**operation, "changes": changes}

    def _trim(self) -> Operation:
        operation: Operation = {"do": "trim", "thread": self._random.choice(THREADS)}
        first, next_ = self._place(operation)
        before = max(next_ - LONG_THREAD // 2, self._random.randint(first, max(first, next_)))
        return {**operation, "before": max(0, before)}

    def _thread_deed(self) -> Operation:
        operation: Operation = {"do": "delete thread", "thread": self._random.choice(THREADS)}
        if self._random.random() < 0.7:
            metadata = {"title": self._text()} if self._random.random() < 0.5 else None
            return {**operation, "do": "annotate", "metadata": metadata, "end_round": self._random.random() < 0.5}
        return operation

    def _key_deed(self) -> Operation:
        key, draw = self._random.choice(KEYS), self._random.random()
        value = self._random.choice(
            [{"n": self._random.randint(0, 99)}, self._text(), [1, 2.5, None], self._text() * 30]
        )
        if draw < 0.55:
            return {"do": "put", "key": key, "value": value, "ttl": self._random.choice([None, None, 2.0])}
        if draw < 0.75:
            return {"do": "compare and set", "key": key, "value": value, "off": self._random.choice([0, 0, 1])}
        return {"do": "delete key", "key": key}

    def _upsert(self) -> Operation:
        ids = self._random.sample(RECORD_IDS, self._random.choice([1, 1, 4]))
        records = [
            {
                "id": id_,
                "text": self._text(),
                "metadata": {"n": self._random.randint(0, 9)},
                "vector": self._vector() if self._random.random() < 0.9 else None,
            }
            for id_ in ids
        ]
        at = self._random.randint(0, 2_000_000_000)
        return {"do": "upsert", "records": [{"at": at, "fields": one} for one in records]}

    def _delete_records(self) -> Operation:
        return {"do": "delete records", "ids": self._random.sample(RECORD_IDS, self._random.randint(1, 6))}

    def _blob_deed(self) -> Operation:
        if self._blob_digests and self._random.random() < 0.5:
            return {"do": "delete blob", "digest": self._random.choice(self._blob_digests)}
        return {"do": "put blob", "number": self._random.choice(BLOBS)}

    def _search(self) -> Operation:
        draw = self._random.random()
        if draw < 0.4:
            return {"do": "search thread", "thread": self._random.choice(THREADS), "text": self._text()}
        if draw < 0.7:
            return {"do": "search records", "text": self._text()}
        return {"do": "search vectors", "vector": self._vector()}


__all__ = ["BLOBS", "Clock", "Operation", "Planner", "attempt", "blob_data", "spaces_of"]
