"""``sentences``: splits a text into sentences, with their positions.

A sentence ends at 。！？； or at ``.!?`` before white space, with closing quotes and brackets, and at a line break, unless
the line was only wrapped. A full stop after an abbreviation, an initial or a list number ends nothing, nor does one inside
a number, a file name or an address. Fenced code is split into lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memwell.language import entities
from memwell.language.patterns import LazyPattern

_CLOSING = "\"'”’」』】）)\\]》〉*_`"
# Every alternative begins with its own characters and does not backtrack, so that a text of marks alone is cheap; what
# follows a Western mark is examined afterwards.
_BREAK = re.compile(rf"[。！？；｡][。！？；｡!?….]*+[{_CLOSING}]*+|\n|[.!?]++[{_CLOSING}]*+|…++[{_CLOSING}]*+")
_OPENING = "“「《"
_WORD_BEFORE = re.compile(r"(?:\A|[^A-Za-z.])([A-Za-z]+(?:\.[A-Za-z]+){0,3})\Z").search
_ITEM_NUMBER = re.compile(r"(?:\A|\n)[ \t]{0,12}[0-9]{1,3}\Z").search
_NEXT = re.compile(r"\s{0,8}([A-Za-z]+|[0-9]|\S)?").match
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)
_LOOKED_BACK = 32
_QUOTED = 400  # How far back an open quotation is looked for.
_WRAPPED = 40  # A line that is broken before it is this long was broken on purpose.

_NEVER_END = frozenset(
    "dr mr mrs ms prof rev hon st gen col capt sgt lt gov sen rep pres mt dept univ vs eg ie e.g i.e cf viz approx "
    "jan feb apr aug sept oct nov dec tues thurs tel resp incl".split()
)
_BEFORE_NUMBERS = frozenset("no nos fig figs vol vols ch sec eq pp p art ver mar jun jul sep est".split())
_BEFORE_CAPITALS_END = frozenset("etc al a.m p.m am pm approx min max".split())
_BEFORE_STARTERS_END = frozenset("inc ltd co corp jr sr u.s u.k u.n u.s.a ph.d d.c b.a m.a e.u ave blvd rd".split())
_STARTERS = frozenset(
    "The A An He She It We They I You But And So In On At This That These Those My Our Your His Her Their If When While "
    "After Before Then There What Why How Who Where Is Are Was Were Do Did Does Can Could Will Would Not No Yes Also "
    "However Some Many Most All One Every".split()
)


class TextSpan(NamedTuple):
    """A part of a text: ``text`` is at ``start`` to ``end``."""

    start: int
    end: int
    text: str


def sentences(text: str) -> list[TextSpan]:
    """The sentences of a text, in order; only white space is between them."""
    spans: list[TextSpan] = []
    if "```" in text or "~~~" in text:
        _cut_around_code(text, spans)
    else:
        _cut(text, 0, len(text), spans)
    return spans


def _cut_around_code(text: str, spans: list[TextSpan]) -> None:
    """Splits prose into sentences and fenced code into lines; an unclosed fence runs to the end."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    fences.append(len(text))
    at = 0
    for opening, closing in zip(fences[::2], fences[1::2], strict=False):
        _cut(text, at, opening, spans)
        end = text.find("\n", closing)
        at = len(text) if end < 0 else end
        _cut_lines(text, opening, at, spans)
    _cut(text, at, len(text), spans)


def _cut_lines(text: str, start: int, end: int, spans: list[TextSpan]) -> None:
    for line in text[start:end].split("\n"):
        _add(text, start, start + len(line), spans)
        start += len(line) + 1


def _cut(text: str, start: int, end: int, spans: list[TextSpan]) -> None:
    for found in _BREAK.finditer(text, start, end):
        after = _end_of(text, start, found)
        if after:
            _add(text, start, after, spans)
            start = after
    _add(text, start, end, spans)


