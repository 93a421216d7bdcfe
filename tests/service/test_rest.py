"""What the handlers add to the engine: logs without words, jobs, files, pages of the web, and what is refused."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import AccessDenied, InvalidInput, NotFound, UnreadableDocument
from memwell.knowledge import shelf as vectors
from memwell.knowledge.reading import web
from memwell.longterm.audit import AuditReport
from memwell.messages import Image, Message, Role, Text, ToolCall, ai, encode_message, human
from memwell.models.scripted import HashEmbedder
from memwell.records import MAX_SEGMENTS, Space
from memwell.runtime.engine import Engine
from memwell.runtime.wire.codec import Key, decode, encode
from memwell.runtime.wire.table import OPERATIONS, Job
from memwell.service import rest as handlers
from memwell.service.call import Answered, File
from memwell.service.jobs import Report
from memwell.service.parts import Service
from memwell.service.rest import label_of
from tests.knowledge.bench import HANDBOOK
from tests.knowledge.reading.conftest import pdf_of
from tests.media_files import film, picture, sound, wav
from tests.service.asking import ask, asked_with, ended, key_of, send, service_at
from tests.service.waiting import PATIENCE_S


@pytest.fixture
def bob(service: Service) -> Key:
    return key_of(service, "acme", "bob")


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    folder = tmp_path / "sent"
    folder.mkdir()
    return folder


@pytest.fixture
def operator(service: Service) -> Key:
    return key_of(service, "acme", "operator")


# Who asks, and figures


def test_me_tells_the_key_and_the_models(service: Service, operator: Key):
    told = ask(service, operator, "me")
    assert told.key == operator
    assert (told.version, told.embedder, told.chat, told.language) == (memwell.__version__, "", "", "en")
    with service_at(embedder=HashEmbedder(16), chat=lambda messages: "yes") as other:
        mine = ask(other, key_of(other, "ann"), "me")
        assert mine.embedder == HashEmbedder(16).name
        assert mine.chat


@pytest.mark.parametrize("span", ["1h", "24h", "7d", "30d"])
def test_figures_are_of_the_space_and_of_the_whole_for_the_operator(service: Service, operator: Key, span: str):
    ann = key_of(service, "acme", "ann", scopes=["read", "write"])
    ask(service, ann, "remember", content="Ann is allergic to nuts.")
    ask(service, ann, "count")
    figures = ask(service, ann, "figures", span=span)
    assert (figures.span, figures.whole, figures.operations) == (span, False, [])
    with pytest.raises(AccessDenied, match="admin"):
        ask(service, ann, "figures", span=span, whole=True)
    assert ask(service, operator, "figures", span=span, whole=True).whole
    with pytest.raises(InvalidInput, match="span"):
        ask(service, ann, "figures", span="1y")


def test_prometheus_gets_its_text(service: Service, operator: Key):
    told = ask(service, operator, "metrics")
    assert isinstance(told, File)
    assert isinstance(told.content, bytes)
    assert told.media_type.startswith("text/plain")
    assert b"# TYPE memwell_" in told.content
    with pytest.raises(AccessDenied):
        ask(service, key_of(service, "ann", scopes=["read"]), "metrics")


# Keys


def test_a_key_is_made_shown_once_and_works(service: Service, operator: Key):
    made = ask(service, operator, "create_key", name="phone", space=["acme", "ann"], scopes=["write", "read"], rate=7)
    assert service.keys.check(made.token).id == made.key.id
    assert (made.key.space, made.key.scopes, made.key.rate) == (Space("acme", "ann"), ("read", "write"), 7)
    secret = made.token.rpartition("_")[2]
    listed = ask(service, operator, "keys").items
    assert made.key.id in {key.id for key in listed}
    assert secret not in encode([listed, service.log.entries().items]).decode()
    assert [key.id for key in ask(service, operator, "keys", space=["acme", "ann"]).items] == [made.key.id]
    entry = service.log.entries().items[0]
    assert (entry.action, entry.targets) == ("create_key", (made.key.id, '["acme","ann"]'))


def test_a_key_turns_and_ends_even_the_one_that_asks(service: Service, operator: Key):
    first = ask(service, operator, "rotate_key", {"id": operator.id})
    second = ask(service, operator, "rotate_key", {"id": operator.id}, grace_minutes=5)
    assert service.keys.check(first.token).id == service.keys.check(second.token).id == operator.id
    assert ask(service, operator, "revoke_key", {"id": operator.id}).revoked is not None
    for token in (first.token, second.token):
        with pytest.raises(AccessDenied, match="revoked"):
            service.keys.check(token)
    with pytest.raises(InvalidInput):
        ask(service, operator, "rotate_key", {"id": operator.id})
    actions = [one.action for one in service.log.entries().items]
    assert actions == ["revoke_key", "rotate_key", "rotate_key"]


# Health


# Exports and imports over REST, and following a job; names of files that are nothing but labels.


MEM0 = json.dumps({"results": [{"id": "1", "memory": "Ann likes tea.", "user_id": "ann"}]}).encode()


def exported(service: Service, key: Key, **options: object) -> File:
    job = ended(service, key, ask(service, key, "export", **options))
    assert job.status == "done", job.problem
    file = ask(service, key, "job_file", {"id": job.id})
    assert isinstance(file, File)
    return file


@pytest.mark.parametrize("body", [{"format": "xml"}, {"format": ""}, {"format": "markdown", "vectors": True}])
def test_what_cannot_be_exported_so_is_refused_at_once(service: Service, ann: Key, body: dict[str, object]):
    with pytest.raises(InvalidInput):
        ask(service, ann, "export", **body)
    assert ask(service, ann, "jobs").items == []


@pytest.mark.parametrize(
    "space", [("../../etc", "x"), ("a/b\\c", "\x01\r\n"), ("...",), ('x"; y=".exe',), ("张三", "é" * 300)]
)
def test_a_file_is_saved_under_a_harmless_name(service: Service, space: tuple[str, ...]):
    name = exported(service, key_of(service, *space)).name
    assert re.fullmatch(r"memwell-[\w-]+-\d{4}-\d\d-\d\d\.jsonl", name)
    assert len(name.encode()) <= 255


def test_the_name_tells_a_format_that_the_content_does_not(service: Service, ann: Key, sent: Path):
    table = b"note\nAnn likes tea\n"
    formats: list[str] = []
    for name in ("a/b/NOTES.CSV", "notes.txt", "notes.../x" + "\u00e9" * 100, "", "x.md"):
        job = ended(service, ann, send(service, ann, "import", table, sent, name=name or None))
        formats.append(job.result["format"] if job.result else str(job.problem))
    assert formats == ["csv", "text", "text", "text", "text"]
    named = ended(service, ann, send(service, ann, "import", table, sent, name="x.csv", format="text"))
    assert named.result is not None
    assert named.result["format"] == "text"
    assert list(sent.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (None, {}),
        (b"\x00\x01\x02", {"name": "memories.bin"}),
        (b'{"a": 1}', {"name": "strange.json"}),
        (MEM0, {"format": "xml"}),
        (MEM0, {"name": "a\x00b"}),
        (MEM0, {"name": ".."}),
    ],
)
def test_what_is_seen_to_be_no_import_is_refused_at_once(
    service: Service, ann: Key, sent: Path, body: bytes | None, query: dict[str, str]
):
    with pytest.raises(InvalidInput) as refused:
        send(service, ann, "import", body, sent, **query)
    assert str(sent) not in str(refused.value)
    assert "upload" not in str(refused.value)
    assert ask(service, ann, "jobs").items == []
    assert list(sent.iterdir()) == []


def test_a_broken_file_says_what_is_wrong_and_what_was_taken(service: Service, ann: Key, bob: Key, sent: Path):
    ask(service, ann, "remember", content="Ann is allergic to nuts.")
    file = exported(service, ann)
    assert isinstance(file.content, Path)
    lines = file.content.read_bytes().splitlines(keepends=True)
    torn = ended(service, bob, send(service, bob, "import", b"".join(lines) + b'{"type": "memory", "te', sent))
    assert torn.result is not None
    assert (torn.status, torn.result["failed"]) == ("done", 1)
    assert torn.result["problems"][0]["number"] == len(lines) + 1
    assert sum(torn.result["counts"].values()) > 0
    assert ask(service, bob, "recall", query="nuts").items
    # A file that is not what it is called is a failure, told by the name it was sent under.
    wrong = ended(service, bob, send(service, bob, "import", b"[1, 2", sent, name="chats.json", format="chatgpt"))
    told = json.dumps([wrong.problem, wrong.result])
    assert str(sent) not in told
    assert "upload" not in told
    assert wrong.status == "failed" or (wrong.result is not None and wrong.result["failed"])
    users = ended(service, bob, send(service, bob, "import", b"a note", sent, name="notes.txt", user="ann"))
    assert users.problem is not None
    assert (users.status, users.problem["code"]) == ("failed", "invalid-input")
    assert list(sent.iterdir()) == []


def test_exports_and_imports_are_logged_without_a_word_of_their_content(service: Service, ann: Key, sent: Path):
    out = ended(service, ann, ask(service, ann, "export"))
    back = ended(service, ann, send(service, ann, "import", MEM0, sent, name="secret plans.json"))
    entries = service.log.entries().items
    assert [(one.action, one.targets) for one in entries[:2]] == [("import", (back.id,)), ("export", (out.id,))]
    assert "secret" not in repr(entries)


@given(name=st.text(st.characters() | st.sampled_from("/\\.: \x00\x1b\u202e"), max_size=300))
def test_a_label_is_harmless_whatever_was_sent(name: str):
    try:
        label = label_of(name)
    except InvalidInput:
        return
    assert 0 < len(label) <= 255
    assert not set("/\\\x00\r\n\u202e") & set(label)
    assert label.isprintable() or not any(ord(character) < 32 for character in label)
    assert label not in (".", "..")
    assert (Path("/folder") / label).parent == Path("/folder")
    assert label_of(label) == label
    label.encode()


def test_a_job_is_cancelled_by_its_own_space_and_logged(service: Service, ann: Key, bob: Key):
    begun, let_go = threading.Event(), threading.Event()

    def work(report: Report) -> None:
        report("holding")
        begun.set()
        assert let_go.wait(PATIENCE_S)
        report("holding", 1)

    job = service.jobs.start(ann.space, "hold", work)
    assert begun.wait(PATIENCE_S)
    with pytest.raises(NotFound):
        ask(service, bob, "cancel_job", {"id": job.id})
    assert service.log.entries().items == []
    assert ask(service, ann, "cancel_job", {"id": job.id}).status == "running"
    let_go.set()
    found = ended(service, ann, job)
    assert found.problem is not None
    assert (found.status, found.problem["code"]) == ("failed", "cancelled")
    assert [(one.action, one.targets) for one in service.log.entries().items] == [("cancel_job", (job.id,))]


NUTS = "Ann is allergic to nuts."
TRIP = {"thread": "trip"}
KNOWN = ("I live in Graz.", "My sister Eva lives in Wien.", "I like green tea.", "I am allergic to nuts.")


def remembered(service: Service, key: Key, *texts: str, **given: Any) -> list[str]:
    return ask(service, key, "remember", content=list(texts), **given).ids


def memory_path(id_: str) -> dict[str, str]:
    return {"id": id_}


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user" if place % 2 == 0 else "assistant", "content": text} for place, text in enumerate(texts)]


def fill(service: Service, key: Key, *texts: str, thread: str = "trip") -> list[Message]:
    return ask(service, key, "add_messages", {"thread": thread}, messages=said(*texts), shape="memwell").messages


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


def _sent(answered: Answered) -> Any:
    assert isinstance(answered.body, bytes)
    return json.loads(answered.body)


def test_messages_come_back_in_the_shape_they_went_in_or_in_the_one_that_is_asked_for(service: Service, ann: Key):
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at":3}'}}
    chat = [
        {"role": "user", "content": "Look there."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "A whale."},
    ]
    route = OPERATIONS["add_messages"]
    added = _sent(asked_with(service, ann, route, TRIP, {"messages": chat}))
    assert added["messages"] == chat
    assert (added["first"], len(added["ids"])) == (0, 3)
    own = _sent(asked_with(service, ann, route, TRIP, {"messages": chat[:1], "shape": "memwell"}))
    assert own["messages"][0]["parts"] == [{"type": "text", "text": "Look there."}]
    for name, body in (("messages", {"limit": 3}), ("window", {"rounds": 5})):
        read = _sent(asked_with(service, ann, OPERATIONS[name], TRIP, {**body, "shape": "openai"}))
        assert read["items"][:3] == chat
        read = _sent(asked_with(service, ann, OPERATIONS[name], TRIP, body))
        assert read["items"][0]["parts"] == [{"type": "text", "text": "Look there."}]
    with pytest.raises(InvalidInput, match="shape"):
        ask(service, ann, "messages", TRIP, shape="anthropic")


def memwell_shape(message: Message) -> dict[str, Any]:
    return json.loads(encode_message(message))


@pytest.mark.parametrize(
    "bad",
    [
        {"role": "nobody", "content": "x"},
        {"role": "nobody", "parts": []},
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
    added = ask(service, ann, "add_messages", TRIP, messages=messages, remember=True, shape="memwell")
    assert len(added.messages) == 3
    assert added.remembered.ids == [added.messages[1].id]
    [hit] = ask(service, ann, "recall", query="what is Ann allergic to?").items
    assert (hit.text, hit.session) == ("Ann is allergic to nuts.", "trip")
    assert ask(service, ann, "remember_thread", TRIP).count == 1
    assert ask(service, ann, "count").count == 1


def test_a_conversation_too_long_for_one_answer_needs_a_number(service: Service, ann: Key):
    history = service.memory_of(ann.space).thread("trip")
    for start in range(0, 1001, 91):
        history.add(*(human(f"question {number}") for number in range(start, min(start + 91, 1001))))
    for route in ("rounds", "window"):
        with pytest.raises(InvalidInput, match="1,001 rounds"):
            ask(service, ann, route, TRIP)
    assert len(ask(service, ann, "rounds", TRIP, last=1000).items) == 1000
    assert len(ask(service, ann, "window", TRIP, tokens=100).items) < 100


# In and out


def test_a_recall_tells_why_in_the_language_that_is_asked_for(service: Service, ann: Key):
    remembered(service, ann, NUTS, "Bob paints.")
    english = ask(service, ann, "recall", query="what is Ann allergic to?", limit=1)
    chinese = ask(service, ann, "recall", query="what is Ann allergic to?", limit=1, language="zh")
    [hit] = service.memory_of(ann.space).recall("what is Ann allergic to?", limit=1)
    assert english.items[0].text == hit.text == NUTS
    assert english.items[0].why == hit.why(query="what is Ann allergic to?")
    assert chinese.items[0].why == hit.why(query="what is Ann allergic to?", language="zh")
    assert english.items[0].why != chinese.items[0].why
    with pytest.raises(InvalidInput, match="language"):
        ask(service, ann, "recall", query="nobody knows", language="fr", session="none")


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("recall", {"query": "x", "owner": []}), ("recall", {}),
        ("recall", {"query": "x", "weights": {"curves": {"taste": {"values": [0], "shares": [1]}}}}),
        ("memories", {"cursor": "nonsense"}), ("remember", {"content": ["x"] * 1001}), ("remember", {"content": 3}),
        ("remember", {"content": [["x"]]}), ("remember", {"content": ["x", "y"], "id": "one"}),
        ("add_messages", {"messages": []}), ("add_messages", {"messages": [{"role": "user", "content": "x"}] * 1001}),
        ("forget", {"ids": ["x"] * 1001}), ("merge", {"kept": "x", "others": ["y"] * 1001}),
        ("similarities", {"query": "x", "ids": ["x"] * 1001}), ("edit_message", {}),
        ("edit_message", {"content": "a", "message": {"role": "user", "content": "b"}}), ("annotate_thread", {}),
        ("trim_thread", {}), ("forget_by", {}), ("forget_by", {"dry_run": True}), ("erase", {}), ("erase_by", {}),
        ("erase", {"ids": ["x"], "everything": True}), ("erase_by", {"where": {"a": 1}, "everything": True}),
        ("erase_by", {"where": {}}), ("erase_by", {"where": {"a": {"$odd": 1}}}), ("erase", {"ids": ["x"] * 1001}),
        ("repair", {"actions": [{"verb": "burn", "space": ["a"], "record": "r", "reason": ""}]}),
        ("context", {"query": "x", "language": "fr"}), ("context", {"query": "x", "documents": [{"id": "p"}]}),
        ("context", {"query": "x", "documents": [{"id": "p", "text": "x"}] * 1001}),
        ("facts_about", {"subject": "user", "as_of": "yesterday"}),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_and_changes_nothing(
    service: Service, ann: Key, route: str, body: dict[str, Any]
):
    remembered(service, ann, NUTS)
    fill(service, ann, "said")

    def held() -> list[Any]:
        return [ask(service, ann, "memories"), ask(service, ann, "messages", TRIP), ask(service, ann, "thread", TRIP)]

    before = held()
    places = {"thread": "trip", "index": "0"}
    with pytest.raises(InvalidInput):
        ask(service, ann, route, {name: places[name] for name in OPERATIONS[route].places if name in places}, **body)
    assert held() == before
    assert service.log.entries().items == []


# Changing and forgetting


def test_a_change_is_logged_by_ids_and_numbers_when_something_changed(service: Service, ann: Key):
    fill(service, ann, "one", "uno", "two", "dos")
    [id_] = remembered(service, ann, NUTS)
    place = {**TRIP, "index": "0"}
    for name, path, body, target, detail in (
        ("edit_message", place, {"content": "after"}, "trip", {"place": 0}),
        ("edit_message", place, {"message": {"role": "user", "content": "whole"}}, "trip", {"place": 0}),
        ("remove_message", place, {}, "trip", {"place": 0}),
        ("restore_message", place, {}, "trip", {"place": 0}),
        ("annotate_thread", TRIP, {"metadata": {"title": "nuts"}, "end_round": True}, "trip", {}),
        ("trim_thread", TRIP, {"rounds": 1}, "trip", {"messages": 2}),
        ("trim_thread", TRIP, {"rounds": 1}, "", {}),
        ("delete_thread", TRIP, {}, "trip", {}),
        ("delete_thread", TRIP, {}, "", {}),
        ("update", memory_path(id_), {"text": "Ann is allergic to eggs."}, id_, {}),
        ("forget_one", memory_path(id_), {}, id_, {"memories": 1}),
        ("forget_one", memory_path(id_), {}, "", {}),
        ("undo", memory_path(id_), {}, id_, {}),
        ("grant", {}, {"to": ["bob"]}, '["bob"]', {"write": 0}),
        ("revoke_grant", {}, {"to": ["bob"]}, '["bob"]', {}),
        ("revoke_grant", {}, {"to": ["bob"]}, "", {}),
        ("add_document", {}, {"id": "hb", "text": HANDBOOK}, "hb", {"chunks": 1}),
        ("remove_document", {"id": "hb"}, {}, "hb", {}),
        ("remove_document", {"id": "hb"}, {}, "", {}),
    ):
        before = len(service.log.entries().items)
        ask(service, ann, name, path, **body)
        told = service.log.entries().items
        assert len(told) - before == bool(target), name
        if target:
            assert (told[0].action, told[0].targets) == (name, (target,))
            assert told[0].detail == detail or name == "add_document"
    assert not re.search("allergic|eggs|nuts|whole|leave", encode(service.log.entries().items).decode())


def test_a_policy_tells_first_and_forgets_then(service: Service, ann: Key):
    long_ago = datetime.now(UTC) - timedelta(days=400)
    [old] = remembered(service, ann, "Ann had a cold.", time=long_ago.isoformat())
    remembered(service, ann, NUTS)
    told = ended(service, ann, ask(service, ann, "forget_by", older_than_days=365, dry_run=True)).result
    assert told is not None
    assert told == {"reasons": {old: "it is 400 days old"}, "kept": 1, "dry_run": True}
    assert service.log.entries().items == []
    done = ended(service, ann, ask(service, ann, "forget_by", older_than_days=365)).result
    assert done == {**told, "dry_run": False}
    assert service.log.entries().items[0].action == "forget_by"
    assert ask(service, ann, "count").count == 1


# For good


@pytest.mark.parametrize("how", ["ids", "where", "everything"])
def test_what_is_erased_is_gone_and_the_log_has_no_word_of_it(service: Service, ann: Key, how: str):
    [id_] = remembered(service, ann, NUTS, metadata={"about": "food"})
    done = erase(service, ann, how, id_)
    for route in ("memory", "undo", "versions"):
        with pytest.raises(NotFound):
            ask(service, ann, route, memory_path(id_))
    [entry] = service.log.entries().items
    if isinstance(done, Job):
        assert done.result is not None
        assert done.result["memories"] == 1
        assert (entry.targets, entry.detail) == ((done.id,), {"how": how})
    else:
        assert (entry.targets, entry.detail["memories"]) == ((id_,), 1)
    assert "nuts" not in encode(entry).decode()


def erase(service: Service, key: Key, how: str, id_: str) -> Any:
    """Erase a memory about food by its id, by a filter or with everything; a job is waited for."""
    if how == "ids":
        return ask(service, key, "erase", ids=[id_])
    given = {"where": {"about": "food"}} if how == "where" else {"everything": True}
    return ended(service, key, ask(service, key, "erase_by", **given))


@pytest.mark.parametrize("how", ["ids", "where"])
def test_erasing_drops_what_jobs_gave(service: Service, ann: Key, how: str):
    [id_] = remembered(service, ann, NUTS, metadata={"about": "food"})
    job = ended(service, ann, ask(service, ann, "export"))
    assert job.file
    erase(service, ann, how, id_)
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
    clashes = ask(service, ann, "conflicts").items
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


# Prompts and facts


@pytest.fixture
def known(service: Service, ann: Key) -> Key:
    remembered(service, ann, *KNOWN)
    return ann


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
    listed = ask(service, known, "profiles").items
    assert [(one.name, one.facts) for one in listed][:2] == [("user", 4), ("Eva", 1)]
    for one in listed:
        assert one.facts == len(ask(service, known, "facts_about", subject=one.name).items)


def test_profiles_read_a_bounded_number_of_facts(service: Service, known: Key, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(handlers, "_FACTS_COUNTED", 2)
    assert sum(one.facts for one in ask(service, known, "profiles").items) == 2


RULES = "\n\n".join(f"## Part {part}\n\n" + f"Rule {part} of the house. " * 30 for part in range(40)).encode()
PDF = pdf_of([["Everybody has 28 days of leave."], ["Salaries are paid on the 25th."]], title="Staff handbook")


def uploaded(service: Service, key: Key, body: bytes, folder: Path, **query: Any) -> dict[str, Any]:
    job = ended(service, key, send(service, key, "upload_document", body, folder, **query))
    assert job.result is not None, job.problem
    return job.result


def test_a_file_is_read_in_a_job_and_the_same_name_replaces_it(service: Service, ann: Key, sent: Path):
    first = uploaded(service, ann, PDF, sent, name="../../Handbook.pdf", metadata='{"year": 2024}')
    assert (first["source"], first["title"], first["pages"]) == ("Handbook.pdf", "Staff handbook", 2)
    assert (first["media_type"], first["metadata"]["year"]) == ("application/pdf", 2024)
    assert ask(service, ann, "document", {"id": first["id"]}).chunks == first["chunks"]
    passage = ask(service, ann, "look_up", query="when are salaries paid?").items[0]
    assert (passage.citation.last_page, passage.citation.source) == (2, "Handbook.pdf")
    again = uploaded(service, ann, HANDBOOK.encode(), sent, name="C:\\Handbook.pdf.md", title="Own title")
    assert again["id"] != first["id"]
    assert again["title"] == "Own title"
    replaced = uploaded(service, ann, pdf_of([["Now it is 30 days."]]), sent, name="Handbook.pdf")
    assert replaced["id"] == first["id"]
    assert ask(service, ann, "document_count").documents == 2
    assert "30 days" in ask(service, ann, "document_text", {"id": first["id"]}).text
    assert list(sent.iterdir()) == []


@pytest.fixture
def owing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a document of more than four chunks the vectors are made later."""
    monkeypatch.setattr(vectors, "MOST_AT_ONCE", 4)


