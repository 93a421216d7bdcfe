"""How often memories were recalled, and when last: a small entry for each memory, apart from its record.

A recall changes no record, so no process has to read a memory again because another one recalled it. The entries are in the
inner space of the memory. An entry holds the whole count: the first one of a memory begins with what its traits say, where
earlier versions of memwell counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from memwell.filters import id_begins_with
from memwell.longterm.journal import inner_key, inner_space
from memwell.longterm.traits import KEY, Traits, own_metadata, traits_of, with_traits
from memwell.records import Record, Space, paged
from memwell.storage.protocols import Backend, Entry, KeyValue

_PREFIX = "use/"
_BEFORE = "use."
"""The keys behind this one begin with the prefix, or sort behind all that do."""
_PAGE = 1_000


class Use(NamedTuple):
    """How often a memory was recalled, and when last, in seconds since 1970 (0 is never)."""

    times: int = 0
    last: float = 0.0

    def joined(self, other: Use) -> Use:
        """The higher number and the later moment of two."""
        return Use(max(self.times, other.times), max(self.last, other.last))


def use_in(traits: Traits) -> Use:
    """What the traits of a memory say of its uses."""
    return Use(traits.uses, 0.0 if traits.accessed is None else traits.accessed.timestamp())


def _use_in(metadata: Mapping[str, Any]) -> Use:
    """The same of stored metadata. Most has no uses: those are counted apart."""
    stored = metadata.get(KEY)
    if not (isinstance(stored, Mapping) and ("uses" in stored or "accessed" in stored)):
        return Use()
    return use_in(msgspec.convert(stored, Traits))


def with_use(traits: Traits, use: Use | None) -> Traits:
    """The traits of a memory with its uses."""
    if use is None or (use.times <= traits.uses and use.last <= use_in(traits).last):
        return traits
    count, last = use.joined(use_in(traits))
    return replace(traits, uses=count, accessed=datetime.fromtimestamp(last, UTC) if last else None)


class Uses:
    """The uses of the memories of one space."""

    def __init__(self, backend: Backend, space: Space) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)

    def add(self, counts: Mapping[str, int], moments: Mapping[str, datetime]) -> dict[str, Use]:
        """Count recalls of memories in one transaction; what is stored of each then. Unknown ids are ignored."""
        keys = {inner_key(_PREFIX, id_): id_ for id_ in counts}
        with self._backend.transaction():
            known = {
                keys[key]: _use(entry) for key, entry in self._backend.kv.get_many(self._inner, list(keys)).items()
            }
            # The entry of a memory is deleted with it, so only those without one may not exist.
            fresh = [id_ for id_ in counts if id_ not in known]
            found = self._backend.index.metadata_of(self._space, fresh) if fresh else {}
            known |= {id_: _use_in(metadata) for id_, metadata in found.items()}
            stored = {
                id_: Use(use.times + counts[id_], max(use.last, _seconds(moments.get(id_))))
                for id_, use in known.items()
            }
            self._backend.kv.put_many(
                self._inner, {inner_key(_PREFIX, id_): _value(id_, stored[id_]) for id_ in stored}
            )
        return stored

    def delete(self, id_: str) -> None:
        """Delete what was counted of a memory. Call it in the transaction that erases the memory."""
        self._backend.kv.delete(self._inner, inner_key(_PREFIX, id_))


def uses_of(kv: KeyValue, space: Space, ids: Iterable[str]) -> dict[str, Use]:
    """What was counted of some memories."""
    keys = {inner_key(_PREFIX, id_): id_ for id_ in ids}
    return {keys[key]: _use(entry) for key, entry in kv.get_many(inner_space(space), list(keys)).items()}


def all_uses(kv: KeyValue, space: Space) -> dict[str, Use]:
    """What was counted of all memories of a space."""
    inner, where = inner_space(space), id_begins_with(_PREFIX)
    entries = paged(lambda cursor: kv.scan(inner, where=where, limit=_PAGE, cursor=cursor or _BEFORE))
    return {_id(entry): _use(entry) for entry in entries}


def counted_traits(kv: KeyValue, records: Iterable[Record]) -> Iterator[tuple[Record, Traits]]:
    """Memories of one space with their traits and uses."""
    left = iter(records)
    while some := list(islice(left, _PAGE)):
        uses = uses_of(kv, some[0].space, [record.id for record in some])
        yield from ((record, with_use(traits_of(record), uses.get(record.id))) for record in some)


def counted_record(record: Record, use: Use | None) -> Record:
    """A memory whose stored traits hold its uses, for a copy of it elsewhere."""
    traits = traits_of(record)
    counted = with_use(traits, use)
    return record if counted is traits else replace(record, metadata=with_traits(own_metadata(record), counted))


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()


def _value(id_: str, use: Use) -> list[int | float | str]:
    # The key of a long id has only its digest.
    return [*use] if inner_key(_PREFIX, id_).endswith(f"/{id_}/") else [*use, id_]


def _use(entry: Entry) -> Use:
    count, last, *_ = cast("list[int | float]", entry.value)
    return Use(int(count), float(last))


def _id(entry: Entry) -> str:
    value = cast("list[str]", entry.value)
    return value[2] if len(value) > 2 else entry.key.split("/", 2)[2][:-1]
