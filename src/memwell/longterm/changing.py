"""Changing what is remembered: update, pin, feedback, forget and undo. Nothing here is final: each change can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotFound
from memwell.filters import FilterLike, as_filter, holds
from memwell.language.claims import claims
from memwell.longterm.base import MemoryBase, as_ids, version_key
from memwell.longterm.recall import Recalled, as_recalled
from memwell.longterm.remembering import check_evidence, check_importance, check_trust
from memwell.longterm.traits import (
    FORGOTTEN,
    Evidence,
    effective,
    evaluated,
    importance_of,
    moved,
    own_metadata,
    traits_of,
    with_traits,
)
from memwell.records import Record
from memwell.values import as_utc, check_count, check_id, check_metadata, check_text, shown


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """A policy: memories that satisfy all that is given here are forgotten. Pinned ones never are."""

    importance_below: float | None = None
    older_than: timedelta | None = None
    """Said longer ago than this."""
    unused: bool = False
    """Never recalled."""
    kinds: tuple[str, ...] = ()
    where: FilterLike | None = None
    most: int | None = None
    """At most so many, the least important first. Raises ``InvalidInput`` for values that make no policy."""

    def __post_init__(self) -> None:
        if self.importance_below is not None:
            check_importance(self.importance_below)
        if self.older_than is not None and not isinstance(self.older_than, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"older_than must be a timedelta, not {shown(self.older_than)}")
        if self.most is not None:
            check_count(self.most, "most")


class Forgotten(msgspec.Struct, frozen=True):
    """What a policy forgot, or with ``dry_run`` would forget: ids with the reasons."""

    reasons: dict[str, str]
    kept: int
    dry_run: bool

    @property
    def ids(self) -> list[str]:
        """The memories it is about."""
        return list(self.reasons)


class Changer(MemoryBase):
    """Changes, each with the version before it kept."""

    def update(
        self,
        id_: str,
        /,
        text: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        time: datetime | None = None,
        kind: str | None = None,
        importance: float | None = None,
        evidence: Iterable[Evidence] | None = None,
        trust: str | None = None,
        reason: str = "updated",
    ) -> Recalled:
        """Change a memory and return it; what is not given stays. Raises ``NotFound``, ``InvalidInput`` for a bad value."""
        fields: dict[str, Any] = {}
        if metadata is not None:
            fields["own"] = check_metadata(metadata)
        if time is not None:
            fields["time"] = as_utc(time, "a memory's time")
        if kind is not None:
            fields["kind"] = check_id(kind, "a memory's kind")
        if importance is not None:
            fields["importance"] = check_importance(importance)
        if evidence is not None:
            fields["evidence"] = check_evidence(evidence)
        if trust is not None:
            fields["trust"] = check_trust(trust)
        if text is not None:
            check_text(text, "a memory's text")
        self.catch_up()
        with self.backend.transaction():
            old = self._live(id_)
            if text is not None:
                text, fields["flags"] = self._judged(text, old)
            new = self._change(old, reason, text=text, **fields)
            if text is not None and text != old.text:
                self._relearn(old, new)
        if new.vector is None and old.vector is not None:
            self._owe_vectors([new])
        return as_recalled(new)

    def _judged(self, text: str, old: Record) -> tuple[str, tuple[str, ...]]:
        """A new text as the gate lets it through, and what it noticed. Raises ``InvalidInput`` when it does not."""
        verdict = self._gate.judge(text, speaker=traits_of(old).speaker, trust=traits_of(old).trust)
        if not verdict.accepted:
            raise InvalidInput("; ".join(f"{one.code}: {one.detail}" for one in verdict.reasons))
        return verdict.text, verdict.flags

    def _relearn(self, old: Record, new: Record) -> None:
        """The facts of the old text no longer hold by its word; those of the new do."""
        # For good: undoing the change learns the old text again, and nothing else may bring its facts back.
        self.indexer.facts.retract([old.id], final=True)
        self.backend.kv.delete(self._inner, self.indexer.twins_of(old))
        traits = traits_of(new)
        if traits.trust in ("user", "document"):
            found = claims(new.text, speaker=traits.speaker, time=new.time)
            self.indexer.facts.learn(found, record=new.id, learned_at=self.clock())

    def _live(self, id_: str) -> Record:
        """A memory that may be recalled. For who has caught up, and is inside a transaction. Raises ``NotFound``."""
        record = self._lasting(id_)
        if not traits_of(record).active:
            raise NotFound(f"the memory {id_!r} was forgotten; undo() brings it back")
        return record

    def pin(self, id_: str, /, *, pinned: bool = True) -> Recalled:
        """Keep a memory from fading and from every policy, or stop keeping it. Raises ``NotFound``."""
        self.catch_up()
        with self.backend.transaction():
            changed = self._change(self._live(id_), "pinned" if pinned else "unpinned", pinned=pinned)
        return as_recalled(changed)

    def feedback(self, id_: str, /, *, useful: bool) -> Recalled:
        """Say whether a recalled memory helped: its importance moves. Raises ``NotFound``, and ``InvalidInput``."""
        if not isinstance(useful, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"useful must be True or False, not {shown(useful)}")
        self.catch_up()
        with self.backend.transaction():
            old = self._live(id_)
            traits = traits_of(old)
            changed = self._change(
                old,
                "called useful" if useful else "called useless",
                importance=moved(0.5 if traits.importance is None else traits.importance, useful=useful),
                useful=traits.useful + (1 if useful else -1),
            )
        return as_recalled(changed)

    def note_uses(self, uses: Mapping[str, int], at: datetime | Mapping[str, datetime] | None = None) -> None:
        """Count recalls of memories, the last of them ``at`` a moment: one for all, or one for each; None is now.

        No version is kept: being used changes nothing that was said.
        """
        moments = at if isinstance(at, Mapping) else dict.fromkeys(uses, self.clock() if at is None else at)
        with self.backend.transaction():
            records = self.backend.index.get(self.space, list(uses))
            self.backend.index.upsert([_used(one, uses[one.id], moments.get(one.id)) for one in records])

    def evaluate(self, id_: str, /) -> float:
        """What a memory has shown to be worth, from 0 to 1: by its content, its uses and what was said of it.

        It changes nothing: ``update`` gives a memory another importance. Raises ``NotFound``.
        """
        self.catch_up()
        record = self._live(id_)
        traits = traits_of(record)
        content = importance_of(record.text) if traits.content is None else traits.content
        return evaluated(content, uses=traits.uses, useful=traits.useful)

    # Forgetting

    def forget(self, ids: str | Iterable[str], *, reason: str = "forgotten") -> list[str]:
        """Hide memories at once, so that nothing finds them; ``undo`` brings one back until its retention is over.

        Returns the ids of those that were hidden. Raises ``NotFound`` for an id that never was, and hides nothing then.
        """
        wanted = as_ids(ids)
        self.catch_up()
        with self.backend.transaction():
            records = {record.id: record for record in map(self._stored, wanted)}
            hidden = [record for record in records.values() if traits_of(record).active]
            for record in hidden:
                self._change(record, reason, status=FORGOTTEN)
            self.indexer.facts.retract(self._sources(hidden), final=False)
        return [record.id for record in hidden]

    def forget_by(self, policy: Forgetting, *, dry_run: bool = False) -> Forgotten:
        """Forget what a policy names, or only say what it would forget."""
        if not isinstance(policy, Forgetting):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"forget_by takes a Forgetting, not {shown(policy)}")
        now = self.clock()
        wanted = as_filter(policy.where)
        worth: dict[str, tuple[float, str]] = {}
        kept = 0
        for record in self._active():
            reason = _reason(record, policy, now) if wanted is None or holds(wanted, record) else None
            if reason is None:
                kept += 1
            else:
                worth[record.id] = (_worth(record), reason)
        chosen = sorted(worth, key=lambda id_: (worth[id_][0], id_))[: policy.most]
        if chosen and not dry_run:
            self.forget(chosen, reason="forgotten by a policy")
        return Forgotten({id_: worth[id_][1] for id_ in chosen}, kept + len(worth) - len(chosen), dry_run)

    def undo(self, id_: str, /) -> Recalled:
        """Take the last change of a memory back. Raises ``NotFound`` when there is none, or it has expired."""
        self.catch_up()
        with self.backend.transaction():
            current = self._lasting(id_)
            versions = self._versions(current.id)
            if not versions:
                raise NotFound(f"the memory {id_!r} was never changed: there is nothing to undo")
            last = versions[-1].record
            same = last.text == current.text
            restored = replace(last, vector=current.vector if same else None)
            self.backend.index.upsert([restored])
            self.backend.kv.delete(self._inner, version_key(current.id, traits_of(last).version))
            if not same:
                self._relearn(current, restored)
            elif traits_of(restored).active and not traits_of(current).active:
                self.indexer.facts.restore(self._sources([restored]))
        if not same:
            self._owe_vectors([restored])
        return as_recalled(restored)

    aupdate = asyncify(update)
    apin = asyncify(pin)
    afeedback = asyncify(feedback)
    anote_uses = asyncify(note_uses)
    aevaluate = asyncify(evaluate)
    aforget = asyncify(forget)
    aforget_by = asyncify(forget_by)
    aundo = asyncify(undo)


def _used(record: Record, times: int, at: datetime | None) -> Record:
    """A memory that was recalled some more times, last at a moment."""
    traits = traits_of(record)
    last = max((one for one in (at, traits.accessed) if one is not None), default=None)
    counted = replace(traits, uses=traits.uses + times, accessed=last)
    return replace(record, metadata=with_traits(own_metadata(record), counted))


def _worth(record: Record) -> float:
    traits = traits_of(record)
    return effective(0.5 if traits.importance is None else traits.importance, traits.uses)


def _reason(record: Record, policy: Forgetting, now: datetime) -> str | None:
    """Why a policy forgets a memory, in words; None when it does not."""
    traits = traits_of(record)
    if traits.pinned or (policy.kinds and record.kind not in policy.kinds):
        return None
    reasons: list[str] = []
    if policy.importance_below is not None:
        if _worth(record) >= policy.importance_below:
            return None
        reasons.append(f"its importance {_worth(record):.2f} is below {policy.importance_below:.2f}")
    if policy.older_than is not None:
        if now - record.time <= policy.older_than:
            return None
        reasons.append(f"it is {(now - record.time).days} days old")
    if policy.unused:
        if traits.uses:
            return None
        reasons.append("it was never recalled")
    return "; ".join(reasons) or "the policy names it"