@pytest.mark.usefixtures("owing")
def test_a_document_is_found_by_its_words_and_the_note_counts_its_pending_vectors(tmp_path: Path):
    with service_at(tmp_path / "app.db", embedder=HashEmbedder(), work=False) as service:
        ann = key_of(service, "acme", "ann")
        job = send(service, ann, "upload_document", RULES, tmp_path, name="rules.md")
        last = ended(service, ann, job)
        assert last.stage == "storing"
        assert last.result is not None
        pending = service.memory_of(ann.space).knowledge.pending().vectors
        assert last.result["chunks"] == pending == ask(service, ann, "pending").vectors > 4
        assert f"{pending} vectors of this space are still pending" in last.note
        assert ask(service, ann, "look_up", query="rule 77 of the house").items
        service.memory_of(ann.space).flush()
        again = send(service, ann, "upload_document", RULES, tmp_path, name="rules.md")
        assert ended(service, ann, again).note == ""


def test_pending_counts_where_no_documents_can_be(service: Service):
    deep = key_of(service, *(f"level {number}" for number in range(MAX_SEGMENTS - 1)))
    assert ask(service, deep, "pending").vectors == 0


REFUSED: list[tuple[bytes | None, dict[str, Any], str]] = [
    (None, {"name": "a.txt"}, ""), (b"", {"name": "a.txt"}, "empty"), (b" \n ", {"name": "a.txt"}, "empty"),
    (picture(), {"name": "a.png"}, "binary"), (picture(), {"name": "a.pdf"}, "not-what-it-says"),
    (b"PK\x03\x04" + bytes(100), {"name": "a.zip"}, "archive"), (b"\x7fELF" + bytes(100), {"name": "run"}, "binary"),
    (b"text", {"name": ""}, ""), (b"text", {"name": ".."}, ""), (b"text", {"name": "a\x00.txt"}, ""),
    (b"text", {"name": "x" * 256}, ""), (b"text", {}, ""), (b"text", {"name": "a.txt", "metadata": "{"}, ""),
    (b"text", {"name": "a.txt", "metadata": '{"document": 1}'}, ""),
    (b"text", {"name": "a.txt", "metadata": "[" * 5000}, ""), (b"text", {"name": "a.txt", "title": "a\x00"}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "query", "reason"), REFUSED)
