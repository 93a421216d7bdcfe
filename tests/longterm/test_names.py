"""Names: after any changes, saved and read again at any time, they are what a dictionary would hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwell.longterm.names import Names, below, under

NAMES = st.one_of(st.sampled_from(["", "a", "b", "ab", "火车", "\ud800", "a\0b"]), st.text(max_size=3))
STEPS = st.lists(st.one_of(st.sets(NAMES, max_size=4), st.integers(0, 20), st.just("save")), max_size=20)


@given(STEPS)
def test_a_saved_table_that_is_changed_holds_what_a_dictionary_would(steps: list[set[str] | int | str]) -> None:
    names, held = Names(), dict[int, str]()
    for step in steps:
        if isinstance(step, set):
            fresh = [name for name in sorted(step) if not name or name not in held.values()]
            numbers = names.add_all(fresh)
            assert numbers == sorted(numbers)
            assert held.keys().isdisjoint(numbers)
            held.update(zip(numbers, fresh, strict=True))
        elif isinstance(step, int):
            if step in held:
                names.remove(step)
                del held[step]
        else:
            names = Names(below(under("table", names.arrays()), "table"))
        assert len(names) == len(held)
        assert all(number < names.limit and names[number] == name for number, name in held.items())
        assert all(names.get(name) == number for number, name in held.items() if name)
        assert not any(
            name in names for name in ("", "a", "b", "ab", "nobody") if not name or name not in held.values()
        )


def test_two_names_with_the_same_hash_are_told_apart() -> None:
    # Known to have the same CRC-32.
    names = Names()
    first, second = names.add("plumless"), names.add("buckeroo")
    saved = Names(names.arrays())
    assert (saved.get("plumless"), saved.get("buckeroo")) == (first, second)
    saved.remove(first)
    assert (saved.get("plumless"), saved.get("buckeroo")) == (None, second)
