"""Another user of the machine reads what lies on the disk: nothing of ours is open to them, whatever the umask."""

from __future__ import annotations

import ast
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

import interlock
from interlock.engine import Engine
from interlock.store import open_store, private
from tests.support.commands import command
from tests.support.letters import PROGRAM, add_letters, letter
from tests.support.processes import ready, run
from tests.support.servers import free_port

SOURCE = Path(interlock.__file__).parent


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Every file and folder in there that others may do something with."""
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    return {str(path.relative_to(folder)): mode for path, mode in found.items() if mode & 0o077}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o002])
def test_databases_locks_backups_archives_and_exports_are_for_their_owner_alone(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        url = f"sqlite:///{tmp_path}/new/folders/post.db"
        add_letters(url)
        common = ("--database", url)
        with open_store(url) as store:
            store.write(lambda conn: None)
            lock = store.take_lock(uuid4())
            assert lock is not None
            made = {path.name for path in (tmp_path / "new/folders").iterdir()}
            assert {"post.db", "post.db-wal", "post.db-shm", "post.db-workers"} <= made
            assert modes(tmp_path) == {}
        for arguments in (
            ("export", "all.jsonl", "--app", PROGRAM, *common),
            ("export", "all.csv", "--format", "csv", "--app", PROGRAM, *common),
            ("backup", "all.zip", *common),
            ("restore", "all.zip", "--database", f"sqlite:///{tmp_path}/copy.db"),
            ("retention", "run", *common),
        ):
            done = command(*arguments, cwd=tmp_path, INTERLOCK_RETENTION__DEFAULT="90d")
            assert done.code == 0, (arguments, done.err)
    assert list((tmp_path / "data/retention").iterdir())
    assert {path.name for path in tmp_path.iterdir()} >= {"all.jsonl", "all.csv", "all.zip", "copy.db"}
    assert modes(tmp_path) == {}


def test_a_umask_that_takes_from_the_owner_does_not_lock_them_out(tmp_path: Path) -> None:
    with umask(0o777):
        with Engine(f"sqlite:///{tmp_path}/sub/post.db", [letter]) as engine:
            engine.create("letter", {"to": "ann"})
        with private.write_text(tmp_path / "a.txt") as out:
            out.write("a")
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert found == {"sub": 0o700, "post.db": 0o600, "a.txt": 0o600}


def test_files_with_wider_modes_are_tightened_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, out = tmp_path / "post.db", tmp_path / "all.jsonl"
    with Engine(f"sqlite:///{path}", [letter]) as engine:
        engine.create("letter", {"to": "ann"})
    out.write_text("old")
    path.chmod(0o644)
    out.chmod(0o666)
    with caplog.at_level(logging.WARNING, "interlock.store"):
        done = command("export", str(out), "--database", f"sqlite:///{path}", "--app", PROGRAM, cwd=tmp_path)
    assert done.code == 0
    assert modes(tmp_path) == {}
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert f"the file {path} had mode 0644" in logged
    assert f"the file {out} had mode 0666" in logged


def test_the_data_folder_of_a_service_is_tightened_unless_it_holds_what_is_not_ours(tmp_path: Path) -> None:
    for name, more, wanted in (("data", (), 0o700), ("shared", ("thesis.txt",), 0o755)):
        port, folder = free_port(), tmp_path / name
        folder.mkdir()
        folder.chmod(0o755)
        for one in more:
            (folder / one).write_text("mine")
        with run("up", "--no-demo", "--port", str(port), "--data", str(folder), folder=tmp_path) as up:
            ready(port, up)
            assert up.stop() == 0
        assert stat.S_IMODE(folder.stat().st_mode) == wanted
        assert (f"the folder {folder} had mode 0755" in up.said) == (wanted == 0o700)
        assert stat.S_IMODE((folder / "interlock.db").stat().st_mode) == 0o600


def test_a_key_that_others_may_read_is_made_private_before_it_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = tmp_path / "audit.key"
    key.write_bytes(b"secret")
    key.chmod(0o640)
    assert private.read_secret(key) == b"secret"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "had mode 0640" in caplog.text


def test_a_key_that_cannot_be_made_private_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    key = tmp_path / "audit.key"
    key.write_bytes(b"secret")
    key.chmod(0o644)
    monkeypatch.setattr(Path, "chmod", refuse)  # a file of another user
    with pytest.raises(private.NotPrivate, match="others may read the secret in it"):
        private.read_secret(key)


def test_nothing_is_written_to_a_link_that_somebody_laid(tmp_path: Path) -> None:
    aim = tmp_path / "aim.txt"
    aim.write_text("old")
    (tmp_path / "out.txt").symlink_to(aim)
    with pytest.raises(private.NotPrivate, match="a link"):
        private.write_text(tmp_path / "out.txt")
    assert aim.read_text() == "old"


def test_nothing_is_written_to_a_file_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old")
    out.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: out.stat().st_uid + 1)
    with pytest.raises(private.NotPrivate, match="another user"):
        private.write_bytes(out)
    assert out.read_text() == "old"


def test_nothing_is_written_to_a_file_that_cannot_be_made_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    out = tmp_path / "out.txt"
    out.write_text("old")
    out.chmod(0o644)
    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(private.NotPrivate, match="cannot be made private"):
        private.write_text(out)
    assert out.read_text() == "old"


def test_a_pipe_and_a_device_are_left_as_they_are(tmp_path: Path) -> None:
    before = stat.S_IMODE(Path(os.devnull).stat().st_mode)
    with private.write_text(Path(os.devnull)) as out:
        out.write("gone")
    assert stat.S_IMODE(Path(os.devnull).stat().st_mode) == before


# -- no other way to the disk

WRITES = {"mkdir", "makedirs", "write_text", "write_bytes", "touch", "mkstemp", "mkdtemp", "NamedTemporaryFile"}
OURS = {"write_text", "write_bytes"}
"""Names that the private module has, too."""


def ways_to_the_disk(path: Path) -> Iterator[str]:
    """Each call that makes a file or a folder, past the one module for it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name, of = "", ""
        match node.func:
            case ast.Attribute(attr=name, value=ast.Name(id=of)):
                pass
            case ast.Attribute(attr=name):
                pass
            case ast.Name(id=name):
                pass
        if of == "private" or (of, name) in {("unit", "touch"), ("self", "touch")}:
            continue
        texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        writes = (
            name == "open" and of != "archive" and any(set(t) <= set("rwxab+t") and set(t) & set("wxa") for t in texts)
        )
        made = (of, name) == ("os", "open") and "O_CREAT" in ast.unparse(node)
        if name in WRITES or writes or made:
            yield f"{path.relative_to(SOURCE)}:{node.lineno} {ast.unparse(node)[:80]}"


def test_nothing_is_written_to_the_disk_but_through_the_private_module() -> None:
    ours = {SOURCE / "store/private.py", SOURCE / "cli/new.py"}  # a skeleton is source code, and nobody's data
    agents = SOURCE / "apps/sessions"  # runs without the product, in folders that the private module made
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if path not in ours and agents not in path.parents]
    found = [one for path in paths for one in ways_to_the_disk(path)]
    assert found == []
