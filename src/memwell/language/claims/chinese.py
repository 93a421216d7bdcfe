"""Reads claims from Chinese sentences: clauses that begin with their subject, by what follows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from memwell.language import entities
from memwell.language.claims.relations import EVENT, PAST, PLAN, RELATIONS, STARTED, STATE, Relation, RuleMatch
from memwell.language.entities import SURELY_NAMED, is_a_word

# The Chinese rules: what may follow a subject, and which relation it states.

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


class ChineseRule(NamedTuple):
    """A pattern after a subject that states a relation, with the object as the group ``o``."""

    match: Callable[[str, int, int], re.Match[str] | None]
    relation: str
    kind: str
    confidence: float
    many: bool
    negated: bool


RULES: list[ChineseRule] = []
"""In the order in which they are tried; the first match counts."""


def _add(
    pattern: str,
    relation: str,
    *,
    kind: str = STATE,
    confidence: float = 0.85,
    many: bool = False,
    negated: bool = False,
) -> None:
    RULES.append(ChineseRule(re.compile(pattern).match, relation, kind, confidence, many, negated))


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
    r"(?:的)?(?:新的?)?(?:邮箱|电子邮箱|邮箱地址|邮件地址)(?:现在)?(?:是|为|改成了?|换成了?|：|:)"
    r"\s*(?P<o>[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)",
    "email",
    confidence=0.95,
)
_add(
    r"(?:的)?(?:新的?)?(?:手机号码|手机号|电话号码|电话|手机|号码)(?:现在)?(?:是|为|改成了?|换成了?|：|:)"
    r"\s*(?P<o>\+?\d[\d -]{5,18}\d)",
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


# Pets by name: 我家的猫名叫咪咪, 养了一只狗，叫旺财, 一只叫旺财的狗.

# 叫 before these is no naming: 叫声很大, 叫了一晚上, 叫得很响, 叫醒了我.
_NO_NAME = "[我你他她它了声得着个不人的起醒唤喊嚷什啥春]|[一两三几]声|别|两|几"
_NAME = rf"(?P<name>(?!{_NO_NAME})(?:(?![的了我你])[{_H}]){{1,5}}|[A-Za-z][A-Za-z]{{0,19}})"
_CALLS = "(?:名字叫做|名字叫|名字是|取名叫|取名为|取名|起名叫|起名为|起名|名叫|名为|叫做|叫)[它他她]?"
_ENDS = r"(?=[啊呀哦啦哈]?\s*(?:\Z|[，,。！!；;、…～~（(\n]))"
_MINE = re.compile(rf"(?:我们家的?|我家的?|我的?)(?:[那这][只条])?(?P<kind>{_PET})的?{_CALLS}{_NAME}{_ENDS}").match
_CALLED = re.compile(
    rf"\s*[，,]?\s*(?P<each>(?:其中|还有|另外)?(?:另?一)[只条个])?(?:它的?|他的?|她的?)?{_CALLS}{_NAME}{_ENDS}"
).match
_NAME_INSIDE = re.compile(rf"(?:名叫|叫做|名为|叫){_NAME}的(?P<kind>.+)").match
_KEPT = re.compile(
    rf"\s*(?:最近|前几天|刚刚|刚|家里)?(?:领养|收养|养)了(?=[一两二三四五六几\d只条]){COUNT}(?P<kind>{CALLED}[{_H}]{{0,4}}?(?:{_PET}))(?=\s*(?:\Z|[，,。！!；;]|{_CALLS}))"
).match
_SURE, _LESS_SURE = 0.9, 0.65


def pet_of_mine(sentence: str, at: int, start: int, end: int) -> list[RuleMatch]:
    """The speaker's named pet, if it is the subject of the clause at ``at``."""
    named = _MINE(sentence, at, end)
    if named is None:
        return []
    pet = RuleMatch("pet", *named.span("name"), start, end, confidence=_SURE)
    return [pet, RuleMatch("kind", *named.span("kind"), start, end, subject=named["name"], confidence=_SURE)]


