"""The people, places, organisations and things that a text names, found by how names are written and by short lists.

Precision goes before recall: what could as well be a common word is left out. ``memwell.language.entities_chinese``
reads Chinese names; a text may hold both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from memwell.errors import InvalidInput
from memwell.language import names
from memwell.language.texts import check_string
from memwell.language.words import STOP_WORDS
from memwell.values import shown

_CAPITAL = r"[A-Z\u00c0-\u00d6\u00d8-\u00de]"
_INNER = r"[A-Za-z0-9\u00c0-\u024f]"  # Chinese may follow a name without a space, so \w would run on.
# A word that begins with a capital, or has one inside (iPhone), or mixes capitals and digits (GPT-4).
_WORD = re.compile(
    rf"(?<![A-Za-z0-9_@#./'’\u00c0-\u024f-])(?:{_CAPITAL}|[a-z]{{1,3}}(?=[A-Z])){_INNER}{{0,40}}(?!{_INNER})"
    rf"(?:[’'-]{_INNER}{{1,20}}){{0,3}}+(?!@|\.[A-Za-z0-9]|_)|(?<![A-Za-z0-9.])(?:[A-Z]\.){{2,4}}"
)
_ADDRESS = re.compile(r"[A-Za-z0-9](?:[\w.+-]{0,62}\w)?@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|@[A-Za-z_]\w{1,38}(?![\w@.])")
_QUOTED = re.compile(r"[\"“](?P<title>[A-Z0-9][^\"“”\n.!?;]{1,58}[^\"“”\n.!?,;:])[\"”]")
_JOIN = re.compile(r"(?: |\. ?| (?:of the|of|the|de|van|von|da|del|la|du|&) |&)").fullmatch
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;…\n\"“”(\[*>•|-]|[。！？])[\s\"'“‘(*]{0,4}\Z").search
_POSSESSIVE = re.compile(r"['’](?:s|S)?\Z")
_CONTRACTION = re.compile(r"['’](?:m|ll|d|ve|re|t|M|LL|D|VE|RE|T)\Z").search
_SMALL_WORDS = frozenset("of the a an and in on for to with at by from de".split())
_VERSION_AFTER = re.compile(
    r"(?: (?:[0-9]{1,4}[A-Za-z]?|[IVX]{1,4})(?![\w.:,%/]*[0-9A-Za-z_]))?(?: (?:Pro|Max|Plus|Ultra|Mini)\b){0,2}"
).match
_HEADING = re.compile(
    r"\*\*[^*\n]{1,120}\*\*|^[ \t]{0,12}(?:#{1,6}[ ].{1,200}|\|.{1,400}|(?:[-*+•]|[0-9]{1,3}[.)])[ \t][^\n:.]{1,80}(?=:))",
    re.MULTILINE,
)
_OF_PEOPLE = re.compile(r"(?:Mac|Mc|Le|De|La|Di|Van|Fitz|[OD]['’])[A-Z]|[^-]+-").match
_LOOKED_BACK = 8
_LONGEST_NAME = 6  # words
_OWN = frozenset(("I", "I'm", "I'll", "I'd", "I've", "I’m", "I’ll", "I’d", "I’ve"))
_FEW = 4
_SHOUTED = 0.6  # Where more of the words than this begin with a capital, capitals say nothing.


class Entity(NamedTuple):
    """A name in a text; ``key`` is its form for comparing: case-folded, without a possessive and without a title."""

    start: int
    end: int
    text: str
    kind: str
    key: str


class _Capital(NamedTuple):
    start: int
    end: int
    word: str
    begins: bool


def entities(text: str, *, known: Collection[str] = ()) -> list[Entity]:
    """The names in a text, in order and without overlap; a ``known`` name is found wherever it stands as a word.

    Raises ``InvalidInput`` for a text that is no string, and for known names that are no list of strings.
    """
    check_string(text)
    found = [] if known == () else _known_names(text, known)
    if "@" in text:
        found += [_entity(text, *match.span(), "person") for match in _ADDRESS.finditer(text)]
    if '"' in text or "“" in text:
        found += _titles(text)
    found += _capitalised(text)
    if not text.isascii():
        found += [_entity(text, start, end, kind) for start, end, kind in _chinese_names()(text)]
    return _apart(found) if len(found) > 1 else found


@cache
def _chinese_names() -> Callable[[str], Iterable[tuple[int, int, str]]]:
    # Its patterns take some 20 ms to compile, which texts in English alone need not spend.
    from memwell.language.entities_chinese import chinese_names  # noqa: PLC0415

    return chinese_names


def _apart(found: Iterable[Entity]) -> list[Entity]:
    """In order; of two that overlap the one found first: a known name, then an address, a title, a name."""
    taken: list[Entity] = []
    for entity in sorted(found, key=lambda entity: entity.start):
        if taken and entity.start < taken[-1].end:
            # A known name inside a longer one gives way to it: "Anna" to "Anna Smith".
            if entity.start == taken[-1].start and entity.end > taken[-1].end and taken[-1].kind != "product":
                taken[-1] = entity._replace(kind=taken[-1].kind if entity.kind == "unknown" else entity.kind)
            continue
        taken.append(entity)
    return taken


def _entity(text: str, start: int, end: int, kind: str) -> Entity:
    written = text[start:end]
    return Entity(start, end, written, kind, _key(written))


def _key(written: str) -> str:
    words = _POSSESSIVE.sub("", written).strip('《》"“”@').replace("’", "'").split()
    if len(words) > 1 and words[0].rstrip(".") in names.TITLES:
        words = words[1:]
    key = " ".join(words).rstrip(".").casefold()
    return key[:-1] if key[:-1] in names.PLACES_ZH and key[-1] in "市省" else key


def _known_names(text: str, known: Collection[str]) -> list[Entity]:
    # A string is a collection of characters, but nobody means one.
    if isinstance(known, str | bytes) or not isinstance(known, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"known must be a list of names, not {shown(known)}")
    for name in known:
        check_string(name, "a known name")
    pattern = _pattern_of(tuple(sorted({name for name in known if name.strip()}, key=lambda name: (-len(name), name))))
    if pattern is None:
        return []
    return [_entity(text, *match.span(), _kind_of_known(match[0])) for match in pattern.finditer(text)]


@lru_cache(maxsize=64)
def _pattern_of(known: tuple[str, ...]) -> re.Pattern[str] | None:
    """One pattern of all known names; a name of letters must stand alone among letters."""
    if not known:
        return None
    parts = [
        (rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])" if name.isascii() else re.escape(name))
        for name in known
    ]
    return re.compile("|".join(parts), re.IGNORECASE)


def _kind_of_known(name: str) -> str:
    kind = _listed(name)
    return "person" if kind == "unknown" else kind


def _titles(text: str) -> list[Entity]:
    """What stands in quotes and is written as a title is: every longer word with a capital."""
    found: list[Entity] = []
    for match in _QUOTED.finditer(text):
        words = [word for word in match["title"].split() if word.lower() not in _SMALL_WORDS]
        is_title = all(word[0].isupper() or word[0].isdigit() for word in words)
        if is_title and words and (len(words) > 1 or words[0].lower() not in STOP_WORDS["en"]):
            found.append(_entity(text, match.start("title"), match.end("title"), "product"))
    return found


def _capitalised(text: str) -> list[Entity]:
    """Names told by their capitals."""
    capitals = [_capital(text, match) for match in _WORD.finditer(text)]
    if not capitals:
        return []
    # "I" has its capital always.
    count = sum(word.word not in _OWN for word in capitals)
    trusted = count < _FEW or _SHOUTED * (text.count(" ") + 1) >= count
    headings = _headings(text)
    inside = {word.word for word in capitals if not word.begins} if len(capitals) > 1 else set[str]()
    found: list[Entity] = []
    row: list[_Capital] = []
    for word in capitals:
        if row and (
            len(row) >= _LONGEST_NAME or not _JOIN(text, row[-1].end, word.start) or not _joins(text, row[-1], word)
        ):
            _add(text, row, trusted and row[0].start not in headings, inside, found)
            row = []
        row.append(word)
    _add(text, row, trusted and row[0].start not in headings, inside, found)
    return found


def _headings(text: str) -> Collection[int]:
    """The places inside headings and bold text, where every word may have a capital."""
    if "\n" not in text and "**" not in text:
        return ()
    return {place for match in _HEADING.finditer(text) for place in range(*match.span())}


def _capital(text: str, match: re.Match[str]) -> _Capital:
    start, end = match.span()
    word = match[0]
    bare = _POSSESSIVE.sub("", word)
    before = text[max(0, start - _LOOKED_BACK) : start]
    return _Capital(start, end, bare, bool(_SENTENCE_START(before)) if start else True)


def _joins(text: str, before: _Capital, word: _Capital) -> bool:
    """Whether two capitalised words may be one name: not after a possessive, and a full stop only after a title."""
    if before.end - before.start != len(before.word):
        return False
    between = text[before.end : word.start]
    return "." not in between or before.word in names.TITLES or len(before.word) == 1


def _add(text: str, row: list[_Capital], trusted: bool, inside: set[str], found: list[Entity]) -> None:
    """Add the name that a row of capitalised words is."""
    row = _trimmed(text, row)
    if not row:
        return
    start, end = row[0].start, _end(row)
    kind = _kind(text[start:end], [word.word for word in row])
    if kind == "unknown" and (not trusted or _is_doubtful(row, inside)):
        return
    if kind == "product" and (version := _VERSION_AFTER(text, end)):
        end = version.end()
    found.append(_entity(text, start, end, kind))


def _end(row: list[_Capital]) -> int:
    """Where the name ends, without a possessive."""
    return row[-1].start + len(row[-1].word)


def _trimmed(text: str, row: list[_Capital]) -> list[_Capital]:
    """The row without the common words at its edges; a listed name such as New York stays whole."""
    while row and _listed(text[row[0].start : _end(row)]) == "unknown" and _is_common(row[0], row):
        row = row[1:]
    while row and row[-1].word in names.NOT_NAMES:
        row = row[:-1]
    # "Remember Anna" at the front of a sentence is Anna.
    if len(row) > 1 and row[0].begins and _kind_of_row(text, row) == "unknown" != _kind_of_row(text, row[1:]):
        row = row[1:]
    return row


def _kind_of_row(text: str, row: list[_Capital]) -> str:
    return _kind(text[row[0].start : _end(row)], [word.word for word in row])


def _is_common(word: _Capital, row: list[_Capital]) -> bool:
    """Whether a word at the front of a row is no part of a name."""
    if word.word in names.NOT_NAMES or _CONTRACTION(word.word):
        return not (len(row) > 1 and word.word in names.TITLES)
    lower = word.word.lower()
    if lower in STOP_WORDS["en"]:
        # "The Lord of the Rings" in the middle of a sentence keeps its article; "The" at the front of one says nothing.
        return word.begins or len(row) == 1 or len(word.word) == 1
    return False


def _is_doubtful(row: list[_Capital], inside: set[str]) -> bool:
    """Whether a capital may be there only because a sentence begins, or because somebody shouts."""
    first = row[0]
    if len(row) == 1:
        word = first.word
        if len(word) < 2 or (word.isupper() and not 3 <= len(word) <= 6):
            return True
        if word in names.PLACE_ENDINGS or word in names.ORGANISATION_ENDINGS:
            return True
        return first.begins and word not in inside
    return first.begins and first.word.lower() in STOP_WORDS["en"]


def _kind(name: str, words: list[str]) -> str:
    kind = _listed(name)
    if kind != "unknown":
        return kind
    first, last = words[0].rstrip("."), words[-1].rstrip(".")
    if len(words) > 1:
        if first in names.TITLES:
            return "person"
        if last in names.ORGANISATION_ENDINGS or (first in names.ORGANISATION_STARTS and " of " in name):
            return "organisation"
        if last in names.PLACE_ENDINGS or first in names.PLACE_STARTS:
            return "place"
    if first in names.FIRST_NAMES and len(words) <= 3 and " of " not in name:
        return "person"
    if first in names.PRODUCTS or _is_mixed(words[0]):
        return "product"
    return "unknown"


@lru_cache(maxsize=4096)
def _listed(name: str) -> str:
    if name in names.PLACES:
        return "place"
    if name in names.ORGANISATIONS:
        return "organisation"
    if name in names.PRODUCTS:
        return "product"
    return "person" if name in names.FIRST_NAMES else "unknown"


def _is_mixed(word: str) -> bool:
    """Whether it is written as products are: iPhone, YouTube, GPT-4, PS5; but McDonald and O'Neil are people."""
    if any(char.isdigit() for char in word):
        return any(char.isupper() for char in word)
    inner = word[1:].removesuffix("s")
    return not inner.isupper() and any(char.isupper() for char in inner) and not _OF_PEOPLE(word)


__all__ = ["Entity", "entities"]
