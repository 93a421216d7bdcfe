"""What a text asks and what it is about: question words, content words, and how much of one text another holds.

English words are compared by their stems, Chinese by characters and their pairs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from memwell.language.claims.chinese_objects import KIN_WORDS
from memwell.language.patterns import LazyPattern
from memwell.language.segment import ascii_words, query_terms
from memwell.language.sentences import sentences
from memwell.language.subjects import EN_KIN, EN_KIN_ENDS, ROLES, ZH_KIN

# The longest first, so that 是什么 goes before 什么.
QUESTION_WORDS_ZH = re.compile(
    "是什么时候|什么时候|是什么|为什么|为何|为啥|何时|有没有|是不是|能不能|可不可以|怎么样|怎么|怎样|多少|多久|多长|多大|多高|什么|如何|"
    "哪些|哪个|哪种|哪里|哪儿|哪位|请问|请|几点|几天|谁|几|吗|呢|吧|可以|能否|能|需要|应该|应当|告诉我|介绍一下"
)
"""Chinese words that only ask."""
_ASKS = re.compile(
    r"[?？]\s*\Z|[吗呢嘛么][。！!]?\s*\Z|\A\W*(?:who|what(?!\s+an?\b)|which|when(?!\s+(?:I|we|he|she|they|you|my|our)\b)|where"
    r"|why|how|is|are|do(?!\s+not\b|n['’]t\b)|does|did|can|could|will|would|should|tell|explain|describe"
    r"|(?:please\s+)?remind\s+me\s+(?:of|who|what|which|when|where|why|how))\b"
    r"|什么|为何|为啥|怎么|怎样|如何|哪[里儿个些种]|多少|是不是|有没有|\A请?(?:介绍|解释|告诉)",
    re.I,
)
# Stricter: "Where I live it rains" tells something.
_ONLY_ASKS = re.compile(
    r"[?？]\W*\Z|[吗呢么][。！!]?\s*\Z"
    r"|\A\W*(?:who|what|which|where|why|how|when)(?:['’]s|\s+(?:is|are|was|were|do|does|did|can|could|will|would|should|has"
    r"|have|many|much|often|long|old))\b"
    r"|\A\W*(?:is|are|do|does|did|can|could|would|should)\s+(?:I|you|he|she|it|we|they|my|your|the|there|this|that|an?)\b"
    r"|\A\W*(?:please\s+)?(?:tell\s+me|explain|describe|remind\s+me)\b"
    r"|\A[^，,：:。]{0,24}(?:什么|为何|为啥|怎么|怎样|如何|哪[里儿个些种]|多少|谁)[^，,：:。]{0,16}[。！!]?\Z"
    r"|\A请?(?:介绍|解释|告诉我)",
    re.I,
)
_LOOKED_AT = 2000
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
# Fewer than the stop words of keywords: a disk that is full is not one that is new.
_SMALL = frozenset(
    query_terms(
        "a an the is are was were be been being am isn't aren't wasn't has have had hasn't do does did don't doesn't "
        "didn't will would can could can't should may might must of to in on at by for with from into as and or but if "
        "then than that this these those it its i you he she we they me him them my your our their his her there here "
        "what who whom whose which when where why how so just very please not no tell about some any"
    )
)
_SMALL_ZH = frozenset("的了是在有已吗呢吧啊嘛我你您他她它们这那哪谁就都也很请把被不没无")
_SMALL_WORDS_ZH = re.compile(
    "什么|怎么样|怎么|怎样|如何|为什么|多少|现在|已经|可以|请问|关于|一个|一种|这个|那个|没有|不是"
)


def is_question(text: str) -> bool:
    """Whether a sentence asks something."""
    return bool(_ASKS.search(text.strip()))


_LONGEST_ASKED = 1_000


def asked_part(text: str) -> str:
    """What a message asks: all of it, or of one above 1,000 characters its last questions that fit, or else its end."""
    if len(text) <= _LONGEST_ASKED:
        return text
    kept: list[str] = []
    for one in reversed(sentences(text)):
        if sum(map(len, kept)) + len(one.text) > _LONGEST_ASKED:
            break
        if is_question(one.text):
            kept.append(one.text.strip())
    return " ".join(reversed(kept)) or text[-_LONGEST_ASKED:]


_WHETHER = re.compile(
    r"\A\W*(?:(?:so|and|but|ok|hey|wait)\b[, ]*)*(?:is|are|was|were|am|do|does|did|can|could|may|must|should|will|would|has"
    r"|have)\b|(?:吗|没有?|不)[了呢啊来着]*\W*\Z|[能是]否|([能可会要有是])[不没](?:\1|可以)",
    re.I,
)


def asks_whether(question: str) -> bool:
    """Whether a question is answered with yes or no."""
    return _WHETHER.search(question[:_LOOKED_AT]) is not None


_BETWEEN_QUESTIONS = re.compile(
    r"(?<=[?？])\s*(?=\S)"
    r"|[,;]?\s+(?:and|or|also)\s+(?:also\s+)?(?=(?:who|what|which|when|where|why|how)(?:['’]s|\s+[a-z]+)\b)"
    r"|[，；](?:还有|以及|另外|那么?)?",
    re.I,
)
_REFERS_BACK = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|its|their|there|then|that|this)\b|[他她它]|那[里儿时个]", re.I
)
_IN_CASE = re.compile(r"\b(?:if|once|after|before|because)\b|如果|要是", re.I)
_MOST_QUESTIONS = 3


@lru_cache(256)
def separate_questions(text: str) -> tuple[str, ...]:
    """The questions of a text that asks for several things, at most three; else the text alone.

    "Where do I live, and what is my cat called?" is two. It stays one where a part has no word of its own ("where and when
    did we meet?") or refers to another ("… and when did she leave?").
    """
    parts = [part.strip() for part in _BETWEEN_QUESTIONS.split(text) if part.strip(" ?？")]
    several = 1 < len(parts) <= _MOST_QUESTIONS and all(_ASKS.search(part) and _has_words(part) for part in parts)
    # In "… and who repairs the heating if it fails?" it is the heating.
    refers = any(_REFERS_BACK.search(_IN_CASE.split(part)[0]) for part in parts[1:])
    return tuple(parts) if several and not refers else (text,)


def _has_words(text: str) -> bool:
    """Whether it has a word that says what is asked about."""
    words = {term for term in query_terms(text) if not _HAN.search(term)} - _SMALL
    return bool(words) or not _SMALL_ZH.issuperset("".join(_HAN.findall(QUESTION_WORDS_ZH.sub("", text))))


def only_asks(text: str) -> bool:
    """Whether every sentence of a text asks something, so that it tells nothing."""
    said = [one.text.strip() for one in sentences(text[:_LOOKED_AT])]
    return bool(said) and all(_ONLY_ASKS.search(one) for one in said)


class ContentTerms(NamedTuple):
    """What a text is about: stems of words, and of Chinese the characters and their pairs."""

    words: frozenset[str]
    characters: frozenset[str]
    pairs: frozenset[str]

    @property
    def weight(self) -> float:
        """The number of words; most Chinese words have two characters."""
        return len(self.words) + len(self.characters) / 2

    def covered(self, given: ContentTerms) -> float:
        """How much of it another content holds, from 0 to 1; 0 for nothing."""
        if not self.weight:
            return 0.0
        found = float(len(self.words & given.words))
        if self.characters:
            share = len(self.characters & given.characters) / len(self.characters)
            if self.pairs:
                # Characters alone meet by chance, pairs alone miss 装了 for 安装.
                share = (share + len(self.pairs & given.pairs) / len(self.pairs)) / 2
            found += share * len(self.characters) / 2
        return found / self.weight


def content(text: str) -> ContentTerms:
    """What a text is about, without its small words, unless it has no others."""
    runs = _HAN.findall(text)
    terms = {term for term in query_terms(text) if not _HAN.search(term)} if runs else set(query_terms(text))
    words = terms - _SMALL
    kept_runs = _HAN.findall(_SMALL_WORDS_ZH.sub(" ", text)) if runs else []
    kept = set("".join(kept_runs)) - _SMALL_ZH
    pairs = {run[at : at + 2] for run in kept_runs for at in range(len(run) - 1)}
    if words or kept:
        return ContentTerms(frozenset(words), frozenset(kept), frozenset(filter(kept.issuperset, pairs)))
    return ContentTerms(frozenset(terms), frozenset("".join(runs)), frozenset())


def coverage(wanted: str, text: str) -> float:
    """How much of what ``wanted`` is about the text speaks of too, from 0 to 1; 0 where it is about nothing."""
    return content(wanted).covered(content(text))


# Whether a question is about the past.

_ASKS_PRESENT = LazyPattern(
    r"\b(?:now|nowadays|still|current(?:ly)?|these days|any ?more|at the moment|did \w+ (?:\w+ ){0,4}"
    r"(?:switch|change|move|swap|upgrade|convert|transfer|settle|postpone|reschedule)\b.* (?:to|for|on|with)\W*\Z)"
    r"|现在|目前|如今|眼下",
    re.IGNORECASE,
).search
_ASKS_PAST = LazyPattern(
    r"\b(?:back then|last (?:year|month|week)|ago|did|was|were|had|histor(?:y|ically))\b|当时|那时|去年|上个?月",
    re.IGNORECASE,
).search
_ASKS_FORMER = LazyPattern(
    r"\b(?:used? to|previous(?:ly)?|former(?:ly)?|in the past|original(?:ly)?|at first|initial(?:ly)?|earlier"
    r"|(?:my|our|his|her|their) old|(?:did|was|were|had|been)\b.*\b(?:(?<!how )(?<!years )old(?!er)"
    r"|first (?:say|said|tell|give|plan\w*|date)|(?:say|tell|give|plan) (?:\w+ )?first))\b"
    r"|(?:what|which|who|where|how (?:much|many))\b[\w' ]* (?:was|were) (?:my|our|his|her|their|i|we)\b"
    r"(?!.*\b(?:born|built|made|from)\b)"
    r"|(?:did|was|were|had)\b.*\bfirst\W*\Z"
    r"|\A(?!.*\b(?:do|does|am|is|are|can|will|shall|should|must|may)\b).*\b(?:before|prior to)\b"
    r"|以前|(?<!睡)(?<!睡觉)(?<!吃饭)(?<!出门)(?<!开会)之前|原[来先本定]|本来|过去|从前|先前|曾|[当最起]初"
    r"|[最一刚]开始|当时|那时|那会儿|[那前]阵子|早[先年]|一度|(?<!多久)上一?次"
    r"|最早|旧|老地址|老号码|前任|前一|上一[个份任家]|[住当做干学养租吃抽喝用开教欠集卖带]过(?![敏了])(?!.*吗)"
    r"|(?:\A|[，,])\w*(?-i:[^\W\x00-\x7f]{2})(?<!睡觉)(?<!吃饭)(?<!出门)(?<!开会)(?<![上下]班)(?<!考试)(?<!出发)(?<!几[号点])"
    r"(?<![目眼面提当跟门床])前(?![面天台途门边景者往后任夫妻]|几[天年次个周])",
    re.IGNORECASE,
).search
_FORMER = "use previous former past original first initial earlier old was were before prior".split()
"""Words of which a question in English has one wherever that matches."""
_BEFORE_WHAT = LazyPattern(
    r"\b(?:before|prior to)\s+(.+)|(?:\A|[，,])([^，,]+?)(?:之前|以前|前(?![面后]))",
    re.I,
    needs=("before", "prior to", "前"),
).search


def _names_former(query: str) -> bool:
    # The pattern takes milliseconds to compile, which most questions need not wait for.
    lower = query.lower()
    may = not query.isascii() or any(word in lower for word in _FORMER)
    return may and _ASKS_FORMER(query) is not None


def asks_about_past(query: str) -> bool:
    """Whether a question is about how things were, so that an outdated statement may be the answer."""
    return (_ASKS_PAST(query) is not None or _names_former(query)) and _ASKS_PRESENT(_without_before(query)) is None


def asks_about_former(query: str) -> bool:
    """Whether a question is about what is so no longer, so that an outdated statement is the answer: *my old number*."""
    return _names_former(query) and _ASKS_PRESENT(_without_before(query)) is None


def before_what(query: str) -> str:
    """Before what a question means: *Chicago* in "Where did I live before Chicago?"; empty if it does not say."""
    found = _BEFORE_WHAT(query)
    return (found[1] or found[2]) if found else ""


def _without_before(query: str) -> str:
    # "before my current flat" is about another time than the flat.
    found = before_what(query)
    return query.replace(found, "") if found else query


# Whom a question is about.

_ZH_KIN = f"{KIN_WORDS}|医生|大夫"
_OF_SPEAKER = LazyPattern(r"\b(?:do|am|did|have|can|should|was|will) (?:i|we)\b|\b(?:my|our)\b|[我咱]", re.I).search
_OF_KIN = LazyPattern(rf"\b(?:my|our) (?:\w+ )?({'|'.join(EN_KIN)})('s)?\b|[我咱]们?家?的?({_ZH_KIN})(家?的)?", re.I)
_OF_OTHERS = LazyPattern(rf"\bwho\b|谁|哪位|{_ZH_KIN}", re.I).search
_WHO = LazyPattern(r"\bwho\b", re.I, needs=("who",)).search


def asked_of(query: str) -> str | None:
    """Whom a question is about: one of the speaker's people, by the usual word, or the speaker as ""; None for others.

    "What is my boss's car?" is about the boss, and "Where is my boss?" about either: who has a role, the speaker tells.
    """
    query = query.replace("’", "'")
    if query.isascii() and EN_KIN_ENDS.isdisjoint(ascii_words(query.replace("'", " "))):
        # What names all relatives takes milliseconds to compile.
        return "" if _WHO(query) is None and _OF_SPEAKER(query) else None
    found = list(_OF_KIN.finditer(query))
    if len(found) > 1 or _OF_OTHERS(_OF_KIN.sub("", query)):
        return None
    for one in found:
        word = EN_KIN[one[1].lower()] if one[1] else ZH_KIN[one[3]]
        return word if one[2] or one[4] or word not in ROLES else None
    return "" if _OF_SPEAKER(query) else None


# What an answer tells the person who asked.

_TO_ME = tuple(
    (re.compile(pattern, re.I), mine)
    for pattern, mine in (
        (r"\byou(?: are|['’]re)\b", "I am"), (r"\byou were\b", "I was"), (r"\byour\b", "my"), (r"\byou\b", "I"),
        (r"\s*\[\d+\]", ""), ("[你您]", "我"),
    )
)  # fmt: skip
_SPEAKS_TO_ME = re.compile(r"\W*(?:you|[你您])", re.I)


def speaks_to_me(answer: str) -> bool:
    """Whether an answer begins with the person that it is given to: "You live in Lyon.", "Your cat is Tim."."""
    return _SPEAKS_TO_ME.match(answer) is not None


def as_my_words(answer: str) -> str:
    """What an answer says to a person, as that person would say it: "I live in Lyon." of "You live in Lyon. [1]"."""
    for pattern, mine in _TO_ME:
        answer = pattern.sub(mine, answer)
    return answer
