"""``FactReader``: a small model that reads facts from English texts, with the rules of ``memwell.language.claims``.

It goes on from the third layer of the encoder with three layers of its own. For each word piece and relation they say
whether an object of that relation begins or goes on there, whether the fact is over, and which piece names its subject.
``reader.md`` says how it was made.
"""

from __future__ import annotations

import io
import re
from functools import cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from memwell._native import product
from memwell.language.claims.english_objects import KIN, SAME_KIN
from memwell.language.claims.relations import EVENT, PLAN, STATE, RuleMatch
from memwell.models.local.embedder import shared_models
from memwell.models.local.encoder import DIMENSIONS, LAYERS, SHARED_LAYERS, WordPieces, layer
from memwell.models.local.onnx import READER, Array, Floats, OnnxGraph, OnnxSession, checked_bytes, integer_type

RELATIONS = (
    "name age birthday from nationality lives_in works_at occupation studies_at studies graduated_from speaks email "
    "phone married_to partner parent child sibling relative friend colleague pet owns likes dislikes hobby allergic_to "
    "diet plans visited bought favourite"
).split()
"""What it knows of, in the order of its weights."""
_MOST_PIECES = 160
_MOST_CHARACTERS = 10_000
"""What stands beyond is left to the rules."""
_POINTER = 128
_LEAST, _HALF = 0.05, 0.5
_KINDS = {"plans": PLAN, "visited": EVENT, "bought": EVENT}
_BEFORE_OBJECT = re.compile(r"(?:(?:an?|the|my|our|his|her|their|to|in|at|as|for)\s+)+", re.IGNORECASE).match
_AFTER_OBJECT = re.compile(r"[\s,.;:!?'\"’”)(-]+\Z").search
_NAME = re.compile(r"[^\W\d_][\w'’-]*(?:\s+(?:(?:de|da|van|von|der|bin|al|la|del|di)\s+)*[A-ZÀ-ÖØ-Þ][\w'’-]*)*").match
_WORD = re.compile(r"[^\W_][\w-]*(?:[ -]in[ -]law)?").match


class PlacedPieces(NamedTuple):
    """The pieces of a text: their ids, where each begins and ends in the text, and how it is capitalised."""

    ids: list[int]
    places: list[tuple[int, int]]
    capitals: list[int]


def placed(pieces: WordPieces, text: str) -> PlacedPieces:
    """The pieces of a text, without those of start and end."""
    found = PlacedPieces([], [], [])
    for ids, places in pieces.placed(text):
        word = text[places[0][0] : places[-1][1]]
        capital = 0 if not word[0].isupper() else 2 if word.isupper() and len(word) > 1 else 1
        found.ids.extend(ids)
        found.places.extend(places)
        found.capitals.extend([capital] * len(ids))
    return found


