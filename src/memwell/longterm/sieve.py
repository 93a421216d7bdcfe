"""Which rows of a pool satisfy a filter, without asking every memory anew: of many thousands that is slower than ranking.

A field that is compared for equality becomes a column of small numbers, one for each value it has, so that a session or a
user that was never asked for before costs one comparison of arrays. For any other comparison the answers are kept. Both
are kept up as memories change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from memwell.filters import AllOf, Filter, Where, holds
from memwell.longterm.pool import Flags, Pool
from memwell.records import Record

_MOST_KEPT = 16
"""So many columns, and so many answers, of those used last."""
_UNUSED = 1024
"""A column may know so many values that no memory has any more, beside one for each memory."""

_ABSENT = object()


class _Kept(Protocol):
    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> bool: ...


Kept = TypeVar("Kept", bound=_Kept)


class Sieve:
    """The filters used lately on one pool. Tell it of every change; it is as safe between threads as the pool is."""

    def __init__(self) -> None:
        self._columns: OrderedDict[str, _Column] = OrderedDict()
        self._answers: OrderedDict[str, _Answers] = OrderedDict()

    def clear(self) -> None:
        """Forget everything, for another pool."""
        self._columns.clear()
        self._answers.clear()

    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> None:
        """Take in that these memories are new or have changed."""
        changed = list(ids)
        for kept in (self._columns, self._answers):
            for name in [name for name, one in kept.items() if not one.follow(pool, records, changed)]:
                del kept[name]

    def flags(self, wanted: Filter, pool: Pool, records: Mapping[str, Record]) -> Flags:
        """A flag for every row of the pool, for the caller to keep; that of a row which is not in use says nothing."""
        if isinstance(wanted, AllOf):
            together = np.ones(pool.limit, np.bool_)
            for one in wanted.filters:
                together &= self.flags(one, pool, records)
            return together
        if isinstance(wanted, Where) and wanted.operator == "eq" and not str(wanted.field).startswith("@"):
            path = (wanted.field,) if isinstance(wanted.field, str) else wanted.field
            column = _used(self._columns, repr(path)) or _new(self._columns, repr(path), _Column(path), pool, records)
            return column.equal(wanted.value, pool.limit)
        # By its spelling: 1, 1.0 and True are equal as values and different in a filter.
        name = repr(wanted)
        answers = _used(self._answers, name) or _new(self._answers, name, _Answers(wanted), pool, records)
        return answers.flags[: pool.limit].copy()


def _used(kept: OrderedDict[str, Kept], name: str) -> Kept | None:
    if name in kept:
        kept.move_to_end(name)
    return kept.get(name)


def _new(kept: OrderedDict[str, Kept], name: str, one: Kept, pool: Pool, records: Mapping[str, Record]) -> Kept:
    one.follow(pool, records, records)
    kept[name] = one
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
    return one


class _Column:
    """The values of one field of the metadata, each as a number; 0 where it is absent or no scalar."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path
        self._numbers: dict[Any, int] = {}
        self._codes = np.zeros(0, np.int32)

    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> bool:
        """Read memories again. False when it has grown too large and is better made anew."""
        missing = len(pool.alive) - len(self._codes)
        if missing > 0:
            self._codes = np.concatenate((self._codes, np.zeros(missing, np.int32)))
        numbers, codes = self._numbers, self._codes
        for id_ in ids:
            value = _scalar(self._found(records[id_].metadata))
            codes[pool.row_of(id_)] = 0 if value is _ABSENT else numbers.setdefault(value, len(numbers) + 1)
        return len(numbers) <= len(pool) + _UNUSED

    def equal(self, value: object, limit: int) -> Flags:
        """Which rows have a value."""
        # A value that no memory has is no number of any.
        return self._codes[:limit] == self._numbers.get(_scalar(value), -1)

    def _found(self, value: Any) -> Any:
        for key in self._path:
            if not isinstance(value, dict) or key not in value:
                return _ABSENT
            value = cast("dict[str, Any]", value)[key]
        return value


def _scalar(value: Any) -> Any:
    """A value as a key: 1 is 1.0, but True is neither."""
    if isinstance(value, bool):
        return ("bool", value)
    return value if value is None or isinstance(value, str | int | float) else _ABSENT


class _Answers:
    """Whether each memory satisfies a filter."""

    def __init__(self, wanted: Filter) -> None:
        self._wanted = wanted
        self.flags: Flags = np.zeros(0, np.bool_)

    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> bool:
        """Ask memories again."""
        missing = len(pool.alive) - len(self.flags)
        if missing > 0:
            self.flags = np.concatenate((self.flags, np.zeros(missing, np.bool_)))
        for id_ in ids:
            self.flags[pool.row_of(id_)] = holds(self._wanted, records[id_])
        return True


__all__ = ["Sieve"]
