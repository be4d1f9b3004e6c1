"""The shell of a sandbox sees its tree and nothing else of the host, and what it leaves in the tree is not obeyed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.apps.sessions.agents.config import AgentConfig
from interlock.apps.sessions.agents.running import run
from interlock.apps.sessions.agents.values import AgentNotStarted, AgentRun
from interlock.apps.sessions.sandbox import confinement
from interlock.apps.sessions.sandbox.confinement import Confinement
from interlock.apps.sessions.sandbox.files import ToolRefused
from interlock.apps.sessions.sandbox.git import GitFailed
from interlock.apps.sessions.sandbox.slot import command_env

from .conftest import SECRET, Place, needs_confinement

# -- what it sees


@needs_confinement
def test_a_command_works_in_the_tree_and_sees_nothing_of_the_host(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    assert place.bash("pwd; ls").splitlines() == ["/workspace", "CHANGELOG.md", "README.md", "src"]
    said = place.bash(f"cat {place.secret}; ls {place.folder} {place.other.tree} /home /root /var /work; env; true")
    assert SECRET not in said
    assert "theirs" not in said
    assert "hunter2" not in said
    assert str(os.getpid()) not in place.bash("ls /proc").splitlines()
    # The kernel names the folder of a mount in /proc/self/mountinfo; nothing else does.
    assert str(place.folder) not in place.bash("cat /proc/*/cmdline /proc/*/environ | tr '\\0' ' '")


@needs_confinement
@pytest.mark.parametrize(
    "command",
    [
        "cat /proc/1/root/etc/shadow",
        "cat /etc/shadow",
        "ls /proc/1/root/../..",
        "cat /proc/self/root/../{secret}",
        "ln -s {secret} l && cat l",
        "ln {secret} h && cat h",
        "mount --bind / /workspace/m",
        "unshare -Ur id -u",
        "chroot / true && cat {secret}",
        "nsenter -t 1 -m cat {secret}",
        "echo x > /etc/passwd",
        "echo x > /usr/bin/true",
        "echo 0 > /proc/sys/kernel/randomize_va_space",
        "mknod d b 8 0 && cat d",
        "su -c id root",
        "kill -9 1 && false",
        "cd .. && cat ../../../{secret}",
    ],
)
def test_no_command_leads_out(place: Place, command: str) -> None:
    (place.mine.tree / "m").mkdir()
    said = place.bash(command.format(secret=place.secret))
    assert "[exit code" in said, said
    assert SECRET not in said
    assert "root:x:" not in said
    assert place.secret.read_text() == SECRET


@needs_confinement
def test_it_has_no_network_and_no_socket_of_the_host(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = place.bash(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected")
    assert "connected" not in said
    assert "connected" not in place.bash("timeout 2 bash -c 'exec 3<>/dev/tcp/1.1.1.1/53' && echo connected")
    assert place.bash("cat /proc/net/dev | grep -v lo: | wc -l") == "2\n"


@needs_confinement
def test_it_is_nobody_and_gains_no_right(place: Place) -> None:
    assert place.bash("id -u").strip() == "1000"
    status = place.bash("grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status").split()
    assert dict(zip(status[::2], status[1::2], strict=True)) == {
        "CapEff:": "0" * 16,
        "CapBnd:": "0" * 16,
        "NoNewPrivs:": "1",
        "Seccomp:": "2",
    }


# -- limits


@needs_confinement
def test_output_is_cut_and_time_is_limited(place: Place) -> None:
    said = place.bash("yes | head -c 3000000")
    assert len(said) < 60_000
    assert "bytes are not shown" in said
    begun = time.monotonic()
    assert "[time is over]" in place.bash("sleep 60", timeout=1)
    assert time.monotonic() - begun < 10


@needs_confinement
def test_processes_memory_and_files_are_limited(place: Place) -> None:
    # Bash tries again for a while, so its time is limited.
    assert "Resource temporarily unavailable" in place.bash("for i in $(seq 100); do sleep 60 & done", timeout=1)
    python = "import sys; x = bytearray(2 * 1024**3)"
    assert "MemoryError" in place.bash(f"{sys.executable} -c '{python}' || python3 -c '{python}'") or not place.bash(
        "command -v python3"
    )
    place.bash("head -c 100000000 /dev/zero > large; true")
    assert (place.mine.tree / "large").stat().st_size <= 4 * 1024**2


@needs_confinement
@pytest.mark.parametrize(
    "command",
    [
        "for i in 1 2 3 4 5; do (x=$(head -c 40m /dev/zero | tr '\\0' a); sleep 9; echo $x >/dev/null) & done; wait; "
        "echo survived",
        "python3 -c 'import mmap, time; m = mmap.mmap(-1, 200 << 20); "
        "[m.write(bytes(1 << 20)) for _ in range(200)]; time.sleep(5)' && echo survived",
    ],
    ids=["several processes", "shared with nobody"],
)
def test_all_processes_together_have_a_limit_of_memory(place: Place, command: str) -> None:
    rules = place.mine.rules()
    place.mine.write_rules(replace(rules, limits=replace(rules.limits, memory=128 * 1024**2)))
    said = place.bash(command)
    assert ("survived" in said, "more than 128 MB together" in said) == (False, True), said
    assert "fine" in place.bash("for i in $(seq 30); do sleep 0.5 & done; wait; echo fine"), (
        "what is shared counts once"
    )


@needs_confinement
def test_lower_limits_of_the_host_stay_and_leave_the_confinement(place: Place) -> None:
    """The MCP server has such a limit, and nobody may raise it inside."""
    argv = confinement.detect().argv(place.mine.view(), ["/bin/sh", "-c", "ulimit -n; ulimit -d"])
    lower = ["prlimit", "--nofile=512:512", f"--data={256 * 1024**2}:{256 * 1024**2}", "--", *argv]
    done = subprocess.run(lower, env=command_env(), capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["512", str(256 * 1024)], "")


def command_lines() -> Iterator[tuple[str, str]]:
    """Every process of this host, also those of a sandbox: its number, and what it was started with."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended
            yield folder.name, (folder / "cmdline").read_text("utf-8", "replace")