class FactReader:
    """The loaded model. Thread-safe.

    Raises ``MissingDependency`` when a package is missing and ``ConfigurationError`` when the shipped weights are not the
    expected ones.
    """

    def __init__(self, weights: bytes | None = None) -> None:
        with np.load(io.BytesIO(weights or checked_bytes(READER))) as stored:
            constants: dict[str, Array] = dict(stored)
        self._encoder = shared_models()[0].get()
        self._capitals = constants["capitals"].astype(np.float32)
        self._of_relation = constants["relation"].astype(np.float32)
        self._session = OnnxSession(_graph(constants))

    def read(self, text: str) -> list[RuleMatch]:
        """What a text may state, each with its probability as ``confidence``, in the order of the text."""
        pieces = placed(self._encoder.pieces, text[:_MOST_CHARACTERS])
        found: list[RuleMatch] = []
        inner = _MOST_PIECES - 2
        for first in range(0, len(pieces.ids), inner):
            some = slice(first, first + inner)
            part = PlacedPieces(pieces.ids[some], pieces.places[some], pieces.capitals[some])
            found += self._read(text, part, is_whole=len(pieces.ids) <= inner)
        return found

    def _read(self, text: str, part: PlacedPieces, *, is_whole: bool) -> list[RuleMatch]:
        ids = [self._encoder.pieces.start, *part.ids, self._encoder.pieces.end]
        capitals = self._capitals[[0, *part.capitals, 0]]
        # A text that is read is mostly encoded next.
        shared = self._encoder.shared_layers(ids, keep=is_whole)
        made = self._session.run({"x": shared, "capitals": capitals[None]})[0]
        many = len(RELATIONS)
        begins, goes_on, ended, asks, answers = np.split(made, np.cumsum([many, many, many, _POINTER]), axis=1)
        begins, goes_on, ended = _sigmoid(begins), _sigmoid(goes_on), _sigmoid(ended)
        found: list[RuleMatch] = []
        # The end of the text is no object.
        for at, relation in np.argwhere(begins[:-1] > _LEAST).tolist():
            last = at
            while at and last + 1 < len(ids) - 1 and goes_on[last + 1, relation] > _HALF:
                last += 1
            asked = asks[at] + self._of_relation[relation]
            scores = product(answers, asked) / np.float32(_POINTER**0.5)
            scores = np.exp(scores - scores.max())
            who = int(scores.argmax())
            over = float(ended[at, relation])
            sure = float(begins[at, relation]) * max(over, 1 - over) * float(scores[who] / scores.sum())
            match = _match(text, part, RELATIONS[relation], (at, last), who, over=over > _HALF, sure=sure)
            if match is not None:
                found.append(match)
        return found


@cache
def fact_reader() -> FactReader:
    """The one reader of the process, loaded when it is first asked for."""
    return FactReader()


def _match(
    text: str, part: PlacedPieces, relation: str, span: tuple[int, int], who: int, *, over: bool, sure: float
) -> RuleMatch | None:
    """What was found as the match of a rule; None where that would have no object."""
    first, last = span
    start, end = (part.places[first - 1][0], part.places[last - 1][1]) if first else (0, 0)
    if first:
        # A word is never cut, although one of its pieces may be doubtful.
        start, end = _word_start(text, start), _word_end(text, end)
        lead, trail = _BEFORE_OBJECT(text, start, end), _AFTER_OBJECT(text, start, end)
        start, end = (lead.end() if lead else start), (trail.start() if trail else end)
    if (first and start >= end) or (not first and not over):
        return None
    subject, kin, place = "", "", start
    if 0 < who <= len(part.places):
        place = part.places[who - 1][0]
        named = _WORD(text, place)
        word = named.group().lower().replace(" ", "-") if named else ""
        if word in KIN:
            kin = SAME_KIN.get(word, word)
        elif (name := _NAME(text, place)) is not None:
            subject = name.group().removesuffix("'s").removesuffix("’s")
    begin, stop = min(place, start), max(end, start)
    kind = STATE if over else _KINDS.get(relation, STATE)
    return RuleMatch(
        relation, start, end, begin, stop, subject=subject, kin=kin, kind=kind, negated=over, confidence=sure
    )


def _word_start(text: str, at: int) -> int:
    while at > 0 and text[at - 1].isalnum():
        at -= 1
    return at


def _word_end(text: str, at: int) -> int:
    while at < len(text) and text[at].isalnum():
        at += 1
    return at


def _sigmoid(x: Floats) -> Floats:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _graph(constants: dict[str, Array]) -> bytes:
    graph = OnnxGraph(integer_type())
    x = graph.node("Add", ["x", "capitals"])
    for number in range(SHARED_LAYERS, LAYERS):
        x = layer(graph, constants, x, number)
    heads = cast("NDArray[np.float16]", constants["heads"]).astype(np.float32)
    biases = constants["biases"].astype(np.float32)
    out = graph.node("Add", [graph.node("MatMul", [x, graph.constant(heads)]), graph.constant(biases)])
    return graph.model(
        {"x": [1, "pieces", DIMENSIONS], "capitals": [1, "pieces", DIMENSIONS]}, {out: [1, "pieces", len(biases)]}
    )
