"""Memories with a name: one for each name, changed by one caller at a time, with a belief that evidence moves.

They are memories of a kind of their own, so recall, forget, undo, history, export and erase work on them. What is not
text, such as counts, is in their metadata under the name of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, TypeVar, cast

import msgspec

from memwell.cognition.working import is_finite
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.filters import AllOf, Filter, Where
from memwell.language.detect import language_of
from memwell.language.secrets import findings, redacted
from memwell.longterm.gate import compatible
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled, as_recalled
from memwell.longterm.traits import FORGOTTEN, Evidence, Traits, traits_of
from memwell.values import check_id, check_text, shown

_PAGE = 500
Found = TypeVar("Found")
Kept = TypeVar("Kept")


class Belief(msgspec.Struct, frozen=True):
    """A prior that counts as ``strength`` observations, and the observations since."""

    prior: float = 0.5
    strength: float = 2.0
    support: int = 0
    against: int = 0

    @property
    def value(self) -> float:
        """``(strength * prior + support) / (strength + support + against)``: above 0 and below 1."""
        return (self.strength * self.prior + self.support) / (self.strength + self.support + self.against)

    @property
    def observations(self) -> int:
        """How often it was tested."""
        return self.support + self.against

    def seen(self, holds: bool) -> Belief:
        """The belief after one more observation."""
        return Belief(self.prior, self.strength, self.support + holds, self.against + (not holds))


class Draft(msgspec.Struct, frozen=True):
    """The next state of a memory: its text, its metadata, and the memories that it rests on."""

    text: str
    kept: Any
    reason: str
    sources: tuple[str, ...] = ()


class NamedMemories:
    """The memories of one kind, by name. ``shape`` is the type of their metadata."""

    def __init__(self, memory: Memory, kind: str, shape: type) -> None:
        self.memory = memory
        self.kind = kind
        self._shape = shape

    def id_of(self, name: str) -> str:
        """The id for a name, however it is written. The name cannot be read from it."""
        return f"{self.kind}/{blake2b(key_of(name).encode(), digest_size=16).hexdigest()}"

    def find(self, id_: str) -> Recalled | None:
        """The memory of an id, or None when there is none or it was forgotten."""
        try:
            found = self.memory.get(id_)
        except NotFound:
            return None
        return found if keeps(found, self.kind, self._shape) else None

    def all(self, where: Filter | None = None) -> Iterator[Recalled]:
        """The memories of this kind, oldest first, without those that other programs stored under the same kind."""
        ours: Filter = Where("@kind", "eq", self.kind)
        found = self.memory.memories(where=ours if where is None else AllOf((ours, where)))
        return (one for one in found if keeps(one, self.kind, self._shape))

    def change(self, id_: str, make: Callable[[Recalled | None], Draft]) -> Recalled:
        """Replace the memory of an id by what ``make`` makes of it, in one transaction.

        Raises ``InvalidInput`` when the gate refuses its text, and whatever ``make`` raises; nothing is changed then.
        """
        # Before the transaction, which others wait for: a model may have to embed pending texts.
        self.memory.catch_up()
        with self.memory.backend.transaction():
            old = self.find(id_)
            draft = make(old)
            return self._add(id_, draft) if old is None else self._replace(old, draft)

    def _add(self, id_: str, draft: Draft) -> Recalled:
        metadata = {self.kind: msgspec.to_builtins(draft.kept)}
        evidence = [Evidence(record=one) for one in draft.sources]
        with suppress(Conflict):
            # Derived, so no facts about people are read from it.
            stored = self.memory.remember(
                draft.text, id=id_, kind=self.kind, metadata=metadata, trust="derived", evidence=evidence
            )
            return self.memory.get(stored.id)
        # It was forgotten: storing it again brings it back with the new text.
        return self._replace(self.memory.undo(id_), draft)

    def _replace(self, old: Recalled, draft: Draft) -> Recalled:
        return self.memory.update(
            old.id,
            None if draft.text == old.text else draft.text,
            metadata={**old.metadata, self.kind: msgspec.to_builtins(draft.kept)},
            evidence=dict.fromkeys((*old.evidence, *(Evidence(record=one) for one in draft.sources))),
            reason=draft.reason,
        )


def keeps(found: Recalled, kind: str, shape: type) -> bool:
    """Whether a memory is of this kind and its metadata has this shape."""
    try:
        msgspec.convert(found.metadata.get(kind), shape)
    except msgspec.ValidationError:
        return False
    return found.kind == kind


def why_of(found: Recalled) -> str:
    """Why a memory was recalled, in the language of the query; empty when it was not."""
    return found.why(language="zh" if language_of(found.asked) == "zh" else "en") if found.signals else ""


def living_of(memory: Memory, ids: Sequence[str]) -> list[Recalled]:
    """Those of some memories that may be recalled now."""
    memory.catch_up()
    found = memory.indexer.view.index.get(memory.space, ids)
    return [as_recalled(one) for one in found if traits_of(one).active and not _is_gone(memory, traits_of(one))]


def gone_of(memory: Memory, ids: Iterable[str]) -> frozenset[str]:
    """Those of some memories that are erased, forgotten or expired. A merged one lives on in the other."""
    memory.catch_up()
    index, wanted = memory.indexer.view.index, sorted(set(filter(None, ids)))
    gone: set[str] = set()
    for start in range(0, len(wanted), _PAGE):
        some = wanted[start : start + _PAGE]
        stored = {one.id: traits_of(one) for one in index.get(memory.space, some)}
        gone.update(id_ for id_ in some if _is_gone(memory, stored.get(id_) or _merged(memory, id_)))
    return frozenset(gone)


def _merged(memory: Memory, id_: str) -> Traits | None:
    """The traits of the memory that this one was merged into."""
    other = memory.indexer.resolved(id_)
    found = memory.indexer.view.index.get(memory.space, [other]) if other != id_ else []
    return traits_of(found[0]) if found else None


def _is_gone(memory: Memory, traits: Traits | None) -> bool:
    if traits is None or traits.status == FORGOTTEN:
        return True
    return traits.expires is not None and traits.expires <= memory.clock()


def enough_of(
    fetch: Callable[[int], Sequence[Found]], choose: Callable[[Sequence[Found]], list[Kept]], limit: int
) -> list[Kept]:
    """At least ``limit`` of what ``choose`` keeps of what ``fetch(count)`` finds, as long as there is more to find."""
    wanted = 2 * limit
    while True:
        found = fetch(wanted)
        kept = choose(found)
        if len(kept) >= limit or len(found) < wanted or wanted >= 128 * limit:
            return kept
        wanted *= 4


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
    """One text or several, without secrets and blank ones. Raises ``InvalidInput`` for anything else."""
    given = [value] if isinstance(value, str) else value
    if isinstance(given, bytes | dict) or not isinstance(given, Iterable):
        raise InvalidInput(f"{what} must be texts, not {shown(value)}")
    texts = [check_text(one, what) for one in cast("Iterable[object]", given)]
    return tuple(without_secrets(one.strip()) for one in texts if one.strip())


def check_share(value: object, what: str) -> float:
    """A number above 0 and below 1. Raises ``InvalidInput``."""
    if not is_finite(value) or not 0 < value < 1:
        raise InvalidInput(f"{what} must be above 0 and below 1, since nothing is certain, not {shown(value)}")
    return float(value)


def without_secrets(text: str) -> str:
    """The text without keys and passwords: the gate checks a memory's text, but not its metadata."""
    return redacted(text, [one for one in findings(text) if one.secret])
