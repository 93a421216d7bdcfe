"""Documents over REST: files become documents in jobs, pages are fetched from the public internet alone."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import AccessDenied, InvalidInput, NotFound, UnreadableDocument
from memwell.knowledge import shelf as vectors
from memwell.knowledge.reading import web
from memwell.knowledge.reading import web as addresses
from memwell.models.scripted import HashEmbedder
from memwell.records import MAX_SEGMENTS
from memwell.runtime.wire.running import Job, Key
from memwell.service.call import File
from memwell.service.parts import Service
from memwell.service.rest import documents as handlers
from tests.knowledge.bench import HANDBOOK, SHOUCE
from tests.knowledge.reading.conftest import pdf_of
from tests.media_files import film, picture, sound, wav
from tests.service.rest.asking import ask, ended, key_of, service_at
from tests.service.rest.sending import send

RULES = "\n\n".join(f"## Part {part}\n\n" + f"Rule {part} of the house. " * 30 for part in range(40)).encode()
PDF = pdf_of([["Everybody has 28 days of leave."], ["Salaries are paid on the 25th."]], title="Staff handbook")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_at(tmp_path / "app.db") as opened:
        yield opened


@pytest.fixture
def ann(service: Service) -> Key:
    return key_of(service, "acme", "ann")


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    folder = tmp_path / "sent"
    folder.mkdir()
    return folder


def uploaded(service: Service, key: Key, body: bytes, folder: Path, **query: Any) -> dict[str, Any]:
    job = ended(service, key, send(service, key, "upload_document", body, folder, **query))
    assert job.result is not None, job.problem
    return job.result


def watched(service: Service, key: Key, job: Job) -> list[Job]:
    """All that is told of a job until it ends."""
    seen: list[Job] = []
    for one in service.jobs.watch(key.space, job.id):
        if one is None:
            time.sleep(0.01)
        else:
            seen.append(one)
    return seen


def test_documents_are_logged_and_passages_come_with_their_places(service: Service, ann: Key):
    ask(service, ann, "add_document", id="hb", text=HANDBOOK, source="handbook.md")
    ask(service, ann, "add_document", id="sc", text=SHOUCE, title="员工手册")
    found = ask(service, ann, "look_up", query="how many days of paid leave?", documents=["hb"], limit=1)
    assert "28 days" in found.passages[0].text
    assert found.places[0].startswith("handbook.md")
    assert found.why != ask(service, ann, "look_up", query="how many days of paid leave?", limit=1, language="zh").why
    assert [ask(service, ann, "remove_document", {"id": "hb"}).done for _ in range(2)] == [1, 0]
    assert [(one.action, one.targets) for one in service.log.entries().items] == [
        ("remove_document", ("hb",)),
        ("add_document", ("sc",)),
        ("add_document", ("hb",)),
    ]


def test_a_file_is_read_in_a_job_and_the_same_name_replaces_it(service: Service, ann: Key, sent: Path):
    first = uploaded(service, ann, PDF, sent, name="../../Handbook.pdf", metadata='{"year": 2024}')
    assert (first["source"], first["title"], first["pages"]) == ("Handbook.pdf", "Staff handbook", 2)
    assert (first["media_type"], first["metadata"]["year"]) == ("application/pdf", 2024)
    assert ask(service, ann, "document", {"id": first["id"]}).chunks == first["chunks"]
    passage = ask(service, ann, "look_up", query="when are salaries paid?").passages[0]
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
        seen = watched(service, ann, job)
        known = ["", "reading", "storing"]
        stages = [known.index(one.stage) for one in seen]
        assert stages == sorted(stages)
        last = seen[-1]
        assert last.result is not None
        pending = service.memory_of(ann.space).knowledge.pending().vectors
        assert last.result["chunks"] == pending == ask(service, ann, "pending").vectors > 4
        assert f"{pending} vectors of this space are still pending" in last.note
        assert ask(service, ann, "look_up", query="rule 77 of the house").passages
        service.memory_of(ann.space).flush()
        again = send(service, ann, "upload_document", RULES, tmp_path, name="rules.md")
        assert ended(service, ann, again).note == ""


def test_pending_counts_where_no_documents_can_be(service: Service):
    deep = key_of(service, *(f"level {number}" for number in range(MAX_SEGMENTS - 1)))
    assert ask(service, deep, "pending").vectors == 0


REFUSED: list[tuple[bytes | None, dict[str, Any], str]] = [
    (None, {"name": "a.txt"}, ""),
    (b"", {"name": "a.txt"}, "empty"),
    (b" \n ", {"name": "a.txt"}, "empty"),
    (picture(), {"name": "a.png"}, "binary"),
    (picture(), {"name": "a.pdf"}, "not-what-it-says"),
    (b"PK\x03\x04" + bytes(100), {"name": "a.zip"}, "archive"),
    (b"\x7fELF" + bytes(100), {"name": "run"}, "binary"),
    (b"text", {"name": ""}, ""),
    (b"text", {"name": ".."}, ""),
    (b"text", {"name": "a\x00.txt"}, ""),
    (b"text", {"name": "x" * 256}, ""),
    (b"text", {}, ""),
    (b"text", {"name": "a.txt", "metadata": "{"}, ""),
    (b"text", {"name": "a.txt", "metadata": '{"document": 1}'}, ""),
    (b"text", {"name": "a.txt", "metadata": "[" * 5000}, ""),
    (b"text", {"name": "a.txt", "title": "a\x00"}, ""),
]


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
    assert ask(service, ann, "jobs").jobs == []
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
    resolved = addresses.resolved

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
    kept = ask(service, ann, "documents").documents[0]
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
    "http://127.0.0.1:{port}/tea",
    "http://localhost:{port}/tea",
    "http://LOCALHOST.:{port}/tea",
    "http://x.localhost:{port}/tea",
    "http://2130706433:{port}/tea",
    "http://0177.0.0.1:{port}/tea",
    "http://0x7f.1:{port}/tea",
    "http://127.1:{port}/tea",
    "http://0:{port}/tea",
    "http://[::1]:{port}/tea",
    "http://[::ffff:127.0.0.1]:{port}/tea",
    "http://[::ffff:7f00:1]:{port}/tea",
    "http://[64:ff9b::7f00:1]:{port}/tea",
    "http://[fe80::1%25lo]:{port}/tea",
    "http://169.254.169.254/latest/meta-data",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://100.100.100.200/",
    "http://[fd00:ec2::254]/",
]
SHAPES = [
    "file:///etc/passwd",
    "ftp://pages.example/x",
    "gopher://127.0.0.1:6379/_INFO",
    "HTTP:127.0.0.1",
    "//127.0.0.1/x",
    "/etc/passwd",
    "",
    "http://",
    "http://ann:secret@pages.example/",
    "http://[::1",
    "http://pages.example:99999999/",
    "javascript:alert(1)",
    "http://pages.example/" + "x" * 9000,
]


@pytest.mark.parametrize("url", PRIVATE + SHAPES)
def test_what_is_seen_to_be_private_is_refused_at_once(service: Service, ann: Key, server: int, url: str):
    with pytest.raises(UnreadableDocument) as refused:
        ask(service, ann, "fetch_document", url=url.format(port=server) if "{port}" in url else url)
    assert refused.value.reason == "forbidden-address"
    assert "secret" not in str(refused.value)
    assert ask(service, ann, "jobs").jobs == []
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
        f"http://inside.example:{server}/tea",
        f"http://inside.example:{closed}/tea",
        "http://mapped.example/",
        "http://nowhere.example/",
        *(f"{public}/to/{url.format(port=server)}" for url in PRIVATE),
        f"{public}/to/http://inside.example:{closed}/",
        f"{public}/to/http://nowhere.example/",
        f"{public}/to/file:///etc/passwd",
        f"{public}/to/ftp://inside.example/",
        f"{public}/to/{public}/to/http://127.0.0.1:{server}/tea",
    ]
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


def test_a_picture_comes_back_as_it_was(service: Service, ann: Key, sent: Path):
    data = picture()
    item = send(
        service,
        ann,
        "add_medium",
        data,
        sent,
        description="a red wall in 杭州",
        features=["red", "wall"],
        sentiment="0.5",
        session="trip",
        speaker="Ann",
        name="../wall.png",
        metadata={"camera": "old"},
        time="2024-05-01T12:00:00Z",
    )
    assert (item.kind, item.media_type, item.name, item.size) == ("image", "image/png", "wall.png", len(data))
    assert (item.features, item.sentiment, item.session, item.speaker) == (("red", "wall"), 0.5, "trip", "Ann")
    assert (item.metadata, item.time) == ({"camera": "old"}, datetime(2024, 5, 1, 12, tzinfo=UTC))
    found = ask(service, ann, "medium", {"id": item.id})
    assert found == item
    file = ask(service, ann, "medium_data", {"id": item.id})
    assert file == File(content=data, media_type="image/png", name="wall.png")
    small = ask(service, ann, "medium_thumbnail", {"id": item.id})
    assert (small.media_type, small.content[:3]) == ("image/jpeg", b"\xff\xd8\xff")
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


def test_a_medium_may_only_be_described(service: Service, ann: Key, sent: Path):
    item = send(service, ann, "add_medium", None, sent, kind="video", transcript="我们去了西湖", sentiment="calm")
    assert (item.kind, item.size, item.sentiment) == ("video", 0, "calm")
    for name in ("medium_data", "medium_thumbnail"):
        with pytest.raises(NotFound):
            ask(service, ann, name, {"id": item.id})


def test_media_are_recalled_and_found_by_likeness_with_their_reasons(service: Service, ann: Key, sent: Path):
    wall = send(service, ann, "add_medium", picture(), sent, description="a red wall", session="trip")
    tone = send(service, ann, "add_medium", wav(), sent, description="a rising tone", vector="[1, 0, 2.5]")
    assert [one.id for one in ask(service, ann, "media", kinds=["audio", "video"]).media] == [tone.id]
    found = ask(service, ann, "recall_media", query="red wall", language="zh")
    assert found.media[0].id == wall.id
    assert len(found.why) == len(found.media)
    alike = ask(service, ann, "like_media", vector=[1, 0, 2])
    assert ([one.id for one in alike.media], alike.why[0][:14]) == ([tone.id], "alike features")


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (None, {}),
        (None, {"kind": "image"}),
        (None, {"kind": "smell", "description": "x"}),
        (b"<svg onload='alert(1)'/>", {"kind": "image"}),
        (b"<html><script>", {"description": "x"}),
        (picture(), {"kind": "audio"}),
        (picture(), {"name": "a\x00.png"}),
        (picture(), {"name": "song.mp3"}),
        (picture(), {"vector": "[1, null]"}),
        (picture(), {"vector": "not json"}),
        (picture(), {"vector": "[1]", "features": ["red"]}),
        (picture(), {"metadata": "[1]"}),
        (picture(), {"metadata": '{"a": 1'}),
        (picture(), {"sentiment": "2"}),
        (picture(), {"sentiment": ""}),
        (picture(), {"time": "yesterday"}),
        (picture(), {"strange": "1"}),
    ],
)
def test_what_breaks_a_rule_is_refused_and_leaves_nothing(
    service: Service, ann: Key, sent: Path, body: bytes | None, query: dict[str, Any]
):
    with pytest.raises(InvalidInput):
        send(service, ann, "add_medium", body, sent, **query)
    assert ask(service, ann, "media").media == []
    assert list(sent.iterdir()) == []


def test_media_are_erased_for_good_by_who_may(service: Service, ann: Key, sent: Path):
    item = send(service, ann, "add_medium", picture(), sent, description="a red wall")
    writer = key_of(service, "acme", "ann", scopes=["read", "write"])
    with pytest.raises(AccessDenied):
        ask(service, writer, "erase_media", ids=[item.id])
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
