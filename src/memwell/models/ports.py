"""The contracts of models. Everything above is written against these classes and never against a provider.

A model blocks; each method has an async twin of the same name with an ``a`` in front. Any method may raise ``ModelError``
(the model failed or cannot be reached) or ``BadModelOutput`` (it answered, but not in the form it was asked for).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell._asyncify import asyncify, run_blocking
from memwell.errors import BadModelOutput, InvalidInput
from memwell.messages import Message
from memwell.records import MAX_DIMENSIONS
from memwell.values import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(ABC):
    """Turns texts into vectors."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Which vectors these are. It changes whenever any text's vector does, because stored ones must be made again."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for every text, in order, of unit length.

        A text with nothing to embed, such as an empty one, has a row of zeros: it has no direction, so store no vector for
        it. Raises ``InvalidInput`` for something that is not a text.
        """

    aembed = asyncify(embed)


class Tool(msgspec.Struct, frozen=True):
    """A tool that a model may call: its name, what it does, and its arguments as a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Usage(msgspec.Struct, frozen=True):
    """How many tokens a call took, as the model counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """What a model answered, and what it took."""

    message: Message
    model: str
    finish: str = "stop"
    """Why it ended: ``stop``, ``length`` (cut off), ``tool_calls``, or another word of the provider's."""
    usage: Usage | None = None
    """None when the model did not say."""
    cost: float | None = None
    """In the currency of the prices; None when the price is not known."""
    data: Any = None
    """The answer as JSON data, when a schema was asked for."""

    @property
    def text(self) -> str:
        """The words of the answer."""
        return self.message.text


class Delta(msgspec.Struct, frozen=True):
    """A piece of an answer as it comes. The last one has no text but the whole completion."""

    text: str = ""
    completion: Completion | None = None


class ChatOptions(TypedDict, total=False):
    """How to answer. What is left out, the model decides."""

    tools: Sequence[Tool] | None
    """What the model may call."""
    max_tokens: int | None
    """The longest answer."""
    temperature: float | None
    stop: Sequence[str] | None
    """The answer ends before any of these."""
    schema: Mapping[str, Any] | None
    """A JSON Schema: the answer is to be JSON of this form, and comes as ``Completion.data``.
    That it is JSON is checked; that it has the form is not."""


class ChatModel(ABC):
    """Answers messages."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Which model answers."""

    @abstractmethod
    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        """The answer to these messages. Raises ``InvalidInput`` for a message that breaks a rule."""

    def stream(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Iterator[Delta]:
        """The answer piece by piece, and at last the whole. A model that cannot stream gives it in one piece."""
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
            # A reader who leaves early must not leave the connection open.
            close = getattr(pieces, "close", None)
            if close is not None:
                await run_blocking(close)


class Reranker(ABC):
    """Says how well texts answer a query."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Which model judges."""

    @abstractmethod
    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A finite number for every text, in order; the higher the better. Their scale is the model's own."""

    ascores = asyncify(scores)


# What models answer is checked before anything else sees it: how many, what shape, and that every number is one.


Floats = NDArray[np.float32]


def given_texts(texts: object) -> list[str]:
    """The texts to work on. Raises ``InvalidInput`` when they are not a list of strings."""
    # The list is by far the most common, and asking for the general case takes longer than the rest.
    if type(texts) is not list and (isinstance(texts, str | bytes) or not isinstance(texts, Iterable)):
        raise InvalidInput(f"texts must be a list of strings, not {shown(texts)}")
    given = list(cast("Iterable[object]", texts))
    for one in given:
        if not isinstance(one, str):
            raise InvalidInput(f"a text must be a string, not {shown(one)}")
    return cast("list[str]", given)


def checked_vectors(value: object, count: int, model: str, dimensions: int | None = None) -> Floats:
    """``count`` rows of unit length, or of zeros where the model gave zeros.

    Raises ``BadModelOutput`` for another number of rows, rows of different or unexpected sizes, and what is no number.
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
    """A row of zeros for every text, to be filled in."""
    return np.zeros((len(texts), dimensions), np.float32)
