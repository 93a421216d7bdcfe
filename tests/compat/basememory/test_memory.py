"""A memory over any storages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.basememory import BaseMemory, DurableStorage, Evict, ListStorage, NoSuchStorage
from memwell.errors import Conflict, InvalidInput, Unsupported
from tests.compat.basememory.kinds import Bare, Readable, Sketch


class SketchOfItems:
    def __iter__(self) -> Any:
        pass


def test_sketches_make_a_memory() -> None:
    data, items = Sketch(), SketchOfItems()
    memory = BaseMemory(data=data, items=items)
    assert memory.data is data
    assert memory.items is items
    assert memory
    assert [step.skipped for step in memory.optimize().steps] == ["its __len__ returns no number"] * 2


def test_any_object_with_a_length_and_items_will_do() -> None:
    memory = BaseMemory(data=Readable(0, 10, 20))
    assert len(memory) == 3
    assert list(memory) == list(memory.items) == [0, 10, 20]
    assert (memory[1], memory.data[2]) == (10, 20)


def test_iteration_goes_through_the_items_given() -> None:
    assert list(BaseMemory(data=Readable(0, 10, 20), items=["a", "b"])) == ["a", "b"]
    assert list(BaseMemory(items=(n * n for n in range(3)))) == [0, 1, 4]


def test_storages_have_names() -> None:
    messages, logs = ["hi"], ["started"]
    memory = BaseMemory(messages=messages, logs=logs)
    assert memory["messages"] is memory.messages is memory.data is messages
    assert memory["logs"][0] == memory.logs[0] == "started"
    assert memory.names == ("messages", "logs")
    assert "'x'" not in repr(memory)
    with pytest.raises(NoSuchStorage, match="there is no storage 'x'; there are: messages, logs"):
        memory["x"]
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = memory.x


def test_it_has_a_storage_of_its_own_when_none_is_given(tmp_path: Path) -> None:
    memory = BaseMemory()
    memory.data.append("kept")
    assert type(memory.data) is ListStorage
    assert (memory["data"], list(memory), memory.names) == (memory.data, ["kept"], ("data",))
    stored = BaseMemory(store=tmp_path / "app.db")
    stored.data.append({"text": "留下"})
    assert type(stored.data) is DurableStorage
    assert list(BaseMemory(store=tmp_path / "app.db")) == [{"text": "留下"}]


def test_storages_are_added_at_run_time() -> None:
    memory = BaseMemory()
    memory.expand(new_data_type=[1, 2], more={"a": 1})
    assert memory["new_data_type"][1] == memory.new_data_type[1] == 2
    assert memory.names == ("data", "new_data_type", "more")


@pytest.mark.parametrize("name", ["taken", "data", "items", "store", "space", "optimize", "add_message", "_x", "names"])
def test_a_name_that_is_taken_or_reserved_changes_nothing(name: str) -> None:
    memory = BaseMemory(taken=[1])
    with pytest.raises(Conflict, match=f"'{name}'"):
        memory.expand(fresh=[2], **{name: [3]})
    assert memory.names == ("taken",)
    assert memory.taken == [1]


def test_what_is_no_storage_changes_nothing() -> None:
    memory = BaseMemory()
    with pytest.raises(InvalidInput, match="other must be a storage"):
        memory.expand(fresh=[2], other=5)
    assert memory.names == ("data",)
    for arguments in (
        {"items": 5},
        {"messages": None},
        *({"data": one} for one in (5, "text", b"bytes", {1}, iter([]))),
    ):
        with pytest.raises(InvalidInput):
            BaseMemory(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"write Sketch\(\)"):
        BaseMemory(data=Sketch)  # type: ignore[arg-type]


def test_messages_are_added_when_there_is_a_storage_for_them() -> None:
    memory = BaseMemory()
    with pytest.raises(Unsupported, match=r"expand\(messages=…\)"):
        memory.add_message("hi")
    memory.expand(messages=ListStorage())
    memory.add_message("hi")
    asyncio.run(memory.aadd_message("你好"))
    assert list(memory["messages"]) == ["hi", "你好"]
    with pytest.raises(Unsupported, match="give it add_message or append"):
        BaseMemory(messages=Sketch()).add_message("hi")


def test_a_storage_without_init_gets_what_its_length_asks_for() -> None:
    class Lazy(Bare):
        def __init__(self) -> None:
            pass

    state: Any = BaseMemory(messages=Bare(), state=Bare(), lazy=Lazy()).state
    assert state.rows == {}
    assert not hasattr(BaseMemory(lazy=Lazy()).lazy, "rows")


def test_only_what_is_named_is_optimized() -> None:
    memory = BaseMemory(a=list("xyz"), b=list("xyz"))
    report = memory.optimize(Evict(keep=1), only=["b"])
    assert (memory.a, memory.b) == (["x", "y", "z"], ["z"])
    assert [step.storage for step in report.steps] == ["b"]