def pet_without_owner(sentence: str, end: int) -> Iterator[RuleMatch]:
    """The pet of a sentence without a subject: its owner is most likely the speaker."""
    kept = _KEPT(sentence, 0, end)
    if kept is not None:
        yield from named_pet(sentence, RuleMatch("pet", *kept.span("kind"), 0, end, confidence=_LESS_SURE))


def named_pet(sentence: str, found: RuleMatch) -> Iterator[RuleMatch]:
    """A pet with its name and kind if the name is in its words or follows at once; otherwise as it was found."""
    inside = _NAME_INSIDE(sentence, found.object_start, found.object_end)
    if inside is not None:
        found = found._replace(object_start=inside.start("kind"))
    named = inside or (None if found.negated else _CALLED(sentence, found.object_end))
    if named is None:
        yield found
        return
    end = max(found.end, named.end())
    yield found._replace(object_start=named.start("name"), object_end=named.end("name"), end=end)
    if not found.negated:
        # The kind of a pet never changes.
        yield found._replace(relation="kind", subject=named["name"], kin="", end=end, kind=STATE)


def next_name(sentence: str, start: int, end: int, before: RuleMatch) -> list[RuleMatch] | None:
    """The claims of a clause such as 叫旺财 or 一只叫花花 after a pet; None for another clause."""
    called = _CALLED(sentence, start, end)
    if called is None or before.relation not in ("pet", "kind"):
        return None
    if before.relation == "kind" and not called["each"]:
        # It was read with the clause before; repeated, it keeps the pet as the subject.
        return [before]
    pet = RuleMatch("pet", *called.span("name"), before.start, end, confidence=_SURE)
    kind = pet._replace(
        relation="kind", object_start=before.object_start, object_end=before.object_end, subject=called["name"]
    )
    return [pet, kind]


