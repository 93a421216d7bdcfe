"""Memories that find what was said before by what it means: in any retriever, LangChain's own or ours."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from memwell._asyncify import asyncify
from memwell.compat.langchain.base import BaseMemory, check_keys, get_prompt_input_key, value_of
from memwell.compat.langchain.buffers import ConversationTokenBufferMemory
from memwell.compat.langchain.documents import Document
from memwell.compat.langchain.messages import SystemMessage
from memwell.compat.langchain.prompts import PromptTemplate
from memwell.errors import InvalidInput
from memwell.messages import Message, Role
from memwell.strategies.state import StrategyState, next_index, until_done
from memwell.values import check_count, check_text, shown
from memwell.windows import Round, rounds_of

_MOST_CACHED = 100
_TIMESTAMP = "%Y-%m-%d %H:%M:%S %Z"

DEFAULT_HISTORY_TEMPLATE = """
It is now {current_time}.

Excerpts of earlier conversations, each with its time, that may or may not matter here:
{previous_history}

"""


class VectorStoreRetrieverMemory(BaseMemory):
    """Every turn is a document, and loading finds those that matter for the input.

    Answers of the retriever are kept for the last ``cache_size`` queries, 0 for none, until this memory writes; ours is
    also asked whether somebody else has written. Documents carry their time, the input, the output and a conversation id.
    """

    retriever: Any
    memory_key: str = "history"
    input_key: str | None = None
    return_docs: bool = False
    exclude_input_keys: Sequence[str] = ()
    cache_size: int = _MOST_CACHED

    _positional = ("retriever", "memory_key", "input_key", "return_docs", "exclude_input_keys")

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_count(self.cache_size, "cache_size")
        self.exclude_input_keys = tuple(self.exclude_input_keys or ())
        self._saved: list[str] = []
        self._cached_version: object = None
        self._query_cache: OrderedDict[str, list[Any]] = OrderedDict()
        self._begin_stats()

    def _begin_stats(self) -> None:
        self._contexts_saved = self._documents_stored = self._retrievals = self._cache_hits = 0
        self._retrieval_time = 0.0

    @property
    def memory_variables(self) -> list[str]:
        """The one variable."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What was said that matters for the input: the texts, or the documents with ``return_docs``.

        Raises ``InvalidInput`` when it is not clear which the input is, or when it is no text.
        """
        key = get_prompt_input_key(inputs, self.memory_variables) if self.input_key is None else self.input_key
        documents = self._retrieved(check_text(value_of(inputs, key, "inputs"), "the input"))
        return {self.memory_key: documents if self.return_docs else "\n".join(one.page_content for one in documents)}

    def _retrieved(self, query: str) -> list[Any]:
        self._drop_stale()
        if query in self._query_cache:
            self._query_cache.move_to_end(query)
            self._cache_hits += 1
            return list(self._query_cache[query])
        begun = time.perf_counter()
        found = list(_asked(self.retriever, query))
        self._retrieval_time += time.perf_counter() - begun
        self._retrievals += 1
        if self.cache_size:
            self._query_cache[query] = found
            while len(self._query_cache) > self.cache_size:
                self._query_cache.popitem(last=False)
        return list(found)

    def _drop_stale(self) -> None:
        """Forget cached answers when somebody else has written, as far as the store can tell."""
        version = getattr(getattr(self.retriever, "vectorstore", None), "version", None)
        current = version() if callable(version) else None
        if current != self._cached_version:
            self._query_cache.clear()
            self._cached_version = current

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn as one document: a line ``key: value`` for every input and output."""
        documents = self._form_documents(inputs, outputs)
        self._saved += _added(self.retriever, documents)
        self._contexts_saved += 1
        self._documents_stored += len(documents)
        self._query_cache.clear()

    def _form_documents(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[Document]:
        left_out = {self.memory_key, *self.exclude_input_keys}
        asked = {key: value for key, value in check_keys(inputs, "inputs").items() if key not in left_out}
        answered = dict(check_keys(outputs, "outputs"))
        text = "\n".join(f"{key}: {value}" for key, value in (*asked.items(), *answered.items()))
        metadata = {
            "input": "\n".join(map(str, asked.values())),
            "output": "\n".join(map(str, answered.values())),
            "timestamp": time.time(),
            "conversation_id": _conversation_id(asked),
        }
        return [Document(text, metadata)]

    def clear(self) -> None:
        """Delete the documents that this object has stored, if the store can, and forget cache and figures.

        What others have stored there, and this memory in an earlier process, stays.
        """
        delete = getattr(getattr(self.retriever, "vectorstore", None), "delete", None)
        if self._saved and callable(delete):
            delete(list(self._saved))
        self._saved = []
        self._query_cache.clear()
        self._begin_stats()

    def get_retrieval_stats(self) -> dict[str, Any]:
        """How many turns were stored, how often the retriever was asked and how long it took, and what the cache saved."""
        loads = self._retrievals + self._cache_hits
        return {
            "total_contexts_saved": self._contexts_saved,
            "total_retrievals": self._retrievals,
            "average_retrieval_time": self._retrieval_time / self._retrievals if self._retrievals else 0.0,
            "total_documents_stored": self._documents_stored,
            "cache_hits": self._cache_hits,
            "cache_hit_rate": self._cache_hits / loads if loads else 0.0,
            "cache_size": len(self._query_cache),
            "memory_type": "VectorStoreRetrieverMemory",
        }


def _conversation_id(inputs: Mapping[str, Any]) -> str:
    """Eight characters that are the same for the same inputs."""
    return hashlib.blake2b(str(dict(inputs)).encode(errors="replace"), digest_size=4).hexdigest()


def _asked(retriever: Any, query: str) -> Sequence[Any]:
    for method in ("invoke", "get_relevant_documents"):
        found: Any = getattr(retriever, method, None)
        if callable(found):
            return cast("Sequence[Any]", found(query))
    raise InvalidInput(f"a retriever has 'invoke', which {shown(retriever)} has not")


def _added(retriever: Any, documents: Sequence[Document]) -> list[str]:
    """Store documents by whatever way there is, and return the ids that the store gave them, if it says so."""
    store: Any = getattr(retriever, "vectorstore", retriever)
    for owner in (retriever, store):
        if hasattr(owner, "add_documents"):
            return _ids(owner.add_documents(list(documents)))
    if hasattr(store, "add_texts"):
        texts, metadatas = [one.page_content for one in documents], [one.metadata for one in documents]
        return _ids(store.add_texts(texts=texts, metadatas=metadatas))
    raise InvalidInput(f"a retriever that remembers has 'add_documents', which {shown(retriever)} has not")


def _ids(answer: Any) -> list[str]:
    return [str(id_) for id_ in cast("Sequence[Any]", answer or ())]


class ConversationVectorStoreTokenBufferMemory(ConversationTokenBufferMemory):
    """The last rounds within ``max_token_limit``, and of what has left them whatever matters for the input.

    A round that leaves is stored, with its time, in the retriever; ``save_remainder`` stores those that are still shown.
    Loading always gives messages: first one with what was found, then the last rounds.
    """

    retriever: Any
    previous_history_template: str = DEFAULT_HISTORY_TEMPLATE
    split_chunk_size: int = 1000

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_count(self.split_chunk_size, "split_chunk_size", least=1)
        PromptTemplate.from_template(self.previous_history_template)
        self._memory_retriever: VectorStoreRetrieverMemory | None = None

    @property
    def memory_retriever(self) -> VectorStoreRetrieverMemory:
        """The memory over the retriever."""
        if self._memory_retriever is None or self._memory_retriever.retriever is not self.retriever:
            self._memory_retriever = VectorStoreRetrieverMemory(retriever=self.retriever)
        return self._memory_retriever

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """A message with what was found for the input, then the last rounds."""
        found = self.memory_retriever.load_memory_variables(inputs)[self.memory_retriever.memory_key]
        told = PromptTemplate.from_template(self.previous_history_template).format(
            previous_history=found, current_time=datetime.now().astimezone().strftime(_TIMESTAMP)
        )
        return {self.memory_key: [*self._theirs([SystemMessage(told)]), *self.buffer_as_messages]}

    def _lines(self) -> None:
        # What was handed to the retriever is not shown, which the lines alone do not tell.
        return None

    def _window(self) -> list[Message]:
        upto = self._stored().read().upto
        return [one for one in super()._window() if (one.index or 0) >= upto]

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, and what no longer fits in the retriever."""
        super().save_context(inputs, outputs)
        until_done(lambda: self._store_before(self._first_shown()))

    def save_remainder(self) -> None:
        """Store what is still shown in the retriever too, at the end of a session; it is shown no longer."""
        until_done(lambda: self._store_before(None))

    asave_remainder = asyncify(save_remainder)

    def clear(self) -> None:
        """Delete the conversation, and of the retriever what this object has stored there."""
        super().clear()
        self._stored().clear()
        self.memory_retriever.clear()

    def _stored(self) -> StrategyState:
        return self._state("langchain-vectors")

    def _first_shown(self) -> int | None:
        shown_ = [one for one in super()._window() if one.round]
        return shown_[0].index if shown_ else None

    def _store_before(self, index: int | None) -> bool:
        """Hand the next rounds below an index to the retriever; whether there may be more.

        The state moves behind what is stored, so a failing store is tried again, and nothing is left out.
        """
        state = self._stored()
        held = state.read()
        messages = state.unread(held, index)
        if not messages:
            return False
        for round_ in rounds_of(messages):
            self._store_round(round_)
        state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields={})
        return True

    def _store_round(self, round_: Round) -> None:
        spoken = [one for one in round_.messages if one.for_model and one.text]
        if not spoken:
            return
        moment = spoken[0].time.astimezone().strftime(_TIMESTAMP)
        said = _words(spoken, Role.HUMAN)
        for number, piece in enumerate(pieces(_words(spoken, Role.AI), self.split_chunk_size) or [""]):
            self.memory_retriever.save_context(
                {"Human": f"<{moment}/00> {said}"}, {"AI": f"<{moment}/{number:02}> {piece}"}
            )


def _words(messages: Sequence[Message], role: Role) -> str:
    return "\n".join(one.text for one in messages if one.role is role)


def pieces(text: str, size: int) -> list[str]:
    """A text in pieces of at most ``size`` characters, cut where a line or a word ends if there is such a place."""
    found: list[str] = []
    while len(text) > size:
        cut = max(text.rfind("\n", 1, size + 1), text.rfind(" ", 1, size + 1))
        cut = cut if cut > 0 else size
        found.append(text[:cut].strip())
        text = text[cut:]
    return [piece for piece in (*found, text.strip()) if piece]


__all__ = [
    "DEFAULT_HISTORY_TEMPLATE",
    "ConversationVectorStoreTokenBufferMemory",
    "VectorStoreRetrieverMemory",
    "pieces",
]
