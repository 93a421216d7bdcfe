"""Isolation by name: no space, thread, key or record is ever reached by another's name.

Names are opaque. Those here are patterns, paths, prefixes, encodings or quotes somewhere. Each is stored together with all
the others, and an operation on a name must touch that name alone.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Final

from memwell.filters import Where
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.protocols import Backend
from memwell.testing.conformance.suite import HOME, Suite, all_pages, has, needs, texts_of

NAMES: Final = (
    "acme", "acme-corp", "acme corp", "acme ", " acme", "ACME", "Acme", "acm", "a_b", "aXb", "a%b", "%", "_", "*",
    "?", "a|b", "a", "b", "a-z", "[a-z]", "a/b", "a//b", "a\\b", "a.b", "a:b", "a\tb", "a\nb", "a\x1fb", "\x7f",
    "../x", "x", "/x", "./x", "..", ".", "~", "null", "None", "0", "00", "-0", "1", "1.0", "true", '"', "'", "''",
    "a'b", 'a"b', "`a`", "a; DROP TABLE message; --", '["acme"]', '["acme","b"]', '{"acme": 1}', "\\u0061", "%61",
    "&amp;", "é", unicodedata.normalize("NFD", "é"), "ﬁ", "fi", "ａ", "ß", "ss", "İ", "i", "ı", "ك", "中",
    "😀", "😀\ufe0f", "\u200b", "\ufeffacme", "acme\u200b", "x" * 1023 + "a", "x" * 1023 + "b", "x" * 1024,
    "😀" * 1024,
)  # fmt: skip

SPACES: Final = (
    *(Space(name) for name in NAMES), Space("a", "b"), Space("a", "b", "c"), Space("a", "b/c"), Space("a/b", "c"),
    Space("acme", "corp"), Space("acme", "a"), Space("acme", "a", "b"), Space("a", "a"), Space("a", "a", "a"),
    Space('["acme"', '"b"]'), Space("1", "1"), Space("11"),
)  # fmt: skip


_BYTES: Final = b"the same bytes"
_DIGEST: Final = hashlib.sha256(_BYTES).hexdigest()


def _write(store: Backend, space: Space, number: int) -> None:
    text = f"word{number} shared"
    thread = Thread(space, "talk")
    store.log.append(thread, [human(text, id="one")])
    store.log.annotate(thread, metadata={"number": number})
    store.kv.put(space, "key", number)
    if has(store, "index"):
        store.index.upsert(
            [Record(id="one", text=text, space=space, vector=[1.0, number + 1.0], metadata={"n": number})]
        )
    if has(store, "blobs"):
        store.blobs.put(space, _BYTES)


def _delete(store: Backend, space: Space) -> None:
    assert store.log.delete(Thread(space, "talk"))
    assert store.kv.delete(space, "key")
    assert not has(store, "index") or store.index.delete(space, ["one"]) == 1
    assert not has(store, "blobs") or store.blobs.delete(space, _DIGEST)


def _seen(store: Backend, space: Space) -> list[object]:
    """Everything that a space shows, by every read; a number stands for what was written under it."""
    thread = Thread(space, "talk")
    entry = store.kv.get(space, "key")
    seen: list[object] = [
        texts_of(store.log.read(thread)),
        [m.text for m, _ in store.log.match(thread, "shared", limit=1000)],
        [(i.thread.id, i.metadata["number"]) for i in all_pages(store.log.threads, space)],
        None if entry is None else entry.value,
        [e.value for e in all_pages(store.kv.scan, space)],
    ]
    return seen + (_records_seen(store, space) if has(store, "index") else [])


def _records_seen(store: Backend, space: Space) -> list[object]:
    return [
        [r.metadata["n"] for r in store.index.get(space, ["one"])],
        [r.metadata["n"] for r in all_pages(store.index.scan, space)],
        [r.metadata["n"] for r in all_pages(store.index.scan, space, where={"@id": "one"})],
        [hit.record.metadata["n"] for hit in store.index.near(space, [1.0, 1.0], limit=1000)],
        [hit.record.metadata["n"] for hit in store.index.match(space, "shared", limit=1000)],
        store.index.info(space).records,
    ]


def _expected(number: int) -> list[object]:
    text, only = f"word{number} shared", [number]
    return [[text], [text], [("talk", number)], number, only, only, only, only, only, only, 1]


NOTHING: Final[list[object]] = [[], [], [], None, [], [], [], [], [], [], 0]


class IsolationSuite(Suite):
    """Names that look alike to something, but not to memwell."""

    def test_a_space_sees_only_itself(self, store: Backend) -> None:
        assert len(set(SPACES)) == len(SPACES)
        shown = len(NOTHING) if has(store, "index") else 5
        with store.together():
            for number, space in enumerate(SPACES):
                _write(store, space, number)
        leaving = SPACES[::2]
        for number, space in enumerate(SPACES):
            if space in leaving:
                assert _seen(store, space) == _expected(number)[:shown], space
        for space in (Space("nobody"), Space("acme", "corp", "x"), Space("acme", "acme"), Space("b", "a")):
            assert _seen(store, space) == NOTHING[:shown], space
        with store.together():
            for space in leaving:
                _delete(store, space)
        for number, space in enumerate(SPACES):
            assert _seen(store, space) == (NOTHING if space in leaving else _expected(number))[:shown], space
            if has(store, "blobs"):
                assert store.blobs.scan(space).items == ([] if space in leaving else [_DIGEST])

    def test_a_thread_id_means_only_itself(self, store: Backend) -> None:
        with store.together():
            for name in NAMES:
                store.log.append(Thread(HOME, name), [human(f"shared {name}", id=name)])
        for name in NAMES:
            thread = Thread(HOME, name)
            assert [m.id for m in store.log.read(thread)] == [name]
            assert [m.id for m in store.log.read(thread, ids=NAMES)] == [name]
            assert [m.id for m, _ in store.log.match(thread, "shared", limit=1000)] == [name]
            assert [i.thread.id for i in store.log.threads(HOME, ids=[name]).items] == [name]
        assert [i.thread.id for i in all_pages(store.log.threads, HOME, limit=7)] == sorted(NAMES)
        for name in NAMES[::2]:
            assert store.log.trim(Thread(HOME, name), 1) == 1
            assert store.log.delete(Thread(HOME, name))
        assert [i.thread.id for i in all_pages(store.log.threads, HOME)] == sorted(NAMES[1::2])
        for name in NAMES[1::2]:
            assert [m.id for m in store.log.read(Thread(HOME, name))] == [name]

    def test_a_message_id_means_only_itself(self, store: Backend) -> None:
        thread = Thread(HOME, "talk")
        store.log.append(thread, [human(str(number), id=name) for number, name in enumerate(NAMES)])
        for number, name in enumerate(NAMES):
            assert texts_of(store.log.read(thread, ids=[name])) == [str(number)]

    def test_a_key_means_only_itself(self, store: Backend) -> None:
        with store.together():
            for number, name in enumerate(NAMES):
                store.kv.put(HOME, name, {"n": number})
        for number, name in enumerate(NAMES):
            entry = store.kv.get(HOME, name)
            assert entry is not None
            assert (entry.key, entry.value) == (name, {"n": number})
            assert [e.key for e in store.kv.scan(HOME, where={"@id": name}).items] == [name]
        assert [e.key for e in all_pages(store.kv.scan, HOME, limit=7)] == sorted(NAMES)
        for name in NAMES[::2]:
            assert store.kv.delete(HOME, name)
        assert [e.key for e in all_pages(store.kv.scan, HOME)] == sorted(NAMES[1::2])

    @needs("records")
    def test_a_record_id_and_kind_mean_only_themselves(self, store: Backend) -> None:
        store.index.upsert([Record(id=name, kind=name, text="shared", space=HOME, vector=[1.0, 1.0]) for name in NAMES])
        for name in NAMES:
            assert [r.id for r in store.index.get(HOME, [name])] == [name]
            for attribute in ("@id", "@kind"):
                where = {attribute: name}
                assert [r.id for r in store.index.scan(HOME, where=where).items] == [name]
                assert [hit.record.id for hit in store.index.near(HOME, [1.0, 0.0], where=where)] == [name]
                assert [hit.record.id for hit in store.index.match(HOME, "shared", where=where)] == [name]
        assert store.index.delete(HOME, NAMES[::2]) == len(NAMES[::2])
        assert [r.id for r in all_pages(store.index.scan, HOME, limit=7)] == list(NAMES[1::2])

    @needs("records")
    def test_a_metadata_key_and_value_mean_only_themselves(self, store: Backend) -> None:
        stored = [Record(id=str(i), text="", space=HOME, metadata={n: n}) for i, n in enumerate(NAMES)]
        store.index.upsert(stored)
        for number, name in enumerate(NAMES):
            for where in (Where((name,), "exists"), Where((name,), "eq", name)):
                assert [int(r.id) for r in store.index.scan(HOME, where=where).items] == [number], where
