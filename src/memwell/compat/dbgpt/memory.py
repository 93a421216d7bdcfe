"""The contract of an agent's memory, and the scorers and extractors it uses.

Everything here is async; each async method has a blocking twin with the suffix ``_sync``. A model is a memwell
``ChatModel``, a function from a text to a text (blocking or async), or an object with an async ``generate(request)`` whose
answer has a ``text``, as DB-GPT's clients have.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Generic, Self, TypeVar, cast

from memwell._asyncify import blocking, run_blocking
from memwell.compat.dbgpt.fragments import (
    ADD,
    Discarded,
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    MemoryFragment,
    Weight,
    WriteOperation,
    check_importance,
)
from memwell.compat.dbgpt.messages import ModelMessage
from memwell.errors import BadModelOutput, InvalidInput, MemwellError, ModelError
from memwell.longterm.traits import importance_of
from memwell.messages import human
from memwell.models.callables import as_embedder
from memwell.models.ports import ChatModel, Embedder
from memwell.values import shown

T = TypeVar("T", bound=MemoryFragment)

_SETTINGS = (
    "name",
    "llm_client",
    "importance_scorer",
    "insight_extractor",
    "_real_memory_fragment_class",
    "session_id",
)
_log = logging.getLogger("memwell.compat.dbgpt")
_UNSCORED = 5
"""The score of a fragment when there is no scorer: the middle of 0 to 10."""
_HIGHEST = 10.0
_CONTENT = "{content}"
_NUMBER = re.compile(r"(?:(?<![\w-])-)?\d+(?:\.\d+)?")
_ITEM = re.compile(r"\s*(?:\d+\s*[.)、．）]|[-*•])\s*")


class InsightExtractor(ABC, Generic[T]):
    """Draws insights from a fragment."""

    @abstractmethod
    async def extract_insights(self, memory_fragment: T, llm_client: Any = None) -> InsightMemoryFragment[T]:
        """The insights, possibly none. Errors are passed to the writer of the fragment."""


class ImportanceScorer(ABC, Generic[T]):
    """Scores how important a fragment is."""

    @abstractmethod
    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        """From 0 to 10. Errors are passed to the writer of the fragment."""


class Memory(ABC, Generic[T]):
    """The base of all memories of an agent."""

    name: str | None = None
    llm_client: Any = None
    importance_scorer: ImportanceScorer[T] | None = None
    insight_extractor: InsightExtractor[T] | None = None
    _real_memory_fragment_class: type[T] | None = None
    importance_weight: float = 0.15
    _session_id: str | None = None
    _parts: tuple[Memory[T], ...] = ()
    """The memories that this one consists of: they have the same settings and session."""
    _default_importance_scorer: ImportanceScorer[T] | None = None
    _default_insight_extractor: InsightExtractor[T] | None = None
    _default_fragment_class: type[T] | None = None

    @property
    def session_id(self) -> str | None:
        """The current session: stored fragments are labelled with it, and only those of it are read; None for all."""
        return self._parts[-1].session_id if self._parts else self._session_id

    @session_id.setter
    def session_id(self, session_id: str | None) -> None:
        self._session_id = session_id
        for part in self._parts:
            part.session_id = session_id

    def initialize(
        self,
        name: str | None = None,
        llm_client: Any = None,
        importance_scorer: ImportanceScorer[T] | None = None,
        insight_extractor: InsightExtractor[T] | None = None,
        real_memory_fragment_class: type[T] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Name the memory's agent and the model, scorer and extractor it asks. What is not given gets its default."""
        self.name = name
        self.llm_client = llm_client
        self.importance_scorer = importance_scorer or self._default_importance_scorer
        self.insight_extractor = insight_extractor or self._default_insight_extractor
        self._real_memory_fragment_class = real_memory_fragment_class or self._default_fragment_class
        self.session_id = session_id
        settings = (self.importance_scorer, self.insight_extractor, self._real_memory_fragment_class, session_id)
        for part in self._parts:
            part.initialize(name, llm_client, *settings)

    @abstractmethod
    def structure_clone(self, now: datetime | None = None) -> Self:
        """A memory of the same kind and settings that holds nothing of its own yet."""

    def _copy_from(self, memory: Memory[T]) -> None:
        """Take the settings of another memory."""
        for name in _SETTINGS:
            setattr(self, name, getattr(memory, name))

    @abstractmethod
    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment and return what was discarded for it, or None."""

    async def write_batch(self, memory_fragments: Sequence[T], now: datetime | None = None) -> Discarded[T]:
        """Store fragments and return all that was discarded for them, or None."""
        dropped: list[T] = []
        insights: list[InsightMemoryFragment[T]] = []
        for one in memory_fragments:
            discarded = await self.write(one, now)
            if discarded is not None:
                dropped += discarded.discarded_memory_fragments
                insights += discarded.discarded_insights
        return DiscardedMemoryFragments(dropped, insights) if dropped or insights else None

    @abstractmethod
    async def read(self, observation: str, alpha: Weight = None, beta: Weight = None, gamma: Weight = None) -> list[T]:
        """Fragments for an observation. The coefficients weigh recency, similarity and importance in long-term memory."""

    async def reflect(self, memory_fragments: list[T]) -> list[T]:
        """Draw insights from fragments. For subclasses; here it returns the fragments."""
        return memory_fragments

    async def handle_duplicated(self, memory_fragments: list[T], new_memory_fragments: list[T]) -> list[T]:
        """The fragments and the new ones. A new fragment replaces an old one of its id."""
        return list({one.id: one for one in (*memory_fragments, *new_memory_fragments)}.values())

    async def handle_overflow(self, memory_fragments: list[T]) -> tuple[list[T], list[T]]:
        """The fragments to keep, and those to discard."""
        return memory_fragments, []

    @abstractmethod
    async def clear(self) -> list[T]:
        """Empty the memory and return what was in it."""

    async def get_insights(self, memory_fragments: Sequence[T]) -> list[InsightMemoryFragment[T]]:
        """The insights from each fragment, in their order; the extractor is called for all at once.

        Without an extractor the list is empty. A fragment without insights has an ``InsightMemoryFragment`` that holds
        none. Raises ``InvalidInput`` when the extractor returns something else.
        """
        if self.insight_extractor is None:
            return []
        found = await _called(self.insight_extractor.extract_insights, memory_fragments, self.llm_client)
        return [_insight(one, answer) for one, answer in zip(memory_fragments, found, strict=True)]

    async def score_memory_importance(self, memory_fragments: Sequence[T]) -> list[float]:
        """The score of each fragment, times ``importance_weight``; the scorer is called for all at once.

        Without a scorer each scores 5. Raises ``InvalidInput`` for a score that is no finite number.
        """
        if self.importance_scorer is None:
            return [_UNSCORED * self.importance_weight for _ in memory_fragments]
        scores = await _called(self.importance_scorer.score_importance, memory_fragments, self.llm_client)
        return [check_importance(score, "a score") * self.importance_weight for score in scores]

    async def _importances(self, memory_fragments: Sequence[T]) -> list[float]:
        """The importance of each fragment: its own, else what the scorer says."""
        unscored = [one for one in memory_fragments if one.importance is None]
        scores = iter(await self.score_memory_importance(unscored) if unscored else ())
        return [next(scores) if one.importance is None else one.importance for one in memory_fragments]

    @property
    def real_memory_fragment_class(self) -> type[T]:
        """The class of the fragments to make; raises ``InvalidInput`` when ``initialize`` named none."""
        if self._real_memory_fragment_class is None:
            raise InvalidInput("The real memory fragment class is not set.")
        return self._real_memory_fragment_class

    write_sync = blocking(write)
    write_batch_sync = blocking(write_batch)
    read_sync = blocking(read)
    reflect_sync = blocking(reflect)
    clear_sync = blocking(clear)
    get_insights_sync = blocking(get_insights)
    score_memory_importance_sync = blocking(score_memory_importance)


class BatchMemory(Memory[T]):
    """A memory whose ``write`` is a ``write_batch`` of one fragment."""

    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment as ``write_batch`` does. A recalled fragment (``RETRIEVAL``) is not stored again."""
        return None if op == WriteOperation.RETRIEVAL else await self.write_batch([memory_fragment], now)


