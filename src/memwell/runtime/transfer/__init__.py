"""Import, export and move: memories as files in memwell's own formats and those of other products, and whole stores."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.traits import traits_of
from memwell.records import Record
from memwell.runtime.transfer.files import FileLike, Imported, Note, Progress, decrypting, opened, written
from memwell.runtime.transfer.graphiti import import_graphiti
from memwell.runtime.transfer.intake import RawMemory
from memwell.runtime.transfer.jsonl import export_jsonl, import_jsonl
from memwell.runtime.transfer.letta import import_letta
from memwell.runtime.transfer.mem0 import SQLITE, files_of_mem0, import_mem0
from memwell.runtime.transfer.moving import Moved, MoveRefused, move
from memwell.runtime.transfer.products import (
    TEXT_COLUMNS,
    export_mcp,
    import_chatgpt,
    import_csv,
    import_langchain,
    import_mcp,
    import_text,
)
from memwell.storage.protocols import Backend
from memwell.values import shown

_HEAD = 1 << 16
_BOM = b"\xef\xbb\xbf"
_NAMED_AS_JSON = (".json", ".jsonl", ".ndjson")
_Import: TypeAlias = Callable[..., Imported]

FORMATS: dict[str, _Import] = {
    "jsonl": import_jsonl,
    "mem0": import_mem0,
    "langchain": import_langchain,
    "mcp": import_mcp,
    "chatgpt": import_chatgpt,
    "letta": import_letta,
    "graphiti": import_graphiti,
    "csv": import_csv,
    "text": import_text,
}
_NAMES = ", ".join(FORMATS)


def detect(path: str | os.PathLike[str], backend: Backend | None = None) -> str:
    """The format of a file or a folder, one of ``FORMATS``, by its beginning and, if that is not enough, its name.

    A file that is encrypted is read with the secret of the backend's store. Raises ``InvalidInput`` for an unknown format,
    a pipe, and a file that is named like JSON and is not, ``SecretRefused``, and ``FileError`` when it cannot be read.
    """
    check_is_file(Path(path))
    if Path(path).is_dir():
        files_of_mem0(Path(path))
        return "mem0"
    with decrypting(backend, Path(path)) or opened(Path(path)) as file:
        head = file.read(_HEAD).removeprefix(_BOM).lstrip()
    if head.startswith(SQLITE):
        files_of_mem0(Path(path))
        return "mem0"
    name, suffix = os.fspath(path), Path(path).suffix.lower()
    if b"\x00" in head:
        raise InvalidInput(f"{name!r} is not a text file")
    is_json = head[:1] in (b"{", b"[")
    if suffix in _NAMED_AS_JSON and not is_json:
        first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
        wrong = f"not JSON: it begins with {shown(first)}" if first else "empty"
        raise InvalidInput(f"{name!r} is {wrong}; if it is of another format, name that: {_NAMES}")
    found = _json(head) if is_json else _written(head, suffix)
    if found is None:
        raise InvalidInput(f"{name!r} is of no known format; name it: {_NAMES}")
    return found


def _json(head: bytes) -> str | None:
    line = head.split(b"\n", 1)[0]
    if _key("type", "header").search(line) and _key("format", "memwell").search(line):
        return "jsonl"
    if _key("type", "entity").search(line) or _key("type", "relation").search(line):
        return "mcp"
    if _key("mapping").search(head):
        return "chatgpt"
    if _key("agent_type").search(head) or _key("block_ids").search(head) or _key("core_memory").search(head):
        return "letta"
    if _GRAPHITI.match(head) or (
        _key("uuid").search(head) and _key("(?:fact|source_description|summary)").search(head)
    ):
        return "graphiti"
    if _AGENT.search(head) and not _MEM0.search(head):
        raise InvalidInput(
            "this is the state of an agent of AgentScope: JSONSession of memwell.compat.agentscope loads it"
        )
    if _MEM0.search(head) or _key("results").match(head[1:].lstrip()):
        return "mem0"
    if (_key("type").search(head) and _key("data").search(head)) or head.replace(b" ", b"").rstrip() == b"[]":
        return "langchain"
    return None


_MEM0 = re.compile(rb'(?<!\\)"memory"\s*:\s*[^{\s]')
_GRAPHITI = re.compile(rb'\{\s*"(?:episodes|nodes|edges)"\s*:\s*\[')
_AGENT = re.compile(rb'(?<!\\)"memory"\s*:\s*\{')


def _key(name: str, value: str | None = None) -> re.Pattern[bytes]:
    """A pattern for a key of an object; within a string its quotes would be escaped."""
    behind = "" if value is None else rf'\s*"{value}"'
    return re.compile(rf'(?<!\\)"{name}"\s*:{behind}'.encode())


def _written(head: bytes, suffix: str) -> str:
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if re.match(rb"---\r?\nmemwell:", head):
        raise InvalidInput("a Markdown export is for reading; import the .jsonl export of the same memory")
    names = {name.strip().lower() for name in _split(first)}
    if suffix == ".csv" or (len(names) > 1 and names & set(TEXT_COLUMNS)):
        return "csv"
    return "text"


def _split(line: str) -> list[str]:
    try:
        return next(csv.reader([line]))
    except (csv.Error, StopIteration):
        return []


_EXPORTED = {"": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".md": "markdown", ".markdown": "markdown"}


def export_format(path: str | os.PathLike[str]) -> str:
    """The format of an export, by the ending of its file. Raises ``InvalidInput`` for another ending and for no name."""
    if not Path(path).name:
        raise InvalidInput(f"{str(path)!r} is a folder: name a file to export to, such as 'memories.jsonl'")
    ending = Path(path).suffix.lower()
    if ending not in _EXPORTED:
        raise InvalidInput(
            f"no export ends in {ending!r}; known: .jsonl (everything) and .md (the memories, to be read)"
        )
    return _EXPORTED[ending]


def import_file(
    memory: MemoryLike,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word a caller would look for
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Imported:
    """Import a file into a memory, in the named or detected format. ``options`` are those of the format's own function.

    Raises ``InvalidInput`` for an unknown format and for a pipe, and what the format's own function raises.
    """
    memory = as_memory(memory)
    backend = RawMemory.of(memory).backend
    check_is_file(Path(path))
    name = detect(path, backend) if format is None else format
    if name not in FORMATS:
        raise InvalidInput(f"unknown format {shown(name)}; known: {_NAMES}")
    decrypted = None if Path(path).is_dir() else decrypting(backend, Path(path))
    with decrypted or nullcontext():
        return FORMATS[name](memory, decrypted or path, strict=strict, progress=progress, **options)


def check_is_file(path: Path) -> None:
    """A file is read once to see what it is, and again to import it. Raises ``InvalidInput`` for what is read only once."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InvalidInput(f"{str(path)!r} is a pipe or a device, not a file: write what it gives to a file first")


