"""What may become a memory: each text is judged before it is stored, and each refusal says why.

``Gate`` refuses what nobody would want back (blanks, noise, oversize, an assistant's empty phrases), takes secrets out, and
flags personal data and, whoever says it, what reads like an order to a model.

By default secrets are redacted and personal data is flagged. A key or a password recalled is a key sent to whoever runs
the model, and no answer needs it; the rest of its sentence may matter, so the sentence stays. An address or a phone number
is often the very thing a user wants remembered.
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
from memwell.language.secrets import Finding, findings, redacted
from memwell.language.segment import query_terms, segment
from memwell.language.sentences import sentences
from memwell.language.words import STOP_WORDS
from memwell.values import check_count, shown

# What was said before: texts that are the same but for their form, and texts that say nearly the same.


_STRETCH = 512
# What Chinese text is full of, and what alone would send it down the slow path of normalisation.
_WIDE_AND_PLAIN = tuple(zip("，！？：；（）～\u3000", ",!?:;()~ ", strict=True))


def compatible(text: str) -> str:
    """The text with compatibility forms (full-width letters, ligatures) made plain."""
    for wide, plain in _WIDE_AND_PLAIN:
        text = text.replace(wide, plain)
    if unicodedata.is_normalized("NFKC", text):
        return text
    # In stretches, because a long row of combining marks takes the square of its length to put in order.
    return "".join(unicodedata.normalize("NFKC", text[i : i + _STRETCH]) for i in range(0, len(text), _STRETCH))


_ENDING = " .!?~…。！？～,，;；:："


def fingerprint(text: str) -> str:
    """The same 32 hexadecimal characters for texts that differ in case, width, white space or their last marks only."""
    plain = text if text.isascii() else compatible(text)
    plain = " ".join(plain.casefold().split())
    return blake2b((plain.rstrip(_ENDING) or plain).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _terms(english: str, chinese: str) -> frozenset[str]:
    """The words as they come out of ``query_terms``. Chinese ones are cut here, or importing this would take 15 ms more."""
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
"""The terms of words that carry no topic, without those that may turn a sentence into its opposite."""


class _Sketch(NamedTuple):
    """What is compared of a text: its terms and pairs of terms, and those terms that may not differ."""

    shingles: frozenset[str]
    decisive: frozenset[str]


def _sketch(text: str) -> _Sketch:
    terms = query_terms(text)
    pairs = [f"{a} {b}" for a, b in pairwise(terms)]
    return _Sketch(frozenset((*terms, *pairs)), decisive_terms(text, terms))


def decisive_terms(text: str, terms: Iterable[str]) -> frozenset[str]:
    """Numbers and negations: with another of them, a text that is otherwise the same says something else."""
    words = {term for term in terms if term in _DECISIVE or term[:1].isdigit() or term[-1:].isdigit()}
    return frozenset(words if text.isascii() else words | _DECISIVE.intersection(text))


def similar(a: str, b: str) -> float:
    """How alike two texts are, from 0 to 1: the share of their words and pairs of words that both have."""
    one, other = _sketch(a).shingles, _sketch(b).shingles
    either = len(one | other)
    return len(one & other) / either if either else float(fingerprint(a) == fingerprint(b))


class Twins:
    """Gathers texts, and tells which of them say nearly the same. It keeps their words as numbers, not the texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uses: list[int] = []
        self._topics: set[int] = set()
        self._items: list[_Item] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, text: str) -> None:
        """Take a text in; it is known by its place, from 0 on."""
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
        """Groups of places, each text at least ``threshold`` like the first of its group; no text like it is overlooked.

        Texts with other numbers or negations are never together. Raises ``InvalidInput`` for a threshold beyond 0 to 1.
        """
        if not 0 < threshold <= 1:
            raise InvalidInput(f"a threshold is above 0 and at most 1, not {shown(threshold)}")
        groups: dict[int, list[int]] = {}
        leaders = _Leaders(threshold)
        for place, item in enumerate(self._items):
            # Two sets this alike share one of their few rarest members.
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
        """Whether one of these texts has all the words of topic of every other, so that nothing is lost with the others."""
        topics = [self._topics.intersection(self._items[place].shingles) for place in places]
        largest = max(topics, key=len)
        return all(words <= largest for words in topics)


