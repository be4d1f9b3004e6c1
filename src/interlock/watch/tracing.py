"""OpenTelemetry spans. Without configuration a span costs nothing, and nothing is imported.

All work for an instance belongs to one trace, whose id is the instance's `trace_id`. The spans of all processes, and of
children that share the id, therefore form one trace without passing context between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from interlock.machine import InterlockError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

_trace_id: ContextVar[int | None] = ContextVar("interlock_trace", default=None)
_tracer: Tracer | None = None
_NO_SPAN: AbstractContextManager[None] = nullcontext()


class Tracing:
    """Exports spans until it is shut down."""

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        """For libraries that create their own spans, such as FastAPI."""

    def shutdown(self) -> None:
        """Export the remaining spans and stop creating new ones."""
        global _tracer
        _tracer = None
        self.provider.shutdown()


def start(endpoint: str, service: str = "interlock", *, exporter: SpanExporter | None = None) -> Tracing:
    """Send spans to an OTLP/HTTP collector such as http://127.0.0.1:4318/v1/traces, or synchronously to `exporter`."""
    global _tracer
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
    except ImportError as error:
        raise InterlockError(f"tracing needs an extra: pip install 'interlock[telemetry]' ({error})") from error

    class Ids(RandomIdGenerator):
        """Gives the first span of an instance its trace id."""

        def generate_trace_id(self) -> int:
            return _trace_id.get() or super().generate_trace_id()

    if _tracer is not None:
        raise InterlockError("tracing is already started; call shutdown() on it first")
    provider = TracerProvider(resource=Resource.create({"service.name": service}), id_generator=Ids())
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)) if exporter is None else SimpleSpanProcessor(exporter)
    )
    _tracer = provider.get_tracer("interlock")
    return Tracing(provider)


def wanted() -> bool:
    """Whether tracing is started."""
    return _tracer is not None


def span(
    name: str, trace_id: str | None = None, attributes: Mapping[str, Any] | None = None
) -> AbstractContextManager[Any]:
    """Run the block as one span of the trace. Yields the span, or None if tracing is not started."""
    tracer = _tracer
    return _NO_SPAN if tracer is None else _span(tracer, name, trace_id, attributes)


@contextmanager
def _span(tracer: Tracer, name: str, trace_id: str | None, attributes: Mapping[str, Any] | None) -> Iterator[Any]:
    from opentelemetry import context, trace

    given = {key: value for key, value in (attributes or {}).items() if value is not None}
    wanted, around = _number(trace_id), trace.get_current_span().get_span_context()
    inside = wanted is None or (around.is_valid and around.trace_id == wanted)
    # Inside another trace, such as a request's: start a new span in the instance's trace and link the two.
    links = [trace.Link(around)] if around.is_valid and not inside else []
    token = _trace_id.set(wanted)
    try:
        made = tracer.start_span(name, None if inside else context.Context(), attributes=given, links=links)
    finally:
        _trace_id.reset(token)
    # Only the type of an error is exported. Its message may contain private data.
    with trace.use_span(made, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield made
        except BaseException as error:
            made.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
            raise


def failed(span: Any, error: BaseException) -> None:
    """Mark the span as failed with an error that was not raised."""
    from opentelemetry import trace

    span.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))


def _number(trace_id: str | None) -> int | None:
    """Parse a trace id. An invalid id gives None: tracing must never stop the work."""
    if trace_id is None or len(trace_id) != 32:
        return None
    try:
        return int(trace_id, 16) or None
    except ValueError:
        return None
