"""Embedders that know some words to mean the same, so that a memory is found by a question that shares no word with it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from memwell.errors import ModelError
from memwell.models.ports import Embedder, given_texts, zero_rows

MEANINGS = {"automobile": "car", "vehicle": "car", "feline": "cat", "kitten": "cat", "beverage": "tea", "oolong": "tea"}


class Sense(Embedder):
    """One of any number of models; what one makes is noise to another."""

    def __init__(self, name: str, dimensions: int = 256) -> None:
        self._name = name
        self._dimensions = dimensions
        self.embedded = 0
        self.fails_on = ""

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        given = given_texts(texts)
        if self.fails_on and any(self.fails_on in text for text in given):
            raise ModelError(f"{self._name} cannot take this")
        rows = zero_rows(given, self._dimensions)
        for row, text in zip(rows, given, strict=True):
            self.embedded += 1
            for word in text.lower().replace(".", " ").replace("?", " ").split():
                row += self._direction(MEANINGS.get(word, word))
            if row.any():
                row /= np.linalg.norm(row)
        return rows

    def _direction(self, word: str) -> NDArray[np.float32]:
        seed = int.from_bytes(blake2b(f"{self._name} {word}".encode(), digest_size=8).digest(), "little")
        return np.random.default_rng(seed).standard_normal(self._dimensions).astype(np.float32)


__all__ = ["MEANINGS", "Sense"]
