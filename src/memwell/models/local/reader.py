"""``FactReader``: a small model that reads facts from a text, with the rules of ``memwell.language.claims``.

There is one for English, which goes on from the third layer of the encoder, and one for Chinese, which goes on from the
convolutions of the multilingual model; each has three layers of its own. For each word piece and relation they say whether
an object of that relation begins or goes on there, whether the fact is over, and which piece names its subject.
``reader.md`` says how they were made.
"""

from __future__ import annotations

import io
import re
from functools import cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from memwell._native import product
from memwell.language.claims import chinese_objects
from memwell.language.claims.english_objects import KIN, SAME_KIN
from memwell.language.claims.relations import EVENT, PLAN, STATE, RuleMatch
from memwell.language.patterns import LazyPattern
from memwell.models.local.embedder import shared_models
from memwell.models.local.encoder import DIMENSIONS, FEATURES, LAYERS, SHARED_LAYERS, Multilingual, WordPieces, layer
from memwell.models.local.onnx import (
    READER,
    READER_ZH,
    Array,
    Floats,
    OnnxGraph,
    OnnxSession,
    checked_bytes,
    integer_type,
    scaled,
)

RELATIONS = (
    "name age birthday from nationality lives_in works_at occupation studies_at studies graduated_from speaks email "
    "phone married_to partner parent child sibling relative friend colleague pet owns likes dislikes hobby allergic_to "
    "diet plans visited bought favourite"
).split()
"""What it knows of, in the order of its weights."""
SUBJECT = "subject"
"""Where the words for a subject are, which only the Chinese reader says: Chinese names have no capitals."""
_MOST_PIECES = 160
_MOST_CHARACTERS = 10_000
"""What stands beyond is left to the rules."""
_POINTER = 128
_LEAST, _HALF = 0.05, 0.5
_KINDS = {"plans": PLAN, "visited": EVENT, "bought": EVENT}
_BEFORE_OBJECT = re.compile(r"\s*(?:(?:an?|the|my|our|his|her|their|to|in|at|as|for)\s+)*", re.IGNORECASE).match
_AFTER_OBJECT = re.compile(r"[\s,.;:!?'\"’”)(，。；：！？、～（）的-]+\Z").search
_NAME = re.compile(r"[^\W\d_][\w'’-]*(?:\s+(?:(?:de|da|van|von|der|bin|al|la|del|di)\s+)*[A-ZÀ-ÖØ-Þ][\w'’-]*)*").match
_WORD = re.compile(r"[^\W_][\w-]*(?:[ -]in[ -]law)?").match


_KIN_ZH = {word: one.word for word, one in chinese_objects.KIN.items()} | chinese_objects.ALSO_KIN
_LONGEST_KIN = max(map(len, _KIN_ZH))
_OF_ANOTHER = re.compile("(?:[她他]|(?<!我)(?<!我们)(?<!俺)(?<!咱)的)\\Z").search
"""What stands before another's relative."""


_TITLED = LazyPattern(
    rf"(?![向万]){chinese_objects.ANY_SURNAME}(?:阿姨|叔叔|老师|师傅|大爷|大妈|大哥|大姐|伯伯|奶奶|爷爷|妈妈|爸爸|媽媽|爺爺)"
).match


class PlacedPieces(NamedTuple):
    """The pieces of a text: their ids, where each begins and ends in the text, and how it is capitalised."""

    ids: list[int]
    places: list[tuple[int, int]]
    capitals: list[int]


def placed(pieces: WordPieces | Multilingual, text: str) -> PlacedPieces:
    """The pieces of a text, without those of start and end."""
    found = PlacedPieces([], [], [])
    for ids, places in pieces.placed(text):
        word = text[places[0][0] : places[-1][1]]
        capital = 0 if not word[:1].isupper() else 2 if word.isupper() and len(word) > 1 else 1
        found.ids.extend(ids)
        found.places.extend(places)
        found.capitals.extend([capital] * len(ids))
    return found


