"""The checkpointer signs when something changed and the last one is old enough, and when its process stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from interlock.config import AuditSettings, Settings
from interlock.engine.audit import checkpointing, checkpoints
from interlock.engine.audit.signing import Keys
from interlock.store import SECOND, Store
from interlock.store.health import Level
from interlock.store.retention_tables import checkpoint
from interlock.store.service_tables import cursor
from interlock.testing import Trial
from interlock.watch import work_health
from interlock.worker.checkpointer import Checkpointer
from tests.support.forging import KEYS, note, take_triggers_off


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([note], store=store) as trial:
        trial.engine.core.audit_keys = KEYS
        yield trial


def newest(trial: Trial) -> int:
    found = trial.engine.read(checkpoints.last)
    return found.no if found is not None else 0


def test_it_signs_what_changed_every_ten_minutes_and_at_the_end(trial: Trial, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "checkpoints"
    loop = Checkpointer(trial.engine, Settings(audit=AuditSettings(file=file)))
    loop.once()
    assert newest(trial) == 0  # nothing has happened
    trial.create("note")
    loop.once()
    trial.create("note")
    loop.once()
    assert newest(trial) == 1
    trial.advance(minutes=10)
    loop.once()
    assert newest(trial) == 2
    trial.advance(minutes=10)
    loop.once()
    assert newest(trial) == 2
    trial.create("note")
    loop.finish()
    assert newest(trial) == 3
    kept = [checkpoints.parse(line) for line in file.read_text().splitlines()]
    assert [one.no for one in kept] == [1, 2, 3]
    assert all(trial.engine.verify(against=one).problems == () for one in kept)


def test_without_the_key_or_with_another_it_signs_nothing(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.create("note")
    loop = Checkpointer(trial.engine, Settings())
    trial.engine.core.audit_keys = None
    loop.finish()
    assert newest(trial) == 0
    trial.engine.core.audit_keys = KEYS
    loop.finish()
    trial.create("note")
    trial.engine.core.audit_keys = Keys([b"y" * 32])
    loop.finish()
    assert newest(trial) == 1
    assert "give all processes the same key" in caplog.text


def test_the_doctor_says_how_far_it_is_signed_and_where_that_is_kept(trial: Trial, tmp_path: Path) -> None:
    def warnings_of(settings: Settings) -> list[str]:
        return [one.says for one in work_health.check(trial.engine, settings) if one.name == "checkpoints"]

    assert warnings_of(Settings()) == []
    trial.create("note")
    assert "was never signed" in warnings_of(Settings())[0]
    trial.engine.checkpoint()
    trial.create("note")
    first, where = warnings_of(Settings())
    assert "number 1 was signed at" in first
    assert "1 history rows are newer" in first
    assert where == "they are only in this database and in the log"
    assert (
        warnings_of(Settings(audit=AuditSettings(file=tmp_path / "c")))[1]
        == f"they are also written to {tmp_path / 'c'}"
    )


def test_it_signs_nothing_in_a_database_that_does_not_have_what_its_file_has(
    trial: Trial, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(audit=AuditSettings(file=tmp_path / "checkpoints"))
    loop = Checkpointer(trial.engine, settings)
    trial.create("note")
    loop.once()
    trial.engine.store.write(take_triggers_off)
    trial.engine.store.write(lambda conn: [conn.execute(sa.delete(table)) for table in (checkpoint, cursor)] and None)
    loop.once()
    assert newest(trial) == 0
    assert "the history is not signed: checkpoint 1 of " in caplog.text
    found = [one.says for one in work_health.check(trial.engine, settings) if one.level is Level.PROBLEM]
    assert any("is not in the database" in says for says in found)


def test_it_signs_when_the_clock_has_stepped_back_behind_the_last_one(trial: Trial) -> None:
    loop = Checkpointer(trial.engine, Settings())
    trial.create("note")
    ahead = trial.clock.now() + 86_400 * SECOND
    list(checkpointing.write(trial.engine.store, KEYS, ahead))
    trial.create("note")
    loop.once()
    assert newest(trial) == 2
