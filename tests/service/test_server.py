from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import AccessDenied, BackendUnavailable, ConfigurationError
from memwell.records import Space
from memwell.service import server
from memwell.service.keys import BUNDLES, SCOPES, Keys
from memwell.service.server import Local, Visit, address_of, check_tls, first_key, serve, threads_left
from memwell.settings import Settings
from memwell.storage import open_backend
from memwell.values import now
from tests.service.asking import service_at
from tests.service.children import Child
from tests.service.serving import Running, running
from tests.service.waiting import PATIENCE_S

ME = b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("line") / "s.db", serve_max_json_mb=0.1) as opened:
        yield opened


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:80]
    assert b"Traceback" not in answer
    return int(answer[9:12])


MALFORMED = [
    b"hello\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", ME + b"Content-Length: -5\r\n\r\n",
    ME + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ME + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ME + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", ME + b"A b: c\r\n\r\n", ME + b"A: b\x00c\r\n\r\n",
]  # fmt: skip


@pytest.mark.parametrize("sent", MALFORMED)
def test_what_is_not_http_is_a_problem(sent: bytes, run: Running):
    answer = run.raw(sent, end=True)
    # Some is refused by the parser and some, which is odd but HTTP, by the service.
    assert status(answer) in (400, 401, 404, 405, 421, 422)
    assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n"],
        [ME + b"A: " + b"a" * 1_000_000 + b"\r\n\r\n"],
        [ME] + [b"A%d: b\r\n" % n for n in range(20_000)] + [b"\r\n"],
        [ME + b"A: " + b"a" * 70_000 + b"\r\n\r\n"],
    ],
    ids=["address", "header", "many headers", "a little"],
)
def test_a_head_without_end_is_cut_off(pieces: list[bytes], run: Running):
    try:
        answer = run.raw(b"", more=pieces)
    except ConnectionError:
        # It hung up while more was sent.
        return
    assert answer == b"" or status(answer) == 431


def test_a_slow_head_is_not_waited_for(run: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "HEAD_S", 0.2)
    assert status(run.raw(ME)) == 408
    assert run.raw(b"") == b""


def test_a_body_too_large_is_refused_before_it_is_sent(run: Running):
    head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token()}\r\n".encode()
    assert run.first(head + b"Content-Length: 100000000\r\n\r\n").status == 413
    waiting = run.first(head + b"Content-Length: 100000000\r\nExpect: 100-continue\r\n\r\n")
    assert waiting.status == 413
    piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    assert run.first(head + b"Transfer-Encoding: chunked\r\n\r\n", more=[piece] * 4).status == 413


def test_a_body_of_too_many_values_is_refused_before_it_is_sent(tmp_path: Path):
    with running(tmp_path / "s.db", serve_max_json_mb=10) as run:
        head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token()}\r\n".encode()
        said = head + b"Content-Length: 9000000\r\n\r\n" + b'{"content":"x","metadata":{"a":['
        refused = run.first(said, more=[b"1," * 32_768] * 16)
        assert (refused.status, refused.code) == (413, "too-large")
        # In texts they do not tell apart what is a value, so they count as well.
        assert run.first(said, more=[b"[{" * 32_768] * 16).status == 413


@pytest.mark.parametrize("chunked", [False, True])
def test_who_sends_all_of_a_body_too_large_reads_the_refusal(run: Running, chunked: bool):
    line = http.client.HTTPConnection("127.0.0.1", run.port, timeout=PATIENCE_S)
    body = (b"a" * 65_536 for _ in range(300)) if chunked else b"a" * 20_000_000
    line.request("POST", "/v1/memories", body, {"Authorization": f"Bearer {run.token()}"}, encode_chunked=chunked)
    assert line.getresponse().status == 413
    line.close()


def test_who_waits_for_a_word_before_the_body_gets_it(run: Running):
    head = f"POST /v1/count-not HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token()}\r\n".encode()
    body = b'{"query":"a"}'
    said = head.replace(b"count-not", b"recall") + b"Content-Length: 13\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", run.port), timeout=PATIENCE_S) as talk:
        talk.sendall(said)
        assert status(talk.recv(1000)) == 100
        talk.sendall(body)
        assert status(talk.recv(1000)) == 200


def test_a_slow_or_cut_body_stores_nothing(tmp_path: Path):
    with running(tmp_path / "s.db", serve_timeout_s=0.2) as run:
        head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token()}\r\n".encode()
        before = run.counts()
        said = head + b'Content-Length: 30\r\n\r\n{"content":'
        assert run.first(said).status == 408
        run.raw(said, end=True)
        assert run.counts() == before


def test_requests_that_come_at_once_are_answered_in_order(run: Running):
    good = ME + f"Authorization: Bearer {run.token()}\r\n\r\n".encode()
    other = b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = ME + b"Connection: close\r\n\r\n"
    answer = run.raw(good + other + good + last)
    assert [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]] == [200, 404, 200, 401]


