"""Pets by their names, as Chinese tells them: 我家的猫名叫咪咪, 养了一只狗，叫旺财, 一只叫旺财的狗."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memwell.language.claims.chinese_rules import CALLED, COUNT, PETS
from memwell.language.claims.found import Found
from memwell.language.claims.timing import STATE

_H = "\u4e00-\u9fff"
_PET = "|".join(sorted(PETS, key=len, reverse=True))
# What barks or is woken is no name: 叫声很大, 叫了一晚上, 叫得很响, 叫醒了我.
_NO_NAME = "[我你他她它了声得着个不人的起醒唤喊嚷什啥春]|[一两三几]声|别|两|几"
_NAME = rf"(?P<name>(?!{_NO_NAME})(?:(?![的了我你])[{_H}]){{1,5}}|[A-Za-z][A-Za-z]{{0,19}})"
_CALLS = "(?:名字叫做|名字叫|名字是|取名叫|取名为|取名|起名叫|起名为|起名|名叫|名为|叫做|叫)[它他她]?"
_ENDS = r"(?=[啊呀哦啦哈]?\s*(?:\Z|[，,。！!；;、…～~（(\n]))"
_MINE = re.compile(rf"(?:我们家的?|我家的?|我的?)(?:[那这][只条])?(?P<kind>{_PET})的?{_CALLS}{_NAME}{_ENDS}").match
_CALLED = re.compile(
    rf"\s*[，,]?\s*(?P<each>(?:其中|还有|另外)?(?:另?一)[只条个])?(?:它的?|他的?|她的?)?{_CALLS}{_NAME}{_ENDS}"
).match
_NAME_INSIDE = re.compile(rf"(?:名叫|叫做|名为|叫){_NAME}的(?P<kind>.+)").match
_KEPT = re.compile(
    rf"\s*(?:最近|前几天|刚刚|刚|家里)?(?:领养|收养|养)了(?=[一两二三四五六几\d只条]){COUNT}(?P<kind>{CALLED}[{_H}]{{0,4}}?(?:{_PET}))(?=\s*(?:\Z|[，,。！!；;]|{_CALLS}))"
).match
_SURE, _LESS_SURE = 0.9, 0.65


def pet_of_mine(sentence: str, at: int, start: int, end: int) -> list[Found]:
    """The speaker's pet by its name, where it is the subject of the clause and stands at ``at``."""
    named = _MINE(sentence, at, end)
    if named is None:
        return []
    pet = Found("pet", *named.span("name"), start, end, confidence=_SURE)
    return [pet, Found("kind", *named.span("kind"), start, end, subject=named["name"], confidence=_SURE)]


def pet_of_nobody(sentence: str, end: int) -> Iterator[Found]:
    """The pet of a sentence that begins without a subject: who keeps it is who speaks, most likely."""
    kept = _KEPT(sentence, 0, end)
    if kept is not None:
        yield from named_pet(sentence, Found("pet", *kept.span("kind"), 0, end, confidence=_LESS_SURE))


def named_pet(sentence: str, found: Found) -> Iterator[Found]:
    """A pet by its name where that stands in its words or follows at once, with its kind; otherwise as it was found."""
    inside = _NAME_INSIDE(sentence, found.object_start, found.object_end)
    if inside is not None:
        found = found._replace(object_start=inside.start("kind"))
    named = inside or (None if found.negated else _CALLED(sentence, found.object_end))
    if named is None:
        yield found
        return
    end = max(found.end, named.end())
    yield found._replace(object_start=named.start("name"), object_end=named.end("name"), end=end)
    if not found.negated:
        # What a pet is, it stays, whoever keeps it.
        yield found._replace(relation="kind", subject=named["name"], kin="", end=end, kind=STATE)


def next_name(sentence: str, start: int, end: int, before: Found) -> list[Found] | None:
    """What a clause such as 叫旺财 or 一只叫花花 says after a pet was told; None for a clause of another kind."""
    called = _CALLED(sentence, start, end)
    if called is None or before.relation not in ("pet", "kind"):
        return None
    if before.relation == "kind" and not called["each"]:
        # It was read with the clause before; said again, it keeps what follows on the pet.
        return [before]
    pet = Found("pet", *called.span("name"), before.start, end, confidence=_SURE)
    kind = pet._replace(
        relation="kind", object_start=before.object_start, object_end=before.object_end, subject=called["name"]
    )
    return [pet, kind]


__all__ = ["named_pet", "next_name", "pet_of_mine", "pet_of_nobody"]
