"""Remembering: texts and messages go in, durable at once; what does not deserve it is refused with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias, cast

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import Conflict, InvalidInput
from memwell.longterm.base import MemoryBase
from memwell.longterm.gate import TRUSTS, Verdict
from memwell.longterm.traits import KEY, Evidence, Traits
from memwell.messages import Message, Role, Text, human
from memwell.transcript import from_openai
from memwell.values import as_utc, check_id, check_metadata, check_text, new_id, shown

Rememberable: TypeAlias = str | Message | Mapping[str, Any] | Iterable[str | Message | Mapping[str, Any]]
"""A text, a message (memwell's own or in OpenAI's shape), or several of them."""

_SPEAKERS = {Role.HUMAN: "user", Role.AI: "assistant"}
_TRUST = {Role.AI: "model", Role.TOOL: "tool", Role.FUNCTION: "tool"}


class Rejection(msgspec.Struct, frozen=True):
    """Something that was not remembered, and why. The text is cut short and free of secrets."""

    text: str
    reasons: tuple[str, ...]


class Remembered(msgspec.Struct, frozen=True):
    """What came of it: the ids of what was stored, in order, and what was refused."""

    ids: list[str]
    rejected: list[Rejection] = []

    @property
    def id(self) -> str:
        """The id of the one thing remembered. Raises ``InvalidInput`` when it was refused, or was not one."""
        if len(self.ids) != 1:
            reasons = "; ".join(reason for one in self.rejected for reason in one.reasons)
            raise InvalidInput(f"{len(self.ids)} memories were stored, not one{': ' + reasons if reasons else ''}")
        return self.ids[0]


class Rememberer(MemoryBase):
    """The way in."""

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
        id: str | None = None,  # noqa: A002 - what everybody calls it
    ) -> Remembered:
        """Store texts or messages, and return when they are on disk. They can be recalled at once.

        ``speaker`` is who said it, ``session`` the conversation it belongs to, ``time`` when it was said, ``ttl`` after how
        many seconds it is to vanish, ``evidence`` what it rests on: with the trust ``derived`` it is erased when a memory
        named there is. Messages bring their own, and one that was remembered before is not stored again.
        Raises ``InvalidInput`` for a value that breaks a rule, ``Conflict`` for an ``id`` that is taken by a memory
        that has not expired.
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
        if id is not None:
            self._check_free(id)
        return self._write(entries)

    def _check_free(self, id_: str) -> None:
        """Raises ``Conflict`` for an id that is taken."""
        if self._is_taken(id_):
            raise Conflict(f"there is a memory {id_!r} already; update() changes it")

    def _is_taken(self, id_: str) -> bool:
        """Whether there is a memory of this id, be it still in the journal."""
        return self.indexer.journal.holds(id_) or bool(self.backend.index.get(self.space, [id_]))

    def _checked_traits(self, importance: float | None, ttl: float | None, pinned: bool, trust: str | None) -> Traits:
        if importance is not None:
            check_importance(importance)
        if ttl is not None and not (is_number(ttl) and 0 < ttl < _LONGEST_S):
            raise InvalidInput(f"ttl must be a number of seconds above 0 and below {_LONGEST_S:,}, not {shown(ttl)}")
        if not isinstance(pinned, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"pinned must be True or False, not {shown(pinned)}")
        if trust is not None:
            check_trust(trust)
        if importance is None and ttl is None and not pinned and trust is None:
            return _PLAIN
        expires = None if ttl is None else self.clock() + timedelta(seconds=ttl)
        return Traits(importance=importance, expires=expires, pinned=pinned, trust=trust or "user")

    def _entry(self, item: object, given: _Given, id_: str | None) -> Message | Rejection:
        """The entry for the journal, or why there is none."""
        # A text is by far the most common, and asking first whether it is a mapping would cost it.
        if not isinstance(item, str) and isinstance(item, Mapping):
            [item] = from_openai([cast("dict[str, Any]", item)])
        if isinstance(item, str):
            text, traits, evidence = check_text(item, "a memory's text"), given.traits, given.evidence
            speaker, time, name = given.speaker, given.time, new_id() if id_ is None else check_id(id_, "a memory's id")
            kind = given.kind or "memory"
        elif isinstance(item, Message):
            text, time, name = item.text, given.time or item.time, item.id if id_ is None else id_
            speaker = given.speaker or item.name or _SPEAKERS.get(item.role, "")
            trust = _TRUST.get(item.role, "user") if given.traits.trust == "user" else given.traits.trust
            traits = msgspec.structs.replace(given.traits, trust=trust, position=item.index or 0)
            evidence = (Evidence(thread=given.session, message=item.id), *given.evidence)
            kind = given.kind or "message"
        else:
            raise InvalidInput(f"remember takes texts and messages, not {shown(item)}")
        verdict = self._gate.judge(text, speaker=speaker, trust=traits.trust)
        reasons = self._refusal(verdict, traits.trust)
        if reasons:
            return Rejection(_short(verdict.text), reasons)
        learned = self.clock() if time is not None else None
        traits = msgspec.structs.replace(
            traits, speaker=speaker, session=given.session, flags=verdict.flags, evidence=evidence, learned=learned
        )
        return _journal_entry(name, verdict.text, time or self.clock(), kind, given.own, traits, named=id_ is not None)

    def _refusal(self, verdict: Verdict, trust: str) -> tuple[str, ...]:
        if not verdict.accepted:
            return tuple(f"{reason.code}: {reason.detail}" for reason in verdict.reasons)
        if trust == "model":
            # Nothing that was recalled and said again by the model may be learnt as if it were new.
            echo = self._echoes.echo_of(verdict.text)
            if echo is not None:
                return (f"echo: it repeats the memory {echo}, which was recalled just before",)
        return ()

    def _write(self, entries: Sequence[Message | Rejection]) -> Remembered:
        accepted = [entry for entry in entries if isinstance(entry, Message)]
        if accepted:
            self.indexer.journal.write_new(accepted)
            self._told(self.space)
        rejected = [entry for entry in entries if isinstance(entry, Rejection)]
        return Remembered([entry.id for entry in accepted], rejected)

    aremember = asyncify(remember)


