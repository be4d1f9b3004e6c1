"""Runs git so that nothing in a repository or on the host makes it do more than it was asked to."""

from __future__ import annotations

import os
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from interlock.machine import InterlockError

MAX_OUTPUT = 64 * 1024**2
"""Bytes that a command may print; an agent decides how much there is to print."""
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
    # Files above it are no text in a difference, and are not held in memory.
    "core.bigFileThreshold": "16m",
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
    beginning: int | None = None,
) -> bytes:
    """The output of a git command; GitFailed with its last words if it fails, takes too long or prints too much.

    With `beginning`, so many bytes of the output are enough.
    """
    config = [word for name, value in SAFE.items() for word in ("-c", f"{name}={value}")]
    home = {"HOME": os.environ["HOME"]} if "HOME" in os.environ else {}  # for the keys of ssh
    whole_env = {**{name: os.environ[name] for name in PASSED if name in os.environ}, **home, **ENV, **(env or {})}
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given_file:
        given_file.write(given or b"")
        given_file.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - a list, without a shell
                ["git", *config, *map(str, arguments)],  # noqa: S607 - the operator's git
                cwd=cwd,
                env=whole_env,
                stdin=given_file,
                stdout=subprocess.PIPE,
                stderr=said,
            )
        except FileNotFoundError:
            raise GitFailed("git is not installed: local sandboxes need it") from None
        try:
            printed = _read(process, beginning or MAX_OUTPUT, time.monotonic() + seconds)
        except TimeoutError:
            raise GitFailed(f"git {_verb(arguments)} took longer than {seconds:g} s") from None
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        if len(printed) > (beginning or MAX_OUTPUT):
            if beginning is None:
                raise GitFailed(f"git {_verb(arguments)} printed more than {MAX_OUTPUT // 1024**2} MB")
            return printed[:beginning]
        if process.returncode not in ok:
            said.seek(max(0, said.seek(0, os.SEEK_END) - 4096))
            lines = hidden(said.read().decode("utf-8", "replace")).strip().splitlines()
            raise GitFailed(f"git {_verb(arguments)} failed: {' '.join(lines[-3:])[:600] or process.returncode}")
    return printed


def _read(process: subprocess.Popen[bytes], most: int, deadline: float) -> bytes:
    """What a command prints until its end, or one byte more than the most; TimeoutError after the deadline."""
    assert process.stdout is not None
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    parts, size = [], 0
    while size <= most:
        if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
            raise TimeoutError
        part = os.read(process.stdout.fileno(), min(1024**2, most + 1 - size))
        if not part:
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                raise TimeoutError from None
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def line(*arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """The output of a git command that prints one line."""
    return git(*arguments, cwd=cwd, env=env).decode("utf-8", "replace").strip()


def hidden(text: str) -> str:
    """The text without users and passwords in addresses."""
    return _USER.sub("", text)


def _verb(arguments: tuple[str | Path, ...]) -> str:
    return next((str(one) for one in arguments if not str(one).startswith("-")), "")
