"""Traces reach a real collector, hold no text of anybody's, and nobody waits for them."""

from __future__ import annotations

import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace

from memwell.errors import ConfigurationError, MissingDependency
from memwell.runtime import tracing as module
from memwell.runtime.tracing import Tracer
from memwell.stages import stage
from tests.collector import Collector, collecting
from tests.ports import closed_port

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as server:
        yield server


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@stage("rank")
def ranked() -> str:
    return trace.get_current_span().get_span_context().trace_id.to_bytes(16).hex()


def test_a_request_has_a_span_by_the_conventions_and_its_stages_below_it(collector: Collector):
    with Tracer(collector.url) as tracer, tracer.request("POST", {"Traceparent": CALLER}, scheme="https") as span:
        assert ranked() == span.trace_id == CALLER[3:35]
        span.answered("/v1/recall", 200)
    spans = collector.spans()
    request, rank = spans["POST /v1/recall"], spans["rank"]
    assert request.trace_id == rank.trace_id
    assert request.parent_span_id.hex() == CALLER[36:52]
    assert rank.parent_span_id == request.span_id
    assert (request.kind, rank.kind) == (2, 1)
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/v1/recall",
        "http.response.status_code": 200,
        "url.scheme": "https",
    }
    assert request.status.code == 0
    assert request.end_time_unix_nano >= rank.end_time_unix_nano >= rank.start_time_unix_nano


@pytest.mark.parametrize("headers", [{}, {"traceparent": "nonsense"}, {"traceparent": "00-" + "0" * 32 + "-1-01"}])
def test_a_request_without_a_caller_begins_a_trace(collector: Collector, headers: dict[str, str]):
    with Tracer(collector.url) as tracer, tracer.request("GET", headers) as span:
        assert re.fullmatch("[0-9a-f]{32}", span.trace_id)
    assert collector.spans()["GET"].parent_span_id == b""


@pytest.mark.parametrize(("status", "code"), [(404, 0), (500, 2), (503, 2)])
def test_only_a_fault_of_the_service_is_an_error(collector: Collector, status: int, code: int):
    with Tracer(collector.url) as tracer, tracer.request("GET", {}) as span:
        span.answered("", status, code="no-such-thing")
    sent = collector.spans()["GET"]
    assert sent.status.code == code
    assert attributes(sent)["memwell.problem"] == "no-such-thing"
    assert attributes(sent).get("error.type") == (str(status) if code else None)


def test_no_text_of_anybodys_is_sent(collector: Collector):
    def fail() -> None:
        with tracer.request("geheim", {"x": "geheim"}) as span:
            span.answered("/v1/recall", 500)
            raise ValueError("geheim")

    with Tracer(collector.url) as tracer, pytest.raises(ValueError, match="geheim"):
        fail()
    sent = collector.spans()["HTTP /v1/recall"]
    assert attributes(sent)["error.type"] == "ValueError"
    assert attributes(sent)["http.request.method"] == "_OTHER"
    assert sent.status.code == 2
    assert not any(b"geheim" in one for one in collector.raw)


def test_the_tracing_of_the_program_is_left_alone(collector: Collector):
    before = trace.get_tracer_provider()
    with Tracer(collector.url) as tracer:
        with tracer.request("GET", {}):
            assert trace.get_tracer_provider() is before
        assert not trace.get_current_span().get_span_context().is_valid


def test_without_a_collector_nothing_is_done_and_nothing_loaded(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.setitem(sys.modules, name, None)
    with Tracer() as tracer:
        with tracer.request("GET", {"traceparent": CALLER}) as span:
            span.answered("/v1/recall", 200)
            assert (span.trace_id, ranked()) == ("", "0" * 32)
        with pytest.raises(KeyError), tracer.request("GET", {}):
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
            with tracer.request("GET", {}):
                pass
        closing = threading.Thread(target=tracer.close)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()


def test_nothing_goes_on_trying_after_the_end(impatient: Callable[[str], Tracer]):
    before = set(threading.enumerate())
    with absent() as url:
        tracer = impatient(url)
        with tracer.request("GET", {}):
            pass
        tracer.close()
        left = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
        for thread in left:
            thread.join(60)
        assert [thread.name for thread in left if thread.is_alive()] == []
