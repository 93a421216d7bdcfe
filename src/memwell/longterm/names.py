"""``Names``: a numbered set of strings, such as the ids, words and sessions of a snapshot.

Names that were read from a file stay in its bytes and are found by their hash, so that reading a table of any size costs
nothing; names that are added later are in a dictionary in addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]

_NOTHING = np.zeros(0, np.uint8)


def below(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with a prefix and a dot, without these."""
    return {name[len(prefix) + 1 :]: part for name, part in arrays.items() if name.startswith(f"{prefix}.")}


def under(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The arrays with a prefix and a dot before their names."""
    return {f"{prefix}.{name}": part for name, part in arrays.items()}


def _hash(name: bytes) -> int:
    # Not hash(): that is another in every process.
    return crc32(name)


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


class Names:
    """Names and their numbers. The number of a removed name is given to another. The empty name is never found."""

    def __init__(self, saved: Arrays | None = None) -> None:
        found: Arrays = saved or {}
        self._texts, self._ends = found.get("texts", _NOTHING), found.get("ends", _NOTHING)
        self._hashes, self._order = found.get("hashes", _NOTHING), found.get("order", _NOTHING)
        self._free: list[int] = found.get("free", _NOTHING).tolist()
        self._saved = len(self._ends)
        self._numbers: dict[str, int] = {}
        self._replaced: dict[int, str] = {}
        """The names of saved numbers that were removed or given again."""
        self._added: list[str] = []
        """The names of the numbers after the saved ones."""

    def __len__(self) -> int:
        return self.limit - len(self._free)

    @property
    def limit(self) -> int:
        """Every number is below this."""
        return self._saved + len(self._added)

    @property
    def nbytes(self) -> int:
        """About how much memory the names take."""
        saved = sum(part.nbytes for part in (self._texts, self._ends, self._hashes, self._order))
        return saved + 150 * (len(self._numbers) + len(self._added))

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __getitem__(self, number: int) -> str:
        if number >= self._saved:
            return self._added[number - self._saved]
        replaced = self._replaced.get(number)
        return self._saved_name(number) if replaced is None else replaced

    def get(self, name: str) -> int | None:
        """The number of a name, or None."""
        number = self._numbers.get(name)
        if number is None and self._saved and name:
            number = self._saved_number(name)
            if number is not None:
                self._numbers[name] = number
        return number

    def add(self, name: str) -> int:
        """Give a number to a name that has none."""
        return self.add_all((name,))[0]

    def add_all(self, names: Sequence[str]) -> list[int]:
        """Give numbers to names that have none, in ascending order."""
        reused = len(self._free) - min(len(self._free), len(names))
        numbers = sorted(self._free[reused:])
        del self._free[reused:]
        numbers += range(self.limit, self.limit + len(names) - len(numbers))
        for number, name in zip(numbers, names, strict=True):
            if number == self.limit:
                self._added.append(name)
            else:
                self._set(number, name)
            if name:
                self._numbers[name] = number
        return numbers

    def remove(self, number: int) -> None:
        """Remove a name."""
        self._numbers.pop(self[number], None)
        self._set(number, "")
        self._free.append(number)

    def _set(self, number: int, name: str) -> None:
        if number < self._saved:
            self._replaced[number] = name
        else:
            self._added[number - self._saved] = name

    def _saved_name(self, number: int) -> str:
        start = int(self._ends[number - 1]) if number else 0
        return self._texts[start : int(self._ends[number])].tobytes().decode("utf-8", "surrogatepass")

    def _saved_number(self, name: str) -> int | None:
        # A plain int would make numpy convert all hashes.
        wanted = np.uint32(_hash(_encoded(name)))
        at = int(self._hashes.searchsorted(wanted))
        while at < len(self._hashes) and self._hashes[at] == wanted:
            number = int(self._order[at])
            if number not in self._replaced and self._saved_name(number) == name:
                return number
            at += 1
        return None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The names as arrays, from which a table is made again."""
        names = [_encoded(self[number]) for number in range(self.limit)]
        hashes = np.fromiter(map(_hash, names), np.uint32, len(names))
        sizes = np.fromiter(map(len, names), np.int64, len(names))
        order = np.argsort(hashes, kind="stable")
        order = order[sizes[order] > 0]
        return {
            "texts": np.frombuffer(b"".join(names), np.uint8),
            "ends": np.cumsum(sizes),
            "hashes": hashes[order],
            "order": order.astype(np.int32),
            "free": np.array(self._free, np.int32),
        }
