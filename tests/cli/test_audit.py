"""`interlock audit`: the key, checkpoints, and verifying against one that was kept elsewhere."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

from tests.cli.test_commands import interlock


def sample(folder: Path) -> str:
    assert interlock("sample", "--count", "4", "--data", str(folder), cwd=folder).returncode == 0
    return f"sqlite:///{folder}/sample.db"


def test_a_key_is_made_beside_the_database_for_its_owner_alone(tmp_path: Path) -> None:
    url = sample(tmp_path)
    refused = interlock("audit", "checkpoint", "--database", url, cwd=tmp_path)
    assert (refused.returncode, "make one with: interlock audit key" in refused.stderr) == (1, True)
    made = interlock("audit", "key", "--database", url, cwd=tmp_path).stdout
    file = tmp_path / "audit.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert str(file) in made
    assert file.read_text().strip() not in made
    again = interlock("audit", "key", "--database", url, cwd=tmp_path).stdout
    assert again.startswith("there is the audit key ")


def test_a_checkpoint_that_was_kept_shows_that_an_instance_is_gone(tmp_path: Path) -> None:
    url = sample(tmp_path)
    interlock("audit", "key", "--database", url, cwd=tmp_path)
    (tmp_path / "interlock.toml").write_text(f'[audit]\nfile = "{tmp_path}/kept/checkpoints"\n')
    signed = interlock("audit", "checkpoint", "--database", url, cwd=tmp_path).stdout.strip()
    kept = tmp_path / "kept" / "checkpoints"
    assert kept.read_text().strip().endswith(signed)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for against in ((), ("--against", signed), ("--against", str(kept))):
        done = interlock("audit", "verify", "--database", url, *against, cwd=tmp_path)
        assert (done.returncode, "everything that checkpoint 1 signed is there" in done.stdout) == (0, True)
    with sqlite3.connect(tmp_path / "sample.db") as conn:
        conn.execute("DROP TRIGGER history_no_delete")
        [(it,)] = conn.execute("SELECT id FROM instance LIMIT 1").fetchall()
        for table in ("history", "review", "effect", "dead_letter", "outbox", "artifact_ref"):
            conn.execute(f"DELETE FROM {table} WHERE instance_id = ?", (it,))
        conn.execute("DELETE FROM instance WHERE id = ?", (it,))
    conn.close()
    done = interlock("audit", "verify", "--database", url, cwd=tmp_path)
    assert done.returncode == 1
    assert "which checkpoint 1 has signed, is gone" in done.stdout


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    done = interlock("audit", "verify", "--database", sample(tmp_path), "--against", "ilc1.1.2.3", cwd=tmp_path)
    assert (done.returncode, "'ilc1.1.2.3' is neither a checkpoint nor" in done.stderr) == (1, True)
