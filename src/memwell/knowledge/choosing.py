"""Choosing what to quote: the sentence that bears most on a question, what belongs with it, and others nearly as good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from memwell.errors import NotFound
from memwell.knowledge.asking import asks_for_many, given, held_nearest, is_code
from memwell.knowledge.chunking import plain
from memwell.knowledge.documents import Citation, Found, Parsed
from memwell.knowledge.extracts import Line, Listing, Run, announces, lines_of, listing
from memwell.knowledge.recall import Search
from memwell.knowledge.support import Needs
from memwell.tokens import default_counter

LOOKED_AT = 3
"""Sentences are taken from this many of the best passages."""
MOST_TOKENS = 120
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
        if not chosen or _tokens(in_words(quotes)) <= MOST_TOKENS:
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
    while last > first and _tokens(reading.said(Run(first, last))) > MOST_TOKENS - _A_NUMBER:
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


__all__ = ["Chooser", "Exact", "LOOKED_AT", "MOST_TOKENS", "Quote", "in_words"]
