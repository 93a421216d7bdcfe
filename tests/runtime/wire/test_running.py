from __future__ import annotations

import msgspec

from memwell.runtime.wire import running


def test_a_key_has_no_place_for_a_secret():
    names = {field.name for field in msgspec.structs.fields(running.Key)}
    assert not names & {"secret", "token", "digest", "old"}
