"""Outdated memories among the best hits of a recall: which later one superseded each, and the current one first.

Whether a later memory makes an earlier one outdated is a probability, learnt from pairs of statements (see
``benchmarks/recall/updates.py``): from the words of both (``memwell.language.updates``), from how alike their vectors are,
from each vector alone, which tells whether the memory speaks of a state or of a change, and from how well both answer the
question: what answers the same is about the same. Only hits of the same query are compared, so nothing is stored, and a
memory is no longer outdated as soon as the one that superseded it is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell._products import product
from memwell.language.updates import CUES, compared, statement
from memwell.longterm.snapshot import is_chinese
from memwell.longterm.traits import Traits

SUPERSEDED = "superseded"
"""The flag of an outdated memory."""
COMPARED = 10
"""The number of the best hits that are compared with each other."""
LEAST: Final = 0.5
"""From this probability on the earlier memory is called outdated, and the later one stands before it."""
_BY_WORDS = 0.8
"""The same where there are no vectors: words alone say little."""
_LEAST_RELEVANCE = 1e-3
_MOST_ODDS = 30.0

Floats = NDArray[np.float32]
Odds = NDArray[np.float64]


class ComparedHit(NamedTuple):
    """A hit as it is compared with others."""

    id: str
    text: str
    time: datetime
    traits: Traits
    relevance: float
    """How likely it helps to answer the question."""

    @property
    def order(self) -> tuple[datetime, str]:
        """Ids sort by when they were made."""
        return self.time, self.id


class ComparedVectors(NamedTuple):
    """The vectors of hits, a row each: whole, and the part that every language has. Each has the length 1."""

    whole: Floats
    shared: Floats

    @classmethod
    def of(cls, rows: Floats, shared_from: int | None) -> ComparedVectors:
        """From their rows."""
        return cls(_units(rows), _units(rows[:, shared_from or 0 :]))


class PairModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The probability that a later memory supersedes an earlier one: a logistic model over values by their names."""

    base: float
    weights: dict[str, float]
    older_vector: tuple[float, ...] = ()
    newer_vector: tuple[float, ...] = ()
    """What each number of the shared part of a vector weighs; empty in the model without vectors."""

    def probabilities(
        self, candidates: Sequence[ComparedHit], vectors: ComparedVectors | None, least: float = 0.0
    ) -> dict[tuple[int, int], float]:
        """The probability of each pair of places, the earlier memory first; only of pairs where it can be ``least``."""
        odds = np.full((len(candidates), len(candidates)), self.base)
        both = of_pairs(candidates, vectors)
        for name, values in both.items():
            odds += self.weights[name] * values
        own = of_each(candidates)
        for side, vector in (("older", self.older_vector), ("newer", self.newer_vector)):
            each = sum(self.weights[f"{side}_{name}"] * values for name, values in own.items())
            if vectors is not None:
                each = each + product(vectors.shared, np.array(vector, np.float32))
            odds += np.asarray(each)[:, None] if side == "older" else np.asarray(each)[None, :]
        alike = both.get("alike", np.zeros_like(odds))
        words = self.weights.keys() - both.keys() - {f"{side}_{name}" for side in ("older", "newer") for name in own}
        most = sum(max(self.weights[name], 0.0) for name in words)
        bound = -math.inf if least <= 0.0 else math.log(least / (1.0 - least)) - most
        found: dict[tuple[int, int], float] = {}
        for older, newer in np.argwhere(odds >= bound).tolist():
            if may_replace(candidates[newer], candidates[older]):
                values = of_words(candidates[newer], candidates[older], float(alike[older, newer]))
                found[older, newer] = _chance(
                    odds[older, newer] + sum(self.weights[name] * values[name] for name in words)
                )
        return found


