"""Whether this host can confine a command, and the command line that does it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

PROGRAM = Path(__file__).with_name("confine.py")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Programs and libraries. Not /opt: services live there together with their data."""
ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "ca-certificates", "pki", "mime.types"),
    *("localtime", "nsswitch.conf", "protocols", "services", "terminfo", "profile.d"),
)
"""What programs read of /etc; nothing there is secret."""
NETWORK = ("resolv.conf", "hosts", "gai.conf")
OUTSIDE_ID = 65534
"""The user of confined commands on the host, where the service runs as root."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened so that a link in its place is refused."""
TRIAL = 20.0
"""Seconds that the trial of the confinement may take."""


@dataclass(frozen=True)
class Limits:
    """Limits of each confined command."""

    processes: int = 256
    memory: int = 4 * 1024**3
    """Bytes of each process, and in namespaces of all together."""
    file: int = 512 * 1024**2
    """Bytes of each file."""
    open_files: int = 4096
    tmp: int = 512 * 1024**2
    """Bytes in /tmp, and as many in /dev/shm."""


@dataclass(frozen=True)
class Mount:
    """A file or folder of the host that the command sees."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class View:
    """Everything that a confined command sees and may use."""

    root: Path
    """An empty folder to build the root on."""
    mounts: tuple[Mount, ...]
    cwd: str
    visible: tuple[Mount, ...] = ()
    """What the operator shows of the host, besides its programs."""
    network: bool = False
    limits: Limits = field(default_factory=Limits)
    hidden: tuple[Path, ...] = ()
    """Folders that the command does not see, also where one that it sees contains them."""


@dataclass(frozen=True)
class Confinement:
    """A way to confine commands, or the reason why there is none."""

    how: str
    """`namespaces`, `bubblewrap`, or empty."""
    why: str = ""
    """What is missing, if anything."""

    @property
    def works(self) -> bool:
        return bool(self.how)

    def argv(self, view: View, command: Sequence[str]) -> list[str]:
        """The command line that runs the command with this view."""
        if self.how == "namespaces":
            return _namespaces(view, command)
        if self.how == "bubblewrap":
            return _bubblewrap(view, command)
        raise RuntimeError(f"this host cannot confine a command: {self.why}")


@cache
def detect() -> Confinement:
    """What this host can do, found by trying it once per process."""
    if sys.platform != "linux":
        return Confinement("", "it needs Linux")
    reasons = []
    for how in ("namespaces", "bubblewrap"):
        if how == "bubblewrap" and shutil.which("bwrap") is None:
            reasons.append("bubblewrap is not installed")
            continue
        if how == "bubblewrap" and os.geteuid() == 0:
            reasons.append("bubblewrap would run commands as root; run the service as another user")
            continue
        failed = _try(Confinement(how))
        if failed is None:
            return Confinement(how)
        reasons.append(f"{how}: {failed}")
    return Confinement("", "; ".join(reasons))


def _try(confinement: Confinement) -> str | None:
    """Confine a command that proves that it is confined; what went wrong, if anything."""
    with tempfile.TemporaryDirectory(prefix="interlock-confinement-") as place:
        root, tree = Path(place, "root"), Path(place, "tree")
        for one in (root, tree):
            one.mkdir()
        own(tree)
        view = View(root, (Mount(tree, "/workspace", writable=True),), "/workspace", limits=Limits(tmp=1024**2))
        secret = Path(place, "outside")
        secret.write_text("outside", "utf-8")
        script = f"echo inside > proof && test ! -e {secret} && test ! -e /etc/shadow && test $(id -u) != 0"
        try:
            done = subprocess.run(  # noqa: S603 - our own command
                confinement.argv(view, ["/bin/sh", "-c", script]),
                env={"PATH": "/usr/bin:/bin"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TRIAL,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode or not (tree / "proof").exists():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return said[-1][:200] if said else f"the trial ended with {done.returncode}"
    return None


def own(path: Path) -> None:
    """Give a file or folder to the user of confined commands, where that is another than ours."""
    if os.geteuid() == 0:
        os.chown(path, OUTSIDE_ID, OUTSIDE_ID, follow_symlinks=False)


def own_all(path: Path) -> None:
    """The same for everything in a folder, however deep."""
    if os.geteuid() != 0:
        return
    own(path)
    top, waiting = os.open(path, FOLDER), ["."]
    try:
        while waiting:
            name = waiting.pop()
            folder = os.open(name, FOLDER, dir_fd=top)
            try:
                with os.scandir(folder) as entries:
                    for one in entries:
                        os.chown(one.name, OUTSIDE_ID, OUTSIDE_ID, dir_fd=folder, follow_symlinks=False)
                        if one.is_dir(follow_symlinks=False):
                            waiting.append(f"{name}/{one.name}")
            finally:
                os.close(folder)
    finally:
        os.close(top)


def system_mounts(*, network: bool) -> tuple[list[Mount], list[tuple[str, str]]]:
    """The programs and libraries of the host, read-only; links of the host's root as (path, target)."""
    mounts, links = [], []
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            links.append((name, os.readlink(path)))
        elif path.is_dir():
            mounts.append(Mount(path, name))
    for name in (*ETC, *(NETWORK if network else ())):
        path = Path("/etc", name)
        if path.exists():
            mounts.append(Mount(path.resolve(), f"/etc/{name}"))
    return mounts, links


