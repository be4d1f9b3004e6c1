"""What surrounds every request: a bound on its body, headers that protect pages, a trace id, and a measured time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock.http.problems import problem

Observe = Callable[[str, str, int, float], None]
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"font-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", POLICY),
)


class TooLarge(Exception):
    """The body is longer than what is taken."""


class Surroundings:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, *, max_body: int, longer: tuple[tuple[str, int], ...], observe: Observe) -> None:
        self._app, self._max_body, self._longer, self._observe = app, max_body, longer, observe
        self._limits: dict[str, int] = {}
        """Of paths that were asked for lately."""

    def _limit(self, path: str) -> int:
        limit = next((size for part, size in self._longer if part in path), self._max_body)
        if len(self._limits) >= 1000:
            self._limits.clear()
        self._limits[path] = limit
        return limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limits.get(scope["path"]) or self._limit(scope["path"])
        trace = f"{random.getrandbits(64):016x}"
        scope.setdefault("state", {})["trace"] = trace
        began, status = time.perf_counter(), 500
        seen = 0

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > limit:  # an error of the framework's own kind, which it lets pass
                    raise HTTPException(413, _told(limit), {"Connection": "close"})
            return message

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                given = {name for name, _ in headers}  # what a page says itself counts
                always = [pair for pair in ALWAYS if pair[0] not in given]
                message["headers"] = [*headers, *always, (b"x-trace-id", trace.encode())]
            await send(message)

        try:
            declared = _declared_length(scope)
            if declared is not None and declared > limit:
                answer = problem(413, "too-large", _told(limit), headers={"Connection": "close"})
                await answer(scope, receive, marked)
            else:
                await self._app(scope, bounded, marked)
        finally:
            route = getattr(scope.get("route"), "path", None) or "unknown"
            self._observe(scope["method"], route, status, time.perf_counter() - began)


def _told(limit: int) -> str:
    return f"the body is longer than the {limit:,} bytes that are taken here"


def _declared_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None