@needs_confinement
def test_nothing_runs_on_in_the_background(place: Place) -> None:
    mark = "86399.25"  # seconds, in the command line of each process that the command starts
    assert "running" in place.bash(
        f"(sleep {mark}; true) & setsid sh -c 'sleep {mark}; true' & kill -0 %1 && echo running"
    )
    assert not [number for number, said in command_lines() if mark in said]


# -- git

EVIL = """[core]
\tfsmonitor = {run}
\thooksPath = /workspace/hooks
\tpager = {run}
[filter "x"]
\tclean = {run}
\tsmudge = {run}
[diff]
\texternal = {run}
[alias]
\tstatus = !{run}
[include]
\tpath = {secret}
"""


def _traps(place: Place) -> Path:
    """Everything in a tree that makes git run a program or read another file."""
    tree, proof = place.mine.tree, place.folder / "proof"
    run = f"touch {proof}"
    (tree / "hooks").mkdir()
    for name in ("pre-commit", "post-commit", "post-checkout", "reference-transaction", "post-index-change"):
        (tree / "hooks" / name).write_text(f"#!/bin/sh\n{run}\n")
        (tree / "hooks" / name).chmod(0o755)
    (tree / ".gitattributes").write_text("* filter=x diff=x merge=x\n*.md filter=x\n")
    (tree / ".gitmodules").write_text(f'[submodule "s"]\n\tpath = s\n\turl = ext::sh -c "{run}"\n\tupdate = !{run}\n')
    (tree / ".gitconfig").write_text(EVIL.format(run=run, secret=place.secret))
    for config in (place.mine.git / "config", place.mine.home / ".gitconfig"):
        with config.open("a") as file:
            file.write(EVIL.format(run=run, secret=place.secret))
    hooks = place.mine.git / "hooks"
    hooks.mkdir(exist_ok=True)
    for path in (tree / "hooks").iterdir():
        (hooks / path.name).write_bytes(path.read_bytes())
        (hooks / path.name).chmod(0o755)
    (tree / "work.txt").write_text("work")
    return proof


def test_git_of_the_service_runs_nothing_that_is_in_the_tree(place: Place) -> None:
    proof = _traps(place)
    head = place.commit()
    assert not proof.exists()
    assert place.repository.line("show", f"{head}:work.txt") == "work"
    assert place.repository.diff("claude/a", "main").files
    place.repository.patch("claude/a", "main")
    # Other git programs would run what is in such a file, so nobody gets it into another repository.
    with pytest.raises(GitFailed, match="submodule update"):
        _again(place)
    assert not proof.exists()


def _again(place: Place) -> None:
    """Prepare the sandbox for a session that goes on from this branch."""
    branch, onto = "claude/c", {"target": "main", "start_from": "claude/a"}
    place.pool.prepare(place.mine, place.repository, session="c", branch=branch, **onto)


