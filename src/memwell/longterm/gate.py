"""``Gate``: decides whether a text may become a memory, and why not: secrets, injections, duplicates and echoes.

It refuses blank texts, noise, oversized texts and an assistant's empty phrases, redacts secrets, and flags personal data
and texts that read like instructions to a model.

Secrets are redacted by default because a recalled key or password would be sent to the model's provider, and no answer
needs it; the rest of the sentence is kept. Personal data is only flagged, because an address or a phone number is often
what a user wants remembered.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from math import ceil
from threading import Lock
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from memwell.errors import InvalidInput
from memwell.language.patterns import LazyPattern
from memwell.language.secrets import Finding, findings, redacted
from memwell.language.segment import query_terms, segment
from memwell.language.sentences import sentences
from memwell.language.words import STOP_WORDS, check_string
from memwell.values import check_count, check_known, check_type, shown

# Duplicates: texts that differ in form only, and texts that are nearly the same.

_STRETCH = 512
# These occur in most Chinese texts, and would need the slow normalisation otherwise.
_WIDE_AND_PLAIN = tuple(zip("，！？：；（）～\u3000", ",!?:;()~ ", strict=True))


def compatible(text: str) -> str:
    """The text with compatibility forms (full-width letters, ligatures) replaced by plain ones."""
    for wide, plain in _WIDE_AND_PLAIN:
        text = text.replace(wide, plain)
    if unicodedata.is_normalized("NFKC", text):
        return text
    # In pieces, because normalising a long row of combining marks takes quadratic time.
    return "".join(unicodedata.normalize("NFKC", text[i : i + _STRETCH]) for i in range(0, len(text), _STRETCH))


_ENDING = " .!?~…。！？～,，;；:："


def fingerprint(text: str) -> str:
    """32 hexadecimal characters, equal for texts that differ only in case, width, white space or final punctuation."""
    plain = text if text.isascii() else compatible(text)
    plain = " ".join(plain.casefold().split())
    return blake2b((plain.rstrip(_ENDING) or plain).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _terms(english: str, chinese: str) -> frozenset[str]:
    """The terms of words. Chinese ones are split here because ``query_terms`` would add 15 ms to the import."""
    pairs = {word[i : i + 2] for word in chinese.split() for i in range(len(word) - 1 or 1)}
    return frozenset(pairs).union(query_terms(english))


_NEGATIONS = _terms(
    "not no never none nobody nothing without cannot cant dont didnt doesnt isnt arent wasnt werent wont wouldnt shouldnt "
    "couldnt hasnt havent hadnt nor neither",
    "不 没 未 无 别 非 勿 莫",
)
_NUMBERS = _terms(
    "one two three four five six seven eight nine ten eleven twelve hundred thousand million half twice",
    "一 二 两 三 四 五 六 七 八 九 十 百 千 万 半",
)
_DECISIVE = _NEGATIONS | _NUMBERS
NO_TOPIC = _terms(" ".join(STOP_WORDS["en"]), " ".join(STOP_WORDS["zh"])) - _DECISIVE
"""Terms without a topic, except negations and numbers."""


class _Sketch(NamedTuple):
    """The compared parts of a text: its terms and pairs of terms, and the terms that must not differ."""

    shingles: frozenset[str]
    decisive: frozenset[str]


def _sketch(text: str) -> _Sketch:
    terms = query_terms(text)
    pairs = [f"{a} {b}" for a, b in pairwise(terms)]
    return _Sketch(frozenset((*terms, *pairs)), decisive_terms(text, terms))


def decisive_terms(text: str, terms: Iterable[str]) -> frozenset[str]:
    """Numbers and negations: two texts that differ in these say different things."""
    words = {term for term in terms if term in _DECISIVE or term[:1].isdigit() or term[-1:].isdigit()}
    return frozenset(words if text.isascii() else words | _DECISIVE.intersection(text))


def similar(a: str, b: str) -> float:
    """The similarity of two texts from 0 to 1: the share of words and word pairs that both have."""
    one, other = _sketch(a).shingles, _sketch(b).shingles
    either = len(one | other)
    return len(one & other) / either if either else float(fingerprint(a) == fingerprint(b))


class DuplicateFinder:
    """Finds texts that are nearly the same. It stores their words as numbers, not the texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uses: list[int] = []
        self._topics: set[int] = set()
        self._items: list[_Item] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, text: str) -> None:
        """Add a text; it is identified by its place, from 0 on."""
        sketch = _sketch(text)
        self._items.append(_Item(array("L", map(self._number, sketch.shingles)), sketch.decisive))

    def _number(self, shingle: str) -> int:
        number = self._numbers.setdefault(shingle, len(self._uses))
        if number == len(self._uses):
            self._uses.append(0)
            if " " not in shingle and shingle not in NO_TOPIC:
                self._topics.add(number)
        self._uses[number] += 1
        return number

    def clusters(self, threshold: float = 0.8) -> list[list[int]]:
        """Groups of places, each text at least ``threshold`` similar to the first of its group; none is missed.

        Texts with different numbers or negations are never grouped. Raises ``InvalidInput`` for an invalid threshold.
        """
        if not 0 < threshold <= 1:
            raise InvalidInput(f"a threshold is above 0 and at most 1, not {shown(threshold)}")
        groups: dict[int, list[int]] = {}
        leaders = _Leaders(threshold)
        for place, item in enumerate(self._items):
            # Two sets this similar share one of their rarest members.
            rarest = sorted(item.shingles, key=self._rarity)[: _prefix(len(item.shingles), threshold)]
            leader = leaders.likest(item, rarest)
            if leader is None:
                leaders.add(place, item, [number for number in rarest if self._uses[number] > 1])
                groups[place] = [place]
            else:
                groups[leader].append(place)
        return [group for group in groups.values() if len(group) > 1]

    def _rarity(self, number: int) -> tuple[int, int]:
        return self._uses[number], number

    def restates(self, places: Sequence[int]) -> bool:
        """Whether one of these texts has all topic words of the others, so that removing them loses nothing."""
        topics = [self._topics.intersection(self._items[place].shingles) for place in places]
        largest = max(topics, key=len)
        return all(words <= largest for words in topics)


