"""Calls to a store as values: drawn by hypothesis, made on two stores, sent to another process."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from memwell.errors import MemwellError
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.messages import Image, Message, Role, Text, ToolCall, ToolResult
from memwell.records import Record, Space, Thread
from memwell.storage.protocols import Backend
from memwell.testing.questions import SENTENCES, TIMES
from memwell.testing.strategies import SERIALISED_LOOKALIKES
from memwell.values import new_id

SPACES: Final = (Space("s"), Space("s", "t"))
THREADS: Final = (Thread(SPACES[0], "t"), Thread(SPACES[0], "T%"), Thread(SPACES[1], "t"))
KEYS: Final = ("k", "K", "k_", "kk")
RECORDS: Final = ("r0", "r1", "r2", "r%", "R0")
DATA: Final = (b"", b"a", b"b" * 5_000)
PLACES: Final = range(9)

CURRENT: Final = "the version it has now"
"""Stands for the ``expect`` of a key's version at the moment of the call."""


class Operation(NamedTuple):
    """One call: ``store.<part>.<method>(*args, **options)``."""

    part: str
    method: str
    args: tuple[Any, ...]
    options: dict[str, Any]

    def on(self, store: Backend) -> Any:
        """Make the call."""
        return getattr(getattr(store, self.part), self.method)(*self.args, **self.options)


Outcome = tuple[type[MemwellError] | None, Any]
"""The class of what a call raised, or what it returned."""


def outcome(operation: Operation, store: Backend) -> Outcome:
    """What comes of a call."""
    try:
        return None, operation.on(store)
    except MemwellError as error:
        return type(error), None


def _operation(part: str, method: str, *args: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]) -> Any:
    return st.builds(Operation, st.just(part), st.just(method), st.tuples(*args), st.fixed_dictionaries(options))


# What is stored comes from small pools: the sequence is what these are about, and drawing much takes long.
_OBJECTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"a": 1, "b": {"a": "x"}},
    {"a": 1.0, "b": [1, "x", None]},
    {"a": "x", "$.a": True},
    {"a": None, "": 2**63 - 1},
    *SERIALISED_LOOKALIKES,
)
_WHERES: Final[tuple[Filter | None, ...]] = (
    None,
    Where("a", "eq", 1),
    Where("a", "ne", "x"),
    Where(("b", "a"), "exists", True),
    AnyOf((Where("b", "contains", "x"), Not(Where("@id", "gt", "k")))),
    AllOf((Where("@id", "in", ["k", "r0", "R0"]), Where("@time", "le", TIMES[0]))),
)
_LARGE: Final = (
    Message(Role.AI, (Text("let me look"), ToolCall("call", "look up", {"in": [1, None]})), tokens=5),
    Message(Role.TOOL, (ToolResult("call", (Text("found the tea"),), "look up"),), metadata={"a": (1, 2)}),
    Message(Role.HUMAN, (Image(data=b"\x00\xff", text="a cat"),), name="Anna", hidden=True),
    Message(Role.CHAT, (Text("北京 " * 400),), chat_role="narrator"),
)
_texts = st.sampled_from(SENTENCES)
_wheres = st.sampled_from(_WHERES)
_threads = st.sampled_from(THREADS)
_spaces = st.sampled_from(SPACES)
_keys = st.sampled_from(KEYS)
_places = st.sampled_from(PLACES)
_ids = st.just("taken") | st.builds(new_id) | st.builds(new_id) | st.builds(new_id)
_limits = st.integers(1, 6)
_expected = st.none() | st.sampled_from((CURRENT, CURRENT, 0, 12345))


def short_messages() -> st.SearchStrategy[Message]:
    """Messages of a sentence; now and then a large one with all there can be in a message."""
    short = st.builds(
        Message,
        st.sampled_from((Role.HUMAN, Role.AI, Role.SYSTEM)),
        st.tuples(st.builds(Text, _texts)),
        id=_ids,
        tokens=st.none() | st.integers(0, 50),
    )
    return short | st.sampled_from(_LARGE).map(lambda one: one.changed(id=new_id()))


def _placed_messages() -> st.SearchStrategy[Message]:
    places = st.none() | st.integers(0, 14)
    return st.builds(_at_place, short_messages(), places, places)


def _at_place(message: Message, index: int | None, round_: int | None) -> Message:
    return message.changed(index=index, round=round_)


def log_writes() -> st.SearchStrategy[Operation]:
    """Changes of conversations."""
    several = st.lists(short_messages(), min_size=1, max_size=3)
    return st.one_of(
        _operation("log", "append", _threads, several),
        _operation("log", "append", _threads, several),
        _operation("log", "append", _threads, st.lists(_placed_messages(), max_size=3), keep_places=st.booleans()),
        _operation(
            "log", "edit", _threads, st.dictionaries(_places, st.none() | short_messages(), min_size=1, max_size=3)
        ),
        _operation("log", "trim", _threads, _places, keep=st.lists(_places, max_size=2)),
        _operation("log", "delete", _threads),
        _operation(
            "log", "annotate", _threads, metadata=st.none() | st.sampled_from(_OBJECTS), end_round=st.booleans()
        ),
    )


