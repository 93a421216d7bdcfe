"""Conversations over REST: the same as those of the library, of one space, and bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import AccessDenied, Conflict, InvalidInput, NotFound
from memwell.messages import Image, Message, Role, Text, ToolCall, ai, encode_message, human
from memwell.records import Thread
from memwell.runtime.wire.running import Key
from memwell.service.parts import Service
from tests.service.rest.asking import ask, key_of, service_at

TRIP = {"thread": "trip"}


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


@pytest.fixture
def ann(service: Service) -> Key:
    return key_of(service, "acme", "ann")


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user" if place % 2 == 0 else "assistant", "content": text} for place, text in enumerate(texts)]


def fill(service: Service, key: Key, *texts: str, thread: str = "trip") -> list[Message]:
    return ask(service, key, "add_messages", {"thread": thread}, messages=said(*texts)).messages


def test_messages_come_back_in_pages_either_way_round(service: Service, ann: Key):
    stored = fill(service, ann, "one", "two", "three", "four", "five")
    assert [one.index for one in stored] == [0, 1, 2, 3, 4]
    first = ask(service, ann, "messages", TRIP, limit=2)
    rest = ask(service, ann, "messages", TRIP, limit=4, cursor=first.next)
    assert [one.text for one in (*first.items, *rest.items)] == ["one", "two", "three", "four", "five"]
    assert rest.next is None
    newest = ask(service, ann, "messages", TRIP, limit=2, newest_first=True)
    assert [one.text for one in newest.items] == ["five", "four"]


def test_both_shapes_of_messages_are_taken_and_may_be_mixed(service: Service, ann: Key):
    own = ai((Text("a picture"), Image(data=b"\x89PNG", media_type="image/png"), ToolCall("1", "look", {"at": 3})))
    given_own = memwell_shape(own)
    mixed = [{"role": "user", "content": [{"type": "text", "text": "见 here"}]}, given_own]
    added = ask(service, ann, "add_messages", TRIP, messages=mixed)
    assert [one.role for one in added.messages] == [Role.HUMAN, Role.AI]
    read = ask(service, ann, "message", {**TRIP, "message": own.id})
    assert (read.parts, read.time, read.id) == (own.parts, own.time, own.id)
    assert added.remembered is None


def memwell_shape(message: Message) -> dict[str, Any]:
    return json.loads(encode_message(message))


def test_a_time_of_another_zone_is_kept_in_utc(service: Service, ann: Key):
    given_time = {"role": "human", "parts": [{"type": "text", "text": "hi"}], "time": "2026-03-01T10:00:00+01:00"}
    stored = ask(service, ann, "add_messages", TRIP, messages=[given_time]).messages[0]
    assert stored.time.isoformat() == "2026-03-01T09:00:00+00:00"


@pytest.mark.parametrize(
    "bad",
    [
        {"role": "nobody", "content": "x"},
        {"role": "human", "parts": "x"},
        {"role": "human", "parts": [], "colour": "red"},
        {"role": "human", "parts": [{"type": "text", "text": "\0"}]},
        {"role": "human", "parts": [{"type": "text", "text": "x"}], "id": ""},
        {"role": "human", "parts": [{"type": "text", "text": "x"}], "id": "x" * 2000},
        {"role": "user", "content": 3},
        {},
    ],
)
def test_a_bad_message_stores_nothing_of_its_batch(service: Service, ann: Key, bad: dict[str, Any]):
    with pytest.raises(InvalidInput):
        ask(service, ann, "add_messages", TRIP, messages=[*said("good"), bad])
    with pytest.raises(NotFound):
        ask(service, ann, "thread", TRIP)


def test_an_id_that_is_there_already_is_a_conflict(service: Service, ann: Key):
    twice = {"role": "human", "parts": [], "id": "same"}
    with pytest.raises(Conflict):
        ask(service, ann, "add_messages", TRIP, messages=[twice, twice])


def test_what_is_added_is_remembered_when_it_is_asked_for(service: Service, ann: Key):
    messages = [{"role": "system", "content": "Be brief."}, *said("Ann is allergic to nuts."), said("", "")[1]]
    added = ask(service, ann, "add_messages", TRIP, messages=messages, remember=True)
    assert len(added.messages) == 3
    assert added.remembered.ids == [added.messages[1].id]
    [hit] = ask(service, ann, "recall", query="what is Ann allergic to?").hits
    assert (hit.text, hit.session) == ("Ann is allergic to nuts.", "trip")
    assert ask(service, ann, "remember_thread", TRIP).count == 1
    assert ask(service, ann, "count").count == 1


def test_a_message_is_edited_removed_and_restored_and_the_log_says_so(service: Service, ann: Key):
    fill(service, ann, "before", "answer")
    place = {**TRIP, "index": "0"}
    assert ask(service, ann, "edit_message", place, content="after").text == "after"
    changed = ask(service, ann, "edit_message", place, message={"role": "user", "content": "whole"})
    assert (changed.text, changed.index) == ("whole", 0)
    assert ask(service, ann, "remove_message", place).done == 1
    with pytest.raises(NotFound):
        ask(service, ann, "message_at", place)
    assert ask(service, ann, "restore_message", place).text == "whole"
    assert ask(service, ann, "message_at", place).text == "whole"
    held = [None if one.message is None else one.message.text for one in versions_of(service, ann, place)]
    assert held == ["before", "after", "whole", None]
    entries = service.log.entries().items
    assert [one.action for one in entries] == ["restore_message", "remove_message", "edit_message", "edit_message"]
    assert all(one.targets == ("trip",) and one.detail == {"place": 0} for one in entries)


def versions_of(service: Service, key: Key, place: dict[str, str]) -> list[Any]:
    return ask(service, key, "message_versions", place).versions


@pytest.mark.parametrize("body", [{}, {"content": "a", "message": {"role": "user", "content": "b"}}])
def test_an_edit_takes_exactly_one_change(service: Service, ann: Key, body: dict[str, Any]):
    fill(service, ann, "before")
    with pytest.raises(InvalidInput, match="either"):
        ask(service, ann, "edit_message", {**TRIP, "index": "0"}, **body)
    assert ask(service, ann, "message_at", {**TRIP, "index": "0"}).text == "before"


@pytest.mark.parametrize("index", ["-1", "x", "1.0", "0x1", "١", "1e3", " 1", "9" * 30, "9" * 5000])
def test_a_place_is_a_number(service: Service, ann: Key, index: str):
    fill(service, ann, "one", "two")
    with pytest.raises(InvalidInput, match="place"):
        ask(service, ann, "message_at", {**TRIP, "index": index})


def test_windows_and_rounds_are_those_of_the_library(service: Service, ann: Key):
    ask(service, ann, "add_messages", TRIP, messages=[{"role": "system", "content": "Be brief."}])
    fill(service, ann, "one", "uno", "two", "dos", "three", "tres")
    history = service.memory_of(ann.space).thread("trip")
    assert len(ask(service, ann, "window", TRIP, rounds=1).messages) == 3
    assert len(ask(service, ann, "window", TRIP, rounds=1, system=False).messages) == 2
    assert ask(service, ann, "window", TRIP, rounds=2).messages == history.window(rounds=2)
    assert ask(service, ann, "window", TRIP, tokens=30).messages == history.window(tokens=30)
    assert ask(service, ann, "window", TRIP).messages == history.window()
    assert ask(service, ann, "rounds", TRIP, last=1).rounds == history.rounds(1)
    assert ask(service, ann, "rounds", TRIP).rounds == history.rounds()


def test_a_conversation_too_long_for_one_answer_needs_a_number(service: Service, ann: Key):
    history = service.memory_of(ann.space).thread("trip")
    for start in range(0, 1001, 91):
        history.add(*(human(f"question {number}") for number in range(start, min(start + 91, 1001))))
    for route in ("rounds", "window"):
        with pytest.raises(InvalidInput, match="1,001 rounds"):
            ask(service, ann, route, TRIP)
    assert len(ask(service, ann, "rounds", TRIP, last=1000).rounds) == 1000
    assert len(ask(service, ann, "window", TRIP, tokens=100).messages) < 100


def test_a_search_finds_words_and_scores_them(service: Service, ann: Key):
    fill(service, ann, "the train to Vienna", "a hotel in Vienna, near the train", "我们去北京")
    found = ask(service, ann, "search_thread", TRIP, query="train Vienna", limit=5).hits
    assert {one.message.index for one in found} == {0, 1}
    assert found[0].score >= found[1].score > 0
    assert ask(service, ann, "search_thread", TRIP, query="北京").hits[0].message.index == 2


def test_metadata_is_replaced_as_a_whole_and_a_round_closed(service: Service, ann: Key):
    fill(service, ann, "one")
    assert ask(service, ann, "annotate_thread", TRIP, metadata={"title": "A", "old": 1}).metadata["old"] == 1
    assert ask(service, ann, "annotate_thread", TRIP, metadata={"title": "B"}).metadata == {"title": "B"}
    noted = ask(service, ann, "annotate_thread", TRIP, end_round=True)
    assert (noted.ended_round, noted.metadata) == (1, {"title": "B"})
    assert ask(service, ann, "thread", TRIP) == noted
    with pytest.raises(InvalidInput, match="nothing to note"):
        ask(service, ann, "annotate_thread", TRIP)


def test_trimming_and_deleting_are_logged_when_something_went(service: Service, ann: Key):
    fill(service, ann, "one", "uno", "two", "dos")
    assert ask(service, ann, "trim_thread", TRIP, rounds=1).count == 2
    assert ask(service, ann, "trim_thread", TRIP, rounds=1).count == 0
    with pytest.raises(InvalidInput):
        ask(service, ann, "trim_thread", TRIP)
    assert ask(service, ann, "delete_thread", TRIP).done == 1
    assert ask(service, ann, "delete_thread", TRIP).done == 0
    assert [one.action for one in service.log.entries().items] == ["delete_thread", "trim_thread"]
    assert service.log.entries().items[1].detail == {"messages": 2}
    assert ask(service, ann, "threads").items == []


def test_threads_are_listed_in_pages(service: Service, ann: Key):
    for name in ("a/b", "c", "旅行", "d e"):
        fill(service, ann, "hi", thread=name)
    first = ask(service, ann, "threads", limit=3)
    rest = ask(service, ann, "threads", limit=3, cursor=first.next)
    assert {info.thread.id for info in (*first.items, *rest.items)} == {"a/b", "c", "旅行", "d e"}
    assert ask(service, ann, "thread", {"thread": "a/b"}).thread == Thread(ann.space, "a/b")


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("threads", {"limit": 0}),
        ("threads", {"limit": 1001}),
        ("messages", {"limit": 1001}),
        ("messages", {"cursor": "nonsense"}),
        ("search_thread", {"query": "x", "limit": 1001}),
        ("window", {"rounds": 1001}),
        ("window", {"tokens": 10_000_001}),
        ("rounds", {"last": -1}),
        ("rounds", {"last": 1001}),
        ("add_messages", {"messages": []}),
        ("add_messages", {"messages": [{"role": "user", "content": "x"}] * 1001}),
        ("window", {"colour": "red"}),
        ("messages", {"colour": "red"}),
        ("thread", {"colour": "red"}),
    ],
)
def test_no_request_asks_for_everything_or_for_what_is_unknown(
    service: Service, ann: Key, route: str, body: dict[str, Any]
):
    path = {} if route == "threads" else TRIP
    with pytest.raises(InvalidInput):
        ask(service, ann, route, path, **body)


def test_a_key_without_the_scope_does_not_get_in(service: Service):
    reader = key_of(service, "acme", "ann", scopes=["read"])
    for route, scope in (("add_messages", "write"), ("delete_thread", "erase")):
        with pytest.raises(AccessDenied, match=scope):
            ask(service, reader, route, TRIP)


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(0, 7), TEXTS)
def test_what_is_asked_over_rest_is_what_the_library_says(texts: list[str], place: int, words: str):
    with service_at() as service, memwell.open("memory:", embedder=None, work=False) as other:
        ann, history = key_of(service, "ann"), other.at("ann").thread("trip")
        fill(service, ann, *texts)
        roles = (human, ai)
        history.add(*(roles[number % 2](text) for number, text in enumerate(texts)))
        if place < len(texts):
            ask(service, ann, "edit_message", {**TRIP, "index": str(place)}, content=words)
            history.edit(place, words)
        mine = ask(service, ann, "messages", TRIP).items
        assert [(one.role, one.text, one.index, one.round, one.tokens) for one in mine] == [
            (one.role, one.text, one.index, one.round, one.tokens) for one in history
        ]
        found = ask(service, ann, "search_thread", TRIP, query=words).hits
        assert [(one.message.index, one.score) for one in found] == [
            (message.index, score) for message, score in history.search(words)
        ]


def test_a_role_that_is_none_is_refused_with_the_known_ones(service: Service, ann: Key):
    wrong = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
    with pytest.raises(InvalidInput, match="human, ai, system, tool, function, chat, view, not 'user'"):
        ask(service, ann, "add_messages", {"thread": "t"}, messages=[wrong])
