"""Prompts, receipts, facts, the graph and profiles over REST."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import InvalidInput, NotFound
from memwell.runtime.wire.running import Key
from memwell.service.parts import Service
from memwell.service.rest import memories as handlers
from tests.service.rest.asking import ask, key_of, service_at


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_at(tmp_path / "app.db") as opened:
        yield opened


@pytest.fixture
def ann(service: Service) -> Key:
    key = key_of(service, "acme", "ann")
    said = ("I live in Graz.", "My sister Eva lives in Wien.", "I like green tea.", "I am allergic to nuts.")
    ask(service, key, "remember", content=list(said))
    return key


# Prompts


def test_a_prompt_is_the_librarys_with_its_receipt(service: Service, ann: Key):
    ask(service, ann, "add_messages", {"thread": "t"}, messages=[{"role": "user", "content": "Hello there."}])
    body = {"query": "what may I not eat?", "thread": "t", "budget": 2000, "system": "Be brief.", "profile": "user"}
    prompt = ask(service, ann, "context", **body)
    library = service.memory_of(ann.space).context(**body)
    assert [one.text for one in prompt.messages] == [one.text for one in library.messages]
    assert (prompt.tokens, prompt.budget) == (library.tokens, 2000)
    assert prompt.openai == library.openai()
    assert any("nuts" in str(one["content"]) for one in prompt.openai)
    assert prompt.receipt.memories == library.receipt.memories
    assert {one.kind for one in prompt.receipt.entered} >= {"system", "memory", "message", "query", "profile"}


def test_passages_that_are_given_and_looked_up_go_in(service: Service, ann: Key):
    service.memory_of(ann.space).knowledge.add("The train to Graz leaves at nine.", id="timetable")
    passage = {"id": "p1", "text": "Trains to Graz are slow.", "title": "A guide"}
    none = ask(service, ann, "context", query="when does the train to Graz leave?", documents=[passage])
    both = ask(service, ann, "context", query="when does the train to Graz leave?", documents=[passage], look_up=3)

    def documents(prompt: Any) -> list[str]:
        return [one.id for one in prompt.receipt.entered if one.kind == "document"]

    assert documents(none) == ["p1"]
    assert len(documents(both)) == 2
    assert any("leaves at nine" in str(one["content"]) for one in both.openai)


@pytest.mark.parametrize(("part", "kind"), [("history", "message"), ("memories", "memory")])
def test_shares_of_the_budget_count(service: Service, ann: Key, part: str, kind: str):
    long = [{"role": "user", "content": f"{number} {'many words here ' * 10}"} for number in range(10)]
    ask(service, ann, "add_messages", {"thread": "t"}, messages=long)
    shares = {"history": 0, "memories": 0, "documents": 0, "profile": 0, part: 1}
    prompt = ask(service, ann, "context", query="what may I not eat?", thread="t", budget=150, shares=shares)
    assert {one.kind for one in prompt.receipt.entered} - {"frame", "query"} == {kind}


def test_receipts_are_listed_newest_first_and_by_memory(service: Service, ann: Key):
    for query in ("what may I not eat?", "where does Eva live?", "what do I drink?"):
        ask(service, ann, "context", query=query, budget=300)
    listed = ask(service, ann, "receipts").receipts
    assert len(listed) == 3
    assert ask(service, ann, "receipts", limit=1).receipts == listed[:1]
    assert ask(service, ann, "receipt", {"id": listed[0].id}) == listed[0]
    memory = listed[0].memories[0]
    assert ask(service, ann, "receipts", memory=memory).receipts == [one for one in listed if memory in one.memories]
    assert ask(service, ann, "receipts", memory="no such").receipts == []
    for bad in ("999999999999", "x", "../1"):
        with pytest.raises(NotFound):
            ask(service, ann, "receipt", {"id": bad})


# Facts


def test_facts_are_told_as_they_are_and_were(service: Service, ann: Key):
    before = datetime.now(UTC)
    ask(service, ann, "remember", content="I moved to Linz.")

    def home(**asked: Any) -> list[str]:
        found = ask(service, ann, "facts_about", subject="user", relation="lives_in", **asked).facts
        return [fact.object for fact in found]

    assert home() == ["Linz"]
    assert home(known_at=before.isoformat()) == ["Graz"]
    long_ago = datetime(1990, 1, 1, tzinfo=UTC)
    then = service.memory_of(ann.space).facts_about("user", relation="lives_in", as_of=long_ago)
    assert home(as_of=long_ago.isoformat()) == [fact.object for fact in then] != ["Linz"]
    history = ask(service, ann, "facts_history", subject="user", relation="lives_in").facts
    assert [fact.object for fact in history] == ["Graz", "Linz"]
    everything = ask(service, ann, "facts_about", subject="user").facts
    assert everything == service.memory_of(ann.space).facts_about("user")
    assert ask(service, ann, "facts_about", subject="nobody").facts == []


def test_all_facts_come_in_pages(service: Service, ann: Key):
    expected = service.memory_of(ann.space).facts.all().items
    found: list[Any] = []
    cursor = None
    while True:
        page = ask(service, ann, "all_facts", limit=2, cursor=cursor)
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert found == expected
    assert len(found) >= 5


def test_what_contradicts_is_told(service: Service, ann: Key):
    ask(service, ann, "remember", content=["My birthday is on 3 May 1990.", "My birthday is on 4 June 1991."])
    [clash] = ask(service, ann, "conflicts").clashes
    assert {clash.kept.relation, clash.other.relation} == {"birthday"}
    assert ask(service, ann, "conflicts", subject="Eva").clashes == []


def test_the_graph_leads_on(service: Service, ann: Key):
    near = ask(service, ann, "graph", depth=1).edges
    far = ask(service, ann, "graph", depth=2).edges
    assert {edge.depth for edge in near} == {1}
    assert "wien" in {edge.target for edge in far} - {edge.target for edge in near}
    assert len(ask(service, ann, "graph", limit=1).edges) == 1
    moment = datetime.now(UTC) - timedelta(days=10_000)
    library = service.memory_of(ann.space).facts.walk("user", depth=3, as_of=moment)
    assert ask(service, ann, "graph", depth=3, as_of=moment.isoformat()).edges == library


# Profiles


def test_profiles_name_the_most_known_first(service: Service, ann: Key):
    listed = ask(service, ann, "profiles").subjects
    assert [(one.name, one.facts) for one in listed][:2] == [("user", 4), ("Eva", 1)]
    for one in listed:
        assert one.facts == len(ask(service, ann, "facts_about", subject=one.name).facts)


def test_profiles_read_a_bounded_number_of_facts(service: Service, ann: Key, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(handlers, "_FACTS_COUNTED", 2)
    assert sum(one.facts for one in ask(service, ann, "profiles").subjects) == 2


def test_what_was_forgotten_is_known_no_more(service: Service, ann: Key):
    ids = [one.id for one in ask(service, ann, "memories").items]
    ask(service, ann, "forget", ids=ids)
    assert ask(service, ann, "profiles").subjects == []
    assert ask(service, ann, "graph").edges == []


def test_a_profile_is_told_in_its_language(service: Service, ann: Key):
    profile = ask(service, ann, "profile", {"subject": "user"}, language="zh")
    assert profile == service.memory_of(ann.space).profile("user", language="zh")
    assert profile.language == "zh"
    assert {one.value for one in profile.attributes} >= {"Graz"}
    assert ask(service, ann, "profile", {"subject": "stranger"}).facts == 0


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("context", {"query": "x", "budget": 1}),
        ("context", {"query": "x", "budget": -1}),
        ("context", {"query": "x", "budget": 10_000_001}),
        ("context", {"query": "x", "limit": 1001}),
        ("context", {"query": "x", "look_up": 101}),
        ("context", {"query": "x", "look_up": -1}),
        ("context", {"query": "x", "language": "fr"}),
        ("context", {"query": "x", "shares": {"history": -1}}),
        ("context", {"query": "x", "shares": {"history": 0, "memories": 0, "documents": 0, "profile": 0}}),
        ("context", {"query": "x", "documents": [{"id": "p"}]}),
        ("context", {"query": "x", "thread": ""}),
        ("context", {"query": "x\0"}),
        ("receipts", {"limit": 0}),
        ("receipts", {"limit": 1001}),
        ("facts_about", {}),
        ("facts_about", {"subject": ""}),
        ("facts_about", {"subject": "user", "relation": "no such"}),
        ("facts_about", {"subject": "user", "as_of": "yesterday"}),
        ("facts_history", {"subject": " "}),
        ("all_facts", {"limit": 1001}),
        ("graph", {"limit": 2001}),
        ("graph", {"limit": 0}),
        ("graph", {"depth": 11}),
        ("graph", {"start": ""}),
    ],
)
def test_what_breaks_a_rule_is_refused(service: Service, ann: Key, route: str, body: dict[str, Any]):
    with pytest.raises(InvalidInput):
        ask(service, ann, route, **body)


def test_a_profile_in_an_unknown_language_is_refused(service: Service, ann: Key):
    with pytest.raises(InvalidInput, match="fr"):
        ask(service, ann, "profile", {"subject": "user"}, language="fr")


def test_the_profile_of_a_stranger_leaves_no_frame_in_the_prompt(service: Service, ann: Key):
    plain = ask(service, ann, "context", query="what may I not eat?")
    for nobody in ("Nobody", "无名氏"):
        strange = ask(service, ann, "context", query="what may I not eat?", profile=nobody)
        assert [one.text for one in strange.messages] == [one.text for one in plain.messages]
        assert "profile" not in [one.kind for one in strange.receipt.entered]
    known = ask(service, ann, "context", query="what may I not eat?", profile="user")
    assert "profile" in [one.kind for one in known.receipt.entered]
