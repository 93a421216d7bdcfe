"""Work over every space of a store, in one process or several: audits, consolidation, and re-embedding.

Each can be killed and called again. An audit changes nothing, a consolidation finds nothing more to merge in a space that
is done, and re-embedding keeps the vectors that are made. With several ``workers`` a program needs the usual
``if __name__ == "__main__":``, as for every process that Python starts.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from memwell.errors import BackendError, InvalidInput, ModelError
from memwell.longterm.embedding import MARK, ORDERED, Reembedding, WantedEmbedder
from memwell.longterm.indexing import Indexer
from memwell.longterm.journal import MARKS, inner_space
from memwell.longterm.memory import Memory
from memwell.models.ports import Embedder, embedder_named
from memwell.records import Space, SpaceLike, as_space, paged
from memwell.runtime import opening
from memwell.runtime.worker import owner_of_documents
from memwell.storage import Backend, open_backend
from memwell.values import check_count, shown

Store: TypeAlias = str | Path | Backend
Progress: TypeAlias = Callable[[int, int | None], None]
Work: TypeAlias = Callable[[Backend, Any], Any]

_PIECE = 512
_AT_ONCE = 64
_MOST_IDLE = 3
"""How often in a row re-embedding may make no progress before the space is given up."""


class SpaceFailure(NamedTuple):
    """A space whose work failed, and the error."""

    space: Space
    error: str


class BatchOutcome(NamedTuple):
    """The results of the spaces as plain data, in the order of the spaces, and the spaces that failed."""

    results: list[dict[str, Any]]
    failures: list[SpaceFailure]


def audit_all(store: Store, *, workers: int = 1, progress: Progress | None = None) -> BatchOutcome:
    """Audit the memory of every space: its findings by kind, and its plan. It changes nothing."""
    return _over_spaces(store, _audited, workers, progress)


def consolidate_all(store: Store, *, workers: int = 1, progress: Progress | None = None) -> BatchOutcome:
    """Merge near duplicates and draw insights in the memory of every space. All of it can be undone."""
    return _over_spaces(store, _consolidated, workers, progress)


def _audited(store: Backend, space: Space) -> dict[str, Any]:
    report = Memory(store, space).audit()
    plan = msgspec.to_builtins(report.plan)
    return {"space": list(space), "records": report.records, "counts": report.counts, "plan": plan}


def _consolidated(store: Backend, space: Space) -> dict[str, Any]:
    # Not closed: the store is used for the next space.
    memory = opening.open(store, space=space, work=False)
    merged = memory.compress()
    insights = [insight.id for insight in memory.reflect()]
    return {"space": list(space), "before": merged.before, "after": merged.after, "insights": insights}


def _over_spaces(store: Store, work: Work, workers: int, progress: Progress | None) -> BatchOutcome:
    check_count(workers, "workers", least=1)
    with _opened(store) as backend:
        spaces = sorted(spaces_with_memories(backend))
    outcome = BatchOutcome([], [])
    if progress is not None:
        progress(0, len(spaces))
    for done, (space, result, error) in enumerate(_each(store, work, spaces, workers), 1):
        if error is None:
            outcome.results.append(result)
        else:
            outcome.failures.append(SpaceFailure(space, error))
        if progress is not None:
            progress(done, len(spaces))
    return outcome


def spaces_with_memories(backend: Backend) -> Iterator[Space]:
    """Every space in which something was remembered."""
    for owner, inner in _owners(backend):
        remembered = backend.kv.get(inner, MARKS) is not None or backend.log.threads(inner, ids=["journal"]).items
        if remembered and owner_of_documents(owner) is None:
            yield owner


def _owners(backend: Backend) -> Iterator[tuple[Space, Space]]:
    """Every space about which memwell keeps something, and the space where it is kept."""
    for inner in paged(lambda cursor: backend.spaces(limit=500, cursor=cursor)):
        owner = Space(*inner[:-1]) if len(inner) > 1 else None
        if owner is not None and inner_space(owner) == inner:
            yield owner, inner


# Re-embedding


class Reembedded(NamedTuple):
    """The numbers of re-embedded spaces and records, and the spaces that are not done."""

    spaces: int
    records: int
    left: list[Space]


def reembed(
    store: Store,
    embedder: str | Embedder,
    *,
    spaces: Iterable[SpaceLike] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Reembedded:
    """Re-embed a store, or some of its spaces. Killed and called again, it goes on.

    Several processes do it if the embedder is known by its name, else this one. ``progress`` is called with how many
    records are done, and of how many. Raises ``InvalidInput`` for an unknown name.
    """
    check_count(workers, "workers", least=1)
    maker = embedder if isinstance(embedder, Embedder) else embedder_named(embedder)
    if maker is None:
        raise InvalidInput(f"no embedder is known by the name {shown(embedder)}")
    with _opened(store) as backend:
        with_vectors = (owner for owner, inner in _owners(backend) if backend.kv.get(inner, MARK) is not None)
        named = with_vectors if spaces is None else map(as_space, spaces)
        wanted = {space: _reembedding(backend, space, maker) for space in named}
        wanted = {space: one for space, one in wanted.items() if one.begin()}
        records = {space: backend.index.info(space).records for space in wanted}
        total, finished = sum(records.values()), 0

        def report(done: int) -> None:
            if progress is not None:
                progress(min(done, total), total)

        if wanted and workers > 1 and embedder_named(maker.name) is not None:
            pieces = [piece for space in wanted for piece in _pieces(backend, space)]
            # A piece that failed is done below, or its space is among those left.
            for ended, _ in enumerate(_each(store, partial(_make_vectors, maker.name), pieces, workers), 1):
                report(total * ended // len(pieces))
            finished = total
        done: list[Space] = []
        for space, one in wanted.items():
            if _finished(
                one, lambda left, space=space, before=finished: report(before + max(records[space] - left, 0))
            ):
                done.append(space)
                finished += records[space]
    return Reembedded(len(done), sum(records[one] for one in done), [one for one in wanted if one not in done])


def _pieces(backend: Backend, space: Space) -> Iterator[tuple[Space, str | None]]:
    """The pages of a space's records, by their cursors."""
    cursor: str | None = None
    while True:
        yield space, cursor
        cursor = backend.index.scan(space, limit=_PIECE, cursor=cursor).next
        if cursor is None:
            return


