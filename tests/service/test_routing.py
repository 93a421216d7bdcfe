from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.runtime.wire.operations import Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.routing import Router

ROUTER = Router(OPERATIONS.values())
NAMED = {part for route in OPERATIONS.values() for part in route.parts}


@given(st.sampled_from(sorted(OPERATIONS)), st.data())
def test_every_route_is_found_whatever_its_ids_are(name: str, data: st.DataObject):
    route: Operation = OPERATIONS[name]
    ids = {
        part[1:-1]: data.draw(st.text(min_size=1).filter(lambda text: text not in NAMED))
        for part in route.parts
        if part.startswith("{")
    }
    parts = [quote(ids[part[1:-1]], safe="") if part.startswith("{") else part for part in route.parts]
    found, path, methods = ROUTER.find(("/" + "/".join(parts)).encode(), route.method)
    assert found is route
    assert path == ids
    assert route.method in methods


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (b"/v1/documents/upload", "upload_document"),
        (b"/v1/media/recall", "recall_media"),
        (b"/v1/documents/%75pload", "upload_document"),
        (b"/v1/documents/upload/", "upload_document"),
    ],
)
def test_a_name_goes_before_what_may_be_anything(path: bytes, name: str):
    assert ROUTER.find(path, "POST")[0] is OPERATIONS[name]


def test_an_encoded_slash_is_part_of_an_id():
    _, path, _ = ROUTER.find(b"/v1/threads/a%2Fb%2F..%2Fc/messages", "GET")
    assert path == {"thread": "a/b/../c"}


@pytest.mark.parametrize(
    "path", [b"", b"/", b"/v1", b"/v1/threads//messages", b"/v1/x", b"/v1/threads/a/b/c/d/e/f", b"*"]
)
def test_what_is_no_address_has_no_methods(path: bytes):
    assert ROUTER.find(path, "GET") == (None, {}, ())


def test_another_method_is_told_from_no_address():
    found, _, methods = ROUTER.find(b"/v1/memories", "DELETE")
    assert found is None
    assert set(methods) == {"GET", "POST"}


def test_what_is_not_utf8_is_refused():
    with pytest.raises(InvalidInput, match="UTF-8"):
        ROUTER.find(b"/v1/memories/%ff", "GET")


@given(st.binary(max_size=60))
def test_any_bytes_are_found_or_not(raw: bytes):
    try:
        found, _, methods = ROUTER.find(raw, "GET")
    except InvalidInput:
        return
    assert found is None or "GET" in methods
