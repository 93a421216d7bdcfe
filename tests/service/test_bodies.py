from __future__ import annotations

import asyncio
import selectors
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from memwell.service.bodies import Refused, read_file, read_json

JSON = {"content-type": "application/json"}


class _NoWaiting(selectors.DefaultSelector):
    """Waits for nothing: the time that would pass has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        self.now += 0 if found else timeout or 0
        return found


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose time is what those in it wait for, however slow the machine is."""

    def __init__(self) -> None:
        self._waits = _NoWaiting()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.now


def run(work: Any) -> Any:
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


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
    with pytest.raises(Refused) as refused:
        run(work)
    return refused.value.problem.status, refused.value.problem.code


@given(st.lists(st.binary(max_size=20), max_size=6))
def test_a_body_is_read_whole_up_to_the_limit(pieces: list[bytes]):
    whole = b"".join(pieces)
    assert run(read_json(request(pieces), len(whole), 5)) == whole
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
    path = run(read_file(request(pieces), 10, 0.25, tmp_path))
    assert path is not None
    assert path.read_bytes() == b"abc"
    assert refusal(read_json(request(pieces), 10, 0.25)) == (408, "too-slow")


def test_a_line_that_is_cut_leaves_nothing(tmp_path: Path):
    assert refusal(read_json(request([b"a", None]), 10, 5)) == (400, "malformed")
    assert refusal(read_file(request([b"a", None]), 10, 5, tmp_path)) == (400, "malformed")
    assert refusal(read_file(request([b"a" * 20]), 10, 5, tmp_path)) == (413, "too-large")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_none(tmp_path: Path):
    assert run(read_file(request([]), 10, 5, tmp_path)) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/a+json", ""])
def test_json_has_several_names(kind: str):
    assert run(read_json(request([b"{}"], content_type=kind), 10, 5)) == b"{}"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "json", "x" * 5000])
def test_other_kinds_are_refused(kind: str):
    assert refusal(read_json(request([b"{}"], content_type=kind), 10, 5)) == (415, "media-type")


def test_a_file_is_not_a_form(tmp_path: Path):
    form = request([b"x"], content_type="multipart/form-data; boundary=x")
    assert refusal(read_file(form, 10, 5, tmp_path)) == (415, "media-type")