class _Item(NamedTuple):
    """An added text: the numbers of its shingles, and the terms that must not differ."""

    shingles: array[int]
    decisive: frozenset[str]


def _prefix(size: int, threshold: float) -> int:
    return size - ceil(threshold * size - _ROUNDING) + 1


_ROUNDING = 1e-9


class _Leaders:
    """The first texts of all groups so far, indexed by their rarest shingles."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._by_shingle: dict[int, list[int]] = {}
        self._sets: dict[int, tuple[frozenset[int], frozenset[str]]] = {}

    def add(self, place: int, item: _Item, rarest: Iterable[int]) -> None:
        self._sets[place] = frozenset(item.shingles), item.decisive
        for number in rarest:
            self._by_shingle.setdefault(number, []).append(place)

    def likest(self, item: _Item, rarest: Iterable[int]) -> int | None:
        """The most similar leader, the earliest of equals; None when none is similar enough."""
        best, likest = None, self._threshold - _ROUNDING
        mine = frozenset(item.shingles)
        for place in sorted({one for number in rarest for one in self._by_shingle.get(number, ())}):
            theirs, decisive = self._sets[place]
            if min(len(mine), len(theirs)) < likest * max(len(mine), len(theirs)) or decisive != item.decisive:
                continue
            both = len(mine & theirs)
            likeness = both / (len(mine) + len(theirs) - both)
            if likeness > likest:
                best, likest = place, likeness
        return best


def clusters(items: Iterable[tuple[str, str]], threshold: float = 0.8) -> list[list[str]]:
    """Groups of ids whose texts are nearly the same, in the given order: see ``DuplicateFinder.clusters``."""
    finder = DuplicateFinder()
    ids: list[str] = []
    for id_, text in items:
        ids.append(id_)
        finder.add(text)
    return [[ids[place] for place in group] for group in finder.clusters(threshold)]


# Echoes: recently recalled memories, so that a model's repetition of one is not stored as new.

T = TypeVar("T")

# A repetition may add these words.
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
_WHOLE = 24  # Memories with fewer terms are also compared as a whole.


class _Said(NamedTuple):
    """A sentence of a recalled memory: the memory's id, its topic words, and the terms that must not differ."""

    id: str
    topics: frozenset[str]
    decisive: frozenset[str]


class _Memory(NamedTuple):
    """A recalled memory: its text, its sentences, and the fingerprints of these."""

    text: str
    said: list[_Said]
    prints: list[str]