_KIN = "|".join(sorted(KIN, key=len, reverse=True))
_SURNAME = f"(?:{'|'.join(entities.DOUBLE_SURNAMES)}|[{''.join(sorted(entities.SURNAMES))}])"
_GIVEN = f"[{''.join(sorted(entities.GIVEN))}]"
_NO_NICKNAME = "老师|老板|老人|老家|老是|老爱|小孩|小时|小心|小猫|小狗|小学|阿姨"
_NICKNAME = rf"(?!{_NO_NICKNAME})[小阿老][{_H}](?=叫|是|住|在|喜|不|很|最|也|养|搬|来)"
_PERSON_NAME = rf"(?:{_SURNAME}{_GIVEN}{{1,2}}|{_NICKNAME}|[A-Z][A-Za-z]{{1,20}})"
# A name of any characters, before what the rules read.
_FULL_NAME = (
    rf"(?:{SURELY_NAMED})(?=住|在|是|喜欢|不喜欢|很喜欢|最喜欢|特别喜欢|非常喜欢|喜爱|讨厌|爱[吃喝看听玩]|来自|出生|毕业|就读|养了|养着|搬|今年"
    r"|对[^，。]{1,8}过敏|会说|也|都|现在|目前|去过|打算|计划|的生日)"
)
_CLAUSE = re.compile(r"[^，,。！？!?；;：:\n…～~—（）()]+")
_FILLER = (
    "(?:嗯|哦|噢|啊|哎|对了|其实|不过|但是|但|而且|然后|因为|所以|另外|还有|是的|对呀|对啊|当然|说实话|嘿|哈哈|顺便说一下|"
    "你知道|告诉你|现在|目前|最近|那|只是|就是|虽然|既然|由于)*"
)
_SUBJECT = re.compile(
    rf"[\s\"“'「]*{_FILLER}(?:(?P<own>我们家|我家)?(?P<mine>我的?|俺的?|咱)?(?P<kin>(?:{_KIN}))(?P<name>{_PERSON_NAME}|(?P<twin>[{_H}])(?P=twin))?|(?P<we>我们家(?!住|在)|我家(?!住|在)|我们(?!家)|咱们)"
    rf"|(?P<me>本人|我自己|我|俺)|(?P<other>{_FULL_NAME}|{_PERSON_NAME}))"
).match
_TIME = (
    "(?:从|自)?(?:(?:[去今明昨前后][年天晚早]|大前[年天]|[上下这本]个?(?:周|月|星期|学期)(?:[一二三四五六日天末])?|[零〇一二三四五六七八九十两几\\d]{1,4}"
    "(?:年|月|日|号|天|周|个月)(?:前|初|底|末)?|[年月][初底末]|[春夏秋冬][天季]|早上|晚上|周末|刚才){1,4})(?:开始|起|以来)?"
)
_ADVERBS = re.compile(
    rf"(?:也|都|还|就|好|蛮|一直|现在|目前|特别|非常|很|真的|真|超级|超|挺|比较|更|其实|从小就|从小|平时|总是|经常|已经|刚刚|刚|最近|"
    rf"才|又|仍然|还是|本来|原本|一般|特|尤其|最(?!喜欢的|爱的|讨厌)|真是|确实|今年|{_TIME})*"
).match
_FORMERLY = re.compile("(?:以前|曾经|曾|原来|过去|之前|小时候|原先|从前)").match
_DENIED = re.compile(
    "(?:不是(?=[很太特那喜])|不再(?!喜欢|爱|喝|吃(?!素))|没有|没|不(?!再|喜欢|爱|吃|喝|太|怎么|大))"
).match
# 今天不喝咖啡了 is about a cup, not about coffee.
_FOR_NOW = re.compile("今天|今晚|今早|明天|这次|这顿|待会|等会|一会|暂时|先(?!生)|早上|中午|下午|晚上").search
_NO_LONGER = re.compile("(?:已经)?(?:不再|不)(?=住|在)").match
_QUESTION = re.compile(
    "吗|么[？?]?$|什么|谁|哪|怎么|怎样|多少|几(?:个|岁|点|月)|是不是|有没有|会不会|要不要|为什么|呢[？?]?$|能不能|喜不喜欢"
).search
_DOUBT = re.compile(
    "如果|假如|要是|假设|万一|希望|但愿|想象|梦见|梦到|假装|幻想|听说|说我|他说|她说|以为|倘若|即使|就算|恨不得|开玩笑|多想|好想|想要"
).search
_QUOTED = re.compile('[“「『"][^“「『”」』"\n]{0,200}?[我你][^“「『”」』"\n]{0,200}[”」』"]')
_KIN_NAMED = re.compile(
    rf"(?:的名字)?(?:叫做|叫|名叫|是)(?P<name>(?:{_SURNAME}{_GIVEN}{{1,2}}|[小阿][{_H}]|(?P<twice>[{_H}])(?P=twice)"
    rf"|[A-Z][A-Za-z]{{1,20}}))(?=\s*$)|(?:的名字)?(?:叫做|叫|名叫)(?P<any>(?:(?![我你他她它了过来去回的着得不])[{_H}]){{2,3}})(?=\s*$)"
).match
_IS_KIN = re.compile(rf"(?:就)?是我(?:最好的|的|大学|高中|初中|小学)?(?P<kin>{_KIN})[啊呀哦啦哈]?(?=\s*$)").match
_WITH = re.compile("[和与跟]").search
_COMPANY = re.compile(
    rf"(?:[{_H}]{{2,5}}地|昨天|今天|周末|刚刚|刚|在[{_H}]{{1,6}}?)?[和与跟](?:我的|他的|她的|自己的)?(?:新)?(?P<kin>{_KIN})(?P<name>{_PERSON_NAME}|[{_H}]{{2}}(?=一起))"
).match
_CUT = re.compile('的时候|的感觉|因为|所以|但是|然后|[。！!“”"]|这样|那样|之类|什么的|时候|来着|的人')
_TAIL = "了啊呀哦呢吧啦哈的 噢嘛哟"
_JOINTS = re.compile("、|以及|还有|(?<=[\u4e00-\u9fff]{2})[和跟与](?=[\u4e00-\u9fff]{2})")
_QUOTE = re.compile('[“「『"]').search
_SPEAKS_ON = re.compile(
    "\\s*(?:也|还|都|很|特别|最|现在|平时|不)*(?:在|住|喜欢|爱吃|爱喝|讨厌|养|对|是一|会说|今年)"
).match
_LESS_SURE_CLAUSE = 0.85
_LONGEST_CLAUSE = 200
_WITH_WHOM = re.compile("(?:小?朋友|家人|爸|妈|大家|同学|孩子|老公|老婆|同事|[他她它]|一群|别人)|[^、]{0,12}一起").match
_ACTS = re.compile("[画看玩吃做打听买去写唱跳读学喝逛收种在旅运爬游跑健钓骑滑]").match
_SOFTENED = re.compile("挺|蛮|好喜|还是|是很|是非常").search
_NO_OBJECT = tuple(NOT_OBJECTS)
_LONGEST, _LONGEST_LATIN = 14, 80
_NO_RELATION = Relation("")


