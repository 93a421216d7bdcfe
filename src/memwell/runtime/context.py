"""The context assembler: from a query to a prompt under a hard budget of tokens.

    context = assemble("Where did I leave my passport?", budget=2000, history=chat, recaller=memory)
    client.chat.completions.create(model=…, messages=context.openai())

The prompt begins with what stays the same, for the prompt cache of a provider: the system text, the profile, the window
of the conversation, then what was recalled, fenced as data, then the query. The same inputs give the same bytes, the
budget is never exceeded, and a receipt says what went in, what did not, and why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import partial, wraps
from hashlib import blake2b, sha256
from itertools import chain
from math import ceil, inf
from typing import Any, Final, Protocol, cast

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify, run_blocking
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.history import HistoryReader
from memwell.language.quoting import DOT, Phrases, clean, framed, heading, label, phrases, quoted, short_ids
from memwell.language.segment import query_terms
from memwell.language.sentences import TextSpan, sentences
from memwell.language.words import han_share
from memwell.longterm.gate import decisive_terms, fingerprint, similar
from memwell.longterm.relevance import MIN_RELEVANCE
from memwell.longterm.superseding import POOL
from memwell.messages import Message, Role, Text, check_message
from memwell.records import SpaceLike, as_space, paged
from memwell.storage.protocols import KeyValue
from memwell.tokens import TokenCounter, default_counter
from memwell.transcript import to_anthropic, to_openai, to_text
from memwell.values import as_utc, check_count, check_id, check_number, check_text, shown
from memwell.windows import Round, Size, fitted, paired, whole

_STATE: Final = "receipts"
_PREFIX: Final = "receipt."
_DIGITS = 12
_IS_NUMBER = re.compile(rf"[0-9]{{{_DIGITS}}}").fullmatch


class Entered(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of the prompt: its kind, its id, and how many tokens it takes.

    ``kind`` is ``system``, ``profile``, ``message``, ``memory``, ``document``, ``query``, or ``frame`` for the lines around
    what was recalled. ``score`` and ``signals`` say why a memory was recalled; ``cut`` that only an excerpt is there.
    """

    kind: str
    id: str
    tokens: int
    score: float = 0.0
    signals: dict[str, float] = {}
    cut: bool = False


class LeftOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that was left out of the prompt, and why.

    ``reason`` is ``budget``, ``shown`` (the message ``like`` says it already), ``duplicate`` (of ``like``), ``empty``, or
    ``relevance`` (too little of it).
    """

    kind: str
    id: str
    reason: str
    like: str = ""


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Which memories and messages entered one prompt: ids and numbers, no texts. The tokens of all add up to ``tokens``."""

    budget: int
    tokens: int
    encoding: str
    digest: str
    """SHA-256 of the prompt's bytes; empty after a part of it was erased."""
    entered: tuple[Entered, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    thread: str = ""
    earlier: int = 0
    """How many messages of the conversation are not in the prompt."""
    now: datetime | None = None
    id: str = ""
    """Assigned when it is stored."""

    @property
    def memories(self) -> list[str]:
        """The ids of the memories in the prompt, in its order."""
        return [one.id for one in self.entered if one.kind == "memory"]

    def without(self, ids: Iterable[str]) -> Receipt:
        """The receipt with these ids blanked and, if it had one of them, without the digest."""
        gone = frozenset(ids)
        named = {one.id for one in (*self.entered, *self.left_out)} | {one.like for one in self.left_out}
        if gone.isdisjoint(named):
            return self
        return replace(
            self,
            digest="",
            entered=tuple(replace(one, id="") if one.id in gone else one for one in self.entered),
            left_out=tuple(
                replace(one, id="" if one.id in gone else one.id, like="" if one.like in gone else one.like)
                for one in self.left_out
            ),
        )


class Receipts:
    """The receipts of one space, the newest ``most`` of them.

    With ``transaction`` (a backend's own) each change is one commit. Every method has an async twin with an ``a`` in front.
    """

    def __init__(
        self,
        kv: KeyValue,
        space: SpaceLike,
        *,
        most: int = 1_000,
        transaction: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._kv = kv
        self.space = as_space(space)
        self._most = check_count(most, "most", least=1)
        self._transaction = transaction

    def put(self, receipt: Receipt) -> str:
        """Store a receipt and return its id; the oldest is dropped when there are too many."""
        with self._transaction():
            key = _key(self._taken())
            id_ = key.removeprefix(_PREFIX)
            self._kv.put(self.space, key, msgspec.to_builtins(replace(receipt, id=id_)))
        return id_

    def _taken(self) -> int:
        """The next number, claimed for this writer."""
        while True:
            oldest, number, version = self._state()
            # The old ones are deleted first: a process killed in between leaves them listed, and the next one goes on.
            least = max(oldest, number + 1 - self._most)
            for old in range(oldest, least):
                self._kv.delete(self.space, _key(old))
            try:
                self._kv.put(self.space, _STATE, {"oldest": least, "next": number + 1}, expect=version)
            except Conflict:
                continue
            return number

    def _state(self) -> tuple[int, int, int]:
        entry = self._kv.get(self.space, _STATE)
        if entry is None:
            return 0, 0, 0
        state = msgspec.convert(entry.value, dict[str, int])
        return state["oldest"], state["next"], entry.version

    def get(self, receipt_id: str) -> Receipt:
        """One receipt. Raises ``NotFound`` when there is none, or it was dropped."""
        is_number = _IS_NUMBER(check_id(receipt_id, "a receipt's id"))
        found = self._read(int(receipt_id))[0] if is_number else None
        if found is None:
            raise NotFound(f"there is no receipt {shown(receipt_id)}; the newest {self._most:,} are kept")
        return found

    def _read(self, number: int) -> tuple[Receipt | None, int]:
        entry = self._kv.get(self.space, _key(number))
        return (None, 0) if entry is None else (msgspec.convert(entry.value, Receipt), entry.version)

    def all(self) -> Iterator[Receipt]:
        """The receipts, newest first."""
        oldest, following, _ = self._state()
        for number in range(following - 1, oldest - 1, -1):
            found, _ = self._read(number)
            if found is not None:
                yield found

    def of_memory(self, memory_id: str) -> list[Receipt]:
        """The receipts of the prompts that a memory entered, newest first."""
        check_id(memory_id, "a memory's id")
        return [receipt for receipt in self.all() if memory_id in receipt.memories]

    def forget(self, ids: Iterable[str]) -> int:
        """Blank ids in all receipts, after an erasure; returns how many receipts had one."""
        gone = [check_id(id_, "an id") for id_ in ids]
        oldest, following, _ = self._state()
        with self._transaction():
            return sum(self._blanked(number, gone) for number in range(oldest, following))

    def _blanked(self, number: int, gone: list[str]) -> bool:
        while True:
            receipt, version = self._read(number)
            if receipt is None or (changed := receipt.without(gone)) is receipt:
                return False
            try:
                self._kv.put(self.space, _key(number), msgspec.to_builtins(changed), expect=version)
            except Conflict:
                continue
            return True

    aput = asyncify(put)
    aget = asyncify(get)
    aof_memory = asyncify(of_memory)
    aforget = asyncify(forget)


def _key(number: int) -> str:
    return f"{_PREFIX}{number:0{_DIGITS}d}"


_LOOKED_AT = 20_000
_LEAST_EXCERPT = 40
_LONG_ENOUGH = 20
_DAYS = 3
_ALIKE = 0.75
_SIGNALS = 4
_ELLIPSIS = "…"


class RecalledMemory(Protocol):
    """A recalled memory. ``score``, ``relevance``, ``signals``, ``evidence``, ``superseded_by`` are used if it has them."""

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
    """An object that recalls: a ``Memory``, or anything with this one method."""

    def recall(self, query: str, *, limit: int) -> Sequence[RecalledMemory]:
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
    """A memory or passage that may enter the prompt. ``order`` sorts the candidates in the prompt."""

    kind: str
    id: str
    text: str
    """Cleaned, and shortened if it was very long."""
    days: Sequence[str]
    """The days on which it was said."""
    facts: str
    """The rest of its heading."""
    order: tuple[int, float, int]
    score: float
    signals: dict[str, float]
    said_in: frozenset[str]
    speaker: str
    is_cut: bool = False

    def written(self, number: int = 88) -> str:
        """The candidate in the frame: a heading, and the quoted text."""
        dated = f"{', '.join(self.days)}{DOT}{self.facts}" if self.days else self.facts
        return f"[{number}] {dated}\n{quoted(self.text)}"

    def of_text(self, text: str) -> Candidate:
        """An excerpt of it."""
        return replace(self, text=text, is_cut=True)


def of_memory(found: RecalledMemory, place: int, words: Phrases, ids: Mapping[str, str]) -> Candidate:
    """A recalled memory as a candidate; ``ids`` has the short form of each id in the prompt."""
    time = as_utc(found.time, "a memory's time")
    evidence = cast("Sequence[Any]", getattr(found, "evidence", ()))
    return Candidate(
        kind="memory",
        id=found.id,
        text=_beginning(found.text),
        days=(time.date().isoformat(),),
        facts=heading(words, found.speaker, found.trust, found.flags, ids[found.id], ids[_later(found)]),
        order=(1, time.timestamp(), place),
        score=float(getattr(found, "score", 0.0)),
        signals=_signals(found),
        # An empty id stands for evidence that is no message.
        said_in=frozenset(str(getattr(one, "message", "")) for one in evidence),
        speaker=found.speaker,
        is_cut=len(found.text) > _LOOKED_AT,
    )


def _later(found: RecalledMemory) -> str:
    return str(getattr(found, "superseded_by", ""))


def of_passage(passage: Passage, place: int, words: Phrases, ids: Mapping[str, str]) -> Candidate:
    """A piece of a document as a candidate; ``ids`` has the short form of each id in the prompt."""
    return Candidate(
        kind="document",
        id=passage.id,
        text=_beginning(passage.text),
        days=() if passage.time is None else (passage.time.date().isoformat(),),
        facts=heading(words, passage.title, "document", passage.flags, ids[passage.id]),
        order=(0, 0.0, place),
        score=passage.score,
        signals={},
        said_in=frozenset(),
        speaker="",
        is_cut=len(passage.text) > _LOOKED_AT,
    )


def _beginning(text: str) -> str:
    """The cleaned text; of one that is longer than any prompt, its beginning."""
    return clean(text) if len(text) <= _LOOKED_AT else f"{clean(text[:_LOOKED_AT])} {_ELLIPSIS}"


def _signals(found: RecalledMemory) -> dict[str, float]:
    """The largest shares of its score, by name."""
    given = cast("dict[str, Any]", getattr(found, "signals", None) or {})
    shares = {name: float(getattr(signal, "share", signal)) for name, signal in given.items()}
    return dict(sorted(shares.items(), key=lambda item: (-abs(item[1]), item[0]))[:_SIGNALS])


def not_shown(candidates: Iterable[Candidate], shown: Sequence[Message], left: list[LeftOut]) -> list[Candidate]:
    """The candidates that no shown message contains, by their evidence or text. The others are added to ``left``."""
    ids = {message.id for message in shown}
    texts = [_plain_text(message.text) for message in shown]
    prints = {fingerprint(text): message.id for text, message in zip(texts, shown, strict=True)}
    kept: list[Candidate] = []
    for one in candidates:
        text = _plain_text(one.text)
        # A short text may be contained in a longer one that means something else.
        inside = (m.id for t, m in zip(texts, shown, strict=True) if len(text) >= _LONG_ENOUGH and text in t)
        twin = prints.get(fingerprint(text)) or next(inside, None)
        if twin is None and one.said_in and one.said_in <= ids:
            twin = min(one.said_in)
        if twin is None:
            kept.append(one)
        else:
            left.append(LeftOut(one.kind, one.id, "shown", twin))
    return kept


def _plain_text(text: str) -> str:
    return " ".join(text[:_LOOKED_AT].casefold().split())


def distinct(candidates: Iterable[Candidate], left: list[LeftOut]) -> list[Candidate]:
    """The candidates without near duplicates of better ones; a kept one gets the days of its duplicates."""
    kept: list[tuple[Candidate, frozenset[str]]] = []
    alike: dict[int, list[Candidate]] = {}
    for one in candidates:
        if not one.text:
            left.append(LeftOut(one.kind, one.id, "empty"))
            continue
        terms = frozenset(query_terms(one.text))
        twin = next((place for place, other in enumerate(kept) if _same(one, terms, *other)), None)
        if twin is None:
            kept.append((one, terms))
        else:
            alike.setdefault(twin, []).append(one)
            left.append(LeftOut(one.kind, one.id, "duplicate", kept[twin][0].id))
    return [_of_days(one, alike[place]) if place in alike else one for place, (one, _) in enumerate(kept)]


def _same(one: Candidate, terms: frozenset[str], other: Candidate, others: frozenset[str]) -> bool:
    """Whether two say nearly the same. Different speakers, or different numbers, are never the same."""
    either = len(terms) + len(others)
    # A cheap test first: few pairs are similar enough for the others.
    if one.speaker != other.speaker or (1 + _ALIKE) * len(terms & others) < _ALIKE * either:
        return False
    if fingerprint(one.text) == fingerprint(other.text):
        return True
    if terms - others and others - terms:
        # Each has a term that the other lacks, and it may be the important one: a day, a drug, a colour.
        return False
    same_numbers = decisive_terms(one.text, terms) == decisive_terms(other.text, others)
    return same_numbers and similar(one.text, other.text) >= _ALIKE


def _of_days(first: Candidate, alike: Sequence[Candidate]) -> Candidate:
    days = sorted({day for one in (first, *alike) for day in one.days})
    shown = days if len(days) <= _DAYS else [*days[: _DAYS - 2], _ELLIPSIS, days[-1]]
    return replace(first, days=shown)


def excerpt(text: str, fits: Callable[[str], bool], terms: frozenset[str] = frozenset()) -> str | None:
    """The text, or as many neighbouring sentences as fit, around the one with most of the terms; None if none fits.

    An ellipsis marks what is left out before and after them.
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


def _first_lines(text: str, fits: Callable[[str], bool]) -> str | None:
    """The text, or as many of its first lines as fit, at least two, with an ellipsis behind them; None if none does."""
    if fits(text):
        return text
    lines = text.split("\n")
    parts = ("\n".join(lines[:count]) + f" {_ELLIPSIS}" for count in range(len(lines) - 1, 1, -1))
    return next(filter(fits, parts), None)


def _part(text: str, spans: Sequence[TextSpan], first: int, last: int) -> str:
    before = f"{_ELLIPSIS} " if first else ""
    after = f" {_ELLIPSIS}" if last + 1 < len(spans) else ""
    return f"{before}{text[spans[first].start : spans[last].end]}{after}"


class Choice:
    """Fills a token budget with candidates, best first."""

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
        """Choose what fits into ``room``, nothing longer than ``longest``; returns what did not fit.

        With ``cut`` a candidate that does not fit is shortened; without, only one that is longer than ``longest`` is.
        """
        left: list[Candidate] = []
        for one in waiting:
            limit = min(room, longest)
            cost = self.cost(one)
            if cost > limit:
                may_be_cut = (cut or cost > longest) and limit >= _LEAST_EXCERPT
                text = excerpt(one.text, partial(self._fits, one, limit), self._terms) if may_be_cut else None
                if text is None:
                    left.append(one)
                    continue
                one = one.of_text(text)
                cost = self.cost(one)
            self.chosen.append((one, cost))
            room -= cost
        return left

    def _fits(self, one: Candidate, limit: int, text: str) -> bool:
        return self.cost(one.of_text(text)) <= limit


# From a query to a prompt

_WHOLE_PROFILE = 300
"""Tokens that most profiles fit into."""
_BLOCK = 64
_FEW = 4
_MOST_BEFORE_ROUNDS = 256
_MOST_IN_ROUND = 10_000
_RESULTS = frozenset({Role.TOOL, Role.FUNCTION})
_WAITING = _RESULTS | {Role.HUMAN}
_STEADY = 4
_LEAST_PART, _LEAST_PART_CHINESE = 0.02, 0.03
"""What is less relevant than this part of the best memory stays out: three of a thousand questions lose their answer so.
Chinese has no late interaction, so that what does not matter is less far below what does."""


def preamble(history: HistoryReader) -> list[Message]:
    """The system messages before the first round that are for a model."""
    found: list[Message] = []
    cursor = None
    for _ in range(_MOST_BEFORE_ROUNDS // _FEW):
        page = history.page(limit=_FEW, cursor=cursor)
        before = [message for message in page.items if not message.round]
        found += [message for message in before if message.role is Role.SYSTEM and message.for_model]
        cursor = page.next
        if cursor is None or len(before) < len(page.items):
            break
    return whole(found)


def newest_rounds(history: HistoryReader, size: Size, most: int) -> Iterator[Round]:
    """The rounds, newest first. One of more than ``most`` tokens is cut to its opening and its end, and is the last."""
    gathered: list[Message] = []
    weight = 0
    for message in paged(lambda cursor: history.page(limit=_BLOCK, cursor=cursor, newest_first=True)):
        if gathered and message.round != gathered[0].round:
            yield Round(gathered[0].round or 0, gathered[::-1])
            gathered, weight = [], 0
        if not message.round:
            return
        gathered.append(message)
        weight += size(message) if message.for_model else 0
        if weight > most or len(gathered) > _MOST_IN_ROUND:
            yield Round(message.round, _opened(history, gathered[::-1]))
            return
    if gathered:
        yield Round(gathered[0].round or 0, gathered[::-1])


def _opened(history: HistoryReader, end: list[Message]) -> list[Message]:
    """The opening message of a round and its end, without leading tool results whose calls are cut off."""
    number = end[0].round or 0
    start = history._first_of_round(number)  # pyright: ignore[reportPrivateUsage]
    first = history.log.read(history.thread, first=_FEW, after=start - 1)
    opening = next((one for one in first if one.role is not Role.VIEW and one.round == number), None)
    if opening is None or opening.index == end[0].index:
        return end
    while end and end[0].role in _RESULTS:
        end = end[1:]
    return [opening, *end]


def goes_on(round_: Round, query: Message) -> bool:
    """Whether the query opened this round, and a model is to speak next."""
    said = [message for message in round_.messages if message.for_model]
    if not said or said[-1].role not in _WAITING or said[0].role is not Role.HUMAN:
        return False
    # A tool result in a person's name opens a round too, and is no query.
    return said[0].id == query.id or (said[0].text == query.text and not said[0].tool_results)


def under_way(round_: Round, budget: int, size: Size) -> list[Message]:
    """The current round: its opening, which must fit, and as many of its last steps as fit."""
    opening = [message for message in round_.messages if message.for_model][:1]
    # A model speaks next, so no call may wait for its result.
    fitting = fitted([round_], budget, size, may_wait=False)
    return fitting if fitting and fitting[0].id == opening[0].id else opening


def window(rounds: Iterator[Round], budget: int, size: Size, following: Message, *, steady: bool) -> list[Message]:
    """As many whole rounds from the end as fit before ``following``: no call in it waits for a result.

    With ``steady`` a window that leaves older rounds out begins at a round whose number is a multiple of a power of two (at
    most a quarter of its length), so that it begins at the same round for several turns.
    """
    chosen: list[Round] = []
    left = budget
    for round_ in rounds:
        left -= sum(size(message) for message in round_.messages if message.for_model)
        if left < 0:
            # ``fitted`` keeps the end of the newest round even if all of it does not fit.
            chosen = _aligned(chosen) if steady else chosen
            chosen = chosen or [round_]
            break
        chosen.append(round_)
    kept = fitted(chosen, budget, size)
    were, fitting = {message.id: size(message) for message in kept}, paired([*kept, following])[:-1]
    # None counts larger than before it was cut: a caller may have given the count of the whole.
    return [one if size(one) <= were[one.id] else one.changed(tokens=were[one.id]) for one in fitting]


def _aligned(newest_first: list[Round]) -> list[Round]:
    """The rounds without the oldest ones, up to one whose number is a multiple of the step."""
    step = 1
    while step * 2 * _STEADY <= len(newest_first):
        step *= 2
    end = len(newest_first)
    while end and newest_first[end - 1].number % step:
        end -= 1
    return newest_first[:end] or newest_first


_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTERS = 4
_MOST_OF_ONE = 3
_TRIES = 4


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """The shares of the parts in the budget that the system text and the query leave.

    What a part does not use goes to the others. ``steady`` lets the conversation's window begin at the same round for
    several turns, for prompt caches, at the price of up to a quarter of its rounds. Raises ``InvalidInput`` for a share
    below 0, or when all are 0.
    """

    history: float = 5
    memories: float = 3
    documents: float = 1
    profile: float = 1
    steady: bool = True

    def __post_init__(self) -> None:
        parts = (self.history, self.memories, self.documents, self.profile)
        if not all(0 <= part < inf for part in parts) or not 0 < sum(parts) < inf:
            raise InvalidInput(f"shares are numbers of at least 0, and not all 0, not {shown(parts)}")

    def of(self, part: float) -> float:
        """The fraction of a part in the sum of all."""
        return part / (self.history + self.memories + self.documents + self.profile)


class Context(msgspec.Struct, frozen=True):
    """A prompt: its messages, how many tokens they take by the counter, the budget, and the receipt."""

    messages: list[Message]
    tokens: int
    budget: int
    receipt: Receipt

    def openai(self) -> list[Any]:
        """As Chat Completions takes it: dictionaries, which every SDK's own types accept."""
        return to_openai(self.messages)

    def anthropic(self) -> tuple[str | list[Any], list[Any]]:
        """The system prompt and the messages as the Messages API takes them."""
        return to_anthropic(self.messages)

    def text(self) -> str:
        """As the lines of a dialogue."""
        return to_text(self.messages)


def assemble(
    query: str | Message,
    *,
    budget: int,
    history: HistoryReader | None = None,
    recaller: Recaller | None = None,
    profile: str | None = None,
    profile_of: str = "",
    documents: Sequence[Passage] = (),
    system: str | None = None,
    counter: TokenCounter | None = None,
    shares: Shares | None = None,
    limit: int = 20,
    language: str = "en",
    now: datetime | None = None,
    min_relevance: float = MIN_RELEVANCE,
) -> Context:
    """A prompt of at most ``budget`` tokens that ends with ``query``, with as much as fits of what may help to answer it.

    The query may be the latest message of the history, also with tool results after it: then it is not repeated, and
    the prompt ends with that round. At most ``limit`` memories enter, and none with a ``relevance`` below
    ``min_relevance``. ``profile_of`` names the person of the ``profile``, if it is not the user's. With
    ``now`` the frame says what day it is; no clock is read. Raises ``InvalidInput`` when the system text and the query
    alone are over the budget.
    """
    check_count(budget, "budget")
    check_count(limit, "limit")
    check_number(min_relevance, "min_relevance")
    moment = None if now is None else as_utc(now, "now")
    asked = _asked(query, moment)
    count = counter or (default_counter() if history is None else history.counter)
    plan = _Plan(asked, budget, count, shares or Shares(), phrases(language), moment)
    plan.begin(system, history)
    plan.add_profile(profile, label(check_text(profile_of, "profile_of")))
    # What is not relevant takes no place of what is.
    most = max(limit, POOL) if min_relevance and limit else limit
    found = recaller.recall(asked.text, limit=most) if recaller is not None and limit and asked.text.strip() else ()
    relevant = plan.relevant(found, min_relevance)[:limit]
    ids = short_ids([*(id_ for one in relevant for id_ in (one.id, _later(one))), *(one.id for one in documents)])
    plan.candidates += [of_memory(one, place, plan.words, ids) for place, one in enumerate(relevant)]
    plan.candidates += [of_passage(one, place, plan.words, ids) for place, one in enumerate(documents)]
    plan.add_conversation(history)
    plan.add_notes()
    return plan.context(history)


def _asked(query: str | Message, moment: datetime | None) -> Message:
    if not isinstance(query, Message):
        return _made(Role.HUMAN, check_text(query, "a query"), moment)
    if check_message(query).role is not Role.HUMAN or query.hidden:
        raise InvalidInput(f"a query is what a person says to a model, not {shown(query)}")
    return query


def _made(role: Role, text: str, moment: datetime | None) -> Message:
    """A message with an id and a time derived from its content: the same inputs give the same bytes."""
    digest = blake2b(f"{role}:{text}".encode(), digest_size=16).hexdigest()
    return Message(role, (Text(text),), id=digest, time=moment or _LONG_AGO)


class _Plan:
    """A prompt being assembled. ``left`` is how many tokens may still be used."""

    def __init__(
        self, query: Message, budget: int, counter: TokenCounter, shares: Shares, words: Phrases, now: datetime | None
    ) -> None:
        self.query = query
        self.budget = budget
        self.words = words
        self.left = budget
        self._counter = counter
        self._size = counter.count_message
        self._shares = shares
        self._now = now
        self._choice = Choice(query.text, counter.count)
        self._free = 0
        self._rounds: Iterator[Round] = iter(())
        self._latest: Round | None = None
        self.candidates: list[Candidate] = []
        self._start: list[Message] = []
        self._window: list[Message] = []
        self._notes: list[Message] = []
        self._end: list[Message] = [query]
        self._entered: dict[str, list[Entered]] = {part: [] for part in ("start", "window", "notes", "end")}
        self._left_out: list[LeftOut] = []

    def begin(self, system: str | None, history: HistoryReader | None) -> None:
        """Add the system text and the query. Raises ``InvalidInput`` when they do not fit."""
        if history is not None:
            self._rounds = newest_rounds(history, self._size, self.budget)
            latest = next(self._rounds, None)
            if latest is not None and goes_on(latest, self.query):
                self._latest = latest
                self.query = next(message for message in latest.messages if message.for_model)
                self._end = [self.query]
            elif latest is not None:
                self._rounds = chain([latest], self._rounds)
        needed = self._size(self.query)
        if system:
            instructions = _made(Role.SYSTEM, check_text(system, "system"), self._now)
            needed += self._size(instructions)
            self._put_first(instructions, "system", "system")
        if needed > self.budget:
            raise InvalidInput(
                f"the system text and the query take {needed} tokens, more than the budget of {self.budget}"
            )
        self.left = self._free = self.budget - needed
        self._add_preamble(history, system)

    def _put_first(self, message: Message, kind: str, id_: str, *, cut: bool = False) -> None:
        self._start.append(message)
        self._entered["start"].append(Entered(kind, id_, self._size(message), cut=cut))

    def _add_preamble(self, history: HistoryReader | None, system: str | None) -> None:
        """Add the conversation's own instructions, within its share."""
        room = min(self.left, int(self._free * self._shares.of(self._shares.history)))
        for message in [] if history is None else preamble(history):
            size = self._size(message)
            if message.text == system:
                self._left_out.append(LeftOut("message", message.id, "duplicate", "system"))
            elif size > room:
                self._left_out.append(LeftOut("message", message.id, "budget"))
            else:
                self._put_first(message, "message", message.id)
                room -= size
                self.left -= size

    def add_profile(self, profile: str | None, whose: str) -> None:
        """Add the profile, or as many of its first lines as its share allows, but never its title alone.

        Without a name it is the user's.
        """
        text = clean(check_text(profile, "a profile")) if profile else ""
        if not text:
            return
        share = self._free * self._shares.of(self._shares.profile)
        # A small share holds the frame and nothing in it, though what may harm is in the first lines.
        least = min(_WHOLE_PROFILE, self._free // 4) if share else 0
        room = min(self.left, max(int(share), least))

        def fits(some: str) -> bool:
            return self._size(self._profile_of(some, whose)) <= room

        part = _first_lines(text, fits) if "\n" in text else excerpt(text, fits)
        if part is None or ("\n" in text and "\n" not in part):
            self._left_out.append(LeftOut("profile", "profile", "budget"))
            return
        made = self._profile_of(part, whose)
        self._put_first(made, "profile", "profile", cut=part != text)
        self.left -= self._size(made)

    def _profile_of(self, text: str, whose: str) -> Message:
        # As a user message, not a system one: a profile is made of what any speaker said.
        return _made(Role.HUMAN, framed(self.words.profile, quoted(text), whose=whose or self.words.user), None)

    def relevant(self, found: Sequence[RecalledMemory], least: float) -> list[RecalledMemory]:
        """The memories that are relevant enough, also compared with the best one, unless ``least`` is 0.

        A recaller that does not say how relevant they are is trusted.
        """
        relevance = {one.id: float(getattr(one, "relevance", 1.0)) for one in found}
        part = _LEAST_PART_CHINESE if han_share(self.query.text) else _LEAST_PART
        least = max(least, part * max(relevance.values(), default=0.0)) if least else least
        kept = [one for one in found if relevance[one.id] >= least]
        ids = {one.id for one in kept}
        self._left_out += [LeftOut("memory", one.id, "relevance") for one in found if one.id not in ids]
        return kept

    def add_conversation(self, history: HistoryReader | None) -> None:
        """Add the current round and the window before it, within what the candidates leave."""
        room = self.left - self._reserve()
        if history is None or room <= 0:
            return
        if self._latest is not None:
            opening = self._size(self.query)
            self._end = under_way(self._latest, opening + room, self._size)
            used = sum(map(self._size, self._end)) - opening
            room, self.left = room - used, self.left - used
        self._window = window(self._rounds, room, self._size, self.query, steady=self._shares.steady)
        self._entered["window"] = [Entered("message", one.id, self._size(one)) for one in self._window]
        self.left -= sum(map(self._size, self._window))

    def _reserve(self) -> int:
        """The tokens reserved for the candidates: what they need, at most their share, rounded up to quarters of it.

        Rounded, because the window begins at another round for each size, and that would defeat a prompt cache.
        """
        most = self._free * sum(self._share_of(kind) for kind in {one.kind for one in self.candidates})
        costs = [self._choice.cost(one) for one in self.candidates]
        needed = self._frame_cost() + sum(costs)
        # A share that is too small for the shortest candidate would stay unused.
        if not costs or most < self._frame_cost() + min(costs):
            return 0
        return int(most * min(1, ceil(_QUARTERS * needed / most) / _QUARTERS))

    def _share_of(self, kind: str) -> float:
        return self._shares.of(self._shares.memories if kind == "memory" else self._shares.documents)

    def _frame_cost(self) -> int:
        # Seals differ by a few tokens; the final message is counted again.
        return self._size(self._noted([]))

    def add_notes(self) -> None:
        """Add the candidates that fit, without what the conversation says already."""
        shown_already = [*self._start, *self._window, *self._end]
        candidates = distinct(not_shown(self.candidates, shown_already, self._left_out), self._left_out)
        chosen = self._fitting(candidates) if candidates else []
        kept = {(one.kind, one.id) for one, _ in chosen}
        self._left_out += [LeftOut(one.kind, one.id, "budget") for one in candidates if (one.kind, one.id) not in kept]
        if not chosen:
            return
        made = self._noted(chosen)
        ordered = sorted(chosen, key=lambda one: one[0].order)
        entered = [Entered(one.kind, one.id, tokens, one.score, one.signals, one.is_cut) for one, tokens in ordered]
        rest = self._size(made) - sum(tokens for _, tokens in ordered)
        self._notes = [made]
        self._entered["notes"] = [Entered("frame", "", rest), *entered]
        self.left -= self._size(made)

    def _fitting(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, int]]:
        """As many candidates as fit with the frame around them, whose size is known only when it is made."""
        room = self.left - self._frame_cost()
        chosen: list[tuple[Candidate, int]] = []
        for _ in range(_TRIES):
            chosen = self._chosen(candidates, room)
            over = self._size(self._noted(chosen)) - self.left if chosen else 0
            if over <= 0:
                return chosen
            room -= over
        while chosen and self._size(self._noted(chosen)) > self.left:
            chosen = chosen[:-1]
        return chosen

    def _chosen(self, candidates: Sequence[Candidate], room: int) -> list[tuple[Candidate, int]]:
        """First each kind within its share; then what still fits, shortened if necessary."""
        self._choice.chosen = []
        longest = max(0, room // min(_MOST_OF_ONE, len(candidates)))
        kinds = {one.kind for one in candidates}
        total = sum(self._share_of(kind) for kind in kinds) or 1
        waiting: list[Candidate] = []
        for kind in sorted(kinds, reverse=True):
            mine = [one for one in candidates if one.kind == kind]
            waiting += self._choice.fill(mine, int(room * self._share_of(kind) / total), longest, cut=False)
        room -= sum(cost for _, cost in self._choice.chosen)
        self._choice.fill(waiting, room, room, cut=True)
        return self._choice.chosen

    def _noted(self, chosen: Sequence[tuple[Candidate, int]]) -> Message:
        """The message with the recalled texts: documents first, then memories by time."""
        ordered = sorted((one for one, _ in chosen), key=lambda one: one.order)
        body = "\n".join(one.written(number) for number, one in enumerate(ordered, 1))
        head = self.words.notes
        if self._now is not None:
            head = self.words.today.format(day=self._now.date().isoformat()) + head
        return _made(Role.HUMAN, framed(head, body, self.query.text), None)

    def context(self, history: HistoryReader | None) -> Context:
        """The prompt and its receipt."""
        messages = [*self._start, *self._window, *self._notes, *self._end]
        first, *steps = self._end
        self._entered["end"] = [
            Entered("query", first.id, self._size(first)),
            *(Entered("message", one.id, self._size(one)) for one in steps),
        ]
        info = None if history is None else history.info()
        shown_of_it = sum(one.index is not None for one in messages)
        receipt = Receipt(
            budget=self.budget,
            tokens=sum(map(self._size, messages)),
            encoding=self._counter.encoding,
            digest=sha256(msgspec.json.encode(to_openai(messages))).hexdigest(),
            entered=tuple(chain.from_iterable(self._entered.values())),
            left_out=tuple(self._left_out),
            thread="" if history is None else history.thread.id,
            earlier=0 if info is None else max(0, info.messages - shown_of_it),
            now=self._now,
        )
        return Context(messages, receipt.tokens, self.budget, receipt)


@wraps(assemble)
async def aassemble(*args: Any, **options: Any) -> Context:
    """The async twin of ``assemble``."""
    return await run_blocking(partial(assemble, *args, **options))
