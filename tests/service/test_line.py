from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.service import line
from tests.service.serving import Running, running
from tests.service.waiting import PATIENCE_S

ME = b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("line") / "s.db", serve_max_json_mb=0.1) as opened:
        yield opened


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:80]
    assert b"Traceback" not in answer
    return int(answer[9:12])


MALFORMED = [
    b"hello\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ME + b"Content-Length: -5\r\n\r\n",
    ME + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ME + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ME + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ME + b"A b: c\r\n\r\n",
    ME + b"A: b\x00c\r\n\r\n",
]


@pytest.mark.parametrize("sent", MALFORMED)
def test_what_is_not_http_is_a_problem(sent: bytes, run: Running):
    answer = run.raw(sent, end=True)
    # Some is refused by the parser and some, which is odd but HTTP, by the service.
    assert status(answer) in (400, 401, 404, 405, 421, 422)
    assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n"],
        [ME + b"A: " + b"a" * 1_000_000 + b"\r\n\r\n"],
        [ME] + [b"A%d: b\r\n" % n for n in range(20_000)] + [b"\r\n"],
        [ME + b"A: " + b"a" * 70_000 + b"\r\n\r\n"],
    ],
    ids=["address", "header", "many headers", "a little"],
)
def test_a_head_without_end_is_cut_off(pieces: list[bytes], run: Running):
    try:
        answer = run.raw(b"", more=pieces)
    except ConnectionError:
        # It hung up while more was sent.
        return
    assert answer == b"" or status(answer) == 431


def test_a_slow_head_is_not_waited_for(run: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(line, "HEAD_S", 0.2)
    assert status(run.raw(ME)) == 408
    assert run.raw(b"") == b""


def test_a_body_too_large_is_refused_before_it_is_sent(run: Running):
    head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token()}\r\n".encode()
    assert run.first(head + b"Content-Length: 100000000\r\n\r\n").status == 413
    waiting = run.first(head + b"Content-Length: 100000000\r\nExpect: 100-continue\r\n\r\n")
    assert waiting.status == 413
    piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    assert run.first(head + b"Transfer-Encoding: chunked\r\n\r\n", more=[piece] * 4).status == 413


def test_who_waits_for_a_word_before_the_body_gets_it(run: Running):
    head = f"POST /v1/count-not HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token()}\r\n".encode()
    body = b'{"query":"a"}'
    said = head.replace(b"count-not", b"recall") + b"Content-Length: 13\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", run.port), timeout=PATIENCE_S) as talk:
        talk.sendall(said)
        assert status(talk.recv(1000)) == 100
        talk.sendall(body)
        assert status(talk.recv(1000)) == 200


def test_a_slow_or_cut_body_stores_nothing(tmp_path: Path):
    with running(tmp_path / "s.db", serve_timeout_s=0.2) as run:
        head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token()}\r\n".encode()
        before = run.counts()
        said = head + b'Content-Length: 30\r\n\r\n{"content":'
        assert run.first(said).status == 408
        run.raw(said, end=True)
        assert run.counts() == before


def test_requests_that_come_at_once_are_answered_in_order(run: Running):
    good = ME + f"Authorization: Bearer {run.token()}\r\n\r\n".encode()
    other = b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = ME + b"Connection: close\r\n\r\n"
    answer = run.raw(good + other + good + last)
    assert [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]] == [200, 404, 200, 401]


def test_a_body_that_was_refused_is_not_read_for_ever(run: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(line, "_DRAIN_S", 0.2)
    head = b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", run.port), timeout=PATIENCE_S) as talk:
        talk.sendall(head)
        assert status(talk.recv(1000)) == 404
        assert talk.recv(1000) == b""
