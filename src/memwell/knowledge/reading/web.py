"""Fetching of web pages without access to private networks. This is a security boundary, so it is our own code.

Every address is checked before the request, also after each redirect, and the connection goes to the checked address: the
name is not looked up again. Size and time are limited in total. No proxy, no cookie and no compression is used.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

import msgspec

from memwell.errors import UnreadableDocument
from memwell.values import check_count, shown

# Which addresses may be fetched from


Address = IPv4Address | IPv6Address

_NAT64 = ip_network("64:ff9b::/96")
_NAT64_OF_A_NETWORK = ip_network("64:ff9b:1::/48")
_NOT_PUBLIC = tuple(
    map(ip_network, ("64:ff9b:1::/48", "fec0::/10", "100::/64", "5f00::/16", "192.0.0.0/24", "192.88.99.0/24"))
)
"""Ranges for special use that not every version of Python knows as such."""
_IPV4_IN_IPV6 = ip_network("::/96")
_OF_A_CLOUD = frozenset(
    map(ip_address, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
"""Metadata services of clouds, besides the link-local addresses."""
_MOST_ADDRESSES = 16


def is_public(address: Address) -> bool:
    """Whether an address, and each one embedded in it, belongs to the public internet."""
    return all(_is_public_itself(one) for one in (address, *_carried(address)))


def may_be_asked(address: Address, *, allow_private: bool) -> bool:
    """Whether a page may be fetched from an address. ``allow_private`` allows this machine and its network, but neither
    link-local addresses and metadata services of clouds nor multicast."""
    if not allow_private:
        return is_public(address)
    return not any(_is_never_asked(one) for one in (address, *_carried(address)))


def _is_never_asked(address: Address) -> bool:
    return address.is_link_local or address.is_multicast or address.is_unspecified or address in _OF_A_CLOUD


def _is_public_itself(address: Address) -> bool:
    if address in _OF_A_CLOUD or any(
        address in network for network in _NOT_PUBLIC if network.version == address.version
    ):
        return False
    special = address.is_multicast or address.is_unspecified or address.is_loopback or address.is_link_local
    # Versions of Python differ on IPv6 ranges that embed IPv4: the embedded address decides.
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or address in _NAT64):
        return not special
    return address.is_global and not special and not (address.is_reserved and isinstance(address, IPv4Address))


def _carried(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses embedded in an IPv6 one."""
    if not isinstance(address, IPv6Address):
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in _NAT64 or address in _NAT64_OF_A_NETWORK or address in _IPV4_IN_IPV6:
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def resolved(
    host: str, port: int, *, timeout_s: float, allow_private: bool
) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
    """The addresses of a host, all of them allowed.

    Raises ``UnreadableDocument``: ``forbidden-address`` when one is not allowed, ``unreachable`` when there is none.
    """
    found: list[tuple[socket.AddressFamily, tuple[str, int]]] = []
    for family, number in _looked_up(host, port, timeout_s):
        # A zone, as in fe80::1%eth0, is not part of the address.
        address = ip_address(number.partition("%")[0])
        if not may_be_asked(address, allow_private=allow_private):
            why = "is never asked for pages" if allow_private else "is not on the public internet"
            raise UnreadableDocument(f"{shown(host)} leads to {address}, which {why}", reason="forbidden-address")
        found.append((family, (number, port)))
    return found[:_MOST_ADDRESSES]


def _looked_up(host: str, port: int, timeout_s: float) -> list[tuple[socket.AddressFamily, str]]:
    answers: list[tuple[socket.AddressFamily, str]] = []
    failures: list[OSError | UnicodeError] = []

    def look_up() -> None:
        try:
            for family, _, _, _, sockaddr in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                if family in (socket.AF_INET, socket.AF_INET6):
                    answers.append((family, str(sockaddr[0])))
        except (OSError, UnicodeError) as error:
            failures.append(error)

    # The system's resolver has no timeout: a thread that does not end is abandoned.
    thread = threading.Thread(target=look_up, daemon=True, name="memwell-resolve")
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive() or failures or not answers:
        why = "no answer in time" if thread.is_alive() else str(failures[0]) if failures else "it has no address"
        raise UnreadableDocument(f"the host {shown(host)} is not found: {why}", reason="unreachable")
    return list(dict.fromkeys(answers))


