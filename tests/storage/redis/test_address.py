"""The URL of a store in Redis is taken apart, and never shows a secret."""

from __future__ import annotations

import pytest

from memwell.errors import ConfigurationError
from memwell.storage.redis.address import parsed


def test_a_url_names_servers_and_choices():
    address = parsed("redis+cluster://me:se%40cret@one:7000,two?prefix=app&wait=2&durable=everysec&lease=5&db=0")
    assert address.urls == ("redis://me:se%40cret@one:7000?db=0", "redis://me:se%40cret@two:6379?db=0")
    assert (address.cluster, address.prefix, address.wait, address.durable) == (True, "app", 2, "everysec")
    assert address.shown == "redis+cluster://one:7000,two"
    plain = parsed("rediss://host/3")
    assert (plain.urls, plain.cluster, plain.prefix, plain.wait) == (("rediss://host:6379/3",), False, "memwell", 0)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis:host", "redis://host"),
        ("http://host", "redis://host"),
        ("redis://a,b", "redis+cluster://a,b"),
        ("redis+cluster://a,,b", "without a name"),
        ("redis+cluster://a/3", "one database"),
        ("redis://a?prefix={x}", "prefix"),
        ("redis://a?prefix=", "prefix"),
        ("redis://a?durable=maybe", "durable"),
        ("redis://a?wait=-1", "wait"),
        ("redis://a?wait=²", "wait"),
        ("redis://a/abc", "a number, not 'abc'"),
        ("redis://a/1/2", "a number"),
        ("redis://a?db=x", "a number"),
        ("redis+cluster://a?db=3", "one database"),
        ("redis://a?prefx=x", "'prefx' is nothing .* it can: prefix, durable, wait, client_name"),
        ("redis://a?socket_timeout=3", "socket_timeout"),
    ],
)
def test_what_cannot_be_a_url_is_refused_with_what_to_write(url: str, told: str):
    with pytest.raises(ConfigurationError, match=told.replace("+", r"\+")):
        parsed(url)


def test_a_secret_is_never_told():
    with pytest.raises(ConfigurationError) as told:
        parsed("redys://me:secret@host")
    assert "secret" not in str(told.value)