class Echoes:
    """The memories recalled recently, at most ``most``. Thread-safe."""

    def __init__(self, most: int = 512) -> None:
        self._most = check_count(most, "most", least=1)
        self._lock = Lock()
        # Recall must not wait, so texts are split when they are first compared.
        self._heard: dict[str, str] = {}
        self._unread: dict[str, None] = {}
        self._known: dict[str, _Memory] = {}
        self._by_term: dict[str, dict[_Said, None]] = {}
        self._by_print: dict[str, dict[str, None]] = {}

    def heard(self, texts: Mapping[str, str]) -> None:
        """Record that memories were given to a model, by their ids; the oldest are dropped beyond ``most``."""
        with self._lock:
            for id_ in texts:
                self._heard.pop(id_, None)
            self._heard.update(texts)
            self._unread.update(dict.fromkeys(texts))
            while len(self._heard) > self._most:
                self._drop(next(iter(self._heard)))

    def forget(self, ids: Iterable[str]) -> None:
        """Drop memories and everything derived from their texts."""
        with self._lock:
            for id_ in ids:
                self._drop(id_)

    def echo_of(self, text: str) -> str | None:
        """The id of the memory that a text only repeats; None when it says something else or more.

        A text of several sentences is an echo when each of them repeats some memory; the most repeated one is returned.
        Another number or negation makes a sentence new.
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
            return same  # a single word occurs in too many texts
        known = [self._by_term[term] for term in topics if term in self._by_term]
        if len(known) < _ALIKE * len(topics):
            return None
        # At most a fifth of the words may be missing in the memory, so it has one of the rarest.
        rarest = sorted(known, key=len)[: len(topics) // 5 + 1]
        candidates = {said: None for pieces in rarest for said in list(pieces)[-_CANDIDATES:]}
        for said in candidates:
            both = len(topics & said.topics)
            # Of a short sentence a larger part must be repeated.
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
    """The topic words of a text, without pronouns and introductions, and the terms that must not differ."""
    if not text.isascii():
        text = _PRONOUNS.sub(" ", text)
    terms = query_terms(text)
    return frozenset(term for term in terms if term not in NO_TOPIC and term not in _FRAMES), decisive_terms(
        text, terms
    )


Handling: TypeAlias = Literal["flag", "redact", "refuse"]
TRUSTS = ("derived", "document", "imported", "model", "tool", "user")
STATES_FACTS = frozenset(("document", "imported", "user"))
"""Texts of a model or a tool are remembered, but are no evidence about a person."""
"""The possible sources of a text: see ``memwell.longterm.traits.Traits``."""


class Reason(msgspec.Struct, frozen=True):
    """Why a text was refused or changed: a code for programs and words for people. It never contains the text."""

    code: str
    detail: str


Rule: TypeAlias = Callable[[str, str, str], Reason | None]
"""A custom rule: from a text, its speaker and its trust to the reason to refuse it, or None."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a gate. Raises ``InvalidInput`` for an unknown handling, impossible limits and a rule that is not
    callable.
    """

    secrets: Handling = "redact"
    personal: Handling = "flag"
    most_characters: int = 100_000
    least_characters: int = 1
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        for handling in (self.secrets, self.personal):
            if handling not in ("flag", "redact", "refuse"):
                raise InvalidInput(f"secrets and personal data are flagged, redacted or refused, not {shown(handling)}")
        if type(self.rules) is not tuple or not all(map(callable, self.rules)):
            raise InvalidInput(f"rules must be a tuple of functions, not {shown(self.rules)}")
        check_count(self.least_characters, "least_characters")
        check_count(self.most_characters, "most_characters", least=max(1, self.least_characters))


class GateVerdict(msgspec.Struct, frozen=True):
    """The decision about a text. ``text`` is what may be stored or shown; ``findings`` are spans of the original text."""

    accepted: bool
    text: str
    flags: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    findings: tuple[Finding, ...] = ()


class Gate:
    """Judges texts by a policy. It has no state, so threads may share it."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = Policy() if policy is None else check_type(policy, Policy, "a gate's policy must be a Policy")

    def judge(self, text: str, *, speaker: str = "", trust: str = "user") -> GateVerdict:
        """Whether a text may become a memory, and with which words.

        Raises ``InvalidInput`` for an unknown trust, and for a text or speaker that is no string.
        """
        check_known(trust, TRUSTS, "trust")
        check_string(text)
        check_string(speaker, "a speaker")
        policy = self.policy
        if len(text) > policy.most_characters:
            detail = f"{len(text):,} characters are more than {policy.most_characters:,}"
            start = text[:_SHOWN_OF_OVERSIZE]
            return GateVerdict(False, redacted(start, findings(start)), ("oversize",), (Reason("oversize", detail),))
        found = findings(text)
        reason = self._worthless(text, speaker, trust)
        # From any source: people paste texts that others wrote.
        flags = ("injection",) if _gives_orders(text) else ()
        if found or reason:
            return self._handled(text, found, flags, reason)
        return GateVerdict(True, text, flags)

    def _worthless(self, text: str, speaker: str, trust: str) -> Reason | None:
        if not _first_letter(text) and not segment(text) and not _EMOTICON(text):
            return Reason("empty", "it holds no word, number or emoji")
        if len(text) < self.policy.least_characters:
            return Reason("short", f"{len(text)} characters are fewer than {self.policy.least_characters}")
        noise = _noise(text)
        if noise:
            return Reason("noise", noise)
        if len(text) <= _LONGEST_ACKNOWLEDGEMENT and _ACKNOWLEDGES(text):
            return Reason("acknowledgement", "it only says that something was heard")
        if trust == "model" and _is_boilerplate(text):
            return Reason("boilerplate", "a model's phrase that says nothing of its own")
        for rule in self.policy.rules:
            reason = rule(text, speaker, trust)
            if reason:
                return reason
        return None

    def _handled(self, text: str, found: list[Finding], flags: tuple[str, ...], reason: Reason | None) -> GateVerdict:
        """The verdict on a text with findings or a reason to refuse it; secrets are redacted in refused texts too."""
        policy = self.policy
        hidden = [one for one in found if (policy.secrets if one.secret else policy.personal) != "flag"]
        refused = [one for one in found if (policy.secrets if one.secret else policy.personal) == "refuse"]
        kinds = tuple(dict.fromkeys(one.kind for one in found))
        if any(one.secret for one in found):
            kinds = ("secret", *kinds)
        reasons = [] if reason is None else [reason]
        reasons += [Reason(kind, f"it holds {count} of the kind {kind!r}") for kind, count in _count(refused)]
        accepted = not reasons
        if accepted:
            reasons = [Reason("redacted", f"{count} of the kind {kind!r} taken out") for kind, count in _count(hidden)]
        shown_text = redacted(text, hidden if accepted else found)
        return GateVerdict(accepted, shown_text, flags + kinds, tuple(reasons), tuple(found))


