"""What is said between people in Chinese: the names of relatives, couples and friends, and who left or lacks whom."""

from __future__ import annotations

from memwell.language.claims import chinese_frames as frames
from memwell.language.claims.chinese_frames import H
from memwell.language.patterns import LazyPattern

NAMES_KIN = LazyPattern(
    rf"(?:的名字|的大名|的小名|的全名|大的|小的|老大|老二|老三|一个|另一个)?(?:其实|就)?(?:名叫|叫做|叫作|名为|取名叫?|"
    rf"起名叫?|小名叫?|大名叫?|叫){frames.QUOTE}(?P<any>{frames.ANY_NAME}){frames.END}"
    rf"|(?:就|其实)?是(?:[{H}]{{1,4}}的)?(?P<sure>{frames.KIN_NAME}){frames.END}"
).match
SECOND = LazyPattern(rf"(?:大的|小的|老大|老二|老三|一个|另一个)叫(?P<any>{frames.ANY_NAME}){frames.END}").match
TWO_NAMES = LazyPattern(rf"(?:分别)?叫(?P<one>{frames.PERSON})和(?P<two>{frames.PERSON})").match
IS_KIN = LazyPattern(
    rf"(?:已经|早就|早|并)?(?P<no>不算|不再|不)?(?:就)?(?:是)?我(?:最好的|最铁的|的|大学|高中|初中|小学|亲|"
    rf"好)*(?P<kin>{frames.KIN_WORDS}){frames.END}"
).match
WITH = rf"[和与跟同](?:我的?|他的?|她的?|自己的)?(?:前)?(?:{frames.KIN_WORDS})?(?P<name>{frames.KIN_NAME})"
WITH_NAME = LazyPattern(WITH).match
COMPANY = LazyPattern(
    rf"[和与跟同](?:我的?|他的?|她的?)?(?:(?:{frames.KIN_WORDS})(?P<kinname>{frames.KIN_NAME})?|"
    rf"(?P<name>{frames.PERSON}))(?:一起)?"
).match
BETWEEN: list[tuple[LazyPattern, str, bool]] = [
    (LazyPattern(rf"{WITH}.{{0,8}}?(?:离婚|离了|办完离婚|离的婚)"), "married_to", True),
    (LazyPattern(rf"{WITH}.{{0,6}}?(?:分手|分了|掰了|吹了|结束了)"), "partner", True),
    (
        LazyPattern(
            rf"{WITH}.{{0,6}}?(?:绝交|闹翻|闹掰|断交|断了联系|不来往了|友尽|早就不是朋友|已经不是朋友|"
            rf"不是朋友)"
        ),
        "friend",
        True,
    ),
    (LazyPattern(rf"{WITH}.{{0,14}}?(?:不再是同事|不在一个(?:单位|公司)|不是同事)"), "colleague", True),
    (LazyPattern(rf"{WITH}.{{0,6}}?(?:结婚|领证|领了证|成家|扯证|登记结婚)"), "married_to", False),
    (
        LazyPattern(
            rf"{WITH}.{{0,6}}?(?:在一起|谈恋爱|谈了.{{0,6}}恋爱|订婚|交往|处对象|复合|.{{0,6}}办婚礼|是情侣|"
            rf"是一对)"
        ),
        "partner",
        False,
    ),
    (LazyPattern(rf"{WITH}(?:都)?是(?:两口子|夫妻|夫妇)"), "married_to", False),
    (LazyPattern(rf"{WITH}(?:都)?是(?:亲|双胞胎|孪生)?(?:姐妹|兄弟|兄妹|姐弟|双胞胎)"), "sibling", False),
    (
        LazyPattern(
            rf"{WITH}(?:都)?(?:是|成了|成为|做了)(?:多年的?|大学|高中)*(?:好朋友|朋友|闺蜜|发小|死党|"
            rf"哥们)"
        ),
        "friend",
        False,
    ),
    (LazyPattern(rf"{WITH}(?:都)?(?:是|成了|成为|做了)(?:多年的?)?(?:同事|搭档)"), "colleague", False),
    (LazyPattern(rf"(?:已经)?(?:嫁给|嫁了)了?(?P<name>{frames.KIN_NAME})"), "married_to", False),
    (LazyPattern(rf"(?:已经)?(?:娶了|娶到了|娶的是|娶)(?P<name>{frames.KIN_NAME})"), "married_to", False),
    (LazyPattern(rf"被(?P<name>{frames.KIN_NAME})(?:给)?(?:甩|踹|绿)了"), "partner", True),
    (LazyPattern(rf"(?:把)(?P<name>{frames.KIN_NAME})(?:给)?(?:甩|踹)了"), "partner", True),
]
ALONE: list[tuple[LazyPattern, str]] = [
    (
        LazyPattern(
            rf"(?:就|已经|刚|正式|终于|早|又)*(?:离婚|离了婚|离的婚|办完离婚手续)(?:了|后)?(?:{frames.ON}|"
            rf"又嫁了)"
        ),
        "married_to",
    ),
    (LazyPattern(rf"(?:至今|还|一直)*(?:没结婚|没有结婚|未婚|没嫁人|没娶)(?:呢|过)?{frames.END}"), "married_to"),
    (
        LazyPattern(
            rf"(?:又|刚|已经|最近|现在|还|目前|是|一直)*(?:被?分手了|被甩了|失恋了|单身(?!公寓|汪$|狗$)|单着|没(?:有)?对象|"
            rf"没(?:有)?男朋友|没(?:有)?女朋友|恢复单身){frames.END}"
        ),
        "partner",
    ),
    (
        LazyPattern(
            rf"(?:没有|没)(?:兄弟姐妹|哥哥|姐姐|弟弟|妹妹|亲兄弟){frames.END}|是独生子女|是独生女|"
            rf"是独生子"
        ),
        "sibling",
    ),
    (LazyPattern(rf"(?:还)?(?:没有|没)(?:孩子|小孩|娃|生孩子|儿女|子女){frames.END}"), "child"),
    (
        LazyPattern(
            r"[和跟与](?:我的?)?(?:女友|男友|女朋友|男朋友|对象)(?:已经|早就?|都|上周|昨天|刚|彻底)*(?:分手|分了|"
            r"掰了|吹了)"
        ),
        "partner",
    ),
    (
        LazyPattern(
            r"[和跟与](?:我的?)?(?:老公|老婆|丈夫|妻子|先生|太太|爱人|媳妇|他|她)(?:已经|早就?|都|上周|去年|刚|"
            r"正式)*(?:离婚|离了)"
        ),
        "married_to",
    ),
]
WEDS = LazyPattern(
    rf"(?:(?P<verb>[嫁娶])(?:给|到|的是)?了?|[和与跟同](?=.{{2,14}}(?:婚|领证|恋|在一起|交往|处对象)))"
    rf"(?:[他她]的?(?:{frames.KIN_WORDS}))?(?P<name>{frames.KIN_NAME})"
).search
PAIR_CUE, ALONE_CUE = LazyPattern("[和与跟同嫁娶被把]").search, LazyPattern("[婚离单恋没独娶嫁掰吹分甩]").search
DIED = LazyPattern("[^，]{0,8}?(?:去世|走了|过世|病逝|不在了|离世|没了|离开了我们|因病走了)").match
PET_GONE = LazyPattern(
    "(?:.{0,8}?)(?:去世|走了|死了|没了|撞死|病死|丢了|跑丢|送人|送走|回汪星|回喵星|不在了|走丢|没救|偷|领走|送给|安乐死|"
    "离开了我)"
).match
