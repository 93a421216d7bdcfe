"""Assembles a prompt: each part gets a share of the token budget, and what it leaves goes to the other parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from itertools import chain
from math import ceil, inf
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from memwell._asyncify import run_blocking
from memwell.errors import InvalidInput
from memwell.history import HistoryReader
from memwell.language.quoting import clean, quoted
from memwell.longterm.relevance import MIN_RELEVANCE
from memwell.messages import Message, Role, Text, check_message
from memwell.records import paged
from memwell.runtime.context.choosing import (
    Candidate,
    Choice,
    Entered,
    LeftOut,
    Passage,
    Phrases,
    RecalledMemory,
    Recaller,
    Receipt,
    distinct,
    excerpt,
    framed,
    label,
    not_shown,
    of_memory,
    of_passage,
    phrases,
)
from memwell.tokens import TokenCounter, default_counter
from memwell.transcript import to_anthropic, to_openai, to_text
from memwell.values import as_utc, check_count, check_number, check_text, shown
from memwell.windows import Round, Size, fitted, paired, whole

_WHOLE_PROFILE = 200
"""Tokens that most profiles fit into."""
_BLOCK = 64
_FEW = 4
_MOST_BEFORE_ROUNDS = 256
_MOST_IN_ROUND = 10_000
_RESULTS = frozenset({Role.TOOL, Role.FUNCTION})
_WAITING = frozenset({Role.HUMAN, Role.TOOL, Role.FUNCTION})
_STEADY = 4


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
    for message in _newest_first(history):
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


def _newest_first(history: HistoryReader) -> Iterator[Message]:
    return paged(lambda cursor: history.page(limit=_BLOCK, cursor=cursor, newest_first=True))


def _opened(history: HistoryReader, end: list[Message]) -> list[Message]:
    """The opening message of a round and its end, without leading tool results whose calls are cut off."""
    opening = _opening(history, end[0])
    if opening is None or opening.index == end[0].index:
        return end
    while end and end[0].role in _RESULTS:
        end = end[1:]
    return [opening, *end]


def _opening(history: HistoryReader, inside: Message) -> Message | None:
    """The first message of the round that is no view, found by bisection, as round numbers rise with the indexes."""
    low, high = 0, inside.index or 0
    while low < high:
        middle = (low + high) // 2
        found = history.log.read(history.thread, first=1, after=middle - 1)
        if found and (found[0].round or 0) < (inside.round or 0):
            low = (found[0].index or 0) + 1
        else:
            high = middle
    first = history.log.read(history.thread, first=_FEW, after=low - 1)
    return next((one for one in first if one.role is not Role.VIEW and one.round == inside.round), None)


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
    return _no_larger(paired([*kept, following])[:-1], kept, size)


def _aligned(newest_first: list[Round]) -> list[Round]:
    """The rounds without the oldest ones, up to one whose number is a multiple of the step."""
    step = 1
    while step * 2 * _STEADY <= len(newest_first):
        step *= 2
    end = len(newest_first)
    while end and newest_first[end - 1].number % step:
        end -= 1
    return newest_first[:end] or newest_first


def _no_larger(messages: Sequence[Message], before: Sequence[Message], size: Size) -> list[Message]:
    """The messages, none counted larger than before it was cut: a caller may have given the count of the whole."""
    were = {message.id: size(message) for message in before}
    return [one if size(one) <= were[one.id] else one.changed(tokens=were[one.id]) for one in messages]


P = ParamSpec("P")
T = TypeVar("T")

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTERS = 4
_MOST_OF_ONE = 3
_TRIES = 4
DEFAULT_LIMIT = 20


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

    def openai(self) -> list[dict[str, Any]]:
        """As Chat Completions takes it."""
        return to_openai(self.messages)

    def anthropic(self) -> tuple[str | list[dict[str, Any]], list[dict[str, Any]]]:
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
    limit: int = DEFAULT_LIMIT,
    language: str = "en",
    now: datetime | None = None,
    min_relevance: float = MIN_RELEVANCE,
) -> Context:
    """A prompt of at most ``budget`` tokens that ends with ``query``, with as much as fits of what may help to answer it.

    The query may be the latest message of the history, also with tool results after it: then it is not repeated, and
    the prompt ends with that round. At most ``limit`` memories are recalled; those with a ``relevance`` below
    ``min_relevance`` do not enter. ``profile_of`` names the person of the ``profile``, if it is not the user's. With
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
    found = recaller.recall(asked.text, limit=limit) if recaller is not None and limit and asked.text.strip() else ()
    plan.consider([of_memory(one, place, plan.words) for place, one in enumerate(plan.relevant(found, min_relevance))])
    plan.consider([of_passage(one, place, plan.words) for place, one in enumerate(documents)])
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
        self,
        query: Message,
        budget: int,
        counter: TokenCounter,
        shares: Shares,
        words: Phrases,
        now: datetime | None,
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
        self._candidates: list[Candidate] = []
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

    def _put_first(self, message: Message, kind: str, id_: str) -> None:
        self._start.append(message)
        self._entered["start"].append(Entered(kind, id_, self._size(message)))

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
        part = excerpt(text, lambda some: self._size(self._profile_of(some, whose)) <= room)
        if part is None or ("\n" in text and "\n" not in part):
            self._left_out.append(LeftOut("profile", "profile", "budget"))
            return
        made = self._profile_of(part, whose)
        self._start.append(made)
        self._entered["start"].append(Entered("profile", "profile", self._size(made), cut=part != text))
        self.left -= self._size(made)

    def _profile_of(self, text: str, whose: str) -> Message:
        # As a user message, not a system one: a profile is made of what any speaker said.
        return _made(Role.HUMAN, framed(self.words.profile, quoted(text), whose=whose or self.words.user), None)

    def relevant(self, found: Sequence[RecalledMemory], least: float) -> list[RecalledMemory]:
        """The memories that are relevant enough; a recaller that does not say how relevant they are is trusted."""
        kept = [one for one in found if getattr(one, "relevance", 1.0) >= least]
        ids = {one.id for one in kept}
        self._left_out += [LeftOut("memory", one.id, "relevance") for one in found if one.id not in ids]
        return kept

    def consider(self, candidates: Iterable[Candidate]) -> None:
        """Add recalled memories or passages as candidates."""
        self._candidates += candidates

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
        most = self._free * sum(self._share_of(kind) for kind in {one.kind for one in self._candidates})
        costs = [self._choice.cost(one) for one in self._candidates]
        needed = self._frame_cost() + sum(costs)
        # A share that is too small for the shortest candidate would stay unused.
        if not costs or most < self._frame_cost() + min(costs):
            return 0
        return int(most * min(1, ceil(_QUARTERS * needed / most) / _QUARTERS))

    def _share_of(self, kind: str) -> float:
        return self._shares.of(self._shares.memories if kind == "memory" else self._shares.documents)

    def _frame_cost(self) -> int:
        # With any seal: they differ by a few tokens, and the final message is counted again.
        return self._size(self._noted([]))

    def add_notes(self) -> None:
        """Add the candidates that fit, without what the conversation says already."""
        shown_already = [*self._start, *self._window, *self._end]
        candidates = distinct(not_shown(self._candidates, shown_already, self._left_out), self._left_out)
        chosen = self._fitting(candidates) if candidates else []
        kept = {(one.kind, one.id) for one, _ in chosen}
        self._left_out += [LeftOut(one.kind, one.id, "budget") for one in candidates if (one.kind, one.id) not in kept]
        if chosen:
            self._put_notes(chosen)

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

    def _put_notes(self, chosen: Sequence[tuple[Candidate, int]]) -> None:
        made = self._noted(chosen)
        ordered = sorted(chosen, key=lambda one: one[0].order)
        entered = [Entered(one.kind, one.id, tokens, one.score, one.signals, one.is_cut) for one, tokens in ordered]
        rest = self._size(made) - sum(tokens for _, tokens in ordered)
        self._notes = [made]
        self._entered["notes"] = [Entered("frame", "", rest), *entered]
        self.left -= self._size(made)

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
        receipt = Receipt(
            budget=self.budget,
            tokens=sum(map(self._size, messages)),
            encoding=self._counter.encoding,
            digest=sha256(msgspec.json.encode(to_openai(messages))).hexdigest(),
            entered=tuple(chain.from_iterable(self._entered.values())),
            left_out=tuple(self._left_out),
            thread="" if history is None else history.thread.id,
            earlier=0 if history is None else self._earlier(history, messages),
            now=self._now,
        )
        return Context(messages, receipt.tokens, self.budget, receipt)

    def _earlier(self, history: HistoryReader, messages: Sequence[Message]) -> int:
        info = history.info()
        return max(0, info.messages - sum(one.index is not None for one in messages)) if info else 0


def _twin(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    @functools.wraps(call)
    async def twin(*args: P.args, **options: P.kwargs) -> T:
        return await run_blocking(functools.partial(call, *args, **options))

    twin.__name__ = f"a{call.__name__}"
    return twin


aassemble = _twin(assemble)
