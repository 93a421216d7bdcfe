"""Names as keys: short, in order, and no two alike."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memwell.messages import human
from memwell.records import Space, Thread
from memwell.storage.postgres.names import lock_key, long_name, name_key, space_key
from tests.engines.postgres import open_store

CHARACTERS = st.sampled_from("a!#~é好龍\U0001f600\U0010ffff")
NAMES = st.builds(lambda start, end: (start * 1024)[:1010] + end, CHARACTERS, st.text(CHARACTERS, max_size=14))
ANY = st.one_of(NAMES, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))


@given(ANY, ANY)
def test_keys_are_short_and_tell_names_apart(one: str, other: str):
    assert (name_key(one) == name_key(other)) is (one == other)
    assert len(name_key(one).encode()) <= 2_100
    assert long_name(one, name_key(one)) in (None, one)


@given(ANY, ANY)
def test_keys_are_in_the_order_of_the_names_up_to_their_cut(one: str, other: str):
    if one.encode()[:1_990] != other.encode()[:1_990]:
        assert (name_key(one) < name_key(other)) is (one < other)


def test_locks_are_numbers_of_64_bits_that_differ():
    numbers = {lock_key("domain", schema, str(n)) for schema in "ab" for n in range(100)}
    assert len(numbers) == 200
    assert all(-(2**63) <= number < 2**63 for number in numbers)


def test_the_longest_names_are_kept_found_and_listed(tmp_path: Path):
    spaces = [Space(*["好" * 1024] * 16), Space(*["好" * 1024] * 15, "x"), Space("x")]
    ids = ["\U0001f600" * 1024, "\U0001f600" * 1023, "x" * 1024, "y"]
    with open_store(tmp_path) as backend:
        for space in spaces:
            for id_ in ids:
                [stored] = backend.log.append(Thread(space, id_), [human("hello", id=id_)])
                assert stored.id == id_
                backend.log.edit(Thread(space, id_), {0: None})
                assert backend.log.places(Thread(space, id_))[0].id == id_
                backend.kv.put(space, id_, id_)
            assert {info.thread.id for info in backend.log.threads(space).items} == set(ids)
            assert {entry.key for entry in backend.kv.scan(space).items} == set(ids)
            assert [entry.key for entry in backend.kv.scan(space, where={"@id": ids[0]}).items] == [ids[0]]
        assert set(backend.spaces().items) == set(spaces)
        assert len({space_key(space) for space in spaces}) == 3
        assert backend.check() == []
