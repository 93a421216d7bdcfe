"""Made-up text and vectors: the same for the same seed, with the traits of real ones that decide how fast a search is.

Text is about 160 characters in the mean, half English, two fifths Chinese, the rest both. Words follow a flattened Zipf's
law within a topic, so that some are in every second record and some in a handful.

Vectors lie on a bent surface, as embeddings do, and not in lumps that any graph tells apart: a text is a point in 48 hidden
dimensions, around one of 300 overlapping topics of very different sizes, and a fixed nonlinear map (a hyperbolic tangent
between two random matrices) takes it to 384, where a little noise is added. That makes them about as hard as measured
embeddings of real text: among 100,000 a graph that looks at 64 candidates finds 95 % of the ten nearest, at 256 99.4 %.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384

_GLUE = """the of and to a in that it is was for on with as we at by this had not but from or have an they which one you
were all her she there would their will when who him been has more if out so what up said about other into than its only
could new them some time these two may then do first any my now such like our over man me even most made after also did
many before must through back years where much your way well down should because each just those people too little state
good very make world still own see work long here get both between life being under never day same another know while
last might us great old year off come since against go came right used take three""".split()

_TOPICS = [
    line.split()
    for line in """
    train ticket platform station journey timetable carriage seat window luggage conductor delay arrival departure railway
    kitchen recipe onion garlic butter oven saucepan dinner flavour spice breakfast lemon pepper bread noodle soup pastry
    invoice payment contract budget customer refund discount account balance receipt supplier quarter forecast deadline
    garden tomato seedling compost watering sunlight spade hedge blossom weeds greenhouse orchard pruning soil harvest
    guitar melody rehearsal concert chorus drummer violin harmony rhythm orchestra album singer piano stage encore audience
    doctor appointment allergy prescription headache vaccine pharmacy surgery clinic symptom recovery nurse dentist bandage
    python compiler function variable database deploy release rollback latency throughput server container logging refactor
    marathon stretching sprint coach stadium referee goalkeeper tournament bicycle swimming training medal injury stamina
    mountain trail campsite compass backpack summit valley waterfall blizzard lantern tent glacier ridge shelter footpath
    mortgage apartment landlord furniture balcony plumbing neighbour heating lease bedroom staircase carpet renovation roof
    physics telescope orbit particle gravity experiment hypothesis laboratory quantum spectrum nebula satellite equation
    kindergarten homework teacher playground alphabet notebook semester exam scholarship lecture essay diploma library
    """.strip().splitlines()
]

_CHINESE_GLUE = """我们 他们 你们 这个 那个 什么 没有 可以 因为 所以 但是 如果 已经 现在 今天
明天 昨天 知道 觉得 还是 就是 一个 一些 时候 以后 以前 自己 大家 这里 那里 怎么 为什么 非常 比较 可能 应该 需要 希望
喜欢 开始 最后 终于 其实 当然 的 了 在 是 也 都 很 和 有 不""".split()

_CHINESE_TOPICS = [
    line.split()
    for line in """
    火车 车票 站台 旅行 行李 时刻 车厢 座位 窗户 到达 出发 铁路 机场 航班 护照 签证 酒店 地图 导游
    厨房 菜谱 洋葱 大蒜 黄油 烤箱 晚饭 味道 香料 早餐 柠檬 胡椒 面包 面条 豆腐 米饭 茶叶 咖啡 水果
    发票 付款 合同 预算 客户 退款 折扣 账户 余额 收据 供应商 季度 预测 截止 股票 基金 保险 税务 工资
    花园 番茄 种子 肥料 浇水 阳光 铲子 树篱 花朵 杂草 温室 果园 修剪 土壤 收获 蝴蝶 蜜蜂 竹子 荷花
    吉他 旋律 排练 音乐会 合唱 鼓手 小提琴 和声 节奏 乐团 专辑 歌手 钢琴 舞台 观众 电影 导演 剧本 演员
    医生 预约 过敏 处方 头痛 疫苗 药店 手术 诊所 症状 康复 护士 牙医 绷带 体检 血压 睡眠 营养 锻炼
    程序 编译 函数 变量 数据库 部署 发布 回滚 延迟 服务器 容器 日志 重构 算法 接口 缓存 线程 网络 加密
    马拉松 教练 体育馆 裁判 守门员 比赛 自行车 游泳 训练 奖牌 受伤 耐力 足球 篮球 羽毛球 冠军 决赛 球迷 滑雪
    北京 上海 广州 深圳 杭州 成都 西安 南京 武汉 重庆 长城 故宫 西湖 黄山 泰山 长江 黄河 草原 沙漠
    """.strip().splitlines()
]

RARE_ENGLISH = ("zeppelin", "marzipan", "obsidian", "kumquat")
RARE_CHINESE = ("琥珀", "麒麟", "罗盘", "灯塔")
"""Words that only planted records hold: what a search must find, and nothing else with them."""


def _zipf(count: int) -> list[float]:
    return list(accumulate(1.0 / (rank + 4) for rank in range(count)))


class Writer:
    """Writes texts. The same seed writes the same texts."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._weights = {len(words): _zipf(len(words)) for words in (_GLUE, _CHINESE_GLUE, *_TOPICS, *_CHINESE_TOPICS)}

    def _pick(self, words: Sequence[str]) -> str:
        return self._random.choices(words, cum_weights=self._weights[len(words)])[0]

    def _english(self, length: int) -> str:
        topic, words, size = self._random.choice(_TOPICS), [], 0
        while size < length:
            words.append(self._pick(_GLUE if self._random.random() < 0.55 else topic))
            size += len(words[-1]) + 1
        return " ".join(words).capitalize() + "."

    def _chinese(self, length: int) -> str:
        topic, pieces, size = self._random.choice(_CHINESE_TOPICS), [], 0
        while size < length:
            pieces.append(self._pick(_CHINESE_GLUE if self._random.random() < 0.5 else topic))
            size += len(pieces[-1])
            if self._random.random() < 0.08:
                pieces.append("，")
        return "".join(pieces).strip("，") + "。"

    def text(self) -> str:
        """One text in a language drawn by lot."""
        length, draw = self._random.randint(90, 220), self._random.random()
        if draw < 0.5:
            return self._english(length)
        if draw < 0.9:
            return self._chinese(length)
        return f"{self._english(length // 2)} {self._chinese(length // 2)}"


