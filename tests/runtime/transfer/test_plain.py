"""Lines and rows are remembered once each."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.records import Space
from memwell.runtime.transfer import (
    Imported,
    import_csv,
    import_text,
)
from memwell.storage import open_backend

SPACE = Space("ann")


def opened() -> Memory:
    return Memory(open_backend("memory:"), SPACE)


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory._all()]


def reasons(report: Imported) -> list[str]:
    return [f"{note.number}: {note.reason}" for note in report.problems]


def test_text() -> None:
    memory = opened()
    data = "- Ann likes trains.\n\n* 她喜欢火车。\r\nAnn likes trains.\n".encode() + b"\xff\n"
    report = import_text(memory, io.BytesIO(data))
    assert texts(memory) == ["Ann likes trains.", "她喜欢火车。"]
    assert reasons(report)[0].startswith("5: the line is not UTF-8")
    assert import_text(memory, io.BytesIO(data)).new == 0


CSV = (
    '\ufeffText,When,who\n"Ann, who likes\ntrains",2024-05-01T10:00:00Z,Bo\n'
    "喜欢火车,1714560000,\n,2024,x\na,b,c,d\nb,soon,\n"
)


def test_csv() -> None:
    memory = opened()
    report = import_csv(memory, io.BytesIO(CSV.encode()), time="When")
    first, second = memory._all()
    assert (first.text, first.time.hour, first.metadata["who"]) == ("Ann, who likes\ntrains", 10, "Bo")
    assert second.time == datetime(2024, 5, 1, 10, 40, tzinfo=UTC)
    assert [note.number for note in report.problems] == [3, 4, 5]
    assert import_csv(memory, io.BytesIO(CSV.encode()), time="When").new == 0


@pytest.mark.parametrize("options", [{"text": "nope"}, {"time": "nope"}])
def test_csv_without_the_column_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="no column 'nope'"):
        import_csv(opened(), io.BytesIO(CSV.encode()), **options)
    with pytest.raises(InvalidInput, match="no column 'text'"):
        import_csv(opened(), io.BytesIO(b""))


def test_csv_with_a_field_that_never_ends() -> None:
    report = import_csv(opened(), io.BytesIO(b'text,x\n"' + b"y" * 3_000_000))
    assert report.new == 0
    assert report.failed >= 1
