"""What a text is about: its content words and short phrases, the weightiest first.

English gives phrases of one to three words without stop words, told apart by their stems. Chinese gives what stands
between function words, and what is repeated, in pieces of two to four characters; there is no dictionary of words
behind it. Only the first ``LOOKED_AT`` characters of a text are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from memwell.language.segment import query_terms
from memwell.language.texts import check_string
from memwell.language.words import STOP_WORDS
from memwell.values import check_count

LOOKED_AT = 100_000
"""How much of a text is read."""

_ENGLISH_STOPS = STOP_WORDS["en"]
_CHINESE_STOPS = STOP_WORDS["zh"]
_WORD = re.compile(
    r"[^\W\d_\u2e80-\u9fff\uac00-\ud7a3][^\W_\u2e80-\u9fff\uac00-\ud7a3]*(?:['’-][^\W_\u2e80-\u9fff]+){0,3}"
)
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{1,64}")
_LONGEST_WORD = 40  # what is longer is no word
_LONGEST_STOP = 4
_PHRASE = 3  # words
_LONGER_PHRASE, _CAPITAL = 0.4, 0.3
_PIECE_WEIGHTS = {2: 1.0, 3: 1.3, 4: 1.5}
# Words of two characters one of which is a function word elsewhere.
_WHOLE_WORDS = frozenset(
    "派对 晚会 聚会 社会 机会 会议 学会 宴会 约会 年会 开会 会员 体会 中国 中学 中心 中文 中午 集中 其中 上海 "
    "上学 上班 上课 晚上 早上 "
    "网上 下班 下课 下雨 下午 上午 地铁 地图 地球 地址 土地 草地 基地 最爱 美好 爱好 友好 好友 好奇 好吃 好玩 "
    "好看 可爱 可乐 可怕 看书 "
    "看病 说话 小说 做饭 用户 使用 应用 信用 费用 作用 公里 家里 过年 过程 难过 通过 经过 想法 思想 理想 梦想 "
    "想象 主要 重要 要求 需要 "
    "能力 功能 性能 智能 技能 能量 得分 真实 真相 最终 更新 每周 对手 对象 反对 对话 面对 给予 方向 来源 未来 "
    "原来 本来 到达 达到 迟到 "
    "从事 服从 被子 带领 领带 地带 个性 个人 正式 正常 正确 比赛 比例 等级 平等 高等 刚好 已婚 当地 将来 将军 "
    "以上 以下 作为 行为 认为 "
    "成为 因为 之间 而且 所有 拥有 有趣 有名 只有 着急 执着 所长 厕所 研究所 了解 为止 太阳 太空 太太 真诚 "
    "多彩 多样 少年 少女 多少 "
    "去世 失去 走路 逃走 叫声 买卖 购买 玩具 玩耍 游玩 吃饭 小吃 和平 和谐 温和 不同 "
    "一百 第一 统一 唯一 一样 没收 不足".split()
)


class Keyword(msgspec.Struct, frozen=True):
    """A word or phrase as it was first written, how much it weighs, and how often it occurs."""

    word: str
    score: float
    count: int


class _Word(NamedTuple):
    written: str
    stem: str
    weight: float


def keywords(text: str, *, limit: int = 10) -> list[Keyword]:
    """At most ``limit`` keywords, the weightiest first, equals in the order of the text.

    Raises ``InvalidInput`` for a text that is no string, and a limit that is no whole number of at least 0.
    """
    check_count(limit, "limit")
    text = check_string(text)[:LOOKED_AT]
    found = _english(text)
    if not text.isascii():
        found += _chinese(text)
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
    """How often each phrase occurs inside one longer phrase: a word that never leaves its phrase says nothing more."""
    within: dict[tuple[str, ...], int] = {}
    for stems, count in counts.items():
        if len(stems) > 1 and count > 1:
            # A phrase seen once may be words that only met; it hides none of them.
            for part in (stems[:-1], stems[1:]):
                within[part] = max(within.get(part, 0), count)
    return within


def _keyword(words: tuple[_Word, ...], count: int) -> Keyword:
    mean = sum(word.weight for word in words) / len(words)
    # A phrase that comes back is one; a phrase seen once may be two words that only met.
    longer = _LONGER_PHRASE * (len(words) - 1) if count > 1 else -0.25 * (len(words) - 1)
    return Keyword(" ".join(word.written for word in words), round(count * mean * (1 + longer), 4), count)


def _runs(text: str) -> Iterator[list[_Word]]:
    """The rows of content words that nothing but a space parts."""
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


def _chinese(text: str) -> list[Keyword]:
    pieces: Counter[str] = Counter()
    grams: Counter[str] = Counter()
    for run in _han_runs(text):
        pieces.update(_pieces(run))
        grams.update(run[at : at + size] for size in (2, 3, 4) for at in range(len(run) - size + 1))
    repeated = {gram: count for gram, count in grams.items() if count > 1}
    # A longer piece that never stood alone is mostly a slice of a repeated sentence.
    repeated = {gram: count for gram, count in repeated.items() if len(gram) == 2 or gram in pieces}
    within = _counts_in_longer(repeated)
    chosen = {gram: count for gram, count in repeated.items() if count > within.get(gram, 0)}
    for piece in pieces:
        if piece not in chosen and grams[piece] == 1:
            chosen[piece] = 1
    return [Keyword(word, round(count * _PIECE_WEIGHTS[len(word)], 4), count) for word, count in chosen.items()]


def _counts_in_longer(repeated: dict[str, int]) -> dict[str, int]:
    """How often each piece occurs inside one longer piece that is repeated too."""
    within: dict[str, int] = {}
    for gram, count in repeated.items():
        for size in range(2, len(gram)):
            for part in (gram[at : at + size] for at in range(len(gram) - size + 1)):
                within[part] = max(within.get(part, 0), count)
    return within


def _han_runs(text: str) -> Iterator[str]:
    """What stands between the function words of Chinese."""
    for found in _HAN_RUN.finditer(text):
        run = found[0]
        start = at = 0
        while at < len(run):
            length = _stop_at(run, at)
            if length:
                yield from (run[start:at],) if at - start > 1 else ()
                start = at + length
            at += length or 1
        if at - start > 1:
            yield run[start:]


def _stop_at(run: str, at: int) -> int:
    """The length of the longest function word that stands there; 0 for none, or where a whole word holds it."""
    for length in range(min(_LONGEST_STOP, len(run) - at), 0, -1):
        if run[at : at + length] in _CHINESE_STOPS:
            return 0 if length == 1 and _is_within_word(run, at) else length
    return 0


def _is_within_word(run: str, at: int) -> bool:
    """Whether the character is part of a word such as 晚会 or 中国."""
    return run[at : at + 2] in _WHOLE_WORDS or (at > 0 and run[at - 1 : at + 1] in _WHOLE_WORDS)


def _pieces(run: str) -> Iterator[str]:
    """A run of up to four characters as it is, a longer one in pairs: most words have two characters."""
    if len(run) <= 4:
        yield run
        return
    for at in range(0, len(run) - 1, 2):
        yield run[at : at + 2] if at + 3 != len(run) else run[at:]


__all__ = ["LOOKED_AT", "Keyword", "keywords"]
