"""A memory of the people, places and things that a conversation names.

The notes on a name are kept in an entity store. The default one lies beside the conversation, in the same store: its notes
are there after a restart, and ``memwell.strategies.Entities`` over the same conversation reads them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from memwell.compat.langchain.base import BaseChatMemory
from memwell.compat.langchain.buffers import check_rounds, last_rounds
from memwell.compat.langchain.entity_stores import BaseEntityStore
from memwell.compat.langchain.fields import made_by
from memwell.compat.langchain.messages import BaseMessage, get_buffer_string
from memwell.compat.langchain.models import LanguageModel, LanguageModelLike, as_llm
from memwell.compat.langchain.prompts import ENTITY_EXTRACTION_PROMPT, ENTITY_SUMMARIZATION_PROMPT, Prompt, filled
from memwell.errors import NotFound
from memwell.history.reading import HistoryReader
from memwell.strategies.entities import Entities, EntityNotes, entity_key, named, sentences_on
from memwell.strategies.state import until_done
from memwell.values import check_text, now, shown

_NOTHING = "NONE"
_MOST_CONTEXTS = 10


def get_entities(output: str) -> list[str]:
    """The names in a model's answer: separated by commas, or none when it says ``NONE`` or nothing."""
    if output.strip() == _NOTHING:
        return []
    return list(dict.fromkeys(name for one in output.split(",") if (name := one.strip())))


