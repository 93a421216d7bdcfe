"""``LocalEmbedder``: vectors of two models, MiniLM for English and a multilingual encoder for every language.

The vector of a text is both models' vectors joined, each scaled by the language of the text, so that a dot product is the
weighted sum of the two similarities. In English MiniLM has four fifths of the weight; in other languages, which it does not
know, none. Every text has the multilingual part, so that an English question finds a Chinese record.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from memwell.errors import ConfigurationError
from memwell.language.words import han_share, language_of
from memwell.models.checking import Floats, given_texts, zero_rows
from memwell.models.local import minilm, multilingual
from memwell.models.local.minilm import MiniLM
from memwell.models.local.multilingual import Multilingual
from memwell.models.local.onnx import MINILM, USE_PIECES, USE_WEIGHTS, WeightsFile, location
from memwell.models.ports import Embedder
from memwell.values import shown

Mode: TypeAlias = Literal["local", "minilm", "use"]
"""``local`` is both models, ``minilm`` English only, ``use`` the multilingual one only."""

_ENGLISH_SHARE = 0.8
_NAMES: dict[str, str] = {
    "local": "memwell-local-1",
    "minilm": "all-MiniLM-L6-v2-int8-1",
    "use": "use-multilingual-v3-int8-1",
}
_SIZES: dict[str, int] = {
    "local": minilm.DIMENSIONS + multilingual.DIMENSIONS,
    "minilm": minilm.DIMENSIONS,
    "use": multilingual.DIMENSIONS,
}
_FILES: dict[str, tuple[WeightsFile, ...]] = {
    "local": (MINILM, USE_WEIGHTS, USE_PIECES),
    "minilm": (MINILM,),
    "use": (USE_WEIGHTS, USE_PIECES),
}
_COMMON_SHARE = 0.5
_USUAL_QUESTIONS = {
    "en": (
        "What did I tell you?", "When was that?", "Where did I go?", "Who told me?",
        "What do I like?", "How am I doing lately?", "What should I do?", "What happened recently?",
    ),
    "zh": (
        "你还记得我说过什么吗？", "我最近怎么样？", "我们之前聊过什么？", "今天过得怎么样？",
        "我该怎么办？", "那是什么时候的事？", "我喜欢什么？", "我去过哪里？",
    ),
}  # fmt: skip
M = TypeVar("M", MiniLM, Multilingual)


class LocalEmbedder(Embedder):
    """The default embedder: it needs no key, server or download. The first call that needs a model loads it.

    Each model reads the first 256 pieces of a text, about 200 English words or 350 Chinese characters. A text of spaces has
    a row of zeros. Threads may call it concurrently. The first call raises ``MissingDependency`` when a package is missing
    and ``ConfigurationError`` when its weights are not the expected ones.
    """

    def __init__(self, mode: Mode = "local") -> None:
        if mode not in get_args(Mode):
            raise ConfigurationError(f"no local embedder is called {shown(mode)}; known: {', '.join(get_args(Mode))}")
        self._mode: Mode = mode
        self._english, self._every = _shared()

    @property
    def name(self) -> str:
        return _NAMES[self._mode]

    @property
    def dimensions(self) -> int:
        return _SIZES[self._mode]

    @property
    def shared_from(self) -> int | None:
        return minilm.DIMENSIONS if self._mode == "local" else None

    def embed(self, texts: Sequence[str]) -> Floats:
        given = [_well_formed(text) for text in given_texts(texts)]
        rows = zero_rows(given, self.dimensions)
        for row, text in zip(rows, given, strict=True):
            if text and not text.isspace():
                self._fill(row, text)
        return rows

    def _fill(self, row: Floats, text: str) -> None:
        if self._mode == "minilm":
            row[:] = self._english.get().embed(text)
        elif self._mode == "use":
            row[:] = self._every.get().embed(text)
        else:
            share = english_share(text)
            if share > 0:
                row[: minilm.DIMENSIONS] = self._english.get().embed(text) * np.float32(share**0.5)
            row[minilm.DIMENSIONS :] = self._every.get().embed(text) * np.float32((1 - share) ** 0.5)

    def distinct(self, vector: Floats) -> Floats:
        english = self._mode == "minilm" or (self._mode == "local" and bool(vector[: minilm.DIMENSIONS].any()))
        made = vector - np.float32(_COMMON_SHARE) * _common_part(self._mode, "en" if english else "zh")
        return (made / np.linalg.norm(made)).astype(np.float32)

    def facts(self) -> dict[str, Any]:
        """Its name, dimensions, load time, first call time and file sizes; loads the models."""
        started = time.perf_counter()
        self.embed(["Where did we leave off?"])
        first = time.perf_counter() - started
        loaded = [one.seconds for one in (self._english, self._every) if one.seconds is not None]
        return {
            "name": self.name,
            "dimensions": self.dimensions,
            "load_seconds": round(sum(loaded), 3),
            "first_call_ms": round(first * 1000, 1),
            "weights_bytes": {
                f"{file.package}/{file.path}": location(file).stat().st_size for file in _FILES[self._mode]
            },
        }


def english_share(text: str) -> float:
    """The weight of MiniLM in a text's vector, from 0.0 to 0.8."""
    if language_of(text) not in ("en", ""):
        return 0.0
    return _ENGLISH_SHARE * (1.0 - han_share(text))


@cache
def _common_part(mode: Mode, language: str) -> Floats:
    """The mean vector of questions about nothing in particular: texts near to it are near to every question."""
    return LocalEmbedder(mode).embed(_USUAL_QUESTIONS[language]).mean(0)


class _Loaded(Generic[M]):
    """A model that is loaded on first use; other threads wait for it."""

    def __init__(self, load: Callable[[], M]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._model: M | None = None
        self.seconds: float | None = None

    def get(self) -> M:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    started = time.perf_counter()
                    self._model = self._load()
                    self.seconds = time.perf_counter() - started
        return self._model


@cache
def _shared() -> tuple[_Loaded[MiniLM], _Loaded[Multilingual]]:
    """The models of this process, shared by all embedders."""
    return _Loaded(MiniLM), _Loaded(Multilingual)


def _well_formed(text: str) -> str:
    """The text with question marks for characters that UTF-8 cannot encode."""
    return text if text.isascii() else text.encode(errors="replace").decode()
