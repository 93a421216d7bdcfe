"""Notes on the people, places and things a conversation names, kept up to date as it goes on."""

from __future__ import annotations

import re
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
from memwell.language.summary import Line, read_summary, written
from memwell.messages import Message, Role
from memwell.strategies.base import Strategy, note
from memwell.strategies.state import AT_ONCE, State, next_index, until_settled, with_note
from memwell.strategies.summary import said
from memwell.strategies.windows import checked_history
from memwell.values import check_count, check_text, shown

Extract: TypeAlias = Callable[[str], list[str]]
"""The names in a text."""

Describe: TypeAlias = Callable[[str, str, str], str]
"""New notes on a name: given the name, the notes so far and the lines of the conversation that name it since."""

LONGEST_NOTES: Final = 1_000
"""How long the notes on one name get by default, in characters."""

_MOST_TEXTS: Final = 10
_LONGEST_TEXT: Final = 1_000
_MOST_NAMES: Final = 50
MOST_LOOKUPS: Final = 64
"""How many of the names that a text may spell are looked up."""
_WORD = re.compile(r"[^\W\u3400-\u9fff]+(?:['’-][^\W\u3400-\u9fff]+){0,2}")
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_HAN_NAMES: Final = (4, 3, 2)


class EntityNotes(msgspec.Struct, frozen=True):
    """What is noted on one name."""

    name: str
    """As it was first written."""
    notes: str
    contexts: int
    """In how many messages it was named."""
    created: datetime
    """When the message was said that first named it."""
    updated: datetime
    """When the message was said that last named it."""
    updates: int
    """How often the notes were written."""
    texts: tuple[str, ...] = ()
    """The last 10 texts that named it, of each the first 1,000 characters."""

    def named_in(self, *texts: str) -> tuple[str, ...]:
        """The last texts once it is named in more of them."""
        return (*self.texts, *(text[:_LONGEST_TEXT] for text in texts))[-_MOST_TEXTS:]


class Entities(Strategy):
    """The last ``rounds`` rounds, and before them notes on the names in them and in the query.

    ``extract`` finds the names in a text and ``describe`` writes the notes on one; by default both are rules: the notes are
    the sentences that name it, as they were said, the newest 1,000 characters of them. When either raises, or ``describe``
    answers with what is no text, nothing changes and ``observe`` raises; an empty answer leaves the notes as they were.
    Notes are kept per name, so a turn costs the same however many names there are. Raises ``InvalidInput`` for a number of
    rounds below 0.
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
        self.history = checked_history(history)
        self.rounds = check_count(rounds, "rounds")
        self.system = system
        self._extract = extract or named
        self._describe = describe or sentences_on
        self.state = State(history, name)
        """Where the notes are kept."""

    def observe(self) -> None:
        until_settled(self._step)

    def _step(self) -> bool:
        held = self.state.read()
        messages = self.state.unread(held)
        if not messages:
            return False
        spoken = [one for one in messages if one.for_model and one.role in _SPEAKERS and one.text.strip()]
        changed = [self._noted(name, naming) for name, naming in self._naming(spoken).items()]
        with self.state.together():
            self.state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields={})
            for key, value, version in changed:
                self.state.put(key, value, expect=version)
        return len(messages) == AT_ONCE

    def _naming(self, messages: Iterable[Message]) -> dict[str, list[tuple[str, Message]]]:
        """The messages that name each entity, by its key, with the name as it is written there."""
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
        new = EntityNotes(
            old.name,
            text,
            old.contexts + len(messages),
            old.created,
            last,
            old.updates + (text != old.notes),
            old.named_in(*(one.text for one in messages)),
        )
        return key, msgspec.to_builtins(new), entry.version if entry else 0

    def _described(self, old: EntityNotes, context: str) -> str:
        try:
            text = check_text(self._describe(old.name, old.notes, context), f"the notes on {shown(old.name)}")
        except InvalidInput as error:
            raise BadModelOutput(str(error)) from error
        return text.strip() or old.notes

    def recall(self, query: str | None = None) -> list[Message]:
        window = self.history.window(rounds=self.rounds, system=self.system) if self.rounds else []
        recent = "\n".join(one.text for one in window if one.role in _SPEAKERS)
        keys = [*spelt(query or ""), *map(entity_key, self._names(recent))]
        found = self._noted_on([*map(entity_key, self._names(query or "")), *keys])
        return with_note(window, note("entities", map(_in_words, found), id_=self.state.id))

    def clear(self) -> None:
        self.state.clear()

    def notes(self, name: str) -> EntityNotes | None:
        """What is noted on a name, however it is written, or None."""
        entry = self.state.get(entity_key(check_text(name, "a name")))
        return None if entry is None else _decoded(entry.value)

    def named_in(self, text: str) -> list[EntityNotes]:
        """What is noted on the names in a text: those that are found there, and those it spells word for word."""
        return self._noted_on([*map(entity_key, self._names(text)), *spelt(text)])

    def _noted_on(self, keys: Iterable[str]) -> list[EntityNotes]:
        looked_up = list(dict.fromkeys(keys))[:MOST_LOOKUPS]
        return [found for key in looked_up if (found := self.notes(key)) and found.notes]

    def all_notes(self) -> list[EntityNotes]:
        """All notes, the name that was named last first."""
        return sorted((_decoded(one.value) for one in self.state.entries()), key=lambda one: one.updated, reverse=True)

    anotes = asyncify(notes)
    anamed_in = asyncify(named_in)
    aall_notes = asyncify(all_notes)


_SPEAKERS: Final = frozenset({Role.HUMAN, Role.AI, Role.CHAT})


def _in_words(found: EntityNotes) -> str:
    return f"{found.name}:\n{found.notes}"


def _decoded(value: object) -> EntityNotes:
    return msgspec.convert(value, EntityNotes)


def entity_key(name: str) -> str:
    """A name's form for comparing."""
    return " ".join(name.casefold().replace("’", "'").removesuffix("'s").split())


