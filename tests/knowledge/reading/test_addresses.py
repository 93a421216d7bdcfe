"""Which addresses are public."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.reading.addresses import is_public, may_be_asked, resolved

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


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0x7f000001", "017700000001", "::1", "localhost", "１２７.０.０.１"],
)
def test_whatever_the_system_takes_for_this_machine_is_refused(host: str):
    with pytest.raises(UnreadableDocument) as refused:
        resolved(host, 80, timeout_s=5.0, allow_private=False)
    assert refused.value.reason == "forbidden-address"
    assert resolved(host, 80, timeout_s=5.0, allow_private=True)


NEVER = (
    "169.254.169.254", "169.254.0.1", "fe80::1", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "224.0.0.1",
    "ff02::1", "0.0.0.0", "::", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::",
    "::ffff:0.0.0.0", "::169.254.169.254", "::ffff:100.100.100.200",
)  # fmt: skip
INTRANET = (
    "127.0.0.1",
    "::1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "fc00::1",
    "fd12::1",
    "::ffff:10.0.0.1",
)


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
