"""Names written in Chinese: people by surname and context, places and organisations by list and ending, titles in 《》."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memwell.language import names

_HAN = "\u4e00-\u9fff"
_COMMON_SURNAMES = "".join(sorted(names.SURNAMES))
_SURNAME = f"(?:{'|'.join(names.DOUBLE_SURNAMES)}|[{_COMMON_SURNAMES}])"
_GIVEN = f"[{''.join(sorted(names.GIVEN))}]"
# What may stand before a name and what may follow it: Chinese writes no spaces, so its neighbours show where it ends.
_BEFORE = rf"(?:^|(?<=[^{_HAN}])|(?<=[叫是和跟与同向给对让找见友学的到了请问像陪约帮被把及事人我妹弟哥姐说]))"
_AFTER = (
    rf"(?=$|[^{_HAN}]|[说道是在住和与跟的也都告问去来了就被把给对让向想要会能很不有又还从同邀请约介送带]"
    "|一起|昨天|今天|明天|最近|刚|这个|结婚|推荐|喜欢|觉得|打电话)"
)
_TITLE = re.compile(r"《[^《》\n]{1,40}》")
_POLITE = re.compile(rf"{_BEFORE}{_SURNAME}(?:{_GIVEN}{{0,2}})(?:{names.PERSON_ENDINGS_ZH})")
_FAMILIAR = re.compile(
    rf"(?:(?<![大从很最更太多弱矮缩细胆])小|(?<![古不太好])老|(?<![{_HAN}])阿)[{_COMMON_SURNAMES}明红强华刚丽芳军伟]{_AFTER}"
)
_FULL = re.compile(rf"{_BEFORE}(?P<name>{_SURNAME}(?:小{_GIVEN}|{_GIVEN}{{1,2}})){_AFTER}")
# A given name may be any character, so a name of other characters needs more around it: the front of a clause before
# what people do, or what says that a person is named. A surname that begins many words says less.
_WORD_SURNAMES = "何任方白金石万钱严武向付曾许高马周黄江毛叶程田夏龙余段雷熊顾钟范汤史贺陆谢林张孔莫戴陶"
_NO_GIVEN = (
    "的了是在我你他她它们这那有和与跟去到来从对把被给就都很还也不没个着过吗呢吧啊呀嘛啦么哪谁吃喝住说叫喜欢爱想要会能可以因为所但"
    "又再才只最更太真好家先某各每此其让向往于而且或如同及将已曾请问看听"
)
_ENDS_WORDS = (
    "州县市省区城镇村街路山河湖寺桥楼店馆国语树花草鱼虾菜果水汤面饭酒茶油肉鸟猫狗牛色力性化学部式型机器车船票费款钱价度期时日年"
    "周点分岁里上下中内外前后边间头子者人员师生长服装餐剧片朝代话书包法案务客卡件物事情节布葱蒜"
)
_LAST = rf"(?![{_NO_GIVEN}{_ENDS_WORDS}])[{_HAN}]"
_TWO = rf"(?![{_NO_GIVEN}])[{_HAN}]{_LAST}"
_ONE_OR_TWO = rf"(?:{_TWO}|{_LAST})"
_SURE_SURNAMES = "".join(sorted(names.SURNAMES - set(_WORD_SURNAMES)))
_GIVEN_AFTER = rf"(?:(?<=[{_SURE_SURNAMES}]){_ONE_OR_TWO}|(?<=张)[一二三四五六七八九]|(?<=[{_WORD_SURNAMES}]){_TWO})"
SURELY_NAMED = rf"[{_COMMON_SURNAMES}]{_GIVEN_AFTER}"
"""A person's full name, less likely a word than other rows of characters; where it ends, only what follows tells."""

