"""A regular expression that is compiled when it is first used: a text needs few of the many that a language has."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property


class LazyPattern:
    """A regular expression with the methods of ``re.Pattern``, compiled by the first call that may find something.

    Every text in which it finds something has one of ``needs`` in it, in small or capital letters: a text without them
    compiles nothing.
    """

    def __init__(self, pattern: str, flags: int = 0, *, needs: Sequence[str] = ()) -> None:
        self.pattern = pattern
        self.needs = needs
        self._flags = flags
        self._is_compiled = not needs

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        self._is_compiled = True
        return re.compile(self.pattern, self._flags)

    def _may_match(self, text: str) -> bool:
        folded = text.casefold()
        return any(one in folded for one in self.needs)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The names of its groups, in order; nothing is compiled for them."""
        return tuple(dict.fromkeys(_GROUP(self.pattern)))

    def search(self, text: str, at: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As ``re.Pattern.search``."""
        return self._compiled.search(text, at, end) if self._is_compiled or self._may_match(text) else None

    def match(self, text: str, at: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As ``re.Pattern.match``."""
        return self._compiled.match(text, at, end) if self._is_compiled or self._may_match(text) else None

    def fullmatch(self, text: str, at: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As ``re.Pattern.fullmatch``."""
        return self._compiled.fullmatch(text, at, end) if self._is_compiled or self._may_match(text) else None

    def finditer(self, text: str, at: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """As ``re.Pattern.finditer``."""
        return self._compiled.finditer(text, at, end) if self._is_compiled or self._may_match(text) else iter(())

    def findall(self, text: str) -> list[str]:
        """As ``re.Pattern.findall``."""
        return self._compiled.findall(text) if self._is_compiled or self._may_match(text) else []

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """As ``re.Pattern.sub``."""
        return self._compiled.sub(new, text, count) if self._is_compiled or self._may_match(text) else text

    def split(self, text: str, most: int = 0) -> list[str]:
        """As ``re.Pattern.split``; a group that did not take part is an empty text."""
        return (
            [part or "" for part in self._compiled.split(text, most)]
            if self._is_compiled or self._may_match(text)
            else [text]
        )


_GROUP = re.compile(r"\(\?P<(\w+)>").findall


def lazy_match(pattern: str, needs: Sequence[str] = ()) -> Callable[[str, int], re.Match[str] | None]:
    """The ``match`` of a pattern that is compiled when it is first tried on a text with one of ``needs``."""
    return LazyPattern(pattern, needs=needs).match


def lowered(text: str) -> str:
    """A text in small letters, each at its place."""
    made = text.lower()
    # A dotted capital I has two characters then.
    return made if len(made) == len(text) else "".join(low if len(low := one.lower()) == 1 else one for one in text)
