"""The server dies between any two writes: nothing that was acknowledged is lost, and nothing is there twice."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memwell
from memwell.compat.langchain import ConversationBufferWindowMemory
from memwell.compat.langchain.histories import ThreadChatMessageHistory
from memwell.errors import BackendUnavailable
from memwell.longterm.snapshot_cache import Snapshots
from memwell.messages import ToolCall, ai, human, tool_result
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage.postgres import PostgresBackend
from memwell.storage.protocols import Backend
from memwell.strategies.compaction import Compaction
from memwell.strategies.state import StrategyState
from tests.engines.postgres import Server
from tests.engines.starting import wait_until

HOME = Space("home")


@pytest.fixture(scope="module")
def mortal() -> Iterator[Server]:
    """A server of its own that syncs every commit."""
    started = Server(durable=True)
    yield started
    started.remove()


class Writer:
    """Appends, counts and stores records until it is stopped, and remembers what it was told is stored."""

    def __init__(self, backend: PostgresBackend, number: int) -> None:
        self._backend = backend
        self.thread = Thread(HOME, f"talk {number}")
        self.key = f"count {number}"
        self.acknowledged: list[str] = []
        self.counted = 0
        self.refused = 0

    def run(self, stopped: threading.Event) -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            text = f"message {number}"
            try:
                self._backend.log.append(self.thread, [human(text)])
                self.acknowledged.append(text)
                with self._backend.transaction():
                    self._backend.kv.put(HOME, self.key, number)
                    self._backend.index.upsert(
                        [Record(id=self.key, text=text, space=Space(self.key), vector=[1.0, number])]
                    )
                self.counted = number
            except BackendUnavailable:
                self.refused += 1
                time.sleep(0.01)


def wait_for_more(writers: list[Writer]) -> None:
    """Wait until every writer has stored some more than now."""
    wanted = [(writer, writer.counted + 5) for writer in writers]
    wait_until(lambda: all(writer.counted > count for writer, count in wanted), "nothing is stored any more")


def test_a_server_that_is_killed_again_and_again_loses_nothing_it_acknowledged(mortal: Server):
    with PostgresBackend(mortal.url(schema="killed"), settings=Settings(connect_timeout_s=20.0)) as backend:
        assert backend.durable
        writers = [Writer(backend, number) for number in range(3)]
        stopped = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(stopped,)) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            for _ in range(2):
                wait_for_more(writers)
                mortal.crash()
                mortal.start()
            wait_for_more(writers)
        finally:
            stopped.set()
        for thread in threads:
            thread.join()
        for writer in writers:
            found = [message.text for message in backend.log.read(writer.thread)]
            assert writer.acknowledged
            assert len(found) == len(set(found))
            assert set(writer.acknowledged) <= set(found)
            entry = backend.kv.get(HOME, writer.key)
            assert entry is not None
            assert isinstance(entry.value, int)
            assert entry.value >= writer.counted
            [record] = backend.index.get(Space(writer.key), [writer.key])
            assert record.text == f"message {entry.value}"
        assert backend.check() == []


def copied(source: Path, place: Path) -> None:
    """Copy the folder of a server that stands still, with its owners."""
    subprocess.run(["rm", "-rf", str(place)], check=True)
    subprocess.run(["cp", "-a", str(source), str(place)], check=True)


def with_lost_writes(mortal: Server, lose: Callable[[], None]) -> None:
    """Do something that a standby does not get, and promote the standby."""
    mortal.stop()
    copied(mortal.data, mortal.folder / "standby")
    mortal.start()
    lose()
    mortal.stop()
    copied(mortal.folder / "standby", mortal.data)
    (mortal.data / "standby.signal").touch()
    mortal.start()
    with mortal.admin() as connection:
        assert connection.execute("SELECT pg_promote()").fetchone() == (True,)


@pytest.mark.parametrize("fresh", [["new"], ["new", "newer"]], ids=["as many", "more"])
def test_a_promoted_standby_that_lost_writes_is_noticed(mortal: Server, fresh: list[str]):
    space, url = Space("lost"), mortal.url(schema=f"lost{len(fresh)}")
    settings = Settings(connect_timeout_s=20.0)
    with PostgresBackend(url, settings=settings) as backend:
        backend.index.upsert([Record(id="kept", text="kept", space=space)])
        snapshots = Snapshots(backend.index)
        states: list[int] = []

        def lose() -> None:
            backend.index.upsert([Record(id="lost", text="lost", space=space)])
            states.append(backend.index.info(space).state)
            with snapshots.of(space) as held:
                assert "lost" in held.snapshot

        with_lost_writes(mortal, lose)
        with PostgresBackend(url, settings=settings) as other:
            other.index.upsert([Record(id=id_, text=id_, space=space) for id_ in fresh])
        assert backend.index.changes(space, states[0]).whole
        with snapshots.of(space) as held:
            assert "lost" not in held.snapshot
            assert all(id_ in held.snapshot for id_ in ("kept", *fresh))
        assert not backend.index.changes(space, backend.index.info(space).state).whole


@pytest.mark.parametrize("fresh", [[], ["new"], ["new", "newer"]], ids=["none", "as many", "more"])
def test_no_conversation_is_shown_with_messages_that_a_standby_lost(mortal: Server, fresh: list[str]):
    url, settings = mortal.url(schema=f"talk{len(fresh)}"), Settings(connect_timeout_s=20.0)
    with memwell.open(url, embedder=None, work=False, settings=settings) as engine:
        home = engine.at(HOME)
        talk, tools = home.thread("talk"), home.thread("tools")
        buffer = ConversationBufferWindowMemory(chat_memory=ThreadChatMessageHistory(talk), k=9)
        state = StrategyState(talk, "test")
        previews = Compaction(tools, mode="compact", tool_tokens=10, preview_tokens=20)

        def shown() -> list[str]:
            window = str([one.parts for one in previews.recall()])
            return [buffer.buffer_as_str, " ".join(one.text for one in state.unread(state.read())), window]

        def say(store: Backend, text: str) -> None:
            store.log.append(talk.thread, [human(text)])
            result = tool_result(text, f"{text} {'word ' * 200}")
            store.log.append(tools.thread, [human("look"), ai(tool_calls=[ToolCall(text, "look", {})]), result])

        say(engine.backend, "kept")
        assert all("kept" in text for text in shown())

        def lose() -> None:
            say(engine.backend, "lost")
            assert all("lost" in text for text in shown())
            assert "…" in shown()[2]

        with_lost_writes(mortal, lose)
        with PostgresBackend(url, settings=settings) as other:
            for text in fresh:
                say(other, text)
        assert [text for text in shown() if "lost" in text] == []
        assert all(text in one for text in ("kept", *fresh) for one in shown())
