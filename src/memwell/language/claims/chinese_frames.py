"""The frames of Chinese predicates: which words after a subject name which relation.

A frame is a pattern after a subject. Each of its groups is named after a relation and holds the object; a group named
``no_`` and a relation holds what ended, and an empty one ends every value (辞职了).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memwell.language.claims.chinese_objects import (
    ACTIVITIES,
    AGE,
    ANY_NAME,
    ANY_SURNAME,
    BODY,
    CHANGES,
    COUNT,
    DATE,
    END,
    KIN_NAME,
    LANGUAGE,
    LANGUAGES,
    LATIN_NAME,
    LONG,
    MAJOR,
    ON,
    ORG,
    PET,
    PET_NAMES,
    PLACE,
    QUOTE,
    SAME,
    SORTS,
    THING,
    TYPES,
    VERY,
    WORDS,
    G,
    H,
    N,
    is_foreign,
    known_place,
)
from memwell.language.claims.relations import EVENT, PLAN, STARTED, STATE
from memwell.language.patterns import LazyPattern


class ChineseFrame(NamedTuple):
    """A predicate that states relations: its pattern, the kind of statement, and when it counts."""

    match: Callable[[str, int, int], re.Match[str] | None]
    groups: tuple[str, ...]
    kind: str
    many: bool
    sure: bool
    """Whether it counts without a subject of its own."""
    confidence: float


class Family(NamedTuple):
    """Frames of one kind, and what a clause must contain for any of them."""

    has_cue: Callable[[str, int, int], object]
    frames: list[ChineseFrame]


FAMILIES: list[Family] = []
"""After a subject, in the order in which they are tried; the first match counts."""
CLAUSES: list[ChineseFrame] = []
"""For a whole clause of the speaker's whose object is its topic (法语我不会说) or that needs no subject "
    "(大家都叫我老欧)."""


def _add(
    pattern: str,
    *,
    kind: str = STATE,
    many: bool = False,
    sure: bool = True,
    whole: bool = False,
    confidence: float = 0.85,
) -> None:
    compiled = LazyPattern(pattern)
    groups = tuple(name for name in compiled.groups if name not in ("what", "twice", "name2", "double"))
    (CLAUSES if whole else FAMILIES[-1].frames).append(
        ChineseFrame(compiled.match, groups, kind, many, sure, confidence)
    )


def _family(cues: str) -> None:
    """Begin a family: its frames are tried only for a clause with one of these characters."""
    FAMILIES.append(Family(LazyPattern(f"[{cues}]").search, []))


def sort_of(words: list[str], verb: str, *, sure: bool) -> str:
    """The type of what changes by its words, or else by the verb; empty if neither tells."""
    if sure and "不在" in verb and any(map(is_foreign, words)):
        return "works_at"
    if "调" in verb and not any(map(known_place, words)):
        return "works_at"
    if "派" in verb and any(map(is_foreign, words)):
        return "lives_in"
    for kind, check in SORTS.items():
        if any(check(word) for word in words) and not (sure and kind == "occupation"):
            return kind
    kind = "" if sure else next((kind for kind, found in CHANGES if found(verb)), "")
    return "works_at" if kind == "studies" and all(map(TYPES["employer"], words)) else kind


def relation_of_group(group: str) -> tuple[str, str, bool]:
    """The relation and the type that a group names, and whether it ended."""
    ended = group.startswith("no_")
    kind = group.removeprefix("no_").rstrip("2")
    return SAME.get(kind, kind), kind, ended


# fmt: off
_CALL = "(?:名叫|叫做|叫作|名为|叫)"
_SOMEONE = "(?:大家|朋友|同事|同学|家里人|家人|别人|他们|人家|网友|粉丝|全班|全家)们?(?:都|一般|老)*"
_FOLKS = (
    "(?:你|您)?(?:以后)?(?:我的?)?(?:大家|朋友|同事|同学|家里人|家人|别人|他们|人家|网友|粉丝|圈里人)?们?(?:都|一般|"
    "平时|老|习惯|喜欢)*"
)

_family("名叫喊称号改是被")
_add(rf"的?(?:大名|本名|全名|真名|姓名|名字|英文名|中文名|小名|网名|笔名|昵称|外号|"
    rf"绰号)(?:其实|就)?(?:是|叫做?|：|:)?{QUOTE}(?P<name>{ANY_NAME})(?!的){END}", confidence=0.9)
_add(rf"(?:的名字)?被(?:登记|写|打|念|叫)成了?{QUOTE}(?P<no_name>{ANY_NAME}){END}")
_add(rf"{_CALL}(?!我|你|他|她|人|车|外卖|了|过|什么|啥|醒|停|好){QUOTE}(?P<name>{ANY_NAME}){END}", confidence=0.9)
_add(rf"改名(?:叫|为|成)?了?{QUOTE}(?P<name>{ANY_NAME}){END}", kind=STARTED)
_add(rf"(?:就)?是(?:[{H}]{{1,4}}的)?(?P<occupation>(?:(?!的)[{H}]){{2,6}}?)(?P<nick>[小老阿][{H}]"
    rf"|{ANY_SURNAME}{G}{{1,2}}){END}", sure=False)
_add(rf"(?:就)?是(?:[{H}]{{1,6}}的)?(?P<nick>[小阿](?![白偷丑三众孩胖姨丫矮])[{H}]){END}", sure=False)
_add(rf"(?:就)?是(?P<first_name>[A-Z][a-z]+(?: [A-Z][a-z]+)?){END}", sure=False)
_add(rf"(?:就)?是(?P<full_name>{ANY_SURNAME}(?:{G}){{1,2}}){END}", sure=False)
_add(rf"(?:在公司|在学校|在班里|在单位)?(?:从小)?就?被(?:{_SOMEONE}(?:叫|喊|称)(?:作|做|为)?|(?:叫|喊|称)(?:作|做|"
    rf"为)){QUOTE}(?P<name>{ANY_NAME}){END}", confidence=0.9)
_add(rf"{_FOLKS}(?:可以|就)?(?:管我叫|叫我|喊我|称呼我|称我)(?:做|为)?{QUOTE}(?P<nick>{ANY_NAME}?)(?:吧|就|即可|"
    rf"好了)?{END}", whole=True, confidence=0.9)
_family(rf"岁生{N}")
_add(rf"(?:的年龄|年龄)?(?:是|才|刚|刚满|满|虚岁|刚过|刚刚|周岁)*(?P<age>{AGE}(?:多|周?岁半|岁多)?)(?:周?岁{END}|{END}|"
    rf"周?岁?了(?=还|都|才|也))")
_add(rf"(?:刚|刚刚|今天|的)*(?:过完?了?|(?<!又)是)?(?P<age>{AGE})岁?的?(?:大寿|生日)了?{END}")
_add(rf"(?:的)?(?:新历|农历|阴历|阳历)?生日(?:正好|刚好|就|一般)?(?:是|在|就是|：|:|"
    rf"为)?(?P<birthday>{DATE})", confidence=0.9)
_add(rf"(?:是)?(?P<birthday>(?:19|20)?\d\d年)(?:出生|生人|生)的?{END}")
_add(rf"(?:出)?生于(?P<birthday>{DATE})")
_add(r"是?(?P<birthday>(?:19|20)?\d\d年)的$")
_add(rf"(?:是)?(?P<birthday>{DATE})(?:的|过)?(?:生日|生的|生人|出生的?){END}", confidence=0.9)
# Where someone is from, and which passport.
_family("家乡籍自生护民人的长子娘伙")
_add(rf"(?:的?老家|的?娘家|的?家乡|的?故乡|籍贯|祖籍)"
    rf"(?:其实)?(?:是|在)(?P<from>{PLACE})(?:人|那边|这边)?{END}", confidence=0.9)
_add(rf"(?:的?老家|籍贯|祖籍)(?P<home>{PLACE})(?:人|那边|这边)?{END}", confidence=0.9)
_add(rf"的?(?:老家|家乡|故乡|籍贯|祖籍)不[是在](?P<no_from>{PLACE})[的人]?{END}", confidence=0.9)
_add(rf"是?在(?P<from>{PLACE})(?:出生|长大|出生长大|土生土长)的?{END}", confidence=0.9)
_add(rf"是(?:个)?(?P<home>{PLACE})(?:妹子|姑娘|小伙子?|汉子|大叔|女孩|男孩|女人|男人|崽|丫头){END}")
_add(rf"(?:来自|出生在|出生于|生在)(?P<from>{PLACE})(?:一个.*|的一个.*)?{END}", confidence=0.9)
_add(rf"(?:的?国籍)(?:是|为)?(?P<nationality>{PLACE}){END}", confidence=0.9)
_add(rf"(?:是|拿的是|持有?|拿|加入了?|入了?|有|换成了?|改成了?|拿到了?|取得了?|属于)?(?P<nationality>{PLACE})(?:国籍|籍|"
    rf"护照|公民){END}", confidence=0.9)
