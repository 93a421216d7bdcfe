"""Procedural memory: steps with their preconditions and their success rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.cognition.named import (
    Belief,
    Draft,
    NamedMemories,
    check_name,
    check_texts,
    holds_in,
    keeps,
    why_of,
    without_secrets,
)
from memwell.errors import InvalidInput, NotFound
from memwell.language.asking import coverage
from memwell.language.words import language_of
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.recall import Recalled
from memwell.values import check_count, check_flag, check_text, shown

KIND = "procedure"
NEEDS = {"en": "Needs: ", "zh": "前提："}
"""How the line of preconditions begins in the text of a procedure."""
MOST_OUTCOMES = 64
"""The latest outcomes that are kept; all are counted."""
_UNREADY = 0.1  # The readiness of a procedure none of whose preconditions is met
_ALIKE = 0.35  # Texts with a lower cosine have little to do with each other


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a procedure went once."""

    success: bool
    time: datetime
    note: str = ""


class SuccessRate(msgspec.Struct, frozen=True):
    """The estimated success rate of a procedure, and the outcomes that it rests on."""

    value: float
    """``(successes + 1) / (observations + 2)``; a half before the first try."""
    successes: int
    failures: int

    @property
    def observations(self) -> int:
        """How often it was tried."""
        return self.successes + self.failures

    def in_words(self, language: str = "en") -> str:
        """In words, in English or Chinese."""
        chinese = language == "zh"
        if not self.observations:
            return "还没有试过" if chinese else "not tried yet"
        if chinese:
            return f"{self.observations} 次中成功 {self.successes} 次（估计 {self.value:.0%}）"
        return f"went well {self.successes} of {self.observations} times (estimated {self.value:.0%})"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.in_words()


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metadata of a procedure."""

    name: str
    steps: tuple[str, ...]
    preconditions: tuple[str, ...] = ()
    belief: Belief = Belief()
    outcomes: tuple[Outcome, ...] = ()


class Procedure(msgspec.Struct, frozen=True):
    """The steps of something, and how often they succeeded."""

    id: str
    name: str
    steps: tuple[str, ...]
    preconditions: tuple[str, ...]
    success_rate: SuccessRate
    outcomes: tuple[Outcome, ...]
    time: datetime
    score: float = 0.0
    why: str = ""


class Suggestion(msgspec.Struct, frozen=True):
    """A procedure for a situation. ``score`` is ``relevance`` times ``readiness`` times the success rate."""

    procedure: Procedure
    score: float
    relevance: float
    readiness: float
    matched: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether every precondition is met."""
        return not self.missing

    def in_words(self, language: str = "en") -> str:
        """In words, in English or Chinese."""
        rate = self.procedure.success_rate.in_words(language)
        if language == "zh":
            missing = f"；还缺：{'、'.join(self.missing)}" if self.missing else "；条件都已满足"
            return f"{self.procedure.name}：{rate}{missing}"
        missing = f"; missing: {', '.join(self.missing)}" if self.missing else "; everything it needs is there"
        return f"{self.procedure.name}: {rate}{missing}"


