"""Cognition: working, episodic, semantic and procedural memory over one long-term memory, and recall from all four."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.cognition import episodic, procedural, semantic
from memwell.cognition.episodic import EpisodicMemory, as_episode, is_turn
from memwell.cognition.named import enough_of
from memwell.cognition.procedural import ProceduralMemory, as_procedure, is_procedure
from memwell.cognition.semantic import SemanticMemory
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.language.asking import coverage, only_asks
from memwell.language.words import en_or_zh
from memwell.longterm.gate import fingerprint
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.recall import Recalled
from memwell.values import check_count, check_id, check_text, is_finite, now, shown

WORKING, EPISODIC, SEMANTIC, PROCEDURAL = "working", "episodic", "semantic", "procedural"
_MEMORIES = {episodic.KIND: EPISODIC, semantic.KIND: SEMANTIC, procedural.KIND: PROCEDURAL}
_TEMPERATURE = 0.1
"""Scores lie between 0 and about 0.35: at this temperature a good hit has several times the weight of a poor one."""
_IN_MIND = 0.35  # The score of an item in working memory that covers the whole query: that of the best hit of a recall
_UNASKED = 0.1  # The share of that score for an item that covers nothing of the query
_SAID = frozenset((WORKING, EPISODIC))  # The memories that may hold questions
_ASKED = 0.5  # An earlier question has at most this share of the lowest score of an answer
_LOOKED_AT = 4000  # Characters of an item and of a query that are compared
_MOST_USERS = 256  # Users whose working memory is held; the least recently used goes first


class Weighted(msgspec.Struct, frozen=True):
    """A result from one of the four memories, with its share of the attention."""

    kind: str
    """``working``, ``episodic``, ``semantic`` or ``procedural``."""
    id: str
    """The id of the memory; empty for an item that is in working memory only."""
    text: str
    score: float
    weight: float
    why: str


class Cognition:
    """Working, episodic, semantic and procedural memory over one long-term memory.

    All but working memory is kept in ``memory``, as memories of the kinds ``episode``, ``concept`` and ``procedure``.
    Raises ``InvalidInput`` for what is no open memory, and for a capacity below 1.
    """

    def __init__(self, memory: MemoryLike, *, capacity: int = 7, half_life_s: float = 300.0) -> None:
        self.memory = memory = as_memory(memory)
        self.working = WorkingMemory(capacity, half_life_s=half_life_s, clock=memory.clock)
        self.episodic = EpisodicMemory(memory)
        self.semantic = SemanticMemory(memory)
        self.procedural = ProceduralMemory(memory)
        self._of_users: OrderedDict[str, WorkingMemory] = OrderedDict()
        self._lock = threading.Lock()

    def working_of(self, user: str | None = None) -> WorkingMemory:
        """The working memory of the conversation with a user; without a user it is ``working``."""
        if not user:
            return self.working
        check_id(user, "a user")
        with self._lock:
            held = self._of_users.get(user)
            if held is None:
                shape = self.working
                held = WorkingMemory(shape.capacity, half_life_s=shape.half_life_s, clock=self.memory.clock)
                self._of_users[user] = held
            self._of_users.move_to_end(user)
            while len(self._of_users) > _MOST_USERS:
                self._of_users.popitem(last=False)
        return held

    def recall(
        self,
        query: str,
        limit: int = 5,
        *,
        user: str | None = None,
        kinds: str | Iterable[str] | None = None,
        temperature: float = _TEMPERATURE,
    ) -> list[Weighted]:
        """What answers a query, the highest weight first. The weights add up to 1.

        A ``user`` recalls their own turns, episodes and concepts and those of no user; ``""`` is a user without a name,
        None is all users. ``kinds`` names the memories to ask; None is all four. Raises ``InvalidInput`` for a query,
        limit, kind or temperature that breaks a rule.
        """
        check_text(query, "a query")
        check_count(limit, "limit")
        check_temperature(temperature)
        wanted = _checked_kinds(kinds)
        language = en_or_zh(query)
        found = [one for kind in _MEMORIES.values() if kind in wanted for one in self._kept(kind, query, limit, user)]
        results = [_weighted(hit, belief, language) for hit, belief in found]
        if WORKING in wanted:
            results += self._in_mind(query, user, language)
        turns = {hit.id for hit, _ in found if is_turn(hit)} | {one.id for one in results if one.kind == WORKING}
        said_again = {one.id for one in results if one.id in turns and fingerprint(one.text) == fingerprint(query)}
        if EPISODIC in wanted:
            asked = self.episodic.hits(query, limit, None if user is None else _open_to(user), asking=True)
            results += [_weighted(hit, 1.0, language) for hit in asked]
        chosen = answers_first(results, said_again - {""})[:limit]
        weights = softmax([one.score for one in chosen], temperature)
        return [replace(one, weight=weight) for one, weight in zip(chosen, weights, strict=True)]

    def _kept(self, kind: str, query: str, limit: int, user: str | None) -> list[tuple[Recalled, float]]:
        """The hits of one memory, each with its confidence or success rate."""
        if kind == SEMANTIC:
            return [(hit, concept.confidence) for hit, concept in self.semantic.hits(query, limit, user=user)]
        if kind == PROCEDURAL:
            found = self.memory.recall(query, kinds=procedural.KIND, limit=limit)
            return [(hit, as_procedure(hit).success_rate.value) for hit in found if is_procedure(hit)]
        where = None if user is None else _open_to(user)
        said = enough_of(lambda most: self.episodic.hits(query, most, where), _distinct, limit)
        return [(hit, 1.0) for hit in said]

    def _in_mind(self, query: str, user: str | None, language: str) -> list[Weighted]:
        working = self.working_of(user)
        for held in working.active():
            if held.source and not self._is_there(held.source):
                # It was forgotten or erased.
                working.drop(held.item)
        found = thoughts(working, query, language)
        if working is not self.working:
            # What the program put in mind is for everyone; turns, which have an id, are not.
            found += [one for one in thoughts(self.working, query, language) if not one.id]
        return found

    def _is_there(self, id_: str) -> bool:
        try:
            self.memory.get(id_)
        except NotFound:
            return False
        return True

    arecall = asyncify(recall)


def thoughts(working: WorkingMemory, query: str, language: str = "en") -> list[Weighted]:
    """The items of working memory, scored by their activation and how much of the query they cover."""
    found: list[Weighted] = []
    for held in working.active():
        text = str(held.item)
        share = coverage(query[:_LOOKED_AT], text[:_LOOKED_AT])
        score = _IN_MIND * min(held.activation, 1.0) * (_UNASKED + (1 - _UNASKED) * share)
        found.append(Weighted(WORKING, held.source, text, score, 0.0, _why_in_mind(held, share, language)))
    return found


def answers_first(found: Iterable[Weighted], said_again: Container[str] = ()) -> list[Weighted]:
    """Results with the best first and each text once; texts that only ask, or are ``said_again``, come last.

    An earlier question is no answer, however alike the two are: it scores less than any answer.
    """
    best: dict[str, Weighted] = {}
    # The turn that is in mind is an episode too.
    for one in sorted(found, key=lambda one: -one.score):
        best.setdefault(fingerprint(one.text), one)
    asking = {key for key, one in best.items() if one.kind in _SAID and (one.id in said_again or only_asks(one.text))}
    answers = [one for key, one in best.items() if key not in asking]
    asked = [best[key] for key in best if key in asking]
    if answers:
        least = min(one.score for one in answers)
        asked = [replace(one, score=_ASKED * min(one.score, least)) for one in asked]
    return answers + asked


def _distinct(found: Sequence[Recalled]) -> list[Recalled]:
    """Each text once."""
    first: dict[str, Recalled] = {}
    for one in found:
        first.setdefault(fingerprint(one.text), one)
    return list(first.values())


def _weighted(hit: Recalled, belief: float, language: str) -> Weighted:
    score = hit.score * (1 + belief) / 2
    return Weighted(_MEMORIES[hit.kind], hit.id, _text_of(hit), score, 0.0, hit.why(language=language))


def _checked_kinds(kinds: object) -> frozenset[str]:
    known = frozenset((WORKING, *_MEMORIES.values()))
    if kinds is None:
        return known
    named = (kinds,) if isinstance(kinds, str) else kinds
    given = frozenset(cast("Iterable[object]", named)) if isinstance(named, Iterable) else frozenset((named,))
    if given - known:
        raise InvalidInput(f"kinds must be some of {', '.join(sorted(known))}, not {shown(kinds)}")
    return cast("frozenset[str]", given)


def _open_to(user: str) -> Filter:
    """A filter for the episodes that a user may recall: their own, and those of no user that are no turns.

    A user without a name recalls the turns of those without one.
    """
    unsigned: Filter = Not(Where(("memwell", "speaker"), "exists"))
    if not user:
        return unsigned
    said = Where((episodic.KIND, "turn"), "eq", True)
    return AnyOf((episodic.of_user(user), AllOf((unsigned, Not(said)))))


def _text_of(hit: Recalled) -> str:
    """The text of a memory; that of an episode with its context in brackets."""
    if hit.kind != episodic.KIND:
        return hit.text
    episode = as_episode(hit)
    return f"{episode.event} ({episode.context})" if episode.context else episode.event


def _why_in_mind(held: Active, share: float, language: str) -> str:
    if language == "zh":
        return f"正在注意（{held.activation:.2f}）" + (f"；提到所问的 {share:.0%}" if share else "")
    return f"in mind ({held.activation:.2f})" + (f"; speaks of {share:.0%} of what is asked" if share else "")


# Working memory: a few items in the process, ranked by attention that decays with time; and softmax over scores.

MOST_ATTENTION = 1000.0
"""No item has more attention than this."""
_WIDEST = 745.0  # beyond this a power of e is 0


def check_temperature(value: object) -> float:
    """The value, if it is a finite number above 0. Raises ``InvalidInput``."""
    if not is_finite(value) or value <= 0:
        raise InvalidInput(f"a temperature must be a number above 0, not {shown(value)}")
    return value


def softmax(scores: Sequence[float], temperature: float = 1.0) -> list[float]:
    """A weight for every score, in order; the weights add up to 1, and a higher score never has a lower weight.

    The lower the ``temperature``, the more weight the best score has. Raises ``InvalidInput`` for a score that is no finite
    number, and for a temperature that is not above 0.
    """
    check_temperature(temperature)
    for score in scores:
        if not is_finite(score):
            raise InvalidInput(f"a score must be a finite number, not {shown(score)}")
    top = max(scores, default=0.0)
    powers = [math.exp(max(-_WIDEST, (score - top) / temperature)) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]


class Active(msgspec.Struct, frozen=True):
    """An item of working memory: its attention, when that was given, and its activation now."""

    item: Any
    attention: float
    since: datetime
    activation: float = 0.0
    """Its attention, halved with every half-life since it was last attended to."""
    source: str = ""
    """The id of the memory that it was taken from, if any."""


class WorkingMemory:
    """At most ``capacity`` items; a new one evicts the least active. It lives in the process and is safe for threads.

    Raises ``InvalidInput`` for a capacity below 1 and a half-life that is not above 0.
    """

    def __init__(self, capacity: int = 7, *, half_life_s: float = 300.0, clock: Callable[[], datetime] = now) -> None:
        self.capacity = check_count(capacity, "capacity", least=1)
        if not is_finite(half_life_s) or half_life_s <= 0:
            raise InvalidInput(f"half_life_s must be a number of seconds above 0, not {shown(half_life_s)}")
        self.half_life_s = half_life_s
        self._clock = clock
        self._held: list[Active] = []
        self._lock = threading.Lock()

    def add(self, item: Any, attention: float = 1.0, *, source: str = "") -> Any | None:
        """Add an item, and return the one it evicted, or None.

        An item that is held already is refreshed, and evicts none. Raises ``InvalidInput`` for an attention that is not
        from 0 to 1,000.
        """
        if not is_finite(attention) or not 0 <= attention <= MOST_ATTENTION:
            raise InvalidInput(f"attention must be a number from 0 to {MOST_ATTENTION:g}, not {shown(attention)}")
        with self._lock:
            moment = self._clock()
            known = self._place(item)
            if known is not None:
                before = self._held.pop(known)
                attention = max(attention, self._activation(before, moment))
                source = source or before.source
            evicted = None
            if len(self._held) >= self.capacity:
                # min takes the first of equals, which was added longest ago.
                least = min(range(len(self._held)), key=lambda at: self._activation(self._held[at], moment))
                evicted = self._held.pop(least).item
            self._held.append(Active(item, attention, moment, source=source))
        return evicted

    def attend(self, item: Any, amount: float = 1.0) -> Active:
        """Give an item more attention, or less with an amount below 0, and return it.

        Raises ``NotFound`` for an item that is not held, ``InvalidInput`` for an amount that is no finite number.
        """
        if not is_finite(amount):
            raise InvalidInput(f"an amount of attention must be a finite number, not {shown(amount)}")
        with self._lock:
            place = self._place(item)
            if place is None:
                raise NotFound(f"{shown(item)} is not in working memory")
            moment = self._clock()
            level = min(max(self._activation(self._held[place], moment) + amount, 0.0), MOST_ATTENTION)
            self._held[place] = replace(self._held[place], attention=level, since=moment)
            return replace(self._held[place], activation=level)

    def active(self, limit: int | None = None) -> list[Active]:
        """The items, the most active first, of equals the latest."""
        if limit is not None:
            check_count(limit, "limit")
        with self._lock:
            moment = self._clock()
            held = [replace(one, activation=self._activation(one, moment)) for one in reversed(self._held)]
        return sorted(held, key=lambda one: -one.activation)[:limit]

    def items(self) -> list[Any]:
        """The items in the order in which they were last added."""
        with self._lock:
            return [one.item for one in self._held]

    def drop(self, item: Any) -> bool:
        """Remove an item. Returns whether it was held."""
        with self._lock:
            place = self._place(item)
            if place is not None:
                del self._held[place]
        return place is not None

    def clear(self) -> None:
        """Remove all items."""
        with self._lock:
            self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, item: object) -> bool:
        with self._lock:
            return self._place(item) is not None

    def _place(self, item: object) -> int | None:
        for place, one in enumerate(self._held):
            # An array answers a comparison with an array, which is neither true nor false.
            if one.item is item or (type(one.item) is type(item) and cast(object, one.item == item) is True):
                return place
        return None

    def _activation(self, one: Active, moment: datetime) -> float:
        # A clock that was set back makes nothing more active.
        age = max(0.0, (moment - one.since).total_seconds())
        return one.attention * 0.5 ** (age / self.half_life_s)