def _insight(fragment: T, answer: object) -> InsightMemoryFragment[T]:
    if answer is None:
        return InsightMemoryFragment(fragment, [])
    if not isinstance(answer, InsightMemoryFragment):
        raise InvalidInput(f"an extractor must give an InsightMemoryFragment, not {shown(answer)}")
    return cast("InsightMemoryFragment[T]", answer)


async def _called(call: Callable[[T, Any], Any], fragments: Sequence[T], llm_client: Any) -> list[Any]:
    tasks = [asyncio.ensure_future(_answer(call, one, llm_client)) for one in fragments]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # When one failed, the others are not needed.
        for task in tasks:
            task.cancel()


async def _answer(call: Callable[[T, Any], Any], fragment: T, llm_client: Any) -> Any:
    # A scorer may be a plain function.
    answer = call(fragment, llm_client)
    return await answer if inspect.isawaitable(answer) else answer


# Models


def as_core_embedder(embeddings: Any) -> Embedder:
    """An embedder of an ``Embedder``, a function of texts, or an object with ``embed_documents``, as DB-GPT's are.

    Raises ``InvalidInput`` for anything else.
    """
    documents = getattr(embeddings, "embed_documents", None)
    if isinstance(embeddings, Embedder) or not callable(documents):
        return as_embedder(embeddings)
    model = getattr(embeddings, "model_name", None) or getattr(embeddings, "model", "")
    # Stored vectors are labelled with the name: two models of one class must not share it.
    return as_embedder(documents, name=f"{type(embeddings).__qualname__} {model}".strip())


