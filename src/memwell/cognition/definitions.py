"""What a text says that something is: read by rule, in English and Chinese.

Only what is said of a thing in general counts. *The deploy is a mess* is of one deploy and *Miso is my cat* is somebody's
own: both are no definitions, and stay with whoever said them.
"""

from __future__ import annotations

import re

import msgspec

from memwell.language.keywords import keywords
from memwell.language.sentences import sentences
from memwell.language.texts import check_string

LOOKED_AT = 20_000
"""How much of a text is read, in characters."""
_MOST = 8
_LONGEST_NAME = 60
_LONGEST_DEFINITION = 300

_QUESTION = re.compile(
    r"[?？]\s*\Z|[吗呢嘛么][。！!]?\s*\Z|\A\W*(?:who|what|which|when|where|why|how|is|are|do|does|did|can|could|will"
    r"|would|should|tell|explain|describe)\b|什么|为何|为啥|怎么|怎样|如何|哪[里儿个些种]|多少|是不是|有没有|\A请?(?:介绍|解释|告诉)",
    re.I,
)
_ENGLISH = re.compile(
    r"\A\W*(?:(?:so|well|basically|remember|note|note that|in short|for example|by the way)[,:]?\s+)?"
    r"(?P<article>an?\s+|the\s+)?(?P<name>[^\s,;:.()\"“”]+(?:\s+[^\s,;:.()\"“”]+){0,4}?)(?:\s*\((?P<short>[^()]{1,20})\))?\s+"
    r"(?:(?:is|are)\s+(?P<denied>not\s+)?(?:defined\s+as\s+|short\s+for\s+)?(?=(?P<noun>an?|the|one|any|some|another)\s)"
    r"|(?:isn['’]t|aren['’]t)\s+(?P<not>(?=(?:an?|the|one)\s))"
    r"|means\s+|refers?\s+to\s+|stands?\s+for\s+|(?:is|are)\s+(?:defined\s+as|short\s+for)\s+)"
    r"(?P<definition>\S.*)\Z",
    re.I | re.S,
)
_CHINESE = re.compile(
    r"\A\W*(?:所谓的?|其实|简单来说[，,]?|换句话说[，,]?|(?:请?记住|请?注意|例如|比如)[，,：:]){0,3}"
    r"[“「《]?(?P<name>[^，。；：！？、,;:!?()（）“”「」《》\n]{1,24}?)[”」》]?(?:[（(](?P<short>[^（()）]{1,24})[)）])?\s*"
    r"(?P<denied>并?不是|并非|不属于)?"
    r"(?(denied)|(?:就?是指|指的是|就是|是|意味着|定义为|即为?|属于))\s*(?P<definition>\S.*)\Z",
    re.S,
)
_PERSONAL = re.compile(r"\b(?:I|I['’]\w+|me|my|mine|we|us|our|ours|you|your|yours)\b|[我你您咱俺]", re.I)
_POINTS_AT_ONE = re.compile(
    r"\A(?:it|this|that|these|those|there|here|he|she|they|his|her|their|its|who|what|which|one|some|all|every\w*|any\w*|no"
    r"|nothing|today|tomorrow|yesterday|now|and|but|if|because|when|while|so|yes|not)\b"
    r"|[他她它这那谁哪该其]|\A(?:今天|明天|昨天|现在|刚才|以前|以后|大家|有人|有些|如果|因为|但|可|只|还|总|要|于|或|真|都|也|不|若)",
    re.I,
)
_NAME_ENDS_BADLY = re.compile(
    r"[但可只还总要于或真都也不就更最很便正若既凡]\Z|(?:\s|\A)(?:also|just|only|still|always|not|really)\Z", re.I
)
_GOES_ON = re.compile(
    r"(?:,\s+|\s+)(?:and|but|so|because|although|though)\s+(?=(?:I|we|you|it|they|he|she|this|that)\b)", re.I
)
_CHINESE_GOES_ON = re.compile("[，,；;](?=但|所以|因此|不过|而且|因为|我|你|他|她|它|这|那|可)")
_ENDING = " \t\n.。!！;；,，"


class Definition(msgspec.Struct, frozen=True):
    """What something is said to be, or with ``denied`` not to be."""

    concept: str
    definition: str
    denied: bool = False


def definitions(text: str) -> list[Definition]:
    """The definitions that a text gives, in order. Raises ``InvalidInput`` for a text that is no string."""
    found: list[Definition] = []
    for sentence in sentences(check_string(text)[:LOOKED_AT]):
        one = _definition(sentence.text.strip())
        if one is not None and len(found) < _MOST:
            found.append(one)
    return found


def _definition(sentence: str) -> Definition | None:
    if is_question(sentence) or len(sentence) > 2 * _LONGEST_DEFINITION:
        return None
    match = _ENGLISH.match(sentence)
    if match is not None and not (match["article"] or "").lower().startswith("the"):
        return _checked(match, _GOES_ON, denied=match["denied"] is not None or match["not"] is not None)
    match = _CHINESE.match(sentence)
    if match is None or not re.search("[\u4e00-\u9fff]", sentence):
        return None
    return _checked(match, _CHINESE_GOES_ON, denied=match["denied"] is not None)


def _checked(match: re.Match[str], goes_on: re.Pattern[str], *, denied: bool) -> Definition | None:
    """The definition that a pattern found, unless it is somebody's own or of one thing alone."""
    name = match["name"].strip()
    says = goes_on.split(match["definition"], maxsplit=1)[0].strip(_ENDING)
    if _POINTS_AT_ONE.search(name) or _NAME_ENDS_BADLY.search(name) or _PERSONAL.search(f"{name} {says}"):
        return None
    if len(name) > _LONGEST_NAME or not 3 <= len(says) <= _LONGEST_DEFINITION or says.endswith("的"):
        return None
    return Definition(name, says, denied)


def is_question(text: str) -> bool:
    """Whether a sentence asks something, by its marks and its first words."""
    return bool(_QUESTION.search(text.strip()))


def related_words(concept: str, definition: str, most: int = 5) -> list[str]:
    """The weightiest words of a definition, which are what the concept is related to."""
    own = concept.casefold()
    words = [one.word for one in keywords(definition, limit=2 * most)]
    return [word for word in words if word.casefold() not in own and own not in word.casefold()][:most]


__all__ = ["LOOKED_AT", "Definition", "definitions", "is_question", "related_words"]
