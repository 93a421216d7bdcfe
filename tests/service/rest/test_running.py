"""The service itself over REST; and of every route with an id in its address, that it reaches nothing of another space."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import AccessDenied, BackendError, Busy, InvalidInput, MemwellError, NotFound
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.wire.codec import encode
from memwell.runtime.wire.running import Job, Key
from memwell.service.call import Events, File
from memwell.service.jobs import Report
from memwell.service.parts import Service
from memwell.service.rest.running import label_of
from tests.service.rest.asking import ask, ended, key_of, service_at
from tests.service.rest.sending import send
from tests.service.waiting import PATIENCE_S

NOBODY = Key(id="", name="", space=Space("nobody"), scopes=(), created=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


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


# Grants


def test_grants_are_given_listed_and_ended(service: Service):
    ann, bob = key_of(service, "ann"), key_of(service, "bob")
    until = datetime.now(UTC) + timedelta(days=1)
    given = ask(service, ann, "grant", to=["bob"], write=True, until=until.isoformat())
    assert (given.owner, given.to, given.write, given.until) == (ann.space, bob.space, True, until)
    assert ask(service, ann, "grants").given == ask(service, bob, "grants").received == [given]
    assert ask(service, ann, "grants").received == ask(service, bob, "grants").given == []
    assert ask(service, ann, "revoke_grant", to=["bob"]).done == 1
    assert ask(service, ann, "revoke_grant", to=["bob"]).done == 0
    assert ask(service, bob, "grants").received == []
    entries = service.log.entries().items
    assert [(one.action, one.targets) for one in entries] == [("revoke_grant", ('["bob"]',)), ("grant", ('["bob"]',))]


# Keys


def test_a_key_is_made_shown_once_and_works(service: Service, operator: Key):
    made = ask(service, operator, "create_key", name="phone", space=["acme", "ann"], scopes=["write", "read"], rate=7)
    assert service.keys.check(made.token).id == made.key.id
    assert (made.key.space, made.key.scopes, made.key.rate) == (Space("acme", "ann"), ("read", "write"), 7)
    secret = made.token.rpartition("_")[2]
    listed = ask(service, operator, "keys").keys
    assert made.key.id in {key.id for key in listed}
    assert secret not in encode([listed, service.log.entries().items]).decode()
    assert [key.id for key in ask(service, operator, "keys", space=["acme", "ann"]).keys] == [made.key.id]
    entry = service.log.entries().items[0]
    assert (entry.action, entry.targets) == ("create_key", (made.key.id, '["acme","ann"]'))


def test_a_key_ends_after_its_days(service: Service, operator: Key):
    made = ask(service, operator, "create_key", name="x", space=["a"], scopes=["read"], expires_days=0.5)
    left = made.key.expires - datetime.now(UTC)
    assert timedelta(hours=11) < left <= timedelta(hours=12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"space": ["memwell", "service"]},
        {"space": []},
        {"expires_days": 0},
        {"expires_days": 1e300},
        {"id": "mine"},
    ],
)
def test_a_key_that_breaks_a_rule_is_not_made(service: Service, operator: Key, wrong: dict[str, Any]):
    with pytest.raises(InvalidInput):
        ask(service, operator, "create_key", **{"name": "x", "space": ["a"], "scopes": ["read"], **wrong})
    assert [key.id for key in service.keys.all()] == [operator.id]
    assert service.log.entries().items == []


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


# The log


def test_the_log_is_read_in_pages_and_verified(service: Service, operator: Key):
    for number in range(5):
        ask(service, operator, "grant", to=[f"space {number}"])
    service.log.append("refused", outcome="refused")
    first = ask(service, operator, "log", limit=4)
    rest = ask(service, operator, "log", limit=4, cursor=first.next)
    entries = [*first.items, *rest.items]
    assert [entry.number for entry in entries] == [6, 5, 4, 3, 2, 1]
    assert (entries[0].key, entries[0].space, entries[0].outcome) == (None, None, "refused")
    assert (entries[1].key, entries[1].space) == (operator.id, operator.space)
    assert all(one.previous == other.digest for one, other in pairwise(entries))
    verified = ask(service, operator, "verify_log")
    assert (verified.entries, verified.ok, verified.broken_at, verified.head) == (6, True, None, entries[0].digest)
    for bad in ({"limit": 0}, {"limit": 1001}, {"cursor": "x"}):
        with pytest.raises(InvalidInput):
            ask(service, operator, "log", **bad)


# Health


def test_a_service_that_stops_is_alive_but_not_ready(service: Service):
    service.stopping = True
    assert ask(service, NOBODY, "live").status == "ok"
    with pytest.raises(Busy) as told:
        ask(service, NOBODY, "ready")
    assert told.value.code == "stopping"


def test_a_service_whose_store_is_gone_is_not_ready(tmp_path: Path):
    with service_at(tmp_path / "app.db") as service:
        service.backend.close()
        with pytest.raises((BackendError, MemwellError)):
            ask(service, NOBODY, "ready")


# Exports and imports over REST, and following a job; names of files that are nothing but labels.


MEM0 = json.dumps({"results": [{"id": "1", "memory": "Ann likes tea.", "user_id": "ann"}]}).encode()


@pytest.fixture
def jobs_service(tmp_path: Path) -> Iterator[Service]:
    with service_at(tmp_path / "app.db") as opened:
        yield opened


@pytest.fixture
def ann(jobs_service: Service) -> Key:
    return key_of(jobs_service, "acme", "ann")


@pytest.fixture
def bob(jobs_service: Service) -> Key:
    return key_of(jobs_service, "acme", "bob")


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    folder = tmp_path / "sent"
    folder.mkdir()
    return folder


def exported(jobs_service: Service, key: Key, **options: object) -> File:
    job = ended(jobs_service, key, ask(jobs_service, key, "export", **options))
    assert job.status == "done", job.problem
    file = ask(jobs_service, key, "job_file", {"id": job.id})
    assert isinstance(file, File)
    return file


@pytest.mark.parametrize("body", [{"format": "xml"}, {"format": ""}, {"format": "markdown", "vectors": True}])
def test_what_cannot_be_exported_so_is_refused_at_once(jobs_service: Service, ann: Key, body: dict[str, object]):
    with pytest.raises(InvalidInput):
        ask(jobs_service, ann, "export", **body)
    assert ask(jobs_service, ann, "jobs").jobs == []


@pytest.mark.parametrize(
    "space", [("../../etc", "x"), ("a/b\\c", "\x01\r\n"), ("...",), ('x"; y=".exe',), ("张三", "é" * 300)]
)
def test_a_file_is_saved_under_a_harmless_name(jobs_service: Service, space: tuple[str, ...]):
    name = exported(jobs_service, key_of(jobs_service, *space)).name
    assert re.fullmatch(r"memwell-[\w-]+-\d{4}-\d\d-\d\d\.jsonl", name)
    assert len(name.encode()) <= 255


def test_a_job_is_seen_by_the_keys_of_its_space_alone(jobs_service: Service, ann: Key, bob: Key, tmp_path: Path):
    job = ended(jobs_service, ann, ask(jobs_service, ann, "export"))
    assert ask(jobs_service, ann, "job", {"id": job.id}) == job
    assert ask(jobs_service, ann, "jobs").jobs == [job]
    assert ask(jobs_service, bob, "jobs").jobs == []
    for name in ("job", "job_events", "job_file"):
        with pytest.raises(NotFound) as hers:
            ask(jobs_service, bob, name, {"id": job.id})
        with pytest.raises(NotFound) as nobodys:
            ask(jobs_service, bob, name, {"id": "0" * 32})
        # It reads like one that never was.
        assert str(hers.value).replace(job.id, "") == str(nobodys.value).replace("0" * 32, "")
    with pytest.raises(AccessDenied):
        send(jobs_service, key_of(jobs_service, "acme", "ann", scopes=["read"]), "import", b"x", tmp_path)


def test_events_of_a_job_end_with_it(jobs_service: Service, ann: Key):
    job = ask(jobs_service, ann, "export")
    for _ in range(2):
        events = ask(jobs_service, ann, "job_events", {"id": job.id})
        assert isinstance(events, Events)
        seen = [value for value in events.values if value is not None]
        assert all(isinstance(value, Job) for value in seen)
        assert seen[-1] == ask(jobs_service, ann, "job", {"id": job.id})
        assert (seen[-1].status, seen[-1].file[-6:]) == ("done", ".jsonl")


def test_a_job_without_a_file_has_none(jobs_service: Service, ann: Key, sent: Path):
    job = ended(jobs_service, ann, send(jobs_service, ann, "import", MEM0, sent))
    assert job.result is not None
    assert job.result["format"] == "mem0"
    with pytest.raises(NotFound):
        ask(jobs_service, ann, "job_file", {"id": job.id})


def test_the_name_tells_a_format_that_the_content_does_not(jobs_service: Service, ann: Key, sent: Path):
    table = b"note\nAnn likes tea\n"
    formats: list[str] = []
    for name in ("a/b/NOTES.CSV", "notes.txt", "notes.../x" + "\u00e9" * 100, "", "x.md"):
        job = ended(jobs_service, ann, send(jobs_service, ann, "import", table, sent, name=name or None))
        formats.append(job.result["format"] if job.result else str(job.problem))
    assert formats == ["csv", "text", "text", "text", "markdown"]
    named = ended(jobs_service, ann, send(jobs_service, ann, "import", table, sent, name="x.csv", format="text"))
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
    jobs_service: Service, ann: Key, sent: Path, body: bytes | None, query: dict[str, str]
):
    with pytest.raises(InvalidInput) as refused:
        send(jobs_service, ann, "import", body, sent, **query)
    assert str(sent) not in str(refused.value)
    assert "upload" not in str(refused.value)
    assert ask(jobs_service, ann, "jobs").jobs == []
    assert list(sent.iterdir()) == []


def test_a_broken_file_says_what_is_wrong_and_what_was_taken(jobs_service: Service, ann: Key, bob: Key, sent: Path):
    ask(jobs_service, ann, "remember", content="Ann is allergic to nuts.")
    file = exported(jobs_service, ann)
    assert isinstance(file.content, Path)
    lines = file.content.read_bytes().splitlines(keepends=True)
    torn = ended(
        jobs_service, bob, send(jobs_service, bob, "import", b"".join(lines) + b'{"type": "memory", "te', sent)
    )
    assert torn.result is not None
    assert (torn.status, torn.result["failed"]) == ("done", 1)
    assert torn.result["problems"][0]["number"] == len(lines) + 1
    assert sum(torn.result["counts"].values()) > 0
    assert ask(jobs_service, bob, "recall", query="nuts").hits
    # A file that is not what it is called is a failure, told by the name it was sent under.
    wrong = ended(
        jobs_service, bob, send(jobs_service, bob, "import", b"[1, 2", sent, name="chats.json", format="chatgpt")
    )
    told = json.dumps([wrong.problem, wrong.result])
    assert str(sent) not in told
    assert "upload" not in told
    assert wrong.status == "failed" or (wrong.result is not None and wrong.result["failed"])
    users = ended(jobs_service, bob, send(jobs_service, bob, "import", b"a note", sent, name="notes.txt", user="ann"))
    assert users.problem is not None
    assert (users.status, users.problem["code"]) == ("failed", "invalid-input")
    assert list(sent.iterdir()) == []


def test_exports_and_imports_are_logged_without_a_word_of_their_content(jobs_service: Service, ann: Key, sent: Path):
    out = ended(jobs_service, ann, ask(jobs_service, ann, "export"))
    back = ended(jobs_service, ann, send(jobs_service, ann, "import", MEM0, sent, name="secret plans.json"))
    entries = jobs_service.log.entries().items
    assert [(one.action, one.targets) for one in entries[:2]] == [("import", (back.id,)), ("export", (out.id,))]
    assert "secret" not in repr(entries)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\x", "x"),
        ("C:\\Users\\Ann\\手册.pdf", "手册.pdf"),
        ("C:notes.txt", "notes.txt"),
        ("/etc/shadow", "shadow"),
        ("\\\\host\\share\\a.md", "a.md"),
        ("cafe\u0301.txt", "café.txt"),
        (" a b.txt ", "a b.txt"),
        (".hidden", ".hidden"),
    ],
)
def test_of_a_path_only_the_last_part_counts(name: str, label: str):
    assert label_of(name) == label


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "...",
        " ",
        "a/",
        "a/..",
        "C:",
        "C:\\",
        "\x00",
        "a\nb",
        "a\x7f",
        "a\u202etxt.exe",
        "\ud800",
        "a" * 256,
    ],
)
def test_what_is_no_name_is_refused(name: str):
    with pytest.raises(InvalidInput):
        label_of(name)


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


def test_a_job_is_cancelled_by_its_own_space_and_logged(jobs_service: Service, ann: Key, bob: Key):
    begun, let_go = threading.Event(), threading.Event()

    def work(report: Report) -> None:
        report("holding")
        begun.set()
        assert let_go.wait(PATIENCE_S)
        report("holding", 1)

    job = jobs_service.jobs.start(ann.space, "hold", work)
    assert begun.wait(PATIENCE_S)
    with pytest.raises(NotFound):
        ask(jobs_service, bob, "cancel_job", {"id": job.id})
    with pytest.raises(AccessDenied):
        ask(jobs_service, key_of(jobs_service, "acme", "ann", scopes=["read"]), "cancel_job", {"id": job.id})
    assert jobs_service.log.entries().items == []
    assert ask(jobs_service, ann, "cancel_job", {"id": job.id}).status == "running"
    let_go.set()
    found = ended(jobs_service, ann, job)
    assert found.problem is not None
    assert (found.status, found.problem["code"]) == ("failed", "cancelled")
    assert [(one.action, one.targets) for one in jobs_service.log.entries().items] == [("cancel_job", (job.id,))]
