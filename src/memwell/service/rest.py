"""Handlers of the operations that do more than call a method of the engine. Importing this module registers them.

An operation without a handler is the method alone: its request is decoded, the method is called, its result is the answer.
The body of an upload is the file; its description is in the query. Files and web pages are read as jobs.
"""

from __future__ import annotations

import re
import socket
import unicodedata
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell._package import VERSION
from memwell.errors import AccessDenied, Busy, FileError, InvalidInput, NotFound, UnreadableDocument
from memwell.filters import as_filter
from memwell.history import History
from memwell.history.media import HEAD, types_of
from memwell.knowledge.documents import Document
from memwell.knowledge.handle import MOST_BYTES, Knowledge
from memwell.knowledge.ingest import URL, Ingested, document_id
from memwell.knowledge.reading import kind_of, read_document
from memwell.knowledge.reading.web import checked_address, is_public
from memwell.knowledge.shelf import checked_metadata
from memwell.language.secrets import findings, redacted
from memwell.longterm.audit import Action, AuditProblem, AuditReport, Repaired, reason_of
from memwell.longterm.base import utc_now
from memwell.longterm.changing import Erased, Forgetting
from memwell.longterm.journal import PendingWork
from memwell.longterm.media import MediaItem
from memwell.longterm.profiles import LANGUAGES
from memwell.longterm.recall import Recalled
from memwell.longterm.statements import name_key
from memwell.messages import Message
from memwell.records import Page, Space, paged, space_named
from memwell.runtime.engine import Engine, is_said
from memwell.runtime.grants import SharedMemory
from memwell.runtime.metrics import exposition, figures_of
from memwell.runtime.transfer import FORMATS, Imported, detect
from memwell.runtime.wire import codec, table
from memwell.runtime.wire.codec import ServiceFigures, decode
from memwell.runtime.wire.operations import ADMIN, AuditNote, data_of, extended, messages_of, place_of
from memwell.runtime.wire.table import AddMedium, FetchDocument, GrantList, Job, UploadDocument
from memwell.service.call import Call, File, handles, perform
from memwell.service.jobs import Made, Report, Work, repeated
from memwell.service.keys import SPACES, owner_of
from memwell.service.openapi import MOST
from memwell.storage.protocols import Backend, ThreadInfo
from memwell.transcript.openai import to_openai
from memwell.values import STRANGE, check_text, shown

_LONGEST_DAYS = 366_000
_SPACES_AT_ONCE = 500
"""The longest life of a key: a thousand years."""


@handles("me")
def _me(call: Call) -> codec.Me:
    embedder, chat = call.memory.embedder, call.memory.chat
    return codec.Me(
        key=call.key,
        version=VERSION,
        embedder="" if embedder is None else embedder.name,
        chat="" if chat is None else chat.name,
        language=call.service.settings.language,
    )


@handles("figures")
def _figures(call: Call, asked: codec.AskFigures) -> ServiceFigures:
    service = call.service
    more: dict[str, Any] = {}
    if asked.whole:
        # Activity of other spaces, and costs, are for the operator only.
        call.allow(ADMIN)
        more.update(whole=True, jobs=service.jobs.busy, ledger=service.ledger)
    return figures_of(service.metrics, call.memory, span=asked.span, **more)


@handles("metrics")
def _metrics(call: Call) -> File:
    service = call.service
    text, media_type = exposition(
        service.metrics, service.engine, version=VERSION, jobs=service.jobs.busy, ledger=service.ledger
    )
    return File(content=text, media_type=media_type)


# Keys


@handles("keys")
def _keys(call: Call, asked: codec.ListKeys) -> Page[codec.Key]:
    space = None if asked.space is None else space_named(asked.space)
    return call.service.keys.page(space, limit=asked.limit, cursor=asked.cursor)


@handles("spaces")
def _spaces(call: Call, asked: codec.ListSpaces) -> Page[codec.SpaceCounts]:
    if not {"admin", SPACES}.intersection(call.scopes):
        call.allow(SPACES)
    backend, below = call.service.backend, Space(*call.space) if "admin" not in call.scopes else ()
    found, more = dict[Space, None](), ""
    for space in _stored_below(backend, below, asked.cursor):
        owner = owner_of(space)
        # What memwell keeps for a space comes before the space itself, so it may have been on an earlier page.
        if owner is None or owner in found or (space == owner and _has_inner(backend, owner)):
            continue
        if len(found) == asked.limit:
            return Page(_counted(backend, found), more)
        found[owner] = None
        # The last of what memwell keeps for it.
        more = owner.encoded() if space == owner else Space(*owner, "memwell").encoded()
    return Page(_counted(backend, found))


