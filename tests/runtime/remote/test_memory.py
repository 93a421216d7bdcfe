"""A memory behind a service is the same as one in a file: the same names, the same answers, the same refusals."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import (
    BackendError,
    BackendUnavailable,
    Conflict,
    FileError,
    InvalidInput,
    MemwellError,
    NotFound,
    NotGranted,
    Unsupported,
)
from memwell.filters import AnyOf, Where
from memwell.history import History
from memwell.knowledge import Knowledge, Parsed
from memwell.longterm.audit import Rules
from memwell.longterm.changing import Forgetting
from memwell.longterm.facts import Facts
from memwell.longterm.media import MediaMemory
from memwell.longterm.traits import Evidence
from memwell.longterm.weights import Weights
from memwell.messages import Image, Text, ToolCall, ToolResult, ai, human, system
from memwell.records import Space
from memwell.runtime.context import Passage, Receipts, Shares
from memwell.runtime.engine import Engine
from memwell.runtime.grants import SharedMemory
from memwell.runtime.remote import RemoteMemory
from memwell.runtime.remote.connection import RefusedName
from memwell.runtime.remote.memory import (
    RemoteFacts,
    RemoteHistory,
    RemoteKnowledge,
    RemoteMedia,
    RemoteReceipts,
    RemoteShared,
)
from memwell.runtime.wire.codec import encode
from memwell.service.keys import BUNDLES
from tests.media_files import picture, wav
from tests.runtime.remote.serving import Served, line_to, serving

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    # Nothing is done in the background, here and there: what was recalled would be counted at some moment or other.
    with serving(work=False) as one:
        yield one


@pytest.fixture(scope="module")
def local() -> Iterator[Engine]:
    with memwell.open("memory:", embedder=None, work=False) as one:
        yield one


# The same names

ROOMS: list[tuple[type, type]] = [
    (Engine, RemoteMemory),
    (History, RemoteHistory),
    (Knowledge, RemoteKnowledge),
    (MediaMemory, RemoteMedia),
    (Facts, RemoteFacts),
    (Receipts, RemoteReceipts),
    (SharedMemory, RemoteShared),
]

REFUSED = {
    Engine: {"backend", "embedder", "chat", "clock", "note_uses", "purge", "attend", "snapshots"},
    History: {"backend", "log", "open", "fork", "copy_to"},
    Knowledge: {"embedder", "chat", "chunking", "rechunk", "parsed", "pending"},
    MediaMemory: set[str](),
    Facts: {
        "learn", "withdraw", "restore", "erase", "by_hand", "state", "names_of", "history_heard", "endings", "said",
    },
    Receipts: {"put", "forget"},
    SharedMemory: set[str](),
}  # fmt: skip
"""What cannot be had over the wire, without the async twins."""


def rooms_of(m: Any, owner: Any = None) -> dict[type, Any]:
    """One of each, of a memory here or there."""
    return {
        Engine: m,
        History: m.thread("trip"),
        Knowledge: m.knowledge,
        MediaMemory: m.media,
        Facts: m.facts,
        Receipts: m.receipts,
        SharedMemory: m.shared(owner),
    }


def public_names(value: object) -> set[str]:
    special = {"__len__", "__iter__", "__reversed__", "__aiter__", "__bool__", "__enter__", "__aenter__"}
    return {name for name in dir(value) if not name.startswith("_") or (name in special and hasattr(value, name))}


def parameters(call: Callable[..., Any]) -> list[tuple[Any, ...]]:
    return [(one.name, one.kind, one.default) for one in inspect.signature(call).parameters.values()]


def is_twin(name: str, names: set[str]) -> bool:
    return name.startswith("a") and name[1:] in names


def test_every_public_name_is_there_with_the_same_parameters_or_is_refused(served: Served, local: Engine):
    local.at("surface-owner").grant("surface")
    here = rooms_of(local.at("surface"), "surface-owner")
    compared = 0
    for ours, theirs in ROOMS:
        names = public_names(here[ours])
        refused = REFUSED[ours]
        for name in sorted(names):
            found = inspect.getattr_static(theirs, name, None)
            if name in refused or (is_twin(name, names) and name[1:] in refused):
                assert isinstance(found, RefusedName), f"{theirs.__name__}.{name} is to be refused"
                continue
            assert not isinstance(found, RefusedName), f"{theirs.__name__}.{name} is refused and not in the list"
            mine = inspect.getattr_static(ours, name, None)
            if inspect.isfunction(mine):
                assert inspect.isfunction(found), f"{theirs.__name__} has no {name}"
                assert parameters(found) == parameters(mine), f"{theirs.__name__}.{name} takes something else"
                assert inspect.iscoroutinefunction(found) == inspect.iscoroutinefunction(mine)
                compared += 1
            elif isinstance(mine, property):
                assert isinstance(found, property), f"{theirs.__name__}.{name} is no property"
    assert compared > 150


def test_attributes_are_there_too(served: Served):
    with served.memory("surface-owner") as owner, served.memory("surface") as m:
        owner.grant("surface")
        rooms = rooms_of(m, "surface-owner")
        assert m.space == Space("surface")
        assert rooms[History].thread.space == Space("surface")
        assert rooms[MediaMemory].memory is m
        assert (rooms[SharedMemory].owner, rooms[SharedMemory].reader) == (Space("surface-owner"), Space("surface"))
        with memwell.open("memory:", embedder=None) as engine:
            here = engine.at("surface")
            assert rooms[Knowledge].space == here.knowledge.space
            assert rooms[Facts].space == here.facts.space
            assert rooms[Receipts].space == here.receipts.space


def test_every_refused_name_says_why_and_what_to_do(served: Served):
    with served.memory("refused-owner") as owner, served.memory("refused") as m:
        owner.grant("refused")
        asked = 0
        for ours, room in rooms_of(m, "refused-owner").items():
            for name in REFUSED[ours]:
                with pytest.raises(Unsupported, match=f"'{name}'.*: .{{20,}}"):
                    getattr(room, name)
                asked += 1
        assert asked == sum(map(len, REFUSED.values()))


def test_a_service_is_opened_like_a_file(served: Served, monkeypatch: pytest.MonkeyPatch):
    token = served.token("opened")
    with memwell.open(served.address, key=token) as m:
        m.remember("Ann is allergic to nuts.")
        assert token not in repr(m)
    monkeypatch.setenv("MEMWELL_KEY", token)
    with RemoteMemory.connect(served.address) as m:
        assert m.space == Space("opened")
    with memwell.open(served.address + "/", space="opened") as m:
        assert isinstance(m, RemoteMemory)
        assert [hit.text for hit in m.recall("what can Ann not eat?")] == ["Ann is allergic to nuts."]
        assert repr(m) == f"RemoteMemory({served.address!r}, space=Space('opened'))"


def test_another_space_needs_another_key(served: Served):
    with served.memory("ann") as m:
        assert m.at("ann") is m
        with pytest.raises(Unsupported, match="a key of that"):
            m.at("bob")
        with pytest.raises(Unsupported):
            RemoteMemory.connect(served.address, key=served.token("ann"), space="bob")


def test_the_backend_of_an_application_has_one_key_for_all_its_users(served: Served):
    token = served.token("app", BUNDLES["backend"])
    odd = Space("app", "a/b & ?c=d", "你好")
    with memwell.open(served.address, key=token) as app:
        for space in (Space("app", "ann"), odd):
            user = app.at(space)
            assert user.space == space
            user.remember(f"{space[1]} sails.")
            user.thread("talk").add_human("Hello")
            assert [one.text for one in user.memories()] == [f"{space[1]} sails."]
            assert [one.text for one in user.thread("talk")] == ["Hello"]
        assert list(app.memories()) == []
        assert served.service.memory_of(odd).count() == 1
        for other in ("ben", Space("apple", "ann"), Space("ap")):
            with pytest.raises(Unsupported):
                app.at(other)
        with pytest.raises(InvalidInput):
            app.at(Space("app", "memwell"))
    with memwell.open(served.address, key=token, space=odd) as user:
        assert user.count() == 1
    with pytest.raises(BackendError, match="closed"):
        user.count()


# The same answers

TEXTS = [
    "Ann is allergic to nuts.",
    "Ann lives in Paris.",
    "Ann lives in Rome.",
    "Bob works at Acme as an engineer.",
    "我住在上海。",
    "The meeting is on Friday at noon.",
]
IDS = ["a", "b/c", "ü . %"]
QUERIES = ["where does Ann live?", "nuts", "我住在哪里", "", "who works at Acme?"]
SCRUBBED = {
    "created", "updated", "replaced", "until", "learned", "learned_at", "retired_at", "changed", "accessed", "now",
}  # fmt: skip
"""When something was stored, or was asked."""

Operation = Callable[[Any], Any]
texts, ids, queries = st.sampled_from(TEXTS), st.sampled_from(IDS), st.sampled_from(QUERIES)
moments = st.integers(0, 9).map(lambda days: T0 + timedelta(days=days))
numbers = st.integers(-1, 4)
budgets = st.sampled_from([0, 100, 400, 2000])
names = st.sampled_from(["Ann", "user", "Bob", "nobody", ""])


def remember(text: str, id_: str | None, time: datetime, number: int) -> Operation:
    speaker = [None, "Ann", "Bob"][number % 3]
    return lambda m: m.remember(text, id=id_ or f"{text}{time}", time=time, metadata={"n": number}, speaker=speaker)


def add(text: str, number: int, make: Callable[..., Any]) -> Operation:
    # A row of messages of every kind, all with the same ids here and there.
    return lambda m: m.thread("trip").add(make(text, id=f"{text[:3]}{number}", time=T0))


def put(text: str, id_: str) -> Operation:
    return lambda m: msgspec.structs.replace(m.knowledge.add(text, id=id_, title="T", metadata={"k": 1}), time=T0)


def pending(m: Any) -> Any:
    # What is pending before depends on how far the worker of each has come.
    m.flush()
    return m.pending()


def prompt(made: Any) -> Any:
    # The question was asked just now, each time, and scores depend on that.
    entered = [(one.kind, one.id, one.tokens, one.cut) for one in made.receipt.entered]
    return made.openai(), made.tokens, entered, made.receipt.left_out


OPERATIONS = st.one_of(
    st.builds(remember, texts, st.one_of(ids, st.none()), moments, numbers),
    st.builds(remember, texts, ids, moments, numbers),
    st.builds(lambda q, n, at: lambda m: m.recall(q, limit=n, now=at), queries, numbers, moments),
    st.builds(lambda q, n: lambda m: m.recall(q, where={"n": {"$gt": n}}, now=T0), queries, numbers),
    st.builds(lambda q, at: lambda m: m.recall(q, since=at, kinds=["memory"], speaker="ann", now=T0), queries, moments),
    st.builds(lambda i, t: lambda m: m.update(i, t, importance=0.9, reason="told"), ids, texts),
    st.builds(lambda i: lambda m: m.update(i, metadata={"n": 9}, time=T0), ids),
    st.builds(lambda i: lambda m: m.forget(i), ids),
    st.builds(lambda i: lambda m: m.undo(i), ids),
    st.builds(lambda i, p: lambda m: m.pin(i, pinned=p), ids, st.booleans()),
    st.builds(lambda i, p: lambda m: m.feedback(i, useful=p), ids, st.booleans()),
    st.builds(lambda i: lambda m: m.get(i), ids),
    st.builds(lambda i: lambda m: m.history(i), ids),
    st.builds(lambda i: lambda m: m.evaluate(i), ids),
    st.builds(lambda i: lambda m: m.erase(i), ids),
    st.builds(lambda i, j: lambda m: m.merge(i, [j]), ids, ids),
    st.builds(lambda n: lambda m: m.memories(limit=n, where=AnyOf((Where("n", "le", n), Where("n", "gt", 3)))), numbers),
    st.builds(lambda n, f: lambda m: m.page(limit=n, forgotten=f).items, numbers, st.booleans()),
    st.builds(lambda n: lambda m: m.forget_by(Forgetting(importance_below=0.6, where={"n": n}), dry_run=True), numbers),
    st.builds(lambda n: lambda m: m.compress(threshold=0.8, where={"n": n}), numbers),
    st.builds(lambda s: lambda m: m.facts.about(s, as_of=T0 + timedelta(days=20)), names),
    st.builds(lambda s: lambda m: m.facts.history(s), names),
    st.builds(lambda s, n: lambda m: m.facts.walk(s, depth=n, as_of=T0 + timedelta(days=20)), names, numbers),
    st.builds(lambda s: lambda m: m.profile(s), names),
    st.sampled_from([lambda m: m.count(), lambda m: m.facts.all(), lambda m: m.facts.conflicts(), pending]),
    st.builds(add, texts, numbers, st.sampled_from([human, ai, system])),
    st.builds(add, texts, numbers, st.sampled_from([human, ai])),
    st.builds(lambda n: lambda m: m.thread("trip").last(n), numbers),
    st.builds(lambda n: lambda m: m.thread("trip").get(n), numbers),
    st.builds(lambda n: lambda m: m.thread("trip").rounds(n), numbers),
    st.builds(lambda n: lambda m: m.thread("trip").round(n), numbers),
    st.builds(lambda n: lambda m: m.thread("trip").window(tokens=n * 20), numbers),
    st.builds(lambda n, t: lambda m: m.thread("trip").edit(n, t), numbers, texts),
    st.builds(lambda n: lambda m: m.thread("trip").remove(n, n + 1), numbers),
    st.builds(lambda n: lambda m: m.thread("trip").restore(n), numbers),
    st.builds(lambda n: lambda m: m.thread("trip").versions(n), numbers),
    st.builds(lambda n: lambda m: m.thread("trip").trim(rounds=n), numbers),
    st.builds(lambda q, n: lambda m: m.thread("trip").search(q, limit=n), queries, numbers),
    st.builds(lambda n: lambda m: m.thread("trip").set_metadata(title=n, other=None), numbers),
    st.sampled_from(
        [
            lambda m: list(m.thread("trip")),
            lambda m: list(reversed(m.thread("trip"))),
            lambda m: m.thread("trip").info(),
            lambda m: m.threads(limit=5),
            lambda m: (len(m.thread("trip")), m.thread("trip").tokens, m.thread("trip").metadata()),
            lambda m: (m.thread("trip").start_round(), m.thread("trip").latest_round()),
            lambda m: m.thread("trip").rounds(),
            lambda m: m.remember_thread("trip"),
            lambda m: m.thread("trip").delete(),
        ]
    ),
    st.builds(put, texts, ids),
    st.builds(lambda i: lambda m: m.knowledge.remove(i, i), ids),
    st.builds(lambda i: lambda m: m.knowledge.text(i), ids),
    st.builds(lambda q, n: lambda m: m.knowledge.recall(q, limit=n), queries, numbers),
    st.builds(lambda q, n: lambda m: m.knowledge.answer(q, limit=n), queries, numbers),
    st.builds(lambda q, n: lambda m: prompt(m.context(q, thread="trip", budget=n, profile="Ann")), queries, budgets),
)  # fmt: skip
BEFORE: list[Operation] = [
    lambda m: m.remember(TEXTS[1], id="a", time=T0, speaker="Bob", metadata={"n": 1}),
    lambda m: m.thread("trip").add(
        *(make(text, id=f"{make.__name__}{text}", time=T0) for make in (system, human, ai) for text in "xy")
    ),
    lambda m: msgspec.structs.replace(m.knowledge.add(TEXTS[5], id="a"), time=T0),
]
"""There is a little of everything, so that most of what is drawn finds something."""


def plain(value: Any) -> Any:
    """A value as JSON, without the times at which something was stored, and with scores of a moment rounded."""
    return scrubbed(msgspec.json.decode(encode(value)))


def scrubbed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: scrubbed(one) for key, one in value.items() if key not in SCRUBBED}
    if isinstance(value, float):
        # A score depends a little on the moment of the question.
        return round(value, 6)
    return [scrubbed(one) for one in value] if isinstance(value, list) else value


def outcome(operation: Operation, memory: Any) -> tuple[str, Any]:
    try:
        value = operation(memory)
    except MemwellError as error:
        return type(error).__name__, str(error)
    return type(value).__name__, plain(value)


numbered = count()


@given(st.lists(OPERATIONS, min_size=4, max_size=25))
def test_whatever_is_done_the_answers_are_the_same(served: Served, local: Engine, operations: list[Operation]):
    space = f"congruent {next(numbered)}"
    here = local.at(space)
    with served.memory(space) as there:
        for operation in [*BEFORE, *operations]:
            ours, theirs = outcome(operation, here), outcome(operation, there)
            assert theirs[0] == ours[0], (ours, theirs)
            # A refusal may be put in other words; it is about the same.
            if ours[0] not in ("InvalidInput", "NotFound"):
                assert theirs == ours


def test_all_that_goes_with_a_memory_comes_through(served: Served, local: Engine):
    evidence = [Evidence(record="other"), Evidence(thread="t", message="m")]
    fields: dict[str, Any] = {
        "session": "s", "time": datetime(2026, 3, 1, 12), "kind": "note", "metadata": {"a": [1, {"b": None}]},  # noqa: DTZ001
        "importance": 0.25, "pinned": True, "trust": "derived", "evidence": evidence, "id": "all", "ttl": 1e6,
    }  # fmt: skip
    here = local.at("fields")
    with served.memory("fields") as there:
        for m in (here, there):
            m.remember("Ann is allergic to nuts.", **fields)
            m.remember([human("I like tea.", id="h", time=T0)])
        assert there.get("all") == here.get("all")
        assert there.get("h") == here.get("h")
        assert there.get("all").evidence == tuple(evidence)
        weights = Weights.linear({"words": 1.0, "importance": 0.5}, note="mine")
        assert there.recall("nuts", limit=1, weights=weights, now=T0) == here.recall(
            "nuts", limit=1, weights=weights, now=T0
        )
        assert there.recall("nuts", now=T0)[0].why() == here.recall("nuts", now=T0)[0].why()
        passage = Passage(id="p", text="Nuts are seeds.", title="A book", time=T0)
        asked = {"documents": [passage], "shares": Shares(documents=9), "now": T0}
        found = [m.context("nuts?", **asked) for m in (here, there)]
        assert found[0].openai() == found[1].openai()
        assert prompt(found[0])[:3] == prompt(found[1])[:3]
        assert [r.memories for r in there.receipts.all()] == [r.memories for r in here.receipts.all()] != []
        receipt = next(there.receipts.all())
        assert there.receipts.get(receipt.id) == receipt
        assert there.receipts.of_memory("all") == [receipt]
        assert there.receipts.of_memory("nobody's") == []


def test_texts_and_messages_of_any_shape_are_remembered_together(served: Served, local: Engine):
    said = ["Ann likes tea.", human("I like tea."), {"role": "assistant", "content": "So you like tea."}, "ok"]
    with served.memory("mixed") as there:
        ours, theirs = local.at("mixed").remember(said), there.remember(iter(said))
        assert (len(theirs.ids), theirs.rejected) == (len(ours.ids), ours.rejected)
        told = [
            [(one.text, one.speaker, one.kind, one.trust) for one in m.memories()] for m in (local.at("mixed"), there)
        ]
        assert told[0] == told[1]
        assert len(told[0]) == len(ours.ids)


def test_documents_that_were_found_go_into_a_prompt(served: Served):
    with served.memory("found") as m:
        m.knowledge.add("Leave is thirty days a year.", title="Handbook", id="hb")
        made = m.context("how much leave?", documents=m.knowledge.recall("leave"))
        assert "thirty days" in made.text()
        assert [one.kind for one in made.receipt.entered if one.kind == "document"] == ["document"]


def test_the_async_twins_do_the_same(served: Served):
    async def use() -> list[Any]:
        async with served.memory("twins") as m:
            thread = m.thread("trip")
            await m.aremember("Ann is allergic to nuts.", id="a", time=T0)
            await thread.aadd_human("Where to?", time=T0)
            await m.knowledge.aadd("Leave is thirty days.", id="hb")
            return [
                [hit.id for hit in await m.arecall("nuts")],
                [one.text async for one in thread],
                (await m.afacts_about("Ann"))[0].object,
                (await m.knowledge.aget("hb")).id,
                (await m.acontext("nuts?")).budget,
                await thread.atokens(),
            ]

    done = asyncio.run(use())
    with served.memory("twins") as m:
        assert done == [["a"], ["Where to?"], "nuts", "hb", 2000, m.thread("trip").tokens]


# Jobs, files and grants


def test_settling_owed_work(served: Served):
    with served.memory("settled") as m:
        m.remember("Ann is allergic to nuts.")
        told: list[tuple[int, int | None]] = []
        m.flush(lambda done, of: told.append((done, of)))
        assert (m.pending().words, m.pending().vectors, m.failures()) == (0, 0, [])
        m.catch_up()


def test_an_audit_and_its_plan(served: Served):
    with served.memory("audited") as m, memwell.open("memory:", embedder=None) as engine:
        here = engine.at("audited")
        texts = ["Ann is allergic to all nuts.", "Ann is allergic to all nuts!", "ok", "The report is due on Friday."]
        for one in (m, here):
            for number, text in enumerate(texts):
                one.remember(text, id=str(number), kind="note")
        told: list[int] = []
        report = m.audit(progress=told.append)
        assert (report.records, report.counts) == (here.audit().records, here.audit().counts)
        assert [(step.verb, step.record) for step in report.plan] == [(s.verb, s.record) for s in here.audit().plan]
        assert m.repair(report.plan) == here.repair(here.audit().plan)
        assert [one.id for one in m.memories()] == [one.id for one in here.memories()]
        assert m.repair([]).done == 0
        with pytest.raises(Unsupported, match="rules"):
            m.audit(rules=Rules())


def test_what_is_carried_off_can_be_brought_in(served: Served, tmp_path: Path):
    path = tmp_path / "all.jsonl"
    with served.memory("from") as m, served.memory("to") as other:
        m.remember("Ann is allergic to nuts.")
        m.thread("trip").add_human("Where to?")
        assert m.export(path) >= 1
        done = other.import_file(str(path))
        assert done.new >= 1
        assert [one.text for one in other.memories()] == ["Ann is allergic to nuts."]
        assert len(other.thread("trip")) == 1
        assert other.import_file(path).new == 0
        assert m.export(tmp_path / "all.md") == 1
        assert "- Ann is allergic to nuts." in (tmp_path / "all.md").read_text()
    with memwell.open("memory:", embedder=None) as engine:
        assert engine.import_file(path).new == done.new


def test_a_file_is_whole_or_the_old_one_stays(served: Served, tmp_path: Path):
    path = tmp_path / "all.jsonl"
    path.write_text("the old one")
    with line_to(served.address) as line, served.patient([], line.address, "cut") as m:
        m.remember([f"Fact number {number}: " + "so it is, and not otherwise. " * 10 for number in range(200)])
        line.cut = lambda piece: True if b"content-disposition" in piece.lower() else None
        with pytest.raises(BackendUnavailable, match="broke"):
            m.export(path)
        assert line.cuts == 1
        assert path.read_text() == "the old one"
        line.cut = lambda piece: None
        assert m.export(path) >= 200
        assert path.read_text().count("Fact number") >= 200
    assert [one.name for one in tmp_path.iterdir()] == ["all.jsonl"]


def test_files_that_cannot_be(served: Served, tmp_path: Path):
    (tmp_path / "odd.json").write_text("[1, 2, 3")
    (tmp_path / "empty.jsonl").write_text("")
    with served.memory("files") as m:
        for odd in ("", "all.csv", 7, "a\0b"):
            with pytest.raises(InvalidInput):
                m.export(odd)  # pyright: ignore[reportArgumentType]
        with pytest.raises(FileError):
            m.export(tmp_path / "no folder" / "all.jsonl")
        with pytest.raises(FileError):
            m.import_file(tmp_path / "nothing.jsonl")
        for name in ("odd.json", "empty.jsonl"):
            with pytest.raises((InvalidInput, FileError)):
                m.import_file(tmp_path / name)
        with pytest.raises(InvalidInput, match="unknown format"):
            m.import_file(tmp_path / "odd.json", format="no such format")


def test_grants(served: Served):
    with served.memory("planner") as planner, served.memory(Space("team", "critic")) as critic:
        me = Space("team", "critic")
        planner.remember("The plan is to sail on Friday.", id="p")
        with pytest.raises(NotGranted):
            critic.shared("planner")
        until = datetime.now(UTC) + timedelta(hours=1)
        given = planner.grant(me, until=until)
        assert (given.to, given.write, given.until) == (me, False, until)
        assert planner.grants() == critic.shared_with_me() == [given]
        board = critic.shared("planner")
        assert board.grant == given
        assert [hit.id for hit in board.recall("what is the plan?", kinds="memory")] == ["p"]
        assert board.recall("plan", limit=0) == []
        assert (board.count(), board.get("p").text) == (1, "The plan is to sail on Friday.")
        assert [one.id for one in board.memories(where={"@id": "p"}, limit=5)] == ["p"]
        assert [one.id for one in board.page(limit=1).items] == ["p"]
        with pytest.raises(NotGranted):
            board.remember("I would rather stay ashore.")
        with pytest.raises(NotFound):
            board.get("q")
        planner.grant(me, write=True)
        done = board.remember("I would rather stay ashore.", importance=0.9)
        assert planner.get(done.id).speaker == "critic"
        assert planner.revoke(me) is True
        assert planner.revoke(me) is False
        for asked in (lambda: board.recall("plan"), board.count, lambda: board.grant, lambda: board.get("p")):
            with pytest.raises(NotGranted):
                asked()


def test_every_kind_of_message_comes_through_as_it_was(served: Served):
    with served.memory("kinds") as m:
        thread = m.thread("all / kinds?")
        call = thread.add_tool_call("weather", {"city": "上海"}, call_id="c1")
        assert call == ToolCall("c1", "weather", {"city": "上海"})
        result = thread.add_tool_result("c1", [Text("sunny"), Image(data=b"\x00\xff", media_type="image/png")])
        assert isinstance(result.parts[0], ToolResult)
        thread.add_system("Be kind.", metadata={"a": [1, None]}, hidden=True)
        said = thread.add_ai("It is sunny.", name="bot")
        assert [one.changed(index=None, round=None, tokens=None) for one in thread][1].parts == result.parts
        assert thread.last(1) == [said]
        assert thread.data_of(result.parts[0].content[1]) == b"\x00\xff"  # pyright: ignore[reportArgumentType]
        assert repr(thread) == "RemoteHistory('all / kinds?', space=Space('kinds'))"
        assert thread.add() == []
        assert bool(m.thread("nobody's"))
        with pytest.raises(Conflict):
            thread.add(human("again", id=said.id))
        with pytest.raises(InvalidInput):
            thread.add("no message")  # pyright: ignore[reportArgumentType]


def test_long_conversations_are_read_in_pieces(served: Served):
    with served.memory("long") as m:
        thread = m.thread("long")
        for start in range(0, 1200, 600):
            thread.add(*(human(f"question {number}") for number in range(start, start + 600)))
        assert [one.index for one in thread] == list(range(1200))
        assert [one.index for one in thread.last(450)] == list(range(750, 1200))
        assert [one.number for one in thread.rounds()] == list(range(1, 1201))
        assert [one.number for one in thread.rounds(1100)] == list(range(101, 1201))
        assert [thread.round(number).messages[0].text for number in (3, 1198)] == ["question 2", "question 1197"]
        first = thread.page(limit=7)
        assert [one.index for one in thread.page(limit=3, cursor=first.next).items] == [7, 8, 9]


def test_messages_are_meant_by_index_id_or_themselves(served: Served):
    with served.memory("targets") as m:
        thread, other = m.thread("a"), m.thread("b")
        first, second = thread.add(human("one"), human("two"))
        elsewhere = other.add_human("elsewhere")
        assert thread.edit(first, "uno").text == "uno"
        assert thread.edit(second.id, [Text("dos"), Text("tres")]).text == "dos\ntres"
        assert thread.edit(0, human("eins", id=first.id, time=first.time)).text == "eins"
        assert [one.message.text for one in thread.versions(first) if one.message] == ["one", "uno"]
        thread.remove(first)
        assert thread.restore(first).text == "eins"
        with pytest.raises(NotFound):
            thread.remove(0, 1, 99)
        assert len(thread) == 2, "several are removed or none"
        for odd in (elsewhere, "nobody's", 99):
            with pytest.raises(NotFound):
                thread.edit(odd, "x")
        for odd in (-1, True, None):
            with pytest.raises(InvalidInput):
                thread.get(odd)  # pyright: ignore[reportArgumentType]


def test_bytes_beside_a_conversation_are_refused(served: Served):
    with served.memory("bytes") as m:
        thread = m.thread("a")
        plain = human("no bytes")
        assert thread.with_blobs(plain) is plain
        with pytest.raises(Unsupported, match=r"media\.add"):
            thread.with_blobs(human([Image(data=picture())]))
        with pytest.raises(Unsupported):
            thread.data_of(Image(blob="0" * 64))
        for odd in (Image(url="https://a.example/cat.png"), "x"):
            with pytest.raises(InvalidInput):
                thread.data_of(odd)  # pyright: ignore[reportArgumentType]


# Documents and media behind a service, and files that are sent to it

# Documents


def test_a_text_is_kept_found_asked_and_removed(served: Served):
    with served.memory("texts") as m:
        text = "# Leave\n\nEmployees have thirty days of leave a year.\n\n# 休假\n\n员工每年有三十天假期。"
        kept = m.knowledge.add(text, id="hb", source="handbook.md", title="Handbook", metadata={"year": 2026})
        assert m.knowledge.add(text, id="hb", source="handbook.md", title="Handbook", metadata={"year": 2026}) == kept
        assert m.knowledge.get("hb") == kept
        assert m.knowledge.documents({"year": 2026}) == [kept]
        assert m.knowledge.documents({"year": 2025}) == []
        assert (m.knowledge.count().documents, m.knowledge.text("hb")) == (1, text)
        found = m.knowledge.recall("how many days of leave?", documents="hb", where={"year": 2026})
        assert text[found[0].citation.start : found[0].citation.end] == found[0].text
        assert "handbook.md" in found[0].citation.in_words()
        assert found[0].why()
        answer = m.knowledge.answer("How many days of leave do employees have?")
        assert "thirty" in answer.text
        history = [human("What about leave?"), ai("What of it?")]
        assert m.knowledge.answer("how many days?", history=history, language="en").text
        m.knowledge.flush()
        assert (m.knowledge.remove("hb", "nothing"), m.knowledge.remove(), m.knowledge.documents()) == (1, 0, [])
        m.knowledge.add(text)
        assert (m.knowledge.erase_all(), m.knowledge.erase_all(), m.knowledge.count().chunks) == (1, 0, 0)
        with pytest.raises(NotFound):
            m.knowledge.text("hb")


def test_what_is_refused(served: Served):
    with served.memory("refused") as m:
        with pytest.raises(InvalidInput):
            m.knowledge.add(" ")
        with pytest.raises(InvalidInput):
            m.knowledge.recall("x", limit=-1)
        with pytest.raises(InvalidInput):
            m.knowledge.documents({"$odd": 1})
        with pytest.raises(Unsupported, match="weights"):
            m.knowledge.recall("x", weights=Weights({}))
        with pytest.raises(Unsupported, match="ingest"):
            m.knowledge.add(Parsed("x", ()))
        assert m.knowledge.count().documents == 0


# Media


def test_a_picture_is_kept_found_and_erased(served: Served, tmp_path: Path):
    path = tmp_path / "猫 & dog.png"
    path.write_bytes(picture())
    with served.memory("pictures") as m:
        made = m.media.add(
            path, description="A cat on a red sofa", features=["cat", "sofa, red"], sentiment=0.5,
            session="s", speaker="Ann", metadata={"album": ["a", 1]}, time=T0,
        )  # fmt: skip
        assert (made.kind, made.name, made.features, made.sentiment) == ("image", path.name, ("cat", "sofa, red"), 0.5)
        assert (made.session, made.speaker, made.metadata, made.time) == ("s", "Ann", {"album": ["a", 1]}, T0)
        assert m.media.get(made.id) == made
        assert m.media.data(made.id) == path.read_bytes()
        shown = m.media.thumbnail(made.id)
        assert (shown is not None) == made.has_thumbnail
        found = m.media.recall("cat", kinds="image", session="s")
        assert [one.id for one in found] == [made.id]
        assert found[0].why()
        assert [one.id for one in m.media.items(session="s")] == [made.id]
        assert m.media.items(kinds=[]) == m.media.items(limit=0) == m.media.items(kinds="audio") == []
        assert (m.media.erase(made.id).memories, m.media.remove(), m.media.items()) == (1, 0, [])
        with pytest.raises(NotFound):
            m.media.thumbnail(made.id)


def test_media_that_are_only_described_and_features(served: Served):
    with served.memory("described") as m:
        sound = m.media.add(wav(), transcript="Good morning, Ann.")
        assert (sound.kind, sound.sentiment is not None) == ("audio", True)
        only = m.media.add(kind="video", features=[0.6, 0.8, 0.0])
        other = m.media.add(kind="image", features=[0.0, 0.0, 1.0], sentiment="calm")
        assert other.sentiment == "calm"
        assert [one.id for one in m.media.like([0.6, 0.8, 0.1])] == [only.id, other.id]
        large = m.media.add(kind="image", features=[float(number % 7) - 3 for number in range(3072)])
        assert large.dimensions == 3072
        assert m.media.thumbnail(only.id) is None
        with pytest.raises(NotFound):
            m.media.data(only.id)
        assert m.media.remove(only.id, other.id) == 2


def test_media_that_are_refused(served: Served, tmp_path: Path):
    with served.memory("refused") as m:
        for odd in (b"", b"no picture at all", "cat.png", 7):
            with pytest.raises(InvalidInput):
                m.media.add(odd, kind="image", description="x")  # pyright: ignore[reportArgumentType]
        with pytest.raises(FileError):
            m.media.add(tmp_path / "nothing.png")
        with pytest.raises(InvalidInput):
            m.media.add(description="of no kind")
        with pytest.raises(InvalidInput):
            m.media.recall("x", kinds="smell")
        with pytest.raises(InvalidInput):
            m.media.like([0.0, 0.0])
        assert m.media.items() == []


# Files and folders


@pytest.fixture(scope="module")
def small() -> Iterator[Served]:
    with serving(serve_max_upload_mb=0.2) as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "handbook"
    (made / "old").mkdir(parents=True)
    (made / "leave.md").write_text("# Leave\n\nThirty days a year.")
    (made / "old" / "leave.md").write_text("# Leave\n\nTwenty days a year.")
    (made / "假期.txt").write_text("员工每年有三十天假期。")
    (made / "logo.png").write_bytes(picture())
    return made


def test_a_folder_is_taken_in_and_told_of(small: Served, folder: Path):
    with small.memory("folder") as m:
        told: list[tuple[int, int | None]] = []
        done = m.knowledge.ingest(folder, metadata={"team": "people"}, progress=lambda *at: told.append(at))
        assert len(done.added) == 3
        assert [(one.source, one.reason) for one in done.refused] == [(str(folder / "logo.png"), "binary")]
        assert (told[0], told[-1]) == ((0, 4), (4, 4))
        assert told == sorted(told)
        assert done.chunks == m.knowledge.count().chunks
        sources = sorted(one.source for one in m.knowledge.documents({"team": "people"}))
        assert sources == ["handbook › leave.md", "handbook › old › leave.md", "handbook › 假期.txt"]
        assert m.knowledge.recall("twenty days")[0].text.endswith("Twenty days a year.")

        (folder / "leave.md").write_text("# Leave\n\nForty days a year.")
        (folder / "假期.txt").unlink()
        again = m.knowledge.ingest(folder, metadata={"team": "people"})
        assert again.changed == (str(folder / "leave.md"),)
        assert again.unchanged == (str(folder / "old" / "leave.md"),)
        assert (again.added, again.removed) == ((), ())
        assert "1 more documents" in again.warnings[0]
        assert m.knowledge.count().documents == 3


def test_patterns_and_single_files(small: Served, folder: Path, tmp_path: Path):
    with small.memory("files") as m:
        done = m.knowledge.ingest(folder / "leave.md", str(folder / "old" / "leave.md"), patterns="*.txt")
        assert done.added == (str(folder / "leave.md"),)
        assert "the same name" in done.refused[0].detail
        only = m.knowledge.ingest(folder, patterns=["*.txt"])
        assert only.added == (str(folder / "假期.txt"),)


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(small: Served, folder: Path, tmp_path: Path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("  \n ")
    (tmp_path / "large.txt").write_text("words and words " * 20_000)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing")
    (tmp_path / "nobody").mkdir()
    odd = ["empty.txt", "blank.txt", "large.txt", "broken.pdf", "missing.txt", "nobody"]
    with small.memory("odd") as m:
        done = m.knowledge.ingest(*[tmp_path / name for name in odd], folder / "leave.md")
        assert done.added == (str(folder / "leave.md"),)
        assert sorted(Path(one.source).name for one in done.refused) == sorted(odd)
        reasons = {Path(one.source).name: one.reason for one in done.refused}
        assert (reasons["empty.txt"], reasons["missing.txt"], reasons["nobody"]) == ("empty", "unreachable", "empty")
        assert m.knowledge.ingest(tmp_path / "large.txt", most_bytes=10).refused[0].reason == "too-large"


def test_pages_of_the_web_are_fetched_by_the_service(small: Served):
    with small.memory("web") as m:
        done = m.knowledge.ingest("http://127.0.0.1:9/page")
        assert [(one.source, one.reason) for one in done.refused] == [("http://127.0.0.1:9/page", "forbidden-address")]
        with pytest.raises(Unsupported, match="private"):
            m.knowledge.ingest("http://127.0.0.1:9/page", allow_private=True)
        with pytest.raises(InvalidInput):
            m.knowledge.ingest("")
