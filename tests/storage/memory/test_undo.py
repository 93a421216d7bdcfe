"""What raises leaves everything as it was, and what does not leaves what it did."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.storage.memory.undo import Undo


class Held:
    """One of each kind of thing that can be changed."""

    def __init__(self) -> None:
        self.values: dict[int, Any] = {0: "a", 1: "b"}
        self.inner: dict[int, list[int]] = {}
        self.numbers = [1, 2, 3, 4]
        self.field = 0


Change = Callable[[Undo, Held], object]
NUMBERS = st.integers(0, 5)


def changes() -> st.SearchStrategy[Change]:
    def update(keys: list[int], value: int) -> Change:
        return lambda undo, held: undo.update(held.values, dict.fromkeys(keys, value))

    def drop(keys: list[int]) -> Change:
        return lambda undo, held: undo.drop(held.values, keys)

    def splice(start: int, size: int, items: list[int]) -> Change:
        return lambda undo, held: undo.splice(held.numbers, min(start, len(held.numbers)), start + size, items)

    def extend(key: int, items: list[int]) -> Change:
        return lambda undo, held: undo.extend(undo.opened(held.inner, key, list[int]), items)

    def assign(value: int) -> Change:
        return lambda undo, held: undo.assign(held, field=value)

    several = st.lists(NUMBERS, max_size=4)
    return st.one_of(
        st.builds(update, several, NUMBERS),
        st.builds(drop, several),
        st.builds(splice, NUMBERS, NUMBERS, several),
        st.builds(extend, NUMBERS, several),
        st.builds(assign, NUMBERS),
    )


Block = tuple[list[Any], bool]
"""Changes and blocks, and whether it raises in the end."""


def blocks() -> st.SearchStrategy[Block]:
    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Block]:
        return st.tuples(st.lists(changes() | inner, max_size=4), st.booleans())

    return st.recursive(st.tuples(st.lists(changes(), max_size=4), st.booleans()), around, max_leaves=6)


def run(undo: Undo, held: Held, block: Block) -> None:
    """Make the changes of a block; when it raises, everything must be as it was."""
    before = copy.deepcopy(vars(held))
    try:
        with undo:
            for step in block[0]:
                if callable(step):
                    step(undo, held)
                else:
                    run(undo, held, step)
            done = copy.deepcopy(vars(held))
            if block[1]:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert vars(held) == before
    else:
        assert vars(held) == done


@given(st.lists(blocks(), min_size=1, max_size=3))
def test_a_block_that_raises_is_undone_and_one_that_does_not_stands(several: list[Block]):
    undo, held = Undo(), Held()
    for block in several:
        run(undo, held, block)
    with pytest.raises(ZeroDivisionError), undo:
        raise ZeroDivisionError
