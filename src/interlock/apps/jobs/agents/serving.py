"""Serving the tools: to the program that started us, or to programs on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable

import uvicorn

from interlock.apps.jobs.agents.aio import AsyncClient
from interlock.apps.jobs.agents.tools import Desk, make_server
from interlock.machine import InterlockError

HOST = "127.0.0.1"
"""Whoever reaches the port acts with our token, so it is never open to others."""


def over_stdio(url: str, token: str, workspace: str | None) -> None:
    """Until the other side closes our input, or a signal comes; then claims that submitted nothing are given back."""
    _quiet()

    async def run() -> None:
        desk = Desk(AsyncClient(url, token, workspace))
        ending: list[asyncio.Task[None]] = []

        async def end() -> None:
            await desk.close()
            sys.stderr.flush()
            # A thread waits for input that may never come, and Python would wait for the thread.
            os._exit(0)

        def told() -> None:
            if not ending:
                ending.append(asyncio.create_task(end()))

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, told)
        await make_server(desk).run_stdio_async()

    asyncio.run(run())


def over_http(url: str, token: str, workspace: str | None, port: int, ready: Callable[[str], None]) -> None:
    """On loopback only, until a signal comes."""
    _quiet()
    desk = Desk(AsyncClient(url, token, workspace))
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((HOST, port))
        except OSError as error:
            raise InterlockError(
                f"cannot listen on {HOST}:{port}: {error.strerror}; choose another with --port, or stop what uses it"
            ) from error
        app = make_server(desk).streamable_http_app(host=HOST)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=3, lifespan="on")
        _Server(config, lambda: ready(f"http://{HOST}:{door.getsockname()[1]}/mcp")).run(sockets=[door])


class _Server(uvicorn.Server):
    """Says when it is open."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def _quiet() -> None:
    """The standard output belongs to the protocol; what has to be said goes to the standard error."""
    logging.basicConfig(stream=sys.stderr, level="WARNING", format="%(levelname)s %(name)s: %(message)s")
