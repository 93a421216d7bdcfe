from __future__ import annotations

import pytest

from memwell.runtime import moving, transfer


def test_the_earlier_place_still_has_the_function_and_says_where_it_is():
    with pytest.warns(DeprecationWarning, match=r"memwell\.runtime\.transfer\.move"):
        assert moving.move is transfer.move
    with pytest.raises(AttributeError):
        moving.copy  # noqa: B018
