"""The vectors of a space: the embedder that makes them, the vectors of queries, and re-embedding with another embedder."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from memwell.errors import Conflict, ModelError
from memwell.filters import id_begins_with
from memwell.longterm.journal import Journal, inner_key, inner_space, reminder
from memwell.models.named import embedder_named
from memwell.models.ports import Embedder
from memwell.records import Record, Space, Vector, paged
from memwell.storage.protocols import Backend, Entry, KeyValue
from memwell.values import now

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Who makes the vectors of a space: the embedder that was chosen, or the one that made those which are there.


_log = logging.getLogger("memwell.longterm")

MARK = "embedder"
SINCE = "embedder-since"
"""When it was last decided whose vectors these are."""

_said: set[str] = set()


DEFAULT, NAMED, ORDERED = 0, 1, 2
"""How much a wish weighs: nobody said anything, a program named its embedder, or somebody asked for just this."""


class Wish(msgspec.Struct, frozen=True, order=True):
    """That vectors be an embedder's: how much that weighs, and since when. Of two that weigh the same the later counts."""

    weight: int
    at: datetime

    @classmethod
    def made_now(cls, weight: int = NAMED) -> Wish:
        """A wish of this moment."""
        return cls(weight, now())


class Makers:
    """Whose vectors a space has, and who can make more of the kind."""

    def __init__(self, kv: KeyValue, inner: Space, chosen: Embedder | None, wish: Wish | None = None) -> None:
        self._kv = kv
        self._inner = inner
        self.chosen = chosen
        self.wish = wish or Wish.made_now()
        self._other: tuple[str, Embedder | None] | None = None

    def whose(self) -> str | None:
        """The name of the embedder whose vectors the space has; None when nobody has made any yet."""
        entry = self._kv.get(self._inner, MARK)
        return None if entry is None else str(entry.value)

    def maker_of(self, name: str | None) -> Embedder | None:
        """Who makes vectors of this name; None without an embedder, and when it is another that is not known here."""
        if self.chosen is None or name is None or name == self.chosen.name:
            return self.chosen
        if self._other is None or self._other[0] != name:
            self._other = (name, embedder_named(name))
            self._say(name, found=self._other[1] is not None)
        return self._other[1]

    def _say(self, name: str, *, found: bool) -> None:
        if name not in _said:
            _said.add(name)
            served = "it is used for them" if found else "they are found by their words alone"
            _log.warning("memories in %r have vectors of the embedder %s: %s", self._inner[:-1], name, served)

    def is_current(self) -> bool:
        """Whether the vectors are those of the embedder that was chosen, or none are there yet."""
        return self.chosen is None or self.whose() in (None, self.chosen.name)

    def claim(self, name: str) -> bool:
        """Whether vectors of this name may be stored now; the first to come say whose they are.

        Call it inside the transaction that stores them.
        """
        found = self.whose()
        if found is None:
            self._kv.put(self._inner, MARK, name)
        return found in (None, name)

    def give_way(self, name: str) -> None:
        """From now on the vectors are those of another. Part of the transaction that stores them."""
        self._kv.put(self._inner, MARK, name)
        self.stay()

    def stay(self) -> None:
        """From now on the vectors stay as they are, whoever wished otherwise before."""
        self._kv.put(self._inner, SINCE, now().isoformat())

    def wants_others(self) -> bool:
        """Whether the embedder that was chosen is to make all vectors anew.

        It is not when they were made anew after it was chosen: whoever did that decided later. And the default does not
        replace vectors that it can search.
        """
        if self.chosen is None:
            return False
        name = self.whose()
        if name in (None, self.chosen.name):
            return False
        since = self._kv.get(self._inner, SINCE)
        if since is not None and datetime.fromisoformat(str(since.value)) >= self.wish.at:
            return False
        return self.wish.weight > DEFAULT or self.maker_of(name) is None


# The vectors of queries: always of the model whose vectors the space has at this moment.


_MOST_ASKED = 256
MOST_TRIES = 3
"""How often a search is begun again: vectors are not made anew so often that it would ever be needed twice."""


class Asked(NamedTuple):
    """The direction of a query, and whose it is; none without an embedder, when it fails, or when it is not known."""

    model: str | None
    vector: NDArray[np.float32] | None


