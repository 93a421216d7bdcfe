"""``remember``: stores texts and messages durably, and refuses some with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias, cast

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import Conflict, InvalidInput
from memwell.longterm.base import MemoryBase
from memwell.longterm.gate import TRUSTS, GateVerdict
from memwell.longterm.indexing import record_of
from memwell.longterm.traits import KEY, Evidence, Traits, own_metadata, traits_of
from memwell.messages import Message, Role, Text, human
from memwell.records import Record
from memwell.stages import stage
from memwell.transcript import from_openai
from memwell.values import (
    as_utc,
    check_flag,
    check_id,
    check_items,
    check_known,
    check_list,
    check_metadata,
    check_number,
    check_text,
    is_finite,
    new_id,
    shown,
)

Rememberable: TypeAlias = str | Message | Mapping[str, Any] | Iterable[str | Message | Mapping[str, Any]]
"""A text, a message (memwell's own or in OpenAI's shape), or several of them."""

_SPEAKERS = {Role.HUMAN: "user", Role.AI: "assistant"}
_TRUST = {Role.AI: "model", Role.TOOL: "tool", Role.FUNCTION: "tool"}


class Rejection(msgspec.Struct, frozen=True):
    """A text that was not remembered, and why. The text is shortened and free of secrets."""

    text: str
    reasons: tuple[str, ...]


class Remembered(msgspec.Struct, frozen=True):
    """The result of ``remember``: the ids of what was stored, in order, and what was refused."""

    ids: list[str]
    rejected: list[Rejection] = []

    @property
    def id(self) -> str:
        """The id of the only memory stored. Raises ``InvalidInput`` when none or several were."""
        if len(self.ids) != 1:
            reasons = "; ".join(reason for one in self.rejected for reason in one.reasons)
            raise InvalidInput(f"{len(self.ids)} memories were stored, not one{': ' + reasons if reasons else ''}")
        return self.ids[0]


class Rememberer(MemoryBase):
    """Stores memories: checks each text with the gate and writes it to the journal."""

    def remember(
        self,
        content: Rememberable,
        *,
        speaker: str | None = None,
        session: str | None = None,
        time: datetime | None = None,
        kind: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        ttl: float | None = None,
        pinned: bool = False,
        trust: str | None = None,
        evidence: Iterable[Evidence] = (),
        id: str | None = None,  # noqa: A002 - the usual name
    ) -> Remembered:
        """Store texts or messages, and return when they are on disk. They can be recalled at once.

        ``speaker`` is who said it, ``session`` its conversation, ``time`` when it was said, ``ttl`` after how many seconds
        it expires, ``evidence`` its sources: a memory of the trust ``derived`` is erased with them. A message brings its
        own values, and is stored once, as is the same content under the same ``id``. Raises ``InvalidInput`` for an
        invalid value, ``Conflict`` for an ``id`` of another memory that has not expired.
        """
        given = _Given(
            check_id(speaker, "a speaker") if speaker not in (None, "") else "",
            check_id(session, "a session") if session not in (None, "") else "",
            None if time is None else as_utc(time, "a memory's time"),
            kind if kind is None else check_id(kind, "a memory's kind"),
            {} if metadata is None else check_metadata(metadata),
            self._checked_traits(importance, ttl, pinned, trust),
            check_evidence(evidence),
        )
        items = _items(content)
        if id is not None and len(items) != 1:
            raise InvalidInput(f"an id is for one memory, not for {len(items)}")
        entries = [self._entry(item, given, id) for item in items]
        if id is not None and (known := self._of_id(id)) is not None:
            if self._is_same(known, entries[0]):
                return Remembered([id])
            self._check_free(id)
        return self._write(entries)

    def _of_id(self, id_: str) -> Record | None:
        """The memory of this id, in the index or still in the journal."""
        found = self.backend.index.get(self.space, [id_])
        pending = None if found else self.indexer.journal.read(id_)
        return found[0] if found else None if pending is None else record_of(self.space, pending)

    def _is_same(self, known: Record, entry: Message | Rejection) -> bool:
        """Whether a call that is tried again stored this memory."""
        if isinstance(entry, Rejection) or not traits_of(known).active or self._has_expired(known):
            return False
        return _said(known) == _said(record_of(self.space, entry))

    def _check_free(self, id_: str) -> None:
        """Raises ``Conflict``: a memory has this id."""
        raise Conflict(f"there is a memory {id_!r} already; update() changes it")

    def _checked_traits(self, importance: float | None, ttl: float | None, pinned: bool, trust: str | None) -> Traits:
        if importance is not None:
            check_number(importance, "importance")
        if ttl is not None and not (is_finite(ttl) and 0 < ttl < _LONGEST_S):
            raise InvalidInput(f"ttl must be a number of seconds above 0 and below {_LONGEST_S:,}, not {shown(ttl)}")
        check_flag(pinned, "pinned")
        if trust is not None:
            check_known(trust, TRUSTS, "trust")
        if importance is None and ttl is None and not pinned and trust is None:
            return _PLAIN
        expires = None if ttl is None else self.clock() + timedelta(seconds=ttl)
        return Traits(importance=importance, expires=expires, pinned=pinned, trust=trust or "user")

    def _entry(self, item: object, given: _Given, id_: str | None) -> Message | Rejection:
        """The journal entry of a text or message, or its rejection."""
        # Texts are the most common, and the check for a mapping is slow.
        if not isinstance(item, str) and isinstance(item, Mapping):
            [item] = from_openai([cast("dict[str, Any]", item)])
        if isinstance(item, str):
            text, traits, evidence = check_text(item, "a memory's text"), given.traits, given.evidence
            speaker, time, name = given.speaker, given.time, new_id() if id_ is None else check_id(id_, "a memory's id")
            kind = given.kind or "memory"
        elif isinstance(item, Message):
            text, time, name = item.text, given.time or item.time, item.id if id_ is None else id_
            speaker = given.speaker or item.name or _SPEAKERS.get(item.role, "")
            trust = given.traits.trust
            if trust in ("user", "imported"):
                trust = _TRUST.get(item.role, trust)
            # Counted from 1: without a position a memory gets its place in the store, behind the rest of its thread.
            position = 0 if item.index is None else item.index + 1
            traits = msgspec.structs.replace(given.traits, trust=trust, position=position)
            evidence = (Evidence(thread=given.session, message=item.id), *given.evidence)
            kind = given.kind or "message"
        else:
            raise InvalidInput(f"remember takes texts and messages, not {shown(item)}")
        verdict = self._gate.judge(text, speaker=speaker, trust=traits.trust)
        reasons = self._refusal(verdict, traits.trust)
        if reasons:
            short = verdict.text if len(verdict.text) <= 80 else f"{verdict.text[:79]}…"
            return Rejection(short, reasons)
        learned = self.clock() if time is not None else None
        traits = msgspec.structs.replace(
            traits, speaker=speaker, session=given.session, flags=verdict.flags, evidence=evidence, learned=learned
        )
        return _journal_entry(name, verdict.text, time or self.clock(), kind, given.own, traits, named=id_ is not None)

    def _refusal(self, verdict: GateVerdict, trust: str) -> tuple[str, ...]:
        if not verdict.accepted:
            return tuple(f"{reason.code}: {reason.detail}" for reason in verdict.reasons)
        if trust == "model":
            # A model that repeats a recalled memory must not teach it as a new one.
            echo = self._echoes.echo_of(verdict.text)
            if echo is not None:
                return (f"echo: it repeats the memory {echo}, which was recalled just before",)
        return ()

    @stage("store")
    def _write(self, entries: Sequence[Message | Rejection]) -> Remembered:
        accepted = [entry for entry in entries if isinstance(entry, Message)]
        if accepted:
            self.indexer.journal.write_new(accepted)
            self._notify(self.space)
        rejected = [entry for entry in entries if isinstance(entry, Rejection)]
        return Remembered([entry.id for entry in accepted], rejected)

    aremember = asyncify(remember)


def _items(content: Rememberable) -> list[object]:
    """A list of what to remember. Raises ``InvalidInput`` for anything that is no text or message."""
    if isinstance(content, str | Message | Mapping):
        return [content]
    return check_list(content, "remember takes texts and messages")


def check_evidence(given: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The evidence without repetitions. Raises ``InvalidInput`` for anything that is no ``Evidence``."""
    if given == ():
        return ()
    pieces = check_items(
        [given] if isinstance(given, Evidence) else given, Evidence, "evidence must be a list of Evidence"
    )
    return tuple(dict.fromkeys(pieces))


