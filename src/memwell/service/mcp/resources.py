"""The MCP resources of a memory: memories, conversations and documents, listed page by page and read by their addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import parse_qs, quote, unquote, urlsplit

import mcp_types as types

from memwell.errors import InvalidInput, NotFound
from memwell.runtime.engine import Engine
from memwell.service.mcp.graph import KnowledgeGraph
from memwell.service.mcp.tools import entry, fenced, json_of, language_for, memory_item
from memwell.values import shown

SCHEME = "memwell"
GRAPH = f"{SCHEME}://graph"
PAGE = 50
MESSAGES = 100
CHARACTERS = 50_000
"""How much of a document is read at once."""

_SHORT = 8
_MADE_ID = re.compile("[0-9a-f]{32,64}")
_PLAIN_ID = re.compile("[A-Za-z0-9][A-Za-z0-9._:@-]{0,31}")


def _template(kind: str, query: str, name: str, title: str, description: str) -> types.ResourceTemplate:
    pattern = f"{SCHEME}://{kind}/{{id}}{query}"
    return types.ResourceTemplate(
        uri_template=pattern, name=name, title=title, description=description, mime_type="text/plain"
    )


TEMPLATES = (
    _template("memories", "", "memory", "A memory", "One memory with all that is known of it. 一条记忆及其全部信息。"),
    _template(
        "conversations",
        "{?cursor}",
        "conversation",
        "A conversation",
        f"The last {MESSAGES} messages of a conversation; with the cursor it names, those before. 会话的消息，新的在后。",
    ),
    _template(
        "documents",
        "{?start}",
        "document",
        "A document",
        f"The text of a document from a place on, {CHARACTERS:,} characters at once. 文档的正文。",
    ),
)


# Listing: first the graph and the memories, then conversations, then documents


def listed(memory: Engine, cursor: str | None) -> tuple[list[types.Resource], str | None]:
    """One page of the resources, and the cursor of the next. Raises ``InvalidInput`` for an unknown cursor."""
    kind, _, place = (cursor or "memories:").partition(":")
    lister = _LISTERS.get(kind)
    if lister is None:
        raise InvalidInput(f"no page begins at the cursor {shown(cursor)}")
    found, following = lister(memory, place or None)
    if following is not None:
        return found, f"{kind}:{following}"
    kinds = list(_LISTERS)
    later = kinds[kinds.index(kind) + 1 :]
    return found, f"{later[0]}:" if later else None


def _memories(memory: Engine, place: str | None) -> tuple[list[types.Resource], str | None]:
    page = memory.page(limit=PAGE, cursor=place)
    found = [_listing("memories", one.id, f"of {one.time:%Y-%m-%d}") for one in page.items]
    if place is None:
        about = "The knowledge graph: entities, observations, relations."
        found.insert(0, types.Resource(uri=GRAPH, name="graph", description=about, mime_type="application/json"))
    return found, page.next


def _conversations(memory: Engine, place: str | None) -> tuple[list[types.Resource], str | None]:
    page = memory.threads(limit=PAGE, cursor=place)
    return [_listing("conversations", one.thread.id, f"{one.messages} messages") for one in page.items], page.next


def _documents(memory: Engine, place: str | None) -> tuple[list[types.Resource], str | None]:
    start = _number(place or "0", "a cursor")
    found = memory.knowledge.documents()
    piece = found[start : start + PAGE]
    following = str(start + PAGE) if len(found) > start + PAGE else None
    return [_listing("documents", one.id, f"added {one.time:%Y-%m-%d}") for one in piece], following


_LISTERS: dict[str, Callable[[Engine, str | None], tuple[list[types.Resource], str | None]]] = {
    "memories": _memories,
    "conversations": _conversations,
    "documents": _documents,
}


def _listing(kind: str, id_: str, about: str) -> types.Resource:
    name = f"{kind.removesuffix('s') if kind != 'memories' else 'memory'} {_short(id_)}, {about}"
    description = f"A {name}. Reading it shows what it holds, as data."
    return types.Resource(uri=uri_of(kind, id_), name=name, description=description, mime_type="text/plain")


def _short(id_: str) -> str:
    """The beginning of an id; of one that could be words, its digest."""
    if _MADE_ID.fullmatch(id_):
        return id_[:_SHORT]
    return id_ if _PLAIN_ID.fullmatch(id_) else sha256(id_.encode(errors="surrogatepass")).hexdigest()[:_SHORT]


def uri_of(kind: str, id_: str) -> str:
    """The address of a memory, a conversation or a document."""
    return f"{SCHEME}://{kind}/{quote(id_, safe='')}"


# Reading


def read(memory: Engine, uri: str) -> types.TextResourceContents:
    """The resource at an address. Raises ``NotFound`` when there is none, ``InvalidInput`` for another kind of address."""
    if uri == GRAPH:
        lines = list(KnowledgeGraph(memory).read().lines())
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=json_of(lines))
    kind, id_, options = _parsed(uri)
    match kind:
        case "memories":
            text = _memory(memory, id_)
        case "conversations":
            text = _conversation(memory, id_, options.get("cursor"))
        case "documents":
            text = _document(memory, id_, _number(options.get("start", "0"), "start"))
        case _:
            raise NotFound(f"there is no resource {shown(uri)}")
    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)


def _parsed(uri: str) -> tuple[str, str, dict[str, str]]:
    try:
        parts = urlsplit(uri)
        options = {key: values[-1] for key, values in parse_qs(parts.query, max_num_fields=4).items()}
        id_ = unquote(parts.path.removeprefix("/"), errors="strict")
    except ValueError:
        raise InvalidInput(f"expected an address such as {SCHEME}://memories/ID, not {shown(uri)}") from None
    if parts.scheme != SCHEME or not id_:
        raise InvalidInput(f"expected an address such as {SCHEME}://memories/ID, not {shown(uri)}")
    return parts.netloc, id_, options


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidInput(f"{what} must be a whole number, not {shown(text)}")
    return int(text)


def _memory(memory: Engine, id_: str) -> str:
    found = memory.get(id_)
    known = memory_item(found)
    heading = (known.time, known.speaker, known.trust, known.kind, *known.flags)
    return fenced([entry(1, heading, found.text, (f"id {found.id}",))], language_for(found.text))


def _conversation(memory: Engine, id_: str, cursor: str | None) -> str:
    history = memory.thread(id_)
    if history.info() is None:
        raise NotFound(f"there is no conversation {shown(id_)}")
    page = history.page(limit=MESSAGES, cursor=cursor, newest_first=True)
    said = [one for one in reversed(page.items) if one.text.strip()]
    shown_turns = [
        entry(number, (one.time.isoformat(timespec="seconds"), one.role.value, one.name or ""), one.text)
        for number, one in enumerate(said, start=1)
    ]
    earlier = "" if page.next is None else f"\nEarlier messages: {uri_of('conversations', id_)}?cursor={page.next}"
    return fenced(shown_turns, language_for(" ".join(one.text[:200] for one in said))) + earlier


def _document(memory: Engine, id_: str, start: int) -> str:
    document = memory.knowledge.get(id_)
    text = memory.knowledge.text(id_)
    piece = text[start : start + CHARACTERS]
    end = start + len(piece)
    heading = (document.title, document.source, f"{start}–{end} / {len(text)}")
    more = "" if end >= len(text) else f"\nGoes on: {uri_of('documents', id_)}?start={end}"
    return fenced([entry(1, heading, piece)], language_for(piece)) + more
