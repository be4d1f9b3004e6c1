"""The world as a server: `with World() as world:` serves it in a thread, and `world.url` is its address."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from ipaddress import ip_address
from typing import Any

import orjson
import uvicorn
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from interlock.apps.jobs.world.catalogue import described
from interlock.apps.jobs.world.data.ouroboros import COMPANY as LOOPING
from interlock.apps.jobs.world.exchange import Call, Reply, SentFile, html_reply, json_reply, redirect
from interlock.apps.jobs.world.faults import FAULTS, IN_THE_ANSWER, Fault, FaultAsked, Faults
from interlock.apps.jobs.world.pages.layout import page
from interlock.apps.jobs.world.received import Received
from interlock.apps.jobs.world.routes import answer
from interlock.http.server import ReadyServer, listen, run
from interlock.machine import InterlockError
from interlock.store.clock import Clock, SystemClock, moment

MOST_BYTES = 8_000_000
"""A larger request is refused with 413."""
LOOP = LOOPING.slug
HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(?::\d{1,5})?")
FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


class World:
    """Six companies, the systems that show their jobs, and what happens to applications."""

    def __init__(
        self,
        port: int = 0,
        clock: Clock | None = None,
        host: str = "127.0.0.1",
        ready: Callable[[World], None] | None = None,
    ) -> None:
        self._socket = listen(host, port)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._socket.getsockname()[1]}"
        self._loopback = _is_loopback(host)
        self._ready = ready
        self.faults = Faults()
        self.received = Received()
        self._clock = clock or SystemClock()
        self._began = moment(self._clock.now())
        self._turn = 0
        self._names = {self.host, f"localhost:{self.url.rpartition(':')[2]}"}
        self._started = threading.Event()
        config = uvicorn.Config(
            self, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off", proxy_headers=False
        )
        self._server = ReadyServer(config, self._opened)
        self._thread = threading.Thread(target=self.run, name="interlock-world", daemon=True)

    @property
    def host(self) -> str:
        """Host and port, as `[jobs] private_hosts` names them."""
        return self.url.removeprefix("http://")

    def described(self) -> dict[str, Any]:
        """What `GET /_world` tells."""
        return described(self.url, self._began)

    # -- the server

    def run(self) -> None:
        """Serve in this thread until the process is asked to stop."""
        run(self._server, self._socket)

    def _opened(self) -> None:
        self._started.set()
        if self._ready is not None:
            self._ready(self)

    def __enter__(self) -> World:
        self._thread.start()
        if not self._started.wait(30):
            raise InterlockError("the demo world did not start within 30 seconds")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(30)

    # -- requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            call = await self._call(Request(scope, receive))
        except ClientDisconnect:
            return
        if isinstance(call, Reply):
            await _send(send, call, scope["method"])
            return
        if self._loopback and call.headers.get("host") not in self._names:
            # A page elsewhere could give its own name to this address, and read what was received.
            await _send(send, json_reply({"error": f"this is {self.url}"}, 421), call.method)
            return
        if call.path.startswith("/_"):
            await _send(send, self._control(call), call.method)
            return
        faults = self.faults.take(call.method, call.path)
        for one in faults:
            if one.fault == "slow":
                await _pause(receive, one.seconds)
        reply = self._early(call, faults) or self._answered(call, faults)
        kinds = {one.fault for one in faults}
        if "lost_answer" in kinds:
            await _break_off(receive, b"")
        elif "cut_off" in kinds:
            await _break_off(receive, _cut(reply))
        else:
            await _send(send, _unchanged(call, reply), call.method)

    def _answered(self, call: Call, faults: list[Fault]) -> Reply:
        """The answer of the world; an application is recorded before anybody hears of it."""
        inner = frozenset(one.fault for one in faults) & IN_THE_ANSWER
        turns = "changing_ids" in inner or f"/{LOOP}" in call.path
        self._turn += turns
        reply = answer(replace(call, faults=inner, turn=self._turn if turns else 0))
        if reply.submission:
            self.received.add(reply.submission, call.base, call.now)
        return reply

    def _early(self, call: Call, faults: list[Fault]) -> Reply | None:
        """The answer of a fault that comes in place of the world's; nothing is recorded."""
        for one in faults:
            match one.fault:
                case "not_found":
                    return html_reply(page("Not found", "<h1>Not found</h1>"), 404)
                case "too_many_requests":
                    wait = {"Retry-After": f"{one.seconds:g}"}
                    return replace(json_reply({"error": "too many requests"}, 429), headers=wait)
                case "server_error":
                    return html_reply(page("Error", "<h1>Something went wrong</h1>"), 500)
                case "html":
                    return html_reply(page("Welcome", "<h1>Welcome</h1><p>Please enable JavaScript.</p>"))
                case "redirect_loop":
                    other = "1" if call.query.get("again") != "1" else "2"
                    return redirect(f"{call.base}{call.path}?again={other}")
        return None

    async def _call(self, request: Request) -> Call | Reply:
        """The request as a value, or the answer to one that is too large or no form."""
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                return json_reply({"error": f"at most {MOST_BYTES} bytes are taken"}, 413)
        call = Call(
            request.method,
            request.scope["path"],
            self._base(request),
            moment(self._clock.now()),
            self._began,
            dict(request.query_params),
            {name.lower(): value for name, value in request.headers.items()},
            bytes(body),
        )
        if not call.headers.get("content-type", "").startswith(FORMS):
            return call
        try:
            return await _with_form(call, request)
        except (HTTPException, MultiPartException) as error:
            return json_reply({"error": f"the form cannot be read: {error}"}, 400)

    def _base(self, request: Request) -> str:
        """The address that links begin with; by the request where the world listens on several."""
        asked = request.headers.get("host", "")
        return self.url if self._loopback or not HOST.fullmatch(asked) else f"http://{asked}"

    def _control(self, call: Call) -> Reply:
        """What drives the world: it is no part of it."""
        match call.method, call.path:
            case "GET", "/_world":
                return json_reply(described(call.base, call.began))
            case "GET", "/_received":
                found = self.received.list()
                return json_reply({"received": found, "count": len(found)})
            case "DELETE", "/_received":
                self.received.clear()
                return Reply(b"", 204)
            case "GET", "/_faults":
                return json_reply({"faults": self.faults.list(), "kinds": FAULTS})
            case "DELETE", "/_faults":
                self.faults.clear()
                return Reply(b"", 204)
            case "POST", "/_faults":
                return self._fault(call)
        return json_reply({"error": "there are /_world, /_received and /_faults"}, 404)

    def _fault(self, call: Call) -> Reply:
        if not call.headers.get("content-type", "").startswith("application/json"):
            return json_reply({"error": "send JSON, with Content-Type: application/json"}, 415)
        try:
            made = self.faults.ask(FaultAsked.model_validate(call.json()))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the body"
            return json_reply({"error": f"{where}: {first['msg']}"}, 422)
        except ValueError as error:
            return json_reply({"error": str(error)}, 409)
        return Reply(orjson.dumps(made), 201)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _with_form(call: Call, request: Request) -> Call:
    sent = False

    async def again() -> Message:
        nonlocal sent
        body, sent = (b"" if sent else call.body), True
        return {"type": "http.request", "body": body, "more_body": False}

    form = await Request(request.scope, again).form(max_files=10, max_fields=200, max_part_size=200_000)
    fields, files = [], []
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            content = await value.read()
            kind, digest = value.content_type or "", sha256(content).hexdigest()
            files.append(SentFile(name[:200], (value.filename or "")[:200], kind[:100], len(content), digest))
        else:
            fields.append((name[:200], value))
    await form.close()
    return replace(call, form=tuple(fields), files=tuple(files), body=b"")


