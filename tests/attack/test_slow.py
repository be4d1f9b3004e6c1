"""Somebody holds connections: heads without an end, heads and bodies that trickle, too many connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest

from interlock.http.app import create_app
from interlock.http.protocol import LONGEST_HEAD, LONGEST_TARGET, MOST_HEADERS
from interlock.http.server import InThread
from interlock.store import open_store
from tests.attack.talking import connected, everything, status_of
from tests.support.api import TOKENS, open_api

SOON = {"head_seconds": 0.2, "body_seconds": 0.4, "idle_seconds": 0.2}
HEAD = f"POST /api/instances HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKENS['owner']}\r\n"


@contextmanager
def serving(sqlite_url: str, **http: Any) -> Iterator[str]:
    with (
        open_store(sqlite_url, durability="normal") as store,
        open_api(store, http=http) as api,
        InThread(create_app(api.service), api.service) as server,
    ):
        yield server.url


@pytest.fixture
def url(sqlite_url: str) -> Iterator[str]:
    """A server that has little time."""
    with serving(sqlite_url, **SOON) as made:
        yield made


@pytest.fixture
def patient(sqlite_url: str) -> Iterator[str]:
    with serving(sqlite_url) as made:
        yield made


def said(url: str, *parts: bytes) -> bytes:
    """What is answered to these bytes; the connection is left open on our side."""
    with connected(url) as sock:
        for part in parts:
            try:
                sock.sendall(part)
            except (BrokenPipeError, ConnectionResetError):
                break
        return everything(sock)


def trickle(sock: socket.socket, piece: bytes) -> None:
    """Send the piece again and again, faster than any idle limit, until the server ends it."""
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(0.02):
            try:
                sock.sendall(piece)
            except OSError:
                return

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        everything(sock)
    finally:
        stop.set()
        sender.join()


# -- heads


def test_a_long_path_is_refused(patient: str) -> None:
    start = b"GET /" + b"a" * LONGEST_TARGET
    assert status_of(said(patient, start + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")) == 414
    assert status_of(said(patient, start, b"a" * 100)) == 414, "also one that never ends"


def test_many_headers_are_refused(patient: str) -> None:
    many = "".join(f"X-{n}: a\r\n" for n in range(MOST_HEADERS))
    assert status_of(said(patient, f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n".encode())) == 431
    fewer = "".join(f"X-{n}: a\r\n" for n in range(MOST_HEADERS - 2))
    head = f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fewer}\r\n"
    assert status_of(said(patient, head.encode())) == 200


def test_a_long_header_is_refused_whether_or_not_it_ends(patient: str) -> None:
    begin = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: "
    assert status_of(said(patient, begin + b"a" * (LONGEST_HEAD + 1) + b"\r\n\r\n")) == 431
    assert status_of(said(patient, begin, *[b"a" * 65536] * 64)) == 431


def test_a_head_that_trickles_is_ended(url: str) -> None:
    assert status_of(said(url, b"GET /healthz HTTP/1.1\r\nHost: localh")) == 408
    with connected(url) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        trickle(sock, b"X-A: b\r\n")


def test_a_second_request_has_no_more_time_than_the_first(url: str) -> None:
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = said(url, whole, b"GET /healthz HTTP/1.1\r\nHo")
    assert answer.count(b"HTTP/1.1 200") == 1
    with connected(url) as sock:
        sock.sendall(whole)
        assert sock.recv(10_000)
        trickle(sock, b"\r\n")


def test_a_connection_that_says_nothing_is_closed_without_a_word(url: str) -> None:
    assert said(url) == b""


# -- bodies


def test_a_body_that_stands_still_is_answered_and_ended(url: str) -> None:
    for head in ("Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\n{    \r\n"):
        answer = said(url, (HEAD + head).encode())
        assert status_of(answer) == 408
        assert b"too-slow" in answer
        assert b"connection: close" in answer.lower()


def test_a_body_that_trickles_is_ended(url: str) -> None:
    for head, piece in (
        ("Content-Length: 100000\r\n\r\n", b" "),
        ("Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ):
        with connected(url) as sock:
            sock.sendall((HEAD + head).encode())
            trickle(sock, piece)


@pytest.mark.soak
def test_a_body_that_trickles_after_its_answer_is_ended(url: str) -> None:
    with connected(url) as sock:
        sock.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        trickle(sock, b" ")


def test_a_stream_may_stay_silent_for_longer_than_any_of_these(url: str) -> None:
    """The limits are on what comes in."""
    with connected(url) as sock:
        token = TOKENS["owner"]
        sock.sendall(
            f"GET /api/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        assert status_of(sock.recv(10_000)) == 200
        sock.settimeout(1.0)
        while True:
            try:
                part = sock.recv(10_000)
            except TimeoutError:  # open, and silent
                break
            assert part, "it was closed"


# -- how many


def test_one_address_cannot_have_all_connections(sqlite_url: str) -> None:
    with serving(sqlite_url, connections_per_address=5) as url, ExitStack() as stack:
        held = [stack.enter_context(connected(url)) for _ in range(5)]
        for sock in held:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert status_of(sock.recv(10_000)) == 200
        answer = said(url)
        assert status_of(answer) == 503
        assert b"retry-after" in answer
        held[0].close()
        with httpx2.Client() as client:  # one went, one may come; the server has to see it first
            for _ in range(200):
                try:
                    if client.get(f"{url}/healthz").status_code == 200:
                        break
                except httpx2.HTTPError:
                    continue
            else:
                pytest.fail("the place of a closed connection stays taken")


def test_a_proxy_of_ours_may_have_more(sqlite_url: str) -> None:
    with serving(sqlite_url, connections_per_address=1, proxies=["127.0.0.1"]) as url, ExitStack() as stack:
        for _ in range(5):
            sock = stack.enter_context(connected(url))
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert status_of(sock.recv(10_000)) == 200
