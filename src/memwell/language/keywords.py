"""``keywords``: the content words and short phrases of a text, the weightiest first.

In English these are phrases of one to three words without stop words, compared by their stems. In Chinese they are noun
phrases such as 机器学习算法, also after a Latin word, their words with less weight, and names. Only the first
``LOOKED_AT`` characters of a text are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import msgspec

from memwell.language.patterns import LazyPattern
from memwell.language.segment import query_terms
from memwell.language.words import STOP_WORDS, check_string
from memwell.values import check_count

# Chinese split into words, each with its function in a sentence. rjieba splits and tags the words. Its tags come from
# newspapers, so that 知识 is a verb and 异步 an adverb; our own tables correct the tags that matter for topics, and join
# terms that it splits, such as 大模型 and 机器学习.

TERMS = frozenset(
    """
    大模型 大语言模型 语言模型 机器学习 深度学习 强化学习 联邦学习 迁移学习 自然语言 自然语言处理 异步编程
    并发编程 上下文 上下文窗口 相似度 检索增强 检索增强生成 向量数据库 关系数据库 数据库 数据集 神经网络
    知识图谱 知识库 用户画像 自动驾驶 人工智能 智能体 提示词 提示工程 注意力机制 自注意力 位置编码
    计算机视觉 图像识别 语音识别 语音合成 机器翻译 情感分析 大数据 数据湖 数据仓库 数据中台 云计算 云原生
    云服务 边缘计算 物联网 区块链 比特币 元宇宙 虚拟现实 增强现实 微服务 微服务架构 分布式 分库分表
    负载均衡 消息队列 设计模式 面向对象 函数式 前后端 全栈 开源 代码审查 单元测试 持续集成 自动化 可视化
    可观测性 冷启动 懒加载 预训练 微调 短期记忆 长期记忆 工作记忆 情景记忆 语义记忆 程序记忆 多模态
    多智能体 跨会话 决策树 随机森林 支持向量机 优缺点 性价比 新能源 电动车 电动汽车 高铁 二手房 公积金
    信用卡 年终奖 年假 房贷 车贷 社保 医保 求职信 自我介绍 碳排放 产品经理 程序员 幼儿园 兴趣班 羽毛球
    乒乓球 红烧肉 水煮鱼 火锅 麻辣烫 奶茶 下午茶 有氧运动 高血压 糖尿病 生日派对 生日礼物 优惠券
    """.split()
)
"""Terms that are one word to people, but not to the tagger."""

NOUNS = frozenset(
    """
    知识 显卡 签证 窗口 长度 深度 日志 前端 后端 精度 内存 磁盘 带宽 延迟 超市 诊所 快递 包裹 外卖 驾照
    邻居 会计 警察 预算 简历 攻略 接口 负载 摘要 折扣 小狗 维生素 沙滩 小提琴 博客 索引 张量 卫星 马拉松
    合同 爱好 焦虑 抑郁 相机 工资 变量 体育 考试 实验 绩效 隐私 令牌 哈希 积分 体检 感冒 爬山
    """.split()
)
"""Nouns that the tagger mistakes for something else."""

MODIFIERS = frozenset(
    """
    异步 同步 实时 离线 在线 外部 内部 本地 远程 底层 上层 并行 并发 动态 静态 全文 语义 自动 手动 移动
    国际 国内 海外 跨境 个性化 智能 数字 虚拟 线上 线下 户外 室内 公共 私人 全麦 有氧 无氧 中级 高级 初级
    """.split()
)
"""Words that modify a noun and are no topic without it."""

HEADS = frozenset(
    """
    系统 算法 机制 架构 方案 策略 能力 平台 框架 模型 技术 问题 性能 数据 规则 流程 工具 服务 软件 程序
    引擎 方法 方式 模式 技巧 经验 计划 任务 结果 效果 效率 速度 成本 质量 标准 规范 原理 理论 课程 教程
    教材 考试 比赛 活动 中心 公司 部门 团队 经理 人员 专家 医院 学校 记录 报告 图表 列表 文档 文件 手册
    指南 清单 价格 利率 接口 协议 网络 设备 机器人 组件 模块 插件 功能 界面 队列 集群 节点 参数 指标 需求
    环境 产品 项目 专业 信息 内容 资料 签证 合同 政策 制度 体系 结构 过程 步骤 路线 权限 助手 应用 记忆
    语法 语言 工程 事务 账户 账单 订单 类型 领域 场景 案例 教练 老师 医生 机构 风险 事件 收益 压力 症状
    事故 纠纷 大会 论坛 节目 频道 攻略 预算 报表 周期 趋势 渠道 行业 市场 部 组
    """.split()
)
"""Nouns that take modifiers, and say little alone."""

VERBALS = frozenset(
    """
    学习 处理 识别 检索 计算 存储 训练 设计 管理 开发 优化 分析 编程 缓存 收集 采集 认证 告警 配置 监控
    部署 测试 更新 生成 增强 嵌入 加载 分割 搜索 查询 推荐 翻译 编辑 写作 阅读 教育 培训 治疗 诊断 投资
    理财 旅游 旅行 运动 健身 装修 维修 运营 营销 销售 采购 支付 退款 充值 订阅 注册 登录 备份 恢复 迁移
    加密 解密 压缩 渲染 编译 调试 调度 泄漏 泄露 注入 攻击 防护 审计 授权 鉴权 消费 发放 面试 求职 招聘
    报销 对比 评估 评测 预测 分类 聚类 推理 对话 问答 聊天 标注 清洗 挖掘 传输 通信 交互 驾驶 充电 启动
    租赁 种植 养殖 烹饪 烘焙 摄影 绘画 演奏 过敏 睡眠 减肥 购物 出差 留学 合作 沟通 协作 共享 容错 复习
    备考 烧烤 加班 延误 递归 促销 投诉 退货 留存 就业 选举 养老 滑雪 直播 污染 合规 研究 游泳 跑步 跳舞
    唱歌 瑜伽
    """.split()
)
"""Verbs that can be part of a noun phrase, or a topic by themselves."""

ACTIONS = frozenset(
    """
    生病 发烧 咳嗽 失眠 受伤 住院 怀孕 结婚 离婚 搬家 毕业 退休 辞职 失业 上线 下线 崩溃 出错 报错 宕机
    卡顿 停电 迟到
    """.split()
)
"""Intransitive verbs that the tagger mistakes for something else."""

NO_TOPICS = STOP_WORDS["zh"] | frozenset(
    """
    打算 建议 了解 询问 包括 提供 支持 使用 实现 构建 解决 提高 提升 降低 减少 增加 帮助 帮忙 请问 请教
    准备 决定 选择 适合 不同 完整 复杂 简单 精彩 好吃 好看 好听 好玩 便宜 漂亮 美丽 严重 重要 主要 常用
    广泛 大量 数量 部分 方面 情况 区别 样子 意思 结果 新鲜 陌生 熟悉 干净 安静 热闹 舒服 方便 麻烦 奇怪
    有趣 无聊 可爱 可怕 聪明 努力 认真 仔细 快乐 难过 生气 满意 透明 不够 清楚 模糊 明显 普通 特殊 具体
    详细 准确 丰富 合适 现有 全部 所有 其他 其它 任何 原因 办法 下个月 上个月 这个月 全家 我家 你家 一种
    三种 两种 几种 限制 突破 结合 错过 来自 属于 变成 继续 停止 结束 完成 讨论 介绍 说明 解释 分享 推出
    出现 发生 存在 影响 导致 造成 利用 采用 基于 考虑 计较 认识 明白 理解 记得 忘记 告知 回答 手段 难题
    目前 当前 以下 以上 之间 一般 通常 总共 一共 左右 感兴趣 感興趣 买不起 越来越 对不起 怎么办 没关系 客气
    谢谢
    """.split()
)
"""Words that are common to all topics, in addition to the stop words."""

NOUN, HEAD, MODIFIER, NAME, VERBAL, WEAK_VERBAL, ACTION = "n", "h", "b", "p", "v", "w", "a"
LATIN, SMALL_LATIN = "e", "f"
SPACE, SLASH, PAUSE, OF, ASPECT, MEASURE, OTHER = " ", "/", ",", "d", "u", "m", "."


class Word(NamedTuple):
    """A word, and a letter for its function: see the names above.

    A ``HEAD`` is a noun that takes others before it, as 算法 does; a ``VERBAL`` is a verb that can be part of a noun
    phrase, as 学习 in 机器学习, a ``WEAK_VERBAL`` only before a head; a ``PAUSE`` is a mark that ends a clause, ``OF`` is
    的, ``ASPECT`` is 了, 着 or 过, and ``MEASURE`` is a number.
    """

    text: str
    does: str


_Tagged = tuple[str, str]
_LONGEST_TERM = 5  # words
_HEAD_ENDINGS = tuple("率度性器法表库图力员师者机费桩")
_ENDINGS = frozenset("率度员桩器者性券馆表")  # cut off from their words: 召回 率, 快递 员
_SHORT_NOUNS = frozenset("猫狗鱼鸟马牛羊猪鸡鸭盐糖油醋茶酒饭菜肉蛋奶花草树车船书画歌舞琴棋鞋帽伞药雪雨")
_PREFIXES = frozenset("大小长短高低深浅冷热轻重软硬微超多单")
_DEGREES = frozenset("很太更最真好挺够超蛮")
# Days, months and hours; a festival is a topic.
_CALENDAR = re.compile("[年月日周天早晚午点分秒时号初末前后今昨明刚现季]|世纪")
_NO_NOUN = re.compile(
    "[没不有坐去来很太越每].*|.*[成了得着过出]"
)  # among the set phrases, which the tagger takes for one word
_NO_NAME = re.compile("[没不很太真].*|.*了")  # 太棒了 is no name
_NOUN_TAGS = frozenset({"n", "nz", "nt", "ns", "ng", "j", "s", "an", "x", "nrt", "nrfg"})
_VERB_TAGS = frozenset({"v", "vi", "vd"})
_TERM_BEGINNINGS = frozenset(term[:size] for term in TERMS for size in range(1, len(term) + 1))
# For a word in two tables the later one counts.
_KNOWN = {
    **dict.fromkeys(NO_TOPICS, OTHER),
    **dict.fromkeys(NOUNS, NOUN),
    **dict.fromkeys(HEADS, HEAD),
    **dict.fromkeys(VERBALS, VERBAL),
    **dict.fromkeys(MODIFIERS, MODIFIER),
    **dict.fromkeys(ACTIONS, ACTION),
    **dict.fromkeys(TERMS, NOUN),
}


def words_of(text: str) -> list[Word]:
    """The words of a text in order, spaces and marks among them; joined they are the text.

    Half a surrogate pair, which is no character to the tagger, becomes a question mark.
    """
    tagged = _tagger()(text.encode("utf-8", "replace").decode())
    return [Word(word, _does(word, tag)) for word, tag in _whole_terms(_joined(tagged))]


@cache
def _tagger() -> Callable[[str], list[_Tagged]]:
    # Loaded for the first Chinese text: the dictionary takes about 140 ms and 33 MB.
    import rjieba  # noqa: PLC0415

    return rjieba.tag


def _joined(words: Iterable[_Tagged]) -> list[_Tagged]:
    """The words, with an adjective of one character joined to its noun, and an ending to its word: 长文本, 召回率."""
    made: list[_Tagged] = []
    for word, tag in words:
        if made and (
            (_is_prefix(made) and _is_plain_noun(word, tag)) or (word in _ENDINGS and _takes_ending(made[-1]))
        ):
            made[-1] = (made[-1][0] + word, "n")
        else:
            made.append((word, tag))
    return made


def _is_prefix(words: list[_Tagged]) -> bool:
    """Whether the last word is an adjective that modifies the next one: 大模型, but not 很大 and a noun."""
    word, tag = words[-1]
    return word in _PREFIXES and tag == "a" and not (len(words) > 1 and words[-2][0][-1] in _DEGREES)


def _is_plain_noun(word: str, tag: str) -> bool:
    return tag in ("n", "nz") and len(word) > 1 and word not in NO_TOPICS


def _takes_ending(tagged: _Tagged) -> bool:
    word, tag = tagged
    return len(word) == 2 and word not in STOP_WORDS["zh"] and tag[0] in "vna" and _HAN.match(word) is not None


def _whole_terms(words: list[_Tagged]) -> Iterator[_Tagged]:
    """The words with those of a term joined, the longest term first."""
    at = 0
    while at < len(words):
        size = _term_at(words, at)
        yield ("".join(word for word, _ in words[at : at + size]), "n") if size > 1 else words[at]
        at += size


def _term_at(words: list[_Tagged], at: int) -> int:
    """The number of words of the longest term that begins here; 1 for none."""
    joined, longest = "", 1
    for size, (word, _) in enumerate(words[at : at + _LONGEST_TERM], 1):
        joined += word
        if joined not in _TERM_BEGINNINGS:
            break
        if joined in TERMS:
            longest = size
    return longest


def _does(word: str, tag: str) -> str:
    if not _HAN.search(word):
        return _does_without_han(word)
    if len(word) == 1:
        return _does_alone(word, tag)
    return _KNOWN.get(word) or _by_tag(word, tag)


def _by_tag(word: str, tag: str) -> str:
    if (
        tag in _NOUN_TAGS
        or (tag == "t" and not _CALENDAR.search(word))
        or (tag == "l" and not _NO_NOUN.fullmatch(word))
    ):
        return HEAD if word.endswith(_HEAD_ENDINGS) else NOUN
    if tag in _VERB_TAGS:
        return ACTION
    if tag == "nr" and _NO_NAME.fullmatch(word):
        return OTHER
    return {"nr": NAME, "vn": WEAK_VERBAL, "b": MODIFIER, "m": MEASURE, "q": MEASURE}.get(tag, OTHER)


def _does_alone(word: str, tag: str) -> str:
    if word == "的":
        return OF
    if word in "了着过":
        return ASPECT
    if tag in ("m", "q"):
        return MEASURE
    return NOUN if word in _SHORT_NOUNS and tag != "v" else OTHER


def _does_without_han(word: str) -> str:
    if word in (SPACE, SLASH):
        return word
    if word[0].isascii() and word[0].isalpha():
        is_topic = len(word) > 1 and word.lower() not in STOP_WORDS["en"] and word.lower() != "vs"
        return (SMALL_LATIN if word.islower() else LATIN) if is_topic else OTHER
    return OTHER if word.isalnum() else PAUSE


def is_general(word: str) -> bool:
    """Whether a noun says little by itself, as 系统 and 问题 do."""
    return word in HEADS or word in NO_TOPICS


# Chinese noun phrases, and words that are topics by themselves.

_LONGEST = 4  # words of a phrase, Latin ones not counted
_PER_CHARACTER = 0.15
_LONG = 8  # characters; a longer phrase is no weightier
_PART, _ALONE, _GENERAL = 0.55, 0.6, 0.4
_NAMED, _MIXED = 0.2, 0.5

# Over one letter a word, as ``Word.does`` has them. A verbal is part of a phrase before a head (学习算法), or at its end
# (图像识别) unless an object or 了 follows, which make it a verb; two are a phrase where a clause begins (监控告警).
# Latin words stand in front: Redis集群.
_PATTERN = re.compile(
    r"(?P<latin>(?:[ef](?:[ /][ef]){0,2}(?:(?<=e) )?)?)"
    r"(?P<phrase>(?:[nh]|b(?=b*[nhv])|[vw](?=[vw]*h)|(?<=[nhbef])v(?![nhbefpvmu]))+|(?:\A|(?<=[,d]))v{2}(?![nhbefpvmu]))"
    r"|(?P<name>p)"
    r"|(?P<verbal>[vw](?!u?[nhbefpm]))"
    r"|(?P<action>a(?=u?(?:,|\Z)))"
)


class _Tally:
    """The count and the highest weight of each word or phrase."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.weights: dict[str, float] = {}
        self.written: dict[str, str] = {}

    def add(self, word: str, weight: float) -> None:
        key = word.casefold()
        self.counts[key] += 1
        self.weights[key] = max(weight, self.weights.get(key, 0.0))
        self.written.setdefault(key, word)

    def found(self) -> list[Keyword]:
        return [
            Keyword(self.written[key], round(count * self.weights[key], 4), count) for key, count in self.counts.items()
        ]


