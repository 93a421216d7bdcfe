from __future__ import annotations

import threading

import pytest

from memwell.cognition import Cognition
from memwell.errors import InvalidInput, NotFound


def test_what_a_user_taught_is_theirs_alone(mind: Cognition) -> None:
    mind.semantic.learn("鹭", "一次收购的代号", by="ann", user="ann")
    mind.semantic.learn("Lark", "a tool", by="conversation", user="")
    assert [one.user for one in mind.semantic.concepts()] == ["ann", ""]
    assert [one.user for one in mind.semantic.concepts(user="ann")] == ["ann"]
    assert [one.user for one in mind.semantic.concepts(user="")] == [""]
    assert mind.semantic.concepts(user="bob") == []
    assert mind.semantic.get("鹭", user="ann").definition == "一次收购的代号"


def test_the_latest_counts_and_evidence_is_on_it(mind: Cognition) -> None:
    mind.semantic.learn("mars", "a red planet", by="ann", user="ann")
    mind.semantic.learn("mars", "a chocolate bar", by="ann", user="ann")
    assert mind.semantic.contradict("Mars", "bob", user="ann").definition == "a chocolate bar"
    assert mind.semantic.get("mars", user="ann").belief.against == 1
    assert [one.definition for one in mind.semantic.recall("mars", user="ann")] == ["a chocolate bar"]
    assert [one.text.split("\n")[0] for one in mind.recall("mars red planet", user="ann")] == ["mars — a chocolate bar"]


def test_nothing_is_learnt_from_a_turn_that_is_gone(mind: Cognition) -> None:
    turn = mind.episodic.store("Tea is a drink", user="ann", turn=True)
    mind.memory.erase(turn)
    with pytest.raises(NotFound, match="gone"):
        mind.semantic.learn("tea", "a drink", by="ann", source=turn, user="ann")
    assert mind.memory.count() == 0


def test_threads_that_teach_at_once_leave_one_concept(mind: Cognition) -> None:
    def work(number: int) -> None:
        turn = mind.episodic.store("Tea is a drink", user="ann", turn=True)
        mind.semantic.learn("tea", "a drink of leaves", by="ann", source=turn, user="ann")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.name for one in mind.semantic.concepts()] == ["tea"]
    assert sum(one.kind == "concept" for one in mind.memory.memories()) == 2


def test_ids_tell_neither_user_nor_name(mind: Cognition) -> None:
    one = mind.semantic.learn("heron", "a merger", by="ann", user="ann")
    assert "ann" not in one.id
    assert "heron" not in one.id
    with pytest.raises(InvalidInput):
        mind.semantic.learn("heron", "a merger", by="ann", user=3)  # type: ignore[arg-type]
