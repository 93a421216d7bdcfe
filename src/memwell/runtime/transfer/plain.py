"""Plain files: text, a memory a line, and CSV, a memory a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from memwell.errors import InvalidInput
from memwell.longterm.remembering import Rememberer
from memwell.runtime.transfer.files import FileLike, Piece, Reading, lines, reading
from memwell.runtime.transfer.incoming import Arrival, Intake, as_moment, as_text, derived_id
from memwell.runtime.transfer.report import Imported, Progress
from memwell.values import shown

TEXT_COLUMNS = ("text", "memory", "content", "note", "message", "内容", "文本", "记忆")
TIME_COLUMNS = ("time", "date", "timestamp", "created_at", "时间", "日期")
_LONGEST = 1 << 20
"""A line of a plain file is at most this long: what is longer is no note that somebody wrote."""


def import_text(
    memory: Rememberer, file: FileLike, *, strict: bool = False, progress: Progress | None = None
) -> Imported:
    """Remember every line of a text that says something, without a list's mark before it.

    Raises ``FileError`` when the file cannot be read.
    """
    intake = Intake(memory, "text", strict=strict)
    with reading(file, progress) as source:
        return intake.take_all(lines(source, _LONGEST), _line)


def _line(piece: Piece) -> Sequence[Arrival]:
    text = _decoded(piece.data).strip()
    for mark in ("- ", "* ", "• "):
        text = text.removeprefix(mark)
    text = as_text(text.strip(), "a line")
    return (Arrival(id=derived_id("text", text), text=text),)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the line is not UTF-8: {error}") from error


def import_csv(
    memory: Rememberer,
    file: FileLike,
    *,
    text: str | None = None,
    time: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Remember every row of a table: the column ``text`` is what is remembered, ``time`` when it was said (ISO 8601 or
    seconds since 1970), and the others are metadata. Without names, columns called ``text``, ``content``, ``time`` and the
    like are looked for.

    Raises ``InvalidInput`` when there is no column of text, and ``FileError`` when the file cannot be read.
    """
    intake = Intake(memory, "csv", strict=strict)
    with reading(file, progress) as source:
        rows = _Rows(source)
        said = _column(rows.names, text, TEXT_COLUMNS)
        if said is None:
            raise InvalidInput(f"the table has no column {shown(text or 'text')}, only {shown(rows.names)}")
        when = _column(rows.names, time, TIME_COLUMNS)
        if time is not None and when is None:
            raise InvalidInput(f"the table has no column {shown(time)}, only {shown(rows.names)}")
        return intake.take_all(rows.pieces(), lambda piece: _row(rows.take(piece), said, when))


class _Rows:
    """The rows of a table. Lines are bounded, so that one without an end is not read whole."""

    def __init__(self, source: Reading) -> None:
        self._wrong = ""
        self._reader = csv.reader(self._lines(source), strict=True)
        self._rows: dict[int, list[str]] = {}
        self.names = [name.strip() for name in self._next() or ()]

    def _lines(self, source: Reading) -> Iterator[str]:
        first = True
        while line := source.line(_LONGEST):
            text = line.decode("utf-8", "surrogateescape")
            yield text.removeprefix("\ufeff") if first else text
            first = False

    def _next(self) -> list[str] | None:
        """The next row, an empty one when it cannot be read, None at the end."""
        self._wrong = ""
        try:
            return next(self._reader, None)
        except csv.Error as error:
            self._wrong = f"the row cannot be read: {error}"
            return []

    def pieces(self) -> Iterator[Piece]:
        """The rows as pieces; ``take`` gives what is in one."""
        number = 0
        while (row := self._next()) is not None:
            number += 1
            if not row and not self._wrong:
                continue
            self._rows[number] = row
            yield Piece(number, b"", self._wrong)

    def take(self, piece: Piece) -> dict[str, str]:
        """The values of a row by their column. Raises ``InvalidInput`` when there are more than columns."""
        row = self._rows.pop(piece.number)
        if len(row) > len(self.names):
            raise InvalidInput(f"the row has {len(row)} values for {len(self.names)} columns")
        return dict(zip(self.names, row, strict=False))


def _column(names: Sequence[str], wanted: str | None, usual: Sequence[str]) -> str | None:
    if wanted is not None:
        return wanted if wanted in names else None
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def _row(row: dict[str, str], said: str, when: str | None) -> Sequence[Arrival]:
    text = as_text(row.get(said, "").strip(), f"the column {said!r}")
    moment = row.get(when, "").strip() if when is not None else ""
    metadata: dict[str, Any] = {
        name: value for name, value in row.items() if name and value and name not in (said, when)
    }
    time = as_moment(float(moment) if _is_number(moment) else moment, f"the column {when!r}")
    id_ = derived_id("csv", *(f"{name}={value}" for name, value in sorted(row.items())))
    return (Arrival(id=id_, text=text, time=time, metadata=metadata),)


def _is_number(text: str) -> bool:
    # A year alone, or 20260501, is a date and not a moment of 1970.
    return text.replace(".", "", 1).isdecimal() and text.isascii() and len(text.split(".", maxsplit=1)[0]) in (10, 9)


__all__ = ["TEXT_COLUMNS", "TIME_COLUMNS", "import_csv", "import_text"]
