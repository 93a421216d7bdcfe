"""Outdated memories among the hits of a recall: which later one superseded each, and the order with the current one first.

Only the memories that were ranked for the same query are compared, so nothing is stored, and a memory is no longer outdated
as soon as the one that superseded it is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from memwell.language.updates import StatedText, statement, supersedes
from memwell.longterm.traits import Traits
from memwell.records import Record

COMPARED = 40
"""Among this many of the best ranked memories a later one is looked for."""
SUPERSEDED = "superseded"
"""The flag of an outdated memory."""


class _Said(NamedTuple):
    """A memory as it is compared."""

    order: tuple[datetime, str]
    """Ids sort by when they were made."""
    traits: Traits
    stated: StatedText


class _Scored(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def score(self) -> float: ...


S = TypeVar("S", bound=_Scored)


def superseded(
    ids: Sequence[str], records: Mapping[str, Record], traits: Mapping[str, Traits], limit: int
) -> dict[str, str]:
    """Which of the first ``limit`` ids are outdated, each with the id of the newest that supersedes it.

    Those that supersede one are looked at too. The ids are in the order of their ranks.
    """
    found: dict[str, str] = {}
    waiting = [id_ for id_ in ids[:limit] if statement(records[id_].text).holds]
    if not waiting:
        # As in most conversations, so that the other texts need not be read.
        return found
    said = {id_: _Said((records[id_].time, id_), traits[id_], statement(records[id_].text)) for id_ in ids}
    newest_first = sorted(
        (id_ for id_ in ids if said[id_].stated.counts), key=lambda id_: said[id_].order, reverse=True
    )
    while waiting:
        older = waiting.pop()
        newer = next((id_ for id_ in newest_first if _replaces(said[id_], said[older])), None)
        if newer is not None:
            found[older] = newer
            if newer not in found and newer not in ids[:limit]:
                waiting.append(newer)
    return found


def _replaces(newer: _Said, older: _Said) -> bool:
    return (
        newer.order > older.order
        and supersedes(newer.stated, older.stated)
        and _may_replace(newer.traits, older.traits)
    )


def _may_replace(newer: Traits, older: Traits) -> bool:
    """Whether one may speak for the other: only the same speaker, and no text of less trust or that reads like an order."""
    if newer.speaker.casefold() != older.speaker.casefold() or "injection" in newer.flags:
        return False
    return newer.trust in (older.trust, "user")


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