class ContentImportanceScorer(ImportanceScorer[T]):
    """Scores by rule, the same for the same text: names, numbers, dates and decisions weigh more than small talk."""

    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        return _HIGHEST * importance_of(memory_fragment.raw_observation)


@dataclass
class ModelRequest:
    """A request to a model."""

    model: str
    messages: list[ModelMessage]
    temperature: float | None = None
    top_p: float | None = None
    max_new_tokens: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    context_len: int | None = None
    echo: bool | None = False
    span_id: str | None = None
    context: Any = None
    stream: bool = field(default=False, kw_only=True)

    @classmethod
    def build_request(cls, model: str, messages: list[ModelMessage], **options: Any) -> Self:
        """A request of these messages."""
        return cls(model, list(messages), **options)

    def get_messages(self) -> list[ModelMessage]:
        """The messages."""
        return list(self.messages)

    def to_common_messages(self, support_system_role: bool = True) -> list[dict[str, Any]]:
        """The messages in OpenAI's shape."""
        return ModelMessage.to_common_messages(self.messages, support_system_role=support_system_role)


class BaseLLMCaller:
    """Calls a model. ``prompt`` has ``{content}`` where the text goes; ``model`` names one of several.

    ``llm_client`` is used when a call names no other. Raises ``InvalidInput`` for a prompt without ``{content}``.
    """

    prompt: str = _CONTENT
    model: str | None = None

    def __init__(self, prompt: str | None = None, model: str | None = None, llm_client: Any = None) -> None:
        self.prompt = self.prompt if prompt is None else prompt
        if _CONTENT not in self.prompt:
            raise InvalidInput(f"a prompt has {_CONTENT} where the content goes, not {shown(self.prompt)}")
        self.model = model or self.model
        self.llm_client = llm_client

    async def call_llm(self, prompt: str, llm_client: Any = None, **kwargs: str) -> str:
        """The model's answer to a prompt, with ``{name}`` replaced for every keyword argument.

        Raises ``InvalidInput`` without a client, ``ModelError`` when the model fails and ``BadModelOutput`` when it does
        not answer in text.
        """
        client = self.llm_client if llm_client is None else llm_client
        if client is None:
            raise InvalidInput("LLM client is required.")
        # In one pass, and not with str.format: braces in the text or the prompt are the user's own.
        text = re.sub(r"\{(\w+)\}", lambda found: kwargs.get(found[1], found[0]), prompt)
        try:
            answer = await self._answer(client, text)
        except MemwellError:
            raise
        except Exception as error:
            # A client may raise anything; callers handle one error for all of them.
            raise ModelError(f"the model failed: {type(error).__name__}: {shown(str(error))}") from error
        if not isinstance(answer, str):
            raise BadModelOutput(f"the model did not answer in text: {shown(answer)}")
        return answer

    async def _answer(self, client: Any, text: str) -> Any:
        if isinstance(client, ChatModel):
            return (await client.acomplete([human(text)])).text
        if callable(getattr(client, "generate", None)):
            model = self.model or await self.get_model(client)
            output = await client.generate(ModelRequest.build_request(model, [ModelMessage.build_human_message(text)]))
            if not getattr(output, "success", True):
                raise ModelError(f"Call LLM failed. {shown(getattr(output, 'text', output))}")
            return output.text
        if not callable(client):
            raise InvalidInput(f"a model must be a ChatModel, a function or have 'generate', not {shown(client)}")
        # A blocking function would block the event loop.
        answer = client(text) if inspect.iscoroutinefunction(client) else await run_blocking(partial(client, text))
        return await answer if inspect.isawaitable(answer) else answer

    async def get_model(self, llm_client: Any) -> str:
        """The name of the client's first model, empty when it does not say; raises ``InvalidInput`` when it has none."""
        if not callable(getattr(llm_client, "models", None)):
            return ""
        models = await llm_client.models()
        if not models:
            raise InvalidInput("No models available.")
        self.model = str(models[0].model)
        return self.model


