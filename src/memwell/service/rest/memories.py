"""Memories over REST: remembered, recalled, changed, forgotten, erased, audited and mended."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput, NotFound
from memwell.filters import FilterLike
from memwell.language.secrets import findings, redacted
from memwell.longterm.audit import Action, Problem, reason_of
from memwell.longterm.audit import Report as AuditReport
from memwell.longterm.changing import Forgetting, Forgotten
from memwell.longterm.consolidation import Compression
from memwell.longterm.erasing import Erased
from memwell.longterm.journal import Owed
from memwell.longterm.profiles import LANGUAGES
from memwell.longterm.recall import Recalled
from memwell.longterm.remembering import Rememberable, Remembered
from memwell.longterm.weights import Weights
from memwell.records import Page
from memwell.runtime.engine import Engine
from memwell.runtime.grants import SharedMemory
from memwell.runtime.wire import memories
from memwell.runtime.wire.codec import decode
from memwell.runtime.wire.running import Done, Job
from memwell.runtime.wire.threads import Counted
from memwell.service.call import Call, handles
from memwell.service.job_work import Work, repeated
from memwell.service.jobs import Report
from memwell.service.rest.threads import MOST, bounded, messages_of
from memwell.values import shown

_LOGGED = 100
"""How many ids one entry of the log names; of more it tells the number."""

_LONGEST_DAYS = 366_000
"""A thousand years: more than any memory is old, and a number that a clock can still reckon with."""


def filter_of(where: str | None) -> FilterLike | None:
    """The filter that JSON in an address says. Raises ``InvalidInput`` when it is no JSON object."""
    return None if where is None else decode(where.encode(errors="surrogatepass"), dict[str, Any])


def check_language(language: str) -> str:
    """The language, when reasons are told in it. Raises ``InvalidInput``, also where there is nothing to tell."""
    if language not in LANGUAGES:
        raise InvalidInput(f"a language is one of {', '.join(LANGUAGES)}, not {shown(language)}")
    return language


# In and out


@handles("remember")
def remember(call: Call, asked: memories.Remember) -> Remembered:
    """Store texts or messages, in the key's own memory or in one that was shared for writing."""
    memory = call.memory_of(asked.owner)
    return memory.remember(
        _content(asked.content),
        speaker=asked.speaker,
        session=asked.session,
        time=asked.time,
        kind=asked.kind,
        metadata=asked.metadata,
        importance=asked.importance,
        ttl=asked.ttl,
        pinned=asked.pinned,
        trust=asked.trust,
        evidence=asked.evidence,
        id=asked.id,
    )


def _content(given: str | dict[str, Any] | list[str | dict[str, Any]]) -> Rememberable:
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        return messages_of([given])[0]
    bounded(len(given), "the number of things to remember", least=0)
    read = iter(messages_of([one for one in given if not isinstance(one, str)]))
    return [one if isinstance(one, str) else next(read) for one in given]


@handles("recall")
def recall(call: Call, asked: memories.Recall) -> memories.Recollection:
    """The memories that answer a question, each with its reasons in words."""
    language = check_language(asked.language)
    hits = call.memory_of(asked.owner).recall(
        asked.query,
        limit=bounded(asked.limit, "limit"),
        kinds=asked.kinds,
        speaker=asked.speaker,
        session=asked.session,
        since=asked.since,
        until=asked.until,
        where=asked.where,
        as_of=asked.as_of,
        now=asked.now,
        weights=_weights(asked.weights),
        diversity=asked.diversity,
    )
    return memories.Recollection(hits=hits, why=[hit.why(query=asked.query, language=language) for hit in hits])


def _weights(given: memories.WeightsGiven | None) -> Weights | None:
    return None if given is None else Weights(given.curves, given.decay, given.note)


@handles("similarities")
def similarities(call: Call, asked: memories.Similarities) -> memories.Nearness:
    """How near memories are to a query in meaning."""
    _check_ids(asked.ids)
    return memories.Nearness(similarities=call.memory.similarities(asked.query, asked.ids))


@handles("memories")
def list_memories(call: Call, asked: memories.ListMemories) -> Page[Recalled]:
    """One page of the memories. What the owner of a shared one has forgotten is not told."""
    limit, where = bounded(asked.limit, "limit"), filter_of(asked.where)
    memory = call.memory_of(asked.owner)
    if isinstance(memory, SharedMemory):
        if asked.forgotten:
            raise InvalidInput("what was forgotten is told to the owner of a memory alone")
        return memory.page(where=where, limit=limit, cursor=asked.cursor, newest_first=asked.newest_first)
    return memory.page(
        where=where,
        limit=limit,
        cursor=asked.cursor,
        newest_first=asked.newest_first,
        forgotten=asked.forgotten,
    )


