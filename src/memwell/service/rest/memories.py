"""Conversations, memories, prompts and facts over REST: what is done beyond calling the method of the engine.

An operation without a handler is the method alone: its request is read, the method is called, its result is the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
from memwell.longterm.facts import Fact, Facts, name_key
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
from memwell.service.fields import MOST
from memwell.service.jobs import Report, Work, repeated
from memwell.storage.protocols import ThreadInfo
from memwell.values import shown

_LOGGED = 100
"""How many ids one entry of the log names; of more it tells the number."""

_FACTS_COUNTED = 10_000
"""How many facts are read to tell whom something is known of: what a request costs does not grow beyond that."""

# Conversations


@handles("thread")
def thread(call: Call) -> ThreadInfo:
    """An answer is no None: a conversation that has not begun is not found."""
    info = call.run()
    if info is None:
        raise NotFound(f"there is no conversation {shown(call.path['thread'])}")
    return info


@handles("add_messages")
def add_messages(call: Call, asked: table.AddMessages) -> table.AddedMessages:
    """Messages are stored first, and remembered after that."""
    history = _history(call)
    stored = history.add(*messages_of(asked.messages))
    said = [one for one in stored if _is_said(one)] if asked.remember else []
    remembered = call.memory.remember(said, session=history.thread.id) if asked.remember else None
    return table.AddedMessages(messages=stored, remembered=remembered)


def _is_said(message: Message) -> bool:
    # As for remember_thread: instructions are not said by a speaker, and what is hidden is not recalled for models.
    return bool(message.text.strip()) and message.for_model and message.role is not Role.SYSTEM


@handles("edit_message")
def edit_message(call: Call, asked: table.EditMessage) -> Message:
    """Either words or a whole message. Raises ``InvalidInput`` for both and for neither."""
    if (asked.content is None) == (asked.message is None):
        raise InvalidInput("an edit takes either 'content' or 'message'")
    change = asked.content if asked.message is None else messages_of([asked.message])[0]
    place = call.place()
    edited = _history(call).edit(place, change or "")
    call.log(call.path["thread"], place=place)
    return edited


@handles("search_thread")
def search_thread(call: Call, asked: Any) -> Any:
    """A pair of the engine has names on the wire."""
    return call.route.answer([table.FoundMessage(message=one, score=score) for one, score in call.run(asked)])


@handles("window", "rounds")
def some_rounds(call: Call, asked: Any) -> Any:
    """Raises ``InvalidInput`` for more rounds than one answer holds, be they asked for by leaving the number out."""
    name = "last" if call.route.name == "rounds" else "rounds"
    if getattr(asked, name) is None and getattr(asked, "tokens", None) is None:
        info = _history(call).info()
        if info is not None and info.rounds > MOST:
            raise InvalidInput(
                f"the conversation has {info.rounds:,} rounds; say with {name!r} how many, at most {MOST:,}"
            )
    return perform(call, asked)


@handles("annotate_thread")
def annotate_thread(call: Call, asked: table.AnnotateThread) -> ThreadInfo:
    """Metadata, the end of a round, or both."""
    if asked.metadata is None and not asked.end_round:
        raise InvalidInput("there is nothing to note: give 'metadata', 'end_round' or both")
    history = _history(call)
    info = history.log.annotate(history.thread, metadata=asked.metadata, end_round=asked.end_round)
    call.log(history.thread.id)
    return info


def _history(call: Call) -> History:
    return call.memory.thread(call.path["thread"])


# Memories


def check_language(language: str) -> str:
    """The language of the reasons. Raises ``InvalidInput`` for an unknown one, also where there are no reasons."""
    if language not in LANGUAGES:
        raise InvalidInput(f"a language is one of {', '.join(LANGUAGES)}, not {shown(language)}")
    return language


@handles("recall")
def recall(call: Call, asked: Any) -> table.Recollection:
    """Each memory comes with its reasons in words."""
    language = check_language(asked.language)
    hits = call.run(asked)
    return table.Recollection(hits=hits, why=[hit.why(query=asked.query, language=language) for hit in hits])


@handles("memories")
def list_memories(call: Call, asked: Any) -> Page[Recalled]:
    """Only the owner of a shared memory lists what was forgotten."""
    memory = call.memory_of(asked.owner)
    if not isinstance(memory, SharedMemory):
        return call.run(asked)
    if asked.forgotten:
        raise InvalidInput("what was forgotten is told to the owner of a memory alone")
    where = None if asked.where is None else data_of(asked.where)
    return memory.page(where=where, limit=asked.limit, cursor=asked.cursor, newest_first=asked.newest_first)


@handles("forget_by")
def forget_by(call: Call, asked: table.ForgetBy) -> Forgotten:
    """A policy without any condition would forget everything, and is refused."""
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
def erase(call: Call, asked: table.Erase) -> Erased:
    """By id, by a filter, or all of them. Raises ``InvalidInput`` unless it is one of these."""
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
        call.note(AuditNote((asked.ids or ())[:_LOGGED], counts))
    return erased


# What is pending, and what is wrong


@handles("owed")
def owed(call: Call) -> PendingWork:
    """Documents count too."""
    own, documents = call.run(), 0
    # A space may lie too deep for documents.
    with suppress(InvalidInput):
        documents = call.memory.knowledge.pending().vectors
    return PendingWork(own.words, own.vectors + documents)


@handles("settle")
def settle(call: Call) -> Job:
    """The work that is pending, as a job."""
    return call.service.jobs.repeat(call.memory, "settle", {})


@repeated("settle", dict)
def _settle(memory: Engine, asked: object) -> Work:
    def work(report: Report) -> dict[str, Any]:
        memory.flush(report.stage("settle"))
        return cast("dict[str, Any]", msgspec.to_builtins(memory.pending()))

    return work


@handles("audit")
def audit(call: Call) -> Job:
    """An audit, as a job."""
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


@handles("mend")
def mend(call: Call, asked: Any) -> Done:
    """Steps of the key's own space alone. Raises ``InvalidInput`` for a step that is about another."""
    for action in asked.actions:
        if action.space != call.space:
            raise InvalidInput(f"the plan is for {action.space!r}, not for the space of this key")
    done = call.run(asked, actions=[_with_text(call.memory, action) for action in asked.actions])
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