def test_a_body_that_was_refused_is_not_read_for_ever(run: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "_DRAIN_S", 0.2)
    head = b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", run.port), timeout=PATIENCE_S) as talk:
        talk.sendall(head)
        assert status(talk.recv(1000)) == 404
        assert talk.recv(1000) == b""


# The temporary key of the user who started a service ends with it, also when it was killed.


def test_a_visit_ends_with_the_service(monkeypatch: pytest.MonkeyPatch):
    with service_at() as service:
        visit = Visit(service)
        later = now() + timedelta(minutes=1)
        monkeypatch.setattr(server, "now", lambda: later)
        service.tick()
        assert service.keys.check(visit.token).expires == later + timedelta(minutes=2)
        # A service that was killed does not renew it: it is over within minutes.
        past = Keys(service.backend, clock=lambda: later + timedelta(minutes=3))
        with pytest.raises(AccessDenied, match="expired"):
            past.check(visit.token)
        visit.end()
        service.tick()
        with pytest.raises(AccessDenied, match="revoked"):
            service.keys.check(visit.token)


CHILD = """
import sys, time
import memwell
from memwell.service import app, parts, server
from memwell.service.call import HANDLERS
from memwell.service.parts import Service
from memwell.service.server import serve
from memwell.settings import load_settings

settings = load_settings()
embedder = None
if len(sys.argv) > 2:
    # What cannot end is not waited for as long as a service would.
    server._PATIENCE_S, app._LAST_MOMENT_S, parts._ALL_S = 0.5, 0.2, 1.0
if "slow" in sys.argv:
    from memwell.models.scripted import HashEmbedder
    class Slow(HashEmbedder):
        def embed(self, texts):
            if any("said" in text for text in texts):
                print("embedding", flush=True)
                time.sleep(600)
            return super().embed(texts)
    embedder = Slow()
service = Service(memwell.open(sys.argv[1], embedder=embedder, settings=settings), settings)
if "hang" in sys.argv:
    from memwell.service import rest
    def hang(call):
        print("hanging", flush=True)
        time.sleep(600)
    HANDLERS["pending"] = hang
serve(service, ready=lambda address: print(address, flush=True))
print("stopped", flush=True)
if service.lingering:
    import os
    os._exit(0)
"""


@contextmanager
def child(store: Path, *more: str, **settings: str) -> Iterator[Child]:
    started = Child(CHILD, str(store), *more, **settings)
    started.start()
    try:
        started.wait()
        yield started
    finally:
        started.end(signal.SIGKILL)


def key_in(store: Path) -> str:
    with open_backend(store) as backend:
        return Keys(backend).create("test", space=Space("a"), scopes=SCOPES, rate=0)[1]


def stored(store: Path) -> set[str]:
    with service_at(store) as service:
        return {hit.id for hit in service.memory_of(Space("a")).memories()}


def test_a_request_that_hangs_does_not_keep_it_from_ending(tmp_path: Path):
    store = tmp_path / "s.db"
    token = key_in(store)
    answers: list[int] = []
    with child(store, "hang") as service:

        def hang() -> None:
            answers.append(service.ask(token, "GET", "/v1/pending")[0])

        hanging = threading.Thread(target=hang)
        hanging.start()
        assert service.line() == "hanging"
        assert service.end(signal.SIGTERM) == (0, "stopped")
        hanging.join(PATIENCE_S)
    # Nobody knows whether it was done, so nobody is told that it was not.
    assert answers == [500]


def test_a_model_in_the_middle_of_its_work_does_not_keep_it_from_ending(tmp_path: Path):
    store = tmp_path / "s.db"
    token = key_in(store)
    with child(store, "slow") as service:
        said = [{"content": f"said {number}"} for number in range(20)]
        for one in said:
            assert service.ask(token, "POST", "/v1/memories", one)[0] == 201
        assert service.line() == "embedding"
        # It says so itself: whoever runs it ends the process without taking anything from under the model.
        assert service.end(signal.SIGTERM) == (0, "stopped")
    assert len(stored(store)) == 20


# TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_it_speaks_tls_by_two_files(tls: tuple[str, str], tmp_path: Path):
    store = tmp_path / "s.db"
    token = key_in(store)
    with child(store, MEMWELL_SERVE_TLS_CERTIFICATE=tls[0], MEMWELL_SERVE_TLS_KEY=tls[1]) as service:
        assert service.address.startswith("https://")
        line = http.client.HTTPSConnection("localhost", service.port, context=ssl.create_default_context(cafile=tls[0]))
        line.request("GET", "/v1/me", headers={"Authorization": f"Bearer {token}"})
        answer = line.getresponse()
        assert (answer.status, json.loads(answer.read())["key"]["space"]) == (200, ["a"])
        line.close()
        with pytest.raises((OSError, http.client.HTTPException)):
            service.ask(token, "GET", "/v1/me")
        assert service.end(signal.SIGINT) == (0, "stopped")