@handles("memory")
def memory(call: Call, asked: memories.OwnerOnly) -> Recalled:
    """One memory. Raises ``NotFound``."""
    return call.memory_of(asked.owner).get(call.path["id"])


@handles("count")
def count(call: Call, asked: memories.OwnerOnly) -> Counted:
    """How many memories may be recalled. It reads all of them."""
    return Counted(count=call.memory_of(asked.owner).count())


@handles("versions")
def versions(call: Call) -> memories.Versions:
    """What a memory was before."""
    return memories.Versions(versions=call.memory.history(call.path["id"]))


@handles("worth")
def worth(call: Call) -> memories.Worth:
    """What a memory has shown to be worth."""
    return memories.Worth(worth=call.memory.evaluate(call.path["id"]))


# Changing what can be changed back


@handles("update")
def update(call: Call, asked: memories.UpdateMemory) -> Recalled:
    """Change a memory; what is left out stays."""
    changed = call.memory.update(
        call.path["id"],
        asked.text,
        metadata=asked.metadata,
        time=asked.time,
        kind=asked.kind,
        importance=asked.importance,
        evidence=asked.evidence,
        trust=asked.trust,
        reason=asked.reason,
    )
    call.log(changed.id)
    return changed


@handles("undo")
def undo(call: Call) -> Recalled:
    """Take the last change of a memory back."""
    restored = call.memory.undo(call.path["id"])
    call.log(restored.id)
    return restored


@handles("pin")
def pin(call: Call, asked: memories.Pin) -> Recalled:
    """Keep a memory from every policy, or stop keeping it."""
    return call.memory.pin(call.path["id"], pinned=asked.pinned)


@handles("feedback")
def feedback(call: Call, asked: memories.Feedback) -> Recalled:
    """Say whether a memory was of use."""
    return call.memory.feedback(call.path["id"], useful=asked.useful)


@handles("forget_one")
def forget_one(call: Call) -> memories.Ids:
    """Forget one memory; ``undo`` brings it back."""
    return _forgotten(call, call.memory.forget(call.path["id"]))


@handles("forget")
def forget(call: Call, asked: memories.Forget) -> memories.Ids:
    """Forget memories, all or none of them."""
    return _forgotten(call, call.memory.forget(_check_ids(asked.ids), reason=asked.reason))


def _forgotten(call: Call, ids: list[str]) -> memories.Ids:
    _log_ids(call, ids)
    return memories.Ids(ids=ids)


@handles("forget_by")
def forget_by(call: Call, asked: memories.ForgetBy) -> Forgotten:
    """Forget what a policy names, or tell what it would forget. A policy without any condition is refused."""
    if asked == memories.ForgetBy(dry_run=asked.dry_run):
        raise InvalidInput("a policy needs at least one condition, or it would forget everything")
    policy = Forgetting(
        importance_below=asked.importance_below,
        older_than=_days(asked.older_than_days),
        unused=asked.unused,
        kinds=asked.kinds,
        where=asked.where,
        most=asked.most,
    )
    done = call.memory.forget_by(policy, dry_run=asked.dry_run)
    if not done.dry_run:
        _log_ids(call, done.ids)
    return done


def _days(given: float | None) -> timedelta | None:
    if given is None:
        return None
    if not 0 <= given <= _LONGEST_DAYS:
        raise InvalidInput(f"older_than_days must be from 0 to {_LONGEST_DAYS:,}, not {shown(given)}")
    return timedelta(days=given)


@handles("compress")
def compress(call: Call, asked: memories.Compress) -> Compression:
    """Merge memories that say nearly the same, or tell which it would merge. It reads all of them."""
    done = call.memory.compress(threshold=asked.threshold, where=asked.where, dry_run=asked.dry_run)
    if not done.dry_run:
        _log_ids(call, [merge.kept for merge in done.merges])
    return done


@handles("merge")
def merge(call: Call, asked: memories.MergeMemories) -> Recalled:
    """Let one memory stand for others."""
    kept = call.memory.merge(asked.kept, _check_ids(asked.others))
    _log_ids(call, [kept.id, *asked.others])
    return kept


@handles("reflect")
def reflect(call: Call, asked: memories.Reflect) -> memories.Memories:
    """Remember what many memories show together. It reads all of them."""
    made = call.memory.reflect(
        least=bounded(asked.least, "least"),
        most=bounded(asked.most, "most"),
        where=asked.where,
        metadata=asked.metadata,
    )
    _log_ids(call, [one.id for one in made])
    return memories.Memories(memories=made)


# For good


