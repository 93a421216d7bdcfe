"""Tables of synonyms, in English and Chinese, and questions in other words.

A table is a list of groups; the words of a group stand for one another, and synonyms are not followed from group to group.
English words are matched whole, in the singular or plural; Chinese ones anywhere, the longest first.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple, cast

from memwell.errors import FileError, InvalidInput
from memwell.language.words import check_string
from memwell.values import check_count, check_list, check_text, shown

LONGEST_TERM = 80
"""Characters of a word or phrase, at most."""

_LOOKED_AT = 2_000  # characters of a query: what is longer is a text, and no question
_BUNDLED = "synonyms.txt"
# Characters of scripts without spaces one by one; other words whole, with the marks of C++ and C#.
_UNIT = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]|[^\W_\u2e80-\u9fff\uf900-\ufaff]+[+#]*")
_JOINS = re.compile(r"[ \t\u00a0'’_-]{0,2}").fullmatch
_COMMAS = re.compile("[,，、;；]")

Key = tuple[str, ...]


class _Unit(NamedTuple):
    """A word or character of a text: its key and its place."""

    key: str
    start: int
    end: int


class _Match(NamedTuple):
    """A word of the table found in a text, and its synonyms."""

    start: int
    end: int
    others: tuple[str, ...]


class Synonyms:
    """A table of synonyms; it does not change.

    Raises ``InvalidInput`` for a group of fewer than two different words, and for a word that is no text, has no letter or
    is too long.
    """

    def __init__(self, groups: Iterable[Iterable[str]] | Mapping[str, str | Iterable[str]] = ()) -> None:
        self._groups = _checked(groups)
        self._others: dict[Key, tuple[str, ...]] = _others_of(self._groups)
        self._longest: dict[str, int] = {}
        for key in self._others:
            self._longest[key[0]] = max(self._longest.get(key[0], 0), len(key))

    @staticmethod
    def bundled() -> Synonyms:
        """The bundled table: everyday and technical words, English and Chinese."""
        return _bundled()

    @staticmethod
    def load(path: str | Path) -> Synonyms:
        """Read a table from a UTF-8 file: JSON (a list of lists, or an object of words and their synonyms), or text.

        A line of text is a group, its words separated by ``=`` or commas; lines that begin with ``#`` are skipped. Raises
        ``FileError`` when the file cannot be read, and ``InvalidInput``, which names the line, when it is no such table.
        """
        return Synonyms(_groups_in(_read(Path(path))))

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups in the order given."""
        return self._groups

    def __len__(self) -> int:
        return len(self._groups)

    def __repr__(self) -> str:
        return f"Synonyms({len(self._groups)} groups)"

    def extended(self, groups: Iterable[Iterable[str]] | Mapping[str, str | Iterable[str]]) -> Synonyms:
        """A table with these groups before the present ones. Raises ``InvalidInput``."""
        return Synonyms([*_checked(groups), *self._groups])

    def synonyms_of(self, term: str) -> tuple[str, ...]:
        """The synonyms of a word or phrase, those of its own script first."""
        return self._others.get(_key_of(check_string(term, "a term")), ())

    def expand(self, query: str, *, most: int = 8) -> list[str]:
        """The query, then variants of it with one word replaced by a synonym, at most ``most`` in all.

        Every word gets its first synonym before any gets its second. Raises ``InvalidInput`` for a query that is no string
        and for ``most`` below 1.
        """
        check_count(most, "most", least=1)
        found = dict.fromkeys([check_string(query, "a query")])
        for match, other in _in_turns(self._matches(query)):
            if len(found) >= most:
                break
            found.setdefault(_exchanged(query, match, other))
        return list(found)

    def terms(self, query: str, *, most: int = 16) -> list[str]:
        """The synonyms of the words of a query, at most ``most``; in the order of ``expand``."""
        check_count(most, "most", least=1)
        found = dict.fromkeys(other for _, other in _in_turns(self._matches(check_string(query, "a query"))))
        return list(found)[:most]

    def _matches(self, query: str) -> list[_Match]:
        text = query[:_LOOKED_AT]
        units = _units(text)
        matches: list[_Match] = []
        at = 0
        while at < len(units):
            taken = self._match_at(text, units, at)
            if taken:
                match = units[at : at + taken]
                key = tuple(unit.key for unit in match)
                matches.append(_Match(match[0].start, match[-1].end, self._others[key]))
            at += taken or 1
        return matches

    def _match_at(self, text: str, units: Sequence[_Unit], at: int) -> int:
        """The number of units of the longest word of the table that begins there; 0 for none."""
        longest = min(self._longest.get(units[at].key, 0), len(units) - at)
        for length in range(longest, 0, -1):
            run = units[at : at + length]
            joined = all(_JOINS(text, one.end, two.start) for one, two in pairwise(run))
            if joined and tuple(unit.key for unit in run) in self._others:
                return length
        return 0