def chinese_keywords(text: str) -> list[Keyword]:
    """Every phrase with its parts, and every single word, in the order of the text."""
    words = words_of(text)
    tally = _Tally()
    for found in _PATTERN.finditer("".join(word.does for word in words)):
        held = words[found.start() : found.end()]
        if found["phrase"]:
            _add_phrase(tally, held, len(found["latin"]))
        elif found["name"]:
            tally.add(held[0].text, _weight(held[0].text) + _NAMED)
        else:
            tally.add(held[0].text, _ALONE * _weight(held[0].text))
    return tally.found()


def _add_phrase(tally: _Tally, words: list[Word], latin: int) -> None:
    front = "".join(word.text for word in words[:latin])
    for place, part in enumerate(_cut(words[latin:])):
        whole = "".join(word.text for word in part)
        is_weak = len(part) == 1 and is_general(whole)
        if front and not place:
            tally.add(front + whole, _weight(front + whole) + _MIXED)
        if not front or place:
            tally.add(whole, _weight(whole) * (_GENERAL if is_weak else 1))
        elif not is_weak:
            tally.add(whole, _weight(whole) * _PART)
        for inner in _parts(part):
            tally.add(inner, _weight(inner) * _PART)


def _cut(units: list[Word]) -> Iterator[list[Word]]:
    """A long phrase in parts; the last one, which holds its head, is as long as possible."""
    first = len(units) % _LONGEST
    if first:
        yield units[:first]
    for at in range(first, len(units), _LONGEST):
        yield units[at : at + _LONGEST]


