"""The description of the API (OpenAPI 3.1), made from the table of operations."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import msgspec

from memwell._version import VERSION
from memwell.runtime.wire.codec import HTTP_KINDS, KINDS, MEDIA_TYPE, Problem, schema_of, times_of
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, EVENTS, JSON, Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.call import has_effect
from memwell.service.fields import bounds_of, meaning_of

_REFERENCE = "#/components/schemas/{name}"
_TIME = ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date"})
_ONCE = {"description": "A text of your own for this request: sent again with the same one, it is not done again."}
_ABOUT = """memwell holds what was said and what is known, and puts the right part of it back into the prompt.

Every request has a key, `Authorization: Bearer mw_…`, and the key alone says whose memory it is. What changes something or
begins a job may have an `Idempotency-Key`: however often it is sent, it has one effect. A time is RFC 3339, in UTC where it
names no zone, or a date, which is its midnight in UTC. Errors are `application/problem+json`.
"""


@cache
def description() -> bytes:
    """The whole description as JSON."""
    return json.dumps(described(), ensure_ascii=False).encode()


def described() -> dict[str, Any]:
    """The whole description."""
    shapes = [shape for route in OPERATIONS.values() for shape in (route.takes, route.gives) if shape is not None]
    _, components = msgspec.json.schema_components([*shapes, Problem], ref_template=_REFERENCE, schema_hook=schema_of)
    for asked in {route.takes for route in OPERATIONS.values() if route.takes is not None}:
        _describe_fields(asked, components[asked.__name__])
    paths: dict[str, dict[str, Any]] = {}
    for route in OPERATIONS.values():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "memwell", "version": VERSION, "description": _ABOUT, "license": {"name": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in OPERATIONS.values())],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": _plainly(components),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "mw_<id>_<secret>"}},
        },
    }


def _operation(route: Operation) -> dict[str, Any]:
    summary, _, more = route.about.partition("\n")
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": _words(summary),
        "parameters": _parameters(route),
        "responses": {str(route.status): _answer(route), **_problems(route)},
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
    found: list[dict[str, Any]] = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": _segment(part[1:-1])}
        for part in route.parts
        if part.startswith("{")
    ]
    if route.takes is not None and route.takes_query:
        schema = _schema(route.takes)
        required = schema.get("required", ())
        for name, field in schema["properties"].items():
            about = {"description": field.pop("description")} if "description" in field else {}
            found.append({"name": name, "in": "query", "required": name in required, **about, "schema": field})
    if has_effect(route):
        schema = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, **_ONCE, "schema": schema})
    return found


def _segment(name: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0} if name == "index" else {"type": "string", "minLength": 1}


def _schema(type_: Any) -> dict[str, Any]:
    (_,), components = msgspec.json.schema_components([type_], ref_template=_REFERENCE, schema_hook=schema_of)
    return _describe_fields(type_, components[type_.__name__])


def _describe_fields(asked: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """Add the description and the bounds of each field of a request, and that a time may be a date."""
    times = times_of(asked)
    for name, field in schema["properties"].items():
        least, most = bounds_of(asked.__name__, name)
        words = {"description": meaning_of(asked.__name__, name), "minimum": least, "maximum": most}
        field.update({word: value for word, value in words.items() if value not in (None, "")})
        if name in times:
            # What may be left out may also be null.
            others = [one for one in field.pop("anyOf", ()) if one["type"] != "string"]
            field.pop("type", None)
            field["anyOf"] = [*_TIME, *others]
    return schema


def _body(route: Operation) -> dict[str, Any] | None:
    if route.upload:
        return {
            "required": False,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    if route.takes is None or route.takes_query:
        return None
    content: dict[str, Any] = {"schema": {"$ref": _REFERENCE.format(name=route.takes.__name__)}}
    if route.name in REQUESTS:
        content["example"] = REQUESTS[route.name]
    return {"required": True, "content": {JSON: content}}


def _answer(route: Operation) -> dict[str, Any]:
    if route.media_type == EVENTS:
        # A schema would be that of the whole stream, and has no way to say what one event is.
        about = f"Events as they come. The data of each is a `{route.gives.__name__}` as JSON."
        return {"description": about, "content": {EVENTS: {}}}
    if route.media_type != JSON or route.gives is None:
        return {"description": "As asked.", "content": {_kind(route): {"schema": {"type": "string"}}}}
    (reference,), _ = msgspec.json.schema_components([route.gives], ref_template=_REFERENCE, schema_hook=schema_of)
    return {"description": "As asked.", "content": {JSON: {"schema": reference}}}


def _kind(route: Operation) -> str:
    # Files say themselves what they are.
    return "*/*" if route.media_type == "application/octet-stream" else route.media_type


def _problems(route: Operation) -> dict[str, Any]:
    """The problems that an operation may answer with."""
    shape = {"$ref": _REFERENCE.format(name="Problem")}
    statuses = {status for status, _ in HTTP_KINDS.values()} | {kind.status for kind in KINDS}
    if route.scope == ANYONE:
        # It needs no key, and changes nothing.
        statuses -= {401, 404, 409, 501, 502}
    return {
        str(status): {"description": _titles(status), "content": {MEDIA_TYPE: {"schema": shape}}}
        for status in sorted(statuses)
    }


def _titles(status: int) -> str:
    own = [kind.title for kind in KINDS if kind.status == status]
    return "; ".join([*own, *(title for http, title in HTTP_KINDS.values() if http == status)])


def _words(text: str) -> str:
    return text.replace("``", "`")


def _plainly(schemas: dict[str, Any]) -> dict[str, Any]:
    """Docstrings as descriptions, without the indentation of the source."""
    for schema in schemas.values():
        if "description" in schema:
            schema["description"] = _words(re.sub(r"\s*\n\s*", " ", schema["description"]))
    return schemas


# Examples

_ID = "0195f0a2b3c47d8e9f00112233445566"
_OTHER_ID = "0195f0a2b3c47d8e9f00112233445588"

REQUESTS: dict[str, dict[str, Any]] = {
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
    "pin": {"pinned": True},
    "feedback": {"useful": True},
    "recall": {"query": "what can Ann not eat?", "limit": 5},
    "similarities": {"query": "food", "ids": [_ID]},
    "forget": {"ids": [_ID], "reason": "asked to"},
    "forget_by": {"older_than_days": 365, "unused": True, "dry_run": True},
    "erase": {"ids": [_ID]},
    "compress": {"threshold": 0.9, "dry_run": True},
    "merge": {"kept": _ID, "others": [_OTHER_ID]},
    "reflect": {"least": 1, "most": 5},
    "mend": {
        "actions": [
            {"verb": "forget", "space": ["acme", "ann"], "record": _OTHER_ID, "reason": "it says nothing", "others": []}
        ]
    },
    # Prompts and documents
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
    "grant": {"to": ["acme", "ben"], "until": "2030-01-01"},
    "revoke_grant": {"to": ["acme", "ben"]},
    "create_key": {"name": "the phone app", "space": ["acme", "ann"], "scopes": ["read", "write"], "expires_days": 90},
    "rotate_key": {"grace_minutes": 60},
}
"""An example request of every operation with a body. The tests send each to a service."""
