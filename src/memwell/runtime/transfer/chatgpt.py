"""ChatGPT's ``conversations.json``: every conversation a tree, of which the branch last looked at is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from memwell.errors import InvalidInput
from memwell.longterm.remembering import Rememberer
from memwell.messages import Message, Role, Text
from memwell.runtime.transfer.files import FileLike, Piece, decoded, items, reading
from memwell.runtime.transfer.incoming import Intake, Talk, as_list, as_moment, as_object, derived_id
from memwell.runtime.transfer.report import Imported, Progress
from memwell.values import check_id, check_text, shown

_ROLES = {"user": Role.HUMAN, "assistant": Role.AI}
_WORDED = frozenset({"text", "multimodal_text"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def import_chatgpt(
    memory: Rememberer,
    file: FileLike,
    *,
    remember: bool = True,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Make conversations of an export of ChatGPT and remember their messages, which ``remember=False`` leaves out.

    What the user and the assistant said is taken, with its time; instructions, tools' messages and thoughts are not. Raises
    ``FileError`` when the file cannot be read.
    """
    intake = Intake(memory, "chatgpt", strict=strict)

    def read(piece: Piece) -> Sequence[Talk]:
        return (_talk(as_object(decoded(piece.data), "a conversation"), remember=remember),)

    with reading(file, progress) as source:
        return intake.take_all(items(source, ("conversations",)), read)


def _talk(item: dict[str, Any], *, remember: bool) -> Talk:
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
    return Talk(id=check_id(id_, "a conversation's id"), messages=messages, metadata=metadata, remember=remember)


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
    """The nodes from the root to the one last looked at. Raises ``InvalidInput`` when they lead nowhere or in a circle."""
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
    """The last node that has no children: where the conversation ended, when the export does not say."""
    leaves = [id_ for id_, node in mapping.items() if not as_object(node, "a node").get("children")]
    return leaves[-1] if leaves else None


def _role(raw: dict[str, Any]) -> Role | None:
    """Who says it, or None when it was never shown."""
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
    """The words of a part; of what is no text, what it was."""
    if isinstance(part, str):
        return check_text(part, "a message's text")
    match as_object(part, "a part of a message"):
        case {"content_type": "audio_transcription", "text": str(text)} | {"content_type": "text", "text": str(text)}:
            return check_text(text, "a message's text")
        case {"content_type": str(kind), "asset_pointer": str(pointer)}:
            return check_text(f"[{kind.split('_', 1)[0]}: {pointer}]", "a message's text")
        case other:
            return f"[{shown(other.get('content_type') or 'part')}]"


__all__ = ["import_chatgpt"]