_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_URL = 8192
_STRANGE = re.compile(r"[\x00-\x20\x7f\\]")
_AGENT = "memwell (+document reader)"
_SAFE_IN_PATH = "/%:@!$&'()*+,;=~-._?"
_FILE_NAME = re.compile(r"filename\*?=(?:[\w-]+'[\w-]*')?\"?([^\";]+)", re.IGNORECASE)
_LONGEST_NAME = 255


class Fetched(msgspec.Struct, frozen=True):
    """A fetched file: the address after all redirects, the bytes, their media type and a file name."""

    url: str
    data: bytes
    media_type: str
    name: str


def fetch(
    url: str,
    *,
    most_bytes: int = 20_000_000,
    timeout_s: float = 20.0,
    most_redirects: int = 5,
    allow_private: bool = False,
) -> Fetched:
    """Fetch a page or file by http or https. ``allow_private`` allows this machine and its network, but no link-local
    address and no metadata service of a cloud.

    Raises ``UnreadableDocument``: ``forbidden-address``, ``unreachable``, ``too-large`` or ``broken``.
    """
    check_count(most_bytes, "most_bytes", least=1)
    check_count(most_redirects, "most_redirects")
    deadline = time.monotonic() + timeout_s
    for _ in range(most_redirects + 1):
        parts = checked_address(url)
        answer = _asked(parts, deadline, most_bytes, allow_private=allow_private)
        if isinstance(answer, Fetched):
            return answer
        url = urljoin(parts.geturl(), answer)
    raise UnreadableDocument(f"it was redirected more than {most_redirects} times", reason="unreachable")


def checked_address(url: object) -> SplitResult:
    """The parts of an address. Raises ``UnreadableDocument`` when its spelling is not allowed."""
    if not isinstance(url, str) or len(url) > _LONGEST_URL or _STRANGE.search(url):
        raise UnreadableDocument(f"{shown(url)} is no address of a page", reason="forbidden-address")
    # Without a password that it may hold.
    named = shown(url.rpartition("@")[2])
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UnreadableDocument(f"{named} is no address: {error}", reason="forbidden-address") from None
    if parts.scheme not in _PORTS or not host:
        raise UnreadableDocument(f"only http and https are fetched, not {named}", reason="forbidden-address")
    if "@" in parts.netloc:
        raise UnreadableDocument("an address must not hold a user or a password", reason="forbidden-address")
    return parts


def _asked(parts: SplitResult, deadline: float, most_bytes: int, *, allow_private: bool) -> Fetched | str:
    """The file at an address, or the address it redirects to."""
    connection = _connected(parts, deadline, allow_private=allow_private)
    try:
        with _until(connection.sock, deadline):
            connection.request("GET", _target(parts), headers=_headers(parts))
            # It holds the socket by itself once the server has said that it closes.
            with connection.getresponse() as response:
                return _understood(parts, response, deadline, most_bytes)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, UnreadableDocument):
            raise
        why = "it took too long" if time.monotonic() >= deadline else str(error) or type(error).__name__
        raise UnreadableDocument(f"{shown(parts.hostname)} could not be read: {why}", reason="unreachable") from None
    finally:
        connection.close()


def _understood(
    parts: SplitResult, response: http.client.HTTPResponse, deadline: float, most_bytes: int
) -> Fetched | str:
    if response.status in _REDIRECTS and (location := response.getheader("location")):
        return _quoted(location)
    if response.status != 200:
        raise UnreadableDocument(f"the server answered {response.status} {response.reason}", reason="unreachable")
    data = _body(response, most_bytes)
    # When the time is up the bytes simply end.
    _left(deadline)
    return Fetched(parts.geturl(), data, response.getheader("content-type", ""), _name(parts, response))


