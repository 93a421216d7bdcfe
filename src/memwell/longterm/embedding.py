"""The vectors of a space: which embedder made them, those of queries and of tokens, and re-embedding with another one."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import msgspec

from memwell.errors import Conflict, ModelError
from memwell.filters import id_begins_with
from memwell.longterm.journal import Journal, inner_key, inner_space, pending_vector
from memwell.models.ports import Embedder, QueryTokens, TokenEmbedder, WordMatch, embedder_named
from memwell.records import Record, Space, Vector, paged
from memwell.storage.protocols import Backend, Entry, KeyValue, changes_between
from memwell.values import now

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

if TYPE_CHECKING:
    # numpy takes a tenth of a second to load: programs that only converse do without it.
    import numpy as np
    from numpy.typing import NDArray

# Which embedder's vectors a space has.

_log = logging.getLogger("memwell.longterm")

MARK = "embedder"
SINCE = "embedder-since"
"""The key of the time when the embedder of a space was last decided."""

_warned: set[str] = set()

DEFAULT, NAMED, ORDERED = 0, 1, 2
"""The priority of a wanted embedder: the default, named by a program, or requested by a re-embedding command."""


class WantedEmbedder(msgspec.Struct, frozen=True, order=True):
    """How strongly, and since when, an embedder is wanted for a space. At the same priority the later one wins."""

    weight: int
    at: datetime

    @classmethod
    def made_now(cls, weight: int = NAMED) -> WantedEmbedder:
        """An embedder wanted from now on."""
        return cls(weight, now())


class Embedders:
    """The embedder of a space: the one whose vectors are stored, and the one that is configured."""

    def __init__(
        self, kv: KeyValue, inner: Space, chosen: Embedder | None, wanted_embedder: WantedEmbedder | None = None
    ) -> None:
        self._kv = kv
        self._inner = inner
        self.chosen = chosen
        self.wanted_embedder = wanted_embedder or WantedEmbedder.made_now()
        self._other: tuple[str, Embedder | None] | None = None

    def stored_model(self) -> str | None:
        """The name of the embedder whose vectors are stored; None when there are none yet."""
        entry = self._kv.get(self._inner, MARK)
        return None if entry is None else str(entry.value)

    def embedder_for(self, name: str | None) -> Embedder | None:
        """The embedder of this name; None without a configured embedder, and for a name that is unknown here."""
        if self.chosen is None or name is None or name == self.chosen.name:
            return self.chosen
        if self._other is None or self._other[0] != name:
            self._other = (name, embedder_named(name))
            self._warn(name, found=self._other[1] is not None)
        return self._other[1]

    def _warn(self, name: str, *, found: bool) -> None:
        if name not in _warned:
            _warned.add(name)
            served = "it is used for them" if found else "they are found by their words alone"
            _log.warning("memories in %r have vectors of the embedder %s: %s", self._inner[:-1], name, served)

    def is_current(self) -> bool:
        """Whether the stored vectors are those of the configured embedder, or there are none yet."""
        return self.chosen is None or self.stored_model() in (None, self.chosen.name)

    def claim(self, name: str) -> bool:
        """Whether vectors of this embedder may be stored; the first ones decide the embedder of the space.

        Call it inside the transaction that stores them.
        """
        return self.claim_over(name, self._kv.get(self._inner, MARK))

    def claim_over(self, name: str, entry: Entry | None) -> bool:
        """As ``claim``, with the entry ``MARK`` as the transaction has read it."""
        if entry is None:
            self._kv.put(self._inner, MARK, name)
        return entry is None or entry.value == name

    def switch_to(self, name: str) -> None:
        """Make this the embedder of the space. Call it inside the transaction that stores its vectors."""
        self._kv.put(self._inner, MARK, name)
        self.keep_current()

    def keep_current(self) -> None:
        """Keep the stored vectors; embedders wanted before now no longer count."""
        self._kv.put(self._inner, SINCE, now().isoformat())

    def needs_reembedding(self) -> bool:
        """Whether all vectors are to be re-embedded with the configured embedder.

        Not when the embedder was decided after the configured one was wanted, and not when the default can search the
        stored vectors.
        """
        if self.chosen is None:
            return False
        name = self.stored_model()
        if name in (None, self.chosen.name):
            return False
        since = self._kv.get(self._inner, SINCE)
        if since is not None and datetime.fromisoformat(str(since.value)) >= self.wanted_embedder.at:
            return False
        return self.wanted_embedder.weight > DEFAULT or self.embedder_for(name) is None


class EmbeddedText(NamedTuple):
    """The vector of a text, and its token vectors; no bytes when it has none."""

    row: NDArray[np.float32]
    tokens: bytes


def embedded(embedder: Embedder, texts: Sequence[str], *, threads: int = 1) -> list[EmbeddedText]:
    """The vectors of texts, and their token vectors if the embedder has any. Raises ``ModelError``.

    Only an embedder with token vectors, which is a local one, is called in several threads.
    """
    if not isinstance(embedder, TokenEmbedder):
        return [EmbeddedText(row, b"") for row in embedder.embed(texts)]
    size = max(_FEWEST, -(-len(texts) // threads))
    parts = [texts[start : start + size] for start in range(0, len(texts), size)]
    if len(parts) < 2:
        return list(map(EmbeddedText, *embedder.embed_tokens(texts)))
    with ThreadPoolExecutor(threads) as pool:
        made = list(pool.map(embedder.embed_tokens, parts))
    return [one for rows, tokens in made for one in map(EmbeddedText, rows, tokens)]


_FEWEST = 4
"""The fewest texts for a thread."""


# The vectors of queries: of the embedder whose vectors the space has.

_MOST_ASKED = 256
MOST_TRIES = 3
"""How often a search is repeated because the space was re-embedded meanwhile."""


class QueryVector(NamedTuple):
    """The vector of a query and the name of its model; None without an embedder, when it fails or is unknown.

    ``tokens`` are its token vectors, and ``embedder`` what compares them, if the embedder has any.
    """

    model: str | None
    vector: NDArray[np.float32] | None
    tokens: QueryTokens | None = None
    embedder: TokenEmbedder | None = None
    shared_from: int | None = None
    """From which number on the vector is comparable across languages, as its embedder says."""
    towards_answers: NDArray[np.float32] | None = None
    """The vector turned towards those of texts that answer the query, to rank by."""


class QueryVectors:
    """The vectors of queries to one space, with a cache of the latest."""

    def __init__(self, embedders: Embedders) -> None:
        self._embedders = embedders
        self._vectors: dict[tuple[str, str], QueryVector] = {}
        self._model: str | None = None
        self._known = False
        self._state: int | None = None

    def of(self, query: str) -> QueryVector:
        """The vector of a query."""
        if self._embedders.chosen is None or not query.strip():
            return QueryVector(None, None)
        if not self._known:
            self._look()
        model = self._model
        embedder = self._embedders.embedder_for(model)
        if embedder is None:
            # The space may be re-embedded with an embedder that is known here.
            self._known = False
            return QueryVector(model, None)
        made = self._vectors.get((embedder.name, query))
        if made is None:
            try:
                made = _query_vector(embedder, query)
            except ModelError:
                return QueryVector(model, None)
            if len(self._vectors) >= _MOST_ASKED:
                # Clearing it whole is rare, and needs no lock.
                self._vectors.clear()
            self._vectors[embedder.name, query] = made
        # A space without vectors gets those of this embedder first, perhaps before the search.
        return made._replace(model=model or embedder.name)

    def still(self, asked: QueryVector, state: int | None = None) -> bool:
        """Whether the searched vectors are of the model that embedded the query. Call it after the search.

        ``state`` is that of the searched snapshot; without it the model is looked up each time.
        """
        if asked.vector is None or (state is not None and state == self._state and asked.model == self._model):
            return True
        self._look()
        # A space without vectors gets those of the configured embedder first.
        same = self._embedders.embedder_for(self._model) is self._embedders.embedder_for(asked.model)
        self._state = state if same else None
        return same

    def _look(self) -> None:
        self._model, self._known = self._embedders.stored_model(), True

    def clear(self) -> None:
        """Drop the cached vectors."""
        self._vectors.clear()


def _query_vector(embedder: Embedder, query: str) -> QueryVector:
    late = embedder if isinstance(embedder, TokenEmbedder) else None
    vector, tokens = (embedder.embed([query])[0], None) if late is None else late.embed_query(query)
    if not vector.any():
        return QueryVector(embedder.name, None, tokens, late, embedder.shared_from)
    return QueryVector(embedder.name, vector, tokens, late, embedder.shared_from, embedder.towards_answers(vector))


# Re-embedding: all vectors of a space are made by another embedder while the old ones are still searched.

STAGED = "vector/"
"""The key prefix of new vectors until they replace the old ones."""
STATE_KEY = "reembedding"
PIECE = 64
_PAGE = 500
_MOST_TRIES = 3
_ROUNDS = 4
_MOST_CHANGES = 20_000
"""After more changes than this the whole space is scanned again: the list of changes might not fit into memory."""


class ReembeddingState(msgspec.Struct, frozen=True, kw_only=True, rename={"wanted_embedder": "wish"}):
    """The stored progress of a re-embedding: ``done`` records were read; changes after ``state`` are still to be read."""

    to: str
    wanted_embedder: WantedEmbedder
    state: int
    cursor: str | None = None
    done: int = 0
    looked_through: bool = False
    swapped: bool = False


class _StagedVector(msgspec.Struct, array_like=True):
    """A vector in single precision, and the digest of its text; no bytes for a text without a vector.

    The store rounds it when it takes it in, so that it is rounded once.
    """

    id: str
    model: str
    digest: bytes
    vector: bytes


class _Step(NamedTuple):
    """The stored progress, and its version in the store."""

    state: ReembeddingState
    version: int


class Reembedding:
    """Makes the vectors of one space with another embedder, step by step, and then swaps them in."""

    def __init__(
        self,
        backend: Backend,
        space: Space,
        embedders: Embedders,
        *,
        text_of: Callable[[Record], str],
        on_failure: Callable[[str, str], None],
    ) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)
        self._embedders = embedders
        self._text_of = text_of
        self._mark_failed = on_failure
        self._tokens = TokenStore(backend.kv, self._inner)
        self._tries = 0

    def left(self) -> int:
        """How many records are still to be read; 0 when no re-embedding is needed."""
        if not self._embedders.needs_reembedding():
            return 0
        step = self._read()
        done = step.state.done if step is not None and step.state.to == self._target.name else 0
        return max(self._backend.index.info(self._space).records - done, 1)

    def work(self) -> int:
        """Do one step. Returns how many records it advanced; 0 when there is nothing to do."""
        step = self._read()
        given_up = step is not None and self._is_given_up(step.state)
        wanted = self._embedders.needs_reembedding()
        if step is not None and (step.state.swapped or (given_up and not wanted)):
            return self._drop(step)
        if not wanted or (step is not None and step.state.to != self._target.name and not given_up):
            # There is nothing to do, or a re-embedding of higher priority is under way.
            return 0
        try:
            if step is None or given_up:
                step = self._begin(0 if step is None else step.version)
            return self._finish(step) if step.state.looked_through else self._look_on(step)
        except Conflict:
            # Another process advanced it meanwhile.
            return 1

    def begin(self) -> bool:
        """Record that a re-embedding begins, so that those of lower priority wait. False when none is needed."""
        step = self._read()
        if not self._embedders.needs_reembedding():
            return False
        if step is None or step.state.to != self._target.name:
            self._begin(0 if step is None else step.version)
        return True

    def make(self, records: Sequence[Record]) -> bool:
        """Stage the vectors of records that have none staged. False when the embedder fails."""
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
        assert self._embedders.chosen is not None
        return self._embedders.chosen

    def _is_given_up(self, state: ReembeddingState) -> bool:
        """Whether an embedder of higher priority is configured now."""
        chosen = self._embedders.chosen
        return (
            chosen is not None and state.to != chosen.name and state.wanted_embedder < self._embedders.wanted_embedder
        )

    # The stored progress

    def _read(self) -> _Step | None:
        entry = self._backend.kv.get(self._inner, STATE_KEY)
        return None if entry is None else _Step(msgspec.convert(entry.value, ReembeddingState), entry.version)

    def _write(self, state: ReembeddingState, expect: int) -> _Step:
        entry = self._backend.kv.put(self._inner, STATE_KEY, msgspec.to_builtins(state), expect=expect)
        return _Step(state, entry.version)

    def _begin(self, expect: int) -> _Step:
        # Read before the first record, so that no change is missed.
        state = self._backend.index.info(self._space).state
        return self._write(
            ReembeddingState(to=self._target.name, wanted_embedder=self._embedders.wanted_embedder, state=state), expect
        )

    def _look_on(self, step: _Step) -> int:
        """Stage the vectors of the next records."""
        state = step.state
        page = self._backend.index.scan(self._space, limit=PIECE, cursor=state.cursor)
        if not self.make(page.items):
            return 0
        done, last = state.done + len(page.items), page.next is None
        self._write(msgspec.structs.replace(state, cursor=page.next, done=done, looked_through=last), step.version)
        return max(len(page.items), 1)

    # The swap

    def _finish(self, step: _Step) -> int:
        """Stage the vectors of changed records, then swap all in."""
        for attempt in range(_ROUNDS):
            now = self._backend.index.info(self._space).state
            if not 0 <= changes_between(step.state.state, now) <= _MOST_CHANGES:
                # Staged vectors that are still valid are not made again.
                state = msgspec.structs.replace(step.state, state=now, cursor=None, done=0, looked_through=False)
                self._write(state, step.version)
                return 1
            changes = self._backend.index.changes(self._space, step.state.state)
            if not self.make([record for _, record in changes.records]):
                return 0
            if changes.state is not None and changes.state != step.state.state:
                step = self._write(msgspec.structs.replace(step.state, state=changes.state), step.version)
            if self._swap(step, force=attempt == _ROUNDS - 1):
                return 1
        return 1

    def _swap(self, step: _Step, *, force: bool) -> bool:
        """Replace the old vectors by the staged ones. False when some are missing, unless ``force`` queues those."""
        backend, name = self._backend, self._target.name
        with backend.transaction():
            changes = backend.index.changes(self._space, step.state.state)
            late = {record.id for _, record in changes.records if not self._is_fresh(record)}
            if late and not force:
                return False
            backend.index.revector(self._space, StagedVectors(backend, self._space, name, without=late))
            if late:
                Journal(backend, self._space).write([pending_vector(id_) for id_ in sorted(late)])
            self._embedders.switch_to(name)
            self._write(msgspec.structs.replace(step.state, swapped=True), step.version)
        _log.info("the vectors of %r are those of the embedder %s now", self._space, name)
        return True

    def _drop(self, step: _Step) -> int:
        """Delete one page of staged vectors, and with the last page the stored progress."""
        if not step.state.swapped:
            # The process that began it must not begin again.
            self._embedders.keep_current()
        keys = [entry.key for entry in islice(_staged(self._backend, self._inner), _PAGE)]
        with self._backend.transaction():
            for key in keys:
                self._backend.kv.delete(self._inner, key)
            if len(keys) < _PAGE:
                with suppress(Conflict):
                    self._backend.kv.delete(self._inner, STATE_KEY, expect=step.version)
        return max(len(keys), 1)

    # Staged vectors

    def _is_fresh(self, record: Record) -> bool:
        entry = self._backend.kv.get(self._inner, inner_key(STAGED, record.id))
        kept = None if entry is None else _unpacked(entry)
        return kept is not None and (kept.model, kept.digest) == (self._target.name, _digest(self._text_of(record)))

    def _keep(self, record: Record, made: EmbeddedText | None) -> None:
        packed = b"" if made is None or not made.row.any() else made.row.tobytes()
        # The token vectors are not staged: until the vectors are swapped, those of this embedder are ignored.
        self._tokens.put(record.id, self._target.name, b"" if made is None else made.tokens)
        kept = _StagedVector(record.id, self._target.name, _digest(self._text_of(record)), packed)
        self._backend.kv.put(self._inner, inner_key(STAGED, record.id), msgspec.msgpack.encode(kept))

    def _rows(self, records: Sequence[Record]) -> list[EmbeddedText | None] | None:
        """The vectors of records; None when the embedder fails. After some failures it embeds them one by one."""
        try:
            rows = embedded(self._target, [self._text_of(record) for record in records])
        except ModelError as error:
            _log.warning("the embedder %s failed; the vectors of before serve on: %s", self._target.name, error)
            self._tries += 1
            return self._rows_apart(records) if self._tries >= _MOST_TRIES else None
        self._tries = 0
        return [*rows]

    def _rows_apart(self, records: Sequence[Record]) -> list[EmbeddedText | None] | None:
        rows: list[EmbeddedText | None] = []
        for record in records:
            try:
                rows += embedded(self._target, [self._text_of(record)])
            except ModelError:
                rows.append(None)
        if all(row is None for row in rows):
            return None
        for record, row in zip(records, rows, strict=True):
            if row is None:
                self._mark_failed(record.id, "the embedder cannot take its text")
        self._tries = 0
        return rows


class StagedVectors(Mapping[str, Vector]):
    """The staged vectors of a model by the ids of their records, read on demand."""

    def __init__(self, backend: Backend, space: Space, model: str, *, without: Iterable[str] = ()) -> None:
        self._backend = backend
        self._inner = inner_space(space)
        self._model = model
        self._without = frozenset(without)

    def _kept(self) -> Iterator[_StagedVector]:
        entries = _staged(self._backend, self._inner)
        kept = (one for entry in entries if (one := _unpacked(entry)) is not None)
        return (one for one in kept if self._suits(one))

    def _suits(self, kept: _StagedVector) -> bool:
        return bool(kept.vector) and kept.model == self._model and kept.id not in self._without

    def __getitem__(self, id_: str) -> Vector:
        entry = self._backend.kv.get(self._inner, inner_key(STAGED, id_))
        kept = None if entry is None else _unpacked(entry)
        if kept is None or not self._suits(kept):
            raise KeyError(id_)
        return _numbers(kept.vector)

    def __iter__(self) -> Iterator[str]:
        return (kept.id for kept in self._kept())

    def __len__(self) -> int:
        return sum(1 for _ in self._kept())

    def items(self) -> ItemsView[str, Vector]:
        """All of them, read in pages."""
        return _StagedItems(self)

    def pairs(self) -> Iterator[tuple[str, Vector]]:
        """All ids and vectors, read in pages."""
        return ((kept.id, _numbers(kept.vector)) for kept in self._kept())


class _StagedItems(ItemsView[str, Vector]):
    """The items of ``StagedVectors``, read in one pass instead of one query each."""

    def __init__(self, vectors: StagedVectors) -> None:
        super().__init__(vectors)
        self._vectors = vectors

    def __iter__(self) -> Iterator[tuple[str, Vector]]:
        return self._vectors.pairs()


def _staged(backend: Backend, inner: Space) -> Iterator[Entry]:
    where = id_begins_with(STAGED)
    return paged(lambda cursor: backend.kv.scan(inner, where=where, limit=_PAGE, cursor=cursor))


def _unpacked(entry: Entry) -> _StagedVector | None:
    """A staged vector; None when this version cannot decode it, so that it is made again."""
    try:
        return msgspec.msgpack.decode(entry.value, type=_StagedVector)
    except (msgspec.DecodeError, TypeError):
        return None


def _numbers(data: bytes) -> array[float]:
    numbers = array("f")
    numbers.frombytes(data)
    return numbers


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


# Token vectors of memories: stored with their vectors, and compared with a query's for the candidates of a recall.

PREFIX = "tokens/"
_MARK = 4
_MOST_CACHED = 64 * 2**20


class TokenStore:
    """The token vectors of a space, by memory. Each begins with a mark of its embedder: those of another are ignored."""

    def __init__(self, kv: KeyValue, inner: Space) -> None:
        self._kv = kv
        self._inner = inner

    def put(self, id_: str, model: str, tokens: bytes) -> None:
        """Store those of a memory. Call it in the transaction that stores its vector."""
        if tokens:
            self._kv.put(self._inner, inner_key(PREFIX, id_), _mark(model) + tokens)
        else:
            self.delete(id_)

    def put_many(self, model: str, tokens: Mapping[str, bytes]) -> None:
        """Store those of new memories, by id; nothing for those without any."""
        mark = _mark(model)
        self._kv.put_many(self._inner, {inner_key(PREFIX, id_): mark + one for id_, one in tokens.items() if one})

    def delete(self, id_: str) -> None:
        """Drop those of a memory."""
        self._kv.delete(self._inner, inner_key(PREFIX, id_))

    def read(self, ids: Sequence[str], model: str) -> dict[str, bytes]:
        """Those of memories, by id, in one query; memories that have none are left out."""
        keys, mark = {inner_key(PREFIX, id_): id_ for id_ in ids}, _mark(model)
        found = self._kv.get_many(self._inner, list(keys))
        return {keys[key]: entry.value[_MARK:] for key, entry in found.items() if entry.value[:_MARK] == mark}


def _mark(model: str) -> bytes:
    return blake2b(model.encode(), digest_size=_MARK).digest()


class TokenCache:
    """Unpacked token vectors that were read lately, about 64 MB at most, by the rows of a snapshot.

    Its owner drops those of rows that change.
    """

    def __init__(self) -> None:
        self._held: dict[int, bytes] = {}
        self._bytes = 0
        self._model: str = ""

    def drop(self, row: int) -> None:
        """Forget those of a row."""
        self._bytes -= len(self._held.pop(row, b""))

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
        self._bytes = 0

    def read(
        self, store: TokenStore, rows: Sequence[int], id_of: Callable[[int], str], embedder: TokenEmbedder
    ) -> list[bytes]:
        """Those of rows, in order; empty for a row that has none."""
        model = embedder.name
        if model != self._model or self._bytes > _MOST_CACHED:
            self.clear()
            self._model = model
        missing = {id_of(row): row for row in rows if row not in self._held}
        if missing:
            found = store.read(list(missing), model)
            unpacked = dict(zip(found, embedder.unpacked(list(found.values())), strict=True))
            for id_, row in missing.items():
                self._held[row] = unpacked.get(id_, b"")
            self._bytes += sum(map(len, unpacked.values()))
        return [self._held[row] for row in rows]


def best_matches(embedder: TokenEmbedder, query: QueryTokens, tokens: Sequence[bytes]) -> NDArray[np.float32] | None:
    """``TokenEmbedder.best_matches`` of texts that may have no token vectors: NaN for those, None when none has any."""
    import numpy as np  # noqa: PLC0415 - programs that only converse do without it

    known = [at for at, one in enumerate(tokens) if one]
    if not known:
        return None
    if len(known) == len(tokens):
        return embedder.best_matches(query, tokens)
    best = np.full((len(query.weights), len(tokens)), np.nan, np.float32)
    best[:, known] = embedder.best_matches(query, [tokens[at] for at in known])
    return best


class WordMatches(Sequence[WordMatch]):
    """The words of a query with those of one memory that match them, compared when they are first looked at.

    Few callers look at them, and to compare the words of ten hits takes as long as to choose the hits.
    """

    def __init__(self, compare: Callable[[], list[list[WordMatch]]]) -> None:
        self._compare = compare

    @cached_property
    def _found(self) -> tuple[WordMatch, ...]:
        return tuple(self._compare()[0])

    @overload
    def __getitem__(self, place: int) -> WordMatch: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[WordMatch]: ...
    def __getitem__(self, place: int | slice) -> WordMatch | Sequence[WordMatch]:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._found == tuple(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return repr(self._found)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy needs no model.
        return tuple, (self._found,)


class LateInteraction(NamedTuple):
    """Compares the token vectors of a query with those of memories, given by their rows in a snapshot."""

    embedder: TokenEmbedder
    query: QueryTokens
    store: TokenStore
    cache: TokenCache
    id_of: Callable[[int], str]

    def best(self, rows: Sequence[int]) -> NDArray[np.float32] | None:
        """``best_matches`` of memories, a column each, NaN for one without token vectors; None when no memory has any."""
        return best_matches(self.embedder, self.query, self._tokens(rows))

    def best_but_for(self, passed: Sequence[bool], rows: Sequence[int]) -> NDArray[np.float32] | None:
        """The score of each memory by the pieces of the query that are not passed over; None as for ``best``."""
        kept = [not one for one in passed]
        best = self.best(rows) if any(kept) else None
        return None if best is None else best[kept].sum(0) / self.query.weights[kept].sum()

    def matches(self, rows: Sequence[int], texts: Sequence[str]) -> list[Sequence[WordMatch]]:
        """The words of the query and those that match them, for each memory, given the texts that were embedded."""
        compare = partial(self.embedder.word_matches, self.query)
        return [
            WordMatches(partial(compare, [tokens], [text])) if tokens else ()
            for tokens, text in zip(self._tokens(rows), texts, strict=True)
        ]

    def _tokens(self, rows: Sequence[int]) -> list[bytes]:
        return self.cache.read(self.store, rows, self.id_of, self.embedder)