@handles("erase")
def erase(call: Call, asked: memories.Erase) -> Erased:
    """Remove memories for good: by id, by a filter, or all of them. Raises ``InvalidInput`` unless it is one of these."""
    if (asked.ids is not None) + (asked.where is not None) + asked.everything != 1:
        raise InvalidInput("erase takes exactly one of 'ids', 'where' and 'everything'")
    if asked.ids is not None:
        erased = call.memory.erase(_check_ids(asked.ids))
    elif asked.where is not None:
        erased = call.memory.erase_where(asked.where)
    else:
        erased = call.memory.erase_all()
    if erased.total or asked.everything:
        how = "ids" if asked.ids is not None else "where" if asked.where is not None else "everything"
        call.log(*(asked.ids or ())[:_LOGGED], how=how, memories=erased.memories, total=erased.total)
        # An export or a result may hold the words of what is gone.
        call.service.jobs.drop_results(call.space)
    return erased


# What is owed, and what is wrong


@handles("owed")
def owed(call: Call) -> Owed:
    """What is stored and still lacks its words or vectors, documents too."""
    own, documents = call.memory.owed(), 0
    # A space may lie too deep for documents.
    with suppress(InvalidInput):
        documents = call.memory.knowledge.owed().vectors
    return Owed(own.words, own.vectors + documents)


@handles("failures")
def failures(call: Call) -> memories.Ids:
    """The memories that the embedder cannot take, at most 1,000 of them."""
    return memories.Ids(ids=call.memory.failures())


@handles("settle")
def settle(call: Call) -> Job:
    """Do the work that is owed, as a job."""
    return call.service.jobs.repeat(call.memory, "settle", {})


@repeated("settle", dict)
def _settle(memory: Engine, asked: object) -> Work:
    def work(report: Report) -> dict[str, Any]:
        memory.settle(report.stage("settle"))
        return cast("dict[str, Any]", msgspec.to_builtins(memory.owed()))

    return work


@handles("audit")
def audit(call: Call) -> Job:
    """Look the whole memory over, as a job."""
    return call.service.jobs.repeat(call.memory, "audit", {})


@repeated("audit", dict)
def _audit(memory: Engine, asked: object) -> Work:
    def work(report: Report) -> dict[str, Any]:
        return audited(memory.audit(progress=lambda done: report("audit", done, None)))

    return work


def audited(found: AuditReport) -> dict[str, Any]:
    """A report as the result of a job: at most 1,000 problems, the plan for those, and how many there are of each kind.

    It holds no text of a memory: a result is kept for days, and what is erased meanwhile must not be read there.
    """
    told = AuditReport(found.records, tuple(map(_without_texts, found.problems[:MOST])))
    fields = {"records": told.records, "problems": told.problems, "plan": told.plan}
    more = {"counts": found.counts, "left_out": len(found.problems) - len(told.problems)}
    return cast("dict[str, Any]", msgspec.to_builtins({**fields, **more}))


def _without_texts(problem: Problem) -> Problem:
    details, action = problem.details, replace(problem.action, text="")
    if problem.code == "facts":
        # The facts in words; whoever wants those asks for the conflicts.
        details = {"other": problem.record, "kept": ", ".join(action.others)}
        action = replace(action, reason=reason_of(problem.code, details, "en"))
    return replace(problem, example="", details=details, action=action)


@handles("mend")
def mend(call: Call, asked: memories.Mend) -> Done:
    """Carry out steps of an audit's plan. Raises ``InvalidInput`` for a step that is about another space."""
    bounded(len(asked.actions), "the number of actions", least=0)
    for action in asked.actions:
        if action.space != call.space:
            raise InvalidInput(f"the plan is for {action.space!r}, not for the space of this key")
    done = call.memory.mend([_with_text(call.memory, action) for action in asked.actions])
    if done:
        call.log(*[action.record for action in asked.actions[:_LOGGED]], done=done)
    return Done(done=done)


def _with_text(memory: Engine, action: Action) -> Action:
    """A step with the text that is to take the place of one with secrets, which the result of an audit does not hold."""
    if action.verb != "redact" or action.text:
        return action
    try:
        text = memory.get(action.record).text
    except NotFound:
        # It was forgotten since, and needs no mending.
        return action
    return replace(action, text=redacted(text, [one for one in findings(text) if one.secret]))


def _check_ids(ids: list[str]) -> list[str]:
    bounded(len(ids), "the number of ids", least=0)
    return ids


def _log_ids(call: Call, ids: Sequence[str]) -> None:
    """Note what was done to memories; nothing when it was done to none."""
    if ids:
        call.log(*ids[:_LOGGED], memories=len(ids))


__all__ = ["audited", "check_language", "filter_of"]
