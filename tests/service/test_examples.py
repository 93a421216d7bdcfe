from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.routes import ROUTES
from memwell.service.examples import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_the_route_takes_and_gives(name: str):
    route, (taken, given) = ROUTES[name], EXAMPLES[name]
    assert decode(msgspec.json.encode(taken), route.takes)
    answer: Any = decode(msgspec.json.encode(given), route.gives)
    # All fields are shown, and none that is no more.
    shown = msgspec.json.decode(encode(answer))
    assert set(given) == set(shown)


def test_no_example_shows_a_token():
    assert EXAMPLES["create_key"][1]["token"].endswith("…")
