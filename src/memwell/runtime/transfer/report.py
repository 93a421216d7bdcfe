"""What came of an import: what was taken, what was already there, what was left out and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from memwell.errors import InvalidInput, MemwellError

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with how far it is and how far it goes, None when that is not known: bytes when reading, lines when writing."""

MOST_NOTES = 1000
"""So many skipped things and problems are listed one by one; more are only counted."""


class Note(msgspec.Struct, frozen=True):
    """Something that did not come over: the number of its line or item (from 1), and why."""

    number: int
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """What an import did. ``counts`` says how many of each thing are new; importing the same again makes them all 0."""

    format: str
    counts: dict[str, int]
    known: int
    """How many things were there already and were left as they are."""
    skipped: list[Note]
    """What was left out on purpose: refused by the gate, expired, hidden."""
    problems: list[Note]
    """What could not be read or stored. The rest came over."""
    failed: int
    """How many problems there were, also when too many to list."""
    hints: list[str] = []
    """What whoever imported should know, although nothing went wrong."""

    @property
    def new(self) -> int:
        """How many things were stored."""
        return sum(self.counts.values())


class Tally:
    """Counts while an import runs. With ``strict`` the first problem ends it."""

    def __init__(self, format_: str, *, strict: bool = False) -> None:
        self._format = format_
        self._strict = strict
        self._counts: dict[str, int] = {}
        self._known = 0
        self._skipped: list[Note] = []
        self._problems: list[Note] = []
        self._failed = 0

    def took(self, what: str, number: int = 1) -> None:
        """Something new was stored."""
        if number:
            self._counts[what] = self._counts.get(what, 0) + number

    def knew(self, number: int = 1) -> None:
        """Something was there already."""
        self._known += number

    def skip(self, number: int, reason: str) -> None:
        """Something was left out on purpose."""
        if len(self._skipped) < MOST_NOTES:
            self._skipped.append(Note(number, reason))

    def problem(self, number: int, error: MemwellError | str) -> None:
        """Something is wrong with the file. Raises ``InvalidInput`` when nothing may be wrong."""
        if self._strict:
            raise InvalidInput(f"{self._format}, {number}: {error}")
        self._failed += 1
        if len(self._problems) < MOST_NOTES:
            self._problems.append(Note(number, str(error)))

    def mark(self) -> tuple[dict[str, int], int, int]:
        """What was counted so far, to come back to."""
        return dict(self._counts), self._known, len(self._skipped)

    def back_to(self, mark: tuple[dict[str, int], int, int]) -> None:
        """Forget what was counted since: it was undone."""
        self._counts, self._known = dict(mark[0]), mark[1]
        del self._skipped[mark[2] :]

    @property
    def failed(self) -> int:
        """How many problems there were so far."""
        return self._failed

    def report(self) -> Imported:
        """What came of it."""
        return Imported(self._format, self._counts, self._known, self._skipped, self._problems, self._failed)


__all__ = ["Imported", "MOST_NOTES", "Note", "Progress", "Tally"]