class LLMInsightExtractor(BaseLLMCaller, InsightExtractor[T]):
    """Asks a model what follows from a fragment. Every line of the answer is an insight; its number or dash goes."""

    prompt: str = (
        "Below is something an agent remembers. What does it show beyond what it says? Answer in one sentence, in the "
        "language of the text, and do not repeat it.\n\n{content}\n\nAnswer:"
    )

    async def extract_insights(self, memory_fragment: T, llm_client: Any = None) -> InsightMemoryFragment[T]:
        answer = await self.call_llm(self.prompt, llm_client, content=memory_fragment.raw_observation)
        lines = (_ITEM.sub("", line, count=1) if _ITEM.match(line) else line for line in answer.splitlines())
        return InsightMemoryFragment(memory_fragment, [line.strip() for line in lines if line.strip()])


class LLMImportanceScorer(BaseLLMCaller, ImportanceScorer[T]):
    """Asks a model how much a fragment matters: the first number of the answer, no less than 0 and no more than 10.

    An answer without a number says nothing: then the content decides, as with ``ContentImportanceScorer``.
    """

    prompt: str = (
        "How important is it to remember the following? Facts, events, skills learnt, feelings and intentions count; small "
        "talk does not. Answer with one whole number from 1 to 10.\n\n{content}\n\nNumber:"
    )

    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        answer = await self.call_llm(self.prompt, llm_client, content=memory_fragment.raw_observation)
        found = _NUMBER.search(answer)
        if found is None:
            _log.warning("the model gave no number for an importance but %s; the content decides", shown(answer))
            return await ContentImportanceScorer[T]().score_importance(memory_fragment)
        return min(max(float(found[0]), 0.0), _HIGHEST)