_add(rf"是(?:土生土长的|地道的|正宗的|地地道道的|个|一个)?(?P<nationality>{PLACE})人{END}", confidence=0.85)
_add(rf"是(?:土生土长的|地道的|正宗的|地地道道的|个|一个)?(?P<from>{PLACE})人{END}", confidence=0.85)
_add(rf"(?:土生土长的?|地道的?)?(?P<nationality>{PLACE})人{END}", sure=False)
_add(rf"(?:土生土长的?|地道的?)?(?P<home>{PLACE})人{END}")
_add(rf"(?:就)?(?:是)(?P<home>{PLACE})的$", sure=False)
_add(rf"是(?:个|一个)?(?:从)?(?P<home>{PLACE})(?:过)?来的(?P<occupation>[{H}]{{2,8}}){END}")
_L = rf"(?P<lives_in>{PLACE})"
# 闽江边上 is no city.
_NEAR_TOWN = "(?<![江河湖溪路街])(?<![^上威珠北]海)边上"
_HOME_AFTER = (
    rf"(?:[跟和与陪][{H}]{{1,5}}?(?:一起|一块儿?|同住))?"
    rf"(?:住|定居|生活|安家|落户|租房|去|来|工作|市区|这边|那边|附近|{_NEAR_TOWN})*(?:了|啦|的)*{ON}"
)
_SOME = "(?:[一那这某]家?|一个|一所|一间)?"
_JOB = f"[{H}A-Za-z]{{2,10}}?"
_W = rf"(?P<works_at>{ORG})"
_NOW_WORKS = "(?:上[夜白早晚中]?班|任职|工作|实习|供职|就职|打工|干活|做事|教书|当差|干|服役)"
_HOPPING = "字节跳动|好未来|转转|一加"
"""Employers whose names have a verb of moving in them."""
_A_JOB = r"(?:一?(?:名|个|位))?"
# What changes: homes, schools, jobs and employers; the type of the object tells which.
_family("嫁从由离在被让给去到来进入考加跳换调转搬迁移回辞告把")
_LEFT = rf"(?:(?![我你他她就毕])[{H}A-Za-z0-9·&]){{2,16}}?"
_FROM_V = rf"(?P<no_value>{_HOPPING}|(?!小|来|没|{_HOPPING}){_LEFT})(?:系|专业)?"
_TO_V = rf"{_SOME}(?P<value2>{ORG})(?:系|专业)?"
_GO = (
    "(?:变成|变为|成为|移居|移民|迁居|搬家|跳槽|转学|转行|改行|转岗|转投|转战|加入|入职"
    "|[搬迁跳转换调挪跑回去来到进安])(?:到|去|来|"
    "回|进|至|往|成(?!都)|为|做|当|在)*了?"
)
_LEAVES = (
    "(?:正式|主动|刚|已经|早就?)*(?:离职|辞职|辞工|辞了|辞掉|被裁|走人|跑路|跳槽|出来|走|离开|退学|辍学|休学|肄业|"
    "搬走|搬离)"
)
_STAYS = "(?:定居|住|生活|安家|落户|发展|工作|上班|入职|任职|实习|干活|打工|打拼|读书|上学|念书|常驻|驻场|租房)"
_add(rf"(?:一家|全家|一家人|把家)?(?:从|"
    rf"由){_FROM_V}(?:{_LEAVES}了?[，,]?)?{_GO}{_A_JOB}{_TO_V}{_STAYS}?[了的]*{ON}", kind=STARTED)
_add(rf"(?:从|由)(?:老东家|前公司|原公司|前东家)?{_FROM_V}{_LEAVES}了?")
_add(rf"(?!打算|决定|准备|计划|干脆|"
    rf"移民|搬家|跳槽|留学|出国|出差|旅[游行]"
    rf"|[把被跳转离辞不想要在去回搬和跟带陪再又])(?P<no_sure>{_LEFT})(?![到来进]"
    rf"|去(?!了)){_GO}(?P<sure2>{ORG}){_STAYS}?了?{END}", kind=STARTED)
_add(rf"(?:辞掉|辞去|辞了|离开)了?(?P<no_value>{ORG})(?:的工作|的职位|的职务|工作|一职){END}", confidence=0.9)
_add(rf"(?:搬离|搬出|离开|退出)了?(?P<no_sure>{ORG})了?{END}")
_add(rf"(?:已经|早就?)?不在(?P<no_sure>{ORG})(?:{_STAYS}|待|呆|这边|那边|混|干)*了{END}")
_add(rf"在(?P<visited>{PLACE})(?:待|玩|住|呆|逛)了[{N}半几]+多?个?(?:天|周|星期|月|晚|礼拜){END}", kind=EVENT)
_add(rf"在(?:老家)?{_SOME}(?P<sure>{ORG}){END}")
_add(rf"在(?P<value>{ORG})(?:待|干|呆|漂|混|讨生活|打拼)[着过]?(?:{END}|(?={LONG}))")
_HIRED = "(?:录用|录取|聘用|聘请|聘|挖走|挖过去|挖去|挖|招聘|招走|招|返聘|保送|签下|签|雇用|雇|要走)"
_FIRED = "(?:裁员|裁|炒鱿鱼|炒|开除|辞退|解雇|优化|劝退|退学|开|辞)"
_add(rf"(?P<no_studies_at>)被(?:学校|学院)(?:给)?{_FIRED}了?{END}")
_add(rf"(?P<no_works_at>)(?:被|让|给)(?:公司|单位|老板|厂里|领导|他们|原公司)?(?:给)?{_FIRED}(?:掉|"
    rf"了)+{END}", confidence=0.9)
_add(rf"[被让]{_SOME}(?P<no_firm>{ORG}?)(?:给)?(?:裁员|裁|炒鱿鱼|炒|解雇|优化|辞退)(?:掉|了)+{END}", confidence=0.9)
_add(rf"把{_SOME}(?P<no_firm>{ORG})(?:那边|那份|这份)?的?(?:工作|班|活儿?|职位|职)(?:给)?(?:辞|丢|扔"
    rf"|弄丢)(?:掉)?了{END}", confidence=0.9)
_add(rf"(?:离开|告别|辞了|离了)了?(?P<no_value>{ORG})[，,]?(?:去|到|来|进|回到?|加入|跳槽到?|跳去"
    rf"|转投)了?(?P<value2>{ORG})了?{END}", kind=STARTED)
_add(rf"(?P<no_firm>)(?:就|已经|后来|最后)*(?:走|撤|出来)(?:了|的){END}")
_add(rf"不在(?P<no_employer>{ORG})(?:干|待|呆|混)?了?{END}")
_add(rf"告别了?(?P<no_new_firm>{ORG}){END}")
_add(rf"(?:去|到|进)了?(?:一家|一个|一所){_W}(?:当|做)了?{_A_JOB}(?P<occupation>{_JOB}){END}", kind=STARTED)
_add(rf"(?:去|到|来|进|加入)了(?P<new_firm>{ORG}){END}", kind=STARTED)
_add(rf"被{_SOME}(?P<no_value>{ORG})(?:给)?{_FIRED}(?:掉|了)*{END}", confidence=0.9)
_add(rf"被{_SOME}(?P<value>{ORG})(?:高薪|成功|正式|给|重新|破格|提前)*{_HIRED}(?:过去|进去)?(?:(?:为|去当|去做|当|"
    rf"做){_A_JOB}(?P<occupation>{_JOB}))?了?{END}", kind=STARTED)
_add(rf"[被让][{H}]{{0,4}}?(?:[招挖调派聘请录]|外派|借调|推荐|分配|派驻|保送)(?:到|进|去|往|回|入|"
    rf"(?<=驻))了?{_SOME}(?P<value>{ORG})(?:(?:当|做|任){_A_JOB}(?P<occupation>{_JOB})|{_STAYS}|去"
    rf"|来)?了?{ON}", kind=STARTED)
_add(rf"被(?:公司|单位|学校|正式|医院|领导)*(?:聘|任命|提拔|选|推选|晋升|聘用|提|升|评)(?:为|成|上|做|"
    rf"当)了?{_A_JOB}(?P<occupation>{_JOB}){END}", kind=STARTED)
_add(rf"(?:一家|全家|一家人|举家)?(?:都)?(?:搬家|搬|迁|移居|移民|迁居)(?:到|去|来|回到|回|进|至|"
    rf"往)了?(?:老家)?{_L}{_HOME_AFTER}", kind=STARTED)
_add(rf"(?:换|挪|调)(?:到|去|来)了?{_L}(?:去|来)?(?:居|租房)?住了?{END}", kind=STARTED)
_add(rf"调(?:动)?(?:到|去|往|回)了?(?P<spot>{PLACE})(?:去|来|那边|这边)?了{END}", kind=STARTED)
_add(rf"[调换](?:到|去|往|回)了?(?P<works_in>{PLACE})(?:去|来|那边|这边)?(?:工作|上班)了?{END}", kind=STARTED)
_add(rf"(?:搬|跑|退)?回(?:到)?了?(?:老家)?(?P<back>{PLACE})(?:发展)?了{END}", kind=STARTED, sure=False)
_add(rf"嫁(?:到|去|来)了?{_L}(?:去|来)?了?{END}", kind=STARTED)
_add(rf"(?:回|到|去|来)了?(?:老家)?{_SOME}(?P<value>{ORG}){_STAYS}了?{END}", kind=STARTED, sure=False)
# Homes.
_family("搬住居址家在人坐定租")
_add(rf"的?(?:现在|新|现)?的?(?:住址|地址|家庭住址)(?:是|在|：|:){_L}{END}", confidence=0.9)
_add(rf"(?:一家|全家|家人)?(?:都)?(?:长住|常驻|居住|定居|租住|合租|同住|蜗居|暂住|住|现居|常住|安家|落户)(?:的是"
    rf"|的地方是|的地方叫|"
    rf"的小区叫|"
    rf"的小区是)?(?:在|于|到|进)?了?(?:老家)?{_L}{_HOME_AFTER}", confidence=0.9)
_add(rf"把家(?:安|搬|落)(?:在|到)了?{_L}{_HOME_AFTER}", kind=STARTED)
_add(rf"在(?P<spot>{PLACE})(?:已经|都|快|有|待了|呆了)*[{N}几好多半]+多?个?(?:年|月)了{END}")
_add(rf"(?:坐标|人在)(?P<spot>{PLACE}){_HOME_AFTER}", confidence=0.9)
_add(rf"在(?P<no_lives_in>{PLACE})住过|住过(?P<no_lives_in2>{PLACE}){END}")
_add(rf"(?P<no_lives_in>)(?:就|已经|又)*搬(?:走|出来|出去)了{END}")
_add(rf"人?在{_L}(?:定居|落脚|扎根|安顿下来|安家|落户|租房住|租房|租了房|生活|住|居住)(?:着|"
    rf"下来)?[了的]*{ON}", confidence=0.9)
_add(rf"(?:的?新?(?:家|房子|房))(?:住|在|住在|安在|买在|租在){_L}{END}", confidence=0.8)
# Schools and subjects.
_family("学读念上录考授修退辍休在专攻业系科方")
_S = rf"(?P<studies_at>{ORG})"
_STUDY = (
    "(?:[读念上][一二三四五六七八九]年级|[读念上][小中大]班|读书|上学|念书|就读|接着念博士|进修|留学|读过书|上过学"
    "|念过书|[读念上](?:大学|高中|初中|本科|硕士?|博士?|研究生|研|"
    "[高初大小研][一二三四]))"
)
_add(rf"(?:转学[到去进]|考[上进取入]|就读于?|在读于)了?{_S}(?:的研究生|的博士|研究生)?{END}", kind=STARTED)
_add(rf"转(?:到|去|进|来)了?(?P<school>{ORG}){END}", kind=STARTED)
_add(rf"(?:在|到){_S}{_STUDY}(?:[，]?(?:读|学|念)(?P<studies>{MAJOR})(?:专业)?)?{ON}")
_add(rf"在(?:社区|小区|街道|楼[上下]|公园|少年宫|文化宫|琴行|画室|网上|线上|家里?|附近"
    rf"|老家)[{H}]{{0,4}}?[学练](?P<studies>{MAJOR}){ON}")
