"""How messages of each class are stored: text, dicts, our own kinds, and classes of yours once they are registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from memwell.compat.basememory.kinds import KINDS, MARK, ChatMessage, RecallMessage
from memwell.errors import Conflict, InvalidInput
from memwell.messages import Audio, Image, Message, Part, Role, Text, Video, human, message
from memwell.values import check_id, check_json, shown

_SENDERS = ("sender", "user", "user_id", "from", "name")
_TEXTS = ("content", "text", "message", "caption")
_ROLES = {"assistant": Role.AI, "ai": Role.AI, "system": Role.SYSTEM, "recall": Role.VIEW}
_MEDIA = {"image": Image, "audio": Audio, "video": Video}


class Handler(msgspec.Struct, frozen=True):
    """How messages of one class are stored: under ``kind``, by ``to_core``, and made again by ``from_core``."""

    kind: str
    to_core: Callable[[Any], Message]
    from_core: Callable[[Message], Any]


class Handlers:
    """The handlers of a chat memory, by class. A message of a derived class is handled as its nearest base is."""

    def __init__(self) -> None:
        self._by_class: dict[type, Handler] = {
            str: Handler("str", human, lambda stored: stored.text),
            dict: Handler("dict", _from_dict, _to_dict),
            Message: Handler("message", lambda given: given, _unmarked),
            **{one: Handler(one.kind, one.to_core, one.from_core) for one in KINDS},
        }

    def register(self, class_: type, handler: Handler | None = None) -> None:
        """Handle messages of a class from now on. Raises ``Conflict`` for a class or a kind that is handled already."""
        if handler is None and isinstance(class_, type) and issubclass(class_, ChatMessage):  # pyright: ignore[reportUnnecessaryIsInstance]
            handler = Handler(class_.kind, class_.to_core, class_.from_core)
        if not isinstance(class_, type) or not isinstance(handler, Handler):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"register takes a class and a Handler, not {shown(class_)} and {shown(handler)}")
        check_id(handler.kind, "a handler's kind")
        if class_ in self._by_class or handler.kind in self._kinds():
            raise Conflict(
                f"{class_.__name__} or the kind {handler.kind!r} has a handler already: a class has its own kind"
            )
        self._by_class[class_] = handler

    def _kinds(self) -> dict[str, Handler]:
        return {handler.kind: handler for handler in self._by_class.values()}

    def handler_of(self, item: object) -> Handler | None:
        """The handler of an item's class, or None."""
        if isinstance(item, ChatMessage) and type(item) not in self._by_class:
            # A kind of the user's own derives from ours and brings its ways along.
            self.register(type(item))
        return next((self._by_class[base] for base in type(item).__mro__ if base in self._by_class), None)

    def to_core(self, item: object, sender: str | None = None) -> Message:
        """The item as it is stored, said by ``sender`` unless it names one itself.

        Raises ``InvalidInput`` for a class without a handler, or for an item that its handler does not take.
        """
        handler = self.handler_of(item)
        if handler is None:
            raise InvalidInput(
                f"no handler for a message of class {type(item).__name__}: register one, or add a str or dict"
            )
        made = handler.to_core(item)
        if not isinstance(made, Message):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the handler of {handler.kind!r} must make a Message, not {shown(made)}")
        if sender is not None and made.name is None:
            made = made.changed(name=check_id(sender, "a sender"))
        if MARK not in made.metadata and handler.kind != "message":
            made = made.changed(metadata={**made.metadata, MARK: {"kind": handler.kind}})
        return made

    def from_core(self, stored: Message) -> Any:
        """The item that was stored. What another room wrote, or a kind nobody handles here, comes as a ``Message``."""
        handler = self._kinds().get(kind_of(stored))
        return stored if handler is None else handler.from_core(stored)

    def sender_of(self, item: object) -> str | None:
        """Who sent an item, as far as can be seen."""
        named = (getattr(item, key, None) for key in _SENDERS)
        if isinstance(item, dict):
            named = (cast("dict[str, object]", item).get(key) for key in _SENDERS)
        return next((one for one in named if isinstance(one, str) and one), None)


def kind_of(stored: Message) -> str:
    """The kind under which a message was stored; empty for one of another room."""
    mark = stored.metadata.get(MARK)
    return str(cast("dict[str, Any]", mark).get("kind", "")) if isinstance(mark, dict) else ""


def is_recalled(item: object) -> bool:
    """Whether it stands for a message that was taken back."""
    if isinstance(item, Message):
        return kind_of(item) == RecallMessage.kind
    return isinstance(item, RecallMessage)


def _unmarked(stored: Message) -> Message:
    return stored


def _from_dict(item: dict[str, Any]) -> Message:
    """Its words, its sender and its media where every room looks for them; the rest beside."""
    media = _MEDIA.get(str(item.get("type")))
    data = item.get("data") if media is not None and isinstance(item.get("data"), bytes) else None
    fields = {key: None if key == "data" and data is not None else value for key, value in item.items()}
    check_json(fields, "a message")
    key = next((one for one in _TEXTS if isinstance(item.get(one), str)), None)
    words = "" if key is None else cast(str, item[key])
    part: Part = Text(words)
    if media is not None:
        url = item.get("url")
        part = media(url=url if isinstance(url, str) else None, data=data, text=words)
    role = _ROLES.get(str(item.get("role", item.get("type"))), Role.HUMAN)
    # The words are kept once: here stands only where they go.
    kept = {**fields, key: None} if key is not None else fields
    mark = {"kind": "dict", "fields": kept, "words": key}
    sender = next((item[one] for one in _SENDERS if isinstance(item.get(one), str) and item[one]), None)
    return message(role, (part,) if words or media is not None else (), name=sender, metadata={MARK: mark})


def _to_dict(stored: Message) -> dict[str, Any]:
    mark = cast("Mapping[str, Any]", stored.metadata[MARK])
    fields = dict(cast("dict[str, Any]", mark["fields"]))
    part = next((one for one in stored.parts if isinstance(one, Image | Audio | Video)), None)
    if mark["words"] is not None:
        fields[mark["words"]] = stored.text if part is None else part.text
    if part is not None and part.data is not None:
        fields["data"] = part.data
    return fields


__all__ = ["Handler", "Handlers", "is_recalled", "kind_of"]
