"""Memories of what a conversation mentions: notes on names, and facts as subject, relation and object.

By default notes and facts are stored with the conversation: they survive a restart, and ``memwell.strategies.Entities`` and
``Graph`` over the same conversation read them.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import msgspec

from memwell._asyncify import asyncify
from memwell.compat.langchain.base import BaseChatMemory, OneVariable, made_by
from memwell.compat.langchain.buffers import check_rounds, last_rounds
from memwell.compat.langchain.histories import InMemoryChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, SystemMessage, get_buffer_string
from memwell.compat.langchain.models import (
    ENTITY_EXTRACTION_PROMPT,
    ENTITY_SUMMARIZATION_PROMPT,
    KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT,
    LanguageModel,
    LanguageModelLike,
    Prompt,
    as_llm,
    filled,
)
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.history.reading import HistoryReader
from memwell.messages import human
from memwell.records import Space
from memwell.storage.registry import Store, shared_backend
from memwell.strategies.entities import (
    FIRST_PERSON,
    MOST_ABOUT_ONE,
    USER,
    Entities,
    EntityNotes,
    Graph,
    Triple,
    claimed,
    entity_key,
    named,
    sentences_on,
)
from memwell.strategies.state import until_done
from memwell.values import check_text, now, shown

KG_TRIPLE_DELIMITER = "<|>"
_NOTHING = "NONE"
_MOST_CONTEXTS = 10
_DAY = 60 * 60 * 24


# Stores of notes


class BaseEntityStore(ABC):
    """Texts by name. A subclass gives the five methods; the async twins follow from them."""

    @abstractmethod
    def get(self, key: str, default: str | None = None) -> str | None:
        """The text on an entity, or the default."""

    @abstractmethod
    def set(self, key: str, value: str | None) -> None:
        """Store the text on an entity."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Forget an entity."""

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Whether there is a text on an entity."""

    @abstractmethod
    def clear(self) -> None:
        """Forget every entity."""

    aget = asyncify(get)
    aset = asyncify(set)  # noqa: A003 - the method above, not the builtin
    adelete = asyncify(delete)
    aexists = asyncify(exists)
    aclear = asyncify(clear)


class InMemoryEntityStore(BaseEntityStore):
    """Entities in the dict ``store``. Deleting one that is missing raises ``KeyError``; None is a value like any other."""

    def __init__(self, store: Mapping[str, str | None] | None = None) -> None:
        self.store: dict[str, str | None] = {} if store is None else dict(store)

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.store.get(key, default)

    def set(self, key: str, value: str | None) -> None:
        self.store[key] = value

    def delete(self, key: str) -> None:
        del self.store[key]

    def exists(self, key: str) -> bool:
        return key in self.store

    def clear(self) -> None:
        self.store.clear()


class _KeyValueEntityStore(BaseEntityStore):
    """Entities among the values of a memwell store. Setting nothing deletes; deleting a missing entity does nothing."""

    def __init__(self, store: Store, *space: str, ttl: int | None = None, recall_ttl: int | None = None) -> None:
        self._space = Space("langchain", *space)
        self._kv = shared_backend(store).kv
        self.ttl = ttl
        self.recall_ttl = recall_ttl

    def get(self, key: str, default: str | None = None) -> str | None:
        entry = self._kv.get(self._space, key)
        if entry is None:
            return default
        if self.recall_ttl:
            # Unless it was changed meanwhile.
            with suppress(Conflict):
                self._kv.put(self._space, key, entry.value, ttl=self.recall_ttl, expect=entry.version)
        return str(entry.value)

    def set(self, key: str, value: str | None) -> None:
        if value:
            self._kv.put(self._space, key, value, ttl=self.ttl or None)
        else:
            self.delete(key)

    def delete(self, key: str) -> None:
        self._kv.delete(self._space, key)

    def exists(self, key: str) -> bool:
        return self._kv.get(self._space, key) is not None

    def clear(self) -> None:
        while entries := self._kv.scan(self._space).items:
            for entry in entries:
                self._kv.delete(self._space, entry.key)


class SQLiteEntityStore(_KeyValueEntityStore):
    """Entities in the memwell store ``db_file``, separate for every table name and session.

    Both names must be Python identifiers, or ``InvalidInput`` (a ``ValueError``) is raised. Raises what ``open_backend``
    raises.
    """

    def __init__(
        self, session_id: str = "default", db_file: Store = "entities.db", table_name: str = "memory_store"
    ) -> None:
        if not all(check_text(one, "a name").isidentifier() for one in (table_name, session_id)):
            raise InvalidInput("Table name and session ID must be valid Python identifiers.")
        super().__init__(db_file, table_name, session_id)
        self.session_id = session_id
        self.table_name = table_name


class RedisEntityStore(_KeyValueEntityStore):
    """Entities in Redis, for ``ttl`` seconds; a read prolongs that to ``recall_ttl``. The keys are memwell's.

    Raises what ``open_backend`` raises, such as ``BackendUnavailable`` when the server cannot be reached.
    """

    def __init__(
        self,
        session_id: str = "default",
        url: Store = "redis://localhost:6379/0",
        key_prefix: str = "memory_store",
        ttl: int | None = _DAY,
        recall_ttl: int | None = 3 * _DAY,
    ) -> None:
        super().__init__(url, key_prefix, session_id, ttl=ttl, recall_ttl=recall_ttl or ttl)
        self.session_id = session_id
        self.key_prefix = key_prefix

    def get(self, key: str, default: str | None = None) -> str:
        """The notes on an entity; "" when there are none and no default is given."""
        return super().get(key, default) or ""


class ThreadEntityStore(BaseEntityStore):
    """Notes stored with a conversation. Names are compared without regard to case.

    It is also a mapping of ``EntityInfo`` by name.
    """

    def __init__(self, history: HistoryReader) -> None:
        self._strategy = Entities(history, 0)
        # The same object: over a history without a store, a state lives in its object.
        self._state = self._strategy.state

    def get(self, key: str, default: str | None = None) -> str | None:
        found = self._strategy.notes(key)
        return default if found is None else found.notes

    def set(self, key: str, value: str | None) -> None:
        self.note(key, value or "")

    def note(self, name: str, notes: str, *contexts: str) -> None:
        """Replace the notes on a name; ``contexts`` are the texts they were made of."""
        key, moment = entity_key(check_text(name, "a name")), now()

        def put() -> bool:
            entry = self._state.get(key)
            blank = EntityNotes(name, "", 0, moment, moment, 0)
            old = blank if entry is None else msgspec.convert(entry.value, EntityNotes)
            new = old.rewritten(notes, contexts, moment)
            self._state.put(key, msgspec.to_builtins(new), expect=entry.version if entry else 0)
            return False

        until_done(put)

    def delete(self, key: str) -> None:
        """Delete the notes on a name. Raises ``KeyError`` when there are none, as a dict does."""
        if not self._state.drop(entity_key(check_text(key, "a name"))):
            raise KeyError(key)

    def exists(self, key: str) -> bool:
        return self._strategy.notes(key) is not None

    def clear(self) -> None:
        self._state.clear()

    def named_in(self, text: str) -> list[str]:
        """The names in a text, in upper or lower case, that have notes."""
        return [one.name for one in self._strategy.named_in(text)]

    @property
    def store(self) -> dict[str, str]:
        """All notes by name."""
        return {info.name: info.info for info in self.infos()}

    def info(self, name: str) -> EntityInfo | None:
        """What is known of a name, or None."""
        found = self._strategy.notes(name)
        return None if found is None else EntityInfo.of(found)

    def infos(self) -> list[EntityInfo]:
        """What is known of every name."""
        return [EntityInfo.of(msgspec.convert(entry.value, EntityNotes)) for entry in self._state.entries()]

    def __getitem__(self, name: str) -> EntityInfo:
        found = self.info(name)
        if found is None:
            raise NotFound(f"there are no notes on {shown(name)}")
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.exists(name)

    def __iter__(self) -> Iterator[str]:
        return (info.name for info in self.infos())

    def __len__(self) -> int:
        return len(self._state.entries())

    def __bool__(self) -> bool:
        # An empty store is still a store.
        return True


@dataclass(eq=False, repr=False)
class EntityInfo:
    """The notes on one name, with when they were made, how often they changed, and the last 10 texts that named it.

    ``context_count`` is the number of all texts that named it.
    """

    name: str
    info: str = ""
    contexts: list[str] = field(default_factory=list[str])
    context_count: int = 0
    created_at: float = field(default_factory=time.time)
    last_updated: float = field(default_factory=time.time)
    update_count: int = 0

    def __post_init__(self) -> None:
        check_text(self.name, "a name")

    @classmethod
    def of(cls, notes: EntityNotes) -> EntityInfo:
        """The notes of the core in this form."""
        created, updated = notes.created.timestamp(), notes.updated.timestamp()
        return cls(notes.name, notes.notes, list(notes.texts), notes.contexts, created, updated, notes.updates)

    def initialize_info(self, context: str, llm: LanguageModelLike = None) -> None:
        """Write the first notes. Raises ``ModelError`` when the model fails, and changes nothing then."""
        self.update_info(context, llm)

    def update_info(
        self,
        new_context: str,
        llm: LanguageModelLike = None,
        summarization_prompt: Prompt = ENTITY_SUMMARIZATION_PROMPT,
    ) -> None:
        """Take what a text says into the notes. Raises ``ModelError`` when the model fails, and changes nothing then."""
        blanks = {"history": new_context, "input": new_context}
        notes = _described(as_llm(llm), summarization_prompt, self.name, self.info, new_context, blanks)
        self.info = notes
        self.contexts = [*self.contexts, new_context][-_MOST_CONTEXTS:]
        self.context_count += 1
        self.last_updated = time.time()
        self.update_count += 1

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts, as plain values; times are seconds since 1970."""
        return {name: value for name, value in vars(self).items() if name != "contexts"}

    def __repr__(self) -> str:
        return f"EntityInfo({self.name!r}, info={shown(self.info)})"