def message_text() -> str:
    """The one message of 160 characters that every append writes."""
    return (
        "We moved the meeting to Thursday because the train from the coast was late again, so please bring the " * 2
    )[:160]


_TOPICS_OF_VECTORS = 300
_HIDDEN = 48
_WIDTH = 256


class Directions:
    """A source of unit vectors, as described at the top."""

    def __init__(self, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self._inner = self._normal(_HIDDEN, _WIDTH) / np.sqrt(_HIDDEN, dtype=np.float32)
        self._outer = self._normal(_WIDTH, DIMENSIONS) / np.sqrt(_WIDTH, dtype=np.float32)
        self._topics = self._normal(_TOPICS_OF_VECTORS, _HIDDEN)
        sizes = 1.0 / np.arange(1, _TOPICS_OF_VECTORS + 1) ** 0.7
        self._shares = sizes / sizes.sum()

    def _normal(self, *shape: int) -> NDArray[np.float32]:
        return self._random.standard_normal(shape, dtype=np.float32)

    def draw(self, count: int) -> NDArray[np.float32]:
        """That many unit vectors, topics by lot."""
        topics = self._random.choice(_TOPICS_OF_VECTORS, size=count, p=self._shares)
        points = self._topics[topics] + np.float32(1.2) * self._normal(count, _HIDDEN)
        found = np.tanh(np.float32(1.5) * points @ self._inner) @ self._outer
        found += np.float32(0.02) * self._normal(count, DIMENSIONS)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found


def tenant_sizes(records: int) -> list[int]:
    """Two hundred tenants: one with a fifth of all records, fifty with 98 (fewer in a small store), the rest alike."""
    largest, small = records // 5, min(98, records // 1000 or 1)
    rest = records - largest - 50 * small
    return [largest, *([small] * 50), *_even(rest, 149)]


def _even(total: int, parts: int) -> Iterator[int]:
    for part in range(parts):
        yield (part + 1) * total // parts - part * total // parts


__all__ = [
    "DIMENSIONS",
    "RARE_CHINESE",
    "RARE_ENGLISH",
    "Directions",
    "Writer",
    "message_text",
    "tenant_sizes",
]
