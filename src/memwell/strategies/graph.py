"""What a conversation says of people and things, as a graph: subject, predicate, object."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from memwell._asyncify import asyncify
from memwell.history import HistoryReader
from memwell.language.claims import USER, claims, relation_of
from memwell.messages import Message, Role
from memwell.strategies.base import Strategy
from memwell.strategies.entities import MOST_LOOKUPS, entity_key, named, spelt
from memwell.strategies.notes import note
from memwell.strategies.state import AT_ONCE, State, next_index, until_settled, with_note
from memwell.strategies.windows import checked_history
from memwell.values import check_count, check_text

MOST_ABOUT_ONE: Final = 100
"""How many facts on one subject are kept; the oldest go first, so that a turn costs the same however much is known."""

_SAID_BY: Final = frozenset({Role.HUMAN, Role.CHAT})
_FIRST_PERSON = re.compile(r"\b(?:I|I['’]\w+|my|mine|me)\b|我", re.I).search


class Triple(msgspec.Struct, frozen=True):
    """One fact. ``index`` is that of the message that says it."""

    subject: str
    predicate: str
    object: str
    index: int = 0
    negated: bool = False
    """It says that this does not hold, or no longer; without an object, that nothing of the kind does."""
    replaces: bool = False
    """Only one object holds at a time, so what was said before holds no longer."""

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate.replace('_', ' ')} {self.object}"


Triples: TypeAlias = Callable[[Message], Iterable[Triple]]
"""What a message says, as triples."""


class Graph(Strategy):
    """The last ``rounds`` rounds, and before them what is known of the names in the query, in whatever case it is written.

    ``extract`` reads triples off a message; by default it is a reader of claims by rule, of what people say. A subject and
    a predicate may have several objects. The newest 100 facts of a subject are kept, each with the message that says it.
    When ``extract`` raises, nothing changes and ``observe`` raises. Raises ``InvalidInput`` for a number of rounds below 0.
    """

    def __init__(
        self,
        history: HistoryReader,
        rounds: int = 2,
        extract: Triples | None = None,
        *,
        system: bool = True,
        name: str = "graph",
    ) -> None:
        self.history = checked_history(history)
        self.rounds = check_count(rounds, "rounds")
        self.system = system
        self._extract = extract or claimed
        self.state = State(history, name)
        """Where the facts are kept."""

    def observe(self) -> None:
        until_settled(self._step)

    def _step(self) -> bool:
        held = self.state.read()
        messages = self.state.unread(held)
        if not messages:
            return False
        changed = [self._learnt(key, said) for key, said in self._said(messages).items()]
        with self.state.together():
            for key, triples, version in changed:
                self.state.put(key, {"triples": triples}, expect=version)
            self.state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields={})
        return len(messages) == AT_ONCE

    def _said(self, messages: Iterable[Message]) -> dict[str, list[Triple]]:
        """What messages say, by the key of its subject."""
        found: dict[str, list[Triple]] = {}
        for message in messages:
            for triple in self._extract(message) if message.for_model and message.text.strip() else ():
                placed = msgspec.structs.replace(triple, index=message.index or 0)
                found.setdefault(entity_key(triple.subject), []).append(placed)
        return found

    def _learnt(self, key: str, said: Iterable[Triple]) -> tuple[str, list[Any], int]:
        entry = self.state.get(key)
        known = _decoded(entry.value) if entry else []
        for triple in said:
            known = [one for one in known if not _ends(triple, one)]
            known += [] if triple.negated else [triple]
        return key, msgspec.to_builtins(known[-MOST_ABOUT_ONE:]), entry.version if entry else 0

    def about(self, subject: str) -> list[Triple]:
        """What is known of a subject, oldest first."""
        entry = self.state.get(entity_key(check_text(subject, "a subject")))
        return _decoded(entry.value) if entry else []

    def triples(self) -> list[Triple]:
        """All that is known, in the order it was said."""
        found = [triple for entry in self.state.entries() for triple in _decoded(entry.value)]
        return sorted(found, key=lambda triple: triple.index)

    def recall(self, query: str | None = None) -> list[Message]:
        window = self.history.window(rounds=self.rounds, system=self.system) if self.rounds else []
        return with_note(window, note("graph", self._known(query or ""), id_=self.state.id))

    def _known(self, query: str) -> list[str]:
        """What is known of whom the query names, speaks as, or spells in whatever case."""
        own = [USER] if _FIRST_PERSON(query) else []
        keys = dict.fromkeys([*map(entity_key, named(query)), *own, *spelt(query)])
        known = [triples for key in list(keys)[:MOST_LOOKUPS] if (triples := self.about(key))]
        return [f"On {triples[0].subject}: {_in_words(triples)}" for triples in known]

    def clear(self) -> None:
        self.state.clear()

    aabout = asyncify(about)
    atriples = asyncify(triples)


def _decoded(value: Any) -> list[Triple]:
    return msgspec.convert(value["triples"], list[Triple])


def _ends(new: Triple, old: Triple) -> bool:
    """Whether what was known holds no longer, or is said again."""
    if new.predicate != old.predicate:
        return False
    same = new.object.casefold() == old.object.casefold()
    return same or new.replaces or (new.negated and not new.object)


def _in_words(triples: Sequence[Triple]) -> str:
    return " ".join(f"{triple}." for triple in triples)


def claimed(message: Message) -> list[Triple]:
    """What a person's message claims, of the speaker and of whom it names."""
    if message.role not in _SAID_BY:
        return []
    found = claims(message.text, speaker=message.name or "", time=message.time)
    return [
        Triple(claim.subject, claim.relation, claim.object, negated=claim.negated, replaces=_is_single(claim.relation))
        for claim in found
    ]


def _is_single(relation: str) -> bool:
    known = relation_of(relation)
    return known is not None and known.single


__all__ = ["MOST_ABOUT_ONE", "USER", "Graph", "Triple", "Triples", "claimed"]
