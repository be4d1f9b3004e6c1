"""Serves the application with uvicorn. It is ready when the port is open, and stops without hanging."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from interlock.http.host_check import HostCheck
from interlock.http.protocol import Bounds, bounded
from interlock.http.service import Service
from interlock.machine import InterlockError


class PortTaken(InterlockError):
    """Another process listens on the port."""


def listen(host: str, port: int) -> socket.socket:
    """Open the socket before anything else starts, so that a wrong port is reported at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns Nagle's algorithm off, which else delays every answer by 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise PortTaken(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port, or stop what uses it"
        ) from error
    made.listen(2048)
    return made


class ReadyServer(uvicorn.Server):
    """Calls `ready` when the port is open, and ends at a signal without raising it again."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Prevents uvicorn from raising the signal again at the end, before the drain could run."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {s: signal.signal(s, self.handle_exit) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None and self.started:
            self._ready()


class Server(ReadyServer):
    """Ends live streams before it waits for open requests."""

    def __init__(
        self, config: uvicorn.Config, service: Service, ready: Callable[[], None] | None, stopping: Callable[[], None]
    ) -> None:
        super().__init__(config, ready)
        self._service, self._stopping = service, stopping

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.stopping = True
        self._stopping()
        self._service.hub.close()
        await super().shutdown(sockets)


def _nothing() -> None:
    return None


def make_server(
    app: ASGIApp,
    service: Service,
    *,
    ready: Callable[[], None] | None = None,
    stopping: Callable[[], None] = _nothing,
) -> Server:
    limits = service.settings.http
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=30,
        ws="none",
        limit_concurrency=limits.connections,
        http=bounded(Bounds(limits, HostCheck(limits))),
        proxy_headers=False,  # `host_check` handles proxies, and only configured ones
    )
    return Server(config, service, ready, stopping)


def run(server: ReadyServer, sock: socket.socket) -> None:
    """Serve on the fastest available event loop, until it is asked to stop."""
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[sock]))


class InThread:
    """A server in a separate thread, for tests and programs with their own main loop."""

    def __init__(self, app: ASGIApp, service: Service, host: str = "127.0.0.1", port: int = 0) -> None:
        self._socket = listen(host, port)
        self.url = f"http://{host}:{self._socket.getsockname()[1]}"
        service.listens_at = self.url
        self._started = threading.Event()
        self._server = make_server(app, service, ready=self._started.set)
        self._thread = threading.Thread(target=self._run, name="interlock-server", daemon=True)

    def _run(self) -> None:
        run(self._server, self._socket)

    def __enter__(self) -> InThread:
        self._thread.start()
        if not self._started.wait(30):
            raise InterlockError("the server did not start within 30 seconds; see the log")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)
