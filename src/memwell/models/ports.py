"""The interfaces of models: ``Embedder``, ``ChatModel`` and ``Reranker``, which all other code is written against.

A model blocks; each method has an async twin with an ``a`` in front. Any method may raise ``ModelError`` (the model failed
or cannot be reached) or ``BadModelOutput`` (its answer has the wrong form). ``as_embedder``, ``as_chat_model`` and
``as_reranker`` make one of a plain function.
"""

from __future__ import annotations

import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, TypeVar, Unpack, cast, get_args

import msgspec

from memwell._asyncify import asyncify, block_on
from memwell.errors import BadModelOutput, InvalidInput, MemwellError, ModelError
from memwell.language.words import en_or_zh
from memwell.messages import Message, Role, ai, check_message
from memwell.records import MAX_DIMENSIONS
from memwell.values import check_items, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memwell.models.local.embedder import Mode


Floats: TypeAlias = "NDArray[np.float32]"
"""Vectors. numpy is imported by the functions that need it: programs that only converse do without it."""


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

    @property
    def shared_from(self) -> int | None:
        """From which number on vectors of texts in different languages are comparable; None: as a whole.

        The numbers before it are of one language: a text in another has zeros there. Each part may be scaled, as long as
        the whole has unit length; across languages the cosine of the shared parts counts.
        """
        return None

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of unit length for every text, in order.

        A text with nothing to embed, such as an empty one, has a row of zeros and is stored without a vector. Raises
        ``InvalidInput`` for anything but texts.
        """

    def towards_answers(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vector of a question, turned towards the vectors of texts that answer it: memories are ranked by it.

        The same vector, unless the embedder knows better.
        """
        return vector

    aembed = asyncify(embed)


class QueryTokens(NamedTuple):
    """A query in pieces: the vector of each, its weight (all add up to 1), and the word it is a part of."""

    vectors: NDArray[np.float32]
    weights: NDArray[np.float32]
    words: list[str]


class WordMatch(msgspec.Struct, frozen=True):
    """A word of a query, the word of a memory that matches it best, and how well, up to 1."""

    asked: str
    found: str
    similarity: float


class TokenEmbedder(Embedder):
    """An embedder that also has a vector for each piece of a text, so that a query and a text can be compared in detail.

    This is called late interaction: the score of a text is the mean, over the pieces of the query, of the best match among
    its own pieces. Token vectors are stored as bytes of the embedder's own format.
    """

    @abstractmethod
    def embed_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[bytes]]:
        """The rows of ``embed``, and the token vectors of every text; empty for a text that it has none for."""

    @abstractmethod
    def embed_query(self, query: str) -> tuple[NDArray[np.float32], QueryTokens | None]:
        """The row of a query, and its token vectors, or None when it has none."""

    def unpacked(self, tokens: Sequence[bytes]) -> list[bytes]:
        """Stored token vectors, some perhaps empty, as they are compared. They are kept in memory, so it is done once.

        The same bytes, unless the embedder compares others faster.
        """
        return list(tokens)

    @abstractmethod
    def best_matches(self, query: QueryTokens, texts: Sequence[bytes]) -> NDArray[np.float32]:
        """How well each piece of a query is matched by the best piece of each text, times its weight: a row a piece.

        The texts are given as unpacked token vectors, which are not empty. The sum of a column is the score of its text.
        """

    @abstractmethod
    def word_matches(self, query: QueryTokens, tokens: Sequence[bytes], texts: Sequence[str]) -> list[list[WordMatch]]:
        """The few words of a query that each text answers best, the weightiest first.

        The ``tokens`` are unpacked, and not empty.
        """


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

    acomplete = asyncify(complete)


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


# Checks of what models answer: how many vectors or scores, which shape, finite numbers.


def given_texts(texts: object) -> list[str]:
    """The texts as a list. Raises ``InvalidInput`` for anything but a list of strings."""
    return check_items(texts, str, "texts must be a list of strings")


