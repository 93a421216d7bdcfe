"""Fragments in a long-term memory of memwell, and back: what each field becomes, whose they are, and where they are kept.

A fragment is a memory whose id begins with the fragment's own. Its importance, from 0 to 10, is kept as a tenth; the
labels and the session of who wrote it are metadata, so that filters reach them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from memwell.compat.dbgpt.fragments import MemoryFragment, check_importance
from memwell.compat.dbgpt.times import as_aware
from memwell.errors import Conflict, InvalidInput, MemwellError, NotFound
from memwell.filters import AllOf, Filter, Not, Where
from memwell.longterm import gate
from memwell.longterm.consolidation import INSIGHT
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.traits import Evidence
from memwell.models.callables import as_embedder
from memwell.models.ports import Embedder
from memwell.records import SpaceLike
from memwell.runtime import engine
from memwell.storage import Backend
from memwell.values import check_id, check_metadata, shown

T = TypeVar("T", bound=MemoryFragment)

VectorStore: TypeAlias = Memory | Backend | str | os.PathLike[str] | None
"""Where fragments are kept: a memory that is open (an ``Engine`` is one), a backend, the URL or path of a store, or None
for a memory that is gone with the process."""

HIGHEST = 10.0
"""The importance of a fragment is from 0 to this."""

_FRAGMENT = "fragment"
_SESSION = "session_id"
_OWN = "dbgpt"
_LABELLED = "labelled"
_DEFAULT_LABELS = {"memory_type": "long_term"}
_DIGITS = 9


class OpenGate(gate.Gate):
    """Refuses nothing: an agent wrote it on purpose. Secrets are taken out as everywhere."""

    def __init__(self) -> None:
        super().__init__(gate.Policy(most_characters=2**31))

    def _worthless(self, text: str, speaker: str, trust: str) -> gate.Reason | None:
        return None


def opened(store: VectorStore, embedder: Any, space: SpaceLike) -> Memory:
    """The memory meant; one that is not open yet is opened. Raises ``InvalidInput`` for what is no store."""
    if isinstance(store, Memory):
        if embedder != "local":
            raise InvalidInput("a memory that is open has its own embedder; leave the embedder out")
        return store
    if store is not None and not isinstance(store, str | os.PathLike | Backend):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"vector_store must be a memory of memwell, a path, a URL or None, not {shown(store)}")
    chosen = as_core_embedder(embedder)
    if isinstance(store, Backend):
        # It is the caller's to close, and an engine closes what it works on.
        return Memory(store, space, embedder=_local(chosen) if isinstance(chosen, str) else chosen, gate=OpenGate())
    where = "memory:" if store is None else os.fspath(store)
    return engine.open(where, space=space, embedder=chosen, gate=OpenGate())


def _local(name: str) -> Embedder:
    # Loaded only when it is wanted: it brings numpy.
    from memwell.models.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder() if name == "local" else LocalEmbedder(name)  # pyright: ignore[reportArgumentType]


def as_core_embedder(embeddings: Any) -> Embedder | str | None:
    """An embedder of what people have: also of an object with ``embed_documents``, as LangChain's and DB-GPT's."""
    if embeddings is None or isinstance(embeddings, str | Embedder):
        return embeddings
    documents = getattr(embeddings, "embed_documents", None)
    if not callable(documents):
        return as_embedder(embeddings)
    model = getattr(embeddings, "model_name", None) or getattr(embeddings, "model", "")
    # Stored vectors are known by the name: two models of one class must not share it.
    return as_embedder(documents, name=f"{type(embeddings).__qualname__} {model}".strip())


class Owner:
    """Whose fragments they are: the labels of a memory, and its session.

    Labels with a scalar value also filter what is read. Every fragment has the default label beside those that were given,
    so that a memory without labels of its own reads them all. Raises ``InvalidInput`` for labels that are no JSON object.
    """

    def __init__(self, labels: Mapping[str, Any] | None, session_id: str | None = None) -> None:
        self.labels = check_metadata(labels or _DEFAULT_LABELS)
        if _OWN in self.labels:
            raise InvalidInput(f"the key {_OWN!r} of metadata is kept for fragments; choose another")
        self.session_id = None if not session_id else check_id(session_id, "a session_id")

    @property
    def metadata(self) -> dict[str, Any]:
        """What is written to every fragment."""
        own = {} if self.labels == _DEFAULT_LABELS else {_OWN: {_LABELLED: True}}
        return {**_DEFAULT_LABELS, **self._set, **own}

    @property
    def _set(self) -> dict[str, Any]:
        return self.labels if self.session_id is None else {**self.labels, _SESSION: self.session_id}

    @property
    def filter(self) -> Filter:
        """What is read: the fragments with these labels, and of this session when there is one."""
        scalars = {key: value for key, value in self._set.items() if isinstance(value, str | int | float)}
        return AllOf(tuple(Where((key,), "eq", value) for key, value in scalars.items()))

    @property
    def unshared(self) -> Filter:
        """The same without what a memory with labels wrote, when this one has none: it may be read, but not merged."""
        if self.labels != _DEFAULT_LABELS:
            return self.filter
        return AllOf((self.filter, Not(Where((_OWN, _LABELLED), "eq", True))))

    def record_id(self, fragment_id: int) -> str:
        """The id of the memory that holds a fragment of this owner. Another's of the same id is another memory."""
        whole = self._set
        if whole == _DEFAULT_LABELS:
            return str(fragment_id)
        whose = blake2b(msgspec.json.encode(whole, order="sorted"), digest_size=8).hexdigest()
        return f"{fragment_id}@{whose}"


