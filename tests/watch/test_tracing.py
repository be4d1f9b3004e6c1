"""Spans belong to the trace of their instance, and cost nothing where nobody collects them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from uuid_utils.compat import uuid7

from interlock.machine import InterlockError
from interlock.watch import tracing


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    handle = tracing.start("http://unused", "test service", exporter=exporter)
    yield exporter
    handle.shutdown()


def hexed(number: int) -> str:
    return f"{number:032x}"


def test_an_instances_trace_id_is_that_of_its_spans(spans: InMemorySpanExporter) -> None:
    trace_id = uuid7().hex
    for name in ("first", "second"):
        with tracing.span(name, trace_id, {"machine": "parcel", "step": None, "attempt": 2}):
            pass
    finished = spans.get_finished_spans()
    assert [(span.name, hexed(span.context.trace_id), span.parent) for span in finished] == [
        ("first", trace_id, None),
        ("second", trace_id, None),
    ]
    assert dict(finished[0].attributes) == {"machine": "parcel", "attempt": 2}
    assert finished[0].resource.attributes["service.name"] == "test service"


def test_a_span_inside_one_of_the_same_trace_is_its_child(spans: InMemorySpanExporter) -> None:
    trace_id = uuid7().hex
    with tracing.span("outer", trace_id):
        with tracing.span("inner", trace_id):
            pass
        with tracing.span("nameless"):
            pass
    inner, nameless, outer = spans.get_finished_spans()
    assert inner.parent.span_id == nameless.parent.span_id == outer.context.span_id
    assert hexed(nameless.context.trace_id) == trace_id


def test_a_request_that_touches_an_instance_is_linked_to_its_span(spans: InMemorySpanExporter) -> None:
    trace_id = uuid7().hex
    with tracing.span("request"), tracing.span("fire", trace_id):
        pass
    fire, request = spans.get_finished_spans()
    assert hexed(fire.context.trace_id) == trace_id != hexed(request.context.trace_id)
    assert [link.context.span_id for link in fire.links] == [request.context.span_id]


def test_an_error_marks_the_span_and_its_message_stays_here(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="secret"), tracing.span("step", uuid7().hex):
        raise ValueError("secret")
    [span] = spans.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ValueError")
    assert "secret" not in span.to_json()


@pytest.mark.parametrize("trace_id", ["", "t", "0" * 32, "z" * 32, None])
def test_an_odd_trace_id_stops_nothing(spans: InMemorySpanExporter, trace_id: str | None) -> None:
    with tracing.span("step", trace_id):
        pass
    [span] = spans.get_finished_spans()
    assert span.context.trace_id != 0


def test_it_is_started_once_at_a_time(spans: InMemorySpanExporter) -> None:
    with pytest.raises(InterlockError, match="already"):
        tracing.start("http://unused", exporter=spans)


def test_after_the_shutdown_spans_are_free_again() -> None:
    exporter = InMemorySpanExporter()
    tracing.start("http://unused", exporter=exporter).shutdown()
    with tracing.span("late", uuid7().hex) as given:
        assert given is None
    assert exporter.get_finished_spans() == ()


def test_nothing_is_imported_where_it_is_not_configured() -> None:
    code = """
import sys
from interlock.watch import tracing
with tracing.span("x", "0" * 31 + "1"):
    assert not [name for name in sys.modules if name.startswith("opentelemetry")]
sys.modules["opentelemetry.sdk.trace"] = None
try:
    tracing.start("http://127.0.0.1:9/v1/traces")
except Exception as error:
    assert "interlock[telemetry]" in str(error), error
else:
    raise AssertionError("it must say that the extra is missing")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_spans_go_to_a_real_collector() -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return None

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        handle = tracing.start(f"http://127.0.0.1:{server.server_port}/v1/traces")
        with tracing.span("packing", uuid7().hex):
            pass
        handle.shutdown()
        server.shutdown()
        thread.join()
    assert [path for path, _ in got] == ["/v1/traces"]
    assert b"packing" in got[0][1]