class QueryVectors:
    """The vectors of the queries of one space, those asked lately kept."""

    def __init__(self, makers: Makers) -> None:
        self._makers = makers
        self._vectors: dict[tuple[str, str], NDArray[np.float32]] = {}
        self._model: str | None = None
        self._known = False
        self._state: int | None = None

    def of(self, query: str) -> Asked:
        """A query's direction."""
        if self._makers.chosen is None or not query.strip():
            return Asked(None, None)
        if not self._known:
            self._look()
        model = self._model
        maker = self._makers.maker_of(model)
        if maker is None:
            # Perhaps somebody makes them anew, by an embedder that is known here.
            self._known = False
            return Asked(model, None)
        vector = self._vectors.get((maker.name, query))
        if vector is None:
            try:
                vector = maker.embed([query])[0]
            except ModelError:
                return Asked(model, None)
            if len(self._vectors) >= _MOST_ASKED:
                # Dropping all of it at once is rare and needs no lock and no order.
                self._vectors.clear()
            self._vectors[maker.name, query] = vector
        return Asked(model, vector if vector.any() else None)

    def still(self, asked: Asked, state: int | None = None) -> bool:
        """Whether what was searched has the vectors that the query was made for; ``state`` is that of what was searched.

        Call it after the search. Without a state it is looked up each time.
        """
        if asked.vector is None or (state is not None and state == self._state and asked.model == self._model):
            return True
        self._look()
        # Where nobody had made vectors before, the first ones are those of the one that was chosen.
        same = self._makers.maker_of(self._model) is self._makers.maker_of(asked.model)
        self._state = state if same else None
        return same

    def _look(self) -> None:
        self._model, self._known = self._makers.whose(), True

    def clear(self) -> None:
        """Let go of all that is kept."""
        self._vectors.clear()


# All vectors of a space made anew by another embedder, while those that are there still serve.