def test_what_is_seen_to_be_no_document_is_refused_at_once(
    service: Service, ann: Key, sent: Path, body: bytes | None, query: dict[str, Any], reason: str
):
    with pytest.raises(InvalidInput) as refused:
        send(service, ann, "upload_document", body, sent, **query)
    if reason:
        assert isinstance(refused.value, UnreadableDocument)
        assert refused.value.reason == reason
    assert str(sent) not in str(refused.value)
    assert ask(service, ann, "jobs").items == []
    assert ask(service, ann, "document_count").documents == 0
    assert service.log.entries().items == []
    assert list(sent.iterdir()) == []


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    service: Service, ann: Key, sent: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(handlers, "MOST_BYTES", 10)
    with pytest.raises(UnreadableDocument) as refused:
        send(service, ann, "upload_document", b"eleven bytes", sent, name="a.txt")
    assert refused.value.reason == "too-large"
    assert list(sent.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "reason"), [(pdf_of([["x"]], encrypted=True), "encrypted"), (b"%PDF-1.4 broken", "broken")]
)
def test_what_only_reading_shows_fails_the_job(service: Service, ann: Key, sent: Path, body: bytes, reason: str):
    job = ended(service, ann, send(service, ann, "upload_document", body, sent, name="a.pdf"))
    assert job.problem is not None
    assert (job.status, job.problem["code"], job.problem["reason"]) == ("failed", "unreadable-document", reason)
    assert str(sent) not in str(job.problem)
    assert ask(service, ann, "document_count").documents == 0
    assert list(sent.iterdir()) == []


