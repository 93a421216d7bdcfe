from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from memwell.errors import AccessDenied, Busy
from memwell.runtime.wire.problems import problem_of
from memwell.service.answering import Answered, refused
from memwell.service.call import Events, File
from memwell.service.parts import Service
from memwell.service.responses import SAFE, response_of
from tests.service.rest.asking import service_at


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


def response(answered: Answered, service: Service) -> Response:
    with ThreadPoolExecutor(1) as pool:
        return response_of(answered, {"x-request-id": "r1"}, pool=pool, service=service)


def sent(answered: Answered, service: Service) -> bytes:
    pieces: list[bytes] = []

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))

    async def receive() -> Any:
        # Nobody hangs up.
        await asyncio.Event().wait()

    async def run() -> None:
        with ThreadPoolExecutor(1) as pool:
            made = response_of(answered, {}, pool=pool, service=service)
            await made({"type": "http", "method": "GET", "headers": []}, receive, send)

    asyncio.run(run())
    return b"".join(pieces)


@pytest.mark.parametrize("body", [b"{}", File(content=b"x"), Events(iter([]))])
def test_every_answer_is_harmless(body: Any, service: Service):
    headers = response(Answered(200, body), service).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-request-id"] == "r1"
    assert set(SAFE) <= set(headers)


@pytest.mark.parametrize(("seconds", "header"), [(0.01, "1"), (1.0, "1"), (1.2, "2"), (59.5, "60")])
def test_nobody_is_told_to_come_back_too_early(seconds: float, header: str, service: Service):
    busy = refused(problem_of(Busy("later", retry_after=seconds)))
    assert response(busy, service).headers["retry-after"] == header


def test_a_browser_is_told_how_to_sign_in(service: Service):
    assert response(refused(problem_of(AccessDenied("no"))), service).headers["www-authenticate"].startswith("Bearer")
    assert response(Answered(200, b"{}", replayed=True), service).headers["idempotent-replayed"] == "true"
    assert response(Answered(405, b"{}", headers=(("allow", "GET"),)), service).headers["allow"] == "GET"


@pytest.mark.parametrize(
    "kind", ["text/html", "image/svg+xml", "application/javascript", "text/plain; charset=utf-8", ""]
)
def test_what_may_hold_a_script_is_saved_and_not_shown(kind: str, service: Service):
    headers = response(Answered(200, File(content=b"x", media_type=kind, name="a.x")), service).headers
    assert headers["content-disposition"].startswith("attachment")
    assert "sandbox" in headers["content-security-policy"]
    picture = response(Answered(200, File(content=b"x", media_type="image/png")), service)
    assert "content-disposition" not in picture.headers


@pytest.mark.parametrize("name", ['a"b.txt', "a\r\nSet-Cookie: x=1", "备份.jsonl", "../../etc/passwd", "a" * 300])
def test_no_name_of_a_file_breaks_out_of_its_header(name: str, service: Service):
    header = response(Answered(200, File(content=b"x", name=name)), service).headers["content-disposition"]
    assert header.isascii()
    assert "\r" not in header
    assert "\n" not in header
    assert header.count('"') - header.count('\\"') == 2


def test_a_file_is_removed_once_it_was_sent(service: Service, tmp_path: Path):
    path = tmp_path / "export"
    path.write_bytes(b"all of it")
    assert sent(Answered(200, File(content=path, forget=True)), service) == b"all of it"
    assert not path.exists()


def test_events_are_sent_one_by_one_and_end(service: Service):
    values = iter([{"n": 1}, None, {"n": 2, "text": "a\nb"}])
    assert (
        sent(Answered(200, Events(values, pause_s=0.0)), service)
        == b'data: {"n":1}\n\ndata: {"n":2,"text":"a\\nb"}\n\n'
    )


def test_a_quiet_line_is_kept_open(service: Service, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.service.responses._LINE_OPEN_S", -1.0)
    assert sent(Answered(200, Events(iter([None]), pause_s=0.0)), service) == b": still here\n\n"


def test_events_end_with_the_service(service: Service):
    def forever() -> Iterator[Any]:
        while True:
            yield None
            service.stopping = True

    assert sent(Answered(200, Events(forever(), pause_s=0.0)), service) == b""
