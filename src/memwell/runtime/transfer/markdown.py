"""Memories as a Markdown document: to be read, changed by hand, and imported again.

A memory is a bullet of a list. The bullet shows the text for people and ends with a comment for memwell, which a rendered
page does not show: the rest of the memory as JSON. The comment also has a digest of the shown text. As long as that fits,
the memory is as it was, to the last blank; once a person has changed the text, what is shown counts.
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
from memwell.runtime.transfer.files import FileLike, Imported, Piece, Progress, Tally, decoded, lines, reading, written
from memwell.runtime.transfer.intake import Shelf, as_moment, as_text, derived_id
from memwell.runtime.transfer.jsonl import Earlier, MemoryLine, memory_line, memory_of

# Bullets


_MARK = re.compile(r"<!-- memwell (\{.*\}) -->")
_OPENING = re.compile(r"(\\*)<!--")
_ESCAPED = re.compile(r"\\(\\*)<!--")
_SESSION = re.compile(r'## Session (".*")')
_DAY = re.compile(r"## (\d{4}-\d\d-\d\d)")


class _Mark(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The comment of a bullet. ``text`` stands there only when the shown text alone would not bring it back exactly."""

    id: str
    kind: str
    time: datetime
    metadata: dict[str, Any]
    shown: str
    text: str | None = None
    versions: tuple[Earlier, ...] = ()


