"""The engine against the plain model, on both databases: whatever is done in whatever order, they agree.

Hypothesis makes up the order. After every step the laws hold in the database, and every instance, effect, review and
dead letter is as the model says. INTERLOCK_SOAK=1 looks longer, and elsewhere each time.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis.stateful import run_state_machine_as_test

from tests.conformance.model_databases import on_postgres, on_sqlite, profile
from tests.conformance.model_people import Conformance
from tests.servers import Postgres


def test_the_engine_agrees_with_the_model_on_sqlite(sqlite_template: Path, tmp_path: Path) -> None:
    databases = on_sqlite(sqlite_template, tmp_path)
    run_state_machine_as_test(lambda: Conformance(databases), settings=profile(60, soak=1500))


def test_the_engine_agrees_with_the_model_on_postgresql(postgres: Postgres) -> None:
    databases = on_postgres(postgres)
    run_state_machine_as_test(lambda: Conformance(databases), settings=profile(12, soak=300))
