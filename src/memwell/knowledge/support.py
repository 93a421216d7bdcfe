"""How much of a question a text holds: the ground on which an answer is given or refused.

A question is taken apart into what it needs: its telling words, and in Chinese its characters, each with its neighbour,
once the words that only ask (怎么, 多少, how many) are taken out. A synonym serves as well. What no document has at all
counts most, so a question about something else is far from covered however many everyday words it shares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from memwell.knowledge.asking import given, wanted
from memwell.knowledge.synonyms import Synonyms
from memwell.language.segment import query_terms, segment

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ASKING = re.compile(
    "是什么时候|什么时候|是什么|为什么|为何|何时|有没有|是不是|能不能|可不可以|怎么样|怎么|怎样|多少|多久|多长|多大|多高|什么|如何|哪些|哪个|哪种|"
    "哪里|哪儿|哪位|请问|请|几点|几天|谁|几|吗|呢|吧|可以|能否|能|需要|应该|应当|告诉我|介绍一下"
)
_ASKING_FIRST = re.compile("(?:我?该|应该|应当)?(?:怎么办|如何处理|怎么处理|怎么做)|东西")
"""Taken out before the rest, which would leave a part of them behind."""
_ASKING_ENGLISH = re.compile(
    r"\bhow (?:many|much|long|often|late)\b|\bwhat (?:should|shall|must|can|do) (?:i|we|one) do\b|"
    r"\b(?:some|any)(?:thing|one|body)\b|\bper\b",
    re.I,
)
_IRREGULAR = """
begin began begun; break broke broken; bring brought; build built; buy bought; catch caught; choose chose chosen;
drive drove driven; eat eaten; fall fell fallen; find found; fly flew flown; forget forgot forgotten; freeze froze
frozen; get got gotten; give gave given; go went gone; grow grew grown; hold held; keep kept; know knew known; lead
led; leave left; lend lent; lose lost; make made; mean meant; meet met; pay paid; rise rose risen; run ran; say said;
see saw seen; sell sold; send sent; shoot shot; speak spoke spoken; spend spent; steal stole stolen; take took taken;
teach taught; tell told; think thought; throw threw thrown; understand understood; wear wore worn; win won; write
wrote written; child children; man men; woman women; person people; foot feet; tooth teeth; mouse mice
"""
_TELLING = "xylophone"
_PHONE = "\x00phone"
"""A term that no text has and that stands for a telephone number in it."""
_PHONE_TERMS = frozenset(("phone", "telephon", "number", "电话", "话号", "号码", "手机"))
_A_PHONE = frozenset(("phone",))
_PRICE = "\x00price"
"""The same for an amount of money."""
_PRICE_TERMS = frozenset(("收费", "费用"))
_A_PRICE = re.compile("[0-9〇零一二两三四五六七八九十百千万] ?[元块]|免费|[¥￥$€]")
_STOP = re.compile("[。！？!?；;\n]")
_HOW_MUCH = "多少钱"
_SMALL = frozenset("的了是在有和与及或要被把我你您他她它们个为于之中就都也还很这那不没会对从到")
_A_CHARACTER = 0.5
"""What a Chinese character counts beside a word: a word has about two."""
_BY_SYNONYM = 0.7
"""What a synonym counts beside the question's own word: it may mean something else here."""
_LONGEST_PHRASE = 6
_MOST_NEEDS = 64
_LOOKED_AT = 400

Rarities = Callable[[Iterable[str]], Mapping[str, float]]


class Need(NamedTuple):
    """Something a question speaks of: any of ``terms`` serves, or nearly as well any of ``others``.

    The terms are the question's own and tell how rare it is; another is a row of terms that must all be there.
    """

    terms: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    weight: float

    def met(self, held: set[str]) -> float:
        """How much of it a text meets that has these terms."""
        if not held.isdisjoint(self.terms):
            return self.weight
        return _BY_SYNONYM * self.weight if any(map(held.issuperset, self.others)) else 0.0


_MONEY = Need((_HOW_MUCH[1:],), ((_PRICE,),), 1.0)


