"""The guard against learning from oneself: what was recalled of late, and whether a text merely repeats it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import NamedTuple, TypeVar

from memwell.language.segment import query_terms
from memwell.language.sentences import sentences
from memwell.longterm.duplicates import NO_TOPIC, decisive_terms, fingerprint
from memwell.values import check_count

T = TypeVar("T")

# How a memory is introduced and who it is about may change when a model repeats it.
_FRAMES = frozenset(
    query_terms(
        "mention mentioned earlier previously remember recall recalled based memory memories according noted shared record "
        "conversation conversations past user assistant"
    )
)
_PRONOUNS = re.compile("(?:记得|提到过?|说过|之前|用户)|[我你您他她它咱们]")
_ALIKE = 0.8
_FEW = 4
_CANDIDATES = 64
_WHOLE = 24  # A record with fewer terms than this is also compared as a whole.


class _Said(NamedTuple):
    """A piece of what was recalled: whose it is, its words of topic, and those that may not differ."""

    id: str
    topics: frozenset[str]
    decisive: frozenset[str]


class _Memory(NamedTuple):
    text: str
    said: list[_Said]
    prints: list[str]


class Echoes:
    """What was recalled and handed to a model of late: at most ``most`` memories. Safe to share between threads."""

    def __init__(self, most: int = 512) -> None:
        self._most = check_count(most, "most", least=1)
        self._lock = Lock()
        # Recall must not wait for this, so what is heard is cut into words when it is first asked about.
        self._heard: dict[str, str] = {}
        self._unread: dict[str, None] = {}
        self._known: dict[str, _Memory] = {}
        self._by_term: dict[str, dict[_Said, None]] = {}
        self._by_print: dict[str, dict[str, None]] = {}

    def heard(self, texts: Mapping[str, str]) -> None:
        """Note that memories were handed to a model, by their ids; those heard longest ago go when there are too many."""
        with self._lock:
            for id_ in texts:
                self._heard.pop(id_, None)
            self._heard.update(texts)
            self._unread.update(dict.fromkeys(texts))
            while len(self._heard) > self._most:
                self._drop(next(iter(self._heard)))

    def forget(self, ids: Iterable[str]) -> None:
        """Drop memories with all that is kept of their texts."""
        with self._lock:
            for id_ in ids:
                self._drop(id_)

    def echo_of(self, text: str) -> str | None:
        """The id of the memory that a text merely repeats, or None when it says something else or something more.

        A text of several sentences is an echo when each that says anything repeats some memory; the one most repeated is
        named. Another number or another negation makes a sentence new.
        """
        with self._lock:
            self._catch_up()
            same = self._same(text)
            if same is not None or not self._known:
                return same
            repeated: Counter[str] = Counter()
            for sentence in sentences(text):
                topics, decisive = _said(sentence.text)
                if not topics and not decisive:
                    continue
                id_ = self._source(sentence.text, topics, decisive)
                if id_ is None:
                    return None
                repeated[id_] += len(topics)
            return max(repeated, key=repeated.__getitem__) if repeated else None

    def _same(self, text: str) -> str | None:
        return next(reversed(self._by_print.get(fingerprint(text), {})), None)

    def _source(self, text: str, topics: frozenset[str], decisive: frozenset[str]) -> str | None:
        same = self._same(text)
        if same is not None or len(topics) < 2:
            return same  # one word is in too many texts to say where it is from
        known = [self._by_term[term] for term in topics if term in self._by_term]
        if len(known) < _ALIKE * len(topics):
            return None
        # Of all the words at most a fifth may be missing from the memory repeated, so it has one of the rarest.
        rarest = sorted(known, key=len)[: len(topics) // 5 + 1]
        candidates = {said: None for pieces in rarest for said in list(pieces)[-_CANDIDATES:]}
        for said in candidates:
            both = len(topics & said.topics)
            # Two words of many say little: of a short sentence more must come back.
            enough = both >= _FEW or both >= _ALIKE * len(said.topics)
            if decisive == said.decisive and enough and both >= _ALIKE * len(topics):
                return said.id
        return None

    def _catch_up(self) -> None:
        for id_ in self._unread:
            text = self._heard[id_]
            if id_ not in self._known or self._known[id_].text != text:
                self._unlearn(id_)
                self._learn(id_, text)
        self._unread.clear()

    def _learn(self, id_: str, text: str) -> None:
        pieces = [one.text for one in sentences(text)]
        said = [_Said(id_, *_said(piece)) for piece in pieces]
        topics = frozenset[str]().union(*(one.topics for one in said))
        if len(said) > 1 and len(topics) <= _WHOLE:
            said.append(_Said(id_, topics, frozenset[str]().union(*(one.decisive for one in said))))
        prints = [fingerprint(piece) for piece in ((text, *pieces) if len(pieces) > 1 else (text,))]
        self._known[id_] = _Memory(text, said, prints)
        for one in prints:
            self._by_print.setdefault(one, {})[id_] = None
        for one in said:
            for term in one.topics:
                self._by_term.setdefault(term, {})[one] = None

    def _drop(self, id_: str) -> None:
        self._heard.pop(id_, None)
        self._unread.pop(id_, None)
        self._unlearn(id_)

    def _unlearn(self, id_: str) -> None:
        memory = self._known.pop(id_, None)
        if memory is None:
            return
        for one in memory.prints:
            _take_out(self._by_print, one, id_)
        for said in memory.said:
            for term in said.topics:
                _take_out(self._by_term, term, said)


def _take_out(index: dict[str, dict[T, None]], key: str, item: T) -> None:
    items = index.get(key, {})
    items.pop(item, None)
    if not items:
        index.pop(key, None)


def _said(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of topic of a text, without who speaks and how it is introduced, and those that may not differ."""
    if not text.isascii():
        text = _PRONOUNS.sub(" ", text)
    terms = query_terms(text)
    return frozenset(term for term in terms if term not in NO_TOPIC and term not in _FRAMES), decisive_terms(
        text, terms
    )


__all__ = ["Echoes"]
