"""Models of any server with OpenAI's API: Ollama, vLLM, llama.cpp, LM Studio, or a provider.

server = OpenAICompatible("http://localhost:11434/v1")
chat = server.chat("qwen3:4b")
print(chat.complete([human("Hello")]).text)
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, cast
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from memwell._asyncify import Closing
from memwell.errors import BadModelOutput, ConfigurationError, InvalidInput, MissingDependency, ModelError
from memwell.messages import Message
from memwell.models.ledger import Ledger
from memwell.models.ports import (
    ChatModel,
    ChatOptions,
    Completion,
    Embedder,
    Floats,
    Tool,
    Usage,
    checked_vectors,
    given_texts,
    zero_rows,
)
from memwell.stages import stage
from memwell.tokens import default_counter
from memwell.transcript import from_openai, to_openai
from memwell.values import check_json, drawn_between, shown

if TYPE_CHECKING:
    import httpx


# Requests to a server: retried, limited in time and size; the key never appears in a message.

MOST_BYTES = 64 * 1024 * 1024
"""The largest answer."""

_EXCERPT = 200
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts and retries of requests."""

    connect_s: float = 10.0
    """The time to connect."""
    read_s: float = 60.0
    """The time between two parts of an answer."""
    total_s: float = 300.0
    """The time of a whole answer; a retry has its own."""
    retries: int = 4
    """How often a request is repeated after 408, 409, 425, 429, most of 5xx, or when the server was not reached."""
    first_wait_s: float = 0.5
    """The upper bound of the first random wait; it doubles with each retry."""
    most_wait_s: float = 30.0
    """The upper bound of every wait. When a server asks for a longer one, the call fails."""


class Transport:
    """A connection to one server. Thread-safe; at most ``concurrency`` requests run at a time.

    Raises ``MissingDependency`` without httpx and ``ConfigurationError`` for an invalid address or key.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        patience: Patience | None = None,
        concurrency: int = 8,
        proxy: str | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = _checked_address(base_url)
        self._key = _checked_key(key)
        self._patience = patience or Patience()
        self._slots = threading.BoundedSemaphore(concurrency)
        self._pause = pause
        self._http = _httpx()
        headers = {"authorization": f"Bearer {key}"} if key else {}
        waits = self._http.Timeout(self._patience.read_s, connect=self._patience.connect_s)
        # Proxies, certificates and passwords of the environment are not used.
        self._client = self._http.Client(headers=headers, timeout=waits, trust_env=False, proxy=proxy)
        # Connections are closed also when nothing calls close().
        self._ends = weakref.finalize(self, self._client.close)

    def __repr__(self) -> str:
        return f"Transport({self.address!r})"

    def post(self, path: str, body: dict[str, Any]) -> bytes:
        """The whole answer to a request."""
        content = msgspec.json.encode(body)
        with self._slots:
            response = self._sent(path, content)
            try:
                return b"".join(self._chunks(response))
            finally:
                response.close()

    def close(self) -> None:
        """Close the connections."""
        self._ends()

    def excerpt(self, data: bytes | str) -> str:
        """The beginning of an answer for an error message, without the key."""
        text = data if isinstance(data, str) else data[: 4 * _EXCERPT].decode(errors="replace")
        text = " ".join(text.split())
        if self._key:
            text = text.replace(self._key, "***")
        return repr(text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…")

    def _sent(self, path: str, content: bytes) -> httpx.Response:
        for attempt in range(self._patience.retries + 1):
            last = attempt == self._patience.retries
            try:
                response = self._send(path, content)
            except (self._http.ConnectError, self._http.ConnectTimeout, self._http.RemoteProtocolError) as error:
                if last:
                    raise self._failure(error) from None
                self._pause(self._wait(attempt))
                continue
            except self._http.HTTPError as error:
                raise self._failure(error) from None
            if response.is_success:
                return response
            failure, asked = self._refusal(response)
            if last or response.status_code not in _RETRIED or (asked or 0.0) > self._patience.most_wait_s:
                raise failure
            self._pause(self._wait(attempt) if asked is None else asked)
        raise AssertionError("the last attempt returns or raises")

    def _send(self, path: str, content: bytes) -> httpx.Response:
        headers = {"content-type": "application/json"}
        request = self._client.build_request("POST", f"{self.address}/{path}", content=content, headers=headers)
        return self._client.send(request, stream=True)

    def _refusal(self, response: httpx.Response) -> tuple[ModelError, float | None]:
        """The error for a failed request, and how many seconds the server asks to wait."""
        try:
            said = self.excerpt(b"".join(self._chunks(response)))
        except ModelError:
            said = "nothing that could be read"
        finally:
            response.close()
        asked = _seconds(response.headers.get("retry-after"))
        later = "" if asked is None else f", and asks to wait {asked:g} s"
        status = f"{response.status_code} {response.reason_phrase}".strip()
        return ModelError(f"{self.address} answered {status}{later}: {said}"), asked

    def _chunks(self, response: httpx.Response) -> Iterator[bytes]:
        """The parts of a body as they arrive, up to a size and a time."""
        ends, size = time.monotonic() + self._patience.total_s, 0
        try:
            for chunk in response.iter_bytes():
                size += len(chunk)
                if size > MOST_BYTES:
                    raise BadModelOutput(f"{self.address} answered more than {MOST_BYTES:,} bytes")
                if time.monotonic() > ends:
                    raise ModelError(f"{self.address} did not complete its answer in {self._patience.total_s:g} s")
                yield chunk
        except self._http.DecodingError:
            raise BadModelOutput(f"{self.address} answered bytes that do not decompress") from None
        except self._http.RemoteProtocolError:
            raise BadModelOutput(f"{self.address} cut its answer off after {size:,} bytes") from None
        except self._http.HTTPError as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> ModelError:
        said = str(error) or "no details"
        return ModelError(f"{self.address} failed: {type(error).__name__}: {self.excerpt(said)}")

    def _wait(self, attempt: int) -> float:
        # A random wait, so that callers that failed together do not retry together.
        return drawn_between(0.0, min(self._patience.most_wait_s, self._patience.first_wait_s * 2**attempt))


def _seconds(retry_after: str | None) -> float | None:
    """The wait of a Retry-After header: a number of seconds, or a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def _checked_address(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        hidden = parts.username is not None or parts.password is not None or parts.query
    except ValueError:
        raise ConfigurationError("a base_url must be an address such as 'http://localhost:11434/v1'") from None
    if hidden:
        # Not shown, because it may be a key.
        raise ConfigurationError("a base_url must not hold a password or a query; give the key as key=…")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"a base_url must be an address such as 'http://localhost:11434/v1', not {shown(base_url)}"
        )
    return base_url.rstrip("/")


