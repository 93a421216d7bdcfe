"""Changing a memory behind a service: what is remembered, changed, forgotten and erased."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput
from memwell.filters import FilterLike
from memwell.longterm.base import as_ids
from memwell.longterm.changing import Forgetting, Forgotten
from memwell.longterm.consolidation import Compression
from memwell.longterm.erasing import Erased
from memwell.longterm.recall import Recalled
from memwell.longterm.remembering import Rememberable, Remembered, check_evidence, check_importance
from memwell.longterm.traits import Evidence
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.given import content_data, filter_data, metadata_data, moment, number
from memwell.runtime.remote.refusing import Refused
from memwell.runtime.wire import memories
from memwell.runtime.wire.threads import Counted
from memwell.values import check_count, shown

_SECONDS_A_DAY = 86_400


class Telling:
    """The part of a ``RemoteMemory`` that changes something. Each call has one effect, however often it is sent."""

    _connection: Connection

    note_uses = Refused("the service counts what it recalls; feedback() says whether it helped")
    anote_uses = Refused("the service counts what it recalls; feedback() says whether it helped")
    purge = Refused("the service erases what was forgotten when its retention is over; erase() does so at once")
    apurge = Refused("the service erases what was forgotten when its retention is over; erase() does so at once")
    settle_journal = Refused("the service does so before it erases; settle() does all that is owed")
    asettle_journal = Refused("the service does so before it erases; settle() does all that is owed")

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
        """Store texts or messages, and return when they are on the service's disk. They can be recalled at once.

        Raises ``InvalidInput`` for a value that breaks a rule, ``Conflict`` for an ``id`` that is taken.
        """
        asked = remember_data(
            content,
            speaker=speaker,
            session=session,
            time=time,
            kind=kind,
            metadata=metadata,
            importance=importance,
            ttl=ttl,
            pinned=pinned,
            trust=trust,
            evidence=evidence,
            id=id,
        )
        return self._connection.call("remember", Remembered, asked)

    def remember_thread(self, id_: str, /) -> int:
        """Remember every message of a conversation that is not remembered yet; how many were looked at."""
        return self._connection.call("remember_thread", Counted, None, thread=id_).count

    # Changes that can be undone

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
        asked = memories.UpdateMemory(
            text=text,
            metadata=metadata_data(metadata),
            time=moment(time, "a memory's time"),
            kind=kind,
            importance=None if importance is None else check_importance(importance),
            evidence=None if evidence is None else list(check_evidence(evidence)),
            trust=trust,
            reason=reason,
        )
        return self._connection.call("update", Recalled, asked, id=id_)

    def pin(self, id_: str, /, *, pinned: bool = True) -> Recalled:
        """Keep a memory from fading and from every policy, or stop keeping it. Raises ``NotFound``."""
        return self._connection.call("pin", Recalled, memories.Pin(pinned=pinned), id=id_)

    def feedback(self, id_: str, /, *, useful: bool) -> Recalled:
        """Say whether a recalled memory helped: its importance moves. Raises ``NotFound``, and ``InvalidInput``."""
        return self._connection.call("feedback", Recalled, memories.Feedback(useful=useful), id=id_)

    def forget(self, ids: str | Iterable[str], *, reason: str = "forgotten") -> list[str]:
        """Hide memories at once, so that nothing finds them; ``undo`` brings one back until its retention is over.

        Returns the ids of those that were hidden. Raises ``NotFound`` for an id that never was, and hides nothing then.
        """
        asked = memories.Forget(ids=as_ids(ids), reason=reason)
        return self._connection.call("forget", memories.Ids, asked).ids

    def forget_by(self, policy: Forgetting, *, dry_run: bool = False) -> Forgotten:
        """Forget what a policy names, or only say what it would forget."""
        if not isinstance(policy, Forgetting):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"forget_by takes a Forgetting, not {shown(policy)}")
        older = policy.older_than
        asked = memories.ForgetBy(
            importance_below=policy.importance_below,
            # What was said in time to come is older than less than nothing; no day counts so.
            older_than_days=None if older is None else older.total_seconds() / _SECONDS_A_DAY,
            unused=policy.unused,
            kinds=policy.kinds,
            where=filter_data(policy.where),
            most=policy.most,
            dry_run=dry_run,
        )
        return self._connection.call("forget_by", Forgotten, asked)

    def undo(self, id_: str, /) -> Recalled:
        """Take the last change of a memory back. Raises ``NotFound`` when there is none, or it has expired."""
        return self._connection.call("undo", Recalled, None, id=id_)

    # Many become fewer

    def compress(
        self, *, threshold: float = 0.85, where: FilterLike | None = None, dry_run: bool = False
    ) -> Compression:
        """Merge memories that say nearly the same into the one that says most; conversations are left as they were.

        Raises ``InvalidInput`` for a threshold that is not above 0 and at most 1, and for a filter that breaks a rule.
        """
        asked = memories.Compress(threshold=threshold, where=filter_data(where), dry_run=dry_run)
        return self._connection.call("compress", Compression, asked)

    def merge(self, kept: str, others: Iterable[str]) -> Recalled:
        """Let one memory stand for others: it takes their evidence, and they are marked as replaced by it."""
        return self._connection.call("merge", Recalled, memories.MergeMemories(kept=kept, others=as_ids(others)))

    def reflect(
        self,
        *,
        least: int = 3,
        most: int = 10,
        where: FilterLike | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[Recalled]:
        """Remember what many memories show together, one insight for each matter that at least ``least`` speak of."""
        asked = memories.Reflect(
            least=check_count(least, "least"),
            most=check_count(most, "most"),
            where=filter_data(where),
            metadata=metadata_data(metadata),
        )
        return self._connection.call("reflect", memories.Memories, asked).memories

    # For good

    def erase(self, ids: str | Iterable[str]) -> Erased:
        """Remove memories for good, forgotten ones too, with all that was derived from them alone or in part.

        Raises ``NotFound`` for an id that never was, and removes nothing then.
        """
        return self._connection.call("erase", Erased, memories.Erase(ids=as_ids(ids)))

    def erase_where(self, where: FilterLike) -> Erased:
        """Remove every memory that satisfies a filter, for good. Raises ``InvalidInput`` for a filter that says nothing."""
        if not where:
            raise InvalidInput("a filter that says nothing would erase everything; erase_all() is for that")
        return self._connection.call("erase", Erased, memories.Erase(where=filter_data(where)))

    def erase_all(self) -> Erased:
        """Remove the whole memory of the space with its documents and media, for good. Its conversations stay."""
        return self._connection.call("erase", Erased, memories.Erase(everything=True))

    aremember = asyncify(remember)
    aremember_thread = asyncify(remember_thread)
    aupdate = asyncify(update)
    apin = asyncify(pin)
    afeedback = asyncify(feedback)
    aforget = asyncify(forget)
    aforget_by = asyncify(forget_by)
    aundo = asyncify(undo)
    acompress = asyncify(compress)
    amerge = asyncify(merge)
    areflect = asyncify(reflect)
    aerase = asyncify(erase)
    aerase_where = asyncify(erase_where)
    aerase_all = asyncify(erase_all)


def remember_data(
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
    id: str | None = None,  # noqa: A002
    owner: list[str] | None = None,
) -> memories.Remember:
    """What is to be remembered, as it is sent. Raises ``InvalidInput`` for what JSON could not tell."""
    return memories.Remember(
        content=content_data(content),
        speaker=speaker,
        session=session,
        time=moment(time, "a memory's time"),
        kind=kind,
        metadata=metadata_data(metadata),
        importance=None if importance is None else check_importance(importance),
        ttl=number(ttl, "ttl"),
        pinned=pinned,
        trust=trust,
        evidence=check_evidence(evidence),
        id=id,
        owner=owner,
    )


__all__ = ["Telling", "remember_data"]
