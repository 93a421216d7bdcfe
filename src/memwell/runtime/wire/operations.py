"""``Operation``: one operation of the service, derived from a method of the engine.

A row of the table names a method such as ``Engine.recall``. Its parameters become the fields of the request, by ``SHAPES``:
for each type of parameter the type on the wire, how a client writes a value and how the service reads it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, cast, get_type_hints

import msgspec

from memwell.errors import InvalidInput, Unsupported
from memwell.filters import FilterLike, as_filter, as_mapping
from memwell.knowledge.documents import Found, Parsed
from memwell.longterm.audit import Action
from memwell.longterm.base import as_ids
from memwell.longterm.remembering import Rememberable, check_evidence
from memwell.longterm.traits import Evidence
from memwell.longterm.weights import Curve, Weights
from memwell.messages import Message, Role, check_message, decode_message
from memwell.records import Space, SpaceLike, Vector, as_opened, as_vector
from memwell.runtime.context import Passage, Shares
from memwell.runtime.engine import passage_of
from memwell.runtime.wire.codec import AnswerBody, Request, decode, encode
from memwell.transcript import from_openai
from memwell.values import as_utc, check_list, check_metadata, check_text, check_type, is_finite, shown

READ, WRITE, ERASE, ADMIN = "read", "write", "erase", "admin"
ANY_KEY, ANYONE = "any", ""
"""The scopes of operations for every key, and of those without a key."""

JSON, BYTES, TEXT = "application/json", "application/octet-stream", "text/plain"

_ACCEPTED = 202
_ROLES = tuple(role.value for role in Role)
_OWN_FIELDS = frozenset(Message.__struct_fields__)


# Conversions between parameters and JSON


class WeightsGiven(Request, frozen=True):
    """Other weights for one recall: curves by the name of their signal."""

    curves: dict[str, Curve]
    decay: float = 0.001
    note: str = ""


def json_text(data: object) -> str:
    """JSON as text, for a query."""
    return msgspec.json.encode(data).decode()


def data_of(text: str) -> dict[str, Any]:
    """A JSON object from a query. Raises ``InvalidInput`` when it is none."""
    return decode(text.encode(errors="surrogatepass"), dict[str, Any])


def message_data(message: Message) -> dict[str, Any]:
    """A message as plain data. Raises ``InvalidInput`` for an invalid one."""
    return msgspec.to_builtins(check_message(message))


def messages_of(given: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages from the shape of Chat Completions, or from memwell's own with ``parts``. Raises ``InvalidInput``."""
    if not any("parts" in one for one in given):
        return from_openai(given)
    return [_own(one) if "parts" in one else from_openai([one])[0] for one in given]


def _own(given: Mapping[str, Any]) -> Message:
    unknown = sorted(given.keys() - _OWN_FIELDS)
    if unknown:
        raise InvalidInput(f"a message has no field {shown(unknown[0])}")
    role = given.get("role")
    if isinstance(role, str) and role not in _ROLES:
        raise InvalidInput(f"the role of a message with 'parts' is one of {', '.join(_ROLES)}, not {shown(role)}")
    return decode_message(encode(given))


def _content_data(content: Rememberable) -> str | dict[str, Any] | list[str | dict[str, Any]]:
    if isinstance(content, str | Message | Mapping):
        return _item_data(cast("object", content))
    return [_item_data(one) for one in check_list(content, "remember takes texts and messages")]


def _item_data(one: object) -> str | dict[str, Any]:
    if isinstance(one, str):
        return check_text(one, "a memory's text")
    if isinstance(one, Message):
        return message_data(one)
    if isinstance(one, Mapping):
        return check_metadata(cast("Mapping[str, Any]", one), "a message")
    raise InvalidInput(f"remember takes texts and messages, not {shown(one)}")


def _content_of(given: str | dict[str, Any] | list[str | dict[str, Any]]) -> Rememberable:
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        return messages_of([given])[0]
    read = iter(messages_of([one for one in given if not isinstance(one, str)]))
    return [one if isinstance(one, str) else next(read) for one in given]