def _stored_below(backend: Backend, below: Sequence[str], cursor: str | None) -> Iterator[Space]:
    """The spaces of a store below one, by their encoded paths. Raises ``InvalidInput`` for a foreign cursor."""
    # The encoded paths of the spaces below begin with that of the upper one, but for its last character.
    after = cursor or (Space(*below).encoded()[:-1] if below else None)
    if cursor is not None and _decoded(cursor)[: len(below)] != below:
        raise InvalidInput(f"{shown(cursor)} is no cursor of this list")
    while True:
        page = backend.spaces(limit=_SPACES_AT_ONCE, cursor=after)
        for space in page.items:
            if space[: len(below)] != below:
                return
            yield space
        after = page.next
        if after is None:
            return


def _decoded(cursor: str) -> Sequence[str]:
    try:
        return Space.decode(cursor)
    except (msgspec.MsgspecError, InvalidInput, UnicodeError):
        raise InvalidInput(f"{shown(cursor)} is no cursor of this list") from None


def _has_inner(backend: Backend, space: Space) -> bool:
    """Whether memwell keeps something for a space below it."""
    found = backend.spaces(limit=1, cursor=f'{space.encoded()[:-1]},"memwell"').items
    return bool(found) and found[0][: len(space) + 1] == (*space, "memwell")


def _counted(backend: Backend, spaces: Iterable[Space]) -> list[codec.SpaceCounts]:
    found = [(space, backend.index.info(space)) for space in spaces]
    return [codec.SpaceCounts(space=space, memories=one.records, vectors=one.vectors) for space, one in found]


@handles("create_key")
def _create_key(call: Call, asked: codec.CreateKey) -> codec.NewKey:
    expires, space = _in_days(asked.expires_days), Space(*asked.space)
    made, token = call.service.keys.create(
        asked.name, space=space, scopes=asked.scopes, expires=expires, rate=asked.rate
    )
    call.log(made.id, made.space.encoded(), scopes=" ".join(made.scopes))
    return codec.NewKey(key=made, token=token)


def _in_days(days: float | None) -> datetime | None:
    if days is None:
        return None
    if not 0 < days <= _LONGEST_DAYS:
        raise InvalidInput(f"expires_days must be above 0 and at most {_LONGEST_DAYS:,}, not {shown(days)}")
    return utc_now() + timedelta(days=days)


@handles("rotate_key")
def _rotate_key(call: Call, asked: codec.RotateKey) -> codec.NewKey:
    rotated, token = call.service.keys.rotate(call.path["id"], grace=timedelta(minutes=asked.grace_minutes))
    call.log(rotated.id, grace_s=round(asked.grace_minutes * 60))
    return codec.NewKey(key=rotated, token=token)


@handles("revoke_key")
def _revoke_key(call: Call) -> codec.Key:
    revoked = call.service.keys.revoke(call.path["id"])
    call.log(revoked.id)
    return revoked


@handles("sign_in")
def _sign_in(call: Call, asked: codec.SignIn) -> codec.SignedIn:
    link = call.service.link
    if link is None:
        raise AccessDenied(
            "this service has no link; where the store is, memwell keys create NAME --as operator makes a key"
        )
    return codec.SignedIn(token=link.redeem(asked.code))


# The audit log, and health, which needs no key and says nothing of what is stored


@handles("log")
def _log(call: Call, asked: codec.ListLog) -> Page[codec.LogEntry]:
    return call.service.log.entries(limit=asked.limit, cursor=asked.cursor)


@handles("verify_log")
def _verify_log(call: Call) -> codec.Verified:
    return call.service.log.verify()


@handles("live")
def _live(call: Call) -> codec.Health:
    return codec.Health(status="ok", version=VERSION)


@handles("ready")
def _ready(call: Call) -> codec.Health:
    # While it stops, the application refuses every request but ``live``.
    call.service.readiness.check()
    if call.service.models == "loading":
        raise Busy("the models are being loaded", code="loading", retry_after=2)
    return codec.Health(status="ok", version=VERSION, checks={"store": "ok", "models": call.service.models})


