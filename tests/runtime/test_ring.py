"""The ring: a bound that holds whatever happens, and values that move without pushing others out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.records import Space
from memwell.runtime.ring import Ring
from memwell.storage import Backend, open_backend

SPACE = Space("acme")


@pytest.fixture(params=["memory:", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    url = request.param if request.param == "memory:" else str(tmp_path / "ring.db")
    with open_backend(url) as backend:
        yield backend


def ring_of(store: Backend, slots: int = 4, gone: list[str] | None = None) -> Ring:
    dropped = None if gone is None else gone.append
    return Ring(store.kv, SPACE, "ring", slots, store.transaction, renews=True, dropped=dropped)


def test_a_full_ring_drops_what_came_first_and_says_so(store: Backend):
    gone: list[str] = []
    ring = ring_of(store, gone=gone)
    for name in "abcdef":
        ring.write({name: name.upper()})
    assert [ring.read(name) for name in "abcdef"] == [None, None, "C", "D", "E", "F"]
    assert gone == ["a", "b"]
    assert (ring.count(), ring.taken(), ring.latest(3), ring.latest(9)) == (4, 6, ["f", "e", "d"], [*"fedc"])


def test_a_value_written_again_keeps_its_place(store: Backend):
    ring = ring_of(store)
    for name in "abcd":
        ring.write({name: 1})
    for number in range(10):
        ring.write({"a": number})
    assert (ring.count(), ring.read("a"), ring.taken()) == (4, 9, 4)
    ring.write({"e": 1})
    assert ring.read("a") is None


def test_a_renewed_value_outlives_the_others_and_pushes_nothing_out(store: Backend):
    ring = ring_of(store)
    for name in "abcd":
        ring.write({name: 1})
    assert ring.renew("a") is True
    assert ring.renew("a") is False, "it is the newest already"
    assert ring.renew("d") is False, "so is the newer half"
    assert ring.renew("never") is False
    assert ring.count() == 4
    for name in "efg":
        ring.write({name: 1})
    assert ring.read("a") == 1
    assert ring.count() == 4


steps = st.lists(st.tuples(st.sampled_from("wwwrd"), st.sampled_from("abcdefghij")), max_size=50)


@given(steps, st.integers(1, 6), st.integers(1, 6))
def test_the_bound_holds_and_the_newest_stays(steps: list[tuple[str, str]], slots: int, later: int):
    with open_backend("memory:") as store:
        for size, part in ((slots, steps[:25]), (later, steps[25:])):
            ring = ring_of(store, size)
            for step, name in part:
                if step == "w":
                    ring.write({name: name})
                    assert ring.read(name) == name
                elif step == "r":
                    before = {one for one in "abcdefghij" if ring.read(one)}
                    ring.renew(name)
                    kept = {one for one in "abcdefghij" if ring.read(one)}
                    assert kept == before or size < slots
                else:
                    ring.drop(name)
                    assert ring.read(name) is None
            if part and part[-1][0] == "w":
                assert ring.count() <= size
        ring.clear()
        assert [entry.key for entry in store.kv.scan(SPACE).items] == []


def test_a_time_to_live_is_the_stores(store: Backend):
    ring = ring_of(store)
    ring.write({"a": 1}, ttl=100)
    entry = store.kv.get(SPACE, "ring.va")
    assert entry is not None
    assert entry.expires is not None
    with pytest.raises(InvalidInput):
        ring.write({"b": 1}, ttl=-1)
    assert ring.read("b") is None
    assert ring.taken() == 1, "what failed took no place"


@pytest.mark.parametrize("damage", ["ring.pa", "ring.s0", "ring.ring"])
@pytest.mark.parametrize("value", ["nonsense", [1], {"next": "x"}, -7, 10**9])
def test_damage_costs_an_entry_at_most(store: Backend, damage: str, value: object):
    ring = ring_of(store)
    for name in "abcd":
        ring.write({name: 1})
    store.kv.put(SPACE, damage, value)
    ring.renew("a")
    for name in "efghijkl":
        ring.write({name: 1})
        assert ring.read(name) == 1
        ring.renew(name)
    assert ring.count() <= 5