def filter_data(where: FilterLike | None) -> dict[str, Any] | None:
    """A filter as plain data."""
    found = as_filter(where)
    return None if found is None else as_mapping(found)


def _listed(given: str | Iterable[str], name: str) -> list[str]:
    return [given] if isinstance(given, str) else check_list(given, f"{name} must be a text or several")


def _weights_data(weights: Weights, name: str) -> WeightsGiven:
    check_type(weights, Weights, f"{name} must be Weights")
    return WeightsGiven(curves=dict(weights.curves), decay=weights.decay, note=weights.note)


def _weights_of(given: WeightsGiven) -> Weights:
    return Weights(given.curves, given.decay, given.note)


def _space_of(path: list[str]) -> Space:
    return Space(*path)


def _number(value: float, name: str) -> float:
    if not is_finite(value):
        # JSON has no infinity and no NaN.
        raise InvalidInput(f"{name} must be a number, not {shown(value)}")
    return value


def _plain_text(text: str | Parsed) -> str:
    if isinstance(text, Parsed):
        raise Unsupported("a service reads documents itself; ingest() sends it the file, add() a text")
    return check_text(text, "a document's text")


Sent: TypeAlias = Callable[[Any, str], Any]
Read: TypeAlias = Callable[[Any], Any]


def _by(change: Callable[[Any], Any]) -> Sent:
    return lambda value, name: change(value)


def _unchanged(value: Any, *name: str) -> Any:
    return value


class Shape(NamedTuple):
    """How a type of parameter is sent: its type in JSON, and the conversions of the client (``sent``) and the service.

    ``sent`` gets the value and the parameter's name, and raises ``InvalidInput``. With ``text`` a query has it as JSON.
    """

    wire: Any
    sent: Sent = _unchanged
    read: Read = _unchanged
    text: bool = False


_Data = dict[str, Any]

SHAPES: dict[Any, Shape] = {
    str: Shape(str),
    int: Shape(int),
    bool: Shape(bool),
    float: Shape(float, _number),
    datetime: Shape(datetime, as_utc),
    Shares: Shape(Shares),
    FilterLike: Shape(_Data, _by(filter_data), text=True),
    Mapping[str, Any]: Shape(_Data, check_metadata, text=True),
    str | Iterable[str]: Shape(list[str], _listed),
    Iterable[str]: Shape(list[str], _by(as_ids)),
    Sequence[str]: Shape(list[str], _listed),
    Vector: Shape(list[float], _by(lambda vector: as_vector(vector).tolist())),
    SpaceLike: Shape(list[str], _by(lambda space: list(as_opened(space))), _space_of),
    Weights: Shape(WeightsGiven, _weights_data, _weights_of),
    Rememberable: Shape(str | _Data | list[str | _Data], _by(_content_data), _content_of),
    Iterable[Evidence]: Shape(tuple[Evidence, ...], _by(check_evidence)),
    Sequence[Message]: Shape(tuple[_Data, ...], _by(lambda given: tuple(map(message_data, given))), messages_of),
    Sequence[Passage | Found]: Shape(
        tuple[Passage, ...],
        _by(lambda given: tuple(one if isinstance(one, Passage) else passage_of(one) for one in given)),
    ),
    list[Action]: Shape(list[Action]),
    str | Parsed: Shape(str, _by(_plain_text)),
}
"""By the type of a parameter. None is sent as null."""


# An operation


class Parameter(NamedTuple):
    """A parameter of the engine's method that is a field of the request."""

    name: str
    sent: Sent
    read: Read


class AuditNote(NamedTuple):
    """What the audit log has of an operation: the ids of its targets, and numbers."""

    targets: Sequence[str]
    detail: Mapping[str, str | int] = {}


