"""Whether two stores gave the same answer: equal where it is exact, close where it is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from memwell.messages import Message
from memwell.records import Hit, Page
from memwell.storage.protocols import Entry, IndexInfo

NEAR_TOLERANCE = 1e-3
MATCH_TOLERANCE = 1e-6
EVERYTHING = 10_000
"""A limit beyond what a test stores: the reference's whole ranking."""


class Versions:
    """Which version of one store is which of the other: they are random, but must correspond one to one."""

    def __init__(self) -> None:
        self._to_reference: dict[int, int] = {0: 0}
        self._to_subject: dict[int, int] = {0: 0}

    def pair(self, subject: int, reference: int) -> bool:
        """Whether the two correspond; two that were never seen do from now on."""
        known = self._to_reference.setdefault(subject, reference)
        known_back = self._to_subject.setdefault(reference, subject)
        return (known, known_back) == (reference, subject)

    def of_subject(self, reference: int) -> int:
        """The subject's name for a version of the reference; one that neither knows stays itself."""
        return self._to_subject.get(reference, reference)


def assert_same(subject: Any, reference: Any, versions: Versions) -> None:
    """Whether two answers are the same, whatever they are of."""
    assert type(subject) is type(reference), (subject, reference)
    if isinstance(subject, Entry):
        assert versions.pair(subject.version, reference.version), (subject, reference)
        assert (subject.key, subject.expires) == (reference.key, reference.expires)
        assert _plain(subject.value) == _plain(reference.value)
    elif isinstance(subject, IndexInfo):
        # How a space is searched is the backend's own choice.
        assert subject.__class__(*_counts(subject), "") == subject.__class__(*_counts(reference), "")
    elif isinstance(subject, Page):
        items: Sequence[Any] = reference.items
        # A cursor is opaque; that there is one is not.
        assert (subject.next is None) == (reference.next is None)
        assert_same(subject.items, items, versions)  # pyright: ignore[reportUnknownMemberType]
    elif isinstance(subject, list):
        assert len(subject) == len(reference), (subject, reference)  # pyright: ignore[reportUnknownArgumentType]
        for one, other in zip(subject, reference, strict=True):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            assert_same(one, other, versions)
    else:
        assert subject == reference


def _counts(info: IndexInfo) -> tuple[int, int, int | None]:
    return info.records, info.vectors, info.dimensions


def _plain(value: Any) -> Any:
    """A value in a form whose equality tells 1, 1.0 and True apart."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return type(value), value


Ranking = Sequence[tuple[str, float, Any]]
"""What was found: an id, a score, and the thing itself; best first."""


def ranking_of(hits: Sequence[Hit] | Sequence[tuple[Message, float]]) -> Ranking:
    """Hits of an index or of a log as one shape."""
    return [(h.record.id, h.score, h.record) if isinstance(h, Hit) else (h[0].id, h[1], h[0]) for h in hits]


def assert_same_ranking(subject: Ranking, reference: Ranking, limit: int, *, relative: float, absolute: float) -> None:
    """Whether ``subject`` is a right answer, given the reference's whole ranking: equals may come in any order."""
    known = {id_: (score, thing) for id_, score, thing in reference}
    ids = [id_ for id_, _, _ in subject]
    assert len(set(ids)) == len(ids), "nothing is found twice"
    assert len(subject) == min(limit, len(reference)), (subject, reference)
    for (id_, score, thing), (_, expected, _) in zip(subject, reference, strict=False):
        assert math.isclose(score, expected, rel_tol=relative, abs_tol=absolute), (subject, reference)
        assert math.isclose(score, known[id_][0], rel_tol=relative, abs_tol=absolute), (id_, subject, reference)
        assert thing == known[id_][1]


def assert_same_near(subject: list[Hit], reference: list[Hit], limit: int) -> None:
    """Whether two searches by vector agree."""
    subject_ranking, whole = ranking_of(subject), ranking_of(reference)
    assert_same_ranking(subject_ranking, whole, limit, relative=0.0, absolute=NEAR_TOLERANCE)


def assert_same_match(
    subject: list[Hit] | list[tuple[Message, float]], reference: list[Hit] | list[tuple[Message, float]], limit: int
) -> None:
    """Whether two searches by words agree."""
    subject_ranking, whole = ranking_of(subject), ranking_of(reference)
    assert_same_ranking(subject_ranking, whole, limit, relative=MATCH_TOLERANCE, absolute=0.0)


__all__ = [
    "EVERYTHING",
    "Versions",
    "assert_same",
    "assert_same_match",
    "assert_same_near",
]