_add(rf"在{_S}(?:读|(?<![大中小同])学|念|攻读|主修|修)的?(?:是)?(?P<studies>{MAJOR})(?:专业|系|的)?(?:本科|硕士|博士"
    rf"|研究生)?{END}")
_add(rf"没有?(?:读|上|念)过(?P<no_school>{ORG}){END}")
_add(rf"(?:在)?(?:读|上|念)(?:的是|的)?(?P<school>{ORG}){END}")
_add(rf"在(?P<school>{ORG})(?:读|(?<![大中小])学|念)(?P<studies>医|法|画)(?:科|的)?{ON}")
_add(rf"(?:在[{H}]{{2,6}}?)?(?:读|学|念)(?P<studies>医|法|画)(?:科|的)?{ON}")
_add(rf"在[{H}]{{2,6}}?(?:那边|留学)?(?:读|(?<![大中小])学|念)(?P<studies>(?:(?![的了我你校费])[{H}]){{0,6}}(?:学|工程"
    rf"|管理|设计"
    rf"|金融|会计|法律|计算机|经济|艺术|音乐"
    rf"|建筑)){ON}", sure=False)
_add(rf"(?P<no_studies_at>)(?:就|已经)?(?:退学|辍学|休学)了?{END}")
_DEGREE = "(?:(?:本科|大学|研究生|硕士|博士)(?:里|阶段|时|期间)?)"
_add(rf"(?:的?{_DEGREE}?的?(?:专业|(?:研究)?方向))(?:就|其实)?(?:是|：)?(?P<studies>{MAJOR})(?:专业)?{END}", confidence=0.9)
_add(rf"{_DEGREE}?(?:主修|辅修|选修|攻读|[学读念修]的(?:是)?|(?<=[学科生士])[学读念])(?P<studies>{MAJOR})(?:专业|"
    rf"系)?{END}", confidence=0.9)
_add(rf"{_DEGREE}?学的不是(?P<no_studies>{MAJOR})(?:专业|系)?{END}", confidence=0.9)
_add(rf"{_DEGREE}?是(?:学|读|念)(?P<studies>{MAJOR})(?:专业|系)?的{END}", confidence=0.9)
_FIELD = "(?:学|工程|技术|管理|设计|金融|会计|法律|计算机|新闻|经济|护理|翻译|软件|师范|艺术|英语|日语|历史)"
_add(rf"(?:正在|在)?[学读念修](?P<studies>(?!会(?!计)|习)(?:(?![的了我你校费])[{H}]){{0,6}}{_FIELD})(?:专业)?{ON}")
_add(rf"改(?:学|读|念)了?(?P<studies>{MAJOR})(?:专业)?了?{END}", kind=STARTED)
_add(rf"(?:是)?[学读念](?P<studies>{MAJOR})(?:专业)?的{END}")
_add(rf"(?P<school>{ORG})(?:在读|[读念])的?(?:博士|硕士|本科|研究生?|博|硕)生?{END}")
_add(rf"(?:是)?(?:[高大研博初][一二三四])?的?(?P<studies>[文理]科)生{END}")
_add(rf"(?P<studies>[{H}]{{2,6}}?)(?:方向|专业|(?<![联关体])系)的?{END}", sure=False)
_add(rf"[学练](?P<hobby>[大小]提琴|钢琴|吉他|古筝|二胡|琵琶|舞蹈|书法|画画|围棋|象棋|跆拳道|街舞|架子鼓)(?={LONG})")
_add(rf"[学练](?P<studies>{MAJOR})(?={LONG})")
_add(rf"在(?P<spot>{PLACE})[读念上](?P<studies_at>[{H}]{{0,4}}(?:语言学校|预科|职高|技校|卫校|私立学校|国际学校)){END}")
_add(rf"不(?:读|学|念)(?P<no_studies>{MAJOR})(?:专业)?了{END}")
_add(rf"(?:正)?(?:在|开始|自)?(?:学|读|念)(?!费|校|期|历|车|生|院|问|术"
    rf"|着)(?P<studies>{MAJOR})(?:专业)?{ON}", sure=False)
# Degrees.
_family("毕校出本硕博研大授")
_add(rf"(?:本科|硕士|博士|研究生|大学|高中|初中)(?:[读上念]的)?(?:是|在)?(?P<alma>{ORG})(?:读的|上的|念的|的"
    rf"|毕业)?{END}", kind=EVENT)
_add(rf"(?:本科|硕士|博士|研究生|大学)?(?:是)?毕业于(?P<graduated_from>{ORG})(?:[{H}]{{2,6}}(?:系|"
    rf"专业))?{END}", kind=EVENT, confidence=0.9)
_add(rf"(?:是)?(?:从|在)(?P<graduated_from>{ORG})(?:[{H}]{{2,6}}(?:系|专业))?(?:毕业|[念读上][完的]了?的?(?:本|硕|博|"
    rf"大学|研))", kind=EVENT, confidence=0.9)
_add(rf"(?:是)(?P<graduated_from>{ORG})毕业的?{END}", kind=EVENT, confidence=0.9)
_add(rf"(?P<graduated_from>{ORG})(?:本科|硕士|博士)?毕业(?:生)?的?{END}", kind=EVENT, sure=False)
# Work.
_family("退被录单母开从由转改行聘任提升裁炒辞离失岗入加进就供受跳换调去到来在为给替帮职业工做当是干搞卖修教跑送成把没丢")
_add(rf"改(?:行)?(?:去)?(?:当|做)了?{_A_JOB}(?P<occupation>{_JOB}){END}", kind=STARTED)
_add(rf"(?:转行|改行|转岗)(?:去|来)?(?:到|做|当|成|为|干)?了?{_A_JOB}(?P<work>{_JOB}){END}", kind=STARTED)
_add(rf"(?:刚|最近)?(?:升|晋升|提升|评)(?:为|成|任|到|上)?了?(?P<occupation>{_JOB}){END}", kind=STARTED)
_add(rf"(?P<no_works_at>)(?:就|已经|刚|正式|终于|果断)*(?:把?工作)?(?:给)?(?:裸辞|辞职|离职|辞掉工作|辞工|失业|下岗|"
    rf"辞掉了?工作|"
    rf"辞了工作|提离职|从公司离职|(?:撂挑子)?不干|被迫离职|没工作|丢了工作|辞了?职|(?<=工作)(?:给)?(?:辞"
    rf"|丢)掉?)(?:在家)?(?:了|"
    rf"啦)?{END}", confidence=0.9)
_add(rf"(?P<no_works_at>)(?:就|已经|刚|正式|终于|果断)*(?:裸辞|辞职|离职)了?(?:就|后|去)*(?:(?P<no_lives_in>)回了?(?:老家"
    rf"|家乡)|回了?(?:家|[{H}]{{2,3}}))?(?:就|后|去)*"
    rf"(?:开了?[{H}]{{1,6}}?(?:店|馆|厂|公司|工作室|餐厅|民宿|摊)|创业|种地|养老|带娃|读研|读博)了?{END}", confidence=0.9)
_add(rf"(?:已经|刚|正式|终于|光荣|早就?)*(?:从|在)(?P<no_works_at>{ORG})(?:正式|光荣)?退休(?:了|啦|的){ON}", confidence=0.9)
_add(rf"(?P<no_works_at>)(?:就|已经|刚|正式|终于|光荣|早就?)*退休(?!第)(?:(?:了|啦){ON}|(?={LONG}))", confidence=0.9)
_add(rf"(?P<no_job>)(?:就|已经|刚|正式|终于|光荣|早就?|去年|上个?月|今年|前年)*退(?:了|的){END}")
# A firm may be named by its trade.
_add(rf"(?:刚|正式|已经|终于)*入职了?{_SOME}(?P<firm>[{H}]{{2,6}}?(?:设计|咨询|广告|装饰|教育|文化|"
    rf"网络)){END}", kind=STARTED)
_add(rf"(?:入职|加入|进了|进入|加盟|受聘于|就职于|供职于|任职于|效力于|受雇于)了?{_SOME}{_W}(?:(?:当|做|"
    rf"担任)了?{_A_JOB}(?P<occupation>{_JOB})|工作|上班)?{ON}", kind=STARTED)
_add(rf"(?:跳槽|跳|换工作|换|调动|调|转岗|转)(?:到|去|来|进|回)了?{_SOME}{_W}(?:去|工作|上班)?了?{END}", kind=STARTED)
_add(rf"是(?:(?P<employer>{ORG})的?(?:员工|职工)|"
    rf"(?P<employer2>{ORG})的{_A_JOB}(?![{H}]{{0,4}}(?:学生|研究生|本科生|博士生|硕士生|大学生|中学生|小学生|新生|毕业生"
    rf"|客户|会员|"
    rf"粉丝|病人|患者){END})(?P<occupation>(?:(?!的)[{H}A-Za-z]){{2,10}})){END}", confidence=0.9)
_add(rf"是(?:个|一个|一名|一位)?{_S}的(?:[{H}]{{0,4}}?)(?:学生|研究生|本科生|博士生|硕士生|大学生|新生){END}",
    confidence=0.9)
_add(rf"(?:是)?在(?:一家|一个|一所|某家|某)?{_W}(?:里)?(?:当|做|担任|任|干)(?:的是|着|过|"
    rf"了[{N}几多]+年的?)?{_A_JOB}(?P<occupation>[{H}A-Za-z]{{2,10}}){ON}", confidence=0.9)
_add(rf"在(?:老家)?[{H}]{{2,6}}?(?:那边|这边)?(?:当|做|担任|干){_A_JOB}(?P<occupation>[{H}A-Za-z]{{2,10}}){ON}")
_add(rf"(?:是)?在(?:一家|一个|一所|某家|某)?{_W}(?:里)?{_NOW_WORKS}(?:的)?{ON}", confidence=0.9)
_add(rf"(?:是)?在(?P<works_in>{PLACE})(?:那边|这边)?{_NOW_WORKS}(?:的)?{ON}")
_add(rf"(?:是)?在(?P<studies_in>{PLACE})(?:那边|这边)?(?:读书|念书|上学|留学|[读上念](?:大学|本科|研究?生?|硕士?|博士?"
    rf"|高中|初中|中学))(?:的)?{ON}")
