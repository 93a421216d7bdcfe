"""Storages: the contract, one implementation over every backend, serializers, and keys."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.storage import (
    BackendStorage,
    InMemoryStorage,
    JsonSerializer,
    QuerySpec,
    ResourceIdentifier,
    Serializable,
    StorageError,
    StorageItem,
    StorageItemAdapter,
    key_of,
)
from memwell.errors import InvalidInput
from memwell.storage import open_backend
from memwell.storage.registry import close_shared
from memwell.values import MAX_ID_LENGTH, check_id
from tests.compat.dbgpt.dict_storage import DictStorage, Reversed


class UserId(ResourceIdentifier):
    def __init__(self, user_id: Any) -> None:
        self.user_id = user_id

    @property
    def str_identifier(self) -> str:
        return self.user_id

    def to_dict(self) -> dict[str, Any]:
        return {"user_id": self.user_id}


class User(StorageItem):
    def __init__(self, user_id: Any, city: Any = None, age: Any = 0, tags: Any = ()) -> None:
        self.user_id = user_id
        self.city = city
        self.age = age
        self.tags = list(tags)

    @property
    def identifier(self) -> UserId:
        return UserId(self.user_id)

    @property
    def is_adult(self) -> bool:
        return self.age >= 18

    def merge(self, other: StorageItem) -> None:
        assert isinstance(other, User)
        self.city = other.city

    def to_dict(self) -> dict[str, Any]:
        return {"user_id": self.user_id, "city": self.city, "age": self.age, "tags": self.tags}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, User) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]


class Brief(User):
    """One that writes only what is not at its default."""

    def to_dict(self) -> dict[str, Any]:
        fields = {"city": self.city, "age": self.age, "tags": self.tags}
        return {"user_id": self.user_id} | {name: value for name, value in fields.items() if value}


class City(StrEnum):
    PARIS = "Paris"


def test_identifiers_are_equal_by_their_text() -> None:
    other = type("Other", (UserId,), {})
    assert UserId("a") == other("a") != UserId("b")
    assert len({UserId("a"), other("a"), UserId("b")}) == 2
    assert UserId("a") != "a"


@given(st.integers(0, 30), st.integers(1, 12), st.integers(1, 7))
def test_pages_hold_what_a_slice_would(total: int, page: int, size: int) -> None:
    storage = DictStorage()
    storage.save_list([User(f"t{at}", age=at) for at in range(total)])
    spec = QuerySpec({}, limit=3, offset=2)
    found = storage.paginate_query(page, size, User, spec)
    assert [one.age for one in found.items] == list(range(total))[(page - 1) * size : page * size]
    assert (found.total_count, found.total_pages, found.page, found.page_size) == (total, -(-total // size), page, size)
    assert (spec.limit, spec.offset) == (3, 2), "the question was changed"


Storage = BackendStorage[User]


@pytest.fixture(params=["memory", "file", "file-reversed"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    serializer = Reversed() if "reversed" in request.param else None
    if "file" not in request.param:
        yield InMemoryStorage(serializer)
        return
    with open_backend(tmp_path / "items.db") as backend:
        yield BackendStorage(backend, "users", serializer=serializer)


PEOPLE = [
    User("u1", "Paris", 30, ["a"]), User("u2", "巴黎", 17, []), User("u10", "Paris", 18, ["a", "b"]),
    User("u11", None, 0, []),
]  # fmt: skip


def named(found: list[User]) -> list[str]:
    return [one.user_id for one in found]


def test_what_is_saved_is_loaded(storage: Storage) -> None:
    storage.save(PEOPLE[0])
    loaded = storage.load(UserId("u1"), User)
    assert loaded == PEOPLE[0]
    assert loaded is not PEOPLE[0]
    assert loaded is not None
    loaded.tags.append("changed")
    assert storage.load(UserId("u1"), User) == PEOPLE[0], "a load is a copy"
    assert loaded.serialize() == storage.serializer.serialize(loaded)
    assert storage.load(UserId("nobody"), User) is None


def test_nothing_and_an_item_without_an_identifier_are_refused(storage: Storage) -> None:
    for write in (
        storage.save,
        storage.update,
        storage.save_or_update,
        lambda one: storage.save_list([User("u1"), one]),
    ):
        with pytest.raises(StorageError, match="Data cannot be None"):
            write(None)  # type: ignore[arg-type]
    for name in (None, "", 7, b"x"):
        with pytest.raises(StorageError, match="ResourceIdentifier"):
            storage.save(User(name))
        with pytest.raises(StorageError, match="ResourceIdentifier"):
            storage.delete(UserId(name))
        with pytest.raises(StorageError, match="ResourceIdentifier"):
            storage.load(UserId(name), User)
    with pytest.raises(StorageError, match="ResourceIdentifier"):
        storage.load("u1", User)  # type: ignore[arg-type]
    assert storage.count(QuerySpec({}), User) == 0


def test_lists_are_all_or_none(storage: Storage) -> None:
    storage.save(User("u2"))
    with pytest.raises(StorageError, match="already exists"):
        storage.save_list(PEOPLE)
    assert named(storage.query(QuerySpec({}), User)) == ["u2"]
    with pytest.raises(StorageError):
        storage.save_or_update_list([User("u3"), User("u2", "new"), User("u4", object())])
    assert storage.query(QuerySpec({}), User) == [User("u2")]
    with pytest.raises(StorageError):
        storage.delete_list([UserId("u2"), UserId("")])
    assert storage.count(QuerySpec({}), User) == 1
    with pytest.raises(StorageError, match="already exists"):
        storage.save_list([User("u5"), User("u5")])
    storage.save_list([])
    assert storage.count(QuerySpec({}), User) == 1


def test_lists_are_loaded_and_deleted(storage: Storage) -> None:
    storage.update(User("u1", "Rome"))
    storage.save_or_update(User("u1", "Oslo"))
    assert storage.query(QuerySpec({}), User) == [User("u1", "Oslo")], "an update stores what is not there yet"
    storage.save_or_update_list(PEOPLE)
    assert named(storage.load_list([UserId("u10"), UserId("x"), UserId("u1")], User)) == ["u10", "u1"]
    storage.delete(UserId("x"))
    storage.delete_list([UserId("u10"), UserId("x"), UserId("u1")])
    assert named(storage.query(QuerySpec({}), User)) == ["u2", "u11"]


CONDITIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["u1", "u2", "u10", "u11"]), ({"city": "Paris"}, ["u1", "u10"]), ({"city": "巴黎"}, ["u2"]),
    ({"city": None}, ["u11"]), ({"city": City.PARIS}, ["u1", "u10"]), ({"city": "Paris", "age": 30}, ["u1"]),
    ({"age": 30.0}, ["u1"]), ({"age": False}, ["u11"]), ({"tags": ["a", "b"]}, ["u10"]), ({"tags": []}, ["u2", "u11"]),
    ({"is_adult": True}, ["u1", "u10"]), ({"is_adult": True, "city": "Paris", "age": 18}, ["u10"]),
    ({"city": datetime(2024, 1, 1, tzinfo=UTC)}, []), ({"city": "\0"}, []), ({"city": "\ud800"}, []),
    ({"age": 2**80}, []), ({"age": float("nan")}, []), ({"city": {"x": 1}}, []),
]  # fmt: skip


def test_conditions_mean_equality(storage: Storage) -> None:
    storage.save_list(PEOPLE)
    for conditions, expected in CONDITIONS:
        assert named(storage.query(QuerySpec(conditions), User)) == expected, conditions
        assert storage.count(QuerySpec(conditions, limit=1, offset=1), User) == len(expected)
        for offset in range(3):
            assert named(storage.query(QuerySpec(conditions, 2, offset), User)) == expected[offset : offset + 2]
            assert named(storage.query(QuerySpec(conditions, None, offset), User)) == expected[offset:]
        assert storage.query(QuerySpec(conditions, limit=0), User) == []
        page = storage.paginate_query(2, 1, User, QuerySpec(conditions))
        assert (named(page.items), page.total_count) == (expected[1:2], len(expected))


VALUES = st.sampled_from([None, "", "a", "é", 0, 1, 2, True, False, 1.0, 1.5, "1", [], ["a"]])


@given(st.lists(st.tuples(VALUES, VALUES), max_size=8), VALUES, VALUES, st.booleans())
def test_a_pushed_condition_means_what_python_means(
    rows: list[tuple[Any, Any]], city: Any, age: Any, briefly: bool
) -> None:
    cls = Brief if briefly else User
    people = [cls(f"u{at}", *row) for at, row in enumerate(rows)]
    # What is written briefly comes back with the default where it was empty.
    seen = [cls(**one.to_dict()) for one in people]
    expected = [one.user_id for one in seen if one.city == city and one.age == age]
    for storage in (InMemoryStorage[User](), InMemoryStorage[User](Reversed())):
        storage.save_list(people)
        spec = QuerySpec({"city": city, "age": age})
        assert named(storage.query(spec, cls)) == expected
        assert storage.count(spec, cls) == len(expected)


def test_an_unknown_attribute_is_refused(storage: Storage) -> None:
    for conditions in ({"salary": 1}, {"city": "Paris", "_salary": 1}, {1: 1}, {"": 1}, {"@id": "u1"}):
        with pytest.raises(StorageError, match=r"User has no attribute .* it has age, city, tags, user_id"):
            storage.query(QuerySpec(conditions), User)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="User has no attribute"):
            storage.count(QuerySpec(conditions), User)  # type: ignore[arg-type]


def test_limits_that_are_no_counts_are_refused(storage: Storage) -> None:
    for limit, offset in ((-1, 0), (1.5, 0), (True, 0), ("1", 0), (1, -1), (1, None), (1, "0")):
        with pytest.raises(InvalidInput):
            storage.query(QuerySpec({}, limit, offset), User)  # type: ignore[arg-type]
    for page, size in ((0, 1), (-1, 1), (1, 0), (1.5, 1), (True, 1), (1, None), ("1", 1)):
        with pytest.raises(InvalidInput):
            storage.paginate_query(page, size, User)  # type: ignore[arg-type]


HOSTILE = [" ", "/", "../../x", "a\0b", "a\1b", "\ud800", "'; DROP TABLE entry;--", "@id", "$or", "%", "a\nb"]


def test_identifiers_may_hold_anything(storage: Storage) -> None:
    owner = User("owner")
    storage.save(owner)
    for name in [*HOSTILE, "é" * 5000, "9" * 3000]:
        stored = type("Named", (User,), {"identifier": property(lambda _, name=name: UserId(name))})("x", "Paris")
        storage.save(stored)
        assert storage.load(UserId(name), User) == User("x", "Paris")
        with pytest.raises(StorageError, match="already exists"):
            storage.save(stored)
        storage.delete(UserId(name))
        assert storage.query(QuerySpec({}), User) == [owner]


@pytest.mark.parametrize("value", [object(), {1: 2}, "x" * 17_000_000])
def test_data_that_cannot_be_stored_is_refused(value: Any) -> None:
    storage = InMemoryStorage[User]()
    storage.save(User("u1", "Paris"))
    with pytest.raises(StorageError, match="u1"):
        storage.update(User("u1", value))
    assert storage.load(UserId("u1"), User) == User("u1", "Paris")


def test_data_of_another_class_is_refused(storage: Storage) -> None:
    class Place(User):
        def __init__(self, place: str) -> None:
            super().__init__(place)

    storage.save(User("u1"))
    with pytest.raises(StorageError, match="Place"):
        storage.load(UserId("u1"), Place)
    with pytest.raises(StorageError, match="Place"):
        storage.query(QuerySpec({}), Place)


def test_a_class_that_takes_anything_is_asked_itself() -> None:
    class Loose(StorageItem):
        def __init__(self, user_id: str, **more: Any) -> None:
            self.user_id = user_id
            self.more = more
            vars(self).update(more)

        @property
        def identifier(self) -> UserId:
            return UserId(self.user_id)

        def merge(self, other: StorageItem) -> None:
            raise NotImplementedError

        def to_dict(self) -> dict[str, Any]:
            return {"user_id": self.user_id, **self.more}

    storage = InMemoryStorage[Loose]()
    storage.save_list([Loose("u1", mood="glad"), Loose("u2", mood="sad")])
    assert [one.user_id for one in storage.query(QuerySpec({"mood": "sad"}), Loose)] == ["u2"]
    with pytest.raises(StorageError, match="no attribute 'weight'"):
        storage.query(QuerySpec({"weight": 1}), Loose)


def test_a_file_is_there_after_a_restart_and_names_and_spaces_are_apart(tmp_path: Path) -> None:
    BackendStorage[User](tmp_path / "x.db").save_list(PEOPLE)
    close_shared()
    others: list[dict[str, Any]] = [{"name": "other"}, {"space": "elsewhere"}]
    for other in others:
        assert BackendStorage[User](tmp_path / "x.db", **other).count(QuerySpec({}), User) == 0
    with pytest.raises(InvalidInput):
        BackendStorage[User](tmp_path / "x.db", "")
    assert BackendStorage[User](str(tmp_path / "x.db")).query(QuerySpec({}), User) == PEOPLE


class DictAdapter(StorageItemAdapter[User, dict[str, Any]]):
    def to_storage_format(self, item: User) -> Any:
        return {"k": item.user_id, "c": str(item.city).upper()} if item.city != "odd" else 7

    def from_storage_format(self, data: dict[str, Any]) -> User:
        return User(data["k"], data["c"])

    def get_query_for_identifier(self, storage_format: Any, resource_id: ResourceIdentifier, **kwargs: Any) -> Any:
        return None


@pytest.mark.parametrize("serializer", [None, Reversed()])
def test_an_adapter_says_what_is_stored(serializer: Any) -> None:
    dicts = InMemoryStorage[User](serializer, DictAdapter())
    dicts.save(User("u2", "Paris"))
    assert dicts.load(UserId("u2"), User) == User("u2", "PARIS")
    assert dicts.query(QuerySpec({"city": "PARIS"}), User) == [User("u2", "PARIS")]
    assert dicts.count(QuerySpec({"city": "Paris"}), User) == 0
    with pytest.raises(StorageError, match="an adapter makes a dict"):
        dicts.save(User("u3", "odd"))
    with pytest.raises(InvalidInput, match="adapter"):
        dicts.history("u2")


class Note(StorageItem):
    """Another class, with a field of the same name and one that users do not have."""

    def __init__(self, city: str, text: str = "") -> None:
        self.city, self.text = city, text

    @property
    def identifier(self) -> UserId:
        return UserId(f"note {self.city}")

    def merge(self, other: StorageItem) -> None:
        assert isinstance(other, Note)
        self.text = other.text

    def to_dict(self) -> dict[str, Any]:
        return {"city": self.city, "text": self.text}


def test_items_of_several_classes_may_share_a_storage(storage: BackendStorage[Any]) -> None:
    storage.save_list([*PEOPLE, Note("Paris", "lovely"), Note("Oslo")])
    everything = QuerySpec({})
    assert named(storage.query(everything, User)) == ["u1", "u2", "u10", "u11"]
    assert [one.text for one in storage.query(everything, Note)] == ["", "lovely"]
    assert (storage.count(everything, User), storage.count(everything, Note)) == (4, 2)
    paris = QuerySpec({"city": "Paris"}, limit=1, offset=1)
    assert named(storage.query(paris, User)) == ["u10"]
    assert storage.query(paris, Note) == []
    assert named(storage.query(QuerySpec({"is_adult": True}), User)) == ["u1", "u10"]
    page = storage.paginate_query(2, 3, User)
    assert (page.total_count, named(page.items)) == (4, ["u11"])


def test_one_identifier_is_one_item_whatever_its_class(storage: BackendStorage[Any]) -> None:
    storage.save(User("note Oslo", "Rome"))
    with pytest.raises(StorageError, match="already exists"):
        storage.save(Note("Oslo"))
    storage.save_or_update(Note("Oslo", "new"))
    assert storage.query(QuerySpec({}), User) == []
    assert [one.text for one in storage.query(QuerySpec({}), Note)] == ["new"]


def test_items_whose_class_was_never_noted_are_found(storage: BackendStorage[Any]) -> None:
    storage.save(User("u1", "Paris", 3))
    space = storage.space / "dbgpt" / storage.name
    (entry,) = storage.backend.kv.scan(space).items
    assert isinstance(entry.value, dict)
    storage.backend.kv.put(space, entry.key, {name: one for name, one in entry.value.items() if name != "@class"})
    assert named(storage.query(QuerySpec({"age": 3}), User)) == ["u1"]


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


class Letter(Serializable):
    def __init__(self, title: str, body: Any = None) -> None:
        if title == "":
            raise InvalidInput("a note has a title")
        self.title = title
        self.body = body

    def to_dict(self) -> dict[str, Any]:
        return {"title": self.title, "body": self.body}


@given(st.text("a你😀"), PLAIN)
def test_what_is_written_comes_back(title: str, body: Any) -> None:
    note = Letter(f"t{title}", body)
    for one in (JsonSerializer(), Reversed()):
        read = one.deserialize(one.serialize(note), Letter)
        assert (read.title, read.body) == (note.title, body)
        assert read.serialize() == one.serialize(note)


def test_without_a_serializer_nothing_is_written() -> None:
    note = Letter("t")
    with pytest.raises(ValueError, match="Serializer is not set"):
        note.serialize()
    note.set_serializer(JsonSerializer())
    assert note.serialize() == b'{"title": "t", "body": null}'


def test_what_is_no_item_is_neither_read_nor_written() -> None:
    nothing = [b"", b"\xff\xfe", b"not", b"[1]", b'"x"', b"\xc1", b"[" * 5_000]
    misfits = [b'{"titel": "x"}', b"{}", b'{"title": ""}', b'{"title": "x", "more": 1}']
    for one in nothing + misfits:
        with pytest.raises(StorageError, match="Letter"):
            JsonSerializer().deserialize(one, Letter)
    assert JsonSerializer().serialize(Letter("你好", [1])) == '{"title": "你好", "body": [1]}'.encode()
    for body in (object(), {1, 2}, float("nan"), "\ud800", b"raw"):
        with pytest.raises(StorageError, match="cannot be written"):
            JsonSerializer().serialize(Letter("t", body))


ANY_TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=30)
DIGITS = st.text("0123456789\0\1acd中", min_size=1, max_size=12)


LONG = st.builds(lambda piece, times: piece * times, ANY_TEXT, st.integers(300, 2_000))


@given(st.lists(ANY_TEXT | DIGITS | LONG, unique=True, max_size=40))
def test_two_identifiers_never_have_one_key(identifiers: list[str]) -> None:
    # Long ones that differ at their end alone, too.
    several = {one + end for one in identifiers for end in ("", "x", "y")}
    keys = [key_of(one) for one in several]
    assert len(set(keys)) == len(several)
    assert [check_id(key, "a key") for key in keys] == keys
    assert all(len(key) <= MAX_ID_LENGTH for key in keys)


@given(st.lists(st.tuples(st.integers(0, 10**30), st.integers(0, 10**3)), unique=True, max_size=20))
def test_numbers_sort_by_their_value(numbers: list[tuple[int, int]]) -> None:
    names = {f"message___chat___{first}___{second}": (first, second) for first, second in numbers}
    assert [names[one] for one in sorted(names, key=key_of)] == sorted(numbers)


class TheirId:
    """A ResourceIdentifier of DB-GPT's own, by its shape."""

    def __init__(self, number: int) -> None:
        self.str_identifier = f"their:{number}"


class TheirUser:
    """A StorageItem of DB-GPT's own, by its shape."""

    _serializer = None

    def __init__(self, number: int, city: str) -> None:
        self.number, self.city, self.identifier = number, city, TheirId(number)

    def to_dict(self) -> dict[str, Any]:
        return {"number": self.number, "city": self.city}

    def set_serializer(self, serializer: Any) -> None:
        self._serializer = serializer


def test_items_of_dbgpts_own_classes_are_taken_by_their_shape(storage: Any) -> None:
    storage.save_list([TheirUser(number, "Rome" if number % 2 else "Oslo") for number in range(6)])
    storage.save_or_update(TheirUser(3, "Oslo"))
    assert storage.load(TheirId(3), TheirUser).city == "Oslo"
    spec = SimpleNamespace(conditions={"city": "Oslo"}, limit=3, offset=1)
    assert [one.number for one in storage.query(spec, TheirUser)] == [2, 3, 4]
    assert storage.count(spec, TheirUser) == 4
    storage.delete_list([TheirId(0), TheirId(3)])
    assert storage.paginate_query(1, 10, TheirUser).total_count == 4
    with pytest.raises(StorageError, match="already exists"):
        storage.save(TheirUser(1, "Rome"))
