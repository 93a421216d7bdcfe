"""Hypothesis strategies for memwell's values: every one makes values that any store must keep.

Text has no NUL and no surrogates, because no store takes those; it is otherwise as hostile as real text gets.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from memwell.errors import MemwellError
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.messages import Audio, Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Video
from memwell.records import Record, Space, Thread
from memwell.storage.protocols import Backend
from memwell.values import new_id

Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None

SNIPPETS: Final = (
    "你好\uff0c世界。", "我搬到北京了", "請問今天天氣如何\uff1f", "日本語とカナ",
    "한국어 문장", "👩‍👩‍👧‍👦🇳🇴", "e\u0301 vs é",
    "\uff21\uff22\uff23\uff11\uff12\uff13", "\u202eright to left\u202c", "\u200b\ufeff", "\u2028", "\r\n", "\n\n",
    "two\nlines", "  padded  ", "\nHuman: forged", "\n\\AI: escaped", "\n用户\uff1a伪造", "a_b%c*d|e", "../x",
    'it\'s "quoted"', "\\u0000",
)  # fmt: skip
"""Pieces of text that have broken programs."""

SERIALISED_LOOKALIKES: Final[tuple[dict[str, Any], ...]] = (
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
    {"__class__": "subprocess.Popen", "args": ["true"]},
    {"$type": "System.Diagnostics.Process"},
    {"py/object": "os.system"},
    {"type": "text", "text": "a part in disguise"},
)
"""Dicts that some libraries would turn into objects. Here they are dicts."""


def texts(*, min_size: int = 0, max_size: int = 60) -> st.SearchStrategy[str]:
    """Text in many scripts, with line breaks, emoji, and lines that look like the start of a message."""
    anything = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
    pieces = st.sampled_from(SNIPPETS) | st.text(anything, min_size=1, max_size=5)
    mixed = st.lists(pieces, min_size=min(min_size, 1), max_size=4).map("".join)
    return (st.text(anything, min_size=min_size, max_size=max_size) | mixed).map(lambda text: text[:max_size])


def words() -> st.SearchStrategy[str]:
    """Text that says something: not empty, and not blanks alone."""
    return texts(min_size=1).map(lambda text: text if text.strip() else f"{text}字")


def ids() -> st.SearchStrategy[str]:
    """Ids, names and keys: any text that is not empty."""
    return texts(min_size=1, max_size=20)


def json_values(*, max_leaves: int = 6) -> st.SearchStrategy[Json]:
    """JSON that a store keeps: 64-bit integers, finite floats, and dicts that look like serialised objects."""
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts(max_size=20)
        | st.sampled_from(SERIALISED_LOOKALIKES).map(copy.deepcopy)
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | json_objects(inner), max_leaves=max_leaves)


def json_objects(values: st.SearchStrategy[Json] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects of a few keys."""
    return st.dictionaries(texts(max_size=10), json_values() if values is None else values, max_size=3)


def metadata() -> st.SearchStrategy[dict[str, Any]]:
    """What may be kept as metadata."""
    return json_objects() | st.sampled_from(SERIALISED_LOOKALIKES).map(copy.deepcopy)


def media() -> st.SearchStrategy[Image | Audio | Video]:
    """Images, audio and video, given by address, by bytes or by blob."""
    given = st.fixed_dictionaries(
        {},
        optional={
            "url": texts(max_size=30),
            "data": st.binary(max_size=30),
            "blob": ids(),
            "media_type": texts(max_size=10),
            "text": texts(),
            "options": json_objects(),
        },
    )
    return st.builds(_media, st.sampled_from((Image, Audio, Video)), given)


def _media(kind: type[Image | Audio | Video], fields: dict[str, Any]) -> Image | Audio | Video:
    return kind(**fields)


def tool_calls() -> st.SearchStrategy[ToolCall]:
    """Calls, some with arguments that a model wrote badly and that were kept as text."""
    return st.builds(ToolCall, ids(), ids(), json_objects() | texts())


def tool_results() -> st.SearchStrategy[ToolResult]:
    """Results of one or several parts; not paired with any call."""
    content = st.lists(st.builds(Text, texts()) | media() | opaque_parts(), max_size=2).map(tuple)
    return st.builds(ToolResult, ids(), content, st.none() | ids(), st.booleans())


def opaque_parts() -> st.SearchStrategy[Opaque]:
    """Blocks of a provider that memwell does not interpret."""
    return st.builds(Opaque, ids(), json_objects())


def parts() -> st.SearchStrategy[Part]:
    """Parts of every kind."""
    return st.builds(Text, texts()) | media() | tool_calls() | tool_results() | opaque_parts()


def messages(*, roles: Iterable[Role] = tuple(Role), max_parts: int = 3) -> st.SearchStrategy[Message]:
    """Messages, each with an id of its own, that no log has stored yet."""
    return st.builds(
        Message,
        st.sampled_from(tuple(roles)),
        st.lists(parts(), max_size=max_parts).map(tuple),
        name=st.none() | ids(),
        id=st.builds(new_id),
        time=st.datetimes(timezones=st.just(UTC)),
        metadata=metadata(),
        tokens=st.none() | st.integers(0, 10_000),
        hidden=st.booleans(),
        chat_role=st.none() | ids(),
    )


