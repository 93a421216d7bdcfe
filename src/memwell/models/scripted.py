"""Deterministic models for tests: they load nothing and record their calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TypeAlias, Unpack

import numpy as np

from memwell.errors import InvalidInput, ModelError
from memwell.language.segment import SEGMENTATION, query_terms
from memwell.messages import Message, check_message
from memwell.models.ports import (
    ChatModel,
    ChatOptions,
    Completion,
    Embedder,
    Floats,
    Reranker,
    checked_scores,
    completion_of,
    given_texts,
    zero_rows,
)

Answer: TypeAlias = str | Message | Completion | Exception
"""The reply of a scripted model; an exception is raised."""

_SPREAD = 8


class ScriptedChat(ChatModel):
    """Replies from a list, one for each call, or by a function of the messages.

    ``asked`` has the messages of every call and ``options`` its options. A call beyond the end of the list raises
    ``ModelError``.
    """

    def __init__(
        self, answers: Iterable[Answer] | Callable[[Sequence[Message]], Answer], *, name: str = "scripted"
    ) -> None:
        self._answer = answers if callable(answers) else None
        self._left = [] if callable(answers) else list(answers)
        self._name = name
        self._lock = threading.Lock()
        self.asked: list[list[Message]] = []
        self.options: list[ChatOptions] = []

    @property
    def name(self) -> str:
        return self._name

    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        given = [check_message(one) for one in messages]
        with self._lock:
            self.asked.append(given)
            self.options.append(options)
            answer = self._answer(given) if self._answer is not None else self._next()
        if isinstance(answer, Exception):
            raise answer
        return completion_of(answer, self._name)

    def _next(self) -> Answer:
        if not self._left:
            return ModelError(f"{self._name} has no answer left for call {len(self.asked)}")
        return self._left.pop(0)


class HashEmbedder(Embedder):
    """Vectors hashed from the words of a text, so that texts with common words are near. It has learned nothing.

    Raises ``InvalidInput`` for fewer than 8 dimensions.
    """

    def __init__(self, dimensions: int = 256) -> None:
        if dimensions < _SPREAD:
            raise InvalidInput(f"a HashEmbedder needs at least {_SPREAD} dimensions, not {dimensions!r}")
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return f"hash-{self._dimensions}-{SEGMENTATION}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Floats:
        given = given_texts(texts)
        rows = zero_rows(given, self._dimensions)
        for row, text in zip(rows, given, strict=True):
            for term in query_terms(text):
                self._add(row, term)
            length = np.linalg.norm(row)
            if length > 0:
                row /= length
        return rows

    def _add(self, row: Floats, term: str) -> None:
        numbers = np.frombuffer(blake2b(term.encode(errors="replace"), digest_size=4 * _SPREAD).digest(), "<u4")
        places = (numbers >> 1) % self._dimensions
        np.add.at(row, places, (numbers & 1) * np.float32(2) - 1)


class ScriptedReranker(Reranker):
    """Scores by a function of the query and a text; by default, the share of the query's words that the text has."""

    def __init__(self, score: Callable[[str, str], float] | None = None, *, name: str = "scripted") -> None:
        self._score = score or _shared_words
        self._name = name
        self.asked: list[tuple[str, list[str]]] = []

    @property
    def name(self) -> str:
        return self._name

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        given = given_texts(texts)
        self.asked.append((query, given))
        return checked_scores([self._score(query, text) for text in given], len(given), self._name)


def _shared_words(query: str, text: str) -> float:
    wanted = set(query_terms(query))
    return len(wanted & set(query_terms(text))) / len(wanted) if wanted else 0.0
