"""The tools of a local sandbox, as functions: the MCP server and the scripted agent call the same ones.

The standard library is enough. A refused call raises ToolRefused, with words for the agent.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from interlock.apps.sessions.sandbox.confinement import detect
from interlock.apps.sessions.sandbox.files import ToolRefused, TreeFiles
from interlock.apps.sessions.sandbox.slot import WORKSPACE, Slot, command_env

MAX_LINES = 2000
MAX_FILES = 2000
MAX_MATCHES = 200
MAX_COMMAND = 100_000
LONGEST_LINE = 2000


@dataclass(frozen=True)
class CommandResult:
    """How a command ended, and what it printed."""

    exit_code: int | None
    """None if its time was over."""
    output: str

    def __str__(self) -> str:
        ended = "time is over" if self.exit_code is None else f"exit code {self.exit_code}"
        return f"{self.output}\n[{ended}]" if self.exit_code != 0 else self.output or "[no output]"


class Tools:
    """The tools of one slot."""

    def __init__(self, slot: Slot) -> None:
        self._slot, self._files = slot, TreeFiles(slot.tree, slot.rules().limits.file)

    def execute_bash(self, command: str, timeout: float = 120.0, cwd: str = ".") -> CommandResult:
        """Run a shell command in the sandbox. Processes that it leaves in the background end with it."""
        confinement = detect()
        if not confinement.works:
            raise ToolRefused(f"there is no shell here, because this host cannot confine it: {confinement.why}")
        if len(command) > MAX_COMMAND or "\0" in command:
            raise ToolRefused("the command is too long, or has a NUL: write a script and run that")
        rules = self._slot.rules()
        place = "/".join([WORKSPACE, *self._files.parts(cwd)])
        argv = confinement.argv(self._slot.view(cwd=place), ["/bin/bash", "-c", command])
        process = subprocess.Popen(  # noqa: S603 - a list, confined
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=command_env(),
            start_new_session=True,
        )
        try:
            return _collect(process, min(max(timeout, 1.0), rules.seconds), rules.output)
        finally:
            # Killing the first process kills the whole namespace.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def read_file(self, path: str, first_line: int = 1, lines: int = MAX_LINES) -> str:
        """Lines of a text file, with their numbers."""
        content = self._files.read(path)
        if b"\0" in content[:8000]:
            raise ToolRefused(f"{path[:200]!r} is not text")
        every = content.decode("utf-8", "replace").splitlines()
        first = max(first_line, 1)
        shown = every[first - 1 : first - 1 + min(max(lines, 1), MAX_LINES)]
        fitting, _ = self._fitting((f"{number}\t{_cut(one)}" for number, one in enumerate(shown, first)), MAX_LINES)
        seen = first - 1 + len(fitting)
        left = [f"[{len(every) - seen} more lines: read on with first_line={seen + 1}]"] if len(every) > seen else []
        return "\n".join([*fitting, *left]) or "[empty]"

    def write_file(self, path: str, content: str) -> str:
        """Write a whole text file; folders above it are made."""
        new = self._files.write(path, content.encode("utf-8", "replace"))
        return f"{'created' if new else 'replaced'} {path}"

    def edit_file(self, path: str, old: str, new: str, every: bool = False) -> str:
        """Replace a text in a file. It must occur once, unless every occurrence is meant."""
        text = self._files.read(path).decode("utf-8", "surrogateescape")
        found = text.count(old) if old else 0
        if found == 0:
            raise ToolRefused(f"{path!r} does not contain that text: read the file and copy the text exactly")
        if found > 1 and not every:
            raise ToolRefused(f"{path!r} contains that text {found} times: give more of it, or set every")
        # Before it is made: a short text that occurs often becomes more than any memory holds.
        self._files.check_size(path, len(text) + (found if every else 1) * (len(new) - len(old)))
        changed = text.replace(old, new) if every else text.replace(old, new, 1)
        self._files.write(path, changed.encode("utf-8", "surrogateescape"))
        return f"changed {path} ({found if every else 1} times)"

    def delete_file(self, path: str) -> str:
        """Delete a file or a link."""
        self._files.delete(path)
        return f"deleted {path}"

    def list_files(self, path: str = ".") -> str:
        """Files below a folder."""
        fitting, more = self._fitting(map(_spelled, self._files.walk(path, MAX_FILES + 1)), MAX_FILES)
        return (
            "\n".join([*fitting, *(["[more files are not shown: name a folder below]"] if more else [])])
            or "[no files]"
        )

    def search_files(self, text: str, path: str = ".") -> str:
        """Lines that contain a text, as path:number:line. It is no pattern; use grep in the shell for those."""
        if not text:
            raise ToolRefused("say which text to look for")
        fitting, more = self._fitting(self._matches(text, path), MAX_MATCHES)
        return "\n".join([*fitting, *(["[more matches are not shown]"] if more else [])]) or "[no match]"

    def _matches(self, text: str, path: str) -> Iterator[str]:
        for name in self._files.walk(path, 10 * MAX_FILES):
            try:
                content = self._files.read(name)
            except ToolRefused:
                continue
            if b"\0" in content[:8000] or text.encode("utf-8", "replace") not in content:
                continue
            for number, one in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
                if text in one:
                    yield f"{_spelled(name)}:{number}:{_cut(one)}"

    def _fitting(self, lines: Iterable[str], most: int) -> tuple[list[str], bool]:
        """The first lines, as far as they fit into an answer, and whether there are more.

        Claude Code refuses an answer of more than 25,000 tokens, and its agent then has nothing of it.
        """
        left, found = self._slot.rules().output, list[str]()
        for one in lines:
            left -= len(one.encode("utf-8", "replace")) + 1
            if len(found) == most or (left < 0 and found):
                return found, True
            found.append(one)
        return found, False


def _cut(line: str) -> str:
    more = len(line) - LONGEST_LINE
    return line if more <= 0 else f"{line[:LONGEST_LINE]} [{more} more characters]"


def _spelled(name: str) -> str:
    """The name of a file on one line; bytes that are no UTF-8 are spelled out, because no answer can carry them."""
    return os.fsencode(name).decode("utf-8", "backslashreplace").replace("\n", "\\n").replace("\r", "\\r")


def _collect(process: subprocess.Popen[bytes], seconds: float, most: int) -> CommandResult:
    """What a command prints: all of it, or the beginning and the end. It is stopped when its time is over."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    deadline, head, tail, dropped = time.monotonic() + seconds, b"", b"", 0
    half = most // 2
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return CommandResult(None, _joined(head, tail, dropped))
        ready, _, _ = select.select([pipe], [], [], left)
        if not ready:
            continue
        chunk = os.read(pipe, 65536)
        if not chunk:
            break
        room = half - len(head)
        head += chunk[:room] if room > 0 else b""
        rest = tail + (chunk[room:] if room > 0 else chunk)
        tail = rest[-half:]
        dropped += len(rest) - len(tail)
    try:
        return CommandResult(process.wait(max(deadline - time.monotonic(), 0.1)), _joined(head, tail, dropped))
    except subprocess.TimeoutExpired:
        return CommandResult(None, _joined(head, tail, dropped))


def _joined(head: bytes, tail: bytes, dropped: int) -> str:
    middle = f"\n[{dropped} bytes are not shown]\n".encode() if dropped else b""
    return (head + middle + tail).decode("utf-8", "replace").replace("\0", "\ufffd")