_IS_SOMEONE = rf"是(?=[我你他她一个名位做中美谁]|[{_HAN}]{{1,4}}[师生员人友手](?![{_HAN}]))"
_LIVES = (
    rf"(?=住|在(?!于)|喜欢|喜爱|[不很最]喜欢|爱[吃喝看听玩]|讨厌|[说去来养](?![法年明自源老])|{_IS_SOMEONE}|告诉|觉得|认为"
    "|今年|毕业|出生|结婚|搬[到去家]|[和跟与、]|也[是在喜爱住去来]|有[一两三个只]|昨天|今天|明天|一起|打电话|打算"
    "|的(?:妈|爸|老[公婆]|生日|朋友|女儿|儿子))"
)
# What stands before is looked at behind the surname: a search for one of few characters is much the faster.
_AT_FRONT = rf"(?:(?<=^.)|(?<=[^{_HAN}].)|(?<=[和跟与].)|(?<=昨天.|今天.|明天.|后来.|但是.|因为.|所以.|最近.|上周.))"
_KNOWN_BY = "".join(
    f"|{word}."
    for word in (
        "朋友 同事 老师 同学 室友 邻居 儿子 女儿 老公 老婆 丈夫 妻子 哥哥 姐姐 弟弟 妹妹 老板 经理 医生 教授 闺蜜 "
        "表哥 表姐 表弟 表妹 导师 男友 女友 太太 我叫 他叫 她叫 名叫 叫做 字叫"
    ).split()
)[1:]
_LIVING = re.compile(rf"(?P<name>[{_COMMON_SURNAMES}]{_AT_FRONT}{_GIVEN_AFTER}){_LIVES}")
_KNOWN = re.compile(
    rf"(?P<name>[{_COMMON_SURNAMES}](?<={_KNOWN_BY})(?:(?<=[{_SURE_SURNAMES}]){_ONE_OR_TWO}{_AFTER}"
    rf"|{_ONE_OR_TWO}(?:{_LIVES}|(?=$|[^{_HAN}]))))"
)
_BESIDE = re.compile(rf"[和跟与、](?P<name>{SURELY_NAMED})(?=$|[^{_HAN}])").match
_DOUBLED = re.compile(rf"(?:同学|邻居|朋友|[弟哥姐妹叫]|孩子|儿子|女儿)(?P<name>(?P<one>[{_HAN}])(?P=one)){_AFTER}")
_NOT_A_NICKNAME = frozenset("妈爸爷奶哥姐弟妹叔姑舅婶姥公婆常刚天人个年慢偏好多大小高看试说想走")
_ORGANISATION = re.compile(
    "有限公司|公司|集团|银行|大学|学院|医院|研究院|研究所|协会|委员会|基金会|出版社|电视台|俱乐部|博物馆|事务所"
)
# Where the name before such a word ends to the left: at a function word or a common verb.
_EDGES = frozenset(
    "的了是在我你他她它们这那有和与去到来从对把被给就都很还也不没一个进住回往离过于某每家所间位名当叫为向跟同及该此其"
    "读考上下学开办找选报入任做看见说想要会能让请问带送两三几多些新老好大小男女最再又已将由以并或但而可"
)
_PLACE = re.compile(
    rf"(?:^|(?<=[^{_HAN}])|(?<=[在去到从于住回往离]))(?P<name>(?:(?![{''.join(sorted(_EDGES))}])[{_HAN}]){{2,3}}"
    r"(?:[省县镇](?![级长])|村(?![长里民])|市(?![场民中长区里面])|区(?![别域分])|路(?![上口边线人过程途])|大街|机场|火车站))"
)
_COMMON = frozenset(
    "上市 科技 大型 小型 外贸 互联网 附近 本地 当地 国有 民营 创业 著名 重点 人民 儿童 宠物 动物 毕业 保险 "
    "物流 广告 快递 游戏 软件 传媒 "
    "跨国 外国 投资 商业 社区 专科 综合 名牌 理想 国内 国外 城市 市中 母亲 父亲 妈妈 爸爸 公立 私立 中医 自然 历史".split()
)
_LONGEST_PREFIX = 8
_LISTED: dict[str, str] = (
    dict.fromkeys(names.PLACES_ZH, "place")
    | dict.fromkeys(names.ORGANISATIONS_ZH, "organisation")
    | dict.fromkeys(names.PRODUCTS_ZH, "product")
)


def _lengths_by_start() -> dict[str, tuple[int, ...]]:
    lengths: dict[str, set[int]] = {}
    for name in _LISTED:
        lengths.setdefault(name[0], set()).add(len(name))
    return {start: tuple(sorted(found, reverse=True)) for start, found in lengths.items()}


_LENGTHS = _lengths_by_start()
_STARTS = re.compile(f"[{''.join(sorted(_LENGTHS))}]")
_TAIL = re.compile("[市省](?![场民中长])")


def chinese_names(text: str) -> Iterator[tuple[int, int, str]]:
    """The start, the end and the kind of each name, the surest first; they may overlap."""
    for match in _TITLE.finditer(text):
        yield *match.span(), "product"
    for match in _ORGANISATION.finditer(text):
        start = _organisation_start(text, match.start())
        if start is not None:
            yield start, match.end(), "organisation"
    yield from _people(text)
    yield from _listed(text)
    for match in _PLACE.finditer(text):
        yield *match.span("name"), "place"


def _organisation_start(text: str, end: int) -> int | None:
    """Where the name begins that ends with a word such as 公司, or nothing if no name stands before it."""
    start = end
    while (
        start > max(0, end - _LONGEST_PREFIX)
        and "\u4e00" <= text[start - 1] <= "\u9fff"
        and text[start - 1] not in _EDGES
    ):
        start -= 1
    if end - start < 2 or text[start:end] in _COMMON:
        return None
    # 上 is an edge, but not in 上海交通大学.
    return start - 1 if start and text[start - 1 : start + 1] in names.PLACES_ZH else start


def _people(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _POLITE.finditer(text):
        yield *match.span(), "person"
    for match in _FULL.finditer(text):
        if match["name"][:2] not in names.NOT_PEOPLE_ZH:
            yield *match.span("name"), "person"
    yield from _less_common(text)
    for match in _FAMILIAR.finditer(text):
        yield *match.span(), "person"
    for match in _DOUBLED.finditer(text):
        if match["one"] not in _NOT_A_NICKNAME:
            yield *match.span("name"), "person"


def _less_common(text: str) -> Iterator[tuple[int, int, str]]:
    """Names of any characters, where their neighbours show a person; whom "and" joins to one is one as well."""
    for pattern in (_LIVING, _KNOWN):
        for match in pattern.finditer(text):
            if not is_a_word(match["name"]):
                yield *match.span("name"), "person"
                beside = _BESIDE(text, match.end("name"))
                if beside and not is_a_word(beside["name"]):
                    yield *beside.span("name"), "person"


def is_a_word(name: str) -> bool:
    """Whether what is written as a name may be is, or begins with, a word or a name of something else."""
    return name[:2] in names.NOT_PEOPLE_ZH or name[:2] in _LISTED or name in _LISTED or name[1:] in _LISTED


def _listed(text: str) -> Iterator[tuple[int, int, str]]:
    """Names from the lists, each the longest that stands there."""
    done = 0
    for match in _STARTS.finditer(text):
        at = match.start()
        if at < done:
            continue
        for length in _LENGTHS[match[0]]:
            kind = _LISTED.get(text[at : at + length])
            if kind:
                tail = _TAIL.match(text, at + length) if kind == "place" else None
                done = tail.end() if tail else at + length
                yield at, done, kind
                break


__all__ = ["SURELY_NAMED", "chinese_names", "is_a_word"]