class _Subject(NamedTuple):
    """The subject of a clause."""

    end: int
    name: str = ""
    kin: str = ""


def chinese(sentence: str) -> Iterator[RuleMatch]:
    """The claims of a Chinese sentence, clause by clause; a word of doubt cancels what follows it."""
    if "我" in sentence and _QUOTE(sentence):
        sentence = _QUOTED.sub(lambda quote: "\x00" * len(quote[0]), sentence)
    doubt = _DOUBT(sentence)
    before: RuleMatch | None = None
    for clause in _CLAUSE.finditer(sentence):
        start, end = clause.span()
        if doubt is not None and doubt.start() < end:
            return
        if end - start > _LONGEST_CLAUSE:
            continue
        if _QUESTION(sentence, start, end) or sentence[end : end + 1] in ("？", "?"):
            continue
        last = before
        before = None
        for found in _clause(sentence, start, end, last):
            before = found
            yield found


def _clause(sentence: str, start: int, end: int, before: RuleMatch | None) -> Iterator[RuleMatch]:
    head = _SUBJECT(sentence, start, end)
    if head is None:
        if before is not None:
            yield from _continued(sentence, start, end, before)
        elif not start:
            yield from pet_without_owner(sentence, end)
    elif head["kin"]:
        yield from _of_kin(sentence, start, end, head)
    elif head["other"]:
        if not is_a_word(head["other"]):
            yield from _of_someone(sentence, start, end, head)
    else:
        first = head.start("we") if head["we"] else head.start("me")
        pet = pet_of_mine(sentence, first, start, end)
        yield from pet or _said(sentence, start, end, _Subject(head.end()))


def _of_someone(sentence: str, start: int, end: int, head: re.Match[str]) -> Iterator[RuleMatch]:
    kin = _IS_KIN(sentence, head.end(), end)
    if kin is not None:
        yield RuleMatch(KIN[kin["kin"]], *head.span("other"), start, end, confidence=0.85)
    else:
        yield from _said(sentence, start, end, _Subject(head.end(), head["other"]))


def _continued(sentence: str, start: int, end: int, before: RuleMatch) -> Iterator[RuleMatch]:
    """The claims of a clause without a subject: it continues the one before; after a pet, with the pet's name."""
    called = next_name(sentence, start, end, before)
    if called is not None:
        yield from called
    elif _SPEAKS_ON(sentence, start, end):
        for found in _said(sentence, start, end, _spoken_of(sentence, start, before)):
            yield found._replace(confidence=round(found.confidence * _LESS_SURE_CLAUSE, 2))


def _spoken_of(sentence: str, at: int, before: RuleMatch) -> _Subject:
    """The subject of a clause without one: after 李雷是我的同事 that person, after 我和同事李雷 the speaker."""
    first = before.object_start
    if RELATIONS.get(before.relation, _NO_RELATION).people and not _WITH(sentence, before.start, first):
        return _Subject(at, sentence[first : before.object_end])
    return _Subject(at, before.subject, before.kin)


def _of_kin(sentence: str, start: int, end: int, head: re.Match[str]) -> Iterator[RuleMatch]:
    """The claims about a relative; without an owner it is the speaker's."""
    if not head["mine"] and not head["own"]:
        return
    relation = KIN[head["kin"]]
    if head["name"]:
        yield RuleMatch(relation, *head.span("name"), start, head.end(), confidence=0.85)
        yield from _said(sentence, start, end, _Subject(head.end(), head["name"]))
        return
    named = _KIN_NAMED(sentence, head.end(), end)
    if named is not None:
        group = "name" if named["name"] else "any"
        yield RuleMatch(relation, *named.span(group), start, end, confidence=0.9)
        return
    yield from _said(sentence, start, end, _Subject(head.end(), kin=head["kin"]))


