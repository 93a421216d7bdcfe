"""A backend that declares little does what it declares: the one of the documentation, as it stands there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import NotFound, Unsupported
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage import open_backend
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import ABILITIES, Backend
from memwell.testing.conformance import BackendSuite, StoreSuite
from memwell.testing.conformance.suite import Clock
from tests.engines.postgres import store_url

PAGE = Path(__file__).parents[2] / "docs/backends/writing-one.md"
HOME = Space("home")


def _written() -> Any:
    """The backend of the page: its Python blocks but the last, which uses it."""
    *blocks, _ = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    named: dict[str, Any] = {"__name__": __name__}
    exec(compile("\n".join(blocks), PAGE, "exec", dont_inherit=True), named)  # noqa: S102 - our own page
    return named["DictBackend"]


DictBackend = _written()


class Opened:
    abilities = DictBackend.abilities
    share = 0.3

    def open(self, place: Path, clock: Clock) -> Backend:
        return DictBackend(clock=clock)


class TestStore(Opened, StoreSuite): ...


def test_what_is_not_declared_says_what_to_open_instead():
    store = DictBackend()
    calls = {
        "records": [lambda: store.index.info(HOME), lambda: asyncio.run(store.index.ainfo(HOME))],
        "blobs": [lambda: store.blobs.put(HOME, b"x")],
        "transactions": [store.transaction, store.atransaction],
        "copies": [lambda: store.kv.restore(HOME, [])],
        "seal": [lambda: store.seal("x")],
    }
    assert set(calls) == ABILITIES
    for ability, made in calls.items():
        for call in [*made, lambda ability=ability: store.require(ability)]:
            with pytest.raises(Unsupported, match=r"postgresql://…,log=redis://…"):
                call()


def test_together_is_a_transaction_where_there_are_any():
    for store, undone in ((MemoryBackend(), True), (DictBackend(), False)):
        with pytest.raises(ZeroDivisionError), store.together():  # noqa: PT012 - all of it is undone
            store.kv.put(HOME, "key", 1)
            raise ZeroDivisionError
        assert (store.kv.get(HOME, "key") is None) is undone


def test_a_suite_leaves_out_what_is_not_declared_and_nothing_else():
    assert TestStore.test_compare_and_set_loses_no_count is not None
    assert TestStore.test_an_error_undoes_all_of_it is None
    assert BackendSuite.test_an_error_undoes_all_of_it is not None


# Watching


@pytest.fixture(params=["sqlite", "postgres"])
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    with open_backend(str(tmp_path / "a.db") if request.param == "sqlite" else store_url(tmp_path)) as store:
        store.index.upsert([Record(id=f"r{n}", text="tea", space=HOME, vector=[1.0, n]) for n in range(2)])
        assert store.watched() is None
        assert store.watch("first")
        yield store


def noted(store: Backend, part: str) -> list[tuple[Space, str, int]]:
    return [(note.space, note.key, note.number) for note in store.written(part)]


def test_a_watch_notes_what_is_written_by_part_space_and_key(watched: Backend):
    far, long = Space("far" * 200), "茶" * 1000
    watched.kv.put(HOME, "k", 1)
    watched.kv.put(far, long, 1)
    watched.kv.delete(HOME, "k")
    watched.log.append(Thread(HOME, long), [human("hello")])
    watched.log.append(Thread(HOME, long), [human("hello again")])
    digest = watched.blobs.put(HOME, b"x")
    assert noted(watched, "entries") == [(far, long, -1), (HOME, "k", -1)]
    assert noted(watched, "threads") == [(HOME, long, -1)]
    assert noted(watched, "blobs") == [(HOME, digest, -1)]
    first, second = watched.written("entries")
    assert watched.written("entries", after=first) == [second]
    assert watched.written("entries", limit=1) == [first]


def test_a_watch_notes_the_order_of_new_records(watched: Backend):
    watched.index.upsert([Record(id="r1", text="changed", space=HOME)])
    assert noted(watched, "records") == [(HOME, "r1", -1)]
    watched.index.delete(HOME, ["r0"])
    watched.index.upsert([Record(id=id_, text="new", space=HOME) for id_ in ("r9", "r0")])
    assert noted(watched, "records") == [(HOME, "r0", -1), (HOME, "r1", -1), (HOME, "r9", 2), (HOME, "r0", 3)]
    watched.drop_written(watched.written("records"))
    watched.index.revector(HOME, {"r9": [1.0, 2.0, 3.0]})
    assert noted(watched, "records") == [(HOME, "r9", -1)]


def test_a_note_that_was_renewed_is_not_dropped(watched: Backend):
    digest = watched.blobs.put(HOME, b"x")
    watched.kv.put(HOME, "k", 1)
    read = [*watched.written("entries"), *watched.written("blobs")]
    watched.kv.put(HOME, "k", 2)
    watched.blobs.delete(HOME, digest)
    watched.blobs.put(HOME, b"x")
    watched.drop_written(read)
    assert len(watched.written("entries")) == len(watched.written("blobs")) == 1
    watched.drop_written([*watched.written("entries"), *watched.written("blobs")])
    assert watched.written("entries") == watched.written("blobs") == []


def test_a_watch_ends_with_its_notes_and_what_fails_is_not_noted(watched: Backend):
    with suppress(NotFound), watched.transaction():
        watched.kv.put(HOME, "k", 1)
        watched.blobs.get(HOME, "0" * 64)
    assert watched.written("entries") == []
    watched.kv.put(HOME, "k", 1)
    watched.watch("second")
    assert (watched.watched(), watched.written("entries")) == ("second", [])
    watched.watch(None)
    watched.kv.put(HOME, "k", 2)
    assert watched.watched() is None
    assert watched.check() == []


def test_a_store_that_cannot_be_watched_says_so():
    with MemoryBackend() as store:
        assert not store.watch("first")
        assert store.watched() is None
        assert store.written("entries") == []
