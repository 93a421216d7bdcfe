"""Notices reach whoever listens, in any process, when what they are about is committed."""

from __future__ import annotations

import queue
from contextlib import suppress
from pathlib import Path

import pytest

from memwell.errors import InvalidInput
from tests.engines.postgres import open_store, schema_of, server

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
