"""The four memories together: what is in mind, what happened, what things are and how they are done."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Container, Iterable, Sequence
from typing import cast

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.cognition import episodic, procedural, semantic
from memwell.cognition.attention import check_temperature, softmax
from memwell.cognition.episodic import EpisodicMemory, as_episode, is_turn
from memwell.cognition.matching import coverage, enough_of, only_asks
from memwell.cognition.procedural import ProceduralMemory, as_procedure, is_procedure
from memwell.cognition.semantic import SemanticMemory
from memwell.cognition.working import Active, WorkingMemory
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.language.detect import language_of
from memwell.longterm.gate import fingerprint
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.values import check_count, check_id, check_text, shown

WORKING, EPISODIC, SEMANTIC, PROCEDURAL = "working", "episodic", "semantic", "procedural"
_MEMORIES = {episodic.KIND: EPISODIC, semantic.KIND: SEMANTIC, procedural.KIND: PROCEDURAL}
_TEMPERATURE = 0.1
"""Scores of a recall lie between 0 and about 0.35: at this temperature a good hit has several times a poor one's weight."""
_IN_MIND = 0.35
"""The score of something in mind that speaks of all that is asked: as much as the best hit of a recall."""
_UNASKED = 0.1
"""The part of it that what is in mind has when it speaks of something else."""
_SAID = frozenset((WORKING, EPISODIC))
"""The memories that hold questions."""
_ASKED = 0.5
"""A question that was asked before has at most this much of the least of the answers."""
_LOOKED_AT = 4000
"""So much of an item and of a query is compared, in characters."""
_MOST_USERS = 256
"""Of so many users working memories are held at a time; that of the one longest silent goes first."""


class Weighted(msgspec.Struct, frozen=True):
    """Something recalled from one of the four memories, and its share of the attention."""

    kind: str
    """``working``, ``episodic``, ``semantic`` or ``procedural``."""
    id: str
    """The id of the memory; empty for what is only in mind."""
    text: str
    score: float
    weight: float
    why: str


class Cognition:
    """Working, episodic, semantic and procedural memory over one long-term memory.

    Everything but what is in mind is kept in ``memory``, as memories of the kinds ``episode``, ``concept`` and
    ``procedure``. Raises ``InvalidInput`` for what is no open memory, and for a capacity below 1.
    """

    def __init__(self, memory: Memory, *, capacity: int = 7, half_life_s: float = 300.0) -> None:
        if not isinstance(memory, Memory):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"memory must be an open memory, as memwell.open(path) returns, not {shown(memory)}")
        self.memory = memory
        self.working = WorkingMemory(capacity, half_life_s=half_life_s, clock=memory.clock)
        self.episodic = EpisodicMemory(memory)
        self.semantic = SemanticMemory(memory)
        self.procedural = ProceduralMemory(memory)
        self._of_users: OrderedDict[str, WorkingMemory] = OrderedDict()
        self._lock = threading.Lock()

    def working_of(self, user: str | None = None) -> WorkingMemory:
        """What is in mind in the talk with a user. Nobody's is ``working``, and none shows in another's."""
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
        """What the memories have to say to a query, the weightiest first. The weights add up to 1.

        With a ``user`` it is what they said, did and taught, and what is nobody's in particular; ``""`` is somebody who has
        no name, None is everybody. ``kinds`` names the memories to ask; None is all four. Raises ``InvalidInput`` for a
        query, limit, kind or temperature that breaks a rule.
        """
        check_text(query, "a query")
        check_count(limit, "limit")
        check_temperature(temperature)
        wanted = _checked_kinds(kinds)
        language = "zh" if language_of(query) == "zh" else "en"
        found = [one for kind in _MEMORIES.values() if kind in wanted for one in self._kept(kind, query, limit, user)]
        told = [_weighted(hit, belief, language) for hit, belief in found]
        if WORKING in wanted:
            told += self._in_mind(query, user, language)
        asked: list[Weighted] = []
        if EPISODIC in wanted:
            asked = [_weighted(hit, 1.0, language) for hit in self._asked(query, limit, user)]
        turns = {hit.id for hit, _ in found if is_turn(hit)} | {
            one.id for one in told if one.kind == WORKING and one.id
        }
        said_again = {one.id for one in told if one.id in turns and fingerprint(one.text) == fingerprint(query)}
        chosen = answers_first([*told, *asked], said_again)[:limit]
        weights = softmax([one.score for one in chosen], temperature)
        return [replace(one, weight=weight) for one, weight in zip(chosen, weights, strict=True)]

    def _kept(self, kind: str, query: str, limit: int, user: str | None) -> list[tuple[Recalled, float]]:
        """What one of the memories has to say, each with how sure it is. None takes the place of another's."""
        if kind == SEMANTIC:
            return [(hit, concept.confidence) for hit, concept in self.semantic.hits(query, limit, user=user)]
        if kind == PROCEDURAL:
            found = self.memory.recall(query, kinds=procedural.KIND, limit=limit)
            return [(hit, as_procedure(hit).success_rate.value) for hit in found if is_procedure(hit)]
        where = None if user is None else _open_to(user)
        said = enough_of(lambda most: self.episodic.hits(query, most, where), _distinct, limit)
        return [(hit, 1.0) for hit in said]

    def _asked(self, query: str, limit: int, user: str | None) -> list[Recalled]:
        return self.episodic.hits(query, limit, None if user is None else _open_to(user), asking=True)

    def _in_mind(self, query: str, user: str | None, language: str) -> list[Weighted]:
        working = self.working_of(user)
        for held in working.active():
            if held.source and not self._is_there(held.source):
                # Whoever has forgotten or erased it does not want to hear of it.
                working.drop(held.item)
        return thoughts(working, query, language)

    def _is_there(self, id_: str) -> bool:
        try:
            self.memory.get(id_)
        except NotFound:
            return False
        return True

    arecall = asyncify(recall)