_add(rf"(?:的)?(?:工作单位|单位|公司|东家)(?:就)?[是叫]{_W}{END}")
_add(rf"的?(?:职业|工作|本职工作|本职|主业)(?:就)?(?:是|"
    rf"：){_A_JOB}(?P<occupation>[{H}A-Za-z]{{2,10}}){END}", confidence=0.9)
_add(rf"(?:继续|接着|又)?(?:是|当|做|担任|干|成了|成为了?|任)(?:了|着|上了|上|的是|过)?(?:一辈子|半辈子|大半辈子|"
    rf"[{N}几多]+年)?的?{_A_JOB}(?:[{H}A-Za-z]{{0,6}}?的){{0,2}}(?P<occupation>(?:(?!的)[{H}A-Za-z]){{2,10}}?)(?:的)?{ON}")
_SUBJECTS = (
    "数学|语文|英语|物理|化学|历史|地理|生物|体育|美术|音乐|政治|编程|舞蹈|钢琴|日语|法语|小学|初中|高中|作文|"
    "书法|瑜伽|游泳"
)
_LINES = (
    "IT|物业|保洁|模具|外贸|审计|财务|施工|装修|销售|会计|安保|家政|餐饮|物流|电商|直播|自媒体|殡葬|园林|造价|土建|监理"
    "|采购|人事|运营|测试|开发"
    "|[前后]端|算法|设计|建筑|工程|教育|教培|培训|金融|保险|房产|中介|翻译|广告|影视|化工|医药|器械|纺织|服装|五金|建材"
    "|家具|汽修|机械|数控"
    "|电焊|水电|护理|康复|养殖|批发|零售|代购|微商|客服|行政|法务|文员|保安|月嫂|育儿嫂|水产|茶叶|跨境"
)
"""Lines of business: 做外贸."""
_TRADE = (
    "跑(?:快递|外卖|货运|滴滴|大车|长途|运输|业务|销售|网约车|船|出租车?|摩的)|送(?:外卖|快递|货|水|牛?奶|餐|煤气)"
    "|开(?:大?货车|出租车?|滴滴|大车|卡车|公交车?|网约车|地铁|高铁|火车|挖掘机|挖机|铲车|叉车|吊车|塔吊|校车|渣土车|拖拉机)"
    "|修(?:[公铁]?路|车|桥|空调|电脑|手机|家电|地铁|高铁|鞋|表|锁|自行车)|养(?:猪|鸡|鸭子?|鹅|牛|羊|鱼|蜂|虾|螃?蟹|蚕|殖"
    "|鸽子?)"
    f"|教(?:小学|初中|高中|大学|中学)?(?:{_SUBJECTS})|扎钢筋|搬砖|砌墙|贴瓷?砖|刷墙|摆地?摊|带团|带货|拉货|跑船|打鱼"
    f"|看大门|收废品|收银|理发"
    "|管(?:仓库|库房|后勤|人事|账)|站柜台|端盘子|洗碗|写(?:网文|代码|程序)|卖(?:保险|房子?|[豆菜鱼肉花药米油]{1,2}|豆腐"
    "|水果|衣服|鞋子?|早[点餐]|烧烤"
    "|茶叶|海鲜|童装|二手车|手机|家具|建材|酒|烟酒|奶茶|煎饼|包子|小吃|红薯|冰棍)|种(?:地|田|菜|茶|大蒜|草莓|苹果|葡萄"
    "|西瓜|橘子|水稻|玉米|棉花|果树|人参|药材)"
)
"""What is done for a living, as a verb and its object: 送外卖."""
_add(rf"(?:是)?在(?P<spot>{PLACE})(?:那边|这边)?[做搞](?P<work>(?!饭|菜|客|作业|过|什么|核酸|手术"
    rf"|生意)[{H}A-Za-z]{{2,5}}?)(?:的|这行|行业)?{ON}")
_add(rf"(?:是)?在(?P<spot>{PLACE})(?:那边|这边|乡下|山里)?(?P<work>(?:[种养](?!着|了|老|病|生|伤|身|胎)|卖(?!掉"
    rf"|了))[{H}]{{1,4}}?)(?:的|为生)?{ON}")
TRADES = LazyPattern(_TRADE).fullmatch
_WORKED = rf"了?[{N}几多好半]+多?年的?"
_add(rf"(?:是)?在(?:一家|一个|一所|某家|某)?(?P<stand>(?!老家|家){ORG})(?:里|上)?(?P<work>{_TRADE})的?{ON}")
_add(rf"(?:是)?(?:在[{H}]{{2,6}}?)?(?:还是|一直是?|主要|自己|继续)?(?P<work>{_TRADE})(?:的|为生|这行)?{ON}")
_add(rf"(?P<work>{_TRADE})[跑送开修养教卖种写管干]了{LONG}")
_add(rf"(?:早就?|已经|现在)?不(?:再)?(?P<no_work>{_TRADE})了{END}")
_add(rf"(?:是)?(?:在(?P<spot>{PLACE}))?(?:还是|一直|主要|继续)?(?:是)?[做干搞](?:{_WORKED})?(?:的是)?(?P<work>(?:{_LINES})(?:生意|工作)?)(?:的|这行|这块)?{ON}")
_add(rf"(?P<no_works_at>)(?:从)?(?P<no_occupation>[{H}]{{2,8}}?)的?岗位(?:上)?(?:退下来|退休|下来|离开)了?{END}")
_add(rf"(?P<work>(?:做|搞|干|跑|送|修)[{H}A-Za-z]{{2,8}}?)的$")
_add(rf"(?P<work>(?:卖|教|开)[{H}A-Za-z]{{2,8}}?)的$", sure=False)
_add(rf"(?:早就?|已经)?不(?P<no_work>教书|跑车|送外卖|送快递|跑外卖)了{END}")
_add(rf"是个?(?P<work>(?:做|搞|干|卖|教|开|跑|送|修|写|拍|画|唱|管|带|跳|玩)[{H}A-Za-z]{{1,8}}?)的{END}", confidence=0.85)
_add(rf"(?:在[{H}]{{2,6}}?)?(?P<work>(?:做|搞)[{H}]{{0,6}}?(?:生意|买卖|批发|外贸|装修|直播|电商|工程)){END}", sure=False)
_add(rf"从事(?P<work2>{_JOB})(?:工作|行业|这行|方面的工作){END}|搞(?P<work>IT|软件|硬件|科研|装修|工程|金融|音乐|艺术|"
    rf"设计|教育|外贸|直播|自媒体|电商|养殖)的?{END}")
_EMPLOYER = (
    rf"(?:[国央外私民药车]企|[{H}A-Za-z]{{0,6}}?(?:医院|公司|集团|银行|大学|中学|小学|幼儿园|[一二三四五六七八九十]中"
    rf"|法院|电视台|报社|出版社|税务局|公安局))"
)
_add(rf"(?:是|[当做]|被?(?:任命|提拔|聘|提|调任|升|选)(?:为|成))(?:了"
    rf"|上)?{_A_JOB}(?P<works_at>{_EMPLOYER})的?(?P<occupation>[{H}]{{2,6}}){END}")
_add(rf"(?P<works_at>{_EMPLOYER})(?P<occupation>[{H}]{{2,6}}){END}", sure=False)
_family("^，")
_add(rf"(?P<occupation>[{H}A-Za-z]{{2,8}}?)(?:一个|一枚|一名)?{END}", sure=False, confidence=0.7)
# Languages.
_family("语话文")
_SPEAK = (
    "(?:会说|会讲|能说|能讲|会一点儿?|会|懂一点儿?|懂|精通|讲|说|只会讲|只会说|只会)(?:一口|一点儿?|一些|"
    "点)?(?:流利的?|地道的?|标准的?)?(?:的)?"
)
_add(rf"(?:的?母语)(?:是|为)(?P<speaks>{LANGUAGES})", many=True, confidence=0.9)
_add(rf"(?:还|也|都|只)?{_SPEAK}(?P<speaks>{LANGUAGES})(?!书|课|老师|歌|电影|小说|字)", many=True, confidence=0.9)
_add(rf"(?P<speaks>{LANGUAGES})(?:我)?(?:我?也|都|还)*(?:会[说讲]?|能[说讲]|[说讲]|懂|行|可以|没问题|凑合|过得去"
    rf"|精通){END}", many=True)
_add(rf"(?P<no_speaks>{LANGUAGE})(?:我)?(?:还是|完全|目前|基本|是)*(?:零基础|一窍不通|一?点儿?都?不会|一句(?:都"
    rf"|也)?(?:不会|听不懂)|一个字(?:都|也)?不(?:会|懂))")
_add(rf"(?P<speaks>{LANGUAGE})(?:[说讲][得的])?(?:很|挺|非常|特别|还|蛮|相当|贼|超|也)*(?:流利|溜|好|不错|会一点儿?|"
    rf"会){END}")
# Favourites, likes, dislikes, hobbies.
_family("爱喜欢好讨厌烦迷恨怕戒兴感控粉受惯碰沾恶坑吃喝坚每天没不晚早常平业下周被打踢弹拉练跳玩画写拍钓跑骑爬游吹唱放")
_TASTE = "(?:喜欢|爱|爱吃|爱喝|爱看|爱听|爱玩|喜欢吃|喜欢喝|喜欢看|喜欢听|喜欢玩|欣赏|崇拜)"
_add(rf"最{_TASTE}的(?P<what>[{H}]{{1,6}}?)(?:还是|一直是|就是|其实是|当然是|永远是|是|"
    rf"叫)(?P<favourite>{THING}){END}", confidence=0.9)
_add(rf"是(?:个|一个)?(?:铁杆|资深|忠实)?的?(?P<likes>(?!一?个|铁杆|资深|忠实|超级|老"
    rf"|大)[{H}A-Za-z]{{2,6}}?)队?的?(?:铁杆|资深|忠实|超级|死忠|老)?(?:球迷|歌迷|影迷|书迷|粉丝|铁粉){END}")
_add(rf"最?{_TASTE}的(?:就|还)?是(?P<likes>{THING}){END}", many=True)
_add(rf"{_TASTE}的[{H}]{{1,6}}?(?:就|还)?(?<!不)[是有](?!很多|好多|不少)(?P<likes>{THING}){END}", many=True)
_add(rf"最?(?:讨厌|烦|恨|怕|不喜欢|不爱吃|受不了)[吃喝]?的(?:[{H}]{{1,6}}?)?(?:就|"
    rf"还)?(?<!不)是(?P<dislikes>{THING}){END}", many=True)
