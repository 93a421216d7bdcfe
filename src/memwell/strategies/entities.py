"""Strategies that keep notes on the names in a conversation: as text, and as a graph of facts."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, TypeAlias

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import BadModelOutput, InvalidInput
from memwell.history import HistoryReader
from memwell.language.claims import USER, claims, relation_of
from memwell.language.entities import entities
from memwell.language.summary import SummaryLine, read_summary, written
from memwell.messages import Message, Role
from memwell.strategies.base import Strategy, checked_history, note
from memwell.strategies.state import AT_ONCE, StrategyState, next_index, until_done, with_note
from memwell.strategies.summary import said
from memwell.values import check_count, check_text, now, shown

Extract: TypeAlias = Callable[[str], list[str]]
"""Returns the names in a text."""

Describe: TypeAlias = Callable[[str, str, str], str]
"""Returns new notes on a name, given the name, the notes so far and the new lines that mention it."""

LONGEST_NOTES: Final = 1_000
"""The default length of the notes on one name, in characters."""

_MOST_TEXTS: Final = 10
_LONGEST_TEXT: Final = 1_000
_MOST_NAMES: Final = 50
_MOST_NAMESAKES, _LONGEST_REST = 3, 20
"""How many people of one first name are looked up, and how long the rest of their names may be."""
MOST_LOOKUPS: Final = 64
"""How many possible names of a text are looked up."""
_WORD = re.compile(r"[^\W\u3400-\u9fff]+(?:['’-][^\W\u3400-\u9fff]+){0,2}")
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_HAN_NAMES: Final = (4, 3, 2)


class EntityNotes(msgspec.Struct, frozen=True):
    """The notes on one name."""

    name: str
    """The spelling in its first message."""
    notes: str
    contexts: int
    """The number of messages that mention it."""
    created: datetime
    """The time of the first message that mentions it."""
    updated: datetime
    """The time of the last message that mentions it."""
    updates: int
    """How often the notes were changed."""
    texts: tuple[str, ...] = ()
    """The last 10 texts that mention it, the first 1,000 characters of each."""

    def rewritten(self, notes: str, texts: Sequence[str], moment: datetime) -> EntityNotes:
        """The same name with other notes, after more texts that mention it."""
        last = (*self.texts, *(text[:_LONGEST_TEXT] for text in texts))[-_MOST_TEXTS:]
        contexts, updates = self.contexts + len(texts), self.updates + (notes != self.notes)
        return EntityNotes(self.name, notes, contexts, self.created, moment, updates, last)


class _StoredByName(Strategy):
    """The last ``rounds`` rounds, after what is stored about the names in them and in the query."""

    def __init__(self, history: HistoryReader, rounds: int, name: str, *, system: bool) -> None:
        self.history = checked_history(history)
        self.rounds = check_count(rounds, "rounds")
        self.system = system
        self.state = StrategyState(history, name)
        """What is stored, by name."""

    def observe(self) -> None:
        until_done(self._step)

    def _step(self) -> bool:
        held = self.state.read()
        messages = self.state.unread(held)
        if not messages:
            return False
        changed = self._changed(messages)
        with self.state.together():
            for key, value, version in changed:
                self.state.put(key, value, expect=version)
            self.state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields={})
        return len(messages) == AT_ONCE

    @abstractmethod
    def _changed(self, messages: Sequence[Message]) -> list[tuple[str, dict[str, Any], int]]:
        """What messages change: the key and new value of each name, and the version of its old value."""

    def clear(self) -> None:
        self.state.clear()

    def _window(self) -> list[Message]:
        return self.history.window(rounds=self.rounds, system=self.system) if self.rounds else []


class Entities(_StoredByName):
    """The last ``rounds`` rounds, after notes on the names in them and in the query.

    ``extract`` finds the names in a text and ``describe`` writes the notes on one. By default the notes are the sentences
    that mention the name, the newest 1,000 characters. When either raises, or ``describe`` returns no text, nothing changes
    and ``observe`` raises; an empty result keeps the notes. Notes are stored by name, so a turn costs the same for any
    number of names. Raises ``InvalidInput`` for a number of rounds below 0.
    """

    def __init__(
        self,
        history: HistoryReader,
        rounds: int = 3,
        extract: Extract | None = None,
        describe: Describe | None = None,
        *,
        system: bool = True,
        name: str = "entities",
    ) -> None:
        super().__init__(history, rounds, name, system=system)
        self._extract = extract or named
        self._describe = describe or sentences_on

    def _changed(self, messages: Sequence[Message]) -> list[tuple[str, dict[str, Any], int]]:
        spoken = [one for one in messages if one.for_model and one.role in _SPEAKERS and one.text.strip()]
        return [self._noted(name, naming) for name, naming in self._naming(spoken).items()]

    def _naming(self, messages: Iterable[Message]) -> dict[str, list[tuple[str, Message]]]:
        """The messages that mention each name, by its key, with the spelling."""
        found: dict[str, list[tuple[str, Message]]] = {}
        for message in messages:
            for name in {entity_key(one): one for one in self._names(message.text)}.values():
                found.setdefault(entity_key(name), []).append((name, message))
        return found

    def _names(self, text: str) -> list[str]:
        try:
            names = [" ".join(check_text(one, "a name").split()) for one in self._extract(text)]
        except InvalidInput as error:
            raise BadModelOutput(f"names could not be read: {error}") from error
        return [one for one in names if one][:_MOST_NAMES]

    def _noted(self, key: str, naming: Sequence[tuple[str, Message]]) -> tuple[str, dict[str, Any], int]:
        entry = self.state.get(key)
        messages = [message for _, message in naming]
        first, last = messages[0].time, messages[-1].time
        old = _decoded(entry.value) if entry else EntityNotes(naming[0][0], "", 0, first, first, 0)
        text = self._described(old, written(said(messages)))
        new = old.rewritten(text, [one.text for one in messages], last)
        return key, msgspec.to_builtins(new), entry.version if entry else 0

    def _described(self, old: EntityNotes, context: str) -> str:
        try:
            text = check_text(self._describe(old.name, old.notes, context), f"the notes on {shown(old.name)}")
        except InvalidInput as error:
            raise BadModelOutput(str(error)) from error
        return text.strip() or old.notes

    def recall(self, query: str | None = None) -> list[Message]:
        window = self._window()
        recent = "\n".join(one.text for one in window if one.role in _SPEAKERS)
        asked = [entity_key(one.name) for one in self.named_in(query or "")]
        found = self._noted_on([*asked, *map(entity_key, self._names(recent))])
        return with_note(window, note("entities", (f"{one.name}:\n{one.notes}" for one in found), id_=self.state.id))

    def notes(self, name: str) -> EntityNotes | None:
        """The notes on a name in any spelling, or None."""
        entry = self.state.get(entity_key(check_text(name, "a name")))
        return None if entry is None else _decoded(entry.value)

    def named_in(self, text: str) -> list[EntityNotes]:
        """The notes on the names in a text, also on names in lower case, and on whom it calls by the first name."""
        names = [entity_key(name) for name in self._names(text)]
        return self._noted_on([*names, *(full for name in names for full in self._beginning_with(name)), *spelt(text)])

    def _beginning_with(self, name: str) -> list[str]:
        """The longer names that begin with this one, if it has no notes itself."""
        if self.state.get(name) is not None:
            return []
        return [_decoded(entry.value).name for entry in self.state.longer(f"{name} ", _LONGEST_REST)[:_MOST_NAMESAKES]]

    def _noted_on(self, keys: Iterable[str]) -> list[EntityNotes]:
        looked_up = list(dict.fromkeys(keys))[:MOST_LOOKUPS]
        return [found for key in looked_up if (found := self.notes(key)) and found.notes]

    def all_notes(self) -> list[EntityNotes]:
        """All notes, the most recently mentioned name first."""
        return sorted((_decoded(one.value) for one in self.state.entries()), key=lambda one: one.updated, reverse=True)

    anotes = asyncify(notes)
    anamed_in = asyncify(named_in)
    aall_notes = asyncify(all_notes)


_SPEAKERS: Final = frozenset({Role.HUMAN, Role.AI, Role.CHAT})


def _decoded(value: object) -> EntityNotes:
    return msgspec.convert(value, EntityNotes)


def entity_key(name: str) -> str:
    """The form in which names are compared."""
    return " ".join(name.casefold().replace("’", "'").removesuffix("'s").split())


def spelt(text: str) -> list[str]:
    """The keys of all possible names in a text, in any case: words, pairs of words, short rows of Han characters."""
    words = [entity_key(one) for one in _WORD.findall(text)]
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    rows = [
        run[at : at + size] for run in _HAN.findall(text) for size in _HAN_NAMES for at in range(len(run) - size + 1)
    ]
    return [one for one in dict.fromkeys((*words, *pairs, *rows)) if len(one) > 1]


def named(text: str) -> list[str]:
    """The names in a text, without repetitions, as they are written: also those of relatives that look like any word."""
    found = {entity_key(entity.text): entity.text for entity in reversed(entities(text))}
    people = (claim.object for claim in claims(text, time=now()) if _is_person(claim.relation))
    return [
        *list(found.values())[::-1],
        *(name for name in dict.fromkeys(people) if name and entity_key(name) not in found),
    ]


def sentences_on(name: str, notes: str, context: str) -> str:
    """The notes with the sentences of the context that mention the name: the newest that fit."""
    wanted = entity_key(name)
    naming = [line for line in read_summary(context) if wanted in entity_key(line.text)]
    kept: list[SummaryLine] = []
    room = LONGEST_NOTES
    for line in dict.fromkeys((*reversed(naming), *reversed(read_summary(notes)))):
        room -= len(line.speaker) + len(line.text) + len(": \n")
        if room < 0:
            break
        kept.append(line)
    return written(reversed(kept))


# Facts of a conversation as a graph: subject, predicate, object.

MOST_ABOUT_ONE: Final = 100
"""How many facts on one subject are kept; the oldest are dropped first, so that a turn costs the same."""

_SAID_BY: Final = frozenset({Role.HUMAN, Role.CHAT})
FIRST_PERSON = re.compile(r"\b(?:I|I['’]\w+|my|mine|me)\b|我", re.I).search


class Triple(msgspec.Struct, frozen=True):
    """One fact. ``index`` is that of the message that states it."""

    subject: str
    predicate: str
    object: str
    index: int = 0
    negated: bool = False
    """Whether it says that this is not or no longer true; without an object, for every object."""
    replaces: bool = False
    """Whether only one object is true at a time, so that it replaces earlier facts."""

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate.replace('_', ' ')} {self.object}"


Triples: TypeAlias = Callable[[Message], Iterable[Triple]]
"""Returns the triples that a message states."""


class Graph(_StoredByName):
    """The last ``rounds`` rounds, after what is known of the names in the query, in any case.

    ``extract`` reads triples from a message; by default rules read the claims of people. A subject and a predicate may have
    several objects. The newest 100 facts of a subject are kept, each with the message that states it. When ``extract``
    raises, nothing changes and ``observe`` raises. Raises ``InvalidInput`` for a number of rounds below 0.
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
        super().__init__(history, rounds, name, system=system)
        self._extract = extract or claimed

    def _changed(self, messages: Sequence[Message]) -> list[tuple[str, dict[str, Any], int]]:
        return [self._learnt(key, said) for key, said in self._said(messages).items()]

    def _said(self, messages: Iterable[Message]) -> dict[str, list[Triple]]:
        """The triples of messages by the key of their subject."""
        found: dict[str, list[Triple]] = {}
        for message in messages:
            for triple in self._extract(message) if message.for_model and message.text.strip() else ():
                placed = msgspec.structs.replace(triple, index=message.index or 0)
                found.setdefault(entity_key(triple.subject), []).append(placed)
        return found

    def _learnt(self, key: str, said: Iterable[Triple]) -> tuple[str, dict[str, Any], int]:
        entry = self.state.get(key)
        known = _decoded_triples(entry.value) if entry else []
        for triple in said:
            known = [one for one in known if not _ends(triple, one)]
            known += [] if triple.negated else [triple]
        return key, {"triples": msgspec.to_builtins(known[-MOST_ABOUT_ONE:])}, entry.version if entry else 0

    def about(self, subject: str) -> list[Triple]:
        """The facts about a subject, oldest first; a first name stands for the one person who has it."""
        key = entity_key(check_text(subject, "a subject"))
        entry = self.state.get(key)
        known = [entry] if entry else self.state.longer(f"{key} ", _LONGEST_REST) if key.isalpha() else []
        return _decoded_triples(known[0].value) if len(known) == 1 else []

    def triples(self) -> list[Triple]:
        """All facts, in the order of their messages."""
        found = [triple for entry in self.state.entries() for triple in _decoded_triples(entry.value)]
        return sorted(found, key=lambda triple: triple.index)

    def recall(self, query: str | None = None) -> list[Message]:
        return with_note(self._window(), note("graph", self._known(query or ""), id_=self.state.id))

    def _known(self, query: str) -> list[str]:
        """The facts about the names in the query, and about the user for *I* and 我."""
        own = [USER] if FIRST_PERSON(query) else []
        names = [*map(entity_key, named(query)), *own]
        keys = [*names, *(key for key in spelt(query) if self.state.get(key) is not None)]
        known = [triples for key in dict.fromkeys(keys[:MOST_LOOKUPS]) if (triples := self.about(key))]
        return [f"On {one[0].subject}: {' '.join(f'{triple}.' for triple in one)}" for one in known]

    aabout = asyncify(about)
    atriples = asyncify(triples)


def _decoded_triples(value: Any) -> list[Triple]:
    return msgspec.convert(value["triples"], list[Triple])


def _ends(new: Triple, old: Triple) -> bool:
    """Whether a new fact replaces or repeats an old one."""
    if new.predicate != old.predicate:
        return False
    same = new.object.casefold() == old.object.casefold()
    return same or new.replaces or (new.negated and not new.object)


def claimed(message: Message) -> list[Triple]:
    """The claims of a person's message about the speaker and others."""
    if message.role not in _SAID_BY:
        return []
    found = claims(message.text, speaker=message.name or "", time=message.time)
    return [
        Triple(claim.subject, claim.relation, claim.object, negated=claim.negated, replaces=_is_single(claim.relation))
        for claim in found
    ]


def _is_person(relation: str) -> bool:
    known = relation_of(relation)
    return known is not None and known.people


def _is_single(relation: str) -> bool:
    known = relation_of(relation)
    return known is not None and known.single
