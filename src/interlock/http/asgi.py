"""What surrounds every request: who reaches us by which name, a bound on its body and on the time that takes, headers
that protect pages, a trace id, and a measured time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock.config import HttpSettings
from interlock.http import incoming
from interlock.http.problems import Refusal, problem
from interlock.http.reach import Reach

Observe = Callable[[str, str, int, float], None]
Stranger = Callable[[Scope], Awaitable[Refusal | None]]
"""Why nobody is known who asks; None when somebody is."""
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
    (b"cache-control", b"no-store"),  # whatever is answered may be somebody's; static files say that they are not
)


SMALL = 16_384
"""Bytes of a body that are looked at on the spot, and that are taken from anybody."""
BODILESS = {"GET", "HEAD"}
GONE = "whoever sent it went away before all of it had come"
SLOW = "the body of the request came too slowly; send it again, on a better connection or in a smaller piece"


class Surroundings:
    """Wraps the application."""

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
        self._reach = Reach(settings)
        self._limits: dict[str, int] = {}
        """Of paths that were asked for lately."""

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
        seen, whole = 0, False
        until = began + self._settings.body_seconds
        kind = incoming.looks_at(scope)
        parts: list[bytes] = []
        declared = _declared_length(scope)
        asked = False

        async def ask() -> None:
            """Nobody reads or parses a long body for a stranger."""
            nonlocal asked
            asked = True
            if unknown := await self._stranger(scope):
                raise HTTPException(unknown.status_code, unknown.problem.detail, _kept(unknown))

        async def bounded() -> Message:
            nonlocal seen, whole
            if whole:  # now only the end of the connection can come, and that may take its time
                return await receive()
            if declared is not None and declared > SMALL and not asked:
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
                seen += len(message.get("body", b""))
                if seen > limit:  # an error of the framework's own kind, which it lets pass
                    raise HTTPException(413, _told(limit), {"Connection": "close"})
                if seen > SMALL and not asked:
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
                given = {name for name, _ in headers}  # what a page says itself counts
                if b"cache-control" in given:  # but none may be kept, except what is everybody's and never changes
                    headers = [p for p in headers if p[0] != b"cache-control" or b"immutable" in p[1]]
                    given = {name for name, _ in headers}
                always = [pair for pair in ALWAYS if pair[0] not in given]
                message["headers"] = [*headers, *always, (b"x-trace-id", trace.encode())]
            await send(message)

        try:
            refused = self._reach.admit(scope)
            if refused:
                await problem(421, "wrong-host", refused)(scope, receive, marked)
            elif wrong := incoming.address(scope):
                await problem(422, "invalid", wrong)(scope, receive, marked)
            elif declared is not None and declared > limit:
                answer = problem(413, "too-large", _told(limit), headers={"Connection": "close"})
                await answer(scope, receive, marked)
            else:
                await self._app(scope, bounded, marked)
        finally:
            route = getattr(scope.get("route"), "path", None) or "unknown"
            self._observe(scope["method"], route, status, time.perf_counter() - began)


async def _wrong(kind: str, content: bytes) -> str:
    """What is wrong with a body; a long one is looked at in a thread, it may take milliseconds."""
    if len(content) <= SMALL:
        return incoming.body(kind, content)
    return await asyncio.to_thread(incoming.body, kind, content)


def _kept(refusal: Refusal) -> dict[str, str]:
    """The headers of its own."""
    return {k: v for k, v in refusal.headers.items() if k not in {"content-length", "content-type"}}


def _told(limit: int) -> str:
    return f"the body is longer than the {limit:,} bytes that are taken here"


def _declared_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None