def _said(sentence: str, start: int, end: int, subject: _Subject) -> Iterator[RuleMatch]:
    company = _COMPANY(sentence, subject.end, end)
    if company is not None and not subject.kin:
        said = KIN[company["kin"]]
        yield RuleMatch(said, *company.span("name"), start, company.end(), subject.name, confidence=0.8)
        return
    at, formerly, denied = _helpers(sentence, subject.end, end)
    for rule in RULES:
        found = rule.match(sentence, at, end)
        if found is None:
            continue
        if rule.negated and rule.relation == "likes" and _FOR_NOW(sentence, start, found.start("o")):
            return
        if rule.relation == "name" and subject.kin:
            return
        yield from _objects(sentence, start, end, subject, rule, found, formerly, denied)
        return


def _helpers(sentence: str, at: int, end: int) -> tuple[int, bool, bool]:
    """Where the predicate begins, whether it is in the past, and whether it is negated."""
    formerly = denied = False
    while True:
        skipped = _ADVERBS(sentence, at, end)
        after = at if skipped is None else skipped.end()
        past = _FORMERLY(sentence, after, end)
        no = None if past else (_NO_LONGER(sentence, after, end) or _DENIED(sentence, after, end))
        if past is None and no is None:
            return after, formerly, denied
        formerly, denied = formerly or past is not None, denied or no is not None
        at = (past or no or skipped).end()  # pyright: ignore[reportOptionalMemberAccess]


def _objects(
    sentence: str,
    start: int,
    end: int,
    subject: _Subject,
    rule: ChineseRule,
    found: re.Match[str],
    formerly: bool,
    denied: bool,
) -> Iterator[RuleMatch]:
    relation = f"favourite:{found['what']}" if rule.relation == "favourite:" else rule.relation
    fixed = "素食" if relation == "diet" else ""
    first, last = found.span("o")
    kind = PAST if formerly and rule.kind == STATE else rule.kind
    if relation == "works_at" and sentence[first:last] in entities.PLACES_ZH:
        # "在深圳工作" states a place, not an employer.
        return
    for place in _parts(sentence, first, last, many=rule.many) if not fixed else [(first, last)]:
        said = RuleMatch(
            relation,
            *place,
            start,
            end,
            subject.name,
            subject.kin,
            object=fixed,
            kind=kind,
            negated=rule.negated or denied,
            confidence=rule.confidence,
        )
        yield from named_pet(sentence, said) if relation == "pet" else (said,)


def _parts(sentence: str, start: int, end: int, *, many: bool) -> Iterator[tuple[int, int]]:
    """The objects between two positions, split at the end of the phrase and between the items of a list."""
    cut = _CUT.search(sentence, start, end)
    end = end if cut is None else cut.start()
    at = start
    for joint in _JOINTS.finditer(sentence, start, end) if many else ():
        if at < joint.start() and (joint[0] == "、" or _parts_list(sentence, at, joint, end)):
            yield from _whole(sentence, at, joint.start())
            at = joint.end()
    yield from _whole(sentence, at, end)


def _parts_list(sentence: str, start: int, joint: re.Match[str], end: int) -> bool:
    """Whether a 和 joins two things, instead of naming company or two objects of one verb."""
    if _WITH_WHOM(sentence, joint.end(), end):
        return False
    return not _ACTS(sentence, start) or _ACTS(sentence, joint.end()) is not None


def _whole(sentence: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if sentence[end - 1 : end] == "的" and not _SOFTENED(sentence, max(0, start - 8), start):
        # "喜欢色彩多的": a description, not a name.
        return
    while start < end and sentence[end - 1] in _TAIL:
        end -= 1
    while start < end and sentence[start] in " \x00":
        start += 1
    words = sentence[start:end]
    longest = _LONGEST_LATIN if words.isascii() else _LONGEST
    if words and len(words) <= longest and not words.startswith(_NO_OBJECT) and "你" not in words:
        yield start, end
