"""What of all that was found goes into the prompt: nothing twice, the best first, cut where a sentence ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol, cast

import msgspec
from msgspec.structs import replace

from memwell.language.quoting import clean
from memwell.language.segment import query_terms
from memwell.language.sentences import Span, sentences
from memwell.longterm.duplicates import decisive_terms, fingerprint, similar
from memwell.messages import Message
from memwell.runtime.context.frame import Note, Phrases, facts_of, label
from memwell.runtime.context.receipts import LeftOut
from memwell.values import as_utc

_LOOKED_AT = 20_000
_LEAST_EXCERPT = 40
_LONG_ENOUGH = 20
_DAYS = 3
_ALIKE = 0.75
_SIGNALS = 4
_ELLIPSIS = "…"


class Found(Protocol):
    """What is needed of a memory that was recalled. ``score``, ``signals`` and ``evidence`` are used if it has them."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def time(self) -> datetime: ...
    @property
    def speaker(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def trust(self) -> str: ...
    @property
    def flags(self) -> Sequence[str]: ...


class Recaller(Protocol):
    """Whoever can be asked for memories: a ``Memory``, or anything with this one method."""

    def recall(self, query: str, *, limit: int) -> Sequence[Found]:
        """The memories that answer the query best, best first."""
        ...


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a document that may go into a prompt. Give the best first."""

    id: str
    text: str
    title: str = ""
    time: datetime | None = None
    score: float = 0.0
    flags: tuple[str, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may go into the prompt, its text already clean. ``order`` is its place when all are in order."""

    kind: str
    id: str
    note: Note
    order: tuple[int, float, int]
    score: float
    signals: dict[str, float]
    said_in: frozenset[str]
    speaker: str
    is_cut: bool = False

    def written(self, number: int = 88) -> str:
        """How it would stand in the frame."""
        return self.note.written(number)

    def of_text(self, text: str) -> Candidate:
        """A part of it."""
        return replace(self, note=self.note._replace(text=text), is_cut=True)


def of_memory(found: Found, place: int, words: Phrases) -> Candidate:
    """A recalled memory as a candidate."""
    time = as_utc(found.time, "a memory's time")
    source = words.trusts.get(found.trust) or label(found.trust)
    note = Note(
        text=_beginning(found.text),
        days=(time.date().isoformat(),),
        facts=facts_of(found.speaker, source, _marks(found.flags, words), found.id),
    )
    return Candidate(
        kind="memory",
        id=found.id,
        note=note,
        order=(1, time.timestamp(), place),
        score=float(getattr(found, "score", 0.0)),
        signals=_signals(found),
        said_in=_messages_of(found),
        speaker=found.speaker,
        is_cut=len(found.text) > _LOOKED_AT,
    )


def of_passage(passage: Passage, place: int, words: Phrases) -> Candidate:
    """A piece of a document as a candidate."""
    note = Note(
        text=_beginning(passage.text),
        days=() if passage.time is None else (passage.time.date().isoformat(),),
        facts=facts_of(passage.title, words.document, _marks(passage.flags, words), passage.id),
    )
    return Candidate(
        kind="document",
        id=passage.id,
        note=note,
        order=(0, 0.0, place),
        score=passage.score,
        signals={},
        said_in=frozenset(),
        speaker="",
        is_cut=len(passage.text) > _LOOKED_AT,
    )


def _beginning(text: str) -> str:
    """The text, clean; only the beginning of one that no prompt would hold."""
    return clean(text) if len(text) <= _LOOKED_AT else f"{clean(text[:_LOOKED_AT])} {_ELLIPSIS}"


def _marks(flags: Iterable[str], words: Phrases) -> tuple[str, ...]:
    return (words.untrusted,) if "injection" in flags else ()


def _signals(found: Found) -> dict[str, float]:
    """The weightiest reasons of its score, by name."""
    given = cast("dict[str, Any]", getattr(found, "signals", None) or {})
    shares = {name: float(getattr(signal, "share", signal)) for name, signal in given.items()}
    return dict(sorted(shares.items(), key=lambda item: (-abs(item[1]), item[0]))[:_SIGNALS])


def _messages_of(found: Found) -> frozenset[str]:
    """The messages that are its evidence; with an empty id, which no message has, when it also rests on something else."""
    evidence = cast("Sequence[Any]", getattr(found, "evidence", ()))
    return frozenset(str(getattr(one, "message", "")) for one in evidence)


def not_shown(candidates: Iterable[Candidate], shown: Sequence[Message], left: list[LeftOut]) -> list[Candidate]:
    """Those that no message shown says already: by their evidence, or in the same words. Others are noted in ``left``."""
    ids = {message.id for message in shown}
    texts = [_plain(message.text) for message in shown]
    prints = {fingerprint(text): message.id for text, message in zip(texts, shown, strict=True)}
    kept: list[Candidate] = []
    for one in candidates:
        text = _plain(one.note.text)
        # A short text may stand in a longer one and mean something else there.
        inside = (m.id for t, m in zip(texts, shown, strict=True) if len(text) >= _LONG_ENOUGH and text in t)
        twin = prints.get(fingerprint(text)) or next(inside, None)
        if twin is None and one.said_in and one.said_in <= ids:
            twin = min(one.said_in)
        if twin is None:
            kept.append(one)
        else:
            left.append(LeftOut(one.kind, one.id, "shown", twin))
    return kept


def _plain(text: str) -> str:
    return " ".join(text[:_LOOKED_AT].casefold().split())


def distinct(candidates: Iterable[Candidate], left: list[LeftOut]) -> list[Candidate]:
    """The candidates without those that say nearly what a better one says, whose days it then shows too."""
    kept: list[tuple[Candidate, frozenset[str]]] = []
    alike: dict[int, list[Candidate]] = {}
    for one in candidates:
        if not one.note.text:
            left.append(LeftOut(one.kind, one.id, "empty"))
            continue
        terms = frozenset(query_terms(one.note.text))
        twin = next((place for place, other in enumerate(kept) if _same(one, terms, *other)), None)
        if twin is None:
            kept.append((one, terms))
        else:
            alike.setdefault(twin, []).append(one)
            left.append(LeftOut(one.kind, one.id, "duplicate", kept[twin][0].id))
    return [_of_days(one, alike[place]) if place in alike else one for place, (one, _) in enumerate(kept)]


def _same(one: Candidate, terms: frozenset[str], other: Candidate, others: frozenset[str]) -> bool:
    """Whether two say nearly the same. What two people say is two things, and so are two numbers, however alike."""
    either = len(terms) + len(others)
    # Sets as alike as this are rare, and only they are worth a closer look.
    if one.speaker != other.speaker or (1 + _ALIKE) * len(terms & others) < _ALIKE * either:
        return False
    if fingerprint(one.note.text) == fingerprint(other.note.text):
        return True
    if terms - others and others - terms:
        # Each has a word of its own, and that may be all that matters: a day, a drug, a colour.
        return False
    same_numbers = decisive_terms(one.note.text, terms) == decisive_terms(other.note.text, others)
    return same_numbers and similar(one.note.text, other.note.text) >= _ALIKE


def _of_days(first: Candidate, alike: Sequence[Candidate]) -> Candidate:
    days = sorted({day for one in (first, *alike) for day in one.note.days})
    shown = days if len(days) <= _DAYS else [*days[: _DAYS - 2], _ELLIPSIS, days[-1]]
    return replace(first, note=first.note._replace(days=shown))


def excerpt(text: str, fits: Callable[[str], bool], terms: frozenset[str] = frozenset()) -> str | None:
    """The text, or as many neighbouring sentences as fit, around the one that has most of the terms; None if not one fits.

    An ellipsis stands for what is left out before and after them.
    """
    if fits(text):
        return text
    spans = sentences(text)
    if len(spans) < 2:
        return None
    start = max(range(len(spans)), key=lambda place: (len(terms.intersection(query_terms(spans[place].text))), -place))
    first = last = start
    best = _part(text, spans, first, last)
    if not fits(best):
        return None
    while last + 1 < len(spans) and fits(longer := _part(text, spans, first, last + 1)):
        best, last = longer, last + 1
    while first > 0 and fits(longer := _part(text, spans, first - 1, last)):
        best, first = longer, first - 1
    return best


def _part(text: str, spans: Sequence[Span], first: int, last: int) -> str:
    before = f"{_ELLIPSIS} " if first else ""
    after = f" {_ELLIPSIS}" if last + 1 < len(spans) else ""
    return f"{before}{text[spans[first].start : spans[last].end]}{after}"


class Choice:
    """Fills a room of so many tokens with candidates, best first."""

    def __init__(self, query: str, count: Callable[[str], int]) -> None:
        self.chosen: list[tuple[Candidate, int]] = []
        self._terms = frozenset(query_terms(query))
        self._count = count
        self._costs: dict[str, int] = {}

    def cost(self, candidate: Candidate) -> int:
        """The tokens of a candidate in the frame, with the line break after it."""
        written = candidate.written()
        cost = self._costs.get(written)
        if cost is None:
            cost = self._costs[written] = self._count(written + "\n")
        return cost

    def fill(self, waiting: Sequence[Candidate], room: int, longest: int, *, cut: bool) -> list[Candidate]:
        """Take what fits into ``room``, nothing longer than ``longest``; returns what did not fit.

        With ``cut`` what does not fit whole is cut to fit; without, only what is longer than ``longest`` is.
        """
        left: list[Candidate] = []
        for one in waiting:
            limit = min(room, longest)
            cost = self.cost(one)
            if cost > limit:
                may_be_cut = (cut or cost > longest) and limit >= _LEAST_EXCERPT
                part = self._shortened(one, limit) if may_be_cut else None
                if part is None:
                    left.append(one)
                    continue
                one, cost = part, self.cost(part)
            self.chosen.append((one, cost))
            room -= cost
        return left

    def _shortened(self, one: Candidate, limit: int) -> Candidate | None:
        part = excerpt(one.note.text, lambda text: self.cost(one.of_text(text)) <= limit, self._terms)
        return None if part is None else one.of_text(part)


__all__ = [
    "Candidate",
    "Choice",
    "Found",
    "Passage",
    "Recaller",
    "distinct",
    "excerpt",
    "not_shown",
    "of_memory",
    "of_passage",
]