def _described(
    llm: LanguageModel, prompt: Prompt, name: str, notes: str, context: str, blanks: Mapping[str, str]
) -> str:
    """New notes on a name; an empty answer leaves them as they were. Raises ``ModelError``."""
    if not llm.answers:
        return sentences_on(name, notes, context)
    asked = filled(prompt, entity=name, summary=notes, existing_info=notes, new_context=context, **blanks)
    return llm.predict(asked).strip() or notes


# Memories


def get_entities(output: str) -> list[str]:
    """The names in a model's answer: separated by commas, or none when it says ``NONE`` or nothing."""
    if output.strip() == _NOTHING:
        return []
    return list(dict.fromkeys(name for one in output.split(",") if (name := one.strip())))


def _words(content: Any) -> str:
    """The words of an input or output. Raises ``InvalidInput`` for content that is neither text nor blocks."""
    return str(BaseMessage(content).text)


class _Naming(BaseChatMemory, ABC):
    """A memory that asks a model about the names in the last ``k`` rounds."""

    k: int = 2
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: LanguageModelLike = None
    entity_extraction_prompt: Prompt = ENTITY_EXTRACTION_PROMPT

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_rounds(self.k)
        as_llm(self.llm)

    def _recent(self) -> list[BaseMessage]:
        return self._from_core(last_rounds(self._current(), self.k))

    def _as_text(self, messages: list[BaseMessage]) -> str:
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)

    def _asked_names(self, said: str, history: str, text: str) -> list[str]:
        """The names that the model finds in an input."""
        asked = filled(self.entity_extraction_prompt, history=history, input=said, text=text)
        return get_entities(as_llm(self.llm).predict(asked))


