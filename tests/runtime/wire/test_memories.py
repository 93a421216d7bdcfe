from __future__ import annotations

import msgspec
import pytest

from memwell.runtime.wire import memories
from tests.runtime.wire.building import check_survives, check_unknown_fields, structs_of

SHAPES = structs_of(memories)


def test_a_value_survives_the_wire():
    check_survives(SHAPES)


def test_a_request_is_read_strictly_and_an_answer_is_not():
    check_unknown_fields(SHAPES)


@pytest.mark.parametrize("content", ['"a"', '{"role":"user","content":"a"}', '["a",{"role":"user","content":"b"}]'])
def test_what_is_remembered_may_be_a_text_a_message_or_several(content: str):
    read = msgspec.json.decode(f'{{"content":{content}}}', type=memories.Remember)
    assert msgspec.json.encode(read.content).decode() == content