def _parts(units: list[Word]) -> Iterator[str]:
    """The parts of a phrase that count by themselves: its last two words, and each specific noun."""
    if len(units) > 2 and units[-2].does != VERBAL:
        yield units[-2].text + units[-1].text
    if len(units) > 1:
        yield from (word.text for word in units if word.does in (NOUN, NAME) and not is_general(word.text))


def _weight(word: str) -> float:
    """The weight by length. A Latin letter counts half of a Chinese character."""
    length = sum(0.5 if char.isascii() else 1 for char in word)
    return 1 + _PER_CHARACTER * (min(max(length, 1), _LONG) - 2)


LOOKED_AT = 100_000
"""How many characters of a text are read."""

_ENGLISH_STOPS = STOP_WORDS["en"]
_WORD = LazyPattern(
    r"[^\W\d_\u2e80-\u9fff\uac00-\ud7a3][^\W_\u2e80-\u9fff\uac00-\ud7a3]*(?:['’-][^\W_\u2e80-\u9fff]+){0,3}"
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LONGEST_WORD = 40  # what is longer is no word
_PHRASE = 3  # words
_LONGER_PHRASE, _CAPITAL = 0.4, 0.3


class Keyword(msgspec.Struct, frozen=True):
    """A word or phrase in its first spelling, with its weight and count."""

    word: str
    score: float
    count: int


class _Word(NamedTuple):
    """A content word, its stem and its weight."""

    written: str
    stem: str
    weight: float


def keywords(text: str, *, limit: int = 10) -> list[Keyword]:
    """At most ``limit`` keywords, the weightiest first, equals in the order of the text.

    Raises ``InvalidInput`` for a text that is no string, and for an invalid limit.
    """
    check_count(limit, "limit")
    text = check_string(text)[:LOOKED_AT]
    found = _english(text)
    if _HAN.search(text):
        found += chinese_keywords(text)
    found.sort(key=lambda keyword: -keyword.score)
    return found[:limit]


def _english(text: str) -> list[Keyword]:
    counts: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], tuple[_Word, ...]] = {}
    for run in _runs(text):
        for first in range(len(run)):
            for last in range(first + 1, min(first + _PHRASE, len(run)) + 1):
                words = tuple(run[first:last])
                stems = tuple(word.stem for word in words)
                counts[stems] += 1
                written.setdefault(stems, words)
    within = _counts_within(counts)
    return [_keyword(written[stems], count) for stems, count in counts.items() if count > within.get(stems, 0)]