def _count(found: Iterable[Finding]) -> list[tuple[str, int]]:
    return list(Counter(one.kind for one in found).items())


# Texts not worth remembering.

_SHOWN_OF_OVERSIZE = 200
_first_letter = re.compile(r"[^\W_]").search
_EMOTICON = re.compile(r"\s{0,9}(?:[:;=][-^'o]?[()\[\]|/\\*<>]|[\^>-][._-]{1,3}[\^<-]|<3)\s{0,9}\Z").match
_LONGEST_ACKNOWLEDGEMENT = 40
_ACKNOWLEDGES = re.compile(
    r"(?:\W*(?:ok|okay|kk?|thank(?:s| you)(?: (?:a lot|so much|very much|again|for that))?|thx|noted|got it|gotcha|sure"
    r"|sure thing|alright|all right|understood|i see|will do|(?:that )?sounds good|cool|oh|ah|great|perfect)\b)+\W*\Z"
    r"|(?:\W{0,3}(?:好的?[呀哦吧啦嘞]?|嗯+|哦+|噢|知道[了啦]|明白了?|收到|谢谢(?:你|您)?[啦了]?|多谢|没问题)){1,6}\W*\Z",
    re.IGNORECASE,
).match
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{80,}")
_SAME = 40  # A row this long of one or two characters is noise, not laughter.
_KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = frozenset(pair for row in _KEY_ROWS for a, b in pairwise(row) for pair in (a + b, b + a, a + a, b + b))
_VOWELS = frozenset("aeiouy")
_LONGEST_MASH = 200