def test_tls_files_that_do_not_fit_are_named(tls: tuple[str, str], tmp_path: Path):
    broken = tmp_path / "broken.pem"
    broken.write_text("hello")
    assert check_tls(Settings()) is None
    assert check_tls(Settings(serve_tls_certificate=tls[0], serve_tls_key=tls[1])) is None
    for certificate, key, told in (
        (tls[0], "", "both"),
        ("", tls[1], "both"),
        (tls[0], "/no/such", "/no/such"),
        (str(broken), tls[1], "broken.pem"),
        (tls[1], tls[0], "cannot be used"),
    ):
        with pytest.raises(ConfigurationError, match=told) as error:
            check_tls(Settings(serve_tls_certificate=certificate, serve_tls_key=key))
        assert "\n" not in str(error.value)


# Beginning


def test_an_address_that_is_taken_is_named_before_anything_is_done():
    announced: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken, service_at() as service:
        service.settings = Settings(serve_port=taken.getsockname()[1], serve_log="off")
        with pytest.raises(ConfigurationError, match="another port"):
            serve(service, ready=announced.append)
        service.settings = Settings(serve_host="no.such.host.invalid", serve_log="off")
        with pytest.raises(ConfigurationError, match=r"no\.such\.host"):
            serve(service, ready=announced.append)
        service.settings = Settings(serve_port=99_999, serve_log="off")
        with pytest.raises(ConfigurationError):
            serve(service, ready=announced.append)
    assert announced == []


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        (Settings(), "http://127.0.0.1:80"),
        (Settings(serve_host="0.0.0.0"), "http://127.0.0.1:80"),
        (Settings(serve_host="::1"), "http://[::1]:80"),
        (Settings(serve_host="::"), "http://127.0.0.1:80"),
        (Settings(serve_host="memory.example", serve_tls_certificate="c"), "https://memory.example:80"),
    ],
)
def test_where_a_browser_finds_it(settings: Settings, address: str):
    assert address_of(settings, 80) == address


def test_threads_take_turns_often_while_it_serves():
    class Over(Exception):
        pass

    noted, before = list[float](), sys.getswitchinterval()

    def ready(address: str) -> None:
        noted.append(sys.getswitchinterval())
        raise Over

    with service_at() as service:
        service.settings = Settings(serve_port=0, serve_log="off")
        with pytest.raises(Over):
            serve(service, ready=ready)
    assert noted == [pytest.approx(0.0005)]
    assert sys.getswitchinterval() == before


def test_the_first_key_is_made_once_and_logged():
    with service_at() as service:
        made = first_key(service)
        assert made is not None
        assert service.keys.check(made[1]).scopes == BUNDLES["operator"]
        assert first_key(service) is None
        assert [entry.action for entry in service.log.entries().items] == ["create_key"]


def test_a_thread_of_ours_that_works_on_is_seen():
    let_go = threading.Event()
    others = threading.Thread(target=let_go.wait, args=(PATIENCE_S,), name="somebody-else")
    own = threading.Thread(target=let_go.wait, args=(PATIENCE_S,), name="memwell-test")
    before = threads_left()
    others.start()
    assert threads_left() == before
    own.start()
    assert threads_left()
    let_go.set()
    for one in (own, others):
        one.join(PATIENCE_S)


# A service in a thread: what an application's own tests would start.


def told(served: Local, path: str) -> dict[str, Any]:
    asked = urllib.request.Request(served.url + path, headers={"Authorization": f"Bearer {served.key}"})
    with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
        return json.loads(answer.read())


def test_it_serves_a_space_and_keys_for_others_until_it_is_closed():
    with Local("memory:", embedder=None) as served:
        with memwell.open(served.url, key=served.key) as mine:
            mine.remember("Ann is allergic to nuts.")
        with memwell.open(served.url, key=served.key_for("bob", "read")) as his:
            assert his.recall("nuts") == []
            with pytest.raises(AccessDenied):
                his.remember("not with this key")
        with memwell.open(served.url, key=served.key) as again:
            assert [hit.text for hit in again.recall("nuts")] == ["Ann is allergic to nuts."]
    with pytest.raises(BackendUnavailable):
        memwell.open(served.url, key=served.key)


def test_who_speaks_is_an_active_user():
    with Local("memory:", embedder=None) as served:
        assert told(served, "/v1/figures")["active"]["speakers_day"] == 0
        with memwell.open(served.url, key=served.key) as memory:
            for speaker in ("Ann", "Ben", "Ann"):
                memory.remember(f"{speaker} drinks tea in the morning", speaker=speaker)
            memory.recall("tea", speaker="Carla")
        active = told(served, "/v1/figures")["active"]
        assert (active["spaces_day"], active["speakers_day"]) == (1, 2)