def _unchanged(call: Call, reply: Reply) -> Reply:
    """The answer with its tag, or 304 where the client has it already."""
    if reply.status != 200 or call.method not in ("GET", "HEAD"):
        return reply
    tag = f'"{sha256(reply.body).hexdigest()[:32]}"'
    known = [one.strip() for one in call.headers.get("if-none-match", "").split(",")]
    return replace(Reply(b"", 304) if tag in known else reply, headers={**reply.headers, "ETag": tag})


async def _send(send: Send, reply: Reply, method: str) -> None:
    body = b"" if method == "HEAD" else reply.body
    headers = {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body)), **reply.headers}
    if reply.status in (204, 304):
        del headers["Content-Length"]
    raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _cut(reply: Reply) -> bytes:
    """The beginning of an answer, with a Content-Length that is never reached."""
    head = (
        f"HTTP/1.1 {reply.status} OK\r\nContent-Type: {reply.content_type}\r\nContent-Length: {len(reply.body) + 100}"
    )
    return head.encode() + b"\r\n\r\n" + reply.body[: len(reply.body) // 2]


async def _break_off(receive: Receive, beginning: bytes) -> None:
    """Write bytes as they are and close the connection; ASGI itself cannot do that."""
    transport = receive.__self__.transport  # type: ignore[attr-defined]
    if beginning:
        transport.write(beginning)
    transport.close()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pause(receive: Receive, seconds: float) -> None:
    """Wait, but not for somebody who has gone."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        pass
