"""Choosing what to quote: the sentence that bears most on a question, what belongs with it, and others nearly as good."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from msgspec.structs import replace

from memwell.errors import NotFound
from memwell.knowledge.asking import Needs, asks_for_many, given, held_nearest, is_code
from memwell.knowledge.chunking import Chunking, chunks, heading_words, plain
from memwell.knowledge.documents import Block, Citation, Found, Parsed
from memwell.knowledge.recall import Search
from memwell.language.sentences import sentences
from memwell.tokens import default_counter

# The sentences of a passage that answer a question, each at its exact place in its document.


MOST_TOKENS = 80
"""What is quoted from one place takes at most this many tokens."""

_MOST_LINES = 3
_LEAST_ITEMS = 2
_PIECE = Chunking(tokens=60, overlap=0, least=0)
"""How a sentence is cut that is too long to be quoted."""
_AFTER = 800
"""So many characters behind a passage are looked at too: what answers may stand beyond the cut."""
_LONGEST_HEADING = 60
_MOST_HEADING_WORDS = 6

_MARKED = re.compile(r"(#{1,6})\s+\S[^\n]*\Z")
_ENDS = re.compile(r"[.!?。！？；;:：…][\"'”’」』）)\]*_]*\Z")
_OPENS = re.compile(r"[:：][*_]*\Z")
_ASKS = re.compile(r"[?？][\"'”’」』）)\]*_]*\Z|\A[*_]*(?:Q|Question|FAQ|问|问题|提问)[*_]*\s*\d*\s*[*_]*[:：]", re.I)
_ANSWERS = re.compile(r"[*_]*(?:Answer|答|答复|回答|答案)[*_]*\s*\d*\s*[*_]*[:：][*_]*\s*(?=\S)", re.I)
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*$", re.M)
_CELLS = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(
    r"(?:[-*+•·‣◦]\s|\(?\d{1,2}[.)]\s|[(（]?\d{1,2}[、）．]|[①-⑳]|[a-z][.)]\s|第[一二三四五六七八九十]+步|[一二三四五六七八九十]+、|"
    r"(?:步骤|step)\s*[\d一二三四五六七八九十]+)\s*\S",
    re.I,
)


class Line(NamedTuple):
    """A sentence, or what stands for one: a row, an item, a line of code."""

    start: int
    end: int
    text: str
    kind: str
    block: int
    section: int
    headings: tuple[str, ...]
    page: int | None
    inside: bool
    """False for what stands behind the passage."""
    columns: tuple[str, ...] = ()
    """For a row of a table what its columns are called."""

    @property
    def said(self) -> str:
        """It as it is quoted: a row of a table with the names of its columns."""
        if not self.columns:
            return self.text
        colon, mark = ("：", "；") if "\u4e00" <= max("".join(self.columns)) <= "\u9fff" else (": ", "; ")
        named = zip_longest(self.columns, _cells(self.text), fillvalue="")
        return mark.join(f"{name}{colon}{cell}" if name else cell for name, cell in named if cell)

    @property
    def asks(self) -> bool:
        """Whether it is a question, which answers nothing."""
        return _ASKS.search(self.text) is not None


def lines_of(parsed: Parsed, start: int, end: int) -> list[Line]:
    """The lines of ``parsed.text[start:end]`` and some of those that follow in the same section; headings are none."""
    return list(_Reader(parsed, start, end).lines())


class _Reader:
    """Reads the lines of one passage."""

    def __init__(self, parsed: Parsed, start: int, end: int) -> None:
        self._parsed = parsed
        self._text = parsed.text
        self._start, self._end = start, end
        self._stop = min(len(parsed.text), end + _AFTER)
        self._stack: list[tuple[int, str]] = []
        self._section = 0

    def lines(self) -> Iterator[Line]:
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

    def _of_block(self, block: Block, number: int, page: int | None) -> Iterator[Line]:
        stop = min(block.end, self._stop)
        table = _table(self._text, block)
        for start, end in _spans(self._text, block.kind, max(block.start, self._start), stop):
            inside = start < self._end
            if end == stop < block.end and not inside:
                # Cut off in its middle.
                return
            if table and table.start <= start < table.rows:
                # The names of the columns are said with every row.
                continue
            marked = _MARKED.match(self._text, start, end) if block.kind == "paragraph" else None
            if marked and inside:
                # A text that was given as it is has its headings among its lines.
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
                yield Line(start, end, text, block.kind, number, self._section, headings, page, inside, columns)


class _Table(NamedTuple):
    """A table in Markdown: where its head begins, where its rows do, and what its columns are called."""

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
    """The headings that the block stands under, outermost first."""
    found: list[tuple[int, str]] = []
    for block in reversed(parsed.blocks[:first]):
        level = max(block.level, 1)
        if block.kind == "heading" and (not found or level < found[-1][0]):
            found.append((level, heading_words(parsed.text[block.start : block.end])))
            if level == 1:
                break
    return found[::-1]


def _spans(text: str, kind: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What of a block may be quoted by itself, nothing longer than what one place may take."""
    for first, last in _whole(text, kind, start, end):
        piece = text[first:last]
        if default_counter().count(piece) <= MOST_TOKENS:
            yield first, last
        else:
            for part in chunks(plain(piece), _PIECE):
                yield first + part.start, first + part.end


