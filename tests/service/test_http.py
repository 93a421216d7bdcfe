"""Addresses, bodies, responses and access."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from memwell.errors import AccessDenied, Busy, InvalidInput
from memwell.records import Space
from memwell.runtime.wire.codec import problem_of
from memwell.runtime.wire.operations import Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.call import Answered, File, refused
from memwell.service.http import (
    CONTENT_SECURITY_POLICY,
    FOLDER,
    SAFE,
    AccessCheck,
    RefusedRequest,
    Router,
    page_at,
    read_file,
    read_json,
    response_of,
    version,
)
from memwell.service.parts import Service
from memwell.settings import Settings
from tests.runtime.still_time import run_in_still_time

# Addresses


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


@pytest.mark.parametrize(
    "path", [b"", b"/", b"/v1", b"/v1/threads//messages", b"/v1/x", b"/v1/threads/a/b/c/d/e/f", b"*"]
)
def test_what_is_no_address_has_no_methods(path: bytes):
    assert ROUTER.find(path, "GET") == (None, {}, ())


@given(st.binary(max_size=60))
def test_any_bytes_are_found_or_not(raw: bytes):
    try:
        found, _, methods = ROUTER.find(raw, "GET")
    except InvalidInput:
        return
    assert found is None or "GET" in methods


# Bodies


def request(pieces: Iterable[bytes | float | None], **headers: str) -> Request:
    """A request whose body comes in pieces; a number is a pause, None the end of the line."""
    waiting = [*pieces]

    async def receive() -> Any:
        if waiting and isinstance(waiting[0], float):
            await asyncio.sleep(waiting[0])
            del waiting[0]
        if not waiting:
            return {"type": "http.request", "body": b"", "more_body": False}
        piece = waiting.pop(0)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": True}

    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": sent}, receive)


def refusal(work: Any) -> tuple[int, str]:
    with pytest.raises(RefusedRequest) as refused:
        run_in_still_time(work)
    return refused.value.problem.status, refused.value.problem.code


@given(st.lists(st.binary(max_size=20), max_size=6))
def test_a_body_is_read_whole_up_to_the_limit(pieces: list[bytes]):
    whole = b"".join(pieces)
    assert run_in_still_time(read_json(request(pieces), len(whole), 5)) == whole
    if whole:
        assert refusal(read_json(request(pieces), len(whole) - 1, 5)) == (413, "too-large")


@pytest.mark.parametrize("length", ["11", "1" + "0" * 400, "9" * 16])
def test_a_body_that_says_it_is_too_large_is_not_read(length: str):
    never = request([None], content_length=length)
    assert refusal(read_json(never, 10, 5)) == (413, "too-large")
    assert refusal(read_file(never, 10, 5, Path())) == (413, "too-large")


@pytest.mark.parametrize("length", ["-1", "ten", "1.5", "²", "1 1"])
def test_a_length_that_is_no_number_is_refused(length: str):
    assert refusal(read_json(request([], content_length=length), 10, 5)) == (400, "malformed")


def test_a_slow_body_is_not_waited_for(tmp_path: Path):
    assert refusal(read_json(request([b"a", 5.0]), 10, 0.05)) == (408, "too-slow")
    assert refusal(read_file(request([b"a", 5.0]), 10, 0.05, tmp_path)) == (408, "too-slow")
    assert list(tmp_path.iterdir()) == []


def test_a_file_may_take_its_time_as_long_as_something_comes(tmp_path: Path):
    pieces: list[bytes | float | None] = [b"a", 0.1, b"b", 0.1, b"c", 0.1]
    path = run_in_still_time(read_file(request(pieces), 10, 0.25, tmp_path))
    assert path is not None
    assert path.read_bytes() == b"abc"
    assert refusal(read_json(request(pieces), 10, 0.25)) == (408, "too-slow")


def test_a_fast_upload_pauses_for_others(tmp_path: Path):
    async def timed() -> float:
        before = asyncio.get_running_loop().time()
        path = await read_file(request([b"a" * 2**19] * 8), 2**23, 5, tmp_path)
        assert path is not None
        assert path.stat().st_size == 2**22
        return asyncio.get_running_loop().time() - before

    # By the clock of the loop, which stands still but for pauses.
    assert run_in_still_time(timed()) == pytest.approx(0.04)


def test_a_line_that_is_cut_leaves_nothing(tmp_path: Path):
    assert refusal(read_json(request([b"a", None]), 10, 5)) == (400, "malformed")
    assert refusal(read_file(request([b"a", None]), 10, 5, tmp_path)) == (400, "malformed")
    assert refusal(read_file(request([b"a" * 20]), 10, 5, tmp_path)) == (413, "too-large")
    assert list(tmp_path.iterdir()) == []


# Responses


def response(answered: Answered) -> Response:
    return response_of(answered, {"x-request-id": "r1"})


@pytest.mark.parametrize("body", [b"{}", File(content=b"x")])
def test_every_answer_is_harmless(body: Any):
    headers = response(Answered(200, body)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-request-id"] == "r1"
    assert set(SAFE) <= set(headers)


@pytest.mark.parametrize(("seconds", "header"), [(0.01, "1"), (1.0, "1"), (1.2, "2"), (59.5, "60")])
def test_nobody_is_told_to_come_back_too_early(seconds: float, header: str):
    busy = refused(problem_of(Busy("later", retry_after=seconds)))
    assert response(busy).headers["retry-after"] == header


@pytest.mark.parametrize(
    "kind", ["text/html", "image/svg+xml", "application/javascript", "text/plain; charset=utf-8", ""]
)
def test_what_may_hold_a_script_is_saved_and_not_shown(kind: str):
    headers = response(Answered(200, File(content=b"x", media_type=kind, name="a.x"))).headers
    assert headers["content-disposition"].startswith("attachment")
    assert "sandbox" in headers["content-security-policy"]
    picture = response(Answered(200, File(content=b"x", media_type="image/png")))
    assert "content-disposition" not in picture.headers


@pytest.mark.parametrize("name", ['a"b.txt', "a\r\nSet-Cookie: x=1", "备份.jsonl", "../../etc/passwd", "a" * 300])
def test_no_name_of_a_file_breaks_out_of_its_header(name: str):
    header = response(Answered(200, File(content=b"x", name=name))).headers["content-disposition"]
    assert header.isascii()
    assert "\r" not in header
    assert "\n" not in header
    assert header.count('"') - header.count('\\"') == 2


# Access


def asked(**headers: str) -> Request:
    sent = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": sent, "client": ("10.0.0.1", 5)})


def door(service: Service, **chosen: Any) -> AccessCheck:
    service.settings = replace(Settings(), **chosen)
    return AccessCheck(service, lambda later: later())


OURS = ["127.0.0.1", "127.0.0.1:7411", "localhost:1", "LOCALHOST", "[::1]:7411", "[::1]", "10.9.8.7:80", "memwell:7411"]
NOT_OURS = [
    "", "evil.example", "evil.example:7411", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1:1:2",
    "[evil]", "0x7f000001", "@127.0.0.1", "[::1].evil", "[::1].evil:7411", "[::1]evil", "[::1", "[[::1]]",
    "[::1]:7411.evil",
]  # fmt: skip


@pytest.mark.parametrize("host", OURS)
def test_numbers_and_our_own_names_are_answered(host: str, service: Service):
    assert door(service).check_host(asked(host=host)) is None


@pytest.mark.parametrize("host", NOT_OURS)
def test_other_names_are_not(host: str, service: Service):
    with pytest.raises(RefusedRequest) as refused:
        door(service).check_host(asked(host=host))
    assert refused.value.problem.status == 421


def test_names_can_be_added(service: Service):
    added = door(service, serve_hosts="Memory.Example.org, other.example")
    assert added.check_host(asked(host="memory.example.ORG:443")) is None
    assert door(service, serve_hosts="*").check_host(asked(host="any.thing")) is None
    with pytest.raises(RefusedRequest):
        added.check_host(asked(host="memory.example.org.evil.example"))


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7411", "https://127.0.0.1:7411", "https://app.example"])
def test_our_page_and_allowed_ones_may_call(origin: str, service: Service):
    allowed = door(service, serve_origins="https://app.example")
    assert allowed.check_origin(asked(host="127.0.0.1:7411", origin=origin)) is None


BAD: list[Callable[[str], dict[str, str]]] = [
    lambda token: {},
    lambda token: {"authorization": token},
    lambda token: {"authorization": "Bearer"},
    lambda token: {"authorization": f"Basic {token}"},
    lambda token: {"authorization": f"Bearer {token}x"},
    lambda token: {"authorization": f"Bearer {token}, Bearer {token}"},
    lambda token: {"authorization": f"Bearer {'ü' * 50}"},
    lambda token: {"cookie": f"key={token}"},
]


@pytest.mark.parametrize("headers", BAD)
def test_a_bad_key_is_refused_and_logged_without_its_secret(headers: Callable[[str], dict[str, str]], service: Service):
    _, token = service.keys.create("k", space=Space("a"), scopes=["read"])
    with pytest.raises(AccessDenied):
        asyncio.run(door(service).key_of(asked(**headers(token))))
    entries = service.log.entries().items
    assert [(entry.action, entry.outcome) for entry in entries] == [("sign-in", "refused")]
    assert token[-64:] not in str(entries)


def test_who_guesses_on_and_on_is_sent_away_and_no_longer_logged(service: Service):
    at = door(service)
    for _ in range(20):
        with pytest.raises(AccessDenied):
            asyncio.run(at.key_of(asked(authorization="Bearer x")))
    with pytest.raises(Busy):
        asyncio.run(at.key_of(asked(authorization="Bearer x")))
    assert len(service.log.entries(limit=100).items) == 20
    _, token = service.keys.create("k", space=Space("a"), scopes=["read"])
    assert asyncio.run(at.key_of(asked(authorization=f"Bearer {token}")))


def test_the_refusal_of_a_page_names_the_key_only_when_it_is_good(service: Service):
    key, token = service.keys.create("k", space=Space("a"), scopes=["read"])
    here = door(service)
    for header in (f"Bearer {token}", f"Bearer {token}x", ""):
        here.note_refusal(asked(authorization=header), "recall", "foreign-origin", None)
    told = [(one.action, one.key, one.space) for one in service.log.entries().items]
    assert told == [("recall", None, None), ("recall", None, None), ("recall", key.id, key.space)]


# The dashboard's files: what is served where, and that nothing else ever is


def test_the_page_names_its_files_under_a_digest_and_they_are_kept_for_good() -> None:
    index = page_at("/")
    assert index is not None
    assert index.media_type.startswith("text/html")
    assert index.cache_control == "no-cache"
    named = re.findall(r'(?:src|href)="(dashboard/[^"]+)"', index.body.decode())
    assert len(named) > 5
    for name in named:
        assert name.startswith(f"dashboard/{version()}/")
        file = page_at(f"/{name}")
        assert file is not None
        assert "immutable" in file.cache_control


def test_what_an_older_page_asks_for_is_there_but_not_kept() -> None:
    old = page_at("/dashboard/0123456789abcdef/js/app.js")
    assert old is not None
    assert old.cache_control == "no-cache"
    assert old.body == (FOLDER / "js" / "app.js").read_bytes()


def test_a_file_is_sent_packed_plain_or_not_at_all() -> None:
    script = page_at("/dashboard/js/app.js")
    assert script is not None
    status, headers, body = script.answer(accept_encoding="br, gzip;q=0.5")
    assert (status, headers["Content-Encoding"], gzip.decompress(body)) == (200, "gzip", script.body)
    assert script.answer(accept_encoding="gzip;q=0, br") == (200, script.headers, script.body)
    assert script.answer(if_none_match=f'"other", {script.etag}') == (304, script.headers, b"")
    assert script.answer(if_none_match='"other"')[0] == 200


def test_every_answer_tells_the_browser_the_policy() -> None:
    index = page_at("/")
    assert index is not None
    assert index.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert b" style=" not in index.body
    assert not re.search(rb"<script(?![^>]* src=)|\son\w+=|https?://", index.body)


def test_no_script_makes_html_of_text() -> None:
    """Text becomes part of a page only as text; and nothing is asked of another host."""
    files = list((FOLDER / "js").rglob("*.js"))  # type: ignore[attr-defined]
    assert files
    for file in files:
        code = file.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", code), (
            file
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", code), file


@given(
    st.lists(st.sampled_from(["..", ".", "", "js", "css", "app.js", "pages.py", "0123456789abcdef", "%2e%2e", "\\"]))
)
def test_whatever_is_asked_for_only_files_of_the_folder_are_served(parts: list[str]) -> None:
    found = page_at("/dashboard/" + "/".join(parts))
    assert (found is not None) == (parts in (["js", "app.js"], ["0123456789abcdef", "js", "app.js"]))
