"""HTML cut into tags and texts, in one pass, whatever is wrong with it.

The standard library's parser takes time that grows with the square of some broken pages, and raises on others; a page
from the web may be either on purpose. This one only ever moves forward.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import msgspec

_TAG_NAME = re.compile(r"</?([A-Za-z][^\s/>\x00]*)")
_ATTRIBUTE = re.compile(r"([^\s=/>\"'<]{1,100})(?:\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']*)))?")
_RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
"""Elements whose content is no markup: it ends with their own end tag and nothing else."""
_LONG_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")
_QUOTES = re.compile("[\"']")
_MOST_OF_A_TAG = 20_000


class Tag(msgspec.Struct, frozen=True, gc=False):
    """A start or end tag. The attributes are read when they are asked for: most never are."""

    name: str
    end: bool = False
    source: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(self.source):
            found.setdefault(name.casefold(), unescaped(double or single or bare))
        return found


def unescaped(text: str) -> str:
    """The text with its character references resolved."""
    if "&" not in text:
        return text
    # References of thousands of digits are refused by Python's int().
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", text))


def tags_and_texts(page: str) -> Iterator[Tag | str]:
    """Tags and the texts between them, in order; comments, declarations and the content of scripts are left out."""
    return _Tokens(page).run()


class _Tokens:
    """Where we are in a page, and which searches need not be made again since nothing follows."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.at = 0
        self._gone: set[str] = set()

    def run(self) -> Iterator[Tag | str]:
        page, length = self.page, len(self.page)
        while self.at < length:
            opened = page.find("<", self.at)
            if opened != self.at:
                yield unescaped(page[self.at : opened if opened >= 0 else length])
                self.at = opened if opened >= 0 else length
            elif tag := _TAG_NAME.match(page, opened):
                yield from self._tag(tag[1].casefold(), tag.end(), end=page[opened + 1] == "/")
            elif page.startswith(("<!", "<?", "</"), opened):
                self._skip_declaration()
            else:
                yield "<"
                self.at += 1

    def _find(self, what: str, start: int) -> int:
        """``find`` that looks once to the end for what is not there any more."""
        if what in self._gone:
            return -1
        found = self.page.find(what, start)
        if found < 0:
            self._gone.add(what)
        return found

    def _skip_declaration(self) -> None:
        comment = self.page.startswith("<!--", self.at)
        end = self._find("-->" if comment else ">", self.at + 2)
        self.at = len(self.page) if end < 0 else end + (3 if comment else 1)

    def _tag(self, name: str, start: int, *, end: bool) -> Iterator[Tag | str]:
        closed = self._closing(start)
        if closed < 0:
            # The page ends inside a tag.
            self.at = len(self.page)
            return
        source = self.page[start : min(closed, start + _MOST_OF_A_TAG)]
        self.at = closed + 1
        yield Tag(name, end, source)
        if name in _RAW and not end:
            yield from self._raw(name)

    def _closing(self, start: int) -> int:
        """The ``>`` that ends a tag: one inside a quoted value does not."""
        closed = self._find(">", start)
        at = start
        while closed >= 0 and (quote := _QUOTES.search(self.page, at, closed)):
            after = self._find(quote[0], quote.end())
            if after < 0 or after - start > _MOST_OF_A_TAG:
                # A stray mark: the tag ends where it seems to.
                return closed
            at = after + 1
            if after > closed:
                closed = self._find(">", at)
        return closed

    def _raw(self, name: str) -> Iterator[Tag | str]:
        ending = re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE).search(self.page, self.at)
        end = ending.start() if ending else len(self.page)
        if name in ("title", "textarea", "xmp"):
            yield unescaped(self.page[self.at : end])
        self.at = end


__all__ = ["Tag", "tags_and_texts", "unescaped"]
