"""``RemoteKnowledge`` and ``RemoteMedia``: the documents and media behind a service.

The service knows a file by its name, and one in a folder by its path from the folder's name on. A file that is gone from a
folder is not removed there, since another machine may have a folder of the same name; the report warns of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memwell._asyncify import asyncify, renamed
from memwell.errors import ConfigurationError, FileError, InvalidInput, NotFound, UnreadableDocument, Unsupported
from memwell.history.media import MediaLimits
from memwell.knowledge.documents import Document
from memwell.knowledge.handle import MOST_BYTES, Knowledge
from memwell.knowledge.ingest import Ingested, files_under, is_url
from memwell.knowledge.ingest import Progress as IngestProgress
from memwell.knowledge.ingest import Refused as RefusedSource
from memwell.longterm.journal import knowledge_space
from memwell.longterm.media import (
    Data,
    Features,
    MediaItem,
    MediaMemory,
    check_features,
    check_kinds,
    check_sentiment,
    read_data,
)
from memwell.records import Space
from memwell.runtime.remote.connection import Body, Connection, Remote, called, finished, refuses, result_of
from memwell.runtime.wire.operations import json_text
from memwell.runtime.wire.table import OPERATIONS, AddMedium, FetchDocument, UploadDocument
from memwell.values import as_utc, check_count, check_id, check_metadata, check_text

if TYPE_CHECKING:
    from memwell.runtime.remote.memory import RemoteMemory

_PENDING = "a service counts the pending work of the whole memory: memory.pending(); flush() waits for it"
_MOST_MEDIA = 1000
"""How many media a service lists at most."""


@refuses("the service has its own; configure it there", "embedder", "chat")
@refuses("the service clears its own caches", "uncache")
@refuses("the service cuts all documents alike; call it where the store is", "chunking", "rechunk")
@refuses("a service does not send the structure of a document; text() has its text", "parsed")
@refuses(_PENDING, "pending", "owed")
class RemoteKnowledge(Remote):
    """The documents of the key's space, with the methods of ``Knowledge``."""

    def __init__(self, connection: Connection, space: Space) -> None:
        super().__init__(connection)
        self.space = knowledge_space(space)

    add, aadd = called("add_document", Knowledge.add)
    documents, adocuments = called("documents", Knowledge.documents)
    get, aget = called("document", Knowledge.get)
    text, atext = called("document_text", Knowledge.text)
    count, acount = called("document_count", Knowledge.count)
    recall, arecall = called("look_up", Knowledge.recall)
    answer, aanswer = called("ask", Knowledge.answer)

    def ingest(
        self,
        *sources: str | Path,
        metadata: Mapping[str, Any] | None = None,
        patterns: Iterable[str] = (),
        remove_missing: bool = True,
        most_bytes: int = MOST_BYTES,
        allow_private: bool = False,
        progress: IngestProgress | None = None,
    ) -> Ingested:
        """As ``Knowledge.ingest``: files and folders of this machine are uploaded, addresses are fetched by the service.

        Nothing is removed, whatever ``remove_missing`` says: the report warns of documents that a folder no longer has.
        Raises ``Unsupported`` for ``allow_private`` with an address.
        """
        if allow_private and any(is_url(source) for source in sources):
            raise Unsupported("a service fetches no page of a private network; save it and ingest the file")
        run = Upload(
            self._connection,
            self.documents(),
            metadata=None if metadata is None else check_metadata(metadata),
            patterns=(patterns,) if isinstance(patterns, str) else tuple(patterns),
            most_bytes=check_count(most_bytes, "most_bytes", least=1),
            progress=progress,
        )
        return run.run(sources)

    def remove(self, *ids: str) -> int:
        """Remove documents for good, from the store's files too; how many there were. Unknown ids are no error."""
        named = [check_id(id_, "a document's id") for id_ in ids]
        return sum(self._connection.call("remove_document", id=id_).done for id_ in named)

    def erase_all(self) -> int:
        """Remove every document of the space for good; how many there were."""
        return self.remove(*[document.id for document in self.documents()])

    def flush(self, progress: IngestProgress | None = None) -> None:
        """Wait until the service has made all pending vectors, those of memories too."""
        finished(self._connection, self._connection.call("flush"), progress)

    aingest = asyncify(ingest)
    aremove = asyncify(remove)
    aerase_all = asyncify(erase_all)
    aflush = asyncify(flush)
    settle = renamed("settle", flush)
    asettle = renamed("asettle", aflush)