def _checked_key(key: str | None) -> str | None:
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        # Not shown, and not passed to httpx, whose error would show it.
        raise ConfigurationError("a key must be made of visible ASCII characters; is there a line break at its end?")
    return key


def _httpx() -> Any:
    try:
        return import_module("httpx")
    except ImportError as error:
        raise MissingDependency.of("models over HTTP need httpx", "openai") from error


# OpenAI's API: request bodies, and the parsing of answers.

Shape = dict[str, Any]
_decode = msgspec.json.Decoder().decode


def chat_body(model: str, messages: Sequence[Message], options: ChatOptions) -> Shape:
    """The body of a request. Raises ``InvalidInput`` for invalid messages or options."""
    body: Shape = {"model": model, "messages": to_openai(messages)}
    if not body["messages"]:
        raise InvalidInput("a chat model needs at least one message that models may see")
    for key in ("max_tokens", "temperature"):
        if options.get(key) is not None:
            body[key] = options.get(key)
    if options.get("stop"):
        body["stop"] = list(options.get("stop") or ())
    if options.get("tools"):
        body["tools"] = [_tool(one) for one in options.get("tools") or ()]
    schema = options.get("schema")
    if schema is not None:
        form = {"name": str(schema.get("title") or "answer"), "schema": dict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    check_json(body, "a request")
    return body


def _tool(tool: Tool) -> Shape:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def read_completion(data: bytes, model: str, *, wants_json: bool) -> Completion:
    """The answer of a model in a body. Raises ``BadModelOutput`` for a malformed one."""
    body = json_object(data)
    choice = _first_choice(body)
    message = _message(choice.get("message"))
    finish, served = choice.get("finish_reason"), body.get("model")
    return Completion(
        message=message,
        model=served if isinstance(served, str) and served else model,
        finish=finish if isinstance(finish, str) else "stop",
        usage=read_usage(body.get("usage")),
        data=_data(message) if wants_json and not message.tool_calls else None,
    )


def json_object(data: bytes | str) -> Shape:
    """The JSON object in a body. Raises ``BadModelOutput`` for anything else."""
    try:
        body = _decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise BadModelOutput("the answer is not JSON") from None
    if not isinstance(body, dict):
        raise BadModelOutput("the answer is not a JSON object")
    return cast(Shape, body)


def _first_choice(body: Shape) -> Shape:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise BadModelOutput("the answer has no choices")
    first = cast("list[object]", choices)[0]
    if not isinstance(first, dict):
        raise BadModelOutput(f"the first choice is no object: {shown(first)}")
    return cast(Shape, first)


def _message(shape: object) -> Message:
    if not isinstance(shape, dict):
        raise BadModelOutput("the answer has no message")
    try:
        (message,) = from_openai([{**cast(Shape, shape), "role": "assistant"}])
    except (InvalidInput, AttributeError, TypeError, ValueError) as error:
        raise BadModelOutput(f"the message is malformed: {error}") from error
    for call in message.tool_calls:
        if isinstance(call.arguments, str):
            said = shown(call.arguments)
            raise BadModelOutput(f"the arguments of the call of {call.name!r} are no JSON object: {said}")
    return message


def _data(message: Message) -> Any:
    try:
        return _decode(message.text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise BadModelOutput(f"the answer was to be JSON, and is not: {shown(message.text)}") from None


def read_usage(value: object) -> Usage | None:
    """The token counts, if they are present and valid."""
    if not isinstance(value, dict):
        return None
    counts = [cast(Shape, value).get(key, 0) for key in ("prompt_tokens", "completion_tokens")]
    if not all(type(count) is int and 0 <= count < 2**53 for count in counts):
        return None
    return Usage(*counts)


def read_embeddings(data: bytes, count: int) -> tuple[list[list[float]], Usage | None]:
    """The vectors in a body, in the order of the texts. Raises ``BadModelOutput`` for missing or malformed ones."""
    body = json_object(data)
    items = body.get("data")
    if not isinstance(items, list) or len(cast("list[object]", items)) != count:
        found = len(cast("list[object]", items)) if isinstance(items, list) else "no"
        raise BadModelOutput(f"{found} vectors came for {count} texts")
    rows: dict[int, list[float]] = {}
    for place, item in enumerate(cast("list[object]", items)):
        shape: Mapping[str, Any] = cast(Shape, item) if isinstance(item, dict) else {}
        index, row = shape.get("index", place), shape.get("embedding")
        if type(index) is not int or not _is_vector(row):
            raise BadModelOutput(f"a vector is malformed: {shown(cast(object, item))}")
        rows[index] = cast("list[float]", row)
    if rows.keys() != set(range(count)):
        raise BadModelOutput(f"the vectors of {count} texts are numbered {shown(sorted(rows))}")
    return [rows[index] for index in range(count)], read_usage(body.get("usage"))


def _is_vector(row: object) -> bool:
    if not isinstance(row, list):
        return False
    numbers = cast("list[object]", row)
    return all(type(one) in (int, float) and math.isfinite(cast(float, one)) for one in numbers)


_BATCH = 64
_ASSUMED_OUTPUT = 4096
"""The assumed length of an answer for the spend cap, when the call sets none."""


class OpenAICompatible(Closing):
    """A server with OpenAI's API: its address and key, timeouts, ledger, and number of concurrent calls.

    ``base_url`` ends where the API begins, usually in ``/v1``. The key is never shown, logged or put into an error. Proxies
    of the environment are not used; pass one as ``proxy``. Raises ``MissingDependency`` without httpx and
    ``ConfigurationError`` for an invalid address.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        patience: Patience | None = None,
        ledger: Ledger | None = None,
        concurrency: int = 8,
        proxy: str | None = None,
    ) -> None:
        self.ledger = ledger or Ledger()
        self.transport = Transport(base_url, key=key, patience=patience, concurrency=concurrency, proxy=proxy)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.transport.address!r})"

    def chat(self, model: str) -> ChatModel:
        """The chat model of this name."""
        return _ServedChat(self.transport, self.ledger, model)

    def embedder(self, model: str, *, dimensions: int | None = None) -> Embedder:
        """The embedding model of this name; ``dimensions`` requests shorter vectors, if the model supports them."""
        return _ServedEmbedder(self.transport, self.ledger, model, dimensions)

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()


class _ServedChat(ChatModel):
    """A chat model of a server."""

    def __init__(self, transport: Transport, ledger: Ledger, model: str) -> None:
        self._transport = transport
        self._ledger = ledger
        self._model = model

    @property
    def name(self) -> str:
        return self._model

    @stage("model")
    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        body = chat_body(self._model, messages, options)
        with _Call(self._ledger, self._model, lambda: _most_usage(messages, options)) as call:
            data = self._transport.post("chat/completions", body)
            call.answered(None)
            try:
                answer = read_completion(data, self._model, wants_json=options.get("schema") is not None)
            except BadModelOutput as error:
                raise BadModelOutput(f"{self._model}: {error}; it said {self._transport.excerpt(data)}") from error
            return replace(answer, cost=call.answered(answer.usage))


class _ServedEmbedder(Embedder):
    """An embedding model of a server."""

    def __init__(self, transport: Transport, ledger: Ledger, model: str, dimensions: int | None) -> None:
        self._transport = transport
        self._ledger = ledger
        self._model = model
        self._asked = dimensions
        self._found = dimensions

    @property
    def name(self) -> str:
        return self._model if self._asked is None else f"{self._model}-{self._asked}"

    @property
    def dimensions(self) -> int:
        if self._found is None:
            self._found = self._vectors(["dimensions"]).shape[1]
        return self._found

    def embed(self, texts: Sequence[str]) -> Floats:
        given = given_texts(texts)
        # Servers refuse an empty text, and it has no vector.
        worded = [place for place, text in enumerate(given) if text and not text.isspace()]
        if not worded:
            return zero_rows(given, self.dimensions)
        found = [
            self._vectors([given[place] for place in worded[at : at + _BATCH]]) for at in range(0, len(worded), _BATCH)
        ]
        size = found[0].shape[1]
        rows = zero_rows(given, size)
        at = 0
        for vectors in found:
            if vectors.shape[1] != size:
                raise BadModelOutput(f"{self._model} gave vectors of {size} and of {vectors.shape[1]} numbers")
            rows[worded[at : at + len(vectors)]] = vectors
            at += len(vectors)
        return rows

    def _vectors(self, texts: list[str]) -> Floats:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asked is not None:
            body["dimensions"] = self._asked
        # No text has more tokens than bytes.
        most = sum(len(text.encode(errors="replace")) for text in texts)
        with _Call(self._ledger, self._model, lambda: Usage(most)) as call:
            data = self._transport.post("embeddings", body)
            call.answered(None)
            try:
                rows, usage = read_embeddings(data, len(texts))
                call.answered(usage)
                return checked_vectors(rows, len(texts), self._model, self._asked)
            except BadModelOutput as error:
                raise BadModelOutput(f"{self._model}: {error}; it said {self._transport.excerpt(data)}") from error


class _Call:
    """One call in the ledger: reserves its highest cost, and books its actual cost, also when the answer is unusable.

    ``answered`` may be called again when the usage is known; the last call counts.
    """

    def __init__(self, ledger: Ledger, model: str, most: Callable[[], Usage]) -> None:
        self._ledger = ledger
        self._model = model
        self._most = most
        self._reserved = 0.0
        self._was_answered = False
        self._usage: Usage | None = None

    def answered(self, usage: Usage | None) -> float | None:
        """Record that the server answered, and return the cost."""
        self._was_answered, self._usage = True, usage
        return self._ledger.cost(self._model, self._reserved, usage)

    def __enter__(self) -> Self:
        self._reserved = self._ledger.reserve(self._model, self._most)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._was_answered:
            self._ledger.settle(self._model, self._reserved, self._usage)
        else:
            self._ledger.release(self._reserved)


def _most_usage(messages: Sequence[Message], options: ChatOptions) -> Usage:
    count = default_counter().count_message
    return Usage(sum(map(count, messages)), options.get("max_tokens") or _ASSUMED_OUTPUT)
