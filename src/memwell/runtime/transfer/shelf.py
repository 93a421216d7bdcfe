"""The memory of a space seen as something that is packed and unpacked: every record as it is, with all it ever was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from memwell.errors import InvalidInput
from memwell.filters import id_begins_with
from memwell.language.claims import claims
from memwell.longterm.base import MemoryBase, Version
from memwell.longterm.indexing import ALIAS
from memwell.longterm.journal import inner_key, reminder
from memwell.longterm.traits import FORGOTTEN, own_metadata, traits_of, with_traits
from memwell.records import Record, paged
from memwell.storage.protocols import Backend, Entry

_PAGE = 500
_EMBEDDER = "embedder"
_TRUSTED = ("user", "document")


class Shelf(MemoryBase):
    """What memories are taken from and put back on, whatever their status, past the gate: it judged them before."""

    store: Backend
    """Where all stands that is no memory: a store that cannot be written may be read through a copy of the memories."""

    @classmethod
    def of(cls, memory: MemoryBase) -> Shelf:
        """The shelf of a memory. It shares all that the memory holds."""
        memory.catch_up()
        shelf = cls.sharing(memory, memory.indexer.view)
        shelf.store = memory.backend
        return shelf

    def records(self) -> Iterator[Record]:
        """Every memory, whatever its status, in the order of storing."""
        return self._all()

    def versions(self, record: Record) -> list[Version]:
        """What a memory was before, oldest first."""
        # Only what was changed has versions, and looking for them costs more than reading the memory.
        return self._versions(record.id) if traits_of(record).version > 1 else []

    def aliases(self) -> Iterator[tuple[str, str]]:
        """The ids of what was said again, each with the memory it was counted to."""
        for entry in self.entries(ALIAS):
            id_, memory = cast("list[str]", entry.value)
            yield id_, memory

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """What memwell keeps about the space under a prefix."""
        where = id_begins_with(prefix)
        return paged(lambda cursor: self.backend.kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor))

    def value(self, key: str) -> Any:
        """What memwell keeps about the space under a key, or None."""
        entry = self.backend.kv.get(self._inner, key)
        return None if entry is None else entry.value

    def keep(self, key: str, value: Any) -> None:
        """Keep something about the space."""
        self.backend.kv.put(self._inner, key, value)

    @property
    def embedder_name(self) -> str | None:
        """Whose vectors the memories carry."""
        return self.value(_EMBEDDER) or (None if self.embedder is None else self.embedder.name)

    def adopt_embedder(self, name: str | None) -> bool:
        """Whether vectors of this embedder may be stored here; the first to come say whose they are."""
        if self.embedder_name is None and name is not None:
            self.keep(_EMBEDDER, name)
        return self.embedder_name == name

    def restore(self, record: Record, versions: Sequence[Version] = ()) -> bool:
        """Put a memory back as it was, with its versions and its facts; whether that changed anything.

        One that is here already stays, unless what comes is a later version of it. Raises ``InvalidInput`` for a memory
        that breaks a rule; nothing of it is stored then.
        """
        traits = traits_of(record)
        here = self.backend.index.get(self.space, [record.id])
        if here and traits_of(here[0]).version >= traits.version:
            return False
        with self.backend.transaction():
            for version in versions:
                self._keep_version(version.record, version.until, version.reason)
            self.backend.index.upsert([record])
            self._relearn(record, fresh=not here)
            if record.vector is None:
                self.indexer.journal.write([reminder(record.id)])
        return True

    def judged(self, record: Record) -> Record:
        """A memory with words that were changed, as the gate lets them in. Raises ``InvalidInput`` when it does not."""
        traits = traits_of(record)
        verdict = self._gate.judge(record.text, speaker=traits.speaker, trust=traits.trust)
        if not verdict.accepted:
            raise InvalidInput("; ".join(f"{one.code}: {one.detail}" for one in verdict.reasons))
        judged = replace(traits, flags=verdict.flags)
        return replace(record, text=verdict.text, metadata=with_traits(own_metadata(record), judged))

    def _relearn(self, record: Record, *, fresh: bool) -> None:
        """Know the text again when it is said again, and learn the facts in it."""
        traits = traits_of(record)
        if not fresh:
            self.indexer.facts.retract([record.id], final=True)
        if traits.active and not traits.session and self.value(self.indexer.twins_of(record)) is None:
            self.keep(self.indexer.twins_of(record), record.id)
        if traits.trust in _TRUSTED:
            found = claims(record.text, speaker=traits.speaker, time=record.time)
            self.indexer.facts.learn(found, record=record.id, learned_at=traits.learned or record.time)
        if traits.status == FORGOTTEN:
            self.indexer.facts.retract([record.id], at=traits.changed)

    def add_alias(self, id_: str, memory: str) -> bool:
        """Let something that was said again be found under its own id; whether that is new."""
        key = inner_key(ALIAS, id_)
        if self.value(key) is not None:
            return False
        self.keep(key, [id_, memory])
        return True

    def knows(self, id_: str) -> bool:
        """Whether a memory of this id was ever stored here, be it forgotten or counted to another that says the same."""
        return bool(self.backend.index.get(self.space, [id_])) or self.value(inner_key(ALIAS, id_)) is not None

    def done(self) -> None:
        """Tell whoever makes vectors that some are owed."""
        self._told(self.space)


__all__ = ["Shelf"]