class Bullet(NamedTuple):
    """A bullet as it was read: the line it begins at, its text, the memory it stands for if any, and where it stands."""

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
    """The lines that show a text. An opening of a comment is escaped: a text must not pass for memwell's own mark."""
    # A form feed or a NEL would be a line's end for some editors and not for others.
    shown = _OPENING.sub(r"\\\1<!--", re.sub(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", text)).split("\n")
    return [f"- {shown[0]}".rstrip(), *(f"  {one}".rstrip() for one in shown[1:])]


def _words(body: Sequence[str]) -> str:
    """The text that lines of a bullet show, whatever an editor did to the blanks at their ends."""
    lines = [body[0].removeprefix("-").removeprefix(" "), *(line.removeprefix("  ") for line in body[1:])]
    return _ESCAPED.sub(r"\1<!--", "\n".join(line.rstrip() for line in lines).strip("\n"))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _in_comment(mark: _Mark) -> str:
    """JSON that cannot end the comment it stands in."""
    written = msgspec.json.encode(mark).decode()
    for sign in "<>\x7f\x85\u2028\u2029":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return written.replace("--", "-\\u002d")


def bullets(lines: Iterator[tuple[int, str]]) -> Iterator[Bullet]:
    """The bullets of a document. What stands between them, other than headings, is for people alone."""
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


# Documents


_BATCH = 100
_VERSION = 1
_FRONT = re.compile(r"(\w+):\s*(.*?)\s*")
_EDITED = "edited in a document"


class _Key(NamedTuple):
    """What sorts a memory into a document, without the memory itself."""

    time: datetime
    id: str
    has_more: bool
    """Whether bytes or a vector of features belong to it, which no document holds."""


def export_markdown(
    memory: MemoryLike, file: FileLike, *, forgotten: bool = True, progress: Progress | None = None
) -> int:
    """Write the memories of a space as a document, a heading a session or a day, and return how many there are.

    Forgotten and superseded memories stand at its end; ``forgotten=False`` leaves them out. Of media it holds the words
    alone, and says so at its beginning. Raises ``FileError`` when the file cannot be written; then it is as it was.
    """
    memory = as_memory(memory)
    shelf = Shelf.of(memory)
    sections = _sections(shelf.records(), forgotten=forgotten)
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
                for record in shelf.backend.index.get(shelf.space, [key.id for key in keys[start : start + _BATCH]]):
                    line = memory_line(record, shelf.versions(record), vector=False)
                    out.write(written_bullet(line).encode())
                    done += 1
                if progress is not None:
                    progress(done, total)
    return done


def _left_out(media: int) -> str:
    """What the document says of the media in it."""
    if not media:
        return ""
    what = "one medium" if media == 1 else f"{media:,} media"
    return f"\n> The words of {what}, without bytes and features: an export that ends in .jsonl holds those too.\n"


def _sections(records: Iterator[Record], *, forgotten: bool) -> dict[str, list[_Key]]:
    """The headings of a document in order, and what belongs under each."""
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
    """Take a document in: memories that are not here come over, changed ones are updated, new bullets are remembered.

    Media come in words alone; those whose bytes are not here already are counted in a hint. With ``prune`` the memories
    that were exported and no longer stand in the document are forgotten, which can be undone;
    not when anything is wrong with the document. Raises ``InvalidInput`` for pruning by a document that does not say when
    it was exported, and ``FileError`` when it cannot be read.
    """
    memory = as_memory(memory)
    reader = _Reader(memory, Tally("markdown", strict=strict))
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
    """What lies between two rules before the document itself, if anything does, and the rest of the lines."""
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
    """Takes the bullets of a document in."""

    def __init__(self, memory: Memory, tally: Tally) -> None:
        self._memory = memory
        self._shelf = Shelf.of(memory)
        self._tally = tally
        self._seen: set[str] = set()
        self._without_bytes = 0

    def lines(self, pieces: Iterator[Piece]) -> Iterator[tuple[int, str]]:
        """The lines of a file as text; those that are none are reported and left out."""
        for piece in pieces:
            try:
                if piece.wrong:
                    raise InvalidInput(piece.wrong)
                yield piece.number, piece.data.decode()
            except (InvalidInput, UnicodeDecodeError) as error:
                self._tally.problem(piece.number, str(error))

    def read(self, found: Iterator[Bullet]) -> None:
        """Take bullets, a batch a transaction."""
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
                    self._tally.problem(bullet.number, error)

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
        here = self._shelf.backend.index.get(self._shelf.space, [line.id])
        record, versions = memory_of(line, self._shelf.space, vector=False)
        if bullet.edited:
            as_text(record.text, "a changed memory")
            # What a person wrote is judged like all that comes in; what was exported was judged before.
            record = self._shelf.judged(record)
        if bullet.edited and here:
            self._update(here[0], record)
        elif here and traits_of(here[0]).version >= traits_of(record).version:
            self._tally.knew()
        elif self._restored(record, versions):
            self._tally.took("memories")
        else:
            self._tally.knew()

    def _restored(self, record: Record, versions: Sequence[MemoryVersion]) -> bool:
        """Put a memory back as it was; whether that changed anything. A medium without its bytes is marked as such."""
        marked = came_in_words(record)
        if marked is record or not MediaAccess.of(self._memory).absent(marked):
            return self._shelf.restore(record, versions)
        done = self._shelf.restore(marked, [replace(one, record=came_in_words(one.record)) for one in versions])
        self._without_bytes += done
        return done

    def _update(self, here: Record, changed: Record) -> None:
        if here.text == changed.text:
            self._tally.knew()
        elif traits_of(here).version > traits_of(changed).version:
            raise Conflict(f"the memory {here.id!r} was changed here since the export; what is here stays")
        else:
            self._memory.update(here.id, changed.text, reason=_EDITED)
            self._tally.took("updates")

    def _add(self, bullet: Bullet) -> None:
        text = as_text(bullet.text, "a new bullet")
        id_ = derived_id("markdown", bullet.session, bullet.day, text)
        if id_ in self._seen or self._shelf.knows(id_):
            self._seen.add(id_)
            self._tally.knew()
            return
        self._seen.add(id_)
        time = datetime.fromisoformat(bullet.day).replace(tzinfo=UTC) if _is_day(bullet.day) else None
        done = self._memory.remember(text, id=id_, session=bullet.session, time=time)
        self._tally.took("memories", len(done.ids))
        for refused in done.rejected:
            self._tally.skip(bullet.number, "; ".join(refused.reasons))

    def prune(self, exported: datetime) -> None:
        """Forget what was there when the document was written and no longer stands in it."""
        if self._tally.failed:
            self._tally.problem(0, "nothing was pruned, because something is wrong with the document")
            return
        gone = [
            record.id
            for record in self._shelf.records()
            if record.id not in self._seen
            and traits_of(record).active
            and (traits_of(record).learned or record.time) <= exported
        ]
        self._tally.took("forgotten", len(self._memory.forget(gone, reason="removed from a document")))

    def finished(self) -> Imported:
        """What came of it."""
        self._shelf.done()
        done = self._tally.report()
        if not self._without_bytes:
            return done
        what = "one medium" if self._without_bytes == 1 else f"{self._without_bytes:,} media"
        hint = f"{what} came without bytes or features, which no document holds: bring the .jsonl export for those"
        return replace(done, hints=[*done.hints, hint])


def _is_day(day: str) -> bool:
    try:
        datetime.fromisoformat(day)
    except ValueError:
        return False
    return True