def _add(text: str, start: int, end: int, spans: list[TextSpan]) -> None:
    piece = text[start:end]
    kept = piece.strip()
    if kept:
        start += piece.index(kept[0]) if piece[0] != kept[0] else 0
        spans.append(TextSpan(start, start + len(kept), kept))


def _end_of(text: str, start: int, found: re.Match[str]) -> int:
    """The end of the sentence that began at ``start``, or 0 when the match does not end it."""
    at, end = found.span()
    mark = text[at]
    if mark == "\n":
        return 0 if end - start > _WRAPPED and text[end : end + 1].islower() else end
    if mark in "。！？；｡":
        return _closed(text, start, found)
    following = text[end : end + 1]
    if mark != "…" and not (following.isspace() or not following or following >= "\u3400" or following in _OPENING):
        return 0
    if mark == "…" or text[at : at + 2] == "..":
        return 0 if _follows_lower(text, end) else _closed(text, start, found)
    if mark == ".":
        return _closed(text, start, found) if _full_stop_ends(text, start, at, end) else 0
    quoted = text[end - 1] in "\"'”’"
    return 0 if quoted and _follows_lower(text, end) else _closed(text, start, found)  # "Really?" he asked


def _closed(text: str, start: int, found: re.Match[str]) -> int:
    """The end of a mark and its closing quotes; a straight quote without an opening one belongs to the next sentence."""
    at, end = found.span()
    quote = text.find('"', at, end)
    if quote >= 0 and text.count('"', max(start, at - _QUOTED), at) % 2 == 0 and text[end : end + 1].strip():
        return quote
    return end


def _follows_lower(text: str, end: int) -> bool:
    following = _NEXT(text, end)
    return bool(following and following[1] and "a" <= following[1][0] <= "z")


def _full_stop_ends(text: str, start: int, at: int, end: int) -> bool:
    before = text[max(start, at - _LOOKED_BACK) : at]
    found = _NEXT(text, end)
    following = (found[1] if found else None) or ""
    if not text[end : end + 1].isspace() and end < len(text) and not (before and before[-1] >= "\u3400"):
        return False  # "v2.版本", but 你好.再见 are two
    if before[-1:].isdigit():
        return not (following and _ITEM_NUMBER(before))
    word = _WORD_BEFORE(before)
    return not following or not word or _word_ends(word[1], following)


def _word_ends(word: str, following: str) -> bool:
    """Whether a full stop between two words ends a sentence."""
    lower = word.lower()
    if lower in _NEVER_END:
        return False
    if lower in _BEFORE_NUMBERS:
        return not following[0].isdigit()
    if lower in _BEFORE_CAPITALS_END:
        return following[0].isupper() or following[0] >= "\u3400"
    if lower in _BEFORE_STARTERS_END:
        return following in _STARTERS or following[0] >= "\u3400"
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return not is_initial or not following[0].isupper()


# Small talk: sentences of greetings, thanks, a yes or a no, in English and Chinese.

_LONGEST = 120


def _any(phrases: str) -> str:
    """One of the phrases, the longest first, because the pattern does not backtrack."""
    found = (phrase.strip() for phrase in phrases.replace("\n", ";").split(";"))
    return "|".join(sorted(filter(None, found), key=len, reverse=True))


