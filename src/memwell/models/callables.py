"""Models made of plain functions, blocking or async; every result is checked.

embedder = as_embedder(lambda texts: my_model.encode(texts))
chat = as_chat_model(lambda messages: ask(messages[-1].text))
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, Unpack

from memwell._asyncify import block_on
from memwell.errors import BadModelOutput, InvalidInput, MemwellError, ModelError
from memwell.messages import Message, Role, ai, check_message
from memwell.models.ports import (
    ChatModel,
    ChatOptions,
    Completion,
    Embedder,
    Floats,
    Reranker,
    checked_scores,
    checked_vectors,
    given_texts,
    zero_rows,
)
from memwell.values import shown

T = TypeVar("T")


def as_embedder(thing: Any, *, name: str | None = None, dimensions: int | None = None) -> Embedder:
    """An embedder made of a function from texts to vectors, or of an object with such a method ``embed``.

    Give a ``name`` that changes with the model, because stored vectors are labelled with it. The default ``dimensions`` are
    those of the first call. Raises ``InvalidInput`` for anything else.
    """
    if isinstance(thing, Embedder):
        return thing
    return _CalledEmbedder(_callable(thing, "embed"), name or _name_of(thing), dimensions)


def as_chat_model(thing: Any, *, name: str | None = None) -> ChatModel:
    """A chat model made of a function from messages to a text, ``Message`` or ``Completion``, or of a method ``complete``.

    The options of a call (``max_tokens``, ``tools`` and so on) are passed if the function has such parameters.
    """
    if isinstance(thing, ChatModel):
        return thing
    return _CalledChat(_callable(thing, "complete"), name or _name_of(thing))


def as_reranker(thing: Any, *, name: str | None = None) -> Reranker:
    """A reranker made of a function from a query and texts to scores, or of an object with such a method ``scores``."""
    if isinstance(thing, Reranker):
        return thing
    return _CalledReranker(_callable(thing, "scores"), name or _name_of(thing))


def _callable(thing: Any, method: str) -> Callable[..., Any]:
    found = getattr(thing, method, thing)
    if not callable(found):
        raise InvalidInput(f"a model must be a function or have a method {method!r}, not {shown(thing)}")
    return found


def _name_of(thing: Any) -> str:
    name = getattr(thing, "name", None) or getattr(thing, "__qualname__", None)
    return name if isinstance(name, str) else type(thing).__qualname__


def answer_of(name: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call the function and await its result if necessary. Its errors become a ``ModelError``."""
    try:
        answer = call(*args, **options)
        return block_on(_awaited(answer)) if inspect.isawaitable(answer) else answer
    except MemwellError:
        raise
    except Exception as error:
        # Foreign code may raise anything.
        raise ModelError(f"{name} failed: {type(error).__name__}: {shown(str(error))}") from error


async def _awaited(answer: Awaitable[T]) -> T:
    return await answer


class _CalledEmbedder(Embedder):
    """An embedder that calls a function."""

    def __init__(self, call: Callable[..., Any], name: str, dimensions: int | None) -> None:
        self._call = call
        self._name = name
        self._given = dimensions

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        if self._given is None:
            self._given = self._checked(["dimensions"]).shape[1]
        return self._given

    def embed(self, texts: Sequence[str]) -> Floats:
        given = given_texts(texts)
        return self._checked(given) if given else zero_rows(given, self.dimensions)

    def _checked(self, texts: list[str]) -> Floats:
        vectors = checked_vectors(answer_of(self._name, self._call, texts), len(texts), self._name, self._given)
        self._given = vectors.shape[1]
        return vectors


class _CalledChat(ChatModel):
    """A chat model that calls a function."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self._call = call
        self._name = name
        self._taken = _options_taken(call)

    @property
    def name(self) -> str:
        return self._name

    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        passed = {key: value for key, value in options.items() if self._taken is None or key in self._taken}
        given = [check_message(one) for one in messages]
        return completion_of(answer_of(self._name, self._call, given, **passed), self._name)


def _options_taken(call: Callable[..., Any]) -> frozenset[str] | None:
    """The names of the options a function takes; None when it takes any."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        # Some built-in callables have no signature to read.
        return frozenset()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return frozenset(one.name for one in parameters if one.kind in named)


def completion_of(answer: object, model: str) -> Completion:
    """A completion made of a function's result. Raises ``BadModelOutput`` for an invalid one."""
    if isinstance(answer, Completion):
        return answer
    if isinstance(answer, str):
        answer = ai(answer)
    if not isinstance(answer, Message) or answer.role is not Role.AI:
        raise BadModelOutput(f"{model} answered neither a text, nor an AI message, nor a Completion: {shown(answer)}")
    try:
        return Completion(message=check_message(answer), model=model)
    except InvalidInput as error:
        raise BadModelOutput(f"{model} answered what cannot be kept: {error}") from error


class _CalledReranker(Reranker):
    """A reranker that calls a function."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self._call = call
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        given = given_texts(texts)
        return checked_scores(answer_of(self._name, self._call, query, given), len(given), self._name) if given else []
