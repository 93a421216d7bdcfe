from __future__ import annotations

import msgspec
import pytest

from memwell.runtime.wire import threads
from tests.runtime.wire.building import check_survives, check_unknown_fields, structs_of

SHAPES = structs_of(threads)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("type_", SHAPES, ids=lambda one: one.__name__)
def test_a_value_survives_the_wire(type_: type[msgspec.Struct], whole: bool):
    check_survives(type_, whole=whole)


@pytest.mark.parametrize("type_", SHAPES, ids=lambda one: one.__name__)
def test_a_request_is_read_strictly_and_an_answer_is_not(type_: type[msgspec.Struct]):
    check_unknown_fields(type_)


def test_a_message_may_be_in_either_shape():
    either = [{"role": "user", "content": "hi"}, {"role": "human", "parts": [{"type": "text", "text": "hi"}]}]
    assert threads.AddMessages(messages=either).messages == either
