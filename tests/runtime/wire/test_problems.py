from __future__ import annotations

import inspect
from http import HTTPStatus

import pytest

from memwell import errors
from memwell.errors import AccessDenied, Busy, MemwellError, UnreadableDocument
from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.problems import HTTP_KINDS, KINDS, Kind, Problem, error_of, http_problem, kind_of, problem_of

ERRORS = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, MemwellError)]


@pytest.mark.parametrize("type_", ERRORS, ids=lambda one: one.__name__)
def test_every_error_is_told_and_comes_back_as_itself(type_: type[MemwellError]):
    problem = problem_of(type_("what is wrong"), request="r1")
    back = error_of(decode(encode(problem), Problem))
    assert type(back) is type_ or (type_ is errors.BadModelOutput and type(back) is errors.ModelError)
    assert HTTPStatus(problem.status)
    assert problem.request == "r1"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_line_of_the_table_is_reached(kind: Kind):
    problem = Problem(type="t", title=kind.title, status=kind.status, code=kind.code, detail="d", retry_after=2.5)
    back = error_of(problem)
    assert type(back) is kind.error
    assert kind_of(back) == kind or not hasattr(back, "code")
    assert str(back) == "d"


def test_a_conflict_of_no_further_kind_is_just_that():
    assert problem_of(errors.Conflict("taken")).code == "conflict"


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
        ("the memory 'x' was forgotten; undo() brings it back", "the memory 'x' was forgotten; undo brings it back"),
        ("it would erase everything; erase_all() is for that", "it would erase everything; 'everything' is for that"),
        ("Space(os.system('x'))", "Space(os.system('x'))"),
        ("Space('a\\'b')", "Space('a\\'b')"),
        ("Space('", "Space('"),
    ],
)
def test_people_are_not_told_in_python(said: str, told: str):
    assert problem_of(errors.NotFound(said)).detail == told
