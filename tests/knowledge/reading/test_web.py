"""Fetching: against a real server on this machine, and refusals that need no network."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.reading.web import Fetched, fetch, is_public, may_be_asked, resolved

PRIVATE = (
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "0.0.0.0",
    "0.1.2.3", "224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.192", "168.63.129.16", "192.0.2.1",
    "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "fe80::1",
    "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001:db8::1",
    "2001:0:7f00:1::",
)  # fmt: skip


def test_private_addresses_in_all_their_forms():
    assert [number for number in PRIVATE if is_public(ip_address(number))] == []


@pytest.mark.parametrize("number", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses(number: str):
    assert is_public(ip_address(number))


@given(st.integers(0, 2**32 - 1))
def test_an_address_inside_another_is_judged_as_itself(number: int):
    inner = IPv4Address(number)
    for outer in (IPv6Address(f"::ffff:{inner}"), IPv6Address(int(IPv6Address("64:ff9b::")) + number)):
        assert is_public(outer) == is_public(inner)


NEVER = (
    "169.254.169.254", "169.254.0.1", "fe80::1", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "224.0.0.1",
    "ff02::1", "0.0.0.0", "::", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::",
    "::ffff:0.0.0.0", "::169.254.169.254", "::ffff:100.100.100.200",
)  # fmt: skip
INTRANET = (
    "127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fc00::1", "fd12::1", "::ffff:10.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("number", NEVER)
def test_what_serves_this_machine_alone_is_never_asked(number: str):
    assert not may_be_asked(ip_address(number), allow_private=True)
    assert not may_be_asked(ip_address(number), allow_private=False)
    with pytest.raises(UnreadableDocument) as refused:
        resolved(number, 80, timeout_s=5.0, allow_private=True)
    assert refused.value.reason == "forbidden-address"


@pytest.mark.parametrize("number", INTRANET)
def test_the_own_network_is_asked_when_it_is_allowed(number: str):
    assert may_be_asked(ip_address(number), allow_private=True)
    assert not may_be_asked(ip_address(number), allow_private=False)


class Pages(BaseHTTPRequestHandler):
    """The pages of the tests."""

    seen: list[dict[str, str]] = []

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        return

    def do_GET(self) -> None:
        type(self).seen.append(dict(self.headers))
        path = self.path.partition("?")[0]
        if path.startswith("/to/"):
            return self.answer(302, b"", Location=self.path.removeprefix("/to/"))
        if path == "/loop":
            return self.answer(301, b"", Location="/loop")
        if path == "/packed":
            return self.answer(200, b"x", **{"Content-Encoding": "gzip"})
        if path == "/endless":
            return self.endless()
        if path == "/short":
            return self.answer(200, b"x", **{"Content-Length": "100"})
        if path == "/named":
            return self.answer(200, b"x", **{"Content-Disposition": 'attachment; filename="../../a b.md"'})
        if path == "/drip":
            return self.drip()
        if path.endswith(".html"):
            return self.answer(200, b"<p>hello", **{"Content-Type": "text/html; charset=utf-8"})
        return self.answer(404, b"nothing")

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def endless(self) -> None:
        """Bytes without a length, until the reader has enough."""
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                self.wfile.write(bytes(65_536))
        except OSError:
            return

    def drip(self) -> None:
        """A byte now and then, for ever: each is in time, the whole is not."""
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(100):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            return


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    running.daemon_threads = True
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    thread.join()
    running.server_close()


def reason_for(url: str, **options: Any) -> str:
    with pytest.raises(UnreadableDocument) as refused:
        fetch(url, **options)
    return refused.value.reason


def test_a_page_comes_with_its_type_and_name(server: str):
    url = f"{server}/docs/手册 1.html?a=b#part".replace(" ", "%20")
    assert fetch(url, allow_private=True) == Fetched(url, b"<p>hello", "text/html; charset=utf-8", "手册_1.html")
    assert Pages.seen[-1]["Host"] == server.removeprefix("http://")
    assert "Cookie" not in Pages.seen[-1]


def test_redirects_are_followed_so_far(server: str):
    found = fetch(f"{server}/to//to//x.html", allow_private=True)
    assert found.url == f"{server}/x.html"
    assert reason_for(f"{server}/loop", allow_private=True) == "unreachable"
    assert reason_for(f"{server}/to//x.html", allow_private=True, most_redirects=0) == "unreachable"


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/none", "unreachable"), ("/packed", "broken"), ("/endless", "too-large"), ("/short", "unreachable")],
)
def test_bad_answers_are_refused(server: str, path: str, reason: str):
    assert reason_for(server + path, allow_private=True, timeout_s=60.0) == reason


def test_no_more_is_read_than_is_allowed(server: str):
    assert reason_for(f"{server}/x.html", allow_private=True, most_bytes=7) == "too-large"


def test_a_name_is_never_a_path(server: str):
    assert fetch(f"{server}/named", allow_private=True).name == "a_b.md"


def test_time_is_for_the_whole(server: str):
    assert reason_for(f"{server}/drip", allow_private=True, timeout_s=0.5) == "unreachable"


def test_nobody_listening_and_no_tls(server: str):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert reason_for(f"http://127.0.0.1:{taken.getsockname()[1]}/", allow_private=True) == "unreachable"
    assert reason_for(server.replace("http:", "https:"), allow_private=True) == "unreachable"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://017700000001/", "http://[::1]/",
        "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest/meta-data", "http://100.64.0.1/",
        "http://[64:ff9b::7f00:1]/", "http://0.0.0.0/", "http://localhost/",
        "https://127.0.0.1/", "file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1/", "//127.0.0.1/", "",
        "http://user:secret@example.org/", "http://example.org\\@127.0.0.1/", "http://exa mple.org/", "http:///x",
        "http://example.org:99999/", "http://[bad/", "http://example.org/\r\nHost: x",
    ],
)  # fmt: skip
def test_what_must_not_be_asked_is_not(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it was asked"))
    assert reason_for(url) == "forbidden-address"


def test_a_password_in_an_address_is_not_repeated():
    with pytest.raises(UnreadableDocument) as refused:
        fetch("http://user:hunter2@example.org/")
    assert "hunter2" not in str(refused.value)


def answers(*numbers: str) -> Callable[..., list[tuple[Any, ...]]]:
    """A resolver that gives another address each time it is asked."""
    left = list(numbers)

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (left.pop(0), port))]

    return getaddrinfo


def test_a_name_that_leads_home_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", answers("10.0.0.7"))
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it was asked"))
    assert reason_for("http://intranet.example.org/") == "forbidden-address"


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch):
    dialled: list[Any] = []

    def connect(_: socket.socket, address: Any) -> None:
        dialled.append(address)
        raise ConnectionRefusedError

    # A second look would lead home: there must be none.
    monkeypatch.setattr(socket, "getaddrinfo", answers("93.184.215.14", "127.0.0.1"))
    monkeypatch.setattr(socket.socket, "connect", connect)
    assert reason_for("http://rebinding.example.org/") == "unreachable"
    assert dialled == [("93.184.215.14", 80)]


def test_a_redirect_home_is_refused(server: str, monkeypatch: pytest.MonkeyPatch):
    port = int(server.rpartition(":")[2])
    connect = socket.socket.connect

    def connected(one: socket.socket, address: tuple[str, int]) -> None:
        assert address == ("93.184.215.14", 80)
        connect(one, ("127.0.0.1", port))

    # The first name is public and answers from here; what it redirects to is here by its own name.
    monkeypatch.setattr(socket, "getaddrinfo", answers("93.184.215.14", "127.0.0.1"))
    monkeypatch.setattr(socket.socket, "connect", connected)
    assert reason_for("http://example.org/to/http://metadata.example.org/") == "forbidden-address"


@pytest.mark.parametrize(
    "target", ["169.254.169.254", "[fd00:ec2::254]", "0.0.0.0", "[::ffff:169.254.169.254]", "2852039166"]
)
def test_no_redirect_leads_to_what_serves_this_machine_alone(server: str, target: str):
    assert reason_for(f"{server}/to/http://{target}/", allow_private=True) == "forbidden-address"
    assert reason_for(f"http://{target}/", allow_private=True) == "forbidden-address"
