from __future__ import annotations

from collections import Counter

import pytest

from memwell.runtime.wire.codec import Request
from memwell.runtime.wire.routes import (
    ADMIN,
    ANY_KEY,
    ANYONE,
    BYTES,
    ERASE,
    EVENTS,
    JSON,
    READ,
    ROUTES,
    TEXT,
    WRITE,
    Route,
)

ALL = list(ROUTES.values())


def by_name(route: Route) -> str:
    return route.name


def test_no_two_routes_have_one_address_or_one_name():
    assert max(Counter((route.method, route.path) for route in ALL).values()) == 1
    assert all(name == route.name for name, route in ROUTES.items())


@pytest.mark.parametrize("route", ALL, ids=by_name)
def test_a_route_is_whole(route: Route):
    assert route.scope in (READ, WRITE, ERASE, ADMIN, ANY_KEY, ANYONE)
    assert route.method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    assert route.media_type in (JSON, BYTES, EVENTS, TEXT)
    assert (route.gives is None) == (route.media_type in (BYTES, TEXT))
    assert route.takes is None or issubclass(route.takes, Request)
    assert route.path == "/" + "/".join(route.parts)
    assert not route.upload or route.method == "POST"


@pytest.mark.parametrize("route", [route for route in ALL if route.scope == ANYONE], ids=by_name)
def test_only_its_health_is_told_to_everybody(route: Route):
    assert route.path.startswith("/health/")
    assert route.method == "GET"


@pytest.mark.parametrize(
    "route", [route for route in ALL if route.scope in (ERASE, ADMIN) and route.method != "GET"], ids=by_name
)
def test_what_cannot_be_undone_is_logged(route: Route):
    assert route.logged


@pytest.mark.parametrize("route", [route for route in ALL if route.method in ("PUT", "PATCH", "DELETE")], ids=by_name)
def test_what_changes_something_needs_more_than_reading(route: Route):
    assert route.scope in (WRITE, ERASE, ADMIN)


def test_where_a_request_says_what_it_wants():
    assert ROUTES["memories"].takes_query
    assert ROUTES["upload_document"].takes_query
    assert not ROUTES["remember"].takes_query
    assert ROUTES["message_at"].parts == ("v1", "threads", "{thread}", "places", "{index}")
