"""Requests against a server that misbehaves: repeated when that helps, bounded always, and the key is never shown."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest

from memwell.errors import BadModelOutput, ConfigurationError, MissingDependency, ModelError
from memwell.models import transport
from memwell.models.transport import Patience, Transport
from tests.ports import closed_port

if TYPE_CHECKING:
    from tests.models.conftest import BadServer, Handler, Reply

KEY = "sk-very-secret-0123456789"
QUICK = Patience(retries=3, first_wait_s=0.01)


def connect(server: BadServer, patience: Patience = QUICK) -> tuple[Transport, list[float]]:
    waits: list[float] = []
    return Transport(server.url, key=KEY, patience=patience, pause=waits.append), waits


def reply(body: bytes, status: int = 200, **headers: str) -> Reply:
    return lambda handler: handler.send(body, status, **headers)


def test_a_request_that_is_refused_for_now_is_repeated(server: BadServer):
    server.script = [reply(b"busy", 429), reply(b"", 503), reply(b"oops", 500), reply(b"fine")]
    link, waits = connect(server)
    assert link.post("chat/completions", {"a": 1}) == b"fine"
    assert len(waits) == 3
    assert all(0 <= wait <= 0.01 * 2**number for number, wait in enumerate(waits))
    assert {seen[0] for seen in server.seen} == {"/v1/chat/completions"}
    assert server.seen[0][1]["authorization"] == f"Bearer {KEY}"


def test_after_so_many_times_it_gives_up(server: BadServer):
    server.script = [reply(b"<html>Bad gateway</html>", 502)]
    link, waits = connect(server)
    with pytest.raises(ModelError, match="502 Bad Gateway: '<html>"):
        link.post("x", {})
    assert (len(server.seen), len(waits)) == (4, 3)


def test_what_will_not_get_better_is_not_repeated(server: BadServer):
    server.script = [reply(b'{"error": "no such model"}', 404)]
    link, waits = connect(server)
    with pytest.raises(ModelError, match=r"404 Not Found.*no such model"):
        link.post("x", {})
    assert (len(server.seen), waits) == (1, [])


def test_the_server_says_how_long_to_wait(server: BadServer):
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server.script = [
        reply(b"", 429, retry_after="2"),
        reply(b"", 429, retry_after=later),
        reply(b"", 429, retry_after="whenever"),
        reply(b"fine"),
    ]
    link, waits = connect(server, Patience(retries=3, first_wait_s=0.01, most_wait_s=10_000))
    assert link.post("x", {}) == b"fine"
    assert waits[0] == 2.0
    assert 1_800 < waits[1] <= 3_600
    assert waits[2] <= 0.04


def test_a_server_that_asks_for_too_long_is_not_waited_for(server: BadServer):
    server.script = [reply(b"later", 429, retry_after="3600")]
    link, waits = connect(server)
    with pytest.raises(ModelError, match="asks to wait 3600 s"):
        link.post("x", {})
    assert waits == []


def test_nobody_listens():
    waits: list[float] = []
    with closed_port() as port:
        link = Transport(f"http://127.0.0.1:{port}", patience=QUICK, pause=waits.append)
        with pytest.raises(ModelError, match="ConnectError"):
            link.post("x", {})
    assert len(waits) == 3


def test_a_silent_server_is_left(server: BadServer):
    left = threading.Event()

    def say_nothing(handler: Handler) -> None:
        left.wait(60)

    server.script = [say_nothing]
    link, waits = connect(server, Patience(read_s=0.05, retries=3))
    with pytest.raises(ModelError, match="ReadTimeout"):
        link.post("x", {})
    left.set()
    assert waits == [], "the server may be at work, and be paid for it"


def test_an_answer_that_drips_is_left(server: BadServer):
    left = threading.Event()

    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000000")
        handler.end_headers()
        while not left.wait(0.01):
            handler.wfile.write(b".")
            handler.wfile.flush()

    server.script = [drip]
    link, _ = connect(server, Patience(total_s=0.1))
    with pytest.raises(ModelError, match=r"did not complete its answer in 0\.1 s"):
        link.post("x", {})
    left.set()


def test_an_answer_that_is_cut_off_is_no_answer(server: BadServer):
    def cut(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")
        handler.close_connection = True

    server.script = [cut]
    link, _ = connect(server)
    with pytest.raises(BadModelOutput, match="cut its answer off after 4 bytes"):
        link.post("x", {})


def test_an_answer_that_does_not_decompress_is_no_answer(server: BadServer):
    server.script = [reply(b"not gzip at all", content_encoding="gzip")]
    link, _ = connect(server)
    with pytest.raises(BadModelOutput, match="decompress"):
        link.post("x", {})


def test_an_answer_without_end_is_left(server: BadServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport, "MOST_BYTES", 1000)
    server.script = [reply(b"x" * 5000)]
    link, _ = connect(server)
    with pytest.raises(BadModelOutput, match="more than 1,000 bytes"):
        link.post("x", {})


def test_lines_come_whole_whatever_the_pieces(server: BadServer):
    server.script = [reply("data: 猫\r\n\nlast \xff".encode("latin1", "ignore") + "猫\n结束".encode())]
    link, _ = connect(server)
    assert list(link.lines("x", {}))[-1] == "结束"


def test_only_so_many_at_once(server: BadServer):
    running, most = [0], [0]
    lock = threading.Lock()

    def work(handler: Handler) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        handler.send(b"ok")

    server.script = [work]
    link = Transport(server.url, concurrency=2, patience=QUICK)
    threads = [threading.Thread(target=link.post, args=("x", {})) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.seen) == 8
    assert most[0] <= 2


def test_the_key_is_shown_nowhere(server: BadServer, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    server.script = [reply(f"Incorrect API key: {KEY}".encode(), 401), reply(b"not gzip", content_encoding="gzip")]
    link, _ = connect(server)
    told = repr(link) + str(vars(link).get("address"))
    for _ in range(2):
        with pytest.raises(ModelError) as raised:
            link.post("x", {})
        error = raised.value
        told += "".join(traceback.format_exception(error)) + repr(error.args) + repr(error.__cause__)
    with closed_port() as port, pytest.raises(ModelError) as raised:
        Transport(f"http://127.0.0.1:{port}", key=KEY, patience=QUICK, pause=lambda seconds: None).post("x", {})
    told += "".join(traceback.format_exception(raised.value)) + caplog.text
    assert KEY not in told
    assert "***" in told


@pytest.mark.parametrize("address", ["", "localhost:11434", "ftp://host/v1", "http://", "http://[::1", "file:///etc"])
def test_an_address_that_is_none_is_refused(address: str):
    with pytest.raises(ConfigurationError, match="base_url"):
        Transport(address)


def test_a_password_in_an_address_is_refused_and_not_shown():
    for address in (f"https://user:{KEY}@host/v1", f"https://host/v1?key={KEY}"):
        with pytest.raises(ConfigurationError, match="key=") as raised:
            Transport(address)
        assert KEY not in str(raised.value)


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}…", f"a {KEY}"])
def test_a_key_that_is_none_is_refused_and_not_shown(key: str):
    with pytest.raises(ConfigurationError, match="visible ASCII") as raised:
        Transport("http://localhost/v1", key=key)
    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingDependency, match=r'pip install "memwell\[openai\]"'):
        Transport("http://localhost/v1")
