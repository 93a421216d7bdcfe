"""Looking a store over: whether words, vectors and counts agree with the rows."""

from __future__ import annotations

from memwell.language.segment import segment
from memwell.storage.sqlite.connections import Session
from memwell.storage.sqlite.schema import THREAD_SHIFT
from memwell.storage.sqlite.spaces import POSITION, SpaceRow
from memwell.storage.sqlite.words import Words

_INDEX = (1 << THREAD_SHIFT) - 1


def check_pages(session: Session) -> list[str]:
    """What SQLite itself finds wrong with its file."""
    return [row[0] for row in session.rows("PRAGMA integrity_check") if row[0] != "ok"]


def check_messages(session: Session, words: Words) -> list[str]:
    """What is wrong with messages and their words, in words."""
    _verify(session, words)
    wrong = _check_postings(session, "message", "message_length") + _check_threads(session)
    for key, count, length in session.rows("SELECT key, indexed_count, indexed_length FROM thread"):
        low = key << THREAD_SHIFT
        stored = session.rows("SELECT key, length FROM message_length WHERE key >= ? AND key <= ?", (low, low | _INDEX))
        if (len(stored), sum(row[1] for row in stored)) != (count, length):
            wrong.append(f"thread {key}: the word index counts {count} messages, but holds {len(stored)}")
    return wrong


def _verify(session: Session, words: Words) -> None:
    # FTS5's own check is spelt as a write. Where nothing can be written, the looks at the rows have to do.
    if not session.connection.readonly("main"):
        words.verify(session)


def _check_postings(session: Session, name: str, lengths: str) -> list[str]:
    """No posting points at nothing, and no row with words lacks one."""
    [(indexed,)] = session.rows(f"SELECT count(DISTINCT doc) FROM {name}_terms")
    [(present,)] = session.rows(f"SELECT count(*) FROM {lengths} WHERE length > 0")
    return [] if indexed == present else [f"the word index holds {indexed} {name}s, but {present} have words"]


def _check_threads(session: Session) -> list[str]:
    """What a thread's listing derives is what its rows hold."""
    wrong: list[str] = []
    for key, first, next_, total, absent, base in session.rows(
        "SELECT key, first, next, total, absent, token_base FROM thread"
    ):
        bounds = (key << THREAD_SHIFT, key << THREAD_SHIFT | _INDEX)
        [(live, tokens)] = session.rows(
            "SELECT count(body), ifnull(sum(tokens), 0) FROM message WHERE key >= ? AND key <= ?", bounds
        )
        last = session.one(
            "SELECT key, total FROM message WHERE key >= ? AND key <= ? ORDER BY key DESC LIMIT 1", bounds
        )
        if last is not None and last[0] & _INDEX >= next_:
            next_, total = (last[0] & _INDEX) + 1, last[1]
        if (live, tokens) != (next_ - first - absent, total - base):
            wrong.append(f"thread {key}: {live} messages of {tokens} tokens, but its listing counts otherwise")
    return wrong


def check_records(session: Session, words: Words) -> list[str]:
    """What is wrong with records, words and vectors, in words."""
    _verify(session, words)
    wrong = _check_postings(session, "record", "record")
    for path, *fields in session.rows(
        "SELECT path, key, next, change, forgotten, records, vectors, dimensions, length FROM space"
    ):
        row = SpaceRow(*fields)
        counted = session.rows(
            "SELECT count(*), ifnull(sum(length), 0) FROM record WHERE key >= ? AND key <= ?", row.bounds
        )[0]
        if counted != (row.records, row.length):
            wrong.append(f"space {path}: {counted[0]} records where {row.records} are counted")
        vectors = session.rows(
            "SELECT count(*), count(record.key), ifnull(sum(length(data) <> 2 * ?), 0) FROM record_vector "
            "LEFT JOIN record USING (key) WHERE record_vector.key >= ? AND record_vector.key <= ?",
            (row.dimensions or 0, *row.bounds),
        )[0]
        if vectors != (row.vectors, row.vectors, 0):
            wrong.append(f"space {path}: {vectors[0]} vectors ({vectors[1]} with a record) of {row.vectors} counted")
        wrong.extend(_check_words(session, row, path))
    return wrong


def _check_words(session: Session, row: SpaceRow, path: str) -> list[str]:
    """Every record is found by its first and last word, and no posting points at nothing."""
    wrong: list[str] = []
    for key, text in session.rows("SELECT key, text FROM record WHERE key >= ? AND key <= ?", row.bounds):
        terms = segment(text)
        for term in {terms[0], terms[-1]} if terms else ():
            query = f'"{row.key}x{term}"'
            found = session.rows("SELECT 1 FROM record_words WHERE record_words MATCH ? AND rowid = ?", (query, key))
            if not found:
                wrong.append(f"space {path}: record {key & POSITION} is not found by its word {term!r}")
    return wrong


__all__ = ["check_messages", "check_pages", "check_records"]
