"""Which statements of a person may answer a question: those about whom it asks, and not withdrawn by a later one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import replace

from memwell.knowledge.documents import Found
from memwell.language.asking import coverage
from memwell.language.claims import Claim, claims, corrects, relation_of
from memwell.language.secrets import findings
from memwell.language.sentences import sentences
from memwell.language.updates import OTHER, asks_about_past, statement
from memwell.language.words import en_or_zh

_TIMELESS = datetime(2000, 1, 1, tzinfo=UTC)
_ME = frozenset({""})
_NO_ONE = frozenset[str]()
_SPACES = 2  # Characters between two sentences of a paragraph

_POLITE = re.compile(
    r"\b(?:(?:do|did) you (?:still |even )?(?:know|remember|recall|think)|(?:can|could|would|will) you (?:please )?"
    r"(?:tell|remind|show) me|(?:please )?(?:tell|remind) me|I asked you|I told you)\b"
    "|你们?还?(?:知道|记得|觉得|认为)|(?:你?能|你?可以|请)?你?(?:再)?(?:告诉|提醒)一?下?我|我(?:问你|告诉过?你)|请问",
    re.I,
)
_SPEAKS_OF_ME = re.compile(r"\b(?:[Ii]|[Mm]e|[Mm]y|mine|[Ww]e|us|[Oo]ur)\b|[我咱]")
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b|[你您]", re.I)
_SOMEONE = re.compile(r"\b(?:he|she|him|her|his|hers)\b|[他她]", re.I)
_ANYONE = re.compile(r"\A\W*(?:who(?!['’]s my|se)|which of|does any|is any)\b|谁", re.I)
_OWNED = re.compile(r"(?:\b(?:my|our)\b|[我咱]).*", re.I | re.S)
_PETS = re.compile(
    r"\b(dog|cat|pet|puppy|kitten|rabbit|hamster|parrot|horse|pony|bird|turtle|tortoise|guinea pig)(?:s|['’]s)?\b"
    "|(猫|狗|兔子?|仓鼠|鹦鹉|乌龟|宠物)",
    re.I,
)
_MY_PET = re.compile(rf"(?:\b(?:my|our) (?:\w+ )?|[我咱]们?家?的?)(?:{_PETS.pattern})", re.I)
_NAME = re.compile(
    r"\b(?:[Ii]s|[Aa]re|[Ww]as|[Ww]ere|[Dd]oes|[Dd]o|[Dd]id|[Hh]as|[Hh]ave|[Cc]an|[Ww]ill|[Ss]hould|[Aa]bout|what|where|when|how)"
    r"\s+([A-Z](?!\b)[\w-]*)|\b([A-Z][\w-]+)(?=['’]s\s)"
)
_SUBJECT = re.compile(
    r"\b(?:is|was|does|did|has|can|will)\s+(\w{2,})\s+(?:allergic|live|living|work|working|like|love|hate|born|called|from"
    r"|eat|drink|speak|have|play|do|drive|study|afraid|scared)\b",
    re.I,
)
_NO_NAMES = frozenset(
    "what who where when how why which that there it he she here they we you this these those not also still someone "
    "anyone everyone nobody".split()
)
_NAME_ZH = re.compile(
    "\\A\\W*([A-Z][A-Za-z]+|(?![\u4e00-\u9fff]?[这那哪什怎为谁几多他她它你您我咱今明])[\u4e00-\u9fff]{2,4}?)"
    "(?=对(?:什么|.{1,6}过敏)|叫什么|[不最]?喜欢|讨厌|害怕|住在?|在哪|几岁|多大|多高|是谁|的(?:名字|生日|电话|爱好|工作|家))"
)
_ALLERGY = re.compile("allerg|intoleran|过敏|不耐受", re.I)
"""Another fact about the same person is near in meaning, and a wrong answer does harm."""
_WHAT_LIKED = re.compile(
    r"\b(?:what|which)\b(?!.*(?:n['’]t|\bnot) )(?=.*\b(?:like|love|enjoy)\b)"
    "|(?<!不)(?:喜欢|爱)[\u4e00-\u9fff]{0,3}(?:什么|哪)|(?:什么|哪).{0,8}我(?:最|很)?(?:喜欢|爱)",
    re.I,
)


_RELATIONS = {
    "lives_in": r"\bwhere (?:do|am|are) (?:I|we)(?: now| currently)? (?:live|living|based)|"
    r"\b(?:city|town|country|place) (?:do|am) I (?:live|living)|(?:我|我们)(?:现在|目前)?(?:的?家|住)在?(?:哪|什么地方)",
    "works_at": r"\bwhere do I(?: now| currently)? work|\bwh(?:o|om|ich company) do I work for|"
    "我(?:现在|目前)?在(?:哪|什么)[\u4e00-\u9fff]{0,4}(?:工作|上班)",
}
_ASKS_RELATION = {name: re.compile(pattern, re.I) for name, pattern in _RELATIONS.items()}
_ASKS_NAME = re.compile(r"\bname|\bcalled\b|\bwho(?:['’]s| is)\b|叫什么|名字|是谁", re.I)
_KIN = ("parent", "sibling", "child", "married_to", "partner", "relative")
_UNREAL = re.compile(
    r"\A\W*(?:if|suppose|supposing|imagine|pretend|say)\b|\b(?:just )?(?:kidding|joking|jk|a joke)\b|"
    "如果|假如|假设|要是|倘若|开玩笑|逗你|说着玩",
    re.I,
)
_SUPPOSES = re.compile(r"\bif\b|如果|假如|要是", re.I)
_TAKEN_BACK = re.compile(
    r"\W*(?:haha\W*|no\W+)?(?:I['’]?m |I was |that was |it was )?(?:just |only )?(?:kidding|joking|jk|a joke)\W*|"
    "\\W*(?:哈哈|嘿嘿)?\\W*(?:我|刚才|刚刚)?(?:是|只是|在)?(?:开(?:个)?玩笑|逗你(?:玩)?|说着玩)的?(?:啦|呢|哈)?\\W*",
    re.I,
)
_PIN = re.compile(
    r"(?:\b(?:PIN|CVV|CVC|SSN)\b|passcode|密码|口令|验证码|(?:door|access|security|login|gate|verification|bank) code)"
    r"[^\n]{0,40}?\d{3,}"
    r"|(?<!\d)\d(?:[ -]?\d){11,18}(?!\d)|(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)",
    re.I | re.A,
)
_WHOM = re.compile(
    r"\bwhom? (?:does|do|did) (\w+) \w+|\A\W*(?:does|did) ([A-Z]\w+) \w+ [A-Z]|"
    "\\A\\W*([A-Za-z]+|[\u4e00-\u9fff]{2,4}?)(?:最|很)?(?:喜欢|爱|讨厌|恨|认识|羡慕)(?:的是)?谁",
    re.I,
)
_WHO = re.compile(
    r"\A\W*(?i:who) (?!does|do|did|is|was|are|has)\w+ ([A-Z]\w+)\W*\Z|"
    "谁(?:最|很)?(?:喜欢|爱|讨厌|恨|认识|羡慕)([A-Za-z]+|[\u4e00-\u9fff]{2,4})\\W*\\Z"
)


_ME_WORDS = frozenset(("i", "we", "you", "me", "us", "我", "我们", "你"))


def relations_asked(question: str) -> tuple[str, ...]:
    """The relations of the speaker that a question asks for: where I live or work, what a relative of mine is called."""
    asked = _POLITE.sub(" ", question)
    found = tuple(name for name, pattern in _ASKS_RELATION.items() if pattern.search(asked))
    return found or (_KIN if _ASKS_NAME.search(asked) and _relatives(asked.rstrip("?？ ")) else ())


def holds_secret(text: str) -> bool:
    """Whether a text has a password, a key or a PIN: it is never quoted."""
    return _PIN.search(text) is not None or any(one.secret for one in findings(text))


def without_secrets(said: Sequence[Found]) -> list[Found]:
    """The messages; of one with a secret only the sentences that have no figure and none of it."""
    return [part for one in said for part in (_harmless(one) if holds_secret(one.text) else (one,))]


def _harmless(one: Found) -> Iterator[Found]:
    for start, end, sentence in sentences(one.text):
        if not holds_secret(sentence) and not any(char.isdigit() for char in sentence):
            yield _cut(one, start, end)


def _inverts(asked: str, text: str) -> bool:
    """Whether a question asks what one does to another, and a statement tells only what is done to that one."""
    said = _claims(text)
    for pattern, side in ((_WHOM, "subject"), (_WHO, "object")):
        found = pattern.search(asked)
        name = next(filter(None, found.groups()), "").casefold() if found else ""
        if name and name not in _ME_WORDS and said and all(name not in getattr(one, side).casefold() for one in said):
            return True
    return False


def may_answer(question: str, text: str) -> bool:
    """Whether a statement is about the one whom a question asks about, or either is about no one in particular."""
    asked = _POLITE.sub(" ", question).strip().rstrip("?？ ")
    about = _people(text)
    if _inverts(asked, text):
        return False
    if _ALLERGY.search(asked) and not _ALLERGY.search(text):
        return False
    if names := _names(asked):
        return any(_concerns(text, about, name) for name in names)
    if not about:
        return True
    if pet := _MY_PET.search(asked):
        return _word(pet) in text.casefold() or _pet(text) == "pet"
    people = _relatives(asked)
    if people:
        # Words for relatives are compared in one language.
        return not people.isdisjoint(about) if en_or_zh(asked) == en_or_zh(text) else about != _ME
    if _ANYONE.search(asked):
        return True
    if _SPEAKS_OF_ME.search(asked):
        return "" in about
    if _YOU.search(asked):
        return _YOU.search(text) is not None
    return _SOMEONE.search(asked) is None or about != _ME or _SOMEONE.search(text) is not None


def _people(text: str) -> frozenset[str]:
    """Whom a statement is about, with "" for the speaker; a pet by its word. Of a long one nothing is known."""
    read = statement(text)
    if read.about == OTHER and not read.of_me:
        return read.holders - _ME
    if pet := _pet(read.subject):
        return frozenset({pet})
    return read.holders


def _pet(text: str) -> str:
    found = _PETS.search(text)
    return _word(found) if found else ""


def _word(found: re.Match[str]) -> str:
    return (found[1] or found[2]).casefold()


def _relatives(asked: str) -> frozenset[str]:
    """The relatives of the speaker that a question asks about."""
    owned = _OWNED.search(asked)
    return statement(owned[0]).holders - _ME if owned else _NO_ONE


def _names(asked: str) -> frozenset[str]:
    """The names that a question asks about."""
    found = [one or other for one, other in _NAME.findall(asked)] + _NAME_ZH.findall(asked) + _SUBJECT.findall(asked)
    return frozenset(name.casefold() for name in found) - _NO_NAMES


def _concerns(text: str, about: frozenset[str], name: str) -> bool:
    """Whether a statement tells something of the one with a name, and not of the speaker alone."""
    if name in about:
        return True
    if name not in text.casefold():
        return False
    said = _claims(text)
    return not said or any(name in f"{one.subject} {one.object}".casefold() for one in said)


def _claims(text: str) -> list[Claim]:
    return claims(text, time=_TIMELESS)


class _Part(NamedTuple):
    """The sentences of a message that are about the same people."""

    message: int
    start: int
    end: int
    text: str
    claims: list[Claim]


def suitable(question: str, said: Sequence[Found]) -> list[Found]:
    """What may answer a question of the given messages, which are in order, the newest first.

    Of a message about several people, only the sentences about whom the question asks about are kept. What a later
    message withdraws or replaces is left out, unless the question is about the past; and so is what is only supposed or
    said in jest.
    """
    said = _corrected(said)
    parts = [part for at, one in enumerate(said) for part in _parts(at, one.text)]
    jests = {part.message + 1 for part in parts if _TAKEN_BACK.fullmatch(part.text)}
    supposes = _SUPPOSES.search(question) is not None
    parts = [
        part
        for part in parts
        if part.message not in jests and (supposes or part.claims or not _UNREAL.search(part.text))
    ]
    newer = [[one for one in parts if one.message < part.message and _outdates(question, one, part)] for part in parts]
    replacing = {one[:3] for found in newer for one in found}
    past, liked = asks_about_past(question), _WHAT_LIKED.search(question) is not None
    kept = [
        part
        for part, later in zip(parts, newer, strict=True)
        if (past or not later)
        and not (liked and part[:3] not in replacing and _only_dislikes(part.claims))
        and may_answer(question, part.text)
    ]
    return [_cut(said[run[0].message], run[0].start, run[-1].end) for run in _runs(kept)]


def _corrected(said: Sequence[Found]) -> list[Found]:
    """The messages, the newest first; one that only corrects the one before it says what that would have said."""
    kept: list[Found] = []
    for one in reversed(said):
        found = claims(one.text, time=_TIMELESS, preceding=(kept[-1].text, _TIMELESS)) if kept else []
        wrong, right = ([claim.object for claim in found if claim.negated is negated] for negated in (True, False))
        if corrects(one.text) in ("surely", "likely") and len(wrong) == len(right) == 1 and wrong[0] in kept[-1].text:
            one = replace(one, text=kept.pop().text.replace(wrong[0], right[0]))
        kept.append(one)
    return kept[::-1]


def telling(question: str, said: Sequence[Found]) -> Found | None:
    """The newest of the suitable messages that states what a question asks of the speaker, in whatever words."""
    wanted = relations_asked(question)
    return next((one for one in said if any(_tells(claim, wanted) for claim in _claims(one.text))), None)


def _tells(claim: Claim, wanted: Sequence[str]) -> bool:
    return claim.subject == "user" and claim.relation in wanted and not claim.negated


def _parts(message: int, text: str) -> Iterator[_Part]:
    """A message, cut before each sentence that names whom it is about; others go on about the same."""
    spans = list[tuple[int, int]]()
    for start, end, sentence in sentences(text):
        if spans and not _names_someone(sentence):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    for start, end in spans:
        yield _Part(message, start, end, text[start:end], _claims(text[start:end]))


def _names_someone(sentence: str) -> bool:
    return statement(sentence).holders != _ME or _SPEAKS_OF_ME.search(sentence) is not None


def _runs(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Parts that follow each other in a message, together."""
    runs = list[list[_Part]]()
    for part in parts:
        if runs and runs[-1][-1].message == part.message and part.start - runs[-1][-1].end <= _SPACES:
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _cut(one: Found, start: int, end: int) -> Found:
    if len(one.text[start:end].strip()) == len(one.text.strip()):
        return one
    return replace(one, text=one.text[start:end], citation=replace(one.citation, start=start, end=end))


