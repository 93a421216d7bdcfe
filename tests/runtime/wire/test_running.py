from __future__ import annotations

import msgspec
import pytest

from memwell.runtime.wire import running
from tests.runtime.wire.building import check_survives, check_unknown_fields, structs_of

SHAPES = structs_of(running)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("type_", SHAPES, ids=lambda one: one.__name__)
def test_a_value_survives_the_wire(type_: type[msgspec.Struct], whole: bool):
    check_survives(type_, whole=whole)


@pytest.mark.parametrize("type_", SHAPES, ids=lambda one: one.__name__)
def test_a_request_is_read_strictly_and_an_answer_is_not(type_: type[msgspec.Struct]):
    check_unknown_fields(type_)


def test_a_key_has_no_place_for_a_secret():
    names = {field.name for field in msgspec.structs.fields(running.Key)}
    assert not names & {"secret", "token", "digest", "old"}
