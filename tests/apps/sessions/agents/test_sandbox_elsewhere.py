"""A sandbox that is not on this host: all there is of it is the address of its MCP server, with a header."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server import MCPServer

from interlock.apps.sessions.allocator import pool
from tests.support.sessions import Sessions
from tests.support.waiting import eventually

KEY = "key-of-the-sandbox-77"


class Guard:
    """Lets nobody in without the key."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != f"Bearer {KEY}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you"})
            return
        await self._app(scope, receive, send)


@contextmanager
def remote_sandbox() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a sandbox's tools, and the files that it has."""
    files = {"README.md": "# Shop"}
    server = MCPServer("sandbox", log_level="ERROR")

    @server.tool()
    async def list_files(path: str = ".") -> str:
        return "\n".join(files)

    @server.tool()
    async def read_file(path: str, lines: int = 0) -> str:
        return f"1\t{files[path]}"

    @server.tool()
    async def write_file(path: str, content: str) -> str:
        files[path] = content
        return "written"

    @server.tool()
    async def search_files(text: str, path: str = ".") -> str:
        return "[no match]"

    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = uvicorn.Server(uvicorn.Config(Guard(server.streamable_http_app()), log_level="error"))
        thread = threading.Thread(target=made.run, args=([listening],), daemon=True)
        thread.start()
        eventually(lambda: made.started)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", files
        made.should_exit = True
        thread.join(10)


@pytest.mark.parametrize("key", [KEY, pytest.param("another-key-000", marks=pytest.mark.soak)])
def test_a_prompt_is_worked_on_with_the_tools_of_a_sandbox_elsewhere(sessions: Sessions, key: str) -> None:
    sessions.set(pool_size=0)
    with remote_sandbox() as (url, files):
        server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key}"}}
        item = {"mcp_json_string": json.dumps({"mcpServers": {"sandbox": server}}), "api_url": url}
        sessions.engine.write(lambda unit: pool.add(unit, "local", pool.canonical(item)))
        made = sessions.start("Write it down")
        sessions.go_on(10)
    (prompt,) = sessions.prompts(made["id"])
    if key == KEY:
        assert (prompt["inbox_status"], "notes/write-it-down.md" in files) == ("done", True), prompt
    else:
        assert prompt["inbox_status"] == "failed"
        assert "MCP server sandbox cannot be reached" in prompt["sentence"]
    assert sessions.look(made["id"])["lease"]["state"] == "returned"