class Stored(NamedTuple):
    """A fragment made ready to be stored: every value checked."""

    id: str
    text: str
    importance: float
    time: datetime
    kind: str
    metadata: dict[str, Any]
    evidence: tuple[Evidence, ...] = ()

    @property
    def trust(self) -> str:
        """What an agent notes is no evidence of what is true of a person, nor is what it concludes."""
        return "derived" if self.evidence else "tool"


def stored(fragment: MemoryFragment, importance: float, now: datetime, owner: Owner) -> Stored:
    """A fragment with all it needs. Raises ``InvalidInput`` for an importance that is not from 0 to 10."""
    moment = fragment.last_accessed_time or now
    own: dict[str, Any] = {"naive": True} if moment.utcoffset() is None else {}
    path = getattr(fragment, "snapshot_path", None)
    if isinstance(path, str):
        own["snapshot_path"] = path
    whose = owner.metadata
    return Stored(
        owner.record_id(fragment.id),
        fragment.raw_observation,
        as_share(importance),
        as_aware(moment).astimezone(UTC),
        INSIGHT if fragment.is_insight else _FRAGMENT,
        {**whose, _OWN: {**whose.get(_OWN, {}), **own}} if own else whose,
        tuple(Evidence(record=owner.record_id(source)) for source in fragment.derived_from),
    )


def as_share(importance: float, what: str = "importance") -> float:
    """An importance from 0 to 10 as a share of 1. Raises ``InvalidInput`` for anything else."""
    if not 0 <= check_importance(importance, what) <= HIGHEST:
        raise InvalidInput(f"{what} must be from 0 to 10, not {shown(importance)}")
    return importance / HIGHEST


def as_fragment(found: Recalled, kind: type[T]) -> T:
    """The fragment that a memory holds, as it was when it was last used before."""
    own = cast("dict[str, Any]", found.metadata.get(_OWN, {}))
    moment = found.time if found.accessed is None else max(found.time, found.accessed)
    path = own.get("snapshot_path")
    made = kind.build_from(
        observation=found.text,
        memory_id=fragment_id(found.id),
        # A tenth times ten is not always what it was.
        importance=round(found.importance * HIGHEST, _DIGITS),
        is_insight=found.kind == INSIGHT,
        last_accessed_time=moment.astimezone().replace(tzinfo=None) if own.get("naive") else moment,
        **({} if path is None else {"snapshot_path": path}),
    )
    if found.trust == "derived":
        made.derived_from = tuple(fragment_id(one.record) for one in found.evidence if one.record)
    return made


