"""Bytes are counted honestly."""

from __future__ import annotations

import sys

from memwell.compat.basememory.sizes import deep_size, in_bytes


def test_what_is_held_twice_counts_once() -> None:
    text = "x" * 1000
    apart = ["x" * 1000 for _ in range(10)]
    assert deep_size([text] * 10) == sys.getsizeof([None] * 10) + sys.getsizeof(text)
    assert deep_size(*apart) in (10 * sys.getsizeof(text), sys.getsizeof(text))


def test_everything_inside_counts_and_classes_do_not() -> None:
    class Thing:
        def __init__(self) -> None:
            self.held = {"a": [b"y" * 5000]}

    size = deep_size(Thing())
    assert 5000 < size < 7000


def test_a_ring_ends() -> None:
    ring: list[object] = []
    ring.append(ring)
    assert deep_size(ring) == sys.getsizeof(ring)


def test_bytes_are_written_for_people() -> None:
    assert [in_bytes(one) for one in (0, 999, 1500, -1500, 2_500_000, 3_000_000_000)] == [
        "0 B",
        "999 B",
        "1.5 KB",
        "-1.5 KB",
        "2.5 MB",
        "3.0 GB",
    ]
