"""All memories and documents of a store given the vectors of another embedder, on several processes.

The processes collect new vectors aside. Then each space is looked through once more, for what has changed meanwhile, and
its vectors are swapped in one transaction; until then the old ones serve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from memwell.errors import InvalidInput, ModelError
from memwell.longterm.embedding import MARK, ORDERED, Reembedding, Wish
from memwell.longterm.indexing import Indexer
from memwell.longterm.journal import inner_space
from memwell.models.named import embedder_named
from memwell.models.ports import Embedder
from memwell.records import Space, SpaceLike, as_space, paged
from memwell.runtime.batch.running import Batch, RunnerName
from memwell.storage import Backend, open_backend
from memwell.values import shown

Told: TypeAlias = Callable[[int, int | None], None]

_PIECE = 512
_AT_ONCE = 64
_MOST_IDLE = 3
"""So often an embedder may fail in a row; it is then asked for each text by itself, and given up when it takes none."""


class Reembedded(NamedTuple):
    """How many spaces have other vectors now, how many records they hold, and which spaces are not done."""

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
    progress: Told | None = None,
) -> Reembedded:
    """Have the vectors of a store, or of some of its spaces, made anew. Killed and called again, it goes on.

    Several processes do it where the embedder is known by its name; any other is used in this one. ``progress`` is told how
    many records are done, and of how many. Raises ``InvalidInput`` for a name that is not known.
    """
    maker = embedder if isinstance(embedder, Embedder) else embedder_named(embedder)
    if maker is None:
        raise InvalidInput(f"no embedder is known by the name {shown(embedder)}")
    wish = Wish.made_now(ORDERED)
    with nullcontext(store) if isinstance(store, Backend) else open_backend(store) as backend:
        named = spaces_with_vectors(backend) if spaces is None else map(as_space, spaces)
        wanted = {space: _making(backend, space, maker, wish) for space in named}
        wanted = {space: making for space, making in wanted.items() if making.begin()}
        records = {space: backend.index.info(space).records for space in wanted}
        told = _Told(progress, sum(records.values()))
        if wanted and workers != 1 and embedder_named(maker.name) is not None:
            listed = partial(_pieces, spaces=list(wanted), model=maker.name)
            name = f"reembed {maker.name}"
            batch = Batch(store, name, listed, make_vectors, workers=workers, runner=runner, ray_address=ray_address)
            # A piece that failed is made below, or the space is reported.
            batch.run(progress=told.of_pieces)
            batch.forget()
        done = [space for space, making in wanted.items() if _finished(making, told, records[space])]
    return Reembedded(len(done), sum(records[one] for one in done), [one for one in wanted if one not in done])


def spaces_with_vectors(backend: Backend) -> Iterator[Space]:
    """Every space whose vectors somebody has made: those of memories and of documents."""
    for inner in paged(lambda cursor: backend.spaces(limit=500, cursor=cursor)):
        owner = Space(*inner[:-1]) if len(inner) > 1 else None
        if owner is not None and inner_space(owner) == inner and backend.kv.get(inner, MARK) is not None:
            yield owner


def make_vectors(store: Backend, piece: dict[str, Any]) -> int:
    """The work of the batch: collect the vectors of some records of a space aside. Raises ``ModelError``."""
    maker = embedder_named(piece["model"])
    if maker is None:
        raise InvalidInput(f"no embedder is known by the name {shown(piece['model'])}")
    space = Space(*piece["space"])
    making = _making(store, space, maker, Wish.made_now(ORDERED))
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


def _making(backend: Backend, space: Space, maker: Embedder, wish: Wish) -> Reembedding:
    return Indexer(backend, space, embedder=maker, wish=wish).reembedding


def _finished(making: Reembedding, told: _Told, records: int) -> bool:
    """Do what is left of one space; False when the embedder fails, or somebody else decided otherwise."""
    idle = 0
    while idle < _MOST_IDLE:
        brought_on = making.work()
        left = making.left()
        told.of_records(records - min(left, records))
        if not brought_on and not left:
            told.space_done(records)
            return True
        idle = 0 if brought_on else idle + 1
    return False


class _Told:
    """Tells how many records are done: first by the pieces of the batch, then by the spaces that are finished."""

    def __init__(self, progress: Told | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._made = 0
        self._before = 0

    def of_pieces(self, done: int, pieces: int) -> None:
        self._made = self._total * done // max(pieces, 1)
        self._tell(self._made)

    def of_records(self, done: int) -> None:
        # What was made in the batch counts already; looking it through once more is quick.
        self._tell(max(self._made, self._before + done))

    def space_done(self, records: int) -> None:
        self._before += records

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(min(done, self._total), self._total)


__all__ = ["Reembedded", "make_vectors", "reembed", "spaces_with_vectors"]
