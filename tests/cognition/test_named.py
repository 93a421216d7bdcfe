from __future__ import annotations

import pytest

from memwell.cognition.named import Draft, NamedMemories, check_name, check_texts, key_of
from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled


def stored(text: str, **kept: object) -> Draft:
    return Draft(text, kept, "stored")


def test_a_name_is_the_same_however_it_is_written(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)
    assert named.id_of("Deep  Learning") == named.id_of("ｄｅｅｐ learning")
    assert named.id_of("深度学习") != named.id_of("机器学习")
    assert "learning" not in named.id_of("deep learning")
    assert key_of("ＲＡＧ ") == "rag"


def test_it_is_a_memory_like_any_other(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)
    made = named.change("RAG", lambda old: stored("RAG — retrieval first", n=1))
    assert [hit.text for hit in memory.recall("retrieval", limit=1)] == ["RAG — retrieval first"]
    named.change("rag", lambda old: stored("RAG — retrieval first", n=2))
    assert [version.record.metadata["concept"] for version in memory.history(made.id)] == [{"n": 1}]
    assert memory.undo(made.id).metadata["concept"] == {"n": 1}
    assert [one.metadata["concept"] for one in named.all()] == [{"n": 1}]


def test_what_was_forgotten_comes_back_when_it_is_stored_again(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)
    made = named.change("x", lambda old: stored("x — one", n=1))
    memory.forget(made.id)
    assert named.find("x") is None
    seen: list[Recalled | None] = []

    def again(old: Recalled | None) -> Draft:
        seen.append(old)
        return stored("x — two", n=2)

    assert named.change("x", again).text == "x — two"
    assert seen == [None]
    found = named.find("x")
    assert found is not None
    assert found.metadata == {"concept": {"n": 2}}


def test_a_change_that_fails_changes_nothing(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)

    def fails(old: Recalled | None) -> Draft:
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        named.change("x", fails)
    with pytest.raises(InvalidInput, match="empty"):
        named.change("x", lambda old: stored("…"))
    assert list(named.all()) == []
    assert memory.count() == 0


def test_memories_of_the_same_kind_that_others_stored_are_passed_over(memory: Memory) -> None:
    memory.remember("a concept of mine", kind="concept")
    assert list(NamedMemories(memory, "concept", dict).all()) == []


def test_metadata_that_a_user_has_added_stays(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)
    made = named.change("x", lambda old: stored("x — one"))
    memory.update(made.id, metadata={**made.metadata, "mine": 1})
    assert named.change("x", lambda old: stored("x — two")).metadata == {"concept": {}, "mine": 1}


def test_names_and_texts_are_checked() -> None:
    assert check_name("  deep \n learning ", "a name") == "deep learning"
    assert check_texts("one", "steps") == ("one",)
    assert check_texts(["a ", " ", "b"], "steps") == ("a", "b")
    assert "hunter2xyz" not in check_texts(["password: hunter2xyz!"], "steps")[0]
    for value in (None, 3, b"x", {"a": 1}, ["a", 1]):
        with pytest.raises(InvalidInput):
            check_texts(value, "steps")
    for value in ("", " ", None, "x" * 2000):
        with pytest.raises(InvalidInput):
            check_name(value, "a name")