def _noise(text: str) -> str:
    """The kind of noise that a text is; empty for other texts."""
    length = len(text)
    if length >= _SAME and len(set(text[:_SAME])) <= 4 and len(set(text) - _BLANKS) <= 2:
        return "one or two characters over and over"
    if length >= 80 and " " not in text[:80]:
        blob = _BLOB.search(text)
        if blob and len(blob[0]) >= 0.8 * length and "://" not in text and _mixed(blob[0]):
            return "encoded data and no words"
    if length <= _LONGEST_MASH and text.isascii():
        start = text.split(maxsplit=1)[0]
        if _is_mash(start) and all(map(_is_mash, text.split())):
            return "keys struck at random"
    return ""


_BLANKS = frozenset(" \t\r\n")


def _mixed(word: str) -> bool:
    """Whether digits and letters are mixed as in encoded data, unlike in file names and variables."""
    digits = sum(map(str.isdigit, word))
    return digits >= 0.05 * len(word) and word.count("-") + word.count("_") <= 0.05 * len(word)


def _is_mash(word: str) -> bool:
    word = word.strip(".,!?;:'\"()")
    if len(word) < 7 or not word.isalpha() or not word.islower():
        return False
    near = sum(word[i : i + 2] in _NEIGHBOURS for i in range(len(word) - 1))
    if near >= 0.75 * (len(word) - 1):
        return len(set(word)) > 2
    # Sighs and growls have no vowels either, but fewer letters.
    return _VOWELS.isdisjoint(word) and len(set(word)) >= 5


# Phrases of a model. They are matched at the start, and count when little else is said.
_REFUSES = LazyPattern(
    r"(?:\W*(?:i['’]?m|i am) (?:very |so |really )?sorry\b|\W*(?:i apologi[sz]e|sorry)\b|\W*unfortunately\b)?[\s,.!:;—-]*"
    r"(?:but |however,? )?"
    r"(?:(?:as an? (?:ai|artificial intelligence|(?:large )?language model)"
    r"(?: (?:language )?(?:model|assistant|system|chatbot))?,? (?:i|my)\b"
    r"|(?:i['’]?m|i am) (?:just |only )?an? (?:ai|(?:large )?language model)\b"
    r"|作为(?:一个|一名)?(?:AI|人工智能|大?语言模型))"
    r"(?=[^\n]{0,200}(?:n['’]t\b|\bnot\b|cannot|unable|无法|不能|没有|不具备))"
    r"|i(?: can ?not| can['’]?t| am (?:unable|not able) to|['’]m (?:unable|not able) to)"
    r" (?:help|assist|fulfil|comply|provide|answer)"
    r"|(?:非常|很|真的)?(?:抱歉|对不起|不好意思)[，,。！!]?\s*(?:但是?)?我(?:无法|不能|没有办法|没办法|不可以))",
    re.IGNORECASE,
).match
_OPENS = LazyPattern(
    r"\W*(?:(?:sure|certainly|of course|absolutely|no problem|好的|当然|没问题|当然可以)[!,.！，。\s]+"
    r"(?:here(?:['’]s| is| are)\b[^.!?:\n]{0,60}[:.!]|(?:以下|下面|这)是[^：:，。！？\n]{0,30}[：:。])"
    r"|here(?:['’]s| is| are)\b[^.!?:\n]{0,60}:|(?:以下|下面)是[^：:，。！？\n]{0,30}[：:]"
    r"|(?:i['’]?d be |i['’]?m |i am )?(?:happy|glad) to help\b[^.!?\n]{0,40}[.!]?"
    r"|(?:how (?:can|may) i (?:help|assist) you(?: today)?|is there anything else i can (?:help|do)[^?\n]{0,40})\?"
    r"|(?:请问)?(?:有什么|还有什么)(?:我)?可以帮(?:助|到)?您?你?的?(?:吗)?[？?])",
    re.IGNORECASE,
).match
_LONGEST_REFUSAL = 300
_LEFT_OVER = 12


def _is_boilerplate(text: str) -> bool:
    if len(text) > _LONGEST_REFUSAL:
        return False
    if _REFUSES(text):
        # A refusal that goes on to say something is no empty phrase.
        return all(_REFUSES(one.text) or _OPENS(one.text) for one in sentences(text))
    opening = _OPENS(text)
    return opening is not None and len(text) - opening.end() <= _LEFT_OVER


