"""What an item is, by its content: when two are the same, which may be one object, and copies of those that may not."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias, cast

from memwell.messages import Message, encode_message

Identity: TypeAlias = Hashable

_SCALARS = frozenset({str, bytes, int, bool, type(None)})
_DEEPEST = 64


def identity_of(item: object, depth: int = 0) -> Identity | None:
    """What only items of the same content have in common, or None for an item whose content cannot be seen.

    It is stricter than ``==``: 1, 1.0 and True are three items. An object of another class is seen through its own
    ``__eq__`` and ``__hash__``.
    """
    kind = type(item)
    if kind in _SCALARS:
        return kind, item
    if kind is float:
        # Zero has two signs, and what is no number does not equal itself.
        return kind, repr(item)
    if kind is dict or kind is list or kind is tuple:
        return None if depth >= _DEEPEST else _of_container(item, depth)
    if kind is Message:
        return kind, encode_message(cast(Message, item))
    return _of_object(item)


def _of_container(item: object, depth: int) -> Identity | None:
    held = cast("dict[object, object] | list[object]", item)
    kept = [one for pair in held.items() for one in pair] if isinstance(held, dict) else held
    parts = [identity_of(one, depth + 1) for one in kept]
    return None if None in parts else (type(held).__name__, tuple(parts))


def _of_object(item: object) -> Identity | None:
    kind = type(item)
    if kind.__hash__ is object.__hash__ or kind.__hash__ is None:
        return None
    try:
        hash(item)
    except TypeError:
        return None
    return kind, cast(Hashable, item)


def is_changeable(item: object) -> bool:
    """Whether somebody who holds the item could change it: then no two places may share it."""
    if isinstance(item, tuple):
        return any(map(is_changeable, cast("tuple[object, ...]", item)))
    # A message is frozen, but its metadata is not.
    return isinstance(item, dict | list | set | bytearray | Message)


def copied(item: Any) -> Any:
    """The item, with dicts and lists of its own all the way down; anything else in it is the same object."""
    # Not ``isinstance``: what derives from them is somebody's own class.
    if type(item) is dict:
        return {key: copied(value) for key, value in cast("dict[Any, Any]", item).items()}
    if type(item) is list:
        return [copied(one) for one in cast("list[Any]", item)]
    return item


__all__ = ["Identity", "copied", "identity_of", "is_changeable"]