def checked_vectors(value: object, count: int, model: str, dimensions: int | None = None) -> Floats:
    """``count`` rows of unit length, or of zeros where the model returned zeros.

    Raises ``BadModelOutput`` for another number or length of rows, and for values that are no numbers.
    """
    import numpy as np  # noqa: PLC0415 - see above

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
    import numpy as np  # noqa: PLC0415 - see above

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
    import numpy as np  # noqa: PLC0415 - see above

    return np.zeros((len(texts), dimensions), np.float32)


# Embedders by name, so that a space with the vectors of another embedder can still be searched. Those of the package are
# known; a program registers others by ``offer_embedder(mine)``.

_offered: dict[str, Embedder] = {}
_HASHED = re.compile(r"hash-(\d{1,5})-")


def offer_embedder(embedder: Embedder) -> None:
    """Register an embedder by its name in this process; it replaces one of the same name."""
    _offered[embedder.name] = embedder


def embedder_named(name: str) -> Embedder | None:
    """The embedder of this name, or None when it is unknown. Its model is loaded on first use."""
    return _offered.get(name) or _hashed(name) or _local(name)


def _local(name: str) -> Embedder | None:
    # Imported here because most spaces never need it.
    from memwell.models.local.embedder import LocalEmbedder, Mode  # noqa: PLC0415

    modes: tuple[Mode, ...] = get_args(Mode)
    made = {mode: LocalEmbedder(mode) for mode in modes}
    return next((one for mode, one in made.items() if name in (mode, one.name)), None)


def _hashed(name: str) -> Embedder | None:
    found = _HASHED.match(name)
    if found is None:
        return None
    from memwell.models.scripted import HashEmbedder  # noqa: PLC0415 - as above

    made = HashEmbedder(max(int(found[1]), 8))
    return made if made.name == name else None


# Models made of plain functions, blocking or async; every result is checked.

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

    The options of a call (``max_tokens``, ``tools`` and so on) are passed if the function has such parameters. An object
    with ``invoke`` or ``predict``, such as LangChain's models, hears the messages as one text.
    """
    if isinstance(thing, ChatModel):
        return thing
    ask = getattr(thing, "invoke", None) or getattr(thing, "predict", None)
    if callable(ask) and not hasattr(thing, "complete"):
        return prompted(ask, name or _name_of(thing))
    return _CalledChat(_callable(thing, "complete"), name or _name_of(thing))


def prompted(ask: Callable[[str], Any], name: str) -> ChatModel:
    """A chat model made of a function from a prompt to a text, or to a message that has it as ``text`` or ``content``."""

    def answer(messages: Sequence[Message]) -> Any:
        said = answer_of(name, ask, _prompt(messages))
        texts = (said, getattr(said, "text", None), getattr(said, "content", None))
        # The text of LangChain's messages is a subclass of str, which a store would refuse.
        return next((str.__str__(one) for one in texts if isinstance(one, str)), said)

    return _CalledChat(answer, name)


def _prompt(messages: Sequence[Message]) -> str:
    """The messages as one text, with who said what where there are several."""
    if len(messages) == 1:
        return messages[0].text
    is_chinese = en_or_zh(messages[-1].text) == "zh"
    speakers = (
        {Role.HUMAN: "用户：", Role.AI: "助手："} if is_chinese else {Role.HUMAN: "User: ", Role.AI: "Assistant: "}
    )
    return "\n\n".join(speakers.get(one.role, "") + one.text for one in messages)


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


class _Called:
    """A function and the name of the model that it is."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self._call = call
        self._name = name

    @property
    def name(self) -> str:
        return self._name


class _CalledEmbedder(_Called, Embedder):
    """An embedder that calls a function."""

    def __init__(self, call: Callable[..., Any], name: str, dimensions: int | None) -> None:
        super().__init__(call, name)
        self._given = dimensions

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


class _CalledChat(_Called, ChatModel):
    """A chat model that calls a function."""

    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        taken = _options_taken(self._call)
        passed = {key: value for key, value in options.items() if taken is None or key in taken}
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


class _CalledReranker(_Called, Reranker):
    """A reranker that calls a function."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        given = given_texts(texts)
        return checked_scores(answer_of(self._name, self._call, query, given), len(given), self._name) if given else []
