"""Spans for OpenTelemetry, where it is configured; otherwise a span costs nothing and nothing is imported.

Everything that is done for an instance belongs to one trace, and its id is the instance's `trace_id`: so the spans of
all processes, and of the children that share it, come together without handing anything on.
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

_wanted: ContextVar[int | None] = ContextVar("interlock_trace", default=None)
_tracer: Tracer | None = None
_NOTHING: AbstractContextManager[None] = nullcontext()


class Tracing:
    """Spans are sent while it runs."""

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        """For libraries that make spans of their own, such as FastAPI."""

    def shutdown(self) -> None:
        """Send what is left, and make no more spans."""
        global _tracer
        _tracer = None
        self.provider.shutdown()


def start(endpoint: str, service: str = "interlock", *, exporter: SpanExporter | None = None) -> Tracing:
    """Send spans to an OTLP/HTTP collector, such as http://127.0.0.1:4318/v1/traces; or to this exporter, at once."""
    global _tracer
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
    except ImportError as error:
        raise InterlockError(f"spans need the extra telemetry: pip install 'interlock[telemetry]' ({error})") from error

    class Ids(RandomIdGenerator):
        """The instance's trace id for the first span of it here."""

        def generate_trace_id(self) -> int:
            return _wanted.get() or super().generate_trace_id()

    if _tracer is not None:
        raise InterlockError("spans are sent already; shut the first one down")
    provider = TracerProvider(resource=Resource.create({"service.name": service}), id_generator=Ids())
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)) if exporter is None else SimpleSpanProcessor(exporter)
    )
    _tracer = provider.get_tracer("interlock")
    return Tracing(provider)


def wanted() -> bool:
    """Whether spans go anywhere."""
    return _tracer is not None


def span(
    name: str, trace_id: str | None = None, attributes: Mapping[str, Any] | None = None
) -> AbstractContextManager[Any]:
    """What happens inside is one span of the trace; it is given the span, or None when nothing is configured."""
    tracer = _tracer
    return _NOTHING if tracer is None else _span(tracer, name, trace_id, attributes)


@contextmanager
def _span(tracer: Tracer, name: str, trace_id: str | None, attributes: Mapping[str, Any] | None) -> Iterator[Any]:
    from opentelemetry import context, trace

    told = {key: value for key, value in (attributes or {}).items() if value is not None}
    wanted, around = _number(trace_id), trace.get_current_span().get_span_context()
    inside = wanted is None or (around.is_valid and around.trace_id == wanted)
    # Another trace, such as that of a request which touches an instance: a span of its own there, linked to this one.
    links = [trace.Link(around)] if around.is_valid and not inside else []
    token = _wanted.set(wanted)
    try:
        made = tracer.start_span(name, None if inside else context.Context(), attributes=told, links=links)
    finally:
        _wanted.reset(token)
    # Of an error only its type goes out: its message may hold what nobody outside should read.
    with trace.use_span(made, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield made
        except BaseException as error:
            made.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
            raise


def failed(span: Any, error: BaseException) -> None:
    """The span's work ended with this error, which nobody raised."""
    from opentelemetry import trace

    span.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))


def _number(trace_id: str | None) -> int | None:
    """A trace id as a number; what is none is left out, because a span must never stop the work it is about."""
    if trace_id is None or len(trace_id) != 32:
        return None
    try:
        return int(trace_id, 16) or None
    except ValueError:
        return None
