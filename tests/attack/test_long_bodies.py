"""A long body from a stranger: nobody reads it, and what it has in it costs no more than its length."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from interlock.http import request_check
from interlock.http.app import create_app
from interlock.http.asgi import SMALL
from interlock.http.server import InThread
from tests.attack.talking import connected, status_of
from tests.support.api import Api

PLACES = ("POST /api/instances", "POST /workflows/ingest", "POST /api/crawler/jobs", "PUT /api/schedules/default/x")
ABOUT = "Host: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    app = create_app(api.service, routers=api.engine.registry.routers)
    with InThread(app, api.service) as server:
        yield server.url


def said(url: str, request: str) -> bytes:
    """The first of the answer to a request whose end never comes."""
    with connected(url) as sock:
        sock.sendall(request.encode())
        return sock.recv(65536)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("shown", ["", "Authorization: Bearer il_wrong\r\n", "Cookie: interlock_session=wrong\r\n"])
def test_a_stranger_is_refused_before_a_long_body_is_read(url: str, where: str, shown: str) -> None:
    answer = said(url, f"{where} HTTP/1.1\r\n{ABOUT}{shown}Content-Length: {SMALL + 1}\r\n\r\n")
    assert status_of(answer) == 401
    assert b"www-authenticate: bearer" in answer.lower()


@pytest.mark.parametrize("where", PLACES[:3])
def test_also_when_they_do_not_say_how_long_it_is(url: str, where: str) -> None:
    piece = "{" + " " * SMALL
    chunk = f"{len(piece):x}\r\n{piece}\r\n"
    answer = said(url, f"{where} HTTP/1.1\r\n{ABOUT}Transfer-Encoding: chunked\r\n\r\n{chunk}")
    assert status_of(answer) == 401
    assert b"www-authenticate: bearer" in answer.lower()


def test_who_is_known_may_send_much(api: Api) -> None:
    made = api.post("/api/instances", {"machine": "order", "data": {"note": "n" * 100_000}})
    assert made.status_code == 201


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("sent", ["", "{"])
def test_who_goes_while_they_send_is_no_error_of_ours(
    api: Api, where: str, sent: str, caplog: pytest.LogCaptureFixture
) -> None:
    shown = f"Authorization: Bearer {api.tokens['owner']}\r\n"
    app = create_app(api.service, routers=api.engine.registry.routers)
    with InThread(app, api.service) as server:  # which ends when its requests have
        with connected(server.url) as sock:
            sock.sendall(f"{where} HTTP/1.1\r\n{ABOUT}{shown}Content-Length: 500\r\n\r\n{sent}".encode())
        assert status_of(said(server.url, "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")) > 0
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR] == []


LONG = b'["' + b"a" * SMALL + b'", "%b"]'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rb"\ud83e\udd9c", ""),
        (rb"\uD83E\uDD9C", ""),
        (rb"\\u0000 \\ud800 \\\\udc00", ""),
        (rb"\u0000", "a NUL"),
        (rb"\\\u0000", "a NUL"),
        (rb"\ud83e", "half of a surrogate pair"),
        (rb"\ud83e\ud83e\udd9c", "half of a surrogate pair"),
        (rb"\udd9c\ud83e", "half of a surrogate pair"),
        (rb"\ud83e\\udd9c", "half of a surrogate pair"),
        (b"\xed\xa0\x80", "half of a surrogate pair"),
    ],
)
def test_escapes_of_a_long_body_are_judged_as_a_parser_would(text: bytes, message: str) -> None:
    for content in (LONG % text, b'["%b"]' % text):
        wrong = request_check.body("json", content)
        assert message in wrong
        assert bool(wrong) == bool(message)
