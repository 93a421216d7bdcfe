"""Relevance: the probability that a recalled memory helps to answer its query.

A score only orders the candidates of one query. Relevance comes from what means the same in every store: how much of the query
a memory covers and how near its vector is, neither relative to the other candidates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
import numpy as np

from memwell.errors import InvalidInput
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.ranking import Ranked
from memwell.longterm.snapshot import Snapshot
from memwell.values import shown

MIN_RELEVANCE: Final = 0.05
"""The least relevance of what enters a prompt, and of what the page, the command line and the MCP tool show."""


def check_relevance(value: float) -> float:
    """A least relevance. Raises ``InvalidInput`` for what is no number from 0 to 1."""
    if not isinstance(value, int | float) or not 0 <= value <= 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"min_relevance must be from 0 to 1, not {shown(value)}")
    return value


class LogisticModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A logistic model of some values of a hit, by their names."""

    base: float
    weights: dict[str, float]

    def probability(self, values: Mapping[str, float]) -> float:
        """The probability for a hit that has all values of the model."""
        odds = self.base + math.fsum(weight * values[name] for name, weight in self.weights.items())
        return 1.0 / (1.0 + math.exp(-min(max(odds, -50.0), 50.0)))


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The models of the package: the first whose values a hit has is used.

    The cosine of a vector means another thing with every embedder, so it is known for ``embedder`` only.
    """

    note: str
    embedder: str
    models: tuple[LogisticModel, ...]

    def relevance(self, values: Mapping[str, float]) -> float:
        """The probability that a hit with these values helps to answer."""
        return next(model for model in self.models if model.weights.keys() <= values.keys()).probability(values)


@cache
def default_calibration() -> Calibration:
    """The calibration of the package; its note says what it was fitted to."""
    return msgspec.json.decode(files("memwell.longterm").joinpath("relevance.json").read_bytes(), type=Calibration)


def relevances(snapshot: Snapshot, question: ParsedQuery, hits: Sequence[Ranked], embedder: str | None) -> list[float]:
    """The relevance of hits; ``embedder`` is the name of the one that made the vectors, if there are any."""
    calibration = default_calibration()
    return [calibration.relevance(one) for one in values_of(snapshot, question, hits, embedder == calibration.embedder)]


def values_of(
    snapshot: Snapshot, question: ParsedQuery, hits: Sequence[Ranked], calibrated: bool
) -> list[dict[str, float]]:
    """EXPLORING"""
    rows = np.array([hit.row for hit in hits], np.int32)
    weights = question.term_weights.astype(np.float64)
    around = (snapshot.previous[rows], rows, snapshot.following[rows])
    held = np.zeros((len(question.terms), len(rows)), bool); near = held.copy()
    idf = []
    for at, term in enumerate(question.terms):
        b, o, f = (snapshot.postings.has(term, some) for some in around)
        held[at] = o; near[at] = b | o | f
        size = len(snapshot.postings[term]) if term in snapshot.postings else 0
        idf.append(np.log1p((len(snapshot) - size + 0.5) / (size + 0.5)) / np.log1p((len(snapshot) + 0.5) / 0.5))
    telling = weights * np.array(idf)
    total, total_t = max(weights.sum(), 1e-9), max(telling.sum(), 1e-9)
    found = []
    names = np.array([t in question.name_terms for t in question.terms], bool)
    top = max(hit.score for hit in hits) if hits else 0
    for at, hit in enumerate(hits):
        v = {name: s.value for name, s in hit.signals.items()}
        d = v.get("dense")
        one = {"held": float(weights @ held[:, at] / total), "near": float(weights @ near[:, at] / total),
               "told": float(telling @ held[:, at] / total_t), "told_near": float(telling @ near[:, at] / total_t),
               "rare": float((telling * held[:, at]).max(initial=0)), "names": float(held[names, at].mean()) if names.any() else 0.0,
               "nonames": float(not names.any()),
               "terms": float(np.log1p(weights.sum())), "behind": top - hit.score, "score": hit.score,
               "size": float(np.log10(len(snapshot)+1)), "place": float(np.log1p(at))}
        for name in ("speaker", "role", "time", "when", "how_many", "session", "words", "coverage", "window_coverage", "rarest", "length", "asks"):
            one[name] = v.get(name, 0.0)
        one["times_asked"] = float(bool(question.times))
        if d:
            one["dense"] = d; one["dense_best"] = v.get("dense_best", 0.0)
            best = d / v["dense_best"] if v.get("dense_best") else 0.0
            one["dense_top"] = best
            one["dense_session"] = v.get("dense_session", v.get("dense_best", 0.0)) * best
        found.append(one)
    return found
