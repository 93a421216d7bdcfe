"""Whether a store holds exactly what was acknowledged, judged by the in-memory reference."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from benchmarks.crash.operations import BLOBS, Clock, Operation, attempt, blob_data, spaces_of
from memwell.errors import NotFound
from memwell.records import Space, Thread
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend

Dump = dict[str, Any]
_DIGESTS = [hashlib.sha256(blob_data(number)).hexdigest() for number in BLOBS]
_QUERIES = ("the train of the doctor", "我们的火车", "程序")


@dataclass
class Counts:
    """What a run of kills found."""

    kills: int = 0
    hit: int = 0
    """Kills that met at least one operation under way."""
    in_flight: int = 0
    """Operations that were under way, and of these how many turned out to be stored."""
    in_flight_stored: int = 0
    before_open: int = 0
    """Kills before the child had opened its store."""
    acknowledged: int = 0
    lost: int = 0
    phantom: int = 0
    torn: int = 0
    disagreed: int = 0
    """Results that differ from the reference's."""
    unreadable: int = 0
    check_failures: int = 0
    child_failures: int = 0
    full_searches: int = 0
    """How often every search was compared too, besides rows and checks, which are compared after every kill."""
    stories: list[str] = field(default_factory=list)

    @property
    def bad(self) -> int:
        """How much went wrong."""
        wrong = (self.lost, self.phantom, self.torn, self.disagreed, self.unreadable, self.check_failures)
        return sum(wrong) + self.child_failures

    def tell(self, story: str) -> None:
        """Keep a description of something wrong, unless there are many already."""
        if len(self.stories) < 20:
            self.stories.append(story)


class LaneModel:
    """What one lane of one store must hold."""

    def __init__(self, lane: int) -> None:
        self.spaces = spaces_of(lane)
        self.clock = Clock()
        self.backend = MemoryBackend(clock=self.clock)
        self.versions: dict[tuple[str, ...], int] = {}

    def follow(self, operation: Operation, result: Any, counts: Counts) -> None:
        """Perform an acknowledged operation here; its result must be the same."""
        own = attempt(self.backend, operation)
        if not _same(own, result):
            counts.disagreed += 1
            counts.tell(
                f"{operation['do']}: the store answered {result!r:.300}, the reference {own!r:.300}; {operation!r:.500}"
            )
        self._note_versions(operation, result)

    def _note_versions(self, operation: Operation, result: Any) -> None:
        if operation["do"] == "transaction" and isinstance(result, list):
            for inner, outcome in zip(operation["steps"], result, strict=True):
                self._note_versions(inner, outcome)
        elif isinstance(result, dict) and "version" in result:
            self.versions[*operation["space"], operation["key"]] = result["version"]

    def judge(self, store: Backend, in_flight: Operation | None, counts: Counts, *, returned: bool) -> None:
        """Compare what the store holds of this lane with what it must hold, with and without the operation in flight."""
        found = dump(store, self.spaces)
        before = dump(self.backend, self.spaces)
        if found == before and not returned:
            return self._judge_versions(store, in_flight, counts)
        if in_flight is not None:
            attempt(self.backend, in_flight)
            after = dump(self.backend, self.spaces)
            if found == after:
                counts.in_flight_stored += 1
                return self._judge_versions(store, in_flight, counts)
            return _accuse(found, after if returned else before, after, counts)
        return _accuse(found, before, before, counts)

    def _judge_versions(self, store: Backend, in_flight: Operation | None, counts: Counts) -> None:
        """A version that was acknowledged is the version that is there. Those of an operation in flight nobody was told."""
        touched = _keys(in_flight) if in_flight else set[tuple[str, ...]]()
        for space in self.spaces:
            entries = {entry.key: entry.version for entry in store.kv.scan(space, limit=1000).items}
            for key, version in entries.items():
                name = (*space, key)
                if name not in touched and self.versions.get(name) != version:
                    counts.lost += 1
                    counts.tell(f"{name}: version {version} where {self.versions.get(name)} was acknowledged")
                self.versions[name] = version

    def judge_searches(self, store: Backend, counts: Counts) -> None:
        """Words and vectors must find what the reference finds, with the same scores."""
        for space in self.spaces:
            operations: list[Operation] = [
                {"do": "search vectors", "vector": [1.0, -0.5, 0.25, 0.1, 0.9, -1.0, 0.3, 0.7]}
            ]
            for text in _QUERIES:
                operations.append({"do": "search records", "text": text})
                operations += [{"do": "search thread", "thread": name, "text": text} for name in ("first", "second")]
            for operation in operations:
                asked = {**operation, "space": list(space)}
                own, its = attempt(self.backend, asked), attempt(store, asked)
                if not _same(own, its):
                    counts.disagreed += 1
                    counts.tell(f"after the kill, {asked!r}: the store found {its!r:.400}, the reference {own!r:.400}")