def covered(view: View, mounts: Sequence[Mount]) -> list[str]:
    """The hidden folders that would be seen, by the paths at which they would."""
    found: list[Path] = []
    for hidden in sorted({one.resolve() for one in view.hidden if one.is_dir()}):
        for mount in mounts:
            source = mount.source.resolve()
            if hidden.is_relative_to(source):
                target = Path(mount.target, hidden.relative_to(source))
                if not any(target.is_relative_to(one) for one in found):
                    found.append(target)
    return [str(one) for one in found]


def _namespaces(view: View, command: Sequence[str]) -> list[str]:
    mounts, links = system_mounts(network=view.network)
    spec = {
        "root": str(view.root.resolve()),
        "links": links,
        "mounts": [
            {"source": str(one.source), "target": one.target, "writable": one.writable}
            for one in (*mounts, *view.visible, *view.mounts)
        ],
        "covered": covered(view, (*mounts, *view.visible)),
        "cwd": view.cwd,
        "network": view.network,
        "outside_id": OUTSIDE_ID,
        "tmp_bytes": view.limits.tmp,
        "memory": view.limits.memory,
        "limits": {
            "nproc": view.limits.processes,
            "data": view.limits.memory,
            "fsize": view.limits.file,
            "nofile": view.limits.open_files,
        },
    }
    return [sys.executable, "-I", "-S", str(PROGRAM), json.dumps(spec), *command]


def _bubblewrap(view: View, command: Sequence[str]) -> list[str]:
    mounts, links = system_mounts(network=view.network)
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--disable-userns"]
    argv += ["--cap-drop", "ALL"]
    argv += ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--share-net"][: None if view.network else -1]
    for path, target in links:
        argv += ["--symlink", target, path]
    argv += ["--proc", "/proc", "--dev", "/dev", "--size", str(view.limits.tmp), "--tmpfs", "/tmp"]  # noqa: S108
    for one in (*mounts, *view.visible, *view.mounts):
        argv += ["--bind" if one.writable else "--ro-bind", str(one.source), one.target]
    for path in covered(view, (*mounts, *view.visible)):
        argv += ["--tmpfs", path, "--remount-ro", path]
    argv += ["--remount-ro", "/", "--chdir", view.cwd, "--"]
    limits = view.limits
    bounds = [f"--nproc={limits.processes}", f"--data={limits.memory}", f"--fsize={limits.file}"]
    return [*argv, "/usr/bin/prlimit", *bounds, f"--nofile={limits.open_files}", "--core=0", "--", *command]
