from __future__ import annotations

import msgspec
import pytest

from memwell.runtime.wire import memories
from tests.runtime.wire.building import check_survives, check_unknown_fields, structs_of

SHAPES = structs_of(memories)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("type_", SHAPES, ids=lambda one: one.__name__)
def test_a_value_survives_the_wire(type_: type[msgspec.Struct], whole: bool):
    check_survives(type_, whole=whole)


@pytest.mark.parametrize("type_", SHAPES, ids=lambda one: one.__name__)
def test_a_request_is_read_strictly_and_an_answer_is_not(type_: type[msgspec.Struct]):
    check_unknown_fields(type_)


@pytest.mark.parametrize("content", ['"a"', '{"role":"user","content":"a"}', '["a",{"role":"user","content":"b"}]'])
def test_what_is_remembered_may_be_a_text_a_message_or_several(content: str):
    read = msgspec.json.decode(f'{{"content":{content}}}', type=memories.Remember)
    assert msgspec.json.encode(read.content).decode() == content
