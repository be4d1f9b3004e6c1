"""The tools of any sandbox by its MCP server, for the scripted agent."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from interlock.apps.sessions.sandbox.files import ToolRefused

SECONDS = 900.0


def connect(mcp_json: str, preferred: str) -> Callable[[str, Mapping[str, Any]], str]:
    """A function that calls tools of the preferred server, or of the first one."""
    servers: dict[str, Any] = json.loads(mcp_json)["mcpServers"]
    if not servers:
        raise SystemExit("the sandbox has no MCP server")
    spec = servers.get(preferred) or next(iter(servers.values()))
    if spec.get("type", "stdio") == "stdio":
        target: Any = StdioServerParameters(
            command=spec["command"], args=spec.get("args", []), env=spec.get("env") or None
        )
    else:
        target = spec["url"]
    loop = asyncio.new_event_loop()
    calls: asyncio.Queue[tuple[str, Mapping[str, Any], Any]] = asyncio.Queue()

    async def serve() -> None:
        async with Client(target) as client:
            while True:
                name, given, answer = await calls.get()
                try:
                    found = await client.call_tool(name, dict(given))
                    text = "\n".join(getattr(one, "text", "") for one in found.content)
                    answer.set_exception(ToolRefused(text)) if found.is_error else answer.set_result(text)
                except Exception as error:
                    answer.set_exception(ToolRefused(str(error)))

    def run() -> None:
        loop.run_until_complete(serve())

    threading.Thread(target=run, daemon=True).start()

    def call(name: str, given: Mapping[str, Any]) -> str:
        async def ask() -> str:
            answer: asyncio.Future[str] = loop.create_future()
            await calls.put((name, given, answer))
            return await answer

        return asyncio.run_coroutine_threadsafe(ask(), loop).result(SECONDS)

    return call