def _connected(parts: SplitResult, deadline: float, *, allow_private: bool) -> http.client.HTTPConnection:
    """A connection to a checked IP address; the server gets the name of the host."""
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    left = _left(deadline)
    failure: OSError | None = None
    for family, sockaddr in resolved(host, port, timeout_s=left, allow_private=allow_private):
        try:
            dialled = _dialled(family, sockaddr, _left(deadline))
            connection = http.client.HTTPConnection(host, port)
            # It must not connect by itself: it would look the name up again.
            connection.auto_open = 0
            connection.sock = _secured(dialled, host, deadline) if parts.scheme == "https" else dialled
        except OSError as error:
            failure = error
        else:
            return connection
    raise UnreadableDocument(f"{shown(host)} could not be reached: {failure}", reason="unreachable")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0.0:
        raise UnreadableDocument("it took too long", reason="unreachable")
    return left


def _dialled(family: socket.AddressFamily, sockaddr: tuple[str, int], timeout_s: float) -> socket.socket:
    dialled = socket.socket(family, socket.SOCK_STREAM)
    try:
        dialled.settimeout(timeout_s)
        dialled.connect(sockaddr)
    except OSError:
        dialled.close()
        raise
    return dialled


def _secured(dialled: socket.socket, host: str, deadline: float) -> ssl.SSLSocket:
    try:
        dialled.settimeout(_left(deadline))
        with _until(dialled, deadline):
            return ssl.create_default_context().wrap_socket(dialled, server_hostname=host)
    except (OSError, ValueError) as error:
        dialled.close()
        if isinstance(error, UnreadableDocument):
            raise
        raise OSError(str(error)) from None


@contextmanager
def _until(sock: socket.socket, deadline: float) -> Generator[None, None, None]:
    """End all work on a socket at the deadline. A socket's own timeout would begin again with every byte."""

    def cut() -> None:
        # Below TLS, which another thread may be in. It may be closed already.
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _target(parts: SplitResult) -> str:
    query = f"?{parts.query}" if parts.query else ""
    return quote((parts.path or "/") + query, safe=_SAFE_IN_PATH)


def _quoted(location: str) -> str:
    # Headers are read as Latin-1, but are UTF-8.
    with suppress(UnicodeError):
        location = location.encode("latin-1").decode()
    return location.strip()


def _headers(parts: SplitResult) -> dict[str, str]:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host.encode("idna").decode()
    port = f":{parts.port}" if parts.port and parts.port != _PORTS[parts.scheme] else ""
    return {
        "Host": host + port,
        "User-Agent": _AGENT,
        "Accept": "text/html,text/markdown,application/pdf,*/*;q=0.5",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


def _body(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    said = response.getheader("content-length", "")
    if said.isdigit() and len(said) < 20 and int(said) > most_bytes:
        raise UnreadableDocument(f"it has {int(said):,} bytes; at most {most_bytes:,} are read", reason="too-large")
    packed = response.getheader("content-encoding", "").strip().casefold()
    if packed not in ("", "identity"):
        raise UnreadableDocument(f"it is packed as {shown(packed)}, which was not asked for")
    data = response.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise UnreadableDocument(f"it has more than {most_bytes:,} bytes", reason="too-large")
    if response.length:
        raise UnreadableDocument("the server broke off before the end", reason="unreachable")
    return data


def _name(parts: SplitResult, response: http.client.HTTPResponse) -> str:
    """The name of the file: the server's, or the end of the address. It is never a path."""
    said = _FILE_NAME.search(response.getheader("content-disposition", ""))
    name = unquote(said[1]) if said else unquote(parts.path)
    name = _STRANGE.sub("_", name.replace("\\", "/").rstrip("/").rpartition("/")[2])
    return "" if name in (".", "..") else name[:_LONGEST_NAME]
