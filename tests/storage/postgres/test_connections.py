"""PostgreSQL addresses, connections and transactions: lost answers, forks, timeouts, poolers."""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, Conflict
from memwell.messages import human
from memwell.records import Space, Thread
from memwell.settings import Settings
from memwell.storage.postgres import PostgresBackend, connections
from memwell.storage.postgres.connections import Connections, Link, Pool, Session, address_of, connect, is_of_pooler
from memwell.testing.conformance.backend import in_threads
from tests.engines.postgres import open_store, schema_of, server
from tests.engines.proxy import Direction, Proxy
from tests.engines.starting import wait_until
from tests.ports import closed_port

HOME = Space("home")


TALK = Thread(HOME, "talk")


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A network that can be broken, with the shared server behind it."""
    with Proxy(server().port) as between:
        yield between


@pytest.fixture
def backend(tmp_path: Path, proxy: Proxy) -> Iterator[PostgresBackend]:
    """A store behind that network."""
    url = server().url(port=proxy.port, schema=schema_of(tmp_path), durable="yes")
    with PostgresBackend(url) as opened:
        yield opened
        proxy.resume()
        proxy.refuse(False)


def texts(backend: PostgresBackend) -> list[str]:
    return [message.text for message in backend.log.read(TALK)]


def test_a_read_is_asked_again_when_its_connection_was_cut(backend: PostgresBackend, proxy: Proxy):
    backend.log.append(TALK, [human("a")])
    for _ in range(3):
        proxy.cut()
        assert texts(backend) == ["a"]


def test_an_append_whose_answer_is_lost_is_stored_once(backend: PostgresBackend, proxy: Proxy):
    wrong: list[object] = []
    for messages, answer_bytes in itertools.product((1, 2), (0, 1, 7, 40)):
        talk = Thread(HOME, f"{messages} {answer_bytes}")
        backend.log.append(talk, [human("before")])
        proxy.cut_after_bytes(answer_bytes, "to_client")
        stored = backend.log.append(talk, [human(f"lost {n}") for n in range(messages)])
        found = backend.log.read(talk)[1:]
        if [message.index for message in stored] != list(range(1, messages + 1)) or found != stored:
            wrong.append((messages, answer_bytes, stored, found))
    assert wrong == []
    assert backend.check() == []


def test_an_append_that_is_cut_on_its_way_is_stored_once(backend: PostgresBackend, proxy: Proxy):
    wrong: list[object] = []
    for sent_bytes in (0, 1, 50, 200):
        talk = Thread(HOME, str(sent_bytes))
        backend.log.append(talk, [human("before")])
        proxy.cut_after_bytes(sent_bytes, "to_server")
        [stored] = backend.log.append(talk, [human("cut")])
        found = [message.text for message in backend.log.read(talk)]
        if (stored.index, found) != (1, ["before", "cut"]):
            wrong.append((sent_bytes, stored, found))
    assert wrong == []


def test_a_message_that_was_there_before_is_a_conflict_also_after_a_lost_answer(backend: PostgresBackend, proxy: Proxy):
    backend.log.append(TALK, [human("one", id="same")])
    proxy.cut_after_bytes(0, "to_client")
    with pytest.raises(Conflict):
        backend.log.append(TALK, [human("other", id="same")])
    assert texts(backend) == ["one"]


@pytest.mark.parametrize("way", ["to_client", "to_server"])
def test_a_value_is_put_and_deleted_once_wherever_the_connection_is_cut(
    backend: PostgresBackend, proxy: Proxy, way: Direction
):
    """Without a receipt, a change of an expected version whose answer is lost would be a conflict with itself."""
    wrong: list[object] = []
    for cut in (0, 1, 7, 40):
        proxy.cut_after_bytes(cut, way)
        new = backend.kv.put(HOME, "key", 0, expect=0)
        proxy.cut_after_bytes(cut, way)
        changed = backend.kv.put(HOME, "key", 1, expect=new.version)
        found = backend.kv.get(HOME, "key")
        proxy.cut_after_bytes(cut, way)
        gone = backend.kv.delete(HOME, "key", expect=changed.version)
        if (found, gone, backend.kv.get(HOME, "key")) != (changed, True, None):
            wrong.append((cut, found, gone))
    assert wrong == []


def test_an_entry_takes_one_statement_and_a_conflict_changes_nothing(
    backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch
):
    sent: list[str] = []
    plain = Session._send
    monkeypatch.setattr(Session, "_send", lambda self, sql, bindings=(): sent.append(sql) or plain(self, sql, bindings))
    entry = backend.kv.put(HOME, "a", 1, expect=0)
    assert [backend.kv.get(HOME, "a"), backend.kv.get_many(HOME, ["a"])] == [entry, {"a": entry}]
    for expect in (0, entry.version + 1):
        with pytest.raises(Conflict, match=str(entry.version)):
            backend.kv.put(HOME, "a", 2, expect=expect)
        with pytest.raises(Conflict, match=str(entry.version)):
            backend.kv.delete(HOME, "a", expect=expect)
    assert backend.kv.delete(HOME, "a", expect=entry.version)
    assert len(sent) == 8
    with backend.transaction():
        backend.kv.put(HOME, "b", 1)
        with pytest.raises(Conflict):
            backend.kv.put(HOME, "b", 2, expect=0)
        backend.kv.put(HOME, "c", 1)
    assert [one.value for one in backend.kv.scan(HOME).items] == [1, 1]


def test_a_write_of_several_statements_is_done_once_wherever_it_is_cut(backend: PostgresBackend, proxy: Proxy):
    threads = [Thread(HOME, str(number)) for number in range(16)]
    for thread in threads:
        backend.log.append(thread, [human("a"), human("b")])
    for thread in threads[:3]:
        before = proxy.carried["to_client"]
        backend.log.edit(thread, {0: human("changed")})
    answers = proxy.carried["to_client"] - before
    # The last bytes are the answer to the commit.
    cuts = [*range(0, answers, answers // 8), answers - 30, answers - 10, answers - 1]
    for thread, cut in zip(threads[3:], cuts, strict=False):
        proxy.cut_after_bytes(cut, "to_client")
        backend.log.edit(thread, {0: human("changed")})
        assert [message.text for message in backend.log.read(thread)] == ["changed", "b"]
        assert len(backend.log.versions(thread, 0)) == 1
    assert proxy.connections >= len(cuts)
    assert backend.check() == []


def test_a_transaction_that_is_cut_is_whole_or_not_there(backend: PostgresBackend, proxy: Proxy):
    wrong: list[object] = []
    for cut_at in range(0, 500, 60):
        key, talk = f"count {cut_at}", Thread(HOME, str(cut_at))
        backend.kv.put(HOME, key, 0)
        try:
            with backend.transaction():
                backend.log.append(talk, [human("inside")])
                proxy.cut_after_bytes(cut_at, "to_client")
                backend.kv.put(HOME, key, 1)
            stored = True
        except BackendUnavailable:
            stored = False
        entry = backend.kv.get(HOME, key)
        assert entry is not None
        found = (entry.value, [message.text for message in backend.log.read(talk)])
        if found != ((1, ["inside"]) if stored else (0, [])):
            wrong.append((cut_at, stored, found))
    assert wrong == []


def test_a_commit_whose_answer_is_lost_counts_when_it_was_done(backend: PostgresBackend, proxy: Proxy):
    with backend.transaction():
        backend.log.append(TALK, [human("inside")])
        backend.log.read(TALK)
        # What follows is the commit alone.
        proxy.cut_after_bytes(0, "to_client")
    assert texts(backend) == ["inside"]


def test_a_server_that_stops_saying_anything_gives_an_error_and_not_a_hang(tmp_path: Path, proxy: Proxy):
    patience = Settings(connect_timeout_s=1.0, statement_timeout_s=0.3)
    with PostgresBackend(server().url(port=proxy.port, schema=schema_of(tmp_path)), settings=patience) as backend:
        backend.kv.put(HOME, "key", 1)
        backend._connections.pool._idle[0].patience_s = 0.5
        proxy.hold()
        with pytest.raises(BackendUnavailable):
            backend.kv.get(HOME, "key")
        proxy.resume()
        wait_until(lambda: answers(backend), "the server that is back is not used")
        assert backend.kv.get(HOME, "key") is not None


def test_a_half_closed_connection_is_noticed(backend: PostgresBackend, proxy: Proxy):
    backend.log.append(TALK, [human("a")])
    proxy.half_close()
    assert texts(backend) == ["a"]
    proxy.half_close()
    backend.log.append(TALK, [human("b")])
    assert texts(backend) == ["a", "b"]


def test_a_server_that_is_away_is_an_error_and_one_that_is_back_is_used(backend: PostgresBackend, proxy: Proxy):
    backend.log.append(TALK, [human("a")])
    # Connecting may take its time; from here on it is a server which is away that is waited for.
    backend._connections.pool._timeout_s = 0.2
    proxy.refuse()
    proxy.cut()
    with pytest.raises(BackendUnavailable, match="cannot be reached"):
        backend.log.append(TALK, [human("b")])
    proxy.refuse(False)
    wait_until(lambda: answers(backend), "the server that is back is not used")
    assert texts(backend) == ["a"]


def answers(backend: PostgresBackend) -> bool:
    try:
        return backend.kv.get(HOME, "nothing") is None
    except BackendUnavailable:
        return False


def test_while_a_server_is_known_to_be_away_one_tries_and_the_others_do_not_wait():
    tried: list[bool] = []
    there = threading.Event()

    def open_link() -> Link:
        tried.append(there.is_set())
        if there.is_set():
            return connect(address_of(server().url()), Settings(), {"search_path": "public"})
        raise psycopg.OperationalError("timeout expired")

    pool = Pool(open_link, Settings(pool_size=2), "there")
    for _ in range(20):
        with pytest.raises(BackendUnavailable, match="cannot be reached: timeout expired"):
            pool.take()
    assert len(tried) <= 2
    there.set()

    def reached() -> bool:
        try:
            pool.give(pool.take())
        except BackendUnavailable:
            return False
        return True

    wait_until(reached, "nobody tried again")
    assert tried.count(True) == 1
    pool.close()


def test_a_connection_that_dies_inside_a_transaction_says_so_once(
    backend: PostgresBackend, proxy: Proxy, caplog: pytest.LogCaptureFixture
):
    def work() -> None:
        with backend.transaction():
            backend.kv.put(HOME, "a", 1)
            proxy.cut()
            backend.kv.put(HOME, "b", 2)

    with pytest.raises(BackendUnavailable):
        work()
    assert [record.getMessage() for record in caplog.records if record.name.startswith("psycopg")] == []
    logging.getLogger("psycopg").warning("error ignored terminating %r: %s", "another's", "x")
    assert "another's" in caplog.text


def test_a_statement_that_takes_too_long_is_given_up(tmp_path: Path):
    with open_store(tmp_path, settings=Settings(statement_timeout_s=0.2)) as backend:
        with pytest.raises(BackendUnavailable, match="took too long; try again") as told:
            backend._connections.read(HOME, lambda session: session.execute("SELECT pg_sleep(30)"))
        assert "stored" not in str(told.value)
        with pytest.raises(BackendUnavailable, match=r"nothing was stored.*statement_timeout_s"):
            backend._connections.write(HOME, lambda session: session.execute("SELECT pg_sleep(30)"))
        backend.kv.put(HOME, "key", 1)


def test_an_empty_pool_says_what_to_set(tmp_path: Path):
    with open_store(tmp_path, settings=Settings(pool_size=2, connect_timeout_s=0.2)) as backend:
        release, inside = threading.Event(), threading.Barrier(3)

        def occupy(space: Space) -> None:
            with backend.transaction():
                backend.kv.put(space, "key", 1)
                inside.wait(30)
                release.wait(30)

        threads = [threading.Thread(target=occupy, args=(Space(name),)) for name in "ab"]
        for thread in threads:
            thread.start()
        inside.wait(30)
        with pytest.raises(BackendUnavailable, match=r"all 2 connections .* pool_size"):
            backend.kv.get(HOME, "key")
        release.set()
        for thread in threads:
            thread.join()
        assert backend.kv.get(HOME, "key") is None


def test_one_that_waits_too_long_for_another_is_given_up(tmp_path: Path):
    with open_store(tmp_path) as one, open_store(tmp_path, settings=Settings(busy_timeout_s=0.2)) as other:
        with one.transaction():
            one.kv.put(HOME, "key", 1)
            with pytest.raises(BackendUnavailable, match="stayed busy"):
                other.log.append(TALK, [human("x")])
        other.log.append(TALK, [human("y")])
        assert texts(one) == ["y"]


def test_transactions_that_stand_in_each_others_way_end_in_an_error_and_not_a_hang(tmp_path: Path):
    outcomes: list[str] = []
    with open_store(tmp_path) as backend:
        both = threading.Barrier(2)

        def work(number: int) -> None:
            first, second = (Space("a"), Space("b")) if number else (Space("b"), Space("a"))
            try:
                with backend.transaction():
                    backend.kv.put(first, "key", number)
                    both.wait(30)
                    backend.kv.put(second, "key", number)
                outcomes.append("stored")
            except BackendUnavailable as error:
                outcomes.append("refused" if "try again" in str(error) else str(error))

        in_threads(2, work)
        assert sorted(outcomes) == ["refused", "stored"]
        found = [backend.kv.get(Space(name), "key") for name in "ab"]
        assert len({entry.value for entry in found if entry is not None}) == 1


def test_spaces_of_one_domain_wait_for_each_other_and_others_do_not(tmp_path: Path):
    with open_store(tmp_path) as one, open_store(tmp_path, settings=Settings(busy_timeout_s=0.2)) as other:
        with one.transaction():
            one.kv.get(HOME, "key")
            other.kv.put(Space("elsewhere"), "key", 1)
            with pytest.raises(BackendUnavailable):
                other.kv.put(Space("home", "memwell", "jobs"), "key", 1)
        other.kv.put(Space("home", "memwell", "jobs"), "key", 1)


def test_a_forked_child_uses_connections_of_its_own(tmp_path: Path):
    with open_store(tmp_path) as backend:
        backend.log.append(TALK, [human("parent")])
        pid = os.fork()
        if pid == 0:
            # Nothing of pytest's may run in the child.
            try:
                backend.log.append(TALK, [human("child")])
                os._exit(0 if texts(backend) == ["parent", "child"] else 1)
            finally:
                os._exit(2)
        backend.log.append(Thread(HOME, "other"), [human("beside")])
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert texts(backend) == ["parent", "child"]


def test_a_pooler_needs_nothing_that_a_session_would_keep(tmp_path: Path):
    url = server().url(schema=schema_of(tmp_path), prepare="no", durable="yes")
    with PostgresBackend(url) as backend:
        for number in range(8):
            backend.log.append(TALK, [human(str(number))])
        with backend.transaction():
            backend.kv.put(HOME, "key", 1)
        with server().admin() as connection:
            kept = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s AND query ~* '^(set|listen)'",
                (f"memwell {schema_of(tmp_path)} %",),
            ).fetchone()
        assert kept == (0,)
        assert texts(backend) == [str(number) for number in range(8)]
        assert backend.listen(print) is None


def test_secrets_are_in_no_message(tmp_path: Path):
    with closed_port() as port:
        url = f"postgresql://someone:hunter2@127.0.0.1:{port}/db?schema={schema_of(tmp_path)}"
        with pytest.raises(BackendUnavailable) as caught:
            PostgresBackend(url, settings=Settings(connect_timeout_s=0.2))
    assert "hunter2" not in str(caught.value)
    with open_store(tmp_path) as backend:
        assert (
            repr(backend)
            == f"PostgresBackend('postgresql://127.0.0.1:{server().port}/memwell?schema={schema_of(tmp_path)}')"
        )


def test_after_closing_a_lost_store_raises_that_it_is_closed(backend: PostgresBackend, proxy: Proxy):
    proxy.cut()
    backend.close()
    with pytest.raises(BackendError, match="closed"):
        backend.kv.get(HOME, "key")


def test_the_drivers_own_errors_never_come_through(tmp_path: Path):
    with open_store(tmp_path) as backend, pytest.raises(BackendError) as caught:
        backend._connections.read(HOME, lambda session: session.execute("SELECT 1/0"))
    assert not isinstance(caught.value, psycopg.Error)


def test_what_is_ours_is_taken_out_and_the_rest_is_the_drivers():
    address = address_of(
        "postgresql://me:p%40ss@db.example:6432/stuff?schema=mine&prepare=no&durable=yes&wall=open&sslmode=require"
    )
    assert (address.schema, address.pooled, address.vouched, address.open_wall) == ("mine", True, True, True)
    assert address.parameters == {
        "user": "me", "password": "p@ss", "host": "db.example", "port": "6432", "dbname": "stuff", "sslmode": "require",
    }  # fmt: skip
    assert address.shown == "postgresql://db.example:6432/stuff?schema=mine"


def another_process(said: bytes) -> bytes:
    """The message about a new session with another process id than it has, as PgBouncer sends it."""
    start = said.find(b"K\0\0\0\x0c")
    return said if start < 0 else said[: start + 5] + b"\0\0\0\1" + said[start + 9 :]


def test_a_pooler_in_between_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def at(proxy: Proxy, **more: str) -> PostgresBackend:
        return PostgresBackend(server().url(port=proxy.port, schema=schema_of(tmp_path), durable="yes", **more))

    with Proxy(server().port, another_process) as pooler:
        with at(pooler) as backend:
            assert backend.facts()["pooled"] is True
            assert backend.listen(lambda topic: None) is None
            backend.log.append(TALK, [human("hello")])
            assert [one.text for one in backend.log.read(TALK)] == ["hello"]
        assert "PgBouncer" in caplog.text
        caplog.clear()
        for prepare, pooled in (("no", True), ("yes", False)):
            with at(pooler, prepare=prepare) as backend:
                assert backend.facts()["pooled"] is pooled
    with Proxy(server().port) as direct, at(direct) as backend:
        assert backend.facts()["pooled"] is False
    assert not caplog.text


def test_connections_are_counted(tmp_path: Path):
    with open_store(tmp_path) as backend:
        with backend.transaction():
            backend.kv.put(HOME, "one", 1)
            assert backend.connections()["in_use"] == 1
        backend.kv.get(HOME, "one")
        counts = backend.connections()
        assert (counts["in_use"], counts["idle"] >= 1) == (0, True)


def test_what_a_pooler_refuses_is_known():
    assert is_of_pooler(psycopg.OperationalError("FATAL: unsupported startup parameter in options: search_path"))
    assert not is_of_pooler(psycopg.OperationalError("FATAL: no such database"))


def test_without_more_it_is_the_schema_memwell_on_a_server_that_is_spoken_to_directly():
    address = address_of("postgresql://localhost/stuff")
    assert (address.schema, address.pooled, address.vouched, address.open_wall) == ("memwell", None, False, False)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@host/db?nonsense=1",
        "postgresql://me:hunter2@host/db?prepare=perhaps",
        "postgresql://me:hunter2%zz@host/db",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_its_secrets(url: str):
    with pytest.raises(ConfigurationError) as caught:
        address_of(url)
    assert "hunter2" not in str(caught.value)


def test_a_parameter_that_nobody_knows_is_named_with_those_that_are_known():
    with pytest.raises(ConfigurationError, match=r"unknown parameter 'shema'.*schema, prepare, durable"):
        address_of("postgresql://me:hunter2@host/db?shema=x")
    assert address_of("postgresql://a:1,b:2/db?application_name=x%40y&sslmode=require").parameters["host"] == "a,b"


@pytest.mark.parametrize("character", "/#?@[")
def test_a_character_of_the_password_that_must_be_escaped_is_told_so(character: str):
    for password in (f"hun{character}ter2", f"1{character}ter2", f"{character}ter2"):
        with pytest.raises(ConfigurationError, match="%-escapes") as caught:
            address_of(f"postgresql://me:{password}@host/db")
        assert "ter2" not in str(caught.value)
        escaped = password.replace(character, f"%{ord(character):02X}")
        assert address_of(f"postgresql://me:{escaped}@host/db").parameters["password"] == password


def test_old_receipts_are_dropped_by_time_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "_SWEEP_EVERY", 2)
    monkeypatch.setattr(connections, "_SWEPT_AT_ONCE", 100)
    monkeypatch.setattr(connections, "_OLD_RECEIPTS", connections._OLD_RECEIPTS.replace("LIMIT 1000", "LIMIT 100"))
    swept: list[str] = []
    plain = Connections._sweep_receipts

    def sweep(self: Connections) -> None:
        swept.append(threading.current_thread().name)
        plain(self)

    monkeypatch.setattr(Connections, "_sweep_receipts", sweep)
    table = f"{schema_of(tmp_path)}.memwell_receipt"
    fill = f"INSERT INTO {table} SELECT '', gen_random_uuid(), true, now() - %s::interval FROM generate_series(1, 250)"
    old = f"SELECT count(*) FROM {table} WHERE at < now() - interval '1 hour'"
    with open_store(tmp_path) as store, server().admin() as admin:
        admin.execute(fill.encode(), ("2 hours",))
        admin.execute(fill.encode(), ("2 minutes",))
        for number in range(4):
            store.kv.put(Space("home"), "n", number)
        wait_until(lambda: admin.execute(old.encode()).fetchone() == (0,), "old receipts stay")
        assert admin.execute(f"SELECT count(*) >= 250 FROM {table}".encode()).fetchone() == (True,)
        assert set(swept) == {"memwell-receipts"}
        admin.execute("SET enable_seqscan = off")
        admin.execute(f"SET search_path TO {schema_of(tmp_path)}".encode())
        plan = admin.execute(b"EXPLAIN " + connections._OLD_RECEIPTS.encode()).fetchall()
        assert any("memwell_receipt_at" in str(line) for line in plan)