class SupersedingModels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The models of the package: one for the vectors of ``embedder``, one without vectors."""

    note: str
    embedder: str
    vectors: PairModel
    words: PairModel


@cache
def default_models() -> SupersedingModels:
    """The models of the package; their note says what they were fitted to."""
    data = files("memwell.longterm").joinpath("superseding.json").read_bytes()
    return msgspec.json.decode(data, type=SupersedingModels)


def outdated(candidates: Sequence[ComparedHit], vectors: ComparedVectors | None) -> dict[str, str]:
    """Which hits are outdated, each with the newest that supersedes it.

    Their vectors are those of the model's embedder, or None.
    """
    models = default_models()
    model, least = (models.words, _BY_WORDS) if vectors is None else (models.vectors, LEAST)
    found: dict[str, ComparedHit] = {}
    for (older, newer), probability in model.probabilities(candidates, vectors, least).items():
        one, other = candidates[older], candidates[newer]
        if probability >= least and (one.id not in found or other.order > found[one.id].order):
            found[one.id] = other
    return {older: newer.id for older, newer in found.items()}


def of_each(candidates: Sequence[ComparedHit]) -> dict[str, Odds]:
    """What each memory alone tells, by name."""
    cues = [statement(one.text).cues for one in candidates]
    found = {cue: np.array([cue in shown for shown in cues], float) for cue in CUES}
    return found | {"relevance": _log_odds(candidates)}


def of_pairs(candidates: Sequence[ComparedHit], vectors: ComparedVectors | None) -> dict[str, Odds]:
    """How alike the memories of each pair are, and how relevant both, by name: a row for each earlier one."""
    odds = _log_odds(candidates)
    found: dict[str, Odds] = {"both_relevant": np.minimum(odds[:, None], odds[None, :])}
    if vectors is not None:
        rows = {"alike": vectors.whole, "alike_shared": vectors.shared}
        found |= {name: product(one, one.T) for name, one in rows.items()}
    return found


def _log_odds(candidates: Sequence[ComparedHit]) -> Odds:
    chances = np.clip([one.relevance for one in candidates], _LEAST_RELEVANCE, 1.0 - _LEAST_RELEVANCE)
    return np.log(chances / (1.0 - chances))


def of_words(newer: ComparedHit, older: ComparedHit, alike: float) -> dict[str, float]:
    """What the words of two memories tell, by name, also together and with how alike the memories are."""
    later, earlier = statement(newer.text), statement(older.text)
    found = compared(later, earlier)
    holder, topic = found["same_holder"], found["same_topic"]
    words, numbers = found["same_words"], found["other_numbers"]
    change, plain = float(not _CHANGE.isdisjoint(later.cues)), float(_NOT_PLAIN.isdisjoint(later.cues))
    return found | {
        "change_and_topic": change * topic,
        "change_and_topic_of_holder": change * topic * holder,
        "holder_and_topic": holder * topic,
        "change_and_words": change * words,
        "change_and_holder": change * holder,
        "change_and_plain": change * plain,
        "change_and_alike": change * alike,
        "holder_and_words": holder * words,
        "holder_and_numbers": holder * numbers,
        "holder_and_plain": holder * plain,
        "holder_and_alike": holder * alike,
        "numbers_and_alike": numbers * alike,
        "plain_and_alike": plain * alike,
    }


_CHANGE = frozenset({"begins", "changes", "ends"})
_NOT_PLAIN = frozenset({"adds", "past", "plans", "happened"})


def may_replace(newer: ComparedHit, older: ComparedHit) -> bool:
    """Whether one may speak for the other: a later statement of the same speaker in the same language.

    It must be of no less trust, and not read like an injection.
    """
    if newer.order <= older.order or newer.text == older.text or "injection" in newer.traits.flags:
        return False
    if newer.traits.speaker.casefold() != older.traits.speaker.casefold():
        return False
    if newer.traits.trust not in (older.traits.trust, "user") or is_chinese(newer.text) is not is_chinese(older.text):
        return False
    return statement(older.text).holds and statement(newer.text).states


def _chance(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(odds, -_MOST_ODDS), _MOST_ODDS)))


def _units(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, np.where(lengths, lengths, 1.0), dtype=np.float32)


class _Scored(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def score(self) -> float: ...


S = TypeVar("S", bound=_Scored)


def current_first(hits: Sequence[S], replaced: Mapping[str, str]) -> list[tuple[S, float]]:
    """Hits with the current memory in front of each outdated one, and how much is added to the score of each.

    The current memory takes the place of the outdated one, which follows it; equal scores have the later one first.
    """
    by_id = {hit.id: hit for hit in hits}
    placed: dict[str, tuple[S, float]] = {}
    for hit in hits:
        row = [hit]
        while (newer := by_id.get(replaced.get(row[-1].id, ""))) is not None:
            row.append(newer)
        for one in reversed(row):
            placed.setdefault(one.id, (one, max(hit.score - one.score, 0.0)))
    return list(placed.values())
