"""``LocalEmbedder``: vectors of two models, an English encoder of our own and a multilingual one for every language.

The vector of a text is both models' vectors joined, each scaled by the language of the text, so that a dot product is the
weighted sum of the two similarities. In English our encoder has four fifths of the weight; in other languages, which it
does not know, none. Every text has the multilingual part, so that an English question finds a Chinese record. Token vectors
are those of the English encoder, so other languages have none.
"""

from __future__ import annotations

import io
import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from memwell._native import product
from memwell.errors import ConfigurationError
from memwell.language.words import STOP_WORDS, han_share, language_of
from memwell.models.local.encoder import (
    DIMENSIONS,
    MULTILINGUAL_DIMENSIONS,
    Encoded,
    Encoder,
    Multilingual,
    packed_tokens,
    token_products,
    unpacked_tokens,
)
from memwell.models.local.onnx import ENCODER, QUESTIONS, USE_PIECES, USE_WEIGHTS, WeightsFile, checked_bytes, location
from memwell.models.ports import Floats, QueryTokens, TokenEmbedder, WordMatch, given_texts, zero_rows
from memwell.values import shown

Mode: TypeAlias = Literal["local", "minilm", "use"]
"""``local`` is both models, ``minilm`` English only, ``use`` the multilingual one only."""

_ENGLISH_SHARE = 0.8
_NAMES: dict[str, str] = {
    "local": "memwell-local-3",
    "minilm": "memwell-minilm-2",
    "use": "use-multilingual-v3-int8-1",
}
_SIZES: dict[str, int] = {
    "local": DIMENSIONS + MULTILINGUAL_DIMENSIONS,
    "minilm": DIMENSIONS,
    "use": MULTILINGUAL_DIMENSIONS,
}
_FILES: dict[str, tuple[WeightsFile, ...]] = {
    "local": (ENCODER, USE_WEIGHTS, USE_PIECES, QUESTIONS),
    "minilm": (ENCODER,),
    "use": (USE_WEIGHTS, USE_PIECES, QUESTIONS),
}
_WORD = re.compile(r"[^\W\d_]+")
_LOOKED_AT = 300
_MOST_MATCHES = 3
_LEAST_MATCH = 0.5
"""Words whose vectors are less alike than this do not match."""
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
        self._english, self._every = shared_models()

    @property
    def name(self) -> str:
        return _NAMES[self._mode]

    @property
    def dimensions(self) -> int:
        return _SIZES[self._mode]

    @property
    def shared_from(self) -> int | None:
        return DIMENSIONS if self._mode == "local" else None

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

    def unpacked(self, tokens: Sequence[bytes]) -> list[bytes]:
        return unpacked_tokens(tokens)

    def best_matches(self, query: QueryTokens, texts: Sequence[bytes]) -> Floats:
        likeness, steps, starts = token_products(query.vectors * query.weights[:, None], texts)
        return (np.maximum.reduceat(likeness, starts) * steps).T

    def word_matches(self, query: QueryTokens, tokens: Sequence[bytes], texts: Sequence[str]) -> list[list[WordMatch]]:
        telling = [at for at, word in enumerate(query.words) if not _says_little(word)]
        if not tokens or not telling:
            return [[] for _ in texts]
        likeness, steps, starts = token_products(query.vectors[telling], tokens)
        alike = np.maximum.reduceat(likeness, starts)
        # The first piece of each text that is as much like the word as any.
        places = np.arange(len(likeness))
        of_text = np.searchsorted(starts, places, "right") - 1
        first = np.where(likeness == alike[of_text], places[:, None], len(places))
        best = np.minimum.reduceat(first, starts) - starts[:, None]
        alike *= steps
        weighed = np.argsort(-alike * query.weights[telling], axis=1, kind="stable")
        asked = [query.words[at] for at in telling]
        parts = zip(alike.tolist(), best.tolist(), weighed.tolist(), texts, strict=True)
        return [self._matched(asked, *part) for part in parts]

    def _matched(
        self, asked: Sequence[str], highest: list[float], best: list[int], order: list[int], text: str
    ) -> list[WordMatch]:
        """The matches of a text: by word, how alike its best piece is and which that is, and the words by their weight."""
        order = [at for at in order if highest[at] >= _LEAST_MATCH]
        if not order:
            return []
        words = self._english.get().words(_well_formed(text))
        found: dict[str, WordMatch] = {}
        for at in order:
            theirs = words[best[at]] if best[at] < len(words) else ""
            if not _says_little(theirs):
                found.setdefault(asked[at], WordMatch(asked[at], theirs, highest[at]))
        return list(found.values())[:_MOST_MATCHES]

    def _fill(self, row: Floats, text: str) -> Encoded | None:
        """Fill the row of a text. Returns what the English encoder made of it."""
        if not text or text.isspace():
            return None
        share = {"minilm": 1.0, "use": 0.0}.get(self._mode, english_share(text))
        made = self._english.get().encode(text) if share > 0 else None
        if made is not None:
            row[:DIMENSIONS] = made.vector * np.float32(share**0.5)
        if share < 1:
            row[-MULTILINGUAL_DIMENSIONS:] = self._every.get().embed(text) * np.float32((1 - share) ** 0.5)
        return made

    def towards_answers(self, vector: Floats) -> Floats:
        if self._mode == "minilm":
            # The English encoder was trained on questions.
            return vector
        made = vector.copy()
        part = made[-MULTILINGUAL_DIMENSIONS:]
        length = np.linalg.norm(part)
        if length > 0.0:
            matrix, shift = _question_map()
            turned = product(matrix, part / length) + shift
            part[:] = turned * (length / np.linalg.norm(turned))
        return made

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


# Words that mostly tell how a sentence is built, and that English does not have.
_NOT_ENGLISH = frozenset(
    """der das und ist nicht eine einen einem mit auf für zum zur nach wann wie ich wir ihr sind habe wird
    les des une est que qui dans pour avec sur pas nous vous elle où quand mon mes
    una por para está estoy tengo qué cuándo dónde muy pero
    che non sono è gli della nel dove mio mia
    uma não meu minha onde quando
    het een niet ik wij zijn heeft wanneer waar naar voor""".split()
)


def _is_other_latin(text: str) -> bool:
    """Whether a text in Latin letters has more function words of other languages than of English."""
    words = _WORD.findall(text[:_LOOKED_AT].casefold())
    others = sum(word in _NOT_ENGLISH and word not in STOP_WORDS["en"] for word in words)
    return others > 1 and others > sum(word in STOP_WORDS["en"] for word in words)


def english_share(text: str) -> float:
    """The weight of the English encoder in a text's vector, from 0.0 to 0.8."""
    if language_of(text) not in ("en", "") or _is_other_latin(text):
        return 0.0
    return _ENGLISH_SHARE * (1.0 - han_share(text))


@cache
def _question_map() -> tuple[Floats, Floats]:
    """What turns the multilingual model's vector of a question towards its answers: a matrix, and what is added.

    The model knows what sounds alike. Learnt by ``benchmarks.encoder.questions``.
    """
    with np.load(io.BytesIO(checked_bytes(QUESTIONS))) as found:
        return found["rows"] * found["scales"][:, None], found["shift"]


class Loaded(Generic[M]):
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
def shared_models() -> tuple[Loaded[Encoder], Loaded[Multilingual]]:
    """The models of this process, shared by all embedders."""
    return Loaded(Encoder), Loaded(Multilingual)


def _well_formed(text: str) -> str:
    """The text with question marks for characters that UTF-8 cannot encode."""
    return text if text.isascii() else text.encode(errors="replace").decode()