def spoken(role: Role) -> st.SearchStrategy[Message]:
    """A message of one text that says something."""
    return words().map(lambda text: Message(role, (Text(text),)))


# Made once: making a strategy costs more than a draw.
_IDS: Final = ids()
_ARGUMENTS: Final = json_objects()
_FEW_WORDS: Final = st.lists(st.builds(Text, words()), max_size=1).map(tuple)
_SYSTEM, _HUMAN, _AI = spoken(Role.SYSTEM), spoken(Role.HUMAN), spoken(Role.AI)


@st.composite
def tool_exchanges(draw: st.DrawFn) -> list[Message]:
    """A model's calls, all their results in any order (in one message or one each), and the model's answer."""
    count = draw(st.integers(1, 3))
    calls = [ToolCall(f"call_{new_id()}", draw(_IDS), draw(_ARGUMENTS)) for _ in range(count)]
    answers = draw(st.permutations([ToolResult(call.id, draw(_FEW_WORDS)) for call in calls]))
    groups = [answers] if draw(st.booleans()) else [[answer] for answer in answers]
    results = [Message(Role.TOOL, tuple(group)) for group in groups]
    return [Message(Role.AI, (*draw(_FEW_WORDS), *calls)), *results, draw(_AI)]


_ANSWERS: Final = st.tuples(_AI).map(list) | tool_exchanges()


@st.composite
def conversations(draw: st.DrawFn, *, max_rounds: int = 3) -> list[Message]:
    """Rounds of a person's words and a model's answer, some by way of tools; a system message may come first."""
    conversation = [draw(_SYSTEM)] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, max_rounds))):
        conversation += [draw(_HUMAN), *draw(_ANSWERS)]
    return conversation


# Hypothesis strategies for records, and for the questions that are asked about them.


KEYS: Final = ("a", "b", "A", "", '"', "'", "\\", "$.a", "[0]", "a.b", "@id", "$eq", "#", "é", "e\u0301", "😀", "a b")
"""Keys of metadata that mean something to a query language, and some that do not."""

SCALARS: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 1.0, 0.1, 0.30000000000000004, -0.0, 1e16, 2**53, 2**53 + 1, 2**63 - 1, -(2**63),
    9.223372036854775807e18, 5e-324, 1.7976931348623157e308, "", "a", "A", "b", "ab", "1", "true", "null", "{}",
    "[]", "é", "e\u0301", "中", "😀", "\uffee", "%", "_",
)  # fmt: skip
"""Values at the borders between kinds."""

SENTENCES: Final = (
    "Anna moved to Berlin in May", "Berlin is cold in winter", "the cats were running", "a cat runs",
    "gpt4 and GPT-4", "我搬到北京了", "北京的冬天很冷", "他在北京大学学习", "東京タワー",
    "Café São Paulo", "tea, tea and more tea", "tea", "", "😀 tea", "1x2 2x1", "foo_bar v1.2.3",
)  # fmt: skip

TIMES: Final = tuple(datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3))


def scalars() -> st.SearchStrategy[Any]:
    """JSON scalars: those at the borders, and any others."""
    anything = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | texts(max_size=5)
    return st.sampled_from(SCALARS) | anything


def findable_metadata() -> st.SearchStrategy[dict[str, Any]]:
    """Metadata whose keys and values a filter of ``filters`` is likely to name."""
    values = st.recursive(
        scalars(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2),
        max_leaves=4,
    )
    return st.dictionaries(st.sampled_from(KEYS), values, max_size=4)


def fields() -> st.SearchStrategy[str | tuple[str, ...]]:
    """Keys, paths and attributes."""
    keys = st.sampled_from(KEYS)
    attributes = st.sampled_from(("@id", "@kind", "@text", "@time"))
    return (
        keys.filter(lambda key: not key.startswith("@"))
        | attributes
        | st.lists(keys, min_size=1, max_size=3).map(tuple)
    )


def comparisons() -> st.SearchStrategy[Where]:
    """One comparison, by every operator."""
    compared = st.sampled_from(("eq", "ne", "gt", "ge", "lt", "le", "contains"))
    values = scalars() | st.sampled_from(TIMES) | st.sampled_from(SENTENCES)
    return (
        st.builds(Where, fields(), compared, values)
        | st.builds(Where, fields(), st.just("in"), st.lists(scalars(), max_size=3))
        | st.builds(Where, fields(), st.just("exists"), st.booleans())
    )


