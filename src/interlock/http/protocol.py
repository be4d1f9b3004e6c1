"""Limits on a connection before there is a request: the size of its head, the time for head and body, and their number.

The parser does not limit the head, and a server waits forever for the rest of it: ten thousand connections that send a
byte a minute occupy it like a flood (slowloris). Timers are only set if a request does not arrive in one piece.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from interlock.config import HttpSettings
from interlock.http.host_check import HostCheck

MOST_HEADERS = 100
LONGEST_HEAD = 65_536
"""Bytes of all headers together, checked at each piece."""
LONGEST_TARGET = 16_384
"""Bytes of the path with its query."""
AFTER_ANSWER = 5.0
"""Seconds for the rest of a body whose request was already answered."""
HEAD, BODY, BETWEEN = "head", "body", "between"


@dataclass
class Bounds:
    """The limits of a server, and its connections by address."""

    settings: HttpSettings
    hosts: HostCheck
    open: Counter[str] = field(default_factory=Counter)

    def enter(self, address: str) -> bool:
        net = network(address)
        self.open[net] += 1
        return self.open[net] <= self.settings.connections_per_address or self.hosts.trusts(address)

    def leave(self, address: str) -> None:
        net = network(address)
        self.open[net] -= 1
        if self.open[net] <= 0:
            del self.open[net]


def network(address: str) -> str:
    """The unit that counts as one address. IPv6 addresses count by /64, because one subscriber controls all of it."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), 64), strict=False))


def bounded(bounds: Bounds) -> type[asyncio.Protocol]:
    """The protocol for a server with these limits."""
    return type("BoundedProtocol", (_Protocol,), {"bounds": bounds})


class _Protocol(HttpToolsProtocol):
    bounds: Bounds

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._phase, self._begun, self._size = HEAD, False, 0
        self._new = False
        """Whether the message began in the current piece."""
        self._counted = 0
        self._address = ""
        self._refused: tuple[int, str] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timed = ""
        """The phase that the timer belongs to."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        if not self.bounds.enter(self._address):
            self._refuse(503, "Too many connections from this address are open.", "retry-after: 5\r\n")
            return
        self._time(HEAD, self.bounds.settings.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._no_timer()
        self.bounds.leave(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._new = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._phase == HEAD and not self._new:
            self._size += len(data)
            if self._size > LONGEST_HEAD:
                self._refuse(431, f"The headers have more than {LONGEST_HEAD} bytes.")
                return
        self._watch()

    def _watch(self) -> None:
        """Set the timer of the current phase, and no other."""
        if self._phase == BODY:
            self._time(BODY, self.bounds.settings.body_seconds + self.bounds.settings.idle_seconds)
        elif self._phase == HEAD or self.cycle is None or self.cycle.response_complete:
            self._time(HEAD, self.bounds.settings.head_seconds)
        else:
            self._no_timer()

    def _time(self, phase: str, seconds: float) -> None:
        if self._timed == phase:
            return
        self._no_timer()
        self._timed = phase
        self._timer = self.loop.call_later(seconds, self._late, phase)

    def _no_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timed = None, ""

    def _late(self, phase: str) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if phase == HEAD and self._begun:
            self._refuse(408, "The head of the request took too long.")
        else:
            self.transport.close()

    # -- parser callbacks

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase, self._begun, self._new, self._size = HEAD, True, True, 0
        self._counted = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > LONGEST_TARGET:
            self._stop(414, f"The path and its query have more than {LONGEST_TARGET} bytes.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._counted += len(name) + len(value)
        if len(self.headers) >= MOST_HEADERS:
            self._stop(431, f"The request has more than {MOST_HEADERS} headers.")
        if self._counted > LONGEST_HEAD:
            self._stop(431, f"The headers have more than {LONGEST_HEAD} bytes.")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._phase, self._begun = BODY, False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._phase = BETWEEN
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._phase == BODY and not self.transport.is_closing():  # nobody waits for the rest of it
            self._no_timer()
            self._time(BODY, AFTER_ANSWER)
        super().on_response_complete()

    # -- refusals

    def _stop(self, status: int, detail: str) -> None:
        """Stop the parser, which then asks for an answer."""
        self._refused = (status, detail)
        raise ValueError(detail)

    def send_400_response(self, msg: str) -> None:
        self._refuse(*(self._refused or (400, msg)))

    def _refuse(self, status: int, detail: str, more: str = "") -> None:
        """Send a final response from the connection itself."""
        self._no_timer()
        body = f'{{"type":"http","title":"Refused","status":{status},"detail":"{detail}"}}'
        head = f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
        self.transport.write(STATUS_LINE[status] + (head + more + "\r\n" + body).encode("ascii"))
        self.transport.close()
