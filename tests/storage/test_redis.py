"""Redis on one server does what it declares: conversations and values."""

from __future__ import annotations

from pathlib import Path

import pytest

import memwell
from memwell.errors import Unsupported
from memwell.messages import Image, human
from memwell.records import Space
from memwell.storage.redis import RedisBackend
from memwell.strategies.compaction import Compaction
from memwell.strategies.entities import Entities, Graph
from memwell.strategies.summary import SummaryBuffer
from memwell.testing.conformance import KillsSuite, StoreSuite
from memwell.testing.conformance.suite import Clock
from tests.engines.redis import single, single_url
from tests.media_files import picture


class Opened:
    abilities = RedisBackend.abilities
    # What any store must do is tried at length on those without a server.
    share = 0.1
    # One function makes the async twins of every store's calls. With SQLite all of them are tried.
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> RedisBackend:
        return RedisBackend(single_url(place), clock=clock)


class TestStore(Opened, StoreSuite): ...


class TestKills(KillsSuite):
    abilities = RedisBackend.abilities
    opener = "tests.engines.redis:open_at"
    share = 0.15

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def server(cls) -> None:
        """The server that the processes of the suite use."""
        single()


def test_histories_and_strategies_work_without_records_and_transactions(tmp_path: Path):
    with memwell.open(single_url(tmp_path), embedder=None) as m:
        chat = m.thread("trip")
        chat.add_human("Anna lives in Kyoto.")
        chat.add_ai("Since when?")
        chat.add_human("Anna moved there in May. She likes tea.")
        chat.set_metadata(title="a trip")
        for strategy in (SummaryBuffer(chat, 20), Entities(chat), Graph(chat), Compaction(chat)):
            strategy.observe()
            assert strategy.recall("Where does Anna live?")
            strategy.clear()
        fork = chat.fork("other", upto=1)
        assert [message.text for message in fork] == ["Anna lives in Kyoto.", "Since when?"]
        assert chat.edit(0, "Anna lives in Nara.").text == "Anna lives in Nara."
        assert chat.restore(0).text == "Anna lives in Kyoto."
        assert [message.index for message, _ in chat.search("tea")] == [2]
        assert m.threads().items[0].thread.id == "other"
        for refused in (
            lambda: m.remember("Anna likes tea."),
            lambda: m.recall("tea"),
            lambda: m.context("tea", thread="trip"),
            lambda: m.knowledge.add("a document", id="d"),
            lambda: chat.with_blobs(human((Image(data=picture("PNG")),))),
        ):
            with pytest.raises(Unsupported, match=r"postgresql://…,log=redis://…"):
                refused()
        assert chat.delete()
        assert [info.thread.id for info in m.threads().items] == ["other"]
        assert m.backend.check() == []


HOME = Space("home")


def test_what_is_over_is_dropped_by_later_writes(tmp_path: Path):
    clock = Clock()
    with RedisBackend(single_url(tmp_path), clock=clock) as store:
        for number in range(20):
            store.kv.put(HOME, f"passing {number}", number, ttl=1)
        clock.advance(2)
        assert store.kv.scan(HOME).items == []
        for number in range(3):
            store.kv.put(HOME, "staying", number)
        assert [entry.value for entry in store.kv.scan(HOME).items] == [2]
        assert store.check() == []
        base = store._connections.tags.of_space("k", HOME).base
        [left] = store._connections.ask(store._connections.servers.of_slot(0), ("HLEN", f"{base}v"))
        assert left == 1
