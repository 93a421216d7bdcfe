"""mem0's calls over memwell: arguments, results, scopes, filters, history, and the same without blocking."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.mem0 import AsyncMemory, Memory
from memwell.errors import InvalidInput

ANN = {"user_id": "ann"}


@pytest.fixture
def memory(path: str) -> Memory:
    return Memory(url=path)


def texts(found: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in found["results"]]


def test_what_is_added_is_found(memory: Memory):
    added = memory.add("I am allergic to nuts.", user_id="ann", metadata={"topic": "food"})
    [one] = added["results"]
    assert one == {"id": one["id"], "memory": "I am allergic to nuts.", "event": "ADD"}
    memory.add("The train to Lisbon was late.", user_id="ann")
    [first, *_] = memory.search("what can Ann not eat?", filters=ANN)["results"]
    assert first["id"] == one["id"]
    assert 0.1 <= first["score"] <= 1
    assert first["user_id"] == "ann"
    assert first["metadata"] == {"topic": "food"}
    assert first["created_at"] == first["updated_at"]
    assert len(first["hash"]) == 32


def test_messages_and_raw_messages(memory: Memory):
    talk = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I live in Oslo.", "name": "Ann"},
        {"role": "assistant", "content": [{"type": "text", "text": "Oslo is cold in winter."}]},
        {"role": "user", "content": None},
    ]
    added = memory.add(talk, user_id="ann", infer=False)["results"]
    assert [(one["memory"], one["role"], one["actor_id"]) for one in added] == [
        ("I live in Oslo.", "user", "Ann"),
        ("Oslo is cold in winter.", "assistant", None),
    ]
    assert memory.get(added[0]["id"])["actor_id"] == "Ann"  # pyright: ignore[reportOptionalSubscript]
    assert memory.add("i live in oslo", user_id="ann") == {"results": []}
    assert len(memory.add("I live in Oslo.", user_id="ann", infer=False)["results"]) == 1


def test_users_are_apart_and_an_agent_spans_them(memory: Memory):
    memory.add("I play the cello.", user_id="ann", agent_id="helper", run_id="r1")
    memory.add("I play the flute.", user_id="ben", agent_id="helper")
    memory.add("I speak French.", agent_id="helper")
    memory.add("I speak Dutch.", agent_id="helper2")
    assert texts(memory.get_all(filters=ANN)) == ["I play the cello."]
    assert texts(memory.search("Who plays?", filters={"user_id": "ben"}, threshold=0)) == ["I play the flute."]
    assert len(texts(memory.get_all(filters={"agent_id": "helper"}))) == 3
    assert set(texts(memory.search("play music", filters={"agent_id": "helper"}, threshold=0))) >= {
        "I play the cello.",
        "I play the flute.",
    }
    assert texts(memory.get_all(filters={"run_id": "r1"})) == ["I play the cello."]
    assert texts(memory.get_all(filters={"user_id": "ann", "agent_id": "helper2"})) == []
    assert memory.at(user_id="ann").recall("cello")[0].text == "I play the cello."


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"n": 2}, "b"),
        ({"n": {"gt": 1, "lte": 3}}, "bc"),
        ({"n": {"gte": 2, "lt": 3}}, "b"),
        ({"n": {"ne": 2}}, "ac"),
        ({"n": {"eq": 2}}, "b"),
        ({"n": {"in": [1, 3]}}, "ac"),
        ({"n": {"nin": [1, 3]}}, "b"),
        ({"tag": {"contains": "x"}}, "ab"),
        ({"tag": "*"}, "ab"),
        ({"OR": [{"n": 1}, {"n": 3}]}, "ac"),
        ({"AND": [{"n": {"gt": 1}}, {"tag": "xy"}]}, "b"),
        ({"NOT": [{"n": 1}, {"n": 2}]}, "c"),
    ],
)
def test_filters(memory: Memory, filters: dict[str, Any], found: str):
    for name, about in (("a", {"n": 1, "tag": "x"}), ("b", {"n": 2, "tag": "xy"}), ("c", {"n": 3})):
        memory.add(f"This is the letter {name}", user_id="ann", metadata=about)
    assert "".join(sorted(text[-1] for text in texts(memory.get_all(filters={**ANN, **filters})))) == found


def test_update_delete_and_history(memory: Memory):
    id_ = memory.add("I live in Oslo.", user_id="ann", metadata={"a": 1})["results"][0]["id"]
    assert memory.update(id_, "I live in Bergen.", metadata={"b": 2, "user_id": "eve"}) == {
        "message": "Memory updated successfully!"
    }
    found = memory.get(id_)
    assert found is not None
    assert (found["memory"], found["metadata"], found["user_id"]) == ("I live in Bergen.", {"a": 1, "b": 2}, "ann")
    assert found["updated_at"] > found["created_at"]
    assert memory.delete(id_) == {"message": "Memory deleted successfully!"}
    assert memory.get(id_) is None
    rows = memory.history(id_)
    assert [(row["event"], row["old_memory"], row["new_memory"], row["is_deleted"]) for row in rows] == [
        ("ADD", None, "I live in Oslo.", False),
        ("UPDATE", "I live in Oslo.", "I live in Bergen.", False),
        ("DELETE", "I live in Bergen.", None, True),
    ]
    assert memory.history("unknown") == []
    for call in (memory.delete, lambda one: memory.update(one, "x")):
        with pytest.raises(ValueError, match="there is no memory"):
            call(id_)


def test_delete_all_and_reset(memory: Memory):
    memory.add("I play the cello.", user_id="ann", run_id="r1")
    memory.add("I play chess.", user_id="ann")
    memory.add("I play the flute.", user_id="ben", run_id="r1")
    memory.delete_all(user_id="ann", run_id="r1")
    assert texts(memory.get_all(filters=ANN)) == ["I play chess."]
    memory.delete_all(run_id="r1")
    assert texts(memory.get_all(filters={"user_id": "ben"})) == []
    memory.reset()
    assert texts(memory.get_all(filters=ANN)) == []
    assert list(memory._below()) == [] or all(memory.engine.at(one).count() == 0 for one in memory._below())


def test_expired_memories_are_hidden(memory: Memory):
    id_ = memory.add("The offer is open.", user_id="ann", expiration_date="2020-01-01")["results"][0]["id"]
    assert texts(memory.get_all(filters=ANN)) == []
    assert texts(memory.search("offer", filters=ANN, threshold=0)) == []
    assert memory.get_all(filters=ANN, show_expired=True)["results"][0]["expiration_date"] == "2020-01-01"
    memory.update(id_, expiration_date=None)
    assert texts(memory.get_all(filters=ANN)) == ["The offer is open."]
    with pytest.raises(ValueError, match="expiration_date"):
        memory.add("x", user_id="ann", expiration_date="soon")


def test_a_procedure_is_one_memory(memory: Memory):
    talk = [{"role": "user", "content": "Book it."}, {"role": "assistant", "content": "Opened the page."}]
    [one] = memory.add(talk, agent_id="helper", memory_type="procedural_memory")["results"]
    assert one["memory"] == "user: Book it.\nassistant: Opened the page."
    assert memory.get(one["id"])["metadata"] == {"memory_type": "procedural_memory"}  # pyright: ignore[reportOptionalSubscript]


def test_a_time_of_its_own(memory: Memory):
    memory.add("I moved.", user_id="ann", metadata={"created_at": "2024-05-01T10:00:00+02:00"})
    [one] = memory.get_all(filters=ANN)["results"]
    assert (one["created_at"], one["metadata"]) == ("2024-05-01T08:00:00+00:00", None)


def test_what_breaks_a_rule_is_a_value_error(memory: Memory):
    wrong: list[Any] = [
        lambda: memory.add("x"),
        lambda: memory.add("x", user_id=" "),
        lambda: memory.add("x", user_id="a b"),
        lambda: memory.add(3, user_id="ann"),  # pyright: ignore[reportArgumentType]
        lambda: memory.add("x", user_id="ann", timestamp=3),
        lambda: memory.add("x", user_id="ann", memory_type="other"),
        lambda: memory.search("x"),
        lambda: memory.search(" ", filters=ANN),
        lambda: memory.search("x", user_id="ann"),
        lambda: memory.search("x", filters=ANN, top_k=-1),
        lambda: memory.search("x", filters=ANN, threshold=2),
        lambda: memory.search("x", filters={**ANN, "a": {"near": 1}}),
        lambda: memory.get_all(filters={**ANN, "OR": []}),
        lambda: memory.get_all(filters={"topic": "food"}),
        lambda: memory.update("x"),
        lambda: memory.add(["I like pears"], user_id="ann"),  # pyright: ignore[reportArgumentType]
        lambda: memory.add([{"content": "I like gin"}], user_id="ann"),
        lambda: memory.add("x", user_id="ann", metadata="x"),  # pyright: ignore[reportArgumentType]
        lambda: memory.update("x", metadata="x"),  # pyright: ignore[reportArgumentType]
        lambda: memory.search("x", filters="ann"),  # pyright: ignore[reportArgumentType]
        lambda: memory.get_all(filters="ann"),  # pyright: ignore[reportArgumentType]
        lambda: memory.search("x", filters=ANN, limit=3),
        memory.delete_all,
    ]
    for call in wrong:
        with pytest.raises(InvalidInput):
            call()
    assert issubclass(InvalidInput, ValueError)
    assert memory.search("x", filters=ANN, top_k=0) == {"results": []}


def test_an_explained_search_has_the_shares_of_its_signals(memory: Memory):
    memory.add("I am allergic to nuts.", user_id=7)
    [one] = memory.search("nuts", filters={"user_id": 7}, explain=True, threshold=0)["results"]
    assert one["score_details"]
    assert one["user_id"] == "7"


async def test_the_async_one_does_the_same(path: str):
    async with AsyncMemory.from_config({"llm": {"provider": "x"}, "memwell": {"url": path}}) as memory:
        added = await memory.add("I am allergic to nuts.", user_id="ann")
        id_ = added["results"][0]["id"]
        await memory.update(id_, text="I am allergic to sesame.")
        assert texts(await memory.search("allergic", filters=ANN)) == ["I am allergic to sesame."]
        assert texts(await memory.get_all(filters=ANN)) == ["I am allergic to sesame."]
        assert (await memory.get(id_))["id"] == id_  # pyright: ignore[reportOptionalSubscript]
        await memory.delete(id_)
        assert [row["event"] for row in await memory.history(id_)] == ["ADD", "UPDATE", "DELETE"]
        await memory.delete_all(user_id="ann")
        await memory.reset()
        with pytest.raises(NotImplementedError):
            await memory.chat("hello")


def test_both_have_the_same_calls():
    calls = {name for name, one in vars(Memory).items() if inspect.isfunction(one) and not name.startswith("_")}
    assert calls - {"at"} <= set(vars(AsyncMemory))


@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
def test_a_path_in_place_of_a_configuration_is_refused(kind: type, tmp_path: Path):
    with pytest.raises(InvalidInput, match="url="):
        kind(str(tmp_path / "m0.db"))
