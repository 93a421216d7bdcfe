"""Memories that are known by a name: one for each name, however it is written, changed by one caller at a time.

They are memories like any other, of a kind of their own in the same space. So a plain recall finds them, forgetting hides
them, ``undo`` takes back the last thing that was learnt about them, every earlier state is in their history, and erasing
leaves nothing behind. What is not text, such as counts, is in their metadata under the name of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, cast

import msgspec

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.filters import AllOf, Filter, Where
from memwell.language.secrets import findings, redacted
from memwell.longterm.gate import compatible
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled, as_recalled
from memwell.longterm.traits import FORGOTTEN, Evidence, Traits, traits_of
from memwell.values import check_id, check_text, shown

_AT_ONCE = 500
"""So many memories are looked for at a time."""


class Draft(msgspec.Struct, frozen=True):
    """What a memory is to become: its text, what is kept beside it, and the memories that it rests on."""

    text: str
    kept: Any
    reason: str
    sources: tuple[str, ...] = ()


class NamedMemories:
    """The memories of one kind, by name. ``shape`` is that of what is kept beside their texts."""

    def __init__(self, memory: Memory, kind: str, shape: type) -> None:
        self.memory = memory
        self.kind = kind
        self._shape = shape

    def id_of(self, name: str) -> str:
        """The id of the memory of a name: the same however the name is written, and without the name in it."""
        return f"{self.kind}/{blake2b(key_of(name).encode(), digest_size=16).hexdigest()}"

    def find(self, name: str) -> Recalled | None:
        """The memory of a name, or None when there is none or it was forgotten."""
        return self.find_at(self.id_of(name))

    def find_at(self, id_: str) -> Recalled | None:
        """The same by its id."""
        try:
            found = self.memory.get(id_)
        except NotFound:
            return None
        return found if keeps(found, self.kind, self._shape) else None

    def all(self, where: Filter | None = None) -> Iterator[Recalled]:
        """The memories of this kind, oldest first; those that others stored under the same kind are passed over."""
        ours: Filter = Where("@kind", "eq", self.kind)
        found = self.memory.memories(where=ours if where is None else AllOf((ours, where)))
        return (one for one in found if keeps(one, self.kind, self._shape))

    def change(self, name: str, make: Callable[[Recalled | None], Draft]) -> Recalled:
        """Put what ``make`` makes of the memory of a name in its place. Nobody else changes it meanwhile.

        Raises ``InvalidInput`` when the gate refuses its text, and whatever ``make`` raises; nothing is changed then.
        """
        return self.change_at(self.id_of(name), make)

    def change_at(self, id_: str, make: Callable[[Recalled | None], Draft]) -> Recalled:
        """The same by the id of the memory."""
        # Before the transaction, in which others wait: a model may have to embed what is owed.
        self.memory.catch_up()
        with self.memory.backend.transaction():
            old = self.find_at(id_)
            draft = make(old)
            if old is None:
                return self._add(id_, draft)
            return self._replace(old, draft)

    def _add(self, id_: str, draft: Draft) -> Recalled:
        metadata = {self.kind: msgspec.to_builtins(draft.kept)}
        evidence = _evidence(draft.sources)
        with suppress(Conflict):
            # Not a user's word: nothing of what it says is read as a fact about somebody.
            stored = self.memory.remember(
                draft.text, id=id_, kind=self.kind, metadata=metadata, trust="derived", evidence=evidence
            )
            return self.memory.get(stored.id)
        # It was forgotten. Who stores it again wants it back, as it is told now.
        return self._replace(self.memory.undo(id_), draft)

    def _replace(self, old: Recalled, draft: Draft) -> Recalled:
        return self.memory.update(
            old.id,
            None if draft.text == old.text else draft.text,
            metadata={**old.metadata, self.kind: msgspec.to_builtins(draft.kept)},
            evidence=dict.fromkeys((*old.evidence, *_evidence(draft.sources))),
            reason=draft.reason,
        )


def _evidence(sources: Iterable[str]) -> list[Evidence]:
    return [Evidence(record=one) for one in sources]


def keeps(found: Recalled, kind: str, shape: type) -> bool:
    """Whether a memory is one of ours: others may store memories of the same kind, with metadata of their own."""
    try:
        msgspec.convert(found.metadata.get(kind), shape)
    except msgspec.ValidationError:
        return False
    return found.kind == kind


def living_of(memory: Memory, ids: Sequence[str]) -> list[Recalled]:
    """Those of a few memories that may be recalled now."""
    memory.catch_up()
    found = memory.indexer.view.index.get(memory.space, ids)
    return [as_recalled(one) for one in found if traits_of(one).active and not _is_gone(memory, traits_of(one))]


def gone_of(memory: Memory, ids: Iterable[str]) -> frozenset[str]:
    """Those of the memories that are erased, forgotten or expired. One that was merged into another is not."""
    memory.catch_up()
    index, wanted = memory.indexer.view.index, sorted(set(filter(None, ids)))
    gone: set[str] = set()
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        stored = {one.id: traits_of(one) for one in index.get(memory.space, some)}
        gone.update(id_ for id_ in some if _is_gone(memory, stored.get(id_) or _merged(memory, id_)))
    return frozenset(gone)


def _merged(memory: Memory, id_: str) -> Traits | None:
    """The traits of the memory that one was merged into."""
    other = memory.indexer.resolved(id_)
    found = memory.indexer.view.index.get(memory.space, [other]) if other != id_ else []
    return traits_of(found[0]) if found else None


def _is_gone(memory: Memory, traits: Traits | None) -> bool:
    if traits is None or traits.status == FORGOTTEN:
        return True
    return traits.expires is not None and traits.expires <= memory.clock()


def key_of(name: str) -> str:
    """What makes two names the same: not their case, their width or the white space in them."""
    return " ".join(compatible(name).casefold().split())


def check_name(value: object, what: str) -> str:
    """A name in one line, without secrets. Raises ``InvalidInput`` for what is no text of 1 to 1,024 characters."""
    name = " ".join(check_id(value, what).split())
    if not name:
        raise InvalidInput(f"{what} must not be blank")
    return without_secrets(name)


def check_texts(value: object, what: str) -> tuple[str, ...]:
    """Several texts, or one, without secrets; blank ones go. Raises ``InvalidInput`` for anything else."""
    given = [value] if isinstance(value, str) else value
    if isinstance(given, bytes | dict) or not isinstance(given, Iterable):
        raise InvalidInput(f"{what} must be texts, not {shown(value)}")
    texts = [check_text(one, what) for one in cast("Iterable[object]", given)]
    return tuple(without_secrets(one.strip()) for one in texts if one.strip())


def without_secrets(text: str) -> str:
    """The text without keys and passwords: the gate looks at a memory's text, and not at what is kept beside it."""
    return redacted(text, [one for one in findings(text) if one.secret])
