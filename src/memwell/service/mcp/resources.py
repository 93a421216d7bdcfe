"""The MCP resources and prompts of a memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final, Literal, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

import mcp_types as types

from memwell.errors import InvalidInput, NotFound
from memwell.messages import Role
from memwell.runtime.engine import Engine
from memwell.runtime.wire.operations import READ, WRITE
from memwell.service.mcp.tools import entry, fenced, language_for, memory_item
from memwell.values import shown

# Prompts that a user picks in a client, in English and Chinese.

MOST_CHARACTERS = 10_000
_BUDGET = 4_000

_REMEMBER: Final = {
    "en": (
        "Go through our conversation so far and remember what will matter later.\n"
        "1. Pick what lasts: who I am, people and places, preferences, decisions, plans with their dates, corrections. "
        "Leave out small talk, secrets, and what you only said yourself.\n"
        "2. For each, call recall first; when it is known already, pass over it, and when it has changed, forget the old "
        "one.\n"
        "3. Call remember once for each thing, in a sentence that can be understood alone.\n"
        "4. Tell me in a short list what you remembered, and what you left out and why."
    ),
    "zh": (
        "请回顾我们到目前为止的对话，把以后用得上的内容记下来。\n"
        "1. 挑选长期有用的：我是谁、相关的人和地点、偏好、决定、带日期的计划、更正。"
        "不要记寒暄、密码之类的秘密，也不要记只是你自己说过的话。\n"
        "2. 每一条先调用 recall；已经知道的就跳过，有变化的就用 forget 忘掉旧的。\n"
        "3. 每件事调用一次 remember，写成单独也能看懂的一句话。\n"
        "4. 最后列出你记住了什么，略过了什么以及原因。"
    ),
}
_TOPIC: Final = {"en": "\nAttend to this above all:\n| {topic}", "zh": "\n请特别留意：\n| {topic}"}
_ANSWER: Final = {
    "en": "Answer the last message from these notes. Say when they do not answer it, and name the dates you rely on.",
    "zh": "请根据这些资料回答最后一条消息。资料不足时请直说，并指出所依据的日期。",
}


class PromptTemplate(NamedTuple):
    """One prompt: what clients see of it, the scope that it needs, and what makes its messages."""

    offered: types.Prompt
    scope: str
    makes: Callable[[Engine, Mapping[str, str]], list[types.PromptMessage]]

    def messages(self, memory: Engine, given: Mapping[str, str]) -> list[types.PromptMessage]:
        """The messages. Raises ``InvalidInput`` for an argument that is missing, unknown or too long."""
        name, arguments = self.offered.name, self.offered.arguments or []
        known = {one.name for one in arguments}
        for argument, value in given.items():
            if argument not in known:
                raise InvalidInput(f"the prompt {name} takes {', '.join(sorted(known))}, not {shown(argument)}")
            if len(value) > MOST_CHARACTERS:
                raise InvalidInput(f"{argument} has {len(value):,} characters, over {MOST_CHARACTERS:,}")
        for one in arguments:
            if one.required and not given.get(one.name, "").strip():
                raise InvalidInput(f"the prompt {name} needs {one.name}")
        return self.makes(memory, given)


def _language(given: Mapping[str, str], text: str) -> str:
    wanted = given.get("language") or None
    if wanted not in (None, "en", "zh"):
        raise InvalidInput(f"language must be en or zh, not {shown(wanted)}")
    return language_for(text, wanted)


def _message(text: str, role: Literal["user", "assistant"] = "user") -> types.PromptMessage:
    return types.PromptMessage(role=role, content=types.TextContent(text=text))


def _remember(memory: Engine, given: Mapping[str, str]) -> list[types.PromptMessage]:
    topic = " ".join(given.get("topic", "").split())
    language = _language(given, topic)
    return [_message(_REMEMBER[language] + (_TOPIC[language].format(topic=topic) if topic else ""))]


def _answer(memory: Engine, given: Mapping[str, str]) -> list[types.PromptMessage]:
    question = given["question"]
    language = _language(given, question)
    made = memory.context(question, budget=_BUDGET + len(question), language=language)
    turns = [_message(one.text, "assistant" if one.role is Role.AI else "user") for one in made.messages]
    return [_message(_ANSWER[language]), *turns]


def _argument(name: str, description: str, *, required: bool = False) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=required)


_LANGUAGE = _argument("language", "en or zh; that of what is asked by default. 语言：en 或 zh。")

PROMPTS = (
    PromptTemplate(
        types.Prompt(
            name="remember-this-conversation",
            title="Remember this conversation · 记住这次对话",
            description="Has the assistant pick what will matter later, and remember it. 让助手挑出以后有用的内容并记住。",
            arguments=[_argument("topic", "What to attend to above all. 特别留意什么。"), _LANGUAGE],
        ),
        WRITE,
        _remember,
    ),
    PromptTemplate(
        types.Prompt(
            name="answer-from-memory",
            title="Answer from memory · 根据记忆回答",
            description="Asks a question together with what is known about it. 连同已知的内容一起提问。",
            arguments=[_argument("question", "The question. 问题。", required=True), _LANGUAGE],
        ),
        READ,
        _answer,
    ),
)


# Resources

SCHEME = "memwell"
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


# Listing: first the memories, then conversations, then documents


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
    return [_listing("memories", one.id, f"of {one.time:%Y-%m-%d}") for one in page.items], page.next


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
