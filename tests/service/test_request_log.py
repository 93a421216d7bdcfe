from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from memwell.errors import BackendError, BadModelOutput, ConfigurationError
from memwell.records import Space
from memwell.runtime.wire.running import Key
from memwell.runtime.wire.table import OPERATIONS
from memwell.service import request_log as logs
from memwell.values import now

TOKEN = f"mw_{'a' * 16}_{'b' * 64}"
KEY = Key(id="a" * 16, name="phone", space=Space("acme"), scopes=("read",), created=now())


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    names = ("memwell", "uvicorn.error")
    before = [(one, one.propagate, one.level, [*one.handlers]) for one in map(logging.getLogger, names)]
    yield
    for logger, propagate, level, handlers in before:
        logger.propagate, logger.handlers = propagate, handlers
        logger.setLevel(level)


def failed(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as raised:
        return raised


def written(form: str, *failures: BaseException) -> str:
    out = io.StringIO()
    logs.set_up(form, out)
    logs.request("r1", "GET", OPERATIONS["me"], 200, 0.0123, KEY)
    logs.request("r2", "POST", OPERATIONS["recall"], 401, 0.001, None)
    for error in failures:
        logs.failure("r3", OPERATIONS["recall"], error)
    logs.warn("figures could not be written", ConfigurationError(f"with {TOKEN}"))
    logging.getLogger("uvicorn.error").warning("a line of the web server with %s", TOKEN)
    return out.getvalue()


def test_for_programs_each_line_is_json():
    lines = [json.loads(line) for line in written("json", failed(KeyError("words"))).splitlines()]
    assert lines[0] | {"time": ""} == {
        "time": "",
        "level": "info",
        "logger": "memwell.service",
        "message": "GET me 200 12.3 ms",
        "request": "r1",
        "method": "GET",
        "route": "me",
        "status": 200,
        "ms": 12.3,
        "key": KEY.id,
    }
    assert lines[1]["key"] == ""
    assert "KeyError" in lines[2]["error"]


def test_for_people_each_request_is_one_line():
    lines = written("text").splitlines()
    assert lines[0].endswith(f"GET me 200 12.3 ms key={KEY.id}")
    assert len(lines) == 4


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_token_is_ever_written(form: str):
    assert TOKEN not in written(form, failed(BackendError(f"no {TOKEN}")))


@pytest.mark.parametrize("form", ["text", "json"])
def test_of_an_unexpected_error_the_kind_and_place_are_written_and_not_the_words(form: str):
    cause = failed(BadModelOutput("she said pelican"))
    chained = KeyError("pelican")
    chained.__cause__ = cause
    group = ExceptionGroup("pelican", [failed(ValueError("pelican")), failed(BackendError("the disk is full"))])
    out = written(form, failed(chained), failed(group))
    assert "pelican" not in out
    for told in (
        "KeyError",
        "BadModelOutput",
        "ValueError",
        "ExceptionGroup",
        "BackendError: the disk is full",
        "in failed",
    ):
        assert told in out


def test_an_error_that_came_from_itself_ends():
    one, two = KeyError("a"), KeyError("b")
    one.__context__, two.__context__ = two, one
    assert written("text", one).count("KeyError") == 2


def test_off_is_off_and_back_on_is_one_line_each():
    assert written("off", failed(KeyError("a"))) == ""
    written("text")
    assert len(written("text").splitlines()) == 4


def test_handlers_of_others_are_left_alone():
    other = logging.NullHandler()
    logging.getLogger("memwell").addHandler(other)
    logs.set_up("text", io.StringIO())
    logs.set_up("off")
    assert other in logging.getLogger("memwell").handlers


def test_an_unknown_form_is_refused():
    with pytest.raises(ConfigurationError, match="text, json, off"):
        logs.set_up("xml")