_add(rf"(?:兴趣)?爱好(?P<hobby>{ACTIVITIES}|(?![是有很多广者])[{H}]{{2,4}}?){END}")
_add(rf"(?:平时|业余|唯一|最大)?的?(?:兴趣爱好|业余爱好|爱好|兴趣|业余生活)(?:就|主要)?(?:是|有|包括|：|"
    rf"在于)(?P<hobby>{THING}){END}", many=True, confidence=0.9)
_add(rf"(?:不再|再也不|再不)(?:那么|这么)?(?:喜欢|爱|吃(?![饭药素斋生]|[猪牛羊红]肉)|喝(?!药))(?:吃|"
    rf"喝)?(?P<no_likes>{THING}){END}", many=True)
_add(rf"不(?:太|怎么|大)?(?:喜欢|爱|吃(?![饭药素斋生]|[猪牛羊红]肉)|喝(?!药))(?:吃|"
    rf"喝)?(?P<no_likes>{THING})了[啊呀啦哈]?\s*$", many=True)
_add(rf"戒(?!不)(?:掉)?(?:了)?(?:喝|吃)?(?![荤肉糖碳])(?P<no_likes>{THING})了?{ON}", many=True, confidence=0.7)
_add(rf"(?:从来|从|一直|都|向来)?(?P<diet>不能?(?:吃|沾)(?:[猪牛羊鸡鸭鹅狗兔鱼红白]+肉|肉类?|荤腥?|辣的?|碳水|麸质|"
    rf"乳制品|"
    rf"蛋奶|糖|主食|生冷|海鲜|内脏|葱姜蒜|甜食|晚饭|晚餐|夜宵|油炸食品|"
    rf"油腻的?)(?:和[{H}]{{1,3}})?)(?:的)?{END}", confidence=0.85)
_add(rf"(?:{VERY})(?:不{VERY}(?:喜欢|爱)|讨厌|受不了|烦|反感|不待见|厌恶|吃不惯|不{VERY}吃(?!.*[饭药了亏素])|"
    rf"(?:从来?|向来|一向)不[吃喝碰]|不{VERY}喝(?!.*[药了])|恨透了|看不惯|接受不了|见不得)(?:吃"
    rf"|喝)?(?P<dislikes>{THING}){END}", many=True)
_add(rf"(?:最|特别|很|超级?|挺|从小)怕(?![是得死我你他她])(?P<dislikes>{THING}){END}", many=True)
_add(rf"(?:怕|恨|烦|讨厌)(?P<dislikes>{THING})[怕恨烦]得(?:要死|要命|不行){END}")
_add(rf"对(?P<dislikes>{THING})(?:真的|实在|是|完全)*(?:一点|半点|丝毫)?(?:儿)?(?:兴趣都没有|兴趣也没有|没啥兴趣"
    rf"|毫无兴趣){END}", many=True)
_add(rf"对(?P<dislikes>{THING})(?:一点)?(?:无感|不感冒|没兴趣|不感兴趣|没什么兴趣|提不起兴趣){END}", many=True)
_add(rf"(?:{VERY})(?:对)(?P<likes>{THING}){VERY}(?:感兴趣|着迷|情有独钟|上瘾|有兴趣|入迷){END}", many=True)
_add(rf"(?:{VERY})(?:迷上|爱上|喜欢上|沉迷|沉迷于|痴迷|痴迷于|入坑)了?(?:吃|喝)?(?P<likes>{THING}){END}", many=True)
_add(rf"(?:{VERY})(?:喜欢|热爱|酷爱|喜爱|钟爱|偏爱|迷(?!路|茫|糊|上|信)|"
    rf"爱(?=[捣折吃喝看听玩唱跳打旅运做逛拼拍画写读钓跑爬骑游养种收弹摄健])"
    rf"|(?<=[最超特很真挺蛮])爱)(?![吃喝看听玩]?的)(?:吃|"
    rf"喝)?(?P<likes>{THING}){END}", many=True)
_add(rf"(?:没事的时候|没事|空了|闲下来|业余|闲暇时?|有空|一有空|下班后?|放假|周末)?(?:就|都|会|基本|经常|常|总|"
    rf"一般)*(?:爱|喜欢)(?P<hobby>{ACTIVITIES})")
_add(rf"(?:很久|好久|早就?|已经|再也)*(?:没有?|不|放弃了?)(?:再|怎么|去|玩|跑|打|踢|练"
    rf"|弹)*(?P<no_hobby>{ACTIVITIES})了?{END}")
_add(rf"[练学玩打弹拉跳画下钓]了(?:[{N}几好]+多?|多)年的?(?P<hobby>(?:{ACTIVITIES}|吉他|钢琴|古筝|围棋|象棋|书法))了?{END}")
_add(rf"会(?P<hobby>(?:弹|吹|拉)[{H}]{{1,4}}){END}|(?P<hobby2>弹(?:贝斯|吉他|钢琴|古筝|琵琶|电子琴)|拉(?:二胡|[大小]?提琴"
    rf"|手风琴)|吹(?:萨克斯|笛子|口琴|葫芦丝)|打(?:架子)?鼓)的?{END}")
_add(rf"(?:从来?|向来|一向)(?:就|也|都)?不(?P<no_hobby>{ACTIVITIES}){END}")
_add(rf"被[{H}]{{1,4}}(?:拉进|带进|安利|拉入|带入)了?(?!坑)(?P<hobby>[{H}]{{2,5}}?)(?:的坑|坑|圈|的圈子)?了?{END}")
# Health and food.
_family("戒功肉荤事应题敏耐疹痒肿泻素斋真酮碳麸断地低减糖食轻肚")
_A = rf"(?P<allergic_to>(?!一[吃喝碰沾闻])[{H}A-Za-z、]{{1,12}}?)"
_NOT_ALLERGIC = "(?:已经|现在|并|都|其实)?(?:不再|再也不|不会|不|没有|没)(?:怎么|会|再)?(?:过敏|不耐受)"
_add(rf"对(?P<no_allergic_to>[{H}A-Za-z、]{{1,12}}?){_NOT_ALLERGIC}", many=True, confidence=0.9)
_add(rf"(?:是)?对{_A}(?:严重|有点儿?|特别|会|都|有|轻度|重度|很|非常|也)*(?:过敏|不耐受)(?!的人|性|"
    rf"吗)", many=True, confidence=0.95)
_add(rf"(?:被(?:医生|医院)?(?:查|诊断|确诊)(?:出来?|为|是)?(?:对)?|被(?:医生)?查出来?|查出来?|检查出|测出来?|有|患有|是|"
    rf"属于|会|天生)?对?{_A}(?:严重|重度|轻度)?(?:过敏(?!的|性|一般|吗|原)|"
    rf"不耐受)(?:体质)?(?:{ON}|(?=在))", many=True, confidence=0.9)
_add(rf"(?:一)?(?:吃|碰|喝|沾)到?了?{_A}(?:全身|浑身|身上|嘴巴|嘴唇|喉咙|脸上?|眼睛|皮肤|舌头)?(?:就|会|就会|都会"
    rf"|必)(?:全身|浑身|满身|嘴|喉咙)?(?:过敏|起红?疹子?|长疹子|"
    rf"发?痒|肿)", many=True)
_add(rf"(?:所以)?(?:吃不了|碰不得|不能碰|不能吃|不能喝){_A}[，,]?(?:因为)?会?过敏{END}", many=True)
_add(rf"过敏的(?:其实)?是{_A}{END}", many=True)
_add(rf"(?:一)?(?:吃|碰|喝|沾|闻)到?了?{_A}(?:就|会|都|总)*过敏(?:了|{END})", many=True)
_ILL = (
    "(?:被|医生|医院|刚|去年|上周|昨天|今天|也|结果|原来|有|得|患|是|查|出|来|检|测|确诊|诊断|为|上|了)*"
    "(?P<allergic_to>乳糜泻|麸质病)"
)
_add(rf"{_ILL}{ON}", confidence=0.9)
_add(rf"(?:有)?{_A}不耐症?{END}")
_add(rf"(?:不能|不敢|吃不了|碰不得)(?:吃|喝|碰)?{_A}[，,]一[吃喝碰沾闻](?:到|了)?就", many=True)
_DIETS = (
    "[戒断](?:荤|肉|糖|碳水?|奶)|清淡饮食|弹性素食|低盐饮食|低糖饮食|低脂饮食|低嘌呤|控糖|半素|奶素|蛋素|轻食|无乳糖|"
    "高蛋白饮食|吃素|素食|纯素|全素|"
    "蛋奶素|清真|吃斋|生酮|低碳|无麸质|轻断食|间歇性断食|地中海饮食|减脂餐|无糖|低GI|无糖饮食|生食|鱼素|锅边素"
)
_add(rf"(?P<no_diet>)(?:又|已经|最后|还是)*(?:破戒|开荤|破功)了{END}")
_add(rf"(?P<no_diet>)(?:又|重新|现在)*(?:开始|恢复|改回)(?:又|重新)?吃(?:肉|荤)了?{END}")
_add(rf"(?:不再|再也不|不|已经不|没有|没)(?:[算是]|完全|严格|真正|个|吃(?!素|斋)|的)*(?P<no_diet>{_DIETS})(?:餐"
    rf"|饮食)?(?:主义)?者?")
_add(rf"(?:开始|改|改成|改为|转)+(?:吃(?!素|斋)|走|执行|只|了|成)*(?P<diet>{_DIETS})(?:餐|食|饮食|主义)?者?",
    kind=STARTED, confidence=0.9)
_add(rf"(?:开始|一直|常年|长期|在家|是|信佛|改|改成|改为|坚持|采用|在|走|执行|只|只能|属于|个|吃|的|一名|一个|"
    rf"严格的?)*(?P<diet>{_DIETS})(?:餐|食|饮食|主义)?者?", confidence=0.9)
# Possessions and animals.
_family("那套名养捡收抱领买接有没开骑用戴弹手把卖出换购入抢提淘拍添置的经车电相座笔")
_NAMED_IN = rf"(?:(?:名叫|叫做|名为|叫)(?P<name2>[{H}A-Za-z]{{1,8}}?)的)?"
_add(rf"(?:家里?)?(?:(?:没有|没|不|从没)养(?:过)?"
    rf"|没有){COUNT}(?:叫[{H}A-Za-z]{{1,6}}的)?(?P<no_pet>[{H}]{{0,3}}?(?:{PET}|"
    rf"宠物))(?:了)?{END}")
