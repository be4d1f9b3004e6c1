"""Runs git so that nothing in a repository or on the host makes it do more than it was asked to."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from interlock.machine import InterlockError

MAX_OUTPUT = 64 * 1024**2
SECONDS = 300.0
SAFE = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.sshCommand": "ssh -oBatchMode=yes",
    "core.askPass": "",
    "credential.helper": "",
    "commit.gpgSign": "false",
    "diff.external": "",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.fsckObjects": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "init.templateDir": "",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "protocol.https.allow": "always",
    "protocol.ssh.allow": "always",
}
"""Hooks, filters, monitors, helpers and protocols that run programs are off, whatever a repository's own files say."""
ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_AUTHOR_NAME": "Interlock",
    "GIT_AUTHOR_EMAIL": "interlock@localhost",
    "GIT_COMMITTER_NAME": "Interlock",
    "GIT_COMMITTER_EMAIL": "interlock@localhost",
    "LC_ALL": "C.UTF-8",
}
PASSED = ("PATH", "SSH_AUTH_SOCK", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_USER = re.compile(r"(?<=://)[^/\s@]+@")


class GitFailed(InterlockError):
    """Git refused. The message has no password."""


def git(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    given: bytes | None = None,
    ok: tuple[int, ...] = (0,),
    seconds: float = SECONDS,
) -> bytes:
    """The output of a git command; GitFailed with its last words if it fails or takes too long."""
    config = [word for name, value in SAFE.items() for word in ("-c", f"{name}={value}")]
    home = {"HOME": os.environ["HOME"]} if "HOME" in os.environ else {}  # for the keys of ssh
    try:
        done = subprocess.run(  # noqa: S603 - a list, without a shell
            ["git", *config, *map(str, arguments)],  # noqa: S607 - the operator's git
            cwd=cwd,
            env={**{name: os.environ[name] for name in PASSED if name in os.environ}, **home, **ENV, **(env or {})},
            input=given or b"",
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise GitFailed("git is not installed: local sandboxes need it") from None
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {_verb(arguments)} took longer than {seconds:g} s") from None
    if done.returncode not in ok:
        said = hidden(done.stderr.decode("utf-8", "replace")).strip().splitlines()
        raise GitFailed(f"git {_verb(arguments)} failed: {' '.join(said[-3:])[:600] or done.returncode}")
    return done.stdout


def line(*arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """The output of a git command that prints one line."""
    return git(*arguments, cwd=cwd, env=env).decode("utf-8", "replace").strip()


def hidden(text: str) -> str:
    """The text without users and passwords in addresses."""
    return _USER.sub("", text)


def _verb(arguments: tuple[str | Path, ...]) -> str:
    return next((str(one) for one in arguments if not str(one).startswith("-")), "")
