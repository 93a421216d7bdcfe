"""CrewAI over memwell: the storage of its ``Memory``.

    from crewai.memory.unified_memory import Memory
    from memwell.integrations.crewai import MemwellStorage, local_embedder

    memory = Memory(storage=MemwellStorage("app.db"), embedder=local_embedder())

Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when crewai is not installed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from memwell._asyncify import asyncify
from memwell.errors import MissingDependency
from memwell.filters import AllOf, AnyOf, Filter, Where
from memwell.models.local.embedder import LocalEmbedder, Mode
from memwell.records import DEFAULT_SPACE, Record, SpaceLike, as_space, paged
from memwell.storage.registry import Store, shared_backend
from memwell.values import check_count

try:
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ModuleNotFoundError as error:

    class _MissingCrewAI(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingCrewAI.of("memwell.integrations.crewai needs crewai", "crewai") from error

__all__ = ["MemwellStorage", "local_embedder"]

_BLOCK = 500


class MemwellStorage(StorageBackend):
    """Memories of CrewAI's by scope, category and vector, on disk when a call returns; a call stores all or none.

    ``url_or_backend`` is a path, a URL or an open backend. A score is a cosine, and at least 0. All conditions of a call
    must hold; a scope is that path and what is below it. Raises ``InvalidInput`` for metadata that is not plain JSON, and
    CrewAI's ``EmbeddingDimensionMismatchError`` for a vector of another size than those stored.
    """

    def __init__(self, url_or_backend: Store = "memwell.db", *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = shared_backend(url_or_backend)
        self.backend.require("records")
        self.space = as_space(space) / "crewai"

    def save(self, records: list[MemoryRecord]) -> None:
        """Store memories; one with the id of a stored one replaces it."""
        for record in records:
            self._check_size(record.embedding)
        self.backend.index.upsert([self._stored(record) for record in records])

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The memories that satisfy the conditions and are at least this near, nearest first, without their vectors."""
        self._check_size(query_embedding)
        where = _where(scope_prefix, categories, metadata_filter)
        hits = self.backend.index.near(self.space, query_embedding, limit=check_count(limit, "limit"), where=where)
        scored = ((_given(hit.record), max(hit.score, 0.0)) for hit in hits)
        return [(record, score) for record, score in scored if score >= min_score]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the memories that satisfy all conditions, for good, and return how many they were."""
        where = _where(scope_prefix, categories, metadata_filter, record_ids, older_than)
        with self.backend.together():
            return self.backend.index.delete(self.space, [record.id for record in self._records(where)])

    def update(self, record: MemoryRecord) -> None:
        """Replace the memory of this id. One without a vector keeps the stored one if the text is the same."""
        with self.backend.together():
            [held] = self.backend.index.get(self.space, [record.id]) or [None]
            if held is not None and held.text == record.content and not record.embedding and held.vector is not None:
                record = record.model_copy(update={"embedding": list(held.vector)})
            self.save([record])

    def touch_records(self, record_ids: list[str]) -> None:
        """Note that these memories were read now."""
        now = datetime.now(UTC).replace(tzinfo=None)  # CrewAI's own times have no zone.
        with self.backend.together():
            held = map(_given, self.backend.index.get(self.space, record_ids))
            self.save([one.model_copy(update={"last_accessed": now}) for one in held])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """The memory of this id with its vector; None where there is none."""
        return next(map(_given, self.backend.index.get(self.space, [record_id])), None)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The memories of a scope, newest first."""
        wanted = check_count(limit, "limit") + check_count(offset, "offset")
        found = heapq.nlargest(wanted, self._records(_where(scope_prefix)), key=lambda record: record.time)
        return list(map(_given, found[offset:]))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """How many memories a scope has, with their categories, times and the scopes right below it."""
        times = [record.time.replace(tzinfo=None) for record in self._records(_where(scope))]
        return ScopeInfo(
            path=_path(scope),
            record_count=len(times),
            categories=sorted(self.list_categories(scope)),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes right below a scope."""
        depth = len(_scopes(parent))
        held = (_field(record, "scopes") for record in self._records(_where(parent)))
        return sorted({scopes[depth] for scopes in held if len(scopes) > depth})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories of a scope, and how many memories have each."""
        held = (_field(record, "categories") for record in self._records(_where(scope_prefix)))
        return dict(Counter(category for categories in held for category in categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """How many memories a scope has."""
        return sum(1 for _ in self._records(_where(scope_prefix)))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete the memories of a scope, or all."""
        self.delete(scope_prefix)

    asave = asyncify(save)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    asearch = asyncify(search)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    adelete = asyncify(delete)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def _records(self, where: Filter) -> Iterator[Record]:
        scan = self.backend.index.scan
        return iter(list(paged(lambda cursor: scan(self.space, where=where, limit=_BLOCK, cursor=cursor))))

    def _check_size(self, vector: Sequence[float] | None) -> None:
        size = self.backend.index.info(self.space).dimensions
        if vector and size is not None and len(vector) != size:
            raise EmbeddingDimensionMismatchError(size, len(vector))

    def _stored(self, record: MemoryRecord) -> Record:
        time = record.created_at
        return Record(
            text=record.content,
            space=self.space,
            id=record.id,
            kind="crewai",
            time=time if time.tzinfo else time.replace(tzinfo=UTC),
            metadata={
                "scopes": _scopes(record.scope),
                "categories": record.categories,
                "record": {
                    **record.model_dump(mode="json", exclude={"content", "embedding", "metadata"}),
                    "metadata": record.metadata,
                },
            },
            vector=record.embedding or None,
        )


def local_embedder(mode: Mode = "local") -> Callable[[list[str]], list[list[float]]]:
    """memwell's own models as CrewAI's ``embedder``: no key, no server and no download. Raises ``ConfigurationError``."""
    model = LocalEmbedder(mode)
    return lambda texts: model.embed(texts).tolist()


def _path(scope: str) -> str:
    return "/" + scope.strip("/")


def _scopes(scope: str) -> list[str]:
    """A scope with all that it is in, the outermost first."""
    parts = [part for part in scope.split("/") if part]
    return ["/" + "/".join(parts[:end]) for end in range(len(parts) + 1)]


def _where(
    scope: str | None,
    categories: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    ids: Sequence[str] | None = None,
    older_than: datetime | None = None,
) -> Filter:
    wanted: list[Filter] = [Where("scopes", "contains", _path(scope))] if scope and scope.strip("/") else []
    if categories:
        wanted.append(AnyOf(tuple(Where("categories", "contains", one) for one in categories)))
    wanted += [Where(("record", "metadata", key), "eq", value) for key, value in (metadata or {}).items()]
    if ids is not None:
        wanted.append(Where("@id", "in", list(ids)))
    if older_than is not None:
        wanted.append(Where("@time", "lt", older_than if older_than.tzinfo else older_than.replace(tzinfo=UTC)))
    return AllOf(tuple(wanted))


def _field(record: Record, name: str) -> list[str]:
    return cast("list[str]", record.metadata[name])


def _given(record: Record) -> MemoryRecord:
    vector = None if record.vector is None else list(record.vector)
    return MemoryRecord.model_validate({**record.metadata["record"], "content": record.text, "embedding": vector})