def kv_writes() -> st.SearchStrategy[Operation]:
    """Changes of values by key."""
    values = st.sampled_from((*_OBJECTS, None, True, 1, 1.5, "text", [1, "a"], b"", b"{}"))
    ttls = st.none() | st.sampled_from((0.5, 1.0, 100.0))
    return st.one_of(
        _operation("kv", "put", _spaces, _keys, values, ttl=ttls, expect=_expected),
        _operation("kv", "put", _spaces, _keys, values),
        _operation("kv", "delete", _spaces, _keys, expect=_expected),
    )


def _records(space: Space, sizes: st.SearchStrategy[int]) -> st.SearchStrategy[Record]:
    return st.builds(
        Record,
        space=st.just(space),
        time=st.just(TIMES[0]),
        id=st.sampled_from(RECORDS),
        text=_texts,
        kind=st.sampled_from(("memory", "fact")),
        metadata=st.sampled_from(_OBJECTS),
        vector=st.none() | sizes.flatmap(_vectors),
    )


def _vectors(size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from((-1.0, 0.25, 0.5, 1.0)), min_size=size, max_size=size)


def index_writes() -> st.SearchStrategy[Operation]:
    """Changes of records, some with a vector of a size that does not fit."""
    sizes = st.sampled_from((3, 3, 3, 3, 4))
    several = _spaces.flatmap(lambda space: st.lists(_records(space, sizes), min_size=1, max_size=3))
    return st.one_of(
        _operation("index", "upsert", several),
        _operation("index", "upsert", several),
        _operation("index", "delete", _spaces, st.lists(st.sampled_from(RECORDS), max_size=3)),
    )


def blob_writes() -> st.SearchStrategy[Operation]:
    """Changes of blobs."""
    digests = st.sampled_from(DATA).map(lambda data: hashlib.sha256(data).hexdigest())
    return st.one_of(
        _operation("blobs", "put", _spaces, st.sampled_from(DATA)), _operation("blobs", "delete", _spaces, digests)
    )


# Composites, because hypothesis shows a strategy by all it is made of, and these are made of very much.


@st.composite
def writes(draw: st.DrawFn) -> Operation:
    """Changes of any kind."""
    return draw(_writes())


@cache
def _writes() -> st.SearchStrategy[Operation]:
    return st.one_of(log_writes(), kv_writes(), index_writes(), blob_writes())


@st.composite
def reads(draw: st.DrawFn) -> Operation:
    """Questions that have one exact answer."""
    return draw(_reads())


@cache
def _reads() -> st.SearchStrategy[Operation]:
    bounds = {"after": st.none() | st.integers(-1, 8), "before": st.none() | _places}
    pages = {"limit": _limits, "where": _wheres}
    return st.one_of(
        _operation("log", "read", _threads, **bounds),
        _operation("log", "read", _threads, last=_places, **bounds),
        _operation("log", "read", _threads, first=_places, **bounds),
        _operation("log", "read", _threads, ids=st.lists(_ids, max_size=2), last=st.none() | _places),
        _operation("log", "versions", _threads, _places),
        _operation("log", "threads", _spaces, limit=_limits),
        _operation("kv", "get", _spaces, _keys),
        _operation("kv", "scan", _spaces, **pages),
        _operation("kv", "scan", _spaces, skip=st.integers(0, 4), **pages),
        _operation("kv", "count", _spaces, where=_wheres),
        _operation("index", "get", _spaces, st.lists(st.sampled_from(RECORDS), max_size=3)),
        _operation("index", "scan", _spaces, **pages),
        _operation("index", "info", _spaces),
    )


@st.composite
def searches(draw: st.DrawFn) -> Operation:
    """Questions whose answer is a ranking."""
    return draw(_searches())


@cache
def _searches() -> st.SearchStrategy[Operation]:
    return st.one_of(
        _operation("log", "match", _threads, _texts, limit=_limits),
        _operation("index", "near", _spaces, _vectors(3), limit=_limits, where=_wheres),
        _operation("index", "match", _spaces, _texts, limit=_limits, where=_wheres),
    )


def everything() -> list[Operation]:
    """The questions that together show all that a store of these operations holds."""
    asked: list[Operation] = []
    for thread in THREADS:
        asked.append(Operation("log", "read", (thread,), {}))
        asked += [Operation("log", "versions", (thread, index), {}) for index in range(20)]
    for space in SPACES:
        asked += [
            Operation("log", "threads", (space,), {}),
            Operation("kv", "scan", (space,), {}),
            Operation("index", "scan", (space,), {}),
            Operation("index", "info", (space,), {}),
        ]
        asked += [Operation("blobs", "get", (space, hashlib.sha256(data).hexdigest()), {}) for data in DATA]
    return asked


__all__ = [
    "CURRENT",
    "Operation",
    "Outcome",
    "everything",
    "outcome",
    "reads",
    "searches",
    "writes",
]