class EntityInfo:
    """What is known of one name: the notes, in how many turns it was named, since when, and how often they changed."""

    def __init__(self, name: str) -> None:
        self.name = check_text(name, "a name")
        self.info = ""
        self.contexts: list[str] = []
        """The last 10 texts that named it; ``context_count`` says how many there were."""
        self.context_count = 0
        self.created_at = time.time()
        self.last_updated = self.created_at
        self.update_count = 0

    @classmethod
    def of(cls, notes: EntityNotes) -> EntityInfo:
        """The same as the core keeps it."""
        info = cls(notes.name)
        info.info, info.context_count, info.update_count = notes.notes, notes.contexts, notes.updates
        info.contexts = list(notes.texts)
        info.created_at, info.last_updated = notes.created.timestamp(), notes.updated.timestamp()
        return info

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
        self.noted(described(as_llm(llm), summarization_prompt, self.name, self.info, new_context, blanks), new_context)

    def noted(self, info: str, context: str) -> None:
        """Take over new notes that somebody made of a text."""
        self.info = info
        self.contexts = [*self.contexts, context][-_MOST_CONTEXTS:]
        self.context_count += 1
        self.last_updated = time.time()
        self.update_count += 1

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts, as plain values; times are seconds since 1970."""
        return {
            "name": self.name,
            "info": self.info,
            "context_count": self.context_count,
            "created_at": self.created_at,
            "last_updated": self.last_updated,
            "update_count": self.update_count,
        }

    def __repr__(self) -> str:
        return f"EntityInfo({self.name!r}, info={shown(self.info)})"


def described(
    llm: LanguageModel, prompt: Prompt, name: str, notes: str, context: str, blanks: Mapping[str, str]
) -> str:
    """New notes on a name; an empty answer leaves them as they were. Raises ``ModelError``."""
    if not llm.answers:
        return sentences_on(name, notes, context)
    asked = filled(prompt, entity=name, summary=notes, existing_info=notes, new_context=context, **blanks)
    return llm.predict(asked).strip() or notes


class ThreadEntityStore(BaseEntityStore):
    """Notes beside a conversation, in its store. A name is the same in capitals or not.

    Besides what every entity store can do, ``store[name]`` is the ``EntityInfo`` of a name.
    """

    def __init__(self, history: HistoryReader) -> None:
        self._strategy = Entities(history, 0)
        # The very same: over a history without a store a state lives in its object.
        self._state = self._strategy.state

    def get(self, key: str, default: str | None = None) -> str | None:
        """The notes on a name, or the default."""
        found = self._notes(key)
        return default if found is None else found.notes

    def set(self, key: str, value: str | None) -> None:
        """Put other notes on a name in the place of those there are."""
        until_done(lambda: self._put(check_text(key, "a name"), value or "", ()))

    def note(self, name: str, notes: str, context: str) -> None:
        """Put the notes there that were made of one more text that names it."""
        until_done(lambda: self._put(check_text(name, "a name"), notes, (context,)))

    def _put(self, name: str, text: str, contexts: tuple[str, ...]) -> bool:
        entry = self._state.get(entity_key(name))
        moment = now()
        old = EntityNotes(name, "", 0, moment, moment, 0)
        if entry is not None:
            old = msgspec.convert(entry.value, EntityNotes)
        new = msgspec.structs.replace(
            old,
            notes=text,
            contexts=old.contexts + len(contexts),
            updated=moment,
            updates=old.updates + (entry is None or text != old.notes),
            texts=old.named_in(*contexts),
        )
        self._state.put(entity_key(name), msgspec.to_builtins(new), expect=entry.version if entry else 0)
        return False

    def delete(self, key: str) -> None:
        """Drop a name. Raises ``KeyError`` when there is none of it, as a dict does."""
        if not self._state.drop(entity_key(check_text(key, "a name"))):
            raise KeyError(key)

    def exists(self, key: str) -> bool:
        """Whether there are notes on a name."""
        return self._notes(key) is not None

    def clear(self) -> None:
        """Drop all notes."""
        self._state.clear()

    def named_in(self, text: str) -> list[str]:
        """The names in a text that there are notes on, in capitals or not."""
        return [one.name for one in self._strategy.named_in(text)]

    @property
    def store(self) -> dict[str, str]:
        """All notes by name."""
        return {one.name: one.notes for one in self._all()}

    def _notes(self, name: str) -> EntityNotes | None:
        entry = self._state.get(entity_key(check_text(name, "a name")))
        return None if entry is None else msgspec.convert(entry.value, EntityNotes)

    def _all(self) -> list[EntityNotes]:
        return [msgspec.convert(entry.value, EntityNotes) for entry in self._state.entries()]

    def __getitem__(self, name: str) -> EntityInfo:
        found = self.info(name)
        if found is None:
            raise NotFound(f"there are no notes on {shown(name)}")
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.exists(name)

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self._all())

    def __len__(self) -> int:
        return len(self._state.entries())

    def __bool__(self) -> bool:
        # An empty store is still a store.
        return True

    def info(self, name: str) -> EntityInfo | None:
        """What is known of a name, or None."""
        found = self._notes(name)
        return None if found is None else EntityInfo.of(found)

    def infos(self) -> list[EntityInfo]:
        """What is known of every name."""
        return [EntityInfo.of(one) for one in self._all()]


class ConversationEntityMemory(BaseChatMemory):
    """Notes on the names that the input speaks of, and the last ``k`` rounds.

    Loading finds the names of the input and keeps them in ``entity_cache``; saving the turn that follows writes the notes
    on those. A turn that is saved without having been loaded for is looked through for its own names. Without an ``llm``
    names are found by how they are written, and the notes are the sentences that name them, as they were said.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: LanguageModelLike = None
    entity_extraction_prompt: Prompt = ENTITY_EXTRACTION_PROMPT
    entity_summarization_prompt: Prompt = ENTITY_SUMMARIZATION_PROMPT
    entity_cache: list[str] = made_by(list[str])
    k: int = 3
    chat_history_key: str = "history"
    entity_store: BaseEntityStore = cast(BaseEntityStore, None)  # by default made beside the conversation

    _positional = ("llm", "entity_extraction_prompt", "entity_summarization_prompt", "entity_cache", "k")

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_rounds(self.k)
        as_llm(self.llm)
        if given.get("entity_store") is None:
            self.entity_store = ThreadEntityStore(self._conversation())
        # The cache that was dealt with: what is in it belongs to a turn that was saved.
        self._done = self.entity_cache if not self.entity_cache else None
        self._infos: dict[str, EntityInfo] = {}
        self._extraction_calls = 0

    @property
    def buffer(self) -> list[BaseMessage]:
        """All messages of the conversation."""
        return list(self.chat_memory.messages)

    @property
    def memory_variables(self) -> list[str]:
        """``entities`` and the name of the history."""
        return ["entities", self.chat_history_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The last rounds, and the notes on each name that the input speaks of; empty for a name that is new.

        Raises ``InvalidInput`` when it is not clear which the input is, ``ModelError`` when the model fails.
        """
        messages = self._recent()
        names = self._extract(self._input_text(inputs), self._as_text(messages))
        store = self.entity_store
        notes = {name: store.get(name, "") or "" for name in names}
        self.entity_cache = names
        shown_messages = messages if self.return_messages else self._as_text(messages)
        return {self.chat_history_key: shown_messages, "entities": notes}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then bring the notes on its names up to date, all or none.

        Raises ``InvalidInput`` as any memory does, and ``ModelError`` when the model fails: then the turn is kept and the
        notes as they were.
        """
        super().save_context(inputs, outputs)
        said, answered = self._get_input_output(inputs, outputs)
        said, turn = text_in(said), f"{text_in(said)}\n{text_in(answered)}"
        history = self._as_text(self._recent())
        if self.entity_cache is self._done:
            self.entity_cache = self._extract(said, history, turn)
        self._note(turn, {"history": history, "input": said})
        self._done = self.entity_cache

    def _note(self, turn: str, blanks: Mapping[str, str]) -> None:
        llm, store = as_llm(self.llm), self.entity_store
        written: dict[str, str] = {}
        for name in self.entity_cache:
            old = store.get(name, "") or ""
            written[name] = described(llm, self.entity_summarization_prompt, name, old, turn, blanks)
        # Only now: a model that fails half-way must not leave half of the notes of a turn.
        for name, notes in written.items():
            if isinstance(store, ThreadEntityStore):
                store.note(name, notes, turn)
            else:
                store.set(name, notes)
            self._infos.setdefault(name, EntityInfo(name)).noted(notes, turn)

    def _extract(self, text: str, history: str, turn: str | None = None) -> list[str]:
        llm = as_llm(self.llm)
        self._extraction_calls += 1
        if llm.answers:
            asked = filled(self.entity_extraction_prompt, history=history, input=text, text=turn or text)
            return get_entities(llm.predict(asked))
        store = self.entity_store
        known = store.named_in(text) if isinstance(store, ThreadEntityStore) else []
        return list({entity_key(name): name for name in (*known, *named(turn or text))}.values())

    def clear(self) -> None:
        """Delete the conversation and the notes."""
        super().clear()
        self.entity_store.clear()
        self.entity_cache = self._done = []
        self._infos.clear()

    def get_entity_info(self, name: str) -> EntityInfo | None:
        """What is known of a name, or None."""
        store = self.entity_store
        if isinstance(store, ThreadEntityStore):
            return store.info(name)
        return self._infos.get(name)

    def get_entity_stats(self) -> dict[str, Any]:
        """How many names there are notes on, how often they were written, and how often names were looked for.

        With an entity store of your own only what this object wrote is counted.
        """
        store = self.entity_store
        infos = store.infos() if isinstance(store, ThreadEntityStore) else list(self._infos.values())
        active = [info for info in infos if isinstance(store, ThreadEntityStore) or store.exists(info.name)]
        return {
            "total_entities": len(infos),
            "active_entities": len(active),
            "entity_updates": sum(max(info.update_count - 1, 0) for info in infos),
            "extraction_calls": self._extraction_calls,
            "memory_type": "ConversationEntityMemory",
        }

    def _recent(self) -> list[BaseMessage]:
        return self._shown(last_rounds(self._conversation(), self.k))

    def _as_text(self, messages: list[BaseMessage]) -> str:
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)

    def _input_text(self, inputs: Mapping[str, Any]) -> str:
        return text_in(self._input(inputs))


def text_in(content: Any) -> str:
    """The words of an input or output. Raises ``InvalidInput`` for what is neither text nor blocks."""
    return str(BaseMessage(content).text)


__all__ = [
    "ConversationEntityMemory",
    "EntityInfo",
    "ThreadEntityStore",
    "get_entities",
]