# Uploads

_ENDINGS = {"jsonl": ".jsonl", "markdown": ".md"}
_MEDIA_TYPES = {".jsonl": "application/jsonl", ".md": "text/markdown; charset=utf-8", ".json": "application/json"}
_LONGEST_LABEL = 255
_LONGEST_FILE_NAME = 100
_DRIVE = re.compile("[A-Za-z]:")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


def label_of(name: str) -> str:
    """The name of an uploaded file: the last part of a path, in NFC.

    Raises ``InvalidInput`` when it is empty, over 255 characters long, or has control characters.
    """
    if STRANGE.search(name):
        raise InvalidInput(f"the name of a file must not hold control characters: {shown(name)}")
    label = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    label = (label[2:] if _DRIVE.match(label) else label).strip()
    if not label.strip(". "):
        raise InvalidInput(f"{shown(name)} is no name of a file")
    if len(label) > _LONGEST_LABEL:
        raise InvalidInput(f"the name of a file is at most {_LONGEST_LABEL} characters: {shown(label)}")
    return label


@contextmanager
def taken_upload(call: Call, name: str, *, unnamed: str | None = None) -> Generator[tuple[Path, str]]:
    """The uploaded file and its name, for a job. It is removed when the block raises.

    A file without a name is called ``unnamed``. Raises ``InvalidInput`` when there is no file, or its name breaks a rule.
    """
    path = call.take_upload()
    try:
        label = label_of(name) if name or unnamed is None else unnamed
        suffix = Path(label).suffix.lower()
        if _SUFFIX.fullmatch(suffix):
            # Some formats are recognised by the ending alone.
            path = path.rename(path.with_name(path.name + suffix))
        yield path, label
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@handles("export")
def _export(call: Call, asked: codec.Export) -> table.Job:
    if asked.format not in _ENDINGS:
        raise InvalidInput(f"unknown format {shown(asked.format)}; known: {', '.join(_ENDINGS)}")
    if asked.vectors and asked.format != "jsonl":
        raise InvalidInput("only jsonl holds vectors; leave 'vectors' out")
    job = call.service.jobs.repeat(call.memory, "export", asked)
    call.log(job.id, format=asked.format)
    return job


@repeated("export", codec.Export)
def _exporting(memory: Engine, asked: codec.Export) -> Work:
    ending = _ENDINGS[asked.format]

    def work(report: Report) -> Made:
        path = report.path(ending)
        count = memory.export(path, vectors=asked.vectors, progress=report.stage("writing"))
        # Letters, digits and dashes only, for a browser.
        said = re.sub(r"[^\w-]+", "-", "-".join(memory.space)).strip("-_")[:_LONGEST_FILE_NAME] or "space"
        name = f"memwell-{said}-{memory.clock():%Y-%m-%d}{ending}"
        return Made(path=path, name=name, result={"written": count})

    return work


@handles("import")
def _import(call: Call, asked: codec.Import) -> table.Job:
    memory = call.memory
    with taken_upload(call, asked.name, unnamed="the file") as (path, label), _called(label, path):
        if asked.format is not None and asked.format not in FORMATS:
            raise InvalidInput(f"unknown format {shown(asked.format)}; known: {', '.join(FORMATS)}")
        found = asked.format or detect(path)

        def work(report: Report) -> Imported:
            with _called(label, path):
                return memory.import_file(path, format=found, user=asked.user, progress=report.stage("reading"))

        job = call.service.jobs.start(call.space, "import", work, owned=path)
    call.log(job.id, format=found)
    return job


@handles("jobs")
def _jobs(call: Call) -> Page[Job]:
    return Page(call.service.jobs.all(call.space))


@handles("job")
def _job(call: Call) -> table.Job:
    return call.service.jobs.get(call.space, call.path["id"])


@handles("cancel_job")
def _cancel_job(call: Call) -> table.Job:
    found = call.service.jobs.cancel(call.space, call.path["id"])
    call.log(found.id)
    return found


@handles("job_file")
def _job_file(call: Call) -> File:
    path, name = call.service.jobs.file(call.space, call.path["id"])
    content = call.memory.backend.export_reader(path) or path
    return File(content=content, media_type=_MEDIA_TYPES.get(path.suffix, "application/octet-stream"), name=name)


