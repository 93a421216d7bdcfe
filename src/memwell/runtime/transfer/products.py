"""Imports from other products: ChatGPT, LangChain, MCP's reference memory server, plain text and CSV."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.language.quoting import clean
from memwell.language.secrets import findings, redacted
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.remembering import Rememberer
from memwell.longterm.traits import own_metadata, traits_of
from memwell.messages import Message, Role, Text
from memwell.runtime.transfer.files import (
    FileLike,
    Imported,
    Piece,
    Progress,
    Reading,
    decoded,
    few,
    items,
    lines,
    read_piece,
    reading,
    written,
)
from memwell.runtime.transfer.intake import (
    Arrival,
    Intake,
    RawMemory,
    Talk,
    as_list,
    as_moment,
    as_object,
    as_text,
    derived_id,
)
from memwell.transcript.langchain import from_langchain
from memwell.values import check_id, check_json, check_text, shown

# ChatGPT: ``conversations.json``. A conversation is a tree; its current branch is imported.


_ROLES = {"user": Role.HUMAN, "assistant": Role.AI}
_WORDED = frozenset({"text", "multimodal_text"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def import_chatgpt(
    memory: MemoryLike, file: FileLike, *, remember: bool = True, strict: bool = False, progress: Progress | None = None
) -> Imported:
    """Import the conversations of an export of ChatGPT and, unless ``remember=False``, remember their messages.

    What the user and the assistant said is imported, with its time; instructions, tools' messages and thoughts are not.
    Raises ``FileError`` when the file cannot be read.
    """

    def read(piece: Piece) -> Sequence[Talk]:
        return (read_piece(chatgpt_talk, piece.data, remember),)

    intake = Intake(as_memory(memory), "chatgpt", strict=strict)
    return intake.take_file(file, partial(items, keys=("conversations",)), read, progress)


def chatgpt_talk(data: bytes, remember: bool) -> Talk:
    """A conversation of an export. Raises ``InvalidInput``."""
    item = as_object(decoded(data), "a conversation")
    given = item.get("conversation_id") or item.get("id")
    began = as_moment(item.get("create_time"), "create_time")
    messages = list(_messages(item, began or _EPOCH))
    id_ = given or derived_id("chatgpt", item.get("title"), item.get("create_time"))
    metadata: dict[str, Any] = {"source": "chatgpt"}
    if item.get("title") is not None:
        metadata["title"] = check_text(item["title"], "a conversation's title")
    for field in ("create_time", "update_time"):
        moment = as_moment(item.get(field), field)
        if moment is not None:
            metadata[field] = moment.isoformat()
    id_ = check_id(id_, "a conversation's id")
    return few(Talk(id=id_, messages=messages, metadata=metadata, remember=remember))


def _messages(item: dict[str, Any], began: datetime) -> Iterator[Message]:
    time = began
    for id_, node in _branch(item):
        raw = node.get("message")
        if raw is None:
            continue
        raw = as_object(raw, "a message")
        time = as_moment(raw.get("create_time"), "create_time") or time
        role, text = _role(raw), _text(raw)
        if role is not None and text:
            yield Message(role, (Text(text),), id=check_id(raw.get("id") or id_, "a message's id"), time=time)


def _branch(item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The nodes from the root to the current one. Raises ``InvalidInput`` for a missing node or a cycle."""
    mapping = as_object(item.get("mapping"), "a conversation's mapping")
    found: list[tuple[str, dict[str, Any]]] = []
    seen: set[str] = set()
    at = item.get("current_node") or _newest(mapping)
    while at is not None:
        if not isinstance(at, str) or at not in mapping:
            raise InvalidInput(f"a conversation has no node {shown(at)}")
        if at in seen:
            raise InvalidInput(f"a conversation goes round in a circle at the node {shown(at)}")
        seen.add(at)
        node = as_object(mapping[at], "a node")
        found.append((at, node))
        at = node.get("parent")
    return found[::-1]


