"""The folders that sessions use on this host: local sandboxes, mirrors of repositories, agents' homes and runs.

```
sandboxes/      the local pool, a folder each
repositories/   a mirror of each repository, with the branches of all sessions
homes/          what an agent keeps of its conversations; a fork shares the home of the session that it forks
runs/           what a running agent has printed, until its outcome is stored
```
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from interlock.apps.sessions.sandbox.local import LocalSandboxes
from interlock.apps.sessions.sandbox.repository import Repository
from interlock.apps.sessions.settings import SessionSettings, settings_in
from interlock.machine import InterlockError

FOLDER = "interlock-sessions"


class NoHostFolders(InterlockError):
    """This process has no folder for sessions."""


class UnknownRepository(InterlockError):
    """The configuration has no such repository."""


@dataclass(frozen=True)
class HostFolders:
    """The files of sessions on this host."""

    root: Path
    settings: SessionSettings
    data: Path | None = None
    """The data folder of the installation, where one is known."""

    @property
    def sandboxes(self) -> LocalSandboxes:
        """The local pool."""
        hidden = (self.root,) if self.data is None else (self.root, self.data)
        return LocalSandboxes(self.root / "sandboxes", self.settings.sandbox, hidden)

    def repository(self, name: str) -> Repository:
        """The mirror of a configured repository."""
        config = self.settings.repo_named(name)
        if config is None:
            known = ", ".join(sorted(self.settings.repos)) or "none"
            raise UnknownRepository(
                f"there is no repository {name[:200]!r} in [sessions.repos]; there are: {known}; add it or choose one"
            )
        return Repository(self.root / "repositories", name, config)

    def run_folder(self, prompt_id: UUID) -> Path:
        """The files of one prompt's run."""
        return self.root / "runs" / str(prompt_id)

    def home(self, session_id: UUID | str) -> Path:
        """The home folder of the agents of one session."""
        return self.root / "homes" / str(UUID(str(session_id)))


def host_folders(setting: Callable[[str], Any]) -> HostFolders:
    """The folders of this process: `host_folders(task.setting)`, `host_folders(engine.setting)`."""
    settings = settings_in(setting("sessions"))
    data = setting("data")
    if settings.folder is None and not isinstance(data, Path):
        raise NoHostFolders("sessions have no folder for their files here: set sessions.folder")
    root = settings.folder if settings.folder is not None else data / FOLDER
    return HostFolders(root.absolute(), settings, data if isinstance(data, Path) else None)
