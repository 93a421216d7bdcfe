"""Words in tsvector: which records of a space hold which terms, and how well they fit a query.

A lexeme is a term with a few letters of its space's digest in front, so that the index keeps the postings of each space by
themselves. That is for speed alone: what is found is always asked for its space too. A tsvector knows that a term is there
and nothing else; how often, when it is more than once, stands beside it. A text with more different terms than one tsvector
takes has several rows, its parts, and no term in two of them.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from memwell.storage.bm25 import K1, B
from memwell.storage.postgres.connections import Session
from memwell.storage.postgres.where import Condition

_MOST_BYTES = 500_000
"""How much one tsvector is given. PostgreSQL takes a mebibyte of lexemes."""
_PREFIX = 4


class Part(NamedTuple):
    """Terms as they are stored: lexemes with a space between, and the counts of those that occur more than once."""

    lexemes: str
    repeated: str | None


def space_prefix(space: str) -> str:
    """What the lexemes of a space begin with. Spaces that share it are slower to search, but never mixed up."""
    return base64.urlsafe_b64encode(hashlib.sha256(space.encode()).digest())[:_PREFIX].decode()


def parts(prefix: str, terms: Sequence[str]) -> list[Part]:
    """The terms of a text, ready to be stored; none for a text without words."""
    if not terms:
        return []
    counts = Counter(terms)
    if sum(map(len, counts)) * 4 + len(counts) * _PREFIX < _MOST_BYTES:
        return [_part(prefix, list(counts), counts)]
    return [_part(prefix, group, counts) for group in _groups(list(counts))]


def _part(prefix: str, group: Sequence[str], counts: Counter[str]) -> Part:
    lexemes = prefix + f" {prefix}".join(group)
    if len(group) == counts.total():
        return Part(lexemes, None)
    repeated = {term: counts[term] for term in group if counts[term] > 1}
    return Part(lexemes, msgspec.json.encode(repeated).decode() if repeated else None)


def _groups(terms: Sequence[str]) -> list[list[str]]:
    """Terms in groups that fit a tsvector each."""
    groups: list[list[str]] = []
    left = 0
    for term in terms:
        size = len(term.encode()) + _PREFIX
        if size > left:
            groups.append([])
            left = _MOST_BYTES
        groups[-1].append(term)
        left -= size
    return groups


def search(
    session: Session, space: str, terms: Sequence[str], limit: int, condition: Condition | None, fields: str
) -> list[tuple[Any, ...]]:
    """The exact BM25 score and the fields of the best records, best first, the newest first among equals."""
    prefix = space_prefix(space)
    allowed = _ALLOWED.format(condition=condition.sql) if condition else ""
    bindings = (
        space,
        list(terms),
        [_quoted(prefix + term) for term in terms],
        space,
        *((space, *condition.bindings) if condition else ()),
        limit,
        space,
    )
    return session.rows(_SEARCH.format(allowed=allowed, fields=fields), bindings)


def _quoted(lexeme: str) -> str:
    # Terms hold neither quotes nor backslashes; whoever changes that shall not change what a query means.
    doubled = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


# Each term is looked up by itself: so the index alone says which records have it, and no tsvector is ever read. The planner
# would rather read the whole space for each; a plain "=" and a plain join would let it.
_SEARCH = f"""
    WITH state AS MATERIALIZED (
        SELECT records::double precision AS records, greatest(length, 1)::double precision / records AS average
        FROM memwell_record_space WHERE space = %s AND records > 0
    ), found AS MATERIALIZED (
        SELECT asked.place, posting.number, posting.length,
               coalesce((posting.repeated ->> asked.term)::double precision, 1.0) AS count
        FROM unnest(%s::text[], %s::tsquery[]) WITH ORDINALITY AS asked (term, lexeme, place)
        CROSS JOIN LATERAL (
            SELECT number, length, repeated FROM memwell_record_words
            WHERE words @@ asked.lexeme AND space IS NOT DISTINCT FROM %s OFFSET 0
        ) AS posting
    ), weight AS (
        SELECT place, ln(1.0 + ((SELECT records FROM state) - count(*) + 0.5) / (count(*) + 0.5)) AS weight
        FROM found GROUP BY place
    ), scored AS (
        SELECT number, sum(weight * count * {K1 + 1.0} / (count + {K1} * ({1.0 - B} + {B} * length / average))) AS score
        FROM found JOIN weight USING (place) CROSS JOIN state GROUP BY number
    ), best AS MATERIALIZED (
        SELECT scored.score, scored.number FROM scored {{allowed}} ORDER BY score DESC, scored.number DESC LIMIT %s
    )
    SELECT best.score, {{fields}} FROM best
    JOIN memwell_record AS record ON record.space = %s AND record.number = best.number
    ORDER BY best.score DESC, best.number DESC"""
_ALLOWED = "JOIN memwell_record AS record ON record.space = %s AND record.number = scored.number AND {condition}"

__all__ = ["Part", "parts", "search", "space_prefix"]
