"""The memories that state the facts a question asks for, or all that is known of someone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from memwell.errors import NotFound
from memwell.language.asking import asks_about_former
from memwell.language.claims import chinese_objects, english_objects, in_jest
from memwell.language.claims.relations import USER, relation_of
from memwell.language.fact_questions import fact_question
from memwell.longterm.facts import Fact
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.statements import BY_HAND, Source

_ANY = {"child": "child kid kids children baby 孩子 小孩 娃", "parent": "parents folks 父母 爸妈", "pet": "pet pets 宠物",
        "sibling": "sibling siblings 兄弟姐妹"}  # fmt: skip
"""Words for every one of a relation."""


def telling(memory: Memory, question: str) -> list[Recalled]:
    """The memories that state the facts a question asks for, the newest first; none when it asks for no known fact.

    The facts are those that hold, or that held where the question asks what was before. Of a memory that also says what is
    over only the clauses are left that state them.
    """
    asked = fact_question(question)
    if asked is None:
        return []
    former, texts = asks_about_former(question), _Texts(memory)
    for relation in _relations(asked.called) if asked.called else asked.relations:
        known = [one for one in memory.facts.history(asked.subject, relation) if one.retired_at is None]
        if asked.called:
            known = [one for one in known if _is_called(one, asked.called, texts)]
        held = [one for one in known if one.holds_at(memory.clock()) is not former]
        if found := _stating(held, memory.facts.history(asked.subject), texts):
            return sorted(found, key=lambda one: (one.time, one.id), reverse=True)
    return []


def no_longer_true(memory: Memory, question: str) -> frozenset[str]:
    """The ids of the memories that state what a question asks for and is over; none where it asks what was before."""
    asked = fact_question(question)
    if asked is None or asks_about_former(question):
        return frozenset()
    over, held = set[str](), set[str]()
    for relation in _relations(asked.called) if asked.called else asked.relations:
        for fact in memory.facts.history(asked.subject, relation):
            holds = fact.retired_at is None and fact.holds_at(memory.clock())
            (held if holds else over).update(source.record for source in fact.evidence)
    return frozenset(over - held)


def telling_of(memory: Memory, subject: str = USER) -> list[Recalled]:
    """The memories that state what holds of someone, the oldest first, as ``telling`` cuts them."""
    known, texts = memory.facts.history(subject), _Texts(memory)
    held = [one for one in known if one.retired_at is None and one.holds_at(memory.clock())]
    return sorted(_stating(held, known, texts), key=lambda one: (one.time, one.id))


class _Texts(dict[str, "Recalled | None"]):
    """Memories by their ids, each read once; None for one that is gone."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def __missing__(self, id_: str) -> Recalled | None:
        try:
            self[id_] = self._memory.get(id_)
        except NotFound:
            self[id_] = None
        return self[id_]

    def clause(self, source: Source) -> str:
        """The words of a memory that state something; nothing where it is gone, or only takes a jest back."""
        found = self[source.record] if source.record != BY_HAND else None
        jest = None if found is None else in_jest(found.text)
        return "" if found is None or (jest and source.start < jest.end()) else found.text[source.start : source.end]

    def until(self, source: Source) -> str:
        """The words of a memory up to the end of what states something."""
        found = self[source.record] if self.clause(source) else None
        return "" if found is None else found.text[: source.end]


def _stating(held: Sequence[Fact], known: Sequence[Fact], texts: _Texts) -> list[Recalled]:
    """The memories in which facts were last stated; only the clauses of one that states something else that is over."""
    ids = {one.id for one in held}
    over: dict[str, list[int]] = {}
    for source in (source for fact in known if fact.id not in ids and fact.valid_to for source in fact.evidence):
        over.setdefault(source.record, []).append(source.start)
    found: dict[str, list[Source]] = {}
    for fact in held:
        source = next((one for one in reversed(fact.evidence) if texts.clause(one)), None)
        if source is not None:
            found.setdefault(source.record, []).append(source)
    memories = ((texts[record], sources) for record, sources in found.items())
    return [
        replace(one, text=_clauses(one.text, sources, over[one.id])) if one.id in over else one
        for one, sources in memories
        if one is not None
    ]


