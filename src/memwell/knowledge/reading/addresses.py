"""Which addresses on the network may be asked for a page: those of the public internet, and the own network if allowed.

An address can be written in many ways and can carry another inside it. So names and numbers are first resolved by the
system, and what comes out is judged, together with every address hidden in it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from memwell.errors import UnreadableDocument
from memwell.values import shown

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
"""Where clouds tell a machine its own secrets, besides the link-local addresses."""
_MOST_ADDRESSES = 16


def is_public(address: Address) -> bool:
    """Whether an address, and each one that it carries inside, belongs to the public internet."""
    return all(_is_public_itself(one) for one in (address, *_carried(address)))


def may_be_asked(address: Address, *, allow_private: bool) -> bool:
    """Whether a page may be fetched from an address. ``allow_private`` opens this machine and its network; what hands out
    a machine's own secrets, as clouds do on link-local addresses, stays shut, and so do multicast and no address at all."""
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
    # Python calls the ranges of IPv6 that carry IPv4 private, some versions public: what they carry decides.
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or address in _NAT64):
        return not special
    return address.is_global and not special and not (address.is_reserved and isinstance(address, IPv4Address))


def _carried(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 one stands for, in all the ways there are."""
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
    """The addresses of a host, all of them fit to be asked.

    Raises ``UnreadableDocument``: ``forbidden-address`` when one must not be asked, ``unreachable`` when there is none.
    """
    found: list[tuple[socket.AddressFamily, tuple[str, int]]] = []
    for family, number in _looked_up(host, port, timeout_s):
        # A zone, as in fe80::1%eth0, says on which card of this machine the address lies.
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

    # The system's resolver takes no limit; a thread that never ends is left behind rather than waited for.
    thread = threading.Thread(target=look_up, daemon=True, name="memwell-resolve")
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive() or failures or not answers:
        why = "no answer in time" if thread.is_alive() else str(failures[0]) if failures else "it has no address"
        raise UnreadableDocument(f"the host {shown(host)} is not found: {why}", reason="unreachable")
    return list(dict.fromkeys(answers))


__all__ = ["Address", "is_public", "may_be_asked", "resolved"]
