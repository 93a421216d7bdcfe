"""Ids, times and the checks of text and JSON that all stored values share.

The rules are the same on every backend, so that a store can be moved: text is Unicode without NUL and without lone
surrogates, numbers are finite, integers have 64 bits, JSON is plain data.
"""

from __future__ import annotations

import math
import os
import random
import re
import time
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeGuard, TypeVar, cast

from memwell.errors import InvalidInput

T = TypeVar("T")

MAX_ID_LENGTH = 1024
"""The longest id, name or key in characters."""

MAX_CONTENT_BYTES = 16 * 1024 * 1024
"""The largest message, record or stored value; larger content is stored as blobs."""

STRANGE = re.compile(r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Control and invisible characters, line ends, surrogates, changes of direction: with these a name looks like another."""

MAX_JSON_DEPTH = 64
TOO_DEEP = f"nested too deep: at most {MAX_JSON_DEPTH} levels of lists and objects are taken"
"""What is said of JSON that cannot even be read. What can be read is checked by ``check_json``."""
_INT64 = range(-(2**63), 2**63)
_SHOWN = 60


def new_id() -> str:
    """A new id: 32 hexadecimal characters that sort by the time they were made."""
    return f"{time.time_ns():016x}{_random.getrandbits(64):016x}"


# Unique but not secret, so it need not come from the kernel, which takes ten times as long. Its own generator, so that a
# program which seeds the shared one does not repeat our ids.
_random = random.Random()
os.register_at_fork(after_in_child=_random.seed)


def drawn_between(low: float, high: float) -> float:
    """A random number between two, such as a wait before a retry."""
    return _random.uniform(low, high)


def new_version() -> int:
    """A new version: a random number above 0, unique across processes."""
    return _random.getrandbits(62) + 1


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The latest time: a store rounds seconds, and later ones would become the year 10000."""


def as_utc(time: object, what: str) -> datetime:
    """A datetime in UTC. Raises ``InvalidInput`` for anything else, and outside the years 1 to 9999."""
    if not isinstance(time, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {shown(time)}")
    try:
        # A naive time is UTC: the machine's zone would make the same file mean two things.
        moment = time.replace(tzinfo=UTC) if time.utcoffset() is None else time.astimezone(UTC)
    except OverflowError:
        moment = None
    if moment is None or moment > _LAST:
        raise InvalidInput(f"{what} must be between the years 1 and 9999 in UTC, not {shown(time)}")
    # A subclass, such as another library's timestamp, cannot be encoded as JSON.
    return moment if type(moment) is datetime else datetime.combine(moment.date(), moment.timetz())


def shown(value: object) -> str:
    """``repr(value)``, shortened so that an error message stays readable."""
    # Strings are cut before repr, which is slow for long ones.
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}… ({len(value)} long)"
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Nested too deep, or an integer of more than 4,300 digits.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 2 * _SHOWN else f"{text[: 2 * _SHOWN]}…"


def check_type(value: object, kind: type[T] | tuple[type[T], ...], rule: str, hint: str = "") -> T:
    """Return ``value`` if it is of a type, or of one of several.

    Raises ``InvalidInput`` with the rule, such as ``"weights must be Weights"``, and what was given instead.
    """
    if not isinstance(value, kind):
        raise InvalidInput(f"{rule}, not {shown(value)}{hint}")
    return value


def check_shape(value: Any, attributes: Iterable[str], rule: str) -> Any:
    """Return ``value`` if it has these attributes, whatever its class. Raises ``InvalidInput``, as ``check_type``."""
    if isinstance(value, type) or not all(hasattr(value, name) for name in attributes):
        raise InvalidInput(f"{rule}, not {shown(value)}")
    return value


def check_list(values: object, rule: str) -> list[Any]:
    """The values as a list. Raises ``InvalidInput``, as ``check_type``, for what has none.

    A string, bytes or a mapping has none: its characters, numbers or keys are never meant.
    """
    # A list is the usual case, and the general check is slow.
    if type(values) is not list and (isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable)):
        raise InvalidInput(f"{rule}, not {shown(cast(object, values))}")
    return list(cast("Iterable[Any]", values))


def check_items(values: object, kind: type[T] | tuple[type[T], ...], rule: str) -> list[T]:
    """The values as a list, all of one type or of one of several. Raises ``InvalidInput`` as ``check_list``."""
    # A dict is how values are listed once each; its keys are checked like any others.
    found = list(cast("dict[Any, Any]", values)) if type(values) is dict else check_list(values, rule)
    for one in found:
        if not isinstance(one, kind):
            raise InvalidInput(f"{rule}, not of {shown(one)}")
    return found


def check_flag(value: object, what: str) -> bool:
    """Return ``value`` if it is a boolean. Raises ``InvalidInput``."""
    if type(value) is not bool:
        raise InvalidInput(f"{what} must be True or False, not {shown(value)}")
    return value


