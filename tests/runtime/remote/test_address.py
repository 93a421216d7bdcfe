"""Addresses: what may be one, and that any id comes through."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import ConfigurationError, InvalidInput
from memwell.runtime.remote.connection import check_address, check_key, is_loopback, target_of
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.routing import Router

MEDIA = OPERATIONS["media"].takes


@pytest.mark.parametrize(
    "odd", ["", "memory.db", "ftp://a", "http://", "http://[", "http://a:99999", "http://a b", 7, None]
)
def test_what_is_no_address(odd: object):
    with pytest.raises(ConfigurationError, match="named by its address"):
        check_address(odd)


@pytest.mark.parametrize(
    "odd", ["http://mw_secret@a", "http://u:mw_secret@a", "http://a/?key=mw_secret", "http://a#mw_secret"]
)
def test_a_key_in_an_address_is_refused_and_not_shown(odd: str):
    with pytest.raises(ConfigurationError, match="key=") as raised:
        check_address(odd)
    assert "mw_secret" not in str(raised.value)


def test_addresses():
    assert check_address("http://127.0.0.1:7411/") == "http://127.0.0.1:7411"
    assert check_address("https://a.example/memory/") == "https://a.example/memory"
    assert [is_loopback(f"http://{host}") for host in ("127.0.0.1", "127.9.9.9:1", "[::1]:2", "localhost")] == [
        True
    ] * 4
    assert [is_loopback(f"http://{host}") for host in ("10.0.0.1", "a.example", "127.0.0.1.example")] == [False] * 3


def test_a_key_is_not_shown_when_it_is_none():
    with pytest.raises(ConfigurationError) as raised:
        check_key("mw_secret\n")
    assert "mw_secret" not in str(raised.value)


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=20))
def test_any_id_comes_through(id_: str):
    target = target_of(OPERATIONS["undo"], {"id": id_}, None)
    route, path, _ = Router(OPERATIONS.values()).find(target.encode(), "POST")
    assert route is OPERATIONS["undo"]
    assert path == {"id": id_}
    assert not {".", ".."} & set(urlsplit(target).path.split("/"))


@given(st.text(st.characters(codec="utf-8"), max_size=20), st.lists(st.text(st.characters(codec="utf-8")), max_size=3))
def test_any_query_comes_through(session: str, kinds: list[str]):
    target = target_of(OPERATIONS["media"], {}, MEDIA(session=session, kinds=kinds or None, limit=3))
    told = parse_qs(urlsplit(target).query, keep_blank_values=True)
    assert told == {"session": [session], "limit": ["3"], **({"kinds": kinds} if kinds else {})}
    assert unquote(urlsplit(target).path) == "/v1/media"


def test_more_than_an_address_holds_is_refused():
    assert target_of(OPERATIONS["media"], {}, MEDIA(session="x" * 50_000))
    for session in ("x" * 60_001, "中" * 7_000):
        with pytest.raises(InvalidInput, match="60,000"):
            target_of(OPERATIONS["media"], {}, MEDIA(session=session))


def test_what_is_no_id_is_refused():
    for odd in ("", "a\0", "\ud800", "x" * 2000, 7):
        with pytest.raises(InvalidInput):
            target_of(OPERATIONS["undo"], {"id": odd}, None)  # pyright: ignore[reportArgumentType]