# Prompts, facts and grants


@handles("context")
def context(call: Call, asked: Any) -> table.BuiltPrompt:
    """With ``look_up`` the documents are searched as well."""
    found = call.memory.knowledge.recall(asked.query, limit=asked.look_up) if asked.look_up else []
    made = call.run(asked, documents=[*asked.documents, *found])
    return table.BuiltPrompt(
        messages=made.messages, tokens=made.tokens, budget=made.budget, receipt=made.receipt, openai=made.openai()
    )


@handles("receipts")
def receipts(call: Call, asked: table.ListReceipts) -> Any:
    """All of them, or those of one memory."""
    kept = call.memory.receipts
    wanted = kept.all() if asked.memory is None else kept.of_memory(asked.memory)
    return call.route.answer(list(islice(wanted, asked.limit)))


@handles("profiles")
def profiles(call: Call) -> Any:
    """Names are counted however they are written."""
    moment = utc_now()
    held = (fact for fact in _first(call.memory.facts) if fact.retired_at is None and fact.holds_at(moment))
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for fact in held:
        key = name_key(fact.subject)
        counts[key] += 1
        spelt.setdefault(key, fact.subject)
    ranked = sorted(counts, key=lambda key: (-counts[key], key))[:MOST]
    return call.route.answer([table.KnownSubject(name=spelt[key], facts=counts[key]) for key in ranked])


def _first(facts: Facts) -> Iterator[Fact]:
    return islice(paged(lambda cursor: facts.all(limit=MOST, cursor=cursor)), _FACTS_COUNTED)


@handles("grants")
def grants(call: Call) -> GrantList:
    """In both directions."""
    return GrantList(given=call.memory.grants(), received=call.memory.shared_with_me())
