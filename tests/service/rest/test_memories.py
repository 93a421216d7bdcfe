"""Conversations, memories, prompts and facts over REST: what the service does beyond the methods of the engine.

That the answers are those of the library is seen through the client, in ``tests/runtime/remote``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from memwell.errors import InvalidInput, NotFound
from memwell.longterm.audit import AuditReport
from memwell.messages import Image, Message, Role, Text, ToolCall, ai, encode_message, human
from memwell.runtime.engine import Engine
from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.running import Key
from memwell.service.parts import Service
from memwell.service.rest import memories as handlers
from tests.service.rest.asking import ask, ended, key_of, service_at

NUTS = "Ann is allergic to nuts."
TRIP = {"thread": "trip"}
KNOWN = ("I live in Graz.", "My sister Eva lives in Wien.", "I like green tea.", "I am allergic to nuts.")


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


@pytest.fixture
def ann(service: Service) -> Key:
    return key_of(service, "acme", "ann")


def remembered(service: Service, key: Key, *texts: str, **given: Any) -> list[str]:
    return ask(service, key, "remember", content=list(texts), **given).ids


def memory_path(id_: str) -> dict[str, str]:
    return {"id": id_}


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user" if place % 2 == 0 else "assistant", "content": text} for place, text in enumerate(texts)]


def fill(service: Service, key: Key, *texts: str, thread: str = "trip") -> list[Message]:
    return ask(service, key, "add_messages", {"thread": thread}, messages=said(*texts)).messages


# Conversations


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


def test_a_conversation_too_long_for_one_answer_needs_a_number(service: Service, ann: Key):
    history = service.memory_of(ann.space).thread("trip")
    for start in range(0, 1001, 91):
        history.add(*(human(f"question {number}") for number in range(start, min(start + 91, 1001))))
    for route in ("rounds", "window"):
        with pytest.raises(InvalidInput, match="1,001 rounds"):
            ask(service, ann, route, TRIP)
    assert len(ask(service, ann, "rounds", TRIP, last=1000).rounds) == 1000
    assert len(ask(service, ann, "window", TRIP, tokens=100).messages) < 100


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


# In and out


def test_a_recall_tells_why_in_the_language_that_is_asked_for(service: Service, ann: Key):
    remembered(service, ann, NUTS, "Bob paints.")
    english = ask(service, ann, "recall", query="what is Ann allergic to?", limit=1)
    chinese = ask(service, ann, "recall", query="what is Ann allergic to?", limit=1, language="zh")
    assert english.hits[0].text == NUTS
    assert english.why == [english.hits[0].why(query="what is Ann allergic to?")]
    assert chinese.why == [chinese.hits[0].why(query="what is Ann allergic to?", language="zh")]
    assert english.why != chinese.why
    with pytest.raises(InvalidInput, match="language"):
        ask(service, ann, "recall", query="nobody knows", language="fr", session="none")


def test_a_recall_names_what_superseded_a_hit(service: Service, ann: Key):
    older, newer = remembered(service, ann, "I live in Ghent.", "I moved to Bruges.")
    found = ask(service, ann, "recall", query="Where do I live?")
    assert [(one.id, one.superseded_by) for one in found.hits] == [(newer, ""), (older, newer)]
    assert found.why[1].startswith(f"superseded by {newer}")


def test_dates_stand_for_their_midnight(service: Service, ann: Key):
    made = ask(service, ann, "remember", content="Ann came to Graz.", time="2026-03-01").ids[0]
    assert ask(service, ann, "memory", {"id": made}).time == datetime(2026, 3, 1, tzinfo=UTC)
    for since, until, found in (
        ("2026-03-01", "2026-03-02", 1),
        ("2026-03-02", None, 0),
        ("2026-02-01T00:00:00", None, 1),
    ):
        hits = ask(service, ann, "recall", query="Ann Graz", since=since, until=until).hits
        assert [one.id for one in hits].count(made) == found, (since, until)
    assert ask(service, ann, "facts_about", subject="Ann", as_of="2026-03-02").facts is not None


@pytest.mark.parametrize("where", ["{", "[]", "3", "null", '"x"', '{"$what": 1}', '{"a": {"$gt": []}}', "\ud800", "["])
def test_a_filter_that_is_none_is_refused(service: Service, ann: Key, where: str):
    remembered(service, ann, NUTS)
    with pytest.raises(InvalidInput):
        ask(service, ann, "memories", where=where)


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("recall", {"query": "x", "owner": []}),
        ("recall", {}),
        ("recall", {"query": "x", "weights": {"curves": {"taste": {"values": [0], "shares": [1]}}}}),
        ("memories", {"cursor": "nonsense"}),
        ("remember", {"content": ["x"] * 1001}),
        ("remember", {"content": 3}),
        ("remember", {"content": [["x"]]}),
        ("remember", {"content": ["x", "y"], "id": "one"}),
        ("add_messages", {"messages": []}),
        ("add_messages", {"messages": [{"role": "user", "content": "x"}] * 1001}),
        ("forget", {"ids": ["x"] * 1001}),
        ("merge", {"kept": "x", "others": ["y"] * 1001}),
        ("similarities", {"query": "x", "ids": ["x"] * 1001}),
        ("erase", {}),
        ("erase", {"ids": ["x"], "everything": True}),
        ("erase", {"ids": [], "where": {"a": 1}}),
        ("erase", {"where": {}}),
        ("erase", {"ids": ["x"] * 1001}),
        ("repair", {"actions": [{"verb": "burn", "space": ["a"], "record": "r", "reason": ""}]}),
        ("context", {"query": "x", "language": "fr"}),
        ("context", {"query": "x", "documents": [{"id": "p"}]}),
        ("context", {"query": "x", "documents": [{"id": "p", "text": "x"}] * 1001}),
        ("facts_about", {"subject": "user", "as_of": "yesterday"}),
    ],
)
def test_what_breaks_a_rule_is_refused_and_changes_nothing(
    service: Service, ann: Key, route: str, body: dict[str, Any]
):
    remembered(service, ann, NUTS)
    before = ask(service, ann, "memories")
    with pytest.raises(InvalidInput):
        ask(service, ann, route, TRIP if route in ("messages", "add_messages") else {}, **body)
    assert ask(service, ann, "memories") == before
    assert service.log.entries().items == []


# Changing and forgetting


def test_changes_are_kept_as_versions_and_logged_without_words(service: Service, ann: Key):
    [id_] = remembered(service, ann, NUTS)
    at = memory_path(id_)
    assert ask(service, ann, "update", at, text="Ann is allergic to eggs.", metadata={"a": 1}).metadata == {"a": 1}
    assert ask(service, ann, "pin", at).pinned
    assert not ask(service, ann, "pin", at, pinned=False).pinned
    assert ask(service, ann, "feedback", at, useful=True).importance > 0.5
    assert 0 <= ask(service, ann, "worth", at).worth <= 1
    versions = ask(service, ann, "versions", at).versions
    assert [one.reason for one in versions] == ["updated", "pinned", "unpinned", "called useful"]
    assert versions[0].record.text == NUTS
    assert ask(service, ann, "forget_one", at).ids == [id_]
    assert ask(service, ann, "forget_one", at).ids == []
    assert ask(service, ann, "memories").items == []
    assert [one.id for one in ask(service, ann, "memories", forgotten=True).items] == [id_]
    assert ask(service, ann, "undo", at).text == "Ann is allergic to eggs."
    entries = service.log.entries().items
    assert [(one.action, one.targets) for one in entries] == [
        (name, (id_,)) for name in ("undo", "forget_one", "update")
    ]
    assert "allergic" not in encode(entries).decode()


def test_many_are_forgotten_together_or_not_at_all(service: Service, ann: Key):
    ids = remembered(service, ann, *(f"Ann has {number} cats." for number in range(150)))
    with pytest.raises(NotFound):
        ask(service, ann, "forget", ids=[ids[0], "never was"])
    assert ask(service, ann, "forget", ids=ids, reason="a test").ids == ids
    [entry] = service.log.entries().items
    assert (len(entry.targets), entry.detail) == (100, {"memories": 150})


def test_a_policy_tells_first_and_forgets_then(service: Service, ann: Key):
    long_ago = datetime.now(UTC) - timedelta(days=400)
    [old] = remembered(service, ann, "Ann had a cold.", time=long_ago.isoformat())
    remembered(service, ann, NUTS)
    told = ask(service, ann, "forget_by", older_than_days=365, dry_run=True)
    assert (told.ids, told.kept, told.dry_run) == ([old], 1, True)
    assert service.log.entries().items == []
    assert ask(service, ann, "forget_by", older_than_days=365).ids == [old]
    assert service.log.entries().items[0].targets == (old,)
    assert ask(service, ann, "count").count == 1


def test_a_policy_without_a_condition_is_refused(service: Service, ann: Key):
    ask(service, ann, "remember", content=NUTS)
    for given in ({}, {"dry_run": True}):
        with pytest.raises(InvalidInput, match="at least one condition"):
            ask(service, ann, "forget_by", **given)
    assert ask(service, ann, "count").count == 1


def test_like_memories_are_merged(service: Service, ann: Key):
    first, second = remembered(service, ann, "Ann moved to Graz in May.", "In May Ann moved to Graz!")
    told = ask(service, ann, "compress", threshold=0.5, dry_run=True)
    assert (told.before, told.dry_run) == (2, True)
    merged = ask(service, ann, "merge", kept=first, others=[second])
    assert (merged.id, ask(service, ann, "count").count) == (first, 1)
    assert service.log.entries().items[0].targets == (first, second)
    assert ask(service, ann, "undo", memory_path(second)).id == second


def test_insights_are_made_and_logged(service: Service, ann: Key):
    remembered(service, ann, "Ann likes chess.", "Ann plays chess on Monday.", "Ann won at chess.", "Bob sings.")
    made = ask(service, ann, "reflect", least=3, metadata={"by": "test"}).memories
    assert made
    assert all(one.kind == "insight" and one.metadata == {"by": "test"} for one in made)
    assert service.log.entries().items[0].targets == tuple(one.id for one in made)


# For good


@pytest.mark.parametrize("how", ["ids", "where", "everything"])
def test_what_is_erased_is_gone_and_the_log_has_no_word_of_it(service: Service, ann: Key, how: str):
    [id_] = remembered(service, ann, NUTS, metadata={"about": "food"})
    given = {"ids": {"ids": [id_]}, "where": {"where": {"about": "food"}}, "everything": {"everything": True}}[how]
    assert ask(service, ann, "erase", **given).memories == 1
    for route in ("memory", "undo", "versions"):
        with pytest.raises(NotFound):
            ask(service, ann, route, memory_path(id_))
    [entry] = service.log.entries().items
    assert entry.detail["how"] == how
    assert entry.detail["memories"] == 1
    assert entry.targets == ((id_,) if how == "ids" else ())
    assert "nuts" not in encode(entry).decode()


def test_erasing_drops_what_jobs_gave(service: Service, ann: Key):
    [id_] = remembered(service, ann, NUTS)
    job = ended(service, ann, ask(service, ann, "export"))
    assert job.file
    ask(service, ann, "erase", ids=[id_])
    assert service.jobs.get(ann.space, job.id).file == ""


# What is pending, and what is wrong


def test_an_audit_tells_without_words_and_its_plan_can_be_carried_out(service: Service, ann: Key):
    memory = service.memory_of(ann.space)
    one, other = remembered(service, ann, "Ann likes green tea very much.", "Ann likes green tea so very much.")
    stored = put_secret(memory, "the password is hunter2hunter2")
    job = ended(service, ann, ask(service, ann, "audit"))
    assert job.status == "done", job.problem
    assert job.result is not None
    told = encode(job.result).decode()
    assert "hunter2" not in told
    assert "password is" not in told
    assert "Ann" not in told
    report: AuditReport = decode(encode(job.result), AuditReport)
    assert (report.records, job.result["left_out"]) == (3, 0)
    assert job.result["counts"] == report.counts == {"secret": 1, "near_duplicate": 1}
    plan = {action["record"]: action["verb"] for action in job.result["plan"]}
    assert plan.pop(stored) == "redact"
    assert plan.keys() < {one, other}
    assert ask(service, ann, "repair", actions=job.result["plan"]).done == 1 + list(plan.values()).count("merge")
    assert memory.get(stored).text == "the password is [password]"
    assert service.log.entries().items[0].action == "repair"


def put_secret(memory: Engine, text: str) -> str:
    """Store a text past the gate, as a store from before there was one may hold it."""
    id_ = memory.remember("Ann wrote a note.").id
    memory.catch_up()
    [record] = memory.backend.index.get(memory.space, [id_])
    memory.backend.index.upsert([msgspec.structs.replace(record, text=text)])
    return id_


def test_contradicting_facts_are_told_by_their_memories(service: Service, ann: Key):
    ids = remembered(service, ann, "My birthday is on 3 May 1990.", "My birthday is on 4 June 1991.")
    clashes = ask(service, ann, "conflicts").clashes
    job = ended(service, ann, ask(service, ann, "audit"))
    assert len(clashes) == 1
    assert job.result is not None
    report: AuditReport = decode(encode(job.result), AuditReport)
    [problem] = [one for one in report.problems if one.kind == "contradiction"]
    assert {problem.record, *problem.action.others} == set(ids)
    assert all(id_ in problem.reason_in("zh") for id_ in ids)
    assert "1990" not in encode(job.result).decode()


def test_a_plan_for_another_space_is_refused(service: Service, ann: Key):
    bob = key_of(service, "acme", "bob")
    [id_] = remembered(service, bob, NUTS)
    action = {"verb": "forget", "space": list(bob.space), "record": id_, "reason": "a test"}
    with pytest.raises(InvalidInput, match="space"):
        ask(service, ann, "repair", actions=[action])
    assert ask(service, ann, "repair", actions=[{**action, "space": list(ann.space)}]).done == 0
    assert ask(service, bob, "memory", memory_path(id_)).text == NUTS


# What was shared


# Prompts and facts


@pytest.fixture
def known(service: Service, ann: Key) -> Key:
    remembered(service, ann, *KNOWN)
    return ann


def test_a_prompt_is_the_librarys_with_its_receipt(service: Service, known: Key):
    ask(service, known, "add_messages", {"thread": "t"}, messages=[{"role": "user", "content": "Hello there."}])
    body = {"query": "what am I allergic to?", "thread": "t", "budget": 2000, "system": "Be brief.", "profile": "user"}
    prompt = ask(service, known, "context", **body)
    library = service.memory_of(known.space).context(**body)
    assert [one.text for one in prompt.messages] == [one.text for one in library.messages]
    assert (prompt.tokens, prompt.budget) == (library.tokens, 2000)
    assert prompt.openai == library.openai()
    assert any("nuts" in str(one["content"]) for one in prompt.openai)
    assert prompt.receipt.memories == library.receipt.memories
    assert {one.kind for one in prompt.receipt.entered} >= {"system", "memory", "message", "query", "profile"}


def test_passages_that_are_given_and_looked_up_go_in(service: Service, known: Key):
    service.memory_of(known.space).knowledge.add("The train to Graz leaves at nine.", id="timetable")
    passage = {"id": "p1", "text": "Trains to Graz are slow.", "title": "A guide"}
    none = ask(service, known, "context", query="when does the train to Graz leave?", documents=[passage])
    both = ask(service, known, "context", query="when does the train to Graz leave?", documents=[passage], look_up=3)

    def documents(prompt: Any) -> list[str]:
        return [one.id for one in prompt.receipt.entered if one.kind == "document"]

    assert documents(none) == ["p1"]
    assert len(documents(both)) == 2
    assert any("leaves at nine" in str(one["content"]) for one in both.openai)


def test_profiles_name_the_most_known_first(service: Service, known: Key):
    listed = ask(service, known, "profiles").subjects
    assert [(one.name, one.facts) for one in listed][:2] == [("user", 4), ("Eva", 1)]
    for one in listed:
        assert one.facts == len(ask(service, known, "facts_about", subject=one.name).facts)


def test_profiles_read_a_bounded_number_of_facts(service: Service, known: Key, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(handlers, "_FACTS_COUNTED", 2)
    assert sum(one.facts for one in ask(service, known, "profiles").subjects) == 2
