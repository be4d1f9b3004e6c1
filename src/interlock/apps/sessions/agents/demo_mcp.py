"""The tools of any sandbox by its MCP server, for the scripted agent."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from interlock.apps.sessions.sandbox.files import ToolRefused

SECONDS = 900.0
SECONDS_TO_CONNECT = 60.0


def connect(mcp_json: str, preferred: str) -> Callable[[str, Mapping[str, Any]], str]:
    """A function that calls tools of the preferred server, or of the first one. Ends the program if it cannot."""
    servers: dict[str, Any] = json.loads(mcp_json)["mcpServers"]
    if not servers:
        raise SystemExit("the sandbox has no MCP server")
    name = preferred if preferred in servers else next(iter(servers))
    loop = asyncio.new_event_loop()
    calls: asyncio.Queue[tuple[str, Mapping[str, Any], Any]] = asyncio.Queue()
    connected: Future[None] = Future()

    async def serve() -> None:
        async with _client(servers[name]) as client:
            connected.set_result(None)
            while True:
                tool, given, answer = await calls.get()
                try:
                    found = await client.call_tool(tool, dict(given))
                    text = "\n".join(getattr(one, "text", "") for one in found.content)
                    answer.set_exception(ToolRefused(text)) if found.is_error else answer.set_result(text)
                except Exception as error:
                    answer.set_exception(ToolRefused(str(error)))

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        except Exception as error:
            if not connected.done():
                connected.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        connected.result(SECONDS_TO_CONNECT)
    except Exception as error:
        raise SystemExit(f"the sandbox's MCP server {name} cannot be reached: {_cause(error)}") from None

    def call(tool: str, given: Mapping[str, Any]) -> str:
        async def ask() -> str:
            answer: asyncio.Future[str] = loop.create_future()
            await calls.put((tool, given, answer))
            return await answer

        return asyncio.run_coroutine_threadsafe(ask(), loop).result(SECONDS)

    return call


@asynccontextmanager
async def _client(spec: Mapping[str, Any]) -> AsyncIterator[Client]:
    """A client of a server as `mcpServers` describes it: over standard input and output, or HTTP with its headers."""
    kind, headers = spec.get("type", "stdio" if "command" in spec else "http"), spec.get("headers") or None
    if kind == "stdio":
        target: Any = StdioServerParameters(
            command=spec["command"], args=spec.get("args", []), env=spec.get("env") or None
        )
        async with Client(target) as client:
            yield client
    elif kind == "sse":
        async with Client(sse_client(spec["url"], headers=headers)) as client:
            yield client
    else:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=SECONDS)) as http,
            Client(streamable_http_client(spec["url"], http_client=http)) as client,
        ):
            yield client


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(str(error).split())[:500] or type(error).__name__
