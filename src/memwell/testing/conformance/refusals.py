"""Bad input is refused with the value and the rule, by every method, and nothing of it is stored.

Each case is a call and a word that its error must say. Values that look like serialised objects are no bad input: they are
plain data, and come back as such.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.filters import AllOf, Not, Where
from memwell.messages import Message, Role, Text, ToolCall, human
from memwell.records import Record, Thread
from memwell.storage.protocols import Backend
from memwell.testing.conformance.backend import write_everywhere
from memwell.testing.conformance.suite import HOME, TALK, Suite, all_pages
from memwell.testing.strategies import SERIALISED_LOOKALIKES

Case = tuple[Callable[[Backend], object], str]
"""A call that must be refused, and what its error must say."""

BAD_TEXTS: tuple[tuple[Any, str], ...] = (
    ("a\x00b", "NUL"),
    ("é\x00", "NUL"),
    ("\ud800", "surrogate"),
    ("x\udfff", "surrogate"),
    (None, "string"),
    (5, "string"),
    (b"bytes", "string"),
    (["x"], "string"),
)
BAD_IDS: tuple[tuple[Any, str], ...] = (*BAD_TEXTS, ("", "empty"), ("x" * 1025, "1024"), ("x" * 2**20, "1024"))
BAD_COUNTS: tuple[Any, ...] = (-2, "3", 1.5, True, 2**63, [1], float("nan"))
BAD_LIMITS: tuple[Any, ...] = (0, -1, 100_001, 2**70, "5", True, 2.0, None)


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


BAD_JSON: tuple[tuple[Any, str], ...] = (
    (float("nan"), "finite"),
    (float("-inf"), "finite"),
    (2**63, "64 bits"),
    (-(2**63) - 1, "64 bits"),
    (10**5000, "64 bits"),
    ("\x00", "NUL"),
    ("\ud800", "surrogate"),
    (object(), "JSON"),
    ({1}, "JSON"),
    (1j, "JSON"),
    ([b"bytes inside"], "JSON"),
    ({1: "x"}, "keys"),
    ({"\x00": 1}, "NUL"),
    (_nested(100), "deep"),
    (_nested(100_000), "deep"),
)

BAD_VECTORS: tuple[tuple[Any, str], ...] = (
    ([], "dimensions"),
    ([0.0, 0.0], "direction"),
    ([float("nan"), 1.0], "finite"),
    ([1.0, float("inf")], "finite"),
    ([1e308] * 100, "overflow"),
    ([1.0] * 8193, "dimensions"),
    (None, "numbers"),
    ("ab", "numbers"),
    (b"x" * 16, "numbers"),
    ([None, 1.0], "number"),
    ([[1.0], [2.0]], "number"),
    ([10**400, 1.0], "number"),
)

_DEEP = {"$not": {"a": 1}}
for _ in range(40):
    _DEEP = {"$not": _DEEP}

BAD_FILTERS: tuple[tuple[Any, str], ...] = (
    ({"a": {"$foo": 1}}, "unknown filter operator"),
    ({"a": {"$regex": ".*"}}, "unknown filter operator"),
    ({"$foo": []}, "$foo"),
    ({"a": {"b": 1}}, "operator"),
    ({"a": [1]}, "compares with"),
    ({"a": {"$gt": {}}}, "compares with"),
    ({"a": {"$in": "text"}}, "list"),
    ({"a": {"$in": [[1]]}}, "compares with"),
    ({"a": {"$exists": 1}}, "true or false"),
    ({"a": float("nan")}, "finite"),
    ({"a": 2**64}, "64 bits"),
    ({"a": "\x00"}, "NUL"),
    ({"a": object()}, "JSON"),
    ({"\ud800": 1}, "surrogate"),
    ({"@nothing": 1}, "unknown attribute"),
    ({5: 1}, "field"),
    ({(): 1}, "field"),
    ({("a", 5): 1}, "string"),
    ({("a",) * 100: 1}, "at most"),
    ({"$and": {}}, "list"),
    ({"$or": "text"}, "list"),
    ({"$or": [5]}, "mapping"),
    ({"$not": [1]}, "mapping"),
    (_DEEP, "deep"),
    ({"$or": [{"a": i} for i in range(300)]}, "at most"),
    ({"a": {"$in": list(range(300))}}, "at most"),
    ("a = 1", "filter"),
    (5, "filter"),
    ([{"a": 1}], "filter"),
    (AllOf(5), "filter"),  # type: ignore[arg-type]
    (AllOf(("a",)), "filter"),  # type: ignore[arg-type]
    (Not(None), "filter"),  # type: ignore[arg-type]
    (Where, "filter"),
)


def _bad_messages() -> Iterable[tuple[Any, str]]:
    yield from ((human("x", id=bad), rule) for bad, rule in BAD_IDS)
    yield from ((human("x", name=bad), rule) for bad, rule in BAD_IDS if bad is not None)
    yield from ((human("x", chat_role=bad), rule) for bad, rule in BAD_IDS if bad is not None)
    yield from ((Message(Role.AI, (Text(bad),)), rule) for bad, rule in BAD_TEXTS)
    yield from ((human("x", metadata={"k": bad}), rule) for bad, rule in BAD_JSON)
    yield from ((Message(Role.AI, (ToolCall("c", "n", {"k": bad}),)), rule) for bad, rule in BAD_JSON)
    yield from ((Message(Role.AI, (ToolCall(bad, "n"),)), rule) for bad, rule in BAD_IDS)
    yield from ((human("x", tokens=bad), "tokens") for bad in (*BAD_COUNTS, 2**31))
    yield human("x" * (17 * 2**20)), "limit"
    yield human("x", metadata=5), "mapping"
    yield human("x", hidden="yes"), "hidden"
    yield Message(Role.AI, ({"type": "text", "text": "x"},)), "part"  # type: ignore[arg-type]
    yield from ((bad, "Message") for bad in (None, "text", 5, {"role": "human"}, ("human", "text")))


def _log_writes() -> Iterable[Case]:
    def appending(bad: Any) -> Callable[[Backend], object]:
        return lambda store: store.log.append(TALK, [human("good"), bad])

    def editing(bad: Any) -> Callable[[Backend], object]:
        return lambda store: store.log.edit(TALK, {0: bad})

    for bad, rule in _bad_messages():
        yield appending(bad), rule
        if bad is not None:
            yield editing(bad), rule
    yield lambda store: store.log.append(TALK, None), "messages"  # type: ignore[arg-type]
    yield lambda store: store.log.append(TALK, human("x")), "messages"  # type: ignore[arg-type]
    yield lambda store: store.log.append(TALK, "text"), "Message"  # type: ignore[arg-type]
    for places in ({"index": -1}, {"index": 2**32}, {"index": "1"}, {"round": -1}, {"round": 2**40}, {"index": True}):
        kept = human("x", **places)
        yield (lambda store, kept=kept: store.log.append(TALK, [kept], keep_places=True)), next(iter(places))
    for bad in BAD_COUNTS:
        yield (lambda store, bad=bad: store.log.edit(TALK, {bad: human("x")} if bad != [1] else {-1: None})), "index"
        yield (lambda store, bad=bad: store.log.trim(TALK, bad)), "before"
        yield (lambda store, bad=bad: store.log.trim(TALK, 1, keep=[bad])), "index"
    for bad in (None, [human("x")], "text", 5):
        yield (lambda store, bad=bad: store.log.edit(TALK, bad)), "mapping"
    yield lambda store: store.log.trim(TALK, 1, keep=5), "keep"  # type: ignore[arg-type]
    for bad, rule in BAD_JSON:
        yield (lambda store, bad=bad: store.log.annotate(TALK, metadata={"k": bad})), rule
    yield lambda store: store.log.annotate(TALK, metadata=[]), "mapping"  # type: ignore[arg-type]


def _threads_and_spaces() -> Iterable[Case]:
    threads: tuple[Any, ...] = (None, "talk", ("home", "talk"), HOME, 5)
    spaces: tuple[Any, ...] = (None, "home", ("home",), ["home"], TALK, 5)
    digest = "0" * 64
    for bad in threads:
        calls: list[Callable[[Backend, Any], object]] = [
            lambda store, bad: store.log.append(bad, [human("x")]),
            lambda store, bad: store.log.append(bad, []),
            lambda store, bad: store.log.read(bad),
            lambda store, bad: store.log.edit(bad, {0: None}),
            lambda store, bad: store.log.versions(bad, 0),
            lambda store, bad: store.log.trim(bad, 1),
            lambda store, bad: store.log.delete(bad),
            lambda store, bad: store.log.annotate(bad),
            lambda store, bad: store.log.match(bad, "x"),
        ]
        yield from (((lambda store, call=call, bad=bad: call(store, bad)), "Thread") for call in calls)
    for bad in spaces:
        calls = [
            lambda store, bad: store.log.threads(bad),
            lambda store, bad: store.kv.get(bad, "key"),
            lambda store, bad: store.kv.put(bad, "key", 1),
            lambda store, bad: store.kv.delete(bad, "key"),
            lambda store, bad: store.kv.scan(bad),
            lambda store, bad: store.index.get(bad, ["x"]),
            lambda store, bad: store.index.delete(bad, ["x"]),
            lambda store, bad: store.index.scan(bad),
            lambda store, bad: store.index.near(bad, [1.0, 2.0]),
            lambda store, bad: store.index.match(bad, "x"),
            lambda store, bad: store.index.info(bad),
            lambda store, bad: store.blobs.put(bad, b"x"),
            lambda store, bad: store.blobs.get(bad, digest),
            lambda store, bad: store.blobs.delete(bad, digest),
        ]
        yield from (((lambda store, call=call, bad=bad: call(store, bad)), "Space") for call in calls)
    for bad, rule in BAD_IDS:
        yield (lambda _, bad=bad: Thread(HOME, bad)), rule
        yield (lambda _, bad=bad: HOME / bad), rule


def _log_reads() -> Iterable[Case]:
    for bad in BAD_COUNTS:
        for name in ("last", "first", "after", "before"):
            yield (lambda store, name=name, bad=bad: store.log.read(TALK, **{name: bad})), name
        yield (lambda store, bad=bad: store.log.versions(TALK, bad)), "index"
    yield lambda store: store.log.read(TALK, last=1, first=1), "not both"
    for bad in BAD_LIMITS:
        yield (lambda store, bad=bad: store.log.threads(HOME, limit=bad)), "limit"
        yield (lambda store, bad=bad: store.log.match(TALK, "x", limit=bad)), "limit"
    for bad, rule in BAD_TEXTS:
        yield (lambda store, bad=bad: store.log.match(TALK, bad)), rule
        if bad is not None:
            yield (lambda store, bad=bad: store.log.threads(HOME, cursor=bad)), rule
    for call in (
        lambda store, bad: store.log.read(TALK, ids=bad),
        lambda store, bad: store.log.threads(HOME, ids=bad),
        lambda store, bad: store.index.get(HOME, bad),
        lambda store, bad: store.index.delete(HOME, bad),
    ):
        for bad, rule in ((("one string"), "list"), (5, "list"), *(([bad], rule) for bad, rule in BAD_IDS)):
            yield (lambda store, call=call, bad=bad: call(store, bad)), rule


def _values() -> Iterable[Case]:
    for bad, rule in BAD_IDS:
        yield (lambda store, bad=bad: store.kv.get(HOME, bad)), rule
        yield (lambda store, bad=bad: store.kv.put(HOME, bad, 1)), rule
        yield (lambda store, bad=bad: store.kv.delete(HOME, bad)), rule
    for bad, rule in BAD_JSON:
        yield (lambda store, bad=bad: store.kv.put(HOME, "key", bad)), rule
        yield (lambda store, bad=bad: store.kv.put(HOME, "key", {"in": [bad]})), rule
    yield lambda store: store.kv.put(HOME, "key", b"x" * (17 * 2**20)), "limit"
    yield lambda store: store.kv.put(HOME, "key", "x" * (17 * 2**20)), "limit"
    for bad in (0, -1, float("nan"), float("inf"), "5", True, 1e11, 10**400):
        yield (lambda store, bad=bad: store.kv.put(HOME, "key", 1, ttl=bad)), "ttl"  # type: ignore[misc]
    for bad in BAD_COUNTS:
        yield (lambda store, bad=bad: store.kv.put(HOME, "key", 1, expect=bad)), "expect"
        yield (lambda store, bad=bad: store.kv.delete(HOME, "key", expect=bad)), "expect"
    for bad in BAD_LIMITS:
        yield (lambda store, bad=bad: store.kv.scan(HOME, limit=bad)), "limit"
    for bad, rule in BAD_TEXTS:
        if bad is not None:
            yield (lambda store, bad=bad: store.kv.scan(HOME, cursor=bad)), rule
    for bad, rule in BAD_FILTERS:
        yield (lambda store, bad=bad: store.kv.scan(HOME, where=bad)), rule


def _records() -> Iterable[Case]:
    def upserting(bad: Any) -> Callable[[Backend], object]:
        return lambda store: store.index.upsert([Record(text="good", space=HOME), bad])

    for bad in (None, "text", 5, {"text": "x"}):
        yield upserting(bad), "Record"
    for bad in (None, 5, Record(text="x", space=HOME)):
        yield (lambda store, bad=bad: store.index.upsert(bad)), "records"
    for bad, rule in BAD_IDS:
        yield (lambda _, bad=bad: Record(text="x", id=bad)), rule
        yield (lambda _, bad=bad: Record(text="x", kind=bad)), rule
    for bad, rule in BAD_TEXTS:
        yield (lambda _, bad=bad: Record(text=bad)), rule
        yield (lambda store, bad=bad: store.index.match(HOME, bad)), rule
    for bad, rule in BAD_JSON:
        yield (lambda _, bad=bad: Record(text="x", metadata={"k": bad})), rule
        changed = Record(text="x", space=HOME, metadata={"k": 1})
        changed.metadata["k"] = bad
        yield upserting(changed), rule
    for bad, rule in BAD_VECTORS:
        if bad is not None:
            yield (lambda _, bad=bad: Record(text="x", vector=bad)), rule
        yield (lambda store, bad=bad: store.index.near(HOME, bad)), rule
    yield lambda _: Record(text="x" * (17 * 2**20)), "over"
    yield lambda _: Record(text="x", time="now"), "datetime"  # type: ignore[arg-type]
    yield lambda _: Record(text="x", metadata=[]), "mapping"  # type: ignore[arg-type]
    for bad in BAD_LIMITS:
        yield (lambda store, bad=bad: store.index.scan(HOME, limit=bad)), "limit"
        yield (lambda store, bad=bad: store.index.near(HOME, [1.0, 2.0], limit=bad)), "limit"
        yield (lambda store, bad=bad: store.index.match(HOME, "x", limit=bad)), "limit"
    for bad in ("x", "-1", "1.5", "9" * 30, "１", "", 5, b"1"):
        yield (lambda store, bad=bad: store.index.scan(HOME, cursor=bad)), "cursor"
    for bad, rule in BAD_FILTERS:
        yield (lambda store, bad=bad: store.index.scan(HOME, where=bad)), rule
        yield (lambda store, bad=bad: store.index.near(HOME, [1.0, 2.0], where=bad)), rule
        yield (lambda store, bad=bad: store.index.match(HOME, "x", where=bad)), rule


def _dump(store: Backend) -> list[Any]:
    return [
        store.log.read(TALK),
        store.log.versions(TALK, 0),
        all_pages(store.log.threads, HOME),
        all_pages(store.kv.scan, HOME),
        all_pages(store.index.scan, HOME),
        store.index.info(HOME),
    ]


def _refusal(call: Callable[[Backend], object], store: Backend) -> str:
    try:
        call(store)
    except InvalidInput as error:
        return str(error)
    return ""


class RefusalsSuite(Suite):
    """Bad input, and what only looks like it."""

    @pytest.mark.parametrize(
        "cases",
        [_threads_and_spaces, _log_writes, _log_reads, _values, _records],
        ids=["threads and spaces", "log writes", "log reads", "values", "records"],
    )
    def test_bad_input_is_refused_and_nothing_is_stored(
        self, store: Backend, cases: Callable[[], Iterable[Case]]
    ) -> None:
        write_everywhere(store, "before")
        before = _dump(store)
        for number, (call, rule) in enumerate(cases()):
            refusal = _refusal(call, store)
            assert rule.lower() in refusal.lower(), f"case {number} does not say {rule!r}: {refusal[:300]!r}"
            assert len(refusal) < 1_000
        assert _dump(store) == before

    def test_what_looks_like_a_serialised_object_is_data(self, store: Backend) -> None:
        for number, lookalike in enumerate(SERIALISED_LOOKALIKES):
            data = copy.deepcopy(lookalike)
            sent = human("x", metadata={"in": data})
            call = Message(Role.AI, (ToolCall("c", "n", data),), metadata=data)
            assert [m.metadata for m in store.log.append(TALK, [sent, call])] == [{"in": data}, data]
            assert store.log.read(TALK, last=1)[0].tool_calls[0].arguments == data
            assert store.log.annotate(TALK, metadata=data).metadata == data
            assert store.kv.put(HOME, f"key{number}", data).value == data
            assert [e.value for e in store.kv.scan(HOME, where={"@id": f"key{number}"}).items] == [data]
            store.index.upsert([Record(id="r", text="x", space=HOME, metadata=data)])
            assert store.index.get(HOME, ["r"])[0].metadata == data
            assert type(store.index.get(HOME, ["r"])[0].metadata) is dict


__all__ = ["RefusalsSuite"]
