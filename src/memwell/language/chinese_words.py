"""Chinese cut into words, each with what it does in a sentence.

The cutting is rjieba's. Its parts of speech come from newspapers, so that 知识 is a verb to it and 异步 an adverb; tables
of our own put right what matters for topics, and join the terms that it cuts apart, such as 大模型 and 机器学习.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from memwell.language.chinese_tables import ACTIONS, HEADS, MODIFIERS, NO_TOPICS, NOUNS, TERMS, VERBALS
from memwell.language.words import STOP_WORDS

NOUN, HEAD, MODIFIER, NAME, VERBAL, WEAK_VERBAL, ACTION = "n", "h", "b", "p", "v", "w", "a"
LATIN, SMALL_LATIN = "e", "f"
SPACE, SLASH, PAUSE, OF, ASPECT, MEASURE, OTHER = " ", "/", ",", "d", "u", "m", "."


class Word(NamedTuple):
    """A word, and one letter for what it does: see the names above.

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
# Days, months and hours; a feast is a topic.
_CALENDAR = re.compile("[年月日周天早晚午点分秒时号初末前后今昨明刚现季]|世纪")
_NO_NOUN = re.compile(
    "[没不有坐去来很太越每].*|.*[成了得着过出]"
)  # among the set phrases, which the tagger takes for one word
_NO_NAME = re.compile("[没不很太真].*|.*了")  # 太棒了 is nobody
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_NOUN_TAGS = frozenset({"n", "nz", "nt", "ns", "ng", "j", "s", "an", "x", "nrt", "nrfg"})
_VERB_TAGS = frozenset({"v", "vi", "vd"})
_TERM_BEGINNINGS = frozenset(term[:size] for term in TERMS for size in range(1, len(term) + 1))
# A word of two tables does what the later says.
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
    # Loaded for the first Chinese text: the dictionary takes some 140 ms and 33 MB.
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
    """Whether the last word is an adjective that belongs to what comes: 大模型, but not 很大 and a noun."""
    word, tag = words[-1]
    return word in _PREFIXES and tag == "a" and not (len(words) > 1 and words[-2][0][-1] in _DEGREES)


def _is_plain_noun(word: str, tag: str) -> bool:
    return tag in ("n", "nz") and len(word) > 1 and word not in NO_TOPICS


def _takes_ending(tagged: _Tagged) -> bool:
    word, tag = tagged
    return len(word) == 2 and word not in STOP_WORDS["zh"] and tag[0] in "vna" and _HAN.match(word) is not None


def _whole_terms(words: list[_Tagged]) -> Iterator[_Tagged]:
    """The words with those that make up a term joined, the longest term first."""
    at = 0
    while at < len(words):
        size = _term_at(words, at)
        yield ("".join(word for word, _ in words[at : at + size]), "n") if size > 1 else words[at]
        at += size


def _term_at(words: list[_Tagged], at: int) -> int:
    """How many words make up the longest term that begins there; 1 for none."""
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


__all__ = [
    "ACTION",
    "ASPECT",
    "HEAD",
    "LATIN",
    "MEASURE",
    "MODIFIER",
    "NAME",
    "NOUN",
    "OF",
    "OTHER",
    "PAUSE",
    "SLASH",
    "SMALL_LATIN",
    "SPACE",
    "VERBAL",
    "WEAK_VERBAL",
    "Word",
    "is_general",
    "words_of",
]
