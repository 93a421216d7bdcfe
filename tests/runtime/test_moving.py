from __future__ import annotations

import importlib
import sys

import pytest

from memwell.runtime import transfer


def test_the_earlier_place_still_has_the_function_and_says_where_it_is():
    sys.modules.pop("memwell.runtime.moving", None)
    with pytest.warns(DeprecationWarning, match=r"memwell\.runtime\.transfer"):
        moving = importlib.import_module("memwell.runtime.moving")
    assert moving.move is transfer.move
