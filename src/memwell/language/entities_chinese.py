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
    rf"(?=$|[^{_HAN}]|[说道是在和与跟的也都告问去来了就被把给对让向想要会能很不有又还从同邀请约介送带]"
    "|一起|昨天|今天|明天|最近|刚|这个|结婚|推荐|喜欢|觉得|打电话)"
)
_TITLE = re.compile(r"《[^《》\n]{1,40}》")
_POLITE = re.compile(rf"{_BEFORE}{_SURNAME}(?:{_GIVEN}{{0,2}})(?:{names.PERSON_ENDINGS_ZH})")
_FAMILIAR = re.compile(
    rf"(?:(?<![大从很最更太多弱矮缩细胆])小|(?<![古不太好])老|(?<![{_HAN}])阿)[{_COMMON_SURNAMES}明红强华刚丽芳军伟]{_AFTER}"
)
_FULL = re.compile(rf"{_BEFORE}(?P<name>{_SURNAME}{_GIVEN}{{1,2}}){_AFTER}")
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
    for match in _FAMILIAR.finditer(text):
        yield *match.span(), "person"
    for match in _DOUBLED.finditer(text):
        if match["one"] not in _NOT_A_NICKNAME:
            yield *match.span("name"), "person"


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


__all__ = ["chinese_names"]
