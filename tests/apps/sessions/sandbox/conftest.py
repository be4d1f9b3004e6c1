"""Two local sandboxes of two sessions on one repository, and something outside that neither may see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from interlock.apps.sessions.repositories.config import RepoConfig
from interlock.apps.sessions.sandbox.config import SandboxConfig
from interlock.apps.sessions.sandbox.confinement import detect
from interlock.apps.sessions.sandbox.local import LocalSandboxes
from interlock.apps.sessions.sandbox.repository import Repository
from interlock.apps.sessions.sandbox.slot import Slot
from interlock.apps.sessions.sandbox.tools import Tools
from tests.support.sessions import make_repository

SECRET = "only-outside-the-sandbox"


@dataclass
class Place:
    """The host, as far as sandboxes have to do with it."""

    folder: Path
    pool: LocalSandboxes
    repository: Repository
    mine: Slot
    other: Slot
    secret: Path

    @property
    def tools(self) -> Tools:
        return Tools(self.mine)

    def bash(self, command: str, timeout: float = 20) -> str:
        """What a shell command prints in the sandbox."""
        return str(self.tools.execute_bash(command, timeout))

    def commit(self) -> str:
        """Commit the work; the commit."""
        return self.pool.commit(self.mine, "work", session="a").head


@pytest.fixture
def place(tmp_path: Path) -> Place:
    source = make_repository(tmp_path / "source")
    pool = LocalSandboxes(tmp_path / "pool", SandboxConfig(processes=64, memory_mb=512, file_mb=4))
    repository = Repository(tmp_path / "repositories", "harbour/shop", RepoConfig(url=str(source)))
    slots = []
    for name, session in (("one", "a"), ("two", "b")):
        slot = pool.slot(pool.item(name))
        assert slot is not None
        pool.prepare(slot, repository, session=session, branch=f"claude/{session}", target="main")
        slots.append(slot)
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    (slots[1].tree / "theirs.txt").write_text("work of another session")
    return Place(tmp_path, pool, repository, slots[0], slots[1], secret)


needs_confinement = pytest.mark.skipif(
    not detect().works, reason=f"this host cannot confine commands, so sandboxes have no shell: {detect().why}"
)
