"""Changes to memories: update, pin, feedback, forget and undo, and ``erase``, which is final."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from types import NoneType
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AnyOf, FilterLike, Where, as_filter, id_begins_with, record_test
from memwell.language.claims import claims
from memwell.longterm.base import MemoryBase, as_ids, check_version, version_key
from memwell.longterm.embedding import STAGED
from memwell.longterm.gate import STATES_FACTS, TRUSTS
from memwell.longterm.indexing import ALIAS, DEAD
from memwell.longterm.journal import MARKS, inner_key
from memwell.longterm.recall import Recalled, as_recalled
from memwell.longterm.remembering import check_evidence
from memwell.longterm.traits import (
    FORGOTTEN,
    KEY,
    Evidence,
    Traits,
    blobs_space,
    effective,
    evaluated,
    features_space,
    importance_of,
    moved,
    named_blobs,
    own_metadata,
    traits_of,
    with_traits,
)
from memwell.longterm.uses import all_uses, with_use
from memwell.records import Record, paged
from memwell.storage.scrubbing import SCRUBS, note_erasure, scrubbed
from memwell.values import (
    as_utc,
    check_count,
    check_flag,
    check_id,
    check_known,
    check_metadata,
    check_number,
    check_text,
    check_type,
)

_MAY_BE_OVER = AnyOf((Where((KEY, "status"), "eq", FORGOTTEN), Where((KEY, "expires"), "exists")))
_HAS_EVIDENCE = Where((KEY, "evidence"), "exists")


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """A policy of what to forget: memories that satisfy all given conditions. Pinned ones are never forgotten."""

    importance_below: float | None = None
    older_than: timedelta | None = None
    """The least age of a memory."""
    unused: bool = False
    """Whether only memories that were never recalled are forgotten."""
    kinds: tuple[str, ...] = ()
    where: FilterLike | None = None
    most: int | None = None
    """The highest number to forget, the least important first. Raises ``InvalidInput`` for invalid values."""

    def __post_init__(self) -> None:
        if self.importance_below is not None:
            check_number(self.importance_below, "importance_below")
        check_type(self.older_than, (timedelta, NoneType), "older_than must be a timedelta")
        if self.most is not None:
            check_count(self.most, "most")


class Forgotten(msgspec.Struct, frozen=True):
    """What a policy forgot, or with ``dry_run`` would forget: ids with reasons."""

    reasons: dict[str, str]
    kept: int
    dry_run: bool

    @property
    def ids(self) -> list[str]:
        """The ids of the memories."""
        return list(self.reasons)


class Changer(MemoryBase):
    """Changes memories, and keeps the version before each change."""

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
        version: int | None = None,
    ) -> Recalled:
        """Change the given fields of a memory and return it; a change that was made already changes nothing.

        Raises ``NotFound``, ``InvalidInput`` for a bad value, and ``Conflict`` when it is not at ``version``, if given.
        """
        fields: dict[str, Any] = {}
        if metadata is not None:
            fields["own"] = check_metadata(metadata)
        if time is not None:
            fields["time"] = as_utc(time, "a memory's time")
        if kind is not None:
            fields["kind"] = check_id(kind, "a memory's kind")
        if importance is not None:
            fields["importance"] = check_number(importance, "importance")
        if evidence is not None:
            fields["evidence"] = check_evidence(evidence)
        if trust is not None:
            fields["trust"] = check_known(trust, TRUSTS, "trust")
        if text is not None:
            check_text(text, "a memory's text")
        self.catch_up()
        with self.backend.transaction():
            old = check_version(self._live(id_), version)
            if text is not None:
                text, fields["flags"] = self._judged(text, old)
            new = self._change(old, reason, text=text, **fields)
            if text is not None and text != old.text:
                self._relearn(old, new)
        if text is not None and new.vector is None:
            self._notify(self.space)
        return as_recalled(new, traits=self._traits(new))

    def _judged(self, text: str, old: Record) -> tuple[str, tuple[str, ...]]:
        """A new text after the gate, and its flags. Raises ``InvalidInput`` when the gate refuses it."""
        verdict = self._gate.judge(text, speaker=traits_of(old).speaker, trust=traits_of(old).trust)
        if not verdict.accepted:
            raise InvalidInput("; ".join(f"{one.code}: {one.detail}" for one in verdict.reasons))
        return verdict.text, verdict.flags

    def _relearn(self, old: Record, new: Record) -> None:
        """Replace the facts of the old text by those of the new one."""
        # Deleted for good: undo() learns the old text again, and nothing else may restore its facts.
        self.indexer.facts.withdraw([old.id], final=True)
        self.backend.kv.delete(self._inner, self.indexer.duplicate_key(old))
        self.backend.kv.delete(self._inner, inner_key(DEAD, old.id))
        traits = traits_of(new)
        if traits.trust in STATES_FACTS:
            found = claims(new.text, speaker=traits.speaker, time=new.time)
            self.indexer.learn(new, found, at=self.clock())

    def _live(self, id_: str) -> Record:
        """A memory that may be recalled. Call it after catching up, in a transaction. Raises ``NotFound``."""
        record = self._lasting(id_)
        if not traits_of(record).active:
            raise NotFound(f"the memory {id_!r} was forgotten; undo() restores it")
        return record

    def pin(self, id_: str, /, *, pinned: bool = True) -> Recalled:
        """Protect a memory from fading and from every policy, or stop protecting it. Raises ``NotFound``."""
        self.catch_up()
        with self.backend.transaction():
            changed = self._change(self._live(id_), "pinned" if pinned else "unpinned", pinned=pinned)
        return as_recalled(changed, traits=self._traits(changed))

    def feedback(self, id_: str, /, *, useful: bool, version: int | None = None) -> Recalled:
        """Say whether a recalled memory helped, which moves its importance.

        Raises ``NotFound``, ``InvalidInput``, and ``Conflict`` when it is not at ``version``, if given.
        """
        check_flag(useful, "useful")
        self.catch_up()
        with self.backend.transaction():
            old = check_version(self._live(id_), version)
            traits = traits_of(old)
            changed = self._change(
                old,
                "called useful" if useful else "called useless",
                importance=moved(0.5 if traits.importance is None else traits.importance, useful=useful),
                useful=traits.useful + (1 if useful else -1),
            )
        return as_recalled(changed, traits=self._traits(changed))

    def note_uses(self, uses: Mapping[str, int], at: datetime | Mapping[str, datetime] | None = None) -> None:
        """Count recalls of memories; ``at`` is the time of the last one, for all or for each by id (default: now).

        No record changes. Unknown ids are ignored.
        """
        moments = at if isinstance(at, Mapping) else dict.fromkeys(uses, self.clock() if at is None else at)
        self._snapshots.count_uses(self.space, self._uses.add(uses, moments))

    def evaluate(self, id_: str, /) -> float:
        """The worth of a memory from 0 to 1, by its content, its uses and its feedback.

        It changes nothing; ``update`` sets an importance. Raises ``NotFound``.
        """
        self.catch_up()
        record = self._live(id_)
        traits = self._traits(record)
        content = importance_of(record.text) if traits.content is None else traits.content
        return evaluated(content, uses=traits.uses, useful=traits.useful)

    # Forgetting

    def forget(self, ids: str | Iterable[str], *, reason: str = "forgotten") -> list[str]:
        """Hide memories at once; ``undo`` restores one until its retention is over.

        Returns the ids that were hidden. Raises ``NotFound`` for an unknown id, and then hides nothing.
        """
        wanted = as_ids(ids)
        self.catch_up()
        with self.backend.transaction():
            records = {record.id: record for record in map(self._stored, wanted)}
            return self._hide(records.values(), reason)

    def _hide(self, records: Iterable[Record], reason: str) -> list[str]:
        """Forget those that are not forgotten; their ids. Call it inside a transaction."""
        hidden = [record for record in records if traits_of(record).active]
        for record in hidden:
            self._change(record, reason, status=FORGOTTEN)
        self.indexer.facts.withdraw(self._sources(hidden), final=False)
        return [record.id for record in hidden]

    def forget_by(self, policy: Forgetting, *, dry_run: bool = False) -> Forgotten:
        """Forget what a policy selects, or with ``dry_run`` only report it. What changes meanwhile is kept."""
        check_type(policy, Forgetting, "forget_by takes a Forgetting")
        now = self.clock()
        wanted = as_filter(policy.where)
        fits = None if wanted is None else record_test(wanted)
        worth: dict[str, tuple[float, str]] = {}
        versions: dict[str, int] = {}
        kept = 0
        uses = all_uses(self.indexer.view.kv, self.space)
        for record in self._active():
            traits = with_use(traits_of(record), uses.get(record.id))
            reason = _reason(record, traits, policy, now) if fits is None or fits(record) else None
            if reason is None:
                kept += 1
            else:
                worth[record.id] = (_worth(traits), reason)
                versions[record.id] = traits.version
        chosen = sorted(worth, key=lambda id_: (worth[id_][0], id_))[: policy.most]
        if chosen and not dry_run:
            with self.backend.transaction():
                found = self.backend.index.get(self.space, chosen)
                same = [one for one in found if traits_of(one).version == versions[one.id]]
                chosen = self._hide(same, "forgotten by a policy")
        return Forgotten({id_: worth[id_][1] for id_ in chosen}, kept + len(worth) - len(chosen), dry_run)

    def undo(self, id_: str, /, *, version: int | None = None) -> Recalled:
        """Take the last change of a memory back. Raises ``NotFound`` when it never changed or has expired, and
        ``Conflict`` when it is not at ``version``, if given.
        """
        self.catch_up()
        with self.backend.transaction():
            current = check_version(self._lasting(id_), version)
            versions = self._versions(current.id)
            if not versions:
                raise NotFound(f"the memory {id_!r} was never changed: there is nothing to undo")
            last = versions[-1].record
            same = last.text == current.text
            # The number goes on, so that a plan made for the version taken back does not fit the next one.
            traits = replace(traits_of(last), version=traits_of(current).version + 1)
            metadata = with_traits(own_metadata(last), traits)
            restored = replace(last, vector=current.vector if same else None, metadata=metadata)
            self._put(restored, current)
            self.backend.kv.delete(self._inner, version_key(current.id, traits_of(last).version))
            if not same:
                self._relearn(current, restored)
            elif traits_of(restored).active and not traits_of(current).active:
                self.indexer.facts.restore(self._sources([restored]))
        if not same:
            self._notify(self.space)
        return as_recalled(restored, traits=self._traits(restored))

    aupdate = asyncify(update)
    apin = asyncify(pin)
    afeedback = asyncify(feedback)
    anote_uses = asyncify(note_uses)
    aevaluate = asyncify(evaluate)
    aforget = asyncify(forget)
    aforget_by = asyncify(forget_by)
    aundo = asyncify(undo)


def _worth(traits: Traits) -> float:
    return effective(0.5 if traits.importance is None else traits.importance, traits.uses)


def _reason(record: Record, traits: Traits, policy: Forgetting, now: datetime) -> str | None:
    """Why a policy forgets a memory; None when it does not."""
    if traits.pinned or (policy.kinds and record.kind not in policy.kinds):
        return None
    reasons: list[str] = []
    if policy.importance_below is not None:
        if _worth(traits) >= policy.importance_below:
            return None
        reasons.append(f"its importance {_worth(traits):.2f} is below {policy.importance_below:.2f}")
    if policy.older_than is not None:
        if now - record.time <= policy.older_than:
            return None
        days = (now - record.time).days
        reasons.append(f"it is {days} day{'' if days == 1 else 's'} old")
    if policy.unused:
        if traits.uses:
            return None
        reasons.append("it was never recalled")
    return "; ".join(reasons) or "the policy names it"


# ``erase``: removes memories for good, with their words, vectors, versions, facts, cache entries and files.


class Erased(msgspec.Struct, frozen=True):
    """How much was erased."""

    memories: int = 0
    derived: int = 0
    """Insights and summaries that were derived from them."""
    versions: int = 0
    facts: int = 0
    receipts: int = 0
    """Receipts of prompts that named them."""
    blobs: int = 0
    """Images, sounds, videos and thumbnails that no other memory uses."""
    documents: int = 0
    """The documents of the space, which go with the whole memory alone."""
    scrubbed: bool = True
    """Whether it is gone from the store's files, too. If not, a worker removes it from them soon."""

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return sum(msgspec.structs.astuple(self)[:-1])


