"""The local pool: sandboxes of this host, each a git worktree on the branch of the session that has it.

A sandbox is prepared for one session and keeps its state until it is reset. `commit` puts the work on the branch, so
that a reset loses nothing. Everything that an agent could have changed in the tree is treated as hostile: git runs here
with the mirror's own configuration (see `git.py`), never with a repository, hook, filter or setting from the tree.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from interlock.apps.sessions.sandbox.config import SandboxConfig
from interlock.apps.sessions.sandbox.confinement import FOLDER, own_all
from interlock.apps.sessions.sandbox.git import GitFailed, git, line
from interlock.apps.sessions.sandbox.repository import Repository, set_attributes
from interlock.apps.sessions.sandbox.slot import Rules, Slot
from interlock.machine import InterlockError
from interlock.store import private

KIND = "local"
SERVER = "sandbox"
"""The name of the MCP server: its tools are mcp__sandbox__…"""
LAUNCHER = Path(__file__).parents[1] / "launch.py"
DEPTH = 100
"""Commits of the branch's history that commands in the sandbox see."""
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class SandboxMissing(InterlockError):
    """The sandbox is not on this host, or is not prepared for the session."""


@dataclass(frozen=True)
class Committed:
    """What `commit` put on the branch."""

    head: str
    changed: bool
    left_out: tuple[str, ...] = ()
    """Nested repositories and unreadable files, which are not part of the commit."""


