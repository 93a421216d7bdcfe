"""The Chinese rules: what may follow a subject, and which relation it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memwell.language.claims.timing import EVENT, PAST, PLAN, STARTED, STATE

KIN: dict[str, str] = {
    word: relation
    for relation, words in {
        "married_to": "老公 老婆 丈夫 妻子 太太 先生 爱人 媳妇",
        "partner": "男朋友 女朋友 对象 男友 女友 未婚夫 未婚妻",
        "parent": "妈妈 爸爸 母亲 父亲 老妈 老爸 妈 爸 爹 娘",
        "child": "儿子 女儿 孩子 宝宝 大儿子 小儿子 大女儿 小女儿",
        "sibling": "哥哥 姐姐 弟弟 妹妹 大哥 二哥 大姐 二姐 双胞胎 哥 姐",
        "relative": "爷爷 奶奶 外公 外婆 姥姥 姥爷 叔叔 阿姨 舅舅 姑姑 表哥 表姐 表弟 表妹 堂哥 堂姐 堂弟 堂妹 侄子 外甥",
        "friend": "好朋友 好友 朋友 闺蜜 室友 邻居 发小 同学 同桌",
        "colleague": "同事 老板 领导 上司 导师 经理",
    }.items()
    for word in words.split()
}
PETS = "猫 狗 小猫 小狗 猫咪 狗狗 兔子 仓鼠 鹦鹉 乌龟 金鱼 鱼 鸟 柯基 金毛 泰迪 哈士奇 柴犬 布偶猫 橘猫 边牧".split()
_JOBS = (
    "医生 护士 老师 教师 教授 工程师 程序员 设计师 律师 会计 厨师 司机 警察 记者 编辑 作家 画家 演员 歌手 导演 摄影师 翻译 "
    "秘书 销售 经理 店长 老板 研究员 科学家 农民 工人 军人 公务员 学生 大学生 研究生 博士生 高中生 初中生 小学生 中学生 "
    "实习生 自由职业者 创业者 投资人 分析师 建筑师 药剂师 牙医 兽医 心理咨询师 教练 飞行员 空姐 消防员 保安 快递员 外卖员 "
    "理发师 裁缝 木匠 电工 售货员 收银员 服务员 主播 博主 顾问 产品经理 项目经理 运营 测试 校长 班主任 家庭主妇 全职妈妈"
).split()
NOT_OBJECTS = (
    "你 您 他 她 它 这 那 什么 哪 谁 怎 自己 的 上了的 咱 大家 我 了 过的 过了 着 得 是 和你 跟你 到 多 死"
).split()
_JOB = "|".join(sorted(_JOBS, key=len, reverse=True))
_PET = "|".join(sorted(PETS, key=len, reverse=True))
_H = "\u4e00-\u9fff"
COUNT = "(?:[一两二三四五六几]|\\d+)?(?:只|条|匹|头|个|盆|辆|台|套|把|架|本|件|双|部|张|块|份|束|款|间|栋|幅|副)?"
CALLED = rf"(?:(?:名叫|叫做|名为|叫)(?:[{_H}]{{1,5}}?|[A-Za-z]{{1,20}})的)?"
"""A name before what it names, as in 叫旺财的狗."""


class Rule(NamedTuple):
    """After a subject: the words that say a relation, with the object as ``o``."""

    match: Callable[[str, int, int], re.Match[str] | None]
    relation: str
    kind: str
    confidence: float
    many: bool
    negated: bool


RULES: list[Rule] = []
"""In the order in which they are tried; the first that fits speaks."""


def _add(
    pattern: str,
    relation: str,
    *,
    kind: str = STATE,
    confidence: float = 0.85,
    many: bool = False,
    negated: bool = False,
) -> None:
    RULES.append(Rule(re.compile(pattern).match, relation, kind, confidence, many, negated))


_END = r"(?=了?[啊呀哦啦呢哈的]?\s*$)"
_FREE = rf"(?P<o>[{_H}\w·《》“”\"、 +-]+)"
_SOME = rf"(?P<o>(?!一|新家|这|那|哪|别的|另)[{_H}A-Za-z0-9·]{{2,12}}?)"
_NAMED = rf"(?P<o>(?:(?![我你他她它了过来去回的着得妈爸不])[{_H}]){{2,4}}|[A-Za-z][A-Za-z ]{{1,20}}){_END}"

_add(rf"(?:的名字(?:是|叫)|名字是|名字叫|名叫|叫做|叫)(?!我|你|他|她|人|了|过|车|外卖){_NAMED}", "name", confidence=0.9)
_add(
    r"(?:的)?生日(?:是|在|就是)(?:农历|阴历)?(?P<o>(?:\d{4}年)?[\d一二三四五六七八九十]+月[\d一二三四五六七八九十]+[日号]?)",
    "birthday",
    confidence=0.9,
)
_add(
    r"(?:的)?(?:邮箱|电子邮箱|邮箱地址|邮件地址)(?:是|为|：|:)\s*(?P<o>[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)",
    "email",
    confidence=0.95,
)
_add(
    r"(?:的)?(?:手机号码|手机号|电话号码|电话|手机)(?:是|为|：|:)\s*(?P<o>\+?\d[\d -]{5,18}\d)",
    "phone",
    confidence=0.95,
)
_add(rf"(?:的)?(?:兴趣爱好|业余爱好|爱好|兴趣)(?:是|有|包括){_FREE}", "hobby", many=True)
_add(rf"(?P<o>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})(?:周)?岁{_END}", "age")
_add(
    rf"对(?P<o>[{_H}A-Za-z、]{{1,12}}?)(?:已经|现在|并)?(?:不再|再也不|不会|不|没有|没)(?:怎么)?(?:会)?过敏",
    "allergic_to",
    confidence=0.9,
    many=True,
    negated=True,
)
_add(rf"对(?P<o>[{_H}A-Za-z、]{{1,12}}?)(?:严重|有点|特别|会)?过敏", "allergic_to", confidence=0.95, many=True)
_add(
    rf"(?:居住|住|定居|生活)在{_SOME}(?=(?:市区|这边|那边|附近|工作|生活)?了?[。！]?\s*$|已经|快|有|\d)",
    "lives_in",
    confidence=0.9,
)
_add(rf"住过{_SOME}{_END}", "lives_in", kind=PAST)
_add(rf"在{_SOME}住(?:过|了)", "lives_in", kind=PAST, confidence=0.7)
_add(rf"(?:从[{_H}A-Za-z]{{2,8}})?(?:搬家|搬)(?:到|去|来)了?{_SOME}{_END}", "lives_in", kind=STARTED)
_add(rf"(?:家|的家)(?:住|在|住在){_SOME}{_END}", "lives_in", confidence=0.8)
_add(rf"(?:毕业于{_SOME}{_END})", "graduated_from", kind=EVENT, confidence=0.9)
_add(rf"[从在]{_SOME}毕业", "graduated_from", kind=EVENT, confidence=0.9)
_add(rf"在{_SOME}(?:读书|上学|念书|就读|读研|读博|读大学|上大学|读高中|上高中)", "studies_at")
_add(rf"(?:就读于){_SOME}{_END}", "studies_at", confidence=0.9)
_add(
    rf"在(?!这|那|家|外|网上|努力|认真|忙)(?P<o>[{_H}A-Za-z0-9·]{{2,12}}?)(?:上班|任职|工作|实习)(?=了|\s*$|已经|\d|快|有)",
    "works_at",
)
_add(
    rf"(?:是|当|做|当了|做了)(?:一)?(?:名|个|位)?(?:[{_H}A-Za-z]{{0,6}}?的){{0,2}}(?P<o>(?:(?!的)[{_H}A-Za-z]){{0,6}}(?:{_JOB})){_END}",
    "occupation",
    confidence=0.85,
)
_add(rf"在[{_H}A-Za-z]{{2,12}}?(?:当|做)(?:一)?(?:名|个|位)?(?P<o>[{_H}]{{0,4}}(?:{_JOB})){_END}", "occupation")
_add(rf"(?:是)?(?P<o>素食)(?:主义)?者{_END}", "diet", confidence=0.9)
_add(rf"(?:只|一直)?吃(?P<o>素){_END}", "diet", confidence=0.9)
_add(rf"(?:再也|再)?不吃(?P<o>素)食?{_END}", "diet", confidence=0.9, negated=True)
_add(rf"(?:来自|老家在|老家是|出生在|出生于|的家乡是|的家乡在|家乡在){_SOME}{_END}", "from", confidence=0.9)
_add(
    rf"是(?P<o>(?!好|老|男|女|个|大|坏|一|本|当|主|负责|年轻|普通|中年|的|有|什|他|这|那|外地|本地)[{_H}]{{2,5}})人{_END}",
    "from",
    confidence=0.8,
)
_add(rf"(?:会说|会讲|能说|说)(?:一口)?(?:流利的?)?(?P<o>(?:[{_H}]{{1,3}}[语话文][、和]?){{1,4}})", "speaks", many=True)
_add(rf"(?:最喜欢的|最爱的)(?P<what>[{_H}]{{1,6}}?)(?:就是|是){_FREE}", "favourite:", confidence=0.9)
_add(rf"最喜欢的是{_FREE}", "likes", confidence=0.85, many=True)
_add(rf"(?:没有|没)(?:养){COUNT}(?P<o>{_PET})", "pet", negated=True)
_add(
    rf"(?:领养|收养|养)(?:了|过|着|有)?{COUNT}(?P<o>{CALLED}[{_H}]{{0,4}}?(?:{_PET}))(?![{_H}]*店)",
    "pet",
    confidence=0.9,
)
_add(rf"(?:家)?有(?:[一两二三四五六几]|\d+)?(?:只|条)(?P<o>{CALLED}[{_H}]{{0,4}}?(?:{_PET}))", "pet", confidence=0.85)
_add(rf"有(?:一)?(?:辆|台|架)(?P<o>[{_H}A-Za-z0-9]{{1,8}}){_END}", "owns", confidence=0.75)
_TAKES = "(?:喜欢|爱|吃(?![饭药])|喝(?!药))(?:吃|喝)?"
_add(rf"(?:不再|再也不|再不|(?<=已经)不)(?:那么|这么)?{_TAKES}{_FREE}", "likes", many=True, negated=True)
_add(rf"不(?:太|怎么|大)?{_TAKES}(?P<o>[{_H}\w·《》“”\"、 +-]+?)了[啊呀啦哈]?\s*$", "likes", many=True, negated=True)
_add(rf"戒(?:掉)?(?:了)?(?:喝|吃)?{_FREE}", "likes", confidence=0.7, many=True, negated=True)
_add(
    rf"(?:不喜欢|不太喜欢|不怎么喜欢|不爱|不太爱|讨厌|最讨厌|受不了|不吃(?!.*[饭药了])|不喝(?!.*[药了]))(?:吃|喝)?{_FREE}",
    "dislikes",
    many=True,
)
_add(
    rf"(?:喜欢上了|喜欢|热爱|爱上了?|酷爱|喜爱|迷上了?|爱(?=吃|喝|看|听|玩|唱|跳|打|旅|运|做|逛)|(?<=最)爱)(?:吃|喝)?{_FREE}",
    "likes",
    many=True,
)
_add(rf"(?:打算|计划|准备)(?:要)?(?!好)(?P<o>[{_H}A-Za-z0-9]{{2,16}}?){_END}", "plans", kind=PLAN, confidence=0.7)
_add(rf"(?:去过|去了趟|到过)(?P<o>[{_H}A-Za-z·]{{2,10}}?)(?:旅游|旅行|出差|玩)?{_END}", "visited", kind=EVENT)
_add(rf"买了{COUNT}(?P<o>(?!很多|好多|一些)[{_H}A-Za-z0-9]{{2,12}}?){_END}", "bought", kind=EVENT, confidence=0.8)
_add(rf"(?:相信|信)(?P<o>[{_H}]{{2,10}}){_END}", "believes", confidence=0.55)

__all__ = ["CALLED", "COUNT", "KIN", "NOT_OBJECTS", "PETS", "RULES", "Rule"]
