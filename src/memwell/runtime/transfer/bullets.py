"""A memory as a bullet of a Markdown list, and back.

A bullet shows the text for people and ends with a comment for memwell, which a page does not show: the rest of the memory
as JSON. The comment also knows what the shown text looked like. As long as it looks so, the memory is as it was, to the
last blank; once somebody has changed it, what is shown counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from memwell.errors import InvalidInput
from memwell.runtime.transfer.files import decoded
from memwell.runtime.transfer.lines import Earlier, MemoryLine

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


__all__ = ["Bullet", "bullets", "written_bullet"]
