"""One request and its answer, within limits of time and size."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import httpcore2
import httpx2

from interlock.apps.jobs.finder.fetching.connecting import CheckedNetwork
from interlock.apps.jobs.finder.fetching.decoding import Undecodable, decoder
from interlock.apps.jobs.finder.fetching.errors import CutOff, FetchError, Forbidden, TimedOut, TooLarge, Unreachable
from interlock.apps.jobs.finder.fetching.guard import Target, brief
from interlock.apps.jobs.finder.sources.answer import Answer

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 30.0
"""Seconds without a byte; Workday takes 10 to answer."""
MOST_CONNECTIONS = 100
KEPT_SECONDS = 2.0
"""How long an idle connection is used again. Many servers close theirs after 5 s, and one that closes while a request
is on its way fails it."""
DROPPED = {"set-cookie", "set-cookie2"}
"""Headers that no answer keeps: cookies are neither stored nor sent."""


class Exchanger:
    """Sends requests over a pool of connections that belongs to one event loop."""

    def __init__(self, network: CheckedNetwork, timeout: float) -> None:
        self._timeout = timeout
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_tls(),
            max_connections=MOST_CONNECTIONS,
            keepalive_expiry=KEPT_SECONDS,
            network_backend=network,
        )

    async def send(
        self,
        target: Target,
        path: str,
        method: str,
        headers: Mapping[str, str],
        content: bytes | None,
        most_bytes: int,
        *,
        cut: bool = False,
        departed: list[str] | None = None,
    ) -> Answer:
        """The answer of one request. `path` may have a key that `target` has not; `cut` ends a body at the limit.

        `departed` is no longer empty once a byte of the request may have left; such a request is never repeated.
        """
        name = brief(target.url)
        try:
            async with asyncio.timeout(self._timeout):
                while True:
                    opened: list[str] = []
                    try:
                        return await self._send(
                            target, path, method, headers, content, most_bytes, cut, opened, departed
                        )
                    except (httpcore2.NetworkError, httpcore2.RemoteProtocolError):
                        # A kept connection that the server closed meanwhile: the request was not answered, and a
                        # new connection may answer it. A POST might have had its effect.
                        if opened or method == "POST" or departed:
                            raise
        except TimeoutError:
            raise TimedOut(f"{name} was not complete after {self._timeout:g} s ([jobs] timeout)") from None
        except httpcore2.TimeoutException:
            raise TimedOut(f"{name} did not answer in time; the site may be overloaded") from None
        except httpcore2.LocalProtocolError as error:
            raise Forbidden(f"{name} cannot be asked for: {error}; check the source's headers") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            raise Unreachable(f"{name} cannot be reached: {_why(error)}") from None

    async def _send(
        self,
        target: Target,
        path: str,
        method: str,
        headers: Mapping[str, str],
        content: bytes | None,
        most_bytes: int,
        cut: bool,
        opened: list[str],
        departed: list[str] | None,
    ) -> Answer:
        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.startswith("connection.connect_tcp"):
                opened.append(event)
            elif departed is not None and "send_request" in event:
                departed.append(event)

        url = httpcore2.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=path.encode("ascii")
        )
        sent = [(one.encode("ascii"), value.encode("latin-1")) for one, value in headers.items()]
        limits = {"connect": CONNECT_SECONDS, "read": IDLE_SECONDS, "write": IDLE_SECONDS, "pool": None}
        async with self._pool.stream(
            method.encode("ascii"), url, headers=sent, content=content, extensions={"timeout": limits, "trace": trace}
        ) as response:
            got = _headers(response.headers)
            body = b""
            if method != "HEAD" and response.status not in (204, 304):
                body = await self._read(response, got, brief(target.url), most_bytes, cut)
            return Answer(body, target.url, response.status, got)

    async def _read(
        self, response: httpcore2.Response, headers: Mapping[str, str], name: str, most_bytes: int, cut: bool
    ) -> bytes:
        too_large = TooLarge(f"{name} has more than {most_bytes:,} bytes; no more are read")
        announced = headers.get("content-length", "")
        if not cut and announced.isdecimal() and len(announced) < 20 and int(announced) > most_bytes:
            raise too_large
        read = bytearray()
        try:
            unpacked = decoder(headers.get("content-encoding", ""))
            async for chunk in response.aiter_stream():
                for piece in unpacked.feed(chunk):
                    read += piece
                    if len(read) > most_bytes:
                        if cut:
                            return bytes(read[:most_bytes])
                        raise too_large
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            raise CutOff(f"{name} broke off after {len(read):,} bytes: {_why(error)}") from None
        except Undecodable as error:
            raise Unreachable(f"{name} cannot be decompressed: {error}") from None
        if not unpacked.is_complete():
            raise CutOff(f"{name} broke off after {len(read):,} bytes: its compression does not end")
        return bytes(read)

    async def aclose(self) -> None:
        with suppress(FetchError, RuntimeError):  # its event loop may have ended
            await self._pool.aclose()


@cache
def _tls() -> ssl.SSLContext:
    """The system's certificates; reading them takes 20 ms."""
    return httpx2.create_ssl_context()


def _headers(given: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw, value in given:
        name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
        if name not in DROPPED:
            found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def _why(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200]
    return text or type(error).__name__
