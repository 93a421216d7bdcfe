"""Files, folders and pages of the web, sent to a service to be taken in as documents.

A file is known there by its name alone, and one in a folder by the names on the way to it, the folder's own first. Nothing
is removed because a folder no longer has it: another machine may have a folder of the same name. The report tells of it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memwell.errors import ConfigurationError, FileError, InvalidInput, UnreadableDocument, Unsupported
from memwell.knowledge.documents import Document
from memwell.knowledge.ingest import Ingested, Progress, Refused, files_under, is_url
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.given import metadata_data, metadata_text
from memwell.runtime.remote.working import finished, result_of
from memwell.runtime.wire import documents
from memwell.runtime.wire.running import Job

STEP = " › "
"""What stands between the names on the way to a file: a service takes what is behind the last slash for the name."""

_UNDER_WAY = 4
"""How many files are read at the service while the next ones are sent."""


class Item(NamedTuple):
    """Something to take in: what it is called here, what it is called there, and where its bytes lie."""

    source: str
    name: str
    path: Path | None = None


class _Begun(NamedTuple):
    item: Item
    job: Job


class Upload:
    """One run over some sources."""

    def __init__(
        self,
        connection: Connection,
        known: Sequence[Document],
        *,
        metadata: Mapping[str, Any] | None,
        patterns: Sequence[str],
        most_bytes: int,
        progress: Progress | None,
    ) -> None:
        self._connection = connection
        self._known = {one.id: one for one in known}
        self._sources = {one.source for one in known}
        self._metadata = metadata
        self._patterns = patterns
        self._most_bytes = most_bytes
        self._progress = progress
        self._outcomes: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
        self._refused: list[Refused] = []
        self._warnings: list[str] = []
        self._chunks = 0

    def run(self, sources: Iterable[str | Path]) -> Ingested:
        """Send the sources, and wait until each was taken in or refused."""
        began = time.monotonic()
        items = self._distinct(sources)
        waiting: deque[_Begun] = deque()
        done = 0
        for item in items:
            self._tell(done, len(items))
            begun = self._tried(item, lambda item=item: _Begun(item, self._send(item)))
            if begun is None:
                done += 1
                continue
            waiting.append(begun)
            if len(waiting) >= _UNDER_WAY:
                self._finish(waiting.popleft())
                done += 1
        while waiting:
            self._finish(waiting.popleft())
            done += 1
            self._tell(done, len(items))
        self._tell(len(items), len(items))
        return self._report(time.monotonic() - began)

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def _report(self, seconds: float) -> Ingested:
        outcomes = {name: tuple(found) for name, found in self._outcomes.items()}
        refused, warnings = tuple(self._refused), tuple(self._warnings)
        return Ingested(**outcomes, refused=refused, warnings=warnings, chunks=self._chunks, seconds=seconds)

    # What there is

    def _distinct(self, sources: Iterable[str | Path]) -> list[Item]:
        found: dict[str, Item] = {}
        for item in self._listed(sources):
            before = found.setdefault(item.name, item)
            if before.source != item.source:
                detail = f"{before.source} has the same name, by which a service knows a file; rename one of them"
                self._refused.append(Refused(item.source, "broken", detail))
        return list(found.values())

    def _listed(self, sources: Iterable[str | Path]) -> Iterator[Item]:
        for source in sources:
            if is_url(source):
                address = str(source).partition("#")[0]
                yield Item(address, address)
                continue
            path = Path(source).expanduser().resolve()
            if path.is_dir():
                yield from self._folder(path)
            else:
                yield Item(str(path), path.name, path)

    def _folder(self, folder: Path) -> Iterator[Item]:
        files = list(files_under(folder, patterns=self._patterns, on_error=self._unlisted))
        if not files:
            self._refused.append(Refused(str(folder), "empty", f"no file to read in {folder}"))
        names = {STEP.join((folder.name, *file.relative_to(folder).parts)): file for file in files}
        yield from (Item(str(file), name, file) for name, file in names.items())
        gone = [one for one in self._sources if one.startswith(folder.name + STEP) and one not in names]
        if gone and not self._patterns:
            self._warnings.append(
                f"{folder}: the service has {len(gone)} more documents of a folder of this name; remove() drops them"
            )

    def _unlisted(self, folder: Path, error: OSError) -> None:
        self._refused.append(Refused(str(folder), "unreachable", f"{folder} cannot be read: {error.strerror}"))

    # One source

    def _send(self, item: Item) -> Job:
        if item.path is None:
            asked = documents.FetchDocument(url=item.source, metadata=metadata_data(self._metadata))
            return self._connection.call("fetch_document", Job, asked)
        self._check_file(item.path)
        named = documents.UploadDocument(name=item.name, metadata=metadata_text(self._metadata))
        return self._connection.upload("upload_document", Job, named, item.path)

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

    def _finish(self, begun: _Begun) -> None:
        job = self._tried(begun.item, lambda: finished(self._connection, begun.job))
        if job is None:
            return
        if begun.item.path is None:
            self._note_page(result_of(job, Ingested))
        else:
            self._note_file(begun.item, result_of(job, Document))

    def _note_page(self, done: Ingested) -> None:
        for name, found in self._outcomes.items():
            found += getattr(done, name)
        self._warnings += done.warnings
        self._chunks += done.chunks

    def _note_file(self, item: Item, document: Document) -> None:
        before = self._known.get(document.id)
        outcome = "added" if before is None else "unchanged" if before == document else "changed"
        self._outcomes[outcome].append(item.source)
        if outcome != "unchanged":
            self._chunks += document.chunks
            self._warnings += [f"{item.source}: {warning}" for warning in document.warnings]

    def _tried(self, item: Item, step: Callable[[], Any]) -> Any:
        """What a step gives, or None when the source was refused: the rest goes on."""
        try:
            return step()
        except UnreadableDocument as error:
            reason, detail = error.reason, str(error)
        except FileError as error:
            reason, detail = "unreachable", str(error)
        except (InvalidInput, ConfigurationError) as error:
            reason, detail = ("broken" if isinstance(error, InvalidInput) else "unsupported"), str(error)
        self._refused.append(Refused(item.source, reason, detail))
        return None


def check_private(sources: Sequence[str | Path], allow_private: bool) -> None:
    """Raises ``Unsupported`` for pages that only this machine can reach: it is the service that fetches them."""
    if allow_private and any(is_url(source) for source in sources):
        raise Unsupported("a service fetches no page of a private network; save it and ingest the file")


__all__ = ["STEP", "Item", "Upload", "check_private"]