def _whole(text: str, kind: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if kind in ("code", "row") and default_counter().count(piece) <= MOST_TOKENS:
        lead = len(piece) - len(piece.lstrip())
        yield start + lead, start + len(piece.rstrip())
    elif kind in ("code", "table"):
        yield from (line.span() for line in _LINE.finditer(text, start, end))
    else:
        yield from ((start + one.start, start + one.end) for one in sentences(piece))


def announces(lines: Sequence[Line], at: int) -> bool:
    """Whether a line only says what follows it is about: it ends with a colon, or stands alone like a heading."""
    line = lines[at]
    if at + 1 >= len(lines) or lines[at + 1].section != line.section:
        return False
    if _OPENS.search(line.text):
        return True
    following = lines[at + 1]
    alone = (
        line.kind == "paragraph" and following.block != line.block and (at == 0 or lines[at - 1].block != line.block)
    )
    short = len(line.text) <= _LONGEST_HEADING and len(line.text.split()) <= _MOST_HEADING_WORDS
    if not (alone and short) or _ENDS.search(line.text) or any(char.isdigit() for char in line.text):
        return False
    # Among lines that have no full stop either it is one of them, and says something itself.
    return following.kind != "paragraph" or _ENDS.search(following.text) is not None


class Run(NamedTuple):
    """Lines in a row, ``lines[first:last + 1]``."""

    first: int
    last: int

    def span(self, lines: Sequence[Line]) -> tuple[int, int]:
        """Its place in the document."""
        return lines[self.first].start, lines[self.last].end

    def fits(self, text: str, lines: Sequence[Line]) -> bool:
        """Whether it is no more than may be quoted from one place, and all of one section."""
        if self.first < 0 or self.last >= len(lines) or self.last - self.first >= _MOST_LINES:
            return False
        if lines[self.first].section != lines[self.last].section:
            return False
        start, end = self.span(lines)
        return end - start <= MOST_TOKENS * 20 and default_counter().count(text[start:end]) <= MOST_TOKENS

    def pieces(self, text: str, lines: Sequence[Line]) -> list[str]:
        """It as it is said: sentences of a paragraph together, what stands on another line apart."""
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


class Listing(NamedTuple):
    """A list, and whether the first line of it is the one that opens it."""

    run: Run
    opened: bool


def listing(text: str, lines: Sequence[Line], at: int) -> Listing | None:
    """The list that a line opens or stands in, with the line that opens it; not one of a single item, or of questions."""
    section = lines[at].section
    first = at if _listed(text, lines, at) else at + 1
    if first > at and not _OPENS.search(lines[at].text):
        return None
    while first > 0 and lines[first - 1].section == section and _listed(text, lines, first - 1):
        first -= 1
    last = first - 1
    while last + 1 < len(lines) and lines[last + 1].section == section and _listed(text, lines, last + 1):
        last += 1
    items = [one for one in range(first, last + 1) if _is_item(text, lines, one)]
    if len(items) < _LEAST_ITEMS or any(line.asks for line in lines[first : last + 1]):
        return None
    opened = first > 0 and lines[first - 1].section == section and bool(_OPENS.search(lines[first - 1].text))
    return Listing(Run(first - 1 if opened else first, last), opened)


def _is_item(text: str, lines: Sequence[Line], at: int) -> bool:
    return _ITEM.match(lines[at].text) is not None and (at == 0 or _on_its_own_line(text, lines, at))


def _on_its_own_line(text: str, lines: Sequence[Line], at: int) -> bool:
    return at == 0 or "\n" in text[lines[at - 1].end : lines[at].start]


def _listed(text: str, lines: Sequence[Line], at: int) -> bool:
    """Whether a line is of a list: it begins an item, or goes on with one."""
    while at > 0 and not _is_item(text, lines, at):
        # An item goes on behind its first sentence, and on lines that are set in.
        set_in = text[lines[at].start - 2 : lines[at].start].isspace() and not text[: lines[at].start].endswith("\n")
        if _on_its_own_line(text, lines, at) and not set_in:
            return False
        at -= 1
    return _is_item(text, lines, at)


LOOKED_AT = 3
"""Sentences are taken from this many of the best passages."""
MOST_QUOTED_TOKENS = 120
"""All that is quoted takes at most so many tokens, its numbers included."""

_MOST_COMPARED = 16
_MOST_RUNS = 3
_NEARLY_AS_GOOD = 0.9
_NEARNESS = 0.7
_OF_ITS_KIND = 0.15
"""What it counts that a sentence has what is asked for: a name for *who*, a number for *how many*."""
_ANNOUNCES = 0.05
_BY_ITSELF = 0.05
"""Among sentences under one heading that has the question's words, those come first that have them too."""
_JOINED = 0.8
"""What it counts that those beside a sentence hold, beside what it holds itself."""
_ITS_OWN = 0.4
"""Where a question names a year or a number, what has it must hold so much of the rest too."""
_MARK = " …"
_A_NUMBER = 8
"""Tokens that the number of a source and the mark of what was left out take."""
_A_GAIN = 0.1
"""A sentence beside another joins it when it holds so much more of the question."""


class Quote(NamedTuple):
    """Sentences in a row: as they are said, and as a source with its exact place."""

    pieces: tuple[str, ...]
    source: Found


class _Reading(NamedTuple):
    """A passage with its lines; ``text`` is what their places are in, which begins at ``offset`` of the document's."""

    hit: Found
    text: str
    offset: int
    lines: list[Line]
    above: tuple[str, ...]

    def headings(self, at: int) -> tuple[str, ...]:
        return self.above + self.lines[at].headings

    def lead(self, at: int) -> str:
        """What says what a line is about: the title, its headings, and the line before it if that announces it."""
        before = at > 0 and self.lines[at - 1].section == self.lines[at].section and announces(self.lines, at - 1)
        before_it = self.lines[at - 1].text if before else ""
        said = (self.hit.citation.title, *self.headings(at), before_it, *self.lines[at].columns)
        return " ".join(dict.fromkeys(filter(None, said)))

    def contexts(self, at: int) -> list[str]:
        """A line and what says what it is about, the nearest first: the sentence before it, its headings, the title."""
        line, said = self.lines[at], [" ".join((self.lines[at].text, *self.lines[at].columns))]
        before = self.lines[at - 1] if at > 0 and self.lines[at - 1].section == line.section else None
        if before and (before.block == line.block or before.asks or announces(self.lines, at - 1)):
            said.append(before.text)
        return [*said, *reversed(self.headings(at)), self.hit.citation.title]

    def said(self, run: Run) -> str:
        start, end = run.span(self.lines)
        return self.text[start:end]

    def answered(self, at: int) -> bool:
        """Whether something follows a line in its section that is no question."""
        if at + 1 >= len(self.lines):
            return False
        return self.lines[at + 1].section == self.lines[at].section and not self.lines[at + 1].asks


class _Candidate(NamedTuple):
    score: float
    reading: int
    at: int
    run: Run
    """The line with what belongs to it."""


class Exact(NamedTuple):
    """What a question names exactly, such as a year, and what else it needs."""

    things: frozenset[str]
    rest: Needs


class Chooser:
    """Chooses among the sentences of the best passages for one question, which asks for things of these ``kinds``.

    With ``exact`` only what has those things is chosen, and nothing unless all of them are in it.
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
    ) -> None:
        self._exact = exact
        self._many = asks_for_many(asked)
        self._search = search
        self._asked = asked
        self._needs = needs
        self._kinds = kinds
        self._parsed: dict[str, Parsed | None] = {}
        self._readings = [self._read(hit) for hit in hits[:LOOKED_AT]]

    def quotes(self) -> list[Quote]:
        """What to quote, in the order of the passages; nothing when no sentence is left that answers."""
        ranked = self._compared(sorted(self._candidates(), key=_best_first))
        if self._exact is not None:
            ranked = self._having(ranked, self._exact)
        chosen: list[tuple[int, Run]] = []
        for one in ranked[:_MOST_RUNS]:
            if one.score >= _NEARLY_AS_GOOD * ranked[0].score:
                self._add(chosen, one)
        return [self._quote(reading, run) for reading, run in self._merged(sorted(chosen))]

    def _having(self, ranked: list[_Candidate], exact: Exact) -> list[_Candidate]:
        """Those that have something of what is named exactly; none when one of these things is in none of them."""
        having: list[tuple[int, _Candidate]] = []
        missing = exact.things
        for one in ranked:
            found = self._exact_in(self._readings[one.reading], one.run, exact)
            if found:
                having.append((len(found), one))
                missing -= found
        # What has most of them comes first: it need not be what is nearest by its other words.
        having.sort(key=lambda pair: -pair[0])
        return [] if missing else [one for _, one in having]

    @staticmethod
    def _exact_in(reading: _Reading, run: Run, exact: Exact) -> frozenset[str]:
        """What of it is said of what the question is about, and not only in a sentence beside that."""
        whole = listing(reading.text, reading.lines, run.last) if run.last > run.first else None
        found = frozenset[str]()
        for at in range(run.first, run.last + 1):
            contexts = reading.contexts(at)
            if whole is not None and at == whole.run.first and whole.opened:
                # A list is about what the line says that opens it.
                contexts[0] = reading.said(run)
            things = held_nearest(contexts, exact.things)
            # A code tells by itself what is spoken of; a year or a number stands beside anything.
            if any(map(is_code, things)) or not exact.rest or exact.rest.covered(" ".join(contexts)) >= _ITS_OWN:
                found |= things
        return found

    # Reading

    def _read(self, hit: Found) -> _Reading:
        """A passage in its document; by itself when the document was replaced since."""
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

    # Weighing

    def _candidates(self) -> list[_Candidate]:
        found: dict[str, _Candidate] = {}
        for number, reading in enumerate(self._readings):
            for at, line in enumerate(reading.lines):
                if line.inside and line.text not in found and (not line.asks or reading.answered(at)):
                    found[line.text] = _Candidate(self._worth(reading, at), number, at, Run(at, at))
        return list(found.values())

    def _worth(self, reading: _Reading, at: int) -> float:
        said = reading.lines[at].text
        worth = self._held(reading, at, said) + _BY_ITSELF * self._needs.covered(said)
        return worth - _ANNOUNCES if announces(reading.lines, at) else worth

    def _held(self, reading: _Reading, at: int, said: str) -> float:
        """What of the question a text holds, and of what it asks for."""
        held = self._needs.covered(f"{reading.lead(at)} {said}")
        return held + (_OF_ITS_KIND * len(given(said, self._kinds)) / len(self._kinds) if self._kinds else 0.0)

    def _compared(self, ranked: list[_Candidate]) -> list[_Candidate]:
        """The likeliest sentences once more: by their meaning too where there is an embedder, and by what joins them."""
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

    # Joining

    def _add(self, chosen: list[tuple[int, Run]], one: _Candidate) -> None:
        """Take a candidate with what belongs to it, unless it is quoted already or would make the whole too long."""
        reading = self._readings[one.reading]
        run = one.run
        if any(self._overlap(reading, run, self._readings[number], other) for number, other in chosen):
            return
        quotes = [self._quote(number, other) for number, other in (*chosen, (one.reading, run))]
        if not chosen or _tokens(in_words(quotes)) <= MOST_QUOTED_TOKENS:
            chosen.append((one.reading, run))

    def _merged(self, chosen: list[tuple[int, Run]]) -> list[tuple[int, Run]]:
        """Runs that follow one another are one, as far as one may go."""
        merged: list[tuple[int, Run]] = []
        for number, run in chosen:
            reading = self._readings[number]
            if merged and merged[-1][0] == number and merged[-1][1].last + 1 == run.first:
                longer = Run(merged[-1][1].first, run.last)
                if longer.fits(reading.text, reading.lines):
                    merged[-1] = (number, longer)
                    continue
            merged.append((number, run))
        return merged

    @staticmethod
    def _overlap(one: _Reading, run: Run, other: _Reading, its: Run) -> bool:
        if one.hit.citation.document != other.hit.citation.document:
            return False
        start, end = run.span(one.lines)
        its_start, its_end = its.span(other.lines)
        return start + one.offset < its_end + other.offset and its_start + other.offset < end + one.offset

    def _grown(self, reading: _Reading, at: int) -> Run:
        """A line with those beside it that say what it leaves open, and the list that they open."""
        run = self._listed(reading, at) or self._beside(reading, at)
        found = listing(reading.text, reading.lines, run.last)
        opens = found is not None and found.opened and found.run.first == run.last
        return _shortened(reading, Run(run.first, found.run.last)) if found and opens else run

    def _beside(self, reading: _Reading, at: int) -> Run:
        lines, text = reading.lines, reading.text
        run = self._opened(reading, at)
        for before, after in ((0, 1), (0, 2), (-1, 0), (-2, 0)):
            longer = Run(run.first + before, run.last + after)
            # What stands in front belongs to it in its own paragraph only; below may stand an answer.
            beside = longer.fits(text, lines) and (not before or lines[longer.first].block == lines[run.first].block)
            if beside and self._gains(reading, run, longer):
                run = longer
        following = Run(run.first, run.last + 1)
        if run == Run(at, at) and "advice" in self._kinds and following.fits(text, lines):
            # What is to be done stands behind what is the matter.
            return following if lines[following.last].block == lines[at].block else run
        return run

    def _listed(self, reading: _Reading, at: int) -> Run | None:
        """The list that a line opens; or the one it stands in, when the question is about all of that."""
        found = listing(reading.text, reading.lines, at)
        if found is None:
            return None
        opens = found.opened and at == found.run.first
        if not opens and not (self._many and self._is_about_all(reading, found, at)):
            return None
        return _shortened(reading, found.run)

    def _is_about_all(self, reading: _Reading, found: Listing, at: int) -> bool:
        """Whether what stands above a list holds as much of the question as one of its items does."""
        first = found.run.first
        above = f"{reading.lead(first)} {reading.lines[first].text if found.opened else ''}"
        return self._needs.covered(above) >= self._needs.covered(reading.lines[at].text)

    @staticmethod
    def _opened(reading: _Reading, at: int) -> Run:
        """A line; or what it asks for or announces, with all of that paragraph that may be quoted."""
        lines, text = reading.lines, reading.text
        if not reading.answered(at) or not (lines[at].asks or announces(lines, at)):
            return Run(at, at)
        # A question on a line of its own has done its work; one inside a paragraph is needed to understand the rest.
        alone = lines[at].asks and lines[at + 1].block != lines[at].block
        run = Run(at + 1, at + 1) if alone else Run(at, at + 1)
        if not run.fits(text, lines):
            return Run(at + 1, at + 1)
        longer = Run(run.first, run.last + 1)
        while longer.fits(text, lines) and lines[longer.last].block == lines[at + 1].block:
            run, longer = longer, Run(longer.first, longer.last + 1)
        return run

    def _gains(self, reading: _Reading, run: Run, longer: Run) -> bool:
        said, more = reading.said(run), reading.said(longer)
        if given(more, self._kinds) > given(said, self._kinds):
            return True
        lead = reading.lead(run.first)
        return self._needs.covered(f"{lead} {more}") - self._needs.covered(f"{lead} {said}") >= _A_GAIN

    # Citing

    def _quote(self, number: int, run: Run) -> Quote:
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


def _shortened(reading: _Reading, run: Run) -> Run:
    """As much of a list as may be quoted."""
    first, last = run
    while last > first and _tokens(reading.said(Run(first, last))) > MOST_QUOTED_TOKENS - _A_NUMBER:
        last -= 1
    return Run(first, last)


def _pieces(reading: _Reading, run: Run) -> tuple[str, ...]:
    """A run as it is said; a list is one piece, and shows where it goes on."""
    found = listing(reading.text, reading.lines, run.last) if run.last > run.first else None
    if found is None or not run.first <= found.run.first < run.last:
        return tuple(run.pieces(reading.text, reading.lines))
    return (reading.said(run) + (_MARK if run.last < found.run.last else ""),)


def _tokens(text: str) -> int:
    return default_counter().count(text)


def _best_first(one: _Candidate) -> tuple[float, int, int]:
    return -one.score, one.reading, one.at


def in_words(quotes: Sequence[Quote]) -> str:
    """What is quoted, each piece with the number of its source."""
    return " ".join(f"{piece} [{number}]" for number, quote in enumerate(quotes, start=1) for piece in quote.pieces)
