"""JSON and JSON Lines in words: ``address city: Lyon``, an object a row, so that each row can be understood alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading.building import Builder

_DEEPEST = 200
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])(?=[a-z]|$)")
_MOST_BAD_LINES = 0.5


def read_json(text: str, *, media_type: str = "application/json", warnings: tuple[str, ...] = ()) -> Parsed:
    """The leaves of a JSON text with their paths in words; each object of an array is a row.

    Raises ``UnreadableDocument`` for what is no JSON, or nested too deep.
    """
    value = _decoded(text)
    builder = Builder()
    if isinstance(value, dict):
        _object(builder, cast("dict[str, Any]", value))
    else:
        builder.rows(_rows(value))
    title = cast("dict[str, Any]", value).get("title") if isinstance(value, dict) else ""
    return builder.parsed(media_type, title=title if isinstance(title, str) else "", warnings=warnings)


def read_json_lines(text: str, *, warnings: tuple[str, ...] = ()) -> Parsed:
    """A row for every line that is JSON; the others are counted in a warning.

    Raises ``UnreadableDocument`` when most lines are none.
    """
    rows: list[str] = []
    bad: list[int] = []
    lines = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        lines += 1
        try:
            rows.extend(_rows([_decoded(line)]))
        except UnreadableDocument:
            bad.append(number)
    if len(bad) > lines * _MOST_BAD_LINES:
        raise UnreadableDocument(f"line {bad[0]} is no JSON, and {len(bad) - 1} others are none either")
    if bad:
        warnings = (*warnings, f"{len(bad)} lines are no JSON and were left out, the first is line {bad[0]}")
    builder = Builder()
    builder.rows(rows)
    return builder.parsed("application/jsonl", warnings=warnings)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise UnreadableDocument("its JSON is nested too deep") from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    try:
        # Slower, but it takes NaN and what else Python writes.
        return json.loads(text, parse_int=_whole_number)
    except RecursionError:
        raise UnreadableDocument("its JSON is nested too deep") from None
    except ValueError as error:
        raise UnreadableDocument(f"it is no JSON: {error}") from None


def _whole_number(digits: str) -> int | str:
    # Python refuses to read numbers of thousands of digits; as words they do no harm.
    return int(digits) if len(digits) < 400 else digits


def _object(builder: Builder, value: dict[str, Any]) -> None:
    """The plain values first, in one row; every part that holds more gets its name as a heading."""
    parts = {key: part for key, part in value.items() if _holds_objects(part)}
    builder.rows(_rows({key: part for key, part in value.items() if key not in parts}))
    for key, part in parts.items():
        rows = list(_rows(part))
        if rows:
            builder.heading(_in_words(key), 1)
            builder.rows(rows)


def _holds_objects(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in cast("list[Any]", value))
    return isinstance(value, dict) and len(cast("dict[str, Any]", value)) > 0


def _rows(value: Any) -> Iterator[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    for item in items:
        row = "; ".join(_leaves(item))
        if row.strip():
            yield row


def _leaves(value: Any) -> Iterator[str]:
    """``path in words: value`` for every leaf, in order. It keeps its own stack, so depth costs no recursion."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while stack:
        path, item = stack.pop()
        if len(path) > _DEEPEST:
            raise UnreadableDocument("its JSON is nested too deep")
        if isinstance(item, dict):
            inner = cast("dict[str, Any]", item)
            stack.extend(((*path, _in_words(key)), part) for key, part in reversed(inner.items()))
        elif isinstance(item, list):
            listed = cast("list[Any]", item)
            if any(isinstance(part, dict | list) for part in listed):
                # An array adds to the depth too, though it has no name.
                stack.extend(((*path, ""), part) for part in reversed(listed))
            elif listed:
                yield _leaf(path, ", ".join(map(_text, listed)))
        elif item is not None and item != "":
            yield _leaf(path, _text(item))


def _leaf(path: tuple[str, ...], text: str) -> str:
    name = " ".join(filter(None, path))
    return f"{name}: {text}" if name else text


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _in_words(key: str) -> str:
    return _CAMEL.sub(lambda found: f" {found[1].lower()}", key.replace("_", " ")).strip()


__all__ = ["read_json", "read_json_lines"]
