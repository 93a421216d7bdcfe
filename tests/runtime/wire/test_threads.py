from __future__ import annotations

from memwell.runtime.wire import threads
from tests.runtime.wire.building import check_survives, check_unknown_fields, structs_of

SHAPES = structs_of(threads)


def test_a_value_survives_the_wire():
    check_survives(SHAPES)


def test_a_request_is_read_strictly_and_an_answer_is_not():
    check_unknown_fields(SHAPES)


def test_a_message_may_be_in_either_shape():
    either = [{"role": "user", "content": "hi"}, {"role": "human", "parts": [{"type": "text", "text": "hi"}]}]
    assert threads.AddMessages(messages=either).messages == either
