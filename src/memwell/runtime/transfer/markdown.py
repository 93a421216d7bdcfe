"""Memories as a Markdown document, which people can read and edit, and which can be imported again.

A memory is a list item with its text, followed by a comment that a rendered page does not show: the rest of the memory
as JSON, and a digest of the shown text. While the digest fits, the memory is restored exactly; else the shown text
replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.longterm.base import MemoryVersion
from memwell.longterm.media.items import came_in_words
from memwell.longterm.media.memory import MediaAccess
from memwell.longterm.memory import Memory, MemoryLike, as_memory
from memwell.longterm.traits import traits_of
from memwell.records import Record
from memwell.runtime.transfer.files import (
    FileLike,
    ImportCounts,
    Imported,
    Piece,
    Progress,
    decoded,
    lines,
    reading,
    written,
)
from memwell.runtime.transfer.intake import RawMemory, as_moment, as_text, derived_id
from memwell.runtime.transfer.lines import Earlier, MemoryLine, memory_line, memory_of

_MARK = re.compile(r"<!-- memwell (\{.*\}) -->")
_OPENING = re.compile(r"(\\*)<!--")
_ESCAPED = re.compile(r"\\(\\*)<!--")
_SESSION = re.compile(r'## Session (".*")')
_DAY = re.compile(r"## (\d{4}-\d\d-\d\d)")


class _Mark(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The comment of a bullet. It has the ``text`` only when that cannot be restored exactly from the shown one."""

    id: str
    kind: str
    time: datetime
    metadata: dict[str, Any]
    shown: str
    text: str | None = None
    versions: tuple[Earlier, ...] = ()


class Bullet(NamedTuple):
    """A bullet as it was read: its first line, its text, the memory of its comment, and the session and day it is under."""

    number: int
    text: str
    memory: MemoryLine | None = None
    edited: bool = False
    session: str = ""
    day: str = ""
    wrong: str = ""


def written_bullet(line: MemoryLine) -> str:
    """The Markdown of a memory."""
    body = _body(line.text)
    back = _words(body)
    mark = _Mark(
        id=line.id,
        kind=line.kind,
        time=line.time,
        metadata=line.metadata,
        shown=_digest(back),
        text=None if back == line.text else line.text,
        versions=line.versions,
    )
    return "\n".join([*body, f"  <!-- memwell {_in_comment(mark)} -->", ""])


