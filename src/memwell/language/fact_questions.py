"""``FactQuestion``: which fact a question asks for, of whom and by which relations, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from memwell.language.claims import chinese_objects, english_objects
from memwell.language.claims.relations import FAVOURITE, USER, relation_of
from memwell.language.claims.stated import StatedFact
from memwell.language.patterns import LazyPattern
from memwell.language.words import han_share

_FEW = frozenset("pet diet allergic_to studies graduated_from speaks married_to partner".split())
"""Relations that may have several values, of which people have few."""


class FactQuestion(NamedTuple):
    """A question for facts: of a subject, named as people do, by any of the relations."""

    subject: str
    relations: tuple[str, ...]
    called: str = ""
    """The word for the relative or the pet of the subject whose name, or whether there is one, is asked for."""
    probability: float = 1.0
    """How likely it asks for these; by its words it is certain."""

    @property
    def is_certain(self) -> bool:
        """Whether its words say what it asks for."""
        return self.probability == 1.0

    @property
    def is_answered_by_any(self) -> bool:
        """Whether whatever states such a fact answers it: by its words, or because there is one such thing, or few.

        "What do I drive?" is likely for what is owned, and that is much else.
        """
        return self.is_certain or all(
            name in _FEW or ((known := relation_of(name)) is not None and known.single) for name in self.relations
        )

    @property
    def kin(self) -> str:
        """The word for the relative or acquaintance of the speaker that it asks about; empty for others."""
        who = _owned(self.subject) or self.subject.lower()
        return who if who in chinese_objects.KIN or who in english_objects.KIN else ""

    def is_own(self, speakers: Iterable[str]) -> bool:
        """Whether it asks for what someone says of themselves: the user, or one of these speakers, in lower case."""
        return self.subject == USER or any(_is_first_name(self.subject.lower(), one) for one in speakers)

    def is_stated(self, facts: Iterable[StatedFact], text: str, speaker: str, names: Collection[str] = ()) -> bool:
        """Whether one of the facts that a text of a speaker states is asked for; ``names`` are those of who is meant."""
        own = self.subject == USER or _is_first_name(self.subject.lower(), speaker)
        subject = speaker if own else self.subject.lower()
        subjects = {f"{speaker}'s {_role(self.kin)}" if self.kin else subject, *names}
        relations = self.relations or relations_with(self.called)
        return any(
            one.relation in relations
            and one.subject in subjects
            and not one.negated
            and (not self.called or is_called(one.relation, one.object, [text], self.called))
            for one in facts
        )


def _is_first_name(name: str, whole: str) -> bool:
    """Whether a name is another, or the first part of it."""
    return name == whole or whole.startswith(f"{name} ")


POLITE = re.compile(
    r"\b(?:(?:do|did) you (?:still |even |happen to )?(?:know|remember|recall|think)"
    r"|(?:can|could|would|will) you (?:please )?(?:tell|remind|show) me|(?:please )?(?:tell|remind) me"
    r"|I asked you|I told you)\b"
    "|你们?还?(?:知道|记得|觉得|认为)(?:吗[，,])?|(?:你?能|你?可以|请)?你?(?:再)?(?:告诉|提醒)一?下?我|我(?:问你|告诉过?你)|请问",
    re.I,
)
"""How a question is asked politely, which is no part of what it asks."""
_SHORT = re.compile(r"\b(what|who|where|when|how)['’]s\b", re.I)
_BEFORE = re.compile(
    r"(?:(?:so|and|but|hey|hi|hello|ok|okay|well|now|then|again|sorry|quick question|by the way|remember)\b[\s,:]*)+"
    "|(?:那么?|所以|对了|另外|话说|嗯|诶|哎|那你说)[，,]?",
    re.I,
)
_BEHIND = re.compile(
    r"[\s,]+(?:(?:right )?now|nowadays|again|currently|these days|at the moment|at present|today|please|then|by the way"
    r"|exactly|originally|for (?:a living|work)|as|before|previously|in the past|earlier|though|actually)\Z"
    "|[呀啊呢吗来着的了]+\\Z|[，,]?(?:还记得|你还记得|知道|你知道|告诉我|记得)\\Z",
    re.I,
)
_ADVERBS = re.compile("(?:现在|目前|如今|今年|到底|究竟|以前|之前|原来|原先|曾经|从前|平时|一般|具体|都)")

_S = r"(?P<who>I|we|(?:my|our) [a-z][a-zé'’ -]{1,40}?|(?!(?:my|our)\b)[\w'’-]+(?: [A-Z][\w'’-]+)?)"
_P = r"(?P<whose>my|our|(?:(?:my|our) )?[\w-]+(?: [\w-]+){0,2}?(?=['’])|[\w-]+s(?=['’]))(?:['’]s?)?"
_BE = "(?:am|is|are|was|were)"
_DO = "(?:do|does|did)(?: n[o']t)?"
_PLACE = "(?:city|town|country|place|village|area|neighbou?rhood|part of town)"
_THERE = "(?: (?:on|at|for|in|with|there|here|tonight|today|tomorrow|this)(?: .*)?)?"
_COMPANY = "(?:company|firm|employer|organi[sz]ation|place|shop|school|hospital)"

HAS = "has"
"""Asks whether there is a relative or a pet."""

_ENGLISH: tuple[tuple[str, str, str], ...] = (
    (
        "lives_in",
        "live living based home house flat city town country",
        rf"where {_DO} {_S} (?:use to )?live|where {_S} (?:use to )?live[sd]?|where {_BE} {_S} (?:living|based)"
        rf"|(?:in )?(?:what|which) {_PLACE} (?:{_DO}|{_BE}) {_S} (?:(?:use to )?live(?: in)?|(?:based "
        rf"|living )?in)|where {_BE} {_P} (?:home|house|flat)",
    ),
    (
        "works_at works_in",
        "work employ",
        rf"where {_DO} {_S} (?:use to )?work|where {_S} (?:work(?:s|ed)?)|where {_BE} {_S} (?:working|employed)"
        rf"|whom? {_DO} {_S} (?:use to )?work for|(?:at |for )?(?:what|which) {_COMPANY} {_DO} {_S} work(?: for| at)?"
        rf"|whom? {_S} works? for|(?:who|what) {_BE} {_P} employer",
    ),
    (
        "occupation works_at",
        "job occupation profession work do",
        rf"what {_BE} {_P} (?:job|occupation|profession|line of work|work)|what {_P} job {_BE}|what {_DO} {_S} do"
        rf"|what {_S} do(?:es)?|what kind of (?:work|job) {_DO} {_S} (?:do|have)|what job {_DO} {_S} have",
    ),
    ("age", "old age", rf"how old {_BE} {_S}|how old {_S} {_BE}|what {_BE} {_P} age|what {_P} age {_BE}"),
    (
        "birthday",
        "birth born",
        rf"(?:when|what|what (?:day|date)|which day) {_BE} {_P} (?:birthday|date of birth|birth ?day)|when {_BE} {_S} born"
        rf"|when {_P} birthday {_BE}|when {_S} was born",
    ),
    (
        "from",
        "from grow town born raised",
        rf"where {_BE} {_S} (?:originally )?from|where {_S} {_BE} (?:originally )?from|where did {_S} grow up"
        rf"|what {_BE} {_P} home ?town|where {_BE} {_S} (?:born|raised)",
    ),
    ("nationality", "national", rf"what {_BE} {_P} nationality|what nationality {_BE} {_S}"),
    (
        "allergic_to",
        "allerg",
        rf"what {_BE} {_S} allergic to|what {_S} {_BE} allergic to|what {_BE} {_P} allergies|what allergies {_DO} {_S} have"
        rf"|{_BE} {_S} allergic to anything|{_DO} {_S} have any (?:[a-z]+ )?allergies",
    ),
    (
        "allergic_to diet dislikes",
        "eat",
        rf"what (?:can(?:['’]?t|not)|should(?:n['’]?t| not)|must(?:n['’]?t| not)) {_S} eat{_THERE}"
        rf"|what (?:can|should|must) {_S} not eat{_THERE}|what (?:can|should|must) {_S} eat{_THERE}"
        rf"|what foods? (?:can(?:['’]?t|not)|should(?:n['’]?t| not)) {_S} eat{_THERE}",
    ),
    (
        "speaks",
        "language",
        rf"(?:what|which|how many) languages {_DO} {_S} speak|(?:what|which) languages {_S} speaks?",
    ),
    ("email", "mail", rf"what {_BE} {_P} e-?mail(?: address)?"),
    ("phone", "phone mobile cell", rf"what {_BE} {_P} (?:(?:tele)?phone|mobile|cell)(?: ?phone)?(?: number)?"),
    (
        "studies_at studies_in",
        "stud uni college school",
        rf"where {_DO} {_S} study|where {_BE} {_S} studying"
        rf"|(?:what|which) (?:uni|university|college|school) {_DO} {_S} (?:go to|attend|study at)",
    ),
    ("studies", "stud major", rf"what {_DO} {_S} study|what {_BE} {_S} studying|what {_BE} {_P} major"),
    (
        "graduated_from studies_at",
        "graduate uni college",
        rf"where did {_S} (?:graduate(?: from)?|go to (?:university|college|uni))",
    ),
    ("married_to", "married", rf"whom? {_BE} {_S} married to"),
    (
        "partner married_to",
        "marrying engaged dating seeing",
        rf"whom? {_BE} {_S} (?:getting )?(?:marrying|married to|engaged to|dating|seeing)",
    ),
    (
        "married_to partner",
        "married divorced single engaged",
        rf"{_BE} {_S} (?:still |already )?(?:married|divorced|single|engaged)",
    ),
    (
        "partner married_to",
        "boyfriend girlfriend partner seeing dating relationship",
        rf"{_DO} {_S} have an? (?:boy|girl)friend|{_DO} {_S} have a partner"
        rf"|{_BE} {_S} (?:still )?(?:(?:seeing|dating) (?:some|any)(?:one|body)|in a relationship)",
    ),
    ("child", "kid child", rf"{_DO} {_S} have (?:any )?(?:kids|children)|how many (?:kids|children) {_DO} {_S} have"),
    (
        "sibling",
        "sibling brother",
        rf"{_DO} {_S} have (?:any )?(?:siblings|brothers or sisters)|how many siblings {_DO} {_S} have",
    ),
    ("pet", "pet", rf"{_DO} {_S} have (?:any |a )?pets?|what pets? {_DO} {_S} have|how many pets {_DO} {_S} have"),
    (
        HAS,
        "have",
        rf"{_DO} {_S} (?:still |even )?have (?:an?|any|my|our) (?P<what>(?!hobb)[a-z][a-z -]{{1,30}})"
        rf"|have {_S} (?:still )?got (?:an?|any|my|our) (?P<what>[a-z][a-z -]{{1,30}})",
    ),
    (
        "hobby likes",
        "hobb",
        rf"what {_BE} {_P} hobb(?:y|ies)|what hobbies {_DO} {_S} have|{_DO} {_S} have (?:any hobbies|a hobby)",
    ),
    (
        "dislikes",
        "like hate detest loathe stand",
        rf"what {_DO} {_S} (?:really )?(?:dislike|hate|detest|loathe|not like)|what (?:don|doesn)['’]?t {_S} like"
        rf"|what can(?:['’]?t|not) {_S} stand|what {_BE} {_P} dislikes",
    ),
    (
        "likes hobby",
        "like love enjoy",
        rf"what {_DO} {_S} (?:really )?(?:like|love|enjoy)(?: doing| to do)?|what {_BE} {_P} likes",
    ),
    ("diet", "diet", rf"what {_BE} {_P} diet"),
    (
        "plans",
        "plan coming up",
        rf"what {_BE} {_P} (?:current |next |upcoming |future )?plans(?: for [a-z ]{{3,30}})?|what plans {_DO} {_S} have"
        rf"|{_DO} {_S} have any(?:thing)? (?:plans|planned)(?: for [a-z ]{{3,30}})?"
        rf"|what {_BE} {_S} planning(?: to do| on doing)?"
        rf"|what {_DO} {_S} have (?:coming up|planned)",
    ),
    (
        "name",
        "name called who",
        rf"what {_BE} {_P} (?:(?:first |last |full )?names?)|what {_P} names? {_BE}|what {_BE} {_S} (?:called|named)"
        rf"|what {_S} {_BE} (?:called|named)|who {_BE} {_S}|who {_S} {_BE}|what {_BE} the names? of {_S}",
    ),
)
_FAVOURITE_EN = rf"(?:what|which|who) {_BE} {_P} favou?rite (?P<what>[a-z][a-z -]{{1,40}})"

# A class of all Chinese characters takes a millisecond to compile, one of what is beyond ASCII nothing.
_HAN = r"[^\W\x00-\x7f]"
_W = f"(?P<who>[我咱俺]们?|[我咱俺]们?家?的?{_HAN}{{1,4}}?|[A-Za-z]+|{_HAN}{{2,4}}?)"
_WHERE = f"(?:哪里|哪儿|哪个{_HAN}{{1,3}}|哪[座家所]?{_HAN}{{0,3}}|什么(?:地方|城市|公司|单位|学校|医院)|何处)"
_WHAT = "(?:什么|啥|哪些|哪几[种个])"
_CHINESE: tuple[tuple[str, str, str], ...] = (
    (
        "from",
        "哪 来自 老家 家乡",
        f"{_W}(?:是(?:哪里|哪儿|什么地方|哪)的?人|来自{_WHERE}|的?老家(?:是|在){_WHERE}|的?家乡(?:是|在){_WHERE})",
    ),
    (
        "lives_in",
        "住 家 搬 城市",
        f"{_W}的?(?:住在?|家在?|家住在?|搬[到去]了?){_WHERE}|{_W}在(?:哪[个座]|什么)城市(?:生活)?",
    ),
    (
        "works_at works_in",
        "工作 上班 任职 就职 干活 公司 单位",
        f"{_W}在?{_WHERE}(?:工作|上班|任职|就职|干活)"
        f"|{_W}的?(?:公司|单位|工作单位)(?:是|叫|在){{0,1}}(?:{_WHERE}|什么(?:名字)?)",
    ),
    (
        "occupation works_at",
        "做 干 从事 工作 职 岗 当",
        f"{_W}是?(?:做|干|从事){_WHAT}(?:工作|行业|职业)?|{_W}的?(?:工作|职业|职位|岗位|本职)是{_WHAT}"
        f"|{_W}是干嘛"
        f"|{_W}当{_WHAT}",
    ),
    ("age", "多大 岁 年龄", f"{_W}(?:多大|几岁|多少岁|多大年[纪龄]|的?年[龄纪]是?多[大少])"),
    (
        "birthday",
        "生",
        f"{_W}的?生日是?(?:在?哪[天日]|什么时候|几月几[号日]|几[号月]|多少)"
        f"|{_W}(?:是)?(?:什么时候|哪[天年]|哪一年)(?:出生|生)",
    ),
    ("nationality", "国", f"{_W}的?国籍是{_WHAT}|{_W}是哪国人"),
    (
        "allergic_to",
        "过敏",
        f"{_W}对{_WHAT}(?:东西|食物|过敏原)?过敏|{_W}的?过敏源?是{_WHAT}|{_W}有没?有?(?:{_WHAT})?(?:食物|药物|东西|会)?过敏(?:史|源)?",
    ),
    (
        "allergic_to diet dislikes",
        "吃",
        f"{_W}(?:不能|不可以|不敢)吃{_WHAT}(?:东西|食物)?|{_WHAT}(?:东西|食物)?{_W}不能吃|{_W}有{_WHAT}(?:忌口|不能吃)",
    ),
    ("speaks", "语", f"{_W}会?(?:说|讲)?(?:{_WHAT}|几种|哪[几些]?[种门])(?:外语|语言)"),
    ("email", "邮 mail", f"{_W}的?(?:邮箱|电子邮箱|邮箱地址|邮件地址|email)是?(?:{_WHAT}|多少|哪个)?"),
    (
        "phone",
        "电话 手机 号码 联系",
        f"{_W}的?(?:电话|手机|手机号|电话号码|手机号码|号码|联系方式)是?(?:{_WHAT}|多少)?",
    ),
    (
        "studies_at studies_in",
        "读 学 念",
        f"{_W}在?{_WHERE}(?:读书|上学|念书|读大学|上大学|就读)|{_W}(?:读|上)(?:哪所|哪个|什么)(?:大学|学校|中学|小学)",
    ),
    ("studies", "学 读 专业", f"{_W}(?:学|读)(?:的是)?{_WHAT}专业?|{_W}的?专业是{_WHAT}"),
    ("graduated_from studies_at", "毕业", f"{_W}(?:是)?(?:从)?{_WHERE}毕业|{_W}毕业于{_WHERE}"),
    ("married_to", "婚", f"{_W}(?:和|跟)谁结(?:了)?婚"),
    ("married_to partner", "婚 单身", f"{_W}(?:还|已经)?(?:是)?(?:结婚|结了婚|离婚|已婚|单身|订婚)(?:了?没有?)?"),
    ("partner married_to", "友 对象", f"{_W}还?有没?有?(?:[男女]朋?友|对象)"),
    ("child", "孩 娃", f"{_W}有(?:几个|多少个?)?(?:孩子|小孩|娃)"),
    ("sibling", "兄弟", f"{_W}有(?:几个|没有|多少)?(?:兄弟姐妹)"),
    ("pet", "宠物 养", f"{_W}(?:家)?(?:养|有)(?:了|过)?(?:{_WHAT}|几只|哪些|没有)?宠物|{_W}养(?:了)?{_WHAT}"),
    (HAS, "有 养", f"{_W}还?(?:有没有|养没养|有|养)着?了?(?:一?[只条个匹位])?(?P<what>(?!什么|啥|哪){_HAN}{{1,4}})"),
    ("hobby likes", "爱好 兴趣", f"{_W}的?(?:爱好|兴趣|兴趣爱好)是?(?:有)?{_WHAT}|{_W}有{_WHAT}(?:爱好|兴趣)"),
    (
        "plans",
        "计划 打算 安排",
        f"{_W}(?:最近|接下来|近期|以后|之后|今后)*有(?:{_WHAT}|没有)?(?:新的?)?(?:计划|打算|安排)"
        f"|{_W}的?(?:计划|打算|安排)(?:是|有){_WHAT}|{_W}(?:最近|接下来|近期)*(?:打算|计划)(?:做|干){_WHAT}",
    ),
    ("dislikes", "不喜欢 不爱 讨厌", f"{_W}(?:最|很)?(?:不喜欢|不爱|讨厌){_WHAT}(?:东西|事情?)?"),
    ("likes hobby", "喜欢 爱好", f"{_W}(?:都)?(?:喜欢|爱好)(?:做)?{_WHAT}(?:东西|事情?)?"),
    (
        "name",
        "叫 名 谁 姓",
        f"{_W}(?:叫{_WHAT}(?:名字|名)?|的?(?:全名|名字|姓名)(?:是|叫){_WHAT}|是谁|姓{_WHAT})|谁是{_W}",
    ),
)
_FAVOURITE_ZH = (
    f"{_W}最(?:喜欢|爱)的?(?P<what>{_HAN}{{1,4}}?)是(?:{_WHAT}|哪[个种]|谁)"
    f"|{_W}最(?:喜欢|爱)(?:{_WHAT}|哪[个种])(?P<what>{_HAN}{{1,4}})"
)
_FAVOURITES: dict[str, str] = {
    name: word
    for word, names in {
        "colour": "color 颜色", "food": "食物 菜", "film": "电影", "book": "书", "song": "歌", "sport": "运动",
        "season": "季节", "fruit": "水果", "animal": "动物", "music": "音乐", "city": "城市", "number": "数字",
        "singer": "歌手", "author": "作家",
    }.items()
    for name in names.split()
}  # fmt: skip
"""What a thing is called of which someone has a favourite one."""
_ME = frozenset("i we me us my our 我 我们 咱 咱们 俺 俺们".split())
_NOT_NAMED = frozenset(
    "you he she it they this that these those there here who what which someone anyone everyone nobody people one "
    "your his her its their the a an any".split()
)
_NOT_NAMED_ZH = re.compile("[他她它你您这那谁哪]|什么|怎么|大家|别人|有人")


class _Form(NamedTuple):
    """One way to ask for something: the words that such a question begins and ends with, and all of it."""

    start: str
    end: str
    pattern: LazyPattern

    def groups(self, asked: str, lower: str) -> dict[str, str] | None:
        """The named parts of a question that is asked so, else None."""
        if not (lower.startswith(self.start) and lower.endswith(self.end)):
            return None
        found = self.pattern.fullmatch(asked)
        return None if found is None else {name: text for name, text in found.groupdict().items() if text}


@cache
def _rows(language: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[_Form, ...]], ...]:
    """The relations that are asked for, the words of which such a question has one, and how it is asked."""
    rows = _ENGLISH if language == "en" else _CHINESE
    favourite = (FAVOURITE, "avo", _FAVOURITE_EN) if language == "en" else (FAVOURITE, "最", _FAVOURITE_ZH)
    return tuple((tuple(one.split()), tuple(hints.split()), _forms(how)) for one, hints, how in (*rows, favourite))


def _forms(pattern: str) -> tuple[_Form, ...]:
    """The alternatives of a pattern, in order: each takes a millisecond to compile, and few begin or end as a question."""
    found, depth = [""], 0
    for part in _BRACKETS(pattern):
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            found.append("")
        else:
            found[-1] += part
    return tuple(_Form(_PLAIN_START(one)[0], _PLAIN_END(one)[0], LazyPattern(one, re.I)) for one in found)


_BRACKETS = re.compile(r"\[[^]]*\]|[()|]|[^()|[]+").findall
_PLAIN_START = re.compile(r"\A(?:[a-z ](?![?*{]))*").findall
_PLAIN_END = re.compile(r"(?<!\\)[a-z ]*\Z").findall


@lru_cache(256)
def fact_question(question: str) -> FactQuestion | None:
    """Which fact a question asks for; None when it asks for something else, or of someone whom it does not name.

    "Do you remember how old my son is?" asks for the age of *my son*, and "What is my wife's name?" for the one of the
    user who is called *wife*.
    """
    chinese = han_share(question) > 0.0
    asked = _bare(question)
    words = asked.lower()
    for relations, hints, forms in _rows("zh" if chinese else "en"):
        may = forms if any(hint in words for hint in hints) else ()
        parts = next((parts for one in may if (parts := one.groups(asked, words)) is not None), None)
        if parts is None:
            continue
        who = _subject(parts.get("who") or parts.get("whose", ""))
        if not who:
            return None
        if relations == (FAVOURITE,):
            what = parts["what"].strip().lower()
            return FactQuestion(who, (FAVOURITE + _FAVOURITES.get(what, what),))
        if relations == (HAS,):
            return FactQuestion(USER, (), parts["what"].strip().lower()) if who == USER else None
        if relations == ("name",) and who != USER:
            return FactQuestion(USER, (), called) if (called := _owned(who)) else None
        return FactQuestion(who, relations)
    return None


@lru_cache(256)
def number_asked(question: str) -> frozenset[str]:
    """Of what a question asks the number, if not of a phone: *passport* in "What is my passport number?"."""
    found = _NUMBER_OF(question)
    if found is None:
        return frozenset()
    words = frozenset((found[1] or found[2]).lower().split())
    return words if words.isdisjoint(_OF_A_PHONE) else frozenset()


_NUMBER_OF = LazyPattern(
    r"\b(?:my|our) ((?:[a-z]+ ){1,3})number\b|[我咱]们?家?的?([^\W\x00-\x7f]{2,4}?)的?(?:号码|号)是?(?:多少|什么|几)",
    re.I,
    needs=("number", "号"),
).search
_OF_A_PHONE = frozenset(
    "phone telephone mobile cell contact old new current former work home 电话 手机 旧 新 联系".split()
)


def _bare(question: str) -> str:
    """The question in plain order of words: without courtesies, and without words for now or before."""
    text = " ".join(POLITE.sub(" ", question).split()).strip(" ,.!?，。！？~～…")
    text = _SHORT.sub(r"\1 is", text)
    if found := _BEFORE.match(text):
        text = text[found.end() :]
    while (cut := _BEHIND.sub("", text).strip(" ,，?？")) != text:
        text = cut
    return _ADVERBS.sub("", text).strip(" ,，") if han_share(text) else text


def _subject(who: str) -> str:
    """Who is meant, as the facts know them; empty for a pronoun."""
    words = who.lower().split()
    if who.lower() in _ME:
        return USER
    if not words or words[0] in _NOT_NAMED or _NOT_NAMED_ZH.search(who):
        return ""
    return who


def _owned(who: str) -> str:
    """The word for a relative or a pet of the speaker: *wife* of "my wife", 狗 of 我家的狗; empty for others."""
    found = re.fullmatch("(?:my|our) (.+)|[我咱俺]们?家?的?(.+)", who, re.I)
    called = (found[1] or found[2]) if found else ""
    return "" if re.search("['’]s?\\b|的", called) else called.lower()


# Whom a word such as *wife* or *dog* is for.

_ANY = {"child": "child kid kids children baby 孩子 小孩 娃", "parent": "parents folks 父母 爸妈", "pet": "pet pets 宠物",
        "sibling": "sibling siblings 兄弟姐妹"}  # fmt: skip
"""Words for every one of a relation."""


def is_called(relation: str, name: str, texts: Iterable[str], word: str) -> bool:
    """Whether the relative or the pet of that name, by what texts say, is one that a word is for."""
    if word in _ANY.get(relation, "").split():
        return True
    said = [role for text in texts if (role := _role_at(text, name))]
    if not said:
        # "Her name is Ann" was said of the only one there can be.
        known = relation_of(relation)
        return known is not None and known.single
    asked = _role(word)
    # A boyfriend becomes a fiancé.
    if any(asked in stages and not stages.isdisjoint(said) for stages in _STAGES):
        return True
    return any(is_kind(role, asked) or is_kind(asked, role) for role in said)


_STAGES = tuple(
    frozenset(words.split())
    for words in (
        "boyfriend bf fiance fiancé husband hubby partner 男朋友 男友 未婚夫 老公 丈夫 对象 爱人",
        "girlfriend gf fiance fiancé fiancee fiancée wife partner 女朋友 女友 未婚妻 老婆 妻子 太太 对象 爱人",
    )
)
"""Words for a partner whom one may have called otherwise before."""


def is_kind(role: str, general: str) -> bool:
    """Whether a word is another with more before it, or a kind of it: *older sister*, 橘猫, *beagle* for a dog."""
    if role == general or role.endswith(general if not general.isascii() else f" {general}"):
        return True
    return any(general in words and _ends_with(role, words) for words in map(str.split, _ANIMALS))


def _ends_with(role: str, words: list[str]) -> bool:
    return role.rpartition(" ")[2] in words or any(role.endswith(one) for one in words if not one.isascii())


_ANIMALS = (
    "dog puppy pup doggo beagle bulldog chihuahua cockapoo collie corgi dachshund dalmatian doberman labrador lab poodle "
    "retriever terrier spaniel husky pug mutt whippet greyhound 狗 小狗 狗狗 狗子 柯基 金毛 泰迪 哈士奇 柴犬 边牧 拉布拉多 "
    "犬 串串 萨摩耶 萨摩 博美 比熊 雪纳瑞 法斗 田园犬 吉娃娃 贵宾 阿拉斯加 德牧 比格犬 比格 牧羊犬 巴哥 杜宾 "
    "腊肠 秋田 喜乐蒂",
    "cat kitten kitty tabby siamese ragdoll 猫 小猫 猫咪 猫主子 布偶 英短 美短 加菲 暹罗 三花 狸花 缅因 金渐层 "
    "银渐层 虎斑 德文",
)


def relations_with(word: str) -> tuple[str, ...]:
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