def _keys(operation: Operation) -> set[tuple[str, ...]]:
    steps = operation.get("steps", [operation])
    return {(*one["space"], one["key"]) for one in steps if "key" in one}


def _same(own: Any, its: Any) -> bool:
    """Whether two results say the same: scores up to rounding, versions (random by design) not at all."""
    if isinstance(own, dict) and isinstance(its, dict):
        if "scores" in own and "scores" in its:
            return own["scores"].keys() == its["scores"].keys() and all(
                math.isclose(score, its["scores"][id_], rel_tol=1e-4, abs_tol=2e-4)
                for id_, score in own["scores"].items()
            )
        if "version" in own and "version" in its:
            return True
    if isinstance(own, list) and isinstance(its, list):
        return len(own) == len(its) and all(map(_same, own, its))
    return bool(own == its)


def dump(backend: Backend, spaces: list[Space]) -> Dump:
    """Everything a backend holds of some spaces, a name and a plain value each."""
    found: Dump = {}
    for space in spaces:
        for info in backend.log.threads(space, limit=1000).items:
            found |= _dump_thread(backend, info.thread)
            found[f"thread {info.thread!r}"] = msgspec.to_builtins(info)
        for entry in backend.kv.scan(space, limit=1000).items:
            found[f"entry {space!r} {entry.key}"] = (entry.value, entry.expires)
        for record in backend.index.scan(space, limit=1000).items:
            vector = None if record.vector is None else list(record.vector)
            found[f"record {space!r} {record.id}"] = (record.text, record.kind, record.time, record.metadata, vector)
        info = backend.index.info(space)
        found[f"index {space!r}"] = (info.records, info.vectors, info.dimensions)
        for digest in _DIGESTS:
            if (data := _blob(backend, space, digest)) is not None:
                found[f"blob {space!r} {digest}"] = hashlib.sha256(data).hexdigest()
    return found


def _dump_thread(backend: Backend, thread: Thread) -> Dump:
    found: Dump = {}
    for message in backend.log.read(thread):
        found[f"message {thread!r} {message.index}"] = msgspec.json.encode(message)
    info = backend.log.threads(thread.space, ids=[thread.id]).items[0]
    for index in range(info.first, info.next):
        versions = [
            (one.message and msgspec.json.encode(one.message), one.replaced)
            for one in backend.log.versions(thread, index)
        ]
        if versions:
            found[f"versions {thread!r} {index}"] = versions
    return found


def _blob(backend: Backend, space: Space, digest: str) -> bytes | None:
    try:
        return backend.blobs.get(space, digest)
    except NotFound:
        return None


def _accuse(found: Dump, before: Mapping[str, Any], after: Mapping[str, Any], counts: Counts) -> None:
    """Say what is wrong with a store that is in neither of the two states it may be in."""
    missing = object()
    wrong = False
    for name in {*found, *before, *after}:
        value, allowed = found.get(name, missing), (before.get(name, missing), after.get(name, missing))
        if value in allowed:
            continue
        wrong = True
        if allowed == (missing, missing):
            counts.phantom += 1
            counts.tell(f"phantom: {name}: {value!r:.300}")
        else:
            counts.lost += 1
            expected = [one for one in allowed if one is not missing]
            counts.tell(
                f"lost: {name}: {'nothing' if value is missing else repr(value)[:300]} instead of {expected!r:.600}"
            )
    if not wrong:
        counts.torn += 1
        half = [name for name in {*before, *after} if found.get(name) != before.get(name)]
        counts.tell(f"torn: an operation is there in part: {half!r:.500}")


__all__ = ["Counts", "LaneModel", "dump"]