# Pages of the web


class Pages(BaseHTTPRequestHandler):
    """A page, and redirects to wherever one likes."""

    asked: list[str] = []

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        return

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        away = self.path.removeprefix("/to/") if self.path.startswith("/to/") else ""
        body = b"<title>Tea</title><p>Longjing tea is picked before the rain." if self.path == "/tea" else b""
        self.send_response(302 if away else 200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "text/html")
        if away:
            self.send_header("Location", away)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[int]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    running.daemon_threads = True
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    Pages.asked.clear()
    yield running.server_port
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def public(server: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the server under a name that is taken for public; any other is looked up as ever."""
    resolved = web.resolved

    def looked_up(host: str, port: int, **options: Any) -> Any:
        if host == "pages.example":
            return [(socket.AF_INET, ("127.0.0.1", server))]
        return resolved(host, port, **options)

    monkeypatch.setattr(web, "resolved", looked_up)
    return "http://pages.example"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Let a name stand for an address."""
    known: dict[str, str] = {}
    look_up = socket.getaddrinfo

    def looked_up(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if isinstance(host, str) and host.endswith(".example"):
            if host not in known or options.get("flags"):
                raise socket.gaierror(-2, "Name or service not known")
            return look_up(known[host], port, *args, **options)
        return look_up(host, port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    return known.__setitem__


def fetched(service: Service, key: Key, url: str) -> Job:
    return ended(service, key, ask(service, key, "fetch_document", url=url, metadata={"from": "web"}))


def test_a_page_is_fetched_in_a_job(service: Service, ann: Key, public: str):
    job = fetched(service, ann, f"{public}/tea#part")
    assert job.result is not None, job.problem
    assert (job.status, job.result["added"]) == ("done", [f"{public}/tea"])
    kept = ask(service, ann, "documents").items[0]
    assert (kept.title, kept.metadata["from"]) == ("Tea", "web")
    entry = service.log.entries().items[0]
    assert (entry.action, entry.targets) == ("fetch_document", (kept.id, job.id))
    again = fetched(service, ann, f"{public}/tea")
    assert again.result is not None
    assert again.result["unchanged"] == [f"{public}/tea"]
    lost = fetched(service, ann, f"{public}/none")
    assert lost.problem is not None
    assert (lost.problem["reason"], "404" in lost.problem["detail"]) == ("unreachable", True)


PRIVATE = [
    "http://127.0.0.1:{port}/tea", "http://localhost:{port}/tea", "http://LOCALHOST.:{port}/tea",
    "http://x.localhost:{port}/tea", "http://2130706433:{port}/tea", "http://0177.0.0.1:{port}/tea",
    "http://0x7f.1:{port}/tea", "http://127.1:{port}/tea", "http://0:{port}/tea", "http://[::1]:{port}/tea",
    "http://[::ffff:127.0.0.1]:{port}/tea", "http://[::ffff:7f00:1]:{port}/tea",
    "http://[64:ff9b::7f00:1]:{port}/tea", "http://[fe80::1%25lo]:{port}/tea",
    "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://192.168.1.1/", "http://100.100.100.200/",
    "http://[fd00:ec2::254]/",
]  # fmt: skip
SHAPES = [
    "file:///etc/passwd", "ftp://pages.example/x", "gopher://127.0.0.1:6379/_INFO", "HTTP:127.0.0.1", "//127.0.0.1/x",
    "/etc/passwd", "", "http://", "http://ann:secret@pages.example/", "http://[::1", "http://pages.example:99999999/",
    "javascript:alert(1)", "http://pages.example/" + "x" * 9000,
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE + SHAPES)
def test_what_is_seen_to_be_private_is_refused_at_once(service: Service, ann: Key, server: int, url: str):
    with pytest.raises(UnreadableDocument) as refused:
        ask(service, ann, "fetch_document", url=url.format(port=server) if "{port}" in url else url)
    assert refused.value.reason == "forbidden-address"
    assert "secret" not in str(refused.value)
    assert ask(service, ann, "jobs").items == []
    assert Pages.asked == []


def test_nothing_of_the_own_network_is_reached_or_told(
    service: Service, ann: Key, server: int, public: str, names: Callable[[str, str], None]
):
    names("inside.example", "127.0.0.1")
    names("mapped.example", "::ffff:10.1.2.3")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = probe.getsockname()[1]
    urls = [
        f"http://inside.example:{server}/tea", f"http://inside.example:{closed}/tea", "http://mapped.example/",
        "http://nowhere.example/", *(f"{public}/to/{url.format(port=server)}" for url in PRIVATE),
        f"{public}/to/http://inside.example:{closed}/", f"{public}/to/http://nowhere.example/",
        f"{public}/to/file:///etc/passwd", f"{public}/to/ftp://inside.example/",
        f"{public}/to/{public}/to/http://127.0.0.1:{server}/tea",
    ]  # fmt: skip
    problems: set[str] = set()
    for url in urls:
        job = fetched(service, ann, url)
        assert (job.status, job.problem is not None) == ("failed", True), url
        # All that differs is the job.
        problems.add(str({**(job.problem or {}), "request": ""}))
    assert len(problems) == 1, problems
    assert "forbidden-address" in problems.pop()
    assert "/tea" not in Pages.asked
    assert ask(service, ann, "document_count").documents == 0


# Media


def test_passages_come_with_their_places_and_reasons(service: Service, ann: Key):
    ask(service, ann, "add_document", id="hb", text=HANDBOOK, source="handbook.md")
    found = ask(service, ann, "look_up", query="how many days of paid leave?", documents=["hb"], limit=1)
    [passage] = found.items
    assert "28 days" in passage.text
    assert passage.place.startswith("handbook.md")
    [chinese] = ask(service, ann, "look_up", query="how many days of paid leave?", limit=1, language="zh").items
    assert passage.why != chinese.why


def test_the_bytes_of_a_picture_are_a_file_with_a_harmless_name(service: Service, ann: Key, sent: Path):
    item = send(service, ann, "add_medium", picture(), sent, description="a red wall", name="../wall.png")
    file = ask(service, ann, "medium_data", {"id": item.id})
    assert file == File(content=picture(), media_type="image/png", name="wall.png")
    small = ask(service, ann, "medium_thumbnail", {"id": item.id})
    assert (small.media_type, small.content[:3]) == ("image/jpeg", b"\xff\xd8\xff")
    found = ask(service, ann, "recall_media", query="red wall", language="zh")
    assert [bool(one.why) for one in found.items] == [True]
    assert list(sent.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [(wav(), "", "audio/wav"), (film("webm"), "", "video/webm"), (sound("m4a"), "a.m4a", "audio/mp4")],
    ids=["wav", "webm", "m4a"],
)
def test_sounds_and_films_are_what_their_bytes_say(
    service: Service, ann: Key, sent: Path, data: bytes, name: str, media_type: str
):
    item = send(service, ann, "add_medium", data, sent, description="a tone", name=name)
    # The file on the way has a name that is nobody's.
    assert (item.media_type, item.name) == (media_type, name)
    assert ask(service, ann, "medium_data", {"id": item.id}).media_type == media_type


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (None, {}), (None, {"kind": "image"}), (None, {"kind": "smell", "description": "x"}),
        (b"<svg onload='alert(1)'/>", {"kind": "image"}), (b"<html><script>", {"description": "x"}),
        (picture(), {"kind": "audio"}), (picture(), {"name": "a\x00.png"}), (picture(), {"name": "song.mp3"}),
        (picture(), {"vector": "[1, null]"}), (picture(), {"vector": "not json"}),
        (picture(), {"vector": "[1]", "features": ["red"]}), (picture(), {"metadata": "[1]"}),
        (picture(), {"metadata": '{"a": 1'}), (picture(), {"sentiment": "2"}), (picture(), {"sentiment": ""}),
        (picture(), {"time": "yesterday"}), (picture(), {"strange": "1"}),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_and_leaves_nothing(
    service: Service, ann: Key, sent: Path, body: bytes | None, query: dict[str, Any]
):
    with pytest.raises(InvalidInput):
        send(service, ann, "add_medium", body, sent, **query)
    assert ask(service, ann, "media").items == []
    assert list(sent.iterdir()) == []


def test_media_are_erased_for_good(service: Service, ann: Key, sent: Path):
    item = send(service, ann, "add_medium", picture(), sent, description="a red wall")
    with pytest.raises(NotFound):
        ask(service, ann, "erase_media", ids=[item.id, "no such"])
    assert ask(service, ann, "erase_media", ids=[item.id]).memories == 1
    with pytest.raises(NotFound):
        ask(service, ann, "medium_data", {"id": item.id})
    entry = service.log.entries().items[0]
    assert (entry.action, entry.targets) == ("erase_media", (item.id,))


def test_bytes_are_never_served_as_what_only_an_import_calls_them():
    type_of = handlers._type_of
    assert type_of(b"<html><script>alert(1)</script>", "image/png") == "application/octet-stream"
    assert type_of(picture(), "text/html") == "image/png"
    assert type_of(picture("JPEG"), "image/png") == "image/jpeg"


def test_who_is_told_that_something_was_created_finds_it(service: Service, bob: Key):
    stored = asked_with(service, bob, OPERATIONS["remember"], {}, {"content": "Bob lives in Lyon."})
    refused = asked_with(service, bob, OPERATIONS["remember"], {}, {"content": "ok"})
    assert isinstance(stored.body, bytes)
    assert isinstance(refused.body, bytes)
    assert (stored.status, len(json.loads(stored.body)["ids"])) == (201, 1)
    assert (refused.status, json.loads(refused.body)["ids"]) == (200, [])