# A name may follow these as an address; after a yes or a no it may be the answer.
_ADDRESSED = _any("""
hi; hello; hey; hiya; thanks; many thanks; thank you; thx; cheers; you['’]re welcome; welcome; welcome back; no problem
no worries; ok; okay; bye; goodbye; bye bye; see you; see you later; see you soon; take care; nice to meet you
good morning; good evening; good afternoon; good night; how are you; how are you doing; how can i help; how can i help you
""")
_ANSWERS = _any("""
sure; sure thing; great; great idea; yes; no; yeah; yep; yup; nope; nah; nice; cool; lovely; perfect; awesome; wonderful
amazing; excellent; fantastic; sounds good; sounds great; sounds lovely; got it; of course; certainly; absolutely
definitely; i see; noted; i understand; understood; how nice; how lovely; alright; all right; right; exactly; fine; oh
wow; hmm; haha; ah; aha; lol; good; very good; very nice; that['’]s great; that['’]s nice; that['’]s good; that is great
that sounds good; that sounds great; that['’]s lovely; that['’]s fine; please; yes please; no thanks; no thank you
good idea; nice to hear; glad to hear that; glad to hear it; glad to help; happy to help; my pleasure; have a nice day
have a good day; have a great day; have a nice evening; have a great weekend; have a good one
""")
_INTENSIFIERS = _any("""
a lot; so much; very much; again; everyone; everybody; all; guys; there; then; really; indeed; too; as well; my friend
sir; madam; dear; today; for now; a bunch; a million; for your help; for the help; for that; for this; for asking
for everything; for letting me know; and
""")
_ADDRESSED_ZH = _any("""
你好; 您好; 大家好; 嗨; 哈喽; 谢谢; 谢谢你; 谢谢您; 多谢; 感谢; 非常感谢; 太感谢了; 再见; 拜拜; 回头见; 早上好; 上午好
下午好; 中午好; 晚上好; 早安; 晚安; 早; 不客气; 不用谢; 没问题; 没关系; 没事; 很高兴认识你; 很高兴认识您; 辛苦了; 欢迎
""")
_ANSWERS_ZH = _any("""
好; 好的; 好吧; 好啊; 好呀; 好哒; 嗯; 哦; 噢; 是; 是的; 是啊; 对; 对的; 对啊; 对呀; 不; 不是; 不用; 不用了; 没有; 明白
明白了; 知道; 知道了; 我知道了; 我明白了; 了解; 了解了; 收到; 可以; 行; 当然; 当然可以; 太好了; 真好; 很好; 太棒了; 真棒
不错; 原来如此; 原来是这样; 哈; 哇; 有什么可以帮您; 有什么可以帮你; 有什么我可以帮您; 我能帮您什么; 有什么可以帮助您
""")
_INTENSIFIERS_ZH = "啊|呀|哦|啦|呢|吧|哈|了(?!解)|的|吗|哟|喽|非常|真的|各位|(?:大家|您|你们|你)(?!好)|朋友们|朋友"
_BETWEEN = r"[^\w]*+"
_HAN = "\u4e00-\u9fff"
_NAME = (
    rf"(?!(?:{_ADDRESSED}|{_ANSWERS}|{_INTENSIFIERS})\b)(?-i:[A-Z][a-zà-ÿ]{{1,20}}(?: [A-Z][a-zà-ÿ]{{1,20}})?)"
    rf"|(?!{_ADDRESSED_ZH}|{_ANSWERS_ZH})(?:[小老阿][{_HAN}]|[{''.join(sorted(entities.SURNAMES))}][{_HAN}]{{0,2}})(?:{entities.PERSON_ENDINGS_ZH})?(?![{_HAN}])"
)
# Without backtracking, so that a long row of such words takes linear time.
_MORE = rf"(?:{_BETWEEN}(?>(?:{_INTENSIFIERS})\b|{_INTENSIFIERS_ZH}))*+"
_ONLY = LazyPattern(
    rf"{_BETWEEN}(?:(?:(?>(?:{_ADDRESSED})\b|{_ADDRESSED_ZH}){_MORE}(?:[ ,，]{{0,2}}(?P<name>{_NAME}))?+"
    rf"|(?>(?:{_ANSWERS})\b|{_ANSWERS_ZH})){_MORE}{_BETWEEN})*+\Z",
    re.IGNORECASE,
).match


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence has no content: no word at all, or only words of courtesy and assent."""
    if len(sentence) > _LONGEST:
        return False
    only = _ONLY(sentence)
    return only is not None and not _says_when_or_where(only["name"])


def _says_when_or_where(name: str | None) -> bool:
    """Whether the word in the place of a name is a time or a place: "Thanks, Friday." """
    if name is None:
        return False
    return name in entities.PLACES or name in entities.NOT_NAMES or name[:2] in entities.NOT_PEOPLE_ZH
