"""How well or ill a text speaks, from -1.0 to 1.0, in English and Chinese.

Every word of the lexicon adds its weight. A negation shortly before it turns it over and softens it, two cancel out; an
intensifier raises or lowers it; what follows a *but* counts for more than what stands before. Emoji and typed faces
count too. It knows nothing of irony.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import sqrt
from typing import NamedTuple

from memwell.language.segment import query_terms
from memwell.language.words import check_string

# The words that ``memwell.language.sentiment`` weighs: by how much each speaks well (1 to 3) or ill (-1 to -3).


ENGLISH: dict[float, str] = {
    3: """adore amazing awesome best brilliant delighted ecstatic excellent exceptional extraordinary fabulous fantastic
        flawless incredible love magnificent marvelous masterpiece outstanding overjoyed perfect phenomenal spectacular
        splendid stunning stellar superb terrific thrilled wonderful blissful gorgeous""",
    2: """admire amused appreciate beautiful beloved blast blessed brave calming celebrate charming cheerful cheers comfort
        compassion congrats congratulations content cozy creative delicious delight eager elegant encouraging energetic
        energized engaging enjoy enjoyable enthusiastic excited exciting fascinating favorite favourite fond friendly
        fulfilling fun funny generous genius glad good graceful grateful great happy harmony healing heartwarming
        heartfelt
        hilarious honored impressed impressive inspire inspiring joy joyful kindness laugh lovely loyal lucky
        magical memorable motivated neat nice optimistic passionate peaceful pleasant pleased pleasure prefer proud
        refreshing rejoice relieved remarkable rewarding romantic satisfied satisfying serene smile soothing special
        strong success successful sweet talented tasty thankful thrilling treasure triumph vibrant victory warm welcome
        win winner won worthwhile yay yummy cute adorable cool wow hooray wise bliss bonus gem uplifting empower""",
    1: """able accomplish achieve advantage agree amaze benefit better bright calm capable care clean clear clever
        comfortable confident convenient cooperative courage cure dear decent dependable determined durable easy
        effective efficient fair faith fast favor fine flexible free fresh fruitful gain genuine gift grow growth
        handy healthy help helpful honest hope hopeful ideal improve interesting keen learn leisure okay patient
        positive precious productive progress promising protect quiet recommend recover relax relaxing reliable respect
        safe skill smart smooth solid solve stable support supportive thank thanks trust trustworthy unique useful
        valuable willing worth worthy resilient rest""",
    -1: """ache alone annoy anxious apologize argue avoid awkward bored boring broken busy careless chaos cold
        complain complicate confused confusing crowded damage dark delay deny difficult dirty disagree dislike doubt
        dull
        empty error excuse exhausted expensive fault fear forget guilty hard hesitate ignore impatient late lazy lie
        limit
        lonely loss lost messy mistake miss nervous nuisance odd pressure problem refuse regret reject risk rough rude
        shy slow sorry steal stiff strange stress stuck struggle stupid tense tire tired trouble uncertain uncomfortable
        unclear unfair unfortunate unsure upset wait waste weak weird worry wrong hurdle challenge tough setback swamped
        interrupt""",
    -2: """abandon abuse afraid aggressive angry anger annoying anxiety arrogant ashamed attack bad bitter blame burden
        cheat cheated clumsy collapse conflict corrupt crash crisis cruel cry danger dangerous defeat depressed
        depressing desperate destroy disappoint disappointed disappointing disappointment disaster discourage disgust
        dishonest dismal distress dread embarrass enemy envy evil fail failed failure fake fatal fight filthy foolish
        frightened frustrated frustrating frustration furious gloomy greedy grief gross grumpy hardship harm harmful
        heartbroken hostile humiliate hurt ignorant ill inferior injury insecure insult irritate jealous liar mad mean
        misery nasty negative offend outrage overwhelmed pain painful panic pathetic poor punish rage reckless resent
        ridiculous ruin sad sadness scam scared scary selfish shame shock sick spoil stolen suffer terrified threat
        tragic
        ugly unhappy unpleasant unreliable useless vicious victim violent vulnerable worried worse wound sucks suck
        bummer
        bummed mock bully bullied""",
    -3: """abysmal agony appalling atrocious awful despair devastated devastating despise disastrous disgusting dreadful
        hate hatred heartbreaking hideous horrible horrific horrified horrifying miserable nightmare pitiful terrible
        torture tragedy traumatic trauma worst worthless unbearable""",
}
ENGLISH_NEGATIONS = """not no never dont doesnt didnt isnt wasnt arent werent wont wouldnt cant cannot couldnt shouldnt
    havent hasnt hadnt aint without hardly barely neither nor nobody nothing none lack"""
ENGLISH_MORE = """very really so extremely incredibly absolutely totally super truly especially particularly highly
    deeply insanely completely utterly too quite most such"""
ENGLISH_LESS = "slightly somewhat little bit fairly rather kinda sorta barely almost partly less"
ENGLISH_TURNS = "but however although though yet nevertheless nonetheless still"

CHINESE: dict[float, str] = {
    3: """太棒 棒极了 好极了 完美 精彩绝伦 热爱 酷爱 挚爱 狂喜 欣喜若狂 兴高采烈 美妙绝伦 惊艳 无与伦比 一流
        出类拔萃 卓越 非凡 杰出
        美极了 开心极了 幸福 深爱 最爱 极好 超棒 超赞 绝佳 欢天喜地 心花怒放 了不起 五星""",
    2: """开心 高兴 快乐 喜欢 爱 棒 好看 好吃 好玩 好听 好喝 美味 可爱 漂亮 美丽 优美 优秀 优异 精彩 满意 满足 感谢
        感激 感恩 感动
        欣赏 欣慰 骄傲 自豪 兴奋 激动 期待 惊喜 喜悦 愉快 愉悦 愉悦 舒服 舒适 温暖 温馨 温柔 甜蜜 甜美 浪漫 友好
        友善 善良 热情 热心
        亲切 勇敢 坚强 聪明 智慧 机智 出色 成功 胜利 赢 赢得 获奖 优胜 夺冠 冠军 进步 庆祝 恭喜 祝贺 加油 赞美 称赞
        表扬 夸 夸奖 鼓励
        支持 喝彩 享受 有趣 搞笑 幽默 好笑 迷人 动人 吸引 精致 美好 美妙 美 酷 帅 赞 给力 靠谱 值得 珍惜 珍贵 宝贝
        梦想 自由 轻松
        放松 安心 踏实 和谐 团结 信任 自信 乐观 积极 充实 津津有味 如愿 圆满 顺利 幸运 有意思 哈哈 嘻嘻 嘿嘿
        光彩夺目 不错 没问题
        乐趣 快活 欢乐 欢喜 欢笑 欢迎 惬意 痛快 爽 过瘾 贴心 体贴 孝顺 大方 慷慨 真诚 忠诚 热闹 繁荣 生动""",
    1: """好 行 方便 便宜 实用 有用 有效 高效 健康 安全 安静 干净 整洁 工整 新鲜 丰富 清楚 明白 理解 谅解 原谅 帮助
        帮忙 关心 照顾 保护
        陪伴 放心 稳定 平静 冷静 耐心 认真 努力 坚持 奋斗 成长 提高 提升 改善 收获 得奖 奖励 奖 礼物 希望 愿意 推荐
        认可 同意 尊重 礼貌
        谦虚 诚实 独特 特别 创意 合适 适合 流畅 简单 容易 解决 治好 康复 恢复 和好 没事 没关系 不要紧 不客气 治愈 笑
        微笑 优惠 免费
        灵活 活泼 鲜亮 明媚 清新 凉快 暖和 熟悉 擅长 能干 可靠 合作 分享 交流 谢谢 多谢 优势 优点 机会 进展""",
    -1: """不行 难 麻烦 困难 复杂 累 疲惫 疲倦 辛苦 忙 忙碌 贵 慢 迟到 晚点 冷 饿 渴 无聊 单调 枯燥 普通 一般般 紧张
        担心 担忧 犹豫 怀疑
        疑惑 困惑 迷茫 尴尬 陌生 孤单 寂寞 压力 问题 错 错误 错过 失误 忘记 丢 丢失 浪费 旧 脏 乱 吵 吵闹 拥挤 堵车
        拒绝 反对 抱怨
        批评 争执 争吵 吵架 矛盾 冲突 退货 取消 延误 缺点 缺乏 不足 遗憾 可惜 抱歉 对不起 弄坏 坏 摔倒 输 落后 下雨
        弱 差 笨 懒
        敷衍 马虎 粗心 着急 焦急 心急 为难 勉强 沉重 冷淡 冷漠 忽视 忽略 误会 误解""",
    -2: """难过 伤心 悲伤 伤感 难受 痛苦 痛 疼 疼痛 失望 失落 挫败 沮丧 焦虑 生气 愤怒 恼火 气愤 发火 讨厌 厌恶 烦 烦恼
        烦躁 闹心 郁闷 抑郁
        孤独 害怕 恐惧 恐怖 可怕 吓人 惊吓 惊慌 慌张 委屈 后悔 内疚 羞愧 羞耻 丢脸 丢人 嫉妒 自卑 自私 虚伪 欺骗 骗
        骗子 撒谎 背叛
        伤害 受伤 生病 发烧 感冒 失败 失去 失恋 离婚 分手 破产 失业 糟糕 糟 差劲 难吃 难看 难听 难闻 难堪 丑 恶心
        垃圾 愚蠢 傻 蠢
        可恶 可恨 可怜 残忍 粗鲁 无礼 嘲笑 取笑 欺负 歧视 侮辱 骂 责怪 责备 惩罚 威胁 危险 灾难 事故 损失 破坏 倒霉
        不幸 不爽 不满
        不安 坑 坑人 烂 没用 没劲 无奈 无助 绝情 呜呜 哭 流泪 心疼 心痛 心碎 崩溃 难熬 压抑 消极 悲观 忧郁 忧伤 苦恼
        怨 恨铁不成钢
        头疼 失眠 睡不好""",
    -3: """恨 憎恨 仇恨 痛恨 绝望 悲痛 惨 惨痛 悲惨 凄惨 糟透了 糟糕透顶 极差 最差 恶劣 噩梦 痛不欲生 撕心裂肺
        伤心欲绝 生不如死
        受够了 罪恶 暴力 虐待 折磨 惨不忍睹 一塌糊涂 差评""",
    # Words that hold a negation, a virtue or a vice only by their characters.
    0: """不好意思 不仅 不但 不只 不光 不管 不论 不同 不断 不久 不过 不得不 忍不住 差不多 好不容易 不一定 不知道
        要不 要不要 是不是 好不好
        能不能 会不会 有没有 没想到 不知不觉 不会吧 别的 别人 分别 特别是 区别 级别 性别 告别 非常 除非 未来 未必
        爱好 爱情 可能 问题是
        好像 好多 好久 好几 只好 正好 最好 刚好 还好 你好 您好 好友 好朋友 好处 好奇 差别 差距 差异 出差 相差 难道
        难免 难得 行为
        行动 进行 流行 旅行 举行 银行 行业 自行车 行李 执行 飞行 爬行 行星 步行 行走 美国 美术 美元 美洲 美团 赞助
        痛点 冷饮 冷藏
        比赛 笑话 爽约 恨不得 最难 忙于 贵州 贵阳 贵姓 贵公司 乱七八糟 爱因斯坦 错别字 夸张 夸克 奖项 没错 坏处 输入
        输出 运输 传输
        弱点 行人 怨不得 丑陋 惨白 脏话""",
}
CHINESE_MORE = "非常 特别 十分 极其 极为 超级 超 太 很 真 真的 最 格外 尤其 相当 好 多么 无比 万分 更 更加 实在 可 挺"
CHINESE_LESS = "有点 有点儿 有些 稍微 略 略微 还算 比较 还 不太 不够 不怎么 不大"
CHINESE_NEGATIONS = """不 没 没有 没能 别 无 未 非 不是 并不 并非 毫无 从不 从未 不太 不够 不怎么 不大 不再 没法 没办法
    无法 不能 不会 不想"""
CHINESE_TURNS = "但是 但 不过 然而 可是 却 只是 可惜的是 其实"

PICTURES: dict[float, str] = {
    2: "😀😃😄😁😆😅😂🤣😊😇🙂😍🥰😘😗😚😙😋🤗🤩🥳😎😺😸😻❤💕💖💗💓💞💘💝🧡💛💚💙💜🤍👍👏🙌🎉🎊🌟⭐✨💪🙏😌☺👌🏆🥇😉🤝💯🌈",
    -2: "😢😭😞😔😟🙁☹😣😖😫😩😤😠😡🤬😱😨😰😥😓😿💔👎🤢🤮😒🙄😾😧😦😪🥺😕😵🤦",
}
FACES: dict[float, str] = {
    1.5: ":) :-) :D :-D ;) ;-) =) :p :P <3 ^_^ ^^ xD XD",
    -1.5: ":( :-( :'( D: =( T_T >:( :/ :-/ </3",
}


_HAN = re.compile("[\u4e00-\u9fff]").search
_LATIN = re.compile("[A-Za-z]{2}").search
_PUNCTUATION = frozenset("，。！？；、,.!?;\n")
_NEGATED_WORDS, _NEGATED_CHARACTERS = 3, 4  # how far a negation reaches
_MORE, _LESS = 1.4, 0.6
_TURNED_GOOD, _TURNED_BAD = -0.75, -0.4  # "not bad" praises less than "not good" blames
_BEFORE_BUT, _AFTER_BUT = 0.5, 1.5
_SPREAD = 12.0  # the sum of squared weights at which a text stands at 0.7
_SAYS_LIKE = frozenset("i we you they he she realli to also do dont didnt would doesnt alwai who".split())
_EXCLAIMED = 0.1


class _Lexicon(NamedTuple):
    """What each word does: its weight, a factor on the next, a negation, or a turn of the thought."""

    weights: Mapping[str, float]
    factors: Mapping[str, float]
    negations: frozenset[str]
    turns: frozenset[str]


def sentiment(text: str) -> float:
    """From -1.0 (ill) to 1.0 (well); 0.0 where nothing speaks either way.

    Raises ``InvalidInput`` for a text that is no string.
    """
    plain = check_string(text).isascii()
    total = 0.0
    if plain:
        total = _of_english(query_terms(text))
    elif _LATIN(text):
        total = _of_english([term for term in query_terms(text) if term.isascii()])
    if not plain:
        total += _of_pictures(text)
        total += _of_chinese(text) if _HAN(text) else 0.0
    total += _of_faces(text)
    if not total:
        return 0.0
    total *= 1 + _EXCLAIMED * min(3, text.count("!") + text.count("！"))
    return total / sqrt(total * total + _SPREAD)


def _of_english(terms: list[str]) -> float:
    weights, factors, negations, turns = _english()
    total, factor, negated, reach, before = 0.0, 1.0, False, 0, ""
    for term in terms:
        weight = weights.get(term)
        if weight is not None:
            weight = _in_context(term, before, weight)
        if weight:
            total += _applied(weight, factor, negated and term != "wait")  # "can't wait" is glad
            factor, negated, reach = 1.0, False, 0
        elif term in negations:
            negated, reach = not negated, _NEGATED_WORDS
        elif term in turns:
            total, factor, negated, reach = _turned(total), 1.0, False, 0
        elif term in factors:
            factor *= factors[term]
        else:
            reach -= 1
            factor = 1.0
            if reach < 0 or term == "onli":  # "not only"
                negated = False
        before = term
    return total


def _in_context(term: str, before: str, weight: float) -> float:
    """The weight where it depends on the word before: *I like* speaks well, *looks like* does not."""
    if term == "like":
        return weight if before in _SAYS_LIKE else 0.0
    if term == "wait":
        return 2.0 if before in ("cant", "couldnt") else 0.0
    return weight


def _applied(weight: float, factor: float, negated: bool) -> float:
    if negated:
        weight *= _TURNED_GOOD if weight > 0 else _TURNED_BAD
    return weight * min(2.0, max(0.4, factor))


def _turned(total: float) -> float:
    """What was said before a *but*, as it counts beside what comes after."""
    return total * _BEFORE_BUT / _AFTER_BUT


def _of_chinese(text: str) -> float:
    words = _chinese()
    weights, factors, negations, turns = words.lexicon
    total, factor, negated, reach, done = 0.0, 1.0, False, 0, 0
    for start in words.starts(text):
        at = start.start()
        if at < done:
            continue
        word = _word_at(text, at, words)
        if at > done:  # what lies between ends an intensifier at once, and a negation after a few characters
            factor = 1.0
            negated = negated and at <= reach
        done = at + len(word)
        weight = weights.get(word)
        if weight and not (word in factors and weights.get(_word_at(text, done, words))):  # 好难过, but 很好
            total += _applied(weight, factor, negated)
            factor, negated = 1.0, False
        elif word in turns or text[at] in _PUNCTUATION:
            total = _turned(total) if word in turns else total
            factor, negated = 1.0, False
        else:
            factor *= factors.get(word, 1.0)
            if word in negations:
                negated, reach = not negated, done + _NEGATED_CHARACTERS
    return total


def _word_at(text: str, at: int, words: _ChineseWords) -> str:
    """The longest word of the lexicon that stands there, or nothing."""
    for length in words.lengths.get(text[at : at + 1], ()):
        word = text[at : at + length]
        if word in words.entries:
            return word
    return ""


def _of_pictures(text: str) -> float:
    weights, pictures = _pictures()
    return sum(weights[char] for char in pictures(text))


def _of_faces(text: str) -> float:
    if not any(mark in text for mark in (":", "<3", "^", "xD", "XD", "=)", "=(", ";)", "T_T")):
        return 0.0
    return sum(_faces().get(word, 0.0) for word in _FACE.findall(text))


_FACE = re.compile(r"(?<![A-Za-z0-9])(?:>?[:;=]'?-?[)(DpP/]|</?3|\^_?\^|[xX]D|T_T|D:)(?![A-Za-z0-9/])")


def _weights(words: Mapping[float, str]) -> dict[str, float]:
    return {word: float(weight) for weight, line in words.items() for word in line.split()}


@cache
def _english() -> _Lexicon:
    # Of two words with one stem the stronger counts: "amazing" beside "amaze".
    by_strength = sorted(_weights(ENGLISH).items(), key=lambda item: abs(item[1]))
    weights = {query_terms(word)[0]: weight for word, weight in by_strength}
    factors = dict.fromkeys(_stems(ENGLISH_MORE), _MORE)
    factors |= dict.fromkeys(_stems(ENGLISH_LESS), _LESS)
    negations = frozenset(_stems(ENGLISH_NEGATIONS))
    return _Lexicon(weights | {"like": 1.5}, factors, negations, frozenset(_stems(ENGLISH_TURNS)))


def _stems(words: str) -> Iterable[str]:
    return query_terms(words)


class _ChineseWords(NamedTuple):
    """The lexicon of Chinese, and how to find its words in a text without spaces."""

    lexicon: _Lexicon
    entries: frozenset[str]
    lengths: Mapping[str, tuple[int, ...]]
    """From a character to the lengths of the words that begin with it, longest first."""
    starts: Callable[[str], Iterable[re.Match[str]]]
    """All characters that begin a word, and punctuation."""


@cache
def _chinese() -> _ChineseWords:
    factors: dict[str, float] = dict.fromkeys(_split(CHINESE_MORE), _MORE)
    factors |= dict.fromkeys(_split(CHINESE_LESS), _LESS)
    negations = frozenset(_split(CHINESE_NEGATIONS))
    lexicon = _Lexicon(_weights(CHINESE), factors, negations, frozenset(_split(CHINESE_TURNS)))
    entries = frozenset({*lexicon.weights, *factors, *negations, *lexicon.turns})
    lengths: dict[str, set[int]] = {}
    for word in entries:
        lengths.setdefault(word[0], set()).add(len(word))
    starts = re.compile(f"[{''.join(sorted(lengths))}{re.escape(''.join(sorted(_PUNCTUATION)))}]").finditer
    return _ChineseWords(
        lexicon, entries, {char: tuple(sorted(found, reverse=True)) for char, found in lengths.items()}, starts
    )


def _split(words: str) -> list[str]:
    return words.split()


@cache
def _pictures() -> tuple[dict[str, float], Callable[[str], list[str]]]:
    """The weights of emoji, and what finds them in a text."""
    weights = {char: weight for weight, line in PICTURES.items() for char in line}
    return weights, re.compile(f"[{''.join(weights)}]").findall


@cache
def _faces() -> dict[str, float]:
    return _weights(FACES)