class FactReader:
    """The loaded model for English, or the one for Chinese. Thread-safe.

    Raises ``MissingDependency`` when a package is missing and ``ConfigurationError`` when the shipped weights are not the
    expected ones.
    """

    def __init__(self, weights: bytes | None = None) -> None:
        with np.load(io.BytesIO(weights or checked_bytes(READER))) as stored:
            constants: dict[str, Array] = dict(stored)
        english, every = shared_models()
        chinese = _NEAR in constants
        self._encoder = every.get() if chinese else english.get()
        self._pieces = self._encoder if isinstance(self._encoder, Multilingual) else self._encoder.pieces
        self._capitals = constants["capitals"].astype(np.float32)
        self._of_relation = constants["relation"].astype(np.float32)
        self._near = cast(Floats, constants[_NEAR]) if chinese else None
        self._session = OnnxSession(_chinese_graph(constants) if chinese else _english_graph(constants))

    def read(self, text: str) -> list[RuleMatch]:
        """What a text may state, each with its probability as ``confidence``, in the order of the text."""
        pieces = placed(self._pieces, text[:_MOST_CHARACTERS])
        found: list[RuleMatch] = []
        inner = _MOST_PIECES - 2
        for first in range(0, len(pieces.ids), inner):
            some = slice(first, first + inner)
            part = PlacedPieces(pieces.ids[some], pieces.places[some], pieces.capitals[some])
            found += self._read(text, part, is_whole=len(pieces.ids) <= inner)
        return found

    def _read(self, text: str, part: PlacedPieces, *, is_whole: bool) -> list[RuleMatch]:
        ids = [self._pieces.start, *part.ids, self._pieces.end]
        capitals = self._capitals[[0, *part.capitals, 0]]
        # A text that is read is mostly encoded next.
        shared = self._encoder.shared_layers(ids, keep=is_whole)
        inputs = {"x": shared, "capitals": capitals}
        if self._near is not None:
            inputs["near"] = _by_distance(self._near, len(ids))
        made = self._session.run(inputs)[0]
        many = len(self._of_relation)
        begins, goes_on, ended, asks, answers = np.split(made, np.cumsum([many, many, many, _POINTER]), axis=1)
        begins, goes_on, ended = _sigmoid(begins), _sigmoid(goes_on), _sigmoid(ended)

        def span(at: int, relation: int) -> tuple[int, int]:
            last = at
            while at and last + 1 < len(ids) - 1 and goes_on[last + 1, relation] > _HALF:
                last += 1
            return at, last

        found: list[RuleMatch | None] = []
        # The end of the text is no object, and the words for a subject are none of its own.
        for at, relation in np.argwhere(begins[:-1, : len(RELATIONS)] > _LEAST).tolist():
            asked = asks[at] + self._of_relation[relation]
            scores = product(answers, asked) / np.float32(_POINTER**0.5)
            scores = np.exp(scores - scores.max())
            who = int(scores.argmax())
            over = float(ended[at, relation])
            sure = float(begins[at, relation]) * max(over, 1 - over) * float(scores[who] / scores.sum())
            if self._near is None:
                subject = _subject(text, part, who)
            else:
                subject = _chinese_subject(text, part, *span(who, many - 1))
            place = _place(text, part, *span(at, relation))
            found.append(_match(RELATIONS[relation], place, subject, over=over > _HALF, sure=sure))
        return [one for one in found if one is not None]


@cache
def fact_reader(*, chinese: bool = False) -> FactReader:
    """The one reader of a language in the process, loaded when it is first asked for."""
    return FactReader(checked_bytes(READER_ZH) if chinese else None)


def _place(text: str, part: PlacedPieces, first: int, last: int) -> tuple[int, int]:
    """Where the object of some pieces is; the start of the text stands for one that is not named."""
    if not first:
        return 0, 0
    # A word is never cut, although one of its pieces may be doubtful.
    start, end = _word_start(text, part.places[first - 1][0]), _word_end(text, part.places[last - 1][1])
    lead, trail = _BEFORE_OBJECT(text, start, end), _AFTER_OBJECT(text, start, end)
    return (lead.end() if lead else start), (trail.start() if trail else end)


class _Subject(NamedTuple):
    """Where a subject is named, and its name or the word for a relative; neither for the speaker."""

    place: int | None = None
    name: str = ""
    kin: str = ""


def _subject(text: str, part: PlacedPieces, who: int) -> _Subject:
    if not 0 < who <= len(part.places):
        return _Subject()
    place = part.places[who - 1][0]
    named = _WORD(text, place)
    word = named.group().lower().replace(" ", "-") if named else ""
    if word in KIN:
        return _Subject(place, kin=SAME_KIN.get(word, word))
    name = _NAME(text, place)
    return _Subject(place, name.group().removesuffix("'s").removesuffix("’s") if name else "")