_add(rf"(?:家里?)?(?:还|新|只|刚|又|去)*(?:领养|收养|捡到|捡|收留|抱养|养|接回|抱回|来|添|多|"
    rf"买(?!.{{0,4}}[鸡鱼猪鸭蛇]))(?:了|过|着|"
    rf"有|的是|回来?)*{COUNT}{_NAMED_IN}(?P<pet>(?:(?![的了院屋笼])[{H}]){{0,4}}?(?:{PET}))(?![{H}]*(?:店|的人|粮|砂|毛|"
    rf"窝))", confidence=0.9)
_add(rf"(?:家里?)?(?:还|也)?有(?:[一两二三四五六几]|\d+)?(?:只|条|头|匹|"
    rf"缸)(?:[{H}\d]{{1,3}}岁的)?(?:{_NAMED_IN})(?P<pet>(?:(?![的了院屋笼])[{H}]){{0,4}}?(?:{PET}))", confidence=0.85)
_NOT_DYING = (
    "我你他她它们人家这那谁机得要快就会都没不是被该热冷饿累困烦气急笑吓疼痛渴忙聊心难吃看听喝玩香臭丑甜苦辣贵慢恨爱想讨厌好坏"
    "高兴激动郁闷尴尬害怕担丢羡慕嫉妒后悔恶可怜幸福感馋羞挤堵闷吵打杀撞病冻干枯旱爷奶爸妈叔伯姑姨舅婆公哥姐弟妹老师友事朋"
)
_PET_LIKE = rf"(?:{PET}|{PET_NAMES}|[小阿大][{H}]|(?P<twice>[{H}])(?P=twice)|[A-Z][a-z]{{1,12}})"
_OWNED = "(?:辆|台|套|把|架|栋|部|艘|块|间|处|支|枚|张|件|双)"
_BRANDS = (
    "特斯拉|比亚迪|大众|丰田|本田|宝马|奔驰|奥迪|五菱宏光|五菱|吉利|长安|理想|蔚来|小鹏|别克|福特|日产|马自达|"
    "沃尔沃|保时捷|华为|苹果|小米|iPhone|安卓|三星|OPPO|vivo|荣耀|一加|联想|戴尔|ThinkPad|MacBook|iPad|尼康|佳能"
    "|徕卡|富士"
)
_add(rf"没有?(?P<no_owns>车)[也和、，]?没有?(?P<no_owns2>房){END}")
_add(rf"(?:没有|没)(?P<no_owns>车|房子?|驾照|手机|电脑|电视|私家车|摩托车?|信用卡){END}")
_add(rf"(?:名下(?:还|也|就|只)?有?|(?:家里|手上|手里|手头)?(?:还|也|就|只)?有)(?:[一两二三四五六七八九十几]|"
    rf"\d+)?{_OWNED}(?:自己的|新的?|二手的?|旧的?)?(?P<owns>[{H}A-Za-z0-9 ]{{1,12}}?){END}", confidence=0.8)
_add(rf"有(?P<owns>房)[也和、，]?有(?P<owns2>车){END}")
_add(rf"(?:(?:名下)?(?:有房|没房)[也和、，]?)?有(?P<owns>车)(?:一族)?{END}|有(?P<owns2>房)[也和、，]?(?:无|没)车{END}")
_add(rf"(?:在[{H}]{{2,6}}?)?(?:还|也|就)?有(?:[一两二三四五六七八九十几]|\d+)(?:个|家|间|套|处|片|亩"
    rf"|座)(?P<owns>(?:自己的|[{H}]{{0,3}})?(?:档口|店面|铺子|铺面|门面|房子|房|公寓|别墅|"
    rf"厂房?|作坊|果园|茶园|鱼塘|车库|仓库|院子|店)){END}")
_add(rf"(?:手上|手里|手头|家里)(?:就|还|也|只)?(?:有)?(?:[一两二三]){_OWNED}(?P<owns>[{H}A-Za-z0-9 -]{{2,14}}?){END}")
_add(rf"(?:家|的)?(?:那|这){_OWNED}?(?P<owns>(?:[老新旧二手]{{1,2}})?(?:房子|房|[一两二三四五\d]居室|车|吉他|钢琴|小提琴"
    rf"|相机|电脑|摩托车?|{_BRANDS})[{H}A-Za-z0-9]{{0,4}}?)"
    rf"(?:已经|都)?(?=在|是|[{N}]+[平年]|用了|骑了|买了)")
_add(rf"(?:自己|一个人|和[{H}]{{1,3}}|跟[{H}]{{1,3}})?(?:一起|合伙|合开)?(?:在[{H}]{{2,6}}?)?(?:开|经营|弄|盘|搞)(?:了|着"
    rf"|下)?(?:[{N}几多]+年)?(?:了)?(?!一?辆)(?:一)?(?:家|间|"
    rf"个)?(?:自己的|小)?(?P<owns>[{H}A-Za-z0-9]{{0,8}}(?:店|馆|工作室|公司|厂|诊所|餐厅|民宿|超市|书吧|酒吧|网店|农场"
    rf"|客栈|"
    rf"面馆|咖啡厅|律所|补习班|铺子?|洗车行|车行|商行|工坊|花房|茶室|小摊|饭馆|早餐车|幼儿园|驿站|理发店|培训班)){END}")
_TOOL = "(?:手机|电动车|电瓶车|摩托车?|自行车|车|电脑|相机|座驾|笔记本|平板|耳机)"
_ONE = "(?:一?(?:辆|台|部|块|把))"
_TO = rf"(?:上下?班|通勤|代步|出门|回家|买菜|拍照|去[{H}]{{1,5}}|接?送[孩娃][{H}]{{0,3}})?"
_add(rf"(?:上下?班|通勤|平时|出门)(?:都|是|就)?[骑开](?P<owns>电动车|电瓶车|摩托车?|自行车|小电驴"
    rf"|(?:{_BRANDS})[{H}A-Za-z0-9]{{0,6}}?){END}")
_add(rf"(?:(?:现在|平时)?[开骑用戴弹]|的?新?(?:买的)?{_TOOL}|手里的?)(?:的是|着|的|是|换成了?|换了)?"
    rf"(?:{_ONE}(?P<owns>[{H}A-Za-z0-9]{{2,10}}?)|{_ONE}?(?P<owns2>(?:{_BRANDS})[{H}A-Za-z0-9 ]{{0,8}}?)){_TO}{END}")
_add(rf"(?:(?:[开骑用戴弹]的|手里的?)是(?P<owns>[{H}A-Za-z0-9]{{2,10}}?)|"
    rf"用的?(?P<owns2>[{H}A-Za-z0-9]{{2,6}}{_TOOL})){END}")
for _whole in (False, True):
    _add(rf"(?:就)?把(?:我家|我的|那只|这只)?(?P<no_pet_name>{_PET_LIKE})(?:给)?(?:送人|送走|弄丢|送给[{H}]{{1,6}})了{END}",
        whole=_whole)
_THAT = rf"(?:那|这)?(?:辆|台|套|把|部|架|个|条)?(?:[{H}]{{1,6}}的)?(?:老|旧)?"
_IT = rf"(?P<no_owns>车|房|(?!钥匙|钱包|身份证|雨伞)[{H}A-Za-z0-9]{{2,8}}?)"
_GOES = (
    rf"(?:卖|换|扔|送人|处理|转手|转卖|转让|转让出去|盘出去|(?:转手|[卖送])给[{H}]{{1,6}}|报废|弄丢|丢|偷)(?:掉|走)?了"
)
_WHEN = "(?:已经|都|早就?|昨天|前天|上周|上个月|去年|刚)*"
_add(rf"(?:家|的)*{_THAT}{_IT}{_WHEN}(?:被[我人]?(?:给)?)?{_GOES}+{END}", sure=False)
_add(rf"(?:卖掉?|出)了{_THAT}{_IT}{END}")
_add(rf"把{_THAT}(?:我的?|家里的?)?{_IT}(?:给)?(?:卖|转|送)(?:给[{H}]{{1,4}}|掉|出去)+了{END}")
_add(rf"把(?:我的?|那家?|这家?)?(?P<no_owns>[{H}A-Za-z0-9]{{1,8}}(?:店|馆|厂|公司|工作室|餐厅|民宿))(?:给)?(?:关|盘|转"
    rf"|卖)(?:掉|出去|了)+{END}")
_add(rf"把(?:那|这)?(?:辆|台|套|把|部|架)?(?:老|"
    rf"旧)?(?P<no_owns>[{H}A-Za-z0-9]{{1,10}}?)换成了?(?P<owns>[{H}A-Za-z0-9]{{2,12}}?){END}", kind=STARTED)
_add(rf"(?:刚|新|又|终于|在网上|网上|在[{H}]{{2,4}}(?=买|换|租|淘|抢|拍|入手|下单)|剁手|逛街|下单|刚刚|自己|前阵子|给自己"
    rf"|咬牙|狠心|花[{H}\d]{{1,6}}|攒了?[{H}]{{1,4}}|贷款|全款|"
    rf"双十一|抢|入手|最近|攒钱|花钱|"
    rf"给(?:我?[爸妈老公婆女儿子孩自己]{{1,3}}))*(?:买|换|"
    rf"购|入手|下单|抢|入|提|淘|拍下|购入|添置|置办)(?:过|的是|了|到了)(?:[一两二三四五六七八九十几]|\d+)?(?:只|条|个|辆|"
    rf"台|套|把|架|本|件|双|部|张|块|款|间|栋|幅|副|瓶|支|顶|枚|盒|箱|株|棵)?(?:新的|"
    rf"二手的?)?(?P<bought>[{H}A-Za-z0-9 ]{{1,12}}?){END}", kind=EVENT, confidence=0.8)
_add(rf"(?:[攒存]了?[{H}]{{1,4}}?)?(?:终于)?把(?:那|这)?(?:[一台辆套把部架块本张件条双]){{0,2}}"
    rf"(?P<bought>[{H}A-Za-z0-9 ]{{2,12}}?)(?:拿下|买下来?|提回来?|入手|抢到|买到手?)了{END}", kind=EVENT)
_add(rf"新(?:买|入|提|换)的?(?:那|这)?(?:台|辆|套|把|部|架|块)?(?P<bought>[{H}A-Za-z0-9]{{2,12}}?)(?:刚|终于|今天"
    rf"|昨天)*(?:到了?|到货了|到手了|提回来了|送来了){END}", kind=EVENT)
