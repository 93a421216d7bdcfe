"""The batches of memwell: audits, consolidation and re-embedding of every space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from memwell.errors import InvalidInput, ModelError
from memwell.longterm.embedding import MARK, ORDERED, Reembedding, WantedEmbedder
from memwell.longterm.indexing import Indexer
from memwell.longterm.journal import MARKS, inner_space
from memwell.longterm.memory import Memory
from memwell.models.ports import Embedder, embedder_named
from memwell.records import Space, SpaceLike, as_space, paged
from memwell.runtime import opening
from memwell.runtime.batch import Batch, RunnerName
from memwell.runtime.worker import owner_of_documents
from memwell.storage import Backend, open_backend
from memwell.values import shown


def spaces_with_memories(backend: Backend) -> Iterator[Space]:
    """Every space in which something was remembered."""
    for owner, inner in _owners(backend):
        remembered = backend.kv.get(inner, MARKS) is not None or backend.log.threads(inner, ids=["journal"]).items
        if remembered and owner_of_documents(owner) is None:
            yield owner


def spaces_with_vectors(backend: Backend) -> Iterator[Space]:
    """Every space with vectors: of memories and of documents."""
    return (owner for owner, inner in _owners(backend) if backend.kv.get(inner, MARK) is not None)


def _owners(backend: Backend) -> Iterator[tuple[Space, Space]]:
    """Every space about which memwell keeps something, and the space where it is kept."""
    for inner in paged(lambda cursor: backend.spaces(limit=500, cursor=cursor)):
        owner = Space(*inner[:-1]) if len(inner) > 1 else None
        if owner is not None and inner_space(owner) == inner:
            yield owner, inner


def audits(
    store: str | Path | Backend, name: str = "audit", *, workers: int | None = None, runner: RunnerName = "auto"
) -> Batch:
    """An audit of every memory of a store: its findings by kind, and its plan. It changes nothing."""
    return Batch(store, name, list_spaces, audit_space, workers=workers, runner=runner)


def consolidation(
    store: str | Path | Backend, name: str = "consolidate", *, workers: int | None = None, runner: RunnerName = "auto"
) -> Batch:
    """A consolidation of every memory of a store: merges near duplicates and draws insights. All can be undone."""
    return Batch(store, name, list_spaces, consolidate_space, workers=workers, runner=runner)


def list_spaces(store: Backend) -> list[list[str]]:
    """The pieces: the spaces that hold memories."""
    return [list(space) for space in spaces_with_memories(store)]


def audit_space(store: Backend, piece: list[str]) -> dict[str, Any]:
    """The work of an audit."""
    report = Memory(store, Space(*piece)).audit()
    plan = msgspec.to_builtins(report.plan)
    return {"space": piece, "records": report.records, "counts": report.counts, "plan": plan}


def consolidate_space(store: Backend, piece: list[str]) -> dict[str, Any]:
    """The work of a consolidation. Done twice, it finds nothing more to merge and draws the same insights."""
    # Not closed: the caller opened the store, and uses it for the next piece.
    memory = opening.open(store, space=Space(*piece), work=False)
    merged = memory.compress()
    insights = memory.reflect()
    return {
        "space": piece,
        "before": merged.before,
        "after": merged.after,
        "insights": [insight.id for insight in insights],
    }


# Re-embedding a whole store with another embedder, on several processes.


Progress: TypeAlias = Callable[[int, int | None], None]

_PIECE = 512
_AT_ONCE = 64
_MOST_IDLE = 3
"""How often in a row re-embedding may make no progress before the space is given up."""


class Reembedded(NamedTuple):
    """The numbers of re-embedded spaces and records, and the spaces that are not done."""

    spaces: int
    records: int
    left: list[Space]


def reembed(
    store: str | Path | Backend,
    embedder: str | Embedder,
    *,
    spaces: Iterable[SpaceLike] | None = None,
    workers: int | None = None,
    runner: RunnerName = "auto",
    ray_address: str | None = None,
    progress: Progress | None = None,
) -> Reembedded:
    """Re-embed a store, or some of its spaces. Killed and called again, it goes on.

    Several processes do it if the embedder is known by its name, else this one. ``progress`` is called with how many
    records are done, and of how many. Raises ``InvalidInput`` for an unknown name.
    """
    maker = embedder if isinstance(embedder, Embedder) else embedder_named(embedder)
    if maker is None:
        raise InvalidInput(f"no embedder is known by the name {shown(embedder)}")
    wanted_embedder = WantedEmbedder.made_now(ORDERED)
    with nullcontext(store) if isinstance(store, Backend) else open_backend(store) as backend:
        named = spaces_with_vectors(backend) if spaces is None else map(as_space, spaces)
        wanted = {space: _making(backend, space, maker, wanted_embedder) for space in named}
        wanted = {space: making for space, making in wanted.items() if making.begin()}
        records = {space: backend.index.info(space).records for space in wanted}
        total, finished = sum(records.values()), 0

        def report(done: int) -> None:
            if progress is not None:
                progress(min(done, total), total)

        if wanted and workers != 1 and embedder_named(maker.name) is not None:
            listed = partial(_pieces, spaces=list(wanted), model=maker.name)
            name = f"reembed {maker.name}"
            batch = Batch(store, name, listed, make_vectors, workers=workers, runner=runner, ray_address=ray_address)
            # A piece that failed is done below, or its space is among those left.
            batch.run(progress=lambda done, pieces: report(total * done // max(pieces, 1)))
            batch.forget()
            finished = total
        done: list[Space] = []
        for space, making in wanted.items():
            if _finished(
                making, lambda left, space=space, before=finished: report(before + max(records[space] - left, 0))
            ):
                done.append(space)
                finished += records[space]
    return Reembedded(len(done), sum(records[one] for one in done), [one for one in wanted if one not in done])


def make_vectors(store: Backend, piece: dict[str, Any]) -> int:
    """The work of the batch: make the vectors of some records of a space. Raises ``ModelError``."""
    maker = embedder_named(piece["model"])
    if maker is None:
        raise InvalidInput(f"no embedder is known by the name {shown(piece['model'])}")
    space = Space(*piece["space"])
    making = _making(store, space, maker, WantedEmbedder.made_now(ORDERED))
    records = store.index.scan(space, limit=_PIECE, cursor=piece["cursor"]).items
    for start in range(0, len(records), _AT_ONCE):
        if not making.make(records[start : start + _AT_ONCE]):
            raise ModelError(f"the embedder {maker.name} failed")
    return len(records)


def _pieces(backend: Backend, *, spaces: Iterable[Space], model: str) -> Iterator[dict[str, Any]]:
    for space in spaces:
        cursor: str | None = None
        while True:
            yield {"space": list(space), "cursor": cursor, "model": model}
            cursor = backend.index.scan(space, limit=_PIECE, cursor=cursor).next
            if cursor is None:
                break


def _making(backend: Backend, space: Space, maker: Embedder, wanted_embedder: WantedEmbedder) -> Reembedding:
    return Indexer(backend, space, embedder=maker, wanted_embedder=wanted_embedder).reembedding


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
