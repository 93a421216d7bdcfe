"""Ingestion of files, folders and web pages, and of their changes.

A file whose size, times and inode are unchanged is not read again, unless it was changed so shortly before it was read
that its times cannot show another change; then its bytes are compared. A source that cannot be read is named in the
report. Each document is stored in one transaction, so a killed run leaves each of them whole, old or new.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from memwell.errors import ConfigurationError, InvalidInput, UnreadableDocument
from memwell.knowledge.chunking import Chunking
from memwell.knowledge.documents import described
from memwell.knowledge.reading import read_document
from memwell.knowledge.shelf import MOST_AT_ONCE, DocumentStore, Manifest, checked_parsed, own_part
from memwell.values import check_text, shown

# Files


EXCLUDED = (".*", "node_modules", "__pycache__", "*.egg-info", "Thumbs.db", "~$*")
"""Names that are skipped: hidden files, and those that tools keep for themselves."""


def files_under(
    root: Path,
    *,
    patterns: Sequence[str] = (),
    on_error: Callable[[Path, OSError], None],
    on_link: Callable[[Path], None] = lambda path: None,
) -> Iterator[Path]:
    """Every plain file under a folder, by name; ``patterns`` such as ``*.md`` or ``docs/*.txt`` select some of them.

    Links are not followed, and reported to ``on_link``; a folder that cannot be read is reported to ``on_error``.
    """
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        inner: list[Path] = []
        for entry in _entries(folder, on_error):
            found = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                inner.append(found)
            elif entry.is_file(follow_symlinks=False) and _is_wanted(found.relative_to(root), patterns):
                yield found
            # Else no wanted file is missed because it is not followed.
            elif entry.is_symlink() and (_is_wanted(found.relative_to(root), patterns) or os.path.isdir(found)):
                on_link(found)
        waiting.extend(reversed(inner))


def _entries(folder: Path, on_error: Callable[[Path, OSError], None]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            kept = [entry for entry in entries if not any(fnmatchcase(entry.name, pattern) for pattern in EXCLUDED)]
    except OSError as error:
        on_error(folder, error)
        return []
    return sorted(kept, key=lambda entry: entry.name)


def _is_wanted(inside: Path, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(inside.name, one) or fnmatchcase(inside.as_posix(), one) for one in patterns)


_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
Progress: TypeAlias = Callable[[int, int | None], None]

FILE, URL = "file", "url"
_MOST_NAMED = 5
_RACY_NS = 2_000_000_000  # A file changed this shortly before it was read may change again without its times showing it


class Refused(msgspec.Struct, frozen=True):
    """A source that was refused: ``reason`` is a short code, ``detail`` a sentence."""

    source: str
    reason: str
    detail: str


class Ingested(msgspec.Struct, frozen=True):
    """The report of an ingestion: the sources by outcome, and the number of chunks written."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    warnings: tuple[str, ...] = ()
    chunks: int = 0
    seconds: float = 0.0

    def in_words(self, language: str = "en") -> str:
        """The report in words: one line, and one more for each refused source and each warning."""
        phrases = _PHRASES["zh" if language.startswith("zh") else "en"]
        counts = {name: len(getattr(self, name)) for name in ("added", "changed", "unchanged", "removed", "refused")}
        parts = [phrases[name].format(count) for name, count in counts.items() if count or name == "added"]
        chunks = phrases["chunk" if self.chunks == 1 else "chunks"].format(self.chunks)
        lines = [phrases["line"].format(phrases["and"].join(parts), chunks, self.seconds)]
        lines += [phrases["bad"].format(one.source, one.detail) for one in self.refused]
        lines += [phrases["warning"].format(one) for one in self.warnings]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.in_words()


_PHRASES = {
    "en": {
        "added": "{} added", "changed": "{} changed", "unchanged": "{} unchanged", "removed": "{} removed",
        "refused": "{} refused", "and": ", ", "line": "{}; {} in {:.1f} s", "chunk": "{} chunk", "chunks": "{} chunks",
        "bad": "  refused {}: {}", "warning": "  note: {}",
    },
    "zh": {
        "added": "新增 {}", "changed": "更新 {}", "unchanged": "未变 {}", "removed": "移除 {}",
        "refused": "拒绝 {}", "and": "，", "line": "{}；共 {}，用时 {:.1f} 秒", "chunk": "{} 个片段", "chunks": "{} 个片段",
        "bad": "  拒绝 {}：{}", "warning": "  注意：{}",
    },
}  # fmt: skip


class IngestOptions(NamedTuple):
    """The options of an ingestion."""

    chunking: Chunking
    metadata: dict[str, Any]
    patterns: Sequence[str]
    remove_missing: bool
    most_bytes: int
    allow_private: bool
    progress: Progress | None


class _Content(NamedTuple):
    """The content of a source now."""

    data: bytes
    name: str
    media_type: str | None
    stamp: tuple[int, ...] = ()
    modified: datetime | None = None


class Ingestion:
    """One run over some sources."""

    def __init__(self, shelf: DocumentStore, options: IngestOptions) -> None:
        self._shelf = shelf
        self._options = options
        self._known: dict[str, Manifest] = {}
        self._outcomes: dict[str, list[str]] = {name: [] for name in ("added", "changed", "unchanged", "removed")}
        self._refused: list[Refused] = []
        self._warnings: list[str] = []
        self._unlisted: list[Path] = []
        """Folders that could not be read: their files do not count as gone."""
        self._chunks = 0
        self._embed = True
        """False once the embedder has failed: then vectors are made at the end, so that not every file waits for it."""

    def run(self, sources: Iterable[str | Path]) -> Ingested:
        """Ingest the sources."""
        began = time.monotonic()
        self._known = {one.document.source: one for one in self._shelf.manifests() if one.origin}
        roots: list[Path] = []
        items = list(dict.fromkeys(self._listed(sources, roots)))
        for done, (origin, source) in enumerate(items):
            self._tell(done, len(items))
            self._take(origin, source)
        if self._options.remove_missing:
            self._drop_missing(roots, {source for _, source in items})
        self._tell(len(items), len(items))
        self._finish()
        outcomes = {name: tuple(found) for name, found in self._outcomes.items()}
        seconds = time.monotonic() - began
        return Ingested(
            **outcomes,
            refused=tuple(self._refused),
            warnings=tuple(self._warnings),
            chunks=self._chunks,
            seconds=seconds,
        )

    def _tell(self, done: int, total: int) -> None:
        if self._options.progress is not None:
            self._options.progress(done, total)

    # Listing

    def _listed(self, sources: Iterable[str | Path], roots: list[Path]) -> Iterator[tuple[str, str]]:
        """Every file and page to read; the folders that were listed go into ``roots``."""
        for source in sources:
            if is_url(source):
                yield URL, str(source).partition("#")[0]
                continue
            if isinstance(source, str) and _SCHEME.match(source):
                self._refuse(
                    source, "forbidden-address", f"only files, folders, http and https are read, not {source!r}"
                )
                continue
            path = Path(source).expanduser().resolve()
            if not path.is_dir():
                yield FILE, str(path)
                continue
            files = self._files_of(path)
            if files:
                roots.append(path)
            else:
                # It may be a disk that is not mounted: its documents are kept.
                self._refuse(str(path), "empty", f"no file to read in {path}; what was taken in of it before is kept")
            yield from ((FILE, file) for file in files)

    def _files_of(self, folder: Path) -> list[str]:
        links: list[Path] = []
        found = files_under(folder, patterns=self._options.patterns, on_error=self._note_unlisted, on_link=links.append)
        files = [str(file) for file in found]
        if links:
            self._warnings.append(_printable(f"{folder}: {_about_links([link.name for link in links])}"))
        return files

    def _note_unlisted(self, folder: Path, error: OSError) -> None:
        self._unlisted.append(folder)
        self._refuse(str(folder), "unreachable", f"{folder} cannot be read: {error.strerror}")

    # One source

    def _take(self, origin: str, source: str) -> None:
        known = self._known.get(source)
        try:
            _check_name(origin, source)
            content = self._read_page(source) if origin == URL else self._read_file(source, known)
            outcome = "unchanged" if content is None else self._put(origin, source, content, known)
        except _MissingFile as error:
            # It may be on a disk that is not mounted: only the listing of a folder shows that a file is gone.
            self._refuse(source, error.reason, str(error), known or self._known_under(source))
            return
        except UnreadableDocument as error:
            self._refuse(source, error.reason, str(error), known)
            return
        except (InvalidInput, ConfigurationError) as error:
            reason = "unsupported" if isinstance(error, ConfigurationError) else "broken"
            self._refuse(source, reason, str(error), known)
            return
        self._outcomes[outcome].append(source)

    def _refuse(self, source: str, reason: str, detail: str, known: Manifest | None = None) -> None:
        if known is not None:
            detail += "; what was taken in before is kept"
        self._refused.append(Refused(_printable(source), reason, _printable(detail)))

    def _known_under(self, folder: str) -> Manifest | None:
        """A document from a folder that is missing."""
        return next((one for source, one in self._known.items() if Path(folder) in Path(source).parents), None)

    def _read_file(self, source: str, known: Manifest | None) -> _Content | None:
        """The content of a file; None when its size and times are unchanged."""
        try:
            before = os.stat(source)
            if not stat.S_ISREG(before.st_mode):
                raise UnreadableDocument(f"{source} is no file", reason="unsupported")
            stamp = _stamp(before)
            if known is not None and known.stamp == stamp and self._has_metadata(known):
                return None
            if before.st_size > self._options.most_bytes:
                raise _too_large(source, before.st_size, self._options.most_bytes)
            with open(source, "rb") as file:
                data = file.read(self._options.most_bytes + 1)
                after = os.fstat(file.fileno())
        except FileNotFoundError as error:
            raise _MissingFile(f"there is no {source}", reason="unreachable") from error
        except OSError as error:
            raise UnreadableDocument(f"{source} cannot be read: {error.strerror}", reason="unreachable") from error
        if len(data) > self._options.most_bytes:
            raise _too_large(source, len(data), self._options.most_bytes)
        modified = datetime.fromtimestamp(after.st_mtime, UTC)
        return _Content(data, Path(source).name, None, _trusted(stamp, _stamp(after)), modified)

    def _read_page(self, source: str) -> _Content:
        # TLS takes longer to load than most files to read.
        from memwell.knowledge.reading.web import fetch  # noqa: PLC0415

        fetched = fetch(source, most_bytes=self._options.most_bytes, allow_private=self._options.allow_private)
        return _Content(fetched.data, fetched.name, fetched.media_type)

    def _put(self, origin: str, source: str, content: _Content, known: Manifest | None) -> str:
        digest = sha256(content.data).hexdigest()
        if known is not None and known.document.digest == digest and self._has_metadata(known):
            if content.stamp and content.stamp != known.stamp:
                self._shelf.restamp(known, content.stamp)
            return "unchanged"
        parsed = checked_parsed(read_document(content.data, name=content.name, media_type=content.media_type))
        document = described(
            parsed,
            content.data,
            id=document_id(origin, source),
            source=source,
            title=parsed.title,
            time=self._shelf.clock(),
            modified=content.modified,
            metadata={**own_part(parsed.metadata), **self._options.metadata},
        )
        stored, embedded = self._shelf.put(
            document, parsed, self._options.chunking, origin=origin, stamp=content.stamp, embed=self._embed
        )
        self._embed = self._embed and (embedded or stored.chunks > MOST_AT_ONCE)
        self._chunks += stored.chunks
        self._warnings += [f"{source}: {warning}" for warning in parsed.warnings]
        return "added" if known is None else "changed"

    def _has_metadata(self, known: Manifest) -> bool:
        """Whether a document has the metadata that is given now."""
        held = known.document.metadata
        return all(key in held and held[key] == value for key, value in self._options.metadata.items())

    # The end

    def _drop_missing(self, roots: Sequence[Path], seen: set[str]) -> None:
        """Remove the documents of files that are gone from the listed folders."""
        gone = {
            source: one.document.id
            for source, one in self._known.items()
            if one.origin == FILE and source not in seen
            if _is_within(source, roots) and not _is_within(source, self._unlisted) and _is_gone(source)
        }
        self._shelf.remove(gone.values())
        self._outcomes["removed"] += gone

    def _finish(self) -> None:
        """Make the pending vectors, and remove the traces of replaced and removed documents."""
        pending = self._shelf.vectors.flush()
        if pending:
            what = "chunk waits for its vector" if pending == 1 else "chunks wait for their vectors"
            self._warnings.append(
                f"{pending} {what}; their words find them meanwhile, and flush() makes what is missing"
            )
        if self._outcomes["removed"] or self._outcomes["changed"]:
            self._shelf.scrub()


class _MissingFile(UnreadableDocument):
    """A file that does not exist."""


def is_url(source: object) -> bool:
    """Whether a source is a web address. Raises ``InvalidInput`` for what is neither a text nor a path."""
    if isinstance(source, Path):
        return False
    if not isinstance(source, str) or not source or "\x00" in source:
        raise InvalidInput(f"a source must be a path or an http(s) address, not {shown(source)}")
    return source.lower().startswith(("http://", "https://"))


def document_id(origin: str, source: str) -> str:
    """The id of an ingested document: the same for the same source."""
    return f"{origin}-{blake2b(source.encode(errors='surrogateescape'), digest_size=16).hexdigest()}"


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _trusted(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """The stamp of the content that was read; empty when the file may have changed meanwhile."""
    settled = max(after[1], after[2]) + _RACY_NS < time.time_ns()
    return after if settled and before == after else ()


def _check_name(origin: str, source: str) -> None:
    try:
        check_text(source, "an address" if origin == URL else "a file's name")
    except InvalidInput:
        if origin == URL:
            raise
        raise UnreadableDocument("its name is in no known encoding; rename it", reason="broken") from None


def _printable(text: str) -> str:
    """The text with a replacement for bytes of file names that are in no encoding."""
    return text.encode(errors="replace").decode()


def _about_links(names: Sequence[str]) -> str:
    count = "1 symbolic link was" if len(names) == 1 else f"{len(names)} symbolic links were"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{count} not followed: {', '.join(names[:_MOST_NAMED])}{more}"


def _is_within(source: str, folders: Sequence[Path]) -> bool:
    return any(Path(source).is_relative_to(folder) for folder in folders)


def _is_gone(source: str) -> bool:
    """Whether a file does not exist, rather than being out of reach."""
    try:
        os.stat(source)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _too_large(source: str, size: int, most: int) -> UnreadableDocument:
    return UnreadableDocument(f"{source} has {size:,} bytes, more than {most:,}", reason="too-large")
