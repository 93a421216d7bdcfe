"""CSV and TSV: every row becomes a line that can be understood alone, ``column: value; column: value``."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading.building import Builder, one_line
from memwell.values import shown

_DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 32_768
_FEW_ROWS = 30
_NUMBER = re.compile(r"[-+]?[\d.,\s%€$£¥]*\d[\d.,\s%€$£¥]*$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LONGEST_NAME = 80
_SEP_LINE = re.compile(r'"?sep=(.)"?\n', re.IGNORECASE)


def read_table(text: str, *, media_type: str = "text/csv", warnings: tuple[str, ...] = ()) -> Parsed:
    """A block for every row that is not empty, with the names of the columns where the first row has them.

    Raises ``UnreadableDocument`` when there is no row, or a field is longer than a table's may be.
    """
    text, delimiter = _delimiter(text, media_type)
    try:
        rows, more = _rows(text, delimiter), ()
    except csv.Error:
        # A quotation mark that never closes makes the rest of the file one field.
        rows, more = (
            _rows_as_they_stand(text, delimiter),
            ("its quotation marks do not close; they were read as they stand",),
        )
    names, records = _header(rows)
    builder = Builder()
    builder.rows(_in_words(names, row) for row in records)
    if not builder and names:
        builder.rows(["; ".join(names)])
    metadata = {"columns": list(names)} if names else {}
    return builder.parsed(media_type, metadata=metadata, warnings=(*warnings, *more, *_uneven(names, records)))


def _rows(text: str, delimiter: str, *, quoted: bool = True) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return [row for row in csv.reader(lines, delimiter=delimiter, quoting=quoting) if any(map(str.strip, row))]


def _rows_as_they_stand(text: str, delimiter: str) -> list[list[str]]:
    try:
        return _rows(text, delimiter, quoted=False)
    except csv.Error as error:
        raise UnreadableDocument(f"it is no table: {error}") from None


def _delimiter(text: str, media_type: str) -> tuple[str, str]:
    """The text of the table, and the sign that cuts its first rows into the same number of fields, more than one."""
    if said := _SEP_LINE.match(text):
        return text[said.end() :], said[1]
    if media_type == "text/tab-separated-values":
        return text, "\t"
    head = text[:_LOOKED_AT]
    # The last line of the head may be cut.
    head = head[: head.rfind("\n") + 1] or head
    return text, max(_DELIMITERS, key=lambda sign: _evenness(head, sign))


def _evenness(head: str, delimiter: str) -> tuple[float, int]:
    try:
        rows = _rows(head, delimiter)[:_FEW_ROWS]
    except csv.Error:
        return 0.0, 0
    widths = Counter(len(row) for row in rows)
    if not widths:
        return 0.0, 0
    width, times = widths.most_common(1)[0]
    return (times / widths.total(), width) if width > 1 else (0.0, 0)


def _header(rows: Sequence[list[str]]) -> tuple[tuple[str, ...], Sequence[list[str]]]:
    """The names of the columns and the rows below them; no names when the first row is a row like the others."""
    if not rows:
        return (), rows
    names = tuple(one_line(cell) for cell in rows[0])
    if not _can_be_names(names) or (len(rows) > 1 and _alike(rows[0], rows[1 : 1 + _FEW_ROWS])):
        return (), rows
    return names, rows[1:]


def _can_be_names(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    unlike_names = any(len(cell) > _LONGEST_NAME or _NUMBER.match(cell) for cell in filled)
    return len(filled) > 1 and len(set(filled)) == len(filled) and not unlike_names and len(filled) * 2 >= len(cells)


def _alike(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether the first row's values come back below it: then it is one of the rows and names nothing."""
    return any(cell.strip() and cell == row[place] for row in others for place, cell in enumerate(first[: len(row)]))


def _in_words(names: Sequence[str], row: Sequence[str]) -> str:
    return "; ".join(_fields(names, row))


def _fields(names: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    for place, cell in enumerate(row):
        value = cell.strip()
        if not value:
            continue
        if "\n" in value or "\t" in value:
            value = one_line(value)
        name = names[place] if place < len(names) else ""
        yield f"{name}: {value}" if name else value


def _uneven(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    long = [row for row in rows if len(row) > len(names)] if names else []
    return (f"{len(long)} rows have more fields than there are columns, as {shown(long[0])}",) if long else ()


__all__ = ["read_table"]