def _newest(mapping: dict[str, Any]) -> str | None:
    """The last node without children: the end of the conversation when the export does not name it."""
    leaves = [id_ for id_, node in mapping.items() if not as_object(node, "a node").get("children")]
    return leaves[-1] if leaves else None


def _role(raw: dict[str, Any]) -> Role | None:
    """The role of the author; None for a message that was not shown."""
    author = as_object(raw.get("author") or {}, "an author")
    hidden = as_object(raw.get("metadata") or {}, "a message's metadata").get("is_visually_hidden_from_conversation")
    if hidden or raw.get("weight") == 0 or raw.get("recipient", "all") not in ("all", None):
        return None
    role = author.get("role")
    return _ROLES.get(role) if isinstance(role, str) else None


def _text(raw: dict[str, Any]) -> str:
    content = as_object(raw.get("content") or {}, "a message's content")
    kind = content.get("content_type", "text")
    if not isinstance(kind, str) or kind not in _WORDED:
        return ""
    parts = as_list(content.get("parts") or [], "a message's parts")
    return "\n".join(filter(None, map(_part, parts))).strip()


def _part(part: Any) -> str:
    """The text of a part; a description of what is no text."""
    if isinstance(part, str):
        return check_text(part, "a message's text")
    match as_object(part, "a part of a message"):
        case {"content_type": "audio_transcription", "text": str(text)} | {"content_type": "text", "text": str(text)}:
            return check_text(text, "a message's text")
        case {"content_type": str(kind), "asset_pointer": str(pointer)}:
            return check_text(f"[{kind.split('_', 1)[0]}: {pointer}]", "a message's text")
        case other:
            return f"[{shown(other.get('content_type') or 'part')}]"


# LangChain: ``FileChatMessageHistory``, a JSON list of messages, each with a type and data.


