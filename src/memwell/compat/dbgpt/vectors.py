"""Texts into vectors with what people have: a memwell ``Embedder``, an object of LangChain's or DB-GPT's, a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar, cast

from memwell._asyncify import run_blocking
from memwell.compat.dbgpt.fragments import MemoryFragment, check_embedding
from memwell.errors import BadModelOutput, InvalidInput, MemwellError, ModelError
from memwell.models.callables import answer_of
from memwell.models.ports import Embedder
from memwell.values import shown

R = TypeVar("R")


class TextVectors:
    """Asks ``embeddings`` for vectors: blocking calls in a thread, of ``executor`` when given, async ones in this loop.

    Raises ``InvalidInput`` for what is neither an ``Embedder``, nor a function of a list of texts, nor an object with
    ``embed_documents`` or ``embed_query``.
    """

    def __init__(self, embeddings: Any, executor: Executor | None = None) -> None:
        self._documents = _documents_of(embeddings)
        self._query = getattr(embeddings, "embed_query", None)
        self._executor = executor
        self._name = type(embeddings).__qualname__

    async def of_fragment(self, fragment: MemoryFragment) -> list[float]:
        """The vector of a fragment, as it calculates it. Raises ``ModelError`` or ``BadModelOutput``."""
        if not inspect.iscoroutinefunction(self._documents):
            return self._checked(await self._in_thread(partial(fragment.calculate_current_embeddings, self._rows)))
        answer = await self._awaited(self._documents, [fragment.raw_observation])
        return self._checked(fragment.calculate_current_embeddings(lambda texts: self._as_rows(answer, texts)))

    async def of_query(self, text: str) -> list[float]:
        """The vector of a question. Raises ``ModelError`` or ``BadModelOutput``."""
        if not callable(self._query):
            return self._checked(self._as_rows(await self._answer(self._documents, [text]), [text])[0])
        return self._checked(await self._answer(cast("Callable[..., Any]", self._query), text))

    async def _answer(self, ask: Callable[..., Any], given: Any) -> Any:
        if inspect.iscoroutinefunction(ask):
            return await self._awaited(ask, given)
        return await self._in_thread(partial(answer_of, self._name, ask, given))

    def _rows(self, texts: list[str]) -> list[Any]:
        return self._as_rows(answer_of(self._name, self._documents, texts), texts)

    def _as_rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        try:
            rows = list(answer)
        except TypeError:
            raise BadModelOutput(f"{self._name} gave no vectors but {shown(answer)}") from None
        if len(rows) != len(texts):
            raise BadModelOutput(f"{self._name} gave {len(rows)} vectors for {len(texts)} texts")
        return rows

    async def _in_thread(self, call: Callable[[], R]) -> R:
        if self._executor is None:
            return await run_blocking(call)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    async def _awaited(self, ask: Callable[..., Any], given: Any) -> Any:
        try:
            return await ask(given)
        except MemwellError:
            raise
        except Exception as error:
            # A stranger's code may raise anything, and one failing model must look like any other.
            raise ModelError(f"{self._name} failed: {type(error).__name__}: {shown(str(error))}") from error

    def _checked(self, vector: object) -> list[float]:
        try:
            return check_embedding(vector)
        except InvalidInput as error:
            raise BadModelOutput(f"{self._name} gave no vector: {error}") from error


def _documents_of(embeddings: Any) -> Callable[[list[str]], Any]:
    if isinstance(embeddings, Embedder):
        return embeddings.embed
    if isinstance(embeddings, type):
        raise InvalidInput(f"embeddings must be an object and not its class: {shown(cast(object, embeddings))}")
    for name in ("embed_documents", "embed"):
        if callable(found := getattr(embeddings, name, None)):
            return cast("Callable[[list[str]], Any]", found)
    if callable(one := getattr(embeddings, "embed_query", None)):
        return _one_by_one(cast("Callable[[str], Any]", one))
    if callable(embeddings):
        return cast("Callable[[list[str]], Any]", embeddings)
    raise InvalidInput(f"embeddings must be an Embedder, a function or have 'embed_documents', not {shown(embeddings)}")


def _one_by_one(embed: Callable[[str], Any]) -> Callable[[list[str]], Any]:
    if not inspect.iscoroutinefunction(embed):
        return lambda texts: [embed(text) for text in texts]

    async def embed_all(texts: Sequence[str]) -> list[Any]:
        return [await embed(text) for text in texts]

    return embed_all


__all__ = ["TextVectors"]