@cache
def _bundled() -> Synonyms:
    return Synonyms.load(Path(__file__).with_name(_BUNDLED))


def _checked(groups: object) -> tuple[tuple[str, ...], ...]:
    if isinstance(groups, Mapping):
        groups = [(word, *_words(others)) for word, others in cast("Mapping[object, object]", groups).items()]
    return tuple(map(_checked_group, check_list(groups, "groups must be a list of groups of words")))


def _words(others: object) -> Iterable[object]:
    """The synonyms of a word in a mapping: several, or one."""
    return cast("Iterable[object]", others) if isinstance(others, list | tuple | set | frozenset) else (others,)


def _checked_group(group: object) -> tuple[str, ...]:
    by_key: dict[Key, str] = {}
    for term in check_list(group, "a group of synonyms must be a list of words"):
        written = _checked_term(term)
        by_key.setdefault(_key_of(written), written)
    if len(by_key) < 2:
        raise InvalidInput(
            f"a group of synonyms needs at least two different words, not {shown(list(by_key.values()))}"
        )
    return tuple(by_key.values())


def _checked_term(term: object) -> str:
    written = " ".join(check_text(term, "a synonym").split())
    if len(written) > LONGEST_TERM:
        raise InvalidInput(f"a synonym may have {LONGEST_TERM} characters: {shown(written)}")
    if not _key_of(written):
        raise InvalidInput(f"a synonym must have a letter or a digit: {shown(term)}")
    return written


def _others_of(groups: Iterable[tuple[str, ...]]) -> dict[Key, tuple[str, ...]]:
    """The synonyms of every word, those of its own script first."""
    others: dict[Key, dict[Key, str]] = {}
    for group in groups:
        keys = {_key_of(term): term for term in group}
        for key in keys:
            mine = others.setdefault(key, {})
            for other, term in keys.items():
                if other != key:
                    mine.setdefault(other, term)
    return {key: _nearest_first(key, mine.values()) for key, mine in others.items()}


def _nearest_first(key: Key, terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(terms, key=lambda term: term.isascii() != key[0].isascii()))


def _units(text: str) -> list[_Unit]:
    return [_Unit(_unit_key(found[0]), found.start(), found.end()) for found in _UNIT.finditer(text)]


@lru_cache(maxsize=4_096)
def _key_of(term: str) -> Key:
    return tuple(unit.key for unit in _units(term))


def _unit_key(written: str) -> str:
    # Plurals only: the stem of *settings* is *set*, which means something else.
    word = unicodedata.normalize("NFKC", written).casefold()
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]


def _in_turns(matches: Sequence[_Match]) -> Iterator[tuple[_Match, str]]:
    """The first synonym of each match, then the second of each, and so on."""
    for row in zip_longest(*(match.others for match in matches)):
        yield from ((match, other) for match, other in zip(matches, row, strict=True) if other is not None)


def _exchanged(query: str, match: _Match, other: str) -> str:
    before, after = query[: match.start], query[match.end :]
    return before + _gap(before[-1:], other[:1]) + other + _gap(other[-1:], after[:1]) + after


def _gap(left: str, right: str) -> str:
    """A space where two Latin words would touch, as when 记忆 between two of them becomes *memory*."""
    return " " if left.isascii() and right.isascii() and left.isalnum() and right.isalnum() else ""


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the file {str(path)!r} is not UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise FileError(f"the file {str(path)!r} cannot be read: {error.strerror or error}") from error


def _groups_in(text: str) -> Iterable[Iterable[str]] | Mapping[str, str | Iterable[str]]:
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"the table of synonyms is no valid JSON: {error}") from None
    return list(_groups_in_lines(text))


def _groups_in_lines(text: str) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        words = line.split("=") if "=" in line else _COMMAS.split(line)
        try:
            yield _checked_group([word for word in words if word.strip()])
        except InvalidInput as error:
            raise InvalidInput(f"line {number}: {error}") from None
