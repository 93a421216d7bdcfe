"""Handlers for documents and media. Files and web pages are read as jobs.

The body of an upload is the file; its description is in the query.
"""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from memwell.errors import InvalidInput, NotFound, UnreadableDocument
from memwell.history.media import HEAD, types_of
from memwell.knowledge.documents import Document
from memwell.knowledge.handle import MOST_BYTES, Knowledge
from memwell.knowledge.ingest import URL, Ingested, Refused, document_id
from memwell.knowledge.reading import read_document
from memwell.knowledge.reading.sniffing import kind_of
from memwell.knowledge.reading.web import is_public
from memwell.knowledge.shelf import checked_metadata
from memwell.longterm.media.items import MediaItem
from memwell.runtime.engine import Engine
from memwell.runtime.wire.codec import decode
from memwell.runtime.wire.operations import data_of
from memwell.runtime.wire.running import Job
from memwell.runtime.wire.table import AddMedium, FetchDocument, UploadDocument
from memwell.service.call import Call, File, handles
from memwell.service.jobs import Report, Work, repeated
from memwell.service.rest.running import label_of, taken_upload
from memwell.values import check_text, shown

UPLOAD = "upload"
"""The prefix of the ids of uploaded documents."""

_LONGEST_URL = 8192
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
        if done.refused:
            raise _as_error(done.refused[0])
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
    """Whether a host is an IP address, in any notation, that is not on the public internet."""
    try:
        # Without the zone, as in fe80::1%eth0.
        found = socket.getaddrinfo(host.partition("%")[0], None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return not all(is_public(ip_address(one[4][0])) for one in found)


def _as_error(refused: Refused) -> UnreadableDocument:
    """Why a page was refused. Nothing is said of addresses of the own network, not even whether a name exists there."""
    if refused.reason == "forbidden-address" or _UNKNOWN_HOST.match(refused.detail):
        return UnreadableDocument(_NOT_PUBLIC, reason="forbidden-address")
    return UnreadableDocument(refused.detail, reason=refused.reason)


# Media

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_BYTES = "application/octet-stream"


@handles("add_medium")
def _add_medium(call: Call, asked: AddMedium) -> MediaItem:
    return call.memory.media.add(
        None if call.upload is None else _sent(call.take_upload()),
        kind=asked.kind,
        description=asked.description,
        transcript=asked.transcript,
        features=_features(asked),
        sentiment=_sentiment(asked.sentiment),
        session=asked.session,
        speaker=asked.speaker,
        name=label_of(asked.name) if asked.name else "",
        metadata=None if asked.metadata is None else data_of(asked.metadata),
        time=asked.time,
    )


@handles("medium_data")
def _medium_data(call: Call) -> File:
    item = call.memory.media.get(call.path["id"])
    data = call.memory.media.data(item.id)
    return File(content=data, media_type=_type_of(data, item.media_type), name=_saved_as(item))


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


def _sentiment(given: str | None) -> str | float | None:
    """A number when it is written as one, or else a word."""
    return float(given) if given is not None and _NUMBER.fullmatch(given) else given


def _type_of(data: bytes, said: str) -> str:
    """The media type by the bytes: the declared one may come from an import, and could pass a page off as a picture."""
    found = types_of(data[:HEAD])
    if said in found:
        return said
    return found[0] if found else _BYTES


def _saved_as(item: MediaItem) -> str:
    try:
        return label_of(item.name)
    except InvalidInput:
        return item.id
