from __future__ import annotations

import msgspec

from memwell.runtime.wire import running
from tests.runtime.wire.building import check_survives, check_unknown_fields, structs_of

SHAPES = structs_of(running)


def test_a_value_survives_the_wire():
    check_survives(SHAPES)


def test_a_request_is_read_strictly_and_an_answer_is_not():
    check_unknown_fields(SHAPES)


def test_a_key_has_no_place_for_a_secret():
    names = {field.name for field in msgspec.structs.fields(running.Key)}
    assert not names & {"secret", "token", "digest", "old"}