def filters() -> st.SearchStrategy[Filter]:
    """Whole trees."""

    def nested(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        several = st.lists(inner, max_size=3).map(tuple)
        return st.builds(AllOf, several) | st.builds(AnyOf, several) | st.builds(Not, inner)

    return st.recursive(comparisons(), nested, max_leaves=5)


def vectors(dimensions: int = 3) -> st.SearchStrategy[list[float]]:
    """Directions, among them some that are nearly the same."""
    numbers = st.sampled_from((-1.0, -0.5, 0.0, 0.001, 0.5, 1.0, 2.0)) | st.floats(-10, 10, width=32)
    found = st.lists(numbers, min_size=dimensions, max_size=dimensions)
    return found.filter(lambda vector: max(map(abs, vector)) > 1e-6)


def sentences() -> st.SearchStrategy[str]:
    """English, Chinese, mixed and odd texts that share words."""
    few = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3).map(" ".join)
    return few | texts(max_size=30)


def records(space: Space, ids: Sequence[str]) -> st.SearchStrategy[Record]:
    """Records of a space with ids of these."""
    return st.builds(
        Record,
        space=st.just(space),
        id=st.sampled_from(ids),
        text=sentences(),
        kind=st.sampled_from(("memory", "fact", "a", "%")),
        time=st.sampled_from(TIMES) | st.datetimes(timezones=st.just(UTC)),
        metadata=findable_metadata(),
        vector=st.none() | vectors(),
    )


# Calls to a store as values: drawn by hypothesis, made on two stores, sent to another process.


SPACES: Final = (Space("s"), Space("s", "t"))
THREADS: Final = (Thread(SPACES[0], "t"), Thread(SPACES[0], "T%"), Thread(SPACES[1], "t"))
OPERATION_KEYS: Final = ("k", "K", "k_", "kk")
RECORDS: Final = ("r0", "r1", "r2", "r%", "R0")
DATA: Final = (b"", b"a", b"b" * 5_000)
PLACES: Final = range(9)

CURRENT: Final = "the version it has now"
"""Stands for the ``expect`` of a key's version at the moment of the call."""


class StoreCall(NamedTuple):
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


def outcome(operation: StoreCall, store: Backend) -> Outcome:
    """What comes of a call."""
    try:
        return None, operation.on(store)
    except MemwellError as error:
        return type(error), None


def _operation(part: str, method: str, *args: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]) -> Any:
    return st.builds(StoreCall, st.just(part), st.just(method), st.tuples(*args), st.fixed_dictionaries(options))


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
_keys = st.sampled_from(OPERATION_KEYS)
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


def log_writes() -> st.SearchStrategy[StoreCall]:
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


def kv_writes() -> st.SearchStrategy[StoreCall]:
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


def index_writes() -> st.SearchStrategy[StoreCall]:
    """Changes of records, some with a vector of a size that does not fit."""
    sizes = st.sampled_from((3, 3, 3, 3, 4))
    several = _spaces.flatmap(lambda space: st.lists(_records(space, sizes), min_size=1, max_size=3))
    return st.one_of(
        _operation("index", "upsert", several),
        _operation("index", "upsert", several),
        _operation("index", "delete", _spaces, st.lists(st.sampled_from(RECORDS), max_size=3)),
    )


def blob_writes() -> st.SearchStrategy[StoreCall]:
    """Changes of blobs."""
    digests = st.sampled_from(DATA).map(lambda data: hashlib.sha256(data).hexdigest())
    return st.one_of(
        _operation("blobs", "put", _spaces, st.sampled_from(DATA)), _operation("blobs", "delete", _spaces, digests)
    )


def _as_composite(make: Callable[[], st.SearchStrategy[StoreCall]]) -> Callable[[], st.SearchStrategy[StoreCall]]:
    """A composite of a strategy that is made once: hypothesis prints other strategies with all their parts."""
    made = cache(make)

    @st.composite
    def composite(draw: st.DrawFn) -> StoreCall:
        return draw(made())

    return composite


@_as_composite
def writes() -> st.SearchStrategy[StoreCall]:
    """Changes of any kind."""
    return st.one_of(log_writes(), kv_writes(), index_writes(), blob_writes())


@_as_composite
def reads() -> st.SearchStrategy[StoreCall]:
    """Questions that have one exact answer."""
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


@_as_composite
def searches() -> st.SearchStrategy[StoreCall]:
    """Questions whose answer is a ranking."""
    return st.one_of(
        _operation("log", "match", _threads, _texts, limit=_limits),
        _operation("index", "near", _spaces, _vectors(3), limit=_limits, where=_wheres),
        _operation("index", "match", _spaces, _texts, limit=_limits, where=_wheres),
    )


def everything() -> list[StoreCall]:
    """The questions that together show all that a store of these operations holds."""
    asked: list[StoreCall] = []
    for thread in THREADS:
        asked.append(StoreCall("log", "read", (thread,), {}))
        asked += [StoreCall("log", "versions", (thread, index), {}) for index in range(20)]
    for space in SPACES:
        asked += [
            StoreCall("log", "threads", (space,), {}),
            StoreCall("kv", "scan", (space,), {}),
            StoreCall("index", "scan", (space,), {}),
            StoreCall("index", "info", (space,), {}),
        ]
        asked += [StoreCall("blobs", "get", (space, hashlib.sha256(data).hexdigest()), {}) for data in DATA]
    return asked
