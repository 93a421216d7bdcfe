"""Semantic Kernel over memwell: a vector store and its collections.

    from memwell.integrations.semantic_kernel import MemwellKernelStore

    notes = MemwellKernelStore("app.db").get_collection(Note, collection_name="notes")

Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when semantic-kernel is not
installed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from memwell._asyncify import run_blocking
from memwell.errors import InvalidInput, MissingDependency
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.records import DEFAULT_SPACE, Record, Space, SpaceLike, as_space, paged
from memwell.storage.registry import Store, shared_backend

try:
    from pydantic import PrivateAttr
    from semantic_kernel.data.vector import (
        DistanceFunction,
        GetFilteredRecordOptions,
        KernelSearchResults,
        SearchType,
        VectorSearch,
        VectorSearchOptions,
        VectorSearchResult,
        VectorStore,
        VectorStoreCollection,
        VectorStoreCollectionDefinition,
    )
    from semantic_kernel.exceptions import VectorStoreModelValidationError
except ModuleNotFoundError as error:

    class _MissingKernel(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingKernel.of("memwell.integrations.semantic_kernel needs semantic-kernel", "semantic-kernel") from error

__all__ = ["MemwellKernelCollection", "MemwellKernelStore"]

_COSINE = {DistanceFunction.DEFAULT, DistanceFunction.COSINE_SIMILARITY, DistanceFunction.COSINE_DISTANCE}


class MemwellKernelCollection(VectorStoreCollection[str, Any], VectorSearch[str, Any]):
    """Records of one type by key and vector, on disk when a call returns; a call stores all or none.

    ``url_or_backend`` is a path, a URL or an open backend. A record has a text as its key, plain JSON as its data, and at
    most one vector, compared by cosine. Filters are evaluated in the store: comparisons of fields with constants, ``in``,
    ``and``, ``or`` and ``not``.
    """

    supported_key_types: ClassVar[set[str] | None] = {"str"}
    supported_search_types: ClassVar[set[SearchType]] = {SearchType.VECTOR}
    _backend: Any = PrivateAttr()
    _names: Space = PrivateAttr()

    def __init__(
        self,
        record_type: type[Any],
        definition: VectorStoreCollectionDefinition | None = None,
        collection_name: str | None = None,
        *,
        url_or_backend: Store = "memwell.db",
        space: SpaceLike = DEFAULT_SPACE,
        **kwargs: Any,
    ) -> None:
        named = {"collection_name": collection_name} if collection_name else {}
        super().__init__(record_type=record_type, definition=definition, **named, **kwargs)
        self._backend = shared_backend(url_or_backend)
        self._names = as_space(space) / "semantic_kernel"

    @property
    def _space(self) -> Space:
        return self._names / self.collection_name

    def _validate_data_model(self) -> None:
        super()._validate_data_model()
        vectors = self.definition.vector_fields
        if len(vectors) > 1 or any(one.distance_function not in _COSINE for one in vectors if one.distance_function):
            raise VectorStoreModelValidationError("memwell has at most one vector a record, compared by cosine")

    async def ensure_collection_exists(self, **kwargs: Any) -> None:
        """Note that there is this collection."""
        await run_blocking(lambda: self._backend.kv.put(self._names, self.collection_name, {}))

    async def collection_exists(self, **kwargs: Any) -> bool:
        """Whether there is this collection."""
        return await run_blocking(lambda: self._backend.kv.get(self._names, self.collection_name) is not None)

    async def ensure_collection_deleted(self, **kwargs: Any) -> None:
        """Delete the collection with its records, for good."""

        def delete() -> None:
            with self._backend.together():
                self._backend.index.delete(self._space, [one.id for one in self._records(None)])
                self._backend.kv.delete(self._names, self.collection_name)

        await run_blocking(delete)

    async def _inner_upsert(self, records: Sequence[Record], **kwargs: Any) -> Sequence[str]:
        def store() -> None:
            with self._backend.together():
                self._backend.kv.put(self._names, self.collection_name, {})
                self._backend.index.upsert(records)

        await run_blocking(store)
        return [one.id for one in records]

    async def _inner_get(
        self, keys: Sequence[str] | None = None, options: GetFilteredRecordOptions | None = None, **kwargs: Any
    ) -> Sequence[Record] | None:
        if keys is not None:
            return await run_blocking(lambda: self._backend.index.get(self._space, keys))
        found = await run_blocking(lambda: self._records(None))
        options = options or GetFilteredRecordOptions()
        # The last key of the order is sorted by first: sorting keeps the order of equals.
        for field, ascending in reversed(list((options.order_by or {}).items())):
            found.sort(key=partial(_field, field), reverse=not ascending)
        return found[options.skip : options.skip + options.top]

    async def _inner_delete(self, keys: Sequence[str], **kwargs: Any) -> None:
        await run_blocking(lambda: self._backend.index.delete(self._space, keys))

    async def _inner_search(
        self,
        search_type: SearchType,
        options: VectorSearchOptions,
        values: Any | None = None,
        vector: Sequence[float | int] | None = None,
        **kwargs: Any,
    ) -> KernelSearchResults[VectorSearchResult[Any]]:
        sought = vector or await self._generate_vector_from_values(values, options)
        built = self._build_filter(options.filter)
        where = AllOf(tuple(built)) if isinstance(built, list) else built
        most = options.top + options.skip
        hits = await run_blocking(lambda: self._backend.index.near(self._space, sought, limit=most, where=where))
        chosen = hits[options.skip :]
        if options.include_vectors:
            # Hits come without their vectors.
            ids = [hit.record.id for hit in chosen]
            held = {one.id: one for one in await run_blocking(lambda: self._backend.index.get(self._space, ids))}
            chosen = [type(hit)(held[hit.record.id], hit.score) for hit in chosen if hit.record.id in held]
        total = len(await run_blocking(lambda: self._records(where))) if options.include_total_count else None
        results = self._get_vector_search_results_from_results(chosen, options)
        return KernelSearchResults(results=results, total_count=total)

    def _get_record_from_result(self, result: Any) -> Any:
        return result.record

    def _get_score_from_result(self, result: Any) -> float | None:
        field = self.definition.vector_fields[0]
        is_distance = field.distance_function == DistanceFunction.COSINE_DISTANCE
        return 1.0 - result.score if is_distance else result.score

    def _serialize_dicts_to_store_models(self, records: Sequence[dict[str, Any]], **kwargs: Any) -> Sequence[Record]:
        return [self._record(one) for one in records]

    def _deserialize_store_models_to_dicts(self, records: Sequence[Record], **kwargs: Any) -> Sequence[dict[str, Any]]:
        vectors = [field.storage_name or field.name for field in self.definition.vector_fields]
        given = [(one, None if one.vector is None else list(one.vector)) for one in records]
        return [{**one.metadata, **dict.fromkeys(vectors, vector)} for one, vector in given]

    def _record(self, fields: dict[str, Any]) -> Record:
        names = [field.storage_name or field.name for field in self.definition.vector_fields]
        vector = next((fields[name] for name in names if fields.get(name) is not None), None)
        data = {name: value for name, value in fields.items() if name not in names}
        key = data[self.definition.key_field_storage_name]
        return Record(text="", space=self._space, id=key, kind="semantic_kernel", metadata=data, vector=vector)

    def _records(self, where: Filter | None) -> list[Record]:
        scan: Callable[..., Any] = self._backend.index.scan
        return list(paged(lambda cursor: scan(self._space, where=where, limit=500, cursor=cursor)))

    def _lambda_parser(self, node: ast.AST) -> Filter:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return AllOf(tuple(map(self._lambda_parser, values)))
            case ast.BoolOp(op=ast.Or(), values=values):
                return AnyOf(tuple(map(self._lambda_parser, values)))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return Not(self._lambda_parser(inner))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return _compared(left, operator, right)
            case _:
                raise InvalidInput(f"a filter of memwell's compares fields with constants, not {ast.unparse(node)!r}")


_OPERATORS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Gt: "gt", ast.GtE: "ge", ast.Lt: "lt", ast.LtE: "le"}


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Filter:
    match left, operator, right:
        case ast.Attribute(value=ast.Name(), attr=name), ast.In(), _:
            return Where(name, "in", ast.literal_eval(right))
        case ast.Attribute(value=ast.Name(), attr=name), ast.NotIn(), _:
            return Not(Where(name, "in", ast.literal_eval(right)))
        case _, ast.In(), ast.Attribute(value=ast.Name(), attr=name):
            return Where(name, "contains", ast.literal_eval(left))
        case ast.Attribute(value=ast.Name(), attr=name), _, _ if type(operator) in _OPERATORS:
            return Where(name, _OPERATORS[type(operator)], ast.literal_eval(right))
        case _:
            raise InvalidInput(f"a filter of memwell's compares a field with a constant, not {ast.unparse(left)!r}")


def _field(name: str, record: Record) -> Any:
    return record.metadata[name]


class MemwellKernelStore(VectorStore):
    """The collections of a space: ``get_collection`` makes ``MemwellKernelCollection`` s over one memwell store."""

    _store: Any = PrivateAttr()
    _space: Space = PrivateAttr()

    def __init__(
        self, url_or_backend: Store = "memwell.db", *, space: SpaceLike = DEFAULT_SPACE, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._store = shared_backend(url_or_backend)
        self._space = as_space(space)

    def get_collection(
        self,
        record_type: type[Any],
        *,
        definition: VectorStoreCollectionDefinition | None = None,
        collection_name: str | None = None,
        embedding_generator: Any = None,
        **kwargs: Any,
    ) -> MemwellKernelCollection:
        """A collection of records of a type."""
        return MemwellKernelCollection(
            record_type,
            definition,
            collection_name,
            url_or_backend=self._store,
            space=self._space,
            embedding_generator=embedding_generator or self.embedding_generator,
            **kwargs,
        )

    async def list_collection_names(self, **kwargs: Any) -> Sequence[str]:
        """The names of the collections, sorted."""
        names, scan = self._space / "semantic_kernel", self._store.kv.scan
        return await run_blocking(lambda: [one.key for one in paged(lambda cursor: scan(names, cursor=cursor))])
