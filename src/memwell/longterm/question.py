"""A question put to the memory, and what can be read off it once, before any record is looked at."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell.language.dates import time_expressions
from memwell.language.segment import query_terms, segment
from memwell.longterm.pool import is_chinese
from memwell.storage.bm25 import MAX_TERMS

HAN_WEIGHT = 0.3
"""What a single Chinese character counts beside the pairs, which say more."""

_LONG, _LONG_CHINESE = 300, 60
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_WHEN = re.compile(
    r"\bwhen\b|\bhow long ago\b|\b(?:what|which) (?:date|day|month|year|time|week|season)\b"
    r"|什么时[候间]|何时|哪[天年月]|几[号月点]|多久",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|often|old|long)\b|多少|几[个次天年本名位条张件岁]|多[久大长]", re.IGNORECASE
)
_I = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b|我", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|your|yours)\b|你|您", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?] )(?<!\A)\b[A-Z][\w'-]+")


_FUNCTION_WORDS = frozenset(
    segment(
        """a an the this that these those there here it its itself i me my mine myself we us our ours you your yours he him
        his she her hers they them their theirs who whom whose which what when where why how and or but nor so if then than
        because as while of to in on at by for from with without about into onto over under up down out off between during
        is am are was were be been being do does did doing done has have had having can could will would shall should may
        might must not no yes any some all both each every other another such just also only very too much many more most
        ever still again s t d ll re ve m isnt arent wasnt werent dont doesnt didnt cant couldnt wont wouldnt
        please tell remind remember know"""
    )
)
"""Words that say how something is asked and not what: in a small memory they are too rare to be told by their frequency."""
_FRAME_WORDS = frozenset(
    segment(
        """second minute hour day week month year date ago passed since until first last latest earliest recent recently
        currently current past previous before after total number amount count order time times kind type sort name long
        often suggest suggestion recommend recommendation tip idea advice different few wondering conversation chat
        mention mentioned say said talk talked discuss discussed"""
    )
)
"""Words that mostly say what form the answer should have."""
_FRAME_WEIGHT = 0.3
_CHINESE_FUNCTION = frozenset(
    "的了是我你他她它们在有和与就都也还很吗呢吧啊呀么这那哪个不没到要会能可以什怎为对说去来上下里把被给让跟从"
)


class Question(NamedTuple):
    """What is asked, and what follows from its words alone."""

    text: str
    now: float
    vector: NDArray[np.float32] | None
    terms: tuple[str, ...]
    term_weights: NDArray[np.float32]
    name_terms: frozenset[str]
    """Terms of the names in the question."""
    times: tuple[tuple[float, float], ...]
    """The stretches of time it speaks of, in seconds since 1970."""
    asks_when: bool
    asks_how_many: bool
    of_me: bool
    of_you: bool

    @classmethod
    def of(cls, text: str, *, now: float, vector: NDArray[Any] | None = None) -> Question:
        """Read a question. Without a vector it is looked for by its words alone."""
        terms = weighted_terms(text)
        # A long text is talk, not a question: what it asks and when it speaks of says little about what it needs.
        asked = "" if len(text) > (_LONG_CHINESE if is_chinese(text) else _LONG) else text
        return cls(
            text,
            now,
            None if vector is None else np.asarray(vector, np.float32),
            tuple(terms),
            np.fromiter(terms.values(), np.float32, len(terms)),
            frozenset(query_terms(" ".join(_NAME.findall(text)))),
            _times(asked, now),
            _WHEN.search(asked) is not None,
            _HOW_MANY.search(asked) is not None,
            _I.search(text) is not None,
            _YOU.search(text) is not None,
        )


def _times(text: str, now: float) -> tuple[tuple[float, float], ...]:
    """The stretches of the past that are named. One that holds the present, such as *today*, says nothing of a record."""
    moment = datetime.fromtimestamp(now, UTC)
    found = time_expressions(text, now=moment)
    return tuple(
        (one.since.timestamp(), one.until.timestamp())
        for one in found
        if one.since and one.until and one.until <= moment
    )


def weighted_terms(text: str) -> dict[str, float]:
    """The terms to look for, each once, with what a match counts."""
    terms = {term: _FRAME_WEIGHT if term in _FRAME_WORDS else 1.0 for term in query_terms(text)}
    if not text.isascii():
        for char in _HAN.findall(text):
            terms.setdefault(char, HAN_WEIGHT)
    telling = {term: weight for term, weight in terms.items() if not _is_function(term)}
    return dict(list((telling or terms).items())[:MAX_TERMS])


def _is_function(term: str) -> bool:
    return term in _FUNCTION_WORDS or _CHINESE_FUNCTION.issuperset(term)


__all__ = ["HAN_WEIGHT", "Question", "weighted_terms"]