def thoughts(working: WorkingMemory, query: str, language: str = "en") -> list[Weighted]:
    """What is in mind, by how active it is and how much of the query it speaks of. Nothing is weighed yet."""
    found: list[Weighted] = []
    for held in working.active():
        text = str(held.item)
        share = coverage(query[:_LOOKED_AT], text[:_LOOKED_AT])
        score = _IN_MIND * min(held.activation, 1.0) * (_UNASKED + (1 - _UNASKED) * share)
        found.append(Weighted(WORKING, held.source, text, score, 0.0, _why_in_mind(held, share, language)))
    return found


def answers_first(found: Iterable[Weighted], said_again: Container[str] = ()) -> list[Weighted]:
    """What was found, the best first and each text once; what only asks something, or is ``said_again``, comes last.

    A question that was asked before is no answer, however alike the two are: it has less than any answer.
    """
    best: dict[str, Weighted] = {}
    # The turn that is in mind is an episode too.
    for one in sorted(found, key=lambda one: -one.score):
        best.setdefault(fingerprint(one.text), one)
    asking = {key for key, one in best.items() if one.kind in _SAID and (one.id in said_again or only_asks(one.text))}
    told = [one for key, one in best.items() if key not in asking]
    least = min((one.score for one in told), default=None)
    asked = [best[key] for key in best if key in asking]
    if least is not None:
        asked = [replace(one, score=_ASKED * min(one.score, least)) for one in asked]
    return told + asked


def _distinct(found: Sequence[Recalled]) -> list[Recalled]:
    """Each text once: what is said again and again is one thing."""
    first: dict[str, Recalled] = {}
    for one in found:
        first.setdefault(fingerprint(one.text), one)
    return list(first.values())


def _weighted(hit: Recalled, belief: float, language: str) -> Weighted:
    # What has shown to be wrong or to fail has less to say.
    score = hit.score * (1 + belief) / 2
    return Weighted(_MEMORIES[hit.kind], hit.id, _told(hit), score, 0.0, hit.why(language=language))


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
    """A filter for the episodes that a user may hear of: their own, and what is nobody's and was not said in a turn.

    Somebody without a name hears of the turns of those without one.
    """
    unsigned: Filter = Not(Where(("memwell", "speaker"), "exists"))
    if not user:
        return unsigned
    said = Where((episodic.KIND, "turn"), "eq", True)
    return AnyOf((episodic.of_user(user), AllOf((unsigned, Not(said)))))


def _told(hit: Recalled) -> str:
    """The text of a memory as it is told: that of an episode as it was stored, with its context."""
    if hit.kind != episodic.KIND:
        return hit.text
    episode = as_episode(hit)
    return f"{episode.event} ({episode.context})" if episode.context else episode.event


def _why_in_mind(held: Active, share: float, language: str) -> str:
    if language == "zh":
        return f"正在注意（{held.activation:.2f}）" + (f"；提到所问的 {share:.0%}" if share else "")
    return f"in mind ({held.activation:.2f})" + (f"; speaks of {share:.0%} of what is asked" if share else "")
