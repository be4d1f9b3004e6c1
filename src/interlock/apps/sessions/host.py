"""What agent sessions need of their host, for `interlock doctor`."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

from interlock.apps.sessions.agents.launching import claude_program
from interlock.apps.sessions.sandbox.confinement import detect
from interlock.apps.sessions.settings import SessionSettings
from interlock.machine import HostCheck


def checks(_: SessionSettings) -> list[HostCheck]:
    program, confinement = claude_program(), detect()
    return [
        HostCheck("sessions: Claude Code", f"found {program}; {_key()}")
        if program
        else HostCheck(
            "sessions: Claude Code",
            "not found; sessions of the kind claude cannot start (scripted agents and other programs can)",
            "put `claude` on the PATH, or: pip install 'interlock[claude]'",
        ),
        HostCheck("sessions: confinement", f"commands of agents run in {confinement.how}")
        if confinement.how
        else HostCheck(
            "sessions: confinement",
            f"none; agents get no command tool in local sandboxes: {confinement.why}",
            "install bubblewrap, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)",
        ),
        HostCheck("sessions: tools", "agents get the tools of local sandboxes")
        if find_spec("mcp") is not None
        else HostCheck(
            "sessions: tools",
            "the package mcp is not installed; agents get no tools in local sandboxes (the scripted agent needs none)",
            "pip install 'interlock[sessions]'",
        ),
        HostCheck("sessions: git", "found")
        if shutil.which("git")
        else HostCheck("sessions: git", "not found; no session can start", "install git"),
    ]


def _key() -> str:
    return f"ANTHROPIC_API_KEY is {'set' if os.environ.get('ANTHROPIC_API_KEY') else 'not set'}"