class ProceduralMemory:
    """The procedures of a memory, one for each name. Every method has an async twin with an ``a`` in front."""

    def __init__(self, memory: MemoryLike) -> None:
        self.memory = as_memory(memory)
        self._named = NamedMemories(self.memory, KIND, _Kept)

    def store(self, name: str, steps: Iterable[str], preconditions: Iterable[str] = ()) -> Procedure:
        """Store the steps of something. New steps replace the old ones and reset the outcomes.

        Raises ``InvalidInput`` when there are no steps, and for texts that break a rule.
        """
        called, done = check_name(name, "a procedure's name"), check_texts(steps, "steps")
        needed = check_texts(preconditions, "preconditions")
        if not done:
            raise InvalidInput(f"the procedure {shown(called)} has no steps")

        def stated(old: Recalled | None) -> Draft:
            kept = _Kept(called, done, needed)
            before = None if old is None else _kept_of(old)
            if before is not None and before.steps == done:
                kept = replace(kept, belief=before.belief, outcomes=before.outcomes)
            return _draft(kept, "stored")

        return as_procedure(self._named.change(self._named.id_of(called), stated))

    def outcome(self, name: str, success: bool, note: str = "") -> Procedure:
        """Record how it went. Raises ``NotFound``, and ``InvalidInput`` for what is no boolean."""
        called = check_name(name, "a procedure's name")
        check_flag(success, "success")
        went = Outcome(success, self.memory.clock(), without_secrets(check_text(note, "a note").strip()))

        def moved(old: Recalled | None) -> Draft:
            if old is None:
                raise NotFound(f"there is no procedure {shown(called)}")
            kept = _kept_of(old)
            outcomes = (*kept.outcomes, went)[-MOST_OUTCOMES:]
            moved = replace(kept, belief=kept.belief.seen(went.success), outcomes=outcomes)
            return _draft(moved, "succeeded" if went.success else "failed")

        return as_procedure(self._named.change(self._named.id_of(called), moved))

    def success_rate(self, name: str) -> SuccessRate:
        """The success rate of a procedure. Raises ``NotFound``."""
        return self.get(name).success_rate

    def get(self, name: str) -> Procedure:
        """One procedure by its name, however it is written. Raises ``NotFound``."""
        called = check_name(name, "a procedure's name")
        found = self._named.find(self._named.id_of(called))
        if found is None:
            raise NotFound(f"there is no procedure {shown(called)}")
        return as_procedure(found)

    def procedures(self) -> list[Procedure]:
        """All procedures, the first stored first."""
        return [as_procedure(one) for one in self._named.all()]

    def recall(self, query: str, limit: int = 5) -> list[Procedure]:
        """The procedures that answer a query best."""
        found = self.memory.recall(query, kinds=KIND, limit=limit)
        return [as_procedure(one) for one in found if is_procedure(one)]

    def suggest(self, situation: str | Iterable[str] = "", goal: str = "", limit: int = 5) -> list[Suggestion]:
        """The procedures for a situation and a goal, the best first.

        With a goal, only procedures that have to do with it are suggested; without one, those that the situation mentions
        count for more.
        """
        check_count(limit, "limit")
        given, wanted = check_texts(situation, "a situation"), check_text(goal, "a goal").strip()
        known = self.procedures()
        # A model may know that "send back" and "return" are the same; words alone do not.
        nearness = self.memory.similarities(wanted, [one.id for one in known]) if wanted else {}
        found = [_suggestion(one, given, wanted, nearness.get(one.id, 0.0)) for one in known]
        return sorted((one for one in found if one is not None), key=_order)[:limit]

    astore = asyncify(store)
    aoutcome = asyncify(outcome)
    asuccess_rate = asyncify(success_rate)
    aget = asyncify(get)
    aprocedures = asyncify(procedures)
    arecall = asyncify(recall)
    asuggest = asyncify(suggest)


def _suggestion(procedure: Procedure, situation: Sequence[str], goal: str, nearness: float) -> Suggestion | None:
    """A procedure with its score; None when it has nothing to do with the goal or the situation."""
    matched = tuple(one for one in procedure.preconditions if holds_in(one, situation))
    missing = tuple(one for one in procedure.preconditions if one not in matched)
    met = len(matched) / len(procedure.preconditions) if procedure.preconditions else 1.0
    about = max(_relevance(procedure, goal or " ".join(situation)), nearness if nearness >= _ALIKE else 0.0)
    if not about and (goal or (situation and not met)):
        return None
    relevance = about if goal else 0.5 + 0.5 * about
    readiness = _UNREADY + (1 - _UNREADY) * met
    score = relevance * readiness * procedure.success_rate.value
    return Suggestion(procedure, score, relevance, readiness, matched, missing)


def _relevance(procedure: Procedure, text: str) -> float:
    """How much the name or the steps of a procedure have to do with a text."""
    whole = " ".join((procedure.name, *procedure.steps))
    return max(coverage(procedure.name, text), coverage(text, whole))


def _order(suggestion: Suggestion) -> tuple[float, int, str]:
    # Of two that are worth the same, the one that was tried more often.
    return -suggestion.score, -suggestion.procedure.success_rate.observations, suggestion.procedure.name


def is_procedure(found: Recalled) -> bool:
    """Whether a memory keeps a procedure."""
    return keeps(found, KIND, _Kept)


def as_procedure(found: Recalled) -> Procedure:
    """The procedure that a memory keeps."""
    kept = _kept_of(found)
    rate = SuccessRate(kept.belief.value, kept.belief.support, kept.belief.against)
    what = (kept.name, kept.steps, kept.preconditions, rate, kept.outcomes)
    return Procedure(found.id, *what, found.time, found.score, why_of(found))


def _kept_of(found: Recalled) -> _Kept:
    return msgspec.convert(found.metadata[KIND], _Kept)


def _draft(kept: _Kept, reason: str) -> Draft:
    lines = [kept.name, *(f"{number}. {step}" for number, step in enumerate(kept.steps, 1))]
    if kept.preconditions:
        chinese = language_of(kept.name) == "zh"
        between = "；" if chinese else "; "
        lines.append(NEEDS["zh" if chinese else "en"] + between.join(kept.preconditions))
    return Draft("\n".join(lines), kept, reason)
