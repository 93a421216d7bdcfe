"""The sentence chooser: picks the sentences of the best passages to quote, with their exact places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from msgspec.structs import replace

from memwell.errors import NotFound
from memwell.knowledge.asking import (
    Needs,
    asks_for_many,
    denies,
    exact_things_nearest,
    hidden_by,
    is_code,
    is_opposite,
    is_other_case,
    kinds_in,
    lacks_measure,
    names_in,
    owned_in,
    share_lacking,
    topic_of,
)
from memwell.knowledge.chunking import Chunking, heading_words, plain, spans
from memwell.knowledge.documents import Block, Citation, Found, Parsed
from memwell.knowledge.recall import Search
from memwell.language.asking import asks_whether
from memwell.language.claims import corrects
from memwell.language.words import en_or_zh
from memwell.tokens import default_counter

# The lines of a passage: sentences, rows, list items


MOST_TOKENS = 80
"""Tokens that are quoted from one place."""

_MOST_LINES = 3
_LEAST_ITEMS = 2
_QUOTED = Chunking(tokens=MOST_TOKENS, overlap=0, least=0)  # How a sentence is cut that is too long to be quoted
_AFTER = 800  # Characters after a passage that are read too: the answer may stand beyond the cut
_LONGEST_HEADING = 60
_MOST_HEADING_WORDS = 6

_MARKED = re.compile(r"(#{1,6})\s+\S[^\n]*\Z")
_ENDS = re.compile(r"[.!?。！？；;:：…][\"'”’」』）)\]*_]*\Z")
_OPENS = re.compile(r"[:：][*_]*\Z")
_ASKS = re.compile(r"[?？][\"'”’」』）)\]*_]*\Z|\A[*_]*(?:Q|Question|FAQ|问|问题|提问)[*_]*\s*\d*\s*[*_]*[:：]", re.I)
_ANSWERS = re.compile(r"[*_]*(?:Answer|答|答复|回答|答案)[*_]*\s*\d*\s*[*_]*[:：][*_]*\s*(?=\S)", re.I)
_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*$", re.M)
_CELLS = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(
    r"(?:[-*+•·‣◦]\s|\(?\d{1,2}[.)]\s|[(（]?\d{1,2}[、）．]|[①-⑳]|[a-z][.)]\s|第[一二三四五六七八九十]+步|[一二三四五六七八九十]+、|"
    r"(?:步骤|step)\s*[\d一二三四五六七八九十]+)\s*\S",
    re.I,
)


class PassageLine(NamedTuple):
    """A sentence, a row of a table, an item of a list or a line of code."""

    start: int
    end: int
    text: str
    kind: str
    block: int
    section: int
    headings: tuple[str, ...]
    page: int | None
    inside: bool
    """False for a line after the passage."""
    columns: tuple[str, ...] = ()
    """The names of the columns, for a row of a table."""
    listed: bool = False
    """Whether it begins or continues an item of a list."""
    begins: bool = False
    """Whether it begins an item."""

    @property
    def said(self) -> str:
        """The line as it is quoted: a row with the names of its columns."""
        if not self.columns:
            return self.text
        colon, mark = ("：", "；") if "\u4e00" <= max("".join(self.columns)) <= "\u9fff" else (": ", "; ")
        named = zip_longest(self.columns, _cells(self.text), fillvalue="")
        return mark.join(f"{name}{colon}{cell}" if name else cell for name, cell in named if cell)

    @property
    def asks(self) -> bool:
        """Whether the line is a question."""
        return _ASKS.search(self.text) is not None

    @property
    def opens(self) -> bool:
        """Whether the line ends with a colon."""
        return _OPENS.search(self.text) is not None


def lines_of(parsed: Parsed, start: int, end: int) -> list[PassageLine]:
    """The lines of ``parsed.text[start:end]`` and some that follow in the same section, without headings."""
    found: list[PassageLine] = []
    for line in _Reader(parsed, start, end).lines():
        gap = parsed.text[found[-1].end : line.start] if found else "\n"
        begins = "\n" in gap and _ITEM.match(line.text) is not None
        # An item continues after its first sentence, and on indented lines.
        continues = bool(found) and found[-1].listed and ("\n" not in gap or gap.endswith(("  ", "\t")))
        found.append(line._replace(listed=begins or continues, begins=begins))
    return found


class _Reader:
    """Reads the lines of one passage."""

    def __init__(self, parsed: Parsed, start: int, end: int) -> None:
        self._parsed = parsed
        self._text = parsed.text
        self._start, self._end = start, end
        self._stop = min(len(parsed.text), end + _AFTER)
        self._stack: list[tuple[int, str]] = []
        self._section = 0

    def lines(self) -> Iterator[PassageLine]:
        blocks = self._parsed.blocks
        first = bisect_right(blocks, self._start, key=lambda block: block.end)
        self._stack = _above(self._parsed, first)
        page = None
        for number in range(first, len(blocks)):
            block = blocks[number]
            page = block.page if block.page is not None else page
            if block.start >= self._stop or (block.kind == "heading" and block.start >= self._end):
                return
            if block.kind == "heading":
                self._enter(block.level, self._text[block.start : block.end])
            else:
                yield from self._of_block(block, number, page)

    def _enter(self, level: int, heading: str) -> None:
        self._section += 1
        self._stack = [one for one in self._stack if one[0] < max(level, 1)]
        self._stack.append((max(level, 1), heading_words(heading)))

    def _of_block(self, block: Block, number: int, page: int | None) -> Iterator[PassageLine]:
        stop = min(block.end, self._stop)
        table = _table(self._text, block)
        part = Block(block.kind, max(block.start, self._start), stop)
        for start, end, _ in spans(self._text, part, _QUOTED):
            inside = start < self._end
            if end == stop < block.end and not inside:
                # Cut off in the middle.
                return
            if table and table.start <= start < table.rows:
                # Every row is quoted with the names of the columns.
                continue
            marked = _MARKED.match(self._text, start, end) if block.kind == "paragraph" else None
            if marked and inside:
                # A plain text may have headings among its lines.
                self._enter(len(marked[1]), marked[0])
            elif marked:
                self._stop = start
                return
            else:
                headings = tuple(name for _, name in self._stack if name)
                label = _ANSWERS.match(self._text, start, end)
                start = label.end() if label else start
                text = self._text[start:end]
                columns = table.columns if table and start >= table.rows and "|" in text else ()
                yield PassageLine(start, end, text, block.kind, number, self._section, headings, page, inside, columns)


class _Table(NamedTuple):
    """A Markdown table: where its header and its rows begin, and the names of its columns."""

    start: int
    rows: int
    columns: tuple[str, ...]


def _table(text: str, block: Block) -> _Table | None:
    if block.kind not in ("table", "paragraph"):
        return None
    rule = next((one for one in _RULE.finditer(text, block.start, block.end) if "|" in one[0]), None)
    start = text.rfind("\n", block.start, max(rule.start() - 1, block.start)) + 1 if rule else 0
    start = max(start, block.start)
    if rule is None or "|" not in text[start : rule.start()]:
        return None
    return _Table(start, rule.end(), tuple(_cells(text[start : rule.start()])))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(row.strip().removeprefix("|").removesuffix("|"))]


def _above(parsed: Parsed, first: int) -> list[tuple[int, str]]:
    """The headings above a block, outermost first."""
    found: list[tuple[int, str]] = []
    for block in reversed(parsed.blocks[:first]):
        level = max(block.level, 1)
        if block.kind == "heading" and (not found or level < found[-1][0]):
            found.append((level, heading_words(parsed.text[block.start : block.end])))
            if level == 1:
                break
    return found[::-1]


def announces(lines: Sequence[PassageLine], at: int) -> bool:
    """Whether a line only introduces the next ones: it ends with a colon, or stands alone like a heading."""
    line = lines[at]
    if at + 1 >= len(lines) or lines[at + 1].section != line.section:
        return False
    if line.opens:
        return True
    following = lines[at + 1]
    alone = (
        line.kind == "paragraph" and following.block != line.block and (at == 0 or lines[at - 1].block != line.block)
    )
    short = len(line.text) <= _LONGEST_HEADING and len(line.text.split()) <= _MOST_HEADING_WORDS
    if not (alone and short) or _ENDS.search(line.text) or any(char.isdigit() for char in line.text):
        return False
    # Among lines without a full stop it is one of them.
    return following.kind != "paragraph" or _ENDS.search(following.text) is not None


class LineRun(NamedTuple):
    """Consecutive lines, ``lines[first:last + 1]``."""

    first: int
    last: int

    def span(self, lines: Sequence[PassageLine]) -> tuple[int, int]:
        """The span in the document."""
        return lines[self.first].start, lines[self.last].end

    def fits(self, text: str, lines: Sequence[PassageLine]) -> bool:
        """Whether the run may be quoted from one place, and is of one section."""
        if self.first < 0 or self.last >= len(lines) or self.last - self.first >= _MOST_LINES:
            return False
        if lines[self.first].section != lines[self.last].section:
            return False
        start, end = self.span(lines)
        return end - start <= MOST_TOKENS * 20 and default_counter().count(text[start:end]) <= MOST_TOKENS

    def pieces(self, text: str, lines: Sequence[PassageLine]) -> list[str]:
        """The text of the run: sentences of a paragraph together, lines apart."""
        said: list[str] = []
        for at in range(self.first, self.last + 1):
            line = lines[at]
            words = line.said
            gap = text[lines[at - 1].end : line.start] if at > self.first else "\n"
            if "\n" in gap:
                said.append(words)
            else:
                said[-1] += gap + words
        return said


class ListRun(NamedTuple):
    """A list, and whether its first line is the one that introduces it."""

    run: LineRun
    opened: bool


def listing(lines: Sequence[PassageLine], at: int) -> ListRun | None:
    """The list that a line introduces or belongs to; None for a single item, and for a list of questions."""
    first = at if lines[at].listed else at + 1
    if first > at and not lines[at].opens:
        return None

    def is_listed(place: int) -> bool:
        return 0 <= place < len(lines) and lines[place].listed and lines[place].section == lines[at].section

    while is_listed(first - 1):
        first -= 1
    last = first - 1
    while is_listed(last + 1):
        last += 1
    found = lines[first : last + 1]
    if sum(line.begins for line in found) < _LEAST_ITEMS or any(line.asks for line in found):
        return None
    opened = first > 0 and lines[first - 1].section == lines[at].section and lines[first - 1].opens
    return ListRun(LineRun(first - 1 if opened else first, last), opened)


LOOKED_AT = 3
"""Sentences are taken from this many of the best passages."""
MOST_QUOTED_TOKENS = 120
"""Tokens of an answer, its citation numbers included."""

_MOST_COMPARED = 16
_MOST_JUDGED = 32  # Sentences whose meaning is compared where meaning decides
_MOST_CLAUSES = 24
_CLAUSES = re.compile(r"[,;，；、：:]\s*|\s(?:but|and)\s")
_GOES_ON = re.compile(r"(?:it|its|they|their|this|these|that|he|she|his|her)\b|[它他她]|[这其该]", re.I)
_IS_SENTENCE = re.compile(r"[。！？.!?]\s*\Z").search
_TAKES_BACK = re.compile(r"\W*\w+\s?[,，.!…:：—–]").match
_MOST_RUNS = 3
_NEARLY_AS_GOOD = 0.9
_NEARNESS = 0.7
_OF_ITS_KIND = 0.15
"""What it counts that a sentence has the kind of thing asked for: a name for *who*, a number for *how many*."""
_ANNOUNCES = 0.05
_BY_ITSELF = 0.05  # What the words of the question count in the sentence itself, rather than in its heading
_JOINED = 0.8  # What the gain from neighbouring sentences counts
_ITS_OWN = 0.4  # The share of the rest of a question that a text with its year or number must cover
_MARK = " …"
_A_NUMBER = 8  # Tokens of a citation number and an ellipsis
_PHONE = frozenset(("phone",))
_A_GAIN = 0.1  # A neighbour joins a sentence when it adds this much of the question


class Odds(NamedTuple):
    """The log odds that a sentence answers a question, from what it shares with it.

    ``meaning`` counts for the nearness of the sentence or of its nearest clause, ``context`` for the share of the question
    that it holds with its headings or, across languages, for their nearness; ``lacks`` for a kind of thing asked for.
    """

    base: float
    meaning: float
    context: float
    lacks: float
    in_its_words: float = 0.0
    """For sentences that hold most of the question themselves, and every kind of thing asked for."""
    says_no: float = 0.0
    """For a denial when it is asked whether: rules and exceptions are written for those who ask whether they may."""

    def of(self, meaning: float, context: float, lacks: float, *, in_its_words: bool, says_no: bool) -> float:
        """The log odds of one sentence."""
        shared = self.meaning * meaning + self.context * context + self.lacks * lacks
        return self.base + shared + self.in_its_words * in_its_words + self.says_no * says_no


FITTED_TO = "memwell-local-3"
"""The embedder whose vectors the odds were fitted to."""
ODDS = {
    "en": Odds(-10.0, 14.7, 3.3, -3.5, 3.2, 1.4),
    "zh": Odds(-9.3, 14.7, 3.3, -3.5, 3.2, 1.4),
    "across": Odds(-9.9, 16.0, 12.7, -3.5),
}
"""By language, and for a sentence in another one than the question.

