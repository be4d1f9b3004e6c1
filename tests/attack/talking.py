"""Talking to a server byte by byte, as no decent client does."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

PATIENCE = 30.0


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), PATIENCE) as made:
        made.settimeout(PATIENCE)
        yield made


def everything(sock: socket.socket) -> bytes:
    """What the server says until it closes the connection."""
    said = b""
    try:
        while part := sock.recv(65536):
            said += part
    except ConnectionResetError:
        pass
    return said


def status_of(said: bytes) -> int:
    return int(said.split(b" ", 2)[1]) if said.startswith(b"HTTP/1.1 ") else 0


def ask(url: str, request: str) -> tuple[int, bytes, bytes]:
    """Status, headers and body of one request, given as it goes over the wire."""
    with connected(url) as sock:
        sock.sendall(request.encode("latin-1"))
        sock.shutdown(socket.SHUT_WR)
        head, _, body = everything(sock).partition(b"\r\n\r\n")
    return status_of(head + b" "), head, body
