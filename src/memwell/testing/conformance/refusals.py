"""Refusals: every method refuses bad input with the value and the rule, and stores nothing of it.

Each case is a call and a word that its error must contain. Values that look like serialised objects are plain data, and
come back as such.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from memwell.errors import InvalidInput
from memwell.filters import AllOf, Not, Where
from memwell.messages import Message, Role, Text, ToolCall, human
from memwell.records import Record
from memwell.storage.arguments import moment
from memwell.storage.protocols import Backend
from memwell.testing.conformance.backend import write_everywhere
from memwell.testing.conformance.suite import HOME, TALK, Suite, all_pages, has
from memwell.testing.strategies import SERIALISED_LOOKALIKES, StoreCall
from memwell.values import shown

Case = tuple[StoreCall, str]
"""A call that must be refused, and what its error must say."""

BAD_TEXTS: tuple[tuple[Any, str], ...] = (
    ("a\x00b", "NUL"), ("é\x00", "NUL"), ("\ud800", "surrogate"), ("x\udfff", "surrogate"), (None, "string"),
    (5, "string"), (b"bytes", "string"), (["x"], "string"),
)  # fmt: skip
BAD_IDS: tuple[tuple[Any, str], ...] = (*BAD_TEXTS, ("", "empty"), ("x" * 1025, "1024"), ("x" * 2**20, "1024"))
BAD_COUNTS: tuple[Any, ...] = (-2, "3", 1.5, True, 2**63, b"3", float("nan"))
BAD_LIMITS: tuple[Any, ...] = (0, -1, 100_001, 2**70, "5", True, 2.0, None)


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


BAD_JSON: tuple[tuple[Any, str], ...] = (
    (float("nan"), "finite"), (float("-inf"), "finite"), (2**63, "64 bits"), (-(2**63) - 1, "64 bits"),
    (10**5000, "64 bits"), ("\x00", "NUL"), ("\ud800", "surrogate"), (object(), "JSON"), ({1}, "JSON"),
    (1j, "JSON"), ([b"bytes inside"], "JSON"), ({1: "x"}, "keys"), ({"\x00": 1}, "NUL"), (_nested(100), "deep"),
    (_nested(100_000), "deep"),
)  # fmt: skip

BAD_VECTORS: tuple[tuple[Any, str], ...] = (
    ([], "dimensions"), ([0.0, 0.0], "direction"), ([float("nan"), 1.0], "finite"), ([1.0, float("inf")], "finite"),
    ([1e308] * 100, "overflow"), ([1.0] * 8193, "dimensions"), (None, "numbers"), ("ab", "numbers"),
    (b"x" * 16, "numbers"), ([None, 1.0], "number"), ([[1.0], [2.0]], "number"), ([10**400, 1.0], "number"),
)  # fmt: skip


def _denied(times: int) -> dict[str, Any]:
    return {"$not": _denied(times - 1)} if times else {"a": 1}


BAD_FILTERS: tuple[tuple[Any, str], ...] = (
    ({"a": {"$foo": 1}}, "unknown filter operator"), ({"a": {"$regex": ".*"}}, "unknown filter operator"),
    ({"$foo": []}, "$foo"), ({"a": {"b": 1}}, "operator"), ({"a": [1]}, "compares with"),
    ({"a": {"$gt": {}}}, "compares with"), ({"a": {"$in": "text"}}, "list"),
    ({"a": {"$in": [[1]]}}, "compares with"), ({"a": {"$exists": 1}}, "true or false"),
    ({"a": float("nan")}, "finite"), ({"a": 2**64}, "64 bits"), ({"a": "\x00"}, "NUL"), ({"a": object()}, "JSON"),
    ({"\ud800": 1}, "surrogate"), ({"@nothing": 1}, "unknown attribute"), ({5: 1}, "field"), ({(): 1}, "field"),
    ({("a", 5): 1}, "string"), ({("a",) * 100: 1}, "at most"), ({"$and": {}}, "list"), ({"$or": "text"}, "list"),
    ({"$or": [5]}, "mapping"), ({"$not": [1]}, "mapping"), (_denied(40), "deep"),
    ({"$or": [{"a": i} for i in range(300)]}, "at most"), ({"a": {"$in": list(range(300))}}, "at most"),
    ("a = 1", "filter"), (5, "filter"), ([{"a": 1}], "filter"), (AllOf(cast(Any, 5)), "filter"),
    (AllOf(cast(Any, ("a",))), "filter"), (Not(cast(Any, None)), "filter"), (Where, "filter"),
)  # fmt: skip


def _bad_messages() -> Iterable[tuple[Any, str]]:
    yield from ((human("x", id=bad), rule) for bad, rule in BAD_IDS)
    for name in ("name", "chat_role"):
        yield from ((human("x", **{name: bad}), rule) for bad, rule in BAD_IDS if bad is not None)
    yield from ((Message(Role.AI, (Text(bad),)), rule) for bad, rule in BAD_TEXTS)
    yield Message(Role.AI, (Text(cast(Any, moment(0))),)), "string"
    yield from ((human("x", metadata={"k": bad}), rule) for bad, rule in BAD_JSON)
    yield from ((Message(Role.AI, (ToolCall("c", "n", {"k": bad}),)), rule) for bad, rule in BAD_JSON)
    yield from ((Message(Role.AI, (ToolCall(bad, "n"),)), rule) for bad, rule in BAD_IDS)
    yield from ((human("x", tokens=bad), "tokens") for bad in (*BAD_COUNTS, 2**31))
    yield human("x" * (17 * 2**20)), "limit"
    yield human("x", metadata=5), "mapping"
    yield human("x", hidden="yes"), "hidden"
    yield Message(Role.AI, (cast(Any, {"type": "text", "text": "x"}),)), "part"
    yield from ((bad, "Message") for bad in ("text", 5, {"role": "human"}, ("human", "text")))


def _log_writes() -> Iterable[Case]:
    for bad, rule in _bad_messages():
        yield _log("append", TALK, [bad]), rule
        yield _log("append", TALK, [human("good"), bad]), rule
        yield _log("edit", TALK, {0: bad}), rule
    yield _log("append", TALK, [None]), "Message"
    for bad, rule in ((None, "messages"), (human("x"), "messages"), ("text", "Message"), (5, "messages")):
        yield _log("append", TALK, bad), rule
    for name, bad in (
        ("index", -1),
        ("index", 2**32),
        ("index", "1"),
        ("index", True),
        ("round", -1),
        ("round", 2**40),
    ):
        yield _log("append", TALK, [human("x", **{name: bad})], keep_places=True), name
    for bad in BAD_COUNTS:
        yield _log("edit", TALK, {bad: human("x")}), "index"
        yield _log("trim", TALK, bad), "before"
        yield _log("trim", TALK, 1, keep=[bad]), "index"
    for bad in (None, [human("x")], "text", 5):
        yield _log("edit", TALK, bad), "mapping"
    yield _log("trim", TALK, 1, keep=5), "keep"
    for bad, rule in BAD_JSON:
        yield _log("annotate", TALK, metadata={"k": bad}), rule
    yield _log("annotate", TALK, metadata=[]), "mapping"


def _threads_and_spaces() -> Iterable[Case]:
    for bad in (None, "talk", ("home", "talk"), ["home", "talk"], HOME, 5):
        for method, *args in (
            ("append", [human("x")]),
            ("append", []),
            ("read",),
            ("edit", {0: None}),
            ("versions", 0),
            ("trim", 1),
            ("delete",),
            ("annotate",),
            ("match", "x"),
        ):
            yield _log(method, bad, *args), "Thread"
    for bad in (None, "home", ("home",), ["home"], TALK, 5):
        for part, method, *args in (
            ("log", "threads"),
            ("kv", "get", "key"),
            ("kv", "put", "key", 1),
            ("kv", "delete", "key"),
            ("kv", "scan"),
            ("kv", "count"),
            ("index", "get", ["x"]),
            ("index", "delete", ["x"]),
            ("index", "scan"),
            ("index", "near", [1.0, 2.0]),
            ("index", "match", "x"),
            ("index", "info"),
            ("blobs", "put", b"x"),
            ("blobs", "get", "0" * 64),
            ("blobs", "delete", "0" * 64),
        ):
            yield StoreCall(part, method, (bad, *args), {}), "Space"


def _log_reads() -> Iterable[Case]:
    for bad in BAD_COUNTS:
        for name in ("last", "first", "after", "before"):
            yield _log("read", TALK, **{name: bad}), name
        yield _log("versions", TALK, bad), "index"
    yield _log("read", TALK, last=1, first=1), "not both"
    for bad in BAD_LIMITS:
        yield _log("threads", HOME, limit=bad), "limit"
        yield _log("match", TALK, "x", limit=bad), "limit"
    for bad, rule in BAD_TEXTS:
        yield _log("match", TALK, bad), rule
        if bad is not None:
            yield _log("threads", HOME, cursor=bad), rule
    bad_lists: list[tuple[Any, str]] = [("one string", "list"), (5, "list"), *(([bad], rule) for bad, rule in BAD_IDS)]
    for bad, rule in bad_lists:
        yield _log("read", TALK, ids=bad), rule
        yield _log("threads", HOME, ids=bad), rule
        yield _index("get", HOME, bad), rule
        yield _index("delete", HOME, bad), rule


def _values() -> Iterable[Case]:
    for bad, rule in BAD_IDS:
        yield _kv("get", HOME, bad), rule
        yield _kv("put", HOME, bad, 1), rule
        yield _kv("delete", HOME, bad), rule
    for bad, rule in BAD_JSON:
        yield _kv("put", HOME, "key", bad), rule
        yield _kv("put", HOME, "key", {"in": [bad]}), rule
    for large in (b"x" * (17 * 2**20), "x" * (17 * 2**20)):
        yield _kv("put", HOME, "key", large), "limit"
    for bad in (0, -1, float("nan"), float("inf"), "5", True, 1e11, 10**400):
        yield _kv("put", HOME, "key", 1, ttl=bad), "ttl"
    for bad in BAD_COUNTS:
        yield _kv("put", HOME, "key", 1, expect=bad), "expect"
        yield _kv("delete", HOME, "key", expect=bad), "expect"
    for bad in BAD_LIMITS:
        yield _kv("scan", HOME, limit=bad), "limit"
    for bad in BAD_COUNTS:
        yield _kv("scan", HOME, skip=bad), "skip"
    for bad, rule in BAD_TEXTS:
        if bad is not None:
            yield _kv("scan", HOME, cursor=bad), rule
    for bad, rule in BAD_FILTERS:
        yield _kv("scan", HOME, where=bad), rule
        yield _kv("count", HOME, where=bad), rule


def _records() -> Iterable[Case]:
    good = Record(text="good", space=HOME)
    for bad in (None, "text", 5, {"text": "x"}):
        yield _index("upsert", [good, bad]), "Record"
    for bad in (None, 5, good):
        yield _index("upsert", bad), "records"
    for bad, rule in BAD_JSON:
        changed = Record(text="x", space=HOME, metadata={"k": 1})
        changed.metadata["k"] = bad
        yield _index("upsert", [good, changed]), rule
    for bad, rule in BAD_TEXTS:
        yield _index("match", HOME, bad), rule
    for bad, rule in BAD_VECTORS:
        yield _index("near", HOME, bad), rule
    for bad in BAD_LIMITS:
        yield _index("scan", HOME, limit=bad), "limit"
        yield _index("near", HOME, [1.0, 2.0], limit=bad), "limit"
        yield _index("match", HOME, "x", limit=bad), "limit"
    for bad in ("x", "-1", "1.5", "9" * 30, "１", "", 5, b"1"):
        yield _index("scan", HOME, cursor=bad), "cursor"
    for bad, rule in BAD_FILTERS:
        yield _index("scan", HOME, where=bad), rule
        yield _index("near", HOME, [1.0, 2.0], where=bad), rule
        yield _index("match", HOME, "x", where=bad), rule


def _call(part: str) -> Callable[..., StoreCall]:
    def make(method: str, *args: Any, **options: Any) -> StoreCall:
        return StoreCall(part, method, args, options)

    return make


_log, _kv, _index = _call("log"), _call("kv"), _call("index")


def _dump(store: Backend) -> list[Any]:
    return [
        store.log.read(TALK),
        store.log.versions(TALK, 0),
        all_pages(store.log.threads, HOME),
        all_pages(store.kv.scan, HOME),
        all_pages(store.index.scan, HOME) if has(store, "index") else [],
        store.index.info(HOME) if has(store, "index") else None,
    ]


def _refusal(operation: StoreCall, store: Backend) -> str:
    try:
        operation.on(store)
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
        for operation, rule in ((one, rule) for one, rule in cases() if has(store, one.part)):
            refusal = _refusal(operation, store)
            assert rule.lower() in refusal.lower(), f"{shown(operation)} does not say {rule!r}: {refusal[:300]!r}"
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
            if has(store, "index"):
                store.index.upsert([Record(id="r", text="x", space=HOME, metadata=data)])
                assert store.index.get(HOME, ["r"])[0].metadata == data
                assert type(store.index.get(HOME, ["r"])[0].metadata) is dict
