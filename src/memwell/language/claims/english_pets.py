"""Pets by their names, as English tells them: "my cat's name is Luna", "a dog called Rex and a cat called Luna"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memwell.language.claims import english_words as words
from memwell.language.claims.found import Found
from memwell.language.claims.timing import STATE

_ANIMAL = "|".join(sorted(words.PETS, key=len, reverse=True))
_NAME = r"[A-Z][a-zà-ÿ’-]+(?: [A-Z][a-zà-ÿ’-]+)?"
# Without a capital, a name is one word with which the thought ends, or goes on by one of these.
_NO_NAME = (
    "after by for in on not the an a and or it that what so too very unknown secret long short funny silly unusual weird "
    "cute perfect different great nice"
)
_LOWER = rf"(?!(?:{_NO_NAME.replace(' ', '|')})\b)[a-z]{{2,20}}(?=\s*(?:\Z|[.,!;]|(?:and|but|who)\b))"
_IS = r"(?:['’]s name is| is (?:named|called))"
_KIND = rf"(?:[Mm]y|[Oo]ur) (?:[\w-]+ )??(?P<kind>{_ANIMAL})"
_MINE = re.compile(rf"\b{_KIND}(?:{_IS}|(?: named| called)?) (?P<name>(?!I\b){_NAME})")
_MINE_LOWER = re.compile(rf"\b{_KIND}{_IS} (?P<name>{_LOWER})")
_NAME_OF = re.compile(rf"\b[Tt]he name of (?:my|our) (?:[\w-]+ )??(?P<kind>{_ANIMAL}) is (?P<name>{_NAME})")
# At the head of a sentence only: elsewhere a name between commas may be of whoever is spoken to.
_BETWEEN_COMMAS = re.compile(rf"\s*{_KIND}, (?P<name>(?!I\b){_NAME}), (?=[a-z])").match
_CALLED = r"(?:,? (?:named|called)|,? whose name is|,? (?:and )?(?:his|her|its) name(?: is|['’]s)) "
_NAMED = re.compile(rf"{_CALLED}(?P<name>{_NAME})").match
_NAMED_LOWER = re.compile(rf"{_CALLED}(?P<name>{_LOWER})").match
_AND_NAMED = re.compile(rf"(?:, and|,| and|,? &) (?P<name>(?!I\b){_NAME})(?=\s*(?:\Z|[.,!;]|and\b|who\b|that\b))").match
_AND_ANOTHER = re.compile(
    rf"(?:, and|,| and|,? as well as) (?:an?|one|two|three|four|some) (?P<kind>(?:[\w-]+ ){{0,3}}?(?:{_ANIMAL}))\b"
).match
_MOST = 10


def pets_in_passing(sentence: str, limit: int) -> Iterator[Found]:
    """The speaker's pets that are named before ``limit``, wherever a clause does so."""
    for pattern in (_MINE, _MINE_LOWER, _NAME_OF):
        for found in pattern.finditer(sentence, 0, limit):
            yield from _told(found)
    between = _BETWEEN_COMMAS(sentence, 0, limit)
    if between is not None:
        yield from _told(between)


def _told(found: re.Match[str]) -> Iterator[Found]:
    if found["name"].lower() not in words.NOT_NAMES:
        yield Found("pet", *found.span("name"), *found.span(), confidence=0.85)
        yield Found("kind", *found.span("kind"), *found.span(), subject=found["name"], confidence=0.85)


def named_pets(sentence: str, found: Found) -> Iterator[Found]:
    """A pet by its name where it is told, with what kind of animal bears it; and the pets that are listed after it."""
    one = found
    for _ in range(_MOST):
        at = one.object_end
        names = list(_names(sentence, at))
        if not names:
            yield one
        for first, last in names:
            name = sentence[first:last]
            end = max(one.end, last)
            yield one._replace(object_start=first, object_end=last, end=end)
            if not one.negated:
                # What a pet is, it stays, whoever keeps it.
                yield one._replace(relation="kind", subject=name, kin="", end=end, kind=STATE)
            at = last
        another = _AND_ANOTHER(sentence, at)
        if another is None:
            return
        one = one._replace(object_start=another.start("kind"), object_end=another.end("kind"))
        one = one._replace(end=max(one.end, another.end()))


def _names(sentence: str, at: int) -> Iterator[tuple[int, int]]:
    named = _NAMED(sentence, at) or _NAMED_LOWER(sentence, at)
    while named is not None and named["name"].lower() not in words.NOT_NAMES:
        yield named.span("name")
        named = _AND_NAMED(sentence, named.end())


__all__ = ["named_pets", "pets_in_passing"]
