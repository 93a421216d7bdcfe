"""What a question asks for (a person, a time, a place, a number), which texts have it, and whether it leans on others."""

from __future__ import annotations

import re

from memwell.language.entities import entities

_LOOKED_AT = 400
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    "nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|dozen|once|twice"
)
_ASKED = {
    "person": re.compile(r"\bwho(?:m|se)?\b|谁|哪位|什么人", re.I),
    "time": re.compile(
        r"\bwhen\b|\bwhat (?:time|day|date|year)\b|\bhow late\b|什么时[候间]|何时|几[点号时]|哪[天年]|多久|多长时间",
        re.I,
    ),
    "place": re.compile(
        r"\bwhere\b|\b(?:which|what) (?:room|place|town|city|country|address|shop)\b|哪里|哪儿|在哪|什么地方|何处", re.I
    ),
    "number": re.compile(
        r"\bhow (?:many|much|long|often|old|far|big|large|tall|high|deep|heavy|loud|fast|wide|hot|cold)\b|"
        r"\bat what (?:temperature|speed|price)\b|多少|几(?!乎)|多[久长大高远重深快宽]",
        re.I,
    ),
    "phone": re.compile(
        r"\b(?:tele)?phone\b|\bnumber to (?:call|ring)\b|\bcall(?:ed)? at\b|电话|手机号|联系方式", re.I
    ),
    "advice": re.compile(
        r"\bwhat (?:should|shall|must|can|do) (?:i|we|one) do\b|\bhow (?:do|can|should) (?:i|we) (?:fix|repair|solve)\b|"
        r"怎么办|如何处理|怎么处理|怎么解决|如何解决",
        re.I,
    ),
}
_GIVEN = {
    "person": re.compile(
        "由[^，。；]{1,16}(?:负责|管理|主持|保管|设计|担任|审批)|师傅|先生|女士|小姐|老师|医生|经理|主任|总监"
    ),
    "time": re.compile(
        rf"\b(?:{_MONTHS}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|o.clock|noon|midnight|mornings?|afternoons?|evenings?|"
        r"nights?|weekdays?|weekends?|daily|weekly|monthly|yearly|spring|summer|autumn|winter|today|tomorrow|hours?|minutes?|"
        rf"(?:at|from|until|till|by) (?:{_NUMBER_WORDS})|"
        r"weeks?|months?|(?:1[5-9]|20)\d\d|\d{1,2}(?:st|nd|rd|th))\b|\d{1,2}:\d\d|\b\d{1,2} ?[ap]\.?m\b|"
        "[0-9〇零一二两三四五六七八九十半每上下][点时日号月年周天]|季度|小时|分钟|早上|上午|中午|下午|晚上|凌晨|[清早]晨|清明|春|夏|秋|冬",
        re.I,
    ),
    "place": re.compile(
        r"\b(?:at|near|behind|beside|under|above|opposite|between|inside|outside|next to)\b|"
        r"\b(?:shop|street|road|room|floor|building)\b|"
        r"\b(?:in|on|to|from) (?:the )?[A-Z]|[在于][^，。]|位于|旁|附近|[楼室路街区县市省国店馆]",
    ),
    "number": re.compile(
        rf"\d|\b(?:{_NUMBER_WORDS})\b|[二两三四五六七八九十百千万]|[一半][个天周月年次小米成点]",
        re.I,
    ),
    "phone": re.compile(r"(?<![\w.,])\+?\d(?:[ ()/-]{0,2}\d){5,}(?![\w])"),
}
_NAMED = ("person", "organisation", "organization")

_LEANS = re.compile(
    r"\A\W*(?:and|but|so|then|or|also|what about|how about)\b|"
    r"\b(?:it|its|that|this|those|these|them|they|their|he|him|his|she|her|hers|there|then|the (?:same|other)|ones?)\b|"
    "\\A\\W*(?:那|还有|另外|然后|所以|但是|可是|不过|如果)|它|他|她|[这那][个种些里儿样边]|其中|该(?!怎)|上面|刚才|前面|呢\\W*\\Z",
    re.I,
)


_POINTS = re.compile(r"\b(?:it|its|them|they|their|he|him|his|she|her|hers)\b|[它他她]|[这那][个种些]", re.I)


def wanted(question: str) -> frozenset[str]:
    """The kinds of thing a question asks for; none when its words do not say."""
    return frozenset(kind for kind, asked in _ASKED.items() if asked.search(question, 0, _LOOKED_AT))


def given(text: str, kinds: frozenset[str]) -> frozenset[str]:
    """Those of the kinds that a text has something of."""
    found = {kind for kind in kinds if kind in _GIVEN and _GIVEN[kind].search(text)}
    if "person" in kinds and any(one.kind in _NAMED for one in entities(text)):
        found.add("person")
    return frozenset(found)


def leans(question: str) -> bool:
    """Whether a question points at something that was said before: *it*, *and then*, 那, 它, …呢."""
    return _LEANS.search(question, 0, _LOOKED_AT) is not None


def points(question: str) -> bool:
    """Whether a question has a word that stands for something said before: *it*, *her*, 它, 那个."""
    return _POINTS.search(question, 0, _LOOKED_AT) is not None


__all__ = ["given", "leans", "points", "wanted"]