def _chinese_subject(text: str, part: PlacedPieces, first: int, last: int) -> _Subject | None:
    """The subject of some pieces; None for another's relative."""
    if not 0 < first <= len(part.places):
        return _Subject()
    start, end = _place(text, part, first, last)
    # A piece less or more is no other person: 老同 of 老同学, 女朋友超 of 女朋友超讨厌. 亲妹妹 is a sister.
    places = [(start, one) for one in range(min(start + _LONGEST_KIN, len(text)), start + 1, -1)]
    places += [(one, end) for one in (start, *range(start + 1, end - (text[start] != "亲")))]
    relative = next((one for one in places if text[slice(*one)] in _KIN_ZH), None)
    titled = None if relative is None else _TITLED(text, max(0, relative[0] - 1))
    if titled is not None:
        # 张阿姨 is no aunt of the speaker's.
        return _Subject(titled.start(), titled[0])
    if relative is None:
        return _Subject(start, text[start:end])
    return None if _OF_ANOTHER(text, 0, relative[0]) else _Subject(start, kin=_KIN_ZH[text[slice(*relative)]])


def _match(
    relation: str, place: tuple[int, int], subject: _Subject | None, *, over: bool, sure: float
) -> RuleMatch | None:
    """What was found as the match of a rule; None where that would have no object or no subject."""
    start, end = place
    if subject is None or (start >= end and not (over and end == 0)):
        return None
    named = start if subject.place is None else subject.place
    kind = STATE if over else _KINDS.get(relation, STATE)
    whole = min(named, start), max(end, start)
    return RuleMatch(relation, start, end, *whole, subject.name, subject.kin, kind=kind, negated=over, confidence=sure)


def _word_start(text: str, at: int) -> int:
    while at > 0 and _is_letter(text[at - 1]) and not _HAN(text, at):
        at -= 1
    return at


def _word_end(text: str, at: int) -> int:
    while at < len(text) and _is_letter(text[at]) and not _HAN(text, at - 1):
        at += 1
    return at


def _is_letter(one: str) -> bool:
    return one.isalnum() and not _HAN(one)


_HAN = re.compile("[\u4e00-\u9fff]").match


def _sigmoid(x: Floats) -> Floats:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _english_graph(constants: dict[str, Array]) -> bytes:
    graph = OnnxGraph(integer_type())
    x = graph.node("Add", ["x", "capitals"])
    for number in range(SHARED_LAYERS, LAYERS):
        x = layer(graph, constants, x, number)
    out = _heads(graph, constants, x)
    given = {"x": [1, "pieces", DIMENSIONS], "capitals": ["pieces", DIMENSIONS]}
    return graph.model(given, {out: [1, "pieces", len(constants["biases"])]})


_NEAR = "trunk.near"
"""The weights that only the reader of Chinese has: of how far pieces are apart."""
_CHINESE_LAYERS, _EPSILON = 3, 1e-12


def _chinese_graph(constants: dict[str, Array]) -> bytes:
    graph = OnnxGraph(integer_type())
    matrix = scaled(constants["trunk.project.weight.q"].T, constants["trunk.project.weight.s"])
    x = graph.product("x", matrix, constants["trunk.project.bias"], by_row=True)
    norm = [graph.constant(constants[f"trunk.norm.{one}"]) for one in ("weight", "bias")]
    x = graph.node("LayerNormalization", [graph.node("Add", [x, "capitals"]), *norm], epsilon=_EPSILON)
    x = graph.node("Unsqueeze", [x, graph.constant(np.array([0]))])
    for number in range(_CHINESE_LAYERS):
        x = layer(graph, constants, x, number, large=(), near="near")
    out = _heads(graph, constants, x)
    heads = len(constants[_NEAR])
    given = {"x": ["pieces", FEATURES], "capitals": ["pieces", DIMENSIONS], "near": [1, heads, "pieces", "pieces"]}
    return graph.model(given, {out: [1, "pieces", len(constants["biases"])]})


def _heads(graph: OnnxGraph, constants: dict[str, Array], x: str) -> str:
    heads = cast("NDArray[np.float16]", constants["heads"]).astype(np.float32)
    biases = constants["biases"].astype(np.float32)
    return graph.node("Add", [graph.node("MatMul", [x, graph.constant(heads)]), graph.constant(biases)])


def _by_distance(near: Floats, many: int) -> Floats:
    """What is added to the attention of each piece to each, by how far the other is."""
    furthest = near.shape[1] // 2
    apart = np.arange(many)[None] - np.arange(many)[:, None]
    return near[:, np.clip(apart, -furthest, furthest) + furthest][None]
