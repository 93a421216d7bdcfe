"""The PostgreSQL backend keeps every promise."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memwell.errors import InvalidInput
from memwell.storage.postgres import PostgresBackend
from memwell.testing.conformance import BackendSuite, KillsSuite, StoreSuite
from memwell.testing.conformance.suite import Clock
from tests.engines.postgres import open_recycled, open_store, recycle, schema_of, server


class Opened:
    # What any store must do is tried at length on those without a server.
    share = 0.1
    # One function makes the async twins of every store's calls. With SQLite all of them are tried.
    ways = ("sync",)

    @pytest.fixture(autouse=True)
    def schemas_go_to_the_next(self, tmp_path: Path) -> Iterator[None]:
        """Making tables costs more than most tests do with them."""
        yield
        recycle(tmp_path)

    def open(self, place: Path, clock: Clock) -> PostgresBackend:
        return open_recycled(place, clock)


class TestStore(Opened, StoreSuite): ...


class TestAsync(Opened, BackendSuite):
    # How an async caller's transaction is carried along is each store's own.
    ways = ("async",)


class TestKills(KillsSuite):
    opener = "tests.engines.postgres:opened"
    share = 0.1

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def running(cls) -> None:
        """The server is there before a process is started that is to use it."""
        server()


WAIT_S = 30


def test_a_notice_is_heard_by_all_who_listen(tmp_path: Path):
    heard: queue.Queue[tuple[int, str]] = queue.Queue()
    with open_store(tmp_path) as one, open_store(tmp_path) as other:
        stops = [store.listen(lambda topic, n=n: heard.put((n, topic))) for n, store in enumerate((one, other))]
        one.notify("工作")
        assert sorted(heard.get(timeout=WAIT_S) for _ in range(2)) == [(0, "工作"), (1, "工作")]
        assert stops[0] is not None
        stops[0]()
        other.notify("again")
        assert heard.get(timeout=WAIT_S) == (1, "again")


def test_a_notice_of_a_transaction_comes_when_it_is_committed_and_not_when_it_is_undone(tmp_path: Path):
    heard: queue.Queue[str] = queue.Queue()
    with open_store(tmp_path) as backend:
        backend.listen(heard.put)
        with suppress(ZeroDivisionError), backend.transaction():
            backend.notify("undone")
            raise ZeroDivisionError
        with backend.transaction():
            backend.notify("done")
            assert heard.empty()
        assert heard.get(timeout=WAIT_S) == "done"


def test_listening_goes_on_after_the_connection_was_lost_or_a_listener_failed(tmp_path: Path):
    heard: queue.Queue[str] = queue.Queue()

    def fail(_: str) -> None:
        raise ZeroDivisionError

    with open_store(tmp_path) as backend:
        backend.listen(fail)
        backend.listen(heard.put)
        backend.notify("first")
        assert heard.get(timeout=WAIT_S) == "first"
        with server().admin() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s",
                (f"memwell {schema_of(tmp_path)} %",),
            )
        for _ in range(WAIT_S * 5):
            backend.notify("second")
            with suppress(queue.Empty):
                assert heard.get(timeout=0.2) == "second"
                break
        else:
            pytest.fail("nothing was heard any more")


def test_a_topic_that_cannot_be_carried_is_refused(tmp_path: Path):
    with open_store(tmp_path) as backend:
        for topic in ("", "x" * 2000):
            with pytest.raises(InvalidInput):
                backend.notify(topic)
