"""What is learnt from a turn: what things are said to be, without secrets and without what is said of people.

It is learnt from the text as the memory keeps it, and heard by whoever may hear the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from memwell.cognition.definitions import Definition, definitions, related_words
from memwell.cognition.matching import coverage
from memwell.cognition.named import without_secrets
from memwell.cognition.network import Cognition
from memwell.errors import InvalidInput, NotFound
from memwell.language import names
from memwell.language.entities import Entity, entities
from memwell.language.secrets import PERSONAL, SECRETS, findings

_FROM_A_MODEL = 0.5
"""The confidence of what a model says that something is: it may be right."""
_TALK, _MODEL = "conversation", "model"
"""Who says so, when nobody was named."""
_SAYS_ENOUGH = 0.3
"""Who denies something that has less than this to do with what is known denies something else."""
_MASK = re.compile(rf"\[(?:{'|'.join(sorted(SECRETS | PERSONAL))})\]").search
_PASSWORD = re.compile(
    r"(?:密码|密碼|口令|验证码|驗證碼|暗号|\b(?:password|passcode|passphrase|passwd|pwd|code\s*word)|\S\s+pin(?:\s*code)?)\W*\Z",
    re.I,
).search
_NAMED = re.compile(r"(?:[A-Z][a-z'’.-]+\s?){1,3}").fullmatch
_NAMED_ZH = re.compile(
    rf"(?:(?:{'|'.join(names.DOUBLE_SURNAMES)}|[{''.join(sorted(names.SURNAMES))}])[\u4e00-\u9fff]{{1,2}}|[阿小老][\u4e00-\u9fff])"
).fullmatch
_PEOPLE = re.compile(
    r"\b(?:person|man|woman|boy|girl|child|kid|guy|lady|alcoholic|addict|patient|liar|thief|crook|criminal|cheat(?:er)?"
    r"|drunk(?:ard)?|fool|idiot|moron|jerk|loser|quack|fraud|murderer|killer|rapist|bully|racist|sexist|nazi|terrorist"
    r"|psychopath|narcissist|diabetic|survivor|victim|convict|felon|prostitute|homosexual|lesbian|gay|muslim|jew|christian"
    r"|atheist|immigrant|refugee|genius|teacher|doctor|nurse|engineer|lawyer|student|professor|manager|director|singer"
    r"|act(?:or|ress)|writer|author|poet|painter|artist|musician|scientist|physicist|chemist|mathematician|philosopher"
    r"|politician|president|minister|programmer|developer|colleague|friend|neighbou?r|boss|employee|vegan|vegetarian|coward"
    r"|traitor|spy|gambler|smoker|junkie|hypocrite|snob|creep|stalker|pervert)\b",
    re.I,
).search
_PEOPLE_ZH = re.compile(
    r"(?:患者|病人|骗子|小偷|傻[瓜子]|笨蛋|混蛋|坏蛋|疯子|瘾君子|同性恋|(?<!的)[人员师生者手家犯徒鬼汉狂迷星长官])\Z"
).search
_A_KIND = re.compile("一[种类门项款]|指|泛指").match
"""What is said of things, and never of somebody."""


def learn_from(cognition: Cognition, text: str, *, user: str | None, source: str = "") -> list[str]:
    """Learn what a user says that things are or are not; the names of what it was about. Nobody else hears of it."""
    learnt: list[str] = []
    for one in definitions(without_secrets(text)):
        # The gate may refuse it, and nobody can contradict what is not known.
        with suppress(InvalidInput, NotFound):
            if may_be_learnt(one.concept, one.definition):
                _learn(cognition, one, user or "", source)
                learnt.append(one.concept)
    return learnt


def _learn(cognition: Cognition, one: Definition, user: str, source: str) -> None:
    semantic, by = cognition.semantic, user or _TALK
    if not one.denied:
        related = related_words(one.concept, one.definition)
        semantic.learn(one.concept, one.definition, by=by, related=related, source=source, user=user)
        return
    known = semantic.get(one.concept, user=user)
    said_before = any(heard.by == by and not heard.supports for heard in known.evidence)
    if coverage(one.definition, known.definition) >= _SAYS_ENOUGH and not said_before:
        semantic.contradict(one.concept, by, source=source, user=user)


def learn_unknown(cognition: Cognition, answer: str, *, user: str | None, source: str = "") -> list[str]:
    """Learn from a model's answer what is not known yet. What it repeats from memory is no evidence for it."""
    semantic, whose = cognition.semantic, user or ""
    learnt: list[str] = []
    for one in definitions(without_secrets(answer)):
        if one.denied or not may_be_learnt(one.concept, one.definition):
            continue
        try:
            semantic.get(one.concept, user=whose)
        except NotFound:
            with suppress(InvalidInput, NotFound):
                related, sure = related_words(one.concept, one.definition), _FROM_A_MODEL
                semantic.learn(
                    one.concept, one.definition, by=_MODEL, related=related, confidence=sure, source=source, user=whose
                )
                learnt.append(one.concept)
    return learnt


def may_be_learnt(name: str, definition: str) -> bool:
    """Whether a definition holds no secret, no personal data, and is of no person."""
    said = f"{name}\n{definition}"
    return not (_PASSWORD(name) or _MASK(said) or findings(said) or is_person(name, definition))


def is_person(name: str, definition: str) -> bool:
    """Whether a name is a person's, by how it is written and by what is said of it."""
    if name.isascii():
        named = entities(f"{name} is {definition}")
        likely = _NAMED(name) or name.title() in names.FIRST_NAMES
        return _has_person(named, name) or bool(likely and _PEOPLE(definition))
    if _A_KIND(definition):
        return False
    # A surname and two more characters may be a word as well: then what is said of it decides.
    likely = _NAMED_ZH(name) and name[:2] not in names.NOT_PEOPLE_ZH
    return _has_person(entities(f"{name}的"), name) or bool(likely and _PEOPLE_ZH(definition))


def _has_person(found: Iterable[Entity], name: str) -> bool:
    return any(one.kind == "person" and one.start < len(name) for one in found)


__all__ = ["is_person", "learn_from", "learn_unknown", "may_be_learnt"]
