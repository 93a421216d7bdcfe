"""What a text says that something is: read by rule, in English and Chinese.

Only what is said of a thing in general counts. *The deploy is a mess* is of one deploy and *Miso is my cat* is somebody's
own: both are no definitions, and stay with whoever said them.
"""

from __future__ import annotations

import re

import msgspec

from memwell.cognition.questions import is_question
from memwell.language.keywords import keywords
from memwell.language.sentences import sentences
from memwell.language.texts import check_string

LOOKED_AT = 20_000
"""How much of a text is read, in characters."""
_MOST = 8
_LONGEST_NAME = 60
_LONGEST_DEFINITION = 300

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
    r"(?(denied)|(?:就?是指|指的是|就是|是|意味着|定义为|即为?|属于))\s*[:：]?\s*(?:个(?![人体性别案数头税]))?(?P<definition>\S.*)\Z",
    re.S,
)
_PERSONAL = re.compile(r"\b(?:I|I['’]\w+|me|my|mine|we|us|our|ours|you|your|yours)\b|[我你您咱俺]", re.I)
_POINTS_AT_ONE = re.compile(
    r"\A(?:it|this|that|these|those|there|here|he|she|they|his|her|their|its|who|what|which|one|some(?:one|body|thing|where"
    r"|times|how)?|all|every\w*|any\w*|no|nothing|nobody|none|today|tomorrow|yesterday|now|and|but|if|because|when|while|so"
    r"|yes|not)\b|[他她它这那谁哪该其]"
    r"|\A(?:[今明昨前后][天年晚早]|[上下]个?[周月]|本[周月]|周末|周[一二三四五六日天]|星期|现在|刚才|以前|以后|大家|有人|有些|如果|因为|但|可"
    r"|只|还|总|要|于|或|真|都|也|不|若)",
    re.I,
)
# What somebody holds to be so, or has from others, is no definition.
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|apparently|allegedly|supposedly|reportedly|hopefully|sometimes|often|usually"
    r"|says?|said|thinks?|thought|believes?|believed|claims?|claimed|told|tells?|heard|guess(?:es)?|seems?)\b|(?<=\s)an?(?=\s)"
    r"|可能|也许|或许|大概|大约|据说|据称|听说|传说(?=.)|传闻|好像|似乎|认为|觉得|以为|应该|恐怕|估计|未必|不一定|几乎|(?<![小学传])说(?![明服法唱书])",
    re.I,
)
# Words for what is one thing at a time: which answer and whose problem, only the talk knows.
_ROLE = re.compile(
    r"(?:.*的)?(?:答案|问题|结果|原因|目的|关键|重点|事实|意思|结论|建议|办法|方法|目标|任务|计划|时间|日期|地点|位置|价格|名字|姓名|号码|编号"
    r"|卡号|账号|地址|住址|电话|手机|手机号|邮箱|密码|口令|生日|年龄|天气|心情|味道|颜色|状态|情况|区别|好处|坏处|优点|缺点|前提|条件|想法|看法"
    r"|感觉|印象|主题|标题|题目|版本|数量|总数|人数|老板|同事|会议|第[一二三四五六七八九十]+步?|下一步|真相|理由|爱好|职业)"
    r"|(?:answer|question|problem|point|thing|truth|fact|issue|result|reason|trouble|idea|plan|goal)",
    re.I,
).fullmatch
_NO_THING = re.compile(
    r"\A(?:[很真太最更没]|不(?![可等锈饱])|有点|应该|已经|正在|因为|为了|由于|可以|需要|[今明昨前后][天年晚早]|[上下]个?[周月]|周[一二三四五六日天末]|星期)"
    r"|\A[0-9０-９.,，%％〇零一二两三四五六七八九十百千万亿点半]+\Z"
)
_NAME_ENDS_BADLY = re.compile(
    r"[但可只还总要于或真都也不就更最很便正若既凡]\Z|(?:\s|\A)(?:also|just|only|still|always|not|really)\Z", re.I
)
_GOES_ON = re.compile(
    r"(?:,\s+|\s+)(?:and|but|so|because|although|though)\s+(?=(?:I|we|you|it|they|he|she|this|that)\b)", re.I
)
_CHINESE_GOES_ON = re.compile("[，,；;](?=但|所以|因此|不过|而且|因为|我|你|他|她|它|这|那|可)")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
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
    if _is_of_one(name) or _PERSONAL.search(f"{name} {says}") or _NO_THING.search(says):
        return None
    # Two characters are a word in Chinese, and no more than an article in English.
    fewest = 2 if _HAN.match(says) else 3
    if len(name) > _LONGEST_NAME or not fewest <= len(says) <= _LONGEST_DEFINITION or says.endswith("的"):
        return None
    return Definition(name, says, denied)


def _is_of_one(name: str) -> bool:
    """Whether what is spoken of is one thing alone, or only supposed."""
    return bool(_POINTS_AT_ONE.search(name) or _NAME_ENDS_BADLY.search(name) or _HEDGED.search(name) or _ROLE(name))


def related_words(concept: str, definition: str, most: int = 5) -> list[str]:
    """The weightiest words of a definition, which are what the concept is related to."""
    own = concept.casefold()
    words = [one.word for one in keywords(definition, limit=2 * most)]
    return [word for word in words if word.casefold() not in own and own not in word.casefold()][:most]


__all__ = ["LOOKED_AT", "Definition", "definitions", "related_words"]
