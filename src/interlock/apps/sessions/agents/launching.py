"""How each kind of agent is started: its command, its variables, and its first message."""

from __future__ import annotations

import json
import os
import shutil
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from interlock.apps.sessions.agents.values import AgentNotStarted, AgentRun, Attachment
from interlock.apps.sessions.sandbox.confinement import Confinement, detect, own
from interlock.apps.sessions.sandbox.slot import HOME, Slot, command_env
from interlock.store import private

IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
LONGEST_ARGUMENT = 128 * 1024 - 1
"""Bytes that Linux takes as one argument."""
LAUNCHER = Path(__file__).parents[1] / "launch.py"
PASSED = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
"""Variables of the service that every agent gets; none is a secret of Interlock."""


@dataclass(frozen=True)
class Launch:
    """One process to start."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    first_input: bytes = b""
    two_way: bool = False
    """Whether it speaks Claude Code's protocol on its standard input: prompts, approvals, interrupts."""


def launch_of(run: AgentRun) -> Launch:
    """The process for this run; AgentNotStarted says what is missing."""
    private.folder(run.folder)
    private.folder(run.home)
    match run.agent.kind:
        case "claude":
            return _claude(run)
        case "demo":
            return _demo(run)
        case "command":
            return _command(run)


def _env(run: AgentRun) -> dict[str, str]:
    passed = {name: os.environ[name] for name in (*PASSED, *run.agent.env) if name in os.environ}
    return {**passed, "HOME": str(run.home), **run.env}


# -- Claude Code


def claude_program() -> str | None:
    """Claude Code on the path, or the one that comes with the extra `claude`."""
    if found := shutil.which("claude"):
        return found
    spec = find_spec("claude_agent_sdk")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        bundled = Path(folder) / "_bundled" / "claude"
        if bundled.is_file():
            return str(bundled)
    return None


