"""A repository that sessions work on: the service's own mirror of it, its branches, and what they change.

The mirror is a bare repository in the data folder. Branches of the source are `refs/remotes/origin/*`, branches of
sessions `refs/heads/*`. The source is written to only by `push` and `merge`, where the configuration allows it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from interlock.apps.sessions.sandbox.git import GitFailed, git, hidden, line
from interlock.machine import InterlockError
from interlock.store import private

MAX_DIFF = 2 * 1024**2
ATTRIBUTES = "* !working-tree-encoding\n"
"""Before those of a tree: git refuses to add anything where one file is not in the encoding that its attributes say."""
MAX_COUNTS = 1024**2
"""Bytes of the list of changed files: some ten thousand of them."""


def set_attributes(git_dir: Path) -> None:
    """Make git ignore the attributes of a tree with which it could not add it."""
    info = git_dir / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text(ATTRIBUTES, "utf-8")


class UnknownBranch(InterlockError):
    """The repository has no such branch."""


class NotConfigured(InterlockError):
    """The configuration does not allow this for the repository."""


class MergeConflict(InterlockError):
    """The branch cannot be merged without conflicts."""


@dataclass(frozen=True)
class FileChange:
    """What a branch changes in one file; the counts are None for a file that is no text."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True)
class Diff:
    """What a branch changes, compared to where it began."""

    base: str
    head: str
    files: tuple[FileChange, ...]
    text: str
    cut: bool
    """Whether the text, or the list of files, is only the beginning; the patch is whole."""


class Source(Protocol):
    """Where a repository comes from, and what may be written there."""

    @property
    def url(self) -> str: ...
    @property
    def push(self) -> bool: ...
    @property
    def merge(self) -> bool: ...