def test_filters_and_hooks_do_not_run_when_the_branch_is_checked_out_again(place: Place) -> None:
    proof = _traps(place)
    (place.mine.tree / ".gitmodules").unlink()
    place.commit()
    _again(place)
    assert (place.mine.tree / "work.txt").read_text() == "work"
    assert not proof.exists()


def test_a_tree_whose_git_was_replaced_is_committed_to_its_branch_all_the_same(place: Place) -> None:
    before = place.repository.commit_of("claude/b")
    tree = place.mine.tree
    (tree / ".git").unlink(missing_ok=True)
    (tree / ".git").write_text(f"gitdir: {place.other.git}\n")
    (tree / "work.txt").write_text("work")
    place.commit()
    assert place.repository.commit_of("claude/b") == before
    assert place.repository.line("show", "refs/heads/claude/a:work.txt") == "work"


def test_links_and_nested_repositories_carry_nothing_of_the_host_away(place: Place) -> None:
    tree = place.mine.tree
    (tree / "link").symlink_to(place.secret)
    (tree / "folder").symlink_to(place.other.tree)
    nested = tree / "nested"
    nested.mkdir()
    os.system(f"git init -q {nested} && git -C {nested} -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")
    done = place.pool.commit(place.mine, "work", session="a")
    assert done.left_out == ("nested",)
    listed = place.repository.line("ls-tree", "-r", "refs/heads/claude/a")
    assert SECRET not in place.repository.patch("claude/a", "main").decode()
    assert "theirs" not in listed
    assert "120000" in listed, "a link is stored as a link"


@needs_confinement
def test_the_shell_sees_no_branch_of_another_session(place: Place) -> None:
    (place.other.tree / "theirs.txt").write_text("their work")
    theirs = place.pool.commit(place.other, "theirs", session="b").head
    assert "claude/b" not in place.bash("git branch -a; git for-each-ref")
    assert "exit code" in place.bash(f"git cat-file -p {theirs}")
    assert "exit code" in place.bash(f"git fetch {place.repository.mirror}")
    assert "First version" in place.bash("git log --format=%s")


def test_a_sandbox_is_empty_for_the_next_session(place: Place) -> None:
    (place.mine.tree / "left.txt").write_text("left")
    (place.mine.home / "left.txt").write_text("left")
    locked = place.mine.tree / "locked"
    locked.mkdir()
    (locked / "file").write_text("x")
    locked.chmod(0)
    place.pool.prepare(place.mine, place.repository, session="c", branch="claude/c", target="main")
    assert not list(place.mine.folder.rglob("left.txt"))
    assert not (place.mine.tree / "locked").exists()


# -- without a confinement


def test_without_a_confinement_there_is_no_shell_and_no_agent_with_tools_of_its_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = Confinement("", "user namespaces are switched off")
    for module in ("interlock.apps.sessions.sandbox.tools", "interlock.apps.sessions.agents.launching"):
        monkeypatch.setattr(f"{module}.detect", lambda: none)
    with pytest.raises(ToolRefused, match="user namespaces are switched off"):
        place.bash("true")
    wanted = AgentRun(
        *(place.folder / "run", place.folder / "home", AgentConfig(command=["sh", "-c", "true"])),
        *("Do it", "c1"),
        workspace=place.mine.folder,
    )
    with pytest.raises(AgentNotStarted, match="user namespaces are switched off"):
        run(wanted, on_line=lambda line: None)
    assert confinement.detect() is not none


@needs_confinement
def test_an_agent_with_tools_of_its_own_runs_inside(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "its-own")
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    seen = f"(pwd; env; cat {place.secret} 2>&1; ls {place.folder} 2>&1)"
    spelled = """printf '{"type":"seen","text":"'; """ + seen + """ | tr '\\n"' '  '; printf '"}\\n'"""
    script = f"{spelled}; echo inside > inside.txt"
    agent = AgentConfig(command=["bash", "-c", script], env=["AGENT_KEY"], network=False)
    lines: list[str] = []
    folders = place.folder / "run", place.folder / "home"
    run(
        AgentRun(*folders, agent, "Do it", "c1", workspace=place.mine.folder),
        on_line=lambda line: lines.append(line.text),
    )
    found = json.loads(lines[0])["text"]
    assert found.startswith("/workspace ")
    assert "AGENT_KEY=its-own" in found
    assert "hunter2" not in found
    assert SECRET not in found
    assert (place.mine.tree / "inside.txt").read_text() == "inside\n"