_add(rf"(?:最后|最终)?没(?:有)?买(?!过)(?:那|这)?(?:件|个|辆|台|套|把|架|本|双|部|张|"
    rf"块)?(?P<no_bought>[{H}A-Za-z0-9]{{1,10}}?){END}", sure=False)
# Journeys and plans.
_family("取推不名要去到来游玩逛爬飞跑打登从没计准定决约想说订预报安体疫牙手复")
_V = rf"(?P<visited>[{H}A-Za-z·]{{2,10}}?)"
_TRIP = "(?:旅游|旅行|出差|玩|度假|自驾|看[^，]{1,6}|爬山|[一两三四五六七八九十几\\d]+(?:次|趟|回|天|周|个月))*"
_add(rf"(?:去过|到过|来过|去了趟|去了一趟|去的是|游过|玩过|逛过)(?:[一两三几\d]+(?:次|趟|"
    rf"回))?(?P<visited>[{H}A-Za-z·、]{{2,16}}?"
    rf"|{LATIN_NAME}(?:[和、]{LATIN_NAME}){{0,3}}){_TRIP}(?:了)?{END}", kind=EVENT, many=True,
    confidence=0.9)
_TOOK = rf"(?:(?:带着?|陪着?|跟|和|坐|开车?|自驾|一个人|全家|一家人?|[{H}]{{1,2}}口)[{H}]{{0,8}}?)?"
_add(rf"(?:我们?)?{_TOOK}(?:去|到|回)[过了](?:一)?[趟次回]{_V}(?:旅游|旅行|玩|度假)?了?{END}", kind=EVENT)
_add(rf"{_TOOK}去(?P<trip_seen>[{H}]{{2,4}}?)(?:吃|玩|逛|看|喝|泡|爬|拍|住|待|呆|疯"
    rf"|浪)[^，]{{0,3}}了[^，]{{0,8}}{END}", kind=EVENT)
_add(rf"(?:带|陪|跟|和)?(?:爸妈|老婆|老公|孩子|家人|朋友|女儿|儿子|男友|女友|全家|一家人|我妈|我爸|闺蜜|同事|爱人|"
    rf"对象)?(?:一起)?(?:去)?(?:去了|爬了|逛了|游了|飞了|跑了趟|打卡了|登了)(?:趟|"
    rf"一趟)?(?P<visited>[{H}A-Za-z·、和]{{2,16}}?){_TRIP}(?:了)?{END}", kind=EVENT, many=True)
_add(rf"(?:刚刚?|才)?从{_V}(?:旅游|旅行|出差|度假|玩|飞)*回来{END}", kind=EVENT)
_add(rf"(?:目前|暂时|现在)?没(?:有)?(?P<no_plans>[{H}]{{2,10}}?)的(?:打算|计划|想法){END}", kind=PLAN)
_add(rf"(?P<no_plans>[去回来][{H}]{{2,10}}?)的?(?:计划|行程|打算|安排|旅行)(?:泡汤|取消|黄|作废|搁置)了", kind=PLAN)
_add(rf"(?:决定|最后|还是|现在)*(?:不(?:打算|准备|想|计划)?|取消)(?P<no_plans>(?:去|回|飞|搬|考|学|参加|报|出国|留学|"
    rf"结婚|换){WORDS}|结婚|"
    rf"出国|搬家|考研|考公|换工作)了{END}", kind=PLAN)
_add(rf"(?:取消|推掉|推迟)了?(?:那场|原定的?|我们的)?"
    rf"(?P<no_plans>[{H}]{{0,6}}(?:婚礼|婚宴|旅行|聚会|预约|行程|面试|会议|约会|机票|饭局))了?{END}",
    kind=PLAN)
_add(rf"(?:正)?(?:打算|计划|准备|定了|决定|决定了|约好|约了|约好了|想好了|说好|说好了|订好了|订了|定好了|预约了|预约好了|"
    rf"报名了|安排了)(?:要|在|好|着)?(?!好(?!了)|怎|什|了$|了吗|不)(?P<plans>{WORDS}){END}", kind=PLAN, confidence=0.8)
_add(rf"(?:定在|约在|选在|改在)(?:{DATE}|[{H}\d]{{2,6}}?[号日月周末])"
    rf"(?P<plans>{WORDS}|领证|结婚|见面|搬家|出发|开业){END}", kind=PLAN)
_add(rf"报了(?:个|一个|名)?(?P<plans>[{H}A-Za-z]{{2,10}}?(?:班|课|考试|比赛|马拉松|训练营|课程|团)){END}", kind=PLAN)
# fmt: on


_FUTURE = LazyPattern(
    rf"(?:我?有|约了)(?:个|一个|场|一场)?(?P<plans2>[{H}A-Za-z]{{0,8}}?(?:面试|考试|手术|体检|约会|婚礼|复查|比赛"
    rf"|演出|答辩|聚会|会)){END}|"
    r"(?:就|已经|还|都|也|全家|一起)*(?:是)?(?:要|会|得|该|将|就)?(?P<plans>(?:去|回|飞|到|考|学|带|办|开|换|搬|参加|结婚|"
    rf"把|提|领证|做|看|来|陪|上(?!小学|初中|高中|幼儿园|大学)|跑|入职|加入|跳槽|转|戒|买|减|租|养|报(?!名了)|见"
    rf"|面试|自己|过去|坐|飞|动|接|送|摆|打|"
    rf"从(?=[^，]*(?:搬|离职|辞职|跳|转|毕业))){WORDS}|入职|辞职|离职|毕业|结婚|领证|搬家|出国|考研|考公|高考|中考|开学"
    rf"|退休|聚会|聚餐|毕业旅行|报到|体检|打疫苗"
    rf"|换工作){END}"
)
WILL = ChineseFrame(_FUTURE.match, ("plans", "plans2"), PLAN, False, True, 0.75)
"""After a time to come: 下个月要去三亚度假."""
_GOING = LazyPattern(rf"要(?P<plans>(?:去|回|飞|搬|考|学|自己开|开|戒|攒钱|出国|留学){WORDS}|结婚|换工作|出国){END}")
GOING = ChineseFrame(_GOING.match, ("plans",), PLAN, False, False, 0.75)

_AT_WILL = "(?:没事|有空|一?有时间|闲着?)"
_LEISURE = (
    rf"(?P<hobby>(?:{ACTIVITIES})(?!上下?班|上学|下班|回家|通勤|去|送|接)|(?:爬(?!楼)|拼(?!命|单|车)|练(?!车|科)"
    rf"|弹|画|跳|骑(?!车[上去回送接])|钓|踢|织|刻|拍|唱)(?![了过着完到不得起上下出])[{H}]{{1,4}}?{END}|做(?:义工|志愿者?"
    rf"|公益))"
)
_DOING = LazyPattern(rf"{_AT_WILL}?(?:(?![不没想教看买])[{H}\d]){{0,10}}?{_LEISURE}")
DOES = ChineseFrame(_DOING.match, ("hobby",), STATE, False, True, 0.75)
"""After a word for a habit: 晚上打架子鼓."""
_USUALLY = LazyPattern(
    rf"(?:我|俺|基本|一般|几乎|差不多|只要)?(?:天天|每天|每[个周月年]|每晚|周[一二三四五六日末]|星期[一二三四五六日天]"
    rf"|经常|常常?|下班|业余|平时|早晚|{_AT_WILL})"
    rf"(?:(?![不没想教看买])[{H}\d]){{0,12}}?{_LEISURE}"
)
USUALLY = ChineseFrame(_USUALLY.match, ("hobby",), STATE, False, True, 0.75)
"""With a word for a habit: 每天早上六点去公园打太极."""

# Clauses whose topic is their object.
# fmt: off
_ME = "(?:我|俺|本人)"
_T = rf"[{H}A-Za-z]{{1,8}}?(?:这东西|这玩意儿?|这种东西|这个|什么的)?"
_add(rf"(?P<no_speaks>{LANGUAGE}){_ME}?(?:是)?(?:早|已经|都|早就|基本)?(?:一句都|一句也|一个字都|完全|根本)?(?:不会说|"
    rf"不会讲|不会|说不了|忘光了|听不懂|全忘了|忘得差不多了)", whole=True)
_add(rf"(?P<speaks>{LANGUAGES}){_ME}(?:也|还|都)?(?:会|能|说得|讲得|懂)", whole=True, many=True)
_add(rf"(?P<allergic_to>(?!一){_T}){_ME}?(?:真?的?(?:不行|不能[吃碰]|[吃碰]不[得了]))?[，,]?(?:一|只要)?(?:碰|吃|沾|闻|喝)(?:到|了)?(?:一点)?{BODY}(?:就会?|会|都会?)?{BODY}"
    rf"(?:过敏|起红?疹子?|长疹子?|发?痒|发?麻|肿)", whole=True)
_add(rf"(?P<birthday>{DATE})(?:的)?(?:生日|出生){END}", whole=True)
_add(rf"[{H}]{{1,6}}?(?:传|送|留|转)(?:给)?了?我(?:的)?(?:一){_OWNED}(?P<owns>[{H}A-Za-z0-9]{{0,6}}(?:[琴车表机筝箫笛]"
    rf"|房子?|二胡|吉他|相机|电脑|戒指|手镯|项链)){END}", whole=True)
_add(rf"(?:今天|昨天)(?:就)?是{_ME}的?(?P<age>{AGE})岁?(?:大寿|生日)[啦了哦]?{END}", whole=True)
_add(rf"(?P<age>{AGE})岁的我(?!妈|爸|哥|姐|弟|妹|儿|女|老)", whole=True)
_add(rf"(?:作为|身为)(?:一个|一名|一位|个)?(?:在读的?(?P<studies>[{H}]{{2,6}}?)(?:专业)?(?:的)?(?:研究生|本科生|博士生?"
    rf"|硕士生?|学生)|在(?P<works_at>{ORG})(?:上班|工作)的(?:人|打工人)"
    rf"|(?P<occupation>{_JOB})){END}", whole=True)
_add(rf"(?P<no_plans>[{H}]{{2,8}}(?:之行|之旅|聚会|婚礼|面试|约会|旅游|会议|饭局)){_ME}?(?:临时|已经|都)?(?:取消"
    rf"|泡汤|黄|吹)了{END}",
    whole=True, kind=PLAN)
