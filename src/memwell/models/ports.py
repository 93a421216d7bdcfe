"""The interfaces of models: ``Embedder``, ``ChatModel`` and ``Reranker``, which all other code is written against.

A model blocks; each method has an async twin with an ``a`` in front. Any method may raise ``ModelError`` (the model failed
or cannot be reached) or ``BadModelOutput`` (its answer has the wrong form).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell._asyncify import asyncify, run_blocking
from memwell.errors import BadModelOutput, InvalidInput
from memwell.messages import Message
from memwell.records import MAX_DIMENSIONS
from memwell.values import shown


class Embedder(ABC):
    """Turns texts into vectors."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of these vectors. It changes when any text's vector does, because stored ones are then made again."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length of a vector."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of unit length for every text, in order.

        A text with nothing to embed, such as an empty one, has a row of zeros and is stored without a vector. Raises
        ``InvalidInput`` for anything but texts.
        """

    aembed = asyncify(embed)


class Tool(msgspec.Struct, frozen=True):
    """A tool that a model may call: its name, its description, and its arguments as a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Usage(msgspec.Struct, frozen=True):
    """The tokens of a call, as the model counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a model, with its usage and cost."""

    message: Message
    model: str
    finish: str = "stop"
    """Why it ended: ``stop``, ``length`` (cut off), ``tool_calls``, or another word of the provider."""
    usage: Usage | None = None
    """None when the model did not report it."""
    cost: float | None = None
    """In the currency of the prices; None when the price is unknown."""
    data: Any = None
    """The answer as JSON data, when a schema was given."""

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.message.text


class Delta(msgspec.Struct, frozen=True):
    """A part of a streamed answer. The last one has no text but the whole completion."""

    text: str = ""
    completion: Completion | None = None


class ChatOptions(TypedDict, total=False):
    """The options of a call. The model decides what is left out."""

    tools: Sequence[Tool] | None
    """The tools that the model may call."""
    max_tokens: int | None
    """The longest answer."""
    temperature: float | None
    stop: Sequence[str] | None
    """The answer ends before any of these."""
    schema: Mapping[str, Any] | None
    """A JSON Schema: the answer must be JSON of this form, and is in ``Completion.data``.
    That it is JSON is checked; that it has the form is not."""


class ChatModel(ABC):
    """Answers messages."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the model."""

    @abstractmethod
    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        """The answer to these messages. Raises ``InvalidInput`` for an invalid message."""

    def stream(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Iterator[Delta]:
        """The answer in parts, then the whole completion. A model that cannot stream returns one part."""
        completion = self.complete(messages, **options)
        if completion.text:
            yield Delta(completion.text)
        yield Delta(completion=completion)

    acomplete = asyncify(complete)

    async def astream(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> AsyncIterator[Delta]:
        """The async twin of ``stream``."""
        pieces = self.stream(messages, **options)
        try:
            while (piece := await run_blocking(partial(next, pieces, None))) is not None:
                yield piece
        finally:
            # A reader that stops early must not leave the connection open.
            close = getattr(pieces, "close", None)
            if close is not None:
                await run_blocking(close)


class Reranker(ABC):
    """Scores how well texts answer a query."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the model."""

    @abstractmethod
    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A finite score for every text, in order; higher is better. The scale is the model's own."""

    ascores = asyncify(scores)


# Checks of what models return: its number, its shape, and that all numbers are finite.

Floats = NDArray[np.float32]


def given_texts(texts: object) -> list[str]:
    """The texts as a list. Raises ``InvalidInput`` for anything but a list of strings."""
    # A list is the usual case, and the general check is slow.
    if type(texts) is not list and (isinstance(texts, str | bytes) or not isinstance(texts, Iterable)):
        raise InvalidInput(f"texts must be a list of strings, not {shown(texts)}")
    given = list(cast("Iterable[object]", texts))
    for one in given:
        if not isinstance(one, str):
            raise InvalidInput(f"a text must be a string, not {shown(one)}")
    return cast("list[str]", given)


def checked_vectors(value: object, count: int, model: str, dimensions: int | None = None) -> Floats:
    """``count`` rows of unit length, or of zeros where the model returned zeros.

    Raises ``BadModelOutput`` for another number or length of rows, and for values that are no numbers.
    """
    rows = _numbers(value, model)
    if rows.ndim != 2 or len(rows) != count:
        raise BadModelOutput(f"{model} gave vectors of shape {rows.shape} for {count} texts")
    size = rows.shape[1]
    if count and (not 0 < size <= MAX_DIMENSIONS or size != (dimensions or size)):
        expected = dimensions or f"1 to {MAX_DIMENSIONS}"
        raise BadModelOutput(f"{model} gave vectors of {size} numbers, not {expected}")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BadModelOutput(f"{model} gave a vector that holds NaN or numbers without end")
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _numbers(value: object, model: str) -> NDArray[np.float64]:
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray | str | bytes):
        value = list(cast("Iterable[object]", value))
        if not value:
            return np.zeros((0, 0))
    try:
        rows = np.asarray(value)
        if rows.dtype.kind in "fiu":
            return rows.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadModelOutput(f"{model} gave no vectors: {error}") from error
    raise BadModelOutput(f"{model} gave no vectors but {shown(cast(object, value))}")


def checked_scores(value: object, count: int, model: str) -> list[float]:
    """``count`` finite numbers. Raises ``BadModelOutput`` otherwise."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise BadModelOutput(f"{model} gave no scores but {shown(value)}")
    scores = _floats(cast("Iterable[object]", value), model)
    if len(scores) != count:
        raise BadModelOutput(f"{model} gave {len(scores)} scores for {count} texts")
    if not all(map(math.isfinite, scores)):
        raise BadModelOutput(f"{model} gave a score that is not finite: {shown(scores)}")
    return scores


def _floats(values: Iterable[object], model: str) -> list[float]:
    try:
        return [float(cast(float, value)) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise BadModelOutput(f"{model} gave a score that is no number: {error}") from error


def zero_rows(texts: Sequence[str], dimensions: int) -> Floats:
    """A row of zeros for every text."""
    return np.zeros((len(texts), dimensions), np.float32)
