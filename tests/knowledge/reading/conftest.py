"""A small writer of PDF files: pages of lines, an outline, a password."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

MakePdf = Callable[..., bytes]


def _escaped(text: str) -> bytes:
    return text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _content(lines: Sequence[str]) -> bytes:
    """One line below the other; an empty one leaves a gap."""
    shown = b"".join(b"(" + _escaped(line) + b") Tj T*\n" if line else b"0 -7 Td\n" for line in lines)
    return b"BT /F1 11 Tf 14 TL 72 770 Td\n" + shown + b"ET"


def pdf_of(
    pages: Sequence[Sequence[str]], *, outline: Sequence[tuple[str, int]] = (), title: str = "", encrypted: bool = False
) -> bytes:
    """A PDF of these pages; the outline has titles and page numbers from 0."""
    objects: dict[int, bytes] = {
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    }
    first_mark = 10 + 2 * len(pages)
    for place, lines in enumerate(pages):
        content = _content(lines)
        objects[10 + 2 * place] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (11 + 2 * place)
        )
        objects[11 + 2 * place] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)
    kids = b" ".join(b"%d 0 R" % (10 + 2 * place) for place in range(len(pages)))
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R %s >>" % (b"/Outlines 4 0 R" if outline else b"")
    objects[2] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))
    objects[5] = b"<< /Title (%s) >>" % _escaped(title)
    if outline:
        last = first_mark + len(outline) - 1
        objects[4] = b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" % (first_mark, last, len(outline))
    for place, (name, page) in enumerate(outline):
        here = first_mark + place
        after = b"/Next %d 0 R" % (here + 1) if place + 1 < len(outline) else b""
        before = b"/Prev %d 0 R" % (here - 1) if place else b""
        objects[here] = b"<< /Title (%s) /Parent 4 0 R %s %s /Dest [%d 0 R /Fit] >>" % (
            _escaped(name), after, before, 10 + 2 * page,
        )  # fmt: skip
    return _written(objects, encrypted)


def _written(objects: dict[int, bytes], encrypted: bool) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places: dict[int, int] = {}
    for number in sorted(objects):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 %s \n" % (places.get(number, 0), b"n" if number in places else b"f")
    lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >> /ID [<00> <00>]" % (
        b"41" * 32,
        b"42" * 32,
    )
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R %s >>\n" % (size, lock if encrypted else b"")
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


@pytest.fixture(scope="session")
def make_pdf() -> Callable[..., Any]:
    return pdf_of
