"""Looking a store over: what one table says of another is true."""

from __future__ import annotations

from memwell.storage.postgres.session import Session

_LOOKS = {
    "thread {}: its listing counts its messages or tokens otherwise than they are": """
        SELECT thread.space || ' ' || thread.id FROM memwell_thread AS thread LEFT JOIN (
            SELECT space, thread, count(body) AS live, sum(tokens) AS tokens, min(index) AS lowest, max(index) AS highest
            FROM memwell_message GROUP BY space, thread
        ) AS held ON held.space = thread.space AND held.thread = thread.key
        WHERE thread.messages <> coalesce(held.live, 0) OR thread.tokens <> coalesce(held.tokens, 0)
            OR held.lowest < thread.first_index OR held.highest >= thread.next_index""",
    "message {}: it belongs to no thread": """
        SELECT message.space || ' ' || message.thread || ' ' || message.index FROM memwell_message AS message
        WHERE NOT EXISTS (SELECT 1 FROM memwell_thread AS thread
                          WHERE thread.space = message.space AND thread.key = message.thread)""",
    "version {}: it belongs to no message": """
        SELECT version.space || ' ' || version.thread || ' ' || version.index FROM memwell_message_version AS version
        WHERE NOT EXISTS (SELECT 1 FROM memwell_message AS message WHERE message.space = version.space
                          AND message.thread = version.thread AND message.index = version.index)""",
    "entry {}: it holds neither JSON nor bytes, or both": """
        SELECT space || ' ' || key FROM memwell_entry WHERE (value IS NULL) = (bytes IS NULL)""",
    "blob {}: its bytes are not those of its digest": """
        SELECT space || ' ' || digest FROM memwell_blob WHERE encode(sha256(data), 'hex') <> digest""",
    "space {}: it counts its records, vectors or words otherwise than they are": """
        SELECT counted.space FROM memwell_record_space AS counted
        LEFT JOIN (SELECT space, count(*) AS records, sum(length) AS length FROM memwell_record GROUP BY space) AS held
            ON held.space = counted.space
        LEFT JOIN (SELECT space, count(*) AS vectors FROM memwell_record_vector GROUP BY space) AS pointed
            ON pointed.space = counted.space
        WHERE counted.records <> coalesce(held.records, 0) OR counted.length <> coalesce(held.length, 0)
            OR counted.vectors <> coalesce(pointed.vectors, 0)""",
    "vector {}: it belongs to no record": """
        SELECT held.space || ' ' || held.number FROM memwell_record_vector AS held
        WHERE NOT EXISTS (SELECT 1 FROM memwell_record AS record
                          WHERE record.space = held.space AND record.number = held.number)""",
    "words {}: they belong to no record": """
        SELECT held.space || ' ' || held.number FROM memwell_record_words AS held
        WHERE NOT EXISTS (SELECT 1 FROM memwell_record AS record
                          WHERE record.space = held.space AND record.number = held.number)""",
    "record {}: it has no words, but its text does": """
        SELECT record.space || ' ' || record.number FROM memwell_record AS record
        WHERE record.length > 0 AND NOT EXISTS (SELECT 1 FROM memwell_record_words AS held
                                                WHERE held.space = record.space AND held.number = record.number)""",
}
_MOST = 20


def complaints(session: Session) -> list[str]:
    """What is wrong, in words; at most twenty of a kind."""
    return [wrong.format(row[0]) for wrong, sql in _LOOKS.items() for row in session.rows(f"{sql} LIMIT {_MOST}")]


__all__ = ["complaints"]
