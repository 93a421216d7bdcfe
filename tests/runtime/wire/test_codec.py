from __future__ import annotations

import inspect
from datetime import UTC, date, datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell import errors
from memwell.errors import AccessDenied, Busy, InvalidInput, MemwellError, UnreadableDocument
from memwell.records import Space
from memwell.runtime.wire.codec import (
    HTTP_KINDS,
    KINDS,
    AnswerBody,
    NotJson,
    Problem,
    ProblemKind,
    Request,
    convert,
    decode,
    encode,
    error_of,
    http_problem,
    kind_of,
    problem_of,
    schema_of,
)


class Asked(Request, frozen=True):
    number: int = 0
    flag: bool = False
    names: list[str] | None = None
    time: datetime | None = None
    space: Space | None = None
    any: Any = None


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN, st.integers(-(2**53), 2**53), st.lists(st.text()))
def test_what_goes_out_comes_back(value: Any, number: int, names: list[str]):
    asked = Asked(number=number, names=names, any=value)
    assert decode(encode(asked), Asked) == asked


def test_spaces_vectors_and_views_have_a_form():
    space = Space("acme", "安娜")
    assert decode(encode(Asked(space=space)), Asked).space == space
    assert encode({"v": np.asarray([0.5, 1], dtype=np.float32)}) == b'{"v":[0.5,1.0]}'
    assert encode(MappingProxyType({"a": 1})) == b'{"a":1}'
    with pytest.raises(NotImplementedError):
        encode(object())


@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))
def test_bytes_are_read_or_refused(data: bytes):
    refused = False
    try:
        read: Any = decode(data, Asked)
    except InvalidInput:
        refused = True
    else:
        assert decode(encode(read), Asked) == read
    assert refused or data.strip()


@given(st.dictionaries(st.sampled_from([*Asked.__struct_fields__, "other"]), st.text() | st.lists(st.text())))
def test_a_query_is_read_or_refused(values: dict[str, Any]):
    try:
        asked = convert(values, Asked)
    except InvalidInput:
        return
    assert "other" not in values
    assert asked.names is None or asked.names == values["names"]


def test_the_schema_of_a_space_is_known_and_that_of_others_is_not():
    assert schema_of(Space)["items"]["type"] == "string"
    with pytest.raises(NotImplementedError):
        schema_of(object)
    assert msgspec.json.schema(Asked, schema_hook=schema_of)


@pytest.mark.parametrize("data", [b"{bad", b'{"any":"\xff"}', b'{"any":' + b"[" * 100_000, b"", b"{} {}", b"\xff"])
def test_what_is_no_json_is_told_apart(data: bytes):
    with pytest.raises(NotJson):
        decode(data, Asked)


@pytest.mark.parametrize("data", [b"[]", b'{"number":"x"}', b'{"colour":1}', b'{"time":"yesterday"}', b'{"space":[1]}'])
def test_json_of_another_shape_is_json(data: bytes):
    with pytest.raises(InvalidInput) as raised:
        decode(data, Asked)
    assert not isinstance(raised.value, NotJson)


@given(st.dates(), PLAIN)
def test_a_date_is_its_midnight(day: date, value: Any):
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    said = {"time": day.isoformat(), "any": value, "names": [day.isoformat()], "space": ["a", "b"], "number": 3}
    read = decode(encode(said), Asked)
    assert read == Asked(time=midnight, any=value, names=[day.isoformat()], space=Space("a", "b"), number=3)
    assert convert({"time": day.isoformat(), "number": "3"}, Asked) == Asked(time=midnight, number=3)


@pytest.mark.parametrize("given", ["2026-13-01", "2026-02-30", "2026-1-1", "2026", "yesterday", "２０２６-01-01"])
def test_a_date_that_is_none_is_refused_with_an_example(given: str):
    for read in (lambda: decode(encode({"time": given}), Asked), lambda: convert({"time": given}, Asked)):
        with pytest.raises(InvalidInput, match="a date such as 2026-05-01"):
            read()


def test_only_requests_read_dates_as_times():
    class Told(AnswerBody, frozen=True):
        time: datetime

    with pytest.raises(InvalidInput):
        decode(b'{"time":"2026-01-01"}', Told)


ERRORS = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, MemwellError)]


@pytest.mark.parametrize("type_", ERRORS, ids=lambda one: one.__name__)
def test_every_error_is_told_and_comes_back_as_itself(type_: type[MemwellError]):
    problem = problem_of(type_("what is wrong"), request="r1")
    back = error_of(decode(encode(problem), Problem))
    assert type(back) is type_ or (type_ is errors.BadModelOutput and type(back) is errors.ModelError)
    assert HTTPStatus(problem.status)
    assert problem.request == "r1"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_line_of_the_table_is_reached(kind: ProblemKind):
    problem = Problem(type="t", title=kind.title, status=kind.status, code=kind.code, detail="d", retry_after=2.5)
    back = error_of(problem)
    assert type(back) is kind.error
    assert kind_of(back) == kind or not hasattr(back, "code")
    assert str(back) == "d"


def test_what_a_store_says_of_itself_stays_inside():
    told = problem_of(errors.BackendError("disk /var/x is full"), request="r1")
    assert "/var" not in told.detail
    assert "r1" in told.detail
    assert problem_of(errors.InvalidInput("limit is 0"), request="r1").detail == "limit is 0"


def test_where_the_store_is_stays_inside():
    for error in (
        errors.BackendUnavailable("the store postgresql://db.example:5432/x cannot be reached: db.example refused"),
        errors.BackendUnavailable("the line to db.example was lost; what was written may or may not be stored"),
        errors.ReadOnlyStore("the store postgresql://db.example/x is sealed: moved to postgresql://other.example/y"),
    ):
        told = problem_of(error, request="r1")
        assert "example" not in told.detail
        assert told.detail
        assert ("may or may not be stored" in told.detail) == ("may or may not be stored" in str(error))


def test_details_that_programs_need_are_kept():
    assert problem_of(Busy("later", retry_after=7.5, code="rate-limited")).retry_after == 7.5
    assert problem_of(AccessDenied("no", code="missing-scope")).status == 403
    assert problem_of(UnreadableDocument("no", reason="encrypted")).reason == "encrypted"
    assert problem_of(errors.BackendUnavailable()).retry_after == 1.0
    assert problem_of(errors.NotFound()).retry_after is None


@pytest.mark.parametrize("code", HTTP_KINDS)
def test_what_http_refuses_is_bad_input_to_a_client(code: str):
    problem = http_problem(code, "so")
    assert 400 <= problem.status < 500
    assert isinstance(error_of(problem), errors.InvalidInput)


def test_a_problem_of_a_newer_service_is_still_an_error():
    assert isinstance(error_of(Problem(type="", title="new", status=599, code="new")), errors.BackendError)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("there is no memory 'x' in Space('acme', 'ann')", "there is no memory 'x' in acme / ann"),
        ("Space('acme') has not granted it to Space(\"o'hara\", '安')", "acme has not granted it to o'hara / 安"),
        ("the memory 'x' was forgotten; undo() restores it", "the memory 'x' was forgotten; undo restores it"),
        ("it would erase everything; erase_all() is for that", "it would erase everything; 'everything' is for that"),
        ("Space(os.system('x'))", "Space(os.system('x'))"),
        ("Space('a\\'b')", "Space('a\\'b')"),
        ("Space('", "Space('"),
    ],
)
def test_people_are_not_told_in_python(said: str, told: str):
    assert problem_of(errors.NotFound(said)).detail == told