READ_UP_TO = "remembered-thread/"
"""How far a conversation was read to be remembered."""

_ERASED_MESSAGE = "erased-message/"


def erased_key(message: str) -> str:
    """The key that says that the memory of a message was erased: it is not made again from its conversation."""
    return _ERASED_MESSAGE + blake2b(message.encode(errors="surrogatepass"), digest_size=16).hexdigest()


class _Resting(NamedTuple):
    """What a memory rests on: which other memories, and whether it was derived from them."""

    others: frozenset[str]
    derived: bool


class Eraser(MemoryBase):
    """Erases memories and everything derived from them."""

    uncache: Callable[[list[str], list[str]], int] | None = None
    """Removes memories, given by ids and embedded texts, from receipts and caches; set by the owner of these."""

    def erase(self, ids: str | Iterable[str], *, wait: bool = False) -> Erased:
        """Remove memories for good, forgotten ones too, with everything derived from them.

        Nothing finds them when it returns. ``scrubbed`` of the result says whether they are gone from the store's files,
        too; with ``wait`` it returns when they are. Raises ``NotFound`` for an unknown id, and then removes nothing.
        """
        wanted = as_ids(ids)
        check_flag(wait, "wait")
        self.settle_journal()
        return self._erase(lambda: map(self._stored, wanted), wait=wait)

    def erase_where(self, where: FilterLike, *, wait: bool = False) -> Erased:
        """Remove every memory that satisfies a filter, as ``erase`` does. Raises ``InvalidInput`` for an empty filter."""
        if not where:
            raise InvalidInput("a filter that says nothing would erase everything; erase_all() is for that")
        wanted = as_filter(where)
        check_flag(wait, "wait")
        self.settle_journal()
        return self._erase(lambda: self._all(wanted), wait=wait)

    def erase_all(self, *, wait: bool = False) -> Erased:
        """Remove all memories of the space, as ``erase`` does, in one transaction."""
        check_flag(wait, "wait")
        self.settle_journal()
        return self._erase(self._all, everything=True, wait=wait)

    def settle_journal(self) -> None:
        """Index and drop all journal entries, so that an erasure finds everything."""
        self.indexer.catch_up(embed_at_most=0)
        self.indexer.give_up_vectors()
        self.indexer.journal.drop_done()

    def _erase(self, find: Callable[[], Iterable[Record]], *, everything: bool = False, wait: bool = False) -> Erased:
        """Erase what ``find`` finds inside the transaction; nothing is removed when it raises."""
        with self.backend.transaction():
            records = {record.id: record for record in find()}
            resting = self._resting()
            wanted = _derived(resting, set(records))
            derived = {record.id: record for record in self.backend.index.get(self.space, sorted(wanted))}
            gone = {**records, **derived}
            ids = list(gone)
            self._unlink(resting, set(ids))
            every = [*gone.values(), *(version.record for id_ in ids for version in self._versions(id_))]
            blobs = self._drop_attached(gone, every)
            erased = self.indexer.facts.erase(self._sources(gone.values()))
            kept = sum(self._drop_keys(version_key(id_, None)) for id_ in ids)
            for record in gone.values():
                self._drop_keys_of(record)
            self.backend.index.delete(self.space, ids)
            texts = [self.indexer.embedded_text(record) for record in every]
            cached = self.uncache(ids, texts) if self.uncache is not None else 0
            if everything:
                self._drop_keys("")
            for message in {
                one.message for record in gone.values() for one in traits_of(record).evidence if one.thread
            }:
                self.backend.kv.put(self._inner, erased_key(message), True)
            note = note_erasure(self.backend)
        self._snapshots.erase(self.space, ids)
        self._echoes.forget(ids)
        gone_from_files = scrubbed(self.backend, note, wait=wait)
        if not gone_from_files:
            self._notify(SCRUBS)
        counts = len(records), len(derived), kept, erased.statements, cached, blobs
        return Erased(*counts, scrubbed=gone_from_files)

    def _drop_keys_of(self, record: Record) -> None:
        kv = self.backend.kv
        kv.delete(self._inner, self.indexer.duplicate_key(record))
        for prefix in (STAGED, DEAD):
            kv.delete(self._inner, inner_key(prefix, record.id))
        self.indexer.tokens.delete(record.id)
        self._uses.delete(record.id)
        for evidence in traits_of(record).evidence:
            kv.delete(self._inner, inner_key(ALIAS, evidence.record or record.id))

    def _drop_attached(self, gone: Mapping[str, Record], every: Sequence[Record]) -> int:
        """Delete the features and blobs of erased memories, except blobs that others use. Returns how many blobs.

        ``every`` is all versions of the erased memories. Call it inside a transaction, so that no blob gains a user.
        """
        for record in every:
            if dimensions := traits_of(record).features:
                self.backend.index.delete(features_space(self.space, dimensions), [record.id])
        named = named_blobs(every)
        if not named:
            return 0
        others = [record for record in self._all(Where((KEY, "blobs"), "exists")) if record.id not in gone]
        # undo() may restore an earlier version, so its blobs are in use too.
        others += [version.record for version in self._versions() if version.record.id not in gone]
        space = blobs_space(self.space)
        return sum(self.backend.blobs.delete(space, digest) for digest in sorted(named - named_blobs(others)))

    def _resting(self) -> dict[str, _Resting]:
        """The memories that rest on other memories, by id. One reading of those with evidence, which few are."""
        found: dict[str, _Resting] = {}
        for record in self._all(_HAS_EVIDENCE):
            traits = traits_of(record)
            others = frozenset(one.record for one in traits.evidence if one.record)
            if others:
                found[record.id] = _Resting(others, traits.trust == "derived")
        return found

    def _unlink(self, resting: Mapping[str, _Resting], ids: set[str]) -> None:
        """Remove erased memories from the evidence of those that stay."""
        named = [id_ for id_, one in resting.items() if id_ not in ids and not ids.isdisjoint(one.others)]
        for record in self.backend.index.get(self.space, named):
            traits = traits_of(record)
            evidence = tuple(one for one in traits.evidence if one.record not in ids)
            kept = replace(traits, evidence=evidence)
            self.backend.index.upsert([replace(record, metadata=with_traits(own_metadata(record), kept))])

    def _drop_keys(self, prefix: str) -> int:
        """Delete all internal keys with a prefix. Returns how many.

        The marks of what was processed stay: how far the journal and the conversations were read, and which messages are
        not to be remembered again. They hold no content.
        """
        keys = [key for key in self._keys(prefix) if key != MARKS and not key.startswith((READ_UP_TO, _ERASED_MESSAGE))]
        return sum(self.backend.kv.delete(self._inner, key) for key in keys)

    def _keys(self, prefix: str) -> Iterator[str]:
        where = id_begins_with(prefix)
        entries = paged(lambda cursor: self.backend.kv.scan(self._inner, where=where, limit=500, cursor=cursor))
        return (entry.key for entry in entries)

    def purge(self, retention_s: float) -> Erased:
        """Erase memories forgotten longer ago than ``retention_s``, and expired ones. Raises ``InvalidInput`` for a
        retention below 0.
        """
        check_number(retention_s, "a retention in seconds", most=math.inf)
        now = self.clock()

        def is_over(record: Record) -> bool:
            traits = traits_of(record)
            hidden_for = (now - (traits.changed or now)).total_seconds()
            forgotten = traits.status == FORGOTTEN and hidden_for > retention_s
            return forgotten or (traits.expires is not None and traits.expires <= now)

        # Most memories neither expire nor are forgotten, and are not read.
        over = [record.id for record in self._all(_MAY_BE_OVER) if is_over(record)]
        if not over:
            return Erased()
        self.settle_journal()
        # One that was restored meanwhile stays.
        return self._erase(lambda: filter(is_over, self.backend.index.get(self.space, over)))

    aerase = asyncify(erase)
    aerase_where = asyncify(erase_where)
    aerase_all = asyncify(erase_all)
    asettle_journal = asyncify(settle_journal)
    apurge = asyncify(purge)


def _derived(resting: Mapping[str, _Resting], ids: set[str]) -> set[str]:
    """The memories derived from these, and those derived from them in turn."""
    made = {id_ for id_, one in resting.items() if one.derived and id_ not in ids and not ids.isdisjoint(one.others)}
    return made | _derived(resting, ids | made) if made else made
