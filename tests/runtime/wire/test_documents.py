from __future__ import annotations

import msgspec

from memwell.runtime.wire import documents
from tests.runtime.wire.building import check_survives, check_unknown_fields, structs_of

SHAPES = structs_of(documents)


def test_a_value_survives_the_wire():
    check_survives(SHAPES)


def test_a_request_is_read_strictly_and_an_answer_is_not():
    check_unknown_fields(SHAPES)


def test_every_request_has_defaults_but_for_what_it_is_about():
    must = {
        one.__name__: one.__struct_config__ and [f.name for f in msgspec.structs.fields(one) if f.required]
        for one in SHAPES
    }
    assert must["LookUp"] == ["query"]
    assert must["UploadDocument"] == ["name"]
    assert must["AddMedium"] == []
