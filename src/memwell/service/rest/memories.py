"""Handlers for conversations, memories, prompts and facts.

An operation without a handler is the method alone: its request is decoded, the method is called, its result is the answer.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput, NotFound
from memwell.history import History
from memwell.language.secrets import findings, redacted
from memwell.longterm.audit import Action, AuditProblem, AuditReport, reason_of
from memwell.longterm.base import utc_now
from memwell.longterm.changing import Erased, Forgetting, Forgotten
from memwell.longterm.facts import name_key
from memwell.longterm.journal import PendingWork
from memwell.longterm.profiles import LANGUAGES
from memwell.longterm.recall import Recalled
from memwell.messages import Message, Role
from memwell.records import Page, paged
from memwell.runtime.engine import Engine
from memwell.runtime.grants import SharedMemory
from memwell.runtime.wire import table
from memwell.runtime.wire.operations import AuditNote, data_of, messages_of
from memwell.runtime.wire.running import Done, GrantList, Job
from memwell.service.call import Call, handles, perform
from memwell.service.jobs import Report, Work, repeated
from memwell.service.openapi import MOST
from memwell.storage.protocols import ThreadInfo
from memwell.values import shown

_FACTS_COUNTED = 10_000
"""How many facts ``profiles`` reads: the cost of a request is bounded."""

# Conversations


@handles("thread")
def _thread(call: Call) -> ThreadInfo:
    info = call.run()
    if info is None:
        raise NotFound(f"there is no conversation {shown(call.path['thread'])}")
    return info


@handles("add_messages")
def _add_messages(call: Call, asked: table.AddMessages) -> table.AddedMessages:
    history = _history(call)
    stored = history.add(*messages_of(asked.messages))
    said = [one for one in stored if _is_said(one)] if asked.remember else []
    remembered = call.memory.remember(said, session=history.thread.id) if asked.remember else None
    return table.AddedMessages(messages=stored, remembered=remembered)


def _is_said(message: Message) -> bool:
    # As in remember_thread: an instruction has no speaker, and a hidden message is not recalled for models.
    return bool(message.text.strip()) and message.for_model and message.role is not Role.SYSTEM


@handles("edit_message")
def _edit_message(call: Call, asked: table.EditMessage) -> Message:
    if (asked.content is None) == (asked.message is None):
        raise InvalidInput("an edit takes either 'content' or 'message'")
    change = asked.content if asked.message is None else messages_of([asked.message])[0]
    index = call.index()
    edited = _history(call).edit(index, change or "")
    call.log(call.path["thread"], place=index)
    return edited


@handles("search_thread")
def _search_thread(call: Call, asked: Any) -> Any:
    return call.route.answer([table.FoundMessage(message=one, score=score) for one, score in call.run(asked)])


@handles("window", "rounds")
def _some_rounds(call: Call, asked: Any) -> Any:
    name = "last" if call.route.name == "rounds" else "rounds"
    if getattr(asked, name) is None and getattr(asked, "tokens", None) is None:
        info = _history(call).info()
        if info is not None and info.rounds > MOST:
            raise InvalidInput(
                f"the conversation has {info.rounds:,} rounds; say with {name!r} how many, at most {MOST:,}"
            )
    return perform(call, asked)


@handles("annotate_thread")
def _annotate_thread(call: Call, asked: table.AnnotateThread) -> ThreadInfo:
    if asked.metadata is None and not asked.end_round:
        raise InvalidInput("there is nothing to note: give 'metadata', 'end_round' or both")
    history = _history(call)
    info = history.log.annotate(history.thread, metadata=asked.metadata, end_round=asked.end_round)
    call.log(history.thread.id)
    return info


def _history(call: Call) -> History:
    return call.memory.thread(call.path["thread"])


# Memories


@handles("recall", "look_up", "recall_media", "like_media")
def _recall(call: Call, asked: Any) -> Any:
    """What is found, with the reasons of each hit in words, and the places of passages."""
    language, query = getattr(asked, "language", "en"), asked.query if call.route.name == "recall" else ""
    if language not in LANGUAGES:
        raise InvalidInput(f"a language is one of {', '.join(LANGUAGES)}, not {shown(language)}")
    found = call.run(asked)
    more: dict[str, Any] = {"why": [one.why(query=query, language=language) for one in found]}
    if call.route.name == "look_up":
        more["places"] = [one.citation.in_words(language) for one in found]
    return call.route.gives(**{call.route.field: found}, **more)


@handles("memories")
def _memories(call: Call, asked: Any) -> Page[Recalled]:
    memory = call.memory_of(asked.owner)
    if not isinstance(memory, SharedMemory):
        return call.run(asked)
    if asked.forgotten:
        raise InvalidInput("only the owner of a memory lists what was forgotten")
    where = None if asked.where is None else data_of(asked.where)
    return memory.page(where=where, limit=asked.limit, cursor=asked.cursor, newest_first=asked.newest_first)


@handles("forget_by")
def _forget_by(call: Call, asked: table.ForgetBy) -> Forgotten:
    if asked == table.ForgetBy(dry_run=asked.dry_run):
        raise InvalidInput("a policy needs at least one condition, or it would forget everything")
    policy = Forgetting(
        importance_below=asked.importance_below,
        older_than=None if asked.older_than_days is None else timedelta(days=asked.older_than_days),
        unused=asked.unused,
        kinds=asked.kinds,
        where=asked.where,
        most=asked.most,
    )
    done = call.memory.forget_by(policy, dry_run=asked.dry_run)
    if not done.dry_run:
        call.note(table.noted_ids(done.ids))
    return done


@handles("erase")
def _erase(call: Call, asked: table.Erase) -> Erased:
    if (asked.ids is not None) + (asked.where is not None) + asked.everything != 1:
        raise InvalidInput("erase takes exactly one of 'ids', 'where' and 'everything'")
    if asked.ids is not None:
        how, erased = "ids", call.memory.erase(asked.ids)
    elif asked.where is not None:
        how, erased = "where", call.memory.erase_where(asked.where)
    else:
        how, erased = "everything", call.memory.erase_all()
    if erased.total or asked.everything:
        counts = {"how": how, "memories": erased.memories, "total": erased.total}
        call.note(AuditNote((asked.ids or ())[: table.MOST_LOGGED], counts))
    return erased


# Pending work, audits and repairs


@handles("pending")
def _pending(call: Call) -> PendingWork:
    own, documents = call.run(), 0
    # A space may be too deep for documents.
    with suppress(InvalidInput):
        documents = call.memory.knowledge.pending().vectors
    return PendingWork(own.words, own.vectors + documents)


@handles("flush", "audit")
def _start_job(call: Call) -> Job:
    return call.service.jobs.repeat(call.memory, call.route.name, {})


# Its name before, which a job that waits since then has.
@repeated("settle", dict)
@repeated("flush", dict)
def _flush(memory: Engine, asked: object) -> Work:
    def work(report: Report) -> dict[str, Any]:
        memory.flush(report.stage("flush"))
        return cast("dict[str, Any]", msgspec.to_builtins(memory.pending()))

    return work


@repeated("audit", dict)
def _audit(memory: Engine, asked: object) -> Work:
    def work(report: Report) -> dict[str, Any]:
        return audited(memory.audit(progress=lambda done: report("audit", done, None)))

    return work


def audited(found: AuditReport) -> dict[str, Any]:
    """A report as the result of a job: at most 1,000 problems, the plan for those, and the counts of all.

    It has no text of a memory: a result is kept for days, and a text that is erased meanwhile must not be in it.
    """
    listed = AuditReport(found.records, tuple(map(_without_texts, found.problems[:MOST])))
    fields = {"records": listed.records, "problems": listed.problems, "plan": listed.plan}
    more = {"counts": found.counts, "left_out": len(found.problems) - len(listed.problems)}
    return cast("dict[str, Any]", msgspec.to_builtins({**fields, **more}))


def _without_texts(problem: AuditProblem) -> AuditProblem:
    details, action = problem.details, replace(problem.action, text="")
    if problem.code == "facts":
        # The facts in words are those of ``conflicts``.
        details = {"other": problem.record, "kept": ", ".join(action.others)}
        action = replace(action, reason=reason_of(problem.code, details, "en"))
    return replace(problem, example="", details=details, action=action)


@handles("repair")
def _repair(call: Call, asked: Any) -> Done:
    done = call.run(asked, actions=[_with_text(call.memory, action) for action in asked.actions])
    if done:
        call.log(*[action.record for action in asked.actions[: table.MOST_LOGGED]], done=done)
    return Done(done=done)


def _with_text(memory: Engine, action: Action) -> Action:
    """The step with its redacted text, which the result of an audit does not have."""
    if action.verb != "redact" or action.text:
        return action
    try:
        text = memory.get(action.record).text
    except NotFound:
        # It was forgotten since, and needs no repair.
        return action
    return replace(action, text=redacted(text, [one for one in findings(text) if one.secret]))


# Prompts, facts and grants


@handles("context")
def _context(call: Call, asked: Any) -> table.BuiltPrompt:
    found = call.memory.knowledge.recall(asked.query, limit=asked.look_up) if asked.look_up else []
    made = call.run(asked, documents=[*asked.documents, *found])
    return table.BuiltPrompt(
        messages=made.messages, tokens=made.tokens, budget=made.budget, receipt=made.receipt, openai=made.openai()
    )


@handles("receipts")
def _receipts(call: Call, asked: table.ListReceipts) -> Any:
    kept = call.memory.receipts
    wanted = kept.all() if asked.memory is None else kept.of_memory(asked.memory)
    return call.route.answer(list(islice(wanted, asked.limit)))


@handles("profiles")
def _profiles(call: Call) -> Any:
    moment, facts = utc_now(), call.memory.facts
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for fact in islice(paged(lambda cursor: facts.all(limit=MOST, cursor=cursor)), _FACTS_COUNTED):
        if fact.retired_at is None and fact.holds_at(moment):
            key = name_key(fact.subject)
            counts[key] += 1
            spelt.setdefault(key, fact.subject)
    ranked = sorted(counts, key=lambda key: (-counts[key], key))[:MOST]
    return call.route.answer([table.KnownSubject(name=spelt[key], facts=counts[key]) for key in ranked])


@handles("grants")
def _grants(call: Call) -> GrantList:
    return GrantList(given=call.memory.grants(), received=call.memory.shared_with_me())