class _Item(NamedTuple):
    shingles: array[int]
    decisive: frozenset[str]


def _prefix(size: int, threshold: float) -> int:
    return size - ceil(threshold * size - _ROUNDING) + 1


_ROUNDING = 1e-9


class _Leaders:
    """The first texts of all groups so far, found by any of their rarest shingles."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._by_shingle: dict[int, list[int]] = {}
        self._sets: dict[int, tuple[frozenset[int], frozenset[str]]] = {}

    def add(self, place: int, item: _Item, rarest: Iterable[int]) -> None:
        self._sets[place] = frozenset(item.shingles), item.decisive
        for number in rarest:
            self._by_shingle.setdefault(number, []).append(place)

    def likest(self, item: _Item, rarest: Iterable[int]) -> int | None:
        """The leader most like the text, the earliest when several are, or None when none is like it."""
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
    """From ids and texts to groups of ids whose texts say nearly the same, in the order given: see ``Twins.clusters``."""
    twins = Twins()
    ids: list[str] = []
    for id_, text in items:
        ids.append(id_)
        twins.add(text)
    return [[ids[place] for place in group] for group in twins.clusters(threshold)]


# The guard against learning from oneself: what was recalled of late, and whether a text merely repeats it.


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


Handling: TypeAlias = Literal["flag", "redact", "refuse"]
TRUSTS = frozenset({"user", "model", "document", "tool", "derived"})
"""Whose word a text may be: see ``memwell.longterm.traits.Traits``."""


class Reason(msgspec.Struct, frozen=True):
    """Why a text was refused or changed: a code for programs, words for people. Never holds the text itself."""

    code: str
    detail: str


Rule: TypeAlias = Callable[[str, str, str], Reason | None]
"""A rule of one's own: from a text, its speaker and its trust to why it is refused, or None."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate does. Raises ``InvalidInput`` for an unknown handling, limits that leave nothing and a rule
    that cannot be called.
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
        if not isinstance(self.rules, tuple) or not all(map(callable, self.rules)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"rules must be a tuple of functions, not {shown(self.rules)}")
        check_count(self.least_characters, "least_characters")
        check_count(self.most_characters, "most_characters", least=max(1, self.least_characters))


class Verdict(msgspec.Struct, frozen=True):
    """What a gate says of a text. ``text`` is what may be stored or shown, ``findings`` are places in the text judged."""

    accepted: bool
    text: str
    flags: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    findings: tuple[Finding, ...] = ()


