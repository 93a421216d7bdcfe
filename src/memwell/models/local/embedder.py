"""``LocalEmbedder``: vectors of two models, an English encoder of our own and a multilingual one for every language.

The vector of a text is both models' vectors joined, each scaled by the language of the text, so that a dot product is the
weighted sum of the two similarities. In English our encoder has four fifths of the weight; in other languages, which it
does not know, none. Every text has the multilingual part, so that an English question finds a Chinese record. Token vectors
are those of the English encoder, so other languages have none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from memwell._products import product
from memwell.errors import ConfigurationError
from memwell.language.words import STOP_WORDS, han_share, language_of
from memwell.models.checking import Floats, given_texts, zero_rows
from memwell.models.local import encoder, multilingual
from memwell.models.local.encoder import Encoded, Encoder, packed_tokens, unpacked_tokens
from memwell.models.local.multilingual import Multilingual
from memwell.models.local.onnx import ENCODER, USE_PIECES, USE_WEIGHTS, WeightsFile, location
from memwell.models.ports import QueryTokens, TokenEmbedder, WordMatch
from memwell.values import shown

Mode: TypeAlias = Literal["local", "minilm", "use"]
"""``local`` is both models, ``minilm`` English only, ``use`` the multilingual one only."""

_ENGLISH_SHARE = 0.8
_NAMES: dict[str, str] = {
    "local": "memwell-local-2",
    "minilm": "memwell-minilm-1",
    "use": "use-multilingual-v3-int8-1",
}
_SIZES: dict[str, int] = {
    "local": encoder.DIMENSIONS + multilingual.DIMENSIONS,
    "minilm": encoder.DIMENSIONS,
    "use": multilingual.DIMENSIONS,
}
_FILES: dict[str, tuple[WeightsFile, ...]] = {
    "local": (ENCODER, USE_WEIGHTS, USE_PIECES),
    "minilm": (ENCODER,),
    "use": (USE_WEIGHTS, USE_PIECES),
}
_LEAST_MATCH = 0.5
"""Words whose vectors are less alike than this do not match."""
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
M = TypeVar("M", Encoder, Multilingual)


class LocalEmbedder(TokenEmbedder):
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
        return encoder.DIMENSIONS if self._mode == "local" else None

    def embed(self, texts: Sequence[str]) -> Floats:
        return self.embed_tokens(texts)[0]

    def embed_tokens(self, texts: Sequence[str]) -> tuple[Floats, list[bytes]]:
        given = [_well_formed(text) for text in given_texts(texts)]
        rows = zero_rows(given, self.dimensions)
        made = [self._fill(row, text) for row, text in zip(rows, given, strict=True)]
        return rows, [b"" if one is None else packed_tokens(one.tokens) for one in made]

    def embed_query(self, query: str) -> tuple[Floats, QueryTokens | None]:
        text = _well_formed(query)
        (row,) = zero_rows([text], self.dimensions)
        made = self._fill(row, text)
        if made is None:
            return row, None
        return row, QueryTokens(made.tokens, made.weights, self._english.get().words(text))

    def best_matches(self, query: QueryTokens, texts: Sequence[bytes]) -> Floats:
        tokens = unpacked_tokens(b"".join(texts))
        starts = np.cumsum([0, *(len(text) * 2 // encoder.TOKEN_DIMENSIONS for text in texts[:-1])])
        likeness = product(query.vectors * query.weights[:, None], tokens.T)
        return np.maximum.reduceat(likeness, starts, axis=1)

    def word_matches(self, query: QueryTokens, tokens: bytes, text: str, most: int = 3) -> list[WordMatch]:
        likeness = product(query.vectors, unpacked_tokens(tokens).T)
        places, words = likeness.argmax(axis=1), self._english.get().words(_well_formed(text))
        found: dict[str, WordMatch] = {}
        for at in np.argsort(-query.weights * likeness.max(axis=1), kind="stable").tolist():
            asked, place = query.words[at], int(places[at])
            match = WordMatch(asked, words[place] if place < len(words) else "", float(likeness[at, place]))
            if match.similarity >= _LEAST_MATCH and not _says_little(asked) and not _says_little(match.found):
                found.setdefault(asked, match)
        return list(found.values())[:most]

    def _fill(self, row: Floats, text: str) -> Encoded | None:
        """Fill the row of a text. Returns what the English encoder made of it."""
        if not text or text.isspace():
            return None
        share = {"minilm": 1.0, "use": 0.0}.get(self._mode, english_share(text))
        made = self._english.get().encode(text) if share > 0 else None
        if made is not None:
            row[: encoder.DIMENSIONS] = made.vector * np.float32(share**0.5)
        if share < 1:
            row[-multilingual.DIMENSIONS :] = self._every.get().embed(text) * np.float32((1 - share) ** 0.5)
        return made

    def distinct(self, vector: Floats) -> Floats:
        english = self._mode == "minilm" or (self._mode == "local" and bool(vector[: encoder.DIMENSIONS].any()))
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


def _says_little(word: str) -> bool:
    return len(word) < 2 or word in STOP_WORDS["en"]


def english_share(text: str) -> float:
    """The weight of the English encoder in a text's vector, from 0.0 to 0.8."""
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
def _shared() -> tuple[_Loaded[Encoder], _Loaded[Multilingual]]:
    """The models of this process, shared by all embedders."""
    return _Loaded(Encoder), _Loaded(Multilingual)


def _well_formed(text: str) -> str:
    """The text with question marks for characters that UTF-8 cannot encode."""
    return text if text.isascii() else text.encode(errors="replace").decode()
