"""Connections to addresses that were checked.

The check is part of connecting: whatever leads to a connection (a redirect, a robots.txt, a new connection of the pool)
passes it, and the connection goes to the address that passed. The name stays in the header Host and in TLS, so the
certificate must be the name's. Proxies of the environment are not used, as they would resolve names themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import httpcore2

from interlock.apps.jobs.finder.fetching.guard import Guard

Dial = Callable[[str, int, float | None], Awaitable[httpcore2.AsyncNetworkStream]]
"""IP address, port, timeout in seconds → a connection."""

MOST_ADDRESSES = 3
"""Addresses of one host that are tried."""


async def dial(address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
    """A TCP connection to an IP address."""
    return await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout=timeout)


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Opens connections for a pool, only to addresses that the guard lets pass."""

    def __init__(self, guard: Guard, dial: Dial = dial) -> None:
        self._guard, self._dial = guard, dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        found = await self._guard.addresses(host, port, is_exempt=self._guard.is_exempt(host, port))
        *first, last = found[:MOST_ADDRESSES]
        for address in first:
            try:
                return await self._dial(address, port, timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._dial(last, port, timeout)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("no sockets of this machine")
