"""`interlock backup` and `interlock restore`: what they say, and how they end."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from interlock.engine import Engine
from interlock.store import open_store
from interlock.testing import Trial
from tests.support.backups import damage
from tests.support.commands import Done, command
from tests.support.letters import PROGRAM, letter


@pytest.fixture
def post(tmp_path: Path) -> Path:
    """Two letters, one of them further."""
    path = tmp_path / "post.db"
    with Trial([letter], store=f"sqlite:///{path}") as trial:
        trial.create("letter", {"to": "ann"}, key="a")
        trial.run_until_idle()
        trial.create("letter", {"to": "bob"}, key="b")
    return path


def interlock(post: Path, *arguments: str) -> Done:
    return command(*arguments, cwd=post.parent)


def test_a_backup_is_proven_and_restored(post: Path) -> None:
    done = interlock(post, "backup", "b.zip", "--database", f"sqlite:///{post}")
    assert (done.code, done.err) == (0, "")
    text, proof = done.out.splitlines()
    assert text.startswith("b.zip: schema ")
    assert "2 instances, 3 history rows" in text
    assert proof == "verified: 2 instances, 3 history rows; all hash chains and replays agree"
    done = interlock(post, "restore", "b.zip", "--database", f"sqlite:///{post.parent}/new.db")
    assert (done.code, done.err) == (0, "")
    text, proof = done.out.splitlines()
    assert text.startswith("restored: schema ")
    assert text.endswith(" UTC")
    assert proof == "verified: 2 instances, 3 history rows; all hash chains and replays agree"
    call = ("instance", "list", "--json", "--database", f"sqlite:///{post.parent}/new.db", "--app", PROGRAM)
    assert [i["key"] for i in json.loads(interlock(post, *call).out)["instances"]] == ["b", "a"]
    assert sorted(path.name for path in post.parent.iterdir()) == ["b.zip", "new.db", "post.db"]


def test_a_quick_one_is_read_again_and_not_restored(post: Path) -> None:
    done = interlock(post, "backup", "b.zip", "--quick", "--database", f"sqlite:///{post}")
    assert (done.code, len(done.out.splitlines())) == (0, 1)


def test_an_incomplete_history_is_reported(post: Path) -> None:
    with closing(sqlite3.connect(post)) as conn, conn:
        conn.execute("DROP TRIGGER history_no_update")
        conn.execute("UPDATE history SET actor = 'user:mallory' WHERE seq = 1")
    done = interlock(post, "backup", "b.zip", "--database", f"sqlite:///{post}")
    assert (done.code, "does not follow from the row before it" in done.out) == (1, True)
    assert done.out.splitlines()[-1] == "the backup matches the database, but the database's history is broken"
    assert (post.parent / "b.zip").exists()


def test_restoring_over_rows_needs_a_word(post: Path) -> None:
    where = f"sqlite:///{post}"
    interlock(post, "backup", "b.zip", "--quick", "--database", where)
    done = interlock(post, "restore", "b.zip", "--database", where)
    assert (done.code, "the database is not empty" in done.err, len(done.err.splitlines())) == (1, True, 1)
    done = interlock(post, "restore", "b.zip", "--replace", "--halt", "--as", "ann", "--database", where)
    # The worker of the trial lives for ten years.
    assert (done.code, "1 workers are alive in this database" in done.err) == (1, True)
    with open_store(where) as store:
        store.write(lambda conn: conn.exec_driver_sql("UPDATE worker SET status = 'stopped'"))
    done = interlock(post, "restore", "b.zip", "--replace", "--halt", "--as", "ann", "--database", where)
    assert (done.code, done.out.splitlines()[-1]) == (
        0,
        "all machines are halted: no work starts until somebody resumes them on the page Halt",
    )
    with Engine(where, [letter]) as engine:
        assert [halt.actor for halt in engine.halts.all()] == ["user:ann"]


def test_a_file_that_is_none_leaves_no_database_behind(post: Path) -> None:
    (post.parent / "b.zip").write_text("nothing")
    done = interlock(post, "restore", "b.zip", "--database", f"sqlite:///{post.parent}/new.db")
    assert (done.code, "b.zip is not a backup" in done.err, len(done.err.splitlines())) == (1, True, 1)
    assert not list(post.parent.glob("new.db*"))


def test_a_restore_that_breaks_in_the_middle_leaves_no_database_behind(post: Path) -> None:
    interlock(post, "backup", "b.zip", "--quick", "--database", f"sqlite:///{post}")
    damage(post.parent / "b.zip", "flipped")
    done = interlock(post, "restore", "b.zip", "--database", f"sqlite:///{post.parent}/new.db")
    assert (done.code, "b.zip is damaged: the table history" in done.err, done.out) == (1, True, "")
    assert not list(post.parent.glob("new.db*"))


def test_there_must_be_something_to_back_up(post: Path) -> None:
    done = interlock(post, "backup", "b.zip", "--database", "sqlite:///nothing.db")
    assert (done.code, "there is no database nothing.db" in done.err) == (1, True)
    done = interlock(post, "backup", "post.db", "--database", f"sqlite:///{post}")
    assert (done.code, "backups are not overwritten" in done.err) == (1, True)