def _said(record: Record) -> tuple[object, ...]:
    traits = traits_of(record)
    return record.text, record.kind, traits.speaker, traits.session, traits.trust, traits.evidence, own_metadata(record)


class _Given(msgspec.Struct, frozen=True):
    """The checked arguments of ``remember`` that all its items share."""

    speaker: str
    session: str
    time: datetime | None
    kind: str | None
    own: dict[str, Any]
    traits: Traits
    evidence: tuple[Evidence, ...]


_PLAIN = Traits()
_LONGEST_S = 3_000_000_000


def _journal_entry(
    id_: str, text: str, time: datetime, kind: str, own: Mapping[str, Any], traits: Traits, *, named: bool
) -> Message:
    """An entry with only the values that differ from the defaults: one with none is stored fastest."""
    carried: dict[str, Any] = {}
    if kind != "memory":
        carried["kind"] = kind
    if named:
        # A memory with an id of its own is never stored as a repetition of another.
        carried["named"] = True
    if own:
        if KEY in own:
            raise InvalidInput(f"the metadata key {KEY!r} is memwell's own; choose another")
        carried["own"] = own
    if traits != _PLAIN:
        carried[KEY] = msgspec.to_builtins(traits)
    return human((Text(text),), id=id_, time=time, metadata=carried)