def _body(text: str) -> list[str]:
    """The lines that show a text. ``<!--`` is escaped: a text must not look like memwell's own comment."""
    # Some editors take a form feed or a NEL for the end of a line, others do not.
    shown = _OPENING.sub(r"\\\1<!--", re.sub(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", text)).split("\n")
    return [f"- {shown[0]}".rstrip(), *(f"  {one}".rstrip() for one in shown[1:])]


def _words(body: Sequence[str]) -> str:
    """The text of the lines of a bullet, without blanks at their ends, which editors may remove."""
    lines = [body[0].removeprefix("-").removeprefix(" "), *(line.removeprefix("  ") for line in body[1:])]
    return _ESCAPED.sub(r"\1<!--", "\n".join(line.rstrip() for line in lines).strip("\n"))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _in_comment(mark: _Mark) -> str:
    """JSON that cannot end the comment around it."""
    written = msgspec.json.encode(mark).decode()
    for sign in "<>\x7f\x85\u2028\u2029":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return written.replace("--", "-\\u002d")


def bullets(lines: Iterator[tuple[int, str]]) -> Iterator[Bullet]:
    """The bullets of a document. Anything between them but headings is ignored."""
    session = day = ""
    body: list[str] = []
    number = 0
    for at, line in lines:
        if body and (line.startswith("  ") or not line.strip()):
            body.append(line)
            continue
        if body:
            yield _read(number, body, session, day)
            body = []
        if line == "-" or line.startswith("- "):
            number, body = at, [line]
        elif line.startswith(("# ", "## ")):
            session, day = _place(line)
    if body:
        yield _read(number, body, session, day)


def _place(heading: str) -> tuple[str, str]:
    """The session and the day that a heading names."""
    named = _SESSION.fullmatch(heading.rstrip())
    if named:
        try:
            return decoded(named[1].encode(), str), ""
        except InvalidInput:
            return "", ""
    dated = _DAY.fullmatch(heading.rstrip())
    return "", dated[1] if dated else ""


def _read(number: int, body: list[str], session: str, day: str) -> Bullet:
    while len(body) > 1 and not body[-1].strip():
        body.pop()
    marked = _MARK.fullmatch(body[-1].strip()) if len(body) > 1 else None
    if marked is None:
        return Bullet(number, _words(body), session=session, day=day)
    text = _words(body[:-1])
    try:
        mark: _Mark = decoded(marked[1].encode(), _Mark)
    except InvalidInput as error:
        return Bullet(number, text, wrong=f"the comment behind a bullet was changed: {error}")
    edited = _digest(text) != mark.shown
    memory = MemoryLine(
        id=mark.id,
        kind=mark.kind,
        text=text if mark.text is None or edited else mark.text,
        time=mark.time,
        metadata=mark.metadata,
        versions=mark.versions,
    )
    return Bullet(number, text, memory, edited, session, day)


_BATCH = 100
_VERSION = 1
_FRONT = re.compile(r"(\w+):\s*(.*?)\s*")
_EDITED = "edited in a document"


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
        front = f"---\nmemwell: {_VERSION}\nspace: {space}\nexported: {memory.clock().isoformat()}\n---\n\n# Memories\n"
        out.write(front.encode())
        out.write(_left_out(sum(key.has_more for keys in sections.values() for key in keys)).encode())
        for heading, keys in sections.items():
            out.write(f"\n{heading}\n\n".encode())
            for start in range(0, len(keys), _BATCH):
                for record in raw.backend.index.get(raw.space, [key.id for key in keys[start : start + _BATCH]]):
                    line = memory_line(record, raw.versions(record), vector=False)
                    out.write(written_bullet(line).encode())
                    done += 1
                if progress is not None:
                    progress(done, total)
    return done


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
        if forgotten or traits_of(record).active:
            traits = traits_of(record)
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


def import_markdown(
    memory: MemoryLike,
    file: FileLike,
    *,
    prune: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import a document: missing memories are restored, edited ones updated, and new bullets remembered.

    Of media only the texts are imported; a hint counts those whose bytes are not stored. With ``prune`` the memories
    that were exported and are no longer in the document are forgotten, which can be undone, unless anything in the
    document is wrong. Raises ``InvalidInput`` for pruning by a document that does not say when it was exported, and
    ``FileError`` when it cannot be read.
    """
    memory = as_memory(memory)
    reader = _Reader(memory, ImportCounts("markdown", strict=strict))
    memory.catch_up()
    with reading(file, progress) as source:
        numbered = reader.lines(lines(source, empty=True))
        front, numbered = _front_matter(numbered)
        exported = as_moment(front.get("exported"), "when the document was exported")
        if prune and ("memwell" not in front or exported is None):
            raise InvalidInput("a document that does not say when it was exported cannot say what was removed since")
        reader.read(bullets(numbered))
    if prune and exported is not None:
        reader.prune(exported)
    return reader.finished()


def _front_matter(numbered: Iterator[tuple[int, str]]) -> tuple[dict[str, str], Iterator[tuple[int, str]]]:
    """The front matter of a document, if it has any, and the remaining lines."""
    first = next(numbered, None)
    if first is None or first[1].rstrip() != "---":
        return {}, numbered if first is None else chain([first], numbered)
    found: dict[str, str] = {}
    for _, line in numbered:
        if line.rstrip() == "---":
            break
        matched = _FRONT.fullmatch(line)
        if matched:
            found[matched[1]] = matched[2]
    return found, numbered


class _Reader:
    """Imports the bullets of a document."""

    def __init__(self, memory: Memory, counts: ImportCounts) -> None:
        self._memory = memory
        self._raw = RawMemory.of(memory)
        self._counts = counts
        self._seen: set[str] = set()
        self._without_bytes = 0

    def lines(self, pieces: Iterator[Piece]) -> Iterator[tuple[int, str]]:
        """The lines of a file as text; those that are not UTF-8 are reported and left out."""
        for piece in pieces:
            try:
                if piece.wrong:
                    raise InvalidInput(piece.wrong)
                yield piece.number, piece.data.decode()
            except (InvalidInput, UnicodeDecodeError) as error:
                self._counts.problem(piece.number, str(error))

    def read(self, found: Iterator[Bullet]) -> None:
        """Import bullets, in a transaction for each batch."""
        batch: list[Bullet] = []
        for bullet in found:
            batch.append(bullet)
            if len(batch) >= _BATCH:
                self._take_batch(batch)
                batch = []
        self._take_batch(batch)

    def _take_batch(self, batch: Sequence[Bullet]) -> None:
        if not batch:
            return
        with self._memory.backend.transaction():
            for bullet in batch:
                try:
                    with self._memory.backend.transaction():
                        self._take(bullet)
                except (InvalidInput, Conflict, NotFound) as error:
                    self._counts.problem(bullet.number, error)

    def _take(self, bullet: Bullet) -> None:
        if bullet.wrong:
            raise InvalidInput(bullet.wrong)
        if bullet.memory is None:
            self._add(bullet)
            return
        if bullet.memory.id in self._seen:
            raise InvalidInput(
                f"a second bullet stands for the memory {bullet.memory.id!r}: give it no comment to add it"
            )
        self._seen.add(bullet.memory.id)
        self._take_known(bullet, bullet.memory)

    def _take_known(self, bullet: Bullet, line: MemoryLine) -> None:
        here = self._raw.backend.index.get(self._raw.space, [line.id])
        record, versions = memory_of(line, self._raw.space, vector=False)
        if bullet.edited:
            as_text(record.text, "a changed memory")
            # The gate judges edited texts; exported ones were judged before.
            record = self._raw.judged(record)
        if bullet.edited and here:
            self._update(here[0], record)
        elif here and traits_of(here[0]).version >= traits_of(record).version:
            self._counts.add_known()
        elif self._restored(record, versions):
            self._counts.add("memories")
        else:
            self._counts.add_known()

    def _restored(self, record: Record, versions: Sequence[MemoryVersion]) -> bool:
        """Restore a memory; whether that changed anything. A medium whose bytes are missing is marked."""
        marked = came_in_words(record)
        if marked is record or not MediaAccess.of(self._memory).absent(marked):
            return self._raw.restore(record, versions)
        done = self._raw.restore(marked, [replace(one, record=came_in_words(one.record)) for one in versions])
        self._without_bytes += done
        return done

    def _update(self, here: Record, changed: Record) -> None:
        if here.text == changed.text:
            self._counts.add_known()
        elif traits_of(here).version > traits_of(changed).version:
            raise Conflict(f"the memory {here.id!r} was changed here since the export; what is here stays")
        else:
            self._memory.update(here.id, changed.text, reason=_EDITED)
            self._counts.add("updates")

    def _add(self, bullet: Bullet) -> None:
        text = as_text(bullet.text, "a new bullet")
        id_ = derived_id("markdown", bullet.session, bullet.day, text)
        if id_ in self._seen or self._raw.knows(id_):
            self._seen.add(id_)
            self._counts.add_known()
            return
        self._seen.add(id_)
        time = datetime.fromisoformat(bullet.day).replace(tzinfo=UTC) if _is_day(bullet.day) else None
        done = self._memory.remember(text, id=id_, session=bullet.session, time=time)
        self._counts.add("memories", len(done.ids))
        for refused in done.rejected:
            self._counts.skip(bullet.number, "; ".join(refused.reasons))

    def prune(self, exported: datetime) -> None:
        """Forget the memories that were stored when the document was written and are no longer in it."""
        if self._counts.failed:
            self._counts.problem(0, "nothing was pruned, because something is wrong with the document")
            return
        gone = [
            record.id
            for record in self._raw.records()
            if record.id not in self._seen
            and traits_of(record).active
            and (traits_of(record).learned or record.time) <= exported
        ]
        self._counts.add("forgotten", len(self._memory.forget(gone, reason="removed from a document")))

    def finished(self) -> Imported:
        """The report of the import."""
        self._raw.done()
        done = self._counts.report()
        if not self._without_bytes:
            return done
        what = "one medium" if self._without_bytes == 1 else f"{self._without_bytes:,} media"
        hint = f"{what} came without bytes or features, which no document holds: import the .jsonl export for those"
        return replace(done, hints=[*done.hints, hint])


def _is_day(day: str) -> bool:
    try:
        datetime.fromisoformat(day)
    except ValueError:
        return False
    return True
