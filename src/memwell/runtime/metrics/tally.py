"""What happened in a minute or an hour: the one row that all trends are made of."""

from __future__ import annotations

import msgspec

from memwell.runtime.metrics.distinct import Distinct
from memwell.runtime.metrics.latencies import Buckets, add_to

MOST_OF_A_MINUTE = 64
MOST_OF_AN_HOUR = 256
"""How many spaces and how many speakers are told apart exactly."""


class Row(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A tally as it is stored."""

    requests: int = 0
    errors: int = 0
    refused: int = 0
    bytes: int = 0
    write: dict[int, int] = {}
    recall: dict[int, int] = {}
    spaces: list[int] = []
    speakers: list[int] = []
    memories: int | None = None
    conversations: int | None = None
    missed: int = 0


class Tally:
    """Counts that are still growing. Whoever changes one sees to it that nobody else does."""

    __slots__ = (
        "bytes",
        "conversations",
        "errors",
        "memories",
        "missed",
        "recall",
        "refused",
        "requests",
        "spaces",
        "speakers",
        "write",
    )

    def __init__(self, most: int = MOST_OF_AN_HOUR) -> None:
        self.requests = self.errors = self.refused = self.bytes = self.missed = 0
        self.write: Buckets = {}
        self.recall: Buckets = {}
        self.spaces = Distinct(most)
        self.speakers = Distinct(most)
        self.memories: int | None = None
        self.conversations: int | None = None

    @classmethod
    def of(cls, row: Row, most: int) -> Tally:
        """The tally that a row was written from."""
        tally = cls(most)
        tally.add_row(row, most)
        return tally

    def add(self, kind: str, bucket: int, status: int, size: int) -> None:
        """Count one request."""
        self.requests += 1
        self.bytes += size
        if kind == "recall":
            self.recall[bucket] = self.recall.get(bucket, 0) + 1
        elif kind == "write":
            self.write[bucket] = self.write.get(bucket, 0) + 1
        if status >= 400:
            if status >= 500:
                self.errors += 1
            else:
                self.refused += 1

    def add_row(self, row: Row, most: int) -> None:
        """Count what a stored row counts, of which at most ``most`` spaces and speakers were kept."""
        self._add(row)
        self.spaces.merge(Distinct(most, row.spaces))
        self.speakers.merge(Distinct(most, row.speakers))

    def merge(self, other: Tally) -> None:
        """Count what another counts, which is the later one."""
        self._add(other)
        self.spaces.merge(other.spaces)
        self.speakers.merge(other.speakers)

    def _add(self, other: Row | Tally) -> None:
        self.requests += other.requests
        self.errors += other.errors
        self.refused += other.refused
        self.bytes += other.bytes
        self.missed += other.missed
        add_to(self.write, other.write)
        add_to(self.recall, other.recall)
        # Not counts of what happened but of what was there: the later one holds.
        self.memories = self.memories if other.memories is None else other.memories
        self.conversations = self.conversations if other.conversations is None else other.conversations

    def row(self, most: int) -> Row:
        """What is stored of it, with at most so many spaces and speakers."""
        return Row(
            self.requests,
            self.errors,
            self.refused,
            self.bytes,
            dict(self.write),
            dict(self.recall),
            self.spaces.smallest(most),
            self.speakers.smallest(most),
            self.memories,
            self.conversations,
            self.missed,
        )


__all__ = ["MOST_OF_AN_HOUR", "MOST_OF_A_MINUTE", "Row", "Tally"]
