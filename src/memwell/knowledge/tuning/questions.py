"""Questions made from documents by plain rules, each with the span that answers it; English and Chinese.

They are no match for what people ask. They serve to compare: the same questions are put to the same documents, cut in
different ways. The same documents and the same seed give the same questions.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from memwell.knowledge.chunking import heading_words
from memwell.knowledge.documents import Block, Parsed
from memwell.knowledge.synonyms import Synonyms
from memwell.language.detect import han_share, language_of
from memwell.language.entities import entities
from memwell.language.keywords import keywords
from memwell.language.segment import query_terms
from memwell.language.sentences import sentences
from memwell.values import check_count

# Where answers stand: the stretches of documents that questions can be made about.


_REGION = (400, 2_500)  # characters of text; a Chinese character counts as three
_REGIONS = 40  # at least, where the text is long enough: halves of few regions would be uneven
_SENTENCE = (30, 420)
_PASSAGE = (320, 2_000)
_FEWEST = 3  # sentences of a passage
_PROSE = ("paragraph", "list")
_PART = "part"  # of a paragraph too long to be one thing
_MARKS = re.compile(r"[(){}\[\]=<>_|\\/\"`]")
_MOST_MARKS = 0.06  # of the characters: what has more is code, whatever its block is called


class Place(NamedTuple):
    """What may be asked about: ``text`` is what stands in the document from ``start`` to ``end``."""

    document: int
    start: int
    end: int
    text: str
    heading: str


class Region(NamedTuple):
    """A stretch of a document: its single sentences, and its passages that are understood only as a whole."""

    sentences: tuple[Place, ...]
    passages: tuple[Place, ...]


def regions(documents: Sequence[Parsed]) -> list[Region]:
    """The regions of documents, in order, that have anything to ask about."""
    found: list[Region] = []
    total = sum(length_of(parsed.text) for parsed in documents)
    most = max(_REGION[0], min(_REGION[1], total // _REGIONS))
    for number, parsed in enumerate(documents):
        for heading, blocks in _stretches(parsed, most):
            region = _region(number, parsed, heading, blocks)
            if region.sentences:
                found.append(region)
    return found


def _stretches(parsed: Parsed, most: int) -> Iterator[tuple[str, list[Block]]]:
    """Blocks in a row that stand under the same heading, of about so many characters at most."""
    heading, blocks, size = "", list[Block](), 0
    for block in (part for whole in parsed.blocks for part in _parts(parsed.text, whole, most)):
        text = parsed.text[block.start : block.end]
        full = size + length_of(text) > most and not _is_announced(parsed.text, blocks, block)
        if blocks and (block.kind == "heading" or full):
            yield heading, blocks
            blocks, size = [], 0
        if block.kind == "heading":
            heading = heading_words(text)
        else:
            blocks.append(block)
            size += length_of(text)
    if blocks:
        yield heading, blocks


def _parts(text: str, block: Block, most: int) -> Iterator[Block]:
    """A block as it is, or one too long for a paragraph in parts: a text may have no other breaks than its sentences."""
    if block.kind != "paragraph" or length_of(text[block.start : block.end]) <= _PASSAGE[1]:
        yield block
        return
    start = end = block.start
    for span in sentences(text[block.start : block.end]):
        if end > start and length_of(text[start : block.start + span.end]) > most:
            yield Block(_PART, start, end)
            start = block.start + span.start
        end = block.start + span.end
    yield Block(_PART, start, end)


def _is_announced(text: str, before: Sequence[Block], block: Block) -> bool:
    """Whether a list follows the words that say what it is about."""
    return block.kind == "list" and bool(before) and _announces(text, before[-1])


def _announces(text: str, block: Block) -> bool:
    return text[block.start : block.end].rstrip().endswith((":", "："))


def _region(number: int, parsed: Parsed, heading: str, blocks: Sequence[Block]) -> Region:
    singles: list[Place] = []
    wholes: list[Place] = []
    for position, block in enumerate(blocks):
        if block.kind in (*_PROSE, _PART, "row"):
            singles += _sentences(number, parsed, heading, block)
        if block.kind in _PROSE and (whole := _passage(number, parsed, heading, blocks, position)):
            wholes.append(whole)
    return Region(tuple(singles), tuple(wholes))


def _sentences(number: int, parsed: Parsed, heading: str, block: Block) -> Iterator[Place]:
    text = parsed.text[block.start : block.end]
    # The fields of a row belong together, whatever marks they hold.
    whole = block.kind == "row"
    spans = [(0, len(text))] if whole else [(span.start, span.end) for span in sentences(text)]
    for start, end in spans:
        if _SENTENCE[0] <= length_of(text[start:end]) <= _SENTENCE[1] and not _is_code(text[start:end]):
            yield Place(number, block.start + start, block.start + end, text[start:end], heading)


def _passage(number: int, parsed: Parsed, heading: str, blocks: Sequence[Block], position: int) -> Place | None:
    """A paragraph of several sentences, or one that announces the list after it, with that list."""
    first = last = blocks[position]
    if _announces(parsed.text, first):
        for block in blocks[position + 1 :]:
            if block.kind != "list":
                break
            last = block
    elif first.kind == "list":
        # What a list is about is said before it, and its items alone may have nothing to do with one another.
        return None
    text = parsed.text[first.start : last.end]
    fits = _PASSAGE[0] <= length_of(text) <= _PASSAGE[1] and len(sentences(text)) >= _FEWEST and not _is_code(text)
    return Place(number, first.start, last.end, text, heading) if fits else None


def _is_code(text: str) -> bool:
    return len(_MARKS.findall(text)) > _MOST_MARKS * len(text)


def length_of(text: str) -> int:
    """The length of a text, as if it were English."""
    return len(text) if text.isascii() else round(len(text) * (1 + 2 * han_share(text)))


# A part of the documents, small enough to be cut and embedded many times over.


def sample(documents: Sequence[Parsed], most: int, *, seed: int = 0) -> list[Parsed]:
    """Documents of about ``most`` characters together: all of them, or some and of the last one a stretch.

    A Chinese character counts as three. The same documents and the same seed give the same part.
    """
    chance = random.Random(seed)
    order = list(range(len(documents)))
    if sum(length_of(one.text) for one in documents) > most:
        chance.shuffle(order)
    taken: dict[int, Parsed] = {}
    left = most
    for number in order:
        parsed = documents[number]
        size = length_of(parsed.text)
        taken[number] = parsed if size <= left else _stretch(parsed, max(1, len(parsed.text) * left // size), chance)
        left -= size
        if left <= 0:
            break
    return [taken[number] for number in sorted(taken)]


def _stretch(parsed: Parsed, most: int, chance: random.Random) -> Parsed:
    """Blocks in a row that have about so many characters, from anywhere in the document."""
    blocks = parsed.blocks
    last_start = max(0, len(parsed.text) - most)
    fitting = [number for number, block in enumerate(blocks) if block.start <= last_start]
    if not fitting:
        return parsed
    first = chance.choice(fitting)
    start = blocks[first].start
    kept = [block for block in blocks[first:] if block.end - start <= most] or [blocks[first]]
    moved = tuple(replace(block, start=block.start - start, end=block.end - start) for block in kept)
    return replace(parsed, text=parsed.text[start : kept[-1].end], blocks=moved)


KINDS = ("definition", "blank", "keywords", "name", "paraphrase", "passage")
"""How a question was made. One about a passage is answered by the whole of it, any other by one sentence."""

_MOST_ALIKE = 2  # places that have all words of a question: with more of them it has no one answer
_LOOKED_THROUGH, _OF_PASSAGE = 12, 60  # keywords
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,:%]*(?<![.,:])")
_ENGLISH_DEFINITION = re.compile(
    r"(?:(?:The|An?)\s+)?([A-Za-z][\w-]*(?:\s[\w-]+){0,3}?)\s+(?:is|are|means|refers\s+to|denotes)\s+"
    r"(?:an?|the|any|one|when|how|what)\b"
)
_CHINESE_DEFINITION = re.compile(r"([\u4e00-\u9fffA-Za-z0-9 -]{2,16}?)(?:是指|指的是|是一[种个类项]|的定义是|即是)")
_NO_SUBJECT = frozenset(
    "this that these those it he she they we you i there here what which who one each every all both 这 那 它 他 她 我 你 "
    "这里 那里 这个 那个 这些 那些 其 其中 我们 他们 它们 这 此".split()
)
_FROM_KEPT, _TO_KEPT = 36, 36  # characters on both sides of a blank


class SyntheticQuestion(msgspec.Struct, frozen=True):
    """A question, and where its answer stands: ``start`` to ``end`` in the text of the document of that number."""

    text: str
    document: int
    start: int
    end: int
    kind: str
    language: str


class QuestionSet(msgspec.Struct, frozen=True):
    """Questions to choose by, and others to check the choice by, whose answers stand elsewhere."""

    choosing: tuple[SyntheticQuestion, ...]
    held_out: tuple[SyntheticQuestion, ...]

    def __len__(self) -> int:
        return len(self.choosing) + len(self.held_out)


def make_questions(
    documents: Sequence[Parsed], count: int = 100, *, seed: int = 0, synonyms: Synonyms | None = None
) -> QuestionSet:
    """At most ``count`` questions about documents, half of them held out; fewer where the documents give no more.

    Raises ``InvalidInput`` for a count below 2.
    """
    check_count(count, "questions", least=2)
    places = regions(documents)
    maker = _Maker(places, synonyms or Synonyms.bundled(), random.Random(seed))
    maker.chance.shuffle(places)
    choosing = maker.questions(places[::2], count - count // 2)
    held_out = maker.questions(places[1::2], count // 2)
    return QuestionSet(tuple(choosing), tuple(held_out))


class _Word(NamedTuple):
    """A content word or phrase as written, and how much it tells: one over the places that have its rarest term."""

    written: str
    at: int
    telling: float


class _Holding:
    """Which of some places have a term."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for number, place in enumerate(places):
            for term in set(query_terms(place.text)):
                self._places[term].append(number)

    def telling(self, words: str) -> float:
        """One over how many have the rarest of the words."""
        return 1.0 / min((len(self._places.get(term, ())) or 1 for term in query_terms(words)), default=1)

    def with_all(self, words: str) -> int:
        """How many have all of the words."""
        rows = sorted((self._places.get(term, []) for term in query_terms(words)), key=len)
        return len(set(rows[0]).intersection(*rows[1:])) if rows else 0


