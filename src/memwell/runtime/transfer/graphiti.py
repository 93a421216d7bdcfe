"""Imports from Zep and Graphiti: episodes, nodes and edges of a graph, as their APIs and models give them as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memwell.errors import InvalidInput
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.runtime.transfer.files import (
    FileLike,
    Imported,
    Piece,
    Progress,
    Reading,
    decoded,
    few,
    list_of,
    parts_of,
    read_piece,
)
from memwell.runtime.transfer.intake import Arrival, Intake, as_moment, as_object, as_text
from memwell.values import check_id, check_text

_PARTS = ("episodes", "nodes", "edges")
_LEFT_OUT = frozenset({"uuid", "content", "fact", "fact_embedding", "name_embedding"})


def import_graphiti(
    memory: MemoryLike, file: FileLike, *, strict: bool = False, progress: Progress | None = None
) -> Imported:
    """Import a graph: an object with ``episodes``, ``nodes`` or ``edges``, or a list of one of them.

    An edge is a memory with its fact, an episode one with its content, a node one with its name and summary. The time is
    ``valid_at``, or else ``created_at``; a fact that stopped being true (``invalid_at``) or was replaced (``expired_at``)
    is left out. All other fields are in the metadata under ``graphiti``. Raises ``FileError`` when the file cannot be
    read.
    """
    intake = Intake(as_memory(memory), "graphiti", strict=strict)

    def read(piece: Piece) -> Sequence[Arrival]:
        found = read_piece(graphiti_memory, piece.data)
        if found is None:
            intake.counts.skip(piece.number, "it has nothing to remember, or is true no more")
        return () if found is None else (found,)

    return intake.take_file(file, _pieces, read, progress)


def _pieces(file: Reading) -> Iterator[Piece]:
    try:
        found, wrong = read_piece(_things, file.rest())
    except InvalidInput as error:
        yield Piece(0, b"", f"no graph of Zep or Graphiti: {error}")
        return
    for problem in wrong:
        yield Piece(0, b"", problem)
    for number, one in enumerate(found, 1):
        yield Piece(number, one)


def _things(data: bytes) -> tuple[list[bytes], list[str]]:
    """The episodes, nodes and edges of a file, each as JSON, and what is wrong with others. Raises ``InvalidInput``."""
    whole = parts_of(data)
    if not isinstance(whole, dict):
        return [bytes(one) for one in whole], []
    if not any(part in whole for part in _PARTS):
        raise InvalidInput(f"it has none of {', '.join(_PARTS)}")
    found, wrong = list[bytes](), list[str]()
    for part in _PARTS:
        try:
            found += map(bytes, list_of(bytes(whole[part])) if part in whole else ())
        except InvalidInput as error:
            wrong.append(f"the {part} are no list: {error}")
    return found, wrong


def graphiti_memory(data: bytes) -> Arrival | None:
    """The memory of an episode, a node or an edge; None for one without a text or that is true no more."""
    item = as_object(decoded(data), "an episode, a node or an edge")
    if "fact" in item:
        kind, text = "edge", as_text(item["fact"], "a fact")
        if item.get("invalid_at") or item.get("expired_at"):
            return None
    elif "content" in item:
        kind, text = "episode", as_text(item["content"], "an episode's content")
    else:
        summary = check_text(item.get("summary") or "", "a node's summary").strip()
        kind, text = "node", f"{as_text(item.get('name'), 'the name of a node')}: {summary}"
        if not summary:
            return None
    session = item.get("session_id") or item.get("thread_id") or ""
    return few(
        Arrival(
            id=f"graphiti:{check_id(item.get('uuid') or item.get('uuid_'), 'a uuid')}",
            text=text.strip(),
            time=as_moment(item.get("valid_at"), "valid_at") or as_moment(item.get("created_at"), "created_at"),
            session=check_text(session, "a session"),
            metadata={
                "graphiti": {
                    "kind": kind,
                    **{key: value for key, value in item.items() if key not in _LEFT_OUT and value is not None},
                }
            },
            # Facts and summaries are what a model made of the episodes.
            trust="user" if kind == "episode" and item.get("role") not in ("assistant", "system") else "model",
        )
    )
