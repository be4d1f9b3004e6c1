"""Serves the tools over standard input and output, or over HTTP on this machine."""

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
from interlock.apps.jobs.agents.tools import OpenClaims, make_server
from interlock.machine import InterlockError

HOST = "127.0.0.1"
"""Whoever reaches the port acts with our token, so the server listens on loopback only."""


def over_stdio(url: str, token: str, workspace: str | None) -> None:
    """Serve until the input closes or a signal arrives, then give back claims that submitted nothing."""
    _quiet()

    async def run() -> None:
        claims = OpenClaims(AsyncClient(url, token, workspace))
        ending: list[asyncio.Task[None]] = []

        async def end() -> None:
            await claims.close()
            sys.stderr.flush()
            # A thread blocks on input that may never come, and Python would wait for that thread.
            os._exit(0)

        def stop() -> None:
            if not ending:
                ending.append(asyncio.create_task(end()))

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        await make_server(claims).run_stdio_async()

    asyncio.run(run())


def over_http(url: str, token: str, workspace: str | None, port: int, ready: Callable[[str], None]) -> None:
    """Serve on loopback until a signal arrives."""
    _quiet()
    claims = OpenClaims(AsyncClient(url, token, workspace))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise InterlockError(
                f"cannot listen on {HOST}:{port}: {error.strerror}; choose another with --port, or stop what uses it"
            ) from error
        app = make_server(claims).streamable_http_app(host=HOST)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=3, lifespan="on")
        _Server(config, lambda: ready(f"http://{HOST}:{listener.getsockname()[1]}/mcp")).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Calls `ready` once it accepts connections."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def _quiet() -> None:
    """Log to the standard error: the standard output belongs to the protocol."""
    logging.basicConfig(stream=sys.stderr, level="WARNING", format="%(levelname)s %(name)s: %(message)s")