_add(rf"(?P<no_plans>[{H}]{{0,6}}(?:演唱会|音乐节|聚会|婚礼|同学会|展览|比赛|马拉松|讲座|派对|团建"
    rf"|年会)){_ME}?(?:也|还是|就|先)?不(?:去|参加)了{END}",
    whole=True, kind=PLAN)
_add(rf"(?:给|把|送)(?:我家|我们家)?(?:(?:{PET}))?(?P<no_pet_name>[{H}]{{2,3}}?|[A-Z][a-z]+)(?:做了?|送去"
    rf"|给)?安乐(?:死)?了{END}", whole=True)
_add(rf"(?P<no_hobby>{ACTIVITIES})(?:这事儿?|这个|这爱好)?{_ME}?(?:早就?|已经|现在)?(?:放弃|停|戒掉?)了{END}", whole=True)
_BY_NOW = "(?:早就?|已经|现在|也|都|再也|给)*"
_add(rf"(?P<no_hobby>(?P<double>[游跑跳爬骑健画唱滑练钓打踢])[{H}]{{1,2}}){_ME}?{_BY_NOW}不(?P=double)了{END}", whole=True)
_add(rf"(?P<no_hobby>{ACTIVITIES}|吉他|钢琴|古筝|围棋|象棋){_ME}?{_BY_NOW}不[去学玩搞]了{END}", whole=True)
_CARD, _SINCE = "一?[张个]?[年月季次]?卡", "(?:我|最近|上[周个月]+|开始|又)*"
_add(rf"(?P<no_hobby>{ACTIVITIES}){_ME}?的?{_CARD}{_ME}?{_BY_NOW}(?:退|转|卖|不续|没续)掉?了{END}", whole=True)
_add(rf"{_SINCE}(?P<hobby>{ACTIVITIES}){_ME}?(?:也|还|都|刚)*[办充续]了?{_CARD}了?{END}", whole=True)
_add(rf"(?P<no_hobby>[{H}]{{2,5}}?){_ME}?(?:早就?|已经|现在|再也|都|好久|很久)*[不没](?:怎么"
    rf"|再)?[打弹跳练踢拉钓画吹](?:过)?了{END}", whole=True)
_add(rf"(?P<no_owns>[{H}A-Za-z0-9]{{2,8}}?)换成了?(?P<owns>(?:{_BRANDS})[{H}A-Za-z0-9]{{0,6}}?){END}", whole=True)
_add(rf"(?:体检|化验|检查|报告|结果|化验单)?(?:出来了?)?(?=[^，。]{{0,6}}(?:查|诊)){_ILL}{ON}", whole=True, confidence=0.9)
_ONLY_NOW = "(?:今天|昨天|终于|刚刚?|已经|都|也|上周|上个月|总算|正式|今早|早上|下午)*"
_add(rf"(?:{_ME}们?的?)?{_ONLY_NOW}(?:(?:去|跟[他她]|和[他她])*(?:拿到?|领到?|扯|办完?|签)了?(?:离婚证|离婚手续|离婚协议)(?:了|(?={END}))"
    rf"|离婚(?:证|手续|协议书?){_ONLY_NOW}(?:下来|到手|办好|办完|办下来|拿到|领到?"
    rf"|签)了)(?P<no_married_to>){END}", whole=True)
_add(rf"(?:今天)?(?:是)?(?P<no_works_at>)失业(?:后)?的?第[{N}几]+(?:天|周|个月)", whole=True)
_add(rf"(?:{_ME}们?)?{_ONLY_NOW}(?:拿到?|收到?|领到?)了?(?:{_ME}们?的?)?(?:在)?{_L}的?(?:新房子?|房子|新家|公寓|房)的?钥匙(?:了|{END})",
    kind=STARTED, whole=True)
_add(rf"(?:{_ME}们?)?{_ONLY_NOW}(?:得|不得不|只能|要)?[跟和与向](?:{_ME}们?)?家?的?(?P<no_pet_name>{_PET_LIKE})(?:永远|正式|好好|最后)*"
    rf"(?:告别|告了别|道别|道了别|说了?再见)了?{END}", whole=True)
_add(rf"(?P<no_allergic_to>{_T}){_ME}(?:吃)?(?:是)?(?:没事|不过敏|没问题){END}", whole=True)
_add(rf"(?P<dislikes>{_T})[，,]?{_ME}(?:真的?|实在|是|从来|一直|就|最|都|可|怎么也)*(?:喜欢不起来|受不了|吃不惯|讨厌|"
    rf"不喜欢|不爱吃|不爱|不吃|欣赏不来|接受不了)(?!了){END}", whole=True)
_add(rf"除了(?P<speaks>{LANGUAGES})(?:以外|之外|外)?", whole=True, many=True)
_add(rf"(?P<favourite>《[^《》]{{1,20}}》|[{H}A-Za-z]{{2,8}}?)(?:一直|绝对|永远|"
    rf"就)?是{_ME}最{_TASTE}的(?P<what>[{H}]{{1,6}}?){END}", whole=True, confidence=0.9)
_LOST = (
    "(?:昨天|昨晚|前天|今天|今早|今晚|刚刚?|刚才|前几天|去年|已经|不小心|病|也|凌晨|早上|早晨|清晨|上午|中午|下午|傍晚"
    "|晚上|夜里|半夜"
    "|[上这]?个?(?:周|星期|礼拜)[一二三四五六日天末]?|[上这]个月|[\\d一二三四五六七八九十]{1,3}[年月号日点])*"
)
_add(rf"(?:我家(?P<no_pet_name>{_PET_LIKE})|(?:{PET})?(?P<no_pet_name2>{PET_NAMES})){_LOST}(?:就|都|还是)*"
    rf"(?:没|不在|被?送人|被?送走|被?送给[{H}]{{1,6}}|被[{H}]{{0,4}}领养走?)了{END}", whole=True)
_add(rf"(?:我们?的?|原定的?)?(?P<no_plans>婚礼|婚宴|订婚宴|蜜月){_LOST}(?:临时|都)?(?:取消|不办|办不成|黄|吹|泡汤)了{END}",
    whole=True, kind=PLAN)
_add(rf"(?:我家|我的|我们家)?(?:(?:{PET})(?=[{H}]{{2}}))?(?P<no_pet_name>{_PET_LIKE}){_LOST}(?:去世|死|走丢|跑丢|丢|"
    rf"被送走|被送人|回喵星|回汪星){{1,2}}了{END}", whole=True)
_add(rf"(?:我家|我的|我们家)?(?:{PET})?(?P<no_pet_name>{_PET_LIKE}|(?:(?![{_NOT_DYING}])[{H}]){{2,3}}?){_LOST}(?:还是"
    rf"|最后|终于)*"
    rf"(?:去了?[喵汪]星|被?[{H}]{{0,3}}撞死了?|病死了?|安乐死了?|过世了?|去世了?|不幸去世了?"
    rf"|离开了?我们)(?:了)?{END}", whole=True)
_add(rf"(?:我家(?P<no_pet_name>{_PET_LIKE})|(?:{PET})?(?P<no_pet_name2>{PET_NAMES}|"
    rf"(?<=[猫狗])(?P<double>[{H}])(?P=double))){_LOST}走了{END}", whole=True)
_add(rf"(?:我家|我们家|我的?)的?(?:{PET})(?P<no_pet_name>[{H}]{{2,3}}?){_LOST}(?:去世|死|走){{1,2}}了{END}", whole=True)
# 饿死了 and 无聊死了 are no names.
_add(rf"(?P<no_pet_name>(?:(?![{_NOT_DYING}])[{H}]){{2,3}}?){_LOST}死了{END}", whole=True)
# 慢慢 alone may be an adverb; 慢慢昨天走了 is of someone.
_add(rf"(?P<no_pet_name>(?![妈爸爷奶哥姐弟妹叔姑舅婶姥公婆人天])(?P<twice>[{H}])(?P=twice))"
    rf"(?:昨天|昨晚|前天|今天|今早|上周|上个月|前几天|去年|已经)+走了{END}", whole=True)
_add(rf"{_THAT}(?!都|全|票|菜|东西|货|书|已经|早){_IT}{_ME}?{_WHEN}(?:被[我人]?(?:给)?)?{_GOES}{END}", whole=True)
_add(rf"(?:公司|单位|老板|领导|厂里)(?:就)?把{_ME}(?P<no_works_at>)(?:给)?(?:辞退|开除|裁|优化|炒"
    rf"|开)(?:掉)?了", whole=True)
_add(rf"{_ME}(?P<no_studies_at>)(?:终于|总算|刚刚?|今天|昨天|上周|上个月|已经|大学|本科|研究生|硕士|博士|高中|顺利"
    rf"|正式)*(?:毕业[了啦咯]+|(?<=刚大学)毕业){END}",
    whole=True)
_add(rf"(?P<no_hobby>(?:{ACTIVITIES}|吉他|钢琴|古筝|围棋|象棋))(?:我)?(?:也|都|已经)?(?:好多年|很久|好久|多年|几年|"
    rf"好几年)没(?:碰|弹|打|练|玩|拉|下|跑)(?:过)?了?", whole=True)
_add(rf"(?P<no_plans>[去回来][{H}]{{2,10}}?)的?(?:计划|行程|打算|安排|旅行|机?票|事儿?)(?:我)?(?:泡汤|取消|黄|作废|退|"
    rf"搁置)了", whole=True, kind=PLAN)
_add(rf"(?:(?:原定的?|[本下这]个?[月周年]的?))?(?P<no_trip>[{H}]{{2,6}}?)(?:那边)?(?:我们?)?(?:也|还是|就"
    rf"|先)?(?:不(?:打算|准备|想)?去|去不成)了(?:吧)?{END}",
    whole=True, kind=PLAN)
_add(rf"(?P<no_partner>{KIN_NAME})(?:昨天|上周|上个月|刚|已经|最后|就)*把我(?:给)?(?:甩|踹|绿)了{END}", whole=True)
_add(rf"(?:我)?(?:女朋友|男朋友|女友|男友|对象)(?P<no_partner>)(?:昨天|上周|上个月|刚|已经|最后|"
    rf"就)*把我(?:给)?(?:甩|踹)了{END}", whole=True)
_add(rf"(?P<no_hobby>{ACTIVITIES}|吉他|钢琴|古筝|围棋|象棋)(?:我)?(?:也|算是|就算|就|从此|彻底|正式|已经|跟我|和我)*"
    rf"(?:告别|拜拜|再见|放弃|荒废|到头)了{END}", whole=True)
# fmt: on