@contextmanager
def _called(label: str, path: Path) -> Generator[None]:
    """Errors name the file by its label, not by its path on this machine."""
    try:
        yield
    except (InvalidInput, FileError) as error:
        kind = InvalidInput if isinstance(error, InvalidInput) else FileError
        raise kind(str(error).replace(repr(str(path)), repr(label)).replace(str(path), label)) from None


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
def _add_messages(call: Call, asked: table.AddMessages) -> table.AddedMessages | table.AddedChatMessages:
    history = _history(call)
    stored = history.add(*messages_of(asked.messages))
    remembered = None
    if asked.remember:
        remembered = call.memory.remember([one for one in stored if is_said(one)], session=history.thread.id)
    own = any("parts" in one for one in asked.messages)
    if (asked.shape or ("memwell" if own or not stored else "openai")) == "memwell":
        return table.AddedMessages(messages=stored, remembered=remembered)
    return table.AddedChatMessages(
        messages=to_openai(stored), ids=[one.id for one in stored], first=stored[0].index or 0, remembered=remembered
    )


@handles("messages")
def _messages(call: Call, asked: Any) -> Page[Any]:
    page = call.run(asked)
    return page if asked.shape == "memwell" else Page(to_openai(page.items), page.next)


@handles("edit_message")
def _edit_message(call: Call, asked: table.EditMessage) -> Message:
    if (asked.content is None) == (asked.message is None):
        raise InvalidInput("an edit takes either 'content' or 'message'")
    change = asked.content if asked.message is None else messages_of([asked.message])[0]
    index = place_of(call.path["index"])
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
    if getattr(asked, "shape", "memwell") == "openai":
        return Page(to_openai(call.run(asked)))
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
    if call.route.name == "recall" and not call.from_page:
        call.service.metrics.observe_answer(call.space, max((one.relevance for one in found), default=0.0))

    def place(one: Any) -> dict[str, str]:
        return {"place": one.citation.in_words(language)} if call.route.name == "look_up" else {}

    hit = {"recall": table.RecalledHit, "look_up": table.PassageHit}.get(call.route.name, table.MediaHit)
    return Page([extended(hit, one, why=one.why(query=query, language=language), **place(one)) for one in found])


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
def _start_forgetting(call: Call, asked: table.ForgetBy) -> Job:
    if asked == table.ForgetBy(dry_run=asked.dry_run):
        raise InvalidInput("a policy needs at least one condition, or it would forget everything")
    _policy(asked)
    if not asked.dry_run:
        call.log()
    return call.service.jobs.repeat(call.memory, call.route.name, asked)


@repeated("forget_by", table.ForgetBy)
def _forget_by(memory: Engine, asked: table.ForgetBy) -> Work:
    return lambda report: _as_result(memory.forget_by(_policy(asked), dry_run=asked.dry_run))


def _policy(asked: table.ForgetBy) -> Forgetting:
    """Raises ``InvalidInput`` for a value that breaks a rule."""
    return Forgetting(
        importance_below=asked.importance_below,
        older_than=None if asked.older_than_days is None else timedelta(days=asked.older_than_days),
        unused=asked.unused,
        kinds=asked.kinds,
        where=asked.where,
        most=asked.most,
    )


@handles("erase")
def _erase(call: Call, asked: table.Erase) -> Erased:
    erased = call.memory.erase(asked.ids, wait=asked.wait)
    if erased.total:
        counts = {"memories": erased.memories, "total": erased.total}
        call.note(AuditNote(asked.ids[: table.MOST_LOGGED], counts))
    return erased


@handles("erase_by")
def _start_erasing(call: Call, asked: table.EraseBy) -> Job:
    if (asked.where is not None) + asked.everything != 1:
        raise InvalidInput("erase-by takes exactly one of 'where' and 'everything'; erase takes ids")
    if asked.where == {}:
        raise InvalidInput("a filter that says nothing would erase everything; 'everything' is for that")
    as_filter(asked.where)
    job = call.service.jobs.repeat(call.memory, call.route.name, asked)
    call.log(job.id, how="everything" if asked.everything else "where")
    return job


@repeated("erase_by", table.EraseBy)
def _erase_by(memory: Engine, asked: table.EraseBy) -> Work:
    def work(report: Report) -> dict[str, Any]:
        if asked.where is None:
            erased = memory.erase_all(wait=asked.wait)
        else:
            erased = memory.erase_where(asked.where, wait=asked.wait)
        report.erased()
        return _as_result(erased)

    return work


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


