"""Exports and imports over REST, and following a job; names of files that are nothing but labels."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import AccessDenied, InvalidInput, NotFound
from memwell.runtime.wire.running import Job, Key
from memwell.service.call import Events, File
from memwell.service.jobs import Report
from memwell.service.parts import Service
from memwell.service.rest.jobs import label_of
from tests.service.rest.asking import ask, ended, key_of, service_at
from tests.service.rest.sending import send
from tests.service.waiting import PATIENCE_S

MEM0 = json.dumps({"results": [{"id": "1", "memory": "Ann likes tea.", "user_id": "ann"}]}).encode()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_at(tmp_path / "app.db") as opened:
        yield opened


@pytest.fixture
def ann(service: Service) -> Key:
    return key_of(service, "acme", "ann")


@pytest.fixture
def bob(service: Service) -> Key:
    return key_of(service, "acme", "bob")


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    folder = tmp_path / "sent"
    folder.mkdir()
    return folder


def exported(service: Service, key: Key, **options: object) -> File:
    job = ended(service, key, ask(service, key, "export", **options))
    assert job.status == "done", job.problem
    file = ask(service, key, "job_file", {"id": job.id})
    assert isinstance(file, File)
    return file


def test_what_is_exported_is_what_another_space_takes_in(service: Service, ann: Key, bob: Key, sent: Path):
    ask(service, ann, "remember", content="Ann is allergic to nuts. 安对坚果过敏。")
    file = exported(service, ann)
    assert isinstance(file.content, Path)
    assert re.fullmatch(r"memwell-acme-ann-\d{4}-\d\d-\d\d\.jsonl", file.name)
    assert (file.media_type, file.forget) == ("application/jsonl", False)
    data = file.content.read_bytes()
    started = send(service, bob, "import", data, sent, name="memwell.jsonl")
    job = ended(service, bob, started)
    assert job.result is not None
    assert (job.status, job.action, job.result["format"], job.result["failed"]) == ("done", "import", "jsonl", 0)
    assert [hit.text for hit in ask(service, bob, "recall", query="nuts").hits]
    # Doing it again changes nothing.
    again = ended(service, bob, send(service, bob, "import", data, sent))
    assert again.result is not None
    assert sum(again.result["counts"].values()) == 0
    assert list(sent.iterdir()) == []


def test_markdown_is_for_people(service: Service, ann: Key):
    ask(service, ann, "remember", content="Ann is allergic to nuts.")
    file = exported(service, ann, format="markdown")
    assert isinstance(file.content, Path)
    assert (file.media_type, file.name[-3:]) == ("text/markdown; charset=utf-8", ".md")
    assert "allergic to nuts" in file.content.read_text()


@pytest.mark.parametrize("body", [{"format": "xml"}, {"format": ""}, {"format": "markdown", "vectors": True}])
def test_what_cannot_be_exported_so_is_refused_at_once(service: Service, ann: Key, body: dict[str, object]):
    with pytest.raises(InvalidInput):
        ask(service, ann, "export", **body)
    assert ask(service, ann, "jobs").jobs == []


@pytest.mark.parametrize(
    "space", [("../../etc", "x"), ("a/b\\c", "\x01\r\n"), ("...",), ('x"; y=".exe',), ("张三", "é" * 300)]
)
def test_a_file_is_saved_under_a_harmless_name(service: Service, space: tuple[str, ...]):
    name = exported(service, key_of(service, *space)).name
    assert re.fullmatch(r"memwell-[\w-]+-\d{4}-\d\d-\d\d\.jsonl", name)
    assert len(name.encode()) <= 255


def test_a_job_is_seen_by_the_keys_of_its_space_alone(service: Service, ann: Key, bob: Key, tmp_path: Path):
    job = ended(service, ann, ask(service, ann, "export"))
    assert ask(service, ann, "job", {"id": job.id}) == job
    assert ask(service, ann, "jobs").jobs == [job]
    assert ask(service, bob, "jobs").jobs == []
    for name in ("job", "job_events", "job_file"):
        with pytest.raises(NotFound) as hers:
            ask(service, bob, name, {"id": job.id})
        with pytest.raises(NotFound) as nobodys:
            ask(service, bob, name, {"id": "0" * 32})
        # It reads like one that never was.
        assert str(hers.value).replace(job.id, "") == str(nobodys.value).replace("0" * 32, "")
    with pytest.raises(AccessDenied):
        send(service, key_of(service, "acme", "ann", scopes=["read"]), "import", b"x", tmp_path)


def test_events_of_a_job_end_with_it(service: Service, ann: Key):
    job = ask(service, ann, "export")
    for _ in range(2):
        events = ask(service, ann, "job_events", {"id": job.id})
        assert isinstance(events, Events)
        seen = [value for value in events.values if value is not None]
        assert all(isinstance(value, Job) for value in seen)
        assert seen[-1] == ask(service, ann, "job", {"id": job.id})
        assert (seen[-1].status, seen[-1].file[-6:]) == ("done", ".jsonl")


def test_a_job_without_a_file_has_none(service: Service, ann: Key, sent: Path):
    job = ended(service, ann, send(service, ann, "import", MEM0, sent))
    assert job.result is not None
    assert job.result["format"] == "mem0"
    with pytest.raises(NotFound):
        ask(service, ann, "job_file", {"id": job.id})


def test_the_name_tells_a_format_that_the_content_does_not(service: Service, ann: Key, sent: Path):
    table = b"note\nAnn likes tea\n"
    formats: list[str] = []
    for name in ("a/b/NOTES.CSV", "notes.txt", "notes.../x" + "\u00e9" * 100, "", "x.md"):
        job = ended(service, ann, send(service, ann, "import", table, sent, name=name or None))
        formats.append(job.result["format"] if job.result else str(job.problem))
    assert formats == ["csv", "text", "text", "text", "markdown"]
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
    assert ask(service, ann, "jobs").jobs == []
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
    assert ask(service, bob, "recall", query="nuts").hits
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
    with pytest.raises(AccessDenied):
        ask(service, key_of(service, "acme", "ann", scopes=["read"]), "cancel_job", {"id": job.id})
    assert service.log.entries().items == []
    assert ask(service, ann, "cancel_job", {"id": job.id}).status == "running"
    let_go.set()
    found = ended(service, ann, job)
    assert found.problem is not None
    assert (found.status, found.problem["code"]) == ("failed", "cancelled")
    assert [(one.action, one.targets) for one in service.log.entries().items] == [("cancel_job", (job.id,))]