def _claude(run: AgentRun) -> Launch:
    program = run.agent.command[0] if run.agent.command else claude_program()
    if program is None:
        raise AgentNotStarted(
            "Claude Code is not installed: put `claude` on the path, or pip install 'interlock[claude]'"
        )
    if run.resume:
        named = [f"--resume={run.conversation}"]
    elif run.fork_of:
        named = [f"--resume={run.fork_of}", "--fork-session", f"--session-id={run.conversation}"]
    else:
        named = [f"--session-id={run.conversation}"]
    mcp = run.folder / "mcp.json"
    with private.write_text(mcp) as file:
        file.write(run.mcp_json)
    built_in = [one for one in run.allowed_tools if not one.startswith("mcp__")]
    argv = [
        *(program, *run.agent.command[1:], "-p", "--verbose"),
        *("--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio"),
        *named,
        *("--mcp-config", str(mcp), "--strict-mcp-config"),
        # Its own tools would work on this host, and its settings could run hooks: only the sandbox's tools are left.
        f"--tools={','.join(built_in)}",
        "--setting-sources=",
        "--disable-slash-commands",
        *(f"--max-turns={run.max_turns}", f"--max-budget-usd={run.max_budget_usd:g}"),
    ]
    if run.allowed_tools:
        argv.append(f"--allowedTools={','.join(run.allowed_tools)}")
    if run.system_prompt:
        argv.append(f"--append-system-prompt={run.system_prompt}")
    if run.agent.model:
        argv.append(f"--model={run.agent.model}")
    env = {
        **_env(run),
        "CLAUDE_CONFIG_DIR": str(run.home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    # An empty folder: what lies in the worktree (CLAUDE.md, .claude/settings.json) is not obeyed.
    return Launch(tuple(argv), env, private.folder(run.home / "empty"), _first(run), two_way=True)


def _first(run: AgentRun) -> bytes:
    """The messages that begin a two-way run."""
    begin = {"type": "control_request", "request_id": "begin", "request": {"subtype": "initialize", "hooks": None}}
    content: Any = [*map(_block, run.attachments), {"type": "text", "text": run.prompt}]
    message = {"role": "user", "content": content if run.attachments else run.prompt}
    user = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""}
    return b"".join(json.dumps(one).encode() + b"\n" for one in (begin, user))


def _block(file: Attachment) -> dict[str, Any]:
    """An attachment as a block of a message."""
    if file.media_type in IMAGES or file.media_type == "application/pdf":
        source = {"type": "base64", "media_type": file.media_type, "data": b64encode(file.content).decode()}
        return {"type": "image" if file.media_type in IMAGES else "document", "source": source}
    words = file.content.decode("utf-8", "replace").replace("\0", "\ufffd")
    return {"type": "text", "text": f"Attached file {file.name!r} ({file.media_type}):\n\n{words}"}


# -- the scripted agent


def _demo(run: AgentRun) -> Launch:
    spec = {
        "conversation": run.conversation,
        "resume": run.resume,
        "workspace": None if run.workspace is None else str(run.workspace),
        "mcp_json": run.mcp_json,
        "max_turns": run.max_turns,
        "spent": run.spent_before_usd,
    }
    argv = (sys.executable, "-I", str(LAUNCHER), "interlock.apps.sessions.agents.demo", json.dumps(spec))
    return Launch(argv, _env(run), run.home, _first(run), two_way=True)


# -- any other program


def _command(run: AgentRun) -> Launch:
    agent = run.agent
    mcp = run.folder / "mcp.json"
    with private.write_text(mcp) as file:
        file.write(run.mcp_json)
    words = {
        "{prompt}": _text(run),
        "{conversation}": run.conversation,
        "{mcp_config}": str(mcp),
        "{home}": HOME if agent.own_tools else str(run.home),
        "{model}": agent.model,
    }
    template = agent.resume if run.resume and agent.resume else agent.command
    argv = [_filled(one, words) for one in template]
    longest = max(len(one.encode()) for one in argv)
    if longest > LONGEST_ARGUMENT:
        raise AgentNotStarted(
            f"the prompt with its files has {longest:,} bytes, and an argument holds {LONGEST_ARGUMENT:,}: "
            "shorten it, or set prompt_on_stdin for this agent"
        )
    given = _text(run).encode() if agent.prompt_on_stdin else b""
    if not agent.own_tools:
        if shutil.which(argv[0]) is None:
            raise AgentNotStarted(f"the agent's program {argv[0]!r} is not on the path: install it or change `command`")
        return Launch(tuple(argv), _env(run), private.folder(run.home / "empty"), given)
    confinement = detect()
    if not confinement.works:
        raise AgentNotStarted(
            f"an agent with tools of its own runs only inside a confinement, and this host has none: {confinement.why}"
        )
    return _confined(run, confinement, argv, given)


def _confined(run: AgentRun, confinement: Confinement, template: list[str], given: bytes) -> Launch:
    """The agent inside the sandbox, with its home folder and its own programs; without those it could not work."""
    if run.workspace is None:
        raise AgentNotStarted("an agent with tools of its own needs a local sandbox, and this one is elsewhere")
    slot = Slot(run.workspace)
    home = private.folder(run.home / "inside")
    own(home)
    env = command_env({**{name: value for name, value in _env(run).items() if name not in PASSED}, "HOME": HOME})
    view = slot.view(network=run.agent.network, home=home)
    program = shutil.which(template[0])
    if program is None:
        raise AgentNotStarted(f"the agent's program {template[0]!r} is not on the path: install it or change `command`")
    return Launch(tuple(confinement.argv(view, template)), env, slot.folder, given)


def _text(run: AgentRun) -> str:
    """The prompt with its attachments as text, for agents that take nothing else."""
    blocks = [_block(one) for one in run.attachments]
    if any(one["type"] != "text" for one in blocks):
        raise AgentNotStarted("this agent takes text attachments only: leave images and PDFs out")
    return "\n\n".join([*(one["text"] for one in blocks), run.prompt])


def _filled(template: str, words: Mapping[str, str]) -> str:
    """One pass, so that a prompt with `{home}` in it stays as it is."""
    out, rest = "", template
    while rest:
        for name, value in words.items():
            if rest.startswith(name):
                out, rest = out + value, rest[len(name) :]
                break
        else:
            out, rest = out + rest[0], rest[1:]
    return out
