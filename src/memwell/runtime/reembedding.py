"""Re-embedding of a whole store: the old vectors serve until the new ones are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple, TypeAlias

from memwell.errors import InvalidInput
from memwell.longterm.embedding import MARK, ORDERED, Reembedding, WantedEmbedder
from memwell.longterm.indexing import Indexer
from memwell.longterm.journal import inner_space
from memwell.models.ports import Embedder, embedder_named
from memwell.records import Space, SpaceLike, as_space, paged
from memwell.storage import Backend, open_backend
from memwell.values import shown

_MOST_IDLE = 3
"""How often in a row it may make no progress before the space is given up."""


class Reembedded(NamedTuple):
    """The numbers of re-embedded spaces and records, and the spaces that are not done."""

    spaces: int
    records: int
    left: list[Space]


Progress: TypeAlias = Callable[[int, int | None], None]


def reembed(
    store: str | Path | Backend,
    embedder: str | Embedder,
    *,
    spaces: Iterable[SpaceLike] | None = None,
    progress: Progress | None = None,
) -> Reembedded:
    """Re-embed a store, or some of its spaces. Killed and called again, it goes on.

    ``progress`` is called with how many records are done, and of how many. Raises ``InvalidInput`` for an unknown name.
    """
    maker = embedder if isinstance(embedder, Embedder) else embedder_named(embedder)
    if maker is None:
        raise InvalidInput(f"no embedder is known by the name {shown(embedder)}")
    with _opened(store) as backend:
        named = _with_vectors(backend) if spaces is None else map(as_space, spaces)
        wanted = {space: _reembedding(backend, space, maker) for space in named}
        wanted = {space: one for space, one in wanted.items() if one.begin()}
        records = {space: backend.index.info(space).records for space in wanted}
        total, done = sum(records.values()), list[Space]()
        for space, one in wanted.items():
            before = sum(records[each] for each in done)

            def report(left: int, before: int = before, records: int = records[space]) -> None:
                if progress is not None:
                    progress(min(before + max(records - left, 0), total), total)

            if _finished(one, report):
                done.append(space)
    return Reembedded(len(done), sum(records[one] for one in done), [one for one in wanted if one not in done])


def _with_vectors(backend: Backend) -> Iterator[Space]:
    """Every space that has vectors."""
    for inner in paged(lambda cursor: backend.spaces(limit=500, cursor=cursor)):
        owner = Space(*inner[:-1]) if len(inner) > 1 else None
        if owner is not None and inner_space(owner) == inner and backend.kv.get(inner, MARK) is not None:
            yield owner


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


def _opened(store: str | Path | Backend) -> AbstractContextManager[Backend]:
    return nullcontext(store) if isinstance(store, Backend) else open_backend(store)
