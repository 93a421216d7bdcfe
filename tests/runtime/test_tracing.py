"""Traces reach a real collector, hold no text of anybody's, and nobody waits for them."""

from __future__ import annotations

import gzip
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from memwell.errors import ConfigurationError, MissingDependency
from memwell.runtime import tracing as module
from memwell.runtime.tracing import Tracer
from tests.ports import closed_port

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collector(ThreadingHTTPServer):
    """Takes what is sent to it, and decodes it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.raw: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"

    def spans(self) -> dict[str, Any]:
        requests = [ExportTraceServiceRequest.FromString(one) for one in self.raw]
        scopes = [scope for one in requests for resource in one.resource_spans for scope in resource.scope_spans]
        return {span.name: span for scope in scopes for span in scope.spans}


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.raw.append(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_spans_are_sent_with_their_places_and_numbers(collector: Collector):
    with (
        Tracer(collector.url) as tracer,
        tracer.span("request", headers={"Traceparent": CALLER}, operation="recall", limit=10) as outer,
    ):
        with tracer.span("search", stage="words"):
            pass
        outer.note(status=200, found=7, cached=False, share=0.5)
    spans = collector.spans()
    request, search = spans["request"], spans["search"]
    assert request.trace_id.hex() == search.trace_id.hex() == CALLER[3:35]
    assert request.parent_span_id.hex() == CALLER[36:52]
    assert search.parent_span_id == request.span_id
    assert attributes(request) == {
        "memwell.operation": "recall",
        "memwell.limit": 10,
        "memwell.status": 200,
        "memwell.found": 7,
        "memwell.cached": False,
        "memwell.share": 0.5,
    }
    assert request.end_time_unix_nano >= search.end_time_unix_nano >= search.start_time_unix_nano


@pytest.mark.parametrize(
    "headers", [None, {}, {"traceparent": "nonsense"}, {"traceparent": "00-" + "0" * 32 + "-1-01"}]
)
def test_a_request_without_a_caller_begins_a_trace(collector: Collector, headers: dict[str, str] | None):
    with Tracer(collector.url) as tracer, tracer.span("request", headers=headers):
        pass
    assert collector.spans()["request"].parent_span_id == b""


def test_no_text_of_anybodys_is_sent(collector: Collector):
    def fail() -> None:
        with tracer.span("request", query="geheim", text="geheim", speaker="geheim", route="/v1/recall") as span:
            span.note(memory=["geheim"], found={"geheim": 1}, code="x" * 1_000)
            raise ValueError("geheim")

    with Tracer(collector.url) as tracer, pytest.raises(ValueError, match="geheim"):
        fail()
    sent = collector.spans()["request"]
    assert attributes(sent)["error.type"] == "ValueError"
    assert len(attributes(sent)["memwell.code"]) == 200
    assert sent.status.code == 2
    assert not any(b"geheim" in one for one in collector.raw)


def test_the_tracing_of_the_program_is_left_alone(collector: Collector):
    before = trace.get_tracer_provider()
    with Tracer(collector.url) as tracer:
        with tracer.span("request"):
            assert trace.get_tracer_provider() is before
        assert not trace.get_current_span().get_span_context().is_valid


def test_without_a_collector_nothing_is_done_and_nothing_loaded(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.setitem(sys.modules, name, None)
    with Tracer() as tracer:
        with tracer.span("request", headers={"traceparent": CALLER}, operation="recall") as span:
            span.note(status=200)
        with pytest.raises(KeyError), tracer.span("x"):
            raise KeyError


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingDependency, match=r"memwell\[otel\]"):
        Tracer("http://localhost:4318/v1/traces")


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://x", "file:///etc/passwd"])
def test_an_address_that_is_none_is_refused(url: str):
    with pytest.raises(ConfigurationError, match="otlp_url"):
        Tracer(url)


@contextmanager
def silent() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces"


@contextmanager
def absent() -> Iterator[str]:
    with closed_port() as port:
        yield f"http://127.0.0.1:{port}/v1/traces"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Tracer]:
    """Makes tracers that hardly wait for the collector when they are closed."""
    monkeypatch.setattr(module, "_LAST_S", 0.05)
    return lambda url: Tracer(url, closing_s=0.05)


@pytest.mark.parametrize("away", [silent, absent])
def test_a_collector_that_is_away_keeps_nobody_waiting(away: Any, impatient: Callable[[str], Tracer]):
    with away() as url:
        tracer = impatient(url)
        # More than the queue holds. If each waited for the collector, the test would run out of time.
        for _ in range(5_000):
            with tracer.span("request", operation="recall"):
                pass
        closing = threading.Thread(target=tracer.close)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()


def test_nothing_goes_on_trying_after_the_end(impatient: Callable[[str], Tracer]):
    before = set(threading.enumerate())
    with absent() as url:
        tracer = impatient(url)
        with tracer.span("work"):
            pass
        tracer.close()
        left = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
        for thread in left:
            thread.join(60)
        assert [thread.name for thread in left if thread.is_alive()] == []