class Gate:
    """Judges texts by a policy. It keeps nothing, so any number of threads may share one."""

    def __init__(self, policy: Policy | None = None) -> None:
        if policy is not None and not isinstance(policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a gate's policy must be a Policy, not {shown(policy)}")
        self.policy = policy or Policy()

    def judge(self, text: str, *, speaker: str = "", trust: str = "user") -> Verdict:
        """Whether a text may become a memory, and in which words.

        Raises ``InvalidInput`` for a trust that is not known, and for a text or speaker that is no string.
        """
        if not isinstance(trust, str) or trust not in TRUSTS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a trust is one of {sorted(TRUSTS)}, not {shown(trust)}")
        for value, what in ((text, "a text"), (speaker, "a speaker")):
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidInput(f"{what} must be a string, not {shown(value)}")
        policy = self.policy
        if len(text) > policy.most_characters:
            detail = f"{len(text):,} characters are more than {policy.most_characters:,}"
            start = text[:_SHOWN_OF_OVERSIZE]
            return Verdict(False, redacted(start, findings(start)), ("oversize",), (Reason("oversize", detail),))
        found = findings(text)
        reason = self._worthless(text, speaker, trust)
        # Whoever said it: people paste what they have read, and a store cannot tell.
        flags = ("injection",) if _gives_orders(text) else ()
        if found or reason:
            return self._handled(text, found, flags, reason)
        return Verdict(True, text, flags)

    def _worthless(self, text: str, speaker: str, trust: str) -> Reason | None:
        if not _first_letter(text) and not segment(text) and not _EMOTICON(text):
            return Reason("empty", "it holds no word, number or emoji")
        if len(text) < self.policy.least_characters:
            return Reason("short", f"{len(text)} characters are fewer than {self.policy.least_characters}")
        noise = _noise(text)
        if noise:
            return Reason("noise", noise)
        if trust == "model" and _is_boilerplate(text):
            return Reason("boilerplate", "a model's phrase that says nothing of its own")
        for rule in self.policy.rules:
            reason = rule(text, speaker, trust)
            if reason:
                return reason
        return None

    def _handled(self, text: str, found: list[Finding], flags: tuple[str, ...], reason: Reason | None) -> Verdict:
        """The verdict on a text with findings or a reason against it; what is refused is told without its secrets."""
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
        return Verdict(accepted, shown_text, flags + kinds, tuple(reasons), tuple(found))


def _count(found: Iterable[Finding]) -> list[tuple[str, int]]:
    return list(Counter(one.kind for one in found).items())


# What nobody would want back.

_SHOWN_OF_OVERSIZE = 200
_first_letter = re.compile(r"[^\W_]").search
_EMOTICON = re.compile(r"\s{0,9}(?:[:;=][-^'o]?[()\[\]|/\\*<>]|[\^>-][._-]{1,3}[\^<-]|<3)\s{0,9}\Z").match
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{80,}")
_SAME = 40  # A row this long of one or two characters is nobody's laughter.
_KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = frozenset(pair for row in _KEY_ROWS for a, b in pairwise(row) for pair in (a + b, b + a, a + a, b + b))
_VOWELS = frozenset("aeiouy")
_LONGEST_MASH = 200


def _noise(text: str) -> str:
    """What kind of noise a text is, or nothing when it may mean something."""
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
    """Whether it has digits and letters as only encoded data has them: no name of a file or of a variable does."""
    digits = sum(map(str.isdigit, word))
    return digits >= 0.05 * len(word) and word.count("-") + word.count("_") <= 0.05 * len(word)


def _is_mash(word: str) -> bool:
    word = word.strip(".,!?;:'\"()")
    if len(word) < 7 or not word.isalpha() or not word.islower():
        return False
    near = sum(word[i : i + 2] in _NEIGHBOURS for i in range(len(word) - 1))
    if near >= 0.75 * (len(word) - 1):
        return len(set(word)) > 2
    # Sighs and growls have no vowels either, but few letters.
    return _VOWELS.isdisjoint(word) and len(set(word)) >= 5


# A model's phrases. They are looked for at the start only, and count when little else is said.
_REFUSES = re.compile(
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
_OPENS = re.compile(
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
        # A refusal that goes on to say something is no phrase.
        return all(_REFUSES(one.text) or _OPENS(one.text) for one in sentences(text))
    opening = _OPENS(text)
    return opening is not None and len(text) - opening.end() <= _LEFT_OVER


# What reads like an order to a model. It is kept and flagged: whoever recalls it fences it as data.
_ORDERS_TO_MODELS = (
    *"ignor disregard forget overrid bypass system assistant instruction prompt jailbreak".split(),
    *"developer <| [inst] <<sys".split(),
    *"不要理会 不要遵守 忽略 无视 忘记 忘掉 系统 提示词 指令".split(),
    "you are now",
)
_INJECTION = re.compile(
    r"(?<!\bI )(?:ignore|disregard|forget|override|bypass)\s{1,9}(?:all\s{1,9}|any\s{1,9}|everything\s{1,9})?(?:of\s{1,9})?"
    r"(?:(?:the|your|my|these|those)\s{1,9})?"
    r"(?:previous|prior|above|earlier|preceding|former|system|original|foregoing)\s{1,9}"
    r"(?:\w{1,20}\s{1,9}){0,2}?(?:instructions?|prompts?|rules|messages?|directions|guidelines|context|conversation)"
    # Less plain, so only where it is told to do: "I always forget the rules" is not.
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
# A model reads through what cannot be seen and through full-width letters, so the pattern must, too.
_UNSEEN = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_MASKED = re.compile(f"[{_UNSEEN}Ａ-Ｚａ-ｚ＜＃［\U0001d400-\U0001d7ff]").search


def _gives_orders(text: str) -> bool:
    plain = text if text.isascii() or not _MASKED(text) else compatible(_INVISIBLE.sub("", text))
    lower = plain.lower()
    # One word is enough to look closer; without one the long pattern is not tried.
    for word in _ORDERS_TO_MODELS:
        if word in lower:
            return bool(_INJECTION(plain))
    return False
