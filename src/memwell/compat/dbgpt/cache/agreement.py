"""Whether two texts that are near each other may stand for each other.

Vectors hardly tell "on" from "off", 23 from 24, or who gives from who gets. What decides such a question is compared here
by rule: numbers, negations, opposites, names and their order. When in doubt texts do not agree, for a miss costs a call and
a wrong answer costs trust.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from memwell.language.entities import FIRST_NAMES

_WORD = re.compile(r"[^\W\d_\u4e00-\u9fff]+(?:['’][^\W\d_\u4e00-\u9fff]+)*|[\u4e00-\u9fff]")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,:/]\d+)*%?")
_BREAK = re.compile(r"[.!?。！？:：\n]\s*$")
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "mis", "anti", "de")
_ENDINGS = (("ful", "less"), ("able", "less"))
_SHORTEST = 3
_LOOKED_BACK = 8

_NUMBER_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half third fourth "
    "fifth twice double triple 二 三 四 五 六 七 八 九 十 百 千 万 亿 两 半 倍".split()
)
_NEGATIONS = frozenset(
    "not no never cannot none nobody nothing nowhere neither nor without except unless hardly "
    "不 没 無 无 非 未 勿 莫 别 別 沒".split()
)
_OPPOSITES = """
on off | in out | up down | before after | today tomorrow yesterday tonight | now then later | yes no | true false
open close closed shut | start stop begin end finish | first second last | more less fewer | most least | minimum maximum
min max | high low | higher lower | highest lowest | left right | north south east west | northern southern eastern western
buy sell | increase decrease | add remove delete | enable disable | allow deny forbid block | with without | always never
all none some | every any no | he she they | his her their | him her them | male female | man woman | men women | boy girl
father mother | husband wife | morning noon afternoon evening night
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december | spring summer autumn winter
above below | over under | inside outside | import export | encode decode | encrypt decrypt | upload download | push pull
win lose | hot cold | warm cool | old new young | older newer younger | oldest newest youngest | good bad | better worse
best worst | big small | bigger smaller | biggest smallest | large small | larger smaller | largest smallest | long short
longer shorter | longest shortest | fast slow | faster slower | fastest slowest | love hate | accept reject | past future
next previous | second minute hour day week month quarter year decade century | km mile miles kilometers kilometres
celsius fahrenheit | meter meters feet | kg pounds | dollars euros pounds yen yuan | who when where why
whom when where why | from to | lend borrow | give take | send receive | push pop | read write | get set
show hide | lock unlock | login logout | install uninstall | create delete | rich poor | alive dead | born died
english french german spanish chinese japanese korean italian russian | plus minus times divided
multiply divide | subtract add | earliest latest | early late | easy hard | easy difficult | cheap expensive
near far | full empty | heavy light | dark light | wet dry | safe dangerous | legal illegal | public private
上 下 | 开 關 关 | 開 关 關 | 前 后 後 | 左 右 | 东 南 西 北 | 大 小 | 多 少 | 高 低 | 长 短
新 旧 老 | 快 慢 | 进 出 | 买 卖
男 女 | 早 晚 | 增 减 | 加 减 | 加 删 | 内 外 | 里 外 | 有 无
对 错 | 好 坏 | 来 去 | 真 假 | 今 明 昨 | 今 明 去 | 冷 热 | 父 母
哥 弟 | 姐 妹 | 谁 哪 何 | 他 她 | 你 我 他
借 还 | 收 发 | 胜 负 | 赢 输 | 生 死 | 春 夏 秋 冬 | 天 周 月 年 | 日 月 年 | 入 出 | 升 降
"""
_GROUPS = tuple(
    frozenset(group.split()) for line in _OPPOSITES.splitlines() for group in line.split("|") if group.strip()
)


class Marks(NamedTuple):
    """What must agree of a text."""

    words: tuple[str, ...]
    counts: Counter[str]
    numbers: Counter[str]
    negations: Counter[str]
    names: tuple[str, ...]


def marks(text: str) -> Marks:
    """What must agree of a text."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    found = list(_WORD.finditer(plain))
    words = tuple(piece for one in found for piece in _pieces(one[0].casefold()))
    numbers = Counter(_NUMBER.findall(plain))
    numbers.update(word for word in words if word in _NUMBER_WORDS)
    return Marks(words, Counter(words), numbers, _negations(words), tuple(_names(plain, found)))


def agree(one: Marks, other: Marks) -> bool:
    """Whether two near texts say the same, as far as rules can tell."""
    if one == other:
        return True
    if one.numbers != other.numbers or one.negations != other.negations:
        return False
    if one.words != other.words and one.counts == other.counts:
        # The same words in another order: who gives and who gets may have changed places.
        return False
    mine, theirs = one.counts - other.counts, other.counts - one.counts
    return not _are_opposed(mine, theirs) and not _are_negated(mine, theirs) and _names_agree(one, other)


def _pieces(word: str) -> Iterable[str]:
    """A word; a contraction as the two words that it is."""
    if word in ("can't", "cannot", "cant"):
        return "can", "not"
    if word.endswith("n't"):
        return word[:-3], "not"
    base, _, rest = word.partition("'")
    return (base, "is") if rest == "s" else (base,) if not rest else (base, rest)


def _negations(words: Iterable[str]) -> Counter[str]:
    """How often a text negates; which of the words of a language it says does not matter."""
    return Counter("no" if word.isascii() else "不" for word in words if word in _NEGATIONS)


def _names(text: str, found: Iterable[re.Match[str]]) -> Iterable[str]:
    """The capitalised words, without those that only begin a sentence."""
    for one in found:
        word = one[0]
        before = text[max(0, one.start() - _LOOKED_BACK) : one.start()]
        begins = _BREAK.search(before) is not None if before.strip() else one.start() <= _LOOKED_BACK
        if word[0].isupper() and word != "I" and not word.startswith("I'") and (not begins or word in FIRST_NAMES):
            yield word.casefold().removesuffix("'s")


def _names_agree(one: Marks, other: Marks) -> bool:
    """Whether each names what the other does, in the same order."""
    missing = any(name not in other.counts for name in one.names) or any(name not in one.counts for name in other.names)
    common = set(one.names) & set(other.names)
    return not missing and _only(one.names, common) == _only(other.names, common)


def _only(names: Iterable[str], wanted: set[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name in wanted))


def _are_opposed(mine: Counter[str], theirs: Counter[str]) -> bool:
    """Whether one says a word and the other says the opposite in its place."""
    for group in _GROUPS:
        ours, others = group & mine.keys(), group & theirs.keys()
        if ours and others and ours != others:
            return True
    return False


def _are_negated(mine: Counter[str], theirs: Counter[str]) -> bool:
    return any(_negated(one) & theirs.keys() for one in mine) or any(_negated(one) & mine.keys() for one in theirs)


def _negated(word: str) -> set[str]:
    """The words that a prefix or an ending makes of a word, with the meaning turned round."""
    if len(word) < _SHORTEST:
        return set()
    made = {prefix + word for prefix in _PREFIXES}
    return made | {word.removesuffix(having) + lacking for having, lacking in _ENDINGS if word.endswith(having)}


__all__ = ["Marks", "agree", "marks"]
