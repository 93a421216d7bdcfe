"""OpenTelemetry traces, if the settings name a collector.

    tracer = Tracer(settings.otlp_url)
    with tracer.span("recall", headers=request.headers, operation="recall", limit=10) as span:
        …
        span.note(status=200, found=7)

A span holds numbers and fixed words such as the name of an operation: never a text of a memory or a query, nor the message
of an error, which may quote one. A thread sends spans in batches. While the collector cannot be reached, up to 2,048 spans
are queued, and the oldest are dropped; no request waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memwell._asyncify import Closing
from memwell.errors import ConfigurationError, MissingDependency
from memwell.storage.urls import without_secrets
from memwell.values import shown

if TYPE_CHECKING:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OtelSpan

_WORDS = frozenset({"code", "kind", "method", "model", "operation", "request", "route", "stage"})
"""The attributes that may be words. All others must be numbers or booleans."""

_LONGEST_WORD = 200
_QUEUE = 2_048
_BATCH = 256
_EVERY_MS = 2_000.0
_SENDING_S = 5.0
_CLOSING_S = 3.0
_LAST_S = 1.0


class TraceSpan:
    """An operation that is being traced. Without a collector it records nothing."""

    __slots__ = ("_span",)

    def __init__(self, span: OtelSpan | None) -> None:
        self._span = span

    def note(self, **attributes: object) -> None:
        """Add attributes. Those that are neither numbers nor allowed words are left out."""
        if self._span is not None:
            self._span.set_attributes(_allowed(attributes))


_NOTHING = TraceSpan(None)


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
    def span(
        self, name: str, /, *, headers: Mapping[str, str] | None = None, **attributes: object
    ) -> Generator[TraceSpan]:
        """A span. Its parent is the enclosing span, or the caller's span that the request's header ``traceparent``
        names.
        """
        if self._tracer is None:
            yield _NOTHING
            return
        # Loaded already when the tracer was made.
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415

        # The message of an error may quote user text, so only its type is recorded.
        with self._tracer.start_as_current_span(
            name,
            context=None if headers is None else _caller(headers),
            attributes=_allowed(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield TraceSpan(span)
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


def _allowed(attributes: Mapping[str, object]) -> dict[str, bool | int | float | str]:
    allowed: dict[str, bool | int | float | str] = {}
    for name, value in attributes.items():
        if isinstance(value, bool | int | float):
            allowed[f"memwell.{name}"] = value
        elif isinstance(value, str) and name in _WORDS:
            allowed[f"memwell.{name}"] = value[:_LONGEST_WORD]
    return allowed


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
        raise MissingDependency('traces need OpenTelemetry: pip install "memwell[otel]"') from error
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