class ConversationEntityMemory(_Naming):
    """Notes on the names that the input mentions, and the last ``k`` rounds.

    Loading finds the names of the input and keeps them in ``entity_cache``; saving the turn that follows writes the notes
    on those. A turn that is saved without a load before it is searched for its own names. Without an ``llm`` names are
    found by how they are written, and the notes are the sentences that name them, unchanged.
    """

    entity_summarization_prompt: Prompt = ENTITY_SUMMARIZATION_PROMPT
    entity_cache: list[str] = made_by(list[str])
    k: int = 3
    chat_history_key: str = "history"
    entity_store: BaseEntityStore = cast(BaseEntityStore, None)  # by default a ThreadEntityStore of the conversation

    _positional = ("llm", "entity_extraction_prompt", "entity_summarization_prompt", "entity_cache", "k")

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._notes = ThreadEntityStore(self._conversation())
        if given.get("entity_store") is None:
            self.entity_store = self._notes
        # The cache of the last turn that was saved.
        self._done = self.entity_cache if not self.entity_cache else None
        self._extraction_calls = 0

    @property
    def buffer(self) -> list[BaseMessage]:
        return list(self.chat_memory.messages)

    @property
    def memory_variables(self) -> list[str]:
        return ["entities", self.chat_history_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The last rounds, and the notes on each name that the input mentions; empty for a new name.

        Raises ``InvalidInput`` when it is not clear which the input is, ``ModelError`` when the model fails.
        """
        messages = self._recent()
        names = self._extract(_words(self._input(inputs)), self._as_text(messages))
        notes = {name: self.entity_store.get(name, "") or "" for name in names}
        self.entity_cache = names
        return {
            self.chat_history_key: messages if self.return_messages else self._as_text(messages),
            "entities": notes,
        }

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then update the notes on its names, all or none.

        Raises ``InvalidInput`` as any memory does, and ``ModelError`` when the model fails: then the turn is stored and the
        notes are unchanged.
        """
        super().save_context(inputs, outputs)
        said, answered = map(_words, self._get_input_output(inputs, outputs))
        turn, history = f"{said}\n{answered}", self._as_text(self._recent())
        if self.entity_cache is self._done:
            self.entity_cache = self._extract(said, history, turn)
        self._note(turn, {"history": history, "input": said})
        self._done = self.entity_cache

    def _note(self, turn: str, blanks: Mapping[str, str]) -> None:
        llm, store = as_llm(self.llm), self.entity_store
        written: dict[str, str] = {}
        for name in self.entity_cache:
            old = store.get(name, "") or ""
            written[name] = _described(llm, self.entity_summarization_prompt, name, old, turn, blanks)
        # Stored only when all notes are written: a model that fails half-way must not leave half of a turn's notes.
        for name, notes in written.items():
            self._notes.note(name, notes, turn)
            if store is not self._notes:
                store.set(name, notes)

    def _extract(self, text: str, history: str, turn: str | None = None) -> list[str]:
        self._extraction_calls += 1
        if as_llm(self.llm).answers:
            return self._asked_names(text, history, turn or text)
        known = self._notes.named_in(text)
        # A first name stands for the person that is known by the whole name.
        firsts = {entity_key(name).partition(" ")[0] for name in known if " " in name}
        names = (*known, *(name for name in named(turn or text) if entity_key(name) not in firsts))
        return list({entity_key(name): name for name in names}.values())

    def clear(self) -> None:
        """Delete the conversation and the notes."""
        super().clear()
        self._notes.clear()
        self.entity_store.clear()
        self.entity_cache = self._done = []

    def get_entity_info(self, name: str) -> EntityInfo | None:
        """What is known of a name, or None."""
        return self._notes.info(name)

    def get_entity_stats(self) -> dict[str, Any]:
        """How many names have notes, how often the notes changed, and how often names were searched."""
        infos = self._notes.infos()
        return {
            "total_entities": len(infos),
            "active_entities": sum(self.entity_store.exists(info.name) for info in infos),
            "entity_updates": sum(max(info.update_count - 1, 0) for info in infos),
            "extraction_calls": self._extraction_calls,
            "memory_type": "ConversationEntityMemory",
        }


# Facts


class KnowledgeTriple(NamedTuple):
    """One fact."""

    subject: str
    predicate: str
    object_: str

    @classmethod
    def from_string(cls, triple_string: str) -> KnowledgeTriple:
        """The fact in ``(subject, predicate, object)``. Raises ``InvalidInput`` when it has not three parts."""
        parts = triple_string.strip().split(", ")
        if len(parts) != 3:
            raise InvalidInput(f"a triple is (subject, predicate, object), not {shown(triple_string)}")
        return cls(parts[0][1:], parts[1], parts[2][:-1])


def parse_triples(knowledge_str: str) -> list[KnowledgeTriple]:
    """The facts in a model's answer, separated by ``<|>``; a part that is no triple is left out, and ``NONE`` is none."""
    text = check_text(knowledge_str, "a model's answer").strip()
    parts = [] if text in ("", _NOTHING) else text.split(KG_TRIPLE_DELIMITER)
    return [KnowledgeTriple.from_string(one) for one in parts if one.strip().count(", ") == 2]


class NetworkxEntityGraph:
    """Facts as a directed graph, stored with a conversation; without one, in memory. It needs no networkx.

    Two nodes may have several relations. Of a subject the newest 100 facts are kept, and subjects are compared without
    regard to case.
    """

    def __init__(self, history: HistoryReader | None = None) -> None:
        self._history = InMemoryChatMessageHistory().history if history is None else history
        self.strategy = Graph(self._history, 0)

    def add_triple(self, knowledge_triple: KnowledgeTriple) -> None:
        """Add a fact, unless the graph has it."""
        info = self._history.info()
        new = Triple(*knowledge_triple, index=info.next - 1 if info else 0)
        self._change(new.subject, lambda known: known if any(_same(one, new) for one in known) else [*known, new])

    def delete_triple(self, knowledge_triple: KnowledgeTriple) -> None:
        """Delete a fact, if the graph has it."""
        old = Triple(*knowledge_triple)
        self._change(old.subject, lambda known: [one for one in known if not _same(one, old)])

    def clear(self) -> None:
        """Delete all facts."""
        self.strategy.clear()

    def get_triples(self) -> list[tuple[str, str, str]]:
        """All facts, each as subject, object, predicate: in that order."""
        return [(one.subject, one.object, _in_words(one.predicate)) for one in self.strategy.triples()]

    def get_entity_knowledge(self, entity: str, depth: int = 1) -> list[str]:
        """The facts on a node and on those it leads to in up to ``depth`` steps, in words; none for an unknown node."""
        found: list[str] = []
        self._walk(entity, depth, {entity}, found)
        return found

    def _walk(self, entity: str, depth: int, seen: set[str], found: list[str]) -> None:
        facts = self.strategy.about(entity) if depth > 0 else []
        for object_ in dict.fromkeys(one.object for one in facts):
            if object_ not in seen:
                seen.add(object_)
                found += [f"{entity} {_in_words(one.predicate)} {object_}" for one in facts if one.object == object_]
                self._walk(object_, depth - 1, seen, found)

    def _change(self, subject: str, change: Callable[[list[Triple]], list[Triple]]) -> None:
        # The same state as the strategy's: over a history without a store, it lives in the strategy.
        state, key = self.strategy.state, entity_key(subject)

        def put() -> bool:
            entry = state.get(key)
            known = change(self.strategy.about(subject))[-MOST_ABOUT_ONE:]
            state.put(key, {"triples": msgspec.to_builtins(known)}, expect=entry.version if entry else 0)
            return False

        until_done(put)


def _in_words(predicate: str) -> str:
    return predicate.replace("_", " ")


def _same(one: Triple, other: Triple) -> bool:
    return (_in_words(one.predicate), one.object) == (_in_words(other.predicate), other.object)


class ConversationKGMemory(OneVariable, _Naming):
    """Facts on the names that the input mentions.

    Without an ``llm`` facts are read by rule from what people say, and "I" is ``user``. ``k`` is the number of rounds that
    a model is shown before the input.
    """

    kg: NetworkxEntityGraph = cast(NetworkxEntityGraph, None)  # by default that of the conversation
    knowledge_extraction_prompt: Prompt = KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT
    summary_message_cls: type[BaseMessage] = SystemMessage

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._own_graph = NetworkxEntityGraph(self._conversation()) if given.get("kg") is None else None
        self.kg = self.kg if self._own_graph is None else self._own_graph

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """A line, or a message of ``summary_message_cls``, for every name of the input that has facts."""
        names = self.get_current_entities(_words(self._input(inputs)))
        known = {name: self.kg.get_entity_knowledge(name) for name in names}
        lines = [f"On {name}: {'. '.join(facts)}." for name, facts in known.items() if facts]
        if self.return_messages:
            return {self.memory_key: self._for_history([self.summary_message_cls(content=line) for line in lines])}
        return {self.memory_key: "\n".join(lines)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then add the facts that its input states.

        Raises ``InvalidInput`` as any memory does, and ``ModelError`` when the model fails: then the turn is stored and the
        graph is unchanged.
        """
        super().save_context(inputs, outputs)
        if self._own_graph is self.kg and not as_llm(self.llm).answers:
            # The strategy also knows which new fact ends an older one.
            self.kg.strategy.observe()
            return
        for triple in self.get_knowledge_triplets(_words(self._input(inputs))):
            self.kg.add_triple(triple)

    def get_current_entities(self, input_string: str) -> list[str]:
        """The names that an input mentions."""
        if not as_llm(self.llm).answers:
            return [*named(input_string), *([USER] if FIRST_PERSON(input_string) else [])]
        return self._asked_names(input_string, self._as_text(self._recent()), input_string)

    def get_knowledge_triplets(self, input_string: str) -> list[KnowledgeTriple]:
        """The facts that an input states."""
        llm = as_llm(self.llm)
        if not llm.answers:
            found = (one for one in claimed(human(input_string)) if not one.negated)
            return [KnowledgeTriple(one.subject, _in_words(one.predicate), one.object) for one in found]
        history = self._as_text(self._recent())
        return parse_triples(llm.predict(filled(self.knowledge_extraction_prompt, history=history, input=input_string)))

    def clear(self) -> None:
        """Delete the conversation and the facts."""
        super().clear()
        self.kg.clear()
