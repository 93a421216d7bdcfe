from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

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


def test_no_two_routes_have_one_address_or_one_name():
    assert max(Counter((route.method, route.path) for route in ALL).values()) == 1
    assert all(name == route.name for name, route in ROUTES.items())


def test_a_route_is_whole():
    assert {route.name: faults for route in ALL if (faults := list(faults_of(route)))} == {}


def faults_of(route: Route) -> Iterator[str]:
    rules = {
        "scope": route.scope in (READ, WRITE, ERASE, ADMIN, ANY_KEY, ANYONE),
        "method": route.method in ("GET", "POST", "PUT", "PATCH", "DELETE"),
        "media type": route.media_type in (JSON, BYTES, EVENTS, TEXT),
        "what it gives": (route.gives is None) == (route.media_type in (BYTES, TEXT)),
        "what it takes": route.takes is None or issubclass(route.takes, Request),
        "path": route.path == "/" + "/".join(route.parts),
        "upload": not route.upload or route.method == "POST",
    }
    return (rule for rule, kept in rules.items() if not kept)


def test_only_its_health_is_told_to_everybody():
    open_to_all = [route for route in ALL if route.scope == ANYONE]
    assert open_to_all
    assert [one.name for one in open_to_all if not one.path.startswith("/health/") or one.method != "GET"] == []


def test_what_cannot_be_undone_is_logged():
    final = [route for route in ALL if route.scope in (ERASE, ADMIN) and route.method != "GET"]
    assert final
    assert [route.name for route in final if not route.logged] == []


def test_what_changes_something_needs_more_than_reading():
    changing = [route for route in ALL if route.method in ("PUT", "PATCH", "DELETE")]
    assert changing
    assert [route.name for route in changing if route.scope not in (WRITE, ERASE, ADMIN)] == []


def test_where_a_request_says_what_it_wants():
    assert ROUTES["memories"].takes_query
    assert ROUTES["upload_document"].takes_query
    assert not ROUTES["remember"].takes_query
    assert ROUTES["message_at"].parts == ("v1", "threads", "{thread}", "places", "{index}")