class _Maker:
    """Makes questions of places, knowing how common every term is in all of them."""

    def __init__(self, places: Sequence[Region], synonyms: Synonyms, chance: random.Random) -> None:
        self.chance = chance
        self._synonyms = synonyms
        self._sentences = _Holding(place for region in places for place in region.sentences)
        self._passages = _Holding(place for region in places for place in region.passages)
        self._asked: set[str] = set()
        self._kinds: Counter[str] = Counter()

    def questions(self, places: Sequence[Region], count: int) -> list[SyntheticQuestion]:
        """Up to ``count`` questions, taken from one region after the other, round after round."""
        open_regions = [self._from_region(region) for region in places]
        made: list[SyntheticQuestion] = []
        while open_regions and len(made) < count:
            still_open: list[Iterator[SyntheticQuestion]] = []
            for region in open_regions:
                question = next(region, None)
                if question is not None:
                    made.append(question)
                    still_open.append(region)
            open_regions = still_open
        return made[:count]

    def _from_region(self, region: Region) -> Iterator[SyntheticQuestion]:
        singles, wholes = list(region.sentences), list(region.passages)
        self.chance.shuffle(singles)
        self.chance.shuffle(wholes)
        while singles or wholes:
            # Where there are passages, every other question is about one.
            take_whole = wholes and (not singles or self.chance.random() < 0.5)
            question = self._about(wholes.pop(), whole=True) if take_whole else self._about(singles.pop(), whole=False)
            if question is not None:
                yield question

    def _about(self, place: Place, *, whole: bool) -> SyntheticQuestion | None:
        language = "zh" if language_of(place.text) == "zh" else "en"
        for kind, make in self._ways(whole):
            text = make(place, language)
            if text and text not in self._asked:
                self._asked.add(text)
                self._kinds[kind] += 1
                return SyntheticQuestion(text, place.document, place.start, place.end, kind, language)
        return None

    def _ways(self, whole: bool) -> Iterator[tuple[str, Callable[[Place, str], str]]]:
        """The ways to make a question, those used least so far first: the kinds come out even where they can."""
        if whole:
            return iter([("passage", self._passage)])
        ways: dict[str, Callable[[Place, str], str]] = {
            "definition": _definition,
            "paraphrase": self._paraphrase,
            "name": self._name,
            "blank": self._blank,
            "keywords": self._keywords,
        }
        return iter(sorted(ways.items(), key=lambda way: self._kinds[way[0]]))

    # The ways

    def _keywords(self, place: Place, language: str, most: int = 3) -> str:
        """Some of its words, as one types into a search box: any, since people do not know which are rare."""
        words = self._words(place.text)
        words = sorted(self.chance.sample(words, min(most, len(words))), key=lambda word: word.at)
        asked = _spaced(words)
        return asked if len(words) >= 2 and self._sharp(asked) else ""

    def _paraphrase(self, place: Place, language: str) -> str:
        asked = self._keywords(place, language, most=4)
        others = [one for one in self._synonyms.expand(asked)[1:] if _written_alike(asked, one)] if asked else []
        return self.chance.choice(others) if others else ""

    def _blank(self, place: Place, language: str) -> str:
        """The sentence around a number or its most telling word, which is asked for."""
        number = _NUMBER.search(place.text)
        words = self._words(place.text)
        if len(words) < 3:
            return ""
        gap = number[0] if number else words[0].written
        at = number.start() if number else words[0].at
        before, after = _kept(place.text[:at], place.text[at + len(gap) :])
        asking = (" how many ", "多少") if number else (" what ", "什么")
        question = before + asking[language == "zh"] + after
        question = " ".join(question.split()).rstrip(".。;；,，") + ("？" if language == "zh" else "?")
        return question if self._sharp(f"{before} {after}") else ""

    def _name(self, place: Place, language: str) -> str:
        names = [entity.text for entity in entities(place.text)]
        for name in names:
            words = [word for word in self._words(place.text) if word.written not in name and name not in word.written]
            if words:
                told = self.chance.choice(words).written
                question = f"{name}的{told}是怎么回事？" if language == "zh" else f"What about {name} and {told}?"
                return question if self._sharp(f"{name} {told}") else ""
        return ""

    def _passage(self, place: Place, language: str) -> str:
        """The subject, and something from either half of the passage: what joins them is the answer."""
        words = self._words(place.text, _OF_PASSAGE, self._passages)
        middle = len(place.text) // 2
        halves = [[word for word in words if (word.at < middle) is first] for first in (True, False)]
        if not all(halves):
            return ""
        subject = place.heading or ""
        told = [half[0].written for half in halves if half[0].written not in subject]
        asked = [part for part in (subject, *told) if part]
        if len(asked) < 2 or not self._sharp(" ".join(told), self._passages):
            return ""
        return "、".join(asked) if language == "zh" else ", ".join(asked)

    # What they use

    def _words(self, text: str, most: int = _LOOKED_THROUGH, among: _Holding | None = None) -> list[_Word]:
        """The content words of a text that do not overlap, the most telling first."""
        among = among or self._sentences
        lower = text.lower()
        found: list[_Word] = []
        for keyword in keywords(text, limit=most):
            at = lower.find(keyword.word.lower())
            if at >= 0 and not any(one.at < at + len(keyword.word) and at < one.at + len(one.written) for one in found):
                found.append(_Word(text[at : at + len(keyword.word)], at, among.telling(keyword.word)))
        return sorted(found, key=lambda word: (-word.telling, word.at))

    def _sharp(self, words: str, among: _Holding | None = None) -> bool:
        """Whether words point to one place, or hardly more: a question that many places answer measures nothing."""
        return 1 <= (among or self._sentences).with_all(words) <= _MOST_ALIKE


def _definition(place: Place, language: str) -> str:
    found = (_CHINESE_DEFINITION if language == "zh" else _ENGLISH_DEFINITION).match(place.text)
    subject = found[1].strip() if found else ""
    if (
        not subject
        or subject.lower().split()[0] in _NO_SUBJECT
        or subject[:2] in _NO_SUBJECT
        or subject[0] in _NO_SUBJECT
    ):
        return ""
    return f"什么是{subject}？" if language == "zh" else f"What is {subject}?"


def _spaced(words: Sequence[_Word]) -> str:
    return " ".join(word.written for word in words)


def _kept(before: str, after: str) -> tuple[str, str]:
    """What stands next to a gap on either side, in whole words."""
    start, end = before[-_FROM_KEPT:], after[:_TO_KEPT]
    if len(before) > _FROM_KEPT and " " in start:
        start = start.partition(" ")[2]
    if len(after) > _TO_KEPT and " " in end:
        end = end.rpartition(" ")[0]
    return start, end


def _written_alike(one: str, other: str) -> bool:
    """Whether two questions are in the same script: a paraphrase is no translation."""
    return one.isascii() == other.isascii() and language_of(one) == language_of(other)