def _clauses(text: str, sources: Sequence[Source], over: Sequence[int]) -> str:
    """The clauses of a text at these places, each up to one that is over."""
    spans = {(one.start, min([one.end, *(start for start in over if start > one.start)])) for one in sources}
    cut = [_JOINING.sub("", text[start:end]).strip(" ,，;；") for start, end in sorted(spans)]
    return " ".join(dict.fromkeys(cut))


_JOINING = re.compile(r"[\s,，;；]*(?:\b(?:and|but|so|or)|[和但而]|还有|而且)?[\s,，;；]*\Z", re.I)


def _is_called(fact: Fact, word: str, texts: _Texts) -> bool:
    """Whether a fact was stated of the relative or the pet that a word is for."""
    if word in _ANY.get(fact.relation, "").split():
        return True
    said = [role for source in fact.evidence if (role := _role_at(texts.until(source), fact.object))]
    if not said:
        # "Her name is Ann" was said of the only one there can be.
        relation = relation_of(fact.relation)
        return relation is not None and relation.single
    asked = _role(word)
    return any(_is_kind(role, asked) or _is_kind(asked, role) for role in said)


def _is_kind(role: str, general: str) -> bool:
    """Whether a word is another with more before it, or a kind of it: *older sister*, 橘猫, *beagle* for a dog."""
    if role == general or role.endswith(general if not general.isascii() else f" {general}"):
        return True
    return any(role in words and general in words for words in map(str.split, _ANIMALS))


_ANIMALS = (
    "dog puppy pup doggo beagle bulldog chihuahua cockapoo collie corgi dachshund dalmatian doberman labrador lab poodle "
    "retriever terrier spaniel husky pug mutt whippet greyhound 狗 小狗 狗狗 狗子 柯基 金毛 泰迪 哈士奇 柴犬 边牧 拉布拉多 "
    "萨摩耶 萨摩 博美 比熊 雪纳瑞 法斗 田园犬 吉娃娃 贵宾 阿拉斯加 德牧 比格犬 比格 牧羊犬 巴哥 杜宾 腊肠 秋田 喜乐蒂",
    "cat kitten kitty tabby siamese ragdoll 猫 小猫 猫咪 猫主子 布偶 英短 美短 加菲 暹罗 三花 狸花 缅因 金渐层 银渐层 虎斑",
)


def _relations(word: str) -> tuple[str, ...]:
    """By which relations someone knows whom a word is for."""
    general = [relation for relation, words in _ANY.items() if word in words.split()]
    if general:
        return tuple(general)
    if word in chinese_objects.PETS or word in english_objects.PETS:
        return ("pet",)
    last = word.rpartition(" ")[2]
    kin = chinese_objects.KIN.get(word)
    found = english_objects.KIN.get(word) or english_objects.KIN.get(last) if kin is None else kin.relation
    # Of either one may speak as of the other.
    return {"married_to": ("married_to", "partner"), "partner": ("partner", "married_to")}.get(
        found or "", (found,) if found else ()
    )


@cache
def _words() -> re.Pattern[str]:
    english = "|".join(sorted((*english_objects.KIN, *english_objects.PETS), key=len, reverse=True))
    chinese = "|".join(sorted((*chinese_objects.KIN, *chinese_objects.PETS), key=len, reverse=True))
    return re.compile(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE)


def _role_at(text: str, name: str) -> str:
    """The last relative or pet that a text has a word for before a name, or else behind it."""
    at = text.lower().rfind(name.lower())
    found = list(_words().finditer(text))
    before = [one for one in found if one.start() < at] or found[:1]
    return _role(before[-1][0].lower()) if before else ""


def _role(word: str) -> str:
    kin = chinese_objects.KIN.get(word)
    if kin is not None:
        return kin.word
    last = word.rpartition(" ")[2]
    return english_objects.SAME_KIN.get(last) or english_objects.singular(word)