# Texts that read like instructions to a model are kept and flagged; the context fences them as data.
_ORDERS_TO_MODELS = (
    *"ignor disregard forget overrid bypass system assistant instruction prompt jailbreak".split(),
    *"developer <| [inst] <<sys".split(),
    *"不要理会 不要遵守 忽略 无视 忘记 忘掉 系统 提示词 指令".split(),
    "you are now",
)
_INJECTION = LazyPattern(
    r"(?<!\bI )(?:ignore|disregard|forget|override|bypass)\s{1,9}(?:all\s{1,9}|any\s{1,9}|everything\s{1,9})?(?:of\s{1,9})?"
    r"(?:(?:the|your|my|these|those)\s{1,9})?"
    r"(?:previous|prior|above|earlier|preceding|former|system|original|foregoing)\s{1,9}"
    r"(?:\w{1,20}\s{1,9}){0,2}?(?:instructions?|prompts?|rules|messages?|directions|guidelines|context|conversation)"
    # Ambiguous, so only as an imperative: "I always forget the rules" is not matched.
    r"|(?:^|[.!?:;,，。！？\"'(\[]\s{0,3}|\b(?:please|must|should|now|and|then)\s{1,3})"
    r"(?:ignore|disregard|forget|override)\s{1,9}(?:all\s{1,9})?(?:the|your)\s{1,9}"
    r"(?:instructions|system prompt|rules|guidelines)"
    r"|(?:ignore|disregard|forget)\s{1,9}(?:everything|all|anything)\s{1,9}"
    r"(?:(?:that\s{1,9})?(?:was|you were)\s{1,9}(?:said|told)|above|before this)"
    r"|you are now (?:in )?(?:developer mode|dan\b|jailbroken|unrestricted|an? unrestricted)"
    r"|(?:reveal|print|repeat|output|show)\s{1,9}(?:me\s{1,9})?(?:your|the)\s{1,9}"
    r"(?:system\s{1,9}prompt|(?:hidden|initial)\s{1,9}instructions)"
    r"|new (?:system )?instructions?\s{0,3}:|system override"
    r"|<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)\b"
    r"|\[/?INST\]|<</?SYS>>|</?(?:system|assistant)(?:_prompt)?>"
    r"|[\"']role[\"']\s{0,3}:\s{0,3}[\"'](?:system|developer)[\"']"
    r"|^[ \t]{0,3}#{1,6}[ \t]{0,3}instructions?[ \t]{0,3}[:：]"
    r"|^[ \t]{0,3}(?:[>#*_]{1,6}[ \t]{0,3}){0,2}(?:system|assistant)(?: (?:prompt|message|instructions?))?"
    r"[*_]{0,3}[ \t]{0,3}[:：]"
    r"|[.!?。！？]\s{0,3}system (?:prompt|message|instructions?)[ \t]{0,3}[:：]"
    r"|(?<![我他她们])(?:忽略|无视|忘记|忘掉|不要理会|不要遵守)掉?你?(?:所有|一切|全部)?的?"
    r"(?:之前|以上|上面|上述|先前|前面|此前|原有|系统)"
    r"[^，。！？\n]{0,8}(?:指令|指示|提示词?|规则|要求|内容|设定|对话|命令)"
    r"|(?:输出|泄露|告诉我|显示|打印|重复)[^，。！？\n]{0,6}(?:系统提示词?|初始指令|隐藏指令)"
    r"|(?:忽略|无视|不要理会)(?:之前|以上|上面|前面)[^，。！？\n]{0,8}话"
    r"|^[ \t]{0,3}(?:[>#*_]{1,6}[ \t]{0,3}){0,2}系统(?:提示词?|消息|指令)?[*_]{0,3}[ \t]{0,3}[:：]"
    r"|[【\[]系统(?:提示词?|消息|指令)[】\]]|[.!?。！？]\s{0,3}系统(?:提示词|指令)[ \t]{0,3}[:：]",
    re.IGNORECASE | re.MULTILINE,
).search
# Invisible characters and full-width letters hide an instruction from a pattern, but not from a model.
_UNSEEN = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_MASKED = re.compile(f"[{_UNSEEN}Ａ-Ｚａ-ｚ＜＃［\U0001d400-\U0001d7ff]").search


def _gives_orders(text: str) -> bool:
    plain = text if text.isascii() or not _MASKED(text) else compatible(_INVISIBLE.sub("", text))
    lower = plain.lower()
    # The long pattern is tried only when one of these words occurs.
    for word in _ORDERS_TO_MODELS:
        if word in lower:
            return bool(_INJECTION(plain))
    return False
