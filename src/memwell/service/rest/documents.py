"""Documents over REST: texts at once, files and pages of the web as jobs, and questions to all of them."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from memwell.errors import UnreadableDocument
from memwell.knowledge.answers import Answer
from memwell.knowledge.documents import Document
from memwell.knowledge.handle import MOST_BYTES, Counts, Knowledge
from memwell.knowledge.ingest import URL, Ingested, Refused, document_id
from memwell.knowledge.reading import read_document
from memwell.knowledge.reading.sniffing import kind_of
from memwell.knowledge.reading.web import is_public
from memwell.knowledge.shelf import checked_metadata
from memwell.runtime.engine import Engine
from memwell.runtime.wire import documents
from memwell.runtime.wire.codec import decode
from memwell.runtime.wire.running import Done, Job
from memwell.service.call import Call, handles
from memwell.service.job_work import Work, repeated
from memwell.service.jobs import Ongoing, Report
from memwell.service.rest.jobs import taken_upload
from memwell.service.rest.threads import bounded, messages_of
from memwell.values import check_text, shown

T = TypeVar("T")

UPLOAD = "upload"
"""What the ids of documents begin with that were sent as files."""

_STALLED_S = 30.0
"""When for so long no vector was made, nobody waits for more: the embedder fails, or nothing works in the background."""

_LONGEST_URL = 8192
_UNKNOWN_HOST = re.compile("the host .* is not found: ", re.DOTALL)
_NOT_PUBLIC = "the address leads to nothing on the public internet that pages are fetched from"


@handles("add_document")
def add_document(call: Call, asked: documents.AddDocument) -> Document:
    """Take a text in as a document, and return when its words can be found."""
    added = call.memory.knowledge.add(
        asked.text, id=asked.id, source=asked.source, title=asked.title, metadata=asked.metadata
    )
    call.log(added.id, chunks=added.chunks)
    return added


@handles("upload_document")
def upload_document(call: Call, asked: documents.UploadDocument) -> Job:
    """Read a file and take it in, as a job. What cannot be a document by its first look is refused before there is one."""
    with taken_upload(call, asked.name) as (path, label):
        title = check_text(asked.title, "a title")
        metadata = checked_metadata(None if asked.metadata is None else decode(asked.metadata.encode(), dict[str, Any]))
        knowledge, id_ = call.memory.knowledge, document_id(UPLOAD, label)
        _check_kind(path, label)

        def work(report: Report) -> Document | Ongoing:
            report("reading")
            parsed = read_document(path.read_bytes(), name=label)
            report("storing")
            kept = knowledge.add(parsed, id=id_, source=label, title=title, metadata=metadata)
            # Asked again: of one that was removed meanwhile nothing is kept here either.
            return _with_vectors(knowledge, lambda: knowledge.get(kept.id))

        job = call.service.jobs.start(call.space, "upload_document", work, owned=path)
    call.log(id_, job.id)
    return job


@handles("fetch_document")
def fetch_document(call: Call, asked: documents.FetchDocument) -> Job:
    """Fetch a page and take it in, as a job. An address that is seen to be private is refused before there is one."""
    _check_address(asked.url)
    most = min(MOST_BYTES, int(call.service.settings.serve_max_upload_mb * 1e6))
    fetched = _Fetched(url=asked.url, metadata=checked_metadata(asked.metadata), most_bytes=most)
    job = call.service.jobs.repeat(call.memory, "fetch_document", fetched)
    call.log(document_id(URL, asked.url.partition("#")[0]), job.id)
    return job


class _Fetched(msgspec.Struct, frozen=True):
    """A page that is to be fetched, with all that was looked at before there was a job."""

    url: str
    metadata: dict[str, Any]
    most_bytes: int


@repeated("fetch_document", _Fetched)
def _fetch(memory: Engine, asked: _Fetched) -> Work:
    knowledge = memory.knowledge

    def work(report: Report) -> Ingested | Ongoing:
        report("fetching")
        # The page of an address is one document, which takes the place of what was fetched before.
        done = knowledge.ingest(asked.url, metadata=asked.metadata, most_bytes=asked.most_bytes, allow_private=False)
        if done.refused:
            raise _as_error(done.refused[0])
        return _with_vectors(knowledge, lambda: done)

    return work


@handles("documents")
def list_documents(call: Call, asked: documents.ListDocuments) -> documents.Documents:
    """The documents, by their ids."""
    where: Mapping[str, Any] | None = None if asked.where is None else decode(asked.where.encode(), dict[str, Any])
    return documents.Documents(documents=call.memory.knowledge.documents(where))


@handles("document_count")
def document_count(call: Call) -> Counts:
    """How many documents and chunks there are."""
    return call.memory.knowledge.count()


@handles("document")
def document(call: Call) -> Document:
    """One document. Raises ``NotFound``."""
    return call.memory.knowledge.get(call.path["id"])


@handles("document_text")
def document_text(call: Call) -> documents.DocumentText:
    """The text of a document as it was read. Raises ``NotFound``."""
    return documents.DocumentText(text=call.memory.knowledge.text(call.path["id"]))


@handles("remove_document")
def remove_document(call: Call) -> Done:
    """Remove a document for good. One that is not there is fine."""
    removed = call.memory.knowledge.remove(call.path["id"])
    if removed:
        call.log(call.path["id"])
        # An export or a result may hold the words of what is gone.
        call.service.jobs.drop_results(call.space)
    return Done(done=removed)


@handles("look_up")
def look_up(call: Call, asked: documents.LookUp) -> documents.Passages:
    """The passages that answer a question best, with the reasons and their places."""
    found = call.memory.knowledge.recall(
        asked.query,
        limit=bounded(asked.limit, "limit", least=0),
        where=asked.where,
        documents=asked.documents,
        expand=asked.expand,
    )
    return documents.Passages(
        passages=found,
        why=[one.why(language=asked.language) for one in found],
        places=[one.citation.in_words(asked.language) for one in found],
    )


@handles("ask")
def ask(call: Call, asked: documents.Ask) -> Answer:
    """What the documents say to a question, with the passages it rests on."""
    return call.memory.knowledge.answer(
        asked.question,
        limit=bounded(asked.limit, "limit", least=0),
        language=asked.language,
        history=messages_of(asked.history),
    )


def _check_kind(path: Path, label: str) -> None:
    """Raises ``UnreadableDocument`` for what is seen to be no document without reading it through."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise UnreadableDocument(f"it has {size:,} bytes; at most {MOST_BYTES:,} are read", reason="too-large")
    data = path.read_bytes()
    if not data.strip():
        raise UnreadableDocument("it is empty", reason="empty")
    kind_of(data, label, None)