class RemoteMedia(Remote):
    """The media of the key's space, with the methods of ``MediaMemory``.

    ``limits`` are checked here before anything is sent; the service has its own.
    """

    def __init__(self, connection: Connection, memory: RemoteMemory, *, limits: MediaLimits | None = None) -> None:
        super().__init__(connection)
        self.memory = memory
        self.limits = limits or MediaLimits()

    def add(
        self,
        data: Data | None = None,
        *,
        kind: str | None = None,
        description: str = "",
        transcript: str = "",
        features: Features | None = None,
        sentiment: str | float | None = None,
        session: str | None = None,
        speaker: str | None = None,
        name: str = "",
        metadata: Mapping[str, Any] | None = None,
        time: datetime | None = None,
    ) -> MediaItem:
        """As ``MediaMemory.add``, on the service's disk when it returns.

        Its description goes into the address of the request, which holds 60,000 characters: some 6,000 numbers of a vector,
        or as many Chinese characters. Raises ``InvalidInput`` for more.
        """
        words, vector = check_features(features)
        feeling = None if sentiment is None else check_sentiment(sentiment, "")
        asked = AddMedium(
            kind=kind,
            description=check_text(description, "a description"),
            transcript=check_text(transcript, "a transcript"),
            features=list(words) or None,
            # A store keeps half precision.
            vector=None if vector is None else f"[{','.join(f'{number:.6g}' for number in vector)}]",
            sentiment=None if feeling is None else str(feeling),
            session=session,
            speaker=speaker,
            name=name or getattr(data, "name", ""),
            metadata=None if metadata is None else json_text(check_metadata(metadata)),
            time=None if time is None else as_utc(time, "a medium's time"),
        )
        return self._connection.upload("add_medium", asked, self._body(data))

    def _body(self, data: Data | None) -> Body:
        if data is None:
            return None
        if not isinstance(data, Path):
            content = read_data(data, self.limits)
            if not content:
                raise InvalidInput("a medium must not be empty")
            return content
        if not data.is_file():
            raise FileError(f"{str(data)!r} is not a file that can be read")
        size = data.stat().st_size
        if not 0 < size <= self.limits.most_bytes:
            raise InvalidInput(
                f"the file {str(data)!r} has {size:,} bytes; a medium has 1 to {self.limits.most_bytes:,}"
            )
        return data

    recall, arecall = called("recall_media", MediaMemory.recall)
    like, alike = called("like_media", MediaMemory.like)
    get, aget = called("medium", MediaMemory.get)
    erase, aerase = called("erase_media", MediaMemory.erase)

    def items(
        self, *, session: str | None = None, kinds: str | Iterable[str] | None = None, limit: int | None = None
    ) -> list[MediaItem]:
        """The media of the memory or of one session, oldest first.

        Raises ``InvalidInput`` for an unknown kind, ``Unsupported`` without a ``limit`` when there are a thousand or more.
        """
        wanted, chosen = _MOST_MEDIA if limit is None else check_count(limit, "limit"), check_kinds(kinds)
        if not wanted or not chosen:
            return []
        asked = OPERATIONS["media"].request({"session": session, "kinds": chosen, "limit": wanted})
        found: list[MediaItem] = self._connection.call("media", asked).media
        if limit is None and len(found) == _MOST_MEDIA:
            raise Unsupported(f"a service lists {_MOST_MEDIA:,} media; give a limit, or a session")
        return found

    def data(self, id_: str, /) -> bytes:
        """The bytes of a medium. Raises ``NotFound`` as ``get``, and for one that is only described."""
        return self._connection.fetch("medium_data", id=id_)

    def thumbnail(self, id_: str, /) -> bytes | None:
        """The thumbnail of a medium as JPEG, or None. Raises ``NotFound`` as ``get``."""
        try:
            return self._connection.fetch("medium_thumbnail", id=id_)
        except NotFound:
            self.get(id_)
            return None

    def remove(self, *ids: str) -> int:
        """Erase media, given one by one; how many there were."""
        return self.erase(ids).memories if ids else 0

    aadd = asyncify(add)
    aitems = asyncify(items)
    adata = asyncify(data)
    athumbnail = asyncify(thumbnail)
    aremove = asyncify(remove)


# Uploads

STEP = " › "
"""The separator in the name of a file in a folder: a service takes the part after the last slash as the name."""

_UNDER_WAY = 4
"""How many sources are under way at once."""


class UploadItem(NamedTuple):
    """A source to ingest: its name here, its name at the service, and its path."""

    source: str
    name: str
    path: Path | None = None


