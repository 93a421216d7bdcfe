"""Models behind any server that speaks OpenAI's API: Ollama, vLLM, llama.cpp, LM Studio, or a provider.

server = OpenAICompatible("http://localhost:11434/v1")
chat = server.chat("qwen3:4b")
print(chat.complete([human("Hello")]).text)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

from memwell._asyncify import Closing
from memwell.errors import BadModelOutput
from memwell.messages import Message
from memwell.models.checking import Floats, checked_vectors, given_texts, zero_rows
from memwell.models.ledger import Ledger
from memwell.models.ports import ChatModel, ChatOptions, Completion, Delta, Embedder, Usage
from memwell.models.transport import Patience, Transport
from memwell.models.wire import Answer, StreamedAnswer, chat_body, read_completion, read_embeddings
from memwell.tokens import default_counter

_BATCH = 64
_ASSUMED_OUTPUT = 4096
"""How long an answer may get, for the spend cap, when the call does not say."""


class OpenAICompatible(Closing):
    """A server and what is agreed with it: the key, the patience, the ledger, how many calls at once.

    ``base_url`` ends where the API begins, usually in ``/v1``. The key is never shown, logged or put into an error. Proxies
    named by the environment are not used; give one as ``proxy``. Raises ``MissingDependency`` without httpx and
    ``ConfigurationError`` for an address that is none.
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
        """The embedding model of this name; with ``dimensions`` it is asked for shorter vectors, if it can make them."""
        return _ServedEmbedder(self.transport, self.ledger, model, dimensions)

    def close(self) -> None:
        """Let go of the connections."""
        self.transport.close()


class _ServedChat(ChatModel):
    def __init__(self, transport: Transport, ledger: Ledger, model: str) -> None:
        self._transport = transport
        self._ledger = ledger
        self._model = model

    @property
    def name(self) -> str:
        return self._model

    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        body = chat_body(self._model, messages, options, stream=False)
        with _Call(self._ledger, self._model, lambda: _most_usage(messages, options)) as call:
            data = self._transport.post("chat/completions", body)
            call.answered(None)
            try:
                answer = read_completion(data, wants_json=options.get("schema") is not None)
            except BadModelOutput as error:
                raise BadModelOutput(f"{self._model}: {error}; it said {self._transport.excerpt(data)}") from error
            return self._completion(answer, call.answered(answer.usage))

    def stream(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Iterator[Delta]:
        body = chat_body(self._model, messages, options, stream=True)
        answer = StreamedAnswer()
        with _Call(self._ledger, self._model, lambda: _most_usage(messages, options)) as call:
            try:
                for text in answer.texts(self._transport.lines("chat/completions", body)):
                    call.answered(None)
                    yield Delta(text)
                whole = answer.answer(wants_json=options.get("schema") is not None)
            except BadModelOutput as error:
                raise BadModelOutput(f"{self._model}: {error}") from error
            cost = call.answered(whole.usage)
        yield Delta(completion=self._completion(whole, cost))

    def _completion(self, answer: Answer, cost: float | None) -> Completion:
        return Completion(
            message=answer.message,
            model=answer.model or self._model,
            finish=answer.finish,
            usage=answer.usage,
            cost=cost,
            data=answer.data,
        )


class _ServedEmbedder(Embedder):
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
        # Servers refuse an empty text, and it has no direction anyway.
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
    """One call in the ledger: what it may cost is set aside first, and what it did cost is noted, also when it was useless.

    ``answered`` may be called again when more is known; the last word counts.
    """

    def __init__(self, ledger: Ledger, model: str, most: Callable[[], Usage]) -> None:
        self._ledger = ledger
        self._model = model
        self._most = most
        self._reserved = 0.0
        self._was_answered = False
        self._usage: Usage | None = None

    def answered(self, usage: Usage | None) -> float | None:
        """Note that the server did its work, and return what that costs."""
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


__all__ = ["OpenAICompatible"]