def _items(content: Rememberable) -> list[object]:
    """One thing or several. Raises ``InvalidInput`` for what cannot be remembered."""
    if isinstance(content, str | Message | Mapping):
        return [content]
    if isinstance(content, bytes) or not isinstance(content, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"remember takes texts and messages, not {shown(content)}")
    return list(content)


def is_number(value: object) -> bool:
    """Whether it is a number, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_importance(value: float) -> float:
    """Return it when it is one. Raises ``InvalidInput``."""
    if not is_number(value) or not 0 <= value <= 1:
        raise InvalidInput(f"importance must be a number from 0 to 1, not {shown(value)}")
    return value


def check_trust(value: str) -> str:
    """Return it when it is one. Raises ``InvalidInput``."""
    if not isinstance(value, str) or value not in TRUSTS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"unknown trust {shown(value)}; known: {', '.join(sorted(TRUSTS))}")
    return value


def check_evidence(given: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The pieces of evidence, each once. Raises ``InvalidInput`` for anything else."""
    if given == ():
        return ()
    pieces = tuple(given) if isinstance(given, Iterable) else (given,)  # pyright: ignore[reportUnnecessaryIsInstance]
    for one in pieces:
        if not isinstance(one, Evidence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"evidence must be several Evidence, not {shown(cast(object, given))}")
    return tuple(dict.fromkeys(pieces))


class _Given(msgspec.Struct, frozen=True):
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
    """An entry carries only what differs from the usual: one that carries nothing is stored the fastest way."""
    carried: dict[str, Any] = {}
    if kind != "memory":
        carried["kind"] = kind
    if named:
        # Who names a memory means that one, whatever else says the same.
        carried["named"] = True
    if own:
        if KEY in own:
            raise InvalidInput(f"the metadata key {KEY!r} is memwell's own; choose another")
        carried["own"] = own
    if traits != _PLAIN:
        carried[KEY] = msgspec.to_builtins(traits)
    return human((Text(text),), id=id_, time=time, metadata=carried)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