def _with_vectors(knowledge: Knowledge, result: Callable[[], T]) -> T | Ongoing:
    """What came of taking a document in, once the vectors are made that the space is owed: nobody's thread waits for them.

    The words of a document are found from before that. Without an embedder there is nothing to wait for.
    """
    owed = knowledge.owed().vectors
    if not owed or knowledge.embedder is None:
        return result()
    return Ongoing(
        stage="vectors",
        of=owed,
        left=lambda: knowledge.owed().vectors,
        result=result,
        note=lambda left: (
            f"the document is stored and found by its words; {left} vectors of this space are still to be made, which goes "
            "on by itself while the service runs"
        ),
        patience_s=_STALLED_S,
    )


def _check_address(url: str) -> None:
    """Raises ``UnreadableDocument`` for what can be seen to be refused without asking anybody."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or len(url) > _LONGEST_URL:
        shape = "an address of a page begins with http:// or https:// and holds a host, no user and no password"
        raise UnreadableDocument(f"{shape}: {shown(url.rpartition('@')[2])}", reason="forbidden-address")
    check_text(url, "an address")
    if host == "localhost" or host.endswith(".localhost") or _is_private_number(host):
        raise UnreadableDocument(_NOT_PUBLIC, reason="forbidden-address")


def _is_private_number(host: str) -> bool:
    """Whether a host is an address written in numbers, of whatever form, that is not on the public internet."""
    try:
        # Without the zone, as in fe80::1%eth0: it only says on which card of this machine the address lies.
        found = socket.getaddrinfo(host.partition("%")[0], None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return not all(is_public(ip_address(one[4][0])) for one in found)


def _as_error(refused: Refused) -> UnreadableDocument:
    """Why a page was not taken in. Of what is not on the public internet nothing is told, not even whether it is there:
    neither what a name of the own network stands for, nor that it stands for nothing."""
    if refused.reason == "forbidden-address" or _UNKNOWN_HOST.match(refused.detail):
        return UnreadableDocument(_NOT_PUBLIC, reason="forbidden-address")
    return UnreadableDocument(refused.detail, reason=refused.reason)


__all__ = ["UPLOAD"]