class Upload:
    """One ingestion of several sources."""

    def __init__(
        self,
        connection: Connection,
        known: Sequence[Document],
        *,
        metadata: dict[str, Any] | None,
        patterns: Sequence[str],
        most_bytes: int,
        progress: IngestProgress | None,
    ) -> None:
        self._connection = connection
        self._known = {one.id: one for one in known}
        self._sources = {one.source for one in known}
        self._metadata = metadata
        self._patterns = patterns
        self._most_bytes = most_bytes
        self._progress = progress
        self._outcomes: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
        self._refused: list[RefusedSource] = []
        self._warnings: list[str] = []
        self._chunks = 0

    def run(self, sources: Iterable[str | Path]) -> Ingested:
        """Send the sources, and wait until each was ingested or refused."""
        began, items = time.monotonic(), self._distinct(sources)
        report: IngestProgress = self._progress or (lambda done, of: None)
        report(0, len(items))
        with ThreadPoolExecutor(_UNDER_WAY) as pool:
            try:
                for done, (item, result) in enumerate(zip(items, pool.map(self._ingested, items), strict=True), 1):
                    self._note(item, result)
                    report(done, len(items))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        outcomes = {name: tuple(found) for name, found in self._outcomes.items()}
        refused, warnings = tuple(self._refused), tuple(self._warnings)
        seconds = time.monotonic() - began
        return Ingested(**outcomes, refused=refused, warnings=warnings, chunks=self._chunks, seconds=seconds)

    # Finding the sources

    def _distinct(self, sources: Iterable[str | Path]) -> list[UploadItem]:
        found: dict[str, UploadItem] = {}
        for item in self._listed(sources):
            before = found.setdefault(item.name, item)
            if before.source != item.source:
                detail = f"{before.source} has the same name, by which a service knows a file; rename one of them"
                self._refused.append(RefusedSource(item.source, "broken", detail))
        return list(found.values())

    def _listed(self, sources: Iterable[str | Path]) -> Iterator[UploadItem]:
        for source in sources:
            if is_url(source):
                address = str(source).partition("#")[0]
                yield UploadItem(address, address)
                continue
            path = Path(source).expanduser().resolve()
            if path.is_dir():
                yield from self._folder(path)
            else:
                yield UploadItem(str(path), path.name, path)

    def _folder(self, folder: Path) -> Iterator[UploadItem]:
        files = list(files_under(folder, patterns=self._patterns, on_error=self._unlisted))
        if not files:
            self._refused.append(RefusedSource(str(folder), "empty", f"no file to read in {folder}"))
        names = {STEP.join((folder.name, *file.relative_to(folder).parts)): file for file in files}
        yield from (UploadItem(str(file), name, file) for name, file in names.items())
        gone = [one for one in self._sources if one.startswith(folder.name + STEP) and one not in names]
        if gone and not self._patterns:
            self._warnings.append(
                f"{folder}: the service has {len(gone)} more documents of a folder of this name; remove() drops them"
            )

    def _unlisted(self, folder: Path, error: OSError) -> None:
        self._refused.append(RefusedSource(str(folder), "unreachable", f"{folder} cannot be read: {error.strerror}"))

    # One source

    def _ingested(self, item: UploadItem) -> Document | Ingested | RefusedSource:
        """The document of a file, the report of a fetched page, or the refusal."""
        connection = self._connection
        try:
            if item.path is None:
                asked = FetchDocument(url=item.source, metadata=self._metadata)
                return result_of(finished(connection, connection.call("fetch_document", asked)), Ingested)
            self._check_file(item.path)
            metadata = None if self._metadata is None else json_text(self._metadata)
            asked = UploadDocument(name=item.name, metadata=metadata)
            return result_of(finished(connection, connection.upload("upload_document", asked, item.path)), Document)
        except UnreadableDocument as error:
            return RefusedSource(item.source, error.reason, str(error))
        except FileError as error:
            return RefusedSource(item.source, "unreachable", str(error))
        except (InvalidInput, ConfigurationError) as error:
            reason = "broken" if isinstance(error, InvalidInput) else "unsupported"
            return RefusedSource(item.source, reason, str(error))

    def _check_file(self, path: Path) -> None:
        if not path.exists():
            raise UnreadableDocument(f"there is no {path}", reason="unreachable")
        if not path.is_file():
            raise UnreadableDocument(f"{path} is no file", reason="unsupported")
        size = path.stat().st_size
        if size == 0:
            raise UnreadableDocument(f"{path} is empty", reason="empty")
        if size > self._most_bytes:
            raise UnreadableDocument(f"{path} has {size:,} bytes, more than {self._most_bytes:,}", reason="too-large")

    def _note(self, item: UploadItem, result: Document | Ingested | RefusedSource) -> None:
        if isinstance(result, RefusedSource):
            self._refused.append(result)
        elif isinstance(result, Ingested):
            for name, found in self._outcomes.items():
                found += getattr(result, name)
            self._warnings += result.warnings
            self._chunks += result.chunks
        else:
            before = self._known.get(result.id)
            outcome = "added" if before is None else "unchanged" if before == result else "changed"
            self._outcomes[outcome].append(item.source)
            if outcome != "unchanged":
                self._chunks += result.chunks
                self._warnings += [f"{item.source}: {warning}" for warning in result.warnings]
