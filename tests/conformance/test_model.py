"""The engine against the plain model, on both databases: whatever is done in whatever order, they agree.

Hypothesis makes up the order. After every step the laws hold in the database, and every instance, effect, review and
dead letter is as the model says. INTERLOCK_SOAK=1 looks longer, and elsewhere each time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from interlock.store import Store, open_store
from tests.conformance.model_people import Conformance
from tests.servers import Postgres

SOAK = os.environ.get("INTERLOCK_SOAK") == "1"


def profile(examples: int, *, soak: int) -> settings:
    """The same stories at every run, few enough for `make test`; `make soak` makes up new ones, and longer."""
    return settings(
        max_examples=soak if SOAK else examples,
        stateful_step_count=80 if SOAK else 40,
        derandomize=not SOAK,
        database=None,
        deadline=None,
        print_blob=SOAK,
        suppress_health_check=list(HealthCheck),
    )


def test_the_engine_agrees_with_the_model_on_sqlite(sqlite_template: Path, tmp_path: Path) -> None:
    @contextmanager
    def database() -> Iterator[Store]:
        path = tmp_path / f"{uuid4().hex}.db"
        shutil.copy(sqlite_template, path)
        with open_store(f"sqlite:///{path}", durability="normal") as store:
            yield store
        path.unlink()

    run_state_machine_as_test(lambda: Conformance(database), settings=profile(60, soak=2000))


def test_the_engine_agrees_with_the_model_on_postgresql(postgres: Postgres) -> None:
    @contextmanager
    def database() -> Iterator[Store]:
        name = f"model_{uuid4().hex}"
        with psycopg.connect(postgres.url(), autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name} TEMPLATE template_ready")
        with open_store(postgres.url(name), durability="normal", wakeup="poll") as store:
            yield store
        with psycopg.connect(postgres.url(), autocommit=True) as conn:
            conn.execute(f"DROP DATABASE {name} WITH (FORCE)")

    run_state_machine_as_test(lambda: Conformance(database), settings=profile(12, soak=300))