ASIDE = "vector/"
"""What the keys of vectors begin with that are collected aside."""
NOTE = "reembedding"
PIECE = 64
_PAGE = 500
_MOST_TRIES = 3
_ROUNDS = 4
_TOO_LONG_AGO = 20_000
"""After so many changes all is looked through once more, page by page: a list of them might not fit into memory."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """How far it has come: ``done`` records are looked through, and changes behind ``state`` are to be caught up with."""

    to: str
    wish: Wish
    state: int
    cursor: str | None = None
    done: int = 0
    looked_through: bool = False
    swapped: bool = False


class _Aside(msgspec.Struct, array_like=True):
    """A vector at single precision; no bytes for a text that has none. It fits the very text it was made of.

    A store rounds it when it takes it in, and once only: it is then what it would be without the way round.
    """

    id: str
    model: str
    digest: bytes
    vector: bytes


class _Step(NamedTuple):
    note: Note
    version: int


class Reembedding:
    """The vectors of one space on their way to another embedder."""

    def __init__(
        self,
        backend: Backend,
        space: Space,
        makers: Makers,
        *,
        text_of: Callable[[Record], str],
        set_aside: Callable[[str, str], None],
    ) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)
        self._makers = makers
        self._text_of = text_of
        self._set_aside = set_aside
        self._tries = 0

    def left(self) -> int:
        """How many records are still to be looked through; 0 when nothing is to be made anew."""
        if not self._makers.wants_others():
            return 0
        step = self._read()
        done = step.note.done if step is not None and step.note.to == self._target.name else 0
        return max(self._backend.index.info(self._space).records - done, 1)

    def work(self) -> int:
        """One piece of it; how many records it brought on, 0 when nothing can be done."""
        step = self._read()
        given_up = step is not None and self._is_given_up(step.note)
        wanted = self._makers.wants_others()
        if step is not None and (step.note.swapped or (given_up and not wanted)):
            return self._drop(step)
        if not wanted or (step is not None and step.note.to != self._target.name and not given_up):
            # Nothing is to be done, or somebody is at it whose wish counts for more.
            return 0
        try:
            if step is None or given_up:
                step = self._begin(0 if step is None else step.version)
            return self._finish(step) if step.note.looked_through else self._look_on(step)
        except Conflict:
            # Somebody else has brought it on meanwhile.
            return 1

    def begin(self) -> bool:
        """Say that it is to be done, so that whoever wishes otherwise stands back; False when there is nothing to do."""
        step = self._read()
        if not self._makers.wants_others():
            return False
        if step is None or step.note.to != self._target.name:
            self._begin(0 if step is None else step.version)
        return True

    def make(self, records: Sequence[Record]) -> bool:
        """Collect the vectors of records aside, as far as they are not there; False when the embedder fails."""
        missing = [record for record in records if not self._is_fresh(record)]
        if not missing:
            return True
        rows = self._rows(missing)
        if rows is None:
            return False
        with self._backend.transaction():
            for record, row in zip(missing, rows, strict=True):
                self._keep(record, row)
        return True

    @property
    def _target(self) -> Embedder:
        assert self._makers.chosen is not None
        return self._makers.chosen

    def _is_given_up(self, note: Note) -> bool:
        """Whether it is for another embedder than that of a wish which counts for more."""
        chosen = self._makers.chosen
        return chosen is not None and note.to != chosen.name and note.wish < self._makers.wish

    # How far it has come

    def _read(self) -> _Step | None:
        entry = self._backend.kv.get(self._inner, NOTE)
        return None if entry is None else _Step(msgspec.convert(entry.value, Note), entry.version)

    def _write(self, note: Note, expect: int) -> _Step:
        entry = self._backend.kv.put(self._inner, NOTE, msgspec.to_builtins(note), expect=expect)
        return _Step(note, entry.version)

    def _begin(self, expect: int) -> _Step:
        # The state is read before the first record, so that no change is missed.
        state = self._backend.index.info(self._space).state
        return self._write(Note(to=self._target.name, wish=self._makers.wish, state=state), expect)

    def _look_on(self, step: _Step) -> int:
        """Make the vectors of the next records."""
        note = step.note
        page = self._backend.index.scan(self._space, limit=PIECE, cursor=note.cursor)
        if not self.make(page.items):
            return 0
        done = note.done + len(page.items)
        self._write(
            msgspec.structs.replace(note, cursor=page.next, done=done, looked_through=page.next is None), step.version
        )
        return max(len(page.items), 1)

    # The end of it

    def _finish(self, step: _Step) -> int:
        """Catch up with what has changed, and put the new vectors in the place of the old."""
        for attempt in range(_ROUNDS):
            now = self._backend.index.info(self._space).state
            if not 0 <= now - step.note.state <= _TOO_LONG_AGO:
                # Those that are fresh are not made again.
                note = msgspec.structs.replace(step.note, state=now, cursor=None, done=0, looked_through=False)
                self._write(note, step.version)
                return 1
            changes = self._backend.index.changes(self._space, step.note.state)
            if not self.make([record for _, record in changes.records]):
                return 0
            if changes.state is not None and changes.state != step.note.state:
                step = self._write(msgspec.structs.replace(step.note, state=changes.state), step.version)
            if self._swap(step, however=attempt == _ROUNDS - 1):
                return 1
        return 1

    def _swap(self, step: _Step, *, however: bool) -> bool:
        """Put the new vectors in their place; not yet when some are missing, unless these are to be owed."""
        backend, name = self._backend, self._target.name
        with backend.transaction():
            changes = backend.index.changes(self._space, step.note.state)
            late = {record.id for _, record in changes.records if not self._is_fresh(record)}
            if late and not however:
                return False
            backend.index.revector(self._space, AsideVectors(backend, self._space, name, without=late))
            if late:
                Journal(backend, self._space).write([reminder(id_) for id_ in sorted(late)])
            self._makers.give_way(name)
            self._write(msgspec.structs.replace(step.note, swapped=True), step.version)
        _log.info("the vectors of %r are those of the embedder %s now", self._space, name)
        return True

    def _drop(self, step: _Step) -> int:
        """Drop a part of what was aside, and at last the note."""
        if not step.note.swapped:
            # Whoever began it must not begin again.
            self._makers.stay()
        keys = [entry.key for entry in islice(_aside(self._backend, self._inner), _PAGE)]
        with self._backend.transaction():
            for key in keys:
                self._backend.kv.delete(self._inner, key)
            if len(keys) < _PAGE:
                with suppress(Conflict):
                    self._backend.kv.delete(self._inner, NOTE, expect=step.version)
        return max(len(keys), 1)

    # Vectors aside

    def _is_fresh(self, record: Record) -> bool:
        entry = self._backend.kv.get(self._inner, inner_key(ASIDE, record.id))
        kept = None if entry is None else _unpacked(entry)
        return kept is not None and (kept.model, kept.digest) == (self._target.name, _digest(self._text_of(record)))

    def _keep(self, record: Record, row: NDArray[np.float32] | None) -> None:
        packed = b"" if row is None or not row.any() else row.tobytes()
        kept = _Aside(record.id, self._target.name, _digest(self._text_of(record)), packed)
        self._backend.kv.put(self._inner, inner_key(ASIDE, record.id), msgspec.msgpack.encode(kept))

    def _rows(self, records: Sequence[Record]) -> list[NDArray[np.float32] | None] | None:
        """The vectors of records, or None when the embedder fails; after some tries one by one, as for any memory."""
        try:
            rows = list(self._target.embed([self._text_of(record) for record in records]))
        except ModelError as error:
            _log.warning("the embedder %s failed; the vectors of before serve on: %s", self._target.name, error)
            self._tries += 1
            return self._rows_apart(records) if self._tries >= _MOST_TRIES else None
        self._tries = 0
        return [*rows]

    def _rows_apart(self, records: Sequence[Record]) -> list[NDArray[np.float32] | None] | None:
        rows: list[NDArray[np.float32] | None] = []
        for record in records:
            try:
                rows.append(self._target.embed([self._text_of(record)])[0])
            except ModelError:
                rows.append(None)
        if all(row is None for row in rows):
            return None
        for record, row in zip(records, rows, strict=True):
            if row is None:
                self._set_aside(record.id, "the embedder cannot take its text")
        self._tries = 0
        return rows


class AsideVectors(Mapping[str, Vector]):
    """The vectors of a model that are collected aside, by the ids of their records, read as they are asked for."""

    def __init__(self, backend: Backend, space: Space, model: str, *, without: Iterable[str] = ()) -> None:
        self._backend = backend
        self._inner = inner_space(space)
        self._model = model
        self._without = frozenset(without)

    def _kept(self) -> Iterator[_Aside]:
        entries = _aside(self._backend, self._inner)
        kept = (one for entry in entries if (one := _unpacked(entry)) is not None)
        return (one for one in kept if self._suits(one))

    def _suits(self, kept: _Aside) -> bool:
        return bool(kept.vector) and kept.model == self._model and kept.id not in self._without

    def __getitem__(self, id_: str) -> Vector:
        entry = self._backend.kv.get(self._inner, inner_key(ASIDE, id_))
        kept = None if entry is None else _unpacked(entry)
        if kept is None or not self._suits(kept):
            raise KeyError(id_)
        return _numbers(kept.vector)

    def __iter__(self) -> Iterator[str]:
        return (kept.id for kept in self._kept())

    def __len__(self) -> int:
        return sum(1 for _ in self._kept())

    def items(self) -> ItemsView[str, Vector]:
        """All of them, a page at a time."""
        return _Items(self)

    def pairs(self) -> Iterator[tuple[str, Vector]]:
        """The same, once."""
        return ((kept.id, _numbers(kept.vector)) for kept in self._kept())


class _Items(ItemsView[str, Vector]):
    """One pass over the store, and not a question for each."""

    def __init__(self, vectors: AsideVectors) -> None:
        super().__init__(vectors)
        self._vectors = vectors

    def __iter__(self) -> Iterator[tuple[str, Vector]]:
        return self._vectors.pairs()


def _aside(backend: Backend, inner: Space) -> Iterator[Entry]:
    where = id_begins_with(ASIDE)
    return paged(lambda cursor: backend.kv.scan(inner, where=where, limit=_PAGE, cursor=cursor))


def _unpacked(entry: Entry) -> _Aside | None:
    """What was kept aside; None for what this version does not understand, so that it is made again."""
    try:
        return msgspec.msgpack.decode(entry.value, type=_Aside)
    except (msgspec.DecodeError, TypeError):
        return None


def _numbers(data: bytes) -> array[float]:
    numbers = array("f")
    numbers.frombytes(data)
    return numbers


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