def check_known(value: object, known: Collection[str], what: str) -> str:
    """Return ``value`` if it is one of the known names. Raises ``InvalidInput``, which lists them."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"unknown {what} {shown(value)}; known: {', '.join(known)}")
    return value


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number, and not a boolean."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        # A whole number too large for a float.
        return False


def check_number(value: object, what: str, *, least: float = 0, most: float = 1) -> float:
    """Return ``value`` if it is a number from ``least`` to ``most``, which may be infinite. Raises ``InvalidInput``."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        span = f"from {least} to {most}" if math.isfinite(most) else f"of at least {least}"
        raise InvalidInput(f"{what} must be a number {span}, not {shown(value)}")
    return value


def check_text(value: object, what: str) -> str:
    """Return ``value`` if it is text that any store accepts.

    Raises ``InvalidInput`` for anything but a string, for NUL and for lone surrogates.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {shown(value)}")
    if value.isascii():
        if "\x00" in value:
            raise InvalidInput(f"{what} must not contain NUL: {shown(value)}")
        return value
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} must not contain lone surrogates: {shown(value)} at {error.start}") from None
    if "\x00" in value:
        raise InvalidInput(f"{what} must not contain NUL: {shown(value)}")
    return value


def check_id(value: object, what: str) -> str:
    """Return ``value`` if it is a valid id: text of 1 to 1,024 characters.

    Raises ``InvalidInput`` otherwise.
    """
    text = check_text(value, what)
    if not text:
        raise InvalidInput(f"{what} must not be empty")
    if len(text) > MAX_ID_LENGTH:
        raise InvalidInput(f"{what} must be at most {MAX_ID_LENGTH} characters: {shown(text)}")
    return text


def check_line(value: object, what: str) -> str:
    """Return ``value`` if it is one line of at most 1,024 characters, none of them ``STRANGE`` but at its ends.

    Raises ``InvalidInput`` otherwise.
    """
    text = check_text(value, what)
    if len(text) > MAX_ID_LENGTH:
        raise InvalidInput(f"{what} must be at most {MAX_ID_LENGTH} characters: {shown(text)}")
    if STRANGE.search(text.strip()):
        raise InvalidInput(f"{what} must not hold line breaks, control or invisible characters: {shown(text)}")
    return text


def check_count(value: object, what: str, *, least: int = 0) -> int:
    """Return ``value`` if it is an integer of at least ``least``. Raises ``InvalidInput``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{what} must be a whole number of at least {least}, not {shown(value)}")
    if value not in _INT64:
        over = f"which is over {_INT64.stop - 1}"
        raise InvalidInput(f"{what} must be a whole number of at least {least}, not {shown(value)}, {over}")
    return value


def check_json(value: object, what: str, depth: int = 0) -> None:
    """Check that a value is plain JSON data: None, booleans, 64-bit integers, finite floats, text, lists and dicts.

    Raises ``InvalidInput`` for anything else. Nothing is converted, except that a tuple is read back as a list.
    """
    kind = type(value)
    if value is None or kind is bool:
        return
    if kind is str:
        check_text(value, what)
    elif kind is int:
        if value not in _INT64:
            raise InvalidInput(f"{what} must hold integers of 64 bits, not {shown(value)}")
    elif kind is float:
        if not math.isfinite(cast(float, value)):
            raise InvalidInput(f"{what} must hold finite numbers, not {value!r}")
    elif kind is dict or kind is list or kind is tuple:
        _check_nested(value, what, depth)
    else:
        raise InvalidInput(f"{what} must be plain JSON data, not {kind.__name__}: {shown(value)}")


def _check_nested(value: object, what: str, depth: int) -> None:
    if depth >= MAX_JSON_DEPTH:
        raise InvalidInput(f"{what} must be nested at most {MAX_JSON_DEPTH} deep")
    if isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            if type(key) is not str:
                raise InvalidInput(f"{what} must have text keys, not {shown(key)}")
            check_text(key, f"a key of {what}")
            check_json(item, f"{what}[{shown(key)}]" if depth < 3 else what, depth + 1)
    else:
        for item in cast("list[object]", value):
            check_json(item, what, depth + 1)


def check_metadata(value: object, what: str = "metadata") -> dict[str, Any]:
    """A copy of a JSON object. Raises ``InvalidInput`` for anything else."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a mapping, not {shown(value)}")
    plain = dict(cast("Mapping[str, Any]", value))
    check_json(plain, what)
    return plain


def check_size(encoded: str | bytes, what: str) -> None:
    """Raises ``InvalidInput`` when an encoded value exceeds the size limit of a store."""
    if len(encoded) > MAX_CONTENT_BYTES:
        raise InvalidInput(
            f"{what} is {len(encoded):,} bytes, over the limit of {MAX_CONTENT_BYTES:,}; keep large content in blobs"
        )
