"""Words that carry no topic of their own, the language of a text, and phrases in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from memwell.errors import InvalidInput
from memwell.values import shown

# The check of text arguments in this package.


def check_string(value: object, what: str = "a text") -> str:
    """Return ``value`` if it is a string of any characters, also such that cannot be stored.

    Raises ``InvalidInput`` otherwise.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {shown(value)}")
    return value


_ENGLISH = """
a about above across actually after again against ago all almost alone along already also although always am among
an and
another any anybody anymore anyone anything anyway anywhere are aren't around as ask asked at away back be became
because
become been before began behind being below beside besides best better between beyond big bit both bring brought but by
call called came can can't cannot certain certainly come comes coming could couldn't day days definitely did didn't
do does
doesn't doing don't done down during each either else end enough especially etc even ever every everybody everyone
everything everywhere exactly far feel feeling feels felt few find first for found from full gave get gets getting give
given gives giving go goes going gone gonna good got gotta great guess had hadn't happen happened has hasn't have
haven't
having he he'd he'll he's hear heard hello her here here's hers herself hey hi him himself his how how's however i
i'd i'll
i'm i've if in indeed instead into is isn't it it's its itself just keep keeps kept kind knew know known knows last
lately
later least left less let let's like little long look looked looking looks lot lots made make makes making many may
maybe me
mean means might mine more most mostly much must my myself need needed needs neither never new next nice no nobody
none nope
nor not nothing now nowhere of off often oh ok okay on once one ones only onto or other others our ours ourselves
out over
own part people perhaps place please pretty probably put quite rather really recently right said same saw say saying
says
second see seem seemed seems seen several shall she she'd she'll she's should shouldn't show since so some somebody
somehow
someone something sometimes somewhere soon sort still stuff such sure take taken takes taking talk tell than thank
thanks
that that'll that's the their theirs them themselves then there there's these they they'd they'll they're they've thing
things think thinking third this those though thought three through time times to today together told tomorrow too took
totally toward towards tried truly try trying turn turned two under unless until up upon us use used using usually
very via
want wanted wants was wasn't way ways we we'd we'll we're we've well went were weren't what what's whatever when
whenever
where where's wherever whether which while who who's whoever whole whom whose why will with within without won't
work would
wouldn't wow yeah year years yep yes yesterday yet you you'd you'll you're you've your yours yourself yourselves
absolutely
amazing awesome cool exciting glad happy hope love
"""
_CHINESE = """
的 了 是 在 我 你 他 她 它 们 您 咱 这 那 哪 谁 有 和 与 跟 及 或 就 都 很 也 还 又 再 才 不 没 一 个 着 过 吗 呢 吧
啊 呀 哦 嗯 哇 哈
上 下 里 中 来 去 到 从 对 把 被 给 让 向 往 以 为 于 之 而 但 却 则 所 得 地 会 能 可 要 想 说 看 做 用 只 更 最 太
真 好 多 少 些 每
某 各 该 此 其 当 将 已 曾 刚 正 比 等 吃 买 玩 叫 走 带 并
我们 你们 他们 她们 它们 咱们 自己 大家 别人 这个 那个 哪个 这些 那些 这样 那样 怎样 怎么 怎么样 什么 为什么 多少
几个 这里 那里 哪里
这儿 那儿 这么 那么 多么 因为 所以 但是 可是 不过 然而 而且 并且 或者 还是 如果 要是 虽然 即使 只要 只有 除了 关于
对于 由于 为了 通过
根据 以及 于是 然后 接着 最后 首先 其次 另外 同时 之前 之后 以前 以后 时候 时间 现在 刚才 最近 以来 一直 总是 经常
常常 有时 有时候 偶尔
已经 曾经 正在 将要 马上 立刻 终于 其实 确实 真的 真是 当然 可能 也许 大概 应该 必须 需要 可以 能够 愿意 想要 希望
觉得 认为 以为 感到
感觉 知道 听说 看到 看见 听到 发现 告诉 表示 没有 不是 不会 不能 不要 不想 不用 不好 很多 许多 一些 一个 一下 一样
一起 一点 一定 有点
有些 非常 特别 十分 比较 更加 尤其 超级 太多 多么 好像 似乎 如何 那种 这种 各种 有的 还有 没事 好的 谢谢 开始 成为
进行 出来 起来 下来
下去 上来 回来 过来 过去 出去 进去 今天 昨天 明天 前天 后天 去年 今年 明年 每天 上次 下次 这次 那次 每次 东西 事情
地方 是不是 有没有 能不能
会不会 好不好 对不对 的话 而已 之类 什么样 开心 高兴 喜欢 觉得自己 听起来 看起来 得到 收到 取得 参加 参与
"""

STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {"en": frozenset(_ENGLISH.split()), "zh": frozenset(_CHINESE.split())}
)
"""By language, *en* and *zh*; in lower case, with a straight apostrophe."""


# ``language_of``: detects Chinese and English by letters, to choose an embedder, a lexicon or a date format.


LOOKED_AT = 4096
"""How many characters of a text are read."""

_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_MANY_HAN = re.compile(f"[{_HAN}]+").findall
# Deleting is the fastest way to count letters: other ASCII characters and Chinese punctuation are deleted.
_NOT_A_LETTER = re.compile(r"[\W\d_]+").sub
_OF_ASCII = bytes(code for code in range(128) if not chr(code).isalpha())
_KANA_OR_HANGUL = re.compile("[\u3041-\u30ff\u31f0-\u31ff\u1100-\u11ff\uac00-\ud7a3]").findall
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]+").findall
# A Chinese word corresponds to about two of its characters or five Latin letters.
_LETTERS_A_CHARACTER = 2.5
_FOREIGN_WORDS = frozenset(
    # German, French, Spanish, Italian, Portuguese, Dutch: function words that are not English words too
    "und der das ist nicht ich ein eine mit auf sich auch wir sie den dem zu von für "
    "le les des est une dans qui pas vous nous je pour avec sur mais "
    "el los las que es un una por con para pero como muy está yo del "
    "il di che non per sono gli della ho mi uma não você os em eu het een van niet ik en wij".split()
)
_ENOUGH_FOREIGN = 0.25  # of the words


def han_share(text: str) -> float:
    """The share of a text's letters that are Han, from 0.0 to 1.0; 0.0 where there are no letters."""
    if text.isascii():
        return 0.0
    letters = _NOT_A_LETTER("", text[:LOOKED_AT])
    han = sum(map(len, _MANY_HAN(letters)))
    return han / len(letters) if han else 0.0


def language_of(text: str) -> str:
    """``"zh"``, ``"en"``, ``"other"``, or ``""`` for a text without letters."""
    text = text[:LOOKED_AT]
    plain = text.encode("ascii", "ignore")
    latin = len(plain.translate(None, _OF_ASCII))
    others = len(text) - len(plain)
    if latin > others * _LETTERS_A_CHARACTER:
        return _of_latin(text)
    return _of_scripts(text, latin, others) if others else ""


def en_or_zh(text: str) -> str:
    """``"zh"`` for a Chinese text, else ``"en"``: the languages in which phrases are written.

    A Chinese sentence may have more letters than characters, as 我住在Shanghai: it has no English function word.
    """
    found = language_of(text)
    text = text[:LOOKED_AT]
    if found != "en" or text.isascii() or not _MANY_HAN(text) or _KANA_OR_HANGUL(text):
        return "zh" if found == "zh" else "en"
    return "zh" if STOP_WORDS["en"].isdisjoint(map(str.lower, _LATIN(text))) else "en"


def language_code(given: object, what: str) -> str:
    """``en`` or ``zh``, of a language or locale such as ``zh_CN``. Raises ``InvalidInput`` for another one."""
    short = re.split("[-_]", given, maxsplit=1)[0] if isinstance(given, str) else ""
    if short not in ("en", "zh"):
        raise InvalidInput(f"{what} are written in en and zh, not in {shown(given)}")
    return short


def by_language(pairs: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Phrases given in English and Chinese, as the phrases of each language."""
    return {code: {key: pair[place] for key, pair in pairs.items()} for place, code in enumerate(("en", "zh"))}


def terminal_width(text: str) -> int:
    """How many columns a text takes in a terminal: a Chinese character takes two."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _of_scripts(text: str, latin: int, others: int) -> str:
    """The language by the number of ASCII letters and of other characters."""
    han = sum(map(len, _MANY_HAN(text)))
    if han and len(_KANA_OR_HANGUL(text)) * 10 > han:  # Japanese and Korean: a few kana in Chinese are a name
        return "other"
    if latin <= han * _LETTERS_A_CHARACTER and others <= han * 2:
        return "zh"
    letters = len(_NOT_A_LETTER("", text))
    latin = sum(map(len, _LATIN(text)))
    if han and latin <= han * _LETTERS_A_CHARACTER and letters - latin <= han * 2:
        return "zh"
    if not letters:
        return ""
    return _of_latin(text) if latin * 2 >= letters - han else "other"


def _of_latin(text: str) -> str:
    """English, unless too many words are another language's."""
    words = text.lower().split()
    foreign = len(words) - len([word for word in words if word not in _FOREIGN_WORDS])
    return "other" if foreign >= 2 and foreign >= _ENOUGH_FOREIGN * len(words) else "en"
