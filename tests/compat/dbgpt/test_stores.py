"""One storage over every backend: what it promises, and what it refuses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.serialization import MsgpackSerializer, Serializable
from memwell.compat.dbgpt.storage import QuerySpec, ResourceIdentifier, StorageError, StorageItem, StorageItemAdapter
from memwell.compat.dbgpt.stores import BackendStorage, InMemoryStorage
from memwell.errors import InvalidInput
from memwell.storage import open_backend
from memwell.storage.sharing import close_shared


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


Storage = BackendStorage[User]


@pytest.fixture(params=["memory", "file", "msgpack", "file-msgpack"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    serializer = MsgpackSerializer() if "msgpack" in request.param else None
    if "file" not in request.param:
        yield InMemoryStorage(serializer)
        return
    with open_backend(tmp_path / "items.db") as backend:
        yield BackendStorage(backend, "users", serializer=serializer)


PEOPLE = [
    User("u1", "Paris", 30, ["a"]),
    User("u2", "巴黎", 17, []),
    User("u10", "Paris", 18, ["a", "b"]),
    User("u11", None, 0, []),
]


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


def test_saving_twice_is_refused(storage: Storage) -> None:
    storage.save(User("u1", "Paris"))
    with pytest.raises(StorageError, match="Data with identifier u1 already exists"):
        storage.save(User("u1", "Rome"))
    assert storage.query(QuerySpec({}), User) == [User("u1", "Paris")]


def test_an_update_stores_what_is_not_there_yet(storage: Storage) -> None:
    storage.update(User("u1", "Paris"))
    storage.save_or_update(User("u1", "Rome"))
    storage.save_or_update(User("u2"))
    assert storage.query(QuerySpec({}), User) == [User("u1", "Rome"), User("u2")]


def test_nothing_and_what_is_no_item_is_refused(storage: Storage) -> None:
    for write in (storage.save, storage.update, storage.save_or_update):
        with pytest.raises(StorageError, match="Data cannot be None"):
            write(None)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="StorageItems"):
            write("text")  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="Data cannot be None"):
        storage.save_list([User("u1"), None])  # type: ignore[list-item]
    assert storage.count(QuerySpec({}), User) == 0


def test_an_item_without_an_identifier_is_refused(storage: Storage) -> None:
    for name in (None, "", 7, b"x"):
        with pytest.raises(StorageError, match="ResourceIdentifier"):
            storage.save(User(name))
        with pytest.raises(StorageError, match="ResourceIdentifier"):
            storage.delete(UserId(name))
        with pytest.raises(StorageError, match="ResourceIdentifier"):
            storage.load(UserId(name), User)
    with pytest.raises(StorageError, match="ResourceIdentifier"):
        storage.load("u1", User)  # type: ignore[arg-type]


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
    storage.save_list(PEOPLE)
    assert named(storage.load_list([UserId("u10"), UserId("x"), UserId("u1")], User)) == ["u10", "u1"]
    storage.delete(UserId("x"))
    storage.delete_list([UserId("u10"), UserId("x"), UserId("u1")])
    assert named(storage.query(QuerySpec({}), User)) == ["u2", "u11"]


def test_items_come_in_the_order_of_their_identifiers(storage: Storage) -> None:
    storage.save_list(PEOPLE[::-1])
    assert named(storage.query(QuerySpec({}), User)) == ["u1", "u2", "u10", "u11"]


CONDITIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["u1", "u2", "u10", "u11"]),
    ({"city": "Paris"}, ["u1", "u10"]),
    ({"city": "巴黎"}, ["u2"]),
    ({"city": None}, ["u11"]),
    ({"city": City.PARIS}, ["u1", "u10"]),
    ({"city": "Paris", "age": 30}, ["u1"]),
    ({"age": 30.0}, ["u1"]),
    ({"age": False}, ["u11"]),
    ({"tags": ["a", "b"]}, ["u10"]),
    ({"tags": []}, ["u2", "u11"]),
    ({"is_adult": True}, ["u1", "u10"]),
    ({"is_adult": True, "city": "Paris", "age": 18}, ["u10"]),
    ({"city": datetime(2024, 1, 1, tzinfo=UTC)}, []),
    ({"city": "\0"}, []),
    ({"city": "\ud800"}, []),
    ({"age": 2**80}, []),
    ({"age": float("nan")}, []),
    ({"city": {"x": 1}}, []),
]


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


def test_what_an_item_leaves_out_is_at_its_default(storage: Storage) -> None:
    storage.save_list([Brief("u1"), Brief("u2", "Paris"), Brief("u3", age=3)])
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"city": None}, ["u1", "u3"]),
        ({"age": 0}, ["u1", "u2"]),
        ({"age": False, "city": "Paris"}, ["u2"]),
        ({"age": 3}, ["u3"]),
        ({"city": ""}, []),
    ]
    for conditions, expected in cases:
        assert named(storage.query(QuerySpec(conditions), Brief)) == expected, conditions
        assert storage.count(QuerySpec(conditions), Brief) == len(expected)


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
    for storage in (InMemoryStorage[User](), InMemoryStorage[User](MsgpackSerializer())):
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


def test_conditions_that_are_no_dict_are_refused(storage: Storage) -> None:
    for conditions in (None, ["city"], "city"):
        with pytest.raises(StorageError, match="conditions must be a dict"):
            storage.query(QuerySpec(conditions), User)  # type: ignore[arg-type]


def test_limits_that_are_no_counts_are_refused(storage: Storage) -> None:
    for limit, offset in ((-1, 0), (1.5, 0), (True, 0), ("1", 0), (1, -1), (1, None), (1, "0")):
        with pytest.raises(InvalidInput):
            storage.query(QuerySpec({}, limit, offset), User)  # type: ignore[arg-type]


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


def test_storages_of_one_store_are_kept_apart(tmp_path: Path) -> None:
    with open_backend(tmp_path / "x.db") as backend:
        one, other = BackendStorage[User](backend, "a"), BackendStorage[User](backend, "b")
        third = BackendStorage[User](backend, "a", space="elsewhere")
        one.save(User("u1"))
        assert [storage.count(QuerySpec({}), User) for storage in (one, other, third)] == [1, 0, 0]
        assert repr(one) == "BackendStorage('a', space=Space('default'))"
    assert InMemoryStorage[User]().count(QuerySpec({}), User) == 0
    with pytest.raises(InvalidInput):
        BackendStorage[User](open_backend("memory:"), "")


def test_a_file_is_there_after_a_restart(tmp_path: Path) -> None:
    BackendStorage[User](tmp_path / "x.db").save_list(PEOPLE)
    close_shared()
    assert BackendStorage[User](str(tmp_path / "x.db")).query(QuerySpec({}), User) == PEOPLE
    close_shared()


def test_the_async_twins_do_the_same(storage: Storage) -> None:
    async def use() -> list[User]:
        await storage.asave_list(PEOPLE)
        await asyncio.gather(*(storage.asave(User(f"v{at}")) for at in range(8)))
        return await storage.aquery(QuerySpec({"city": "Paris"}), User)

    assert named(asyncio.run(use())) == ["u1", "u10"]
    assert storage.count(QuerySpec({}), User) == 12


def test_of_many_who_save_one_identifier_one_succeeds(storage: Storage) -> None:
    outcomes: list[bool] = []

    def save(city: int) -> None:
        try:
            storage.save(User("u1", city))
        except StorageError:
            outcomes.append(False)
        else:
            outcomes.append(True)

    threads = [threading.Thread(target=save, args=(at,)) for at in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(outcomes) == [False] * 7 + [True]


class Row(Serializable):
    def __init__(self, key: str, city: str) -> None:
        self.key = key
        self.city = city

    def to_dict(self) -> dict[str, Any]:
        return {"key": self.key, "city": self.city}


class RowAdapter(StorageItemAdapter[User, Row]):
    def to_storage_format(self, item: User) -> Row:
        return Row(item.user_id, str(item.city).upper())

    def from_storage_format(self, data: Row) -> User:
        assert isinstance(data, Row)
        return User(data.key, data.city)

    def get_query_for_identifier(
        self, storage_format: type[Row], resource_id: ResourceIdentifier, **kwargs: Any
    ) -> Any:
        return None


class DictAdapter(StorageItemAdapter[User, dict[str, Any]]):
    def to_storage_format(self, item: User) -> Any:
        return {"k": item.user_id} if item.city != "odd" else 7

    def from_storage_format(self, data: dict[str, Any]) -> User:
        return User(data["k"])

    def get_query_for_identifier(self, storage_format: Any, resource_id: ResourceIdentifier, **kwargs: Any) -> Any:
        return None


@pytest.mark.parametrize("serializer", [None, MsgpackSerializer()])
def test_an_adapter_says_what_is_stored(serializer: Any) -> None:
    rows = InMemoryStorage[User](serializer, RowAdapter())
    rows.save(User("u1", "Paris"))
    assert rows.load(UserId("u1"), User) == User("u1", "PARIS")
    assert named(rows.query(QuerySpec({"city": "PARIS"}), User)) == ["u1"]
    assert rows.count(QuerySpec({"city": "Paris"}), User) == 0
    dicts = InMemoryStorage[User](serializer, DictAdapter())
    dicts.save(User("u2", "Paris"))
    assert dicts.query(QuerySpec({}), User) == [User("u2")]
    with pytest.raises(StorageError, match="an adapter makes a dict"):
        dicts.save(User("u3", "odd"))
    with pytest.raises(InvalidInput, match="adapter"):
        dicts.history("u2")


def test_an_item_may_have_an_attribute_of_any_name() -> None:
    class Table(User):
        def __init__(self, user_id: str, kept_as: int, rows: int) -> None:
            super().__init__(user_id)
            self.kept_as = kept_as  # type: ignore[misc]
            self.rows = rows

        def to_dict(self) -> dict[str, Any]:
            return {"user_id": self.user_id, "kept_as": self.kept_as, "rows": self.rows}

    storage = InMemoryStorage[User]()
    storage.save(Table("t1", 1, 2))
    assert storage.count(QuerySpec({"kept_as": 1, "rows": 2}), Table) == 1
    assert storage.load(UserId("t1"), Table) == Table("t1", 1, 2)


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


def test_items_of_one_class_count_as_those_it_comes_from(storage: BackendStorage[Any]) -> None:
    storage.save_list([Note("Oslo"), User("u1", "Paris"), Brief("u2", "Paris")])
    assert named(storage.query(QuerySpec({}), User)) == ["u1", "u2"]
    assert named(storage.query(QuerySpec({}), Brief)) == ["u1", "u2"]


def test_one_identifier_is_one_item_whatever_its_class(storage: BackendStorage[Any]) -> None:
    storage.save(User("note Oslo", "Rome"))
    with pytest.raises(StorageError, match="already exists"):
        storage.save(Note("Oslo"))
    storage.save_or_update(Note("Oslo", "new"))
    assert storage.query(QuerySpec({}), User) == []
    assert [one.text for one in storage.query(QuerySpec({}), Note)] == ["new"]


def test_a_class_is_known_also_when_its_first_item_was_rolled_back(storage: BackendStorage[Any]) -> None:
    with pytest.raises(StorageError), storage.backend.transaction():
        storage.save_list([Note("Oslo"), Note("Oslo")])
    with suppress(KeyError), storage.backend.transaction():
        storage.save(Note("Oslo"))
        storage.save(Note("Rome"))
        raise KeyError
    storage.save(Note("Oslo"))
    storage.save(User("u1", "Paris"))
    assert named(storage.query(QuerySpec({}), User)) == ["u1"]


def test_items_whose_class_was_never_noted_are_found(storage: BackendStorage[Any]) -> None:
    storage.save(User("u1", "Paris", 3))
    space = storage.space / "dbgpt" / storage._place.name
    (entry,) = storage.backend.kv.scan(space).items
    assert isinstance(entry.value, dict)
    storage.backend.kv.put(space, entry.key, {name: one for name, one in entry.value.items() if name != "@class"})
    assert named(storage.query(QuerySpec({"age": 3}), User)) == ["u1"]


@pytest.mark.parametrize("cls", [None, "User"])
def test_what_is_no_class_is_refused(storage: BackendStorage[Any], cls: Any) -> None:
    with pytest.raises(StorageError, match="of which class"):
        storage.load(UserId("u1"), cls)
    with pytest.raises(StorageError, match="of which class"):
        storage.query(QuerySpec({}), cls)
    with pytest.raises(StorageError, match="of which class"):
        storage.count(QuerySpec({}), cls)
