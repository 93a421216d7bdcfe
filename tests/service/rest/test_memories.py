"""Memories over REST: the same answers as the library, nothing of another space, and a log without words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

import memwell
from memwell.errors import AccessDenied, Conflict, InvalidInput, MemwellError, NotFound, NotGranted
from memwell.longterm.audit import Report
from memwell.longterm.changing import Forgetting, Forgotten
from memwell.longterm.recall import Recalled
from memwell.longterm.weights import Weights
from memwell.models.scripted import HashEmbedder
from memwell.runtime.engine import Engine
from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.running import Key
from memwell.service.parts import Service
from tests.service.rest.asking import ask, ended, key_of, service_at

NUTS = "Ann is allergic to nuts."


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


# In and out


def test_all_that_remember_takes_is_kept(service: Service, ann: Key):
    given = {
        "speaker": "Ann",
        "session": "s1",
        "time": "2026-03-01T09:30:00+02:00",
        "kind": "note",
        "metadata": {"city": "巴黎"},
        "importance": 0.75,
        "pinned": True,
        "trust": "document",
        "evidence": [{"thread": "t", "message": "m"}],
        "id": "mine",
    }
    assert ask(service, ann, "remember", content=NUTS, **given).ids == ["mine"]
    kept = ask(service, ann, "memory", memory_path("mine"))
    assert kept == service.memory_of(ann.space).get("mine")
    assert (kept.speaker, kept.session, kept.kind, kept.pinned, kept.trust) == ("Ann", "s1", "note", True, "document")
    assert kept.time == datetime(2026, 3, 1, 7, 30, tzinfo=UTC)
    assert (kept.metadata, kept.importance, kept.evidence[0].message) == ({"city": "巴黎"}, 0.75, "m")
    with pytest.raises(Conflict):
        ask(service, ann, "remember", content="other", id="mine")


def test_texts_and_messages_of_both_shapes_are_remembered_in_order(service: Service, ann: Key):
    own = {"role": "human", "parts": [{"type": "text", "text": "Ann lives in Graz."}], "id": "own"}
    content = [NUTS, {"role": "user", "content": "Ann plays chess."}, own, "Bob paints."]
    ids = ask(service, ann, "remember", content=content, session="s").ids
    texts = [ask(service, ann, "memory", memory_path(id_)).text for id_ in ids]
    assert texts == [NUTS, "Ann plays chess.", "Ann lives in Graz.", "Bob paints."]
    assert ids[2] == "own"
    assert ask(service, ann, "remember", content=own).ids == ["own"]
    assert ask(service, ann, "count").count == 4


def test_what_is_refused_is_told_with_the_reason(service: Service, ann: Key):
    told = ask(service, ann, "remember", content=["", NUTS])
    assert len(told.ids) == len(told.rejected) == 1
    assert told.rejected[0].reasons[0].startswith("empty")


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


def test_weights_of_the_request_count(service: Service, ann: Key):
    remembered(service, ann, "nuts nuts nuts", importance=0.1)
    remembered(service, ann, "nuts and other things", importance=0.9)
    weights = {"curves": {"importance": {"values": [0.0, 1.0], "shares": [0.0, 5.0]}}, "note": "only importance"}
    hits = ask(service, ann, "recall", query="nuts", weights=weights).hits
    assert [set(hit.signals) for hit in hits] == [{"importance"}] * 2
    assert hits[0].text == "nuts and other things"
    library = Weights.linear({"importance": 1.0})
    assert service.memory_of(ann.space).recall("nuts", weights=library)[0].text == "nuts and other things"
    for bad in ({"curves": {"taste": {"values": [0], "shares": [1]}}}, {"curves": {}, "decay": 2}, {"curve": {}}):
        with pytest.raises(InvalidInput):
            ask(service, ann, "recall", query="nuts", weights=bad)


def test_a_recall_can_be_narrowed_and_asked_of_the_past(service: Service, ann: Key):
    [old] = remembered(service, ann, "Ann lives in Graz.", session="s1", metadata={"n": 1}, kind="note")
    remembered(service, ann, "Ann lives with Bob.", session="s2", metadata={"n": 2})
    before = datetime.now(UTC)
    ask(service, ann, "update", memory_path(old), text="Ann lives in Wien.")

    def texts(**narrowed: Any) -> set[str]:
        return {hit.text for hit in ask(service, ann, "recall", query="where Ann lives", **narrowed).hits}

    assert texts() == {"Ann lives in Wien.", "Ann lives with Bob."}
    assert texts(as_of=before.isoformat()) == {"Ann lives in Graz.", "Ann lives with Bob."}
    assert texts(session="s2") == texts(where={"n": {"$gt": 1}}) == {"Ann lives with Bob."}
    assert texts(kinds=["note"]) == {"Ann lives in Wien."}
    assert texts(until="2020-01-01T00:00:00Z") == set()


def test_all_that_a_recall_is_asked_for_reaches_the_library(
    service: Service, ann: Key, monkeypatch: pytest.MonkeyPatch
):
    moments = {
        name: datetime(2026, 3, day, tzinfo=UTC) for day, name in enumerate(("since", "until", "as_of", "now"), 1)
    }
    plain = {
        "limit": 3,
        "kinds": ["note"],
        "speaker": "Ann",
        "session": "s",
        "where": {"a": 1},
        "diversity": 0.5,
    }
    heard: dict[str, Any] = {}

    def recall(memory: Engine, query: str, **given: Any) -> list[Recalled]:
        heard.update(given, query=query)
        return []

    monkeypatch.setattr(Engine, "recall", recall)
    told = {name: moment.isoformat() for name, moment in moments.items()}
    assert ask(service, ann, "recall", query="q", **plain, **told).hits == []
    assert heard == {"query": "q", "weights": None, **plain, **moments}


@pytest.mark.parametrize(
    ("route", "method", "body", "expected"),
    [
        ("update", "update", {"text": "t", "reason": "why"}, {"reason": "why", "kind": None}),
        ("update", "update", {"kind": "k", "importance": 0.2, "trust": "tool"}, {"importance": 0.2, "trust": "tool"}),
        ("update", "update", {"time": "2026-03-01T00:00:00Z"}, {"time": datetime(2026, 3, 1, tzinfo=UTC)}),
        ("forget", "forget", {"ids": ["x"], "reason": "why"}, {"reason": "why"}),
        ("compress", "compress", {"where": {"a": 1}, "threshold": 0.5}, {"where": {"a": 1}, "threshold": 0.5}),
        ("reflect", "reflect", {"where": {"a": 1}, "most": 2}, {"where": {"a": 1}, "most": 2, "least": 3}),
    ],
)
def test_all_that_is_asked_for_reaches_the_library(
    service: Service,
    ann: Key,
    monkeypatch: pytest.MonkeyPatch,
    route: str,
    method: str,
    body: dict[str, Any],
    expected: dict[str, Any],
):
    heard: dict[str, Any] = {}

    def called(memory: Engine, *args: Any, **given: Any) -> None:
        heard.update(given)
        raise NotFound("heard")

    monkeypatch.setattr(Engine, method, called)
    with pytest.raises(NotFound, match="heard"):
        ask(service, ann, route, {"id": "x"} if route == "update" else {}, **body)
    assert expected.items() <= heard.items()


def test_a_policy_reaches_the_library_whole(service: Service, ann: Key, monkeypatch: pytest.MonkeyPatch):
    heard: list[Forgetting] = []

    def forget_by(memory: Engine, policy: Forgetting, *, dry_run: bool) -> Forgotten:
        heard.append(policy)
        return Forgotten({}, 0, dry_run)

    monkeypatch.setattr(Engine, "forget_by", forget_by)
    same = {"importance_below": 0.5, "unused": True, "kinds": ["note"], "where": {"a": 1}, "most": 3}
    assert ask(service, ann, "forget_by", older_than_days=2, **same).ids == []
    assert heard == [Forgetting(older_than=timedelta(days=2), **{**same, "kinds": ("note",)})]


def test_pages_lead_through_all_memories(service: Service, ann: Key):
    ids = remembered(service, ann, *(f"Ann has {number} cats." for number in range(7)), metadata={"about": "cats"})
    seen: list[str] = []
    cursor = None
    while True:
        page = ask(service, ann, "memories", limit=3, cursor=cursor, where=json.dumps({"about": "cats"}))
        seen += [one.id for one in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == ids[::-1]
    assert [one.id for one in ask(service, ann, "memories", limit=2, newest_first=False).items] == ids[:2]
    assert ask(service, ann, "memories", where='{"about": "dogs"}').items == []


@pytest.mark.parametrize("where", ["{", "[]", "3", "null", '"x"', '{"$what": 1}', '{"a": {"$gt": []}}', "\ud800", "["])
def test_a_filter_that_is_none_is_refused(service: Service, ann: Key, where: str):
    remembered(service, ann, NUTS)
    with pytest.raises(InvalidInput):
        ask(service, ann, "memories", where=where)


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("recall", {"query": "x", "limit": 0}),
        ("recall", {"query": "x", "limit": 1001}),
        ("recall", {"query": "x", "limit": 10**30}),
        ("recall", {"query": "x\0"}),
        ("recall", {"query": "x", "diversity": 2}),
        ("recall", {"query": "x", "owner": []}),
        ("recall", {"query": "x", "colour": "red"}),
        ("recall", {}),
        ("memories", {"limit": 1001}),
        ("memories", {"limit": "many"}),
        ("memories", {"cursor": "nonsense"}),
        ("remember", {"content": ["x"] * 1001}),
        ("remember", {"content": 3}),
        ("remember", {"content": [["x"]]}),
        ("remember", {"content": "x", "importance": 2}),
        ("remember", {"content": "x", "ttl": -1}),
        ("remember", {"content": "x", "metadata": {"memwell": 1}}),
        ("remember", {"content": ["x", "y"], "id": "one"}),
        ("forget", {"ids": ["x"] * 1001}),
        ("forget", {"ids": [""]}),
        ("forget_by", {"older_than_days": 1e12}),
        ("forget_by", {"older_than_days": -1}),
        ("forget_by", {"importance_below": 2}),
        ("forget_by", {"most": -1}),
        ("compress", {"threshold": 0}),
        ("reflect", {"most": 1001}),
        ("reflect", {"least": 0}),
        ("similarities", {"query": "x", "ids": ["x"] * 1001}),
        ("erase", {}),
        ("erase", {"ids": ["x"], "everything": True}),
        ("erase", {"ids": [], "where": {"a": 1}}),
        ("erase", {"where": {}}),
        ("mend", {"actions": [{"verb": "burn", "space": ["a"], "record": "r", "reason": ""}]}),
    ],
)
def test_what_breaks_a_rule_is_refused_and_changes_nothing(
    service: Service, ann: Key, route: str, body: dict[str, Any]
):
    remembered(service, ann, NUTS)
    before = ask(service, ann, "memories")
    with pytest.raises(InvalidInput):
        ask(service, ann, route, **body)
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


def test_erasing_takes_the_scope_to_erase(service: Service):
    app = key_of(service, "acme", "ann", scopes=["read", "write"])
    with pytest.raises(AccessDenied, match="erase"):
        ask(service, app, "erase", everything=True)


# What is owed, and what is wrong


def test_what_is_owed_is_done_by_a_job():
    with service_at(embedder=HashEmbedder(32)) as service:
        ann = key_of(service, "ann")
        remembered(service, ann, NUTS, "Bob paints.")
        assert ask(service, ann, "owed").vectors == 2
        job = ended(service, ann, ask(service, ann, "settle"))
        assert (job.status, job.action, job.result) == ("done", "settle", {"words": 0, "vectors": 0})
        assert ask(service, ann, "failures").ids == []
        [one, two] = [hit.id for hit in ask(service, ann, "memories").items]
        near = ask(service, ann, "similarities", query="Bob paints.", ids=[one, two, "no such"]).similarities
        assert near[one] == pytest.approx(1.0, abs=1e-3)
        assert set(near) == {one, two}


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
    report: Report = decode(encode(job.result), Report)
    assert (report.records, job.result["left_out"]) == (3, 0)
    assert job.result["counts"] == report.counts == {"secret": 1, "near_duplicate": 1}
    plan = {action["record"]: action["verb"] for action in job.result["plan"]}
    assert plan.pop(stored) == "redact"
    assert plan.keys() < {one, other}
    assert ask(service, ann, "mend", actions=job.result["plan"]).done == 1 + list(plan.values()).count("merge")
    assert memory.get(stored).text == "the password is [password]"
    assert service.log.entries().items[0].action == "mend"


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
    report: Report = decode(encode(job.result), Report)
    [problem] = [one for one in report.problems if one.kind == "contradiction"]
    assert {problem.record, *problem.action.others} == set(ids)
    assert all(id_ in problem.reason_in("zh") for id_ in ids)
    assert "1990" not in encode(job.result).decode()


def test_a_plan_for_another_space_is_refused(service: Service, ann: Key):
    bob = key_of(service, "acme", "bob")
    [id_] = remembered(service, bob, NUTS)
    action = {"verb": "forget", "space": list(bob.space), "record": id_, "reason": "a test"}
    with pytest.raises(InvalidInput, match="space"):
        ask(service, ann, "mend", actions=[action])
    assert ask(service, ann, "mend", actions=[{**action, "space": list(ann.space)}]).done == 0
    assert ask(service, bob, "memory", memory_path(id_)).text == NUTS


# What was shared


def test_a_memory_that_was_shared_is_read_and_added_to_until_the_grant_ends(service: Service, ann: Key):
    bob = key_of(service, "acme", "bob")
    owner = list(ann.space)
    [id_] = remembered(service, ann, NUTS)
    for route, body in (("recall", {"query": "nuts"}), ("memories", {}), ("count", {}), ("remember", {"content": "x"})):
        with pytest.raises(NotGranted):
            ask(service, bob, route, owner=owner, **body)
    ask(service, ann, "grant", to=list(bob.space), write=True)
    assert ask(service, bob, "recall", query="nuts", owner=owner).hits[0].id == id_
    assert ask(service, bob, "memory", memory_path(id_), owner=owner).text == NUTS
    ask(service, bob, "remember", content="Ann is coming at eight.", owner=owner)
    assert ask(service, bob, "count", owner=owner).count == ask(service, ann, "count", owner=owner).count == 2
    newest = ask(service, bob, "memories", owner=owner, limit=1)
    assert [one.text for one in newest.items] == ["Ann is coming at eight."]
    older = ask(service, bob, "memories", owner=owner, limit=1, cursor=newest.next)
    assert [one.text for one in older.items] == [NUTS]
    with pytest.raises(InvalidInput, match="forgotten"):
        ask(service, bob, "memories", owner=owner, forgotten=True)
    ask(service, ann, "revoke_grant", to=list(bob.space))
    with pytest.raises(NotGranted):
        ask(service, bob, "memory", memory_path(id_), owner=owner)


def test_the_services_own_spaces_are_nobodys_to_read(service: Service, ann: Key):
    for owner in (["memwell", "grants"], ["memwell", "spaces"], ["memwell", "service"], ["memwell", "service", "keys"]):
        with pytest.raises((InvalidInput, NotGranted)):
            ask(service, ann, "memories", owner=owner)


# The same as the library


WORDS = ("Ann", "Bob", "tea", "coffee", "Graz", "likes", "lives in", "nuts", "茶", "喜欢", "北京")


class SameAsTheLibrary(RuleBasedStateMachine):
    """One store behind handlers, one behind the library: whatever is done to both, they answer the same."""

    ids: Bundle[str] = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.service = service_at()
        self.key = key_of(self.service, "ann")
        self.library = memwell.open("memory:", embedder=None, work=False).at("ann")
        self.number = 0

    def teardown(self) -> None:
        self.service.close()
        self.library.close()

    def same(self, asked: Any, called: Any) -> None:
        """Both do it, or both refuse it in the same way."""
        try:
            expected = called()
        except MemwellError as error:
            with pytest.raises(type(error)):
                asked()
            return
        assert _plain(asked()) == _plain(expected)

    def ask(self, route: str, path: dict[str, str] | None = None, **body: Any) -> Any:
        return ask(self.service, self.key, route, path, **body)

    @rule(target=ids, words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
    def remember(self, words: list[str]) -> str:
        self.number += 1
        id_, text = f"m{self.number}", " ".join(words)
        time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=self.number)
        done = self.ask("remember", content=text, id=id_, time=time.isoformat())
        assert done.ids == self.library.remember(text, id=id_, time=time).ids
        return id_

    @rule(query=st.sampled_from(WORDS), limit=st.integers(1, 5))
    def recall(self, query: str, limit: int) -> None:
        now = datetime(2026, 6, 1, tzinfo=UTC)
        mine = self.ask("recall", query=query, limit=limit, now=now.isoformat()).hits
        assert _plain(mine) == _plain(self.library.recall(query, limit=limit, now=now))

    @rule(id_=ids, words=st.lists(st.sampled_from(WORDS), max_size=3))
    def update(self, id_: str, words: list[str]) -> None:
        text = " ".join(words)
        self.same(
            lambda: self.ask("update", {"id": id_}, text=text, metadata={"n": len(words)}),
            lambda: self.library.update(id_, text, metadata={"n": len(words)}),
        )

    @rule(id_=ids)
    def forget(self, id_: str) -> None:
        self.same(lambda: self.ask("forget", ids=[id_]).ids, lambda: self.library.forget([id_]))

    @rule(id_=ids)
    def undo(self, id_: str) -> None:
        self.same(lambda: self.ask("undo", {"id": id_}), lambda: self.library.undo(id_))

    @rule(target=ids, id_=consumes(ids))
    def erase(self, id_: str) -> Any:
        self.same(lambda: self.ask("erase", ids=[id_]), lambda: self.library.erase([id_]))
        return multiple()

    @invariant()
    def they_hold_the_same(self) -> None:
        mine = ask(self.service, self.key, "memories", newest_first=False).items
        assert _plain(mine) == _plain(self.library.page(newest_first=False).items)
        assert self.ask("count").count == self.library.count()


def _plain(value: Any) -> Any:
    """Without when it was last recalled: two stores are not asked in the same microsecond."""
    if isinstance(value, Recalled):
        return msgspec.structs.replace(value, accessed=None)
    return [_plain(one) for one in value] if isinstance(value, list) else value


SameAsTheLibrary.TestCase.settings = settings(max_examples=15, stateful_step_count=15)
TestSameAsTheLibrary = SameAsTheLibrary.TestCase


def test_it_is_the_same_in_a_file(tmp_path: Path):
    with service_at(tmp_path / "app.db") as service:
        ann = key_of(service, "ann")
        [id_] = remembered(service, ann, NUTS)
    with service_at(tmp_path / "app.db") as again:
        assert ask(again, ann, "memory", memory_path(id_)).text == NUTS
        assert again.log.entries().items == []


def test_a_policy_without_a_condition_is_refused(service: Service, ann: Key):
    ask(service, ann, "remember", content=NUTS)
    for given in ({}, {"dry_run": True}):
        with pytest.raises(InvalidInput, match="at least one condition"):
            ask(service, ann, "forget_by", **given)
    assert ask(service, ann, "count").count == 1


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
