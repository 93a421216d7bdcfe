"""State trees: nested round trips, strict and lenient all the way down, all or nothing; sessions by any id."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.runtime.state import SESSION_FORMAT, MissingState, NotPlain, Sessions, StateModule
from memwell.storage import open_backend

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
# A shape: the values of a module, and the shapes of those nested in it.
SHAPES = st.recursive(
    st.tuples(st.dictionaries(st.sampled_from("abc"), JSON), st.just({})),
    lambda inner: st.tuples(
        st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)
    ),
    max_leaves=5,
)


class Early(StateModule):
    """Assigns its parts before it calls super().__init__()."""

    def __init__(self, values: Mapping[str, Any], nested: Mapping[str, Any]):
        for name, shape in nested.items():
            setattr(self, name, Early(*shape))
        super().__init__()
        for name, value in values.items():
            setattr(self, name, copy.deepcopy(value))
            self.register_state(name)


def blank(shape: tuple[Any, Any]) -> tuple[Any, Any]:
    return dict.fromkeys(shape[0]), {name: blank(inner) for name, inner in shape[1].items()}


def expected(shape: tuple[Any, Any]) -> dict[str, Any]:
    return {**{name: expected(inner) for name, inner in shape[1].items()}, **shape[0]}


class Counter(StateModule):
    def __init__(self, count: int = 0):
        super().__init__()
        self.count = count
        self.register_state("count")


class Pair(StateModule):
    def __init__(self):
        super().__init__()
        self.left = Counter(1)
        self.right = Counter(2)
        self.note = "n"
        self.register_state("note")


@given(SHAPES)
def test_a_tree_comes_back_as_it_was(shape: tuple[Any, Any]):
    state = Early(*shape).state_dict()
    assert state == expected(shape)
    other = Early(*blank(shape))
    other.load_state_dict(json.loads(json.dumps(state)))
    assert other.state_dict() == state


@given(SHAPES, st.randoms(use_true_random=False))
def test_lenient_and_strict_reach_all_the_way_down(shape: tuple[Any, Any], lot: Any):
    state = Early(*shape).state_dict()
    inner, name = state, None
    while inner and (name := lot.choice(sorted(inner))) in "xyz" and inner[name]:
        inner = inner[name]
    if name is None or name not in inner:
        assert not state
        return
    del inner[name]
    other = Early(*blank(shape))
    before = other.state_dict()
    with pytest.raises(KeyError, match=f"has no '{name}'"):
        other.load_state_dict(state)
    assert other.state_dict() == before
    other.load_state_dict(state, strict=False)
    full = Early(*shape)
    full.load_state_dict(state, strict=False)
    assert full.state_dict() == expected(shape)


def test_a_state_shares_nothing_with_its_module():
    module: Any = StateModule()
    module.log = [{"said": "您好"}]
    module.register_state("log")
    state = module.state_dict()
    state["log"][0]["said"] = "changed"
    assert module.log == [{"said": "您好"}]
    module.load_state_dict(state)
    state["log"].clear()
    assert module.log == [{"said": "changed"}]


def test_a_part_that_fails_leaves_the_whole_tree_as_it_was():
    def refuses(value: object) -> object:
        raise ZeroDivisionError

    tree: Any = Pair()
    tree.last = 5
    tree.register_state("last", custom_from_json=refuses)
    before = tree.state_dict()
    with pytest.raises(ZeroDivisionError):
        tree.load_state_dict({"left": {"count": 10}, "right": {"count": 20}, "note": "m", "last": 6})
    assert tree.state_dict() == before


def test_a_module_with_its_own_load_that_fails_half_way_is_put_back():
    class Own(StateModule):
        def __init__(self):
            super().__init__()
            self.items: list[int] = [1]

        def state_dict(self) -> dict[str, Any]:
            return {"items": list(self.items)}

        def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
            if "items" not in state_dict and not strict:
                return
            self.items = []
            for item in state_dict["items"]:
                self.items.append(int(item))

    tree: Any = Pair()
    tree.own = Own()
    before = tree.state_dict()
    with pytest.raises(ValueError, match="invalid literal"):
        tree.load_state_dict({**before, "left": {"count": 9}, "own": {"items": [1, 2, "three"]}})
    assert tree.state_dict() == before
    tree.load_state_dict({**before, "own": {"items": [1, 2]}})
    tree.load_state_dict({"own": {}}, strict=False)
    assert tree.own.items == [1, 2]


def test_parts_come_and_go_with_their_attributes():
    tree: Any = Pair()
    del tree.left, tree.note
    assert tree.state_dict() == {"right": {"count": 2}}
    tree.right = None
    assert tree.state_dict() == {}
    tree.load_state_dict({"right": {"count": 3}, "unknown": 1})
    assert tree.right is None
    with pytest.raises(AttributeError):
        del tree.left


def test_register_state_refuses_what_cannot_be_kept():
    module = Pair()
    with pytest.raises(AttributeError):
        module.register_state("absent")
    module.handle = object()
    with pytest.raises(TypeError, match="'handle'"):
        module.register_state("handle")
    with pytest.raises(TypeError):
        module.register_state("left")
    with pytest.raises(ValueError, match="is a module"):
        module.register_state("left", custom_to_json=StateModule.state_dict)
    module.register_state("handle", custom_to_json=lambda value: value)
    with pytest.raises(NotPlain, match="'handle'"):
        module.state_dict()


@pytest.mark.parametrize("state", [None, [], "text", 3])
def test_a_state_that_is_no_mapping_is_refused(state: Any):
    tree: Any = Pair()
    with pytest.raises(InvalidInput, match="must be a mapping"):
        tree.load_state_dict(state)
    with pytest.raises(InvalidInput, match=r"Pair\.right must be a mapping"):
        tree.load_state_dict({"left": {"count": 7}, "right": state, "note": ""})
    assert tree.left.count == 1


def test_a_module_nested_in_itself_has_no_state():
    first, second = Pair(), Pair()
    first.other, second.other = second, first
    with pytest.raises(InvalidInput, match="nested in itself"):
        first.state_dict()
    with pytest.raises(InvalidInput, match="nested in itself"):
        first.load_state_dict({})
    shared = StateModule()
    shared.one = shared.two = Counter(5)
    assert shared.state_dict() == {"one": {"count": 5}, "two": {"count": 5}}


# Sessions

HOSTILE = [
    "../../etc/passwd", "/etc/passwd", "..\\..\\windows", "a/b", "a", "a_b", "A", "\u00e9", "e\u0301", " ", "会话",
    "con", "session/1.a", "%2e%2e", "x" * 1024, "x" * 1023 + "y", "1.a", "'; DROP TABLE kv; --",
]  # fmt: skip


def test_any_id_is_a_session_of_its_own_and_never_a_path(tmp_path: Path):
    with Sessions(tmp_path / "app.db") as sessions:
        for number, name in enumerate(HOSTILE):
            sessions.save(name, counter=Counter(number))
        found = [Counter() for _ in HOSTILE]
        assert all(sessions.load(name, counter=counter) for name, counter in zip(HOSTILE, found, strict=True))
        assert [counter.count for counter in found] == list(range(len(HOSTILE)))
        assert sessions.ids() == sorted(HOSTILE)
        assert sessions.delete("a")
        assert not sessions.delete("a")
        assert sessions.ids() == sorted(set(HOSTILE) - {"a"})
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} == {"app.db"}


@pytest.mark.parametrize("name", ["", "x" * 1025, "a\x00b", "\ud800", None, 3])
def test_what_is_no_id_is_refused(name: Any):
    sessions = Sessions("memory:")
    with pytest.raises(InvalidInput):
        sessions.save(name, counter=Counter())
    with pytest.raises(InvalidInput):
        sessions.load(name, counter=Counter())
    assert sessions.ids() == []


def test_sessions_survive_the_process_and_do_not_cross_spaces(tmp_path: Path):
    tree: Any = Pair()
    tree.left.count = 7
    with Sessions(tmp_path / "app.db", space="ann") as sessions:
        sessions.save("s", tree=tree, extra=Counter(1))
    with Sessions(tmp_path / "app.db", space="bob") as sessions:
        assert not sessions.load("s", tree=tree)
        assert sessions.ids() == []
    with Sessions(tmp_path / "app.db", space="ann") as sessions:
        other = Pair()
        assert sessions.load("s", tree=other)
        assert other.state_dict() == tree.state_dict()


def test_a_session_is_restored_whole_or_not_at_all():
    sessions = Sessions("memory:")
    sessions.save("s", one=Counter(1))
    one, two = Counter(), Counter()
    with pytest.raises(MissingState, match=r"session 's' has no 'two'"):
        sessions.load("s", one=one, two=two)
    assert (one.count, two.count) == (0, 0)
    assert sessions.load("s", strict=False, one=one, two=two)
    assert (one.count, two.count) == (1, 0)
    assert not sessions.load("other", one=one)


def test_any_name_is_fine_for_a_module():
    sessions = Sessions("memory:")
    names = ["state_dict", "__class__", "记忆", "a.b"]
    sessions.save("s", **{name: Counter(number) for number, name in enumerate(names)})
    found = {name: Counter(9) for name in names}
    assert sessions.load("s", strict=True, **found)
    assert [found[name].count for name in names] == [0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="'m' must be a StateModule"):
        sessions.save("s", m={"count": 1})  # type: ignore[arg-type]


def test_a_session_of_a_newer_memwell_says_which_one_is_needed():
    backend = open_backend("memory:")
    sessions = Sessions(backend)
    sessions.save("s", counter=Counter(1))
    [entry] = backend.kv.scan(sessions._space).items
    stored: Any = entry.value
    newer = {**stored, "format": SESSION_FORMAT + 1, "needs": "7.1.0", "modules": "something else"}
    backend.kv.put(sessions._space, entry.key, newer)
    counter = Counter(5)
    with pytest.raises(InvalidInput, match=r"needs memwell 7\.1\.0"):
        sessions.load("s", counter=counter)
    assert counter.count == 5
    with pytest.raises(InvalidInput, match=r"needs memwell 7\.1\.0"):
        sessions.save("s", counter=counter)
    [unchanged] = backend.kv.scan(sessions._space).items
    assert unchanged.value == newer
    assert sessions.delete("s")
    sessions.save("s", counter=counter)
    assert sessions.load("s", counter=Counter())
    backend.kv.put(sessions._space, entry.key, ["nonsense"])
    with pytest.raises(InvalidInput, match="no saved session"):
        sessions.load("s", counter=counter)
