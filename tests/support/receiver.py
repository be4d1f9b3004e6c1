"""A receiver of webhooks on loopback: a real HTTP server that answers, or misbehaves, as a test tells it to."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

PATIENCE = 20


@dataclass(frozen=True)
class Request:
    line: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Reply:
    """An answer; `then` is done with the connection after it was sent."""

    status: int = 200
    body: bytes = b"ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent instead of an answer."""
    then: Callable[[Receiver, socket.socket], None] | None = None

    def bytes(self) -> bytes:
        if self.raw is not None:
            return self.raw
        headers = {"content-length": str(len(self.body)), **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} X\r\n{lines}connection: close\r\n\r\n".encode() + self.body


def reset(_: Receiver, client: socket.socket) -> None:
    """Closing with a linger time of zero sends a reset instead of a farewell."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def keep_open(receiver: Receiver, _: socket.socket) -> None:
    receiver.over.wait(PATIENCE)


def drip(receiver: Receiver, client: socket.socket) -> None:
    """A byte now and then, forever."""
    try:
        while not receiver.over.wait(0.02):
            client.sendall(b"x")
    except OSError:
        return


def pour(receiver: Receiver, client: socket.socket) -> None:
    """As much as anybody takes."""
    try:
        while not receiver.over.is_set() and receiver.poured < 100_000_000:
            receiver.poured += client.send(b"x" * 65536)
    except OSError:
        return


class Receiver:
    """Takes each request, then answers with the next reply; without one, with 200."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?key=in-the-address"
        self.over = threading.Event()
        self.poured = 0
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            request = _read(client)
            with self._lock:
                self.requests.append(request)
                reply = self._replies.pop(0) if self._replies else Reply()
            client.sendall(reply.bytes())
            if reply.then is not None:
                reply.then(self, client)

    def __enter__(self) -> Receiver:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in (self._accepting, *self._threads):
            thread.join(10)


def _read(client: socket.socket) -> Request:
    with client.makefile("rb") as stream:
        line = stream.readline().decode().strip()
        headers = {}
        while text := stream.readline().decode().strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        return Request(line, headers, stream.read(int(headers.get("content-length", 0))))