class Needs:
    """What a question needs, weighed by how rare it is among the documents."""

    def __init__(self, question: str, *, synonyms: Synonyms, rarities: Rarities) -> None:
        needs = _needs(question[:_LOOKED_AT], synonyms)[:_MOST_NEEDS]
        rare = rarities(term for need in needs for term in need.terms)
        self._needs = [need._replace(weight=need.weight * max(rare[term] for term in need.terms)) for need in needs]
        self._total = sum(need.weight for need in self._needs)
        self._calls = any((_PHONE,) in need.others for need in self._needs)
        self._pays = any((_PRICE,) in need.others for need in self._needs)

    def __bool__(self) -> bool:
        return self._total > 0.0

    def __len__(self) -> int:
        return len(self._needs)

    def covered(self, text: str) -> float:
        """The part of it that a text holds, from 0 to 1."""
        if not self._total:
            return 0.0
        held = set(segment(text))
        if self._calls and given(text, _A_PHONE):
            held.add(_PHONE)
        if self._pays and self._prices(text):
            held.add(_PRICE)
        return sum(need.met(held) for need in self._needs) / self._total

    def _prices(self, text: str) -> bool:
        """Whether a sentence with an amount of money speaks of something else of the question too."""
        bought = [need for need in self._needs if (_PRICE,) not in need.others]
        priced = (sentence for sentence in _STOP.split(text) if _A_PRICE.search(sentence))
        return any(need.met(held) for held in map(set, map(segment, priced)) for need in bought)


def _needs(question: str, synonyms: Synonyms) -> list[Need]:
    # It brings numpy, which takes a tenth of a second to load; nothing is asked before something was recalled.
    from memwell.longterm.question import weighted_terms  # noqa: PLC0415

    calls = wanted(question) >= _A_PHONE
    english = _ASKING_ENGLISH.sub(" ", _HAN.sub(" ", question))
    # Beside a telling word those that only hold a sentence together are left out; without one they would be all there is.
    telling = weighted_terms(f"{english} {_TELLING}")
    needs = [need for word in _WORD.findall(english) for need in _of_word(word, telling, synonyms)]
    telling_han = _ASKING.sub(" ", _ASKING_FIRST.sub(" ", question.replace(_HOW_MUCH, " ")))
    for run in _HAN.findall(telling_han):
        needs += map(_priced, _of_run(run, synonyms))
    if _HOW_MUCH in question:
        needs.append(_MONEY)
    return [_callable(need) if calls else need for need in dict.fromkeys(needs)]


def _callable(need: Need) -> Need:
    """The need for a telephone is met by a telephone number."""
    return need._replace(others=(*need.others, (_PHONE,))) if _PHONE_TERMS.intersection(need.terms) else need


def _priced(need: Need) -> Need:
    """The need for a price is met by an amount of money."""
    return need._replace(others=(*need.others, (_PRICE,))) if _PRICE_TERMS.intersection(need.terms) else need


def _of_word(word: str, telling: Mapping[str, float], synonyms: Synonyms) -> list[Need]:
    others = _forms((*_OTHER_FORMS.get(word.lower(), ()), *synonyms.synonyms_of(word)))
    return [Need((term,), others, telling[term]) for term in query_terms(word) if term in telling]


def _of_run(run: str, synonyms: Synonyms) -> list[Need]:
    """The needs of Chinese characters in a row: each is met by one of its two pairs, or by a synonym of a word it is in."""
    others = _synonyms_in(run, synonyms)
    needs: list[Need] = []
    for at, char in enumerate(run):
        if char in _SMALL:
            continue
        pairs = [run[start : start + 2] for start in (at - 1, at) if 0 <= start < len(run) - 1]
        # A pair with a small word beside it is no word.
        pairs = [pair for pair in pairs if not _SMALL.intersection(pair)] or [char]
        needs.append(Need(tuple(pairs), others[at], _A_CHARACTER))
    return needs


def _synonyms_in(run: str, synonyms: Synonyms) -> list[tuple[tuple[str, ...], ...]]:
    """For every character of a run the synonyms of the longest known word that it stands in."""
    found: list[tuple[tuple[str, ...], ...]] = [() for _ in run]
    at = 0
    while at < len(run):
        for length in range(min(_LONGEST_PHRASE, len(run) - at), 1, -1):
            forms = _forms(synonyms.synonyms_of(run[at : at + length]))
            if forms:
                found[at : at + length] = [forms] * length
                at += length - 1
                break
        at += 1
    return found


def _forms(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(form for word in words if (form := tuple(query_terms(word))))


def _other_forms() -> dict[str, tuple[str, ...]]:
    """Words whose forms share no stem, each with its others."""
    rows = [row.split() for row in _IRREGULAR.split(";")]
    return {word: tuple(other for other in row if other != word) for row in rows for word in row}


_OTHER_FORMS = _other_forms()

__all__ = ["Need", "Needs", "Rarities"]