def fragment_id(record_id: str) -> int:
    """The id of the fragment in a memory; what was never a fragment, such as an insight drawn later, has a digest."""
    number = record_id.partition("@")[0]
    if number.isascii() and number.isdecimal():
        return int(number)
    return int.from_bytes(blake2b(record_id.encode(errors="surrogatepass"), digest_size=8).digest()) >> 1


class GivenUp(MemwellError):
    """Nobody waits for a write any more, and nothing of it is stored."""


class Written(NamedTuple):
    """What a write did to which memories."""

    made: list[str]
    changed: list[str]


def store(memory: Memory, items: Sequence[Stored], given_up: threading.Event | None = None) -> Written:
    """Store fragments in one transaction, all or none; one that is stored already is changed.

    Raises ``InvalidInput`` with the reasons when the gate of the memory refuses one, what the store raises, and
    ``GivenUp`` when ``given_up`` was set before the end.
    """
    fresh = {item.id: item for item in items}
    if memory.backend.index.get(memory.space, list(fresh)):
        # Outside of the transaction: nobody else should wait while earlier memories get their vectors.
        memory.catch_up()
    with memory.backend.transaction():
        known = {record.id for record in memory.backend.index.get(memory.space, list(fresh))}
        written = Written([], [])
        # Changes first: they look at all that waits, and nothing does yet.
        for item in sorted(fresh.values(), key=lambda item: item.id not in known):
            _store_one(memory, item, written, known=item.id in known)
        if given_up is not None and given_up.is_set():
            raise GivenUp("the write was cancelled; nothing is stored")
    return written


def _store_one(memory: Memory, item: Stored, written: Written, *, known: bool) -> None:
    if not known:
        try:
            _remember(memory, item)
        except Conflict:
            # Somebody stored it a moment ago, and it is still in the journal.
            pass
        else:
            written.made.append(item.id)
            return
    if _change(memory, item):
        written.changed.append(item.id)


def take_back(memory: Memory, written: Written) -> None:
    """Erase what a write made, with what was concluded from it since, and undo what it changed."""
    for id_ in written.changed:
        memory.undo(id_)
    if written.made:
        memory.erase(written.made)


def _remember(memory: Memory, item: Stored) -> None:
    done = memory.remember(
        item.text,
        id=item.id,
        importance=item.importance,
        time=item.time,
        kind=item.kind,
        metadata=item.metadata,
        trust=item.trust,
        evidence=item.evidence,
    )
    if done.rejected:
        reasons = "; ".join(reason for one in done.rejected for reason in one.reasons)
        raise InvalidInput(f"the memory refuses {shown(item.text)}: {reasons}")


def _change(memory: Memory, item: Stored) -> bool:
    """Change what is stored, if it differs. Returns whether it did."""
    old = _active(memory, item.id)
    # What it rested on before, it still does.
    evidence = tuple(dict.fromkeys((*old.evidence, *_unnamed(item.evidence, old.evidence))))
    now = (old.text, old.importance, old.time, old.kind, old.metadata, old.evidence)
    if now == (item.text, item.importance, item.time, item.kind, item.metadata, evidence):
        return False
    memory.update(
        item.id,
        item.text,
        metadata=item.metadata,
        time=item.time,
        kind=item.kind,
        importance=item.importance,
        evidence=evidence,
        trust="derived" if item.evidence else old.trust,
        reason="written again",
    )
    return True


def _unnamed(evidence: Sequence[Evidence], known: Sequence[Evidence]) -> Iterator[Evidence]:
    """Those of memories that are not named yet, under whichever id: a fragment knows them by number alone."""
    numbers = {fragment_id(one.record) for one in known}
    return (one for one in evidence if fragment_id(one.record) not in numbers)


def _active(memory: Memory, id_: str) -> Recalled:
    """A memory as it is. One that was merged into another or forgotten is brought back: it was written again."""
    while True:
        try:
            return memory.get(id_)
        except NotFound:
            memory.undo(id_)


__all__ = [
    "HIGHEST",
    "GivenUp",
    "OpenGate",
    "Owner",
    "Stored",
    "VectorStore",
    "Written",
    "as_core_embedder",
    "as_fragment",
    "as_share",
    "fragment_id",
    "opened",
    "store",
    "stored",
    "take_back",
]