Notes: TypeAlias = Callable[[Any, Any, Mapping[str, str]], AuditNote | None]
"""Makes the note for the audit log of a result, a request and the open segments of the path."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the service. REST, OpenAPI, the client and the MCP tools are derived from it.

    ``takes`` is the request: the body of a POST, PUT or PATCH, otherwise the query; an ``upload`` has a file as its body.
    ``gives`` is the answer, and ``field`` its field with the method's result; empty when that is the whole answer.
    ``gives_also`` is the answer in another shape that may be asked for, ``reads`` what our own client reads it as.
    ``kind`` is its kind in the metrics, ``logged`` whether the audit log has it. ``atomic`` says that it is quick and
    changes only the store, so that it can share a transaction with its stored answer.

    ``does`` is the method of the engine, or of its ``room``: ``thread``, ``facts``, ``knowledge``, ``media``, ``receipts``.
    The open segments of the path are its first arguments; the first one is the conversation in the room ``thread``.
    ``notes`` makes the note for the audit log, or None when nothing was done. ``unsent`` are parameters that a client
    refuses, with the reason.
    """

    name: str
    method: str
    path: str
    scope: str
    tag: str
    about: str = ""
    takes: Any = None
    gives: Any = None
    gives_also: Any = None
    reads: Any = None
    field: str = ""
    status: int = 200
    upload: bool = False
    media_type: str = JSON
    kind: str = "read"
    logged: bool = False
    atomic: bool = False
    does: Any = None
    room: str = ""
    arguments: tuple[Parameter, ...] = ()
    notes: Notes | None = None
    unsent: dict[str, str] = {}

    @property
    def parts(self) -> tuple[str, ...]:
        """The segments of the path; one in braces is open."""
        return tuple(self.path.strip("/").split("/"))

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the open segments."""
        return tuple(part[1:-1] for part in self.parts if part.startswith("{"))

    @property
    def takes_query(self) -> bool:
        """Whether the request is in the query."""
        return self.upload or self.method in ("GET", "DELETE")

    @property
    def has_effect(self) -> bool:
        """Whether it changes something or starts a job, so that a repeated request needs an idempotency key."""
        # Answers are kept by the key of the request, which a request of anyone does not have.
        changes = self.scope not in (READ, ANYONE) or self.status == _ACCEPTED
        return self.method != "GET" and changes and self.media_type == JSON

    def run(self, memory: Any, path: Mapping[str, str], asked: Any, **instead: Any) -> Any:
        """Call the engine's method for a request; ``instead`` replaces arguments."""
        places = [place_of(value) if name == "index" else value for name, value in path.items()]
        named = {one.name: one.read(getattr(asked, one.name)) for one in self.arguments}
        return self.call(memory, *places, **{**named, **instead})

    def call(self, memory: Any, *places: Any, **arguments: Any) -> Any:
        """Call the engine's method with arguments; ``places`` are the values of the open segments."""
        if self.room == "thread":
            memory, places = memory.thread(places[0]), places[1:]
        elif self.room:
            memory = getattr(memory, self.room)
        return getattr(memory, self.does.__name__)(*places, **arguments)

    def answer(self, result: Any) -> Any:
        """The answer for a result. ``done`` is 1 for a method that returns None."""
        if not self.field:
            return result
        made = (1 if result is None else int(result)) if self.field == "done" else result
        return self.gives(**{self.field: made})

    def request(self, given: Mapping[str, Any]) -> Any:
        """The request for arguments of the method. Raises ``InvalidInput`` for one of the wrong type."""
        for name, why in self.unsent.items():
            if given.get(name) is not None:
                raise Unsupported(f"{name} cannot be sent to a service: {why}")
        if self.takes is None:
            return None
        values = {
            one.name: None if (value := given[one.name]) is None else one.sent(value, one.name)
            for one in self.arguments
            if one.name in given
        }
        more = {name: value for name, value in given.items() if name in self.takes.__struct_fields__}
        try:
            return msgspec.convert({**more, **values}, self.takes)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"{self.name} cannot be asked so: {error}") from None


