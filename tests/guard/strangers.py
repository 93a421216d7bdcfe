"""Refuses connections to servers that the tests did not start, in the tests' process and in Python processes they start.

``tests/conftest.py`` puts this folder on the path of every child, and Python imports ``sitecustomize`` when it starts.
A test may connect to this machine only, at a port that its own process has bound or that a child got from the kernel:
default ports such as 6379 and 5432 are never among them. Names are not looked up: no packet leaves the machine.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import unicodedata
from pathlib import Path
from typing import Any

_SENDING = ("socket.connect", "socket.sendto", "socket.sendmsg")
_LOOKING_UP = ("socket.getaddrinfo", "socket.gethostbyname")
_NAMES = ("", "localhost", "localhost.localdomain", socket.gethostname())
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def _first_given_out() -> int:
    """The lowest port that the kernel gives to a server which asks for any."""
    try:
        return int(_RANGE.read_text().split()[0])
    except OSError:
        return 32_768


LOWEST = _first_given_out()
bound: set[int] = set()
"""The ports that this process has bound, whatever it did with them."""


class StrangersPort(BaseException):
    """No ``Exception``, so that no code under test takes it for a server that is away."""


def _address(host: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """What a host is without looking it up; None for other names."""
    name = host.decode(errors="replace") if isinstance(host, bytes) else host
    if name is None or name in _NAMES:
        return ipaddress.IPv4Address("127.0.0.1")
    # Full-width digits are digits to what resolves a name.
    plain = unicodedata.normalize("NFKC", str(name)).partition("%")[0]
    try:
        return ipaddress.ip_address(plain)
    except ValueError:
        pass
    try:
        # Other spellings of an address, such as 2130706433 and 0x7f.1.
        return ipaddress.IPv4Address(socket.inet_aton(plain))
    except OSError:
        return None


def check(host: object, port: int) -> None:
    """Raises ``StrangersPort`` unless a test may connect there."""
    address = _address(host)
    is_here = address is not None and (address.is_loopback or address.is_unspecified)
    if not is_here or (port < LOWEST and port not in bound):
        raise StrangersPort(f"a test connects to {host}:{port}, which the tests did not open")


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _SENDING:
        address = arguments[1]
        if isinstance(address, tuple):
            check(*address[:2])
    elif event in _LOOKING_UP and _address(arguments[0]) is None:
        raise socket.gaierror(socket.EAI_NONAME, "tests look no names up")


def _bind(self: socket.socket, address: Any, /) -> None:
    _plain_bind(self, address)
    if self.family in (socket.AF_INET, socket.AF_INET6):
        bound.add(self.getsockname()[1])


_plain_bind = socket.socket.bind
socket.socket.bind = _bind
sys.addaudithook(_watch)
