"""The description of the API (OpenAPI 3.1), made from the table of operations, and the bounds of its fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, cast

import msgspec
from msgspec import inspect

from memwell._package import VERSION
from memwell.errors import InvalidInput
from memwell.runtime.wire.codec import HTTP_KINDS, KINDS, MEDIA_TYPE, Problem, encode, schema_of
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, BYTES, JSON, Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.values import shown

_REFERENCE = "#/components/schemas/{name}"
_SPACE: dict[str, Any] = {
    "description": "A space below the key's, by its segments, for a key with the scope spaces.",
    "schema": {"type": "array", "items": {"type": "string", "minLength": 1}},
}
_ONCE = {"description": "A text of your own for this request: sent again with the same one, it is not done again."}
_ABOUT = """memwell holds what was said and what is known, and puts the right part of it back into the prompt.

Every request has a key, `Authorization: Bearer mw_…`, and the key says whose memory it is. With the scope `spaces` a
request may name a space below the key's own, as the parameter `space`; with `admin` any space, to look into it.

What changes something or begins a job may have an `Idempotency-Key`: however often it is sent, it has one effect. A time is
RFC 3339, in UTC where it names no zone, or a date, which is its midnight in UTC. Errors are `application/problem+json`.
"""


@cache
def description() -> bytes:
    """The whole description as JSON."""
    return json.dumps(described(), ensure_ascii=False).encode()


def described() -> dict[str, Any]:
    """The whole description."""
    shapes = [
        shape
        for route in OPERATIONS.values()
        # A query is described by its parameters.
        for shape in (None if route.takes_query else route.takes, route.gives, route.gives_also)
        if shape is not None
    ]
    _, components = _components(*shapes, Problem)
    for named, times in _times_in(*shapes):
        _mark_times(components[named], times)
    for asked in {route.takes for route in OPERATIONS.values() if route.takes is not None and not route.takes_query}:
        _describe_fields(asked, components[asked.__name__])
    for schema in components.values():
        if "description" in schema:
            # A docstring, without the indentation of the source.
            schema["description"] = _words(re.sub(r"\s*\n\s*", " ", schema["description"]))
    paths: dict[str, dict[str, Any]] = {}
    for route in OPERATIONS.values():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "memwell",
            "version": VERSION,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in OPERATIONS.values())],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "mw_<id>_<secret>"}},
        },
    }
    return _renamed(described, {name: _named(name) for name in components})


_PAGE_OF = re.compile("Page_(?:dict_.+|(.+))_")
_OTHER_NAMES = {"Version": "MessageVersion", "Record": "StoredRecord", "Found": "FoundPassage", "Count": "NamedCount"}
"""Schemas that have other names than their types, which say what they are among all others."""


def _named(name: str) -> str:
    """The name of a schema, as a generator of clients makes a class of it."""
    page = _PAGE_OF.fullmatch(name)
    if page is None:
        return _OTHER_NAMES.get(name, name)
    item = page[1] or "ChatMessage"
    return f"{_OTHER_NAMES.get(item, item[0].upper() + item[1:])}Page"


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """A description whose schemas have other names."""
    match value:
        case {"$ref": str(where)}:
            return {**value, "$ref": _REFERENCE.format(name=names[where.rsplit("/", 1)[-1]])}
        case {"anyOf": which, "discriminator": tagged, **rest}:
            # Exactly one, by its tag: generators of clients make a union of that, and of anyOf a mixture.
            targets = {
                tag: _REFERENCE.format(name=names[to.rsplit("/", 1)[-1]]) for tag, to in tagged["mapping"].items()
            }
            return {**rest, "oneOf": _renamed(which, names), "discriminator": {**tagged, "mapping": targets}}
        case {"schemas": schemas}:
            renamed = {names[name]: {**_renamed(one, names), "title": names[name]} for name, one in schemas.items()}
            return {**value, "schemas": renamed}
        case dict():
            return {key: _renamed(one, names) for key, one in cast("dict[str, Any]", value).items()}
        case list():
            return [_renamed(one, names) for one in cast("list[Any]", value)]
        case _:
            return value


def _operation(route: Operation) -> dict[str, Any]:
    summary, _, more = route.about.partition("\n")
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": _words(summary),
        "parameters": _parameters(route),
        "responses": {**_answers(route), **_problems(route)},
    }
    if more.strip() or route.scope != ANYONE:
        needs = f"Needs the scope `{route.scope}`." if route.scope not in (ANYONE, ANY_KEY) else ""
        operation["description"] = "\n\n".join(part for part in (_words(more.strip()), needs) if part)
    if route.scope == ANYONE:
        operation["security"] = []
    body = _body(route)
    if body is not None:
        operation["requestBody"] = body
    return operation


def _parameters(route: Operation) -> list[dict[str, Any]]:
    index, text = {"type": "integer", "minimum": 0}, {"type": "string", "minLength": 1}
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": index if name == "index" else text}
        for name in route.places
    ]
    if route.takes is not None and route.takes_query:
        schema = _describe_fields(route.takes, _components(route.takes)[1][route.takes.__name__])
        for _, times in _times_in(route.takes):
            _mark_times(schema, times)
        required = schema.get("required", ())
        for name, field in schema["properties"].items():
            about = {"description": field.pop("description")} if "description" in field else {}
            found.append({"name": name, "in": "query", "required": name in required, **about, "schema": field})
    if route.scope != ANYONE and not any(one["name"] == "space" for one in found) and not _takes_space(route):
        found.append({"name": "space", "in": "query", "required": False, **_SPACE, "explode": True})
    if route.has_effect:
        schema = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, **_ONCE, "schema": schema})
    return found


def _takes_space(route: Operation) -> bool:
    return "space" in getattr(route.takes, "__struct_fields__", ())


def _times_in(*types: Any) -> Iterator[tuple[str, frozenset[str]]]:
    """The structs in types that have fields with times, by the names of their schemas."""
    waiting: list[Any] = list(inspect.multi_type_info(types))
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, inspect.StructType) and one.cls.__name__ + str(one.fields) not in seen:
            seen.add(one.cls.__name__ + str(one.fields))
            times = [field.encode_name for field in one.fields if _is_time(field.type)]
            if times:
                yield one.cls.__name__, frozenset(times)
            waiting += [field.type for field in one.fields]
        waiting += getattr(one, "types", ()) or getattr(one, "item_types", ())
        waiting += [inner for name in ("item_type", "value_type") if (inner := getattr(one, name, None)) is not None]


def _is_time(type_: inspect.Type) -> bool:
    return any(isinstance(one, inspect.DateTimeType) for one in getattr(type_, "types", (type_,)))


def _mark_times(schema: dict[str, Any], times: frozenset[str]) -> None:
    for name in times:
        field = schema["properties"][name]
        for one in field.get("anyOf", (field,)):
            if one["type"] == "string":
                one["format"] = "date-time"


def _components(*types: Any) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return msgspec.json.schema_components(types, ref_template=_REFERENCE, schema_hook=schema_of)


def _describe_fields(asked: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """Add the description and the bounds of each field of a request."""
    for name, field in schema["properties"].items():
        least, most = bounds_of(asked.__name__, name)
        words = {"description": meaning_of(asked.__name__, name), "minimum": least, "maximum": most}
        field.update({word: value for word, value in words.items() if value not in (None, "")})
    return schema


def _body(route: Operation) -> dict[str, Any] | None:
    if route.upload:
        return {"required": False, "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}
    if route.takes is None or route.takes_query:
        return None
    content: dict[str, Any] = {"schema": {"$ref": _REFERENCE.format(name=route.takes.__name__)}}
    if route.name in REQUESTS:
        content["example"] = REQUESTS[route.name]
    return {"required": True, "content": {JSON: content}}


def _answers(route: Operation) -> dict[str, Any]:
    given = {str(route.status): _answer(route)}
    # Of what is refused nothing is created.
    return {"200": _answer(route), **given} if route.name == "remember" else given


def _answer(route: Operation) -> dict[str, Any]:
    if route.media_type != JSON or route.gives is None:
        # Files say themselves what they are; to a generator of clients all of them are bytes.
        binary = {"format": "binary"} if route.media_type == BYTES else {}
        return {"description": "As asked.", "content": {route.media_type: {"schema": {"type": "string", **binary}}}}
    schema = _components(route.gives)[0][0]
    if route.gives_also is not None:
        schema = {"anyOf": [schema, _components(route.gives_also)[0][0]]}
    return {"description": "As asked.", "content": {JSON: {"schema": schema}}}


def _problems(route: Operation) -> dict[str, Any]:
    """The problems that an operation may answer with."""
    shape = {"$ref": _REFERENCE.format(name="Problem")}
    titles: dict[int, list[str]] = {}
    for status, title in (*((kind.status, kind.title) for kind in KINDS), *HTTP_KINDS.values()):
        # What needs no key changes nothing; what takes something instead may refuse it.
        refuses = status == 401 and route.takes is not None
        if route.scope != ANYONE or refuses or status not in (401, 404, 409, 501, 502):
            titles.setdefault(status, []).append(title)
    return {
        str(status): {"description": "; ".join(said), "content": {MEDIA_TYPE: {"schema": shape}}}
        for status, said in sorted(titles.items())
    }


def _words(text: str) -> str:
    return text.replace("``", "`")


# Examples

_ID = "0195f0a2b3c47d8e9f00112233445566"
_OTHER_ID = "0195f0a2b3c47d8e9f00112233445588"

REQUESTS: dict[str, dict[str, Any]] = {
    "sign_in": {"code": "q3Vt…"},
    # Conversations
    "add_messages": {"messages": [{"role": "user", "content": "I am allergic to nuts."}], "remember": True},
    "edit_message": {"content": "I am allergic to peanuts."},
    "search_thread": {"query": "nuts", "limit": 5},
    "window": {"tokens": 2000},
    "annotate_thread": {"metadata": {"channel": "phone"}},
    "trim_thread": {"rounds": 20},
    # Memories
    "remember": {"content": "Ann is allergic to nuts.", "speaker": "Ann", "metadata": {"source": "intake form"}},
    "update": {"importance": 0.9, "reason": "it is about her health"},
    "undo": {"version": 2},
    "pin": {"pinned": True},
    "feedback": {"useful": True},
    "recall": {"query": "what can Ann not eat?", "limit": 5},
    "similarities": {"query": "food", "ids": [_ID]},
    "forget": {"ids": [_ID], "reason": "asked to"},
    "forget_by": {"older_than_days": 365, "unused": True, "dry_run": True},
    "erase": {"ids": [_ID]},
    "erase_by": {"where": {"project": "apollo"}},
    "compress": {"threshold": 0.9, "dry_run": True},
    "merge": {"kept": _ID, "others": [_OTHER_ID]},
    "reflect": {"least": 1, "most": 5},
    "repair": {
        "actions": [
            {"verb": "forget", "space": ["acme", "ann"], "record": _OTHER_ID, "reason": "it says nothing", "others": []}
        ]
    },
    # Facts, prompts and documents
    "correct_fact": {"subject": "Ann", "relation": "lives_in", "value": "Porto", "valid_from": "2026-03-01T00:00:00Z"},
    "retract_fact": {"subject": "Ann", "relation": "lives_in", "ended": "2026-09-01T00:00:00Z"},
    "context": {"query": "what can Ann not eat?", "budget": 1000, "system": "Answer briefly.", "profile": "user"},
    "add_document": {"text": "Whales sing.", "id": "whales", "title": "Whales", "metadata": {"year": 2026}},
    "fetch_document": {"url": "https://example.org/whales.html"},
    "look_up": {"query": "what do whales do?", "where": {"year": {"$ge": 2020}}},
    "ask": {"question": "what do whales do?", "language": "en"},
    # Media
    "recall_media": {"query": "the beach", "kinds": ["image"]},
    "like_media": {"vector": [0.1, 0.7, 0.2], "limit": 3},
    "erase_media": {"ids": [_OTHER_ID]},
    # The service
    "export": {"format": "jsonl"},
    "grant": {"to": ["acme", "ben"], "until": "2030-01-01T00:00:00Z"},
    "revoke_grant": {"to": ["acme", "ben"]},
    "create_key": {"name": "the phone app", "space": ["acme", "ann"], "scopes": ["read", "write"], "expires_days": 90},
    "rotate_key": {"grace_minutes": 60},
}
"""An example request of every operation with a body. The tests send each to a service."""


# Fields: their meanings and bounds, by the name of the field, or by ``Request.field`` where a request has its own

MOST = 1000
"""How many things one request names and one answer lists at most."""

_FILTER = 'A filter over the metadata, such as `{"city": "Paris"}` or `{"year": {"$ge": 2020}}`.'
_PATH = 'The path of a space, its segments from the top, such as `["acme", "ann"]`.'

MEANINGS: Final[dict[str, str]] = {
    "shape": "The shape of the messages: `memwell`, with `parts`, or `openai`, that of Chat Completions.",
    "actions": "Steps of the `plan` that is the result of an audit, all of them or some.",
    "as_of": "What held at this time, instead of now, by all that is known today.",
    "by": "`said` counts memories by when they were said, `stored` by when they were stored.",
    "budget": "How many tokens the prompt may take as a whole.",
    "code": "What follows `#once=` in the link that `memwell serve` printed.",
    "chosen": "A list of values for each field, as JSON: `speaker`, `session`, `kind`, `pinned`, `metadata.project`.",
    "content": "What to remember: a text, a message (`role`, `content`), or a list of these.",
    "cursor": "The `next` of the page before; nothing for the first page.",
    "depth": "How many steps to go from one name to the next.",
    "descending": "Whether the last of the order comes first.",
    "description": "What is to be seen or heard, in words. It is what the medium is found by.",
    "min_relevance": "The least relevance, from 0 to 1: what is less likely to help is left out; 0 leaves nothing out.",
    "diversity": "How much of its score a memory loses for repeating one that stands above it; 0 is nothing.",
    "documents": "Passages to offer for the prompt, the best first.",
    "dry_run": "Only tell what would be done.",
    "ended": "When it stopped being true; it never was true when this is left out.",
    "end_round": "Close the round, so that the next message begins another.",
    "everything": "Erase all that the space knows: memories, facts, documents and media. Its conversations stay.",
    "evidence": "What it rests on: messages of a conversation (`thread`, `message`) or other memories (`record`).",
    "expand": "Whether other words of the same meaning count a little too.",
    "expires_days": "After how many days the key ends; never when it is left out.",
    "facets": "Whether to count the values of the fields too.",
    "features": "Words for what the medium shows.",
    "former": "The value that is wrong; the one that holds now when it is left out.",
    "forgotten": "List what was forgotten and can be restored, instead of what is remembered.",
    "format": "`jsonl` for everything, `markdown` for the memories as a text to read.",
    "grace_minutes": "How long the old secret still works.",
    "history": "The conversation so far, as messages (`role`, `content`).",
    "id": "An id of your own choice; one is made when it is left out.",
    "ids": "The ids of memories.",
    "importance": "How much it matters; judged by its content when it is left out.",
    "importance_below": "Only memories that matter less than this.",
    "kept": "The id of the memory that stays.",
    "kind": "What sort of memory it is: a word of your own, `memory` by default.",
    "kinds": "Only of these kinds.",
    "known_at": "What was believed at this time, instead of now.",
    "valid_from": "Since when the value holds; the former one was true until then. Left out, that never was true.",
    "value": "The right value.",
    "language": "The language of the reasons: `en` or `zh`.",
    "last": "How many of the last rounds; all when it is left out.",
    "least": "How few insights are enough.",
    "limit": "How many at most.",
    "look_up": "How many passages to look up in the documents for it.",
    "memory": "The id of a memory: only the prompts that it went into.",
    "message": "A whole message in the place of the one that is there; instead of `content`.",
    "messages": "Messages as Chat Completions has them (`role`, `content`), or memwell's own (`role`, `parts`).",
    "metadata": "Plain JSON data of your own, which filters can ask for.",
    "most": "How many at most, the least important first.",
    "name": "What the key is for.",
    "newest_first": "Whether to begin at the end.",
    "now": "The time that the question is asked at; it decides what counts as recent.",
    "offset": "How many to leave out at the beginning.",
    "older_than_days": "Only memories of what was said longer ago than this.",
    "others": "The ids of the memories that are merged into it.",
    "owner": "The path of a space that has shared its memory with this key's; the key's own when it is left out.",
    "pinned": "Whether it is kept from every policy of forgetting.",
    "profile": "Whose profile goes into the prompt, such as `user`; that of a stranger is left out.",
    "query": "What to look for, in your own words.",
    "question": "What to answer, in your own words.",
    "rate": "How many requests a minute the key may make: 0 is any number, and left out it is the service's default.",
    "reason": "Why, for those who look at the versions later.",
    "relation": "Only facts of this kind, such as `lives_in`.",
    "remember": "Also remember what is said in them.",
    "rounds": "How many of the last rounds.",
    "scopes": "What the key may do: `read`, `write`, `erase`, `admin`. None includes another.",
    "sentiment": "The mood of it: a word, or a number from -1 to 1.",
    "session": "The conversation that it belongs to.",
    "shares": "How the budget is shared out between the parts of the prompt.",
    "since": "Only what is of this time or later.",
    "sort": "The order: `time`, `speaker`, `session`, `kind`, `importance` or `uses`.",
    "source": "Where it is from, such as an address or a file's name.",
    "space": _PATH,
    "steps": "Into how many equal steps the time is cut.",
    "span": "The time looked back on: `1h`, `24h`, `7d` or `30d`.",
    "speaker": "Who said it.",
    "start": "The name to begin at.",
    "subject": "Of whom or what, such as `user` for the user.",
    "system": "The system prompt.",
    "text": "The whole text.",
    "thread": "The id of the conversation whose last rounds go into the prompt.",
    "threshold": "How alike two memories must be to be merged; 1 is the same.",
    "time": "When it was said or happened; now when it is left out.",
    "title": "What it is called.",
    "to": _PATH,
    "tokens": "How many tokens the messages may take together.",
    "transcript": "What is said in it.",
    "trust": "Whose word it is: `user`, `model`, `document`, `tool`, `imported` or `derived`.",
    "ttl": "After how many seconds it vanishes.",
    "until": "Only what is of an earlier time than this.",
    "version": "The version that is changed: when the memory is at another one, nothing is.",
    "unused": "Only memories that were never recalled.",
    "url": "The address of a page, `http` or `https`.",
    "useful": "Whether the memory was of use.",
    "user": "Whose memories to take from a file that holds several users'.",
    "vector": "Numbers that stand for what it shows, as many as the media have that it is compared with.",
    "vectors": "Also write the vectors, which need not be made again then.",
    "wait": "Answer when it is gone from the store's files too, and not only when nothing finds it any more.",
    "weights": "Other weights for the signals, for this question alone.",
    "where": _FILTER,
    "whole": "The figures of the whole service. Needs the scope `admin`.",
    "write": "Whether that space may also add to this memory.",
}

OWN_MEANINGS: Final[dict[str, str]] = {
    "AddMedium.kind": "`image`, `audio` or `video`; seen from the file when it is left out.",
    "AddMedium.metadata": "Plain JSON data of your own, written as JSON.",
    "AddMedium.name": "The name of the file.",
    "AddMedium.vector": "A list of numbers that stand for what it shows, written as JSON.",
    "AnnotateThread.metadata": "Plain JSON data of your own, in the place of what was noted before.",
    "Ask.language": "The language of the answer: `en` or `zh`; that of the question when it is left out.",
    "AskContext.language": "The language of the lines around what was found: `en` or `zh`.",
    "AskContext.limit": "How many memories to consider.",
    "EditMessage.content": "Other words in the place of those that are there; instead of `message`.",
    "Erase.ids": "The ids of memories; instead of `where` and `everything`.",
    "EraseMedia.ids": "The ids of media.",
    "ForgetBy.kinds": "Only memories of these kinds.",
    "GiveGrant.until": "When it ends by itself; never when it is left out.",
    "Import.format": "What the file is, where its content does not show it.",
    "Import.name": "The name of the file.",
    "ListDocuments.where": f"{_FILTER} It is written as JSON.",
    "ListMedia.kinds": "Only of these kinds: `image`, `audio`, `video`.",
    "ListMemories.where": f"{_FILTER} It is written as JSON.",
    "LookUp.documents": "The ids of the documents to look in; all when it is left out.",
    "Recall.as_of": "What was known at this time: what was stored later is left out, whatever it is about.",
    "RetractFact.value": "The value that is not true; the one that holds now when it is left out.",
    "ProfileOf.language": "The language of the profile: `en` or `zh`.",
    "Reflect.most": "How many insights at most.",
    "TrimThread.rounds": "How many of the last rounds to keep.",
    "TrimThread.tokens": "Keep the last rounds that fit this many tokens.",
    "UpdateMemory.text": "Another text; facts and vectors are derived from it again.",
    "UploadDocument.metadata": "Plain JSON data of your own, written as JSON.",
    "UploadDocument.name": "The name of the file. The same name again replaces the document.",
    "Window.system": "Whether to begin with the system message.",
}

Bounds = tuple[float | None, float | None]

BOUNDS: Final[dict[str, Bounds]] = {
    "budget": (0, 10_000_000),
    "depth": (1, 10),
    "diversity": (0, 1),
    "min_relevance": (0, 1),
    "grace_minutes": (0, 527_040),
    "importance": (0, 1),
    "importance_below": (0, 1),
    "least": (1, 1000),
    "limit": (1, 1000),
    "look_up": (0, 100),
    "offset": (0, 10_000_000),
    "older_than_days": (0, 366_000),
    "rate": (0, None),
    "rounds": (0, 1000),
    "steps": (1, 1000),
    "last": (0, 1000),
    "tokens": (0, 10_000_000),
}
"""The least and the most that a number may be."""

OWN_BOUNDS: Final[dict[str, Bounds]] = {
    "Ask.limit": (0, 1000),
    "AskContext.limit": (0, 1000),
    "ForgetBy.most": (0, None),
    "LikeMedia.limit": (0, 1000),
    "LookUp.limit": (0, 1000),
    "RecallMedia.limit": (0, 1000),
    "Reflect.most": (1, 1000),
    "TrimThread.rounds": (0, None),
    "TrimThread.tokens": (0, None),
    "WalkGraph.limit": (1, 2000),
}


COUNTS: Final[dict[str, Bounds]] = {
    "AddMessages.messages": (1, MOST),
    "AskContext.documents": (0, MOST),
    "Erase.ids": (0, MOST),
    "Forget.ids": (0, MOST),
    "Repair.actions": (0, MOST),
    "MergeMemories.others": (0, MOST),
    "Remember.content": (0, MOST),
    "Similarities.ids": (0, MOST),
}
"""How few and how many a list may hold."""


MOST_TEXT = 10_000
"""How many characters a field takes: a question, a name, a title."""

MOST_CONTENT = 1_000_000
"""How many characters a text takes that is to be stored; a longer one is a document to upload."""

MOST_METADATA = 65_536
"""How many bytes metadata and filters take as JSON."""

TEXTS: Final[dict[str, int]] = {
    **dict.fromkeys(("content", "text", "transcript", "description", "system"), MOST_CONTENT),
    **dict.fromkeys(("metadata", "where", "vector"), MOST_METADATA),
    "AddDocument.text": 10_000_000,
    "AskContext.query": 100_000,
}
"""How many characters a field takes, or bytes of JSON, where that is not ``MOST_TEXT``."""

_MESSAGES = ("messages", "message", "history", "content")


def meaning_of(request: str, field: str) -> str:
    """What a field of a request means; empty when it is not described."""
    return OWN_MEANINGS.get(f"{request}.{field}") or MEANINGS.get(field, "")


def bounds_of(request: str, field: str) -> Bounds:
    """The least and the most that a field takes; None where there is no such bound."""
    return OWN_BOUNDS.get(f"{request}.{field}") or BOUNDS.get(field, (None, None))


def check_bounds(asked: msgspec.Struct) -> None:
    """Raises ``InvalidInput`` for a number beyond its bounds and for a list, text or object that is too long."""
    for name, bounds, is_list in _bounded(type(asked)):
        value: Any = getattr(asked, name)
        if is_list and isinstance(value, list | tuple):
            _check(len(cast("list[Any]", value)), f"the number of {name}", bounds)
        elif not is_list and value is not None:
            _check(value, name, bounds)
    for name in asked.__struct_fields__:
        _check_size(getattr(asked, name), name, _most_of(type(asked).__name__, name))


def _most_of(request: str, field: str) -> int:
    return TEXTS.get(f"{request}.{field}") or TEXTS.get(field, MOST_TEXT)


def _check_size(value: Any, name: str, most: int) -> None:
    """Raises ``InvalidInput`` for a text that is too long, or too large an object."""
    if isinstance(value, str):
        if len(value) > most:
            raise InvalidInput(f"{name} has {len(value):,} characters, over the limit of {most:,}")
    elif isinstance(value, list | tuple):
        for one in cast("list[Any]", value):
            if isinstance(one, str | dict):
                _check_size(one, name, most)
    elif isinstance(value, dict):
        if name in _MESSAGES:
            # Its texts are bounded by the body; what describes them is looked at with every message.
            _check_size(cast("dict[str, Any]", value).get("metadata"), "metadata", MOST_METADATA)
        elif (size := len(encode(value))) > most:
            raise InvalidInput(f"{name} takes {size:,} bytes, over the limit of {most:,}")


def _check(value: float, what: str, bounds: Bounds) -> None:
    least, most = bounds
    if least is not None and value < least:
        raise InvalidInput(f"{what} must be at least {least:,}, not {shown(value)}")
    if most is not None and value > most:
        raise InvalidInput(f"{what} must be at most {most:,}, not {value:,}")


@cache
def _bounded(request: type[msgspec.Struct]) -> tuple[tuple[str, Bounds, bool], ...]:
    """The fields with bounds, and whether these are of the length of a list."""
    called, none = request.__name__, (None, None)
    found = [(name, bounds_of(called, name), False) for name in request.__struct_fields__]
    found += [(name, COUNTS.get(f"{called}.{name}", none), True) for name in request.__struct_fields__]
    return tuple(one for one in found if one[1] != none)
