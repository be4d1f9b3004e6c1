"""A web site on loopback whose every byte the test decides, and a network that leads public addresses to it."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpcore2

from interlock.apps.jobs.finder.fetching.connecting import dial

HOLD = object()
"""In an answer: keep the connection open and send nothing more."""


@dataclass(frozen=True)
class SiteRequest:
    """A request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Route = Callable[[SiteRequest], Sequence[object]] | bytes


def answer(body: bytes | str = b"", status: int = 200, **headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} X", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    if "content_length" not in headers and "transfer_encoding" not in headers:
        lines.append(f"content-length: {len(content)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@dataclass
class Site:
    """Routes by path; what is not routed is a 404."""

    port: int = 0
    routes: dict[str, Route] = field(default_factory=dict)
    asked: list[SiteRequest] = field(default_factory=list)
    connections: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def clear(self) -> None:
        self.routes.clear()
        self.asked.clear()
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while asked := await _read(reader):
                self.asked.append(asked)
                route = self.routes.get(asked.path.partition("?")[0], answer(b"not here", 404))
                for piece in [route] if isinstance(route, bytes) else route(asked):
                    if piece is HOLD:
                        await reader.read()  # until the client gives up
                        return
                    assert isinstance(piece, bytes)
                    writer.write(piece)
                await writer.drain()
                if not isinstance(route, bytes):
                    return  # an answer in pieces ends with the connection
        except ConnectionError:
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> SiteRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return SiteRequest(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


@contextmanager
def running(tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """A site in a thread of its own."""
    site, ready, loop = Site(), threading.Event(), asyncio.new_event_loop()

    async def start() -> asyncio.Server:
        server = await asyncio.start_server(site.serve, "127.0.0.1", 0, limit=1 << 20, ssl=tls)
        site.port = server.sockets[0].getsockname()[1]
        return server

    def run() -> None:
        server = loop.run_until_complete(start())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(stop(server))
        loop.close()

    async def stop(server: asyncio.Server) -> None:
        server.close()
        open_ = asyncio.all_tasks() - {asyncio.current_task()}
        for task in open_:
            task.cancel()
        await asyncio.gather(*open_, return_exceptions=True)

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    try:
        yield site
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


PUBLIC = "93.184.215.14"


@dataclass
class Net:
    """DNS by table, and public addresses that all lead to one site."""

    site: Site
    names: dict[str, list[list[str]]] = field(default_factory=dict)
    """Name → its answers, one after the other; the last one stays."""
    looked_up: list[str] = field(default_factory=list)
    dialled: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> list[str]:
        self.looked_up.append(host)
        answers = self.names.get(host, [[PUBLIC]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def dial(self, address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        self.dialled.append(address)
        return await dial("127.0.0.1", self.site.port, timeout)
