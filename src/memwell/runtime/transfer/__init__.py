"""Import, export and move: memories as files in memwell's own formats and those of other products, and whole stores."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from memwell.errors import InvalidInput
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.runtime.transfer.agentscope import import_agentscope
from memwell.runtime.transfer.files import Imported, Note, Progress, opened
from memwell.runtime.transfer.jsonl import export_jsonl, import_jsonl
from memwell.runtime.transfer.markdown import export_markdown
from memwell.runtime.transfer.moving import Moved, MoveRefused, move
from memwell.runtime.transfer.products import (
    TEXT_COLUMNS,
    export_mcp,
    import_chatgpt,
    import_csv,
    import_langchain,
    import_mcp,
    import_mem0,
    import_text,
)
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
    "csv": import_csv,
    "text": import_text,
}
_NAMES = ", ".join(FORMATS)


def detect(path: str | os.PathLike[str]) -> str:
    """The format of a file, one of ``FORMATS``, by its beginning and, if that is not enough, its name.

    Raises ``InvalidInput`` for an unknown format and for a file that is named like JSON and is not, and ``FileError``
    when it cannot be read.
    """
    with opened(Path(path)) as file:
        head = file.read(_HEAD).removeprefix(_BOM).lstrip()
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
    if _key("memory").search(head) or _key("results").match(head[1:].lstrip()):
        return "mem0"
    if (_key("type").search(head) and _key("data").search(head)) or head.replace(b" ", b"").rstrip() == b"[]":
        return "langchain"
    return None


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
    """The format of an export, by the ending of its file. Raises ``InvalidInput`` for another ending."""
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

    Raises ``InvalidInput`` for an unknown format, and what the format's own function raises.
    """
    memory = as_memory(memory)
    name = detect(path) if format is None else format
    if name not in FORMATS:
        raise InvalidInput(f"unknown format {shown(name)}; known: {_NAMES}")
    return FORMATS[name](memory, path, strict=strict, progress=progress, **options)


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
    "import_agentscope",
    "import_chatgpt",
    "import_csv",
    "import_file",
    "import_jsonl",
    "import_langchain",
    "import_mcp",
    "import_mem0",
    "import_text",
    "move",
]
