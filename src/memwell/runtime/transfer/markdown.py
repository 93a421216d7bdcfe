"""Memories as a Markdown document, for people to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.traits import traits_of
from memwell.records import Record
from memwell.runtime.transfer.files import FileLike, Progress, written
from memwell.runtime.transfer.intake import RawMemory

_BATCH = 100
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")


class _Key(NamedTuple):
    """The sort key of a memory in a document."""

    time: datetime
    id: str
    has_more: bool
    """Whether it has blobs or a feature vector, which a document does not hold."""


def export_markdown(
    memory: MemoryLike, file: FileLike, *, forgotten: bool = True, progress: Progress | None = None
) -> int:
    """Write the memories of a space as a document, with a heading for each session or day; returns how many there are.

    Forgotten and superseded memories are at its end; ``forgotten=False`` leaves them out. Of media it only has the texts,
    and says so at its beginning. Raises ``FileError`` when the file cannot be written; then it is as it was.
    """
    memory = as_memory(memory)
    raw = RawMemory.of(memory)
    sections = _sections(raw.records(), forgotten=forgotten)
    total = sum(map(len, sections.values()))
    done = 0
    with written(file) as out:
        space = msgspec.json.encode(tuple(memory.space)).decode()
        front = f"---\nmemwell: 1\nspace: {space}\nexported: {memory.clock().isoformat()}\n---\n\n# Memories\n"
        out.write(front.encode())
        out.write(_left_out(sum(key.has_more for keys in sections.values() for key in keys)).encode())
        for heading, keys in sections.items():
            out.write(f"\n{heading}\n\n".encode())
            for start in range(0, len(keys), _BATCH):
                for record in raw.backend.index.get(raw.space, [key.id for key in keys[start : start + _BATCH]]):
                    out.write(_bullet(record.text).encode())
                    done += 1
                if progress is not None:
                    progress(done, total)
    return done


def _bullet(text: str) -> str:
    """A text as an item of a list. A further line is indented, so that it is neither a heading nor another item."""
    first, *more = _LINE_ENDS.sub("\n", text).split("\n")
    return "".join(f"{line}\n" for line in (f"- {first}".rstrip(), *(f"  {line}".rstrip() for line in more)))


def _left_out(media: int) -> str:
    """The remark of the document on its media."""
    if not media:
        return ""
    what = "one medium" if media == 1 else f"{media:,} media"
    return f"\n> The words of {what}, without bytes and features: an export that ends in .jsonl holds those too.\n"


def _sections(records: Iterator[Record], *, forgotten: bool) -> dict[str, list[_Key]]:
    """The headings of a document in order, with the memories under each."""
    found: dict[str, list[_Key]] = {}
    for record in records:
        traits = traits_of(record)
        if forgotten or traits.active:
            key = _Key(record.time, record.id, bool(traits.blobs or traits.features))
            found.setdefault(_heading(record), []).append(key)
    for keys in found.values():
        keys.sort()
    return dict(sorted(found.items(), key=lambda one: (one[0].startswith("# "), one[1][0], one[0])))


def _heading(record: Record) -> str:
    traits = traits_of(record)
    if not traits.active:
        return f"# {traits.status.capitalize()}" if traits.status.isidentifier() else "# Hidden"
    if traits.session:
        return f"## Session {msgspec.json.encode(traits.session).decode()}"
    return f"## {record.time.date().isoformat()}"