@handles("compress", "reflect")
def _start_merging(call: Call, asked: Any) -> Job:
    call.log()
    return call.service.jobs.repeat(call.memory, call.route.name, asked)


@repeated("compress", table.OPERATIONS["compress"].takes)
def _compress(memory: Engine, asked: Any) -> Work:
    return lambda report: _as_result(table.OPERATIONS["compress"].run(memory, {}, asked))


@repeated("reflect", table.OPERATIONS["reflect"].takes)
def _reflect(memory: Engine, asked: Any) -> Work:
    # A result is kept for days: it has no text of a memory.
    return lambda report: {"ids": [one.id for one in table.OPERATIONS["reflect"].run(memory, {}, asked)]}


def _as_result(made: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", msgspec.to_builtins(made))


@repeated("flush", dict)
def _flush(memory: Engine, asked: object) -> Work:
    def work(report: Report) -> dict[str, Any]:
        memory.flush(report.stage("flush"))
        return _as_result(memory.pending())

    return work


@repeated("audit", dict)
def _audit(memory: Engine, asked: object) -> Work:
    return lambda report: audited(memory.audit(progress=lambda done: report("audit", done, None)))


def audited(found: AuditReport) -> dict[str, Any]:
    """A report as the result of a job: at most 1,000 problems, the plan for those, and the counts of all.

    It has no text of a memory: a result is kept for days, and a text that is erased meanwhile must not be in it.
    """
    listed = AuditReport(found.records, tuple(map(_without_texts, found.problems[:MOST])))
    fields = {"records": listed.records, "problems": listed.problems, "plan": listed.plan}
    more = {"counts": found.counts, "left_out": len(found.problems) - len(listed.problems)}
    return _as_result({**fields, **more})


def _without_texts(problem: AuditProblem) -> AuditProblem:
    details, action = problem.details, replace(problem.action, text="")
    if problem.code == "facts":
        # The facts in words are those of ``conflicts``.
        details = {"other": problem.record, "kept": ", ".join(action.others)}
        action = replace(action, reason=reason_of(problem.code, details, "en"))
    return replace(problem, example="", details=details, action=action)


@handles("repair")
def _repair(call: Call, asked: Any) -> Repaired:
    repaired: Repaired = call.run(asked, actions=[_with_text(call.memory, action) for action in asked.actions])
    if repaired.done:
        call.log(*[action.record for action in asked.actions[: table.MOST_LOGGED]], done=repaired.done)
    # The text of a step is that of a memory, which the answer does not have.
    return replace(repaired, skipped=tuple(replace(action, text="") for action in repaired.skipped))


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


UPLOAD = "upload"
"""The prefix of the ids of uploaded documents."""

_UNKNOWN_HOST = re.compile("the host .* is not found: ", re.DOTALL)
_NOT_PUBLIC = "the address is not on the public internet, and no other pages are fetched"


@handles("upload_document")
def _upload_document(call: Call, asked: UploadDocument) -> Job:
    with taken_upload(call, asked.name) as (path, label):
        title = check_text(asked.title, "a title")
        metadata = checked_metadata(None if asked.metadata is None else data_of(asked.metadata))
        knowledge, id_ = call.memory.knowledge, document_id(UPLOAD, label)
        _check_kind(path, label)

        def work(report: Report) -> Document:
            report("reading")
            parsed = read_document(path.read_bytes(), name=label)
            report("storing")
            kept = knowledge.add(parsed, id=id_, source=label, title=title, metadata=metadata)
            _note_pending(knowledge, report)
            return kept

        job = call.service.jobs.start(call.space, "upload_document", work, owned=path)
    call.log(id_, job.id)
    return job


@handles("fetch_document")
def _fetch_document(call: Call, asked: FetchDocument) -> Job:
    _check_address(asked.url)
    most = min(MOST_BYTES, int(call.service.settings.serve_max_upload_mb * 1e6))
    fetched = _Fetched(url=asked.url, metadata=checked_metadata(asked.metadata), most_bytes=most)
    job = call.service.jobs.repeat(call.memory, "fetch_document", fetched)
    call.log(document_id(URL, asked.url.partition("#")[0]), job.id)
    return job


class _Fetched(msgspec.Struct, frozen=True):
    """A page to fetch, as it was checked before the job began."""

    url: str
    metadata: dict[str, Any]
    most_bytes: int


@repeated("fetch_document", _Fetched)
def _fetch(memory: Engine, asked: _Fetched) -> Work:
    knowledge = memory.knowledge

    def work(report: Report) -> Ingested:
        report("fetching")
        # The page of an address is one document; it replaces the one that was fetched before.
        done = knowledge.ingest(asked.url, metadata=asked.metadata, most_bytes=asked.most_bytes, allow_private=False)
        for refused in done.refused:
            # Nothing is said of addresses of the own network, not even whether a name exists there.
            if refused.reason == "forbidden-address" or _UNKNOWN_HOST.match(refused.detail):
                raise UnreadableDocument(_NOT_PUBLIC, reason="forbidden-address")
            raise UnreadableDocument(refused.detail, reason=refused.reason)
        _note_pending(knowledge, report)
        return done

    return work


def _check_kind(path: Path, label: str) -> None:
    """Raises ``UnreadableDocument`` when the size or the first bytes show that the file is no document."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise UnreadableDocument(f"it has {size:,} bytes; at most {MOST_BYTES:,} are read", reason="too-large")
    data = path.read_bytes()
    if not data.strip():
        raise UnreadableDocument("it is empty", reason="empty")
    kind_of(data, label, None)


def _note_pending(knowledge: Knowledge, report: Report) -> None:
    """Note the pending vectors of the space: a document is found by its words before it has all of them."""
    pending = 0 if knowledge.embedder is None else knowledge.pending().vectors
    if pending:
        report.note(
            f"the document is stored and found by its words; {pending} vectors of this space are still pending, and are "
            "made while the service runs"
        )


def _check_address(url: str) -> None:
    """Raises ``UnreadableDocument`` for an address that can be refused without a DNS query."""
    host = (checked_address(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost") or _is_private_number(host):
        raise UnreadableDocument(_NOT_PUBLIC, reason="forbidden-address")


def _is_private_number(host: str) -> bool:
    """Whether a host is an IP address, in any notation, that is not on the public internet."""
    try:
        # Without the zone, as in fe80::1%eth0.
        found = socket.getaddrinfo(host.partition("%")[0], None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return not all(is_public(ip_address(one[4][0])) for one in found)


# Media

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_BYTES = "application/octet-stream"


@handles("add_medium")
def _add_medium(call: Call, asked: AddMedium) -> MediaItem:
    feeling = asked.sentiment
    return call.memory.media.add(
        None if call.upload is None else _sent(call.take_upload()),
        kind=asked.kind,
        description=asked.description,
        transcript=asked.transcript,
        features=_features(asked),
        # A number when it is written as one, or else a word.
        sentiment=float(feeling) if feeling is not None and _NUMBER.fullmatch(feeling) else feeling,
        session=asked.session,
        speaker=asked.speaker,
        name=label_of(asked.name) if asked.name else "",
        metadata=None if asked.metadata is None else data_of(asked.metadata),
        time=asked.time,
    )


@handles("medium_data")
def _medium_data(call: Call) -> File:
    item = call.memory.media.get(call.path["id"])
    data, name = call.memory.media.data(item.id), item.id
    with suppress(InvalidInput):
        name = label_of(item.name)
    return File(content=data, media_type=_type_of(data, item.media_type), name=name)


@handles("medium_thumbnail")
def _medium_thumbnail(call: Call) -> File:
    data = call.memory.media.thumbnail(call.path["id"])
    if data is None:
        raise NotFound(f"the medium {call.path['id']!r} has no thumbnail")
    return File(content=data, media_type=_type_of(data, "image/jpeg"))


def _sent(path: Path) -> bytes:
    try:
        return path.read_bytes()
    finally:
        path.unlink()


def _features(asked: AddMedium) -> list[str] | list[float] | None:
    if asked.vector is None:
        return asked.features
    if asked.features:
        raise InvalidInput("give the features of a medium as words or as a vector, not both")
    return decode(asked.vector.encode(), list[float])


def _type_of(data: bytes, said: str) -> str:
    """The media type by the bytes: the declared one may come from an import, and could pass a page off as a picture."""
    found = types_of(data[:HEAD])
    if said in found:
        return said
    return found[0] if found else _BYTES