# Memories as a Markdown document, for people to read

_BATCH = 100
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")


class _Key(NamedTuple):
    """The sort key of a memory in a document."""

    time: datetime
    id: str
    has_more: bool
    """Whether it has blobs or a feature vector, which a document does not hold."""


def export_markdown(
    memory: MemoryLike, file: FileLike, *, forgotten: bool = True, progress: Progress | None = None
) -> int:
    """Write the memories of a space as a document, with a heading for each session or day; returns how many there are.

    Forgotten and superseded memories are at its end; ``forgotten=False`` leaves them out. Of media it only has the texts,
    and says so at its beginning. Raises ``FileError`` when the file cannot be written; then it is as it was.
    """
    memory = as_memory(memory)
    raw = RawMemory.of(memory)
    sections = _sections(raw.records(), forgotten=forgotten)
    total = sum(map(len, sections.values()))
    done = 0
    with written(file) as out:
        space = msgspec.json.encode(tuple(memory.space)).decode()
        front = f"---\nmemwell: 1\nspace: {space}\nexported: {memory.clock().isoformat()}\n---\n\n# Memories\n"
        out.write(front.encode())
        out.write(_left_out(sum(key.has_more for keys in sections.values() for key in keys)).encode())
        for heading, keys in sections.items():
            out.write(f"\n{heading}\n\n".encode())
            for start in range(0, len(keys), _BATCH):
                for record in raw.backend.index.get(raw.space, [key.id for key in keys[start : start + _BATCH]]):
                    out.write(_bullet(record.text).encode())
                    done += 1
                if progress is not None:
                    progress(done, total)
    return done


def _bullet(text: str) -> str:
    """A text as an item of a list. A further line is indented, so that it is neither a heading nor another item."""
    first, *more = _LINE_ENDS.sub("\n", text).split("\n")
    return "".join(f"{line}\n" for line in (f"- {first}".rstrip(), *(f"  {line}".rstrip() for line in more)))


def _left_out(media: int) -> str:
    """The remark of the document on its media."""
    if not media:
        return ""
    what = "one medium" if media == 1 else f"{media:,} media"
    return f"\n> The words of {what}, without bytes and features: an export that ends in .jsonl holds those too.\n"


def _sections(records: Iterator[Record], *, forgotten: bool) -> dict[str, list[_Key]]:
    """The headings of a document in order, with the memories under each."""
    found: dict[str, list[_Key]] = {}
    for record in records:
        traits = traits_of(record)
        if forgotten or traits.active:
            key = _Key(record.time, record.id, bool(traits.blobs or traits.features))
            found.setdefault(_heading(record), []).append(key)
    for keys in found.values():
        keys.sort()
    return dict(sorted(found.items(), key=lambda one: (one[0].startswith("# "), one[1][0], one[0])))


def _heading(record: Record) -> str:
    traits = traits_of(record)
    if not traits.active:
        return f"# {traits.status.capitalize()}" if traits.status.isidentifier() else "# Hidden"
    if traits.session:
        return f"## Session {msgspec.json.encode(traits.session).decode()}"
    return f"## {record.time.date().isoformat()}"


__all__ = [
    "FORMATS",
    "Imported",
    "MoveRefused",
    "Moved",
    "Note",
    "Progress",
    "detect",
    "export_format",
    "export_jsonl",
    "export_markdown",
    "export_mcp",
    "import_chatgpt",
    "import_csv",
    "import_file",
    "import_graphiti",
    "import_jsonl",
    "import_langchain",
    "import_letta",
    "import_mcp",
    "import_mem0",
    "import_text",
    "move",
]
