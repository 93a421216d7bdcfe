"""``BareAnswer``: a bare answer to a question, as the statement that it stands for.

"Where do you live?" and "Gdansk" say together what "I live in Gdansk" says. Only a question for a fact is answered so, and
only where it is clear of whom: never "Do you live in Gdansk?", nor "Where does she live?".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from memwell.language.asking import as_my_words, asks_about_past, is_question, separate_questions
from memwell.language.claims import chinese_objects, english_objects
from memwell.language.claims.relations import FAVOURITE, USER, Claim, relation_of
from memwell.language.fact_questions import FactQuestion, fact_question
from memwell.language.patterns import LazyPattern
from memwell.language.sentences import sentences

_LONGEST, _MOST_WORDS, _MOST_HAN = 120, 8, 12
"""How long an answer is in all, and its first clause at most."""
_HAN = re.compile("[\u4e00-\u9fff]").search

# What stands before the value, for the speaker and for another, and for Chinese also what stands behind it.
_ENGLISH = {
    "lives_in": ("I live in ", " lives in "), "works_at": ("I work at ", " works at "),
    "occupation": ("I am a ", " is a "), "age": ("I am ", " is "), "birthday": ("My birthday is ", " was born on "),
    "from": ("I am from ", " is from "), "allergic_to": ("I am allergic to ", " is allergic to "),
    "speaks": ("I speak ", " speaks "), "email": ("My email is ", "'s email is "),
    "phone": ("My phone number is ", "'s phone number is "), "studies_at": ("I study at ", " studies at "),
    "studies": ("I study ", " studies "), "graduated_from": ("I graduated from ", " graduated from "),
    "hobby": ("My hobbies are ", "'s hobbies are "), "likes": ("I like ", " likes "),
    "dislikes": ("I dislike ", " dislikes "), "pet": ("I have ", " has "), "child": ("I have ", " has "),
    "sibling": ("I have ", " has "), "name": ("My name is ", " is called "),
}  # fmt: skip
_CHINESE = {
    "lives_in": ("住在", ""), "works_at": ("在", "工作"), "occupation": ("是", ""), "age": ("今年", "岁"),
    "birthday": ("的生日是", ""), "from": ("来自", ""), "allergic_to": ("对", "过敏"), "speaks": ("会说", ""),
    "email": ("的邮箱是", ""), "phone": ("的电话是", ""), "studies_at": ("在", "读书"), "studies": ("学的是", "专业"),
    "graduated_from": ("毕业于", ""), "hobby": ("的爱好是", ""), "likes": ("喜欢", ""), "dislikes": ("不喜欢", ""),
    "pet": ("养了", ""), "child": ("有", ""), "sibling": ("有", ""), "name": ("叫", ""),
}  # fmt: skip

_LEAD = LazyPattern(
    r"\W*(?:(?:no|nah|nope|naw|not really)\b[\s,.!]*(?=(?:just|only)\b(?! (?:kid|jok|mess|say|teas|pull)))"
    r"|(?:oh|ah|u[hm]+|er+m?|hm+|well|yes|yeah|yep|yup|sure|so|hi|hey|hello|currently|right now|these days"
    r"|mostly|mainly"
    r"|just|only|it['’]s|it is|that['’]s|that would be|(?:I|we)['’](?:m|re)(?= (?:in|at|from|based|called)\b)"
    r"|based|called)\b"
    r"[\s,.!:…]*)+|(?:[哦噢啊嗯呃哈]+|没有?[，,]?(?:就|只)(?:[有养]了?)?|有的?|就是|是的?|现在|目前|我?在(?=.))[，,。！!：:…\s]*",
    re.IGNORECASE,
).match
_LINK = LazyPattern(r"(?:in|at|from|to|on|for|with|an?|the|near|outside|called)\s", re.IGNORECASE).match
"""A word that the statement has already, or that takes its place: *at Otis*, *a nurse*."""
_NO_ANSWER = LazyPattern(
    r"(?:i|you|he|she|it|we|they|this|that|there|here|what|who|whom|why|when|where|how|which|not|never|no|nope|nah|none|nothing"
    r"|nobody|nowhere|somewhere|someone|anywhere|everywhere|thanks?|thank|please|ok(?:ay)?|my|your|his|her|our|their|sorry"
    r"|can|could|do|does|did|don['’]t|let|let['’]s|stop|go|tell|guess|pass|skip|same|still|forget|ignore|depends|maybe|perhaps"
    r"|haha\w*|lol|too|very|pretty|if|because|as|and|but|or|me|mine|all|everything|anything|both|nice|good|great|cool|wow)\b"
    r"|.*(?:['’](?:m|re|ve|ll|d)|n['’]t)\b|.*\b(?:is|are|was|were|am|have|has|had|do|does|will|would|can|could|should)\b"
    "|.*[你您他她它这那谁啥吗呢吧我]|(?:谢|没|不|好的|可以|对[，。！]|算|忘|别|再|也|都|随便|保密|无|秘密)",
    re.IGNORECASE,
).match
_HEDGED = LazyPattern(
    r"\s+(?:mostly|mainly|usually|really|actually|probably|I (?:think|guess|suppose)|lol|lmao|haha\w*)\s*\Z",
    re.IGNORECASE,
).sub
_LAUGHS = LazyPattern(r"\A\s*(?:lol|lmao|haha\w*|哈哈+)(?!\w)", re.IGNORECASE).sub
_CLAUSE = LazyPattern(r"(?:[^,.;:!?(，。；：！？（\n—–]|[.:](?=\w))+").match
_SENTENCE = LazyPattern(r"[^，,。]*?我?在(?=.).+(?:[做当干搞读念任]|工作|上班|从事|负责)").match
"""What has a verb of its own, and is read as it is: 我在一家医院当护士."""
_AN = LazyPattern("[aeiou]", re.IGNORECASE).match
_NUMBER = LazyPattern(r"\d{1,3}|[A-Za-z]+(?:[ -][A-Za-z]+)?|[零〇一二两三四五六七八九十百]{1,4}").match
_YEARS = LazyPattern(r"\s*(?:years?\b(?: old\b)?|yrs?\b|周?岁)", re.IGNORECASE).match


class BareAnswer(NamedTuple):
    """An answer as a statement: the value with what stands ``before`` and ``behind`` it, for ``said`` characters."""

    before: str
    value: str
    behind: str
    said: int
    rest: str

    @property
    def text(self) -> str:
        """The statement, with all that follows the value in the answer."""
        return f"{self.before}{self.value}{self.behind}{self.rest}"

    def placed(self, claim: Claim) -> Claim:
        """A claim of the statement at its place in the answer: all of the value, or in what follows it."""
        first = len(self.before) + len(self.value) + len(self.behind)
        start, end = (max(0, place - first + self.said) for place in (claim.start, claim.end))
        return msgspec.structs.replace(claim, start=0 if claim.start < first else start, end=max(end, self.said))


def may_answer(text: str) -> bool:
    """Whether a text may be a bare answer: a short one that begins with no sentence of its own."""
    if not text or len(text) > _LONGEST or "\n" in text.strip():
        return False
    return _value(text) is not None


def answer_as_statement(question: str, text: str) -> BareAnswer | None:
    """The statement that a text makes as the answer to what was asked just before it; None where it is no bare answer.

    ``question`` is all that was said then: its last sentence must be the only question of it for a fact.
    """
    asked = _asked(question) if may_answer(text) else None
    found = _value(text) if asked is not None else None
    if asked is None or found is None or _SENTENCE(text, 0, found[1]):
        return None
    first, last = found
    value = _HEDGED("", text[first:last]).rstrip()
    rest = _LAUGHS("", text[first + len(value) :])
    said = len(text) - len(rest)
    if _HAN(question) or (_HAN(value) and asked.subject == USER):
        framed = _in_chinese(asked, value)
    else:
        framed = _in_english(asked, value)
    if framed is None:
        return None
    before, value, behind = framed
    return BareAnswer(before, value, behind, said, rest)


def of_speaker(question: str, text: str, found: Iterable[Claim], speaker: str = USER) -> list[Claim]:
    """The claims of an answer, without those that are the speaker's only because the answer has no subject.

    After 它多大了？ the answer 3岁 is of another. After "Do you have kids?" so is the age in "A daughter, Zoe, 5", and only
    whom the speaker has is theirs.
    """
    asking = [one.text.strip() for one in sentences(question) if is_question(one.text)]
    other, kin = any(map(_of_another, asking)), any(map(_KIN_ASKED, asking))
    if not (other or kin):
        return list(found)
    return [
        one
        for one in found
        if one.subject != speaker or (not other and _is_had(one)) or _FIRST_PERSON(text, 0, one.end)
    ]


def _of_another(question: str) -> bool:
    """Whether a question is about someone by a pronoun, or asks for an age and not of the person who is asked."""
    return (_THIRD_PERSON(question) or _AGE_ASKED(question)) is not None and _YOU(question) is None


def _is_had(claim: Claim) -> bool:
    relation = relation_of(claim.relation)
    return claim.relation in _HAD or claim.relation == "owns" or (relation is not None and relation.people)


_FIRST_PERSON = LazyPattern(r"[我咱俺]|\b(?:I|my|me|we|our)\b", re.IGNORECASE).search
_THIRD_PERSON = LazyPattern(r"(?<![其吉])[他她它]|\b(?:he|she|they|his|her|their|its)\b", re.IGNORECASE).search
_AGE_ASKED = LazyPattern(r"多大|几岁|多少岁|\bhow old\b", re.IGNORECASE).search
_YOU = LazyPattern(r"[你您](?!们?家|觉得|知道|记得)|\byour?\b", re.IGNORECASE).search
_KIN_ASKED = LazyPattern(
    r"(?:\A|[，,那]|[你您](?:们?家|们)?的?|[有养])(?:没有|[一这那几])?[个只条位]?"
    rf"(?:{chinese_objects.KIN_WORDS}|{chinese_objects.PET}|孩子|宠物)"
    r"|(?<!with )(?<!and )\b(?:your|the|any|an?|have|got|many) (?:\w+ )?"
    rf"(?:{'|'.join((*english_objects.KIN, *english_objects.PETS))}|kid|children|sibling|pet)s?\b",
    re.IGNORECASE,
).search


def _value(text: str) -> tuple[int, int] | None:
    """Where the first clause of a bare answer is, without what leads to it; None where there is none."""
    lead = _LEAD(text)
    first = lead.end() if lead else 0
    clause = _CLAUSE(text, first)
    if clause is None or _NO_ANSWER(clause[0].strip()) or text[clause.end() :].lstrip().startswith(("?", "？")):
        return None
    words = clause[0].strip()
    if not words or len(words.split()) > _MOST_WORDS or (_HAN(words) and len(words) > _MOST_HAN):
        return None
    return first, clause.end()


def _asked(question: str) -> FactQuestion | None:
    """What the last sentence of a text asks the other person for, if the text asks for nothing else."""
    said = [one.text.strip() for one in sentences(question)]
    asking = [one for one in said if is_question(one) and one.endswith(("?", "？"))]
    if not asking or asking != said[-1:] or len(separate_questions(asking[0])) > 1:
        return None
    found = _ANY(asking[0])
    words = _YOURS(r"\g<0>你", _GREETING("", asking[0]))
    if _WHO_IS_THERE(words):
        return FactQuestion(USER, ("name",))
    if (which := _WHICH_OF(words)) is not None:
        return FactQuestion(USER, (), called=(which[1] or which[2]).lower())
    if (short := _IN_SHORT(words)) is not None:
        return FactQuestion(USER, (_NOUNS[(short[1] or short[2]).lower()],))
    mine = fact_question(f"Do I have any {found[1]}?" if found else as_my_words(words))
    if mine is None or (mine.called and _ASKS_NAME(asking[0]) is None):
        return None
    if asks_about_past(asking[0]) and not _OF_ONCE.issuperset(mine.relations[:1]):
        return None
    return mine


_ANY = LazyPattern(r"(?:and |so |also,? )?any (allergies|hobbies|pets|kids|children)\b.*", re.IGNORECASE).match
_GREETING = LazyPattern(r"\A\W*(?:[你您]好|嗨|哈[喽罗啰]|(?:hi|hello|hey)(?: there)?\b)[呀啊]?[\s，,!！~～]*", re.I).sub
_YOURS = LazyPattern(
    "\\A(?:那|那么|对了|话说)?[，,]?(?:平时|平常|业余)?(?=(?:都|还)?(?:有(?:什么|哪些)|对什么|住哪|住在哪)|是做什么)"
).sub
"""Where a question leaves out who is asked: 平时有什么爱好？"""
_WHO_IS_THERE = LazyPattern(
    r"(?:may I ask |and |so )?whom? (?:am I|I am|I['’]m|do I have the pleasure of) (?:talking|speaking|chatting)"
    r"(?: to| with)?\W*\Z|(?:请问)?我?(?:应?该)?[你您]?怎么称呼[你您]?呢?\W*\Z",
    re.IGNORECASE,
).match
_NOUNS = {
    noun: relation
    for relation, nouns in {
        "birthday": "birthday|date of birth|生日|出生日期", "name": "name|full name|名字|姓名|大名", "age": "age|年龄|年纪",
        "occupation": "job|occupation|profession|工作|职业", "from": "hometown|home town|老家|家乡",
        "works_at": "company|employer|公司|单位", "studies": "major|专业", "studies_at": "school|university|uni|学校|大学",
        "email": "email|email address|邮箱|电子邮箱", "phone": "phone|phone number|电话|手机号|手机",
        "hobby": "hobbies|hobby|爱好|兴趣", "allergic_to": "allergies",
    }.items()
    for noun in nouns.split("|")
}  # fmt: skip
_NAMED_EN = "|".join(sorted((one for one in _NOUNS if one.isascii()), key=len, reverse=True))
_NAMED_ZH = "|".join(one for one in _NOUNS if not one.isascii())
_IN_SHORT = LazyPattern(
    rf"(?:and|so|what about|how about|and what about|also)?,? ?your ({_NAMED_EN})\W*\Z"
    rf"|(?:那么?|还有|对了)?[，,]?[你您]的?({_NAMED_ZH})呢?\W*\Z",
    re.IGNORECASE,
).match
"""A question without a verb: "And your birthday?", 你的生日呢？"""
_WHICH_OF = LazyPattern(
    r"(?:(?:and|so|wait|sorry|oh|ok(?:ay)?),? )?(?:which|what) "
    rf"({'|'.join(sorted(english_objects.KIN, key=len, reverse=True))})(?: (?:is|was) (?:that|this|it|he|she))?\W*\Z"
    rf"|(?:[你您]的?|是)*哪个({chinese_objects.KIN_WORDS})(?:[啊呀呢]*)\W*\Z",
    re.IGNORECASE,
).match
"""A question that asks which of several relatives is meant: "Which sister is that?"."""
_ASKS_NAME = LazyPattern(r"\b(?:names?|named|called|who)\b|[叫名谁]", re.IGNORECASE).search
_OF_ONCE = frozenset(("from", "birthday", "graduated_from"))
"""What is asked for in the past tense and still true."""
_COMMON, _PROPER = frozenset(("hobby", "occupation")), frozenset(("name",))
"""Relations whose values are written small, and whose values have a capital."""


def _in_english(asked: FactQuestion, value: str) -> tuple[str, str, str] | None:
    """What stands before and behind a value, and the value, in a statement of who was asked about."""
    if asked.called:
        return (
            (f"My {asked.called} is called ", _titled(value), "")
            if asked.subject == USER and not asked.relations
            else None
        )
    relation = asked.relations[0]
    own = asked.subject == USER
    who = f"{asked.subject[0].upper()}{asked.subject[1:]}"
    if relation.startswith(FAVOURITE):
        thing = f"favourite {relation[len(FAVOURITE) :]} is "
        return (f"My {thing}" if own else f"{who}'s {thing}"), value, ""
    if relation not in _ENGLISH:
        return None
    before = _ENGLISH[relation][0] if own else f"{who}{_ENGLISH[relation][1]}"
    if relation == "age":
        age = _NUMBER(value)
        years = _YEARS(value, age.end()) if age else None
        return (before, value, "" if years else " years old") if age and (years or age[0] == value) else None
    if relation in _PROPER:
        return before, _titled(value), ""
    if relation in _COMMON or _LINK(value):
        value = f"{value[0].lower()}{value[1:]}"
    if (link := _LINK(value)) is not None:
        # "At Otis" and "an electrician" bring their own.
        before = before.rstrip().rpartition(" ")[0] + " " if relation in _LINKED else before
        value = value if relation in _LINKED else value if relation in _HAD else value[link.end() :]
    elif relation == "occupation" and _AN(value):
        before = f"{before[:-1]}n "
    return before, value, ""


def _titled(name: str) -> str:
    return name.title() if name.islower() else name


_LINKED = frozenset(("lives_in", "works_at", "from", "studies_at", "graduated_from", "occupation"))
_HAD = frozenset(("pet", "child", "sibling"))


def _in_chinese(asked: FactQuestion, value: str) -> tuple[str, str, str] | None:
    who = "我" if asked.subject == USER else asked.subject
    if asked.called:
        return (f"我的{asked.called}叫", value.removeprefix("叫"), "") if asked.subject == USER else None
    relation = asked.relations[0]
    if relation.startswith(FAVOURITE):
        return f"{who}最喜欢的{relation[len(FAVOURITE) :]}是", value, ""
    if relation not in _CHINESE:
        return None
    before, behind = _CHINESE[relation]
    if relation == "age":
        age = _NUMBER(value)
        if age is None:
            return None
        return f"{who}{before}", value, "" if _YEARS(value, age.end()) else behind
    before = before if not value.startswith(before) else ""
    behind = behind if not value.endswith(behind) else ""
    return f"{who}{before}", value, behind