def place_of(given: str) -> int:
    """The index of a message in an address. Raises ``InvalidInput`` for anything but plain digits."""
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise InvalidInput(f"a place is a whole number, not {shown(given)}")
    return int(given)


def derived(
    does: Callable[..., Any], takes: tuple[str, str], *, skip: int, query: bool, fields: Mapping[str, Any]
) -> tuple[Any, tuple[Parameter, ...]]:
    """The request of a method, by its name and description, and its parameters.

    The first ``skip`` parameters are in the path. ``fields`` are further fields, or other types and defaults, as pairs;
    None leaves a parameter out.
    """
    hints = hints_of(does)
    found: dict[str, Any] = {}
    arguments: list[Parameter] = []
    for parameter in list(inspect.signature(does).parameters.values())[skip + 1 :]:
        name = parameter.name
        if fields.get(name, ...) is None:
            continue
        shape, optional = _shape_of(hints[name], f"{does.__qualname__}({name})")
        wire: Any = str if query and shape.text else shape.wire
        own = (
            wire | None if optional else wire,
            *([] if parameter.default is parameter.empty else [parameter.default]),
        )
        found[name] = fields.get(name, own)
        sent, read = (_as_text(shape.sent), data_of) if query and shape.text else (shape.sent, shape.read)
        arguments.append(Parameter(name, sent, _unless_none(read)))
    found |= {name: field for name, field in fields.items() if field is not None}
    listed = [(name, *field) for name, field in found.items()]
    # Keyword-only, as a required field may follow an optional one.
    made = msgspec.defstruct(
        takes[0], listed, bases=(Request,), namespace={"__doc__": takes[1]}, module=__name__, frozen=True, kw_only=True
    )
    return made, tuple(arguments)


def hints_of(method: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a method. Names imported under TYPE_CHECKING there are imported here."""
    return get_type_hints(method, {**globals(), **inspect.unwrap(method).__globals__})


def _shape_of(hint: Any, what: str) -> tuple[Shape, bool]:
    if hint in SHAPES:
        return SHAPES[hint], False
    for known, shape in SHAPES.items():
        if hint == known | None:
            return shape, True
    raise TypeError(f"no form on the wire is known for {what}: {hint}")


def _as_text(sent: Sent) -> Sent:
    return lambda value, name: json_text(sent(value, name))


def _unless_none(read: Read) -> Read:
    return read if read is _unchanged else lambda value: None if value is None else read(value)


class Wrapped(NamedTuple):
    """An answer type, and its field with the method's result."""

    gives: Any
    field: str


def wrapped(name: str, about: str, **field: Any) -> Wrapped:
    """An answer type with one field, given by its name and type."""
    ((key, type_),) = field.items()
    made = msgspec.defstruct(
        name,
        [(key, type_)],
        bases=(AnswerBody,),
        namespace={"__doc__": about},
        module=__name__,
        frozen=True,
        kw_only=True,
    )
    return Wrapped(made, key)


def with_fields(name: str, about: str, base: type[msgspec.Struct], **more: Any) -> Any:
    """An answer type with the fields of a struct and further ones, which are set by ``extended``."""
    known = [(one.name, one.type, *_default_of(one)) for one in msgspec.structs.fields(base)]
    return msgspec.defstruct(
        name,
        [*known, *more.items()],
        namespace={"__doc__": about},
        module=__name__,
        frozen=True,
        kw_only=True,
    )


def _default_of(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    if field.default is not msgspec.NODEFAULT:
        return (field.default,)
    made = field.default_factory
    return () if made is msgspec.NODEFAULT else (msgspec.field(default_factory=made),)


def extended(type_: Any, one: msgspec.Struct, **more: Any) -> Any:
    """A struct as a type made by ``with_fields``."""
    return type_(**{name: getattr(one, name) for name in one.__struct_fields__}, **more)