class LocalSandboxes:
    """The sandboxes of this host, below one folder."""

    def __init__(self, root: Path, config: SandboxConfig | None = None, hidden: Sequence[Path] = ()) -> None:
        """`hidden` are folders of the service that commands must not see, besides the pool itself."""
        self.root = root.absolute()
        self.config = config or SandboxConfig()
        self._hidden = (self.root, *hidden)

    def host(self) -> str:
        """What tells this folder from those of other hosts. It stays with it: a container's host name changes."""
        path = self.root / "host"
        if not path.exists():
            private.folder(self.root)
            with tempfile.NamedTemporaryFile("w", dir=self.root, prefix="host-", encoding="utf-8") as made:
                made.write(f"{socket.gethostname()}-{secrets.token_hex(4)}")
                made.flush()
                with suppress(FileExistsError):  # another process was first
                    os.link(made.name, path)
        return path.read_text("utf-8").strip()

    # -- items of the pool

    def item(self, name: str) -> dict[str, Any]:
        """The sandbox as an item of an allocator."""
        if not _ID.fullmatch(name):
            raise InterlockError(f"{name!r} is not a name of a sandbox: use a-z, 0-9, - and _")
        arguments = ["-I", str(LAUNCHER), "interlock.apps.sessions.sandbox", str(self.root / name)]
        command = {"type": "stdio", "command": sys.executable, "args": arguments}
        return {
            "kind": KIND,
            "name": name,
            "host": self.host(),
            "mcp_json_string": json.dumps({"mcpServers": {SERVER: command}}),
            "api_url": (self.root / name).as_uri(),
        }

    def items(self, size: int) -> list[dict[str, Any]]:
        """The items of a pool of this size."""
        return [self.item(f"local-{number}") for number in range(1, size + 1)]

    def slot(self, item: Mapping[str, Any]) -> Slot | None:
        """The folder of an item; None for an item that is not local, and works by its MCP server alone."""
        if item.get("kind") != KIND:
            return None
        name = item.get("name")
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise SandboxMissing(f"the local sandbox has no valid name: {str(name)[:100]!r}")
        if item.get("host") not in (None, self.host()):
            raise SandboxMissing(
                f"the sandbox {name} is in the folder of {str(item['host'])[:100]}, and this is {self.host()}"
            )
        return Slot(self.root / name)

    # -- the life of a sandbox

    def prepare(
        self, slot: Slot, repository: Repository, *, session: str, branch: str, target: str, start_from: str = ""
    ) -> bool:
        """Give the slot to the session, with its branch checked out; whether it was prepared again.

        One that the session already has stays as it is. `start_from` is the branch of the session that this one forks.
        """
        with self._locked(slot):
            if self._state(slot).get("session") == session and slot.tree.is_dir():
                slot.write_rules(self._rules())
                return False
            self._reset(slot)
            repository.fetch()
            with repository.locked():
                repository.start_branch(branch, target, start_from)
                repository.git("worktree", "prune")
                repository.git("worktree", "add", "--quiet", "--force", slot.tree, branch)
            git_dir = line("rev-parse", "--absolute-git-dir", cwd=slot.tree)
            self._private_repository(slot, repository, branch)
            for folder in (slot.home, slot.root):
                folder.mkdir(exist_ok=True)
            slot.write_files()
            slot.write_rules(self._rules())
            for folder in (slot.tree, slot.git, slot.home):
                own_all(folder)
            state = {"session": session, "branch": branch, "git_dir": git_dir, "mirror": str(repository.mirror)}
            # Last: a slot without it is prepared again.
            _replace(slot.folder / "session.json", json.dumps(state))
            return True

    def _rules(self) -> Rules:
        config = self.config
        return Rules(
            network=config.network,
            visible=tuple(str(one.absolute()) for one in config.visible),
            hidden=tuple(str(one.absolute()) for one in self._hidden),
            seconds=config.seconds,
            output=config.output_kb * 1024,
            limits=config.limits(),
        )

    @staticmethod
    def _private_repository(slot: Slot, repository: Repository, branch: str) -> None:
        """A repository for git in the sandbox. It shares no object with the mirror, which has all sessions' work."""
        git(
            *("clone", "--quiet", "--bare", "--no-local", "--single-branch", "--no-tags", f"--depth={DEPTH}"),
            *(f"--branch={branch}", "--", repository.mirror.as_uri(), slot.git),
        )
        inside = f"--git-dir={slot.git}"
        git(inside, "remote", "remove", "origin", ok=(0, 2))
        git(inside, "config", "core.bare", "false")
        git(inside, "config", "core.worktree", "/workspace")
        set_attributes(slot.git)
        git(inside, f"--work-tree={slot.tree}", "reset", "--quiet", "--mixed")

    def commit(self, slot: Slot, message: str, *, session: str) -> Committed:
        """Commit everything in the tree to the session's branch. Ignored files are not work."""
        with self._locked(slot):
            state = self._state(slot)
            if state.get("session") != session:
                raise SandboxMissing(f"the sandbox {slot.folder.name} is not prepared for session {session[:60]}")
            where = (f"--git-dir={state['git_dir']}", f"--work-tree={slot.tree}")
            before = line(*where, "rev-parse", "HEAD")
            # --ignore-errors: one unreadable file must not lose the rest.
            how = ("--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
            git(*where, "add", *how, cwd=slot.tree, given=self._to_add(where), ok=(0, 1))
            left_out = self._without_nested(where, slot)
            tree = line(*where, "write-tree")
            if tree == line(*where, "rev-parse", "HEAD^{tree}"):
                return Committed(before, changed=False, left_out=left_out)
            head = git(*where, "commit-tree", tree, "-p", before, given=message.encode("utf-8", "replace"))
            made = head.decode().strip()
            git(*where, "update-ref", "-m", "session", "HEAD", made, before)
            return Committed(made, changed=True, left_out=left_out)

    @staticmethod
    def _to_add(where: tuple[str, str]) -> bytes:
        """Everything but submodules: git would look at one with its own configuration, and run the filters in it."""
        known = [path for path, _ in _links(git(*where, "ls-files", "--stage", "-z"))]
        return b"\0".join([b".", *(b":(exclude,literal)" + path for path in known)])

    @staticmethod
    def _without_nested(where: tuple[str, str], slot: Slot) -> tuple[str, ...]:
        """Take nested repositories, which git would only name, out of the index; submodules stay as they were."""
        known = set(_links(git(*where, "ls-tree", "-r", "-z", "HEAD")))
        added = [one for one in _links(git(*where, "ls-files", "--stage", "-z")) if one not in known]
        if added:
            paths = b"\0".join(path for path, _ in added)
            git(*where, "update-index", "-z", "--force-remove", "--stdin", cwd=slot.tree, given=paths)
        return tuple(path.decode("utf-8", "replace") for path, _ in added)

    def reset(self, slot: Slot, *, session: str | None = None) -> None:
        """Make the slot empty for the next session. What was not committed is gone.

        With a session, only if the slot is still prepared for it.
        """
        with self._locked(slot):
            if session is None or self._state(slot).get("session") == session:
                self._reset(slot)

    def _reset(self, slot: Slot) -> None:
        state = self._state(slot)
        with suppress(FileNotFoundError):
            (slot.folder / "session.json").unlink()
        for path in (slot.tree, slot.git, slot.home, slot.root, slot.etc):
            remove(path)
        mirror = state.get("mirror")
        if isinstance(mirror, str) and Path(mirror).is_dir():
            with suppress(GitFailed):
                git(f"--git-dir={mirror}", "worktree", "prune")

    def holder(self, slot: Slot) -> str:
        """The session that the slot is prepared for; empty if none."""
        found = self._state(slot).get("session")
        return found if isinstance(found, str) else ""

    @staticmethod
    def _state(slot: Slot) -> dict[str, Any]:
        try:
            found = json.loads((slot.folder / "session.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @contextmanager
    def _locked(self, slot: Slot) -> Iterator[None]:
        private.folder(slot.folder)
        number = os.open(slot.folder / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            yield
        finally:
            os.close(number)


def remove(path: Path) -> None:
    """Remove a folder that an agent may have made unreadable or deeper than any path. Links are not followed."""
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        path.chmod(0o700)
        top = os.open(path, FOLDER)
        try:
            while _flattened(top):
                pass
        finally:
            os.close(top)
        path.rmdir()


def _flattened(top: int) -> bool:
    """Remove the files, and the folders with what is in them; folders below those come up. Whether any was there."""
    folders = _without_files(top)
    for name in folders:
        os.chmod(name, 0o700, dir_fd=top)
        below = os.open(name, FOLDER, dir_fd=top)
        try:
            for one in _without_files(below):
                os.chmod(one, 0o700, dir_fd=below)  # else it cannot be moved
                os.rename(one, uuid4().hex, src_dir_fd=below, dst_dir_fd=top)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=top)
    return bool(folders)


def _without_files(folder: int) -> list[str]:
    """Remove what is no folder; the folders."""
    with os.scandir(folder) as entries:
        found = [(one.name, one.is_dir(follow_symlinks=False)) for one in entries]
    for name, is_folder in found:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in found if is_folder]


def _links(listing: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The submodules in a listing of `ls-tree -z` or `ls-files --stage -z`: (path, commit)."""
    for entry in listing.split(b"\0"):
        about, _, path = entry.partition(b"\t")
        if about.startswith(b"160000 "):
            words = about.split()
            yield path, words[2] if words[1] == b"commit" else words[1]


def _replace(path: Path, text: str) -> None:
    beside = path.with_suffix(".new")
    with private.write_text(beside) as file:
        file.write(text)
    beside.replace(path)
