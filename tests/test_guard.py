"""No test reaches a server that the tests did not start, nor any other machine."""

from __future__ import annotations

import socket
import subprocess
import sys
from importlib import import_module
from typing import Any

import psycopg
import pytest

from memwell.storage.postgres.connections import Link
from tests.ports import closed_port

StrangersPort: type[BaseException] = import_module("strangers").StrangersPort
DEFAULT_PORTS = (9, 5432, 6379, 7411, 8000, 11434, 19530)
ELSEWHERE: list[Any] = [("192.0.2.1", 50_000), ("2001:db8::1", 50_000, 0, 0)]


def connect(address: Any) -> None:
    with socket.socket(socket.AF_INET if len(address) == 2 else socket.AF_INET6) as one:
        one.settimeout(5)
        one.connect(address)


@pytest.mark.parametrize("address", [*(("127.0.0.1", port) for port in DEFAULT_PORTS), ("::1", 6379, 0, 0), *ELSEWHERE])
def test_a_strangers_port_is_refused_and_not_taken_for_a_server_that_is_away(address: Any):
    with pytest.raises(StrangersPort):
        connect(address)


def test_a_port_of_our_own_is_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect(server.getsockname())
    with closed_port() as port, pytest.raises(ConnectionRefusedError):
        connect(("127.0.0.1", port))


@pytest.mark.parametrize("address", [("192.0.2.1", 53), ("127.0.0.1", 9)])
def test_no_datagram_goes_to_a_stranger(address: Any):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(StrangersPort):
        one.sendto(b"x", address)


def test_no_name_is_looked_up():
    for look_up in (lambda name: socket.getaddrinfo(name, 5432), socket.gethostbyname):
        with pytest.raises(socket.gaierror, match="tests look no names up"):
            look_up("db.example.org")
    for here in ("localhost", "127.0.0.1", "::1", "2130706433", "0x7f.1", "１２７.０.０.１", None):
        assert socket.getaddrinfo(here, 5432)


@pytest.mark.parametrize("url", ["postgresql://localhost/x", "postgresql://127.0.0.1:5432/x", "host=db.example.org"])
def test_libpq_is_kept_from_strangers_too(url: str):
    with pytest.raises(StrangersPort):
        psycopg.connect(url, connect_timeout=5)
    with pytest.raises(StrangersPort):
        Link.connect(url, connect_timeout=5)


def test_a_child_is_guarded_as_well():
    script = "import socket; socket.create_connection(('127.0.0.1', 6379), 5)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "StrangersPort" in ended.stderr
