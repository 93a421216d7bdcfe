"""The client against a server of the test's own, and against a real one where it is installed."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BadModelOutput, ConfigurationError, InvalidInput, MissingDependency, ModelError
from memwell.language.claims import relation_of
from memwell.longterm.indexing import SaidText, model_claims
from memwell.messages import Role, ai, human, system
from memwell.models import Tool, Usage, http
from memwell.models.http import OpenAICompatible, Patience, Transport, chat_body, read_completion, read_embeddings
from memwell.models.ledger import Ledger, Price
from tests.engines.chat import IS_HERE, MISSING, start_server
from tests.ports import closed_port

if TYPE_CHECKING:
    from tests.models.conftest import BadServer, Handler, Reply


# Requests against a server that misbehaves: repeated when that helps, bounded always, and the key is never shown.


KEY = "sk-very-secret-0123456789"
QUICK = Patience(retries=3, first_wait_s=0.01)


def connect(server: BadServer, patience: Patience = QUICK) -> tuple[Transport, list[float]]:
    waits: list[float] = []
    return Transport(server.url, key=KEY, patience=patience, pause=waits.append), waits


def reply(body: bytes, status: int = 200, **headers: str) -> Reply:
    return lambda handler: handler.send(body, status, **headers)


def test_a_request_that_is_refused_for_now_is_repeated(server: BadServer):
    server.script = [reply(b"busy", 429), reply(b"", 503), reply(b"oops", 500), reply(b"fine")]
    link, waits = connect(server)
    assert link.post("chat/completions", {"a": 1}) == b"fine"
    assert len(waits) == 3
    assert all(0 <= wait <= 0.01 * 2**number for number, wait in enumerate(waits))
    assert {seen[0] for seen in server.seen} == {"/v1/chat/completions"}
    assert server.seen[0][1]["authorization"] == f"Bearer {KEY}"


def test_after_so_many_times_it_gives_up(server: BadServer):
    server.script = [reply(b"<html>Bad gateway</html>", 502)]
    link, waits = connect(server)
    with pytest.raises(ModelError, match="502 Bad Gateway: '<html>"):
        link.post("x", {})
    assert (len(server.seen), len(waits)) == (4, 3)


def test_what_will_not_get_better_is_not_repeated(server: BadServer):
    server.script = [reply(b'{"error": "no such model"}', 404)]
    link, waits = connect(server)
    with pytest.raises(ModelError, match=r"404 Not Found.*no such model"):
        link.post("x", {})
    assert (len(server.seen), waits) == (1, [])


def test_the_server_says_how_long_to_wait(server: BadServer):
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server.script = [
        reply(b"", 429, retry_after="2"),
        reply(b"", 429, retry_after=later),
        reply(b"", 429, retry_after="whenever"),
        reply(b"fine"),
    ]
    link, waits = connect(server, Patience(retries=3, first_wait_s=0.01, most_wait_s=10_000))
    assert link.post("x", {}) == b"fine"
    assert waits[0] == 2.0
    assert 1_800 < waits[1] <= 3_600
    assert waits[2] <= 0.04


def test_a_server_that_asks_for_too_long_is_not_waited_for(server: BadServer):
    server.script = [reply(b"later", 429, retry_after="3600")]
    link, waits = connect(server)
    with pytest.raises(ModelError, match="asks to wait 3600 s"):
        link.post("x", {})
    assert waits == []


def test_nobody_listens():
    waits: list[float] = []
    with closed_port() as port:
        link = Transport(f"http://127.0.0.1:{port}", patience=QUICK, pause=waits.append)
        with pytest.raises(ModelError, match="ConnectError"):
            link.post("x", {})
    assert len(waits) == 3


def test_a_silent_server_is_left(server: BadServer):
    left = threading.Event()

    def say_nothing(handler: Handler) -> None:
        left.wait(60)

    server.script = [say_nothing]
    link, waits = connect(server, Patience(read_s=0.05, retries=3))
    with pytest.raises(ModelError, match="ReadTimeout"):
        link.post("x", {})
    left.set()
    assert waits == [], "the server may be at work, and be paid for it"


def test_an_answer_that_drips_is_left(server: BadServer):
    left = threading.Event()

    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000000")
        handler.end_headers()
        while not left.wait(0.01):
            handler.wfile.write(b".")
            handler.wfile.flush()

    server.script = [drip]
    link, _ = connect(server, Patience(total_s=0.1))
    with pytest.raises(ModelError, match=r"did not complete its answer in 0\.1 s"):
        link.post("x", {})
    left.set()


def test_an_answer_that_is_cut_off_is_no_answer(server: BadServer):
    def cut(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")
        handler.close_connection = True

    server.script = [cut]
    link, _ = connect(server)
    with pytest.raises(BadModelOutput, match="cut its answer off after 4 bytes"):
        link.post("x", {})


def test_an_answer_without_end_is_left(server: BadServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    server.script = [reply(b"x" * 5000)]
    link, _ = connect(server)
    with pytest.raises(BadModelOutput, match="more than 1,000 bytes"):
        link.post("x", {})


def test_only_so_many_at_once(server: BadServer):
    running, most = [0], [0]
    lock = threading.Lock()

    def work(handler: Handler) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        handler.send(b"ok")

    server.script = [work]
    link = Transport(server.url, concurrency=2, patience=QUICK)
    threads = [threading.Thread(target=link.post, args=("x", {})) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.seen) == 8
    assert most[0] <= 2


def test_the_key_is_shown_nowhere(server: BadServer, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    server.script = [reply(f"Incorrect API key: {KEY}".encode(), 401), reply(b"not gzip", content_encoding="gzip")]
    link, _ = connect(server)
    told = repr(link) + str(vars(link).get("address"))
    for _ in range(2):
        with pytest.raises(ModelError) as raised:
            link.post("x", {})
        error = raised.value
        told += "".join(traceback.format_exception(error)) + repr(error.args) + repr(error.__cause__)
    with closed_port() as port, pytest.raises(ModelError) as raised:
        Transport(f"http://127.0.0.1:{port}", key=KEY, patience=QUICK, pause=lambda seconds: None).post("x", {})
    told += "".join(traceback.format_exception(raised.value)) + caplog.text
    assert KEY not in told
    assert "***" in told


@pytest.mark.parametrize("address", ["", "localhost:11434", "ftp://host/v1", "http://", "http://[::1", "file:///etc"])
def test_an_address_that_is_none_is_refused(address: str):
    with pytest.raises(ConfigurationError, match="base_url"):
        Transport(address)


def test_a_password_in_an_address_is_refused_and_not_shown():
    for address in (f"https://user:{KEY}@host/v1", f"https://host/v1?key={KEY}"):
        with pytest.raises(ConfigurationError, match="key=") as raised:
            Transport(address)
        assert KEY not in str(raised.value)


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}…", f"a {KEY}"])
def test_a_key_that_is_none_is_refused_and_not_shown(key: str):
    with pytest.raises(ConfigurationError, match="visible ASCII") as raised:
        Transport("http://localhost/v1", key=key)
    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingDependency, match=r'pip install "path/to/memwell\[openai\]"'):
        Transport("http://localhost/v1")


# Whatever a server says is an answer or a ``BadModelOutput``, and nothing else.


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
junk = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
function = st.fixed_dictionaries({}, optional={"name": junk, "arguments": junk | st.just("{}")})
call = junk | st.fixed_dictionaries({}, optional={"id": junk, "type": junk, "index": junk, "function": junk | function})
message = junk | st.fixed_dictionaries(
    {}, optional={"role": junk, "content": junk, "tool_calls": junk | st.lists(call, max_size=2), "refusal": junk}
)
choice = st.fixed_dictionaries({}, optional={"message": message, "delta": message, "finish_reason": junk})
body = st.fixed_dictionaries(
    {}, optional={"choices": junk | st.lists(choice | junk, max_size=2), "usage": junk, "model": junk, "error": junk}
)


@given(body | junk, st.booleans())
def test_a_body_is_an_answer_or_refused(value: Any, wants_json: bool):
    try:
        found = read_completion(json.dumps(value).encode(), "m", wants_json=wants_json)
    except BadModelOutput:
        return
    assert found.message.role is Role.AI


@given(st.binary(max_size=40))
def test_bytes_are_an_answer_or_refused(data: bytes):
    with pytest.raises(BadModelOutput):
        read_completion(data, "m", wants_json=False)
    with pytest.raises(BadModelOutput):
        read_embeddings(data, 1)


@given(junk | st.fixed_dictionaries({"data": junk | st.lists(st.fixed_dictionaries({"embedding": junk}) | junk)}))
def test_vectors_are_numbers_or_refused(value: Any):
    try:
        rows, _ = read_embeddings(json.dumps(value).encode(), 1)
    except BadModelOutput:
        return
    assert all(isinstance(number, int | float) for number in rows[0])


@pytest.mark.parametrize("options", [{"temperature": float("nan")}, {"schema": {"x": object()}}, {"stop": [b"x"]}])
def test_options_that_are_no_json_are_refused(options: Any):
    with pytest.raises(InvalidInput):
        chat_body("m", [human("Hi")], options)


HTTP_QUICK = Patience(read_s=2, retries=0)
HI = [human("Hi")]


def client(server: BadServer, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(server.url, key="sk-secret", patience=HTTP_QUICK, **options)


def http_call(arguments: str = '{"city": "Rome"}', **extra: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}, **extra}


def test_a_question_and_its_answer(server: BadServer):
    server.script = [server.answer("Hello")]
    chat = client(server).chat("m")
    found = chat.complete([system("Be brief."), human("Hi")], max_tokens=9, temperature=0.5, stop=["\n"])
    assert (found.text, found.model, found.finish, found.usage) == ("Hello", "served", "stop", Usage(10, 5))
    path, _, body = server.seen[0]
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 9, "temperature": 0.5, "stop": ["\n"],
    }  # fmt: skip


def test_tools_go_out_and_calls_come_back(server: BadServer):
    server.script = [server.answer(None, tool_calls=[http_call()])]
    tool = Tool("weather", "Tells it.", {"type": "object", "properties": {"city": {"type": "string"}}})
    found = client(server).chat("m").complete(HI, tools=[tool])
    assert [(one.name, one.arguments) for one in found.message.tool_calls] == [("weather", {"city": "Rome"})]
    assert server.seen[0][2]["tools"][0]["function"]["parameters"] == tool.parameters


def test_a_schema_gives_data(server: BadServer):
    server.script = [server.answer('{"name": "安娜"}'), server.answer("Her name is Anna.")]
    chat = client(server).chat("m")
    assert chat.complete(HI, schema={"type": "object"}).data == {"name": "安娜"}
    assert server.seen[0][2]["response_format"]["type"] == "json_schema"
    with pytest.raises(BadModelOutput, match="was to be JSON"):
        chat.complete(HI, schema={"type": "object"})


@pytest.mark.parametrize(
    "body",
    [
        "", "null", "[]", "<html><h1>It works!</h1></html>", '{"choices": [{"mess', '{"choices": []}',
        '{"choices": {}}', '{"choices": [7]}', '{"choices": [{"message": null}]}',
        '{"choices": [{"message": {"content": 7}}]}', '{"choices": [{"message": {"content": [{"type": "text"}]}}]}',
        '{"choices": [{"message": {"content": "a\\u0000b"}}]}',
        '{"choices": [{"message": {"content": "x", "tool_calls": 5}}]}',
        '{"choices": [{"message": {"content": "x", "tool_calls": [{}]}}]}',
        json.dumps({"choices": [{"message": {"content": None, "tool_calls": [http_call('{"city": ')]}}]}),
        json.dumps({"choices": [{"message": {"content": None, "tool_calls": [http_call("[1]")]}}]}),
        json.dumps({"choices": [{"message": {"content": None, "tool_calls": [{**http_call(), "id": ""}]}}]}),
        "[" * 100_000, b"\xff\xfe\x00",
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_refused(server: BadServer, body: str | bytes):
    server.script = [server.raw(body)]
    with pytest.raises(BadModelOutput, match="m: ") as raised:
        client(server).chat("m").complete(HI)
    assert len(str(raised.value)) < 1000


def test_the_ledger_counts_and_the_cap_stops_before_sending(server: BadServer):
    server.script = [server.answer("Hello"), server.raw("garbage"), server.raw("no", 400)]
    ledger = Ledger({"m": Price(1000.0, 1000.0)}, spend_cap=0.1)
    chat = client(server, ledger=ledger).chat("m")
    assert chat.complete(HI, max_tokens=10).cost == pytest.approx(0.015)
    with pytest.raises(BadModelOutput):
        chat.complete(HI, max_tokens=10)
    after_garbage = ledger.spent
    assert after_garbage > 0.015, "an answer that could not be read is paid for all the same"
    with pytest.raises(ModelError, match="400"):
        chat.complete(HI, max_tokens=10)
    assert ledger.spent == after_garbage
    with pytest.raises(ModelError, match="spend cap"):
        chat.complete(HI, max_tokens=1000)
    assert len(server.seen) == 3
    assert ledger.accounts()["m"].calls == 2


def test_messages_kept_from_models_do_not_go_out(server: BadServer):
    server.script = [server.answer("ok")]
    chat = client(server).chat("m")
    chat.complete([human("seen"), ai("hidden", hidden=True)])
    assert [one["content"] for one in server.seen[0][2]["messages"]] == ["seen"]
    with pytest.raises(InvalidInput, match="at least one message"):
        chat.complete([ai("hidden", hidden=True)])
    assert "sk-secret" not in repr(client(server))


def vectors(*rows: Any) -> str:
    data = [{"index": number, "embedding": row} for number, row in enumerate(rows)]
    return json.dumps({"data": data[::-1], "usage": {"prompt_tokens": 4, "total_tokens": 4}})


def test_vectors_come_in_the_order_of_the_texts(server: BadServer):
    server.script = [server.raw(vectors([3.0, 4.0], [0, 2]))]
    embedder = client(server).embedder("e")
    assert np.allclose(embedder.embed(["a", " ", "b"]), [[0.6, 0.8], [0, 0], [0, 1]])
    assert server.seen[0][2]["input"] == ["a", "b"]
    assert embedder.name == "e"


def test_shorter_vectors_are_asked_for_and_checked(server: BadServer):
    server.script = [server.raw(vectors([3.0, 4.0])), server.raw(vectors([1, 2, 3]))]
    embedder = client(server).embedder("e", dimensions=2)
    assert (embedder.name, embedder.dimensions) == ("e-2", 2)
    assert embedder.embed(["a"]).shape == (1, 2)
    assert server.seen[0][2]["dimensions"] == 2
    with pytest.raises(BadModelOutput, match="3 numbers, not 2"):
        embedder.embed(["a"])


@pytest.mark.parametrize(
    "body",
    [
        "{}", '{"data": []}', '{"data": [7]}', '{"data": [{"index": 0}]}',
        '{"data": [{"index": 1, "embedding": [1]}]}', '{"data": [{"index": 0, "embedding": "AAAA"}]}',
        '{"data": [{"index": 0, "embedding": [1, null]}]}', '{"data": [{"index": 0, "embedding": []}]}', "<html>",
    ],
)  # fmt: skip
def test_vectors_that_are_none_are_refused(server: BadServer, body: str):
    server.script = [server.raw(body)]
    with pytest.raises(BadModelOutput, match="e: "):
        client(server).embedder("e").embed(["a"])


# A real server.

needs_server = pytest.mark.skipif(not IS_HERE, reason=MISSING)


@pytest.fixture(scope="module")
def real() -> Iterator[OpenAICompatible]:
    running = start_server()
    # Where other programs take the processor, an answer takes a minute.
    patience = Patience(read_s=110, total_s=110)
    with OpenAICompatible(f"{running.listening_address}/v1", key="none", patience=patience) as served:
        yield served
    del running


@needs_server
def test_a_real_server_answers(real: OpenAICompatible):
    chat = real.chat("smollm2")
    found = chat.complete([human("Say hello.")], max_tokens=8, temperature=0.0)
    assert found.text
    assert found.usage is not None
    assert 0 < found.usage.output_tokens <= 8
    assert real.ledger.accounts()["smollm2"].calls >= 1


@needs_server
def test_a_real_server_keeps_to_a_schema(real: OpenAICompatible):
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}},
        "required": ["name"],
        "additionalProperties": False,
    }
    found = real.chat("smollm2").complete([human("Name a dog.")], max_tokens=40, temperature=0.0, schema=schema)
    assert list(found.data) == ["name"]


@needs_server
def test_a_real_server_refuses_what_is_too_long(real: OpenAICompatible):
    with pytest.raises(ModelError, match="400"):
        real.chat("smollm2").complete([human("word " * 4000)], max_tokens=4)


@needs_server
def test_a_real_model_is_asked_for_facts_and_none_is_taken_without_a_quote(real: OpenAICompatible):
    text = "I live in Paris and work at Acme."
    [read] = model_claims(real.chat("smollm2"), [SaidText(text, "", datetime(2026, 1, 1, tzinfo=UTC))])
    assert read.source == "model"
    assert read.claims or read.reasons
    assert all(relation_of(one.relation) and text[one.start : one.end] for one in read.claims)
    assert not any("unknown relation" in reason for reason in read.reasons)


@needs_server
def test_a_real_server_embeds():
    running = start_server(embedding=True)
    with OpenAICompatible(f"{running.listening_address}/v1") as served:
        rows = served.embedder("smollm2").embed(["a cat", "", "a kitten"])
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1], atol=1e-5)
    assert rows[0] @ rows[2] > 0.2