``python -m benchmarks.answers fit`` fits them to the dev questions. It would weigh the question's own words by 1 instead of
3.2, which refuses two near misses more there, and plain questions that people ask first; so these are kept.
"""
_MOST_WORDS = 0.7
_NEARLY_AS_LIKELY = 1.0


def decides_by_meaning(search: Search, question: str) -> bool:
    """Whether the odds tell if a sentence answers; with other vectors, and without any, coverage does."""
    return search.embedder_of(question) == FITTED_TO


class Quote(NamedTuple):
    """Consecutive sentences: their text, and the source with its exact place."""

    pieces: tuple[str, ...]
    source: Found


class _Reading(NamedTuple):
    """A passage with its lines, whose spans are in ``text``; that begins at ``offset`` of the document."""

    hit: Found
    text: str
    offset: int
    lines: list[PassageLine]
    above: tuple[str, ...]

    def headings(self, at: int) -> tuple[str, ...]:
        return self.above + self.lines[at].headings

    def lead(self, at: int) -> str:
        """The context of a line: the title, its headings, its columns, and the line that introduces it."""
        before = at > 0 and self.lines[at - 1].section == self.lines[at].section and announces(self.lines, at - 1)
        before_it = self.lines[at - 1].text if before else ""
        said = (self.hit.citation.title, *self.headings(at), before_it, *self.lines[at].columns)
        return " ".join(dict.fromkeys(filter(None, said)))

    def contexts(self, at: int) -> list[str]:
        """A line and its contexts, the nearest first: the sentence before it, its headings, the title."""
        line, said = self.lines[at], [" ".join((self.lines[at].text, *self.lines[at].columns))]
        before = self.lines[at - 1] if at > 0 and self.lines[at - 1].section == line.section else None
        if before and (before.block == line.block or before.asks or announces(self.lines, at - 1)):
            said.append(before.text)
        return [*said, *reversed(self.headings(at)), self.hit.citation.title]

    def said(self, run: LineRun) -> str:
        start, end = run.span(self.lines)
        return self.text[start:end]

    def answered(self, at: int) -> bool:
        """Whether a line that is no question follows in the same section."""
        if at + 1 >= len(self.lines):
            return False
        return self.lines[at + 1].section == self.lines[at].section and not self.lines[at + 1].asks


class _Candidate(NamedTuple):
    score: float
    reading: int
    at: int
    run: LineRun
    """The line with its neighbours."""


class Exact(NamedTuple):
    """The exact things of a question, and its other needs."""

    things: frozenset[str]
    rest: Needs


def _with_correction(lines: Sequence[PassageLine], run: LineRun) -> LineRun:
    """Lines with those behind them that correct them: "I have two kids. Sorry, three."."""
    last = run.last
    while last + 1 < len(lines) and corrects(said := lines[last + 1].text) and _TAKES_BACK(said):
        last += 1
    return run._replace(last=last)


class Chooser:
    """Chooses sentences of the best passages for a question that asks for things of these ``kinds``.

    With ``exact``, only texts with those things are chosen, and none unless each of them is found. ``by_meaning`` is for
    vectors that the odds were fitted to; else words decide.
    """

    def __init__(
        self,
        search: Search,
        asked: str,
        needs: Needs,
        hits: Sequence[Found],
        *,
        kinds: frozenset[str],
        exact: Exact | None = None,
        by_meaning: bool = False,
    ) -> None:
        self._exact = exact
        self._by_meaning = by_meaning
        self._many = asks_for_many(asked)
        self._search = search
        self._asked = asked
        self._needs = needs
        self._kinds = kinds
        # An earlier message that the question refers to stands above it, and may name someone else.
        question = asked.rpartition("\n")[2]
        self._whether = asks_whether(question)
        owners, things = owned_in(question)
        self._named, self._owners = (
            [Needs(name, synonyms=search.synonyms, rarities=search.rarities) for name in names]
            for names in ([*names_in(question), *things], owners)
        )
        self._topic = topic_of(question)
        self._parsed: dict[str, Parsed | None] = {}
        self._readings = [self._read(hit) for hit in hits]

    def quotes(self) -> list[Quote]:
        """The quotes, in the order of the passages; none when no sentence answers."""
        likeliest = sorted(self._candidates(), key=_best_first)
        ranked = self._judged(likeliest) if self._by_meaning else self._compared(likeliest)
        ranked = [one for one in ranked if not self._misses(one)]
        if self._exact is not None:
            ranked = self._having(ranked, self._exact)
        chosen: list[tuple[int, LineRun]] = []
        for one in ranked[:_MOST_RUNS]:
            best = ranked[0].score
            if one.score >= (best - _NEARLY_AS_LIKELY if self._by_meaning else _NEARLY_AS_GOOD * best):
                self._add(chosen, one)
        corrected = [(number, _with_correction(self._readings[number].lines, run)) for number, run in chosen]
        return [self._quote(reading, run) for reading, run in self._merged(sorted(corrected))]

    def _misses(self, one: _Candidate) -> bool:
        """Whether a candidate is about the opposite, another case or someone else, or lacks the measure asked for."""
        reading = self._readings[one.reading]
        said = reading.said(one.run)
        if is_other_case(self._asked, f"{reading.lead(one.run.first)} {said}"):
            return True
        if is_opposite(self._asked, said) or (self._names_other(one) and en_or_zh(self._asked) == en_or_zh(said)):
            return True
        if lacks_measure(self._asked, self._itself(one)) or self._lacks_topic(one):
            return True
        return "phone" in self._kinds and not kinds_in(said, _PHONE)

    def _lacks_topic(self, one: _Candidate) -> bool:
        """Whether a candidate and what is above it lack what the question is about, and the document is not about that."""
        reading = self._readings[one.reading]
        around = " ".join((reading.said(one.run), *reading.contexts(one.at)))
        if not self._topic or en_or_zh(around) != en_or_zh(self._topic):
            return False
        needs = Needs(self._topic, synonyms=self._search.synonyms, rarities=self._search.rarities)
        begins = next(filter(_IS_SENTENCE, reading.text.splitlines()), "")
        if not needs or needs.covered(around) or self._topic in begins:
            return False
        return self._topic.isascii() or set(self._topic).isdisjoint(around)

    def _names_other(self, one: _Candidate) -> bool:
        """Whether a candidate speaks of none whom the question names, or of another one's thing."""
        around = " ".join((self._itself(one), *self._readings[one.reading].contexts(one.at)))
        return any(needs and not needs.covered(around) for needs in self._named) or any(
            needs and not needs.covered(around) and any(needs.covered(hit.hit.text) for hit in self._readings)
            for needs in self._owners
        )

    def _itself(self, one: _Candidate) -> str:
        """The line of a candidate; with its neighbours when they go on about the same: a list, an answer, *it*."""
        reading = self._readings[one.reading]
        line = reading.lines[one.at]
        if line.asks or line.listed or announces(reading.lines, one.at):
            return reading.said(one.run)
        last = one.at
        while last < one.run.last and _GOES_ON.match(reading.lines[last + 1].text):
            last += 1
        return reading.said(LineRun(one.at, last))

    def _judged(self, likeliest: list[_Candidate]) -> list[_Candidate]:
        """The candidates that answer the question likely enough, by the odds of their meaning, with their neighbours."""
        likeliest = likeliest[:_MOST_JUDGED]
        lines = [(self._readings[one.reading], one.at) for one in likeliest]
        said = [reading.lines[at].said for reading, at in lines]
        meaning = self._nearest_clauses(said, self._search.nearness(self._asked, said))
        language = en_or_zh(self._asked)
        across = [at for at, text in enumerate(said) if en_or_zh(text) != language]
        context = [
            self._needs.covered(f"{reading.lead(at)} {text}") for (reading, at), text in zip(lines, said, strict=True)
        ]
        for at, near in zip(
            across, self._search.nearness(self._asked, [self._in_place(*lines[at]) for at in across]), strict=True
        ):
            context[at] = near
        judged = list[_Candidate]()
        for at, one in enumerate(likeliest):
            odds = ODDS["across" if at in across else language]
            run = self._grown(*lines[at])
            score = odds.of(
                meaning[at],
                context[at],
                share_lacking(said[at], self._kinds, self._asked),
                # Who asks for a person and a number is answered by two sentences.
                in_its_words=self._holds_most(
                    lines[at][0].said(run) if len(self._kinds) > 1 else self._itself(one._replace(run=run))
                ),
                says_no=self._whether and denies(said[at]),
            )
            if score >= 0:
                judged.append(one._replace(score=score, run=run))
        return sorted(judged, key=_best_first)

    def _holds_most(self, said: str) -> bool:
        """Whether sentences hold most of the question themselves, and every kind of thing asked for."""
        return self._needs.covered(said) >= _MOST_WORDS and not share_lacking(said, self._kinds, self._asked)

    def _nearest_clauses(self, said: Sequence[str], meaning: Sequence[float]) -> list[float]:
        """The nearness of each sentence, or of its nearest clause where that is nearer, of the nearest sentences."""
        found, clauses = list(meaning), list[tuple[int, str]]()
        for at in sorted(range(len(said)), key=lambda at: -meaning[at]):
            parts = [part for part in _CLAUSES.split(said[at]) if part.strip()]
            if len(parts) > 1 and len(clauses) + len(parts) <= _MOST_CLAUSES:
                clauses += ((at, part) for part in parts)
        near = self._search.nearness(self._asked, [part for _, part in clauses])
        for (at, _), one in zip(clauses, near, strict=True):
            found[at] = max(found[at], one)
        return found

    def _having(self, ranked: list[_Candidate], exact: Exact) -> list[_Candidate]:
        """The candidates that have some of the exact things; none when one of the things is in none of them."""
        having: list[tuple[int, _Candidate]] = []
        missing = exact.things
        for one in ranked:
            reading = self._readings[one.reading]
            found = self._exact_in(reading, one.run, exact)
            # The neighbours of a sentence about another year or model do not make it one about this.
            found -= hidden_by(reading.lines[one.at].text, exact.things)
            if found:
                having.append((len(found), one))
                missing -= found
        # Those with most of them first.
        having.sort(key=lambda pair: -pair[0])
        return [] if missing else [one for _, one in having]

    @staticmethod
    def _exact_in(reading: _Reading, run: LineRun, exact: Exact) -> frozenset[str]:
        """The exact things that are said of the subject of the question, and not in an unrelated sentence."""
        whole = listing(reading.lines, run.last) if run.last > run.first else None
        found = frozenset[str]()
        for at in range(run.first, run.last + 1):
            contexts = reading.contexts(at)
            if whole is not None and at == whole.run.first and whole.opened:
                # The line that introduces a list says what it is about.
                contexts[0] = reading.said(run)
            things = exact_things_nearest(contexts, exact.things)
            # A code identifies its subject; a year or a number does not.
            if any(map(is_code, things)) or not exact.rest or exact.rest.covered(" ".join(contexts)) >= _ITS_OWN:
                found |= things
        return found

    def _read(self, hit: Found) -> _Reading:
        """A passage with the lines of its document; with its own lines when the document was replaced."""
        place = hit.citation
        parsed = self._document(place.document)
        if parsed is not None and parsed.text[place.start : place.end] == hit.text:
            lines = lines_of(parsed, place.start, place.end)
            if lines:
                return _Reading(hit, parsed.text, 0, lines, ())
        alone = plain(hit.text)
        return _Reading(hit, hit.text, place.start, lines_of(alone, 0, len(hit.text)), place.headings)

    def _document(self, id_: str) -> Parsed | None:
        if id_ not in self._parsed:
            try:
                self._parsed[id_] = self._search.document(id_)
            except NotFound:
                self._parsed[id_] = None
        return self._parsed[id_]

    def _candidates(self) -> list[_Candidate]:
        found: dict[str, _Candidate] = {}
        for number, reading in enumerate(self._readings):
            for at, line in enumerate(reading.lines):
                if line.inside and line.text not in found and (not line.asks or reading.answered(at)):
                    found[line.text] = _Candidate(self._worth(reading, at), number, at, LineRun(at, at))
        return list(found.values())

    def _worth(self, reading: _Reading, at: int) -> float:
        said = reading.lines[at].text
        worth = self._held(reading, at, said) + _BY_ITSELF * self._needs.covered(said)
        return worth - _ANNOUNCES if announces(reading.lines, at) else worth

    def _held(self, reading: _Reading, at: int, said: str) -> float:
        """How much of the question a text holds, and of the kinds of things it asks for."""
        held = self._needs.covered(f"{reading.lead(at)} {said}")
        return held + (_OF_ITS_KIND * len(kinds_in(said, self._kinds)) / len(self._kinds) if self._kinds else 0.0)

    def _compared(self, ranked: list[_Candidate]) -> list[_Candidate]:
        """The best candidates ranked again, by meaning too and with their neighbours."""
        likeliest = ranked[:_MOST_COMPARED]
        texts = [self._in_place(self._readings[one.reading], one.at) for one in likeliest]
        nearness = self._search.nearness(self._asked, texts)
        return sorted(map(self._joined, likeliest, nearness), key=_best_first)

    def _joined(self, one: _Candidate, near: float) -> _Candidate:
        reading = self._readings[one.reading]
        run = self._grown(reading, one.at)
        alone = self._held(reading, one.at, reading.lines[one.at].text)
        gained = max(self._held(reading, run.first, reading.said(run)) - alone, 0.0)
        return one._replace(score=one.score + _NEARNESS * near + _JOINED * gained, run=run)

    @staticmethod
    def _in_place(reading: _Reading, at: int) -> str:
        lead = reading.lead(at)
        return f"{lead}: {reading.lines[at].text}" if lead else reading.lines[at].text

    def _add(self, chosen: list[tuple[int, LineRun]], one: _Candidate) -> None:
        """Add a candidate, unless it is quoted already or makes the answer too long."""
        reading = self._readings[one.reading]
        run = one.run
        if any(self._overlap(reading, run, self._readings[number], other) for number, other in chosen):
            return
        quotes = [self._quote(number, other) for number, other in (*chosen, (one.reading, run))]
        if not chosen or _tokens(in_words(quotes)) <= MOST_QUOTED_TOKENS:
            chosen.append((one.reading, run))

    def _merged(self, chosen: list[tuple[int, LineRun]]) -> list[tuple[int, LineRun]]:
        """Consecutive runs joined, as far as they may be quoted together; overlapping ones always."""
        merged: list[tuple[int, LineRun]] = []
        for number, run in chosen:
            reading = self._readings[number]
            if merged and merged[-1][0] == number and run.first <= merged[-1][1].last + 1:
                longer = LineRun(merged[-1][1].first, max(run.last, merged[-1][1].last))
                if run.first <= merged[-1][1].last or longer.fits(reading.text, reading.lines):
                    merged[-1] = (number, longer)
                    continue
            merged.append((number, run))
        return merged

    @staticmethod
    def _overlap(one: _Reading, run: LineRun, other: _Reading, its: LineRun) -> bool:
        if one.hit.citation.document != other.hit.citation.document:
            return False
        start, end = run.span(one.lines)
        its_start, its_end = its.span(other.lines)
        return start + one.offset < its_end + other.offset and its_start + other.offset < end + one.offset

    def _grown(self, reading: _Reading, at: int) -> LineRun:
        """A line with the neighbours that complete it, and the list that they introduce."""
        run = self._listed(reading, at) or self._with_neighbours(reading, at)
        found = listing(reading.lines, run.last)
        opens = found is not None and found.opened and found.run.first == run.last
        return _shortened(reading, LineRun(run.first, found.run.last)) if found and opens else run

    def _with_neighbours(self, reading: _Reading, at: int) -> LineRun:
        lines, text = reading.lines, reading.text
        run = self._opened(reading, at)
        for before, after in ((0, 1), (0, 2), (-1, 0), (-2, 0)):
            longer = LineRun(run.first + before, run.last + after)
            # A line before belongs to it only in its own paragraph.
            joins = longer.fits(text, lines) and (not before or lines[longer.first].block == lines[run.first].block)
            if joins and self._gains(reading, run, longer):
                run = longer
        following = LineRun(run.first, run.last + 1)
        if run == LineRun(at, at) and "advice" in self._kinds and following.fits(text, lines):
            # The advice follows the problem.
            return following if lines[following.last].block == lines[at].block else run
        return run

    def _listed(self, reading: _Reading, at: int) -> LineRun | None:
        """The list that a line introduces; or the one it is in, when the question is about the whole list."""
        found = listing(reading.lines, at)
        if found is None:
            return None
        opens = found.opened and at == found.run.first
        if not opens and not (self._many and self._is_about_all(reading, found, at)):
            return None
        return _shortened(reading, found.run)

    def _is_about_all(self, reading: _Reading, found: ListRun, at: int) -> bool:
        """Whether the lead of a list holds as much of the question as one of its items."""
        first = found.run.first
        above = f"{reading.lead(first)} {reading.lines[first].text if found.opened else ''}"
        return self._needs.covered(above) >= self._needs.covered(reading.lines[at].text)

    @staticmethod
    def _opened(reading: _Reading, at: int) -> LineRun:
        """A line; for a question or an introduction, with as much of the paragraph that follows as may be quoted."""
        lines, text = reading.lines, reading.text
        if not reading.answered(at) or not (lines[at].asks or announces(lines, at)):
            return LineRun(at, at)
        # A question on its own line is not quoted; one inside a paragraph is needed to understand the rest.
        alone = lines[at].asks and lines[at + 1].block != lines[at].block
        run = LineRun(at + 1, at + 1) if alone else LineRun(at, at + 1)
        if not run.fits(text, lines):
            return LineRun(at + 1, at + 1)
        longer = LineRun(run.first, run.last + 1)
        while longer.fits(text, lines) and lines[longer.last].block == lines[at + 1].block:
            run, longer = longer, LineRun(longer.first, longer.last + 1)
        return run

    def _gains(self, reading: _Reading, run: LineRun, longer: LineRun) -> bool:
        said, more = reading.said(run), reading.said(longer)
        if kinds_in(more, self._kinds) > kinds_in(said, self._kinds):
            return True
        lead = reading.lead(run.first)
        return self._needs.covered(f"{lead} {more}") - self._needs.covered(f"{lead} {said}") >= _A_GAIN

    def _quote(self, number: int, run: LineRun) -> Quote:
        reading = self._readings[number]
        start, end = run.span(reading.lines)
        first, last = reading.lines[run.first], reading.lines[run.last]
        place = reading.hit.citation
        citation: Citation = replace(
            place,
            start=reading.offset + start,
            end=reading.offset + end,
            page=place.page if first.page is None else first.page,
            last_page=place.last_page if last.page is None else last.page,
            headings=reading.headings(run.first),
        )
        source = replace(reading.hit, text=reading.text[start:end], citation=citation)
        return Quote(_pieces(reading, run), source)


def _shortened(reading: _Reading, run: LineRun) -> LineRun:
    """As much of a list as may be quoted."""
    first, last = run
    while last > first and _tokens(reading.said(LineRun(first, last))) > MOST_QUOTED_TOKENS - _A_NUMBER:
        last -= 1
    return LineRun(first, last)


def _pieces(reading: _Reading, run: LineRun) -> tuple[str, ...]:
    """The text of a run; a list is one piece, with an ellipsis where it is cut."""
    found = listing(reading.lines, run.last) if run.last > run.first else None
    if found is None or not run.first <= found.run.first < run.last:
        return tuple(run.pieces(reading.text, reading.lines))
    return (reading.said(run) + (_MARK if run.last < found.run.last else ""),)


def _tokens(text: str) -> int:
    return default_counter().count(text)


def _best_first(one: _Candidate) -> tuple[float, int, int]:
    return -one.score, one.reading, one.at


def in_words(quotes: Sequence[Quote]) -> str:
    """The quotes with the numbers of their sources."""
    return " ".join(f"{piece} [{number}]" for number, quote in enumerate(quotes, start=1) for piece in quote.pieces)