def import_langchain(
    memory: MemoryLike,
    file: FileLike,
    *,
    thread: str | None = None,
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import a history file as a conversation, named ``thread`` or like the file; with ``remember`` also remember it.

    The file has no times: a message gets that of the import. A file that has grown continues its conversation; where a
    conversation of another origin has the name, this one gets a longer name. Raises ``FileError`` when it cannot be read.
    """
    memory = as_memory(memory)
    is_path = isinstance(file, str | os.PathLike)
    origin = str(Path(file).resolve()) if is_path else "langchain"
    names = OwnNames(memory, origin)
    name = thread or names[Path(file).stem if is_path else "langchain"]
    intake = Intake(memory, "langchain", strict=strict)

    def read(piece: Piece) -> Sequence[Talk]:
        return (read_piece(langchain_talk, piece.data, name, piece.number, names.origin, remember),)

    return intake.take_file(file, partial(items, keys=("messages",)), read, progress)


class OwnNames(dict[str, str]):
    """The names of imported conversations, by the names they have at one origin.

    Two files may be called ``chat.json``, and two databases may have a session of the same name. The first one imported
    gets the name; another one gets a suffix that is derived from its origin.
    """

    def __init__(self, memory: Rememberer, origin: str) -> None:
        super().__init__()
        self._memory = memory
        self.origin = blake2b(origin.encode(errors="surrogatepass"), digest_size=8).hexdigest()

    def __missing__(self, name: str) -> str:
        found = self._memory.backend.log.threads(self._memory.space, ids=[name]).items
        is_ours = not found or found[0].metadata.get("origin", self.origin) == self.origin
        self[name] = own = name if is_ours else f"{name} ({self.origin[:6]})"
        return own


def langchain_talk(data: bytes, thread: str, number: int, origin: str, remember: bool) -> Talk:
    """The message with this number (from 1) of a conversation. Raises ``InvalidInput`` for anything else."""
    item = as_object(decoded(data), "a message of LangChain")
    content = as_object(item.get("data"), "the data of a message of LangChain").get("content", "")
    check_json(content, "the content of a message")
    # The id has the number: a text may occur twice, and a file only grows at its end.
    written = msgspec.json.encode([item.get("type"), content], order="sorted").decode()
    message = from_langchain(item, id=derived_id("langchain", thread, number, written))
    metadata = {"source": "langchain", "origin": origin}
    return few(Talk(id=thread, messages=[message], metadata=metadata, remember=remember))


# Plain files: text, a memory a line, and CSV, a memory a row.


TEXT_COLUMNS = ("text", "memory", "content", "note", "message", "内容", "文本", "记忆")
TIME_COLUMNS = ("time", "date", "timestamp", "created_at", "时间", "日期")
_HEADING = re.compile("#{1,6} ")
_LONGEST = 1 << 20
"""The most bytes of a line of a plain file."""


def import_text(
    memory: MemoryLike, file: FileLike, *, strict: bool = False, progress: Progress | None = None
) -> Imported:
    """Remember every line of a text that is not empty, without list markers. Headings of Markdown are left out.

    Raises ``FileError`` when the file cannot be read.
    """
    intake = Intake(as_memory(memory), "text", strict=strict)
    return intake.take_file(file, partial(lines, longest=_LONGEST), _line, progress)


def _line(piece: Piece) -> Sequence[Arrival]:
    text = _decoded(piece.data).strip()
    if _HEADING.match(text):
        return ()
    for mark in ("- ", "* ", "• "):
        text = text.removeprefix(mark)
    text = as_text(text.strip(), "a line")
    return (Arrival(id=derived_id("text", text), text=text),)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the line is not UTF-8: {error}") from error


def import_csv(
    memory: MemoryLike,
    file: FileLike,
    *,
    text: str | None = None,
    time: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Remember every row of a table: the column ``text`` is the memory, ``time`` its time (ISO 8601 or seconds since 1970),
    and the others are metadata. By default these are columns called ``text``, ``content``, ``time`` and the like.

    Raises ``InvalidInput`` when there is no column of text, and ``FileError`` when the file cannot be read.
    """
    intake = Intake(as_memory(memory), "csv", strict=strict)
    with reading(file, progress) as source:
        rows = _rows(source)
        first = next(rows, None)
        names = [name.strip() for name in decoded(first.data)] if first is not None and first.data else []
        said, when = _column(names, text, TEXT_COLUMNS), _column(names, time, TIME_COLUMNS)
        if said is None or (time is not None and when is None):
            missing = (text or "text") if said is None else time
            raise InvalidInput(f"the table has no column {shown(missing)}, only {shown(names)}")
        return intake.take_all(rows, lambda piece: _row(names, decoded(piece.data), said, when))


def _rows(source: Reading) -> Iterator[Piece]:
    """The rows of a table as JSON lists, that of the column names first. The length of a row is bounded."""
    size = 0

    def texts() -> Iterator[str]:
        nonlocal size
        mark = "\ufeff"
        while line := source.line(_LONGEST):
            # A text in quotes may go on in the next line, and so may its row.
            size += len(line)
            if size > 2 * _LONGEST:
                raise csv.Error(f"it is longer than {2 * _LONGEST:,} bytes, and so is not read on")
            yield line.decode("utf-8", "surrogateescape").removeprefix(mark)
            mark = ""

    reader, number = csv.reader(texts(), strict=True), -1
    while True:
        number, size = number + 1, 0
        try:
            row = next(reader, None)
            if row is None:
                return
            if row:
                yield Piece(number, msgspec.json.encode(row))
        except csv.Error as error:
            yield Piece(number, b"", f"the row cannot be read: {error}")
        except UnicodeEncodeError:
            yield Piece(number, b"", "the row is not UTF-8")


def _column(names: Sequence[str], wanted: str | None, usual: Sequence[str]) -> str | None:
    if wanted is not None:
        return wanted if wanted in names else None
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def _row(names: list[str], values: list[str], said: str, when: str | None) -> Sequence[Arrival]:
    if len(values) > len(names):
        raise InvalidInput(f"the row has {len(values)} values for {len(names)} columns")
    row = dict(zip(names, values, strict=False))
    text = as_text(row.get(said, "").strip(), f"the column {said!r}")
    moment = row.get(when, "").strip() if when is not None else ""
    metadata: dict[str, Any] = {
        name: value for name, value in row.items() if name and value and name not in (said, when)
    }
    time = as_moment(float(moment) if _is_number(moment) else moment, f"the column {when!r}")
    id_ = derived_id("csv", *(f"{name}={value}" for name, value in sorted(row.items())))
    return (Arrival(id=id_, text=text, time=time, metadata=metadata),)


def _is_number(text: str) -> bool:
    # 2026 and 20260501 are dates, not seconds since 1970.
    return text.replace(".", "", 1).isdecimal() and text.isascii() and len(text.split(".", maxsplit=1)[0]) in (10, 9)


# The knowledge graph of the MCP reference memory server: JSONL of entities with observations, and of relations.


KEY = "mcp"
"""The key of the metadata that says which part of a graph a memory is."""


def import_mcp(
    memory: MemoryLike, file: FileLike, *, strict: bool = False, progress: Progress | None = None
) -> Imported:
    """Remember a knowledge graph. Raises ``FileError`` when the file cannot be read."""

    def read(piece: Piece) -> Sequence[Arrival]:
        return read_piece(mcp_memories, piece.data)

    return Intake(as_memory(memory), "mcp", strict=strict).take_file(file, lines, read, progress)


def mcp_memories(data: bytes) -> list[Arrival]:
    """The memories of a line of a graph. Raises ``InvalidInput``."""
    item = as_object(decoded(data), "a line of an MCP memory")
    match item.get("type"):
        case "entity":
            return few(_entity(item))
        case "relation":
            return [
                related(*(as_text(item.get(key), f"a relation's {key}") for key in ("from", "to", "relationType"))),
            ]
        case other:
            raise InvalidInput(f"a line of an MCP memory is an entity or a relation, not {shown(other)}")


def _entity(item: dict[str, Any]) -> list[Arrival]:
    name, kind = as_text(item.get("name"), "an entity's name"), as_text(item.get("entityType"), "an entity's type")
    observations = as_list(item.get("observations"), "an entity's observations")
    said = dict.fromkeys(check_text(one, "an observation") for one in observations)
    # An entity without observations is a memory too.
    parts = (observed(name, kind, one) for one in [one for one in said if clean(one)] or [None])
    return list({one.id: one for one in parts}.values())


def plain_name(name: str) -> str:
    """A name or a type as it is stored, without blanks around it: a model that adds a blank means the same one."""
    return name.replace("\t", " ").strip()


def observed(name: str, kind: str, observation: str | None) -> Arrival:
    """The memory of an observation of an entity; with None, of the entity alone.

    Secrets in the observation are redacted. Raises ``InvalidInput`` for a secret in the name or type.
    """
    name, kind = plain_name(name), plain_name(kind)
    mcp = {"entity": name, "entityType": kind}
    if observation is None:
        _check_open(f"{name}: {kind}")
        return _mcp_arrival(mcp, name, kind, "entity")
    mcp["observation"] = _without_secrets(name, observation)
    return _mcp_arrival(mcp, name, kind, f"says {mcp['observation']}")


def related(from_: str, to: str, kind: str) -> Arrival:
    """The memory of a relation. Raises ``InvalidInput`` when there is a secret in it."""
    mcp = {"from": plain_name(from_), "to": plain_name(to), "relationType": plain_name(kind)}
    _check_open(_sentence(mcp))
    return _mcp_arrival(mcp, *mcp.values())


def _mcp_arrival(mcp: dict[str, str], *named: str) -> Arrival:
    return Arrival(id=derived_id("mcp", *named), text=_sentence(mcp), metadata={KEY: mcp}, trust="document")


def _without_secrets(name: str, observation: str) -> str:
    """An observation with secrets redacted: the gate does not judge the copy in the metadata."""
    front = f"{name}: "
    secrets = [one for one in findings(front + observation) if one.secret]
    if not secrets:
        return observation
    kept = redacted(front + observation, secrets)
    if not kept.startswith(front):
        raise InvalidInput("the name of an entity must not hold a secret")
    return kept.removeprefix(front)


def _check_open(sentence: str) -> None:
    if any(one.secret for one in findings(sentence)):
        raise InvalidInput("the names and types of entities and relations must not hold a secret")


def _sentence(mcp: dict[str, str]) -> str:
    """A part of the graph as a sentence."""
    if "relationType" in mcp:
        return f"{mcp['from']} {mcp['relationType'].replace('_', ' ')} {mcp['to']}."
    if "observation" in mcp:
        return f"{mcp['entity']}: {mcp['observation']}"
    return f"{mcp['entity']}: {mcp['entityType']}"


class Observed(msgspec.Struct, frozen=True):
    """An observation of an entity; None for the entity alone."""

    name: str
    kind: str
    observation: str | None


class McpRelation(msgspec.Struct, frozen=True):
    """A relation between two entities."""

    from_: str
    to: str
    kind: str


def part_of(text: str, metadata: Mapping[str, Any]) -> Observed | McpRelation | None:
    """The part of a graph that a memory is, by its text and its metadata; None when it is none.

    An edited memory is an observation of its current text.
    """
    mcp = _mcp_of(metadata)
    if not mcp:
        return None
    unchanged = text == _sentence(mcp)
    if "relationType" in mcp:
        return McpRelation(mcp["from"], mcp["to"], mcp["relationType"]) if unchanged else None
    said = mcp.get("observation") if unchanged else text.removeprefix(f"{mcp['entity']}: ")
    return Observed(mcp["entity"], mcp["entityType"], said)


def _mcp_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The metadata of a part of a graph; empty for another memory, or when another program uses the key."""
    found: Any = metadata.get(KEY)
    if not isinstance(found, dict):
        return {}
    try:
        mcp = msgspec.convert(found, dict[str, str])
    except msgspec.ValidationError:
        return {}
    whole = {"from", "to", "relationType"} <= mcp.keys() or {"entity", "entityType"} <= mcp.keys()
    return mcp if whole else {}


class Entity(msgspec.Struct):
    """An entity of a graph. Its observations are the keys, in their order."""

    name: str
    kind: str
    observations: dict[str, None]


class McpGraph:
    """A graph of memories, in their order: the first one that names an entity determines its type."""

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.relations: dict[McpRelation, None] = {}

    def add(self, part: Observed | McpRelation) -> None:
        """Add a part."""
        if isinstance(part, McpRelation):
            self.relations[part] = None
            return
        entity = self.entities.setdefault(part.name, Entity(part.name, part.kind, {}))
        if part.observation is not None:
            entity.observations[part.observation] = None

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of its file."""
        for one in self.entities.values():
            named = {"name": one.name, "entityType": one.kind, "observations": list(one.observations)}
            yield {"type": "entity", **named}
        for one in self.relations:
            yield {"type": "relation", "from": one.from_, "to": one.to, "relationType": one.kind}


def export_mcp(memory: MemoryLike, file: FileLike, *, entity: str = "memories") -> int:
    """Write a knowledge graph for the MCP reference server, and return how many lines it has.

    Memories of an imported graph are written as they were; all others become observations of one entity of this name. The
    graph is in memory whole, as in the server. Raises ``FileError`` when the file cannot be written.
    """
    memory = as_memory(memory)
    graph = McpGraph()
    for record in RawMemory.of(memory).records():
        if traits_of(record).active:
            graph.add(part_of(record.text, own_metadata(record)) or Observed(entity, "memory", record.text))
    with written(file) as out:
        for line in graph.lines():
            out.write(msgspec.json.encode(line) + b"\n")
    return len(graph.entities) + len(graph.relations)