def _make_vectors(model: str, store: Backend, piece: tuple[Space, str | None]) -> None:
    """Make the vectors of one page of records. Raises ``ModelError``."""
    maker = embedder_named(model)
    if maker is None:
        raise InvalidInput(f"no embedder is known by the name {shown(model)}")
    space, cursor = piece
    making = _reembedding(store, space, maker)
    records = store.index.scan(space, limit=_PIECE, cursor=cursor).items
    for start in range(0, len(records), _AT_ONCE):
        if not making.make(records[start : start + _AT_ONCE]):
            raise ModelError(f"the embedder {maker.name} failed")


def _reembedding(backend: Backend, space: Space, maker: Embedder) -> Reembedding:
    wanted = WantedEmbedder.made_now(ORDERED)
    return Indexer(backend, space, embedder=maker, wanted_embedder=wanted).reembedding


def _finished(making: Reembedding, report: Callable[[int], None]) -> bool:
    """Finish one space; False when the embedder fails, or another process wants another embedder."""
    idle = 0
    while idle < _MOST_IDLE:
        worked = making.work()
        left = making.left()
        report(left)
        if not worked and not left:
            return True
        idle = 0 if worked else idle + 1
    return False


# Processes


def process_pool(workers: int, begin: Callable[..., None] | None = None, *given: Any) -> ProcessPoolExecutor:
    """Processes that end with this one, even when it is killed. Each calls ``begin`` first."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(begin, given))


def _begin(begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _opened(store: Store) -> AbstractContextManager[Backend]:
    return nullcontext(store) if isinstance(store, Backend) else open_backend(store)


def _each(store: Store, work: Work, pieces: Sequence[Any], workers: int) -> Iterator[tuple[Any, Any, str | None]]:
    """Do all pieces, in their order: each with its result, or with its error in words.

    Processes open a store by its URL; one that is open already is worked on here. Raises ``BackendError`` when a process
    dies.
    """
    if workers == 1 or len(pieces) < 2 or isinstance(store, Backend) or str(store) == "memory:":
        with _opened(store) as backend:
            for piece in pieces:
                yield _tried(work, backend, piece)
        return
    with process_pool(min(workers, len(pieces)), _open_store, str(store)) as pool:
        try:
            yield from pool.map(partial(_tried_there, work), pieces)
        except BrokenProcessPool as error:
            raise BackendError("a process of the batch has died; run it again, it goes on") from error


def _tried(work: Work, backend: Backend, piece: Any) -> tuple[Any, Any, str | None]:
    try:
        return piece, work(backend, piece), None
    except Exception as error:  # noqa: BLE001 - an error in one space must not stop the work of the others
        return piece, None, f"{type(error).__name__}: {error}"


_stores: list[Backend] = []
"""The store of a process of the pool."""


def _open_store(url: str) -> None:
    _stores.append(open_backend(url))


def _tried_there(work: Work, piece: Any) -> tuple[Any, Any, str | None]:
    return _tried(work, _stores[0], piece)