def spelt(text: str) -> list[str]:
    """The keys of what might be a known name in a text of whatever case: its words, pairs of them, short rows of Han."""
    words = [entity_key(one) for one in _WORD.findall(text)]
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    rows = [
        run[at : at + size] for run in _HAN.findall(text) for size in _HAN_NAMES for at in range(len(run) - size + 1)
    ]
    return [one for one in dict.fromkeys((*words, *pairs, *rows)) if len(one) > 1]


def named(text: str) -> list[str]:
    """The names in a text, each once, as they are written."""
    return list({entity.key: entity.text for entity in reversed(entities(text))}.values())[::-1]


def sentences_on(name: str, notes: str, context: str) -> str:
    """The notes and the sentences of the context that name it, as they were said: the newest that fit."""
    wanted = entity_key(name)
    naming = [line for line in read_summary(context) if wanted in entity_key(line.text)]
    kept: list[Line] = []
    room = LONGEST_NOTES
    for line in dict.fromkeys((*reversed(naming), *reversed(read_summary(notes)))):
        room -= len(line.speaker) + len(line.text) + len(": \n")
        if room < 0:
            break
        kept.append(line)
    return written(reversed(kept))


# What a conversation says of people and things, as a graph: subject, predicate, object.


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
            self.state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields={})
            for key, triples, version in changed:
                self.state.put(key, {"triples": triples}, expect=version)
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
        known = _decoded_triples(entry.value) if entry else []
        for triple in said:
            known = [one for one in known if not _ends(triple, one)]
            known += [] if triple.negated else [triple]
        return key, msgspec.to_builtins(known[-MOST_ABOUT_ONE:]), entry.version if entry else 0

    def about(self, subject: str) -> list[Triple]:
        """What is known of a subject, oldest first."""
        entry = self.state.get(entity_key(check_text(subject, "a subject")))
        return _decoded_triples(entry.value) if entry else []

    def triples(self) -> list[Triple]:
        """All that is known, in the order it was said."""
        found = [triple for entry in self.state.entries() for triple in _decoded_triples(entry.value)]
        return sorted(found, key=lambda triple: triple.index)

    def recall(self, query: str | None = None) -> list[Message]:
        window = self.history.window(rounds=self.rounds, system=self.system) if self.rounds else []
        return with_note(window, note("graph", self._known(query or ""), id_=self.state.id))

    def _known(self, query: str) -> list[str]:
        """What is known of whom the query names, speaks as, or spells in whatever case."""
        own = [USER] if _FIRST_PERSON(query) else []
        keys = dict.fromkeys([*map(entity_key, named(query)), *own, *spelt(query)])
        known = [triples for key in list(keys)[:MOST_LOOKUPS] if (triples := self.about(key))]
        return [f"On {triples[0].subject}: {_triples_in_words(triples)}" for triples in known]

    def clear(self) -> None:
        self.state.clear()

    aabout = asyncify(about)
    atriples = asyncify(triples)


def _decoded_triples(value: Any) -> list[Triple]:
    return msgspec.convert(value["triples"], list[Triple])


def _ends(new: Triple, old: Triple) -> bool:
    """Whether what was known holds no longer, or is said again."""
    if new.predicate != old.predicate:
        return False
    same = new.object.casefold() == old.object.casefold()
    return same or new.replaces or (new.negated and not new.object)


def _triples_in_words(triples: Sequence[Triple]) -> str:
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