class Repository:
    """One repository of `[sessions.repos]`, mirrored below `root`."""

    def __init__(self, root: Path, name: str, config: Source) -> None:
        self.name, self.config = name, config
        digest = hashlib.sha256(f"{name}\n{config.url}".encode()).hexdigest()[:12]
        self.mirror = root.absolute() / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name).lstrip('.-')[:80]}-{digest}.git"

    @property
    def source(self) -> str:
        found = self.config.url
        return found if re.match(r"[a-z]+://", found) or self._is_remote(found) else str(Path(found).absolute())

    @staticmethod
    def _is_remote(source: str) -> bool:
        """host:path, as ssh writes it; a path that exists is a path."""
        return bool(re.match(r"[^/]+:", source)) and not Path(source).exists()

    def git(self, *arguments: str | Path, ok: tuple[int, ...] = (0,), beginning: int | None = None) -> bytes:
        return git(f"--git-dir={self.mirror}", *arguments, ok=ok, beginning=beginning)

    def line(self, *arguments: str | Path) -> str:
        return self.git(*arguments).decode("utf-8", "replace").strip()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time changes the mirror's branches and worktrees."""
        private.folder(self.mirror.parent)
        number = os.open(f"{self.mirror}.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            yield
        finally:
            os.close(number)

    def fetch(self) -> None:
        """Bring the mirror up to date; the first time it is made."""
        with self.locked():
            if not (self.mirror / "HEAD").exists():
                private.folder(self.mirror)
                git("init", "--bare", "--quiet", self.mirror)
            set_attributes(self.mirror)
            self.git("fetch", "--quiet", "--prune", "--no-tags", self.source, "+refs/heads/*:refs/remotes/origin/*")

    def branches(self) -> list[str]:
        """The branches of the source, as of the last fetch."""
        found = self.git("for-each-ref", "--format=%(refname)", "refs/remotes/origin").decode("utf-8", "replace")
        return [one.removeprefix("refs/remotes/origin/") for one in found.splitlines()]

    def commit_of(self, branch: str) -> str | None:
        """The newest commit of a session's branch."""
        return self._commit(f"refs/heads/{branch}")

    def target_commit(self, branch: str) -> str:
        found = self._commit(f"refs/remotes/origin/{branch}")
        if found is None:
            known = ", ".join(self.branches()[:20]) or "none"
            raise UnknownBranch(f"{self.name} has no branch {branch[:200]!r}; there are: {known}")
        return found

    def _commit(self, ref: str) -> str | None:
        found = self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ok=(0, 1, 128))
        return found.decode().strip() or None

    def check_branch(self, branch: str) -> None:
        try:
            git("check-ref-format", f"refs/heads/{branch}")
        except GitFailed:
            raise UnknownBranch(f"{branch[:200]!r} cannot be the name of a branch") from None
        if branch.startswith("-"):
            raise UnknownBranch(f"{branch[:200]!r} cannot be the name of a branch")

    def start_branch(self, branch: str, target: str, start_from: str = "") -> str:
        """Make a session's branch if it is not there yet; its newest commit."""
        self.check_branch(branch)
        found = self.commit_of(branch)
        if found is not None:
            return found
        start = self._start(target, start_from)
        self.git("update-ref", f"refs/heads/{branch}", start, "0" * 40)
        return start

    def check_start(self, branch: str, target: str, start_from: str = "") -> None:
        """Raise UnknownBranch where `start_branch` would."""
        self.check_branch(branch)
        if self.commit_of(branch) is None:
            self._start(target, start_from)

    def _start(self, target: str, start_from: str) -> str:
        """The commit where a new branch begins."""
        return (self.commit_of(start_from) if start_from else None) or self.target_commit(target)

    # -- what a branch changes

    def _range(self, branch: str, target: str) -> tuple[str, str]:
        head = self.commit_of(branch)
        if head is None:
            raise UnknownBranch(f"the session's branch {branch[:200]!r} is not in {self.name}")
        onto = self.target_commit(target)
        base = self.git("merge-base", onto, head, ok=(0, 1)).decode().strip()
        return base or onto, head

    def diff(self, branch: str, target: str, max_bytes: int = MAX_DIFF) -> Diff:
        base, head = self._range(branch, target)
        plain = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
        counts = self.git("diff", *plain, "--numstat", "-z", base, head, beginning=MAX_COUNTS + 1)
        too_many = len(counts) > MAX_COUNTS
        files = []
        for one in counts.decode("utf-8", "replace").split("\0")[:-1]:
            added, _, rest = one.partition("\t")
            removed, _, path = rest.partition("\t")
            if path:
                files.append(FileChange(path, *(int(count) if count.isdigit() else None for count in (added, removed))))
        text = self.git("diff", *plain, base, head, beginning=max_bytes + 1)
        cut = too_many or len(text) > max_bytes
        return Diff(base, head, tuple(files), text[:max_bytes].decode("utf-8", "replace"), cut=cut)

    def patch(self, branch: str, target: str) -> bytes:
        """The commits of the branch, for `git am`. GitFailed if they are larger than 64 MB."""
        base, head = self._range(branch, target)
        return self.git("format-patch", "--stdout", "--no-ext-diff", "--no-textconv", "--binary", f"{base}..{head}")

    # -- to the source

    def require(self, how: str) -> None:
        """Raise NotConfigured unless the configuration allows to `push` or `merge`."""
        if not (self.config.push if how == "push" else self.config.merge):
            takes = "branches" if how == "push" else "merges"
            raise NotConfigured(f'{self.name} takes no {takes}: set {how} = true in [sessions.repos."{self.name}"]')

    def push(self, branch: str) -> str:
        """Push the session's branch to the source, never by force; its commit."""
        self.require("push")
        self.check_branch(branch)
        head = self.commit_of(branch)
        if head is None:
            raise UnknownBranch(f"the session's branch {branch[:200]!r} is not in {self.name}")
        with self.locked():
            self.git("push", "--quiet", "--no-verify", self.source, f"{head}:refs/heads/{branch}")
        return head

    def merge(self, branch: str, target: str, message: str) -> str:
        """Merge the session's branch into its target at the source, and return the new commit."""
        self.require("merge")
        self.fetch()
        _, head = self._range(branch, target)
        onto = self.target_commit(target)
        with self.locked(), tempfile.TemporaryDirectory(prefix="merge-", dir=self.mirror.parent) as place:
            tree = Path(place, "tree")
            self.git("worktree", "add", "--quiet", "--detach", tree, onto)
            try:
                git(*("merge", "--quiet", "--no-ff", "--no-verify", "--no-gpg-sign", "-m", message, head), cwd=tree)
                made = line("rev-parse", "HEAD", cwd=tree)
            except GitFailed as error:
                raise MergeConflict(
                    f"{branch} has conflicts with {target}: merge it by hand ({hidden(str(error))})"
                ) from None
            finally:
                with suppress(GitFailed):
                    self.git("worktree", "remove", "--force", tree)
            self.git("push", "--quiet", "--no-verify", self.source, f"{made}:refs/heads/{target}")
        self.fetch()
        return made
