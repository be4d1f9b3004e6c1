"""The MCP server of a local sandbox, over standard input and output."""

from __future__ import annotations

import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from interlock.apps.sessions.sandbox.files import ToolRefused
from interlock.apps.sessions.sandbox.slot import Slot
from interlock.apps.sessions.sandbox.tools import Tools

INSTRUCTIONS = """Tools for the working tree at /workspace, a git repository on a branch of its own. Nothing outside it
can be read or written. Do not commit: what is in the working tree when you are done is committed."""
OWN_MEMORY = 1024**3
"""Bytes that the server may have in any case."""
LOOK_EVERY = 1.0
"""Seconds between two looks whether the agent is there."""
Path_ = Annotated[str, Field(max_length=4096, description="A path below /workspace.")]
Text = Annotated[str, Field(max_length=5_000_000)]


async def _call(function: Callable[..., Any], *arguments: Any) -> str:
    try:
        return str(await anyio.to_thread.run_sync(function, *arguments))
    except ToolRefused as error:
        raise ToolError(str(error)) from None
    except OSError as error:
        # Without the name: it is a path of the host.
        raise ToolError(f"this failed: {error.strerror or 'an error of the system'}") from None


def make_server(tools: Tools) -> MCPServer:
    """A server with the tools of one sandbox."""
    server = MCPServer("sandbox", instructions=INSTRUCTIONS, log_level="WARNING")

    @server.tool()
    async def execute_bash(
        command: Annotated[str, Field(max_length=100_000, description="A command for bash.")],
        timeout: Annotated[float, Field(ge=1, le=86400, description="Seconds that it may take.")] = 120,
        cwd: Path_ = ".",
    ) -> str:
        """Run a shell command in the sandbox. Processes in the background end with it. There may be no network."""
        return await _call(tools.execute_bash, command, timeout, cwd)

    @server.tool()
    async def read_file(path: Path_, first_line: int = 1, lines: int = 2000) -> str:
        """Read lines of a text file, with their numbers."""
        return await _call(tools.read_file, path, first_line, lines)

    @server.tool()
    async def write_file(path: Path_, content: Text) -> str:
        """Write a whole text file. Folders above it are made."""
        return await _call(tools.write_file, path, content)

    @server.tool()
    async def edit_file(path: Path_, old: Text, new: Text, every: bool = False) -> str:
        """Replace a text in a file. It must occur exactly once, unless `every` is true."""
        return await _call(tools.edit_file, path, old, new, every)

    @server.tool()
    async def delete_file(path: Path_) -> str:
        """Delete a file."""
        return await _call(tools.delete_file, path)

    @server.tool()
    async def list_files(path: Path_ = ".") -> str:
        """List the files below a folder."""
        return await _call(tools.list_files, path)

    @server.tool()
    async def search_files(text: Annotated[str, Field(max_length=1000)], path: Path_ = ".") -> str:
        """Find lines that contain a text. For patterns use grep in the shell."""
        return await _call(tools.search_files, text, path)

    return server


def serve(folder: Path) -> None:
    """Serve the sandbox in this folder until the input closes."""
    logging.basicConfig(stream=sys.stderr, level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    slot = Slot(folder)
    # It runs outside of the confinement, on what is in the tree. Its commands take the limit over, so it is no lower.
    most = max(slot.rules().limits.memory, OWN_MEMORY)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    threading.Thread(target=_end_with_the_agent, args=(os.getppid(),), daemon=True).start()
    make_server(Tools(slot)).run("stdio")


def _end_with_the_agent(agent: int) -> None:
    """End where the agent was killed: the input closes then, but a command that runs would be waited for."""
    while os.getppid() == agent:
        time.sleep(LOOK_EVERY)
    os._exit(1)
