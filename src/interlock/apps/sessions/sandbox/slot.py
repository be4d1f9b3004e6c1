"""The folder of one local sandbox, and what its commands see of it. The standard library is enough.

```
tree/   the working tree; /workspace inside
git/    a repository of the sandbox alone, with the history of its branch and no other; /git inside
home/   /home/agent inside
root/   empty; the root of commands is built on it
etc/    passwd and group for commands, and the file that stands at /workspace/.git
```
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from interlock.apps.sessions.sandbox.confinement import Limits, Mount, View

WORKSPACE, HOME = "/workspace", "/home/agent"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FILES = {
    "passwd": f"agent:x:1000:1000:agent:{HOME}:/bin/bash\n",
    "group": "agent:x:1000:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "gitfile": "gitdir: /git\n",
    "gitconfig": "[user]\n\tname = agent\n\temail = agent@localhost\n[safe]\n\tdirectory = *\n",
}


@dataclass(frozen=True)
class Rules:
    """What the tools of a sandbox may use; written into the slot, because the tools run in processes of their own."""

    network: bool = False
    visible: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Folders that commands never see: the service's own."""
    seconds: float = 600.0
    output: int = 48 * 1024
    limits: Limits = field(default_factory=Limits)


class Slot:
    """One sandbox of this host, by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.tree, self.git, self.home = self.folder / "tree", self.folder / "git", self.folder / "home"
        self.root, self.etc = self.folder / "root", self.folder / "etc"

    def write_rules(self, rules: Rules) -> None:
        path = self.folder / "rules.json"
        path.write_text(json.dumps(asdict(rules)), "utf-8")

    def rules(self) -> Rules:
        try:
            found: dict[str, Any] = json.loads((self.folder / "rules.json").read_bytes())
        except FileNotFoundError:
            return Rules()
        limits = Limits(**found.pop("limits"))
        found |= {name: tuple(found.get(name, ())) for name in ("visible", "hidden")}
        return Rules(**found, limits=limits)

    def write_files(self) -> None:
        """The files of /etc that are the sandbox's own."""
        self.etc.mkdir(exist_ok=True)
        self.etc.chmod(0o755)
        for name, text in FILES.items():
            (self.etc / name).write_text(text, "utf-8")
            (self.etc / name).chmod(0o644)

    def view(self, *, cwd: str = WORKSPACE, network: bool | None = None, home: Path | None = None) -> View:
        """What a command in this sandbox sees."""
        rules = self.rules()
        connected = rules.network if network is None else network
        mounts = [
            Mount(self.tree, WORKSPACE, writable=True),
            Mount(self.etc / "gitfile", f"{WORKSPACE}/.git"),
            Mount(self.git, "/git", writable=True),
            Mount(home or self.home, HOME, writable=True),
            Mount(self.etc / "passwd", "/etc/passwd"),
            Mount(self.etc / "group", "/etc/group"),
            Mount(self.etc / "gitconfig", "/etc/gitconfig"),
        ]
        if not connected:
            mounts.append(Mount(self.etc / "hosts", "/etc/hosts"))
        return View(
            self.root,
            tuple(mounts),
            cwd,
            visible=tuple(Mount(Path(one), one) for one in rules.visible if Path(one).exists()),
            network=connected,
            limits=rules.limits,
            hidden=tuple(map(Path, rules.hidden)),
        )


def command_env(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a confined command; none is the service's."""
    plain = {"PATH": PATH, "HOME": HOME, "USER": "agent", "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp"}  # noqa: S108
    if "TZ" in os.environ:
        plain["TZ"] = os.environ["TZ"]
    return {**plain, **(more or {})}
