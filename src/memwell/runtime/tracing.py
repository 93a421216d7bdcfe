"""OpenTelemetry traces, if the settings name a collector.

    tracer = Tracer(settings.otlp_url)
    with tracer.request(request.method, request.headers) as span:
        …
        span.answered("/v1/recall", 200)

A request has a span by the conventions for HTTP servers, named by its route, and its stages (``memwell.stages``) have spans
below it. A span holds numbers and fixed words: never a text of a memory or a query, nor the message of an error, which may
quote one. A thread sends spans in batches. While the collector cannot be reached, up to 2,048 spans
are queued, and the oldest are dropped; no request waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memwell._asyncify import Closing
from memwell.errors import ConfigurationError, MissingDependency
from memwell.stages import Stage, followed_by
from memwell.storage.urls import without_secrets
from memwell.values import shown

if TYPE_CHECKING:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import SpanKind

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_QUEUE = 2_048
_BATCH = 256
_EVERY_MS = 2_000.0
_SENDING_S = 5.0
_CLOSING_S = 3.0
_LAST_S = 1.0


class RequestSpan:
    """A request that is being traced. Without a collector it records nothing."""

    __slots__ = ("_method", "_span")

    def __init__(self, span: OtelSpan | None, method: str) -> None:
        self._span = span
        self._method = method

    @property
    def trace_id(self) -> str:
        """The id of the trace, in hexadecimal digits; empty without a collector."""
        return "" if self._span is None else f"{self._span.get_span_context().trace_id:032x}"

    def answered(self, route: str, status: int, *, code: str = "") -> None:
        """Note the route, such as ``/v1/memories/{id}`` (empty when there is none), the status, and a problem's code."""
        if self._span is None:
            return
        self._span.set_attribute("http.response.status_code", status)
        if route:
            self._span.update_name(f"{self._method} {route}")
            self._span.set_attribute("http.route", route)
        if code:
            self._span.set_attribute("memwell.problem", code)
        if status >= 500:
            from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - loaded with the tracer

            self._span.set_attribute("error.type", str(status))
            self._span.set_status(Status(StatusCode.ERROR))


class Tracer(Closing):
    """Makes spans, and sends them to the collector at ``url``; without one they are empty.

    Raises ``MissingDependency`` when a collector is named and OpenTelemetry is not installed, ``ConfigurationError``
    when the collector's address is none.
    """

    def __init__(self, url: str = "", *, closing_s: float = _CLOSING_S) -> None:
        if url and not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"otlp_url must begin with http:// or https://, not {shown(without_secrets(url))}")
        self._made = _provider(url) if url else None
        self._tracer = None if self._made is None else self._made[0].get_tracer("memwell")
        self._closing_s = closing_s

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str], *, scheme: str = "http") -> Generator[RequestSpan]:
        """The span of a request to a service. Its parent is the caller's span, if the header ``traceparent`` names one."""
        known = method if method in _METHODS else "_OTHER"
        if self._tracer is None:
            yield RequestSpan(None, known)
            return
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - loaded with the tracer

        attributes = {"http.request.method": known, "url.scheme": scheme}
        name = known if known != "_OTHER" else "HTTP"
        with (
            self._span(name, SpanKind.SERVER, context=_caller(headers), attributes=attributes) as span,
            followed_by(self.stage),
        ):
            yield RequestSpan(span, name)

    @contextmanager
    def stage(self, name: Stage) -> Generator[None]:
        """The span of a stage, below the request that is under way."""
        if self._tracer is None:
            yield
            return
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - loaded with the tracer

        with self._span(name, SpanKind.CLIENT if name in ("store", "model") else SpanKind.INTERNAL):
            yield

    @contextmanager
    def _span(self, name: str, kind: SpanKind, **more: Any) -> Generator[OtelSpan]:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - loaded with the tracer

        assert self._tracer is not None
        # The message of an error may quote user text, so only its type is recorded.
        with self._tracer.start_as_current_span(
            name, kind=kind, record_exception=False, set_status_on_exception=False, **more
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(Status(StatusCode.ERROR))
                raise

    def close(self) -> None:
        """Send what is left, for at most three seconds."""
        if self._made is None:
            return
        provider, exporter = self._made
        # A collector that takes its time must not keep the service from ending.
        closing = threading.Thread(target=provider.shutdown, name="memwell-traces-closing", daemon=True)
        closing.start()
        closing.join(self._closing_s)
        if closing.is_alive():
            # It would go on trying in the background.
            exporter.shutdown()
            closing.join(_LAST_S)


def _caller(headers: Mapping[str, str]) -> Any:
    """The context of the caller; an empty one when the headers have none, or an invalid one."""
    from opentelemetry.context import Context  # noqa: PLC0415 - loaded with the tracer
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    named = {name.lower(): value for name, value in headers.items() if name.lower() in ("traceparent", "tracestate")}
    return TraceContextTextMapPropagator().extract(named, context=Context())


def _provider(url: str) -> tuple[TracerProvider, OTLPSpanExporter]:
    try:
        # Optional, and heavy.
        import requests  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.sampling import DEFAULT_ON  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency.of("traces need OpenTelemetry", "otel") from error
    session = requests.Session()
    # No proxy and no password from the environment.
    session.trust_env = False
    # Not the provider of the whole process: a program that has one of its own keeps it.
    resource = Resource({"service.name": "memwell"})
    provider = TracerProvider(sampler=DEFAULT_ON, resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=url, timeout=_SENDING_S, session=session)
    provider.add_span_processor(
        BatchSpanProcessor(
            exporter, max_queue_size=_QUEUE, max_export_batch_size=_BATCH, schedule_delay_millis=_EVERY_MS
        )
    )
    return provider, exporter