def _outdates(question: str, newer: _Part, older: _Part) -> bool:
    """Whether a later part replaces all claims of an earlier one, or the one that the question is about."""
    gone = [any(_replaces(one, other) for one in newer.claims) for other in older.claims]
    if all(gone) or not any(gone):
        return any(gone)
    held = [(_asked_in(question, older, one), replaced) for one, replaced in zip(older.claims, gone, strict=True)]
    return max(share for share, replaced in held if replaced) > max(share for share, replaced in held if not replaced)


def _asked_in(question: str, part: _Part, claim: Claim) -> float:
    """How much of the question the words of a claim hold, up to those of the next one."""
    end = min((one.start for one in part.claims if one.start > claim.start), default=claim.end)
    return coverage(question, part.text[claim.start : min(end, claim.end)])


def _replaces(newer: Claim, older: Claim) -> bool:
    if newer.subject.casefold() != older.subject.casefold():
        return False
    now, before = relation_of(newer.relation), relation_of(older.relation)
    same = newer.object.casefold() == older.object.casefold()
    if newer.relation == older.relation:
        if same:
            return newer.negated != older.negated
        return now is not None and now.single and not older.negated
    return same and now is not None and before is not None and bool(now.family) and now.family == before.family


def _only_dislikes(found: Sequence[Claim]) -> bool:
    return bool(found) and all(one.relation == "dislikes" or (one.relation == "likes" and one.negated) for one in found)