def _counts_within(counts: Counter[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """How often each phrase occurs inside one longer phrase: a word that occurs only there is no keyword."""
    within: dict[tuple[str, ...], int] = {}
    for stems, count in counts.items():
        if len(stems) > 1 and count > 1:
            # A phrase that occurs once may be accidental, so its words count.
            for part in (stems[:-1], stems[1:]):
                within[part] = max(within.get(part, 0), count)
    return within


def _keyword(words: tuple[_Word, ...], count: int) -> Keyword:
    mean = sum(word.weight for word in words) / len(words)
    # A repeated phrase counts as one; one that occurs once may be accidental.
    longer = _LONGER_PHRASE * (len(words) - 1) if count > 1 else -0.25 * (len(words) - 1)
    return Keyword(" ".join(word.written for word in words), round(count * mean * (1 + longer), 4), count)


def _runs(text: str) -> Iterator[list[_Word]]:
    """The rows of content words with only spaces between them."""
    run: list[_Word] = []
    end = -1
    for found in _WORD.finditer(text):
        word = _content(text, found)
        if word is None or not (found.start() == end + 1 and text[end : end + 1] == " "):
            if run:
                yield run
            run = []
        if word:
            run.append(word)
        end = found.end()
    if run:
        yield run


def _content(text: str, found: re.Match[str]) -> _Word | None:
    word = found[0].replace("’", "'")
    lower = word.lower()
    if (len(word) < 3 and not word.isupper()) or lower in _ENGLISH_STOPS or len(word) > _LONGEST_WORD:
        return None
    lower = lower.removesuffix("'s")
    stems = query_terms(lower)
    if lower in _ENGLISH_STOPS or not stems:
        return None
    begins = (
        found.start() == 0
        or text[max(0, found.start() - 2) : found.start()] in (". ", "! ", "? ")
        or text[found.start() - 1] == "\n"
    )
    in_chinese = "\u3400" <= text[found.end() : found.end() + 1] <= "\u9fff"
    is_name = word[0].isupper() and (in_chinese or not begins)
    shown = word.removesuffix("'s") if is_name or word.isupper() else lower
    return _Word(shown, " ".join(stems), 1 + min(len(lower), 12) / 12 + (_CAPITAL if is_name else 0))
