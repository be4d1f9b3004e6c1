"""Middleware for every request: host and proxy checks, limits on the body's size and time, protective headers, a trace
id, and a measured time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock.config import HttpSettings
from interlock.http import request_check
from interlock.http.host_check import HostCheck
from interlock.http.problems import Refusal, problem

Observe = Callable[[str, str, int, float], None]
Stranger = Callable[[Scope], Awaitable[Refusal | None]]
"""Returns a refusal if the caller is unknown, None otherwise."""
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"font-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", POLICY),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),  # answers may be private; static files override this
)


SMALL = 16_384
"""Bodies up to this size are checked inline, and accepted from anybody."""
BYTES = b"application/octet-stream"
"""A caller that accepts nothing else gets files as this type, since generated clients know few others."""
BODILESS = {"GET", "HEAD"}
GONE = "the client disconnected before the whole body arrived"
SLOW = "the request body arrived too slowly; send it again, or send a smaller one"


class RequestGuard:
    """Wraps the application with these checks."""

    def __init__(
        self,
        app: ASGIApp,
        settings: HttpSettings,
        *,
        longer: tuple[tuple[str, int], ...],
        observe: Observe,
        stranger: Stranger,
    ) -> None:
        self._app, self._settings, self._longer, self._observe = app, settings, longer, observe
        self._stranger = stranger
        self._hosts = HostCheck(settings)
        self._limits: dict[str, int] = {}
        """Limits of recently requested paths."""

    def _limit(self, path: str) -> int:
        limit = next((size for part, size in self._longer if part in path), self._settings.max_body)
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
        received, whole = 0, False
        until = began + self._settings.body_seconds
        kind = request_check.looks_at(scope)
        parts: list[bytes] = []
        declared = _declared_length(scope)
        authenticated = False
        wants_bytes = (b"accept", BYTES) in scope["headers"]

        async def ask() -> None:
            """Refuse anonymous callers before a long body is read or parsed."""
            nonlocal authenticated
            authenticated = True
            if unknown := await self._stranger(scope):
                raise HTTPException(unknown.status_code, unknown.problem.detail, _kept(unknown))

        async def bounded() -> Message:
            nonlocal received, whole
            if whole:  # only the end of the connection can follow, and that may take long
                return await receive()
            if declared is not None and declared > SMALL and not authenticated:
                await ask()
            try:
                async with asyncio.timeout(min(self._settings.idle_seconds, until - time.perf_counter())):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, SLOW, {"Connection": "close"}) from None
            if message["type"] == "http.disconnect" and scope["method"] not in BODILESS:
                raise HTTPException(499, GONE)
            whole = not message.get("more_body", False)
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                if received > limit:  # an error type that the framework passes through
                    raise HTTPException(413, _too_long(limit), {"Connection": "close"})
                if received > SMALL and not authenticated:
                    await ask()
                if kind:
                    parts.append(message.get("body", b""))
                    if whole and (wrong := await _wrong(kind, b"".join(parts))):
                        raise HTTPException(422, wrong)
            return message

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                given = {name for name, _ in headers}  # headers set by the page take precedence
                if b"cache-control" in given:  # nothing may be cached except immutable static files
                    headers = [p for p in headers if p[0] != b"cache-control" or b"immutable" in p[1]]
                    given = {name for name, _ in headers}
                if wants_bytes and b"content-type" in given:
                    headers = [p if p[0] != b"content-type" else _as_bytes(p) for p in headers]
                always = [pair for pair in ALWAYS if pair[0] not in given]
                message["headers"] = [*headers, *always, (b"x-trace-id", trace.encode())]
            await send(message)

        try:
            refused = self._hosts.admit(scope)
            if refused:
                await problem(421, "wrong-host", refused)(scope, receive, marked)
            elif wrong := request_check.address(scope):
                await problem(422, "invalid", wrong)(scope, receive, marked)
            elif declared is not None and declared > limit:
                answer = problem(413, "too-large", _too_long(limit), headers={"Connection": "close"})
                await answer(scope, receive, marked)
            else:
                await self._app(scope, bounded, marked)
        finally:
            route = getattr(scope.get("route"), "path", None) or "unknown"
            self._observe(scope["method"], route, status, time.perf_counter() - began)


async def _wrong(kind: str, content: bytes) -> str:
    """Check a body. A long one is checked in a thread, because it may take milliseconds."""
    if len(content) <= SMALL:
        return request_check.body(kind, content)
    return await asyncio.to_thread(request_check.body, kind, content)


def _kept(refusal: Refusal) -> dict[str, str]:
    """The refusal's own headers."""
    return {k: v for k, v in refusal.headers.items() if k not in {"content-length", "content-type"}}


def _too_long(limit: int) -> str:
    return f"the body exceeds the limit of {limit:,} bytes"


def _declared_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


def _as_bytes(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """The type of an answer for a caller that accepts bytes only: text and JSON stay what they are."""
    return (
        header
        if header[1].startswith((b"text/", b"application/json", b"application/problem+json"))
        else (b"content-type", BYTES)
    )
